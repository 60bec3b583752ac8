"""Automatic mixed precision."""

from __future__ import annotations

from typing import Any

import numpy as np

from ascend_opcli.model import Argument, Attribute
from ascend_opcli.operators.contract import (
    BFLOAT16_PRODUCTS,
    TILING,
    Check,
    Columns,
    NotNull,
    OnProduct,
    Variation,
    change,
    to_shape,
)
from ascend_opcli.operators.declare import (
    Arguments,
    Divergence,
    Unchecked,
    attribute_value,
    fill,
    like,
    operator,
    tensor,
    with_dtype,
)

_TENSORS = ("currentScale", "growthTracker", "foundInf", "updatedScale", "updatedGrowthTracker")
_INPUTS, _OUTPUTS = _TENSORS[:3], _TENSORS[3:]


def _skips_tiling(arguments: Arguments) -> bool:
    """A generated entry whose outputs are all empty succeeds before its tiling looks at anything."""
    return all((spec := tensor(arguments, name)) is not None and spec.count == 0 for name in _OUTPUTS)


def _interval(arguments: Arguments, _product: str) -> str | None:
    interval = attribute_value(arguments, "growthInterval")
    if _skips_tiling(arguments) or 1 <= interval <= 2**31 - 1:
        return None
    return f"growthInterval is {interval}, which must lie in [1, 2147483647]"


def _one_element(name: str) -> Check:
    def test(arguments: Arguments, _product: str) -> str | None:
        spec = tensor(arguments, name)
        if spec is None or spec.shape in ((), (1,)) or _skips_tiling(arguments):
            return None
        return f"{name} has shape {list(spec.shape)}, it must hold one element: [1] or []"

    def how(arguments: Arguments, _product: str) -> list[Variation]:
        shapes: tuple[tuple[int, ...], ...] = ((1, 1), (2,), (0,))
        return [
            Variation(f"{name}={'x'.join(map(str, shape))}", change(arguments, (name,), to_shape(shape)))
            for shape in shapes
        ]

    return Check(f"{name} has shape [1] or []", test, how, TILING)


def _other_size(arguments: Arguments) -> str | None:
    """The kernel writes one element to each output, whatever their shapes say."""
    if _skips_tiling(arguments):
        return None
    for name in _OUTPUTS:
        spec = tensor(arguments, name)
        if spec is not None and spec.count == 0:
            return f"{name} is empty and would be written out of bounds"
        if spec is not None and spec.count > 1:
            return f"{name} has {spec.count:,} elements, of which all but the first are never written"
    return None


def _accepted(arguments: Arguments) -> list[Variation]:
    empty: dict[str, Argument] = dict(change(arguments, _TENSORS, to_shape((0,))))
    return [
        Variation("scalar", change(arguments, _TENSORS, to_shape(()))),
        Variation("all-empty", empty),
        Variation("backoffFactor=2", {"backoffFactor": Attribute(2.0)}),
        Variation("growthFactor=0.5", {"growthFactor": Attribute(0.5)}),
        Variation("growthFactor=nan", {"growthFactor": Attribute(float("nan"))}),
        Variation("growthInterval=2147483647", {"growthInterval": Attribute(2**31 - 1)}),
    ]


def _steps(growthTracker: Any, foundInf: Any, growthInterval: Any) -> tuple[Any, Any, Any]:
    """Whether an Inf was found, whether the scale grows, and the counted tracker (int32, wrapping)."""
    tracker = growthTracker + np.int32(1)
    found = foundInf != 0
    return found, ~found & (tracker == growthInterval), tracker


def _branches(
    currentScale: Any, growthTracker: Any, foundInf: Any, growthFactor: Any, growthInterval: Any
) -> Any:
    found, grow, _ = _steps(growthTracker, foundInf, growthInterval)
    fits = np.isfinite(currentScale.astype(np.float32) * growthFactor)
    return {
        "found Inf": found,
        "grows": grow & fits,
        "growth overflows": grow & ~fits,
        "counts": ~found & ~grow,
    }


@operator(
    "aclnnStatus aclnnAmpUpdateScaleGetWorkspaceSize(const aclTensor *currentScale, const aclTensor *growthTracker,"
    " const aclTensor *foundInf, double growthFactor, double backoffFactor, int64_t growthInterval,"
    " const aclTensor *updatedScale, const aclTensor *updatedGrowthTracker, uint64_t *workspaceSize,"
    " aclOpExecutor **executor)",
    io={"updatedScale": "out", "updatedGrowthTracker": "out"},
    products=BFLOAT16_PRODUCTS,
    generated=True,
    contract=(
        NotNull(_TENSORS),
        Columns(_TENSORS, tuple((d, "int32", d, d, "int32") for d in ("float32", "float16", "bfloat16"))),
        OnProduct(BFLOAT16_PRODUCTS, ("atlas_200i_500_a2", "atlas_inference", "atlas_training")),
        Check(
            "growthInterval lies in [1, 2147483647]",
            _interval,
            lambda _arguments, _product: [
                Variation(f"growthInterval={n}", {"growthInterval": Attribute(n)}) for n in (0, -1, 2**31)
            ],
            TILING,
        ),
        *(_one_element(name) for name in _INPUTS),
    ),
    attribute_dtypes={"growthFactor": "float32", "backoffFactor": "float32", "growthInterval": "int32"},
    outputs={"updatedScale": like("currentScale"), "updatedGrowthTracker": like("growthTracker")},
    short={"growthTracker": with_dtype("int32")},
    data={"currentScale": fill(65536.0), "growthTracker": fill(0), "foundInf": fill(0.0)},
    unchecked=(Unchecked(_other_size),),
    sample_shape=(1,),
    accepted_variations=_accepted,
    branches=_branches,
    divergences=(
        Divergence(
            "growth is kept when it is finite in float32: 40000 * 2 is stored as Inf in float16; the document promises"
            " that the scale stays unchanged on overflow",
            lambda currentScale, growthTracker, foundInf, growthFactor, growthInterval, kernel_dtype: (
                _steps(growthTracker, foundInf, growthInterval)[1]
                & (kernel_dtype == np.float16)
                & (np.abs(currentScale.astype(np.float32) * growthFactor) >= 65520)
            ).any(),
        ),
        Divergence(
            "NaN foundInf counts as found; the document speaks of 1 and 0 only",
            lambda foundInf: np.isnan(foundInf).any(),
        ),
        Divergence(
            "a tracker that is already past growthInterval never triggers growth: the compare is exact",
            lambda growthTracker, growthInterval: (growthTracker >= growthInterval).any(),
        ),
        Divergence(
            "the document's table gives growthFactor and backoffFactor as float; the prototype"
            " has double, narrowed to float32"
        ),
        Divergence("strided tensors are not supported, and nothing checks for them"),
        Divergence("growthFactor below 1, backoffFactor above 1, negative ones and NaN are not checked"),
        Divergence("shape [1] is documented, rank 0 is accepted too; the outputs' shapes are not checked"),
    ),
    rounds_to=lambda dtypes: dtypes["currentScale"],
)
def amp_update_scale(
    currentScale: Any,
    growthTracker: Any,
    foundInf: Any,
    *,
    growthFactor: Any = 2.0,
    backoffFactor: Any = 0.5,
    growthInterval: Any = 2000,
) -> Any:
    """Next loss scale and growth tracker of a gradient scaler.

    foundInf != 0 (NaN included): scale * backoffFactor, tracker 0
    tracker + 1 == growthInterval: scale * growthFactor where that is finite in float32, else scale; tracker 0
    otherwise: scale, tracker + 1 (int32, wrapping)
    """
    found, grow, tracker = _steps(growthTracker, foundInf, growthInterval)
    fits = np.isfinite(currentScale.astype(np.float32) * growthFactor)
    grown = np.where(grow & fits, currentScale * growthFactor, currentScale)
    scale = np.where(found, currentScale * backoffFactor, grown)
    return scale, np.where(found | grow, np.int32(0), tracker)


OPERATORS = (amp_update_scale,)
