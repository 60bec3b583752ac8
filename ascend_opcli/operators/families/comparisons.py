"""Comparisons, logic and selection."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ascend_opcli.model import Generator
from ascend_opcli.operators.declare import (
    BOOL,
    Arguments,
    Divergence,
    Row,
    Undefined,
    declare_rows,
    row,
    with_dtype,
)
from ascend_opcli.tensors.special import in_float32


def _ordered(function: Any) -> Any:
    """A comparison that complex numbers, which NumPy orders by their real parts, do not have."""

    def compared(self: Any, other: Any) -> Any:
        if np.iscomplexobj(self) or np.iscomplexobj(other):
            raise Undefined("complex numbers have no order")
        return function(self, other)

    return compared


_WORDS: Mapping[str, tuple[Any, str]] = {
    "Eq": (np.equal, "equals"),
    "Ne": (np.not_equal, "differs from"),
    "Lt": (_ordered(np.less), "is below"),
    "Le": (_ordered(np.less_equal), "is at most"),
    "Gt": (_ordered(np.greater), "is above"),
    "Ge": (_ordered(np.greater_equal), "is at least"),
}
_FEW = Generator("integers", (-2, 2))
_COIN = Generator("integers", (0, 1))


def is_close(
    self: Any, other: Any, rtol: Any = 1e-5, atol: Any = 1e-8, equalNan: Any = False, *, word: str
) -> Any:
    """Every step in float32, integers too; float64 in its own."""
    self, other = in_float32(self, word), in_float32(other, word)
    rtol, atol = (self.dtype.type(v) for v in (rtol, atol))
    with np.errstate(invalid="ignore", over="ignore"):
        near = np.abs(self - other) <= atol + rtol * np.abs(other)
    both_nan = (self != self) & (other != other)
    return (self == other) | (near & np.isfinite(self) & np.isfinite(other)) | (both_nan & bool(equalNan))


def _approximately(x1: Any, x2: Any, tolerance: Any) -> Any:
    return np.abs(in_float32(x1) - in_float32(x2)) < np.float32(tolerance)


def _all_equal(self: Any, other: Any) -> Any:
    return np.asarray([self.shape == other.shape and bool((self == other).all())])


def _flag(_arguments: Arguments) -> tuple[str, tuple[int, ...]]:
    return "bool", (1,)


def _select(condition: Any, self: Any, other: Any) -> Any:
    return np.where(condition != 0, self, other)


def _fill_where(self: Any, mask: Any, value: Any) -> Any:
    return np.where(mask != 0, np.asarray(value).astype(self.dtype), self)


_TABLE: dict[str, Row] = {}
for _word, (_function, _says) in _WORDS.items():
    _text = f"out = whether self {_says} other"
    _TABLE[f"{_word}Tensor"] = row(_function, _text, BOOL, data=(_FEW, _FEW))
    _TABLE[f"{_word}Scalar"] = row(_function, _text, BOOL, joining=("other",), exact=True, data=(_FEW,))
_TABLE |= {
    "LogicalAnd": row(
        np.logical_and, "out = whether self and other are both not 0", BOOL, data=(_COIN, _COIN)
    ),
    "LogicalOr": row(np.logical_or, "out = whether self or other is not 0", BOOL, data=(_COIN, _COIN)),
    "LogicalXor": row(
        np.logical_xor, "out = whether just one of self and other is not 0", BOOL, data=(_COIN, _COIN)
    ),
    "IsClose": row(
        is_close,
        "out = whether |self - other| <= atol + rtol |other| in float32, or both are equal",
        BOOL,
        data=(_FEW, _FEW),
        divergences=(
            Divergence(
                "integers are compared as float32: beyond 2^24 neighbours count as equal; PyTorch is exact",
                lambda self, other: any(
                    v.dtype.kind in "iu" and (np.abs(v.astype(np.float64)) > 2**24).any()
                    for v in (self, other)
                ),
            ),
        ),
    ),
    "ApproximateEqual": row(
        _approximately,
        "y = whether |x1 - x2| < tolerance, in float32",
        BOOL,
        data=(_FEW, _FEW),
    ),
    "Equal": row(
        _all_equal,
        "out = whether shape and every element agree",
        BOOL,
        elementwise=False,
        data=(_FEW, _FEW),
        outputs={"out": _flag},
    ),
    "SWhere": row(
        _select,
        "out = self where condition holds, other elsewhere",
        apart=("condition",),
        short={"condition": with_dtype("bool")},
    ),
    "InplaceMaskedFillScalar": row(
        _fill_where,
        "selfRef = value where mask holds",
        apart=("mask",),
        exact=True,
        short={"mask": with_dtype("bool")},
    ),
    "InplaceMaskedFillTensor": row(
        _fill_where,
        "selfRef = value where mask holds",
        apart=("mask", "value"),
        short={"mask": with_dtype("bool"), "value": lambda dtype, _shape: (dtype, ())},
    ),
}

OPERATORS = declare_rows(_TABLE)
