"""NaN and Inf under every rule, side by side, as the field's comparison has it."""

from __future__ import annotations

import math

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ascend_opcli.model import OutputReport
from ascend_opcli.verification.comparison import Comparison
from ascend_opcli.verification.judge import judge, side_by_side
from ascend_opcli.verification.standards.named import parse

NAN, INF = math.nan, math.inf

# Rule: NaN against NaN, NaN where a number is due, a number where NaN is due, equal Inf, Inf against finite.
TABLE = {
    "single": (True, False, True, True, False),
    "ratio": (True, False, False, True, False),
    "ratio:tool=verify_result": (True, False, False, True, False),
    "ratio:tool=verify_result,ptol=0.016": (True, True, True, True, True),
    "ratio:ptol=0.016": (True, False, False, True, False),
    "ecosystem": (True, False, False, True, False),
    "ecosystem-2026-04": (True, False, False, True, False),
    "msopst": (True, True, True, True, False),
    "assert_close": (False, False, False, True, False),
    "torch_npu": (True, False, False, False, False),
    "allclose": (True, False, False, True, False),
    "cosine": (True, False, False, True, False),
    "exact": (True, False, False, True, False),
    "bits": (True, False, False, True, False),
}
PAIRS = [(NAN, NAN), (NAN, 1.0), (1.0, NAN), (INF, INF), (INF, 1.0)]


@pytest.mark.parametrize("dtype", ["float16", "float32"])
@pytest.mark.parametrize("standard", TABLE)
@pytest.mark.parametrize("which", range(5))
def test_the_table_row_by_row(standard: str, which: int, dtype: str) -> None:
    got, golden = PAIRS[which]
    # The one element is no more than a share could forgive: 1 of 64 where torch_npu forgives 0.0064.
    output = np.array([got] + [2.0] * 63, getattr(ml_dtypes, dtype, dtype))
    report = judge(Comparison("y", output, np.array([golden] + [2.0] * 63), dtype), parse(standard))
    assert report.passed is TABLE[standard][which], report.reason


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 60), st.sampled_from([0.0, 0.05, 0.1, 0.5]))
def test_ratio_counts_nan_and_inf_as_its_tool_does(seed: int, size: int, ptol: float) -> None:
    rng = np.random.default_rng(seed)
    golden = rng.standard_normal(size)
    got = golden.astype(np.float32)
    for array in (got, golden):
        array[rng.integers(0, size, 3)] = rng.choice([NAN, INF, -INF, 5.0], 3)
    close = np.isclose(got.astype(float), golden, rtol=1e-4, atol=1e-8, equal_nan=True)
    share = np.count_nonzero(~close) / size
    differ = (~close & ~(np.isfinite(got) & np.isfinite(golden))).sum()

    def judged(tool: str) -> OutputReport:
        text = f"ratio:ptol={ptol},tool={tool}"
        return judge(Comparison("y", got, golden, "float32"), parse(text))

    report = judged("verify_result")
    assert report.passed == (share <= ptol)
    forgiven = f"ratio forgives {differ} NaN or Inf that differ, as a share"
    assert report.warnings == ((forgiven,) if report.passed and differ else ())
    assert bool(report.reason) is not report.passed
    report = judged("close")
    assert report.passed == (share <= ptol and differ == 0)
    assert report.warnings == ()
    assert "no NaN or Inf may differ (TTK close)" in report.rule


def test_msopst_says_how_many_nan_it_counted_as_good() -> None:
    output = np.array([NAN, 1.0, NAN, 4.0], np.float32)
    report = judge(Comparison("y", output, np.array([1.0, NAN, 3.0, 4.0]), "float32"), parse("msopst"))
    assert report.passed
    assert report.warnings == ("msopst counts 3 NaN differences as good",)
    assert report.census.nan_against_number == 3
    assert report.census.over == 0


def test_msopst_says_so_too_where_numbers_are_inf_in_its_float32() -> None:
    got, golden = np.array([1e200, 1e300, 1.0, INF]), np.array([-1e200, 1e299, 1.0, INF])
    golden[0] = 1e100
    report = judge(Comparison("y", got, golden, "float64"), parse("msopst"))
    assert report.passed
    assert report.warnings == ("msopst counts 2 NaN differences as good",)


def test_bfloat16_of_torch_npu_is_torch_allclose_where_nan_differs() -> None:
    output = np.array([NAN, 1.0], ml_dtypes.bfloat16)
    report = judge(Comparison("y", output, np.array([NAN, 1.0]), "bfloat16"), parse("torch_npu"))
    assert not report.passed


def test_torch_npu_warns_where_it_forgives_an_inf() -> None:
    golden = np.ones(20_000)
    output = golden.astype(np.float32)
    output[3] = INF
    report = judge(Comparison("y", output, golden, "float32"), parse("torch_npu"))
    assert report.passed
    assert report.warnings == ("torch_npu forgives 1 Inf that differ, as a share",)


@settings(max_examples=150, deadline=None)
@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from(["float16", "bfloat16", "float32", "float64", "complex64"]),
    st.integers(1, 5000),
    st.sampled_from([NAN, INF, -INF, 1.0]),
    st.sampled_from([NAN, INF, -INF, 1.0]),
)
def test_no_standard_passes_a_strange_difference_without_a_warning(
    seed: int, dtype: str, size: int, value: float, wanted: float
) -> None:
    rng = np.random.default_rng(seed)
    golden = rng.standard_normal(size)
    third = golden.copy()
    output = golden.astype(getattr(ml_dtypes, dtype, dtype))
    places = rng.integers(0, size, rng.integers(1, 4))
    output[places], golden[places] = value, wanted
    third[places[0]] = rng.choice([value, wanted])
    differs = not (value == wanted or (value != value and wanted != wanted))
    others = side_by_side(Comparison("y", output, golden, dtype, third=third))
    assert {"random", "single", "msopst", "torch_npu", "dual"} < {other.standard for other in others}
    for other in others:
        report = judge(Comparison("y", output, golden, dtype, third=third), parse(other.standard))
        assert (other.passed, other.reason, other.warnings) == (report.passed, report.reason, report.warnings)
        strange = differs and not (math.isfinite(value) and math.isfinite(wanted))
        # A golden's NaN that the output has not makes no distribution worse.
        if strange and other.passed and not (other.standard == "random" and math.isfinite(value)):
            assert any(other.standard in warning for warning in other.warnings), other
