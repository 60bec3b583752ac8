"""Running cases one after another and judging each: a stream of results."""

from __future__ import annotations

import dataclasses
import datetime
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from ascend_opcli.backends import host
from ascend_opcli.casefile.applies import not_here
from ascend_opcli.casefile.repro import repro
from ascend_opcli.errors import CaseFileError, OpcliError, UsageError
from ascend_opcli.execution.backend import Target
from ascend_opcli.execution.by_type import obstacle as obstacle_of_way
from ascend_opcli.execution.memory import available_bytes, too_large
from ascend_opcli.execution.on_host import Host
from ascend_opcli.execution.target import product_of, running_cann
from ascend_opcli.execution.written import Given
from ascend_opcli.expression.language import memory_bound
from ascend_opcli.model import Call, Case, Outcome, Result, StandardChoice, Timings, Verdict, VerdictKind
from ascend_opcli.operators.contract.phase_one import Refusal, predict
from ascend_opcli.operators.operator import Operator
from ascend_opcli.operators.products import DEFAULT_PRODUCT
from ascend_opcli.reference.blocks import host_outputs, obstacle, streamed_call, streamed_golden
from ascend_opcli.reference.call import make_call, with_result_shapes
from ascend_opcli.reference.derived import DataFailure
from ascend_opcli.reference.evaluate import Golden, golden
from ascend_opcli.reference.fitting import ReferenceFailure, UndefinedResult
from ascend_opcli.reference.heard import heard
from ascend_opcli.reference.resolve import operator_of
from ascend_opcli.verification.earlier_outputs import EarlierOutputs
from ascend_opcli.verification.verdict import apply_known_issue, judge_outputs, judge_status


@dataclass(frozen=True, slots=True)
class Failure:
    """A case that failed, with all that was computed of it.

    ``golden`` is None where the status settled the verdict or nothing has a reference.
    """

    result: Result
    operator: Operator
    call: Call
    outcome: Outcome
    golden: Golden | None


@dataclass(frozen=True, slots=True)
class Settings:
    """What a run is asked for beside its cases.

    ``product`` serves cases that name none; ``cann`` is the installed version, where there is one; ``today``
    decides whether a known issue has expired. ``memory_limit`` bounds the bytes of a case's tensors; without
    one it is half of what is free. ``all_standards`` adds how every standard would judge.
    ``on_failure`` is handed every case that fails, and what it returns is noted with the result; ``on_outcome`` every
    outcome before it is judged. ``third_party`` is the folder in which the dual standard finds its third-party
    results, ``repro_options`` what a repro line says of who serves the calls. ``rerun`` hands the executor also the
    cases that bring their outputs along.
    """

    product: str | None = None
    cann: str | None = None
    memory_limit: int | None = None
    standard: StandardChoice | None = None
    all_standards: bool = False
    inputs_sha256: str | None = None
    allow_code: bool = False
    today: datetime.date = dataclasses.field(default_factory=datetime.date.today)
    on_failure: Callable[[Failure], str] | None = None
    on_outcome: Callable[[Case, Call, Outcome], None] | None = None
    third_party: str | None = None
    repro_options: tuple[str, ...] = ()
    via: str | None = None
    rerun: bool = False


def run_cases(cases: Iterable[Case], settings: Settings, executor: Target | None = None) -> Iterator[Result]:
    """Run and judge cases in their order, on the host unless another executor is given.

    Each result is complete when it is yielded. Raises UsageError where the inputs are not those that
    ``inputs_sha256`` names.
    """
    earlier, given = EarlierOutputs(), Given()
    for case in cases:
        yield run_case(case, settings, executor or Host(), earlier, given)


def run_case(
    case: Case,
    settings: Settings,
    executor: Target,
    earlier: EarlierOutputs | None = None,
    given: Given | None = None,
) -> Result:
    """Run and judge one case. ``earlier`` holds the outputs of the calls before it, and then its own.

    ``given`` takes the executor's place where the case brings its outputs along.
    """
    if settings.via is not None:
        case = dataclasses.replace(case, via=settings.via)
    if case.got and not settings.rerun:
        executor = given or Given()
    product = product_of(case, executor, settings.product)
    result = Result(case, product, executor.name, Verdict(VerdictKind.SKIP))
    made: _Made | None = None
    cann = settings.cann
    if cann is None and case.only is not None and case.only.cann is not None:
        cann = running_cann(executor)
    reason = not_here(
        case,
        product,
        backend=executor.name,
        device_product=executor.product,
        cann=cann,
        overridden=settings.standard is not None,
    )
    if reason is None:
        try:
            with memory_bound(settings.memory_limit):
                result, made = _run(case, settings, executor, result, earlier)
        except MemoryError as error:
            result = dataclasses.replace(
                result, verdict=Verdict(VerdictKind.SKIP, f"does not fit in memory: {error}")
            )
        except UndefinedResult as error:
            result = dataclasses.replace(
                result, verdict=Verdict(VerdictKind.SKIP, f"cannot judge: the result is not defined: {error}")
            )
        except DataFailure as error:
            result = dataclasses.replace(result, verdict=Verdict(VerdictKind.SKIP, f"cannot judge: {error}"))
        except (ReferenceFailure, _Damaged) as error:
            result = dataclasses.replace(
                result, verdict=Verdict(VerdictKind.ERROR, " ".join(str(error).split()))
            )
        except OpcliError:
            raise
        except Exception as error:
            # Whatever goes wrong with one case, the others are still run and reported.
            sentence = f"{type(error).__name__}: {' '.join(str(error).split())}"
            result = dataclasses.replace(result, verdict=Verdict(VerdictKind.ERROR, sentence))
    else:
        word = VerdictKind.ERROR if case.damaged and reason == case.skip else VerdictKind.SKIP
        result = dataclasses.replace(result, verdict=Verdict(word, reason))
    verdict = apply_known_issue(case, result.verdict, settings.today)
    if case.got and settings.rerun and made is not None:
        left = "got of the case is not judged: an option of the command line asks for a run"
        verdict = dataclasses.replace(verdict, notes=(*verdict.notes, left))
    result = dataclasses.replace(result, verdict=verdict, repro=_repro(case, settings, result.inputs_sha256))
    if made is not None and made[2].again:
        verdict = dataclasses.replace(verdict, notes=(*verdict.notes, *_other_calls(case, settings, made[2])))
        result = dataclasses.replace(result, verdict=verdict)
    if settings.on_failure is None or made is None or verdict.word is not VerdictKind.FAIL:
        return result
    note = settings.on_failure(Failure(result, *made))
    return dataclasses.replace(result, verdict=dataclasses.replace(verdict, notes=(*verdict.notes, note)))


def _other_calls(case: Case, settings: Settings, outcome: Outcome) -> Iterator[str]:
    """The command for the inputs of every other call that failed, where a seed alone draws them."""
    for other in outcome.again:
        if other.seed is not None and "seed" not in case.source:
            own = dataclasses.replace(case, seed=other.seed)
            yield f"the inputs of the other call: {_repro(own, settings, other.inputs_sha256)}"


def _repro(case: Case, settings: Settings, inputs_sha256: str) -> str:
    """The command that runs this case again as it was run: what the command line set comes along."""
    if settings.product is not None and case.product is None:
        case = dataclasses.replace(case, product=settings.product)
    return repro(
        case,
        inputs_sha256,
        standard=settings.standard,
        allow_code=settings.allow_code,
        more=settings.repro_options,
    )


class _Damaged(Exception):
    """Data that were there when the case was loaded cannot be read now."""


_Made = tuple[Operator, Call, Outcome, "Golden | None"]


def _run(
    case: Case, settings: Settings, executor: Target, blank: Result, earlier: EarlierOutputs | None
) -> tuple[Result, _Made | None]:
    try:
        operator = operator_of(case, allow_code=settings.allow_code)
    except ValueError as error:
        raise CaseFileError(str(error), case.where) from None
    elsewhere = obstacle_of_way(operator, case, executor.name, blank.product)
    elsewhere = elsewhere or _only_elsewhere(case, operator, blank.product)
    if elsewhere is not None:
        return dataclasses.replace(blank, verdict=Verdict(VerdictKind.SKIP, elsewhere)), None
    clock = _Clock()
    lack = too_large(case, settings.memory_limit)
    refused = executor.refuse(operator, case, blank.product)
    if refused is not None and (lack is not None or refused.skip):
        # The status needs no data, and the data would not fit.
        return _settled(case, refused, blank), None
    if lack is not None:
        limit = settings.memory_limit or (available_bytes() or 0) // 2
        why = (
            obstacle(operator, case, limit) if executor.name == host.NAME else "a device takes tensors whole"
        )
        if why is not None:
            reason = f"{lack}; it cannot be run in blocks: {why}"
            return dataclasses.replace(blank, verdict=Verdict(VerdictKind.SKIP, reason)), None
    with clock("generate"):
        if lack is not None:
            call = streamed_call(case, operator, blank.product)
        else:
            try:
                call = make_call(case, operator.signature, blank.product)
            except DataFailure:
                raise
            except ValueError as error:  # of a file that was changed, or is damaged where no header tells
                raise _Damaged(str(error)) from error
    if settings.inputs_sha256 is not None and call.inputs_sha256 != settings.inputs_sha256.lower():
        wanted, got = settings.inputs_sha256, call.inputs_sha256
        raise UsageError(f"the inputs of {case.id} are not the same: expected sha256 {wanted}, got {got}")
    case, call = with_result_shapes(case, call, operator)
    with clock("run"):
        if lack is not None:
            outcome = Outcome(
                host.NAME, outputs=host_outputs(operator, call), notes=(f"run in blocks: it {lack}",)
            )
        else:
            outcome = executor.run(operator, case, call)
    if settings.on_outcome is not None:
        settings.on_outcome(case, call, outcome)
    verdict, truth = judge_status(case, outcome), None
    if verdict is None:
        with clock("golden"):
            if operator.reference is not None:
                truth = (streamed_golden if lack is not None else golden)(operator, call)
        with clock("judge"):
            verdict = heard(judge_outputs)(
                case,
                operator,
                call,
                outcome,
                truth,
                override=settings.standard,
                all_standards=settings.all_standards,
                earlier=earlier,
                third_party=settings.third_party,
            )
        if earlier is not None and truth is not None:
            earlier.add(case.operator, outcome, truth.outputs)
    else:
        verdict = dataclasses.replace(verdict, notes=(*outcome.notes, *verdict.notes))
    result = dataclasses.replace(
        blank,
        verdict=verdict,
        status=outcome.status,
        phase=outcome.phase,
        message=outcome.message,
        captured_output=outcome.captured_output,
        log=outcome.log,
        served_by=outcome.served_by,
        inputs_sha256=call.inputs_sha256,
        timings=clock.timings(),
    )
    return result, (operator, call, outcome, truth)


def _only_elsewhere(case: Case, operator: Operator, product: str) -> str | None:
    """Why a case that names neither product nor status is not for this product: the rule that refuses it here.

    The dtypes that a product's operators take differ; a file of cases is not wrong where it is run elsewhere.
    """
    if product == DEFAULT_PRODUCT or case.product is not None or case.status is not None:
        return None
    here = predict(operator, case.arguments, product)
    if not isinstance(here, Refusal) or predict(operator, case.arguments, DEFAULT_PRODUCT) is not None:
        return None
    return f"not on {product}: {here.rule}; the contract of {DEFAULT_PRODUCT} accepts it"


def _settled(case: Case, outcome: Outcome, blank: Result) -> Result:
    """The result of a call that is refused before it has any data."""
    verdict = judge_status(case, outcome) or Verdict(
        VerdictKind.ERROR, "the call was neither run nor refused"
    )
    return dataclasses.replace(
        blank, verdict=verdict, status=outcome.status, phase=outcome.phase, message=outcome.message
    )


class _Clock:
    """Seconds by stage."""

    def __init__(self) -> None:
        self._spent: dict[str, float] = {}
        self._open = ("", 0.0)

    def __call__(self, stage: str) -> _Clock:
        self._open = (stage, time.perf_counter())
        return self

    def __enter__(self) -> None:
        return None

    def __exit__(self, *exc: object) -> None:
        stage, begun = self._open
        self._spent[stage] = self._spent.get(stage, 0.0) + time.perf_counter() - begun

    def timings(self) -> Timings:
        return Timings(**self._spent)
