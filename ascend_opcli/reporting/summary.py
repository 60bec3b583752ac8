"""Counts over a run: words, weak cases, where the time went, the exit code."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from ascend_opcli.errors import ExitCode
from ascend_opcli.model import Result, Timings, VerdictKind
from ascend_opcli.reporting.wording import count_text


@dataclass
class Summary:
    """Grows with each result; holds no result itself."""

    words: Counter[VerdictKind] = field(default_factory=Counter)
    weak: int = 0
    partial: int = 0
    backends: set[str] = field(default_factory=set)
    timings: Timings = field(default_factory=Timings)

    @classmethod
    def of(cls, results: Iterable[Result]) -> Summary:
        """The summary of finished results."""
        summary = cls()
        for result in results:
            summary.add(result)
        return summary

    def add(self, result: Result) -> None:
        """Count one more result."""
        self.words[result.verdict.word] += 1
        self.weak += any(output.weak for output in result.verdict.outputs)
        self.partial += bool(result.verdict.unjudged)
        self.backends.add(result.backend)
        a, b = self.timings, result.timings
        self.timings = Timings(a.generate + b.generate, a.run + b.run, a.golden + b.golden, a.judge + b.judge)

    @property
    def total(self) -> int:
        """Number of results."""
        return sum(self.words.values())

    def exit_code(self, *, strict: bool = False) -> ExitCode:
        """The verdict of the run: see :class:`ExitCode`. ``strict`` makes SKIP, WEAK and IN PART failures."""
        codes: list[ExitCode] = []
        if self.words[VerdictKind.FAIL] or (
            strict
            and (self.words[VerdictKind.SKIP] or self.words[VerdictKind.KNOWN] or self.weak or self.partial)
        ):
            codes.append(ExitCode.FAILED)
        if self.words[VerdictKind.ERROR]:
            codes.append(ExitCode.SURROUNDINGS)
        if not self.words[VerdictKind.PASS] and not codes:
            codes.append(ExitCode.NOTHING_JUDGED)
        return ExitCode.worst(codes)

    def lines(self, seconds: float) -> list[str]:
        """Two lines: what happened, and where the time went."""
        counts = (
            ", ".join(f"{self.words[word]:,} {word.value}" for word in VerdictKind if self.words[word])
            or "nothing judged"
        )
        host = "no operator was run: " if self.backends <= {"host"} and self.total else ""
        weak = f", {self.weak:,} of them WEAK" if self.weak else ""
        partial = f", {self.partial:,} of them IN PART" if self.partial else ""
        t = self.timings
        other = max(0.0, seconds - t.generate - t.run - t.golden - t.judge)
        return [
            f"{host}{count_text(self.total, 'case')}: {counts}{weak}{partial}",
            f"time {seconds:.2f} s: generate {t.generate:.2f}, run {t.run:.2f}, golden {t.golden:.2f},"
            f" judge {t.judge:.2f}, other {other:.2f}",
        ]
