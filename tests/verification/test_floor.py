"""A golden that the compute dtype cannot reach: said so, and nothing else made of it."""

from __future__ import annotations

import json
import warnings

import pytest

from tests.conftest import CaseFile, Opcli

# float32: 1e30 * 1e10 overflows, and Inf * 0 is NaN; the float64 golden is 1e40 * exp(-1e10) * 1e-20 = 0.
UNREACHABLE = """
    op: elu_backward
    cases:
      - name: a
        dtype: float32
        shape: [4]
        inputs: {gradOutput: {data: 1.0e30}, selfOrResult: {data: -1.0}}
        attrs: {inputScale: 1.0e10, alpha: 1.0e-20}
"""


def test_an_overflow_on_the_way_is_not_laid_to_an_attribute(opcli: Opcli, case_file: CaseFile) -> None:
    done = opcli("run", case_file(UNREACHABLE), "--backend", "host")
    assert done.code == 1
    assert "misses its golden in the same way" in done.out
    assert "noise floor" in done.out
    assert "looks ignored" not in done.out


@pytest.mark.parametrize(
    ("dtype", "ulp", "reachable"), [("float16", 0.4, False), ("float16", 0.51, True), ("float32", 0.1, False)]
)
def test_a_tolerance_below_the_noise_floor_is_told(
    opcli: Opcli, case_file: CaseFile, dtype: str, ulp: float, reachable: bool
) -> None:
    path = case_file(f"""
        op: logit_grad
        cases: [{{name: a, dtype: {dtype}, shape: [512], standard: {{ulp: {{max: {ulp}}}}}}}]
    """)
    done = opcli("run", path, "--backend", "host", "--json", "-")
    (output,) = json.loads(done.out)["results"][0]["outputs"]
    assert output["passed"] is reachable
    assert (output["floor"] <= 1) is reachable
    assert done.code == (0 if reachable else 1)


@pytest.mark.parametrize(
    "call", ["threshold_backward threshold=1e39", "elu_backward alpha=-1e39", "elu_backward alpha=1e39"]
)
def test_a_scalar_that_float32_cannot_hold_is_no_warning(opcli: Opcli, call: str) -> None:
    op, attribute = call.split()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        attrs = ["--attr", attribute, *(["--attr", "isResult=true"] if op == "elu_backward" else [])]
        done = opcli("run", "--op", op, "--dtype", "float32", "--shape", "4", *attrs)
    assert done.code in (0, 1)
    assert "Warning" not in done.err


@pytest.mark.parametrize("standard", ["ulp:max=0", "allclose:rtol=0,atol=0"])
@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
@pytest.mark.parametrize("op", ["mul", "add"])
def test_a_tolerance_of_0_lays_no_false_fault_to_a_result_that_is_rounded_right(
    opcli: Opcli, standard: str, dtype: str, op: str
) -> None:
    done = opcli(
        "run", "--op", op, "--dtype", dtype, "--shape", "64x33", "--backend", "host", "--standard", standard
    )
    assert done.code == 1
    assert "the standard allows less than that rounding" in done.out
    assert "the host result itself is off where the tolerance is 0" in done.out
    for word in ("half", "truncated", "NaN", "Inf"):
        assert word not in done.out


def test_an_overflow_of_the_host_result_is_still_called_one(opcli: Opcli, case_file: CaseFile) -> None:
    done = opcli("run", case_file(UNREACHABLE), "--backend", "host")
    assert "the host result itself has NaN or Inf where the golden has not" in done.out
