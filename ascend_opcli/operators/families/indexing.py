"""Operators that read, write and add by indices beyond :mod:`.scatters`': several indices, reductions, lists, bags.

An index outside its axis is refused, one below 0 too: what a kernel does with it, the documents do not say.
"""

# More than 400 lines: one family, which shares how it reads an index.
from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from ascend_opcli.model import Generator, Shape
from ascend_opcli.operators.declare import Undefined, axis_of, broadcast_shape, declare
from ascend_opcli.operators.families.scatters import (
    along,
    first_of,
    index_add,
    part_for_each,
    replaced,
    slice_for_each,
)

_FIRST_TWO = Generator("integers", (0, 1))
_EACH = Generator("permutation", ())


def _within(index: Any, length: int) -> Any:
    """The index as whole numbers, every one of which the axis has."""
    made = np.asarray(index).astype(np.int64)
    if np.any((made < 0) | (made >= length)):
        raise Undefined(f"an index lies outside an axis of {length}")
    return made


def _several(self: Any, indices: Any) -> tuple[Any, ...]:
    """Indices of the leading axes: whole numbers that broadcast, or masks of one or more axes."""
    made: list[Any] = []
    axis = 0
    for index in indices:
        if index.dtype == bool:
            if index.shape != self.shape[axis : axis + index.ndim]:
                raise Undefined(f"a mask of shape {list(index.shape)} at axis {axis} of {list(self.shape)}")
            made.append(index)
            axis += index.ndim
            continue
        if not index.size and any(i.size for i in indices):
            raise Undefined("an empty index among others: whether it leaves its axis whole is not defined")
        if axis >= self.ndim:
            raise Undefined(f"more indices than the {self.ndim} axes")
        made.append(_within(index, self.shape[axis]))
        axis += 1
    return tuple(made)


def _index(self: Any, indices: Any) -> Any:
    return self[_several(self, indices)]


def _put(self: Any, places: tuple[Any, ...], values: Any, accumulate: Any) -> Any:
    if not accumulate:
        return replaced(self, places, values)
    made = np.array(self)
    np.add.at(made, places, values)
    return made


def _index_put(self: Any, indices: Any, values: Any, accumulate: Any, _unsafe: Any) -> Any:
    places = _several(self, indices)
    wanted = self[places].shape
    if broadcast_shape(values.shape, wanted) != wanted:
        raise Undefined(f"values of shape {list(values.shape)} for {list(wanted)} places")
    return _put(self, places, values, accumulate)


def _put_flat(self: Any, index: Any, source: Any, accumulate: Any) -> Any:
    if index.size != source.size:
        raise Undefined(f"{source.size} values for {index.size} places")
    flat = self.reshape(-1)
    places = (_within(index, flat.size).reshape(-1),)
    return _put(flat, places, source.reshape(-1), accumulate).reshape(self.shape)


def _index_copy(self: Any, dim: Any, index: Any, source: Any, _out: Any) -> tuple[None, Any]:
    """What becomes of selfRef, which the prototype lets the operator write, the documents do not say."""
    axis = axis_of(dim, self.ndim)
    part_for_each(self, dim, index, source)
    return None, replaced(self, (*[slice(None)] * axis, _within(index, self.shape[axis]).reshape(-1)), source)


def _index_add_v2(self: Any, dim: Any, index: Any, source: Any, alpha: Any, mode: Any) -> Any:
    if mode == 0 and alpha != 1:
        raise Undefined("alpha in mode 0, which may leave it out")
    _within(index, self.shape[axis_of(dim, self.ndim)])
    return index_add(self, dim, index, source, alpha)


def _gather_v3(self: Any, dim: Any, index: Any, batch: Any, mode: Any) -> Any:
    if mode not in (0, 1):
        raise Undefined(f"mode {mode}")
    axis, lead = axis_of(dim, self.ndim), int(batch)
    if not 0 <= lead <= min(axis, index.ndim) or self.shape[:lead] != index.shape[:lead]:
        raise Undefined(f"{lead} shared axes of {list(self.shape)} and {list(index.shape)}")
    places = _within(index, self.shape[axis])
    if not lead:
        return np.take(self, places, axis=axis)
    rows, own = self.reshape(-1, *self.shape[lead:]), places.reshape(-1, *places.shape[lead:])
    made = np.stack([np.take(r, p, axis=axis - lead) for r, p in zip(rows, own, strict=True)])
    return made.reshape(*self.shape[:lead], *made.shape[1:])


# --- reductions -----------------------------------------------------------------------------------------------


def _least(word: np.dtype[Any]) -> Any:
    if word.kind == "b":
        return False
    return -np.inf if word.kind == "f" else np.iinfo(word).min


def _most(word: np.dtype[Any]) -> Any:
    if word.kind == "b":
        return True
    return np.inf if word.kind == "f" else np.iinfo(word).max


_UFUNCS: tuple[Any, ...] = (None, np.add, np.multiply, np.maximum, np.minimum, np.add)
_STARTS: tuple[Callable[[Any], Any], ...] = (
    lambda _: 0,
    lambda _: 0,
    lambda _: 1,
    _least,
    _most,
    lambda _: 0,
)
_MEAN = 5


def _scatter_reduce(self: Any, dim: Any, index: Any, src: Any, reduce: Any, include: Any) -> Any:
    """0 replaces, 1 adds, 2 multiplies, 3 takes the largest, 4 the smallest, 5 the mean.

    Where self does not count it stays in the places that no index names.
    """
    how = int(reduce or 0)
    if not 0 <= how <= _MEAN or (self.dtype.kind == "c" and how in (3, 4)):
        raise Undefined(f"reduce {how} of {self.dtype.name}")
    if how == _MEAN and self.dtype.kind not in "fc":
        raise Undefined("the mean of whole numbers, whose rounding the documents do not give")
    places = along(self, dim, _within(index, self.shape[axis_of(dim, self.ndim)]))
    taken = first_of(src, index)
    if how == 0:
        return replaced(self, places, taken)
    made = np.array(self)
    if not include:
        made[places] = _STARTS[how](self.dtype)
    _UFUNCS[how].at(made, places, taken)
    if how == _MEAN:
        counts = np.zeros(self.shape, self.dtype)
        np.add.at(counts, places, 1)
        made = made / np.maximum(counts + bool(include), 1)
    return made


def _rows(reduce: Any) -> Callable[..., Any]:
    """Every part of updates meets the row of the first axis that its index names."""

    def function(var: Any, indices: Any, updates: Any, _locking: Any = None) -> Any:
        if updates.size != indices.size * int(np.prod(var.shape[1:])):
            raise Undefined(f"updates of shape {list(updates.shape)} for {indices.size} rows")
        places = _within(indices, var.shape[0]).reshape(-1)
        made = np.array(var)
        reduce.at(made, (places,), updates.reshape(-1, *var.shape[1:]))
        return made

    return function


def _divide_rows(var: Any, indices: Any, updates: Any, _locking: Any) -> Any:
    if var.dtype.kind in "iu" and (np.any(updates <= 0) or np.any(var < 0)):
        raise Undefined("a quotient of whole numbers below 0, or by 0")
    return _rows(np.divide if var.dtype.kind == "f" else np.floor_divide)(var, indices, updates)


def _nd_update(data: Any, indices: Any, updates: Any) -> Any:
    slice_for_each(data, indices, updates)
    places = np.moveaxis(indices, -1, 0)
    for axis, place in enumerate(places):
        _within(place, data.shape[axis])
    return replaced(data, tuple(places), updates)


def _window(start: int, count: int, axis: int, shape: Shape) -> tuple[slice, ...]:
    if start < 0 or count < 0 or start + count > shape[axis]:
        raise Undefined(f"the window from {start} of {count} does not lie in an axis of {shape[axis]}")
    return (*[slice(None)] * axis, slice(start, start + count))


def _scatter_update(data: Any, indices: Any, updates: Any, axis: Any) -> Any:
    """Part i of updates goes into part i of the first axis, from indices[i] along axis."""
    along_axis = axis_of(axis, data.ndim)
    if indices.ndim != 1 or indices.size != updates.shape[0] or updates.ndim != data.ndim or not along_axis:
        raise Undefined(f"indices of shape {list(indices.shape)} for {list(updates.shape)} along axis {axis}")
    made = np.array(data)
    for i, start in enumerate(indices.tolist()):
        window = _window(start, updates.shape[along_axis], along_axis - 1, data.shape[1:])
        part = made[i]  # a view
        part[window] = updates[i]
    return made


def _scatter_list(
    var: Any, indice: Any, updates: Any, mask: Any, reduce: Any = "update", axis: Any = -2
) -> list[Any]:
    """Part i of updates goes into member i of the list from indice[i] on; of [start, length] only so much."""
    if reduce not in (None, "update"):
        raise Undefined(f"reduce '{reduce}'")
    place = axis_of(axis, updates.ndim) - 1
    if indice.ndim > 2 or len(indice) != len(var) or len(updates) != len(var) or place < 0:
        raise Undefined(f"indices of shape {list(indice.shape)} for {len(var)} members")
    if indice.ndim == 2 and indice.shape[1] != 2:
        raise Undefined(f"indices of shape {list(indice.shape)}, not of a start and a length")
    made = []
    for i, member in enumerate(var):
        start, *length = indice[i].reshape(-1).tolist()
        own = np.array(member)
        if mask is None or mask.reshape(-1)[i]:
            count = length[0] if length else updates.shape[place + 1]
            part = updates[i][_window(0, count, place, updates.shape[1:])]
            window = _window(start, part.shape[place], place, member.shape)
            if own[window].shape != part.shape:
                raise Undefined(f"updates of shape {list(part.shape)} for a member of {list(member.shape)}")
            own[window] = part
        made.append(own)
    return made


# --- embeddings -----------------------------------------------------------------------------------------------


def _embedding_slope(grad: Any, indices: Any, count: Any, padding: Any, scale: Any) -> Any:
    """The rows of grad added by index; paddingIdx names a row that gets nothing, and no row where it is too large."""
    rows, size = grad.reshape(-1, grad.shape[-1]), int(count)
    places = _within(indices, size).reshape(-1)
    if len(places) != len(rows):
        raise Undefined(f"{len(places)} indices for {len(rows)} rows")
    if scale:
        rows = rows / np.bincount(places, minlength=size)[places][:, None].astype(grad.dtype)
    made = np.zeros((size, grad.shape[-1]), grad.dtype)
    np.add.at(made, places, rows)
    if 0 <= int(padding) < size:
        made[int(padding)] = 0
    return made


def _bags(offsets: Any, last: Any, size: int) -> list[slice]:
    bounds = offsets.reshape(-1).tolist()
    if not last:
        bounds = [*bounds, size]
    if bounds[0] != 0 or bounds[-1] != size or sorted(bounds) != bounds:
        raise Undefined(f"the offsets do not divide {size} indices")
    return [slice(a, b) for a, b in itertools.pairwise(bounds)]


_BAG_MODES = (0, 1, 2)


def _embedding_bag(
    weight: Any, indices: Any, offsets: Any, _scale: Any, mode: Any, _sparse: Any, weights: Any, last: Any,
    padding: Any,
) -> tuple[Any, None, None, None]:  # fmt: skip
    """Sums (0), means (1) or largest elements of the rows of each bag; an empty bag gives 0.

    The other outputs are for the backward operator, and what they hold differs between the products.
    """
    if mode not in _BAG_MODES:
        raise Undefined(f"mode {mode}")
    if indices.ndim != 1 or (weights is not None and (mode != 0 or weights.size != indices.size)):
        raise Undefined("indices of two axes, or weights that do not fit the mode")
    rows = weight[_within(indices, len(weight))]
    if weights is not None:
        rows = rows * weights.reshape(-1, 1)
    counts = indices != int(padding)
    bags = _bags(offsets, last, indices.size)
    made = np.zeros((len(bags), weight.shape[1]), weight.dtype)
    for i, bag in enumerate(bags):
        own = rows[bag][counts[bag]]
        if len(own):
            summed = own.sum(axis=0, dtype=own.dtype)
            made[i] = summed if mode == 0 else summed / len(own) if mode == 1 else own.max(axis=0)
    return made, None, None, None


def _interleave_slope(grad: Any, repeats: Any, axis: Any) -> Any:
    """Every element gets what its repeats have got."""
    place = axis_of(axis, grad.ndim)
    rows, times = np.moveaxis(grad, place, 0), repeats.reshape(-1)
    if times.size == 1 and times[0] > 0:
        times = np.repeat(times, len(rows) // times[0])
    if np.any(times < 0) or times.sum() != len(rows):
        raise Undefined(f"the repeats add up to {times.sum()}, the axis has {len(rows)}")
    made = np.zeros((len(times), *rows.shape[1:]), grad.dtype)
    np.add.at(made, np.repeat(np.arange(len(times)), times), rows)
    return np.moveaxis(made, 0, place)


def _interleaved(grad: Any, repeats: Any, axis: Any) -> Any:
    """One element for each of several repeats; a single one has its number of them in its data."""
    place = axis_of(axis, len(grad.shape))
    count = repeats.count if repeats.count != 1 else grad.shape[place]
    return grad.dtype, (*grad.shape[:place], count, *grad.shape[place + 1 :])


def _inverse(self: Any) -> Any:
    try:
        return np.linalg.inv(self)
    except np.linalg.LinAlgError as error:
        raise Undefined("a matrix that has no inverse") from error


# --- declarations ---------------------------------------------------------------------------------------------


def _same(self: Any, *_rest: Any) -> Any:
    return self.dtype, self.shape


def _index_made(self: Any, indices: Any) -> Any:
    if any(i.dtype == "bool" for i in indices):
        raise Undefined("how many elements a mask has is in its data")
    shape = broadcast_shape(*(i.shape for i in indices))
    if shape is None:
        raise Undefined("the indices do not broadcast")
    return self.dtype, (*shape, *self.shape[len(indices) :])


def _gather_made(self: Any, dim: Any, index: Any, batch: Any, _mode: Any) -> Any:
    axis = axis_of(dim, len(self.shape))
    return self.dtype, (*self.shape[:axis], *index.shape[int(batch) :], *self.shape[axis + 1 :])


def _bag_made(
    weight: Any, indices: Any, offsets: Any, _scale: Any, mode: Any, _sparse: Any, _weights: Any, last: Any,
    _padding: Any,
) -> list[Any]:  # fmt: skip
    if mode not in _BAG_MODES:
        raise Undefined(f"mode {mode}")
    count = offsets.shape[0] - int(bool(last))
    most = (count, weight.shape[1]) if mode not in (0, 1) else (count,)
    own = [indices.shape, (count,), most]
    return [(weight.dtype, (count, weight.shape[1])), *((indices.dtype, shape) for shape in own)]


def _indices(count: int) -> Any:
    return lambda _dtype, _shape: ("int64", (count,))


def _parts(dtype: str, shape: Shape) -> tuple[str, Shape]:
    """Two parts of the first axis."""
    return dtype, (2, *shape[1:])


def _as_index(_dtype: str, shape: Shape) -> tuple[str, Shape]:
    return "int64", shape


def _by_rows(name: str, function: Any, sign: str, *, locks: bool = True) -> Any:
    return declare(name, function, f"varRef = varRef {sign} updates in the rows that indices name", None,
                   short={"indices": _indices(2), "updates": _parts}, data={"indices": _FIRST_TWO},
                   sample_attributes={"useLocking": False} if locks else {})  # fmt: skip


def _reduced(name: str, infer: Any) -> Any:
    out = "selfRef" if infer is None else "out"
    return declare(name, _scatter_reduce,
                   f"{out} = self with src at index along dim: replaced, or added (1), multiplied (2), the largest (3),"
                   " smallest (4) or mean (5) taken", infer,
                   short={"index": _as_index}, data={"index": _FIRST_TWO},
                   sample_attributes={"dim": 0, "reduce": 1, "includeSelf": True})  # fmt: skip


_COPIED: dict[str, Any] = {"short": {"index": _indices(2), "source": _parts}, "data": {"index": _EACH}}

OPERATORS = (
    declare("Index", _index, "out = self at the places that indices name together", _index_made,
            short={"indices": _indices(3)}, data={"indices": _FIRST_TWO}),
    declare("IndexPutImpl", _index_put, "selfRef = selfRef with values at the places of indices, or added there", None,
            sample_shape=(2, 2, 4), short={"indices": _indices(3), "values": lambda dtype, _shape: (dtype, (1,))},
            data={"indices": _FIRST_TWO}, sample_attributes={"accumulate": True, "unsafe": False}),
    declare("InplacePut", _put_flat, "selfRef = selfRef, flat, with source at index, or added there", None,
            short={"index": _as_index, "source": lambda dtype, shape: (dtype, shape)}, data={"index": _EACH},
            sample_attributes={"accumulate": False}),
    declare("IndexCopy", _index_copy, "outRef = selfRef with source for its parts index along dim", None,
            sample_attributes={"dim": 0}, **_COPIED),
    declare("IndexAddV2", _index_add_v2, "out = self with alpha source added to its parts index along dim", _same,
            sample_attributes={"dim": 0, "alpha": 1, "mode": 1}, **_COPIED),
    declare("GatherV3", _gather_v3, "out = the parts of self that index names along dim", _gather_made,
            short={"index": _indices(3)}, data={"index": _FIRST_TWO},
            sample_attributes={"dim": 0, "batchDims": 0, "mode": 1}),
    _reduced("ScatterReduce", _same),
    _reduced("InplaceScatterReduce", None),
    _by_rows("ScatterMax", _rows(np.maximum), "max"),
    _by_rows("ScatterMin", _rows(np.minimum), "min"),
    _by_rows("ScatterMul", _rows(np.multiply), "times"),
    _by_rows("ScatterDiv", _divide_rows, "over"),
    _by_rows("TfScatterAdd", _rows(np.add), "plus", locks=False),
    declare("ScatterNd", _nd_update, "out = data with updates at the places that indices name", _same,
            short={"indices": lambda _dtype, _shape: ("int64", (2, 1)), "updates": _parts}, data={"indices": _EACH}),
    declare("InplaceScatterUpdate", _scatter_update,
            "data = data with part i of updates in part i from indices[i] along axis", None, sample_shape=(2, 4, 3),
            short={"indices": _indices(2), "updates": lambda dtype, shape: (dtype, (shape[0], 2, *shape[2:]))},
            data={"indices": _FIRST_TWO}, sample_attributes={"axis": 1}),
    declare("ScatterList", _scatter_list, "varRef = its members with updates[i] from indice[i] along axis", None,
            sample_shape=(4, 3),
            short={"indice": _indices(1), "updates": lambda dtype, shape: (dtype, (1, *shape[:-2], 2, shape[-1])),
                   "maskOptional": lambda *_: None},
            data={"indice": _FIRST_TWO}, sample_attributes={"axis": -2}),
    declare("EmbeddingDenseBackward", _embedding_slope, "out = the rows of grad added where indices name them",
            lambda grad, _indices, count, *_rest: (grad.dtype, (int(count), grad.shape[-1])), sample_shape=(4, 3),
            short={"indices": lambda _dtype, shape: ("int64", shape[:-1])}, data={"indices": _FIRST_TWO},
            sample_attributes={"numWeights": 5, "paddingIdx": 4, "scaleGradByFreq": False}),
    declare("EmbeddingBag", _embedding_bag, "output = the sum (0), mean (1) or largest of the rows of each bag",
            _bag_made, sample_shape=(4, 3),
            short={"indices": _indices(6), "offsets": _indices(3), "perSampleWeights": lambda *_: None},
            data={"indices": _FIRST_TWO, "offsets": Generator("linspace", (0, 4))},
            sample_attributes={"scaleGradByFreq": False, "mode": 0, "sparse": False, "includeLastOffset": False,
                               "paddingIdx": -1}),
    declare("RepeatInterleaveGrad", _interleave_slope, "out = yGrad summed over the repeats of each element",
            _interleaved, sample_shape=(2, 6),
            short={"repeats": _indices(6)}, data={"repeats": Generator("choice", (1,))}, sample_attributes={"axis": 1}),
    declare("Inverse", _inverse, "out = the inverse of each matrix of self", _same,
            sample_shape=(2, 3, 3)),
)  # fmt: skip
