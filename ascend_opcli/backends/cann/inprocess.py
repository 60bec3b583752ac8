"""The device in this process: no child, and so no timeout; a crash of a kernel ends the run."""

from __future__ import annotations

import contextlib
import ctypes
import dataclasses
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from ascend_opcli.backends.cann.discovery import child_environment
from ascend_opcli.backends.cann.ir import ByType
from ascend_opcli.backends.cann.plog import Plog
from ascend_opcli.backends.cann.runtime import AclFailure
from ascend_opcli.backends.cann.session import Session
from ascend_opcli.backends.child import printed
from ascend_opcli.errors import SurroundingsError
from ascend_opcli.model import Case, Outcome
from ascend_opcli.operators.signature import Signature


class InProcess:
    """Runs calls one after another. Use as a context manager: the device is released at its end.

    Raises SurroundingsError where the device cannot be opened.
    """

    def __init__(self, device: int, opp: Path | None, *, live: bool = False) -> None:
        self._live = live
        self._folder = Path(tempfile.mkdtemp(prefix="opcli-"))
        self._plog = Plog(self._folder)
        try:
            os.environ.update(child_environment(os.environ, opp))
            os.environ["ASCEND_PROCESS_LOG_PATH"] = str(self._folder)
            self._session = Session(device, opp)
        except AclFailure as failure:
            self._remove()
            raise SurroundingsError(str(failure)) from None
        except BaseException:
            self._remove()
            raise
        self.soc = self._session.runtime.soc_name()

    def __enter__(self) -> InProcess:
        return self

    def __exit__(self, *exc: object) -> None:
        self._session.close()
        self._remove()

    def cann(self) -> str:
        """The version of the runtime in use; empty on a CANN that cannot be asked."""
        return self._session.runtime.cann_version()

    def run(self, signature: Signature, case: Case, product: str, way: ByType | None = None) -> Outcome:
        """The outcome of one case; what the kernel prints meanwhile is kept out of our own streams."""
        self._plog.mark()
        file = self._folder / "output"
        with _captured(file):
            outcome = self._session.run(signature, case, product, way)
            self._session.settle_log(outcome)
            self._session.renew()
        said = printed(file)
        if self._live and said:
            sys.stderr.write(said)
        return dataclasses.replace(outcome, captured_output=said, log=self._plog.errors())

    def _remove(self) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)


@contextlib.contextmanager
def _captured(path: Path) -> Iterator[None]:
    """The process's stdout and stderr go to a file; libraries in C write there by number, not by name."""
    flush = ctypes.CDLL(None).fflush
    sys.stdout.flush()
    sys.stderr.flush()
    flush(None)
    kept = [os.dup(1), os.dup(2)]
    try:
        with path.open("wb") as stream:
            os.dup2(stream.fileno(), 1)
            os.dup2(stream.fileno(), 2)
        yield
    finally:
        flush(None)
        for number, copy in enumerate(kept, 1):
            os.dup2(copy, number)
            os.close(copy)
