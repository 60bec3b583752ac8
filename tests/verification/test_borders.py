"""Every acceptance rule at its border: exactly there passes, one step beyond fails; every count is exact."""

from __future__ import annotations

import itertools
import math

import ml_dtypes
import numpy as np
import pytest

from ascend_opcli.model import Case, ExpectedStatus, Outcome, Phase, VerdictKind, Where
from ascend_opcli.tensors.dtypes import round_to, widen
from ascend_opcli.verification.compare.elements import figures
from ascend_opcli.verification.compare.metrics import measure
from ascend_opcli.verification.comparison import Comparison
from ascend_opcli.verification.judge import judge
from ascend_opcli.verification.standards.named import make, parse
from ascend_opcli.verification.verdict import judge_status
from tests.conftest import CaseFile, Opcli

FLOATS = ("float16", "bfloat16", "float32", "float64", "float8_e4m3fn", "float8_e5m2")
WIDE = FLOATS[:4]
INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")


def stored(values: object, dtype: str) -> np.ndarray:
    return np.asarray(values, np.float64).astype(getattr(ml_dtypes, dtype, dtype))


def step(value: np.ndarray, count: int = 1) -> np.ndarray:
    """The number of the same dtype that lies ``count`` numbers further from zero."""
    word = np.dtype(f"u{value.dtype.itemsize}")
    return (value.view(word).astype(np.int64) + count).astype(word).view(value.dtype)


def passes(got: np.ndarray, golden: np.ndarray, dtype: str, text: str) -> bool:
    report = judge(Comparison("out", got, golden, dtype), parse(text))
    census = report.census
    assert census.total == got.size == census.exact + census.within + census.over
    return report.passed


# The rule, a golden, the furthest outputs that pass it on either side, and the dtypes.
BORDERS = [
    *(
        (f"{rule}", 2.0, (1.5, 2.5), FLOATS)
        for rule in (
            "allclose:rtol=0.125,atol=0.25",
            "ratio:rtol=0.125,atol=0.25,ptol=0",
            "assert_close:rtol=0.125,atol=0.25",
            "ecosystem:rtol=0.125,atol=0.25,share=1,limit=1",
        )
    ),
    ("ecosystem:rtol=0.5,atol=9,share=0.01,limit=0.5", 2.0, (1.5, 2.5), WIDE),
    # From 0.25 one step down the error rounds to 0.25 in float64, in which it is taken.
    ("torch_npu:prec=0.25,prec16=0.25", 0.5, (0.25, 0.75), ("float16", "float32")),
    ("torch_npu:prec=0.25", 0.5, (0.75,), ("float64",)),
    ("torch_npu:prec16=0.25", 0.5, (0.125, 0.875), ("bfloat16",)),
    ("msopst:t1=0.25,t2=0,limit=1", 3.0, (4.0,), ("float16", "bfloat16", "float32")),
    ("exact", 1.25, (1.25,), FLOATS),
    ("bits", 1.25, (1.25,), FLOATS),
    ("md5", 1.25, (1.25,), FLOATS),
]


@pytest.mark.parametrize(("text", "golden", "ends", "dtypes"), BORDERS)
@pytest.mark.parametrize("sign", [1, -1])
def test_at_the_border_of_a_rule_an_output_passes_and_one_number_further_it_fails(
    text: str, golden: float, ends: tuple[float, ...], dtypes: tuple[str, ...], sign: int
) -> None:
    for dtype, end in itertools.product(dtypes, ends):
        wanted, got = np.array([sign * golden]), stored([sign * end], dtype)
        assert passes(got, wanted, dtype, text), (dtype, end)
        assert not passes(step(got, 1 if end >= golden else -1), wanted, dtype, text), (dtype, end)


@pytest.mark.parametrize("most", [0, 1, 2, 3])
@pytest.mark.parametrize("dtype", FLOATS)
def test_as_many_steps_as_are_allowed_and_no_more(most: int, dtype: str) -> None:
    for golden in (1.0, -1.0):  # the binade above has room for three steps in every dtype
        exact = stored([golden], dtype)
        for count in range(6):
            assert passes(step(exact, count), widen(exact, np.float64), dtype, f"ulp:max={most}") == (
                count <= most
            )


def test_a_limit_that_must_not_be_reached() -> None:
    """msopst: a relative difference of limit fails, the number before passes in the share."""
    for dtype in ("float16", "bfloat16", "float32"):
        wanted, at = np.array([2.0, 1.0]), stored([4.0, 1.0], dtype)
        text = "msopst:t1=0.25,t2=0.5,limit=0.5"
        assert not passes(at, wanted, dtype, text)
        at[0] = step(at[:1], -1)[0]
        assert passes(at, wanted, dtype, text)


@pytest.mark.parametrize("dtype", INTEGERS)
def test_one_step_of_an_integer_at_its_ends_too(dtype: str) -> None:
    ends = np.iinfo(dtype)
    for golden in (ends.min, ends.max, 100):
        for off in (-2, -1, 0, 1, 2):
            if ends.min <= golden + off <= ends.max:
                got, wanted = np.array([golden + off], dtype), np.array([golden], dtype)
                for text, most in (
                    ("quant", 1),
                    ("exact", 0),
                    ("allclose:rtol=0,atol=1", 1),
                    ("ulp:max=2", 2),
                ):
                    assert passes(got, wanted, dtype, text) == (abs(off) <= most), (golden, off, text)


@pytest.mark.parametrize(
    "text",
    [
        "ecosystem:share=0.75,limit=9",
        "ratio:ptol=0.25",
        "ratio:ptol=0.25,tool=verify_result",
        "msopst:t1=0.1,t2=0.25,limit=0.5",
        "torch_npu:prec=0.25",
    ],
)
@pytest.mark.parametrize("total", [1, 3, 4, 5, 7, 8, 100])
def test_a_quarter_may_be_over_and_not_one_more(text: str, total: int) -> None:
    for over in range(total // 4 + 2):
        got = np.ones(total, np.float32)
        got[:over] = 1.5
        assert passes(got, np.ones(total), "float32", text) == (over <= total / 4), over


# --- counts -----------------------------------------------------------------------------------------------------


def counts(x: float, golden: float, rounded: float) -> dict[str, bool]:
    """What the census says of one element, from the words alone."""
    g = golden if math.isfinite(rounded) else rounded
    finite, nan = math.isfinite(x) and math.isfinite(g), math.isnan(x) != math.isnan(g)
    inf = not math.isnan(x) and not math.isnan(g) and not finite and x != g
    return {
        "sign": finite and (x < 0 < g or g < 0 < x),
        "zero": finite and (x == 0) != (g == 0) and x != rounded,
        "nan": nan,
        "inf": inf,
        "nan_got": nan and math.isnan(x),
        "inf_got": inf and math.isinf(x),
    }


@pytest.mark.parametrize("dtype", WIDE)
@pytest.mark.parametrize(
    "text",
    ["ecosystem", "ecosystem-2026-04", "allclose", "ulp", "exact", "assert_close", "ratio", "torch_npu"],
)
def test_every_pair_of_values_is_counted_as_what_it_is(text: str, dtype: str) -> None:
    seen = [0.0, -0.0, 0.5, -0.5, 1.0, -1.0, 2.0, math.nan, math.inf, -math.inf, 1e-320, -1e-320, 1e300]
    with np.errstate(all="ignore"):
        got = np.repeat(stored(seen, dtype), len(seen))
        golden = np.tile(np.array(seen), len(seen))
        standard = make(parse(text), dtype)
        found = figures(got, golden, dtype, standard)
        rounded = widen(round_to(golden, dtype), np.float64)
    wide = widen(got, np.float64).tolist()
    told = [counts(*each) for each in zip(wide, golden.tolist(), rounded.tolist(), strict=True)]
    for name in told[0]:
        assert getattr(found, name).tolist() == [t[name] for t in told], name
    strict = standard.non_finite == "nan differs"
    both = np.isnan(got.astype(np.float64)) & np.isnan(golden)
    assert found.paired.tolist() == (both & strict).tolist()
    if text != "torch_npu" or dtype == "bfloat16":
        assert found.outside[found.mismatch | found.paired].all()
        assert np.isinf(found.error[found.mismatch | found.paired]).all()
    same = (np.array(wide) == rounded) | (both & ~np.bool_(strict))
    if text in ("ecosystem", "allclose", "exact", "assert_close", "ratio"):
        assert not (found.exact & ~same).any()
    pass_of_all = measure(Comparison("y", got, golden, dtype), standard, keep=1)
    assert pass_of_all.nan_got == found.nan_got.sum()
    assert pass_of_all.inf_got == found.inf_got.sum()
    assert pass_of_all.census.sign_flipped == found.sign.sum()
    assert pass_of_all.census.zero_against_nonzero == found.zero.sum()
    assert pass_of_all.outside == found.outside.sum()


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("text", ["exact", "allclose:rtol=0,atol=1", "quant", "msopst", "torch_npu"])
def test_every_pair_of_integers_is_counted_as_what_it_is(text: str, dtype: str) -> None:
    ends = np.iinfo(dtype)
    seen = sorted({ends.min, max(ends.min, -1), 0, 1, 2, ends.max - 1, ends.max})
    got, golden = np.repeat(np.array(seen, dtype), len(seen)), np.tile(np.array(seen, dtype), len(seen))
    found = figures(got, golden, dtype, make(parse(text), dtype))
    pairs = list(zip(got.tolist(), golden.tolist(), strict=True))
    assert found.error.tolist() == [float(abs(x - g)) for x, g in pairs]
    assert found.size.tolist() == [float(abs(g)) for _, g in pairs]
    assert found.sign.tolist() == [x < 0 < g or g < 0 < x for x, g in pairs]
    assert found.zero.tolist() == [(x == 0) != (g == 0) for x, g in pairs]
    if text in ("exact", "quant"):
        most = 0 if text == "exact" else 1
        assert found.outside.tolist() == [abs(x - g) > most for x, g in pairs]
        assert found.exact.tolist() == [x == g for x, g in pairs]
    holes = figures(got, np.full(got.size, math.nan), dtype, make(parse(text), dtype))
    assert holes.outside.all()
    assert holes.nan.all()
    assert not holes.exact.any()
    assert not holes.zero.any()


@pytest.mark.parametrize("size", [0, 1, 2, 3, 7, 64])
@pytest.mark.parametrize("text", ["ecosystem", "allclose", "exact", "ulp:max=1"])
def test_neither_threads_nor_blocks_lose_or_repeat_an_element(size: int, text: str) -> None:
    got = np.arange(size, dtype=np.float32)
    golden = got + np.where(np.arange(size) % 3 == 0, 1.0, 0.0)
    written = np.arange(size) % 5 != 4
    bad = [i for i in range(size) if i % 3 == 0]
    for threads, block in itertools.product((1, 2, 3), (1, 2, 5, 1000)):
        comparison = Comparison("y", got, golden, "float32", written=written)
        found = measure(comparison, make(parse(text), "float32"), threads=threads, block=block, keep=2)
        assert found.outside == found.census.over == len(bad), (threads, block)
        assert found.census.exact == size - len(bad)
        assert found.census.not_written == size - written.sum()
        assert found.failing is not None
        assert found.failing.tolist() == bad
        assert len(found.worst) == min(2, len(bad))


# --- numbers of the rules ---------------------------------------------------------------------------------------

RANGES = {
    "ecosystem:share": (["1e-9", "0.5", "1"], ["0", "1.0000001", "-0.5"]),
    "ecosystem-2026-04:threshold": (["1e-9", "0.9999999"], ["0", "1", "-0.5"]),
    "ecosystem-2026-04:ratio": (["1e-9", "10000"], ["0", "10001", "-1"]),
    "ulp:max": (["0", "0.5", "4503599627370496"], ["4503599627370497", "-1", "inf", "nan"]),
    "single:mare_ratio": (["1e-9", "10000"], ["0", "10001"]),
    "msopst:t1": (["1e-9", "1"], ["0", "1.0000001"]),
    "msopst:t2": (["0", "1"], ["1.0000001", "-1e-9"]),
    "msopst:limit": (["1e-9", "1"], ["0", "1.0000001"]),
    "ratio:ptol": (["0", "1"], ["1.0000001", "-1e-9"]),
    "cosine:max": (["0", "0.9999999"], ["1", "-1e-9"]),
    "torch_npu:prec": (["0", "0.9999999"], ["1", "-1e-9"]),
    "torch_npu:prec16": (["0", "0.9999999"], ["1", "-1e-9"]),
    "random:alpha": (["1e-6", "0.5"], ["0", "9e-7", "0.5000001"]),
    "allclose:rtol": (["0", "1e300"], ["-1e-9", "inf", "nan"]),
    "allclose:atol": (["0", "1e300"], ["-1e-9", "inf", "nan"]),
}


@pytest.mark.parametrize("name", RANGES)
def test_a_number_may_be_as_large_as_its_range_says_and_no_larger(name: str) -> None:
    taken, refused = RANGES[name]
    for number in taken:
        assert parse(f"{name}={number}").numbers
    for number in refused:
        with pytest.raises(ValueError, match=f"'{name.partition(':')[2]}' of standard"):
            parse(f"{name}={number}")


@pytest.mark.parametrize(
    ("dtype", "threshold", "small", "counted"),
    [
        ("float16", 2**-10, 2**-11, 2**-16),
        ("bfloat16", 2**-7, 2**-8, 2**-16),
        *((dtype, 2**-13, 2**-14, 2**-30) for dtype in ("float32", "float64", "complex64", "complex128")),
        ("float8_e4m3fn", 2**-3, 2**-4, 2**-6),
        ("float8_e5m2", 2**-2, 2**-3, 2**-5),
    ],
)
def test_single_and_dual_have_the_published_numbers(
    dtype: str, threshold: float, small: float, counted: float
) -> None:
    single, dual = make(parse("single"), dtype), make(parse("dual"), dtype)
    assert (single.mean_limit, single.rtol, single.mean_epsilon) == (threshold, 10 * threshold, 1e-7)
    assert (dual.small, dual.atol, dual.rtol) == (small, counted, 5 * small)
    sizes = np.array([0.0, small * (1 - 2**-20), small, 1.0])
    beyond = [5 * small * (size + 1e-7) for size in sizes[2:]]
    assert dual.tolerance(sizes).tolist() == [counted, counted, *beyond]
    assert make(parse("single"), "int8").atol == 1


@pytest.mark.parametrize("what", [math.nan, math.inf])
def test_what_a_share_forgives_is_told(what: float) -> None:
    got, golden = np.ones(100, np.float32), np.ones(100)
    got[7] = what
    report = judge(Comparison("out", got, golden, "float32"), parse("ratio:ptol=0.01,tool=verify_result"))
    assert report.passed
    assert report.warnings == ("ratio forgives 1 NaN or Inf that differ, as a share",)
    report = judge(Comparison("out", got, golden, "float32"), parse("ratio:ptol=0.01"))
    assert not report.passed
    npu = judge(Comparison("out", got, golden, "float32"), parse("torch_npu:prec=0.01"))
    assert npu.passed is math.isinf(what)
    assert npu.warnings == (("torch_npu forgives 1 Inf that differ, as a share",) if npu.passed else ())


def test_an_output_that_equals_its_golden_uses_nothing() -> None:
    golden = np.linspace(1, 2, 64)
    for text in (
        "ecosystem",
        "single",
        "msopst",
        "ratio",
        "torch_npu",
        "cosine",
        "assert_close",
        "ulp",
        "exact",
        "md5",
    ):
        for dtype in ("float32", "float64"):
            got = golden.astype(dtype)
            report = judge(Comparison("out", got, got, dtype), parse(text))
            assert report.passed
            assert report.used == pytest.approx(0.0, abs=1e-9), text
            assert report.worst == ()


def test_an_element_is_shown_with_the_golden_that_counts_there() -> None:
    golden = np.array([1.0, 2.0, 4.0, 8.0])
    got = np.array([11.0, 12.0, 14.0, 8.0], np.float32)
    for places in ([1], [0, 2], [3, 1], []):
        ambiguous = (np.array(places, int), np.array([10.0] * len(places)))
        report = judge(Comparison("out", got, golden, "float32", ambiguous=ambiguous), parse("allclose"))
        shown = {e.index[0]: e.golden for e in report.worst}
        assert shown == {at: 10.0 if at in places else golden[at] for at in (0, 1, 2)}, places


# --- statuses ---------------------------------------------------------------------------------------------------

LOST, OTHER_LOST = 507899, 207001  # the driver failed, no memory
ONE, TWO = Phase.ONE, Phase.TWO
Y = {"y": np.zeros(1)}


@pytest.mark.parametrize("backend", ["host", "device"])
@pytest.mark.parametrize(
    ("wanted", "came", "word"),
    [
        (None, {}, None),
        (None, {"outputs": Y}, None),
        (None, {"status": 161002}, VerdictKind.FAIL),
        (None, {"status": 161002, "phase": TWO}, VerdictKind.FAIL),
        (None, {"status": LOST}, VerdictKind.ERROR),
        (None, {"findings": ("wrote beyond its end",)}, VerdictKind.FAIL),
        (None, {"findings": ("wrote beyond its end",), "outputs": Y}, None),
        (None, {"skip": "no", "error": "no", "status": 161002}, VerdictKind.SKIP),
        (None, {"error": "no", "status": 161002}, VerdictKind.ERROR),
        ((161002, ONE), {"status": 161002}, VerdictKind.PASS),
        ((161002, ONE), {"status": 161002, "phase": TWO}, VerdictKind.FAIL),
        ((161002, ONE), {"status": 161001}, VerdictKind.FAIL),
        ((161002, ONE), {"status": 161003}, VerdictKind.FAIL),
        ((161002, ONE), {"status": 0}, VerdictKind.FAIL),
        ((161002, ONE), {"status": LOST}, VerdictKind.ERROR),
        ((161002, ONE), {"status": 161002, "findings": ("wrote beyond its end",)}, VerdictKind.FAIL),
        ((161002, ONE), {"status": 161002, "skip": "no"}, VerdictKind.SKIP),
        ((161002, ONE), {"status": 161002, "error": "no"}, VerdictKind.ERROR),
        ((561002, TWO), {"status": 561002, "phase": TWO}, VerdictKind.PASS),
        ((561002, TWO), {"status": 561002}, VerdictKind.FAIL),
        ((LOST, ONE), {"status": LOST}, VerdictKind.PASS),
        ((LOST, ONE), {"status": OTHER_LOST}, VerdictKind.ERROR),
        ((161002, ONE, "shape of x"), {"status": 161002, "message": "the shape of x is"}, VerdictKind.PASS),
        ((161002, ONE, "shape of x"), {"status": 161002, "message": "the shape of y is"}, VerdictKind.FAIL),
        ((161002, ONE, "shape of x"), {"status": 161002}, VerdictKind.FAIL),
        ((0, ONE), {}, None),
        ((0, ONE), {"status": 161002}, VerdictKind.FAIL),
    ],
)
def test_the_status_alone_decides_as_far_as_it_can(
    backend: str, wanted: tuple[int, Phase] | None, came: dict[str, object], word: VerdictKind | None
) -> None:
    expected = None if wanted is None else ExpectedStatus(*wanted)
    case = Case("f", "a", "aclnnAbs", {}, Where("f", 1, 1), status=expected)
    verdict = judge_status(case, Outcome(backend, **came))  # type: ignore[arg-type]
    assert (verdict.word if verdict is not None else None) is word
    assert verdict is None or word is VerdictKind.PASS or verdict.reason


def test_expected_integers_are_compared_as_integers(opcli: Opcli, case_file: CaseFile) -> None:
    """float64 holds no odd number beyond 2**53."""
    expected = 2**53 + 1
    for got, code in ((expected, 0), (expected - 1, 1), (expected + 1, 1)):
        path = case_file(f"""
            op: abs
            cases:
              - {{name: a, inputs: {{self: {{dtype: int64, data: [{got}, 1]}}}}, got: {{out: [{got}, 1]}},
                 expect: {{outputs: {{out: [{expected}, 1]}}}}}}
        """)
        assert opcli("run", path).code == code, got
