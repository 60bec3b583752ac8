"""A run that has come to its end, as every report format takes it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from ascend_opcli.model import Result, VerdictKind
from ascend_opcli.reporting.summary import Summary

ORDER = (VerdictKind.FAIL, VerdictKind.ERROR, VerdictKind.KNOWN, VerdictKind.SKIP, VerdictKind.PASS)
"""Failures first."""


@dataclass(frozen=True)
class FinishedRun:
    """Results in the order of the plan with the facts of the run.

    ``planned`` is the number of cases that were to run: more than there are results where the run was
    interrupted or stopped at its first failure. ``seconds`` is the run's wall time, ``language`` (en or zh) that
    of the reports which are written for people to hand in.
    """

    results: Sequence[Result]
    facts: Mapping[str, Any]
    seconds: float
    planned: int
    complete: bool = True
    language: str = "en"

    @cached_property
    def summary(self) -> Summary:
        """The counts."""
        return Summary.of(self.results)

    @cached_property
    def on_host(self) -> bool:
        """Whether no operator was executed."""
        return self.summary.backends <= {"host"}

    def failures(self) -> list[Result]:
        """What failed, FAIL before ERROR."""
        return [
            r
            for word in (VerdictKind.FAIL, VerdictKind.ERROR)
            for r in self.results
            if r.verdict.word is word
        ]

    def failures_first(self) -> list[Result]:
        """Every result, by the gravity of its word, else in the order of the run."""
        return sorted(self.results, key=lambda r: ORDER.index(r.verdict.word))

    def headline(self) -> str:
        """The first line of the summary, and that cases are missing where they are."""
        (counts, _) = self.summary.lines(self.seconds)
        if self.complete:
            return counts
        return f"not complete, {len(self.results):,} of {self.planned:,} cases were run: {counts}"


def case_seconds(result: Result) -> float:
    """What was spent on a case."""
    t = result.timings
    return t.generate + t.run + t.golden + t.judge
