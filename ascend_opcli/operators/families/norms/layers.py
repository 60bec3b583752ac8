"""Norms over trailing axes and over groups of channels, with the gradients whose form is settled."""

from __future__ import annotations

from typing import Any

import numpy as np

from ascend_opcli.model import Call, Shape, Tensor
from ascend_opcli.operators.declare import Divergence, Undefined, declare, ints, promote, uniform
from ascend_opcli.tensors.special import sigmoid


def _mean(values: Any, axes: tuple[int, ...]) -> Any:
    count = int(np.prod([values.shape[a] for a in axes], dtype=np.int64))
    return values.sum(axis=axes, keepdims=True, dtype=values.dtype) / values.dtype.type(count)


def _last(values: Any, count: int) -> tuple[int, ...]:
    if not 0 < count <= values.ndim:
        raise Undefined(f"{count} trailing axes of rank {values.ndim}")
    return tuple(range(values.ndim - count, values.ndim))


def _root(mean_square: Any, eps: Any) -> Any:
    one = mean_square.dtype.type(1)
    return one / np.sqrt(mean_square + mean_square.dtype.type(eps))


def _column(values: Any, like: Any, axes: tuple[int, ...]) -> Any:
    """One value for each row, in the rank of the rows."""
    return values.reshape(tuple(1 if i in axes else d for i, d in enumerate(like.shape)))


def _affine(values: Any, weight: Any, bias: Any) -> Any:
    made = values if weight is None else values * weight
    return made if bias is None else made + bias


# --- root mean square -----------------------------------------------------------------------------------------


def rms(x: Any, gamma: Any, eps: Any) -> tuple[Any, Any]:
    rstd = _root(_mean(x * x, _last(x, gamma.ndim)), eps)
    return x * rstd * gamma, rstd


def _gemma(x: Any, gamma: Any, eps: Any) -> tuple[Any, Any]:
    return rms(x, gamma + gamma.dtype.type(1), eps)


def _rms_slope(dy: Any, x: Any, rstd: Any, gamma: Any) -> tuple[Any, Any]:
    axes = _last(x, gamma.ndim)
    scale = _column(rstd, x, axes)
    straight, pulled = x * scale, dy * gamma
    dx = (pulled - straight * _mean(pulled * straight, axes)) * scale
    lead = tuple(range(x.ndim - gamma.ndim))
    return dx, (dy * straight).sum(axis=lead, dtype=dy.dtype)


def add_rms(x1: Any, x2: Any, gamma: Any, eps: Any) -> tuple[Any, Any, Any]:
    x = x1 + x2
    return (*rms(x, gamma, eps), x)


def _inplace_add_rms(x1: Any, x2: Any, gamma: Any, eps: Any) -> tuple[Any, Any, Any]:
    y, rstd, x = add_rms(x1, x2, gamma, eps)
    return y, x, rstd


def _add_rms_cast(x1: Any, x2: Any, gamma: Any, eps: Any) -> tuple[Any, Any, Any, Any]:
    y, rstd, x = add_rms(x1, x2, gamma, eps)
    return y, y, rstd, x


# --- layers ---------------------------------------------------------------------------------------------------


def standard(x: Any, axes: tuple[int, ...], eps: Any) -> tuple[Any, Any, Any]:
    mean = _mean(x, axes)
    away = x - mean
    rstd = _root(_mean(away * away, axes), eps)
    return away * rstd, mean, rstd


def _layer(input: Any, normalized: Any, weight: Any, bias: Any, eps: Any, _mode: Any = None) -> Any:
    made, mean, rstd = standard(input, _last(input, len(ints(normalized))), eps)
    return _affine(made, weight, bias), mean, rstd


def _layer_slope(
    grad: Any,
    input: Any,
    normalized: Any,
    mean: Any,
    rstd: Any,
    weight: Any,
    _bias: Any,
    mask: Any,
    dtypes: Any,
) -> Any:
    wanted = [dtypes.get(n) is not None for n in ("gradInputOut", "gradWeightOut", "gradBiasOut")]
    if any(asked and not int(on) for asked, on in zip(wanted, mask, strict=True)):
        raise Undefined("outputMask leaves an output unwritten")
    axes = _last(input, len(ints(normalized)))
    scale = _column(rstd, input, axes)
    straight = (input - _column(mean, input, axes)) * scale
    pulled = grad if weight is None else grad * weight
    dx = (pulled - _mean(pulled, axes) - straight * _mean(pulled * straight, axes)) * scale
    lead = tuple(range(axes[0]))
    return dx, (grad * straight).sum(axis=lead, dtype=grad.dtype), grad.sum(axis=lead, dtype=grad.dtype)


def _other_mean(input: Any, normalizedShape: Any, mean: Any) -> bool:
    axes = _last(input, len(ints(normalizedShape)))
    own = _mean(input, axes).reshape(-1)
    return bool((np.abs(own - mean.reshape(-1)) > 1e-2 * (1 + np.abs(own))).any())


def _deep(x: Any, gx: Any, beta: Any, gamma: Any, alpha: Any, eps: Any) -> tuple[Any, Any, Any]:
    total = x * x.dtype.type(alpha) + gx
    made, mean, rstd = standard(total, _last(x, gamma.ndim), eps)
    return mean, rstd, made * gamma + beta


def adaptive(x: Any, scale: Any, shift: Any, weight: Any, bias: Any, eps: Any) -> tuple[Any, Any, Any]:
    made, mean, rstd = standard(x, (x.ndim - 1,), eps)
    rows = (*x.shape[:-2], 1, x.shape[-1])
    grown = scale if scale.shape == x.shape else scale.reshape(rows)
    moved = shift if shift.shape == x.shape else shift.reshape(rows)
    return _affine(made, weight, bias) * (grown + x.dtype.type(1)) + moved, mean, rstd


# --- groups and channels --------------------------------------------------------------------------------------


def _group(self: Any, gamma: Any, beta: Any, group: Any, eps: Any) -> tuple[Any, Any, Any]:
    count, channels = self.shape[:2]
    made, mean, rstd = standard(self.reshape(count, int(group), -1), (2,), eps)
    column = (1, channels, *[1] * (self.ndim - 2))
    weight = None if gamma is None else gamma.reshape(column)
    bias = None if beta is None else beta.reshape(column)
    return _affine(made.reshape(self.shape), weight, bias), mean[..., 0], rstd[..., 0]


def _group_norm(
    self: Any, gamma: Any, beta: Any, N: Any, C: Any, HxW: Any, group: Any, eps: Any
) -> tuple[Any, Any, Any]:
    if (int(N), int(C), int(N) * int(C) * int(HxW)) != (*self.shape[:2], self.size):
        raise Undefined("N, C and HxW are not those of self")
    return _group(self, gamma, beta, group, eps)


def group_silu(
    self: Any, gamma: Any, beta: Any, group: Any, eps: Any, silu: Any = True
) -> tuple[Any, Any, Any]:
    made, mean, rstd = _group(self, gamma, beta, group, eps)
    return made * sigmoid(made) if silu else made, mean, rstd


def _stats(input: Any, eps: Any) -> tuple[Any, Any]:
    _, mean, rstd = standard(input, (0, *range(2, input.ndim)), eps)
    return mean.reshape(-1), rstd.reshape(-1)


def _channel(format: str) -> int:
    """The axis of the channels."""
    return -1 if format in ("NHWC", "NDHWC") else 1


def _sums(x: Any, call: Call) -> tuple[Any, Any]:
    given = call.arguments["x"]
    rows = np.moveaxis(x, _channel(given.spec.format if isinstance(given, Tensor) else "NCHW"), 0)
    rows = rows.reshape(rows.shape[0], -1)
    return rows.sum(1, dtype=x.dtype), (rows * rows).sum(1, dtype=x.dtype)


# --- inference and declarations -------------------------------------------------------------------------------


def _rows(shape: Shape, count: int) -> Shape:
    """The shape of one value for each row."""
    return (*shape[: len(shape) - count], *[1] * count)


def _rms_made(x: Any, gamma: Any, *_rest: Any) -> Any:
    return [(x.dtype, x.shape), ("float32", _rows(x.shape, len(gamma.shape)))]


def _add_rms_made(x1: Any, _x2: Any, gamma: Any, *_rest: Any) -> Any:
    return [*_rms_made(x1, gamma), (x1.dtype, x1.shape)]


def _layer_made(input: Any, normalized: Any, *_rest: Any) -> Any:
    row = ("float32", _rows(input.shape, len(ints(normalized))))
    return [(input.dtype, input.shape), row, row]


def _group_made(self: Any, group: Any, gamma: Any = None) -> Any:
    """The statistics have the dtype of gamma where it is wider than the input's."""
    word = self.dtype if gamma is None else promote(self.dtype, gamma.dtype)
    return [(self.dtype, self.shape), *[(word, (self.shape[0], int(group)))] * 2]


def _width(dtype: str, shape: Shape) -> tuple[str, Shape]:
    return dtype, shape[-1:]


def _channels(dtype: str, shape: Shape) -> tuple[str, Shape]:
    return dtype, shape[1:2]


def _rows_of_one(_dtype: str, shape: Shape) -> tuple[str, Shape]:
    return "float32", (*shape[:-1], 1)


def _lead(_dtype: str, shape: Shape) -> tuple[str, Shape]:
    return "float32", shape[:-1]


_EPS = {"sample_attributes": {"epsilon": 1e-5}}
_GAMMA: dict[str, Any] = {"short": {"gamma": _width}, **_EPS}
_WEIGHTS = {"weightOptional": _width, "biasOptional": _width}
_LAYER: dict[str, Any] = {
    "sample_shape": (2, 3, 4),
    "sample_attributes": {"normalizedShape": (4,), "eps": 1e-5},
    "short": _WEIGHTS,
}
_GROUPS = {"short": {"gamma": _channels, "beta": _channels}, "sample_shape": (2, 6, 5)}
_RMS = "x rstd gamma, rstd = 1 / sqrt(mean of x^2 + epsilon)"
_NORMAL = "(x - mean) rstd, rstd = 1 / sqrt(variance + eps)"
_MEAN = Divergence(
    "the mean that is given is not that of input: kernels that add the term of the sum of input - mean,"
    " 0 for the right one, give another gradient",
    _other_mean,
)

OPERATORS = (
    declare("RmsNorm", rms, f"yOut = {_RMS}", _rms_made, **_GAMMA),
    declare("GemmaRmsNorm", _gemma, "yOut = x rstd (1 + gamma), rstd = 1 / sqrt(mean of x^2 + epsilon)",
            _rms_made, **_GAMMA),
    declare("RmsNormGrad", _rms_slope,
            "dxOut = rstd (dy gamma - x rstd mean of (dy gamma x rstd)), dgammaOut = sum of dy x rstd by row",
            lambda _dy, x, _rstd, gamma: [(x.dtype, x.shape), ("float32", gamma.shape)],
            short={"gamma": _width, "rstd": _lead}, data={"rstd": uniform(0.5, 2.0)}),
    declare("AddRmsNorm", add_rms, f"xOut = x1 + x2, yOut = {_RMS}", _add_rms_made, **_GAMMA),
    declare("InplaceAddRmsNorm", _inplace_add_rms, f"x2Ref = x1Ref + x2Ref = x, x1Ref = {_RMS}",
            lambda x1, _x2, gamma, _eps: _rms_made(x1, gamma)[1:], **_GAMMA),
    declare("AddRmsNormCast", _add_rms_cast, f"xOut = x1 + x2, y1Out and y2Out = {_RMS}",
            lambda x1, _x2, gamma, _eps: [
                ("float32", x1.shape), (x1.dtype, x1.shape), _rms_made(x1, gamma)[1], (x1.dtype, x1.shape)
            ],
            **_GAMMA),
    declare("LayerNorm", _layer, f"out = {_NORMAL}, times weight, plus bias", _layer_made, **_LAYER),
    declare("FastLayerNorm", _layer, f"out = {_NORMAL}, times weight, plus bias", _layer_made, **_LAYER),
    declare("LayerNormWithImplMode", _layer, f"out = {_NORMAL}, times weight, plus bias", _layer_made,
            **{**_LAYER, "defaults": {}, "sample_attributes": {"normalizedShape": (4,), "eps": 1e-5, "implMode": 0}}),
    declare("LayerNormBackward", _layer_slope,
            "gradInputOut = rstd (g - mean of g - h mean of g h), g = gradOut weight, h = (input - mean) rstd",
            lambda _grad, input, normalized, *_rest: [
                (input.dtype, input.shape), *[(input.dtype, ints(normalized))] * 2
            ],
            short={**_WEIGHTS, "mean": _rows_of_one, "rstd": _rows_of_one}, data={"rstd": uniform(0.5, 2.0)},
            sample_attributes={"normalizedShape": (4,), "outputMask": (True, True, True)}, divergences=(_MEAN,)),
    declare("DeepNorm", _deep, "yOut = the norm of alpha x + gx, times gamma, plus beta",
            lambda x, _gx, _beta, gamma, *_rest: [
                *[("float32", _rows(x.shape, len(gamma.shape)))] * 2, (x.dtype, x.shape)
            ],
            short={"beta": _width, "gamma": _width}, sample_attributes={"alpha": 0.5, "epsilon": 1e-5}),
    declare("AdaLayerNorm", lambda *a: adaptive(*a)[0], "out = the norm of x, times 1 + scale, plus shift",
            lambda x, *_rest: (x.dtype, x.shape),
            short={**_WEIGHTS, **dict.fromkeys(("scale", "shift"), lambda d, s: (d, (*s[:-2], s[-1])))}, **_EPS),
    declare("AdaLayerNormV2", adaptive, "out = the norm of x, times 1 + scale, plus shift",
            lambda x, *_rest: [(x.dtype, x.shape), *[(x.dtype, _rows(x.shape, 1))] * 2],
            short={**_WEIGHTS, **dict.fromkeys(("scale", "shift"), lambda d, s: (d, (*s[:-2], 1, s[-1])))}, **_EPS),
    declare("GroupNorm", _group_norm, "out = the norm of each group of channels, times gamma, plus beta",
            lambda self, _gamma, _beta, _N, _C, _HxW, group, _eps: _group_made(self, group),
            sample_attributes={"N": 2, "C": 6, "HxW": 5, "group": 3, "eps": 1e-5}, **_GROUPS),
    declare("GroupNormSilu", group_silu, "out = silu of the norm of each group of channels, times gamma, plus beta",
            lambda self, gamma, _beta, group, _eps: _group_made(self, group, gamma),
            sample_attributes={"group": 3, "eps": 1e-5}, **_GROUPS),
    declare("GroupNormSiluV2", group_silu, "out = the norm of each group of channels, then silu where activateSilu",
            lambda self, gamma, _beta, group, _eps, _silu: _group_made(self, group, gamma), defaults={},
            sample_attributes={"group": 3, "eps": 1e-5, "activateSilu": True}, **_GROUPS),
    declare("BatchNormStats", _stats, "mean and invstd = 1 / sqrt(variance + eps) of each channel",
            lambda input, _eps: [("float32", input.shape[1:2])] * 2, sample_attributes={"eps": 1e-5}),
    declare("BatchNormReduce", _sums, "sum and squareSum of each channel",
            lambda x: [("float32", (x.shape[_channel(x.format)],))] * 2, sample_shape=(2, 3, 4, 5)),
)  # fmt: skip
