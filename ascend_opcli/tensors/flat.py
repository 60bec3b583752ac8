"""Arrays read as flat blocks, in row-major order: arrays of any strides, and arrays of which only parts are made."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

import numpy as np

from ascend_opcli.model import Shape

CHUNK = 1 << 16
"""Elements of a streamed array that are made at once: a block of the data's own streams."""

Make = Callable[[int, int], np.ndarray]
"""Gives the flat elements first to last (exclusive), for a span that starts at a multiple of :data:`CHUNK`."""


class Streamed:
    """An array that is never there as a whole: parts of it are made when they are asked for, always alike.

    Stands where an array stands for whoever reads by :class:`Flat` and :func:`take`, and for nobody else.
    """

    def __init__(self, shape: Shape, dtype: np.dtype[Any], make: Make) -> None:
        self.shape = tuple(shape)
        self.dtype = dtype
        self.make = make
        self.size = math.prod(self.shape)
        self.itemsize = dtype.itemsize
        self.nbytes = self.size * dtype.itemsize

    def chunks(self) -> Iterator[np.ndarray]:
        """All elements, chunk by chunk."""
        for start in range(0, self.size, CHUNK):
            yield self.make(start, min(start + CHUNK, self.size))

    def take(self, places: np.ndarray) -> np.ndarray:
        """The elements at flat places, in any order."""
        flat = np.asarray(places).reshape(-1)
        made = np.empty(flat.size, self.dtype)
        order = np.argsort(flat, kind="stable")
        chunks = flat[order] // CHUNK
        cuts = np.flatnonzero(np.diff(chunks, prepend=-1))
        for low, high in zip(cuts, [*cuts[1:], flat.size], strict=True):
            start = int(chunks[low]) * CHUNK
            here = order[low:high]
            made[here] = self.make(start, min(start + CHUNK, self.size))[flat[here] - start]
        return made.reshape(np.shape(places))

    def whole(self) -> np.ndarray:
        """The array, for who knows that it fits."""
        made = np.empty(self.size, self.dtype)
        for start, chunk in zip(range(0, self.size, CHUNK), self.chunks(), strict=True):
            made[start : start + chunk.size] = chunk
        return made.reshape(self.shape)

    def __array__(self, *_: Any, **__: Any) -> NoReturn:
        raise TypeError("a streamed array is not there as a whole")


class Flat:
    """Row-major blocks of an array, in the machine's byte order. A contiguous array in that order is never
    copied, any other one block at a time.

    One instance serves one thread; a block is valid until the next one is asked for.
    """

    def __init__(self, array: np.ndarray, block: int) -> None:
        """``block`` is the largest number of elements that will be asked for at once."""
        self._line: np.ndarray | None = None
        self._made: tuple[int, np.ndarray] | None = None
        self._streamed: Streamed | None = None
        streamed: Any = array
        if isinstance(streamed, Streamed):
            self._streamed = streamed
            return
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
        if self._streamed is not None:
            return self._of_chunks(self._streamed, start, stop)
        self._iterator.iterrange = (start, stop)
        filled = 0
        for piece in self._iterator:
            self._copy[filled : filled + piece.size] = piece
            filled += piece.size
        return native(self._copy[:filled])

    def _of_chunks(self, streamed: Streamed, start: int, stop: int) -> np.ndarray:
        parts = []
        for first in range(start - start % CHUNK, stop, CHUNK):
            # Blocks that are smaller than a chunk come one after another out of the same one.
            if self._made is None or self._made[0] != first:
                self._made = (first, streamed.make(first, min(first + CHUNK, streamed.size)))
            parts.append(self._made[1][max(start - first, 0) : stop - first])
        return parts[0] if len(parts) == 1 else np.concatenate(parts or [np.empty(0, streamed.dtype)])


def take(array: np.ndarray, places: np.ndarray) -> np.ndarray:
    """The elements at flat row-major ``places`` of an array of any strides, in the machine's byte order."""
    streamed: Any = array
    if isinstance(streamed, Streamed):
        return streamed.take(places)
    if array.flags.c_contiguous:
        return native(np.asarray(array.reshape(-1)[places]))
    return native(np.asarray(array[np.unravel_index(places, array.shape)]))


def native(values: np.ndarray) -> np.ndarray:
    """The values in the machine's byte order: themselves where they are."""
    if values.dtype.isnative:
        return values
    return values.astype(values.dtype.newbyteorder("="))


def spread(array: np.ndarray, shape: Shape) -> np.ndarray:
    """The array broadcast to a shape; ValueError where it does not fit. A streamed array has that shape already."""
    streamed: Any = array
    if not isinstance(streamed, Streamed):
        return np.broadcast_to(array, shape)
    if streamed.shape != tuple(shape):
        raise ValueError(f"a streamed array of shape {list(streamed.shape)} is not broadcast")
    return array
