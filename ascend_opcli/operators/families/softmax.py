"""Softmax, its logarithm and the cross entropy over it, with their gradients."""

from __future__ import annotations

from typing import Any

import numpy as np

from ascend_opcli.model import Shape
from ascend_opcli.operators.declare import Undefined, axis_of, declare, uniform

_DIM = {"sample_attributes": {"dim": -1}}


def softmax(self: Any, dim: Any) -> Any:
    """e^x over its sum along an axis, from the largest down."""
    axis = axis_of(dim, self.ndim)
    grown = np.exp(self - self.max(axis=axis, keepdims=True, initial=-np.inf))
    return grown / grown.sum(axis=axis, keepdims=True, dtype=grown.dtype)


def log_softmax(self: Any, dim: Any) -> Any:
    """x less the logarithm of the sum of e^x along an axis."""
    axis = axis_of(dim, self.ndim)
    below = self - self.max(axis=axis, keepdims=True, initial=-np.inf)
    return below - np.log(np.exp(below).sum(axis=axis, keepdims=True, dtype=below.dtype))


def _softmax_slope(grad: Any, output: Any, dim: Any) -> Any:
    axis = axis_of(dim, output.ndim)
    return output * (grad - (grad * output).sum(axis=axis, keepdims=True, dtype=grad.dtype))


def _log_softmax_slope(grad: Any, output: Any, dim: Any) -> Any:
    axis = axis_of(dim, output.ndim)
    return grad - np.exp(output) * grad.sum(axis=axis, keepdims=True, dtype=grad.dtype)


def _cross_entropy(features: Any, labels: Any) -> Any:
    log = log_softmax(features, -1)
    return -(labels * log).sum(-1, dtype=log.dtype), softmax(features, -1) - labels


def _with_bias(x: Any, mask: Any, bias: Any, scale: Any, _mode: Any) -> Any:
    """x is [B, W, N, S1, S2] or [B W, N, S1, S2], the mask of W and the bias of N matrices."""
    heads, rows, columns = x.shape[-3:]
    made = x * x.dtype.type(scale)
    if mask is not None:
        windows = mask.size // max(rows * columns, 1)
        if x.ndim == 5 and windows != x.shape[1]:
            raise Undefined("attenMaskOptional has not one matrix for each window")
        split = made.reshape(-1, windows, heads, rows, columns)
        made = (split + mask.reshape(windows, 1, rows, columns)).reshape(x.shape)
    return softmax(made + bias.reshape(heads, rows, columns), -1)


def _windows(dtype: str, shape: Shape) -> tuple[str, Shape]:
    if len(shape) != 5:
        raise Undefined(
            "it has one matrix for each window of x, and only a rank of 5 tells how many there are"
        )
    return dtype, (shape[1], *shape[-2:])


def _same(self: Any, *_rest: Any) -> Any:
    return self.dtype, self.shape


def _rows_slope(y: Any, dy: Any) -> Any:
    if y.ndim != 2:
        raise Undefined(f"rank {y.ndim}: the documents give rows of a matrix only")
    return _softmax_slope(dy, y, -1)


_PROBABILITIES = uniform(0.01, 0.99)
_LOGARITHMS = uniform(-4.0, -0.1)

OPERATORS = (
    declare("Softmax", softmax, "out = e^self over the sum of e^self along dim", _same, **_DIM),
    declare("LogSoftmax", log_softmax, "out = self - ln of the sum of e^self along dim", _same, **_DIM),
    declare(
        "SoftmaxBackward",
        _softmax_slope,
        "out = output (gradOutput - sum of gradOutput output along dim)",
        _same,
        data={"output": _PROBABILITIES},
        **_DIM,
    ),
    declare(
        "SoftmaxGrad",
        _rows_slope,
        "dx = y (dy - sum of dy y along the row)",
        _same,
        data={"y": _PROBABILITIES},
        sample_shape=(4, 6),
    ),
    declare(
        "LogSoftmaxBackward",
        _log_softmax_slope,
        "out = gradOutput - e^output (sum of gradOutput along dim)",
        _same,
        data={"output": _LOGARITHMS},
        **_DIM,
    ),
    declare(
        "SoftmaxCrossEntropyWithLogits",
        _cross_entropy,
        "loss = -sum of labels ln softmax(features) by row, backprop = softmax(features) - labels",
        lambda features, _labels: [(features.dtype, features.shape[:1]), (features.dtype, features.shape)],
        data={"labels": uniform(0.0, 1.0)},
        sample_shape=(4, 6),
    ),
    declare(
        "MaskedSoftmaxWithRelPosBias",
        _with_bias,
        "out = softmax of scaleValue x + attenMask + relativePosBias along the last axis",
        _same,
        short={
            "attenMaskOptional": _windows,
            "relativePosBias": lambda dtype, shape: (dtype, shape[-3:]),
        },
        sample_shape=(2, 3, 2, 4, 5),
        sample_attributes={"scaleValue": 0.5, "innerPrecisionMode": 0},
    ),
)
