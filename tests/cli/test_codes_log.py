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


# --- how a line says that a number is a status ----------------------------------------------------------------

SAID = [
    ("rtKernelLaunch failed 507015", 507015),
    ("aclrtSynchronizeStream failed. ERROR: 507015", 507015),
    ("aclnnStatus = 161001", 161001),
    ("aclError:507033", 507033),
    ("retCode=0x7bc87", 507015),
    ("[ERROR] RUNTIME(9,python) kernel task failed, retCode=0x7bc8e, [vector core exception]", 507022),
    ("调用 aclnnAdd 失败，错误码 161002", 161002),
    ("调用aclnnAdd失败，错误码为161002", 161002),
    ("错误码：561103", 561103),
    ("aclnnAdd 返回值: 561002", 561002),
    ("ret=507015", 507015),
    ("aclRet: 507015", 507015),
    ("rtRet = 507015", 507015),
    ("acl_ret=507015", 507015),
    ("ACL_RET=507015", 507015),
    ("errno[561002] EZ9999: Inner Error!", 561002),
    ("error code is 161002", 161002),
    ("ErrCode=507015", 507015),
    ("error_code: 507015", 507015),
    ('{"errorCode": 507015}', 507015),
    ("call aclnnAdd failed (507015)", 507015),
    ("the NPU function error: aclnnAdd, error code is 561003, device 0", 561003),
    ("aclnnAddGetWorkspaceSize returned 161002", 161002),
    ("error code is 161002.", 161002),
    ("error code 599999", 599999),  # nobody has named it, and the words are sure
]


@pytest.mark.parametrize(("line", "status"), SAID)
def test_a_known_code_is_recognised(codes, line: str, status: int) -> None:  # type: ignore[no-untyped-def]
    assert f": {status}" in codes(line + "\n").splitlines()[0]
    assert f": {status}" in codes(f"\x1b[31m[rank1]: {line}\x1b[0m\n").splitlines()[0]


NOT_SAID = [
    '  File "train.py", line 161002, in step',
    "error in train.py:161002",
    "error at line 161002",
    "[PID: 507015] started",
    "[INFO] RUNTIME(507015,python) ret=161002",
    "ERROR 507015 --- [main] worker ended",
    "ERROR [507015] worker ended",
    "[ERROR] GE(507015,python): no memory",
    "process 507015 failed",
    "wrote 161002 bytes",
    "the call returned 161002 bytes",
    "aclrtMalloc failed: 507015 bytes",
    "failed 161002 times",
    "error: 161002 of 200000 rows",
    "2026-01-02 10:11:12.507015 error",
    "error 10:11:12.507015",
    "error 2026-507015",
    "loss error 0.161002",
    "error: 161002.5",
    "order 161002 items, version 161002, port: 507018",
    "status code 200000",
    "barcode=161002 secret=161002 postcode: 507015",
    "result = 161002",
    "err_count=161002",
    "data_ptr: 0x7bc87, retry=0x7bc87",
    "ret=5070150",
    "ret=0x7bc87ff0",
    "error 161002/200000",
    "step 161002, error 0.5",
    "ret=599999",  # not a code that anybody knows, and ret is many a thing
]


@pytest.mark.parametrize("line", NOT_SAID)
def test_other_numbers_are_no_status(opcli: Opcli, line: str) -> None:
    done = opcli("codes", "--log", "-", stdin=line + "\n")
    assert (done.code, done.out) == (4, "")


def test_failures_of_several_processes_are_told_apart(codes) -> None:  # type: ignore[no-untyped-def]
    zero = [f"[rank0]: {line}" for line in (logit("float") + TRACE).splitlines()]
    one = [f"[rank1]: {line}" for line in (logit("double") + TRACE.replace("161002", "561002")).splitlines()]
    said = codes("\n".join(line for pair in zip(zero, one, strict=True) for line in pair) + "\n")
    first, second = said.split("\n\n")
    assert first.startswith("aclnnLogitGrad: 161002 ")
    assert "[rank0]: RuntimeError: call aclnnLogitGrad failed" in first
    assert "the contract that opcli knows accepts the call" in first  # the call of rank 1 is not its own
    assert second.startswith("aclnnLogitGrad: 561002 ")
    assert "breaks:  x float64" in second or "x float64, dy float64" in second


def test_a_trace_in_utf16_is_read(opcli: Opcli, tmp_path: Path) -> None:
    path = tmp_path / "trace.txt"
    path.write_bytes((logit("double") + TRACE).encode("utf-16"))
    done = opcli("codes", "--log", path)
    assert done.out.startswith("aclnnLogitGrad: 161002 ")
    assert "breaks:  " in done.out
