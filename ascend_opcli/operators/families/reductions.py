"""Sums, means, products, extremes and norms over axes, positions of extremes, and the cumulative operators."""

# More than 400 lines: one family, its forward operators and their variants in one table.
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ascend_opcli.operators.declare import (
    Operator,
    Places,
    axes_of,
    axis_of,
    declare,
    lanes,
    reduced_shape,
    to_float,
)
from ascend_opcli.operators.documents import catalogued
from ascend_opcli.operators.families.fills import cast
from ascend_opcli.tensors.dtypes import DTYPES, numpy_dtype

# --- over axes ------------------------------------------------------------------------------------------------


def _taken(values: Any, word: Any) -> Any:
    """The input in the dtype of the sum: floats cut to integers, integers as floats of the run."""
    if word is None or word not in DTYPES:
        return values
    if DTYPES[word].kind in ("int", "uint", "bool"):
        return cast(values, word)
    return values


def _total(values: Any, axes: tuple[int, ...], word: Any) -> Any:
    """A sum in floats of the run, or in integers of the width of ``word`` (its low bits)."""
    flat = lanes(values, axes)
    if values.dtype.kind in "fc":
        return flat.sum(-1, dtype=values.dtype)
    if word in DTYPES and DTYPES[word].kind in ("float", "complex"):
        return flat.sum(-1, dtype=np.int64)
    total = flat.sum(-1, dtype=np.int64)
    return total != 0 if word == "bool" else total.astype(numpy_dtype(word))


def _reduce_sum(self: Any, dims: Any, _keep: Any, dtype: Any, dtypes: Any) -> Any:
    return cast(_total(_taken(self, dtype), axes_of(dims, self.ndim), dtypes["out"]), dtypes["out"])


def _nansum(self: Any, dims: Any, keep: Any, dtype: Any, dtypes: Any) -> Any:
    known = np.where(np.isnan(self), self.dtype.type(0), self) if self.dtype.kind == "f" else self
    return _reduce_sum(known, dims, keep, dtype, dtypes)


def _average(values: Any, axes: tuple[int, ...]) -> Any:
    flat = lanes(values, axes)
    kind = values.dtype if values.dtype.kind in "fc" else np.float64
    return flat.sum(-1, dtype=kind) / np.asarray(flat.shape[-1], kind)


def _mean(self: Any, dim: Any, _keep: Any, _dtype: Any, dtypes: Any) -> Any:
    return cast(_average(self, axes_of(dim, self.ndim)), dtypes["out"])


def _mean_v2(self: Any, dim: Any, _keep: Any, noop: Any, dtypes: Any) -> Any:
    if noop and not len(dim or ()):
        return cast(self, dtypes["out"])
    return cast(_average(self, axes_of(dim, self.ndim)), dtypes["out"])


def _product(values: Any, axes: tuple[int, ...], word: Any) -> Any:
    flat = lanes(values, axes)
    if values.dtype.kind in "fc":
        return flat.prod(-1, dtype=values.dtype)
    if DTYPES[word].kind in ("float", "complex"):
        return flat.astype(np.float64).prod(-1)
    return cast(flat.astype(np.int64).prod(-1, dtype=np.int64), word)


def _prod(self: Any, dtype: Any, dtypes: Any) -> Any:
    return cast(_product(_taken(self, dtype), axes_of((), self.ndim), dtypes["out"]), dtypes["out"])


def _prod_dim(self: Any, dim: Any, _keep: Any, dtype: Any, dtypes: Any) -> Any:
    return cast(_product(_taken(self, dtype), (axis_of(dim, self.ndim),), dtypes["out"]), dtypes["out"])


def _extreme(pick: Callable[..., Any]) -> Callable[..., Any]:
    return lambda self, dims, _keep: pick(self, axis=axes_of(dims, self.ndim))


def _max_v2(self: Any, dims: Any, _keep: Any, noop: Any) -> Any:
    return self if noop and not len(dims or ()) else np.max(self, axis=axes_of(dims, self.ndim))


def _with_place(pick: Callable[..., Any], place: Callable[..., Any]) -> Callable[..., Any]:
    def function(self: Any, dim: Any, _keep: Any) -> Any:
        axis = axis_of(dim, self.ndim)
        return pick(self, axis=axis), place(self, axis=axis)

    return function


def _truth(join: Callable[..., Any]) -> Callable[..., Any]:
    return lambda self, dim, _keep: join(self != 0, axis=axes_of(dim, self.ndim))


def _scaled_root(flat: Any, p: float) -> Any:
    """The p-norm of the last axis, by the largest magnitude, so that no power overflows."""
    largest = np.max(flat, axis=-1, keepdims=True, initial=0)
    usable = (largest > 0) & np.isfinite(largest)
    scale = np.where(usable, largest, flat.dtype.type(1))
    total = ((flat / scale) ** flat.dtype.type(p)).sum(-1, dtype=flat.dtype)
    return scale[..., 0] * total ** flat.dtype.type(1 / p)


def vector_norm(self: Any, p: Any, dims: Any) -> Any:
    """(sum |x|^p)^(1/p); p inf and -inf the largest and smallest magnitude, p 0 the count of those not 0."""
    flat, p = np.abs(lanes(self, axes_of(dims, self.ndim))), float(p)
    if p == np.inf:
        return flat.max(-1)
    if p == -np.inf:
        return flat.min(-1)
    if p == 0:
        return (flat != 0).sum(-1).astype(flat.dtype)
    if p == 1:
        return flat.sum(-1, dtype=flat.dtype)
    return _scaled_root(flat, p) if p > 0 else (flat ** flat.dtype.type(p)).sum(-1) ** flat.dtype.type(1 / p)


def _log_sum_exp(self: Any, dim: Any, _keep: Any) -> Any:
    values = self if self.dtype.kind == "f" else self.astype(np.float64)
    flat = lanes(values, axes_of(dim, self.ndim))
    top = flat.max(-1, keepdims=True)
    top = np.where(np.isfinite(top), top, flat.dtype.type(0))
    return np.log(np.exp(flat - top).sum(-1, dtype=flat.dtype)) + top[..., 0]


def _log_sum(data: Any, axes: Any, _keep: Any, noop: Any) -> Any:
    if noop and not len(axes or ()):
        return np.log(data)
    return np.log(lanes(data, axes_of(axes, data.ndim)).sum(-1, dtype=data.dtype))


def _spread(self: Any, dim: Any, correction: Any) -> tuple[Any, Any]:
    """Variance and mean; a divisor below 0 counts as 0."""
    flat = lanes(self, axes_of(dim, self.ndim))
    count = flat.shape[-1]
    mean = flat.sum(-1, keepdims=True, dtype=flat.dtype) / flat.dtype.type(count)
    squares = ((flat - mean) ** 2).sum(-1, dtype=flat.dtype)
    return squares / flat.dtype.type(max(count - int(correction), 0)), mean[..., 0]


def _median(self: Any) -> Any:
    flat = np.sort(self.reshape(-1))
    middle = flat[-1] if flat.dtype.kind == "f" and np.isnan(flat[-1]) else flat[(flat.size - 1) // 2]
    return np.asarray([middle])


# --- along one axis -------------------------------------------------------------------------------------------


def _cumulative(values: Any, dim: Any, word: Any, total: Callable[..., Any]) -> Any:
    axis = axis_of(dim, values.ndim)
    if values.dtype.kind in "fc":
        return cast(total(values, axis=axis, dtype=values.dtype), word)
    whole = DTYPES[word].kind in ("int", "uint", "bool")
    return cast(total(values, axis=axis, dtype=np.int64 if whole else np.float64), word)


def _cumsum(self: Any, dim: Any, dtype: Any, dtypes: Any) -> Any:
    return _cumulative(_taken(self, dtype), dim, dtypes["out"], np.cumsum)


def _cumsum_v2(self: Any, dim: Any, exclusive: Any, reverse: Any, dtypes: Any) -> Any:
    axis = axis_of(dim, self.ndim)
    made = np.flip(self, axis) if reverse else self
    if exclusive:
        pad = [(1, 0) if i == axis else (0, 0) for i in range(self.ndim)]
        made = np.take(np.pad(made, pad), range(self.shape[axis]), axis=axis)
    made = _cumulative(made, axis, dtypes["out"], np.cumsum)
    return np.flip(made, axis) if reverse else made


def _cumprod(self: Any, dim: Any, dtype: Any, dtypes: Any) -> Any:
    return _cumulative(_taken(self, dtype), dim, dtypes["out"], np.cumprod)


def _inplace_cumprod(self: Any, dim: Any, dtypes: Any) -> Any:
    return _cumulative(self, dim, dtypes["input"], np.cumprod)


# --- inference ------------------------------------------------------------------------------------------------


def _sum_word(spec: Any, dtype: Any = None) -> str:
    if dtype in DTYPES:
        return str(dtype)
    return "int64" if DTYPES[spec.dtype].kind in ("bool", "int", "uint") else str(spec.dtype)


def _like(self: Any, dims: Any, keep: Any, *_rest: Any) -> tuple[str, Any]:
    return self.dtype, reduced_shape(self.shape, dims, keep)


def _as_float(self: Any, dims: Any, keep: Any, *_rest: Any) -> tuple[str, Any]:
    return to_float(self.dtype), reduced_shape(self.shape, dims, keep)


def _summed(self: Any, dims: Any, keep: Any, dtype: Any) -> tuple[str, Any]:
    return _sum_word(self, dtype), reduced_shape(self.shape, dims, keep)


def _averaged(self: Any, dims: Any, keep: Any, dtype: Any) -> tuple[str, Any]:
    word = dtype if dtype in DTYPES else to_float(self.dtype)
    return word, reduced_shape(self.shape, dims, keep)


def _no_op(self: Any, dims: Any, keep: Any, noop: Any) -> tuple[str, Any]:
    empty = noop and not len(dims or ())
    return self.dtype, self.shape if empty else reduced_shape(self.shape, dims, keep)


def _varied(self: Any, dims: Any, _correction: Any, keep: Any) -> list[tuple[str, Any]]:
    return [_like(self, dims, keep)] * 2


def _placed(self: Any, dim: Any, keep: Any) -> list[tuple[str, Any]]:
    shape = reduced_shape(self.shape, dim, keep)
    return [(self.dtype, shape), ("int32", shape)]


_OVER = {"dim": (-1,), "dims": (-1,), "axes": (-1,)}


def _op(name: str, function: Callable[..., Any], text: str, infer: Any, **changes: Any) -> Operator:
    signature = catalogued.entry(f"aclnn{name}").signature
    samples: dict[str, Any] = {}
    for param in signature.attributes:
        if param.type == "bool":
            samples[param.name] = False
        elif param.name in _OVER:
            samples[param.name] = _OVER[param.name] if param.type == "aclIntArray" else -1
        elif param.type == "aclDataType":
            samples[param.name] = "float32"
        else:
            samples[param.name] = {"correction": 1}.get(param.name, 2.0)
    return declare(name, function, text, infer, **{"sample_attributes": samples, **changes})


OPERATORS = (
    _op("ReduceSum", _reduce_sum, "out = sum of self over dims", _summed),
    _op("ReduceNansum", _nansum, "out = sum of self over dim, NaN counting as 0", _summed),
    _op("Mean", _mean, "out = mean of self over dim", _averaged),
    _op(
        "MeanV2",
        _mean_v2,
        "out = mean of self over dim, self where noopWithEmptyAxes and dim is empty",
        _no_op,
    ),
    _op(
        "Prod",
        _prod,
        "out = product of all elements of self",
        lambda self, dtype: (_sum_word(self, dtype), ()),
    ),
    _op("ProdDim", _prod_dim, "out = product of self over dim", _summed),
    _op("Amax", _extreme(np.max), "out = largest of self over dim", _like),
    _op("Amin", _extreme(np.min), "out = smallest of self over dim", _like),
    _op("Max", lambda self: np.max(self), "out = largest element of self", lambda self: (self.dtype, ())),
    _op("Min", lambda self: np.min(self), "out = smallest element of self", lambda self: (self.dtype, ())),
    _op("MaxV2", _max_v2, "out = largest of self over dims", _no_op),
    _op(
        "MaxDim",
        _with_place(np.max, np.argmax),
        "out = largest of self over dim, indices = where it stands",
        _placed,
        holds=Places("indices", "out"),
    ),
    _op(
        "MinDim",
        _with_place(np.min, np.argmin),
        "out = smallest of self over dim, indices = where it stands",
        _placed,
        holds=Places("indices", "out"),
    ),
    _op(
        "AminmaxAll",
        lambda self: (np.min(self), np.max(self)),
        "minOut, maxOut = smallest and largest element of self",
        lambda self: [(self.dtype, ())] * 2,
    ),
    _op(
        "AminmaxDim",
        lambda self, dim, _keep: tuple(p(self, axis=axis_of(dim, self.ndim)) for p in (np.min, np.max)),
        "minOut, maxOut = smallest and largest of self over dim",
        lambda self, dim, keep: [_like(self, dim, keep)] * 2,
    ),
    _op(
        "All",
        _truth(np.all),
        "out = whether all of self over dim are not 0",
        lambda *a: ("bool", _like(*a)[1]),
    ),
    _op(
        "Any",
        _truth(np.any),
        "out = whether any of self over dim is not 0",
        lambda *a: ("bool", _like(*a)[1]),
    ),
    _op(
        "ArgMax",
        lambda self, dim, _keep: np.argmax(self, axis=axis_of(dim, self.ndim)),
        "out = where self is largest over dim",
        lambda *a: ("int64", _like(*a)[1]),
        holds=Places("out"),
    ),
    _op(
        "ArgMin",
        lambda self, dim, _keep: np.argmin(self, axis=axis_of(dim, self.ndim)),
        "out = where self is smallest over dim",
        lambda *a: ("int64", _like(*a)[1]),
        holds=Places("out"),
    ),
    _op(
        "Norm",
        lambda self, p, dim, _keep: vector_norm(self, p, dim),
        "out = (sum |self|^p)^(1/p) over dim",
        lambda self, _p, dim, keep: _as_float(self, dim, keep),
        attribute_dtypes={"pScalar": "float32"},
    ),
    _op(
        "LinalgVectorNorm",
        lambda self, p, dims, _keep, _dtype: vector_norm(self, p, dims),
        "out = (sum |self|^ord)^(1/ord) over dims",
        lambda self, _p, dims, keep, dtype: _averaged(self, dims, keep, dtype),
        attribute_dtypes={"ord": "float32"},
    ),
    _op("LogSumExp", _log_sum_exp, "out = ln of the sum of e^self over dim", _as_float),
    _op("ReduceLogSum", _log_sum, "out = ln of the sum of data over axes", _no_op),
    _op(
        "Var",
        lambda self, dim, unbiased, _keep: _spread(self, dim, 1 if unbiased else 0)[0],
        "out = variance of self over dim, by n - 1 where unbiased",
        lambda self, dim, _unbiased, keep: _like(self, dim, keep),
    ),
    _op(
        "VarCorrection",
        lambda self, dim, correction, _keep: _spread(self, dim, correction)[0],
        "out = variance of self over dim, by n - correction",
        lambda *a: _varied(*a)[0],
    ),
    _op(
        "VarMean",
        lambda self, dim, correction, _keep: _spread(self, dim, correction),
        "varOut, meanOut = variance (by n - correction) and mean of self over dim",
        _varied,
    ),
    _op(
        "Std",
        lambda self, dim, correction, _keep: np.sqrt(_spread(self, dim, correction)[0]),
        "out = root of the variance of self over dim, by n - correction",
        lambda *a: _varied(*a)[0],
    ),
    _op(
        "StdMeanCorrection",
        lambda self, dim, correction, _keep: (
            np.sqrt(_spread(self, dim, correction)[0]),
            _spread(self, dim, correction)[1],
        ),
        "stdOut, meanOut = root of the variance (by n - correction) and mean of self over dim",
        _varied,
    ),
    _op("Median", _median, "valuesOut = the lower median of self", lambda self: (self.dtype, ())),
    _op(
        "Cumsum",
        _cumsum,
        "out = running sum of self along dim",
        lambda self, _dim, dtype: (_sum_word(self, dtype), self.shape),
    ),
    _op(
        "CumsumV2",
        _cumsum_v2,
        "out = running sum of self along dim, from the end where reverse, without itself where exclusive",
        lambda self, *_rest: (self.dtype, self.shape),
    ),
    _op(
        "Cumprod",
        _cumprod,
        "out = running product of input along dim",
        lambda self, _dim, dtype: (_sum_word(self, dtype), self.shape),
        sample_attributes={"dim": 0, "dtype": "float32"},
    ),
    _op(
        "InplaceCumprod",
        _inplace_cumprod,
        "input = running product of input along dim",
        None,
        sample_attributes={"dim": 0},
    ),
    _op(
        "GlobalAveragePool",
        lambda self: _average(self, tuple(range(2, self.ndim))),
        "out = mean of self over all axes from 2",
        lambda self: (self.dtype, (*self.shape[:2], *[1] * (len(self.shape) - 2))),
        sample_shape=(2, 3, 4, 5),
    ),
    _op(
        "GlobalMaxPool",
        lambda self: np.max(self, axis=tuple(range(2, self.ndim))),
        "out = largest of self over all axes from 2",
        lambda self: (self.dtype, (*self.shape[:2], *[1] * (len(self.shape) - 2))),
        sample_shape=(2, 3, 4, 5),
    ),
)
