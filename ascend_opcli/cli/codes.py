"""``opcli codes``: what a return code means."""

from __future__ import annotations

from typing import Annotated

import typer

from ascend_opcli.cli.options import Debug


def codes(
    code: Annotated[
        str | None,
        typer.Argument(metavar="[CODE|NAME]", help="A number or a name; all of them, grouped, without."),
    ] = None,
    debug: Debug = False,  # noqa: ARG001
) -> None:
    """Say what a return code means and, where known, what usually fixes it."""
    from ascend_opcli.status.codes import GROUPS, all_codes, lookup

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
    typer.echo(f"  meaning: {found.meaning}")
    typer.echo(f"  cause:   {found.cause}")
    if found.fix:
        typer.echo(f"  fix:     {found.fix}")
