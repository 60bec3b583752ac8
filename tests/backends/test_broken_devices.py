"""What a run does when a kernel skips its work now and then, when the device dies, and when somebody ends the run."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.backends.conftest import OnDevice
from tests.conftest import CaseFile
from tests.simulated_cann.build import CannRoot, env

FOUR = """
    op: logit_grad
    defaults: {dtype: float32, shape: [64]}
    cases: [{name: a}, {name: b}, {name: c}, {name: d}]
"""


@pytest.fixture
def four(case_file: CaseFile) -> Path:
    return case_file(FOUR)


# --- what was not written ----------------------------------------------------------------------------------------


ALL_ZERO = """
    op: threshold_backward
    cases:
      - {name: a, dtype: float32, shape: [64], inputs: {self: {data: -1.0}}, attrs: {threshold: 0.0}}
"""
TO_BOOL = """
    op: aclnnCast
    cases:
      - name: a
        inputs: {self: {dtype: float32, shape: [64], data: 1.0}}
        attrs: {dtype: bool}
        outputs: {out: {dtype: bool}}
        expect: {outputs: {out: true}}
"""


@pytest.mark.parametrize(
    ("text", "operator"),
    [(ALL_ZERO, "ThresholdBackward"), (TO_BOOL, "Cast")],
    ids=["inside-atol", "true-as-bool"],
)
@pytest.mark.parametrize("call", ["@1", "@1+"])
def test_a_call_that_writes_nothing_is_found_even_where_the_poison_would_pass(
    on_device: OnDevice, case_file: CaseFile, text: str, operator: str, call: str
) -> None:
    path = case_file(text)
    assert on_device(path).words() == {"a": "PASS"}
    ran = on_device(path, SIM_CANN_FAULT=f"aclnn{operator}:nothing{call}")
    assert (ran.code, ran.words()) == (1, {"a": "FAIL"})
    assert "64 of 64 elements were not written" in ran.results["a"]["reason"] or (
        "NOT WRITTEN: out, all 64 elements" in ran.results["a"]["reason"]
    )


def test_what_the_second_look_finds_counts_too(on_device: OnDevice, case_file: CaseFile) -> None:
    # The first call writes nothing; the one that looks again writes too far and into an input.
    fault = ";".join(f"aclnnThresholdBackward:{kind}" for kind in ("nothing@1", "overrun@2", "input@2"))
    ran = on_device(case_file(ALL_ZERO), SIM_CANN_FAULT=fault)
    for finding in ("NOT WRITTEN", "OUT OF BOUNDS WRITE", "INPUT CHANGED"):
        assert finding in ran.results["a"]["reason"]


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", "int32"])
def test_an_operator_that_adds_onto_an_output_that_nobody_cleared_fails(
    on_device: OnDevice, case_file: CaseFile, dtype: str
) -> None:
    path = case_file(f"""
        op: aclnnAdd
        cases:
          - {{name: a, dtype: {dtype}, shape: [300], attrs: {{alpha: 1}}, outputs: {{out: {{dtype: {dtype}}}}}}}
    """)
    assert on_device(path).words() == {"a": "PASS"}
    ran = on_device(path, SIM_CANN_FAULT="aclnnAdd:onto")
    assert ran.words() == {"a": "FAIL"}
    if dtype in ("float32", "bfloat16"):  # whose poison swallows what is added
        assert "written under other contents: they are added onto" in ran.results["a"]["reason"]
    if dtype == "int32":
        assert "added onto what the output held before" in ran.results["a"]["outputs"][0]["diagnosis"]


def test_an_operator_that_relies_on_a_zeroed_workspace_fails(
    on_device: OnDevice, case_file: CaseFile
) -> None:
    path = case_file("""
        op: reduce_sum
        cases:
          - {name: a, dtype: float32, shape: [8, 40], attrs: {dims: [1], keepDims: false, dtype: float32}}
    """)
    assert on_device(path).words() == {"a": "PASS"}
    assert on_device(path, SIM_CANN_FAULT="aclnnReduceSum:unzeroed").words() == {"a": "FAIL"}


@pytest.mark.parametrize("layout", ["padded", "transposed"])
def test_a_write_between_the_elements_of_an_inout_tensor_is_found(
    on_device: OnDevice, case_file: CaseFile, layout: str
) -> None:
    path = case_file(f"""
        op: aclnnInplaceRelu
        cases:
          - name: a
            inputs: {{selfRef: {{dtype: float32, shape: [4, 16], data: {{uniform: [1, 2]}}, layout: {layout}}}}}
            reference: where(selfRef > 0, selfRef, 0)
    """)
    assert on_device(path).words() == {"a": "PASS"}
    ran = on_device(path, SIM_CANN_FAULT="aclnnInplaceRelu:overrun")
    assert ran.words() == {"a": "FAIL"}
    assert "OUT OF BOUNDS WRITE: selfRef was written" in ran.results["a"]["reason"]


# --- a context that is spoilt ------------------------------------------------------------------------------------


@pytest.mark.parametrize("where", [(), ("--in-process",)], ids=["worker", "in-process"])
def test_a_device_exception_costs_its_case_and_the_others_pass(
    on_device: OnDevice, four: Path, where: tuple[str, ...]
) -> None:
    three = [f"{four}::{name}" for name in "abc"]
    ran = on_device(*three, *where, SIM_CANN_FAULT="aclnnLogitGrad:sync@2", leaks=bool(where))
    assert ran.words() == {"a": "PASS", "b": "FAIL", "c": "PASS"}
    assert "507015" in ran.results["b"]["reason"]
    assert ran.code == 1


def test_a_release_that_fails_afterwards_does_not_change_the_word(on_device: OnDevice, four: Path) -> None:
    # The first worker dies at its second call, and from its fifth release on every one fails.
    fault = "aclnnLogitGrad:sync@2;aclrtFree:fail=507015@4+"
    ran = on_device(four, SIM_CANN_FAULT=fault, leaks=True)
    assert ran.words() == {"a": "PASS", "b": "FAIL", "c": "PASS", "d": "FAIL"}
    assert "507015 ACL_ERROR_RT_AICORE_EXCEPTION" in ran.results["b"]["reason"]
    assert any("afterwards acl.rt.free returned 507015" in note for note in ran.results["b"]["notes"])


def test_a_worker_is_renewed_after_any_call_that_spoils_its_context(on_device: OnDevice, four: Path) -> None:
    # Copies fail from the 20th on in every worker: a new one runs a case or two before its own do.
    ran = on_device(four, SIM_CANN_FAULT="aclrtMemcpy:fail=507015@20+", leaks=True)
    words = list(ran.words().values())
    assert words.count("PASS") >= 2
    assert words[-1] == "PASS" or words[-2] == "PASS"
    assert len(ran.accounts) >= 2


def test_a_level_that_one_case_asks_for_ends_with_it(on_device: OnDevice, case_file: CaseFile) -> None:
    path = case_file("""
        op: elu_backward
        defaults: {dtype: float32, shape: [4096], seed: 3, standard: {ulp: {max: 2}}}
        cases:
          - {name: before}
          - {name: asks, deterministic: 1}
          - {name: after}
          - {name: again, deterministic: 1, repeat: 3}
          - {name: last}
    """)
    fault = "aclnnEluBackward:random=unless-deterministic"
    for names in (["before", "asks", "after", "again", "last"], ["asks", "after"], ["last"]):
        ran = on_device(*(f"{path}::{name}" for name in names), SIM_CANN_FAULT=fault)
        asked = {name: ran.results[name]["verdict"] for name in names}
        assert asked == {name: "PASS" if name in ("asks", "again") else "FAIL" for name in names}


def test_an_older_cann_is_asked_by_the_call_that_it_has(on_device: OnDevice, case_file: CaseFile) -> None:
    path = case_file("op: elu_backward\ncases: [{name: a, dtype: float32, shape: [8], deterministic: 1}]\n")
    assert on_device(path, SIM_ACL_WITHOUT="rt.set_sys_param_opt").words() == {"a": "PASS"}
    neither = on_device(path, SIM_ACL_WITHOUT="rt.set_sys_param_opt,rt.ctx_set_sys_param_opt")
    assert neither.words() == {"a": "ERROR"}
    assert "cannot be asked for ACL_OPT_DETERMINISTIC" in neither.results["a"]["reason"]


# --- in process --------------------------------------------------------------------------------------------------


def test_what_a_kernel_prints_in_process_is_its_voice_and_not_in_the_json(
    cann: CannRoot, four: Path, tmp_path: Path
) -> None:
    environment = env(cann, {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)})
    environment["SIM_CANN_FAULT"] = "aclnnLogitGrad:chatter@2,text=KERNELTALK"
    command = [sys.executable, "-m", "ascend_opcli", "run", "--in-process", "--json", "-", str(four)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=120, check=False)
    results = {r["name"]: r for r in json.loads(done.stdout)["results"]}
    assert any("KERNELTALK" in line for line in results["b"]["log"])
    assert "KERNELTALK" not in done.stderr
    done = subprocess.run(
        [*command, "-s"], capture_output=True, text=True, env=environment, timeout=120, check=False
    )
    assert "KERNELTALK" in done.stderr


def test_a_timeout_that_cannot_be_kept_is_refused(on_device: OnDevice, four: Path) -> None:
    for options, said in (
        (("--in-process", "--timeout", "5"), "--timeout needs the child process"),
        (("--timeout", "inf"), "--timeout takes a number of seconds, not inf"),
        (("--timeout", "nan"), "--timeout"),
    ):
        ran = on_device(four, *options)
        assert ran.code == 2
        assert said in ran.err


def test_sigterm_ends_a_hang_in_process(cann: CannRoot, four: Path) -> None:
    environment = env(cann, {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)})
    environment["SIM_CANN_FAULT"] = "aclnnLogitGrad:hang"
    command = [sys.executable, "-m", "ascend_opcli", "run", "--in-process", str(four)]
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    ) as process:
        time.sleep(4)
        process.terminate()
        # 130 where the call has not been reached yet.
        assert process.wait(timeout=20) in (-signal.SIGTERM, 130)


# --- a run that is ended -----------------------------------------------------------------------------------------


def workers(folder: Path) -> list[int]:
    """The processes whose temporary files lie below a folder of the test's own."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                command = (entry / "cmdline").read_bytes()
                variables = (entry / "environ").read_bytes()
            except OSError:
                continue
            if b"backends.cann.worker" in command and str(folder).encode() in variables:
                found.append(int(entry.name))
    return found


@pytest.mark.parametrize(
    ("signals", "code"),
    [
        (["SIGINT"], 130),
        (["SIGINT", "SIGINT"], 130),
        (["SIGTERM"], 130),
        (["SIGTERM", "SIGTERM"], 130),
        (["SIGINT", "SIGTERM"], 130),
        (["SIGHUP"], 130),
        (["SIGINT", "SIGINT", "SIGINT"], 130),
        (["SIGKILL"], -9),
    ],
    ids=lambda v: "+".join(v) if isinstance(v, list) else str(v),
)
def test_no_signal_leaves_a_worker_behind_and_the_finished_cases_are_reported(
    cann: CannRoot, four: Path, tmp_path: Path, signals: list[str], code: int
) -> None:
    folder = tmp_path / "tmp"
    folder.mkdir()
    report = tmp_path / "report.json"
    environment = env(cann, {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)})
    environment |= {"SIM_CANN_FAULT": "aclnnLogitGrad:hang@2", "TMPDIR": str(folder)}
    command = [sys.executable, "-m", "ascend_opcli", "run", str(four), "--json", str(report)]
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True
    ) as process:
        deadline = time.monotonic() + 60
        while not (found := workers(folder)) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert found
        time.sleep(3)  # the first case is done by then, and the second hangs
        for name in signals:
            process.send_signal(getattr(signal, name))
            time.sleep(0.1)
        begun = time.monotonic()
        assert process.wait(timeout=30) == code
        assert time.monotonic() - begun < 5
    deadline = time.monotonic() + 5
    while workers(folder) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not workers(folder)
    if len(signals) < 3 and code == 130:
        results = json.loads(report.read_text())["results"]
        assert [(r["name"], r["verdict"]) for r in results] == [("a", "PASS")]
        assert not list(folder.glob("opcli-*"))


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_a_signal_while_the_device_opens_leaves_nothing(
    cann: CannRoot, four: Path, tmp_path: Path, name: str
) -> None:
    folder = tmp_path / "tmp"
    folder.mkdir()
    environment = env(cann, {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)})
    environment |= {"TMPDIR": str(folder), "SIM_CANN_FAULT": "aclnnLogitGrad:hang"}
    command = [sys.executable, "-m", "ascend_opcli", "run", str(four)]
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True
    ) as process:
        while not workers(folder):
            assert process.poll() is None
            time.sleep(0.01)
        process.send_signal(getattr(signal, name))
        assert process.wait(timeout=30) == 130
    deadline = time.monotonic() + 5
    while workers(folder) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not workers(folder)
    assert not list(folder.glob("opcli-*"))


# --- a device that is lost --------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", [(), ("--in-process",)], ids=["worker", "in-process"])
def test_a_device_that_no_longer_opens_is_tried_twice_and_the_rest_is_told_at_once(
    on_device: OnDevice, case_file: CaseFile, tmp_path: Path, how: tuple[str, ...]
) -> None:
    path = case_file("""
        op: logit_grad
        defaults: {dtype: float32, shape: [64]}
        cases: [{name: a}, {name: b}, {name: c}, {name: d}, {name: e}, {name: f}, {name: g}]
    """)
    attempts = tmp_path / "attempts"
    ran = on_device(
        path,
        *how,
        leaks=True,
        SIM_CANN_OPENS=f"1,{attempts}",
        SIM_CANN_FAULT="aclnnLogitGrad:sync=507015@2",
    )
    words = list(ran.words().values())
    assert words.count("ERROR") == len(words) - 1 - words.count("FAIL")
    assert len(attempts.read_bytes()) == 3
    assert "no longer opens, and is not tried again" in ran.results["g"]["reason"]
    assert "507033" in ran.results["g"]["reason"]


def test_a_device_that_comes_back_is_not_given_up(on_device: OnDevice, four: Path, tmp_path: Path) -> None:
    ran = on_device(
        four, leaks=True, SIM_CANN_OPENS=f"9,{tmp_path / 'n'}", SIM_CANN_FAULT="aclnnLogitGrad:sync=507015"
    )
    assert set(ran.words().values()) == {"FAIL"}


@pytest.mark.parametrize("phase", ["phase1", "phase2", "sync"])
def test_a_worker_that_the_system_kills_for_its_memory_is_not_the_operators_fault(
    on_device: OnDevice, four: Path, phase: str
) -> None:
    ran = on_device(four, leaks=True, SIM_CANN_FAULT=f"aclnnLogitGrad:kill={phase}@2")
    assert (ran.code, set(ran.words().values())) == (3, {"ERROR", "PASS"})
    reason = next(r["reason"] for r in ran.results.values() if r["verdict"] == "ERROR")
    assert "SIGKILL" in reason
    assert "out of memory" in reason
