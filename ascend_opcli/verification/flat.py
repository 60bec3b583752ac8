"""A golden read as flat blocks, with other values at a few places."""

from __future__ import annotations

import numpy as np

from ascend_opcli.tensors.flat import Flat, native, take

__all__ = ["Flat", "Patched", "native", "take"]


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
