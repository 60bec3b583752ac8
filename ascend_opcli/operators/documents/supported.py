"""What an operator supports on a product, read off its contract and the catalog: dtypes, formats and ranks."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ascend_opcli.model import Argument, TensorSpec
from ascend_opcli.operators.arguments import Arguments, first_spec
from ascend_opcli.operators.contract.changes import reshaped, retyped
from ascend_opcli.operators.contract.formats import RANK_OF_FORMAT
from ascend_opcli.operators.contract.phase_one import predict
from ascend_opcli.operators.contract.rules import PRIVATE_FORMATS, Columns, DtypeIn, Rank, SameShape
from ascend_opcli.operators.documents import catalogued
from ascend_opcli.operators.documents.generic import KernelColumns
from ascend_opcli.operators.operator import Operator
from ascend_opcli.tensors.dtypes import DTYPES

MOST_MIXED = 256
"""Mixtures of dtypes that are tried against the contract; of more only those with like dtypes are."""

MOST_RANK = 8
"""The rank that an aclTensor can have at most."""


@dataclass(frozen=True, slots=True)
class Support:
    """``dtypes`` are the accepted ones of the inputs ``names``, each tuple in their order; ``places`` the formats
    and ranks of the first input that go together. None where neither contract nor documents say."""

    names: tuple[str, ...]
    dtypes: tuple[tuple[str, ...], ...] | None
    places: tuple[tuple[str, int], ...] | None


def supported(operator: Operator, arguments: Arguments, products: Sequence[str]) -> Support:
    """What holds on any of ``products`` for the inputs that ``arguments``, an accepted call, gives.

    A contract of our own is asked about every candidate, with the other arguments as they are; of documented
    lists alone the inputs' dtypes change together.
    """
    names = tuple(
        p.name
        for p in operator.signature.inputs
        if (spec := first_spec(arguments.get(p.name))) is not None and spec.data is not None
    )
    if not names:
        return Support(names, None, None)
    dtypes: dict[tuple[str, ...], None] = {}
    places: dict[tuple[str, int], None] = {}
    for product in products:
        asked = not operator.generic and predict(operator, arguments, product) is None
        dtypes.update(dict.fromkeys(_dtypes(operator, arguments, names, product, asked)))
        places.update(dict.fromkeys(_places(operator, arguments, names, product, asked)))
    return Support(names, tuple(dtypes) or None, tuple(places) or None)


def companion(operator: Operator, name: str, dtype: str, word: str) -> str:
    """The dtype of an input that a case of ``dtype`` does not describe: ``word``, or one of the kernel's columns.

    The first input takes the case's dtype; where no column has ``word`` beside that, another that has one is taken.
    """
    table = next((r for r in operator.contract if isinstance(r, KernelColumns)), None)
    first = operator.signature.inputs[0].name
    if table is None or name == first or not {first, name} <= set(table.names):
        return word
    lead, own = table.names.index(first), table.names.index(name)
    fitting = [c[own] for columns in table.columns.values() for c in columns if c[lead] == dtype]
    return word if word in fitting else next((f for f in fitting if f in DTYPES), word)


# --- dtypes -------------------------------------------------------------------------------------------------------


def _lists(operator: Operator, names: Sequence[str], product: str) -> dict[str, tuple[str, ...]]:
    """Per input the dtypes that every list naming it has."""
    lists: dict[str, tuple[str, ...]] = {}
    for rule in operator.contract:
        if isinstance(rule, DtypeIn):
            there = rule.dtypes.get(product, ())
            for name in set(rule.names) & set(names):
                lists[name] = tuple(d for d in lists.get(name, there) if d in there)
    return lists


def _dtypes(
    operator: Operator, arguments: Arguments, names: Sequence[str], product: str, asked: bool
) -> Iterator[tuple[str, ...]]:
    now = tuple(_dtype(arguments[name]) for name in names)
    columns = next((r for r in operator.contract if isinstance(r, Columns)), None)
    tried: dict[tuple[str, ...], None] = {}
    if columns is not None and set(names) <= set(columns.names):
        there = [columns.names.index(name) for name in names]
        tried = {tuple(column[place] for place in there): None for column in columns.columns}
    else:
        lists = _lists(operator, names, product)
        own = [lists.get(name) for name in names]
        for dtype in dict.fromkeys(itertools.chain(*lists.values())):
            together = (_follows(dtype, old, now[0], some) for old, some in zip(now, own, strict=True))
            tried[tuple(together)] = None
        # The documents' lists alone do not say which mixtures go together.
        mixed = [some or (old,) for old, some in zip(now, own, strict=True)]
        if asked and lists and math.prod(map(len, mixed)) <= MOST_MIXED:
            tried.update(dict.fromkeys(itertools.product(*mixed)))
    for dtypes in tried:
        changes = {n: _with_dtype(arguments[n], d) for n, d in zip(names, dtypes, strict=True)}
        if not asked or _accepted(operator, {**arguments, **changes}, product):
            yield dtypes


def _follows(dtype: str, old: str, first: str, accepted: Sequence[str] | None) -> str:
    """The dtype of an input where the others take ``dtype``: one like the first follows, another stays."""
    if accepted is None:
        return dtype if old == first else old
    if old != first and old in accepted:
        return old
    return dtype if dtype in accepted else old if old in accepted or not accepted else accepted[0]


def _dtype(argument: Argument) -> str:
    spec = first_spec(argument)
    return spec.dtype if spec is not None else ""


def _with_dtype(argument: Argument, dtype: str) -> Argument:
    if isinstance(argument, tuple):
        return tuple(retyped(spec, dtype) for spec in argument)
    return retyped(argument, dtype) if isinstance(argument, TensorSpec) else argument


# --- formats and ranks ----------------------------------------------------------------------------------------------


def _places(
    operator: Operator, arguments: Arguments, names: Sequence[str], product: str, asked: bool
) -> Iterator[tuple[str, int]]:
    low, high = _ranks(operator, names[0])
    formats = _formats(operator, names[0])
    for rank in range(low, high + 1):
        if asked and not _accepted(operator, _of_rank(arguments, names, rank), product):
            continue
        yield from ((form, rank) for form in formats if form == "ND" or RANK_OF_FORMAT.get(form) == rank)


def _ranks(operator: Operator, name: str) -> tuple[int, int]:
    """By the contract's rules for the input and those tied to it by shape; else what every aclTensor can have."""
    tied = {name}
    for rule in operator.contract:
        if isinstance(rule, SameShape) and name in (rule.first, rule.second):
            tied |= {rule.first, rule.second}
    rules = [r for r in operator.contract if isinstance(r, Rank) and tied & set(r.names)]
    return max((r.low for r in rules), default=0), min((r.high for r in rules), default=MOST_RANK)


def _formats(operator: Operator, name: str) -> list[str]:
    try:
        documented = catalogued.entry(operator.name)[name].formats
    except KeyError:
        documented = ()
    return [f for f in documented if f not in PRIVATE_FORMATS] or ["ND"]


def _of_rank(arguments: Arguments, names: Sequence[str], rank: int) -> dict[str, Argument]:
    """The call with another rank of the first input and of those of its shape; the leading axes stay."""
    first = first_spec(arguments[names[0]])
    assert first is not None
    shape = (first.shape + (1,) * rank)[:rank]
    changed = dict(arguments)
    for name in names:
        argument = arguments[name]
        if isinstance(argument, tuple):
            changed[name] = tuple(reshaped(s, shape) if s.shape == first.shape else s for s in argument)
        elif isinstance(argument, TensorSpec) and argument.shape == first.shape:
            changed[name] = reshaped(argument, shape)
    return changed


def _accepted(operator: Operator, arguments: Mapping[str, Argument], product: str) -> bool:
    """Whether the contract accepts a call, with outputs that follow from its inputs."""
    changed = dict(arguments)
    for param in operator.signature.outputs:
        output = changed.get(param.name)
        if isinstance(output, TensorSpec) and output.data is None:
            dtype, shape = operator.infer_output(param.name, changed)
            changed[param.name] = dataclasses.replace(reshaped(output, shape), dtype=dtype)
    return predict(operator, changed, product) is None
