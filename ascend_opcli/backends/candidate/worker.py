"""The process in which a candidate lives: it takes calls from a pipe and answers with outcomes.

Started as ``python -m ascend_opcli.backends.candidate.worker FD OPTIONS``, OPTIONS being JSON. Messages are those of
:mod:`ascend_opcli.backends.child`.
"""

from __future__ import annotations

import contextlib
import ctypes
import dataclasses
import json
import os
import resource
import sys
import time
import traceback
from pathlib import Path
from typing import Any

from ascend_opcli.backends.candidate.buffers import NotUsable, kind_of
from ascend_opcli.backends.candidate.function import NAME, Function, LoadFailure, NoFunction, load
from ascend_opcli.backends.candidate.limits import data_bytes, limit_files, limit_memory
from ascend_opcli.backends.candidate.probe import other_inputs
from ascend_opcli.backends.candidate.program import Program
from ascend_opcli.backends.candidate.requests import (
    Draw,
    Finish,
    Finished,
    Load,
    Loaded,
    Prepare,
    Ran,
    RunOther,
    RunRequest,
)
from ascend_opcli.backends.candidate.source import Source, served_by
from ascend_opcli.backends.candidate.timing import CandidateStage
from ascend_opcli.backends.child import Speaker
from ascend_opcli.backends.descendants import become_subreaper, descendants, die_with_the_parent, end_strays
from ascend_opcli.errors import OpcliError
from ascend_opcli.model import Call, Case, Outcome
from ascend_opcli.operators.signature import Signature
from ascend_opcli.reference.call import make_call

Announce = Any


class CandidateSession:
    """One candidate, loaded when it is first asked for."""

    def __init__(self, options: dict[str, Any]) -> None:
        self._source = Source(**{**options["source"], "words": tuple(options["source"]["words"])})
        self._tensors: str = options["tensors"]
        self._candidate: Function | Program | None = None
        self._folder = Path(options["folder"])
        self._format: str = options["format"]
        # What is on an NPU is mapped as data of the process too.
        self._memory: int = 0 if self._tensors == "npu" else options["memory"]
        self._base = 0
        self._served = ""
        self._stage: CandidateStage | None = None

    @property
    def runs_programs(self) -> bool:
        """Whether the candidate is a command."""
        return isinstance(self._candidate, Program)

    @property
    def exhausted(self) -> bool:
        """Whether the candidate has met its limit of memory: what it still holds would count in the next case."""
        return isinstance(self._candidate, Function) and self._candidate.exhausted

    def answer(self, request: Any, announce: Announce) -> object:
        """The reply to one request."""
        if isinstance(request, Load):
            if self._memory:
                limit_memory(self._memory)
            loaded = self._load(announce)
            self._base = data_bytes()
            return loaded
        if isinstance(request, (RunRequest, RunOther, Prepare)):
            limit_files(request.limit)
            self._grant(request.limit)
        if isinstance(request, RunRequest):
            call = make_call(request.case, request.signature, request.product)
            return self._call(request.case, call, request.signature, announce)
        if isinstance(request, RunOther):
            return self._other(request, announce)
        if isinstance(request, Prepare):
            assert self._candidate is not None
            self._stage = CandidateStage(self._candidate, request, self._served, announce)
            return self._stage.about
        assert self._stage is not None
        if isinstance(request, Draw):
            return self._stage.draw(announce)
        assert isinstance(request, Finish)
        stage, self._stage = self._stage, None
        return stage.finish(announce, read=request.read)

    def _grant(self, more: int) -> None:
        """Bound what the candidate may take, beside what it has taken since its import and what we lay out for it."""
        assert self._candidate is not None
        if not self._memory:
            return
        self._candidate.memory = self._memory
        if isinstance(self._candidate, Function):
            limit_memory(self._base + self._memory + more)

    def _load(self, announce: Announce) -> Loaded:
        source = self._source
        if source.is_command:
            self._candidate = Program(source.words, self._folder, self._format)
            self._served = served_by(source)
            return Loaded(self._served)
        try:
            kind = kind_of(self._tensors)
        except NotUsable as error:
            return Loaded(unusable=str(error))
        announce("the import")
        try:
            function, digest = load(source.file, source.function)
        except LoadFailure as error:
            return Loaded(fault=str(error))
        except NoFunction as error:
            return Loaded(usage=str(error))
        except OSError as error:
            return Loaded(usage=f"{source.file}: {error.strerror or error}")
        self._candidate = Function(function, source.file, kind)
        self._served = f"{source.file}:{source.function} (sha256 {digest})"
        return Loaded(self._served)

    def _call(self, case: Case, call: Call, signature: Signature, announce: Announce) -> Ran:
        if isinstance(self._candidate, Program):
            served = served_by(self._source)  # it may have been built anew since
            return _served(Ran(self._candidate.run(case, call, announce)), served)
        assert self._candidate is not None
        return _served(self._candidate.run(signature, call, announce), self._served)

    def _other(self, request: RunOther, announce: Announce) -> Ran:
        call = make_call(request.case, request.signature, request.product)
        other = other_inputs(request.case, call, request.signature, request.way)
        if other is None:
            return Ran(Outcome(NAME, error="no other inputs can be made"))
        other = dataclasses.replace(other, outputs=request.outputs)
        return self._call(request.case, other, request.signature, announce)


def _served(ran: Ran, by: str) -> Ran:
    return dataclasses.replace(ran, outcome=dataclasses.replace(ran.outcome, served_by=by))


def _stand_aside() -> None:
    """If memory runs out it is this process that goes, and no core file is left of it."""
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000", "ascii")


COPY_PATIENCE = 1.0
"""Seconds that are given to a copy of the process, forked by the candidate, to come back from the function."""

COPIED = "RETURNED TWICE: the function forked, and the copy of its process came back from it too"

_forks = 0


def _forked() -> None:
    global _forks
    _forks += 1


def main() -> None:
    """Serve requests until the pipe closes."""
    speaker = Speaker(int(sys.argv[1]))
    die_with_the_parent()
    become_subreaper()
    os.register_at_fork(after_in_parent=_forked)
    session = CandidateSession(json.loads(sys.argv[2]))
    _stand_aside()
    speaker.send("ready", None)
    while True:
        try:
            request = speaker.receive()
        except EOFError:
            break
        before = _forks
        answer = _answer(session, request, speaker)
        ctypes.CDLL(None).fflush(None)
        with contextlib.suppress(Exception):
            sys.stdout.flush()
            sys.stderr.flush()
        if _forks > before and not session.runs_programs:
            _await_copy(speaker)
        end_strays()
        if speaker.copied():
            answer = _found(answer, COPIED)
        speaker.send("last" if session.exhausted else "done", answer)
        if session.exhausted:
            break
    # Threads and exit handlers of the candidate do not hold the run up.
    os._exit(0)


def _await_copy(speaker: Speaker) -> None:
    deadline = time.monotonic() + COPY_PATIENCE
    while not speaker.copied() and descendants() and time.monotonic() < deadline:
        time.sleep(0.005)


def _found(answer: object, text: str) -> object:
    """The answer with one more finding."""
    if isinstance(answer, Loaded):
        return dataclasses.replace(answer, fault=answer.fault or text)
    if isinstance(answer, (Ran, Finished)):
        outcome = answer.outcome
        return dataclasses.replace(
            answer, outcome=dataclasses.replace(outcome, findings=(*outcome.findings, text))
        )
    findings = answer.findings if isinstance(answer, Outcome) else ()
    return dataclasses.replace(
        answer if isinstance(answer, Outcome) else Outcome(NAME), findings=(*findings, text)
    )


def _answer(session: CandidateSession, request: Any, speaker: Speaker) -> object:
    def announce(step: str) -> None:
        speaker.send("step", step)

    try:
        return session.answer(request, announce)
    except OpcliError as error:
        return Outcome(NAME, error=str(error))
    except MemoryError as error:
        return Outcome(NAME, error=f"does not fit in memory: {error}")
    except Exception as error:
        with contextlib.suppress(OSError):
            traceback.print_exc()
        return Outcome(NAME, error=f"the worker failed: {type(error).__name__}: {error}")


if __name__ == "__main__":
    main()
