"""``opcli ops``: the operators that opcli knows."""

from __future__ import annotations

from typing import Annotated

import typer

from ascend_opcli.cli.options import Debug

ops_app = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="The operators: list them, show one.")


@ops_app.command("list", epilog="Example: opcli ops list")
def list_operators(debug: Debug = False) -> None:  # noqa: ARG001
    """List the operators, one a line: short name, aclnn name, what it computes."""
    from ascend_opcli.operators.catalog import of_packages, operators
    from ascend_opcli.reporting.operators import list_lines

    installed = of_packages()
    for line in list_lines([*operators().values(), *installed.operators.values()]):
        typer.echo(line)
    for problem in installed.problems:
        typer.echo(problem, err=True)


@ops_app.command("show", epilog="Example: opcli ops show logit_grad")
def show_operator(
    name: Annotated[str, typer.Argument(help="logit_grad or aclnnLogitGrad.")],
    debug: Debug = False,  # noqa: ARG001
) -> None:
    """Show one operator: signature, contract, products, formula, divergences, who can judge it."""
    from ascend_opcli.operators.catalog import find
    from ascend_opcli.reporting.operators import show_lines

    for line in show_lines(find(name)):
        typer.echo(line)
