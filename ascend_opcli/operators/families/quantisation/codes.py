"""What quantising operators have in common: the codes of their output types, rounding, and what saturates.

An output of type int4, hifloat8 or float4 has no values on the host, and int32 stands for eight int4 that are packed
(but in Quantize): a reference refuses them, as it refuses whatever the documents leave open.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import numpy as np

from ascend_opcli.model import Derived, Shape
from ascend_opcli.operators.declare import Undefined, unsaid
from ascend_opcli.tensors.dtypes import DTYPES, float_format, integer_range

CODES: Mapping[int, str] = {
    2: "int8",
    3: "int32",
    29: "int4",
    34: "hifloat8",
    35: "float8_e5m2",
    36: "float8_e4m3fn",
}
"""dstType of the aclnn documents: the numbers of aclDataType."""

ROUNDINGS: Mapping[str, Callable[[Any], Any]] = {
    "round": np.rint,
    "floor": np.floor,
    "ceil": np.ceil,
    "trunc": np.trunc,
}
"""roundMode; "round" takes a half to the even neighbour, as the kernels' cast does."""

LARGEST: Mapping[str, float] = {"int8": 127.0, "float8_e5m2": 57344.0, "float8_e4m3fn": 448.0}
"""The largest value of an output type, by which a scale is found from the data."""


def coded(code: Any, shape: Shape) -> tuple[str, Shape]:
    """Dtype and shape of an output of dstType ``code`` for an input of ``shape``; int8 where the code gives none here.

    The reference then says what is wrong with it.
    """
    word = CODES.get(int(code), "int8")
    if word == "int32":
        return word, (*shape[:-1], shape[-1] // 8)
    return word if word in DTYPES else "int8", shape


def chosen(code: Any, word: str | None) -> str:
    """The output type of dstType ``code``, where the output of dtype ``word`` has it. Raises Undefined."""
    known = CODES.get(int(code))
    if known is None:
        raise Undefined(f"dstType {int(code)} is no output type")
    if unpacked(known) != word:
        raise Undefined(f"dstType {int(code)} is {known}, and the output is {word}")
    return known


def unpacked(word: str) -> str:
    """An output type that has one value in each element. Raises Undefined for the rest."""
    if word == "int32":
        raise Undefined("int32 stands for eight int4, whose order the documents do not give")
    if word not in DTYPES:
        raise Undefined(f"{word} has no values on the host")
    return word


NEAR, COARSEST = 1 / 16, 2.0**-8
"""How far a right kernel's float may be from ours before it is rounded: by itself, and by its size (bfloat16)."""


@dataclass(slots=True)
class Nudge:
    """Up or down by what a right kernel may be off; ``used`` tells that something was quantised."""

    sign: int
    used: bool = False


_NUDGE: ContextVar[Nudge | None] = ContextVar("nudge", default=None)


@contextmanager
def nudged(sign: int) -> Iterator[Nudge]:
    """References that run inside round floats that are moved towards a tie."""
    nudge = Nudge(sign)
    token = _NUDGE.set(nudge)
    try:
        yield nudge
    finally:
        _NUDGE.reset(token)


def quantised(values: Any, word: str, mode: str = "round") -> Any:
    """``values`` in the type ``word``: rounded and saturated for an integer, as they are for a float8.

    NaN gives the integer 0 (aclnnCast's document). A float8 that is NaN or beyond its range is left open: the documents
    do not say what becomes of it. Raises Undefined for a rounding that is none.
    """
    if DTYPES[word].kind == "float":
        if mode != "round":
            raise Undefined(f"roundMode {mode} is not one of {word}")
        largest = float_format(word).largest
        why = f"a value is NaN or beyond {largest:g}, the largest of {word}"
        return unsaid(values, ~(np.abs(values) <= largest), why)
    if mode not in ROUNDINGS:
        raise Undefined(f"roundMode {mode!r} is not one of {', '.join(ROUNDINGS)}")
    low, high = integer_range(word)
    towards = _NUDGE.get()
    if towards is not None:
        towards.used = True
        values = values + towards.sign * (NEAR + np.abs(values) * COARSEST)
    # int32's bounds are not float32 numbers.
    whole = np.asarray(ROUNDINGS[mode](values), np.float64)
    return np.where(np.isnan(whole), 0, np.clip(whole, low, high)).astype(np.int64)


def along(name: str, values: Any, x: Any, axis: int) -> Any:
    """``values``, one for all or one for each place of an axis of ``x``, in the rank of ``x``.

    ``values`` have one axis, or those of ``x`` with 1 in place of every other. Raises Undefined where they fit neither.
    """
    if values.size == 1:
        return values.reshape((1,) * x.ndim)
    wanted = tuple(d if i == axis else 1 for i, d in enumerate(x.shape))
    if values.size != x.shape[axis] or (values.ndim > 1 and values.shape != wanted):
        raise Undefined(
            f"{name} {list(values.shape)} is not one value for each of axis {axis} of {list(x.shape)}"
        )
    return values.reshape(wanted)


ENDS = Derived("0 if isnull(x) else offsets(size(x) // maximum(size(x, -1), 1), last=True)")
"""Ordinary data of an index of groups: where they end among the rows of x."""


def groups_of(index: Any, rows: int, name: str) -> Any:
    """The group of every row: group i ends before row ``index[i]``. Raises Undefined where the ends fit no rows."""
    ends = index.reshape(-1).astype(np.int64)
    if not ends.size or ends[0] < 0 or (np.diff(ends) < 0).any() or ends[-1] != rows:
        raise Undefined(f"{name} must not decrease, from 0 on, and its last value must be the {rows} rows")
    return np.searchsorted(ends, np.arange(rows), side="right")
