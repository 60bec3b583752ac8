"""Outputs that nobody computed: an input handed back, a constant, what an earlier call gave.

Each is suspected by its bytes alone and named only where the reference says that these are not the right ones.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator

import numpy as np

from ascend_opcli.model import Call, Case, Outcome, StandardChoice, TensorSpec
from ascend_opcli.operators.choices import Held, held
from ascend_opcli.operators.evaluate import golden
from ascend_opcli.operators.fitting import ReferenceFailure
from ascend_opcli.operators.operator import Operator
from ascend_opcli.tensors.exchange import members, tensors
from ascend_opcli.tensors.hashing import array_digest
from ascend_opcli.tensors.layout import view
from ascend_opcli.verification.flat import take
from ascend_opcli.verification.judge import judge_output
from ascend_opcli.verification.standards import default_for

KEPT = 4096
"""Outputs of earlier calls whose hashes are remembered; the oldest go first."""

FEW = 16

LEAST_BYTES = 4
"""Smaller outputs are alike by chance."""


class Shortcuts:
    """Remembers what calls gave, by hash, to know it again."""

    def __init__(self) -> None:
        self._seen: OrderedDict[tuple[str, str, bytes], tuple[str, str]] = OrderedDict()

    def found(self, operator: Operator, case: Case, call: Call, outcome: Outcome) -> Iterator[str]:
        """Findings for outputs that are an input, or those of an earlier call on other inputs."""
        suspects: dict[str, str] = {}
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
            before = self._seen.get(key)
            if before is not None and before[1] != call.inputs_sha256 and name not in suspects:
                suspects[name] = (
                    f"CACHED RESULT: {name} is what {before[0]} gave for other inputs, byte for byte"
                )
            self._seen[key] = (case.id, call.inputs_sha256)
            self._seen.move_to_end(key)
        while len(self._seen) > KEPT:
            self._seen.popitem(last=False)
        wrong = wrong_outputs(operator, call, outcome, suspects)
        return (text for name, text in suspects.items() if name in wrong)


def unmoved(operator: Operator, other: Call, outcome: Outcome, again: Outcome) -> dict[str, str]:
    """By output, findings for those that stayed the same on the inputs of ``other``, where they are wrong there."""
    arrays, now = dict(members(outcome.outputs)), dict(members(again.outputs))
    same = [name for name, array in arrays.items() if _same(array, now[name])]
    found = {}
    for name in wrong_outputs(operator, other, outcome, same):
        if constant(arrays[name]):
            first = arrays[name].reshape(-1)[0]
            found[name] = f"CONSTANT RETURNED: every element of {name} is {first}, for other inputs too"
        else:
            found[name] = (
                f"CACHED RESULT: {name} has the same bytes for other inputs: a constant, or kept from an earlier call"
            )
    return found


def constant(array: np.ndarray) -> bool:
    """Whether every element has the bytes of the first."""
    return _same(np.broadcast_to(array.reshape(-1)[:1], array.size), array.reshape(-1))


def wrong_outputs(operator: Operator, call: Call, outcome: Outcome, names: Iterable[str]) -> list[str]:
    """Which of the outputs are not what the reference gives for a call; none where there is no reference."""
    names = [*names]
    if not names or operator.reference is None:
        return []
    try:
        truth = golden(operator, call)
    except ReferenceFailure:
        return []
    wanted, got, specs = (dict(members(m)) for m in (truth.outputs, outcome.outputs, call.outputs))
    choices = held(operator, call, outcome.outputs, truth.outputs)
    known = [name for name in names if name in wanted]  # what is not defined cannot be wrong
    wrong = []
    for name in known:
        plain = Held(name, got[name], wanted[name], "")
        own = [h for h in choices if h.output == name] or [plain]
        if not all(_right(h, specs[name], operator) for h in own):
            wrong.append(name)
    return wrong


def _right(h: Held, spec: TensorSpec, operator: Operator) -> bool:
    # By the dtype's own rule: whether a wide tolerance would let it pass is another question.
    dtype = h.dtype or spec.dtype
    drawn = operator.standard == "random" and not h.name
    choice = StandardChoice("random") if drawn else default_for(dtype)
    return judge_output(h.output, h.got, h.wanted, dtype=dtype, choice=choice).passed


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
