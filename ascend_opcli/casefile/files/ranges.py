"""Ranges of values, as foreign files write them, as data of opcli's own grammar."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from statistics import NormalDist
from typing import Any

from ascend_opcli.tensors.dtypes import DTYPES, float_format, integer_range

Real = int | float
DEFAULT_NORMAL = ((-100.0, 100.0), (1.0, 25.0))
"""Intervals of mean and standard deviation where a normal range gives none (ATK)."""

_FLOATS = ("float", "complex")


class Draws:
    """Numbers that a foreign tool draws when it runs: here they follow from the case's seed and a label alone."""

    def __init__(self, seed: int) -> None:
        self._seed = seed

    def share(self, label: str) -> float:
        """A number of [0, 1) with 32 bits."""
        digest = hashlib.sha256(f"opcli import 1 {self._seed} {label}".encode()).digest()
        return int.from_bytes(digest[:4], "little") / 2**32

    def between(self, low: Real, high: Real, label: str) -> Real:
        """A number of the closed interval, whole where both ends are; reals to six digits, never outside."""
        if isinstance(low, int) and isinstance(high, int):
            return low + math.floor(self.share(label) * (high - low + 1))
        return min(max(_short(low + (high - low) * self.share(label)), low), high)

    def one_of(self, values: Sequence[Any], label: str) -> Any:
        """One of the values."""
        return values[math.floor(self.share(label) * len(values))]

    def normal(self, mean: float, deviation: float, label: str) -> float:
        """A normal number, to six digits."""
        return _short(mean + deviation * NormalDist().inv_cdf((self.share(label) * 2**32 + 0.5) / 2**32))


def _short(value: float) -> float:
    return float(f"{value:.6g}")


def is_real(value: Any) -> bool:
    """Whether it is a number, not a boolean."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def number(value: Any) -> Real | None:
    """A number, also one that is written as text (``"inf"``, ``"1e-6"``); None for anything else."""
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, (int, float)):
        return value
    if isinstance(value, str) and len(value) <= 64:
        try:
            return float(value.strip())
        except ValueError:
            return None
    return None


def bounds(dtype: str) -> tuple[Real, Real]:
    """The lowest and the highest finite number of a dtype."""
    kind = DTYPES[dtype].kind
    if kind == "bool":
        return 0, 1
    if kind in _FLOATS:
        largest = float_format(dtype).largest
        return -largest, largest
    return integer_range(dtype)


def constant(value: Real, dtype: str) -> Any:
    """A fill. What an integer dtype has not is its nearest: its extreme for an infinity, 0 for NaN."""
    kind = DTYPES[dtype].kind
    if kind == "bool":
        return bool(value)
    if kind in _FLOATS:
        return value
    low, high = bounds(dtype)
    if value != value:
        return 0
    return int(min(max(value, low), high))


def interval(low: Real, high: Real, dtype: str, *, open_low: bool = False, open_high: bool = False) -> Any:
    """Uniform data of an interval; an infinite end is the end of the dtype. Integers are whole numbers of it."""
    if low != low or high != high:
        return constant(math.nan, dtype)
    if low > high:
        low, high = high, low
    if low == high:
        return constant(low, dtype)
    least, most = bounds(dtype)
    if DTYPES[dtype].kind in _FLOATS:
        low, high = (least if low == -math.inf else low), (most if high == math.inf else high)
        if low >= high:
            return constant(high, dtype)
        return {"uniform": [math.nextafter(low, math.inf) if open_low else low, high]}
    if DTYPES[dtype].kind == "bool":
        return {"integers": [0, 1]}
    first = _whole(low, least, most, up=True) + (1 if open_low and low == math.ceil(low) else 0)
    last = _whole(high, least, most, up=False) - (1 if open_high and high == math.floor(high) else 0)
    return constant(last, dtype) if first >= last else {"integers": [first, last]}


def _whole(value: Real, least: Real, most: Real, *, up: bool) -> int:
    if math.isinf(value):
        return int(most if value > 0 else least)
    rounded = math.ceil(value) if up else math.floor(value)
    return int(min(max(rounded, least), most))


def normal(mean: Real, deviation: Real, dtype: str) -> Any:
    """Normal data; a bool has no mean, and is drawn evenly."""
    if DTYPES[dtype].kind == "bool":
        return {"integers": [0, 1]}
    return {"normal": [mean, abs(deviation)]}


def with_specials(data: Any, specials: Sequence[Real], count: int, dtype: str) -> Any:
    """Data in which every special appears, as many as there is room for; what the dtype has not is left out."""
    if DTYPES[dtype].kind not in _FLOATS:
        specials = [s for s in specials if math.isfinite(s) and float(s).is_integer()]
    kept = list(specials)[:count]
    if not kept:
        return data
    if not isinstance(data, dict):
        data = {"uniform": [data, data]} if is_real(data) and math.isfinite(data) else {"choice": [data]}
    return {**data, "specials": kept}
