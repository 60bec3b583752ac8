"""``opcli bench``: time operators."""

from __future__ import annotations

import contextlib
import dataclasses
import platform
import sys
import time as clock
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ascend_opcli.cli.interrupts import begin
from ascend_opcli.cli.options.call import op_or_paths
from ascend_opcli.cli.options.command import command, value_of
from ascend_opcli.cli.options.reports import BENCH, Reports, write
from ascend_opcli.cli.options.selection import Selection
from ascend_opcli.cli.options.target import TargetOptions
from ascend_opcli.errors import ExitCode, SurroundingsError, UsageError

if TYPE_CHECKING:
    from ascend_opcli.benchmarking.ladder import LadderRequest, Rung
    from ascend_opcli.benchmarking.measure import BenchSettings, KernelTimes
    from ascend_opcli.benchmarking.measurement import Measurement
    from ascend_opcli.execution.request import Request
    from ascend_opcli.execution.target import TargetRequest
    from ascend_opcli.execution.timed import TimedTarget

BUILTIN = "builtin"


class Timer(str, Enum):
    """Whose clock counts."""

    EVENTS = "events"
    MSPROF = "msprof"


class Cache(str, Enum):
    """What the cache holds when a sample begins."""

    COLD = "cold"
    WARM = "warm"


@dataclass(frozen=True)
class Ladder:
    """An operator over shapes and dtypes."""

    op: Annotated[str | None, typer.Option("--op", help="An operator over a ladder of shapes.")] = None
    shapes: Annotated[
        list[str] | None,
        typer.Option("--shape", metavar="SHAPE", help="A shape: 1024x1024; may be repeated."),
    ] = None
    dtypes: Annotated[
        str | None, typer.Option("--dtype", metavar="D,D", help="Dtypes: float16,bfloat16.")
    ] = None
    attrs: Annotated[list[str] | None, typer.Option("--attr", metavar="K=V", help="An attribute.")] = None
    inputs: Annotated[
        list[str] | None, typer.Option("--in", metavar="X=SPEC", help="An input: x=uniform(0,1).")
    ] = None
    seed: Annotated[int | None, typer.Option("--seed", help="Seed of cases that name none.")] = None
    product: Annotated[str | None, typer.Option("--product", help="Whose contract the host applies.")] = None

    def wanted(self, paths: Sequence[str]) -> LadderRequest | None:
        """The ladder, None where ``paths`` name the cases. Raises UsageError where it is neither or both."""
        from ascend_opcli.benchmarking.ladder import LadderRequest

        described: dict[str, object] = {
            "--shape": self.shapes,
            "--dtype": self.dtypes,
            "--attr": self.attrs,
            "--in": self.inputs,
        }
        what = "describe the ladder of an operator"
        if not op_or_paths(self.op, paths, described, what, "time: name a case file"):
            return None
        assert self.op is not None
        dtypes = [word.strip() for word in (self.dtypes or "").split(",") if word.strip()]
        return LadderRequest(
            self.op, self.shapes or (), dtypes, self.attrs or (), self.inputs or (), self.product, self.seed
        )


@dataclass(frozen=True)
class Sampling:
    """How a case is timed."""

    time: Annotated[
        str,
        typer.Option("--time", metavar="3s", help="How long a case is sampled; 3 samples are always taken."),
    ] = "500ms"
    precision: Annotated[
        str, typer.Option("--precision", metavar="2%", help="How well the median is to be known.")
    ] = "2%"
    cache: Annotated[Cache, typer.Option("--cache", help="Flush the cache before a sample, or not.")] = (
        Cache.COLD
    )
    sets: Annotated[
        int,
        typer.Option(
            "--sets", metavar="N", min=0, max=1024, help="Input sets in rotation (0: as many as suit)."
        ),
    ] = 0
    fresh: Annotated[
        bool, typer.Option("--fresh-executors", help="Phase 1 before every launch, no repeatable executor.")
    ] = False
    timer: Annotated[
        Timer, typer.Option("--timer", help="Time between events, or kernel task durations by msprof.")
    ] = Timer.EVENTS
    no_check: Annotated[bool, typer.Option("--no-check", help="Do not judge the result that was timed.")] = (
        False
    )
    moved: Annotated[
        str | None,
        typer.Option("--bytes", metavar="N", help="Bytes a call moves: 12M, or 6n for 6 an element."),
    ] = None
    operations: Annotated[
        str | None, typer.Option("--operations", metavar="N", help="Operations a call does, likewise.")
    ] = None
    peak: Annotated[
        str | None, typer.Option("--peak", metavar="1600GB/s", help="The memory's peak, to give shares of.")
    ] = None


@dataclass(frozen=True)
class Comparing:
    """What the times are held against."""

    save: Annotated[
        str | None, typer.Option("--save", metavar="FILE", help="Save the times as a baseline.")
    ] = None
    baseline: Annotated[
        str | None, typer.Option("--baseline", metavar="FILE", help="Hold the times against saved ones.")
    ] = None
    against: Annotated[
        str | None,
        typer.Option(
            "--against", metavar="DIR", help="Time in turns with another package, or with 'builtin'."
        ),
    ] = None
    max_regress: Annotated[
        str, typer.Option("--max-regress", metavar="5%", help="How much slower is still the same.")
    ] = "5%"

    def check(self) -> None:
        """Raises UsageError for two comparisons, and where ``--against`` names no operator package."""
        from ascend_opcli.backends.cann.discovery import CUSTOM_LIBRARY, OPP, Package, package_folders

        if self.baseline is not None and self.against is not None:
            raise UsageError("--baseline and --against are two comparisons; ask for one of them")
        if self.against is None or self.against == BUILTIN:
            return
        folder = Path(self.against)
        if not folder.is_dir():
            raise UsageError(
                f"--against {self.against}: no such folder; name an operator package, or 'builtin'"
            )
        if not any(p.is_file() for f in package_folders(folder) for p in Package(f, OPP).libraries):
            raise UsageError(
                f"--against {self.against} is no operator package: there is no {CUSTOM_LIBRARY} in it,"
                " nor under its vendors"
            )

    def other(self, wanted: TargetRequest) -> TargetRequest:
        """The same device with the package that ``--against`` names, or with what CANN ships."""
        builtin = self.against == BUILTIN
        opp = None if builtin or self.against is None else Path(self.against)
        return dataclasses.replace(wanted, backend="device", opp=opp, live=False, builtin=builtin)


@command
def bench(
    paths: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[PATH[::CASE]]...", help="Case files: the cases tagged bench, all where none is."
        ),
    ] = None,
    *,
    ladder: Ladder,
    selection: Selection,
    sampling: Sampling,
    comparing: Comparing,
    target: TargetOptions,
    reports: Annotated[Reports, BENCH],
) -> None:
    """Time operators: how fast, how far from the memory bound, and against a baseline FASTER, SAME or SLOWER.

    On the host the NumPy reference is timed and no operator is run.
    """
    from ascend_opcli.benchmarking import baselines
    from ascend_opcli.benchmarking.fingerprint import of_machine
    from ascend_opcli.benchmarking.measure import Other, measure
    from ascend_opcli.execution.request import Request
    from ascend_opcli.execution.target import TargetRequest, timed
    from ascend_opcli.reporting.progress import collect

    begun = clock.perf_counter()
    targets = reports.targets(save=comparing.save)
    comparing.check()
    settings = _settings(ladder, sampling, comparing, target)
    against = comparing.against is not None
    others = target.others(against=against, fresh_executors=sampling.fresh)
    profiled = sampling.timer is Timer.MSPROF
    serving = target.serving({**others, "--timer msprof": profiled})
    earlier = baselines.load(comparing.baseline) if comparing.baseline is not None else None
    wanted = ladder.wanted(paths or [])
    request = Request(
        paths or (),
        seed=ladder.seed,
        tests=selection.tests(),
        wanted=TargetRequest(
            target.backend.value,
            target.device,
            target.opp,
            target.patience,
            target.live,
            candidate=serving.candidate,
        ),
    )
    # What cannot be read or found is said before a device is opened.
    rungs = _of_files(request, selection) if wanted is None else None
    profiler = _profiler(target.device, target.opp) if profiled else None
    measured: list[Measurement] = []
    begin()
    with contextlib.ExitStack() as stack:
        there = stack.enter_context(timed(request.wanted))
        if there.name == "host" and (against or profiled):
            option = "--against" if against else "--timer msprof"
            raise UsageError(f"{option} times an operator on a device; there is none in this run")
        if rungs is None:
            assert wanted is not None
            rungs = _of_operator(wanted, there, settings.product, request)
        fingerprint = {
            "backend": there.name,
            **of_machine(),
            **there.fingerprint,
            "timer": sampling.timer.value,
            "cache": sampling.cache.value,
            "sets": str(sampling.sets or "as many as suit"),
            "executors": "fresh" if sampling.fresh else "repeatable where allowed",
        }
        settings = dataclasses.replace(settings, fingerprint=fingerprint)
        other = None
        if comparing.against:
            wanted_other = comparing.other(request.wanted)
            times = (
                _profiler(target.device, wanted_other.opp, builtin=wanted_other.builtin) if profiled else None
            )
            other = Other(stack.enter_context(timed(wanted_other)), comparing.against, times)
        stream = measure(rungs, there, settings, baseline=earlier, against=other, kernel_times=profiler)
        interrupted = collect(stream, measured, len(rungs), lambda each: each.name)
    raise typer.Exit(
        _report(
            measured,
            there.name,
            fingerprint,
            targets,
            comparing,
            total=len(rungs),
            interrupted=interrupted,
            taken=clock.perf_counter() - begun,
        )
    )


def _settings(
    ladder: Ladder, sampling: Sampling, comparing: Comparing, target: TargetOptions
) -> BenchSettings:
    """How is timed. Raises UsageError that begins with the option at fault."""
    from ascend_opcli.benchmarking.ladder import amount
    from ascend_opcli.benchmarking.measure import BenchSettings
    from ascend_opcli.benchmarking.words import rate, seconds, share
    from ascend_opcli.execution.target import installed_cann
    from ascend_opcli.execution.timed import How
    from ascend_opcli.operators.products import product

    for option, text in (("--bytes", sampling.moved), ("--operations", sampling.operations)):
        if text is not None:
            value_of(option, lambda t: amount(t, 1), text)
    return BenchSettings(
        precision=value_of("--precision", share, sampling.precision),
        budget=value_of("--time", seconds, sampling.time),
        tolerance=value_of("--max-regress", share, comparing.max_regress),
        how=How(sampling.cache is Cache.COLD, sampling.sets, not sampling.fresh),
        check=not sampling.no_check,
        product=value_of("--product", product, ladder.product) if ladder.product else None,
        peak=value_of("--peak", rate, sampling.peak) if sampling.peak is not None else None,
        bytes=sampling.moved,
        operations=sampling.operations,
        allow_code=target.allow_code,
        cann=installed_cann(),
        compared=any((comparing.save, comparing.baseline, comparing.against)),
    )


# --- what is timed ----------------------------------------------------------------------------------------------


def _of_files(request: Request, selection: Selection) -> list[Rung]:
    from ascend_opcli.benchmarking.ladder import of_cases

    picked = bool(selection) or any("::" in path for path in request.paths)
    return of_cases(request.selected().cases, picked=picked)


def _of_operator(
    wanted: LadderRequest, there: TimedTarget, product: str | None, request: Request
) -> list[Rung]:
    from ascend_opcli.benchmarking.ladder import DEVICE_SIZES, HOST_SIZES, of_operator
    from ascend_opcli.operators.products import DEFAULT_PRODUCT
    from ascend_opcli.verification.standards.choice import check_for

    return of_operator(
        wanted,
        sizes=DEVICE_SIZES if there.name == "device" else HOST_SIZES,
        product=there.product or product or DEFAULT_PRODUCT,
        check_standard=check_for,
        declared=request.headers,
    )


# --- where ------------------------------------------------------------------------------------------------------


def _profiler(device: int, opp: Path | None, *, builtin: bool = False) -> KernelTimes:
    from ascend_opcli.backends.cann import msprof
    from ascend_opcli.execution.on_device import kernel_times

    return kernel_times(msprof.find(), device, opp, builtin=builtin)


# --- reporting --------------------------------------------------------------------------------------------------


def _report(
    measured: list[Measurement],
    backend: str,
    fingerprint: Mapping[str, str],
    targets: dict[str, str],
    comparing: Comparing,
    *,
    total: int,
    interrupted: bool,
    taken: float,
) -> ExitCode:
    """Write what is asked for, print the table; files first: who reads the table may close it early (head, less)."""
    from ascend_opcli.benchmarking import baselines
    from ascend_opcli.benchmarking.measure import exit_code
    from ascend_opcli.execution.facts import run_facts
    from ascend_opcli.reporting import bench_text
    from ascend_opcli.reporting.bench_files import FinishedBench
    from ascend_opcli.reporting.files import write_text
    from ascend_opcli.reporting.formats import OF_BENCH

    lines = bench_text.summary_lines(measured, backend=backend, seconds=taken)
    if interrupted:
        lines.insert(0, f"interrupted: {len(measured)} of {total} cases were finished")
    facts = {**run_facts(), "host": platform.node(), "backend": backend, "arguments": sys.argv[1:]}
    run = FinishedBench(measured, facts, fingerprint, lines, not interrupted)
    failures = write(OF_BENCH, run, targets)
    codes = [exit_code(measured, compared=bool(comparing.baseline or comparing.against))]
    if comparing.save is not None:
        reason = baselines.not_saved(measured, comparing.save, comparing.baseline, interrupted=interrupted)
        if reason:
            print(f"opcli: {reason}", file=sys.stderr)
        else:
            try:
                write_text(comparing.save, baselines.text(measured, fingerprint))
            except SurroundingsError as error:
                failures.append(str(error))
    for line in failures:
        print(f"opcli: {line}", file=sys.stderr)
    stream = sys.stderr if "-" in targets.values() else sys.stdout
    bench_text.print_measured(measured, stream, summary=lines)
    if not total:
        print("nothing was timed: no case matches", file=sys.stderr)
    codes += [ExitCode.INTERRUPTED] * interrupted + [ExitCode.SURROUNDINGS] * bool(failures)
    return ExitCode.worst(codes)
