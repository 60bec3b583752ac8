"""``opcli run``: what a person sees, and the exit code that says it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ascend_opcli.model import Case
from tests.conftest import CaseFile, Opcli

PASSING = """
    op: logit_grad
    cases:
      - {name: good, dtype: float32, shape: [4, 4], tags: [smoke]}
"""
FAILING = """
    op: logit_grad
    cases:
      - {name: good, dtype: float32, shape: [4, 4], tags: [smoke]}
      - name: bad
        dtype: float32
        shape: [4, 4]
        expect: {outputs: {out: 1.0}}
"""
UNREADABLE = """
    op: logit_grad
    cases:
      - {name: good, dtype: float32, shpae: [4, 4]}
"""
SKIPPED = """
    op: logit_grad
    cases:
      - {name: elsewhere, dtype: float32, shape: [4], only: {backend: device}}
"""


def test_a_passing_file_exits_0_and_says_that_no_operator_was_run(opcli: Opcli, case_file: CaseFile) -> None:
    done = opcli("run", case_file(PASSING))
    assert done.code == 0
    assert "PASS (host)" in done.out
    assert "\nno operator was run: 1 case: 1 PASS\n" in done.out


def test_a_failing_case_exits_1_with_census_worst_elements_rule_and_repro(
    opcli: Opcli, case_file: CaseFile
) -> None:
    done = opcli("run", case_file(FAILING))
    assert done.code == 1
    detail = done.out[done.out.index("FAIL a.yaml::bad") :]
    assert "16 elements: over 100 % (16)" in detail
    assert detail.count(" golden 1  abs ") == 3
    assert "ecosystem 2026-07" in detail
    assert "from the dtype table" in detail
    assert "repro: opcli run" in detail


def test_an_unreadable_file_exits_2_names_the_place_and_runs_nothing(
    opcli: Opcli, case_file: CaseFile
) -> None:
    good, bad = case_file(PASSING, "good.yaml"), case_file(UNREADABLE, "bad.yaml")
    done = opcli("run", good, bad)
    assert done.code == 2
    assert done.out == ""
    assert done.err == f"opcli: {bad}:4:34: unknown key of a case: 'shpae'; did you mean 'shape'?\n"


def test_a_device_that_is_asked_for_exits_3_rather_than_run_on_the_host(
    opcli: Opcli, case_file: CaseFile
) -> None:
    done = opcli("run", case_file(PASSING), "--backend", "device")
    assert done.code == 3
    assert "PASS" not in done.out


@pytest.mark.parametrize("name", ["ASCEND_HOME_PATH", "ASCEND_OPP_PATH"])
def test_auto_never_falls_back_to_the_host_beside_cann(
    opcli: Opcli, case_file: CaseFile, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv(name, "/usr/local/Ascend/cann")
    assert opcli("run", case_file(PASSING)).code == 3
    assert opcli("run", case_file(PASSING), "--backend", "host").code == 0


@pytest.mark.parametrize("options", [("-k", "nothing-like-this"), ("--tag", "absent")])
def test_a_selection_that_matches_nothing_exits_4(
    opcli: Opcli, case_file: CaseFile, options: tuple[str, ...]
) -> None:
    assert opcli("run", case_file(PASSING), *options).code == 4


def test_only_skips_exit_4_and_strict_makes_them_failures(opcli: Opcli, case_file: CaseFile) -> None:
    path = case_file(SKIPPED)
    done = opcli("run", path)
    assert done.code == 4
    assert "only on the backend device" in done.out
    assert opcli("run", path, "--strict").code == 1


def test_a_folder_without_case_files_exits_4(opcli: Opcli, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("hello")
    done = opcli("run", tmp_path)
    assert done.code == 4
    assert "1 files in the folders are no case files" in done.err


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ((), "nothing to run"),
        (("--dtype", "float32"), "--dtype describe one call and need --op NAME"),
        (("cases", "--op", "logit_grad"), "--op describes what is called"),
        (("--op", "logit_grda", "--dtype", "float32", "--shape", "4"), "did you mean 'logit_grad'?"),
        (("--op", "logit_grad", "--dtype", "flaot32", "--shape", "4"), "did you mean 'float32'?"),
        (("missing.yaml",), "missing.yaml"),
        (("cases", "--standard", "ecosytem"), "did you mean 'ecosystem'?"),
        (("cases", "--product", "atlas_a22"), "did you mean 'atlas_a2'?"),
        (("cases", "-k", "a and (b"), "a bracket is not closed"),
    ],
)
def test_wrong_usage_is_one_sentence_and_exit_2(
    opcli: Opcli, arguments: tuple[str, ...], sentence: str
) -> None:
    done = opcli("run", *arguments)
    assert done.code == 2
    assert sentence in done.err
    assert done.err.count("\n") == 1
    assert "Traceback" not in done.err


def test_one_call_without_a_file(opcli: Opcli) -> None:
    done = opcli(
        "run", "--op", "logit_grad", "--dtype", "float16", "--shape", "16x3x171", "--attr", "eps=0.01"
    )
    assert done.code == 0, done.err
    assert "16x3x171" in done.out


def test_the_inline_form_of_the_design(opcli: Opcli) -> None:
    done = opcli(
        *("run", "--op", "aclnnLogitGrad", "--in", "x=float16[4,4]:uniform(0,1)", "--in", "dy=float16[4,4]"),
        *("--seed", "7", "--standard", "ulp:max=1"),
    )
    assert done.code == 0, done.err


def test_a_case_file_from_stdin(opcli: Opcli) -> None:
    text = "op: logit_grad\ncases:\n  - {name: piped, dtype: float32, shape: [4]}\n"
    done = opcli("run", "-", stdin=text)
    assert done.code == 0, done.err
    assert "::piped" in done.out


def test_json_to_stdout_is_alone_there(opcli: Opcli, case_file: CaseFile) -> None:
    done = opcli("run", case_file(FAILING), "--json", "-")
    report = json.loads(done.out)
    assert [r["verdict"] for r in report["results"]] == ["PASS", "FAIL"]
    assert "FAIL" in done.err


def test_the_repro_line_gives_the_same_inputs_and_verdict(opcli: Opcli, case_file: CaseFile) -> None:
    import shlex

    path = case_file(FAILING)
    report = json.loads(opcli("run", path, "--json", "-").out)
    for result in report["results"]:
        again = opcli(*shlex.split(result["repro"])[1:], "--json", "-")
        (repeated,) = json.loads(again.out)["results"]
        assert repeated["inputs_sha256"] == result["inputs_sha256"]
        assert repeated["verdict"] == result["verdict"]


@pytest.mark.parametrize("by", ["options", "file"])
def test_the_repro_line_brings_along_what_the_command_line_set(
    opcli: Opcli, case_file: CaseFile, by: str
) -> None:
    import shlex

    extra = ", repeat: 2" if by == "file" else ""  # what options cannot say
    path = case_file(f"op: logit_grad\ncases: [{{name: a, dtype: float32, shape: [64]{extra}}}]\n")
    done = opcli(
        *("run", path, "--standard", "ulp:max=0.25", "--product", "atlas_a3", "--seed", "5", "--json", "-")
    )
    (result,) = json.loads(done.out)["results"]
    assert result["verdict"] == "FAIL"
    (again,) = json.loads(opcli(*shlex.split(result["repro"])[1:], "--json", "-").out)["results"]
    for key in ("verdict", "product", "seed", "inputs_sha256", "reason"):
        assert again[key] == result[key], key


def test_the_repro_line_of_a_case_from_stdin_takes_it_from_stdin(opcli: Opcli) -> None:
    import shlex

    text = "op: logit_grad\ncases:\n  - {name: a, dtype: float32, shape: [4], repeat: 2}\n"
    (result,) = json.loads(opcli("run", "-", "--json", "-", stdin=text).out)["results"]
    again = opcli(*shlex.split(result["repro"])[1:], stdin=text)
    assert again.code == 0, again.err


def test_other_inputs_than_the_hash_says_exit_2(opcli: Opcli, case_file: CaseFile) -> None:
    done = opcli("run", f"{case_file(PASSING)}::good", "--inputs-sha256", "0" * 64)
    assert done.code == 2
    assert "are not the same" in done.err


def test_negatives_follow_from_the_contract(opcli: Opcli, case_file: CaseFile) -> None:
    done = opcli("run", case_file(PASSING), "--negatives", "-v")
    assert done.code == 0, done.out[-2000:]
    for label in (
        "refused[x=null]",
        "refused[dy=float64]",
        "refused[out=int8]",
        "accepted[empty]",
        "accepted[eps=nan]",
    ):
        assert f"logit_grad.{label}" in done.out


def test_the_command_line_standard_beats_the_case(opcli: Opcli, case_file: CaseFile) -> None:
    path = case_file(
        """
        op: logit_grad
        cases:
          - name: good
            dtype: float16
            shape: [64]
            expect: {standard: {ulp: {max: 1}}}
        """
    )
    assert opcli("run", path).code == 0
    done = opcli("run", path, "--standard", "ulp:max=0.01")
    assert done.code == 1
    assert "from the command line" in done.out
    assert "the tolerance is below the noise floor" in done.out


def test_nothing_is_cut_in_a_pipe(opcli: Opcli, case_file: CaseFile) -> None:
    long = "a-name-that-is-longer-than-eighty-columns-" * 3 + "end"
    path = case_file(f"op: logit_grad\ncases:\n  - {{name: {long}, dtype: float32, shape: [4]}}\n")
    assert long in opcli("run", path).out


def test_many_cases_are_a_line_a_file_unless_verbose(opcli: Opcli, case_file: CaseFile) -> None:
    path = case_file(
        """
        op: logit_grad
        cases:
          - name: many
            matrix:
              n: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]
              m: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21]
            dtype: float32
            shape: [$n, $m]
          - {name: bad, dtype: float32, shape: [4], expect: {status: 161001}}
        """
    )
    brief = opcli("run", path)
    assert brief.code == 1
    assert f"{path}: 316 cases: 315 PASS, 1 FAIL" in brief.out
    assert "many[" not in brief.out
    assert "a.yaml::bad" in brief.out
    assert opcli("run", path, "-v").out.count("many[") == 315


def test_an_interrupted_run_exits_130_and_reports_what_was_finished(
    opcli: Opcli, case_file: CaseFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    from ascend_opcli.execution import runner

    real = runner.run_case

    def interrupted(case: Case, *rest: Any) -> object:
        if case.name == "bad":
            raise KeyboardInterrupt
        return real(case, *rest)

    monkeypatch.setattr(runner, "run_case", interrupted)
    done = opcli("run", case_file(FAILING))
    assert done.code == 130
    assert "interrupted: 1 of 2 cases were finished" in done.out
    assert "PASS (host)" in done.out


def test_a_fault_of_opcli_itself_is_one_sentence_unless_debug(
    opcli: Opcli, case_file: CaseFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    from ascend_opcli.execution import runner

    def broken(*rest: object) -> object:
        raise RuntimeError("boom")

    monkeypatch.setattr(runner, "run_case", broken)
    done = opcli("run", case_file(PASSING))
    assert done.code == 3
    assert done.err == "opcli: internal error: RuntimeError: boom (--debug shows where)\n"
    shown = opcli("run", case_file(PASSING), "--debug")
    assert shown.code == 3
    assert "Traceback" in shown.err


def test_the_exit_code_is_the_verdict_also_when_nobody_reads_on(case_file: CaseFile) -> None:
    path = case_file(FAILING)
    script = f"set -o pipefail; {sys.executable} -m ascend_opcli cases list {path} | head -c 1; echo $?"
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=False)
    assert done.stdout.endswith("0\n")
    script = (
        f"set -o pipefail; {sys.executable} -m ascend_opcli run {path} --negatives -v | head -c 1; echo $?"
    )
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=False)
    assert done.stdout.endswith("1\n")
    assert done.stderr == ""


def test_a_reader_that_goes_away_is_no_error(case_file: CaseFile) -> None:
    path = case_file(PASSING)
    script = f"{sys.executable} -m ascend_opcli run {path} | true"
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=False)
    assert "Traceback" not in done.stderr
    assert "Exception" not in done.stderr
