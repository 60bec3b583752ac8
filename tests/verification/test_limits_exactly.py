"""Borders: an error exactly at a limit, the mean over the parts of complex numbers, the last day of a known issue."""

from __future__ import annotations

import datetime

import numpy as np
import pytest

from ascend_opcli.casefile.open import load_text
from ascend_opcli.model import Verdict, VerdictKind
from ascend_opcli.verification.compare.elements import rated
from ascend_opcli.verification.compare.metrics import measure
from ascend_opcli.verification.comparison import Comparison
from ascend_opcli.verification.judge import judge
from ascend_opcli.verification.standards.named import ecosystem_2026_04, parse
from ascend_opcli.verification.standards.rule import Standard
from ascend_opcli.verification.verdict import apply_known_issue


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64", "complex64"])
@pytest.mark.parametrize("strict", [True, False])
def test_an_error_exactly_at_the_limit(dtype: str, strict: bool) -> None:
    """Below, at and above 0.25 + 0.125 * |golden|, in numbers that every dtype holds."""
    component = "float32" if dtype == "complex64" else dtype
    standard = Standard("allclose", "", component, rtol=0.125, atol=0.25, strict=strict)
    golden = np.array([2.0, 2.0, 2.0, -2.0, -2.0, 0.0, 0.0])
    error = np.array([0.375, 0.5, 0.625, 0.5, -0.5, 0.25, -0.25])
    over = [False, strict, True, strict, strict, strict, strict]
    assert rated(golden + error, golden, standard)[3].tolist() == over
    stored = (golden + error).astype(np.complex64 if dtype == "complex64" else np.float64)
    if dtype not in ("complex64", "float64"):
        import ml_dtypes

        stored = stored.astype(ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype)
    wanted = golden.astype(complex) if dtype == "complex64" else golden
    found = measure(Comparison("y", stored, wanted, dtype), standard)
    assert found.outside == sum(over)
    assert found.failing is not None
    assert found.failing.tolist() == [i for i, bad in enumerate(over) if bad]


def test_the_standard_of_2026_04_takes_less_than_its_limit_and_not_as_much() -> None:
    standard = ecosystem_2026_04("float64", threshold=0.5)
    limit = standard.atol  # of a golden that is 0
    for error, passed in ((np.nextafter(limit, 0), True), (limit, False)):
        got, golden = np.array([error] + [0.0] * 99), np.zeros(100)
        report = judge(Comparison("y", got, golden, "float64"), parse("ecosystem-2026-04:threshold=0.5"))
        assert report.passed is passed, error


def test_the_mean_of_complex_numbers_is_over_all_parts() -> None:
    standard = ecosystem_2026_04("complex64", threshold=0.3)
    golden = np.full(64, 1 + 1j)
    got = (golden + 0.5).astype(np.complex64)  # the real parts are off by a half, the others are right
    assert measure(Comparison("y", got, golden, "complex64"), standard).mean == pytest.approx(0.25, rel=1e-5)
    choice = parse("ecosystem-2026-04:threshold=0.3")
    assert judge(Comparison("y", got, golden, "complex64"), choice).passed
    both = (golden + 0.5 + 0.5j).astype(np.complex64)
    assert measure(Comparison("y", both, golden, "complex64"), standard).mean == pytest.approx(0.5, rel=1e-5)
    assert not judge(Comparison("y", both, golden, "complex64"), choice).passed


@pytest.mark.parametrize(
    ("today", "word"),
    [("2027-01-30", VerdictKind.KNOWN), ("2027-01-31", VerdictKind.KNOWN), ("2027-02-01", VerdictKind.FAIL)],
)
def test_a_known_issue_holds_to_the_end_of_its_last_day(today: str, word: VerdictKind) -> None:
    mark = "known_issue: {reason: see 13, expires: 2027-01-31}"
    case = load_text(
        f"op: logit_grad\ncases: [{{dtype: float32, shape: [1], {mark}}}]\n",
        "f.yaml",
        check_standard=lambda *_: None,
    ).cases[0]
    day = datetime.date.fromisoformat(today)
    assert apply_known_issue(case, Verdict(VerdictKind.FAIL, "wrong"), day).word is word
    assert apply_known_issue(case, Verdict(VerdictKind.PASS), day).word is VerdictKind.PASS
