"""Simple relations between the outputs and the goldens, or an input."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ascend_opcli.tensors.dtypes import round_to
from ascend_opcli.verification.compare.elements import same, wide
from ascend_opcli.verification.diagnosis.evidence import NEARLY_ALL, Evidence
from ascend_opcli.verification.diagnosis.explanation import Explanation, number

_PLAINEST = (*(float(n) for n in (2, 3, 4, 8, 10, 16)), *(1.0 / n for n in (2, 3, 4, 8, 10, 16)))
"""Factors of so few elements that any other would be met by chance."""

_SIMPLE = sorted({p / q for p in range(1, 17) for q in range(1, 17)} | {2.0**n for n in range(-30, 31)})


def no_bool(e: Evidence) -> Explanation | None:
    """Bytes of a bool that are neither 0 nor 1: true to some readers, and to none the true of another."""
    if e.dtype != "bool":
        return None
    strange = e.x > 1
    if not strange.any():
        return None
    first = e.x[strange][0]
    return Explanation(
        f"got holds bytes other than 0 and 1, such as {number(first)}, in {{these}}", e.share(strange)
    )


def constant(e: Evidence) -> Explanation | None:
    """One value everywhere, or in all wrong elements, where the goldens vary; 0 in any case."""
    varied = len(np.unique(e.y[e.wrong])) > 1
    return one_value(e) if varied or not e.x[e.wrong].any() else None


def one_value(e: Evidence) -> Explanation | None:
    """The same where the goldens do not vary: a scale or an offset would say more."""
    wrong = e.x[e.wrong]
    value = wrong[len(wrong) // 2]
    alike = same(e.x, value)
    share = e.share(alike)
    if share < NEARLY_ALL or np.isnan(value) or (value != 0 and np.count_nonzero(e.wrong) < 3):
        return None
    other = np.full(e.x.shape, value)
    everywhere = e.agrees(other)
    if everywhere and alike.all() and len(e.x) > 1 and np.mean(e.wrong) > 0.5:
        return Explanation(f"the whole output is {number(value)}", share, complete=True)
    return Explanation(
        f"got is {number(value)} in {{these}}",
        share,
        complete=share == 1 and everywhere and np.mean(e.wrong) > 0.5,
    )


def equals_input(e: Evidence) -> Explanation | None:
    """An input handed through."""
    for name, values in e.inputs_at.items():
        if values.dtype.kind == "c" and e.x.dtype.kind != "c":
            continue
        other = wide(round_to(values, e.dtype))
        share = e.share((e.x == other) & e.alike(other))
        if share >= NEARLY_ALL and _varied(e, other):
            return Explanation(
                f"got is the input {name}, unchanged, in {{these}}",
                share,
                complete=share == 1 and e.agrees(other),
                guess=True,
            )
    return None


def scaled(e: Evidence) -> Explanation | None:
    """got = k x golden; -1 is a flipped sign, of complex numbers k may be complex or got the conjugate."""
    if e.dtype == "bool":
        return None
    for factor in (-1.0, *_factors(e)):
        found = _relation(e, factor * e.y, _times(factor))
        if factor != 1 and found is not None:
            return found
    if e.x.dtype.kind == "c":
        return _relation(e, np.conj(e.y), "got is the complex conjugate of the golden")
    return None


def _relation(e: Evidence, other: np.ndarray, text: str) -> Explanation | None:
    share = e.share(e.alike(other))
    if share < NEARLY_ALL:
        return None
    return Explanation(f"{text}, in {{these}}", share, complete=share == 1 and e.agrees(other), guess=True)


def _factors(e: Evidence) -> list[float | complex]:
    """The factor in the middle, first as a simple number where it is near one."""
    told = e.wrong & e.finite & (e.x != 0) & (e.y != 0)
    if not told.any():
        return []
    ratios = e.x[told] / e.y[told]
    parts = [float(np.median(p)) for p in (ratios.real, ratios.imag)]
    size = abs(complex(*parts))
    if not np.isfinite(size) or size == 0:
        return []
    varied = len(np.unique(e.y[told])) >= 3
    simple = [_simple(p, size, _SIMPLE if varied else _PLAINEST) for p in parts]
    factors: list[float | complex] = []
    # Two simple numbers at once are easily met by chance.
    if None not in simple and (varied or 0.0 in simple):
        factors.append(complex(*(s or 0.0 for s in simple)))
    if varied:
        factors.append(complex(*(0.0 if s == 0.0 else p for s, p in zip(simple, parts, strict=True))))
    return [k.real if complex(k).imag == 0 else k for k in factors]


def _simple(value: float, size: float, known: Sequence[float]) -> float | None:
    if abs(value) <= 2e-3 * size:
        return 0.0
    near = float(np.sign(value)) * min(known, key=lambda s: abs(s - abs(value)))
    return near if abs(near - value) <= 2e-3 * abs(value) else None


def _times(factor: float | complex) -> str:
    if factor == -1:
        return "got is the golden with its sign flipped"
    if isinstance(factor, complex):
        return f"got is ({number(factor)}) x the golden"
    return f"got is {_factor(factor)} the golden"


def _factor(factor: float) -> str:
    plain = f"{factor:.6g} x"
    if abs(factor) < 1 and abs(1 / factor - round(1 / factor)) < 1e-9 and abs(1 / factor) < 1000:
        return f"{plain} (1/{round(1 / factor)} of)"
    return plain


def offset(e: Evidence) -> Explanation | None:
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
    return Explanation(text, share, complete=share == 1 and e.agrees(other))


def _varied(e: Evidence, other: np.ndarray) -> bool:
    """A value that never changes explains nothing, unless there is one wrong element only."""
    return bool(np.count_nonzero(e.wrong) == 1 or len(np.unique(other[e.wrong])) > 1)
