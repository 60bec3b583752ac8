"""``opcli doctor``: what is there, what is missing, and the line that mends it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import ROOT, Opcli
from tests.simulated_cann.build import CannRoot, build, compiler, env, install_package

CANN = (
    "ASCEND_HOME_PATH",
    "ASCEND_TOOLKIT_HOME",
    "ASCEND_OPP_PATH",
    "ASCEND_CUSTOM_OPP_PATH",
    "LD_LIBRARY_PATH",
)


@pytest.fixture(scope="module")
def cann(tmp_path_factory: pytest.TempPathFactory) -> CannRoot:
    if compiler() is None:
        pytest.skip("no C compiler, or not Linux: the simulated CANN cannot be built")
    return build(tmp_path_factory.getbasetemp() / "simulated_cann")


def examine(root: CannRoot, *arguments: object, **variables: str) -> tuple[int, dict[str, Any], str]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    environment = {**env(root, environment), "SIM_CANN_REPORT": "", **variables}
    command = [sys.executable, "-m", "ascend_opcli", "doctor", *map(str, arguments)]
    text = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    done = subprocess.run(
        [*command, "--json", "-"], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == text.returncode
    return done.returncode, json.loads(done.stdout), text.stdout


def states(report: dict[str, Any]) -> dict[str, str]:
    return {f["what"]: f["state"] for f in report["findings"]}


def test_a_bare_laptop_is_told_that_host_runs_work(opcli: Opcli, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in CANN:
        monkeypatch.delenv(name, raising=False)
    done = opcli("doctor")
    assert done.code == 3
    assert "host runs will work; device runs will not" in done.out
    assert "fix: " in done.out
    report = json.loads(opcli("doctor", "--json", "-").out)
    assert (report["schema"], report["device"], report["host"]) == ("opcli.doctor/1", False, True)
    for finding in report["findings"]:
        assert finding["state"] != "missing" or finding["fix"]


def test_a_whole_cann_is_ready_and_every_part_has_its_place(cann: CannRoot) -> None:
    code, report, text = examine(cann, "logit_grad", "aclnnAdd")
    assert code == 0
    assert report["device"]
    assert "device runs will work" in text
    found = {f["what"]: f["found"] for f in report["findings"]}
    assert "Ascend910B2, product atlas_a2" in found["device 0"]
    assert found["libnnopbase.so"] == str(cann.lib64 / "libnnopbase.so")
    logit = [f["found"] for f in report["findings"] if f["what"] == "aclnnLogitGrad"]
    assert any("libopapi_nn.so" in f for f in logit)
    assert any("agree" in f for f in logit)


def test_an_operator_that_is_nowhere_is_missing(cann: CannRoot) -> None:
    code, report, _ = examine(cann, "aclnnNoSuchThing")
    assert code == 3
    assert states(report)["aclnnNoSuchThing"] in ("missing", "note")
    assert any(f["state"] == "missing" and "operator libraries" in f["found"] for f in report["findings"])


@pytest.mark.parametrize(
    ("variables", "what"),
    [
        ({"ASCEND_OPP_PATH": "/nowhere"}, "operators"),
        ({"ASCEND_HOME_PATH": "/nowhere", "ASCEND_TOOLKIT_HOME": "/nowhere"}, "CANN"),
        ({"LD_LIBRARY_PATH": ""}, "libascendcl.so"),
        ({"PYTHONPATH": str(ROOT)}, "pyACL"),
        ({"SIM_CANN_FAULT": "aclrtSetDevice:fail=507033"}, "device 0"),
    ],
)
def test_what_is_missing_is_named_with_its_mend(cann: CannRoot, variables: dict[str, str], what: str) -> None:
    if "PYTHONPATH" in variables:  # everything but pyACL's folder
        variables = {
            "PYTHONPATH": os.pathsep.join([str(ROOT), *(p for p in sys.path if "site-packages" in p)])
        }
    code, report, _ = examine(cann, **variables)
    assert code == 3
    missing = {f["what"]: f["fix"] for f in report["findings"] if f["state"] == "missing"}
    assert missing.get(what), report


def test_a_package_that_shadows_a_built_in_is_noted(cann: CannRoot, tmp_path: Path) -> None:
    package = install_package(cann, "shadow", tmp_path / "package")
    header = "aclnnStatus aclnnLogitGradGetWorkspaceSize(const aclTensor *x, aclTensor *out);"
    (package / "op_api/include").mkdir(parents=True, exist_ok=True)
    (package / "op_api/include/aclnn_logit_grad.h").write_text(header)
    _, report, _ = examine(cann, "logit_grad", "--opp", package)
    assert states(report)["shadowed"] == "note"
    assert any("the header counts" in f["found"] for f in report["findings"] if f["what"] == "aclnnLogitGrad")
