"""``opcli run``: run and judge."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Annotated

import typer

from ascend_opcli.cli.interrupts import begin
from ascend_opcli.cli.options.call import OneCall
from ascend_opcli.cli.options.command import command, value_of
from ascend_opcli.cli.options.judging import Judging, Shown
from ascend_opcli.cli.options.keeping import Keeping, told
from ascend_opcli.cli.options.reports import RUN, Reports, write
from ascend_opcli.cli.options.selection import Picked, Selection
from ascend_opcli.cli.options.target import DeviceWay, Serving, TargetOptions, folder_of
from ascend_opcli.errors import ExitCode, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ascend_opcli.execution.journal import Journal
    from ascend_opcli.execution.plan import Plan
    from ascend_opcli.execution.request import Request
    from ascend_opcli.model import Case, Result
    from ascend_opcli.reporting.finished import FinishedRun

UNCHANGED = "nothing to judge: no operator was changed"


@command
def run(
    paths: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[PATH[::CASE]]...", help="Case files, dumps, manifests, folders, or - for stdin."
        ),
    ] = None,
    *,
    call: OneCall,
    selection: Selection,
    picked: Picked,
    target: TargetOptions,
    way: DeviceWay,
    judging: Judging,
    keeping: Keeping,
    shown: Shown,
    reports: Annotated[Reports, RUN],
) -> None:
    """Run and judge case files, folders, or one call described by options."""
    from ascend_opcli.execution.journal import Journal, default_folder
    from ascend_opcli.reporting.progress import collect

    begun = time.perf_counter()
    targets = reports.targets()
    journal = Journal(default_folder())
    request, serving = _request(paths or [], call, selection, picked, target, way, judging, journal)
    if picked.listing:
        raise typer.Exit(_list(request.selected()))
    saver = keeping.saver(request.settings.standard, serving.saved)
    keeper = keeping.keeper()
    third_party = judging.third_party_of(
        request.settings.standard, request.named.cases, every=request.settings.all_standards
    )
    results: list[Result] = []
    begin()
    with request.opened(on_failure=saver, on_outcome=keeper, third_party=third_party) as opened:
        plan = opened.plan
        if keeper is not None:
            keeper.expect(plan.cases)
        if saver is not None and opened.executor.product is None:
            saver.product = request.settings.product
        stop = _fails(judging.strict) if picked.exit_first else None
        interrupted = collect(opened.results(), results, len(plan.cases), lambda r: r.case.id, stop)
    journal.record(results)
    run = _finished(
        results, plan, interrupted, opened.product, picked.seed, time.perf_counter() - begun, shown
    )
    failures = _write(run, targets, unchanged=plan.unchanged)
    # A report on stdout is alone there: the table then goes to stderr.
    codes = [
        _print(
            run, plan, request, judging.strict, "-" in targets.values(), interrupted, verbose=shown.verbose
        )
    ]
    for line in failures:
        print(f"opcli: {line}", file=sys.stderr)
        codes.append(ExitCode.SURROUNDINGS)
    raise typer.Exit(ExitCode.worst([*codes, *_skips(results, judging.max_skips), *told(saver, keeper)]))


def _request(
    paths: list[str],
    call: OneCall,
    selection: Selection,
    picked: Picked,
    target: TargetOptions,
    way: DeviceWay,
    judging: Judging,
    journal: Journal,
) -> tuple[Request, Serving]:
    """What the command line asks for. Raises UsageError for a word or a combination that makes no sense."""
    from ascend_opcli.execution.memory import size_of
    from ascend_opcli.execution.request import Request
    from ascend_opcli.execution.runner import Settings
    from ascend_opcli.execution.target import TargetRequest
    from ascend_opcli.operators.products import product
    from ascend_opcli.verification.standards import named

    folder_of("--models", way.models)
    way.prepare(target.timeout)
    judging.check()
    every = judging.standard == named.ALL
    standard = None if every else judging.standard
    override = value_of("--standard", named.parse, standard) if standard is not None and not call.op else None
    memory_limit = (
        value_of("--memory-limit", size_of, way.memory_limit) if way.memory_limit is not None else None
    )
    others = target.others(in_process=way.in_process)
    serving = target.serving(others, outputs=way.written, memory_limit=memory_limit)
    if call.op is not None and picked.last_failed:
        raise UsageError("--last-failed remembers case files; it does not go with --op")

    def failed(cases: Sequence[Case]) -> Callable[[Case], bool] | None:
        test = journal.last_failed(cases)
        if test is None:
            print("nothing failed last time: all cases are picked", file=sys.stderr)
        return test

    repro = serving.repro
    repro += ("--third-party", str(judging.third_party)) if judging.third_party else ()
    repro += ("--models", str(way.models)) if way.models else ()
    settings = Settings(
        product=value_of("--product", product, picked.product) if picked.product else None,
        standard=override,
        all_standards=every,
        inputs_sha256=judging.inputs_sha256,
        allow_code=target.allow_code,
        memory_limit=memory_limit,
        repro_options=repro,
        via=way.via.value if way.via is not None else None,
        rerun=any(others.values()) or serving != Serving(),
    )
    wanted = TargetRequest(
        target.backend.value,
        target.device,
        target.opp,
        target.patience,
        target.live,
        way.in_process,
        serving.candidate,
        serving.outputs,
        override,
        way.models,
    )
    options = call.options(paths, product=picked.product, standard=standard, seed=picked.seed)
    request = Request(
        paths,
        options,
        picked.seed,
        picked.touched(paths),
        selection.tests(),
        picked.negatives,
        failed if picked.last_failed else None,
        wanted,
        settings,
    )
    return request, serving


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


def _finished(
    results: list[Result],
    plan: Plan,
    interrupted: bool,
    product: str,
    seed: int | None,
    seconds: float,
    shown: Shown,
) -> FinishedRun:
    """The run as the reports take it."""
    from ascend_opcli.execution.facts import run_facts
    from ascend_opcli.reporting.finished import FinishedRun
    from ascend_opcli.reporting.wording import served_text

    served = served_text(results)
    facts = {
        **run_facts(),
        "backend": results[0].backend if results else "host",
        "product": product,
        "seed": seed,
        "arguments": sys.argv[1:],
        **({"served_by": served} if served else {}),
    }
    complete = not interrupted and len(results) == len(plan.cases)
    return FinishedRun(results, facts, seconds, len(plan.cases), complete, shown.lang.value)


def _write(run: FinishedRun, targets: dict[str, str], *, unchanged: bool) -> list[str]:
    """Write the reports, before the terminal's: they are there whatever becomes of it."""
    from ascend_opcli.reporting.formats import OF_RUN

    files = [target for target in targets.values() if target != "-"]
    if run.results or unchanged or not files:
        return write(OF_RUN, run, targets)
    # An empty report would take the place of one that says something.
    print(f"no result, so no report: {', '.join(files)} left as it was", file=sys.stderr)
    return write(OF_RUN, run, {name: target for name, target in targets.items() if target == "-"})


def _print(
    run: FinishedRun,
    plan: Plan,
    request: Request,
    strict: bool,
    stdout_taken: bool,
    interrupted: bool,
    *,
    verbose: bool,
) -> ExitCode:
    """The table and what it does not show."""
    from ascend_opcli.execution import plan as planning
    from ascend_opcli.reporting import imported_files, terminal
    from ascend_opcli.reporting.compare import side_by_side
    from ascend_opcli.reporting.wording import count_text

    lines = run.summary.lines(run.seconds)
    if "served_by" in run.facts:
        lines.append(f"served by {run.facts['served_by']}")
    if interrupted:
        lines.insert(0, f"interrupted: {len(run.results)} of {run.planned} cases were finished")
    stream = sys.stderr if stdout_taken else sys.stdout
    terminal.print_results(run.results, stream, summary=lines, verbose=verbose)
    stream.writelines(line + "\n" for line in side_by_side(run.results))
    stream.writelines(line + "\n" for line in imported_files.lines(run.results))
    notes = list(planning.header_notes(plan, request.headers))
    if plan.aside:
        notes.append(f"{plan.aside} files in the folders are no case files")
    if plan.deselected:
        notes.append(f"{plan.deselected} cases were not selected")
    not_run = run.planned - len(run.results)
    if not_run and not interrupted:
        notes.append(f"stopped after the first failure: {count_text(not_run, 'case')} not run")
    if not plan.cases:
        notes.append(UNCHANGED if plan.unchanged else "nothing was judged: no case matches")
    for note in notes:
        print(note, file=sys.stderr)
    code = ExitCode.PASSED if plan.unchanged else run.summary.exit_code(strict=strict)
    return ExitCode.worst([code, ExitCode.INTERRUPTED] if interrupted else [code])
