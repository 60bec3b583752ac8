"""Operators that move elements: permutations, joins, repeats, pads and slices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ascend_opcli.model import Generator, Shape
from ascend_opcli.operators.declare import Undefined, axis_of, declare, ints, promote
from ascend_opcli.operators.families.fills import cast


def _same(self: Any, *_rest: Any) -> Any:
    return self.dtype, self.shape


# --- whole tensors --------------------------------------------------------------------------------------------


def _cat(tensors: Any, dim: Any) -> Any:
    # A tensor of shape [0] joins anything, as in torch.cat.
    kept = [t for t in tensors if t.shape != (0,)] or list(tensors)
    return np.concatenate(kept, axis=axis_of(dim, kept[0].ndim))


def _cat_made(tensors: Any, dim: Any) -> Any:
    shapes = [t.shape for t in tensors if t.shape != (0,)] or [(0,)]
    axis, made = axis_of(dim, len(shapes[0])), list(shapes[0])
    made[axis] = sum(s[axis] for s in shapes)
    return promote(*(t.dtype for t in tensors)), made


def _stack(tensors: Any, dim: Any) -> Any:
    return np.stack(tensors, axis=axis_of(dim, tensors[0].ndim + 1))


def _stack_made(tensors: Any, dim: Any) -> Any:
    made = list(tensors[0].shape)
    made.insert(axis_of(dim, len(made) + 1), len(tensors))
    return promote(*(t.dtype for t in tensors)), made


def _permute(self: Any, dims: Any) -> Any:
    return np.transpose(self, [axis_of(d, self.ndim) for d in ints(dims)])


def _permute_made(self: Any, dims: Any) -> Any:
    return self.dtype, [self.shape[axis_of(d, len(self.shape))] for d in ints(dims)]


def _flip(self: Any, dims: Any) -> Any:
    return np.flip(self, tuple(axis_of(d, self.ndim) for d in ints(dims)))


def _roll(x: Any, shifts: Any, dims: Any) -> Any:
    if not ints(dims):
        return np.roll(x, ints(shifts)[0])
    return np.roll(x, ints(shifts), axis=ints(dims))


def _repeat(self: Any, repeats: Any) -> Any:
    return np.tile(self, ints(repeats))


def _repeat_made(self: Any, repeats: Any) -> Any:
    times = ints(repeats)
    wide = (*[1] * (len(times) - len(self.shape)), *self.shape)
    return self.dtype, [d * t for d, t in zip(wide, times, strict=True)]


def _expand_shape(shape: Shape, size: Any) -> Shape:
    wanted = ints(size)
    wide = (*[1] * (len(wanted) - len(shape)), *shape)
    return tuple(d if w == -1 else w for d, w in zip(wide, wanted, strict=True))


def _expand(self: Any, size: Any) -> Any:
    if len(ints(size)) < self.ndim:
        return np.broadcast_to(self.reshape(()), ints(size))  # a tensor of rank 0 comes as [1]
    return np.broadcast_to(self, _expand_shape(self.shape, size))


def _flat_shape(shape: Shape, axis: Any) -> Shape:
    place = int(axis) + (len(shape) if int(axis) < 0 else 0)
    return int(np.prod(shape[:place])), int(np.prod(shape[place:]))


def _triangle(keep: Callable[..., Any], self: Any, diagonal: Any) -> Any:
    mask = keep(np.ones(self.shape[-2:], bool), int(diagonal))
    return np.where(mask, self, np.zeros((), self.dtype))


def _diag_made(self: Any, diagonal: Any) -> Any:
    away = int(diagonal)
    if len(self.shape) == 1:
        return self.dtype, [self.shape[0] + abs(away)] * 2
    rows, columns = self.shape
    return self.dtype, [max(min(rows + min(away, 0), columns - max(away, 0)), 0)]


# --- repeats --------------------------------------------------------------------------------------------------


def _times(repeats: Any) -> Any:
    if not isinstance(repeats, np.ndarray) and int(repeats) < 0:
        raise Undefined(f"{int(repeats)} repeats")
    return repeats.reshape(-1) if isinstance(repeats, np.ndarray) else int(repeats)


def _interleaved(self: Any, repeats: Any, axis: int, size: Any) -> Any:
    """The repeats are one for all or one for each; a tensor's must add up to the size that the caller gives."""
    times = _times(repeats)
    if isinstance(times, np.ndarray):
        if times.size not in (1, self.shape[axis]) or np.any(times < 0):
            raise Undefined(f"{times.size} repeats for {self.shape[axis]} elements, or a negative one")
        total = int(times.sum()) * (self.shape[axis] if times.size == 1 else 1)
        if total != int(size):
            raise Undefined(f"the repeats add up to {total}, outputSize is {int(size)}")
    return np.repeat(self, times, axis=axis)


def _interleave(self: Any, repeats: Any, outputSize: Any) -> Any:
    return _interleaved(self.reshape(-1), repeats, 0, outputSize)


def _interleave_dim(self: Any, repeats: Any, dim: Any, outputSize: Any) -> Any:
    return _interleaved(self, repeats, axis_of(dim, self.ndim), outputSize)


def _with_size(shape: Shape, dim: Any, size: Any) -> Shape:
    axis = axis_of(dim, len(shape))
    return (*shape[:axis], int(size), *shape[axis + 1 :])


# --- pads and slices ------------------------------------------------------------------------------------------


def _pairs(pad: Any, rank: int) -> list[tuple[int, int]]:
    """(before, after) by axis from PyTorch's order, the last axis first."""
    flat = ints(pad)
    if not flat or len(flat) % 2:
        raise Undefined(f"{len(flat)} paddings, which are two for each axis")
    made = [(flat[i], flat[i + 1]) for i in range(0, len(flat), 2)]
    return [(0, 0)] * (rank - len(made)) + made[::-1]


def _constant_pad(self: Any, pad: Any, value: Any, dtypes: Any) -> Any:
    pairs = _pairs(pad, self.ndim)
    if any(d + a + b < 0 or min(a, b) < -d for (a, b), d in zip(pairs, self.shape, strict=True)):
        raise Undefined(f"more is taken away than {list(self.shape)} has")
    cut = self[tuple(slice(max(-a, 0), d - max(-b, 0)) for (a, b), d in zip(pairs, self.shape, strict=True))]
    filled = cast(np.asarray([value]), dtypes["self"])[0] if self.dtype.kind in "biu" else value
    return np.pad(cut, [(max(a, 0), max(b, 0)) for a, b in pairs], constant_values=filled)


def _padded_shape(self: Any, pad: Any, *_rest: Any) -> Any:
    pairs = _pairs(pad, len(self.shape))
    return self.dtype, [d + a + b for d, (a, b) in zip(self.shape, pairs, strict=True)]


def _fits(shape: Shape, pairs: list[tuple[int, int]], mode: Any) -> None:
    """Refuses what one element too few is there to be mirrored or continued from, as PyTorch does."""
    for length, pair in zip(shape, pairs, strict=True):
        most = {"reflect": length - 1, "wrap": length}.get(mode)
        if min(pair) < 0 or (most is not None and max(pair) > most) or (max(pair) > 0 and not length):
            raise Undefined(f"paddings of {pair[0]} and {pair[1]} around {length} elements")


def _pad_by(mode: Any) -> Callable[..., Any]:
    def function(self: Any, padding: Any) -> Any:
        pairs = _pairs(padding, self.ndim)
        _fits(self.shape, pairs, mode)
        return np.pad(self, pairs, mode=mode)

    return function


def _pad_slope(mode: Any) -> Callable[..., Any]:
    """Every padded place gives its gradient to the element that it was copied from."""

    def function(grad: Any, self: Any, padding: Any) -> Any:
        count = len(ints(padding)) // 2
        inner = self.shape[self.ndim - count :]
        pairs = _pairs(padding, count)
        _fits(inner, pairs, mode)
        wanted = tuple(d + a + b for d, (a, b) in zip(inner, pairs, strict=True))
        if grad.shape != (*self.shape[: self.ndim - count], *wanted):
            raise Undefined(
                f"slopes of shape {list(grad.shape)} for {list(self.shape)} with paddings of {pairs}"
            )
        places = np.pad(np.arange(int(np.prod(inner))).reshape(inner), pairs, mode=mode)
        outer = int(np.prod(self.shape[: self.ndim - count]))
        made = np.zeros((outer, int(np.prod(inner))), grad.dtype)
        where: Any = (slice(None), places.reshape(-1))
        np.add.at(made, where, grad.reshape(outer, -1))
        return made.reshape(self.shape)

    return function


def _cut(dim: Any, start: Any, end: Any, step: Any, shape: Shape) -> tuple[slice, ...]:
    axis = axis_of(dim, len(shape))
    return (*[slice(None)] * axis, slice(int(start), int(end), int(step)))


def _slice(self: Any, dim: Any, start: Any, end: Any, step: Any) -> Any:
    return self[_cut(dim, start, end, step, self.shape)]


def _slice_made(self: Any, dim: Any, start: Any, end: Any, step: Any) -> Any:
    return self.dtype, np.empty(self.shape, "b")[_cut(dim, start, end, step, self.shape)].shape


def _slices(shape: Shape, starts: Any, ends: Any, axes: Any, steps: Any) -> tuple[slice, ...]:
    made = [slice(None)] * len(shape)
    for a, b, axis, step in zip(ints(starts), ints(ends), ints(axes), ints(steps), strict=True):
        made[axis_of(axis, len(shape))] = slice(a, b, step)
    return tuple(made)


def _slice_v2(self: Any, *bounds: Any) -> Any:
    return self[_slices(self.shape, *bounds)]


def _slice_v2_named(self: Any, starts: Any, ends: Any, axes: Any, steps: Any) -> Any:
    return _slice_v2(self, starts, ends, axes, steps)


def _slice_v2_made(self: Any, starts: Any, ends: Any, axes: Any, steps: Any) -> Any:
    shape = tuple(
        len(range(*s.indices(d)))
        for s, d in zip(_slices(self.shape, starts, ends, axes, steps), self.shape, strict=True)
    )
    return self.dtype, shape


def _unfold_slope(grad: Any, sizes: Any, dim: Any, size: Any, step: Any) -> Any:
    shape = ints(sizes)
    axis = axis_of(dim, len(shape))
    made = np.zeros(shape, grad.dtype)
    for i in range(grad.shape[axis]):
        start = i * int(step)
        part = np.moveaxis(np.take(grad, i, axis=axis), -1, axis)
        window = (*[slice(None)] * axis, slice(start, start + int(size)))
        made[window] += part
    return made


def _channel_shuffle(self: Any, groups: Any) -> Any:
    count, channels = self.shape[:2]
    split = self.reshape(count, int(groups), channels // int(groups), *self.shape[2:])
    return split.swapaxes(1, 2).reshape(self.shape)


# --- declarations ---------------------------------------------------------------------------------------------


def _pads() -> tuple[Any, ...]:
    made = []
    for word, mode, text in (
        ("Reflection", "reflect", "mirrored at its edge"),
        ("Replication", "edge", "continued by its edge"),
        ("Circular", "wrap", "continued by its other end"),
    ):
        for rank in (1, 2, 3) if word != "Circular" else (2, 3):
            more = {
                "sample_shape": (2, 3, 4, 5)[: rank + 1] if rank < 3 else (2, 3, 4, 5),
                "sample_attributes": {"padding": (1, 2, 2, 1, 1, 2)[: 2 * rank]},
            }
            made.append(
                declare(f"{word}Pad{rank}d", _pad_by(mode), f"out = self {text}", _padded_shape, **more)
            )
            made.append(
                declare(
                    f"{word}Pad{rank}dBackward",
                    _pad_slope(mode),
                    f"gradInput = gradOutput summed over the places that hold an element of self {text}",
                    lambda _grad, self, _padding: (self.dtype, self.shape),
                    short={"gradOutput": _grad_of_pad(rank)},
                    **more,
                )
            )
    return tuple(made)


def _grad_of_pad(rank: int) -> Callable[[str, Shape], tuple[str, Shape]]:
    """The gradient of the sample's padding, of three on every axis padded."""
    return lambda dtype, shape: (
        dtype,
        tuple(d + 3 if i >= len(shape) - rank else d for i, d in enumerate(shape)),
    )


_REPEAT_DATA: dict[str, Any] = {"data": {"repeats": Generator("choice", (2,))}}
_DIAG = "the diagonal of self as a vector, or self as the diagonal of a matrix"

OPERATORS = (
    declare("Cat", _cat, "out = tensors joined along dim", _cat_made, sample_attributes={"dim": 0}),
    declare("Stack", _stack, "out = tensors side by side in a new axis dim", _stack_made, sample_attributes={"dim": 0}),
    declare("Permute", _permute, "out = self with its axes in the order dims", _permute_made,
            sample_attributes={"dims": (2, 0, 1)}),
    declare("Flip", _flip, "out = self backwards along dims", _same, sample_attributes={"dims": (0, 2)}),
    declare("Roll", _roll, "out = x shifted along dims, flat where there are none", _same,
            sample_attributes={"shifts": (1,), "dims": (1,)}),
    declare("Repeat", _repeat, "out = self repeats times along each axis", _repeat_made,
            sample_attributes={"repeats": (2, 1, 1, 2)}),
    declare("Expand", _expand, "out = self repeated along its axes of one element",
            lambda self, size: (self.dtype, _expand_shape(self.shape, size)),
            sample_attributes={"size": (2, 2, -1, 4)}),
    declare("Flatten", lambda self, axis: self.reshape(_flat_shape(self.shape, axis)),
            "out = self as a matrix: the axes before axis, and the rest",
            lambda self, axis: (self.dtype, _flat_shape(self.shape, axis)), sample_attributes={"axis": 1}),
    *(
        declare(name, lambda self, diagonal, keep=keep: _triangle(keep, self, diagonal),
                f"out = self {side} the diagonal, 0 elsewhere", infer, sample_attributes={"diagonal": 0})
        for name, keep, side, infer in (
            ("Tril", np.tril, "on and below", _same), ("InplaceTril", np.tril, "on and below", None),
            ("Triu", np.triu, "on and above", _same), ("InplaceTriu", np.triu, "on and above", None),
        )
    ),
    declare("Diag", lambda self, diagonal: np.diag(self, int(diagonal)), f"out = {_DIAG}", _diag_made,
            sample_shape=(3, 4), sample_attributes={"diagonal": 0}),
    declare("DiagFlat", lambda self, diagonal: np.diagflat(self, int(diagonal)),
            "out = a matrix with the elements of self on its diagonal",
            lambda self, diagonal: (self.dtype, [int(np.prod(self.shape)) + abs(int(diagonal))] * 2),
            sample_attributes={"diagonal": 0}),
    declare("ChannelShuffle", _channel_shuffle, "out = self with the channels of its groups in turn", _same,
            sample_shape=(2, 6, 3), sample_attributes={"groups": 2}),
    # repeats
    declare("RepeatInterleave", _interleave, "out = every element of self repeats times, flat",
            lambda self, _repeats, size: (self.dtype, [size]),
            short={"repeats": lambda _d, _s: ("int64", (1,))}, sample_attributes={"outputSize": 48}, **_REPEAT_DATA),
    declare("RepeatInterleaveInt", _interleave, "out = every element of self repeats times, flat",
            lambda self, repeats, _size: (self.dtype, [int(np.prod(self.shape)) * int(repeats)]),
            sample_attributes={"repeats": 2, "outputSize": 48}),
    declare("RepeatInterleaveWithDim", _interleave_dim, "out = every element of self repeats times along dim",
            lambda self, _repeats, dim, size: (self.dtype, _with_size(self.shape, dim, size)),
            short={"repeats": lambda _d, _s: ("int64", (1,))}, sample_attributes={"dim": 1, "outputSize": 6},
            **_REPEAT_DATA),
    declare("RepeatInterleaveIntWithDim", _interleave_dim, "out = every element of self repeats times along dim",
            lambda self, repeats, dim, _size: (
                self.dtype, _with_size(self.shape, dim, self.shape[axis_of(dim, len(self.shape))] * int(repeats))
            ),
            sample_attributes={"repeats": 2, "dim": 1, "outputSize": 6}),
    declare("RepeatInterleaveTensor", lambda repeats, size: _interleaved(np.arange(repeats.size), repeats, 0, size),
            "out = every position of repeats as often as it says",
            lambda repeats, size: (repeats.dtype, [size]),
            sample_shape=(3,), short={"repeats": lambda _d, shape: ("int64", shape)},
            sample_attributes={"outputSize": 6}, **_REPEAT_DATA),
    # pads and slices
    declare("ConstantPadNd", _constant_pad, "out = self with value around it, or less of self", _padded_shape,
            sample_attributes={"pad": (1, 2, 0, 1), "value": 2.0}),
    *_pads(),
    declare("Slice", _slice, "out = self from start to end by step along dim", _slice_made,
            sample_attributes={"dim": 2, "start": 1, "end": 4, "step": 2}),
    declare("SliceV2", _slice_v2_named, "out = self from starts to ends by steps along axes", _slice_v2_made,
            sample_attributes={"starts": (1, 0), "ends": (3, 4), "axes": (1, 2), "steps": (1, 2)}),
    declare("UnfoldGrad", _unfold_slope, "gradIn = gradOut summed over the windows that hold an element",
            lambda grad, sizes, *_rest: (grad.dtype, ints(sizes)),
            sample_shape=(2, 3, 4), sample_attributes={"inputSizes": (2, 8), "dim": 1, "size": 4, "step": 2}),
)  # fmt: skip
