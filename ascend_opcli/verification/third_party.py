"""The third-party result of the dual standard: the host result, a file, a folder of results, or an expression."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

import numpy as np

from ascend_opcli.errors import UsageError
from ascend_opcli.model import Call, Case, Outcome, StandardChoice, TensorSpec
from ascend_opcli.operators.operator import Operator
from ascend_opcli.reference.blocks import host_outputs, obstacle
from ascend_opcli.reference.evaluate import Arrays, host_result, host_run
from ascend_opcli.reference.fitting import ReferenceFailure
from ascend_opcli.reference.resolve import resolve
from ascend_opcli.tensors import exchange, files
from ascend_opcli.tensors.flat import Streamed
from ascend_opcli.tensors.returned import NoResult, Results, read_output
from ascend_opcli.verification.comparison import Comparison, Places
from ascend_opcli.verification.judge import judge
from ascend_opcli.verification.overflow import overflowed
from ascend_opcli.verification.standards.choice import choose
from ascend_opcli.verification.standards.named import make

HOST = "host"
_SUFFIXES = (".npy", ".npz", ".bin")


class ThirdParty:
    """What another implementation gives for the outputs of one call; worked out when it is first asked for."""

    def __init__(self, case: Case, operator: Operator, call: Call, outcome: Outcome) -> None:
        self._case, self._operator, self._call, self._outcome = case, operator, call, outcome
        self._results: dict[str, Arrays] = {}
        self.notes: dict[str, None] = {}
        self._run: tuple[Arrays, bool] | None = None
        self._streamed = any(isinstance(o, Streamed) for o in outcome.outputs.values())

    def result(self, choice: StandardChoice, name: str, spec: TensorSpec) -> np.ndarray | None:
        """The result that a choice of the dual standard names, for one output; None for any other standard.

        Raises UsageError where there is none: a file that does not fit, an expression that does not work, an
        operator without a reference; ReferenceFailure where a folder has no result for this call.
        """
        if choice.name != "dual":
            return None
        word = str(choice.numbers.get("third", HOST))
        path, _, key = word.partition(".npz:")
        path, key = (path + ".npz", key) if key else (word, "")
        if path.endswith(_SUFFIXES):
            return self._from_file(path, key or None, choice, spec)
        if word != HOST and os.path.isdir(folder := self._near(word, choice)):
            return self._from_folder(folder, name, spec)
        found = self.host(name) if word == HOST else self._of_expression(word, name)
        if found is None:
            raise UsageError(
                f"{self._case.id}: the standard dual needs a third-party result for {name}, and "
                f"{self._operator.name} has no reference: dual:third=FILE or an expression"
            )
        return found

    def doubt(self, comparison: Comparison, choice: StandardChoice) -> str:
        """Why a third-party result from elsewhere is no measure of errors, in a sentence; empty where it is one.

        It fails the operator's own standard. Where the host result does too, it may be as far off as level L0 of the
        double benchmark lets it be beside that.
        """
        name, dtype, third = comparison.name, comparison.dtype, comparison.third
        elsewhere = str(choice.numbers.get("third", HOST)) != HOST
        if third is None or not elsewhere or make(choice, dtype).whole != "dual":
            return ""
        plain = dataclasses.replace(self._case, standard=None, output_standards={})
        own = choose(name, dtype, plain, self._operator.standard, None)
        theirs = dataclasses.replace(comparison, got=third, written=None, inputs={})
        report = judge(theirs, own)
        if report.passed:
            return ""
        try:
            floor = self.host(name)
        except ReferenceFailure:
            floor = None
        if isinstance(floor, np.ndarray) and not judge(dataclasses.replace(theirs, got=floor), own).passed:
            coarse = StandardChoice("dual", {"level": "L0"}, own.origin)
            if judge(dataclasses.replace(theirs, third=floor), coarse).passed:
                return ""
        return f"the third-party result of {name} itself fails {own.name}: {report.reason}"

    def host(self, name: str) -> np.ndarray | None:
        """The host result of an output; None where the operator has no reference."""
        if self._outcome.backend == HOST:
            return _output(self._outcome.outputs, name)
        if self._operator.reference is None:
            return None
        if HOST not in self._results:
            self._results[HOST] = host_result(self._operator, self._call)
        return _output(self._results[HOST], name)

    def overflow(self, comparison: Comparison) -> Places | None:
        """Where the host result of an output overflows on the way; None where it does not, or nothing tells.

        It is worked out anew, so that no outcome is its own witness; of a case in blocks, which nothing but the host
        runs, infinities tell alone.
        """
        if self._operator.reference is None:
            return None
        try:
            if self._streamed:
                own, flagged = self.host(comparison.name), False
            else:
                if self._run is None:
                    self._run = host_run(self._operator, self._call)
                own, flagged = _output(self._run[0], comparison.name), self._run[1]
        except ReferenceFailure:
            return None
        return None if own is None else overflowed(dataclasses.replace(comparison, got=own), flagged=flagged)

    def _of_expression(self, text: str, name: str) -> np.ndarray | None:
        if text not in self._results:
            try:
                other = resolve(self._case.operator, signature=self._case.signature, reference=text)
            except ValueError as error:
                raise UsageError(f"dual:third={text} is neither a file nor an expression: {error}") from None
            if other.reference is None:
                raise UsageError(f"dual:third={text}: code is not run here; give a file or an expression")
            if self._streamed and obstacle(other, self._case, 1 << 62) is not None:
                raise UsageError(
                    f"{self._case.id}: dual:third={text} is not elementwise, and the case is run in blocks"
                )
            self._results[text] = (host_outputs if self._streamed else host_result)(other, self._call)
        return _output(self._results[text], name)

    def _from_file(self, path: str, key: str | None, choice: StandardChoice, spec: TensorSpec) -> np.ndarray:
        found = self._near(path, choice)
        try:
            return files.read(str(found), key, spec.dtype, spec.shape).reshape(spec.shape)
        except ValueError as error:
            raise UsageError(f"{self._case.id}: {error}") from None

    def _from_folder(self, folder: Path, name: str, spec: TensorSpec) -> np.ndarray:
        """The output that another place has written for the same inputs. Raises ReferenceFailure where it has none."""
        try:
            place = _results(str(folder)).find(exchange.folder_name(self._case), self._call, layouts=False)
            if place.findings:
                raise NoResult(f"FAILED: what made it was found wrong: {place.findings[0]}")
            found = read_output(place, name, spec)
        except NoResult as error:
            raise ReferenceFailure(f"no third-party result of {name}: {error}") from None
        laid_out = exchange.difference(place.manifest, self._call)
        if laid_out:
            self.notes[f"the third-party result is that of the same values: {laid_out}"] = None
        return found

    def _near(self, path: str, choice: StandardChoice) -> Path:
        if "command line" in choice.origin:
            return Path(path)
        # As the other files of a case: beside it, and never outside its folder.
        folder = Path(self._case.path).resolve().parent
        found = (folder / path).resolve()
        if not found.is_relative_to(folder):
            raise UsageError(f"{self._case.id}: the third-party result {path} lies outside the folder")
        return found


@lru_cache(maxsize=4)
def _results(folder: str) -> Results:
    return Results(Path(folder))


def _output(outputs: Mapping[str, np.ndarray | tuple[np.ndarray, ...]], name: str) -> np.ndarray | None:
    """An output by name; the member of a list by ``out[1]``."""
    bare, _, index = name.partition("[")
    found = outputs.get(bare)
    if isinstance(found, tuple):
        found = found[int(index[:-1])] if index else None
    return found if isinstance(found, (np.ndarray, Streamed)) else None
