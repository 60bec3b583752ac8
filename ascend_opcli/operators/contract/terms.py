"""The small language in which the facts of phase 1 are written: terms over a call's parameters, and conditions.

A term is a plain value, ``[dtype|rank|shape|numel|size|value|dtype_value|view_format|storage_format, name]``,
``[dim, name, axis]``, ``[head|tail, name, count]`` of a shape, ``[values, name]`` of an array, ``[promote, a, b]``,
``[broadcast, a, b]``, ``[shape_list, term, ...]``, ``[join, shape, ...]`` or arithmetic. A condition is
``[word, ...]``, see :data:`CONDITIONS`. ``x[0]`` is the first member of a list or array. What cannot be told, of a
null parameter, an attribute that nobody gave or an axis that is not there, raises :class:`Unknown`.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from ascend_opcli.model import Attribute, TensorSpec
from ascend_opcli.operators.arguments import Arguments, broadcast_shape, scalar_dtype
from ascend_opcli.operators.contract.rules import PRIVATE_FORMATS, can_cast
from ascend_opcli.operators.promotion import promote
from ascend_opcli.tensors.dtypes import DTYPES

Term = Any
Condition = Sequence[Any]

PROMOTABLE = frozenset(DTYPES) - {"uint16", "uint32", "uint64", "float8_e5m2", "float8_e4m3fn"} | {
    "complex32"
}
"""The dtypes of which op_api's PromoteType has a table; of any other pair it says undefined."""

UNDEFINED = "undefined"

_ENUM = {dtype.acl: name for name, dtype in DTYPES.items()} | {
    **{29: "int4", 30: "uint1", 33: "complex32", 34: "hifloat8", 37: "float8_e8m0"},
    **{38: "float6_e3m2", 39: "float6_e2m3", 40: "float4_e2m1", 41: "float4_e1m2"},
}
_FLOATS = frozenset({"hifloat8", "float8_e8m0", "float6_e3m2", "float6_e2m3", "float4_e2m1", "float4_e1m2"})


class Unknown(Exception):
    """The call does not say."""


# --- terms ----------------------------------------------------------------------------------------------------


def evaluate(term: Term, arguments: Arguments) -> Any:
    """The value of a term: a dtype or format word, a number, a shape, None for shapes that do not broadcast."""
    if not isinstance(term, list):
        return term
    word = term[0]
    if word == "promote":
        return promoted(evaluate(term[1], arguments), evaluate(term[2], arguments))
    if word == "broadcast":
        shapes = [evaluate(t, arguments) for t in term[1:]]
        return None if None in shapes else broadcast_shape(*shapes)
    if word == "shape_list":
        return tuple(evaluate(t, arguments) for t in term[1:])
    if word in _COMBINE:
        return _COMBINE[word](*(evaluate(t, arguments) for t in term[1:]))
    return _READ[word](member(term[1], arguments), *(evaluate(t, arguments) for t in term[2:]))


def member(name: str, arguments: Arguments) -> Any:
    """A parameter that is not null, or ``x[0]``, the first member of a list or array."""
    match = re.fullmatch(r"(.+)\[(\d+)\]", name)
    if match is None:
        found = arguments.get(name)
    else:
        whole = arguments.get(match[1])
        members = whole.value if isinstance(whole, Attribute) else whole
        at = int(match[2])
        found = members[at] if isinstance(members, tuple) and at < len(members) else None  # type: ignore[assignment]
    if found is None:
        raise Unknown(name)
    return found


def _spec(found: Any) -> TensorSpec:
    if not isinstance(found, TensorSpec):
        raise Unknown
    return found


def _dtype(found: Any) -> str:
    if isinstance(found, TensorSpec):
        return found.dtype
    word = scalar_dtype(found)
    if word is None or isinstance(found.value, (str, tuple)):
        raise Unknown
    return word


def _value(found: Any) -> Any:
    if isinstance(found, Attribute):
        return found.value
    if isinstance(found, (TensorSpec, tuple)):
        raise Unknown
    return found


def _dtype_value(found: Any) -> str:
    value = _value(found)
    if isinstance(value, str):
        return value
    if isinstance(value, int) and not isinstance(value, bool) and value in _ENUM:
        return _ENUM[value]
    raise Unknown


def _size(found: Any) -> int:
    members = found.value if isinstance(found, Attribute) else found
    if not isinstance(members, tuple):
        raise Unknown
    return len(members)


def _part(found: Any, count: int, *, last: bool) -> Any:
    shape = _spec(found).shape
    if not 0 <= count <= len(shape):
        raise Unknown
    return shape[len(shape) - count :] if last else shape[:count]


def _values(found: Any) -> tuple[Any, ...]:
    value = _value(found)
    return value if isinstance(value, tuple) else (value,)


def _remainder(first: int, second: int) -> int:
    if second == 0:
        raise Unknown
    return first % second


_COMBINE: Mapping[str, Callable[..., Any]] = {
    "+": lambda *parts: sum(parts),
    "-": lambda first, second: first - second,
    "*": lambda *parts: math.prod(parts),
    "%": _remainder,
    "min": min,
    "max": max,
    "join": lambda *shapes: sum(shapes, ()),
}


def _dim(found: Any, axis: int) -> int:
    shape = _spec(found).shape
    if not -len(shape) <= axis < len(shape):
        raise Unknown
    return shape[axis]


_READ: Mapping[str, Callable[..., Any]] = {
    "dtype": _dtype,
    "rank": lambda found: len(_spec(found).shape),
    "shape": lambda found: _spec(found).shape,
    "numel": lambda found: math.prod(_spec(found).shape),
    "size": _size,
    "dim": _dim,
    "value": _value,
    "values": _values,
    "head": partial(_part, last=False),
    "tail": partial(_part, last=True),
    "dtype_value": _dtype_value,
    **dict.fromkeys(("view_format", "storage_format", "original_format"), lambda found: _spec(found).format),
}


def promoted(first: str, second: str) -> str:
    """op_api's PromoteType; :data:`UNDEFINED` for dtypes that it does not combine."""
    if first == second:
        return first
    if not {first, second} <= PROMOTABLE:
        return UNDEFINED
    if "complex32" in (first, second):
        other = second if first == "complex32" else first
        if other == "float64":
            return "complex128"
        narrow = other == "float16" or DTYPES[other].kind in ("bool", "int", "uint")
        return "complex32" if narrow else other if DTYPES[other].kind == "complex" else "complex64"
    return promote(first, second)


def castable(source: str, target: str) -> bool:
    """CanCast, also of dtypes that opcli cannot hold."""
    if source in DTYPES and target in DTYPES:
        return can_cast(source, target)
    kinds = [_kind(w) for w in (source, target)]
    if kinds[0] == "complex" and kinds[1] != "complex":
        return False
    return not (kinds[0] == "float" and kinds[1] in ("int", "uint")) and not (
        source != "bool" and target == "bool"
    )


def _kind(word: str) -> str:
    if word in DTYPES:
        return DTYPES[word].kind
    return "complex" if word == "complex32" else "float" if word in _FLOATS else "other"


# --- conditions -----------------------------------------------------------------------------------------------

_COMPARE: Mapping[str, Callable[[Any, Any], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    ">": operator.gt,
    "<=": operator.le,
    ">=": operator.ge,
}


def holds(condition: Condition, arguments: Arguments) -> bool:
    """Whether a condition holds; raises Unknown."""
    word = condition[0]
    if word in _COMPARE:
        a, b = (evaluate(t, arguments) for t in condition[1:])
        if a is None or b is None:
            raise Unknown
        try:
            return bool(_COMPARE[word](a, b))
        except TypeError:
            raise Unknown from None
    return CONDITIONS[word](arguments, *condition[1:])


def _null(arguments: Arguments, name: str) -> bool:
    if "[" in name:
        member(name, arguments)
        return False
    if name not in arguments:
        raise Unknown(name)
    return arguments[name] is None


def _same(read: str) -> Callable[..., bool]:
    def same(arguments: Arguments, first: str, second: str) -> bool:
        return bool(evaluate([read, first], arguments) == evaluate([read, second], arguments))

    return same


def _broadcastable(arguments: Arguments, first: Term, second: Term) -> bool:
    shapes = [evaluate(t, arguments) for t in (first, second)]
    return None not in shapes and broadcast_shape(*shapes) is not None


def _shape_of(arguments: Arguments, name: str, shape: Term) -> bool:
    wanted = evaluate(shape, arguments)
    if wanted is None:
        raise Unknown
    return bool(evaluate(["shape", name], arguments) == wanted)


def _all_null(arguments: Arguments, *names: str) -> bool:
    return all(name in arguments and arguments[name] is None for name in names)


def _castable(arguments: Arguments, source: Term, target: Term) -> bool:
    return castable(evaluate(source, arguments), evaluate(target, arguments))


def _private(arguments: Arguments, term: Term) -> bool:
    return evaluate(term, arguments) in PRIVATE_FORMATS


CONDITIONS: Mapping[str, Callable[..., bool]] = {
    "null": _null,
    "notnull": lambda a, name: not _null(a, name),
    "not_all_null": lambda a, *names: not _all_null(a, *names),
    "never": lambda _a: False,
    "empty": lambda a, name: evaluate(["numel", name], a) == 0,
    "not_empty": lambda a, name: evaluate(["numel", name], a) != 0,
    "in_terms": lambda a, term, terms: evaluate(term, a) in [evaluate(t, a) for t in terms],
    "true": lambda a, term: bool(evaluate(term, a)),
    "false": lambda a, term: not evaluate(term, a),
    "in": lambda a, term, words: evaluate(term, a) in words,
    "notin": lambda a, term, words: evaluate(term, a) not in words,
    "private": _private,
    "not_private": lambda a, term: not _private(a, term),
    "castable": _castable,
    "not_castable": lambda a, source, target: not _castable(a, source, target),
    "broadcastable": _broadcastable,
    "not_broadcastable": lambda a, first, second: not _broadcastable(a, first, second),
    "promotable": lambda a, first, second: evaluate(["promote", first, second], a) != UNDEFINED,
    "shape_of": _shape_of,
    "same_dtype": _same("dtype"),
    "same_shape": _same("shape"),
    "same_rank": _same("rank"),
    "same_size": _same("size"),
    "same_format": _same("view_format"),
    "same_storage_format": _same("storage_format"),
}
"""The word of every condition but the comparisons, with what it asks of the arguments."""


def names(condition: Any) -> tuple[str, ...]:
    """The parameters that a condition or term reads, in order."""
    return tuple(dict.fromkeys(_names(condition)))


def _names(found: Any) -> Any:
    if not isinstance(found, list) or not found:
        return
    word = found[0]
    if isinstance(word, list):
        for part in found:
            yield from _names(part)
    elif word in _READ or word in ("null", "notnull", "empty", "not_empty"):
        yield found[1]
        for part in found[2:]:
            yield from _names(part)
    elif isinstance(word, str) and word.startswith(("same_", "not_all_null")):
        yield from found[1:]
    elif word == "shape_of":
        yield found[1]
        yield from _names(found[2])
    elif word not in ("in", "notin"):
        for part in found[1:]:
            yield from _names(part)
    else:
        yield from _names(found[1])


def indexed(found: Any, index: int) -> Any:
    """A condition or term of every member, of one of them."""
    if isinstance(found, str):
        return found.replace("[]", f"[{index}]")
    return [indexed(part, index) for part in found] if isinstance(found, list) else found
