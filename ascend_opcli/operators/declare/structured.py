"""How an operator whose output has a shape of its own is declared: a function, a text and a rule of inference.

The function takes the inputs and attributes in the order of the C prototype, as a row of
:mod:`ascend_opcli.operators.declare.rows` does, and the rule takes the same with a tensor's dtype and shape in
place of its array; it gives (dtype, shape) of every output in order. Nothing is promoted then: what meets, and how,
is the function's own matter.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ascend_opcli.model import Attribute, Shape
from ascend_opcli.operators.arguments import Arguments
from ascend_opcli.operators.declare.rows import SAME, build, row, taken
from ascend_opcli.operators.documents import catalogued
from ascend_opcli.operators.operator import Operator, OutputRule, Reference, TensorRule, Undefined
from ascend_opcli.operators.signature import Signature

Made = tuple[str, Shape]
Infer = Callable[..., Any]
"""(dtype, shape) of the only output, or a list of one for each output."""


def declare(
    name: str, function: Callable[..., Any], text: str, infer: Infer | str | None = SAME, **changes: Any
) -> Operator:
    """``aclnnName`` by a function of its inputs and attributes; ``changes`` set any field of the operator.

    ``infer`` gives the outputs' dtype and shape; None for an operator that writes into its inputs only. Promoted
    operands are asked for by the result that they give, SAME, FLOAT or BOOL: then ``changes`` are those of a row too.
    """
    if isinstance(infer, str):
        return build(f"aclnn{name}", row(function, text, infer, **changes))
    signature = catalogued.entry(f"aclnn{name}").signature
    params = taken(signature)
    given = list(inspect.signature(function).parameters.values())
    defaults = {
        param.name: own.default
        for param, own in zip(params, given, strict=False)
        if own.default is not own.empty and not param.is_tensor
    }
    return catalogued.with_reference(
        f"aclnn{name}",
        _reference(signature, function),
        **{
            "summary": text,
            "defaults": defaults,
            "outputs": _outputs(signature, infer) if infer is not None else {},
            "attribute_dtypes": {p.name: "float32" for p in signature.attributes if p.type == "double"},
            **changes,
            "short": {n: _or_refuse(rule) for n, rule in changes.get("short", {}).items()},
        },
    )


def _or_refuse(rule: TensorRule) -> TensorRule:
    """A rule that names an axis which a shape has not is refused as one of the operator's own words is."""

    def checked(dtype: str, shape: Shape) -> Made | None:
        try:
            return rule(dtype, shape)
        except IndexError:
            raise ValueError(f"shape {list(shape)} has too few axes") from None

    return checked


def _reference(signature: Signature, function: Callable[..., Any]) -> Reference:
    names = [p.name for p in taken(signature)]
    told = [n for n in ("dtypes", "call", "run_dtype") if n in inspect.signature(function).parameters]
    outputs = signature.outputs

    def reference(**values: Any) -> Any:
        more = {n: values[n] for n in told}
        try:
            made = function(*(values[n] for n in names), **more)
        except IndexError as error:  # the kernel would read or write what is not the tensor's
            raise Undefined(str(error)) from error
        if not isinstance(made, tuple):
            return made
        # An optional output that is the null pointer is not asked for.
        asked = values["call"].outputs
        return tuple(m for m, p in zip(made, outputs, strict=True) if asked.get(p.name) is not None)

    return reference


@dataclass(frozen=True, slots=True)
class _Inferred:
    """The rule of the output at ``place``."""

    infer: Infer
    names: tuple[str, ...]
    place: int

    def __call__(self, arguments: Arguments) -> Made | None:
        try:
            return self._made(arguments)
        # A call that fits no rule: the contract or the kernel says so, not the inference.
        except _NO_FIT:
            return None

    def why(self, arguments: Arguments) -> str:
        """Why the arguments give no shape, in a few words; empty where nothing is known of it."""
        try:
            self._made(arguments)
        except (ValueError, Undefined) as error:
            return str(error)
        except _NO_FIT:
            pass
        return ""

    def _made(self, arguments: Arguments) -> Made:
        made = self.infer(*(_plain(arguments.get(name)) for name in self.names))
        dtype, shape = made[self.place] if isinstance(made, list) else made
        return str(dtype), tuple(int(d) for d in shape)


_NO_FIT = (AttributeError, LookupError, TypeError, ValueError, OverflowError, ZeroDivisionError, Undefined)


def _outputs(signature: Signature, infer: Infer) -> dict[str, OutputRule]:
    names = tuple(p.name for p in taken(signature))
    written = [p.name for p in signature.outputs if not p.is_input]
    return {name: _Inferred(infer, names, i) for i, name in enumerate(written)}


def _plain(argument: Any) -> Any:
    return argument.value if isinstance(argument, Attribute) else argument


# --- axes -----------------------------------------------------------------------------------------------------


def ints(value: Any) -> tuple[int, ...]:
    """An aclIntArray, or one number, as integers; nothing for the null pointer."""
    if value is None:
        return ()
    return tuple(int(v) for v in value) if isinstance(value, Iterable) else (int(value),)


def axis_of(dim: Any, rank: int) -> int:
    """An axis from the front. Raises ValueError where there is none."""
    place, rank = int(dim), max(rank, 1)
    if not -rank <= place < rank:
        raise Undefined(f"axis {place} does not exist in rank {rank}")
    return place % rank


def axes_of(dims: Any, rank: int) -> tuple[int, ...]:
    """Axes from the front, all of them where none is named."""
    made = tuple(axis_of(d, rank) for d in ints(dims)) or tuple(range(max(rank, 1)))
    if len(set(made)) != len(made):
        raise Undefined("an axis is named twice")
    return made


def lanes(values: Any, axes: tuple[int, ...]) -> Any:
    """The axes flattened into a last, contiguous one, so that NumPy sums over it in pairs."""
    kept = [i for i in range(values.ndim) if i not in axes]
    moved = np.transpose(values, (*kept, *axes))
    count = int(np.prod([values.shape[a] for a in axes], dtype=np.int64))
    return np.ascontiguousarray(moved).reshape(*(values.shape[k] for k in kept), count)


def reduced_shape(shape: Shape, dims: Any, keep: Any) -> Shape:
    """A shape without the axes, or with 1 in their place."""
    axes = axes_of(dims, len(shape))
    if keep:
        return tuple(1 if i in axes else d for i, d in enumerate(shape))
    return tuple(d for i, d in enumerate(shape) if i not in axes)
