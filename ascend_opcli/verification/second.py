"""Another call of the same operator, whose inputs the case does not have: judged as the case's own call is."""

from __future__ import annotations

import dataclasses

from ascend_opcli.errors import OpcliError
from ascend_opcli.model import Call, Case, Outcome, StandardChoice, Word
from ascend_opcli.operators.evaluate import golden
from ascend_opcli.operators.fitting import ReferenceFailure
from ascend_opcli.operators.operator import Operator
from ascend_opcli.verification.verdict import judge_outputs


def fault(
    case: Case, operator: Operator, call: Call, outcome: Outcome, *, override: StandardChoice | None = None
) -> str:
    """What is wrong with the outputs of a call on the inputs of ``call``, in a sentence; empty where nothing is.

    The golden of those inputs counts, never the values that the case expects for its own. Nothing is said where there
    is no reference, or where it refuses these inputs or does not define their result.
    """
    if operator.reference is None or not outcome.outputs:
        return ""
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
        verdict = judge_outputs(
            bare, operator, call, outcome, golden(operator, call), override=_own_third(override)
        )
    except (ReferenceFailure, OpcliError, ValueError, MemoryError):
        return ""
    return verdict.reason if verdict.word is Word.FAIL else ""


def _own_third(choice: StandardChoice | None) -> StandardChoice | None:
    """The dual standard with the host as third party: a file or folder has no result for other inputs."""
    if choice is None or choice.name != "dual" or "third" not in choice.numbers:
        return choice
    numbers = {name: value for name, value in choice.numbers.items() if name != "third"}
    return StandardChoice(choice.name, numbers, choice.origin)
