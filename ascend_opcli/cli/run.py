"""``opcli run``: run and judge."""

from __future__ import annotations

import math
import signal
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ascend_opcli.cli.foreign import (
    CandidateOption,
    Foreign,
    FormatOption,
    TensorsOption,
    foreign,
    third_party_folder,
)
from ascend_opcli.cli.interrupts import begin
from ascend_opcli.cli.options import Backend, Debug, Language, Via
from ascend_opcli.errors import ExitCode, SurroundingsError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ascend_opcli.backends.cann.discovery import Headers
    from ascend_opcli.execution.plan import Plan
    from ascend_opcli.execution.replay import Saver
    from ascend_opcli.execution.written import Keeper
    from ascend_opcli.model import Result, StandardChoice
    from ascend_opcli.reporting.finished import FinishedRun

UNCHANGED = "nothing to judge: no operator was changed"


def run(
    paths: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[PATH[::CASE]]...", help="Case files, dumps, manifests, folders, or - for stdin."
        ),
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
        typer.Option(
            "--standard",
            metavar="NAME[:K=V]|all",
            help="Judge by this standard: ulp:max=2; all: show beside the verdict how each would judge.",
        ),
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
    via: Annotated[
        Via | None,
        typer.Option("--via", help="Through the aclnn function, or the kernel by its type (ir)."),
    ] = None,
    models: Annotated[
        Path | None,
        typer.Option(
            "--models", metavar="DIR", help="Single-operator models for --via ir; else it compiles."
        ),
    ] = None,
    timeout: Annotated[
        float | None,
        typer.Option(
            "--timeout",
            metavar="SECONDS",
            min=0.001,
            help="How long a case may take on a device; 60 where it is not given.",
        ),
    ] = None,
    in_process: Annotated[
        bool,
        typer.Option(
            "--in-process", help="Drive the device without a child process, for tools that wrap it."
        ),
    ] = False,
    live: Annotated[bool, typer.Option("-s", help="Show what kernels print as the run goes on.")] = False,
    listing: Annotated[
        bool, typer.Option("--list", help="Run nothing: print PATH::CASE of every case that would run.")
    ] = False,
    last_failed: Annotated[
        bool,
        typer.Option(
            "--last-failed", help="Only cases that failed when they were last run; all if none did."
        ),
    ] = False,
    changed: Annotated[
        str | None,
        typer.Option(
            "--changed",
            metavar="LIST",
            help="Only cases of operators that the paths in this file touch; - reads them from stdin.",
        ),
    ] = None,
    exit_first: Annotated[
        bool, typer.Option("-x", "--exitfirst", help="Stop after the first failure.")
    ] = False,
    inputs_sha256: Annotated[
        str | None,
        typer.Option("--inputs-sha256", metavar="HEX", help="Refuse to run on other inputs than these."),
    ] = None,
    allow_code: Annotated[
        bool,
        typer.Option(
            "--allow-code", help="Let cases run a reference that is code: file.py:function, golden.py."
        ),
    ] = False,
    memory_limit: Annotated[
        str | None,
        typer.Option(
            "--memory-limit",
            metavar="SIZE",
            help="Run larger cases in blocks where their operator is elementwise, skip them elsewhere: 2GiB "
            "(default half of what is free). A candidate may take no more either.",
        ),
    ] = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Count SKIP, WEAK and IN PART as failures.")
    ] = False,
    max_skips: Annotated[
        int | None,
        typer.Option("--max-skips", metavar="N", min=0, help="Fail where more cases than N are skipped."),
    ] = None,
    candidate: CandidateOption = None,
    tensors: TensorsOption = None,
    format: FormatOption = None,
    written: Annotated[
        Path | None,
        typer.Option("--outputs", metavar="DIR", help="Judge what a program wrote there: opcli cases data."),
    ] = None,
    save_outputs: Annotated[
        Path | None,
        typer.Option("--save-outputs", metavar="DIR", help="Save every output, for --third-party elsewhere."),
    ] = None,
    third_party: Annotated[
        Path | None,
        typer.Option(
            "--third-party",
            metavar="DIR",
            help="Third-party results for --standard dual: a folder of --save-outputs.",
        ),
    ] = None,
    save_failures: Annotated[
        Path | None,
        typer.Option(
            "--save-failures",
            metavar="DIR",
            help="Save every failure: tensors, a case file that runs from them, a NumPy script.",
        ),
    ] = None,
    save_limit: Annotated[
        int,
        typer.Option("--save-limit", metavar="MIB", min=1, help="Save no failure with larger tensors."),
    ] = 256,
    verbose: Annotated[bool, typer.Option("-v", "--verbose", help="Show every case, however many.")] = False,
    json: Annotated[
        str | None, typer.Option("--json", metavar="FILE", help="Write the run as JSON; - is stdout.")
    ] = None,
    csv: Annotated[
        str | None, typer.Option("--csv", metavar="FILE", help="Write a table, one row an output.")
    ] = None,
    junit: Annotated[
        str | None, typer.Option("--junit", metavar="FILE", help="Write JUnit XML, for CI systems.")
    ] = None,
    markdown: Annotated[
        str | None,
        typer.Option("--markdown", metavar="FILE", help="Write a summary for a pull request or CI page."),
    ] = None,
    html: Annotated[
        str | None, typer.Option("--html", metavar="FILE", help="Write one HTML page with pictures.")
    ] = None,
    acceptance: Annotated[
        str | None,
        typer.Option("--acceptance", metavar="FILE", help="Write what an operator contribution hands in."),
    ] = None,
    issue: Annotated[
        str | None, typer.Option("--issue", metavar="FILE", help="Write a bug report on what failed.")
    ] = None,
    lang: Annotated[
        Language, typer.Option("--lang", help="The language of --acceptance and --issue.")
    ] = Language.EN,
    debug: Debug = False,  # noqa: ARG001
) -> None:
    """Run and judge case files, folders, or one call described by options."""
    from ascend_opcli.casefile.inline import Options
    from ascend_opcli.execution import plan as planning
    from ascend_opcli.execution.changed import read_list, touched
    from ascend_opcli.execution.journal import Journal, default_folder
    from ascend_opcli.execution.runner import Settings, run_cases
    from ascend_opcli.execution.select import matcher, with_tags
    from ascend_opcli.execution.target import Wanted, installed_cann, installed_headers, opened
    from ascend_opcli.operators.products import DEFAULT_PRODUCT
    from ascend_opcli.operators.products import product as product_named
    from ascend_opcli.verification.standards import named
    from ascend_opcli.verification.standards.choice import check_for

    begun = time.perf_counter()
    if models is not None and not models.is_dir():
        raise UsageError(f"--models {models}: this is no folder")
    patience = _patience(timeout, in_process)
    if inputs_sha256 is not None and not _is_sha256(inputs_sha256):
        raise UsageError(
            f"--inputs-sha256 takes the 64 hexadecimal digits of a repro line, not '{inputs_sha256}'"
        )
    reports = _targets(
        json=json,
        csv=csv,
        junit=junit,
        markdown=markdown,
        html=html,
        acceptance=acceptance,
        issue=issue,
    )
    home = _usage(product_named, product) if product else DEFAULT_PRODUCT
    all_standards = standard == named.ALL
    standard = None if all_standards else standard
    override = _usage(named.parse, standard) if standard is not None and op is None else None
    others = {"--backend": backend is not Backend.AUTO, "--opp": opp is not None, "--in-process": in_process}
    serving = foreign(
        candidate,
        tensors,
        format,
        written,
        others,
        allow_code=allow_code,
        timeout=patience,
        live=live,
        memory_limit=_bytes(memory_limit),
    )
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
    if op is not None and last_failed:
        raise UsageError("--last-failed remembers case files; it does not go with --op")
    if changed is not None:
        if changed == "-" and any(path.partition("::")[0] == "-" for path in paths or ()):
            raise UsageError("--changed and the cases cannot both come from stdin")
        plan = planning.touched_only(plan, touched(read_list(changed)))
    tests = [with_tags(tags or ()), *([matcher(keyword)] if keyword else [])]
    journal = Journal(default_folder())

    def chosen(plan: Plan, product: str, *, other_products: bool) -> Plan:
        if negatives:
            plan = planning.with_negatives(plan, product, other_products=other_products)
        plan = planning.select(plan, *tests)
        if last_failed and plan.cases:
            failed = journal.last_failed(plan.cases)
            if failed is not None:
                return planning.select(plan, failed)
            print("nothing failed last time: all cases are picked", file=sys.stderr)
        return plan

    if listing:
        raise typer.Exit(_list(chosen(plan, home, other_products=True)))
    saver = _saver(save_failures, save_limit, override, serving.saved)
    keeper = _keeper(save_outputs)
    rerun = any(others.values()) or serving != Foreign()
    settings = Settings(
        product=product and home,
        standard=override,
        all_standards=all_standards,
        inputs_sha256=inputs_sha256,
        allow_code=allow_code,
        memory_limit=_bytes(memory_limit),
        cann=installed_cann(),
        on_failure=saver,
        on_outcome=keeper,
        third_party=third_party_folder(third_party, override, plan.cases, all_standards=all_standards),
        repro_options=serving.repro
        + (("--third-party", str(third_party)) if third_party else ())
        + (("--models", str(models)) if models else ()),
        via=via.value if via is not None else None,
        rerun=rerun,
    )
    # Where no operator was changed, or every case has its outputs, there is nothing that a device would be needed for.
    idle = plan.unchanged or (not rerun and not negatives and plan.cases and all(c.got for c in plan.cases))
    wanted = Wanted(
        "host" if idle else backend.value,
        device,
        opp,
        patience,
        live,
        in_process,
        None if plan.unchanged else serving.candidate,
        serving.outputs,
        override,
        models,
    )
    results: list[Result] = []
    begin()
    with opened(wanted) as executor:
        home = executor.product or home
        plan = chosen(plan, home, other_products=executor.product is None)
        if keeper is not None:
            keeper.expect(plan.cases)
        if saver is not None and executor.product is None:
            saver.product = settings.product
        if inputs_sha256 is not None:
            planning.one_case(plan, "--inputs-sha256")
        stop = _fails(strict) if exit_first else None
        interrupted = _collect(run_cases(plan.cases, settings, executor), results, len(plan.cases), stop)
    journal.record(results)
    seconds = time.perf_counter() - begun
    code = _report(
        results, plan, headers, interrupted, home, seed, seconds, strict, verbose, reports, lang.value
    )
    raise typer.Exit(ExitCode.worst([code, *_skips(results, max_skips), *_saved(saver), *_kept(keeper)]))


def _patience(timeout: float | None, in_process: bool) -> float:
    """Seconds that a case may take."""
    if timeout is not None and in_process:
        raise UsageError("--timeout needs the child process that --in-process leaves out")
    if timeout is not None and not math.isfinite(timeout):
        raise UsageError(f"--timeout takes a number of seconds, not {timeout:g}")
    if in_process:
        # A handler in Python does not run while a kernel hangs: SIGTERM must end the process by itself.
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
    return 60.0 if timeout is None else timeout


def _list(plan: Plan) -> ExitCode:
    """Print what would run, fit to be given to opcli run."""
    from ascend_opcli.casefile.loader import STDIN
    from ascend_opcli.reporting.escape import in_line
    from ascend_opcli.reporting.wording import count_text

    for case in plan.cases:
        print(in_line(f"{'-' if case.path == STDIN else case.path}::{case.name}"))
    print(count_text(len(plan.cases), "case"), file=sys.stderr)
    if plan.unchanged:
        print(UNCHANGED, file=sys.stderr)
    return ExitCode.PASSED if plan.cases or plan.unchanged else ExitCode.NOTHING_JUDGED


def _fails(strict: bool) -> Callable[[Result], bool]:
    """Whether a result alone would make the run fail; a skipped case would not."""
    from ascend_opcli.reporting.summary import Summary

    fine = (ExitCode.PASSED, ExitCode.NOTHING_JUDGED)
    return lambda result: Summary.of([result]).exit_code(strict=strict) not in fine


def _skips(results: list[Result], most: int | None) -> list[ExitCode]:
    """The failure that too many skipped cases are; a known issue counts as skipped."""
    from ascend_opcli.reporting.wording import count_text

    skipped = [r.verdict.word.value for r in results if r.verdict.word.value in ("SKIP", "KNOWN")]
    if most is None or len(skipped) <= most:
        return []
    known = f" ({skipped.count('KNOWN')} of them KNOWN)" if "KNOWN" in skipped else ""
    print(f"{count_text(len(skipped), 'case')} skipped{known}, more than --max-skips {most}", file=sys.stderr)
    return [ExitCode.FAILED]


def _saver(
    folder: Path | None, limit: int, standard: StandardChoice | None, options: tuple[str, ...]
) -> Saver | None:
    if folder is None:
        return None
    from ascend_opcli.execution.replay import MIB, Saver

    if folder.exists() and not folder.is_dir():
        raise UsageError(f"--save-failures {folder}: this is no folder")
    return Saver(folder, limit=limit * MIB, standard=standard, options=options)


def _saved(saver: Saver | None) -> list[ExitCode]:
    """Say what became of the failures that were to be saved."""
    if saver is None:
        return []
    from ascend_opcli.reporting.wording import count_text

    if saver.saved:
        print(f"{count_text(saver.saved, 'failure')} saved in {saver.folder}", file=sys.stderr)
    if saver.left_out:
        print(f"{count_text(saver.left_out, 'failure')} not saved: see the note of each", file=sys.stderr)
    if saver.broken is None:
        return []
    print(f"opcli: cannot save failures: {saver.broken}", file=sys.stderr)
    return [ExitCode.SURROUNDINGS]


def _keeper(folder: Path | None) -> Keeper | None:
    if folder is None:
        return None
    from ascend_opcli.execution.written import Keeper

    if folder.exists() and not folder.is_dir():
        raise UsageError(f"--save-outputs {folder}: this is no folder")
    return Keeper(folder)


def _kept(keeper: Keeper | None) -> list[ExitCode]:
    """Say what became of the outputs that were to be saved."""
    if keeper is None:
        return []
    from ascend_opcli.reporting.wording import count_text

    print(f"outputs of {count_text(keeper.kept, 'case')} saved in {keeper.folder}", file=sys.stderr)
    if keeper.broken is None:
        return []
    print(f"opcli: cannot save outputs: {keeper.broken}", file=sys.stderr)
    return [ExitCode.SURROUNDINGS]


def _usage(rule: Any, word: str) -> Any:
    try:
        return rule(word)
    except ValueError as error:
        raise UsageError(str(error)) from None


def _targets(**wanted: str | None) -> dict[str, str]:
    """The reports that are asked for, by format. Raises UsageError where two would go to one place."""
    targets = {name: target for name, target in wanted.items() if target is not None}
    by_target: dict[str, str] = {}
    for name, target in targets.items():
        other = by_target.setdefault(target if target == "-" else str(Path(target).resolve()), name)
        if other != name:
            place = "stdout" if target == "-" else target
            raise UsageError(f"--{other} and --{name} both write to {place}")
    return targets


def _collect(
    stream: Iterator[Result],
    results: list[Result],
    total: int,
    stop: Callable[[Result], bool] | None = None,
) -> bool:
    """Gather the results, with progress on stderr, up to one that ``stop`` picks; True where interrupted."""
    from ascend_opcli.reporting.progress import Progress

    with Progress(total, sys.stderr) as progress:
        try:
            for result in stream:
                results.append(result)
                progress.advance(result.case.id)
                if stop is not None and stop(result):
                    break
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
    reports: dict[str, str],
    language: str,
) -> ExitCode:
    from ascend_opcli.execution import plan as planning
    from ascend_opcli.execution.facts import run_facts
    from ascend_opcli.reporting import foreign, terminal
    from ascend_opcli.reporting.compare import side_by_side
    from ascend_opcli.reporting.finished import FinishedRun
    from ascend_opcli.reporting.summary import Summary
    from ascend_opcli.reporting.wording import count_text, served_text

    summary = Summary.of(results)
    lines = summary.lines(seconds)
    served = served_text(results)
    if served:
        lines.append(f"served by {served}")
    if interrupted:
        lines.insert(0, f"interrupted: {len(results)} of {len(plan.cases)} cases were finished")
    not_run = len(plan.cases) - len(results)
    facts = {
        **run_facts(),
        "backend": _backend(results),
        "product": product,
        "seed": seed,
        "arguments": sys.argv[1:],
        **({"served_by": served} if served else {}),
    }
    run = FinishedRun(results, facts, seconds, len(plan.cases), not (interrupted or not_run), language)
    # Files first: they are there whatever becomes of the terminal.
    said = list(_write_reports(run, reports, unchanged=plan.unchanged))
    # A report on stdout is alone there: the table then goes to stderr.
    stream = sys.stderr if "-" in reports.values() else sys.stdout
    terminal.print_results(results, stream, summary=lines, verbose=verbose)
    stream.writelines(line + "\n" for line in side_by_side(results))
    stream.writelines(line + "\n" for line in foreign.lines(results))
    for line in planning.header_notes(plan, headers):
        print(line, file=sys.stderr)
    if plan.aside:
        print(f"{plan.aside} files in the folders are no case files", file=sys.stderr)
    if plan.deselected:
        print(f"{plan.deselected} cases were not selected", file=sys.stderr)
    if not_run and not interrupted:
        print(f"stopped after the first failure: {count_text(not_run, 'case')} not run", file=sys.stderr)
    if not plan.cases:
        print(UNCHANGED if plan.unchanged else "nothing was judged: no case matches", file=sys.stderr)
    codes = [ExitCode.PASSED if plan.unchanged else summary.exit_code(strict=strict)]
    if interrupted:
        codes.append(ExitCode.INTERRUPTED)
    for line, failed in said:
        print(line, file=sys.stderr)
        codes += [ExitCode.SURROUNDINGS] if failed else []
    return ExitCode.worst(codes)


def _write_reports(
    run: FinishedRun, reports: dict[str, str], *, unchanged: bool
) -> Iterator[tuple[str, bool]]:
    """Write every report; what is to be said of those that were not written, and whether that is a failure."""
    from ascend_opcli.reporting.files import write_text
    from ascend_opcli.reporting.formats import FORMATS

    if not run.results and not unchanged:
        # An empty report would take the place of one that says something.
        files = [target for target in reports.values() if target != "-"]
        reports = {name: target for name, target in reports.items() if target == "-"}
        if files:
            yield f"no result, so no report: {', '.join(files)} left as it was", False
    for name, target in reports.items():
        try:
            write_text(target, FORMATS[name](run))
        except SurroundingsError as error:
            yield f"opcli: {error}", True


def _backend(results: list[Result]) -> str:
    return results[0].backend if results else "host"


def _is_sha256(text: str) -> bool:
    return len(text) == 64 and all(c in "0123456789abcdefABCDEF" for c in text)


def _bytes(text: str | None) -> int | None:
    """``2GiB``, ``500MB`` or a bare number of bytes."""
    if text is None:
        return None
    units = {"": 1, "b": 1, "kib": 2**10, "mib": 2**20, "gib": 2**30, "kb": 10**3, "mb": 10**6, "gb": 10**9}
    number = text.strip().rstrip("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ ")
    unit = text.strip()[len(number) :].strip().lower()
    try:
        size = int(float(number) * units[unit])
    except (KeyError, ValueError, OverflowError):
        size = 0
    if not 0 < size < 2**63:
        raise UsageError(f"--memory-limit takes a size such as 2GiB, not '{text}'")
    return size
