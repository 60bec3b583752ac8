"""Which standard judges an output: the command line, then the case's own words, the operator, the dtype table."""

from __future__ import annotations

import dataclasses

from ascend_opcli.model import Case, StandardChoice
from ascend_opcli.tensors.dtypes import DTYPES
from ascend_opcli.verification.standards import check, default_for, make


def choose(
    output: str, dtype: str, case: Case, operator_standard: str | None, override: StandardChoice | None
) -> StandardChoice:
    """The standard of one output.

    A rule that was set for the whole run, file or operator and speaks of floats only does not reach
    integer and boolean outputs: the dtype table serves those.
    """
    table = default_for(dtype)
    if override is not None:
        return _where_it_fits(dataclasses.replace(override, origin="command line"), dtype, table)
    if output in case.output_standards:
        return case.output_standards[output]
    if case.standard is not None:
        return _where_it_fits(case.standard, dtype, table)
    if operator_standard is not None:
        return _where_it_fits(StandardChoice(operator_standard, {}, "operator"), dtype, table)
    return table


def _where_it_fits(choice: StandardChoice, dtype: str, table: StandardChoice) -> StandardChoice:
    if DTYPES[dtype].kind in ("float", "complex") or choice.name in ("exact", "bits", "allclose"):
        return choice
    return dataclasses.replace(table, origin=f"{table.origin} ({choice.name} is for floats)")


def check_for(choice: StandardChoice, dtype: str | None) -> None:
    """Refuses an unknown standard, its numbers, or one that cannot judge ``dtype``, with a ValueError."""
    check(choice)
    if dtype is not None:
        make(choice, dtype)
