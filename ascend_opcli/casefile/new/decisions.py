"""Cases that reach what a kernel decides by its data: special values, thresholds, ties, the borders of integers."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from ascend_opcli.casefile.new.calls import PROBE, Calls, size
from ascend_opcli.casefile.new.groups import Group, Point, case_of, data_of
from ascend_opcli.casefile.new.smoke import Commented
from ascend_opcli.casefile.new.tails import axes_of
from ascend_opcli.model import Generator, Shape, TensorSpec
from ascend_opcli.operators.arguments import first_spec
from ascend_opcli.tensors.dtypes import DTYPES, float_format, integer_range, numpy_dtype

Failure = Callable[..., str | None]
"""Why the reference itself fails a case, or with ``judged`` has no result for it; None where neither is so."""

SPECIAL = (math.nan, math.inf, -math.inf, 0.0, -0.0)
THRESHOLDS = (0.5, 1.0, 3.0, 6.0)
"""Constants at which formulas decide (hardsigmoid, hardswish, relu6, hard shrink): here with their neighbours."""
PLAIN = (1.5, 2.0, 2.5, 3.5, 4.0)
EQUAL = (0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 6.0)
"""Values at which inputs are equal: thresholds, ties, even and odd numbers."""
_LISTS = ("aclFloatArray", "aclScalarList")
_REAL = ("double", "float", "aclScalar", *_LISTS)
ENOUGH = 2048
"""Elements with which every pair of twenty values stands somewhere."""


def decisions(calls: Calls, failure: Failure | None, most: int = PROBE) -> Iterator[Commented]:
    """Few cases, and only those that the reference passes itself: without ``failure``, which tells, there are none.

    Special values stand in up to three float dtypes where each output element takes in few elements of an input.
    ``most`` bounds the elements of a tensor.
    """
    if failure is None or calls.operator.reference is None:
        return
    floats = [d for d in calls.dtypes if DTYPES[d].kind == "float" and DTYPES[d].itemsize > 1][:3]
    whole = [d for d in calls.dtypes if DTYPES[d].kind in ("int", "uint")]
    if floats:
        yield from _Floats(calls, floats, failure, most).cases()
    if whole:
        yield from _whole(calls, whole, failure, most)


class _Floats:
    """The cases of the float inputs that may hold anything."""

    def __init__(self, calls: Calls, dtypes: Sequence[str], failure: Failure, most: int) -> None:
        self.calls, self.dtypes, self.dtype, self.failure = calls, dtypes, dtypes[0], failure
        self.wide = _wide(calls, self.dtype, most)
        self.attributes = self._distinct()
        self.reals = [*(_reals(calls) | self.attributes).values()]
        arguments = calls.make(self.dtype, self.wide, self.attributes)
        assert arguments is not None
        specs = {p.name: first_spec(arguments[p.name]) for p in calls.operator.signature.inputs}
        self.inputs = {
            name: spec
            for name, spec in specs.items()
            if spec is not None and DTYPES[spec.dtype].kind == "float" and not calls.ordered(name)
        }

    def cases(self) -> Iterator[Commented]:
        for name in self.inputs:
            yield from self._special(name)
        yield from self._edges()
        if len(self.inputs) > 1:
            yield from self._pairs()

    def _distinct(self) -> dict[str, float]:
        """Real attributes that would be equal, told apart: a value put in place of another shows."""
        seen: set[float] = set()
        changed: dict[str, float] = {}
        for name, value in _reals(self.calls).items():
            if self.calls.operator.signature[name].type in _LISTS:
                continue
            own = {**changed, name: value / 4}
            if value in seen and value and self.calls.accepted(self.calls.make(self.dtype, self.wide, own)):
                changed = own
            seen.add(value)
        return changed

    def _case(self, name: str, points: Sequence[Point], data: Mapping[str, Any]) -> dict[str, Any]:
        inputs = {own: {"data": made} for own, made in data.items()}
        return case_of(self.calls, Group(name, "", tuple(points), inputs))

    def _special(self, name: str) -> Iterator[Commented]:
        """NaN, infinities and zeros in one input alone."""
        # Of a sum a zero decides nothing.
        values, shape = (SPECIAL, self._mixed) if self.pointwise else (SPECIAL[:3], self._single)
        for dtypes in (self.dtypes, self.dtypes[:1]) if self.pointwise else (self.dtypes[:1],):
            made = functools.partial(shape, name, dtypes)
            kept = self._kept(values, made)
            if kept:
                yield f"Special values in {name} alone.", made(kept)
                return

    def _mixed(self, name: str, dtypes: Sequence[str], values: Sequence[float]) -> dict[str, Any]:
        points = [Point(d, self.wide, attributes=self.attributes) for d in dtypes]
        return self._case(f"special-{name}", points, {name: {"choice": [*values, 1.5, -2.5]}})

    def _single(self, name: str, dtypes: Sequence[str], values: Sequence[float]) -> dict[str, Any]:
        """One value a case: more would leave nothing else of a result that is summed up."""
        shape = self.calls.base_shape
        points = [
            Point(d, shape, attributes=self.attributes, columns={"special": v})
            for d in dtypes
            for v in values
        ]
        return self._case(
            f"special-{name}", points, {name: {**_own(self.inputs[name]), "specials": ["$special"]}}
        )

    @cached_property
    def pointwise(self) -> bool:
        """Whether no output element takes in many elements of an input."""
        if self.calls.operator.elementwise:
            return True
        arguments = self.calls.make(self.dtype, self.calls.base_shape)
        return arguments is not None and not any(axis.reduced for axis in axes_of(self.calls, arguments))

    def _edges(self) -> Iterator[Commented]:
        """Elements at each attribute, at the usual constants, and next to them."""
        values = edges(self.reals, self.dtype)
        following = [n for n in self.inputs if n in self.calls.follows(self.dtype)]

        def made(plain: Callable[[TensorSpec], dict[str, Any]], some: Sequence[float]) -> dict[str, Any]:
            data = {}
            for name, spec in self.inputs.items():
                data[name] = plain(spec)
                if name in following:
                    data[name] = {**data[name], "specials": list(some[: spec.count // 2])}
            return self._case("edges", [Point(self.dtype, self.wide, attributes=self.attributes)], data)

        for plain in (_ones, _own) if following else ():
            kept = self._kept(values, functools.partial(made, plain))
            if kept:
                yield (
                    "At attributes and at usual constants, and one step beside them; ties of rounding.",
                    made(plain, kept),
                )
                return

    def _pairs(self) -> Iterator[Commented]:
        """Inputs that are equal to each other, or one step apart, or special together."""
        points = [Point(self.dtype, self.wide, attributes=self.attributes)]

        def made(some: Sequence[float]) -> dict[str, Any]:
            return self._case("equal-inputs", points, {n: {"choice": list(some)} for n in self.inputs})

        both = (sign * v for v in (*EQUAL, *self.reals[:2]) if v for sign in (1, -1))
        values = dict.fromkeys((*neighbours(1.0, self.dtype), *both))
        kept = self._kept((*SPECIAL, *values), made)
        if len(kept) > 1:
            yield "Inputs that are equal, one step apart, or special together.", made(kept)

    def _right(self, case: dict[str, Any]) -> bool:
        return self.failure(case, judged=True) is None

    def _kept(
        self, values: Sequence[float], made: Callable[[Sequence[float]], dict[str, Any]]
    ) -> Sequence[float]:
        """The values with which a case passes: all, or those of its halves that do, or the better half."""
        if not values or self._right(made(values)):
            return values
        if len(values) == 1:
            return ()
        half = len(values) // 2
        halves = self._kept(values[:half], made), self._kept(values[half:], made)
        kept = [value for part in halves for value in part]
        right = len(kept) < len(values) and (not kept or self._right(made(kept)))
        return kept if right else max(halves, key=len)


def _whole(calls: Calls, dtypes: Sequence[str], failure: Failure, most: int) -> Iterator[Commented]:
    """Integers at the borders of their dtype, next to small ones."""
    wide = _wide(calls, dtypes[0], most)
    kept: list[tuple[Point, tuple[str, ...]]] = []

    def made(points: Sequence[Point], names: Sequence[str]) -> dict[str, Any]:
        data = {"choice": ["$low", "$before", 0, 1, 2, 7, "$high"]}
        return case_of(calls, Group("integer-borders", "", tuple(points), {n: {"data": data} for n in names}))

    for dtype in dtypes:
        low, high = integer_range(dtype)
        point = Point(dtype, wide, columns={"low": low, "before": -1 if low else high - 1, "high": high})
        names = calls.follows(dtype)
        if (
            names
            and calls.taken(calls.make(dtype, wide))
            and failure(made([point], names), judged=True) is None
        ):
            kept.append((point, names))
    points = [p for p, names in kept if names == kept[0][1]]
    if points:
        yield "The borders of the integers among small ones.", made(points, kept[0][1])


# --- values -----------------------------------------------------------------------------------------------------


def neighbours(value: float, dtype: str) -> tuple[float, float, float]:
    """The number of the dtype nearest to a value between those before and after it; those of 0 are normal numbers."""
    held = np.array(value).astype(numpy_dtype(dtype))
    if held == 0:
        least = 2.0 ** float_format(dtype).emin
        return -least, 0.0, least
    low, high = (np.nextafter(held, np.array(to).astype(held.dtype)) for to in (-math.inf, math.inf))
    return _short(low), _short(held), _short(high)


def edges(attributes: Sequence[float], dtype: str) -> list[float]:
    """Values at which a formula may decide, those of its attributes first, all of both signs."""
    found = [-0.0]
    for value in (*attributes, 0.0, *THRESHOLDS):
        if math.isfinite(value) and abs(value) < float_format(dtype).largest:
            low, held, high = neighbours(abs(value), dtype)
            found += [held, -held, low, -low, high, -high]
    found += [*PLAIN, *(-v for v in PLAIN)]
    return list({repr(v): v for v in found}.values())


def _short(value: np.ndarray) -> float:
    """A number with no more digits than its dtype needs."""
    return float(str(np.float32(value))) if value.dtype.itemsize <= 4 else float(value)


def _reals(calls: Calls) -> dict[str, float]:
    """Real attributes of an ordinary call."""
    found: dict[str, float] = {}
    for param in calls.operator.signature.attributes:
        value = calls.value(param)
        for item in value if isinstance(value, tuple) else (value,):
            if param.type in _REAL and type(item) in (int, float):
                found[param.name] = float(item)  # type: ignore[arg-type]
    return found


def _own(spec: TensorSpec) -> dict[str, Any]:
    """The data that an input has by itself, as a generator."""
    made = data_of(spec.data) if spec.data is not None else 0
    return made if isinstance(made, dict) else {"choice": made if isinstance(made, list) else [made]}


def _ones(spec: TensorSpec) -> dict[str, Any]:
    """Powers of two, with which products are exact: of both signs, unless the input's own data are positive."""
    data = spec.data
    positive = isinstance(data, Generator) and data.kind == "uniform" and complex(data.args[0]).real >= 0
    return {"choice": [0.5, 1.0, 2.0] if positive else [-1.0, 1.0]}


def _wide(calls: Calls, dtype: str, most: int) -> Shape:
    """An ordinary shape with a long last axis, where the operator takes it and no tensor becomes too large."""
    base = calls.base_shape
    if base:
        axis = 1 << (max(1, ENOUGH // max(1, math.prod(base[:-1]))) - 1).bit_length()
        for length in (axis, 64, 16):
            made = calls.make(dtype, (*base[:-1], length))
            if (
                length > base[-1]
                and made is not None
                and size(made) <= min(most, PROBE)
                and calls.accepted(made)
            ):
                return (*base[:-1], length)
    return base
