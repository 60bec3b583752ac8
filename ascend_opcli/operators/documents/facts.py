"""What phase 1 checks, as read out of the operators' own sources and documents: rules with their places.

``facts.jsonl``: the first line has the dtype lists and, by operator, the parameters that may be null; every other one
an operator: [aclnn name, source files, null rules, dtype lists, rules, conditions, how many failing returns nobody has
read, whether a source was read]. A rule is [condition, line, conditions under which it counts, products, status] with
trailing defaults left out; a null rule may be [parameter, line]. Only the line of one operator is ever decoded.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import Any

from ascend_opcli.model import Attribute
from ascend_opcli.operators.arguments import Arguments
from ascend_opcli.operators.contract import breaking, wording
from ascend_opcli.operators.contract.changes import Variation
from ascend_opcli.operators.contract.rules import DOCUMENT, INVALID, NULLPTR, DtypeIn, Rule
from ascend_opcli.operators.contract.terms import Condition, Unknown, holds, indexed, names
from ascend_opcli.operators.products import PRODUCTS

SOURCE, ALONE, RELATED, UNSEEN = "s", "d", "r", "n"
"""Where a dtype list comes from: the source; a document, of an operator without one; a document, where the source only
relates the dtype to another; a document, where the source was read and does not show it."""


@dataclass(frozen=True, slots=True)
class Fact:
    """One check: ``condition`` must hold wherever all of ``when`` do, on ``products`` (empty: on all of them).

    It says nothing of a call of which a part is unknown. ``origin`` is the place in the public source, or the
    document. ``x[]`` in a condition means every member of ``x``.
    """

    condition: Condition
    when: tuple[Condition, ...] = ()
    products: tuple[str, ...] = ()
    origin: str = DOCUMENT
    status: int = INVALID

    @property
    def names(self) -> tuple[str, ...]:
        """The parameters that it reads."""
        found = [n for c in (self.condition, *self.when) for n in names(c)]
        return tuple(dict.fromkeys(n.partition("[")[0] for n in found))

    def broken(self, arguments: Arguments, product: str) -> str | None:
        if self.products and product not in self.products:
            return None
        for condition, when in self._each(arguments):
            try:
                if all(holds(c, arguments) for c in when) and not holds(condition, arguments):
                    return wording.broken(condition, when, arguments)
            except Unknown:
                continue
        return None

    def breaks(self, arguments: Arguments, product: str) -> Iterator[Variation]:
        if not self.products or product in self.products:
            yield from breaking.variations(
                self.condition,
                self.names,
                arguments,
                lambda changed: self.broken(changed, product) is not None,
            )

    def text(self) -> str:
        on = f", on {', '.join(self.products)}" if self.products else ""
        return wording.rule(self.condition, self.when) + on

    def _each(self, arguments: Arguments) -> Iterator[tuple[Condition, tuple[Condition, ...]]]:
        lists = {n.partition("[")[0] for c in (self.condition, *self.when) for n in names(c) if "[]" in n}
        if not lists:
            yield self.condition, self.when
            return
        for index in range(max(_length(arguments.get(n)) for n in lists)):
            yield indexed(self.condition, index), tuple(indexed(c, index) for c in self.when)


def _length(argument: Any) -> int:
    members = argument.value if isinstance(argument, Attribute) else argument
    return len(members) if isinstance(members, tuple) else 0


@dataclass(frozen=True, slots=True)
class Dtypes:
    """Dtypes of one parameter by product, and where the lists come from (see :data:`SOURCE`)."""

    name: str
    label: str
    lists: Mapping[str, tuple[str, ...]]
    origin: str


@dataclass(frozen=True, slots=True)
class Facts:
    """All that is known of one operator. ``unread`` counts failing returns of phase 1 that nobody understood."""

    nulls: tuple[Fact, ...]
    dtypes: tuple[Dtypes, ...]
    rules: tuple[Fact, ...]
    unread: int
    sourced: bool

    @property
    def lists_dtypes(self) -> bool:
        """Whether the source itself lists the dtypes of some tensor; else it leaves that to the kernel's entry."""
        return any(d.label == SOURCE for d in self.dtypes)


def rules(known: Facts) -> tuple[Rule, ...]:
    """The contract: null pointers, dtype lists, then the rest, each in the order of the source.

    A document's dtype list counts where some check of the source is unread, which may be that one; where all are read
    and none is of this dtype, the operator takes any.
    """
    lists = [
        DtypeIn((d.name,), d.lists, origin=d.origin)
        for d in known.dtypes
        if d.label == SOURCE or (d.label == UNSEEN and known.unread)
    ]
    return (*known.nulls, *lists, *known.rules)


@lru_cache(maxsize=1)
def _text() -> str:
    return files("ascend_opcli.operators.documents").joinpath("facts.jsonl").read_text("utf-8")


@lru_cache(maxsize=1)
def _head() -> tuple[list[tuple[str, ...]], dict[str, list[str]]]:
    text = _text()
    lists, null = json.loads(text[: text.index("\n")])
    return [tuple(words) for words in lists], null


def _lists() -> list[tuple[str, ...]]:
    return _head()[0]


def may_be_null(name: str) -> frozenset[str]:
    """The parameters of an operator that its source, or the prose of its document, takes as null pointers."""
    return frozenset(_head()[1].get(name, ()))


@lru_cache(maxsize=2048)
def facts_of(name: str) -> Facts | None:
    """The facts of an operator by its aclnn name, None where there are none."""
    text = _text()
    start = text.find(f'\n["{name}",')
    if start < 0:
        return None
    row = json.loads(text[start + 1 : text.index("\n", start + 1)])
    _, places, nulls, dtypes, rules, conditions, unread, sourced = row
    whens = [_with_lists(c) for c in conditions]
    return Facts(
        tuple(_null(r, places, whens) for r in nulls),
        tuple(
            Dtypes(
                param,
                label,
                {p: _lists()[i] for i, m in parts for p in _products(m)},
                places[0] if label == SOURCE and places else DOCUMENT,
            )
            for param, label, parts in dtypes
        ),
        tuple(_fact(r, places, whens) for r in rules),
        unread,
        bool(sourced),
    )


def _null(row: Sequence[Any], places: Sequence[str], whens: Sequence[Condition]) -> Fact:
    if isinstance(row[0], str):
        row = [["notnull", row[0]], *row[1:]]
    return _fact(row, places, whens, NULLPTR)


def _fact(
    row: Sequence[Any], places: Sequence[str], whens: Sequence[Condition], otherwise: int = INVALID
) -> Fact:
    defaults: list[Any] = [None, [], 0, otherwise]
    condition, line, when, mask, status = [*row, *defaults[len(row) - 1 :]]
    return Fact(
        _with_lists(condition),
        tuple(whens[i] for i in when),
        _products(mask),
        _place(line, places),
        status,
    )


def _place(line: int | str | None, places: Sequence[str]) -> str:
    if line is None:
        return DOCUMENT
    at, _, number = str(line).rpartition(":")
    return f"{places[int(at or 0)]}:{number}"


def _products(mask: int) -> tuple[str, ...]:
    return tuple(p for at, p in enumerate(PRODUCTS) if mask >> at & 1)


def _with_lists(found: Any) -> Any:
    """A condition with the dtype lists in place of their numbers."""
    if not isinstance(found, list):
        return found
    if found and found[0] in ("in", "notin") and isinstance(found[2], int):
        return [found[0], found[1], list(_lists()[found[2]])]
    return [_with_lists(part) for part in found]
