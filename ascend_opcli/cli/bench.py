"""``opcli bench``: time operators."""

from __future__ import annotations

import contextlib
import math
import os
import platform
import re
import sys
import time as clock
from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from ascend_opcli.cli.foreign import CandidateOption, FormatOption, TensorsOption, foreign
from ascend_opcli.cli.interrupts import begin
from ascend_opcli.cli.options import Backend, Debug
from ascend_opcli.errors import ExitCode, SurroundingsError, UsageError

if TYPE_CHECKING:
    from ascend_opcli.backends.candidate.candidate import Options
    from ascend_opcli.benchmarking.benches import Bench
    from ascend_opcli.benchmarking.ladder import Rung
    from ascend_opcli.benchmarking.measure import KernelTimes, Other
    from ascend_opcli.casefile.build import Declared
    from ascend_opcli.model import Measurement

BUILTIN = "builtin"
T = TypeVar("T")


class Timer(str, Enum):
    """Whose clock counts."""

    EVENTS = "events"
    MSPROF = "msprof"


class Cache(str, Enum):
    """What the cache holds when a sample begins."""

    COLD = "cold"
    WARM = "warm"


def bench(
    paths: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[PATH[::CASE]]...", help="Case files: the cases tagged bench, all where none is."
        ),
    ] = None,
    op: Annotated[str | None, typer.Option("--op", help="An operator over a ladder of shapes.")] = None,
    shapes: Annotated[
        list[str] | None,
        typer.Option("--shape", metavar="SHAPE", help="A shape: 1024x1024; may be repeated."),
    ] = None,
    dtypes: Annotated[
        str | None, typer.Option("--dtype", metavar="D,D", help="Dtypes: float16,bfloat16.")
    ] = None,
    attrs: Annotated[list[str] | None, typer.Option("--attr", metavar="K=V", help="An attribute.")] = None,
    inputs: Annotated[
        list[str] | None, typer.Option("--in", metavar="X=SPEC", help="An input: x=uniform(0,1).")
    ] = None,
    seed: Annotated[int | None, typer.Option("--seed", help="Seed of cases that name none.")] = None,
    product: Annotated[str | None, typer.Option("--product", help="Whose contract the host applies.")] = None,
    keyword: Annotated[
        str | None, typer.Option("-k", metavar="EXPR", help="Only cases whose id or tags match.")
    ] = None,
    tags: Annotated[list[str] | None, typer.Option("--tag", help="Only cases with this tag.")] = None,
    time: Annotated[
        str,
        typer.Option("--time", metavar="3s", help="How long a case is sampled; 3 samples are always taken."),
    ] = "500ms",
    precision: Annotated[
        str, typer.Option("--precision", metavar="2%", help="How well the median is to be known.")
    ] = "2%",
    cache: Annotated[
        Cache, typer.Option("--cache", help="Flush the cache before a sample, or not.")
    ] = Cache.COLD,
    sets: Annotated[
        int,
        typer.Option(
            "--sets", metavar="N", min=0, max=1024, help="Input sets in rotation (0: as many as suit)."
        ),
    ] = 0,
    fresh: Annotated[
        bool, typer.Option("--fresh-executors", help="Phase 1 before every launch, no repeatable executor.")
    ] = False,
    timer: Annotated[
        Timer, typer.Option("--timer", help="Time between events, or kernel task durations by msprof.")
    ] = Timer.EVENTS,
    no_check: Annotated[
        bool, typer.Option("--no-check", help="Do not judge the result that was timed.")
    ] = False,
    moved: Annotated[
        str | None,
        typer.Option("--bytes", metavar="N", help="Bytes a call moves: 12M, or 6n for 6 an element."),
    ] = None,
    operations: Annotated[
        str | None, typer.Option("--operations", metavar="N", help="Operations a call does, likewise.")
    ] = None,
    peak: Annotated[
        str | None, typer.Option("--peak", metavar="1600GB/s", help="The memory's peak, to give shares of.")
    ] = None,
    save: Annotated[
        str | None, typer.Option("--save", metavar="FILE", help="Save the times as a baseline.")
    ] = None,
    baseline: Annotated[
        str | None, typer.Option("--baseline", metavar="FILE", help="Hold the times against saved ones.")
    ] = None,
    against: Annotated[
        str | None,
        typer.Option(
            "--against", metavar="DIR", help="Time in turns with another package, or with 'builtin'."
        ),
    ] = None,
    max_regress: Annotated[
        str, typer.Option("--max-regress", metavar="5%", help="How much slower is still the same.")
    ] = "5%",
    backend: Annotated[Backend, typer.Option("--backend", help="Where to time.")] = Backend.AUTO,
    device: Annotated[int, typer.Option("--device", metavar="N", help="The device's number.")] = 0,
    opp: Annotated[
        Path | None, typer.Option("--opp", metavar="DIR", help="An operator package whose symbols go first.")
    ] = None,
    timeout: Annotated[
        float,
        typer.Option(
            "--timeout",
            metavar="SECONDS",
            min=0.001,
            help="How long a call, a sample or another step may take.",
        ),
    ] = 60.0,
    live: Annotated[bool, typer.Option("-s", help="Show what kernels print.")] = False,
    candidate: CandidateOption = None,
    tensors: TensorsOption = None,
    format: FormatOption = None,
    allow_code: Annotated[
        bool,
        typer.Option(
            "--allow-code", help="Let cases run a reference that is code: file.py:function, golden.py."
        ),
    ] = False,
    json: Annotated[
        str | None,
        typer.Option("--json", metavar="FILE", help="Write Google Benchmark's JSON; - is stdout."),
    ] = None,
    csv: Annotated[str | None, typer.Option("--csv", metavar="FILE", help="Write one row a case.")] = None,
    markdown: Annotated[
        str | None, typer.Option("--markdown", metavar="FILE", help="Write the table for a pull request.")
    ] = None,
    html: Annotated[
        str | None, typer.Option("--html", metavar="FILE", help="Write one page with log-log plots.")
    ] = None,
    debug: Debug = False,  # noqa: ARG001
) -> None:
    """Time operators: how fast, how far from the memory bound, and against a baseline FASTER, SAME or SLOWER.

    On the host the NumPy reference is timed and no operator is run.
    """
    from ascend_opcli.benchmarking import baselines, ladder
    from ascend_opcli.benchmarking.benches import How
    from ascend_opcli.benchmarking.measure import Settings, measure
    from ascend_opcli.execution.target import installed_cann, installed_headers
    from ascend_opcli.operators.products import DEFAULT_PRODUCT
    from ascend_opcli.operators.products import product as product_named

    begun = clock.perf_counter()
    reports = {
        name: target
        for name, target in (("json", json), ("csv", csv), ("markdown", markdown), ("html", html))
        if target is not None
    }
    _apart({**reports, "save": save} if save is not None else reports)
    if baseline is not None and against is not None:
        raise UsageError("--baseline and --against are two comparisons; ask for one of them")
    home = _said("--product", product_named, product) if product else DEFAULT_PRODUCT
    if moved is not None:
        _said("--bytes", lambda t: ladder.amount(t, 1), moved)
    if operations is not None:
        _said("--operations", lambda t: ladder.amount(t, 1), operations)
    settings = Settings(
        precision=_said("--precision", share, precision),
        budget=_said("--time", seconds, time),
        tolerance=_said("--max-regress", share, max_regress),
        how=How(cache is Cache.COLD, sets, not fresh),
        check=not no_check,
        product=home if product else None,
        peak=_said("--peak", rate, peak) if peak is not None else None,
        bytes=moved,
        operations=operations,
        allow_code=allow_code,
        cann=installed_cann(),
        compared=save is not None or baseline is not None or against is not None,
    )
    others = {
        "--backend": backend is not Backend.AUTO,
        "--opp": opp is not None,
        "--against": against is not None,
        "--timer msprof": timer is Timer.MSPROF,
        "--fresh-executors": fresh,
    }
    serving = foreign(
        candidate, tensors, format, None, others, allow_code=allow_code, timeout=timeout, live=live
    )
    if against is not None:
        _package(against)
    held = baselines.load(baseline) if baseline is not None else None
    headers = installed_headers(backend.value, opp)
    single = {"--shape": shapes, "--dtype": dtypes, "--attr": attrs, "--in": inputs}
    wanted = None
    if op is not None:
        if paths:
            raise UsageError("--op names what is timed; it does not go with a PATH")
        wanted = ladder.Wanted(op, shapes or (), _words(dtypes), attrs or (), inputs or (), product, seed)
    else:
        stray = [name for name, value in single.items() if value]
        if stray:
            raise UsageError(f"{', '.join(stray)} describe the ladder of an operator and need --op NAME")
        if not paths:
            raise UsageError("nothing to time: name a case file, or --op NAME")
    # What cannot be read or found is said before a device is opened.
    rungs = _of_files(paths or (), tags, keyword, seed, headers) if wanted is None else None
    profiler = _profiler(timer, device, opp) if timer is Timer.MSPROF else None
    measured: list[Measurement] = []
    begin()
    with contextlib.ExitStack() as stack:
        if serving.candidate is not None:
            there = _candidate(stack, serving.candidate)
        else:
            there = _opened(stack, backend, device, opp, timeout, live)
        if there.name == "host" and (against is not None or timer is Timer.MSPROF):
            option = "--against" if against is not None else "--timer msprof"
            raise UsageError(f"{option} times an operator on a device; there is none in this run")
        if wanted is not None:
            rungs = _ladder(wanted, there, home, headers)
        assert rungs is not None
        fingerprint: dict[str, str] = {
            "backend": there.name,
            **there.fingerprint,
            "timer": timer.value,
            "cache": cache.value,
            "sets": str(sets or "as many as suit"),
            "executors": "fresh" if fresh else "repeatable where allowed",
        }
        there.fingerprint = fingerprint
        other = (
            _other(stack, against, device, timeout, profiled=profiler is not None)
            if against is not None
            else None
        )
        stream = measure(rungs, there, settings, baseline=held, against=other, kernel_times=profiler)
        interrupted = _collect(stream, measured, len(rungs))
    code = _report(
        measured,
        there.name,
        fingerprint,
        reports,
        save,
        baseline,
        total=len(rungs),
        interrupted=interrupted,
        compared=baseline is not None or against is not None,
        taken=clock.perf_counter() - begun,
    )
    raise typer.Exit(code)


# --- what is typed ----------------------------------------------------------------------------------------------


def _said(option: str, rule: Callable[[str], T], text: str) -> T:
    try:
        return rule(text)
    except ValueError as error:
        raise UsageError(f"{option}: {error}") from None


def share(text: str) -> float:
    """``5%`` or ``0.05``; a bare number of 1 or more is taken for a slip. Raises ValueError."""
    word = text.strip()
    value = _number(word.removesuffix("%").strip(), f"'{text}' is not a share, such as 5%")
    if not word.endswith("%") and 1 <= value < math.inf:
        # 5 is 500 %, and hardly ever meant.
        raise ValueError(f"'{text}' is {value * 100:g} %: write {value:g}% or {value / 100:g}")
    value = value / 100 if word.endswith("%") else value
    if not 0 < value < 10:
        raise ValueError(f"'{text}' is not a share, such as 5%")
    return value


def seconds(text: str) -> float:
    """``3s``, ``500ms``, ``2m`` or a number of seconds. Raises ValueError."""
    match = re.fullmatch(r"\s*([\d.]+)\s*(ms|s|m|min)?\s*", text)
    sentence = f"'{text}' is not a time, such as 3s or 500ms"
    value = _number(match[1], sentence) if match is not None else -1.0
    value *= {"ms": 1e-3, "m": 60.0, "min": 60.0}.get((match and match[2]) or "s", 1.0)
    if not 0 < value <= 86400:
        raise ValueError(sentence)
    return value


def rate(text: str) -> float:
    """``1600GB/s``, ``1.6TB/s`` or a number of GB/s, as bytes a second. Raises ValueError."""
    match = re.fullmatch(r"\s*([\d.]+)\s*([kMGT]?B/s)?\s*", text)
    sentence = f"'{text}' is not a rate, such as 1600GB/s"
    value = _number(match[1], sentence) if match is not None else -1.0
    value *= {"B/s": 1.0, "kB/s": 1e3, "MB/s": 1e6, "TB/s": 1e12}.get((match and match[2]) or "", 1e9)
    if not 0 < value < 1e18:
        raise ValueError(sentence)
    return value


def _number(word: str, sentence: str) -> float:
    try:
        return float(word)
    except ValueError:
        raise ValueError(sentence) from None


def _apart(targets: Mapping[str, str]) -> None:
    """Raises UsageError where two outputs would go to one place."""
    taken: dict[str, str] = {}
    for name, target in targets.items():
        place = target if target == "-" else os.path.realpath(target)
        other = taken.setdefault(place, name)
        if other != name and target == "-":
            raise UsageError(f"only one report can go to stdout: --{other} and --{name} both would")
        if other != name:
            raise UsageError(f"--{other} and --{name} name the same file {target}")


def _package(against: str) -> None:
    """Raises UsageError where ``--against`` names no operator package."""
    from ascend_opcli.backends.cann.discovery import CUSTOM_LIBRARY, OPP, Package, package_folders

    if against == BUILTIN:
        return
    folder = Path(against)
    if not folder.is_dir():
        raise UsageError(f"--against {against}: no such folder; name an operator package, or 'builtin'")
    if not any(p.is_file() for f in package_folders(folder) for p in Package(f, OPP).libraries):
        raise UsageError(
            f"--against {against} is no operator package: there is no {CUSTOM_LIBRARY} in it, nor under its vendors"
        )


def _words(text: str | None) -> list[str]:
    return [word.strip() for word in text.split(",") if word.strip()] if text else []


# --- what is timed ----------------------------------------------------------------------------------------------


def _of_files(
    paths: Sequence[str],
    tags: list[str] | None,
    keyword: str | None,
    seed: int | None,
    declared: Declared | None,
) -> list[Rung]:
    from ascend_opcli.benchmarking import ladder
    from ascend_opcli.execution import plan as planning
    from ascend_opcli.execution.select import matcher, with_tags
    from ascend_opcli.verification.standards.choice import check_for

    plan = planning.of_paths(paths, check_standard=check_for, seed=seed, declared=declared)
    picked = bool(tags or keyword) or any("::" in path for path in paths)
    plan = planning.select(plan, with_tags(tags or ()), *([matcher(keyword)] if keyword else []))
    return ladder.of_cases(plan.cases, picked=picked)


def _ladder(wanted: object, there: Bench, home: str, declared: Declared | None) -> list[Rung]:
    from ascend_opcli.benchmarking import ladder
    from ascend_opcli.verification.standards.choice import check_for

    assert isinstance(wanted, ladder.Wanted)
    sizes = ladder.DEVICE_SIZES if there.name == "device" else ladder.HOST_SIZES
    return ladder.of_operator(
        wanted,
        sizes=sizes,
        product=there.product or home,
        check_standard=check_for,
        declared=declared,
    )


# --- where ------------------------------------------------------------------------------------------------------


def _opened(
    stack: contextlib.ExitStack,
    backend: Backend,
    device: int,
    opp: Path | None,
    timeout: float,
    live: bool,
) -> Bench:
    from ascend_opcli.benchmarking.benches import DeviceBench, HostBench
    from ascend_opcli.execution.target import cann_traces

    if backend is Backend.HOST or (backend is Backend.AUTO and opp is None and not cann_traces()):
        return HostBench()
    from ascend_opcli.backends.cann.device import Device, Options

    opened = stack.enter_context(Device(Options(device, opp, timeout, live)))
    return DeviceBench(opened, device)


def _candidate(stack: contextlib.ExitStack, options: Options) -> Bench:
    from ascend_opcli.backends.candidate.candidate import Candidate
    from ascend_opcli.benchmarking.candidate_bench import CandidateBench

    opened = stack.enter_context(Candidate(options))
    return CandidateBench(opened, tensors=options.tensors, command=options.source.is_command)


def _other(
    stack: contextlib.ExitStack, against: str, device: int, timeout: float, *, profiled: bool
) -> Other:
    from ascend_opcli.backends.cann import msprof
    from ascend_opcli.backends.cann.device import Device, Options
    from ascend_opcli.benchmarking.benches import DeviceBench, kernel_times
    from ascend_opcli.benchmarking.measure import Other

    builtin = against == BUILTIN
    folder = None if builtin else Path(against)
    opened = stack.enter_context(Device(Options(device, folder, timeout, builtin=builtin)))
    times = kernel_times(msprof.find(), device, folder, builtin=builtin) if profiled else None
    return Other(DeviceBench(opened, device), against, times)


def _profiler(timer: Timer, device: int, opp: Path | None) -> KernelTimes:
    from ascend_opcli.backends.cann import msprof
    from ascend_opcli.benchmarking.benches import kernel_times

    assert timer is Timer.MSPROF
    return kernel_times(msprof.find(), device, opp)


# --- running and reporting --------------------------------------------------------------------------------------


def _collect(stream: Iterator[Measurement], measured: list[Measurement], total: int) -> bool:
    """Gather the measurements, with progress on stderr; True where the run is interrupted on its way."""
    from ascend_opcli.reporting.progress import Progress

    with Progress(total, sys.stderr) as progress:
        try:
            for each in stream:
                measured.append(each)
                progress.advance(each.name)
        except KeyboardInterrupt:
            return True
    return False


def _report(
    measured: list[Measurement],
    backend: str,
    fingerprint: Mapping[str, str],
    reports: Mapping[str, str],
    save: str | None,
    baseline: str | None,
    *,
    total: int,
    interrupted: bool,
    compared: bool,
    taken: float,
) -> ExitCode:
    from ascend_opcli.benchmarking import baselines
    from ascend_opcli.benchmarking.measure import exit_code
    from ascend_opcli.execution.facts import run_facts
    from ascend_opcli.reporting import bench_text
    from ascend_opcli.reporting.bench_files import FORMATS, FinishedBench
    from ascend_opcli.reporting.files import write_text

    lines = bench_text.summary_lines(measured, backend=backend, seconds=taken)
    if interrupted:
        lines.insert(0, f"interrupted: {len(measured)} of {total} cases were finished")
    # Files first: whoever reads the table may close it early (head, less).
    codes = [exit_code(measured, compared=compared)]
    if interrupted:
        codes.append(ExitCode.INTERRUPTED)
    facts = {**run_facts(), "host": platform.node(), "backend": backend, "arguments": sys.argv[1:]}
    run = FinishedBench(measured, facts, fingerprint, lines, not interrupted)
    outputs = [(target, FORMATS[name](run)) for name, target in reports.items()]
    if save is not None:
        kept = _not_saved(measured, save, baseline, interrupted=interrupted)
        if not kept:
            outputs.append((save, baselines.text(measured, fingerprint)))
        else:
            print(f"opcli: {kept}", file=sys.stderr)
    for target, text in outputs:
        try:
            write_text(target, text)
        except SurroundingsError as error:
            print(f"opcli: {error}", file=sys.stderr)
            codes.append(ExitCode.SURROUNDINGS)
    stream = sys.stderr if "-" in (*reports.values(), save) else sys.stdout
    bench_text.print_measured(measured, stream, summary=lines)
    if not total:
        print("nothing was timed: no case matches", file=sys.stderr)
    return ExitCode.worst(codes)


def _not_saved(measured: Sequence[Measurement], save: str, baseline: str | None, *, interrupted: bool) -> str:
    """Why the times are not saved, empty where they are: a good baseline is not lost to a bad run."""
    from ascend_opcli.model import Speed, Timed

    if interrupted:
        return f"{save} is not written: the run was interrupted"
    if not any(m.statistics is not None for m in measured):
        return f"{save} is not written: nothing was timed"
    if save == "-" or not Path(save).is_file():
        return ""
    failed = sum(m.word in (Timed.FAIL, Timed.ERROR) for m in measured)
    if failed:
        return f"{save} is not replaced: {failed} of {len(measured)} cases failed and have no time"
    slower = any(m.comparison is not None and m.comparison.speed is Speed.SLOWER for m in measured)
    if slower and baseline is not None and os.path.realpath(baseline) == os.path.realpath(save):
        return f"{save} is not replaced: it is the baseline, and this run is slower"
    return ""
