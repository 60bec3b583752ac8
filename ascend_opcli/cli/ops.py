"""``opcli ops``: the operators that opcli knows."""

from __future__ import annotations

from typing import Annotated

import typer

from ascend_opcli.cli.options.command import command

ops_app = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="The operators: list them, show one.")


@ops_app.command("list", epilog="Example: opcli ops list --category norm --has-reference")
@command
def list_operators(
    category: Annotated[str | None, typer.Option("--category", help="math, activation, norm, ...")] = None,
    product: Annotated[
        str | None,
        typer.Option("--product", help="Only those that the documents list for this product or SoC."),
    ] = None,
    dtype: Annotated[
        str | None, typer.Option("--dtype", help="Only those that list this dtype for a tensor.")
    ] = None,
    reference: Annotated[
        bool | None,
        typer.Option("--has-reference/--no-reference", help="Only those that opcli can judge, or cannot."),
    ] = None,
    counts: Annotated[bool, typer.Option("--counts", help="Only how many there are, by category.")] = False,
) -> None:
    """List the documented operators, one a line: short name, aclnn name, category, what it computes."""
    from ascend_opcli.errors import ExitCode
    from ascend_opcli.operators.catalog import of_packages
    from ascend_opcli.operators.listing import select
    from ascend_opcli.reporting.operators import count_lines, list_lines, listing_text

    found = select(category=category, product=product, dtype=dtype, reference=reference)
    for line in count_lines(found) if counts else list_lines(found.rows):
        typer.echo(line)
    typer.echo(listing_text(found), err=True)
    for problem in of_packages().problems:
        typer.echo(problem, err=True)
    if not found.rows:
        raise typer.Exit(ExitCode.NOTHING_JUDGED)


@ops_app.command("show", epilog="Example: opcli ops show aclnnAdd")
@command
def show_operator(
    name: Annotated[str, typer.Argument(help="logit_grad, aclnnLogitGrad, or a type: ir:LogitGrad.")],
) -> None:
    """Show one operator: signature, a case, parameters, products, contract, who can judge it, divergences."""
    from ascend_opcli.casefile.new.text import skeleton
    from ascend_opcli.operators.catalog import find
    from ascend_opcli.operators.documents.catalogued import documented
    from ascend_opcli.reporting.operators import show_lines

    operator = find(name)
    for line in show_lines(operator, documented(operator.name), skeleton(operator)):
        typer.echo(line)
