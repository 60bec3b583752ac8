"""Which inputs the wrong elements have: a value, a kind of value, a branch of the operator, a range."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ascend_opcli.tensors.dtypes import DTYPES, float_format, name_of
from ascend_opcli.verification.diagnosis.evidence import Evidence, wide
from ascend_opcli.verification.diagnosis.finding import Finding, number

_ALL_BUT = 0.98
_MOST = 0.9


def input_value(e: Evidence) -> Finding | None:
    """All wrong elements have the same value of an input, as few others have."""
    found = (_condition(e, mask, text) for text, mask in _values(e))
    return _sharpest(found)


def _values(e: Evidence) -> Iterator[tuple[str, np.ndarray]]:
    marked = {float(a.value) for a in e.attributes.values() if isinstance(a.value, (int, float))} | {
        0.0,
        1.0,
        -1.0,
    }
    for name, values in e.inputs_at.items():
        there = wide(values)
        chosen = there[e.wrong]
        value = chosen[len(chosen) // 2]
        if np.isnan(value):
            yield f"have {name} = NaN", np.isnan(there)
            continue
        # One element always has some value: it says something where it is a marked one.
        if len(chosen) > 1 or value in marked:
            yield f"have {name} = {number(value or 0)}", there == value
        if values.dtype.kind != "c":
            yield f"have {name} = Inf or -Inf", np.isinf(there)
            yield f"have {name} = NaN, Inf or -Inf", ~np.isfinite(there)
            if DTYPES[name_of(values.dtype)].kind == "float":
                smallest = float_format(name_of(values.dtype)).smallest_normal
                yield f"have a subnormal {name}", (there != 0) & (np.abs(there) < smallest)


def branch(e: Evidence) -> Finding | None:
    """All wrong elements take one branch of the operator."""
    if e.rerun is None:
        return None
    found = []
    for name, mask in e.rerun.branches().items():
        text = f"have {name}" if any(sign in name for sign in "<>=") else f"take the branch '{name}'"
        found.append(_condition(e, mask, text))
    return _sharpest(iter(found))


def input_range(e: Evidence) -> Finding | None:
    """An input lies in a range where all elements are wrong."""
    return _sharpest(_ranges(e))


def _ranges(e: Evidence) -> Iterator[Finding | None]:
    seen = {**{n: wide(v) for n, v in e.inputs_at.items()}, "a golden": e.y}
    for name, values in seen.items():
        if values.dtype.kind == "c" or np.isnan(values[e.wrong]).any():
            continue
        for text, line in (
            (name, values),
            (f"|{name}|" if name != "a golden" else "a |golden|", np.abs(values)),
        ):
            there = line[e.wrong]
            low, high = there.min(), there.max()
            right = line[~e.wrong & ~np.isnan(line)]
            # Few values of an input, or few of one kind, lie in one range by chance.
            if len(np.unique(there)) < 8 or len(right) < 8 or low == high:
                continue
            inside = (line >= low) & (line <= high)
            if not (right < low).any():
                yield _condition(e, inside, f"have {text} <= {number(high)}")
            elif not (right > high).any():
                yield _condition(e, inside, f"have {text} >= {number(low)}")
            elif text == name:
                yield _condition(e, inside, f"have {number(low)} <= {text} <= {number(high)}")


def _condition(e: Evidence, mask: np.ndarray, text: str) -> Finding | None:
    """Whether the wrong elements are those that a condition holds for, and it says something."""
    share = e.share(mask)
    of_right = float(np.mean(mask[~e.wrong])) if (~e.wrong).any() else 1.0
    if share < _ALL_BUT or of_right > 0.75:
        return None
    precise = float(np.count_nonzero(mask & e.wrong)) / max(1, int(np.count_nonzero(mask)))
    if share == 1 and precise == 1:
        if e.places.count == 1:
            return Finding(f"only the element that {_one(text)} is wrong")
        some = ", by a sample" if e.sampled else ""
        return Finding(f"exactly the elements that {text} are wrong ({e.places.count:,}{some})")
    said = f"{e.all_wrong(share)} {_one(text) if e.places.count == 1 else text}"
    if precise >= _MOST:
        said += ", and nearly every element that does is wrong"
    return Finding(said, share, precise)


def _one(text: str) -> str:
    return text.replace("have", "has", 1) if text.startswith("have") else text.replace("take", "takes", 1)


def _sharpest(found: Iterator[Finding | None]) -> Finding | None:
    """The condition that holds for the fewest right elements."""
    return max((f for f in found if f is not None), key=lambda f: (f.share == 1, f.precise), default=None)
