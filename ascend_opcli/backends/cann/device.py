"""The device backend as the run sees it: a worker per device, renewed when a case has broken it."""

from __future__ import annotations

import dataclasses
import os
import shutil
import tempfile
from pathlib import Path

from ascend_opcli.backends.cann.discovery import child_environment
from ascend_opcli.backends.cann.execute import CALL_STEPS, SYNC
from ascend_opcli.backends.cann.ir import ByType
from ascend_opcli.backends.cann.plog import Plog
from ascend_opcli.backends.cann.reopening import Reopening
from ascend_opcli.backends.cann.selftest_requests import Planted, SelfTestCheck
from ascend_opcli.backends.cann.timing import Prepare, Request
from ascend_opcli.backends.child import KILLED, Broken, Child, killed
from ascend_opcli.errors import SurroundingsError
from ascend_opcli.model import Case, Outcome, Phase
from ascend_opcli.operators.signature import Signature

NAME = "device"
START_TIMEOUT = 120.0
"""Seconds that a worker may take to open the device; the first set_device is slow."""

PRINTED = ("ASCEND_SLOG_PRINT_TO_STDOUT", "ASCEND_LOG_PRINT_TO_STDOUT")
"""Variables with which CANN prints its log in place of writing it."""


@dataclasses.dataclass(frozen=True, slots=True)
class DeviceOptions:
    """How to run: the device's number, an operator package that goes first, a timeout, live output.

    ``timeout`` is in seconds, for a case that is run, and for each step of one that is timed.

    ``builtin`` leaves out every custom package: the operators are those that CANN ships.
    """

    device: int = 0
    opp: Path | None = None
    timeout: float = 60.0
    live: bool = False
    builtin: bool = False


class Device:
    """Runs calls in a child process, one after another. Use as a context manager: no child outlives it.

    Raises SurroundingsError where no worker can be started.
    """

    name = NAME

    def __init__(self, options: DeviceOptions) -> None:
        self.options = options
        self._folder = Path(tempfile.mkdtemp(prefix="opcli-"))
        self._child = Child(
            "ascend_opcli.backends.cann.worker",
            self._folder,
            what="the device",
            start_timeout=START_TIMEOUT,
            timeout=options.timeout,
            live=options.live,
        )
        self._count = 0
        self._reopening = Reopening()
        self._plog = Plog(self._folder)
        self.soc = ""
        try:
            self._start()
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Device:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def close(self) -> None:
        """End the worker, by force where it does not go, and remove what it left."""
        self._child.stop()
        shutil.rmtree(self._folder, ignore_errors=True)

    def run(self, signature: Signature, case: Case, product: str, way: ByType | None = None) -> Outcome:
        """The outcome of one case. A crash or a hang inside its call is a finding; the worker is renewed then."""
        reply = self._asked((signature, case, product, way), mark=True, each_step=False)
        assert isinstance(reply, Outcome)
        return reply

    def ask(self, request: Request | SelfTestCheck | Planted) -> object:
        """The worker's reply to a request of a timing or the self-test, or the outcome that says why there is none.

        A worker that was lost is started again, without the stage that it held.
        """
        return self._asked(request, mark=isinstance(request, Prepare), each_step=True)

    def _asked(self, request: object, *, mark: bool, each_step: bool) -> object:
        if not self._child.running and (closed := self._reopened()):
            return Outcome(NAME, error=closed)
        if mark:
            self._plog.mark()
        reply = self._child.ask(request, each_step=each_step)
        if isinstance(reply, Broken):
            reply = _broken(reply)
        if not isinstance(reply, Outcome):
            return reply
        return dataclasses.replace(reply, captured_output=self._child.new_output(), log=self._plog.errors())

    def _reopened(self) -> str:
        """Start a worker again; empty, or why there is none."""
        if self._reopening.closed:
            return self._reopening.closed
        try:
            self._start()
        except SurroundingsError as error:
            self._reopening.failed(str(error))
            return str(error)
        self._reopening.came_back()
        return ""

    def _start(self) -> None:
        self._count += 1
        logs = self._folder / f"plog-{self._count}"
        logs.mkdir()
        self._plog = Plog(logs)
        environment = child_environment(os.environ, self.options.opp, builtin=self.options.builtin)
        environment["ASCEND_PROCESS_LOG_PATH"] = str(logs)
        if not self.options.live:  # a line that is printed stands in no file, and under no case
            for name in PRINTED:
                environment.pop(name, None)
        arguments = [str(self.options.device), str(self.options.opp or ""), str(int(self.options.builtin))]
        self.soc = self._child.start(arguments, environment)
        self._child.new_output()  # what CANN says while it opens is no case's


def _broken(lost: Broken) -> Outcome:
    """Inside the case's own call a loss is the operator's, elsewhere the surroundings'; so is one by SIGKILL."""
    if lost.ended == KILLED:
        return Outcome(NAME, error=killed("the worker", lost.step))
    if lost.step in CALL_STEPS:
        phase = {CALL_STEPS[0]: Phase.ONE, CALL_STEPS[1]: Phase.TWO, SYNC: Phase.SYNC}[lost.step]
        return Outcome(NAME, phase=phase, findings=(lost.sentence,))
    return Outcome(NAME, error=lost.sentence)
