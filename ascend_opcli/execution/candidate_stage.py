"""A candidate's case while it is timed: its process takes the samples and gives the result to be judged."""

from __future__ import annotations

import dataclasses

from ascend_opcli.backends.candidate.candidate import Candidate
from ascend_opcli.backends.candidate.function import NAME
from ascend_opcli.backends.candidate.requests import Draw, Finish, Finished, Prepared, Sample
from ascend_opcli.backends.candidate.timing import timed_call
from ascend_opcli.execution.timed import NoTime, StageFacts
from ascend_opcli.model import Again, Case, HostTimes, Outcome
from ascend_opcli.operators.operator import Operator
from ascend_opcli.reference.call import make_call
from ascend_opcli.verification.second_call import Goldens, failed_outputs, fault

SAME_INPUTS = "the inputs are the same in every sample: only real numbers that are drawn are changed"
WHOLE_PROGRAM = "the time is that of the whole program: its start, the reading and the writing of its files"


class TimedCandidate:
    """A prepared case in the candidate's process."""

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
        self.about = StageFacts(
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
            raise NoTime(outcome_of(reply))
        return reply.seconds

    def notes(self) -> list[str]:
        return []

    def finish(self, *, read: bool) -> Outcome:
        reply = self._candidate.ask(Finish(read))
        if not isinstance(reply, Finished):
            return outcome_of(reply)
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


def outcome_of(reply: object) -> Outcome:
    """What was answered in place of what was asked for."""
    if isinstance(reply, Outcome):
        return reply
    return Outcome(NAME, error=f"the candidate's process answered with {type(reply).__name__}")
