"""Finding an operator by either of its names: those with a reference of ours, then every documented one."""

from __future__ import annotations

from functools import lru_cache

from ascend_opcli.errors import UsageError, did_you_mean
from ascend_opcli.operators import catalogued
from ascend_opcli.operators.operator import Operator, snake


class UnknownOperator(UsageError):
    """No operator of this name; the message has the nearest one."""


@lru_cache(maxsize=1)
def operators() -> dict[str, Operator]:
    """Every operator with a reference of ours, by aclnn name, in alphabetical order."""
    from ascend_opcli.operators import (
        activation,
        activations,
        amp,
        arithmetic,
        comparison,
        elementwise,
        fills,
        foreach,
        layout,
        loss,
        losses,
        matmul,
        norm,
        normalised,
        norms,
        pooling,
        reductions,
        softmax,
    )

    families = (
        *(activations, arithmetic, comparison, elementwise, fills, foreach, losses),
        *(layout, matmul, normalised, norms, pooling, reductions, softmax),
        *(activation, amp, loss, norm),  # the hand-written ones last: theirs count
    )
    found = {op.name: op for family in families for op in family.OPERATORS}
    return dict(sorted(found.items()))


@lru_cache(maxsize=1)
def _by_short_name() -> dict[str, Operator]:
    return {op.short_name: op for op in operators().values()}


def find(name: str) -> Operator:
    """The operator called ``logit_grad`` or ``aclnnLogitGrad``: one with a reference, else a documented one.

    Raises UnknownOperator with the nearest right name.
    """
    word = name.strip()[:200]
    wanted = snake(word)
    found = _by_short_name().get(wanted)
    if found is not None:
        return found
    short = catalogued.names()
    full = word if word in short.values() else short.get(wanted)
    if full is not None:
        return catalogued.operator(full)
    there = "; 'opcli ops list' shows what there is, and a case may bring its own signature"
    hint = did_you_mean(word, [*short, *short.values()], otherwise=there)
    raise UnknownOperator(f"unknown operator '{word}'{hint}")
