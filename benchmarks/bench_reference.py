"""The golden of an elementwise operator: in blocks, as opcli runs it, against the whole arrays at once.

python benchmarks/bench_reference.py --elements 100000000
"""

from __future__ import annotations

import argparse
import dataclasses
import time
from collections.abc import Callable

from ascend_opcli.casefile.inline import CallOptions, parse
from ascend_opcli.operators.catalog import find
from ascend_opcli.reference.call import make_call
from ascend_opcli.reference.evaluate import golden, host_result
from ascend_opcli.verification.standards.choice import check_for


def seconds(work: Callable[[], object], rounds: int) -> float:
    """The fastest of several rounds."""
    best = float("inf")
    for _ in range(rounds):
        begun = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - begun)
    return best


def main() -> None:
    """Print seconds and ratios for the elementwise operators."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--elements", type=int, default=100_000_000)
    parser.add_argument("--rounds", type=int, default=2)
    asked = parser.parse_args()
    for name, attributes in (
        ("elu_backward", []),
        ("logit_grad", []),
        ("threshold_backward", ["threshold=0.5"]),
    ):
        operator = find(name)
        whole = dataclasses.replace(
            operator, elementwise=False, branches=None, divergences=(), ambiguous=None
        )
        options = CallOptions(name, "float32", str(asked.elements), attrs=attributes)
        call = make_call(parse(options, check_standard=check_for), operator.signature, "atlas_a2")
        blocks = seconds(lambda: golden(operator, call), asked.rounds)  # noqa: B023
        host = seconds(lambda: host_result(operator, call), asked.rounds)  # noqa: B023
        once = seconds(lambda: golden(whole, call), 1)  # noqa: B023
        print(
            f"{name:20} {asked.elements:,} elements: golden in blocks {blocks:.2f} s, whole {once:.2f} s"
            f" ({once / blocks:.1f}x), host result in blocks {host:.2f} s"
        )


if __name__ == "__main__":
    main()
