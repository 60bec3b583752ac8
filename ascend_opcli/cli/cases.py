"""``opcli cases``: write case files, and look at them without running them."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import Annotated

import typer

from ascend_opcli.cli.interrupts import begin
from ascend_opcli.cli.options.command import command
from ascend_opcli.cli.options.selection import Selection
from ascend_opcli.cli.options.words import FileFormat, Product, Signatures

cases_app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Case files: new, validate, list, show, import, data, schema.",
)

Paths = Annotated[
    list[str], typer.Argument(metavar="PATH[::CASE]...", help="Case files, folders, or - for stdin.")
]


@cases_app.command("validate", epilog="Example: opcli cases validate cases")
@command
def validate(paths: Paths) -> None:
    """Read case files and say the first thing that does not fit in each; exit 2 where there is one."""
    from ascend_opcli.casefile.discover import find, pick
    from ascend_opcli.casefile.open import load_file
    from ascend_opcli.errors import CaseFileError, ExitCode
    from ascend_opcli.reporting.escape import in_line
    from ascend_opcli.verification.standards.choice import check_for

    found = find(paths)
    bad = 0
    for target in found.targets:
        try:
            cases = pick(load_file(target.path, check_standard=check_for), target.picks)
        except CaseFileError as error:
            typer.echo(str(error), err=True)
            bad += 1
        else:
            typer.echo(f"{in_line(target.path)}: {len(cases)} case{'' if len(cases) == 1 else 's'}")
    if bad:
        raise typer.Exit(ExitCode.USAGE)
    if not found.targets:
        raise typer.Exit(ExitCode.NOTHING_JUDGED)


@cases_app.command("list", epilog="Example: opcli cases list cases -k bfloat16")
@command
def list_cases(
    paths: Paths,
    *,
    selection: Selection,
) -> None:
    """List the cases, one a line: FILE::CASE, fit to be given to opcli run."""
    from ascend_opcli.errors import ExitCode
    from ascend_opcli.execution import plan as planning
    from ascend_opcli.reporting.escape import in_line
    from ascend_opcli.verification.standards.choice import check_for

    plan = planning.of_paths(paths, check_standard=check_for)
    plan = planning.select(plan, *selection.tests())
    for case in plan.cases:
        typer.echo(in_line(f"{case.path}::{case.name}"))
    typer.echo(f"{len(plan.cases)} cases", err=True)
    if not plan.cases:
        raise typer.Exit(ExitCode.NOTHING_JUDGED)


@cases_app.command("data", epilog="Example: opcli cases data cases/logit_grad.yaml::smallest --out data")
@command
def data(
    paths: Paths,
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="A folder for each case is made here.")],
    format: Annotated[
        FileFormat, typer.Option("--format", help="Raw elements, or NumPy's format.")
    ] = FileFormat.BIN,
    *,
    selection: Selection,
    seed: Annotated[int | None, typer.Option("--seed", help="Seed of cases that name none.")] = None,
    allow_code: Annotated[
        bool, typer.Option("--allow-code", help="Let cases run their reference file.py:function.")
    ] = False,
) -> None:
    """Write the inputs and goldens of cases for another program; opcli run --outputs DIR judges what it writes."""
    from ascend_opcli.errors import ExitCode
    from ascend_opcli.execution import plan as planning
    from ascend_opcli.execution.data import write_cases
    from ascend_opcli.reporting.wording import count_text
    from ascend_opcli.verification.standards.choice import check_for

    plan = planning.of_paths(paths, check_standard=check_for, seed=seed)
    plan = planning.select(plan, *selection.tests())
    written = 0
    begin()
    for done in write_cases(plan.cases, out, format=format.value, allow_code=allow_code):
        if done.why:
            typer.echo(f"{done.case.id}: not written: {done.why}", err=True)
            continue
        written += 1
        typer.echo(str(done.folder))
        if done.aside is not None:
            typer.echo(f"{done.case.id}: outputs of other inputs are now in {done.aside}", err=True)
    typer.echo(f"{count_text(written, 'case')} written, {len(plan.cases) - written} not", err=True)
    if not written:
        raise typer.Exit(ExitCode.NOTHING_JUDGED)


@cases_app.command("show", epilog="Example: opcli cases show cases/logit_grad.yaml::documented-example")
@command
def show(
    path: Annotated[str, typer.Argument(metavar="PATH::CASE", help="One case.")],
) -> None:
    """Print one case as a stand-alone YAML document, defaults merged and matrix expanded."""
    from ascend_opcli.casefile.show import to_yaml
    from ascend_opcli.execution import plan as planning
    from ascend_opcli.verification.standards.choice import check_for

    case = planning.one_case(planning.of_paths([path], check_standard=check_for), "opcli cases show")
    typer.echo(to_yaml(case), nl=False)


@cases_app.command("import", epilog="Example: opcli cases import atk_aclnnAdd.json --out cases")
@command
def import_cases(
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE...",
            help="ATK JSON, TTK CSV, msopst JSON, msprobe's dump.json, a manifest of tensors, or folders of them; "
            "a log (- is stdin).",
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", metavar="DIR|FILE", help="Where the YAML goes: a folder, or one .yaml file."
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Write over files that are there.")] = False,
    signature: Signatures = None,
) -> None:
    """Turn case files of other tools, or the calls of a dump or a log, into YAML cases; stdout without --out."""
    from ascend_opcli.casefile.discover import find
    from ascend_opcli.casefile.files.targets import convert
    from ascend_opcli.casefile.new.write import prototypes
    from ascend_opcli.errors import ExitCode
    from ascend_opcli.reporting.files import write_new
    from ascend_opcli.verification.standards.choice import check_for

    done = convert(
        find(files), out, force=force, check_standard=check_for, declared=prototypes(signature or ())
    )
    begin()
    for path, text in done.texts:
        if path is None:
            typer.echo(text, nl=False)
        else:
            write_new(path, text)
    for line in done.lines:
        typer.echo(line, err=True)
    if done.unread:
        raise typer.Exit(ExitCode.USAGE)
    if not done.kept:
        raise typer.Exit(ExitCode.NOTHING_JUDGED)


class SuiteName(str, Enum):
    """Which cases ``new`` writes."""

    SMOKE = "smoke"
    ECOSYSTEM = "ecosystem"
    BOUNDARY = "boundary"


@cases_app.command("new", epilog="Example: opcli cases new aclnnAdd --suite ecosystem --pairwise -o add.yaml")
@command
def new(
    operator: Annotated[str, typer.Argument(metavar="OP", help="logit_grad or aclnnLogitGrad.")],
    suite: Annotated[
        SuiteName,
        typer.Option(
            "--suite",
            help="smoke: a few cases to begin with; ecosystem: what the precision standard asks for; "
            "boundary: the contract's edges, what is just accepted and what is refused.",
        ),
    ] = SuiteName.SMOKE,
    signature: Annotated[
        str | None,
        typer.Option(
            "--signature",
            metavar="TEXT|FILE",
            help="The C prototype, or a header, of an operator of your own.",
        ),
    ] = None,
    product: Annotated[Product | None, typer.Option("--product", help="Whose contract counts.")] = None,
    max_elements: Annotated[
        int | None, typer.Option("--max-elements", help="Ecosystem: elements of the largest tensor (65536).")
    ] = None,
    pairwise: Annotated[
        bool,
        typer.Option(
            "--pairwise", help="Ecosystem: every pair of dtype, shape and attributes, not every triple."
        ),
    ] = False,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Write here instead of stdout; never over a file.")
    ] = None,
) -> None:
    """Write a new case file: commented, valid, ready to run."""
    from ascend_opcli.casefile.new.text import DEFAULT_ELEMENTS, Suite, new_file
    from ascend_opcli.casefile.new.write import declared, write
    from ascend_opcli.execution.host_check import host_failure

    text = new_file(
        declared(operator, signature),
        Suite(suite.value),
        product=product.value if product else None,
        max_elements=DEFAULT_ELEMENTS if max_elements is None else max_elements,
        pairs=pairwise,
        failure=host_failure,
    )
    if output is None:
        typer.echo(text, nl=False)
    else:
        begin()
        write(output, text)
        typer.echo(f"{output}: {text.count(chr(10))} lines", err=True)


@cases_app.command("schema", epilog="Example: opcli cases schema --op aclnnAdd > add.schema.json")
@command
def schema(
    op: Annotated[
        str | None, typer.Option("--op", help="Only for this operator: its parameters by name and kind.")
    ] = None,
    signature: Annotated[
        str | None,
        typer.Option(
            "--signature", metavar="TEXT|FILE", help="With --op: the C prototype, or a header, of your own."
        ),
    ] = None,
) -> None:
    """Print the JSON Schema of a case file, with which editors complete and check one."""
    import json

    from ascend_opcli.casefile.new.write import declared
    from ascend_opcli.casefile.schema import document
    from ascend_opcli.errors import UsageError
    from ascend_opcli.verification.standards.named import STANDARDS

    if signature is not None and op is None:
        raise UsageError("--signature goes with --op, the operator that it declares")
    operator = declared(op, signature) if op is not None else None
    typer.echo(json.dumps(document(STANDARDS, operator, op), indent=1, ensure_ascii=False))
