"""Which standard judges an output: the command line, then the case's own words, the operator, the dtype table."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

from ascend_opcli.model import Case, StandardChoice
from ascend_opcli.tensors.dtypes import DTYPES
from ascend_opcli.verification.standards import check, covers, default_for, make


def choose(
    output: str, dtype: str, case: Case, operator_standard: str | None, override: StandardChoice | None
) -> StandardChoice:
    """The standard of one output.

    A rule that was set for the whole run, file or operator and speaks of floats only does not reach
    integer and boolean outputs, nor one for integers the others: the next one in order serves those.
    """
    return of_class(_chosen(output, dtype, case, operator_standard, override), dtype, operator_standard)


def of_class(choice: StandardChoice, dtype: str, operator_standard: str | None) -> StandardChoice:
    """The rule of a choice for the class of the operator: integers that are quantised floats go by ``quant``.

    The double benchmark has that rule for them. What speaks of floats only leaves them to the operator, even where a
    case asks for it by name: its equality is for integers that are computed.
    """
    if operator_standard != "quant" or DTYPES[dtype].kind not in ("int", "uint"):
        return choice
    if choice.name == "dual":
        return StandardChoice("quant", {}, f"{choice.origin} (dual: the class of quantising operators)")
    if not covers(choice.name, dtype):
        return StandardChoice("quant", {}, f"operator ({choice.name} of {choice.origin} is for floats)")
    return choice


def _chosen(
    output: str, dtype: str, case: Case, operator_standard: str | None, override: StandardChoice | None
) -> StandardChoice:
    passed: StandardChoice | None = None
    for choice in _in_order(output, case, operator_standard, override):
        if covers(choice.name, dtype) or choice.origin.startswith("expect.standard"):
            return choice
        passed = passed or choice
    table = default_for(dtype)
    if passed is None:
        return table
    kinds = "integers" if DTYPES[dtype].kind in ("float", "complex") else "floats"
    return dataclasses.replace(table, origin=f"{table.origin} ({passed.name} is for {kinds})")


def _in_order(
    output: str, case: Case, operator_standard: str | None, override: StandardChoice | None
) -> Iterator[StandardChoice]:
    if override is not None:
        yield dataclasses.replace(override, origin="command line")
    if output in case.output_standards:
        yield case.output_standards[output]
    if case.standard is not None:
        yield case.standard
    if operator_standard is not None:
        yield StandardChoice(operator_standard, {}, "operator")


def check_for(choice: StandardChoice, dtype: str | None) -> None:
    """Refuses an unknown standard, its numbers, or one that cannot judge ``dtype``, with a ValueError."""
    check(choice)
    if dtype is not None:
        make(choice, dtype)
