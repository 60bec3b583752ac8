"""Faults of the simulated device are called by their name."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.backends.conftest import OnDevice
from tests.conftest import CaseFile

CASES = """
    op: logit_grad
    cases:
      - {name: before, dtype: float32, shape: [64, 37], seed: 2, standard: exact-enough}
      - {name: a, dtype: float32, shape: [64, 37], seed: 1, standard: exact-enough}
""".replace("exact-enough", "{ulp: {max: 2}}")


@pytest.fixture
def cases(case_file: CaseFile) -> Path:
    return case_file(CASES)


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        (
            "tail",
            ["only the last 64 of 2,368 elements are wrong, from element 2,304 on (256 bytes", "got is 0"],
        ),
        ("tail=8", ["only the last block of 32 bytes, 8 elements of 2,368, is wrong", "got is 0"]),
        (
            "stale",
            [
                "only elements 592 to 1,183 are wrong",
                "got is the golden of the place 592 elements",
                "before it",
            ],
        ),
        ("scale=2", ["got is 2 x the golden"]),
        ("scale=-1", ["got is the golden with its sign flipped"]),
        ("nan", ["only one of 2,368 elements, [32, 0], is wrong: got is NaN where the golden is a number"]),
        ("nothing", ["the kernel wrote nothing: the whole output is as it was before the call"]),
        ("round", ["the last 2 of 24 bits of every significand are cut off"]),
        ("ulp=9", ["got is 9 ulp further from zero than the golden"]),
    ],
)
def test_a_fault_is_diagnosed(on_device: OnDevice, cases: Path, fault: str, words: list[str]) -> None:
    ran = on_device(cases, SIM_CANN_FAULT=f"aclnnLogitGrad:{fault}@2+")
    assert ran.words() == {"before": "PASS", "a": "FAIL"}
    (output,) = ran.results["a"]["outputs"]
    for word in words:
        assert word in output["diagnosis"]
        assert word in ran.out
    assert ran.results["before"]["outputs"][0]["diagnosis"] == ""


def test_truncation_to_sixteen_bits(on_device: OnDevice, case_file: CaseFile) -> None:
    path = case_file(
        "op: logit_grad\ncases: [{name: a, dtype: float16, shape: [640], standard: {ulp: {max: 0.55}}}]\n"
    )
    ran = on_device(path, SIM_CANN_FAULT="aclnnLogitGrad:round")
    (output,) = ran.results["a"]["outputs"]
    assert output["diagnosis"] == "results are truncated instead of rounded to nearest, ties to even"


def test_an_overrun_is_a_finding_and_the_right_output_gets_no_diagnosis(
    on_device: OnDevice, cases: Path
) -> None:
    ran = on_device(cases, SIM_CANN_FAULT="aclnnLogitGrad:overrun@2+")
    assert "OUT OF BOUNDS WRITE: out was written past the end" in ran.results["a"]["reason"]
    assert ran.results["a"]["outputs"][0]["diagnosis"] == ""


@pytest.mark.parametrize("fault", ["scale=1.01", "scale=2", "scale=-1", "tail", "ulp=9", "round", "stale"])
@pytest.mark.parametrize("seeds", [(1, 1, 1), (1, 2, 1)], ids=["the same call", "others between"])
def test_a_kernel_that_is_always_wrong_leaves_no_stale_values(
    on_device: OnDevice, case_file: CaseFile, fault: str, seeds: tuple[int, int, int]
) -> None:
    listed = "".join(
        f"\n  - {{name: c{n}, dtype: float32, shape: [64, 37], seed: {seed}, standard: {{ulp: {{max: 2}}}}}}"
        for n, seed in enumerate(seeds)
    )
    path = case_file(f"op: logit_grad\ncases:{listed}\n")
    ran = on_device(path, SIM_CANN_FAULT=f"aclnnLogitGrad:{fault}")
    told = [r["outputs"][0]["diagnosis"] for r in ran.results.values()]
    assert len(told) == 3
    assert not [t for t in told if "stale" in t]
    # The same call is explained in the same way, whatever came before it.
    assert told[0] == told[2]
