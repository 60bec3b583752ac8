"""One written case -> its cases: defaults merged, the matrix multiplied out, every ``$name`` replaced."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator
from collections.abc import Sequence as Seq
from dataclasses import dataclass

from ascend_opcli.casefile import keys, read
from ascend_opcli.casefile.tree import Mapping, Node, Scalar, Sequence, clip, mapping, sequence

MAX_CASES = 100_000
MAX_LABEL = 24

_SAFE = re.compile(r"[\w.+-]+", re.ASCII)
_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)


# --- merging ------------------------------------------------------------------------------------------------


def merge(below: Mapping, own: Mapping, generators: Seq[str] = ()) -> Mapping:
    """``own`` over ``below``, key by key at every mapping level.

    Where only one of several keys can stand (the kind of a generator, a rule, a layout or strides), ``own``
    takes the place of what is below instead of standing beside it.
    """
    return _merge(below, own, "", frozenset(generators))


def _merge(below: Mapping, own: Mapping, key: str, kinds: frozenset[str]) -> Mapping:
    lower = dict(below.entries)
    if kinds & own.entries.keys():
        lower = {k: v for k, v in lower.items() if k not in kinds}
    if "layout" in own.entries:
        lower.pop("strides", None)
    if "strides" in own.entries:
        lower.pop("layout", None)
    entries = dict(lower)
    for name, node in own.entries.items():
        under = lower.get(name)
        rules = name == "standard" and key in ("", "expect")
        if (
            isinstance(node, Mapping)
            and isinstance(under, Mapping)
            and not (rules and _displaces(under, node))
        ):
            node = _merge(under, node, name, kinds)
        entries[name] = node
    return mapping(own, entries, {**below.places, **own.places})


def _displaces(under: Mapping, own: Mapping) -> bool:
    """Whether two rules, or a rule and a table of rules, meet: they exclude each other."""
    return (_is_rule(under) or _is_rule(own)) and under.entries.keys() != own.entries.keys()


def _is_rule(node: Mapping) -> bool:
    values = list(node.entries.values())
    return (
        len(values) == 1
        and isinstance(values[0], Mapping)
        and all(isinstance(number, Scalar) for number in values[0].entries.values())
    )


def inherit(file: Mapping, case: Mapping) -> Mapping:
    """The case with those keys of the file that it does not have itself."""
    entries = {k: file.entries[k] for k in keys.INHERITED if k in file.entries and k not in case.entries}
    if not entries:
        return case
    return mapping(case, {**entries, **case.entries}, {**file.places, **case.places})


# --- the matrix ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Value:
    """One value of a matrix name; ``index`` counts from 1."""

    node: Node
    index: int


Point = dict[str, Value]


def expand(case: Mapping, name: str, budget: int) -> Iterator[tuple[str, Mapping]]:
    """The name and the mapping of every case that one written case stands for, in matrix order.

    ``budget`` is how many cases the file may still have.
    """
    body = {k: v for k, v in case.entries.items() if k not in keys.EXPANSION}
    points = _points(case, budget)
    if points is None:
        if case.get("exclude") is not None:
            raise case.key_error(
                "exclude", "exclude leaves out points of a matrix or zip, and there is none here"
            )
        bare = mapping(case, body, case.places)
        yield name, _substitute_case(bare, {}, set())
        return
    bare = mapping(case, body, case.places)
    used: set[str] = set()
    first = True
    for point in points:
        made = _substitute_case(bare, point, used)
        if first:
            _check_used(case, used)
            first = False
        yield f"{name}[{label(point)}]", made


def _substitute_case(case: Mapping, point: Point, used: set[str]) -> Mapping:
    if not case.dollar:
        return case
    entries = {
        key: node if key in keys.LABELS or not node.dollar else substitute(node, point, used)
        for key, node in case.entries.items()
    }
    return mapping(case, entries, case.places)


def substitute(node: Node, point: Point, used: set[str]) -> Node:
    """The node with every ``$name`` replaced by the point's value; the names met go into ``used``."""
    if not node.dollar:
        return node
    if isinstance(node, Scalar):
        name = node.text[1:]
        if name not in point:
            there = f"there are {', '.join('$' + n for n in point)}" if point else "there is neither"
            near = read.hint(name, point, otherwise=f"; {there}")
            raise node.error(f"{clip(node.text)} has no entry in matrix or zip{near}")
        used.add(name)
        return point[name].node
    if isinstance(node, Sequence):
        return sequence(node, [substitute(item, point, used) for item in node.items])
    assert isinstance(node, Mapping)
    return mapping(node, {k: substitute(v, point, used) for k, v in node.entries.items()}, node.places)


def _check_used(case: Mapping, used: set[str]) -> None:
    for section in ("matrix", "zip"):
        table = case.get(section)
        for name in table.entries if isinstance(table, Mapping) else ():
            if name not in used:
                assert isinstance(table, Mapping)
                where = (
                    f"write {name}: ${name}"
                    if name in keys.BODY
                    else f"write ${name} where its value belongs"
                )
                raise table.key_error(name, f"{section}.{clip(name)} is never used; {where}")


def _points(case: Mapping, budget: int) -> Iterator[Point] | None:
    """Every point of the product, or None where there is neither matrix nor zip."""
    product = _table(case, "matrix")
    together = _table(case, "zip")
    if product is None and together is None:
        return None
    product, together = product or {}, together or {}
    for name in together:
        if name in product:
            zipped = case.entries["zip"]
            assert isinstance(zipped, Mapping)
            raise zipped.key_error(name, f"'{clip(name)}' stands in matrix already")
    lengths = {name: len(values) for name, values in together.items()}
    if len(set(lengths.values())) > 1:
        said = ", ".join(f"{clip(name)} has {n}" for name, n in lengths.items())
        raise case.entries["zip"].error(
            f"the lists of zip travel together and must be of equal length: {said}"
        )
    rows = next(iter(lengths.values()), 1)
    total = rows
    for values in product.values():
        total *= len(values)
        if total > budget:
            at = case.entries["matrix"]
            raise at.error(f"this matrix takes the file over the limit of {MAX_CASES:,} cases")
    # The written order of the two sections is the order of the label.
    order = [k for k in case.entries if k in ("matrix", "zip")]
    axes: list[list[Point]] = []
    for section in order:
        if section == "matrix":
            axes += [[{name: value} for value in values] for name, values in product.items()]
        elif together:
            axes.append([{name: values[row] for name, values in together.items()} for row in range(rows)])
    made = (
        {name: value for part in parts for name, value in part.items()} for parts in itertools.product(*axes)
    )
    return _without(case, made, {**product, **together})


def _table(case: Mapping, section: str) -> dict[str, list[Value]] | None:
    node = read.section(case, section)
    if node is None:
        return None
    if not node.entries:
        raise node.error(f"{section} names nothing")
    table: dict[str, list[Value]] = {}
    for name, values in node.entries.items():
        if not _NAME.fullmatch(name):
            raise node.key_error(name, f"'{clip(name)}' is not a name for {section}: letters, digits and _")
        listed = read.items(values, f"{section}.{clip(name)}")
        if not listed:
            raise values.error(f"{section}.{clip(name)} has no values")
        for value in listed:
            if value.dollar:
                raise value.error(f"a value of {section} cannot refer to a $name itself")
        table[name] = [Value(value, index) for index, value in enumerate(listed, 1)]
    return table


def _without(case: Mapping, points: Iterator[Point], table: dict[str, list[Value]]) -> Iterator[Point]:
    node = case.get("exclude")
    if node is None or (isinstance(node, Scalar) and node.value is None):
        yield from points
        return
    rows = [node] if isinstance(node, Mapping) else read.items(node, "exclude")
    known_marks = {name: {fingerprint(v.node) for v in values} for name, values in table.items()}
    partial: list[dict[str, object]] = []
    for row in rows:
        point = read.mapping(row, "a point of exclude")
        if not point.entries:
            raise point.error("a point of exclude names nothing")
        for name, value in point.entries.items():
            if name not in table:
                raise keys.unknown(point, name, table, "name in exclude, which is not in matrix or zip")
            if fingerprint(value) not in known_marks[name]:
                known = [v.node.text for v in table[name] if isinstance(v.node, Scalar)]
                near = read.hint(value.text, known) if isinstance(value, Scalar) else ""
                raise value.error(f"{value.kind} is not among the values of '{name}'{near}")
        partial.append({name: fingerprint(value) for name, value in point.entries.items()})
    prints = {(name, v.index): fingerprint(v.node) for name, values in table.items() for v in values}
    # Rows by the names they speak of: a point is looked up once a group, however many rows there are.
    groups: dict[tuple[str, ...], dict[tuple[object, ...], list[int]]] = {}
    for i, want in enumerate(partial):
        groups.setdefault(tuple(want), {}).setdefault(tuple(want.values()), []).append(i)
    matched: set[int] = set()
    left = False
    for point_ in points:
        hits = [
            i
            for names, marks in groups.items()
            for i in marks.get(tuple(prints[name, point_[name].index] for name in names), ())
        ]
        matched.update(hits)
        if not hits:
            left = True
            yield point_
    if not left:
        raise node.error("exclude leaves no case")
    for i, row in enumerate(rows):
        if i not in matched:
            raise row.error("this point of exclude leaves out nothing")


def fingerprint(node: Node) -> object:
    """Something that compares equal for equal plain data: 1 and 1.0 are equal, 1 and true are not."""
    if isinstance(node, Scalar):
        value = node.value
        if isinstance(value, float) and math.isnan(value):
            return "nan", None
        return "bool" if isinstance(value, bool) else "text" if isinstance(value, str) else "number", value
    if isinstance(node, Sequence):
        return tuple(fingerprint(item) for item in node.items)
    assert isinstance(node, Mapping)
    return frozenset((key, fingerprint(value)) for key, value in node.entries.items())


# --- labels -------------------------------------------------------------------------------------------------


def label(point: Point) -> str:
    """``float16-16x3x171-eps=0.01``: dtype and shape bare, others with their name, values as written."""
    parts = []
    for name, value in point.items():
        words = _words(value)
        parts.append(words if name in ("dtype", "shape") else f"{name}={words}")
    return "-".join(parts)


def _words(value: Value) -> str:
    node = value.node
    made = ""
    if isinstance(node, Scalar):
        made = node.text if node.value is not None else "null"
    elif isinstance(node, Sequence):
        if not node.items:
            return "scalar"
        if all(isinstance(item, Scalar) and item.value is not None for item in node.items):
            made = "x".join(item.text for item in node.items if isinstance(item, Scalar))
    return made if len(made) <= MAX_LABEL and _SAFE.fullmatch(made) else f"#{value.index}"
