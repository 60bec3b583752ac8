"""From what was asked for to the cases to run: paths or options, negatives, selection."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ascend_opcli.casefile import discover
from ascend_opcli.casefile.build import Declared
from ascend_opcli.casefile.expectations import CheckStandard
from ascend_opcli.casefile.inline import CallOptions, parse
from ascend_opcli.casefile.negatives import negatives
from ascend_opcli.casefile.open import load_file
from ascend_opcli.errors import UsageError
from ascend_opcli.model import Case
from ascend_opcli.operators.catalog import UnknownOperator, find
from ascend_opcli.operators.operator import Operator, snake
from ascend_opcli.reference.resolve import resolve

if TYPE_CHECKING:
    from ascend_opcli.backends.cann.discovery import Headers


@dataclass(frozen=True, slots=True)
class Plan:
    """The cases to run, in order; ``deselected`` and ``aside`` count what was left out, cases and files.

    ``unchanged`` says that there were cases, and that the change which was to be judged touches none of them.
    """

    cases: tuple[Case, ...]
    files: int = 0
    deselected: int = 0
    aside: int = 0
    unchanged: bool = False


def of_paths(
    paths: Sequence[str],
    *,
    check_standard: CheckStandard,
    seed: int | None = None,
    declared: Declared | None = None,
) -> Plan:
    """Every case that the paths name. Raises the error of the first file that cannot be read: nothing is run then."""
    found = discover.find(paths)
    cases: list[Case] = []
    for target in found.targets:
        file = load_file(target.path, check_standard=check_standard, seed_default=seed, declared=declared)
        cases += discover.pick(file, target.picks)
    return Plan(tuple(cases), len(found.targets), aside=found.aside)


def of_options(
    options: CallOptions, *, check_standard: CheckStandard, declared: Declared | None = None
) -> Plan:
    """The one case that the command line describes."""
    return Plan((parse(options, check_standard=check_standard, declared=declared),))


def with_negatives(plan: Plan, product: str, *, other_products: bool = True) -> Plan:
    """The plan and, for every operator in it, the cases that follow from its contract.

    ``other_products`` is False where the product is a device's own and no other can be tried.
    """
    operators: dict[str, Operator] = {}
    for case in plan.cases:
        if case.skip and not case.arguments:
            continue  # a foreign file's case without a call may name no operator that there is
        operators.setdefault(case.operator, resolve(case.operator, signature=case.signature))
    added = [case for operator in operators.values() for case in negatives(operator, product)]
    if not other_products:
        added = [case for case in added if case.product == product]
    return dataclasses.replace(plan, cases=(*plan.cases, *added))


def select(plan: Plan, *tests: Callable[[Case], bool]) -> Plan:
    """The plan with the cases that pass every test."""
    kept = tuple(case for case in plan.cases if all(test(case) for test in tests))
    return dataclasses.replace(plan, cases=kept, deselected=plan.deselected + len(plan.cases) - len(kept))


def touched_only(plan: Plan, touched: Callable[[Case], bool]) -> Plan:
    """The plan with the cases that a change touches. Asked before any other selection: a change that touches an
    operator whose cases are then all deselected has gone unjudged, which is something else than no change."""
    kept = select(plan, touched)
    return dataclasses.replace(kept, unchanged=bool(plan.cases) and not kept.cases)


def one_case(plan: Plan, why: str) -> Case:
    """The only case of the plan. Raises UsageError, naming ``why`` it must be one, where there are more or none."""
    if len(plan.cases) != 1:
        raise UsageError(f"{why} takes one case, and {len(plan.cases)} are picked")
    return plan.cases[0]


def header_notes(plan: Plan, headers: Headers | None) -> Iterator[str]:
    """Where an installed header declares other parameters than the catalog has: the header counts."""
    for case in {case.operator: case for case in plan.cases}.values():
        if headers is None or case.signature is None or "signature" in case.source:
            continue
        path = next((p for n, p in headers.used.items() if snake(n) == snake(case.operator)), None)
        try:
            known = find(case.operator).signature.prototype()
        except UnknownOperator:
            continue
        yield f"{case.operator}: {path} declares {case.signature}; the catalog has {known}; the header counts"
