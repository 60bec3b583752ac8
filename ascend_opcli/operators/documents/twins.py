"""The kernel that runs a case: by its type, or the one that the case's aclnn function launches and nothing else.

Data: ``twins.json``, read once and only where it is needed. By aclnn name a list of [type, arguments, outputs,
conditions] with the kernel's names behind the function's (a parameter without one is not used there), or
[type, parameter] where that parameter has no counterpart in the registration; an empty one where the conditions are not
known well enough. Source: the op_api of the public operator repositories.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import Any

from ascend_opcli.model import Argument, Attribute, Number, Shape, TensorSpec
from ascend_opcli.operators.arguments import Arguments, first_spec
from ascend_opcli.operators.documents import registrations
from ascend_opcli.operators.documents.registrations import KernelTensor, Registration
from ascend_opcli.operators.operator import TYPE, Operator
from ascend_opcli.tensors import layout

Value = Number | str | tuple[Number, ...]


@dataclass(frozen=True, slots=True)
class KernelTensors:
    """An input or output by its registered name: the case's parameter, None where it is left out."""

    name: str
    parameter: str | None
    is_list: bool


@dataclass(frozen=True, slots=True)
class KernelCall:
    """A case as a call of a kernel: the registration's order and names; ``attributes`` are (name, type, value)."""

    type: str
    inputs: tuple[KernelTensors, ...]
    outputs: tuple[KernelTensors, ...]
    attributes: tuple[tuple[str, str, Value], ...]


class NoKernel(ValueError):
    """Why a case is no call of one kernel, as a sentence."""


@lru_cache(maxsize=1)
def _table() -> Mapping[str, list[list[Any]]]:
    found: Mapping[str, list[list[Any]]] = json.loads(
        files("ascend_opcli.operators.documents").joinpath("twins.json").read_text("utf-8")
    )
    return found


def kernel_call(operator: Operator, arguments: Arguments, *, refused: bool = False) -> KernelCall:
    """The call of the kernel. Raises NoKernel where the case cannot be one.

    An aclnn function casts what no dtype column of its kernel takes: such a call is none of the kernel alone, unless
    the kernel is to be seen to have it ``refused``.
    """
    if operator.by_type:
        kernel = operator.name.removeprefix(TYPE)
        tensors = {p.name: p.name for p in operator.signature.params if p.is_tensor}
        attributes = {p.name: arguments[p.name] for p in operator.signature.attributes}
        return _made(kernel, arguments, tensors, tensors, attributes)
    rows = _table().get(operator.name)
    if rows is None or operator.declared:
        raise NoKernel(f"no public source says that {operator.name} runs one kernel and nothing else")
    reasons = []
    for row in rows:
        try:
            call = _of_twin(row, arguments)
        except NoKernel as error:
            reasons.append(str(error))
            continue
        if not refused and not _registered(call, arguments):
            reasons.append(_no_column(call, arguments))
            continue
        return call
    raise NoKernel("; ".join(reasons))


def _of_twin(row: Sequence[Any], arguments: Arguments) -> KernelCall:
    kernel = row[0]
    if len(row) == 2:
        why = (
            f"{row[1]} has no counterpart in its registration" if row[1] else "when, is not known well enough"
        )
        raise NoKernel(f"the kernel {kernel} may run alone, but {why}")
    tensors: dict[str, str] = {}
    attributes: dict[str, Argument] = {}
    outputs = {name: parameter for parameter, name in row[2].items()}
    for parameter, how in row[1].items():
        argument = arguments[parameter]
        if "input" in how:
            tensors[how["input"]] = parameter
        elif "attr" in how:
            attributes[how["attr"]] = _as_attribute(argument, how)
        elif "constant" in how:
            value = argument.value if isinstance(argument, Attribute) else None
            if value != how["constant"]:
                raise NoKernel(f"{kernel} runs alone only where {parameter} is {_text(how['constant'])}")
        else:
            made = arguments[outputs[how["dtype_of_output"]]]
            if not isinstance(made, TensorSpec) or _value(argument) != made.dtype:
                raise NoKernel(f"{kernel} runs alone only where {parameter} is the output's dtype")
    call = _made(kernel, arguments, tensors, outputs, attributes)
    defaults = {a.name: a.default for one in _ordered(kernel)[::-1] for a in one.attributes}
    for condition in row[3] if len(row) > 3 else ():
        if not _holds(condition, arguments, tensors, outputs, attributes, defaults):
            raise NoKernel(f"{kernel} runs alone only where {_said(condition)}")
    return call


def _value(argument: Argument) -> object:
    return argument.value if isinstance(argument, Attribute) else None


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _as_attribute(argument: Argument, how: Mapping[str, Any]) -> Argument:
    """The kernel's value of an attribute of the function: mapped, or as the one entry of a list."""
    if not isinstance(argument, Attribute):
        return None
    if "map" in how:
        back = {there: here for here, there in how["map"].items()}
        if argument.value not in back:
            raise NoKernel(f"{how['attr']} has no value for {_text(argument.value)}")
        return Attribute(back[argument.value])
    if "element" in how:
        assert isinstance(argument.value, (int, float))
        return Attribute((argument.value,))
    return Attribute(argument.value)


# --- the call -------------------------------------------------------------------------------------------------


def _ordered(kernel: str) -> list[Registration]:
    """The registrations of a type, those that are not experimental and of a known SoC first."""
    return sorted(registrations.registrations(kernel), key=lambda one: (one.experimental, not one.socs))


def _made(
    kernel: str,
    arguments: Arguments,
    tensors: Mapping[str, str],
    outputs: Mapping[str, str],
    attributes: Mapping[str, Argument],
) -> KernelCall:
    wanted = {*tensors, *outputs}
    for one in _ordered(kernel):
        named = {t.name for t in (*one.inputs, *one.outputs)}
        if wanted <= named and set(attributes) <= {a.name for a in one.attributes}:
            return KernelCall(
                kernel,
                tuple(_bound(t, tensors, arguments) for t in one.inputs),
                tuple(_bound(t, {**tensors, **outputs}, arguments) for t in one.outputs),
                tuple(_attributes(one, attributes, tensors, arguments)),
            )
    raise NoKernel(f"no public registration of {kernel} has these names: {', '.join(sorted(wanted))}")


def _dtype(tensors: KernelTensors | None, arguments: Arguments) -> str | None:
    spec = first_spec(arguments.get(tensors.parameter)) if tensors is not None and tensors.parameter else None
    return spec.dtype if spec is not None else None


def _registered(call: KernelCall, arguments: Arguments) -> bool:
    """Whether a column of a registration has the call's dtypes, or its columns are not public."""
    bound = {t.name: t for t in (*call.inputs, *call.outputs)}
    for one in registrations.registrations(call.type):
        tensors = (*one.inputs, *one.own_outputs)
        columns = one.columns()
        got = [_dtype(bound.get(t.name), arguments) for t in tensors]
        if not columns or any(
            all(have in (None, cell) for have, cell in zip(got, column, strict=True)) for column in columns
        ):
            return True
    return False


def _no_column(call: KernelCall, arguments: Arguments) -> str:
    dtypes = {t.name: _dtype(t, arguments) for t in (*call.inputs, *call.outputs)}
    said = ", ".join(f"{name} {dtype}" for name, dtype in dtypes.items() if dtype)
    return f"no registered dtype column of {call.type} has {said}"


def _bound(registered: KernelTensor, tensors: Mapping[str, str], arguments: Arguments) -> KernelTensors:
    name, is_list = registered.name, registered.way == "dynamic"
    parameter = tensors.get(name)
    argument = arguments[parameter] if parameter is not None else None
    if argument is None:
        if registered.way != "optional":
            raise NoKernel(f"{name} of the kernel is needed, and this case has none")
        return KernelTensors(name, None, is_list)
    if isinstance(argument, tuple) != is_list:
        kind = "a list" if is_list else "one tensor"
        raise NoKernel(f"{parameter} is {kind} in the registration")
    for spec in argument if isinstance(argument, tuple) else (argument,):
        if not isinstance(spec, TensorSpec):
            raise NoKernel(f"{parameter} is no tensor")
        strides, offset, storage, _ = layout.resolve(spec.shape)
        if (spec.strides, spec.offset, math.prod(spec.storage_shape)) != (
            strides,
            offset,
            math.prod(storage),
        ):
            raise NoKernel(
                f"{parameter} is not contiguous ({spec.layout}): a kernel by its type takes no view"
            )
    return KernelTensors(name, parameter, is_list)


def _attributes(
    registered: Registration,
    given: Mapping[str, Argument],
    tensors: Mapping[str, str],
    arguments: Arguments,
) -> list[tuple[str, str, Value]]:
    """The attributes that are said; the others keep the registration's default."""
    made: list[tuple[str, str, Value]] = []
    lists = [t.name for t in registered.inputs if t.way == "dynamic"]
    for attribute in registered.attributes:
        argument = given.get(attribute.name)
        if isinstance(argument, Attribute):
            value = _typed(attribute.name, attribute.type, argument.value)
            if value != ():
                made.append((attribute.name, attribute.type, value))
            elif attribute.default or attribute.required:
                # The setters of acl.op refuse a list without a first element.
                raise NoKernel(
                    f"the attribute {attribute.name} is an empty list, which pyACL cannot hand over"
                )
        elif attribute.name == "N" and attribute.type == "Int" and len(lists) == 1:
            members = arguments[tensors[lists[0]]]
            made.append(("N", "Int", len(members) if isinstance(members, tuple) else 0))
        elif attribute.required and attribute.default is None:
            raise NoKernel(f"the attribute {attribute.name} of the kernel is needed, and this case has none")
    return made


_TYPES: Mapping[str, Callable[[Any], Any]] = {"Int": int, "Float": float, "Bool": bool, "String": str}


def _typed(name: str, kind: str, value: Value) -> Value:
    """The value as the setter of its type takes it. Raises NoKernel where it is another's."""
    one = _TYPES[kind.removeprefix("List")]
    if kind.startswith("List") != isinstance(value, tuple):
        raise NoKernel(f"the attribute {name} of the kernel is {kind}, not {_text(value)}")
    values: tuple[Any, ...] = value if isinstance(value, tuple) else (value,)
    if any(
        isinstance(v, (str, complex)) != (one is str) or (one is int and int(v.real) != v) for v in values
    ):
        raise NoKernel(f"the attribute {name} of the kernel is {kind}, not {_text(value)}")
    return tuple(one(v) for v in values) if isinstance(value, tuple) else one(value)


# --- conditions -----------------------------------------------------------------------------------------------


def _said(condition: Mapping[str, Any]) -> str:
    (kind, subject), *rest = condition.items()
    if kind in ("attr", "dtype", "rank") and rest:
        key, value = rest[0]
        values = ", ".join(map(_text, value)) if isinstance(value, list) else _text(value)
        return f"{subject} is {'' if key == 'is' else f'{key} '}{values}"
    return ", ".join(f"{key} {_text(value)}" for key, value in condition.items())


def _holds(
    condition: Mapping[str, Any],
    arguments: Arguments,
    tensors: Mapping[str, str],
    outputs: Mapping[str, str],
    attributes: Mapping[str, Argument],
    defaults: Mapping[str, object],
) -> bool:
    """Whether a condition of a twin holds, in the kernel's names; one that is not known does not."""

    def specs(name: str) -> list[TensorSpec]:
        parameter = tensors.get(name, outputs.get(name, ""))
        found = arguments.get(parameter)
        return [s for s in (found if isinstance(found, tuple) else (found,)) if isinstance(s, TensorSpec)]

    def several(names: object) -> list[TensorSpec]:
        each = list(tensors) if names == "inputs" else names
        return [spec for name in (each if isinstance(each, list) else [names]) for spec in specs(str(name))]

    def attribute(name: str) -> Any:
        return _value(attributes.get(name)) if attributes.get(name) is not None else defaults.get(name)

    (kind, subject), *rest = condition.items()
    key: str = rest[0][0] if rest else ""
    against: Any = rest[0][1] if rest else None
    if kind == "same_dtype":
        return len({s.dtype for s in several(subject)}) < 2
    if kind == "same_shape":
        return len({s.shape for s in several(subject)}) < 2
    if kind in ("dtype", "rank"):
        found = [s.dtype if kind == "dtype" else len(s.shape) for s in specs(subject)]
        return bool(found) and all((f in against) == (key == "in") for f in found)
    if kind == "attr":
        value = attribute(subject)
        if key == "near":
            return value is not None and math.isclose(value, against, rel_tol=1e-6)
        return (value in against) == (key == "is")
    if kind in ("present", "absent"):
        return bool(specs(subject)) == (kind == "present")
    if kind == "length":
        value = attribute(subject)
        return isinstance(value, tuple) and len(value) == against
    if kind == "shape_of_output":
        shapes: list[Shape] = [s.shape for s in (*specs(subject), *specs(str(against)))]
        return len(shapes) == 2 and shapes[0] == shapes[1]
    if kind == "attr_absent":
        return attributes.get(subject) is None
    return kind == "attr_absent_or_false" and not attribute(subject)
