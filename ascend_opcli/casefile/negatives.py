"""The cases that follow from an operator's contract: every refusal, and odd calls that must be accepted."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping

from ascend_opcli.model import (
    Argument,
    Attribute,
    Case,
    ExpectedStatus,
    Phase,
    TensorSpec,
    Where,
)
from ascend_opcli.operators.contract.changes import Variation
from ascend_opcli.operators.contract.phase_one import Refusal, predict, refusals
from ascend_opcli.operators.contract.rules import NO_KERNEL
from ascend_opcli.operators.operator import Operator
from ascend_opcli.operators.products import DEFAULT_PRODUCT

PATH = "<negatives>"


def negatives(operator: Operator, product: str = DEFAULT_PRODUCT) -> Iterator[Case]:
    """Cases named ``refused[...]`` and ``accepted[...]`` of one operator on one product.

    Nothing where the documents do not list the product, or where an ordinary call cannot be made.
    """
    base = ordinary_case(operator, product)
    if base is None:
        return
    prediction = predict(operator, base.arguments, product)
    if isinstance(prediction, Refusal) and prediction.status == NO_KERNEL:
        # No call is accepted on this product: that is the one refusal there is to try.
        refused = Variation(f"product={product}", {}, product)
        yield _vary(operator, base, refused, "refused", ExpectedStatus(prediction.status, Phase.ONE))
    if prediction is not None:
        return
    for variation, status in refusals(operator, base.arguments, product):
        yield _vary(operator, base, variation, "refused", ExpectedStatus(status, Phase.ONE))
    if operator.accepted_variations is not None:
        for variation in operator.accepted_variations(base.arguments):
            yield _vary(operator, base, variation, "accepted", ExpectedStatus(0))


def ordinary_case(operator: Operator, product: str) -> Case | None:
    """A small float32 call that the operator accepts, None where it needs attributes that nobody has given."""
    arguments: dict[str, Argument] = {}
    values = {**operator.defaults, **operator.sample_attributes}
    try:
        inputs = operator.short_form("float32", operator.sample_shape)
    except ValueError:
        return None
    for param in operator.signature.params:
        if param.is_tensor and param.is_input:
            made = inputs[param.name]
            if made is None:
                arguments[param.name] = None
                continue
            spec = operator.default_input(param.name, *made)
            arguments[param.name] = (spec,) if param.is_list else spec
        elif not param.is_tensor:
            if param.name not in values:
                return None
            arguments[param.name] = Attribute(values[param.name])
    for param in operator.signature.params:
        if param.is_tensor and not param.is_input:
            output = operator.default_output(param.name, arguments)
            arguments[param.name] = (output,) if param.is_list and output is not None else output
    ordered = {p.name: arguments[p.name] for p in operator.signature.params}
    return Case(PATH, "ordinary", operator.name, ordered, Where(PATH, 1, 1), product=product)


def _vary(operator: Operator, base: Case, variation: Variation, kind: str, status: ExpectedStatus) -> Case:
    # What a variation changes has no longer the size of what shared its memory.
    arguments: Mapping[str, Argument] = {
        name: dataclasses.replace(a, alias="") if isinstance(a, TensorSpec) else a
        for name, a in {**base.arguments, **variation.changes}.items()
    }
    return dataclasses.replace(
        base,
        name=f"{operator.short_name}.{kind}[{variation.label}]",
        arguments=arguments,
        product=variation.product or base.product,
        status=status,
    )
