"""What docs/ says is what the product has."""

from __future__ import annotations

import re

import pytest

from tests.conftest import ROOT, CaseFile, Opcli

CASES = (ROOT / "docs" / "case-files.md").read_text("utf-8")
REPORT = (ROOT / "docs" / "reading-the-report.md").read_text("utf-8")


def test_every_column_and_word_of_the_report_is_explained() -> None:
    from ascend_opcli.model import VerdictKind
    from ascend_opcli.reporting.terminal import HEADINGS, MANY

    for word in VerdictKind:
        assert f"| {word.value} |" in REPORT
    for heading in HEADINGS:
        assert re.search(rf"^\|[^|]*\b{heading}\b", REPORT, re.MULTILINE), heading
    assert f"Above {MANY} cases" in REPORT


def test_every_key_of_a_case_is_in_the_docs() -> None:
    from ascend_opcli.casefile import keys

    readme = (ROOT / "README.md").read_text("utf-8")
    for key in keys.LEVELS["a case"]:
        assert f"`{key}" in readme + CASES, key


@pytest.mark.parametrize("text", re.findall(r"`(x=[^`]+)`", CASES))
def test_the_inline_examples_run(text: str, opcli: Opcli) -> None:
    done = opcli("run", "--op", "logit_grad", "--in", text, "--in", "dy=float16[4,4]")
    assert done.code == 0, done.err


@pytest.mark.parametrize("text", re.findall(r"`((?:exp|where|sum)\([^`]+\))`", CASES))
def test_the_expressions_are_expressions(text: str, case_file: CaseFile, opcli: Opcli) -> None:
    prototype = "aclnnStatus aclnnMineGetWorkspaceSize(const aclTensor *self, aclTensor *out)"
    shape = "[4, 1]" if "keepdims" in text else "[4, 3]"
    path = case_file(f"""
        op: aclnnMine
        signature: {prototype}
        cases:
          - reference: {text}
            inputs: {{self: {{dtype: float32, shape: [4, 3]}}}}
            outputs: {{out: {{shape: {shape}}}}}
    """)
    assert opcli("run", path).code == 0


def test_every_line_of_the_self_test_is_explained() -> None:
    from ascend_opcli.reporting.selftest import CHECKS

    page = (ROOT / "docs" / "self-test.md").read_text("utf-8")
    for title, touches in CHECKS.values():
        assert re.search(
            rf"^\| {re.escape(title[0])} \| .+ \| {re.escape(touches[0])} \|$", page, re.MULTILINE
        )
