"""What stands under the table for a failure: census, rule, worst elements, how to run it again."""

from __future__ import annotations

import math
from collections.abc import Iterator

from ascend_opcli import status as codes
from ascend_opcli.errors import visible
from ascend_opcli.model import Census, Element, OutputReport, Result
from ascend_opcli.reporting.escape import one_line
from ascend_opcli.reporting.terminal_pictures import picture_lines
from ascend_opcli.reporting.wording import (
    argument_text,
    count_text,
    error_text,
    percent_text,
    share_text,
    verdict_text,
)
from ascend_opcli.tensors.written_values import number_text


def detail_lines(result: Result, *, ascii_only: bool = True) -> Iterator[str]:
    """The lines of one result, first the id, then indented by two; pictures in ASCII or in block characters.

    What would not be seen is escaped: reasons and notes quote files, libraries and programs.
    """
    return map(visible, _lines(result, ascii_only))


def _lines(result: Result, ascii_only: bool) -> Iterator[str]:
    yield f"{verdict_text(result)} {one_line(result.case.id)}  ({result.case.operator}, {result.product})"
    yield f"  {result.verdict.reason}"
    for output in result.verdict.outputs:
        if output.diagnosis:
            yield f"  {output.name + ': ' if len(result.verdict.outputs) > 1 else ''}{output.diagnosis}"
    if result.status not in (None, 0):
        code = (
            codes.lookup(result.status or 0)
            if codes.name_of(result.status or 0) != str(result.status)
            else None
        )
        if code is not None and code.fix:
            yield f"  {code.code}: {code.fix}"
    for output in result.verdict.outputs:
        if not output.passed:
            yield from output_lines(output, ascii_only=ascii_only)
    arguments = ", ".join(f"{n} {argument_text(a)}" for n, a in result.case.arguments.items())
    yield f"  call: {arguments}"
    if result.message and result.message not in result.verdict.reason:
        yield from _quoted("the operator's text", result.message)
    for note in result.verdict.notes:
        yield f"  note: {note}"
    if result.served_by:
        yield f"  served by {result.served_by}"
    yield from _quoted("printed during the call", result.captured_output)
    yield from _quoted("ERROR lines of the log", "\n".join(result.log))
    if result.repro:
        yield f"  repro: {result.repro}"


def voice_lines(result: Result) -> Iterator[str]:
    """What the kernel printed in a case that did not fail."""
    if result.captured_output.strip():
        yield result.case.id
        yield from _quoted("printed during the call", result.captured_output)


MAX_QUOTED = 40


def _quoted(title: str, text: str) -> Iterator[str]:
    """Somebody else's lines, indented, control characters made visible, the first ones where there are many."""
    lines = [line for line in text.splitlines() if line.strip()]
    if not lines:
        return
    yield f"  {title}:"
    for line in lines[:MAX_QUOTED]:
        yield f"    | {visible(line)}"
    if len(lines) > MAX_QUOTED:
        yield f"    | ... {len(lines) - MAX_QUOTED} more lines"


def output_lines(output: OutputReport, *, ascii_only: bool = True) -> Iterator[str]:
    """The rule, the census, the pictures, what would pass and the worst elements of one output."""
    yield f"  {output.name}: {output.rule}"
    yield f"    standard {output.standard}, from the {output.origin.removeprefix('the ')}"
    if output.census.total:
        yield f"    {census_text(output.census)}"
    yield from (f"    {line}" for line in picture_lines(output, ascii_only=ascii_only))
    if needed := needed_text(output):
        yield f"    {needed}"
    if output.worst:
        yield "    worst elements:"
        yield from (f"      {element_text(e)}" for e in output.worst)
    if floor := floor_text(output):
        yield f"    {floor}"


def needed_text(output: OutputReport) -> str:
    """The tolerances with which the output would pass; nothing where none would do."""
    needed = [
        f"{name} {error_text(value)}"
        for name, value in (("atol", output.atol_needed), ("rtol", output.rtol_needed))
        if value is not None and math.isfinite(value)
    ]
    return f"would pass with {' or '.join(needed)}" if needed else ""


def floor_text(output: OutputReport) -> str:
    """That no kernel can meet the tolerance, where the host result does not; else nothing."""
    if output.floor is None or not output.floor > 1:
        return ""
    if output.floor == math.inf and output.floor_non_finite:
        return "the host result itself has NaN or Inf where the golden has not: the tolerance is below the noise floor"
    if output.floor == math.inf:
        return (
            "the host result itself is off where the tolerance is 0: the tolerance is below the noise floor"
        )
    return f"the host result itself uses {share_text(output.floor)}: the tolerance is below the noise floor"


def census_text(census: Census) -> str:
    """How the elements fared, kinds of error that did not occur left out."""
    total = census.total
    parts = [
        f"{count} {percent_text(number, total)} ({number:,})"
        for count, number in (("exact", census.exact), ("within", census.within), ("over", census.over))
        if number
    ]
    kinds = (
        ("sign flipped", census.sign_flipped),
        ("zero against nonzero", census.zero_against_nonzero),
        ("NaN against a number", census.nan_against_number),
        ("Inf against another value", census.inf_against_other),
        ("not written", census.not_written),
    )
    parts += [f"{name} {number:,}" for name, number in kinds if number]
    return f"{count_text(total, 'element')}: {', '.join(parts)}"


def element_text(element: Element) -> str:
    """One element: where, what went in, what came out, how far off."""
    inputs = " ".join(f"{name}={number_text(value)}" for name, value in element.inputs.items())
    return (
        f"[{', '.join(map(str, element.index))}] {inputs}{' ' if inputs else ''}"
        f"got {number_text(element.got)} golden {number_text(element.golden)}"
        f"  abs {error_text(element.absolute)}  rel {error_text(element.relative)}"
        f"  ulp {error_text(element.ulp)}  used {share_text(element.used)}"
    )
