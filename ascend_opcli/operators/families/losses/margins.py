"""Hinge, Huber, Lp and Gaussian losses with their gradients: by element, or reduced as a word says."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

from ascend_opcli.model import Call, Generator, Shape, TensorSpec
from ascend_opcli.operators.declare import (
    Arguments,
    OutputRule,
    Row,
    Undefined,
    attribute_value,
    declare_rows,
    first_spec,
    like,
    row,
)
from ascend_opcli.operators.families.losses.by_element import MEAN, reduced

REDUCTIONS = {"none": 0, "mean": MEAN, "sum": 2}


def by_word(reduction: Any) -> int:
    """The number of a reduction that is written as a word; mean for the null pointer, as the kernels register it."""
    word = "mean" if reduction is None else str(reduction)
    if word not in REDUCTIONS:
        raise Undefined(f"reduction '{reduction}'")
    return REDUCTIONS[word]


# --- by element -----------------------------------------------------------------------------------------------


def huber(predictions: Any, targets: Any, delta: Any = 1.0) -> Any:
    if not delta > 0:
        raise Undefined(f"delta {delta}, which must be above 0")
    away, most = np.abs(predictions - targets), predictions.dtype.type(delta)
    return np.where(away <= most, 0.5 * away * away, most * (away - 0.5 * most)).astype(away.dtype)


def hinge(predict: Any, target: Any) -> Any:
    return np.maximum(1 - target * predict, predict.dtype.type(0))


def hinge_slope(predict: Any, target: Any, grad: Any) -> Any:
    return np.where(1 - target * predict > 0, -target * grad, predict.dtype.type(0))


def hinge_other_side(predict: Any, target: Any, gradOutput: Any) -> tuple[Any, Any] | None:
    """Where float32 may put the margin on the other side of 0, the other branch is as right."""
    margin = 1 - target * predict
    near = np.abs(margin) <= 2.0**-23 * np.abs(target * predict)
    if not near.any():
        return None
    return near, np.where(margin > 0, 0, -target * gradOutput)


def hinge_embedding(input: Any, target: Any, margin: Any) -> Any:
    if np.any(np.abs(target) != 1):
        raise Undefined("a target is neither 1 nor -1")
    return np.where(target == 1, input, np.maximum(margin - input, 0)).astype(input.dtype)


def _variance(input: Any, var: Any, eps: Any) -> Any:
    """Variances, at least eps, in a shape that meets the input's: its own, one for a row, or one for all."""
    if eps < 0:
        raise Undefined(f"eps {float(eps):g}, which must not be below 0")
    fits = var.shape == input.shape or var.size == 1 or var.shape == (*input.shape[:-1], 1)
    if not fits and var.shape != input.shape[:-1]:
        raise Undefined(f"variances of shape {list(var.shape)} for an input of shape {list(input.shape)}")
    held = np.maximum(var, var.dtype.type(eps))
    return held if fits else held[..., None]


def gaussian(input: Any, target: Any, var: Any, full: Any, eps: Any) -> Any:
    wide, away = _variance(input, var, eps), input - target
    made = (np.log(wide) + away * away / wide) / 2
    return made + made.dtype.type(0.5 * np.log(2 * np.pi)) if full else made


def gaussian_slopes(
    grad: Any, input: Any, target: Any, var: Any, _full: Any = False, eps: Any = 1e-6, reduction: Any = "mean"
) -> tuple[Any, Any]:
    """The least variance lets the slope through as if it were the variance itself, as in PyTorch."""
    wide, away = _variance(input, var, eps), input - target
    grad = grad / max(input.size, 1) if by_word(reduction) == MEAN else grad
    slope = grad * (1 / wide - (away / wide) ** 2) / 2
    if var.size == 1:
        summed = slope.sum(dtype=slope.dtype).reshape(var.shape)
    elif var.shape == input.shape:
        summed = slope
    else:
        summed = slope.sum(axis=-1, dtype=slope.dtype).reshape(var.shape)
    return grad * away / wide, summed


def lp(predict: Any, label: Any, p: Any) -> Any:
    if p != 1:
        raise Undefined(f"p {p}: only 1 is documented")
    return np.abs(predict - label)


# --- rows -----------------------------------------------------------------------------------------------------


def _by_word(name: str, attribute: str, arguments: Arguments) -> tuple[str, Shape] | None:
    """One number, or the shape of the input ``name`` where nothing is reduced."""
    spec = first_spec(arguments.get(name))
    word = attribute_value(arguments, attribute)
    if spec is None:
        return None
    return spec.dtype, (spec.shape if word == "none" else ())


def _one_number(out: str, made: Any, call: Call) -> None:
    spec = call.outputs.get(out)
    if made.ndim == 0 and isinstance(spec, TensorSpec) and spec.count != 1:
        raise Undefined(f"a reduced loss is one number, {out} has {spec.count} elements")


def _in_words(
    function: Callable[..., Any], text: str, *, out: str, like: str, attribute: str, **rest: Any
) -> Row:
    """A loss whose reduction is written as a word."""
    rules: dict[str, OutputRule] = {out: partial(_by_word, like, attribute)}
    return row(function, text, elementwise=False, checks=partial(_one_number, out), outputs=rules, **rest)


SIGNS = Generator("choice", (-1.0, 1.0))

ROWS: Mapping[str, Row] = {
    "HuberLoss": row(
        huber,
        "loss = d^2 / 2 where d = |predictions - targets| <= delta, else delta (d - delta / 2)",
    ),
    "HingeLoss": row(hinge, "loss = max(0, 1 - target predict)", data=(None, SIGNS)),
    "HingeLossGrad": row(
        hinge_slope,
        "gradInput = -target gradOutput where 1 - target predict > 0, else 0",
        data=(None, SIGNS),
        ambiguous=hinge_other_side,
    ),
    "HingeEmbeddingLoss": _in_words(
        lambda x, t, margin=1.0, reduction="mean": reduced(hinge_embedding(x, t, margin), by_word(reduction)),
        "loss = input where target is 1, max(0, margin - input) where it is -1, reduced",
        out="loss",
        like="input",
        attribute="reduction",
        data=(None, SIGNS),
    ),
    "LpLoss": _in_words(
        lambda x, t, p=1, reduction="mean": reduced(lp(x, t, p), by_word(reduction)),
        "out = |predict - label| (p = 1), reduced",
        out="out",
        like="predict",
        attribute="reduction",
    ),
    "GaussianNllLoss": _in_words(
        lambda x, t, var, full=False, eps=1e-6, reduction="mean": reduced(
            gaussian(x, t, var, full, eps), by_word(reduction)
        ),
        "out = (ln(v) + (input - target)^2 / v) / 2 with v = max(var, eps), and ln(2 pi) / 2 where full, reduced",
        out="out",
        like="input",
        attribute="reductionOptional",
        data=(None, None, (0.1, 4.0)),
    ),
    "GaussianNllLossGrad": row(
        gaussian_slopes,
        "gradInput = gradOutput d / v, gradVar = gradOutput (1 / v - (d / v)^2) / 2, d = input - target,"
        " v = max(var, eps)",
        elementwise=False,
        outputs={"gradInput": like("input"), "gradVar": like("var")},
        data=(None, None, None, (0.1, 4.0)),
        short={"gradOutput": lambda dtype, _shape: (dtype, (1,))},
    ),
}

OPERATORS = declare_rows(ROWS)
