"""Arrays of any strides read as flat blocks, in row-major order."""

from __future__ import annotations

from typing import Any

import numpy as np


class Flat:
    """Row-major blocks of an array, in the machine's byte order. A contiguous array in that order is never
    copied, any other one block at a time.

    One instance serves one thread; a block is valid until the next one is asked for.
    """

    def __init__(self, array: np.ndarray, block: int) -> None:
        """``block`` is the largest number of elements that will be asked for at once."""
        self._line: np.ndarray | None = None
        if array.flags.c_contiguous:
            self._line = array.reshape(-1)
            return
        # Any: the stubs of NumPy know nothing of ranged iteration.
        self._iterator: Any = np.nditer(
            array, flags=["external_loop", "buffered", "ranged", "zerosize_ok"], order="C", buffersize=block
        )
        self._copy = np.empty(min(block, array.size), array.dtype)

    def block(self, start: int, stop: int) -> np.ndarray:
        """Elements ``start`` to ``stop`` as a one-dimensional contiguous array."""
        if self._line is not None:
            return native(self._line[start:stop])
        self._iterator.iterrange = (start, stop)
        filled = 0
        for piece in self._iterator:
            self._copy[filled : filled + piece.size] = piece
            filled += piece.size
        return native(self._copy[:filled])


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


def take(array: np.ndarray, places: np.ndarray) -> np.ndarray:
    """The elements at flat row-major ``places`` of an array of any strides, in the machine's byte order."""
    if array.flags.c_contiguous:
        return native(np.asarray(array.reshape(-1)[places]))
    return native(np.asarray(array[np.unravel_index(places, array.shape)]))


def native(values: np.ndarray) -> np.ndarray:
    """The values in the machine's byte order: themselves where they are."""
    if values.dtype.isnative:
        return values
    return values.astype(values.dtype.newbyteorder("="))
