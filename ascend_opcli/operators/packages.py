"""Operators of installed Python packages, through the entry point group ``ascend_opcli.operators``.

An entry point names a module with ``OPERATORS``, or an operator or a sequence of them. Packages are loaded only when a
name is looked for that opcli has no reference of, or when all operators are listed; one that cannot be loaded costs
nothing but its own operators, and is told of where one may be missing.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from ascend_opcli.operators.operator import Operator

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP = "ascend_opcli.operators"


@dataclass(frozen=True, slots=True)
class FoundPackages:
    """The operators of packages by aclnn name, and a sentence on each package that did not fit."""

    operators: dict[str, Operator]
    problems: tuple[str, ...]


@lru_cache(maxsize=8)
def found(built_in: frozenset[str]) -> FoundPackages:
    """Everything that packages declare and opcli does not have itself (``built_in`` are its aclnn names)."""
    from importlib.metadata import entry_points  # takes its time, and most calls name an operator of ours

    operators: dict[str, Operator] = {}
    problems: list[str] = []
    for point in sorted(entry_points(group=GROUP), key=lambda p: (p.name, p.value)):
        try:
            declared = list(_operators(point))
        except (Exception, SystemExit) as error:  # a package may raise anything when it is imported
            said = " ".join(str(error).split())
            problems.append(f"the package {_package(point)} cannot be loaded: {type(error).__name__}: {said}")
            continue
        problems += _take(declared, point, built_in, operators)
    return FoundPackages(operators, tuple(problems))


def _take(
    declared: Iterable[Operator], point: EntryPoint, built_in: Collection[str], operators: dict[str, Operator]
) -> list[str]:
    problems = []
    for operator in declared:
        if operator.name in built_in:
            problems.append(
                f"{operator.name} of the package {_package(point)} is left out: opcli has its own"
            )
        elif operator.name in operators:
            problems.append(
                f"{operator.name} of the package {_package(point)} is left out: another declares it"
            )
        else:
            # Without a contract nobody has said what is refused.
            operators[operator.name] = dataclasses.replace(
                operator, custom=operator.custom or not operator.contract, own=operator.own or _package(point)
            )
    return problems


def _operators(point: EntryPoint) -> Iterable[Operator]:
    declared: Any = point.load()
    declared = getattr(declared, "OPERATORS", declared)
    several = [declared] if isinstance(declared, Operator) else list(declared)
    wrong = next((one for one in several if not isinstance(one, Operator)), None)
    if wrong is not None:
        raise TypeError(f"{point.value} holds {type(wrong).__name__}, which is no operator")
    return several


def _package(point: EntryPoint) -> str:
    return point.dist.name if point.dist is not None else point.value
