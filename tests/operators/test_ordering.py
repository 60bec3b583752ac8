"""Sorts, the first k, medians and places among boundaries: by hand, then against PyTorch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from family_calls import accepted, both, call_of, ordinary
from hypothesis import given, settings
from hypothesis import strategies as st
from operator_calls import run, tensor

from ascend_opcli.operators.documents import catalogued
from ascend_opcli.operators.families.ordering import OPERATORS
from ascend_opcli.reference.fitting import UndefinedResult

try:
    import torch
except ImportError:
    torch = None

needs_torch = pytest.mark.skipif(torch is None, reason="PyTorch is the oracle")
ALL = {op.name.removeprefix("aclnn"): op for op in OPERATORS}
NAN = float("nan")


def golden_of(name: str, **given: Any) -> dict[str, Any]:
    made = run(ALL[name], **given)
    for out, value in made.golden.outputs.items():
        assert np.array_equal(value, made.host[out].astype(np.float64), equal_nan=True)
    return {n: np.asarray(v).tolist() for n, v in made.golden.outputs.items()}


def f32(data: Any) -> Any:
    return tensor("float32", data)


@pytest.mark.parametrize("name", ALL)
def test_every_operator_is_the_catalogs_and_has_its_inferred_shape(name: str) -> None:
    operator = ALL[name]
    assert operator.signature == catalogued.entry(operator.name).signature
    assert operator.summary
    call = call_of(operator, ordinary(operator))
    outputs, host = both(operator, call)
    for out, made in outputs.items():
        assert made.shape == call.outputs[out].shape == host[out].shape


# --- by hand --------------------------------------------------------------------------------------------------

ROW = f32([[3.0, 1, 2, 1]])


def test_equal_elements_are_named_as_they_stand() -> None:
    first = {"self": ROW, "dim": -1}
    sort = {**first, "descending": False}
    for stable in (False, True):
        assert golden_of("Sort", **sort, stable=stable) == {
            "valuesOut": [[1, 1, 2, 3]],
            "indicesOut": [[1, 3, 2, 0]],
        }
    down = golden_of("Sort", **{**sort, "descending": True}, stable=True)
    assert down == {"valuesOut": [[3, 2, 1, 1]], "indicesOut": [[0, 2, 1, 3]]}
    assert golden_of("Argsort", **sort) == {"out": [[1, 3, 2, 0]]}
    for in_order in (False, True):
        top = {**first, "sorted": in_order}
        made = golden_of("Topk", **top, k=3, largest=True)
        assert made == {"valuesOut": [[3, 2, 1]], "indicesOut": [[0, 2, 1]]}
        assert golden_of("Topk", **top, k=0, largest=False) == {"valuesOut": [[]], "indicesOut": [[]]}
    kth = {**first, "keepdim": True}
    assert golden_of("Kthvalue", **kth, k=3) == {"valuesOut": [[2]], "indicesOut": [[2]]}
    assert golden_of("MedianDim", **first, keepDim=False) == {"valuesOut": [1], "indicesOut": [3]}


def test_medians_without_nan_are_the_documents_examples() -> None:
    x = f32([[1.0, NAN, 3, 2], [-1, NAN, 3, 2]])
    columns = golden_of("NanMedianDim", self=x, dim=0, keepDim=True)
    np.testing.assert_array_equal(columns["valuesOut"], [[-1, NAN, 3, 2]])
    rows = golden_of("NanMedianDim", self=x, dim=1, keepDim=False)
    assert rows == {"valuesOut": [2, 2], "indicesOut": [3, 3]}
    assert golden_of("NanMedian", self=f32([NAN, 4.0, 1, NAN, 3])) == {"out": 3}
    assert np.isnan(golden_of("NanMedian", self=f32([NAN]))["out"])


def test_buckets_are_the_documents_example() -> None:
    given = {"self": f32([3.0, 1, 0, 9]), "boundaries": f32([1.0, 3, 5]), "outInt32": True}
    assert golden_of("Bucketize", **given, right=False) == {"out": [1, 0, 0, 3]}
    assert golden_of("Bucketize", **given, right=True) == {"out": [2, 1, 0, 3]}


@pytest.mark.parametrize(
    ("name", "given", "why"),
    [
        ("Sort", {"self": f32([1.0, NAN]), "stable": True, "dim": 0, "descending": False}, "NaN"),
        ("MedianDim", {"self": f32([1.0, NAN]), "dim": 0, "keepDim": False}, "NaN"),
        ("Topk", {"self": ROW, "k": 5, "dim": 1, "largest": True, "sorted": True}, "k 5"),
        ("Kthvalue", {"self": ROW, "k": 0, "dim": 1, "keepdim": True}, "k 0"),
        (
            "Bucketize",
            {"self": ROW, "boundaries": f32([2.0, 1]), "outInt32": False, "right": False},
            "ascend",
        ),
    ],
)
def test_what_is_not_defined(name: str, given: dict[str, Any], why: str) -> None:
    with pytest.raises(UndefinedResult, match=why):
        run(ALL[name], **given)


# --- against PyTorch ------------------------------------------------------------------------------------------


def _sort(x: Any, a: Any) -> Any:
    return torch.sort(x, dim=a["dim"], descending=a["descending"], stable=True)


ORACLE: dict[str, Any] = {
    "Sort": _sort,
    "Argsort": lambda x, a: (_sort(x, a)[1],),
    "Topk": lambda x, a: torch.topk(x, a["k"], a["dim"], a["largest"]),
    "Kthvalue": lambda x, a: torch.kthvalue(x, a["k"], a["dim"], a["keepdim"]),
    "MedianDim": lambda x, a: torch.median(x, a["dim"], a["keepDim"]),
    "NanMedianDim": lambda x, a: torch.nanmedian(x, a["dim"], a["keepDim"]),
    "NanMedian": lambda x, a: (torch.nanmedian(x),),
    "Cummax": lambda x, a: torch.cummax(x, a["dim"]),
    "Cummin": lambda x, a: torch.cummin(x, a["dim"]),
}


@needs_torch
@settings(max_examples=40)
@given(st.data(), st.sampled_from(sorted(ORACLE)))
def test_orders_against_torch(data: Any, name: str) -> None:
    listed = accepted(ALL[name], "self")
    dtype = data.draw(
        st.sampled_from([d for d in ("float32", "float16", "bfloat16", "int32", "int64") if d in listed])
    )
    shape = tuple(data.draw(st.lists(st.integers(1, 6), min_size=1, max_size=3)))
    dim = data.draw(st.integers(-len(shape), len(shape) - 1))
    size = int(np.prod(shape))
    # No two are equal: 8 bits of bfloat16 hold every whole number up to 256.
    x = np.random.default_rng(data.draw(st.integers(0, 99))).permutation(size).reshape(shape)
    flags = {n: data.draw(st.booleans()) for n in ("descending", "largest", "keepdim", "keepDim")}
    attributes = {
        "dim": dim,
        "k": data.draw(st.integers(1, shape[dim])),
        "sorted": True,
        "stable": False,
        **flags,
    }
    own = {p.name for p in ALL[name].signature.attributes}
    made = golden_of(name, self=tensor(dtype, x), **{n: v for n, v in attributes.items() if n in own})
    wanted = ORACLE[name](torch.from_numpy(x).double(), attributes)
    for got, exact in zip(made.values(), wanted, strict=True):
        np.testing.assert_array_equal(got, exact.numpy())


@needs_torch
@pytest.mark.parametrize("dtype", ["float32", "int32", "uint8"])
@pytest.mark.parametrize("right", [False, True])
def test_buckets_against_torch(dtype: str, right: bool) -> None:
    x = np.random.default_rng(3).integers(0, 12, (3, 9)).astype(dtype)
    edges = np.array([1, 4, 4, 5, 9], dtype)
    made = golden_of(
        "Bucketize", self=tensor(dtype, x), boundaries=tensor(dtype, edges), outInt32=False, right=right
    )
    wanted = torch.bucketize(torch.from_numpy(x), torch.from_numpy(edges), right=right)
    np.testing.assert_array_equal(made["out"], wanted.numpy())
