"""Operator calls made by hand, and comparisons that see NaN and the sign of zero."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ascend_opcli.model import Argument, Attribute, Call, Case, Data, TensorSpec, Values, Where
from ascend_opcli.operators.catalog import find
from ascend_opcli.operators.operator import Operator
from ascend_opcli.reference.call import make_call
from ascend_opcli.reference.evaluate import Golden, golden, host_result
from ascend_opcli.tensors.layout import resolve

NAN, INF = float("nan"), float("inf")
FLOATS = ("float32", "float16", "bfloat16")
FIVE = ("logit_grad", "elu_backward", "batch_norm_elemt_backward", "threshold_backward", "amp_update_scale")


def tensor(
    dtype: str, data: Any = None, shape: Sequence[int] | None = None, *, format: str = "ND", **layout: Any
) -> TensorSpec:
    """A tensor of a list, an array or declared data; of an output (``data`` None) only the shape counts."""
    if data is None or isinstance(data, Data):
        assert shape is not None
        values: Data | None = data
    else:
        array = np.asarray(data)
        shape = array.shape if shape is None else shape
        if array.dtype.kind not in "biufc":  # bfloat16
            array = array.astype(np.float64)
        values = Values(tuple(array.reshape(-1).tolist()))
    strides, offset, storage, word = resolve(tuple(shape), **layout)
    return TensorSpec(dtype, tuple(shape), values, strides, offset, storage, word, format)


def arguments(operator: Operator, **given: Any) -> dict[str, Argument]:
    """Every parameter in order: tensors as given, plain values as attributes, the rest by the operator."""
    made: dict[str, Argument] = {}
    for param in operator.signature.params:
        if param.name in given:
            value = given[param.name]
            plain = value is not None and not isinstance(value, (TensorSpec, Attribute, tuple))
            made[param.name] = Attribute(value) if plain else value
        elif not param.is_tensor:
            made[param.name] = Attribute(operator.defaults[param.name])
    for param in operator.signature.outputs:
        if param.name not in made:
            made[param.name] = tensor(*_typed(operator.infer_output(param.name, made)))
    assert not set(given) - set(made)
    return {p.name: made[p.name] for p in operator.signature.params}


def _typed(dtype_and_shape: tuple[str, tuple[int, ...]]) -> tuple[str, None, tuple[int, ...]]:
    return dtype_and_shape[0], None, dtype_and_shape[1]


def call_of(operator: Operator, made: Mapping[str, Argument], product: str = "atlas_a2") -> Call:
    """The call with its arrays."""
    return make_call(
        Case("here", "here", operator.name, made, Where("here", 1, 1)), operator.signature, product
    )


@dataclass
class Both:
    """What golden and host result of one call are."""

    golden: Golden
    host: dict[str, np.ndarray]


def run(name: str | Operator, **given: Any) -> Both:
    """Golden and host result of a call."""
    operator = find(name) if isinstance(name, str) else name
    call = call_of(operator, arguments(operator, **given))
    return Both(golden(operator, call), host_result(operator, call))


def wide(array: Any) -> np.ndarray:
    """Any real array in float64."""
    return np.asarray(array).astype(np.float64)


def identical(got: Any, want: Any) -> bool:
    """Equal in every value, NaN where NaN, and zeros of the same sign."""
    a, b = wide(got).reshape(-1), wide(want).reshape(-1)
    if a.shape != b.shape:
        return False
    nan = np.isnan(a) & np.isnan(b)
    return bool((nan | ((a == b) & (np.signbit(a) == np.signbit(b)))).all())


def check(result: Both, name: str, want: Any, *, host: Any = None, rel: float = 0.0) -> None:
    """Golden (and host, unless it is given apart) are ``want``: to the bit, or within ``rel``."""
    for what, got, expected in (
        ("golden", result.golden.outputs[name], want),
        ("host", result.host[name], want if host is None else host),
    ):
        if rel:
            np.testing.assert_allclose(
                wide(got).reshape(-1), wide(expected).reshape(-1), rtol=rel, atol=0, err_msg=what
            )
        else:
            assert identical(got, expected), f"{what}: {wide(got).reshape(-1).tolist()}, expected {expected}"


def ulps(got: Any, want: Any, dtype: str) -> np.ndarray:
    """Distance in spacings of ``dtype`` at ``want``; 0 where both are NaN or the same Inf, Inf where only one is."""
    mantissa, low, largest = {
        "float64": (52, -1022, np.finfo(np.float64).max),
        "float32": (23, -126, float(np.finfo(np.float32).max)),
        "float16": (10, -14, 65504.0),
        "bfloat16": (7, -126, math.ldexp(255.0, 120)),
    }[dtype]
    a, b = wide(got).reshape(-1), wide(want).reshape(-1)
    with np.errstate(all="ignore"):
        exponent = np.frexp(np.minimum(np.abs(b), largest))[1] - 1
        step = np.ldexp(1.0, np.maximum(exponent, low) - mantissa)
        away = np.abs(a - b) / step
    same = (np.isnan(a) & np.isnan(b)) | (a == b)
    away = np.where(np.isfinite(a) & np.isfinite(b), away, INF)
    return np.where(same, 0.0, away)
