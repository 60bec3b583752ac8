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
import traceback
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from ascend_opcli.backends.candidate.buffers import NotUsable, kind_of
from ascend_opcli.backends.candidate.function import NAME, Function, LoadFailure, NoFunction, load
from ascend_opcli.backends.candidate.probe import other_inputs
from ascend_opcli.backends.candidate.program import Program
from ascend_opcli.backends.candidate.requests import Draw, Finish, Load, Loaded, Prepare, Ran, Run, RunOther
from ascend_opcli.backends.candidate.source import Source, served_by
from ascend_opcli.backends.candidate.timing import Stage
from ascend_opcli.backends.child import die_with_the_parent
from ascend_opcli.errors import OpcliError
from ascend_opcli.model import Call, Case, Outcome
from ascend_opcli.operators.call import make_call
from ascend_opcli.operators.signature import Signature

Announce = Any


class Session:
    """One candidate, loaded when it is first asked for."""

    def __init__(self, options: dict[str, Any]) -> None:
        self._source = Source(**{**options["source"], "words": tuple(options["source"]["words"])})
        self._tensors: str = options["tensors"]
        self._candidate: Function | Program | None = None
        self._folder = Path(options["folder"])
        self._format: str = options["format"]
        self._served = ""
        self._stage: Stage | None = None

    def answer(self, request: Any, announce: Announce) -> object:
        """The reply to one request."""
        if isinstance(request, Load):
            return self._load(announce)
        if isinstance(request, Run):
            _limit_files(request.limit)
            call = make_call(request.case, request.signature, request.product)
            return self._call(request.case, call, request.signature, announce)
        if isinstance(request, RunOther):
            _limit_files(request.limit)
            return self._other(request, announce)
        if isinstance(request, Prepare):
            _limit_files(request.limit)
            assert self._candidate is not None
            self._stage = Stage(self._candidate, request, self._served, announce)
            return self._stage.about
        assert self._stage is not None
        if isinstance(request, Draw):
            return self._stage.draw(announce)
        assert isinstance(request, Finish)
        stage, self._stage = self._stage, None
        return stage.finish(announce, read=request.read)

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


def _limit_files(limit: int) -> None:
    """No file that this process or its programs write may grow beyond ``limit`` bytes."""
    hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
    soft = limit if hard == resource.RLIM_INFINITY else min(limit, hard)
    resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def _stand_aside() -> None:
    """If memory runs out it is this process that goes, and no core file is left of it."""
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000", "ascii")


def main() -> None:
    """Serve requests until the pipe closes."""
    pipe = Connection(int(sys.argv[1]))
    # What the candidate starts must not hold the pipe.
    os.set_inheritable(pipe.fileno(), False)
    die_with_the_parent()
    session = Session(json.loads(sys.argv[2]))
    _stand_aside()
    pipe.send(("ready", None))
    while True:
        try:
            request = pipe.recv()
        except EOFError:
            break
        answer = _answer(session, request, pipe)
        ctypes.CDLL(None).fflush(None)
        with contextlib.suppress(Exception):
            sys.stdout.flush()
            sys.stderr.flush()
        pipe.send(("done", answer))
    # Threads and exit handlers of the candidate do not hold the run up.
    os._exit(0)


def _answer(session: Session, request: Any, pipe: Connection) -> object:
    def announce(step: str) -> None:
        pipe.send(("step", step))

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
