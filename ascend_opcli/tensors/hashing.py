"""The hash that tells whether two runs of a call had the same inputs."""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from ascend_opcli.model import Attribute, BoundArgument, Tensor
from ascend_opcli.tensors.flat import Streamed
from ascend_opcli.tensors.layout import view

_CHUNK = 2**18


def inputs_sha256(arguments: Mapping[str, BoundArgument]) -> str:
    """sha256, in hexadecimal, over the input tensors in their order: name, dtype, shape and logical bytes.

    The bytes are those of the view, row-major and little-endian: two layouts of the same values hash alike. A
    null pointer counts as such, a tensor list by length and index. Attributes are left out. Contiguous views
    are hashed in place, others by pieces.
    """
    digest = hashlib.sha256()
    for name, bound in arguments.items():
        if isinstance(bound, Attribute):
            continue
        if isinstance(bound, tuple):
            _head(digest.update, name, "list", [len(bound)])
            for index, item in enumerate(bound):
                _tensor(digest.update, f"{name}[{index}]", item)
        else:
            _tensor(digest.update, name, bound)
    return digest.hexdigest()


def array_digest(array: np.ndarray) -> bytes:
    """sha256 of an array's logical bytes, row-major."""
    digest = hashlib.sha256()
    for piece in _pieces(array):
        digest.update(piece.reshape(-1).view(np.uint8).data)
    return digest.digest()


def _tensor(update: Callable[[memoryview | bytes], object], name: str, tensor: Tensor | None) -> None:
    if tensor is None:
        _head(update, name, "null", [])
        return
    _head(update, name, tensor.spec.dtype, list(tensor.spec.shape))
    for piece in _pieces(view(tensor)):
        update(_little_endian(piece).reshape(-1).view(np.uint8).data)


def _head(update: Callable[[memoryview | bytes], object], name: str, dtype: str, shape: list[int]) -> None:
    # A line of JSON ends where it says and fixes how many bytes follow: no two inputs write the same text.
    update(json.dumps([name, dtype, shape]).encode() + b"\n")


def _pieces(array: np.ndarray) -> Iterator[np.ndarray]:
    """The array in row-major order, as C-contiguous arrays of bounded size (or itself where it is one)."""
    streamed: Any = array
    if isinstance(streamed, Streamed):
        yield from streamed.chunks()
    elif array.flags.c_contiguous:
        yield array
    elif array.size <= _CHUNK:
        yield np.ascontiguousarray(array)
    else:
        row = array.size // len(array)
        if row > _CHUNK // 2:
            for part in array:
                yield from _pieces(part)
        else:
            step = _CHUNK // row
            for first in range(0, len(array), step):
                yield np.ascontiguousarray(array[first : first + step])


def _little_endian(array: np.ndarray) -> np.ndarray:
    return array if sys.byteorder == "little" else array.byteswap()
