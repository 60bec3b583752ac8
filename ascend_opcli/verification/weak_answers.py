"""Whether cheap wrong answers would pass under the same standard: what a passing verdict is worth."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from ascend_opcli.tensors.dtypes import float_format, integer_range, numpy_dtype, part, round_to
from ascend_opcli.tensors.flat import take
from ascend_opcli.verification.compare.elements import failing, figures, wide, wide_golden
from ascend_opcli.verification.compare.metrics import Metrics, measure
from ascend_opcli.verification.compare.whole_output import judged, strange_goldens
from ascend_opcli.verification.comparison import Comparison
from ascend_opcli.verification.failed_criteria import failures
from ascend_opcli.verification.standards.named import Standard

TRUSTED_FROM = 8
"""An output with fewer elements is not asked which wrong answers would pass: too many would, by chance."""

SAMPLE = 1 << 14
"""Most elements that are looked at; a tensor up to this size is looked at whole."""

RUN = 64
"""Length of the evenly spaced runs of a sample: whole cache lines."""

TAIL_BYTES = 32
"""One block of the unit in which Ascend kernels copy: what a forgotten tail leaves out."""


def weak_answers(comparison: Comparison, standard: Standard, metrics: Metrics) -> tuple[str, ...]:
    """The names of the cheap wrong answers that would pass, each judged as if it stood for the whole output.

    ``metrics`` are those of the real output. First stands what passes by the numbers of the standard whatever the size
    of the output. An answer that equals the golden on the sample passes: it cannot be told apart. A distribution is not
    asked: the negated golden often has the same.
    """
    golden = comparison.golden
    if standard.whole == "random" or not golden.size:
        return ()
    places = sample(golden.size)
    third = None if comparison.third is None else take(comparison.third, places)
    some = Comparison("", golden, take(golden, places), comparison.dtype, third=third)
    with np.errstate(all="ignore"):
        weak = [*_by_numbers(some, standard)]
        if golden.size >= TRUSTED_FROM and comparison.is_float:
            copies = {n: take(a, places) for n, a in comparison.copies.items()}
            single = standard.whole == "single" and not strange_goldens(some)
            by_element = not standard.whole or single
            weak += [n for n, answer in _answers(some, copies) if _passes(answer, some, standard, by_element)]
            if not standard.whole and _tail_passes(comparison, standard, metrics):
                weak.append(f"last {TAIL_BYTES} bytes zeroed")
    return tuple(dict.fromkeys(weak))


def _by_numbers(some: Comparison, standard: Standard) -> Iterator[str]:
    """What the numbers of the standard alone let pass.

    ``any number``, where those that lie farthest from the golden would pass, or would in the share of the elements that
    only a limit binds, or ``zeros``, where the tolerance is as large as any golden itself.
    """
    if standard.equality:
        return
    if _passes(_farthest(some), some, standard, not standard.whole):
        yield "any number"
    elif standard.limit is not None:
        if standard.matched < 1 and standard.limit > 1 and _dwarfed(some.golden, standard.limit):
            yield f"any number in {1 - standard.matched:.3g} of the elements"
    elif standard.whole:
        return
    elif not some.is_float:
        if _dwarfed(some.golden, standard.ulps if standard.kind == "ulp" else standard.atol):
            yield "zeros"
    elif standard.kind == "ulp":
        if standard.ulps >= 2.0 ** (float_format(some.dtype).mantissa + 1):
            yield "zeros"
    elif standard.kind == "linear" and (standard.rtol >= 1 or _dwarfed(some.golden, standard.atol)):
        yield "zeros"


def _dwarfed(golden: np.ndarray, allowed: float) -> bool:
    """Whether a distance of 1 or more is twice as large as any golden."""
    sizes = np.abs(wide(golden))
    return allowed >= max(1.0, 2.0 * float(sizes[np.isfinite(sizes)].max(initial=0.0)))


def _farthest(some: Comparison) -> np.ndarray:
    golden, dtype = some.golden, some.dtype
    if some.is_float:
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


def _answers(some: Comparison, copies: dict[str, np.ndarray]) -> Iterator[tuple[str, np.ndarray]]:
    golden, dtype = some.golden, some.dtype
    yield "zeros", np.zeros(golden.shape, numpy_dtype(dtype))
    for name, values in copies.items():
        if values.dtype.kind != "c" or golden.dtype.kind == "c":
            yield f"copy of {name}", round_to(values, dtype)
    # In a dtype that holds twice the largest number; the parts of a complex number one by one, for Inf times 2
    # is NaN in the other.
    double = wide(golden)
    twice = (double.view(np.float64) * 2).view(double.dtype)
    yield "twice the golden", round_to(twice, dtype)
    yield "negated golden", round_to(-double, dtype)


def _passes(answer: np.ndarray, some: Comparison, standard: Standard, by_element: bool) -> bool:
    # Nearly every wrong answer breaks a rule for single elements at the first few.
    probe = slice(None, None, max(1, answer.size // 128))
    if by_element and _fails_at_once(answer[probe].copy(), some.golden[probe].copy(), some.dtype, standard):
        return False
    return not judged(replace(some, got=answer), standard, threads=1).failed


def _fails_at_once(got: np.ndarray, golden: np.ndarray, dtype: str, standard: Standard) -> bool:
    """Whether one of these elements fails the output by itself; False where that is not sure."""
    if standard.matched < 1.0 or standard.forgiven is not None:
        if standard.kind != "linear" or standard.non_finite not in ("match", "nan differs"):
            return bool(figures(got, golden, dtype, standard).beyond.any())
        # No share forgives what is beyond the limit, or a NaN or Inf that differs.
        standard = replace(standard, atol=math.inf)
    return bool(failing(got, golden, dtype, standard).any())


def _tail_passes(comparison: Comparison, standard: Standard, metrics: Metrics) -> bool:
    """The zeroed tail counts with its true share: the rest is as good as the real output."""
    golden, dtype = comparison.golden, comparison.dtype
    total, length = golden.size, TAIL_BYTES // numpy_dtype(dtype).itemsize
    if length >= total:
        return False
    tail = Comparison(
        "", np.zeros(length, numpy_dtype(dtype)), take(golden, np.arange(total - length, total)), dtype
    )
    if _fails_at_once(tail.got, tail.golden, dtype, standard):
        return False
    found = measure(tail, standard, threads=1)
    mean = None
    if found.mean is not None:
        mean = (found.mean * length + (metrics.mean or 0.0) * (total - length)) / total
    census = replace(found.census, total=total)
    outside = found.outside + metrics.outside
    return not failures(replace(found, census=census, outside=outside, mean=mean), standard)
