"""Outputs that nobody computed: an input handed back, a constant, what an earlier call gave.

Each is suspected by its bytes alone and named only where the reference says that these are not the right ones.
"""

from __future__ import annotations

import dataclasses
from collections import OrderedDict
from collections.abc import Iterable
from typing import Any

import numpy as np

from ascend_opcli.model import Again, Call, Case, Outcome, StandardChoice, TensorSpec
from ascend_opcli.operators.declare.choices import Held
from ascend_opcli.operators.operator import Operator
from ascend_opcli.reference.call import make_call
from ascend_opcli.reference.choices import held
from ascend_opcli.reference.derived import DataFailure
from ascend_opcli.tensors.dtypes import round_to
from ascend_opcli.tensors.exchange import members, tensors
from ascend_opcli.tensors.flat import take
from ascend_opcli.tensors.hashing import array_digest
from ascend_opcli.tensors.layout import view
from ascend_opcli.verification.comparison import Comparison, Places
from ascend_opcli.verification.judge import judge
from ascend_opcli.verification.second_call import Goldens
from ascend_opcli.verification.standards.named import default_for

KEPT = 4096
"""Outputs of earlier calls whose hashes are remembered; the oldest go first."""

FEW = 16

LEAST_BYTES = 4
"""Smaller outputs are alike by chance."""


class Shortcuts:
    """Remembers what calls gave, by hash, to know it again."""

    def __init__(self) -> None:
        self._seen: OrderedDict[tuple[str, str, bytes], tuple[Case, str]] = OrderedDict()

    def found(
        self, operator: Operator, case: Case, call: Call, outcome: Outcome, goldens: Goldens
    ) -> tuple[Again, ...]:
        """What is found of outputs that are an input, or those of an earlier call on other inputs."""
        suspects: dict[str, str] = {}
        before: dict[str, Case] = {}
        specs = dict(members(call.outputs))
        inputs = [(n, t) for n, t in tensors(call) if n.partition("[")[0] not in call.outputs]
        for name, array in members(outcome.outputs):
            if array.nbytes < LEAST_BYTES:
                continue
            for other, tensor in inputs:
                if tensor.spec.dtype == specs[name].dtype and _same(view(tensor), array):
                    suspects[name] = f"INPUT RETURNED: {name} is the input {other}, byte for byte"
                    break
            key = (call.operator, f"{name} {array.dtype} {array.shape}", array_digest(array))
            seen = self._seen.get(key)
            if seen is not None and seen[1] != call.inputs_sha256 and name not in suspects:
                before[name] = seen[0]
                suspects[name] = (
                    f"CACHED RESULT: {name} is what {seen[0].id} gave for other inputs, byte for byte"
                )
            self._seen[key] = (case, call.inputs_sha256)
            self._seen.move_to_end(key)
        while len(self._seen) > KEPT:
            self._seen.popitem(last=False)
        wrong = set(wrong_outputs(operator, call, outcome, suspects, goldens))
        for name, earlier in before.items():
            if name in wrong and not _told_apart(operator, earlier, call, outcome, name, goldens):
                wrong.discard(name)
        return tuple(Again(text) for name, text in suspects.items() if name in wrong)


def _told_apart(
    operator: Operator, earlier: Case, call: Call, outcome: Outcome, name: str, goldens: Goldens
) -> bool:
    """Whether an earlier case has another golden for an output than a call; where it cannot be had, it has."""
    try:
        before = make_call(earlier, operator.signature, call.product)
    except (DataFailure, ValueError, MemoryError):
        return True
    return bool(_differ(operator, (before, call), outcome, [name], goldens))


def unmoved(
    operator: Operator, calls: tuple[Call, Call], outcome: Outcome, again: Outcome, goldens: Goldens
) -> dict[str, str]:
    """By output, findings for those that stayed the same in the second call, and are wrong there.

    Only where the golden of the second call is another one: by symmetric inputs, or by an operator that hardly looks
    at them, nobody is told apart from one who remembers.
    """
    arrays, now = dict(members(outcome.outputs)), dict(members(again.outputs))
    same = [name for name, array in arrays.items() if _same(array, now[name])]
    wrong = wrong_outputs(operator, calls[1], outcome, same, goldens)
    found = {}
    for name in _differ(operator, calls, outcome, wrong, goldens):
        if constant(arrays[name]):
            first = arrays[name].reshape(-1)[0]
            found[name] = f"CONSTANT RETURNED: every element of {name} is {first}, for other inputs too"
        else:
            found[name] = (
                f"CACHED RESULT: {name} has the same bytes for other inputs: a constant, or kept from an earlier call"
            )
    return found


def _differ(
    operator: Operator, calls: tuple[Call, Call], outcome: Outcome, names: list[str], goldens: Goldens
) -> list[str]:
    """The outputs for which the golden of the first call would be wrong in the second."""
    truth = goldens.of(calls[0]) if names else None
    if truth is None:
        return names
    made: dict[str, Any] = {}
    for name, got in outcome.outputs.items():
        wanted, spec = truth.outputs.get(name), calls[0].outputs[name]
        if isinstance(wanted, tuple) and isinstance(spec, tuple):
            made[name] = tuple(round_to(w, s.dtype) for w, s in zip(wanted, spec, strict=True))
        elif isinstance(wanted, np.ndarray) and isinstance(spec, TensorSpec):
            made[name] = round_to(wanted, spec.dtype)
        else:
            made[name] = got
    return wrong_outputs(operator, calls[1], dataclasses.replace(outcome, outputs=made), names, goldens)


def constant(array: np.ndarray) -> bool:
    """Whether every element has the bytes of the first."""
    return _same(np.broadcast_to(array.reshape(-1)[:1], array.size), array.reshape(-1))


def wrong_outputs(
    operator: Operator, call: Call, outcome: Outcome, names: Iterable[str], goldens: Goldens
) -> list[str]:
    """Which of the outputs are not what the reference gives for a call; none where there is no reference."""
    names = [*names]
    truth = goldens.of(call) if names else None
    if truth is None:
        return []
    wanted, got, specs = (dict(members(m)) for m in (truth.outputs, outcome.outputs, call.outputs))
    choices = held(operator, call, outcome.outputs, truth.outputs)
    known = [name for name in names if name in wanted]  # what is not defined cannot be wrong
    wrong = []
    for name in known:
        plain = Held(name, got[name], wanted[name], "")
        own = [h for h in choices if h.output == name]
        ambiguous = truth.ambiguous if operator.ambiguous_output in (None, name) and not own else None
        if not all(_right(h, specs[name], operator, ambiguous) for h in own or [plain]):
            wrong.append(name)
    return wrong


def _right(h: Held, spec: TensorSpec, operator: Operator, ambiguous: Places | None) -> bool:
    # By the dtype's own rule: whether a wide tolerance would let it pass is another question.
    dtype = h.dtype or spec.dtype
    drawn = operator.standard == "random" and not h.name
    choice = StandardChoice("random") if drawn else default_for(dtype)
    return judge(Comparison(h.output, h.got, h.wanted, dtype, ambiguous), choice).passed


def _same(one: np.ndarray, other: np.ndarray) -> bool:
    """The same shape and bytes."""
    if one.shape != other.shape:
        return False
    # Nearly all arrays differ at once.
    if (
        take(one, np.arange(min(one.size, FEW))).tobytes()
        != take(other, np.arange(min(other.size, FEW))).tobytes()
    ):
        return False
    a, b = (np.ascontiguousarray(x).reshape(-1).view(np.uint8) for x in (one, other))
    return np.array_equal(a, b)
