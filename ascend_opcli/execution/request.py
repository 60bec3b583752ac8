"""A request from its cases to its results: what ``opcli run`` and ``bench``, Python and the pytest plugin ask for."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ascend_opcli.casefile.inline import CallOptions
from ascend_opcli.execution import plan as planning
from ascend_opcli.execution import runner
from ascend_opcli.execution.backend import Target
from ascend_opcli.execution.plan import Plan
from ascend_opcli.execution.runner import Settings
from ascend_opcli.execution.target import TargetRequest, installed_cann, installed_headers, opened
from ascend_opcli.execution.written import Given
from ascend_opcli.model import Case, Result
from ascend_opcli.operators.products import DEFAULT_PRODUCT
from ascend_opcli.verification.earlier_outputs import EarlierOutputs
from ascend_opcli.verification.standards.choice import check_for

if TYPE_CHECKING:
    from ascend_opcli.backends.cann.discovery import Headers

Test = Callable[[Case], bool]


@dataclass(frozen=True)
class Request:
    """Cases of ``paths`` or the one that ``call`` describes, which of them, on what, and how they are judged.

    ``touched`` picks the cases of a change, ``tests`` select among them, ``negatives`` adds what follows from the
    contracts before that. ``failed`` gives the test for what failed last time, None where nothing did.
    """

    paths: Sequence[str] = ()
    call: CallOptions | None = None
    seed: int | None = None
    touched: Test | None = None
    tests: Sequence[Test] = ()
    negatives: bool = False
    failed: Callable[[Sequence[Case]], Test | None] | None = None
    wanted: TargetRequest = dataclasses.field(default_factory=TargetRequest)
    settings: Settings = dataclasses.field(default_factory=Settings)

    @property
    def product(self) -> str:
        """Whose contract holds where neither a device nor a case says it."""
        return self.settings.product or DEFAULT_PRODUCT

    @cached_property
    def headers(self) -> Headers | None:
        """The headers of the CANN that would be used."""
        return installed_headers(self.wanted.backend, self.wanted.opp)

    @cached_property
    def named(self) -> Plan:
        """The cases that are named, touched by the change. Raises the error of the first that cannot be read."""
        if self.call is not None:
            plan = planning.of_options(self.call, check_standard=check_for, declared=self.headers)
        else:
            plan = planning.of_paths(
                self.paths, check_standard=check_for, seed=self.seed, declared=self.headers
            )
        return plan if self.touched is None else planning.touched_only(plan, self.touched)

    def selected(self, product: str | None = None) -> Plan:
        """The cases that are run: with their negatives, of the device's own ``product`` alone where it is given."""
        plan = self.named
        if self.negatives:
            plan = planning.with_negatives(plan, product or self.product, other_products=product is None)
        plan = planning.select(plan, *self.tests)
        if self.failed is None or not plan.cases:
            return plan
        failed = self.failed(plan.cases)
        return plan if failed is None else planning.select(plan, failed)

    @property
    def idle(self) -> bool:
        """Whether no device is needed: no operator was changed, or every case has its outputs."""
        given = self.named.cases and all(case.got for case in self.named.cases)
        return self.named.unchanged or bool(given and not self.settings.rerun and not self.negatives)

    @contextlib.contextmanager
    def opened(self, *, idle: bool | None = None, **more: Any) -> Iterator[OpenRun]:
        """What serves the calls, and the cases that are run on it; the host where nothing needs a device (``idle``).

        ``more`` are settings that follow from the cases or are made once they are known.

        Raises SurroundingsError where a device cannot be opened, UsageError where a hash of inputs meets several cases.
        """
        wanted = self.wanted
        if self.idle if idle is None else idle:
            wanted = dataclasses.replace(
                wanted, backend="host", candidate=None if self.named.unchanged else wanted.candidate
            )
        settings = dataclasses.replace(self.settings, cann=installed_cann(), **more)
        with opened(wanted) as executor:
            plan = self.selected(executor.product)
            if settings.inputs_sha256 is not None:
                planning.one_case(plan, "--inputs-sha256")
            yield OpenRun(plan, executor, executor.product or self.product, settings)


@dataclass(frozen=True)
class OpenRun:
    """A request whose target is open."""

    plan: Plan
    executor: Target
    product: str
    settings: Settings
    earlier: EarlierOutputs = dataclasses.field(default_factory=EarlierOutputs)
    given: Given = dataclasses.field(default_factory=Given)

    def results(self) -> Iterator[Result]:
        """Every case run and judged, in order; each result is complete when it is yielded."""
        return map(self.result, self.plan.cases)

    def result(self, case: Case) -> Result:
        """One case run and judged, after those before it."""
        return runner.run_case(case, self.settings, self.executor, self.earlier, self.given)


def one_case(path: str, wanted: TargetRequest, settings: Settings, why: str) -> Result:
    """Run and judge the one case that a path names. Raises UsageError where it names none or several."""
    request = Request([path], wanted=wanted, settings=settings)
    planning.one_case(request.named, why)
    with request.opened() as run:
        (result,) = run.results()
    return result
