"""The inputs and goldens of cases in files, for a program that runs them elsewhere."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ascend_opcli.errors import CaseFileError, SurroundingsError, UsageError
from ascend_opcli.execution.memory import too_large
from ascend_opcli.model import Call, Case, TensorSpec
from ascend_opcli.operators.operator import Operator
from ascend_opcli.operators.products import DEFAULT_PRODUCT
from ascend_opcli.reference.call import make_call
from ascend_opcli.reference.evaluate import golden
from ascend_opcli.reference.fitting import ReferenceFailure
from ascend_opcli.reference.resolve import operator_of
from ascend_opcli.tensors import exchange
from ascend_opcli.verification.pairings import expected_values


@dataclass(frozen=True, slots=True)
class WrittenData:
    """One case: its folder, or ``why`` it has none. ``aside`` is where outputs of other inputs were moved."""

    case: Case
    folder: Path | None = None
    why: str = ""
    aside: Path | None = None


def write_cases(
    cases: Iterable[Case], out: Path, *, format: str, allow_code: bool = False
) -> Iterator[WrittenData]:
    """Write a folder for each case, in order; a case that expects a refusal has none.

    Raises, before anything is written, UsageError where two cases would go to one folder and CaseFileError where an
    operator cannot be had; SurroundingsError where nothing can be written.
    """
    cases = tuple(cases)
    names = folders(cases, out, "give each file its own --out")
    operators = [None if case.skip else _operator(case, allow_code) for case in cases]
    for case, name, operator in zip(cases, names, operators, strict=True):
        refused = case.status is not None and case.status.code != 0
        why = case.skip or ("it expects a refusal" if refused else too_large(case, None))
        if operator is None or why:
            yield WrittenData(case, why=why or "")
            continue
        try:
            done = _written(case, out / name, format, operator)
        except OSError as error:
            raise _cannot(out / name, error) from None
        yield done


def _cannot(place: Path, error: OSError) -> SurroundingsError:
    return SurroundingsError(f"cannot write {error.filename or place}: {error.strerror or error}")


def folders(cases: Sequence[Case], out: Path, advice: str) -> list[str]:
    """The names of the cases' folders below ``out``, each its own.

    Raises UsageError, which ends in ``advice``, where two cases have one name; SurroundingsError where ``out`` cannot
    be made.
    """
    taken: dict[str, Case] = {}
    for case in cases:
        name = exchange.folder_name(case)
        other = taken.setdefault(name, case)
        if other is not case:
            raise UsageError(f"{other.path} and {case.path} both have {out / name}: {advice}")
    if len({name.casefold() for name in taken}) == len(taken):
        return list(taken)
    try:
        out.mkdir(parents=True, exist_ok=True)
        return _apart(taken) if _folds_case(out) else list(taken)
    except OSError as error:
        raise _cannot(out, error) from None


def _folds_case(folder: Path) -> bool:
    """Whether the file system takes names that differ in case only for one."""
    with tempfile.TemporaryDirectory(prefix="opcli-a", dir=folder) as probe:
        return os.path.exists(os.path.join(folder, os.path.basename(probe).swapcase()))


def _apart(names: Iterable[str]) -> list[str]:
    """The names, with a number behind those that differ from an earlier one in case only.

    ``--outputs`` finds such a folder by the call in its manifest.
    """
    names = list(names)
    taken = {name.casefold() for name in names}
    seen: set[str] = set()
    made = []
    for name in names:
        number, own = 1, name
        while own.casefold() in seen or (number > 1 and own.casefold() in taken):
            number += 1
            own = f"{name}-{number}"
        seen.add(own.casefold())
        made.append(own)
    return made


def _operator(case: Case, allow_code: bool) -> Operator:
    try:
        return operator_of(case, allow_code=allow_code)
    except ValueError as error:
        raise CaseFileError(str(error), case.where) from None


def _written(case: Case, folder: Path, format: str, operator: Operator) -> WrittenData:
    call = make_call(case, operator.signature, case.product or DEFAULT_PRODUCT)
    goldens, why = _goldens(case, operator, call)
    aside = exchange.set_aside(folder, call)
    more: Mapping[str, Any] = {"no_golden": why} if why else {}
    exchange.write(folder, case, call, format=format, golden=goldens, more=more)
    return WrittenData(case, folder, aside=aside)


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
