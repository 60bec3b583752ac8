"""Criteria over an output as a whole: sums, ratios to a third party, distributions.

:func:`judged` is the one place where an output meets all that its standard asks: the rule for its elements
and, where there is one, the criterion for the whole.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from ascend_opcli.model import Census
from ascend_opcli.tensors.dtypes import dtype as dtype_of
from ascend_opcli.tensors.dtypes import part, round_to, widen
from ascend_opcli.tensors.flat import Flat, take
from ascend_opcli.verification.compare.dual import dual
from ascend_opcli.verification.compare.elements import same, split
from ascend_opcli.verification.compare.kolmogorov import critical, distance
from ascend_opcli.verification.compare.metrics import Metrics, measure
from ascend_opcli.verification.compare.patched import Patched
from ascend_opcli.verification.compare.scaled import Scaled, add_products, apart
from ascend_opcli.verification.compare.wide_blocks import BLOCK, expected, wide_blocks
from ascend_opcli.verification.comparison import Comparison
from ascend_opcli.verification.failed_criteria import failures
from ascend_opcli.verification.standards.rule import Standard, number, share_of


@dataclass(frozen=True, slots=True)
class Judged:
    """An output under all that its standard asks."""

    metrics: Metrics
    failed: tuple[str, ...]
    """The criteria that were failed, each as a phrase."""
    used: float
    """The largest share of what a criterion allows."""
    standard: Standard
    """The rule for elements, with the numbers that the data gave it."""
    warnings: tuple[str, ...] = ()


def judged(comparison: Comparison, standard: Standard, *, threads: int | None = None) -> Judged:
    """Judges an output against its golden by all that a standard asks.

    Raises ValueError where the standard needs a third-party result and there is none.
    """
    if standard.whole == "random":
        return _random(comparison, standard)
    failed: list[str] = []
    warnings: list[str] = []
    share: float | None = None
    if standard.whole == "cosine":
        standard, failed, share = _cosine(comparison, standard)
    elif standard.whole == "dual":
        if comparison.third is None:
            raise ValueError("the standard dual needs a third-party result: dual:third=FILE")
        standard, failed, share, warnings = dual(comparison, standard)
    elif standard.whole == "torch_npu":
        failed, share = _torch_npu(comparison, standard)
    metrics = measure(comparison, standard, threads=threads)
    census = metrics.census
    failed = failures(metrics, standard) + failed
    used = metrics.used if share is None or _mismatched(metrics, standard) else share
    if standard.mean_limit:
        used = max(used, (metrics.mean or 0.0) / standard.mean_limit)
    if standard.whole == "single" and failed:
        strange = strange_goldens(comparison)
        if strange:
            # ATK looks no further. What was never written is our own finding and stays.
            failed = failures(Metrics(Census(total=census.total, not_written=census.not_written)), standard)
            what = "1 golden value is" if strange == 1 else f"{strange:,} golden values are"
            warnings.append(f"single passes the output unseen: {what} NaN or Inf")
            used = 0.0
    if standard.non_finite == "nan is good":
        count = census.nan_against_number
        if part(comparison.dtype) == "float64":
            count = _nan_in_float32(comparison)
    if standard.non_finite == "nan is good" and count:
        warnings.append(f"{standard.name} counts {count:,} NaN difference{'s' * (count > 1)} as good")
    if standard.non_finite == "in the share" and census.inf_against_other and not failed:
        warnings.append(f"{standard.name} forgives {census.inf_against_other:,} Inf that differ, as a share")
    strange = census.nan_against_number + census.inf_against_other
    if standard.non_finite == "all in the share" and strange and not failed:
        warnings.append(f"{standard.name} forgives {strange:,} NaN or Inf that differ, as a share")
    return Judged(metrics, tuple(failed), used, standard, tuple(warnings))


def _mismatched(metrics: Metrics, standard: Standard) -> bool:
    """Whether a NaN or Inf decides, although a criterion over the whole may leave a share."""
    if standard.non_finite == "in the share":
        return metrics.census.nan_against_number > 0
    strange = metrics.census.nan_against_number + metrics.census.inf_against_other
    return strange > 0 and standard.non_finite == "match"


# --- criteria -------------------------------------------------------------------------------------------------


def strange_goldens(comparison: Comparison) -> int:
    """How many golden values are NaN or Inf once they are rounded."""
    count, golden, dtype = 0, comparison.golden, comparison.dtype
    lines = Patched(golden, max(1, min(BLOCK, golden.size)), comparison.instead)
    parts = 1 if part(dtype) == dtype else 2
    with np.errstate(all="ignore"):
        for start in range(0, golden.size, BLOCK):
            values = expected(lines.block(start, min(start + BLOCK, golden.size)), dtype)
            count += int(np.count_nonzero(~np.isfinite(values).reshape(-1, parts).all(axis=1)))
    return count


def _nan_in_float32(comparison: Comparison) -> int:
    """How many elements that are not equal have a NaN difference in float32, where large numbers are Inf."""
    count, parts = 0, 1 if part(comparison.dtype) == comparison.dtype else 2
    with np.errstate(all="ignore"):
        for x, y in wide_blocks(comparison):
            strange = np.isnan(x.astype(np.float32) - y.astype(np.float32)) & ~same(x, y)
            count += int(np.count_nonzero(strange.reshape(-1, parts).any(axis=1)))
    return count


def _cosine(comparison: Comparison, standard: Standard) -> tuple[Standard, list[str], float]:
    """Where |got - golden|^2 is small it is about 2 (1 - cos) |golden|^2: that much an element may be off."""
    most = standard.numbers["max"]
    dot, xx, yy = Scaled(), Scaled(), Scaled()
    zero = True
    with np.errstate(all="ignore"):
        for x, y in wide_blocks(comparison):
            # NaN and Inf must meet their like, which the rule for elements sees to.
            finite = np.isfinite(x) & np.isfinite(y)
            x, y = np.where(finite, x, 0.0), np.where(finite, y, 0.0)
            add_products(x, y, dot, xx, yy)
            zero = zero and not widen(round_to(y, part(comparison.dtype)), np.float64).any()
    away = apart(dot, xx, yy)
    if not xx.total and zero:
        away = 0.0  # zeros where the golden rounds to zeros
    standard = replace(standard, atol=math.sqrt(2 * most) * yy.root() if most else 0.0)
    phrases = [] if away <= most else [f"1 - cos is {away:.3g}, over {number(most)}"]
    return standard, phrases, share_of(away, most)


def _torch_npu(comparison: Comparison, standard: Standard) -> tuple[list[str], float]:
    p, total, absolute, relative = standard.atol, 0, 0, 0
    with np.errstate(all="ignore"):
        for x, y in wide_blocks(comparison):
            error = np.abs(x - y)
            compared = ~(np.isnan(x) & np.isnan(y))
            quotient = error / (np.maximum(np.abs(x), np.abs(y)) + standard.numbers["least"])
            # Inf - Inf is NaN, which is not <= anything.
            absolute += int(np.count_nonzero(compared & ~(error <= p)))
            relative += int(np.count_nonzero(compared & ~(quotient <= p)))
            total += x.size
    fewer = min(absolute, relative)
    share = 0.0 if not fewer else share_of(fewer, total * p)
    if fewer and absolute > total * p and relative > total * p:
        most = f"more than {total * p:.6g} each"
        return [f"{absolute:,} elements fail the absolute and {relative:,} the relative test, {most}"], share
    return [], share


def _random(comparison: Comparison, standard: Standard) -> Judged:
    total, written = comparison.got.size, comparison.written
    missing = 0 if written is None else total - int(np.count_nonzero(written))
    metrics = Metrics(Census(total=total, within=total, not_written=missing))
    failed = failures(metrics, standard)
    pairs = _Pairs(comparison)
    edge = critical(pairs.total, standard.numbers["alpha"])
    with np.errstate(all="ignore"):
        found = distance(pairs.blocks(), pairs.total, pairs.at)
    warnings = []
    if edge is None and total:
        warnings.append(f"random cannot tell {total:,} elements from another distribution: too few")
    if edge is not None and found >= edge:
        failed.append(
            f"the distributions differ: Kolmogorov-Smirnov distance {found / pairs.total:.3g}, "
            f"from {edge / pairs.total:.3g} on significant"
        )
    elif not failed:
        warnings += pairs.let_pass()
    return Judged(metrics, tuple(failed), found / edge if edge else 0.0, standard, tuple(warnings))


class _Pairs:
    """The values of an output and of its golden rounded to the output's dtype, the parts of complex numbers
    one by one; and how many of each kind are of a value that a distribution may hide."""

    def __init__(self, comparison: Comparison) -> None:
        self._got, self._golden, dtype = comparison.got, comparison.golden, comparison.dtype
        self._dtype = dtype
        self.total = self._got.size * (1 if part(dtype) == dtype else 2)
        small = dtype_of(part(dtype)).itemsize < 4 or part(dtype) == "float32"
        self._real = np.float32 if small else np.float64
        self._seen = {"NaN": [0, 0], "Inf": [0, 0], "-Inf": [0, 0], "zeros": [0, 0]}

    def blocks(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Everything, once; it is counted on the way."""
        size = max(1, min(8 * BLOCK, self._got.size))
        x, y = Flat(self._got, size), Flat(self._golden, size)
        for start in range(0, self._got.size, size):
            stop = min(start + size, self._got.size)
            pair = self._values(x.block(start, stop), y.block(start, stop))
            for side, values in enumerate(pair):
                self._seen["NaN"][side] += int(np.count_nonzero(np.isnan(values)))
                for name, value in (("Inf", np.inf), ("-Inf", -np.inf), ("zeros", 0)):
                    self._seen[name][side] += int(np.count_nonzero(values == value))
            yield pair

    def at(self, places: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The values at flat places, which count parts."""
        parts = self.total // self._got.size
        a, b = self._values(take(self._got, places // parts), take(self._golden, places // parts))
        rows = np.arange(places.size)
        return a.reshape(-1, parts)[rows, places % parts], b.reshape(-1, parts)[rows, places % parts]

    def let_pass(self) -> Iterator[str]:
        """What the output has more of than the golden: any NaN and Inf, zeros where chance does not give them."""
        for what, (ours, theirs) in self._seen.items():
            chance = 0.0 if what != "zeros" else 6 * math.sqrt(ours + theirs)
            if ours - theirs > chance:
                yield f"random lets {ours:,} {what} pass where the golden has {theirs:,}"

    def _values(self, got: np.ndarray, golden: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        rounded = round_to(golden, self._dtype)
        a, b = (split(side, self._dtype).reshape(-1) for side in (got, rounded))
        return a.astype(self._real), b.astype(self._real)
