"""Arguments by position onto an operator's signature, with the kinds checked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ascend_opcli.casefile.files.ranges import is_real
from ascend_opcli.operators.operator import Operator
from ascend_opcli.operators.signature import Param

TENSOR, TENSORS, SCALAR, SCALARS, VALUE, ARRAY = "tensor", "tensors", "scalar", "scalars", "value", "array"

_ARRAYS = {"aclIntArray": (int,), "aclBoolArray": (bool,), "aclFloatArray": (int, float)}
_LISTS = {TENSORS: "aclTensorList", SCALARS: "aclScalarList"}


class NotDefined(Exception):
    """The file does not define the call; the message says why."""


@dataclass(frozen=True, slots=True)
class GivenArgument:
    """One argument as a file lists it, already in opcli's grammar. ``value`` None is a null pointer."""

    name: str
    kind: str
    value: Any


def fits(param: Param, given: GivenArgument) -> bool:
    """Whether the argument is of the kind that the parameter's C type takes."""
    kind, value = given.kind, given.value
    if value is None:
        return param.is_pointer and kind == (TENSOR if param.type == "aclTensor" else kind)
    if param.type == "aclTensor":
        return kind == TENSOR
    if param.type == "aclScalar":
        return kind == SCALAR
    if param.type in ("aclTensorList", "aclScalarList"):
        return _LISTS.get(kind) == param.type or (kind == ARRAY and value == [])
    if param.type in _ARRAYS:
        return kind == ARRAY and all(type(v) in _ARRAYS[param.type] for v in value)
    return kind == VALUE and _is(param.type, value)


def _is(c_type: str, value: Any) -> bool:
    if c_type == "aclDataType":
        return isinstance(value, str) or type(value) is int  # by its name or its number
    if c_type == "char":
        return isinstance(value, str)
    if c_type == "bool":
        return isinstance(value, bool)
    if c_type in ("double", "float"):
        return is_real(value)
    return type(value) is int


def place(given: Sequence[GivenArgument], operator: Operator) -> dict[str, GivenArgument]:
    """Parameter -> argument. The list holds what the caller gives in, in the prototype's order; some list the
    outputs too, or leave trailing optional parameters out.

    Raises NotDefined where it fits in neither way: then something rewrites the list before the call.
    """
    params = operator.signature.params
    inward = [p for p in params if not (p.is_tensor and not p.is_input)]
    for line in (inward, list(params)):
        if len(given) <= len(line) and all(p.optional and p.is_pointer for p in line[len(given) :]):
            pairs = list(zip(line, given, strict=False))
            if all(fits(p, g) for p, g in pairs):
                _names_agree(pairs, params)
                return {p.name: g for p, g in pairs}
    raise NotDefined(_why(given, inward, operator.name))


def place_all(
    given: Sequence[GivenArgument], operator: Operator, params: Sequence[Param]
) -> dict[str, GivenArgument]:
    """Parameter -> argument, of a list that has every one of ``params``. Its names are somebody else's.

    Raises NotDefined where another count or another kind is passed.
    """
    if len(given) == len(params) and all(map(fits, params, given)):
        return {p.name: g for p, g in zip(params, given, strict=True)}
    raise NotDefined(_why(given, params, operator.name))


def _names_agree(pairs: Sequence[tuple[Param, GivenArgument]], params: Sequence[Param]) -> None:
    """Names differ freely between tools; one that is another parameter's says that the order is not ours."""
    known = {bare(p.name): p.name for p in params}
    for param, given in pairs:
        other = known.get(bare(given.name))
        if other is not None and other != param.name:
            raise NotDefined(f"the name {given.name} stands where {param.name} is passed")


def bare(name: str) -> str:
    """A name by which two tools can mean the same parameter."""
    return name.removesuffix("Optional").removesuffix("Ref").replace("_", "").casefold()


def _why(given: Sequence[GivenArgument], inward: Sequence[Param], operator: str) -> str:
    if len(given) != len(inward):
        many = "argument" if len(given) == 1 else "arguments"
        return f"{len(given)} {many} for the {len(inward)} that {operator} takes"
    wrong = next((p, g) for p, g in zip(inward, given, strict=True) if not fits(p, g))
    param, got = wrong
    named = f" {got.name}" if got.name else ""
    return f"the {got.kind}{named} for {param.name}, which is {_article(param.type)} {param.type}"


def _article(word: str) -> str:
    return "an" if word[0] in "aeio" else "a"
