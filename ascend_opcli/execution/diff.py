"""Two runs side by side: what fails anew, what is fixed, what drifts, what got slower, what comes and goes.

The runs are JSON reports (``opcli.run/1``) that nobody vouches for: whatever does not have the form is refused in one
sentence, and what a report says is only compared and printed.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ascend_opcli.errors import ExitCode, UsageError, one_line
from ascend_opcli.model import VerdictKind

RUN_SCHEMA = "opcli.run/1"
"""The form of a run's JSON report."""

MAX_BYTES = 2**28
"""A report of 100,000 cases has about 200 MB."""

DRIFT = 1.5
"""An error that grew or fell by less than this factor is not told."""
LEAST_USED = 0.05
"""Shares of a tolerance below it count as it: noise far from the edge is no drift."""
LEAST_ULP = 0.5
SLOWER = 1.5
LEAST_SECONDS = 0.05
"""Times below it are too short to compare."""

_FAR = 1e300


# --- reading ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Output:
    """The errors of one output: its worst element's share of the tolerance under ``rule``, and its ulp."""

    rule: str
    used: float
    ulp: float


@dataclass(frozen=True, slots=True)
class Ran:
    """One case of a report."""

    id: str
    file: str
    name: str
    operator: str
    verdict: VerdictKind
    reason: str
    status: int | None
    phase: str | None
    seconds: float
    inputs: str
    outputs: Mapping[str, Output]


@dataclass(frozen=True, slots=True)
class SavedRun:
    """A report: its cases, and the facts that make two runs comparable or not."""

    path: str
    complete: bool
    facts: Mapping[str, str]
    cases: tuple[Ran, ...]


_FACTS = ("backend", "product", "opcli")


def read_run(path: str) -> SavedRun:
    """The report in a file. Raises UsageError, with the place, for anything that is not an opcli.run/1 report."""
    try:
        with open(path, "rb") as stream:
            data = stream.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        raise UsageError(
            f"{one_line(path)} cannot be read: {getattr(error, 'strerror', None) or error}"
        ) from None
    if len(data) > MAX_BYTES:
        raise UsageError(f"{one_line(path)} is larger than {MAX_BYTES // 2**20} MiB")
    try:
        report = json.loads(data)
    except (ValueError, RecursionError, MemoryError):
        raise UsageError(f"{one_line(path)} is no JSON document that opcli can read") from None
    del data
    return _Reader(path).run(report)


class _Reader:
    """One report; every complaint names the file and the place in it."""

    def __init__(self, path: str) -> None:
        self.path = path

    def run(self, report: object) -> SavedRun:
        schema = report.get("schema") if isinstance(report, dict) else None
        if schema != RUN_SCHEMA or not isinstance(report, dict):
            said = f"; its schema is '{one_line(schema, 60)}'" if isinstance(schema, str) else ""
            raise UsageError(f"{one_line(self.path)} is no report of opcli run ({RUN_SCHEMA}){said}")
        facts = self.get(report, "run", dict, "the report")
        results = self.get(report, "results", list, "the report")
        return SavedRun(
            self.path,
            self.get(facts, "complete", bool, "run"),
            {key: self.get(facts, key, str, "run") for key in _FACTS},
            tuple(self.case(result, f"results[{i}]") for i, result in enumerate(results)),
        )

    def case(self, result: object, at: str) -> Ran:
        word = self.get(result, "verdict", str, at)
        if word not in VerdictKind.__members__:
            raise self.wrong(f"{at}.verdict", f"is '{one_line(word, 60)}', no verdict")
        seconds = self.get(result, "seconds", dict, at)
        outputs = self.get(result, "outputs", list, at)
        made: dict[str, Output] = {}
        for i, output in enumerate(outputs):
            place = f"{at}.outputs[{i}]"
            made[self.get(output, "name", str, place)] = self.output(output, place)
        return Ran(
            id=self.get(result, "id", str, at),
            file=self.get(result, "file", str, at),
            name=self.get(result, "name", str, at),
            operator=self.get(result, "operator", str, at),
            verdict=VerdictKind(word),
            reason=self.get(result, "reason", str, at),
            status=self.get(result, "status", (int, type(None)), at),
            phase=self.get(result, "phase", (str, type(None)), at),
            seconds=self.number(seconds, "run", f"{at}.seconds"),
            inputs=self.get(result, "inputs_sha256", str, at),
            outputs=made,
        )

    def output(self, output: object, at: str) -> Output:
        worst = self.get(output, "worst", list, at)
        ulps = [self.number(element, "ulp", f"{at}.worst[{i}]") for i, element in enumerate(worst)]
        rule = f"{self.get(output, 'standard', str, at)} {self.get(output, 'rule', str, at)}"
        return Output(rule, self.number(output, "used", at), max(ulps, default=0.0))

    def get(self, table: object, key: str, kind: Any, at: str) -> Any:
        if not isinstance(table, dict):
            raise self.wrong(at, "is no object")
        if key not in table:
            raise self.wrong(at, f"has no '{key}'")
        value = table[key]
        # To JSON true and 1 are different things; to Python they are not.
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            raise self.wrong(f"{at}.{key}", "is of the wrong kind")
        return value

    def number(self, table: object, key: str, at: str) -> float:
        """A number of JSON or one of the words nan, inf and -inf; what is no error size counts as infinite."""
        value = self.get(table, key, (int, float, str), at)
        if isinstance(value, str) and value not in ("nan", "inf", "-inf"):
            raise self.wrong(f"{at}.{key}", "is no number")
        try:
            made = float(value)
        except OverflowError:
            return math.inf
        return math.inf if math.isnan(made) else made

    def wrong(self, at: str, said: str) -> UsageError:
        return UsageError(f"{one_line(self.path)} is no report of opcli run ({RUN_SCHEMA}): {at} {said}")


# --- comparing ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Drift:
    """An error of one output that grew or fell. ``measure`` is ``used`` or ``ulp``."""

    case: Ran
    output: str
    measure: str
    before: float
    after: float
    other_inputs: bool

    @property
    def factor(self) -> float:
        """After over before, both held at the floor."""
        least = LEAST_USED if self.measure == "used" else LEAST_ULP
        return min(max(self.after, least), _FAR) / min(max(self.before, least), _FAR)


Pair = tuple[Ran, Ran]


@dataclass(frozen=True, slots=True)
class Diff:
    """What the second run has otherwise than the first. ``failures`` are those that did not fail before."""

    before: SavedRun
    after: SavedRun
    failures: tuple[tuple[Ran | None, Ran], ...] = ()
    fixed: tuple[Pair, ...] = ()
    verdicts: tuple[Pair, ...] = ()
    statuses: tuple[Pair, ...] = ()
    drifts: tuple[Drift, ...] = ()
    slower: tuple[Pair, ...] = ()
    appeared: tuple[Ran, ...] = ()
    vanished: tuple[Ran, ...] = ()
    compared: int = 0
    other_inputs: int = 0
    remarks: tuple[str, ...] = ()

    @property
    def exit_code(self) -> ExitCode:
        """1 where something fails that did not fail before."""
        return ExitCode.FAILED if self.failures else ExitCode.PASSED


def compare(before: SavedRun, after: SavedRun) -> Diff:
    """The difference of two runs, in the order of the second."""
    pairs, appeared, vanished = _paired(before.cases, after.cases)
    failures: list[tuple[Ran | None, Ran]] = []
    fixed: list[Pair] = []
    verdicts: list[Pair] = []
    for a, b in pairs:
        if a.verdict is b.verdict:
            continue
        if b.verdict is VerdictKind.FAIL:
            failures.append((a, b))
        elif b.verdict is VerdictKind.PASS and a.verdict in (VerdictKind.FAIL, VerdictKind.KNOWN):
            fixed.append((a, b))
        else:
            verdicts.append((a, b))
    failures += [(None, case) for case in appeared if case.verdict is VerdictKind.FAIL]
    same = [(a, b) for a, b in pairs if a.verdict is b.verdict]
    slower = [
        (a, b) for a, b in pairs if LEAST_SECONDS <= a.seconds < _FAR and b.seconds >= SLOWER * a.seconds
    ]
    return Diff(
        before,
        after,
        tuple(failures),
        tuple(fixed),
        tuple(verdicts),
        tuple((a, b) for a, b in same if (a.status, a.phase) != (b.status, b.phase)),
        tuple(sorted((d for a, b in same for d in _drifts(a, b)), key=lambda d: -d.factor)),
        tuple(sorted(slower, key=lambda pair: -pair[1].seconds / pair[0].seconds)),
        tuple(appeared),
        tuple(vanished),
        len(pairs),
        sum(_other_inputs(a, b) for a, b in pairs),
        tuple(_remarks(before, after)),
    )


def _paired(before: Sequence[Ran], after: Sequence[Ran]) -> tuple[list[Pair], list[Ran], list[Ran]]:
    """Cases of the same file and name; then, for runs in other folders, those of the same id where it is unique."""
    open_a = _by(before, lambda c: (c.file, c.name))
    found: dict[int, Ran] = {}
    for i, case in enumerate(after):
        waiting = open_a.get((case.file, case.name))
        if waiting:
            found[i] = waiting.pop(0)
    by_id = _by((c for rest in open_a.values() for c in rest), lambda c: c.id)
    ids = _by((c for i, c in enumerate(after) if i not in found), lambda c: c.id)
    for i, case in enumerate(after):
        if i not in found and len(ids[case.id]) == len(by_id.get(case.id, ())) == 1:
            found[i] = by_id[case.id][0]
    taken = {id(case) for case in found.values()}
    return (
        [(found[i], case) for i, case in enumerate(after) if i in found],
        [case for i, case in enumerate(after) if i not in found],
        [case for case in before if id(case) not in taken],
    )


def _by(cases: Iterable[Ran], key: Any) -> dict[Any, list[Ran]]:
    made: dict[Any, list[Ran]] = {}
    for case in cases:
        made.setdefault(key(case), []).append(case)
    return made


def _other_inputs(a: Ran, b: Ran) -> bool:
    return bool(a.inputs and b.inputs and a.inputs != b.inputs)


def _drifts(a: Ran, b: Ran) -> Iterator[Drift]:
    """The drift of every output: by the share of the tolerance where one rule judged both, else by ulp."""
    for name, now in b.outputs.items():
        then = a.outputs.get(name)
        if then is None:
            continue
        measures = [("ulp", then.ulp, now.ulp)]
        if then.rule == now.rule:
            measures.insert(0, ("used", then.used, now.used))
        for measure, before, after in measures:
            drift = Drift(b, name, measure, before, after, _other_inputs(a, b))
            if drift.factor >= DRIFT or drift.factor <= 1 / DRIFT:
                yield drift
                break


def _remarks(before: SavedRun, after: SavedRun) -> Iterator[str]:
    for run in (before, after):
        if not run.complete:
            yield f"{one_line(run.path)} is of a run that was cut short: cases that it lacks were not run"
    for key in _FACTS:
        if before.facts[key] != after.facts[key]:
            yield f"{key}: {one_line(before.facts[key], 80)}, then {one_line(after.facts[key], 80)}"
