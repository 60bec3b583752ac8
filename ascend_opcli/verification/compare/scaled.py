"""The angle between two vectors of any magnitude that float64 holds, summed block by block."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

_PLAIN = (2.0**-700, 2.0**900)
"""Sums of squares that no product of theirs has left, by underflow or overflow, in a way that counts."""


@dataclass
class Scaled:
    """A sum of numbers m * 2**e that need not lie in float64's range themselves."""

    terms: list[tuple[float, int]] = field(default_factory=list)

    def add(self, value: float, exponent: int) -> None:
        """Adds value * 2**exponent."""
        if value:
            mantissa, own = math.frexp(value)
            self.terms.append((mantissa, own + exponent))

    @property
    def total(self) -> tuple[float, int] | None:
        """Mantissa, 0.5 <= |m| < 1, and exponent; None for zero."""
        if not self.terms:
            return None
        top = max(exponent for _, exponent in self.terms)
        mantissa, exponent = math.frexp(math.fsum(_ldexp(value, own - top) for value, own in self.terms))
        return (mantissa, exponent + top) if mantissa else None

    def root(self, n: int = 1) -> float:
        """The square root of the sum over ``n``, Inf where it is too large, 0 for zero."""
        if self.total is None:
            return 0.0
        mantissa, exponent = self.total
        mantissa /= n
        return _ldexp(math.sqrt(mantissa * (1 + exponent % 2)), exponent // 2)


def add_products(x: np.ndarray, y: np.ndarray, dot: Scaled, xx: Scaled, yy: Scaled) -> None:
    """Adds x.y, x.x and y.y of two finite float64 blocks; errors of floating point are to be ignored."""
    sums, p, q = (float(x @ y), float(x @ x), float(y @ y)), 0, 0
    low, high = _PLAIN
    if not (low <= sums[1] <= high and low <= sums[2] <= high):
        # Powers of two: nothing is rounded but what is too small to count.
        x, p = _at_one(x)
        y, q = _at_one(y)
        sums = float(x @ y), float(x @ x), float(y @ y)
    for total, value, exponent in zip((dot, xx, yy), sums, (p + q, 2 * p, 2 * q), strict=True):
        total.add(value, exponent)


def add_squares(x: np.ndarray, total: Scaled) -> None:
    """Adds x.x of a float64 block; Inf makes the sum Inf."""
    value, exponent = float(x @ x), 0
    if not _PLAIN[0] <= value <= _PLAIN[1]:
        x, exponent = _at_one(x)
        value = float(x @ x)
    total.add(value, 2 * exponent)


def apart(dot: Scaled, xx: Scaled, yy: Scaled) -> float:
    """1 - cos, from 0 to 2; 0 for two zero vectors, 1 where one is."""
    if xx.total is None or yy.total is None:
        return 0.0 if xx.total is yy.total else 1.0
    if dot.total is None:
        return 1.0
    (m, e), (a, p), (b, q) = dot.total, xx.total, yy.total
    # One root of the product: for equal vectors it is their own square, and the cosine 1.
    odd = (p + q) % 2
    cosine = _ldexp(m / math.sqrt(a * b * (1 + odd)), e - (p + q) // 2)
    return min(max(1.0 - cosine, 0.0), 2.0)


def _at_one(values: np.ndarray) -> tuple[np.ndarray, int]:
    """The values times 2**-e so that the largest lies below 1, and e."""
    largest = float(np.abs(values).max(initial=0.0))
    exponent = math.frexp(largest)[1] if math.isfinite(largest) else 0
    return np.ldexp(values, -exponent), exponent


def _ldexp(value: float, exponent: int) -> float:
    try:
        return math.ldexp(value, exponent)
    except OverflowError:
        return math.copysign(math.inf, value)
