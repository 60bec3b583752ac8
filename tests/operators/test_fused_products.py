"""Products with transposes, sums, activations and equations: against PyTorch, and what is refused."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from family_calls import both, call_of, ordinary
from operator_calls import Both, run, tensor

from ascend_opcli.model import Attribute
from ascend_opcli.operators.documents import catalogued
from ascend_opcli.operators.families.fused_products import OPERATORS
from ascend_opcli.reference.fitting import UndefinedResult

try:
    import torch

    F = torch.nn.functional
except ImportError:
    torch = F = None

needs_torch = pytest.mark.skipif(torch is None, reason="PyTorch is the oracle")
ALL = {op.name.removeprefix("aclnn"): op for op in OPERATORS}


def called(name: str, **given: Any) -> Both:
    arrays = {n for n in given if n.startswith("perm")}
    return run(ALL[name], **{n: Attribute(v) if n in arrays else v for n, v in given.items()})


def golden_of(name: str, **given: Any) -> np.ndarray:
    (made,) = called(name, **given).golden.outputs.values()
    return np.asarray(made)


def drawn(*shape: int, seed: int = 3) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


def f32(data: Any) -> Any:
    return tensor("float32", data)


def double(array: Any) -> Any:
    return torch.from_numpy(np.asarray(array)).double()


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
@pytest.mark.parametrize("name", ALL)
def test_every_operator_is_the_catalogs_and_has_its_inferred_shape(name: str, dtype: str) -> None:
    operator = ALL[name]
    assert operator.signature == catalogued.entry(operator.name).signature
    assert operator.summary
    call = call_of(operator, ordinary(operator, dtype, members=1))
    outputs, host = both(operator, call)
    near = {"float32": 1e-5, "float16": 2e-3, "bfloat16": 1e-2}[dtype]
    for out, made in outputs.items():
        assert made.shape == call.outputs[out].shape == host[out].shape
        np.testing.assert_allclose(host[out].astype(np.float64), made, rtol=near, atol=near)


@needs_torch
@pytest.mark.parametrize(("left", "right", "beta"), [*itertools.product((0, 1), (0, 1), (0.0, 0.5))])
def test_sums_of_products_against_torch(left: int, right: int, beta: float) -> None:
    a, b, c = drawn(3, 4), drawn(4, 5, seed=4), drawn(1, 5, seed=5)
    given = {"A": f32(a.T if left else a), "B": f32(b.T if right else b), "C": f32(c)}
    made = golden_of("Gemm", **given, alpha=2.0, beta=beta, transA=left, transB=right, cubeMathType=0)
    wanted = torch.addmm(double(c), double(a), double(b), beta=beta, alpha=2.0)
    np.testing.assert_allclose(made, wanted.numpy(), rtol=1e-12)


@needs_torch
@pytest.mark.parametrize(
    ("equation", "shapes"),
    [
        ("abcd,abced->abce", [(2, 3, 2, 4), (2, 3, 2, 5, 4)]),
        ("a,b->ab", [(3,), (4,)]),
        ("ab -> ba", [(3, 4)]),
        ("ab,bc,cd->ad", [(2, 3), (3, 4), (4, 2)]),
        ("aa->", [(3, 3)]),
    ],
)
def test_equations_against_torch(equation: str, shapes: Any) -> None:
    each = [drawn(*s, seed=i) for i, s in enumerate(shapes)]
    wanted = torch.einsum(equation, *map(double, each)).numpy()
    made = golden_of("Einsum", tensors=tuple(map(f32, each)), equation=equation)
    np.testing.assert_allclose(made, wanted, rtol=1e-12, atol=1e-12)
    whole = [np.round(x * 9).astype(np.int32) for x in each]
    made = golden_of("Einsum", tensors=tuple(tensor("int32", x) for x in whole), equation=equation)
    assert np.array_equal(made, torch.einsum(equation, *map(torch.from_numpy, whole)).numpy())


@needs_torch
@pytest.mark.parametrize("perm", [(0, 1, 2), (1, 0, 2)])
def test_permuted_products_against_torch(perm: Any) -> None:
    x, y = drawn(2, 3, 4), drawn(2, 4, 5, seed=4)
    given = {
        "x1": f32(np.transpose(x, perm)),
        "x2": f32(y),
        "permX1": perm,
        "permX2": (0, 1, 2),
        "permY": (1, 0, 2),
    }
    more = {"bias": None, "scale": None, "cubeMathType": 0, "batchSplitFactor": 1}
    made = golden_of("TransposeBatchMatMul", **given, **more)
    np.testing.assert_allclose(made, torch.bmm(double(x), double(y)).permute(1, 0, 2).numpy(), rtol=1e-12)
    for change in ({"bias": f32([1.0])}, {"batchSplitFactor": 2}):
        with pytest.raises(UndefinedResult, match="a bias"):
            golden_of("TransposeBatchMatMul", **given, **{**more, **change})


@needs_torch
@pytest.mark.parametrize("kind", ["", "16cast32", "relu", "add", "mul", "gelu_erf", "gelu_tanh"])
@pytest.mark.parametrize("shape", [(3, 4), (2, 3, 4)])
def test_fused_products_against_torch(kind: str, shape: Any) -> None:
    x, y, z = drawn(*shape), drawn(*shape[:-2], 4, 5, seed=4), drawn(*shape[:-1], 5, seed=5)
    bias = None if kind.startswith("gelu") else drawn(5, seed=6)
    third = z if kind in ("add", "mul") else None
    made = called("FusedMatmul", x1=tensor("bfloat16", x), x2=tensor("bfloat16", y), cubeMathType=0, fusedOpType=kind,
                  bias=None if bias is None else f32(bias), x3=None if third is None else f32(third))  # fmt: skip
    kept = [torch.from_numpy(v).bfloat16().double() for v in (x, y)]
    wanted = kept[0] @ kept[1] + (0 if bias is None else double(bias))
    after = {
        "relu": torch.relu, "add": lambda p: p + double(z), "mul": lambda p: p * double(z), "gelu_erf": F.gelu,
        "gelu_tanh": lambda p: F.gelu(p, approximate="tanh"),
    }  # fmt: skip
    wanted = after.get(kind, lambda p: p)(wanted)
    np.testing.assert_allclose(made.golden.outputs["y"], wanted.numpy(), rtol=1e-11, atol=1e-14)
    assert (made.host["y"].dtype == np.float32) is (kind == "16cast32")


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("Einsum", {"tensors": (f32([[1.0]]),), "equation": "ab"}),
        ("Einsum", {"tensors": (f32([[1.0]]),), "equation": "a->a"}),
        ("Einsum", {"tensors": (f32([[1.0]]),), "equation": "a...->a"}),
        ("Einsum", {"tensors": (f32([[1.0]]), f32([[1.0], [2]])), "equation": "ab,bc->ac"}),
        ("Einsum", {"tensors": (f32([[1.0]]),), "equation": "ab->ac"}),
        ("FusedMatmul", {"fusedOpType": "add", "bias": None, "x3": None}),
        ("FusedMatmul", {"fusedOpType": "relu", "bias": None, "x3": f32([[1.0]])}),
        ("FusedMatmul", {"fusedOpType": "gelu_erf", "bias": f32([1.0]), "x3": None}),
        ("FusedMatmul", {"fusedOpType": "tanh", "bias": None, "x3": None}),
    ],
)
def test_what_is_not_defined(name: str, given: dict[str, Any]) -> None:
    more = {"x1": f32([[1.0]]), "x2": f32([[1.0]]), "cubeMathType": 0} if name == "FusedMatmul" else {}
    with pytest.raises(UndefinedResult):
        called(name, **given, **more)
