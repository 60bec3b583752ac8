"""How a family of operators is declared: a table of rows, each a name and a NumPy function of one or two lines.

A row's function takes the operator's inputs and attributes in the order of the C prototype. Everything else
follows from the signature in the catalog and is written once: which names the reference has, in which dtype
the operands meet (see :mod:`promotion`), what the outputs look like, and the in-place and tensor-list variants.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from ascend_opcli.model import Call, Data, Shape, TensorSpec
from ascend_opcli.operators.arguments import (
    Arguments,
    attribute_value,
    broadcast_shape,
    first_spec,
    scalar_dtype,
)
from ascend_opcli.operators.documents import catalogued
from ascend_opcli.operators.operator import Operator, OutputRule, Reference, uniform
from ascend_opcli.operators.promotion import operand, promote, scalar_word, to_float, with_scalar
from ascend_opcli.operators.signature import Param, Signature
from ascend_opcli.tensors.dtypes import DTYPES, name_of

SAME, FLOAT, BOOL = "same", "float", "bool"
"""What a row gives: the promoted dtype, the same with integers as float32, or bool."""

WORD = "word"
"""Keyword by which a row's function is told the dtype in which its operands meet, before the run widened it."""

_SAMPLES: Mapping[str, float] = {"clipValueMin": -0.5, "clipValueMax": 0.5, "min": -0.5, "max": 0.5}
_SCALARS = ("aclScalar", "aclScalarList")


@dataclass(frozen=True)
class Row:
    """One operator of a table.

    ``function`` takes inputs and attributes in the prototype's order; its defaults are the attributes'. One with
    a keyword ``word`` is told the dtype in which the operands meet.
    ``joining`` names aclScalars whose dtype counts in the promotion, ``apart`` tensors that stand outside it
    (masks, indices). ``exact`` rounds an aclScalar to the tensors' own dtype. ``data`` bounds the default data
    of the tensors, one pair for all or one for each. ``shape`` follows the broadcast of the inputs unless a
    rule is given; ``checks`` raises Undefined for a result that the call's outputs cannot be; ``changes`` set
    any field of the operator.
    """

    function: Callable[..., Any]
    text: str
    result: str = SAME
    joining: tuple[str, ...] = ()
    apart: tuple[str, ...] = ()
    exact: bool = False
    data: tuple[Any, ...] = ()
    elementwise: bool = True
    checks: Callable[[Any, Call], None] | None = None
    changes: Mapping[str, Any] = field(default_factory=dict)


def row(function: Callable[..., Any], text: str, result: str = SAME, **rest: Any) -> Row:
    """A row; what is no field of its own sets the operator's."""
    own = {f.name for f in dataclasses.fields(Row)}
    return Row(
        function,
        text,
        result,
        **{k: v for k, v in rest.items() if k in own},
        changes={k: v for k, v in rest.items() if k not in own},
    )


def declare_rows(table: Mapping[str, Row]) -> tuple[Operator, ...]:
    """``aclnnName`` of every row, and ``aclnnInplaceName`` where the catalog has it with the same parameters."""
    return tuple(made for name, one in table.items() for made in _both(name, one))


def _both(name: str, one: Row) -> Iterator[Operator]:
    there = set(catalogued.names().values())
    if f"aclnn{name}" in there:
        yield build(f"aclnn{name}", one)
    inplace = f"aclnnInplace{name}"
    if inplace in there and not name.startswith("Inplace"):
        yield build(inplace, one)
    if f"aclnn{name}" not in there and inplace not in there:
        raise KeyError(f"aclnn{name}")


def build(name: str, one: Row) -> Operator:
    """The operator of a row."""
    signature = signature_of(name)
    changes = {"summary": _of_its_outputs(signature, one.text), **one.changes}
    if "outputs" in changes:  # an in-place variant has no output of its own
        written = {p.name for p in signature.outputs if not p.is_input}
        changes["outputs"] = {name: rule for name, rule in changes["outputs"].items() if name in written}
    return catalogued.with_reference(
        name,
        reference_of(signature, one),
        signature=signature,
        **{
            "elementwise": one.elementwise,
            "outputs": outputs_of(signature, one),
            "defaults": _defaults(signature, one.function),
            "data": data_of(signature, one),
            "rounds_to": partial(_rounds_to, signature, one),
            "sample_attributes": samples(signature, one.function),
            "attribute_dtypes": {p.name: "float32" for p in signature.attributes if p.type == "double"},
            **changes,
        },
    )


def _of_its_outputs(signature: Signature, text: str) -> str:
    """A row's text under the operator's own name of its output: one row serves several operators."""
    left, equals, right = text.partition(" = ")
    names = [p.name for p in signature.outputs]
    return f"{names[0]} = {right}" if equals and left not in names and left.isidentifier() else text


def signature_of(name: str) -> Signature:
    """The catalog's signature; an in-place operator whose page calls its tensor an output reads it too."""
    signature = catalogued.entry(name).signature
    first = signature.params[0]
    if (
        name.startswith("aclnnInplace")
        and first.io == "out"
        and not any(p.io == "inout" for p in signature.params)
    ):
        return Signature(name, (dataclasses.replace(first, io="inout"), *signature.params[1:]))
    return signature


def taken(signature: Signature) -> tuple[Param, ...]:
    """What a row's function takes, in order: every parameter but pure outputs."""
    return tuple(p for p in signature.params if not (p.is_tensor and not p.is_input))


# --- references -----------------------------------------------------------------------------------------------


def reference_of(signature: Signature, one: Row) -> Reference:
    """The reference under the operator's own names: operands promoted, the row's function applied."""
    params = taken(signature)
    asks = not isinstance(one.function, np.ufunc) and WORD in inspect.signature(one.function).parameters

    # Names come as keywords: one of the catalog's parameters is called lambda, which no Python signature holds.
    def reference(**values: Any) -> Any:
        word, wide = _meeting(params, one, values)
        told = {WORD: word} if asks else {}
        made = one.function(*(_ready(p, one, values[p.name], word, wide) for p in params), **told)
        if one.checks is not None:
            one.checks(made, values["call"])
        return made

    reference.__doc__ = one.text
    return reference


def _defaults(signature: Signature, function: Callable[..., Any]) -> dict[str, Any]:
    if isinstance(function, np.ufunc):
        return {}
    given = list(inspect.signature(function).parameters.values())
    return {
        param.name: own.default
        for param, own in zip(taken(signature), given, strict=False)
        if own.default is not own.empty and not param.is_tensor
    }


def _meeting(params: tuple[Param, ...], one: Row, values: Mapping[str, Any]) -> tuple[str | None, bool]:
    """The dtype in which the operands meet, None without any, and whether the run is float64."""
    words: list[str] = []
    wide = True
    for param in params:
        value = values[param.name]
        if param.is_tensor and isinstance(value, np.ndarray):
            if value.dtype.kind in "fc":
                wide = value.dtype in (np.float64, np.complex128)
            if param.name not in one.apart:
                # A tensor of a list has no word of its own: its integers do, and its floats are never float64.
                words.append(values["dtypes"].get(param.name) or _bare(value))
    if not words:
        return None, wide
    word = promote(*words)
    for param in params:
        if param.name in one.joining and values[param.name] is not None:
            word = with_scalar(word, scalar_word(values[param.name]))
    return (to_float(word) if one.result == FLOAT else word), wide


def _bare(value: np.ndarray) -> str:
    return "float32" if value.dtype.kind == "f" else name_of(value.dtype)


def _ready(param: Param, one: Row, value: Any, word: str | None, wide: bool) -> Any:
    takes_part = param.is_tensor or param.type in _SCALARS
    if value is None or word is None or not takes_part or param.name in one.apart:
        return value
    return operand(value, word, wide, exact=one.exact)


def _rounds_to(signature: Signature, one: Row, dtypes: Mapping[str, str | None]) -> str | None:
    """The kernel writes the promoted dtype; only then comes the cast to an output of another one."""
    words = [dtypes.get(p.name) for p in signature.inputs if p.name not in one.apart]
    known = [w for w in words if w is not None]
    if not known or one.result == BOOL:
        return None
    word = promote(*known)
    word = to_float(word) if one.result == FLOAT else word
    return word if DTYPES[word].kind == "float" else None


# --- outputs, data, samples -----------------------------------------------------------------------------------


def outputs_of(signature: Signature, one: Row) -> dict[str, OutputRule]:
    """Every pure output has the promoted dtype of the row and the broadcast shape of its inputs."""
    rule = partial(_output, signature, one)
    return {p.name: rule for p in signature.outputs if not p.is_input}


def output_rule(name: str, one: Row) -> OutputRule:
    """What a row makes of the arguments of the operator ``name``."""
    return partial(_output, signature_of(name), one)


def _output(signature: Signature, one: Row, arguments: Arguments) -> tuple[str, Shape] | None:
    word = promoted(signature, one, arguments)
    specs = [first_spec(arguments.get(p.name)) for p in signature.inputs]
    shape = broadcast_shape(*(s.shape for s in specs if s is not None))
    return (word, shape) if word is not None and shape is not None else None


def promoted(signature: Signature, one: Row, arguments: Arguments) -> str | None:
    """The dtype of a row's result for these arguments, None without any tensor."""
    if one.result == BOOL:
        return "bool"
    specs = [first_spec(arguments.get(p.name)) for p in signature.inputs if p.name not in one.apart]
    words = [s.dtype for s in specs if isinstance(s, TensorSpec)]
    if not words or any(w not in DTYPES for w in words):
        return None
    word = promote(*words)
    for name in one.joining:
        scalar = scalar_dtype(arguments.get(name))
        if scalar is not None:
            word = with_scalar(word, scalar)
    return to_float(word) if one.result == FLOAT else word


def data_of(signature: Signature, one: Row) -> dict[str, Data]:
    """Default data of the tensors: one pair of bounds for all of them, or one entry for each in order."""
    if not one.data:
        return {}
    single = isinstance(one.data[0], (int, float))
    each = [one.data] * len(signature.inputs) if single else list(one.data)
    made: dict[str, Data] = {}
    for param, own in zip(signature.inputs, each, strict=False):
        if own is not None:
            made[param.name] = uniform(*own) if isinstance(own, tuple) else own
    return made


def samples(signature: Signature, function: Callable[..., Any]) -> dict[str, Any]:
    """A value for every attribute that has no default, so that an ordinary call can be made."""
    defaults = _defaults(signature, function)
    made: dict[str, Any] = {}
    for param in signature.attributes:
        if param.name not in defaults:
            value = _SAMPLES.get(param.name, 2.0)
            plain = {"aclScalarList": (value,), "bool": False, "int64_t": 1, "int32_t": 1}
            made[param.name] = plain.get(param.type, value)
    return made


def like_input(name: str, *, halved: str | None = None) -> OutputRule:
    """An output of an input's dtype and shape; ``halved`` names the attribute whose axis is split in two."""

    def rule(arguments: Arguments) -> tuple[str, Shape] | None:
        spec = first_spec(arguments.get(name))
        if spec is None or halved is None:
            return (spec.dtype, spec.shape) if spec is not None else None
        axis = attribute_value(arguments, halved) if halved else -1
        axis = -1 if axis is None else axis
        if not -len(spec.shape) <= axis < len(spec.shape):
            return spec.dtype, spec.shape
        shape = list(spec.shape)
        shape[axis] //= 2
        return spec.dtype, tuple(shape)

    return rule
