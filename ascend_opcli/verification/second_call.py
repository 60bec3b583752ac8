"""Another call of the same operator, whose inputs the case does not have: judged as the case's own call is."""

from __future__ import annotations

import contextlib
import dataclasses

from ascend_opcli.errors import OpcliError
from ascend_opcli.model import Call, Case, Outcome, OutputReport, StandardChoice, Verdict, VerdictKind
from ascend_opcli.operators.operator import Operator
from ascend_opcli.reference.evaluate import Golden, golden
from ascend_opcli.reference.fitting import ReferenceFailure
from ascend_opcli.verification.verdict import judge_outputs


class Goldens:
    """The goldens of a case's calls, each worked out once, when it is first asked for."""

    def __init__(self, operator: Operator) -> None:
        self._operator = operator
        self._made: dict[str, Golden | None] = {}

    def of(self, call: Call) -> Golden | None:
        """None where there is no reference, or where it refuses these inputs or does not define their result."""
        key = call.inputs_sha256
        if key not in self._made:
            self._made[key] = None
            if self._operator.reference is not None:
                with contextlib.suppress(ReferenceFailure, OpcliError, ValueError, MemoryError):
                    self._made[key] = golden(self._operator, call)
        return self._made[key]


def fault(
    case: Case,
    operator: Operator,
    call: Call,
    outcome: Outcome,
    truth: Golden | None,
    *,
    override: StandardChoice | None = None,
) -> Verdict | None:
    """The verdict over the outputs of a call on the inputs of ``call`` where it is FAIL, None otherwise.

    ``truth`` is the golden of those inputs; what the case expects for its own does not count.
    """
    if truth is None or not outcome.outputs:
        return None
    ignored = {n: data for n, data in case.expected_outputs.items() if data == "ignore"}
    bare = dataclasses.replace(
        case,
        expected_outputs=ignored,
        standard=_own_third(case.standard),
        output_standards={n: _own_third(choice) or choice for n, choice in case.output_standards.items()},
    )
    # Findings were told already.
    outcome = dataclasses.replace(outcome, findings=())
    try:
        verdict = judge_outputs(bare, operator, call, outcome, truth, override=_own_third(override))
    except (ReferenceFailure, OpcliError, ValueError, MemoryError):
        return None
    return verdict if verdict.word is VerdictKind.FAIL else None


def failed_outputs(verdict: Verdict, where: str) -> tuple[OutputReport, ...]:
    """The reports of the outputs that failed, under a name that says in which call."""
    return tuple(dataclasses.replace(r, name=f"{r.name} {where}") for r in verdict.outputs if not r.passed)


def _own_third(choice: StandardChoice | None) -> StandardChoice | None:
    """The dual standard with the host as third party: a file or folder has no result for other inputs."""
    if choice is None or choice.name != "dual" or "third" not in choice.numbers:
        return choice
    numbers = {name: value for name, value in choice.numbers.items() if name != "third"}
    return StandardChoice(choice.name, numbers, choice.origin)
