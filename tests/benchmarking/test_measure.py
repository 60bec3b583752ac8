"""From cases to measurements, with samples that the test hands in: no clock decides anything here."""

from __future__ import annotations

import dataclasses
import itertools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ascend_opcli.benchmarking import baselines, fingerprint, ladder
from ascend_opcli.benchmarking.baselines import Baseline
from ascend_opcli.benchmarking.ladder import LadderRequest, Rung
from ascend_opcli.benchmarking.measure import BenchSettings, Other, exit_code, measure
from ascend_opcli.benchmarking.measurement import Measurement, Speed, Timed
from ascend_opcli.casefile.new.calls import product_for
from ascend_opcli.casefile.open import load_file
from ascend_opcli.errors import ExitCode, UsageError
from ascend_opcli.model import Outcome
from ascend_opcli.operators.catalog import find, operators
from ascend_opcli.verification.standards.choice import check_for
from tests.benchmarking.conftest import Scripted, Ticks
from tests.conftest import ROOT, CaseFile

SETTINGS = BenchSettings(clock=Ticks(), cann="9.1.0")


def steady(seconds: float, wobble: float = 0.01) -> Any:
    def samples() -> Iterator[float]:
        return itertools.cycle([seconds * (1 - wobble), seconds, seconds * (1 + wobble)])

    return samples


def rungs(op: str = "elu_backward", shape: str = "4x1024", dtype: str = "float16") -> list[Rung]:
    wanted = LadderRequest(op, [shape], [dtype])
    return ladder.of_operator(wanted, sizes=(), product="atlas_a2", check_standard=check_for)


def one(bench: Scripted, made: list[Rung] | None = None, **options: Any) -> Measurement:
    settings = dataclasses.replace(SETTINGS, **options.pop("settings", {}))
    (measured,) = measure(made or rungs(), bench, settings, **options)
    return measured


# --- one measurement --------------------------------------------------------------------------------------------


def test_a_time_its_rate_and_its_shares() -> None:
    m = one(Scripted(steady(10e-6)), settings={"peak": 200e9})
    assert m.word is Timed.OK
    assert m.statistics is not None
    assert m.statistics.median == 10e-6
    assert m.bytes == 3 * 4096 * 2  # two inputs read, one output written
    assert m.rate == pytest.approx(m.bytes / 10e-6)
    assert (m.copy, m.peak, m.elements) == (100e9, 200e9, 4096)


def test_noise_beyond_the_precision_is_unsure_and_keeps_its_time() -> None:
    m = one(Scripted(lambda: itertools.cycle([1e-5, 2e-5])), settings={"clock": Ticks(0.01)})
    assert m.word is Timed.UNSURE
    assert m.statistics is not None
    assert "2 % was asked" in m.reason


def spoilt(outcome: Outcome) -> Outcome:
    wrong = {name: np.zeros_like(array) for name, array in outcome.outputs.items()}
    return dataclasses.replace(outcome, outputs=wrong)


def test_the_time_of_a_wrong_result_is_not_reported() -> None:
    m = one(Scripted(steady(1e-5), spoil=spoilt))
    assert m.word is Timed.FAIL
    assert m.statistics is None
    assert "a wrong result has no time" in m.reason
    assert exit_code([m], compared=False) is ExitCode.FAILED
    assert one(Scripted(steady(1e-5), spoil=spoilt), settings={"check": False}).word is Timed.OK


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("inputs: {x: {data: 0.0}, dy: {data: 0.0}}, dtype: float32, shape: [8]", "every input is zero"),
        ("inputs: {x: {data: -0.0}, dy: {data: 0.0}}, dtype: bfloat16, shape: [8]", "every input is zero"),
        ("dtype: float32, shape: [0]", "the tensors are empty"),
        ("dtype: float32, shape: [8], only: {backend: device}", "only on the backend device"),
        ("dtype: float32, shape: [8], only: {product: [ascend950]}", "only on ascend950"),
        ("dtype: float32, shape: [8], only: {cann: '>=9.2'}", "only with CANN >=9.2; 9.1.0 is installed"),
        ("inputs: {x: null, dy: [1.0]}, expect: {status: 161001}", "nothing to time"),
    ],
)
def test_what_is_not_timed_says_why(case_file: CaseFile, text: str, reason: str) -> None:
    path = case_file(f"op: logit_grad\ncases:\n  - {{name: a, {text}}}\n")
    cases = load_file(str(path), check_standard=check_for).cases
    m = one(Scripted(steady(1e-5)), ladder.of_cases(cases))
    assert m.word is Timed.SKIP
    assert reason in m.reason
    assert exit_code([m], compared=False) is ExitCode.NOTHING_JUDGED


def test_one_input_that_is_not_zero_is_enough(case_file: CaseFile) -> None:
    text = "op: logit_grad\ncases:\n  - {name: a, dtype: float32, shape: [8], inputs: {dy: {data: 0.0}}}\n"
    cases = load_file(str(case_file(text)), check_standard=check_for).cases
    assert one(Scripted(steady(1e-5)), ladder.of_cases(cases)).word is Timed.OK


def test_bytes_and_operations_can_be_told() -> None:
    m = one(Scripted(steady(1e-5)), settings={"bytes": "6n", "operations": "2k"})
    assert (m.bytes, m.operations) == (6 * 4096, 2000)
    with pytest.raises(ValueError, match="not an amount"):
        ladder.amount("6x", 1)


# --- baselines --------------------------------------------------------------------------------------------------

HERE = {"backend": "host", "cpu": "one"}


def saved(tmp_path: Path, seconds: float, made: list[Rung] | None = None) -> Baseline:
    m = one(Scripted(steady(seconds)), made)
    path = tmp_path / "base.json"
    path.write_text("".join(baselines.text([m], HERE)), "utf-8")
    return baselines.load(str(path))


@pytest.mark.parametrize(
    ("seconds", "word", "code"),
    [
        (10e-6, Speed.SAME, ExitCode.PASSED),
        (11e-6, Speed.SLOWER, ExitCode.REGRESSION),
        (9e-6, Speed.FASTER, ExitCode.PASSED),
        (None, Speed.UNSURE, ExitCode.NOTHING_JUDGED),
    ],
)
def test_a_saved_baseline_says_faster_same_slower_or_unsure(
    tmp_path: Path, seconds: float | None, word: Speed, code: ExitCode
) -> None:
    # None: samples that lie around 5 % more and spread so widely that neither side can be ruled out.
    wide = [float(t) for t in 10.5e-6 * np.random.default_rng(1).lognormal(0.0, 0.2, 1000)]
    samples = steady(seconds) if seconds is not None else lambda: iter(wide)
    m = one(Scripted(samples), baseline=saved(tmp_path, 10e-6))
    assert m.comparison is not None
    assert m.comparison.speed is word
    assert exit_code([m], compared=True) is code


def test_the_allowance_can_be_set(tmp_path: Path) -> None:
    m = one(Scripted(steady(11e-6)), baseline=saved(tmp_path, 10e-6), settings={"tolerance": 0.25})
    assert m.comparison is not None
    assert m.comparison.speed is Speed.SAME


@pytest.mark.parametrize("key", fingerprint.NAMES)
def test_another_environment_is_unsure_and_the_difference_is_named(tmp_path: Path, key: str) -> None:
    base = saved(tmp_path, 10e-6)
    bench = Scripted(steady(20e-6), fingerprint={**HERE, key: "new"})
    m = one(bench, baseline=base)
    assert m.comparison is not None
    assert m.comparison.speed is Speed.UNSURE
    assert f"{fingerprint.NAMES[key]} new here, " in m.comparison.reason
    assert m.comparison.ratio == pytest.approx(2.0)
    assert exit_code([m], compared=True) is ExitCode.NOTHING_JUDGED


def test_other_inputs_are_not_compared(tmp_path: Path) -> None:
    base = saved(tmp_path, 10e-6)
    (rung,) = rungs()
    other = Rung(rung.name, dataclasses.replace(rung.case, seed=99))
    m = one(Scripted(steady(20e-6)), [other], baseline=base)
    assert m.comparison is not None
    assert m.comparison.speed is Speed.UNSURE
    assert "the inputs are not those of the baseline" in m.comparison.reason


def test_a_name_that_the_baseline_lacks_is_unsure(tmp_path: Path) -> None:
    m = one(Scripted(steady(1e-5)), rungs(dtype="float32"), baseline=saved(tmp_path, 10e-6))
    assert m.comparison is not None
    assert "has no time of that name" in m.comparison.reason


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("nonsense", "not JSON"),
        ("[" * 100000, "not JSON"),
        ("[]", "write one with --save"),
        ('{"context": {}, "benchmarks": []}', "this is a report of --json"),
        (json.dumps({"schema": baselines.SCHEMA, "rows": [{}], "fingerprint": {}}), "damaged"),
        (
            json.dumps(
                {"schema": baselines.SCHEMA, "rows": [{"name": "a", "samples": [-1]}], "fingerprint": {}}
            ),
            "damaged",
        ),
    ],
)
def test_a_file_that_is_no_baseline_is_one_sentence(tmp_path: Path, text: str, sentence: str) -> None:
    path = tmp_path / "x.json"
    path.write_text(text)
    with pytest.raises(UsageError, match=sentence):
        baselines.load(str(path))
    with pytest.raises(UsageError, match="cannot read"):
        baselines.load(str(tmp_path / "missing.json"))


# --- another package, pair by pair ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("theirs", "word"), [(10e-6, Speed.SAME), (9e-6, Speed.SLOWER), (12e-6, Speed.FASTER)]
)
def test_pairs_with_another_package(theirs: float, word: Speed) -> None:
    ours, other = Scripted(steady(10e-6)), Scripted(steady(theirs))
    m = one(ours, against=Other(other, "builtin"))
    assert m.comparison is not None
    assert m.comparison.speed is word
    assert (ours.finished, other.finished) == (1, 1)


def test_the_time_of_another_packages_wrong_result_decides_nothing() -> None:
    m = one(Scripted(steady(10e-6)), against=Other(Scripted(steady(1e-6), spoil=spoilt), "theirs"))
    assert m.word is Timed.OK
    assert m.comparison is not None
    assert m.comparison.speed is Speed.UNSURE
    assert "theirs gives a wrong result" in m.comparison.reason


# --- the ladder -------------------------------------------------------------------------------------------------


WITH_CASES = sorted(path.stem for path in (ROOT / "cases").glob("*.yaml"))


@pytest.mark.parametrize("op", WITH_CASES)
def test_every_operator_with_cases_has_a_ladder_that_it_accepts(op: str) -> None:
    made = ladder.of_operator(
        LadderRequest(op), sizes=ladder.HOST_SIZES, product="ascend950", check_standard=check_for
    )
    assert made
    assert len({rung.name for rung in made}) == len(made)
    for m in measure(made[:2], Scripted(steady(1e-5)), SETTINGS):
        assert m.word is Timed.OK, m


@pytest.mark.parametrize("op", sorted(operators()))
def test_every_operator_with_a_reference_has_a_ladder_and_no_rung_fails(op: str) -> None:
    product = product_for(find(op))
    made = ladder.of_operator(LadderRequest(op), sizes=(1 << 12,), product=product, check_standard=check_for)
    for m in measure(made[:1], Scripted(steady(1e-5)), dataclasses.replace(SETTINGS, product=product)):
        assert m.word is Timed.OK, m


def test_a_ladder_climbs_and_knows_its_dtypes() -> None:
    made = ladder.of_operator(
        LadderRequest("elu_backward"),
        sizes=(1 << 12, 1 << 20),
        product="atlas_training",
        check_standard=check_for,
    )
    assert [rung.name for rung in made] == [
        "elu_backward/float16/4x1024",
        "elu_backward/float16/1024x1024",
        "elu_backward/float32/4x1024",
        "elu_backward/float32/1024x1024",
    ]


def test_what_was_named_is_in_the_name_and_sample_attributes_fill_the_rest() -> None:
    wanted = LadderRequest("threshold_backward", ["8x8"], ["float32"])
    (rung,) = ladder.of_operator(wanted, sizes=(), product="atlas_a2", check_standard=check_for)
    assert rung.name == "threshold_backward/float32/8x8"
    wanted = LadderRequest("elu_backward", ["8x8"], ["float32"], ["alpha=2.0"])
    (rung,) = ladder.of_operator(wanted, sizes=(), product="atlas_a2", check_standard=check_for)
    assert rung.name == "elu_backward/float32/8x8/alpha=2.0"


def test_a_dtype_that_is_named_is_kept_even_where_it_is_refused() -> None:
    (rung,) = rungs(dtype="int32")
    m = one(Scripted(steady(1e-5)), [rung])
    assert rung.name == "elu_backward/int32/4x1024"
    assert m.name == rung.name


def test_cases_tagged_bench_are_taken_or_all_where_none_is(case_file: CaseFile) -> None:
    text = """
        op: logit_grad
        cases:
          - {name: a, dtype: float32, shape: [8]}
          - {name: b, dtype: float32, shape: [8], tags: [bench]}
          - {name: c, inputs: {x: null, dy: [1.0]}, expect: {status: 161001}}
    """
    cases = load_file(str(case_file(text)), check_standard=check_for).cases
    assert [r.case.name for r in ladder.of_cases(cases)] == ["b"]
    untagged = [dataclasses.replace(c, tags=()) for c in cases]
    assert [r.case.name for r in ladder.of_cases(untagged)] == ["a", "b"]
    assert [r.case.name for r in ladder.of_cases(cases, picked=True)] == ["a", "b"]
