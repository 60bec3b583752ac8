"""The command tree."""

from __future__ import annotations

from typing import Annotated

import typer

from ascend_opcli import __version__
from ascend_opcli.cli.bench import bench
from ascend_opcli.cli.cases import cases_app
from ascend_opcli.cli.codes import codes
from ascend_opcli.cli.compare import compare
from ascend_opcli.cli.diff import diff
from ascend_opcli.cli.doctor import doctor
from ascend_opcli.cli.ops import ops_app
from ascend_opcli.cli.run import run

# Plain help: rich's tables would cost more start-up time than all of typer.
app = typer.Typer(
    name="opcli",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
    epilog="Example: opcli run cases/logit_grad.yaml",
)
app.command(epilog="Example: opcli run --op logit_grad --dtype float16 --shape 16x3x171 --attr eps=0.01")(run)
app.command(epilog="Example: opcli compare out.npy golden.npy --standard ulp:max=2")(compare)
app.command(epilog="Example: opcli bench --op elu_backward --save elu.json")(bench)
app.add_typer(ops_app, name="ops")
app.add_typer(cases_app, name="cases")
app.command(epilog="Example: opcli diff yesterday.json today.json")(diff)
app.command(epilog="Example: opcli codes 161002")(codes)
app.command(epilog="Example: opcli doctor logit_grad")(doctor)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"opcli {__version__}")
        raise typer.Exit


@app.callback()
def opcli(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Run Ascend NPU operators and prove that they are right.

    Exit codes: 0 all passed; 1 a case failed; 2 wrong usage or an unreadable case file; 3 the surroundings failed;
    4 nothing was judged; 5 a performance regression; 130 interrupted.
    """
