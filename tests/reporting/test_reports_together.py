"""Several reports of one run: where they go, when they are opened, and what happens where one cannot be written."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ascend_opcli.model import Case
from ascend_opcli.reporting.files import write_text
from ascend_opcli.reporting.formats import OF_RUN
from tests.conftest import CaseFile, Opcli
from tests.reporting.made_up import every_word, finished, hostile, result

FORMATS = {each.name: each.render for each in OF_RUN}

PASSING = (
    "op: logit_grad\ncases: [{name: a, dtype: float32, shape: [4]}, {name: b, dtype: float16, shape: [4]}]\n"
)


def options(folder: Path) -> list[str]:
    return [word for name in FORMATS for word in (f"--{name}", str(folder / f"report.{name}"))]


def test_every_format_at_once_beside_the_table(opcli: Opcli, case_file: CaseFile, tmp_path: Path) -> None:
    done = opcli("run", case_file(PASSING), *options(tmp_path))
    assert done.code == 0
    assert "PASS (host)" in done.out
    for name in FORMATS:
        assert "a.yaml::a" in (tmp_path / f"report.{name}").read_text("utf-8") or name in (
            "junit",
            "issue",
        ), name
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.yaml", *sorted(f"report.{n}" for n in FORMATS)]


@pytest.mark.parametrize("name", FORMATS)
def test_a_report_on_stdout_is_alone_there(name: str, opcli: Opcli, case_file: CaseFile) -> None:
    path = case_file(PASSING)
    target = path.with_name("r")
    on_stdout = opcli("run", path, f"--{name}", "-")
    assert "PASS (host)" in on_stdout.err
    opcli("run", path, f"--{name}", target)
    # But for times and the command itself both are the same text.
    assert on_stdout.out.splitlines()[0] == target.read_text("utf-8").splitlines()[0]


def test_two_reports_do_not_share_a_place(opcli: Opcli, case_file: CaseFile, tmp_path: Path) -> None:
    path = case_file(PASSING)
    done = opcli("run", path, "--json", "-", "--csv", "-")
    assert done.code == 2
    assert "--json and --csv both write to stdout" in done.err
    (tmp_path / "sub").mkdir()
    done = opcli("run", path, "--html", tmp_path / "r", "--junit", tmp_path / "sub" / ".." / "r")
    assert done.code == 2
    assert not (tmp_path / "r").exists()


def test_what_cannot_be_written_is_exit_3_and_the_others_are(
    opcli: Opcli, case_file: CaseFile, tmp_path: Path
) -> None:
    target = tmp_path / "r.csv"
    done = opcli("run", case_file(PASSING), "--html", tmp_path / "no" / "r.html", "--csv", target)
    assert done.code == 3
    assert "PASS (host)" in done.out
    assert "cannot write" in done.err
    assert target.exists()


def test_a_run_that_does_not_come_about_leaves_earlier_reports_alone(
    opcli: Opcli, case_file: CaseFile, tmp_path: Path
) -> None:
    target = tmp_path / "r.html"
    target.write_text("before")
    assert opcli("run", case_file("op: logit_grad\n"), "--html", target).code == 2
    assert target.read_text() == "before"


@pytest.mark.parametrize("old", [None, "before"])
@pytest.mark.parametrize("picks", [["-k", "nowhere"], ["--tag", "nowhere"]])
def test_a_run_that_picks_nothing_leaves_reports_as_they_were(
    opcli: Opcli, case_file: CaseFile, tmp_path: Path, old: str | None, picks: list[str]
) -> None:
    targets = [tmp_path / f"report.{name}" for name in FORMATS]
    for target in targets if old is not None else ():
        target.write_text(old or "")
    done = opcli("run", case_file(PASSING), *picks, *options(tmp_path))
    assert done.code == 4
    assert [t.read_text() if t.exists() else None for t in targets] == [old] * len(targets)
    assert "no result, so no report: " in done.err
    assert all(str(target) in done.err for target in targets)


def test_a_run_that_picks_nothing_still_answers_on_stdout(opcli: Opcli, case_file: CaseFile) -> None:
    done = opcli("run", case_file(PASSING), "-k", "nowhere", "--json", "-")
    assert done.code == 4
    assert json.loads(done.out)["results"] == []
    assert "left as it was" not in done.err


def test_cases_that_are_all_skipped_are_results(opcli: Opcli, case_file: CaseFile, tmp_path: Path) -> None:
    skipped = "op: logit_grad\ncases: [{dtype: float32, shape: [4], only: {backend: device}}]\n"
    assert opcli("run", case_file(skipped), *options(tmp_path)).code == 4
    assert len(json.loads((tmp_path / "report.json").read_text())["results"]) == 1


def test_an_interrupted_run_reports_what_was_finished(
    opcli: Opcli, case_file: CaseFile, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from ascend_opcli.execution import runner

    real = runner.run_case

    def interrupted(case: Case, *rest: Any) -> object:
        if case.name == "b":
            raise KeyboardInterrupt
        return real(case, *rest)

    monkeypatch.setattr(runner, "run_case", interrupted)
    done = opcli("run", case_file(PASSING), *options(tmp_path))
    assert done.code == 130
    assert json.loads((tmp_path / "report.json").read_text())["run"]["complete"] is False
    assert len((tmp_path / "report.csv").read_text().splitlines()) == 2
    for name in ("junit", "markdown", "html"):
        assert "not complete, 1 of 2 cases were run" in (tmp_path / f"report.{name}").read_text("utf-8"), name


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize(
    "results", [[], every_word(), hostile(), [result()]], ids=["none", "words", "hostile", "one"]
)
def test_every_format_is_utf_8_whatever_the_names(name: str, results: list[Any], tmp_path: Path) -> None:
    target = tmp_path / "report"
    write_text(str(target), FORMATS[name](finished(results)))
    text = target.read_text("utf-8", errors="strict")
    assert text.endswith("\n")
    assert not {"\x00", "\x07", "\x1b"} & set(text)
