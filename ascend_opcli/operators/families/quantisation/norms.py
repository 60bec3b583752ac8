"""Norms and activations whose result is quantised: by given scales, or by scales that are found in it.

The formulas are those of the aclnn documents. What is rounded and saturated, and what is refused, is as in
:mod:`ascend_opcli.operators.families.quantised`.
"""

from __future__ import annotations

from typing import Any

from ascend_opcli.model import Shape
from ascend_opcli.operators.declare import Undefined, declare, uniform
from ascend_opcli.operators.families.activations.forward import gelu
from ascend_opcli.operators.families.norms import layers as norms
from ascend_opcli.operators.families.quantisation.by_data import symmetric
from ascend_opcli.operators.families.quantisation.codes import along, chosen, coded, quantised, unpacked

# --- by given scales ------------------------------------------------------------------------------------------


def _steps(values: Any, scale: Any, zero: Any, divide: bool, word: str) -> Any:
    """round(values / scale + zero), or of the product, of scales that broadcast."""
    if divide and not scale.all():
        raise Undefined("a scale is 0")
    made = values / scale if divide else values * scale
    return quantised(made if zero is None else made + zero.astype(values.dtype), word)


def _add_rms(
    x1: Any, x2: Any, gamma: Any, scales1: Any, scales2: Any, zeros1: Any, zeros2: Any, _axis: Any, eps: Any, div: Any,
    dtypes: Any,
) -> Any:  # fmt: skip
    """y1Out and y2Out of the norm of x1 + x2, which is xOut; y2Out is open without scales of its own."""
    y, _, x = norms.add_rms(x1, x2, gamma, eps)
    first = _steps(y, scales1, zeros1, bool(div), unpacked(dtypes["y1Out"]))
    if scales2 is None:
        return first, None, x
    return first, _steps(y, scales2, zeros2, bool(div), unpacked(dtypes["y2Out"])), x


def _add_rms_v2(
    x1: Any, x2: Any, gamma: Any, scales1: Any, scales2: Any, zeros1: Any, zeros2: Any, beta: Any, _axis: Any, eps: Any,
    div: Any, dtypes: Any,
) -> Any:  # fmt: skip
    """The same with a beta, and the norm without it as rmsNormOut; one scale for all leaves y2Out open."""
    if scales2 is None and zeros2 is not None:
        raise Undefined("zeroPoints2Optional without scales2Optional is for one product alone")
    norm, _, x = norms.add_rms(x1, x2, gamma, eps)
    y = norm if beta is None else norm + beta
    first = _steps(y, scales1, zeros1, bool(div), unpacked(dtypes["y1Out"]))
    if scales2 is None or scales1.size == 1:
        return first, None, x, norm
    return first, _steps(y, scales2, zeros2, bool(div), unpacked(dtypes["y2Out"])), x, norm


def _rms_v3(
    x: Any, gamma: Any, scale: Any, offset: Any, beta: Any, eps: Any, div: Any, wanted: Any, dtypes: Any
) -> Any:
    """y = round(norm / scale + offset), or of the product; rstd where outputRstd is set."""
    y, rstd = norms.rms(x, gamma.reshape(-1), eps)
    y = y if beta is None else y + beta.reshape(-1)
    made = _steps(y, scale, offset, bool(div), unpacked(dtypes["y"]))
    return made, rstd if bool(wanted) else None


def _add_layer(
    x1: Any, x2: Any, gamma: Any, beta: Any, bias: Any, scales1: Any, scales2: Any, zeros1: Any, zeros2: Any, mode: Any,
    eps: Any, more: Any, div: Any, dtypes: Any,
) -> Any:  # fmt: skip
    """y1Out and y2Out of the layer norm of x1 + x2 + bias, which is xOut, and the scales that were found."""
    x = x1 + x2 if bias is None else x1 + x2 + bias
    made, _, _ = norms.standard(x, tuple(range(x.ndim - gamma.ndim, x.ndim)), eps)
    y, kept = made * gamma + beta, x if bool(more) else None
    word = unpacked(dtypes["y1Out"])
    if mode == "dynamic":
        if scales1 is not None or scales2 is not None:
            raise Undefined(
                "the document's formula of the mode dynamic with scales names two values to be quantised"
            )
        first, found = _rows(y, None, word)
        return first, None, kept, found, None
    if mode != "static" or scales1 is None:
        raise Undefined("quantMode is dynamic, or static with scales1Optional")
    first = _steps(y, scales1, zeros1, bool(div), word)
    second = None if scales2 is None else _steps(y, scales2, zeros2, bool(div), unpacked(dtypes["y2Out"]))
    return first, second, kept, None, None


def _rms(x: Any, gamma: Any, beta: Any, scale: Any, offset: Any, eps: Any, dtypes: Any) -> Any:
    """y = round(norm / scale + offset)."""
    y = norms.rms(x, gamma.reshape(-1), eps)[0] + beta.reshape(-1)
    return _steps(y, scale, offset, True, unpacked(dtypes["y"]))


def _group_silu(self: Any, gamma: Any, beta: Any, scale: Any, group: Any, eps: Any, activate: Any) -> Any:
    """out = round(silu of the group norm / quantScale)."""
    if not bool(activate):
        raise Undefined("the documents know activateSilu set only")
    if not self.size:
        raise Undefined("self is empty")
    made, mean, rstd = norms.group_silu(self, gamma, beta, group, eps)
    return _steps(made, along("quantScale", scale, self, 1), None, True, "int8"), mean, rstd


def _layer(x: Any, gamma: Any, beta: Any, scale: Any, zero: Any, mode: Any, eps: Any, dtypes: Any) -> Any:
    """res = norm / scale + zeroPointsOptional; scaleOut has no meaning."""
    if int(mode) != 0:
        raise Undefined("the document's formula of quantMode 1 names two values to be quantised")
    made, _, _ = norms.standard(x, (x.ndim - 1,), eps)
    return _steps(made * gamma + beta, scale, zero, True, unpacked(dtypes["res"])), None


# --- by the data ----------------------------------------------------------------------------------------------


def _rows(values: Any, smooth: Any, word: str) -> tuple[Any, Any]:
    made, scale = symmetric(values if smooth is None else values * smooth, word)
    return made, scale[..., 0]


def _rms_dynamic(x: Any, gamma: Any, smooth: Any, beta: Any, eps: Any, dst: Any, dtypes: Any) -> Any:
    """yOut and scaleOut of the norm, row by row."""
    y = norms.rms(x, gamma, eps)[0]
    return _rows(y if beta is None else y + beta, smooth, chosen(dst, dtypes["yOut"]))


def _add_rms_dynamic(x1: Any, x2: Any, gamma: Any, smooth1: Any, smooth2: Any, eps: Any, dtypes: Any) -> Any:
    """y1Out, y2Out, xOut, scale1Out and scale2Out; the second of each is open without its smoothing scales."""
    if smooth1 is None and smooth2 is not None:
        raise Undefined("smoothScale2Optional without smoothScale1Optional")
    y, _, x = norms.add_rms(x1, x2, gamma, eps)
    first, scale1 = _rows(y, smooth1, unpacked(dtypes["y1Out"]))
    if smooth2 is None:
        return first, None, x, scale1, None
    second, scale2 = _rows(y, smooth2, unpacked(dtypes["y2Out"]))
    return first, second, x, scale1, scale2


def _adaptive(
    x: Any, scale: Any, shift: Any, weight: Any, bias: Any, smooth: Any, eps: Any, mode: Any, dtypes: Any
) -> Any:
    """out and quantScale of the adaptive layer norm, row by row."""
    if mode != "dynamic":
        raise Undefined(f"quantMode {mode!r} is not dynamic")
    made = norms.adaptive(x, scale, shift, weight, bias, eps)[0]
    return (*_rows(made, smooth, unpacked(dtypes["out"])), None)


def _gelu(
    self: Any, scale: Any, offset: Any, approximate: Any, mode: Any, roundMode: Any, dst: Any, dtypes: Any
) -> Any:
    """y = round(gelu(self) inputScale + inputOffset), or y and outScale of gelu(self) inputScale row by row."""
    word = chosen(dst, dtypes["y"])
    if approximate not in ("none", "tanh") or roundMode != "rint":
        raise Undefined("approximate is none or tanh, and roundMode rint for int8 and float8")
    made = gelu(self, approximate)
    if scale is not None:
        made = made * along("inputScaleOptional", scale, self, self.ndim - 1)
    if mode == "dynamic":
        return _rows(made, None, word)
    if mode != "static" or scale is None:
        raise Undefined("quantMode is dynamic, or static with inputScaleOptional")
    if offset is not None:
        made = made + along("inputOffsetOptional", offset, self, self.ndim - 1)
    return quantised(made, word), None


# --- declarations ---------------------------------------------------------------------------------------------


def _width(dtype: str, shape: Shape) -> tuple[str, Shape]:
    return dtype, shape[-1:]


def _one(dtype: str, _shape: Shape) -> tuple[str, Shape]:
    return dtype, (1,)


def _single(_dtype: str, shape: Shape) -> tuple[str, Shape]:
    return "float32", shape[-1:]


def _whole(_dtype: str, shape: Shape) -> tuple[str, Shape]:
    return "int32", shape[-1:]


def _places(dtype: str, shape: Shape) -> tuple[str, Shape]:
    return dtype, (*shape[:-2], shape[-1])


def _lead(x: Any) -> tuple[str, Shape]:
    return "float32", x.shape[:-1]


_EPS = {"epsilon": 1e-5}
_SCALES = uniform(0.01, 0.1)
_SMOOTH = uniform(0.5, 2.0)
_RMS = "a = x rstd gamma, rstd = 1 / sqrt(mean of x^2 + epsilon)"

OPERATORS = (
    declare("AddRmsNormQuant", _add_rms,
            f"y1Out = round(a / scales1 + zeroPoints1), y2Out alike, xOut = x = x1 + x2; {_RMS}",
            lambda x1, *_rest: [("int8", x1.shape)] * 2 + [(x1.dtype, x1.shape)], standard="quant",
            short={"gamma": _width, "scales1": _single, "scales2Optional": _single, "zeroPoints1Optional": _whole,
                   "zeroPoints2Optional": _whole},
            data={"scales1": _SCALES, "scales2Optional": _SCALES},
            sample_attributes={"axis": -1, "divMode": True, **_EPS}),
    declare("AddRmsNormQuantV2", _add_rms_v2,
            f"y1Out = round((a + beta) / scales1 + zeros1), y2Out alike, rmsNormOut = a, xOut = x = x1 + x2; {_RMS}",
            lambda x1, *_rest: [*[("int8", x1.shape)] * 2, *[(x1.dtype, x1.shape)] * 2], standard="quant",
            short={"gamma": _width, "scales1": _single, "scales2Optional": _single, "zeroPoints1Optional": _whole,
                   "zeroPoints2Optional": _whole, "betaOptional": _width},
            data={"scales1": _SCALES, "scales2Optional": _SCALES}, defaults={}, absent=("rmsNormOut",),
            sample_attributes={"axis": -1, "divMode": True, **_EPS}),
    declare("RmsNormQuantV3", _rms_v3, f"y = round((a + beta) / scale + offset), or of the product; {_RMS}",
            lambda x, *_rest: [("int8", x.shape), ("float32", (*x.shape[:-1], 1))], standard="quant", defaults={},
            data={"scale": _SCALES},
            short={"gamma": _width, "scale": _one, "offsetOptional": _one, "betaOptional": _width},
            sample_attributes={"divMode": True, "outputRstd": True, **_EPS}),
    declare("AddLayerNormQuant", _add_layer,
            "y1Out = round(n / scales1 + zeroPoints1), or of the product, y2Out alike; n = the norm of x1 + x2 + bias",
            lambda x1, *_rest: [*[("int8", x1.shape)] * 2, (x1.dtype, x1.shape), *[_lead(x1)] * 2], standard="quant",
            short={"gamma": _width, "beta": _width, "biasOptional": _width,
                   **dict.fromkeys(("scales1Optional", "scales2Optional"), _width),
                   **dict.fromkeys(("zeroPoints1Optional", "zeroPoints2Optional"), _width)},
            data={"scales1Optional": _SCALES, "scales2Optional": _SCALES}, defaults={},
            sample_attributes={"quantMode": "static", "additionalOutput": True, "divMode": True, **_EPS}),
    declare("RmsNormQuant", _rms, f"y = round((a + beta) / scale + offset), {_RMS}",
            lambda x, *_rest: ("int8", x.shape), standard="quant",
            short={"gamma": _width, "beta": _width, "scale": _one, "offset": lambda _d, _s: ("int8", (1,))},
            data={"scale": _SCALES}, sample_attributes=_EPS),
    declare("GroupNormSiluQuant", _group_silu, "out = round(silu of the norm of each group of channels / quantScale)",
            lambda self, _gamma, _beta, _scale, group, _eps, _silu: [
                ("int8", self.shape), *[(self.dtype, (self.shape[0], int(group)))] * 2],
            sample_shape=(2, 6, 5), standard="quant", defaults={}, data={"quantScale": _SCALES},
            short={"gammaOptional": lambda dtype, shape: (dtype, shape[1:2]),
                   "betaOptional": lambda dtype, shape: (dtype, shape[1:2]),
                   "quantScale": lambda _d, shape: ("float32", shape[1:2])},
            sample_attributes={"group": 2, "eps": 1e-5, "activateSilu": True}),
    declare("LayerNormQuant", _layer, "res = round(norm of the last axis / scale + zeroPointsOptional), quantMode 0",
            lambda x, *_rest: [("int8", x.shape), _lead(x)], standard="quant", defaults={}, data={"scale": _SCALES},
            short={"gamma": _width, "beta": _width, "scale": _one,
                   "zeroPointsOptional": lambda _d, _s: ("int8", (1,))},
            sample_attributes={"quantMode": 0, **_EPS}),
    declare("RmsNormDynamicQuant", _rms_dynamic,
            f"scaleOut = max of |(a + beta) smooth| / 127, yOut = round((a + beta) smooth / scaleOut), {_RMS}",
            lambda x, _gamma, _smooth, _beta, _eps, dst: [coded(dst, x.shape), _lead(x)], standard="quant", defaults={},
            short={"gamma": _width, "smoothScalesOptional": _width, "betaOptional": _width},
            data={"smoothScalesOptional": _SMOOTH}, sample_attributes={"dstType": 2, **_EPS}),
    declare("AddRmsNormDynamicQuant", _add_rms_dynamic,
            f"scale1Out = max of |a smooth1| / 127, y1Out = round(a smooth1 / scale1Out), the second alike; {_RMS}",
            lambda x1, *_rest: [*[("int8", x1.shape)] * 2, (x1.dtype, x1.shape), *[_lead(x1)] * 2], standard="quant",
            short={"gamma": _width, "smoothScale1Optional": _width, "smoothScale2Optional": _width},
            data={"smoothScale1Optional": _SMOOTH, "smoothScale2Optional": _SMOOTH}, sample_attributes=_EPS),
    declare("AdaLayerNormQuant", _adaptive,
            "quantScale = max of |n smooth| / 127, out = round(n smooth / quantScale), n = norm (1 + scale) + shift",
            lambda x, *_rest: [("int8", x.shape), _lead(x), (x.dtype, x.shape[:-1])], standard="quant",
            short={"scale": _places, "shift": _places, "weightOptional": _width, "biasOptional": _width,
                   "smoothScalesOptional": _width},
            data={"smoothScalesOptional": _SMOOTH}, absent=("quantOffsetOptional",),
            sample_attributes={"quantMode": "dynamic", **_EPS}),
    declare("GeluQuant", _gelu,
            "y = round(gelu(self) inputScale + inputOffset); dynamic: round(g / outScale), outScale = max of |g| / 127",
            lambda self, _scale, _offset, _approximate, _mode, _round, dst: [coded(dst, self.shape), _lead(self)],
            standard="quant", short={"inputScaleOptional": _width, "inputOffsetOptional": _width}, defaults={},
            data={"inputScaleOptional": uniform(5.0, 50.0)},
            sample_attributes={"approximate": "none", "quantMode": "static", "roundMode": "rint", "dstType": 2}),
)  # fmt: skip
