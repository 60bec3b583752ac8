"""Which inputs the wrong elements have: a value, a kind of value, a branch of the operator, a range.

A condition is said only where wrong elements at random places would hardly ever fit it: see :func:`_chance`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ascend_opcli.tensors.dtypes import DTYPES, float_format, integer_range, name_of
from ascend_opcli.verification.compare.elements import wide
from ascend_opcli.verification.diagnosis.evidence import Evidence
from ascend_opcli.verification.diagnosis.explanation import Explanation, number

SURELY = 1e-7
"""How likely the best of the conditions may be to fit errors at random places."""

SURELY_SPECIAL = 1e-3
"""The same where exactly the elements with a NaN, an Inf or a subnormal number are wrong."""

_ALL_BUT = 0.98
_MOST = 0.9
_LITTLE_ELSE = 0.9
_BY_CHANCE = 1e-3


@dataclass(frozen=True, slots=True)
class _Condition:
    """A condition, in words, and where it holds. ``fits`` counts those of its kind that the data chose it from."""

    text: str
    mask: np.ndarray
    fits: float = 1.0
    special: bool = False


# --- values and branches ----------------------------------------------------------------------------------------


def input_value(e: Evidence) -> Explanation | None:
    """All wrong elements have the same value of an input, as few others have."""
    return _sharpest(e, list(_values(e)))


def _values(e: Evidence) -> Iterator[_Condition]:
    marks = {0.0, 1.0, -1.0} | set(_attribute_numbers(e))
    for name, values in e.inputs_at.items():
        there = wide(values)
        chosen = there[e.wrong]
        value = chosen[len(chosen) // 2]
        if np.isnan(value):
            yield _Condition(f"have {name} = NaN", np.isnan(there), special=True)
            continue
        # One element always has some value: it says something where it is a special one.
        if len(chosen) > 1 or not np.isfinite(value):
            # A plain number is taken from the first wrong element, which fits it by itself.
            same, special = there == value, not np.isfinite(value)
            fits = 1.0 if special or value in marks else len(same) / int(np.count_nonzero(same))
            yield _Condition(f"have {name} = {number(value or 0)}", same, fits, special)
        if values.dtype.kind != "c":
            yield _Condition(f"have {name} = Inf or -Inf", np.isinf(there), special=True)
            yield _Condition(f"have {name} = NaN, Inf or -Inf", ~np.isfinite(there), special=True)
            if DTYPES[name_of(values.dtype)].kind == "float":
                smallest = float_format(name_of(values.dtype)).smallest_normal
                subnormal = (there != 0) & (np.abs(there) < smallest)
                yield _Condition(f"have a subnormal {name}", subnormal, special=True)


def branch(e: Evidence) -> Explanation | None:
    """All wrong elements take one branch of the operator."""
    if e.rerun is None:
        return None
    conditions = []
    for name, mask in e.rerun.branches().items():
        text = f"have {name}" if any(sign in name for sign in "<>=") else f"take the branch '{name}'"
        conditions.append(_Condition(text, mask))
    return _sharpest(e, conditions)


# --- ranges -----------------------------------------------------------------------------------------------------


def input_range(e: Evidence) -> Explanation | None:
    """An input lies in a range where all elements are wrong, or beyond a number that means something."""
    return _sharpest(e, list(_ranges(e)))


def _ranges(e: Evidence) -> Iterator[_Condition]:
    seen = {**{n: (wide(v), name_of(v.dtype)) for n, v in e.inputs_at.items()}, "a golden": (e.y, e.dtype)}
    between: list[_Condition] = []
    for name, (values, dtype) in seen.items():
        if values.dtype.kind == "c" or np.isnan(values[e.wrong]).any():
            continue
        size = "a |golden|" if name == "a golden" else f"|{name}|"
        for text, line in ((name, values), (size, np.abs(values))):
            right = line[~e.wrong & ~np.isnan(line)]
            # Few values of an input, or few of one kind, lie in one range by chance.
            if len(np.unique(line[e.wrong])) < 8 or len(right) < 8:
                continue
            yield from _beyond(e, text, line, _marks(e, dtype, sizes=text == size))
            if text == name:
                between += _between(e, text, line, right)
    yield from between


def _beyond(e: Evidence, text: str, line: np.ndarray, marks: Sequence[float]) -> Iterator[_Condition]:
    """On one side of a number."""
    for word, way in (("<=", 1.0), (">=", -1.0)):
        turned = way * line
        edge = float(turned[e.wrong].max())
        right = np.sort(turned[~e.wrong & (turned > edge)])
        if not len(right):
            continue
        inside = turned <= edge
        mark = _mark(e, turned, edge, [way * m for m in marks])
        if mark is not None:
            yield _Condition(f"have {text} {word} {number(way * mark + 0.0)}", turned <= mark)
        elif _precise(e, inside) >= _LITTLE_ELSE:
            # A bound that means nothing says something only of a place with nothing else in it.
            yield _Condition(f"have {text} {word} {_written(way * edge, way * float(right[0]))}", inside)


def _mark(e: Evidence, line: np.ndarray, edge: float, marks: Sequence[float]) -> float | None:
    """The first mark that so few right elements separate from the last wrong one as may well do so by chance."""
    for mark in marks:
        if mark < edge:
            continue
        gap = int(np.count_nonzero((line > edge) & (line <= mark)))
        if (1 - _precise(e, line <= mark)) ** gap >= _BY_CHANCE:
            return mark
    return None


def _between(e: Evidence, text: str, line: np.ndarray, right: np.ndarray) -> Iterator[_Condition]:
    """From one number to another, with hardly anything else there."""
    low, high = float(line[e.wrong].min()), float(line[e.wrong].max())
    inside = (line >= low) & (line <= high)
    below, above = right[right < low], right[right > high]
    if len(below) and len(above) and _precise(e, inside) >= _LITTLE_ELSE:
        bounds = _written(low, float(below.max())), _written(high, float(above.min()))
        fits = float(np.count_nonzero(e.wrong)) ** 2
        yield _Condition(f"have {bounds[0]} <= {text} <= {bounds[1]}", inside, fits)


def _marks(e: Evidence, dtype: str, *, sizes: bool) -> tuple[float, ...]:
    """Numbers at which an operator may change its mind, the plainer ones first."""
    marks = [0.0, 1.0, -1.0]
    for value in _attribute_numbers(e):
        marks += [value, 1.0 - value, -value]
    kind = DTYPES[dtype].kind
    if kind in ("int", "uint"):
        marks += map(float, integer_range(dtype))
    elif kind == "float":
        form = float_format(dtype)
        marks += [form.largest, -form.largest, form.smallest_normal, -form.smallest_normal, 65504.0, -65504.0]
    return tuple(dict.fromkeys(m for m in marks if m >= 0 or not sizes))


def _attribute_numbers(e: Evidence) -> Iterator[float]:
    for attribute in e.attributes.values():
        value = attribute.value
        if isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value):
            yield float(value)


def _written(edge: float, nearest: float) -> str:
    """The shortest number from the edge to before the nearest right element: what is said of it is exactly true."""
    for digits in range(3, 18):
        step = 10.0 ** (math.floor(math.log10(abs(edge))) + 1 - digits) if edge else 1.0
        up = math.ceil(edge / step) if nearest > edge else math.floor(edge / step)
        near = float(f"{up * step:.{digits}g}")
        if edge <= near < nearest or nearest < near <= edge:
            return number(near) if float(number(near).replace(",", "")) == near else repr(near)
    return repr(edge)


# --- what is worth saying ---------------------------------------------------------------------------------------


def _sharpest(e: Evidence, conditions: Sequence[_Condition]) -> Explanation | None:
    """The condition that holds for the fewest right elements."""
    found = [f for c in conditions if (f := _explanation(e, c, len(conditions))) is not None]
    return max(found, key=lambda f: (f.share == 1, f.precise), default=None)


def _precise(e: Evidence, mask: np.ndarray) -> float:
    """The part of the elements that a condition holds for that are wrong."""
    return float(np.count_nonzero(mask & e.wrong)) / max(1, int(np.count_nonzero(mask)))


def _explanation(e: Evidence, condition: _Condition, candidates: int) -> Explanation | None:
    """Whether the wrong elements are those that a condition holds for, and it says something."""
    mask, text = condition.mask, condition.text
    share, precise = e.share(mask), _precise(e, mask)
    if share < _ALL_BUT:
        return None
    enough = SURELY_SPECIAL if condition.special and share == precise == 1 else SURELY
    if _chance(e, mask) * condition.fits * candidates > enough:
        return None
    by = "" if e.all_seen else ", by a sample"
    if share == 1 and precise == 1:
        if e.places.count == 1:
            return Explanation(f"only the element that {_one(text)} is wrong{by}")
        return Explanation(f"exactly the elements that {text} are wrong ({e.places.count:,}{by})")
    text = f"{e.all_wrong(share)} {_one(text) if e.places.count == 1 else text}"
    if precise >= _MOST:
        inside = int(np.count_nonzero(mask & e.wrong)), int(np.count_nonzero(mask))
        text += (
            f", and all that do are wrong ({inside[0]:,}{by})"
            if inside[0] == inside[1]
            else f", and nearly all that do are wrong ({inside[0]:,} of {inside[1]:,}{by})"
        )
    return Explanation(text, share, precise)


def _chance(e: Evidence, mask: np.ndarray) -> float:
    """How likely as many wrong elements, at random places, would fit a condition: at most this.

    Drawn without replacement where everything is looked at and all fit, else with (Chernoff's bound).
    """
    wrong = int(np.count_nonzero(e.wrong))
    hits = int(np.count_nonzero(mask & e.wrong))
    total, fitting = len(mask), int(np.count_nonzero(mask))
    if hits == wrong and e.all_seen:
        return math.exp(_log_choose(fitting, wrong) - _log_choose(total, wrong))
    if e.all_seen:
        share = fitting / total
    else:
        right = ~e.wrong
        share = (np.count_nonzero(mask & right) + 1) / (np.count_nonzero(right) + 1)
    part = hits / wrong
    if part <= share:
        return 1.0
    divergence = part * math.log(part / share)
    if part < 1:
        divergence += (1 - part) * math.log((1 - part) / (1 - share))
    return math.exp(-wrong * divergence)


def _log_choose(n: int, k: int) -> float:
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)


def _one(text: str) -> str:
    return text.replace("have", "has", 1) if text.startswith("have") else text.replace("take", "takes", 1)
