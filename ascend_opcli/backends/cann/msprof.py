"""Kernel task durations by msprof: the operator in a process of its own, profiled, and the table that comes of it."""

from __future__ import annotations

import csv
import math
import os
import pickle
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ascend_opcli.backends.cann.discovery import child_environment
from ascend_opcli.errors import SurroundingsError

CALLS, WARM_UPS = 40, 10
"""Calls that are counted, each after a flush, and before them those that are not, without one."""

TIMEOUT = 600.0
DURATION = ("Task Duration(us)", "Task Duration (us)")
START = ("Task Start Time(us)", "Task Start Time (us)", "Task Start Time")
TYPE = ("OP Type", "Op Type", "Type")
MOST_ROWS = 1_000_000
LONGEST = 1e12
"""Microseconds; no kernel takes longer."""

FLUSH_TASKS = 4
"""Tasks into which the filling of a cache may be split."""

_MEMORY = ("memset", "memcpy", "event")
"""In the types of tasks with which our own preparation fills and copies memory."""


@dataclass(frozen=True, slots=True)
class Job:
    """What the profiled process does: the calls of the case in ``prepare`` (a :class:`timing.Prepare`).

    It writes into ``answer`` whether it flushed the cache. ``builtin`` leaves out every custom package.
    """

    prepare: object
    device: int
    opp: Path | None
    builtin: bool
    warm_ups: int
    calls: int
    answer: str


@dataclass(frozen=True, slots=True)
class Task:
    """A row of the table: when it began, what it is, and its duration in us as the table writes it."""

    start: float
    kind: str
    duration: str


def find(environ: Mapping[str, str] = os.environ) -> str:
    """The path of msprof. Raises SurroundingsError where it is not there or cannot work."""
    program = shutil.which("msprof", path=environ.get("PATH"))
    if program is None:
        raise SurroundingsError(
            "--timer msprof: msprof is not on PATH; source set_env.sh of the CANN toolkit, or leave --timer events"
        )
    if environ.get("ASCEND_RT_VISIBLE_DEVICES"):
        raise SurroundingsError(
            "--timer msprof: profiling does not go with ASCEND_RT_VISIBLE_DEVICES; unset it and use --device"
        )
    return program


def profile(
    program: str,
    prepare: object,
    *,
    device: int,
    opp: Path | None,
    builtin: bool = False,
    environ: Mapping[str, str] = os.environ,
    calls: int = CALLS,
) -> list[float]:
    """Seconds of kernel time of each of ``calls`` calls, warm-ups left out. ``builtin`` is as for a worker.

    Raises SurroundingsError with msprof's last line where it fails, or where its table cannot be read.
    """
    with tempfile.TemporaryDirectory(prefix="opcli-msprof-") as folder:
        job = Path(folder) / "job"
        answer = Path(folder) / "answer"
        made = Job(prepare, device, opp, builtin, WARM_UPS, calls, str(answer))
        job.write_bytes(pickle.dumps(made))
        output = Path(folder) / "out"
        application = shlex.join([sys.executable, "-m", "ascend_opcli.backends.cann.profiled", str(job)])
        child = child_environment(environ, opp, builtin=builtin)
        child["PYTHONPATH"] = os.pathsep.join(p for p in sys.path if p)
        command = [program, f"--output={output}", f"--application={application}"]
        try:
            done = subprocess.run(
                command,
                capture_output=True,
                text=True,
                errors="replace",
                env=child,
                timeout=TIMEOUT,
                check=False,
            )
        except (OSError, subprocess.SubprocessError) as error:
            raise SurroundingsError(f"--timer msprof: {program} cannot be run: {error}") from None
        tables = sorted(output.rglob("op_summary*.csv"))
        if done.returncode or not tables:
            lines = [line for line in (done.stdout + done.stderr).splitlines() if line.strip()]
            last = f": {lines[-1].strip()}" if lines else ""
            what = f"failed with {done.returncode}" if done.returncode else "wrote no op_summary*.csv"
            raise SurroundingsError(f"--timer msprof: msprof {what}{last}")
        flushed = answer.is_file() and answer.read_text("ascii") == "flushed"
        tasks = [task for table in tables for task in read(table)]
    return per_call(tasks, WARM_UPS, calls, flushed=flushed)


def read(table: Path) -> list[Task]:
    """Every task of an op_summary*.csv. Raises SurroundingsError where it is no such table."""
    try:
        with table.open(encoding="utf-8-sig", errors="replace", newline="") as stream:
            reader = csv.DictReader(stream)
            names = {name.strip(): name for name in reader.fieldnames or () if name}
            duration, start, kind = (
                next((names[n] for n in wanted if n in names), None) for wanted in (DURATION, START, TYPE)
            )
            if duration is None:
                raise SurroundingsError(f"--timer msprof: {table.name} has no column {DURATION[0]}")
            found = []
            for number, row in enumerate(reader):
                if number >= MOST_ROWS:
                    raise SurroundingsError(f"--timer msprof: {table.name} has more than {MOST_ROWS:,} rows")
                what = (row.get(kind) or "" if kind is not None else "").strip()
                moment = _moment(row.get(start) if start is not None else None, number)
                found.append(Task(moment, what, (row[duration] or "").strip()))
            return found
    except (OSError, csv.Error) as error:
        raise SurroundingsError(f"--timer msprof: {table.name} cannot be read: {error}") from None


def _moment(text: str | None, number: int) -> float:
    try:
        moment = float((text or "").strip())
    except ValueError:
        moment = math.nan
    return (
        moment if math.isfinite(moment) else float(number)
    )  # the table is in order of time where it does not say


def per_call(tasks: Sequence[Task], warm_ups: int, calls: int, *, flushed: bool) -> list[float]:
    """Seconds of kernel time of each call, warm-ups left out.

    Every call launches the same kinds of tasks in the same order, fills and copies of memory that belong to the
    operator among them. What is not the operator's is known by its place: our preparation comes before the
    first call, and a flush before each counted call but before no warm-up. Raises SurroundingsError where the
    tasks cannot be shared out so, or where a counted one has no duration.
    """
    ordered = sorted(tasks, key=lambda task: task.start)
    before = next((i for i, t in enumerate(ordered) if not _memory(t)), len(ordered))
    for skipped in range(before + 1):
        for flush in range(FLUSH_TASKS + 1 if flushed else 1):
            each, rest = divmod(len(ordered) - skipped - flush * calls, warm_ups + calls)
            if rest or each < 1:
                continue
            shared = _shared(ordered[skipped:], warm_ups, calls, flush, each)
            if shared is not None:
                return [_seconds(call) for call in shared]
    bare = [task for task in ordered if not _memory(task)]
    each, rest = divmod(len(bare), warm_ups + calls)
    if flushed and each and not rest:
        # Some versions leave out rows of the flush. An operator whose warm-ups have no fill has none of its own.
        warm = ordered[before : ordered.index(bare[warm_ups * each - 1]) + 1]
        shared = None if any(_memory(task) for task in warm) else _shared(bare, warm_ups, calls, 0, each)
        if shared is not None:
            return [_seconds(call) for call in shared]
    raise SurroundingsError(
        f"--timer msprof: {len(ordered)} tasks of {warm_ups + calls} calls: they cannot be shared out among the calls"
    )


def _memory(task: Task) -> bool:
    return any(word in task.kind.casefold() for word in _MEMORY)


def _shared(
    tasks: Sequence[Task], warm_ups: int, calls: int, flush: int, each: int
) -> list[Sequence[Task]] | None:
    """The operator's tasks of each counted call; None where the calls are not alike or a flush is none."""
    kinds = [task.kind for task in tasks[:each]]
    found: list[Sequence[Task]] = []
    at = 0
    for call in range(warm_ups + calls):
        ahead = flush if call >= warm_ups else 0
        if not all(_memory(task) for task in tasks[at : at + ahead]):
            return None
        own = tasks[at + ahead : at + ahead + each]
        if [task.kind for task in own] != kinds:
            return None
        if call >= warm_ups:
            found.append(own)
        at += ahead + each
    return found


def _seconds(tasks: Sequence[Task]) -> float:
    """The kernel time of a call. Raises SurroundingsError where a duration is none."""
    total = 0.0
    for task in tasks:
        try:
            duration = float(task.duration)
        except ValueError:
            duration = math.nan
        if not 0 <= duration <= LONGEST:
            said = f"'{task.duration[:40]}'" if task.duration else "nothing"
            raise SurroundingsError(
                f"--timer msprof: {task.kind[:60] or 'a task'} has no duration that could be counted: {said}"
            )
        total += duration
    if total <= 0:
        raise SurroundingsError("--timer msprof: the tasks of a call took no time at all")
    return total * 1e-6
