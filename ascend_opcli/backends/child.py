"""A process of its own for what may crash, hang or print: started, asked over a pipe, ended on every path.

The process is ``python -m MODULE FD ...``, and speaks through a :class:`Voice`. It answers ("ready", what) or
("failed", sentence) once, then every request with ("step", name) as it goes on and ("done", answer) at its end, or
("last", answer) where another process should take over. Every message bears the number of its request and the process
that sent it: what belongs to another one is dropped. Anything else that happens to the process is noticed here.
"""

from __future__ import annotations

import contextlib
import dataclasses
import enum
import io
import mmap
import os
import pickle
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from ascend_opcli.backends.descendants import PATIENCE
from ascend_opcli.errors import SurroundingsError

MAX_VOICE = 64 * 1024
"""Bytes of what is printed that are kept."""

LOOK = 0.1
"""Seconds between two looks at what a process writes, where that is bounded."""

GUARD_PATIENCE = PATIENCE + 1.0
"""Seconds that a guard has to end everything."""

CLOSING = 5.0
"""Seconds that a process has to release what it holds before it is ended by force."""

KILLED = signal.SIGKILL.name

FIRST_STEP = "the preparation"


@dataclass(frozen=True, slots=True)
class Broken:
    """A request without an answer: ``sentence`` says how the process was lost, ``step`` what it was doing.

    ``ended`` is the way in which it ended by itself: a signal's name, or a sentence.
    """

    sentence: str
    step: str
    ended: str = ""


@dataclass(frozen=True, slots=True)
class Stamped:
    """What a message says, the number of the request that it answers, and the process that sent it."""

    number: int
    process: int
    said: Any


class Speaker:
    """The worker's end of the pipe. A copy of the worker, forked by foreign code, goes when it would speak."""

    def __init__(self, fd: int) -> None:
        self._pipe = Connection(fd)
        # What foreign code starts must not hold the pipe.
        os.set_inheritable(fd, False)
        self._process, self._number = os.getpid(), 0
        self._copies = mmap.mmap(-1, 1)

    def receive(self) -> Any:
        """The next request. Raises EOFError where there will be none."""
        self._number, request = self._pipe.recv()
        self._copies[0] = 0
        return request

    def send(self, word: str, said: Any) -> None:
        """Say something of the request that was received last."""
        if os.getpid() != self._process:
            self._copies[0] = 1
            os._exit(0)
        self._pipe.send((word, Stamped(self._number, self._process, said)))

    def copied(self) -> bool:
        """Whether a copy of this process has come to speak since the last request."""
        return bool(self._copies[0])


class Child:
    """One worker process, renewed by :meth:`start` after it was lost.

    ``folder`` holds what it prints. ``what`` is how a sentence calls what it opens; ``watched`` is a folder that may
    not grow beyond ``limit`` bytes while a request runs. With ``guarded`` whatever it starts ends with it, and the
    folder goes where this process is killed (:mod:`.guard`; Linux only). ``dropped`` says that another process answered
    the last request too.
    """

    def __init__(
        self,
        module: str,
        folder: Path,
        *,
        what: str,
        start_timeout: float,
        timeout: float,
        live: bool = False,
        patience: float = CLOSING,
        watched: Path | None = None,
        guarded: bool = False,
    ) -> None:
        self._module, self._folder, self._what = module, folder, what
        self._start_timeout, self._timeout, self._live = start_timeout, timeout, live
        self._patience, self._watched = patience, watched
        self._guarded = guarded and sys.platform.startswith("linux")
        self._speaker = self._number = 0
        self.dropped = False
        self._process: subprocess.Popen[bytes] | None = None
        self._pipe: Connection | None = None
        self._output_file = folder / "output"
        self._count = 0
        self.limit: int | None = None

    @property
    def running(self) -> bool:
        """Whether there is a process to ask."""
        return self._process is not None

    def start(self, arguments: Sequence[str], environment: Mapping[str, str]) -> Any:
        """Start it; what it says of itself. Raises SurroundingsError where it cannot start."""
        self._count += 1
        ours, theirs = Pipe()
        self._output_file = self._folder / f"output-{self._count}"
        guard = ["ascend_opcli.backends.guard", str(self._folder)] if self._guarded else []
        command = [sys.executable, "-m", *guard, self._module, str(theirs.fileno()), *arguments]
        path = os.pathsep.join(p for p in sys.path if p)
        # Appended to: what has been read is cut off, and the file stays small.
        with theirs, self._output_file.open("ab") as stream:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=stream,
                stderr=stream,
                env={**environment, "PYTHONPATH": path},
                pass_fds=[theirs.fileno()],
                start_new_session=True,  # Ctrl-C is the parent's to handle
            )
        self._pipe = ours
        try:
            if not ours.poll(self._start_timeout):
                raise SurroundingsError(f"{self._what} did not open within {self._start_timeout:.0f} s")
            word, stamped = _received(ours)
            self._speaker, said = _stamp(stamped).process, _stamp(stamped).said
        except (EOFError, OSError):
            cause = self._cause()
            self.stop()
            raise SurroundingsError(f"the worker could not start: {cause}{self._last_words()}") from None
        except SurroundingsError:
            self.stop(patience=0.0)
            raise
        if word == "failed":
            self.stop()
            raise SurroundingsError(said)
        return said

    def ask(self, request: object, timeout: float | None = None, *, each_step: bool = False) -> Any:
        """The answer to a request, or how the process was lost over it.

        The timeout bounds all of it, or with ``each_step`` every step that it announces.
        """
        timeout = self._timeout if timeout is None else timeout
        assert self._pipe is not None
        step = FIRST_STEP
        self._number += 1
        self.dropped = False
        try:
            self._pipe.send((self._number, request))
            deadline = time.monotonic() + timeout
            while True:
                grown = self._wait(deadline, timeout)
                if grown is not None:
                    self.stop(patience=0.0)
                    return Broken(f"{grown}, in {step}", step)
                word, stamped = _received(self._pipe)
                one = _stamp(stamped)
                if (one.number, one.process) != (self._number, self._speaker):
                    self.dropped |= one.number == self._number
                    continue
                said = one.said
                if word == "last":
                    self.stop()
                if word in ("done", "last"):
                    return said
                step = said
                if each_step:
                    deadline = time.monotonic() + timeout
        except (EOFError, OSError):
            cause = self._cause()
            self.stop()
            return Broken(f"crash: {cause} in {step}", step, cause)
        except BaseException:
            # The request was broken off, by Ctrl-C say: what it does now is nobody's concern.
            self.stop(patience=0.0)
            raise

    def _wait(self, deadline: float, timeout: float) -> str | None:
        """None once there is something to read; else why the process must be ended."""
        assert self._pipe is not None
        while True:
            left = deadline - time.monotonic()
            bounded = self._watched is not None and self.limit is not None
            if self._pipe.poll(max(0.0, min(left, LOOK) if bounded else left)):
                return None
            if bounded and (size := _size(self._watched)) > (self.limit or 0):
                return f"WROTE TOO MUCH: {size:,} bytes of files, more than the limit of {self.limit:,}"
            if left <= 0:
                return f"hang: no answer within {timeout:g} s"

    def stop(self, patience: float | None = None) -> None:
        """End it; it goes by itself when its pipe closes, releasing what it holds, or is killed."""
        if self._pipe is not None:
            self._pipe.close()
            self._pipe = None
        if self._process is None:
            return
        try:
            _finish(self._process, self._patience if patience is None else patience, self._guarded)
        finally:
            self._process = None

    def _cause(self) -> str:
        """Why the process is gone, by the way it ended."""
        assert self._process is not None
        if not _finish(self._process, 10.0, self._guarded):
            return "the worker closed its pipe"
        return ended(self._process.returncode, "the worker")

    @property
    def has_voice(self) -> bool:
        """Whether the file that holds what it prints is there."""
        return self._output_file.exists()

    # --- what it said ------------------------------------------------------------------------------------

    def new_output(self) -> str:
        """What it printed since the last time."""
        try:
            text = printed(self._output_file)
            os.truncate(self._output_file, 0)
        except FileNotFoundError:  # foreign code may remove what it likes
            return ""
        if self._live and text:
            sys.stderr.write(text)
        return text

    def _last_words(self) -> str:
        lines = [line for line in self.new_output().splitlines() if line.strip()]
        return f" ({lines[-1].strip()})" if lines else ""


def printed(path: Path) -> str:
    """What was printed into a file, cut where it is long."""
    with path.open("rb") as stream:
        raw = stream.read(MAX_VOICE + 1)
    text = raw[:MAX_VOICE].decode("utf-8", "replace")
    return text if len(raw) <= MAX_VOICE else text + "\n(cut)"


def _finish(process: subprocess.Popen[bytes], patience: float, guarded: bool) -> bool:
    """Wait for a process and end what it has left in its session; whether it went by itself.

    A guard is told to end what it guards before it is ended itself.

    Its number is not free until it is waited for: only then may the group no longer be meant.
    """
    if process.returncode is not None:
        return True
    try:
        if _goes(process, patience):
            return True
        if guarded:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(process.pid, signal.SIGTERM)
            _goes(process, GUARD_PATIENCE)
        return False
    finally:
        # Also where a signal breaks the waiting off.
        _kill_group(process.pid)
        process.wait()


def _goes(process: subprocess.Popen[bytes], patience: float) -> bool:
    deadline = time.monotonic() + patience
    pause = 0.001
    while not _is_gone(process):
        if time.monotonic() >= deadline:
            return False
        time.sleep(pause)
        pause = min(2 * pause, 0.05)
    return True


def _is_gone(process: subprocess.Popen[bytes]) -> bool:
    return os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT | os.WNOHANG) is not None


def _kill_group(group: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, signal.SIGKILL)


def ended(code: int, who: str) -> str:
    """How a process ended, in words: the signal's name, or its exit code."""
    if code >= 0:
        return f"{who} exited with {code}"
    try:
        return signal.Signals(-code).name
    except ValueError:
        return f"signal {-code}"


def killed(who: str, step: str) -> str:
    """What a loss by SIGKILL means. No kernel, library or function sends it: the system does that is out of memory, or
    somebody who ends processes."""
    what = "the host was probably out of memory (dmesg tells); raise its limit, or run smaller cases"
    return f"{who} was killed (SIGKILL) in {step}: {what}"


def _size(folder: Path | None) -> int:
    """Bytes of the files below a folder, as long as they are; links are not followed."""
    total = 0
    for root, _, names in os.walk(folder or ""):
        for name in names:
            with contextlib.suppress(OSError):
                total += os.lstat(os.path.join(root, name)).st_size
    return total


# --- answers --------------------------------------------------------------------------------------------------


class _Answers(pickle.Unpickler):
    """Reads arrays and our own dataclasses and enums; a process that runs foreign code names nothing else."""

    def find_class(self, module: str, name: str) -> Any:
        if module in _ARRAYS and name in _ARRAYS[module]:
            return super().find_class(module, name)
        if module.partition(".")[0] in ("ascend_opcli", "ml_dtypes"):
            found = super().find_class(module, name)
            ours = dataclasses.is_dataclass(found) or (
                isinstance(found, type) and issubclass(found, enum.Enum)
            )
            if isinstance(found, type) and (ours or module.startswith("ml_dtypes")):
                return found
        raise pickle.UnpicklingError(f"an answer may not hold {module}.{name}")


_NUMPY = frozenset({"_reconstruct", "scalar"})
_ARRAYS: Mapping[str, frozenset[str]] = {
    "numpy": frozenset({"ndarray", "dtype"}),
    "numpy.core.multiarray": _NUMPY,
    "numpy._core.multiarray": _NUMPY,
    "numpy.core.numeric": frozenset({"_frombuffer"}),
    "numpy._core.numeric": frozenset({"_frombuffer"}),
    "builtins": frozenset({"complex", "set", "frozenset", "bytearray"}),
    "_codecs": frozenset({"encode"}),
}


def _received(pipe: Connection) -> tuple[str, Any]:
    """The next message. Raises OSError for one that is none of ours: the process is then as good as gone."""
    try:
        word, said = _Answers(io.BytesIO(pipe.recv_bytes())).load()
    except (pickle.UnpicklingError, ValueError, TypeError, AttributeError, ImportError, IndexError) as error:
        raise OSError(f"the worker's answer cannot be read: {error}") from None
    return word, said


def _stamp(said: Any) -> Stamped:
    if not isinstance(said, Stamped):
        raise OSError("the worker's answer has no number")
    return said
