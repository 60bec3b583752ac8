"""The dtypes of a tensor: their names, how reals are rounded to them, how they widen, how far apart they lie.

Rounding is to nearest, ties to even, and happens once: NumPy and ml_dtypes go from float64 to the narrow
floats through float32, which rounds twice, so the ties that the first rounding makes are undone here.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from ascend_opcli.errors import did_you_mean


class UnknownDType(ValueError):
    """A word that names no dtype that opcli can make data for."""


@dataclass(frozen=True, slots=True)
class DType:
    """A dtype with its aclDataType value ``acl`` (acl_base_rt.h of the CANN runtime).

    ``kind`` is float, int, uint, bool or complex; ``itemsize`` is in bytes.
    """

    name: str
    kind: str
    itemsize: int
    acl: int

    @property
    def numpy(self) -> np.dtype[Any]:
        """The NumPy dtype; bfloat16 and the float8 formats are those of ml_dtypes."""
        return _numpy(self.name)


@dataclass(frozen=True, slots=True)
class FloatFormat:
    """A binary float format: stored mantissa bits, exponents of the smallest normal and of the largest finite
    number, and that number itself."""

    mantissa: int
    emin: int
    emax: int
    largest: float

    @property
    def smallest_normal(self) -> float:
        """2 ** emin."""
        return math.ldexp(1.0, self.emin)


DTYPES: dict[str, DType] = {
    dtype.name: dtype
    for dtype in (
        DType("float16", "float", 2, 1),
        DType("bfloat16", "float", 2, 27),
        DType("float32", "float", 4, 0),
        DType("float64", "float", 8, 11),
        DType("int8", "int", 1, 2),
        DType("int16", "int", 2, 6),
        DType("int32", "int", 4, 3),
        DType("int64", "int", 8, 9),
        DType("uint8", "uint", 1, 4),
        DType("uint16", "uint", 2, 7),
        DType("uint32", "uint", 4, 8),
        DType("uint64", "uint", 8, 10),
        DType("bool", "bool", 1, 12),
        DType("complex64", "complex", 8, 16),
        DType("complex128", "complex", 16, 17),
        DType("float8_e5m2", "float", 1, 35),
        DType("float8_e4m3fn", "float", 1, 36),
    )
}

_FORMATS = {
    "float16": FloatFormat(10, -14, 15, 65504.0),
    "bfloat16": FloatFormat(7, -126, 127, math.ldexp(255.0, 120)),
    "float32": FloatFormat(23, -126, 127, math.ldexp(float(2**24 - 1), 104)),
    "float64": FloatFormat(52, -1022, 1023, math.ldexp(float(2**53 - 1), 971)),
    "float8_e5m2": FloatFormat(2, -14, 15, 57344.0),
    "float8_e4m3fn": FloatFormat(3, -6, 8, 448.0),
}

_PIECE = 2**15

_PARTS = {"complex64": "float32", "complex128": "float64"}

# Spellings of C, PyTorch, ATK and msopst that are not the canonical name itself.
_ALIASES = {
    "half": "float16",
    "fp16": "float16",
    "bf16": "bfloat16",
    "float": "float32",
    "single": "float32",
    "fp32": "float32",
    "double": "float64",
    "fp64": "float64",
    "short": "int16",
    "int": "int32",
    "long": "int64",
    "bool_": "bool",
    "fp8_e5m2": "float8_e5m2",
    "fp8_e4m3fn": "float8_e4m3fn",
    "float8_e4m3": "float8_e4m3fn",
    "fp8_e4m3": "float8_e4m3fn",
}

# torch.float16, np.float16, ACL_FLOAT16 and DT_FLOAT16 all name float16.
PREFIXES = ("acl_", "dt_", "torch.", "numpy.", "np.")

# In aclDataType, but without a NumPy counterpart that both NumPy 1.26 and 2.x can hold.
_NOT_MADE = {
    **{"string": 13, "int4": 29, "uint1": 30, "complex32": 33, "hifloat8": 34, "float8_e8m0": 37},
    **{"float6_e3m2": 38, "float6_e2m3": 39, "float4_e2m1": 40, "float4_e1m2": 41},
}


def canonical(word: str) -> str:
    """The canonical name of a dtype, from any of the field's spellings.

    fp16, half, FLOAT16, ACL_FLOAT16, torch.half: case does not count. Raises :class:`UnknownDType` with the
    nearest right word.
    """
    if not isinstance(word, str):
        raise UnknownDType(f"{word!r} is not the name of a dtype")
    bare = word.strip().casefold()
    for prefix in PREFIXES:
        bare = bare.removeprefix(prefix)
    name = _ALIASES.get(bare, bare)
    if name in DTYPES:
        return name
    if name in _NOT_MADE:
        raise UnknownDType(f"CANN knows the dtype '{name}', but opcli cannot make data for it")
    listed = ": known are " + ", ".join(DTYPES)
    raise UnknownDType(f"unknown dtype '{word}'" + did_you_mean(bare, [*DTYPES, *_ALIASES], otherwise=listed))


def of_acl(number: int) -> str:
    """The name of an aclDataType value, also of those that no data can be made for; UnknownDType where it is none."""
    known = {**{name: made.acl for name, made in DTYPES.items()}, **_NOT_MADE}
    name = next((name for name, value in known.items() if value == number), None)
    if name is None:
        raise UnknownDType(f"{number} is no value of aclDataType")
    return name


def spellings() -> tuple[str, ...]:
    """Every word for a dtype that :func:`canonical` takes, in small letters and without :data:`PREFIXES`."""
    return (*DTYPES, *(word for word in _ALIASES if word not in DTYPES))


def dtype(name: str) -> DType:
    """The dtype of that name, in any spelling that :func:`canonical` takes."""
    return DTYPES[name] if name in DTYPES else DTYPES[canonical(name)]


def numpy_dtype(name: str) -> np.dtype[Any]:
    """The NumPy dtype of that name."""
    return dtype(name).numpy


def name_of(numpy: np.dtype[Any]) -> str:
    """The canonical name of a NumPy dtype; raises :class:`UnknownDType` for one that opcli does not have."""
    name: str = numpy.name
    if name in DTYPES:
        return name
    raise UnknownDType(f"opcli has no dtype for NumPy's '{numpy}'")


def part(name: str) -> str:
    """The dtype of the real and of the imaginary part; a real dtype is its own."""
    return _PARTS.get(dtype(name).name, dtype(name).name)


def float_format(name: str) -> FloatFormat:
    """The float format of a float dtype, of a complex dtype's parts; ValueError for the rest."""
    found = _FORMATS.get(part(name))
    if found is None:
        raise ValueError(f"{name} is not a floating-point dtype")
    return found


def integer_range(name: str) -> tuple[int, int]:
    """Smallest and largest value of an integer dtype."""
    info = np.iinfo(numpy_dtype(name))
    return int(info.min), int(info.max)


@cache
def _numpy(name: str) -> np.dtype[Any]:
    if name == "bfloat16" or name.startswith("float8"):
        import ml_dtypes  # only here: it takes time to import and most runs do without it

        found: np.dtype[Any] = np.dtype(getattr(ml_dtypes, name))
        return found
    return np.dtype(name)


def truth(path: str, stored: np.ndarray) -> np.ndarray:
    """Bytes of a file, uint8 or bool, as bool; ValueError for one other than 0 and 1: it equals no true or false."""
    values = stored.view(np.uint8)
    if values.size and int(values.max()) > 1:
        raise ValueError(f"{path} holds bytes other than 0 and 1, which are no bool")
    return values.view(np.bool_)


# --- rounding -----------------------------------------------------------------------------------------------


def round_to(values: np.ndarray, name: str, *, out: np.ndarray | None = None) -> np.ndarray:
    """``values`` in the dtype ``name``, each rounded once from the value that it has.

    Floats: to nearest, ties to even, overflow to Inf (to NaN in float8_e4m3fn, which has no Inf). Integers:
    to nearest, ties to even, then clipped; NaN becomes 0. bool: nonzero is true, NaN too. Complex from
    real: imaginary part 0; ValueError for real from complex. ``values`` is an array of any real, integer,
    bool or complex dtype, any shape; ``out`` an array of the result's dtype and shape to be filled.
    An array that has the dtype already is given back as it is.
    """
    want = dtype(name)
    have = values.dtype
    if have == want.numpy:
        return _store(values, out)
    if values.ndim == 0:
        # NumPy makes scalars of zero-dimensional results; here they stay arrays.
        return _store(round_to(values.reshape(1), name).reshape(()), out)
    if have.kind == "c" and want.kind not in ("complex", "bool"):
        raise ValueError(f"complex values cannot be rounded to {want.name}")
    with np.errstate(all="ignore"):
        if _is_narrow(have):
            values = widen(values, np.float32)
        if want.kind == "bool":
            return _store(values != 0, out)
        if want.kind in ("int", "uint"):
            return _store(_to_integer(values, want), out)
        if want.kind == "complex" or want.name in ("float32", "float64"):
            # One conversion of the processor from any of these, integers included: rounded once.
            if out is None:
                return values.astype(want.numpy)
            np.copyto(out, values, casting="unsafe")
            return out
        return _store(_to_narrow(values, want), out)


def _store(values: np.ndarray, out: np.ndarray | None) -> np.ndarray:
    if out is None:
        return values
    np.copyto(out, values)
    return out


@cache
def _is_narrow(numpy: np.dtype[Any]) -> bool:
    """float16 and the dtypes of ml_dtypes, which go through float32; their ``kind`` is f or V by turns."""
    return numpy.name in _FORMATS and numpy.name not in ("float32", "float64")


def _to_integer(values: np.ndarray, want: DType) -> np.ndarray:
    low, high = integer_range(want.name)
    if values.dtype.kind in "iub":
        if values.dtype.kind == "b":
            return values.astype(want.numpy)
        have = np.iinfo(values.dtype)
        clipped = np.clip(values, max(low, int(have.min)), min(high, int(have.max)))
        exact: np.ndarray = clipped.astype(want.numpy)
        return exact
    whole = np.rint(values)
    unordered = np.isnan(whole)
    if unordered.any():
        whole = np.where(unordered, 0.0, whole)
    # The bounds of the type that do not round outwards; only 2**31, 2**63 and the like lie between.
    top, bottom = _not_above(high, values.dtype), float(low)
    result: np.ndarray = np.clip(whole, bottom, top).astype(want.numpy)
    if int(top) != high:
        result = np.where(whole > top, want.numpy.type(high), result)
    return result


def _not_above(value: int, numpy: np.dtype[Any]) -> float:
    """The largest number of a float dtype that is not above ``value``."""
    near = numpy.type(value)
    return float(near) if int(near) <= value else float(np.nextafter(near, numpy.type(0)))


def _to_narrow(values: np.ndarray, want: DType) -> np.ndarray:
    """float16, bfloat16 and float8 from float32, float64, integers or bool."""
    if values.dtype.itemsize <= 2 or values.dtype == np.float32:
        return values.astype(np.float32, copy=False).astype(want.numpy)
    result = np.empty(values.shape, want.numpy)
    flat, into = np.ascontiguousarray(values).reshape(-1), result.reshape(-1)
    mantissa = _FORMATS[want.name].mantissa
    # In pieces, so that the intermediate values stay in the cache.
    for first in range(0, flat.size, _PIECE):
        exact = flat[first : first + _PIECE]
        if exact.dtype.kind in "iu" and exact.dtype.itemsize == 8:
            exact = _odd_float64(exact)
        single = exact.astype(np.float32)
        _untie(single, exact, mantissa)
        into[first : first + _PIECE] = single.astype(want.numpy)
    return result


def _odd_float64(values: np.ndarray) -> np.ndarray:
    """64-bit integers as float64, rounded to odd, so that a second, coarser rounding is the only one."""
    low = values & values.dtype.type(0x7FF)
    wide = np.abs(values.astype(np.float64)) > 2.0**53
    odd = (values - low) | ((low != 0).astype(values.dtype) << values.dtype.type(11))
    return np.where(wide, odd, values).astype(np.float64)


def _untie(single: np.ndarray, exact: np.ndarray, mantissa: int) -> None:
    """Moves float32 values that became a tie of the narrower format by rounding back to their own side.

    ``single`` is ``exact`` rounded to float32. A tie of a format with that many mantissa bits has at least
    22 - mantissa zero bits at its end in float32, for its subnormals more; one bit decides the tie.
    """
    bits = single.view(np.uint32)
    tied = np.flatnonzero((bits & np.uint32((1 << (22 - mantissa)) - 1)) == 0)
    if tied.size == 0:
        return
    rounded, true = np.abs(single[tied].astype(np.float64)), np.abs(exact[tied].astype(np.float64))
    step = (true > rounded).astype(np.int64) - (true < rounded)
    step[~np.isfinite(rounded)] = 0
    bits[tied] = (bits[tied].astype(np.int64) + step).astype(np.uint32)


# --- widening -----------------------------------------------------------------------------------------------


def widen(array: np.ndarray, target: type[np.floating[Any]]) -> np.ndarray:
    """The same values in float32 or float64: exact, from any float, integer or bool dtype that fits into it.

    An array that has the dtype already is given back as it is. ValueError where values could change (float64
    or int32 to float32, int64 to float64, complex).
    """
    have, want = array.dtype, np.dtype(target)
    if have == want:
        return array
    _check_widening(have, want)
    with np.errstate(invalid="ignore"):
        return array.astype(want)


@cache
def _check_widening(have: np.dtype[Any], want: np.dtype[Any]) -> None:
    if have.name not in _FORMATS and have.kind not in "iub":
        raise ValueError(f"{have.name} does not widen to {want.name}")
    # can_cast calls int64 to float64 safe.
    safe = np.can_cast(have, want, "safe") and not (have.kind in "iu" and have.itemsize == 8)
    if not safe and not _is_narrow(have):
        raise ValueError(f"{have.name} does not widen to {want.name} without loss")


def spacing(values: np.ndarray, name: str) -> np.ndarray:
    """The distance between neighbouring numbers of the dtype at each |value|, float64 in and out.

    It is that of the value's binade: at and below the smallest normal the subnormal spacing, beyond the
    largest finite number that of the top binade, NaN for NaN. A complex dtype counts as its parts; integers
    lie 1 apart.
    """
    values = np.asarray(values, dtype=np.float64)
    if dtype(name).kind in ("int", "uint", "bool"):
        return np.asarray(np.where(np.isnan(values), np.nan, 1.0))
    if values.ndim == 0:
        return spacing(values.reshape(1), name).reshape(())
    format = float_format(name)
    # The exponent field alone is the power of two at the foot of the binade.
    foot = values.view(np.int64) & np.int64(0x7FF << 52)
    np.clip(foot, np.int64((format.emin + 1023) << 52), np.int64((format.emax + 1023) << 52), out=foot)
    result: np.ndarray = foot.view(np.float64)
    with np.errstate(under="ignore"):
        result *= math.ldexp(1.0, -format.mantissa)
    unordered = np.isnan(values)
    if unordered.any():
        result[unordered] = np.nan
    return result
