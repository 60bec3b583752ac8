"""A candidate in the operator's place, and what is to be found out about it beside its numbers."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from ascend_opcli.backends import host_timing
from ascend_opcli.backends.candidate.candidate import Candidate
from ascend_opcli.backends.candidate.function import NAME
from ascend_opcli.backends.candidate.probe import Way, other_inputs
from ascend_opcli.backends.candidate.requests import Prepared
from ascend_opcli.backends.candidate.timing import moves
from ascend_opcli.execution.backend import differs, repeated
from ascend_opcli.execution.candidate_stage import SAME_INPUTS, WHOLE_PROGRAM, TimedCandidate, outcome_of
from ascend_opcli.execution.shortcuts import Shortcuts, unmoved, wrong_outputs
from ascend_opcli.execution.timed import How, NoTime
from ascend_opcli.model import Again, Call, Case, Outcome, StandardChoice, Verdict
from ascend_opcli.operators.contract.phase_one import predict, unchecked
from ascend_opcli.operators.operator import Operator
from ascend_opcli.reference.call import make_call, with_result_shapes
from ascend_opcli.reference.derived import DataFailure
from ascend_opcli.reference.fitting import ReferenceFailure
from ascend_opcli.verification.second_call import Goldens, failed_outputs, fault

INVENTED = "the numbers of the case in reverse order"
NEXT_SEED = "on inputs of the next seed"


class ByCandidate:
    """A Python function or a program. It has no product, no contract and no status: a refusal cannot be judged.

    ``standard`` is that of the command line, by which the second call is judged too.
    """

    name = NAME
    product: str | None = None

    def __init__(self, candidate: Candidate, standard: StandardChoice | None = None) -> None:
        self._candidate, self._standard = candidate, standard
        self._options = candidate.options
        # Two versions of one candidate are to be compared: its hash is in no fingerprint.
        files = self._options.source.is_command
        self.fingerprint: Mapping[str, str] = {"tensors": "files" if files else self._options.tensors}
        self._shortcuts = Shortcuts()

    def refuse(self, operator: Operator, case: Case, product: str) -> Outcome | None:  # noqa: ARG002
        """A case that expects a refusal is not for a candidate."""
        return no_status(case, self.name)

    def run(self, operator: Operator, case: Case, call: Call) -> Outcome:
        """One call, and once more on other inputs: what was computed follows its inputs, and is right there too."""
        settled = not_to_run(operator, case, self.name)
        if settled is not None:
            return settled
        kept: dict[str, None] = {}

        def once() -> Outcome:
            ran = self._candidate.run(operator.signature, case, call)
            kept.update(dict.fromkeys(ran.kept))
            return ran.outcome

        outcome = repeated(case, once)
        if not outcome.outputs:
            return outcome
        notes = differs(operator, predict(operator, case.arguments, call.product), outcome)
        said = _Said([*outcome.findings], [*outcome.notes, *notes], outcome.captured_output)
        goldens = Goldens(operator)
        said.again += self._shortcuts.found(operator, case, call, outcome, goldens)
        again = _Again(self._candidate, operator, case, call, outcome, self._standard, goldens)
        again.look(said, list(kept))
        return dataclasses.replace(
            outcome,
            findings=tuple(said.findings),
            notes=tuple(said.notes),
            captured_output=said.captured_output,
            again=tuple(said.again),
        )

    def copy_rate(self) -> float:
        """A copy in the memory of the host."""
        return host_timing.copy_rate()

    def prepare(self, operator: Operator, case: Case, product: str, how: How) -> TimedCandidate:
        """The case laid out and warmed up in the candidate's process."""
        hazard = unchecked(operator, case.arguments)
        if hazard is not None:
            raise NoTime(Outcome(NAME, findings=(f"not checked by the operator: {hazard}",)))
        call = make_call(case, operator.signature, product)
        reply = self._candidate.prepare(operator.signature, case, call, cold=how.cold, sets=how.sets)
        if not isinstance(reply, Prepared):
            raise NoTime(outcome_of(reply))
        notes = (WHOLE_PROGRAM,) if self._options.source.is_command else () if moves(call) else (SAME_INPUTS,)
        return TimedCandidate(self._candidate, reply, notes, operator, case, product)


@dataclasses.dataclass(slots=True)
class _Said:
    findings: list[str]
    notes: list[str]
    captured_output: str
    again: list[Again] = dataclasses.field(default_factory=list)

    @property
    def faults(self) -> bool:
        return bool(self.findings or self.again)


class _Again:
    """The calls after a case's own, each judged: a result that is right once only is not right."""

    def __init__(
        self,
        candidate: Candidate,
        operator: Operator,
        case: Case,
        call: Call,
        outcome: Outcome,
        standard: StandardChoice | None,
        goldens: Goldens,
    ) -> None:
        self._candidate, self._operator = candidate, operator
        self._case, self._call, self._outcome = case, call, outcome
        self._standard, self._goldens = standard, goldens

    def look(self, said: _Said, kept: list[str]) -> None:
        """Add what is found. ``kept`` are outputs in memory of an earlier call into which nothing was written."""
        way, other = Way.DRAWN, self._inputs(Way.DRAWN)
        if other is None:
            way, other = Way.REVERSED, self._inputs(Way.REVERSED)
        if kept:
            self._kept(said, kept, other)
        if not said.faults and way is Way.REVERSED:
            # Of data that nobody has declared right, and where there are none, the case's own are asked again.
            self._own(said)
        if not said.faults and other is not None:
            self._other(said, other, way)

    def _kept(self, said: _Said, kept: list[str], other: Call | None) -> None:
        text = "{} is memory that an earlier call returned, with nothing written into it since"
        wrong = set(wrong_outputs(self._operator, self._call, self._outcome, kept, self._goldens))
        if other is not None:
            # A table that is right whatever the inputs may be handed out for ever.
            wrong.update(wrong_outputs(self._operator, other, self._outcome, kept, self._goldens))
        said.again += [Again(f"CACHED RESULT: {text.format(name)}") for name in kept if name in wrong]
        if other is None or self._operator.reference is None:
            said.notes += [text.format(name) for name in kept if name not in wrong]

    def _own(self, said: _Said) -> None:
        ran = self._candidate.run(self._operator.signature, self._case, self._call)
        said.captured_output += ran.outcome.captured_output
        if self._failed(said, ran.outcome, "on a second call"):
            return
        self._judge(said, self._call, ran.outcome, "on a second call with the same inputs")

    def _other(self, said: _Said, other: Call, way: Way) -> None:
        outcome = self._ask(other, way)
        said.captured_output += outcome.captured_output
        invented = way is Way.REVERSED
        if self._failed(said, outcome, f"on {INVENTED}" if invented else "on other inputs", doubt=invented):
            return
        found = self._unmoved(other, outcome)
        for name in [name for name, text in found.items() if invented and text.startswith("CONSTANT")]:
            # A constant is its own reverse, and so are many honest results: any numbers at all tell more.
            if not self._still(name):
                del found[name]
        if found:
            where = f"on {INVENTED}" if invented else NEXT_SEED
            wrong = self._fault(other, outcome)
            told = [self._again("; ".join(found.values()), other, wrong, where)]
            said.again += told
            return
        if invented and not self._operator.elementwise:
            self._judge(said, other, outcome, f"on {INVENTED}, which the operator may not take", doubt=True)
        else:
            self._judge(said, other, outcome, f"on {INVENTED}" if invented else NEXT_SEED)

    def _still(self, name: str) -> bool:
        """Whether an output that was constant is the same, and wrong, for any numbers at all."""
        other = self._inputs(Way.ANY)
        if other is None:
            return False
        outcome = self._ask(other, Way.ANY)
        return bool(outcome.outputs) and name in self._unmoved(other, outcome)

    def _unmoved(self, other: Call, outcome: Outcome) -> dict[str, str]:
        return unmoved(self._operator, (self._call, other), self._outcome, outcome, self._goldens)

    def _failed(self, said: _Said, outcome: Outcome, where: str, *, doubt: bool = False) -> bool:
        """Whether a call gave no outputs, or was found to do wrong beside them."""
        texts = [f"{where}: {text}" for text in outcome.findings]
        if doubt:
            said.notes += texts
        else:
            said.findings += texts
        said.notes += [f"{where}: {text}" for text in (outcome.error, outcome.skip) if text]
        return bool(texts) or not outcome.outputs

    def _judge(self, said: _Said, call: Call, outcome: Outcome, where: str, *, doubt: bool = False) -> None:
        wrong = self._fault(call, outcome)
        # Where the case's own call is wrong that is what is told.
        if wrong is None or self._fault(self._call, self._outcome) is not None:
            return
        if doubt:
            said.notes.append(f"{where}: {wrong.reason}")
        else:
            said.again.append(self._again(f"WRONG AGAIN: {where}: {wrong.reason}", call, wrong, where))

    def _again(self, text: str, call: Call, wrong: Verdict | None, where: str) -> Again:
        """What is told of another call, with the reports of what failed there."""
        drawn = where == NEXT_SEED
        return Again(
            text,
            failed_outputs(wrong, where) if wrong is not None else (),
            self._case.seed + 1 if drawn else None,
            call.inputs_sha256 if drawn else "",
        )

    def _fault(self, call: Call, outcome: Outcome) -> Verdict | None:
        truth = self._goldens.of(call)
        return fault(self._case, self._operator, call, outcome, truth, override=self._standard)

    def _inputs(self, way: Way) -> Call | None:
        try:
            other = other_inputs(self._case, self._call, self._operator.signature, way)
            if other is None:
                return None
            return with_result_shapes(self._case, other, self._operator)[1]
        except (DataFailure, ReferenceFailure, ValueError, MemoryError):
            return None

    def _ask(self, other: Call, way: Way) -> Outcome:
        return self._candidate.run_other(self._operator.signature, self._case, other, way).outcome


def not_to_run(operator: Operator, case: Case, name: str) -> Outcome | None:
    """The outcome of a case whose outputs nobody may ask for: a refusal, or a call that would leave its tensors."""
    refused = no_status(case, name)
    if refused is not None:
        return refused
    hazard = unchecked(operator, case.arguments)
    return Outcome(name, findings=(f"not checked by the operator: {hazard}",)) if hazard is not None else None


def no_status(case: Case, name: str) -> Outcome | None:
    """The outcome of a case that demands a refusal of something that gives no status."""
    if case.status is None or case.status.code == 0:
        return None
    who = "a candidate gives" if name == NAME else "files give"
    return Outcome(name, skip=f"cannot judge: the case expects a refusal, and {who} no status")
