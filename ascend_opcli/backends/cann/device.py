"""The device backend as the run sees it: a worker per device, renewed when a case has broken it."""

from __future__ import annotations

import dataclasses
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path

from ascend_opcli.backends.cann.discovery import child_environment
from ascend_opcli.backends.cann.execute import CALL_STEPS, SYNC
from ascend_opcli.backends.cann.plog import Plog
from ascend_opcli.backends.cann.timing import Prepare, Request
from ascend_opcli.errors import SurroundingsError
from ascend_opcli.model import Case, Outcome, Phase
from ascend_opcli.operators.signature import Signature

NAME = "device"
START_TIMEOUT = 120.0
"""Seconds that a worker may take to open the device; the first set_device is slow."""

MAX_VOICE = 64 * 1024


@dataclasses.dataclass(frozen=True, slots=True)
class Options:
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

    def __init__(self, options: Options) -> None:
        self._options = options
        self._folder = Path(tempfile.mkdtemp(prefix="opcli-"))
        self._process: subprocess.Popen[bytes] | None = None
        self._pipe: Connection | None = None
        self._count = 0
        self._voice = self._folder / "voice"
        self._heard = 0
        self._plog: Plog | None = None
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
        self._stop()
        shutil.rmtree(self._folder, ignore_errors=True)

    def run(self, signature: Signature, case: Case, product: str) -> Outcome:
        """The outcome of one case. A crash or a hang inside its call is a finding; the worker is renewed then."""
        if self._process is None:
            try:
                self._start()
            except SurroundingsError as error:
                return Outcome(NAME, error=str(error))
        assert self._pipe is not None
        assert self._plog is not None
        self._plog.mark()
        try:
            self._pipe.send((signature, case, product))
            answer = self._wait()
            assert isinstance(answer, Outcome)
            outcome = answer
        except (EOFError, OSError):
            outcome = self._dead("the preparation")
        voice = self._new_voice()
        log = self._plog.errors()
        if outcome.status != 0 and outcome.phase is Phase.SYNC:
            # After a device exception the context answers nothing sensible any more.
            self._stop()
        return dataclasses.replace(outcome, voice=voice, log=log)

    def ask(self, request: Request) -> object:
        """The worker's reply to a request of a timing, or the outcome that says why there is none.

        A worker that was lost is started again, without the stage that it held.
        """
        if self._process is None:
            try:
                self._start()
            except SurroundingsError as error:
                return Outcome(NAME, error=str(error))
        assert self._pipe is not None
        assert self._plog is not None
        if isinstance(request, Prepare):
            self._plog.mark()
        try:
            self._pipe.send(request)
            reply = self._wait(each_step=True)
        except (EOFError, OSError):
            reply = self._dead("the preparation")
        if not isinstance(reply, Outcome):
            return reply
        reply = dataclasses.replace(reply, voice=self._new_voice(), log=self._plog.errors())
        if reply.status != 0 and reply.phase is Phase.SYNC:
            self._stop()
        return reply

    # --- the worker --------------------------------------------------------------------------------------

    def _start(self) -> None:
        self._count += 1
        logs = self._folder / f"plog-{self._count}"
        logs.mkdir()
        self._plog = Plog(logs)
        environment = child_environment(os.environ, self._options.opp, builtin=self._options.builtin)
        environment["ASCEND_PROCESS_LOG_PATH"] = str(logs)
        environment["PYTHONPATH"] = os.pathsep.join(p for p in sys.path if p)
        ours, theirs = Pipe()
        self._voice = self._folder / f"voice-{self._count}"
        self._heard = 0
        command = [sys.executable, "-m", "ascend_opcli.backends.cann.worker", str(theirs.fileno())]
        command += [str(self._options.device), str(self._options.opp or ""), str(int(self._options.builtin))]
        with theirs, self._voice.open("wb") as voice:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=voice,
                stderr=voice,
                env=environment,
                pass_fds=[theirs.fileno()],
                start_new_session=True,  # Ctrl-C is the parent's to handle
            )
        self._pipe = ours
        try:
            if not ours.poll(START_TIMEOUT):
                raise SurroundingsError(f"the device did not open within {START_TIMEOUT:.0f} s")
            word, said = ours.recv()
        except (EOFError, OSError):
            cause = self._cause()
            self._stop()
            raise SurroundingsError(f"the worker could not start: {cause}{self._last_words()}") from None
        except SurroundingsError:
            self._stop()
            raise
        if word == "failed":
            self._stop()
            raise SurroundingsError(said)
        self.soc = said

    def _wait(self, *, each_step: bool = False) -> object:
        """The worker's answer. The timeout bounds all of it, or with ``each_step`` every step that it announces."""
        assert self._pipe is not None
        deadline = time.monotonic() + self._options.timeout
        step = "the preparation"
        while True:
            if not self._pipe.poll(max(0.0, deadline - time.monotonic())):
                self._stop(patience=0.0)
                return self._broken(f"hang: no answer within {self._options.timeout:g} s, in {step}", step)
            try:
                word, said = self._pipe.recv()
            except (EOFError, OSError):
                return self._dead(step)
            if word == "done":
                return said
            step = said
            if each_step:
                deadline = time.monotonic() + self._options.timeout

    def _dead(self, step: str) -> Outcome:
        cause = self._cause()
        self._stop()
        return self._broken(f"crash: {cause} in {step}", step)

    @staticmethod
    def _broken(sentence: str, step: str) -> Outcome:
        if step in CALL_STEPS:
            phase = {CALL_STEPS[0]: Phase.ONE, CALL_STEPS[1]: Phase.TWO, SYNC: Phase.SYNC}[step]
            return Outcome(NAME, phase=phase, findings=(sentence,))
        return Outcome(NAME, error=sentence)

    def _cause(self) -> str:
        """Why the worker is gone, by the way it ended."""
        assert self._process is not None
        try:
            code = self._process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            return "the worker closed its pipe"
        if code < 0:
            return signal.Signals(-code).name
        return f"the worker exited with {code}"

    def _stop(self, patience: float = 5.0) -> None:
        """End the worker; it goes by itself when its pipe closes, releasing the device, or is killed."""
        if self._pipe is not None:
            self._pipe.close()
            self._pipe = None
        if self._process is None:
            return
        process, self._process = self._process, None
        try:
            process.wait(timeout=patience)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()

    # --- what it said ------------------------------------------------------------------------------------

    def _new_voice(self) -> str:
        with self._voice.open("rb") as stream:
            stream.seek(self._heard)
            raw = stream.read(MAX_VOICE + 1)
            self._heard = stream.seek(0, os.SEEK_END)
        text = raw[:MAX_VOICE].decode("utf-8", "replace")
        if len(raw) > MAX_VOICE:
            text += "\n(cut)"
        if self._options.live and text:
            sys.stderr.write(text)
        return text

    def _last_words(self) -> str:
        lines = [line for line in self._new_voice().splitlines() if line.strip()]
        return f" ({lines[-1].strip()})" if lines else ""
