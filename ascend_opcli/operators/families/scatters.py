"""Operators that read and write at places that an index names: gathers, scatters, fills by index."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ascend_opcli.model import Generator, Shape
from ascend_opcli.operators.declare import Undefined, axis_of, declare

_FIRST_TWO = Generator("integers", (0, 1))
"""Default indices: any axis of two has them."""


def _index_of(count: int) -> Callable[[str, Shape], tuple[str, Shape]]:
    return lambda _dtype, _shape: ("int64", (count,))


def _as_index(_dtype: str, shape: Shape) -> tuple[str, Shape]:
    return "int64", shape


def replaced(target: Any, places: tuple[Any, ...], source: Any) -> Any:
    """The target with ``source`` at the places. One that is named again must get the same value again."""
    made = np.array(target)
    made[places] = source
    again = made[places]
    wanted = np.broadcast_to(source, again.shape)
    if not np.all((again == wanted) | ((again != again) & (wanted != wanted))):
        raise Undefined("an index is repeated: which of its values stays is not defined")
    return made


def from_front(index: Any) -> Any:
    """An index that counts from the front: where documents and PyTorch know no other, one below 0 is refused."""
    if isinstance(index, np.ndarray) and index.size and index.min() < 0:
        raise Undefined(f"index {int(index.min())} is below 0")
    return index


def along(self: Any, dim: Any, index: Any) -> tuple[Any, ...]:
    """The places that an index names along an axis, its other axes being their own."""
    return _along(self, dim, from_front(index))


def _along(self: Any, dim: Any, index: Any) -> tuple[Any, ...]:
    axis = axis_of(dim, self.ndim)
    if index.ndim != self.ndim:
        raise Undefined("self and index differ in rank")
    made: list[Any] = list(np.indices(index.shape, sparse=True))
    made[axis] = index
    return tuple(made)


def _gather(self: Any, dim: Any, index: Any) -> Any:
    """The document takes an index below 0 down to minus the length of the axis, which PyTorch does not."""
    return self[_along(self, dim, index)]


def _select(self: Any, dim: Any, index: Any) -> Any:
    return np.take(self, from_front(index), axis=axis_of(dim, self.ndim))


def _select_made(self: Any, dim: Any, index: Any) -> Any:
    axis = axis_of(dim, len(self.shape))
    return self.dtype, (*self.shape[:axis], *index.shape, *self.shape[axis + 1 :])


def _gather_nd(self: Any, indices: Any, negative: Any) -> Any:
    return self[tuple(np.moveaxis(indices if negative else from_front(indices), -1, 0))]


def _written(self: Any, places: tuple[Any, ...], source: Any, reduce: Any) -> Any:
    """0 replaces, 1 adds, 2 multiplies."""
    if reduce in (0, None):
        return replaced(self, places, source)
    made = np.array(self)
    if reduce in (1, 2):
        # Booleans add as or, multiply as and: NumPy's own sums of bool do so.
        (np.add if reduce == 1 else np.multiply).at(made, places, source)
    else:
        raise Undefined(f"reduce {reduce} is not known")
    return made


def first_of(src: Any, index: Any) -> Any:
    """As much of src as the index is large: it must have as much on every axis."""
    if src.ndim != index.ndim or any(d > s for d, s in zip(index.shape, src.shape, strict=True)):
        raise Undefined(f"an index of shape {list(index.shape)} for a source of {list(src.shape)}")
    return src[tuple(slice(d) for d in index.shape)]


def _scatter(self: Any, dim: Any, index: Any, src: Any, reduce: Any) -> Any:
    return _written(self, along(self, dim, index), first_of(src, index), reduce)


def _scatter_value(self: Any, dim: Any, index: Any, value: Any, reduce: Any) -> Any:
    filled = np.asarray([value]).astype(self.dtype)[0]
    if reduce in (0, None):  # every place has the same value, however often it is named
        made = np.array(self)
        made[along(self, dim, index)] = filled
        return made
    return _written(self, along(self, dim, index), filled, reduce)


def _scatter_add(self: Any, dim: Any, index: Any, src: Any) -> Any:
    return _scatter(self, dim, index, src, 1)


def _on_axis(self: Any, dim: Any, index: Any) -> tuple[Any, ...]:
    return (*[slice(None)] * axis_of(dim, self.ndim), np.asarray(index, np.int64).reshape(-1))


def part_for_each(self: Any, dim: Any, index: Any, source: Any) -> None:
    """Refuses a source that has not one part along dim for each index: nothing is repeated."""
    axis = axis_of(dim, self.ndim)
    wanted = (*self.shape[:axis], np.size(index), *self.shape[axis + 1 :])
    if source.shape != wanted:
        raise Undefined(f"a source of shape {list(source.shape)}, not {list(wanted)}")


def index_add(self: Any, dim: Any, index: Any, source: Any, alpha: Any) -> Any:
    """self with alpha source added to its parts index along dim."""
    part_for_each(self, dim, index, source)
    made = np.array(self)
    scale = np.asarray([alpha]).astype(self.dtype)[0]
    np.add.at(made, _on_axis(self, dim, from_front(np.asarray(index))), scale * source)
    return made


def _index_fill(self: Any, dim: Any, index: Any, value: Any) -> Any:
    """An index below 0 counts from the end; one that the axis has not is left out, as the document says."""
    length = self.shape[axis_of(dim, self.ndim)]
    return _index_fill_tensor(self, dim, index[(index >= -length) & (index < length)], value)


def _index_fill_tensor(self: Any, dim: Any, index: Any, value: Any) -> Any:
    made = np.array(self)
    made[_on_axis(self, dim, index)] = np.asarray([value]).astype(self.dtype)[0]
    return made


def _index_copy(self: Any, dim: Any, index: Any, source: Any) -> Any:
    part_for_each(self, dim, index, source)
    return replaced(self, _on_axis(self, dim, from_front(np.asarray(index))), source)


def _nd_update(varRef: Any, indices: Any, updates: Any) -> Any:
    slice_for_each(varRef, indices, updates)
    return replaced(varRef, tuple(np.moveaxis(from_front(indices), -1, 0)), updates)


def slice_for_each(data: Any, indices: Any, updates: Any) -> None:
    """Refuses updates that have not one slice of data for each tuple of indices."""
    wanted = (*indices.shape[:-1], *data.shape[indices.shape[-1] :])
    if indices.shape[-1] > data.ndim or updates.shape != wanted:
        raise Undefined(f"updates of shape {list(updates.shape)}, not {list(wanted)}")


def _masked_scatter(selfRef: Any, mask: Any, source: Any) -> Any:
    made, where = np.array(selfRef), np.broadcast_to(mask != 0, selfRef.shape)
    count = int(np.count_nonzero(where))
    if source.size < count:
        raise Undefined(f"source has {source.size} elements, the mask takes {count}")
    made[where] = source.reshape(-1)[:count]
    return made


def _scattered(name: str, function: Any, text: str, infer: Any, *, more: dict[str, Any] | None = None) -> Any:
    return declare(
        name,
        function,
        text,
        infer,
        short={"index": _as_index},
        data={"index": _FIRST_TWO},
        sample_attributes={"dim": 0, **(more or {})},
    )


def _by_axis(name: str, function: Any, text: str, infer: Any, *, more: dict[str, Any] | None = None) -> Any:
    return declare(
        name,
        function,
        text,
        infer,
        short={
            "index": _index_of(2),
            "source": lambda dtype, shape: (dtype, (2, *shape[1:])),
        },
        data={"index": Generator("permutation", ())},
        sample_attributes={"dim": 0, **(more or {})},
    )


def _same(self: Any, *_rest: Any) -> Any:
    return self.dtype, self.shape


OPERATORS = (
    # gathers
    _scattered("Gather", _gather, "out = self at index along dim", lambda self, _dim, index: (self.dtype, index.shape)),
    *(
        declare(name, _select, "out = the parts of self that index names along dim", _select_made,
                short={"index": _index_of(3)}, data={"index": _FIRST_TWO}, sample_attributes={"dim": 0})
        for name in ("IndexSelect", "GatherV2")
    ),
    declare("GatherNd", _gather_nd, "out = self at the places that the last axis of indices names",
            lambda self, indices, _negative: (
                self.dtype, (*indices.shape[:-1], *self.shape[indices.shape[-1] :])
            ),
            short={"indices": lambda _d, _s: ("int64", (3, 2))}, data={"indices": _FIRST_TWO},
            sample_attributes={"negativeIndexSupport": False}),
    declare("Embedding", lambda weight, indices: weight[from_front(indices)],
            "out = the rows of weight that indices name",
            lambda weight, indices: (weight.dtype, (*indices.shape, *weight.shape[1:])),
            sample_shape=(4, 5), short={"indices": lambda _d, _s: ("int64", (2, 3))},
            data={"indices": _FIRST_TWO}),
    declare("Take", lambda self, index: self.reshape(-1)[from_front(index)], "out = self, flat, at index",
            lambda self, index: (self.dtype, index.shape), short={"index": _as_index}, data={"index": _FIRST_TWO}),
    # scatters
    _scattered("Scatter", _scatter, "out = self with src at index along dim: replaced, added (1), multiplied (2)",
               _same, more={"reduce": 1}),
    _scattered("InplaceScatter", _scatter,
               "selfRef = selfRef with src at index along dim: replaced, added (1), multiplied (2)",
               None, more={"reduce": 1}),
    _scattered("ScatterValue", _scatter_value,
               "out = self with value at index along dim: replaced, added (1), multiplied (2)",
               _same, more={"value": 2.0, "reduce": 0}),
    _scattered("InplaceScatterValue", _scatter_value,
               "selfRef = selfRef with value at index along dim: replaced, added (1), multiplied (2)",
               None, more={"value": 2.0, "reduce": 0}),
    _scattered("ScatterAdd", _scatter_add, "out = self with src added at index along dim", _same),
    _by_axis("IndexAdd", index_add, "out = self with alpha source added to its parts index along dim", _same,
             more={"alpha": 1}),
    _by_axis("InplaceIndexCopy", _index_copy, "selfRef = selfRef with source for its parts index along dim", None),
    _by_axis("IndexFill", _index_fill, "out = self with value in its parts index along dim", _same,
             more={"value": 2.0}),
    _by_axis("InplaceIndexFill", _index_fill, "selfRef = selfRef with value in its parts index along dim", None,
             more={"value": 2.0}),
    declare("IndexFillTensor", _index_fill_tensor, "out = self with value in its parts index along dim", _same,
            sample_attributes={"dim": 0, "index": (1,), "value": 2.0}),
    declare("InplaceIndexFillTensor", _index_fill_tensor,
            "selfRef = selfRef with value in its parts index along dim", None,
            sample_attributes={"dim": 0, "index": (1,), "value": 2.0}),
    declare("ScatterNdUpdate", _nd_update, "varRef = varRef with updates at the places that indices name", None,
            short={"indices": lambda _d, _s: ("int64", (2, 1)), "updates": lambda d, s: (d, (2, *s[1:]))},
            data={"indices": Generator("permutation", ())}),
    declare("InplaceMaskedScatter", _masked_scatter, "selfRef = selfRef with the next of source where mask is set",
            None, short={"mask": lambda _d, shape: ("bool", shape)}),
)  # fmt: skip
