"""Outputs whose shape does not follow from the attributes: that is said, not what another tensor's dtype breaks."""

from __future__ import annotations

from typing import Any

import pytest
from operator_calls import arguments, tensor

from ascend_opcli.backends.host import refuse
from ascend_opcli.casefile.new.calls import Calls, product_for
from ascend_opcli.model import Attribute, Case, Outcome, Where
from ascend_opcli.operators.catalog import find, operators
from ascend_opcli.operators.operator import Operator

PLANE = tensor("float32", [[[[1.0, 2.0], [3.0, 4.0]]]])
TABLE = tensor("float32", [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
POOL: dict[str, Any] = {
    "kernelSize": (2, 2),
    "stride": (2, 2),
    "padding": (0, 0),
    "dilation": (1, 1),
    "ceilMode": False,
}
TOP: dict[str, Any] = {"self": TABLE, "k": 1, "dim": 1, "largest": True, "sorted": True}


def told(operator: Operator, product: str, made: Any) -> Outcome | None:
    return refuse(operator, Case("here", "here", operator.name, made, Where("here", 1, 1)), product)


def outcome(name: str, **given: Any) -> Outcome | None:
    operator = find(name)
    given = {n: Attribute(v) if isinstance(v, tuple) else v for n, v in given.items()}
    return told(operator, "atlas_a2", arguments(operator, **given))


@pytest.mark.parametrize(
    ("name", "given", "why"),
    [
        ("topk", {**TOP, "dim": 5}, "axis 5 does not exist in rank 2"),
        ("topk", {**TOP, "k": -1}, "it would be [2, -1]"),
        ("max_pool2d_with_indices", {"self": PLANE, **POOL, "stride": (0, 0)}, "a stride of 0"),
    ],
)
def test_it_says_what_is_wrong_with_the_attributes(name: str, given: dict[str, Any], why: str) -> None:
    made = outcome(name, **given)
    assert made is not None
    assert not made.status
    assert "does not follow from the inputs and attributes" in made.skip
    assert why in made.skip


def test_a_refusal_of_something_else_or_of_a_given_output_stays() -> None:
    wrong = outcome("topk", **{**TOP, "self": tensor("bool", [[True, False]]), "dim": 5})
    assert wrong is not None
    assert wrong.message.startswith("self is bool")
    given = outcome("topk", **TOP, indicesOut=tensor("float32", shape=(2, 1)))
    assert given is not None
    assert given.message.startswith("indicesOut is float32")
    said = outcome("topk", **{**TOP, "dim": 5}, indicesOut=tensor("int8", shape=(2, 1)))
    assert said is not None
    assert said.message.startswith("indicesOut is int8")


@pytest.mark.parametrize(
    ("name", "given", "why"),
    [
        (
            "max_pool2d_with_indices",
            {"self": PLANE, **POOL, "kernelSize": (2, 2, 2)},
            "length of kernelSize is 3",
        ),
        ("max_pool2d_with_indices", {"self": PLANE, **POOL, "kernelSize": ()}, "length of kernelSize is 0"),
        ("repeat_interleave_int", {"self": TABLE, "repeats": -2, "outputSize": 4}, "repeats is -2"),
    ],
)
def test_an_attribute_that_the_source_refuses_is_named_before_the_output(
    name: str, given: dict[str, Any], why: str
) -> None:
    made = outcome(name, **given)
    assert made is not None
    assert made.status == 161002
    assert why in made.message


ODD: dict[type, Any] = {int: -77, tuple: ()}


@pytest.mark.parametrize("name", sorted(n for n, op in operators().items() if op.outputs and op.generic))
def test_no_operator_is_refused_for_an_output_that_nobody_gave(name: str) -> None:
    """Whatever one number or list of the attributes is, an output that is inferred is not blamed."""
    operator = operators()[name]
    calls = Calls(operator, product_for(operator))
    dtype = calls.first_dtype
    if dtype is None:
        pytest.skip("no ordinary call")
    outputs = [p.name for p in operator.signature.outputs if not p.is_input]
    for param in operator.signature.attributes:
        odd = ODD.get(type(calls.value(param)))
        if odd is None:
            continue
        made = calls.make(dtype, calls.base_shape, {param.name: odd})
        assert made is not None
        if all(operator.not_inferred(n, made) is None for n in outputs):
            continue  # it has a shape, and the operator may refuse that
        made_of = told(operator, calls.product, made)
        blamed = made_of.message if made_of is not None else ""
        assert not blamed.startswith(tuple(f"{n} is " for n in outputs)), f"{param.name}: {blamed}"
        assert not blamed.startswith(tuple(f"{n} has rank" for n in outputs)), f"{param.name}: {blamed}"
