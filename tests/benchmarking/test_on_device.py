"""The timing of operators on the simulated CANN, whose operators take the time that a test asks for."""

from __future__ import annotations

import stat
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from tests.benchmarking.conftest import BenchOnDevice
from tests.conftest import CaseFile
from tests.simulated_cann.build import CannRoot, env, install_package

ELU = ("--op", "elu_backward", "--shape", "4x1024", "--dtype", "float32")
LOGIT = ("--op", "logit_grad", "--shape", "4x1024", "--dtype", "float32")


A2 = {"SIM_CANN_SOC": "Ascend910B4"}  # which has LogitGrad


def ours(time: str) -> dict[str, str]:
    return {"SIM_CANN_TIME": f"aclnnEluBackward={time};aclnnLogitGrad={time}"}


@pytest.mark.parametrize("options", [(), ("--cache", "warm"), ("--fresh-executors",), ("--sets", "3")])
def test_the_median_is_right_and_flush_warm_up_and_host_are_not_counted(
    bench_on_device: BenchOnDevice, options: tuple[str, ...]
) -> None:
    # The flush of 16 MiB takes milliseconds here, the first call 30 ms more, phase 1 half a millisecond.
    ran = bench_on_device(*ELU, *options, **ours("200us~5%,host=500us,first=30ms"))
    assert ran.code == 0, ran.out + ran.err
    assert ran.entry["real_time"] == pytest.approx(200, rel=0.03)
    assert ran.entry["first_call"] >= 30_000
    assert 500 <= ran.entry["phase1"] < 30_000
    assert ran.entry["call"] >= 700
    assert ran.row["verdict"] in ("OK", "UNSURE")
    assert ran.row["flush_bytes"] == (0 if "warm" in options else 16 << 20)
    assert ran.row["sets"] == (3 if "--sets" in options else 16)


def test_the_rate_is_that_of_the_tensors_bytes(bench_on_device: BenchOnDevice) -> None:
    ran = bench_on_device(*ELU, "--peak", "2GB/s", **ours("0us+1GB/s"))
    assert ran.row["bytes"] == 3 * 4096 * 4
    assert ran.entry["bytes_per_second"] == pytest.approx(1e9, rel=0.03)
    assert ran.entry["peak_share"] == pytest.approx(0.5, rel=0.03)
    assert ran.entry["copy_share"] > 0


def test_a_short_kernel_points_at_msprof(bench_on_device: BenchOnDevice) -> None:
    assert "under 20 us" in bench_on_device(*ELU, **ours("5us")).out
    assert "under 20 us" not in bench_on_device(*ELU, **ours("50us")).out


def test_a_slowdown_of_10_percent_is_found_and_exits_5_and_equal_runs_are_the_same(
    bench_on_device: BenchOnDevice, tmp_path: Path
) -> None:
    base = tmp_path / "base.json"
    assert bench_on_device(*ELU, "--save", base, **ours("100us~5%")).code == 0
    slow = bench_on_device(*ELU, "--baseline", base, **ours("110us~5%"))
    assert slow.code == 5, slow.out
    assert slow.row["comparison"]["speed"] == "SLOWER"
    assert slow.row["comparison"]["ratio"] == pytest.approx(1.1, abs=0.02)
    assert bench_on_device(*ELU, "--baseline", base, "--max-regress", "20%", **ours("110us~5%")).code == 0
    equal = bench_on_device(*ELU, "--baseline", base, SIM_CANN_SEED="8", **ours("100us~5%"))
    assert (equal.code, equal.row["comparison"]["speed"]) == (0, "SAME")
    fast = bench_on_device(*ELU, "--baseline", base, **ours("80us~5%"))
    assert (fast.code, fast.row["comparison"]["speed"]) == (0, "FASTER")


@pytest.mark.parametrize(
    ("options", "variables", "difference"),
    [
        ((), {"SIM_CANN_VERSION": "8.5.0"}, "CANN 8.5.0 here, 9.1.0 in the baseline"),
        ((), {"SIM_CANN_SOC": "Ascend310B1"}, "SoC Ascend310B1 here, Ascend310P3 in the baseline"),
        (("--cache", "warm"), {}, "cache warm here, cold in the baseline"),
    ],
)
def test_a_changed_fingerprint_is_unsure_with_the_difference_named(
    bench_on_device: BenchOnDevice,
    tmp_path: Path,
    options: tuple[str, ...],
    variables: dict[str, str],
    difference: str,
) -> None:
    base = tmp_path / "base.json"
    bench_on_device(*ELU, "--save", base, **ours("100us"))
    ran = bench_on_device(*ELU, *options, "--baseline", base, **{**ours("300us"), **variables})
    assert ran.row["comparison"]["speed"] == "UNSURE"
    assert difference in ran.row["comparison"]["reason"]
    assert ran.code == 4


# --- what is timed is right -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        ("tail", "a wrong result has no time"),
        ("nothing", "a wrong result has no time"),
        ("overrun", "OUT OF BOUNDS WRITE"),
        ("input", "INPUT CHANGED"),
        ("phase1=161002,text=no", "refused in phase 1"),
        ("phase2@3", "failed in phase 2"),
        ("sync@8", "failed at the synchronise"),
        ("segv=phase2@4", "crash: SIGSEGV in phase 2"),
        ("segv=sync", "crash: SIGSEGV in the synchronise"),
    ],
)
def test_a_fault_of_the_operator_is_a_failure_without_a_time(
    bench_on_device: BenchOnDevice, fault: str, reason: str
) -> None:
    ran = bench_on_device(*ELU, SIM_CANN_FAULT=f"aclnnEluBackward:{fault}", **ours("50us"))
    assert ran.code == 1, ran.out + ran.err
    assert ran.rows == {}
    assert ran.row["verdict"] == "FAIL"
    assert reason in ran.row["reason"]


def test_no_check_leaves_the_judgement_out(bench_on_device: BenchOnDevice) -> None:
    ran = bench_on_device(*ELU, "--no-check", SIM_CANN_FAULT="aclnnEluBackward:tail", **ours("50us"))
    assert (ran.code, ran.row["verdict"], ran.row["checked"]) == (0, "OK", False)


def test_a_crash_costs_one_case(bench_on_device: BenchOnDevice) -> None:
    ran = bench_on_device(
        *("--op", "elu_backward", "--shape", "4x1024", "--shape", "8x1024", "--dtype", "float32"),
        SIM_CANN_FAULT="aclnnEluBackward:segv=phase2@2",
        **ours("50us"),
    )
    # The worker is renewed, and its second call dies again.
    assert [c["verdict"] for c in ran.document["opcli"]["cases"]] == ["FAIL", "FAIL"]


def test_a_device_that_breaks_is_an_error(bench_on_device: BenchOnDevice) -> None:
    ran = bench_on_device(*ELU, SIM_CANN_FAULT="aclnnEluBackward:sync=507054", **ours("50us"))
    assert (ran.code, ran.row["verdict"]) == (3, "ERROR")
    assert bench_on_device(*ELU, SIM_CANN_FAULT="aclrtSetDevice:fail").code == 3


def test_an_operator_that_works_in_place_is_judged_on_one_application(
    bench_on_device: BenchOnDevice, case_file: CaseFile
) -> None:
    path = case_file(
        """
        op: inplace_add
        reference: selfRef + alpha * other
        cases:
          - name: a
            inputs:
              selfRef: {dtype: float32, shape: [64, 64], data: {uniform: [1.0, 2.0]}}
              other: {dtype: float32, shape: [64, 64], data: {uniform: [1.0, 2.0]}}
            attrs: {alpha: 1.0}
        """
    )
    ran = bench_on_device(path, SIM_CANN_TIME="*=50us")
    assert (ran.code, ran.row["verdict"]) == (0, "OK"), ran.out + ran.err
    assert "works in place" in ran.out
    assert ran.row["bytes"] == 3 * 64 * 64 * 4


def test_a_case_file_and_its_bench_cases(bench_on_device: BenchOnDevice, case_file: CaseFile) -> None:
    path = case_file(
        """
        op: logit_grad
        cases:
          - {name: not-this, dtype: float32, shape: [64]}
          - {name: this, dtype: float16, shape: [64, 8], tags: [bench], inputs: {x: {layout: transposed}}}
        """
    )
    ran = bench_on_device(path, **A2, **ours("50us"))
    assert list(ran.rows) == ["a.yaml::this"]
    assert ran.code == 0


# --- repeatable executors ---------------------------------------------------------------------------------------

FALLBACK = """
    import dataclasses, sys
    from ascend_opcli.backends.cann import libraries, timing
    from ascend_opcli.backends.cann.session import Session
    from ascend_opcli.benchmarking.ladder import LadderRequest, of_operator
    from ascend_opcli.operators.catalog import find
    from ascend_opcli.verification.standards.choice import check_for

    real = libraries.Libraries.meta
    refused = []
    def meta(self, name):
        if name != "aclSetAclOpExecutorRepeatable":
            return real(self, name)
        return lambda executor: refused.append(executor) or 561103
    libraries.Libraries.meta = meta
    (rung,) = of_operator(LadderRequest("elu_backward", ["4x64"], ["float32"]), sizes=(), product="atlas_inference",
                          check_standard=check_for)
    session = Session(0, None)
    ask = lambda request: session.bench.answer(request, lambda step: None)
    prepared = ask(timing.Prepare(find("elu_backward").signature, rung.case, "atlas_inference"))
    samples = [ask(timing.Draw()).seconds for _ in range(9)]
    outcome = ask(timing.Finish())
    session.close()
    assert refused and not prepared.repeatable, prepared
    assert "no repeatable executor: phase 1 before each launch" in prepared.notes[0], prepared
    assert sorted(samples)[4] < 110e-6, samples
    assert outcome.status == 0 and not outcome.findings and not outcome.written, outcome
"""


def test_without_repeatable_executors_phase_1_comes_before_the_first_event(
    cann: CannRoot, tmp_path: Path
) -> None:
    import os

    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    environment |= {**env(cann, environment), "SIM_CANN_SOC": "Ascend310P3"}
    environment |= {"SIM_CANN_TIME": "*=100us,host=1ms", "SIM_CANN_REPORT": str(tmp_path / "account")}
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(FALLBACK)],
        capture_output=True,
        text=True,
        env=environment,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    account = (tmp_path / "account").read_text()
    assert '"executors": 0' in account
    assert '"buffers": 0' in account
    assert '"faults": []' in account


def test_executors_are_made_repeatable_before_the_first_launch_puts_them_into_the_cache(
    bench_on_device: BenchOnDevice,
) -> None:
    ran = bench_on_device(*ELU, **ours("50us"))
    assert ran.code == 0, ran.out + ran.err
    assert "repeatable executor" not in ran.out


# --- another package --------------------------------------------------------------------------------------------


def test_pairs_with_the_operator_that_cann_ships(bench_on_device: BenchOnDevice) -> None:
    ran = bench_on_device(*LOGIT, "--against", "builtin", **A2, **ours("100us~5%"))
    assert (ran.code, ran.row["comparison"]["speed"]) == (0, "SAME"), ran.out
    assert "against builtin: 1 SAME" in ran.out
    assert len(ran.accounts) == 2


def test_builtin_leaves_the_custom_packages_out(
    bench_on_device: BenchOnDevice, cann: CannRoot, tmp_path: Path
) -> None:
    package = install_package(cann, "shadow", tmp_path / "shadow")
    ran = bench_on_device(
        *LOGIT,
        *("--no-check", "--against", "builtin"),
        ASCEND_CUSTOM_OPP_PATH=str(package),
        **A2,
        **ours("100us"),
    )
    assert ran.row["served_by"] == str(package / "op_api/lib/libcust_opapi.so")
    assert "libopapi_nn.so" in ran.out
    assert ran.code == 0, ran.out + ran.err


def test_another_packages_wrong_result_decides_nothing(
    bench_on_device: BenchOnDevice, cann: CannRoot, tmp_path: Path
) -> None:
    package = install_package(cann, "shadow", tmp_path / "shadow")  # answers 42 everywhere
    ran = bench_on_device(*LOGIT, "--against", package, **A2, **ours("100us"))
    assert ran.row["comparison"]["speed"] == "UNSURE"
    assert "gives a wrong result" in ran.row["comparison"]["reason"]
    assert ran.code == 4
    wrong = bench_on_device(*LOGIT, "--opp", package, "--against", "builtin", **A2, **ours("100us"))
    assert (wrong.code, wrong.row["verdict"]) == (1, "FAIL")


# --- msprof -----------------------------------------------------------------------------------------------------

MSPROF = """\
    #!{python}
    # Runs the application, then writes the table as msprof does: two kernels a call, among tasks that are none.
    import os, pathlib, shlex, subprocess, sys
    options = dict(word.removeprefix("--").split("=", 1) for word in sys.argv[1:])
    code = subprocess.run(shlex.split(options["application"])).returncode
    if code:
        sys.exit("the application failed")
    folder = pathlib.Path(options["output"]) / "PROF_000001" / "mindstudio_profiler_output"
    folder.mkdir(parents=True)
    calls = {calls}
    with open(folder / "op_summary_20260101.csv", "w", encoding="utf-8-sig") as table:
        table.write("Device_id,Op Name,OP Type,Task Type,Task Start Time(us),Task Duration(us),Task Wait Time(us)\\n")
        for i in range(calls):
            slow = 900 if i < 10 else 0
            if i >= 10:  # the flush
                table.write(f"0,memset,MemSet,AI_VECTOR_CORE,{{i * 100}},55.0,0\\n")
            table.write(f"0,cast,Cast,AI_VECTOR_CORE,{{i * 100 + 1}},{{1.25 + slow}},0\\n")
            table.write(f"0,elu,EluGrad,AI_VECTOR_CORE,{{i * 100 + 2}},2.5,0\\n")
"""


def fake_msprof(folder: Path, calls: str = "50") -> str:
    folder.mkdir()
    program = folder / "msprof"
    program.write_text(textwrap.dedent(MSPROF).format(python=sys.executable, calls=calls))
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return str(folder)


def test_msprof_gives_the_kernels_own_time(bench_on_device: BenchOnDevice, tmp_path: Path) -> None:
    ran = bench_on_device(*ELU, "--timer", "msprof", path=fake_msprof(tmp_path / "bin"), **ours("50us"))
    assert ran.code == 0, ran.out + ran.err
    assert ran.entry["real_time"] == pytest.approx(3.75)  # warm-ups and the memset are not counted
    assert ran.row["stream_median_us"] == pytest.approx(50, rel=0.03)
    assert len(ran.row["samples_us"]) == 40
    # Exactly the calls that were asked for ran under the profiler.
    assert 50 in [account["launches"] for account in ran.accounts]


def test_kernels_that_cannot_be_shared_out_are_an_error(
    bench_on_device: BenchOnDevice, tmp_path: Path
) -> None:
    ran = bench_on_device(*ELU, "--timer", "msprof", path=fake_msprof(tmp_path / "bin", "49"), **ours("50us"))
    assert ran.code == 3
    assert "137 tasks of 50 calls" in ran.err + ran.out


def test_without_msprof_it_says_so_and_exits_3(bench_on_device: BenchOnDevice, tmp_path: Path) -> None:
    ran = bench_on_device(*ELU, "--timer", "msprof", PATH=str(tmp_path))
    assert ran.code == 3
    assert "msprof is not on PATH" in ran.err
    ran = bench_on_device(
        *ELU, "--timer", "msprof", path=fake_msprof(tmp_path / "bin"), ASCEND_RT_VISIBLE_DEVICES="0"
    )
    assert ran.code == 3
    assert "ASCEND_RT_VISIBLE_DEVICES" in ran.err


@pytest.mark.parametrize(("bound", "word"), [(">=8.5", "OK"), (">=9.2", "SKIP")])
def test_only_cann_asks_the_runtime_where_no_file_says_the_version(
    bench_on_device: BenchOnDevice, case_file: CaseFile, bound: str, word: str
) -> None:
    path = case_file(f"""
        op: elu_backward
        cases: [{{name: a, dtype: float32, shape: [4, 1024], only: {{cann: '{bound}'}}}}]
    """)
    ran = bench_on_device(path, **ours("100us"))
    assert ran.row["verdict"] == word, ran.out + ran.err


@pytest.mark.parametrize(
    ("fault", "call"),
    [
        ("aclnnEluBackward:onto", ELU),
        (
            "aclnnReduceSum:unzeroed",
            ("--op", "reduce_sum", "--shape", "8x40", "--attr", "dims=[1]", "--dtype", "float32"),
        ),
    ],
)
def test_what_adds_onto_memory_that_nobody_cleared_has_no_time(
    bench_on_device: BenchOnDevice, fault: str, call: tuple[str, ...]
) -> None:
    short = (*call, "--time", "20ms")
    assert bench_on_device(*short, **ours("50us")).code == 0
    assert bench_on_device(*short, SIM_CANN_FAULT=fault, **ours("50us")).code == 1
