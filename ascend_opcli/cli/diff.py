"""``opcli diff``: two runs side by side."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from ascend_opcli.cli.interrupts import begin
from ascend_opcli.cli.options.command import command


@command
def diff(
    before: Annotated[str, typer.Argument(metavar="RUN_A.json", help="The earlier run: opcli run --json.")],
    after: Annotated[str, typer.Argument(metavar="RUN_B.json", help="The later one.")],
    json: Annotated[
        str | None, typer.Option("--json", metavar="FILE", help="Write the difference as JSON; - is stdout.")
    ] = None,
    verbose: Annotated[bool, typer.Option("-v", "--verbose", help="Show every line, however many.")] = False,
) -> None:
    """Compare two reports: new failures, fixed, other verdicts and statuses, drift of errors, slower cases.

    Exit code 1 where a case fails that did not fail before, 2 for files that are no report of opcli run, else 0.
    """
    from ascend_opcli.execution.diff import compare, read_run
    from ascend_opcli.reporting.diff import document, lines
    from ascend_opcli.reporting.files import write_text
    from ascend_opcli.reporting.json_report import dump

    found = compare(read_run(before), read_run(after))
    begin()
    if json is not None:
        write_text(json, dump(document(found)))
    # A report on stdout is alone there: the text then goes to stderr.
    stream = sys.stderr if json == "-" else sys.stdout
    stream.writelines(line + "\n" for line in lines(found, everything=verbose))
    raise typer.Exit(found.exit_code)
