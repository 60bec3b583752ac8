"""How a case is handed to the host or to a device."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np

from ascend_opcli.backends import host
from ascend_opcli.execution.by_type import kernel_of
from ascend_opcli.model import Call, Case, Outcome
from ascend_opcli.operators.contract.phase_one import Refusal, predict, unchecked
from ascend_opcli.operators.documents.twins import KernelCall
from ascend_opcli.operators.operator import Operator
from ascend_opcli.operators.products import product as product_named

if TYPE_CHECKING:
    from ascend_opcli.backends.cann.device import Device
    from ascend_opcli.backends.cann.inprocess import InProcess


class Executor(Protocol):
    """What runs calls. ``product`` is the device's own, None where any can be assumed."""

    name: str
    product: str | None

    def refuse(self, operator: Operator, case: Case, product: str) -> Outcome | None:
        """The outcome of a call that needs no data to be settled; None where it must be run to be known."""

    def run(self, operator: Operator, case: Case, call: Call) -> Outcome:
        """The outcome of one call on ``call.product``."""


class Host:
    """The contract decides the status, the reference gives the outputs."""

    name = host.NAME
    product: str | None = None

    def refuse(self, operator: Operator, case: Case, product: str) -> Outcome | None:
        return host.refuse(operator, case, product)

    def run(self, operator: Operator, case: Case, call: Call) -> Outcome:
        refused = host.refuse(operator, case, call.product)
        if refused is not None:
            return refused
        if operator.reference is None:
            return Outcome(host.NAME, skip=_no_reference(case))
        notes = host.overruled(operator, case, call.product)
        return repeated(case, lambda: host.run(operator, call, notes))


def _no_reference(case: Case) -> str:
    if case.reference is not None:
        return f"cannot judge: the reference {case.reference} is code, which runs only with --allow-code"
    return "cannot judge: no reference, and the host executes no operator"


class OnDevice:
    """An NPU, in a worker of its own or in this process."""

    name = "device"

    def __init__(self, device: Device | InProcess, soc: str, models: Path | None = None) -> None:
        self._device = device
        self._models = str(models.resolve()) if models is not None else ""
        self.soc = soc
        try:
            self.product: str | None = product_named(soc)
        except ValueError:
            self.product = (
                None  # a SoC that nobody has mapped: the contract of the default product is only noted
            )

    def cann(self) -> str | None:
        """The version that the runtime of the device says of itself, None on one that cannot be asked."""
        from ascend_opcli.backends.cann.device import Device
        from ascend_opcli.backends.cann.timing import About

        if not isinstance(self._device, Device):
            return self._device.cann() or None
        said = self._device.ask(About())
        return (said["cann"] or None) if isinstance(said, dict) else None

    def refuse(self, operator: Operator, case: Case, product: str) -> Outcome | None:  # noqa: ARG002
        return None  # on a device the operator decides

    def run(self, operator: Operator, case: Case, call: Call) -> Outcome:
        hazard = unchecked(operator, case.arguments)
        if hazard is not None:
            return Outcome(self.name, findings=(f"not checked by the operator: {hazard}",))
        kernel = kernel_of(operator, case)
        if kernel is not None:
            return self._by_type(kernel, operator, case, call)
        outcome = repeated(case, lambda: self._device.run(operator.signature, case, call.product))
        note = differs(operator, predict(operator, case.arguments, call.product), outcome)
        return dataclasses.replace(outcome, notes=(*outcome.notes, *note))

    def _by_type(self, kernel: KernelCall, operator: Operator, case: Case, call: Call) -> Outcome:
        """The outcome of the case's kernel; its statuses are its own, of which no contract says anything."""
        from ascend_opcli.backends.cann.ir import ByType

        way = ByType(kernel, self._models)
        outcome = repeated(case, lambda: self._device.run(operator.signature, case, call.product, way))
        return dataclasses.replace(outcome, notes=(*outcome.notes, f"via ir: the kernel {kernel.type}"))


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


def repeated(case: Case, run: object) -> Outcome:
    """The first outcome of ``case.repeat`` runs; a later one with other bytes is a finding."""
    first: Outcome = run()  # type: ignore[operator]
    for n in range(2, case.repeat + 1):
        if first.status != 0 or first.error or first.skip or first.findings:
            return first
        again: Outcome = run()  # type: ignore[operator]
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
