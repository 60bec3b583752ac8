"""From cases to a stream of measurements: sampled, judged, held against a baseline."""

# More than 400 lines: one measurement from its case to its comparison.
from __future__ import annotations

import dataclasses
import datetime
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from ascend_opcli.benchmarking import ladder, timing
from ascend_opcli.benchmarking.baselines import Baseline
from ascend_opcli.benchmarking.fingerprint import Fingerprint
from ascend_opcli.benchmarking.ladder import Rung
from ascend_opcli.benchmarking.measurement import Measurement, Speed, SpeedComparison, Statistics, Timed
from ascend_opcli.casefile.applies import not_here
from ascend_opcli.errors import ExitCode, OpcliError, SurroundingsError
from ascend_opcli.execution.timed import How, NoTime, Stage, TimedTarget
from ascend_opcli.model import Call, Case, Outcome, Tensor, Verdict, VerdictKind
from ascend_opcli.operators import cost
from ascend_opcli.operators.operator import Operator
from ascend_opcli.operators.products import DEFAULT_PRODUCT
from ascend_opcli.reference.call import make_call, with_result_shapes
from ascend_opcli.reference.evaluate import golden
from ascend_opcli.reference.fitting import ReferenceFailure
from ascend_opcli.reference.resolve import operator_of
from ascend_opcli.tensors.dtypes import DTYPES, widen
from ascend_opcli.tensors.layout import view
from ascend_opcli.verification.verdict import apply_known_issue, judge_outputs, judge_status

LEAST_SAMPLE = 5e-3
"""Seconds: where a sample's share of the budget is less, it is what the flush costs anyway."""

SHORT = 20e-6
"""Seconds below which what lies between two launches counts in the time between events."""

KernelTimes = Callable[[Operator, Case, str, How], list[float]]
"""Kernel task durations of a case by a profiler, in seconds a call."""


@dataclass(frozen=True, slots=True)
class BenchSettings:
    """What a timing is asked for.

    ``precision`` is the share to which the median is to be known, ``budget`` the seconds a case may be sampled,
    ``tolerance`` the share by which a time may grow. ``bytes`` and ``operations`` override what a call moves
    and does (:func:`ladder.amount`); ``peak`` is bytes a second. ``compared`` says that the samples will be held
    against others, ``fingerprint`` is the environment they must share (the target's own without one), ``today`` whether
    a known issue has expired.
    """

    precision: float = 0.02
    budget: float = 0.5
    tolerance: float = 0.05
    how: How = dataclasses.field(default_factory=How)
    check: bool = True
    product: str | None = None
    peak: float | None = None
    bytes: str | None = None
    operations: str | None = None
    allow_code: bool = False
    cann: str | None = None
    compared: bool = False
    fingerprint: Fingerprint = dataclasses.field(default_factory=dict)
    today: datetime.date = dataclasses.field(default_factory=datetime.date.today)
    clock: Callable[[], float] = time.perf_counter

    @property
    def target(self) -> float:
        """The precision at which sampling stops. A comparison needs the median better than the allowance it is given:
        else the ratio's interval would reach past it on either side, and the word would be UNSURE."""
        return min(self.precision, self.tolerance / 5) if self.compared else self.precision

    @property
    def timed_how(self) -> How:
        """How a case is timed, its samples so short that enough of them fit into the budget."""
        return dataclasses.replace(self.how, sample=max(LEAST_SAMPLE, self.budget / timing.LEAST))


@dataclass(frozen=True, slots=True)
class Other:
    """The package that times are held against, pair by pair; ``kernel_times`` are its own by a profiler."""

    bench: TimedTarget
    name: str
    kernel_times: KernelTimes | None = None


def measure(
    rungs: Iterable[Rung],
    bench: TimedTarget,
    settings: BenchSettings,
    *,
    baseline: Baseline | None = None,
    against: Other | None = None,
    kernel_times: KernelTimes | None = None,
) -> Iterator[Measurement]:
    """Time each case, in order. A measurement is complete when it is yielded.

    Raises SurroundingsError where not even a copy can be timed.
    """
    copy = bench.copy_rate()
    for rung in rungs:
        blank = _blank(rung, bench, settings, copy)
        try:
            made = _one(rung, blank, bench, settings, against, kernel_times)
        except NoTime as none:
            word, reason = _why(rung.case, none.outcome, settings.today)
            made = dataclasses.replace(blank, word=word, reason=reason, served_by=none.outcome.served_by)
        except (MemoryError, ReferenceFailure, ValueError, SurroundingsError) as error:
            made = dataclasses.replace(blank, word=Timed.ERROR, reason=_sentence(error))
        except OpcliError:
            raise
        except Exception as error:
            # Whatever goes wrong with one case, the others are still timed and reported.
            reason = f"{type(error).__name__}: {_sentence(error)}"
            made = dataclasses.replace(blank, word=Timed.ERROR, reason=reason)
        if baseline is not None:
            made = _held(made, baseline, bench, settings)
        yield made


def _held(made: Measurement, baseline: Baseline, bench: TimedTarget, settings: BenchSettings) -> Measurement:
    comparison = baseline.held_against(
        made, settings.fingerprint or bench.fingerprint, settings.tolerance, settings.precision
    )
    old = baseline.saved.get(made.name)
    note = ("the baseline's result was not checked",) if old is not None and not old.checked else ()
    return dataclasses.replace(made, comparison=comparison, notes=(*made.notes, *note))


def _sentence(error: BaseException) -> str:
    return " ".join(str(error).split()) or type(error).__name__


def _blank(rung: Rung, bench: TimedTarget, settings: BenchSettings, copy: float) -> Measurement:
    case = rung.case
    spec = max(cost.specs(case.arguments.values()), key=lambda s: s.count, default=None)
    return Measurement(
        rung.name,
        case,
        bench.name,
        Timed.SKIP,
        dtype=spec.dtype if spec is not None else "",
        shape=spec.shape if spec is not None else (),
        copy=copy,
        peak=settings.peak,
    )


def _one(
    rung: Rung,
    blank: Measurement,
    bench: TimedTarget,
    settings: BenchSettings,
    against: Other | None,
    kernel_times: KernelTimes | None,
) -> Measurement:
    case = rung.case
    product = bench.product or case.product or settings.product or DEFAULT_PRODUCT
    reason = _not_timed(case, bench, product, settings.cann or bench.fingerprint.get("cann"))
    if reason is not None:
        return dataclasses.replace(blank, reason=reason)
    operator = operator_of(case, allow_code=settings.allow_code)
    if bench.name == "device" and (operator.by_type or case.via == "ir"):
        return dataclasses.replace(blank, reason="called by its type: only aclnn functions are timed")
    moved, elements = cost.moved(operator, case.arguments), ladder.elements_of(case.arguments.values())
    if elements == 0:
        return dataclasses.replace(blank, reason="the tensors are empty: there is nothing to time")
    case, call = with_result_shapes(case, make_call(case, operator.signature, product), operator)
    if all_zero(call):
        return dataclasses.replace(
            blank,
            reason="every input is zero: branches, clock and power are then not those of real data; give it other data",
        )
    blank = dataclasses.replace(
        blank,
        bytes=ladder.amount(settings.bytes, elements) if settings.bytes is not None else moved,
        elements=elements,
        operations=ladder.amount(settings.operations, elements)
        if settings.operations is not None
        else cost.operations(operator, case.arguments),
        inputs_sha256=call.inputs_sha256,
    )
    stage = bench.prepare(operator, case, product, settings.timed_how)
    about = stage.about
    blank = dataclasses.replace(
        blank,
        host=about.host,
        launches=about.launches,
        sets=about.sets,
        flush=about.flush,
        served_by=about.served_by,
        notes=about.notes,
    )
    samples, comparison, other_notes = _sampled(stage, operator, case, product, settings, against)
    drawn = stage.notes()
    outcome = stage.finish(read=settings.check)
    judged = _judged(case, operator, call, outcome, settings.today) if settings.check else _NOT_CHECKED
    notes = [*blank.notes, *drawn, *other_notes, *judged.notes]
    if judged.word is not None:
        # The time of a wrong result is not a result.
        return dataclasses.replace(blank, word=judged.word, reason=judged.reason, notes=tuple(notes))
    statistics = timing.summarise(samples)
    stream: Statistics | None = None
    if kernel_times is not None:
        stream = statistics
        ours, comparison, said = _kernels(
            operator, case, product, settings, kernel_times, against, comparison
        )
        statistics, notes = timing.summarise(ours), [*notes, *said]
    if bench.name == "device" and stream is None and statistics.median < SHORT:
        notes.append(
            f"under {SHORT * 1e6:.0f} us what lies between launches counts in the stream time: --timer msprof takes"
            " the kernel's task duration"
        )
    moved_away = timing.drift(statistics, settings.precision)
    notes += [moved_away] if moved_away else []
    noise = timing.noisy(statistics, settings.precision)
    return dataclasses.replace(
        blank,
        word=Timed.UNSURE if noise else Timed.OK,
        reason=noise,
        statistics=statistics,
        stream=stream,
        comparison=comparison,
        notes=tuple(notes),
        checked=judged.checked,
    )


def _kernels(
    operator: Operator,
    case: Case,
    product: str,
    settings: BenchSettings,
    kernel_times: KernelTimes,
    against: Other | None,
    comparison: SpeedComparison | None,
) -> tuple[list[float], SpeedComparison | None, list[str]]:
    """Kernel times by a profiler: ours alone, or ours and another package's in turns, compared.

    The profiler takes a process for itself, so that turns are whole runs: ours, theirs, theirs, ours.
    ``comparison`` is that of the times between events; where it found nothing to compare, it stands.
    """
    how = settings.timed_how
    ours = kernel_times(operator, case, product, how)
    if against is None or against.kernel_times is None or comparison is None or comparison.ratio is None:
        return ours, comparison, []
    try:
        theirs = against.kernel_times(operator, case, product, how)
        theirs += against.kernel_times(operator, case, product, how)
    except SurroundingsError as error:
        reason = f"{against.name}: {_sentence(error)}"
        return ours, SpeedComparison(Speed.UNSURE, against.name, reason=reason), []
    ours += kernel_times(operator, case, product, how)
    made = timing.compare(
        ours, theirs, tolerance=settings.tolerance, against=against.name, precision=settings.precision
    )
    if comparison.speed is Speed.UNSURE and comparison.reason.startswith(_WRONG.format(against.name)):
        made = dataclasses.replace(made, speed=Speed.UNSURE, reason=comparison.reason)
    median = timing.summarise(theirs).median * 1e6
    note = (
        f"{against.name}: {median:.4g} us; task durations are compared, of runs under msprof in turns:"
        " ours, theirs, theirs, ours"
    )
    return ours, made, [note]


def _sampled(
    stage: Stage, operator: Operator, case: Case, product: str, settings: BenchSettings, against: Other | None
) -> tuple[list[float], SpeedComparison | None, list[str]]:
    """Our samples, and where there is another package the comparison with it."""
    if against is None:
        samples = timing.sample(
            stage.draw, precision=settings.target, budget=settings.budget, clock=settings.clock
        )
        return samples, None, []
    try:
        other = against.bench.prepare(operator, case, product, settings.timed_how)
    except NoTime as none:
        why = _why(case, none.outcome, settings.today)[1]
        samples = timing.sample(
            stage.draw, precision=settings.target, budget=settings.budget, clock=settings.clock
        )
        return samples, SpeedComparison(Speed.UNSURE, against.name, reason=f"{against.name}: {why}"), []
    lost: list[NoTime] = []

    def theirs() -> float:
        try:
            return other.draw()
        except NoTime as none:
            lost.append(none)
            return 0.0

    ours, others = timing.sample_pairs(
        stage.draw, theirs, precision=settings.target, budget=settings.budget, clock=settings.clock
    )
    if lost:
        why = _why(case, lost[0].outcome, settings.today)[1]
        return ours, SpeedComparison(Speed.UNSURE, against.name, reason=f"{against.name}: {why}"), []
    outcome = other.finish(read=settings.check)
    comparison = timing.compare(
        ours,
        others,
        tolerance=settings.tolerance,
        against=against.name,
        paired=True,
        precision=settings.precision,
    )
    notes = [f"{against.name}: {timing.summarise(others).median * 1e6:.4g} us, {other.about.served_by}"]
    if settings.check:
        call = make_call(case, operator.signature, product)
        judged = _judged(case, operator, call, outcome, settings.today)
        if judged.word is not None:
            reason = f"{_WRONG.format(against.name)}: {judged.reason}"
            comparison = dataclasses.replace(comparison, speed=Speed.UNSURE, reason=reason)
    return ours, comparison, notes


def _not_timed(case: Case, bench: TimedTarget, product: str, cann: str | None) -> str | None:
    """Why a case is left out here, or None."""
    if case.status is not None and case.status.code != 0:
        return "the case expects a refusal: there is nothing to time"
    return not_here(case, product, backend=bench.name, device_product=bench.product, cann=cann)


def all_zero(call: Call) -> bool:
    """Whether there are inputs and every element of every one is zero."""
    tensors = [
        item
        for bound in call.arguments.values()
        for item in (bound if isinstance(bound, tuple) else (bound,))
        if isinstance(item, Tensor) and item.spec.count
    ]
    return bool(tensors) and not any(_any(t) for t in tensors)


def _any(tensor: Tensor) -> bool:
    values = view(tensor)
    if DTYPES[tensor.spec.dtype].kind == "float":
        values = widen(values, np.float32)
    return bool(np.any(values != 0))


_WRONG = "{} gives a wrong result"


@dataclass(frozen=True, slots=True)
class _Judged:
    """What was found of a timed result: ``word`` is None where it may have a time."""

    word: Timed | None = None
    reason: str = ""
    notes: tuple[str, ...] = ()
    checked: bool = True


_NOT_CHECKED = _Judged(checked=False)


def _judged(case: Case, operator: Operator, call: Call, outcome: Outcome, today: datetime.date) -> _Judged:
    """A timed result, judged as ``opcli run`` judges one."""
    verdict = judge_status(case, outcome)
    if verdict is None:
        truth = golden(operator, call) if operator.reference is not None else None
        verdict = judge_outputs(case, operator, call, outcome, truth)
    if verdict.word is VerdictKind.SKIP:
        return _Judged(notes=(f"the result was not judged: {verdict.reason}",), checked=False)
    if verdict.word is VerdictKind.FAIL:
        verdict = dataclasses.replace(verdict, reason=f"a wrong result has no time: {verdict.reason}")
    marked = apply_known_issue(case, verdict, today)
    if marked.word is VerdictKind.PASS:
        left = (f"not judged: {', '.join(verdict.unjudged)}",) if verdict.unjudged else ()
        return _Judged(notes=(*left, *marked.notes[len(verdict.notes) :]))
    return _Judged(_timed(marked), marked.reason)


def _why(case: Case, outcome: Outcome, today: datetime.date) -> tuple[Timed, str]:
    """The word and reason of a call that was skipped, refused, crashed or could not be made."""
    verdict = judge_status(case, outcome)
    if verdict is None or verdict.word is VerdictKind.PASS:
        return Timed.ERROR, "the call gave neither a time nor a reason"
    verdict = apply_known_issue(case, verdict, today)
    return _timed(verdict), verdict.reason


def _timed(verdict: Verdict) -> Timed:
    """The word of a timing that gave no time."""
    words = {VerdictKind.SKIP: Timed.SKIP, VerdictKind.KNOWN: Timed.SKIP, VerdictKind.ERROR: Timed.ERROR}
    return words.get(verdict.word, Timed.FAIL)


def exit_code(measured: Iterable[Measurement], *, compared: bool) -> ExitCode:
    """What a run's measurements say.

    A comparison that was asked for and settled nowhere has judged nothing: 4, so that a CI job whose machine has
    changed does not stay green.
    """
    rows = list(measured)
    codes = []
    if any(m.word is Timed.FAIL for m in rows):
        codes.append(ExitCode.FAILED)
    if any(m.word is Timed.ERROR for m in rows):
        codes.append(ExitCode.SURROUNDINGS)
    if any(m.comparison is not None and m.comparison.speed is Speed.SLOWER for m in rows):
        codes.append(ExitCode.REGRESSION)
    settled = [m for m in rows if m.comparison is not None and m.comparison.speed is not Speed.UNSURE]
    timed = [m for m in rows if m.statistics is not None]
    if not codes and (not timed or (compared and not settled)):
        codes.append(ExitCode.NOTHING_JUDGED)
    return ExitCode.worst(codes)
