"""Whether a case applies where it is to run: its product, and what it says under ``only``."""

from __future__ import annotations

import operator
import re

from ascend_opcli.model import Case

_BOUND = re.compile(r"^(?P<sign>>=|<=|==|!=|>|<)?\s*v?(?P<version>\d[\w.]*)$")
_COMPARE = {
    ">=": operator.ge,
    ">": operator.gt,
    "<=": operator.le,
    "<": operator.lt,
    "==": operator.eq,
    "!=": operator.ne,
}


def not_here(
    case: Case,
    product: str,
    *,
    backend: str,
    device_product: str | None,
    cann: str | None,
    overridden: bool = False,
) -> str | None:
    """Why a case does not apply here, or None.

    A standard of the command line (``overridden``) judges what the case's own cannot.

    ``product`` is the one whose rules count, ``device_product`` that of the device (None on the host), ``cann``
    the version that is installed, None where it is not known.
    """
    if case.skip and not (case.arguments and overridden):
        return case.skip
    if device_product is not None and case.product not in (None, device_product):
        return f"names the product {case.product}; this device is {device_product}"
    only = case.only
    if only is None:
        return None
    if only.products and product not in only.products:
        return f"only on {', '.join(only.products)}, not on {product}"
    if only.backend is not None and only.backend != backend:
        return f"only on the backend {only.backend}"
    if only.cann is not None:
        return _wrong_cann(only.cann, backend, cann)
    return None


def _wrong_cann(wanted: str, backend: str, there: str | None) -> str | None:
    """Why the CANN that is there is not one that ``>=8.5`` or a list of such bounds means."""
    if there is None:
        place = "the host has none" if backend == "host" else "its version is not known here"
        return f"only with CANN {wanted}; {place}"
    if all(_within(bound.strip(), there) for bound in wanted.split(",")):
        return None
    return f"only with CANN {wanted}; {there} is installed"


def _within(bound: str, there: str) -> bool:
    match = _BOUND.match(bound)
    if match is None:
        return False
    low, high = ([int(n) for n in re.findall(r"\d+", text)] for text in (match["version"], there))
    width = max(len(low), len(high))
    a, b = high + [0] * (width - len(high)), low + [0] * (width - len(low))
    return bool(_COMPARE[match["sign"] or "=="](a, b))
