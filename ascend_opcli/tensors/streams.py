"""Streams of random words: keyed by seed, name, shape and generator, and read at any place."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence

import numpy as np

from ascend_opcli.model import (
    Number,
)

BLOCK = 2**16
"""Elements of one block. Part of the definition of every stream: another number is other data."""


STREAM_VERSION = "opcli data 1"
"""Hashed into every key. To be raised with any change that makes other data."""


class Stream:
    """Random words by index. Those of block b come from SFC64, seeded with the key and b."""

    def __init__(self, key: bytes) -> None:
        self._entropy = int.from_bytes(key, "little")

    def words64(self, first: int, last: int) -> np.ndarray:
        """uint64 words of the elements first to last (exclusive), one each."""
        return self._gather(first, last, 1)

    def words32(self, first: int, last: int) -> np.ndarray:
        """uint32 words of the elements first to last (exclusive), one each: lower halves first."""
        return self._gather(first, last, 2)

    def _gather(self, first: int, last: int, split: int) -> np.ndarray:
        pieces = []
        while first < last:
            block, begin = divmod(first, BLOCK)
            end = min(begin + last - first, BLOCK)
            raw = self._raw(block, -(-end // split))
            # Halves are taken in memory order, which is the little-endian one by definition.
            pieces.append((raw if split == 1 else raw.astype("<u8", copy=False).view("<u4"))[begin:end])
            first += end - begin
        if not pieces:
            return np.empty(0, np.uint64 if split == 1 else np.uint32)
        return pieces[0] if len(pieces) == 1 else np.concatenate(pieces)

    def _raw(self, block: int, count: int) -> np.ndarray:
        seeded = np.random.SFC64(np.random.SeedSequence(self._entropy, spawn_key=(block,)))
        words: np.ndarray = seeded.random_raw(count)
        return words


def key_of(seed: int, name: str, shape: Sequence[int], kind: str, args: Sequence[Number]) -> bytes:
    """sha256 over all that random data depend on; numbers that are equal are written alike."""
    words = [_exact(arg) for arg in args]
    text = json.dumps([STREAM_VERSION, str(int(seed)), name, [int(dim) for dim in shape], kind, words])
    return hashlib.sha256(text.encode()).digest()


def _exact(number: Number) -> str:
    if isinstance(number, complex):
        return f"{_exact(number.real)} {_exact(number.imag)}"
    if isinstance(number, float):
        # Adding 0.0 makes 0.0 of -0.0.
        return (number + 0.0).hex() if not number.is_integer() else str(int(number))
    return str(int(number))
