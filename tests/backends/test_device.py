"""The device path on the simulated CANN: the same cases, the same verdicts, and every fault named."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.backends.conftest import OnDevice, Ran
from tests.conftest import ROOT, CaseFile
from tests.simulated_cann.build import CannRoot, env, install_package

FOUR = """
    op: logit_grad
    cases:
      - {name: refused, inputs: {x: null, dy: [1.0]}, expect: {status: 161001}}
      - {name: one, dtype: float32, shape: [100, 37], seed: 1, standard: {ulp: {max: 2}}}
      - {name: two, dtype: float16, shape: [64, 37], seed: 2}
      - name: view
        dtype: float32
        shape: [40, 30]
        inputs: {x: {layout: transposed}, dy: {layout: padded}}
        outputs: {out: {layout: padded}}
"""
GOOD = {"one": "PASS", "two": "PASS", "view": "PASS", "refused": "PASS"}


@pytest.fixture
def four(case_file: CaseFile) -> Path:
    return case_file(FOUR)


# --- good runs --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", sorted((ROOT / "cases").glob("*.yaml")), ids=lambda p: p.stem)
def test_every_shipped_case_has_the_verdict_and_status_of_the_host(path: Path, on_device: OnDevice) -> None:
    device = on_device(path, "--negatives")
    host = on_device(path, "--negatives", "--backend", "host")
    assert device.code == 0, device.out[-3000:]
    assert device.results
    for name, result in device.results.items():
        assert result["backend"] == "device"
        if result["verdict"] == "SKIP":
            assert "names the product" in result["reason"] or "only on the backend host" in result["reason"]
        else:
            assert (result["verdict"], result["status"]) == (
                host.results[name]["verdict"],
                host.results[name]["status"],
            )
            assert not [n for n in result["notes"] if "the contract predicts" in n], name


def test_auto_takes_the_device_that_is_there(on_device: OnDevice, four: Path) -> None:
    ran = on_device(four)
    assert (ran.code, ran.words()) == (0, GOOD)
    assert {r["backend"] for r in ran.results.values()} == {"device"}
    assert "(host)" not in ran.out
    assert "no operator was run" not in ran.out
    assert ran.results["one"]["served_by"].endswith("libopapi_nn.so")


def test_in_process_gives_the_same(on_device: OnDevice, four: Path) -> None:
    ran = on_device(four, "--in-process")
    assert (ran.code, ran.words()) == (0, GOOD)


@pytest.mark.parametrize("soc", ["Ascend950PR_9599", "Ascend910_9391", "Ascend910B3"])
def test_the_devices_own_product_counts(on_device: OnDevice, case_file: CaseFile, soc: str) -> None:
    path = case_file("""
        op: threshold_backward
        defaults: {dtype: int64, shape: [8], attrs: {threshold: 0}}
        cases:
          - {name: any, only: {product: [ascend950]}}
          - {name: named, product: ascend950}
    """)
    words = on_device(path, SIM_CANN_SOC=soc).words()
    expected = "PASS" if "950PR" in soc else "SKIP"
    assert words == {"any": expected, "named": expected}


def test_a_thousand_cases_hold_device_memory_flat(on_device: OnDevice, case_file: CaseFile) -> None:
    numbers = ", ".join(map(str, range(1000)))
    few = on_device(case_file("op: logit_grad\ncases: [{dtype: float32, shape: [64]}]\n", "few.yaml"))
    many = on_device(
        case_file(
            f"op: logit_grad\ncases: [{{name: a, matrix: {{n: [{numbers}]}}, seed: $n, dtype: float32, shape: [64]}}]\n"
        )
    )
    assert len(many.results) == 1000
    assert many.code == 0
    (one,), (thousand,) = few.accounts, many.accounts
    assert thousand["launches"] == 1000
    assert thousand["peak_bytes"] <= 2 * one["peak_bytes"]


def test_every_kind_of_parameter_reaches_its_operator(on_device: OnDevice, case_file: CaseFile) -> None:
    path = case_file("""
        cases:
          - name: aclScalar
            op: aclnnAdd
            inputs: {self: [1.0, 2.0], other: [10.0, 20.0]}
            attrs: {alpha: 0.5}
            expect: {outputs: {out: [6.0, 12.0]}}
          - name: aclTensorList-int64
            op: aclnnCat
            inputs:
              tensors:
                - {dtype: float32, shape: [1, 2], data: [1, 2]}
                - {dtype: float32, shape: [2, 2], data: [3, 4, 5, 6]}
            attrs: {dim: 0}
            outputs: {out: {dtype: float32, shape: [3, 2]}}
            expect: {outputs: {out: [1, 2, 3, 4, 5, 6]}}
          - name: aclIntArray-bool-aclDataType
            op: aclnnReduceSum
            inputs: {self: {dtype: float32, shape: [2, 3], data: [1, 2, 3, 4, 5, 6]}}
            attrs: {dims: [1], keepDims: false, dtype: float32}
            outputs: {out: {dtype: float32, shape: [2]}}
            expect: {outputs: {out: [6, 15]}}
          - name: char
            op: aclnnGeluBackwardV2
            inputs: {gradOutput: [1.0, 1.0], self: [0.0, 100.0]}
            attrs: {approximate: none}
            expect: {outputs: {gradInput: [0.5, 1.0]}}
          - name: inout
            op: aclnnInplaceRelu
            inputs: {selfRef: {dtype: float32, shape: [4], data: [-1, 2, -3, 4]}}
            expect: {outputs: {selfRef: [0, 2, 0, 4]}}
          - name: float
            op: aclnnNanToNum
            inputs: {self: {dtype: float32, shape: [3], data: [nan, inf, -inf]}}
            attrs: {nan: 7.0, posinf: 8.0, neginf: 9.0}
            expect: {outputs: {out: [7, 8, 9]}}
          - name: lists-of-tensors-and-scalars
            op: aclnnForeachMulScalarList
            inputs: {x: [{dtype: float32, shape: [2], data: [1, 2]}, {dtype: float32, shape: [1], data: [3]}]}
            attrs: {scalars: {value: [2.0, 10.0], dtype: float32}}
            outputs: {out: [{dtype: float32, shape: [2]}, {dtype: float32, shape: [1]}]}
            expect: {outputs: {out: [[2, 4], [30]]}}
          - name: uint64-and-a-list-out
            op: aclnnSplitTensor
            inputs: {self: {dtype: float32, shape: [4], data: [1, 2, 3, 4]}}
            attrs: {splitSections: 2, dim: 0}
            outputs: {out: [{dtype: float32, shape: [2]}, {dtype: float32, shape: [2]}]}
            expect: {outputs: {out: [[1, 2], [3, 4]]}}
          - name: int32
            op: aclnnDivMod
            inputs: {self: [7.0, -7.0], other: [2.0, 2.0]}
            attrs: {mode: 2}
            expect: {outputs: {out: [3.0, -4.0]}}
          - name: aclFloatArray
            op: aclnnResize
            inputs: {self: {dtype: float32, shape: [1, 1, 1, 2], data: [1, 2], format: NCHW}}
            attrs: {scales: [1.0, 1.0, 1.0, 2.0], mode: nearest}
            outputs: {out: {dtype: float32, shape: [1, 1, 1, 4], format: NCHW}}
            expect: {outputs: {out: [1, 1, 2, 2]}}
          - name: aclBoolArray-and-null-outputs
            op: aclnnLayerNormBackward
            inputs:
              gradOut: {dtype: float32, shape: [1, 2], data: [1, 2]}
              input: {dtype: float32, shape: [1, 2], data: [1, 3]}
              mean: {dtype: float32, shape: [1, 1], data: [2]}
              rstd: {dtype: float32, shape: [1, 1], data: [1]}
            attrs: {normalizedShape: [2], outputMask: [false, false, true]}
            outputs: {gradInputOut: null, gradWeightOut: null, gradBiasOut: {dtype: float32, shape: [2]}}
            expect: {outputs: {gradBiasOut: [1, 2]}}
          - name: the-format-of-a-4-D-tensor
            op: aclnnAvgPool2d
            inputs: {self: {dtype: float32, shape: [1, 1, 2, 2], data: [1, 2, 3, 6], format: NCHW}}
            attrs:
              {kernelSize: [2, 2], strides: [2, 2], paddings: [0, 0], ceilMode: false, countIncludePad: false,
               divisorOverride: 0, cubeMathType: 0}
            outputs: {out: {dtype: float32, shape: [1, 1, 1, 1], format: NCHW}}
            expect: {outputs: {out: [3.0]}}
    """)
    ran = on_device(path)
    assert ran.code == 0, ran.out
    assert set(ran.words().values()) == {"PASS"}


def test_an_operator_without_reference_or_expectation_is_run_but_not_judged(
    on_device: OnDevice, case_file: CaseFile
) -> None:
    path = case_file("""
        op: aclnnResize
        cases:
          - name: a
            inputs: {self: {dtype: float32, shape: [1, 1, 2, 2], format: NCHW}}
            attrs: {scales: [1.0, 1.0, 2.0, 2.0], mode: nearest}
            outputs: {out: {dtype: float32, shape: [1, 1, 4, 4], format: NCHW}}
    """)
    ran = on_device(path)
    assert ran.words() == {"a": "SKIP"}
    assert "cannot judge" in ran.results["a"]["reason"]
    assert ran.accounts[0]["launches"] == 1


# --- packages -------------------------------------------------------------------------------------------------------


CUSTOM = """
    op: add_custom
    reference: x + y
    cases: [{name: a, inputs: {x: {dtype: float16, shape: [9]}, y: {dtype: float16, shape: [9]}}}]
"""


def test_a_custom_operator_runs_by_opp_with_the_signature_of_its_header(
    on_device: OnDevice, case_file: CaseFile, cann: CannRoot, tmp_path: Path
) -> None:
    package = install_package(cann, "add_custom", tmp_path / "package")
    ran = on_device(case_file(CUSTOM), "--opp", package)
    assert ran.code == 0, ran.out + ran.err
    assert Path(ran.results["a"]["served_by"]).is_relative_to(package.resolve())


def test_an_operator_that_nobody_has_is_exit_2_before_anything_is_run(
    on_device: OnDevice, case_file: CaseFile
) -> None:
    ran = on_device(case_file(CUSTOM))
    assert ran.code == 2
    assert "unknown operator 'add_custom'" in ran.err
    assert not ran.accounts


def test_a_package_that_shadows_a_built_in_operator_is_what_runs_and_the_report_says_so(
    on_device: OnDevice, case_file: CaseFile, cann: CannRoot, tmp_path: Path
) -> None:
    package = install_package(cann, "shadow", tmp_path / "package")
    ran = on_device(case_file(FOUR), "--opp", package)
    assert ran.code == 1
    assert str(package.resolve()) in ran.results["one"]["served_by"]
    assert f"served by {package.resolve()}" in ran.out


def test_a_symbol_asked_from_a_package_but_served_from_elsewhere_is_an_error(
    on_device: OnDevice, case_file: CaseFile, cann: CannRoot, tmp_path: Path
) -> None:
    package = install_package(cann, "add_custom", tmp_path / "package")
    ran = on_device(case_file(FOUR), "--opp", package)
    assert ran.code == 3
    assert ran.words()["one"] == "ERROR"
    assert "libopapi_nn.so" in ran.results["one"]["reason"]


# --- faults of the operator --------------------------------------------------------------------------------------


def fault(on_device: OnDevice, four: Path, what: str, *options: str) -> Ran:
    return on_device(four, *options, SIM_CANN_FAULT=what)


@pytest.mark.parametrize(
    ("what", "sentence"),
    [
        ("aclnnLogitGrad:abort@3", "crash: SIGABRT in phase 2"),
        ("aclnnLogitGrad:segv@3", "crash: SIGSEGV in phase 2"),
        ("aclnnLogitGrad:segv=phase1@3", "crash: SIGSEGV in phase 1"),
        ("aclnnLogitGrad:abort=sync@3", "crash: SIGABRT in the synchronise"),
        ("aclnnLogitGrad:nan@3", "1 NaN where the golden is a number"),
        ("aclnnLogitGrad:scale=2@3", "over the tolerance"),
        ("aclnnLogitGrad:tail@3", "over the tolerance"),
        ("aclnnLogitGrad:nothing@3+", "2,368 of 2,368 elements were not written"),
        (
            "aclnnLogitGrad:overrun@3",
            "OUT OF BOUNDS WRITE: out was written past the end, 64 bytes from byte 4768 of 4736 on",
        ),
        ("aclnnLogitGrad:input@3", "INPUT CHANGED: 1 of 2368 elements of x, from 0 on"),
        ("aclnnLogitGrad:phase1=561002@3,text=no tiling", "no tiling: 561002 ACLNN_ERR_INNER_TILING_ERROR"),
        ("aclnnLogitGrad:phase2=361001@3", "failed in phase 2"),
        ("aclnnLogitGrad:sync=507015@3", "507015 ACL_ERROR_RT_AICORE_EXCEPTION"),
    ],
)
def test_a_fault_costs_one_case_and_is_named(
    on_device: OnDevice, four: Path, what: str, sentence: str
) -> None:
    # The third call is the case "two". A new worker counts anew, and what follows there must still pass.
    ran = fault(on_device, four, what)
    assert ran.code == 1
    assert ran.results["two"]["verdict"] == "FAIL"
    assert sentence in ran.results["two"]["reason"]
    others = {name: word for name, word in ran.words().items() if name != "two"}
    if what.endswith("3+"):
        others.pop("view")  # counted from the third call on: this one is hit too
        assert ran.results["view"]["verdict"] == "FAIL"
    assert set(others.values()) == {"PASS"}
    assert "repro: opcli run" in ran.out


def test_a_hang_costs_its_timeout_and_the_run_goes_on(on_device: OnDevice, four: Path) -> None:
    begun = time.monotonic()
    ran = fault(on_device, four, "aclnnLogitGrad:hang@3", "--timeout", "1")
    assert ran.results["two"]["reason"] == "hang: no answer within 1 s, in the synchronise"
    assert ran.words() == {**GOOD, "two": "FAIL"}
    assert time.monotonic() - begun < 20


def test_a_write_between_a_views_elements_is_found(on_device: OnDevice, four: Path) -> None:
    ran = fault(on_device, four, "aclnnLogitGrad:overrun@4")
    assert "OUT OF BOUNDS WRITE" in ran.results["view"]["reason"]


@pytest.mark.parametrize(
    ("what", "sentence"),
    [
        (
            "underrun",
            r"out was written before the start, 32 bytes from byte -32 of \d+ on",
        ),
        (
            "underrun=1",
            r"out was written before the start, 1 bytes? from byte -1 of \d+ on",
        ),
        (
            "workspace",
            r"the workspace was written past the end, 64 bytes from byte \d+ of \d+ on",
        ),
        (
            "workspace=33",
            r"the workspace was written past the end, 1 bytes? from byte \d+ of \d+ on",
        ),
        (
            "workspace=-8",
            r"the workspace was written before the start, 8 bytes from byte -8 of \d+ on",
        ),
    ],
)
def test_a_write_outside_an_output_or_the_workspace_is_found(
    on_device: OnDevice, four: Path, what: str, sentence: str
) -> None:
    # The strided case is the one for which LogitGrad asks for a workspace. The numbers are right all the same.
    ran = fault(on_device, four, f"aclnnLogitGrad:{what}@4")
    assert ran.code == 1
    assert re.search(f"OUT OF BOUNDS WRITE: {sentence}", ran.results["view"]["reason"]), ran.results["view"][
        "reason"
    ]
    assert ran.words() == {**GOOD, "view": "FAIL"}


@pytest.mark.parametrize(
    ("what", "soc", "word"),
    [
        ("overrun=1", "Ascend910B2", "PASS"),
        ("overrun=32", "Ascend910B2", "PASS"),
        ("overrun=33", "Ascend910B2", "FAIL"),
        ("workspace=32", "Ascend910B2", "PASS"),
        ("overrun=1", "Ascend950PR_9599", "FAIL"),
    ],
)
def test_a_write_into_the_padding_that_the_runtime_demands_is_a_note(
    on_device: OnDevice, case_file: CaseFile, what: str, soc: str, word: str
) -> None:
    # The transposed input is what LogitGrad asks a workspace for.
    path = case_file("""
        op: logit_grad
        cases: [{name: a, dtype: float32, shape: [8, 8], inputs: {x: {layout: transposed}}}]
    """)
    ran = on_device(path, SIM_CANN_FAULT=f"aclnnLogitGrad:{what}", SIM_CANN_SOC=soc)
    assert ran.words() == {"a": word}, ran.out
    notes = " ".join(ran.results["a"]["notes"])
    assert ("of padding behind its end, which the runtime demands" in notes) == (soc == "Ascend910B2")


def test_a_tolerance_below_the_noise_floor_is_told_on_the_device_too(
    on_device: OnDevice, case_file: CaseFile
) -> None:
    path = case_file("""
        op: logit_grad
        cases: [{name: a, dtype: float16, shape: [512], standard: {ulp: {max: 0.4}}}]
    """)
    ran = on_device(path)
    assert ran.words() == {"a": "FAIL"}
    (output,) = ran.results["a"]["outputs"]
    assert output["floor"] > 1
    assert "below the noise floor" in ran.out


def test_what_was_partly_written_is_counted(on_device: OnDevice, case_file: CaseFile) -> None:
    path = case_file("""
        op: logit_grad
        cases:
          - name: longer-out
            dtype: float32
            shape: [8]
            outputs: {out: {shape: [16]}}
    """)
    ran = on_device(path)
    assert ran.results["longer-out"]["verdict"] == "FAIL"
    assert "never written" in ran.results["longer-out"]["reason"]


def test_a_value_that_happens_to_be_the_poison_is_not_taken_for_unwritten(
    on_device: OnDevice, case_file: CaseFile
) -> None:
    path = case_file("""
        op: threshold_backward
        cases:
          - name: first
            inputs: {gradOutput: {dtype: uint8, shape: [32], data: 127}, self: {dtype: uint8, shape: [32], data: 9}}
            attrs: {threshold: 1.0}
          - name: second
            inputs: {gradOutput: {dtype: uint8, shape: [32], data: 165}, self: {dtype: uint8, shape: [32], data: 9}}
            attrs: {threshold: 1.0}
    """)
    assert on_device(path).words() == {"first": "PASS", "second": "PASS"}


def test_repeat_finds_a_nondeterministic_operator(on_device: OnDevice, case_file: CaseFile) -> None:
    path = case_file("""
        op: logit_grad
        defaults: {dtype: float32, shape: [64], standard: {ulp: {max: 8}}}
        cases: [{name: once}, {name: thrice, repeat: 3}, {name: free, repeat: 3, deterministic: 0}]
    """)
    ran = on_device(path, SIM_CANN_FAULT="aclnnLogitGrad:random")
    assert ran.words() == {"once": "PASS", "thrice": "FAIL", "free": "FAIL"}
    assert "has other bytes than the first" in ran.results["thrice"]["reason"]
    # Asked to be deterministic, this one is.
    ran = on_device(path, SIM_CANN_FAULT="aclnnLogitGrad:random=unless-deterministic")
    assert ran.words() == {"once": "PASS", "thrice": "PASS", "free": "FAIL"}


def test_an_accepted_call_that_should_be_refused_is_a_failure_and_is_not_run(
    on_device: OnDevice, case_file: CaseFile
) -> None:
    path = case_file(
        "op: logit_grad\ncases: [{name: a, dtype: float32, shape: [4], expect: {status: 161002}}]\n"
    )
    ran = on_device(path)
    assert ran.results["a"]["reason"] == (
        "expected 161002 ACLNN_ERR_PARAM_INVALID in phase 1, but the call was accepted"
    )
    assert ran.accounts[0]["launches"] == 0


def test_an_unexpected_refusal_names_what_the_contract_says(on_device: OnDevice, case_file: CaseFile) -> None:
    path = case_file("op: logit_grad\ncases: [{name: a, dtype: float32, shape: [4]}]\n")
    ran = on_device(path, SIM_CANN_FAULT="aclnnLogitGrad:phase1=161002")
    assert "the contract predicts that the call is accepted" in ran.results["a"]["notes"]


def test_a_status_of_phase_2_and_of_the_synchronise_can_be_demanded(
    on_device: OnDevice, case_file: CaseFile
) -> None:
    path = case_file("""
        op: logit_grad
        defaults: {dtype: float32, shape: [4]}
        cases:
          - {name: launch, expect: {status: {code: 361001, phase: 2}}}
          - {name: sync, expect: {status: {code: 507015, phase: sync}}}
    """)
    ran = on_device(path, SIM_CANN_FAULT="aclnnLogitGrad:phase2=361001@1;aclnnLogitGrad:sync=507015@2")
    assert ran.words() == {"launch": "PASS", "sync": "PASS"}


# --- the surroundings ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("call", ["aclrtMalloc", "aclrtMemcpy"])
@pytest.mark.parametrize("n", range(1, 8))
def test_a_runtime_call_that_fails_is_an_error_and_leaves_nothing_behind(
    on_device: OnDevice, four: Path, call: str, n: int
) -> None:
    ran = fault(on_device, four, f"{call}:fail@{n}")
    assert ran.code == 3
    assert sorted(ran.words().values()) == ["ERROR", "PASS", "PASS", "PASS"]


@pytest.mark.parametrize(
    ("phase", "code"),
    [
        *(("sync", code) for code in (507010, 507053, 507055, 507056, 507057, 107022, 507899)),
        *(("phase2", code) for code in (207001, 207018)),
    ],
)
def test_a_broken_device_is_an_error_not_the_operators_fault(
    on_device: OnDevice, four: Path, phase: str, code: int
) -> None:
    ran = fault(on_device, four, f"aclnnLogitGrad:{phase}={code}@2")
    assert ran.words()["one"] == "ERROR"
    assert str(code) in ran.results["one"]["reason"]


@pytest.mark.parametrize(
    ("what", "words"),
    [
        ("aclrtSetDevice:fail", "acl.rt.set_device returned 507033"),
        ("aclInit:fail=100039", "acl.init returned 100039"),
        ("aclrtCreateStream:fail", "acl.rt.create_stream returned"),
    ],
)
def test_a_device_that_does_not_open_is_exit_3_and_never_a_host_run(
    on_device: OnDevice, four: Path, what: str, words: str
) -> None:
    ran = fault(on_device, four, what)
    assert ran.code == 3
    assert words in ran.err
    assert "PASS" not in ran.out


def test_a_device_number_that_is_not_there(on_device: OnDevice, four: Path) -> None:
    ran = on_device(four, "--device", "7")
    assert ran.code == 3
    assert "acl.rt.set_device returned" in ran.err


def test_an_unrelated_package_called_acl_is_recognised(
    on_device: OnDevice, four: Path, tmp_path: Path, cann: CannRoot
) -> None:
    (tmp_path / "fake" / "acl").mkdir(parents=True)
    (tmp_path / "fake" / "acl" / "__init__.py").write_text("def init(): ...\n")
    ran = on_device(four, PYTHONPATH=f"{tmp_path / 'fake'}:{ROOT}")
    assert ran.code == 3
    assert "is not pyACL but an unrelated package of that name" in ran.err


def test_missing_newer_calls_fall_back(on_device: OnDevice, four: Path) -> None:
    ran = on_device(four, SIM_ACL_WITHOUT="finalize_reference,get_cann_version,get_version_str")
    assert (ran.code, ran.words()) == (0, GOOD)


# --- the kernel's voice ----------------------------------------------------------------------------------------------


def test_what_a_kernel_prints_stands_under_its_case_and_in_no_table_or_json(
    on_device: OnDevice, four: Path
) -> None:
    what = "aclnnLogitGrad:chatter@3,text=hello from the kernel;aclnnLogitGrad:scale@3"
    ran = fault(on_device, four, what)
    table, detail = ran.out.split("\n\n", 1)
    assert "hello from the kernel" not in table
    assert "| hello from the kernel" in detail
    assert "printed during the call" in detail
    assert "hello from the kernel" not in str({k: v for k, v in ran.results["two"].items() if k != "log"})
    assert any("hello from the kernel" in line for line in ran.results["two"]["log"])
    assert ran.results["one"]["log"] == []


def test_s_shows_it_live_on_stderr(on_device: OnDevice, four: Path) -> None:
    ran = fault(on_device, four, "aclnnLogitGrad:chatter@3,text=hello from the kernel", "-s")
    assert "hello from the kernel" in ran.err
    assert "hello from the kernel" not in ran.out


# --- ending ----------------------------------------------------------------------------------------------------------


def test_ctrl_c_reports_what_was_finished_and_leaves_no_child(
    cann: CannRoot, four: Path, tmp_path: Path
) -> None:
    import os

    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    environment = {**env(cann, environment), "SIM_CANN_FAULT": "aclnnLogitGrad:hang@2", "SIM_CANN_REPORT": ""}
    process = subprocess.Popen(
        [sys.executable, "-m", "ascend_opcli", "run", str(four)],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    deadline = time.monotonic() + 30
    worker: list[str] = []
    while time.monotonic() < deadline:
        worker = children(process.pid)
        if worker and time.monotonic() - deadline > -27:
            break
        time.sleep(0.1)
    assert worker
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "interrupted: 1 of 4 cases were finished" in out
    for pid in worker:
        assert not Path(f"/proc/{pid}").exists()


def children(pid: int) -> list[str]:
    tasks = Path(f"/proc/{pid}/task")
    return [c for t in tasks.glob("*/children") for c in t.read_text().split()] if tasks.exists() else []


def test_acl_that_somebody_else_initialised_is_not_torn_down(cann: CannRoot) -> None:
    import os

    script = (
        "import acl\n"
        "assert acl.init() == 0 and acl.rt.set_device(0) == 0\n"
        "from ascend_opcli.backends.cann.runtime import Runtime\n"
        "with Runtime(acl) as runtime:\n"
        "    runtime.free(runtime.malloc(64))\n"
        "pointer, code = acl.rt.malloc(64, 0)\n"  # the device is still open
        "assert code == 0 and acl.rt.free(pointer) == 0\n"
        "assert acl.rt.reset_device(0) == 0 and acl.finalize() == 0\n"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    environment = {**env(cann, environment), "SIM_CANN_REPORT": ""}
    done = subprocess.run(
        [sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
