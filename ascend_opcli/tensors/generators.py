"""What fills a tensor without a file: generators by name, each a function of its arguments.

A new one is one function, which checks its arguments and returns a :data:`Draw`, and one entry in :data:`GENERATORS`.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache

import numpy as np

from ascend_opcli.model import (
    Number,
)
from ascend_opcli.tensors.dtypes import dtype as dtype_of
from ascend_opcli.tensors.dtypes import (
    float_format,
    integer_range,
    round_to,
    spacing,
)
from ascend_opcli.tensors.repeatable import normal_quantile, scaled
from ascend_opcli.tensors.streams import Stream
from ascend_opcli.tensors.written_values import as_reals, literals

_WORDS_32 = 2.0**-32

Draw = Callable[[Stream, int, int], np.ndarray]
"""Gives the elements first to last (exclusive): reals or integers, rounded to the dtype afterwards."""


def uniform(args: Sequence[Number], dtype: str, count: int) -> Draw:  # noqa: ARG001
    """Uniform in [lo, hi), also as stored: a value that rounding would take out becomes the nearest inside.

    lo + (hi - lo) k / 2**32 with one 32-bit word k an element. Where lo equals hi every element is lo.
    Where the dtype has no number in [lo, hi), and for bool, the values are rounded plainly.
    """
    lo, hi = _finite("uniform", args, ("lo", "hi"))
    if lo > hi:
        raise ValueError(f"uniform needs lo <= hi, not [{lo:g}, {hi:g}]")
    # The cache cannot tell -0.0 from 0.0.
    base, scale, half, low, high = _spread(lo + 0.0, hi + 0.0, dtype)

    # k scale is then one rounding and a shift of the exponent: float32 alone gives the same bits, faster.
    single = dtype == "float32" and base == 0.0 and half == 1.0 and 2.0**-90 < scale < 2.0**90
    kind = np.float32 if single and math.frexp(scale)[0] == 0.5 else np.float64

    def draw(stream: Stream, first: int, last: int) -> np.ndarray:
        reals = stream.words32(first, last).astype(kind)
        reals *= kind(scale)
        if base != 0.0:
            reals += base
        if half != 1.0:
            reals *= 2.0
        if low is not None:
            np.maximum(reals, kind(low), out=reals)
        if high is not None:
            np.minimum(reals, kind(high), out=reals)
        return reals

    return draw


def normal(args: Sequence[Number], dtype: str, count: int) -> Draw:  # noqa: ARG001
    """Normal with that mean and std: the normal quantile of (k + 0.5) / 2**32, one 32-bit word k each."""
    mean, deviation = _finite("normal", args, ("mean", "std"))
    if deviation < 0:
        raise ValueError(f"normal needs a standard deviation of 0 or more, not {deviation:g}")

    def draw(stream: Stream, first: int, last: int) -> np.ndarray:
        words = stream.words32(first, last).astype(np.float64)
        words += 0.5
        words *= _WORDS_32
        result = normal_quantile(words)
        result *= deviation
        result += mean
        return result

    return draw


def integers(args: Sequence[Number], dtype: str, count: int) -> Draw:  # noqa: ARG001
    """Uniform integers of [lo, hi], both included, one 64-bit word each (a bias of 2**-64 at most)."""
    lo, hi = (_whole("integers", arg) for arg in _counted("integers", args, ("lo", "hi")))
    if lo > hi:
        raise ValueError(f"integers needs lo <= hi, not [{lo}, {hi}]")
    signed = lo >= -(2**63) and hi < 2**63
    if not signed and not (lo >= 0 and hi < 2**64):
        raise ValueError(f"integers [{lo}, {hi}] lies neither within int64 nor within uint64")

    def draw(stream: Stream, first: int, last: int) -> np.ndarray:
        values = scaled(stream.words64(first, last), hi - lo + 1)
        values += np.uint64(lo % 2**64)
        return values.view(np.int64) if signed else values

    return draw


def choice(args: Sequence[Number], dtype: str, count: int) -> Draw:  # noqa: ARG001
    """One of the listed values, each as likely, one 64-bit word each."""
    if not args:
        raise ValueError("choice needs at least one value to choose from")
    table = literals(args, dtype)

    def draw(stream: Stream, first: int, last: int) -> np.ndarray:
        return np.take(table, scaled(stream.words64(first, last), len(table)).view(np.int64))

    return draw


def linspace(args: Sequence[Number], dtype: str, count: int) -> Draw:  # noqa: ARG001
    """Evenly spaced from lo to hi, both included and exact; a single element is lo. Nothing is random."""
    lo, hi = _finite("linspace", args, ("lo", "hi"))
    half = 1.0 if math.isfinite(hi - lo) else 0.5

    def draw(stream: Stream, first: int, last: int) -> np.ndarray:  # noqa: ARG001
        shares = np.arange(first, last, dtype=np.float64)
        shares /= max(count - 1, 1)
        shares *= hi * half - lo * half
        shares += lo * half
        shares /= half
        if first == 0:
            shares[:1] = lo
        if last == count > 1:
            shares[-1:] = hi
        return shares

    return draw


def permutation(args: Sequence[Number], dtype: str, count: int) -> Draw:  # noqa: ARG001
    """The integers 0 to n - 1, each once: the stable order of n 64-bit keys. A part needs the whole."""
    _counted("permutation", args, ())
    whole: list[np.ndarray] = []

    def draw(stream: Stream, first: int, last: int) -> np.ndarray:
        if not whole:
            whole.append(np.argsort(stream.words64(0, count), kind="stable"))
        return whole[0][first:last]

    return draw


GENERATORS: Mapping[str, Callable[[Sequence[Number], str, int], Draw]] = {
    "uniform": uniform,
    "normal": normal,
    "integers": integers,
    "choice": choice,
    "linspace": linspace,
    "permutation": permutation,
}
"""By kind. Each takes arguments, dtype and count, refuses wrong ones with a ValueError, returns a Draw."""


COMPLEX_PARTS = frozenset({"uniform", "normal"})
"""Generators that draw the imaginary part of a complex dtype too; with the others it is zero."""


def _counted(kind: str, args: Sequence[Number], names: Sequence[str]) -> Sequence[Number]:
    if len(args) != len(names):
        wanted = f"{len(names)} arguments, {' and '.join(names)}" if names else "no arguments"
        raise ValueError(f"{kind} takes {wanted}; {len(args)} given")
    return args


def _finite(kind: str, args: Sequence[Number], names: Sequence[str]) -> tuple[float, ...]:
    numbers = []
    for name, arg in zip(names, _counted(kind, args, names), strict=True):
        if isinstance(arg, bool) or not isinstance(arg, (int, float)):
            raise ValueError(f"{kind} needs real numbers, not {name} = {arg!r}")
        if (isinstance(arg, float) and not math.isfinite(arg)) or abs(arg) > sys.float_info.max:
            raise ValueError(f"{kind} needs finite numbers, not {name} = {arg}")
        numbers.append(float(arg))
    return tuple(numbers)


def _whole(kind: str, arg: Number) -> int:
    if isinstance(arg, int) and not isinstance(arg, bool):
        return arg
    if isinstance(arg, float) and arg.is_integer():
        return int(arg)
    raise ValueError(f"{kind} needs whole numbers, not {arg!r}")


@lru_cache(maxsize=256)
def _spread(lo: float, hi: float, dtype: str) -> tuple[float, float, float, float | None, float | None]:
    """How uniform values are made: base, scale and half of (base + scale k) / half, and where they are clipped."""
    # Where hi - lo overflows, both are halved, which is exact, and the result doubled.
    half = 1.0 if math.isfinite(hi - lo) else 0.5
    base, scale = lo * half, (hi * half - lo * half) * _WORDS_32
    bounds = _inside(lo, hi, dtype)
    if bounds is None:
        return base, scale, half, None, None
    low, high = bounds
    if half != 1.0:
        return base, scale, half, low, high
    # Everything here is monotonic: the ends tell whether any value can leave the interval.
    ends = as_reals(round_to(np.array([0.0, 2.0**32 - 1.0]) * scale + base, dtype))
    return base, scale, half, low if not ends[0] >= low else None, high if not ends[1] <= high else None


def _inside(lo: float, hi: float, dtype: str) -> tuple[float, float] | None:
    """Smallest and largest number of the dtype in [lo, hi), as float64; None where there is none."""
    kind = dtype_of(dtype).kind
    if kind == "bool":
        return None
    if kind in ("int", "uint"):
        least, most = integer_range(dtype)
        least, most = max(math.ceil(lo), least), min(math.ceil(hi) - 1, most)
        if least > most:
            return None
        # Beyond 2**53 a float64 stands for integers that it may not hold: the nearest on the inner side.
        low, high = float(least), float(most)
        low = low if int(low) >= least else math.nextafter(low, math.inf)
        high = high if int(high) <= most else math.nextafter(high, -math.inf)
    else:
        largest = float_format(dtype).largest
        high = _number_below(hi, dtype) if hi <= largest else largest
        low = -_number_below(-lo, dtype, itself=True) if lo >= -largest else -largest
    return (low, high) if low <= high and lo <= low and high < hi else None


def _number_below(bound: float, dtype: str, *, itself: bool = False) -> float:
    """The largest number of a float dtype below ``bound``, or equal to it where ``itself`` may count."""
    near = float(as_reals(round_to(np.array([bound]), dtype))[0])
    if near < bound or (itself and near == bound):
        return near
    if dtype == "float64":
        return math.nextafter(near, -math.inf)
    if not math.isfinite(near):
        return float_format(dtype).largest if bound > 0 else -math.inf
    # The step down from a power of two is that of the binade below it.
    return near - float(spacing(np.array([math.nextafter(near, -math.inf)]), dtype)[0])
