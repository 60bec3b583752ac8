"""Where a case is timed: on the device, in its worker, or on the host."""

from __future__ import annotations

import dataclasses
import functools
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeVar

from ascend_opcli.backends import host, host_timing
from ascend_opcli.benchmarking.fingerprint import of_device, of_machine
from ascend_opcli.errors import SurroundingsError
from ascend_opcli.model import Case, HostTimes, Outcome
from ascend_opcli.operators.contract.phase_one import unchecked
from ascend_opcli.operators.operator import Operator
from ascend_opcli.operators.products import product as product_named
from ascend_opcli.reference.call import make_call
from ascend_opcli.reference.evaluate import host_result
from ascend_opcli.reference.heard import heard

if TYPE_CHECKING:
    from ascend_opcli.backends.cann.device import Device
    from ascend_opcli.backends.cann.timing import Prepare

HOST_SETS = 4
HOST_SET_BYTES = 64 << 20


@dataclass(frozen=True, slots=True)
class How:
    """How a case is timed: with a cold cache, on how many input sets (0: as many as suit), reusing executors.

    ``sample`` is how many seconds a sample of a slow kernel may take; one launch is always made.
    """

    cold: bool = True
    sets: int = 0
    reuse: bool = True
    sample: float = 0.025


@dataclass(frozen=True, slots=True)
class About:
    """A stage that is ready."""

    host: HostTimes
    launches: int
    sets: int
    flush: int
    notes: tuple[str, ...] = ()
    served_by: str = ""


class NoTime(Exception):
    """A call that gave no time, as the outcome that says why."""

    def __init__(self, outcome: Outcome) -> None:
        super().__init__(outcome.error or outcome.message)
        self.outcome = outcome


class Stage(Protocol):
    """A case ready to be sampled."""

    about: About

    def draw(self) -> float:
        """Seconds a call. Raises NoTime."""

    def notes(self) -> list[str]:
        """What the samples drawn so far have shown."""

    def finish(self, *, read: bool) -> Outcome:
        """Release it; with ``read`` the outputs of a timed call."""


class Bench(Protocol):
    """What times cases. ``product`` is the device's own, None on the host."""

    name: str
    product: str | None
    fingerprint: Mapping[str, str]

    def copy_rate(self) -> float:
        """Bytes a second of a plain copy, measured now."""

    def prepare(self, operator: Operator, case: Case, product: str, how: How) -> Stage:
        """A stage for a case. Raises NoTime where the call is not accepted or fails."""


# --- the host ---------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class HostBench:
    """The NumPy reference. No operator is run."""

    clock: Callable[[], float] = time.perf_counter
    name: str = host.NAME
    product: str | None = None
    fingerprint: Mapping[str, str] = field(default_factory=of_machine)

    def copy_rate(self) -> float:
        """A copy in memory."""
        return host_timing.copy_rate(self.clock)

    def prepare(self, operator: Operator, case: Case, product: str, how: How) -> Stage:
        """The reference's calls on several sets of inputs."""
        refused = host.refuse(operator, case, product)
        if refused is not None:
            raise NoTime(refused)
        if operator.reference is None:
            raise NoTime(Outcome(self.name, skip="no reference to time, and the host executes no operator"))
        first = make_call(case, operator.signature, product)
        size = sum(a.nbytes for a in host_timing.input_arrays(first))
        count = how.sets or max(1, min(HOST_SETS, HOST_SET_BYTES // max(size, 1)))
        calls = [first] + [
            make_call(dataclasses.replace(case, seed=case.seed + i), operator.signature, product)
            for i in range(1, count)
        ]
        # In the compute dtype, in blocks, the result rounded to each output's dtype.
        run = functools.partial(host_result, operator)
        stage = heard(host_timing.Stage)(calls, run, size, cold=how.cold, clock=self.clock, sample=how.sample)
        return _OnHost(stage, operator)


class _OnHost:
    def __init__(self, stage: host_timing.Stage, operator: Operator) -> None:
        self._stage, self._operator = stage, operator
        self.about = About(HostTimes(first=stage.first), stage.launches, len(stage.calls), stage.flush)

    def draw(self) -> float:
        return heard(self._stage.draw)()

    def notes(self) -> list[str]:
        return []

    def finish(self, *, read: bool) -> Outcome:
        return host.run(self._operator, self._stage.calls[0]) if read else Outcome(host.NAME)


# --- the device -------------------------------------------------------------------------------------------------

T = TypeVar("T")


class DeviceBench:
    """An NPU behind its worker."""

    name = "device"

    def __init__(self, device: Device, number: int) -> None:
        from ascend_opcli.backends.cann import timing

        self._device = device
        try:
            self.product: str | None = product_named(device.soc)
        except ValueError:
            self.product = None
        said = self._ask(timing.About(), dict)
        self.fingerprint: Mapping[str, str] = {**of_machine(), **of_device(said, number)}

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
        reply = self._device.ask(_request(operator, case, product, how))
        if not isinstance(reply, timing.Prepared):
            raise NoTime(_outcome(reply))
        return _OnDevice(self._device, reply)

    def _ask(self, request: object, kind: type[T]) -> T:
        reply = self._device.ask(request)  # type: ignore[arg-type]
        if not isinstance(reply, kind):
            outcome = _outcome(reply)
            raise SurroundingsError(outcome.error or outcome.message or "the device gave no answer")
        return reply


class _OnDevice:
    def __init__(self, device: Device, prepared: object) -> None:
        from ascend_opcli.backends.cann import timing

        assert isinstance(prepared, timing.Prepared)
        self._device = device
        self.about = About(
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
