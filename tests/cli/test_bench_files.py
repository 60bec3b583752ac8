"""Where the files of ``opcli bench`` go, what is never overwritten, and what is said of what was typed."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import CaseFile, Opcli

QUICK = ("--time", "2s", "--precision", "300%")
ELU = ("--op", "elu_backward", "--shape", "8x8", "--dtype", "float32", *QUICK)
WRONG = "op: logit_grad\ncases:\n  - {name: a, dtype: float32, shape: [64], expect: {outputs: {out: 1.0}}}\n"
RIGHT = "  - {name: b, dtype: float32, shape: [64]}\n"


@pytest.mark.parametrize(
    ("option", "text", "sentence"),
    [
        ("--max-regress", "5", "'5' is 500 %: write 5% or 0.05"),
        ("--precision", "2", "'2' is 200 %: write 2% or 0.02"),
        ("--max-regress", "1", "'1' is 100 %: write 1% or 0.01"),
        ("--precision", "10.0", "'10.0' is 1000 %: write 10% or 0.1"),
        ("--max-regress", "inf", "'inf' is not a share"),
        ("--precision", "nan", "'nan' is not a share"),
    ],
)
def test_a_bare_number_is_not_taken_for_per_cent(opcli: Opcli, option: str, text: str, sentence: str) -> None:
    done = opcli("bench", *ELU, option, text)
    assert done.code == 2
    assert sentence in done.err
    assert done.err.count("\n") == 1


# --- targets ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("other", ["json", "csv", "markdown", "html"])
def test_two_outputs_never_share_stdout_or_a_file(opcli: Opcli, tmp_path: Path, other: str) -> None:
    done = opcli("bench", *ELU, "--save", "-", f"--{other}", "-")
    assert done.code == 2
    assert "both write to stdout" in done.err
    path = tmp_path / "x"
    for first in ("--save", "--json" if other != "json" else "--csv"):
        done = opcli("bench", *ELU, first, path, f"--{other}", tmp_path / "." / "x")
        assert done.code == 2
        assert "both write to" in done.err
    assert not path.exists()


def test_a_baseline_on_stdout_is_all_that_is_there(opcli: Opcli) -> None:
    done = opcli("bench", *ELU, "--save", "-")
    assert done.code == 0
    assert json.loads(done.out)["rows"][0]["name"] == "elu_backward/float32/8x8"
    assert "elu_backward/float32/8x8" in done.err


# --- a good baseline is not lost --------------------------------------------------------------------------------


def test_an_empty_or_failed_run_does_not_replace_a_baseline(
    opcli: Opcli, case_file: CaseFile, tmp_path: Path
) -> None:
    base = tmp_path / "base.json"
    base.write_text("precious")
    for text, code, said in (
        (WRONG, 1, "is not written: nothing was timed"),
        (WRONG + RIGHT, 1, "is not replaced: 1 of 2 cases failed"),
    ):
        done = opcli("bench", case_file(text), *QUICK, "--save", base)
        assert done.code == code
        assert said in done.err
        assert base.read_text() == "precious"
    done = opcli("bench", case_file(WRONG + RIGHT), "-k", "nothing", *QUICK, "--save", base)
    assert done.code == 4
    assert base.read_text() == "precious"


def test_rows_that_failed_are_not_in_a_new_baseline(
    opcli: Opcli, case_file: CaseFile, tmp_path: Path
) -> None:
    base = tmp_path / "base.json"
    assert opcli("bench", case_file(WRONG + RIGHT), *QUICK, "--save", base).code == 1
    assert [row["name"] for row in json.loads(base.read_text())["rows"]] == ["a.yaml::b"]


def test_an_interrupted_run_does_not_replace_a_baseline(
    opcli: Opcli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from ascend_opcli.benchmarking import measure

    real = measure._one
    calls = iter(range(9))

    def interrupted(*arguments: Any) -> Any:
        if next(calls) == 1:
            raise KeyboardInterrupt
        return real(*arguments)

    monkeypatch.setattr(measure, "_one", interrupted)
    base = tmp_path / "base.json"
    base.write_text("precious")
    done = opcli("bench", *ELU, "--shape", "16x8", "--save", base)
    assert done.code == 130
    assert "is not written: the run was interrupted" in done.err
    assert base.read_text() == "precious"


def test_a_slower_run_does_not_replace_the_baseline_that_it_is_held_against(
    opcli: Opcli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Whatever else this machine does, it must not make the comparison UNSURE.
    monkeypatch.setattr("ascend_opcli.backends.host_timing.HostStage.draw", lambda _stage: 1e-3)
    base = tmp_path / "base.json"
    assert opcli("bench", *ELU, "--save", base).code == 0
    document = json.loads(base.read_text())
    document["rows"][0]["samples"] = [1e-9] * 20  # nothing is as fast as that
    base.write_text(json.dumps(document))
    before = base.read_text()
    done = opcli("bench", *ELU, "--baseline", base, "--save", base)
    assert done.code == 5, done.out
    assert "is not replaced: it is the baseline, and this run is slower" in done.err
    assert base.read_text() == before


# --- labels -----------------------------------------------------------------------------------------------------


def test_what_was_not_checked_says_so_everywhere(opcli: Opcli, tmp_path: Path) -> None:
    paths = {kind: tmp_path / f"out.{kind}" for kind in ("json", "csv", "markdown", "html", "save")}
    options = [word for kind, path in paths.items() for word in (f"--{kind}", path)]
    done = opcli("bench", *ELU, "--no-check", *options)
    assert done.code == 0, done.err
    assert "OK (not checked)" in done.out
    for kind in ("markdown", "html"):
        assert "OK (not checked)" in paths[kind].read_text("utf-8")
    document = json.loads(paths["json"].read_text("utf-8"))
    assert "(not checked)" in document["benchmarks"][0]["label"]
    assert document["opcli"]["cases"][0]["checked"] is False
    (row,) = csv.DictReader(paths["csv"].read_text("utf-8").splitlines())
    assert row["checked"] == "no"
    assert json.loads(paths["save"].read_text("utf-8"))["rows"][0]["checked"] is False
    checked = opcli("bench", *ELU, "--json", paths["json"])
    assert "not checked" not in checked.out
    assert json.loads(paths["json"].read_text("utf-8"))["opcli"]["cases"][0]["checked"] is True


@pytest.mark.parametrize(
    ("op", "options", "count"),
    [
        ("mm", (), 2 * 32 * 32 * 32),
        ("mul", (), 32 * 32),
        ("exp", (), None),
        ("exp", ("--operations", "4n"), 4 * 32 * 32),
    ],
)
def test_operations_a_second_stand_in_every_report_where_they_are_known(
    opcli: Opcli, tmp_path: Path, op: str, options: tuple[str, ...], count: int | None
) -> None:
    paths = {kind: tmp_path / f"out.{kind}" for kind in ("json", "csv", "markdown", "html")}
    words = [word for kind, path in paths.items() for word in (f"--{kind}", path)]
    shape = ("--op", op, "--shape", "32x32", "--dtype", "float32", *QUICK)
    done = opcli("bench", *shape, *options, *words)
    assert done.code == 0, done.err
    document = json.loads(paths["json"].read_text("utf-8"))
    assert document["opcli"]["cases"][0]["operations"] == count
    (row,) = csv.DictReader(paths["csv"].read_text("utf-8").splitlines())
    texts = [done.out, *(paths[kind].read_text("utf-8") for kind in ("markdown", "html"))]
    (entry,) = document["benchmarks"]
    if count is None:
        assert "operations_per_second" not in entry
        assert row["operations"] == row["gop_per_s"] == ""
        assert not any("Gop/s" in text for text in texts)
        return
    expected = count / (entry["real_time"] * 1e-6)
    assert entry["operations_per_second"] == pytest.approx(expected)
    assert float(row["gop_per_s"]) == pytest.approx(expected / 1e9)
    assert all("Gop/s" in text for text in texts)


# --- what strangers write ---------------------------------------------------------------------------------------

ESCAPE = "\x1b[31mEVIL\x1b]0;x\x07"


def test_no_escape_of_a_file_reaches_the_terminal(opcli: Opcli, case_file: CaseFile, tmp_path: Path) -> None:
    text = json.dumps(
        {
            "op": "logit_grad",
            "cases": [
                {"name": "right", "dtype": "float32", "shape": [64]},
                {"name": "wrong", "dtype": "float32", "shape": [64], "expect": {"outputs": {"out": 1.0}},
                 "known_issue": {"reason": f"r{ESCAPE}"}},
            ],
        }
    )  # fmt: skip
    base = tmp_path / "base.json"
    path = case_file(text, f"a{ESCAPE}.yaml")
    done = opcli("bench", path, *QUICK, "--save", base)
    assert "\\x1b[31mEVIL" in done.out
    document = json.loads(base.read_text("utf-8"))
    document["fingerprint"]["cpu"] = ESCAPE
    base.write_text(json.dumps(document))
    held = opcli("bench", path, *QUICK, "--baseline", base)
    assert "EVIL" in held.out
    document["rows"] *= 2
    base.write_text(json.dumps(document))
    twice = opcli("bench", path, *QUICK, "--baseline", base)
    assert twice.code == 2
    assert "two rows are called" in twice.err
    for text in (done.out, done.err, held.out, held.err, twice.out, twice.err):
        assert "\x1b" not in text
        assert "\x07" not in text


def test_json_stays_json_whatever_the_figures(opcli: Opcli) -> None:
    done = opcli(
        "bench", *ELU, "--bytes", "9e17", "--operations", "9e17", "--peak", "0.000001", "--json", "-"
    )

    def no_constant(word: str) -> float:
        raise AssertionError(word)

    json.loads(done.out, parse_constant=no_constant)


@pytest.mark.parametrize("inside", ["", "op_api/", "vendors/mine/op_api/include/"])
def test_against_a_folder_that_is_no_package_is_exit_2_before_anything_is_timed(
    opcli: Opcli, tmp_path: Path, inside: str
) -> None:
    (tmp_path / "folder" / inside).mkdir(parents=True)
    done = opcli("bench", *ELU, "--against", tmp_path / "folder", "--backend", "device")
    assert done.code == 2
    assert "operator package" in done.err
    assert opcli("bench", *ELU, "--against", tmp_path / "missing", "--backend", "device").code == 2
