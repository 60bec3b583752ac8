"""Activations and their gradients, gated ones included."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from ascend_opcli.operators.declare import (
    FLOAT,
    Divergence,
    Row,
    declare_rows,
    like,
    row,
)
from ascend_opcli.tensors.special import in_float32, normal_cdf, sigmoid, softplus

SELU_ALPHA, SELU_SCALE = 1.6732632423543772, 1.0507009873554805
CUBIC, SLOPE = 0.044715, math.sqrt(2 / math.pi)
FAST = 1.702


def where(condition: Any, yes: Any, no: Any) -> Any:
    """np.where in the dtype of the arrays, Python numbers beside them."""
    array = yes if isinstance(yes, np.ndarray) else no
    return np.where(condition, yes, no).astype(array.dtype, copy=False)


def relu(x: Any) -> Any:
    return np.maximum(x, x.dtype.type(0))


def gelu_erf(x: Any) -> Any:
    return x * normal_cdf(x)


def tanh_argument(x: Any) -> Any:
    return 2 * SLOPE * (x + CUBIC * x * x * x)


def gelu_tanh(x: Any) -> Any:
    return x * sigmoid(tanh_argument(x))  # 0.5 (1 + tanh(a)) = sigmoid(2 a), without cancellation


def gelu(x: Any, approximate: Any = 0) -> Any:
    return gelu_tanh(x) if approximate in (1, "tanh") else gelu_erf(x)


def silu(x: Any) -> Any:
    return x * sigmoid(x)


def swish(x: Any, beta: Any = 1.0) -> Any:
    return silu(x) if beta is None else x * sigmoid(beta * x)


def elu(x: Any, alpha: Any = 1.0, scale: Any = 1.0, inputScale: Any = 1.0) -> Any:
    return where(x > 0, x * scale, np.expm1(x * inputScale) * (alpha * scale))


def selu(x: Any) -> Any:
    if x.dtype.kind not in "iu":
        return elu(x, SELU_ALPHA, SELU_SCALE)
    # The kernel cuts what it has worked out in float; int8 then keeps its low bits, int32 saturates.
    wide = x.astype(np.float32)
    below = np.expm1(np.minimum(wide, 0)) * np.float32(SELU_ALPHA)
    whole = np.trunc((np.maximum(wide, 0) + below) * np.float32(SELU_SCALE))
    low, high = (-np.inf, np.inf) if x.dtype.itemsize == 1 else (np.iinfo(x.dtype).min, np.iinfo(x.dtype).max)
    return np.clip(whole.astype(np.float64), low, high).astype(np.int64).astype(x.dtype)


def celu(x: Any, alpha: Any = 1.0) -> Any:
    return where(x > 0, x, alpha * np.expm1(x / alpha))


def hardsigmoid(x: Any) -> Any:
    if x.dtype.kind in "iu":
        # The kernel works integers out in float32 and cuts the fraction.
        made = x.astype(np.float32) * np.float32(1 / 6) + np.float32(0.5)
        return np.clip(made, 0, 1).astype(x.dtype)
    return np.minimum(np.maximum(x + 3, 0), 6) / 6


def hardtanh(x: Any, low: Any = -1.0, high: Any = 1.0) -> Any:
    return np.minimum(np.maximum(x, low), high)


def mish(x: Any) -> Any:
    return x * np.tanh(softplus(x))


def soft_plus(x: Any, beta: Any = 1.0, threshold: Any = 20.0) -> Any:
    return where(in_float32(x * beta) > threshold, x, np.log1p(np.exp(x * beta)) / beta)


def softshrink(x: Any, lambd: Any = 0.5) -> Any:
    return where(x > lambd, x - lambd, where(x < -lambd, x + lambd, 0))


def hardshrink(x: Any, lambd: Any = 0.5) -> Any:
    return where((x >= -lambd) & (x <= lambd), 0, x)


def shrink(x: Any, lambd: Any = 0.5, bias: Any = 0.0) -> Any:
    edge = np.maximum(lambd, 0)
    return where(x > edge, x - bias, where(x < -edge, x + bias, 0))


def leaky_relu(x: Any, negativeSlope: Any = 0.01) -> Any:
    return where(x > 0, x, x * negativeSlope)


def prelu(x: Any, weight: Any) -> Any:
    return where(x > 0, x, x * weight_by_channel(x, weight))


def log_sigmoid(x: Any) -> Any:
    return -softplus(-x)


def threshold(x: Any, threshold: Any, value: Any) -> Any:
    return where(x <= threshold, value, x)


def heaviside(x: Any, values: Any) -> Any:
    return where(x == 0, values, (x > 0).astype(x.dtype))


def logit(x: Any, eps: Any = -1.0) -> Any:
    kept = x if eps is None or eps < 0 else np.minimum(np.maximum(x, eps), np.float32(1) - eps)
    return np.log(kept / (1 - kept))


def weight_by_channel(x: Any, weight: Any) -> Any:
    """PReLU's weight: one value, or one a channel on axis 1."""
    if weight.size == 1 or x.ndim < 2:
        return weight.reshape(-1) if weight.size > 1 else weight.reshape(())
    return weight.reshape(1, -1, *[1] * (x.ndim - 2))


def conjugate(x: Any) -> Any:
    return np.conj(x) if x.dtype.kind == "c" else x


def nan_is(text: str, name: str = "self") -> Divergence:
    return Divergence(text, lambda **values: bool(np.isnan(values[name]).any()))


NAN_PASSES = nan_is("NaN self passes gradOutput in the kernel; PyTorch may give 0")
_ZERO = nan_is("NaN self gives 0 in the kernel, which compares and selects; PyTorch gives NaN")

INFINITE = (
    Divergence(
        "by tanh an infinite self gives the limit in the kernel, which selects; PyTorch gives NaN",
        lambda self, approximate="tanh": approximate == "tanh" and bool(np.isinf(self).any()),
    ),
)

TANH_GELU = (
    Divergence(
        "the document's formula is the tanh approximation; aclnnGeluV2 with approximate 0 is the exact one"
    ),
)

FORWARD: Mapping[str, Row] = {
    "Relu": row(relu, "out = max(self, 0)"),
    "Gelu": row(
        gelu_tanh, "out = self / (1 + exp(-sqrt(8 / pi) (self + 0.044715 self^3)))", divergences=TANH_GELU
    ),
    "GeluV2": row(gelu, "y = x Phi(x); approximate 1 takes its tanh approximation"),
    "FastGelu": row(lambda x: x * sigmoid(FAST * x), "out = self sigmoid(1.702 self)"),
    "Silu": row(silu, "out = self sigmoid(self)"),
    "Swish": row(swish, "out = self sigmoid(beta self), beta 1 where it is null"),
    "Sigmoid": row(sigmoid, "out = 1 / (1 + exp(-self))", FLOAT),
    "LogSigmoid": row(log_sigmoid, "out = -ln(1 + exp(-self))"),
    "Selu": row(
        selu,
        "out = scale self above 0, scale alpha (e^self - 1) elsewhere; integers are cut",
        divergences=(
            Divergence(
                "an int8 result beyond 127 wraps in the kernel, an int32 one saturates; the document says of neither",
                lambda **values: any(
                    v.dtype == np.int8 and bool((v > 121).any())
                    for v in (values.get("self"), values.get("selfRef"))
                    if v is not None
                ),
            ),
        ),
    ),
    "Elu": row(elu, "out = scale self above 0, scale alpha (e^(inputScale self) - 1) elsewhere"),
    "Celu": row(celu, "out = self above 0, alpha (e^(self / alpha) - 1) elsewhere"),
    "Hardswish": row(
        lambda x: np.maximum(x, -3) * hardsigmoid(x),
        "out = max(self, -3) min(max(self + 3, 0), 6) / 6",
        divergences=(
            Divergence(
                "-Inf gives 0 in the kernel, which bounds self from below; the document's formula and PyTorch give NaN",
                lambda **values: bool((values["self" if "self" in values else "selfRef"] == -np.inf).any()),
            ),
        ),
    ),
    "Hardsigmoid": row(hardsigmoid, "out = min(max(self + 3, 0), 6) / 6"),
    "HardsigmoidV2": row(hardsigmoid, "out = min(max(self + 3, 0), 6) / 6"),
    "Hardtanh": row(hardtanh, "out = self kept between clipValueMin and clipValueMax"),
    "Mish": row(mish, "out = self tanh(ln(1 + e^self))"),
    "Softplus": row(soft_plus, "out = ln(1 + e^(beta self)) / beta, self where beta self > threshold"),
    "Softshrink": row(
        softshrink,
        "out = self moved by lambd towards 0, 0 within [-lambd, lambd] and for NaN",
        divergences=(_ZERO,),
    ),
    "Hardshrink": row(hardshrink, "out = self, 0 within [-lambd, lambd]"),
    "HardShrink": row(hardshrink, "out = self, 0 within [-lambd, lambd]"),
    "Shrink": row(
        shrink,
        "out = self -+ bias outside [-lambd, lambd], 0 inside and for NaN; lambd is at least 0",
        divergences=(_ZERO,),
    ),
    "LeakyRelu": row(leaky_relu, "out = self above 0, negativeSlope self elsewhere"),
    "Prelu": row(
        prelu,
        "out = self above 0, weight self elsewhere, weight by channel or one value",
        elementwise=False,
        outputs={"out": like("self")},
        short={"weight": lambda dtype, _shape: (dtype, (1,))},
    ),
    "Threshold": row(threshold, "out = self above threshold, value elsewhere; NaN stays"),
    "ThresholdV2": row(threshold, "out = self above threshold, value elsewhere; NaN stays"),
    "Heaviside": row(heaviside, "out = 0 below 0, 1 above, values at 0"),
    "SquaredRelu": row(lambda x: relu(x) * relu(x), "out = max(input, 0)^2"),
    "Softsign": row(lambda x: x / (1 + np.abs(x)), "out = self / (1 + |self|)"),
    "Logit": row(
        logit, "out = ln(input / (1 - input)), input kept in [eps, 1 - eps] where eps >= 0", data=(0.01, 0.99)
    ),
    "AddRelu": row(
        lambda self, other, alpha=1: relu(self + alpha * other), "out = max(self + alpha other, 0)"
    ),
    "SiluMul": row(lambda x, y: silu(x) * y, "out = x sigmoid(x) y"),
}


OPERATORS = declare_rows(FORWARD)
