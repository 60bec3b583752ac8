"""Pooling: windows over the last axes. Shapes are [N, C, spatial...] or [C, spatial...], as in PyTorch."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np

from ascend_opcli.model import Generator, Shape
from ascend_opcli.operators.declare import Divergence, Undefined, declare, ints
from ascend_opcli.operators.families.scatters import replaced
from ascend_opcli.operators.families.windows import Sides, largest, of_axes

_FIRST = Generator("integers", (0, 5))
"""Default places of a pooled plane: any of at least six elements has them."""


# --- adaptive averages ----------------------------------------------------------------------------------------


def _adaptive_average(axes: int, self: Any, outputSize: Any) -> Any:
    """Window i of n over a length L is [floor(i L / n), ceil((i + 1) L / n)): the mean of a box is that of its axes."""
    sizes = of_axes(outputSize, axes)
    if 0 in self.shape[self.ndim - axes :]:
        raise Undefined(f"a mean over an empty axis of {list(self.shape)}")
    made = self
    for axis, size in zip(range(self.ndim - axes, self.ndim), sizes, strict=True):
        made = _window_means(made, axis, size)
    return made


def _window_means(values: Any, axis: int, count: int) -> Any:
    length = values.shape[axis]
    first = np.arange(count) * length // max(count, 1)
    last = -(-(np.arange(count) + 1) * length // max(count, 1))
    if not values.size or not count:
        return np.zeros((*values.shape[:axis], count, *values.shape[axis + 1 :]), values.dtype)
    if length % count == 0:
        if length == count:
            return values
        boxes = values.reshape(*values.shape[:axis], count, length // count, *values.shape[axis + 1 :])
        return boxes.sum(axis=axis + 1) / values.dtype.type(length // count)
    # An end may be the length itself, which reduceat takes for no place: one more element stands there.
    more = np.zeros((*values.shape[:axis], 1, *values.shape[axis + 1 :]), values.dtype)
    rows = np.concatenate([values, more], axis)
    sums = np.add.reduceat(rows, np.stack([first, last], axis=1).reshape(-1), axis=axis)
    picked = sums[(slice(None),) * axis + (slice(None, None, 2),)]
    return picked / (last - first).astype(values.dtype).reshape(-1, *[1] * (values.ndim - 1 - axis))


def _adaptive_shape(axes: int, self: Any, outputSize: Any) -> Any:
    return self.dtype, (*self.shape[: len(self.shape) - axes], *of_axes(outputSize, axes))


# --- maxima ---------------------------------------------------------------------------------------------------


def _window(
    shape: Shape, kernel: Any, strides: Any, auto: Any, pads: Any, dilations: Any, ceil: Any
) -> Sides:
    """Paddings are one, two (rows, columns) or four (top, left, bottom, right); a stride left out is 1."""
    if int(auto):
        raise Undefined(f"autoPad {int(auto)}: only 0 is documented")
    if any(d != 1 for d in ints(dilations)):
        raise Undefined(f"dilations {list(ints(dilations))}: only 1 is documented")
    around = ints(pads) or (0,)
    if len(around) not in (1, 2, 4):
        raise Undefined(f"{len(around)} paddings, not 1, 2 or 4")
    top, left, bottom, right = around * (4 // len(around))
    size = ints(kernel) if len(ints(kernel)) != 1 else ints(kernel) * 2
    if len(size) == 2 and (top + bottom > size[0] or left + right > size[1]):
        raise Undefined("the paddings of an axis are more than the kernel")
    sides = (top, bottom, left, right)
    return Sides(shape[-2:], size, ints(strides) or (1,), sides, ceil=bool(ceil))


def _max_pool(self: Any, kernel: Any, strides: Any, auto: Any, pads: Any, dilations: Any, ceil: Any) -> Any:
    windows = _window(self.shape, kernel, strides, auto, pads, dilations, ceil)
    return largest(self, windows.along())[0]


def _max_pool_shape(
    self: Any, kernel: Any, strides: Any, auto: Any, pads: Any, dilations: Any, ceil: Any
) -> Any:
    windows = _window(self.shape, kernel, strides, auto, pads, dilations, ceil)
    return self.dtype, (*self.shape[:-2], *windows.counts)


_STRIDE = Divergence(
    "strides is empty: the newest document takes 1, one of CANN 8.0 the kernel, as PyTorch does",
    lambda strides: not ints(strides),
)


def _unpool_places(indices: Any, axes: int, size: int) -> Any:
    """The places of every plane, one row each."""
    places = indices.reshape(-1, int(np.prod(indices.shape[indices.ndim - axes :])))
    if np.any((places < 0) | (places >= size)):
        raise Undefined("an index lies outside its plane")
    return places.astype(np.int64)


def _unpool_slope(axes: int, gradOutput: Any, self: Any, indices: Any, *_attributes: Any) -> Any:
    """Every element of self went to one place of its plane, and gets the slope of that place."""
    size = int(np.prod(gradOutput.shape[gradOutput.ndim - axes :]))
    places = _unpool_places(indices, axes, size)
    return np.take_along_axis(gradOutput.reshape(-1, size), places, -1).reshape(self.shape)


def _unpool(axes: int, self: Any, indices: Any, outputSize: Any, *_rest: Any) -> Any:
    """Every element of self at its place of a plane of 0."""
    lengths = ints(outputSize)
    size = math.prod(lengths)
    if len(lengths) != axes or indices.shape != self.shape or min(lengths) < 0:
        raise Undefined(f"indices of shape {list(indices.shape)} for {list(self.shape)} in {list(lengths)}")
    places = _unpool_places(indices, axes, size)
    planes = np.zeros((len(places), size), self.dtype)
    rows = (np.arange(len(places))[:, None], places)
    return replaced(planes, rows, self.reshape(places.shape)).reshape(
        *self.shape[: self.ndim - axes], *lengths
    )


def _unpool_made(axes: int, self: Any, _indices: Any, size: Any, *_rest: Any) -> Any:
    return self.dtype, (*self.shape[: len(self.shape) - axes], *ints(size))


OPERATORS = (
    declare("AdaptiveAvgPool2d", partial(_adaptive_average, 2),
            "out = the means of windows that share the last two axes evenly",
            partial(_adaptive_shape, 2), sample_shape=(2, 3, 5, 7), sample_attributes={"outputSize": (2, 3)}),
    declare("AdaptiveAvgPool3d", partial(_adaptive_average, 3),
            "out = the means of windows that share the last three axes evenly",
            partial(_adaptive_shape, 3), sample_shape=(2, 3, 4, 5, 7), sample_attributes={"outputSize": (2, 5, 3)}),
    declare("MaxPool", _max_pool, "out = the largest element of each window over the last two axes",
            _max_pool_shape, sample_shape=(2, 3, 6, 7), divergences=(_STRIDE,),
            sample_attributes={"kernelShape": (3, 2), "strides": (2, 1), "autoPad": 0, "pads": (1, 1),
                               "dilations": (1, 1), "ceilMode": 0}),
    declare("MaxUnpool2dBackward", partial(_unpool_slope, 2), "out = gradOutput at the places that self went to",
            lambda _grad, self, _indices, _size: (self.dtype, self.shape), sample_shape=(2, 3, 4),
            short={"indices": lambda _d, shape: ("int64", shape)}, data={"indices": _FIRST},
            sample_attributes={"outputSize": (3, 4)}),
    declare("MaxUnpool3dBackward", partial(_unpool_slope, 3), "out = gradOutput at the places that self went to",
            lambda _grad, self, *_rest: (self.dtype, self.shape), sample_shape=(2, 3, 4, 2),
            short={"indices": lambda _d, shape: ("int64", shape)}, data={"indices": _FIRST},
            sample_attributes={"outputSize": (3, 4, 2), "stride": (1, 1, 1), "padding": (0, 0, 0)}),
    declare("MaxUnpool2d", partial(_unpool, 2), "out = self at the places that indices name, 0 elsewhere",
            partial(_unpool_made, 2), sample_shape=(1, 2, 3),
            short={"indices": lambda _d, shape: ("int64", shape)}, data={"indices": Generator("permutation", ())},
            sample_attributes={"outputSize": (3, 4)}),
    declare("MaxUnpool3d", partial(_unpool, 3), "outRef = self at the places that indices name, 0 elsewhere", None,
            sample_shape=(1, 2, 3, 1),
            short={"indices": lambda _d, shape: ("int64", shape),
                   "outRef": lambda dtype, shape: (dtype, (shape[0], 3, 4, 1))},
            data={"indices": Generator("permutation", ())},
            sample_attributes={"outputSize": (3, 4, 1), "stride": (1, 1, 1), "padding": (0, 0, 0)}),
)  # fmt: skip
