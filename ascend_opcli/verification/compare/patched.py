"""A golden read as flat blocks: with other values at a few places, or rounded to the output's dtype."""

from __future__ import annotations

from typing import Any

import numpy as np

from ascend_opcli.tensors.dtypes import numpy_dtype, round_to
from ascend_opcli.tensors.flat import CHUNK, Flat, Streamed, native

_WHOLE = 1 << 20
"""Elements up to which a golden is rounded at once."""


def rounded(golden: np.ndarray, dtype: str) -> np.ndarray:
    """The golden in the output's dtype; a large one is rounded block by block, where it is read."""
    if golden.dtype == numpy_dtype(dtype):
        return golden
    streamed: Any = golden
    if golden.size <= _WHOLE and not isinstance(streamed, Streamed):
        return round_to(native(golden), dtype)

    def make(first: int, last: int) -> np.ndarray:
        return round_to(Flat(golden, CHUNK).block(first, last), dtype)

    return Streamed(golden.shape, numpy_dtype(dtype), make)  # type: ignore[return-value]


class Patched(Flat):
    """The blocks of a golden with other values at a few places; only blocks with such a place are copied."""

    def __init__(self, array: np.ndarray, block: int, patches: tuple[np.ndarray, np.ndarray] | None) -> None:
        """``patches`` are flat indices, ascending, and the values there."""
        super().__init__(array, block)
        self._patches = patches

    def block(self, start: int, stop: int) -> np.ndarray:
        """As :meth:`Flat.block`; the dtype is that of the array or, where a patch needs it, a wider one."""
        values = super().block(start, stop)
        if self._patches is None:
            return values
        places, others = self._patches
        low, high = np.searchsorted(places, (start, stop))
        if low == high:
            return values
        values = values.astype(np.result_type(values.dtype, others.dtype))
        values[places[low:high] - start] = others[low:high]
        return np.asarray(values)
