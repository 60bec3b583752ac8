"""Failures of a log beside the calls that it holds: the contract rule that a call breaks, or why none is named."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ascend_opcli.casefile.build import Declared, Setting
from ascend_opcli.casefile.expectations import CheckStandard
from ascend_opcli.casefile.files.written import product_for
from ascend_opcli.casefile.logs import log_lines
from ascend_opcli.casefile.logs.logs import HOW, Found, Gathered, LogReader
from ascend_opcli.operators.contract.phase_one import Refusal, Unsettled, predict
from ascend_opcli.operators.products import DEFAULT_PRODUCT
from ascend_opcli.reference.resolve import operator_of
from ascend_opcli.status import trace


@dataclass(frozen=True, slots=True)
class Explained:
    """A failure, and the rule that the call at ``line`` breaks on ``product``; else ``why`` no rule is named."""

    failure: trace.LoggedFailure
    line: int = 0
    product: str = ""
    refusal: Refusal | None = None
    why: str = ""


@dataclass(frozen=True, slots=True)
class Trace:
    """What a log says of failures. ``calls`` counts its different calls, ``dropped`` failures beyond the limit."""

    failures: tuple[Explained, ...]
    calls: int
    dropped: int = 0


def explain(
    path: str, *, check_standard: CheckStandard, product: str | None = None, declared: Declared | None = None
) -> Trace:
    """Every failure of a log; ``-`` is standard input. ``product`` is whose contract counts.

    Raises CaseFileError for a log that cannot be read.
    """
    calls = Gathered(path, Setting(path, Path(path).parent, check_standard, declared=declared))
    failures, reader = trace.TraceReader(), LogReader()
    for line in log_lines.lines(path):
        failures.feed(line.number, line.text, line.prefix, line.stream)
        for call in reader.feed(line):
            calls.add(call)
    for call in reader.close():
        calls.add(call)
    made = tuple(_explained(failure, calls.found, product) for failure in failures.failures())
    return Trace(made, len(calls.found), failures.dropped)


def _explained(failure: trace.LoggedFailure, found: list[Found], product: str | None) -> Explained:
    if not failure.operator:
        return Explained(failure, why="the lines name no aclnn operator")
    own = [f for f in found if f.logged.operator == failure.operator]
    if not own:
        return Explained(failure, why=f"the arguments of the call are not in the log: {HOW}")
    # Another process may have made another call of the same operator.
    same = [f for f in own if failure.stream in f.streams]
    own = same if failure.stream and same else own
    # A task queue reports late: the newest call before the failure comes first, then the older ones, then later ones.
    own.sort(key=lambda f: _nearness(f, failure.line))
    said = [_checked(failure, call, product) for call in own]
    refused = [s for s in said if s.refusal is not None]
    matching = [s for s in refused if s.refusal is not None and s.refusal.status == failure.status]
    return next(iter(matching or refused or said))


def _nearness(call: Found, line: int) -> tuple[bool, int]:
    before = [n for n in call.lines if n <= line]
    return (False, line - max(before)) if before else (True, min(call.lines))


def _checked(failure: trace.LoggedFailure, call: Found, product: str | None) -> Explained:
    before = [n for n in call.lines if n <= failure.line]
    line = max(before) if before else min(call.lines)
    if not call.case.arguments:
        return Explained(failure, line, why=call.case.skip)
    operator = operator_of(call.case)
    chosen = product or product_for(operator) or DEFAULT_PRODUCT
    if operator.custom:
        return Explained(failure, line, chosen, why=f"nobody has documented a contract of {operator.name}")
    made = predict(operator, call.case.arguments, chosen)
    if isinstance(made, Refusal):
        return Explained(failure, line, chosen, made)
    if isinstance(made, Unsettled):
        return Explained(failure, line, chosen, why=made.reason)
    return Explained(failure, line, chosen, why=f"the contract that opcli knows accepts the call on {chosen}")
