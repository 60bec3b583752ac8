"""Outputs in files: what another program has written is judged, and what was run is written for another place."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ascend_opcli.execution.candidate import no_status, not_to_run
from ascend_opcli.execution.data import folders
from ascend_opcli.execution.shortcuts import Shortcuts
from ascend_opcli.model import Call, Case, Outcome
from ascend_opcli.operators.operator import Operator
from ascend_opcli.tensors import exchange
from ascend_opcli.tensors.returned import NoResult, Results, given_outputs, read_outputs
from ascend_opcli.verification.second_call import Goldens

NAME = "outputs"


class Written:
    """Judges the outputs in a folder of case folders; nothing is run. Another call's outputs are refused."""

    name = NAME
    product: str | None = None

    def __init__(self, folder: Path) -> None:
        self._results = Results(folder)
        self._shortcuts = Shortcuts()

    def refuse(self, operator: Operator, case: Case, product: str) -> Outcome | None:  # noqa: ARG002
        """A case that expects a refusal has no outputs."""
        return no_status(case, self.name)

    def run(self, operator: Operator, case: Case, call: Call) -> Outcome:
        """The outputs that lie in the case's folder."""
        settled = not_to_run(operator, case, self.name)
        if settled is not None:
            return settled
        try:
            place = self._results.find(exchange.folder_name(case), call)
        except NoResult as error:
            return Outcome(self.name, error=str(error))
        folder = str(place.folder)
        outputs, wrong = read_outputs(place, call)
        outcome = Outcome(
            self.name, outputs=outputs, findings=tuple(wrong), notes=_once(case), served_by=folder
        )
        if not outputs:
            return outcome
        found = tuple(f"when it was run: {text}" for text in place.findings)
        again = self._shortcuts.found(operator, case, call, outcome, Goldens(operator))
        return dataclasses.replace(outcome, findings=found, again=again)


class Given:
    """Judges the outputs that a case brings along: another machine has made them, and nothing is run."""

    name = NAME
    product: str | None = None

    def __init__(self) -> None:
        self._shortcuts = Shortcuts()

    def refuse(self, operator: Operator, case: Case, product: str) -> Outcome | None:  # noqa: ARG002
        """A case that expects a refusal has no outputs."""
        return no_status(case, self.name)

    def run(self, operator: Operator, case: Case, call: Call) -> Outcome:
        """The outputs under ``got``."""
        settled = not_to_run(operator, case, self.name)
        if settled is not None:
            return settled
        outputs, wrong = given_outputs(case.got, call)
        outcome = Outcome(self.name, outputs=outputs, findings=tuple(wrong), notes=_once(case))
        if not outputs:
            return outcome
        again = self._shortcuts.found(operator, case, call, outcome, Goldens(operator))
        return dataclasses.replace(outcome, findings=(), again=again)


def _once(case: Case) -> tuple[str, ...]:
    """What a case that demands repeats is told where the outputs are there already."""
    if case.repeat < 2:
        return ()
    return (f"repeat {case.repeat}: nothing was repeated, for nothing is run where the outputs are given",)


class Keeper:
    """Writes what every case gave into a folder a case: ``--outputs`` and ``--third-party`` read it elsewhere.

    ``kept`` counts the cases; ``broken`` holds the first sentence of the operating system, where it refused.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.kept = 0
        self.broken: str | None = None
        self._names: dict[tuple[str, str], str] = {}

    def expect(self, cases: Sequence[Case]) -> None:
        """What will be kept. Raises UsageError where two of the cases would have one folder."""
        names = folders(cases, self.folder, "save the outputs of each file in a folder of its own")
        self._names = {(c.path, c.name): name for c, name in zip(cases, names, strict=True)}

    def __call__(self, case: Case, call: Call, outcome: Outcome) -> None:
        """Keep the outputs of one case, where there are any."""
        if not outcome.outputs or outcome.status != 0:
            return
        made_by: dict[str, Any] = {"backend": outcome.backend, "served_by": outcome.served_by}
        findings = [*outcome.findings, *(other.said for other in outcome.again)]
        if findings:
            made_by["findings"] = findings
        place = self.folder / self._names.get((case.path, case.name), exchange.folder_name(case))
        try:
            exchange.set_aside(place, call)
            exchange.write(
                place,
                case,
                call,
                format="npy",
                inputs=False,
                outputs=outcome.outputs,
                more={"made_by": made_by},
            )
            self.kept += 1
        except OSError as error:
            self.broken = self.broken or f"{error.filename or place}: {error.strerror or error}"
