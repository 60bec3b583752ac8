"""A runtime with its libraries: what both the worker and an in-process run drive."""

from __future__ import annotations

import dataclasses
import os
import time
from pathlib import Path

from ascend_opcli.backends.cann import ir
from ascend_opcli.backends.cann.discovery import builtin_libraries, packages
from ascend_opcli.backends.cann.execute import Announce, execute, failure_outcome
from ascend_opcli.backends.cann.ir import ByType
from ascend_opcli.backends.cann.libraries import Libraries
from ascend_opcli.backends.cann.reopening import Reopening
from ascend_opcli.backends.cann.runtime import AclFailure, Runtime, load_pyacl
from ascend_opcli.backends.cann.timing import Bench
from ascend_opcli.errors import OpcliError
from ascend_opcli.model import Case, Outcome
from ascend_opcli.operators.signature import Signature
from ascend_opcli.reference.call import make_call

LOG_DELAY = 0.3
"""Seconds after which CANN's log has been written."""


class Session:
    """A runtime with its libraries: what both the worker and an in-process run drive."""

    def __init__(self, device: int, opp: Path | None, *, builtin: bool = False) -> None:
        # The operator packages load with ACL: pyACL and its init come first, as op-plugin has it.
        self.runtime = Runtime(load_pyacl(), device)
        custom = [] if builtin else packages(os.environ, opp)
        self.libraries = Libraries(custom, builtin_libraries(os.environ), opp)
        self._reopening = Reopening()
        self.bench = Bench(self.runtime, self.libraries)

    def close(self) -> None:
        """Release the stage of a timing that was broken off, then the device."""
        self.bench.close()
        self.runtime.close()

    def renew(self) -> None:
        """A new context where the last call has spoilt the old one; without success the next case says so."""
        if not self.runtime.healthy and not self._reopening.closed:
            try:
                self.runtime.renew()
                self._reopening.came_back()
            except AclFailure as failure:
                self._reopening.failed(str(failure))

    def settle_log(self, outcome: object) -> None:
        """Let the log of a call come to its file before the next one begins.

        CANN writes it by a thread of its own, some 200 ms later. Where that cannot be hurried, a call that failed is
        worth the wait.
        """
        if (
            not self.libraries.flush_log()
            and isinstance(outcome, Outcome)
            and (outcome.status or outcome.error)
        ):
            time.sleep(LOG_DELAY)

    def run(
        self,
        signature: Signature,
        case: Case,
        product: str,
        way: ByType | None = None,
        announce: Announce = lambda _step: None,
    ) -> Outcome:
        """One case, through aclnn or the ``way`` by type; a runtime call that fails outside the case's own call is an
        error of the surroundings.
        """
        if self._reopening.closed:
            return Outcome("device", error=self._reopening.closed)
        try:
            call = make_call(case, signature, product)
            level = 1 if case.deterministic is None and case.repeat > 1 else case.deterministic
            with self.runtime.deterministic(level):
                if way is not None:
                    return ir.execute(self.runtime, way, signature, case, call, announce)
                outcome = execute(self.runtime, self.libraries, signature, case, call, announce)
            return dataclasses.replace(outcome, notes=(*outcome.notes, *self.libraries.notes(signature.name)))
        except AclFailure as failure:
            return failure_outcome(failure)
        except OpcliError as error:
            return Outcome("device", error=str(error))
