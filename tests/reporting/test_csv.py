"""``--csv``: what the csv module reads back is the run."""

from __future__ import annotations

import csv
import io
import math

from ascend_opcli.model import Census, Element, Verdict, VerdictKind
from ascend_opcli.reporting.csv_report import COLUMNS, render
from ascend_opcli.reporting.finished import FinishedRun
from tests.conftest import ROOT, CaseFile, Opcli
from tests.reporting.made_up import HOSTILE, case, every_word, finished, hostile, output, result


def rows(run: FinishedRun) -> list[dict[str, str]]:
    text = "".join(render(run))
    text.encode()
    read = list(csv.reader(io.StringIO(text, newline=""), strict=True))
    assert all(len(cells) == len(COLUMNS) for cells in read)
    assert tuple(read[0]) == COLUMNS
    return [dict(zip(COLUMNS, cells, strict=True)) for cells in read[1:]]


def test_the_columns_are_those_of_the_readme() -> None:
    readme = (ROOT / "README.md").read_text("utf-8")
    assert ", ".join(f"`{name}`" for name in COLUMNS) in " ".join(readme.split())


def test_every_output_of_every_case_has_a_row(opcli: Opcli) -> None:
    done = opcli("run", ROOT / "cases" / "batch_norm_elemt_backward.yaml", "--tag", "smoke", "--csv", "-")
    read = list(csv.DictReader(io.StringIO(done.out), strict=True))
    assert {r["verdict"] for r in read} == {"PASS"}
    assert {r["backend"] for r in read} == {"host"}
    assert "no operator was run" in done.err


def test_a_case_of_several_outputs_has_as_many_rows_and_one_of_none_has_one() -> None:
    several = Verdict(VerdictKind.FAIL, "wrong", (output(), output(passed=False, name="mean")))
    read = rows(finished([result(verdict=several), result(VerdictKind.SKIP, reason="elsewhere")]))
    assert [(r["output"], r["passed"]) for r in read] == [("out", "true"), ("mean", "false"), ("", "")]
    assert read[2]["dtype"] == "float32"
    assert read[2]["elements"] == ""


def test_all_five_words_are_written() -> None:
    assert [r["verdict"] for r in rows(finished(every_word()))] == [w.value for w in VerdictKind]


def test_numbers_keep_their_digits_and_special_ones_are_words() -> None:
    worst = Element((3, 0), {"x": -0.0}, math.nan, -math.inf, math.inf, 0.1 + 0.2, 1e300, math.inf)
    odd = output(passed=False, worst=(worst,), used=math.inf, atol_needed=None, floor=1 / 3, census=Census(4))
    (read,) = rows(finished([result(verdict=Verdict(VerdictKind.FAIL, "x", (odd,)))]))
    assert (read["worst_got"], read["worst_golden"], read["used"]) == ("nan", "-inf", "inf")
    assert float(read["worst_relative"]) == 0.1 + 0.2
    assert float(read["floor"]) == 1 / 3
    assert read["worst_inputs"] == "x=-0.0"
    assert read["worst_index"] == "3 0"
    assert read["atol_needed"] == ""


def test_a_complex_value_is_one_that_python_reads() -> None:
    worst = Element((0,), {}, complex(1, -2), complex(0.1, math.nan), 1.0, 1.0, 1.0, 1.0)
    (read,) = rows(finished([result(verdict=Verdict(VerdictKind.FAIL, "x", (output(worst=(worst,)),)))]))
    assert complex(read["worst_got"]) == complex(1, -2)
    assert math.isnan(complex(read["worst_golden"]).imag)


def test_hostile_names_are_cells_and_no_formulas() -> None:
    read = rows(finished(hostile()))
    assert len(read) == 2 * len(HOSTILE)
    named = {r["name"].partition(" ")[2] for r in read}
    assert {
        "<script>alert(1)</script>",
        "]]>",
        "误差过大 ÅÄÖ 😀",
        "bell\\x07 escape\\x1b[31m nul\\x00 return\\r",
    } <= named
    formulas = [result(made=case(name)) for name in ("=1+1", "+1", "-1", "@SUM(A1)", "\t=1")]
    assert [r["name"] for r in rows(finished(formulas))] == ["'=1+1", "'+1", "'-1", "'@SUM(A1)", "'\t=1"]


def test_a_reason_of_several_lines_stays_one_cell() -> None:
    (read,) = rows(finished([result(VerdictKind.FAIL, reason='two\nlines, "quoted"')]))
    assert read["reason"] == 'two\nlines, "quoted"'


def test_names_that_are_not_ascii_come_through_a_file(opcli: Opcli, case_file: CaseFile) -> None:
    path = case_file("op: logit_grad\ncases: [{name: 误差, dtype: float32, shape: [4]}]\n")
    target = path.with_name("r.csv")
    assert opcli("run", path, "--csv", target).code == 0
    (read,) = csv.DictReader(io.StringIO(target.read_text("utf-8"), newline=""))
    assert read["id"] == "a.yaml::误差"
