"""What opcli makes of a folder of ATK and TTK case files: read, mapped to a call, judged, how fast.

    python benchmarks/corpus_figures.py FOLDER
    python benchmarks/corpus_figures.py FOLDER --elements 0 --memory-limit 2 --json figures.json

A case is mapped where it became a call, judged where a verdict was reached: PASS or FAIL. The share judged is
over all cases of the files, those with more than ``--elements`` elements in all of their tensors too, which are
left out of the run and counted apart; 0 leaves none out.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from ascend_opcli.casefile.discover import find
from ascend_opcli.casefile.open import load_file
from ascend_opcli.errors import CaseFileError
from ascend_opcli.execution.runner import Settings, run_cases
from ascend_opcli.model import Case, Result, TensorSpec, VerdictKind
from ascend_opcli.reporting.imported_files import reason_kind
from ascend_opcli.verification.standards.choice import check_for

JUDGED = (VerdictKind.PASS, VerdictKind.FAIL)


@dataclass
class Figures:
    """Counts over the files of one format."""

    name: str
    files: int = 0
    unreadable: list[str] = field(default_factory=list)
    cases: int = 0
    mapped: int = 0
    large: int = 0
    read_seconds: float = 0.0
    run_seconds: float = 0.0
    words: Counter[str] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)
    operators: dict[str, Counter[str]] = field(default_factory=dict)

    @property
    def judged(self) -> int:
        """Cases with a verdict on the operator."""
        return sum(self.words[w.value] for w in JUDGED)

    def add(self, result: Result) -> None:
        """Count one result."""
        word = result.verdict.word
        self.words[word.value] += 1
        self.operators.setdefault(result.case.operator, Counter())[word.value] += 1
        if word is not VerdictKind.PASS:
            self.reasons[f"{word.value}: {reason_kind(result.verdict.reason)}"] += 1

    def lines(self) -> Iterator[str]:
        """The figures as text."""
        ran = sum(self.words.values())
        yield f"{self.name}: {self.files} files read, {len(self.unreadable)} not; {self.cases:,} cases"
        if not self.cases:
            return
        yield f"  mapped to a call  {self.mapped:,}  {self.mapped / self.cases:.1%}"
        yield f"  judged            {self.judged:,}  {self.judged / self.cases:.1%}"
        if self.large:
            yield f"  left out for size {self.large:,}"
        words = ", ".join(f"{self.words[w.value]:,} {w.value}" for w in VerdictKind if self.words[w.value])
        yield f"  run               {ran:,}: {words}"
        rate = ran / (self.read_seconds + self.run_seconds)
        yield f"  time              read {self.read_seconds:.1f} s, run {self.run_seconds:.1f} s: {rate:,.0f} cases/s"
        for text, count in self.reasons.most_common():
            yield f"  {count:6,}  {text}"


def elements(case: Case) -> int:
    """Elements of all tensors of a case."""
    total = 0
    for argument in case.arguments.values():
        for spec in argument if isinstance(argument, tuple) else (argument,):
            total += spec.count if isinstance(spec, TensorSpec) else 0
    return total


def measure(folder: str, most: int, settings: Settings, *, quiet: bool = False) -> dict[str, Figures]:
    """Read and run every file of the folder."""
    found = {".json": Figures("JSON"), ".csv": Figures("CSV")}
    for target in find([folder]).targets:
        figures = found.get(Path(target.path).suffix.lower())
        if figures is None:
            continue
        begun = time.perf_counter()
        try:
            cases = load_file(target.path, check_standard=check_for).cases
        except CaseFileError as error:
            figures.unreadable.append(str(error))
            continue
        figures.read_seconds += time.perf_counter() - begun
        figures.files += 1
        figures.cases += len(cases)
        figures.mapped += sum(bool(c.arguments) for c in cases)
        small = [c for c in cases if not most or elements(c) < most]
        figures.large += len(cases) - len(small)
        begun = time.perf_counter()
        for result in run_cases(small, settings):
            figures.add(result)
        spent = time.perf_counter() - begun
        figures.run_seconds += spent
        if not quiet:
            print(f"{Path(target.path).name}: {len(small)} cases, {spent:.1f} s", file=sys.stderr)
    return found


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder")
    parser.add_argument("--elements", type=int, default=1_000_000, help="leave larger cases out (0: none)")
    parser.add_argument("--memory-limit", type=float, metavar="GIB", help="skip larger cases")
    parser.add_argument("--by-operator", action="store_true", help="counts of every operator")
    parser.add_argument("--json", metavar="FILE", help="write the figures as JSON")
    wanted = parser.parse_args()
    limit = int(wanted.memory_limit * 2**30) if wanted.memory_limit else None
    found = measure(wanted.folder, wanted.elements, Settings(memory_limit=limit))
    for figures in found.values():
        print("\n".join(figures.lines()))
        for name, words in sorted(figures.operators.items()) if wanted.by_operator else ():
            print(f"    {name}: {', '.join(f'{n} {w}' for w, n in words.items())}")
    if wanted.json:
        kept = ("files", "unreadable", "cases", "mapped", "judged", "large", "read_seconds", "run_seconds")
        told = {
            f.name: {k: getattr(f, k) for k in kept}
            | {"words": f.words, "reasons": f.reasons, "operators": f.operators}
            for f in found.values()
        }
        Path(wanted.json).write_text(json.dumps(told, indent=1), "utf-8")


if __name__ == "__main__":
    main()
