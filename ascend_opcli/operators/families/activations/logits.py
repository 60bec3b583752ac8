"""Gradients of losses and link functions."""

from __future__ import annotations

from typing import Any

import numpy as np

from ascend_opcli.model import Attribute
from ascend_opcli.operators.contract import (
    BFLOAT16_PRODUCTS,
    Columns,
    NotNull,
    OnProduct,
    Variation,
    change,
    to_shape,
)
from ascend_opcli.operators.declare import Arguments, Divergence, Unchecked, like, operator, tensor, uniform


def _bounds(eps: np.float32) -> tuple[np.float32, np.float32]:
    """The closed interval that is kept, as the kernel holds it: 1 - eps is a float32 difference."""
    lo = eps if eps >= 0 else np.float32(0)
    return lo, np.float32(1) - lo


def _inside(x: Any, eps: np.float32) -> Any:
    lo, hi = _bounds(eps)
    return (lo <= x) & (x <= hi)


def _other_side(
    x: np.ndarray, dy: np.ndarray, eps: np.float32, exact_eps: float
) -> tuple[np.ndarray, np.ndarray] | None:
    """Elements within one float32 ulp of a bound that float32 cannot hold, with the other branch's value."""
    lo, hi = _bounds(eps)
    near = np.zeros(x.shape, bool)
    if eps >= 0 and np.isfinite(eps):
        if float(lo) != exact_eps:
            near |= np.abs(x - np.float64(lo)) <= np.spacing(lo)
        if float(hi) != 1.0 - exact_eps or float(lo) != exact_eps:
            near |= np.abs(x - np.float64(hi)) <= np.abs(np.spacing(hi))
    if not near.any():
        return None
    return near, np.where(_inside(x, eps), np.where(eps >= 0, 0.0, np.nan), dy / (x * (1 - x)))


def _too_small(arguments: Arguments) -> str | None:
    x = tensor(arguments, "x")
    for name, way in (("dy", "read"), ("out", "written")):
        other = tensor(arguments, name)
        if x is not None and other is not None and other.count < x.count:
            sizes = f"{other.count:,} and {x.count:,} elements"
            return f"{name} is smaller than x ({sizes}) and would be {way} out of bounds"
    out = tensor(arguments, "out")
    if x is not None and out is not None and out.count > x.count:
        return f"out is larger than x ({out.count:,} and {x.count:,} elements): its end is never written"
    return None


def _accepted(arguments: Arguments) -> list[Variation]:
    every = ("x", "dy", "out")
    x = tensor(arguments, "x")
    flat = (x.count,) if x is not None else (1,)
    return [
        Variation("empty", change(arguments, every, to_shape((0, 4)))),
        Variation("scalar", change(arguments, every, to_shape(()))),
        Variation("eps=nan", {"eps": Attribute(float("nan"))}),
        Variation("eps=inf", {"eps": Attribute(float("inf"))}),
        Variation("dy=flat", change(arguments, ("dy",), to_shape(flat))),
    ]


@operator(
    "aclnnStatus aclnnLogitGradGetWorkspaceSize(const aclTensor *x, const aclTensor *dy, double eps,"
    " const aclTensor *out, uint64_t *workspaceSize, aclOpExecutor **executor)",
    products=BFLOAT16_PRODUCTS,
    generated=True,
    contract=(
        NotNull(("x", "dy", "out")),
        Columns(("x", "dy", "out"), tuple((d,) * 3 for d in ("bfloat16", "float16", "float32"))),
        OnProduct(BFLOAT16_PRODUCTS, ("atlas_200i_500_a2", "atlas_inference", "atlas_training")),
    ),
    unchecked=(Unchecked(_too_small),),
    attribute_dtypes={"eps": "float32"},
    outputs={"out": like("x")},
    data={"x": uniform(0.0, 1.0)},
    elementwise=True,
    flat_like={"dy": "x"},
    accepted_variations=_accepted,
    ambiguous=_other_side,
    branches=lambda x, eps: {"inside": (inside := _inside(x, eps)), "outside": ~inside},
    divergences=(
        Divergence(
            "NaN x with eps >= 0: the kernel gives 0 (both compares are false), the document and the formula NaN",
            lambda x, eps: eps >= 0 and np.isnan(x).any(),
        ),
        Divergence(
            "infinite x with eps >= 0: the kernel gives 0, as outside the interval; the document says NaN",
            lambda x, eps: eps >= 0 and np.isinf(x).any(),
        ),
        Divergence(
            "x exactly 0 or 1 with eps <= 0: the kernel divides dy by a signed zero, so -0.0 and a negative dy give"
            " -Inf and dy = 0 gives NaN; the document says Inf",
            lambda x, eps: eps <= 0 and ((x == 0) | (x == 1)).any(),
        ),
        Divergence(
            "eps above 0.5: the kernel gives 0 everywhere; the document says NaN for eps > 1 and Inf for eps = 1",
            lambda eps: eps > 0.5,
        ),
        Divergence(
            "NaN eps: the kernel takes it as a negative eps; the document says NaN everywhere,"
            " PyTorch keeps every quotient",
            lambda eps: np.isnan(eps),
        ),
        Divergence(
            "dy NaN or Inf where x is outside: the kernel ignores dy; the document says Inf or NaN",
            lambda x, dy, eps: (~_inside(x, eps) & ~np.isfinite(dy)).any(),
        ),
        Divergence(
            "eps is narrowed to float32 and 1 - eps is a float32 difference; PyTorch's CPU path for bfloat16 keeps"
            " both bounds in bfloat16, so goldens made with it differ at the bounds",
        ),
        Divergence(
            "PyTorch multiplies dy by Inf at x = 0 and x = 1, so the sign of a zero x does not show there"
        ),
        Divergence("the document's formula has lost the words between x and 1 in its conditions"),
        Divergence("the document demands that dy and out have the shape of x; the operator compares neither"),
        Divergence("hardware division flushes denormals: x (1 - x) below 1.18e-38 may act as 0"),
    ),
)
def logit_grad(x: Any, dy: Any, *, eps: Any = -1.0) -> Any:
    """Gradient of logit: dy / (x (1 - x)) where x is kept, 0 or NaN elsewhere.

    kept: eps <= x <= 1 - eps when eps >= 0, else 0 <= x <= 1
    out = dy / (x (1 - x)) where kept; elsewhere 0 when eps >= 0, NaN when eps < 0 or NaN
    """
    return np.where(_inside(x, eps), dy / (x * (1 - x)), 0.0 if eps >= 0 else np.nan)


OPERATORS = (logit_grad,)
