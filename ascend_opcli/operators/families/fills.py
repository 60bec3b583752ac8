"""Casts, copies, fills and sequences: tensors that are made rather than calculated."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ascend_opcli.model import Attribute, Call, Shape
from ascend_opcli.operators.declare import (
    Arguments,
    Divergence,
    Operator,
    OutputRule,
    Reference,
    Undefined,
    attribute_value,
    declare,
    first_spec,
    scalar_dtype,
    signature_of,
)
from ascend_opcli.operators.documents import catalogued
from ascend_opcli.tensors.dtypes import DTYPES, numpy_dtype, round_to


def cast(values: Any, word: str) -> Any:
    """Values in another dtype: floats to integers by cutting the fraction, NaN to 0, clipped to the range.

    Integers keep their low bits in a narrower one, complex values their real part, and bool is whether a value
    is not 0.
    """
    kind = DTYPES[word].kind
    if values.dtype.kind == "c" and kind not in ("complex", "bool"):
        values = values.real
    if kind in ("int", "uint"):
        if values.dtype.kind in "biu":
            return values.astype(numpy_dtype(word))
        return round_to(np.trunc(values), word)
    return values != 0 if kind == "bool" else values


_CAST = (
    Divergence(
        "a float beyond the range of an integer dtype is clipped to it; the document speaks of NaN (0) only"
    ),
    Divergence("an integer keeps its low bits in a narrower dtype; the document says so of no dtype"),
)


def _cast(self: Any, dtype: Any, dtypes: Any) -> Any:
    return cast(self, dtypes["out"] or dtype)


def _cast_output(arguments: Arguments) -> tuple[str, Shape] | None:
    spec, word = first_spec(arguments.get("self")), attribute_value(arguments, "dtype")
    return (str(word), spec.shape) if spec is not None and word in DTYPES else None


def _copy(selfRef: Any, src: Any, dtypes: Any) -> Any:
    return np.broadcast_to(cast(src, dtypes["selfRef"]), selfRef.shape)


def _fill_scalar(selfRef: Any, value: Any, dtypes: Any) -> Any:
    return np.broadcast_to(cast(np.asarray([value]), dtypes["selfRef"]), selfRef.shape)


def _fill_tensor(selfRef: Any, value: Any, dtypes: Any) -> Any:
    return np.broadcast_to(cast(value.reshape(-1)[:1], dtypes["selfRef"]), selfRef.shape)


# --- sequences ------------------------------------------------------------------------------------------------


def arange(start: Any, step: Any, call: Call) -> Any:
    return start + step * np.arange(below_end(call.arguments))


def value_range(start: Any, step: Any, call: Call) -> Any:
    return start + step * np.arange(up_to_end(call.arguments))


def below_end(arguments: Mapping[str, Any]) -> int:
    """The length of start, start + step, ... below end."""
    return max(math.ceil(_steps(arguments)), 0)


def up_to_end(arguments: Mapping[str, Any]) -> int:
    """The length of start, start + step, ... up to end, which belongs to it."""
    return max(math.floor(_steps(arguments)) + 1, 0)


def _steps(arguments: Mapping[str, Any]) -> float:
    """The steps from start to end, in double as the operators count them. Raises Undefined where there is no number."""
    start, end, step = (_in_double(arguments, n) for n in ("start", "end", "step"))
    many = (end - start) / step if step else math.nan
    if not math.isfinite(many):
        raise Undefined(f"there is no number of steps of {step:g} from {start:g} to {end:g}")
    return many


def _in_double(arguments: Mapping[str, Any], name: str) -> float:
    """An aclScalar as ToDouble gives it: rounded to its own dtype first, where it has one."""
    given = arguments.get(name)
    if not isinstance(given, Attribute) or isinstance(given.value, (str, tuple, complex)):
        raise Undefined(f"{name} is no real number")
    if given.dtype is None:
        return float(given.value)
    return float(round_to(np.asarray([given.value]), given.dtype)[0])


def linspace(start: Any, end: Any, steps: Any) -> Any:
    """Both halves from their own end, so that both ends are exact."""
    if steps < 0:
        raise Undefined(f"{int(steps)} steps")
    if steps <= 1:
        return np.full(int(steps), float(start))
    gap, places = (float(end) - float(start)) / (int(steps) - 1), np.arange(int(steps))
    back = int(steps) - 1 - places
    return np.where(places < int(steps) // 2, float(start) + gap * places, float(end) - gap * back)


def _length(count: Callable[[Arguments], int]) -> OutputRule:
    def rule(arguments: Arguments) -> tuple[str, Shape] | None:
        words = [scalar_dtype(arguments.get(n)) for n in ("start", "end", "step")]
        whole = all(w is not None and DTYPES[w].kind in ("int", "uint", "bool") for w in words)
        return "int64" if whole else "float32", (count(arguments),)

    return rule


def _linspace_output(arguments: Arguments) -> tuple[str, Shape] | None:
    return "float32", (max(int(attribute_value(arguments, "steps") or 0), 0),)


def eye(n: Any, m: Any) -> Any:
    return np.eye(int(n), int(m) if m > 0 else int(n), dtype=np.int8)


def _eye_output(arguments: Arguments) -> tuple[str, Shape] | None:
    n, m = (int(attribute_value(arguments, name) or 0) for name in ("n", "m"))
    return "float32", (max(n, 0), m if m > 0 else max(n, 0))


def _operator(name: str, reference: Reference, **changes: Any) -> Operator:
    return catalogued.with_reference(name, reference, signature=signature_of(name), **changes)


OPERATORS = (
    declare("InplaceZero", np.zeros_like, "selfRef = 0"),
    declare("InplaceOne", np.ones_like, "selfRef = 1"),
    declare("TensorMove", lambda x: x, "y = x"),
    _operator(
        "aclnnCast",
        _cast,
        summary="out = self in another dtype: floats are cut to integers, NaN is 0 there",
        outputs={"out": _cast_output},
        elementwise=True,
        divergences=_CAST,
        sample_attributes={"dtype": "float16"},
    ),
    _operator("aclnnInplaceCopy", _copy, summary="selfRef = src in selfRef's dtype", divergences=_CAST),
    _operator(
        "aclnnInplaceFillScalar", _fill_scalar, summary="selfRef = value", sample_attributes={"value": 2.0}
    ),
    _operator(
        "aclnnInplaceFillTensor",
        _fill_tensor,
        summary="selfRef = value, a tensor of one element",
        short={"value": lambda dtype, _shape: (dtype, (1,))},
    ),
    _operator(
        "aclnnArange",
        arange,
        summary="out = start, start + step, ... below end",
        outputs={"out": _length(below_end)},
        sample_attributes={"start": 0.0, "end": 8.0, "step": 0.5},
    ),
    _operator(
        "aclnnRange",
        value_range,
        summary="out = start, start + step, ... up to end",
        outputs={"out": _length(up_to_end)},
        sample_attributes={"start": 0.0, "end": 8.0, "step": 0.5},
    ),
    _operator(
        "aclnnLinspace",
        linspace,
        summary="out = steps values from start to end, evenly apart",
        outputs={"out": _linspace_output},
        sample_attributes={"start": 0.0, "end": 1.0, "steps": 9},
    ),
    _operator(
        "aclnnEye",
        eye,
        summary="out = 1 on the diagonal, 0 elsewhere",
        outputs={"out": _eye_output},
        sample_attributes={"n": 3, "m": 4},
    ),
)
