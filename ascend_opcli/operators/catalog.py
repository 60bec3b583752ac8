"""Finding an operator by either of its names: those with a reference of ours, then every documented one."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from importlib.resources import files
from typing import Any

from ascend_opcli.errors import UsageError, did_you_mean
from ascend_opcli.operators.operator import Operator, snake
from ascend_opcli.operators.products import PRODUCTS
from ascend_opcli.operators.signature import Param, Signature


class UnknownOperator(UsageError):
    """No operator of this name; the message has the nearest one."""


@lru_cache(maxsize=1)
def operators() -> dict[str, Operator]:
    """Every operator with a reference of ours, by aclnn name, in alphabetical order."""
    from ascend_opcli.operators import activation, amp, loss, norm

    families = (activation, amp, loss, norm)
    found = {op.name: op for family in families for op in family.OPERATORS}
    return dict(sorted(found.items()))


@lru_cache(maxsize=1)
def documented() -> Mapping[str, Any]:
    """The catalog as it lies on disk, by aclnn name: see :func:`_from_catalog` for a row's meaning."""
    table = json.loads(files("ascend_opcli.operators").joinpath("catalog.json").read_text("utf-8"))
    rows: Mapping[str, Any] = table["operators"]
    return rows


@lru_cache(maxsize=1)
def _names() -> dict[str, str]:
    """Short name -> aclnn name, of every documented operator."""
    return {snake(name): name for name in documented()}


def find(name: str) -> Operator:
    """The operator called ``logit_grad`` or ``aclnnLogitGrad``.

    Raises UnknownOperator with the nearest right name.
    """
    word = name.strip()[:200]
    wanted = snake(word)
    for op in operators().values():
        if op.short_name == wanted:
            return op
    full = word if word in documented() else _names().get(wanted)
    if full is not None:
        return _from_catalog(full, documented()[full])
    names = [*_names(), *documented()]
    there = "; 'opcli ops list' shows what there is, and a case may bring its own signature"
    raise UnknownOperator(f"unknown operator '{word}'{did_you_mean(word, names, otherwise=there)}")


@lru_cache(maxsize=64)
def _operator(name: str, row: str) -> Operator:
    _library, _category, _experimental, on, _off, _codes, params = json.loads(row)
    made = [Param(p[0], p[1], p[2], bool(p[8]) if len(p) > 8 else p[0].endswith("Optional")) for p in params]
    return Operator(
        name=name,
        signature=Signature(name, tuple(made)),
        reference=None,
        products={p: p in on for p in PRODUCTS} if on is not None else {},
        custom=on is None,
    )


def _from_catalog(name: str, row: Any) -> Operator:
    """An operator that opcli can call and cannot judge by itself.

    A row is [library, category, experimental, products that have it, products that do not, status codes,
    parameters], a parameter [name, C type, in/out/inout, dtypes, formats, ranks, strided, empty, optional]
    with trailing unknowns left out; dtypes and formats are places in the table's lists.
    """
    return _operator(name, json.dumps(row))
