"""Arithmetic of two or three operands: tensors that broadcast, or a tensor and an aclScalar."""

# More than 400 lines: one table of rows and the functions that only it uses.
from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ascend_opcli.model import Generator, Shape
from ascend_opcli.operators.declare import (
    FLOAT,
    Arguments,
    Divergence,
    OutputRule,
    Row,
    Undefined,
    attribute_value,
    broadcast_shape,
    declare_rows,
    first_spec,
    output_rule,
    row,
    to_float,
)
from ascend_opcli.tensors.dtypes import part

_OTHER = ((-10.0, 10.0), (1.0, 10.0))
_POSITIVE = (0.1, 10.0)


def _is_bool(x: Any) -> bool:
    return bool(np.asarray(x).dtype.kind == "b")


def add(self: Any, other: Any, alpha: Any = 1) -> Any:
    return self + other * alpha


def sub(self: Any, other: Any, alpha: Any = 1) -> Any:
    # As numbers, 0 - 1 is not 0, which bool holds as true.
    return self ^ (other & alpha) if _is_bool(self) else self - other * alpha


def rsub(self: Any, other: Any, alpha: Any = 1) -> Any:
    return sub(other, self, alpha)


def power(self: Any, exponent: Any) -> Any:
    if np.result_type(self, exponent).kind not in "biu":
        return np.power(self, exponent)
    # 1 / self^|exponent| cut to an integer: 0 but for 1 and -1.
    base, raised = np.broadcast_arrays(self, exponent)
    low = raised < 0
    whole = np.power(base, np.where(low, raised.dtype.type(0), raised))
    odd = (raised & 1) == 1
    return np.where(low, np.where(base == 1, 1, np.where(base == -1, np.where(odd, -1, 1), 0)), whole).astype(
        base.dtype
    )


def _quotient(self: Any, other: Any, word: str) -> Any:
    """The quotient that is cut or floored: the kernels round it to float32 first, that of doubles to float64."""
    if np.result_type(self, other).kind == "c":
        raise Undefined("a complex quotient has no integer part")
    kernel = np.float64 if word == "float64" else np.float32
    return (self.astype(kernel) / other.astype(kernel)).astype(self.dtype)


def truncated(self: Any, other: Any, *, word: str) -> Any:
    if self.dtype.kind in "biu":
        whole = (self - np.fmod(self, other)) // np.where(other == 0, 1, other)
        return _minus_one_by_zero(whole, other)
    return np.trunc(_quotient(self, other, word))


def fmod(self: Any, other: Any) -> Any:
    return _minus_one_by_zero(np.fmod(self, other), other)


def remainder(self: Any, other: Any) -> Any:
    return _minus_one_by_zero(np.remainder(self, other), other)


def _minus_one_by_zero(made: Any, other: Any) -> Any:
    """What the kernels select where an integer is divided by 0: every bit set."""
    return np.where(other == 0, -1, made).astype(made.dtype) if made.dtype.kind in "iu" else made


def floored(self: Any, other: Any, *, word: str) -> Any:
    if self.dtype.kind in "biu":
        return np.floor_divide(self, other)
    return np.floor(_quotient(self, other, word))


def div_mod(self: Any, other: Any, mode: Any, *, word: str) -> Any:
    if mode == 0:
        # Integers reach the division as float32.
        held = [
            v.astype(np.float32).astype(np.float64) if v.dtype.kind in "biu" else v for v in (self, other)
        ]
        return held[0] / held[1]
    return truncated(self, other, word=word) if mode == 1 else floored(self, other, word=word)


def _div_mod_out(*joining: str) -> OutputRule:
    one, other = Row(div_mod, "", joining=joining), Row(div_mod, "", FLOAT, joining=joining)

    def rule(arguments: Arguments) -> tuple[str, Shape] | None:
        found = output_rule("aclnnDivMods" if joining else "aclnnDivMod", one if _mode(arguments) else other)
        return found(arguments)

    return rule


def _mode(arguments: Arguments) -> Any:
    return attribute_value(arguments, "mode")


def clamp(self: Any, low: Any, high: Any) -> Any:
    bounded = self if low is None else np.maximum(self, low)
    return bounded if high is None else np.minimum(bounded, high)


def lerp(self: Any, end: Any, weight: Any) -> Any:
    """From the nearer end: that is exact where the weight is 0 or 1, and keeps finite what the other overflows."""
    return _from_an_end(self, end, weight, weight < 0.5)


def foreach_lerp(self: Any, end: Any, weight: Any) -> Any:
    """The same with |weight| deciding, as in PyTorch."""
    return _from_an_end(self, end, weight, np.abs(weight) < 0.5)


def _from_an_end(self: Any, end: Any, weight: Any, near: Any) -> Any:
    way = end - self
    return np.where(near, self + weight * way, end + (weight - 1) * way).astype(way.dtype, copy=False)


def xlogy(self: Any, other: Any) -> Any:
    return np.where(np.isnan(other), np.nan, np.where(self == 0, 0.0, self * np.log(other))).astype(
        _float(self, other)
    )


def xlog1py(self: Any, other: Any) -> Any:
    made = np.where(np.isnan(other), np.nan, np.where(self == 0, 0.0, self * np.log1p(other)))
    return made.astype(_float(self, other))


def _float(*operands: Any) -> Any:
    return np.result_type(*operands)


def right_shift(self: Any, bits: Any) -> Any:
    """Arithmetic: a shift by the width or more leaves the sign or the top bit, one below 0 the value."""
    width = self.dtype.itemsize * 8
    return np.right_shift(self, np.clip(bits, 0, width - 1).astype(self.dtype))


def _shifted_beyond(input: Any, shiftBits: Any) -> bool:
    width = input.dtype.itemsize * 8
    return bool(((shiftBits < 0) | ((shiftBits >= width) & (input.dtype.kind == "u"))).any())


def _polar(size: Any, angle: Any) -> Any:
    return _join(size * np.cos(angle), size * np.sin(angle))


def _join(real: Any, imaginary: Any) -> Any:
    wide = np.result_type(real, imaginary, np.float32)
    made = np.empty(np.broadcast_shapes(real.shape, imaginary.shape), _COMPLEX[wide])
    made.real, made.imag = real, imaginary
    return made


def _angle(x: Any) -> Any:
    if x.dtype.kind == "c":
        return np.angle(x)
    return np.where(np.isnan(x), x, np.where(x < 0, np.pi, 0.0)).astype(x.dtype)


def _at_most_single(name: str) -> OutputRule:
    """The promoted dtype, float32 for float64, which the operator takes as inputs alone."""
    promoted = output_rule(name, Row(np.logaddexp, "", FLOAT))

    def rule(arguments: Arguments) -> tuple[str, Shape] | None:
        made = promoted(arguments)
        return ("float32", made[1]) if made is not None and made[0] == "float64" else made

    return rule


def _complex(*names: str) -> OutputRule:
    """An output that holds pairs of the dtype of two inputs, in their broadcast shape."""

    def rule(arguments: Arguments) -> tuple[str, Shape] | None:
        specs = [s for s in (first_spec(arguments.get(name)) for name in names) if s is not None]
        shape = broadcast_shape(*(s.shape for s in specs))
        wide = any(s.dtype == "float64" for s in specs)
        return (
            ("complex128" if wide else "complex64", shape) if len(specs) == 2 and shape is not None else None
        )

    return rule


def _real(name: str) -> OutputRule:
    """An output that holds an input's real parts; those of integers are float32."""

    def rule(arguments: Arguments) -> tuple[str, Shape] | None:
        spec = first_spec(arguments.get(name))
        return None if spec is None else (part(to_float(spec.dtype)), spec.shape)

    return rule


def _one(dtype: str, _shape: Shape) -> tuple[str, Shape]:
    return dtype, (1,)


_COMPLEX = {np.dtype(np.float32): np.complex64, np.dtype(np.float64): np.complex128}

_BY_ZERO = (
    Divergence(
        "an integer divided by 0 gives -1, every bit set, which the kernel selects for 32 and 8 bits; the documents"
        " say nothing of it, and PyTorch raises an error",
        lambda **values: any(
            v.dtype.kind in "iu" and not v.all()
            for name in ("other", "x2")
            if isinstance(v := values.get(name), np.ndarray)
        ),
    ),
)
_FLOORS = (
    Divergence(
        "a float quotient is rounded to float32 (of float64 to float64) before it is floored or cut: PyTorch's"
        " floor_divide corrects it by the remainder and can be smaller by 1 where the quotient rounds up to a whole"
        " number"
    ),
    Divergence("integers divided by 0 are not documented; the reference gives 0, and -1 where they are cut"),
)

_LERP = "out = self + weight (end - self), end + (weight - 1) (end - self) for weights from 0.5 on"
_LERPS = (
    Divergence(
        "weights below -0.5 start from self; PyTorch starts from end where |weight| is 0.5 or more",
        lambda weight: bool((np.asarray(weight) <= -0.5).any()),
    ),
)

BINARY: Mapping[str, Row] = {
    "Add": row(add, "out = self + alpha other"),
    "Adds": row(add, "out = self + alpha other", joining=("other",)),
    "AddV3": row(add, "out = self + alpha other", joining=("self",)),
    "Sub": row(sub, "out = self - alpha other"),
    "Subs": row(sub, "out = self - alpha other", joining=("other",)),
    "Rsub": row(rsub, "out = other - alpha self"),
    "Rsubs": row(rsub, "out = other - alpha self", joining=("other",)),
    "Mul": row(np.multiply, "out = self other"),
    "Muls": row(np.multiply, "out = self other", joining=("other",)),
    "Div": row(np.true_divide, "out = self / other, integers as float32", FLOAT, data=_OTHER),
    "Divs": row(np.true_divide, "out = self / other, integers as float32", FLOAT, joining=("other",)),
    "FloorDivide": row(floored, "out = floor(self / other)", data=_OTHER, divergences=_FLOORS),
    "FloorDivides": row(floored, "out = floor(self / other)", joining=("other",), divergences=_FLOORS),
    "DivMod": row(
        div_mod,
        "out = self / other (mode 0), its integer part (1) or its floor (2)",
        data=_OTHER,
        rounds_to=None,
        outputs={"out": _div_mod_out()},
        divergences=_FLOORS,
    ),
    "DivMods": row(
        div_mod,
        "out = self / other (mode 0), its integer part (1) or its floor (2)",
        joining=("other",),
        rounds_to=None,
        outputs={"out": _div_mod_out("other")},
        divergences=_FLOORS,
    ),
    "FmodTensor": row(
        fmod, "out = self - other trunc(self / other), the sign of self", data=_OTHER, divergences=_BY_ZERO
    ),
    "FmodScalar": row(
        fmod,
        "out = self - other trunc(self / other), the sign of self",
        joining=("other",),
        divergences=_BY_ZERO,
    ),
    "RemainderTensorTensor": row(
        remainder,
        "out = self - other floor(self / other), the sign of other",
        data=_OTHER,
        divergences=_BY_ZERO,
    ),
    "RemainderTensorScalar": row(
        remainder,
        "out = self - other floor(self / other), the sign of other",
        joining=("other",),
        divergences=_BY_ZERO,
    ),
    "RemainderScalarTensor": row(
        remainder,
        "out = self - other floor(self / other), the sign of other",
        joining=("self",),
        data=(1.0, 10.0),
        divergences=_BY_ZERO,
    ),
    "PowTensorTensor": row(power, "out = self^exponent", data=(_POSITIVE, (-2.0, 2.0))),
    "PowTensorScalar": row(power, "out = self^exponent", joining=("exponent",), data=_POSITIVE),
    "PowScalarTensor": row(power, "out = self^exponent", joining=("self",), data=(0.0, 4.0)),
    "Maximum": row(np.maximum, "out = the larger of self and other, NaN if either is"),
    "Minimum": row(np.minimum, "out = the smaller of self and other, NaN if either is"),
    "Clamp": row(clamp, "out = self kept between clipValueMin and clipValueMax, NaN stays", exact=True),
    "ClampMin": row(np.maximum, "out = max(self, clipValueMin)", exact=True),
    "ClampMax": row(np.minimum, "out = min(self, clipValueMax)", exact=True),
    "ClampTensor": row(
        clamp,
        "out = self kept between clipValueMin and clipValueMax, NaN stays",
        data=((-2.0, 2.0), (-1.0, 0.0), (0.0, 1.0)),
    ),
    "ClampMinTensor": row(np.maximum, "out = max(self, clipValueMin)"),
    "ClampMaxTensor": row(np.minimum, "out = min(self, max)"),
    "Addcmul": row(lambda self, a, b, value=1: self + value * a * b, "out = self + value tensor1 tensor2"),
    "Addcdiv": row(
        lambda self, a, b, value=1: self + value * (a / b),
        "out = self + value tensor1 / tensor2",
        FLOAT,
        data=(None, None, (1.0, 10.0)),
    ),
    "Lerp": row(lerp, _LERP, divergences=_LERPS),
    "Lerps": row(lerp, _LERP, divergences=_LERPS),
    "Atan2": row(np.arctan2, "out = the angle of the point (other, self)", FLOAT),
    "XLogYTensor": row(xlogy, "out = self ln(other), 0 where self is 0", FLOAT, data=(None, _POSITIVE)),
    "XLogYScalarOther": row(xlogy, "out = self ln(other), 0 where self is 0", FLOAT, joining=("other",)),
    "XLogYScalarSelf": row(
        xlogy, "out = self ln(other), 0 where self is 0", FLOAT, joining=("self",), data=_POSITIVE
    ),
    "Xlog1py": row(xlog1py, "z = x ln(1 + y), 0 where x is 0", FLOAT, data=(None, (-0.9, 10.0))),
    "LogAddExp": row(
        np.logaddexp, "out = ln(e^self + e^other)", FLOAT, outputs={"out": _at_most_single("aclnnLogAddExp")}
    ),
    "LogAddExp2": row(
        np.logaddexp2,
        "out = log2(2^self + 2^other)",
        FLOAT,
        outputs={"out": _at_most_single("aclnnLogAddExp2")},
    ),
    "Gcd": row(np.gcd, "out = the greatest common divisor"),
    "BitwiseAndTensor": row(np.bitwise_and, "out = self and other, bit by bit"),
    "BitwiseOrTensor": row(np.bitwise_or, "out = self or other, bit by bit"),
    "BitwiseXorTensor": row(np.bitwise_xor, "out = self exclusive or other, bit by bit"),
    "BitwiseAndTensorOut": row(np.bitwise_and, "out = self and other, bit by bit"),
    "BitwiseAndScalar": row(
        np.bitwise_and, "out = self and other, bit by bit", joining=("other",), sample_attributes={"other": 6}
    ),
    "BitwiseOrScalar": row(
        np.bitwise_or, "out = self or other, bit by bit", joining=("other",), sample_attributes={"other": 6}
    ),
    "BitwiseXorScalar": row(
        np.bitwise_xor,
        "out = self exclusive or other, bit by bit",
        joining=("other",),
        sample_attributes={"other": 6},
    ),
    "RightShift": row(
        right_shift,
        "out = floor(input / 2^shiftBits)",
        data=((-100, 100), (0, 4)),
        divergences=(
            Divergence(
                "a shift below 0 leaves the value, and one of an unsigned by its width or more the top bit, in the"
                " kernel; PyTorch gives the sign, and 0",
                _shifted_beyond,
            ),
        ),
    ),
    "FusedMulAddN": row(
        lambda a, b, c: a * c.reshape(-1)[0] + b,
        "y = x1 x3[0] + x2",
        short={"x3": _one},
        elementwise=False,
    ),
    "AxpyV2": row(lambda a, b, alpha: a + alpha * b, "out = self + alpha other", short={"alpha": _one}),
    "ApplyGradientDescent": row(
        lambda var, alpha, delta: var - alpha * delta, "var = var - alpha delta", short={"alpha": _one}
    ),
    "AddMatMatElementsPlus": row(
        lambda c, a, b, beta, alpha: c * beta + alpha * a * b,
        "cOut = beta c + alpha a b, element by element",
        short={"beta": _one, "alpha": _one},
    ),
    "AddMatMatElements": row(
        lambda a, b, c, alpha, beta: c * beta + alpha * a * b,
        "cOut = beta c + alpha a b, element by element",
    ),
    "MaskedScale": row(
        lambda self, mask, scale: self * mask.astype(self.dtype) * scale,
        "y = self mask scale",
        apart=("mask",),
        data=(None, Generator("integers", (0, 1))),
        short={"mask": lambda dtype, shape: ("float32" if dtype == "bfloat16" else dtype, shape)},
    ),
    "Polar": row(
        _polar,
        "out = input (cos(angle) + i sin(angle))",
        FLOAT,
        rounds_to=None,
        outputs={"out": _complex("input", "angle")},
    ),
    "Complex": row(_join, "out = real + i imag", rounds_to=None, outputs={"out": _complex("real", "imag")}),
    "Real": row(np.real, "out = the real part of self", rounds_to=None, outputs={"out": _real("self")}),
    "AngleV2": row(_angle, "out = the argument of x", FLOAT, rounds_to=None, outputs={"out": _real("x")}),
    "RealDiv": row(np.true_divide, "out = self / other", FLOAT, data=_OTHER),
    "TruncateDiv": row(truncated, "out = trunc(x1 / x2)", data=_OTHER, divergences=(_FLOORS[0], *_BY_ZERO)),
    "FloorDiv": row(floored, "out = floor(self_x / self_y)", data=_OTHER, divergences=_FLOORS),
    "TruncateMod": row(fmod, "out = x1 - x2 trunc(x1 / x2)", data=_OTHER, divergences=_BY_ZERO),
    "MulNoNan": row(lambda x, y: np.where(y == 0, y.dtype.type(0), x * y), "z = x y, 0 where y is 0"),
    "AssignSub": row(np.subtract, "varOut = var - value"),
}

OPERATORS = declare_rows(BINARY)
