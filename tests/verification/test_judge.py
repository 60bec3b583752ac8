"""Judging one output: the edges of every rule, worked by hand, and what a report says."""

from __future__ import annotations

import math

import ml_dtypes
import numpy as np
import pytest

from ascend_opcli.model import OutputReport, StandardChoice
from ascend_opcli.verification.comparison import Comparison
from ascend_opcli.verification.judge import judge, noise_floor

NAN, INF = math.nan, math.inf


def judged(got: object, golden: object, dtype: str, standard: str, **numbers: object) -> OutputReport:
    keywords = {k: numbers.pop(k) for k in ("inputs", "ambiguous", "written") if k in numbers}
    numpy = getattr(ml_dtypes, dtype, None) or np.dtype(dtype)
    if not isinstance(got, np.ndarray):
        got = np.array(got, dtype=numpy)
    if not isinstance(golden, np.ndarray):
        golden = np.array(golden, dtype=np.float64)
    choice = StandardChoice(standard, numbers, "test")  # type: ignore[arg-type]
    return judge(Comparison("out", got, golden, dtype, **keywords), choice)  # type: ignore[arg-type]


# --- at the edge --------------------------------------------------------------------------------------------


def test_exactly_at_the_tolerance_passes() -> None:
    # golden 1, tolerance 2^-9 + 2^-9 = 2^-8; float16 holds 1 + 2^-8.
    report = judged([1 + 2**-8], [1.0], "float16", "ecosystem", share=1)
    assert report.passed
    assert report.used == 1.0
    assert report.census.within == 1
    report = judged([1 + 2**-8 + 2**-10], [1.0], "float16", "ecosystem", share=1)
    assert not report.passed
    assert report.used == 1.25


def test_exactly_at_the_tolerance_passes_in_float32() -> None:
    edge = np.float32(2**-10 + 2**-16)
    assert judged([1 + edge], [1.0], "float32", "allclose", rtol=2**-10, atol=2**-16).passed
    over = np.nextafter(np.float32(1 + edge), np.float32(2))
    report = judged([over], np.array([1.0], np.float32), "float32", "allclose", rtol=2**-10, atol=2**-16)
    assert not report.passed
    assert report.used == pytest.approx(1.0, abs=1e-3)
    assert report.used > 1.0


def test_the_older_standard_is_strict() -> None:
    # A golden of 0 is divided by 1e-7 alone: the error T * 1e-7 gives exactly T up to rounding.
    threshold = 2.0**-13
    at = np.array([threshold * 10 * 1e-7], np.float64)
    report = judged(at, np.zeros(1), "float64", "ecosystem-2026-04", ratio=10)
    assert not report.passed
    golden = np.ones(4)
    got = golden + np.array([2 * threshold, 0, 0, 0])
    assert judged(got, golden, "float64", "ecosystem-2026-04").passed
    got = golden + threshold * (1 + 2e-7)
    report = judged(got, golden, "float64", "ecosystem-2026-04")
    assert not report.passed
    assert "the mean relative error 0.000122 is not below 2^-13" in report.reason
    got = golden + np.array([11 * threshold, 0, 0, 0])
    report = judged(got, golden, "float64", "ecosystem-2026-04")
    assert report.census.over == 1
    assert not report.passed


def test_32_ulp_relieve_one_element_at_a_time() -> None:
    # At 65536 a float32 ulp is 2^-7: 32 of them are 0.25, far over the limit 0.01.
    golden = np.array([65536.0, 1.0])
    assert judged([65536 + 0.25, 1.0], golden, "float32", "ecosystem").passed
    report = judged([65536 + 0.25 + 2**-7, 1.0], golden, "float32", "ecosystem")
    assert not report.passed
    assert report.reason == "1 exceeds the limit 0.01 by 0.00781"
    assert report.used == 33 / 32
    # The large neighbour does not help an element at 1, of which one ulp is 2^-23.
    golden = np.concatenate([np.full(200, 65536.0), [12.0]])
    got = golden.astype(np.float32)
    got[-1] += np.float32(0.0109)
    report = judged(got, golden, "float32", "ecosystem")
    assert not report.passed
    assert "exceeds the limit 0.01" in report.reason


def test_an_error_beyond_the_limit_fails_inside_the_tolerance_too() -> None:
    # At 100 the tolerance is 0.0977, but the limit 0.01 (32 ulp are 0.00024).
    report = judged([100.05], [100.0], "float32", "ecosystem")
    assert not report.passed
    assert report.used == pytest.approx(5.0, rel=1e-3)
    assert report.census.over == 1


@pytest.mark.parametrize(("over", "passes"), [(1, True), (2, False)])
def test_a_share_of_099_met_exactly_passes(over: int, passes: bool) -> None:
    golden = np.ones(100)
    got = golden.astype(np.float32)
    got[:over] += np.float32(0.005)  # over the tolerance 0.00099, inside the limit 0.01
    report = judged(got, golden, "float32", "ecosystem")
    assert report.passed is passes
    assert report.census.over == over
    if not passes:
        assert report.reason == "2 of 100 elements are over the tolerance (2 %, allowed 1 %)"


def test_the_reason_has_share_and_limit() -> None:
    golden = np.ones(4096)
    got = golden.astype(np.float32)
    got[[1, 2]] += np.float32(0.005)
    got[3] += np.float32(0.53)
    report = judged(got, golden, "float32", "ecosystem")
    assert report.reason == (
        "3 of 4,096 elements are over the tolerance (0.073 %, allowed 1 %) "
        "and 1 exceeds the limit 0.01 by 0.52"
    )


def test_ulp_counts_spacings_of_the_output_dtype_at_the_golden() -> None:
    two = np.array([1.0])
    assert judged([1 + 2 * 2**-10], two, "float16", "ulp", max=2).passed
    assert not judged([1 + 3 * 2**-10], two, "float16", "ulp", max=2).passed
    # Below 1 the spacing is half as large, but the golden is 1: two spacings below are half used.
    assert judged([1 - 2**-10], two, "float16", "ulp", max=2).used == 0.5
    # A golden between two numbers: both are half a spacing away.
    half = np.array([1 + 2**-11])
    for got in (1.0, 1 + 2**-10):
        assert judged([got], half, "float16", "ulp", max=0.5).passed
        assert not judged([got], half, "float16", "ulp", max=0.49).passed
    # In the subnormal range the spacing is 2^-24.
    assert judged([2**-24], np.zeros(1), "float16", "ulp", max=1).passed
    assert not judged([2**-24], np.zeros(1), "float16", "ulp", max=0.5).passed
    assert judged([2**-149], np.zeros(1), "float32", "ulp", max=1).passed
    assert judged([1 + 2**-7], two, "bfloat16", "ulp", max=1).passed


def test_exact_and_bits_on_zeros_and_nan() -> None:
    assert judged([-0.0, NAN, 1.0], [0.0, NAN, 1 + 2**-12], "float16", "exact").passed
    report = judged([-0.0, NAN], [0.0, NAN], "float16", "bits")
    assert not report.passed
    assert report.reason == "1 of 2 elements differs in its bytes from the golden"
    assert report.worst[0].index == (0,)
    assert judged([-0.0, NAN], [-0.0, NAN], "float16", "bits").passed
    report = judged([1.0, 2.0], [1.0, 2 + 2**-9], "float16", "exact")
    assert report.reason == "1 of 2 elements differs from the golden"
    assert report.used == INF
    assert report.atol_needed is None


# --- NaN and Inf --------------------------------------------------------------------------------------------

DISTANCES = ["ecosystem", "ecosystem-2026-04", "allclose", "ulp", "exact", "bits"]


@pytest.mark.parametrize("standard", DISTANCES)
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64", "float8_e5m2"])
def test_equal_nan_and_inf_match(standard: str, dtype: str) -> None:
    values = [NAN, INF, -INF, 1.0]
    report = judged(values, values, dtype, standard)
    assert report.passed, report.reason
    assert report.used == 0.0
    assert report.census.exact == 4


@pytest.mark.parametrize("standard", DISTANCES)
@pytest.mark.parametrize(
    ("got", "golden", "reason"),
    [
        (NAN, 1.0, "1 NaN where the golden is a number"),
        (NAN, INF, "1 NaN where the golden is a number"),
        (1.0, NAN, "1 number where the golden is NaN"),
        (INF, NAN, "1 number where the golden is NaN"),
        (INF, 1.0, "1 Inf where the golden is another value"),
        (-INF, INF, "1 Inf where the golden is another value"),
        (1.0, INF, "1 finite value where the golden is Inf"),
    ],
)
def test_one_mismatch_fails_whatever_share_is_forgiven(
    standard: str, got: float, golden: float, reason: str
) -> None:
    expected = np.ones(1000)
    output = np.ones(1000, np.float32)
    output[500], expected[500] = got, golden
    report = judged(output, expected, "float32", standard)
    assert not report.passed
    assert report.reason.startswith(reason)
    assert report.used == INF
    assert report.worst[0].index == (500,)
    assert report.census.nan_against_number + report.census.inf_against_other == 1
    assert (report.census.exact, report.census.over) == (999, 1)


def test_a_golden_that_rounds_to_inf_is_expected_as_that_inf() -> None:
    # 65504 is the largest float16; from 65520 on rounding gives Inf.
    assert judged([INF], [65520.0], "float16", "ecosystem").passed
    assert judged([INF], [65520.0], "float16", "exact").passed
    report = judged([65504.0], [65520.0], "float16", "ecosystem")
    assert report.reason == "1 finite value where the golden is Inf"
    assert judged([65504.0], [65519.0], "float16", "ecosystem").passed
    assert not judged([INF], [65519.0], "float16", "ecosystem").passed
    assert judged([-INF], [-1e39], "float32", "ecosystem").passed
    assert not judged([INF], [-1e39], "float32", "ecosystem").passed
    assert judged([NAN], [1000.0], "float8_e4m3fn", "ecosystem").passed  # it has no Inf
    big = np.finfo(np.float32).max
    assert not judged([big], [-float(big)], "float32", "ecosystem").passed


# --- integers, bool, complex --------------------------------------------------------------------------------


def test_integers_near_2_to_the_63_are_compared_exactly() -> None:
    top = 2**63 - 1
    golden = np.array([top, -(2**63), 2**53 + 1], np.int64)
    assert judged(golden.copy(), golden, "int64", "exact").passed
    got = golden - np.array([1, 0, 1])
    report = judged(got, golden, "int64", "exact")
    assert report.census.over == 2
    assert [element.got for element in report.worst] == [top - 1, 2**53]
    assert judged(got, golden, "int64", "ulp", max=1).passed
    wide = np.array([2**64 - 1, 0], np.uint64)
    report = judged(wide[::-1].copy(), wide, "uint64", "ulp", max=1)
    assert report.census.over == 2
    assert report.worst[0].absolute == 2.0**64
    far = judged(np.array([top]), np.array([-(2**63)]), "int64", "exact")
    assert far.worst[0].absolute == 2.0**64
    assert far.census.sign_flipped == 1


def test_a_float_golden_of_an_integer_output_is_rounded() -> None:
    golden = np.array([2.4, 2.5, 3.5, -1.6, 300.0, NAN])
    report = judged(np.array([2, 2, 4, -2, 127, 0], np.int8), golden, "int8", "exact")
    assert report.census.exact == 5
    assert report.reason == "1 number where the golden is NaN"


def test_bool() -> None:
    golden = np.array([True, False, True])
    assert judged(golden.copy(), golden, "bool", "exact").passed
    report = judged(np.array([True, True, False]), golden, "bool", "exact")
    assert report.census.over == 2
    assert report.census.zero_against_nonzero == 2
    assert report.worst[0].got is True


def test_a_complex_element_is_over_if_either_part_is() -> None:
    golden = np.array([1 + 1j, 1 + 0j, 2 - 1j], np.complex128)
    got = golden.astype(np.complex64)
    got[0] += np.complex64(0.5j)
    got[2] = np.complex64(2 + 1j)
    report = judged(got, golden, "complex64", "ecosystem")
    assert (report.census.exact, report.census.over, report.census.sign_flipped) == (1, 2, 1)
    assert report.worst[0].index == (2,)
    assert report.worst[0].got == 2 + 1j
    assert report.worst[0].absolute == 2.0
    real = judged(np.array([1 + 0j, 2 + 1j], np.complex64), np.array([1.0, 2.0]), "complex64", "exact")
    assert (real.census.exact, real.census.over) == (1, 1)
    assert judged(np.array([NAN + 1j], np.complex64), np.array([NAN + 1j]), "complex64", "ecosystem").passed


# --- shapes and layouts -------------------------------------------------------------------------------------


def test_empty_and_scalar_outputs() -> None:
    for standard in DISTANCES:
        report = judged(np.empty((0, 3), np.float32), np.empty((0, 3)), "float32", standard)
        assert report.passed
        assert report.used == 0.0
        assert report.rule
    assert judged(np.empty(0, np.int32), np.empty(0), "int32", "exact").passed
    report = judged(np.array(3.0, np.float32), np.array(4.0), "float32", "ecosystem")
    assert not report.passed
    assert report.worst[0].index == ()


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64", "int32", "complex64", "bool"])
def test_strides_change_nothing(dtype: str) -> None:
    numpy = np.dtype(getattr(ml_dtypes, dtype, dtype))
    rng = np.random.default_rng(1)
    whole = (rng.integers(0, 50, (40, 6, 30)) / (1 if dtype in ("int32", "bool") else 8)).astype(numpy)
    golden = (whole.astype(np.complex128 if dtype == "complex64" else np.float64)).copy()
    golden[3, 4, 7] += 1
    for cut in (np.s_[::-1], np.s_[:, ::2], np.s_[..., 3:20:3], np.s_[::2, ::-1, 5:]):
        for order in ((0, 1, 2), (2, 0, 1)):
            got, expected = whole[cut].transpose(order), golden[cut].transpose(order)
            plain = judged(np.ascontiguousarray(got), np.ascontiguousarray(expected), dtype, "exact")
            assert judged(got, expected, dtype, "exact") == plain
            plain = judged(np.ascontiguousarray(got), np.ascontiguousarray(expected), dtype, "allclose")
            assert judged(got, expected, dtype, "allclose") == plain
    one = np.broadcast_to(np.float32(2), (5, 3))
    assert judged(one, np.broadcast_to(2.0, (5, 3)), "float32", "ecosystem").passed


def test_another_shape_or_dtype_is_a_failed_report() -> None:
    report = judged(np.ones((2, 3), np.float32), np.ones((3, 2)), "float32", "ecosystem")
    assert not report.passed
    assert report.reason == "the output has the shape [2, 3], the golden [3, 2]"
    report = judged(np.ones(2, np.float64), np.ones(2), "float32", "ecosystem")
    assert report.reason == "the output has the dtype float64, expected is float32"
    report = judged(np.ones(2, np.float32), np.ones(2, np.complex128), "float32", "ecosystem")
    assert report.reason == "the golden is complex, the output float32"


# --- what a report shows ------------------------------------------------------------------------------------


def test_the_worst_elements_can_be_worked_out_by_hand() -> None:
    golden = np.array([[1.0, 2.0], [4.0, 8.0]])
    got = np.array([[1.0, 2.5], [4.0, 10.0]], np.float32)
    report = judged(
        got,
        golden,
        "float32",
        "allclose",
        rtol=0.25,
        atol=1.0,
        inputs={"x": np.arange(2, dtype=np.int32), "w": np.ones(3), "b": np.array(7.0, ml_dtypes.bfloat16)},
    )
    assert report.passed
    assert len(report.worst) == 2
    worst = report.worst[0]
    assert (worst.index, worst.got, worst.golden) == ((1, 1), 10.0, 8.0)
    assert (worst.absolute, worst.relative, worst.used) == (2.0, 0.25, 2 / 3)
    assert worst.ulp == 2.0 / 2**-20
    assert worst.inputs == {"x": 1, "b": 7.0}
    assert [type(value) for value in (worst.got, worst.golden, worst.inputs["x"])] == [float, float, int]
    assert report.origin == "test"
    assert report.atol_needed == 0.0
    assert report.rtol_needed == 0.125


def test_the_census_tells_kinds_of_error_apart() -> None:
    golden = np.array([1.0, 1.0, -1.0, 0.0, 2.0, NAN, INF, 1.0])
    got = np.array([1.0, 1.0001, 1.0, 1e-6, 0.0, 1.0, 1.0, NAN], np.float32)
    census = judged(got, golden, "float32", "ecosystem").census
    assert (census.total, census.exact, census.within, census.over) == (8, 1, 2, 5)
    assert (census.sign_flipped, census.zero_against_nonzero) == (1, 2)
    assert (census.nan_against_number, census.inf_against_other) == (2, 1)


def test_elements_that_were_not_written_fail() -> None:
    golden = np.ones((3, 4))
    written = np.ones((3, 4), bool)
    written[1, :2] = False
    report = judged(golden.astype(np.float32), golden, "float32", "ecosystem", written=written)
    assert not report.passed
    assert report.census.not_written == 2
    assert report.reason == "2 of 12 elements were not written"


def test_either_branch_is_right_at_a_threshold() -> None:
    golden = np.arange(1.0, 7.0).astype(np.float32)
    got = golden.copy()
    got[[4, 1]] = (0.0, NAN)
    ambiguous = (np.array([4, 1, 2]), np.array([0.0, NAN, 0.0]))
    report = judged(got, golden, "float32", "ecosystem", ambiguous=ambiguous)
    assert report.passed, report.reason
    assert report.either == 3
    assert report.census.exact == 6
    got[4] = 0.25
    report = judged(got, golden, "float32", "ecosystem", ambiguous=ambiguous)
    assert not report.passed
    assert report.worst[0].golden == 0.0


def test_the_noise_floor_is_what_the_host_result_uses() -> None:
    golden = np.array([1 + 2**-11, 2.0])
    host = golden.astype(np.float16)
    assert noise_floor(Comparison("y", host, golden, "float16"), StandardChoice("ulp", {"max": 2.0})) == (
        0.25,
        False,
    )
    # An unreachable tolerance: the correctly rounded result does not pass either.
    assert noise_floor(Comparison("y", host, golden, "float16"), StandardChoice("ulp", {"max": 0.25})) == (
        2.0,
        False,
    )
    report = judged(host, golden, "float16", "ulp", max=0.25)
    assert not report.passed
    assert (report.census.exact, report.census.over) == (1, 1)


def test_a_wrong_choice_is_raised() -> None:
    with pytest.raises(ValueError, match="did you mean 'exact'"):
        judged([1.0], [1.0], "float32", "exakt")
