"""The functions of the expression language: what may be called, with which arguments, and what it costs."""

from __future__ import annotations

import functools
import math
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ascend_opcli.expression import shapes
from ascend_opcli.expression.shapes import Rule, shape_of
from ascend_opcli.tensors import special
from ascend_opcli.tensors.dtypes import round_to, widen


@dataclass(frozen=True, slots=True)
class Function:
    """``positional`` bounds the arguments without a name (NumPy's next one may be where to write).

    ``weight`` counts the steps that one element of the larger of arguments and result takes, ``work`` the steps of
    a call where they do not follow from that. ``concrete`` marks what asks for shapes alone, ``drawn`` what must not be
    called before there are values.
    """

    call: Callable[..., Any]
    shape: Rule
    positional: int
    keywords: frozenset[str] = frozenset()
    elementwise: bool = False
    weight: int = 1
    work: Callable[..., float] | None = None
    concrete: bool = False
    drawn: bool = False


_ELEMENTWISE = (
    "abs absolute add arccos arccosh arcsin arcsinh arctan arctan2 arctanh bitwise_and bitwise_not"
    " bitwise_or bitwise_xor cbrt ceil conj conjugate copysign cos cosh deg2rad degrees divide equal exp"
    " exp2 expm1 fabs float_power floor floor_divide fmax fmin fmod gcd greater greater_equal heaviside"
    " hypot invert isfinite isinf isnan lcm ldexp left_shift less less_equal log log10 log1p log2"
    " logaddexp logaddexp2 logical_and logical_not logical_or logical_xor maximum minimum mod multiply"
    " negative nextafter not_equal positive power rad2deg radians reciprocal remainder right_shift rint"
    " sign signbit sin sinh spacing sqrt square subtract tan tanh true_divide trunc"
).split()
_MORE_ELEMENTWISE: Mapping[str, tuple[int, str]] = {
    "angle": (1, ""),
    "around": (2, "decimals"),
    "clip": (3, ""),
    "fix": (1, ""),
    "i0": (1, ""),
    "imag": (1, ""),
    "isclose": (2, "rtol atol equal_nan"),
    "isneginf": (1, ""),
    "isposinf": (1, ""),
    "nan_to_num": (1, "nan posinf neginf"),
    "real": (1, ""),
    "round": (2, "decimals"),
    "sinc": (1, ""),
    "where": (3, ""),
}
_REDUCTIONS: Mapping[str, str] = {
    **dict.fromkeys(["all", "any", "argmax", "argmin", "count_nonzero", "median", "nanmedian"], ""),
    **dict.fromkeys(["amax", "amin", "max", "min", "nanmax", "nanmin", "prod", "sum"], "initial"),
    **dict.fromkeys(["nanprod", "nansum"], ""),
    **dict.fromkeys(["mean", "nanmean", "ptp"], ""),
    **dict.fromkeys(["std", "var", "nanstd", "nanvar"], "ddof"),
}
_SORTS, _SEARCHES = 48, 240
"""Steps that sorting takes for an element, and looking it up in a sorted array that no cache holds."""

_SLOW: Mapping[str, int] = {
    **dict.fromkeys(["divmod", "float_power", "floor_divide", "lcm", "mod", "remainder"], 16),
    **dict.fromkeys(["angle", "cos", "hypot", "ldexp", "sin", "spacing", "where"], 8),
    **{"i0": 110, "sinc": 20},
    **{"erf": 180, "erfc": 180, "erfinv": 1400, "sigmoid": 20, "softplus": 20},
    **{"median": 24, "nanmedian": 24},
}
"""Steps of an element where it is many: nanoseconds, as measured."""

PART = 1 << 16
"""Elements that a function with many temporaries takes at a time."""


def _frozen(text: str) -> frozenset[str]:
    return frozenset(text.split())


def _in_parts(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A function of each element, worked through in parts: its temporaries are not as large as its argument."""

    @functools.wraps(function)
    def parts(x: Any) -> Any:
        flat = np.asarray(x).reshape(-1)
        if flat.size <= PART:
            return function(x)
        first = function(flat[:PART])
        made = np.empty(flat.size, first.dtype)
        made[:PART] = first
        for start in range(PART, flat.size, PART):
            made[start : start + PART] = function(flat[start : start + PART])
        return made.reshape(np.shape(x))

    return parts


def distinct(x: Any) -> np.ndarray:
    """NumPy's unique by sorting: its newer hash table takes 50 times as long for many distinct values."""
    ordered = np.sort(np.asarray(x), axis=None)
    if not ordered.size:
        return ordered
    new = np.concatenate(([True], ordered[1:] != ordered[:-1]))
    if ordered.dtype.kind in "fc":
        new[1:] &= ~np.isnan(ordered[:-1])  # NaN, all of it at the end, stands once
    return np.asarray(ordered[new])


def _array(x: Any) -> np.ndarray:
    made = np.asarray(x)
    if made.dtype.kind not in "biufc":
        raise ValueError("array takes numbers")
    return made


def _rounded(dtype: str) -> Callable[[Any], np.ndarray]:
    """Values rounded to a dtype as a store to it would: floats to nearest, integers towards zero and clipped."""

    def rounded(x: Any) -> np.ndarray:
        values = np.asarray(x)
        if dtype.startswith(("int", "uint")):
            return round_to(np.trunc(values) if values.dtype.kind == "f" else values, dtype)
        made = round_to(values, dtype)
        # float32 holds the narrow floats exactly, and NumPy calculates with it as it does with any other.
        return widen(made, np.float32) if dtype in ("float16", "bfloat16") else made

    return rounded


def _quiet(function: Callable[..., Any]) -> Callable[..., Any]:
    """A reduction without NumPy's remarks on empty slices; its NaN says it. (These are never run in threads.)"""

    @functools.wraps(function)
    def quiet(*args: Any, **keywords: Any) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return function(*args, **keywords)

    return quiet


def _diff_work(a: Any, n: Any = 1, axis: Any = -1) -> float:  # noqa: ARG001
    """NumPy goes over the array n times, whatever is left of it."""
    return float(n) * (math.prod(shape_of(a)) + 1000)


def _pad_work(a: Any, pad_width: Any) -> float:
    """Modes other than constant go around the array as often as the pad holds it."""
    shape, made = shape_of(a), shapes.padded(a, pad_width)
    turns = sum(new / max(old - 1, 1) for old, new in zip(shape, made, strict=True))
    return turns * 20_000


def _einsum_work(subscripts: str, *arrays: Any) -> float:
    # A loop over every label, several times as slow as a simple function.
    return 4.0 * math.prod(shapes.labels(subscripts, *arrays).values())


def _einsum(subscripts: str, *arrays: Any) -> Any:
    return np.einsum(subscripts, *arrays)


def _matmul_work(a: Any, b: Any) -> float:
    """A sixteenth of the multiplications: the library does about so many in one step of ours."""
    x = shape_of(a)
    return math.prod(shapes.product(a, b)) * (x[-1] if x else 1) / 16


def _dot_work(a: Any, b: Any) -> float:
    x = shape_of(a)
    return math.prod(shapes.dotted(a, b)) * (x[-1] if x else 1) / 16


def _inner_work(a: Any, b: Any) -> float:
    x = shape_of(a)
    return math.prod(shapes.inner(a, b)) * (x[-1] if x else 1) / 16


def _size(a: Any, axis: Any = None) -> int:
    shape = shape_of(a)
    return math.prod(shape) if axis is None else shape[int(axis)]


def _where(condition: Any, *sides: Any) -> Any:
    if len(sides) != 2:
        raise ValueError("where takes a condition and two values")
    return np.where(condition, *sides)


def _ndim(a: Any) -> int:
    return len(shape_of(a))


def _isnull(_: Any) -> bool:
    raise AssertionError("worked out by the walker")  # it sees whether a name is null


def _table() -> dict[str, Function]:
    made: dict[str, Function] = {}
    for name in _ELEMENTWISE:
        function = getattr(np, name)
        weight = _SLOW.get(name, 2)
        made[name] = Function(function, shapes.elementwise, function.nin, elementwise=True, weight=weight)
    for name, (positional, keywords) in _MORE_ELEMENTWISE.items():
        rule = shapes.elementwise if name in ("where", "clip", "isclose") else shapes.same
        own = _where if name == "where" else getattr(np, name)
        function = _in_parts(own) if name in ("i0", "sinc") else own
        weight = _SLOW.get(name, 4)
        made[name] = Function(function, rule, positional, _frozen(keywords), elementwise=True, weight=weight)
    for name in ("erf", "erfc", "erfinv", "sigmoid", "softplus"):
        function = _in_parts(getattr(special, name))
        made[name] = Function(function, shapes.same, 1, elementwise=True, weight=_SLOW[name])
    for name in ("divmod", "frexp", "modf"):
        weight = _SLOW.get(name, 4)
        made[name] = Function(getattr(np, name), shapes.pair, getattr(np, name).nin, weight=weight)
    for name in ("float16", "bfloat16", "float32", "float64"):
        made[name] = Function(_in_parts(_rounded(name)), shapes.same, 1, elementwise=True, weight=12)
    for name in ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"):
        made[name] = Function(_in_parts(_rounded(name)), shapes.same, 1, elementwise=True, weight=12)
    for name, keywords in _REDUCTIONS.items():
        frozen, weight = _frozen(f"axis keepdims {keywords}"), _SLOW.get(name, 4)
        made[name] = Function(_quiet(getattr(np, name)), shapes.reduced, 2, frozen, weight=weight)
    for name in ("cumprod", "cumsum", "nancumprod", "nancumsum"):
        made[name] = Function(getattr(np, name), shapes.running, 2, _frozen("axis"), weight=6)
    made["average"] = Function(np.average, shapes.reduced, 2, _frozen("axis weights keepdims"), weight=4)
    for name in ("quantile", "percentile", "nanquantile", "nanpercentile"):
        made[name] = Function(
            _quiet(getattr(np, name)), shapes.quantiles, 3, _frozen("axis keepdims"), weight=_SORTS
        )
    made["sort"] = Function(np.sort, shapes.same, 2, _frozen("axis"), weight=_SORTS)
    # Equal values in a fixed order: what quicksort leaves is the machine's.
    stable = functools.partial(np.argsort, kind="stable")
    made["argsort"] = Function(stable, shapes.same, 2, _frozen("axis"), weight=3 * _SORTS)
    made["unique"] = Function(distinct, shapes.picked, 1, weight=_SORTS)
    made["flatnonzero"] = Function(np.flatnonzero, shapes.picked, 1, weight=3)
    made["compress"] = Function(np.compress, shapes.compressed, 3, _frozen("axis"))
    made["searchsorted"] = Function(np.searchsorted, shapes.second, 2, _frozen("side"), weight=_SEARCHES)
    made["digitize"] = Function(np.digitize, shapes.same, 2, _frozen("right"), weight=_SEARCHES)
    made["interp"] = Function(np.interp, shapes.same, 3, _frozen("left right"), weight=_SEARCHES)
    made["bincount"] = Function(np.bincount, shapes.binned, 1, _frozen("weights minlength"))
    made["diff"] = Function(np.diff, shapes.differences, 3, _frozen("n axis"), work=_diff_work)
    made["trace"] = Function(np.trace, shapes.traced, 1)
    for name, positional, keywords in (
        *(("expand_dims", 2, "axis"), ("squeeze", 2, "axis"), ("flip", 2, "axis"), ("transpose", 2, "axes")),
        *(("moveaxis", 3, ""), ("swapaxes", 3, ""), ("rollaxis", 3, ""), ("rot90", 3, "k axes")),
        *(("broadcast_to", 2, ""), ("diagonal", 4, ""), ("atleast_1d", 1, ""), ("atleast_2d", 1, "")),
        *(("atleast_3d", 1, ""), ("fliplr", 1, ""), ("flipud", 1, "")),
    ):
        function = getattr(np, name)
        made[name] = Function(function, shapes.viewed(function), positional, _frozen(keywords))
    made["reshape"] = Function(np.reshape, shapes.reshaped, 2)
    made["ravel"] = Function(np.ravel, shapes.flat, 1)
    made["roll"] = Function(np.roll, shapes.same, 3, _frozen("shift axis"))
    made["tril"] = Function(np.tril, shapes.square, 2, _frozen("k"))
    made["triu"] = Function(np.triu, shapes.square, 2, _frozen("k"))
    made["repeat"] = Function(np.repeat, shapes.repeated, 3, _frozen("axis"))
    made["tile"] = Function(np.tile, shapes.tiled, 2)
    made["concatenate"] = Function(np.concatenate, shapes.joined, 2, _frozen("axis"))
    made["stack"] = Function(np.stack, shapes.stacked, 2, _frozen("axis"))
    made["hstack"] = Function(np.hstack, shapes.in_columns, 1)
    made["vstack"] = Function(np.vstack, shapes.in_rows, 1)
    made["pad"] = Function(np.pad, shapes.padded, 2, _frozen("mode constant_values"), work=_pad_work)
    made["take"] = Function(np.take, shapes.taken, 3, _frozen("axis"))
    made["take_along_axis"] = Function(np.take_along_axis, shapes.taken_along, 3, _frozen("axis"))
    made["diag"] = Function(np.diag, shapes.diagonal, 2, _frozen("k"))
    made["matmul"] = Function(np.matmul, shapes.product, 2, work=_matmul_work)
    made["dot"] = Function(np.dot, shapes.dotted, 2, work=_dot_work)
    made["inner"] = Function(np.inner, shapes.inner, 2, work=_inner_work)
    made["outer"] = Function(np.outer, shapes.outer, 2)
    made["kron"] = Function(np.kron, shapes.kron, 2)
    made["cross"] = Function(np.cross, shapes.crossed, 2, weight=30)
    made["einsum"] = Function(
        _einsum,
        shapes.summed,
        8,
        work=_einsum_work,
    )
    made["arange"] = Function(np.arange, shapes.counted, 3)
    made["linspace"] = Function(np.linspace, shapes.spaced, 3)
    made["eye"] = Function(np.eye, shapes.table, 2, _frozen("k"))
    made["tri"] = Function(np.tri, shapes.table, 2, _frozen("k"))
    made["zeros"] = Function(np.zeros, shapes.given, 1)
    made["ones"] = Function(np.ones, shapes.given, 1)
    made["full"] = Function(np.full, shapes.given, 2)
    for name, positional in (("zeros_like", 1), ("ones_like", 1), ("full_like", 2)):
        made[name] = Function(getattr(np, name), shapes.same, positional)
    made["array"] = Function(_array, shapes.same, 1)
    made["shape"] = Function(shape_of, shapes.same, 1, concrete=True)
    made["size"] = Function(_size, shapes.same, 2, _frozen("axis"), concrete=True)
    made["ndim"] = Function(_ndim, shapes.same, 1, concrete=True)
    made["isnull"] = Function(_isnull, shapes.same, 1, concrete=True)
    return made


FUNCTIONS: Mapping[str, Function] = _table()

WORDS: Mapping[str, frozenset[str]] = {
    "mode": _frozen("constant edge reflect symmetric wrap"),
    "side": _frozen("left right"),
}
"""Text that a keyword takes. The only other text is the first argument of einsum."""
