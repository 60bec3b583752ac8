"""Statistics of times: how many samples are enough, and whether two times differ. No clock but the one handed in."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from ascend_opcli.benchmarking.measurement import Speed, SpeedComparison, Statistics

LEAST, MOST = 20, 1000
"""Samples: at least so many unless the budget is spent, at most so many."""

FEWEST = 3
"""Samples that are taken whatever the budget."""

FEW = 6
"""Samples, or independent ones among them, below which nothing is said of how good they are."""

STEP = 1.1
"""Whether there are enough is asked after so many times as many: every look is a chance to stop too soon."""

LEVEL = 0.97
"""The confidence with which the median's interval is made. Sampling stops when it is tight, so that it is tight by
chance more often than its level says: this one holds the median in 95 % of runs (benchmarks and tests measure it)."""

RESAMPLES = 2000
CONFIDENCE = 0.99
SEED = 20240501
CHUNK = 1 << 21
"""Samples that are resampled at a time: what bounds the memory."""

Draw = Callable[[], float]


def sample(
    draw: Draw, *, precision: float, budget: float, clock: Callable[[], float], least: int = LEAST
) -> list[float]:
    """Samples until the median is known to within ``precision`` (a share) or ``budget`` seconds are spent."""
    begun = clock()
    samples: list[float] = []
    look = least
    while len(samples) < MOST:
        samples.append(draw())
        if len(samples) >= FEWEST and clock() - begun >= budget:
            break
        if len(samples) >= look:
            if summarise(samples).uncertainty <= precision:
                break
            look = math.ceil(look * STEP)
    return samples


def sample_pairs(
    one: Draw, other: Draw, *, precision: float, budget: float, clock: Callable[[], float]
) -> tuple[list[float], list[float]]:
    """Samples of two in turns, first one then the other first, so that a drift of the machine meets both alike."""
    begun = clock()
    ours: list[float] = []
    theirs: list[float] = []
    look = LEAST
    while len(ours) < MOST:
        if len(ours) % 2:
            theirs.append(other())
            ours.append(one())
        else:
            ours.append(one())
            theirs.append(other())
        if len(ours) >= FEWEST and clock() - begun >= budget:
            break
        if len(ours) >= look:
            if all(summarise(s).uncertainty <= precision for s in (ours, theirs)):
                break
            look = math.ceil(look * STEP)
    return ours, theirs


def summarise(samples: Sequence[float]) -> Statistics:
    """Median, percentiles and the median's interval of at least one sample.

    Samples that resemble their neighbours count as fewer: as many as are independent of one another.
    """
    ordered = np.sort(np.asarray(samples, np.float64))
    p10, median, p90 = (float(p) for p in np.percentile(ordered, (10, 50, 90)))
    count = len(ordered)
    independent = max(1, int(count / correlation_time(samples)))
    below = outside(independent, LEVEL) * count // independent
    low, high = float(ordered[below]), float(ordered[-1 - below])
    return Statistics(tuple(samples), median, p10, p90, float(ordered[0]), low, high)


def correlation_time(samples: Sequence[float]) -> float:
    """How many successive samples count as one, 1 where they are independent.

    1 + 2 times the sum of the autocorrelations of "lies above the median", which is what the median's variance
    depends on, up to the first that could be chance (Politis and White, 2004: 2 sqrt(log10 n / n)).
    """
    values = np.asarray(samples, np.float64)
    count = len(values)
    if count < 2 * FEW:
        return 1.0
    middle = np.median(values)
    above = np.sign(values - middle)
    above -= above.mean()
    variance = float(above @ above)
    if variance <= 0:
        return 1.0
    chance = 2 * math.sqrt(math.log10(count) / count)
    total = 1.0
    for lag in range(1, count // 2):
        correlation = float(above[lag:] @ above[:-lag]) / variance
        if correlation < chance:
            break
        total += 2 * correlation
    return total


def outside(count: int, confidence: float = 0.95) -> int:
    """How many ordered samples may be left out at each end of an interval of the median.

    The number below the true median is binomial with 1/2 whatever the distribution. Fewer than 6 samples cannot
    give 95 %: the interval is then all of them, and promises less.
    """
    tail = (1 - confidence) / 2
    probability, total, k = math.pow(0.5, count), 0.0, 0
    while k < count // 2:
        total += probability
        if total > tail:
            break
        probability *= (count - k) / (k + 1)
        k += 1
    return max(0, k - 1)


def noisy(statistics: Statistics, precision: float) -> str:
    """A sentence where the median is not known as well as was asked, empty where it is."""
    count = len(statistics.samples)
    if count < FEW:
        plural = "sample is" if count == 1 else "samples are"
        return f"{count} {plural} too few to know how good they are: allow more --time"
    if statistics.uncertainty <= precision:
        return ""
    return (
        f"the median is known to {statistics.uncertainty * 100:.2g} % only, {precision * 100:.2g} % was asked:"
        " allow more --time or quieten the machine"
    )


def drift(statistics: Statistics, precision: float) -> str:
    """A sentence where the second half of the samples is not like the first, beyond their own noise."""
    half = len(statistics.samples) // 2
    if half < 10:
        return ""
    early, late = summarise(statistics.samples[:half]), summarise(statistics.samples[half:])
    moved = late.median / early.median - 1 if early.median > 0 else 0.0
    if abs(moved) <= 2 * precision or (late.low <= early.high and early.low <= late.high):
        return ""
    return f"the time drifted by {moved * 100:+.2g} % from the first half of the samples to the second"


# --- two times --------------------------------------------------------------------------------------------------


def compare(
    ours: Sequence[float],
    theirs: Sequence[float],
    *,
    tolerance: float,
    against: str,
    paired: bool = False,
    precision: float | None = None,
) -> SpeedComparison:
    """How our time compares with another's, by a bootstrap interval of the ratio of the medians.

    ``tolerance`` is the share by which a time may grow and still be the same. ``paired`` samples were taken in
    turns: the median of their ratios is then bootstrapped, which a common drift leaves alone. Where a
    ``precision`` is given and either median is not known so well, the word is UNSURE whatever the interval.
    Blocks of neighbouring samples are resampled together, as long as neighbours resemble each other; the seed is
    fixed, so that the same samples always give the same word.
    """
    rng = np.random.default_rng(SEED)
    a, b = np.asarray(ours, np.float64), np.asarray(theirs, np.float64)
    if min(len(a), len(b)) < FEW:
        return SpeedComparison(Speed.UNSURE, against, reason=f"fewer than {FEW} samples cannot be compared")
    if not (a > 0).all() or not (b > 0).all():
        return SpeedComparison(Speed.UNSURE, against, reason="a time of 0 cannot be compared")
    if paired:
        draws = _medians(a / b, rng)
        ratio = float(np.median(a / b))
    else:
        draws = _medians(a, rng) / _medians(b, rng)
        ratio = float(np.median(a) / np.median(b))
    tail = (1 - CONFIDENCE) / 2 * 100
    low, high = (float(v) for v in np.percentile(draws, (tail, 100 - tail)))
    speed = decide(low, high, tolerance)
    reason = ""
    if speed is Speed.UNSURE:
        reason = f"between {low:.3f} and {high:.3f} times as long: neither within {tolerance * 100:.3g} % nor beyond"
    for whose, samples in (("this time", ours), (against, theirs)) if precision is not None else ():
        noise = noisy(summarise(samples), precision) if precision is not None else ""
        if noise:
            speed, reason = Speed.UNSURE, f"{whose}: {noise}"
            break
    return SpeedComparison(speed, against, ratio, low, high, reason)


def decide(low: float, high: float, tolerance: float) -> Speed:
    """The word for a ratio between ``low`` and ``high``.

    SLOWER and FASTER where all of the interval lies beyond the tolerance, SAME where all of it lies within,
    UNSURE where it holds a bound.
    """
    if low > 1 + tolerance:
        return Speed.SLOWER
    if high < 1 / (1 + tolerance):
        return Speed.FASTER
    if low >= 1 / (1 + tolerance) and high <= 1 + tolerance:
        return Speed.SAME
    return Speed.UNSURE


def _medians(samples: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Medians of :data:`RESAMPLES` resamples in circular blocks, longer where samples resemble each other longer."""
    count = len(samples)
    resembling = correlation_time([float(s) for s in samples])
    block = round(count ** (1 / 3)) if resembling <= 1 else round(max(count ** (1 / 3), 3 * resembling))
    block = max(1, min(block, count // 4))
    medians = np.empty(RESAMPLES)
    rows = max(1, CHUNK // count)
    for first in range(0, RESAMPLES, rows):
        number = min(rows, RESAMPLES - first)
        starts = rng.integers(0, count, (number, -(-count // block), 1))
        picked = ((starts + np.arange(block)) % count).reshape(number, -1)[:, :count]
        medians[first : first + number] = np.median(samples[picked], axis=1)
    return medians
