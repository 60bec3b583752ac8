"""The two-sample Kolmogorov-Smirnov test: the statistic, and from where on it is significant."""

from __future__ import annotations

import math

import numpy as np

EXACT_UP_TO = 10_000
"""Product of the two sample sizes up to which the distribution is worked out exactly."""


def statistic(a: np.ndarray, b: np.ndarray) -> float:
    """The largest distance of the two empirical distribution functions. NaN counts as above every number."""
    if not a.size or not b.size:
        return 0.0
    a, b = np.sort(a), np.sort(b)
    values = np.concatenate([a, b])
    above_a = np.searchsorted(a, values, side="right") / a.size
    above_b = np.searchsorted(b, values, side="right") / b.size
    return float(np.abs(above_a - above_b).max())


def critical(n: int, m: int, alpha: float) -> float | None:
    """The smallest statistic whose probability, for one distribution, is below ``alpha``; None where none is.

    Exact for small samples without ties, asymptotic beyond.
    """
    if not n or not m or not 0.0 < alpha < 1.0:
        return None
    if n * m > EXACT_UP_TO:
        return _asymptotic(alpha) * math.sqrt((n + m) / (n * m))
    step = math.gcd(n, m)
    unit = n * m // step  # the statistic is a multiple of 1 / unit
    low, high = 0, unit
    if probability(n, m, high / unit) >= alpha:
        return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if probability(n, m, middle / unit) < alpha else (middle, high)
    return high / unit


def probability(n: int, m: int, d: float) -> float:
    """How likely a statistic of at least ``d`` is for samples of one continuous distribution, exactly.

    Every order of the pooled sample is a path over a grid, and all are as likely; the paths that stay nearer
    than ``d`` to the diagonal are counted, as a share.
    """
    edge = d * n * m - 0.5  # whole numbers are compared: |i m - j n| < d n m
    row = [0.0] * (m + 1)
    for i in range(n + 1):
        for j in range(m + 1):
            if i == j == 0:
                row[0] = 1.0
            elif abs(i * m - j * n) > edge:
                row[j] = 0.0
            else:
                up = row[j] * i / (i + j) if i else 0.0
                left = row[j - 1] * j / (i + j) if j else 0.0
                row[j] = up + left
    return 1.0 - row[m]


def _asymptotic(alpha: float) -> float:
    """Where the Kolmogorov distribution leaves ``alpha`` above: 2 sum (-1)^(k-1) exp(-2 k^2 x^2) = alpha."""
    low, high = 0.2, 10.0
    for _ in range(80):
        middle = (low + high) / 2
        tail = 2 * sum((-1) ** (k - 1) * math.exp(-2.0 * (k * middle) ** 2) for k in range(1, 101))
        low, high = (middle, high) if tail > alpha else (low, middle)
    return high
