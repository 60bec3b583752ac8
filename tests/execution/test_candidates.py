"""``opcli run --candidate``: a function or a program in the operator's place, and every way of being wrong."""

from __future__ import annotations

import hashlib
import json
import os
import shlex
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import CaseFile, Opcli
from tests.execution.candidates import CASES, FORMULA, NAMES, Judge, words

# --- a right one --------------------------------------------------------------------------------------------


def test_a_right_function_passes_and_the_report_names_its_file_and_hash(judge: Judge, tmp_path: Path) -> None:
    results = judge("", function="good")
    assert results[""].code == 0
    assert words(results) == dict.fromkeys(NAMES, "PASS")
    source = tmp_path / "mine.py"
    served = f"{source}:good (sha256 {hashlib.sha256(source.read_bytes()).hexdigest()})"
    assert {r["served_by"] for n, r in results.items() if n} == {served}
    assert {r["backend"] for n, r in results.items() if n} == {"candidate"}
    assert f"served by {served}" in results[""].out
    assert "no operator was run" not in results[""].out


def test_no_report_says_that_an_operator_was_run_through_aclnn(judge: Judge, tmp_path: Path) -> None:
    files = {name: tmp_path / f"r.{name}" for name in ("acceptance", "markdown", "html", "junit", "csv")}
    judge("", *(word for name, path in files.items() for word in (f"--{name}", path)), function="good")
    digest = hashlib.sha256((tmp_path / "mine.py").read_bytes()).hexdigest()
    for name in ("acceptance", "markdown", "html"):
        assert digest in files[name].read_text("utf-8"), name
    assert "operators were run through aclnn" not in files["acceptance"].read_text("utf-8")
    assert "not called through aclnn" in files["acceptance"].read_text("utf-8")
    assert "no operator was run" not in files["junit"].read_text("utf-8")


def test_the_repro_line_runs_the_same_candidate_on_the_same_inputs(judge: Judge, opcli: Opcli) -> None:
    results = judge("\ndef f(x, dy):\n    return dy * 2\n")

    again = shlex.split(results["one"]["repro"])
    assert again[:2] == ["opcli", "run"]
    done = opcli(*again[1:], "--json", "-")
    assert json.loads(done.out)["results"][0]["outputs"][0]["worst"] == results["one"]["outputs"][0]["worst"]


def test_a_function_may_write_into_the_output_that_it_is_handed(judge: Judge) -> None:
    results = judge("\ndef f(x, dy, out):\n    out[...] = good(x, dy)\n")
    assert words(results) == dict.fromkeys(NAMES, "PASS")


def test_attributes_lists_inout_and_scalars_arrive_by_their_aclnn_names(judge: Judge) -> None:
    body = """
def add(self, other, alpha):
    assert alpha == 0.5 and type(alpha) is float
    return self + np.float32(alpha) * other

def cat(tensors, dim):
    return np.concatenate(tensors, axis=dim)

def relu(selfRef):
    np.maximum(selfRef, 0, out=selfRef)

def split(self, splitSize, dim):
    return list(np.split(self, self.shape[dim] // splitSize, axis=dim))
"""
    for function, text in {
        "add": """
            op: aclnnAdd
            cases:
              - {name: a, inputs: {self: [1.0, 2.0], other: [10.0, 20.0]}, attrs: {alpha: 0.5},
                 expect: {outputs: {out: [6.0, 12.0]}}}
        """,
        "cat": """
            op: aclnnCat
            cases:
              - name: a
                inputs:
                  tensors:
                    - {dtype: float32, shape: [1, 2], data: [1, 2]}
                    - {dtype: float32, shape: [2, 2], data: [3, 4, 5, 6]}
                attrs: {dim: 0}
                outputs: {out: {dtype: float32, shape: [3, 2]}}
                expect: {outputs: {out: [1, 2, 3, 4, 5, 6]}}
        """,
        "relu": """
            op: aclnnInplaceRelu
            cases:
              - {name: a, inputs: {selfRef: {dtype: float32, shape: [4], data: [-1, 2, -3, 4]}},
                 expect: {outputs: {selfRef: [0, 2, 0, 4]}}}
        """,
    }.items():
        results = judge(body, cases=text, function=function)
        assert words(results) == {"a": "PASS"}, (function, results["a"]["reason"])


def test_bfloat16_and_bool_pass_through(judge: Judge) -> None:
    cases = """
        op: aclnnMine
        signature: aclnnStatus aclnnMineGetWorkspaceSize(const aclTensor *self, aclTensor *out)
        reference: self > 0
        cases:
          - name: a
            inputs: {self: {dtype: bfloat16, shape: [40], data: {normal: [0, 1]}}}
            outputs: {out: {dtype: bool, shape: [40]}}
    """
    assert words(judge("\ndef f(self):\n    return self > 0\n", cases=cases)) == {"a": "PASS"}
    handed = "\ndef f(self, out):\n    np.greater(self.astype(np.float32), 0, out=out)\n"
    assert words(judge(handed, cases=cases)) == {"a": "PASS"}
    half = "\ndef f(self, out):\n    out[:20] = self[:20] > 0\n"
    results = judge(half, cases=cases)
    assert "PARTLY WRITTEN: out, 20 of 40" in results["a"]["reason"]


@pytest.mark.parametrize("dtype", ["float16", "float32", "bfloat16", "float64", "int16", "int32", "int64"])
def test_a_function_that_adds_onto_what_it_is_handed_fails(judge: Judge, dtype: str) -> None:
    cases = f"""
        op: aclnnMine
        signature: aclnnStatus aclnnMineGetWorkspaceSize(const aclTensor *self, aclTensor *out)
        reference: self
        cases:
          - name: a
            inputs: {{self: {{dtype: {dtype}, shape: [40], data: {{integers: [1, 9]}}}}}}
    """
    assert words(judge("\ndef f(self, out):\n    out[...] = self\n", cases=cases)) == {"a": "PASS"}
    assert words(judge("\ndef f(self, out):\n    out += self\n", cases=cases)) == {"a": "FAIL"}


# --- wrong ones: each is named, and costs its case alone ------------------------------------------------------

WRONG = {
    "a constant": ("return np.full_like(x, 3)", "CONSTANT RETURNED: every element of out is 3"),
    "zeros": ("return np.zeros_like(x)", "CONSTANT RETURNED: every element of out is 0"),
    "an input": ("return dy", "INPUT RETURNED: out is the input dy, byte for byte"),
    "a copy of an input": ("return x.copy()", "INPUT RETURNED: out is the input x, byte for byte"),
    "in place": ("dy /= x * (1 - x); return dy", "INPUT CHANGED: "),
    "in place, on the side": ("x[...] = 0; return good(x + 1, dy)", "INPUT CHANGED: "),
    "an exception": (
        "raise RuntimeError('no tiling for this shape')",
        "RAISED: RuntimeError: no tiling for this shape",
    ),
    "an exception of its own": ("class Odd(BaseException): pass\n    raise Odd", "RAISED: Odd"),
    "sys.exit": ("import sys; sys.exit(0)", "RAISED: SystemExit: 0"),
    "an interrupt": ("raise KeyboardInterrupt", "RAISED: KeyboardInterrupt"),
    "no memory": ("return np.ones((1 << 46,), np.float64)", "RAISED: "),
    "wrong dtype": ("return good(x, dy).astype(np.float64)", "WRONG DTYPE: out is float64, expected is "),
    "wrong shape": ("return good(x, dy)[:1]", "WRONG SHAPE: out has the shape [1"),
    "a shape of the same size": ("return good(x, dy).reshape(1, -1)", "WRONG SHAPE: out has the shape [1, "),
    "two results": ("return good(x, dy), x", "WRONG COUNT: it returned 2 results for 1 outputs (out)"),
    "nothing": ("good(x, dy)", "WRONG COUNT: it returned None, and was handed no tensor for out"),
    "a list": ("return good(x, dy).tolist()", "WRONG "),
    "a string": ("return 'done'", "WRONG TYPE: out is a builtins.str, not a tensor of NumPy"),
    "a huge broadcast": ("return np.broadcast_to(np.float32(0), (1 << 20, 1 << 20))", "WRONG "),
    "os._exit": ("import os; os._exit(0)", "crash: the worker exited with 0 in the call"),
    "an exit code": ("import os; os._exit(3)", "crash: the worker exited with 3 in the call"),
    "a signal": ("import os; os.kill(os.getpid(), 11)", "crash: SIGSEGV in the call"),
    "an abort": ("import os; os.abort()", "crash: SIGABRT in the call"),
    "prints without end": ("while True: print('x' * 1000000)", "WROTE TOO MUCH: "),
    "ten GiB in a file": (
        "import tempfile, os\n    with open(os.environ['LITTER'], 'wb') as f: f.truncate(10 << 30)",
        "WROTE TOO MUCH: OSError: [Errno 27] File too large",
    ),
}


@pytest.mark.parametrize("kind", WRONG)
def test_a_wrong_function_is_named_and_the_run_goes_on(
    kind: str, judge: Judge, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    body, said = WRONG[kind]
    monkeypatch.setenv("LITTER", str(tmp_path / "litter"))
    # The second case alone meets the fault.
    text = f"\ndef f(x, dy):\n    if x.shape != (33,): return good(x, dy)\n    {body}\n"
    results = judge(text)
    assert results[""].code == 1
    assert words(results) == {"one": "PASS", "two": "PASS", "half": "FAIL", "strided": "PASS"}
    assert said in results["half"]["reason"]


def test_what_an_earlier_call_gave_is_known_again(judge: Judge) -> None:
    body = """
import functools
kept = {}
def f(x, dy):
    return kept.setdefault(x.shape, good(x, dy)).copy()
"""
    results = judge(body)
    assert results["one"]["verdict"] == "FAIL"
    assert "CACHED RESULT: out has the same bytes for other inputs" in results["one"]["reason"]
    assert "CACHED RESULT: out is what a.yaml::one gave for other inputs" in results["two"]["reason"]


def test_the_very_array_of_an_earlier_call_is_found_even_with_the_same_inputs(judge: Judge) -> None:
    body = """
kept = {}
def f(x, dy):
    key = x.tobytes() + dy.tobytes()
    if key not in kept:
        kept[key] = good(x, dy)
    return kept[key]
"""
    cases = "op: logit_grad\ncases: [{name: a, dtype: float32, shape: [32], repeat: 2}]\n"
    results = judge(body, cases=cases)
    assert results["a"]["verdict"] == "FAIL"
    assert "CACHED RESULT: out is memory that an earlier call returned" in results["a"]["reason"]


def test_a_buffer_that_is_written_anew_each_time_is_no_cached_result(judge: Judge) -> None:
    body = """
buffers = {}
def f(x, dy):
    out = buffers.setdefault((x.shape, x.dtype), np.empty_like(x, order="C"))
    out[...] = good(x, dy)
    return out
"""
    assert words(judge(body)) == dict.fromkeys(NAMES, "PASS")


def test_a_right_answer_by_heart_is_found_by_other_inputs(judge: Judge) -> None:
    cases = """
        op: logit_grad
        cases:
          - name: documented
            inputs:
              x:  {dtype: float32, shape: [1, 4], data: [0.1, 0.2, 0.3, 0.4]}
              dy: {dtype: float32, shape: [1, 4], data: [1.0, 2.0, 3.0, 4.0]}
    """
    by_heart = "\ndef f(x, dy):\n    return np.float32([[11.111111, 12.5, 14.285714, 16.666667]])\n"
    results = judge(by_heart, cases=cases)
    assert results["documented"]["verdict"] == "FAIL"
    assert results["documented"]["outputs"][0]["passed"]
    assert "CACHED RESULT: out has the same bytes for other inputs" in results["documented"]["reason"]


@pytest.mark.parametrize(
    "cases",
    [
        "op: aclnnSign\ncases: [{name: a, inputs: {self: {dtype: float32, shape: [64], data: {uniform: [1, 2]}}}}]\n",
        "op: aclnnRelu\ncases: [{name: a, inputs: {self: {dtype: float32, shape: [64], data: {uniform: [1, 2]}}}}]\n",
    ],
)
def test_a_right_result_that_is_constant_or_the_input_is_not_accused(judge: Judge, cases: str) -> None:
    body = "np.sign(self)" if "Sign" in cases else "self.copy()"
    assert words(judge(f"\ndef f(self):\n    return {body}\n", cases=cases)) == {"a": "PASS"}


def test_results_that_differ_from_run_to_run_are_found(judge: Judge) -> None:
    body = """
count = 0
def f(x, dy):
    global count
    count += 1
    return np.nextafter(good(x, dy), x.dtype.type(count % 2 * 1e4))
"""
    cases = "op: logit_grad\ncases: [{name: a, dtype: float32, shape: [32], repeat: 5}]\n"
    results = judge(body, cases=cases)
    assert "out of run 2 of 5 has other bytes than the first" in results["a"]["reason"]


def test_what_is_not_written_and_what_is_written_outside_is_seen(judge: Judge) -> None:
    assert "NOT WRITTEN: out, all 32 elements" in judge("\ndef f(x, dy, out):\n    pass\n")["one"]["reason"]
    part = judge("\ndef f(x, dy, out):\n    out[:3] = good(x, dy)[:3]\n")
    assert "PARTLY WRITTEN: out, 8 of 32 elements" in part["one"]["reason"]
    beyond = """
import ctypes
def f(x, dy, out):
    out[...] = good(x, dy)
    ctypes.memset(out.ctypes.data + out.nbytes, 0, 4)
"""
    results = judge(beyond, cases="op: logit_grad\ncases: [{name: a, dtype: float32, shape: [8]}]\n")
    assert (
        "OUT OF BOUNDS WRITE: out was written past the end, 4 bytes from byte 32 of 32 on"
        in results["a"]["reason"]
    )


def test_a_hang_is_cut_off_and_costs_one_case(judge: Judge) -> None:
    body = "\nimport time\ndef f(x, dy):\n    if x.shape == (33,): time.sleep(600)\n    return good(x, dy)\n"
    begun = time.monotonic()
    results = judge(body, "--timeout", 3)
    assert time.monotonic() - begun < 60
    assert words(results) == {"one": "PASS", "two": "PASS", "half": "FAIL", "strided": "PASS"}
    assert "hang: no answer within 3 s, in the call" in results["half"]["reason"]


def test_what_it_prints_stands_under_its_case_and_never_in_the_report(judge: Judge) -> None:
    body = "\ndef f(x, dy):\n    print('tile', x.shape)\n    return dy\n"
    results = judge(body, "--json", "-")
    assert json.loads(results[""].out)
    assert "tile (33,)" in results[""].err


def test_a_contract_that_would_refuse_is_a_note_and_an_expected_refusal_is_skipped(judge: Judge) -> None:
    cases = """
        op: logit_grad
        cases:
          - {name: null-x, inputs: {x: null, dy: {dtype: float32, shape: [4], data: 1.0}},
             expect: {status: ACLNN_ERR_PARAM_NULLPTR}}
    """
    results = judge("", function="good", cases=cases)
    assert words(results) == {"null-x": "SKIP"}
    assert "a candidate gives no status" in results["null-x"]["reason"]
    assert results[""].code == 4


# --- what cannot even be called -------------------------------------------------------------------------------


def test_a_parameter_that_the_operator_does_not_have_is_told_with_the_nearest_name(judge: Judge) -> None:
    results = judge("\ndef f(x, dyy):\n    return x\n")
    assert "WRONG PARAMETER: the function needs 'dyy'" in results["one"]["reason"]
    assert "did you mean 'dy'?" in results["one"]["reason"]


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("\nimport nothing_of_that_name\n", "RAISED: importing it gave ModuleNotFoundError"),
        ("\ndef f(x, dy)\n", "RAISED: importing it gave SyntaxError"),
        ("\nimport os; os._exit(7)\n", "crash: the worker exited with 7 in the import"),
    ],
)
def test_a_file_that_cannot_be_imported_fails_every_case(judge: Judge, body: str, said: str) -> None:
    results = judge(body)
    assert results[""].code == 1
    assert words(results) == dict.fromkeys(NAMES, "FAIL")
    assert said in results["one"]["reason"]


def test_usage_is_refused_in_one_sentence(
    judge: Judge, opcli: Opcli, case_file: CaseFile, tmp_path: Path
) -> None:
    path = case_file(CASES)
    mine = tmp_path / "mine.py"
    mine.write_text(FORMULA, "utf-8")
    for arguments, said in (
        (["--candidate", f"{mine}:good"], "runs code, which needs --allow-code"),
        (["--candidate", f"{mine}:goood", "--allow-code"], "has no function goood; did you mean 'good'?"),
        (["--candidate", f"{tmp_path}/none.py:f", "--allow-code"], "none.py does not exist"),
        (["--candidate", "ls"], "neither file.py:function nor a command with {dir}"),
        (["--candidate", "no-such-program {dir}"], "the command 'no-such-program' is not there"),
        (["--candidate", "cat {dir}", "--tensors", "torch"], "--tensors is for a Python candidate"),
        (
            ["--candidate", f"{mine}:good", "--allow-code", "--format", "npy"],
            "--format is for a candidate command",
        ),
        (
            ["--candidate", f"{mine}:good", "--allow-code", "--backend", "device"],
            "does not go with --backend",
        ),
        (["--tensors", "numpy"], "--tensors is for a candidate"),
    ):
        done = opcli("run", path, *arguments)
        assert (done.code, said in done.err) == (2, True), (arguments, done.err)
        assert len(done.err.splitlines()) == 1


# --- PyTorch ----------------------------------------------------------------------------------------------------

TORCH = """
import torch

def right(x, dy, eps):
    lo, outside = (eps, 0.0) if eps >= 0 else (0.0, float("nan"))
    a, b = x.double(), dy.double()
    return torch.where((lo <= a) & (a <= 1 - lo), b / (a * (1 - a)), outside).to(x.dtype)

def same(x, dy):
    return dy

def ones(x, dy):
    return torch.ones_like(x)

kept = {}
def again(x, dy, eps):
    key = x.contiguous().view(torch.int16).numpy().tobytes() if x.dtype == torch.bfloat16 else x.numpy().tobytes()
    if key not in kept:
        kept[key] = right(x, dy, eps)
    return kept[key]

def wide(x, dy):
    return right(x, dy, -1.0).double()

def place(x, dy, out):
    out.copy_(right(x, dy, -1.0))

def harm(x, dy):
    dy.div_(x * (1 - x))
    return dy
"""
TORCH_CASES = (
    CASES
    + """
      - {name: brain, dtype: bfloat16, shape: [5, 7]}
"""
)


def test_torch_functions_are_judged_alike(judge: Judge) -> None:
    pytest.importorskip("torch")
    names = (*NAMES, "brain")

    def run(function: str, cases: str = TORCH_CASES) -> dict[str, Any]:
        return judge(TORCH, cases=cases, function=function, tensors="torch")

    assert words(run("right")) == dict.fromkeys(names, "PASS")
    assert words(run("place")) == dict.fromkeys(names, "PASS")
    assert "INPUT RETURNED: out is the input dy" in run("same")["brain"]["reason"]
    assert "CONSTANT RETURNED: every element of out is 1" in run("ones")["one"]["reason"]
    assert "WRONG DTYPE: out is float64, expected is bfloat16" in run("wide")["brain"]["reason"]
    assert "INPUT CHANGED: 35 of 35 elements of dy" in run("harm")["brain"]["reason"]
    repeated = TORCH_CASES.replace("shape: [5, 7]", "shape: [5, 7], repeat: 2")
    assert (
        "CACHED RESULT: out is memory that an earlier call returned"
        in run("again", repeated)["brain"]["reason"]
    )


def test_without_torch_npu_the_surroundings_are_to_blame(judge: Judge) -> None:
    done = judge("", function="good", tensors="npu")[""]
    assert done.code == 3
    assert "--tensors npu" in done.err


# --- programs -----------------------------------------------------------------------------------------------------

PROGRAM = """
import json, os, sys
import numpy as np

folder = sys.argv[1]
m = json.load(open(os.path.join(folder, "manifest.json")))
out = m["outputs"]["out"]
dtype = out["dtype"]

def read(name):
    return np.fromfile(os.path.join(folder, m["inputs"][name]["file"]), dtype)

def write(array, name=out["file"]):
    array.tofile(os.path.join(folder, name))

x, dy = read("x"), read("dy")
good = (dy.astype(np.float64) / (x.astype(np.float64) * (1 - x.astype(np.float64)))).astype(dtype)
if x.size != 33:
    write(good)
    sys.exit(0)
"""

PROGRAMS = {
    "write(good)": "",
    "write(dy)": "INPUT RETURNED: out is the input dy, byte for byte",
    "write(np.ones(33, dtype))": "CONSTANT RETURNED: every element of out is 1",
    "pass": "MISSING: out: there is no outputs/out.npy or .bin",
    "write(good); sys.exit(7)": "EXIT CODE: the program exited with 7",
    "write(good); os.kill(os.getpid(), 11)": "crash: SIGSEGV in the call",
    "write(good[:-1])": "WRONG SIZE: out: outputs/out.bin has 64 bytes, float16 [33] has 66",
    "write(good.astype(np.float32))": "WRONG SIZE: out: outputs/out.bin has 132 bytes, float16 [33] has 66",
    "np.save(folder + '/outputs/out.npy', good.astype(np.float32))": "WRONG DTYPE: out: outputs/out.npy holds float32",
    "np.save(folder + '/outputs/out.npy', good.reshape(3, 11))": "WRONG SHAPE: out: outputs/out.npy",
    "write(good); np.save(folder + '/outputs/out.npy', good)": "TWO FILES: out: out.npy and out.bin both lie there",
    "os.symlink('/etc/hostname', folder + '/outputs/out.bin')": "OUTSIDE: out: outputs/out.bin leads out of its folder",
    "os.mkfifo(folder + '/outputs/out.bin')": "WRONG SIZE: out: ",
    "write(good); write(np.zeros(33, dtype), 'inputs/x.bin')": "INPUT CHANGED: inputs/x.bin is no longer what",
    "f = open(folder + '/outputs/out.bin', 'wb'); f.truncate(10 << 30)": "WROTE TOO MUCH: a file beyond",
    "f = open(folder + '/outputs/out.bin', 'wb')\nwhile True: f.write(bytes(1 << 24))": "WROTE TOO MUCH: ",
    "n = 0\nwhile True:\n  n += 1\n  with open(folder + f'/{n}', 'wb') as f: f.truncate(1 << 28)": "WROTE TOO MUCH: ",
    "import time; time.sleep(600)": "hang: no answer within 10 s, in the call",
}


@pytest.mark.parametrize("body", PROGRAMS)
def test_a_program_is_judged_by_its_files_and_a_wrong_one_costs_one_case(
    body: str, opcli: Opcli, case_file: CaseFile, tmp_path: Path
) -> None:
    program, report = tmp_path / "my program.py", tmp_path / "r.json"
    program.write_text(PROGRAM + body + "\n", "utf-8")
    command = f"{sys.executable} '{program}' {{dir}}"
    path = case_file(
        CASES.partition("      - name: strided")[0].replace("      - {name: two", "      # {name: two")
    )
    done = opcli("run", path, "--candidate", command, "--timeout", 10, "--json", report)
    results = {r["name"]: r for r in json.loads(report.read_text())["results"]}
    assert results["one"]["verdict"] == "PASS", results["one"]["reason"]
    assert PROGRAMS[body] in results["half"]["reason"], results["half"]["reason"]
    assert results["half"]["verdict"] == ("FAIL" if PROGRAMS[body] else "PASS")
    assert done.code == (1 if PROGRAMS[body] else 0)
    digest = hashlib.sha256(program.read_bytes()).hexdigest()
    assert f"{program} (sha256 {digest})" in results["half"]["served_by"]


@pytest.mark.parametrize("kind", ["function", "program"])
def test_a_process_that_the_system_kills_for_its_memory_is_not_the_candidates_fault(
    kind: str, judge: Judge, opcli: Opcli, case_file: CaseFile, tmp_path: Path
) -> None:
    kill = "import os; os.kill(os.getpid(), 9)"
    if kind == "function":
        results = judge(f"\ndef f(x, dy):\n    if x.shape == (33,): {kill}\n    return good(x, dy)\n")
        code = results.pop("").code
    else:
        program, report = tmp_path / "program.py", tmp_path / "r.json"
        program.write_text(f"{PROGRAM}write(good)\n{kill}\n", "utf-8")
        options = (
            "-k",
            "one or half",
            "--candidate",
            f"{sys.executable} {program} {{dir}}",
            "--json",
            report,
        )
        code = opcli("run", case_file(CASES), *options).code
        results = {r["name"]: r for r in json.loads(report.read_text())["results"]}
    assert (code, results["half"]["verdict"], results["one"]["verdict"]) == (3, "ERROR", "PASS")
    assert (
        "was killed (SIGKILL) in the call: the host was probably out of memory" in results["half"]["reason"]
    )


def test_a_candidate_that_is_killed_as_it_loads_is_an_error(judge: Judge) -> None:
    done = judge("\nimport os; os.kill(os.getpid(), 9)\n", function="good")[""]
    assert (done.code, "was killed (SIGKILL)" in done.err) == (3, True)


def test_no_shell_reads_the_command(opcli: Opcli, case_file: CaseFile, tmp_path: Path) -> None:
    path, mark = case_file(CASES), tmp_path / "mark"
    done = opcli("run", f"{path}::one", "--candidate", f"echo {{dir}} ; touch {mark} $(touch {mark})")
    assert done.code == 1
    assert "MISSING" in done.out
    assert not mark.exists()


def test_the_golden_is_not_given_to_the_program(opcli: Opcli, case_file: CaseFile, tmp_path: Path) -> None:
    program = tmp_path / "look.py"
    program.write_text("import os, sys\nprint([n for _, d, f in os.walk(sys.argv[1]) for n in d + f])\n")
    done = opcli("run", f"{case_file(CASES)}::one", "--candidate", f"{sys.executable} {program} {{dir}}")
    assert "manifest.json" in done.out
    assert "golden" not in done.out.partition("printed during the call:")[2].partition("repro")[0]


def gone(pid: int) -> bool:
    """Whether a process that was killed ends; one that nobody has waited for yet has."""
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        try:
            if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                return True
        except (FileNotFoundError, ProcessLookupError):
            return True
        time.sleep(0.05)
    return False


@pytest.mark.parametrize("kind", ["function", "program"])
def test_ctrl_c_reports_what_was_finished_and_leaves_no_process(
    kind: str, case_file: CaseFile, tmp_path: Path
) -> None:
    import signal

    mine, pids = tmp_path / "mine.py", tmp_path / "pids"
    sleep = f"open({str(pids)!r}, 'a').write(f'{{os.getpid()}}\\n'); time.sleep(600)"
    if kind == "function":
        mine.write_text(
            FORMULA
            + f"\nimport os, time\ndef f(x, dy):\n    if x.shape == (33,): {sleep}\n    return good(x, dy)\n"
        )
        options = ["--candidate", f"{mine}:f", "--allow-code"]
    else:
        mine.write_text(PROGRAM + f"\nimport time; {sleep}\n")
        options = ["--candidate", f"{sys.executable} {mine} {{dir}}"]
    path = case_file(CASES)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    run = subprocess.Popen(
        [sys.executable, "-m", "ascend_opcli", "run", str(path), *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
    )
    deadline = time.monotonic() + 60
    while not pids.exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    time.sleep(0.2)
    run.send_signal(signal.SIGINT)
    out, _ = run.communicate(timeout=60)
    assert run.returncode == 130
    assert "interrupted: 2 of 4 cases were finished" in out
    (pid,) = map(int, pids.read_text().split())
    assert gone(pid)


def test_a_process_that_a_program_leaves_behind_is_ended(
    opcli: Opcli, case_file: CaseFile, tmp_path: Path
) -> None:
    program, pids = tmp_path / "leave.py", tmp_path / "pids"
    left = f"import subprocess; open({str(pids)!r}, 'a').write(f'{{subprocess.Popen([\"sleep\", \"600\"]).pid}}\\n')"
    program.write_text(PROGRAM.replace("x, dy = read", f"{left}\nx, dy = read"))
    done = opcli("run", f"{case_file(CASES)}::one", "--candidate", f"{sys.executable} {program} {{dir}}")
    assert done.code == 0, done.out
    assert all(gone(pid) for pid in map(int, pids.read_text().split()))


@pytest.mark.parametrize("kind", ["function", "program"])
def test_a_saved_failure_is_run_again_with_the_same_candidate_from_anywhere(
    kind: str, opcli: Opcli, case_file: CaseFile, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here, there = tmp_path / "some where", tmp_path / "elsewhere"
    here.mkdir()
    there.mkdir()
    monkeypatch.chdir(here)
    if kind == "function":
        Path("my file.py").write_text(FORMULA + "\ndef f(x, dy):\n    return good(x, dy) * 2\n", "utf-8")
        options = ["--candidate", "my file.py:f", "--allow-code"]
    else:
        Path("my file.py").write_text(PROGRAM.replace("write(good)", "write(good * 2)"), "utf-8")
        options = ["--candidate", f"{sys.executable} 'my file.py' {{dir}} --strict", "--format", "bin"]
    path = case_file(CASES)
    done = opcli("run", f"{path}::one", *options, "--save-failures", there, "--json", "first.json")
    assert done.code == 1
    reason = json.loads(Path("first.json").read_text())["results"][0]["reason"]
    (saved,) = there.glob("*.yaml")
    (line,) = (w for w in saved.read_text("utf-8").splitlines() if "from the saved tensors: " in w)
    monkeypatch.chdir(there)
    words = shlex.split(line.partition("tensors: ")[2])
    done = opcli(*words[1:], "--json", "-")
    again = json.loads(done.out)["results"][0]
    assert (again["backend"], again["reason"]) == ("candidate", reason)
