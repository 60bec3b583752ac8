"""NaN, Inf, subnormal numbers and the sign of zero: where they are lost or appear."""

from __future__ import annotations

import numpy as np

from ascend_opcli.tensors.dtypes import float_format
from ascend_opcli.verification.diagnosis.evidence import NEARLY_ALL, Evidence
from ascend_opcli.verification.diagnosis.finding import Finding, number


def nan_lost(e: Evidence) -> Finding | None:
    """A number where the golden is NaN."""
    text = "got is {value} where the golden is NaN, in {these}"
    return _found(e, np.isnan(e.y) & ~np.isnan(e.x), text, np.isnan(e.y))


def inf_lost(e: Evidence) -> Finding | None:
    """A finite value where the golden is Inf or rounds to it: mostly the largest finite number."""
    lost = np.isinf(e.y) & np.isfinite(e.x)
    if e.is_float:
        saturated = lost & (np.abs(e.x) == e.largest) & (np.sign(e.x.real) == np.sign(e.y.real))
        most = f"the largest finite number ({number(e.largest)})"
        text = f"got is {most} where the golden is Inf, in {{these}}: saturated"
        found = _found(e, saturated, text, np.isinf(e.y))
        if found is not None:
            return found
    return _found(e, lost, "got is {value} where the golden is Inf, in {these}", np.isinf(e.y))


def nan_appears(e: Evidence) -> Finding | None:
    """NaN where the golden is a number."""
    found = np.isnan(e.x) & ~np.isnan(e.y)
    kind = "Inf" if (found & e.wrong).any() and np.isinf(e.y[found & e.wrong]).all() else "a number"
    return _found(e, found, f"got is NaN where the golden is {kind}, in {{these}}")


def inf_appears(e: Evidence) -> Finding | None:
    """Inf where the golden is finite: an overflow on the way."""
    found = np.isinf(e.x) & np.isfinite(e.y)
    least = float(np.abs(e.y[found & e.wrong]).min()) if (found & e.wrong).any() else 0.0
    text = (
        f"got is Inf where the golden is finite ({number(least)} in size or more), in {{these}}: an overflow"
    )
    return _found(e, found, text)


def flushed(e: Evidence) -> Finding | None:
    """Zero where the golden is a subnormal number."""
    if not e.is_float:
        return None
    smallest = float_format(e.dtype).smallest_normal
    subnormal = (e.rounded != 0) & (np.abs(e.rounded) < smallest)
    text = f"got is 0 where the golden is subnormal (below {number(smallest)}), in {{these}}: flushed to zero"
    return _found(e, (e.x == 0) & subnormal, text, subnormal)


def sign_of_zero(e: Evidence) -> Finding | None:
    """The other zero."""
    if not e.is_float:
        return None
    found = (e.x == 0) & (e.rounded == 0) & (np.signbit(e.x) != np.signbit(e.rounded))
    wanted = e.rounded[found & e.wrong]
    if len(wanted) and np.signbit(wanted).all():
        return _found(e, found, "got is 0 where the golden is -0, in {these}: the sign of zero is lost")
    return _found(e, found, "got is a zero of the other sign, in {these}")


def _found(e: Evidence, mask: np.ndarray, text: str, kind: np.ndarray | None = None) -> Finding | None:
    """``kind`` marks the goldens of the kind that the text names: where all are wrong, that is the place."""
    share = e.share(mask)
    if share < NEARLY_ALL:
        return None
    values = np.unique(e.x[mask & e.wrong])
    said = text.replace("{value}", number(values[0]) if len(values) == 1 else "a number")
    return Finding(said, share, placed=kind is not None and bool(e.wrong[kind].all()))
