"""NaN, Inf, subnormal numbers and the sign of zero: where they are lost or appear."""

from __future__ import annotations

import numpy as np

from ascend_opcli.tensors.dtypes import float_format, integer_range
from ascend_opcli.verification.compare.elements import wide
from ascend_opcli.verification.diagnosis.evidence import NEARLY_ALL, Evidence
from ascend_opcli.verification.diagnosis.explanation import Explanation, number

NEAR_LARGEST = 1 / 16
"""From this part of the largest number on, a sum or product on the way may have been beyond it."""

FLOAT16_LARGEST = 65504.0


def nan_lost(e: Evidence) -> Explanation | None:
    """A number where the golden is NaN."""
    text = "got is {value} where the golden is NaN, in {these}"
    return _found(e, np.isnan(e.y) & ~np.isnan(e.x), text, np.isnan(e.y))


def inf_lost(e: Evidence) -> Explanation | None:
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


def nan_appears(e: Evidence) -> Explanation | None:
    """NaN where the golden is a number."""
    found = np.isnan(e.x) & ~np.isnan(e.y)
    kind = "Inf" if (found & e.wrong).any() and np.isinf(e.y[found & e.wrong]).all() else "a number"
    return _found(e, found, f"got is NaN where the golden is {kind}, in {{these}}")


def inf_flipped(e: Evidence) -> Explanation | None:
    """The Inf of the other sign."""
    flipped = np.isinf(e.x) & np.isinf(e.y) & (e.x == -e.y)
    return _found(e, flipped, "got is an Inf of the other sign, in {these}: the sign is flipped")


def inf_appears(e: Evidence) -> Explanation | None:
    """Inf where the golden is finite; a cause only where the goldens or the inputs there show it."""
    found = np.isinf(e.x) & np.isfinite(e.y)
    there = found & e.wrong
    if not there.any():
        return None
    least = float(np.abs(e.y[there]).min())
    text = f"got is Inf where the golden is finite ({number(least)} in size or more), in {{these}}"
    return _found(e, found, text + (_overflow(e, there, least) or _division(e, there)))


def _overflow(e: Evidence, there: np.ndarray, least: float) -> str:
    """Goldens next to the largest number of the dtype, or exactly those that a narrower one does not hold."""
    if not e.is_float:
        return ""
    if least >= e.largest * NEAR_LARGEST:
        return ": an overflow"
    if e.largest > FLOAT16_LARGEST and least >= FLOAT16_LARGEST:
        finite = np.abs(e.y[np.isfinite(e.x) & np.isfinite(e.y)])
        if not (finite > least).any():
            return f": beyond the largest float16 ({number(FLOAT16_LARGEST)}), an overflow on the way"
    if e.rerun is not None and e.dtype in ("float16", "float32"):
        values = e.rerun.values(computed_in="float16")
        if values is not None and np.array_equal(np.isinf(values)[e.finite | there], there[e.finite | there]):
            return ": an overflow, as computing in float16 throughout gives there"
    return ""


def _division(e: Evidence, there: np.ndarray) -> str:
    """An input that is 0 in all of these places and hardly elsewhere."""
    for name, values in e.inputs_at.items():
        zero = np.asarray(wide(values) == 0)
        if zero[there].all() and np.count_nonzero(zero & ~there) <= 0.1 * np.count_nonzero(there):
            return f", and {name} is 0 there: a division by zero, or a logarithm of it"
    return ""


def flushed(e: Evidence) -> Explanation | None:
    """Zero where the golden is a subnormal number."""
    if not e.is_float:
        return None
    smallest = float_format(e.dtype).smallest_normal
    subnormal = (e.rounded != 0) & (np.abs(e.rounded) < smallest)
    text = f"got is 0 where the golden is subnormal (below {number(smallest)}), in {{these}}: flushed to zero"
    return _found(e, (e.x == 0) & subnormal, text, subnormal)


def sign_of_zero(e: Evidence) -> Explanation | None:
    """The other zero."""
    if not e.is_float:
        return None
    found = (e.x == 0) & (e.rounded == 0) & (np.signbit(e.x) != np.signbit(e.rounded))
    wanted = e.rounded[found & e.wrong]
    if len(wanted) and np.signbit(wanted).all():
        return _found(e, found, "got is 0 where the golden is -0, in {these}: the sign of zero is lost")
    return _found(e, found, "got is a zero of the other sign, in {these}")


def saturated_integer(e: Evidence) -> Explanation | None:
    """A limit of the integer dtype where the golden is another number: it wrapped around."""
    if not e.is_integer:
        return None
    low, high = integer_range(e.dtype)
    found = (e.x == high) | ((e.x == low) & (low < 0))
    told = e.x[found & e.wrong]
    # One limit nearly everywhere is one value everywhere.
    if len(np.unique(told)) == 1 and (np.mean(e.wrong) > 0.5 or len(told) < 3):
        return None
    which = " or ".join(number(v) for v in np.unique(told))
    text = (
        f"got is {which}, a limit of {e.dtype}, where the golden is another number, in {{these}}: saturated"
    )
    return _found(e, found, text)


def wrapped_integer(e: Evidence) -> Explanation | None:
    """The golden modulo 2^bits where it lies beyond the limits of the integer dtype."""
    if not e.is_integer:
        return None
    low, high = integer_range(e.dtype)
    beyond = np.isfinite(e.y) & ((e.y < low) | (e.y > high))
    around = np.mod(e.y - low, high - low + 1) + low
    text = f"got is the golden wrapped around where that is beyond {e.dtype}, in {{these}}"
    return _found(e, beyond & (e.x == np.rint(around)), text)


def _found(e: Evidence, mask: np.ndarray, text: str, kind: np.ndarray | None = None) -> Explanation | None:
    """``kind`` marks the goldens of the kind that the text names: where all are wrong, that is the place."""
    share = e.share(mask)
    if share < NEARLY_ALL:
        return None
    values = np.unique(e.x[mask & e.wrong])
    text = text.replace("{value}", number(values[0]) if len(values) == 1 else "a number")
    return Explanation(text, share, placed=kind is not None and bool(e.wrong[kind].all()))
