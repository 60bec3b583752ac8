"""Operator packages as they lie on developers' machines: odd headers, links, libraries that cannot be opened."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.backends.conftest import OnDevice
from tests.conftest import CaseFile
from tests.simulated_cann.build import CannRoot, install_package

CUSTOM = """
    op: add_custom
    cases: [{name: a, dtype: float16, shape: [8], expect: {outputs: ignore}}]
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
