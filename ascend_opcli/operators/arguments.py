"""The arguments of a call as rules read them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ascend_opcli.model import Argument, Attribute, Shape, TensorSpec
from ascend_opcli.tensors.dtypes import round_to

Arguments = Mapping[str, Argument]


def first_spec(argument: Argument) -> TensorSpec | None:
    """The tensor, or the first of a list; None for anything else."""
    if isinstance(argument, tuple):
        return argument[0] if argument else None
    return argument if isinstance(argument, TensorSpec) else None


def broadcast_shape(*shapes: Shape) -> Shape | None:
    """NumPy's broadcast of shapes of any rank, or None where they do not fit."""
    rank = max((len(s) for s in shapes), default=0)
    out: list[int] = []
    for axis in range(-rank, 0):
        dims = {s[axis] for s in shapes if len(s) >= -axis} - {1}
        if len(dims) > 1:
            return None
        out.append(dims.pop() if dims else 1)
    return tuple(out)


def attribute_value(arguments: Arguments, name: str) -> Any:
    """The plain value of an attribute, None for null."""
    argument = arguments[name]
    return argument.value if isinstance(argument, Attribute) else None


def tensor(arguments: Arguments, name: str) -> TensorSpec | None:
    """The tensor called ``name``, None for null."""
    return first_spec(arguments.get(name))


def scalar_dtype(argument: Argument) -> str | None:
    """The dtype of an aclScalar: as written, else what torch_npu makes of such a Python value."""
    if not isinstance(argument, Attribute):
        return None
    if argument.dtype is not None:
        return argument.dtype
    value = argument.value
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, int):
        return "int64"
    return "complex128" if isinstance(value, complex) else "float64"


def scalar_value(arguments: Arguments, name: str) -> Any:
    """The value that an aclScalar holds: rounded to its own dtype where one was written; None for null."""
    argument = arguments[name]
    if not isinstance(argument, Attribute) or isinstance(argument.value, (str, tuple)):
        return None
    if argument.dtype is None:
        return argument.value
    return round_to(np.asarray([argument.value]), argument.dtype)[0].item()
