"""The timing of a candidate, in its process: on several input sets whose contents change from sample to sample.

The case's own inputs are kept back until the result is to be judged: whoever remembers results by address or by
content has not seen them, and the times are those of contents that were new. The last call that was timed is read out
too: times of wrong results are none.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ascend_opcli.backends import host_timing
from ascend_opcli.backends.candidate.function import NAME, THE_CALL, Function, Laid, Slot
from ascend_opcli.backends.candidate.program import Program, collected
from ascend_opcli.backends.candidate.requests import Finished, Prepare, Prepared, Sample
from ascend_opcli.backends.candidate.results import WrongResult
from ascend_opcli.backends.observed import POISONS
from ascend_opcli.model import BoundArgument, Call, Case, Derived, Generator, Outcome, Tensor, TensorSpec
from ascend_opcli.operators.signature import Signature
from ascend_opcli.reference.call import make_call
from ascend_opcli.tensors.dtypes import DTYPES
from ascend_opcli.tensors.exchange import tensors
from ascend_opcli.tensors.hashing import inputs_sha256
from ascend_opcli.tensors.returned import Place

SETS = 4
SET_BYTES = 64 << 20

Announce = Callable[[str], None]


class _Failed(Exception):
    """A call that has failed while it was timed, as its outcome."""

    def __init__(self, outcome: Outcome) -> None:
        super().__init__()
        self.outcome = outcome


class CandidateStage:
    """A case ready to be sampled. ``about`` is the outcome that says why, where it is not."""

    def __init__(
        self, candidate: Function | Program, request: Prepare, served_by: str, announce: Announce
    ) -> None:
        self._candidate, self._served = candidate, served_by
        self._request = request
        self._call = make_call(request.case, request.signature, request.product)
        size = sum(a.nbytes for a in host_timing.input_arrays(self._call))
        count = request.sets or max(1, min(SETS, SET_BYTES // max(size, 1)))
        if isinstance(candidate, Program):
            count = 1
        self._calls = [
            make_call(
                dataclasses.replace(request.case, seed=request.case.seed + i),
                request.signature,
                request.product,
            )
            for i in range(1, count + 1)
        ]
        self._rounds = 0
        self._laid: list[Laid] = []
        self._last: tuple[Laid, Any] | None = None
        self._places: list[Place] = []
        self.about: Prepared | Outcome
        try:
            calls, run = self._program() if isinstance(candidate, Program) else self._function()
            announce(THE_CALL)
            self._stage = host_timing.HostStage(calls, run, size, cold=request.cold, **self._hooks())
        except _Failed as failed:
            self._drop()
            self.about = dataclasses.replace(failed.outcome, served_by=served_by)
            return
        self.about = Prepared(
            self._stage.first, self._stage.launches, len(self._calls), self._stage.flush, served_by
        )

    def draw(self, announce: Announce) -> Sample | Outcome:
        """Take a sample."""
        announce(THE_CALL)
        try:
            return Sample(self._stage.draw())
        except _Failed as failed:
            return dataclasses.replace(failed.outcome, served_by=self._served)

    def finish(self, announce: Announce, *, read: bool) -> Finished:
        """Release everything; with ``read`` the outputs of the last call that was timed, and those of the case's own
        inputs in the same memory."""
        timed: Outcome | None = None
        index = 0
        try:
            if read and not self._request.case.open_outputs:
                timed, index = self._timed(announce)
            outcome = self._judged(announce) if read else Outcome(NAME)
        except _Failed as failed:
            outcome = failed.outcome
        finally:
            self._drop()
        return Finished(dataclasses.replace(outcome, served_by=self._served), timed, index, self._rounds)

    def _timed(self, announce: Announce) -> tuple[Outcome | None, int]:
        """What the last timed call gave, and which of the input sets it had."""
        candidate = self._candidate
        if isinstance(candidate, Program):
            return collected(self._places[0], self._calls[0]), 0
        assert self._last is not None
        laid, result = self._last
        announce("the copy back")
        index = next(i for i, other in enumerate(self._laid) if other is laid)
        for slot in laid.slots:
            if slot.content is not None:
                slot.content, slot.moved = _moved(slot, self._rounds), True
        return candidate.collect(laid, self._calls[index], result), index

    def _hooks(self) -> dict[str, Any]:
        if isinstance(self._candidate, Program):
            return {}
        # A call that changes its inputs must not meet the same ones twice.
        once = any(slot.writes and slot.content is not None for slot in self._laid[0].slots)
        return {"wait": self._candidate.wait, "refresh": self._refresh, "once": once}

    # --- a function -----------------------------------------------------------------------------------------

    def _function(self) -> tuple[list[Any], Callable[[Any], object]]:
        candidate = self._candidate
        assert isinstance(candidate, Function)
        try:
            self._laid = [
                candidate.lay_out(self._request.signature, call, POISONS[0]) for call in self._calls
            ]
        except WrongResult as error:
            raise _Failed(Outcome(NAME, findings=(str(error),))) from None
        for call, laid in zip(self._calls, self._laid, strict=True):
            free = moves(call)
            for slot in laid.slots:
                slot.moves = slot.name in free

        def run(laid: Laid) -> object:
            try:
                result = candidate.call(laid)
            except BaseException as error:
                raise _Failed(candidate.raised(error, laid)) from None
            self._last = laid, result
            return result

        return self._laid, run

    def _refresh(self) -> None:
        """New contents for every set: its own, moved on by one element a sample, where they are drawn real numbers."""
        self._rounds += 1
        for laid in self._laid:
            for slot in laid.slots:
                if slot.content is not None:
                    slot.buffer.write(_moved(slot, self._rounds))

    def _judged(self, announce: Announce) -> Outcome:
        candidate = self._candidate
        if isinstance(candidate, Program):
            return candidate.run(self._request.case, self._call, announce)
        for laid in self._laid:
            for slot in laid.slots:
                if slot.kept and _differs(slot, self._rounds):
                    return Outcome(NAME, findings=(f"INPUT CHANGED: {slot.name}, while it was timed",))
        laid = self._laid[0]
        fresh = candidate.lay_out(self._request.signature, self._call, POISONS[0])
        for slot, own in zip(laid.slots, fresh.slots, strict=True):
            slot.content, slot.moved = own.content, False
            slot.buffer.write(np.full(1, slot.poison, np.uint8) if own.content is None else own.content)
        announce(THE_CALL)
        try:
            result = candidate.launch(laid)
        except BaseException as error:
            return candidate.raised(error, laid)
        announce("the copy back")
        return candidate.collect(laid, self._call, result)

    # --- a program ------------------------------------------------------------------------------------------

    def _program(self) -> tuple[list[Any], Callable[[Any], object]]:
        candidate = self._candidate
        assert isinstance(candidate, Program)
        try:
            self._places = [candidate.prepare(self._request.case, call) for call in self._calls]
        except OSError as error:
            raise _Failed(Outcome(NAME, error=f"cannot write the files of the case: {error}")) from None

        def run(place: Place) -> object:
            failure = candidate.launch(place)
            if failure is not None:
                raise _Failed(failure)
            return None

        return self._places, run

    def _drop(self) -> None:
        for place in self._places:
            assert isinstance(self._candidate, Program)
            self._candidate.drop(place)
        self._laid = []
        self._last = None


def _moved(slot: Slot, rounds: int) -> np.ndarray:
    """What lies in an input at a sample, as bytes."""
    assert slot.content is not None
    if slot.moved or not slot.moves:
        return slot.content
    return _rolled(slot.content, slot.spec, rounds)


def _rolled(content: np.ndarray, spec: TensorSpec, rounds: int) -> np.ndarray:
    raw = content.view(np.uint8).view(f"V{DTYPES[spec.dtype].itemsize}")
    return np.roll(raw, rounds).view(np.uint8)


def _differs(slot: Slot, rounds: int) -> bool:
    return not np.array_equal(slot.buffer.read(), _moved(slot, rounds))


def moves(call: Call) -> frozenset[str]:
    """The inputs whose contents change from sample to sample: real numbers that are drawn, every one in the view.

    Where data come of other data, or are written out, another order may not be what the operator takes.
    """
    found = [(name, tensor.spec) for name, tensor in tensors(call)]
    if any(isinstance(spec.data, Derived) for _, spec in found):
        return frozenset()
    return frozenset(name for name, spec in found if _free(spec))


def _free(spec: TensorSpec) -> bool:
    drawn = isinstance(spec.data, Generator) and spec.data.kind != "linspace"
    real = DTYPES[spec.dtype].kind in ("float", "complex")
    return drawn and real and math.prod(spec.storage_shape) == spec.count > 1


def timed_call(case: Case, signature: Signature, product: str, index: int, rounds: int) -> Call:
    """The call that was timed with an input set at a sample, of which the process says only these two numbers."""
    call = make_call(dataclasses.replace(case, seed=case.seed + 1 + index), signature, product)
    free = moves(call)

    def at(name: str, bound: BoundArgument) -> BoundArgument:
        if isinstance(bound, tuple):
            return tuple(_tensor_at(f"{name}[{i}]", member) for i, member in enumerate(bound))
        return _tensor_at(name, bound) if isinstance(bound, Tensor) else bound

    def _tensor_at(name: str, tensor: Tensor) -> Tensor:
        if name not in free:
            return tensor
        storage = np.ascontiguousarray(tensor.storage).reshape(-1)
        return Tensor(tensor.spec, _rolled(storage, tensor.spec, rounds).view(storage.dtype))

    arguments = {name: at(name, bound) for name, bound in call.arguments.items()}
    return dataclasses.replace(call, arguments=arguments, inputs_sha256=inputs_sha256(arguments))
