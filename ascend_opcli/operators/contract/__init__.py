"""Phase 1: rules with their statuses, the terms in which they are written, and how a call breaks them."""

from __future__ import annotations

from ascend_opcli.operators.contract.changes import Variation, change, to_dtype, to_shape
from ascend_opcli.operators.contract.rules import (
    BFLOAT16_PRODUCTS,
    TILING,
    Check,
    Columns,
    DtypeIn,
    NotNull,
    OnProduct,
    Rank,
    SameDtype,
    SameShape,
    broadcastable,
    by_product,
    castable,
    float32,
    no_private_format,
    scalar_castable,
    with_bfloat16,
)

__all__ = [
    "BFLOAT16_PRODUCTS",
    "TILING",
    "Check",
    "Columns",
    "DtypeIn",
    "NotNull",
    "OnProduct",
    "Rank",
    "SameDtype",
    "SameShape",
    "Variation",
    "broadcastable",
    "by_product",
    "castable",
    "change",
    "float32",
    "no_private_format",
    "scalar_castable",
    "to_dtype",
    "to_shape",
    "with_bfloat16",
]
