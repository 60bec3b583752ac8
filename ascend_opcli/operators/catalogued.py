"""Operators as the documents describe them: signature, products and a generic contract, no reference yet.

The contract is what every entry has in common: required pointers, dtype lists, ranks. It is labelled generic,
since the documents do not give the order of an operator's checks nor rules of its own.
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

from ascend_opcli.operators.contract import DtypeIn, NotNull, Rank, Rule
from ascend_opcli.operators.operator import TOLD, Operator, OutputRule, Reference, broadcast, like, snake
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
class Entry:
    """One documented operator. ``products`` is None where the documents name none."""

    name: str
    library: str
    category: str
    experimental: bool
    products: Mapping[str, bool] | None
    status_codes: tuple[int, ...]
    params: tuple[Documented, ...]

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
    return json.loads(files("ascend_opcli.operators").joinpath("catalog.json").read_text("utf-8"))


@lru_cache(maxsize=1)
def names() -> Mapping[str, str]:
    """Short name -> aclnn name of every documented operator."""
    return {snake(name): name for name in sorted(_table()["operators"])}


@lru_cache(maxsize=2048)
def entry(name: str) -> Entry:
    """The documented operator of an aclnn name; KeyError where there is none.

    A row is [library, category, experimental, products that have it, products that do not, status codes,
    parameters], a parameter [name, C type, in/out/inout, dtypes, formats, ranks, strided, empty, optional] with
    trailing unknowns left out; dtypes and formats are places in the table's lists.
    """
    row = _table()["operators"][name]
    library, category, experimental, on, _off, codes, params = row
    lists = _table()["lists"]
    products = {p: p in on for p in PRODUCTS} if on is not None else None
    made = tuple(_documented(p, lists) for p in params)
    return Entry(name, library, category, bool(experimental), products, tuple(codes or ()), made)


def _documented(row: Sequence[Any], lists: Sequence[Sequence[str]]) -> Documented:
    filled: list[Any] = [*row, *[None] * (9 - len(row))]
    name, kind, way, dtypes, formats, ranks, strided, empty, optional = filled
    may_be_null = bool(optional) if optional is not None else name.endswith("Optional")
    return Documented(
        Param(name, kind, way, may_be_null, const=way == "in"),
        tuple(lists[dtypes]) if dtypes is not None else (),
        tuple(lists[formats]) if formats is not None else (),
        tuple(ranks) if ranks is not None else None,
        strided,
        empty,
    )


def generic_contract(found: Entry) -> tuple[Rule, ...]:
    """Required pointers first, then the documented dtype lists and ranks, parameter by parameter."""
    pointers = [d.param.name for d in found.params if d.param.is_pointer and not d.param.optional]
    rules: list[Rule] = [NotNull(tuple(pointers))] if pointers else []
    tensors = [d for d in found.params if d.param.is_tensor]
    rules += [DtypeIn((d.param.name,), dict.fromkeys(PRODUCTS, d.dtypes)) for d in tensors if d.dtypes]
    rules += [Rank((d.param.name,), *d.ranks) for d in tensors if d.ranks is not None]
    return tuple(rules)


def output_rules(found: Entry) -> dict[str, OutputRule]:
    """Outputs follow the broadcast of the tensor inputs where there are several, else the first."""
    inputs = [d.param.name for d in found.params if d.param.type == "aclTensor" and d.param.io == "in"]
    rules: dict[str, OutputRule] = {}
    for documented in found.params:
        if documented.param.io == "out" and inputs:
            many = len(inputs) > 1
            rules[documented.param.name] = broadcast(*inputs, dtype=inputs[0]) if many else like(inputs[0])
    return rules


@lru_cache(maxsize=2048)
def operator(name: str) -> Operator:
    """A documented operator that opcli can call and, by itself, not judge. KeyError where there is none."""
    found = entry(name)
    return Operator(
        name=name,
        signature=found.signature,
        reference=None,
        products=found.products or {},
        contract=generic_contract(found),
        generic=True,
        outputs=output_rules(found),
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
        "defaults": {n: p.default for n, p in parameters.items() if p.default is not p.empty},
        **changes,
    }
    return dataclasses.replace(base, **made)
