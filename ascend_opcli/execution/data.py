"""The inputs and goldens of cases in files, for a program that runs them elsewhere."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ascend_opcli.errors import CaseFileError, SurroundingsError, UsageError
from ascend_opcli.execution.memory import too_large
from ascend_opcli.model import Call, Case, TensorSpec
from ascend_opcli.operators.call import make_call
from ascend_opcli.operators.custom import operator_of
from ascend_opcli.operators.evaluate import ReferenceFailure, golden
from ascend_opcli.operators.operator import Operator
from ascend_opcli.operators.products import DEFAULT_PRODUCT
from ascend_opcli.tensors import exchange
from ascend_opcli.verification.verdict import expected_values


@dataclass(frozen=True, slots=True)
class Done:
    """One case: its folder, or ``why`` it has none. ``aside`` is where outputs of other inputs were moved."""

    case: Case
    folder: Path | None = None
    why: str = ""
    aside: Path | None = None


def write_cases(cases: Iterable[Case], out: Path, *, format: str, allow_code: bool = False) -> Iterator[Done]:
    """Write a folder for each case, in order; a case that expects a refusal has none.

    Raises UsageError where two cases would go to one folder, SurroundingsError where nothing can be written.
    """
    taken: dict[str, Case] = {}
    for case in cases:
        name = exchange.folder_name(case)
        other = taken.setdefault(name.casefold(), case)
        if other is not case:
            raise UsageError(
                f"{other.path} and {case.path} both have {out / name}: give each file its own --out"
            )
        if case.status is not None and case.status.code != 0:
            yield Done(case, why="it expects a refusal")
            continue
        lack = too_large(case, None)
        if lack is not None:
            yield Done(case, why=lack)
            continue
        try:
            yield _written(case, out / name, format, allow_code)
        except OSError as error:
            raise SurroundingsError(
                f"cannot write {error.filename or out / name}: {error.strerror or error}"
            ) from None


def _written(case: Case, folder: Path, format: str, allow_code: bool) -> Done:
    try:
        operator = operator_of(case, allow_code=allow_code)
    except ValueError as error:
        raise CaseFileError(str(error), case.where) from None
    call = make_call(case, operator.signature, case.product or DEFAULT_PRODUCT)
    goldens, why = _goldens(case, operator, call)
    aside = exchange.set_aside(folder, call)
    more: Mapping[str, Any] = {"no_golden": why} if why else {}
    exchange.write(folder, case, call, format=format, golden=goldens, more=more)
    return Done(case, folder, aside=aside)


def _goldens(case: Case, operator: Operator, call: Call) -> tuple[exchange.Arrays, str]:
    """What every output should be, where that is known: the case's own values, else the reference in float64."""
    made: dict[str, np.ndarray] = {}
    why = ""
    if operator.reference is not None:
        try:
            made = dict(exchange.members(golden(operator, call).outputs))
        except ReferenceFailure as error:
            why = str(error)
    else:
        why = f"{operator.name} has no reference"
    for name, spec in exchange.members(call.outputs):
        assert isinstance(spec, TensorSpec)
        explicit = case.expected_outputs.get(name, case.expected_outputs.get(name.partition("[")[0]))
        if explicit is not None and explicit != "ignore":
            made[name] = expected_values(explicit, spec, name)
    return made, why if len(made) < len(dict(exchange.members(call.outputs))) else ""
