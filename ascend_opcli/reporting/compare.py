"""Two saved tensors compared, and how every standard would judge: text for people, JSON for machines."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ascend_opcli.model import Alternative, OutputReport, Result
from ascend_opcli.reporting.details import output_lines
from ascend_opcli.reporting.json_report import plain
from ascend_opcli.reporting.terminal import plain_table
from ascend_opcli.reporting.wording import shape_text, share_text

SCHEMA = "opcli.compare/1"


def lines(report: OutputReport, actual: str, expected: str) -> Iterator[str]:
    """What is said of a comparison: the word, then the same as under a failed case."""
    yield f"{'PASS' if report.passed else 'FAIL'} {actual} against {expected}"
    yield f"  {report.dtype}[{shape_text(report.shape)}], worst element at {share_text(report.used)} of the tolerance"
    if report.reason:
        yield f"  {report.reason}"
    if report.diagnosis:
        yield f"  {report.diagnosis}"
    yield from output_lines(report)
    if report.weak:
        yield f"  WEAK: {', '.join(report.weak)} would pass too"
    for warning in report.warnings:
        yield f"  warning: {warning}"
    if report.standards:
        yield from _table([("output", report.name, report.standard, report.standards)])


def document(report: OutputReport, actual: str, expected: str, facts: Mapping[str, Any]) -> dict[str, Any]:
    """The comparison as JSON; ``output`` is an output of the schema of a run."""
    return {
        "schema": SCHEMA,
        "run": dict(facts),
        "actual": actual,
        "expected": expected,
        "verdict": "PASS" if report.passed else "FAIL",
        "output": plain(dataclasses.asdict(report)),
    }


def side_by_side(results: Sequence[Result]) -> Iterator[str]:
    """A row an output, a column a standard; nothing where nothing was asked."""
    rows = [
        (result.case.id, output.name, output.standard, output.standards)
        for result in results
        for output in result.verdict.outputs
        if output.standards
    ]
    if rows:
        yield from _table(rows)


def _table(rows: Sequence[tuple[str, str, str, Sequence[Alternative]]]) -> Iterator[str]:
    names = list(dict.fromkeys(other.standard for *_, others in rows for other in others))
    cells = [("case", "output", "judged by", *names)]
    for case, output, own, others in rows:
        found = {other.standard: other for other in others}
        said = [_cell(found[name]) if name in found else "-" for name in names]
        cells.append((case, output, own, *said))
    yield ""
    yield "how each standard would judge, and the share of its tolerance:"
    yield from plain_table(cells)
    for case, output, _, others in rows:
        where = f"{case} {output}: " if len(rows) > 1 else ""
        for other in others:
            # A warning mostly names its standard.
            yield from (f"warning: {where}{warning}" for warning in other.warnings)


def _cell(other: Alternative) -> str:
    return f"{'PASS' if other.passed else 'FAIL'} {share_text(other.used)}"
