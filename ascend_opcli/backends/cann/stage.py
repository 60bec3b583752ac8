"""A case laid out on the device to be timed: many launches between two events, on inputs the cache has not seen."""

# More than 400 lines: one prepared case: set up, launched, sampled, checked and released in one order.
from __future__ import annotations

import contextlib
import ctypes
import dataclasses
import statistics
import time
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ascend_opcli.backends.cann.binding import Binder, argument_types
from ascend_opcli.backends.cann.execute import (
    PHASE_1,
    PHASE_2,
    SYNC,
    Announce,
    Slot,
    Workspace,
    collect,
    drop,
    lay_out,
    specs_of,
)
from ascend_opcli.backends.cann.libraries import Libraries
from ascend_opcli.backends.cann.runtime import Runtime
from ascend_opcli.backends.cann.timing_requests import Prepare, Prepared, Sample
from ascend_opcli.backends.observed import POISONS, storage_bytes, written_after_all
from ascend_opcli.errors import SurroundingsError
from ascend_opcli.model import Case, HostTimes, Outcome, Phase, TensorSpec
from ascend_opcli.reference.call import make_call

UNKNOWN_L2 = 192 << 20
"""What is flushed where the device does not say: the largest second-level cache of any SoC so far."""

SET_BYTES = 128 << 20
FEWEST_SETS, MOST_SETS = 2, 16
"""Input sets: as many as fit in :data:`SET_BYTES`, within these bounds."""

MOST_LAUNCHES = 1000
"""Far below the depth of a stream's queue."""

ENOUGH = 1e-3
"""Seconds between two events from which on their resolution (about a microsecond) does not count."""

WARM_UPS = 5
WARM_SECONDS = 0.2
"""Warm-ups end here, one at the least; input sets that would take longer are not visited beforehand either."""

LEAD_IN = 4
"""Launches before the first event, where no flush gives the host its head start."""

SLOW = 1e-2
"""Seconds of a launch from which on the host needs no head start."""

COPY_BACK = "the copy back"


class CallFailed(Exception):
    """A call of the operator that did not return 0, as the outcome that says so."""

    def __init__(self, outcome: Outcome) -> None:
        super().__init__(str(outcome.status))
        self.outcome = outcome


@dataclass(slots=True)
class _Set:
    """One set of inputs and outputs on the device, bound; ``executor`` where it can be used again."""

    slots: dict[str, list[Slot]]
    bound: list[object]
    size: int = 0
    executor: ctypes.c_void_p | None = None


class DeviceStage:
    """A case laid out on the device ``sets`` times over, with what it takes to time it.

    All sets share one workspace: launches on a stream follow one another, and a caller's allocator would hand out
    the same block again too.
    """

    def __init__(
        self,
        runtime: Runtime,
        libraries: Libraries,
        request: Prepare,
        announce: Announce,
        *,
        warm: bool = True,
    ) -> None:
        self._runtime, self._libraries, self._request = runtime, libraries, request
        self._entry = libraries.entry(request.signature.name)
        self._entry.phase1.argtypes = argument_types(request.signature)
        self._stack = contextlib.ExitStack()
        self._next = 0
        self._lead = LEAD_IN
        self._notes = list(libraries.notes(request.signature.name))
        self._workspace: Workspace | None = None
        self.host = HostTimes()
        self.launches = 0
        try:
            self._make(announce)
            if warm:
                self._warm_up(announce)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Release everything, in reverse order; safe to call twice."""
        self._stack.close()

    # --- making it ---------------------------------------------------------------------------------------

    def _make(self, announce: Announce) -> None:
        request, runtime = self._request, self._runtime
        announce("the preparation")
        self._stack.enter_context(runtime.deterministic(request.case.deterministic))
        l2 = runtime.l2_bytes()
        if l2 is None:
            self._notes.append(
                f"the device does not say how large its L2 is: {UNKNOWN_L2 >> 20} MiB are flushed"
            )
        cache = l2 or UNKNOWN_L2
        each = max(1, _case_bytes(request.case))
        count = self._count(each, cache)
        self._sets = []
        for number in range(count):
            announce("the preparation")  # a step for each: laying out large tensors takes its time
            self._sets.append(self._lay_out(number))
        self._evicts = each * count >= 2 * cache
        self._flush = self._flush_buffer(cache) if request.cold and not self._evicts else 0
        self.flush = cache if self._flush else 0
        self._start = self._event()
        self._end = self._event()

    def _warm_up(self, announce: Announce) -> None:
        count = len(self._sets)
        planning = self._keep_executors(announce)
        first = self._whole_call(self._sets[0], announce)
        if planning is not None:
            first = (planning, *first[1:])
        begun = time.perf_counter()
        rounds: list[tuple[float, float, float]] = []
        while len(rounds) < WARM_UPS and (not rounds or time.perf_counter() - begun < WARM_SECONDS):
            rounds.append(self._whole_call(self._sets[(len(rounds) + 1) % count], announce))
        medians = [statistics.median(column) for column in zip(*rounds, strict=True)]
        self.host = HostTimes(sum(first), medians[0], medians[1], sum(medians))
        self._flush_seconds = self._time_flush(announce)
        slowly = medians[1] + medians[2]  # more than the kernel's own time, by what the host adds
        self.launches = self._fitting(count, slowly)
        self._lead = LEAD_IN if slowly < SLOW else 0
        if slowly * count <= WARM_SECONDS:
            self.launches = count
            self._sample(announce)  # every set once, so that none is first touched between two events
            self.launches = self._calibrated(self._sample(announce).seconds)
        if self._in_place():
            self._notes.append(
                "the operator works in place: from the second launch on it is given its own result"
            )
        else:
            for slot in self._outputs(self._sets[0]):
                _poison(slot, POISONS[0])
            self._next = 0  # the first set, which is judged, is in the first sample

    def _count(self, each: int, cache: int) -> int:
        count = self._request.sets or min(max(SET_BYTES // each, FEWEST_SETS), MOST_SETS)
        if not self._request.cold:
            count = max(1, min(count, cache // 2 // each))
        free = self._runtime.free_bytes()
        if free is not None:
            count = max(1, min(count, free // 2 // each))
        return count

    def _lay_out(self, number: int) -> _Set:
        request = self._request
        case = dataclasses.replace(request.case, seed=request.case.seed + number)
        call = make_call(case, request.signature, request.product)
        slots = lay_out(self._stack, self._runtime, request.signature, call, POISONS[0])
        binder = self._stack.enter_context(Binder(self._libraries))
        addresses = {name: [slot.buffer.address for slot in members] for name, members in slots.items()}
        bound = binder.bind(request.signature, specs_of(request.signature, case.arguments), addresses)
        return _Set(slots, bound)

    def _flush_buffer(self, size: int) -> int:
        address = self._runtime.malloc(size)
        self._stack.callback(self._runtime.free, address)
        return address

    def _event(self) -> int:
        event = self._runtime.create_event()
        self._stack.callback(self._runtime.destroy_event, event)
        return event

    def _keep_executors(self, announce: Announce) -> float | None:
        """Make a repeatable executor for every set; the seconds of the first phase 1, None where none was wanted.

        Nothing may be launched before: after a phase 2, phase 1 with equal shapes gives an executor out of CANN's
        cache, which refuses.
        """
        self.repeatable = self._request.reuse
        if not self.repeatable:
            return None
        announce(PHASE_1)
        seconds: list[float] = []
        self.repeatable = all(self._keep_executor(each, seconds) for each in self._sets)
        if not self.repeatable:
            for each in self._sets:
                self._release(each)
            self._notes.append(
                "no repeatable executor: phase 1 before each launch (the operator does not allow one, "
                "or phase 1 gave an executor that CANN had in its cache)"
            )
        return seconds[0]

    def _keep_executor(self, each: _Set, seconds: list[float]) -> bool:
        begun = time.perf_counter()
        executor = self._phase1(each)
        seconds.append(time.perf_counter() - begun)
        try:
            allowed = int(self._libraries.meta("aclSetAclOpExecutorRepeatable")(executor)) == 0
        except SurroundingsError:
            allowed = False
        if allowed:
            each.executor = executor
            self._stack.callback(self._release, each)
        else:
            self._runtime.error_text()  # asked and refused: not the next failure's text
            drop(self._libraries, executor)
        return allowed

    def _release(self, each: _Set) -> None:
        executor, each.executor = each.executor, None
        if executor is not None:
            drop(self._libraries, executor)

    # --- calls -------------------------------------------------------------------------------------------

    def _phase1(self, each: _Set) -> ctypes.c_void_p:
        size, executor = ctypes.c_uint64(0), ctypes.c_void_p()
        status = int(self._entry.phase1(*each.bound, ctypes.byref(size), ctypes.byref(executor)))
        if status != 0:
            raise CallFailed(self._failed(status, Phase.ONE))
        each.size = size.value
        try:
            self._room(size.value)
        except BaseException:
            drop(self._libraries, executor)
            raise
        return executor

    def _room(self, size: int) -> None:
        """A workspace of at least ``size`` bytes."""
        if self._workspace is None or self._workspace.size < size:
            if self._workspace is not None:
                self._synchronize()
                self._workspace.close()
            self._workspace = Workspace(self._runtime, size)
            self._stack.callback(self._workspace.close)

    def _phase2(self, each: _Set, executor: ctypes.c_void_p) -> None:
        assert self._workspace is not None
        address = self._workspace.address if each.size else None
        status = self._entry.phase2(address, each.size, executor, self._runtime.stream)
        if status != 0:
            raise CallFailed(self._failed(int(status), Phase.TWO))

    def _synchronize(self) -> None:
        status = self._runtime.synchronize()
        if status != 0:
            raise CallFailed(self._failed(status, Phase.SYNC))

    def _failed(self, status: int, phase: Phase) -> Outcome:
        text = self._runtime.error_text()
        if phase is not Phase.SYNC:
            self._runtime.synchronize()  # buffers are in use until then
        return Outcome("device", status, phase, message=text, served_by=self._entry.file)

    def _whole_call(self, each: _Set, announce: Announce) -> tuple[float, float, float]:
        """Seconds in phase 1, in the launch, and from there to the end of the synchronise."""
        announce(PHASE_1)
        begun = time.perf_counter()
        executor = self._phase1(each)
        planned = time.perf_counter()
        announce(PHASE_2)
        launching = time.perf_counter()
        self._phase2(each, executor)
        launched = time.perf_counter()
        announce(SYNC)
        waiting = time.perf_counter()
        self._synchronize()
        return planned - begun, launched - launching, time.perf_counter() - waiting

    def _launches(self, count: int) -> Iterator[tuple[_Set, ctypes.c_void_p | None]]:
        for _ in range(count):
            each = self._sets[self._next]
            self._next = (self._next + 1) % len(self._sets)
            yield each, each.executor

    # --- sampling ----------------------------------------------------------------------------------------

    def draw(self, announce: Announce) -> Sample:
        """One sample: flush, event, launches, event."""
        return self._sample(announce)

    def _sample(self, announce: Announce) -> Sample:
        announce(PHASE_2)
        runtime = self._runtime
        lead = 0 if self._flush else min(self._lead, self.launches)
        todo = list(self._launches(lead + self.launches))
        made: list[ctypes.c_void_p] = []
        used = 0
        try:
            if not self.repeatable:
                # Phase 1 of all launches comes before the first event: between them there are only launches.
                for each, _ in todo:
                    made.append(self._phase1(each))
            if self._flush:
                runtime.fill_async(self._flush, self.flush, 0)
            for i, (each, kept) in enumerate(todo):
                if i == lead:
                    runtime.record(self._start)
                    begun = time.perf_counter()
                executor = kept if kept is not None else made[i]
                used += 1
                self._phase2(each, executor)
            queued = time.perf_counter() - begun
            runtime.record(self._end)
        finally:
            # A phase 2 that failed has used its executor up; the ones after it are ours, and so are those that
            # were made before a phase 1 that failed.
            for executor in made[used:]:
                drop(self._libraries, executor)
        announce(SYNC)
        self._synchronize()
        seconds = runtime.seconds_between(self._start, self._end)
        bound = queued > self._flush_seconds and queued >= 0.9 * seconds
        return Sample(seconds / self.launches, bound)

    def plain(self, calls: int, *, flushed: bool) -> None:
        """Phase 1, launch and synchronise, ``calls`` times, a flush before each or none."""
        for each, _ in self._launches(calls):
            if self._flush and flushed:
                self._runtime.fill_async(self._flush, self.flush, 0)
            self._whole_call(each, lambda _step: None)

    def _time_flush(self, announce: Announce) -> float:
        """How long the flush keeps the stream busy: the head start that it gives the host."""
        if not self._flush:
            return 0.0
        announce(SYNC)
        self._runtime.fill_async(self._flush, self.flush, 0)
        self._runtime.record(self._start)
        self._runtime.fill_async(self._flush, self.flush, 0)
        self._runtime.record(self._end)
        self._synchronize()
        return self._runtime.seconds_between(self._start, self._end)

    def _calibrated(self, seconds: float) -> int:
        """Launches a sample. After a flush each set is met once: a second round would find it in the cache."""
        count = len(self._sets)
        if self._flush or seconds * count > self._request.sample:
            return self._fitting(count, seconds)
        rounds = int(ENOUGH / max(seconds * count, 1e-9)) + 1
        return max(1, min(rounds, MOST_LAUNCHES // count)) * count

    def _fitting(self, count: int, seconds: float) -> int:
        """How many of ``count`` launches a sample of a kernel of so many seconds may have."""
        return max(1, min(count, int(self._request.sample / max(seconds, 1e-9))))

    # --- the result --------------------------------------------------------------------------------------

    def _in_place(self) -> bool:
        return any(slot.content is not None for slot in self._outputs(self._sets[0]))

    @staticmethod
    def _outputs(each: _Set) -> Iterator[Slot]:
        return (slot for members in each.slots.values() for slot in members if slot.writes)

    def finish(self, announce: Announce) -> Outcome:
        """The outputs of the first set, as timed launches have left them.

        They were poisoned before the first sample. An operator that works in place has been applied to its own
        result many times over by then; its inputs are restored and it is launched once more.
        """
        first = self._sets[0]
        if self._in_place():
            self._again(POISONS[0], announce)
        announce(COPY_BACK)
        outcome = self._collected(first)
        if outcome.written:
            # A value may happen to be the poison: try with another one.
            self._again(POISONS[1], announce)
            again = self._collected(first).written
            outcome = dataclasses.replace(outcome, written=written_after_all(outcome.written, again))
        stray: list[str] = []
        for number in range(1, len(self._sets)):
            announce(COPY_BACK)
            stray += self._stray(number)
        return dataclasses.replace(outcome, findings=(*outcome.findings, *stray[:1]))

    def _stray(self, number: int) -> Iterator[str]:
        """What was written where nothing should be, in a set that is not judged.

        Sets are not all launched equally often: a write that undoes itself every second time shows in one of them.
        """
        for slot in (slot for members in self._sets[number].slots.values() for slot in members):
            damage, _ = slot.buffer.damage()
            if damage:
                yield f"OUT OF BOUNDS WRITE: {slot.name} of input set {number} was written {damage}"
            if slot.kept:
                wrong = int(np.count_nonzero(slot.buffer.read() != slot.content))
                if wrong:
                    yield f"INPUT CHANGED: {wrong} bytes of {slot.name} of input set {number}"

    def _collected(self, each: _Set) -> Outcome:
        assert self._workspace is not None
        return collect(each.slots, self._workspace, self._request.signature, self._entry.file)

    def _again(self, poison: int, announce: Announce) -> None:
        announce(SYNC)
        first = self._sets[0]
        for members in first.slots.values():
            for slot in members:
                if slot.content is not None:
                    slot.buffer.write(slot.content)
                else:
                    _poison(slot, poison)
        self._phase2(first, first.executor if first.executor is not None else self._phase1(first))
        self._synchronize()

    def prepared(self) -> Prepared:
        """What the parent is told of it."""
        return Prepared(
            self.host,
            self.launches,
            len(self._sets),
            self.flush,
            self.repeatable,
            self._entry.file,
            tuple(self._notes),
        )


def _poison(slot: Slot, byte: int) -> None:
    slot.poison = byte
    slot.buffer.fill(byte)


def _case_bytes(case: Case) -> int:
    """Device memory that one set of the case takes."""
    specs = [
        spec
        for argument in case.arguments.values()
        for spec in (argument if isinstance(argument, tuple) else (argument,))
        if isinstance(spec, TensorSpec)
    ]
    return sum(storage_bytes(spec) for spec in specs)
