"""Ordinary calls of any operator of a family: a dtype that it takes, default data, sample attributes."""

from __future__ import annotations

from typing import Any

import numpy as np
from operator_calls import Case, Where

from ascend_opcli.model import Argument, Attribute, Call, Generator, TensorSpec
from ascend_opcli.operators.contract.rules import DtypeIn, OnProduct
from ascend_opcli.operators.families import arithmetic, comparisons, elementwise, fills, foreach
from ascend_opcli.operators.families.activations import forward, gated, gradients
from ascend_opcli.operators.families.losses import by_element as losses
from ascend_opcli.operators.families.losses import margins
from ascend_opcli.operators.operator import Operator
from ascend_opcli.reference.call import make_call
from ascend_opcli.reference.evaluate import golden, host_result
from ascend_opcli.tensors.layout import resolve, view

FAMILIES = {
    "elementwise": elementwise,
    "arithmetic": arithmetic,
    "comparisons": comparisons,
    "activations": forward,
    "gradients of activations": gradients,
    "gated activations": gated,
    "losses": losses,
    "margins": margins,
    "fills": fills,
    "foreach": foreach,
}
ALL = {op.name.removeprefix("aclnn"): op for family in FAMILIES.values() for op in family.OPERATORS}
PRODUCTS = ("atlas_a2", "ascend950", "atlas_a3", "atlas_training", "atlas_inference")


def product_of(operator: Operator) -> str:
    """A product that the documents list, else one that the kernel is registered for."""
    registered = [p for rule in operator.contract if isinstance(rule, OnProduct) for p in rule.products]
    return next((p for p in PRODUCTS if operator.supports(p)), (*registered, "atlas_a2")[0])


def accepted(operator: Operator, name: str) -> tuple[str, ...]:
    """The dtypes that the contract lists for a tensor, else those of an output that takes whole numbers alone."""
    lists = {
        n: rule.dtypes.get(product_of(operator), ())
        for rule in operator.contract
        if isinstance(rule, DtypeIn)
        for n in rule.names
    }
    outputs = [lists.get(p.name, ()) for p in operator.signature.outputs]
    whole = next((o for o in outputs if o and all(d.startswith(("int", "uint")) for d in o)), ())
    same = operator.elementwise and not any(p.name in lists for p in operator.signature.inputs)
    return lists.get(name, whole if same else ())


def ordinary_dtype(operator: Operator) -> str:
    """float32, or the first of int32 and the listed ones that the first tensor takes."""
    first = next((p.name for p in operator.signature.inputs), None)
    listed = accepted(operator, first) if first else ()
    return next(d for d in ("float32", "int32", *listed) if not listed or d in listed)


def spec_of(dtype: str, shape: tuple[int, ...], data: Any) -> TensorSpec:
    strides, offset, storage, word = resolve(shape)
    return TensorSpec(dtype, shape, data, strides, offset, storage, word)


def ordinary(
    operator: Operator,
    dtype: str | None = None,
    shape: tuple[int, ...] | None = None,
    *,
    members: int = 3,
    specials: tuple[float, ...] = (),
    **given: Any,
) -> dict[str, Argument]:
    """Every parameter; ``given`` are attributes or whole arguments by name. A list has that many members."""
    dtype = dtype or ordinary_dtype(operator)
    shape = operator.sample_shape if shape is None else shape
    made: dict[str, Argument] = {}
    form = operator.short_form(dtype, shape)
    for param in operator.signature.inputs:
        own = form[param.name]
        if own is None or param.name in given:
            made[param.name] = given.get(param.name)
            continue
        listed = accepted(operator, param.name)
        word = own[0] if not listed or own[0] in listed else next(iter(listed))
        data = operator.default_data(param.name, word)
        fits = len(specials) <= int(np.prod(own[1]))
        if specials and fits and word in ("float32", "float16", "bfloat16", "float64"):
            data = Generator("normal", (0.0, 1.0), specials)
        spec = spec_of(word, own[1], data)
        # Members of their own shapes, but where they meet in one output.
        step = 1 if any(p.is_list for p in operator.signature.outputs) else 0
        shapes = [(*own[1][:-1], own[1][-1] + i * step) if own[1] else () for i in range(members)]
        made[param.name] = tuple(spec_of(word, s, data) for s in shapes) if param.is_list else spec
    values = {**operator.defaults, **operator.sample_attributes, **given}
    for param in operator.signature.attributes:
        value = values.get(param.name)
        if param.type == "aclScalarList" and param.name not in given:
            value = tuple(1.5 + i for i in range(members))
        made[param.name] = value if isinstance(value, Attribute) or value is None else Attribute(value)
    for param in operator.signature.outputs:
        if param.name not in made:
            if param.is_list:
                made[param.name] = tuple(spec_of(*m, None) for m in operator.infer_members(param.name, made))
            else:
                made[param.name] = spec_of(*operator.infer_output(param.name, made), None)
    return {p.name: made[p.name] for p in operator.signature.params}


def call_of(operator: Operator, arguments: dict[str, Argument]) -> Call:
    case = Case("here", "here", operator.name, arguments, Where("here", 1, 1))
    return make_call(case, operator.signature, product_of(operator))


def both(operator: Operator, call: Call) -> tuple[dict[str, Any], dict[str, Any]]:
    """Golden and host result."""
    return dict(golden(operator, call).outputs), dict(host_result(operator, call))


def flat(outputs: Any) -> np.ndarray:
    """One output, or all members of a list, as one flat array."""
    parts = outputs if isinstance(outputs, tuple) else (outputs,)
    made = [np.asarray(p).reshape(-1) for p in parts]
    joined: np.ndarray = np.concatenate([m if m.dtype.kind == "c" else m.astype(np.float64) for m in made])
    return joined


def inputs(operator: Operator, call: Call) -> list[Any]:
    """What a reference takes, in the prototype's order: arrays, tuples of arrays and attribute values."""
    made: list[Any] = []
    for param in operator.signature.params:
        if param.is_tensor and not param.is_input:
            continue
        bound = call.arguments[param.name]
        if isinstance(bound, tuple):
            made.append(tuple(view(t) for t in bound))
        elif isinstance(bound, Attribute) or bound is None:
            value = bound.value if bound is not None else None
            # What an operator holds in float32.
            held = param.type in ("aclScalar", "double", "float") and isinstance(value, float)
            made.append(float(np.float32(value)) if held else value)
        else:
            made.append(view(bound))
    return made
