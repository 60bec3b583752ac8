"""The host: NumPy references in the operators' place."""

from __future__ import annotations

import dataclasses
import functools
import time
from collections.abc import Callable, Mapping
from types import MappingProxyType

from ascend_opcli.backends import host, host_timing
from ascend_opcli.execution.backend import repeated
from ascend_opcli.execution.timed import How, NoTime, Stage, StageFacts
from ascend_opcli.model import Call, Case, HostTimes, Outcome
from ascend_opcli.operators.operator import Operator
from ascend_opcli.reference.call import make_call
from ascend_opcli.reference.evaluate import host_result
from ascend_opcli.reference.heard import heard

HOST_SETS = 4
HOST_SET_BYTES = 64 << 20


class Host:
    """The contract decides the status, the reference gives the outputs; no operator is executed."""

    name = host.NAME
    product: str | None = None
    fingerprint: Mapping[str, str] = MappingProxyType({})

    def __init__(self, clock: Callable[[], float] = time.perf_counter) -> None:
        self._clock = clock

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

    def copy_rate(self) -> float:
        """A copy in memory."""
        return host_timing.copy_rate(self._clock)

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
        stage = heard(host_timing.HostStage)(
            calls, run, size, cold=how.cold, clock=self._clock, sample=how.sample
        )
        return _Stage(stage, operator)


class _Stage:
    def __init__(self, stage: host_timing.HostStage, operator: Operator) -> None:
        self._stage, self._operator = stage, operator
        self.about = StageFacts(HostTimes(first=stage.first), stage.launches, len(stage.calls), stage.flush)

    def draw(self) -> float:
        return heard(self._stage.draw)()

    def notes(self) -> list[str]:
        return []

    def finish(self, *, read: bool) -> Outcome:
        return host.run(self._operator, self._stage.calls[0]) if read else Outcome(host.NAME)


def _no_reference(case: Case) -> str:
    if case.reference is not None:
        return f"cannot judge: the reference {case.reference} is code, which runs only with --allow-code"
    return "cannot judge: no reference, and the host executes no operator"
