"""Casts, copies, fills and sequences: tensors that are made rather than calculated."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from ascend_opcli.model import Shape
from ascend_opcli.operators import catalogued
from ascend_opcli.operators.contract import scalar_dtype
from ascend_opcli.operators.families import Row, build, signature_of
from ascend_opcli.operators.operator import (
    Arguments,
    Divergence,
    Operator,
    Reference,
    Undefined,
    attribute_value,
    first_spec,
)
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


def arange(start: Any, end: Any, step: Any) -> Any:
    return start + step * np.arange(_steps(start, end, step, math.ceil))


def value_range(start: Any, end: Any, step: Any) -> Any:
    return start + step * np.arange(_steps(start, end, step, math.floor) + 1)


def _steps(start: Any, end: Any, step: Any, rounding: Any) -> int:
    return max(int(rounding((float(end) - float(start)) / float(step))), 0) if step else 0


def linspace(start: Any, end: Any, steps: Any) -> Any:
    """Both halves from their own end, so that both ends are exact."""
    if steps < 0:
        raise Undefined(f"{int(steps)} steps")
    if steps <= 1:
        return np.full(int(steps), float(start))
    gap, places = (float(end) - float(start)) / (int(steps) - 1), np.arange(int(steps))
    back = int(steps) - 1 - places
    return np.where(places < int(steps) // 2, float(start) + gap * places, float(end) - gap * back)


def _length(made: Any) -> Any:
    names = ("start", "end", "step")

    def rule(arguments: Arguments) -> tuple[str, Shape] | None:
        start, end, step = (attribute_value(arguments, n) for n in names)
        if start is None or end is None or not step:
            return None
        words = [scalar_dtype(arguments.get(n)) for n in names]
        whole = all(w is not None and DTYPES[w].kind in ("int", "uint", "bool") for w in words)
        return "int64" if whole else "float32", (made(start, end, step).size,)

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


_ZEROED = "selfRef = {}"

ZERO_ONE: Mapping[str, Row] = {
    "aclnnInplaceZero": Row(np.zeros_like, _ZEROED.format("0")),
    "aclnnInplaceOne": Row(np.ones_like, _ZEROED.format("1")),
    "aclnnTensorMove": Row(lambda x: x, "y = x"),
}

OPERATORS = (
    *(build(name, one) for name, one in ZERO_ONE.items()),
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
        outputs={"out": _length(arange)},
        sample_attributes={"start": 0.0, "end": 8.0, "step": 0.5},
    ),
    _operator(
        "aclnnRange",
        value_range,
        summary="out = start, start + step, ... up to end",
        outputs={"out": _length(value_range)},
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
