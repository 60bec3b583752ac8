"""The distinct elements of a tensor, as a set where they are not sorted, with inverse and counts that fit them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ascend_opcli.operators.declare.choices import Held, wide
from ascend_opcli.operators.declare.structured import declare
from ascend_opcli.operators.operator import Undefined


def _distinct(self: Any) -> tuple[Any, Any, Any]:
    flat = self.reshape(-1)
    if flat.dtype.kind == "f" and np.isnan(flat).any():
        raise Undefined("whether NaN is one element or several the documents do not say")
    values, inverse, counts = np.unique(flat, return_inverse=True, return_counts=True)
    return values, inverse.reshape(self.shape), counts


def _within(values: Any, call: Any, name: str) -> Any:
    """The values at the front of an output that has room for as many as there could be."""
    spec = call.outputs.get(name)
    if spec is None:
        return values
    if spec.count < len(values):
        raise Undefined(f"{name} has room for {spec.count} of {len(values)} distinct elements")
    return np.pad(values, (0, spec.count - len(values))).reshape(spec.shape)


def _unique(self: Any, _in_order: Any, inverse: Any, call: Any) -> Any:
    values, places, _ = _distinct(self)
    return _within(values, call, "valueOut"), places if inverse else None


def _unique2(self: Any, _in_order: Any, inverse: Any, counts: Any, call: Any) -> Any:
    values, places, times = _distinct(self)
    return (
        _within(values, call, "valueOut"),
        places if inverse or counts else None,
        _within(times, call, "countsOut") if counts else None,
    )


def _holds(*, got: Any, golden: Any, **told: Any) -> Iterator[Held]:
    """Elements behind the distinct ones are not looked at: an output has room for as many as self has."""
    n = len(_distinct(told["self"])[0])
    if "valueOut" not in golden:
        return
    in_order = bool(told["sorted"])
    front = wide(got["valueOut"]).reshape(-1)[:n]
    # The place at which the output has the element of each rank.
    at = np.arange(n) if in_order else np.argsort(front, kind="stable")
    how = "ascending" if in_order else "in any order"
    yield _front("valueOut", got, golden, at, f"the distinct elements, {how}")
    if "inverseOut" in golden:
        places = golden["inverseOut"]
        inside = (places >= 0) & (places < n)
        wanted = np.where(inside, at[np.where(inside, places, 0)] if n else 0, places)
        yield Held("inverseOut", got["inverseOut"], wanted, "where valueOut has each element of self")
    if "countsOut" in golden:
        yield _front("countsOut", got, golden, at, "how often self has each element of valueOut")


def _front(name: str, got: Any, golden: Any, at: Any, says: str) -> Held:
    right = golden[name].reshape(-1)[: len(at)]
    wanted = np.empty_like(right)
    wanted[at] = right
    return Held(name, got[name].reshape(-1)[: len(at)], wanted, says, front=len(at))


def _made(self: Any, *_attributes: Any) -> list[Any]:
    count = int(np.prod(self.shape, dtype=np.int64))
    return [(self.dtype, (count,)), ("int64", self.shape), ("int64", (count,))]


OPERATORS = (
    declare("Unique", _unique, "valueOut, inverseOut = the distinct elements of self, and where each of self is there",
            _made, sample_attributes={"sorted": True, "returnInverse": True}, standard="exact", holds=_holds),
    declare("Unique2", _unique2,
            "valueOut, inverseOut, countsOut = the distinct elements of self, where each of self is there, how often",
            _made, sample_attributes={"sorted": True, "returnInverse": True, "returnCounts": True}, standard="exact",
            holds=_holds),
)  # fmt: skip
