"""``opcli doctor --self-test`` on the simulated CANN: green as it is, and a red line for whatever it does otherwise."""

from __future__ import annotations

import json
import os
import re
import string
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ascend_opcli.backends.cann.selftest import answer
from ascend_opcli.backends.cann.selftest_requests import Checked, SelfTestCheck
from ascend_opcli.execution.selftest import NAMES
from ascend_opcli.reporting.selftest import CHECKS, SAID, checked_lines
from tests import forked
from tests.cli.test_doctor import cann as cann
from tests.conftest import Opcli
from tests.simulated_cann.build import CannRoot, compiler, env


@dataclass(frozen=True)
class Seen:
    """A finished self-test: exit code, its checks by name, the text on stdout, that of the file."""

    code: int
    checks: dict[str, dict[str, Any]]
    out: str
    text: str

    def states(self) -> dict[str, str]:
        return {name: check["state"] for name, check in self.checks.items()}


def self_test(root: CannRoot, folder: Path, *options: str, **variables: str) -> Seen:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    environment = {**env(root, environment), "SIM_CANN_REPORT": "", **variables}
    done = forked.run(["doctor", "--self-test", *options], environment, cwd=folder)
    assert not done.stderr, done.stderr
    report = json.loads((folder / "opcli-self-test.json").read_text("utf-8"))
    checks = {check["name"]: check for check in report["self_test"]}
    return Seen(done.returncode, checks, done.stdout, (folder / "opcli-self-test.txt").read_text("utf-8"))


def test_the_simulation_keeps_to_all_that_is_taken_for_granted(cann: CannRoot, tmp_path: Path) -> None:
    modes = {"SIM_CANN_FRESH": "zero", "SIM_CANN_HANDLES": "reused"}
    tested = self_test(cann, tmp_path, **modes)
    assert tested.states() == dict.fromkeys(NAMES, "holds"), tested.out
    assert tested.code == 0
    assert "PARTLY WRITTEN: out, 1 of 1,024 elements" in tested.checks["planted"]["said"]
    assert not [check["touches"] for check in tested.checks.values() if check["touches"]]
    # The file to attach has all that was said, the machine included.
    assert tested.text.strip() in tested.out
    assert "Ascend910B2" in tested.text
    assert "attach opcli-self-test.json, opcli-self-test.txt" in tested.out


FAULTS = {
    "odd": "aclrtMemcpy:aligned=4",
    "padding": "aclrtMalloc:tight",
    "poison": "aclnnAdd:cleared@1",
    "guards": "aclnnAdd:shielded@2+",
    "repeatable": "aclSetAclOpExecutorRepeatable:fail",
    "l2": "aclrtMemsetAsync:bypass",
    "events": "aclrtEventElapsedTime:scale=1000",
    "log": "DlogFlush:late=900",
    "documented": "aclnnEluBackward:scale",
    "planted": "aclrtMemcpyAsync:blocks=32",
    "close": "aclrtResetDevice:slow=5200",
}
"""What the simulation is told to do otherwise; the rest is done by packages."""

SAYS = {
    "libraries": "undefined symbol: nobody_has_this",
    "served": "phase 1 of aclnnAmpUpdateScale is of .*libcust_opapi.so, phase 2 of .*libopapi_math.so",
    "odd": "a copy of 1 bytes to byte 1 of a buffer arrived elsewhere",
    "padding": "two allocations of 33 bytes lie 64 bytes apart, and the rule demands 96",
    "poison": "16396 of 16396 bytes of an output had changed after phase 1",
    "guards": "256 bytes out of its buffer does not show before its start",
    "repeatable": "CANN refuses to make the first executor of aclnnAdd repeatable",
    "l2": r"a launch takes [\d.]+ us after a flush",
    "events": r"64 copies of 16 MiB: [\d.e+]+ ms between events",
    "log": r"came after [\d.]+ s; opcli waits 0.0 s",
    "documented": "EluBackward FAIL: .*",
    "planted": "a copy that ends one element early is PASS",
    "close": "reset and finalize take 5.2. s; opcli waits 5 s",
}


def package(root: CannRoot, folder: Path, source: str, *options: str) -> str:
    library = folder / "op_api/lib/libcust_opapi.so"
    library.parent.mkdir(parents=True)
    command = [str(compiler()), "-shared", "-fPIC", "-x", "c", "-", "-o", str(library), *options]
    subprocess.run([*command, f"-L{root.lib64}"], input=source, text=True, check=True)
    return str(folder)


def test_whatever_differs_is_a_red_line_with_the_verdicts_it_touches(cann: CannRoot, tmp_path: Path) -> None:
    unbound = "int nobody_has_this(void);\nint aclnnMine(void) { return nobody_has_this(); }\n"
    half = "int aclnnAmpUpdateScaleGetWorkspaceSize(void) { return 561103; }\n"
    packages = [
        package(cann, tmp_path / "unbound", unbound),
        package(cann, tmp_path / "half", half, "-Wl,--no-as-needed", "-lopapi_math"),
    ]
    tested = self_test(
        cann,
        tmp_path,
        "--lang",
        "zh",
        SIM_CANN_FAULT=";".join(FAULTS.values()),
        SIM_CANN_TIME="aclnnAdd=1ms",
        ASCEND_CUSTOM_OPP_PATH=":".join(packages),
    )
    assert tested.states() == dict.fromkeys(NAMES, "differs"), tested.out
    assert tested.code == 3
    for name, check in tested.checks.items():
        assert re.search(SAYS[name], check["said"]), check
        assert check["touches"] == CHECKS[name][1][0]
        title, touches = (pair[1] for pair in CHECKS[name])
        assert re.search(
            f"^不符 .*{re.escape(title)}.*\n *影响：{re.escape(touches)}$", tested.text, re.MULTILINE
        )


def test_a_crash_costs_one_line_and_a_lost_device_the_rest(cann: CannRoot, tmp_path: Path) -> None:
    # The device opens for the doctor, for the checks, and after two of the three crashes.
    opens = f"4,{tmp_path / 'opens'}"
    fault = "aclnnAdd:segv=phase1@7;aclnnEluBackward:abort"
    tested = self_test(cann, tmp_path, SIM_CANN_FAULT=fault, SIM_CANN_OPENS=opens)
    assert tested.code == 3
    for name in ("poison", "l2"):  # the seventh call of the first worker, and of the second
        assert f"SIGSEGV in the check {name}" in tested.checks[name]["said"]
    assert "EluBackward FAIL: crash: SIGABRT" in tested.checks["documented"]["said"]
    red = {name for name, state in tested.states().items() if state == "differs"}
    assert red == {"poison", "l2", "documented"}
    lost = {name for name, state in tested.states().items() if state == "not checked"}
    assert lost == {"planted", "close"}


def test_without_a_device_nothing_is_called_checked(cann: CannRoot, tmp_path: Path) -> None:
    tested = self_test(cann, tmp_path, SIM_CANN_FAULT="aclrtSetDevice:fail")
    assert (tested.code, tested.states()) == (3, dict.fromkeys(NAMES, "not checked"))


def test_what_the_device_does_not_say_is_not_checked() -> None:
    session = SimpleNamespace(runtime=SimpleNamespace(l2_bytes=lambda: None))
    found = answer(session, SelfTestCheck("l2", None, None, "atlas_a2"), lambda step: None)
    assert (found.state, found.said) == ("not checked", "no_l2")


@pytest.mark.parametrize("language", [0, 1])
def test_every_sentence_can_be_said_in_both_languages(language: int) -> None:
    assert set(CHECKS) == set(NAMES)
    for english, chinese in SAID.values():
        blanks = [
            [field for _, field, _, _ in string.Formatter().parse(said) if field]
            for said in (english, chinese)
        ]
        assert sorted(blanks[0]) == sorted(blanks[1])
    line, touches = checked_lines(Checked("odd", "differs", "as_is", {"what": "x"}), ("en", "zh")[language])
    assert line.startswith(("differs", "不符")[language])
    assert touches.strip().startswith(("touches: ", "影响：")[language])


def test_a_package_of_ones_own_is_no_part_of_it(opcli: Opcli, tmp_path: Path) -> None:
    done = opcli("doctor", "--self-test", "--opp", tmp_path)
    assert (done.code, "leave out --opp" in done.err) == (2, True)
