"""Special functions in float64, which NumPy does not have."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

# W. J. Cody, "Rational Chebyshev approximations for the error function", Mathematics of Computation 23 (1969)
# 631-637, with the coefficients of his program CALERF (netlib, specfun). Highest power first; a numerator's
# first coefficient stands last in CALERF's tables.
_NEAR = (
    (1.85777706184603153e-1, 3.16112374387056560e0, 1.13864154151050156e2, 3.77485237685302021e2,
     3.20937758913846947e3),
    (1.0, 2.36012909523441209e1, 2.44024637934444173e2, 1.28261652607737228e3, 2.84423683343917062e3),
)  # fmt: skip
_MIDDLE = (
    (2.15311535474403846e-8, 5.64188496988670089e-1, 8.88314979438837594e0, 6.61191906371416295e1,
     2.98635138197400131e2, 8.81952221241769090e2, 1.71204761263407058e3, 2.05107837782607147e3,
     1.23033935479799725e3),
    (1.0, 1.57449261107098347e1, 1.17693950891312499e2, 5.37181101862009858e2, 1.62138957456669019e3,
     3.29079923573345963e3, 4.36261909014324716e3, 3.43936767414372164e3, 1.23033935480374942e3),
)  # fmt: skip
_FAR = (
    (1.63153871373020978e-2, 3.05326634961232344e-1, 3.60344899949804439e-1, 1.25781726111229246e-1,
     1.60837851487422766e-2, 6.58749161529837803e-4),
    (1.0, 2.56852019228982242e0, 1.87295284992346725e0, 5.27905102951428412e-1, 6.05183413124413191e-2,
     2.33520497626869185e-3),
)  # fmt: skip
_BORDER = 0.46875


def _ratio(x: np.ndarray, coefficients: Sequence[Sequence[float]]) -> np.ndarray:
    top, bottom = (np.polyval(np.asarray(c), x) for c in coefficients)
    made: np.ndarray = top / bottom
    return made


def _tail(x: np.ndarray) -> np.ndarray:
    """erfc(x) for x >= 0.46875."""
    middle = np.minimum(x, 4.0)
    far = np.minimum(np.maximum(x, 4.0), 1e100)
    below = 1 / (far * far)
    scaled = np.where(
        x <= 4.0,
        _ratio(middle, _MIDDLE),
        (1 / math.sqrt(math.pi) - below * _ratio(below, _FAR)) / far,
    )
    # exp(-x * x) loses digits by the rounding of x * x; the head has few enough bits to be squared exactly.
    head = np.trunc(np.minimum(x, 30.0) * 16) / 16
    rest = (np.minimum(x, 30.0) - head) * (np.minimum(x, 30.0) + head)
    made: np.ndarray = np.exp(-head * head) * np.exp(-rest) * scaled
    return made


def _either(x: Any, complement: bool) -> Any:
    given = np.asarray(x)
    wide = given.astype(np.float64)
    size = np.abs(wide)
    with np.errstate(all="ignore"):
        small = np.minimum(size, _BORDER)
        near = wide * _ratio(small * small, _NEAR)
        tail = _tail(np.maximum(size, _BORDER))
        if complement:
            made = np.where(size <= _BORDER, 1 - near, np.where(wide < 0, 2 - tail, tail))
        else:
            made = np.where(size <= _BORDER, near, np.copysign(1 - tail, wide))
    made = np.where(np.isnan(wide), np.nan, made)
    return made.astype(given.dtype if given.dtype == np.float32 else np.float64)


def erf(x: Any) -> Any:
    """The error function of reals, within a few ulp of float64; float32 in gives float32, rounded once."""
    return _either(x, False)


def erfc(x: Any) -> Any:
    """1 - erf(x) without cancellation, within a few ulp of float64."""
    return _either(x, True)


def erfinv(x: Any) -> Any:
    """The inverse of erf: NaN outside [-1, 1], infinite at its ends.

    A first guess by S. Winitzki's formula, then Halley's steps on the smaller of erf and erfc.
    """
    given = np.asarray(x)
    wide = given.astype(np.float64)
    size = np.abs(wide)
    with np.errstate(all="ignore"):
        inner = np.minimum(size, 1 - 2.0**-53)
        log = np.log1p(-inner * inner)
        lead = 2 / (math.pi * 0.147) + log / 2
        guess = np.sqrt(np.sqrt(lead * lead - log / 0.147) - lead)
        for _ in range(3):
            error = np.where(inner < 0.5, erf(guess) - inner, (1 - inner) - erfc(guess))
            step = error / (2 / math.sqrt(math.pi) * np.exp(-guess * guess))
            guess = guess - step / (1 + guess * step)
        made = np.copysign(guess, wide)
        made = np.where(wide == 0, wide, made)
        made = np.where(size == 1, np.copysign(np.inf, wide), made)
    made = np.where((size <= 1), made, np.nan)
    return made.astype(given.dtype if given.dtype == np.float32 else np.float64)


def sigmoid(x: Any) -> Any:
    """1 / (1 + exp(-x)), from the side on which the exponential is small; of complex numbers too."""
    right = np.real(x) >= 0
    small = np.exp(np.where(right, -x, x))
    return np.where(right, 1 / (1 + small), small / (1 + small))


def softplus(x: Any) -> Any:
    """log(1 + exp(x))."""
    return np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))


def normal_cdf(x: Any) -> Any:
    """The distribution function of the standard normal, without cancellation in its lower tail."""
    return erfc(x * x.dtype.type(-math.sqrt(0.5))) / 2


def in_float32(values: Any, word: str | None = None) -> Any:
    """Values as a kernel holds them for what it decides or rounds, in the golden's run too.

    That is float32, but for tensors of the dtype ``word`` float64.
    """
    return np.asarray(values).astype(np.float64 if word == "float64" else np.float32)
