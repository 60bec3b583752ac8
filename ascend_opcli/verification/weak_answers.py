"""Whether cheap wrong answers would pass under the same standard: what a passing verdict is worth."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np

from ascend_opcli.tensors.dtypes import dtype as dtype_of
from ascend_opcli.tensors.dtypes import float_format, integer_range, numpy_dtype, part, round_to, widen
from ascend_opcli.tensors.flat import take
from ascend_opcli.verification.compare.elements import figures, wide_golden
from ascend_opcli.verification.compare.metrics import Metrics, measure
from ascend_opcli.verification.compare.whole_output import judged, strange_goldens
from ascend_opcli.verification.standards.named import Standard
from ascend_opcli.verification.wording import failures

SAMPLE = 1 << 14
"""Most elements that are looked at; a tensor up to this size is looked at whole."""

RUN = 64
"""Length of the evenly spaced runs of a sample: whole cache lines."""

TAIL_BYTES = 32
"""One block of the unit in which Ascend kernels copy: what a forgotten tail leaves out."""


def weak_answers(
    golden: np.ndarray,
    dtype: str,
    standard: Standard,
    copies: Mapping[str, np.ndarray],
    metrics: Metrics,
    third: np.ndarray | None = None,
) -> tuple[str, ...]:
    """The names of the cheap wrong answers that would pass, each judged as if it stood for the whole output.

    ``copies`` are inputs by name; those of the output's shape count. ``metrics`` are those of the real
    output, ``third`` a third-party result. An answer that equals the golden on the sample passes: it cannot be
    told apart. A distribution is not asked: the negated golden often has the same.
    """
    if standard.whole == "random":
        return ()
    places = sample(golden.size)
    some = take(golden, places)
    other = None if third is None else take(third, places)
    weak = []
    with np.errstate(all="ignore"):
        single = standard.whole == "single" and not strange_goldens(some, dtype, None)
        by_element = not standard.whole or single
        for name, answer in _answers(some, dtype, copies, golden.shape, places):
            if _passes(answer, some, dtype, standard, other, by_element):
                weak.append(name)
        if not standard.whole and _tail_passes(golden, dtype, standard, metrics):
            weak.append(f"last {TAIL_BYTES} bytes zeroed")
    return tuple(weak)


def passes_anyway(
    golden: np.ndarray, dtype: str, standard: Standard, third: np.ndarray | None = None
) -> tuple[str, ...]:
    """What passes by the numbers of the standard, whatever the size of the output.

    ``any number``, where those that lie farthest from the golden would pass, or would in the share of the elements that
    only a limit binds, or ``zeros``, where the tolerance is as large as any golden itself.
    """
    if standard.equality or standard.whole == "random" or not golden.size:
        return ()
    places = sample(golden.size)
    some = take(golden, places)
    other = None if third is None else take(third, places)
    with np.errstate(all="ignore"):
        if _passes(_farthest(some, dtype), some, dtype, standard, other, not standard.whole):
            return ("any number",)
    if (
        standard.limit is not None
        and standard.matched < 1
        and standard.limit > 1
        and _dwarfed(some, standard.limit)
    ):
        return (f"any number in {1 - standard.matched:.3g} of the elements",)
    if standard.limit is not None or standard.whole:
        return ()
    if dtype_of(dtype).kind not in ("float", "complex"):
        allowed = standard.ulps if standard.kind == "ulp" else standard.atol
        return ("zeros",) if _dwarfed(some, allowed) else ()
    if standard.kind == "linear" and _dwarfed(some, standard.atol):
        return ("zeros",)
    in_steps = standard.kind == "ulp" and standard.ulps >= 2.0 ** (float_format(dtype).mantissa + 1)
    return ("zeros",) if in_steps or (standard.kind == "linear" and standard.rtol >= 1) else ()


def _dwarfed(golden: np.ndarray, allowed: float) -> bool:
    """Whether a distance of 1 or more is twice as large as any golden."""
    sizes = np.abs(golden.astype(np.complex128 if golden.dtype.kind == "c" else np.float64))
    return allowed >= max(1.0, 2.0 * float(sizes[np.isfinite(sizes)].max(initial=0.0)))


def _farthest(golden: np.ndarray, dtype: str) -> np.ndarray:
    kind = dtype_of(dtype).kind
    if kind in ("float", "complex"):
        parts = wide_golden(golden, dtype)
        far = np.where(parts > 0, -1.0, 1.0) * float_format(dtype).largest
        return round_to(far, part(dtype)).view(numpy_dtype(dtype)).reshape(-1)
    low, high = integer_range(dtype)
    return np.where(round_to(golden, dtype) > (low + high) // 2, low, high).astype(numpy_dtype(dtype))


def sample(total: int) -> np.ndarray:
    """Flat indices, ascending: everything, or runs spread evenly from the first element to the last."""
    if total <= SAMPLE:
        return np.arange(total)
    runs = SAMPLE // RUN
    starts = np.arange(runs) * (total - RUN) // (runs - 1)
    return (starts[:, None] + np.arange(RUN)).reshape(-1)


def _answers(
    golden: np.ndarray,
    dtype: str,
    copies: Mapping[str, np.ndarray],
    shape: tuple[int, ...],
    places: np.ndarray,
) -> Iterator[tuple[str, np.ndarray]]:
    yield "zeros", np.zeros(golden.shape, numpy_dtype(dtype))
    for name, values in copies.items():
        if values.shape == shape and (values.dtype.kind != "c" or golden.dtype.kind == "c"):
            yield f"copy of {name}", round_to(take(values, places), dtype)
    # In a dtype that holds twice the largest number; the parts of a complex number one by one, for Inf times 2
    # is NaN in the other.
    wide = golden.astype(np.complex128 if golden.dtype.kind == "c" else np.float64)
    twice = (wide.view(np.float64) * 2).view(wide.dtype)
    yield "twice the golden", round_to(twice, dtype)
    yield "negated golden", round_to(-wide, dtype)


def _passes(
    answer: np.ndarray,
    golden: np.ndarray,
    dtype: str,
    standard: Standard,
    third: np.ndarray | None,
    by_element: bool,
) -> bool:
    # Nearly every wrong answer breaks a rule for single elements at the first few.
    if by_element:
        probe = slice(None, None, max(1, golden.size // 128))
        first, expected = answer[probe].copy(), golden[probe].copy()
        if _far_off(first, expected, dtype, standard):
            return False
        found = figures(first, expected, dtype, standard)
        strange = found.mismatch.any() and standard.non_finite in ("match", "nan differs")
        if found.beyond.any() or strange or (_every(standard) and found.outside.any()):
            return False
    return not judged(answer, golden, dtype, standard, third=third, threads=1).failed


def _every(standard: Standard) -> bool:
    """Whether one element over the tolerance fails the output."""
    return standard.matched == 1.0 and standard.forgiven is None


def _far_off(answer: np.ndarray, golden: np.ndarray, dtype: str, standard: Standard) -> bool:
    """Whether some finite element misses by twice what is allowed, without rounding anything: quick, one-sided."""
    if standard.kind not in ("linear", "ulp") or dtype_of(dtype).kind != "float":
        return False
    got, expected = widen(answer, np.float64), wide_golden(golden, dtype).reshape(-1).astype(np.float64)
    error, size = np.abs(got - expected), np.abs(expected)
    allowed = standard.tolerance(size) if _every(standard) else standard.hard_limit(size)
    # A golden next to the largest number may round to Inf, which another Inf meets.
    calm = (size < float_format(dtype).largest / 2) & np.isfinite(got)
    return allowed is not None and bool((calm & (error > 2.0 * allowed)).any())


def _tail_passes(golden: np.ndarray, dtype: str, standard: Standard, metrics: Metrics) -> bool:
    """The zeroed tail counts with its true share: the rest is as good as the real output."""
    total = golden.size
    length = TAIL_BYTES // numpy_dtype(dtype).itemsize
    if length >= total:
        return False
    tail = take(golden, np.arange(total - length, total))
    if _far_off(np.zeros(length, numpy_dtype(dtype)), tail, dtype, standard):
        return False
    found = measure(np.zeros(length, numpy_dtype(dtype)), tail, dtype, standard, threads=1)
    mean = None
    if found.mean is not None:
        mean = (found.mean * length + (metrics.mean or 0.0) * (total - length)) / total
    census = replace(found.census, total=total)
    outside = found.outside + metrics.outside
    return not failures(replace(found, census=census, outside=outside, mean=mean), standard)
