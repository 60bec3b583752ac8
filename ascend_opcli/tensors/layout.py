"""Where the elements of a tensor lie in its storage. Strides and offsets count elements, not bytes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from ascend_opcli.errors import did_you_mean
from ascend_opcli.model import Shape, Tensor, TensorSpec
from ascend_opcli.tensors.dtypes import numpy_dtype
from ascend_opcli.tensors.flat import Streamed

LAYOUTS = ("contiguous", "transposed", "reversed", "padded")
"""The layouts that have a name; a view with written strides is ``strided``."""

PADDING = 8
"""Elements of the gap after each row of a padded tensor."""

MAX_ELEMENTS = 2**40
"""No shape or storage may have more elements: a misprint or an attack, not a tensor."""

OUTSIDE = 0xA5
"""The byte that fills the storage outside the view."""

_ENUMERABLE = 2**20


def resolve(
    shape: Sequence[int],
    *,
    layout: str = "contiguous",
    strides: Sequence[int] | None = None,
    offset: int = 0,
    storage_shape: Sequence[int] | None = None,
) -> tuple[Shape, int, Shape, str]:
    """The strides, offset, storage shape and layout word of a view of that shape.

    ``layout``: contiguous; transposed, the last two axes swapped in memory; reversed, all axes
    (column-major); padded, a gap of 8 elements after each row. ``strides`` instead gives the word strided.
    A tensor of less than two axes is contiguous when transposed or reversed. Without ``storage_shape`` the
    storage is the smallest one-dimensional one that holds the view (with the last gap where padded).
    ValueError with one sentence.
    """
    shape = _sizes(shape, "shape")
    if layout != "strided" and layout not in LAYOUTS:
        listed = f"; known are {', '.join(LAYOUTS)}"
        raise ValueError(f"unknown layout '{layout}'" + did_you_mean(layout, LAYOUTS, otherwise=listed))
    if isinstance(offset, bool) or not isinstance(offset, int) or offset < 0:
        raise ValueError(f"offset {offset} is not a count of elements: it must be 0 or more")
    if strides is None:
        if layout == "strided":
            raise ValueError("layout 'strided' needs strides")
        steps = _strides_of(shape, layout)
    else:
        if layout not in ("contiguous", "strided"):
            raise ValueError(f"layout '{layout}' and strides exclude each other: give one of them")
        steps, layout = _given_strides(strides, shape), "strided"
    needed = needed_storage(shape, steps, offset)
    if layout == "padded" and shape:
        needed += PADDING if math.prod(shape) else 0
    if needed > MAX_ELEMENTS:
        raise ValueError(
            f"the view needs a storage of {needed} elements, more than the limit of {MAX_ELEMENTS}"
        )
    if storage_shape is None:
        return steps, offset, (needed,), layout
    storage = _sizes(storage_shape, "storage_shape")
    # A gap after the last row is there for the asking only: a storage without it still holds the view.
    least = needed_storage(shape, steps, offset)
    given = math.prod(storage)
    if given < least:
        raise ValueError(f"storage_shape {list(storage)} has {given} elements, but the view needs {least}")
    return steps, offset, storage, layout


def needed_storage(shape: Sequence[int], strides: Sequence[int], offset: int = 0) -> int:
    """Number of elements of the smallest storage that holds the view; for an empty view the offset alone."""
    if 0 in shape:
        return offset
    return offset + sum((dim - 1) * step for dim, step in zip(shape, strides, strict=True)) + 1


def overlaps(shape: Sequence[int], strides: Sequence[int]) -> bool:
    """Whether two positions of the view share an element.

    Exact where every stride steps over all that the smaller ones reach (every ordinary view), and by
    enumeration up to 2**20 elements; a larger interleaved view counts as overlapping.
    """
    if 0 in shape:
        return False
    axes = sorted((step, dim) for dim, step in zip(shape, strides, strict=True) if dim > 1)
    reach = 0
    for step, dim in axes:
        if step <= reach:
            break
        reach += step * (dim - 1)
    else:
        return False
    count = math.prod(shape)
    extent = needed_storage(shape, strides)
    if any(step == 0 for step, _ in axes) or count > extent or count > _ENUMERABLE:
        return True
    places = np.sort(_places(shape, strides, 0), axis=None)
    return bool((places[1:] == places[:-1]).any())


def distinct(shape: Sequence[int], strides: Sequence[int]) -> int:
    """How many elements of its storage a view meets.

    Exact where axes of stride 0 are all that makes positions share an element, and by enumeration up to 2**20
    elements; of a larger interleaved view it is what its storage holds at the most.
    """
    axes = [(dim, step) for dim, step in zip(shape, strides, strict=True) if dim != 1 and (step or dim == 0)]
    dims, steps = tuple(dim for dim, _ in axes), tuple(step for _, step in axes)
    count = math.prod(dims)
    if not overlaps(dims, steps):
        return count
    if count <= _ENUMERABLE:
        return int(np.unique(_places(dims, steps, 0)).size)
    return min(count, needed_storage(dims, steps))


def is_contiguous(shape: Sequence[int], strides: Sequence[int]) -> bool:
    """Whether the elements lie one after another in row-major order; axes of size 1 do not count."""
    expected = 1
    if 0 in shape:
        return True
    for dim, step in zip(reversed(shape), reversed(strides), strict=True):
        if dim > 1 and step != expected:
            return False
        expected *= dim
    return True


def view(tensor: Tensor) -> np.ndarray:
    """The tensor's view into its storage, of the spec's shape: no copy, writable where the storage is."""
    spec, storage = tensor.spec, tensor.storage
    streamed: Any = storage
    if isinstance(streamed, Streamed):
        return storage  # in row-major order of the view, whatever its layout
    needed = needed_storage(spec.shape, spec.strides, spec.offset)
    if min((spec.offset, *spec.strides), default=0) < 0 or needed > storage.size:
        raise ValueError(f"the view needs {needed} elements, its storage has {storage.size}")
    flat = storage.reshape(-1)
    if is_contiguous(spec.shape, spec.strides):
        return flat[spec.offset : spec.offset + spec.count].reshape(spec.shape)
    # The dtypes of ml_dtypes have no letter of their own in NumPy's array interface: words of their size do.
    plain = flat if flat.dtype.isbuiltin == 1 else flat.view(f"u{flat.itemsize}")
    strides = [step * storage.itemsize for step in spec.strides]
    strided = as_strided(plain[spec.offset :], spec.shape, strides, writeable=storage.flags.writeable)
    return strided.view(flat.dtype)


def empty(spec: TensorSpec, fill_byte: int) -> Tensor:
    """A tensor whose storage has this value in every byte (its lowest bit in a bool, which holds 0 or 1)."""
    byte = fill_byte & 1 if spec.dtype == "bool" else fill_byte
    storage = np.empty(math.prod(spec.storage_shape), numpy_dtype(spec.dtype))
    storage.view(np.uint8).fill(byte)
    return Tensor(spec, storage)


def place(values: np.ndarray, spec: TensorSpec) -> Tensor:
    """A tensor whose view holds ``values``, flat or of the spec's shape, of the spec's dtype.

    The rest of the storage is filled with the byte 0xA5 (true in a bool). Where positions of the view share
    an element, the last one in row-major order counts. Values that fill the storage exactly become the
    storage.
    """
    dtype = numpy_dtype(spec.dtype)
    if values.dtype != dtype:
        raise ValueError(f"values of {values.dtype} cannot be placed into a tensor of {spec.dtype}")
    if values.size != spec.count:
        raise ValueError(
            f"{values.size} values do not fill the shape {list(spec.shape)} of {spec.count} elements"
        )
    whole = is_contiguous(spec.shape, spec.strides) and spec.offset == 0
    if whole and math.prod(spec.storage_shape) == values.size:
        return Tensor(spec, np.ascontiguousarray(values).reshape(-1))
    tensor = empty(spec, OUTSIDE)
    if overlaps(spec.shape, spec.strides):
        # A strided assignment may run in any order; an indexed one keeps the last value.
        tensor.storage[_places(spec.shape, spec.strides, spec.offset).reshape(-1)] = values.reshape(-1)
    else:
        view(tensor)[...] = values.reshape(spec.shape)
    return tensor


def is_shape(dims: Sequence[int]) -> bool:
    """Whether a tensor can have these sizes: none is negative, and together they are within the limit."""
    try:
        _sizes(dims, "shape")
    except ValueError:
        return False
    return True


def _sizes(dims: Sequence[int], what: str) -> Shape:
    for dim in dims:
        if isinstance(dim, bool) or not isinstance(dim, (int, np.integer)) or dim < 0:
            raise ValueError(
                f"{what} {list(dims)} is not a list of sizes: {dim!r} is not an integer of 0 or more"
            )
    # The guard leaves zeros out: a shape like [0, 2**62] is no less absurd for being empty.
    count = math.prod(max(int(dim), 1) for dim in dims)
    if count > MAX_ELEMENTS:
        raise ValueError(f"{what} {list(dims)} has {count} elements, more than the limit of {MAX_ELEMENTS}")
    return tuple(int(dim) for dim in dims)


def _given_strides(strides: Sequence[int], shape: Shape) -> Shape:
    if len(strides) != len(shape):
        raise ValueError(
            f"strides {list(strides)} has {len(strides)} entries, but the shape has {len(shape)} axes"
        )
    for step in strides:
        if isinstance(step, bool) or not isinstance(step, (int, np.integer)) or step < 0:
            raise ValueError(f"stride {step!r} is not a count of elements: it must be 0 or more")
        if step > MAX_ELEMENTS:
            raise ValueError(f"stride {step} is more than the limit of {MAX_ELEMENTS} elements")
    return tuple(int(step) for step in strides)


def _strides_of(shape: Shape, layout: str) -> Shape:
    order = list(range(len(shape)))
    if layout == "reversed":
        order.reverse()
    elif layout == "transposed" and len(order) > 1:
        order[-2:] = reversed(order[-2:])
    strides = [0] * len(shape)
    step = 1
    for axis in reversed(order):
        strides[axis] = step
        step *= max(shape[axis], 1)
        if layout == "padded" and axis == order[-1]:
            step += PADDING
    return tuple(strides)


def _places(shape: Sequence[int], strides: Sequence[int], offset: int) -> np.ndarray:
    """The storage index of every position of the view, int64, of its shape."""
    places = np.full(tuple(shape), offset, np.int64)
    for axis, (dim, step) in enumerate(zip(shape, strides, strict=True)):
        along = [1] * len(shape)
        along[axis] = dim
        places += (np.arange(dim, dtype=np.int64) * step).reshape(along)
    return places
