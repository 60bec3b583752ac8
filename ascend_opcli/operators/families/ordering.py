"""What stands where when elements are ordered: sorts, the first k, medians, places among boundaries.

Values are defined whatever the order of equal elements; their places are not, unless an operator is stable. The
references take equal elements as they stand, and :class:`.choices.Places` says which other places are as right.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from ascend_opcli.model import Generator
from ascend_opcli.operators.declare import Places, Undefined, axis_of, declare, reduced_shape, same, unsaid


def _known(rows: Any, *made: Any, before: bool = False) -> Any:
    """What is made of rows, open where a row has a NaN: some kernels hold it for the largest, others for no number.

    With ``before`` what stands before the first one is known.
    """
    nan = np.isnan(rows) if rows.dtype.kind == "f" else np.zeros(rows.shape, bool)
    if not nan.any():
        return made
    reached = np.maximum.accumulate(nan, -1) if before else nan.any(-1, keepdims=True)
    return tuple(unsaid(m, reached, "where NaN stands in an order the documents do not say") for m in made)


def _order(rows: Any, *, descending: Any = False) -> Any:
    """The places of the elements of the last axis in order, equal ones as they stand."""
    if not descending:
        return np.argsort(rows, axis=-1, kind="stable")
    return rows.shape[-1] - 1 - np.flip(np.argsort(np.flip(rows, -1), axis=-1, kind="stable"), -1)


def _as_rows(self: Any, dim: Any) -> tuple[Any, int]:
    axis = axis_of(dim, self.ndim)
    return np.moveaxis(self, axis, -1), axis


def _sorted(self: Any, _stable: Any, dim: Any, descending: Any) -> tuple[Any, Any]:
    rows, axis = _as_rows(self, dim)
    places = _order(rows, descending=descending)
    values, places = _known(rows, np.take_along_axis(rows, places, -1), places)
    return np.moveaxis(values, -1, axis), np.moveaxis(places, -1, axis)


def _argsort(self: Any, dim: Any, descending: Any) -> Any:
    return _sorted(self, False, dim, descending)[1]


def _top(self: Any, k: Any, dim: Any, largest: Any, _sorted: Any) -> tuple[Any, Any]:
    rows, axis = _as_rows(self, dim)
    count = int(k)
    if not 0 <= count <= rows.shape[-1]:
        raise Undefined(f"k {count} of {rows.shape[-1]} elements")
    places = _order(rows, descending=largest)[..., :count]
    values, places = _known(rows, np.take_along_axis(rows, places, -1), places)
    return np.moveaxis(values, -1, axis), np.moveaxis(places, -1, axis)


def _at(rows: Any, rank: Any, axis: int, keep: Any, *, last: bool = False) -> tuple[Any, Any]:
    """The element of a rank in every row, and its place; NaN stands ``last``, or leaves its row open."""
    places = _order(rows)
    rank = np.broadcast_to(rank, rows.shape[:-1])[..., None]
    found = np.take_along_axis(places, rank, -1)
    value = np.take_along_axis(rows, found, -1)
    if not last:
        value, found = _known(rows, value, found)
    if not keep:
        return value[..., 0], found[..., 0]
    return np.moveaxis(value, -1, axis), np.moveaxis(found, -1, axis)


def _kth(self: Any, k: Any, dim: Any, keep: Any) -> tuple[Any, Any]:
    rows, axis = _as_rows(self, dim)
    if not 1 <= int(k) <= rows.shape[-1]:
        raise Undefined(f"k {int(k)} of {rows.shape[-1]} elements")
    return _at(rows, int(k) - 1, axis, keep)


def _median_dim(self: Any, dim: Any, keep: Any) -> tuple[Any, Any]:
    rows, axis = _as_rows(self, dim)
    return _at(rows, (rows.shape[-1] - 1) // 2, axis, keep)


def _nan_median_dim(self: Any, dim: Any, keep: Any) -> tuple[Any, Any]:
    """NaN is left out; where there is nothing else the median is NaN, at 0."""
    rows, axis = _as_rows(self, dim)
    known = rows.shape[-1] - (np.isnan(rows).sum(-1) if rows.dtype.kind == "f" else 0)
    return _at(rows, np.maximum((known - 1) // 2, 0), axis, keep, last=True)


def _nan_median(self: Any) -> Any:
    flat = self.reshape(-1)
    flat = np.sort(flat[~np.isnan(flat)] if flat.dtype.kind == "f" else flat)
    if not flat.size and flat.dtype.kind != "f":
        raise Undefined("the median of no whole number")
    return flat[(flat.size - 1) // 2] if flat.size else np.full((), np.nan, self.dtype)


def _running(most: Any, self: Any, dim: Any) -> tuple[Any, Any]:
    """The most extreme so far, and where it stood last."""
    rows, axis = _as_rows(self, dim)
    values = most.accumulate(rows, -1)
    places = np.maximum.accumulate(np.where(same(rows, values), np.arange(rows.shape[-1]), 0), -1)
    values, places = _known(rows, values, places, before=True)
    return np.moveaxis(values, -1, axis), np.moveaxis(places, -1, axis)


def _bucket(self: Any, boundaries: Any, _out_int32: Any, right: Any) -> Any:
    edges = boundaries.reshape(-1)
    if np.isnan(edges).any() or np.any(edges[1:] < edges[:-1]):
        raise Undefined("the boundaries do not ascend")
    places = np.searchsorted(edges, self, side="right" if right else "left")
    return _known(self[..., None], places[..., None])[0][..., 0]


# --- declarations ---------------------------------------------------------------------------------------------


def _sorted_made(self: Any, *_rest: Any) -> list[Any]:
    return [(self.dtype, self.shape), ("int64", self.shape)]


def _top_made(self: Any, k: Any, dim: Any, *_rest: Any) -> list[Any]:
    axis = axis_of(dim, len(self.shape))
    shape = (*self.shape[:axis], int(k), *self.shape[axis + 1 :])
    return [(self.dtype, shape), ("int64", shape)]


def _one_made(self: Any, dim: Any, keep: Any) -> list[Any]:
    shape = reduced_shape(self.shape, dim, keep)
    return [(self.dtype, shape), ("int64", shape)]


_FOUND: dict[str, Any] = {"standard": "exact", "holds": Places("indicesOut", "valuesOut")}
_DIM: dict[str, Any] = {"sample_attributes": {"dim": -1, "keepDim": False}, **_FOUND}

OPERATORS = (
    declare("Sort", _sorted, "valuesOut, indicesOut = self in order along dim, and where each element stood",
            _sorted_made, sample_attributes={"stable": True, "dim": -1, "descending": False}, standard="exact",
            holds=Places("indicesOut", "valuesOut", settled="stable")),
    declare("Argsort", _argsort, "out = the places of the elements of self in order along dim",
            lambda self, *_rest: ("int64", self.shape), sample_attributes={"dim": -1, "descending": False},
            data={"self": Generator("permutation", ())}, holds=Places("out")),
    declare("Topk", _top, "valuesOut, indicesOut = the k largest (or smallest) along dim, and where they stood",
            _top_made, sample_attributes={"k": 2, "dim": -1, "largest": True, "sorted": True}, standard="exact",
            holds=Places("indicesOut", "valuesOut", sorted="sorted")),
    declare("Kthvalue", _kth, "valuesOut, indicesOut = the k-th smallest along dim, and where it stands",
            lambda self, _k, dim, keep: _one_made(self, dim, keep),
            sample_attributes={"k": 2, "dim": -1, "keepdim": False}, **_FOUND),
    declare("MedianDim", _median_dim, "valuesOut, indicesOut = the median along dim (the lower of two), and its place",
            _one_made, **_DIM),
    declare("NanMedianDim", _nan_median_dim,
            "valuesOut, indicesOut = the median along dim of what is not NaN, and its place", _one_made, **_DIM),
    *(declare(name, partial(_running, most), f"valuesOut, indicesOut = the {word} so far along dim, and its place",
              _sorted_made, standard="exact", sample_attributes={"dim": -1},
              holds=Places("indicesOut", "valuesOut", once=False, behind=True))
      for name, most, word in (("Cummax", np.maximum, "largest"), ("Cummin", np.minimum, "smallest"))),
    declare("NanMedian", _nan_median, "out = the median of what is not NaN, the lower of two",
            lambda self: (self.dtype, ())),
    declare("Bucketize", _bucket, "out = how many boundaries lie below self, those equal to it too where right is set",
            lambda self, _edges, small, _right: ("int32" if small else "int64", self.shape),
            short={"boundaries": lambda dtype, _shape: (dtype, (5,))},
            data={"boundaries": Generator("linspace", (0.0, 4.0))},
            sample_attributes={"outInt32": False, "right": False}),
)  # fmt: skip
