"""Whether the reference itself, in its compute dtype, passes a case that somebody is about to write."""

from __future__ import annotations

from ascend_opcli.casefile.open import load_text
from ascend_opcli.execution.runner import Settings, run_cases
from ascend_opcli.model import VerdictKind
from ascend_opcli.verification.standards.choice import check_for

BAD = (VerdictKind.FAIL, VerdictKind.ERROR)


def host_failure(text: str, *, judged: bool = False) -> str | None:
    """Why the host fails the first case of a file that does fail, or with ``judged`` is not judged; else None."""
    bad = (*BAD, VerdictKind.SKIP) if judged else BAD
    cases = load_text(text, "new.yaml", check_standard=check_for).cases
    for result in run_cases(cases, Settings()):
        if result.verdict.word in bad:
            return result.verdict.reason or result.verdict.word.value
    return None
