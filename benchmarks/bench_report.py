"""How long the reports of a run take to render, in every format, the terminal's table included.

    python benchmarks/bench_report.py --cases 10000

The results are made up, one case in a hundred fails (--failing changes that). Only rendering and writing to a
file in the temporary folder is timed, not the run.
"""

from __future__ import annotations

import argparse
import io
import math
import platform
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from ascend_opcli.execution.facts import run_facts
from ascend_opcli.model import (
    Attribute,
    Branch,
    Case,
    Census,
    Element,
    Generator,
    OutputReport,
    Phase,
    Result,
    TensorSpec,
    Timings,
    Verdict,
    VerdictKind,
    Where,
)
from ascend_opcli.reporting import terminal
from ascend_opcli.reporting.files import write_text
from ascend_opcli.reporting.finished import FinishedRun
from ascend_opcli.reporting.formats import OF_RUN

DTYPES = ("float16", "bfloat16", "float32")
RULE = (
    "ecosystem 2026-07: |got - golden| <= 2^-9 * |golden| + 2^-9 for 99 % of the elements;"
    " every element within 0.1 or 32 ulp"
)


def made_up(number: int, *, failing: bool) -> Result:
    """One result with one output, three worst elements and two branches."""
    dtype = DTYPES[number % 3]
    shape = (1 + number % 16, 1 << number % 12)
    count = math.prod(shape)

    def spec(data: Generator | None) -> TensorSpec:
        return TensorSpec(dtype, shape, data, (shape[1], 1), 0, (count,))

    case = Case(
        f"cases/file_{number // 500}.yaml",
        f"sweep[{dtype}-{shape[0]}x{shape[1]}-n={number}]",
        "aclnnLogitGrad",
        {
            "x": spec(Generator("uniform", (0.0, 1.0))),
            "dy": spec(Generator("normal", (0.0, 1.0), (math.nan, math.inf))),
            "eps": Attribute(number % 50 / 100),
            "out": spec(None),
        },
        Where(f"cases/file_{number // 500}.yaml", 1 + number % 500, 1),
        tags=("sweep", f"group{number % 7}"),
    )
    worst = tuple(
        Element((n, number % 7), {"x": 0.25, "dy": 1.5}, 1.25 + n, 1.0, 0.25 + n, 0.25 + n, 256.0, 12.0)
        for n in range(3)
    )
    over = count if failing else 0
    output = OutputReport(
        "out",
        dtype,
        shape,
        not failing,
        "all elements are over the tolerance" if failing else "",
        "ecosystem",
        RULE,
        "dtype table",
        12.0 if failing else 0.18,
        Census(count, count - over, 0, over, sign_flipped=over // 2),
        worst if failing else worst[:1],
        0.25,
        0.125,
        branches=(Branch("inside", count), Branch("outside", 0)),
        floor=0.18,
    )
    word = VerdictKind.FAIL if failing else VerdictKind.PASS
    return Result(
        case,
        "atlas_a2",
        "host",
        Verdict(word, output.reason, (output,), ("a note that every case has",)),
        status=0,
        phase=Phase.ONE,
        inputs_sha256="0" * 64,
        repro=f"opcli run 'cases/file_{number // 500}.yaml::{case.name}' --inputs-sha256 {'0' * 64}",
        timings=Timings(0.001, 0.002, 0.001, 0.003),
    )


class Screen(io.StringIO):
    """Takes what a terminal would show."""

    def isatty(self) -> bool:
        return True


def seconds(render: Callable[[], object]) -> float:
    """The best of three."""
    best = math.inf
    for _ in range(3):
        begun = time.perf_counter()
        render()
        best = min(best, time.perf_counter() - begun)
    return best


def main() -> None:
    """Print one line a format."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--cases", type=int, default=10_000)
    parser.add_argument("--failing", type=float, default=0.01, help="share of the cases that fail")
    options = parser.parse_args()
    every = max(1, round(1 / options.failing)) if options.failing else options.cases + 1
    results = [made_up(n, failing=n % every == every - 1) for n in range(options.cases)]
    run = FinishedRun(results, {**run_facts(), "backend": "host", "product": "atlas_a2"}, 70.0, len(results))
    print(f"{platform.machine()}, Python {platform.python_version()}, {options.cases:,} cases,", end=" ")
    print(f"{len(run.failures()):,} failing")
    summary = run.summary.lines(70.0)
    screens = {
        "terminal": lambda: terminal.print_results(results, Screen(), summary=summary),
        "terminal -v": lambda: terminal.print_results(results, Screen(), summary=summary, verbose=True),
        "pipe": lambda: terminal.print_results(results, io.StringIO(), summary=summary),
        "pipe -v": lambda: terminal.print_results(results, io.StringIO(), summary=summary, verbose=True),
    }
    for name, show in screens.items():
        print(f"{name:14} {seconds(show):6.2f} s")
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "report"
        for name, render in ((each.name, each.render) for each in OF_RUN):
            took = seconds(lambda render=render: write_text(str(target), render(run)))  # type: ignore[misc]
            print(f"--{name:12} {took:6.2f} s  {target.stat().st_size / 1e6:8.2f} MB")


if __name__ == "__main__":
    main()
