"""Making a case concrete: data generated, layouts laid out, the inputs hashed."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from ascend_opcli.model import Argument, Attribute, BoundArgument, Call, Case, Derived, Tensor, TensorSpec
from ascend_opcli.operators.operator import Operator
from ascend_opcli.operators.signature import Param, Signature
from ascend_opcli.reference.derived import bind, order
from ascend_opcli.reference.evaluate import result_shapes
from ascend_opcli.reference.heard import heard
from ascend_opcli.tensors import layout
from ascend_opcli.tensors.data import make_tensor
from ascend_opcli.tensors.hashing import inputs_sha256


@heard
def make_call(case: Case, signature: Signature, product: str) -> Call:
    """The call that a case describes. Its arrays depend on the seed, parameter names, shapes and data alone.

    Raises DataFailure where derived data cannot be made.
    """
    arguments: dict[str, BoundArgument] = {}
    later = order(case.arguments, signature)
    outputs: dict[str, TensorSpec | tuple[TensorSpec, ...] | None] = {}
    for param in signature.params:
        argument = case.arguments[param.name]
        if param.is_tensor and param.is_output:
            outputs[param.name] = argument if not isinstance(argument, Attribute) else None
        if not (param.is_tensor and not param.is_input):
            arguments[param.name] = (
                _bind(param.name, argument, case.seed) if param.name not in later else None
            )
    arguments = with_derived(case, arguments, signature)
    return Call(case.operator, product, arguments, outputs, inputs_sha256(arguments))


def with_derived(
    case: Case, bound: Mapping[str, BoundArgument], signature: Signature
) -> dict[str, BoundArgument]:
    """The arguments, those with derived data made anew of the others. Raises DataFailure."""
    arguments = dict(bound)
    for name in order(case.arguments, signature):
        arguments[name] = _derive(name, case.arguments[name], case.seed, arguments, signature)
    return arguments


def _derive(
    name: str, argument: Argument, seed: int, bound: Mapping[str, BoundArgument], signature: Signature
) -> BoundArgument:
    """A tensor, or a list of which one member at least, whose data come of other parameters."""

    def one(own: str, spec: TensorSpec) -> Tensor:
        if isinstance(spec.data, Derived):
            return bind(own, spec, seed, bound, signature)
        return make_tensor(own, spec, seed)

    if isinstance(argument, tuple):
        return tuple(one(f"{name}[{i}]", spec) for i, spec in enumerate(argument))
    assert isinstance(argument, TensorSpec)
    return one(name, argument)


def _bind(
    name: str, argument: TensorSpec | tuple[TensorSpec, ...] | Attribute | None, seed: int
) -> BoundArgument:
    if isinstance(argument, TensorSpec):
        return make_tensor(name, argument, seed)
    if isinstance(argument, tuple):
        return tuple(make_tensor(f"{name}[{i}]", spec, seed) for i, spec in enumerate(argument))
    return argument


def aliases_last(signature: Signature, call: Call) -> list[Param]:
    """The tensors of the signature, outputs that share an input's memory behind the rest."""

    def shares(param: Param) -> bool:
        spec = call.outputs.get(param.name)
        return isinstance(spec, TensorSpec) and bool(spec.alias)

    return sorted((p for p in signature.params if p.is_tensor), key=shares)


def with_result_shapes(case: Case, call: Call, operator: Operator) -> tuple[Case, Call]:
    """Case and call whose open outputs have the shape of the reference's result; see ``Case.open_outputs``."""
    if not case.open_outputs or operator.reference is None:
        return case, call
    shapes = result_shapes(operator, call)
    outputs = dict(call.outputs)
    for name in case.open_outputs:
        spec = outputs[name]
        if isinstance(spec, TensorSpec):
            outputs[name] = _reshaped(spec, shapes[name])
        elif spec:
            members = shapes[name]
            outputs[name] = tuple(
                _reshaped(spec[min(i, len(spec) - 1)], shape) for i, shape in enumerate(members)
            )
    arguments = {name: outputs.get(name, argument) for name, argument in case.arguments.items()}
    return dataclasses.replace(case, arguments=arguments), dataclasses.replace(call, outputs=outputs)


def _reshaped(spec: TensorSpec, shape: Any) -> TensorSpec:
    strides, offset, storage, word = layout.resolve(shape)
    return dataclasses.replace(
        spec, shape=tuple(shape), strides=strides, offset=offset, storage_shape=storage, layout=word
    )
