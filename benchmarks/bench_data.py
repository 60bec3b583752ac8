"""Throughput of tensors/data.py and dtypes.py beside NumPy and ml_dtypes, in the same run.

    python benchmarks/bench_data.py [--elements N] [--repeat R]

The best of R alternating runs counts on both sides. A ratio of 1 is the peer's throughput, above 1 is faster.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import ml_dtypes
import numpy as np

from ascend_opcli.model import Generator
from ascend_opcli.tensors.data import generate
from ascend_opcli.tensors.dtypes import round_to, spacing, widen


def best(ours: Callable[[], object], peer: Callable[[], object], repeat: int) -> tuple[float, float]:
    """Shortest seconds of each, run in turn so that both meet the same state of the machine."""
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(repeat):
        for run, seconds in zip((ours, peer), times, strict=True):
            begin = time.perf_counter()
            run()
            seconds.append(time.perf_counter() - begin)
    return min(times[0]), min(times[1])


def main() -> None:
    """Prints one line for each comparison."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--elements", type=int, default=100_000_000)
    parser.add_argument("--repeat", type=int, default=3)
    options = parser.parse_args()
    count, rng = options.elements, np.random.default_rng(0)

    def make(kind: str, args: tuple[float, ...], dtype: str) -> Callable[[], object]:
        return lambda: generate(Generator(kind, args), dtype=dtype, shape=(count,), seed=0, name="x")

    single = rng.standard_normal(count, dtype=np.float32)
    double = single.astype(np.float64) * 1.0000001
    brain = single.astype(ml_dtypes.bfloat16)
    half = single.astype(np.float16)
    comparisons: list[tuple[str, Callable[[], object], str, Callable[[], object]]] = [
        (
            "uniform [0, 1) float32",
            make("uniform", (0.0, 1.0), "float32"),
            "Generator.random(dtype=float32)",
            lambda: rng.random(count, dtype=np.float32),
        ),
        (
            "uniform [-2, 2) float32",
            make("uniform", (-2.0, 2.0), "float32"),
            "Generator.random * 4 - 2",
            lambda: rng.random(count, dtype=np.float32) * np.float32(4) - np.float32(2),
        ),
        (
            "uniform [0, 1) bfloat16",
            make("uniform", (0.0, 1.0), "bfloat16"),
            "random, astype(bfloat16)",
            lambda: rng.random(count, dtype=np.float32).astype(ml_dtypes.bfloat16),
        ),
        (
            "uniform [0, 1) float16",
            make("uniform", (0.0, 1.0), "float16"),
            "random, astype(float16)",
            lambda: rng.random(count, dtype=np.float32).astype(np.float16),
        ),
        (
            "normal [0, 1] float32",
            make("normal", (0.0, 1.0), "float32"),
            "Generator.standard_normal(dtype=float32)",
            lambda: rng.standard_normal(count, dtype=np.float32),
        ),
        (
            "integers [0, 99] int32",
            make("integers", (0, 99), "int32"),
            "Generator.integers(dtype=int32)",
            lambda: rng.integers(0, 100, count, dtype=np.int32),
        ),
        (
            "float32 -> bfloat16",
            lambda: round_to(single, "bfloat16"),
            "astype",
            lambda: single.astype(brain.dtype),
        ),
        (
            "float64 -> bfloat16",
            lambda: round_to(double, "bfloat16"),
            "astype",
            lambda: double.astype(brain.dtype),
        ),
        (
            "float64 -> float16",
            lambda: round_to(double, "float16"),
            "astype",
            lambda: double.astype(np.float16),
        ),
        (
            "float64 -> float32",
            lambda: round_to(double, "float32"),
            "astype",
            lambda: double.astype(np.float32),
        ),
        ("bfloat16 -> float32", lambda: widen(brain, np.float32), "astype", lambda: brain.astype(np.float32)),
        ("bfloat16 -> float64", lambda: widen(brain, np.float64), "astype", lambda: brain.astype(np.float64)),
        ("float16 -> float64", lambda: widen(half, np.float64), "astype", lambda: half.astype(np.float64)),
        (
            "spacing of float64",
            lambda: spacing(double, "float64"),
            "numpy.spacing",
            lambda: np.spacing(double),
        ),
    ]
    print(f"{count} elements, best of {options.repeat}, NumPy {np.__version__}")
    for what, ours, peer_name, peer in comparisons:
        mine, theirs = best(ours, peer, options.repeat)
        rate, peer_rate = count / mine / 1e6, count / theirs / 1e6
        print(f"{what:24} {rate:8.0f} M/s  {peer_rate:8.0f} M/s  ratio {theirs / mine:5.2f}  {peer_name}")


if __name__ == "__main__":
    main()
