"""A reference takes no memory far beyond the tensors of its call."""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
import pytest
from operator_calls import arguments, call_of, tensor

from ascend_opcli.casefile.new.calls import Calls, product_for, specs
from ascend_opcli.model import Attribute, Call, Case, Where
from ascend_opcli.operators.arguments import Arguments
from ascend_opcli.operators.catalog import find, operators
from ascend_opcli.operators.families.losses import classes as class_losses
from ascend_opcli.operators.operator import Operator
from ascend_opcli.reference.call import make_call
from ascend_opcli.reference.evaluate import golden
from ascend_opcli.reference.fitting import ReferenceFailure


def peak(operator: Operator, call: Call) -> tuple[Any, int]:
    """The golden, and the bytes that were held at most while it was made."""
    tracemalloc.start()
    try:
        return golden(operator, call), tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def elements(made: Arguments) -> int:
    """How many elements the call's tensors have."""
    return sum(spec.count for spec in specs(made))


def test_many_labels_among_many_classes_are_worked_through_in_parts() -> None:
    count = 6000
    row = np.linspace(-1.0, 1.0, count, dtype=np.float32)
    operator = find("multilabel_margin_loss")
    call = call_of(
        operator,
        arguments(
            operator,
            self=tensor("float32", row),
            target=tensor("int64", [*range(0, count, 2), *[-1] * (count // 2)]),
            reduction=0,
        ),
    )
    made, most = peak(operator, call)
    assert most < 32 << 20, "all pairs at once are 72 MB"
    held = row.astype(np.float64)
    pairs = np.maximum(1 - held[0::2, None] + held[None, 1::2], 0)
    assert float(made.outputs["out"]) == pytest.approx(pairs.sum() / count, rel=1e-12)
    assert count * count // 4 > class_losses.PAIRS, "the call must not fit into one part"


def test_paddings_far_beyond_the_slopes_are_refused_before_they_are_made() -> None:
    for name in ("ReplicationPad1dBackward", "ReplicationPad2dBackward", "ReplicationPad3dBackward"):
        axes = int(name[14])
        operator = find(f"aclnn{name}")
        plane = np.zeros((1, *[2] * axes))
        made = arguments(
            operator,
            gradOutput=tensor("float32", plane),
            self=tensor("float32", plane),
            padding=Attribute((10**8, 0) * axes),
        )
        with pytest.raises(ReferenceFailure, match="slopes of shape"):
            golden(operator, call_of(operator, made))


LONG = 1 << 12


@pytest.mark.parametrize(
    "name", sorted(n for n, op in operators().items() if op.reference is not None and not op.elementwise)
)
def test_an_ordinary_call_made_large_takes_so_many_times_its_tensors(name: str) -> None:
    """Some goldens hold a few float64 and int64 arrays a tensor; a square of one of them would be far more."""
    operator = operators()[name]
    calls = Calls(operator, product_for(operator))
    dtype = calls.first_dtype
    if dtype is None:
        pytest.skip("no ordinary call")
    base = calls.base_shape
    for axis in range(len(base)):
        made = calls.make(dtype, tuple(LONG if i == axis else d for i, d in enumerate(base)))
        if not calls.taken(made):
            continue
        assert made is not None
        case = Case("here", "here", operator.name, made, Where("here", 1, 1))
        if elements(made) > 64 * LONG:
            continue
        try:
            _, most = peak(operator, make_call(case, operator.signature, calls.product))
        except (ReferenceFailure, ValueError):
            continue
        assert most <= 200 * elements(made) + (4 << 20), (axis, most / elements(made))
