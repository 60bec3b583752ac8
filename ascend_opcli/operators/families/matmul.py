"""Products of matrices and vectors, and their linear combinations with a tensor.

``cubeMathType`` says in which precision the cube unit may multiply; the mathematics do not depend on it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ascend_opcli.model import Shape
from ascend_opcli.operators.declare import Divergence, Undefined, broadcast_shape, declare, promote
from ascend_opcli.operators.families.fills import cast


def _product(self: Any, mat2: Any, _cubeMathType: Any = 0) -> Any:
    return np.matmul(self, mat2)


def product_shape(first: Shape, second: Shape) -> Shape:
    """NumPy's rule: a vector is a row on the left and a column on the right."""
    left = first if len(first) > 1 else (1, *first)
    right = second if len(second) > 1 else (*second, 1)
    batch = broadcast_shape(left[:-2], right[:-2])
    if batch is None or left[-1] != right[-2]:
        raise Undefined("the shapes do not fit")
    rows = left[-2:-1] if len(first) > 1 else ()
    columns = right[-1:] if len(second) > 1 else ()
    return (*batch, *rows, *columns)


def _product_made(self: Any, mat2: Any, *_rest: Any) -> Any:
    return promote(self.dtype, mat2.dtype), product_shape(self.shape, mat2.shape)


def _sum_of(product: Callable[..., Any]) -> Callable[..., Any]:
    def function(self: Any, a: Any, b: Any, beta: Any, alpha: Any, _cubeMathType: Any) -> Any:
        made = alpha * product(a, b)
        return made if beta == 0 else beta * self + made

    return function


def _ignored(**values: Any) -> bool:
    first = values["self"] if "self" in values else values["selfRef"]
    return bool(values["beta"] == 0 and not np.isfinite(first).all())


_BETA = Divergence(
    "with beta 0 the tensor does not count, as in PyTorch; a kernel that multiplies it gives NaN for its Inf and NaN",
    _ignored,
)


def _batches(a: Any, b: Any) -> Any:
    return np.matmul(a, b).sum(0, dtype=a.dtype)


def _factor(value: Any, values: Any) -> Any:
    """A factor of a tensor: 1 for the null pointer, and whole for integers."""
    if value is None:
        return 1
    if values.dtype.kind not in "biu":
        return value
    if value != int(value):
        raise Undefined(f"how {value} scales integers is not defined")
    return int(value)


def _addmv(self: Any, mat: Any, vec: Any, alpha: Any, beta: Any, _math: Any, dtypes: Any) -> Any:
    made = _factor(alpha, mat) * np.matmul(mat, vec)
    return cast(made if beta == 0 else _factor(beta, self) * self + made, dtypes["out"])


def _addr(self: Any, vec1: Any, vec2: Any, beta: Any, alpha: Any) -> Any:
    return _factor(beta, self) * self + _factor(alpha, vec1) * np.outer(vec1, vec2)


def _dot(self: Any, tensor: Any, dtypes: Any) -> Any:
    if self.dtype.kind == "f":
        return np.dot(self, tensor)
    return cast(np.dot(self.astype(np.int64), tensor.astype(np.int64)), dtypes["out"])


def _trace(self: Any, dtypes: Any) -> Any:
    return cast(np.trace(self), dtypes["out"])


def _trace_made(self: Any) -> Any:
    whole = self.dtype.startswith(("int", "uint", "bool"))
    return ("int64" if whole else self.dtype), ()


def square(dtype: str, shape: Shape) -> tuple[str, Shape]:
    """A matrix that a tensor of the case's shape can be multiplied by."""
    return dtype, (*shape[:-2], shape[-1], shape[-1])


def _in_batch(dtype: str, shape: Shape) -> tuple[str, Shape]:
    return dtype, (2, *shape)


def _square_in_batch(dtype: str, shape: Shape) -> tuple[str, Shape]:
    return dtype, (2, shape[-1], shape[-1])


def _row(dtype: str, shape: Shape) -> tuple[str, Shape]:
    return dtype, shape[-1:]


_MATH = {"sample_attributes": {"cubeMathType": 0}}
_SCALES: dict[str, Any] = {
    "sample_attributes": {"beta": 0.5, "alpha": 2.0, "cubeMathType": 0},
    "divergences": (_BETA,),
}
_SUM = "beta self + alpha"

OPERATORS = (
    declare("Matmul", _product, "out = self @ mat2", _product_made, short={"mat2": square}, defaults={}, **_MATH),
    declare("Mm", _product, "out = self @ mat2", _product_made, short={"mat2": square}, defaults={},
            sample_shape=(3, 4), **_MATH),
    declare("BatchMatMul", _product, "out = self @ mat2, matrix by matrix", _product_made,
            short={"mat2": square}, defaults={}, **_MATH),
    declare("Mv", _product, "out = self @ vec", _product_made, short={"vec": _row}, defaults={},
            sample_shape=(3, 4), **_MATH),
    declare("Dot", _dot, "out = sum of self tensor", lambda self, _tensor: (self.dtype, ()), sample_shape=(6,)),
    declare("Trace", _trace, "out = sum of the diagonal of self", _trace_made, sample_shape=(3, 4)),
    declare("Addmm", _sum_of(np.matmul), f"out = {_SUM} mat1 @ mat2",
            lambda self, a, b, *_rest: (promote(self.dtype, a.dtype, b.dtype), product_shape(a.shape, b.shape)),
            short={"mat2": square}, sample_shape=(3, 4), **_SCALES),
    declare("InplaceAddmm", _sum_of(np.matmul), "selfRef = beta selfRef + alpha mat1 @ mat2", None,
            short={"mat2": square}, sample_shape=(3, 4), **_SCALES),
    declare("Baddbmm", _sum_of(np.matmul), f"out = {_SUM} batch1 @ batch2, matrix by matrix",
            lambda self, a, b, *_rest: (promote(self.dtype, a.dtype, b.dtype), product_shape(a.shape, b.shape)),
            short={"batch2": square}, **_SCALES),
    declare("InplaceBaddbmm", _sum_of(np.matmul), "selfRef = beta selfRef + alpha batch1 @ batch2", None,
            short={"batch2": square}, **_SCALES),
    declare("Addbmm", _sum_of(_batches), f"out = {_SUM} sum of batch1 @ batch2 over the batch",
            lambda self, a, b, *_rest: (promote(self.dtype, a.dtype), product_shape(a.shape, b.shape)[1:]),
            short={"batch1": _in_batch, "batch2": _square_in_batch}, sample_shape=(3, 4), **_SCALES),
    declare("InplaceAddbmm", _sum_of(_batches),
            "selfRef = beta selfRef + alpha sum of batch1 @ batch2 over the batch", None,
            short={"batch1": _in_batch, "batch2": _square_in_batch}, sample_shape=(3, 4), **_SCALES),
    declare("Addmv", _addmv, f"out = {_SUM} mat @ vec",
            lambda self, mat, _vec, *_rest: (promote(self.dtype, mat.dtype), mat.shape[:1]),
            short={"mat": lambda d, s: (d, (s[0], 5)), "vec": lambda d, _s: (d, (5,))}, sample_shape=(3,), **_SCALES),
    declare("Addr", _addr, "out = betaOptional self + alphaOptional vec1 outer vec2",
            lambda self, vec1, vec2, *_rest: (self.dtype, (*vec1.shape, *vec2.shape)),
            short={"vec1": lambda d, s: (d, s[:1]), "vec2": lambda d, s: (d, s[1:])}, sample_shape=(3, 4),
            sample_attributes={"betaOptional": 0.5, "alphaOptional": 2.0}),
    declare("InplaceAddr", _addr, "selfRef = betaOptional selfRef + alphaOptional vec1 outer vec2", None,
            short={"vec1": lambda d, s: (d, s[:1]), "vec2": lambda d, s: (d, s[1:])}, sample_shape=(3, 4),
            sample_attributes={"betaOptional": 0.5, "alphaOptional": 2.0}),
)  # fmt: skip
