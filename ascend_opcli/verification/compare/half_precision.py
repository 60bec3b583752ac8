"""float16 and bfloat16 outputs in float32 scratch, by operations on bits.

NumPy converts float16 one element at a time; four passes of integer operations over scratch in cache take a
quarter of that. Rounding a golden to the dtype is done on bits too, and exactly where that could be wrong.
"""

from __future__ import annotations

import numpy as np

from ascend_opcli.tensors.dtypes import float_format, round_to, widen
from ascend_opcli.verification.compare.elements import wide_golden

NARROW_BLOCK = 1 << 16
"""Elements of a block: smaller than elsewhere, for there are more buffers to keep in the cache."""

CHUNK = 1 << 12
"""How many goldens are rounded exactly at once."""


class Narrow:
    """Comparison of blocks of float16 or bfloat16 with their goldens."""

    def __init__(self, dtype: str, size: int) -> None:
        """``size`` is the number of elements of the largest block."""
        self._dtype, self._format = dtype, float_format(dtype)
        self._half = dtype == "float16"
        self._got, self._golden = np.empty(size, np.float32), np.empty(size, np.float32)
        self._bits = np.empty(0, np.int32)
        self._flags = np.empty((2, 0), bool)

    def compare(
        self, got: np.ndarray, golden: np.ndarray, error: np.ndarray, size: np.ndarray, same: np.ndarray
    ) -> np.ndarray:
        """Fills |got - golden|, |golden| and equality after rounding; gives the golden unrounded."""
        x = self._widened(got, self._got)
        if golden.dtype == got.dtype:
            y = self._widened(golden, self._golden)
            np.subtract(x, y, out=error)
            np.abs(error, out=error)
            np.abs(y, out=size)
            np.equal(error, 0, out=same)
            return y
        y = wide_golden(golden, self._dtype).reshape(-1)
        near = y
        if y.dtype != np.float32:
            near = self._golden[: y.size]
            np.copyto(near, y, casting="same_kind")
        # In float64 where the golden is: cast piece by piece inside NumPy, rounded once at the end.
        np.subtract(x, y, out=error, dtype=y.dtype, casting="same_kind")
        np.abs(error, out=error)
        np.abs(near, out=size)
        self._equal_rounded(x, y, near, size, same)
        return y

    def _widened(self, values: np.ndarray, buffer: np.ndarray) -> np.ndarray:
        """The same values in float32."""
        wide = buffer[: values.size]
        if not self._half:
            np.copyto(wide, values, casting="unsafe")
            return wide
        # Sign and the other 15 bits go to their places in float32, which leaves the exponent 112 too small;
        # the multiplication is exact, for subnormals too.
        bits = wide.view(np.int32)
        np.copyto(bits, values.view(np.int16))
        np.left_shift(bits, 13, out=bits)
        np.bitwise_and(bits, np.int32(-0x70002000), out=bits)
        np.multiply(wide, np.float32(2.0**112), out=wide)
        # NaN and Inf have become numbers of 2**16 and more.
        if np.maximum.reduce(wide) >= 65536.0 or np.minimum.reduce(wide) <= -65536.0:
            np.copyto(wide, values)
        return wide

    def _equal_rounded(
        self, x: np.ndarray, exact: np.ndarray, near: np.ndarray, size: np.ndarray, same: np.ndarray
    ) -> None:
        """Fills in whether ``x`` is the golden ``exact`` rounded; ``near`` is the golden in float32."""
        n = x.size
        if self._bits.size < n:
            self._bits, self._flags = np.empty(self._got.size, np.int32), np.empty((2, self._got.size), bool)
        rounded, (odd, spare) = self._bits[:n], self._flags[:, :n]
        dropped = 23 - self._format.mantissa
        mask, tie = np.int32((1 << dropped) - 1), np.int32(1 << (dropped - 1))
        bits = near.view(np.int32)
        # To nearest: half a step less one is added, one more where the last bit kept is odd.
        np.right_shift(bits, dropped, out=rounded)
        np.bitwise_and(rounded, 1, out=rounded)
        np.add(rounded, tie - np.int32(1), out=rounded)
        np.add(rounded, bits, out=rounded)
        np.bitwise_and(rounded, ~mask, out=rounded)
        np.equal(x, rounded.view(np.float32), out=same)
        # A tie may have come from rounding to float32; below the smallest normal float16 the steps are wider.
        np.bitwise_and(bits, mask, out=rounded)
        np.equal(rounded, tie, out=odd)
        if self._half:
            np.less(size, np.float32(self._format.smallest_normal), out=spare)
            if spare.any():
                spare &= size > 0
                odd |= spare
        places = np.flatnonzero(odd)
        for at in range(0, places.size, CHUNK):
            some = places[at : at + CHUNK]
            same[some] = x[some] == widen(round_to(exact[some], self._dtype), np.float32)
