"""Baselines are other people's files: whatever stands in them gives a sentence or UNSURE, never a wrong word."""

from __future__ import annotations

import copy
import dataclasses
import json
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ascend_opcli.benchmarking import baselines, ladder, timing
from ascend_opcli.benchmarking.ladder import LadderRequest, Rung
from ascend_opcli.benchmarking.measure import BenchSettings, measure
from ascend_opcli.benchmarking.measurement import Measurement, Speed
from ascend_opcli.errors import UsageError
from ascend_opcli.verification.standards.choice import check_for
from tests.benchmarking.conftest import Scripted, Ticks

HERE = {"backend": "host", "cpu": "one"}
SETTINGS = BenchSettings(clock=Ticks(), cann="9.1.0")


def samples() -> Any:
    while True:
        yield from (0.99e-5, 1e-5, 1.01e-5)


def rung(**wanted: Any) -> Rung:
    asked = LadderRequest(**{"op": "elu_backward", "shapes": ["4x64"], "dtypes": ["float32"], **wanted})
    (made,) = ladder.of_operator(asked, sizes=(), product="atlas_a2", check_standard=check_for)
    return made


def one(made: Rung, baseline: baselines.Baseline | None = None, **settings: Any) -> Measurement:
    settings = {"compared": True, **settings}
    (m,) = measure([made], Scripted(samples), dataclasses.replace(SETTINGS, **settings), baseline=baseline)
    return m


def saved(made: Rung | None = None) -> dict[str, Any]:
    document: dict[str, Any] = json.loads("".join(baselines.text([one(made or rung())], HERE)))
    return document


def loaded(tmp_path: Path, document: object) -> baselines.Baseline:
    path = tmp_path / "base.json"
    path.write_text(document if isinstance(document, str) else json.dumps(document), "utf-8")
    return baselines.load(str(path))


def row(key: str, value: object) -> Callable[[dict[str, Any]], None]:
    return lambda document: document["rows"][0].__setitem__(key, value)


DAMAGED: dict[str, tuple[Callable[[dict[str, Any]], None], str]] = {
    "infinite": (row("samples", [float("inf")] * 20), "Infinity is no number"),
    "nan": (row("samples", [float("nan")] * 20), "NaN is no number"),
    "huge integer": (row("samples", [10**400] * 20), "outside 1e-12 to 1e\\+06 seconds"),
    "huge float": (row("samples", [1e308] * 20), "outside 1e-12 to 1e\\+06 seconds"),
    "denormal": (row("samples", [5e-324] * 20), "outside 1e-12 to 1e\\+06 seconds"),
    "negative": (row("samples", [-1e-5] * 20), "outside 1e-12 to 1e\\+06 seconds"),
    "text for a list": (row("samples", "1234567"), "samples is not a list of times"),
    "texts in the list": (row("samples", ["1e-5"] * 20), "a sample is not a number"),
    "booleans": (row("samples", [True] * 20), "a sample is not a number"),
    "null": (row("samples", None), "samples is not a list of times"),
    "none": (row("samples", []), "samples is not a list of times"),
    "too many": (row("samples", [1e-5] * 300_000), "300,000 samples; --save writes 1,000 at most"),
    "infinite bytes": (row("bytes", float("inf")), "Infinity is no number"),
    "bytes as text": (row("bytes", "12"), "bytes is not a count"),
    "negative bytes": (row("bytes", -1), "bytes is not a count"),
    "absurd bytes": (row("bytes", 10**400), "bytes is not a count"),
    "name of another kind": (row("name", {"a": 1}), "row 1 has no name"),
    "hash of another kind": (row("inputs_sha256", 7), "inputs_sha256 is not text"),
    "call of another kind": (row("call", ["x"]), "call is not a table of texts"),
    "checked of another kind": (row("checked", "yes"), "checked is neither true nor false"),
    "the name twice": (lambda d: d["rows"].append(dict(d["rows"][0])), "two rows are called 'elu_backward"),
    "rows as a table": (lambda d: d.__setitem__("rows", {"a": 1}), "rows is not a list"),
    "no rows": (lambda d: d.pop("rows"), "rows is not a list"),
    "no fingerprint": (lambda d: d.pop("fingerprint"), "fingerprint is not a table"),
    "fingerprint as a list": (lambda d: d.__setitem__("fingerprint", []), "fingerprint is not a table"),
    "numbers in the fingerprint": (lambda d: d["fingerprint"].__setitem__("cpus", 2), "fingerprint is not a table"),
}  # fmt: skip


@pytest.mark.parametrize("name", DAMAGED)
def test_a_damaged_baseline_is_one_sentence(tmp_path: Path, name: str) -> None:
    damage, sentence = DAMAGED[name]
    document = saved()
    damage(document)
    with pytest.raises(UsageError, match=sentence) as caught:
        loaded(tmp_path, document)
    assert len(str(caught.value)) < 400 + len(str(tmp_path))


UNSURE: dict[str, tuple[Callable[[dict[str, Any]], None], str]] = {
    "no hash": (lambda d: d["rows"][0].pop("inputs_sha256"), "does not say of which call and inputs"),
    "no call": (lambda d: d["rows"][0].pop("call"), "does not say of which call and inputs"),
    "times of 0": (row("samples", [0.0] * 20), "a time of 0 cannot be compared"),
    "few": (row("samples", [1e-5] * 3), "fewer than 6 samples"),
    "noisy": (row("samples", [1e-5, 3e-5] * 20), "% was asked"),
    "the extremes": (row("samples", [1e-12, 1e6] * 20), "% was asked"),
    "other bytes": (row("bytes", 5), "5 in the baseline"),
    "an empty fingerprint": (lambda d: d.__setitem__("fingerprint", {}), "unknown in the baseline"),
    "no rows": (lambda d: d.__setitem__("rows", []), "has no time of that name"),
}


@pytest.mark.parametrize("name", UNSURE)
def test_what_cannot_be_compared_is_unsure_with_the_reason(tmp_path: Path, name: str) -> None:
    damage, reason = UNSURE[name]
    document = saved()
    damage(document)
    made = one(rung(), loaded(tmp_path, document)).comparison
    assert made is not None
    assert made.speed is Speed.UNSURE
    assert reason in made.reason


def test_undamaged_it_is_the_same(tmp_path: Path) -> None:
    made = one(rung(), loaded(tmp_path, saved())).comparison
    assert made is not None
    assert made.speed is Speed.SAME


# --- what a row is a time of ------------------------------------------------------------------------------------


def changed(argument: str, **fields: Any) -> Rung:
    made = rung()
    arguments = dict(made.case.arguments)
    arguments[argument] = dataclasses.replace(arguments[argument], **fields)  # type: ignore[type-var]
    return dataclasses.replace(made, case=dataclasses.replace(made.case, arguments=arguments))


@pytest.mark.parametrize(
    ("other", "difference"),
    [
        (changed("alpha", value=2.0), "alpha 2.0 here, 1.0 in the baseline"),
        (changed("selfOrResult", strides=(1, 4)), "strides 1x4 offset 0"),
        (changed("gradInput", strides=(64, 1), offset=8, storage_shape=(264,)), "offset 8"),
        (changed("gradOutput", format="NCHW"), "NCHW here"),
        (
            dataclasses.replace(rung(), case=dataclasses.replace(rung().case, deterministic=1)),
            "deterministic 1 here, absent in the baseline",
        ),
    ],
)
def test_another_call_under_the_same_name_is_unsure_and_the_difference_is_named(
    tmp_path: Path, other: Rung, difference: str
) -> None:
    made = one(other, loaded(tmp_path, saved())).comparison
    assert made is not None
    assert made.speed is Speed.UNSURE
    assert difference in made.reason


def test_a_baseline_that_was_not_checked_says_so(tmp_path: Path) -> None:
    document = json.loads("".join(baselines.text([one(rung(), check=False)], HERE)))
    assert document["rows"][0]["checked"] is False
    assert "the baseline's result was not checked" in one(rung(), loaded(tmp_path, document)).notes
    assert not one(rung(), loaded(tmp_path, saved())).notes


# --- memory -----------------------------------------------------------------------------------------------------


def test_the_bootstrap_of_many_samples_takes_bounded_memory() -> None:
    many = [float(s) for s in 1e-5 * np.random.default_rng(1).lognormal(0, 0.02, baselines.MOST_SAMPLES)]
    tracemalloc.start()
    timing.compare(many, copy.copy(many), tolerance=0.05, against="x", paired=True)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 200 << 20  # at once it would be 2000 x 10,000 x (8 + 8) bytes and more


def test_chunks_do_not_change_what_is_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    times = [float(s) for s in 1e-5 * np.random.default_rng(2).lognormal(0, 0.02, 50)]
    whole = timing.compare(times, times[::-1], tolerance=0.05, against="x")
    monkeypatch.setattr(timing, "CHUNK", 1000)
    assert timing.compare(times, times[::-1], tolerance=0.05, against="x") == whole
