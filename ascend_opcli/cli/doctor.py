"""``opcli doctor``: what a device run needs, and what is missing."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ascend_opcli.cli.interrupts import begin
from ascend_opcli.cli.options.command import command
from ascend_opcli.cli.options.words import Language
from ascend_opcli.errors import ExitCode, UsageError

if TYPE_CHECKING:
    from ascend_opcli.backends.cann.selftest_requests import Checked

SELF_TEST = "opcli-self-test.json"


@command
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
    self_test: Annotated[
        bool,
        typer.Option(
            "--self-test",
            help=f"Check on the device what opcli takes for granted of it, in under two minutes; writes {SELF_TEST}"
            " (or --json FILE) and the text beside it.",
        ),
    ] = False,
    lang: Annotated[Language, typer.Option("--lang", help="The language of --self-test.")] = Language.EN,
) -> None:
    """Say what of CANN, pyACL, libraries and devices is there, what is missing, and the command that mends it.

    Exit 3 where a device run cannot work, or not of an OPERATOR that is named, and where the self-test finds that
    something differs; host runs work without any of it.
    """
    from ascend_opcli.backends.cann.doctor import device_ready, examine, operators_ready
    from ascend_opcli.backends.cann.selftest_requests import DIFFERS
    from ascend_opcli.reporting.doctor import dump_findings, finding_lines
    from ascend_opcli.reporting.files import write_text
    from ascend_opcli.reporting.selftest import text

    begin()
    if self_test and opp is not None:
        raise UsageError("--self-test looks at CANN itself: leave out --opp")
    findings = examine(os.environ, tuple(operators or ()), opp, device)
    ready, there = device_ready(findings), operators_ready(findings)
    good = ready and all(there.values())
    lines = list(finding_lines(findings, ready, there))
    if json != "-":
        typer.echo("\n".join(lines))
    checked = None
    if self_test:
        json = json or SELF_TEST
        more, checked = _tested(device, lang.value, silent=json == "-", opens=ready)
        lines += more
        good = good and not any(one.state == DIFFERS for one in checked)
    if json is not None:
        write_text(json, [dump_findings(findings, ready, there, checked)])
    if checked is not None and json != "-":
        beside = str(Path(json or "").with_suffix(".txt"))
        write_text(beside, [f"{line}\n" for line in lines])
        typer.echo(f"\n{text('attach', lang.value, files=f'{json}, {beside}')}")
    raise typer.Exit(ExitCode.PASSED if good else ExitCode.SURROUNDINGS)


def _tested(device: int, language: str, *, silent: bool, opens: bool) -> tuple[list[str], list[Checked]]:
    """The self-test, each line as it is known."""
    from ascend_opcli.execution.selftest import NAMES, not_checked, self_test
    from ascend_opcli.reporting.selftest import checked_lines

    lines: list[str] = [""]
    checked: list[Checked] = []
    if not silent:
        typer.echo()
    for one in self_test(device) if opens else not_checked(NAMES, "no_device"):
        checked.append(one)
        said = list(checked_lines(one, language))
        lines += said
        if not silent:
            typer.echo("\n".join(said))
    return lines, checked
