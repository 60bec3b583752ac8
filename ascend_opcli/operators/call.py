"""Making a case concrete: data generated, layouts laid out, the inputs hashed."""

from __future__ import annotations

from ascend_opcli.model import Attribute, Bound, Call, Case, TensorSpec
from ascend_opcli.operators.signature import Signature
from ascend_opcli.tensors.data import make_tensor
from ascend_opcli.tensors.hashing import inputs_sha256


def make_call(case: Case, signature: Signature, product: str) -> Call:
    """The call that a case describes. Its arrays depend on the seed, parameter names, shapes and data alone."""
    arguments: dict[str, Bound] = {}
    outputs: dict[str, TensorSpec | tuple[TensorSpec, ...] | None] = {}
    for param in signature.params:
        argument = case.arguments[param.name]
        if param.is_tensor and param.is_output:
            outputs[param.name] = argument if not isinstance(argument, Attribute) else None
        if not (param.is_tensor and not param.is_input):
            arguments[param.name] = _bind(param.name, argument, case.seed)
    return Call(case.operator, product, arguments, outputs, inputs_sha256(arguments))


def _bind(name: str, argument: TensorSpec | tuple[TensorSpec, ...] | Attribute | None, seed: int) -> Bound:
    if isinstance(argument, TensorSpec):
        return make_tensor(name, argument, seed)
    if isinstance(argument, tuple):
        return tuple(make_tensor(f"{name}[{i}]", spec, seed) for i, spec in enumerate(argument))
    return argument
