"""A candidate as the run sees it: a process of its own, renewed when a case has broken it."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

from ascend_opcli.backends.candidate.function import NAME
from ascend_opcli.backends.candidate.limits import memory_text, out_of_memory
from ascend_opcli.backends.candidate.probe import Way
from ascend_opcli.backends.candidate.requests import (
    Finished,
    Load,
    Loaded,
    Prepare,
    Ran,
    RunOther,
    RunRequest,
)
from ascend_opcli.backends.candidate.source import Source
from ascend_opcli.backends.child import FIRST_STEP, KILLED, Broken, Child, killed
from ascend_opcli.errors import SurroundingsError, UsageError
from ascend_opcli.model import Call, Case, Outcome
from ascend_opcli.operators.signature import Signature
from ascend_opcli.tensors.returned import bytes_of

START_TIMEOUT = 120.0
"""Seconds that importing a candidate may take; PyTorch alone takes some."""

WORK = "work"
"""Below the candidate's folder: where the files of the cases are."""

FILES_LEAST, FILES_TIMES = 256 << 20, 4
"""What a candidate may write: so many bytes, and so many times the bytes of the call's tensors."""


@dataclasses.dataclass(frozen=True, slots=True)
class CandidateOptions:
    """What serves the calls, on which tensors (numpy, torch, npu), in which files (bin, npy), seconds a case.

    ``memory`` bounds the bytes that it may take; 0 where nothing does.
    """

    source: Source
    tensors: str = "numpy"
    format: str = "bin"
    timeout: float = 60.0
    live: bool = False
    memory: int = 0


class Candidate:
    """Runs calls in a child process, one after another. Use as a context manager: no child outlives it.

    Raises UsageError for a file without the function, SurroundingsError where PyTorch or torch_npu is missing.
    """

    def __init__(self, options: CandidateOptions) -> None:
        self.options = options
        self._folder = Path(tempfile.mkdtemp(prefix="opcli-"))
        self._child = Child(
            "ascend_opcli.backends.candidate.worker",
            self._folder,
            what="the candidate",
            start_timeout=START_TIMEOUT,
            timeout=options.timeout,
            live=options.live,
            patience=0.5,
            watched=self._folder,
            guarded=True,
        )
        self._fault: Outcome | None = None
        self._loaded = Loaded()
        try:
            self._start()
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Candidate:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def close(self) -> None:
        """End the process, by force where it does not go, and remove what it left."""
        self._child.stop()
        _remove(self._folder)

    def run(self, signature: Signature, case: Case, call: Call) -> Ran:
        """One case. Whatever the candidate does, it costs this case alone."""
        self._child.limit = files_limit(call)
        return _ran(self.ask(RunRequest(signature, case, call.product, self._child.limit)))

    def run_other(self, signature: Signature, case: Case, other: Call, way: Way) -> Ran:
        """The case on the inputs of ``other``, which :func:`other_inputs` has made in that way."""
        self._child.limit = files_limit(other)
        return _ran(self.ask(RunOther(signature, case, other.product, self._child.limit, other.outputs, way)))

    def prepare(self, signature: Signature, case: Case, call: Call, *, cold: bool, sets: int) -> object:
        """A stage for timing, or the outcome that says why there is none."""
        self._child.limit = files_limit(call)
        return self.ask(Prepare(signature, case, call.product, self._child.limit, cold, sets))

    def ask(self, request: Any) -> object:
        """The reply to a request; an outcome says who served it and what was printed."""
        if self._fault is not None:
            return self._fault
        if not self._child.running:
            try:
                self._start()
            except SurroundingsError as error:
                return Outcome(NAME, error=str(error))
            if self._fault is not None:
                return self._fault
        reply = self._child.ask(request)
        captured_output = self._child.new_output()
        if isinstance(reply, Broken):
            reply = dataclasses.replace(
                _broken(reply, captured_output, self.options.memory), served_by=self._loaded.served_by
            )
        found = []
        if self._child.dropped:
            found.append("RETURNED TWICE: another process answered too")
        if not self._there():
            found.append(
                "FOLDER REMOVED: the folder in which opcli keeps what the candidate prints and writes"
            )
            self._child.stop(patience=0.0)
        if isinstance(reply, (Ran, Finished)):
            return dataclasses.replace(reply, outcome=_with(reply.outcome, found, captured_output))
        if isinstance(reply, Outcome):
            return _with(reply, found, captured_output)
        return (
            _with(Outcome(NAME, served_by=self._loaded.served_by), found, captured_output) if found else reply
        )

    def _there(self) -> bool:
        """Whether the folder is there yet, with what we have made in it."""
        return (self._folder / WORK).is_dir() and self._child.has_voice

    def _start(self) -> None:
        work = self._folder / WORK
        self._folder.mkdir(mode=0o700, exist_ok=True)  # a candidate may have removed it
        _remove(work)
        work.mkdir()
        options = {
            "source": dataclasses.asdict(self.options.source),
            "tensors": self.options.tensors,
            "format": self.options.format,
            "folder": str(work),
            "memory": self.options.memory,
        }
        self._child.limit = FILES_LEAST
        self._child.start([json.dumps(options)], os.environ)
        loaded = self._child.ask(Load(), START_TIMEOUT)
        if isinstance(loaded, Broken):
            if loaded.ended == KILLED:
                raise SurroundingsError(killed("the candidate's process", loaded.step))
            loaded = Loaded(fault=loaded.sentence)
        captured_output = self._child.new_output()
        if isinstance(loaded, Outcome):
            raise SurroundingsError(loaded.error)
        assert isinstance(loaded, Loaded)
        if loaded.usage:
            raise UsageError(f"--candidate: {loaded.usage}")
        if loaded.unusable:
            raise SurroundingsError(loaded.unusable)
        self._loaded = loaded
        if loaded.fault:
            source = self.options.source
            self._fault = Outcome(
                NAME,
                findings=(loaded.fault,),
                captured_output=captured_output,
                served_by=f"{source.file}:{source.function}",
            )


def files_limit(call: Call) -> int:
    """Bytes that a candidate may write while it serves a call."""
    return FILES_LEAST + FILES_TIMES * bytes_of(call)


def _ran(reply: object) -> Ran:
    if isinstance(reply, Ran):
        return reply
    if isinstance(reply, Outcome):
        return Ran(reply)
    return Ran(Outcome(NAME, error=f"the candidate's process answered with {type(reply).__name__}"))


def _with(outcome: Outcome, found: list[str], captured_output: str) -> Outcome:
    """The outcome with what was printed and what was found, which makes an error the candidate's."""
    if not found:
        return dataclasses.replace(outcome, captured_output=captured_output)
    return dataclasses.replace(
        outcome, findings=(*outcome.findings, *found), error="", captured_output=captured_output
    )


def _broken(lost: Broken, captured_output: str, memory: int) -> Outcome:
    """From its own code on a loss is the candidate's, before that the surroundings'; so is one by SIGKILL."""
    if lost.ended == KILLED:
        return Outcome(NAME, error=killed("the candidate's process", lost.step))
    # Files that it writes from a thread grow at any step.
    if lost.step == FIRST_STEP and not lost.sentence.startswith("WROTE TOO MUCH"):
        return Outcome(NAME, error=lost.sentence)
    sentence = lost.sentence
    if memory and sentence.startswith("crash: ") and out_of_memory(captured_output):
        sentence += f"; {memory_text(memory)}"
    return Outcome(NAME, findings=(sentence,))


def _remove(folder: Path) -> None:
    """Remove a folder, whatever a candidate has made of its rights."""
    for root, names, _ in os.walk(folder):
        for name in names:
            with contextlib.suppress(OSError):
                path = os.path.join(root, name)
                if not os.path.islink(path):
                    os.chmod(path, 0o700)
    shutil.rmtree(folder, ignore_errors=True)
