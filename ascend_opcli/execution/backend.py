"""What serves a call, and what is found out about every call alike."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Protocol

import numpy as np

from ascend_opcli.model import Call, Case, Outcome
from ascend_opcli.operators.contract.phase_one import Refusal
from ascend_opcli.operators.operator import Operator


class Target(Protocol):
    """What runs calls. ``product`` is the device's own, None where any can be assumed."""

    name: str
    product: str | None

    def refuse(self, operator: Operator, case: Case, product: str) -> Outcome | None:
        """The outcome of a call that needs no data to be settled; None where it must be run to be known."""

    def run(self, operator: Operator, case: Case, call: Call) -> Outcome:
        """The outcome of one call on ``call.product``."""


def differs(operator: Operator, predicted: object, outcome: Outcome) -> tuple[str, ...]:
    """On a device the operator decides; where our contract said otherwise, that is worth a note."""
    if outcome.error or (outcome.findings and not outcome.outputs):
        return ()
    contract = "the generic contract" if operator.generic else "the contract"
    if isinstance(predicted, Refusal) and outcome.status == 0:
        return (f"{contract} predicts {predicted.status} ({predicted.rule}); the operator accepted the call",)
    if isinstance(predicted, Refusal) and outcome.status != predicted.status:
        return (
            f"{contract} predicts {predicted.status} ({predicted.rule}); the operator gave {outcome.status}",
        )
    if predicted is None and outcome.status != 0:
        return (f"{contract} predicts that the call is accepted",)
    return ()


def repeated(case: Case, run: Callable[[], Outcome]) -> Outcome:
    """The first outcome of ``case.repeat`` runs; a later one with other bytes is a finding."""
    first = run()
    for n in range(2, case.repeat + 1):
        if first.status != 0 or first.error or first.skip or first.findings:
            return first
        again = run()
        if again.status != 0 or again.error or again.findings:
            return again
        for name, array in first.outputs.items():
            if not _same_bytes(array, again.outputs[name]):
                text = f"{name} of run {n} of {case.repeat} has other bytes than the first"
                return dataclasses.replace(first, findings=(text,))
    return first


def _same_bytes(a: object, b: object) -> bool:
    if isinstance(a, tuple) and isinstance(b, tuple):
        return len(a) == len(b) and all(_same_bytes(x, y) for x, y in zip(a, b, strict=True))
    assert isinstance(a, np.ndarray)
    assert isinstance(b, np.ndarray)
    return np.ascontiguousarray(a).tobytes() == np.ascontiguousarray(b).tobytes()
