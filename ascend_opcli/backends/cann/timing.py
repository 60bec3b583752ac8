"""The timing of an operator on the device, as the worker answers for it.

The parent prepares a stage, draws samples until it has enough, and finishes it: how many samples that takes is
statistics, and not decided here.
"""

from __future__ import annotations

import contextlib
import statistics
from collections.abc import Callable

from ascend_opcli.backends.cann.execute import Announce
from ascend_opcli.backends.cann.libraries import Libraries
from ascend_opcli.backends.cann.runtime import AclFailure, Runtime
from ascend_opcli.backends.cann.stage import UNKNOWN_L2, CallFailed, DeviceStage
from ascend_opcli.backends.cann.timing_requests import About as About
from ascend_opcli.backends.cann.timing_requests import Copy as Copy
from ascend_opcli.backends.cann.timing_requests import CopyRate as CopyRate
from ascend_opcli.backends.cann.timing_requests import Draw as Draw
from ascend_opcli.backends.cann.timing_requests import Finish as Finish
from ascend_opcli.backends.cann.timing_requests import Prepare as Prepare
from ascend_opcli.backends.cann.timing_requests import Prepared as Prepared
from ascend_opcli.backends.cann.timing_requests import Request as Request
from ascend_opcli.backends.cann.timing_requests import Sample as Sample
from ascend_opcli.errors import SurroundingsError
from ascend_opcli.model import Outcome

COPIES = 5
COPY_BYTES = 64 << 20


class Bench:
    """Answers the requests of a parent; holds at most one stage."""

    def __init__(self, runtime: Runtime, libraries: Libraries) -> None:
        self._runtime, self._libraries = runtime, libraries
        self._stage: DeviceStage | None = None

    def close(self) -> None:
        """Release the stage that may be there."""
        if self._stage is not None:
            stage, self._stage = self._stage, None
            stage.close()

    def answer(self, request: Request, announce: Announce) -> object:
        """The reply, or an :class:`Outcome` that says what failed; the stage is released then."""
        try:
            return self._answer(request, announce)
        except CallFailed as failed:
            self._close_after_failure()
            return failed.outcome
        except AclFailure as failure:
            self._close_after_failure()
            return Outcome("device", error=f"the surroundings failed: {failure}")
        except SurroundingsError as error:
            self._close_after_failure()
            return Outcome("device", error=str(error))

    def _close_after_failure(self) -> None:
        # What cannot be released after a device exception goes with the process.
        with contextlib.suppress(AclFailure):
            self.close()

    def _answer(self, request: Request, announce: Announce) -> object:
        if isinstance(request, About):
            return {"soc": self._runtime.soc_name(), "cann": self._runtime.cann_version()}
        if isinstance(request, Copy):
            return copy_rate(self._runtime)
        if isinstance(request, Prepare):
            self.close()
            self._stage = DeviceStage(self._runtime, self._libraries, request, announce)
            return self._stage.prepared()
        if self._stage is None:
            raise SurroundingsError("no case is prepared for timing")
        if isinstance(request, Draw):
            return self._stage.draw(announce)
        outcome = self._stage.finish(announce) if request.read else Outcome("device")
        self.close()
        return outcome


def copy_rate(runtime: Runtime) -> CopyRate:
    """The median of :data:`COPIES` copies within the device, each of more than the cache holds."""
    size = max(COPY_BYTES, runtime.l2_bytes() or UNKNOWN_L2)
    free = runtime.free_bytes()
    if free is not None:
        size = max(1 << 16, min(size, free // 4))
    with contextlib.ExitStack() as stack:

        def kept(made: int, release: Callable[[int], None]) -> int:
            stack.callback(release, made)
            return made

        here, there = (kept(runtime.malloc(size), runtime.free) for _ in range(2))
        start, end = (kept(runtime.create_event(), runtime.destroy_event) for _ in range(2))
        times: list[float] = []
        for _ in range(COPIES):
            runtime.copy_async(there, here, size)  # keeps the stream busy until the rest is queued
            runtime.record(start)
            runtime.copy_async(there, here, size)
            runtime.record(end)
            status = runtime.synchronize()
            if status != 0:
                raise AclFailure("acl.rt.synchronize_stream", status, runtime.error_text())
            times.append(runtime.seconds_between(start, end))
    return CopyRate(2 * size / max(statistics.median(times), 1e-12), size)


def plain_calls(runtime: Runtime, libraries: Libraries, request: Prepare, warm_ups: int, calls: int) -> bool:
    """Exactly so many calls on the input sets in turns: what a profiler looks at. Whether there were flushes.

    No flush stands before a warm-up: what a call launches by itself can be told from them. Raises
    SurroundingsError where a call fails.
    """
    try:
        stage = DeviceStage(runtime, libraries, request, lambda _step: None, warm=False)
        with contextlib.closing(stage):
            stage.plain(warm_ups, flushed=False)
            stage.plain(calls, flushed=True)
            return stage.flush > 0
    except CallFailed as failed:
        raise SurroundingsError(
            f"the call failed with {failed.outcome.status} in phase {failed.outcome.phase.value}"
        ) from None
