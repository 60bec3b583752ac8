"""Gated activations and their gradients: the tensor is cut in two along an axis."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ascend_opcli.operators.declare import (
    Divergence,
    OutputRule,
    Row,
    Undefined,
    declare_rows,
    like,
    like_input,
    row,
)
from ascend_opcli.operators.families.activations.forward import gelu, silu, where
from ascend_opcli.operators.families.activations.gradients import gelu_slope, swish_backward
from ascend_opcli.tensors.special import sigmoid


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
    both = [grad * gelu, grad * other * gelu_slope(active, approximate)]
    return np.concatenate(both[::-1] if activateLeft else both, axis=int(dim))


def gelu_mul(x: Any, approximate: Any = "none") -> Any:
    a, b = _halves(x, -1)
    return gelu(a, approximate) * b


def fatrelu_mul(x: Any, threshold: Any) -> Any:
    a, b = _halves(x, -1)
    return where(a > threshold.reshape(-1)[0], a, 0) * b


def _glu(x: Any, dim: Any = -1) -> Any:
    a, b = _halves(x, dim)
    return a * sigmoid(b)


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

OPERATORS = declare_rows(GATED)
