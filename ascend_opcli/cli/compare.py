"""``opcli compare``: judge two saved tensors."""

from __future__ import annotations

import math
import sys
from typing import Annotated

import typer

from ascend_opcli.cli.interrupts import begin
from ascend_opcli.cli.options.command import command
from ascend_opcli.errors import ExitCode, UsageError


@command
def compare(
    actual: Annotated[
        str, typer.Argument(metavar="ACTUAL", help="The output: .npy, .npz:KEY, .bin, .pt:KEY.")
    ],
    expected: Annotated[str, typer.Argument(metavar="EXPECTED", help="Its golden, in any of these.")],
    standard: Annotated[
        str | None,
        typer.Option(
            "--standard", metavar="NAME[:K=V]|all", help="Judge by this standard; all: show each of them."
        ),
    ] = None,
    dtype: Annotated[
        str | None, typer.Option("--dtype", help="The dtype of ACTUAL; a raw .bin needs it.")
    ] = None,
    expected_dtype: Annotated[
        str | None, typer.Option("--expected-dtype", help="The dtype of a raw EXPECTED (default: --dtype).")
    ] = None,
    shape: Annotated[
        str | None, typer.Option("--shape", help="The shape of both: 16x3x171, 4,4 or scalar.")
    ] = None,
    json: Annotated[
        str | None, typer.Option("--json", metavar="FILE", help="Write the comparison as JSON; - is stdout.")
    ] = None,
) -> None:
    """Judge two saved tensors as the output of an operator and its golden."""
    from ascend_opcli.reporting import compare as report_of
    from ascend_opcli.verification.saved_tensors import compare_saved
    from ascend_opcli.verification.standards import named

    every = standard == named.ALL
    try:
        choice = named.parse(standard) if standard is not None and not every else None
        report = compare_saved(
            actual,
            expected,
            choice=choice,
            dtype=dtype,
            expected_dtype=expected_dtype,
            shape=shape,
            all_standards=every,
        )
    except ValueError as error:
        raise UsageError(str(error)) from None
    begin()
    if json is not None:
        from ascend_opcli.execution.facts import run_facts
        from ascend_opcli.reporting.files import write_text
        from ascend_opcli.reporting.json_report import dump

        facts = {**run_facts(), "arguments": sys.argv[1:]}
        write_text(json, dump(report_of.document(report, actual, expected, facts)))
    stream = sys.stderr if json == "-" else sys.stdout
    stream.writelines(line + "\n" for line in report_of.lines(report, actual, expected))
    if not report.passed:
        raise typer.Exit(ExitCode.FAILED)
    if not math.prod(report.shape):
        print("nothing was judged: the tensors have no element", file=sys.stderr)
        raise typer.Exit(ExitCode.NOTHING_JUDGED)
