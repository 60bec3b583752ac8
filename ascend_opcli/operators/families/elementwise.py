"""Unary mathematics, element by element, its in-place variants and its gradients."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ascend_opcli.model import Shape
from ascend_opcli.operators.declare import (
    BOOL,
    FLOAT,
    Arguments,
    Divergence,
    Row,
    declare_rows,
    first_spec,
    row,
)
from ascend_opcli.tensors.dtypes import part
from ascend_opcli.tensors.special import erf, erfc, erfinv, in_float32


def _integers_as_they_are(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Rounding leaves an integer alone; NumPy would make floats of it."""
    return lambda x: x if x.dtype.kind in "biu" else function(x)


def _numbers(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """NumPy has no negation of bool; -1 held as bool is true again."""
    return lambda x: x if x.dtype.kind == "b" else function(x)


def sign(x: Any) -> Any:
    """(x > 0) - (x < 0), as the kernel has it: NaN gives 0, not NumPy's NaN. Of complex numbers x / |x|."""
    if x.dtype.kind == "c":
        return np.where(x == 0, x.dtype.type(0), x / np.abs(x))
    return x if x.dtype.kind == "b" else (x > 0).astype(x.dtype) - (x < 0).astype(x.dtype)


def _rounded(x: Any, decimals: Any = 0, *, word: str) -> Any:
    if x.dtype.kind in "biu":
        return x if decimals >= 0 or x.dtype.kind == "b" else _rounded_integers(x, -int(decimals))
    # What is rounded is a float32, whose product may lie at a half where the exact one does not.
    held = in_float32(x, word)
    power = held.dtype.type(np.float64(10.0) ** abs(int(decimals)))
    if decimals >= 0:
        return np.rint(held * power).astype(x.dtype) / power
    return np.rint(held / power).astype(x.dtype) * power


def _rounded_integers(x: Any, places: int) -> Any:
    """To a power of ten, halves to even; one beyond the dtype is its least number. int64 is cut, by the AI CPU."""
    if places > 18:
        return np.zeros_like(x)
    power = 10**places
    size, low = np.abs(x.astype(np.int64)), np.iinfo(x.dtype).min
    whole, rest = size // power, size % power
    if x.dtype.itemsize == 8:
        return (np.sign(x) * whole * power).astype(x.dtype)
    whole = whole + ((2 * rest > power) | ((2 * rest == power) & (whole % 2 == 1)))
    made = np.sign(x) * whole * power
    return np.where((made == made.astype(x.dtype)), made, low).astype(x.dtype)


def _sinc(x: Any, *, word: str) -> Any:
    scaled = x * math.pi
    made = np.where(x == 0, x.dtype.type(1), np.sin(scaled) / np.where(x == 0, x.dtype.type(1), scaled))
    if x.dtype.kind == "c":
        return made
    # The kernel multiplies in float32: the sine of its infinity is NaN.
    beyond = np.isinf(in_float32(scaled, word))
    return np.where(beyond, x.dtype.type(np.nan), made)


def _nan_to_num(x: Any, nan: Any, posinf: Any, neginf: Any) -> Any:
    if x.dtype.kind in "biu":
        return x
    return np.where(np.isnan(x), nan, np.where(x == np.inf, posinf, np.where(x == -np.inf, neginf, x)))


def _log_gamma(value: float) -> float:
    if value <= 0 and value == math.floor(value):
        return math.inf
    try:
        return math.lgamma(value)
    except OverflowError:  # ln gamma(x) is about x ln x
        return math.inf


_gamma = np.frompyfunc(_log_gamma, 1, 1)


def _lgamma(x: Any) -> Any:
    finite = np.where(np.isfinite(x), x, 1.0)
    found = np.asarray(_gamma(finite), np.float64)
    return np.where(np.isnan(x), x, np.where(np.isinf(x), np.inf, found)).astype(x.dtype)


def _modulus(arguments: Arguments) -> tuple[str, Shape] | None:
    spec = first_spec(arguments.get("self"))
    return None if spec is None else (part(spec.dtype), spec.shape)


UNARY: Mapping[str, Row] = {
    "Abs": row(np.abs, "out = |self|", outputs={"out": _modulus}),
    "Neg": row(_numbers(np.negative), "out = -self, wrapping in integers"),
    "Sign": row(
        sign,
        "out = 1 above 0, -1 below, 0 elsewhere, NaN included; self / |self| of complex numbers",
        divergences=(
            Divergence(
                "complex numbers give self / |self| as in PyTorch; the document's formula lacks the imaginary unit",
                lambda **values: np.iscomplexobj(values["self" if "self" in values else "selfRef"]),
            ),
        ),
    ),
    "Square": row(lambda x: x * x, "out = self^2, wrapping in integers"),
    "Floor": row(_integers_as_they_are(np.floor), "out = the largest integer not above self"),
    "Ceil": row(_integers_as_they_are(np.ceil), "out = the smallest integer not below self"),
    "Trunc": row(_integers_as_they_are(np.trunc), "out = self without its fraction"),
    "Round": row(_integers_as_they_are(np.rint), "out = the nearest integer, halves to the even one"),
    "RoundDecimals": row(
        _rounded,
        "out = round(self 10^decimals) / 10^decimals, the product a float32, halves to even",
        divergences=(
            Divergence(
                "int64 with decimals below 0 is cut by the AI CPU's kernel; the document rounds it",
                lambda dtypes, decimals: decimals < 0 and "int64" in dtypes.values(),
            ),
        ),
    ),
    "Frac": row(lambda x: x - x if x.dtype.kind in "biu" else x - np.trunc(x), "out = self - trunc(self)"),
    "Exp": row(np.exp, "out = e^self", FLOAT),
    "Exp2": row(np.exp2, "out = 2^self", FLOAT),
    "Expm1": row(np.expm1, "out = e^self - 1", FLOAT),
    "Log": row(np.log, "out = ln(self)", FLOAT, data=(0.1, 10.0)),
    "Log2": row(np.log2, "out = log2(self)", FLOAT, data=(0.1, 10.0)),
    "Log10": row(np.log10, "out = log10(self)", FLOAT, data=(0.1, 10.0)),
    "Log1p": row(np.log1p, "out = ln(1 + self)", FLOAT, data=(-0.9, 10.0)),
    "Sqrt": row(np.sqrt, "out = the square root of self", FLOAT, data=(0.0, 10.0)),
    "Rsqrt": row(lambda x: 1 / np.sqrt(x), "out = 1 / sqrt(self)", FLOAT, data=(0.1, 10.0)),
    "Reciprocal": row(lambda x: 1 / x, "out = 1 / self", FLOAT, data=(0.1, 10.0)),
    "Sin": row(np.sin, "out = sin(self)", FLOAT),
    "Cos": row(np.cos, "out = cos(self)", FLOAT),
    "Tan": row(np.tan, "out = tan(self)", FLOAT),
    "Asin": row(np.arcsin, "out = arcsin(self)", FLOAT, data=(-1.0, 1.0)),
    "Acos": row(np.arccos, "out = arccos(self)", FLOAT, data=(-1.0, 1.0)),
    "Atan": row(np.arctan, "out = arctan(self)", FLOAT),
    "Sinh": row(np.sinh, "out = sinh(self)", FLOAT),
    "Cosh": row(np.cosh, "out = cosh(self)", FLOAT),
    "Tanh": row(np.tanh, "out = tanh(self)", FLOAT),
    "Asinh": row(np.arcsinh, "out = arsinh(self)", FLOAT),
    "Acosh": row(np.arccosh, "out = arcosh(self)", FLOAT, data=(1.0, 10.0)),
    "Atanh": row(np.arctanh, "out = artanh(self)", FLOAT, data=(-0.99, 0.99)),
    "Erf": row(erf, "out = erf(self)", FLOAT),
    "Erfc": row(erfc, "out = 1 - erf(self)", FLOAT),
    "Erfinv": row(erfinv, "out = the x with erf(x) = self", FLOAT, data=(-0.99, 0.99)),
    "Lgamma": row(_lgamma, "out = ln |gamma(self)|", FLOAT, data=(0.1, 10.0)),
    "Sinc": row(_sinc, "out = sin(pi self) / (pi self), 1 at 0", FLOAT),
    "NanToNum": row(_nan_to_num, "out = self with NaN and the infinities replaced"),
    "IsFinite": row(np.isfinite, "out = whether self is neither infinite nor NaN", BOOL),
    "IsInf": row(np.isinf, "out = whether self is infinite", BOOL),
    "IsPosInf": row(lambda x: x == np.inf, "out = whether self is +Inf", BOOL),
    "IsNegInf": row(lambda x: x == -np.inf, "out = whether self is -Inf", BOOL),
    "Signbit": row(
        lambda x: np.signbit(x) if x.dtype.kind == "f" else x < 0, "out = whether the sign bit is set", BOOL
    ),
    "BitwiseNot": row(np.invert, "out = every bit of self inverted; not, for bool"),
    "LogicalNot": row(np.logical_not, "out = whether self is 0", BOOL),
}

GRADIENTS: Mapping[str, Row] = {
    "SqrtBackward": row(lambda y, dy: dy * 0.5 / y, "z = dy / (2 y)", data=((0.1, 10.0), None)),
    "AtanGrad": row(lambda x, dy: dy / (1 + x * x), "dx = dy / (1 + x^2)"),
}

OPERATORS = (*declare_rows(UNARY), *declare_rows(GRADIENTS))
