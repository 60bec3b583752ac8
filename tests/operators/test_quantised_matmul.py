"""Products of int8 matrices: by hand, against PyTorch, with scales that were encoded, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from operator_calls import arguments, call_of, run, tensor

from ascend_opcli.operators.catalog import find
from ascend_opcli.operators.contract.phase_one import predict
from ascend_opcli.reference.evaluate import golden
from ascend_opcli.reference.fitting import UndefinedResult

try:
    import torch
except ImportError:
    torch = None

needs_torch = pytest.mark.skipif(torch is None, reason="PyTorch is the oracle")
PLAIN: dict[str, Any] = {"offset": None, "bias": None, "transposeX1": False, "transposeX2": False}


def i8(data: Any, **more: Any) -> Any:
    return tensor("int8", data, **more)


def f32(data: Any) -> Any:
    return tensor("float32", data)


def out_of(name: str, **more: Any) -> Any:
    operator = find(name)
    return golden(operator, call_of(operator, arguments(operator, **more))).outputs["out"]


X = {"x1": i8([[1, 2], [3, -4]]), "x2": i8([[1, 0, 5], [0, 1, -1]])}
"""x1 @ x2 is [[1, 2, 3], [3, -4, 19]]."""


@pytest.mark.parametrize(
    ("more", "wanted"),
    [
        ({}, [[1, 4, 1.5], [3, -8, 9.5]]),
        ({"bias": tensor("int32", [10, 20, 30])}, [[11, 44, 16.5], [13, 32, 24.5]]),
        ({"bias": f32([10.0, 20, 30])}, [[11, 24, 31.5], [13, 12, 39.5]]),
        ({"scale": f32([2.0])}, [[2, 4, 6], [6, -8, 38]]),
        ({"x1": i8([[1, 3], [2, -4]]), "transposeX1": True}, [[1, 4, 1.5], [3, -8, 9.5]]),
        ({"x2": i8([[1, 0], [0, 1], [5, -1]]), "transposeX2": True}, [[1, 4, 1.5], [3, -8, 9.5]]),
        ({"out": tensor("int8", None, (2, 3)), "offset": f32([0.0, 1, 100])}, [[1, 5, 102], [3, -7, 110]]),
        ({"out": tensor("int8", None, (2, 3)), "scale": f32([100.0])}, [[100, 127, 127], [127, -128, 127]]),
    ],
)
def test_a_product_by_hand(more: dict[str, Any], wanted: Any) -> None:
    given = {**PLAIN, **X, "scale": f32([1.0, 2, 0.5]), **more}
    assert out_of("quant_matmul_v3", **given).tolist() == wanted
    assert out_of("quant_matmul_v4", **given, pertokenScaleOptional=None).tolist() == wanted


def test_each_row_has_a_scale_of_its_own() -> None:
    given = {**PLAIN, **X, "scale": f32([1.0, 2, 0.5]), "pertokenScaleOptional": f32([1.0, 10])}
    assert out_of("quant_matmul_v4", **given).tolist() == [[1, 4, 1.5], [30, -80, 95]]
    integers, floats = tensor("int32", [1, 1, 1]), tensor("bfloat16", [1.0, 1, 1])
    assert out_of("quant_matmul_v4", **{**given, "bias": integers}).tolist() == [[2, 6, 2], [40, -60, 100]]
    assert out_of("quant_matmul_v4", **{**given, "bias": floats}).tolist() == [[2, 5, 2.5], [31, -79, 96]]


def test_one_number_scales_the_oldest_of_them() -> None:
    made = out_of("quant_matmul", **X, bias=tensor("int32", [1, 0, 0]), deqScale=0.5)
    assert made.tolist() == [[1, 1, 1.5], [2, -2, 9.5]]


@pytest.mark.parametrize("word", ["uint64", "int64"])
def test_a_scale_that_was_encoded_is_the_upper_19_bits_of_the_float(word: str) -> None:
    given = {"scale": f32([1.5, -2, 1 + 2.0**-20]), "offset": None}
    encoded = run("trans_quant_param_v2", **given).host["out"]
    made = out_of("quant_matmul_v3", **PLAIN, **X, scale=tensor(word, encoded.astype(word)))
    assert made.tolist() == [[1.5, -4, 3], [4.5, 8, 19]]
    # An offset of the code counts where int8 is asked for, and nowhere else.
    encoded = run("trans_quant_param_v2", **{**given, "offset": f32([1.0, -2, 0])}).host["out"]
    scale = tensor(word, encoded.astype(word))
    made = out_of("quant_matmul_v3", **PLAIN, **X, scale=scale, out=tensor("int8", None, (2, 3)))
    assert made.tolist() == [[2, -6, 3], [6, 6, 19]]  # 2.5 and 5.5 go to the even neighbour
    with pytest.raises(UndefinedResult, match="for an output of int8"):
        out_of("quant_matmul_v3", **PLAIN, **X, scale=scale)


@needs_torch
@given(st.booleans(), st.booleans(), st.integers(0, 2**32 - 1))
def test_a_batch_of_products_is_pytorchs(turned1: bool, turned2: bool, seed: int) -> None:
    random = np.random.default_rng(seed)
    x1 = random.integers(-128, 128, (2, 1, 7, 4) if turned1 else (2, 1, 4, 7)).astype(np.int8)
    x2 = random.integers(-128, 128, (3, 5, 7) if turned2 else (3, 7, 5)).astype(np.int8)
    scale, token = (random.uniform(0.001, 0.1, n).astype(np.float32) for n in (5, 4))
    left, right = torch.from_numpy(x1).double(), torch.from_numpy(x2).double()
    product = (left.mT if turned1 else left) @ (right.mT if turned2 else right)
    wanted = product * torch.from_numpy(scale).double() * torch.from_numpy(token).double()[:, None]
    made = out_of(
        "quant_matmul_v4", x1=i8(x1), x2=i8(x2), scale=f32(scale), offset=None, pertokenScaleOptional=f32(token),
        bias=None, transposeX1=turned1, transposeX2=turned2,
    )  # fmt: skip
    np.testing.assert_allclose(made, wanted.numpy(), rtol=1e-14)


SCALED = {**PLAIN, **X, "scale": f32([1.0])}
OPEN: list[tuple[dict[str, Any], str]] = [
    ({"x1": tensor("int32", [[1]]), "x2": tensor("int32", [[1], [1]])}, "eight int4"),
    ({"x2": i8([[1, 0, 5], [0, 1, -1]], format="FRACTAL_NZ")}, "format of its own"),
    ({"out": tensor("int32", None, (2, 3))}, "output of int32"),
    ({"offset": f32([1.0])}, "for an output of int8"),
    ({"offset": f32([1.0]), "bias": f32([1.0] * 3), "out": tensor("int8", None, (2, 3))}, "beside a bias"),
    ({"x2": i8([[1, 0, 5]])}, "x1 has 2 columns and x2 1 rows"),
    ({"scale": f32([float("nan")]), "out": tensor("int8", None, (2, 3))}, "NaN"),
    ({"scale": f32([1.0, 2])}, "does not go along the 3 columns"),
    ({"pertokenScaleOptional": f32([1.0])}, "each of the 2 rows"),
    (
        {"pertokenScaleOptional": f32([1.0, 2]), "offset": f32([1.0]), "out": tensor("int8", None, (2, 3))},
        "no offset",
    ),
]


@pytest.mark.parametrize(("more", "said"), OPEN)
def test_what_the_documents_leave_open_is_refused(more: dict[str, Any], said: str) -> None:
    with pytest.raises(UndefinedResult, match=said):
        out_of("quant_matmul_v4", **{**SCALED, "pertokenScaleOptional": None, **more})


@pytest.mark.parametrize("name", ["quant_matmul_v3", "quant_matmul_v4"])
def test_bias_and_offset_may_be_null(name: str) -> None:
    operator = find(name)
    more = {"pertokenScaleOptional": None} if name.endswith("4") else {}
    assert predict(operator, arguments(operator, **SCALED, **more), "atlas_a2") is None
