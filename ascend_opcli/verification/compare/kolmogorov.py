"""The two-sample Kolmogorov-Smirnov test on an output and its golden, which have as many elements each.

Everything is counted in whole numbers: the distance of two empirical distribution functions of n values each
is a count, of n. So a result at the edge of significance does not hang on the rounding of a quotient.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from functools import cache

import numpy as np

WHOLE = 1 << 20
"""Values of each side up to which all are sorted at once, and the distance is taken at each of them."""

DRAWN = 1 << 15
"""Values of each side, of a longer output, at which the distance of all values is taken."""


def distance(
    blocks: Iterable[tuple[np.ndarray, np.ndarray]],
    total: int,
    draw: Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]],
) -> int:
    """The largest distance of the two distribution functions, in values out of ``total``, 0 to ``total``.

    ``blocks`` gives the values of both sides piece by piece, ``draw`` those at flat places. NaN counts as above
    every number. Up to :data:`WHOLE` values the distance is exact. Beyond, all values still count, but the
    distance is taken at 65,536 of them, drawn evenly from both sides: it may be too small by what lies between
    two neighbours of those.
    """
    if total <= WHOLE:
        if not total:
            return 0
        a, b = (np.sort(np.concatenate(side)) for side in zip(*blocks, strict=True))
        return max(_largest(a, b, a), _largest(a, b, b))
    # One place out of each stretch of equal length, anywhere in it: no period can hide from that.
    ends = np.arange(DRAWN + 1, dtype=np.int64) * total // DRAWN
    places = ends[:-1] + (np.random.default_rng(0).random(DRAWN) * np.diff(ends)).astype(np.int64)
    drawn = np.concatenate(draw(places))
    edges = np.unique(
        np.concatenate([drawn[~np.isnan(drawn)], np.array([-np.inf, 0.0, np.inf], drawn.dtype)])
    )
    difference = np.zeros(edges.size, np.int64)
    for block in blocks:
        for side, sign in zip(block, (1, -1), strict=True):
            difference += sign * np.searchsorted(np.sort(side), edges, side="right")
    return int(np.abs(difference).max())


def _largest(a: np.ndarray, b: np.ndarray, values: np.ndarray) -> int:
    above = np.searchsorted(a, values, side="right") - np.searchsorted(b, values, side="right")
    return int(np.abs(above).max())


def critical(n: int, alpha: float) -> int | None:
    """The smallest distance, in values out of ``n``, that is less likely than ``alpha``; None where none is."""
    if not n:
        return None
    # For large n the probability is about 2 exp(-h^2 / n).
    low = high = min(n, 1 + math.isqrt(int(n * math.log(2.0 / alpha))))
    while low and tail(n, low) < alpha:
        low //= 2
    while tail(n, high) >= alpha:
        if high == n:
            return None
        high = min(n, 2 * high)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if tail(n, middle) < alpha else (middle, high)
    return high


@cache
def tail(n: int, h: int) -> float:
    """How likely a distance of at least ``h`` of ``n`` is for two samples of one continuous distribution.

    Exact for every ``n``: 2 sum over k >= 1 of (-1)^(k-1) C(2n, n - k h) / C(2n, n) (B. V. Gnedenko and
    V. S. Korolyuk, 1951). Ties make it too large.
    """
    if h <= 0:
        return 1.0
    total = 0.0
    logarithm = 0.0  # of C(2n, n - k h) / C(2n, n)
    for k in range(1, n // h + 1):
        i = np.arange((k - 1) * h, k * h, dtype=np.float64)
        # A quotient of neighbouring binomials is (n - i) / (n + 1 + i).
        logarithm += float(np.log1p(-(2.0 * i + 1.0) / (n + 1.0 + i)).sum())
        term = float(np.exp(logarithm))
        total += term if k % 2 else -term
        if term < 1e-18 * total:
            break
    return min(1.0, 2.0 * total)
