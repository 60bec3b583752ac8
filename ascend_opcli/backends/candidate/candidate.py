"""A candidate as the run sees it: a process of its own, renewed when a case has broken it."""

from __future__ import annotations

import dataclasses
import json
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

from ascend_opcli.backends.candidate.function import NAME, THE_CALL
from ascend_opcli.backends.candidate.probe import Way
from ascend_opcli.backends.candidate.requests import Finished, Load, Loaded, Prepare, Ran, Run, RunOther
from ascend_opcli.backends.candidate.source import Source
from ascend_opcli.backends.child import Broken, Child
from ascend_opcli.errors import SurroundingsError, UsageError
from ascend_opcli.model import Call, Case, Outcome
from ascend_opcli.operators.signature import Signature
from ascend_opcli.tensors.returned import bytes_of

START_TIMEOUT = 120.0
"""Seconds that importing a candidate may take; PyTorch alone takes some."""

FILES_LEAST, FILES_TIMES = 256 << 20, 4
"""What a candidate may write: so many bytes, and so many times the bytes of the call's tensors."""


@dataclasses.dataclass(frozen=True, slots=True)
class Options:
    """What serves the calls, on which tensors (numpy, torch, npu), in which files (bin, npy), seconds a case."""

    source: Source
    tensors: str = "numpy"
    format: str = "bin"
    timeout: float = 60.0
    live: bool = False


class Candidate:
    """Runs calls in a child process, one after another. Use as a context manager: no child outlives it.

    Raises UsageError for a file without the function, SurroundingsError where PyTorch or torch_npu is missing.
    """

    def __init__(self, options: Options) -> None:
        self._options = options
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
        shutil.rmtree(self._folder, ignore_errors=True)

    def run(self, signature: Signature, case: Case, call: Call) -> Ran:
        """One case. Whatever the candidate does, it costs this case alone."""
        self._child.limit = files_limit(call)
        return _ran(self.ask(Run(signature, case, call.product, self._child.limit)))

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
        if isinstance(reply, Broken):
            reply = dataclasses.replace(_broken(reply), served_by=self._loaded.served_by)
        if isinstance(reply, (Ran, Finished)):
            outcome = dataclasses.replace(reply.outcome, voice=self._child.new_voice())
            return dataclasses.replace(reply, outcome=outcome)
        if not isinstance(reply, Outcome):
            return reply
        return dataclasses.replace(reply, voice=self._child.new_voice())

    def _start(self) -> None:
        work = self._folder / "work"
        shutil.rmtree(work, ignore_errors=True)
        work.mkdir()
        options = {
            "source": dataclasses.asdict(self._options.source),
            "tensors": self._options.tensors,
            "format": self._options.format,
            "folder": str(work),
        }
        self._child.limit = FILES_LEAST
        self._child.start([json.dumps(options)], os.environ)
        loaded = self._child.ask(Load(), START_TIMEOUT)
        if isinstance(loaded, Broken):
            loaded = Loaded(fault=loaded.sentence)
        voice = self._child.new_voice()
        if isinstance(loaded, Outcome):
            raise SurroundingsError(loaded.error)
        assert isinstance(loaded, Loaded)
        if loaded.usage:
            raise UsageError(f"--candidate: {loaded.usage}")
        if loaded.unusable:
            raise SurroundingsError(loaded.unusable)
        self._loaded = loaded
        if loaded.fault:
            source = self._options.source
            self._fault = Outcome(
                NAME, findings=(loaded.fault,), voice=voice, served_by=f"{source.file}:{source.function}"
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


def _broken(lost: Broken) -> Outcome:
    """Inside its own code a loss is the candidate's, elsewhere the surroundings'."""
    # Files that it writes from a thread grow at any step.
    theirs = lost.step == THE_CALL or lost.sentence.startswith("WROTE TOO MUCH")
    return Outcome(NAME, findings=(lost.sentence,)) if theirs else Outcome(NAME, error=lost.sentence)
