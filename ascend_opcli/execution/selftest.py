"""The self-test of a device: checks in the worker, documented examples and a planted fault through the whole run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ascend_opcli.backends.cann.device import Device, DeviceOptions
from ascend_opcli.backends.cann.selftest import CHECKS
from ascend_opcli.backends.cann.selftest_requests import (
    DIFFERS,
    HOLDS,
    NOT_CHECKED,
    Checked,
    Planted,
    SelfTestCheck,
)
from ascend_opcli.backends.cann.timing import About
from ascend_opcli.casefile.open import load_text
from ascend_opcli.errors import SurroundingsError
from ascend_opcli.execution.on_device import OnDevice
from ascend_opcli.execution.runner import Settings, run_case
from ascend_opcli.model import Call, Case, Outcome, Result, VerdictKind
from ascend_opcli.operators.operator import Operator
from ascend_opcli.operators.products import DEFAULT_PRODUCT
from ascend_opcli.reference.resolve import operator_of
from ascend_opcli.verification.standards.choice import check_for

TIMEOUT = 20.0
"""Seconds for a check: those that work take one."""

DOCUMENTED, PLANTED = "documented", "planted"
NAMES = (*(name for name in CHECKS if name != "close"), DOCUMENTED, PLANTED, "close")

CASES = """
cases:
  - name: add
    op: add
    dtype: float32
    shape: [64]
    inputs: {self: {data: 1.5}, other: {data: 2.25}}
    attrs: {alpha: 1.0}
  - name: copy
    op: aclnnCopyOfTheSelfTest
    signature: aclnnStatus aclnnCopyOfTheSelfTestGetWorkspaceSize(const aclTensor *self, aclTensor *out)
    reference: self
    inputs: {self: {dtype: float32, shape: [1024], data: {uniform: [1, 2]}}}

  - name: LogitGrad
    op: logit_grad
    inputs:
      x: {dtype: float32, shape: [1, 4], data: [0.1, 0.2, 0.3, 0.4]}
      dy: {dtype: float32, shape: [1, 4], data: [1, 2, 3, 4]}
    attrs: {eps: -1.0}
    expect: {outputs: {out: [11.1111, 12.5, 14.2857, 16.6667]}, standard: {allclose: {rtol: 1.0e-5, atol: 1.0e-5}}}
  - name: EluBackward
    op: elu_backward
    inputs:
      gradOutput: {dtype: float32, shape: [2, 2], data: [-2, -1, 0, 1]}
      selfOrResult: {dtype: float32, shape: [2, 2], data: [-2, -1, 0, 1]}
    attrs: {alpha: 1.0, scale: 1.0, inputScale: 1.0, isResult: true}
    expect: {outputs: {gradInput: [2, 0, 0, 1]}}
  - name: ThresholdBackward
    op: threshold_backward
    inputs:
      gradOutput: {dtype: float32, shape: [2, 2], data: [4.5, 4.4, 4.3, 4.2]}
      self: {dtype: float32, shape: [2, 2], data: [0.2, 1.2, 2.2, 3.2]}
    attrs: {threshold: 1.0}
    expect: {outputs: {out: [0, 4.4, 4.3, 4.2]}}
  - name: AmpUpdateScale
    op: amp_update_scale
    dtype: float32
    shape: [1]
    inputs: {currentScale: {data: 65536}, growthTracker: {data: 900}, foundInf: {data: 0}}
    attrs: {growthFactor: 2.0, backoffFactor: 0.5, growthInterval: 1000}
    expect: {outputs: {updatedScale: 65536, updatedGrowthTracker: 901}}
  - name: BatchNormElemtBackward
    op: batch_norm_elemt_backward
    dtype: float32
    shape: [1, 2, 4]
    inputs:
      gradOut: {data: [0, 1, 2, 3, 4, 5, 6, 7]}
      input: {data: [0, 1, 2, 3, 4, 5, 6, 7]}
      mean: {data: 0}
      invstd: {data: 1}
      weight: {data: 1}
      sumDy: {data: 0}
      sumDyXmu: {data: 1}
      counter: {dtype: float32, shape: [2], data: [5, 5]}
    expect: {outputs: {gradInput: [0, 0.9, 1.8, 2.7, 3.6, 4.5, 5.4, 6.3]}}
"""
"""A call for the checks, one to plant a fault in, and the documented examples of five operators."""


def self_test(number: int) -> Iterator[Checked]:
    """Every check on a device, in order; one that takes its worker along costs its own line."""
    left = list(NAMES)
    try:
        with Device(DeviceOptions(number, timeout=TIMEOUT)) as device:
            tested = _Tested(device)
            while left:
                yield tested.check(left[0])
                del left[0]
    except SurroundingsError as error:
        yield from not_checked(left, "as_is", what=str(error))


def not_checked(names: Sequence[str], said: str, **values: str) -> Iterator[Checked]:
    """Checks that could not be made, with a sentence for all of them."""
    return (Checked(name, NOT_CHECKED, said, values) for name in names)


class _Tested:
    def __init__(self, device: Device) -> None:
        self._device = device
        cases = load_text(CASES, "self-test", check_standard=check_for).cases
        self._add, self._copy, *self._documented = cases
        self._executor = OnDevice(device, device.soc)
        self._product = self._executor.product or DEFAULT_PRODUCT

    def check(self, name: str) -> Checked:
        """The answer to one question."""
        alive = self._device.ask(About())
        if isinstance(alive, Outcome):
            return Checked(name, NOT_CHECKED, "as_is", {"what": alive.error})
        if name == DOCUMENTED:
            return self._examples()
        if name == PLANTED:
            return self._plant()
        operators = tuple(case.operator for case in (self._add, *self._documented))
        signature = operator_of(self._add, allow_code=False).signature
        reply = self._device.ask(SelfTestCheck(name, signature, self._add, self._product, operators))
        if isinstance(reply, Checked):
            return reply
        assert isinstance(reply, Outcome)
        what = reply.error or "; ".join(reply.findings) or f"{reply.status} {reply.message}".strip()
        return Checked(name, DIFFERS, "as_is", {"what": what})

    def _examples(self) -> Checked:
        results = [run_case(case, Settings(), self._executor) for case in self._documented]
        wrong = [r for r in results if r.verdict.word is VerdictKind.FAIL]
        open_ = [r for r in results if r.verdict.word not in (VerdictKind.FAIL, VerdictKind.PASS)]
        if wrong or open_:
            return Checked(
                DOCUMENTED, DIFFERS if wrong else NOT_CHECKED, "as_is", {"what": _said(wrong or open_)}
            )
        return Checked(DOCUMENTED, HOLDS, DOCUMENTED, {"count": len(results)})

    def _plant(self) -> Checked:
        whole, short = (run_case(self._copy, Settings(), _Copying(self._device, n)) for n in (0, 1))
        if whole.verdict.word is not VerdictKind.PASS:
            return Checked(PLANTED, DIFFERS, "whole", {"what": _said([whole])})
        found = short.verdict.word is VerdictKind.FAIL and "WRITTEN" in short.verdict.reason
        values = {"word": short.verdict.word.value, "what": short.verdict.reason.split(";")[0]}
        return Checked(PLANTED, HOLDS if found else DIFFERS, PLANTED if found else "not_found", values)


class _Copying:
    """In the operator's place a copy on the device that ends ``short`` elements early."""

    name = "device"
    product: str | None = None

    def __init__(self, device: Device, short: int) -> None:
        self._device, self._short = device, short

    def refuse(self, operator: Operator, case: Case, product: str) -> Outcome | None:  # noqa: ARG002
        return None

    def run(self, operator: Operator, case: Case, call: Call) -> Outcome:
        reply = self._device.ask(Planted(operator.signature, case, call.product, self._short))
        assert isinstance(reply, Outcome)
        return reply


def _said(results: list[Result]) -> str:
    return "; ".join(f"{r.case.name} {r.verdict.word.value}: {r.verdict.reason}" for r in results)
