"""Gradients of activations."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from ascend_opcli.operators.declare import (
    Divergence,
    Row,
    declare_rows,
    like,
    row,
)
from ascend_opcli.operators.families.activations.forward import (
    CUBIC,
    FAST,
    INFINITE,
    NAN_PASSES,
    SELU_ALPHA,
    SELU_SCALE,
    SLOPE,
    conjugate,
    nan_is,
    tanh_argument,
    weight_by_channel,
    where,
)
from ascend_opcli.tensors.special import in_float32, normal_cdf, sigmoid, softplus


def gelu_erf_slope(x: Any) -> Any:
    return normal_cdf(x) + x * np.exp(-x * x / 2) * (1 / math.sqrt(2 * math.pi))


def _gelu_tanh_terms(x: Any) -> tuple[Any, Any]:
    gate = sigmoid(tanh_argument(x))
    return gate, x * gate * sigmoid(-tanh_argument(x)) * (2 * SLOPE * (1 + 3 * CUBIC * x * x))


def gelu_slope(x: Any, approximate: Any) -> Any:
    return np.add(*_gelu_tanh_terms(x)) if approximate in (1, "tanh") else gelu_erf_slope(x)


def gelu_backward(grad: Any, x: Any, approximate: Any = "none") -> Any:
    """By tanh the kernel selects 0 where the second term is NaN, as it is at the infinities."""
    if approximate != "tanh":
        return grad * gelu_erf_slope(x)
    gate, rest = _gelu_tanh_terms(x)
    return grad * (gate + where(np.isnan(rest), 0, rest))


def swish_backward(grad: Any, x: Any, beta: Any = 1.0) -> Any:
    scaled = x if beta is None else x * beta
    return grad * sigmoid(scaled) * (1 + scaled * sigmoid(-scaled))


def selu_backward(grad: Any, result: Any) -> Any:
    return where(result <= 0, grad * (result + SELU_SCALE * SELU_ALPHA), grad * SELU_SCALE)


def hardswish_backward(grad: Any, x: Any) -> Any:
    return where(x < -3, grad * 0, where(x <= 3, grad * (x / 3 + 0.5), grad))


def hardswish_backward_v2(grad: Any, x: Any) -> Any:
    return where(x <= -3, grad * 0, where(x < 3, grad * (x / 3 + 0.5), grad))


def hardtanh_backward(grad: Any, x: Any, low: Any = -1.0, high: Any = 1.0) -> Any:
    return where((x > low) & (x < high) | np.isnan(x), grad, 0)


def mish_backward(grad: Any, x: Any) -> Any:
    through = np.tanh(softplus(x))
    return grad * (through + x * sigmoid(x) * (1 - through * through))


def softplus_backward(grad: Any, x: Any, beta: Any = 1.0, threshold: Any = 20.0) -> Any:
    return where(in_float32(x * beta) > threshold, grad, grad * sigmoid(x * beta))


def shrink_backward(grad: Any, x: Any, lambd: Any = 0.5) -> Any:
    return where(np.abs(x) <= lambd, 0, grad)


def leaky_relu_backward(grad: Any, x: Any, negativeSlope: Any = 0.01, _selfIsResult: Any = False) -> Any:
    return where(x > 0, grad, grad * negativeSlope)


def prelu_backward(grad: Any, x: Any, weight: Any) -> Any:
    by_weight = where(x > 0, 0, grad * x)
    if weight.size > 1 and x.ndim > 1:
        by_weight = by_weight.sum(axis=tuple(a for a in range(x.ndim) if a != 1))
    elif weight.size == 1:
        by_weight = by_weight.sum()
    return where(x > 0, grad, grad * weight_by_channel(x, weight)), np.asarray(by_weight).reshape(
        weight.shape
    )


def _hardswish(*more: Any) -> tuple[Divergence, ...]:
    nan = nan_is("NaN self passes gradOutput in the kernel; PyTorch gives NaN")
    return (Divergence(*more), nan) if more else (nan,)


BACKWARD: Mapping[str, Row] = {
    "GeluBackward": row(
        lambda grad, x: gelu_backward(grad, x, "tanh"),
        "gradInput = gradOutput gelu'(self), by tanh",
        divergences=INFINITE,
    ),
    "GeluBackwardV2": row(
        gelu_backward, "gradInput = gradOutput gelu'(self), exact or by tanh", divergences=INFINITE
    ),
    "FastGeluBackward": row(
        lambda grad, x: swish_backward(grad, x, x.dtype.type(FAST)),
        "gradInput = gradOutput s (1 + 1.702 self (1 - s)), s = sigmoid(1.702 self)",
    ),
    "SiluBackward": row(
        lambda grad, x: swish_backward(grad, x),
        "gradInput = gradOutput s (1 + self (1 - s)), s = sigmoid(self)",
    ),
    "SwishBackward": row(
        swish_backward, "gradInput = gradOutput s (1 + beta self (1 - s)), s = sigmoid(beta self)"
    ),
    "SeluBackward": row(
        selu_backward,
        "gradInput = gradOutput (result + scale alpha) up to 0, gradOutput scale above and for NaN",
        divergences=(
            nan_is("NaN result passes gradOutput scale in the kernel; PyTorch may give NaN", "result"),
        ),
    ),
    "SigmoidBackward": row(
        lambda grad, out: grad * conjugate((1 - out) * out),
        "gradInput = gradOutput output (1 - output), the conjugate of the product for complex numbers",
        data=(None, (0.0, 1.0)),
    ),
    "TanhBackward": row(
        lambda grad, out: grad * ((1 - out) * (1 + out)),
        "gradInput = gradOutput (1 - output^2)",
        data=(None, (-1.0, 1.0)),
    ),
    "TanhGrad": row(lambda y, dy: dy * ((1 - y) * (1 + y)), "dx = dy (1 - y^2)", data=((-1.0, 1.0), None)),
    "HardswishBackward": row(
        hardswish_backward,
        "gradInput = 0 below -3, gradOutput above 3, gradOutput (self / 3 + 1 / 2) at and between them",
        divergences=_hardswish(
            "at -3 and 3 themselves the kernel takes the linear part; PyTorch and aclnnHardswishBackwardV2 do not",
            lambda self: bool((np.abs(self) == 3).any()),
        ),
    ),
    "HardswishBackwardV2": row(
        hardswish_backward_v2,
        "gradInput = 0 up to -3, gradOutput from 3 on, gradOutput (self / 3 + 1 / 2) between",
        divergences=_hardswish(),
    ),
    "HardsigmoidBackward": row(
        lambda grad, x: where((x > -3) & (x < 3), grad / 6, 0),
        "gradInput = gradOutput / 6 between -3 and 3, else 0",
    ),
    "HardtanhBackward": row(
        hardtanh_backward,
        "gradInput = gradOutput between min and max and for NaN, 0 at them and beyond",
        divergences=(
            Divergence(
                "at min and max themselves the kernel and PyTorch give 0; the document's formula passes the gradient",
                lambda self, min, max: bool(((self == np.float32(min)) | (self == np.float32(max))).any()),
            ),
            NAN_PASSES,
        ),
    ),
    "MishBackward": row(
        mish_backward, "gradInput = gradOutput (t + self sigmoid(self) (1 - t^2)), t = tanh(ln(1 + e^self))"
    ),
    "SoftplusBackward": row(
        softplus_backward, "gradInput = gradOutput sigmoid(beta self), gradOutput where beta self > threshold"
    ),
    "SoftshrinkBackward": row(
        shrink_backward,
        "gradInput = gradOutput, for NaN too, 0 within [-lambda, lambda]",
        divergences=(NAN_PASSES,),
    ),
    "HardshrinkBackward": row(
        shrink_backward,
        "gradInput = gradOutput, for NaN too, 0 within [-lambd, lambd]",
        divergences=(NAN_PASSES,),
    ),
    "LeakyReluBackward": row(
        leaky_relu_backward, "gradInput = gradOutput where self > 0, negativeSlope gradOutput elsewhere"
    ),
    "LogSigmoidBackward": row(
        lambda grad, x, _buffer: grad * sigmoid(-x),
        "gradInput = gradOutput sigmoid(-self)",
        apart=("buffer",),
    ),
    "PreluBackward": row(
        prelu_backward,
        "gradInput = gradOutput times 1 or weight; gradWeight = the sum of gradOutput self where self <= 0",
        elementwise=False,
        outputs={"gradInput": like("self"), "gradWeight": like("weight")},
        short={"weight": lambda dtype, _shape: (dtype, (1,))},
    ),
    "SoftsignBackward": row(
        lambda grad, x: grad / ((1 + np.abs(x)) * (1 + np.abs(x))), "output = gradients / (1 + |features|)^2"
    ),
}

OPERATORS = declare_rows(BACKWARD)
