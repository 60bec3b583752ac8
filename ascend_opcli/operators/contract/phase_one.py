"""What phase 1 says of a call of an operator: the prediction, and the refusals that its contract can give."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass

from ascend_opcli.model import Argument, Attribute, TensorSpec
from ascend_opcli.operators.arguments import Arguments
from ascend_opcli.operators.contract.changes import Variation
from ascend_opcli.operators.contract.rules import DOCUMENT, MATHEMATICS, REGISTRATION, Rule
from ascend_opcli.operators.operator import Operator


@dataclass(frozen=True, slots=True)
class Refusal:
    """What the contract predicts for a call that it refuses: always in phase 1."""

    status: int
    rule: str
    origin: str = ""

    @property
    def unsure(self) -> bool:
        """Whether neither a source nor a rule written by hand says so."""
        return self.origin in (DOCUMENT, REGISTRATION, MATHEMATICS)


@dataclass(frozen=True, slots=True)
class Unsettled:
    """What the documents do not say."""

    reason: str


def predict(operator: Operator, arguments: Arguments, product: str) -> Refusal | Unsettled | None:
    """The first rule that the call breaks; None where the operator accepts it."""
    if not operator.generated and not operator.custom and not operator.supports(product):
        return Unsettled(f"not documented: {operator.name} does not list the product {product}")
    found = first_broken(operator, arguments, product)
    return None if found is None else Refusal(found[0].status, found[1], found[0].origin)


def said_by(origin: str) -> str:
    """Where a rule comes from, in words."""
    if origin in (REGISTRATION, MATHEMATICS):
        return f"by the {origin}"
    return "by the document alone" if origin == DOCUMENT else origin.rpartition("/")[2]


def first_broken(operator: Operator, arguments: Arguments, product: str) -> tuple[Rule, str] | None:
    """The first rule that the call breaks, and the sentence that says how."""
    for rule in operator.contract:
        sentence = rule.broken(arguments, product)
        if sentence is not None:
            return rule, sentence
    return None


def unchecked(operator: Operator, arguments: Arguments) -> str | None:
    """What an accepted call would do out of bounds, in one sentence, or None."""
    for hazard in operator.unchecked:
        sentence = hazard.broken(arguments)
        if sentence is not None:
            return sentence
    return None


def refusals(operator: Operator, arguments: Arguments, product: str) -> Iterator[tuple[Variation, int]]:
    """Every refusal that follows from the contract, with the status that the broken rule gives.

    A change that breaks an earlier rule too belongs to that one, and no change comes twice.
    """
    seen: set[str] = set()
    for rule in operator.contract:
        for variation in rule.breaks(arguments, product):
            changes = {n: _without_data(operator, n, a) for n, a in variation.changes.items()}
            changed = {**arguments, **changes}
            if any(_below_zero(operator, n, a) for n, a in variation.changes.items()):
                continue
            found = first_broken(operator, changed, variation.product or product)
            if variation.label not in seen and found is not None and found[0] is rule:
                seen.add(variation.label)
                yield dataclasses.replace(variation, changes=changes), rule.status


def _without_data(operator: Operator, name: str, argument: Argument) -> Argument:
    """An output is made by the operator."""
    if isinstance(argument, TensorSpec) and not operator.signature[name].is_input:
        return dataclasses.replace(argument, data=None)
    return argument


def _below_zero(operator: Operator, name: str, argument: Argument) -> bool:
    """Whether a number has no place in its unsigned C type."""
    value = argument.value if isinstance(argument, Attribute) else None
    return operator.signature[name].type.startswith("uint") and isinstance(value, int) and value < 0
