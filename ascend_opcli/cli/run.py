"""``opcli run``: run and judge."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ascend_opcli.cli.options import Backend, Debug
from ascend_opcli.errors import ExitCode, SurroundingsError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ascend_opcli.backends.cann.discovery import Headers
    from ascend_opcli.execution.plan import Plan
    from ascend_opcli.model import Result


def run(
    paths: Annotated[
        list[str] | None,
        typer.Argument(metavar="[PATH[::CASE]]...", help="Case files, folders, or - for stdin."),
    ] = None,
    op: Annotated[str | None, typer.Option("--op", help="One call without a file: the operator.")] = None,
    dtype: Annotated[str | None, typer.Option("--dtype", help="Its dtype.")] = None,
    shape: Annotated[str | None, typer.Option("--shape", help="Its shape: 16x3x171, 4,4 or scalar.")] = None,
    attrs: Annotated[list[str] | None, typer.Option("--attr", metavar="K=V", help="An attribute.")] = None,
    inputs: Annotated[
        list[str] | None,
        typer.Option(
            "--in", metavar="X=SPEC", help="An input: x=null, x=float16[4,4]@transposed:uniform(0,1)."
        ),
    ] = None,
    outputs: Annotated[
        list[str] | None, typer.Option("--out", metavar="Y=SPEC", help="An output: y=float32[4].")
    ] = None,
    expect: Annotated[
        str | None, typer.Option("--expect", metavar="STATUS", help="The status that is right.")
    ] = None,
    seed: Annotated[
        int | None, typer.Option("--seed", help="Seed of cases that name none (default 0).")
    ] = None,
    product: Annotated[
        str | None, typer.Option("--product", help="Whose contract the host applies (default atlas_a2).")
    ] = None,
    standard: Annotated[
        str | None,
        typer.Option("--standard", metavar="NAME[:K=V]", help="Judge by this standard: ulp:max=2."),
    ] = None,
    keyword: Annotated[
        str | None, typer.Option("-k", metavar="EXPR", help="Only cases whose id or tags match.")
    ] = None,
    tags: Annotated[list[str] | None, typer.Option("--tag", help="Only cases with this tag.")] = None,
    negatives: Annotated[
        bool,
        typer.Option(
            "--negatives", help="Add the refusals and odd accepted calls of each operator's contract."
        ),
    ] = False,
    backend: Annotated[Backend, typer.Option("--backend", help="What executes the calls.")] = Backend.AUTO,
    device: Annotated[int, typer.Option("--device", metavar="N", help="The device's number.")] = 0,
    opp: Annotated[
        Path | None, typer.Option("--opp", metavar="DIR", help="An operator package whose symbols go first.")
    ] = None,
    timeout: Annotated[
        float,
        typer.Option("--timeout", metavar="SECONDS", min=0.001, help="How long a case may take on a device."),
    ] = 60.0,
    in_process: Annotated[
        bool,
        typer.Option(
            "--in-process", help="Drive the device without a child process, for tools that wrap it."
        ),
    ] = False,
    live: Annotated[bool, typer.Option("-s", help="Show what kernels print as the run goes on.")] = False,
    inputs_sha256: Annotated[
        str | None,
        typer.Option("--inputs-sha256", metavar="HEX", help="Refuse to run on other inputs than these."),
    ] = None,
    allow_code: Annotated[
        bool, typer.Option("--allow-code", help="Let cases run their reference file.py:function.")
    ] = False,
    strict: Annotated[bool, typer.Option("--strict", help="Count SKIP and WEAK as failures.")] = False,
    verbose: Annotated[bool, typer.Option("-v", "--verbose", help="Show every case, however many.")] = False,
    json: Annotated[
        str | None, typer.Option("--json", metavar="FILE", help="Write the run as JSON; - is stdout.")
    ] = None,
    debug: Debug = False,  # noqa: ARG001
) -> None:
    """Run and judge case files, folders, or one call described by options."""
    from ascend_opcli.casefile.inline import Options
    from ascend_opcli.execution import plan as planning
    from ascend_opcli.execution.backend import Wanted, installed_headers, opened
    from ascend_opcli.execution.runner import Settings, run_cases
    from ascend_opcli.execution.select import matcher, with_tags
    from ascend_opcli.operators.products import DEFAULT_PRODUCT
    from ascend_opcli.operators.products import product as product_named
    from ascend_opcli.verification import standards
    from ascend_opcli.verification.choice import check_for

    begun = time.perf_counter()
    home = _usage(product_named, product) if product else DEFAULT_PRODUCT
    override = _usage(standards.parse, standard) if standard and not op else None
    headers = installed_headers(backend.value, opp)
    single = {
        "--dtype": dtype,
        "--shape": shape,
        "--attr": attrs,
        "--in": inputs,
        "--out": outputs,
        "--expect": expect,
    }
    if op is not None:
        if paths:
            raise UsageError("--op describes one call; it does not go with a PATH")
        options = Options(
            op, dtype, shape, attrs or (), inputs or (), outputs or (), expect, product, standard, seed
        )
        plan = planning.of_options(options, check_standard=check_for, declared=headers)
    else:
        stray = [name for name, value in single.items() if value]
        if stray:
            raise UsageError(f"{', '.join(stray)} describe one call and need --op NAME")
        if not paths:
            raise UsageError("nothing to run: name a case file, a folder, or --op NAME")
        plan = planning.of_paths(paths, check_standard=check_for, seed=seed, declared=headers)
    tests = [with_tags(tags or ()), *([matcher(keyword)] if keyword else [])]
    settings = Settings(
        product=product and home, standard=override, inputs_sha256=inputs_sha256, allow_code=allow_code
    )
    wanted = Wanted(backend.value, device, opp, timeout, live, in_process)
    results: list[Result] = []
    with opened(wanted) as executor:
        home = executor.product or home
        if negatives:
            plan = planning.with_negatives(plan, home, other_products=executor.product is None)
        plan = planning.select(plan, *tests)
        if inputs_sha256 is not None:
            planning.one_case(plan, "--inputs-sha256")
        interrupted = _collect(run_cases(plan.cases, settings, executor), results, len(plan.cases))
    code = _report(
        results, plan, headers, interrupted, home, seed, time.perf_counter() - begun, strict, verbose, json
    )
    raise typer.Exit(code)


def _usage(rule: Any, word: str) -> Any:
    try:
        return rule(word)
    except ValueError as error:
        raise UsageError(str(error)) from None


def _collect(stream: Iterator[Result], results: list[Result], total: int) -> bool:
    """Gather the results, with progress on stderr; True where the run is interrupted on its way."""
    from ascend_opcli.reporting.progress import Progress

    with Progress(total, sys.stderr) as progress:
        try:
            for result in stream:
                results.append(result)
                progress.advance(result.case.id)
        except KeyboardInterrupt:
            return True
    return False


def _report(
    results: list[Result],
    plan: Plan,
    headers: Headers | None,
    interrupted: bool,
    product: str,
    seed: int | None,
    seconds: float,
    strict: bool,
    verbose: bool,
    json: str | None,
) -> ExitCode:
    from ascend_opcli.execution import plan as planning
    from ascend_opcli.execution.facts import run_facts
    from ascend_opcli.reporting import json_report, terminal
    from ascend_opcli.reporting.summary import Summary

    summary = Summary.of(results)
    lines = summary.lines(seconds)
    if interrupted:
        lines.insert(0, f"interrupted: {len(results)} of {len(plan.cases)} cases were finished")
    # A report on stdout is alone there: the table then goes to stderr.
    terminal.print_results(results, sys.stderr if json == "-" else sys.stdout, summary=lines, verbose=verbose)
    for line in planning.header_notes(plan, headers):
        print(line, file=sys.stderr)
    if plan.aside:
        print(f"{plan.aside} files in the folders are no case files", file=sys.stderr)
    if plan.deselected:
        print(f"{plan.deselected} cases were not selected", file=sys.stderr)
    if not plan.cases:
        print("nothing was judged: no case matches", file=sys.stderr)
    codes = [summary.exit_code(strict=strict)]
    if interrupted:
        codes.append(ExitCode.INTERRUPTED)
    if json is not None:
        facts = {
            **run_facts(),
            "backend": "host",
            "product": product,
            "seed": seed,
            "arguments": sys.argv[1:],
        }
        report = json_report.document(results, facts, seconds, complete=not interrupted)
        try:
            json_report.write_text(json, json_report.dump(report))
        except SurroundingsError as error:
            print(f"opcli: {error}", file=sys.stderr)
            codes.append(ExitCode.SURROUNDINGS)
    return ExitCode.worst(codes)


def _backend(results: list[Result]) -> str:
    return results[0].backend if results else "host"
