"""Logarithm, quantile of the normal distribution and whole multiples, to the same bit on every machine."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

PIECE = 2**15
# log 2 = 0x1.62e42feep-1 + 0x1.a39ef35793c76p-33, as in fdlibm's e_log.c.
_LN2_HIGH = float.fromhex("0x1.62e42fee00000p-1")
_LN2_LOW = float.fromhex("0x1.a39ef35793c76p-33")


def normal_quantile(shares: np.ndarray) -> np.ndarray:
    """The standard normal quantile of shares in [2**-33, 1 - 2**-33], float64 in and out.

    M. J. Wichura, Algorithm AS 241 (PPND16), Applied Statistics 37 (1988) 477-484, relative accuracy about
    1e-16. Its third branch serves shares below exp(-25) and is never reached with 32-bit words.
    """
    result = np.empty_like(shares)
    # In pieces, so that the intermediate values stay in the cache.
    for first in range(0, shares.size, PIECE):
        result[first : first + PIECE] = _quantile(shares[first : first + PIECE])
    return result


def _quantile(shares: np.ndarray) -> np.ndarray:
    offset = shares - 0.5
    square = offset * offset
    np.subtract(0.180625, square, out=square)
    result = _polynomial(square, _CENTRE_OVER)
    result /= _polynomial(square, _CENTRE_UNDER)
    result *= offset
    tail = np.flatnonzero(square < 0.0)
    if tail.size:
        outer = shares[tail]
        depth = np.sqrt(-log(np.minimum(outer, 1.0 - outer)))
        depth -= 1.6
        far = _polynomial(depth, _TAIL_OVER)
        far /= _polynomial(depth, _TAIL_UNDER)
        result[tail] = np.copysign(far, offset[tail])
    return result


def log(values: np.ndarray) -> np.ndarray:
    """The natural logarithm of positive normal float64, the same bits on every machine, error below 2 ulp.

    With v = m 2**e and m in [sqrt(1/2), sqrt(2)): e log 2 + 2 artanh((m - 1) / (m + 1)), artanh by its
    series.
    """
    mantissa, exponent = np.frexp(values)
    small = mantissa < math.sqrt(0.5)
    mantissa = np.where(small, mantissa * 2.0, mantissa)
    exponent = (exponent - small).astype(np.float64)
    ratio = (mantissa - 1.0) / (mantissa + 1.0)
    square = ratio * ratio
    series = _polynomial(square, _ARTANH)
    series *= square
    series *= ratio
    series += ratio
    series *= 2.0
    # log 2 in two parts: the first has 21 zero bits at its end, its product with the exponent is exact.
    series += exponent * _LN2_LOW
    series += exponent * _LN2_HIGH
    return series


def scaled(words: np.ndarray, span: int) -> np.ndarray:
    """floor(word * span / 2**64) of uint64 words, for a span of 1 to 2**64: integers of [0, span)."""
    result = np.empty_like(words)
    for first in range(0, words.size, PIECE):
        result[first : first + PIECE] = _high_product(words[first : first + PIECE], span)
    return result


def _high_product(words: np.ndarray, span: int) -> np.ndarray:
    if span == 2**64:
        return words
    low32, shift = np.uint64(0xFFFFFFFF), np.uint64(32)
    span_high, span_low = np.uint64(span >> 32), np.uint64(span & 0xFFFFFFFF)
    high, low = words >> shift, words & low32
    # Schoolbook product in halves; no sum below exceeds 64 bits.
    middle = high * span_low + ((low * span_low) >> shift)
    product: np.ndarray
    if span_high == 0:
        product = middle >> shift
        return product
    cross = low * span_high + (middle & low32)
    product = high * span_high + (middle >> shift) + (cross >> shift)
    return product


def _polynomial(at: np.ndarray, coefficients: Sequence[float]) -> np.ndarray:
    """Horner's rule, highest power first."""
    result: np.ndarray = np.multiply(at, coefficients[0])
    for coefficient in coefficients[1:-1]:
        result += coefficient
        result *= at
    result += coefficients[-1]
    return result


_ARTANH = tuple(1.0 / (2 * n + 1) for n in range(11, 0, -1))


# Coefficients of AS 241, highest power first; the last of each denominator is 1.
_CENTRE_OVER = (
    2.5090809287301226727e3,
    3.3430575583588128105e4,
    6.7265770927008700853e4,
    4.5921953931549871457e4,
    1.3731693765509461125e4,
    1.9715909503065514427e3,
    1.3314166789178437745e2,
    3.3871328727963666080e0,
)


_CENTRE_UNDER = (
    5.2264952788528545610e3,
    2.8729085735721942674e4,
    3.9307895800092710610e4,
    2.1213794301586595867e4,
    5.3941960214247511077e3,
    6.8718700749205790830e2,
    4.2313330701600911252e1,
    1.0,
)


_TAIL_OVER = (
    7.74545014278341407640e-4,
    2.27238449892691845833e-2,
    2.41780725177450611770e-1,
    1.27045825245236838258e0,
    3.64784832476320460504e0,
    5.76949722146069140550e0,
    4.63033784615654529590e0,
    1.42343711074968357734e0,
)


_TAIL_UNDER = (
    1.05075007164441684324e-9,
    5.47593808499534494600e-4,
    1.51986665636164571966e-2,
    1.48103976427480074590e-1,
    6.89767334985100004550e-1,
    1.67638483018380384940e0,
    2.05319162663775882187e0,
    1.0,
)
