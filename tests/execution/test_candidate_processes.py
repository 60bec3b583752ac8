"""What a candidate does to processes, files, memory and opcli's own folder costs its case, and nothing stays behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ascend_opcli.backends.descendants import is_exiting
from tests.conftest import CaseFile, Opcli
from tests.execution.candidates import CASES, FORMULA, Judge, words

LINUX = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="prctl is of Linux")
THREE = """
    op: logit_grad
    cases:
      - {name: one, dtype: float32, shape: [4, 8]}
      - {name: half, dtype: float16, shape: [33]}
      - {name: last, dtype: float32, shape: [5], seed: 3}
"""


def alive(pid: int) -> bool:
    """Whether a process runs; a dead one that nobody has waited for does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def within(seconds: float, told: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + seconds
    while not told() and time.monotonic() < deadline:
        time.sleep(0.05)
    return told()


Program = Callable[..., dict[str, Any]]


@pytest.fixture
def program(opcli: Opcli, case_file: CaseFile, tmp_path: Path) -> Program:
    """program(BODY): the results, by name, of a right program that runs BODY first where the dtype is float16."""

    def run(body: str, *options: object, cases: str = THREE) -> dict[str, Any]:
        source, report = tmp_path / "program.py", tmp_path / "report.json"
        indented = "".join(f"    {line}\n" for line in body.splitlines())
        source.write_text(
            "import json, os, shutil, sys, time\nimport numpy as np\nd = sys.argv[1]\n"
            "m = json.load(open(d + '/manifest.json'))\nt = m['outputs']['out']['dtype']\n"
            "if t == 'float16':\n" + indented + "x, dy = (np.fromfile(f'{d}/inputs/{n}.bin', t).astype(float)"
            " for n in ('x', 'dy'))\n(dy / (x * (1 - x))).astype(t).tofile(d + '/outputs/out.bin')\n"
        )
        command = f"{sys.executable} {source} {{dir}}"
        done = opcli("run", case_file(cases), "--candidate", command, "--json", report, *options)
        return {"": done, **{r["name"]: r for r in json.loads(report.read_text())["results"]}}

    return run


# --- copies of the process ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "fork",
    [
        "os.fork()",
        "os.fork() or time.sleep(0.1)",
        "ctypes.CDLL(None).fork()",
        "\n        if not os.fork(): raise ValueError",
    ],
)
def test_a_copy_that_comes_back_answers_no_other_case(judge: Judge, fork: str) -> None:
    body = (
        f"\nimport ctypes, os, time\ndef f(x, dy):\n    if x.shape == (33,): {fork}\n    return good(x, dy)\n"
    )
    results = judge(body, cases=THREE)
    told = {name: (r["verdict"], r["reason"]) for name, r in results.items() if name}
    assert told["one"] == told["last"] == ("PASS", "")
    if "CDLL" in fork:  # whoever goes past Python may be too late to be seen, and must still answer nothing
        assert told["half"][0] in ("PASS", "FAIL")
    else:
        assert "RETURNED TWICE: the function forked" in told["half"][1]


def test_processes_that_do_their_work_are_no_copies(judge: Judge) -> None:
    body = """
import multiprocessing
def work(pair):
    return good(*pair)
def f(x, dy):
    with multiprocessing.get_context("fork").Pool(2) as pool:
        return pool.map(work, [(x, dy)])[0]
"""
    assert set(words(judge(body, cases=THREE)).values()) == {"PASS"}


def test_a_benchmark_of_a_function_that_forks_says_so(opcli: Opcli, tmp_path: Path) -> None:
    mine = tmp_path / "mine.py"
    mine.write_text(FORMULA + "\nimport os\ndef f(x, dy):\n    os.fork()\n    return good(x, dy)\n")
    what = ("bench", "--op", "logit_grad", "--shape", "64", "--dtype", "float32", "--time", "1ms")
    done = opcli(*what, "--candidate", f"{mine}:f", "--allow-code")
    assert done.code == 1
    assert "RETURNED TWICE" in done.out
    assert "answered with" not in done.out


# --- what is left behind --------------------------------------------------------------------------------------

LEFT = """import subprocess
p = subprocess.Popen(["setsid", "sh", "-c", "(sleep 600 & echo $! >> {pids}) ; exec sleep 600"], stdout=2)
open({pids!r}, "a").write(str(p.pid) + "\\n")
while len(open({pids!r}).read().split()) % 2: time.sleep(0.01)
"""


@LINUX
def test_what_has_left_the_session_is_ended_with_its_case(program: Program, tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    results = program(LEFT.format(pids=str(pids)))
    assert words(results) == {"one": "PASS", "half": "PASS", "last": "PASS"}
    left = [int(pid) for pid in pids.read_text().split()]
    assert len(left) >= 2
    assert within(5, lambda: not any(map(alive, left)))


@LINUX
@pytest.mark.parametrize("end", ["return good(x, dy)", "os._exit(1)", "time.sleep(600)"])
def test_so_is_what_a_function_has_started_however_it_ends(judge: Judge, tmp_path: Path, end: str) -> None:
    pids = tmp_path / "pids"
    left = "".join(f"    {line}\n" for line in LEFT.format(pids=str(pids)).splitlines())
    body = f"\nimport os, time\ndef f(x, dy):\n{left}    {end}\n"
    judge(body, "--timeout", 3, cases="op: logit_grad\ncases: [{name: a, dtype: float32, shape: [4]}]\n")
    started = [int(pid) for pid in pids.read_text().split()]
    assert len(started) >= 2
    assert within(5, lambda: not any(map(alive, started)))


@LINUX
@pytest.mark.parametrize("kind", ["function", "program"])
def test_opcli_killed_leaves_neither_process_nor_folder(
    kind: str, case_file: CaseFile, tmp_path: Path
) -> None:
    pids, mine = tmp_path / "pids", tmp_path / "mine.py"
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    hang = f"open({str(pids)!r}, 'w').write(str(os.getpid()))"
    if kind == "function":
        mine.write_text(f"import os, time\ndef f(x, dy):\n    {hang}\n    time.sleep(600)\n")
        options = ["--candidate", f"{mine}:f", "--allow-code"]
    else:
        mine.write_text(f"import os, time\nos.setsid()\n{hang}\ntime.sleep(600)\n")
        options = ["--candidate", f"{sys.executable} {mine} {{dir}}"]
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(p for p in sys.path if p),
        "TMPDIR": str(temporary),
    }
    run = subprocess.Popen(
        [sys.executable, "-m", "ascend_opcli", "run", str(case_file(CASES)), *options],
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    assert within(60, lambda: pids.exists() and pids.read_text() != "")
    assert [*temporary.iterdir()]
    run.send_signal(signal.SIGKILL)
    run.wait()
    assert within(10, lambda: not alive(int(pids.read_text())))
    assert within(10, lambda: not [*temporary.iterdir()])


@LINUX
def test_who_ends_the_process_above_it_has_ended_nothing(judge: Judge) -> None:
    body = "\nimport os\ndef f(x, dy):\n    os.kill(os.getppid(), 15)\n    return good(x, dy)\n"
    assert set(words(judge(body, cases=THREE)).values()) == {"PASS"}


# --- files, and opcli's own folder ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "body",
    [
        "for _ in range(3000): print('x' * 1000000)",
        "with open(d + '/outputs/out.bin', 'wb') as f: f.truncate(1 << 40)",
        "with open(os.environ['LITTER'], 'wb') as f: f.truncate(1 << 40)",
        "import signal; signal.signal(signal.SIGXFSZ, signal.SIG_DFL); os.truncate(sys.argv[0], 1 << 40)",
    ],
)
def test_a_program_that_writes_too_much_is_said_to(
    program: Program, body: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LITTER", str(tmp_path / "litter"))
    results = program(body)
    assert words(results) == {"one": "PASS", "half": "FAIL", "last": "PASS"}
    assert results["half"]["reason"].startswith("WROTE TOO MUCH: ")


@pytest.mark.parametrize("up", range(4))
def test_a_program_that_removes_folders_costs_its_case(program: Program, up: int) -> None:
    results = program(f"for _ in range({up}): d = os.path.dirname(d)\nshutil.rmtree(d); sys.exit(0)")
    assert results[""].code == 1
    assert words(results) == {"one": "PASS", "half": "FAIL", "last": "PASS"}
    assert ("FOLDER REMOVED" in results["half"]["reason"]) == (up >= 2)


def test_so_does_a_function(judge: Judge) -> None:
    body = """
import os, shutil, sys
def f(x, dy):
    if x.shape == (33,):
        shutil.rmtree(os.path.dirname(os.readlink("/proc/self/fd/1")))
    return good(x, dy)
"""
    results = judge(body, cases=THREE)
    assert words(results) == {"one": "PASS", "half": "FAIL", "last": "PASS"}
    assert "FOLDER REMOVED: " in results["half"]["reason"]


# --- memory ---------------------------------------------------------------------------------------------------

GROWS = "a = []\n{indent}while True: a.append(np.ones(1 << 24))"


@LINUX
def test_memory_without_end_is_the_candidates_fault(judge: Judge, program: Program) -> None:
    grows = GROWS.format(indent=" " * 8)
    body = f"\ndef f(x, dy):\n    if x.shape == (33,):\n        {grows}\n    return good(x, dy)\n"
    results = judge(body, "--memory-limit", "1GiB", cases=THREE)
    assert words(results) == {"one": "PASS", "half": "FAIL", "last": "PASS"}
    reason = results["half"]["reason"]
    assert reason.startswith("RAISED: ")
    assert "MemoryError" in reason
    assert reason.endswith("out of memory: the limit is 1.0 GiB")
    results = program(GROWS.format(indent=""), "--memory-limit", "1GiB")
    assert words(results) == {"one": "PASS", "half": "FAIL", "last": "PASS"}
    assert (
        results["half"]["reason"]
        == "EXIT CODE: the program exited with 1; out of memory: the limit is 1.0 GiB"
    )


@LINUX
def test_what_it_keeps_does_not_cost_a_later_case(judge: Judge) -> None:
    grows = GROWS.format(indent=" " * 8).replace("a = []", "pass").replace("a.append", "KEPT.append")
    body = f"\nKEPT = []\ndef f(x, dy):\n    if x.shape == (33,):\n        {grows}\n    return good(x, dy)\n"
    results = judge(body, "--memory-limit", "1GiB", cases=THREE)
    assert words(results) == {"one": "PASS", "half": "FAIL", "last": "PASS"}


@LINUX
def test_pytorch_comes_under_the_least_limit(judge: Judge) -> None:
    pytest.importorskip("torch")
    grows = "\n        a = []\n        while True: a.append(torch.ones(1 << 26))"
    body = f"""
import torch
def f(x, dy):
    if x.shape == (33,):{grows}
    return dy / (x * (1 - x))
"""
    results = judge(body, "--memory-limit", "1MiB", cases=THREE, tensors="torch")
    assert words(results) == {"one": "PASS", "half": "FAIL", "last": "PASS"}
    assert results["half"]["reason"].endswith("out of memory: the limit is 1.0 GiB")


@LINUX
def test_a_process_on_its_way_out_is_told_from_one_that_runs() -> None:
    """Its pipes close before its children have another parent: by those alone the two cannot be told apart."""
    assert not is_exiting(os.getpid())
    child = os.fork()
    if child == 0:
        os._exit(0)
    assert within(10, lambda: is_exiting(child))  # nobody has waited for it yet
    os.waitpid(child, 0)
    assert is_exiting(child)
