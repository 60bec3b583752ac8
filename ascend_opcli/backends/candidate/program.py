"""A program in the operator's place: run once a case on a folder of files, without a shell."""

from __future__ import annotations

import contextlib
import os
import resource
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from ascend_opcli.backends.candidate.function import NAME, THE_CALL
from ascend_opcli.backends.candidate.limits import (
    limit_memory,
    memory_text,
    out_of_memory,
    says_too_large,
    tail,
)
from ascend_opcli.backends.candidate.source import DIR
from ascend_opcli.backends.child import ended, killed
from ascend_opcli.backends.descendants import die_with_the_parent, end_all
from ascend_opcli.model import Call, Case, Outcome, TensorSpec
from ascend_opcli.tensors import exchange
from ascend_opcli.tensors.returned import Place, read_outputs


class Program:
    """A command whose words hold ``{dir}``. Its folders lie below ``folder`` and are gone after each case.

    ``memory`` bounds its data, in bytes; 0 where nothing does. What it leaves running ends with it.
    """

    def __init__(self, words: Sequence[str], folder: Path, format: str) -> None:
        self._words, self._folder, self._format = tuple(words), folder, format
        self._count = 0
        self.memory = 0

    def run(self, case: Case, call: Call, announce: Callable[[str], None]) -> Outcome:
        """One call: its files written, the program run, what it has written read."""
        try:
            place = self.prepare(case, call)
        except OSError as error:
            return Outcome(NAME, error=f"cannot write the files of the case: {error}")
        try:
            announce(THE_CALL)
            failure = self.launch(place)
            announce("the reading of its files")
            return failure or collected(place, call)
        finally:
            self.drop(place)

    def prepare(self, case: Case, call: Call) -> Place:
        """A folder of its own with a call's inputs; there is no golden in it. Raises OSError."""
        self._count += 1
        folder = self._folder / str(self._count) / exchange.folder_name(case)
        # The manifest as it was written: the file is the program's to change.
        return Place(folder, exchange.write(folder, case, call, format=self._format))

    def drop(self, place: Place) -> None:
        """Remove a folder, whatever was written there."""
        shutil.rmtree(place.folder.parent, ignore_errors=True)

    def launch(self, place: Place) -> Outcome | None:
        """Run the program on a folder; the outcome where it has failed."""
        words = [word.replace(DIR, str(place.folder)) for word in self._words]
        try:
            code = subprocess.run(
                words, stdin=subprocess.DEVNULL, check=False, preexec_fn=self._begin
            ).returncode
        except OSError as error:
            return Outcome(NAME, error=f"{words[0]} cannot be run: {error.strerror or error}")
        finally:
            end_all()
        limit = resource.getrlimit(resource.RLIMIT_FSIZE)[0]
        said = tail(sys.stdout.fileno()) if code else ""
        if code == -signal.SIGXFSZ or _at_limit(place.folder, limit) or says_too_large(said):
            how = f" ({ended(code, 'the program')})" if code else ""
            return Outcome(
                NAME, findings=(f"WROTE TOO MUCH: a file beyond the limit of {limit:,} bytes{how}",)
            )
        if code == 0:
            return None
        why = f"; {memory_text(self.memory)}" if self.memory and out_of_memory(said) else ""
        if code == -signal.SIGKILL:
            return Outcome(NAME, error=killed("the program", THE_CALL))
        if code < 0:
            return Outcome(NAME, findings=(f"crash: {ended(code, 'the program')} in {THE_CALL}{why}",))
        return Outcome(NAME, findings=(f"EXIT CODE: the program exited with {code}{why}",))

    def _begin(self) -> None:
        """In the program's process, before it is the program."""
        die_with_the_parent()
        if self.memory:
            limit_memory(self.memory)


def _at_limit(place: Path, limit: int) -> bool:
    """Whether a file has grown to the limit, one of the case or what the program has printed."""
    if limit == resource.RLIM_INFINITY:
        return False
    with contextlib.suppress(OSError):
        if os.fstat(sys.stdout.fileno()).st_size >= limit:
            return True
    return any(
        os.path.getsize(path) >= limit
        for path in (os.path.join(root, name) for root, _, names in os.walk(place) for name in names)
        if not os.path.islink(path)
    )


def collected(place: Place, call: Call) -> Outcome:
    """The outputs that a program has left in its folder, or what is wrong with them."""
    outputs, wrong = read_outputs(place, call)
    if wrong:
        return Outcome(NAME, findings=tuple(wrong))
    shared = [n for n, spec in call.outputs.items() if isinstance(spec, TensorSpec) and spec.alias]
    notes = (f"a program has no memory in common with opcli: alias of {', '.join(shared)} is not tried",)
    # The files go away: no array may look into them.
    copied = {
        name: tuple(np.array(a) for a in array) if isinstance(array, tuple) else np.array(array)
        for name, array in outputs.items()
    }
    return Outcome(NAME, outputs=copied, notes=notes if shared else ())
