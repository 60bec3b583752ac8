"""What a contract takes of one parameter by itself: dtypes and ranks, whatever its document lists."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from ascend_opcli.model import TensorSpec
from ascend_opcli.operators.contract.rules import DtypeIn, Rank, Rule
from ascend_opcli.operators.documents.catalogued import Documented
from ascend_opcli.operators.documents.facts import Fact
from ascend_opcli.operators.documents.generic import KernelColumns
from ascend_opcli.operators.operator import Operator
from ascend_opcli.operators.products import PRODUCTS
from ascend_opcli.tensors.dtypes import DTYPES


def accepted(operator: Operator, name: str, found: Documented) -> Documented:
    """What the document says, with the dtypes and ranks that the contract takes on any product in place of its own."""
    if not found.param.is_tensor:
        return found
    own = [r for r in operator.contract if name in getattr(r, "names", ())]
    there = [p for p, yes in operator.products.items() if yes] or list(PRODUCTS)
    dtypes = [r for r in own if _reads(r, "dtype", name) or isinstance(r, (DtypeIn, KernelColumns))]
    products = [p for p in there if all(p in r.dtypes for r in own if isinstance(r, DtypeIn))] or there
    ranks = [r for r in own if _reads(r, "rank", name) or isinstance(r, Rank)]

    def taken(rules: Sequence[Rule], dtype: str, rank: int) -> bool:
        call = {name: TensorSpec(dtype, (1,) * rank, None, (1,) * rank, 0, (1,))}
        return any(all(r.broken(call, p) is None for r in rules) for p in products)

    words = [w for w in dict.fromkeys((*found.dtypes, *DTYPES)) if taken(dtypes, w, 1)] if dtypes else None
    these = [rank for rank in range(9) if taken(ranks, "float32", rank)] if ranks else None
    return dataclasses.replace(
        found,
        dtypes=found.dtypes if words is None else tuple(words),
        ranks=(these[0], these[-1]) if these else found.ranks,
    )


def _reads(rule: Rule, what: str, name: str) -> bool:
    """Whether a fact limits the dtype or rank of one parameter alone."""
    return isinstance(rule, Fact) and rule.names == (name,) and [what, name] in list(rule.condition)
