"""``--markdown``: what a Markdown parser makes of it is the run, whatever names the cases have."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest
from markdown_it import MarkdownIt

from ascend_opcli.model import VerdictKind
from ascend_opcli.reporting.escape import fenced, markdown, markdown_code
from ascend_opcli.reporting.finished import FinishedRun
from ascend_opcli.reporting.markdown import LIMIT, render
from tests.conftest import CaseFile, Opcli
from tests.reporting.made_up import HOSTILE, case, every_word, finished, hostile, result
from tests.reporting.test_json import EVERYTHING

ALLOWED = set(
    "h1 h2 h3 h4 p table thead tbody tr th td code pre details summary strong ul ol li blockquote".split()
)


class Page(HTMLParser):
    """Tags in order and the text, comments left out."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[str] = []
        self.closed: list[str] = []
        self.attributes: list[str] = []
        self.rows: list[list[str]] = []
        self.text = ""
        self.in_cell = False
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [name for name, _ in attrs]
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")
            self.in_cell = True

    def handle_data(self, data: str) -> None:
        self.text += data
        if self.in_cell:
            self.rows[-1][-1] += data

    def handle_endtag(self, tag: str) -> None:
        self.closed.append(tag)
        if tag in ("td", "th"):
            self.in_cell = False


def page(text: str) -> Page:
    """The Markdown as a page; nothing may have become an element that the report does not use."""
    shown = Page(MarkdownIt("commonmark", {"html": True}).enable("table").render(text))
    assert set(shown.tags) <= ALLOWED, set(shown.tags) - ALLOWED
    assert set(shown.attributes) <= {"class", "style"}
    for tag in ("details", "summary", "code"):
        assert shown.tags.count(tag) == shown.closed.count(tag)
    return shown


def report(run: FinishedRun) -> str:
    return "".join(render(run))


def cases_of(shown: Page) -> list[list[str]]:
    start = next(n for n, row in enumerate(shown.rows) if row[0] == "verdict")
    return shown.rows[start + 1 :]


def test_counts_come_first_and_failures_before_the_rest(opcli: Opcli, case_file: CaseFile) -> None:
    done = opcli("run", case_file(EVERYTHING), "--markdown", "-")
    shown = page(done.out)
    assert done.out.startswith("## opcli: 1 case failed (host)\n")
    assert shown.rows[:2] == [["FAIL", "KNOWN", "SKIP", "PASS"], ["1", "1", "1", "4"]]
    assert "no operator was run" in shown.text
    assert done.out.index("**FAIL** <code>a.yaml::bad</code>") < done.out.index("7 cases</summary>")
    assert "repro: opcli run" in done.out
    assert [row[0] for row in cases_of(shown)] == ["FAIL", "KNOWN", "SKIP", *["PASS (host)"] * 4]


def test_all_five_words_have_their_row() -> None:
    shown = page(report(finished(every_word())))
    assert shown.rows[0] == ["FAIL", "ERROR", "KNOWN", "SKIP", "PASS"]
    assert len(cases_of(shown)) == 5


def test_hostile_names_are_names() -> None:
    run = finished(hostile())
    text = report(run)
    shown = page(text)
    table = cases_of(shown)
    assert len(table) == 2 * len(HOSTILE)
    assert all(len(row) == 9 for row in table)
    named = {row[1].partition(" ")[2] for row in table}
    plain = {t for t in HOSTILE if t.isprintable()}
    assert plain <= named
    assert "\\x1b[31m" in text
    assert "\x1b" not in text


@pytest.mark.parametrize("text", HOSTILE)
def test_escaped_text_reads_as_it_was_in_a_sentence_and_as_code(text: str) -> None:
    shown_text = re.sub("[\x00\x07\x1b\r\u202e\udcff]", lambda m: repr(m[0])[1:-1], text)
    for escaped in (markdown(text), markdown_code(text)):
        shown = page(f"before {escaped} after\n")
        assert shown.text.strip() == f"before {shown_text} after"
        assert set(shown.tags) <= {"p", "code"}
        row = page(f"| a | b |\n|---|---|\n| {escaped} | 2 |\n").rows[1]
        assert row[0] == shown_text
        assert row[1].strip() == "2"


def test_nobody_is_addressed_by_a_reason() -> None:
    text = markdown("ask @team, see #12")
    assert "@team" not in text
    assert "#12" not in text


def test_a_fence_is_longer_than_any_in_what_it_holds() -> None:
    shown = page(fenced("```\n````js\n<b>\n") + "\nafter\n")
    assert shown.tags == ["pre", "code", "p"]


@pytest.mark.parametrize("word", [VerdictKind.FAIL, VerdictKind.PASS])
def test_a_large_run_stays_below_the_limit_and_says_what_was_cut(word: VerdictKind) -> None:
    results = [result(word, case(f"n{n}"), captured_output="noise\n" * 500) for n in range(10_000)]
    text = report(finished(results))
    assert len(text) <= LIMIT
    assert "Left out for the limit of 60,000 characters: " in text
    shown = page(text)
    cut = re.search(r"([\d,]+) rows of the table", text)
    assert cut is not None
    assert len(cases_of(shown)) + int(cut[1].replace(",", "")) == 10_000
    if word is VerdictKind.FAIL:
        details = re.search(r"the details of ([\d,]+) failures", text)
        assert details is not None
        assert text.count("**FAIL**") + int(details[1].replace(",", "")) == 10_000


def test_one_enormous_failure_does_not_break_the_limit() -> None:
    endless = case("n" * 100_000)
    text = report(finished([result(VerdictKind.FAIL, endless, reason="r" * 100_000, repro="opcli run x")]))
    assert len(text) <= LIMIT
    assert "repro: opcli run x" in text
    page(text)


def test_a_run_that_is_not_complete_or_empty_says_so() -> None:
    assert "not complete, 1 of 9 cases were run" in report(finished([result()], planned=9, complete=False))
    assert report(finished([])).startswith("## opcli: nothing was judged\n")
