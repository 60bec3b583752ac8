"""What a kernel would give that leaves out the end of a reduced axis: the reference, run on inputs without that end.

Nobody declares which axes are reduced. An axis is cut in every tensor that has it, and the results tell: the axis is
reduced where other values at its end change more than half of an output. Two omissions are told apart: the axis is
shorter (``mean`` divides by fewer), or its end counts as zero (``mean`` divides by all).
"""

from __future__ import annotations

import dataclasses
import math
import warnings
from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ascend_opcli.expression.language import Expression
from ascend_opcli.model import Attribute, BoundArgument, Call, Shape, Tensor
from ascend_opcli.operators.operator import Operator
from ascend_opcli.reference.evaluate import unshaped
from ascend_opcli.reference.fitting import ReferenceFailure
from ascend_opcli.tensors import layout
from ascend_opcli.tensors.dtypes import DTYPES, round_to, widen

SAMPLE = 1 << 15
"""Elements of all inputs to which the axes beside the one in question are shortened, where that changes no result."""

LARGEST = 1 << 17
"""Elements of all inputs above which nothing is asked."""

BLOCKS = (8, 16, 64, 128, 256)
"""Elements of the blocks in which kernels walk along an axis."""

AXES, ROWS, SHORTEST = 5, 4, 3
"""Axes that are asked of at the most, the least length to which others are shortened, the shortest axis asked of."""

Place = tuple[str, int, int]
"""A tensor (its parameter and its number in a list) and an axis of it, counted from the front."""

Results = Mapping[str, np.ndarray]
"""Results by output; the members of a list as ``out[0]``, ``out[1]``."""


def lengths(size: int) -> tuple[int, ...]:
    """How much of an axis is left out: one element, the last block of each size, all but the first block."""
    blocks = [b for b in BLOCKS if b < size]
    ends = {1, *(size % b or b for b in blocks), *(size - b for b in blocks[-1:])}
    return tuple(sorted(end for end in ends if size - end >= 2))


@dataclass(frozen=True, slots=True)
class _Link:
    """The axes that are cut together, whether attributes follow, and the results where one element is cut off."""

    places: frozenset[Place]
    attributes: bool
    shorter: Results


class Axis:
    """Axis ``number`` of the parameter ``tensor``, with all the tensors that have it.

    ``shapes`` are those of the call's own results.
    """

    def __init__(self, run: _Run, first: Place, link: _Link, shapes: Mapping[str, Shape]) -> None:
        self._run, self._first, self._link, self.shapes = run, first, link, shapes
        self.size = run.shape(first)[first[2]]
        self.tensor, _, self.number = first
        self._made: dict[int, list[Results]] = {}

    @property
    def name(self) -> str:
        """``axis 1 of self``."""
        name, number, axis = self._first
        return f"axis {axis} of {name}{f'[{number}]' if number >= 0 else ''}"

    @property
    def whole(self) -> Results:
        """The results with nothing left out, of the call that the omissions are of."""
        return self._run.whole

    def without(self, length: int) -> Iterator[Results]:
        """The leading part of every output without so many last elements: the axis shorter, then with zeros there."""
        made = self._made.setdefault(length, [])
        yield from made
        if not made:
            made.append(self._shorter(length))
            yield made[0]
        if len(made) == 1:
            zeroed = self._run.results(self._run.changed(self._link.places, length, lambda part, _: part * 0))
            made.append(self._leading(zeroed, made[0]))
            yield made[1]

    def _shorter(self, length: int) -> Results:
        if length == 1:
            return self._link.shorter
        return self._run.results(self._run.cut(self._link.places, length, self._link.attributes))

    def _leading(self, results: Results, shorter: Results) -> Results:
        return {n: corner(r, shorter[n].shape) if n in shorter else r for n, r in results.items()}

    @cached_property
    def reduced(self) -> frozenset[str]:
        """The outputs of which more than half hang on the last element of the axis."""
        found: set[str] = set()
        expected = self._leading(self.whole, self._link.shorter)
        for sign in (1, -1):
            call = self._run.changed(self._link.places, 1, lambda part, top, s=sign: _far(part, top, s))
            for name, got in self._leading(self._run.results(call), self._link.shorter).items():
                # A shape that the data decide is another one for other data.
                if name not in expected or got.shape != expected[name].shape:
                    continue
                if got.size and 2 * np.count_nonzero(~same(got, expected[name])) > got.size:
                    found.add(name)
            if found:
                break
        return frozenset(found)


def same(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Where two results agree but for the order of their sums."""
    with np.errstate(all="ignore"):
        near = abs(one - other) <= 1e-9 * abs(other) if one.dtype.kind in "fc" else one == other
        return np.asarray((one == other) | near | ((one != one) & (other != other)))


def axes(operator: Operator, call: Call, goldens: Mapping[str, Any]) -> Iterator[Axis]:
    """Axes of a call that may be reduced, each with results of the call or of a shortened one.

    None of an elementwise operator, of a reference that is a case's own code, and of a call that is too large.
    """
    foreign = bool(operator.own) and not isinstance(operator.reference, Expression)
    if operator.reference is None or operator.elementwise or operator.flat_like or foreign:
        return
    whole = _Run(operator, call, flat(goldens))
    shapes = {name: result.shape for name, result in whole.whole.items()}
    seen: set[frozenset[Place]] = set()
    for first in whole.places():
        if len(seen) >= AXES:
            return
        if whole.shape(first)[first[2]] < SHORTEST:
            continue
        run = whole.shortened(first)
        if run.size > LARGEST or not run.whole:
            continue
        link = run.linked(first, seen)
        if link is not None:
            seen.add(link.places)
            yield Axis(run, first, link, shapes)


def corner(array: np.ndarray, shape: Shape) -> np.ndarray:
    """The leading part of an array; all of it where the other has another rank."""
    return array[tuple(slice(dim) for dim in shape)] if len(shape) == array.ndim else array


def flat(arrays: Mapping[str, Any]) -> Results:
    """Results by output and member, without axes of one element, which come and go."""
    made: dict[str, np.ndarray] = {}
    for name, result in arrays.items():
        members = enumerate(result) if isinstance(result, tuple) else [(-1, result)]
        made |= {f"{name}[{i}]" if i >= 0 else name: np.squeeze(member) for i, member in members}
    return made


def _far(part: np.ndarray, top: float, sign: int) -> np.ndarray:
    """Values far beyond all others of the tensor."""
    if part.dtype == bool:
        return part ^ (sign > 0)
    if part.dtype.kind in "iu":
        limits = np.iinfo(part.dtype)
        return np.full_like(
            part, min(limits.max, int(2 * top) + 1) if sign > 0 else max(limits.min, -int(2 * top) - 1)
        )
    return np.full_like(part, sign * (2.0 * top + 1.0))


class _Run:
    """A call, and what its reference makes of it and its like."""

    def __init__(self, operator: Operator, call: Call, whole: Results | None = None) -> None:
        self._operator, self._call, self._whole = operator, call, whole
        self._tensors: dict[tuple[str, int], Tensor] = {}
        for param in operator.signature.inputs:
            bound = call.arguments.get(param.name)
            for number, tensor in enumerate(bound if isinstance(bound, tuple) else ()):
                if isinstance(tensor, Tensor):
                    self._tensors[param.name, number] = tensor
            if isinstance(bound, Tensor):
                self._tensors[param.name, -1] = bound

    def shape(self, place: Place) -> Shape:
        return self._tensors[place[:2]].spec.shape

    def places(self) -> list[Place]:
        """Every axis of every input; the last ones first, of the largest tensors first."""
        largest = sorted(self._tensors, key=lambda key: -self._tensors[key].spec.count)
        found = [(*key, axis) for key in largest for axis in range(len(self._tensors[key].spec.shape))]
        return sorted(found, key=lambda place: place[2] - len(self.shape(place)), reverse=True)

    @property
    def size(self) -> int:
        """Elements of all tensors."""
        return sum(tensor.spec.count for tensor in self._tensors.values())

    @cached_property
    def whole(self) -> Results:
        return self.results(self._call) if self._whole is None else self._whole

    def results(self, call: Call | None) -> Results:
        """What the reference gives, as a golden has it; nothing where it refuses the call."""
        if call is None:
            return {}
        try:
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                return flat(unshaped(self._operator, call))
        except (ReferenceFailure, ValueError, TypeError, IndexError, OverflowError, AttributeError):
            return {}

    # --- other calls ------------------------------------------------------------------------------------------

    def cut(self, places: frozenset[Place], length: int, attributes: bool) -> Call:
        """The call with the ends of some axes cut off, and with numbers of that size made smaller in attributes."""
        arrays: dict[tuple[str, int], np.ndarray] = {}
        size = 0
        for name, number, axis in places:
            array = arrays.get((name, number), self._array((name, number)))
            size = self.shape((name, number, axis))[axis]
            arrays[name, number] = array[(slice(None),) * axis + (slice(size - length),)]
        return self._with(arrays, (size, size - length) if attributes else None)

    def changed(self, places: frozenset[Place], length: int, change: Any) -> Call | None:
        """The call with other values at the ends of some axes; None where they are the same."""
        arrays: dict[tuple[str, int], np.ndarray] = {}
        moved = False
        floats = {p for p in places if self._tensors[p[:2]].spec.dtype in _FLOATS}
        for name, number, axis in floats or places:
            key = (name, number)
            array = arrays[key] if key in arrays else self._array(key).copy()
            wide = array if array.dtype.kind in "biuc" else widen(array, np.float64)
            part = (slice(None),) * axis + (slice(array.shape[axis] - length, None),)
            finite = abs(wide[np.isfinite(wide)]) if wide.dtype.kind in "fc" else abs(wide.astype(np.float64))
            with np.errstate(all="ignore"):
                new = change(wide[part], float(finite.max(initial=0.0)))
                new = new if array.dtype.kind in "biuc" else round_to(new, self._tensors[key].spec.dtype)
            moved |= not np.array_equal(array[part], new)
            array[part] = new
            arrays[key] = array
        return self._with(arrays, None) if moved else None

    def linked(self, first: Place, seen: Container[frozenset[Place]]) -> _Link | None:
        """The tensors that must be cut together with one; None where these were seen.

        The first way to cut that the reference takes: tensors of the same shape and those that are broadcast along the
        same axis, the tensor alone, every axis of that length; then with attributes.
        """
        shape, size = self.shape(first), self.shape(first)[first[2]]
        from_end = first[2] - len(shape)
        alike = {first}
        for key, tensor in self._tensors.items():
            dims = tensor.spec.shape
            if -from_end <= len(dims) <= len(shape) and dims[from_end] == size and _fits(dims, shape):
                alike.add((*key, from_end + len(dims)))
        every = {
            (*key, axis)
            for key, tensor in self._tensors.items()
            for axis, dim in enumerate(tensor.spec.shape)
            if dim == size
        }
        ways = [(frozenset(alike), False), (frozenset({first}), False), (frozenset(every), False)]
        ways += [(frozenset(alike), True), (frozenset(every), True)]
        for places, attributes in dict.fromkeys(ways):
            if places in seen:
                return None
            made = self.results(self.cut(places, 1, attributes))
            if made and all(_leads(made[n].shape, r.shape, size) for n, r in self.whole.items()):
                return _Link(places, attributes, made)
        return _Link(frozenset(alike), False, {})

    def shortened(self, first: Place) -> _Run:
        """The call with other axes than one shortened, so that it is small, where that changes no result."""
        run = self
        length = self.shape(first)[first[2]]
        for place in sorted(self.places(), key=lambda p: -self.shape(p)[p[2]]):
            size, count = run.shape(place)[place[2]], math.prod(run.shape(place))
            if place == first or size <= ROWS or run.size <= SAMPLE or 4 * count <= SAMPLE:
                continue
            rows = max(ROWS, size * SAMPLE // (2 * count))
            if rows >= size:
                continue
            alike = {p for p in self.places() if run.shape(p)[p[2]] == size != length}
            for places in dict.fromkeys((frozenset(alike), frozenset({place}))):
                small = _Run(run._operator, run.cut(places, size - rows, False)) if places else run
                if small.size < run.size and small.size <= 16 * LARGEST and _agree(small.whole, run.whole):
                    run = small
                    break
        return run

    def _array(self, key: tuple[str, int]) -> np.ndarray:
        return layout.view(self._tensors[key])

    def _with(self, arrays: Mapping[tuple[str, int], np.ndarray], sizes: tuple[int, int] | None) -> Call:
        arguments: dict[str, BoundArgument] = dict(self._call.arguments)
        for (name, number), array in arrays.items():
            tensor = _tensor(self._tensors[name, number], array)
            bound = arguments[name]
            if isinstance(bound, tuple):
                arguments[name] = (*bound[:number], tensor, *bound[number + 1 :])
            else:
                arguments[name] = tensor
        if sizes is not None:
            for name, bound in arguments.items():
                if isinstance(bound, Attribute):
                    arguments[name] = dataclasses.replace(bound, value=_smaller(bound.value, *sizes))
        return dataclasses.replace(self._call, arguments=arguments)


_FLOATS = frozenset(name for name, word in DTYPES.items() if word.kind in ("float", "complex"))


def _fits(dims: Shape, shape: Shape) -> bool:
    """Whether a tensor is broadcast to another's shape."""
    return all(d in (1, s) for d, s in zip(reversed(dims), reversed(shape), strict=False))


def _leads(shape: Shape, whole: Shape, size: int) -> bool:
    """Whether a result is a whole one, or the leading part of one of which axes of ``size`` were cut."""
    return len(shape) == len(whole) and all(
        a == b or b == size > a for a, b in zip(shape, whole, strict=True)
    )


def _agree(small: Results, whole: Results) -> bool:
    return (
        bool(small)
        and small.keys() == whole.keys()
        and all(
            len(r.shape) == len(whole[n].shape)
            and all(a <= b for a, b in zip(r.shape, whole[n].shape, strict=True))
            and bool(same(r, corner(whole[n], r.shape)).all())
            for n, r in small.items()
        )
    )


def _smaller(value: Any, size: int, smaller: int) -> Any:
    if isinstance(value, tuple):
        return tuple(_smaller(item, size, smaller) for item in value)
    return smaller if type(value) is int and value == size else value


def _tensor(tensor: Tensor, array: np.ndarray) -> Tensor:
    strides, offset, storage, word = layout.resolve(array.shape)
    spec = dataclasses.replace(
        tensor.spec, shape=array.shape, strides=strides, offset=offset, storage_shape=storage, layout=word
    )
    return Tensor(spec, np.ascontiguousarray(array).reshape(-1))
