"""The two-sample Kolmogorov-Smirnov test against enumeration and published critical values."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ascend_opcli.verification.judge import judge_output
from ascend_opcli.verification.kolmogorov import critical, probability, statistic
from ascend_opcli.verification.standards import parse


def by_definition(a: np.ndarray, b: np.ndarray) -> float:
    return max(abs((a <= v).mean() - (b <= v).mean()) for v in [*a, *b])


@given(
    st.lists(st.floats(-5, 5), min_size=1, max_size=30), st.lists(st.floats(-5, 5), min_size=1, max_size=30)
)
def test_the_statistic_is_its_definition(a: list[float], b: list[float]) -> None:
    x, y = np.array(a), np.array(b)
    assert statistic(x, y) == pytest.approx(by_definition(x, y))


@pytest.mark.parametrize(("n", "m"), [(1, 1), (2, 3), (3, 3), (4, 4), (3, 5)])
def test_the_probability_counts_every_order_of_the_pooled_sample(n: int, m: int) -> None:
    every = []
    for chosen in itertools.combinations(range(n + m), n):
        others = [i for i in range(n + m) if i not in chosen]
        every.append(by_definition(np.array(chosen, float), np.array(others, float)))
    for d in sorted(set(every)):
        share = sum(e >= d - 1e-9 for e in every) / len(every)
        assert probability(n, m, d) == pytest.approx(share)


def test_critical_values_are_those_of_the_tables() -> None:
    # Two-sided, alpha 0.01, equal sizes: 5/5 has none below 0.01 but 1 (2/252), 10/10 needs 8, 20/20 needs 11.
    assert critical(5, 5, 0.01) == 1.0
    assert critical(10, 10, 0.01) == pytest.approx(0.8)
    assert critical(4, 4, 0.01) is None
    # Asymptotically 1.6276 sqrt((n + m) / (n m)).
    assert critical(10_000, 10_000, 0.01) == pytest.approx(1.62762 * math.sqrt(2e-4), rel=1e-5)


def judge(got: np.ndarray, golden: np.ndarray, text: str = "random") -> object:
    return judge_output("y", got, golden, dtype=got.dtype.name, choice=parse(text))


def test_another_stream_of_the_same_distribution_passes_and_another_distribution_does_not() -> None:
    rng = np.random.default_rng(3)
    golden = rng.standard_normal(20_000)
    same = judge(rng.standard_normal(20_000).astype(np.float32), golden)
    assert same.passed  # type: ignore[attr-defined]
    assert 0 < same.used < 1  # type: ignore[attr-defined]
    other = judge((rng.standard_normal(20_000) * 1.2).astype(np.float32), golden)
    assert not other.passed  # type: ignore[attr-defined]
    assert "Kolmogorov-Smirnov distance" in other.reason  # type: ignore[attr-defined]
    assert judge(golden[::-1].astype(np.float16), golden).passed  # type: ignore[attr-defined]
    nan = np.where(np.arange(20_000) < 1_000, np.nan, golden).astype(np.float32)
    assert not judge(nan, golden).passed  # type: ignore[attr-defined]


def test_too_few_elements_cannot_fail_and_the_report_says_so() -> None:
    report = judge(np.zeros(3, np.float32), np.ones(3))
    assert report.passed  # type: ignore[attr-defined]
    assert "too few" in report.warnings[0]  # type: ignore[attr-defined]


def test_integers_have_distributions_too() -> None:
    rng = np.random.default_rng(5)
    golden = rng.integers(0, 10, 5_000)
    assert judge(rng.integers(0, 10, 5_000), golden).passed  # type: ignore[attr-defined]
    assert not judge(rng.integers(0, 9, 5_000), golden).passed  # type: ignore[attr-defined]
