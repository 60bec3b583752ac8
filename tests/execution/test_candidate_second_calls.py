"""The calls after a case's own: right once is not right, and what nobody has declared is not held against anyone."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.execution.candidates import NAMES, Judge, words

STATE = {
    "an accumulator that is never cleared": """
sums = {}
def f(x, dy):
    key = x.shape, x.dtype
    sums[key] = sums.get(key, 0) + good(x, dy)
    return sums[key].astype(x.dtype)
""",
    "random numbers on every second call": """
calls = 0
def f(x, dy):
    global calls
    calls += 1
    return good(x, dy) if calls % 2 else np.random.rand(*x.shape).astype(x.dtype)
""",
    "right for what it saw first": """
seen = {}
def f(x, dy):
    first = seen.setdefault(x.shape + (x.dtype,), x.copy())
    return good(x, dy) if np.array_equal(first, x) else x + 1
""",
}


@pytest.mark.parametrize("kind", STATE)
def test_only_the_first_call_right_is_wrong(judge: Judge, kind: str) -> None:
    cases = "op: logit_grad\ncases: [{name: a, dtype: float32, shape: [4, 8]}, {name: b, dtype: float32, shape: [7]}]\n"
    results = judge(STATE[kind], cases=cases)
    assert words(results) == {"a": "FAIL", "b": "FAIL"}
    assert "WRONG AGAIN: on inputs of the next seed: " in results["a"]["reason"]
    assert results["a"]["outputs"][0]["passed"]


@pytest.mark.parametrize("data", ["[0.1, 0.2, 0.3, 0.4]", "0.5"])
@pytest.mark.parametrize("kind", [*STATE][:2])
def test_so_it_is_where_the_numbers_are_written_out(judge: Judge, kind: str, data: str) -> None:
    cases = f"""
        op: logit_grad
        cases:
          - name: a
            inputs: {{x: {{dtype: float32, shape: [4], data: {data}}}, dy: {{dtype: float32, shape: [4], data: 1.0}}}}
    """
    results = judge(STATE[kind], cases=cases)
    assert words(results) == {"a": "FAIL"}
    assert "WRONG AGAIN: on a second call with the same inputs: " in results["a"]["reason"]


def test_an_operator_of_integers_alone_is_asked_twice_too(judge: Judge) -> None:
    cases = """
        op: aclnnMul
        cases:
          - name: a
            inputs: {self: {dtype: int32, shape: [4], data: [1, 2, 3, 4]}, other: {dtype: int32, shape: [4], data: 3}}
    """
    body = "\nonce = []\ndef f(self, other):\n    once.append(1)\n    return self * other * len(once)\n"
    assert "WRONG AGAIN: on a second call" in judge(body, cases=cases)["a"]["reason"]
    assert words(judge("\ndef f(self, other):\n    return self * other\n", cases=cases)) == {"a": "PASS"}


def test_the_second_call_is_judged_by_the_standard_that_the_first_one_is(judge: Judge) -> None:
    cases = "op: logit_grad\ncases: [{name: a, dtype: float32, shape: [64]}]\n"
    body = "\ndef f(x, dy):\n    return good(x, dy) * np.float32(1.05)\n"
    assert words(judge(body, cases=cases)) == {"a": "FAIL"}
    wide = ("--standard", "allclose:rtol=0.1,atol=0.1")
    assert words(judge(body, *wide, cases=cases)) == {"a": "PASS"}
    own = cases.replace("shape: [64]", "shape: [64], expect: {standard: {allclose: {rtol: 0.1, atol: 0.1}}}")
    assert words(judge(body, cases=own)) == {"a": "PASS"}


OTHER_SIDE = """
def f(x, dy, eps):
    # eps as a double, and 1 - eps worked out in it: the other of the two sides that are allowed.
    x64, dy64 = x.astype(np.float64), dy.astype(np.float64)
    inside = SIDE
    return np.where(inside, dy64 / (x64 * (1 - x64)), 0.0).astype(x.dtype)
"""


@pytest.mark.parametrize(
    "side", ["(0.09999999 <= x64) & (x64 <= 0.90000004)", "(0.10000001 <= x64) & (x64 <= 0.9)"]
)
def test_an_element_where_either_side_is_right_accuses_nobody(judge: Judge, side: str) -> None:
    cases = """
        op: logit_grad
        cases:
          - name: a
            inputs:
              x: {dtype: float32, shape: [4], data: [0.1, 0.1000000089, 0.1000000089, 0.1]}
              dy: {dtype: float32, shape: [4], data: 9.0}
            attrs: {eps: 0.1}
          - name: b
            inputs:
              x: {dtype: float32, data: [0.0999999791, 0.099999994, 0.1, 0.1000000089, 0.9, 0.9000000358, 0.900000155]}
              dy: {dtype: float32, shape: [7], data: 9.0}
            attrs: {eps: 0.1}
    """
    results = judge(OTHER_SIDE.replace("SIDE", side), cases=cases)
    assert words(results) == {"a": "PASS", "b": "PASS"}, results


@pytest.mark.parametrize(
    "data", ["[0.2, 0.7, 0.7, 0.2]", "[0.2, 0.4, 0.4, 0.2]", "[0.3, 0.6, 0.7, 0.4]", "[0.5, 0.5, 0.5, 0.5]"]
)
@pytest.mark.parametrize("factor", [1.0, 1.05])
def test_inputs_that_read_the_same_backwards_are_no_evidence(judge: Judge, data: str, factor: float) -> None:
    # x and 1 - x have the same derivative: the result reads the same where the inputs do not.
    cases = f"""
        op: logit_grad
        cases:
          - name: a
            inputs: {{x: {{dtype: float32, shape: [4], data: {data}}}, dy: {{dtype: float32, shape: [4], data: 1.0}}}}
            expect: {{standard: {{allclose: {{rtol: 0.1, atol: 0.1}}}}}}
    """
    body = f"\ndef f(x, dy):\n    return (good(x, dy) * {factor}).astype(x.dtype)\n"
    assert words(judge(body, cases=cases)) == {"a": "PASS"}


def test_another_call_that_is_wrong_is_reported_as_the_first_one_is(judge: Judge) -> None:
    cases = "op: logit_grad\ncases: [{name: a, dtype: float32, shape: [4, 8]}]\n"
    result = judge(STATE["right for what it saw first"], cases=cases)["a"]
    own, other = result["outputs"]
    assert own["passed"]
    assert not other["passed"]
    assert other["name"] == "out on inputs of the next seed"
    assert other["worst"]
    assert other["diagnosis"]
    assert other["census"]["over"] > 0
    (command,) = [n for n in result["notes"] if n.startswith("the inputs of the other call: ")]
    assert "--seed 1 " in command


def test_what_a_result_was_taken_for_comes_after_the_numbers(judge: Judge) -> None:
    cases = "op: logit_grad\ncases: [{name: a, dtype: float32, shape: [4, 8]}]\n"
    reason = judge("\ndef f(x, dy):\n    return np.full_like(x, 3)\n", cases=cases)["a"]["reason"]
    assert reason.index("CONSTANT RETURNED") > 0


def test_a_wrong_first_call_is_told_alone(judge: Judge) -> None:
    results = judge("\ndef f(x, dy):\n    return good(x, dy) * 2\n")
    assert words(results) == dict.fromkeys(NAMES, "FAIL")
    assert "WRONG AGAIN" not in results["one"]["reason"]


SORTED = """
    op: aclnnPdf
    signature: aclnnStatus aclnnPdfGetWorkspaceSize(const aclTensor *cdf, aclTensor *out)
    reference: {reference}
    cases:
      - {{name: a, inputs: {{cdf: {{dtype: float32, shape: [4], data: [0.1, 0.4, 0.8, 1.0]}}}}}}
"""


@pytest.mark.parametrize("reference", ["cdf * 2", "cumsum(cdf, 0)"])
def test_who_checks_the_inputs_is_not_failed_by_inputs_that_were_invented(
    judge: Judge, reference: str
) -> None:
    made = "cdf * np.float32(2)" if "2" in reference else "np.cumsum(cdf)"
    body = f"\ndef f(cdf):\n    assert (np.diff(cdf) >= 0).all(), 'cdf must not fall'\n    return {made}\n"
    results = judge(body, cases=SORTED.format(reference=reference))
    assert words(results) == {"a": "PASS"}
    (note,) = [n for n in results["a"]["notes"] if "cdf must not fall" in n]
    assert note.startswith("on the numbers of the case in reverse order: RAISED: AssertionError")


def test_what_needs_sorted_data_is_not_judged_by_unsorted_ones(judge: Judge) -> None:
    cases = SORTED.format(reference="cumsum(cdf, 0)")
    # Right wherever the data rise.
    body = "\ndef f(cdf):\n    return np.cumsum(np.maximum.accumulate(cdf))\n"
    results = judge(body, cases=cases)
    assert words(results) == {"a": "PASS"}
    assert any("which the operator may not take" in n for n in results["a"]["notes"])


def test_an_exception_on_drawn_inputs_is_its_own_fault(judge: Judge) -> None:
    body = """
calls = []
def f(x, dy):
    calls.append(1)
    assert len(calls) % 2, 'again'
    return good(x, dy)
"""
    cases = "op: logit_grad\ncases: [{name: a, dtype: float32, shape: [4, 8]}]\n"
    results = judge(body, cases=cases)
    assert "on other inputs: RAISED: AssertionError: again" in results["a"]["reason"]


def test_a_constant_is_not_named_by_its_own_reverse(judge: Judge) -> None:
    # The case's numbers all lie on one side of the candidate's threshold, which is not the operator's.
    cases = """
        op: aclnnRelu
        cases: [{name: a, inputs: {self: {dtype: float32, shape: [6], data: [1.0, -2.0, 1.5, 1.25, -1.0, 0.5]}}}]
    """
    results = judge("\ndef f(self):\n    return np.where(self > 1.75, self, np.float32(0))\n", cases=cases)
    assert words(results) == {"a": "FAIL"}
    assert "RETURNED" not in results["a"]["reason"]
    results = judge("\ndef f(self):\n    return np.zeros_like(self)\n", cases=cases)
    assert "CONSTANT RETURNED: every element of out is 0.0, for other inputs too" in results["a"]["reason"]


def test_outputs_whose_shape_the_data_decide_have_another_one_on_other_data(
    judge: Judge, tmp_path: Path
) -> None:
    (tmp_path / "reference.py").write_text("def f(x):\n    return x[x > 0]\n")
    cases = """
        op: aclnnPositive
        signature: aclnnStatus aclnnPositiveGetWorkspaceSize(const aclTensor *x, aclTensor *out)
        reference: reference.py:f
        cases:
          - {name: a, inputs: {x: {dtype: float32, shape: [40], data: {normal: [0, 1]}}}}
          - {name: b, inputs: {x: {dtype: float32, shape: [4], data: [1, -1, 2, 3]}}}
    """
    assert words(judge("\ndef f(x):\n    return x[x > 0]\n", cases=cases)) == {"a": "PASS", "b": "PASS"}
    first = "\nkept = {}\ndef f(x):\n    return kept.setdefault(x.size, x[x > 0]).copy()\n"
    results = judge(first, cases=cases)
    assert words(results) == {"a": "FAIL", "b": "FAIL"}
    assert "on other inputs: WRONG SHAPE" in results["a"]["reason"]
