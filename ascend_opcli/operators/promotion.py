"""How dtypes combine: two tensors, a tensor and an aclScalar, integers in a float function.

The rules are those of op_api's PromoteType and, for an aclScalar, of CombineCategoriesWithComplex with the
scalar's default dtype (float32 for any float), as the newest aclnnAdds, aclnnMuls, aclnnDivs and
aclnnPowTensorScalar apply them. They agree with PyTorch's, but for the dimension: a tensor of rank 0 counts as
a tensor here.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from ascend_opcli.tensors.dtypes import DTYPES, name_of, numpy_dtype, part, round_to

_ORDER = ("bool", "uint", "int", "float", "complex")


@lru_cache(maxsize=1024)
def promote(*words: str) -> str:
    """The dtype that holds every one of ``words``; float16 with bfloat16 is float32, int8 with uint8 int16."""
    made = words[0]
    for word in words[1:]:
        made = _pair(made, word)
    return made


def _pair(first: str, second: str) -> str:
    if first == second:
        return first
    low, high = sorted((first, second), key=lambda w: (_ORDER.index(DTYPES[w].kind), DTYPES[w].itemsize))
    kinds = DTYPES[low].kind, DTYPES[high].kind
    if kinds == ("float", "complex"):
        return "complex128" if "float64" in (low, high) else high
    if kinds == ("float", "float") and DTYPES[low].itemsize == DTYPES[high].itemsize:
        return "float32"
    if kinds == ("uint", "int") and DTYPES[low].itemsize >= DTYPES[high].itemsize:
        return {1: "int16", 2: "int32"}.get(DTYPES[low].itemsize, "int64")
    return high


def with_scalar(tensor: str, scalar: str) -> str:
    """The dtype of a tensor and an aclScalar: a scalar does not widen a tensor of its own kind or a higher one.

    A float scalar makes float32 of an integer tensor whatever its own width, a complex one complex64 of a
    float16, bfloat16 or float32 tensor.
    """
    kind, other = DTYPES[tensor].kind, DTYPES[scalar].kind
    if other == "complex":
        return "complex128" if tensor in ("float64", "complex128") else "complex64"
    if kind in ("float", "complex"):
        return tensor
    if other == "float":
        return "float32"
    return scalar if kind == "bool" else tensor


def to_float(word: str) -> str:
    """The dtype in which a float function takes it: integers and bool become float32."""
    return word if DTYPES[word].kind in ("float", "complex") else "float32"


def scalar_word(value: Any) -> str:
    """The dtype of an attribute as a reference gets it: a Python number, or a NumPy scalar where one was written."""
    if isinstance(value, np.generic):
        return name_of(value.dtype)
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, int):
        return "int64"
    return "complex128" if isinstance(value, complex) else "float64"


def operand(value: Any, word: str, wide: bool, *, exact: bool = False) -> Any:
    """A tensor's array or an attribute as the dtype ``word`` takes part in a run.

    Integers that meet a float are rounded to that dtype first, as the cast before the kernel does, and a float
    scalar is held in float32 unless the tensors are float64; ``exact`` rounds it to the dtype itself. Floats
    stay in the run's dtype, float64 where ``wide``.
    """
    kind = DTYPES[word].kind
    array = np.asarray(value)
    if kind not in ("float", "complex"):
        # Attributes and wider integers keep their low bits, as a C cast does.
        return array.astype(numpy_dtype(word))
    run: Any = np.float64 if wide else np.float32
    if kind == "complex":
        run = np.complex128 if wide else np.complex64
    if isinstance(value, np.ndarray):
        if array.dtype.kind in "biu":
            array = round_to(array, part(word))
    elif array.dtype.kind != "c":
        array = round_to(
            array.astype(np.float64), part(word) if exact or part(word) == "float64" else "float32"
        )
    return array.astype(run, copy=False)
