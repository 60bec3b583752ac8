"""``opcli codes``: what a return code means, and what a pasted trace says."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from ascend_opcli.cli.options.command import command
from ascend_opcli.cli.options.words import Product, Signatures

if TYPE_CHECKING:
    from ascend_opcli.casefile.logs.failing import Explained
    from ascend_opcli.status.codes import ReturnCode


@command
def codes(
    code: Annotated[
        str | None,
        typer.Argument(metavar="[CODE|NAME]", help="A number or a name; all of them, grouped, without."),
    ] = None,
    log: Annotated[
        str | None,
        typer.Option(
            "--log", metavar="FILE", help="Find the failures in a trace or a log instead; - is stdin."
        ),
    ] = None,
    product: Annotated[
        Product | None, typer.Option("--product", help="With --log: whose contract counts.")
    ] = None,
    signature: Signatures = None,
) -> None:
    """Say what a return code means and, where known, what usually fixes it; --log FILE: which rule a call broke."""
    from ascend_opcli.errors import UsageError
    from ascend_opcli.status.codes import GROUPS, all_codes, lookup

    if log is not None:
        if code is not None:
            raise UsageError(
                f"--log reads the codes from {log}; give the code {code} alone, or the log alone"
            )
        _explain(log, product.value if product is not None else None, signature or [])
        return
    if product is not None or signature:
        raise UsageError("--product and --signature go with --log, the trace of a failing call")
    if code is None:
        for group, title in GROUPS.items():
            typer.echo(title)
            for entry in (c for c in all_codes() if c.group == group):
                typer.echo(f"  {entry.code:>6}  {entry.name}: {entry.meaning}")
        return
    found = lookup(code)
    typer.echo(f"{found.code} {found.name}")
    if found.aliases:
        typer.echo(f"  also: {', '.join(found.aliases)}")
    _meaning(found)


def _meaning(found: ReturnCode) -> None:
    typer.echo(f"  meaning: {found.meaning}")
    typer.echo(f"  cause:   {found.cause}")
    if found.fault == "surroundings":
        typer.echo("  verdict: ERROR, the surroundings failed and not the operator")
    if found.fix:
        typer.echo(f"  fix:     {found.fix}")


def _explain(log: str, product: str | None, signature: list[str]) -> None:
    from ascend_opcli.casefile.logs.failing import explain
    from ascend_opcli.casefile.new.write import prototypes
    from ascend_opcli.errors import ExitCode
    from ascend_opcli.reporting.wording import count_text
    from ascend_opcli.verification.standards.choice import check_for

    found = explain(log, check_standard=check_for, product=product, declared=prototypes(signature))
    for i, one in enumerate(found.failures):
        if i:
            typer.echo("")
        _failure(one)
    if found.dropped:
        typer.echo(f"{found.dropped} more failures are not shown", err=True)
    if not found.failures:
        name = "the log on stdin" if log == "-" else log
        calls = f"; {count_text(found.calls, 'logged call')}, see opcli cases import" if found.calls else ""
        typer.echo(f"{name}: no line names a status, an error code or a failing aclnn call{calls}", err=True)
        raise typer.Exit(ExitCode.NOTHING_JUDGED)


def _failure(one: Explained) -> None:
    from ascend_opcli.operators.contract.phase_one import said_by
    from ascend_opcli.status.codes import UnknownCode, describe, lookup
    from ascend_opcli.status.trace import family

    failure = one.failure
    status = describe(failure.status) if failure.status is not None else "no status"
    times = f", {failure.count} times" if failure.count > 1 else ""
    typer.echo(f"{failure.operator or 'no operator named'}: {status} (line {failure.line}{times})")
    for text in failure.texts:
        typer.echo(f"  log:     {text}")
    for code in failure.codes:
        typer.echo(f"  {code}:  {family(code) or 'no meaning known here'}")
    if one.refusal is not None:
        lists = f", {said_by(one.refusal.origin)}" if one.refusal.origin else ""
        typer.echo(f"  breaks:  {one.refusal.rule}")
        typer.echo(
            f"  rule:    {describe(one.refusal.status)} on {one.product}{lists}; call of line {one.line}"
        )
        if failure.status is None or one.refusal.status == failure.status:
            return
        typer.echo(f"  note:    the log says {status}, so something else may have come first")
    else:
        at = f" (call of line {one.line})" if one.line else ""
        typer.echo(f"  no rule: {one.why}{at}")
    if failure.status is not None:
        try:
            _meaning(lookup(failure.status))
        except UnknownCode:
            typer.echo("  meaning: no return code of this number is known")
