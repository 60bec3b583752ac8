"""Normalisations and their gradients."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from ascend_opcli.model import Generator
from ascend_opcli.operators.contract import (
    Check,
    DtypeIn,
    NotNull,
    Rank,
    SameShape,
    Variation,
    change,
    no_private_format,
    to_dtype,
    to_shape,
    with_bfloat16,
)
from ascend_opcli.operators.declare import (
    Arguments,
    Divergence,
    fixed,
    like,
    operator,
    per_channel,
    tensor,
    uniform,
)

_VECTORS = ("mean", "invstd", "weight", "sumDy", "sumDyXmu")
_FLOATS = ("gradOut", "input", "mean", "invstd", "weight", "sumDy", "sumDyXmu")


def _no_channel(arguments: Arguments, _product: str) -> str | None:
    x = tensor(arguments, "input")
    return "input has 0 channels (axis 1)" if x is not None and len(x.shape) > 1 and x.shape[1] == 0 else None


def _no_channel_how(arguments: Arguments, _product: str) -> list[Variation]:
    wide = change(arguments, ("gradOut", "input", "gradInput"), to_shape((2, 0, 3)))
    return [Variation("channels=0", {**wide, **change(arguments, _VECTORS, to_shape((0,)))})]


def _not_per_channel(arguments: Arguments, _product: str) -> str | None:
    x = tensor(arguments, "input")
    for name in _VECTORS:
        vector = tensor(arguments, name)
        if x is not None and vector is not None and vector.shape != (x.shape[1],):
            return f"{name} has shape {list(vector.shape)}, one value a channel is [{x.shape[1]}]"
    return None


def _not_per_channel_how(arguments: Arguments, _product: str) -> list[Variation]:
    x = tensor(arguments, "input")
    channels = x.shape[1] if x is not None else 1
    return [
        Variation(f"{name}=longer", change(arguments, (name,), to_shape((channels + 1,))))
        for name in _VECTORS
    ]


def _accepted(arguments: Arguments) -> list[Variation]:
    x = tensor(arguments, "input")
    channels = x.shape[1] if x is not None else 1
    wide = ("gradOut", "input", "gradInput")
    return [
        Variation("empty", change(arguments, wide, to_shape((0, channels, 3)))),
        Variation("weight=null", {"weight": None}),
        Variation("mixed-dtypes", change(arguments, ("gradOut", "mean", "weight"), to_dtype("float16"))),
        Variation("gradInput=float16", change(arguments, ("gradInput",), to_dtype("float16"))),
        Variation("counter=float16", change(arguments, ("counter",), to_dtype("float16"))),
        Variation("counter=rank2", change(arguments, ("counter",), to_shape((2, 1)))),
        Variation(
            "input=NCHW", change(arguments, ("input",), lambda s: dataclasses.replace(s, format="NCHW"))
        ),
    ]


def _kernel_dtype(dtypes: Any) -> str:
    """float16 only when all seven are; a null weight becomes float32 ones."""
    return "float16" if all(dtypes[name] == "float16" for name in _FLOATS) else "float32"


@operator(
    "aclnnStatus aclnnBatchNormElemtBackwardGetWorkspaceSize(const aclTensor *gradOut, const aclTensor *input,"
    " const aclTensor *mean, const aclTensor *invstd, const aclTensor *weight, const aclTensor *sumDy,"
    " const aclTensor *sumDyXmu, aclTensor *counter, aclTensor *gradInput, uint64_t *workspaceSize,"
    " aclOpExecutor **executor)",
    io={"counter": "in"},  # declared without const, never written
    optional=("weight",),
    products=("ascend950", "atlas_a3", "atlas_a2", "atlas_training"),
    contract=(
        NotNull(("gradOut", "input", "mean", "invstd", "sumDy", "sumDyXmu", "counter", "gradInput")),
        DtypeIn(
            ("gradOut", "input", "mean", "invstd", "weight", "sumDy", "sumDyXmu"),
            with_bfloat16("float32", "float16"),
        ),
        DtypeIn(("counter",), dict.fromkeys(with_bfloat16(), ("int32", "float16", "float32"))),
        DtypeIn(("gradInput",), with_bfloat16("float32", "float16")),
        no_private_format("gradOut", "input", "gradInput"),
        Rank(("input",), low=2),
        Rank(("gradOut", "gradInput", "counter")),
        Check("input has at least one channel", _no_channel, _no_channel_how),
        SameShape("input", "gradOut"),
        SameShape("input", "gradInput"),
        Check(f"{', '.join(_VECTORS)} have one value a channel", _not_per_channel, _not_per_channel_how),
    ),
    outputs={"gradInput": like("input")},
    short={**dict.fromkeys(_VECTORS, per_channel), "counter": fixed("int32", 4)},
    data={
        "mean": uniform(-1.0, 1.0),
        "invstd": uniform(0.5, 2.0),
        "weight": uniform(0.5, 2.0),
        "sumDy": uniform(-16.0, 16.0),
        "sumDyXmu": uniform(-16.0, 16.0),
        "counter": Generator("integers", (1, 16)),
    },
    rounds_to=_kernel_dtype,
    accepted_variations=_accepted,
    divergences=(
        Divergence(
            "N is the sum of counter; an executor in circulation sums it in counter's own dtype,"
            " where float16 overflows",
            lambda counter, dtypes: (
                dtypes["counter"] == "float16" and counter.astype(np.float64).sum() > 65504
            ),
        ),
        Divergence(
            "all-float16 calls: the two means are rounded to float16 and the rest is float32; the experimental 910b"
            " kernel computes in float16 throughout, so invstd above 255 overflows in its square",
            lambda invstd, kernel_dtype: kernel_dtype == np.float16 and (np.abs(invstd) > 255).any(),
        ),
        Divergence(
            "sum(counter) of 0 gives Inf or NaN; the document does not speak of it",
            lambda counter: counter.astype(np.float64).sum() == 0,
        ),
        Divergence(
            "the whole difference is multiplied by invstd * weight; the experimental document's"
            " formula sets the bracket elsewhere"
        ),
        Divergence("the document gives counter rank 1 to 8; the operator checks at most 8 only"),
        Divergence(
            "an executor in circulation writes the sum into counter itself, needs weight and returns float32 whatever"
            " the inputs are"
        ),
        Divergence("the document calls sumDy a mean; it is the sum, and the operator divides it by N"),
        Divergence(
            "the experimental 910b kernel multiplies (difference * invstd) * weight, and takes"
            " bfloat16 on Atlas A2 and A3 only"
        ),
    ),
)
def batch_norm_elemt_backward(
    gradOut: Any,
    input: Any,
    mean: Any,
    invstd: Any,
    weight: Any,
    sumDy: Any,
    sumDyXmu: Any,
    counter: Any,
    *,
    kernel_dtype: Any,
) -> Any:
    """Gradient of synchronised batch normalisation with respect to its input, channels on axis 1.

    N = sum(counter); meanDy = sumDy / N; meanDyXmu = sumDyXmu / N (rounded to float16 when every float is)
    out = (gradOut - meanDy - (input - mean) meanDyXmu invstd^2) invstd weight
    """
    n = counter.astype(np.float32).astype(gradOut.dtype).sum()

    def over_n(total: Any) -> Any:
        if kernel_dtype != np.float16:
            return total / n
        return (total.astype(np.float32) / np.float32(n)).astype(np.float16).astype(total.dtype)

    def channel(values: Any) -> Any:
        return values.reshape(1, -1, *[1] * (input.ndim - 2))

    scale = invstd if weight is None else invstd * weight
    slope = over_n(sumDyXmu) * (invstd * invstd)
    return ((gradOut - channel(over_n(sumDy))) - (input - channel(mean)) * channel(slope)) * channel(scale)


OPERATORS = (batch_norm_elemt_backward,)
