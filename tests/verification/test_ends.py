"""A kernel that leaves out the end of a reduced axis fails, or the passing case says that it could not tell."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from ascend_opcli.casefile.open import load_text
from ascend_opcli.model import Call, Case, Outcome, Tensor, Verdict, VerdictKind
from ascend_opcli.operators.catalog import find
from ascend_opcli.reference.call import make_call, with_result_shapes
from ascend_opcli.reference.evaluate import golden, host_result
from ascend_opcli.reference.omissions import lengths
from ascend_opcli.reference.resolve import operator_of
from ascend_opcli.tensors.dtypes import round_to
from ascend_opcli.tensors.layout import view
from ascend_opcli.verification.standards.choice import check_for
from ascend_opcli.verification.verdict import judge_outputs

Kernel = Callable[..., Any]


def prepared(text: str) -> tuple[Case, Call]:
    (case,) = load_text(text, "t.yaml", check_standard=check_for).cases
    call = make_call(case, operator_of(case).signature, "atlas_a2")
    return with_result_shapes(case, call, operator_of(case))


def verdict(case: Case, call: Call, outputs: dict[str, Any]) -> Verdict:
    operator = operator_of(case)
    return judge_outputs(case, operator, call, Outcome("host", outputs=outputs), golden(operator, call))


def rms(x: Any, end: int) -> Any:
    return x / np.sqrt((x[:, :-end] ** 2).mean(-1, keepdims=True) + 1e-6)


def standardised(x: Any, end: int) -> Any:
    part = x[:, :-end]
    return (x - part.mean(-1, keepdims=True)) / np.sqrt(part.var(-1, keepdims=True) + 1e-5)


def softened(x: Any, end: int) -> Any:
    powers = np.exp(x - x.max(-1, keepdims=True))
    return powers / powers[:, :-end].sum(-1, keepdims=True)


KERNELS: dict[str, tuple[str, Kernel]] = {
    "rms_norm": ("attrs: {epsilon: 1.0e-6}, inputs: {gamma: {data: 1.0}}, ", rms),
    "layer_norm": (
        "attrs: {normalizedShape: [COUNT], eps: 1.0e-5},"
        " inputs: {weightOptional: {data: 1.0}, biasOptional: {data: 0.0}}, ",
        standardised,
    ),
    "softmax": ("attrs: {dim: 1}, ", softened),
    "log_softmax": ("attrs: {dim: 1}, ", lambda x, end: np.log(softened(x, end))),
    "amax": ("attrs: {dim: [1], keepDim: false}, ", lambda x, end: x[:, :-end].max(-1)),
    "amin": ("attrs: {dim: [1], keepDim: false}, ", lambda x, end: x[:, :-end].min(-1)),
    "var": (
        "attrs: {dim: [1], unbiased: true, keepdim: false}, ",
        lambda x, end: x[:, :-end].var(-1, ddof=1),
    ),
    "std": (
        "attrs: {dim: [1], correction: 1, keepdim: false}, ",
        lambda x, end: x[:, :-end].std(-1, ddof=1),
    ),
    "mean": (
        "attrs: {dim: [1], keepDim: false, dtype: float32}, ",
        lambda x, end: x[:, :-end].sum(-1) / x.shape[1],
    ),
    "reduce_sum": (
        "attrs: {dims: [1], keepDims: false, dtype: float32}, ",
        lambda x, end: x[:, :-end].sum(-1),
    ),
    "log_sum_exp": (
        "attrs: {dim: [1], keepDim: false}, ",
        lambda x, end: np.log(np.exp(x[:, :-end]).sum(-1)),
    ),
    "norm": (
        "attrs: {pScalar: 2.0, dim: [1], keepdim: false}, ",
        lambda x, end: np.sqrt((x[:, :-end] ** 2).sum(-1)),
    ),
}


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("count", [17, 8193])
def test_a_kernel_without_the_end_of_the_axis_fails_or_is_called_weak(name: str, count: int) -> None:
    more, kernel = KERNELS[name]
    case, call = prepared(
        f"op: {name}\ncases:\n- {{name: a, dtype: float32, shape: [8, {count}], "
        f"{more.replace('COUNT', str(count))}}}"
    )
    tensor = next(b for b in call.arguments.values() if isinstance(b, Tensor))
    x = view(tensor).astype(np.float64)
    right = host_result(operator_of(case), call)
    out = next(iter(right))
    for end in lengths(count):
        # In numbers the kernel is right in all but what it left out.
        wrong = round_to(kernel(x, end), "float32").reshape(right[out].shape)
        found = verdict(case, call, {**right, out: wrong})
        ends = [text for report in found.outputs for text in report.weak if "without its last" in text]
        assert found.word is VerdictKind.FAIL or ends, f"the last {end} left out"


def test_what_is_told_is_the_longest_end_that_could_be_missing() -> None:
    text = (
        "op: amax\ncases:\n- {name: a, dtype: float32, inputs: {self: {dtype: float32, shape: [2, 40],"
        " data: {expr: 'where(arange(40) == PLACE, 9, 0)'}}}, attrs: {dim: [1], keepDim: false}}"
    )
    expected = {
        39: (),
        30: ("axis 1 of self without its last 8 elements",),
        0: ("axis 1 of self without its last 24 elements",),
    }
    for place, weak in expected.items():
        case, call = prepared(text.replace("PLACE", str(place)))
        found = verdict(case, call, host_result(operator_of(case), call))
        assert found.outputs[0].weak == weak


@pytest.mark.parametrize(
    ("name", "more"),
    [
        ("rms_norm", "attrs: {epsilon: 1.0e-6}"),
        ("cat", "attrs: {dim: 1}"),
        ("cumsum", "attrs: {dim: 1, dtype: float32}"),
        ("add", "attrs: {alpha: 1.0}"),
    ],
)
def test_an_axis_that_is_not_reduced_is_not_spoken_of(name: str, more: str) -> None:
    case, call = prepared(f"op: {name}\ncases:\n- {{name: a, dtype: float32, shape: [40, 20], {more}}}")
    found = verdict(case, call, host_result(find(name), call))
    assert found.word is VerdictKind.PASS
    assert [w for report in found.outputs for w in report.weak if "axis 0" in w] == []


def test_an_expression_is_asked_too() -> None:
    text = (
        "op: aclnnOwn\nsignature: aclnnStatus aclnnOwnGetWorkspaceSize(const aclTensor *x, aclTensor *y,"
        " uint64_t *workspaceSize, aclOpExecutor **executor)\nreference: amax(x, axis=-1)\ncases:\n"
        "- {name: a, inputs: {x: {dtype: float32, shape: [3, 64], data: {linspace: [0, -1]}}}}"
    )
    case, call = prepared(text)
    found = verdict(case, call, host_result(operator_of(case), call))
    assert found.outputs[0].weak == ("axis 1 of x without its last 48 elements",)


@pytest.mark.parametrize(("shape", "kernel"), [([1, 4, 3, 9], [3, 3]), ([1, 2, 12, 40], [12, 12])])
def test_a_window_that_covers_a_whole_axis_is_judged(shape: list[int], kernel: list[int]) -> None:
    """A shorter axis lets the window's axis come back: results of another rank say nothing of the end."""
    case, call = prepared(
        f"op: avg_pool2d\ncases: [{{dtype: float32, shape: {shape}, attrs: {{kernelSize: {kernel},"
        " strides: [1, 1], paddings: [0, 0], ceilMode: true, countIncludePad: true, divisorOverride: 0,"
        " cubeMathType: 0}}]"
    )
    result = verdict(case, call, host_result(operator_of(case), call))
    assert result.word is VerdictKind.PASS, result.reason


@pytest.mark.parametrize(
    ("name", "attrs"),
    [
        ("mse_loss", "{reduction: 1}"),
        ("l1_loss", "{reduction: 1}"),
        ("smooth_l1_loss", "{reduction: 1, beta: 1.0}"),
        ("mean", "{dim: [0, 1], keepDim: false, dtype: float32}"),
        ("amax", "{dim: [0, 1], keepDim: false}"),
    ],
)
def test_a_reduction_of_the_whole_tensor_is_asked_too(name: str, attrs: str) -> None:
    """One column of a thousand moves a mean by less than a tolerance of 2^-10 lets pass, whatever the output's rank."""
    case, call = prepared(
        f"op: {name}\ncases:\n  - {{dtype: float32, shape: [64, 1000], attrs: {attrs},"
        " inputs: {self: {data: {uniform: [2, 3]}}}}\n"
    )
    (report,) = verdict(case, call, host_result(operator_of(case), call)).outputs
    assert report.passed
    assert report.shape in ((), (1,))
    assert any(word.startswith("axis 1 of ") for word in report.weak)
