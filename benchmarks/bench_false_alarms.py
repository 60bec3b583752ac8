"""How often ``opcli bench`` calls equal runs different: the command itself, again and again, on the simulated device.

Each run is held against the one before it and saved for the next, so that RUNS comparisons are of independent
pairs of neighbours. The operator takes 100 us with noise, uniform in plus or minus 5 %, another seed each time.

    PYTHONPATH=. python benchmarks/bench_false_alarms.py [RUNS] [TIME]

Measured on a 2-core virtual machine, shared with other work, 200 runs, ``--time 200ms``:
all 200 SAME, the 99 % interval missed 1 in 9, no row UNSURE; 1745 s.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from tests.simulated_cann.build import build, env

CASE = ("--op", "elu_backward", "--shape", "4x1024", "--dtype", "float32")


def main(runs: int, budget: str) -> None:
    """Print the words of all comparisons, and how often the interval missed a ratio of 1."""
    words: Counter[str] = Counter()
    missed = lost = 0
    begun = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="opcli-false-alarms-") as folder:
        root = build(Path(folder) / "cann")
        environment = {**os.environ, **env(root, dict(os.environ))}
        environment["PYTHONPATH"] = os.pathsep.join([*(p for p in sys.path if p), environment["PYTHONPATH"]])
        environment |= {"SIM_CANN_SOC": "Ascend310P3", "SIM_CANN_TIME": "*=100us~5%", "SIM_CANN_REPORT": ""}
        saved, report = (Path(folder) / name for name in ("base.json", "report.json"))
        for number in range(runs + 1):
            held = ("--baseline", str(saved)) if number else ()
            command = [sys.executable, "-m", "ascend_opcli", "bench", *CASE, "--time", budget, *held]
            following = (
                Path(folder) / "next.json"
            )  # a run that is called slower would not replace its own baseline
            done = subprocess.run(
                [*command, "--save", str(following), "--json", str(report)],
                env={**environment, "SIM_CANN_SEED": str(number + 1)},
                capture_output=True,
                text=True,
                check=False,
            )
            if not following.exists():
                sys.exit(f"run {number} failed with {done.returncode}: {done.stderr}{done.stdout}")
            following.replace(saved)
            if not number:
                continue
            (case,) = json.loads(report.read_text("utf-8"))["opcli"]["cases"]
            comparison = case["comparison"]
            words[comparison["speed"]] += 1
            lost += case["verdict"] != "OK"
            missed += not comparison["low"] <= 1 <= comparison["high"]
    said = ", ".join(f"{count} {word}" for word, count in words.most_common())
    print(
        f"{runs} comparisons of equal runs: {said}; the 99 % interval missed 1 in {missed}; {lost} rows UNSURE"
    )
    print(f"{time.perf_counter() - begun:.0f} s")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 200, sys.argv[2] if len(sys.argv) > 2 else "200ms")
