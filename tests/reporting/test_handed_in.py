"""``--acceptance`` and ``--issue`` in English and Chinese: both say the same, honestly, and read as Markdown."""

from __future__ import annotations

import dataclasses
import re
import string
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ascend_opcli.model import Branch, Result, Verdict, VerdictKind
from ascend_opcli.reporting import acceptance, issue_report
from ascend_opcli.reporting.finished import FinishedRun
from ascend_opcli.reporting.texts import LANGUAGES, TEXTS
from tests.conftest import CaseFile, Opcli
from tests.reporting.made_up import HOSTILE, case, every_word, finished, hostile, output, result
from tests.reporting.test_json import EVERYTHING
from tests.reporting.test_markdown import page

Render = Callable[[FinishedRun], Iterator[str]]
CHINESE = re.compile("[\u4e00-\u9fff]")


def both(render: Render, results: list[Result], **changes: object) -> tuple[str, str]:
    english, chinese = ("".join(render(finished(results, language=lang, **changes))) for lang in LANGUAGES)
    return english, chinese


# --- the texts ----------------------------------------------------------------------------------------------


def test_every_text_has_both_languages_with_the_same_blanks() -> None:
    def blanks(text: str) -> set[str]:
        return {name for _, name, _, _ in string.Formatter().parse(text) if name is not None}

    for key, (english, chinese) in TEXTS.items():
        assert english.strip(), key
        assert chinese.strip(), key
        assert blanks(english) == blanks(chinese), key
        assert not CHINESE.search(english), key
        assert not re.search("(?<=[\u4e00-\u9fff])[,;:!?]", chinese), key


def test_every_text_is_used() -> None:
    from ascend_opcli.execution import coverage

    sources = "".join(
        Path(module.__file__ or "").read_text("utf-8") for module in (acceptance, issue_report, coverage)
    )
    for key in TEXTS:
        assert f'"{key}"' in sources or f"'{key}'" in sources or key.startswith("rule_"), key


@pytest.mark.parametrize("render", [acceptance.render, issue_report.render])
@pytest.mark.parametrize("results", [[], every_word(), hostile()], ids=["none", "words", "hostile"])
def test_both_languages_have_one_structure(render: Render, results: list[Result]) -> None:
    english, chinese = both(render, results)
    a, b = page(english), page(chinese)
    assert a.tags == b.tags
    assert not CHINESE.search(english.replace("误差过大", ""))
    assert CHINESE.search(chinese)
    # The words of the judgement are the same in both.
    for word in VerdictKind:
        assert english.count(f"**{word.value}") == chinese.count(f"**{word.value}")


# --- acceptance ---------------------------------------------------------------------------------------------


def rows(text: str, heading: str) -> list[list[str]]:
    """The table of a section."""
    section = text.partition(f"# {heading}\n")[2]
    lines = re.findall(r"^\|.*\|$", re.split(r"^#", section, flags=re.MULTILINE)[0], re.MULTILINE)
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines[2:]]


def test_a_run_on_the_host_is_no_acceptance_of_a_kernel(opcli: Opcli, case_file: CaseFile) -> None:
    done = opcli("run", case_file(EVERYTHING), "--acceptance", "-")
    assert "**No operator was run.**" in done.out
    assert "do not stand for a run on an NPU" in done.out
    assert rows(done.out, "Result") == [
        ["compared with a golden", "5", "3", "1", "0", "0", "1", "75 %"],
        ["demanded to be refused, by status", "2", "1", "0", "1", "0", "0", "50 %"],
    ]
    assert "ecosystem 2026-07" in done.out
    assert rows(done.out, "By branch of the operator")[0][:2] == ["aclnnLogitGrad", "inside"]
    assert [row[1] for row in rows(done.out, "Case-generation rules of the ecosystem standard")]
    assert "a.yaml::bad" in done.out.partition("## What did not pass")[2]


def test_the_same_in_chinese(opcli: Opcli, case_file: CaseFile) -> None:
    done = opcli("run", case_file(EVERYTHING), "--acceptance", "-", "--lang", "zh")
    assert done.out.startswith("# 算子验收报告：aclnnLogitGrad\n")
    assert "未执行算子" in done.out
    assert "不能代替 NPU 上的实测结果" in done.out


def test_a_run_on_a_device_names_the_library_and_no_host() -> None:
    on_device = [dataclasses.replace(r, backend="device", served_by="libcust.so") for r in every_word()]
    english, chinese = both(acceptance.render, on_device)
    assert "No operator was run" not in english
    assert "未执行算子" not in chinese
    assert "libcust.so" in english


def test_rates_leave_out_what_was_not_judged() -> None:
    english, _ = both(acceptance.render, every_word())
    assert rows(english, "By dtype of the inputs") == [["float32", "5", "1", "1", "1", "1", "1", "33.3 %"]]
    assert rows(english, "By tag") == [["(none)", "5", "1", "1", "1", "1", "1", "33.3 %"]]
    assert rows(english, "By attribute")[0][:3] == ["aclnnLogitGrad", "eps", "-1"]


def test_a_branch_that_nothing_reaches_is_named() -> None:
    english, _ = both(acceptance.render, [result()])
    assert rows(english, "By branch of the operator") == [
        ["aclnnLogitGrad", "inside", "4", "1", "1", "0", "0", "0", "0", "100 %"],
        ["aclnnLogitGrad", "outside", "no element reaches it", "0", "0", "0", "0", "0", "0", "-"],
    ]


def test_the_worst_case_of_each_dtype_is_the_failed_one_then_the_one_that_uses_most() -> None:
    def of(name: str, used: float, passed: bool, dtype: str) -> Result:
        word = VerdictKind.PASS if passed else VerdictKind.FAIL
        report = output(passed=passed, used=used, dtype=dtype)
        return result(word, case(name), verdict=Verdict(word, "", (report,)))

    results = [
        of("low", 0.1, True, "float32"),
        of("nan", float("nan"), False, "float16"),
        of("high", 0.9, True, "float32"),
        of("failed", 0.5, False, "bfloat16"),
        of("passed", 0.99, True, "bfloat16"),
    ]
    english, _ = both(acceptance.render, results)
    worst = {row[1]: row[2] for row in rows(english, "Worst case per dtype")}
    assert {d: re.search("::(.*)<", name)[1] for d, name in worst.items()} == {  # type: ignore[index]
        "float32": "high",
        "float16": "nan",
        "bfloat16": "failed",
    }


def test_many_values_are_bounded_and_the_failing_ones_kept() -> None:
    results = []
    for n in range(500):
        word = VerdictKind.FAIL if n == 499 else VerdictKind.PASS
        branches = (Branch(f"b{n}", 1),)
        made = case(f"n{n}", tags=(f"t{n}",))
        results.append(
            result(word, made, verdict=Verdict(word, "", (output(passed=n != 499, branches=branches),)))
        )
    english, _ = both(acceptance.render, results)
    tags = [row[0] for row in rows(english, "By tag")]
    assert len(tags) == acceptance.MOST_ROWS
    assert "t499" in tags
    assert "440 more rows are left out; all of their cases passed" in english


def test_operators_have_their_own_rules_table() -> None:
    english, _ = both(acceptance.render, [result(made=case(operator=name)) for name in ("aclnnA", "aclnnB")])
    assert "\n### aclnnA\n" in english
    assert "\n### aclnnB\n" in english


# --- issue --------------------------------------------------------------------------------------------------


def test_a_failure_is_ready_to_file(opcli: Opcli, case_file: CaseFile) -> None:
    done = opcli("run", case_file(EVERYTHING), "--issue", "-")
    headings = re.findall(r"^#+ (.*)$", done.out, re.MULTILINE)
    assert headings == [
        "aclnnLogitGrad: 1 of 7 cases fail",
        "Environment",
        "1. <code>a.yaml::bad</code>",
        *("Call", "Steps", "Expected", "Seen", "Log"),
    ]
    steps = re.search(r"### Steps\n\n```sh\n(opcli run .*)\n```", done.out)
    assert steps is not None
    assert "--inputs-sha256" in steps[1]
    assert "9 numbers where the golden is NaN" in done.out
    assert "golden nan" in done.out


def test_a_demanded_refusal_that_did_not_come_says_what_was_demanded(
    opcli: Opcli, case_file: CaseFile
) -> None:
    path = case_file(
        "op: logit_grad\ncases: [{name: a, dtype: float32, shape: [4], expect: {status: 161002}}]\n"
    )
    done = opcli("run", path, "--issue", "-")
    assert "- status 161002 ACLNN_ERR_PARAM_INVALID from phase 1" in done.out
    assert "- status 0 ACL_SUCCESS from phase 1" in done.out


def test_the_first_five_failures_are_shown_and_the_rest_counted() -> None:
    english, chinese = both(issue_report.render, [result(VerdictKind.FAIL, case(f"n{n}")) for n in range(12)])
    assert len(re.findall(r"^## \d\. ", english, re.MULTILINE)) == 5
    assert "7 more cases of the run fail" in english
    assert "另有 7 个失败的用例" in chinese


def test_what_the_kernel_printed_is_the_log_and_cannot_leave_its_block() -> None:
    loud = result(
        VerdictKind.FAIL, captured_output="```\n# not a heading\n<b>", log=("[ERROR] EZ9999", "x" * 10_000)
    )
    english, _ = both(issue_report.render, [loud])
    shown = page(english)
    assert "not a heading" in shown.text
    assert "[ERROR] EZ9999" in shown.text
    assert len(english) < 12_000


def test_no_failure_is_no_bug_report() -> None:
    english, chinese = both(
        issue_report.render, [result(), result(VerdictKind.SKIP), result(VerdictKind.KNOWN)]
    )
    assert "No case of this run failed" in english
    assert "没有失败的用例" in chinese


def test_a_run_that_is_not_complete_says_so_in_both() -> None:
    for render in (acceptance.render, issue_report.render):
        english, chinese = both(render, [result(VerdictKind.FAIL)], planned=9, complete=False)
        assert "The run is not complete: 1 of 9 cases were run" in english
        assert "运行不完整：共 9 个用例，实际运行 1 个" in chinese


def test_hostile_names_stay_in_their_cells() -> None:
    english, _ = both(acceptance.render, hostile())
    listed = rows(english, "What did not pass")
    assert len(listed) == 2 * len(HOSTILE)
