"""The values of a tensor: written, from a file, or drawn by a generator.

What is drawn depends only on the seed, the parameter's name, the shape and the generator: not on the dtype
(the same reals are rounded to each), the order, the worker, the machine or the version of NumPy. For that
the raw words of SFC64 are used, whose stream NumPy guarantees, and only operations that IEEE 754 defines to
the last bit: no logarithm or exponential of a mathematical library. Each block of :data:`BLOCK` elements
has a stream of its own, so that a part of a tensor can be had without the rest.

A new generator is one function and one entry in :mod:`.generators`.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Sequence

import numpy as np

from ascend_opcli.errors import did_you_mean
from ascend_opcli.model import (
    Data,
    Derived,
    Fill,
    FromFile,
    Generator,
    Number,
    Shape,
    Tensor,
    TensorSpec,
    Values,
)
from ascend_opcli.tensors import files, layout
from ascend_opcli.tensors.dtypes import (
    canonical,
    numpy_dtype,
    part,
    round_to,
)
from ascend_opcli.tensors.dtypes import dtype as dtype_of
from ascend_opcli.tensors.generators import COMPLEX_PARTS, GENERATORS, Draw
from ascend_opcli.tensors.repeatable import PIECE
from ascend_opcli.tensors.streams import BLOCK, Stream, key_of
from ascend_opcli.tensors.written_values import literals

_HELD = 2**21


# --- what is public -----------------------------------------------------------------------------------------


def check(data: Data, dtype: str, shape: Shape) -> None:
    """Refuses, with one clear sentence in a ValueError, data that cannot be made in that dtype and shape.

    Of a file only the header is read.
    """
    dtype = canonical(dtype)
    count = math.prod(shape)
    written = data.values if isinstance(data, Values) else (data.value,) if isinstance(data, Fill) else ()
    if dtype_of(dtype).kind in ("int", "uint") and any(v != v for v in written):
        raise ValueError(f"nan is not a value of {dtype}")
    if isinstance(data, Fill):
        literals((data.value,), dtype)
    elif isinstance(data, Values):
        if len(data.values) != count:
            raise ValueError(
                f"{len(data.values)} values do not fill the shape {list(shape)} of {count} elements"
            )
        literals(data.values, dtype)
    else:
        # What derived data give hangs on other tensors.
        if isinstance(data, Generator):
            _generator(data.kind)(data.args, part(dtype) if data.kind in COMPLEX_PARTS else dtype, count)
        elif isinstance(data, FromFile):
            if data.transposed and len(shape) < 2:
                raise ValueError(f"the shape {list(shape)} has no two axes to swap")
            files.fits(data.path, data.key, dtype, _stored_shape(data, shape))
        if len(data.specials) > count:
            raise ValueError(f"{len(data.specials)} specials do not fit into {count} elements")
        literals(data.specials, dtype)


def _stored_shape(data: FromFile, shape: Shape) -> Shape:
    """The shape under which a file holds a tensor of that shape."""
    return (*shape[:-2], shape[-1], shape[-2]) if data.transposed else shape


def generate(
    data: Data, *, dtype: str, shape: Shape, seed: int, name: str, start: int = 0, stop: int | None = None
) -> np.ndarray:
    """Elements ``start`` to ``stop`` of the flat row-major tensor, a new one-dimensional array of the dtype.

    The bytes are those of the same slice of the whole; only the blocks that it touches are made (permutation
    and compressed files excepted). ``name`` is the parameter's. Raises what :func:`check` raises.
    """
    dtype = canonical(dtype)
    shape = tuple(shape)
    count = math.prod(shape)
    check(data, dtype, shape)
    stop = count if stop is None else stop
    if not 0 <= start <= stop <= count:
        raise ValueError(f"elements {start} to {stop} do not lie within a tensor of {count}")
    if isinstance(data, Fill):
        return np.full(stop - start, literals((data.value,), dtype)[0], numpy_dtype(dtype))
    if isinstance(data, Values):
        return literals(data.values[start:stop], dtype)
    if isinstance(data, Derived):
        raise ValueError(f"'{name}' is derived from other inputs")
    if isinstance(data, FromFile):
        values = files.read(data.path, data.key, dtype, _stored_shape(data, shape))
        if data.transposed:
            values = values.reshape(_stored_shape(data, shape)).swapaxes(-1, -2).reshape(-1)
        result = np.array(values[start:stop])
        # The place of a file says nothing about the data: it is left out of the key.
        key = key_of(seed, name, shape, "file", ())
    else:
        result = np.empty(stop - start, numpy_dtype(dtype))
        key = key_of(seed, name, shape, data.kind, data.args)
        _fill(result, data, dtype, count, start, Stream(key), seed, name, shape)
    _put_specials(result, literals(data.specials, dtype), start, count, key)
    return result


def stored(
    values: np.ndarray, data: Derived, *, dtype: str, shape: Shape, seed: int, name: str
) -> np.ndarray:
    """Flat values of derived data, rounded to the dtype, with its specials at their places."""
    result = np.array(round_to(values, dtype))
    key = key_of(seed, name, shape, "expr", ())
    _put_specials(result, literals(data.specials, dtype), 0, result.size, key)
    return result


def make_tensor(name: str, spec: TensorSpec, seed: int) -> Tensor:
    """The tensor of a parameter: its view holds the spec's data, the rest of its storage a pattern."""
    if spec.data is None:
        raise ValueError(f"'{name}' has no data to be made from")
    values = generate(spec.data, dtype=spec.dtype, shape=spec.shape, seed=seed, name=name)
    return layout.place(values, spec)


# --- inside -------------------------------------------------------------------------------------------------


def _generator(kind: str) -> Callable[[Sequence[Number], str, int], Draw]:
    if kind not in GENERATORS:
        listed = f"; known are {', '.join(GENERATORS)}"
        raise ValueError(f"unknown generator '{kind}'" + did_you_mean(kind, GENERATORS, otherwise=listed))
    return GENERATORS[kind]


def _fill(
    result: np.ndarray,
    data: Generator,
    dtype: str,
    count: int,
    start: int,
    stream: Stream,
    seed: int,
    name: str,
    shape: Shape,
) -> None:
    """Draws the elements from ``start`` on into ``result``, block by block."""
    if len(result) > PIECE:
        # glibc returns memory of a block's size to the system whenever it is freed, and page faults then cost
        # more than the data. Freeing one larger piece makes it hold on to such sizes (mallopt(3)).
        np.empty(_HELD, np.uint8)
    in_parts = dtype_of(dtype).kind == "complex" and data.kind in COMPLEX_PARTS
    targets = [(result, stream)]
    if in_parts:
        other = Stream(key_of(seed, f"{name}.imag", shape, data.kind, data.args))
        targets = [(result.real, stream), (result.imag, other)]
        dtype = part(dtype)
    for target, source in targets:
        draw = _generator(data.kind)(data.args, dtype, count)
        first = start
        while first < start + len(result):
            last = min((first // BLOCK + 1) * BLOCK, start + len(result))
            with np.errstate(all="ignore"):
                round_to(draw(source, first, last), dtype, out=target[first - start : last - start])
            first = last


def _put_specials(result: np.ndarray, specials: np.ndarray, start: int, count: int, key: bytes) -> None:
    """Puts each special at its place where that lies in the part from ``start`` on."""
    if not specials.size:
        return
    words = Stream(hashlib.sha256(key + b"specials").digest()).words64(0, specials.size)
    # The first steps of Fisher and Yates, with only the moved places kept.
    moved: dict[int, int] = {}
    for index, word in enumerate(words.tolist()):
        other = index + (word * (count - index) >> 64)
        place = moved.get(other, other)
        moved[other] = moved.get(index, index)
        if start <= place < start + len(result):
            result[place - start] = specials[index]
