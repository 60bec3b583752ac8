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
from ascend_opcli.verification.elements import split, wide_golden
from ascend_opcli.verification.flat import Flat, Patched, take
from ascend_opcli.verification.kolmogorov import critical, distance
from ascend_opcli.verification.metrics import Metrics, Patches, measure
from ascend_opcli.verification.standard import Standard, number
from ascend_opcli.verification.wording import failures

BLOCK = 1 << 15
"""Elements at once; what is made of them in float64 stays in the cache."""


@dataclass(frozen=True, slots=True)
class Judged:
    """``failed`` are the criteria that were failed, each as a phrase; ``standard`` is the rule for elements
    with the numbers that the data gave it."""

    metrics: Metrics
    failed: tuple[str, ...]
    used: float
    standard: Standard
    warnings: tuple[str, ...] = ()


def judged(
    got: np.ndarray,
    golden: np.ndarray,
    dtype: str,
    standard: Standard,
    *,
    third: np.ndarray | None = None,
    patches: Patches | None = None,
    written: np.ndarray | None = None,
    threads: int | None = None,
) -> Judged:
    """Judges an output of the dtype named ``dtype`` against its golden; see :func:`.measure`.

    ``third`` is the third-party result of the dual standard, of the same shape and any float dtype.
    Raises ValueError where the standard needs one and there is none.
    """
    if standard.whole == "random":
        return _random(got, golden, dtype, standard, written)
    failed: list[str] = []
    warnings: list[str] = []
    share: float | None = None
    if standard.whole == "cosine":
        standard, failed, share = _cosine(got, golden, dtype, standard, patches)
    elif standard.whole == "dual":
        if third is None:
            raise ValueError("the standard dual needs a third-party result: dual:third=FILE")
        standard, failed, share, warnings = _dual(got, golden, dtype, standard, patches, third)
    elif standard.whole == "torch_npu":
        failed, share = _torch_npu(got, golden, dtype, standard, patches)
    metrics = measure(got, golden, dtype, standard, patches=patches, written=written, threads=threads)
    census = metrics.census
    failed = failures(metrics, standard) + failed
    used = metrics.used if share is None or _mismatched(metrics, standard) else share
    if standard.mean_limit:
        used = max(used, (metrics.mean or 0.0) / standard.mean_limit)
    if standard.whole == "single" and failed:
        strange = _strange(golden, dtype, patches)
        if strange:
            # ATK looks no further. What was never written is our own finding and stays.
            failed = failures(Metrics(Census(total=census.total, not_written=census.not_written)), standard)
            what = "1 golden value is" if strange == 1 else f"{strange:,} golden values are"
            warnings.append(f"single passes the output unseen: {what} NaN or Inf")
            used = 0.0
    if standard.non_finite == "nan is good" and census.nan_against_number:
        count = census.nan_against_number
        warnings.append(f"{standard.name} counts {count:,} NaN difference{'s' * (count > 1)} as good")
    if standard.non_finite == "in the share" and census.inf_against_other and not failed:
        warnings.append(f"{standard.name} forgives {census.inf_against_other:,} Inf that differ, as a share")
    return Judged(metrics, tuple(failed), used, standard, tuple(warnings))


def _mismatched(metrics: Metrics, standard: Standard) -> bool:
    """Whether a NaN or Inf decides, whatever share a criterion over the whole leaves."""
    if standard.non_finite == "in the share":
        return metrics.census.nan_against_number > 0
    strange = metrics.census.nan_against_number + metrics.census.inf_against_other
    return strange > 0 and standard.non_finite == "match"


# --- blocks ---------------------------------------------------------------------------------------------------


def _blocks(
    got: np.ndarray, golden: np.ndarray, dtype: str, patches: Patches | None, third: np.ndarray | None = None
) -> Iterator[tuple[np.ndarray, ...]]:
    """Output, golden and, where there is one, third party in float64, the parts of complex numbers one by one.

    A golden that rounds to Inf is that Inf.
    """
    size = max(1, min(BLOCK, got.size))
    x, y = Flat(got, size), Patched(golden, size, patches)
    z = None if third is None else Flat(third, size)
    for start in range(0, got.size, BLOCK):
        stop = min(start + BLOCK, got.size)
        block = [_wide(x.block(start, stop), dtype), _expected(y.block(start, stop), dtype)]
        if z is not None:
            block.append(wide_golden(z.block(start, stop), dtype).reshape(-1).astype(np.float64))
        yield tuple(block)


def _wide(values: np.ndarray, dtype: str) -> np.ndarray:
    if dtype_of(dtype).kind not in ("float", "complex"):
        return values.astype(np.float64)
    return widen(split(values, dtype).reshape(-1), np.float64)


def _expected(golden: np.ndarray, dtype: str) -> np.ndarray:
    if dtype_of(dtype).kind not in ("float", "complex"):
        return round_to(golden, dtype).astype(np.float64)
    stored = wide_golden(golden, dtype).reshape(-1)
    rounded = widen(round_to(stored, part(dtype)), np.float64)
    return np.asarray(np.where(np.isfinite(rounded), stored.astype(np.float64), rounded))


def _same(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.asarray((a == b) | (np.isnan(a) & np.isnan(b)))


# --- criteria -------------------------------------------------------------------------------------------------


def _strange(golden: np.ndarray, dtype: str, patches: Patches | None) -> int:
    """How many golden values are NaN or Inf once they are rounded."""
    count = 0
    lines = Patched(golden, max(1, min(BLOCK, golden.size)), patches)
    parts = 1 if part(dtype) == dtype else 2
    with np.errstate(all="ignore"):
        for start in range(0, golden.size, BLOCK):
            values = _expected(lines.block(start, min(start + BLOCK, golden.size)), dtype)
            count += int(np.count_nonzero(~np.isfinite(values).reshape(-1, parts).all(axis=1)))
    return count


def _cosine(
    got: np.ndarray, golden: np.ndarray, dtype: str, standard: Standard, patches: Patches | None
) -> tuple[Standard, list[str], float]:
    """Where |got - golden|^2 is small it is about 2 (1 - cos) |golden|^2: that much an element may be off."""
    most = standard.numbers["max"]
    sums: tuple[list[float], ...] = ([], [], [])
    with np.errstate(all="ignore"):
        for x, y in _blocks(got, golden, dtype, patches):
            # NaN and Inf must meet their like, which the rule for elements sees to.
            finite = np.isfinite(x) & np.isfinite(y)
            x, y = np.where(finite, x, 0.0), np.where(finite, y, 0.0)
            for total, value in zip(sums, (x @ y, x @ x, y @ y), strict=True):
                total.append(float(value))
    dot, xx, yy = (math.fsum(total) if all(map(math.isfinite, total)) else math.nan for total in sums)
    if xx == yy == 0.0:
        away = 0.0
    elif xx == 0.0 or yy == 0.0:
        away = 1.0
    else:
        # Rounding may leave a cosine a little above 1.
        away = max(0.0, 1.0 - dot / math.sqrt(xx) / math.sqrt(yy))
    standard = replace(standard, atol=math.sqrt(2 * most * yy) if yy > 0 else 0.0)
    phrases = [] if away <= most else [f"1 - cos is {away:.3g}, over {number(most)}"]
    return standard, phrases, _share(away, most) if not math.isnan(away) else math.inf


def _torch_npu(
    got: np.ndarray, golden: np.ndarray, dtype: str, standard: Standard, patches: Patches | None
) -> tuple[list[str], float]:
    p, total, absolute, relative = standard.atol, 0, 0, 0
    with np.errstate(all="ignore"):
        for x, y in _blocks(got, golden, dtype, patches):
            error = np.abs(x - y)
            compared = ~(np.isnan(x) & np.isnan(y))
            quotient = error / (np.maximum(np.abs(x), np.abs(y)) + standard.numbers["least"])
            # Inf - Inf is NaN, which is not <= anything.
            absolute += int(np.count_nonzero(compared & ~(error <= p)))
            relative += int(np.count_nonzero(compared & ~(quotient <= p)))
            total += x.size
    fewer = min(absolute, relative)
    share = 0.0 if not fewer else _share(fewer, total * p)
    if fewer and absolute > total * p and relative > total * p:
        most = f"more than {total * p:.6g} each"
        return [f"{absolute:,} elements fail the absolute and {relative:,} the relative test, {most}"], share
    return [], share


@dataclass
class _Errors:
    """Sums of one result's errors over blocks, where |golden| is not small, and errors counted where it is."""

    mare: float = 0.0
    relative: float = 0.0
    squares: float = 0.0
    counted: int = 0

    def add(self, x: np.ndarray, y: np.ndarray, large: np.ndarray, small: np.ndarray, rule: Standard) -> None:
        error = np.abs(x - y)
        relative = error[large] / (np.abs(y[large]) + rule.mean_epsilon)
        self.mare = max(self.mare, float(relative.max(initial=0.0)))
        self.relative += float(relative.sum())
        self.squares += float(np.square(error[large]).sum())
        self.counted += int(np.count_nonzero(error[small] > rule.atol))


def _dual(
    got: np.ndarray,
    golden: np.ndarray,
    dtype: str,
    standard: Standard,
    patches: Patches | None,
    third: np.ndarray,
) -> tuple[Standard, list[str], float, list[str]]:
    ours, theirs = _Errors(), _Errors()
    count = alone = different = accepted = left_out = 0
    with np.errstate(all="ignore"):
        for x, y, z in _blocks(got, golden, dtype, patches, third):
            finite = np.isfinite(x) & np.isfinite(y) & np.isfinite(z)
            size = np.abs(y)
            large, small = finite & (size >= standard.small), finite & (size < standard.small)
            count += int(np.count_nonzero(large))
            ours.add(x, y, large, small, standard)
            theirs.add(z, y, large, small, standard)
            if finite.all():
                continue
            special = ~finite
            if not standard.numbers["inf_nan_mode"]:
                infinite = np.isinf(x) | np.isinf(y) | np.isinf(z)
                special &= ~infinite
                left_out += int(np.count_nonzero(infinite & ~_same(x, y)))
            good = _same(x, z) | (~np.isfinite(y) & _same(x, y))
            bad = special & ~good
            alone += int(np.count_nonzero(bad & _same(z, y)))
            different += int(np.count_nonzero(bad & ~_same(z, y)))
            accepted += int(np.count_nonzero(special & good & ~_same(x, y)))

    phrases: list[str] = []
    if alone:
        phrases.append(
            f"{alone:,} NaN or Inf where output and third party differ and the latter has the golden"
        )
    if different:
        phrases.append(
            f"{different:,} NaN or Inf where output, golden and third party all differ: investigate"
        )
    share = math.inf if phrases else 0.0
    n = max(count, 1)
    figures = {
        "mare": (ours.mare, theirs.mare),
        "mere": (ours.relative / n, theirs.relative / n),
        "rmse": (math.sqrt(ours.squares / n), math.sqrt(theirs.squares / n)),
    }
    for name, (mine, other) in figures.items():
        found, most = _ratio(mine, other, standard.small), standard.numbers[name]
        # Two results without any error have the ratio 1; the share used is what the error uses.
        share = max(share, _share(mine, most * max(other, standard.small)) if mine else 0.0)
        if found > most:
            phrases.append(f"{name.upper()} {mine:.3g} is {found:.3g} times the third party's, over {most:g}")
    small_ratio = ours.counted / max(theirs.counted, 1)
    share = max(share, small_ratio / 2.0)
    if small_ratio > 2.0:
        phrases.append(
            f"{ours.counted:,} errors in the small-value domain against {theirs.counted:,} of the third party"
        )
    warnings = []
    if accepted:
        warnings.append(
            f"dual accepts {accepted:,} NaN or Inf that differ from the golden as the third party does"
        )
    if left_out:
        warnings.append(f"dual leaves {left_out:,} Inf out of the comparison (inf_nan_mode 0)")
    reach = standard.numbers["mare"] * max(theirs.mare, standard.small)
    return replace(standard, rtol=reach), phrases, share, warnings


def _ratio(mine: float, other: float, least: float) -> float:
    return 1.0 if mine == other == 0.0 else mine / max(other, least)


def _random(
    got: np.ndarray, golden: np.ndarray, dtype: str, standard: Standard, written: np.ndarray | None
) -> Judged:
    total = got.size
    missing = 0 if written is None else total - int(np.count_nonzero(written))
    metrics = Metrics(Census(total=total, within=total, not_written=missing))
    failed = failures(metrics, standard)
    pairs = _Pairs(got, golden, dtype)
    edge = critical(pairs.total, standard.numbers["alpha"])
    with np.errstate(all="ignore"):
        apart = distance(pairs.blocks(), pairs.total, pairs.at)
    warnings = []
    if edge is None and total:
        warnings.append(f"random cannot tell {total:,} elements from another distribution: too few")
    if edge is not None and apart >= edge:
        failed.append(
            f"the distributions differ: Kolmogorov-Smirnov distance {apart / pairs.total:.3g}, "
            f"from {edge / pairs.total:.3g} on significant"
        )
    elif not failed:
        warnings += pairs.let_pass()
    return Judged(metrics, tuple(failed), apart / edge if edge else 0.0, standard, tuple(warnings))


class _Pairs:
    """The values of an output and of its golden rounded to the output's dtype, the parts of complex numbers
    one by one; and how many of each kind are of a value that a distribution may hide."""

    def __init__(self, got: np.ndarray, golden: np.ndarray, dtype: str) -> None:
        self._got, self._golden, self._dtype = got, golden, dtype
        self.total = got.size * (1 if part(dtype) == dtype else 2)
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


def _share(value: float, most: float) -> float:
    if most > 0.0:
        return value / most
    return math.inf if value > 0.0 else 0.0
