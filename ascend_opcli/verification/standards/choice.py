"""Which standard judges an output: the command line, then the case's own words, the operator, the dtype table."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping

from ascend_opcli.model import Argument, Case, StandardChoice
from ascend_opcli.operators.arguments import first_spec
from ascend_opcli.operators.operator import Operator
from ascend_opcli.tensors.dtypes import DTYPES
from ascend_opcli.verification.standards.named import SELECTS, check, covers, default_for, make, needs_input
from ascend_opcli.verification.standards.selects import fault


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
        named = choice.origin.startswith("expect.standard") and choice.name != SELECTS
        if covers(choice.name, dtype) or named:
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


class Check:
    """Refuses an unknown standard, its numbers, or one that cannot judge ``dtype``, with a ValueError."""

    def __call__(self, choice: StandardChoice, dtype: str | None) -> None:
        check(choice)
        if choice.name == SELECTS:
            needs_input(choice)
        if dtype is not None:
            make(choice, dtype)
            if choice.name == SELECTS and not covers(SELECTS, dtype):
                raise ValueError(
                    f"the standard {SELECTS} is for places, which are whole numbers, not for {dtype}"
                )

    def of_call(
        self,
        choice: StandardChoice,
        output: str | None,
        operator: Operator,
        arguments: Mapping[str, Argument],
    ) -> None:
        """Refuses words that do not fit a call: of ``output``, or of every one that the standard covers."""
        if choice.name != SELECTS:
            return
        for param in operator.signature.outputs:
            spec = first_spec(arguments.get(param.name))
            if spec is not None and output in (None, param.name) and covers(SELECTS, spec.dtype):
                why = fault(choice, param.name, operator.signature, arguments, arguments)
                if why:
                    raise ValueError(why)


check_for = Check()
