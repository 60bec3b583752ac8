"""The distinct elements or slices of a tensor, with inverse and counts that fit them; as a set where not sorted.

Every operator works on rows: elements are rows of one, the slices along an axis those of what they hold.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from ascend_opcli.operators.declare import Held, Undefined, axis_of, declare, wide

_FLAT = 1000
"""The dim of aclnnUniqueConsecutive that flattens."""


def _axis(self: Any, told: Any) -> int | None:
    """The axis whose slices are compared, None for the elements."""
    dim = told.get("dim")
    return None if dim is None or int(dim) == _FLAT else axis_of(dim, len(self.shape))


def _rows(values: Any, axis: int | None) -> Any:
    return (
        values.reshape(-1, 1)
        if axis is None
        else np.moveaxis(values, axis, 0).reshape(values.shape[axis], -1)
    )


def _compact(rows: Any, shape: Any, axis: int | None) -> Any:
    """Rows as the front of an output holds them: in memory order, as many slices as there are rows."""
    if axis is None:
        return rows.reshape(-1)
    rest = tuple(d for i, d in enumerate(shape) if i != axis)
    return np.moveaxis(rows.reshape(len(rows), *rest), 0, axis).reshape(-1)


def _order(rows: Any) -> Any:
    order = np.arange(len(rows))
    for column in rows.T[::-1]:
        order = order[np.argsort(column[order], kind="stable")]
    return order


def _distinct(self: Any, axis: int | None, *, neighbours: bool = False) -> tuple[Any, Any, Any]:
    """The distinct rows, ascending, where each row of self is among them, and how often each is there.

    With ``neighbours`` those that differ from the one before, as they stand.
    """
    rows = _rows(self, axis)
    if rows.dtype.kind in "fc" and np.isnan(rows).any():
        raise Undefined("whether NaN is one element or several the documents do not say")
    order = np.arange(len(rows)) if neighbours else _order(rows)
    ordered = rows[order]
    new = np.ones(len(rows), bool)
    new[1:] = (ordered[1:] != ordered[:-1]).any(axis=1)
    inverse = np.empty(len(rows), np.int64)
    inverse[order] = np.cumsum(new) - 1
    return ordered[new], inverse, np.bincount(inverse, minlength=0).astype(np.int64)


def _within(values: Any, call: Any, name: str) -> Any:
    """The values at the front of an output that has room for as many as there could be."""
    spec = call.outputs.get(name)
    if spec is None:
        return values
    if spec.count < len(values):
        raise Undefined(f"{name} has room for {spec.count} of {len(values)} elements")
    return np.pad(values, (0, spec.count - len(values))).reshape(spec.shape)


def _made(
    call: Any, self: Any, inverse: Any, counts: Any, *, neighbours: bool = False, dim: Any = None
) -> Any:
    axis = _axis(self, {"dim": dim})
    rows, places, times = _distinct(self, axis, neighbours=neighbours)
    return (
        _within(_compact(rows, self.shape, axis), call, "valueOut"),
        _within(places, call, "inverseOut") if inverse else None,
        _within(times, call, "countsOut") if counts else None,
    )


def _unique(self: Any, _in_order: Any, inverse: Any, call: Any) -> Any:
    return _made(call, self, inverse, False)[:2]


def _unique2(self: Any, _in_order: Any, inverse: Any, counts: Any, call: Any) -> Any:
    return _made(call, self, inverse or counts, counts)


def _of_dim(self: Any, _in_order: Any, inverse: Any, dim: Any, call: Any) -> Any:
    return _made(call, self, inverse, True, dim=dim)


def _consecutive(self: Any, inverse: Any, counts: Any, dim: Any, call: Any) -> Any:
    return _made(call, self, inverse, counts, neighbours=True, dim=dim)


def _holds(neighbours: bool = False, /, *, got: Any, golden: Any, **told: Any) -> Iterator[Held]:
    """What lies behind the distinct elements is not looked at: an output has room for as many as self has."""
    self = told["self"]
    axis = _axis(self, told)
    rows = _distinct(self, axis, neighbours=neighbours)[0]
    n, what = len(rows), "elements" if axis is None else "slices"
    if "valueOut" not in golden or golden["valueOut"].size < rows.size:
        return
    shape = (n,) if axis is None else tuple(n if i == axis else d for i, d in enumerate(self.shape))

    def front(name: str, count: int) -> tuple[Any, Any]:
        return got[name].reshape(-1)[:count], golden[name].reshape(-1)[:count]

    # The places at which the output, and the golden, have the row of each rank.
    sides = front("valueOut", rows.size)
    in_order = neighbours or bool(told["sorted"])
    at, right = (
        np.arange(n) if in_order else _order(_rows(wide(side).reshape(shape), axis)) for side in sides
    )
    how = "each unlike the one before" if neighbours else "ascending" if in_order else "in any order"
    placed = np.empty_like(rows, sides[1].dtype)
    placed[at] = _rows(sides[1].reshape(shape), axis)[right]
    wanted = _compact(placed, self.shape, axis)
    yield Held("valueOut", sides[0], wanted, f"the distinct {what}, {how}", front=rows.size)
    if "inverseOut" in golden:
        ours, places = front("inverseOut", self.size if axis is None else self.shape[axis])
        inside = (places >= 0) & (places < n)
        ranked = at[np.argsort(right)][np.where(inside, places, 0)] if n else places
        says = f"where valueOut has each of the {what} of self"
        yield Held("inverseOut", ours, np.where(inside, ranked, places), says, front=ours.size)
    if "countsOut" in golden:
        ours, counts = front("countsOut", n)
        times = np.empty_like(counts)
        times[at] = counts[right]
        yield Held("countsOut", ours, times, f"how often self has each of the {what} of valueOut", front=n)


# --- declarations ---------------------------------------------------------------------------------------------


def _shapes(self: Any, dim: Any = None) -> list[Any]:
    axis, size = _axis(self, {"dim": dim}), int(np.prod(self.shape, dtype=np.int64))
    if axis is None:
        return [(self.dtype, (size,)), ("int64", self.shape), ("int64", (size,))]
    return [(self.dtype, self.shape), *[("int64", (self.shape[axis],))] * 2]


_ANY: dict[str, Any] = {"sorted": True, "returnInverse": True}
OPERATORS = (
    declare("Unique", _unique, "valueOut, inverseOut = the distinct elements of self, and where each of self is there",
            lambda self, *_rest: _shapes(self), sample_attributes=_ANY, standard="exact", holds=_holds),
    declare("Unique2", _unique2,
            "valueOut, inverseOut, countsOut = the distinct elements of self, where each of self is there, how often",
            lambda self, *_rest: _shapes(self), sample_attributes={**_ANY, "returnCounts": True}, standard="exact",
            holds=_holds),
    declare("UniqueDim", _of_dim,
            "valueOut, inverseOut, countsOut = the distinct slices of self along dim, where each is there, how often",
            lambda self, *rest: _shapes(self, rest[-1]), sample_attributes={**_ANY, "dim": 0}, standard="exact",
            holds=_holds),
    declare("UniqueConsecutive", _consecutive,
            "valueOut, inverseOut, countsOut = self without what repeats the one before, where each is, how often",
            lambda self, *rest: _shapes(self, rest[-1]), standard="exact", holds=partial(_holds, True),
            sample_attributes={"returnInverse": False, "returnCounts": True, "dim": _FLAT}),
)  # fmt: skip
