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
"""Calls that are counted, after those that are not."""

TIMEOUT = 600.0
DURATION = ("Task Duration(us)", "Task Duration (us)")
START = ("Task Start Time(us)", "Task Start Time (us)", "Task Start Time")
TYPE = ("OP Type", "Op Type", "Type")
_NO_KERNEL = ("memset", "memcpy", "event", "model")


@dataclass(frozen=True, slots=True)
class Job:
    """What the profiled process does: ``calls`` calls of the case in ``prepare`` (a :class:`timing.Prepare`)."""

    prepare: object
    device: int
    opp: Path | None
    calls: int


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
    environ: Mapping[str, str] = os.environ,
    calls: int = CALLS,
) -> list[float]:
    """Seconds of kernel time of each of ``calls`` calls, warm-ups left out.

    Raises SurroundingsError with msprof's last line where it fails, or where its table cannot be read.
    """
    with tempfile.TemporaryDirectory(prefix="opcli-msprof-") as folder:
        job = Path(folder) / "job"
        job.write_bytes(pickle.dumps(Job(prepare, device, opp, WARM_UPS + calls)))
        output = Path(folder) / "out"
        application = shlex.join([sys.executable, "-m", "ascend_opcli.backends.cann.profiled", str(job)])
        child = child_environment(environ, opp)
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
        rows: list[tuple[float, str, float]] = []
        for table in tables:
            rows += read(table)
    return per_call(rows, WARM_UPS + calls)[WARM_UPS:]


def read(table: Path) -> list[tuple[float, str, float]]:
    """Start (us), type and duration (us) of every kernel of an op_summary*.csv."""
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
            what = (row.get(kind) or "" if kind is not None else "").strip()
            if any(word in what.casefold() for word in _NO_KERNEL):
                continue
            try:
                seconds = float(row[duration] or "nan")
            except ValueError:
                continue
            if math.isfinite(seconds):
                found.append((_moment(row.get(start) if start is not None else None, number), what, seconds))
    return found


def _moment(text: str | None, number: int) -> float:
    try:
        return float((text or "").strip())
    except ValueError:
        return float(number)  # the table is in order of time where it does not say one


def per_call(rows: Sequence[tuple[float, str, float]], calls: int) -> list[float]:
    """Seconds of kernel time a call; an operator may launch several kernels, always the same number.

    Raises SurroundingsError where the kernels cannot be shared out among the calls.
    """
    if not rows or len(rows) % calls:
        raise SurroundingsError(
            f"--timer msprof: {len(rows)} kernels of {calls} calls: they cannot be shared out among the calls"
        )
    each = len(rows) // calls
    ordered = sorted(rows, key=lambda row: row[0])
    return [sum(row[2] for row in ordered[i : i + each]) * 1e-6 for i in range(0, len(ordered), each)]
