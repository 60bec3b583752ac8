"""Which operators there are: every documented one, picked by category, product, dtype and reference."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from ascend_opcli.errors import UsageError, did_you_mean
from ascend_opcli.operators.catalog import of_packages, operators
from ascend_opcli.operators.documents import catalogued
from ascend_opcli.operators.operator import Operator
from ascend_opcli.operators.products import product as product_named
from ascend_opcli.tensors.dtypes import canonical


@dataclass(frozen=True, slots=True)
class Listed:
    """One documented operator, and the one with a reference where there is one."""

    entry: catalogued.Entry
    judged: Operator | None


@dataclass(frozen=True, slots=True)
class Listing:
    """What was picked; ``silent`` counts those left out because their documents do not say, by filter."""

    rows: tuple[Listed, ...]
    silent: Mapping[str, int] = field(default_factory=dict)

    def counts(self) -> dict[str, tuple[int, int]]:
        """By category: how many operators, and how many of them with a reference."""
        all_, judged = Counter[str](), Counter[str]()
        for row in self.rows:
            all_[row.entry.category] += 1
            judged[row.entry.category] += row.judged is not None
        return {name: (all_[name], judged[name]) for name in sorted(all_, key=lambda n: (-all_[n], n))}


def select(
    *,
    category: str | None = None,
    product: str | None = None,
    dtype: str | None = None,
    reference: bool | None = None,
) -> Listing:
    """The documented operators that fit every filter given, by short name.

    A dtype fits an operator that lists it for any of its tensors. Raises UsageError for an unknown word.
    """
    entries = [catalogued.entry(name) for name in catalogued.names().values()]
    installed = of_packages().operators
    documented = {entry.name for entry in entries}
    entries += [_installed(op) for name, op in installed.items() if name not in documented]
    known = {**operators(), **installed}
    categories = sorted({e.category for e in entries})
    if category is not None and category not in categories:
        there = f"; there are {', '.join(categories)}"
        raise UsageError(
            f"unknown category '{category[:60]}'{did_you_mean(category, categories, otherwise=there)}"
        )
    try:
        product = product_named(product) if product is not None else None
    except ValueError as error:
        raise UsageError(str(error)) from None
    word = _dtype(dtype, entries) if dtype is not None else None
    silent = Counter[str]()
    rows: list[Listed] = []
    for entry in entries:
        judged = known.get(entry.name)
        judged = judged if judged is not None and judged.reference is not None else None
        if category not in (None, entry.category) or reference not in (None, judged is not None):
            continue
        if product is not None and product not in (entry.products or {}):
            silent["product"] += 1
        elif word is not None and not any(d.dtypes for d in entry.params if d.param.is_tensor):
            silent["dtype"] += 1
        elif (product is None or (entry.products or {})[product]) and _lists(entry, word):
            rows.append(Listed(entry, judged))
    return Listing(tuple(rows), silent)


def _installed(op: Operator) -> catalogued.Entry:
    """An operator of an installed Python package: no document says anything of it."""
    params = tuple(catalogued.Documented(param) for param in op.signature.params)
    return catalogued.Entry(op.name, "", "package", False, None, (), params)


def _lists(entry: catalogued.Entry, dtype: str | None) -> bool:
    return dtype is None or any(dtype in d.dtypes for d in entry.params if d.param.is_tensor)


def _dtype(word: str, entries: list[catalogued.Entry]) -> str:
    """A dtype that opcli holds, or one that only documents name (int4, hifloat8)."""
    documented = {d for e in entries for p in e.params for d in p.dtypes}
    if word in documented:
        return word
    try:
        return canonical(word)
    except ValueError as error:
        raise UsageError(str(error)) from None
