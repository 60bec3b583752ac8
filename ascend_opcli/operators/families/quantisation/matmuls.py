"""Products of int8 matrices, whose integers are scaled to a float or to int8 again.

out = (x1 @ x2 + bias) scale pertoken + offset for a bias of int32, x1 @ x2 scale pertoken + bias for another; the
formulas are those of the aclnn documents. A scale of 64 bits is what aclnnTransQuantParamV2 makes of a float32.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ascend_opcli.model import Shape
from ascend_opcli.operators.declare import Undefined, declare, uniform, with_dtype
from ascend_opcli.operators.families.quantisation.codes import quantised

_LOW = np.uint64(0xFFFFFFFF)


def _v4(
    x1: Any, x2: Any, scale: Any, offset: Any, token: Any, bias: Any, turned1: Any, turned2: Any, dtypes: Any,
    call: Any, run_dtype: Any,
) -> Any:  # fmt: skip
    """out of matrices in the format ND; float16, bfloat16 or int8."""
    if {dtypes["x1"], dtypes["x2"]} != {"int8"}:
        raise Undefined("int32 stands for eight int4, whose order the documents do not give")
    if call.arguments["x2"].spec.format != "ND":
        raise Undefined("x2 is in a format of its own")
    if dtypes["out"] not in ("float16", "bfloat16", "int8"):
        raise Undefined(f"the documents do not say how an output of {dtypes['out']} is scaled")
    scale, own = _decoded(scale, run_dtype)
    if dtypes["out"] != "int8" and (offset is not None or own.any()):
        raise Undefined("an offset is for an output of int8")
    if offset is not None and own.any():
        raise Undefined("there is an offset in the scale and another beside it")
    sums = _product(x1, x2, bool(turned1), bool(turned2))
    columns = sums.shape[-1]
    integer = bias is not None and bias.dtype.kind == "i"
    sums = sums + _fits("bias", bias, columns).astype(np.int64) if integer else sums
    made = sums.astype(scale.dtype) * _fits("scale", scale, columns)
    if token is not None:
        if token.size != sums.shape[-2] or token.ndim != 1:
            raise Undefined(f"pertokenScaleOptional is not one value for each of the {sums.shape[-2]} rows")
        if offset is not None or own.any():
            raise Undefined("the documents know no offset beside pertokenScaleOptional")
        made = made * token.reshape(-1, 1).astype(scale.dtype)
    if bias is not None and not integer:
        made = made + _fits("bias", bias, columns)
        if offset is not None or own.any():
            raise Undefined("the documents know no offset beside a bias that is no int32")
    if dtypes["out"] != "int8":
        return made
    made = made + (own if offset is None else _fits("offset", offset, columns))
    if np.isnan(made).any():
        raise Undefined(
            "a NaN is to be quantised, and the documents do not say what becomes of it on the way out"
        )
    return quantised(made, "int8")


def _v3(
    x1: Any, x2: Any, scale: Any, offset: Any, bias: Any, turned1: Any, turned2: Any, dtypes: Any, call: Any,
    run_dtype: Any,
) -> Any:  # fmt: skip
    """The same without a scale for each row."""
    return _v4(x1, x2, scale, offset, None, bias, turned1, turned2, dtypes, call, run_dtype)


def _v1(x1: Any, x2: Any, bias: Any, deqScale: Any, run_dtype: Any) -> Any:
    """out = (x1 @ x2 + bias) deqScale."""
    sums = _product(x1, x2, False, False)
    sums = sums if bias is None else sums + _fits("bias", bias, sums.shape[-1]).astype(np.int64)
    return sums.astype(run_dtype) * run_dtype.type(deqScale)


def _product(x1: Any, x2: Any, turned1: bool, turned2: bool) -> Any:
    left = np.swapaxes(x1, -1, -2) if turned1 else x1
    right = np.swapaxes(x2, -1, -2) if turned2 else x2
    if left.shape[-1] != right.shape[-2]:
        raise Undefined(f"x1 has {left.shape[-1]} columns and x2 {right.shape[-2]} rows")
    # float64 holds every sum of products of int8, and NumPy multiplies floats far faster.
    return np.matmul(left.astype(np.float64), right.astype(np.float64)).astype(np.int64)


def _decoded(scale: Any, run: Any) -> tuple[Any, Any]:
    """A scale of 64 bits as a float, and the offset in its bits 37 to 45."""
    if scale.dtype.kind == "f":
        return scale, np.zeros(1, scale.dtype)
    bits = np.ascontiguousarray(scale).view(np.uint64)
    low = (bits & _LOW).astype(np.uint32).view(np.float32)
    nine = ((bits >> np.uint64(37)) & np.uint64(0x1FF)).astype(np.int64)
    return low.astype(run), np.where(nine > 255, nine - 512, nine).astype(run)


def _fits(name: str, values: Any, columns: int) -> Any:
    if values.shape[-1] not in (1, columns) or (values.ndim > 1 and set(values.shape[1:-1]) != {1}):
        raise Undefined(f"{name} {list(values.shape)} does not go along the {columns} columns")
    return values


# --- declarations ---------------------------------------------------------------------------------------------


def _shape(x1: Any, x2: Any, turned1: Any, turned2: Any) -> Shape:
    rows = x1.shape[-1] if bool(turned1) else x1.shape[-2]
    columns = x2.shape[-2] if bool(turned2) else x2.shape[-1]
    return (*np.broadcast_shapes(x1.shape[:-2], x2.shape[:-2]), rows, columns)


def _made(x1: Any, x2: Any, scale: Any, turned1: Any, turned2: Any) -> tuple[str, Shape]:
    return "bfloat16" if scale.dtype == "bfloat16" else "float16", _shape(x1, x2, turned1, turned2)


def _v3_made(
    x1: Any, x2: Any, scale: Any, _offset: Any, _bias: Any, turned1: Any, turned2: Any
) -> tuple[str, Shape]:
    """A float scale beside float16 is refused where no scale of each row comes after it."""
    return "float16" if scale.dtype.endswith("int64") else "bfloat16", _shape(x1, x2, turned1, turned2)


def _none(_dtype: str, _shape: Shape) -> None:
    return None


_SHORT: dict[str, Any] = {
    "x1": with_dtype("int8"),
    "x2": lambda _d, shape: ("int8", (*shape[:-2], shape[-1], 5)),
    "scale": lambda _d, _s: ("float32", (5,)),
    "offset": _none,
    "bias": lambda _d, _s: ("int32", (5,)),
}
_TOKENS: dict[str, Any] = {"pertokenScaleOptional": lambda _d, shape: ("float32", shape[-2:-1])}
_ORDINARY: dict[str, Any] = {
    "data": {"scale": uniform(0.001, 0.01), "pertokenScaleOptional": uniform(0.5, 2.0)},
    "sample_shape": (3, 8),
    "sample_attributes": {"transposeX1": False, "transposeX2": False},
    "standard": "quant",
}

OPERATORS = (
    declare("QuantMatmul", _v1, "out = (x1 @ x2 + bias) deqScale",
            lambda x1, x2, _bias, _scale: ("float16", _shape(x1, x2, False, False)), sample_shape=(3, 8),
            short={n: _SHORT[n] for n in ("x1", "x2", "bias")}, sample_attributes={"deqScale": 0.01}),
    declare("QuantMatmulV3", _v3, "out = (x1 @ x2 + bias) scale + offset; a bias that is no int32 comes last",
            _v3_made, short=_SHORT, **_ORDINARY),
    declare("QuantMatmulV4", _v4, "out = (x1 @ x2 + bias) scale pertoken + offset; a bias that is no int32 comes last",
            lambda x1, x2, scale, _offset, _token, _bias, t1, t2: _made(x1, x2, scale, t1, t2),
            short={**_SHORT, **_TOKENS}, **_ORDINARY),
)  # fmt: skip
