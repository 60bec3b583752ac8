"""Complex numbers: NumPy, PyTorch, TTK's close and msopst take the modulus, ATK and the ecosystem the parts."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from ascend_opcli.model import OutputReport
from ascend_opcli.verification.compare.metrics import measure
from ascend_opcli.verification.comparison import Comparison
from ascend_opcli.verification.judge import judge
from ascend_opcli.verification.standards.named import make, parse

NAN, INF = math.nan, math.inf
MODULUS = {
    "allclose": (1e-5, 1e-8, True),
    "allclose:rtol=0,atol=1e-6": (0.0, 1e-6, True),
    "allclose:rtol=0.01,atol=0": (0.01, 0.0, True),
    "allclose:rtol=0.75,atol=0": (0.75, 0.0, True),
    "ratio": (1e-4, 1e-8, True),
    "assert_close:rtol=1e-6,atol=1e-5": (1e-6, 1e-5, False),
}


def judged(got: object, golden: object, standard: str, dtype: str = "complex64") -> OutputReport:
    return judge(Comparison("y", np.array(got, dtype), np.array(golden, complex), dtype), parse(standard))


@st.composite
def outputs(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, str]:
    """A complex output near its golden at many scales, with NaN and Inf in one part or both."""
    dtype = draw(st.sampled_from(["complex64", "complex128"]))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    size = draw(st.integers(1, 60))
    golden = rng.standard_normal((size, 2)) * 10.0 ** rng.integers(-9, 5, (size, 2))
    golden[:, 1] *= draw(st.sampled_from([1.0, 1.0, 0.0]))
    relative, absolute = (
        draw(st.sampled_from([0.0, 1e-7, 1e-5, 0.01])),
        draw(st.sampled_from([0.0, 1e-8, 1e-6])),
    )
    got = golden * (1 + relative * rng.standard_normal((size, 2)))
    got += absolute * rng.standard_normal((size, 2))
    if draw(st.booleans()):
        for array in (got, golden):
            rows, parts = rng.integers(0, size, 3), rng.integers(0, 2, 3)
            array[rows, parts] = rng.choice([NAN, INF, -INF, 0.0, -0.0], 3)
        rows = rng.integers(0, size, 3)
        golden[rows] = got[rows]
    output = got.astype(np.float32 if dtype == "complex64" else np.float64).view(dtype).reshape(-1)
    return output, golden.view(np.complex128).reshape(-1), dtype


@settings(max_examples=300, deadline=None)
@given(outputs(), st.sampled_from(list(MODULUS)), st.integers(1, 70))
def test_the_modulus_decides_as_in_numpy(
    pair: tuple[np.ndarray, np.ndarray, str], text: str, block: int
) -> None:
    got, golden, dtype = pair
    rtol, atol, equal_nan = MODULUS[text]
    wide = got.astype(np.complex128)
    # NumPy 1.26 multiplies by ones on the way, which makes NaN of a complex Inf.
    infinite = np.isinf(golden).any() or np.isinf(got).any()
    assume(np.lib.NumpyVersion(np.__version__) >= "2.0.0" or not infinite)
    with np.errstate(all="ignore"):
        close = np.isclose(wide, golden, rtol=rtol, atol=atol, equal_nan=equal_nan)
    found = measure(Comparison("y", got, golden, dtype), make(parse(text), dtype), block=block)
    assert found.outside == found.census.over == np.count_nonzero(~close)
    if not text.startswith("ratio"):
        report = judge(Comparison("y", got, golden, dtype), parse(text))
        assert report.passed == close.all()
    if np.isfinite(wide).all() and np.isfinite(golden).all():
        error, size = np.abs(wide - golden), np.abs(golden)
        with np.errstate(all="ignore"):  # nothing is allowed where the golden is 0 and atol too
            share = np.where(error == 0, 0.0, error / (atol + rtol * size))
        assert found.used == pytest.approx(share.max(), rel=1e-14)
        assert found.worst == () or found.worst[0].used == found.used
        assert found.atol_needed == pytest.approx(max((error - rtol * size).max(), 0.0), rel=1e-9, abs=1e-300)


@settings(max_examples=100, deadline=None)
@given(outputs(), st.sampled_from(list(MODULUS)), st.integers(1, 70))
def test_the_census_counts_elements_whatever_the_rule(
    pair: tuple[np.ndarray, np.ndarray, str], text: str, block: int
) -> None:
    got, golden, dtype = pair
    finite = np.isfinite(got) & np.isfinite(golden)
    got, golden = got[finite], golden[finite]
    census, other = (
        measure(Comparison("y", got, golden, dtype), make(parse(name), dtype), block=block).census
        for name in (text, "ecosystem")
    )
    assert census.total == census.exact + census.within + census.over == got.size
    assert census.sign_flipped == other.sign_flipped
    assert census.zero_against_nonzero == other.zero_against_nonzero
    if census.over == other.over == 0:
        assert census.exact == other.exact


@settings(max_examples=60, deadline=None)
@given(outputs())
def test_assert_close_decides_as_torch_does(pair: tuple[np.ndarray, np.ndarray, str]) -> None:
    torch = pytest.importorskip("torch")
    got, golden, dtype = pair
    x, y = torch.tensor(got.astype(complex)), torch.tensor(golden)
    standard = make(parse("assert_close"), dtype)
    try:
        torch.testing.assert_close(x, y, rtol=standard.rtol, atol=standard.atol)
        passes = True
    except AssertionError:
        passes = False
    assert judge(Comparison("y", got, golden, dtype), parse("assert_close")).passed is passes


# Two parts of 0.8 e each are inside e, and so is their modulus not; a part far off hides behind a large other.
@pytest.mark.parametrize(
    "text", ["allclose:rtol=0,atol=1", "ratio:rtol=0,atol=1", "assert_close:rtol=0,atol=1"]
)
def test_both_parts_count_together(text: str) -> None:
    assert judged([0.6 + 0.6j], [0], text).passed
    report = judged([0.8 + 0.8j], [0], text)
    assert not report.passed
    assert report.used == pytest.approx(math.hypot(0.8, 0.8))
    assert "modulus" in report.rule
    relative = text.replace("rtol=0,atol=1", "rtol=1e-5,atol=0")
    assert judged([1000 + 0.002j], [1000 + 0.001j], relative).passed
    assert not judged([1000 + 0.02j], [1000 + 0.001j], relative).passed


@pytest.mark.parametrize("text", ["ecosystem", "ecosystem-2026-04", "single"])
def test_atk_and_the_ecosystem_look_at_each_part(text: str) -> None:
    near = [1000 + 0.5j] * 3
    assert judged(near, near, text).passed
    report = judged([1000 + 1.5j] * 3, near, text)
    assert not report.passed
    assert "real and imaginary part" in report.rule


def test_msopst_takes_the_modulus() -> None:
    # 1.1 against |65| or so: good; each part alone would be judged as it is, the imaginary one as bad.
    assert judged([100 + 0.5j], [100 + 0j], "msopst:t2=0").passed
    assert not judged([100 + 2j], [100 + 0j], "msopst:t2=0").passed
    assert judged([complex(NAN, 1)], [1 + 1j], "msopst").warnings == (
        "msopst counts 1 NaN difference as good",
    )


@pytest.mark.parametrize(
    ("got", "golden", "passes"),
    [
        (complex(NAN, 1), complex(2, NAN), True),  # NaN in either part is NaN, as NumPy has it
        (complex(NAN, 1), 1, False),
        (complex(INF, 1), complex(INF, 1), True),
        (complex(INF, 1), complex(INF, 1.000001), False),  # beside an Inf nothing is close but the same
        (complex(INF, 1), complex(-INF, 1), False),
        (complex(INF, NAN), complex(NAN, 0), True),
        (1e308 + 1e308j, -1e308 - 1e308j, False),  # the moduli overflow
        (1.5e308 + 1.5e308j, 1.5e308 + 1.5e308j, True),
    ],
)
def test_special_values_of_parts(got: complex, golden: complex, passes: bool) -> None:
    report = judged([got, 1], [golden, 1], "allclose", "complex128")
    assert report.passed is passes
    assert judged([got] * 40, [golden] * 40, "ratio", "complex128").passed is passes


def test_large_complex_outputs_are_read_the_same_in_any_blocks() -> None:
    rng = np.random.default_rng(0)
    parts: Any = rng.standard_normal((50_000, 2))
    golden = parts.view(np.complex128).reshape(-1)
    got = (golden * (1 + 1e-6 * rng.standard_normal(50_000))).astype(np.complex64)
    standard = make(parse("allclose:rtol=1e-6,atol=1e-6"), "complex64")
    found = [
        measure(Comparison("y", got, golden, "complex64"), standard, block=b, threads=t)
        for b, t in ((7, 1), (999, 3), (1 << 16, 2))
    ]
    assert found[0] == found[1] == found[2]
    assert 0 < found[0].census.over < 50_000
