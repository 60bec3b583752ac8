"""What a case may demand, and the verdict that follows."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.conftest import CaseFile, Opcli


@pytest.fixture
def judge(opcli: Opcli, case_file: CaseFile) -> Any:
    """The results of a file, by case name; the exit code under the empty name."""

    def run(text: str, *options: str) -> dict[str, Any]:
        done = opcli("run", case_file(text), *options, "--json", "-")
        assert done.out, done.err
        return {"": done.code, **{r["name"]: r for r in json.loads(done.out)["results"]}}

    return run


def test_a_refusal_passes_only_with_the_right_code_phase_and_text(judge: Any) -> None:
    results = judge("""
        op: elu_backward
        defaults: {inputs: {gradOutput: {dtype: float16, shape: [4]}, selfOrResult: {dtype: float32, shape: [4]}}}
        cases:
          - {name: number, expect: {status: 161002}}
          - {name: name, expect: {status: ACLNN_ERR_PARAM_INVALID}}
          - {name: text, expect: {status: {code: 161002, phase: 1, message: "different dtypes"}}}
          - {name: wrong-code, expect: {status: 161001}}
          - {name: wrong-phase, expect: {status: {code: 161002, phase: 2}}}
          - {name: wrong-text, expect: {status: {code: 161002, message: "shape"}}}
          - {name: success}
    """)
    words = {name: r["verdict"] for name, r in results.items() if name}
    assert words == {
        "number": "PASS",
        "name": "PASS",
        "text": "PASS",
        "wrong-code": "FAIL",
        "wrong-phase": "FAIL",
        "wrong-text": "FAIL",
        "success": "FAIL",
    }
    assert (
        "gradOutput and selfOrResult have different dtypes (float16 and float32): 161002"
        in results["success"]["reason"]
    )


def test_a_call_that_would_read_out_of_bounds_is_not_run(judge: Any) -> None:
    results = judge("""
        op: logit_grad
        cases:
          - name: short-dy
            inputs: {x: {dtype: float32, shape: [8]}, dy: {dtype: float32, shape: [4]}}
    """)
    assert results["short-dy"]["verdict"] == "FAIL"
    assert results["short-dy"]["reason"].startswith("not checked by the operator: dy is smaller than x")


def test_what_the_documents_do_not_settle_is_skipped(judge: Any) -> None:
    results = judge("""
        op: elu_backward
        cases: [{name: a, product: atlas_200i_500_a2, dtype: float32, shape: [4]}]
    """)
    assert results["a"]["verdict"] == "SKIP"
    assert "not documented" in results["a"]["reason"]
    assert results[""] == 4


def test_the_product_decides_what_is_accepted(judge: Any) -> None:
    text = """
        op: elu_backward
        cases: [{name: a, dtype: bfloat16, shape: [4]}, {name: b, product: Ascend910B3, dtype: bfloat16, shape: [4]}]
    """
    assert judge(text)[""] == 0
    results = judge(text, "--product", "atlas_training")
    assert results["a"]["verdict"] == "SKIP"
    assert "bfloat16" in results["a"]["reason"]
    assert results["b"]["verdict"] == "PASS"


def test_known_issues_expire_and_ask_to_be_removed_once_fixed(judge: Any) -> None:
    results = judge("""
        op: logit_grad
        defaults: {dtype: float32, shape: [4]}
        cases:
          - {name: open, known_issue: {reason: "see 12"}, expect: {status: 161001}}
          - {name: expired, known_issue: {reason: "see 13", expires: 2020-01-31}, expect: {status: 161001}}
          - {name: fixed, known_issue: {reason: "see 14"}}
    """)
    assert results["open"]["verdict"] == "KNOWN"
    assert results["expired"]["verdict"] == "FAIL"
    assert "expired on 2020-01-31" in results["expired"]["reason"]
    assert results["fixed"]["verdict"] == "PASS"
    assert any("fixed: remove the mark" in note for note in results["fixed"]["notes"])


def test_only_restricts_where_a_case_applies(judge: Any) -> None:
    results = judge("""
        op: logit_grad
        defaults: {dtype: float32, shape: [4]}
        cases:
          - {name: here, only: {product: [atlas_a2, atlas_a3]}}
          - {name: other-product, only: {product: [ascend950]}}
          - {name: device, only: {backend: device}}
          - {name: cann, only: {cann: ">=8.5"}}
    """)
    assert results["here"]["verdict"] == "PASS"
    assert results["other-product"]["reason"] == "only on ascend950, not on atlas_a2"
    assert results["device"]["reason"] == "only on the backend device"
    assert results["cann"]["reason"] == "only with CANN >=8.5; the host has none"


def test_expected_values_replace_the_golden_and_ignore_leaves_an_output_out(judge: Any) -> None:
    results = judge("""
        op: amp_update_scale
        defaults:
          attrs: {growthInterval: 1}
          inputs:
            currentScale: {dtype: float32, shape: [1], data: 8.0}
            growthTracker: {dtype: int32, shape: [1], data: 0}
            foundInf: {dtype: float32, shape: [1], data: 0.0}
        cases:
          - {name: right, expect: {outputs: {updatedScale: [16.0], updatedGrowthTracker: [0]}}}
          - {name: wrong-tracker, expect: {outputs: {updatedGrowthTracker: [1]}}}
          - {name: ignored-tracker, expect: {outputs: {updatedGrowthTracker: ignore}}}
    """)
    assert results["right"]["verdict"] == "PASS"
    assert results["wrong-tracker"]["verdict"] == "FAIL"
    assert "updatedGrowthTracker" in results["wrong-tracker"]["reason"]
    assert results["ignored-tracker"]["verdict"] == "PASS"
    assert results["ignored-tracker"]["notes"] == ["not judged: the case ignores updatedGrowthTracker"]


def test_an_expectation_that_differs_from_the_reference_is_not_blamed_on_the_operator(judge: Any) -> None:
    results = judge("""
        op: logit_grad
        cases: [{name: a, dtype: float32, shape: [64], expect: {outputs: {out: 1.0}}}]
    """)
    assert results["a"]["verdict"] == "FAIL"
    assert "it is the case's expected values that differ" in results["a"]["outputs"][0]["diagnosis"]


PROTOTYPE = (
    "aclnnStatus aclnnAddCustomGetWorkspaceSize("
    "const aclTensor *x, const aclTensor *y, double alpha, aclTensor *z)"
)


def test_an_operator_of_ones_own_by_prototype_and_expression(judge: Any) -> None:
    results = judge(f"""
        op: aclnnAddCustom
        signature: {PROTOTYPE}
        defaults:
          attrs: {{alpha: 2.0}}
          inputs:
            x: {{dtype: float32, shape: [2, 2], data: [1, 2, 3, 4]}}
            y: {{dtype: float32, shape: [2, 2], data: [1, 1, 1, 1]}}
        cases:
          - name: judged
            reference: x + alpha * y
            expect: {{outputs: {{z: [[3, 4], [5, 6]]}}}}
          - {{name: wrong, reference: x + y, expect: {{outputs: {{z: [3, 4, 5, 6]}}}}}}
          - {{name: nobody}}
    """)
    assert results["judged"]["verdict"] == "PASS"
    assert results["wrong"]["verdict"] == "FAIL"
    assert results["nobody"]["verdict"] == "SKIP"
    assert "cannot judge" in results["nobody"]["reason"]


def test_a_header_in_the_folder_serves_as_signature(judge: Any, case_file: CaseFile) -> None:
    case_file(f"#pragma once\n/* one */ {PROTOTYPE};\n", "aclnn_add_custom.h")
    results = judge("""
        op: aclnnAddCustom
        signature: aclnn_add_custom.h
        reference: x + alpha * y
        cases: [{name: a, attrs: {alpha: 1.0}, inputs: {x: [1.0, 2.0], y: [3.0, 4.0]}}]
    """)
    assert results["a"]["verdict"] == "PASS"


def test_a_reference_that_is_code_runs_only_when_allowed(judge: Any, case_file: CaseFile) -> None:
    case_file("def add(x, y, *, alpha):\n    return x + alpha * y\n", "ref.py")
    text = f"""
        op: aclnnAddCustom
        signature: {PROTOTYPE}
        reference: ref.py:add
        cases: [{{name: a, attrs: {{alpha: 1.0}}, inputs: {{x: [1.0, 2.0], y: [3.0, 4.0]}}}}]
    """
    refused = judge(text)
    assert refused["a"]["verdict"] == "SKIP"
    assert "--allow-code" in refused["a"]["reason"]
    assert judge(text, "--allow-code")["a"]["verdict"] == "PASS"


def test_a_reference_that_raises_costs_one_case(judge: Any, case_file: CaseFile) -> None:
    case_file("def boom(x, y, *, alpha):\n    raise KeyError('oh')\n", "ref.py")
    results = judge(
        f"""
        op: aclnnAddCustom
        signature: {PROTOTYPE}
        defaults: {{attrs: {{alpha: 1.0}}, inputs: {{x: [1.0, 2.0, 3.0], y: [3.0, 4.0, 5.0]}}}}
        cases:
          - {{name: good, reference: x + y}}
          - {{name: null-pointer, reference: x + y, inputs: {{x: null}}}}
          - {{name: shapes, reference: x + y, inputs: {{x: [1.0, 2.0]}}}}
          - {{name: raises, reference: ref.py:boom}}
        """,
        "--allow-code",
    )
    assert results[""] == 3
    assert results["good"]["verdict"] == "PASS"
    said = {
        "null-pointer": "the expression cannot be worked out: the reference uses x, which is null",
        "shapes": "the expression cannot be worked out: shapes do not broadcast together",
        "raises": "the reference raised",
    }
    for name, begin in said.items():
        assert results[name]["verdict"] == "ERROR"
        assert results[name]["reason"].startswith(begin)


def test_a_reference_that_is_not_there_is_an_unreadable_case(opcli: Opcli, case_file: CaseFile) -> None:
    case_file("def add(x, y, *, alpha):\n    return x\n", "ref.py")
    path = case_file(f"""
        op: aclnnAddCustom
        signature: {PROTOTYPE}
        reference: ref.py:ad
        cases: [{{name: a, attrs: {{alpha: 1.0}}, inputs: {{x: [1.0], y: [3.0]}}}}]
    """)
    done = opcli("run", path, "--allow-code")
    assert done.code == 2
    assert done.err.startswith(f"opcli: {path}:5:9: ref.py has no function ad")


def test_no_refusal_can_be_expected_of_an_operator_whose_rules_nobody_knows(judge: Any) -> None:
    results = judge(f"""
        op: aclnnAddCustom
        signature: {PROTOTYPE}
        reference: x + y
        cases: [{{name: a, attrs: {{alpha: 1.0}}, inputs: {{x: null, y: [3.0]}}, expect: {{status: 161001}}}}]
    """)
    assert results["a"]["verdict"] == "SKIP"


def test_a_case_that_compares_nothing_is_not_judged(judge: Any) -> None:
    results = judge("""
        op: logit_grad
        defaults: {dtype: float32, shape: [4]}
        cases:
          - {name: nothing, expect: {outputs: {out: ignore}}}
          - {name: status-only, expect: {status: 0, outputs: {out: ignore}}}
    """)
    assert results["nothing"]["verdict"] == "SKIP"
    assert results["status-only"]["verdict"] == "PASS"


def test_repeat_demands_identical_bytes(judge: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    import numpy as np

    from ascend_opcli.backends import host

    text = """
        op: logit_grad
        cases: [{name: a, dtype: float32, shape: [64], repeat: 3}]
    """
    assert judge(text)["a"]["verdict"] == "PASS"
    real, calls = host.run, []

    def unsteady(*given: Any) -> Any:
        outcome = real(*given)
        calls.append(1)
        outcome.outputs["out"][0] += np.float32(len(calls) == 3) * 1e-6
        return outcome

    monkeypatch.setattr(host, "run", unsteady)
    result = judge(text)["a"]
    assert result["verdict"] == "FAIL"
    assert result["reason"] == "out of run 3 of 3 has other bytes than the first"


def test_a_case_that_does_not_fit_in_memory_is_skipped_with_the_figure(judge: Any) -> None:
    results = judge("""
        op: logit_grad
        cases: [{name: a, dtype: float32, shape: [1000000, 1000000]}, {name: b, dtype: float32, shape: [4]}]
    """)
    assert results["a"]["verdict"] == "SKIP"
    assert results["a"]["reason"].startswith("needs about 18626.5 GiB, the memory limit is")
    assert results["b"]["verdict"] == "PASS"


def test_a_refusal_needs_no_data_however_large_it_would_be(judge: Any) -> None:
    results = judge("""
        op: logit_grad
        cases:
          - name: a
            inputs: {x: null, dy: {dtype: float32, shape: [1000000, 1000000]}}
            expect: {status: 161001}
    """)
    assert results["a"]["verdict"] == "PASS"


def test_an_accepted_call_that_the_reference_cannot_take_is_not_judged(judge: Any) -> None:
    """The documents' lists refuse a null pointer and 33 axes; a case that says they are accepted may know better."""
    deep = [1] * 32 + [2]
    results = judge(f"""
        op: floor_div
        defaults:
          inputs: {{self_x: {{dtype: float32, shape: [4]}}, self_y: {{dtype: float32, shape: [4]}}}}
          expect: {{status: ACL_SUCCESS}}
        cases:
          - {{name: null-input, inputs: {{self_y: null}}}}
          - {{name: null-output, outputs: {{out: null}}}}
          - name: deep
            inputs: {{self_x: {{dtype: float32, shape: {deep}}}, self_y: {{dtype: float32, shape: {deep}}}}}
          - {{name: refused, inputs: {{self_y: null}}, expect: {{status: 161001}}}}
    """)
    for name, why in (("null-input", "self_y is null"), ("null-output", "out is null")):
        assert results[name]["verdict"] == "SKIP"
        assert results[name]["reason"] == (
            f"cannot judge: the reference cannot take the call; the documented lists alone would refuse the call: {why}"
        )
    assert results["deep"]["verdict"] == "SKIP"
    assert results["deep"]["reason"] == "cannot judge: self_x has 33 axes, NumPy works with 32 at most"
    assert results["refused"]["verdict"] == "PASS"
