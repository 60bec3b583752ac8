"""The streaming pass against a plain computation, element by element, and against NumPy."""

from __future__ import annotations

import math
import tracemalloc
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ascend_opcli.model import StandardChoice
from ascend_opcli.tensors.dtypes import round_to
from ascend_opcli.verification.compare.elements import failing
from ascend_opcli.verification.compare.metrics import measure
from ascend_opcli.verification.comparison import Comparison
from ascend_opcli.verification.judge import judge
from ascend_opcli.verification.standards.named import Standard, make

MANTISSA = {"float16": (10, -14, 15), "bfloat16": (7, -126, 127), "float32": (23, -126, 127)}
MANTISSA["float64"] = (52, -1022, 1023)
CHOICES = [
    StandardChoice("ecosystem"),
    StandardChoice("ecosystem", {"limit": 1e-3, "atol": 1e-3}),
    StandardChoice("ecosystem-2026-04"),
    StandardChoice("allclose"),
    StandardChoice("allclose", {"rtol": 0.75, "atol": 0}),
    StandardChoice("allclose", {"rtol": 0, "atol": 0.25}),
    StandardChoice("allclose", {"rtol": 2**-8, "atol": 2**-8}),
    StandardChoice("allclose", {"rtol": 2**-8, "atol": 1e15}),
    StandardChoice("ulp", {"max": 1.5}),
    StandardChoice("ulp", {"max": 0}),
    StandardChoice("exact"),
    StandardChoice("bits"),
]
SPECIALS = [0.0, -0.0, math.nan, math.inf, -math.inf, 65504.0, 65519.0, 65520.0, -65520.0, 1e39, 2e-45, 1e-30]
FAINT = [0.0, -0.0, 2e-45, -2.2e-45, 1e-46, -3e-60, 1e-300, 1e-40, 1e-20, 2.0**-60 * (1 + 2.0**-52)]


def numpy_of(dtype: str) -> np.dtype[Any]:
    return np.dtype(getattr(ml_dtypes, dtype, dtype))


def plain_spacing(golden: float, dtype: str) -> float:
    mantissa, low, high = MANTISSA[dtype]
    exponent = low if golden == 0 else math.frexp(golden)[1] - 1
    return math.ldexp(1.0, min(max(exponent, low), high) - mantissa)


def plain(got: np.ndarray, golden: np.ndarray, dtype: str, standard: Standard) -> dict[str, Any]:
    """Every statistic by a loop over Python floats, from the definitions alone."""
    count = dict.fromkeys(("exact", "over", "sign", "zero", "nan", "inf", "outside", "beyond"), 0)
    used, excess, means, atol, rtol, ranking, failing = [0.0], [0.0], [], [0.0], [0.0], [], []
    with np.errstate(all="ignore"):
        rounded = golden.astype(np.float64).astype(numpy_of(dtype)).astype(np.float64).tolist()
    for i, (x, g, r) in enumerate(
        zip(got.astype(np.float64).tolist(), golden.tolist(), rounded, strict=True)
    ):
        g = g if math.isfinite(r) else r
        nan = math.isnan(x) != math.isnan(g)
        both_nan = math.isnan(x) and math.isnan(g)
        inf = not nan and not both_nan and (math.isinf(x) or math.isinf(g)) and x != g
        finite = math.isfinite(x) and math.isfinite(g)
        equal = (x == r if finite else not (nan or inf)) and not (
            standard.kind == "bits" and finite and math.copysign(1, x) != math.copysign(1, r)
        )
        error = abs(x - g) if finite else math.inf if nan or inf else 0.0
        size = abs(g) if finite else 0.0
        limit = math.inf
        if standard.equality:
            tolerance, outside = 0.0, not equal
            share = 0.0 if equal else math.inf
        else:
            tolerance = standard.atol + standard.rtol * size
            if standard.kind == "ulp":
                tolerance = standard.ulps * plain_spacing(size, dtype)
            if standard.limit is not None:
                limit = max(standard.limit, 32 * plain_spacing(size, dtype))
            outside = nan or inf or (error >= tolerance if standard.strict else error > tolerance)
            allowed = min(tolerance, limit)
            share = 0.0 if error == 0 else math.inf if allowed == 0 or nan or inf else error / allowed
        beyond = finite and error > limit
        count["exact"] += equal and not outside and not beyond
        count["over"] += outside or beyond
        count["outside"] += outside
        count["beyond"] += beyond
        count["nan"] += nan
        count["inf"] += inf
        bits = standard.kind == "bits" and x == 0 == g and math.copysign(1, x) != math.copysign(1, r)
        count["sign"] += (finite and (x < 0 < g or g < 0 < x)) or bits
        count["zero"] += finite and ((x == 0) != (g == 0)) and x != r
        failing += [i] if outside or beyond else []
        used.append(share)
        excess.append(error - limit if beyond else 0.0)
        means.append(error / (size + 1e-7))
        atol.append(error - standard.rtol * size)
        rtol.append(
            0.0 if error <= standard.atol else math.inf if size == 0 else (error - standard.atol) / size
        )
        if share > 0:
            ranking.append((not (nan or inf), -share, -error, i))
    mean = sum(means) / len(means) if means else 0.0
    worst = [i for *_, i in sorted(ranking)[:3]]
    return {
        **count,
        "used": max(used),
        "excess": max(excess),
        "mean": mean,
        "atol": max(atol),
        "rtol": max(rtol),
        "worst": worst,
        "failing": failing,
    }


@st.composite
def pairs(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, str]:
    """An output and its golden: near each other, at the scale of tolerances, with special values in both."""
    dtype = draw(st.sampled_from(list(MANTISSA)))
    size = draw(st.integers(0, 70))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    golden = rng.standard_normal(size) * 10.0 ** rng.integers(-6, draw(st.sampled_from([1, 5])), size)
    if draw(st.booleans()):
        golden = np.round(golden * 8) / 8
    relative = 10.0 ** rng.integers(-9, 0, size) * rng.standard_normal(size) * rng.integers(0, 2, size)
    with np.errstate(all="ignore"):
        got = (golden * (1 + relative * draw(st.sampled_from([0.001, 0.01, 1, 30])))).astype(numpy_of(dtype))
        if draw(st.integers(0, 3)) == 0:
            # Nothing but errors that float32 cannot hold.
            golden = rng.choice([*FAINT, 1.0], size)
            got = golden.astype(numpy_of(dtype))
        for array in (got, golden):
            if size and draw(st.booleans()):
                places = rng.integers(0, size, 8)
                array[places] = rng.choice(draw(st.sampled_from([SPECIALS, FAINT])), 8)
        if size and draw(st.booleans()):
            places = rng.integers(0, size, 8)
            golden[places] = got[places].astype(np.float64)
        kept = draw(st.sampled_from(["float64", "float32", dtype]))
        golden = golden.astype(numpy_of(kept))
    return got, golden, dtype


@settings(max_examples=400, deadline=None)
@given(pairs(), st.sampled_from(CHOICES), st.integers(1, 80), st.sampled_from([1, 2, 3]))
def test_the_pass_gives_what_a_plain_loop_gives(
    pair: tuple[np.ndarray, np.ndarray, str], choice: StandardChoice, block: int, threads: int
) -> None:
    got, golden, dtype = pair
    standard = make(choice, dtype)
    found = measure(Comparison("y", got, golden, dtype), standard, block=block, threads=threads)
    want = plain(got, golden, dtype, standard)
    census = found.census
    assert census.total == got.size
    assert census.exact + census.within + census.over == got.size
    assert {
        "exact": census.exact,
        "over": census.over,
        "sign": census.sign_flipped,
        "zero": census.zero_against_nonzero,
        "nan": census.nan_against_number,
        "inf": census.inf_against_other,
        "outside": found.outside,
        "beyond": found.beyond,
    } == {key: want[key] for key in ("exact", "over", "sign", "zero", "nan", "inf", "outside", "beyond")}
    assert found.used == want["used"]
    assert found.excess == want["excess"]
    assert [bad.place for bad in found.worst] == want["worst"]
    assert found.failing is not None
    assert found.failing.tolist() == want["failing"]
    with np.errstate(all="ignore"):
        assert np.flatnonzero(failing(got, golden, dtype, standard)).tolist() == want["failing"]
    if found.mean is not None:
        assert found.mean == want["mean"] or found.mean == pytest.approx(want["mean"], rel=1e-12)
    if found.atol_needed is not None and found.rtol_needed is not None:
        assert found.atol_needed == pytest.approx(want["atol"], rel=1e-12, abs=0)
        assert found.rtol_needed == pytest.approx(want["rtol"], rel=1e-12, abs=0)


@settings(max_examples=200, deadline=None)
@given(pairs(), st.sampled_from([0.0, 1e-8, 1e-3]), st.sampled_from([0.0, 1e-8, 2**-10]), st.integers(1, 80))
def test_allclose_agrees_with_numpy(
    pair: tuple[np.ndarray, np.ndarray, str], rtol: float, atol: float, block: int
) -> None:
    got, golden, dtype = pair
    wide = got.astype(np.float64)
    with np.errstate(all="ignore"):
        # NumPy does not know that a golden rounds to Inf.
        rounded = golden.astype(numpy_of(dtype)).astype(np.float64)
        expected = np.where(np.isinf(rounded), rounded, golden.astype(np.float64))
        close = np.isclose(wide, expected, rtol=rtol, atol=atol, equal_nan=True)
    standard = make(StandardChoice("allclose", {"rtol": rtol, "atol": atol}), dtype)
    assert measure(
        Comparison("y", got, golden, dtype), standard, block=block
    ).census.over == np.count_nonzero(~close)


@settings(max_examples=200, deadline=None)
@given(pairs(), st.sampled_from([0.0, 1e-8, 1e-3]), st.sampled_from([0.0, 1e-8, 2**-10]), st.integers(1, 80))
def test_the_numbers_needed_are_enough_and_less_is_not(
    pair: tuple[np.ndarray, np.ndarray, str], rtol: float, atol: float, block: int
) -> None:
    got, golden, dtype = pair

    def over(rtol: float, atol: float) -> int:
        standard = make(StandardChoice("allclose", {"rtol": rtol, "atol": atol}), dtype)
        return measure(Comparison("y", got, golden, dtype), standard, block=block).census.over

    found = measure(
        Comparison("y", got, golden, dtype),
        make(StandardChoice("allclose", {"rtol": rtol, "atol": atol}), dtype),
    )
    for name, needed in (("atol", found.atol_needed), ("rtol", found.rtol_needed)):
        assert needed is not None
        numbers = {"rtol": rtol, "atol": atol}
        if needed == math.inf:
            continue
        assert over(**{**numbers, name: needed}) == 0
        if needed > 0:
            # Less by more than the rounding of the largest sum can hide.
            wide = np.abs(golden).astype(np.float64)
            largest = float(np.nanmax(np.where(np.isfinite(wide), wide, 0.0)))
            slack = 1e-12 * max(needed, rtol * largest) if name == "atol" else 1e-9 * max(needed, atol)
            if needed > slack:
                assert over(**{**numbers, name: needed - slack}) > 0 or name == "rtol"


@settings(max_examples=100, deadline=None)
@given(pairs(), st.sampled_from(CHOICES), st.integers(1, 40))
def test_threads_change_nothing(
    pair: tuple[np.ndarray, np.ndarray, str], choice: StandardChoice, block: int
) -> None:
    got, golden, dtype = pair
    standard = make(choice, dtype)
    one, two, five = (
        measure(Comparison("y", got, golden, dtype), standard, threads=n, block=block) for n in (1, 2, 5)
    )
    assert one == two == five


def test_reports_of_large_tensors_are_the_same_for_any_number_of_threads() -> None:
    rng = np.random.default_rng(5)
    golden = rng.standard_normal(1_000_003)
    got = (golden * (1 + 1e-5 * rng.standard_normal(golden.size))).astype(np.float32)
    got[::1000] *= np.float32(1.01)
    for name in ("ecosystem", "ecosystem-2026-04", "allclose", "ulp", "exact"):
        reports = {
            repr(judge(Comparison("y", got, golden, "float32"), StandardChoice(name), threads=threads))
            for threads in (1, 2, 3)
        }
        assert len(reports) == 1


def test_a_block_of_one_value_ranks_the_first_elements() -> None:
    golden = np.full(300_000, 1.1, np.float32)
    got = np.full(300_000, 1.1001, np.float32)
    found = measure(
        Comparison("y", got, golden, "float32"), make(StandardChoice("ecosystem"), "float32"), threads=2
    )
    assert [bad.place for bad in found.worst] == [0, 1, 2]
    assert found.census.within == 300_000


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(["int8", "uint8", "int32", "uint32", "int64", "uint64"]),
    st.integers(0, 2**32 - 1),
    st.integers(1, 50),
    st.sampled_from([StandardChoice("exact"), StandardChoice("ulp", {"max": 2})]),
)
def test_integers_are_compared_as_integers(dtype: str, seed: int, block: int, choice: StandardChoice) -> None:
    rng = np.random.default_rng(seed)
    info = np.iinfo(dtype)
    golden = rng.integers(info.min, info.max, 60, dtype, endpoint=True)
    got = golden.copy()
    got[::3] ^= np.array(rng.integers(0, 4), dtype)
    got[5] = golden[5] ^ np.array(info.max, dtype)
    found = measure(Comparison("y", got, golden, dtype), make(choice, dtype), block=block)
    errors = [abs(int(x) - int(y)) for x, y in zip(got, golden, strict=True)]
    allowed = 0 if choice.name == "exact" else 2
    assert found.census.exact == sum(error == 0 for error in errors)
    assert found.census.over == sum(error > allowed for error in errors)
    bad = failing(got, golden, dtype, make(choice, dtype))
    assert bad.tolist() == [error > allowed for error in errors]
    if found.worst:
        assert found.worst[0].error == float(max(errors))


@settings(max_examples=100, deadline=None)
@given(
    st.integers(0, 2**32 - 1),
    st.integers(1, 40),
    st.sampled_from([choice for choice in CHOICES if choice.name != "allclose"]),
)
def test_complex_numbers_are_pairs_of_floats(seed: int, block: int, choice: StandardChoice) -> None:
    rng = np.random.default_rng(seed)
    parts = rng.standard_normal((30, 2))
    got_parts = (parts * (1 + 10.0 ** rng.integers(-9, 0, (30, 2)))).astype(np.float32)
    got_parts[rng.integers(0, 30, 6), rng.integers(0, 2, 6)] = [math.nan, math.inf, 0, -0.0, -1, 1]
    parts[rng.integers(0, 30, 4), rng.integers(0, 2, 4)] = [math.nan, math.inf, 0, 1e39]
    got, golden = got_parts.view(np.complex64).reshape(-1), parts.view(np.complex128).reshape(-1)
    standard = make(choice, "complex64")
    found = measure(Comparison("y", got, golden, "complex64"), standard, block=block)
    rows = [plain(got_parts[i], parts[i], "float32", standard) for i in range(30)]
    assert found.census.over == sum(row["over"] > 0 for row in rows)
    assert found.census.exact == sum(row["exact"] == 2 for row in rows)
    assert found.census.sign_flipped == sum(row["sign"] > 0 for row in rows)
    assert found.census.zero_against_nonzero == sum(row["zero"] > 0 for row in rows)
    assert found.census.nan_against_number == sum(row["nan"] > 0 for row in rows)
    assert found.used == max(row["used"] for row in rows)
    if found.atol_needed is not None:
        assert found.atol_needed == pytest.approx(max(row["atol"] for row in rows), rel=1e-12)


def test_float8_is_judged_at_its_own_spacing() -> None:
    golden = np.array([1.0, 16.0, 448.0, 2.0**-9])
    got = np.array([1.125, 18.0, 416.0, 2.0**-8]).astype(ml_dtypes.float8_e4m3fn)
    standard = make(StandardChoice("ulp", {"max": 1.0}), "float8_e4m3fn")
    found = measure(Comparison("y", got, golden, "float8_e4m3fn"), standard)
    assert (found.census.within, found.used) == (4, 1.0)


@pytest.mark.parametrize("trouble", [False, True])
def test_memory_beyond_the_arrays_is_bounded(trouble: bool) -> None:
    golden = np.linspace(-3, 3, 4_000_000)
    got = golden.astype(np.float32)
    if trouble:
        got += np.float32(0.5)
    choice = StandardChoice("ecosystem")
    judge(Comparison("y", got[:100], golden[:100], "float32"), choice)
    tracemalloc.start()
    try:
        judge(Comparison("y", got, golden, "float32"), choice, threads=2)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 16 * 2**20


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("kept", ["same", "float32", "float64"])
def test_every_value_of_a_narrow_dtype_against_goldens_around_it(dtype: str, kept: str) -> None:
    got = np.arange(1 << 16, dtype=np.uint16).view(numpy_of(dtype))
    with np.errstate(all="ignore"):
        wide = got.astype(np.float64)
        step = np.abs(np.spacing(wide.astype(np.float32)).astype(np.float64)) * 2.0 ** (
            23 - MANTISSA[dtype][0]
        )
    standard = make(StandardChoice("allclose", {"rtol": 2**-8, "atol": 2**-10}), dtype)
    with np.errstate(all="ignore"):
        for shift in (0.0, 0.25, 0.5, 0.5 + 2**-12, 0.5 - 2**-12, 0.75, -0.5, -0.5 - 2**-30, -0.5 + 2**-30):
            golden = wide + shift * step
            golden = golden.astype(numpy_of(dtype if kept == "same" else kept))
            # Rounded once: ml_dtypes itself goes from float64 through float32.
            rounded = round_to(golden, dtype).astype(np.float64)
            expected = np.where(np.isinf(rounded), rounded, golden.astype(np.float64))
            close = np.isclose(wide, expected, rtol=2**-8, atol=2**-10, equal_nan=True)
            same = (wide == rounded) | (np.isnan(wide) & np.isnan(rounded))
            found = measure(Comparison("y", got, golden, dtype), standard, block=1 << 13)
            assert found.census.exact == np.count_nonzero(same & close), shift
            assert found.outside == np.count_nonzero(~close), shift
