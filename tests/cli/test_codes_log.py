"""``opcli codes --log``: what a pasted trace says. The traces are written by hand, in the public formats."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import Opcli

X = "Tensor size: [2, 3], stride: [3, 1], offset: 0, dtype: {}, device ID: 0, data_ptr: 0x12c041200000"


def logit(dtype: str, dy: str = "") -> str:
    x = X.format(dtype)
    return (
        "[I] op_plugin aclnnLogitGrad EXEC_NPU_CMD stream_id=3, aic_num=24 aiv_num=48 with task_queue = 1\n"
        f"x: {x}\ndy: {X.format(dy or dtype)}\neps: double: 0.01\nout: {x}\n"
    )


TRACE = """Traceback (most recent call last):
  File "train.py", line 12, in <module>
    y.backward()
RuntimeError: call aclnnLogitGrad failed, detail:EZ1001: [PID: 9] 2026-01-01-00:00:00 x not implemented for DT_DOUBLE.
        Solution: use another dtype

[ERROR] 2026-01-01-00:00:00 (PID:9, Device:0, RankID:-1) ERR01100 OPS call acl api failed, error code is 161002
"""
PLOG = (
    "[ERROR] OP(9,python):2026-01-01-00:00:00.000.000 [logit.cpp:9][NNOP][aclnnLogitGradGetWorkspaceSize]9 "
    "errno[561002] EZ9999: Inner Error! tiling of aclnnLogitGrad failed\n"
)


@pytest.fixture
def codes(tmp_path: Path, opcli: Opcli):  # type: ignore[no-untyped-def]
    def call(text: str, *options: str) -> str:
        path = tmp_path / "trace.txt"
        path.write_text(text, "utf-8")
        done = opcli("codes", "--log", path, *options)
        assert done.code == 0, done.err
        return done.out

    return call


def test_the_rule_that_the_logged_call_breaks(codes) -> None:  # type: ignore[no-untyped-def]
    said = codes(logit("double") + TRACE)
    assert said.startswith("aclnnLogitGrad: 161002 ACLNN_ERR_PARAM_INVALID (line 9)\n")
    assert "EZ1001:  a parameter that the operator does not accept\n" in said
    assert "DT_DOUBLE" in said
    assert "Solution: use another dtype" in said
    assert "breaks:  " in said
    assert "x float64, dy float64" in said
    assert "rule:    161002 ACLNN_ERR_PARAM_INVALID on atlas_a2; call of line 1\n" in said
    assert "meaning:" not in said


def test_the_failing_call_is_found_behind_those_that_are_accepted(codes) -> None:  # type: ignore[no-untyped-def]
    said = codes(logit("float") + logit("double") + logit("c10::Half") + TRACE)
    assert "call of line 6\n" in said


def test_the_product_decides(codes) -> None:  # type: ignore[no-untyped-def]
    assert "no rule: " in codes(logit("c10::BFloat16") + TRACE)
    said = codes(logit("c10::BFloat16") + TRACE, "--product", "atlas_inference")
    assert "on atlas_inference" in said


def test_without_the_arguments_the_code_is_explained(codes) -> None:  # type: ignore[no-untyped-def]
    said = codes(TRACE)
    assert "no rule: the arguments of the call are not in the log" in said
    assert "meaning:" in said
    assert "fix:" in said


def test_an_accepted_call_says_so(codes) -> None:  # type: ignore[no-untyped-def]
    said = codes(logit("float") + PLOG)
    assert "aclnnLogitGrad: 561002 ACLNN_ERR_INNER_TILING_ERROR" in said
    assert "EZ9999:  an inner error of the operator library" in said
    assert "no rule: the contract that opcli knows accepts the call on atlas_a2 (call of line 1)" in said


def test_another_status_than_the_rule_is_said(codes) -> None:  # type: ignore[no-untyped-def]
    said = codes(logit("double") + PLOG)
    assert "rule:    161002" in said
    assert "note:    the log says 561002" in said
    assert "meaning:" in said


def test_an_incomplete_call_says_what_is_missing(codes) -> None:  # type: ignore[no-untyped-def]
    cut = "".join(line for line in logit("double").splitlines(keepends=True) if not line.startswith("eps"))
    assert "incomplete: the log shows 3 arguments of the 4" in codes(cut + TRACE)


def test_several_failures_and_the_same_one_again(codes) -> None:  # type: ignore[no-untyped-def]
    gap = "step\n" * 60
    said = codes(TRACE + gap + TRACE + gap + "RuntimeError: call aclnnAdd failed, error code is 561103\n")
    assert "(line 4, 2 times)" in said
    assert "aclnnAdd: 561103" in said


def test_names_count_as_well_as_numbers(codes) -> None:  # type: ignore[no-untyped-def]
    assert codes("aclnnAdd returned ACLNN_ERR_PARAM_NULLPTR\n").startswith("aclnnAdd: 161001 ")


def test_codes_without_an_operator(codes) -> None:  # type: ignore[no-untyped-def]
    said = codes("[ERROR] RUNTIME(1,python) rtStreamSynchronize failed, error code is 507015\n")
    assert said.startswith("no operator named: 507015 ")
    assert "no rule: the lines name no aclnn operator" in said
    assert "meaning:" in said


def test_stdin(opcli: Opcli) -> None:
    assert "161002" in opcli("codes", "--log", "-", stdin=TRACE).out


def test_nothing_found_is_exit_4_and_one_sentence(opcli: Opcli) -> None:
    done = opcli("codes", "--log", "-", stdin=logit("float"))
    assert done.code == 4
    assert done.err == (
        "the log on stdin: no line names a status, an error code or a failing aclnn call; "
        "1 logged call, see opcli cases import\n"
    )


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("161002", "--log", "x"), "--log reads the codes from x"),
        (("--product", "atlas_a2"), "go with --log"),
        (("--log", "nowhere.log"), "nowhere.log does not exist"),
        (("--log", "."), "is not a file"),
    ],
)
def test_wrong_usage(opcli: Opcli, options: tuple[str, ...], said: str) -> None:
    done = opcli("codes", *options)
    assert done.code == 2
    assert said in done.err


def test_floods_are_bounded(opcli: Opcli) -> None:
    gap = "x\n" * 41
    flood = "".join(f"call aclnnOp{i} failed, error code is 161002\n{gap}" for i in range(300))
    done = opcli("codes", "--log", "-", stdin=flood + "error code is " * 200_000)
    assert done.code == 0
    assert "100 more failures are not shown" in done.err
