"""The standards of other tools: the edges of each rule, worked by hand from its formula."""

from __future__ import annotations

import math

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ascend_opcli.model import OutputReport, StandardChoice
from ascend_opcli.tensors.dtypes import round_to
from ascend_opcli.verification.comparison import Comparison
from ascend_opcli.verification.judge import judge, side_by_side
from ascend_opcli.verification.standards.named import make, parse

NAN, INF = math.nan, math.inf


def judged(got: object, golden: object, dtype: str, standard: str, third: object = None) -> OutputReport:
    numpy = np.dtype(getattr(ml_dtypes, dtype, dtype))
    golden = golden if isinstance(golden, np.ndarray) else np.array(golden, dtype=np.float64)
    return judge(
        Comparison(
            "out",
            np.array(got, dtype=numpy),
            golden,
            dtype,
            third=None if third is None else np.array(third, dtype=numpy),
        ),
        parse(standard),
    )


FLOATS = (
    "float16",
    "bfloat16",
    "float32",
    "float64",
    "float8_e4m3fn",
    "float8_e5m2",
    "complex64",
    "complex128",
)
FOREIGN = ("single", "dual", "msopst", "ratio", "cosine", "torch_npu", "assert_close")


# --- a golden of the output's dtype -----------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("standard", [*FOREIGN, "ratio:rtol=0,atol=0,ptol=0", "single:mare_ratio=1"])
@given(
    seed=st.integers(0, 2**32 - 1), spread=st.sampled_from([0, 2, 4, 20]), size=st.sampled_from([1, 9, 700])
)
@settings(max_examples=3, deadline=None)
def test_the_correctly_rounded_golden_passes_the_standards_of_other_tools(
    standard: str, dtype: str, seed: int, spread: int, size: int
) -> None:
    rng = np.random.default_rng(seed)
    golden = rng.normal(size=size) * 2.0 ** rng.integers(-spread, spread // 3 + 1, size)
    if dtype.startswith("complex"):
        golden = golden + 1j * rng.normal(size=size)
    perfect = round_to(golden, dtype)
    report = judge(Comparison("out", perfect, golden, dtype, third=perfect), parse(standard))
    assert report.passed, report.reason
    beside = side_by_side(Comparison("y", perfect, golden, dtype, third=perfect))
    assert [a.standard for a in beside if a.standard in FOREIGN and not a.passed] == []


def test_close_of_ttk_on_bfloat16_is_what_numpy_says_of_two_arrays_of_bfloat16() -> None:
    rng = np.random.default_rng(3)
    golden = rng.uniform(1, 2, 4096)
    theirs = round_to(golden, "bfloat16").astype(np.float32)
    off = rng.random(4096) < 0.0005
    got = theirs * np.where(off, 1.01, 1)
    ours = judge(Comparison("out", round_to(got, "bfloat16"), golden, "bfloat16"), parse("ratio"))
    wrong = ~np.isclose(round_to(got, "bfloat16").astype(np.float32), theirs, rtol=1e-3, atol=1e-8)
    assert 0 < np.mean(wrong) < 1e-3
    assert ours.passed
    assert ours.census.over == np.count_nonzero(wrong)
    assert "steps are up to 2^-7" in ours.rule  # the floor of the dtype


@pytest.mark.parametrize("standard", ["single", "msopst", "ratio", "cosine", "assert_close"])
def test_the_floor_of_the_dtype_stands_beside_the_rule_of_another_tool(standard: str) -> None:
    assert "rounded to float16 first, whose steps are up to 2^-10" in make(parse(standard), "float16").rule
    assert "rounded" not in make(StandardChoice("allclose"), "float16").rule


def test_a_golden_above_the_size_that_is_rounded_at_once_is_judged_alike() -> None:
    golden = np.random.default_rng(1).normal(size=(1 << 20) + 5)
    report = judge(
        Comparison("out", round_to(golden, "bfloat16"), golden, "bfloat16"),
        parse("ratio:rtol=0,atol=0,ptol=0"),
    )
    assert report.passed
    assert report.census.exact == golden.size


# --- single ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
@pytest.mark.parametrize("type", ["high_precision", "high_performance", "vector_fused"])
def test_single_bounds_mean_and_largest_relative_error(dtype: str, type: str) -> None:
    threshold = {"float16": 2**-10, "bfloat16": 2**-7, "float32": 2**-13}[dtype]
    golden = np.ones(64)
    got = golden.copy()
    got[0] += 8 * threshold  # MARE 8 T, MERE T / 8
    assert judged(got, golden, dtype, f"single:type={type}").passed
    got[0] = 1 + 16 * threshold
    report = judged(got, golden, dtype, f"single:type={type}")
    assert not report.passed
    assert report.census.over == 1
    assert judged(got, golden, dtype, f"single:type={type},mare_ratio=20").passed
    report = judged(golden + 2 * threshold, golden, dtype, f"single:type={type}")
    assert "mean relative error" in report.reason


def test_single_passes_any_output_whose_golden_holds_nan_or_inf_and_warns() -> None:
    report = judged([5.0, 1.0, NAN], [1.0, NAN, 3.0], "float32", "single")
    assert report.passed
    assert report.warnings == ("single passes the output unseen: 1 golden value is NaN or Inf",)
    # 70000 is Inf in float16.
    assert judged([1.0, 1.0], [70000.0, 5.0], "float16", "single").passed
    report = judged([NAN, 1.0], [1.0, 1.0], "float32", "single")
    assert not report.passed
    assert report.warnings == ()


def test_single_on_integers() -> None:
    assert judged([1, -1], [2.0, 0.0], "int8", "single").passed
    assert not judged([1, -1], [3.0, 0.0], "int8", "single").passed
    assert not judged([1, -1], [2.0, 0.0], "int32", "single").passed
    assert not judged([True], [0.0], "bool", "single").passed


# --- msopst ---------------------------------------------------------------------------------------------------


def test_msopst_counts_small_differences_as_they_are_and_larger_ones_relatively() -> None:
    # d = 0.009 < t1: r = d, good; at 0.5 a difference of 0.0078125 is too.
    assert judged([0.5078125], [0.5], "float32", "msopst:t2=0").passed
    # d = 1 at 128: r = 1/129, good. At 64: 1/65 > 0.01, bad, but below the hard limit.
    assert judged([129.0], [128.0], "float32", "msopst:t2=0").passed
    report = judged([65.0], [64.0], "float32", "msopst:t2=0")
    assert not report.passed
    assert report.used == pytest.approx((1 / 65) / 0.01, rel=1e-6)
    assert judged([65.0], [64.0], "float32", "msopst:t1=0.02,t2=0").passed


@pytest.mark.parametrize(("bad", "passes"), [(5, True), (6, False)])
def test_msopst_forgives_the_share_t2_met_exactly(bad: int, passes: bool) -> None:
    golden = np.full(100, 64.0)
    got = golden.copy()
    got[:bad] = 65.0
    assert judged(got, golden, "float32", "msopst").passed is passes


def test_msopst_has_a_hard_limit() -> None:
    golden = np.full(100, 9.0)
    got = golden.copy()
    got[0] = 10.0  # r = 1/10 in float32: not below 0.1
    report = judged(got, golden, "float32", "msopst")
    assert report.passed is bool(np.float32(1) / (np.float32(10) + np.float32(1e-9)) < np.float32(0.1))
    got[0] = 10.5
    assert "limit 0.1" in judged(got, golden, "float32", "msopst").reason
    assert judged(got, golden, "float32", "msopst:limit=0.2").passed


@given(
    st.lists(
        st.tuples(st.floats(-1e4, 1e4, width=32), st.floats(-1e4, 1e4, width=32)), min_size=1, max_size=40
    ),
    st.sampled_from([0.01, 0.001, 0.05]),
    st.sampled_from([0.0, 0.05, 0.5]),
)
def test_msopst_is_its_formula(pairs: list[tuple[float, float]], t1: float, t2: float) -> None:
    a, b = (np.array(side, np.float32) for side in zip(*pairs, strict=True))
    d = np.abs(a - b)
    larger = np.maximum(np.maximum(np.abs(a), np.abs(b)), np.float32(2**-14 / t1)) + np.float32(1e-9)
    r = np.where(d < np.float32(t1), d, d / larger)
    bad = r > np.float32(t1)
    passes = (r.size - bad.sum()) / r.size >= 1 - t2 and (r[bad] < np.float32(0.1)).all()
    report = judged(a, b, "float32", f"msopst:t1={t1},t2={t2}")
    assert report.passed == passes
    assert report.census.over == bad.sum()


# --- ratio, assert_close, quant, md5 --------------------------------------------------------------------------


@pytest.mark.parametrize(("bad", "passes"), [(1, True), (2, False)])
def test_ratio_forgives_a_share_met_exactly(bad: int, passes: bool) -> None:
    golden = np.ones(10)
    got = golden.copy()
    got[:bad] = 2.0
    assert judged(got, golden, "float32", "ratio:ptol=0.1").passed is passes
    assert judged(got[:10], golden, "float32", "ratio:ptol=0.7").passed
    three = np.where(np.arange(10) < 7, 2.0, 1.0)
    assert judged(three, golden, "float32", "ratio:ptol=0.7").passed


def test_ratio_takes_its_defaults_by_dtype() -> None:
    assert (make(parse("ratio"), "float16").rtol, make(parse("ratio"), "float16").forgiven) == (1e-3, 1e-3)
    assert (make(parse("ratio"), "float32").rtol, make(parse("ratio"), "float32").forgiven) == (1e-4, 1e-4)
    assert make(parse("ratio"), "float32").atol == 1e-8
    # rtol = atol = 0 is equality, and NaN meets NaN.
    assert judged([1.0, NAN], [1.0, NAN], "float32", "ratio:rtol=0,atol=0").passed
    assert not judged([1.0, 2.0], [1.0, 2.001], "float32", "ratio:rtol=0,atol=0").passed


@pytest.mark.parametrize(
    ("dtype", "rtol", "atol"),
    [
        ("float16", 1e-3, 1e-5),
        ("bfloat16", 1.6e-2, 1e-5),
        ("float32", 1.3e-6, 1e-5),
        ("float64", 1e-7, 1e-7),
        ("complex64", 1.3e-6, 1e-5),
        ("complex128", 1e-7, 1e-7),
        ("float8_e5m2", 0, 0),
        ("int32", 0, 0),
        ("bool", 0, 0),
    ],
)
def test_assert_close_has_the_numbers_of_torch(dtype: str, rtol: float, atol: float) -> None:
    standard = make(parse("assert_close"), dtype)
    assert (standard.rtol, standard.atol) == (rtol, atol)


def test_assert_close_takes_both_numbers_or_none() -> None:
    with pytest.raises(ValueError, match="rtol and atol together"):
        make(StandardChoice("assert_close", {"rtol": 1e-3}), "float32")
    assert judged([1.5], [1.0], "float32", "assert_close:rtol=0,atol=0.5").passed
    assert not judged([1.5], [1.0], "float32", "assert_close:rtol=0,atol=0.49").passed


def test_nan_does_not_meet_nan_in_assert_close() -> None:
    report = judged([1.0, NAN], [1.0, NAN], "float32", "assert_close")
    assert not report.passed
    assert report.reason == "1 NaN meets NaN, which assert_close counts as different"
    assert (report.census.exact, report.census.over) == (1, 1)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32"])
def test_quant_allows_one_step(dtype: str) -> None:
    assert judged([1, 2, 4], [2.0, 2.0, 3.0], dtype, "quant").passed
    report = judged([1, 2, 5], [2.0, 2.0, 3.0], dtype, "quant")
    assert not report.passed
    assert report.census.over == 1
    assert not judged([0, 255], [255.0, 0.0], "uint8", "quant").passed


def test_md5_is_every_byte() -> None:
    assert judged([1.0, -0.0], [1.0, -0.0], "float16", "md5").passed
    assert not judged([1.0, 0.0], [1.0, -0.0], "float16", "md5").passed
    quiet = np.array([0x7FC00000, 0x3F800000], np.uint32).view(np.float32)
    other = np.array([0x7FC00001, 0x3F800000], np.uint32).view(np.float32)
    assert judged(quiet, quiet, "float32", "md5").passed
    report = judged(other, quiet, "float32", "md5")
    assert report.reason == "1 of 2 elements differs in its bytes from the golden"
    assert judged(other, quiet, "float32", "bits").passed
    assert not judged([1, 2], np.array([1, 3]), "int64", "md5").passed


# --- torch_npu ------------------------------------------------------------------------------------------------


def test_torch_npu_fails_only_where_both_tests_fail_too_often() -> None:
    # Half the elements fail the absolute test (1 at 100000), none the relative one.
    golden = np.full(100, 100000.0)
    assert judged(golden + 1, golden, "float32", "torch_npu").passed
    # Half the elements fail the relative test (1e-5 against 2e-5), none the absolute one.
    golden = np.full(100, 1e-5)
    assert judged(golden * 2, golden, "float32", "torch_npu").passed
    # One of 10,000 is exactly size * prec, two are more.
    golden = np.ones(10_000)
    got = golden.copy()
    got[0] = 2
    assert judged(got, golden, "float32", "torch_npu").passed
    got[1] = 2
    report = judged(got, golden, "float32", "torch_npu")
    assert report.reason == "2 elements fail the absolute and 2 the relative test, more than 1 each"
    assert report.used == 2.0
    # Different elements may fail the two tests: 2 each.
    mixed, wrong = golden.copy(), golden.copy()
    mixed[:2], wrong[:2] = 1e6, 1e6 + 10
    mixed[2:4], wrong[2:4] = 1e-6, 2e-6
    assert not judged(wrong, mixed, "float32", "torch_npu").passed


def test_torch_npu_by_dtype() -> None:
    golden = np.ones(10_000)
    got = golden.copy()
    got[:10] = 2
    assert judged(got, golden, "float16", "torch_npu").passed
    got[10] = 2
    assert not judged(got, golden, "float16", "torch_npu").passed
    # bfloat16 is torch.allclose: not one element more than prec16 (1 + |golden|).
    assert not judged([1 + 2**-7], [1.0], "bfloat16", "torch_npu").passed
    assert judged([1 + 2**-7], [1.0], "bfloat16", "torch_npu:prec16=0.004").passed
    assert not judged([True], [0.0], "bool", "torch_npu").passed
    assert judged([2, 7], [2.0, 7.0], "int32", "torch_npu").passed
    assert not judged([2, 8], [2.0, 7.0], "int32", "torch_npu").passed


# --- cosine ---------------------------------------------------------------------------------------------------


def test_cosine_measures_the_angle() -> None:
    assert judged([2.0, 4.0], [1.0, 2.0], "float32", "cosine").passed  # length does not count
    report = judged([0.0, 1.0], [1.0, 0.0], "float32", "cosine")
    assert report.reason == "1 - cos is 1, over 0.01"
    assert report.used == pytest.approx(100)
    # The angle whose cosine is 0.8: 1 - cos = 0.2.
    assert judged([4.0, 3.0], [1.0, 0.0], "float64", "cosine:max=0.2000001").passed
    assert not judged([4.0, 3.0], [1.0, 0.0], "float64", "cosine:max=0.1999999").passed
    assert judged([0.0, 0.0], [0.0, 0.0], "float32", "cosine").passed
    assert not judged([0.0, 0.0], [1.0, 0.0], "float32", "cosine").passed
    assert not judged([NAN, 1.0], [1.0, 1.0], "float32", "cosine").passed
    assert judged([NAN, 1.0], [NAN, 1.0], "float32", "cosine").passed


@given(st.integers(0, 2**32 - 1), st.integers(1, 200), st.sampled_from([0.001, 0.05, 0.2, 1.0]))
def test_cosine_is_its_formula(seed: int, size: int, noise: float) -> None:
    rng = np.random.default_rng(seed)
    golden = rng.standard_normal(size).astype(np.float32).astype(np.float64)  # it is rounded there
    got = (golden + noise * rng.standard_normal(size)).astype(np.float32)
    wide = got.astype(np.float64)
    away = 1 - wide @ golden / np.linalg.norm(wide) / np.linalg.norm(golden)
    assert judged(got, golden, "float32", "cosine").used == pytest.approx(
        max(away, 0) / 0.01, rel=1e-6, abs=1e-9
    )


MAGNITUDES = [5e-324, 1e-310, 1e-200, 1e-160, 1.0, 1e155, 1e200, 3e307]


@pytest.mark.parametrize(
    ("scale", "other", "size"),
    [
        *((scale, other, size) for scale in MAGNITUDES for other in MAGNITUDES for size in (1, 3)),
        *((end, other, 40_000) for end in (5e-324, 3e307) for other in (5e-324, 1.0, 3e307)),
    ],
)
def test_cosine_measures_the_angle_at_every_magnitude(scale: float, other: float, size: int) -> None:
    x = np.resize([1.0, -2.0, 3.0, 4.0], size)
    got, golden = x * scale, x * other
    assert judged(got, golden, "float64", "cosine").used < 1e-9
    assert judged(golden, golden, "float64", "cosine:max=0").passed
    report = judged(-got, golden, "float64", "cosine")
    assert report.reason == "1 - cos is 2, over 0.01"
    assert report.used == pytest.approx(200)
    if size > 1:  # at a right angle
        turned = np.zeros(size)
        turned[0], turned[1] = 2 * scale, scale
        cut = np.where(np.arange(size) < 2, golden, 0.0)
        assert judged(turned, cut, "float64", "cosine").reason == "1 - cos is 1, over 0.01"
        mixed = np.where(np.arange(size) % 2, golden, x)
        assert judged(mixed, mixed, "float64", "cosine").passed
        assert not judged(-mixed, mixed, "float64", "cosine").passed


def test_cosine_of_zeros_where_the_golden_rounds_to_zeros() -> None:
    golden = np.array([1e-60, -1e-200])
    assert judged([0.0, -0.0], golden, "float32", "cosine").passed
    assert not judged([0.0, 1e-40], golden, "float32", "cosine").passed
    assert not judged([0.0, 0.0], golden, "float64", "cosine").passed


@given(st.integers(0, 2**32 - 1), st.integers(1, 50), st.integers(-1000, 1000), st.integers(-1000, 1000))
def test_cosine_does_not_depend_on_the_lengths(seed: int, size: int, p: int, q: int) -> None:
    rng = np.random.default_rng(seed)
    x, y = rng.uniform(0.5, 2, size) * rng.choice([-1, 1], size), rng.uniform(0.5, 2, size)
    plain = judged(x, y, "float64", "cosine")
    far = judged(np.ldexp(x, p), np.ldexp(y, q), "float64", "cosine")
    assert far.used == pytest.approx(plain.used, rel=1e-9, abs=1e-9)
    assert far.passed == plain.passed or plain.used == pytest.approx(1)


# --- dual -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("level", "mare", "rest"), [("L0", 10, 2), ("L1", 5, 1.5), ("L2", 2, 1.2)])
def test_dual_bounds_each_ratio_by_its_level(level: str, mare: float, rest: float) -> None:
    # The third party is off by 2^-6 everywhere, far above the least 2^-14; so is RMSE.
    golden = np.ones(256)
    third = golden + 2**-6
    for factor in (0.99, 1.01):
        report = judged(golden + 2**-6 * rest * factor, golden, "float64", f"dual:level={level}", third)
        assert report.passed is (factor < 1)
        assert report.used == pytest.approx(factor)
    assert "MERE" in report.reason
    assert "RMSE" in report.reason
    assert "MARE" not in report.reason
    for factor in (0.99, 1.01):
        got = golden.copy()
        got[7] += 2**-6 * mare * factor
        report = judged(got, golden, "float64", f"dual:level={level}", third)
        assert ("MARE" in report.reason) is (factor > 1)
        assert report.census.over == (factor > 1)


def test_dual_divides_by_the_small_value_at_least() -> None:
    # A third party without error: float32 may have 5 * 2^-14 at one element (L1), 1.5 * 2^-14 in the mean.
    golden = np.ones(64)
    got = golden.copy()
    got[0] += 4.9 * 2**-14
    assert judged(got, golden, "float32", "dual", golden).passed
    got[0] += 0.2 * 2**-14
    assert "MARE" in judged(got, golden, "float32", "dual", golden).reason
    assert judged(golden, golden, "float32", "dual:level=L2", golden).used == 0.0


def test_dual_counts_errors_where_the_golden_is_small() -> None:
    # float16: below 2^-11 errors over 2^-16 are counted, at most twice the third party's, or two.
    golden = np.full(16, 2.0**-12)
    got, third = golden.copy(), golden.copy()
    got[:2] += 2**-15
    assert judged(got, golden, "float16", "dual", golden).passed
    got[:3] = 2**-12 + 2**-15
    report = judged(got, golden, "float16", "dual", golden)
    assert report.reason == "3 errors in the small-value domain against 0 of the third party"
    assert report.used == 1.5
    third[:2] += 2**-15
    assert judged(got, golden, "float16", "dual", third).passed
    assert judged(golden + 2**-16, golden, "float16", "dual", golden).passed  # not over 2^-16


@pytest.mark.parametrize(
    ("got", "golden", "third", "passes", "said"),
    [
        (NAN, 1.0, NAN, True, "as the third party does"),
        (INF, 1.0, INF, True, "as the third party does"),
        (INF, INF, 1.0, True, ""),
        (NAN, NAN, NAN, True, ""),
        (1.0, INF, INF, False, "agrees with the golden"),
        (NAN, INF, INF, False, "agrees with the golden"),
        (NAN, 1.0, 1.0, False, "agrees with the golden"),
        (INF, NAN, 1.0, False, "investigate"),
        (-INF, INF, 2.0, False, "investigate"),
    ],
)
def test_dual_weighs_nan_and_inf_by_the_third_party(
    got: float, golden: float, third: float, passes: bool, said: str
) -> None:
    report = judged([1.0, got], [1.0, golden], "float32", "dual", [1.0, third])
    assert report.passed is passes
    assert said in report.reason + " ".join(report.warnings)
    assert bool(report.warnings) is (said == "as the third party does")


@pytest.mark.parametrize("third", [NAN, INF, -INF])
@pytest.mark.parametrize("mode", [0, 1])
def test_a_third_party_without_a_number_fails_no_output_that_agrees_with_its_golden(
    third: float, mode: int
) -> None:
    text = f"dual:inf_nan_mode={mode}"
    golden = np.array([1.0, 2.0, 3.0, 1e-6])
    others = [1.0, 2.0, third, third]
    for got in (golden, golden * (1 + 2**-20)):
        report = judged(got, golden, "float32", text, others)
        assert report.passed, report.reason
        assert report.warnings == ()
        assert report.used < 0.1
    # The tolerance of an element: five times 2^-14 of the golden, where the third party is exact elsewhere.
    report = judged([1.0, 2.0, 3 + 3 * 4.9 * 2**-14, 1e-6], golden, "float32", text, others)
    assert report.passed
    assert report.used == pytest.approx(0.98, rel=1e-3)
    report = judged([1.0, 2.0, 3 + 3 * 5.1 * 2**-14, 1e-6], golden, "float32", text, others)
    assert not report.passed
    assert report.reason == "1 NaN or Inf where output, golden and third party all differ: investigate"
    assert report.census.over == 1
    # Everywhere: there is nothing to set the errors against, and the output is still right or wrong.
    assert judged(golden, golden, "float32", text, np.full(4, third)).passed
    assert not judged(golden * 1.5, golden, "float32", text, np.full(4, third)).passed


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(*[st.sampled_from([1.0, 2.0, 1e-6, NAN, INF, -INF])] * 3), min_size=1, max_size=4))
def test_dual_weighs_special_values_as_the_standard_lists_them(
    rows: list[tuple[float, float, float]],
) -> None:
    def same(a: float, b: float) -> bool:
        return a == b or (a != a and b != b)

    got, golden, third = zip(*rows, strict=True)
    report = judged(got, golden, "float32", "dual", third)
    special = [row for row in rows if not all(map(math.isfinite, row))]
    alone = [r for r in special if not same(r[0], r[1]) and not same(r[0], r[2]) and same(r[1], r[2])]
    if alone:
        assert "agrees with the golden" in report.reason
    differ = [r for r in special if not (same(r[0], r[1]) or same(r[0], r[2]) or same(r[1], r[2]))]
    assert not differ or not report.passed
    if all(same(r[0], r[1]) for r in rows):
        assert report.passed
        assert report.warnings == ()
    if "investigate" in report.reason:
        assert differ


@pytest.mark.parametrize("scale", [1e160, 1e290, 1e-290])
def test_dual_at_the_ends_of_float64(scale: float) -> None:
    golden = np.array([1.0, 2.0, 3.0, 4.0]) * scale
    assert judged(golden, golden, "float64", "dual", golden * (1 + 1e-9)).passed
    if scale > 1:
        near = golden * (1 + 2**-13)
        for factor, passes in ((1.0, True), (1.4, True), (1.6, False)):
            report = judged(golden * (1 + factor * 2**-13), golden, "float64", "dual", near)
            assert report.passed is passes
            assert ("RMSE" in report.reason) is not passes


def test_dual_leaves_inf_out_where_the_mode_is_0() -> None:
    report = judged([1.0, 3.0], [1.0, INF], "float32", "dual:inf_nan_mode=0", [1.0, INF])
    assert report.passed
    assert report.warnings == ("dual leaves 1 Inf out of the comparison (inf_nan_mode 0)",)
    assert not judged([1.0, 3.0], [1.0, NAN], "float32", "dual:inf_nan_mode=0", [1.0, NAN]).passed


def test_dual_without_a_third_party_says_what_is_missing() -> None:
    with pytest.raises(ValueError, match="dual:third=FILE"):
        judged([1.0], [1.0], "float32", "dual")
    assert judged([1, 2], np.array([1, 2]), "int32", "dual").passed
    assert not judged([1, 3], np.array([1, 2]), "int32", "dual").passed


# --- words ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("dual:level=L9", "it is one of L0, L1, L2"),
        ("single:type=high_performanc", "did you mean 'high_performance'"),
        ("dual:level=", "a number or word is missing"),
        ("msopst:t1=2", "(0, 1]"),
        ("ratio:ptol=-1", "[0, 1]"),
    ],
)
def test_a_wrong_word_or_share_is_one_sentence(text: str, told: str) -> None:
    with pytest.raises(ValueError, match=r".") as caught:
        parse(text)
    assert told in str(caught.value)


def test_words_and_numbers_stand_side_by_side() -> None:
    assert parse("dual:level=L0,third=gpu.npy").numbers == {"level": "L0", "third": "gpu.npy"}
    text = "where(x > 0, x, sum(x, axis=0))"
    assert parse(f"dual:third={text},level=L2").numbers == {"third": text, "level": "L2"}
    assert parse("single:type=vector_fused,mare_ratio=5").numbers == {
        "type": "vector_fused",
        "mare_ratio": 5.0,
    }


def test_every_standard_that_covers_a_dtype_judges_side_by_side() -> None:
    golden = np.linspace(1, 2, 64)
    found = side_by_side(
        Comparison("y", golden.astype(np.float32), golden, "float32", third=golden.astype(np.float32))
    )
    assert [other.standard for other in found] == [
        *("ecosystem", "ecosystem-2026-04", "allclose", "ulp", "exact", "bits", "single", "dual", "msopst"),
        *("ratio", "cosine", "torch_npu", "assert_close", "random", "md5"),
    ]
    assert all(other.passed for other in found)
    whole = side_by_side(Comparison("y", np.arange(8), np.arange(8), "int64"))
    assert {"quant", "exact"} <= {other.standard for other in whole}
    assert not {"ecosystem", "ulp", "cosine"} & {other.standard for other in whole}
