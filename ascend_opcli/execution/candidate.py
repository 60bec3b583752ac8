"""A candidate in the operator's place, and what is to be found out about it beside its numbers."""

from __future__ import annotations

import dataclasses

from ascend_opcli.backends.candidate.candidate import Candidate
from ascend_opcli.backends.candidate.function import NAME
from ascend_opcli.backends.candidate.probe import other_inputs
from ascend_opcli.execution.backend import differs, repeated
from ascend_opcli.execution.shortcuts import Shortcuts, unmoved
from ascend_opcli.model import Call, Case, Outcome
from ascend_opcli.operators.contract import predict, unchecked
from ascend_opcli.operators.operator import Operator


class ByCandidate:
    """A Python function or a program. It has no product, no contract and no status: a refusal cannot be judged."""

    name = NAME
    product: str | None = None

    def __init__(self, candidate: Candidate) -> None:
        self._candidate = candidate
        self._shortcuts = Shortcuts()

    def refuse(self, operator: Operator, case: Case, product: str) -> Outcome | None:  # noqa: ARG002
        """A case that expects a refusal is not for a candidate."""
        return no_status(case, self.name)

    def run(self, operator: Operator, case: Case, call: Call) -> Outcome:
        """One call, and once more on other inputs: what was computed follows its inputs."""
        refused = no_status(case, self.name)
        if refused is not None:
            return refused
        hazard = unchecked(operator, case.arguments)
        if hazard is not None:
            return Outcome(self.name, findings=(f"not checked by the operator: {hazard}",))
        outcome = repeated(case, lambda: self._candidate.run(operator.signature, case, call))
        if not outcome.outputs:
            return outcome
        found = [*outcome.findings, *self._shortcuts.found(operator, case, call, outcome)]
        notes = [*outcome.notes, *differs(operator, predict(operator, case.arguments, call.product), outcome)]
        voice = outcome.voice
        if not found:
            probed = self._candidate.probe(operator.signature, case, call)
            if isinstance(probed, Outcome):
                found += [f"on other inputs: {text}" for text in probed.findings]
                notes += [f"on other inputs: {text}" for text in (probed.error, probed.skip) if text]
                voice += probed.voice
            elif probed.same:
                other = other_inputs(case, call, operator.signature)
                found += unmoved(operator, other, outcome, probed.same) if other is not None else ()
        return dataclasses.replace(outcome, findings=tuple(found), notes=tuple(notes), voice=voice)


def no_status(case: Case, name: str) -> Outcome | None:
    """The outcome of a case that demands a refusal of something that gives no status."""
    if case.status is None or case.status.code == 0:
        return None
    who = "a candidate gives" if name == NAME else "files give"
    return Outcome(name, skip=f"cannot judge: the case expects a refusal, and {who} no status")
