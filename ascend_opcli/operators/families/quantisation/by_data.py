"""Quantisation whose scale is found in the data: of a row, a channel or a whole tensor, alone or after SwiGLU.

scale = max |x| / D, y = round(x / scale); not symmetrical: scale = (max x - min x) / (D - least), offset =
D - max x / scale, y = round(x / scale + offset), D and least being the bounds of the output's type. The formulas are
those of the aclnn documents. Where the scale is 0 or infinite, the kernels go on with the quotients as they are: those
that are NaN give the integer 0.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ascend_opcli.model import Shape
from ascend_opcli.operators.declare import TensorRule, Undefined, axis_of, declare, uniform
from ascend_opcli.operators.families.activations.forward import silu
from ascend_opcli.operators.families.quantisation.by_scales import dequantised
from ascend_opcli.operators.families.quantisation.codes import (
    ENDS,
    LARGEST,
    along,
    chosen,
    coded,
    groups_of,
    quantised,
    unpacked,
)
from ascend_opcli.tensors.dtypes import DTYPES, integer_range
from ascend_opcli.tensors.special import sigmoid

_RESERVED = ("atlas_inference", "atlas_training")
"""Products on which smoothing scales and group indices are parameters without effect, and all is symmetrical."""

# --- scales ---------------------------------------------------------------------------------------------------


def symmetric(values: Any, word: str, axis: int | None = -1) -> tuple[Any, Any]:
    """y and scale of ``values``, the scale with 1 in place of ``axis``, or of every one where that is None."""
    scale = _checked(values, np.abs(values).max(axis=axis, keepdims=True, initial=0), word) / LARGEST[word]
    return quantised(_bounded(values / scale, word), word), scale


def _asymmetric(values: Any, word: str, axis: int | None) -> tuple[Any, Any, Any]:
    high = values.max(axis=axis, keepdims=True, initial=-np.inf)
    least = integer_range(word)[0] if DTYPES[word].kind == "int" else -LARGEST[word]
    span = high - values.min(axis=axis, keepdims=True, initial=np.inf)
    scale = _checked(values, span, word) / (LARGEST[word] - least)
    offset = LARGEST[word] - high / scale
    return quantised(_bounded(values / scale + offset, word), word), scale, offset


def _bounded(values: Any, word: str) -> Any:
    """The largest value may come out a rounding error beyond the largest of a float8."""
    return np.clip(values, -LARGEST[word], LARGEST[word]) if DTYPES[word].kind == "float" else values


def _checked(values: Any, size: Any, word: str) -> Any:
    whole = DTYPES[word].kind == "int"
    if np.isnan(values).any() or not (whole or np.isfinite(values).all()):
        raise Undefined("a value is not finite, and the documents do not say what becomes of the scale")
    if not (whole or size.all()):
        raise Undefined("the scale would be 0, and the documents do not say what becomes of the quotient")
    return size


def _smoothed(x: Any, smooth: Any, group: Any, name: str = "groupIndexOptional") -> Any:
    """x times the smoothing scales, those of the row's group where there are groups."""
    if smooth is None:
        if group is not None:
            raise Undefined(f"{name} without smoothing scales")
        return x
    if group is None:
        if smooth.size != x.shape[-1]:
            raise Undefined(f"the smoothing scales are {smooth.size}, the last axis is {x.shape[-1]}")
        return x * smooth.reshape(-1)
    if smooth.shape != (group.size, x.shape[-1]):
        raise Undefined(
            f"the smoothing scales {list(smooth.shape)} are not one row for each of {group.size} groups"
        )
    rows = groups_of(group, int(np.prod(x.shape[:-1], dtype=np.int64)), name)
    return (x.reshape(-1, x.shape[-1]) * smooth[rows]).reshape(x.shape)


# --- alone ----------------------------------------------------------------------------------------------------


def _dynamic(x: Any, smooth: Any, dtypes: Any, call: Any) -> Any:
    """yOut and scaleOut of each row."""
    smooth = None if call.product in _RESERVED else smooth
    made, scale = symmetric(_smoothed(x, smooth, None), unpacked(dtypes["yOut"]))
    return made, scale[..., 0]


def _dynamic_v2(x: Any, smooth: Any, group: Any, dstType: Any, dtypes: Any, call: Any) -> Any:
    """yOut, scaleOut and offsetOut of each row; symmetrical where there is no offsetOut (aclnn_dynamic_quant.cpp)."""
    if call.outputs["offsetOut"] is None:
        smooth, group = (None, None) if call.product in _RESERVED else (smooth, group)
        made, scale = symmetric(_smoothed(x, smooth, group), chosen(dstType, dtypes["yOut"]))
        return made, scale[..., 0], None
    if call.product in _RESERVED:
        raise Undefined(
            "the product quantises symmetrically, and the documents do not say what offsetOut holds then"
        )
    made, scale, offset = _asymmetric(_smoothed(x, smooth, group), chosen(dstType, dtypes["yOut"]), -1)
    return made, scale[..., 0], offset[..., 0]


_AXES: dict[str, int | None] = {"pertoken": -1, "perchannel": -2, "pertensor": None}


def _dynamic_v3(
    x: Any, smooth: Any, group: Any, dstType: Any, symmetrical: Any, quantMode: Any, dtypes: Any
) -> Any:
    """yOut, scaleOut and offsetOut of each token, each channel or the tensor."""
    word = chosen(dstType, dtypes["yOut"])
    if quantMode not in _AXES:
        raise Undefined(f"quantMode {quantMode!r} is none of {', '.join(_AXES)}")
    axis = _AXES[quantMode]
    if group is not None and axis != -1:
        raise Undefined("groupIndexOptional is for the mode pertoken")
    if smooth is not None and axis == -2:
        if smooth.size != x.shape[-2]:
            raise Undefined(
                f"the smoothing scales are {smooth.size}, the axis before the last is {x.shape[-2]}"
            )
        values = x * smooth.reshape(-1, 1)
    else:
        values = _smoothed(x, smooth, group)
    if bool(symmetrical):
        made, scale = symmetric(values, word, axis)
        return made, _dropped(scale, axis), None
    made, scale, offset = _asymmetric(values, word, axis)
    return made, _dropped(scale, axis), _dropped(offset, axis)


def _dynamic_v4(
    x: Any, smooth: Any, group: Any, dst: Any, symmetrical: Any, mode: Any, _dstTypeMax: Any, dtypes: Any
) -> Any:
    """The same; dstTypeMax is for hifloat8 alone."""
    return _dynamic_v3(x, smooth, group, dst, symmetrical, mode, dtypes)


def _dropped(values: Any, axis: int | None) -> Any:
    return values.reshape(1) if axis is None else np.squeeze(values, axis)


def _dropped_shape(shape: Shape, mode: str) -> Shape:
    axis = _AXES.get(mode, -1)
    return (1,) if axis is None else tuple(d for i, d in enumerate(shape) if i != len(shape) + axis)


# --- after SwiGLU ---------------------------------------------------------------------------------------------


def _swiglu(x: Any, left: Any) -> Any:
    if x.shape[-1] % 2:
        raise Undefined("the last axis of x is odd")
    a, b = np.split(x, 2, axis=-1)
    return silu(a) * b if bool(left) else silu(b) * a


def _swiglu_quant(
    x: Any, smooth: Any, offsets: Any, group: Any, left: Any, mode: Any, counted: Any, dst: Any, dtypes: Any
) -> Any:
    """yOut; of scaleOut the documents do not say which way round it is, nor what it holds in the static mode."""
    word = chosen(dst, dtypes["yOut"])
    act = _swiglu(x, left)
    if smooth is None:
        raise Undefined("smoothScalesOptional is null")
    if int(counted) not in (0, 1):
        raise Undefined(f"groupListType {int(counted)} is neither 0 nor 1")
    rows = int(np.prod(act.shape[:-1], dtype=np.int64))
    if group is None:
        places = np.zeros(rows, np.int64)
    else:
        places = groups_of(np.cumsum(group) if int(counted) else group, rows, "groupIndexOptional")
    flat = act.reshape(rows, -1)
    made = flat * _of_groups("smoothScalesOptional", smooth, places, flat, group)
    if mode in (None, "dynamic"):
        return symmetric(made, word)[0].reshape(act.shape), None
    if mode != "static":
        raise Undefined(f"quantModeOptional {mode!r} is neither dynamic nor static")
    if offsets is None:
        raise Undefined("offsetsOptional is null in the static mode")
    made = made + _of_groups("offsetsOptional", offsets, places, flat, group)
    return quantised(made, word).reshape(act.shape), None


def _of_groups(name: str, values: Any, places: Any, flat: Any, group: Any) -> Any:
    """[G, N] or [G], a row or a number for each group, as rows of ``flat``."""
    count = 1 if group is None else group.size
    if values.shape not in ((count,), (count, flat.shape[-1]), (count, 1)):
        raise Undefined(f"{name} {list(values.shape)} is neither [{count}, {flat.shape[-1]}] nor [{count}]")
    return values.reshape(count, -1)[places]


def _swiglu_quant_v1(x: Any, smooth: Any, offsets: Any, group: Any, left: Any, mode: Any, dtypes: Any) -> Any:
    """The same, with groups and int8 only."""
    if group is None:
        raise Undefined("groupIndexOptional is null, and the documents know the call with groups only")
    return _swiglu_quant(x, smooth, offsets, group, left, mode, 0, 2, dtypes)


def _dequant_swiglu(
    x: Any, weight: Any, activation: Any, bias: Any, scale: Any, offset: Any, group: Any, left: Any, mode: Any,
    dtypes: Any,
) -> Any:  # fmt: skip
    """yOut and scaleOut of each row, x being dequantised where it is int32."""
    act = _swiglu(_dequantised(x, weight, activation, bias, group), left)
    return _requantised(act, scale, offset, mode, unpacked(dtypes["yOut"]))


def _dequant_swiglu_v2(
    x: Any, weight: Any, activation: Any, bias: Any, scale: Any, offset: Any, group: Any, left: Any, mode: Any,
    dst: Any, roundMode: Any, activateDim: Any, swigluMode: Any, clamp: Any, alpha: Any, glu: Any, dtypes: Any,
) -> Any:  # fmt: skip
    """The same with a type of one's own and a SwiGLU that is clamped in the modes 1, 2 and 3."""
    word = chosen(dst, dtypes["yOut"])
    place = axis_of(activateDim, x.ndim)
    if roundMode not in (None, "rint"):
        raise Undefined("roundMode is rint for int8 and float8")
    if place != x.ndim - 1 and (int(swigluMode) or mode == "dynamic"):
        raise Undefined(
            "along another axis than the last only swigluMode 0 and the mode static are documented"
        )
    x = np.moveaxis(_dequantised(x, weight, activation, bias, group), place, -1)
    act = np.moveaxis(_variant(x, left, int(swigluMode), clamp, alpha, glu), -1, place)
    return _requantised(act, scale, offset, mode, word)


def _variant(x: Any, left: Any, mode: int, clamp: Any, alpha: Any, glu: Any) -> Any:
    """SwiGLU, or one of its kind that clamps: alternating (1) or halved (2) with alpha and bias, or plain (3)."""
    if mode == 0:
        return _swiglu(x, left)
    if mode not in (1, 2, 3) or not bool(left):
        raise Undefined(f"swigluMode {mode} is none of 0 to 3, or activateLeft is false beside one of 1 to 3")
    if x.shape[-1] % 2:
        raise Undefined("the last axis of x is odd")
    gate, linear = (x[..., ::2], x[..., 1::2]) if mode == 1 else np.split(x, 2, axis=-1)
    linear = np.clip(linear, -clamp, clamp)
    if mode == 3:
        return np.minimum(silu(gate), clamp) * linear
    gate = np.minimum(gate, clamp)
    return gate * sigmoid(alpha * gate) * (linear + glu)


def _dequantised(x: Any, weight: Any, activation: Any, bias: Any, group: Any) -> Any:
    if group is not None:
        raise Undefined("the documents do not say what groupIndexOptional does")
    if x.dtype.kind == "i":
        if weight is None:
            raise Undefined("x is int32 and weightScaleOptional null")
        return dequantised(x, weight.reshape(-1), activation, None if bias is None else bias.reshape(-1))
    if any(given is not None for given in (weight, activation, bias)):
        raise Undefined("x is dequantised already, and there are scales or a bias of it")
    return x


def _requantised(act: Any, scale: Any, offset: Any, mode: Any, word: str) -> Any:
    """Row by row after smoothing, or in the mode static, the one of a null pointer, by a given scale and offset."""
    if mode == "dynamic":
        if offset is not None:
            raise Undefined("the documents do not say what quantOffsetOptional does in the mode dynamic")
        made, found = symmetric(_smoothed(act, scale, None), word)
        return made, found[..., 0]
    if mode not in (None, "static"):
        raise Undefined(f"quantModeOptional {mode!r} is neither dynamic nor static")
    if scale is None or offset is None:
        raise Undefined("the mode static needs quantScaleOptional and quantOffsetOptional")
    if not scale.all():
        raise Undefined("a scale is 0")
    last = act.ndim - 1
    made = act / along("quantScaleOptional", scale, act, last) + along(
        "quantOffsetOptional", offset, act, last
    )
    return quantised(made, word), None


# --- declarations ---------------------------------------------------------------------------------------------


def _width(dtype: str, shape: Shape) -> tuple[str, Shape]:
    return dtype, shape[-1:]


def _none(_dtype: str, _shape: Shape) -> None:
    return None


def _if_integer(follows: Callable[[Shape], Shape]) -> TensorRule:
    """A scale of what is to be dequantised; floats are dequantised already."""
    return lambda dtype, shape: ("float32", follows(shape)) if dtype == "int32" else None


def _rows_of_groups(dtype: str, shape: Shape) -> tuple[str, Shape]:
    return dtype, (3, shape[-1])


def _three(_dtype: str, _shape: Shape) -> tuple[str, Shape]:
    return "int32", (3,)


def _by_rows(x: Any, dst: Any = 2) -> list[tuple[str, Shape]]:
    return [coded(dst, x.shape), *[("float32", x.shape[:-1])] * 2]


def _by_mode(x: Any, _smooth: Any, _group: Any, dst: Any, _symmetrical: Any, mode: Any, *_max: Any) -> Any:
    kept = ("float32", _dropped_shape(x.shape, mode))
    return [coded(dst, x.shape), kept, kept]


def _half(x: Any, dst: Any = 2, dim: Any = -1) -> Any:
    place = axis_of(dim, len(x.shape))
    shape = tuple(d // 2 if i == place else d for i, d in enumerate(x.shape))
    return [coded(dst, shape), ("float32", shape[:-1])]


_GROUPS: dict[str, Any] = {
    "sample_shape": (2, 3, 4),
    "short": {"smoothScalesOptional": _rows_of_groups, "groupIndexOptional": _three},
    "data": {"smoothScalesOptional": uniform(0.5, 2.0), "groupIndexOptional": ENDS},
    "standard": "quant",
}
_SWIGLU: dict[str, Any] = {
    "sample_shape": (2, 3, 8),
    "short": {"smoothScalesOptional": lambda _d, shape: ("float32", (3, shape[-1] // 2)),
              "offsetsOptional": lambda _d, shape: ("float32", (3, shape[-1] // 2)), "groupIndexOptional": _three},
    "data": {"smoothScalesOptional": uniform(0.5, 2.0), "groupIndexOptional": ENDS},
    "standard": "quant",
}  # fmt: skip
_DEQUANTISED: dict[str, Any] = {
    "sample_shape": (2, 3, 8),
    "short": {"weightScaleOptional": _if_integer(lambda shape: shape[-1:]),
              "activationScaleOptional": _if_integer(lambda shape: shape[:-1]), "biasOptional": _none,
              "quantScaleOptional": lambda _d, shape: ("float32", (shape[-1] // 2,)),
              "quantOffsetOptional": _none, "groupIndexOptional": _none},
    "data": {"weightScaleOptional": uniform(0.01, 0.1), "quantScaleOptional": uniform(0.5, 2.0)},
    "standard": "quant",
    "defaults": {},
}  # fmt: skip
_SYMMETRIC = "scaleOut = max of |x smooth| / the type's largest value, yOut = round(x smooth / scaleOut)"
_BOTH = "scaleOut = (max - min) / the type's span, offsetOut = D - max / scaleOut, yOut = round(x / scaleOut + offset)"
_ANY = "yOut = round(x smooth / scaleOut + offsetOut), the scale from the bounds of a token, a channel or the tensor"
_GATED = "yOut = SwiGLU of x, smoothed by groups, quantised row by row or by the given scales"
_BACK = (
    "a = SwiGLU(x weight activation + bias); dynamic: scaleOut = max of |quant a| / 127 by row, yOut = round(quant a /"
    " scaleOut); static: yOut = round(a / quant + offset)"
)
_MODES = {"dstType": 2, "isSymmetrical": False, "quantMode": "pertoken"}

OPERATORS = (
    declare("DynamicQuant", _dynamic, f"{_SYMMETRIC}, row by row",
            lambda x, _smooth: _by_rows(x)[:2], short={"smoothScalesOptional": _width}, standard="quant",
            data={"smoothScalesOptional": uniform(0.5, 2.0)}),
    declare("DynamicQuantV2", _dynamic_v2, _BOTH,
            lambda x, _smooth, _group, dst: _by_rows(x, dst), sample_attributes={"dstType": 2}, **_GROUPS),
    declare("DynamicQuantV3", _dynamic_v3, _ANY, _by_mode, defaults={}, sample_attributes=_MODES, **_GROUPS),
    declare("DynamicQuantV4", _dynamic_v4, _ANY, _by_mode, defaults={},
            sample_attributes={**_MODES, "dstTypeMax": 0.0}, **_GROUPS),
    declare("SwiGluQuant", _swiglu_quant_v1, _GATED,
            lambda x, *_rest: _half(x), sample_attributes={"activateLeft": True, "quantModeOptional": "dynamic"},
            defaults={}, **_SWIGLU),
    declare("SwiGluQuantV2", _swiglu_quant, _GATED,
            lambda x, _smooth, _offsets, _group, _left, _mode, _type, dst: _half(x, dst), defaults={},
            sample_attributes={"activateLeft": True, "quantModeOptional": "static", "groupListType": 0, "dstType": 2},
            **_SWIGLU),
    declare("DequantSwigluQuant", _dequant_swiglu, _BACK, lambda x, *_rest: _half(x),
            sample_attributes={"activateLeft": True, "quantModeOptional": "dynamic"},
            **{**_DEQUANTISED, "short": {**_DEQUANTISED["short"], "activationScaleOptional": _if_integer(
                lambda shape: (*shape[:-1], 1))}}),
    declare("DequantSwigluQuantV2", _dequant_swiglu_v2, _BACK, lambda x, *rest: _half(x, rest[8], rest[10]),
            sample_attributes={"activateLeft": True, "quantModeOptional": "dynamic", "dstType": 2,
                               "roundModeOptional": "rint", "activateDim": -1, "swigluMode": 0, "clampLimit": 7.0,
                               "gluAlpha": 1.702, "gluBias": 1.0}, **_DEQUANTISED),
)  # fmt: skip
