"""ATK's JSON: a list of cases, each with the inputs of one aclnn call in the order of its C prototype.

The format has no public definition; what is read here follows the public case files of ops-nn and ops-math
and the notes on ATK's config classes.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ascend_opcli.casefile.files import ranges, standards, texts
from ascend_opcli.casefile.files.positions import (
    ARRAY,
    TENSOR,
    TENSORS,
    VALUE,
    GivenArgument,
    NotDefined,
    place,
)
from ascend_opcli.casefile.files.written import Resolve, WrittenCase, arguments, scalar, scalars
from ascend_opcli.casefile.tree import clip
from ascend_opcli.errors import CaseFileError, OpcliError
from ascend_opcli.model import Where
from ascend_opcli.tensors.dtypes import canonical, of_acl

_BEGINS = re.compile(r"\s*\[\s*\{")
_LIST = re.compile(r"\s*\[[^\[\]]*\]\s*", re.ASCII)
_NUMBER = re.compile(r"\s*\d{1,4}\s*", re.ASCII)
_INTERVAL = re.compile(r"\s*([(\[])\s*([^,\s]+)\s*,\s*([^,\s]+)\s*([)\]])\s*")
_EMPTY = ("null", ["null"])

# How an attribute is held: in C's own kinds, whatever the torch side calls it.
_WHOLE = {
    "int",
    *(f"{sign}int{bits}{end}" for sign in ("", "u") for bits in (8, 16, 32, 64) for end in ("", "_t")),
}
_REAL = {"double", "float", "fp64", "fp32", "float32", "float64", "fp16", "bf16", "float16", "bfloat16"}
_TRUTH = {"bool", "attr_bool"}
_TEXT = {"string", "str", "non_param"}


def recognises(head: str) -> bool:
    """Whether a file begins as a list of objects with ATK's keys."""
    if _BEGINS.match(head) is None:
        return False
    return '"inputs"' in head and any(f'"{key}"' in head for key in ("api_type", "standard", "aclnn_name"))


def cases(text: str, file: str, resolve: Resolve) -> Iterator[WrittenCase]:
    """Every case of the text, in its order; the seed of its data is its id, as in ATK."""
    for number, (where, item) in enumerate(texts.items(text, file)):
        if not isinstance(item, dict):
            raise CaseFileError("a case of an ATK file is an object", where)
        yield _case(item, number, where, resolve)


def _case(item: Mapping[str, Any], number: int, where: Where, resolve: Resolve) -> WrittenCase:
    seed = item.get("id")
    seed = seed if type(seed) is int and 0 <= seed < 2**63 else number
    name = str(seed)
    called = item.get("aclnn_name")
    if not isinstance(called, str) or not called.strip():
        return WrittenCase(
            name, where, "-", None, "the JSON does not define the call: it names no aclnn operator"
        )
    operator = "aclnn" + clip(called.strip().removeprefix("aclnn"), 100)
    try:
        found = resolve(operator)
        given = _inputs(item.get("inputs"), ranges.Draws(seed))
        body = arguments(found, place(given, found))
    except NotDefined as error:
        said = f"the JSON does not define the call, its executor rewrites it: {error}"
        return WrittenCase(name, where, operator, None, said)
    except (OpcliError, ValueError, OverflowError) as error:
        return WrittenCase(name, where, operator, None, f"no call: {error}")
    if seed:
        body["seed"] = seed
    if item.get("is_boundary") is True:
        body["tags"] = ["boundary"]
    told = item.get("standard")
    standard, origin, skip = standards.of_atk(told.get("acc") if isinstance(told, dict) else told)
    if standard is not None:
        body["standard"] = standard
    return WrittenCase(name, where, found.name, body, skip, origin)


# --- inputs ---------------------------------------------------------------------------------------------------


def _inputs(listed: Any, draws: ranges.Draws) -> list[GivenArgument]:
    if not isinstance(listed, list):
        raise ValueError("its inputs are not a list")
    made: list[GivenArgument] = []
    for i, one in enumerate(listed):
        several = isinstance(one, list)
        members = one if several else [one]
        if not all(isinstance(m, dict) for m in members):
            raise ValueError(f"input {i} is not an object")
        # An argument of the CPU side only.
        if members and all(m.get("dtype") == "non_param" for m in members):
            continue
        made.append(_several(members, i, draws) if several else _one(one, str(i), draws))
    return made


def _dtype(written: Any) -> Any:
    """A dtype's word; a number, as text too, is a value of aclDataType."""
    if isinstance(written, str) and _NUMBER.fullmatch(written):
        written = int(written)
    return of_acl(written) if type(written) is int else written


def _several(members: Sequence[Mapping[str, Any]], place: int, draws: ranges.Draws) -> GivenArgument:
    each = [_one(m, f"{place}.{j}", draws) for j, m in enumerate(members)]
    name = each[0].name if each else ""
    kinds = {str(m.get("type")).rstrip("s").removesuffix("_tuple") for m in members}
    if not members:
        return GivenArgument(name, ARRAY, [])
    if len(kinds) > 1:
        raise ValueError(f"input {place} mixes {' and '.join(sorted(map(clip, kinds)))}")
    kind = kinds.pop()
    if kind == "tensor":
        return GivenArgument(name, TENSORS, [g.value for g in each])
    if kind == "scalar":
        found = {g.value["dtype"] for g in each}
        if len(found) > 1:
            raise NotDefined(f"the scalars of input {place} have several dtypes")
        return scalars([g.value["value"] for g in each], found.pop(), name)
    return GivenArgument(name, ARRAY, [g.value for g in each])


def _one(one: Mapping[str, Any], label: str, draws: ranges.Draws) -> GivenArgument:
    name = one.get("name")
    name = name if isinstance(name, str) else ""
    kind = str(one.get("type")).rstrip("s").removesuffix("_tuple")
    word = _dtype(one.get("dtype"))
    if not isinstance(word, str):
        raise ValueError(f"input {label} has no dtype")
    written = one.get("range_values")
    what = name or f"input {label}"
    if kind == "tensor":
        return GivenArgument(name, TENSOR, _tensor(one, word, written, label, draws))
    if kind == "scalar":
        dtype = "int64" if word == "int" else canonical(word.removesuffix("_t"))
        return scalar(_value(written, _kind_of(dtype), label, draws, what), dtype, name)
    if kind == "attr":
        return _attribute(name, word, written, label, draws, what)
    raise ValueError(f"{what} is of the unknown type '{clip(kind)}'")


def _tensor(
    one: Mapping[str, Any], word: str, written: Any, label: str, draws: ranges.Draws
) -> dict[str, Any]:
    dtype = canonical(word.removesuffix("_t"))
    shape = one.get("shape")
    if shape is None:
        shape = [1]
    if not isinstance(shape, list) or not all(type(d) is int and d >= 0 for d in shape):
        raise ValueError(f"the shape {clip(str(shape))} of input {label} is none")
    made: dict[str, Any] = {"dtype": dtype, "shape": shape}
    if written in _EMPTY:
        # An empty tensor: the rank stays, so that axes keep their meaning.
        return made | {"shape": [0, *shape[1:]]}
    data = _data(written, dtype, label, draws)
    if data is not None:
        made["data"] = data
    style = one.get("format")
    style = style[0] if isinstance(style, list) and style else style
    if isinstance(style, str) and style not in ("", "ND"):
        made["format"] = style
    return made


def _data(written: Any, dtype: str, label: str, draws: ranges.Draws) -> Any:
    """Data of a range; None leaves it to the operator's default."""
    if written is None or written == "default":
        return None
    if isinstance(written, dict):
        mean, deviation = _moments(written, label, draws)
        return ranges.normal(mean, deviation, dtype)
    if isinstance(written, str):
        found = _INTERVAL.fullmatch(written)
        if found is not None:
            low, high = ranges.number(found[2]), ranges.number(found[3])
            if low is None or high is None:
                raise ValueError(f"the range '{clip(written)}' of input {label} has no numbers")
            return ranges.interval(low, high, dtype, open_low=found[1] == "(", open_high=found[4] == ")")
    values = [ranges.number(v) for v in (written if isinstance(written, list) else [written])]
    known = [v for v in values if v is not None]
    if not known or len(known) != len(values):
        raise ValueError(f"the range {clip(str(written))} of input {label} is not known")
    if len(known) == 1:
        return ranges.constant(known[0], dtype)
    if len(known) > 2:
        return {"choice": [ranges.constant(v, dtype) for v in known]}
    return ranges.interval(known[0], known[1], dtype)


def _moments(written: Mapping[str, Any], label: str, draws: ranges.Draws) -> tuple[float, float]:
    """Mean and standard deviation, each drawn from its interval."""
    drawn = []
    for key, default in zip(("mean", "std"), ranges.DEFAULT_NORMAL, strict=True):
        pair = written.get(key, default)
        pair = [pair, pair] if ranges.is_real(pair) else pair
        if not isinstance(pair, (list, tuple)) or len(pair) != 2 or not all(map(ranges.is_real, pair)):
            raise ValueError(f"the {key} {clip(str(pair))} of input {label} is no interval")
        drawn.append(float(draws.between(float(pair[0]), float(pair[1]), f"{label} {key}")))
    return drawn[0], drawn[1]


# --- scalars and attributes -----------------------------------------------------------------------------------


def _kind_of(dtype: str) -> str:
    if dtype == "bool":
        return "truth"
    return "whole" if dtype.startswith(("int", "uint")) else "real"


def _attribute(
    name: str, word: str, written: Any, label: str, draws: ranges.Draws, what: str
) -> GivenArgument:
    if word in _TEXT or word == "torch_dtype":
        value = draws.one_of(written, label) if isinstance(written, list) and written else written
        value = _dtype(value) if word == "torch_dtype" else value
        if not isinstance(value, str):
            raise ValueError(f"{what} is no text: {clip(str(value))}")
        return GivenArgument(name, VALUE, canonical(value) if word == "torch_dtype" else value)
    kind = next(
        (k for k, words in (("whole", _WHOLE), ("real", _REAL), ("truth", _TRUTH)) if word in words), None
    )
    if kind is None:
        raise ValueError(f"{what} has the unknown dtype '{clip(word)}'")
    listed = _as_list(written) if isinstance(written, str) else None
    if listed is not None:
        return GivenArgument(
            name, ARRAY, [_value(v, kind, f"{label}.{i}", draws, what) for i, v in enumerate(listed)]
        )
    return GivenArgument(name, VALUE, _value(written, kind, label, draws, what))


def _as_list(text: str) -> list[Any] | None:
    """A list that is written as text, ``"[7, 11]"``."""
    if _LIST.fullmatch(text) is None:
        return None
    return [v.strip() for v in text.strip()[1:-1].split(",") if v.strip()]


def _value(written: Any, kind: str, label: str, draws: ranges.Draws, what: str) -> Any:
    """One number: a constant, or drawn from an interval or a list."""
    value: Any = written
    if isinstance(written, dict):
        mean, deviation = _moments(written, label, draws)
        value = draws.normal(mean, deviation, label)
    elif isinstance(written, list) and len(written) == 2 and kind != "truth":
        low, high = (ranges.number(v) for v in written)
        if low is None or high is None:
            raise ValueError(f"the range {clip(str(written))} of {what} is not known")
        ends = [low, high] if kind == "whole" else [float(low), float(high)]
        if not all(map(math.isfinite, ends)):
            value = draws.one_of(ends, label)
        else:
            value = draws.between(min(ends), max(ends), label)
    elif isinstance(written, list):
        value = draws.one_of(written, label) if written else None
    found = ranges.number(value)
    if found is None:
        raise ValueError(f"the value {clip(str(value))} of {what} is no number")
    if kind == "truth":
        return bool(found)
    if kind == "real":
        return float(found)
    if not math.isfinite(found):
        raise ValueError(f"{what} is a whole number and cannot be {found}")
    return round(found)
