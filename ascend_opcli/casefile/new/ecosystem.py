"""The case set that the ecosystem precision standard asks for (opbase, experimental_standard.md, 2026-07-15).

Every combination of dtype, format, rank and attribute; dims are 2^k and 2^k - 1 from 1 to 2^20, at most 2^31 elements;
half the cases uniform in [-5, 5], half normal with a mean in [-5, 5] and a deviation in [0.1, 2]; then an empty tensor,
[1], the lower and the upper border, nan, inf, -inf and [-inf, inf]. ``--max-elements`` bounds the dims further.
"""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ascend_opcli.casefile.new.calls import Calls, size
from ascend_opcli.casefile.new.decisions import Failure, decisions
from ascend_opcli.casefile.new.groups import Group, Point, case_of
from ascend_opcli.casefile.new.pairwise import pairwise
from ascend_opcli.casefile.new.smoke import Commented, first_dtype
from ascend_opcli.casefile.new.tails import tails
from ascend_opcli.model import Shape
from ascend_opcli.operators.contract.formats import RANK_OF_FORMAT
from ascend_opcli.operators.operator import Default
from ascend_opcli.tensors.dtypes import DTYPES, float_format, integer_range

MAX_DIM = 2**20
MAX_ELEMENTS = 2**31
SPAN = (-5.0, 5.0)
DEVIATION = (0.1, 2.0)
TRIED, MOST_TRIED = 2048, 256
"""Of the points of a distribution, about so many of at most so many elements are tried."""


@dataclass(frozen=True, slots=True)
class Layout:
    """A shape in a format."""

    shape: Shape
    format: str | None


def ecosystem(
    calls: Calls, *, max_elements: int, pairs: bool, failure: Failure | None = None
) -> Iterator[Commented]:
    """The cases of the suite: ``pairs`` covers every pair of dtype, shape and attribute instead of every triple.

    Where a reference rounds as its compute dtype does, it may itself be too far from the golden at a border or for
    numbers that the operator makes large; ``failure`` tells, and those points are marked as a known issue.
    """
    dtype = first_dtype(calls)
    bound = min(max_elements, MAX_ELEMENTS)
    layouts = list(_layouts(calls, dtype, bound))
    choices = _attributes(calls, dtype)
    axes: list[Sequence[Any]] = [calls.dtypes, layouts, *choices.values()]
    rows = pairwise(axes) if pairs else list(itertools.product(*axes))
    points = [
        Point(row[0], row[1].shape, row[1].format, dict(zip(choices, row[2:], strict=True))) for row in rows
    ]
    # What the reference takes depends on shapes and attributes: each pair of them is worked through once.
    works: dict[object, bool] = {}
    for p in points:
        key = _key(p)
        if key not in works:
            works[key] = _fits(calls, Point(dtype, p.shape, p.format, p.attributes), bound)
    points = [p for p in points if works[_key(p)] and _fits(calls, p, bound, work=False)]
    yield from _halves(calls, points, failure)
    yield from _special_shapes(calls)
    yield from _special_values(calls, failure)
    for said, case in tails(calls, dtype):
        why = failure(case) if failure is not None else None
        yield (said, case) if why is None else _known(said, case, why)
    yield from decisions(calls, failure, bound)


def _key(point: Point) -> tuple[object, ...]:
    return (point.shape, *point.attributes.values())


def _fits(calls: Calls, point: Point, bound: int, *, work: bool = True) -> bool:
    made = calls.make(point.dtype, point.shape, point.attributes, point.format)
    return made is not None and size(made) <= bound and (calls.accepted if work else calls.taken)(made)


# --- shapes and formats ---------------------------------------------------------------------------------------


def _layouts(calls: Calls, dtype: str, bound: int) -> Iterator[Layout]:
    low, high = calls.ranks()
    formats = _formats(calls)
    found = 0
    for rank in range(low, high + 1):
        for shape in shapes(rank, bound, calls.operator.name):
            if _fits(calls, Point(dtype, shape), bound):
                for style in formats:
                    if RANK_OF_FORMAT.get(style, rank) == rank:
                        found += 1
                        yield Layout(shape, style)
    if not found:  # shapes that follow rules of the operator's own: the one that is known
        yield Layout(calls.base_shape, None)


def _formats(calls: Calls) -> list[str]:
    """The documented formats of the first tensor; private ones need storage that no case file can give."""
    first = next(iter(calls.operator.signature.inputs), None)
    lists = calls.documented(first.name) if first is not None else None
    known = [f for f in (lists.formats if lists is not None else ()) if f in ("ND", *RANK_OF_FORMAT)]
    return known or ["ND"]


def shapes(rank: int, bound: int, name: str) -> list[Shape]:
    """Shapes of a rank with dims 2^k and 2^k - 1 and at most ``bound`` elements, the same in every run.

    Of rank 1 every k; of higher ranks one with powers, one with powers less one, one with both.
    """
    if rank == 0:
        return [()]
    room = max(0, min(int(math.log2(max(bound, 1))), 31))
    if rank == 1:
        dims = {
            d for k in range(min(room, 20) + 1) for d in (2**k, 2**k - 1) if 1 <= d <= min(bound, MAX_DIM)
        }
        return [(d,) for d in sorted(dims)]
    rng = random.Random(f"{name}/{rank}")
    exponents = [1 if room >= rank else 0] * rank
    for _ in range(max(0, min(room, 20) - sum(exponents))):
        exponents[rng.randrange(rank)] += 1
    powers = tuple(2**k for k in exponents)
    less = tuple(max(1, 2**k - 1) for k in exponents)
    mixed = tuple((powers, less)[i % 2][i] for i in range(rank))
    return list(dict.fromkeys([powers, less, mixed]))


# --- attributes -----------------------------------------------------------------------------------------------


def _attributes(calls: Calls, dtype: str) -> dict[str, list[Default]]:
    """Values of each attribute of which more than one is known to be taken."""
    made: dict[str, list[Default]] = {}
    for param in calls.operator.signature.attributes:
        own = calls.value(param)
        if own is None:
            continue
        more: tuple[Default, ...] = ()
        if param.type == "bool":
            more = (False, True)
        elif param.type == "int64_t" and param.name.casefold() in ("dim", "axis"):
            more = (0, -1)
        values = [own, *(v for v in more if v != own)]
        taken = [v for v in values if calls.accepted(calls.make(dtype, calls.base_shape, {param.name: v}))]
        if len(taken) > 1:
            made[param.name] = taken
    return made


# --- data -----------------------------------------------------------------------------------------------------


def _halves(calls: Calls, points: Sequence[Point], failure: Failure | None) -> Iterator[Commented]:
    """Every other point uniform, the rest normal: neighbours in dtype and in shape differ."""
    yield from _bools(calls, [p for p in points if p.dtype == "bool"])
    points = [p for p in points if p.dtype != "bool"]
    dtypes = list(dict.fromkeys(p.dtype for p in points))
    layouts = list(dict.fromkeys((p.shape, p.format) for p in points))
    rng = random.Random(f"{calls.operator.name}/normal")
    drawn = [(round(rng.uniform(*SPAN), 2), round(rng.uniform(*DEVIATION), 2)) for _ in layouts]
    parts: dict[tuple[int, int], list[Point]] = {(0, 0): [], (1, 1): [], (0, 1): [], (1, 0): []}
    for point in points:
        at = layouts.index((point.shape, point.format))
        place = (dtypes.index(point.dtype) % 2, at % 2)
        if place[0] != place[1]:
            columns = {"mean": drawn[at][0], "deviation": drawn[at][1]}
            point = Point(point.dtype, point.shape, point.format, point.attributes, columns)
        parts[place].append(point)
    for (left, right), own in parts.items():
        if own and left == right:
            name = "uniform" if not left else "uniform-2"
            data: Any = {"uniform": list(SPAN)}
            said = "Half of the combinations: uniform."
        elif own:
            name = "normal" if right else "normal-2"
            data = {"normal": ["$mean", "$deviation"]}
            said = "The other half: normal, with a mean and a deviation of its own."
        else:
            continue
        least, why = _hard(calls, name, own, data, failure)
        plain = [p for p in own if math.prod(p.shape) < least.get(p.dtype, math.inf)]
        if plain:
            yield said, _written(calls, name, plain, data)
        hard = [p for p in own if p not in plain]
        if hard:
            yield _known(said, _written(calls, f"{name}-hard", hard, data), why)


def _hard(
    calls: Calls, name: str, points: Sequence[Point], data: Any, failure: Failure | None
) -> tuple[dict[str, int], str]:
    """By dtype, the elements from which on the reference itself fails, of the small points, and why it does."""
    least: dict[str, int] = {}
    reason = ""
    small = [p for p in points if math.prod(p.shape) <= TRIED] if failure is not None else []
    for point in small[:: max(1, len(small) // MOST_TRIED)]:
        count = math.prod(point.shape)
        if count < least.get(point.dtype, TRIED + 1):
            why = _failure(calls, name, point, data, failure)
            if why is not None:
                # Of complex numbers any may be sensitive, whatever their count.
                least[point.dtype] = 0 if DTYPES[point.dtype].kind == "complex" else count
                reason = reason or why
    return least, reason


def _bools(calls: Calls, points: Sequence[Point]) -> Iterator[Commented]:
    if points:
        yield (
            "bool has no such distributions: false and true.",
            case_of(calls, Group("bool", "", tuple(points))),
        )


def _written(calls: Calls, name: str, points: Sequence[Point], data: Any) -> dict[str, Any]:
    # A mask that takes uint8 and bool only follows some of the dtypes: it keeps its own data in all of them.
    names = [n for n in calls.follows(points[0].dtype) if all(n in calls.follows(p.dtype) for p in points)]
    inputs = {n: {"data": data} for n in names}
    if not inputs:  # nothing takes these data: the columns would stand for nothing
        points = [Point(p.dtype, p.shape, p.format, p.attributes) for p in points]
    return case_of(calls, Group(name, "", tuple(points), inputs))


def _special_shapes(calls: Calls) -> Iterator[Commented]:
    for name, shape, comment in (
        ("empty", (0,), "No elements."),
        ("one", (1,), "One element, of shape [1]."),
    ):
        if name == "empty" and calls.base_shape:
            for empty in (shape, (0, *calls.base_shape[1:])):
                points = tuple(Point(d, empty) for d in calls.dtypes if _fits(calls, Point(d, empty), 0))
                if points and _empty_allowed(calls):
                    yield comment, case_of(calls, Group(name, "", points))
                    break
        elif name == "one":
            points = tuple(Point(d, shape) for d in calls.dtypes if _fits(calls, Point(d, shape), 1))
            if points:
                yield comment, case_of(calls, Group(name, "", points))


def _empty_allowed(calls: Calls) -> bool:
    said = [d.empty for p in calls.operator.signature.inputs if (d := calls.documented(p.name)) is not None]
    return False not in said


def _special_values(calls: Calls, failure: Failure | None) -> Iterator[Commented]:
    """Whole tensors of one value: the borders of each dtype, then what only floats have."""
    dtypes = [d for d in calls.dtypes if DTYPES[d].kind not in ("bool", "complex")]
    floats = [d for d in dtypes if DTYPES[d].kind == "float"]
    for name, end in (("lower-border", 0), ("upper-border", 1)):
        points = tuple(
            Point(d, calls.base_shape, columns={"border": _borders(d)[end]})
            for d in dtypes
            if calls.follows(d)
        )
        said = f"Every element is the {name.replace('-', ' ')} of its dtype."
        yield from _tried(calls, name, points, "$border", said, failure)
    values: tuple[tuple[str, Any], ...] = (
        ("nan", math.nan),
        ("inf", math.inf),
        ("minus-inf", -math.inf),
        ("both-inf", {"choice": [-math.inf, math.inf]}),
    )
    for name, data in values:
        points = tuple(Point(d, calls.base_shape) for d in floats if _holds(d) and calls.follows(d))
        said = "-inf and inf, mixed" if name == "both-inf" else name.replace("minus-", "-")
        yield from _tried(calls, name, points, data, f"Every element is {said}.", failure)


def _tried(
    calls: Calls, name: str, points: Sequence[Point], data: Any, said: str, failure: Failure | None
) -> Iterator[Commented]:
    """The points that the reference itself passes, then those that it does not, marked."""
    found = [(p, _failure(calls, name, p, data, failure)) for p in points]
    held = [p for p, why in found if why is None]
    if held:
        yield said, _written(calls, name, held, data)
    failed = [(p, why) for p, why in found if why is not None]
    if failed:
        own = f"{name}-hard" if held else name
        yield _known(said, _written(calls, own, [p for p, _ in failed], data), failed[0][1])


def _failure(calls: Calls, name: str, point: Point, data: Any, failure: Failure | None) -> str | None:
    return failure(_written(calls, name, [point], data)) if failure is not None else None


def _known(said: str, case: dict[str, Any], why: str) -> Commented:
    comment = f"{said} Here the reference itself fails in its compute dtype, by float64: so may a kernel."
    return comment, {**case, "known_issue": f"the reference on the host fails too: {why.split(';')[0]}"}


def _borders(dtype: str) -> tuple[float, float]:
    """The least and the greatest finite value."""
    if DTYPES[dtype].kind == "float":
        return -float_format(dtype).largest, float_format(dtype).largest
    return integer_range(dtype)


def _holds(dtype: str) -> bool:
    return dtype != "float8_e4m3fn"  # it has no infinity
