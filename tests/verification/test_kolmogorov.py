"""The two-sample Kolmogorov-Smirnov test against enumeration and published critical values."""

from __future__ import annotations

import itertools
import math
import tracemalloc
from collections.abc import Iterable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ascend_opcli.model import OutputReport
from ascend_opcli.verification.compare.kolmogorov import critical, distance, tail
from ascend_opcli.verification.comparison import Comparison
from ascend_opcli.verification.judge import judge
from ascend_opcli.verification.standards.named import parse


def by_definition(a: np.ndarray, b: np.ndarray) -> int:
    return max((abs(int((a <= v).sum()) - int((b <= v).sum())) for v in [*a, *b]), default=0)


def apart(a: np.ndarray, b: np.ndarray, block: int = 7) -> int:
    blocks = ((a[i : i + block], b[i : i + block]) for i in range(0, a.size, block))
    return distance(blocks, a.size, lambda places: (a[places], b[places]))


@given(st.lists(st.tuples(st.floats(-5, 5), st.floats(-5, 5)), max_size=30), st.booleans())
def test_the_distance_is_its_definition_in_whole_numbers(
    pairs: list[tuple[float, float]], ties: bool
) -> None:
    x, y = np.array(pairs).reshape(-1, 2).T
    x, y = (np.round(x), np.round(y)) if ties else (x, y)
    assert apart(x, y) == by_definition(x, y)


@pytest.mark.parametrize("n", [1, 2, 3, 4, 6])
def test_the_probability_is_the_share_of_all_orders(n: int) -> None:
    every = []
    for chosen in itertools.combinations(range(2 * n), n):
        others = [i for i in range(2 * n) if i not in chosen]
        every.append(by_definition(np.array(chosen), np.array(others)))
    for h in range(n + 1):
        assert tail(n, h) == pytest.approx(sum(e >= h for e in every) / len(every), rel=1e-13)


def exact_tail(n: int, h: int) -> Fraction:
    """Paths of a grid that stray from the diagonal by h, by reflection, in whole numbers."""
    terms = [(-1) ** (k - 1) * math.comb(2 * n, n - k * h) for k in range(1, n // h + 1)]
    return Fraction(2 * sum(terms), math.comb(2 * n, n))


@pytest.mark.parametrize("alpha", ["0.01", "0.05", "0.5", "0.000001"])
@pytest.mark.parametrize("sizes", [range(1, 130), range(150, 1100, 190), [3000]])
def test_the_edge_lies_between_two_whole_numbers_for_every_size(sizes: Iterable[int], alpha: str) -> None:
    for n in sizes:
        edge = critical(n, float(alpha))
        if edge is None:
            assert exact_tail(n, n) >= Fraction(alpha)
        else:
            assert exact_tail(n, edge) < Fraction(alpha) <= exact_tail(n, edge - 1)


@pytest.mark.parametrize("n", [5, 8, 20, 99, 100, 101, 150, 300, 1000])
def test_an_output_exactly_at_the_edge_fails_and_one_before_it_passes(n: int) -> None:
    edge = critical(n, 0.01)
    assert edge is not None
    golden = np.arange(n, dtype=np.float64)
    for short in (1, 0):
        # Moving the k smallest above all others makes a distance of k.
        got = golden.copy()
        got[: edge - short] += n
        report = judged(got, golden)
        assert report.passed is bool(short)
        assert report.used == (edge - short) / edge


def test_critical_values_are_those_of_the_tables() -> None:
    # Two-sided, alpha 0.01, equal sizes: 5 has none below 0.01 but 5 (2/252), 10 needs 8, 20 needs 11.
    assert [critical(n, 0.01) for n in (4, 5, 10, 20)] == [None, 5, 8, 11]
    # For large samples 1.6276 sqrt(2 n).
    for n in (10_000, 10**8, 2**31):
        edge = critical(n, 0.01)
        assert edge is not None
        assert edge == pytest.approx(1.62762 * math.sqrt(2 * n), abs=1, rel=1e-4)


def judged(got: np.ndarray, golden: np.ndarray, text: str = "random") -> OutputReport:
    return judge(Comparison("y", got, golden, got.dtype.name), parse(text))


def test_another_stream_of_the_same_distribution_passes_and_another_distribution_does_not() -> None:
    rng = np.random.default_rng(3)
    golden = rng.standard_normal(20_000)
    same = judged(rng.standard_normal(20_000).astype(np.float32), golden)
    assert same.passed
    assert 0 < same.used < 1
    other = judged((rng.standard_normal(20_000) * 1.2).astype(np.float32), golden)
    assert not other.passed
    assert "Kolmogorov-Smirnov distance" in other.reason
    assert judged(golden[::-1].astype(np.float16), golden).passed
    nan = np.where(np.arange(20_000) < 1_000, np.nan, golden).astype(np.float32)
    assert not judged(nan, golden).passed


def test_too_few_elements_cannot_fail_and_the_report_says_so() -> None:
    report = judged(np.zeros(3, np.float32), np.ones(3))
    assert report.passed
    assert "too few" in report.warnings[0]


def test_integers_have_distributions_too() -> None:
    rng = np.random.default_rng(5)
    golden = rng.integers(0, 10, 5_000)
    assert judged(rng.integers(0, 10, 5_000), golden).passed
    assert not judged(rng.integers(0, 9, 5_000), golden).passed


LARGE = 1 << 21


@pytest.fixture(scope="module")
def streams() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(7)
    return rng.random(LARGE, dtype=np.float32), rng.random(LARGE, dtype=np.float32)


@pytest.mark.parametrize("period", [2, 4, 100, 256])
@pytest.mark.parametrize("value", [0.0, math.nan, -math.inf, 0.5])
def test_a_fault_of_any_period_in_a_large_output_is_seen(streams: Any, period: int, value: float) -> None:
    got, golden = streams
    for lane in (0, period - 1):
        wrong = got.copy()
        wrong[lane::period] = value
        assert not judged(wrong, golden).passed
    # And the other way round: one lane alone is right.
    wrong = np.full_like(got, value)
    wrong[period // 2 :: period] = got[period // 2 :: period]
    assert not judged(wrong, golden).passed


@pytest.mark.parametrize("period", [3, 4, 64])
def test_a_lane_scaled_or_a_block_repeated_in_a_large_output_is_seen(streams: Any, period: int) -> None:
    got, golden = streams
    wrong = got.copy()
    wrong[period - 1 :: period] *= np.float32(0.5)
    assert not judged(wrong, golden).passed
    assert judged(got, golden).passed
    assert judged(got[::-1], golden).passed
    assert judged(got.astype(np.float16), golden.astype(np.float64)).passed
    assert not judged(wrong.astype(np.float16), golden.astype(np.float64)).passed


def test_the_parts_of_complex_numbers_count_one_by_one(streams: Any) -> None:
    got, golden = (side.view(np.complex64) for side in streams)
    assert judged(got, golden).passed
    wrong = got.copy()
    wrong.imag[::3] = 0
    assert not judged(wrong, golden).passed


@pytest.mark.parametrize(("value", "name"), [(math.nan, "NaN"), (math.inf, "Inf"), (0.0, "zeros")])
def test_what_the_distribution_hides_is_told(streams: Any, value: float, name: str) -> None:
    got, golden = streams
    wrong = got.copy()
    wrong[5::16384] = value
    report = judged(wrong, golden)
    assert report.passed
    zeros = int((golden == 0).sum()) if name == "zeros" else 0
    ours = LARGE // 16384 + (int((got == 0).sum()) if name == "zeros" else 0)
    assert report.warnings == (f"random lets {ours:,} {name} pass where the golden has {zeros:,}",)
    assert judged(got, golden).warnings == ()
    assert (
        judged(np.array([math.nan, 1, 2]), np.array([1.0, 2, 3])).warnings[1].startswith("random lets 1 NaN")
    )


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_memory_stays_flat(streams: Any, dtype: str) -> None:
    got, golden = (np.tile(side, 4).astype(dtype) for side in streams)
    tracemalloc.start()
    try:
        judged(got, golden)
        assert tracemalloc.get_traced_memory()[1] < 24 << 20
    finally:
        tracemalloc.stop()
