"""Operators over tensor lists, each made of the operator on one tensor."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from ascend_opcli.model import Shape
from ascend_opcli.operators.declare import (
    FLOAT,
    Arguments,
    Operator,
    OutputRule,
    Reference,
    Row,
    TensorRule,
    broadcast_shape,
    build,
    fill,
    fixed,
    like,
    promote,
    reference_of,
    row,
    signature_of,
    taken,
)
from ascend_opcli.operators.documents import catalogued
from ascend_opcli.operators.families import arithmetic, elementwise
from ascend_opcli.operators.families.activations import forward as activations
from ascend_opcli.operators.signature import Param, Signature

_MODES: Mapping[int, Callable[[Any], Any]] = {
    1: np.rint,
    2: np.floor,
    3: np.ceil,
    4: lambda x: np.copysign(np.floor(np.abs(x) + 0.5), x),
    5: np.trunc,
    6: lambda x: np.where(np.abs(x - np.trunc(x)) == 0.5, 2 * np.floor(x / 2) + 1, np.rint(x)),
}


def _round_off(x: Any, mode: Any) -> Any:
    """Any other mode leaves values alone where nothing is lost, and floats lose nothing here."""
    chosen = _MODES.get(int(np.asarray(mode).reshape(-1)[0]))
    return x if chosen is None or x.dtype.kind in "biu" else chosen(x).astype(x.dtype)


_B = arithmetic.BINARY

# The part of a name between Foreach and List, Scalar, ScalarV2 or ScalarList.
BINARY: Mapping[str, Row] = {
    "Add": dataclasses.replace(_B["Add"], text="out = x1 + alpha x2, or x + scalar, tensor by tensor"),
    "Sub": dataclasses.replace(_B["Sub"], text="out = x1 - alpha x2, or x - scalar, tensor by tensor"),
    "Mul": dataclasses.replace(_B["Mul"], text="out = x1 x2, or x scalar, tensor by tensor"),
    "Div": dataclasses.replace(_B["Div"], text="out = x1 / x2, or x / scalar, tensor by tensor"),
    "Pow": dataclasses.replace(_B["PowTensorTensor"], text="out = x1^x2, or x^scalar, tensor by tensor"),
    "Maximum": dataclasses.replace(_B["Maximum"], text="out = the larger of x1 and x2, or of x and scalar"),
    "Minimum": dataclasses.replace(_B["Minimum"], text="out = the smaller of x1 and x2, or of x and scalar"),
    "Lerp": row(
        arithmetic.foreach_lerp,
        "out = x1 + weight (x2 - x1), x2 + (weight - 1) (x2 - x1) where |weight| >= 0.5, tensor by tensor",
    ),
    "Addcmul": row(lambda a, b, c, value=1: a + value * b * c, "out = x1 + scalar x2 x3, tensor by tensor"),
    "Addcdiv": row(
        lambda a, b, c, value=1: a + value * (b / c),
        "out = x1 + scalar x2 / x3, tensor by tensor",
        FLOAT,
        data=(None, None, (1.0, 10.0)),
    ),
    "RoundOffNumber": row(
        _round_off, "out = x rounded: 1 to even, 2 down, 3 up, 4 half away, 5 to 0, 6 to odd"
    ),
}
_FORMS = ("List", "ListV2", "Scalar", "ScalarV2", "ScalarList", "", "V2")
_SPELLED = {"Acos": "ACos"}


def rows() -> Iterator[tuple[str, Row]]:
    """Every documented foreach operator that follows from an operator on one tensor."""
    there = set(catalogued.names().values())
    single = {
        **elementwise.UNARY,
        "Sigmoid": activations.FORWARD["Sigmoid"],
        "Copy": row(lambda x: x, "out = x"),
    }
    bases = list(single.items())
    bases += [(name + form, one) for name, one in BINARY.items() for form in _FORMS]
    bases.append(("PowScalarAndTensor", dataclasses.replace(_B["PowScalarTensor"], joining=())))
    bases.append(("Zero", row(np.zeros_like, "x = 0, tensor by tensor")))
    for base, one in bases:
        for name in (f"aclnnForeach{base}", f"aclnnForeach{base}Inplace"):
            if name in there:
                yield name, one
        odd = f"aclnnForeach{_SPELLED.get(base, '?')}Inplace"
        if odd in there:
            yield odd, one


def over_lists(signature: Signature, one: Row) -> Reference:
    """The reference of a list operator: that of one tensor, applied to each member with its own scalar."""
    params = taken(signature)
    alone = reference_of(signature, one)
    unknown = dict.fromkeys(p.name for p in params)

    def reference(**values: Any) -> Any:
        count = len(next(values[p.name] for p in params if p.is_list))
        return [
            alone(**{p.name: _member(p, values[p.name], i) for p in params}, dtypes=unknown)
            for i in range(count)
        ]

    reference.__doc__ = one.text
    return reference


def _member(param: Param, value: Any, place: int) -> Any:
    """A list's member; of scalars the member's own, which joins the member's dtype without widening it."""
    if value is None or param.is_list or param.type == "aclScalarList":
        return value[place] if value is not None else None
    if not param.is_tensor:
        return value
    return value.reshape(-1)[place if param.name == "scalars" and value.size > 1 else 0]


def _scalar_tensor(dtype: str, _shape: Shape) -> tuple[str, Shape]:
    """One element; the scalar of bfloat16 tensors is float32."""
    return "float32" if dtype == "bfloat16" else dtype, (1,)


_MODE = ("roundMode", fixed("int8", 1), fill(1))


def _operator(name: str, one: Row) -> Operator:
    signature = signature_of(name)
    short: dict[str, TensorRule] = {p.name: _scalar_tensor for p in signature.inputs if not p.is_list}
    if _MODE[0] in short:
        short[_MODE[0]] = _MODE[1]
    first = next(p.name for p in signature.inputs if p.is_list)
    one = dataclasses.replace(
        one, joining=(), elementwise=False, changes={**one.changes, "divergences": (), "short": short}
    )
    made = build(name, one)
    outputs: dict[str, OutputRule] = {p.name: like(first) for p in signature.outputs if not p.is_input}
    data = {**made.data, _MODE[0]: _MODE[2]} if _MODE[0] in short else made.data
    return dataclasses.replace(
        made, reference=over_lists(signature, one), outputs=outputs, data=data, **_scalars(signature, made)
    )


def _scalars(signature: Signature, made: Operator) -> dict[str, Any]:
    """A whole default is a float beside float tensors; a rounding mode stays whole."""
    kinds = {p.name: p.type for p in signature.attributes}
    floats = {n: float(v) for n, v in made.defaults.items() if kinds.get(n) == "aclScalar"}  # type: ignore[arg-type]
    modes = {_MODE[0]: 1} if kinds.get(_MODE[0]) == "aclScalar" else {}
    return {
        "defaults": {**made.defaults, **floats},
        "sample_attributes": {**made.sample_attributes, **modes},
    }


# --- lists in, one tensor out; and the check before an optimiser's step ---------------------------------------


def _over_all(function: Callable[[Any, Any], Any]) -> Callable[[Any], Any]:
    def folded(tensors: Any) -> Any:
        made = tensors[0]
        for other in tensors[1:]:
            made = function(made, other)
        return made

    return folded


def _unscale(scaledGrads: Any, foundInf: Any, invScale: Any) -> Any:
    """scaledGrads = scaledGrads invScale; foundInf = 1 if any of them is not finite, else as it was."""
    found = not all(bool(np.isfinite(grad).all()) for grad in scaledGrads)
    scaled = tuple(grad * invScale.reshape(-1)[0] for grad in scaledGrads)
    return scaled, np.ones_like(foundInf) if found else foundInf


def _folded(name: str, function: Callable[[Any, Any], Any], summary: str) -> Operator:
    return catalogued.with_reference(
        name,
        lambda **values: _over_all(function)(values["tensors"]),
        summary=summary,
        outputs={"out": like_list("tensors")},
    )


def like_list(name: str) -> OutputRule:
    """The broadcast shape and the promoted dtype of a list's members."""

    def rule(arguments: Arguments) -> tuple[str, Shape] | None:
        members = arguments.get(name)
        if not isinstance(members, tuple) or not members:
            return None
        shape = broadcast_shape(*(m.shape for m in members))
        return (promote(*(m.dtype for m in members)), shape) if shape is not None else None

    return rule


OPERATORS = (
    *(_operator(name, one) for name, one in rows()),
    _folded("aclnnAddN", np.add, "out = the sum of the tensors, element by element"),
    _folded("aclnnSum", np.add, "out = the sum of the tensors, element by element"),
    _folded("aclnnMaxN", np.maximum, "out = the largest of the tensors, element by element"),
    _folded("aclnnMinN", np.minimum, "out = the smallest of the tensors, element by element"),
    catalogued.with_reference(
        "aclnnForeachNonFiniteCheckAndUnscale",
        _unscale,
        short={"foundInf": fixed("float32", 1), "invScale": fixed("float32", 1)},
        data={"foundInf": fill(0.0), "invScale": fill(0.5)},
    ),
)
