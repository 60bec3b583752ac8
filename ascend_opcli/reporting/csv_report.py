"""A run as CSV: one row for each output of each case, under columns that keep their names and order.

A case without a judged output (a refusal, SKIP, ERROR) has one row whose output columns are empty. NaN and
infinities are the words ``nan``, ``inf`` and ``-inf``, numbers have all their digits, truth is ``true`` or
``false``. New columns may be added at the end.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from typing import Any

from ascend_opcli.errors import visible
from ascend_opcli.model import OutputReport, Result
from ascend_opcli.reporting.finished import FinishedRun, case_seconds
from ascend_opcli.reporting.wording import lead_spec, shape_text

_CASE = ("id", "file", "line", "name", "operator", "backend", "product", "seed", "tags", "verdict", "reason")
_STATUS = ("status", "phase")
_OUTPUT = (
    *("output", "dtype", "shape", "passed", "output_reason", "standard", "rule", "origin", "used"),
    *("elements", "exact", "within", "over", "sign_flipped", "zero_against_nonzero", "nan_against_number"),
    *("inf_against_other", "not_written", "worst_index", "worst_inputs", "worst_got", "worst_golden"),
    *("worst_absolute", "worst_relative", "worst_ulp", "atol_needed", "rtol_needed", "floor"),
    *("weak", "branches", "either", "diagnosis", "warnings"),
)
_RUN = ("seconds", "inputs_sha256", "repro")
COLUMNS = (*_CASE, *_STATUS, *_OUTPUT, *_RUN)
"""Also in the README."""


def render(run: FinishedRun) -> Iterator[str]:
    """The table, line by line."""
    writer = csv.writer(_Line(), lineterminator="\n")
    yield writer.writerow(COLUMNS)
    for result in run.results:
        for cells in _rows(result):
            yield writer.writerow(cells)


class _Line:
    """Gives every line back instead of keeping it."""

    def write(self, line: str) -> Any:
        return line


def _rows(result: Result) -> Iterator[Sequence[str]]:
    case, verdict = result.case, result.verdict
    head = (
        _text(case.id),
        _text(case.path),
        str(case.where.line),
        _text(case.name),
        _text(case.operator),
        result.backend,
        result.product,
        str(case.seed),
        _text(" ".join(case.tags)),
        verdict.word.value,
        _text(verdict.reason),
        "" if result.status is None else str(result.status),
        "" if result.phase is None else result.phase.value,
    )
    tail = (f"{case_seconds(result):.6f}", result.inputs_sha256, _text(result.repro))
    for output in verdict.outputs:
        yield (*head, *_output(output), *tail)
    if not verdict.outputs:
        spec = lead_spec(result)
        where = ("", "", "") if spec is None else ("", spec.dtype, shape_text(spec.shape))
        yield (*head, *where, *("" for _ in _OUTPUT[3:]), *tail)


def _output(output: OutputReport) -> tuple[str, ...]:
    census, worst = output.census, output.worst[0] if output.worst else None
    return (
        _text(output.name),
        output.dtype,
        shape_text(output.shape),
        _number(output.passed),
        _text(output.reason),
        output.standard,
        output.rule,
        output.origin,
        _number(output.used),
        str(census.total),
        str(census.exact),
        str(census.within),
        str(census.over),
        str(census.sign_flipped),
        str(census.zero_against_nonzero),
        str(census.nan_against_number),
        str(census.inf_against_other),
        str(census.not_written),
        *(
            ("", "", "", "", "", "", "")
            if worst is None
            else (
                " ".join(map(str, worst.index)),
                _text(" ".join(f"{name}={_number(value)}" for name, value in worst.inputs.items())),
                _number(worst.got),
                _number(worst.golden),
                _number(worst.absolute),
                _number(worst.relative),
                _number(worst.ulp),
            )
        ),
        _number(output.atol_needed),
        _number(output.rtol_needed),
        _number(output.floor),
        _text("; ".join(output.weak)),
        _text("; ".join(f"{branch.name}={branch.count}" for branch in output.branches)),
        str(output.either),
        _text(output.diagnosis),
        _text("; ".join(output.warnings)),
    )


def _number(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, complex):
        sign = "" if repr(value.imag).startswith("-") else "+"
        return f"{value.real!r}{sign}{value.imag!r}j"
    return repr(float(value)) if isinstance(value, float) else str(value)


def _text(text: str) -> str:
    """Somebody's words: a spreadsheet would take what begins like a formula for one and work it out."""
    safe = visible(text)
    return f"'{safe}" if safe[:1] in ("=", "+", "-", "@", "\t") else safe
