"""Cheap wrong answers that would pass are named, and only those."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ascend_opcli.model import StandardChoice
from ascend_opcli.tensors.dtypes import float_format, round_to
from ascend_opcli.verification.comparison import Comparison
from ascend_opcli.verification.judge import judge
from ascend_opcli.verification.standards.named import covers
from ascend_opcli.verification.weak_answers import SAMPLE, TRUSTED_FROM, sample


def weak(golden: np.ndarray, dtype: str = "float32", **keywords: object) -> tuple[str, ...]:
    choice = keywords.pop("choice", StandardChoice("ecosystem"))
    got = golden.astype(dtype)
    report = judge(Comparison("y", got, golden, dtype, **keywords), choice)  # type: ignore[arg-type]
    assert report.passed, report.reason
    return report.weak


@pytest.fixture
def ordinary() -> np.ndarray:
    return np.random.default_rng(0).uniform(1, 2, 1000)


@pytest.mark.parametrize("standard", ["ecosystem", "ecosystem-2026-04", "allclose", "ulp", "exact", "bits"])
def test_ordinary_data_trust_their_verdict(ordinary: np.ndarray, standard: str) -> None:
    # Rounded first: under exact the output is then the golden itself.
    golden = ordinary.astype(np.float32)
    assert weak(golden, choice=StandardChoice(standard), inputs={"x": golden + 1}) == ()


def test_a_golden_of_zeros_proves_nothing() -> None:
    assert weak(np.zeros(64)) == ("zeros", "twice the golden", "negated golden", "last 32 bytes zeroed")
    # -0.0 is another value only where the bits count.
    assert "negated golden" not in weak(np.zeros(64), choice=StandardChoice("bits"))


def test_values_below_the_tolerance_prove_nothing() -> None:
    assert "zeros" in weak(np.full(64, 1e-5))
    assert "zeros" not in weak(np.full(64, 1e-5), choice=StandardChoice("ulp", {"max": 2.0}))


@pytest.mark.parametrize("count", [1, 4, 7, 8, 64])
@pytest.mark.parametrize("dtype", ["float32", "float16", "complex64", "int8", "int32", "int64", "uint8"])
def test_a_distance_beyond_every_golden_proves_nothing_at_any_size(count: int, dtype: str) -> None:
    golden = np.resize(np.arange(1, 8), count)
    choice = StandardChoice("allclose", {"atol": 1e9 if dtype != "float16" else 60000.0})
    assert set(weak(golden.astype(dtype), dtype, choice=choice)) & {"zeros", "any number"}
    if np.dtype(dtype).kind in "iu":
        assert set(weak(golden.astype(dtype), dtype, choice=StandardChoice("ulp", {"max": 255.0})))
        assert weak(golden.astype(dtype), dtype, choice=StandardChoice("ulp", {"max": 1.0})) == ()


def test_an_input_copied_through_is_named(ordinary: np.ndarray) -> None:
    golden = ordinary.astype(np.float32)
    copies = {"dy": golden.copy(), "x": golden * 2, "short": golden[:10], "z": golden.astype(np.complex64)}
    assert weak(golden, inputs=copies) == ("copy of dy",)


def test_a_zeroed_tail_counts_with_its_true_share() -> None:
    golden = np.full(100_000, 0.005)
    # Eight elements are 0.008 %, far below the 1 % forgiven, and 0.005 is inside the limit 0.01.
    assert weak(golden) == ("last 32 bytes zeroed",)
    # Among 100 elements they are 8 %.
    assert weak(golden[:100]) == ()


def test_a_wrong_answer_stands_for_the_whole_tensor() -> None:
    golden = np.zeros(200_000)
    golden[::50] = 0.005  # 2 % of the elements are over the tolerance under zeros
    assert "zeros" not in weak(golden)
    golden[::100] = 0.0
    assert "zeros" in weak(golden)


def test_few_elements_integers_and_failures_are_not_asked() -> None:
    assert weak(np.zeros(7)) == ()
    report = judge(Comparison("y", np.zeros(9, np.int32), np.zeros(9), "int32"), StandardChoice("exact"))
    assert report.weak == ()
    report = judge(Comparison("y", np.ones(9), np.zeros(9), "float64"), StandardChoice("ecosystem"))
    assert report.weak == ()


def test_nan_everywhere_cannot_be_told_from_its_double() -> None:
    assert set(weak(np.full(16, np.nan))) == {"twice the golden", "negated golden"}


@pytest.mark.parametrize("total", [8, SAMPLE, SAMPLE + 1, 10**6, 10**8 + 7])
def test_the_sample_is_bounded_and_has_both_ends(total: int) -> None:
    places = sample(total)
    assert places.size <= SAMPLE
    assert (places[0], places[-1]) == (0, total - 1)
    assert np.all(np.diff(places) > 0)


@settings(max_examples=150, deadline=None)
@given(
    st.sampled_from(["float16", "bfloat16", "float32", "float64"]),
    st.sampled_from(["ecosystem", "ecosystem-2026-04", "allclose", "ulp", "assert_close", "exact", "msopst"]),
    st.lists(
        st.one_of(
            st.floats(-2, 2, width=16),
            st.sampled_from([0.0, -0.0, 1e-6, -3e-5, 4e4, 3.38e38, -3.3e38, math.inf, -math.inf, math.nan]),
        ),
        min_size=TRUSTED_FROM,
        max_size=60,
    ),
    st.integers(1, 6),
)
def test_each_wrong_answer_is_judged_as_any_output_is(
    dtype: str, standard: str, values: list[float], times: int
) -> None:
    golden = np.array(values * times)
    choice = StandardChoice(standard)
    got = round_to(golden, dtype)
    if not covers(standard, dtype):
        return
    report = judge(Comparison("y", got, golden, dtype), choice)
    if not report.passed:
        return
    with np.errstate(all="ignore"):
        tail = got.copy()
        length = 32 // got.dtype.itemsize
        tail[-length:] = np.zeros(1, got.dtype)
        answers = {
            "zeros": np.zeros(golden.shape, got.dtype),
            "twice the golden": round_to(golden * 2, dtype),
            "negated golden": round_to(-golden, dtype),
        }
        if length < golden.size:
            answers["last 32 bytes zeroed"] = tail
    expected = tuple(
        name
        for name, answer in answers.items()
        if judge(Comparison("y", answer, golden, dtype), choice).passed
    )
    assert report.weak == expected


@pytest.mark.parametrize("output", ["float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize("kept", ["float16", "float32", "float64"])
@pytest.mark.parametrize("share", [0.3, 0.6, 0.9])
def test_twice_the_golden_is_worked_out_where_it_fits(output: str, kept: str, share: float) -> None:
    largest = min(float_format(output).largest, float_format(kept).largest)
    golden = np.linspace(0.01, share, 50).astype(kept) * np.array(largest).astype(kept)
    # A tolerance of the golden itself lets twice the golden pass wherever that is a number of the output.
    found = weak(golden, output, choice=StandardChoice("allclose", {"rtol": 1.01, "atol": 0.0}))
    fits = 2.0 * float(golden.max()) < float_format(output).largest
    assert ("twice the golden" in found) is fits
    assert "zeros" in found
    assert "negated golden" not in found


@pytest.mark.parametrize("special", [math.inf, -math.inf, math.nan])
@pytest.mark.parametrize("part", ["real", "imag"])
def test_a_part_that_is_no_number_leaves_the_other_one(special: float, part: str) -> None:
    golden = np.full(20, 0.01 + 0.02j)
    setattr(golden, part, np.where(np.arange(20) == 3, special, 0.01))
    found = weak(golden, "complex64", choice=StandardChoice("ecosystem", {"atol": 1.0, "limit": 1.0}))
    assert "twice the golden" in found
    assert ("negated golden" in found) is math.isnan(special)
