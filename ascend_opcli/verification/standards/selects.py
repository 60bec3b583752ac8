"""The standard ``selects``: an output of places along an axis of an input; those of equal elements are as right."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ascend_opcli.errors import did_you_mean
from ascend_opcli.model import Attribute, Shape, StandardChoice, Tensor, TensorSpec
from ascend_opcli.operators.declare.choices import Places, settle, wide
from ascend_opcli.operators.signature import Signature
from ascend_opcli.verification.standards.named import SELECTS, needs_input

NAME = SELECTS


def places(choice: StandardChoice, output: str) -> Places:
    """The rule of an output by the words of the choice."""
    words = choice.numbers
    axis = words.get("axis", -1)
    return Places(
        output,
        values=str(words["values"]) if "values" in words else None,
        source=str(words["input"]),
        axis=axis if isinstance(axis, str) else int(axis),
        free=words.get("order") == "any",
        once=words.get("repeats") != "allowed",
    )


def fault(
    choice: StandardChoice,
    output: str,
    signature: Signature,
    arguments: Mapping[str, Any],
    outputs: Mapping[str, Any],
) -> str:
    """Why the words do not fit a call, in a sentence; empty where they do."""
    if choice.name != NAME:
        return ""
    words = choice.numbers
    needs_input(choice)
    given = {n: _spec(a) for n, a in arguments.items()}
    source, named = given.get(str(words["input"])), str(words["input"])
    inputs = [p.name for p in signature.inputs]
    if source is None or named not in inputs:
        known = f": the inputs are {', '.join(inputs)}"
        return f"'{named}' of standard '{NAME}' is no tensor that goes in{did_you_mean(named, inputs, otherwise=known)}"
    axis = words.get("axis", -1)
    if isinstance(axis, str):
        own = [p.name for p in signature.attributes]
        value = arguments.get(axis)
        if axis not in own or not isinstance(value, Attribute) or not isinstance(value.value, int):
            known = f": the attributes are {', '.join(own) or 'none'}"
            return f"'{axis}' of standard '{NAME}' is no whole attribute{did_you_mean(axis, own, otherwise=known)}"
        axis = value.value
    rank = max(len(source.shape), 1)
    if not -rank <= axis < rank:
        return f"axis {int(axis)} of standard '{NAME}' does not exist in {named}, which has {rank} axes"
    axis = int(axis) % rank
    specs = {n: _spec(a) for n, a in outputs.items()}
    values = words.get("values")
    if values is not None and (values not in specs or values == output):
        others = [p.name for p in signature.outputs if p.name != output]
        known = f": the outputs are {', '.join(others) or 'no others'}"
        return f"'{values}' of standard '{NAME}' is no other output{did_you_mean(str(values), others, otherwise=known)}"
    for name in (output, *([str(values)] if values is not None else [])):
        spec = specs.get(name)
        if spec is None or (not source.shape and spec.shape == (1,)):
            continue
        differ = _differ(name, spec.shape, named, source.shape, axis)
        if differ:
            return differ
    return ""


def _differ(name: str, own: Shape, named: str, source: Shape, axis: int) -> str:
    """That shapes differ in more than one axis, in a sentence; empty where they do not."""
    apart, left = (tuple(d for i, d in enumerate(shape) if i != axis) for shape in (source, own))
    if own == apart or (len(own) == len(source) and left == apart):
        return ""
    return f"standard '{NAME}': {name} {list(own)} and {named} {list(source)} differ in more than axis {axis}"


def _spec(argument: Any) -> TensorSpec | None:
    if isinstance(argument, Tensor):
        return argument.spec
    return argument if isinstance(argument, TensorSpec) else None


def settled(choice: StandardChoice, got: Any, golden: Any, inputs: Mapping[str, Any]) -> Any:
    """The golden of saved places, those of ``got`` where they are as right; ``inputs`` are the tensors by their names.

    Raises ValueError, in one sentence, where the words do not fit.
    """
    rule = places(choice, "")
    missing = [n for n in (rule.source, rule.values) if n is not None and n not in inputs]
    if missing:
        raise ValueError(f"the standard {NAME} needs the tensor '{missing[0]}', which is not given")
    if isinstance(rule.axis, str):
        raise ValueError(
            f"axis '{rule.axis}' of standard '{NAME}' must be a number here: there are no attributes"
        )
    source = wide(inputs[rule.source])
    rank = max(source.ndim, 1)
    if not -rank <= rule.axis < rank:
        raise ValueError(
            f"axis {rule.axis} of standard '{NAME}' does not exist in {rule.source}, which has {rank} axes"
        )
    values = inputs[rule.values] if rule.values is not None else None
    if got.shape != golden.shape:
        return golden
    shaped = source.reshape(-1) if not source.ndim else source
    differ = _differ("the places", got.shape or (1,), rule.source, shaped.shape, rule.axis % rank)
    if differ:
        raise ValueError(differ)
    try:
        return settle(
            shaped, rule.axis % rank, golden, got,
            values if rule.free else None, in_order=not rule.free, once=rule.once,
        )  # fmt: skip
    except (ValueError, IndexError) as error:
        raise ValueError(f"the standard {NAME} does not fit these tensors: {error}") from None
