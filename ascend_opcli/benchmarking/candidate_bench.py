"""A candidate as what is timed: its process lays out input sets, takes samples and gives the result to be judged."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from ascend_opcli.backends import host_timing
from ascend_opcli.backends.candidate.candidate import Candidate
from ascend_opcli.backends.candidate.function import NAME
from ascend_opcli.backends.candidate.requests import Draw, Finish, Finished, Prepared, Sample
from ascend_opcli.backends.candidate.timing import moves, timed_call
from ascend_opcli.benchmarking.benches import About, How, NoTime
from ascend_opcli.benchmarking.fingerprint import of_machine
from ascend_opcli.model import Again, Case, HostTimes, Outcome
from ascend_opcli.operators.contract.phase_one import unchecked
from ascend_opcli.operators.operator import Operator
from ascend_opcli.reference.call import make_call
from ascend_opcli.verification.second_call import Goldens, failed_outputs, fault

SAME_INPUTS = "the inputs are the same in every sample: only real numbers that are drawn are changed"
WHOLE_PROGRAM = "the time is that of the whole program: its start, the reading and the writing of its files"


class CandidateBench:
    """A function or a program. Two versions of one candidate are to be compared: its hash is in no fingerprint."""

    name = NAME
    product: str | None = None

    def __init__(self, candidate: Candidate, *, tensors: str, command: bool) -> None:
        self._candidate, self._command = candidate, command
        self.fingerprint: Mapping[str, str] = {**of_machine(), "tensors": "files" if command else tensors}

    def copy_rate(self) -> float:
        """A copy in the memory of the host."""
        return host_timing.copy_rate()

    def prepare(self, operator: Operator, case: Case, product: str, how: How) -> _Stage:
        """The case laid out and warmed up in the candidate's process."""
        hazard = unchecked(operator, case.arguments)
        if hazard is not None:
            raise NoTime(Outcome(NAME, findings=(f"not checked by the operator: {hazard}",)))
        call = make_call(case, operator.signature, product)
        reply = self._candidate.prepare(operator.signature, case, call, cold=how.cold, sets=how.sets)
        if not isinstance(reply, Prepared):
            raise NoTime(_outcome(reply))
        notes = (WHOLE_PROGRAM,) if self._command else () if moves(call) else (SAME_INPUTS,)
        return _Stage(self._candidate, reply, notes, operator, case, product)


class _Stage:
    def __init__(
        self,
        candidate: Candidate,
        prepared: Prepared,
        notes: tuple[str, ...],
        operator: Operator,
        case: Case,
        product: str,
    ) -> None:
        self._candidate = candidate
        self._operator, self._case, self._product = operator, case, product
        self.about = About(
            HostTimes(first=prepared.first),
            prepared.launches,
            prepared.sets,
            prepared.flush,
            notes,
            prepared.served_by,
        )

    def draw(self) -> float:
        reply = self._candidate.ask(Draw())
        if not isinstance(reply, Sample):
            raise NoTime(_outcome(reply))
        return reply.seconds

    def notes(self) -> list[str]:
        return []

    def finish(self, *, read: bool) -> Outcome:
        reply = self._candidate.ask(Finish(read))
        if not isinstance(reply, Finished):
            return _outcome(reply)
        outcome, timed = reply.outcome, reply.timed
        if timed is None or outcome.findings or outcome.error or outcome.skip:
            return outcome
        found = tuple(f"in the last timed call: {text}" for text in timed.findings)
        again = () if found else self._wrong(reply)
        return dataclasses.replace(outcome, findings=found, again=again)

    def _wrong(self, reply: Finished) -> tuple[Again, ...]:
        """The last timed call, judged on the inputs that it had."""
        assert reply.timed is not None
        case, operator = self._case, self._operator
        call = timed_call(case, operator.signature, self._product, reply.index, reply.rounds)
        goldens = Goldens(operator)
        wrong = fault(case, operator, call, reply.timed, goldens.of(call))
        if wrong is None:
            return ()
        own = make_call(case, operator.signature, self._product)
        if fault(case, operator, own, reply.outcome, goldens.of(own)) is not None:
            return ()
        where = "in the last timed call"
        text = f"WRONG AGAIN: {where}, on inputs of another seed: {wrong.reason}"
        return (Again(text, failed_outputs(wrong, where)),)


def _outcome(reply: object) -> Outcome:
    if isinstance(reply, Outcome):
        return reply
    return Outcome(NAME, error=f"the candidate's process answered with {type(reply).__name__}")
