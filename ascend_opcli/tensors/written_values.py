"""Values as written, rounded to a dtype, and which of them it cannot hold."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ascend_opcli.model import (
    Number,
)
from ascend_opcli.tensors.dtypes import dtype as dtype_of
from ascend_opcli.tensors.dtypes import (
    integer_range,
    part,
    round_to,
)


def literals(values: Sequence[Number], dtype: str) -> np.ndarray:
    """Written numbers in the dtype, one-dimensional, each rounded once; large integers are taken exactly.

    ValueError for something that is no number, or complex in a real dtype.
    """
    want = dtype_of(dtype)
    kinds = {type(value) for value in values}
    if not kinds <= {bool, int, float, complex}:
        wrong = next(value for value in values if type(value) not in (bool, int, float, complex))
        raise ValueError(f"{wrong!r} is not a number")
    if complex in kinds:
        if want.kind != "complex":
            raise ValueError(f"a complex value cannot be held in {want.name}")
        with np.errstate(all="ignore"):
            parts = literals([p for v in values for p in (v.real, v.imag)], part(dtype))
        return parts.view(want.numpy)
    if want.kind == "complex":
        result = np.zeros(len(values), want.numpy)
        result.real = literals(values, part(dtype))
        return result
    if int in kinds and any(type(value) is int and abs(value) > 2**53 for value in values):
        return np.concatenate([round_to(_exact_array(value), dtype) for value in values])
    return round_to(np.array(values, np.float64), dtype)


def not_held(values: Sequence[Number], dtype: str) -> int | None:
    """The place of the first number that the dtype cannot hold: it is rounded to another integer, clipped, or becomes
    Inf or NaN; None where there is none. Decimals may be rounded to a float."""
    want = dtype_of(dtype)
    if not values:
        return None
    if want.kind in ("float", "complex"):
        reals = [[v.real, v.imag] if want.kind == "complex" else [v] for v in values]
        with np.errstate(all="ignore"):
            made = literals([r for each in reals for r in each], part(dtype)).astype(np.float64)
        # A whole number that float64 cannot hold is finite all the same.
        written = np.array([0.0 if type(r) is int else r for each in reals for r in each], np.float64)
        lost = (np.isfinite(made) != np.isfinite(written)) | (np.isnan(made) != np.isnan(written))
        places = np.flatnonzero(lost.reshape(len(values), -1).any(axis=1))
        return int(places[0]) if places.size else None
    low, high = (0, 1) if want.kind == "bool" else integer_range(dtype)
    held = (isinstance(v, (int, float)) and low <= v <= high and v == int(v) for v in values)
    return next((place for place, fits in enumerate(held) if not fits), None)


def _exact_array(value: Number) -> np.ndarray:
    if isinstance(value, int) and -(2**63) <= value < 2**64:
        return np.array([value], np.int64 if value < 2**63 else np.uint64)
    try:
        return np.array([value], np.float64)
    except OverflowError:
        return np.array([math.inf if isinstance(value, int) and value > 0 else -math.inf])


def as_reals(values: np.ndarray) -> np.ndarray:
    return round_to(values, "float64")


def number_text(value: Number) -> str:
    """A value with as many digits as tell it from its neighbours in float32 or float16."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int):
        return str(value)
    if isinstance(value, complex):
        return f"{value.real:.9g}{value.imag:+.9g}j"
    return f"{value:.9g}"
