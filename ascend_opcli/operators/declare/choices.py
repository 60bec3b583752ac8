"""Outputs that are defined up to a choice: what must hold of any right one.

An operator says of what its call gave (and of the golden) what is compared with what: a :class:`Held` for each. Where
several values are right, the golden follows what was given as far as that is right and stays a right value elsewhere,
so that standards, census and reports serve such outputs as they serve all others.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ascend_opcli.operators.declare.structured import axis_of
from ascend_opcli.operators.operator import Undefined
from ascend_opcli.tensors.dtypes import round_to, widen


@dataclass(frozen=True, slots=True)
class Held:
    """``got`` must be ``wanted``, two arrays of one shape; ``says`` is the rule in words.

    ``output`` is the output whose standard judges. ``name`` is given where ``got`` is not that output itself but made
    of the outputs, ``dtype`` where it has another one than the output. ``front`` is how many elements of the output
    ``got`` holds, where the operator may leave anything in the rest.
    """

    output: str
    got: Any
    wanted: Any
    says: str
    name: str = ""
    dtype: str = ""
    front: int | None = None


def made(output: str, name: str, got: Any, wanted: Any, says: str, dtype: str) -> Held:
    """What is made of the outputs, in a float dtype, against what it must be."""
    wanted = np.broadcast_to(np.asarray(wanted), np.shape(got))
    return Held(output, round_to(np.asarray(got), dtype), wanted, says, name, dtype)


def unsaid(values: Any, where: Any, why: str) -> Any:
    """Values of which nobody has said those ``where``. Raises Undefined, with the reason, where that is all of them."""
    where = np.broadcast_to(where, values.shape)
    if where.size and where.all():
        raise Undefined(why)
    return np.ma.masked_array(values, where) if where.any() else values


# --- places of selected elements ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Places:
    """The output ``indices`` holds places along ``axis`` of ``source``, of which those of equal elements are as right.

    ``values`` is the output with the elements that stand there. ``settled`` is the attribute that leaves no choice
    where it is set, ``sorted`` the one without which the order is free, as it always is with ``free``; ``axis`` is
    an attribute too, or a number. ``once``: no place stands twice in a slice. ``behind``: none lies after its own.
    """

    indices: str
    values: str | None = None
    source: str = "self"
    axis: str | int = "dim"
    settled: str | None = None
    sorted: str | None = None
    free: bool = False
    once: bool = True
    behind: bool = False

    def __call__(self, /, *, got: Any, golden: Any, **told: Any) -> Iterator[Held]:
        if self.settled is not None and told[self.settled]:
            return
        in_order = not self.free and (self.sorted is None or bool(told[self.sorted]))
        source = np.asarray(told[self.source])
        axis = axis_of(told[self.axis] if isinstance(self.axis, str) else self.axis, source.ndim)
        values = got.get(self.values)
        along = f"along {self.axis}" if isinstance(self.axis, str) else f"along axis {self.axis}"
        order = "" if in_order else ", in any order"
        nan = np.isnan(source).any(axis) if source.dtype.kind == "f" else np.zeros((), bool)
        if self.values in golden and (nan.any() or not in_order):
            wanted = golden[self.values] if in_order else in_order_of(golden[self.values], values, axis)
            yield Held(str(self.values), values, wanted, f"the selected elements {along}{order}")
        if self.indices in golden:
            says = f"of equal elements of {self.source} {along} any{', each place once' if self.once else ''}{order}"
            by = None if in_order else values
            right, ours = golden[self.indices], got[self.indices]
            wanted = settle(
                source, axis, right, ours, by, in_order=in_order, once=self.once, behind=self.behind
            )
            yield Held(self.indices, got[self.indices], wanted, says)
        if self.values in golden and self.indices in golden and nan.any():
            yield self._with_nan(source, nan, axis, values, got[self.indices])

    def _with_nan(self, source: Any, nan: Any, axis: int, values: Any, places: Any) -> Held:
        """Of a slice with NaN the order is open; what is selected stands where it is said to stand all the same."""
        apart = places.ndim < source.ndim
        rows = np.moveaxis(source, axis, -1)[nan]
        ours, at = (
            np.moveaxis(np.expand_dims(a, axis) if apart else a, axis, -1)[nan] for a in (values, places)
        )
        ours, at = wide(ours), at.astype(np.int64)
        inside = (at >= 0) & (at < rows.shape[-1])
        there = np.take_along_axis(rows, np.where(inside, at, 0), -1)
        wanted = np.where(inside, there, np.where(np.isnan(ours), 0, np.nan))
        says = f"what {self.source} has at {self.indices}, in slices with NaN"
        return made(str(self.values), f"{self.values} of slices with NaN", ours, wanted, says, "float64")


def in_order_of(golden: Any, got: Any, axis: int) -> Any:
    """The elements of every slice of ``golden``, each where ``got`` has the one of the same rank."""
    if not got.ndim:
        return golden
    made = np.empty_like(golden)
    np.put_along_axis(made, np.argsort(wide(got), axis, kind="stable"), np.sort(golden, axis), axis)
    return made


def settle(
    source: Any,
    axis: int,
    golden: Any,
    got: Any,
    values: Any = None,
    *,
    in_order: bool = True,
    once: bool = True,
    behind: bool = False,
) -> Any:
    """Places along ``axis`` of ``source``: those of ``got`` where they are as right as the golden ones, else these.

    Right is what lies in the axis and names an element equal to the golden one, NaN being equal to NaN: with
    ``in_order`` at the same place of the slice, else at that of the same rank, by ``values`` where they are given.
    ``golden`` and ``got`` have the axes of ``source``, or all but ``axis``.
    """
    apart = got.ndim < source.ndim
    rows = np.moveaxis(source, axis, -1)
    ours, right = (np.moveaxis(np.expand_dims(a, axis) if apart else a, axis, -1) for a in (got, golden))
    places, right = ours.astype(np.int64), right.astype(np.int64)
    if not rows.shape[-1]:
        return golden
    inside, known = ((a >= 0) & (a < rows.shape[-1]) for a in (places, right))
    if behind:
        inside &= places <= np.arange(places.shape[-1])
    chosen = np.take_along_axis(rows, np.where(inside, places, 0), -1)
    wanted = np.take_along_axis(rows, np.where(known, right, 0), -1)
    if not in_order:
        by = chosen if values is None else wide(np.moveaxis(values, axis, -1))
        ranked = np.argsort(by, -1, kind="stable")
        ascending = np.argsort(wanted, -1, kind="stable")
        for array in (right, wanted):
            np.put_along_axis(array, ranked, np.take_along_axis(array, ascending, -1), -1)
    good = inside & known & same(chosen, wanted)
    if once:
        good &= ~_again(places, right, good)
    made = np.moveaxis(np.where(good, places, right), -1, axis)
    return made.reshape(np.shape(golden))


def _again(places: Any, right: Any, good: Any) -> Any:
    """Good places that stand in their slice already; the one that counts is the golden's own, else the first."""
    apart = -2 * (1 + np.arange(places.shape[-1]))
    key = np.where(good, 2 * places + (places != right), apart)
    order = np.argsort(key, -1, kind="stable")
    found = np.take_along_axis(key, order, -1) >> 1
    twice = np.zeros(key.shape, bool)
    np.put_along_axis(twice, order[..., 1:], found[..., 1:] == found[..., :-1], -1)
    return twice


def same(one: Any, other: Any) -> Any:
    """Which elements are equal, NaN being equal to NaN."""
    return (one == other) | ((one != one) & (other != other))


def wide(values: Any) -> Any:
    """Floats as float64, the rest as it is."""
    return values if values.dtype.kind in "biuc" else widen(values, np.float64)
