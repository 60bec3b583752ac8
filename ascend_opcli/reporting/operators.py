"""An operator on paper: what ``opcli ops`` prints."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator

from ascend_opcli import status as codes
from ascend_opcli.operators.operator import Operator
from ascend_opcli.operators.products import PRODUCTS


def list_lines(operators: Iterable[Operator]) -> Iterator[str]:
    """One line an operator, columns aligned."""
    rows = [(op.short_name, op.name, op.summary) for op in operators]
    short, full = (max((len(r[i]) for r in rows), default=0) for i in (0, 1))
    for row in rows:
        yield f"{row[0]:<{short}}  {row[1]:<{full}}  {row[2]}"


def show_lines(operator: Operator) -> Iterator[str]:
    """Everything about one operator."""
    yield f"{operator.name}  ({operator.short_name})"
    if operator.summary:
        yield operator.summary
    yield ""
    yield "signature"
    yield f"  {operator.signature.prototype()}"
    yield ""
    yield "parameters"
    width = max(len(p.name) for p in operator.signature.params)
    for param in operator.signature.params:
        default = f", default {operator.defaults[param.name]}" if param.name in operator.defaults else ""
        held = f", held as {operator.held[param.name]}" if param.name in operator.held else ""
        optional = ", may be null" if param.optional else ""
        yield f"  {param.name:<{width}}  {param.io:<3}  {param.type}{optional}{default}{held}"
    if operator.formula:
        yield ""
        yield "formula"
        yield from textwrap.indent(operator.formula, "  ").splitlines()
    yield ""
    yield "products"
    for product, title in PRODUCTS.items():
        there = ("yes" if operator.supports(product) else "no") if operator.products else "unknown"
        yield f"  {product:<18} {there:<7}  {title}"
    if operator.contract:
        yield from _contract(operator)
    yield ""
    yield "judged by"
    if operator.reference is None:
        yield "  nobody here: a case needs expected outputs, an expected status or a reference of its own"
    else:
        how = "in blocks" if operator.elementwise else "whole"
        whose = f"the reference of {operator.own}" if operator.own else "a built-in reference"
        yield f"  {whose}: golden in float64, host result in {operator.compute}, {how}"
    if operator.divergences:
        yield ""
        yield "divergences from documents and other kernels"
    for divergence in operator.divergences:
        yield textwrap.fill(divergence.text, 110, initial_indent="  - ", subsequent_indent="    ")


def _contract(operator: Operator) -> Iterator[str]:
    kind = "generated entry" if operator.generated else "hand-written entry"
    yield ""
    if operator.generic:
        yield "generic contract of phase 1, from the documented lists alone (the order of checks is not documented)"
    else:
        yield f"contract of phase 1, in the order in which the operator checks ({kind})"
    for rule in operator.contract:
        yield f"  {codes.describe(rule.status)}: {rule.text()}"
    if operator.unchecked:
        yield "  not checked by the operator: sizes that its kernel would read or write out of bounds"
