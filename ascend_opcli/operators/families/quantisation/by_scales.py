"""Quantisation by given scales: to integers and float8, fake, and of the parameters themselves; and the way back.

The formulas are those of the aclnn documents. That a float rounds to even and saturates in an integer is what the
operators' published goldens and kernels do, where the documents say "round" only.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ascend_opcli.model import Shape
from ascend_opcli.operators.declare import Divergence, Undefined, axis_of, declare, uniform, with_dtype
from ascend_opcli.operators.families.quantisation.codes import (
    ENDS,
    along,
    chosen,
    coded,
    groups_of,
    quantised,
)
from ascend_opcli.tensors.dtypes import DTYPES
from ascend_opcli.tensors.special import in_float32

# --- by scales ------------------------------------------------------------------------------------------------


def _scaled(x: Any, scale: Any, offset: Any, root: Any) -> Any:
    made = x * scale
    made = made * scale if bool(root) else made
    return made if offset is None else made + offset


def _ascend(
    x: Any,
    scale: Any,
    offset: Any,
    sqrtMode: Any,
    roundMode: Any,
    dstType: Any,
    axis: Any = -1,
    *,
    dtypes: Any,
) -> Any:
    """y = round(x scale + offset); sqrtMode: x scale scale + offset."""
    word = chosen(dstType, dtypes["y"])
    place = axis_of(axis, x.ndim)
    if place < x.ndim - 2:
        raise Undefined(f"axis {int(axis)} is none of the last two of {list(x.shape)}")
    scale = along("scale", scale, x, place)
    offset = None if offset is None else along("offset", offset, x, place)
    return quantised(_scaled(x, scale, offset, sqrtMode), word, str(roundMode))


def _quantize(x: Any, scales: Any, zeroPoints: Any, dtype: Any, axis: Any, dtypes: Any) -> Any:
    """out = round(x / scales + zeroPoints)."""
    word = str(dtype)
    if word not in DTYPES:
        raise Undefined(f"{word} has no values on the host")
    if dtypes["out"] != word:
        raise Undefined(f"dtype is {word}, and the output is {dtypes['out']}")
    if not scales.all():
        raise Undefined("a scale is 0")
    place = axis_of(axis, x.ndim) if scales.size > 1 else 0
    made = x / along("scales", scales, x, place)
    if zeroPoints is not None:
        made = made + along("zeroPoints", zeroPoints, x, place).astype(x.dtype)
    return quantised(made, word)


def _group(x: Any, scale: Any, groupIndex: Any, offset: Any, dstType: Any, dtypes: Any) -> Any:
    """y = round(x scale[group of the row] + offset)."""
    word = chosen(dstType, dtypes["y"])
    if scale.shape != (groupIndex.size, x.shape[-1]):
        raise Undefined(f"scale {list(scale.shape)} is not one row of {x.shape[-1]} for each of the groups")
    if offset is not None and offset.size != 1:
        raise Undefined("offsetOptional is one number")
    rows = scale[groups_of(groupIndex, x.shape[0], "groupIndex")]
    return quantised(_scaled(x, rows, None if offset is None else offset.reshape(()), False), word)


def _with_peak(x: Any, scale: Any, roundMode: Any, dstType: Any, dtypes: Any) -> Any:
    """y = x scale in float8, amax = the largest |x|."""
    word = chosen(dstType, dtypes["y"])
    if roundMode != "rint" or scale.size != 1:
        raise Undefined("roundMode is rint for a float8, and scale one number")
    if not x.size or np.isnan(x).any():
        raise Undefined("x is empty or holds a NaN")
    return quantised(x * scale.reshape(()), word), np.abs(x).max().reshape(1)


# --- fake -----------------------------------------------------------------------------------------------------

_NEAR = 2.0**-22
"""How near a half a quotient must lie that float32 may round it to either side: an ulp of it, or two of 1 / scale."""


def _fake(self: Any, scale: Any, zeroPoint: Any, low: Any, high: Any) -> tuple[Any, Any, Any]:
    """self / scale as a float32, which is what kernels round, the zero point in float64, and the bounds."""
    if not (np.isfinite(self).all() and np.isfinite(scale).all() and scale.all()):
        raise Undefined("self and scale must be finite, and no scale 0")
    if int(low) > int(high):
        raise Undefined("quantMin is greater than quantMax")
    quotient = in_float32(self) / in_float32(scale)
    return quotient, zeroPoint.astype(np.float64), (float(int(low)), float(int(high)))


def _restored(whole: Any, scale: Any, zero: Any, bounds: tuple[float, float]) -> tuple[Any, Any]:
    level = whole.astype(np.float64) + zero
    inside = (level >= bounds[0]) & (level <= bounds[1])
    return (np.clip(level, *bounds) - zero).astype(scale.dtype) * scale, inside


def _per_tensor(self: Any, scale: Any, zeroPoint: Any, fakeQuantEnabled: Any, low: Any, high: Any) -> Any:
    """out = (clip(round(self / scale) + zeroPoint, quantMin, quantMax) - zeroPoint) scale."""
    if fakeQuantEnabled < 1:
        return self, np.ones(self.shape, bool)
    if scale.size != 1 or zeroPoint.size != 1:
        raise Undefined("scale and zeroPoint hold one value each")
    scale = scale.reshape(())
    quotient, zero, bounds = _fake(self, scale, zeroPoint.reshape(()), low, high)
    return _restored(np.rint(quotient), scale, zero, bounds)


def _per_channel(self: Any, scale: Any, zeroPoint: Any, axis: Any, low: Any, high: Any) -> Any:
    """The same, with a scale and a zero point for each place of the axis."""
    scale, zeroPoint = _channels(self, scale, zeroPoint, axis)
    quotient, zero, bounds = _fake(self, scale, zeroPoint, low, high)
    return _restored(np.rint(quotient), scale, zero, bounds)


def _channels(self: Any, scale: Any, zeroPoint: Any, axis: Any) -> tuple[Any, Any]:
    place = axis_of(axis, self.ndim)
    if {scale.size, zeroPoint.size} != {self.shape[place]}:
        raise Undefined(f"scale and zeroPoint hold one value for each place of axis {int(axis)}")
    return along("scale", scale, self, place), along("zeroPoint", zeroPoint, self, place)


def _near_half(quotient: Any) -> Any:
    return np.abs(quotient - np.floor(quotient) - 0.5) <= _NEAR * np.abs(quotient)


def _other_side(
    self: Any,
    scale: Any,
    zeroPoint: Any,
    quantMin: Any,
    quantMax: Any,
    axis: Any = None,
    fakeQuantEnabled: Any = 1.0,
) -> Any:
    """Where self / scale lies at a half, the out of the neighbour to which it was not rounded."""
    if fakeQuantEnabled < 1:
        return None
    if axis is None:
        scale, zeroPoint = scale.reshape(()), zeroPoint.reshape(())
    else:
        scale, zeroPoint = _channels(self, scale, zeroPoint, axis)
    quotient, zero, bounds = _fake(self, scale, zeroPoint, quantMin, quantMax)
    down = np.floor(quotient)
    other = np.where(np.rint(quotient) == down, down + 1, down)
    return _near_half(quotient), _restored(other, scale, zero, bounds)[0]


def _halved(self: Any, scale: Any, fakeQuantEnabled: Any = 1.0, axis: Any = None) -> bool:
    if fakeQuantEnabled < 1:
        return False
    scale = scale.reshape(()) if axis is None else along("scale", scale, self, axis_of(axis, self.ndim))
    return bool(_near_half(self / scale).any())


# --- the way back ---------------------------------------------------------------------------------------------

_OUTPUTS = {1: "float16", 27: "bfloat16"}


def _dequant(x: Any, weight: Any, activate: Any, bias: Any, outputDtype: Any, dtypes: Any) -> Any:
    """out = x weightScale activateScale + bias; a bias of int32 is added to x."""
    if _OUTPUTS.get(int(outputDtype)) != dtypes["out"]:
        raise Undefined(f"outputDtype {int(outputDtype)} is not {dtypes['out']}")
    return dequantised(x, weight, activate, bias)


def dequantised(x: Any, weight: Any, activation: Any, bias: Any) -> Any:
    """x of int32 times a scale for each column and one for each row, plus a bias; that of int32 is added first."""
    added = bias is not None and bias.dtype.kind == "i"
    made = (x + bias if added else x).astype(weight.dtype) * weight
    made = made if activation is None else made * activation.reshape(*x.shape[:-1], 1)
    return made if bias is None or added else made + bias


def _back(outputDtype: Any, shape: Shape) -> tuple[str, Shape]:
    return _OUTPUTS.get(int(outputDtype), "float16"), shape


# --- parameters -----------------------------------------------------------------------------------------------

_TOP = np.uint64(0xFFFFE000)
_FLAG = np.uint64(1 << 46)


def _parameters(scale: Any, offset: Any, roundMode: Any = 0) -> Any:
    """out = the upper 19 bits of the float32 scale, bit 46, and nine bits of the rounded offset from bit 37 on."""
    if not np.isfinite(scale).all() or (offset is not None and not np.isfinite(offset).all()):
        raise Undefined("scale and offset must be finite")
    bits = np.ascontiguousarray(scale, np.float32).view(np.uint32).astype(np.uint64)
    if int(roundMode) not in (0, 1):
        raise Undefined(f"roundMode {int(roundMode)} is neither 0 nor 1")
    if int(roundMode):
        if ((bits & ~_TOP & np.uint64(0xFFFFFFFF)) == np.uint64(0x1000)).any():
            raise Undefined("a scale lies midway between two of 19 bits, and the documents name neither")
        bits = bits + np.uint64(0x1000)
    made = (bits & _TOP) | _FLAG
    if offset is None:
        return made
    if (np.abs(offset - np.trunc(offset)) == 0.5).any():
        raise Undefined("an offset ends in a half, and the documents do not say to which side it rounds")
    whole = np.clip(np.rint(offset), -256, 255).astype(np.int64) & 0x1FF
    made, whole = np.broadcast_arrays(made, whole.reshape(made.shape) if whole.size == made.size else whole)
    return made | (whole.astype(np.uint64) << np.uint64(37))


def _longer(scale: Any, offset: Any, _roundMode: Any = None) -> tuple[str, Shape]:
    one = offset is not None and len(scale.shape) == 1 and scale.shape[0] == 1
    return "uint64", offset.shape[-1:] if one else scale.shape


# --- declarations ---------------------------------------------------------------------------------------------


def _width(dtype: str, shape: Shape) -> tuple[str, Shape]:
    return dtype, shape[-1:]


def _fake_made(self: Any, *_rest: Any) -> Any:
    return [(self.dtype, self.shape), ("bool", self.shape)]


_OFFSETS = uniform(-10.0, 10.0)

_TIES = Divergence(
    "self / scale lies at a half: kernels that multiply by 1 / scale, or add zeroPoint before they round, may take"
    " the other neighbour; for out either is right, mask is that of the quotient in float32",
    _halved,
)
_FAKE: dict[str, Any] = {
    "data": {"scale": uniform(0.01, 0.1)},
    "ambiguous": _other_side,
    "ambiguous_output": "out",
    "divergences": (_TIES,),
}
_FAKED = "out = (clip(q, quantMin, quantMax) - zeroPoint) scale, mask = unclipped; q = round(self / scale) + zeroPoint"
_ROUND = "round to the neighbour that roundMode names, saturated"
_ENCODED = (
    "out = bits 13 to 31 of the float32 scale, bit 46, and the rounded offset of [-256, 255] in bits 37 to 45"
)

OPERATORS = (
    declare("AscendQuant", _ascend, f"y = x scale + offset, x scale^2 + offset in sqrtMode; {_ROUND}",
            lambda x, _scale, _offset, _sqrt, _round, dst: coded(dst, x.shape), standard="quant",
            short={"scale": _width, "offset": _width}, data={"scale": uniform(1.0, 50.0), "offset": _OFFSETS},
            sample_attributes={"sqrtMode": False, "roundMode": "round", "dstType": 2}),
    declare("AscendQuantV3", _ascend, f"y = x scale + offset along axis, x scale^2 + offset in sqrtMode; {_ROUND}",
            lambda x, _scale, _offset, _sqrt, _round, dst, _axis: coded(dst, x.shape), standard="quant", defaults={},
            short={"scale": _width, "offset": _width}, data={"scale": uniform(1.0, 50.0), "offset": _OFFSETS},
            sample_attributes={"sqrtMode": False, "roundMode": "round", "dstType": 2, "axis": -1}),
    declare("Quantize", _quantize, "out = x / scales + zeroPoints along axis, rounded to even and saturated",
            lambda x, _scales, _zero, dtype, _axis: (dtype, x.shape), standard="quant",
            short={"scales": _width, "zeroPoints": lambda _d, shape: ("int32", shape[-1:])},
            data={"scales": uniform(0.01, 0.1)}, sample_attributes={"dtype": "int8", "axis": -1}),
    declare("GroupQuant", _group, "y = x scale + offset with the scale of the row's group, rounded to even, saturated",
            lambda x, _scale, _index, _offset, dst: coded(dst, x.shape), standard="quant", sample_shape=(4, 6),
            short={"scale": lambda dtype, shape: (dtype, (3, shape[-1])), "groupIndex": lambda _d, _s: ("int64", (3,)),
                   "offsetOptional": lambda dtype, _s: (dtype, (1,))},
            data={"scale": uniform(1.0, 50.0), "groupIndex": ENDS, "offsetOptional": _OFFSETS},
            sample_attributes={"dstType": 2}),
    declare("QuantMax", _with_peak, "y = x scale in float8, amax = the largest |x|",
            lambda x, _scale, _round, dst: [coded(dst, x.shape), (x.dtype, (1,))], data={"scale": uniform(1.0, 50.0)},
            short={"scale": lambda _d, _s: ("float32", (1,))}, standard="quant", defaults={},
            sample_attributes={"roundMode": "rint", "dstType": 35}),
    declare("FakeQuantPerTensorAffineCachemask", _per_tensor,
            _FAKED,
            _fake_made,
            short={"scale": lambda dtype, _s: (dtype, (1,)), "zeroPoint": lambda _d, _s: ("int32", (1,))},
            sample_attributes={"fakeQuantEnabled": 1.0, "quantMin": -128, "quantMax": 127}, **_FAKE),
    declare("FakeQuantPerChannelAffineCachemask", _per_channel,
            _FAKED,
            _fake_made, short={"scale": _width, "zeroPoint": lambda _d, shape: ("int32", shape[-1:])},
            sample_attributes={"axis": -1, "quantMin": -128, "quantMax": 127}, **_FAKE),
    declare("DequantBias", _dequant, "out = x weightScale activateScale + bias; a bias of int32 is added to x",
            lambda x, _weight, _activate, _bias, word: _back(word, x.shape), sample_shape=(3, 4),
            short={"x": with_dtype("int32"), "weightScale": lambda _d, shape: ("float32", shape[-1:]),
                   "activateScaleOptional": lambda _d, shape: ("float32", shape[:1]),
                   "biasOptional": lambda _d, shape: ("float32", shape[-1:])},
            sample_attributes={"outputDtype": 1}),
    declare("TransQuantParamV2", _parameters, _ENCODED, _longer, sample_shape=(6,),
            data={"offset": uniform(-300.0, 300.0)}),
    declare("TransQuantParamV3", _parameters, f"{_ENCODED}; roundMode 1 rounds the scale to them", _longer,
            defaults={}, sample_shape=(6,), data={"offset": uniform(-300.0, 300.0)},
            sample_attributes={"roundMode": 1}),
)  # fmt: skip
