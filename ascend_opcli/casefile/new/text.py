"""A new case file as text: what the operator is, and every case with a word on what it is for."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator
from enum import Enum
from typing import Any

from ascend_opcli.casefile import keys, show
from ascend_opcli.casefile.new import boundary, ecosystem, smoke
from ascend_opcli.casefile.new.calls import Calls, product_for
from ascend_opcli.casefile.new.decisions import Failure
from ascend_opcli.errors import UsageError
from ascend_opcli.operators.operator import Operator
from ascend_opcli.operators.products import DEFAULT_PRODUCT
from ascend_opcli.tensors.dtypes import DTYPES

DEFAULT_ELEMENTS = 2**16
WIDTH = 100


class Suite(str, Enum):
    """Which cases a new file has."""

    SMOKE = "smoke"
    ECOSYSTEM = "ecosystem"
    BOUNDARY = "boundary"


def new_file(
    operator: Operator,
    suite: Suite = Suite.SMOKE,
    *,
    product: str | None = None,
    max_elements: int = DEFAULT_ELEMENTS,
    pairs: bool = False,
    failure: Failure | None = None,
) -> str:
    """A case file of the operator. Raises UsageError where no call of it can be made, or none that fits the suite.

    ``failure`` says why the reference itself fails the case of a text, in its compute dtype: such cases of the
    ecosystem suite are marked as a known issue.
    """
    if max_elements < 1:
        raise UsageError("--max-elements is a number from 1 on")
    calls = Calls(operator, product_for(operator, product))

    def tried(case: dict[str, Any], **options: bool) -> str | None:
        return failure(_alone(calls, case), **options) if failure is not None else None

    known = tried if failure is not None else None
    if suite is Suite.SMOKE:
        cases = smoke.smoke(calls)
    elif suite is Suite.ECOSYSTEM:
        cases = ecosystem.ecosystem(calls, max_elements=max_elements, pairs=pairs, failure=known)
    else:
        cases = boundary.boundary(calls, known)
    made = list(cases)
    if not made:
        raise UsageError(
            f"no call of {operator.name} on {calls.product} fits the {suite.value} suite, whose tensors have at "
            f"most {max_elements:,} elements; --suite {Suite.SMOKE.value} has an ordinary one"
        )
    return "".join(f"{line}\n" for line in _lines(calls, suite, made))


def skeleton(operator: Operator) -> str:
    """The smallest case of an operator, for its page."""
    calls = Calls(operator, product_for(operator))
    try:
        case = smoke.smallest(calls)[1]
    except UsageError:
        return ""
    return _alone(calls, case)


def _alone(calls: Calls, case: dict[str, Any]) -> str:
    """The file of one case."""
    return "".join(f"{line}\n" for line in (*_head(calls), "cases:", *_case(case)))


def _lines(calls: Calls, suite: Suite, cases: Iterable[smoke.Commented]) -> Iterator[str]:
    operator = calls.operator
    yield f"# {operator.name}{f': {operator.summary}' if operator.summary else ''}"
    yield f"# The {suite.value} suite, made by 'opcli cases new'."
    if calls.entry is not None:
        yield f"# 'opcli ops show {operator.short_name}' has its contract."
    for line in _about(calls):
        yield from textwrap.wrap(line, WIDTH, initial_indent="# ", subsequent_indent="#     ")
    if operator.reference is None:
        yield "# opcli has no reference for it: add 'reference: <expression over the parameters>' to the file,"
        yield "# or 'expect: {outputs: ...}' to a case, so that the numbers can be judged."
    yield from _head(calls)
    yield "cases:"
    before = ""
    for comment, case in cases:
        if comment != before:
            yield f"  # {comment}"
        before = comment
        yield from _case(case)


def _head(calls: Calls) -> Iterator[str]:
    operator = calls.operator
    yield f"opcli: {keys.VERSION}"
    yield f"op: {show.scalar(operator.name if operator.custom else operator.short_name)}"
    if operator.declared or (operator.custom and not operator.by_type and calls.entry is None):
        yield f"signature: {show.scalar(operator.signature.prototype())}"
    if calls.product != DEFAULT_PRODUCT:
        yield f"product: {calls.product}"


def _about(calls: Calls) -> Iterator[str]:
    """A line for every parameter, with what the documents say of it."""
    for param in calls.operator.signature.params:
        found = calls.documented(param.name)
        said = [f"{param.name}: {param.type} {param.io}"]
        if param.optional:
            said.append("may be null")
        if param.name in calls.operator.defaults:
            said.append(f"default {show.flow(calls.operator.defaults[param.name])}")
        if found is not None and found.dtypes:
            beyond = [d for d in found.dtypes if d not in DTYPES]
            said.append(f"dtypes {', '.join(found.dtypes)}")
            if beyond:
                said.append(f"opcli cannot hold {', '.join(beyond)}")
        if found is not None and found.ranks is not None:
            said.append(f"rank {found.ranks[0]} to {found.ranks[1]}")
        yield "; ".join(said)


def _case(case: dict[str, Any]) -> Iterator[str]:
    lines = show.entries(case, 4)
    yield "  - " + lines[0].lstrip()
    yield from lines[1:]
