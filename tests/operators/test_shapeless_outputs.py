"""Outputs whose shape does not follow from the attributes: that is said, not what another tensor's dtype breaks."""

from __future__ import annotations

from typing import Any

import pytest
from operator_calls import arguments, tensor

from ascend_opcli.backends.host import refuse
from ascend_opcli.casefile.new.calls import Calls, product_for
from ascend_opcli.casefile.open import load_text
from ascend_opcli.model import Attribute, Case, Outcome, Where
from ascend_opcli.operators.catalog import find, operators
from ascend_opcli.operators.operator import Operator
from ascend_opcli.verification.standards.choice import check_for

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
    assert said.message.startswith("dim is 5")


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


ACCEPTED = """
  - {op: nonzero, inputs: {self: {dtype: float32, shape: [5]}}}
  - {op: histc, inputs: {self: {dtype: float32, shape: [3, 3]}}, attrs: {bins: 4, min: 0.0, max: 1.0}}
  - {op: multinomial, inputs: {self: {dtype: float32, shape: [60]}},
     attrs: {numsamples: 5, replacement: false, seed: 0, offset: 0}}
  - {op: sign_bits_pack, inputs: {self: {dtype: float16, shape: [16]}}, attrs: {size: 2}}
  - {op: masked_select, inputs: {self: {dtype: float32, shape: [0, 2]}, mask: {dtype: bool, shape: [0, 2]}}}
  - {op: split_with_size, inputs: {self: {dtype: float32, shape: [20, 4]}}, attrs: {splitSize: [10, 10], dim: 0}}
"""
"""Calls that public unit tests of CANN expect to be accepted, with outputs of their own."""


def test_an_operator_without_a_reference_is_not_refused_for_an_output_that_was_guessed() -> None:
    cases = load_text(f"cases:{ACCEPTED}", "cases.yaml", check_standard=check_for).cases
    for case in cases:
        made = refuse(find(case.operator), case, "atlas_a2")
        assert made is None or made.skip, f"{case.operator}: {made}"


@pytest.mark.parametrize(
    ("name", "dtype"),
    [("nonzero", "int64"), ("is_in_tensor_scalar", "bool"), ("abs", "float32")],
)
def test_a_guessed_output_has_a_dtype_that_the_document_lists(name: str, dtype: str) -> None:
    operator = find(name)
    made = {p.name: tensor("float32", [1.0]) for p in operator.signature.inputs if p.is_tensor}
    assert operator.infer_output("out", made)[0] == dtype


def test_an_output_that_the_case_gives_is_judged() -> None:
    text = (
        "op: nonzero\ncases: [{inputs: {self: [1.0, 0.0]}, outputs: {out: {dtype: float32, shape: [1, 1]}}}]"
    )
    (case,) = load_text(text, "cases.yaml", check_standard=check_for).cases
    made = refuse(find("nonzero"), case, "atlas_a2")
    assert made is not None
    assert made.status == 161002
    assert made.message.startswith("out is float32")
