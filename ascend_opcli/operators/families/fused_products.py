"""Products of matrices with what comes before and after: transposes, sums, activations, any equation of letters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ascend_opcli.operators.declare import Undefined, declare, ints, promote
from ascend_opcli.operators.families.activations.forward import gelu_erf, gelu_tanh
from ascend_opcli.operators.families.fills import cast
from ascend_opcli.operators.families.matmul import product_shape, square


def _gemm(a: Any, b: Any, c: Any, alpha: Any, beta: Any, turn_a: Any, turn_b: Any, _cubeMathType: Any) -> Any:
    made = alpha * np.matmul(a.T if turn_a else a, b.T if turn_b else b)
    return made if beta == 0 else made + beta * c


def _gemm_made(a: Any, b: Any, c: Any, _alpha: Any, _beta: Any, turn_a: Any, turn_b: Any, *_rest: Any) -> Any:
    rows, columns = a.shape[1 if turn_a else 0], b.shape[0 if turn_b else 1]
    return promote(a.dtype, b.dtype, c.dtype), (rows, columns)


def _terms(tensors: Any, equation: Any) -> tuple[list[str], str, dict[str, int]]:
    """The letters of every tensor, those of the result, and the size of each."""
    left, arrow, right = str(equation).replace(" ", "").partition("->")
    terms = left.split(",")
    letters = all((t.isascii() and t.isalpha()) or not t for t in (*terms, right))
    if not arrow or not letters or [len(t) for t in terms] != [len(t.shape) for t in tensors]:
        raise Undefined(f"the equation '{equation}' for {len(tensors)} tensors")
    named = [
        (c, d) for term, t in zip(terms, tensors, strict=True) for c, d in zip(term, t.shape, strict=True)
    ]
    sizes = dict(named)
    if any(sizes[c] != d for c, d in named) or not set(right) <= set(sizes) or len(set(right)) != len(right):
        raise Undefined(f"the equation '{equation}' does not fit the shapes")
    return terms, right, sizes


def _einsum(tensors: Any, equation: Any, dtypes: Any) -> Any:
    terms, right, _ = _terms(tensors, equation)
    whole = tensors[0].dtype.kind in "iu"
    made = np.einsum(f"{','.join(terms)}->{right}", *(t.astype(np.int64) if whole else t for t in tensors))
    return cast(np.asarray(made), dtypes["output"]) if whole else made


def _einsum_made(tensors: Any, equation: Any) -> Any:
    _, right, sizes = _terms(tensors, equation)
    return tensors[0].dtype, [sizes[c] for c in right]


def _transposed_product(
    x1: Any,
    x2: Any,
    bias: Any,
    scale: Any,
    perm1: Any,
    perm2: Any,
    perm_y: Any,
    _cubeMathType: Any,
    parts: Any,
) -> Any:
    """Batches of products, their axes changed before and after."""
    if bias is not None or scale is not None or parts != 1:
        raise Undefined("a bias, a quantised output, or an output in parts")
    made = np.matmul(np.transpose(x1, ints(perm1)), np.transpose(x2, ints(perm2)))
    return np.transpose(made, ints(perm_y))


def _transposed_made(
    x1: Any, x2: Any, _bias: Any, _scale: Any, perm1: Any, perm2: Any, perm_y: Any, *_rest: Any
) -> Any:
    one, two = ([x.shape[i] for i in ints(perm)] for x, perm in ((x1, perm1), (x2, perm2)))
    made = (*one[:-1], two[-1])
    return x1.dtype, [made[i] for i in ints(perm_y)]


_FUSED: dict[str, Callable[[Any], Any]] = {
    "": lambda x: x,
    "16cast32": lambda x: x,
    "relu": lambda x: np.maximum(x, 0),
    "gelu_erf": gelu_erf,
    "gelu_tanh": gelu_tanh,
}


def _fused(x1: Any, x2: Any, bias: Any, x3: Any, kind: Any, _cubeMathType: Any) -> Any:
    made = np.matmul(x1, x2)
    made = made if bias is None else made + bias
    if kind in ("add", "mul"):
        if x3 is None:
            raise Undefined(f"fusedOpType '{kind}' without x3")
        return made + x3 if kind == "add" else made * x3
    if kind not in _FUSED or x3 is not None or (bias is not None and kind.startswith("gelu")):
        raise Undefined(f"fusedOpType '{kind}' with these tensors")
    return _FUSED[kind](made)


def _fused_made(x1: Any, x2: Any, _bias: Any, _x3: Any, kind: Any, *_rest: Any) -> Any:
    word = "float32" if kind == "16cast32" else promote(x1.dtype, x2.dtype)
    return word, product_shape(x1.shape, x2.shape)


OPERATORS = (
    declare("Gemm", _gemm, "out = alpha A @ B + beta C, A and B transposed first where transA and transB are set",
            _gemm_made, sample_shape=(3, 4), short={"B": square, "C": lambda d, s: (d, s)},
            sample_attributes={"alpha": 2.0, "beta": 0.5, "transA": 0, "transB": 1, "cubeMathType": 0},
            attribute_dtypes={"alpha": "float32", "beta": "float32"}),
    declare("Einsum", _einsum, "output = the sum of products that equation names", _einsum_made, sample_shape=(3, 4),
            sample_attributes={"equation": "ab->ba"}),
    declare("TransposeBatchMatMul", _transposed_product,
            "out = x1 @ x2, batch by batch, with their axes and those of the product permuted", _transposed_made,
            short={"x2": square, "bias": lambda *_: None, "scale": lambda *_: None},
            sample_attributes={"permX1": (0, 1, 2), "permX2": (0, 1, 2), "permY": (1, 0, 2), "cubeMathType": 0,
                               "batchSplitFactor": 1}),
    declare("FusedMatmul", _fused, "y = x1 @ x2 + bias, then added to or multiplied by x3, or through relu or gelu",
            _fused_made, sample_shape=(3, 4),
            short={"x2": square, "bias": lambda *_: None, "x3": lambda *_: None},
            sample_attributes={"fusedOpType": "relu", "cubeMathType": 0}),
)  # fmt: skip
