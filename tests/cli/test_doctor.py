"""``opcli doctor``: what is there, what is missing, and the line that mends it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ascend_opcli.backends.cann import driver, symbols
from tests import forked
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
    command = ["doctor", *map(str, arguments)]
    text = forked.run(command, environment)
    done = forked.run([*command, "--json", "-"], environment)
    assert done.returncode == text.returncode
    return done.returncode, json.loads(done.stdout), text.stdout


def named(report: dict[str, Any], what: str) -> list[dict[str, str]]:
    return [f for f in report["findings"] if f["what"] == what]


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
    code, report, text = examine(cann, "cossh", "logit_grad")
    assert code == 3
    (found,) = named(report, "aclnnCossh")
    assert found["state"] == "missing"
    for part in (
        "found nowhere",
        "in none of the operator libraries",
        "unknown operator 'cossh'; did you mean 'cosh'?",
    ):
        assert part in found["found"]
    # The device is fine, and so is the other operator.
    assert report["device"]
    assert report["operators"] == {"aclnnCossh": False, "aclnnLogitGrad": True}
    assert text.splitlines()[-1] == "device runs will work, but not of aclnnCossh"


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


# --- nothing is claimed that was not seen ------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "x = 1",
        'print "hello"',
        'raise RuntimeError("boom")',
        "import no_such_module_xyz",
        "import sys; sys.exit(0)",
    ],
)
def test_a_foreign_acl_is_never_called_pyacl(cann: CannRoot, tmp_path: Path, text: str) -> None:
    (tmp_path / "acl.py").write_text(text)
    path = os.pathsep.join([str(tmp_path), str(ROOT), *(p for p in sys.path if p)])
    code, report, _ = examine(cann, PYTHONPATH=path)
    assert code == 3
    (found,) = named(report, "pyACL")
    assert found["state"] == "missing"
    assert f"the module acl at {tmp_path / 'acl.py'} is not pyACL" in found["found"]


def test_an_operator_that_the_package_lacks_is_missing_though_cann_has_it(
    cann: CannRoot, tmp_path: Path
) -> None:
    package = install_package(cann, "add_custom", tmp_path / "package")
    code, report, text = examine(cann, "logit_grad", "--opp", package)
    assert code == 3
    assert report["operators"] == {"aclnnLogitGrad": False}
    assert f"was asked from {package} but is served by {cann.lib64 / 'libopapi_nn.so'}" in text
    assert examine(cann, "add_custom", "--opp", package)[0] == 0


def test_what_a_library_defines_counts_where_no_header_declares_it(cann: CannRoot, tmp_path: Path) -> None:
    package = install_package(cann, "shadow", tmp_path / "package")
    assert not list(package.rglob("*.h"))
    for options, variables in ((("--opp", package), {}), ((), {"ASCEND_CUSTOM_OPP_PATH": str(package)})):
        _, report, _ = examine(cann, *options, **variables)
        (found,) = named(report, "shadowed")
        assert f"aclnnLogitGrad of {package} goes before the built-in one" in found["found"]
    other = install_package(cann, "shadow", tmp_path / "other")
    _, report, _ = examine(cann, "--opp", package, ASCEND_CUSTOM_OPP_PATH=f"{package}:{other}")
    assert [f["found"] for f in named(report, "twice")] == [f"aclnnLogitGrad is in {package} and {other}"]


def test_what_a_library_only_calls_or_a_header_only_mentions_shadows_nothing(
    cann: CannRoot, tmp_path: Path
) -> None:
    package = install_package(cann, "add_custom", tmp_path / "package")
    library = package / "op_api/lib/libcust_opapi.so"
    source = (
        "int aclnnLogitGradGetWorkspaceSize(void);\n"
        "int aclnnAddCustomGetWorkspaceSize(void) { return aclnnLogitGradGetWorkspaceSize(); }\n"
        "int aclnnAddCustom(void) { return 0; }\n"
    )
    command = [str(compiler()), "-shared", "-fPIC", "-x", "c", "-", "-o", str(library)]
    subprocess.run(command, input=source, text=True, check=True)
    (package / "op_api/include/note.h").write_text(
        "// aclnnStatus aclnnAddGetWorkspaceSize(const aclTensor *x);\n"
    )
    assert symbols.defined(library) == {"aclnnAddCustom"}
    _, report, _ = examine(cann, "--opp", package)
    assert not named(report, "shadowed")


@pytest.mark.parametrize("cut", [0, 4, 63, 64, 5000])
def test_a_file_that_is_no_whole_library_defines_nothing(cann: CannRoot, tmp_path: Path, cut: int) -> None:
    data = (cann.lib64 / "libopapi_nn.so").read_bytes()
    assert "aclnnLogitGrad" in symbols.defined(cann.lib64 / "libopapi_nn.so")
    (tmp_path / "cut.so").write_bytes(data[:cut])
    assert symbols.defined(tmp_path / "cut.so") == frozenset()
    # A header that points anywhere must not lead out of the file.
    for begin, end in ((0x28, 0x40), (0x28, 0x30), (0x3A, 0x40), (len(data) - 64 * 40, len(data))):
        (tmp_path / "wild.so").write_bytes(data[:begin] + b"\xff" * (end - begin) + data[end:])
        assert symbols.defined(tmp_path / "wild.so") == frozenset()
    os.mkfifo(tmp_path / "pipe.so")
    assert symbols.defined(tmp_path / "pipe.so") == frozenset()
    assert symbols.defined(tmp_path / "none.so") == symbols.defined(tmp_path) == frozenset()


def test_the_runtime_that_is_loaded_is_named_not_a_stub_in_front_of_it(
    cann: CannRoot, tmp_path: Path
) -> None:
    stub = tmp_path / "runtime/lib64/stub"
    stub.mkdir(parents=True)
    for name in ("libascendcl.so", "libnnopbase.so"):
        (stub / name).write_text("stub")
    code, report, _ = examine(cann, LD_LIBRARY_PATH=f"{stub}:{cann.lib64}")
    assert code == 0
    assert named(report, "libascendcl.so")[0]["found"] == str(cann.lib64 / "libascendcl.so")
    assert named(report, "libnnopbase.so")[0]["found"] == str(cann.lib64 / "libnnopbase.so")
    assert named(report, "stub libraries")[0]["state"] == "note"


def test_a_library_that_is_there_but_cannot_be_opened_is_not_called_ok(
    cann: CannRoot, tmp_path: Path
) -> None:
    broken = tmp_path / "lib64"
    broken.mkdir()
    for name in ("libascendcl.so", "libnnopbase.so"):
        (broken / name).write_text("text")
    code, report, _ = examine(cann, LD_LIBRARY_PATH=str(broken))
    assert code == 3
    for name in ("libascendcl.so", "libnnopbase.so"):
        (found,) = named(report, name)
        assert (found["state"], "file too short" in found["found"]) == ("missing", True)
    package = install_package(cann, "add_custom", tmp_path / "package")
    library = package / "op_api/lib/libcust_opapi.so"
    library.write_text("text")
    code, report, _ = examine(cann, "--opp", package)
    (found,) = [f for f in named(report, "operator library") if f["state"] != "ok"]
    assert (code, found["state"]) == (3, "missing")
    assert f"{library} cannot be opened: file too short" in found["found"]
    assert f"build or install {library} again" in found["fix"]
    # Named by the environment alone it stands in the way of its own operators only.
    code, report, _ = examine(cann, ASCEND_CUSTOM_OPP_PATH=str(package))
    (found,) = [f for f in named(report, "operator library") if f["state"] != "ok"]
    assert (code, found["state"]) == (0, "note")


def test_a_library_that_takes_its_process_along_is_named(cann: CannRoot, tmp_path: Path) -> None:
    package = install_package(cann, "add_custom", tmp_path / "package")
    library = package / "op_api/lib/libcust_opapi.so"
    source = "#include <stdlib.h>\n__attribute__((constructor)) static void f(void) { abort(); }\n"
    command = [str(compiler()), "-shared", "-fPIC", "-x", "c", "-", "-o", str(library)]
    subprocess.run(command, input=source, text=True, check=True)
    code, report, _ = examine(cann, "--opp", package)
    assert code == 3
    lost = [f["found"] for f in report["findings"] if f["state"] == "missing"]
    assert any(str(library) in found and "SIGABRT" in found for found in lost), lost


def test_a_device_that_does_not_open_leaves_the_libraries_looked_at(cann: CannRoot) -> None:
    code, report, _ = examine(cann, "logit_grad", SIM_CANN_FAULT="aclrtSetDevice:fail=507033")
    assert code == 3
    assert "507033" in named(report, "device 0")[0]["found"]
    assert not report["device"]
    assert report["operators"] == {"aclnnLogitGrad": True}


@pytest.mark.parametrize("json_too", [False, True])
def test_a_folder_that_is_no_package_is_wrong_usage(opcli: Opcli, tmp_path: Path, json_too: bool) -> None:
    done = opcli("doctor", "--opp", tmp_path / "nowhere", *(["--json", "-"] if json_too else []))
    assert done.code == 2
    assert f"{tmp_path / 'nowhere'} is no folder that there is" in done.err
    assert opcli("doctor", "--opp", tmp_path).code == 2


# --- versions ----------------------------------------------------------------------------------------------------


def with_files(cann: CannRoot, tmp_path: Path, files: dict[str, str]) -> dict[str, str]:
    """The environment of a root of its own with the same libraries and these files."""
    root = tmp_path / "root"
    root.mkdir(parents=True)
    for path in cann.path.iterdir():
        (root / path.name).symlink_to(path)
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return {"ASCEND_HOME_PATH": str(root), "ASCEND_TOOLKIT_HOME": str(root)}


@pytest.mark.parametrize(
    ("files", "running", "state", "said"),
    [
        ({}, "9.1.0", "ok", "9.1.0 as the runtime says"),
        ({"version.cfg": "toolkit_running_version=[8.0.RC1:8.0.RC1]\n"}, "8.0.0", "ok", ", 8.0.RC1"),
        ({"compiler/version.info": "Version=8.3.0\n"}, "8.3.0", "ok", ", 8.3.0"),
        ({"share/info/runtime/version.info": "Version=9.1.0\n"}, "9.1.0", "ok", ", 9.1.0"),
        (
            {"version.info": "Version=8.5.0\n"},
            "9.1.0",
            "note",
            ", 8.5.0; the runtime that is loaded says 9.1.0",
        ),
    ],
)
def test_the_version_of_cann_is_that_of_its_files_else_that_of_the_runtime(
    cann: CannRoot, tmp_path: Path, files: dict[str, str], running: str, state: str, said: str
) -> None:
    _, report, _ = examine(cann, **with_files(cann, tmp_path, files), SIM_CANN_VERSION=running)
    (found,) = named(report, "CANN")
    assert found["state"] == state
    assert found["found"].endswith(said)


def test_a_version_that_nobody_says_is_not_checked(cann: CannRoot) -> None:
    _, report, _ = examine(cann, SIM_ACL_WITHOUT="get_version_str,get_cann_version")
    assert "version not checked" in named(report, "CANN")[0]["found"]


# --- the driver --------------------------------------------------------------------------------------------------


def machine(
    root: Path, version: str | None, *devices: str, smi: str | None = None
) -> dict[str, tuple[str, str]]:
    """What is said of a machine with these files below ``root``."""
    (root / "dev").mkdir()
    for name in devices:
        (root / "dev" / name).touch()
    if version is not None:
        (root / "usr/local/Ascend/driver").mkdir(parents=True)
        (root / "usr/local/Ascend/driver/version.info").write_text(
            f"Version={version}\nascendhal_version=7.35\n"
        )
    if smi is not None:
        (root / "bin").mkdir()
        (root / "bin/npu-smi").write_text(f"#!/bin/sh\n{smi}\n")
        (root / "bin/npu-smi").chmod(0o755)
    found = list(driver.examine({"PATH": str(root / "bin")}, 0, root))
    assert all(f.fix for f in found if f.state != "ok")
    return {f.what: (f.state, f.found) for f in found}


def test_a_machine_without_a_driver_is_not_called_checked(tmp_path: Path) -> None:
    said = machine(tmp_path, None)
    assert said["device files"] == ("note", "no /dev/davinci*")
    state, found = said["driver"]
    assert state == "note"
    for part in ("version not checked", "davinci_manager", "health not checked: no npu-smi"):
        assert part in found


@pytest.mark.parametrize(
    ("smi", "state", "said"),
    [
        (None, "ok", "health not checked: no npu-smi"),
        ("echo 'Health Status : OK'", "ok", "npu-smi: card 0: OK"),
        ("echo '   Health : OK'; echo '   Health : Alarm'", "note", "npu-smi: card 0: Alarm"),
        (
            "echo 'This device does not support querying.'; exit 1",
            "ok",
            "health not checked: npu-smi cannot tell",
        ),
        ("exit 0", "ok", "health not checked: npu-smi cannot tell"),
    ],
)
def test_the_driver_is_told_by_its_file_its_manager_and_npu_smi(
    tmp_path: Path, smi: str | None, state: str, said: str
) -> None:
    there = machine(tmp_path, "25.2.0", "davinci0", "davinci_manager", smi=smi)
    assert there["device files"] == ("ok", str(tmp_path / "dev/davinci0"))
    assert there["driver"][0] == state
    assert there["driver"][1].startswith("version 25.2.0; ")
    assert said in there["driver"][1]


def test_devices_without_their_manager_cannot_be_opened(tmp_path: Path) -> None:
    state, found = machine(tmp_path, None, "davinci0")["driver"]
    assert (state, "davinci_manager" in found) == ("missing", True)


MAP_A2 = """
        NPU ID                         Chip ID                        Chip Logic ID                  Chip Name
        4                              0                              0                              Ascend 910B3
        4                              1                              -                              Mcu
        5                              0                              1                              Ascend 910B3
"""
MAP_A3 = """
        NPU ID      Chip ID      Chip Logic ID      Chip Phy-ID      Chip Name
        0           0            0                  0                Ascend910
        0           1            1                  1                Ascend910
        1           0            2                  2                Ascend910
"""


@pytest.mark.parametrize(
    ("table", "visible", "device", "asked"),
    [
        (MAP_A2, None, 1, "-i 5 -c 0"),
        (MAP_A2, "1", 0, "-i 5 -c 0"),
        (MAP_A3, None, 1, "-i 0 -c 1"),
        (MAP_A3, "0,2", 1, "-i 1 -c 0"),
        ("unknown option -m", None, 1, "-i 1"),
    ],
)
def test_npu_smi_is_asked_for_the_card_and_not_for_the_device_number(
    tmp_path: Path, table: str, visible: str | None, device: int, asked: str
) -> None:
    (tmp_path / "npu-smi").write_text(
        f"#!/bin/sh\nif [ $2 = -m ]; then /bin/cat <<E\n{table}\nE\nexit; fi\n"
        f'echo "$@" > {tmp_path}/asked\necho "Health : OK"\n'
    )
    (tmp_path / "npu-smi").chmod(0o755)
    (tmp_path / "dev").mkdir()
    environ = {"PATH": str(tmp_path)} | ({"ASCEND_RT_VISIBLE_DEVICES": visible} if visible else {})
    assert any("OK" in f.found for f in driver.examine(environ, device, tmp_path))
    assert (tmp_path / "asked").read_text().strip() == f"info -t health {asked}"
