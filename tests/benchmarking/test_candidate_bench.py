"""``opcli bench --candidate``: a right function has a time, a wrong or a remembering one has none."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Opcli

MINE = """
import numpy as np, time

def good(x, dy, eps=-1.0):
    x64, dy64 = x.astype(np.float64), dy.astype(np.float64)
    with np.errstate(all="ignore"):
        return np.where((0 <= x64) & (x64 <= 1), dy64 / (x64 * (1 - x64)), np.nan).astype(x.dtype)

def slow(x, dy):
    time.sleep(0.02)
    return good(x, dy)

by_address, by_shape = {}, {}

def remembers_addresses(x, dy):
    key = x.ctypes.data, dy.ctypes.data
    if key not in by_address:
        by_address[key] = good(x, dy)
    return by_address[key].copy()

def remembers_shapes(x, dy):
    return by_shape.setdefault(x.shape, good(x, dy)).copy()

def in_place(x, dy):
    dy /= x * (1 - x)
    return dy

def fails(x, dy):
    raise ValueError("no tiling")

def wrong(x, dy):
    return good(x, dy) * 2

def into(x, dy, out):
    out[...] = good(x, dy)

calls = 0

def every_second_time(x, dy):
    global calls
    calls += 1
    return good(x, dy) if calls % 2 else np.zeros_like(x)

def only_when_judged(x, dy):
    import traceback
    judged = any(frame.name == "_judged" for frame in traceback.extract_stack())
    return good(x, dy) if judged else dy.copy()

sums = {}

def never_cleared(x, dy):
    if not sums.get("first", False):
        sums["first"] = True
        return good(x, dy)
    sums["x"] = sums.get("x", 0) + good(x, dy)
    return sums["x"]

def in_order(cdf):
    assert (np.diff(cdf) >= 0).all(), "cdf must not fall"
    return cdf * np.float32(2)

def relu(selfRef):
    np.maximum(selfRef, 0, out=selfRef)
"""


def bench(opcli: Opcli, tmp_path: Path, function: str, *more: object) -> tuple[int, str, dict[str, Any]]:
    mine, report = tmp_path / "mine.py", tmp_path / "bench.json"
    mine.write_text(MINE)
    what = more or ("--op", "logit_grad", "--shape", "64x64", "--dtype", "float32")
    done = opcli(
        "bench",
        *what,
        "--candidate",
        f"{mine}:{function}",
        "--allow-code",
        "--time",
        "100ms",
        "--json",
        report,
    )
    rows = json.loads(report.read_text())["benchmarks"]
    return done.code, done.out, rows[0] if rows else {}


@pytest.mark.parametrize("function", ["good", "into"])
def test_a_right_function_is_timed_and_its_file_named(function: str, opcli: Opcli, tmp_path: Path) -> None:
    code, out, row = bench(opcli, tmp_path, function)
    assert code == 0
    assert row["real_time"] > 0
    assert f"mine.py:{function} (sha256 " in out
    assert "a copy in memory" in out


def test_the_time_is_the_functions_own(opcli: Opcli, tmp_path: Path) -> None:
    _, _, row = bench(opcli, tmp_path, "slow")
    nanoseconds = {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9}[row["time_unit"]]
    assert 0.02 <= row["real_time"] * nanoseconds / 1e9 < 0.2


@pytest.mark.parametrize(
    ("function", "said"),
    [
        ("remembers_addresses", "a wrong result has no time"),
        ("remembers_shapes", "a wrong result has no time"),
        ("wrong", "a wrong result has no time"),
        ("in_place", "INPUT CHANGED: dy, while it was timed"),
        ("fails", "RAISED: ValueError: no tiling"),
        ("every_second_time", "a wrong result has no time"),
        ("only_when_judged", "WRONG AGAIN: in the last timed call, on inputs of another seed: "),
        ("never_cleared", "a wrong result has no time"),
    ],
)
def test_who_remembers_or_errs_has_no_time(function: str, said: str, opcli: Opcli, tmp_path: Path) -> None:
    code, out, _ = bench(opcli, tmp_path, function)
    assert code == 1
    assert said in out


def test_an_operator_in_place_meets_its_own_inputs_each_time(opcli: Opcli, tmp_path: Path) -> None:
    path = tmp_path / "relu.yaml"
    path.write_text(
        "op: aclnnInplaceRelu\n"
        "cases: [{name: a, inputs: {selfRef: {dtype: float32, shape: [64], data: {normal: [0, 1]}}}}]\n"
    )
    code, out, row = bench(opcli, tmp_path, "relu", path)
    assert code == 0, out
    assert row["real_time"] > 0


def test_who_checks_its_inputs_meets_none_that_the_case_has_not(opcli: Opcli, tmp_path: Path) -> None:
    path = tmp_path / "cdf.yaml"
    path.write_text(
        "op: aclnnCdf\n"
        "signature: aclnnStatus aclnnCdfGetWorkspaceSize(const aclTensor *cdf, aclTensor *out)\n"
        "reference: cdf * 2\n"
        "cases:\n"
        "  - {name: a, inputs: {cdf: {dtype: float32, shape: [3], data: [0.1, 0.4, 1.0]}}}\n"
    )
    code, out, row = bench(opcli, tmp_path, "in_order", path)
    assert code == 0, out
    assert row["real_time"] > 0
    assert "the inputs are the same in every sample" in out


def test_a_program_whose_timed_calls_are_wrong_has_no_time(opcli: Opcli, tmp_path: Path) -> None:
    program = tmp_path / "p.py"
    program.write_text(
        "import os, sys, numpy as np\n"
        "d, n = sys.argv[1], sys.argv[2]\n"
        "x, dy = (np.fromfile(f'{d}/inputs/{n}.bin', np.float32) for n in ('x', 'dy'))\n"
        "if not os.path.exists(n): open(n, 'w').write(d)\n"
        "timed = open(n).read() == d\n"
        "(dy if timed else dy / (x * (1 - x))).tofile(f'{d}/outputs/out.bin')\n"
    )
    command = f"{sys.executable} {program} {{dir}} {tmp_path / 'first'}"
    what = ("--op", "logit_grad", "--shape", "64", "--dtype", "float32", "--time", "1ms")
    done = opcli("bench", *what, "--candidate", command)
    assert done.code == 1
    assert "a wrong result has no time: WRONG AGAIN: in the last timed call" in " ".join(done.out.split())


def test_the_time_of_a_program_is_said_to_be_that_of_all_of_it(opcli: Opcli, tmp_path: Path) -> None:
    program = tmp_path / "p.py"
    program.write_text(
        "import sys, numpy as np\n"
        "d = sys.argv[1]\n"
        "x, dy = (np.fromfile(f'{d}/inputs/{n}.bin', np.float32) for n in ('x', 'dy'))\n"
        "(dy / (x * (1 - x))).tofile(f'{d}/outputs/out.bin')\n"
    )
    command = f"{sys.executable} {program} {{dir}}"
    what = ("--op", "logit_grad", "--shape", "64", "--dtype", "float32", "--time", "1ms")
    done = opcli("bench", *what, "--candidate", command)
    assert done.code == 0, done.out
    assert "the time is that of the whole program" in done.out


def test_what_does_not_go_together(opcli: Opcli, tmp_path: Path) -> None:
    for option, value in (("--against", "builtin"), ("--timer", "msprof"), ("--backend", "host")):
        done = opcli("bench", "--op", "logit_grad", "--candidate", "cat {dir}", option, value)
        assert done.code == 2
        assert f"does not go with {option}" in done.err
