"""A call that a file describes by kernel, or by attributes with names, as a call of the aclnn entry.

Generated aclnn entries have exactly their kernel's parameters, and some written by hand do: such a call can be
made. Where a count, a name or a kind differs, the entry does something else before it launches the kernel.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ascend_opcli.casefile.files.positions import (
    ARRAY,
    TENSOR,
    TENSORS,
    VALUE,
    GivenArgument,
    NotDefined,
    bare,
    fits,
)
from ascend_opcli.casefile.tree import clip
from ascend_opcli.operators.operator import Operator
from ascend_opcli.operators.signature import Param

Tensor = dict[str, Any] | list[dict[str, Any]] | None
"""One tensor in opcli's grammar, a list of them, or the null pointer."""


def entry(kernel: str) -> str:
    """``elu_grad`` or ``EluGrad`` -> ``aclnnEluGrad``."""
    return "aclnn" + "".join(word[:1].upper() + word[1:] for word in clip(kernel, 100).split("_"))


def same_parameters(
    operator: Operator,
    inputs: Sequence[Tensor],
    outputs: Sequence[Tensor],
    attributes: Mapping[str, Any],
    *,
    written_into: Sequence[int | None] = (),
) -> dict[str, GivenArgument]:
    """Parameter -> argument, where the entry takes just these. ``written_into`` are inputs that outputs overwrite.

    Raises NotDefined with what differs.
    """
    signature = operator.signature
    _count("input", len(inputs), [p for p in signature.params if p.is_tensor and p.is_input], operator)
    pure = [out for i, out in enumerate(outputs) if i >= len(written_into) or written_into[i] is None]
    over = [p.name for p in signature.outputs if p.is_input]
    if outputs and len(pure) == len(outputs) and over:
        raise NotDefined(
            f"{operator.name} overwrites {', '.join(over)}, the kernel writes an output of its own"
        )
    written = [p for p in signature.outputs if not p.is_input]
    if outputs:
        _count("output", len(pure), written, operator)
    placed = {p.name: tensor(p, value) for p, value in zip(signature.inputs, inputs, strict=True)}
    if outputs:
        placed |= {p.name: tensor(p, value) for p, value in zip(written, pure, strict=True)}
    return placed | by_name(operator, attributes)


def tensor(param: Param, value: Tensor) -> GivenArgument:
    """A tensor argument; a list of one stands for itself where a list is taken."""
    if param.is_list and isinstance(value, dict):
        value = [value]
    given = GivenArgument("", TENSORS if isinstance(value, list) else TENSOR, value)
    if not fits(param, given):
        raise NotDefined(f"a list of tensors stands where {param.name} is one")
    return given


def _count(what: str, got: int, params: Sequence[Param], operator: Operator) -> None:
    if got != len(params):
        many = "" if len(params) == 1 else "s"
        raise NotDefined(f"{operator.name} has {len(params)} {what}{many}, the kernel {got}")


def by_name(
    operator: Operator,
    attributes: Mapping[str, Any],
    *,
    only: Sequence[str] | None = None,
    defaults: bool = False,
) -> dict[str, GivenArgument]:
    """Every attribute by its name, ``keep_dims`` for ``keepDims`` too; ``only`` those of these names.

    ``defaults`` lets those of the operator stand. Raises NotDefined for a name that is no parameter, a
    parameter without a value, or another kind.
    """
    params = [p for p in operator.signature.attributes if only is None or p.name in only]
    known = {bare(p.name): p for p in params}
    placed: dict[str, GivenArgument] = {}
    for name, value in attributes.items():
        param = known.get(bare(str(name)))
        if param is None:
            raise NotDefined(f"{operator.name} has no attribute {clip(str(name))}")
        placed[param.name] = attribute(param, value)
    for param in params:
        if param.name not in placed and not (defaults and param.name in operator.defaults):
            raise NotDefined(f"{param.name} of {operator.name} has no value")
    return placed


def attribute(param: Param, value: Any) -> GivenArgument:
    """A value of the parameter's kind; whole numbers are numbers of a double, and 0 and 1 booleans."""
    if isinstance(value, (list, tuple)):
        made = GivenArgument("", ARRAY, list(value))
        if param.type == "aclFloatArray":
            made = GivenArgument("", ARRAY, [float(v) if isinstance(v, int) else v for v in value])
    elif param.type == "bool" and value in (0, 1):
        made = GivenArgument("", VALUE, bool(value))
    elif param.type in ("double", "float") and isinstance(value, int):
        made = GivenArgument("", VALUE, float(value))
    else:
        made = GivenArgument("", VALUE, value)
    if value is None or not fits(param, made):
        raise NotDefined(f"{clip(str(value))} is no value of {param.name}, {param.c_type.strip(' *')}")
    return made
