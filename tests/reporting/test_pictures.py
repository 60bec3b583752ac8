"""The strip and the histogram under a failed output, and the sentence above them."""

from __future__ import annotations

import io

import pytest

from ascend_opcli.model import Census, OutputReport
from ascend_opcli.reporting.terminal_pictures import draws_blocks, histogram, picture_lines, strip
from tests.conftest import CaseFile, Opcli


def report(
    shape: tuple[int, ...], wrong: tuple[int, ...], ulp: tuple[int, ...] = (), dtype: str = "float32"
) -> OutputReport:
    return OutputReport(
        "out",
        dtype,
        shape,
        False,
        "wrong",
        "exact",
        "rule",
        "file",
        2.0,
        Census(),
        mismatch_strip=wrong,
        ulp_histogram=ulp,
    )


def test_one_wrong_element_of_a_cell_shows_and_a_full_cell_is_full() -> None:
    assert strip((0, 1, 500, 1000), 4000, ascii_only=True) == ".:+#"
    assert strip((0, 1, 500, 1000), 4000, ascii_only=False) == "\u00b7\u2581\u2584\u2588"


@pytest.mark.parametrize("total", [16, 59, 61, 100, 2401])
def test_every_cell_of_a_wholly_wrong_output_is_full(total: int) -> None:
    cells = min(60, total)
    wrong = [0] * cells
    for place in range(total):
        wrong[place * cells // total] += 1
    assert set(strip(tuple(wrong), total, ascii_only=True)) == {"#"}


def test_the_lines_of_an_output() -> None:
    wrong = (0,) * 59 + (40,)
    lines = list(picture_lines(report((2400,), wrong, (0, 0, 30, 0, 3, 0, 0, 0, 0, 0, 7)), ascii_only=True))
    assert lines == [
        "where: |" + "." * 59 + "#| 40 elements a character",
        "ulp errors of the wrong elements looked at:",
        "        <= 2 30 " + "#" * 30,
        "        <= 4  0",
        "       <= 16  3 ###",
        "  NaN or Inf  7 #######",
    ]


def test_small_outputs_integers_and_outputs_without_data() -> None:
    assert not list(picture_lines(report((15,), (1,) * 15, (15,) + (0,) * 10), ascii_only=True))
    assert not list(picture_lines(report((4000,), ()), ascii_only=True))
    lines = list(picture_lines(report((16,), (1,) * 16, (0,) * 10 + (16,), "int32"), ascii_only=True))
    assert lines == ["where: |################| 1 element a character"]


def test_a_bar_is_never_longer_than_its_column() -> None:
    lines = list(histogram((10**9, 1) + (0,) * 9, ascii_only=False))
    assert lines[1].count("\u2588") == 30
    assert lines[2].count("\u2588") == 1


@pytest.mark.parametrize(
    ("encoding", "blocks"), [("utf-8", True), ("UTF8", True), ("ascii", False), ("latin-1", False)]
)
def test_ascii_where_the_encoding_is_not_unicode(encoding: str, blocks: bool) -> None:
    assert draws_blocks(io.TextIOWrapper(io.BytesIO(), encoding=encoding)) is blocks


def test_the_sentence_stands_under_the_reason_and_the_pictures_under_the_census(
    opcli: Opcli, case_file: CaseFile
) -> None:
    # A wrong expectation for the last quarter of an output is as good as a wrong kernel.
    right, wrong = ["0.0"] * 48, ["5.0"] * 16
    path = case_file(f"""
        op: threshold_backward
        cases:
          - name: a
            inputs:
              gradOutput: {{dtype: float32, shape: [64], data: 1.0}}
              self: {{dtype: float32, shape: [64], data: 0.5}}
            attrs: {{threshold: 1.0}}
            expect: {{outputs: {{out: [{", ".join(right + wrong)}]}}}}
    """)
    done = opcli("run", path, "--backend", "host")
    assert done.code == 1
    detail = done.out.split("FAIL a.yaml::a")[1].splitlines()
    assert detail[2].startswith(
        "  got agrees with the built-in reference: it is the case's expected values that differ;"
    )
    assert "only the last 16 of 64 elements are wrong, from element 48 on (64 bytes" in detail[2]
    assert detail[2].endswith("got is 0 in all of them")
    drawn = [line for line in detail if "where: |" in line]
    assert len(drawn) == 1
    assert "ulp errors" in done.out


def test_a_passing_output_has_neither(opcli: Opcli) -> None:
    done = opcli(
        "run", "--op", "logit_grad", "--dtype", "float32", "--shape", "64", "--backend", "host", "--verbose"
    )
    assert done.code == 0
    assert "where:" not in done.out
