"""Running cases one after another and judging each: a stream of results."""

from __future__ import annotations

import dataclasses
import datetime
import re
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from ascend_opcli.backends import host
from ascend_opcli.casefile.inline import repro
from ascend_opcli.errors import UsageError
from ascend_opcli.execution.backend import Executor, Host, product_of
from ascend_opcli.model import Case, Result, StandardChoice, Timings, Verdict, Word
from ascend_opcli.operators.call import make_call
from ascend_opcli.operators.custom import operator_of
from ascend_opcli.operators.evaluate import ReferenceFailure, golden
from ascend_opcli.verification.verdict import apply_known_issue, judge_outputs, judge_status


@dataclass(frozen=True, slots=True)
class Settings:
    """What a run is asked for beside its cases.

    ``product`` serves cases that name none; ``cann`` is the installed version, where there is one; ``today``
    decides whether a known issue has expired.
    """

    product: str | None = None
    cann: str | None = None
    standard: StandardChoice | None = None
    inputs_sha256: str | None = None
    allow_code: bool = False
    today: datetime.date = dataclasses.field(default_factory=datetime.date.today)


def run_cases(
    cases: Iterable[Case], settings: Settings, executor: Executor | None = None
) -> Iterator[Result]:
    """Run and judge cases in their order, on the host unless another executor is given.

    Each result is complete when it is yielded. Raises UsageError where the inputs are not those that
    ``inputs_sha256`` names.
    """
    for case in cases:
        yield run_case(case, settings, executor or Host())


def run_case(case: Case, settings: Settings, executor: Executor) -> Result:
    """Run and judge one case."""
    product = product_of(case, executor, settings.product)
    result = Result(case, product, executor.name, Verdict(Word.SKIP))
    reason = _not_here(case, product, executor, settings)
    if reason is None:
        try:
            result = _run(case, settings, executor, result)
        except MemoryError as error:
            result = dataclasses.replace(
                result, verdict=Verdict(Word.ERROR, f"does not fit in memory: {error}")
            )
        except ReferenceFailure as error:
            result = dataclasses.replace(result, verdict=Verdict(Word.ERROR, str(error)))
    else:
        result = dataclasses.replace(result, verdict=Verdict(Word.SKIP, reason))
    verdict = apply_known_issue(case, result.verdict, settings.today)
    return dataclasses.replace(result, verdict=verdict, repro=repro(case, result.inputs_sha256))


def _run(case: Case, settings: Settings, executor: Executor, blank: Result) -> Result:
    operator = operator_of(case, allow_code=settings.allow_code)
    clock = _Clock()
    with clock("generate"):
        call = make_call(case, operator.signature, blank.product)
    if settings.inputs_sha256 is not None and not call.inputs_sha256.startswith(settings.inputs_sha256):
        wanted, got = settings.inputs_sha256, call.inputs_sha256
        raise UsageError(f"the inputs of {case.id} are not the same: expected sha256 {wanted}, got {got}")
    with clock("run"):
        outcome = executor.run(operator, case, call)
    verdict = judge_status(case, outcome)
    if verdict is None:
        with clock("golden"):
            truth = golden(operator, call) if operator.reference is not None else None
        with clock("judge"):
            verdict = judge_outputs(case, operator, call, outcome, truth, override=settings.standard)
    else:
        verdict = dataclasses.replace(verdict, notes=(*outcome.notes, *verdict.notes))
    return dataclasses.replace(
        blank,
        verdict=verdict,
        status=outcome.status,
        phase=outcome.phase,
        message=outcome.message,
        voice=outcome.voice,
        log=outcome.log,
        served_by=outcome.served_by,
        inputs_sha256=call.inputs_sha256,
        timings=clock.timings(),
    )


def _not_here(case: Case, product: str, executor: Executor, settings: Settings) -> str | None:
    """Why a case does not apply here, or None."""
    if executor.product is not None and case.product not in (None, executor.product):
        return f"names the product {case.product}; this device is {executor.product}"
    only = case.only
    if only is None:
        return None
    if only.products and product not in only.products:
        return f"only on {', '.join(only.products)}, not on {product}"
    if only.backend is not None and only.backend != executor.name:
        return f"only on the backend {only.backend}"
    if only.cann is not None:
        return _wrong_cann(only.cann, executor.name, settings.cann)
    return None


def _wrong_cann(wanted: str, backend: str, there: str | None) -> str | None:
    """Why the CANN that is there is not one that ``>=8.5`` or a list of such bounds means."""
    if there is None:
        place = "the host has none" if backend == host.NAME else "its version is not known here"
        return f"only with CANN {wanted}; {place}"
    if all(_within(bound.strip(), there) for bound in wanted.split(",")):
        return None
    return f"only with CANN {wanted}; {there} is installed"


def _within(bound: str, there: str) -> bool:
    match = _BOUND.match(bound)
    if match is None:
        return False
    low, high = ([int(n) for n in re.findall(r"\d+", text)] for text in (match["version"], there))
    width = max(len(low), len(high))
    a, b = high + [0] * (width - len(high)), low + [0] * (width - len(low))
    return {">=": a >= b, ">": a > b, "<=": a <= b, "<": a < b, "==": a == b, "": a == b}[match["sign"] or ""]


_BOUND = re.compile(r"^(?P<sign>>=|<=|==|>|<)?\s*v?(?P<version>\d[\w.]*)$")


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
