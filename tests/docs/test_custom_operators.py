"""docs/custom-operators.md: the worked example runs, on the host and found through a vendor's package."""

from __future__ import annotations

import re
import sys
from importlib.metadata import entry_points
from pathlib import Path

import pytest

from tests.backends.conftest import OnDevice, cann, on_device  # noqa: F401
from tests.conftest import ROOT, CaseFile, Opcli
from tests.simulated_cann.build import CannRoot, install_vendor

DOC = (ROOT / "docs" / "custom-operators.md").read_text("utf-8")
CASES = (ROOT / "docs" / "case-files.md").read_text("utf-8")


def block(mark: str) -> str:
    match = re.search(rf"<!-- {mark} -->\n```\w+\n(.*?)```", DOC, re.DOTALL)
    assert match, mark
    return match[1]


def test_the_example_passes_on_the_host(opcli: Opcli, case_file: CaseFile) -> None:
    done = opcli("run", case_file(block("case"), "add_custom.yaml"), "--backend", "host")
    assert done.code == 0, done.out + done.err


def test_the_example_is_found_through_its_vendors_package(
    on_device: OnDevice,  # noqa: F811
    case_file: CaseFile,
    cann: CannRoot,  # noqa: F811
    tmp_path: Path,
) -> None:
    opp = tmp_path / "opp"
    package = install_vendor(cann, "add_custom", opp)
    ran = on_device(case_file(block("case"), "add_custom.yaml"), ASCEND_OPP_PATH=str(opp))
    assert ran.code == 0, ran.out + ran.err
    assert set(ran.words().values()) == {"PASS"}
    assert len(ran.results) == 8
    for result in ran.results.values():
        assert result["backend"] == "device"
        assert Path(result["served_by"]).is_relative_to(package.resolve())


def test_a_faulty_kernel_of_the_example_is_seen(
    on_device: OnDevice,  # noqa: F811
    case_file: CaseFile,
    cann: CannRoot,  # noqa: F811
    tmp_path: Path,
) -> None:
    install_vendor(cann, "add_custom", tmp_path / "opp")
    path = case_file(block("case"), "add_custom.yaml")
    ran = on_device(path, ASCEND_OPP_PATH=str(tmp_path / "opp"), SIM_CANN_FAULT="aclnnAddCustom:ulp")
    assert ran.code == 1
    assert "FAIL" in ran.words().values()


def test_every_function_of_the_language_is_named_and_no_other() -> None:
    from ascend_opcli.expression.functions import FUNCTIONS

    section = DOC[DOC.index("| kind | functions |") : DOC.index("Floats arrive as")]
    assert set(re.findall(r"`(\w+)`", section)) == set(FUNCTIONS)


def test_every_word_of_derived_data_is_named() -> None:
    from ascend_opcli.reference import derived

    for word in set(derived._KNOWN) - set(derived.FUNCTIONS):
        assert f"`{word}(" in CASES, word


def test_the_derived_example_of_the_docs_loads(opcli: Opcli, case_file: CaseFile) -> None:
    text = re.search(r"```yaml\n((?:(?!```).)*index_of(?:(?!```).)*)```", CASES, re.DOTALL)
    assert text is not None
    path = case_file(text[1])
    done = opcli("run", path)
    assert done.code == 0, done.out + done.err


# --- packages -------------------------------------------------------------------------------------------------


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An installed package of that name, as pip leaves it; its module is written by the test."""
    from ascend_opcli.operators import catalog, packages

    site = tmp_path / "site"
    info = site / "my_ops-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: my-ops\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[ascend_opcli.operators]\nmine = my_ops_for_a_test\n")
    monkeypatch.syspath_prepend(str(site))
    for cached in (catalog.of_packages, packages.found):
        cached.cache_clear()
    yield site / "my_ops_for_a_test.py"  # type: ignore[misc]
    sys.modules.pop("my_ops_for_a_test", None)
    for cached in (catalog.of_packages, packages.found):
        cached.cache_clear()


def test_an_operator_of_a_package_is_listed_shown_and_run(package: Path, opcli: Opcli) -> None:
    package.write_text(block("package"))
    assert [p.name for p in entry_points(group="ascend_opcli.operators")] == ["mine"]
    assert "scaled_add" in opcli("ops", "list").out
    shown = opcli("ops", "show", "aclnnScaledAdd").out
    assert "the reference of my-ops" in shown
    assert "out = x + scale y" in shown
    call = ("--op", "scaled_add", "--in", "x=float32[4]:2", "--in", "y=float32[4]:3", "--attr", "scale=0.5")
    done = opcli("run", *call)
    assert done.code == 0, done.out + done.err
    assert opcli("run", "--op", "scaled_ad", "--dtype", "float32", "--shape", "4").code == 2


def test_a_package_that_cannot_be_loaded_costs_its_own_operators_only(package: Path, opcli: Opcli) -> None:
    package.write_text("raise RuntimeError('broken')\n")
    assert opcli("run", "--op", "exp", "--dtype", "float32", "--shape", "4").code == 0
    done = opcli("run", "--op", "scaled_add", "--dtype", "float32", "--shape", "4")
    assert done.code == 2
    assert "the package my-ops cannot be loaded: RuntimeError: broken" in done.err
    listed = opcli("ops", "list")
    assert listed.code == 0
    assert "my-ops cannot be loaded" in listed.err


def test_a_package_does_not_replace_what_opcli_has(package: Path, opcli: Opcli) -> None:
    package.write_text(block("package").replace("aclnnScaledAdd", "aclnnExp"))
    done = opcli("ops", "list")
    assert "aclnnExp of the package my-ops is left out: opcli has its own" in done.err


def test_a_documented_operator_of_a_package_is_listed_once(package: Path, opcli: Opcli) -> None:
    alone = opcli("ops", "list", "--counts").err.split(",")[0]
    package.write_text(block("package").replace("aclnnScaledAdd", "aclnnFlashAttentionScore"))
    from ascend_opcli.operators import catalog, packages

    for cached in (catalog.of_packages, packages.found):
        cached.cache_clear()
    out = opcli("ops", "list").out
    assert out.count("aclnnFlashAttentionScore ") == 1
    (row,) = (line for line in out.splitlines() if "aclnnFlashAttentionScore " in line)
    assert " attention " in row
    assert opcli("ops", "list", "--counts").err.split(",")[0] == alone
