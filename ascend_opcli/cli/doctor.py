"""``opcli doctor``: what a device run needs, and what is missing."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from ascend_opcli.cli.interrupts import begin
from ascend_opcli.cli.options import Debug
from ascend_opcli.errors import ExitCode


def doctor(
    operators: Annotated[
        list[str] | None, typer.Argument(metavar="[OPERATOR]...", help="Look for these operators too.")
    ] = None,
    opp: Annotated[
        Path | None, typer.Option("--opp", metavar="DIR", help="An operator package whose symbols go first.")
    ] = None,
    device: Annotated[int, typer.Option("--device", metavar="N", help="The device's number.")] = 0,
    json: Annotated[
        str | None, typer.Option("--json", metavar="FILE", help="Write the findings as JSON; - is stdout.")
    ] = None,
    debug: Debug = False,  # noqa: ARG001
) -> None:
    """Say what of CANN, pyACL, libraries and devices is there, what is missing, and the command that mends it.

    Exit 3 where a device run cannot work, or not of an OPERATOR that is named; host runs work without any of it.
    """
    from ascend_opcli.backends.cann.doctor import device_ready, examine, operators_ready
    from ascend_opcli.reporting.doctor import dump_findings, finding_lines
    from ascend_opcli.reporting.files import write_text

    begin()
    findings = examine(os.environ, tuple(operators or ()), opp, device)
    ready, there = device_ready(findings), operators_ready(findings)
    if json is not None:
        write_text(json, [dump_findings(findings, ready, there)])
    if json != "-":
        for line in finding_lines(findings, ready, there):
            typer.echo(line)
    raise typer.Exit(ExitCode.PASSED if ready and all(there.values()) else ExitCode.SURROUNDINGS)
