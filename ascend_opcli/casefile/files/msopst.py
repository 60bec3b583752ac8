"""msopst's JSON, comments allowed: each case expands into several by msopst's own rule.

After Ascend/msopgen, tools/msopst, and its guide. Cases describe kernels; they run where an aclnn entry has the
same parameters.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ascend_opcli.casefile.files import kernels, ranges, standards, texts
from ascend_opcli.casefile.files.positions import NotDefined
from ascend_opcli.casefile.files.written import Resolve, WrittenCase, arguments
from ascend_opcli.casefile.tree import clip
from ascend_opcli.errors import CaseFileError, OpcliError, did_you_mean
from ascend_opcli.model import Where
from ascend_opcli.tensors.dtypes import canonical

MAX_EXPANDED = 1000
"""Cases that msopst takes into one report."""

_BEGINS = re.compile(r"\s*\[\s*\{")
_REQUIRED = ("case_name", "op", "input_desc", "output_desc")
_AXES = ("format", "shape", "type", "data_distribute", "value_range")
_RANGE = [[0.1, 1.0]]
_OTHER = ("beta", "laplace", "triangular", "relu", "sigmoid", "softmax", "tanh")
_KNOWN = ("uniform", "normal", *_OTHER, "fuzz")


def recognises(head: str) -> bool:
    """Whether a file begins as a list of objects with msopst's keys."""
    head = texts.without_comments(head)
    return _BEGINS.match(head) is not None and all(
        f'"{key}"' in head for key in ("case_name", "op", "input_desc")
    )


def cases(text: str, file: str, resolve: Resolve) -> Iterator[WrittenCase]:
    """Every expanded case of the text, in its order. Raises CaseFileError where msopst would refuse the file."""
    seen: dict[str, Where] = {}
    count = 0
    for where, item in texts.items(texts.without_comments(text), file):
        if not isinstance(item, dict):
            raise CaseFileError("a case of an msopst file is an object", where)
        missing = [key for key in _REQUIRED if key not in item]
        if missing:
            raise CaseFileError(f"the case has no {', '.join(missing)}", where)
        name, op = item["case_name"], item["op"]
        if not isinstance(name, str) or not name or not isinstance(op, str) or not op:
            raise CaseFileError("case_name and op are text", where)
        if name in seen:
            raise CaseFileError(
                f"the case_name '{clip(name)}' is repeated; it stands on line {seen[name].line}", where
            )
        seen[name] = where
        for written in _expanded(item, name, where, resolve):
            count += 1
            if count > MAX_EXPANDED:
                raise CaseFileError(f"the file expands to more than {MAX_EXPANDED} cases", where)
            yield written


@dataclass(frozen=True, slots=True)
class _Desc:
    """One tensor of a case: its lists, and their product."""

    axes: Mapping[str, list[Any]]
    given: Mapping[str, Any]

    @property
    def count(self) -> int:
        """Points of the product."""
        return math.prod(len(v) for v in self.axes.values())

    def points(self) -> list[dict[str, Any]]:
        """The product, format slowest."""
        return [dict(zip(self.axes, point, strict=True)) for point in itertools.product(*self.axes.values())]


def _expanded(item: Mapping[str, Any], name: str, where: Where, resolve: Resolve) -> Iterator[WrittenCase]:
    operator = kernels.entry(str(item["op"]))
    try:
        inputs = [_desc(d, _AXES) for d in _objects(item["input_desc"], "input_desc")]
        outputs = [_desc(d, _AXES[:3]) for d in _objects(item["output_desc"], "output_desc")]
        _agree(inputs, outputs)
    except ValueError as error:
        raise CaseFileError(str(error), where) from None
    counted = inputs if len(inputs) > 1 else outputs or inputs
    count = counted[0].count if counted else 1
    if count > MAX_EXPANDED:
        raise CaseFileError(f"the case expands to {count:,} cases, more than {MAX_EXPANDED}", where)
    several = any(len(v) > 1 for d in (*inputs, *outputs) for v in d.axes.values())
    points = [[*d.points()] for d in (*inputs, *outputs)]
    for i in range(count):
        row = [p[i] if i < len(p) else p[-1] for p in points]
        first = row[0] if row else {"format": "ND", "type": "-"}
        label = f"{name}_{'sub_case' if several else 'case'}_{i + 1:03d}_{first['format']}_{first['type']}"
        yield _written(item, label, where, operator, resolve, inputs, row)


def _objects(listed: Any, what: str) -> list[Mapping[str, Any]]:
    if not isinstance(listed, list) or not all(isinstance(d, dict) for d in listed):
        raise ValueError(f"{what} is a list of objects")
    return listed


def _desc(given: Mapping[str, Any], axes: Sequence[str]) -> _Desc:
    made: dict[str, list[Any]] = {}
    for axis in axes:
        value: Any = given.get(axis)
        if axis == "shape":
            made[axis] = value if _is_list_of_lists(value) else [[] if value is None else value]
        elif axis == "value_range":
            value = _RANGE if value is None or value == [] else value
            made[axis] = value if _is_list_of_lists(value) else [value]
        elif axis == "data_distribute":
            made[axis] = value if isinstance(value, list) and value else [value or "uniform"]
        else:
            made[axis] = value if isinstance(value, list) else [value]
        if not made[axis]:
            raise ValueError(f"{axis} is an empty list")
    for axis in ("ori_format", "ori_shape"):
        if ("ori_format" in given) != ("ori_shape" in given):
            raise ValueError("ori_format and ori_shape go together")
        other: Any = given.get(axis)
        listed = _is_list_of_lists(other) if axis == "ori_shape" else isinstance(other, list)
        if listed and len(other) != len(made[axis.removeprefix("ori_")]):
            raise ValueError(f"{axis} has another length than {axis.removeprefix('ori_')}")
    return _Desc(made, given)


def _is_list_of_lists(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(v, list) for v in value)


def _agree(inputs: Sequence[_Desc], outputs: Sequence[_Desc]) -> None:
    """What msopst demands of the lists before it expands them."""
    for axis in _AXES[:3]:
        lengths = sorted({len(d.axes[axis]) for d in (*inputs, *outputs)})
        if len(lengths) > 1:
            raise ValueError(f"the lists of {axis} have different lengths: {' and '.join(map(str, lengths))}")
    counts = sorted({d.count for d in inputs})
    if len(counts) > 1:
        raise ValueError(f"the inputs expand to different numbers of cases: {' and '.join(map(str, counts))}")


# --- one expanded case ----------------------------------------------------------------------------------------


def _written(
    item: Mapping[str, Any],
    name: str,
    where: Where,
    operator: str,
    resolve: Resolve,
    descs: Sequence[_Desc],
    row: Sequence[Mapping[str, Any]],
) -> WrittenCase:
    try:
        expect = item.get("expect", "success")
        if expect != "success":
            raise NotDefined(f"it expects '{clip(str(expect))}', which names no status")
        try:
            found = resolve(operator)
        except OpcliError:
            raise NotDefined(f"there is no {operator}") from None
        inputs = [_tensor(d.given, point, single=d.count == 1) for d, point in zip(descs, row, strict=False)]
        outputs = [_tensor({}, point, single=True, made=False) for point in row[len(descs) :]]
        placed = kernels.same_parameters(found, inputs, outputs, _attributes(item.get("attr")))
        body = arguments(found, placed)
    except NotDefined as error:
        return WrittenCase(name, where, operator, None, f"kernel case: {error}")
    except (OpcliError, ValueError, TypeError, OverflowError) as error:
        return WrittenCase(name, where, operator, None, f"no call: {error}")
    standard, origin, skip = standards.of_msopst(item.get("error_threshold"))
    if standard is not None:
        body["standard"] = standard
    return WrittenCase(name, where, found.name, body, skip, origin)


def _attributes(listed: Any) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for one in _objects(listed or [], "attr"):
        name = one.get("name")
        if not isinstance(name, str) or "value" not in one:
            raise ValueError("an attr has a name and a value")
        if name in made:
            raise ValueError(f"the attr '{clip(name)}' is repeated")
        value = one["value"]
        if one.get("type") == "float" and isinstance(value, int) and not isinstance(value, bool):
            value = float(value)
        made[name] = value
    return made


def _tensor(
    given: Mapping[str, Any], point: Mapping[str, Any], *, single: bool, made: bool = True
) -> dict[str, Any] | None:
    word, style, shape = point["type"], point["format"], point["shape"]
    if word == "UNDEFINED" or style == "UNDEFINED":
        return None
    if "fuzz" in (word, style, shape, point.get("data_distribute")) or given.get("value_range") == "fuzz":
        raise NotDefined("fuzz values come from the code of fuzz_impl")
    if not isinstance(word, str) or not isinstance(style, str):
        raise ValueError("type and format are text")
    if not isinstance(shape, list) or not all(type(d) is int for d in shape):
        raise ValueError(f"{clip(str(shape))} is no shape")
    if any(d < 0 for d in shape):
        raise NotDefined(f"the shape {shape} is dynamic")
    _same_format(given, style)
    dtype = canonical(word)
    tensor: dict[str, Any] = {"dtype": dtype, "shape": shape}
    if style != "ND":
        tensor["format"] = style
    if made:
        own = given.get("value")
        if own is not None and not single:
            raise ValueError("value goes with one format, one shape, one type and one range")
        tensor["data"] = _own(own) if own is not None else _data(point, dtype)
    return tensor


def _same_format(given: Mapping[str, Any], style: str) -> None:
    """A format that differs from the original one is a private layout, which only the kernel sees."""
    ori = given.get("ori_format")
    first = ori[0] if isinstance(ori, list) and ori else ori
    if isinstance(first, str) and first not in (style, "ND"):
        raise NotDefined(f"the private format {style} of {first}")


def _own(value: Any) -> Any:
    if isinstance(value, str):
        return {"file": value}
    if isinstance(value, (list, int, float)):
        return value
    raise ValueError(f"value is a list or the path of a .bin file, not {clip(str(value))}")


def _data(point: Mapping[str, Any], dtype: str) -> Any:
    kind, span = point["data_distribute"], point["value_range"]
    if not isinstance(span, list) or len(span) != 2 or not all(map(ranges.is_real, span)):
        raise ValueError(f"value_range is [low, high], not {clip(str(span))}")
    low, high = span
    if kind in _OTHER:
        raise NotDefined(f"there is no generator for data_distribute {kind}")
    if kind == "normal":
        return ranges.normal(float(low), abs(float(high)) + 1e-4, dtype)
    if kind != "uniform":
        hint = did_you_mean(str(kind), _KNOWN)
        raise ValueError(f"unknown data_distribute '{clip(str(kind))}'{hint}")
    return {"integers": [0, 1]} if dtype == "bool" else ranges.interval(low, high, dtype)
