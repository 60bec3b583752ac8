"""What is made with statistics that somebody else has taken: batch and layer norms, convolution over time."""

from __future__ import annotations

from typing import Any

import numpy as np

from ascend_opcli.operators.declare import Undefined, declare, per_channel


def _batch(input: Any, weight: Any, bias: Any, mean: Any, invstd: Any, _eps: Any) -> Any:
    """Channels are axis 1; invstd holds 1 / sqrt(variance + eps) already."""
    column = (1, -1, *[1] * (input.ndim - 2))
    made = (input - mean.reshape(column)) * invstd.reshape(column)
    made = made if weight is None else made * weight.reshape(column)
    return made if bias is None else made + bias.reshape(column)


def _column(values: Any, like: Any, axes: int) -> Any:
    """Statistics of the leading axes, as they stand or flat, against the normalised ones."""
    lead = like.shape[: like.ndim - axes]
    if values.size != int(np.prod(lead)):
        raise Undefined(f"{values.size} statistics for {int(np.prod(lead))} rows")
    return values.reshape(*lead, *[1] * axes)


def _add_layer_slope(
    dy: Any, x1: Any, x2: Any, rstd: Any, mean: Any, gamma: Any, dsum: Any
) -> tuple[Any, Any, Any]:
    axes = gamma.ndim
    last = tuple(range(dy.ndim - axes, dy.ndim))
    scale = _column(rstd, dy, axes)
    straight = (x1 + x2 - _column(mean, dy, axes)) * scale
    pulled = dy * gamma
    count = dy.dtype.type(gamma.size)

    def average(values: Any) -> Any:
        return values.sum(axis=last, keepdims=True, dtype=dy.dtype) / count

    dx = (pulled - average(pulled) - straight * average(pulled * straight)) * scale
    lead = tuple(range(dy.ndim - axes))
    slopes = [v.sum(axis=lead, dtype=dy.dtype) for v in (dy * straight, dy)]
    return dx if dsum is None else dx + dsum, slopes[0], slopes[1]


def _time(self: Any, weight: Any, bias: Any, pad: Any, _cubeMathType: Any) -> Any:
    """out[t] = bias + sum over k of self[t + k - pad] weight[k]; axes are time, batch, channel."""
    room = int(pad)
    steps = weight.shape[0]
    wide = np.pad(self, ((room, room), (0, 0), (0, 0)))
    length = wide.shape[0] - steps + 1
    made = np.zeros((length, self.shape[1], weight.shape[2]), self.dtype)
    for k in range(steps):
        # One large product instead of one for each step of time.
        rows = np.ascontiguousarray(wide[k : k + length]).reshape(-1, self.shape[2])
        made += (rows @ weight[k]).reshape(made.shape)
    return made if bias is None else made + bias


def _time_shape(self: Any, weight: Any, _bias: Any, pad: Any, _cubeMathType: Any) -> Any:
    length = self.shape[0] + 2 * int(pad) - weight.shape[0] + 1
    if length < 0:
        raise Undefined("the weight is longer than the padded time")
    return self.dtype, (length, self.shape[1], weight.shape[2])


_DSTS = {1: "float16", 27: "bfloat16"}


def _anti_quant_made(x: Any, dst: Any) -> Any:
    eight = (*x.shape[:-1], x.shape[-1] * 8)  # an int32 holds eight int4
    return _DSTS[int(dst)], eight if x.dtype == "int32" else x.shape


def _anti_quant(x: Any, scale: Any, offset: Any, _dstType: Any, sqrtMode: Any) -> Any:
    """y = (x + offset) scale, times scale again in sqrtMode; in float32, rounded once."""
    if x.dtype == np.int32:
        raise Undefined("int32 stands for eight int4, whose order the documents do not give")
    run = scale.dtype
    made = x.astype(run) + (0 if offset is None else offset)
    made = made * scale
    return made * scale if bool(sqrtMode) else made


OPERATORS = (
    declare("BatchNormElemt", _batch, "output = (input - mean) invstd weight + bias, channel by channel",
            lambda input, *_rest: (input.dtype, input.shape), sample_shape=(2, 3, 4),
            sample_attributes={"eps": 1e-5},
            short=dict.fromkeys(("weight", "bias", "mean", "invstd"), per_channel)),
    declare("AddLayerNormGrad", _add_layer_slope,
            "dxOut, dgammaOut, dbetaOut = slopes of a layer norm of x1 + x2 with its mean and rstd; dsum is added",
            lambda dy, _x1, _x2, _rstd, _mean, gamma, _dsum: [
                (dy.dtype, dy.shape), ("float32", gamma.shape), ("float32", gamma.shape)],
            sample_shape=(2, 3, 4),
            short={"gamma": lambda dtype, shape: (dtype, shape[-1:]),
                   **dict.fromkeys(("rstd", "mean"), lambda _d, shape: ("float32", (*shape[:-1], 1)))}),
    declare("ConvTbc", _time, "out = the convolution of self over its first axis, channels last",
            _time_shape, sample_shape=(5, 2, 3), sample_attributes={"pad": 1, "cubeMathType": 0},
            short={"weight": lambda dtype, shape: (dtype, (2, shape[2], 4)), "bias": lambda dtype, _s: (dtype, (4,))}),
    declare("AscendAntiQuant", _anti_quant, "y = (x + offset) scale, times scale again where sqrtMode is set",
            lambda x, _scale, _offset, dst, _sqrt: _anti_quant_made(x, dst),
            short={"x": lambda _d, shape: ("int8", shape),
                   **dict.fromkeys(("scale", "offset"), lambda _d, shape: ("float32", shape[-1:]))},
            sample_attributes={"dstType": 1, "sqrtMode": False}),
)  # fmt: skip
