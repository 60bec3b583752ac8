"""Kernels called by their type on the simulated CANN: by pyACL's acl.op and by a compile at run time."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.backends.conftest import OnDevice
from tests.conftest import CaseFile

KERNELS = """
via: ir
cases:
  - {name: logit, op: logit_grad, dtype: bfloat16, shape: [7, 5]}
  - {name: elu, op: elu_backward, dtype: float16, shape: [33], attrs: {alpha: 0.5, isResult: true}}
  - {name: relu, op: threshold_backward, dtype: float32, shape: [33], attrs: {threshold: 0}}
  - name: amp
    op: amp_update_scale
    dtype: float32
    shape: [1]
    attrs: {growthFactor: 2.0, backoffFactor: 0.5, growthInterval: 3}
  - name: list
    op: cat
    inputs: {tensors: [{dtype: float32, shape: [2, 3]}, {dtype: float32, shape: [4, 3]}]}
    attrs: {dim: 0}
  - name: square
    op: ir:SquareSumAll
    reference: (sum(x1 * x1), sum(x2 * x2))
    dtype: float32
    shape: [9]
  - name: threshold
    op: ir:ThresholdGradV2D
    reference: where(self > threshold, gradOutput, 0)
    dtype: float32
    shape: [9]
"""
TYPES = {
    "logit": "LogitGrad",
    "elu": "EluGradV2",
    "relu": "ReluGrad",
    "amp": "AmpUpdateScale",
    "list": "ConcatD",
    "square": "SquareSumAll",
    "threshold": "ThresholdGradV2D",
}


@pytest.fixture
def kernels(case_file: CaseFile) -> Path:
    return case_file(KERNELS)


@pytest.fixture
def models(tmp_path: Path) -> Path:
    """A folder as ``atc --singleop`` leaves it: a model for each type."""
    folder = tmp_path / "models"
    folder.mkdir()
    for kernel in TYPES.values():
        (folder / f"0_{kernel}_0_2_33.om").touch()
    return folder


@pytest.mark.parametrize("way", ["models", "compile", "in-process"])
def test_every_kernel_passes_whichever_way_it_is_called(
    way: str, kernels: Path, models: Path, on_device: OnDevice
) -> None:
    options = {"models": ("--models", models), "compile": (), "in-process": ("--in-process",)}[way]
    ran = on_device(kernels, *options)
    assert ran.words() == dict.fromkeys(TYPES, "PASS"), ran.out
    served = str(models) if way == "models" else "libacl_op_compiler.so"
    for name, kernel in TYPES.items():
        assert ran.results[name]["served_by"] == f"{served} ({kernel})"
        assert f"via ir: the kernel {kernel}" in ran.results[name]["notes"]


def test_the_command_line_sends_a_file_either_way(kernels: Path, on_device: OnDevice) -> None:
    ran = on_device(kernels, "--via", "aclnn", SIM_CANN_FAULT="aclopCompileAndExecute:fail")
    assert {n: w for n, w in ran.words().items() if w != "SKIP"} == dict.fromkeys(
        ("logit", "elu", "relu", "amp", "list"), "PASS"
    )
    for name in ("square", "threshold"):
        assert "has no aclnn function" in ran.results[name]["reason"]


CANNOT = """
cases:
  - {name: view, op: logit_grad, dtype: float32, shape: [4, 4], inputs: {x: {layout: padded}}}
  - {name: strided output, op: logit_grad, dtype: float32, shape: [4, 4], outputs: {out: {layout: transposed}}}
  - {name: no twin, op: batch_norm_elemt_backward, dtype: float32, shape: [2, 3, 4]}
  - {name: condition, op: threshold_backward, dtype: float32, shape: [4], attrs: {threshold: 1}}
  - {name: values, op: foreach_mul_scalar_list, dtype: float32, shape: [4], attrs: {scalars: [2]}}
  - {name: null tensor, op: logit_grad, inputs: {x: null, dy: [1.0]}}
  - {name: status, op: logit_grad, dtype: float32, shape: [4], expect: {status: 161002}}
"""
REASONS = {
    "view": "x is not contiguous (padded)",
    "strided output": "out is not contiguous (transposed)",
    "no twin": "no public source says that aclnnBatchNormElemtBackward runs one kernel",
    "condition": "only where threshold is 0",
    "values": "scalars has no counterpart",
    "null tensor": "x of the kernel is needed",
    "status": "161002 is one of aclnn",
}


@pytest.mark.parametrize("backend", ["device", "host"])
def test_what_cannot_be_is_skipped_with_the_reason(
    backend: str, case_file: CaseFile, on_device: OnDevice
) -> None:
    ran = on_device(case_file(CANNOT), "--via", "ir", "--backend", backend)
    assert ran.code == 4
    assert ran.words() == dict.fromkeys(REASONS, "SKIP")
    for name, reason in REASONS.items():
        assert reason in ran.results[name]["reason"], ran.results[name]


@pytest.mark.parametrize(
    ("fault", "case", "sentence"),
    [
        ("aclnnLogitGrad:tail", "logit", ""),
        ("SquareSumAll:nothing", "square", "WROTE NOTHING"),
        ("aclnnLogitGrad:overrun=80", "logit", "OUT OF BOUNDS WRITE"),
        ("aclnnCat:input", "list", "CHANGED"),
        ("SquareSumAll:sync", "square", "507015"),
        ("SquareSumAll:segv=phase2", "square", "SIGSEGV"),
        ("aclopCompileAndExecute:fail=145000,text=no such thing", "amp", "no such thing"),
    ],
)
def test_faults_are_found_as_through_aclnn(
    fault: str, case: str, sentence: str, kernels: Path, on_device: OnDevice
) -> None:
    ran = on_device(f"{kernels}::{case}", SIM_CANN_FAULT=fault, leaks=True)
    assert (ran.code, ran.words()) == (1, {case: "FAIL"}), ran.out
    assert sentence.casefold() in ran.out.casefold()


def test_a_kernel_has_its_own_statuses(case_file: CaseFile, on_device: OnDevice) -> None:
    path = case_file("""
        op: logit_grad
        via: ir
        cases:
          - {name: expected, dtype: int32, shape: [4], expect: {status: ACL_ERROR_GE_FAILURE}}
          - {name: cast, dtype: int32, shape: [4]}
          - {name: surprise, op: "ir:LogitGrad", reference: dy, dtype: int32, shape: [4]}
    """)
    ran = on_device(path)
    assert ran.words() == {"expected": "PASS", "cast": "SKIP", "surprise": "FAIL"}
    assert "no registered dtype column of LogitGrad has x int32" in ran.results["cast"]["reason"]
    assert not [n for r in ran.results.values() for n in r["notes"] if "contract" in n]


def test_a_model_that_is_not_there_is_no_fault_of_the_kernel(
    kernels: Path, tmp_path: Path, on_device: OnDevice
) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    ran = on_device(f"{kernels}::elu", "--models", empty)
    assert (ran.code, ran.words()) == (3, {"elu": "ERROR"})
    assert "has no model of EluGradV2" in ran.results["elu"]["reason"]


@pytest.mark.parametrize(
    ("lacks", "sentence"), [("op.create_attr", "op"), ("create_tensor_desc", "create_tensor_desc")]
)
def test_an_older_pyacl_is_the_surroundings(
    lacks: str, sentence: str, kernels: Path, on_device: OnDevice
) -> None:
    ran = on_device(f"{kernels}::elu", SIM_ACL_WITHOUT=lacks, leaks=True)
    assert (ran.code, ran.words()) == (3, {"elu": "ERROR"})
    assert sentence in ran.results["elu"]["reason"]


def test_the_repro_line_goes_the_same_way(kernels: Path, models: Path, on_device: OnDevice) -> None:
    ran = on_device(f"{kernels}::logit", "--models", models, SIM_CANN_FAULT="aclnnLogitGrad:tail")
    line = ran.results["logit"]["repro"]
    assert "--op logit_grad" in line
    assert "--via ir" in line
    assert f"--models {models}" in line
    plain = kernels.with_name("plain.yaml")
    plain.write_text(KERNELS.replace("via: ir\n", ""))
    ran = on_device(f"{plain}::list", "--via", "ir", SIM_CANN_FAULT="aclnnCat:tail")
    assert "--via ir" in ran.results["list"]["repro"]


def test_a_list_of_axes_reaches_the_kernel(case_file: CaseFile, on_device: OnDevice) -> None:
    path = case_file("""
        via: ir
        op: ir:SquareSumV1
        defaults: {dtype: float32, shape: [3, 4, 5]}
        cases:
          - {name: one, attrs: {axis: [0]}, reference: "sum(x * x, axis=[0])", outputs: {y: {shape: [4, 5]}}}
          - {name: two, attrs: {axis: [1, -1]}, reference: "sum(x * x, axis=[1, 2])", outputs: {y: {shape: [3]}}}
          - {name: all, attrs: {axis: [0, 1, 2]}, reference: "sum(x * x)", outputs: {y: {shape: []}}}
          - {name: empty, attrs: {axis: []}, reference: "sum(x * x)", outputs: {y: {shape: []}}}
          - {name: other, attrs: {axis: [1]}, reference: "sum(x * x, axis=[0])", outputs: {y: {shape: [4, 5]}}}
    """)
    ran = on_device(path, SIM_CANN_SOC="Ascend950PR_9599")
    assert ran.words() == {
        "one": "PASS", "two": "PASS", "all": "PASS", "empty": "SKIP", "other": "FAIL",
    }, ran.out  # fmt: skip
    assert "axis is an empty list, which pyACL cannot hand over" in ran.results["empty"]["reason"]
    assert "the output has another size" in ran.results["other"]["message"]
