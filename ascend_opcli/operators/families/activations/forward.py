"""Activations and their gradients, gated ones included."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from ascend_opcli.operators.declare import (
    FLOAT,
    Divergence,
    OutputRule,
    Row,
    Undefined,
    declare_rows,
    like,
    like_input,
    row,
)
from ascend_opcli.tensors.special import in_float32, normal_cdf, sigmoid, softplus

_SELU_ALPHA, _SELU_SCALE = 1.6732632423543772, 1.0507009873554805
_CUBIC, _SLOPE = 0.044715, math.sqrt(2 / math.pi)
_FAST = 1.702


def _where(condition: Any, yes: Any, no: Any) -> Any:
    """np.where in the dtype of the arrays, Python numbers beside them."""
    array = yes if isinstance(yes, np.ndarray) else no
    return np.where(condition, yes, no).astype(array.dtype, copy=False)


# --- forward --------------------------------------------------------------------------------------------------


def relu(x: Any) -> Any:
    return np.maximum(x, x.dtype.type(0))


def gelu_erf(x: Any) -> Any:
    return x * normal_cdf(x)


def _tanh_argument(x: Any) -> Any:
    return 2 * _SLOPE * (x + _CUBIC * x * x * x)


def gelu_tanh(x: Any) -> Any:
    return x * sigmoid(_tanh_argument(x))  # 0.5 (1 + tanh(a)) = sigmoid(2 a), without cancellation


def gelu(x: Any, approximate: Any = 0) -> Any:
    return gelu_tanh(x) if approximate in (1, "tanh") else gelu_erf(x)


def silu(x: Any) -> Any:
    return x * sigmoid(x)


def swish(x: Any, beta: Any = 1.0) -> Any:
    return silu(x) if beta is None else x * sigmoid(beta * x)


def elu(x: Any, alpha: Any = 1.0, scale: Any = 1.0, inputScale: Any = 1.0) -> Any:
    return _where(x > 0, x * scale, np.expm1(x * inputScale) * (alpha * scale))


def selu(x: Any) -> Any:
    if x.dtype.kind not in "iu":
        return elu(x, _SELU_ALPHA, _SELU_SCALE)
    # The kernel cuts what it has worked out in float; int8 then keeps its low bits, int32 saturates.
    wide = x.astype(np.float32)
    below = np.expm1(np.minimum(wide, 0)) * np.float32(_SELU_ALPHA)
    whole = np.trunc((np.maximum(wide, 0) + below) * np.float32(_SELU_SCALE))
    low, high = (-np.inf, np.inf) if x.dtype.itemsize == 1 else (np.iinfo(x.dtype).min, np.iinfo(x.dtype).max)
    return np.clip(whole.astype(np.float64), low, high).astype(np.int64).astype(x.dtype)


def celu(x: Any, alpha: Any = 1.0) -> Any:
    return _where(x > 0, x, alpha * np.expm1(x / alpha))


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
    return _where(in_float32(x * beta) > threshold, x, np.log1p(np.exp(x * beta)) / beta)


def softshrink(x: Any, lambd: Any = 0.5) -> Any:
    return _where(x > lambd, x - lambd, _where(x < -lambd, x + lambd, 0))


def hardshrink(x: Any, lambd: Any = 0.5) -> Any:
    return _where((x >= -lambd) & (x <= lambd), 0, x)


def shrink(x: Any, lambd: Any = 0.5, bias: Any = 0.0) -> Any:
    edge = np.maximum(lambd, 0)
    return _where(x > edge, x - bias, _where(x < -edge, x + bias, 0))


def leaky_relu(x: Any, negativeSlope: Any = 0.01) -> Any:
    return _where(x > 0, x, x * negativeSlope)


def prelu(x: Any, weight: Any) -> Any:
    return _where(x > 0, x, x * _per_channel(x, weight))


def log_sigmoid(x: Any) -> Any:
    return -softplus(-x)


def threshold(x: Any, threshold: Any, value: Any) -> Any:
    return _where(x <= threshold, value, x)


def heaviside(x: Any, values: Any) -> Any:
    return _where(x == 0, values, (x > 0).astype(x.dtype))


def logit(x: Any, eps: Any = -1.0) -> Any:
    kept = x if eps is None or eps < 0 else np.minimum(np.maximum(x, eps), np.float32(1) - eps)
    return np.log(kept / (1 - kept))


def _per_channel(x: Any, weight: Any) -> Any:
    """PReLU's weight: one value, or one a channel on axis 1."""
    if weight.size == 1 or x.ndim < 2:
        return weight.reshape(-1) if weight.size > 1 else weight.reshape(())
    return weight.reshape(1, -1, *[1] * (x.ndim - 2))


def _conjugate(x: Any) -> Any:
    return np.conj(x) if x.dtype.kind == "c" else x


# --- gradients ------------------------------------------------------------------------------------------------


def gelu_erf_slope(x: Any) -> Any:
    return normal_cdf(x) + x * np.exp(-x * x / 2) * (1 / math.sqrt(2 * math.pi))


def _gelu_tanh_terms(x: Any) -> tuple[Any, Any]:
    gate = sigmoid(_tanh_argument(x))
    return gate, x * gate * sigmoid(-_tanh_argument(x)) * (2 * _SLOPE * (1 + 3 * _CUBIC * x * x))


def _gelu_slope(x: Any, approximate: Any) -> Any:
    return np.add(*_gelu_tanh_terms(x)) if approximate in (1, "tanh") else gelu_erf_slope(x)


def gelu_backward(grad: Any, x: Any, approximate: Any = "none") -> Any:
    """By tanh the kernel selects 0 where the second term is NaN, as it is at the infinities."""
    if approximate != "tanh":
        return grad * gelu_erf_slope(x)
    gate, rest = _gelu_tanh_terms(x)
    return grad * (gate + _where(np.isnan(rest), 0, rest))


def swish_backward(grad: Any, x: Any, beta: Any = 1.0) -> Any:
    scaled = x if beta is None else x * beta
    return grad * sigmoid(scaled) * (1 + scaled * sigmoid(-scaled))


def selu_backward(grad: Any, result: Any) -> Any:
    return _where(result <= 0, grad * (result + _SELU_SCALE * _SELU_ALPHA), grad * _SELU_SCALE)


def hardswish_backward(grad: Any, x: Any) -> Any:
    return _where(x < -3, grad * 0, _where(x <= 3, grad * (x / 3 + 0.5), grad))


def hardswish_backward_v2(grad: Any, x: Any) -> Any:
    return _where(x <= -3, grad * 0, _where(x < 3, grad * (x / 3 + 0.5), grad))


def hardtanh_backward(grad: Any, x: Any, low: Any = -1.0, high: Any = 1.0) -> Any:
    return _where((x > low) & (x < high) | np.isnan(x), grad, 0)


def mish_backward(grad: Any, x: Any) -> Any:
    through = np.tanh(softplus(x))
    return grad * (through + x * sigmoid(x) * (1 - through * through))


def softplus_backward(grad: Any, x: Any, beta: Any = 1.0, threshold: Any = 20.0) -> Any:
    return _where(in_float32(x * beta) > threshold, grad, grad * sigmoid(x * beta))


def shrink_backward(grad: Any, x: Any, lambd: Any = 0.5) -> Any:
    return _where(np.abs(x) <= lambd, 0, grad)


def leaky_relu_backward(grad: Any, x: Any, negativeSlope: Any = 0.01, _selfIsResult: Any = False) -> Any:
    return _where(x > 0, grad, grad * negativeSlope)


def prelu_backward(grad: Any, x: Any, weight: Any) -> Any:
    by_weight = _where(x > 0, 0, grad * x)
    if weight.size > 1 and x.ndim > 1:
        by_weight = by_weight.sum(axis=tuple(a for a in range(x.ndim) if a != 1))
    elif weight.size == 1:
        by_weight = by_weight.sum()
    return _where(x > 0, grad, grad * _per_channel(x, weight)), np.asarray(by_weight).reshape(weight.shape)


# --- gated: the tensor is cut in two along an axis ------------------------------------------------------------


def _halves(x: Any, dim: Any) -> tuple[Any, Any]:
    left, right = np.split(x, 2, axis=int(dim))
    return left, right


def glu_backward(grad: Any, x: Any, dim: Any = -1) -> Any:
    a, b = _halves(x, dim)
    gate = sigmoid(b)
    return np.concatenate([grad * gate, grad * gate * sigmoid(-b) * a], axis=int(dim))


def swiglu(x: Any, dim: Any = -1) -> Any:
    a, b = _halves(x, dim)
    return silu(a) * b


def swiglu_backward(grad: Any, x: Any, dim: Any = -1) -> Any:
    a, b = _halves(x, dim)
    return np.concatenate([swish_backward(grad, a) * b, grad * silu(a)], axis=int(dim))


def geglu(x: Any, dim: Any = -1, approximate: Any = 1, activateLeft: Any = False) -> Any:
    a, b = _halves(x, dim)
    active, other = (a, b) if activateLeft else (b, a)
    return other * gelu(active, approximate), gelu(active, approximate)


def geglu_backward(
    grad: Any, x: Any, gelu: Any, dim: Any = -1, approximate: Any = 1, activateLeft: Any = False
) -> Any:
    a, b = _halves(x, dim)
    active, other = (a, b) if activateLeft else (b, a)
    both = [grad * gelu, grad * other * _gelu_slope(active, approximate)]
    return np.concatenate(both[::-1] if activateLeft else both, axis=int(dim))


def gelu_mul(x: Any, approximate: Any = "none") -> Any:
    a, b = _halves(x, -1)
    return gelu(a, approximate) * b


def fatrelu_mul(x: Any, threshold: Any) -> Any:
    a, b = _halves(x, -1)
    return _where(a > threshold.reshape(-1)[0], a, 0) * b


def _glu(x: Any, dim: Any = -1) -> Any:
    a, b = _halves(x, dim)
    return a * sigmoid(b)


def _nan_is(text: str, name: str = "self") -> Divergence:
    return Divergence(text, lambda **values: bool(np.isnan(values[name]).any()))


_PASSES = _nan_is("NaN self passes gradOutput in the kernel; PyTorch may give 0")
_ZERO = _nan_is("NaN self gives 0 in the kernel, which compares and selects; PyTorch gives NaN")
_TANH_GELU = (
    Divergence(
        "the document's formula is the tanh approximation; aclnnGeluV2 with approximate 0 is the exact one"
    ),
)

_INFINITE = (
    Divergence(
        "by tanh an infinite self gives the limit in the kernel, which selects; PyTorch gives NaN",
        lambda self, approximate="tanh": approximate == "tanh" and bool(np.isinf(self).any()),
    ),
)

FORWARD: Mapping[str, Row] = {
    "Relu": row(relu, "out = max(self, 0)"),
    "Gelu": row(
        gelu_tanh, "out = self / (1 + exp(-sqrt(8 / pi) (self + 0.044715 self^3)))", divergences=_TANH_GELU
    ),
    "GeluV2": row(gelu, "y = x Phi(x); approximate 1 takes its tanh approximation"),
    "FastGelu": row(lambda x: x * sigmoid(_FAST * x), "out = self sigmoid(1.702 self)"),
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


def _hardswish(*more: Any) -> tuple[Divergence, ...]:
    nan = _nan_is("NaN self passes gradOutput in the kernel; PyTorch gives NaN")
    return (Divergence(*more), nan) if more else (nan,)


BACKWARD: Mapping[str, Row] = {
    "GeluBackward": row(
        lambda grad, x: gelu_backward(grad, x, "tanh"),
        "gradInput = gradOutput gelu'(self), by tanh",
        divergences=_INFINITE,
    ),
    "GeluBackwardV2": row(
        gelu_backward, "gradInput = gradOutput gelu'(self), exact or by tanh", divergences=_INFINITE
    ),
    "FastGeluBackward": row(
        lambda grad, x: swish_backward(grad, x, x.dtype.type(_FAST)),
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
            _nan_is("NaN result passes gradOutput scale in the kernel; PyTorch may give NaN", "result"),
        ),
    ),
    "SigmoidBackward": row(
        lambda grad, out: grad * _conjugate((1 - out) * out),
        "gradInput = gradOutput output (1 - output), the conjugate of the product for complex numbers",
        data=(None, (0.0, 1.0)),
    ),
    "TanhBackward": row(
        lambda grad, out: grad * ((1 - out) * (1 + out)),
        "gradInput = gradOutput (1 - output^2)",
        data=(None, (-1.0, 1.0)),
    ),
    "TanhGrad": row(lambda y, dy: dy * ((1 - y) * (1 + y)), "dx = dy (1 - y^2)", data=((-1.0, 1.0), None)),
    "SqrtBackward": row(lambda y, dy: dy * 0.5 / y, "z = dy / (2 y)", data=((0.1, 10.0), None)),
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
        lambda grad, x: _where((x > -3) & (x < 3), grad / 6, 0),
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
            _PASSES,
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
        divergences=(_PASSES,),
    ),
    "HardshrinkBackward": row(
        shrink_backward,
        "gradInput = gradOutput, for NaN too, 0 within [-lambd, lambd]",
        divergences=(_PASSES,),
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
    "AtanGrad": row(lambda x, dy: dy / (1 + x * x), "dx = dy / (1 + x^2)"),
}


def _gated(
    function: Any, text: str, tensor: str, outs: tuple[str, ...], dim: str = "dim", **rest: Any
) -> Row:
    rules: dict[str, OutputRule] = {name: like_input(tensor, halved=dim) for name in outs}
    return row(function, text, elementwise=False, outputs=rules, sample_shape=(2, 3, 8), **rest)


def _ungated(function: Any, text: str, tensor: str, out: str, halves: tuple[str, ...]) -> Row:
    short = dict.fromkeys(
        halves, lambda dtype, shape: (dtype, (*shape[:-1], shape[-1] // 2)) if shape else _no_axis()
    )
    return row(
        function, text, elementwise=False, outputs={out: like(tensor)}, short=short, sample_shape=(2, 3, 8)
    )


def _no_axis() -> Any:
    raise Undefined("a tensor of rank 0 has no axis to halve")


GATED: Mapping[str, Row] = {
    "Glu": _gated(_glu, "out = a sigmoid(b), the halves of self along dim", "self", ("out",)),
    "SwiGlu": _gated(swiglu, "out = a sigmoid(a) b, the halves of x along dim", "x", ("out",)),
    "GeGlu": _gated(
        geglu, "out = a gelu(b), outGelu = gelu(b), the halves of self along dim", "self", ("out", "outGelu")
    ),
    "GeGluV3": _gated(
        geglu,
        "out = a gelu(b), or gelu(a) b where activateLeft, the halves of self along dim",
        "self",
        ("out", "outGelu"),
    ),
    "GeluMul": _gated(gelu_mul, "out = gelu(a) b, the halves of the last axis", "input", ("out",), ""),
    "FatreluMul": _gated(
        fatrelu_mul,
        "out = a b where a > threshold, else 0 b, for NaN a too, the halves of the last axis",
        "input",
        ("out",),
        "",
        short={"threshold": lambda dtype, _shape: (dtype, (1,))},
        divergences=(
            Divergence(
                "a left value at the threshold, or NaN, gives 0 in the kernel; the document keeps it at the threshold",
                lambda input, threshold: bool(
                    (np.isnan(left := _halves(input, -1)[0]) | (left == threshold.reshape(-1)[0])).any()
                ),
            ),
        ),
    ),
    "GluBackward": _ungated(
        glu_backward, "out = the gradient of a sigmoid(b) by both halves", "self", "out", ("gradOut",)
    ),
    "SwiGluGrad": _ungated(
        swiglu_backward, "out = the gradient of a sigmoid(a) b by both halves", "x", "out", ("yGrad",)
    ),
    "GeGluBackward": _ungated(
        geglu_backward,
        "gradInput = the gradient of a gelu(b) by both halves",
        "self",
        "gradInput",
        ("gradOutput", "gelu"),
    ),
    "GeGluV3Backward": _ungated(
        geglu_backward,
        "gradInput = the gradient of a gelu(b), or gelu(a) b where activateLeft, by both halves",
        "self",
        "gradInput",
        ("gradOutput", "gelu"),
    ),
}

OPERATORS = declare_rows(FORWARD) + declare_rows(BACKWARD) + declare_rows(GATED)
