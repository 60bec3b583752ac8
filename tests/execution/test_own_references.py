"""References that a case brings: a golden.py, code that is told what it serves, outputs of the result's shape."""

from __future__ import annotations

import importlib.util
import json
import sys
from typing import Any

import pytest

from tests.conftest import CaseFile, Opcli

SCALE = (
    "aclnnStatus aclnnScaleGetWorkspaceSize(const aclTensor *self, const aclTensor *other, double alpha,"
    " int64_t dim, const aclTensor *out)"
)


@pytest.fixture
def judge(opcli: Opcli, case_file: CaseFile) -> Any:
    """The results of one case file by case name; an error's text where there are none."""

    def run(reference: str, *options: str, case: str = "", standard: str = "exact") -> dict[str, Any]:
        path = case_file(f"""
            op: aclnnScale
            signature: {SCALE}
            reference: {reference}
            standard: {standard}
            defaults:
              inputs:
                self: {{dtype: float16, shape: [2, 3], data: [1, 2, 3, 4, 5, 6]}}
                other: {{dtype: float16, shape: [2, 3], data: 2}}
              attrs: {{alpha: 0.5, dim: 1}}
            cases: [{{name: a{case}}}]
        """)
        done = opcli("run", path, *options, "--json", "-")
        if not done.out:
            return {"error": done.err, "code": done.code}
        (result,) = json.loads(done.out)["results"]
        return {**result, "code": done.code}

    return run


KERNEL = """
    import numpy as np
    import ml_dtypes

    __golden__ = {"kernel": {"scale": "scale_golden"}}

    def scale_golden(x1, x2, *, alpha=1.0, dim=0, **kwargs):
        assert x1.dtype == np.float16, x1.dtype
        assert kwargs["input_dtypes"] == ["float16", "float16"], kwargs
        assert kwargs["output_dtypes"] == ["float16"]
        assert kwargs["input_ori_shapes"] == [(2, 3), (2, 3)]
        assert kwargs["input_formats"] == ["ND", "ND"]
        assert kwargs["short_soc_version"] == "Ascend910B"
        assert kwargs["full_soc_version"] and kwargs["testcase_name"]
        return [(x1.astype("float32") + alpha * x2.astype("float32") * dim).astype(x1.dtype)]
"""


def test_a_kernel_golden_takes_arrays_in_order_attributes_by_name_and_the_keywords_of_ttk(
    judge: Any, case_file: CaseFile
) -> None:
    case_file(KERNEL, "golden.py")
    result = judge("golden.py", "--allow-code", case=", expect: {outputs: {out: [2, 3, 4, 5, 6, 7]}}")
    assert result["verdict"] == "PASS", result["reason"]
    assert any("golden by golden.py, kernel scale" in n for n in result["notes"])


def test_a_golden_narrower_than_float64_is_labelled(judge: Any, case_file: CaseFile) -> None:
    case_file(KERNEL, "golden.py")
    result = judge("golden.py", "--allow-code")
    assert any("out is float16, narrower than float64" in n for n in result["notes"])
    case_file("def f(self, other, *, alpha, dim):\n    return (self + other).astype('float32')\n", "mine.py")
    assert any("float32, narrower than float64" in n for n in judge("mine.py:f", "--allow-code")["notes"])
    case_file("def f(self, other, *, alpha, dim):\n    return self + other\n", "wide.py")
    assert not any("narrower" in n for n in judge("wide.py:f", "--allow-code")["notes"])


def test_nothing_of_a_golden_is_run_without_being_allowed(judge: Any, case_file: CaseFile) -> None:
    case_file("raise SystemExit('imported')\n", "golden.py")
    result = judge("golden.py")
    assert result["verdict"] == "SKIP"
    assert "golden.py is code, which runs only with --allow-code" in result["reason"]


def test_a_golden_outside_the_folder_is_not_run(judge: Any, case_file: CaseFile, tmp_path: Any) -> None:
    (tmp_path.parent / "golden_outside.py").write_text("raise SystemExit('imported')\n")
    assert "outside the case file's folder" in judge("../golden_outside.py", "--allow-code")["error"]
    (tmp_path / "link.py").symlink_to(tmp_path.parent / "golden_outside.py")
    assert "outside the case file's folder" in judge("link.py", "--allow-code")["error"]


SPEC = """
    import numpy as np
    from helpers import half

    class Other:
        @staticmethod
        def golden(x, y, **kwargs):
            return np.zeros(1)

    class Kernel:
        @staticmethod
        def golden(self, other, alpha, dim, **kwargs):
            return half(self.astype(np.float64)) * dim

    __spec__ = {"other": "Other", "scale": "Kernel", "torch.add": "Other"}

    def plain(self, other, *, alpha, dim, serves, run_dtype):
        assert (serves, run_dtype.name) in (("golden", "float64"), ("host", "float32"))
        assert self.dtype == run_dtype
        return self + (1.0 if serves == "golden" else 1.0)
"""


def test_a_spec_names_a_class_and_may_import_what_lies_beside_it(judge: Any, case_file: CaseFile) -> None:
    case_file("def half(x):\n    return x / 2\n", "helpers.py")
    case_file(SPEC, "golden.py")
    expect = ", expect: {outputs: {out: [0.5, 1, 1.5, 2, 2.5, 3]}}"
    assert judge("golden.py", "--allow-code", case=expect)["verdict"] == "PASS"
    assert judge("'golden.py:scale'", "--allow-code", case=expect)["verdict"] == "PASS"
    assert "helpers" not in sys.modules


def test_code_is_told_whether_it_serves_the_golden_or_the_host(judge: Any, case_file: CaseFile) -> None:
    case_file("def half(x):\n    return x / 2\n", "helpers.py")
    case_file(SPEC, "golden.py")
    result = judge("'golden.py:plain'", "--allow-code", case=", expect: {outputs: {out: [2, 3, 4, 5, 6, 7]}}")
    assert result["verdict"] == "PASS", result["reason"]


@pytest.mark.parametrize(
    ("text", "reference", "words"),
    [
        ("x = 1", "golden.py", "registers nothing in __golden__ or __spec__"),
        (
            "__golden__ = {'kernel': {'a': 'f', 'b': 'f'}}\ndef f(x): pass",
            "golden.py",
            "no golden for aclnnScale; it has a, b",
        ),
        ("__golden__ = {'kernel': {'scale': 'g'}}", "golden.py", "names g, which is no function"),
        ("__golden__ = {'kernel': {'scale': 'f'}}\ndef f(x): pass", "golden.py:scal", "did you mean 'scale'"),
        ("import no_such_module_at_all", "golden.py", "needs no_such_module_at_all, which is not installed"),
        ("1 / 0", "golden.py", "cannot be imported: ZeroDivisionError"),
    ],
)
def test_a_golden_that_is_not_one_is_exit_2_with_a_sentence(
    judge: Any, case_file: CaseFile, text: str, reference: str, words: str
) -> None:
    case_file(text, "golden.py")
    result = judge(f"'{reference}'", "--allow-code")
    assert result["code"] == 2
    assert words in result["error"]


@pytest.mark.parametrize(
    ("head", "words"),
    [
        ("x", "takes 1 inputs, the call has 2"),
        ("a, b, c, d, e", "needs c, d, e, which aclnnScale does not give"),
        ("a, b, c", "which of alpha, dim that is cannot be told"),
    ],
)
def test_a_golden_that_takes_something_else_costs_its_case(
    judge: Any, case_file: CaseFile, head: str, words: str
) -> None:
    case_file(f"__golden__ = {{'kernel': {{'scale': 'f'}}}}\ndef f({head}): return a\n", "golden.py")
    result = judge("golden.py", "--allow-code")
    assert result["verdict"] == "ERROR"
    assert words in result["reason"]


def test_attributes_of_other_names_go_by_their_order_and_what_is_left_out_is_said(
    judge: Any, case_file: CaseFile
) -> None:
    body = "return a.astype('float64') * factor * axis"
    case_file(
        f"__golden__ = {{'kernel': {{'scale': 'f'}}}}\ndef f(a, b, factor, axis): {body}\n", "golden.py"
    )
    expect = ", expect: {outputs: {out: [0.5, 1, 1.5, 2, 2.5, 3]}}"
    assert judge("golden.py", "--allow-code", case=expect)["verdict"] == "PASS"
    case_file("__golden__ = {'kernel': {'scale': 'f'}}\n__input__ = {}\ndef f(a, b): return a\n", "golden.py")
    notes = " ".join(judge("golden.py", "--allow-code")["notes"])
    assert "does not take alpha, dim" in notes
    assert "__input__ hook of golden.py is not applied" in notes


def test_members_of_a_list_among_other_outputs_may_be_given_flat(opcli: Opcli, case_file: CaseFile) -> None:
    case_file(
        "__golden__ = {'kernel': {'mixed': 'f'}}\n"
        "def f(xs, flag, **kwargs):\n    return [*(x * 2 for x in xs), flag + 1]\n",
        "golden.py",
    )
    path = case_file("""
        op: aclnnMixed
        signature: "aclnnStatus aclnnMixedGetWorkspaceSize(aclTensorList *xsRef, aclTensor *flagRef)"
        reference: golden.py
        cases:
          - name: a
            inputs:
              xsRef: [{dtype: float32, shape: [2], data: [1, 2]}, {dtype: float32, shape: [1], data: 5}]
              flagRef: {dtype: float32, shape: [1], data: 0}
            expect: {outputs: {xsRef: [[2, 4], [10]], flagRef: [1]}}
    """)
    done = opcli("run", path, "--allow-code")
    assert done.code == 0, done.out + done.err


def test_a_torch_golden_says_which_extra_it_needs(judge: Any, case_file: CaseFile) -> None:
    if importlib.util.find_spec("torch") is not None:
        pytest.skip("PyTorch is installed")
    case_file("import torch\n", "golden.py")
    result = judge("golden.py", "--allow-code")
    assert "needs torch, which is not installed: pip install 'ascend-opcli[torch]'" in result["error"]


ACLNN = """
    import torch

    __golden__ = {"aclnn": {"aclnnScale": "f"}}

    def f(self, other, alpha, dim, out, **kwargs):
        assert isinstance(self, torch.Tensor) and out.shape == self.shape and out.dtype == torch.float16
        return (self.float() + alpha * dim * other.float()).to(self.dtype)
"""


def test_an_aclnn_golden_takes_the_header_in_order_as_tensors(judge: Any, case_file: CaseFile) -> None:
    pytest.importorskip("torch")
    case_file(ACLNN, "golden.py")
    result = judge("golden.py", "--allow-code", case=", expect: {outputs: {out: [2, 3, 4, 5, 6, 7]}}")
    assert result["verdict"] == "PASS", result["reason"]
    assert any("float16, narrower" in n for n in judge("golden.py", "--allow-code")["notes"])


# --- shapes of outputs ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("reference", "shape"),
    [
        ("sum(self, axis=dim)", [2]),
        ("sum(self * other)", []),
        ("concatenate((self, other), axis=dim)", [2, 6]),
        ("outer(self, other)", [6, 6]),
        ("self + other", [2, 3]),
        ("reshape(self, (-1,))", [6]),
        ("compress(ravel(self) > 2, ravel(other))", [4]),
        ("unique(other)", [1]),
        ("take(self, arange(2), axis=-1)", [2, 2]),
    ],
)
def test_an_output_has_the_shape_of_the_result_and_the_first_tensors_dtype(
    judge: Any, reference: str, shape: list[int]
) -> None:
    result = judge(f"'{reference}'")
    assert result["verdict"] == "PASS", result["reason"]
    (output,) = result["outputs"]
    assert output["shape"] == shape
    assert output["dtype"] == "float16"


def test_code_gives_the_shape_too_and_outputs_say_otherwise(judge: Any, case_file: CaseFile) -> None:
    case_file("def f(self, other, *, alpha, dim):\n    return self.sum(axis=dim)\n", "mine.py")
    result = judge("mine.py:f", "--allow-code")
    assert (result["verdict"], result["outputs"][0]["shape"]) == ("PASS", [2])
    result = judge("mine.py:f", "--allow-code", case=", outputs: {out: {dtype: float32, shape: [2, 1]}}")
    assert (result["verdict"], result["outputs"][0]["shape"]) == ("PASS", [2, 1])
    assert result["outputs"][0]["dtype"] == "float32"
    result = judge("mine.py:f", "--allow-code", case=", outputs: {out: {shape: [3]}}")
    assert result["verdict"] == "ERROR"
    assert "shape [2] for an output of shape [3]" in result["reason"]


def test_an_operator_with_rules_of_its_own_keeps_them(opcli: Opcli, case_file: CaseFile) -> None:
    path = case_file("""
        op: elu_backward
        reference: sum(gradOutput)
        cases: [{name: a, dtype: float32, shape: [4]}]
    """)
    done = opcli("run", path, "--json", "-")
    assert "for an output of shape [4]" in json.loads(done.out)["results"][0]["reason"]
