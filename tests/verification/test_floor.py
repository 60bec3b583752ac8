"""A golden that the compute dtype cannot reach: said so, and nothing else made of it."""

from __future__ import annotations

import json
import warnings

import numpy as np
import pytest

from ascend_opcli.verification.comparison import Comparison
from ascend_opcli.verification.overflow import overflowed, together
from tests.conftest import CaseFile, Opcli

NAN, INF = float("nan"), float("inf")

# float32: 1e30 * 1e10 overflows, and Inf * 0 is NaN; the float64 golden is 1e40 * exp(-1e10) * 1e-20 = 0.
OVERFLOWS = """
    op: elu_backward
    cases:
      - name: a
        inputs: {gradOutput: [1.0e30, 1.0, 2.0], selfOrResult: [-1.0, -1.0, 1.0]}
        attrs: {inputScale: 1.0e10, alpha: 1.0e-20}
        got: {gradInput: GOT}
"""


@pytest.mark.parametrize(
    ("got", "passes"),
    [
        ([NAN, 0.0, 2.0], True),  # as float32 has it
        ([0.0, 0.0, 2.0], True),  # the golden
        ([INF, 0.0, 2.0], False),
        ([NAN, NAN, 2.0], False),  # nothing overflows at the second
        ([NAN, 0.0, 3.0], False),
    ],
)
def test_an_overflow_on_the_way_is_as_right_as_the_golden_where_it_happens(
    opcli: Opcli, case_file: CaseFile, got: list[float], passes: bool
) -> None:
    written = json.dumps(got).replace("NaN", ".nan").replace("Infinity", ".inf")
    done = opcli("run", case_file(OVERFLOWS.replace("GOT", written)), "--json", "-")
    assert done.code == (0 if passes else 1)
    notes = json.loads(done.out)["results"][0]["notes"]
    assert any("a step overflows in 1 of its elements" in n for n in notes) is (got[:1] != [0.0])


MARGIN = "inputs: {self: [-100.0, 1.0], target: [1.0, 0.0], gradOutput: [2.0, 2.0]}, attrs: {reduction: 0}"
PLUS = "inputs: {self: [100.0, -1000.0]}, attrs: {beta: 1.0, threshold: 500.0}"


@pytest.mark.parametrize(
    ("op", "given", "got", "passes"),
    [
        ("soft_margin_loss_backward", MARGIN, "out: [.nan, 0.0]", True),
        ("soft_margin_loss_backward", MARGIN, "out: [-2.0, 0.0]", True),
        ("soft_margin_loss_backward", MARGIN, "out: [0.0, 0.0]", False),
        ("soft_margin_loss_backward", MARGIN, "out: [.nan, .nan]", False),
        ("softplus", PLUS, "out: [.inf, 0.0]", True),
        ("softplus", PLUS, "out: [100.0, 0.0]", True),
        ("softplus", PLUS, "out: [.nan, 0.0]", False),
    ],
)
def test_what_overflows_in_the_kernels_own_form_is_right_either_way(
    op: str, given: str, got: str, passes: bool, opcli: Opcli, case_file: CaseFile
) -> None:
    case = f"{{op: {op}, cases: [{{name: a, {given}, got: {{{got}}}}}]}}"
    assert opcli("run", case_file(case)).code == (0 if passes else 1)


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


def test_the_floor_stands_where_the_golden_is_the_references_and_branches_stand_everywhere(
    opcli: Opcli, case_file: CaseFile
) -> None:
    """The host result is the floor itself; of expected values that a case gives nobody knows how near one can come."""
    right = "[0.36787945, 0.13533528, 2.0]"
    path = case_file(f"""
        op: elu_backward
        defaults: {{inputs: {{gradOutput: [1.0, 1.0, 2.0], selfOrResult: [-1.0, -2.0, 1.0]}}}}
        cases:
          - {{name: host}}
          - {{name: right, got: {{gradInput: {right}}}}}
          - {{name: wrong, got: {{gradInput: [1.0, 1.0, 2.0]}}}}
          - {{name: expected, expect: {{outputs: {{gradInput: {right}}}}}}}
          - {{name: other, expect: {{outputs: {{gradInput: [1.0, 1.0, 2.0]}}}}}}
    """)
    results = {
        r["name"]: r["outputs"][0] for r in json.loads(opcli("run", path, "--json", "-").out)["results"]
    }
    host = results["host"]
    assert 0 < host["floor"] == host["used"] < 1
    assert results["wrong"]["floor"] == host["floor"] < results["wrong"]["used"]
    for name, passed in (("right", True), ("expected", True), ("other", False)):
        assert results[name]["passed"] is passed
        assert results[name].get("floor") is None, name
    for output in results.values():
        assert [b["count"] for b in output["branches"]] == [2, 1]


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "complex64", "complex128"])
def test_an_overflow_is_told_from_a_rounding(dtype: str) -> None:
    """A NaN or Inf where the golden is finite tells; a difference of more than 4 spacings does only beside one."""
    step = float(np.finfo(dtype).eps)
    golden = np.array([1.0, 1.0, 1.0, NAN, INF, 1.0]).astype(np.complex128 if "complex" in dtype else float)
    calm = np.array([1.0, 1 + 4 * step, 1 + 5 * step, NAN, INF, 1.0]).astype(dtype)
    assert overflowed(Comparison("y", calm, golden, dtype), flagged=False) is None
    for own, places in ((calm, [2]), (golden.astype(dtype), [])):
        flagged = overflowed(Comparison("y", own, golden, dtype), flagged=True)
        assert ([] if flagged is None else flagged[0].tolist()) == places
    for what in (NAN, INF, -INF):
        wild = calm.copy()
        wild[5] = what
        found = overflowed(Comparison("y", wild, golden, dtype), flagged=False)
        assert found is not None
        assert found[0].tolist() == [2, 5]
        np.testing.assert_array_equal(found[1], wild[[2, 5]])
    assert overflowed(Comparison("y", calm[:5], golden, dtype), flagged=True) is None


def test_an_integer_that_differs_is_an_overflow_where_one_happened() -> None:
    own, golden = np.array([1, 2, 3], np.int32), np.array([1, 2, 4], np.int32)
    assert overflowed(Comparison("y", own, golden, "int32"), flagged=False) is None
    found = overflowed(Comparison("y", own, golden, "int32"), flagged=True)
    assert found is not None
    assert [a.tolist() for a in found] == [[2], [3]]


def test_of_two_alternatives_that_of_the_overflow_counts() -> None:
    beyond = np.array([3, 5]), np.array([INF, NAN])
    places, values = together((np.array([1, 3]), np.array([7.0, 8.0])), beyond)
    assert dict(zip(places.tolist(), map(str, values), strict=True)) == {1: "7.0", 3: "inf", 5: "nan"}
    assert together(None, beyond) is beyond
