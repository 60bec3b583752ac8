"""Gradients of activations."""

from __future__ import annotations

from typing import Any

import numpy as np

from ascend_opcli.model import Argument, Attribute
from ascend_opcli.operators.contract import (
    BFLOAT16_PRODUCTS,
    Check,
    DtypeIn,
    NotNull,
    Rank,
    SameDtype,
    SameShape,
    Variation,
    broadcastable,
    by_product,
    castable,
    change,
    float32,
    scalar_castable,
    to_dtype,
    to_shape,
    with_bfloat16,
)
from ascend_opcli.operators.declare import (
    Arguments,
    Divergence,
    attribute_value,
    broadcast,
    broadcast_shape,
    like,
    operator,
    scalar_value,
    tensor,
)

EVERY_BUT_200I = ("ascend950", "atlas_a3", "atlas_a2", "atlas_inference", "atlas_training")


# --- elu_backward ---------------------------------------------------------------------------------------------


def _negative_alpha(arguments: Arguments, _product: str) -> str | None:
    alpha = scalar_value(arguments, "alpha")
    if not attribute_value(arguments, "isResult") or isinstance(alpha, complex) or not float32(alpha) < 0:
        return None
    return f"alpha is {alpha}, which must not be negative when isResult is true"


def _elu_accepted(arguments: Arguments) -> list[Variation]:
    every = ("gradOutput", "selfOrResult", "gradInput")
    result: dict[str, Argument] = {"isResult": Attribute(True)}
    return [
        Variation("empty", change(arguments, every, to_shape((4, 0)))),
        Variation("scalar", change(arguments, every, to_shape(()))),
        Variation("alpha=nan", {**result, "alpha": Attribute(float("nan"))}),
        Variation("alpha=-0.0", {**result, "alpha": Attribute(-0.0)}),
        Variation("alpha=0", {**result, "alpha": Attribute(0.0)}),
        Variation("alpha=-1-not-isResult", {"alpha": Attribute(-1.0)}),
        Variation("alpha=uint8", {"alpha": Attribute(2, "uint8")}),
        Variation("gradInput=float64", change(arguments, ("gradInput",), to_dtype("float64"))),
        Variation("gradInput=complex64", change(arguments, ("gradInput",), to_dtype("complex64"))),
    ]


@operator(
    "aclnnStatus aclnnEluBackwardGetWorkspaceSize(const aclTensor *gradOutput, const aclScalar *alpha,"
    " const aclScalar *scale, const aclScalar *inputScale, bool isResult, const aclTensor *selfOrResult,"
    " aclTensor *gradInput, uint64_t *workspaceSize, aclOpExecutor **executor)",
    products=EVERY_BUT_200I,
    contract=(
        NotNull(("gradOutput", "alpha", "scale", "inputScale", "selfOrResult", "gradInput")),
        SameDtype("gradOutput", "selfOrResult", ("float16", "float32", "int32")),
        DtypeIn(("gradOutput",), with_bfloat16("float32", "float16"), together=("selfOrResult",)),
        scalar_castable(("alpha", "scale", "inputScale"), "float32"),
        castable("gradOutput", "gradInput"),
        SameShape("gradOutput", "selfOrResult"),
        SameShape("gradOutput", "gradInput"),
        Rank(("gradOutput",), together=("selfOrResult", "gradInput")),
        Check(
            "alpha is not negative when isResult is true",
            _negative_alpha,
            lambda _arguments, _product: [
                Variation("alpha=-1", {"isResult": Attribute(True), "alpha": Attribute(-1.0)}),
                Variation("alpha=-inf", {"isResult": Attribute(True), "alpha": Attribute(float("-inf"))}),
            ],
        ),
    ),
    attribute_dtypes={"alpha": "float32", "scale": "float32", "inputScale": "float32"},
    outputs={"gradInput": like("gradOutput")},
    elementwise=True,
    rounds_to=lambda dtypes: dtypes["gradOutput"],
    accepted_variations=_elu_accepted,
    branches=lambda selfOrResult: {
        "selfOrResult <= 0": (below := selfOrResult <= 0),
        "selfOrResult > 0 or NaN": ~below,
    },
    divergences=(
        Divergence(
            "NaN selfOrResult takes the linear branch, gradOutput * scale, in the kernel; the"
            " document's formula has no such case",
            lambda selfOrResult: np.isnan(selfOrResult).any(),
        ),
        Divergence(
            "a coefficient within 0.001 of 1 is taken as exactly 1 by the experimental 910b"
            " kernel (relative error up to 1e-3)",
            lambda alpha, scale, inputScale: any(
                0.999 < c < 1.001 and c != 1
                for c in (scale, inputScale, alpha * scale, alpha * scale * inputScale)
            ),
        ),
        Divergence(
            "the experimental 910b kernel divides by inputScale to form its bias, and takes 0 where inputScale is 0",
            lambda inputScale, isResult: isResult and inputScale == 0,
        ),
        Divergence("the document's parameter table swaps the words gradInput and gradOutput"),
        Divergence("the experimental 910b kernel also takes float16 and bfloat16 in with float32 out"),
        Divergence(
            "the 950 tiling joins its two shape checks by 'and', harmless behind the entry's own checks"
        ),
        Divergence("the document does not say that a NaN alpha passes the check of isResult"),
    ),
)
def elu_backward(
    gradOutput: Any,
    selfOrResult: Any,
    *,
    alpha: Any = 1.0,
    scale: Any = 1.0,
    inputScale: Any = 1.0,
    isResult: Any = False,
) -> Any:
    """Gradient of elu, from its input or from its result.

    negcoef = alpha * scale, a float32 product
    selfOrResult <= 0: isResult ? gradOutput inputScale (selfOrResult + negcoef)
                                : gradOutput inputScale negcoef exp(selfOrResult inputScale)
    otherwise, NaN included: gradOutput scale
    """
    negcoef = alpha * scale
    scaled = gradOutput * inputScale
    if isResult:
        below = scaled * (selfOrResult + negcoef)
    else:
        exponential = np.exp(selfOrResult * inputScale)
        if inputScale < 0:
            # Whether it is finite is decided in the kernel's float32, so that 0 * Inf is NaN in the golden too.
            exponential = np.where(np.isfinite(exponential.astype(np.float32)), exponential, np.inf)
        below = scaled * negcoef * exponential
    return np.where(selfOrResult <= 0, below, gradOutput * scale)


# --- threshold_backward ---------------------------------------------------------------------------------------

FLT_EPSILON = np.finfo(np.float32).eps


def _is_relu(threshold: Any) -> bool:
    """A threshold this small selects the ReluGrad kernel."""
    return bool(abs(float32(threshold)) <= FLT_EPSILON)


def _through_float32(x: np.ndarray) -> np.ndarray:
    """Integers reach this kernel as float32: beyond 2^24 they are rounded."""
    return x.astype(np.float32) if x.dtype.kind in "iu" else x


def _at_most(self: np.ndarray, threshold: Any) -> np.ndarray:
    return (self <= 0) if _is_relu(threshold) else (_through_float32(self) <= threshold)


def _int64_threshold(arguments: Arguments, _product: str) -> str | None:
    threshold = scalar_value(arguments, "threshold")
    if _is_relu(threshold):
        return None
    for name in ("gradOutput", "self"):
        spec = tensor(arguments, name)
        if spec is not None and spec.dtype == "int64":
            return f"{name} is int64, accepted only with a threshold of at most 1.19e-7, not {threshold}"
    return None


def _int64_how(arguments: Arguments, product: str) -> list[Variation]:
    if product != "ascend950":
        return []
    every = ("gradOutput", "self", "out")
    return [
        Variation(
            "int64-threshold=1",
            {**change(arguments, every, to_dtype("int64")), "threshold": Attribute(1.0)},
        )
    ]


def _out_shape(arguments: Arguments, _product: str) -> str | None:
    grad, self, out = (tensor(arguments, n) for n in ("gradOutput", "self", "out"))
    if grad is None or self is None or out is None:
        return None
    shape = broadcast_shape(grad.shape, self.shape)
    if shape is None or out.shape == shape:
        return None
    return f"out has shape {list(out.shape)}, the broadcast shape is {list(shape)}"


def _out_shape_how(arguments: Arguments, _product: str) -> list[Variation]:
    out = tensor(arguments, "out")
    if out is None:
        return []
    return [Variation("out=longer", change(arguments, ("out",), to_shape((*out.shape, 2))))]


def _threshold_accepted(arguments: Arguments) -> list[Variation]:
    every = ("gradOutput", "self", "out")
    return [
        Variation("empty", change(arguments, every, to_shape((0,)))),
        Variation("scalar", change(arguments, every, to_shape(()))),
        Variation("self=broadcast", change(arguments, ("self",), to_shape((1,)))),
        Variation("gradOutput=broadcast", change(arguments, ("gradOutput",), to_shape((1,)))),
        Variation("threshold=nan", {"threshold": Attribute(float("nan"))}),
        Variation("threshold=-inf", {"threshold": Attribute(float("-inf"))}),
        Variation("threshold=bool", {"threshold": Attribute(True)}),
    ]


_THRESHOLD_DTYPES = by_product(
    ("float32", "float16", "int32", "int8", "uint8"),
    **{p: ("bfloat16",) for p in BFLOAT16_PRODUCTS if p != "ascend950"},
    ascend950=("bfloat16", "int64"),
)


@operator(
    "aclnnStatus aclnnThresholdBackwardGetWorkspaceSize(const aclTensor *gradOutput, const aclTensor *self,"
    " const aclScalar *threshold, aclTensor *out, uint64_t *workspaceSize, aclOpExecutor **executor)",
    products=EVERY_BUT_200I,
    contract=(
        NotNull(("threshold", "out", "gradOutput", "self")),
        DtypeIn(("gradOutput", "self"), _THRESHOLD_DTYPES),
        Check("int64 goes with |threshold| <= 1.19e-7 only", _int64_threshold, _int64_how),
        SameDtype("gradOutput", "self", ("float16", "int32")),
        SameDtype("self", "out", ("float16", "int32", "float64")),
        Rank(("gradOutput", "self")),
        broadcastable("gradOutput", "self"),
        Check("out has the broadcast shape of gradOutput and self", _out_shape, _out_shape_how),
    ),
    attribute_dtypes={"threshold": "float32"},
    outputs={"out": broadcast("gradOutput", "self", dtype="self")},
    elementwise=True,
    sample_attributes={"threshold": 1.0},
    accepted_variations=_threshold_accepted,
    branches=lambda self, threshold: {
        "self <= threshold": (low := _at_most(self, threshold)),
        "self > threshold or NaN": ~low,
    },
    divergences=(
        Divergence(
            "a threshold up to 1.19e-7 in size is taken as 0: gradOutput is multiplied by 0 or 1, so NaN and Inf there"
            " reach the output as NaN and a negative gradOutput gives -0.0; PyTorch and the document select 0",
            lambda gradOutput, self, threshold: (
                _is_relu(threshold)
                and gradOutput.dtype.kind == "f"
                and ((self <= 0) & ~(gradOutput >= 0) | (self <= 0) & (gradOutput == np.inf)).any()
            ),
        ),
        Divergence(
            "a threshold that is not 0 but at most 1.19e-7 in size acts as 0",
            lambda threshold: _is_relu(threshold) and threshold != 0,
        ),
        Divergence(
            "NaN self passes gradOutput, in the kernel and in PyTorch; the document's 'otherwise"
            " 0' and the experimental kernel give 0",
            lambda self: bool(np.isnan(self).any()) if self.dtype.kind == "f" else False,
        ),
        Divergence(
            "NaN threshold passes every gradOutput; the document does not say so",
            lambda threshold: np.isnan(threshold),
        ),
        Divergence(
            "int32 beyond 2^24 is rounded to float32, in the compare and in the result; PyTorch is exact",
            lambda gradOutput, self, threshold: (
                not _is_relu(threshold)
                and self.dtype == np.int32
                and any((np.abs(v.astype(np.int64)) > 2**24).any() for v in (gradOutput, self))
            ),
        ),
        Divergence(
            "the experimental kernel compares float16 in float16 and brings int8 and int32 back by truncation"
        ),
        Divergence("the experimental relu_grad_v2 brings int8 back by CAST_ROUND, ties away from zero"),
        Divergence(
            "the experimental relu_grad works bfloat16, int8 and int32 by minimum, maximum and multiplication,"
            " where NaN differs; its page says x >= 0"
        ),
        Divergence(
            "the experimental relu_grad_v2 refuses |threshold| > 1.19e-7 and broadcasting, and takes int64"
        ),
        Divergence(
            "the document lists 161001 for gradOutput and self only, and no shape errors; the"
            " operator checks threshold, out and shapes too"
        ),
        Divergence(
            "the document allows int64 and threshold 0 on Ascend 950 only; the operator takes"
            " any threshold for the other dtypes"
        ),
    ),
)
def threshold_backward(gradOutput: Any, self: Any, *, threshold: Any) -> Any:
    """Gradient of threshold (and of relu): gradOutput where self is above the threshold, else 0.

    |threshold| <= 1.19e-7: out = gradOutput * (self <= 0 ? 0 : 1), in the tensors' dtype
    otherwise: out = self <= threshold ? 0 : gradOutput, in float32 (int32 is rounded to it)
    """
    if _is_relu(threshold):
        return gradOutput * ~(self <= 0)
    kept = _through_float32(gradOutput)
    return np.where(_at_most(self, threshold), kept.dtype.type(0), kept)


OPERATORS = (elu_backward, threshold_backward)
