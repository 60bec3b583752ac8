"""Simple relations between the outputs and the goldens, or an input."""

from __future__ import annotations

import numpy as np

from ascend_opcli.tensors.dtypes import round_to
from ascend_opcli.verification.diagnosis.evidence import NEARLY_ALL, Evidence, wide
from ascend_opcli.verification.diagnosis.finding import Finding, number

_SIMPLE = sorted({p / q for p in range(1, 17) for q in range(1, 17)} | {2.0**n for n in range(-30, 31)})


def constant(e: Evidence) -> Finding | None:
    """One value everywhere, or in all wrong elements, where the goldens vary; 0 in any case."""
    varied = len(np.unique(e.y[e.wrong])) > 1
    return one_value(e) if varied or not e.x[e.wrong].any() else None


def one_value(e: Evidence) -> Finding | None:
    """The same where the goldens do not vary: a scale or an offset would say more."""
    wrong = e.x[e.wrong]
    value = wrong[len(wrong) // 2]
    same = (e.x == value) | (np.isnan(e.x) & np.isnan(value))
    share = e.share(same)
    if share < NEARLY_ALL or np.isnan(value) or (value != 0 and np.count_nonzero(e.wrong) < 3):
        return None
    other = np.full(e.x.shape, value)
    everywhere = e.agrees(other)
    if everywhere and same.all() and len(e.x) > 1 and np.mean(e.wrong) > 0.5:
        return Finding(f"the whole output is {number(value)}", share, complete=True)
    return Finding(
        f"got is {number(value)} in {{these}}",
        share,
        complete=share == 1 and everywhere and np.mean(e.wrong) > 0.5,
    )


def equals_input(e: Evidence) -> Finding | None:
    """An input handed through."""
    for name, values in e.inputs_at.items():
        if values.dtype.kind == "c" and e.x.dtype.kind != "c":
            continue
        other = wide(round_to(values, e.dtype))
        share = e.share((e.x == other) & e.alike(other))
        if share >= NEARLY_ALL and _varied(e, other):
            return Finding(
                f"got is the input {name}, unchanged, in {{these}}",
                share,
                complete=share == 1 and e.agrees(other),
                guess=True,
            )
    return None


def scaled(e: Evidence) -> Finding | None:
    """got = k x golden; -1 is a flipped sign."""
    told = e.wrong & e.finite & (e.x != 0) & (e.y != 0)
    if not told.any() or e.x.dtype.kind == "c":
        return None
    ratios = e.x[told] / e.y[told]
    middle = float(np.median(ratios))
    if not np.isfinite(middle) or middle == 0:
        return None
    simple = float(np.sign(middle)) * min(_SIMPLE, key=lambda s: abs(s - abs(middle)))
    factors = [simple] if abs(simple - middle) <= 2e-3 * abs(middle) else []
    if len(np.unique(e.y[told])) >= 3:
        factors.append(middle)
    for factor in factors:
        other = factor * e.y
        share = e.share(e.alike(other))
        if factor != 1 and share >= NEARLY_ALL:
            text = (
                "got is the golden with its sign flipped"
                if factor == -1
                else f"got is {_factor(factor)} the golden"
            )
            complete = share == 1 and e.agrees(other)
            return Finding(f"{text}, in {{these}}", share, complete=complete, guess=True)
    return None


def _factor(factor: float) -> str:
    plain = f"{factor:.6g} x"
    if abs(factor) < 1 and abs(1 / factor - round(1 / factor)) < 1e-9 and abs(1 / factor) < 1000:
        return f"{plain} (1/{round(1 / factor)} of)"
    return plain


def offset(e: Evidence) -> Finding | None:
    """got = golden + c."""
    told = e.wrong & e.finite
    if not told.any() or e.x.dtype.kind == "c":
        return None
    by = float(np.median(e.x[told] - e.y[told]))
    varied = len(np.unique(e.y[told])) >= 4
    if by == 0 or not (varied or (e.is_integer and abs(by) <= 16)):
        return None
    other = e.y + by
    share = e.share(e.alike(other))
    if share < NEARLY_ALL:
        return None
    sign = "+" if by > 0 else "-"
    text = f"got is the golden {sign} {number(abs(by))}, in {{these}}"
    return Finding(text, share, complete=share == 1 and e.agrees(other))


def _varied(e: Evidence, other: np.ndarray) -> bool:
    """A value that never changes explains nothing, unless there is one wrong element only."""
    return bool(np.count_nonzero(e.wrong) == 1 or len(np.unique(other[e.wrong])) > 1)
