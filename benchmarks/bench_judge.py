"""How long judging takes, next to numpy.testing, torch.testing and polygraphy in the same run.

    python benchmarks/bench_judge.py --elements 100000000 --dtype float16

Every tool is asked whether an output agrees with its golden, of the same dtype, under the tolerance of the
ecosystem standard for it. opcli gives its whole report for that: census, worst elements, numbers needed, trust,
and for a failing output its diagnosis. What failing costs is timed in pairs with a passing output.
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import numpy as np

from ascend_opcli.model import StandardChoice
from ascend_opcli.tensors.dtypes import numpy_dtype
from ascend_opcli.verification.compare.metrics import measure
from ascend_opcli.verification.comparison import Comparison
from ascend_opcli.verification.diagnosis import diagnose
from ascend_opcli.verification.judge import judge, judge_and_locate
from ascend_opcli.verification.standards.named import make
from ascend_opcli.verification.weak_answers import weak_answers

TOLERANCES = {
    "float32": (2.0**-10, 2.0**-16),
    "float16": (2.0**-9, 2.0**-9),
    "bfloat16": (2.0**-6, 2.0**-6),
}
NOISE = {"float32": 1e-6, "float16": 5e-4, "bfloat16": 4e-3}
CHOICE = StandardChoice("ecosystem")


def seconds(run: Callable[[], object]) -> float:
    """Seconds of one run."""
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def torch_close(
    got: np.ndarray, golden: np.ndarray, dtype: str, tolerance: tuple[float, float]
) -> Callable[[], object] | None:
    """torch.testing.assert_close on the same memory; None without torch."""
    try:
        import torch
    except ImportError:
        return None
    if dtype == "bfloat16":
        x, y = (torch.from_numpy(a.view(np.int16)).view(torch.bfloat16) for a in (got, golden))
    else:
        x, y = torch.from_numpy(got), torch.from_numpy(golden)
    rtol, atol = tolerance
    return lambda: torch.testing.assert_close(x, y, rtol=rtol, atol=atol, equal_nan=True)


def polygraphy_close(
    got: np.ndarray, golden: np.ndarray, tolerance: tuple[float, float]
) -> Callable[[], object] | None:
    """Polygraphy's comparator on two saved iterations; None without polygraphy."""
    try:
        from polygraphy.comparator import SimpleCompareFunc
        from polygraphy.comparator.struct import IterationResult
        from polygraphy.logger import G_LOGGER
    except ImportError:
        return None
    G_LOGGER.module_severity = G_LOGGER.CRITICAL
    x = IterationResult({"y": got}, runner_name="device")
    y = IterationResult({"y": golden}, runner_name="golden")
    compare = SimpleCompareFunc(
        rtol=tolerance[0], atol=tolerance[1], check_error_stat="elemwise", infinities_compare_equal=True
    )

    def run() -> object:
        if not all(compare(x, y).values()):
            raise AssertionError("polygraphy disagrees")
        return None

    return run


def main() -> None:
    """Prints seconds, ratios and memory."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--elements", type=int, default=100_000_000)
    parser.add_argument("--repeat", type=int, default=5, help="rounds; the fastest of each tool counts")
    parser.add_argument("--threads", type=int, default=None)
    parser.add_argument("--dtype", choices=sorted(TOLERANCES), default="float32")
    options = parser.parse_args()
    dtype, tolerance = options.dtype, TOLERANCES[options.dtype]

    rng = np.random.default_rng(0)
    real = rng.standard_normal(options.elements, dtype=np.float32)
    golden = real.astype(numpy_dtype(dtype))
    got = (real * np.float32(1 + NOISE[dtype])).astype(numpy_dtype(dtype))
    got[::3] = golden[::3]
    wide = real.astype(np.float64)
    wide *= 1 + 1e-9
    del real

    def passing(output: np.ndarray, expected: np.ndarray) -> Callable[[], object]:
        return lambda: judge(
            Comparison("y", output, expected, dtype, inputs={"x": golden}), CHOICE, threads=options.threads
        )

    broken = got.copy()
    broken[options.elements * 3 // 4] = 1000

    def failing() -> object:
        report, places = judge_and_locate(
            Comparison("y", broken, golden, dtype, inputs={"x": golden}), CHOICE, threads=options.threads
        )
        found = diagnose(Comparison("y", broken, golden, dtype, inputs={"x": golden}), CHOICE, failing=places)
        assert not report.passed
        assert found.sentence.startswith("only one of")
        return found

    standard = make(CHOICE, dtype)
    comparison = Comparison("y", got, golden, dtype, inputs={"x": golden, "dy": wide})
    metrics = measure(comparison, standard)
    ours = f"opcli, {dtype} golden"
    tools: dict[str, Callable[[], object] | None] = {
        ours: passing(got, golden),
        "opcli, one failing element, diagnosed": failing,
        "opcli, float64 golden": passing(got, wide),
        "opcli, trust alone, two inputs copied": lambda: weak_answers(comparison, standard, metrics),
        "numpy.testing.assert_allclose": lambda: np.testing.assert_allclose(got, golden, *tolerance),
        "torch.testing.assert_close": torch_close(got, golden, dtype, tolerance),
    }
    print(
        f"{options.elements:,} {dtype} elements, {os.cpu_count()} processors, NumPy {np.__version__}, "
        f"Python {platform.python_version()}, fastest of {options.repeat} rounds"
    )
    # In turn, so that whatever else the machine does meets all of them.
    fastest = dict.fromkeys(tools, float("inf"))
    ratios = []
    for _ in range(options.repeat):
        round_ = {name: seconds(run) for name, run in tools.items() if run is not None}
        for name, taken in round_.items():
            fastest[name] = min(fastest[name], taken)
        ratios.append(round_["opcli, one failing element, diagnosed"] / round_[ours])
    # Polygraphy has no bfloat16.
    polygraphy = polygraphy_close(got, golden, tolerance) if dtype != "bfloat16" else None
    fastest["polygraphy SimpleCompareFunc, once"] = seconds(polygraphy) if polygraphy else float("inf")
    for name, taken in fastest.items():
        if taken == float("inf"):
            print(f"{name:38} not there")
        else:
            print(f"{name:38} {taken:9.4f} s {taken / fastest[ours]:8.2f} x")

    print(
        f"one failing element, diagnosed, to a pass, round by round: {', '.join(f'{r:.2f}' for r in sorted(ratios))}"
    )

    for name, expected in ((dtype, golden), ("float64", wide)):
        tracemalloc.start()
        passing(got, expected)()
        print(
            f"memory beyond the arrays, {name} golden: {tracemalloc.get_traced_memory()[1] / 2**20:.1f} MiB"
        )
        tracemalloc.stop()


if __name__ == "__main__":
    main()
