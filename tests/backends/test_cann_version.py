"""``only: {cann}`` on a device: the version is that of the installed files, else that which the runtime says."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.backends.conftest import OnDevice
from tests.conftest import CaseFile
from tests.simulated_cann.build import CannRoot

CASES = """
    op: logit_grad
    defaults: {dtype: float32, shape: [4]}
    cases: [{name: new, only: {cann: ">=8.5"}}, {name: newer, only: {cann: ">=9.2"}}]
"""
UNKNOWN = {"SIM_ACL_WITHOUT": "get_version_str,get_cann_version"}


@pytest.mark.parametrize("in_process", [False, True])
@pytest.mark.parametrize(
    ("filed", "variables", "words", "reason"),
    [
        ("", {}, ("PASS", "SKIP"), "9.1.0 is installed"),
        ("", {"SIM_CANN_VERSION": "9.2.0"}, ("PASS", "PASS"), ""),
        ("", {"SIM_CANN_VERSION": "8.3.RC1"}, ("SKIP", "SKIP"), "8.3.RC1 is installed"),
        ("", UNKNOWN, ("SKIP", "SKIP"), "its version is not known here"),
        ("Version=8.5.0\n", {}, ("PASS", "SKIP"), "8.5.0 is installed"),
        ("Version=9.2.0\n", UNKNOWN, ("PASS", "PASS"), ""),
    ],
)
def test_the_version_that_counts(
    on_device: OnDevice,
    case_file: CaseFile,
    cann: CannRoot,
    tmp_path: Path,
    filed: str,
    variables: dict[str, str],
    words: tuple[str, str],
    reason: str,
    in_process: bool,
) -> None:
    root = tmp_path / "root"
    root.mkdir()
    for path in cann.path.iterdir():
        (root / path.name).symlink_to(path)
    if filed:
        (root / "version.info").write_text(filed)
    where = {"ASCEND_HOME_PATH": str(root), "ASCEND_TOOLKIT_HOME": str(root)}
    ran = on_device(case_file(CASES), *(["--in-process"] if in_process else []), **where, **variables)
    assert tuple(ran.words().values()) == words, ran.out + ran.err
    if reason:
        assert reason in ran.results["newer"]["reason"]
