"""The pytest plugin and run_case with a device: one worker for a run, and a fault costs one case."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT, CaseFile
from tests.simulated_cann.build import CannRoot, env

FOUR = """
    op: logit_grad
    defaults: {dtype: float32, shape: [64]}
    cases: [{name: a}, {name: b}, {name: c}, {name: d}]
"""


@pytest.fixture
def environment(cann: CannRoot, tmp_path: Path) -> dict[str, str]:
    path = os.pathsep.join([str(ROOT), *filter(None, sys.path)])
    return {
        **env(cann, {**os.environ, "PYTHONPATH": path}),
        "SIM_CANN_REPORT": str(tmp_path / "account.jsonl"),
    }


def python(environment: dict[str, str], folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.mark.parametrize("backend", ["auto", "device"])
def test_a_fault_costs_one_item_and_the_worker_ends_with_the_run(
    environment: dict[str, str],
    case_file: CaseFile,
    tmp_path: Path,
    load_plugin: tuple[str, ...],
    backend: str,
) -> None:
    case_file(FOUR)
    environment["SIM_CANN_FAULT"] = "aclnnLogitGrad:nothing@2"
    command = ("-m", "pytest", "-v", "-p", "no:cacheprovider", *load_plugin)
    done = python(environment, tmp_path, *command, f"--opcli-backend={backend}", "a.yaml")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "1 failed, 3 passed" in done.stdout
    assert "a.yaml::b FAILED" in done.stdout
    assert "FAIL a.yaml::b  (aclnnLogitGrad, " in done.stdout
    assert "kernel wrote nothing" in done.stdout or "not written" in done.stdout
    assert "(host)" not in done.stdout
    assert "no operator was run" not in done.stdout
    accounts = [json.loads(line) for line in (tmp_path / "account.jsonl").read_text().splitlines()]
    (last,) = accounts  # one worker served all four
    assert not any(last["live"].values())


def test_run_case_on_a_device(environment: dict[str, str], case_file: CaseFile, tmp_path: Path) -> None:
    case_file(FOUR)
    script = (
        "from ascend_opcli import run_case\n"
        "result = run_case('a.yaml::a', backend='device', check=True)\n"
        "print(result.verdict.word.value, result.backend)\n"
    )
    (tmp_path / "script.py").write_text(script, "utf-8")
    done = python(environment, tmp_path, "script.py")
    assert done.stdout == "PASS device\n", done.stderr
    environment["SIM_CANN_FAULT"] = "aclnnLogitGrad:phase1=161002"
    done = python(environment, tmp_path, "script.py")
    assert done.returncode == 1
    assert "AssertionError: FAIL a.yaml::a  (aclnnLogitGrad, " in done.stderr
    assert "161002" in done.stderr


def test_the_plugins_timeout_and_device_reach_the_worker(
    environment: dict[str, str], case_file: CaseFile, tmp_path: Path, load_plugin: tuple[str, ...]
) -> None:
    case_file(FOUR)
    command = ("-m", "pytest", "-v", "-p", "no:cacheprovider", *load_plugin, "--opcli-backend=device")
    environment["SIM_CANN_FAULT"] = "aclnnLogitGrad:hang@2"
    done = python(environment, tmp_path, *command, "--opcli-timeout=1", "a.yaml")
    # The worker that takes the place of a hanging one counts its calls anew.
    assert "2 failed, 2 passed" in done.stdout, done.stdout + done.stderr
    assert "hang: no answer within 1 s" in done.stdout
    del environment["SIM_CANN_FAULT"]
    done = python(environment, tmp_path, *command, "--opcli-device=99", "a.yaml")
    assert "4 errors" in done.stdout, done.stdout + done.stderr
    assert "aclrtSetDevice" in done.stdout


@pytest.mark.parametrize(
    ("workers", "visible", "option", "opened"),
    [
        (2, "0,1", 0, {0, 1}),
        (3, "0,1", 0, {0, 1}),
        (2, "0,1,2", 1, {1, 2}),
        (2, "0", 0, {0}),
        (2, "", 0, {0}),
    ],
)
def test_each_xdist_worker_takes_a_device_of_its_own_while_there_are_enough(
    environment: dict[str, str],
    case_file: CaseFile,
    tmp_path: Path,
    load_plugin: tuple[str, ...],
    workers: int,
    visible: str,
    option: int,
    opened: set[int],
) -> None:
    case_file(FOUR)
    environment["SIM_CANN_DEVICES"] = "4"
    if visible:
        environment["ASCEND_RT_VISIBLE_DEVICES"] = visible
    command = ("-m", "pytest", "-p", "no:cacheprovider", *load_plugin, "--opcli-backend=device")
    done = python(
        environment, tmp_path, *command, f"-n{workers}", "--dist=each", f"--opcli-device={option}", "a.yaml"
    )
    assert f"{4 * workers} passed" in done.stdout, done.stdout + done.stderr
    accounts = [json.loads(line) for line in (tmp_path / "account.jsonl").read_text().splitlines()]
    assert len(accounts) == workers
    assert {account["device"] for account in accounts} == opened
