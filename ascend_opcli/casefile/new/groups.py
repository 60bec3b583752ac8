"""Calls written as cases: what the short form says is left out, points of one kind share a matrix or a zip."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ascend_opcli.casefile.new.calls import Calls
from ascend_opcli.model import (
    Argument,
    Attribute,
    Data,
    Derived,
    Fill,
    Generator,
    Number,
    Shape,
    TensorSpec,
    Values,
)
from ascend_opcli.operators.arguments import first_spec
from ascend_opcli.operators.operator import Default
from ascend_opcli.operators.signature import Param


@dataclass(frozen=True, slots=True)
class Point:
    """One call of a group; ``columns`` are values that stand only in this group's data, such as a mean."""

    dtype: str
    shape: Shape
    format: str | None = None
    attributes: Mapping[str, Default] = field(default_factory=dict)
    columns: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Group:
    """Cases of one kind. ``inputs`` are keys of each input's mapping (data, layout), ``$name`` for a column."""

    name: str
    comment: str
    points: tuple[Point, ...]
    inputs: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


def case_of(calls: Calls, group: Group) -> dict[str, Any]:
    """The mapping of a case, or of a matrix or zip of cases, that stands for every point of the group."""
    given = {f"{name}_data" for name, keys in group.inputs.items() if "data" in keys}
    own = [
        tuple({k: v for k, v in row.items() if k not in given} for row in _own(calls, point))
        for point in group.points
    ]
    rows = [row for row, _ in own]
    constant = {k: v for k, v in rows[0].items() if all(r.get(k, _NONE) == v for r in rows)}
    varying = list(dict.fromkeys(k for row in rows for k in row if k not in constant))
    # A value that only some points give must be given by all of them.
    full = [{k: row[k] if k in row else whole[k] for k in varying} for row, whole in own]
    case: dict[str, Any] = {"name": group.name}
    if varying:
        alone = {"dtype", *map(axis, calls.operator.signature.attributes)}
        case |= _axes(full, varying, set(varying) - alone)

    def said(key: str) -> Any:
        return f"${key}" if key in varying else constant.get(key, _NONE)

    for key in ("dtype", "shape"):
        if said(key) is not _NONE:
            case[key] = said(key)
    inputs: dict[str, Any] = {}
    for param in calls.operator.signature.inputs:
        parts = {k: said(f"{param.name}_{k}") for k in ("dtype", "shape", "format")}
        made = {k: v for k, v in parts.items() if v is not _NONE}
        made |= {k: _settled(v, constant) for k, v in group.inputs.get(param.name, {}).items()}
        if said(f"{param.name}_data") is not _NONE:
            made.setdefault("data", said(f"{param.name}_data"))
        if said(f"{param.name}_null") is True:
            inputs[param.name] = None
        elif made:
            inputs[param.name] = [made] if param.is_list else made
    if inputs:
        case["inputs"] = inputs
    attrs = {p.name: said(axis(p)) for p in calls.operator.signature.attributes if said(axis(p)) is not _NONE}
    if attrs:
        case["attrs"] = attrs
    outputs: dict[str, Any] = {}
    for param in calls.operator.signature.outputs:
        made = {k: said(f"{param.name}_{k}") for k in ("dtype", "shape")}
        made = {k: v for k, v in made.items() if v is not _NONE}
        if made and not param.is_input:
            outputs[param.name] = made
    if outputs:
        case["outputs"] = outputs
    return case


_NONE = object()


def axis(param: Param) -> str:
    """The name under which an attribute varies: its own, unless the short form has that name."""
    return f"{param.name}_of_call" if param.name in ("dtype", "shape") else param.name


def _settled(value: Any, constant: Mapping[str, Any]) -> Any:
    """A ``$name`` that does not vary as its value."""
    if isinstance(value, str) and value.startswith("$"):
        return constant.get(value[1:], value)
    if isinstance(value, list):
        return [_settled(item, constant) for item in value]
    return {k: _settled(v, constant) for k, v in value.items()} if isinstance(value, dict) else value


def _axes(rows: Sequence[Mapping[str, Any]], names: Sequence[str], travelling: set[str]) -> dict[str, Any]:
    """A matrix where the rows are a whole product, names that travel together in a zip of it; else one zip."""
    together = [n for n in names if n in travelling]
    single = [n for n in names if n not in travelling]
    if len(together) == 1:
        single, together = [n for n in names if n in (*single, *together)], []
    axes = [_distinct([{n: row[n]} for row in rows]) for n in single]
    if together:
        axes.append(_distinct([{n: row[n] for n in together} for row in rows]))
    product = [{k: v for part in point for k, v in part.items()} for point in itertools.product(*axes)]
    if len(product) != len(rows) or {_mark(row) for row in product} != {_mark(row) for row in rows}:
        return {"zip": {name: [row[name] for row in rows] for name in names}}
    made: dict[str, Any] = {}
    if single:
        made["matrix"] = {n: [part[n] for part in axis] for n, axis in zip(single, axes, strict=False)}
    if together:
        made["zip"] = {n: [part[n] for part in axes[-1]] for n in together}
    return made


def _distinct(parts: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    return list({_mark(part): part for part in parts}.values())


def _mark(row: Mapping[str, Any]) -> str:
    return repr(sorted(row.items(), key=lambda item: item[0]))


def _own(calls: Calls, point: Point) -> tuple[dict[str, Any], dict[str, Any]]:
    """What a point must write beside its dtype and shape, and all that it could."""
    arguments = calls.make(point.dtype, point.shape, point.attributes, point.format)
    assert arguments is not None
    must: dict[str, Any] = {"dtype": point.dtype, "shape": list(point.shape)}
    could = dict(must)
    form = calls.operator.short_form(point.dtype, point.shape)
    for param in calls.operator.signature.inputs:
        spec, own = first_spec(arguments[param.name]), form[param.name]
        if spec is None:
            could[f"{param.name}_null"] = True
            if own is not None:
                must[f"{param.name}_null"] = True
            continue
        could |= {
            f"{param.name}_dtype": spec.dtype,
            f"{param.name}_shape": list(spec.shape),
            f"{param.name}_format": spec.format,
        }
        if own is None or spec.dtype != own[0]:
            must[f"{param.name}_dtype"] = spec.dtype
        if own is None or spec.shape != own[1]:
            must[f"{param.name}_shape"] = list(spec.shape)
        if calls.operator.format_to_say(param.name, spec, arguments) is not None:
            must[f"{param.name}_format"] = spec.format
        if spec.data is not None and spec.data != calls.operator.default_data(param.name, spec.dtype):
            must[f"{param.name}_data"] = data_of(spec.data)
        could[f"{param.name}_data"] = data_of(spec.data) if spec.data is not None else 0
    for param in calls.operator.signature.attributes:
        value = plain(arguments[param.name])
        could[axis(param)] = value
        if param.name in point.attributes or not _left_out(calls, param, value):
            must[axis(param)] = value
    for param in calls.operator.signature.outputs:
        spec = first_spec(arguments[param.name])
        if param.is_input or param.is_list or spec is None:
            continue
        word, dims = calls.operator.infer_output(param.name, arguments)
        could |= {f"{param.name}_dtype": spec.dtype, f"{param.name}_shape": list(spec.shape)}
        if spec.dtype != word:
            must[f"{param.name}_dtype"] = spec.dtype
        if spec.shape != dims:
            must[f"{param.name}_shape"] = list(spec.shape)
    return {**must, **point.columns}, {**could, **point.columns}


def _left_out(calls: Calls, param: Param, value: Any) -> bool:
    """Whether the loader gives an attribute this value by itself."""
    known = calls.operator.defaults
    if param.name in known:
        return bool(plain(Attribute(known[param.name])) == value)
    return value is None and param.optional and param.is_pointer


def plain(argument: Argument) -> Any:
    """An attribute as it is written."""
    if not isinstance(argument, Attribute):
        return None
    value = argument.value
    made: Any = [number(v) for v in value] if isinstance(value, tuple) else number(value)
    return {"value": made, "dtype": argument.dtype} if argument.dtype is not None else made


def number(value: Number | str) -> Any:
    """A number as it is written: complex is ``[re, im]``."""
    return [value.real, value.imag] if isinstance(value, complex) else value


def data_of(data: Data) -> Any:
    """What fills a tensor, as it is written."""
    if isinstance(data, Fill):
        return number(data.value)
    if isinstance(data, Values):
        return [number(v) for v in data.values]
    assert isinstance(data, (Generator, Derived))
    made: dict[str, Any] = (
        {"expr": data.text} if isinstance(data, Derived) else {data.kind: [number(v) for v in data.args]}
    )
    if data.specials:
        made["specials"] = [number(v) for v in data.specials]
    return made


def tensor_of(spec: TensorSpec, format: str | None) -> dict[str, Any]:
    """A whole tensor as it is written, with its format where it must be said."""
    made: dict[str, Any] = {"dtype": spec.dtype, "shape": list(spec.shape)}
    if format is not None:
        made["format"] = format
    if spec.layout != "contiguous":
        made |= {
            "strides": list(spec.strides),
            "offset": spec.offset,
            "storage_shape": list(spec.storage_shape),
        }
    if spec.data is not None:
        made["data"] = data_of(spec.data)
    return made
