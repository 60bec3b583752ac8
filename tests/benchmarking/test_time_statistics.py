"""Statistics of times: intervals that hold what they promise, words that do not cry wolf."""

from __future__ import annotations

import math

import numpy as np
import pytest

from ascend_opcli.benchmarking import timing
from ascend_opcli.model import Speed
from tests.benchmarking.conftest import Ticks

RUNS = 200


def times(rng: np.random.Generator, count: int, median: float = 20e-6, noise: float = 0.03) -> list[float]:
    """Times as a machine gives them: skewed to the slow side, now and then an outlier."""
    made = median * (1 + noise * rng.standard_exponential(count) - noise * math.log(2))
    made[rng.random(count) < 0.02] *= 3
    return [float(t) for t in made]


@pytest.mark.parametrize(
    ("count", "expected"), [(1, 0), (5, 0), (6, 0), (8, 0), (9, 1), (10, 1), (20, 5), (30, 9), (100, 39)]
)
def test_the_ranks_of_the_medians_interval_are_those_of_the_tables(count: int, expected: int) -> None:
    # From the binomial distribution, as any table of the sign test has it.
    assert timing.outside(count) == expected


def test_the_medians_interval_holds_the_median_as_often_as_it_says() -> None:
    rng = np.random.default_rng(1)
    runs = [timing.summarise(list(rng.lognormal(0.0, 0.3, 30))) for _ in range(1000)]
    assert np.mean([s.low <= 1.0 <= s.high for s in runs]) >= 0.94


def test_figures_of_a_known_sample() -> None:
    shuffled = np.random.default_rng(9).permutation(100) + 1
    statistics = timing.summarise([float(n) for n in shuffled])
    assert statistics.median == 50.5
    assert statistics.p10 == pytest.approx(10.9)
    assert statistics.p90 == pytest.approx(90.1)
    assert statistics.least == 1.0
    assert (statistics.low, statistics.high) == (39.0, 62.0)  # 38 below at 97 %, by the binomial
    assert statistics.spread == pytest.approx(79.2 / 50.5)


def test_sampling_stops_when_the_median_is_known() -> None:
    samples = timing.sample(lambda: 1.0, precision=0.02, budget=9.0, clock=Ticks())
    assert len(samples) == timing.LEAST


def test_sampling_goes_on_while_the_median_is_not_known() -> None:
    rng = np.random.default_rng(2)
    noise = iter(times(rng, 1000, noise=0.2))
    samples = timing.sample(lambda: next(noise), precision=0.02, budget=9.0, clock=Ticks())
    assert timing.LEAST < len(samples) < timing.MOST
    assert timing.summarise(samples).uncertainty <= 0.02


def test_a_spent_budget_ends_it_and_a_few_samples_are_always_taken() -> None:
    assert len(timing.sample(lambda: 1.0, precision=0.02, budget=0.5, clock=Ticks(1.0))) == timing.FEWEST
    alternating = iter([1.0, 3.0] * 1000)
    samples = timing.sample(lambda: next(alternating), precision=0.02, budget=50.0, clock=Ticks(1.0))
    assert 50 <= len(samples) <= 52
    assert "only, 2 % was asked" in timing.noisy(timing.summarise(samples), 0.02)


def test_few_samples_are_not_called_precise() -> None:
    assert "3 samples are too few" in timing.noisy(timing.summarise([1.0, 1.0, 1.0]), 0.02)


def test_pairs_are_taken_in_turns_each_first_every_other_time() -> None:
    order: list[str] = []

    def draw(name: str) -> float:
        order.append(name)
        return 1.0

    timing.sample_pairs(lambda: draw("a"), lambda: draw("b"), precision=0.02, budget=9.0, clock=Ticks())
    assert "".join(order[:8]) == "abbaabba"


def test_a_drift_is_told() -> None:
    steady = timing.summarise([1.0, 1.01] * 20)
    moving = timing.summarise([1.0, 1.01] * 10 + [1.2, 1.21] * 10)
    assert timing.drift(steady, 0.02) == ""
    assert "+20 %" in timing.drift(moving, 0.02)


# --- two times --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("low", "high", "word"),
    [
        (1.06, 1.09, Speed.SLOWER),
        (1.04, 1.09, Speed.UNSURE),
        (0.97, 1.04, Speed.SAME),
        (0.94, 1.0, Speed.UNSURE),
        (0.80, 0.93, Speed.FASTER),
        (0.80, 1.30, Speed.UNSURE),
    ],
)
def test_the_word_is_that_of_the_whole_interval(low: float, high: float, word: Speed) -> None:
    assert timing.decide(low, high, 0.05) is word


@pytest.mark.parametrize("paired", [False, True])
def test_false_alarms_over_200_equal_runs(paired: bool) -> None:
    """Measured: no run of 200 is called FASTER or SLOWER at 5 % nor at 1 %; the interval misses 1 in under 3 %."""
    rng = np.random.default_rng(3)
    made = [
        timing.compare(times(rng, 30), times(rng, 30), tolerance=0.05, against="x", paired=paired)
        for _ in range(RUNS)
    ]
    assert not [c for c in made if c.speed in (Speed.FASTER, Speed.SLOWER)]
    assert sum(c.speed is Speed.SAME for c in made) >= 0.95 * RUNS
    bounds = [(c.low, c.high) for c in made if c.low is not None and c.high is not None]
    assert sum(not low <= 1 <= high for low, high in bounds) <= 0.03 * RUNS
    assert not [1 for low, high in bounds if timing.decide(low, high, 0.01) in (Speed.FASTER, Speed.SLOWER)]


@pytest.mark.parametrize("paired", [False, True])
def test_a_slowdown_of_10_percent_is_found_in_every_run(paired: bool) -> None:
    rng = np.random.default_rng(4)
    for _ in range(RUNS // 4):
        ours, theirs = times(rng, 30, 22e-6), times(rng, 30, 20e-6)
        c = timing.compare(ours, theirs, tolerance=0.05, against="x", paired=paired)
        assert c.speed is Speed.SLOWER
        assert c.ratio is not None
        assert 1.05 < c.ratio < 1.15
        back = timing.compare(theirs, ours, tolerance=0.05, against="x", paired=paired)
        assert back.speed is Speed.FASTER


def test_pairs_withstand_a_drift_that_would_fool_two_separate_runs() -> None:
    rng = np.random.default_rng(5)
    machine = np.linspace(1.0, 1.3, 40)
    ours = [float(t * m) for t, m in zip(times(rng, 40), machine, strict=True)]
    theirs = [float(t * m) for t, m in zip(times(rng, 40), machine, strict=True)]
    assert timing.compare(ours, theirs, tolerance=0.05, against="x", paired=True).speed is Speed.SAME


def test_the_same_samples_always_give_the_same_answer() -> None:
    rng = np.random.default_rng(6)
    a, b = times(rng, 25), times(rng, 25)
    assert timing.compare(a, b, tolerance=0.05, against="x") == timing.compare(
        a, b, tolerance=0.05, against="x"
    )


def test_what_cannot_be_compared_is_unsure() -> None:
    assert timing.compare([1.0] * 3, [1.0] * 30, tolerance=0.05, against="x").speed is Speed.UNSURE
    assert timing.compare([0.0] * 9, [1.0] * 9, tolerance=0.05, against="x").speed is Speed.UNSURE
