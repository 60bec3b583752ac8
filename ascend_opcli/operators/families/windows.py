"""Averages and largest elements of windows over the last axes, with their gradients.

A window is a box: along every axis it takes some places, and what is made of it is made one axis after another.
Shapes are [N, C, spatial...] or [C, spatial...]; counts of windows, divisors and indices are those of PyTorch's
avg_pool, max_pool and adaptive pools.
"""

# More than 400 lines: forward and backward of one family share how windows are cut.
from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from ascend_opcli.model import Generator, Shape
from ascend_opcli.operators.declare import Divergence, Held, Undefined, declare, ints, same

MOST = 1 << 62
"""Attributes above it would leave int64 when they are added or multiplied."""

SPARE = 1 << 20
"""Windows that an axis may have beyond twice its length."""

_FIRST = Generator("integers", (0, 5))
"""Default places of a pooled plane: any of at least six elements has them."""


# --- windows --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Along:
    """The places of every window along one axis that lie in the tensor: ``firsts``, then by ``step`` below ``ends``.

    Two numbers a window, however long the kernel is.
    """

    firsts: np.ndarray
    ends: np.ndarray
    step: int = 1

    def __len__(self) -> int:
        return len(self.firsts)

    def __iter__(self) -> Iterator[slice]:
        for first, end in zip(self.firsts.tolist(), self.ends.tolist(), strict=True):
            yield slice(first, end, self.step)

    @property
    def any_empty(self) -> bool:
        """Whether a window has no place in the tensor."""
        return bool(np.any(self.ends <= self.firsts))


def count_of(length: int, kernel: int, stride: int, before: int, after: int, step: int, ceil: Any) -> int:
    """How many windows an axis has: the last one begins inside the tensor or the padding before it."""
    if min(kernel, stride, step) < 1 or min(before, after) < 0:
        raise Undefined(
            f"a kernel of {kernel}, a stride of {stride}, a dilation of {step}, paddings of {before} and {after}"
        )
    if max(step * kernel, stride, before, after) > MOST:
        raise Undefined(f"a kernel of {kernel} with a dilation of {step} is beyond all tensors")
    room = length + before + after - step * (kernel - 1) - 1
    count = -(-room // stride) + 1 if int(ceil) else room // stride + 1
    if int(ceil) and (count - 1) * stride >= length + before:
        count -= 1
    return max(count, 0)


def _bounded(count: int, length: int) -> None:
    """An output may be said to be smaller than its attributes make it: its size does not bound the windows then."""
    if count > 2 * length + SPARE:
        raise Undefined(f"{count:,} windows along an axis of {length:,}")


def _each(values: Any, axes: int, default: Sequence[int], what: str) -> tuple[int, ...]:
    """One number for every axis: as many as there are, or one for all."""
    given = ints(values) or tuple(default)
    if len(given) not in (1, axes):
        raise Undefined(f"{what} of {len(given)} numbers for {axes} axes")
    return given if len(given) == axes else given * axes


class Box:
    """The windows of a pool with the given attributes, axis by axis."""

    def __init__(
        self, shape: Shape, kernel: Any, strides: Any, pads: Any, dilations: Any, ceil: Any, *, axes: int
    ) -> None:
        self.lengths = tuple(shape[len(shape) - axes :])
        self.kernel = _each(kernel, axes, (), "a kernel")
        self.strides = _each(strides, axes, self.kernel, "strides")
        self.steps = _each(dilations, axes, (1,), "dilations")
        before = _each(pads, axes, (0,), "paddings")
        if any(2 * p > k for p, k in zip(before, self.kernel, strict=True)):
            raise Undefined("a padding of more than half the kernel")
        self.pads = tuple((p, p) for p in before)
        self._count(ceil)

    def _count(self, ceil: Any) -> None:
        table = zip(self.lengths, self.kernel, self.strides, self.pads, self.steps, strict=True)
        self.counts = tuple(count_of(n, k, s, *p, d, ceil) for n, k, s, p, d in table)

    def along(self) -> list[Along]:
        """The places of every window along every axis, those in the padding left out."""
        made = []
        for axis, (length, step) in enumerate(zip(self.lengths, self.steps, strict=True)):
            starts = self._starts(axis)
            firsts = starts + step * -(-np.maximum(-starts, 0) // step)
            ends = np.minimum(starts + step * (self.kernel[axis] - 1) + 1, length)
            made.append(Along(firsts, np.maximum(ends, firsts), step))
        return made

    def _starts(self, axis: int) -> np.ndarray:
        _bounded(self.counts[axis], self.lengths[axis])
        return np.arange(self.counts[axis]) * self.strides[axis] - self.pads[axis][0]

    def divisors(self, include: Any, override: Any) -> Any:
        """What the sum of every window is divided by: its size in the padded tensor, in the tensor, or a number."""
        if int(override):
            return np.full(self.counts, int(override))
        made: Any = 1
        for axis, length in enumerate(self.lengths):
            after = self.pads[axis][1]
            starts = self._starts(axis)
            ends = np.minimum(starts + self.kernel[axis], length + after)
            if not include:
                starts, ends = np.maximum(starts, 0), np.minimum(ends, length)
            # Two long kernels have a product that no integer holds.
            made = np.multiply.outer(made, (ends - starts).astype(np.float64))
        return made


class Sides(Box):
    """The windows of a pool whose paddings before and after an axis are given each."""

    def __init__(
        self, lengths: Shape, kernel: Any, strides: Any, pads: Any, dilations: Any = (), ceil: Any = 0
    ) -> None:
        axes = len(lengths)
        super().__init__(lengths, kernel, strides, (), dilations, 0, axes=axes)
        sides = ints(pads) or (0,) * 2 * axes
        if len(sides) != 2 * axes:
            raise Undefined(f"{len(sides)} paddings for {axes} axes of two sides")
        self.pads = tuple((sides[2 * i], sides[2 * i + 1]) for i in range(axes))
        self._count(ceil)


def _evenly(lengths: Shape, counts: Shape) -> list[Along]:
    """Window i of n over a length L is [floor(i L / n), ceil((i + 1) L / n))."""
    if len(counts) != len(lengths):
        raise Undefined(f"{len(counts)} sizes of the output for {len(lengths)} axes")
    made = []
    for length, n in zip(lengths, counts, strict=True):
        if n < 0 or not length:
            raise Undefined(f"{n} windows share an axis of {length}")
        _bounded(n, length)
        at = np.arange(n)
        made.append(Along(at * length // max(n, 1), -(-(at + 1) * length // max(n, 1))))
    return made


# --- what is made of them -------------------------------------------------------------------------------------


def _sums(values: Any, windows: list[Along]) -> Any:
    for axis, along in zip(range(-len(windows), 0), windows, strict=True):
        rows = np.moveaxis(values, axis, 0)
        made = np.zeros((len(along), *rows.shape[1:]), values.dtype)
        for i, places in enumerate(along):
            made[i] = rows[places].sum(axis=0, dtype=values.dtype)
        values = np.moveaxis(made, 0, axis)
    return values


def _spread(values: Any, windows: list[Along], lengths: Shape) -> Any:
    """Every place gets the sum of the windows that have it."""
    for axis, along, length in zip(range(-len(windows), 0), windows, lengths, strict=True):
        rows = np.moveaxis(values, axis, 0)
        made = np.zeros((length, *rows.shape[1:]), values.dtype)
        for i, places in enumerate(along):
            made[places] += rows[i]
        values = np.moveaxis(made, 0, axis)
    return values


def largest(values: Any, windows: list[Along]) -> tuple[Any, Any]:
    """The largest element of every window, and its place in the plane: the first of equal ones, the last NaN."""
    plane = values.shape[values.ndim - len(windows) :]
    places = np.broadcast_to(np.arange(int(np.prod(plane))).reshape(plane), values.shape)
    # From the last axis on: of equal elements the first row wins, and in it the first column.
    for axis in range(-1, -len(windows) - 1, -1):
        rows, own = np.moveaxis(values, axis, 0), np.moveaxis(places, axis, 0)
        along = windows[axis]
        if along.any_empty:
            raise Undefined("a window lies in the padding")
        made = np.empty((len(along), *rows.shape[1:]), values.dtype)
        found = np.empty(made.shape, np.int64)
        for i, window in enumerate(along):
            part = rows[window]
            best = _best(part)[None]
            made[i] = np.take_along_axis(part, best, 0)[0]
            found[i] = np.take_along_axis(own[window], best, 0)[0]
        values, places = np.moveaxis(made, 0, axis), np.moveaxis(found, 0, axis)
    return values, places


def _best(part: Any) -> Any:
    """The place of the largest along the first axis as PyTorch's loop finds it: every NaN replaces what was there."""
    best = np.argmax(part, axis=0)
    if part.dtype.kind != "f":
        return best
    unknown = np.isnan(part)
    last = len(part) - 1 - np.argmax(unknown[::-1], axis=0)
    return np.where(unknown.any(axis=0), last, best)


def _fits(grad: Any, counts: Shape) -> None:
    if grad.shape[grad.ndim - len(counts) :] != tuple(counts):
        raise Undefined(f"a slope of shape {list(grad.shape)} for {' x '.join(map(str, counts))} windows")


# --- averages -------------------------------------------------------------------------------------------------


def _average(
    axes: int, self: Any, kernel: Any, strides: Any, pads: Any, ceil: Any, include: Any, override: Any,
    _math: Any = 0,
) -> Any:  # fmt: skip
    box = Box(self.shape, kernel, strides, pads, (), ceil, axes=axes)
    return _sums(self, box.along()) / box.divisors(include, override).astype(self.dtype)


def _average_slope(
    axes: int, grad: Any, self: Any, kernel: Any, strides: Any, pads: Any, ceil: Any, include: Any,
    override: Any, _math: Any = 0,
) -> Any:  # fmt: skip
    box = Box(self.shape, kernel, strides, pads, (), ceil, axes=axes)
    _fits(grad, box.counts)
    return _spread(grad / box.divisors(include, override).astype(grad.dtype), box.along(), box.lengths)


def _average_of_sides(
    shape: Any, grad: Any, kh: Any, kw: Any, sh: Any, sw: Any, top: Any, bottom: Any, left: Any, right: Any,
    ceil: Any, include: Any, override: Any,
) -> Any:  # fmt: skip
    lengths = ints(shape)[-2:]
    box = Sides(lengths, (kh, kw), (sh, sw), (top, bottom, left, right), ceil=ceil)
    _fits(grad, box.counts)
    return _spread(grad / box.divisors(include, override).astype(grad.dtype), box.along(), lengths)


def _evenly_average_slope(axes: int, grad: Any, self: Any) -> Any:
    lengths, counts = self.shape[self.ndim - axes :], grad.shape[grad.ndim - axes :]
    windows = _evenly(lengths, counts)
    for axis, along in zip(range(-axes, 0), windows, strict=True):
        sizes = (along.ends - along.firsts).astype(grad.dtype)
        grad = grad / sizes.reshape(-1, *[1] * (-axis - 1))
    return _spread(grad, windows, lengths)


# --- largest elements -----------------------------------------------------------------------------------------


def _max(
    axes: int, self: Any, kernel: Any, strides: Any, pads: Any, dilations: Any, ceil: Any
) -> tuple[Any, Any]:
    return largest(self, Box(self.shape, kernel, strides, pads, dilations, ceil, axes=axes).along())


def _places(axes: int, indices: str, **told: Any) -> Iterator[Held]:
    """Of equal elements of a window any is the largest, and of several NaN any is the one."""
    if indices not in told["golden"]:
        return
    self, got, golden = told["self"], told["got"][indices], told["golden"][indices]
    plane = self.shape[self.ndim - axes :]
    if "outputSize" in told:
        windows = _evenly(plane, of_axes(told["outputSize"], axes))
    else:
        names = ("kernelSize", "stride", "padding", "dilation", "ceilMode")
        windows = Box(self.shape, *(told[n] for n in names), axes=axes).along()
    if not golden.size:
        return
    flat = self.reshape(*self.shape[: self.ndim - axes], -1)
    ours, right = (a.reshape(*flat.shape[:-1], -1).astype(np.int64) for a in (got, golden))
    inside = (ours >= 0) & (ours < flat.shape[-1])
    at = np.unravel_index(np.where(inside, ours, 0), plane)
    for axis, along in enumerate(windows):
        shape = [len(along) if i == axis else 1 for i in range(axes)]
        counts = tuple(len(w) for w in windows)
        firsts, ends = (
            np.broadcast_to(e.reshape(shape), counts).reshape(-1) for e in (along.firsts, along.ends)
        )
        inside &= (at[axis] >= firsts) & (at[axis] < ends) & ((at[axis] - firsts) % along.step == 0)
    one, other = (np.take_along_axis(flat, p, -1) for p in (np.where(inside, ours, 0), right))
    settled = np.where(inside & same(one, other), ours, right).reshape(golden.shape)
    yield Held(indices, got, settled, "of equal elements of a window any, by its place in the plane")


def of_axes(size: Any, axes: int) -> tuple[int, ...]:
    """An outputSize of one number for each pooled axis."""
    counts = ints(size)
    if len(counts) != axes or min(counts) < 0:
        raise Undefined(f"an outputSize of {list(counts)} for {axes} axes")
    return counts


def _evenly_max(axes: int, self: Any, size: Any) -> tuple[Any, Any]:
    return largest(self, _evenly(self.shape[self.ndim - axes :], of_axes(size, axes)))


def _max_slope(axes: int, grad: Any, self: Any, indices: Any, *_attributes: Any) -> Any:
    """Every slope goes to the place of its index in the plane; slopes that meet are added."""
    if indices.shape != grad.shape:
        raise Undefined(f"indices of shape {list(indices.shape)} for slopes of shape {list(grad.shape)}")
    size = int(np.prod(self.shape[self.ndim - axes :]))
    if np.any((indices < 0) | (indices >= size)):
        raise Undefined("an index lies outside its plane")
    planes = grad.reshape(-1, int(np.prod(grad.shape[grad.ndim - axes :])))
    made = np.zeros((len(planes), size), grad.dtype)
    np.add.at(made, (np.arange(len(planes))[:, None], indices.reshape(planes.shape)), planes)
    return made.reshape(self.shape)


def _spatial(values: Any, channels_last: bool) -> tuple[int, ...]:
    """The three or two numbers of the spatial axes out of those of all axes, whose others are 1."""
    given = ints(values)
    if len(given) not in (4, 5):
        return given
    inner, outer = (given[1:-1], (given[0], given[-1])) if channels_last else (given[2:], given[:2])
    if outer != (1, 1):
        raise Undefined("a window over the batch or the channels")
    return inner


def _max_3d(
    x: Any, ksize: Any, strides: Any, padding: Any, pads: Any = None, dilation: Any = None, ceil: Any = 0,
    data_format: Any = "NDHWC",
) -> Any:  # fmt: skip
    last = data_format in (None, "NDHWC")
    if x.ndim != 5 or padding not in ("VALID", "CALCULATED") or data_format not in (None, "NDHWC", "NCDHW"):
        raise Undefined(f"rank {x.ndim} with padding {padding} and format {data_format}")
    made = np.moveaxis(x, -1, 1) if last else x
    sides, up = (pads, ceil or 0) if padding == "CALCULATED" else ((), 0)
    kernel, steps, apart = (_spatial(v, last) for v in (ksize, strides, dilation))
    best, _ = largest(made, Sides(made.shape[2:], kernel, steps, sides, apart, up).along())
    return np.moveaxis(best, 1, -1) if last else best


def _max_v3(x: Any, ksize: Any, strides: Any, pads: Any, ceil: Any) -> Any:
    kernel, steps = _spatial(ksize, False), _spatial(strides, False)
    return largest(x, Sides(x.shape[2:], kernel, steps, pads, ceil=bool(ceil)).along())[0]


# --- declarations ---------------------------------------------------------------------------------------------


def _average_made(axes: int, self: Any, kernel: Any, strides: Any, pads: Any, ceil: Any, *_rest: Any) -> Any:
    box = Box(self.shape, kernel, strides, pads, (), ceil, axes=axes)
    return self.dtype, (*self.shape[: len(self.shape) - axes], *box.counts)


def _max_made(
    axes: int, self: Any, kernel: Any, strides: Any, pads: Any, dilations: Any, ceil: Any
) -> list[Any]:
    box = Box(self.shape, kernel, strides, pads, dilations, ceil, axes=axes)
    shape = (*self.shape[: len(self.shape) - axes], *box.counts)
    return [(self.dtype, shape), ("int32", shape)]


def _evenly_made(axes: int, word: str, self: Any, size: Any) -> list[Any]:
    shape = (*self.shape[: len(self.shape) - axes], *of_axes(size, axes))
    return [(self.dtype, shape), (word, shape)]


def _as_self(_grad: Any, self: Any, *_rest: Any) -> Any:
    return self.dtype, self.shape


def _max_3d_made(
    x: Any, ksize: Any, strides: Any, padding: Any, pads: Any, dilation: Any, ceil: Any, form: Any
) -> Any:
    last = form in (None, "NDHWC")
    sides, up = (pads, ceil or 0) if padding == "CALCULATED" else ((), 0)
    kernel, steps, apart = (_spatial(v, last) for v in (ksize, strides, dilation))
    lengths = x.shape[1:-1] if last else x.shape[2:]
    counts = Sides(lengths, kernel, steps, sides, apart, up).counts
    return x.dtype, (x.shape[0], *counts, x.shape[-1]) if last else (*x.shape[:2], *counts)


def _max_v3_made(x: Any, ksize: Any, strides: Any, pads: Any, ceil: Any) -> Any:
    kernel, steps = _spatial(ksize, False), _spatial(strides, False)
    return x.dtype, (*x.shape[:2], *Sides(x.shape[2:], kernel, steps, pads, ceil=bool(ceil)).counts)


def _no_number(**values: Any) -> bool:
    return bool(np.any(np.isnan(values["self"]) | np.isneginf(values["self"])))


_NUMBERS = Divergence(
    "NaN and -Inf in self: the documents do not support them on atlas_a2 and atlas_a3", _no_number
)


_SIDES: dict[int, dict[str, Any]] = {
    2: {"kernelSize": (3, 2), "strides": (2, 1), "padding": (1, 1), "dilation": (1, 1)},
    3: {"kernelSize": (3, 2, 2), "strides": (2, 1, 2), "padding": (1, 1, 0), "dilation": (1, 1, 1)},
}
"""Every product takes a dilation of 1, most no other."""
_SAMPLES: dict[int, Shape] = {2: (2, 3, 6, 7), 3: (2, 3, 4, 6, 5)}
_AVERAGES: dict[str, Any] = {"ceilMode": False, "countIncludePad": True, "divisorOverride": 0}
_POOLED: dict[int, Shape] = {2: (3, 8), 3: (2, 7, 2)}
"""How many windows the samples have."""


def _pooled(axes: int, word: str | None, counts: Shape) -> Any:
    return lambda dtype, shape: (word or dtype, (*shape[: len(shape) - axes], *counts))


def _averages(axes: int) -> tuple[Any, Any]:
    sides = _SIDES[axes]
    math = {"cubeMathType": 0} if axes == 2 else {}
    word = (
        {"strides": "strides", "padding": "paddings"}
        if axes == 2
        else {"strides": "stride", "padding": "padding"}
    )
    own = {"kernelSize": sides["kernelSize"], **{w: sides[n] for n, w in word.items()}}
    back = {"kernelSize": sides["kernelSize"], "stride": sides["strides"], "padding": sides["padding"]}
    return (
        declare(f"AvgPool{axes}d", partial(_average, axes), "out = the mean of each window of self",
                partial(_average_made, axes), sample_shape=_SAMPLES[axes],
                sample_attributes={**own, **_AVERAGES, **math}),
        declare(f"AvgPool{axes}dBackward", partial(_average_slope, axes),
                f"{'gradInput' if axes == 2 else 'output'} = gradOutput shared by the elements of each window",
                _as_self, sample_shape=_SAMPLES[axes], short={"gradOutput": _pooled(axes, None, _POOLED[axes])},
                sample_attributes={**back, **_AVERAGES, **math}),
    )  # fmt: skip


def _maxima(axes: int, forward: str, backward: str) -> tuple[Any, Any]:
    sides = _SIDES[axes]
    own = {"kernelSize": sides["kernelSize"], "stride": sides["strides"], "padding": sides["padding"],
           "dilation": sides["dilation"], "ceilMode": False}  # fmt: skip
    counts = _POOLED[axes]
    return (
        declare(forward, partial(_max, axes), "out, indices = the largest element of each window and its place",
                partial(_max_made, axes), sample_shape=_SAMPLES[axes], sample_attributes=own,
                divergences=(_NUMBERS,) if axes == 2 else (), holds=partial(_places, axes, "indices")),
        declare(backward, partial(_max_slope, axes), "gradInput = gradOutput added at the places that indices name",
                _as_self, sample_shape=_SAMPLES[axes], sample_attributes=own, data={"indices": _FIRST},
                short={"gradOutput": _pooled(axes, None, counts), "indices": _pooled(axes, "int32", counts)}),
    )  # fmt: skip


def _adaptives(axes: int) -> tuple[Any, ...]:
    counts, places = ((2, 3), "int64") if axes == 2 else ((2, 5, 3), "int32")
    return (
        declare(f"AdaptiveMaxPool{axes}d", partial(_evenly_max, axes),
                "outputOut, indicesOut = the largest element of windows that share the axes evenly, and its place",
                partial(_evenly_made, axes, places), sample_shape=_SAMPLES[axes],
                sample_attributes={"outputSize": counts}, holds=partial(_places, axes, "indicesOut")),
        declare(f"AdaptiveMaxPool{axes}dBackward", partial(_max_slope, axes),
                "gradInput = gradOutput added at the places that indices name", _as_self,
                sample_shape=_SAMPLES[axes], data={"indices": _FIRST},
                short={"gradOutput": _pooled(axes, None, counts), "indices": _pooled(axes, places, counts)}),
        declare(f"AdaptiveAvgPool{axes}dBackward", partial(_evenly_average_slope, axes),
                "out = gradOutput shared by the elements of windows that share the axes evenly", _as_self,
                sample_shape=_SAMPLES[axes], short={"gradOutput": _pooled(axes, None, counts)}),
    )  # fmt: skip


OPERATORS = (
    *itertools.chain(*(_averages(n) for n in (2, 3))),
    *_maxima(2, "MaxPool2dWithIndices", "MaxPool2dWithIndicesBackward"),
    *_maxima(3, "MaxPool3dWithArgmax", "MaxPool3dWithArgmaxBackward"),
    *itertools.chain(*(_adaptives(n) for n in (2, 3))),
    declare("AveragePoolingGrad", _average_of_sides, "out = gradOutput shared by the elements of each window",
            lambda shape, grad, *_rest: (grad.dtype, ints(shape)), sample_shape=(2, 3, 3, 4),
            sample_attributes={"origInputShape": (2, 3, 6, 7), "kernelH": 3, "kernelW": 2, "strideH": 2, "strideW": 2,
                               "padTop": 1, "padBottom": 1, "padLeft": 0, "padRight": 1, **_AVERAGES}),
    declare("MaxPool3D", _max_3d, "out = the largest element of each window of x over depth, height and width",
            _max_3d_made, sample_shape=(2, 4, 6, 5, 3),
            sample_attributes={"ksize": (3, 2, 2), "strides": (2, 1, 2), "padding": "CALCULATED",
                               "padsOptional": (1, 1, 0, 1, 0, 0), "dilationOptional": (1, 1, 1)}),
    declare("MaxPoolV3", _max_v3, "out = the largest element of each window of x over height and width",
            _max_v3_made, sample_shape=(2, 3, 6, 7),
            sample_attributes={"ksize": (1, 1, 3, 2), "strides": (1, 1, 2, 1), "pads": (1, 0, 0, 1), "ceilMode": 0}),
)  # fmt: skip
