"""The words of a timing where something is amiss: marks, failures that cost one case, noise, names."""

from __future__ import annotations

import dataclasses
import datetime
import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ascend_opcli.benchmarking import baselines, ladder
from ascend_opcli.benchmarking.ladder import LadderRequest, Rung
from ascend_opcli.benchmarking.measure import BenchSettings, Other, exit_code, measure
from ascend_opcli.benchmarking.measurement import Measurement, Speed, Timed
from ascend_opcli.casefile.open import load_file
from ascend_opcli.errors import ExitCode, SurroundingsError, UsageError
from ascend_opcli.execution import plan
from ascend_opcli.execution.timed import How, NoTime
from ascend_opcli.model import Case, Outcome, Phase
from ascend_opcli.operators.catalog import operators
from ascend_opcli.operators.operator import Operator
from ascend_opcli.operators.products import PRODUCTS
from ascend_opcli.verification.standards.choice import check_for
from tests.benchmarking.conftest import Scripted, Ticks
from tests.conftest import CaseFile

SETTINGS = BenchSettings(clock=Ticks(), cann="9.1.0", today=datetime.date(2026, 6, 1))
FLOOR = ladder.HOST_SIZES[0]


def steady(seconds: float) -> Callable[[], Iterator[float]]:
    return lambda: itertools.cycle([seconds * 0.99, seconds, seconds * 1.01])


def rungs(*shapes: str, op: str = "elu_backward", **wanted: Any) -> list[Rung]:
    asked = LadderRequest(op, shapes or ("4x64",), ("float32",), **wanted)
    return ladder.of_operator(asked, sizes=(FLOOR,), product="atlas_a2", check_standard=check_for)


def measured(bench: Scripted, made: list[Rung], **options: Any) -> list[Measurement]:
    settings = dataclasses.replace(SETTINGS, **options.pop("settings", {}))
    return list(measure(made, bench, settings, **options))


def zeros(outcome: Outcome) -> Outcome:
    return dataclasses.replace(outcome, outputs={n: np.zeros_like(a) for n, a in outcome.outputs.items()})


# --- known issues -----------------------------------------------------------------------------------------------


def marked(case_file: CaseFile, expires: str | None) -> list[Rung]:
    mark = "reason: kernel is wrong" + (f", expires: {expires}" if expires else "")
    text = f"op: logit_grad\ncases: [{{name: a, dtype: float32, shape: [64], known_issue: {{{mark}}}}}]\n"
    return ladder.of_cases(load_file(str(case_file(text)), check_standard=check_for).cases)


class Crashing(Scripted):
    def prepare(self, operator: Operator, case: Case, product: str, how: How) -> Any:
        raise NoTime(Outcome("device", phase=Phase.TWO, findings=("crash: SIGSEGV in phase 2",)))


@pytest.mark.parametrize("bench", [Scripted(steady(1e-5), spoil=zeros), Crashing(steady(1e-5))])
@pytest.mark.parametrize(
    ("expires", "word", "said"),
    [
        (None, Timed.SKIP, "known issue: kernel is wrong"),
        ("2026-06-01", Timed.SKIP, "known issue: kernel is wrong"),
        ("2026-05-31", Timed.FAIL, "the known issue expired on 2026-05-31"),
    ],
)
def test_a_mark_covers_a_failure_and_a_crash_until_it_expires(
    case_file: CaseFile, bench: Scripted, expires: str | None, word: Timed, said: str
) -> None:
    (m,) = measured(bench, marked(case_file, expires))
    assert m.word is word
    assert said in m.reason
    assert m.statistics is None


def test_a_mark_on_a_case_that_passes_is_to_be_removed(case_file: CaseFile) -> None:
    (m,) = measured(Scripted(steady(1e-5)), marked(case_file, None))
    assert m.word is Timed.OK
    assert m.notes == ("fixed: remove the mark known_issue (kernel is wrong)",)


# --- one failure costs one case ---------------------------------------------------------------------------------


class Stumbling(Scripted):
    """A bench whose second case raises ``error``."""

    error: Exception = SurroundingsError("the disk is full")
    calls = 0

    def prepare(self, operator: Operator, case: Case, product: str, how: How) -> Any:
        self.calls += 1
        if self.calls == 2:
            raise self.error
        return super().prepare(operator, case, product, how)


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (SurroundingsError("the disk is full"), "the disk is full"),
        (MemoryError(), "MemoryError"),
        (ValueError("no such\nthing"), "no such thing"),
        (RuntimeError("odd"), "RuntimeError: odd"),
        (KeyError("x"), "KeyError: 'x'"),
    ],
)
def test_what_goes_wrong_with_a_case_costs_that_case(error: Exception, reason: str) -> None:
    bench = Stumbling(steady(1e-5))
    bench.error = error
    first, second, third = measured(bench, rungs("4x64", "8x64", "16x64"))
    assert (first.word, second.word, third.word) == (Timed.OK, Timed.ERROR, Timed.OK)
    assert second.reason == reason
    assert exit_code([first, second, third], compared=False) is ExitCode.SURROUNDINGS


def test_a_profiler_that_fails_costs_that_case() -> None:
    runs = itertools.count()

    def kernels(operator: Operator, case: Case, product: str, how: How) -> list[float]:
        if next(runs) == 0:
            raise SurroundingsError("--timer msprof: msprof failed with 1")
        return [2e-6, 2.01e-6] * 10

    first, second = measured(Scripted(steady(1e-5)), rungs("4x64", "8x64"), kernel_times=kernels)
    assert (first.word, first.reason) == (Timed.ERROR, "--timer msprof: msprof failed with 1")
    assert first.statistics is None
    assert second.word is Timed.OK
    assert second.statistics is not None
    assert second.statistics.median == pytest.approx(2e-6, rel=0.01)


# --- kernel times of two packages -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("theirs", "word"), [(2e-6, Speed.SAME), (1e-6, Speed.SLOWER), (4e-6, Speed.FASTER), (None, Speed.UNSURE)]
)
def test_with_a_profiler_task_durations_are_compared_and_not_the_times_between_events(
    theirs: float | None, word: Speed
) -> None:
    turns: list[str] = []

    def kernels(name: str, seconds: float | None) -> Callable[..., list[float]]:
        def times(*_args: object) -> list[float]:
            turns.append(name)
            if seconds is None:
                raise SurroundingsError("--timer msprof: msprof failed with 1")
            return [seconds, seconds * 1.01] * 20

        return times

    # Between events both look alike.
    other = Other(Scripted(steady(1e-5)), "theirs", kernels("b", theirs))
    (m,) = measured(Scripted(steady(1e-5)), rungs(), against=other, kernel_times=kernels("a", 2e-6))
    assert m.comparison is not None
    assert m.comparison.speed is word
    if theirs is None:
        assert m.comparison.reason == "theirs: --timer msprof: msprof failed with 1"
        return
    assert turns == ["a", "b", "b", "a"]
    assert m.comparison.ratio == pytest.approx(2e-6 / theirs, rel=0.01)
    assert any("task durations are compared" in note for note in m.notes)


def test_a_wrong_result_of_the_other_package_decides_nothing_under_the_profiler_either() -> None:
    def kernels(*_args: object) -> list[float]:
        return [2e-6] * 20

    other = Other(Scripted(steady(1e-5), spoil=zeros), "theirs", lambda *_args: [1e-6] * 20)
    (m,) = measured(Scripted(steady(1e-5)), rungs(), against=other, kernel_times=kernels)
    assert m.comparison is not None
    assert m.comparison.speed is Speed.UNSURE
    assert "theirs gives a wrong result" in m.comparison.reason


# --- noise ------------------------------------------------------------------------------------------------------


def test_a_row_that_is_unsure_by_noise_is_not_called_slower_or_faster(tmp_path: Path) -> None:
    path = tmp_path / "base.json"
    (calm,) = measured(Scripted(steady(1e-5)), rungs())
    path.write_text("".join(baselines.text([calm], {"backend": "host", "cpu": "one"})))
    for seconds in (4e-5, 2e-6):
        noise = [seconds * (1 + 0.6 * (i % 2)) for i in range(1000)]
        bench = Scripted(lambda noise=noise: iter(noise))  # type: ignore[misc]
        (m,) = measured(bench, rungs(), baseline=baselines.load(str(path)))
        assert m.word is Timed.UNSURE
        assert m.comparison is not None
        assert m.comparison.speed is Speed.UNSURE
        assert "% was asked" in m.comparison.reason
        assert m.comparison.ratio is not None
        assert exit_code([m], compared=True) is ExitCode.NOTHING_JUDGED


def test_a_noisy_other_package_is_not_called_faster() -> None:
    other = Other(Scripted(lambda: itertools.cycle([1e-6, 2e-6])), "theirs")
    (m,) = measured(Scripted(steady(1e-5)), rungs(), against=other, settings={"clock": Ticks(0.01)})
    assert m.comparison is not None
    assert m.comparison.speed is Speed.UNSURE
    assert m.comparison.reason.startswith("theirs: ")


# --- unchecked --------------------------------------------------------------------------------------------------


def test_what_was_not_judged_is_not_called_checked(case_file: CaseFile) -> None:
    assert measured(Scripted(steady(1e-5)), rungs())[0].checked
    assert not measured(Scripted(steady(1e-5)), rungs(), settings={"check": False})[0].checked
    text = (
        "op: logit_grad\ncases: [{name: a, dtype: float32, shape: [64], expect: {outputs: {out: ignore}}}]\n"
    )
    made = ladder.of_cases(load_file(str(case_file(text)), check_standard=check_for).cases)
    (m,) = measured(Scripted(steady(1e-5)), made)
    assert (m.word, m.checked) == (Timed.OK, False)


# --- names ------------------------------------------------------------------------------------------------------

ONE = "op: logit_grad\ncases: [{name: x, dtype: float32, shape: [8]}]\n"


def test_files_that_share_a_name_are_told_apart_by_their_folders(tmp_path: Path) -> None:
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "case.yaml").write_text(ONE)
    (tmp_path / "other.yaml").write_text(ONE)
    names = [str(tmp_path / name) for name in ("a/case.yaml", "b/case.yaml", "other.yaml")]
    made = ladder.of_cases(plan.of_paths(names, check_standard=check_for).cases)
    assert [rung.name for rung in made] == [f"{names[0]}::x", f"{names[1]}::x", "other.yaml::x"]


def test_the_same_case_twice_has_two_names(case_file: CaseFile) -> None:
    (case,) = load_file(str(case_file(ONE)), check_standard=check_for).cases
    assert len({rung.name for rung in ladder.of_cases([case, case, case])}) == 3


# --- ladders ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("op", "name"),
    [
        ("mm", "mm/float32/4x1024"),
        ("embedding", "embedding/float32/4x1024"),
        ("gather", "gather/float32/4x16x64"),
        ("group_norm", "group_norm/float32/1x64x64"),
        ("layer_norm_backward", "layer_norm_backward/float32/1x64x64"),
        ("reflection_pad3d", "reflection_pad3d/float32/1x16x16x16"),
        ("trace", "trace/float32/4x1024"),
    ],
)
def test_a_family_has_shapes_of_its_rank(op: str, name: str) -> None:
    wanted = LadderRequest(op, dtypes=("float32",))
    made = ladder.of_operator(wanted, sizes=ladder.HOST_SIZES, product="atlas_a2", check_standard=check_for)
    assert made[0].name == name
    assert len(made) == len(ladder.HOST_SIZES)
    assert len({rung.name for rung in made}) == len(made)
    (m,) = measured(Scripted(steady(1e-5)), made[:1])
    assert m.word is Timed.OK, m


def climbed(name: str) -> list[Rung]:
    """The ladder on the first product on which the operator has one."""
    for product in PRODUCTS:
        try:
            return ladder.of_operator(
                LadderRequest(name), sizes=(1 << 12, 1 << 14), product=product, check_standard=check_for
            )
        except UsageError as error:
            said = str(error)
    raise AssertionError(said)


def test_every_ladder_of_an_operator_with_a_reference_climbs_or_is_one_call() -> None:
    """Those whose size is an attribute's (a range, a filled matrix) are one call; the others grow."""
    single = []
    for name, op in operators().items():
        made = climbed(name)
        if len({rung.name.split("/")[2] for rung in made}) == 1:
            single.append(op.short_name)
    assert set(single) <= {
        "amp_update_scale",
        *("arange", "eye", "linspace", "range", "randperm", "normal_float_float"),
        *("dropout_gen_mask", "dropout_gen_mask_v2", "dropout_gen_mask_v2_tensor"),
        "inverse",  # one of the shapes is square
        *("repeat_interleave_tensor", "repeat_interleave_grad"),
        *("avg_pool2d_backward", "avg_pool3d_backward", "average_pooling_grad"),  # the gradient's shape
        *("max_unpool2d", "max_unpool3d"),
        "inplace_scatter_update",  # updates along the axis
    }


def test_where_no_ladder_can_be_made_the_sentence_says_what_to_give() -> None:
    # int8 is in no list of the document: the shape is not to blame, and the reason is there.
    with pytest.raises(
        UsageError, match=r"no shape of the default ladder suits aclnnMm as int8 .*int8.*--shape 3x4"
    ):
        ladder.of_operator(
            LadderRequest("mm", dtypes=("int8",)),
            sizes=(1 << 12,),
            product="atlas_a2",
            check_standard=check_for,
        )
