"""Operators as the documents describe them: signature, products and a generic contract, no reference yet.

The contract is what every entry has in common: required pointers, dtype lists, ranks, and the kernel table of a
generated entry. It is labelled generic, since no document gives rules of an operator's own.
"""

from __future__ import annotations

import dataclasses
import inspect
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import Any

from ascend_opcli.operators.contract.rules import Contract, Rule
from ascend_opcli.operators.documents import facts, generic, registrations
from ascend_opcli.operators.documents.demanded import Demanded
from ascend_opcli.operators.documents.registrations import Registration
from ascend_opcli.operators.operator import (
    TOLD,
    Operator,
    OutputRule,
    Reference,
    snake,
)
from ascend_opcli.operators.products import PRODUCTS
from ascend_opcli.operators.signature import Param, Signature


@dataclass(frozen=True, slots=True)
class Documented:
    """What the documents say of one parameter; None and empty where they are silent."""

    param: Param
    dtypes: tuple[str, ...] = ()
    formats: tuple[str, ...] = ()
    ranks: tuple[int, int] | None = None
    strided: bool | None = None
    empty: bool | None = None


@dataclass(frozen=True, slots=True)
class Correction:
    """One place where a document is known to be wrong: what counts instead, and the public source of that.

    ``field`` is dtypes, formats, ranks, optional (of a parameter) or entry (of the operator: hand-written, though its
    parameters read like a generated one's).
    """

    parameter: str
    field: str
    value: tuple[str | int | bool, ...]
    source: str


@dataclass(frozen=True, slots=True)
class Entry:
    """One documented operator.

    ``products`` are those of which the documents say yes or no, None where they name none. ``generated_by`` are the
    kernel registrations from which the entry follows, where it is a generated one. ``corrections`` are already
    applied.
    """

    name: str
    repository: str
    category: str
    experimental: bool
    products: Mapping[str, bool] | None
    status_codes: tuple[int, ...]
    params: tuple[Documented, ...]
    generated_by: tuple[Registration, ...] = ()
    corrections: tuple[Correction, ...] = ()

    @property
    def signature(self) -> Signature:
        """The ordered C parameters."""
        return Signature(self.name, tuple(d.param for d in self.params))

    def __getitem__(self, name: str) -> Documented:
        for documented in self.params:
            if documented.param.name == name:
                return documented
        raise KeyError(name)


@lru_cache(maxsize=1)
def _table() -> Any:
    return json.loads(files("ascend_opcli.operators.documents").joinpath("catalog.json").read_text("utf-8"))


@lru_cache(maxsize=1)
def _corrections() -> Mapping[str, tuple[Correction, ...]]:
    text = files("ascend_opcli.operators.documents").joinpath("corrections.json").read_text("utf-8")
    return {
        name: tuple(Correction(r["parameter"], r["field"], tuple(r["value"]), r["source"]) for r in rows)
        for name, rows in json.loads(text).items()
    }


def corrections_of(name: str) -> tuple[Correction, ...]:
    """The corrections of one operator's document."""
    return _corrections().get(name, ())


@lru_cache(maxsize=1)
def names() -> Mapping[str, str]:
    """Short name -> aclnn name of every documented operator."""
    return {snake(name): name for name in sorted(_table()["operators"])}


@lru_cache(maxsize=4096)
def entry(name: str, *, corrected: bool = True) -> Entry:
    """The documented operator of an aclnn name; KeyError where there is none.

    A row is [repository, category, experimental, products that have it, products that do not, status codes,
    parameters], a parameter [name, C type, in/out/inout, dtypes, formats, ranks, strided, empty, optional] with
    trailing unknowns left out; dtypes and formats are places in the table's lists. ``corrected`` applies what is
    known to be wrong in the documents, each with its source.
    """
    row = _table()["operators"][name]
    repository, category, experimental, on, off, codes, params = row
    lists = _table()["lists"]
    said = {**dict.fromkeys(on or (), True), **dict.fromkeys(off or (), False)}
    products = {p: said[p] for p in PRODUCTS if p in said} if on is not None else None
    null = facts.may_be_null(name)
    made = tuple(_documented(p, lists, null) for p in params)
    found = corrections_of(name) if corrected else ()
    made = tuple(_corrected(d, found) for d in made)
    dtypes = {d.param.name: d.dtypes for d in made}
    generated = registrations.generating(name, [d.param for d in made], dtypes, products)
    if any(c.field == "entry" for c in found):
        generated = ()
    return Entry(
        name, repository, category, bool(experimental), products, tuple(codes or ()), made, generated, found
    )


def documented(name: str) -> Entry | None:
    """The documented operator of an aclnn name, None where there is none."""
    return entry(name) if name in _table()["operators"] else None


def _corrected(documented: Documented, found: Sequence[Correction]) -> Documented:
    for correction in found:
        if correction.parameter != documented.param.name:
            continue
        if correction.field == "dtypes":
            documented = dataclasses.replace(documented, dtypes=tuple(map(str, correction.value)))
        elif correction.field == "formats":
            documented = dataclasses.replace(documented, formats=tuple(map(str, correction.value)))
        elif correction.field == "ranks":
            low, high = map(int, correction.value)
            documented = dataclasses.replace(documented, ranks=(low, high))
        elif correction.field == "optional":
            param = dataclasses.replace(documented.param, optional=bool(correction.value[0]))
            documented = dataclasses.replace(documented, param=param)
    return documented


def _documented(row: Sequence[Any], lists: Sequence[Sequence[str]], null: frozenset[str]) -> Documented:
    filled: list[Any] = [*row, *[None] * (9 - len(row))]
    name, kind, way, dtypes, formats, ranks, strided, empty, optional = filled
    may_be_null = (bool(optional) if optional is not None else name.endswith("Optional")) or name in null
    return Documented(
        Param(name, kind, way, may_be_null, const=way == "in" and kind != "char"),
        tuple(lists[dtypes]) if dtypes is not None else (),
        tuple(lists[formats]) if formats is not None else (),
        tuple(ranks) if ranks is not None else None,
        strided,
        empty,
    )


def contract_of(found: Entry) -> Sequence[Rule]:
    """What is known of phase 1, decoded when first asked for.

    A generated entry: what its registrations give. A hand-written one: what its source checks; without a source what
    its document lists.
    """
    return Contract(lambda: _rules(found))


def _rules(found: Entry) -> tuple[Rule, ...]:
    params = [generic.Lists(d.param, d.dtypes, d.ranks) for d in found.params]
    known = _checked(found)
    if known is not None:
        table = generic.columns(params, found.generated_by) if not known.lists_dtypes else ()
        # Where no document lists products, the kernels say where the operator is.
        kernels = {p for r in found.generated_by for p in r.products} if found.products is None else ()
        return (*facts.rules(known), *generic.on_products(kernels), *table)
    if found.generated_by:
        return generic.generated(params, found.products, found.generated_by)
    return generic.listed(params)


def _checked(found: Entry) -> facts.Facts | None:
    """What the entry's own source was read to check; None where it has none, or leaves all to a generated entry."""
    known = facts.facts_of(found.name)
    return known if known is not None and known.sourced and (known.nulls or known.rules) else None


def output_rules(found: Entry, contract: Sequence[Rule]) -> dict[str, OutputRule]:
    """A guess: what the contract demands, else the first input's dtype and the shape to which all broadcast."""
    lists = {d.param.name: d.dtypes for d in found.params}
    there = tuple(p for p, yes in (found.products or {}).items() if yes)
    return {
        p.name: Demanded(found.signature, contract, there, lists, p.name)
        for p in found.signature.outputs
        if p.is_tensor and not p.is_input
    }


@lru_cache(maxsize=2048)
def operator(name: str) -> Operator:
    """A documented operator that opcli can call and, by itself, not judge. KeyError where there is none."""
    found = entry(name)
    contract = contract_of(found)
    return Operator(
        name=name,
        signature=found.signature,
        reference=None,
        products=found.products or {},
        contract=contract,
        generic=True,
        generated=bool(found.generated_by) and _checked(found) is None,
        defaults=registrations.defaults(found.signature.params, found.generated_by),
        outputs=output_rules(found, contract),
        formats={d.param.name: d.formats for d in found.params if d.formats},
        custom=found.products is None,
    )


def with_reference(name: str, reference: Reference, **changes: Any) -> Operator:
    """A documented operator with a reference: the one way in which a family module declares one.

    The reference's parameters are the operator's by aclnn name; its keyword defaults are the attributes'. Its
    docstring's first line is the summary, the rest the formula. ``changes`` set any field of the operator.
    """
    base = operator(name)
    parameters = inspect.signature(reference).parameters
    known = {p.name for p in base.signature.params} | TOLD
    stray = [n for n, p in parameters.items() if n not in known and p.kind is not p.VAR_KEYWORD]
    if stray:
        raise TypeError(f"{name} has no parameter {', '.join(stray)}")
    summary, _, formula = (inspect.getdoc(reference) or "").partition("\n\n")
    made = {
        "reference": reference,
        "summary": " ".join(summary.split()),
        "formula": formula,
        "defaults": {**base.defaults}
        | {n: p.default for n, p in parameters.items() if p.default is not p.empty},
        **changes,
    }
    if made.get("elementwise") and "contract" not in made:
        extra = generic.of_elementwise(made.get("signature", base.signature))
        made["contract"] = Contract(lambda: (*base.contract, *extra))
    return dataclasses.replace(base, **made)
