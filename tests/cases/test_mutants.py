"""Broken kernels do not get through: for every fault below, the operator's shipped case file fails.

A fault replaces what the host backend gives for a call; the golden stays right. Faults that no case can show,
because they change no result that the contract fixes, are not in the tables:

* logit_grad, ties of the rounding to 16 bits: dy / (x (1 - x)) never lies half way between two numbers, for
  x (1 - x) is a power of two only at x = 0.5 and where 1 - x rounds to 1, and there the quotient is exact.
* logit_grad, Inf of x or dy taken for the largest number: that lies outside too, and four times it is Inf.
* logit_grad, an eps that float32 cannot hold kept in float64: such elements may take either branch, by design.
* threshold_backward, rounding to 16 bits: every result is an input or 0.
* batch_norm_elemt_backward, invstd * weight multiplied in another order: both orders round as often.
* amp_update_scale, tiles and tails: one element is all there is.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import numpy as np
import pytest
from kernel_faults import (
    Fault,
    Outputs,
    attribute,
    attribute_by,
    common,
    computed_in,
    contiguous,
    formula,
    offset_ignored,
    reading,
    right,
    rounding,
    sizes,
    strides_ignored,
    with_arguments,
    writing,
)

from ascend_opcli.backends import host
from ascend_opcli.casefile.open import load_file
from ascend_opcli.execution import runner
from ascend_opcli.model import Call, Case, Outcome, Tensor, TensorSpec, VerdictKind
from ascend_opcli.operators.contract.phase_one import predict
from ascend_opcli.operators.contract.rules import Rule
from ascend_opcli.operators.operator import Operator
from ascend_opcli.reference.resolve import resolve as operator_named
from ascend_opcli.tensors.dtypes import numpy_dtype, round_to
from ascend_opcli.tensors.layout import view
from ascend_opcli.verification.standards.choice import check_for

FOLDER = Path(__file__).parents[2] / "cases"
Refuse = Callable[[Operator, Case, str], "Outcome | None"]
FLT_EPSILON = np.finfo(np.float32).eps


# --- logit_grad ---------------------------------------------------------------------------------------------------


def _quotient(x, dy):
    return dy / (x * (1 - x))


def _bounds(eps):
    lo = eps if eps >= 0 else np.float32(0)
    return lo, np.float32(1) - lo


def _fill(eps):
    return 0.0 if eps >= 0 else np.nan


def _logit(inside=None, value=None, fill=None) -> Fault:
    """logit_grad with its test of the interval, its quotient or its value outside replaced."""

    def reference(x, dy, *, eps):
        lo, hi = _bounds(eps)
        kept = inside(x, lo, hi) if inside else (lo <= x) & (x <= hi)
        outside = fill(x, dy, eps) if fill else _fill(eps)
        return np.where(kept, value(x, dy) if value else _quotient(x, dy), outside)

    return formula(reference)


def _eps_zero_is_none(x, dy, *, eps):
    lo = eps if eps > 0 else np.float32(0)
    return np.where((lo <= x) & (x <= 1 - lo), _quotient(x, dy), 0.0 if eps > 0 else np.nan)


def _nan_eps_is_a_bound(x, dy, *, eps):
    lo = np.float32(0) if eps < 0 else eps
    return np.where((lo <= x) & (x <= 1 - lo), _quotient(x, dy), np.nan if eps < 0 else 0.0)


def _nan_x_stays(x, dy, *, eps):
    lo, hi = _bounds(eps)
    return np.where((lo <= x) & (x <= hi), _quotient(x, dy), np.where(np.isnan(x), np.nan, _fill(eps)))


def _dtype_of(name: str, call: Call) -> str:
    bound = call.arguments[name]
    assert isinstance(bound, Tensor)
    return bound.spec.dtype


def _in_dtype_of(name: str):
    """An attribute rounded to the dtype of an input."""

    def how(value, call):
        dtype = _dtype_of(name, call)
        if isinstance(value, complex) or "int" in dtype:
            return value
        return float(round_to(np.array([value], np.float64), dtype).astype(np.float64)[0])

    return how


LOGIT = {
    "lower bound open": _logit(lambda x, lo, hi: (lo < x) & (x <= hi)),
    "upper bound open": _logit(lambda x, lo, hi: (lo <= x) & (x < hi)),
    "lower bound ignored": _logit(lambda x, lo, hi: x <= hi),
    "upper bound ignored": _logit(lambda x, lo, hi: lo <= x),
    "no bounds": _logit(lambda x, lo, hi: np.ones(x.shape, bool)),
    "outside and inside swapped": _logit(lambda x, lo, hi: ~((lo <= x) & (x <= hi))),
    "upper bound is lo": _logit(lambda x, lo, hi: (lo <= x) & (x <= 1.0)),
    "outside 0 without eps": _logit(fill=lambda x, dy, eps: 0.0),
    "outside NaN with eps": _logit(fill=lambda x, dy, eps: np.nan),
    "outside 0 * dy": _logit(fill=lambda x, dy, eps: dy * 0.0 + _fill(eps)),
    "outside -0": _logit(fill=lambda x, dy, eps: -0.0 if eps >= 0 else np.nan),
    "x clamped into the interval": formula(
        lambda x, dy, *, eps: (
            _quotient(np.clip(x, *_bounds(eps)), dy)
            if eps >= 0
            else np.where((x >= 0) & (x <= 1), _quotient(x, dy), np.nan)
        )
    ),
    "NaN x stays NaN with eps": formula(_nan_x_stays),
    "eps of 0 taken as no eps": formula(_eps_zero_is_none),
    "NaN eps taken as a bound": formula(_nan_eps_is_a_bound),
    "eps ignored": attribute("eps", -1.0),
    "eps taken as 0": attribute("eps", 0.0),
    "magnitude of eps": attribute_by("eps", lambda eps, _call: abs(eps)),
    "eps rounded to the dtype of x": attribute_by("eps", _in_dtype_of("x")),
    "eps held at most 0.5": attribute_by("eps", lambda eps, _call: min(eps, 0.5)),
    "x - x * x": _logit(value=lambda x, dy: dy / (x - x * x)),
    "x * x for x (1 - x)": _logit(value=lambda x, dy: dy / (x * x)),
    "dy ignored": _logit(value=lambda x, dy: 1 / (x * (1 - x))),
    "times instead of divided by": _logit(value=lambda x, dy: dy * (x * (1 - x))),
    "a guard in the denominator": _logit(value=lambda x, dy: dy / (x * (1 - x) + x.dtype.type(1e-6))),
    "sign of the quotient lost at 0": _logit(value=lambda x, dy: dy / np.abs(x * (1 - x))),
    "0 / 0 is 0": _logit(value=lambda x, dy: np.where(dy == 0, 0.0, _quotient(x, dy))),
    "quotient at the bounds is 0": _logit(
        value=lambda x, dy: np.where(x * (1 - x) == 0, 0.0, _quotient(x, dy))
    ),
    "reciprocal in float16": _logit(
        value=lambda x, dy: dy * (1 / (x * (1 - x))).astype(np.float16).astype(x.dtype)
    ),
    "float16 subnormals flushed": writing(
        lambda flat: np.where(np.abs(flat) < 2.0**-14, 0, flat) if flat.dtype == np.float16 else flat
    ),
    "offset of x ignored": offset_ignored("x"),
    "offset of dy ignored": offset_ignored("dy"),
    **{n: f for n, f in common("x", "dy") if n not in ("Inf of x saturated", "Inf of dy saturated")},
    **dict(sizes()),
    **dict(rounding()),
}


# --- elu_backward -------------------------------------------------------------------------------------------------


def _elu(**change) -> Fault:
    """elu_backward with parts replaced: mask(x), product(alpha, scale), from_input, from_result, linear, blend."""

    def reference(
        gradOutput, selfOrResult, *, alpha, scale, inputScale, isResult, exact_alpha=0, exact_scale=0
    ):
        g, x, s = gradOutput, selfOrResult, inputScale
        if "exact" in change:
            alpha, scale = np.float64(exact_alpha), np.float64(exact_scale)
            g, x = g.astype(np.float64), x.astype(np.float64)
        neg = change["product"](alpha, scale) if "product" in change else alpha * scale
        if isResult:
            below = change["from_result"](g, x, neg, s) if "from_result" in change else g * s * (x + neg)
        else:
            below = (
                change["from_input"](g, x, neg, s) if "from_input" in change else g * s * neg * np.exp(x * s)
            )
        linear = change["linear"](g, scale, s) if "linear" in change else g * scale
        mask = change["mask"](x) if "mask" in change else x <= 0
        if "blend" in change:
            return change["blend"](mask, below, linear)
        return np.where(mask, below, linear)

    return formula(reference)


def _near_one(value, _call):
    return 1.0 if 0.999 < value < 1.001 else value


ELU = {
    "< for <= at 0": _elu(mask=lambda x: x < 0),
    "-0 taken as positive": _elu(mask=lambda x: np.signbit(x) & (x < 0) | (x == 0) & ~np.signbit(x)),
    "NaN to the exponential branch": _elu(mask=lambda x: ~(x > 0)),
    "always linear": _elu(mask=lambda x: np.zeros(x.shape, bool)),
    "always exponential": _elu(mask=lambda x: np.ones(x.shape, bool)),
    "branches swapped": _elu(mask=lambda x: x > 0),
    "threshold at the smallest normal number": _elu(mask=lambda x: x < 1e-5),
    "branches blended by multiplication": _elu(blend=lambda m, a, b: m * a + ~m * b),
    "alpha ignored": attribute("alpha", 1.0),
    "scale ignored": attribute("scale", 1.0),
    "inputScale ignored": attribute("inputScale", 1.0),
    "isResult ignored": attribute("isResult", False),
    "isResult always": attribute("isResult", True),
    "NaN alpha taken as 0": attribute_by("alpha", lambda a, _call: 0.0 if np.isnan(a) else a),
    "negative alpha taken as 0": attribute_by("alpha", lambda a, _call: max(a, 0.0)),
    "magnitude of inputScale": attribute_by("inputScale", lambda s, _call: abs(s)),
    "magnitude of scale": attribute_by("scale", lambda s, _call: abs(s)),
    "alpha near 1 taken as 1": attribute_by("alpha", _near_one),
    "scale near 1 taken as 1": attribute_by("scale", _near_one),
    "inputScale near 1 taken as 1": attribute_by("inputScale", _near_one),
    "alpha rounded to a whole number": attribute_by("alpha", lambda a, _call: np.round(a)),
    "alpha * scale in float64": _elu(exact=True),
    "alpha * scale in float16": _elu(product=lambda a, s: np.float32(np.float16(a) * np.float16(s))),
    "scale left out below 0": _elu(product=lambda a, s: a),
    "alpha left out below 0": _elu(product=lambda a, s: s),
    "inputScale left out of exp": _elu(from_input=lambda g, x, neg, s: g * s * neg * np.exp(x)),
    "inputScale only in exp": _elu(from_input=lambda g, x, neg, s: g * neg * np.exp(x * s)),
    "exp(x) - 1": _elu(from_input=lambda g, x, neg, s: g * s * neg * np.expm1(x * s)),
    "exp held above -10": _elu(from_input=lambda g, x, neg, s: g * s * neg * np.exp(np.maximum(x * s, -10))),
    "exp held below its overflow": _elu(
        from_input=lambda g, x, neg, s: g * s * neg * np.exp(np.minimum(x * s, 80))
    ),
    "exp in float16": _elu(
        from_input=lambda g, x, neg, s: g * s * neg * np.exp((x * s).astype(np.float16)).astype(x.dtype)
    ),
    "inputScale left out of the result's branch": _elu(from_result=lambda g, x, neg, s: g * (x + neg)),
    "alpha * scale left out of the result's branch": _elu(from_result=lambda g, x, neg, s: g * s * x),
    "alpha * scale subtracted": _elu(from_result=lambda g, x, neg, s: g * s * (x - neg)),
    "inputScale in the linear branch": _elu(linear=lambda g, k, s: g * k * s),
    "scale left out of the linear branch": _elu(linear=lambda g, k, s: g),
    "not rounded to gradOutput's dtype first": lambda operator, call: right(
        dataclasses.replace(operator, rounds_to=None), call
    ),
    "offset of gradOutput ignored": offset_ignored("gradOutput"),
    "offset of selfOrResult ignored": offset_ignored("selfOrResult"),
    **dict(common("gradOutput", "selfOrResult")),
    **dict(sizes()),
    **dict(rounding("away", "to zero", "up")),
}


# --- threshold_backward -------------------------------------------------------------------------------------------


def _threshold(**change) -> Fault:
    """threshold_backward with parts replaced: is_relu, low(x, t), relu_low(x), select(m, g), multiply, wide."""

    def reference(gradOutput, self, *, threshold):
        is_relu = change.get("is_relu", lambda t: abs(t) <= FLT_EPSILON)
        relu_low = change.get("relu_low", lambda x: x <= 0)
        low = change.get("low", lambda x, t: x <= t)
        wide = change.get("wide", lambda a: a.astype(np.float32) if a.dtype.kind in "iu" else a)
        multiply = change.get("multiply", lambda m, g: g * ~m)
        select = change.get("select", lambda m, g: np.where(m, g.dtype.type(0), g))
        if is_relu(threshold):
            return multiply(relu_low(self), gradOutput)
        return select(low(wide(self), threshold), wide(gradOutput))

    return formula(reference)


def _towards_zero(array):
    if array.dtype.kind not in "iu":
        return array
    near = array.astype(np.float32)
    return np.where(np.abs(near.astype(np.float64)) > np.abs(array), np.nextafter(near, np.float32(0)), near)


def _broadcast_along_the_other_axis(name: str) -> Fault:
    """A vector laid along the rows instead of the columns, and a column along the rows."""

    def fault(operator: Operator, call: Call) -> Outputs:
        bound, out = call.arguments[name], call.outputs["out"]
        assert isinstance(bound, Tensor)
        array, shape = view(bound), out.shape
        if array.shape == shape or len(shape) < 2 or shape[-1] != shape[-2]:
            return right(operator, call)
        array = array.reshape((1,) * (len(shape) - array.ndim) + array.shape)
        array = np.broadcast_to(np.swapaxes(array, -1, -2), shape)
        return right(operator, with_arguments(call, {name: contiguous(array, bound.spec)}))

    return fault


def _broadcast_ignored(name: str) -> Fault:
    """A smaller input read as flat memory, again from its start where it ends."""

    def fault(operator: Operator, call: Call) -> Outputs:
        bound, out = call.arguments[name], call.outputs["out"]
        assert isinstance(bound, Tensor)
        if bound.spec.shape == out.shape or bound.spec.count == 0:
            return right(operator, call)
        array = np.resize(view(bound).reshape(-1), out.shape)
        return right(operator, with_arguments(call, {name: contiguous(array, bound.spec)}))

    return fault


def _signed(array):
    return array.view(np.int8) if array.dtype == np.uint8 else array


def _on_integers(how):
    def of(value, call):
        return how(value) if "int" in _dtype_of("self", call) and np.isfinite(value) else value

    return of


THRESHOLD = {
    "< for <= at the threshold": _threshold(low=lambda x, t: x < t),
    "< for <= at 0": _threshold(relu_low=lambda x: x < 0),
    "branches swapped": _threshold(low=lambda x, t: x > t),
    "branches swapped in relu": _threshold(relu_low=lambda x: x > 0),
    "NaN self gives 0": _threshold(
        low=lambda x, t: ~(x > t) | np.isnan(x) if x.dtype.kind == "f" else x <= t
    ),
    "NaN self gives 0 in relu": _threshold(relu_low=lambda x: ~(x > 0)),
    "NaN threshold gives 0": _threshold(low=lambda x, t: (x <= t) | np.isnan(t)),
    "relu selects": _threshold(multiply=lambda m, g: np.where(m, g.dtype.type(0), g)),
    "threshold multiplies": _threshold(select=lambda m, g: g * ~m),
    "the threshold itself below": formula(
        lambda gradOutput, self, *, threshold: np.where(self <= threshold, threshold, gradOutput)
    ),
    "threshold ignored": attribute("threshold", 0.0),
    "threshold always 1": attribute("threshold", 1.0),
    "magnitude of the threshold": attribute_by("threshold", lambda t, _call: abs(t)),
    "threshold negated": attribute_by("threshold", lambda t, _call: -t),
    "threshold rounded to the dtype of self": attribute_by("threshold", _in_dtype_of("self")),
    "threshold cut to a whole number": attribute_by("threshold", _on_integers(np.trunc)),
    "threshold raised to a whole number": attribute_by("threshold", _on_integers(np.ceil)),
    "relu at 0 only": _threshold(is_relu=lambda t: t == 0),
    "relu below 1.19e-7 only": _threshold(is_relu=lambda t: abs(t) < FLT_EPSILON),
    "relu up to 1e-6": _threshold(is_relu=lambda t: abs(t) <= 1e-6),
    "relu for every negative threshold": _threshold(is_relu=lambda t: t <= FLT_EPSILON),
    "a small threshold compared as it is": _threshold(is_relu=lambda t: False),
    "int32 exact": _threshold(wide=lambda a: a),
    "int32 compared exactly": formula(
        lambda gradOutput, self, *, threshold: (
            gradOutput * ~(self <= 0)
            if abs(threshold) <= FLT_EPSILON
            else np.where(self <= threshold, np.float32(0), gradOutput.astype(np.float32))
        )
    ),
    "int32 to float32 by truncation": _threshold(wide=_towards_zero),
    "integers through float32 in relu": _threshold(
        multiply=lambda m, g: g.astype(np.float32) * ~m if g.dtype.kind in "iu" else g * ~m
    ),
    "int64 through float64 in relu": _threshold(
        multiply=lambda m, g: g.astype(np.float64) * ~m if g.dtype.kind in "iu" else g * ~m
    ),
    "uint8 self taken as int8": _threshold(
        low=lambda x, t: (x <= t) | (x > 127) & (x < 256), relu_low=lambda x: _signed(x) <= 0
    ),
    "uint8 gradOutput saturated at 127": reading(
        "gradOutput", lambda a: np.minimum(a, 127) if a.dtype == np.uint8 else a
    ),
    "gradOutput and self swapped": formula(
        lambda gradOutput, self, *, threshold: np.where(gradOutput <= threshold, 0, self)
    ),
    "self returned": formula(lambda gradOutput, self, *, threshold: np.where(self <= threshold, 0, self)),
    "gradOutput handed through": formula(lambda gradOutput, self, *, threshold: gradOutput + 0 * self),
    "self broadcast along the other axis": _broadcast_along_the_other_axis("self"),
    "gradOutput broadcast along the other axis": _broadcast_along_the_other_axis("gradOutput"),
    "broadcast of self ignored": _broadcast_ignored("self"),
    "broadcast of gradOutput ignored": _broadcast_ignored("gradOutput"),
    "float16 subnormals flushed": writing(
        lambda flat: np.where(np.abs(flat) < 2.0**-14, 0, flat) if flat.dtype == np.float16 else flat
    ),
    "float32 through float16": writing(
        lambda flat: flat.astype(np.float16) if flat.dtype == np.float32 else flat
    ),
    "offset of gradOutput ignored": offset_ignored("gradOutput"),
    "offset of self ignored": offset_ignored("self"),
    **dict(common("gradOutput", "self")),
    **dict(sizes()),
}


# --- batch_norm_elemt_backward ------------------------------------------------------------------------------------


def _bn(**change) -> Fault:
    """batch_norm_elemt_backward with parts replaced: n(counter), channel, mean_of(total, n, kernel), result."""

    def reference(gradOut, input, mean, invstd, weight, sumDy, sumDyXmu, counter, *, kernel_dtype):
        run = gradOut.dtype
        n = run.type(change.get("n", lambda c: c.astype(np.float32).sum())(counter))
        lay = change.get("channel", lambda v, x: v.reshape(1, -1, *[1] * (x.ndim - 2)))
        mean_of = change.get("mean_of", _mean_of)
        w = change.get("null_weight", np.ones_like)(invstd) if weight is None else weight
        parts = {
            "g": gradOut,
            "x": input,
            "mean": lay(mean, input),
            "s": lay(invstd, input),
            "w": lay(w, input),
            "dy": lay(mean_of(sumDy, n, kernel_dtype), input),
            "xmu": lay(mean_of(sumDyXmu, n, kernel_dtype), input),
        }
        result = change.get(
            "result", lambda g, x, mean, s, w, dy, xmu: (g - dy - (x - mean) * (xmu * (s * s))) * (s * w)
        )
        return result(**parts)

    return formula(reference)


def _mean_of(total, n, kernel):
    if kernel != np.float16:
        return total / n
    return (total.astype(np.float32) / np.float32(n)).astype(np.float16).astype(total.dtype)


def _on_axis(axis: int):
    """The vectors laid along another axis where it is as long, else right."""

    def lay(v, x):
        shape = [1] * x.ndim
        shape[axis if x.shape[axis] == v.size else 1] = v.size
        return v.reshape(shape)

    return lay


def _reading_all(names, how) -> Fault:
    return lambda operator, call: _chain(operator, call, names, how)


def _chain(operator, call, names, how):
    for name in names:
        bound = call.arguments[name]
        if isinstance(bound, Tensor):
            call = with_arguments(
                call, {name: contiguous(np.asarray(how(view(bound)), bound.storage.dtype), bound.spec)}
            )
    return right(operator, call)


def _kernel(dtype) -> Fault:
    return lambda operator, call: right(dataclasses.replace(operator, rounds_to=dtype), call)


def _half_when_weight_is_null(dtypes):
    names = ("gradOut", "input", "mean", "invstd", "sumDy", "sumDyXmu")
    return (
        "float16"
        if all(dtypes[n] == "float16" for n in names) and dtypes["weight"] in (None, "float16")
        else "float32"
    )


def _half_when_input_is(dtypes):
    return "float16" if dtypes["gradOut"] == dtypes["input"] == "float16" else "float32"


BATCH_NORM = {
    "mean ignored": reading("mean", np.zeros_like),
    "invstd ignored": reading("invstd", np.ones_like),
    "weight ignored": reading("weight", np.ones_like),
    "sumDy ignored": reading("sumDy", np.zeros_like),
    "sumDyXmu ignored": reading("sumDyXmu", np.zeros_like),
    "input ignored": reading("input", np.zeros_like),
    "gradOut ignored": reading("gradOut", np.zeros_like),
    "counter ignored": reading("counter", np.ones_like),
    "only the first count": _bn(n=lambda c: c.reshape(-1)[0]),
    "only the last count": _bn(n=lambda c: c.reshape(-1)[-1]),
    "mean of the counts": _bn(n=lambda c: c.astype(np.float32).mean()),
    "largest count": _bn(n=lambda c: c.max()),
    "number of counts": _bn(n=lambda c: c.size),
    "magnitude of the sum of counts": _bn(n=lambda c: abs(c.astype(np.float32).sum())),
    "counts summed in float16": _bn(n=lambda c: c.astype(np.float16).sum()),
    "counts cut to whole numbers": _bn(n=lambda c: np.trunc(c.astype(np.float32)).sum()),
    "a guard for a sum of 0": _bn(n=lambda c: c.astype(np.float32).sum() or 1.0),
    "channel on the last axis": _bn(channel=_on_axis(-1)),
    "channel on axis 0": _bn(channel=_on_axis(0)),
    "one channel for all": _bn(channel=lambda v, x: v.reshape(-1)[0].reshape((1,) * x.ndim)),
    "bracket around the first term only": _bn(
        result=lambda g, x, mean, s, w, dy, xmu: (g - dy) * (s * w) - (x - mean) * (xmu * (s * s))
    ),
    "weight on the second term only": _bn(
        result=lambda g, x, mean, s, w, dy, xmu: (g - dy - (x - mean) * (xmu * (s * s)) * w) * s
    ),
    "invstd not squared": _bn(
        result=lambda g, x, mean, s, w, dy, xmu: (g - dy - (x - mean) * (xmu * s)) * (s * w)
    ),
    "invstd left out outside": _bn(
        result=lambda g, x, mean, s, w, dy, xmu: (g - dy - (x - mean) * (xmu * (s * s))) * w
    ),
    "mean added": _bn(
        result=lambda g, x, mean, s, w, dy, xmu: (g - dy - (x + mean) * (xmu * (s * s))) * (s * w)
    ),
    "second term added": _bn(
        result=lambda g, x, mean, s, w, dy, xmu: (g - dy + (x - mean) * (xmu * (s * s))) * (s * w)
    ),
    "mean of dy added": _bn(
        result=lambda g, x, mean, s, w, dy, xmu: (g + dy - (x - mean) * (xmu * (s * s))) * (s * w)
    ),
    "square of invstd in float16": _bn(
        result=lambda g, x, mean, s, w, dy, xmu: (
            (g - dy - (x - mean) * (xmu * np.square(s.astype(np.float16)).astype(s.dtype))) * (s * w)
        )
    ),
    "sums not divided": _bn(mean_of=lambda total, n, kernel: total),
    "only one sum divided twice": _bn(mean_of=lambda total, n, kernel: total / n / n),
    "whole division by N": _bn(mean_of=lambda total, n, kernel: np.floor(total / n)),
    "null weight taken as 0": _bn(null_weight=np.zeros_like),
    "means never rounded to float16": _bn(mean_of=lambda total, n, kernel: total / n),
    "means always rounded to float16": _bn(mean_of=lambda total, n, kernel: _mean_of(total, n, np.float16)),
    "null weight kept in float16": _kernel(_half_when_weight_is_null),
    "float16 decided by the big tensors": _kernel(_half_when_input_is),
    "always rounded to float16 first": _kernel(lambda dtypes: "float16"),
    "not rounded to float16 before the cast": lambda operator, call: _bn_unrounded(operator, call),
    "offset of mean ignored": offset_ignored("mean"),
    "float16 compute where every float is float16": computed_in("float16"),
    **dict(common("gradOut", "input", "mean", "invstd", "weight", "sumDy", "sumDyXmu")),
    "strides of counter ignored": strides_ignored("counter"),
    **{name: fault for name, fault in sizes() if name != "0-d tensor not written"},
    **dict(rounding("away", "to zero", "up")),
}


def _bn_unrounded(operator: Operator, call: Call) -> Outputs:
    """The means are those of the kernel, and its result goes straight to the dtype of gradInput."""
    kernel = operator.rounds_to(
        {n: b.spec.dtype for n, b in call.arguments.items() if isinstance(b, Tensor)}
        | {"weight": _weight_dtype(call)}
    )
    kind = numpy_dtype(kernel)

    def reference(**values):
        return operator.reference(**{**values, "kernel_dtype": kind})

    def with_kernel(gradOut, input, mean, invstd, weight, sumDy, sumDyXmu, counter):
        return reference(
            gradOut=gradOut,
            input=input,
            mean=mean,
            invstd=invstd,
            weight=weight,
            sumDy=sumDy,
            sumDyXmu=sumDyXmu,
            counter=counter,
        )

    return right(dataclasses.replace(operator, rounds_to=None, reference=with_kernel), call)


def _weight_dtype(call: Call) -> str | None:
    bound = call.arguments["weight"]
    return bound.spec.dtype if isinstance(bound, Tensor) else None


# --- amp_update_scale ---------------------------------------------------------------------------------------------


def _amp(**change) -> Fault:
    """amp_update_scale with parts replaced, such as found(foundInf) and due(counted, tracker, interval)."""

    def reference(
        currentScale,
        growthTracker,
        foundInf,
        *,
        growthFactor,
        backoffFactor,
        growthInterval,
        kernel_dtype,
        exact_growthFactor=0,
        exact_backoffFactor=0,
    ):
        scale, tracker = currentScale, growthTracker
        if "exact" in change:
            growthFactor, backoffFactor = np.float64(exact_growthFactor), np.float64(exact_backoffFactor)
            scale = scale.astype(np.float64)
        counted = change.get("count", lambda t: t + np.int32(1))(tracker)
        found = change.get("found", lambda f: f != 0)(foundInf)
        due = change.get("due", lambda counted, tracker, interval: counted == interval)(
            counted, tracker, growthInterval
        )
        grow = due if "growth_first" in change else ~found & due
        found = found & ~grow
        fits = change.get("fits", lambda new, kernel: np.isfinite(new))(
            scale.astype(np.float32) * growthFactor, kernel_dtype
        )
        grown = change.get("grown", lambda s, f: s * f)(scale, growthFactor)
        lost = change.get("lost", lambda s, f: s * f)(scale, backoffFactor)
        result = np.where(found, lost, np.where(grow & fits, grown, change.get("kept", lambda s: s)(scale)))
        zero = change.get("reset", lambda found, grow, fits: found | grow)(found, grow, fits)
        return change.get("last", lambda s: s)(result), np.where(zero, np.int32(0), counted)

    return formula(reference)


def _sticky(tracker):
    return np.where(tracker == np.iinfo(np.int32).max, tracker, tracker + np.int32(1))


AMP = {
    "growth at or past the interval": _amp(due=lambda c, t, n: c >= n),
    "growth at or before the interval": _amp(due=lambda c, t, n: c <= n),
    "the tracker compared before it counts": _amp(due=lambda c, t, n: t == n),
    "growth never": _amp(due=lambda c, t, n: np.zeros(c.shape, bool)),
    "growth before found Inf": _amp(growth_first=True),
    "found only where 1": _amp(found=lambda f: f == 1),
    "found only where positive": _amp(found=lambda f: f > 0),
    "found only at 1 and above": _amp(found=lambda f: np.abs(f) >= 1),
    "NaN not found": _amp(found=lambda f: (f != 0) & ~np.isnan(f)),
    "found only NaN and Inf": _amp(found=lambda f: ~np.isfinite(f)),
    "-0 found": _amp(found=lambda f: (f != 0) | np.signbit(f)),
    "tracker kept after found Inf": _amp(reset=lambda found, grow, fits: grow),
    "tracker kept after growth": _amp(reset=lambda found, grow, fits: found),
    "tracker kept after an overflow": _amp(reset=lambda found, grow, fits: found | grow & fits),
    "tracker not counted": _amp(count=lambda t: t + np.int32(0)),
    "tracker counted by two": _amp(count=lambda t: t + np.int32(2)),
    "tracker stops at its largest": _amp(count=_sticky),
    "growth not checked for overflow": _amp(fits=lambda new, kernel: np.ones(new.shape, bool)),
    "overflow decided in the storage dtype": _amp(
        fits=lambda new, kernel: np.isfinite(new.astype(kernel).astype(np.float32))
    ),
    "overflow decided at 65504": _amp(fits=lambda new, kernel: np.abs(new) <= 65504),
    "overflow decided by Inf only": _amp(fits=lambda new, kernel: ~np.isinf(new)),
    "an overflow saturates": _amp(kept=lambda s: np.where(np.abs(s) > 1e38, np.finfo(np.float32).max, s)),
    "growthFactor ignored": attribute("growthFactor", 2.0),
    "growthFactor taken as 1": attribute("growthFactor", 1.0),
    "backoffFactor ignored": attribute("backoffFactor", 0.5),
    "backoffFactor taken as 1": attribute("backoffFactor", 1.0),
    "growthInterval ignored": attribute("growthInterval", 2000),
    "growthInterval taken as 1": attribute("growthInterval", 1),
    "growthInterval of 16 bits": attribute_by("growthInterval", lambda n, _call: n & 0xFFFF),
    "growthFactor below 1 refused to shrink": attribute_by("growthFactor", lambda f, _call: max(f, 1.0)),
    "magnitude of growthFactor": attribute_by("growthFactor", lambda f, _call: abs(f)),
    "backoffFactor held at most 1": attribute_by("backoffFactor", lambda f, _call: min(f, 1.0)),
    "NaN backoffFactor ignored": attribute_by("backoffFactor", lambda f, _call: 1.0 if np.isnan(f) else f),
    "factors in float64": _amp(exact=True),
    "growthFactor in float16": attribute_by(
        "growthFactor", lambda f, _call: float(np.float16(f)) if abs(f) < 6e4 else f
    ),
    "backoffFactor in float16": attribute_by("backoffFactor", lambda f, _call: float(np.float16(f))),
    "the factors swapped": _amp(grown=lambda s, f: s / f, lost=lambda s, f: s / f),
    "factor added": _amp(grown=lambda s, f: s + f),
    "scale held at 1 or above": _amp(last=lambda s: np.maximum(s, s.dtype.type(1))),
    "scale held at 65536 or below": _amp(last=lambda s: np.minimum(s, s.dtype.type(65536))),
    "subnormal scales flushed": reading(
        "currentScale", lambda a: np.where(np.abs(a.astype(np.float64)) < 2.0**-14, np.zeros((), a.dtype), a)
    ),
    "magnitude of the scale": reading("currentScale", np.abs),
    "offset of currentScale ignored": offset_ignored("currentScale"),
    "offset of growthTracker ignored": offset_ignored("growthTracker"),
    "offset of foundInf ignored": offset_ignored("foundInf"),
    **{
        name: fault
        for name, fault in common("currentScale", "growthTracker", "foundInf")
        if "strides" not in name
        and "blocks" not in name
        and name
        not in (
            "NaN of growthTracker swallowed",
            "Inf of growthTracker saturated",
            "Inf of foundInf saturated",
        )
    },
    "0-d tensor not written": dict(sizes())["0-d tensor not written"],
    **dict(rounding("away", "to zero", "up")),
}

MUTANTS: dict[str, dict[str, Fault]] = {
    "logit_grad": LOGIT,
    "elu_backward": ELU,
    "threshold_backward": THRESHOLD,
    "batch_norm_elemt_backward": BATCH_NORM,
    "amp_update_scale": AMP,
}

AT_EDGES = frozenset(name for name, _ in sizes())


# --- the tests ----------------------------------------------------------------------------------------------------


class Kernel:
    """An executor whose refusals and results are given: in both, the host's where none is."""

    name = host.NAME
    product: str | None = None

    def __init__(self, fault: Fault = right, refuse: Refuse = host.refuse) -> None:
        self._fault, self._refuse = fault, refuse

    def refuse(self, operator: Operator, case: Case, product: str) -> Outcome | None:
        return None

    def run(self, operator: Operator, case: Case, call: Call) -> Outcome:
        refused = self._refuse(operator, case, call.product)
        return refused or Outcome(host.NAME, outputs=self._fault(operator, call))


def cases_of(name: str) -> tuple[Case, ...]:
    """The shipped cases, small ones first, those for benchmarks left out."""
    file = load_file(str(FOLDER / f"{name}.yaml"), check_standard=check_for)
    return tuple(sorted((case for case in file.cases if "bench" not in case.tags), key=_elements))


def _elements(case: Case) -> int:
    return max((spec.count for spec in _specs(case)), default=0)


def _specs(case: Case) -> list[TensorSpec]:
    return [a for a in case.arguments.values() if isinstance(a, TensorSpec)]


@pytest.fixture(scope="module")
def shipped() -> dict[str, tuple[Case, ...]]:
    return {name: cases_of(name) for name in MUTANTS}


@pytest.fixture(autouse=True, scope="module")
def data_and_goldens_made_once() -> Iterator[None]:
    """What no fault changes is worked out once a case; the repro line is not wanted."""
    make_call, golden = runner.make_call, runner.golden
    calls: dict[str, Call] = {}
    goldens: dict[str, object] = {}

    def call_once(case: Case, *rest: object) -> Call:
        if case.id not in calls:
            calls[case.id] = make_call(case, *rest)
        return calls[case.id]

    def golden_once(operator: Operator, call: Call) -> object:
        if id(call) not in goldens:
            goldens[id(call)] = golden(operator, call)
        return goldens[id(call)]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(runner, "make_call", call_once)
        patch.setattr(runner, "golden", golden_once)
        patch.setattr(runner, "repro", lambda *case, **how: "")
        yield


def _computed(cases: tuple[Case, ...]) -> list[Case]:
    return [case for case in cases if case.status is None]


def _refused(cases: tuple[Case, ...]) -> list[Case]:
    return [case for case in cases if case.status is not None]


def _failures(cases: Iterable[Case], kernel: Kernel) -> Iterator[Case]:
    for result in runner.run_cases(cases, runner.Settings(), kernel):
        verdict = result.verdict
        assert verdict.word in (VerdictKind.PASS, VerdictKind.FAIL), f"{result.case.id}: {verdict.reason}"
        if verdict.word is VerdictKind.FAIL:
            yield result.case


def _one_fails(cases: Iterable[Case], kernel: Kernel) -> bool:
    return next(_failures(cases, kernel), None) is not None


@pytest.mark.parametrize("name", MUTANTS)
def test_the_right_kernel_passes_in_the_same_place(name, shipped):
    assert not list(_failures(shipped[name], Kernel(right)))


@pytest.mark.parametrize(("name", "fault"), [(name, fault) for name in MUTANTS for fault in MUTANTS[name]])
def test_a_wrong_kernel_fails(name, fault, shipped):
    cases = _computed(shipped[name])
    if fault in AT_EDGES:  # large cases show these
        cases.reverse()
    assert _one_fails(cases, Kernel(MUTANTS[name][fault])), f"no case of {name}.yaml shows: {fault}"


# --- refusals -----------------------------------------------------------------------------------------------------


def _rules() -> list[tuple[str, int]]:
    return [(name, i) for name in MUTANTS for i in range(len(operator_named(name).contract))]


def _checks(change: Callable[[tuple[Rule, ...]], tuple[Rule, ...]]) -> Refuse:
    """Phase 1 with a changed list of rules."""

    def refuse(operator: Operator, case: Case, product: str) -> Outcome | None:
        changed = dataclasses.replace(operator, contract=change(operator.contract))
        try:
            prediction = predict(changed, case.arguments, product)
        except IndexError:  # a later rule relies on the one that is missing: such a kernel dies
            return Outcome(host.NAME, 561000)
        # An accepted refusal case fails by its status; it has no outputs that could be judged.
        return (
            Outcome(host.NAME)
            if prediction is None
            else Outcome(host.NAME, prediction.status, message=prediction.rule)
        )

    return refuse


@pytest.mark.parametrize("name", MUTANTS)
def test_a_kernel_that_accepts_everything_fails_every_refusal(name, shipped):
    cases = _refused(shipped[name])
    assert len(cases) > 10
    assert len(list(_failures(cases, Kernel(refuse=_checks(lambda _rules: ()))))) == len(cases)


@pytest.mark.parametrize("name", MUTANTS)
def test_a_kernel_that_refuses_with_the_wrong_code_fails_every_refusal(name, shipped):
    other = {161001: 161002, 161002: 161001, 561002: 161002, 561003: 561002}

    def refuse(operator: Operator, case: Case, product: str) -> Outcome:
        outcome = host.refuse(operator, case, product)
        return dataclasses.replace(outcome, status=other[outcome.status])

    cases = _refused(shipped[name])
    assert len(list(_failures(cases, Kernel(refuse=refuse)))) == len(cases)


@pytest.mark.parametrize(("name", "left_out"), _rules())
def test_a_kernel_that_leaves_a_rule_out_fails(name, left_out, shipped):
    kernel = Kernel(refuse=_checks(lambda rules: (*rules[:left_out], *rules[left_out + 1 :])))
    assert _one_fails(_refused(shipped[name]), kernel)


@pytest.mark.parametrize("name", MUTANTS)
def test_a_kernel_that_checks_pointers_last_fails(name, shipped):
    kernel = Kernel(refuse=_checks(lambda rules: (*rules[1:], rules[0])))
    assert _one_fails(_refused(shipped[name]), kernel)


def test_a_kernel_that_tiles_before_it_looks_at_dtypes_fails(shipped):
    kernel = Kernel(refuse=_checks(lambda rules: (rules[0], *rules[3:], *rules[1:3])))
    assert _one_fails(_refused(shipped["amp_update_scale"]), kernel)


def test_a_kernel_that_tiles_in_another_order_fails(shipped):
    kernel = Kernel(refuse=_checks(lambda rules: (*rules[:3], *reversed(rules[3:]))))
    assert _one_fails(_refused(shipped["amp_update_scale"]), kernel)


WRONGLY_REFUSED: dict[str, Callable[[Case], bool]] = {
    "bfloat16": lambda case: any(spec.dtype == "bfloat16" for spec in _specs(case)),
    "float16": lambda case: any(spec.dtype == "float16" for spec in _specs(case)),
    "empty tensors": lambda case: any(0 in spec.shape for spec in _specs(case)),
    "0-d tensors": lambda case: any(spec.shape == () for spec in _specs(case)),
    "views": lambda case: any(spec.layout != "contiguous" for spec in _specs(case)),
    "Ascend 950": lambda case: case.product == "ascend950",
}


@pytest.mark.parametrize("name", MUTANTS)
@pytest.mark.parametrize("what", WRONGLY_REFUSED)
def test_a_kernel_that_refuses_what_it_must_accept_fails(name, what, shipped):
    def refuse(_operator: Operator, case: Case, _product: str) -> Outcome | None:
        return Outcome(host.NAME, 161002) if WRONGLY_REFUSED[what](case) else None

    assert _one_fails(_computed(shipped[name]), Kernel(refuse=refuse))
