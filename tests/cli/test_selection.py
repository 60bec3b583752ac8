"""Which cases run, and what too few or too many of them do to the exit code."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ascend_opcli.execution import runner
from ascend_opcli.model import Case
from tests.conftest import CaseFile, Opcli

THREE = """
    op: logit_grad
    defaults: {dtype: float32, shape: [4]}
    cases:
      - {name: good, tags: [smoke]}
      - {name: bad, expect: {outputs: {out: 9.0}}}
      - {name: worse, expect: {status: 161001}}
      - {name: last, tags: [smoke]}
"""
SKIPS = """
    op: logit_grad
    defaults: {dtype: float32, shape: [4]}
    cases:
      - {name: good}
      - {name: elsewhere, only: {backend: device}}
      - {name: known, known_issue: see 12, expect: {status: 161001}}
"""
TWO_OPERATORS = """
    defaults: {dtype: float32, shape: [4]}
    cases:
      - {name: logit, op: logit_grad, tags: [smoke]}
      - {name: elu, op: elu_backward}
"""


@pytest.fixture(autouse=True)
def memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache"


def names(done: Any) -> list[str]:
    return [line.rpartition("::")[2] for line in done.out.splitlines()]


# --- --list -----------------------------------------------------------------------------------------------------


def test_list_prints_what_would_run_and_runs_nothing(
    opcli: Opcli, case_file: CaseFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(*_: object) -> None:
        raise AssertionError("a case was run")

    monkeypatch.setattr(runner, "run_case", never)
    path = case_file(THREE, "o d d/\u6587\u4ef6 (1).yaml")
    done = opcli("run", path, "--list", "--tag", "smoke")
    assert (done.code, done.out, done.err) == (0, f"{path}::good\n{path}::last\n", "2 cases\n")


def test_every_line_of_list_can_be_given_back(opcli: Opcli, case_file: CaseFile) -> None:
    path = case_file("""
        op: logit_grad
        cases:
          - {name: "a b [\u00fc]: #1", dtype: float32, shape: [4]}
          - {name: m, matrix: {n: [1, 2]}, dtype: float32, shape: [$n]}
    """)
    lines = opcli("run", path, "--list").out.splitlines()
    assert len(lines) == 3
    for line in lines:
        assert opcli("run", line, "--list").out == line + "\n"
        assert opcli("run", line).code == 0


def test_a_list_of_nothing_exits_4(opcli: Opcli, case_file: CaseFile) -> None:
    done = opcli("run", case_file(THREE), "--list", "-k", "absent")
    assert (done.code, done.out) == (4, "")


def test_list_opens_no_device_and_names_negatives_too(
    opcli: Opcli, case_file: CaseFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ASCEND_HOME_PATH", "/usr/local/Ascend/cann")
    done = opcli("run", case_file(THREE), "--list", "--negatives", "-k", "refused")
    assert done.code == 0
    assert "<negatives>::logit_grad.refused[x=null]" in done.out


def test_list_of_one_call_and_of_stdin(opcli: Opcli) -> None:
    done = opcli("run", "--op", "logit_grad", "--dtype", "float32", "--shape", "4", "--list")
    assert (done.code, names(done)) == (0, ["logit_grad"])
    text = "op: logit_grad\ncases: [{name: piped, dtype: float32, shape: [4]}]\n"
    assert opcli("run", "-", "--list", stdin=text).out == "-::piped\n"


# --- --last-failed ----------------------------------------------------------------------------------------------


def test_last_failed_runs_what_failed_until_it_passes(opcli: Opcli, case_file: CaseFile) -> None:
    path = case_file(THREE)
    assert opcli("run", path).code == 1
    assert names(opcli("run", path, "--last-failed", "--list")) == ["bad", "worse"]
    assert opcli("run", path, "--last-failed").code == 1
    mended = THREE.replace(", expect: {outputs: {out: 9.0}}", "")
    case_file(mended)
    opcli("run", f"{path}::bad")
    assert names(opcli("run", path, "--last-failed", "--list")) == ["worse"]


def test_a_selection_forgets_nothing_of_the_rest(opcli: Opcli, case_file: CaseFile) -> None:
    path = case_file(THREE)
    opcli("run", path)
    assert opcli("run", path, "--tag", "smoke").code == 0
    assert names(opcli("run", path, "--last-failed", "--list")) == ["bad", "worse"]


def test_where_nothing_failed_all_are_run_and_it_is_said(opcli: Opcli, case_file: CaseFile) -> None:
    path = case_file(THREE)
    done = opcli("run", path, "--last-failed", "--list")
    assert names(done) == ["good", "bad", "worse", "last"]
    assert done.err.startswith("nothing failed last time: all cases are picked\n")
    opcli("run", path)
    # Nothing of what is left after -k failed.
    done = opcli("run", path, "--last-failed", "-k", "good", "--list")
    assert names(done) == ["good"]
    assert "nothing failed last time" in done.err


def test_the_memory_is_of_the_file_not_of_its_name(
    opcli: Opcli, case_file: CaseFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = case_file(THREE, "one/a.yaml"), case_file(THREE, "two/a.yaml")
    opcli("run", one)
    assert len(names(opcli("run", other, "--last-failed", "--list"))) == 4
    monkeypatch.chdir(one.parent)
    assert names(opcli("run", "a.yaml", "--last-failed", "--list")) == ["bad", "worse"]
    both = opcli("run", one, other, "--last-failed", "--list")
    assert both.out.splitlines() == [f"{one}::bad", f"{one}::worse"]


def test_only_the_cache_is_written_and_only_for_failures(
    opcli: Opcli, case_file: CaseFile, memory: Path
) -> None:
    path = case_file(THREE)
    opcli("run", path, "--tag", "smoke")
    assert not memory.exists()
    opcli("run", path)
    assert [p.name for p in path.parent.iterdir() if p != memory] == [path.name]
    (entry,) = (memory / "opcli" / "last-failed").iterdir()
    case_file(THREE.replace(", expect: {outputs: {out: 9.0}}", "").replace(", expect: {status: 161001}", ""))
    assert opcli("run", path).code == 0
    assert not entry.exists()


def test_an_interrupted_run_remembers_what_it_finished(
    opcli: Opcli, case_file: CaseFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = case_file(THREE)
    real = runner.run_case

    def interrupted(case: Case, *rest: Any) -> object:
        if case.name == "worse":
            raise KeyboardInterrupt
        return real(case, *rest)

    with monkeypatch.context() as patch:
        patch.setattr(runner, "run_case", interrupted)
        assert opcli("run", path, "-x", "-k", "not bad").code == 130
        assert opcli("run", path).code == 130
    assert names(opcli("run", path, "--last-failed", "--list")) == ["bad"]


def test_negatives_that_failed_are_remembered(
    opcli: Opcli, case_file: CaseFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    from ascend_opcli.backends import host
    from ascend_opcli.model import Outcome

    path = case_file(THREE)
    with monkeypatch.context() as patch:
        accepted = Outcome("host", 0)
        patch.setattr(host, "refuse", lambda _operator, case, _product: accepted if case.status else None)
        opcli("run", path, "--negatives", "-k", "refused[x=null] or good")
    done = opcli("run", path, "--negatives", "--last-failed", "--list")
    assert names(done) == ["logit_grad.refused[x=null]"]


def test_one_call_has_no_memory(opcli: Opcli) -> None:
    done = opcli("run", "--op", "logit_grad", "--dtype", "float32", "--shape", "4", "--last-failed")
    assert done.code == 2
    assert done.err == "opcli: --last-failed remembers case files; it does not go with --op\n"


@pytest.mark.parametrize("place", ["file", "unreadable"])
def test_a_cache_that_cannot_be_used_fails_no_run(
    opcli: Opcli, case_file: CaseFile, memory: Path, place: str
) -> None:
    path = case_file(THREE)
    if place == "file":
        memory.write_text("")
    else:
        (memory / "opcli").mkdir(parents=True)
        (memory / "opcli" / "last-failed").write_text("")
    assert opcli("run", path, "--tag", "smoke").code == 0
    assert opcli("run", path).code == 1
    assert len(names(opcli("run", path, "--last-failed", "--list"))) == 4


# --- -x ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("option", ["-x", "--exitfirst"])
def test_exit_first_stops_and_counts_the_rest(
    opcli: Opcli, case_file: CaseFile, tmp_path: Path, option: str
) -> None:
    report = tmp_path / "r.json"
    done = opcli("run", case_file(THREE), option, "--json", report)
    assert done.code == 1
    assert "stopped after the first failure: 2 cases not run\n" in done.err
    run = json.loads(report.read_text())
    assert [r["name"] for r in run["results"]] == ["good", "bad"]
    assert run["run"]["complete"] is False


def test_exit_first_at_the_last_case_left_nothing_out(
    opcli: Opcli, case_file: CaseFile, tmp_path: Path
) -> None:
    report = tmp_path / "r.json"
    done = opcli("run", case_file(THREE), "-x", "-k", "good or worse", "--json", report)
    assert done.code == 1
    assert "not run" not in done.err
    assert json.loads(report.read_text())["run"]["complete"] is True


def test_a_skip_stops_only_a_strict_run(opcli: Opcli, case_file: CaseFile) -> None:
    path = case_file(SKIPS)
    assert "not run" not in opcli("run", path, "-x").err
    done = opcli("run", path, "-x", "--strict", "-k", "not good")
    assert done.code == 1
    assert "1 case not run" in done.err


# --- --max-skips ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("most", "code"), [(0, 1), (1, 1), (2, 0), (100, 0)])
def test_more_skips_than_allowed_are_a_failure(
    opcli: Opcli, case_file: CaseFile, most: int, code: int
) -> None:
    done = opcli("run", case_file(SKIPS), "--max-skips", most)
    assert done.code == code
    said = f"2 cases skipped (1 of them KNOWN), more than --max-skips {most}\n"
    assert (said in done.err) is bool(code)


def test_too_many_skips_beat_nothing_judged(opcli: Opcli, case_file: CaseFile) -> None:
    path = case_file(SKIPS)
    assert opcli("run", path, "-k", "elsewhere").code == 4
    assert opcli("run", path, "-k", "elsewhere", "--max-skips", "0").code == 1


def test_a_negative_number_of_skips_is_wrong_usage(opcli: Opcli, case_file: CaseFile) -> None:
    assert opcli("run", case_file(SKIPS), "--max-skips", "-1").code == 2


def test_interruption_beats_too_many_skips(
    opcli: Opcli, case_file: CaseFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = runner.run_case

    def interrupted(case: Case, *rest: Any) -> object:
        if case.name == "known":
            raise KeyboardInterrupt
        return real(case, *rest)

    monkeypatch.setattr(runner, "run_case", interrupted)
    assert opcli("run", case_file(SKIPS), "--max-skips", "0").code == 130


# --- --changed --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changed", "picked"),
    [
        ("loss/logit_grad/op_kernel/arch35/tiling.h", ["logit"]),
        ("src/LogitGradTiling.cpp", ["logit"]),
        ("op_api/aclnn_logit_grad.cpp\nREADME.md", ["logit"]),
        ("include/aclnnEluBackward.h", ["elu"]),
        ("activation/elu_grad_v2/op_host/x.cpp", ["elu"]),
        ("a/logit_grad/b\r\nactivation/elu_grad_v2/c\r\n", ["logit", "elu"]),
        ("a.yaml", ["logit", "elu"]),
        ("deep/inside/a.yaml", []),
        ("logit/grad/x.cpp\nmylogit_gradient.h", []),
    ],
)
def test_changed_runs_the_operators_that_are_touched(
    opcli: Opcli, case_file: CaseFile, tmp_path: Path, changed: str, picked: list[str]
) -> None:
    listed = tmp_path / "changed.txt"
    listed.write_bytes(changed.encode())
    done = opcli("run", case_file(TWO_OPERATORS), "--changed", listed, "--list")
    assert (done.code, names(done)) == (0, picked)


def test_nothing_touched_exits_0_and_says_so(
    opcli: Opcli, case_file: CaseFile, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A device that could not be opened is not missed: there is nothing to run on it.
    monkeypatch.setenv("ASCEND_HOME_PATH", "/usr/local/Ascend/cann")
    report = tmp_path / "r.json"
    done = opcli("run", case_file(TWO_OPERATORS), "--changed", "-", "--json", report, stdin="docs/x.md\n")
    assert done.code == 0
    assert "nothing to judge: no operator was changed\n" in done.err
    assert json.loads(report.read_text())["results"] == []
    assert opcli("run", case_file(TWO_OPERATORS), "--changed", "-", "--strict", stdin="").code == 0


def test_an_operator_that_was_changed_and_not_selected_is_no_pass(opcli: Opcli, case_file: CaseFile) -> None:
    path = case_file(TWO_OPERATORS)
    done = opcli("run", path, "--changed", "-", "--tag", "smoke", stdin="elu_backward/x.cpp")
    assert done.code == 4
    assert "no operator was changed" not in done.err
    # And without any case there is nothing that a change could have left alone.
    empty = path.parent / "empty"
    empty.mkdir()
    assert opcli("run", empty, "--changed", "-", stdin="x.md").code == 4


def test_negatives_follow_the_operators_that_were_changed(opcli: Opcli, case_file: CaseFile) -> None:
    done = opcli(
        "run", case_file(TWO_OPERATORS), "--changed", "-", "--negatives", "--list", stdin="logit_grad/a.h"
    )
    assert done.code == 0
    assert all(name == "logit" or name.startswith("logit_grad.") for name in names(done))
    assert len(names(done)) > 5


def test_a_failure_among_the_changed_is_a_failure(opcli: Opcli, case_file: CaseFile) -> None:
    assert opcli("run", case_file(THREE), "--changed", "-", stdin="logit_grad.cpp").code == 1


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("a.yaml", "--changed", "absent.txt"), "--changed absent.txt: No such file or directory"),
        (("a.yaml", "--changed", "."), "--changed .: Is a directory"),
        (("-", "--changed", "-"), "--changed and the cases cannot both come from stdin"),
    ],
)
def test_a_list_that_cannot_be_read_is_one_sentence(
    opcli: Opcli,
    case_file: CaseFile,
    monkeypatch: pytest.MonkeyPatch,
    arguments: tuple[str, ...],
    sentence: str,
) -> None:
    monkeypatch.chdir(case_file(TWO_OPERATORS).parent)
    done = opcli("run", *arguments, stdin=TWO_OPERATORS)
    assert (done.code, done.err) == (2, f"opcli: {sentence}\n")


def test_every_option_has_help(opcli: Opcli) -> None:
    text = opcli("run", "--help").out
    for option in (
        *("--list", "--last-failed", "--changed", "--exitfirst", "--max-skips", "--strict"),
        *("--save-failures", "--save-limit"),
    ):
        assert option in text
