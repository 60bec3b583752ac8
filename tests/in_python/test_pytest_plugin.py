"""Case files as pytest items: what is collected, what each verdict becomes, and that other projects are left alone."""

from __future__ import annotations

import importlib.util
import os
import re
import textwrap
import xml.etree.ElementTree as ET
from pathlib import Path

# pytester forgets the modules that a run inside it loads; those that cannot be loaded twice are loaded here.
import ml_dtypes  # noqa: F401
import numpy  # noqa: F401
import pytest

import ascend_opcli.execution.runner
import ascend_opcli.reporting.details
from ascend_opcli import pytest_plugin
from ascend_opcli.pytest_plugin import begins_like_a_case_file
from tests.conftest import ROOT, Opcli

pytest_plugins = ["pytester"]

FILE = """
opcli: 1
op: logit_grad
cases:
  - name: good
    tags: [smoke]
    dtype: float32
    shape: [4, 4]
  - name: sweep
    matrix: {dtype: [float16, float32], shape: [[3], [2, 5]]}
    dtype: $dtype
    shape: $shape
  - name: wrong
    dtype: float32
    shape: [2]
    expect: {outputs: {out: [7.0, 8.0]}}
  - name: elsewhere
    dtype: float32
    shape: [2]
    only: {backend: device}
  - name: known
    dtype: float32
    shape: [2]
    known_issue: a dull reason
    expect: {outputs: {out: [7.0, 8.0]}}
  - name: broken
    op: aclnnMine
    signature: aclnnStatus aclnnMineGetWorkspaceSize(const aclTensor *self, aclTensor *out)
    reference: sum(self, axis=1)
    inputs: {self: {dtype: float32, shape: [2, 3]}}
    outputs: {out: {dtype: float32, shape: [3]}}
"""
GOOD = "op: logit_grad\ncases: [{name: one, dtype: float32, shape: [3]}]\n"


@pytest.fixture
def distribution(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What an installation leaves beside the package: the entry points of pyproject.toml."""
    text = (ROOT / "pyproject.toml").read_text("utf-8")
    (points,) = re.findall(r"^\[project\.entry-points\.pytest11\]\n((?:\w.*\n)+)", text, re.MULTILINE)
    folder = tmp_path_factory.mktemp("site")
    info = folder / "ascend_opcli-0.1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: ascend-opcli\nVersion: 0.1.0\n")
    (info / "entry_points.txt").write_text("[pytest11]\n" + points.replace('"', ""))
    return folder


@pytest.fixture
def project(pytester: pytest.Pytester, distribution: Path) -> pytest.Pytester:
    """An empty project in an environment in which opcli is installed."""
    pytester.syspathinsert(distribution)
    return pytester


def write(project: pytest.Pytester, text: str, name: str = "a.yaml") -> Path:
    path = project.path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(textwrap.dedent(text), "utf-8")
    return path


def ids(result: pytest.RunResult) -> list[str]:
    return [line for line in result.outlines if "::" in line]


def test_every_case_is_an_item_with_its_path_and_name(project: pytest.Pytester) -> None:
    write(project, FILE, "cases/a.yaml")
    write(project, GOOD, "cases/deep/b.yml")
    found = ids(project.runpytest("--collect-only", "-q", "cases"))
    assert found == [
        *("cases/a.yaml::good", "cases/a.yaml::sweep[float16-3]", "cases/a.yaml::sweep[float16-2x5]"),
        *("cases/a.yaml::sweep[float32-3]", "cases/a.yaml::sweep[float32-2x5]", "cases/a.yaml::wrong"),
        *("cases/a.yaml::elsewhere", "cases/a.yaml::known", "cases/a.yaml::broken"),
        "cases/deep/b.yml::one",
    ]


def test_each_verdict_has_its_outcome(project: pytest.Pytester) -> None:
    write(project, FILE)
    result = project.runpytest("-rsxE", "--opcli-backend=host")
    result.assert_outcomes(passed=5, failed=1, skipped=1, xfailed=1, errors=1)
    assert result.ret == 1
    result.stdout.fnmatch_lines(
        ["SKIPPED [[]1] a.yaml:17: *device*", "XFAIL a.yaml::known - *a dull reason*"]
    )
    result.stdout.fnmatch_lines(["ERROR a.yaml::broken*"])
    result.stdout.fnmatch_lines(["opcli: no operator was run: 9 cases were judged on the host"])


def test_a_failure_is_the_reports_own_text_without_a_traceback(
    project: pytest.Pytester, opcli: Opcli
) -> None:
    write(project, FILE)
    done = opcli("run", "a.yaml::wrong", "--backend", "host")
    said = done.out.split("\n\n")[1].splitlines()
    assert said[0].startswith("FAIL a.yaml::wrong")
    assert any(line.startswith("  repro: opcli run a.yaml::wrong") for line in said)
    result = project.runpytest("a.yaml::wrong", "--opcli-backend=host")
    assert "\n".join(said) in result.stdout.str()
    assert "Traceback" not in result.stdout.str()
    assert ".py" not in result.stdout.str().split("FAILURES")[1]
    result.stdout.fnmatch_lines(["FAILED a.yaml::wrong - 2 of 2 elements are over*"])
    for style in ("long", "short", "native", "line"):
        text = project.runpytest("a.yaml::wrong", f"--tb={style}").stdout.str()
        assert "2 of 2 elements are over" in text
        assert "Traceback" not in text


def test_an_error_is_the_reports_own_text_too(project: pytest.Pytester) -> None:
    write(project, FILE)
    result = project.runpytest("a.yaml::broken")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(
        ["ERROR a.yaml::broken  (aclnnMine, atlas_a2)", "  the reference gives the shape*"]
    )
    assert "Traceback" not in result.stdout.str()
    assert "pytest_plugin.py" not in result.stdout.str()
    result.stdout.fnmatch_lines(["ERROR a.yaml::broken - the reference gives the shape*"])


@pytest.mark.parametrize("option", ["--setup-plan", "--setup-only", "--collect-only"])
def test_what_only_shows_the_items_runs_no_case(
    project: pytest.Pytester, option: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(project, FILE)
    ran: list[object] = []
    monkeypatch.setattr(ascend_opcli.execution.runner, "run_case", lambda *args: ran.append(args))
    result = project.runpytest_inprocess(option)
    assert result.ret == 0
    assert not ran
    assert "a.yaml" in result.stdout.str()
    assert "PASSED" not in result.stdout.str()


@pytest.mark.parametrize(
    ("arguments", "passed"),
    [
        (["a.yaml::good"], 1),
        (["a.yaml::sweep[float16-2x5]"], 1),
        (["a.yaml::sweep"], 4),
        (["-k", "sweep and float16"], 2),
        (["-k", "smoke"], 1),
        (["--deselect", "a.yaml::sweep", "-k", "good or sweep"], 1),
    ],
)
def test_what_picks_cases(project: pytest.Pytester, arguments: list[str], passed: int) -> None:
    write(project, FILE)
    result = project.runpytest(*arguments)
    result.assert_outcomes(passed=passed, deselected=result.parseoutcomes().get("deselected", 0))
    assert result.ret == 0


def test_exitfirst_and_last_failed(project: pytest.Pytester) -> None:
    write(project, FILE)
    project.runpytest("-x").assert_outcomes(passed=5, failed=1)
    result = project.runpytest("--lf")
    result.assert_outcomes(failed=1)
    project.runpytest()
    project.runpytest("--lf", "-v").assert_outcomes(failed=1, errors=1)


def test_a_pass_on_the_host_says_so(project: pytest.Pytester) -> None:
    write(project, GOOD.replace("one", "eps-0.5"))
    project.makepyfile("def test_other(): pass")
    result = project.runpytest("-v")
    result.stdout.fnmatch_lines(["a.yaml::eps-0.5 PASSED (host) *", "*::test_other PASSED *"])
    result.stdout.fnmatch_lines(["opcli: no operator was run: 1 case was judged on the host"])


def test_runxfail_makes_a_known_failure_a_failure(project: pytest.Pytester) -> None:
    write(project, FILE)
    result = project.runpytest("--runxfail", "a.yaml::known")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*a dull reason*"])


def test_junit_has_what_pytest_has(project: pytest.Pytester) -> None:
    write(project, FILE)
    project.runpytest("--junitxml=r.xml")
    suite = ET.parse(project.path / "r.xml").getroot().find("testsuite")
    assert suite is not None
    assert (suite.get("failures"), suite.get("errors"), suite.get("skipped")) == ("1", "1", "2")
    cases = {case.get("name"): case for case in suite.iter("testcase")}
    failure = cases["wrong"].find("failure")
    assert failure is not None
    assert "FAIL a.yaml::wrong" in (failure.text or "")
    (given,) = cases["good"].iter("property")
    assert (given.get("name"), given.get("value")) == ("opcli_backend", "host")


# --- what is a case file ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "taken"),
    [
        (GOOD, True),
        ("\ufeff" + GOOD, True),
        (GOOD.replace("\n", "\r\n"), True),
        ("# a comment\n---\n'op': logit_grad\n\"cases\": []\n", True),
        ("x-shapes: &s [1, 2]\ndescription: >\n  Long.\ncases:\n  - dtype: float32\nop: logit_grad\n", True),
        ("opcli: 1\ncases:\n  - op: logit_grad\n", True),
        ("opcli: 1\n", True),
        ("op: logit_grad\ncasse:\n  - dtype: float32\n", True),
        ("op: logit_grad\ncase: [{dtype: float32}]\n", True),
        ("opcli: 2  # newer\ncases: []\n", True),
        ("'opcli': 1\n", True),
        ("op: logit_grad\nopcli: one\ncases: []\n", True),
        ("opcli: {image: b}\n", False),
        ("opcli:\n  image: b\n", False),
        ("opcli: [1]\nservices: {}\n", False),
        ("opcli: v1\n", False),
        ("opcli: 1.5.2\n", False),
        ("", False),
        ("op: replace\npath: /a/b\nvalue: 1\n", False),
        ("cases:\n  - op: add\n    args: [1, 2]\n", False),
        ("- op: add\n  cases: [1]\n", False),
        ("jobs:\n  test:\n    op: a\n    cases: [1]\n", False),
        ("version: 2\nservices: {a: {image: b}}\n", False),
        ("opclient: 1\noperation: a\ncases: []\n", False),
        ("text: |\n  op: a\n  cases: b\n", False),
        ("\0\1\2", False),
    ],
)
def test_which_yaml_begins_like_a_case_file(tmp_path: Path, text: str, taken: bool) -> None:
    path = tmp_path / "a.yaml"
    path.write_bytes(text.encode())
    assert begins_like_a_case_file(path) is taken
    path.write_bytes(text.lstrip("\ufeff").encode("utf-16"))
    assert begins_like_a_case_file(path) is taken


def test_every_shipped_file_is_taken() -> None:
    shipped = [*(ROOT / "cases").rglob("*.yaml")]
    assert shipped
    assert all(begins_like_a_case_file(path) for path in shipped)


def test_what_is_no_file_or_not_readable_is_no_case_file(tmp_path: Path) -> None:
    assert not begins_like_a_case_file(tmp_path)
    assert not begins_like_a_case_file(tmp_path / "gone.yaml")


def test_other_yaml_is_not_collected_unless_it_is_asked_for(project: pytest.Pytester) -> None:
    write(project, "services: {a: {image: b}}\n", "compose.yaml")
    write(project, GOOD)
    project.runpytest().assert_outcomes(passed=1)
    result = project.runpytest("--opcli")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*compose.yaml:1:1: *'services'*"])
    write(project, "{op: logit_grad, cases: [{dtype: float32, shape: [3]}]}\n", "compose.yaml")
    project.runpytest("--opcli").assert_outcomes(passed=2)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("op: logit_grad\ncases: [{dtpye: float32}]\n", "a.yaml:2:10: *did you mean 'dtype'*"),
        ("op: logit_grda\ncases: [{dtype: float32, shape: [1]}]\n", "a.yaml:1:5: *did you mean *logit_grad*"),
        ("op: logit_grad\ncasse: [{dtype: float32}]\n", "a.yaml:2:1: *did you mean 'cases'*"),
        ("op: logit_grad\ncases: [\n", "a.yaml:*"),
        ("op: logit_grad\ncases: []\n", "a.yaml:2:8: cases is empty"),
        ("opcli: 99\n", "a.yaml:1:8: *reads up to*"),
    ],
)
def test_a_broken_case_file_is_one_collection_error(project: pytest.Pytester, text: str, said: str) -> None:
    write(project, text)
    write(project, GOOD, "b.yaml")
    result = project.runpytest()
    result.assert_outcomes(errors=1)
    assert result.ret == pytest.ExitCode.INTERRUPTED
    result.stdout.fnmatch_lines([said])
    assert "Traceback" not in result.stdout.str()
    assert ".py" not in result.stdout.str().split("ERRORS")[1]


# --- options ----------------------------------------------------------------------------------------------------


def test_product_and_standard_reach_the_run(project: pytest.Pytester) -> None:
    write(project, GOOD + "  \n")
    write(project, FILE, "b.yaml")
    result = project.runpytest("b.yaml::wrong", "--opcli-product=ascend950", "--opcli-standard=ulp:max=2")
    result.stdout.fnmatch_lines(["FAIL b.yaml::wrong  (aclnnLogitGrad, ascend950)", "*<= 2 ulp of float32*"])
    result.stdout.fnmatch_lines(["  repro: *--standard ulp:max=2 --product ascend950"])
    project.runpytest("b.yaml::wrong", "--opcli-standard=allclose:rtol=100").assert_outcomes(passed=1)


@pytest.mark.parametrize(
    ("option", "said"),
    [
        ("--opcli-product=ascend951", "--opcli-product: *ascend950*"),
        ("--opcli-standard=ecosytem", "--opcli-standard: *did you mean 'ecosystem'*"),
        ("--opcli-standard=ulp:mx=1", "--opcli-standard: *did you mean 'max'*"),
        ("--opcli-backend=hots", "*invalid choice: 'hots'*"),
        ("--opcli-device=one", "*--opcli-device: invalid * value: 'one'"),
        ("--opcli-timeout=0", "*--opcli-timeout: invalid * value: '0'"),
        ("--opcli-timeout=nan", "*--opcli-timeout: invalid * value: 'nan'"),
    ],
)
def test_a_wrong_word_of_an_option_is_a_usage_error(project: pytest.Pytester, option: str, said: str) -> None:
    write(project, GOOD)
    result = project.runpytest(option)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"*{said}"])


def test_code_runs_only_where_it_is_allowed(project: pytest.Pytester) -> None:
    (project.path / "own.py").write_text("def twice(self):\n    return self * 2\n", "utf-8")
    write(
        project,
        """
        opcli: 1
        op: aclnnMine
        signature: aclnnStatus aclnnMineGetWorkspaceSize(const aclTensor *self, aclTensor *out)
        reference: own.py:twice
        cases:
          - name: one
            inputs: {self: {dtype: float32, shape: [2], data: [1, 2]}}
            expect: {outputs: {out: [2, 4]}}
        """,
    )
    project.runpytest().assert_outcomes(skipped=1)
    project.runpytest("--opcli-allow-code").assert_outcomes(passed=1)


def test_a_device_that_is_not_there_is_an_error_of_every_case(
    project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("ASCEND_HOME_PATH", "ASCEND_TOOLKIT_HOME", "ASCEND_OPP_PATH"):
        monkeypatch.delenv(name, raising=False)
    if importlib.util.find_spec("acl") is not None:
        pytest.skip("there is a pyACL here")
    write(project, FILE)
    result = project.runpytest("-k", "good or sweep", "--opcli-backend=device")
    result.assert_outcomes(errors=5, deselected=4)
    assert "Traceback" not in result.stdout.str()
    assert "no operator was run" not in result.stdout.str()


# --- beside others ----------------------------------------------------------------------------------------------


def test_a_run_without_case_files_loads_nothing_of_opcli(
    project: pytest.Pytester, distribution: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(map(str, (ROOT, distribution))))
    write(project, "a: 1\n", "data.yaml")
    project.makepyfile("""
        import sys

        def test_light():
            assert "ascend_opcli.pytest_plugin" in sys.modules
            loaded = {name for name in sys.modules if name.startswith("ascend_opcli.")}
            assert loaded == {"ascend_opcli.pytest_plugin"}
            assert not {"numpy", "yaml", "ml_dtypes", "typer", "rich"} & set(sys.modules)
    """)
    result = project.runpytest_subprocess("-W", "error", "--strict-config", "--strict-markers")
    result.assert_outcomes(passed=1)
    said = [line for line in result.outlines if "opcli" in line and "test_a_run" not in line]
    assert said == [line for line in result.outlines if line.startswith("plugins: ")]


def test_the_plugin_can_be_switched_off(project: pytest.Pytester) -> None:
    write(project, GOOD)
    result = project.runpytest("-p", "no:opcli", "a.yaml")
    assert result.parseoutcomes() == {} or result.ret != 0
    assert "a.yaml::one" not in result.stdout.str()


def test_this_projects_own_run_collects_no_yaml() -> None:
    taken = [path for path in (ROOT / "tests").rglob("*") if path.suffix.lower() in pytest_plugin.SUFFIXES]
    assert not [path for path in taken if begins_like_a_case_file(path)]


@pytest.mark.skipif(importlib.util.find_spec("xdist") is None, reason="pytest-xdist is not installed")
def test_under_xdist(project: pytest.Pytester, distribution: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(project, FILE)
    found = importlib.util.find_spec("xdist")
    assert found is not None
    assert found.origin is not None
    monkeypatch.setenv(
        "PYTHONPATH", os.pathsep.join(map(str, (ROOT, distribution, Path(found.origin).parents[1])))
    )
    result = project.runpytest_subprocess("-n", "2", "-v", "-rs")
    result.assert_outcomes(passed=5, failed=1, skipped=1, xfailed=1, errors=1)
    result.stdout.fnmatch_lines(["FAIL a.yaml::wrong  (aclnnLogitGrad, atlas_a2)"])
    result.stdout.fnmatch_lines(["SKIPPED [[]1] a.yaml:17: *device*"])
    result.stdout.fnmatch_lines(["opcli: no operator was run: 9 cases were judged on the host"])
    result.stdout.fnmatch_lines(["*PASSED (host) a.yaml::good*"])
