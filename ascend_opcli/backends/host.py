"""The host backend: the contract decides the status, the reference in the compute dtype gives the outputs.

No operator is executed here.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence

from ascend_opcli.model import Call, Case, Outcome, TensorSpec
from ascend_opcli.operators.contract.phase_one import Refusal, Unsettled, predict, said_by, unchecked
from ascend_opcli.operators.contract.rules import Rule, words_of
from ascend_opcli.operators.cost import specs
from ascend_opcli.operators.documents.facts import Fact
from ascend_opcli.operators.operator import Operator
from ascend_opcli.reference.evaluate import host_result
from ascend_opcli.reference.fitting import ReferenceFailure
from ascend_opcli.reference.heard import heard
from ascend_opcli.status import SUCCESS

NAME = "host"
MOST_AXES = 32
"""NumPy 1.26 holds no more, and the iterators of later ones walk no more."""


def refuse(operator: Operator, case: Case, product: str) -> Outcome | None:
    """The outcome of a call that is not run: refused, not settled by the documents, or out of bounds.

    Needs no data, so that a refusal costs none. None where the operator accepts the call and it can run.
    """
    prediction = predict(operator, case.arguments, product)
    if isinstance(prediction, Unsettled):
        return Outcome(NAME, skip=prediction.reason)
    if prediction is not None and not _says_accepted(prediction, case):
        lack = _shapeless(operator, case, product)
        if isinstance(lack, str):
            return Outcome(NAME, skip=f"cannot judge: {lack}")
        prediction = lack or prediction
        label = f" ({said_by(prediction.origin)})" if prediction.origin else ""
        return Outcome(NAME, prediction.status, message=prediction.rule + label)
    if (operator.custom or operator.generic) and case.status is not None and case.status.code != 0:
        why = f"no known rule of {operator.name} refuses the call; one that nobody has read may be meant"
        return Outcome(NAME, skip=f"cannot judge: {why}")
    hazard = unchecked(operator, case.arguments)
    if hazard is not None:
        return Outcome(NAME, findings=(f"not checked by the operator: {hazard}",))
    for name, argument in case.arguments.items():
        axes = max((len(spec.shape) for spec in specs([argument])), default=0)
        if axes > MOST_AXES:
            return Outcome(
                NAME, skip=f"cannot judge: {name} has {axes} axes, NumPy works with {MOST_AXES} at most"
            )
    return None


def _shapeless(operator: Operator, case: Case, product: str) -> str | Refusal | None:
    """Why the call is refused for an output alone that nobody has given and whose shape does not follow, or None.

    It then has another tensor's dtype and shape, and a refusal that names those hides what is wrong: where something
    else is refused too, that is given back.
    """
    if operator.reference is None and case.status is not None and case.status.code != SUCCESS:
        return None
    found = {}
    for param in operator.signature.outputs:
        if param.is_input or _written(case, operator, param.name):
            continue
        why = operator.not_inferred(param.name, case.arguments)
        if why is not None:
            found[param.name] = why
    rest = tuple(r for r in operator.contract if not _only_of(r, found))
    if not found:
        return None
    other = predict(dataclasses.replace(operator, contract=rest), case.arguments, product)
    if isinstance(other, Refusal):
        return other
    why = next((w for w in found.values() if w), "")
    names = words_of(tuple(found))
    return f"the shape of {names} does not follow from the inputs and attributes{f': {why}' if why else ''}"


def _written(case: Case, operator: Operator, name: str) -> bool:
    """Whether the case itself gives an output a dtype or shape."""
    spec, outputs = case.arguments.get(name), case.source.get("outputs")
    node = outputs.get(name, {}) if isinstance(outputs, Mapping) else {}
    if not isinstance(node, Mapping) or not node.keys().isdisjoint(("dtype", "shape")):
        return True
    return isinstance(spec, TensorSpec) and (spec.dtype, spec.shape) != operator.infer_output(
        name, case.arguments
    )


def _only_of(rule: Rule, outputs: Iterable[str]) -> bool:
    """Whether a rule judges these outputs; one that relates them to inputs does too."""
    names = set(getattr(rule, "names", ()))
    return bool(names & set(outputs)) if isinstance(rule, Fact) else bool(names) and names <= set(outputs)


def overruled(operator: Operator, case: Case, product: str) -> tuple[str, ...]:
    """A note where the case says that its call is accepted and the documents' lists alone would refuse it."""
    prediction = predict(operator, case.arguments, product) if operator.generic else None
    if not isinstance(prediction, Refusal) or not _says_accepted(prediction, case):
        return ()
    return (f"the documented lists alone would refuse the call: {prediction.rule}",)


def _says_accepted(refusal: Refusal, case: Case) -> bool:
    """Such a case knows more than a document or a guess, though not more than the operator's source."""
    return refusal.unsure and case.status is not None and case.status.code == SUCCESS


def run(operator: Operator, call: Call, overruled: Sequence[str] = ()) -> Outcome:
    """The host result of an accepted call; ``overruled`` are the notes on what the documents' lists refuse in it."""
    try:
        return Outcome(NAME, outputs=heard(host_result)(operator, call), notes=tuple(overruled))
    except ReferenceFailure:
        if not overruled:
            raise
        return Outcome(NAME, skip=f"cannot judge: the reference cannot take the call; {overruled[0]}")
