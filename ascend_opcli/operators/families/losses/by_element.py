"""Losses by element and their gradients, with the reductions none (0), mean (1) and sum (2)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

from ascend_opcli.model import Shape
from ascend_opcli.operators.declare import (
    Arguments,
    Divergence,
    OutputRule,
    Row,
    Undefined,
    attribute_value,
    broadcast_shape,
    declare_rows,
    first_spec,
    like,
    promote,
    row,
)
from ascend_opcli.operators.families.elementwise import sign
from ascend_opcli.tensors.special import sigmoid, softplus

_NONE, MEAN, _SUM, _BATCH_MEAN = 0, 1, 2, 3
_PROBABILITIES = (0.01, 0.99)


def _known(reduction: Any, most: int) -> None:
    if reduction not in range(most + 1):
        raise Undefined(f"the reduction {reduction} is in no document")


def reduced(values: Any, reduction: Any, most: int = _SUM) -> Any:
    """By element, or in one number; 3 divides the sum by the length of the first axis.

    ``most`` is the last reduction that the operator's document has.
    """
    _known(reduction, most)
    if reduction == MEAN:
        # NumPy warns of the mean of nothing, which is NaN.
        return values.mean(dtype=values.dtype) if values.size else values.sum(dtype=values.dtype) / 0
    if reduction == _SUM:
        return values.sum(dtype=values.dtype)
    return values.sum(dtype=values.dtype) / values.shape[0] if reduction == _BATCH_MEAN else values


def spread(grad: Any, slope: Any, reduction: Any, most: int = _SUM) -> Any:
    """The gradient by element of a loss that was reduced so."""
    _known(reduction, most)
    made = grad * slope
    if reduction == MEAN:
        return made / max(made.size, 1)
    return made / slope.shape[0] if reduction == _BATCH_MEAN else made


# --- losses by element ----------------------------------------------------------------------------------------


def smooth_l1(self: Any, target: Any, beta: Any) -> Any:
    if beta < 0:
        raise Undefined(f"beta {float(beta):g}")
    away = np.abs(self - target)
    # beta 0 is the plain distance: nothing lies below it.
    return np.where(away < beta, 0.5 * away * away / (beta if beta else 1), away - 0.5 * beta).astype(
        away.dtype
    )


def smooth_l1_slope(self: Any, target: Any, beta: Any) -> Any:
    away = self - target
    inside = away / (beta if beta else 1)
    return np.where(np.abs(away) < beta, inside, np.sign(away)).astype(away.dtype)


def cross_entropy(self: Any, target: Any, weight: Any) -> Any:
    log = np.maximum(np.log(self), -100), np.maximum(np.log1p(-self), -100)
    made = (target - 1) * log[1] - target * log[0]
    return made if weight is None else made * weight


def cross_entropy_slope(self: Any, target: Any, weight: Any) -> Any:
    made = (self - target) / np.maximum((1 - self) * self, self.dtype.type(1e-12))
    return made if weight is None else made * weight


def logits_entropy(self: Any, target: Any, weight: Any, pos_weight: Any) -> Any:
    gain = 1 if pos_weight is None else pos_weight
    made = gain * target * softplus(-self) + (1 - target) * softplus(self)
    share = 1 if pos_weight is None else (pos_weight - 1) * target + 1
    own = (1 - target) * self + share * softplus(-self)
    made = np.where(np.isfinite(self) & np.isfinite(target), made, own)
    return made if weight is None else made * weight


def logits_entropy_slope(self: Any, target: Any, weight: Any, pos_weight: Any) -> Any:
    gain = 1 if pos_weight is None else pos_weight
    made = (1 - target) * sigmoid(self) - gain * target * sigmoid(-self)
    own = (gain * target + 1 - target) * sigmoid(self) - gain * target
    if pos_weight is None:
        own = sigmoid(self) - target
    made = np.where(np.isfinite(self) & np.isfinite(target), made, own)
    return made if weight is None else made * weight


def logits_entropy_target_slope(self: Any, target: Any, weight: Any, pos_weight: Any) -> Any:
    gain = 1 if pos_weight is None else pos_weight
    made = np.broadcast_to(
        gain * softplus(-self) - softplus(self), np.broadcast_shapes(self.shape, target.shape)
    )
    return made if weight is None else made * weight


def soft_margin_slope(self: Any, target: Any) -> Any:
    """The kernel's and PyTorch's quotient: NaN where the exponential overflows."""
    grown = np.exp(-target * self)
    return -target * grown / (1 + grown)


def kl_div(self: Any, target: Any, log_target: Any) -> Any:
    if log_target:
        return np.exp(target) * (target - self)
    return target * (np.log(np.where(target == 0, target.dtype.type(1), target)) - self)


def kl_div_slope(self: Any, target: Any, log_target: Any) -> Any:
    slope = -np.exp(target) if log_target else -target
    return np.broadcast_to(slope, np.broadcast_shapes(self.shape, target.shape))


def kl_div_target_slope(self: Any, target: Any, log_target: Any) -> Any:
    if log_target:
        return np.exp(target) * (target - self + 1)
    return np.log(target) - self + target / target


# --- rows -----------------------------------------------------------------------------------------------------


def _meeting(names: tuple[str, ...], arguments: Arguments) -> tuple[str, Shape] | None:
    """The promoted dtype and the broadcast shape of some inputs, all of which are there."""
    specs = [s for s in (first_spec(arguments.get(name)) for name in names) if s is not None]
    shape = broadcast_shape(*(s.shape for s in specs))
    return (
        (promote(*(s.dtype for s in specs)), shape)
        if len(specs) == len(names) and shape is not None
        else None
    )


def _output(least: int, typed: tuple[str, ...], arguments: Arguments) -> tuple[str, Shape] | None:
    made, word = _meeting(("self", "target"), arguments), _meeting(typed, arguments)
    if made is None or word is None:
        return None
    one = attribute_value(arguments, "reduction") in (MEAN, _SUM, _BATCH_MEAN)
    return word[0], (1,) * least if one else made[1]


def _forward(
    function: Callable[..., Any],
    text: str,
    *,
    out: str = "out",
    least: int = 0,
    typed: tuple[str, ...] = ("self", "target"),
    **rest: Any,
) -> Row:
    """A reduced output has the rank ``least``, its dtype is that of ``typed``."""
    return row(function, text, elementwise=False, outputs={out: partial(_output, least, typed)}, **rest)


def _as_target(slope: Any, target: Any) -> Any:
    if slope.shape != target.shape:
        raise Undefined("the slope is wider than the target, and the documents do not say how it is summed")
    return slope


def _backward(function: Callable[..., Any], text: str, out: str, rule: OutputRule, **rest: Any) -> Row:
    return row(function, text, elementwise=False, outputs={out: rule}, **rest)


def _typed_as_target(arguments: Arguments) -> tuple[str, Shape] | None:
    made, target = like("self")(arguments), first_spec(arguments.get("target"))
    return (target.dtype, made[1]) if made is not None and target is not None else None


_OF_ALL = partial(_meeting, ("gradOutput", "self", "target"))


_CLAMPED = (
    Divergence(
        "the logarithms are held at -100 as in PyTorch; the document's formula has no such bound",
        lambda self: bool(((self <= 1e-44) | (self >= 1)).any()),
    ),
)
_BATCH = " (3: the sum divided by the length of the first axis)"
_P, _T = _PROBABILITIES, (0.0, 1.0)

FORWARD: Mapping[str, Row] = {
    "L1Loss": _forward(
        lambda s, t, reduction=1: reduced(np.abs(s - t), reduction), "out = |self - target|, reduced"
    ),
    **{
        name: _forward(
            lambda s, t, reduction=1: reduced((s - t) * (s - t), reduction),
            "out = (self - target)^2, reduced",
            least=least,
        )
        for name, least in (("MseLoss", 0), ("MseLossOut", 1))
    },
    "SmoothL1Loss": _forward(
        lambda s, t, reduction=1, beta=1.0: reduced(smooth_l1(s, t, beta), reduction),
        "result = d^2 / (2 beta) where d = |self - target| < beta, else d - beta / 2, reduced",
        out="result",
        least=1,
    ),
    "BinaryCrossEntropy": _forward(
        lambda s, t, weight, reduction=1: reduced(cross_entropy(s, t, weight), reduction),
        "out = -weight (target ln(self) + (1 - target) ln(1 - self)), reduced",
        data=(_P, _T, _T),
        divergences=_CLAMPED,
    ),
    "BinaryCrossEntropyWithLogits": _forward(
        lambda s, t, weight, pos, reduction=1: reduced(logits_entropy(s, t, weight, pos), reduction),
        "out = weight (posWeight target ln(1 + e^-self) + (1 - target) ln(1 + e^self)), reduced",
        typed=("target",),
        data=(None, _T, _T, _T),
    ),
    "KlDiv": _forward(
        lambda s, t, reduction=1, logTarget=False: reduced(kl_div(s, t, logTarget), reduction, _BATCH_MEAN),
        "out = target (ln(target) - self), or e^target (target - self) where logTarget, reduced" + _BATCH,
        data=(None, _P),
    ),
    "SoftMarginLoss": _forward(
        lambda s, t, reduction=1: reduced(softplus(-t * s), reduction),
        "out = ln(1 + exp(-target self)), reduced",
    ),
}

BACKWARD: Mapping[str, Row] = {
    "L1LossBackward": _backward(
        lambda grad, s, t, reduction=1: spread(grad, sign(s - t), reduction),
        "gradInput = gradOutput sign(self - target), divided by their number for mean",
        "gradInput",
        _OF_ALL,
    ),
    "MseLossBackward": _backward(
        lambda grad, s, t, reduction=1: spread(grad, 2 * (s - t), reduction),
        "out = 2 gradOutput (self - target), divided by their number for mean",
        "out",
        _OF_ALL,
    ),
    "SmoothL1LossBackward": _backward(
        lambda grad, s, t, reduction=1, beta=1.0: spread(grad, smooth_l1_slope(s, t, beta), reduction),
        "gradInput = gradOut d / beta where |d| < beta, d = self - target, else gradOut sign(d)",
        "gradInput",
        partial(_meeting, ("gradOut", "self", "target")),
    ),
    "BinaryCrossEntropyBackward": _backward(
        lambda grad, s, t, weight, reduction=1: spread(grad, cross_entropy_slope(s, t, weight), reduction),
        "out = gradOutput weight (self - target) / (self (1 - self))",
        "out",
        like("self"),
        data=(None, _P, _T, _T),
    ),
    "BinaryCrossEntropyWithLogitsBackward": _backward(
        lambda grad, s, t, weight, pos, reduction=1: spread(
            grad, logits_entropy_slope(s, t, weight, pos), reduction
        ),
        "out = gradOutput weight ((1 - target) sigmoid(self) - posWeight target sigmoid(-self))",
        "out",
        _typed_as_target,
        data=(None, None, _T, _T, _T),
    ),
    "BinaryCrossEntropyWithLogitsTargetBackward": _backward(
        lambda grad, s, t, weight, pos, reduction=1: spread(
            grad, logits_entropy_target_slope(s, t, weight, pos), reduction
        ),
        "gradTarget = gradOutput weight (posWeight ln(1 + e^-self) - ln(1 + e^self))",
        "gradTarget",
        _typed_as_target,
        data=(None, None, _T, _T, _T),
    ),
    "KlDivBackward": _backward(
        lambda grad, s, t, reduction=1, logTarget=False: spread(
            grad, kl_div_slope(s, t, logTarget), reduction, _BATCH_MEAN
        ),
        "out = -gradOutput target, or -gradOutput e^target where logTarget" + _BATCH,
        "out",
        like("self"),
        data=(None, None, _P),
    ),
    "SoftMarginLossBackward": _backward(
        lambda grad, s, t, reduction=1: spread(grad, soft_margin_slope(s, t), reduction),
        "out = -gradOutput target e / (1 + e), e = exp(-target self)",
        "out",
        _OF_ALL,
    ),
    "KlDivTargetBackward": _backward(
        lambda grad, s, t, reduction=1, logTarget=False: _as_target(
            spread(grad, kl_div_target_slope(s, t, logTarget), reduction, _BATCH_MEAN), t
        ),
        "gradTarget = gradOutput (ln(target) - self + 1), or gradOutput e^target (target - self + 1) where logTarget",
        "gradTarget",
        like("target"),
        data=(None, None, _P),
        divergences=(
            Divergence(
                "a target of 0 or Inf gives NaN in the kernel, which divides it by itself; PyTorch gives 0 at 0",
                lambda target, logTarget: bool(not logTarget and ((target == 0) | (target == np.inf)).any()),
            ),
        ),
    ),
}

OPERATORS = declare_rows(FORWARD) + declare_rows(BACKWARD)
