"""``--html``: one page that is whole, safe and needs nothing beside itself."""

from __future__ import annotations

import dataclasses
import math
import re
from html.parser import HTMLParser

import pytest

from ascend_opcli.model import ULP_BINS, Census, Element, Verdict, VerdictKind
from ascend_opcli.reporting import pictures
from ascend_opcli.reporting.finished import FinishedRun
from ascend_opcli.reporting.html import MOST_DETAILS, render
from tests.conftest import CaseFile, Opcli
from tests.reporting.made_up import HOSTILE, case, every_word, finished, hostile, output, result
from tests.reporting.test_json import EVERYTHING

VOID = {"meta", "input", "rect", "circle", "line"}
ELEMENTS = VOID | set(
    "html head title style body h1 h2 h3 h4 p dl div dt dd nav label b main table thead tbody tr th td a span"
    " section details summary pre code figure figcaption svg text".split()
)


class Page(HTMLParser):
    """Reads a page strictly: what is opened is closed in order, ids are unique, links stay inside."""

    def __init__(self, source: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.labels: list[str] = []
        self.cells: dict[str, list[str]] = {}
        self.text = ""
        self._cell = ""
        self.feed(source)
        self.close()
        assert not self.open
        assert len(set(self.ids)) == len(self.ids)
        assert all(link.startswith("#") and link[1:] in self.ids for link in self.links)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in ELEMENTS, tag
        given = dict(attrs)
        assert not {"src", "srcset", "action", "data", "xlink:href", "style"} & set(given)
        assert not [name for name in given if name.startswith("on")]
        if "id" in given:
            self.ids.append(given["id"] or "")
        if "href" in given:
            self.links.append(given["href"] or "")
        if "aria-label" in given:
            self.labels.append(given["aria-label"] or "")
        self._cell = given.get("class") or "" if tag == "td" else self._cell
        if tag == "td":
            self.cells.setdefault(self._cell, []).append("")
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in VOID
        self.handle_starttag(tag, attrs)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "style" not in self.open:
            self.text += data
        if "td" in self.open:
            self.cells[self._cell][-1] += data

    def handle_comment(self, data: str) -> None:
        pytest.fail(f"comment: {data}")

    def unknown_decl(self, data: str) -> None:
        pytest.fail(f"declaration: {data}")


def page(run: FinishedRun) -> Page:
    source = "".join(render(run))
    assert source.startswith("<!DOCTYPE html>")
    assert not re.search(r"https?://|//\w|@import|url\(", source.partition("<body>")[0])
    return Page(source)


def test_a_run_is_a_page_that_stands_alone(opcli: Opcli, case_file: CaseFile) -> None:
    done = opcli("run", case_file(EVERYTHING), "--html", "-")
    shown = Page(done.out)
    assert "no operator was run" in shown.text
    assert "1 of 7 cases failed" in shown.text
    assert "9 numbers where the golden is NaN" in shown.text
    assert "opcli run" in shown.text
    assert "prefers-color-scheme:dark" in done.out


def test_every_word_can_be_filtered_without_a_script() -> None:
    source = "".join(render(finished(every_word())))
    shown = Page(source)
    for word in VerdictKind:
        assert f"show-{word.value}" in shown.ids
        assert f'<label for="show-{word.value}">' in source
        assert f"#show-{word.value}:not(:checked)~main tr.{word.value}{{display:none}}" in source
        assert f'<tr class="{word.value}">' in source


def test_hostile_names_are_text() -> None:
    shown = page(finished(hostile()))
    named = {cell.partition(" ")[2] for cell in shown.cells["id"]}
    assert {t for t in HOSTILE if t.isprintable()} <= named
    assert not re.search("[\x00-\x08\x0b-\x1f\ud800-\udfff\u202e]", shown.text)


def test_a_failure_shows_what_one_needs_to_go_on() -> None:
    worst = tuple(Element((n,), {"x": 0.5}, 2.0 + n, 1.0 * n, 2.0, 1.0, 8.0, 900.0) for n in range(3))
    failed = output(
        passed=False,
        worst=worst,
        census=Census(100, 90, 0, 10, sign_flipped=4),
        diagnosis="only the tail is wrong: the last 10 elements",
        mismatch_strip=(0,) * 9 + (10,),
        ulp_histogram=(0, 0, 0, 10) + (0,) * (len(ULP_BINS) - 2),
        warnings=("a clause let 1 NaN pass",),
    )
    shown = page(finished([result(VerdictKind.FAIL, verdict=Verdict(VerdictKind.FAIL, "wrong", (failed,)))]))
    for said in (
        "only the tail is wrong: the last 10 elements",
        "100 elements: exact 90 % (90), over 10 % (10), sign flipped 4",
        "would pass with atol 0.5 or rtol 0.25",
        "a clause let 1 NaN pass",
        "where the 10 wrong elements lie",
        failed.rule,
    ):
        assert said in shown.text, said
    assert "mismatches in 1 of 10 pieces" in shown.labels
    assert "≤4: 10" in shown.labels
    assert "3 elements between 0 and 4" in shown.labels


def test_special_numbers_are_shown_and_not_drawn() -> None:
    worst = (
        Element((0,), {"x": math.nan}, math.nan, 1.0, math.inf, math.inf, math.inf, math.inf),
        Element((1,), {"x": math.inf}, -math.inf, 1e308, math.inf, math.inf, math.inf, math.inf),
        Element((2,), {}, complex(1, 2), 1e-300, 1.0, 1.0, 1.0, 1.0),
    )
    failed = output(passed=False, worst=worst, used=math.inf)
    shown = page(finished([result(VerdictKind.FAIL, verdict=Verdict(VerdictKind.FAIL, "wrong", (failed,)))]))
    assert "nan" in shown.text
    assert "-inf" in shown.text
    assert "1+2j" in shown.text
    assert pictures.scatter([(e.golden, e.got) for e in worst]) == ""


def test_numbers_at_the_ends_of_the_range_are_drawn_inside_the_picture() -> None:
    svg = pictures.scatter([(-1.7e308, 1.7e308), (1.7e308, -1.7e308)])
    places = [float(v) for v in re.findall(r'c[xy]="([^"]*)"', svg)]
    assert all(0 <= place <= 220 for place in places)


def test_the_strip_counts_cells_of_the_size_they_have() -> None:
    failed = output(passed=False, census=Census(90, 0, 0, 90), mismatch_strip=(2, 1) * 30)
    shown = dict(pictures.of(failed))
    svg = next(svg for caption, svg in shown.items() if caption.startswith("where"))
    drawn = shown["where the 90 wrong elements lie, from the first element to the last"]
    assert svg
    assert set(re.findall(r'class="c-mark"[^>]* height="([^"]*)"', drawn)) == {"26.0"}


def test_a_page_of_thousands_of_failures_can_be_opened() -> None:
    results = [result(VerdictKind.FAIL, case(f"n{n}")) for n in range(MOST_DETAILS + 5)]
    shown = page(finished(results))
    assert len(shown.cells["id"]) == MOST_DETAILS + 5
    assert len([i for i in shown.ids if i.startswith("c")]) == MOST_DETAILS
    assert "5 more failures" in shown.text


def test_a_run_that_is_not_complete_or_empty_says_so() -> None:
    assert "not complete, 1 of 9 cases were run" in page(finished([result()], planned=9, complete=False)).text
    assert "nothing was judged" in page(finished([])).text
    on_device = dataclasses.replace(result(), backend="device")
    assert "no operator was run" not in page(finished([on_device])).text
