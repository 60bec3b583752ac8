"""Slow kernels, steps that hang, executors that a failure leaves, and msprof, on the simulated CANN."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from tests.benchmarking.conftest import BenchOnDevice
from tests.conftest import CaseFile
from tests.simulated_cann.build import CannRoot, env, install_package

ELU = ("--op", "elu_backward", "--shape", "4x1024", "--dtype", "float32")
LOGIT = ("--op", "logit_grad", "--shape", "4x1024", "--dtype", "float32")
A2 = {"SIM_CANN_SOC": "Ascend910B4"}  # which has LogitGrad


# --- slow kernels -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [(), ("--cache", "warm"), ("--fresh-executors",)])
def test_a_slow_kernel_keeps_roughly_to_its_time(
    bench_on_device: BenchOnDevice, options: tuple[str, ...]
) -> None:
    begun = time.monotonic()
    ran = bench_on_device(*ELU, "--time", "200ms", *options, SIM_CANN_TIME="aclnnEluBackward=400ms")
    taken = time.monotonic() - begun
    assert ran.entry["real_time"] == pytest.approx(400e3, rel=0.02)
    assert ran.row["launches"] == 1
    # First call, one warm-up, three samples: no set is visited beforehand. The rest is the start of two programs.
    assert taken < 5 * 0.4 + 9
    assert ran.row["verdict"] == "UNSURE"
    assert "3 samples are too few" in ran.row["reason"]


def test_a_middling_kernel_gets_as_many_launches_as_leave_room_for_enough_samples(
    bench_on_device: BenchOnDevice,
) -> None:
    ran = bench_on_device(*ELU, "--time", "1s", SIM_CANN_TIME="aclnnEluBackward=20ms~1%")
    assert 1 <= ran.row["launches"] <= 3  # 1 s for 20 samples; all 16 sets would take 320 ms a sample
    assert len(ran.row["samples_us"]) >= 10
    assert ran.entry["real_time"] == pytest.approx(20e3, rel=0.03)
    assert (ran.code, ran.row["verdict"]) == (0, "OK")


def test_the_timeout_is_a_steps_and_not_a_cases(bench_on_device: BenchOnDevice) -> None:
    ran = bench_on_device(*ELU, "--time", "200ms", "--timeout", "1.5", SIM_CANN_TIME="aclnnEluBackward=500ms")
    assert ran.row["verdict"] == "UNSURE", ran.row  # the preparation alone takes two launches and more
    ran = bench_on_device(*ELU, "--timeout", "1", SIM_CANN_TIME="aclnnEluBackward=4s")
    assert ran.row["verdict"] == "FAIL"
    assert "hang: no answer within 1 s, in the synchronise" in ran.row["reason"]


# --- nothing is left --------------------------------------------------------------------------------------------

LEAKS = """
    import json, sys
    from ascend_opcli.backends.cann import timing
    from ascend_opcli.backends.cann.session import Session
    from ascend_opcli.benchmarking.ladder import LadderRequest, of_operator
    from ascend_opcli.operators.catalog import find
    from ascend_opcli.verification.standards.choice import check_for

    (rung,) = of_operator(LadderRequest("elu_backward", ["4x64"], ["float32"]), sizes=(), product="atlas_inference",
                          check_standard=check_for)
    session = Session(0, None)
    ask = lambda request: session.bench.answer(request, lambda step: None)
    replies = []
    request = timing.Prepare(find("elu_backward").signature, rung.case, "atlas_inference", sets=4, reuse=False)
    replies.append(type(ask(request)).__name__)
    for _ in range(3):
        replies.append(type(ask(timing.Draw())).__name__)
    session.close()
    print(json.dumps(replies))
"""


@pytest.mark.parametrize(
    "fault", [f"{phase}@{n}" for phase in ("phase1", "phase2") for n in (1, 3, 9, 10, 13, 21)]
)
def test_a_failure_at_any_call_leaves_no_executor(cann: CannRoot, tmp_path: Path, fault: str) -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    environment |= {**env(cann, environment), "SIM_CANN_SOC": "Ascend310P3"}
    environment |= {
        "SIM_CANN_FAULT": f"aclnnEluBackward:{fault}",
        "SIM_CANN_REPORT": str(tmp_path / "account"),
    }
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(LEAKS)],
        capture_output=True, text=True, env=environment, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "Outcome" in json.loads(done.stdout), done.stdout
    account = json.loads((tmp_path / "account").read_text().splitlines()[0])
    assert not any(account["live"].values()), account
    assert account["faults"] == []


def test_a_case_that_asks_for_deterministic_does_not_change_the_next(
    bench_on_device: BenchOnDevice, case_file: CaseFile
) -> None:
    path = case_file("""
        op: logit_grad
        defaults: {dtype: float32, shape: [64], standard: exact}
        cases: [{name: asks, deterministic: 1, standard: {ulp: {max: 8}}}, {name: plain}]
    """)
    ran = bench_on_device(path, **A2, SIM_CANN_FAULT="aclnnLogitGrad:random=unless-deterministic",
                          SIM_CANN_TIME="*=50us")  # fmt: skip
    assert [case["verdict"] for case in ran.document["opcli"]["cases"]] == ["OK", "FAIL"]
    assert [account["deterministic"] for account in ran.accounts] == [0]


# --- msprof -----------------------------------------------------------------------------------------------------

MSPROF = """\
    #!{python}
    # Runs the application and writes a table; a kernel takes 3 us of an installed package, 2 us of CANN's own.
    import os, pathlib, shlex, subprocess, sys
    options = dict(word.removeprefix("--").split("=", 1) for word in sys.argv[1:])
    here = pathlib.Path(__file__).parent
    (here / "runs").open("a").write("x")
    number = len((here / "runs").read_text())
    code = subprocess.run(shlex.split(options["application"])).returncode
    if code:
        sys.exit("the application failed")
    if number == {fails}:
        sys.exit("the disk is full")
    folder = pathlib.Path(options["output"]) / "PROF_000001" / "mindstudio_profiler_output"
    folder.mkdir(parents=True)
    time = 3 if os.environ.get("ASCEND_CUSTOM_OPP_PATH") else 2
    with open(folder / "op_summary_20260101.csv", "w") as table:
        table.write("OP Type,Task Start Time(us),Task Duration(us)\\n")
        for i in range(50):
            text = "N/A" if number == {absent} and i == 30 else time
            table.write(f"EluGrad,{{i * 100}},{{text}}\\n")
"""


def fake_msprof(folder: Path, *, fails: int = 0, absent: int = 0) -> str:
    folder.mkdir()
    program = folder / "msprof"
    text = textwrap.dedent(MSPROF).format(python=sys.executable, fails=fails, absent=absent)
    program.write_text(text)
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return str(folder)


@pytest.mark.parametrize(
    ("mode", "reason"),
    [
        ({"fails": 1}, "msprof failed with 1: the disk is full"),
        ({"absent": 1}, "EluGrad has no duration that could be counted: 'N/A'"),
    ],
)
def test_a_profile_that_fails_costs_one_case_and_the_reports_are_written(
    bench_on_device: BenchOnDevice, tmp_path: Path, mode: dict[str, int], reason: str
) -> None:
    path = fake_msprof(tmp_path / "bin", **mode)
    ran = bench_on_device(*ELU, "--shape", "8x1024", "--timer", "msprof", path=path, SIM_CANN_TIME="*=50us")
    assert ran.code == 3
    first, second = ran.document["opcli"]["cases"]
    assert (first["verdict"], second["verdict"]) == ("ERROR", "OK")
    assert reason in first["reason"]
    assert list(ran.rows) == ["elu_backward/float32/8x1024"]


def test_two_packages_are_profiled_and_their_task_durations_compared(
    bench_on_device: BenchOnDevice, cann: CannRoot, tmp_path: Path
) -> None:
    package = install_package(cann, "shadow", tmp_path / "shadow")
    ran = bench_on_device(
        *(*LOGIT, "--no-check", "--timer", "msprof", "--against", "builtin", "--opp", package),
        path=fake_msprof(tmp_path / "bin"),
        SIM_CANN_TIME="*=50us",
        **A2,
    )
    assert ran.code == 5, ran.out + ran.err
    assert ran.entry["real_time"] == pytest.approx(3)
    assert ran.row["comparison"]["speed"] == "SLOWER"
    assert ran.row["comparison"]["ratio"] == pytest.approx(1.5)
    assert "task durations are compared" in ran.out
    assert (tmp_path / "bin" / "runs").read_text() == "xxxx"
