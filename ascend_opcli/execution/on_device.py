"""An NPU: its operators are called through aclnn or by type, and timed."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable, Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from ascend_opcli.errors import SurroundingsError
from ascend_opcli.execution.backend import differs, repeated
from ascend_opcli.execution.by_type import kernel_of
from ascend_opcli.execution.timed import How, NoTime, Stage, StageFacts
from ascend_opcli.model import Call, Case, Outcome
from ascend_opcli.operators.contract.phase_one import predict, unchecked
from ascend_opcli.operators.documents.twins import KernelCall
from ascend_opcli.operators.operator import Operator
from ascend_opcli.operators.products import product as product_named

if TYPE_CHECKING:
    from ascend_opcli.backends.cann.device import Device
    from ascend_opcli.backends.cann.inprocess import InProcess
    from ascend_opcli.backends.cann.timing import Prepare

T = TypeVar("T")


class OnDevice:
    """An NPU, in a worker of its own or in this process."""

    name = "device"

    def __init__(self, device: Device | InProcess, soc: str, models: Path | None = None) -> None:
        self._device = device
        self._models = str(models.resolve()) if models is not None else ""
        self.soc = soc
        self.product: str | None = (
            None  # of a SoC that is not known: the default product's contract is only noted
        )
        with contextlib.suppress(ValueError):
            self.product = product_named(soc)

    def copy_rate(self) -> float:
        """A copy within the device."""
        from ascend_opcli.backends.cann import timing

        return self._ask(timing.Copy(), timing.CopyRate).rate

    def prepare(self, operator: Operator, case: Case, product: str, how: How) -> Stage:
        """The case laid out and warmed up in the worker."""
        from ascend_opcli.backends.cann import timing

        hazard = unchecked(operator, case.arguments)
        if hazard is not None:
            raise NoTime(Outcome(self.name, findings=(f"not checked by the operator: {hazard}",)))
        reply = self._worker.ask(_request(operator, case, product, how))
        if not isinstance(reply, timing.Prepared):
            raise NoTime(_outcome(reply))
        return _Stage(self._worker, reply)

    def cann(self) -> str | None:
        """The version that the runtime of the device says of itself, None on one that cannot be asked."""
        from ascend_opcli.backends.cann.inprocess import InProcess
        from ascend_opcli.backends.cann.timing import About

        if isinstance(self._device, InProcess):
            return self._device.cann() or None
        about = self._device.ask(About())
        return (about["cann"] or None) if isinstance(about, dict) else None

    @cached_property
    def fingerprint(self) -> Mapping[str, str]:
        """The SoC and the versions of what drives it."""
        from ascend_opcli.backends.cann import timing
        from ascend_opcli.backends.cann.driver import of_device

        return of_device(self._ask(timing.About(), dict), self._worker.options.device)

    @property
    def _worker(self) -> Device:
        from ascend_opcli.backends.cann.inprocess import InProcess

        assert not isinstance(self._device, InProcess), "nothing is timed in this process"
        return self._device

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

    def _ask(self, request: object, kind: type[T]) -> T:
        reply = self._worker.ask(request)  # type: ignore[arg-type]
        if not isinstance(reply, kind):
            outcome = _outcome(reply)
            raise SurroundingsError(outcome.error or outcome.message or "the device gave no answer")
        return reply


class _Stage:
    def __init__(self, device: Device, prepared: object) -> None:
        from ascend_opcli.backends.cann import timing

        assert isinstance(prepared, timing.Prepared)
        self._device = device
        self.about = StageFacts(
            prepared.host,
            prepared.launches,
            prepared.sets,
            prepared.flush,
            prepared.notes,
            prepared.served_by,
        )
        self._drawn = self._bound = 0

    def draw(self) -> float:
        from ascend_opcli.backends.cann import timing

        reply = self._device.ask(timing.Draw())
        if not isinstance(reply, timing.Sample):
            raise NoTime(_outcome(reply))
        self._drawn += 1
        self._bound += reply.host_bound
        return reply.seconds

    def notes(self) -> list[str]:
        if 2 * self._bound <= self._drawn:
            return []
        return [
            "the host launches more slowly than the kernel runs: this is the time of launching;"
            " --timer msprof takes the kernel's own"
        ]

    def finish(self, *, read: bool) -> Outcome:
        from ascend_opcli.backends.cann import timing

        return _outcome(self._device.ask(timing.Finish(read)))


def kernel_times(
    program: str, device: int, opp: Path | None, *, builtin: bool = False
) -> Callable[[Operator, Case, str, How], list[float]]:
    """Kernel task durations by the msprof at ``program``, in seconds a call. Raises SurroundingsError.

    ``builtin`` leaves out every custom package.
    """
    from ascend_opcli.backends.cann import msprof

    def times(operator: Operator, case: Case, product: str, how: How) -> list[float]:
        request = _request(operator, case, product, how)
        return msprof.profile(program, request, device=device, opp=opp, builtin=builtin)

    return times


def _request(operator: Operator, case: Case, product: str, how: How) -> Prepare:
    from ascend_opcli.backends.cann.timing import Prepare

    return Prepare(operator.signature, case, product, how.cold, how.sets, how.reuse, how.sample)


def _outcome(reply: object) -> Outcome:
    if isinstance(reply, Outcome):
        return reply
    return Outcome("device", error=f"the worker answered with {type(reply).__name__}")
