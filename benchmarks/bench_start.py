"""How long a person waits: ``opcli --help`` against a bare typer program, and a run of a shipped case file.

python benchmarks/bench_start.py
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import time
from pathlib import Path

BARE = """
import typer
app = typer.Typer()
@app.command()
def a(x: int = 1): ...
@app.command()
def b(): ...
app()
"""
ROOT = Path(__file__).parents[1]


def seconds(command: list[str]) -> float:
    """One run of a whole process."""
    begun = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True, cwd=ROOT)
    return time.perf_counter() - begun


def main() -> None:
    """Print medians, the two programs in turn."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=15)
    rounds = parser.parse_args().rounds
    commands = {
        "opcli --help": [sys.executable, "-m", "ascend_opcli", "--help"],
        "a bare typer program --help": [sys.executable, "-c", BARE, "--help"],
        "opcli run cases/logit_grad.yaml": [
            sys.executable,
            "-m",
            "ascend_opcli",
            "run",
            "cases/logit_grad.yaml",
        ],
    }
    times: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(rounds):
        for name, command in commands.items():
            times[name].append(seconds(command))
    medians = {name: statistics.median(values) for name, values in times.items()}
    for name, median in medians.items():
        print(f"{name:32} median {median:.3f} s of {rounds}")
    ours, bare = list(medians.values())[:2]
    print(f"--help takes {ours / bare:.2f} times a bare typer program")


if __name__ == "__main__":
    main()
