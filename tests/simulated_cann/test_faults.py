"""Every fault that SIM_CANN_FAULT can ask for does what README.md says, and only to the call that it names."""

from __future__ import annotations

import re
import signal
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from .conftest import Run

# 200 elements, all answers 2 * i + 1; the second and third call go to buffers of their own.
CALLS = """
stream = start()
x, y = tensor(np.arange(200), DTYPE), tensor(np.arange(200) + 1, DTYPE)
one = scalar(1, "int32" if DTYPE == "int32" else "float32")
outs, codes, texts = [tensor(np.full(200, -7), DTYPE, size=2048) for _ in range(3)], [], []
for out in outs:
    codes.append(call(stream, "aclnnAdd", x, y, one, out))
    texts.append(acl.get_recent_err_msg())
def values(t):
    return t.view().astype(np.float64).tolist()
want = (np.arange(200) * 2 + 1.0).tolist()
past = np.empty(2048, np.uint8)
ok(acl.rt.memcpy(past.ctypes.data, 2048, outs[1].pointer, 2048, 2))
answer(dict(codes=codes, texts=texts, outs=[values(o) for o in outs], x=values(x), y=values(y), want=want,
            past=past[x.storage.nbytes:].tolist()))
"""
GOOD = [0, 0, 0]


def calls(dtype: str = "float32") -> str:
    return CALLS.replace("DTYPE", repr(dtype))


def test_without_a_fault_all_three_calls_are_right(run: Run) -> None:
    answer = run(calls()).answer
    assert answer["codes"] == [GOOD] * 3
    assert answer["outs"] == [answer["want"]] * 3
    assert set(answer["past"]) == {0xCD}


def spoiled(run: Run, fault: str, dtype: str = "float32") -> tuple[list[float], list[float]]:
    """What the second call gave under the fault, and what is right; the other calls are untouched."""
    answer = run(calls(dtype), SIM_CANN_FAULT=f"aclnnAdd:{fault}@2").answer
    assert answer["codes"] == [GOOD] * 3
    assert answer["outs"][0] == answer["outs"][2] == answer["want"]
    return answer["outs"][1], answer["want"]


def test_tail(run: Run) -> None:
    got, want = spoiled(run, "tail")
    assert got == want[:192] + [0.0] * 8
    got, want = spoiled(run, "tail=3", "float16")
    assert got == want[:197] + [0.0] * 3


def test_stale(run: Run) -> None:
    got, want = spoiled(run, "stale")
    assert got == want[:50] + want[:50] + want[100:]


def test_ulp(run: Run) -> None:
    for dtype, step in (("float16", 2**-10), ("float32", 2**-23)):
        assert spoiled(run, "ulp", dtype)[0][0] == 1 + step
    got, want = spoiled(run, "ulp=3", "int32")
    assert got == [value + 3 for value in want]


def test_scale(run: Run) -> None:
    got, want = spoiled(run, "scale")
    assert got == [2 * value for value in want]
    got, want = spoiled(run, "scale=-0.5")
    assert got == [-0.5 * value for value in want]


def test_nan(run: Run) -> None:
    got, want = spoiled(run, "nan")
    assert [i for i, value in enumerate(got) if value != want[i]] == [100]
    assert got[100] != got[100]
    got, _ = spoiled(run, "nan=7", "int32")
    assert got[7] == 0x7F7F7F7F


def test_nothing(run: Run) -> None:
    assert spoiled(run, "nothing")[0] == [-7.0] * 200


def test_round(run: Run) -> None:
    script = """
        stream = start()
        x = tensor([1 + 2**-11 + 2**-20, -(2 - 2**-20), 3.0])
        found = []
        for code, dtype in ((1, "float16"), (27, "bfloat16")):
            out = tensor([0, 0, 0], dtype)
            call(stream, "aclnnCast", x, i32(code), out)
            found.append(out.view().astype(float).tolist())
        answer(found)
        """
    assert run(script).answer == [[1 + 2**-10, -2, 3], [1, -2, 3]]
    truncated = run(script, SIM_CANN_FAULT="aclnnCast:round").answer
    assert truncated == [[1, -(2 - 2**-10), 3], [1, -(2 - 2**-7), 3]]


def test_overrun(run: Run) -> None:
    answer = run(calls(), SIM_CANN_FAULT="aclnnAdd:overrun=32@2").answer
    assert answer["outs"] == [answer["want"]] * 3
    assert answer["past"][:33] == [0x5A] * 32 + [0xCD]
    answer = run(calls(), SIM_CANN_FAULT="aclnnAdd:overrun=5@2").answer
    assert answer["past"][:6] == [0x5A] * 5 + [0xCD]


def test_an_overrun_past_the_allocation_is_a_lifetime_fault(run: Run) -> None:
    script = """
        stream = start()
        x, out = tensor([1.0] * 4), tensor([0.0] * 4)
        call(stream, "aclnnRelu", x, out)
        x.release()
        out.release()
        stop(stream)
        """
    assert run(script).faults == []
    assert run(script, SIM_CANN_FAULT="aclnnRelu:overrun").faults == [
        "a kernel wrote past the end of a buffer of 16 bytes"
    ]


def test_input(run: Run) -> None:
    answer = run(calls(), SIM_CANN_FAULT="aclnnAdd:input@3").answer
    assert answer["outs"] == [answer["want"]] * 3
    assert answer["x"][0] != 0
    assert answer["x"][1:] == [float(i) for i in range(1, 200)]


def test_random(run: Run) -> None:
    answer = run(calls(), SIM_CANN_FAULT="aclnnAdd:random").answer
    assert answer["outs"][0] != answer["outs"][1] != answer["outs"][2]
    assert max(abs(a - b) for a, b in zip(answer["outs"][0], answer["want"], strict=True)) < 1e-3
    script = "ok(acl.rt.set_sys_param_opt(0, 1))\n" + calls()
    fault = "aclnnAdd:random=unless-deterministic"
    answer = run(script, SIM_CANN_FAULT=fault).answer
    assert answer["outs"] == [answer["want"]] * 3
    answer = run(calls(), SIM_CANN_FAULT=fault).answer
    assert answer["outs"][0] != answer["outs"][1]


@pytest.mark.parametrize(
    ("fault", "codes"),
    [
        ("phase1=561002@2", [561002]),
        ("phase1@2", [161002]),
        ("phase2=507899@2", [0, 507899]),
        ("sync@2", [0, 0, 507015]),
        ("sync=507053@2", [0, 0, 507053]),
    ],
)
def test_codes_with_a_text(fault: str, codes: list[int], run: Run) -> None:
    script = """
        stream = start()
        x, out = tensor([1.0]), tensor([0.0])
        found = []
        for _ in range(2):
            found.append([call(stream, "aclnnRelu", x, out), acl.get_recent_err_msg()])
        answer(found)
        """
    ran = run(script, SIM_CANN_FAULT=f"aclnnRelu:{fault},text=the shape of x: too large, 7 < 8")
    assert ran.answer[0] == [GOOD, None]
    assert ran.answer[1][0] == codes
    assert "aclnnRelu: the shape of x: too large, 7 < 8" in ran.answer[1][1]


def test_after_an_exception_what_was_queued_behind_it_does_not_run(run: Run) -> None:
    script = """
        stream = start()
        x, first, second = tensor([1.0]), tensor([5.0]), tensor([5.0])
        for out in (first, second):
            ok(phase2("aclnnRelu", 0, 0, phase1("aclnnRelu", x, out)[2], stream))
        codes = [acl.rt.synchronize_stream(stream), acl.rt.memset(x.pointer, 4, 0, 4)]
        ok(acl.rt.destroy_stream(stream))
        ok(acl.rt.reset_device(0))
        ok(acl.rt.set_device(0))      # a new context: the memory can be read again
        answer([codes, first.view().tolist(), second.view().tolist()])
        """
    assert run(script).answer == [[0, 0], [1], [1]]
    assert run(script, SIM_CANN_FAULT="aclnnRelu:sync@1").answer == [[507015, 507015], [5], [5]]


def test_runtime_functions_fail_at_the_nth_call(run: Run) -> None:
    script = """
        stream = start()
        codes = [acl.rt.malloc(64, 0)[1] for _ in range(4)]
        p, a = got(acl.rt.malloc(64, 0)), np.zeros(64, np.uint8)
        codes += [acl.rt.memcpy(p, 64, a.ctypes.data, 64, 1) for _ in range(3)]
        answer([codes, acl.get_recent_err_msg()])
        """
    fault = "aclrtMalloc:fail@3;aclrtMemcpy:fail=507899@2+,text=the link is down"
    ran = run(script, SIM_CANN_FAULT=fault)
    assert ran.answer[0] == [0, 0, 207001, 0, 0, 507899, 507899]
    assert "the link is down" in ran.answer[1]
    ran = run("answer([acl.init(), acl.rt.set_device(0)])", SIM_CANN_FAULT="aclrtSetDevice:fail=507033")
    assert ran.answer == [0, 507033]


@pytest.mark.parametrize("where", ["phase1", "phase2", "sync"])
@pytest.mark.parametrize(("kind", "number"), [("abort", signal.SIGABRT), ("segv", signal.SIGSEGV)])
def test_crashes(kind: str, number: int, where: str, run: Run) -> None:
    ran = run(calls(), SIM_CANN_FAULT=f"aclnnAdd:{kind}={where}@2,text=gone", check=False)
    assert ran.code == -number
    assert ran.answer is None
    assert ("gone" in ran.stderr) == (kind == "abort")


def test_a_hang_is_ended_only_by_a_timeout_or_a_kill(run: Run) -> None:
    script = """
        stream = start()
        x, out = tensor([1.0]), tensor([0.0])
        _, size, executor = phase1("aclnnRelu", x, out)
        ok(phase2("aclnnRelu", 0, 0, executor, stream))
        ok(acl.rt.record_event(got(acl.rt.create_event()), stream))
        answer([acl.rt.synchronize_stream_with_timeout(stream, 50), acl.rt.stream_query(stream)])
        """
    assert run(script, SIM_CANN_FAULT="aclnnRelu:hang").answer == [507046, [1, 0]]
    assert run(script).answer == [0, [0, 0]]
    for where in ("phase1", "phase2", "sync"):
        with pytest.raises(subprocess.TimeoutExpired):
            run(calls(), SIM_CANN_FAULT=f"aclnnAdd:hang={where}@2", timeout=0.8)


def test_chatter_on_stdout_and_in_the_plog(run: Run, tmp_path: Path) -> None:
    fault = "aclnnAdd:chatter=sync@2,text=block 3: x = 0.5"
    ran = run(calls(), SIM_CANN_FAULT=fault, ASCEND_PROCESS_LOG_PATH=str(tmp_path / "log"))
    assert ran.stdout.splitlines()[0] == "block 3: x = 0.5"
    assert ran.answer["outs"] == [ran.answer["want"]] * 3
    (plog,) = (tmp_path / "log/debug/plog").glob("plog-*_*.log")
    assert re.fullmatch(
        r"\[ERROR\] OP\(\d+,simulated\):[\d:.-]+ \[\S+\]\d+ block 3: x = 0.5\n", plog.read_text()
    )


def test_the_plog_holds_errors_and_at_info_the_entries(run: Run, tmp_path: Path) -> None:
    script = """
        stream = start()
        x, one = tensor([[1.0, 2.0], [3, 4]], shape=(2, 2), strides=(1, 2)), scalar(1.5)
        phase1("aclnnThresholdBackward", x, x, one, x)
        phase1("aclnnThresholdBackward", x, None, one, x)
        """
    run(script, ASCEND_WORK_PATH=str(tmp_path / "quiet"), ASCEND_GLOBAL_LOG_LEVEL="3")
    (plog,) = (tmp_path / "quiet/log/debug/plog").iterdir()
    assert len(plog.read_text().splitlines()) == 1
    assert "EZ1001: aclnnThresholdBackwardGetWorkspaceSize: self is a null pointer." in plog.read_text()
    ran = run(script, ASCEND_SLOG_PRINT_TO_STDOUT="1", ASCEND_GLOBAL_LOG_LEVEL="1")
    lines = [line.partition("] ")[2].partition("[")[2].partition(" ")[2] for line in ran.stdout.splitlines()]
    assert lines[0] == "Entering function aclnnThresholdBackwardGetWorkspaceSize."
    assert lines[1].startswith(
        "Entering function params: gradOutput: aclTensor(view_shape = [2, 2], view_strides = [1, 2], view_offset = 0, "
        "view_format = ND, storage_shape = [2, 2], storage_format = ND, ori_shape = [2, 2], ori_format = ND, "
        "data_type = float32, device_ptr = 0x"
    )
    assert "threshold: aclScalar(data_type = float32, value = 1.5)" in lines[1]
    assert lines[2] == "Entering function in params end. 0"
    assert lines[3].startswith("Entering function params: out: aclTensor(")
    assert lines[4] == "Entering function out params end. 0"
    assert "self: nullptr" in lines[6]


@pytest.mark.parametrize("text", ["aclnnAdd", "aclnnAdd:tial", "aclnnAdd:tail@x", "aclnnAdd:tail@0"])
def test_a_fault_that_cannot_be_read_ends_the_process(text: str, run: Run) -> None:
    ran = run(calls(), SIM_CANN_FAULT=text, check=False)
    assert ran.code == -signal.SIGABRT
    assert "simulated CANN: SIM_CANN_FAULT: cannot read" in ran.stderr


def test_a_star_names_every_operator(run: Run) -> None:
    answer = run(calls(), SIM_CANN_FAULT="*:scale@1;*:nan=0@2").answer
    assert answer["outs"][0] == [2 * value for value in answer["want"]]
    assert answer["outs"][2] == answer["want"]


TIMED = """
stream = start()
x, out = tensor([1.0] * 1000), tensor([0.0] * 1000)
def once(count):
    before, after = got(acl.rt.create_event_with_flag(8)), got(acl.rt.create_event_with_flag(8))
    executors = [phase1("aclnnRelu", x, out)[2] for _ in range(count)]
    ok(acl.rt.record_event(before, stream))
    for executor in executors:
        ok(phase2("aclnnRelu", 0, 0, executor, stream))
    ok(acl.rt.record_event(after, stream))
    unready = acl.rt.event_elapsed_time(before, after)[1], acl.rt.query_event_status(after)[0]
    ok(acl.rt.synchronize_event(after))
    return got(acl.rt.event_elapsed_time(before, after)), unready, acl.rt.event_elapsed_time(after, before)[1]
import time
started = time.monotonic()
once(1)
found = [once(10) for _ in range(5)]
answer([found, time.monotonic() - started])
"""


def test_operators_take_the_time_that_the_environment_sets(run: Run) -> None:
    (found, elapsed) = run(TIMED, SIM_CANN_TIME="aclnnRelu=2ms").answer
    for ms, unready, reversed_ in found:
        assert ms == pytest.approx(20, abs=1)  # the device runs ahead of nothing: ten launches, back to back
        assert unready == [107006, 0]
        assert reversed_ == 107007
    assert elapsed >= 0.1  # a synchronisation waits until the device would have ended


def test_noise_bandwidth_and_host_times(run: Run) -> None:
    first = run(TIMED, SIM_CANN_TIME="*=1ms~20%", SIM_CANN_SEED="5").answer[0]
    second = run(TIMED, SIM_CANN_TIME="*=1ms~20%", SIM_CANN_SEED="6").answer[0]
    assert len({round(ms, 3) for ms, _, _ in first + second}) > 5
    assert all(7.9 < ms < 13 for ms, _, _ in first + second)
    # 8000 bytes at 0.004 GB/s are 2 ms.
    found = run(TIMED, SIM_CANN_TIME="aclnnRelu=0us+0.004GB/s").answer[0]
    assert all(ms == pytest.approx(20, abs=1) for ms, _, _ in found)
    started = time.monotonic()
    run(TIMED, SIM_CANN_TIME="aclnnRelu=1us,host=1ms,first=500ms")
    assert time.monotonic() - started > 0.55
