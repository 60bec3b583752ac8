"""Operator packages as they lie on developers' machines: odd headers, links, libraries that cannot be opened."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.backends.conftest import OnDevice
from tests.conftest import CaseFile
from tests.simulated_cann.build import CannRoot, compiler, install_package, install_vendor

CUSTOM = """
    op: add_custom
    reference: x + y
    cases: [{name: a, inputs: {x: {dtype: float16, shape: [9]}, y: {dtype: float16, shape: [9]}}}]
"""
LOGIT = """
    op: logit_grad
    cases: [{name: a, dtype: float32, shape: [8]}]
"""


@pytest.fixture
def package(cann: CannRoot, tmp_path: Path) -> Path:
    return install_package(cann, "add_custom", tmp_path / "package")


# --- headers ---------------------------------------------------------------------------------------------------------


def test_a_comment_in_a_header_of_a_package_hides_no_built_in_operator(
    on_device: OnDevice, case_file: CaseFile, package: Path
) -> None:
    (package / "op_api/include/aaa.h").write_text("// like aclnnLogitGradGetWorkspaceSize(x, dy, ...)\n")
    ran = on_device(case_file(LOGIT), ASCEND_CUSTOM_OPP_PATH=str(package))
    assert (ran.code, ran.words()) == (0, {"a": "PASS"}), ran.out + ran.err


@pytest.mark.parametrize("inline", [False, True])
def test_a_header_that_cannot_be_read_is_named(
    on_device: OnDevice, case_file: CaseFile, package: Path, inline: bool
) -> None:
    header = package / "op_api/include/aclnn_add_custom.h"
    header.write_text("aclnnStatus aclnnAddCustomGetWorkspaceSize(const MyStruct *x, aclTensor *z);\n")
    path = case_file(CUSTOM)
    call = ("--op", "add_custom", "--dtype", "float16", "--shape", "8") if inline else (path,)
    ran = on_device(*call, "--opp", package)
    assert ran.code == 2
    assert f"the header {header}: the parameter 'const MyStruct *x'" in ran.err
    assert inline or f"{path.name}:2:" in ran.err


# --- libraries that are links ----------------------------------------------------------------------------------------

LIBRARY = Path("op_api/lib/libcust_opapi.so")


def link_file(package: Path, build: Path) -> Path:
    build.mkdir()
    (package / LIBRARY).rename(build / "libmy_ops.so")
    (package / LIBRARY).symlink_to(build / "libmy_ops.so")
    return package


def link_twice(package: Path, build: Path) -> Path:
    link_file(package, build)
    (build / "latest.so").symlink_to("libmy_ops.so")
    (package / LIBRARY).unlink()
    (package / LIBRARY).symlink_to(build / "latest.so")
    return package


def link_lib_folder(package: Path, build: Path) -> Path:
    (package / LIBRARY).parent.rename(build)
    (package / LIBRARY).parent.symlink_to(build)
    return package


def link_package(package: Path, build: Path) -> Path:
    package.rename(build)
    package.symlink_to(build)
    return package


def link_vendor(package: Path, build: Path) -> Path:
    package.rename(build)
    (package / "vendors").mkdir(parents=True)
    (package / "vendors/mine").symlink_to(build)
    return package


def no_link(package: Path, build: Path) -> Path:
    return package


@pytest.mark.parametrize("link", [no_link, link_file, link_twice, link_lib_folder, link_package, link_vendor])
def test_a_package_made_of_links_serves_its_operator(
    on_device: OnDevice,
    case_file: CaseFile,
    package: Path,
    tmp_path: Path,
    link: Callable[[Path, Path], Path],
) -> None:
    ran = on_device(case_file(CUSTOM), "--opp", link(package, tmp_path / "build"))
    assert (ran.code, ran.words()) == (0, {"a": "PASS"}), ran.out + ran.err
    assert Path(ran.results["a"]["served_by"]).name == Path(os.path.realpath(package / LIBRARY)).name or (
        link is link_vendor
    )


def test_a_package_whose_library_is_a_link_to_that_of_cann_serves_nothing_of_its_own(
    on_device: OnDevice, case_file: CaseFile, cann: CannRoot, package: Path
) -> None:
    (package / LIBRARY).unlink()
    (package / LIBRARY).symlink_to(cann.lib64 / "libopapi_nn.so")
    ran = on_device(case_file(LOGIT), "--opp", package)
    assert (ran.code, ran.words()) == (3, {"a": "ERROR"})
    assert (
        f"was asked from {package} but is served by {cann.lib64 / 'libopapi_nn.so'}"
        in ran.results["a"]["reason"]
    )


def test_a_link_does_not_let_another_package_serve(
    on_device: OnDevice, case_file: CaseFile, cann: CannRoot, package: Path, tmp_path: Path
) -> None:
    link_file(package, tmp_path / "build")
    other = install_package(cann, "shadow", tmp_path / "other")
    ran = on_device(case_file(LOGIT), "--opp", package, ASCEND_CUSTOM_OPP_PATH=str(other))
    assert (ran.code, ran.words()) == (3, {"a": "ERROR"})
    assert f"is served by {other / LIBRARY}" in ran.results["a"]["reason"]


# --- libraries that cannot be opened ---------------------------------------------------------------------------------


def text(path: Path) -> None:
    path.write_text("text\n")


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:100])


def another_machine(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[18:20] = (0xB7 if data[18] == 0x3E else 0x3E).to_bytes(2, "little")
    path.write_bytes(data)


def link_to_nothing(path: Path) -> None:
    path.unlink()
    path.symlink_to("/nowhere/libcust_opapi.so")


def folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def compiled(path: Path, source: str, *flags: str) -> None:
    """A library made of C source in the place of the package's."""
    path.unlink()
    command = [str(compiler()), "-shared", "-fPIC", "-x", "c", "-", "-o", str(path), *flags]
    subprocess.run(command, input=source, text=True, check=True, capture_output=True)


def undefined_symbol(path: Path) -> None:
    compiled(path, "extern int nobody_has_this; int *p = &nobody_has_this;")


def library_missing(path: Path) -> None:
    other = path.with_name("libgone.so")
    shutil.copy(path, other)
    compiled(other, "int gone(void) { return 0; }")
    compiled(path, "int gone(void); int f(void) { return gone(); }", f"-L{path.parent}", "-lgone")
    other.unlink()


@pytest.mark.parametrize(
    ("spoil", "why", "fix"),
    [
        (text, "file too short", "build or install"),
        (cut, "", "build or install"),
        (another_machine, "it is built for ", "build or install"),
        (link_to_nothing, "No such file or directory", "build or install"),
        (folder, "", "build or install"),
        (undefined_symbol, "undefined symbol: nobody_has_this", "against the CANN that is installed"),
        (
            library_missing,
            "libgone.so: cannot open shared object file",
            "put the folder of libgone.so on LD_LIBRARY_PATH",
        ),
    ],
)
@pytest.mark.parametrize("case", [CUSTOM, LOGIT], ids=["its own", "shadowing"])
def test_why_the_library_of_a_package_cannot_be_opened_is_said(
    on_device: OnDevice,
    case_file: CaseFile,
    package: Path,
    spoil: Callable[[Path], None],
    why: str,
    fix: str,
    case: str,
) -> None:
    spoil(package / LIBRARY)
    ran = on_device(case_file(case), "--opp", package)
    assert (ran.code, ran.words()) == (3, {"a": "ERROR"})
    reason = ran.results["a"]["reason"]
    assert f"{package / LIBRARY} cannot be opened: " in reason
    assert why in reason
    assert fix in reason.rpartition("; ")[2], reason


def test_a_library_of_cann_that_cannot_be_opened_is_named_where_an_operator_is_missing(
    on_device: OnDevice, case_file: CaseFile, cann: CannRoot, tmp_path: Path
) -> None:
    root = tmp_path / "cann"
    shutil.copytree(cann.path, root, symlinks=True)
    text(root / "lib64/libopapi_nn.so")
    ran = on_device(
        case_file(LOGIT),
        ASCEND_HOME_PATH=str(root),
        ASCEND_TOOLKIT_HOME=str(root),
        LD_LIBRARY_PATH=str(root / "lib64"),
    )
    assert ran.code == 3
    assert f"{root / 'lib64/libopapi_nn.so'} cannot be opened: file too short" in ran.results["a"]["reason"]
    # The libraries of other releases, which are simply not there, are no cause.
    assert "libaclnn" not in ran.results["a"]["reason"]


RELU = """
    op: relu
    cases: [{name: a, dtype: float32, shape: [8]}]
"""
PROTOTYPE = """aclnnStatus aclnnLogitGradGetWorkspaceSize(
    const aclTensor *x, const aclTensor *dy, double eps, aclTensor *out, uint64_t *size, aclOpExecutor **executor);
"""
DEFINED = "int aclnnLogitGradGetWorkspaceSize(void) { return 0; } int aclnnLogitGrad(void) { return 0; }"


@pytest.mark.parametrize("told", ["by its symbols", "by its header", "by nothing"])
@pytest.mark.parametrize("how", ["ASCEND_CUSTOM_OPP_PATH", "vendors"])
def test_a_package_that_cannot_be_loaded_is_not_passed_over_in_silence(
    on_device: OnDevice, case_file: CaseFile, cann: CannRoot, tmp_path: Path, how: str, told: str
) -> None:
    opp = tmp_path / "opp"
    broken = install_vendor(cann, "shadow", opp)
    source = "extern int nobody_has_this; int *p = &nobody_has_this;"
    compiled(broken / LIBRARY, source + (DEFINED if told == "by its symbols" else ""))
    if told == "by its header":
        (broken / "op_api/include/aclnn_logit_grad.h").write_text(PROTOTYPE)
    place = {"ASCEND_OPP_PATH": str(opp)} if how == "vendors" else {how: str(broken)}
    ran = on_device(case_file(LOGIT), **place)
    assert ran.words() == {"a": "PASS"}
    notes = " ".join(ran.results["a"]["notes"])
    word = "may have" if told == "by nothing" else "has"
    assert f"{broken / LIBRARY}, which {word} aclnnLogitGrad, was passed over" in notes
    assert "undefined symbol: nobody_has_this" in notes
    if told != "by nothing":
        assert "passed over" not in " ".join(on_device(case_file(RELU), **place).results["a"]["notes"])


def test_two_packages_with_one_operator_are_both_named(
    on_device: OnDevice, case_file: CaseFile, cann: CannRoot, tmp_path: Path
) -> None:
    one, other = (install_package(cann, "add_custom", tmp_path / name) for name in ("one", "other"))
    ran = on_device(case_file(CUSTOM), ASCEND_CUSTOM_OPP_PATH=f"{one}:{other}")
    assert ran.words() == {"a": "PASS"}
    notes = " ".join(ran.results["a"]["notes"])
    assert (
        f"two packages have aclnnAddCustom: {one / LIBRARY} serves it, {other / LIBRARY} has it too" in notes
    )


def test_half_an_operator_is_not_passed_over_in_silence(
    on_device: OnDevice, case_file: CaseFile, cann: CannRoot, tmp_path: Path
) -> None:
    package = install_package(cann, "shadow", tmp_path / "half")
    compiled(package / LIBRARY, "int aclnnLogitGrad(void) { return 0; }")
    ran = on_device(case_file(LOGIT), ASCEND_CUSTOM_OPP_PATH=str(package))
    assert ran.words() == {"a": "PASS"}
    said = f"{package / LIBRARY}, which has one of the two functions of aclnnLogitGrad alone, was passed over"
    assert said in ran.results["a"]["notes"]
    # Linked against the built-in library it is not passed over: the other half is found through it.
    compiled(
        package / LIBRARY,
        "int aclnnLogitGrad(void) { return 0; }",
        f"-L{cann.lib64}",
        "-Wl,--no-as-needed",
        "-lopapi_nn",
    )
    ran = on_device(case_file(LOGIT), leaks=True, ASCEND_CUSTOM_OPP_PATH=str(package))
    notes = ran.results["a"]["notes"]
    assert (
        f"phase 1 of aclnnLogitGrad is of {cann.lib64 / 'libopapi_nn.so'}, phase 2 of {package / LIBRARY}"
        in notes
    )


# --- folders that hold no package ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda path: None, "is no folder that there is"),
        (lambda path: path.write_text("x"), "is a file"),
        (lambda path: path.mkdir(), "holds no operator package"),
        (lambda path: (path / "vendors").mkdir(parents=True), "holds no operator package"),
    ],
)
def test_a_folder_that_holds_no_package_is_wrong_usage(
    on_device: OnDevice, case_file: CaseFile, tmp_path: Path, make: Callable[[Path], object], sentence: str
) -> None:
    make(tmp_path / "given")
    ran = on_device(case_file(LOGIT), "--opp", tmp_path / "given")
    assert ran.code == 2
    assert f"{tmp_path / 'given'} {sentence}" in ran.err
