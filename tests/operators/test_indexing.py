"""Reads, writes and sums by indices: by hand, then against PyTorch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from family_calls import both, call_of, ordinary
from operator_calls import Both, run, tensor

from ascend_opcli.operators.documents import catalogued
from ascend_opcli.operators.families.indexing import OPERATORS
from ascend_opcli.reference.fitting import UndefinedResult

try:
    import torch
except ImportError:
    torch = None

needs_torch = pytest.mark.skipif(torch is None, reason="PyTorch is the oracle")
ALL = {op.name.removeprefix("aclnn"): op for op in OPERATORS}


def called(name: str, **given: Any) -> Both:
    return run(ALL[name], **given)


def golden_of(name: str, **given: Any) -> Any:
    """The only output that is judged."""
    (made,) = called(name, **given).golden.outputs.values()
    return (
        tuple(np.asarray(m).tolist() for m in made) if isinstance(made, tuple) else np.asarray(made).tolist()
    )


def f32(data: Any) -> Any:
    return tensor("float32", data)


def i64(*data: Any) -> Any:
    return tensor(
        "int64", data[0] if len(data) == 1 and isinstance(data[0], (list, np.ndarray)) else list(data)
    )


@pytest.mark.parametrize("name", ALL)
def test_every_operator_is_the_catalogs_and_has_its_inferred_shape(name: str) -> None:
    operator = ALL[name]
    assert operator.signature == catalogued.entry(operator.name).signature
    assert operator.summary
    call = call_of(operator, ordinary(operator, members=1 if name == "ScatterList" else 3))
    outputs, host = both(operator, call)
    for out, made in outputs.items():
        if isinstance(made, tuple):
            assert [m.shape for m in made] == [s.shape for s in call.outputs[out]]
            continue
        assert made.shape == call.outputs[out].shape == host[out].shape
        np.testing.assert_allclose(host[out].astype(np.float64), made, rtol=1e-4, atol=1e-5)


# --- by hand --------------------------------------------------------------------------------------------------

X = f32([[1.0, 2, 3], [4, 5, 6]])
V = f32([1.0, 2, 3])


@pytest.mark.parametrize(
    ("name", "given", "wanted"),
    [
        ("Index", {"self": X, "indices": (i64(0, 1), i64(2, 0))}, [3, 4]),
        ("Index", {"self": X, "indices": (i64(1),)}, [[4, 5, 6]]),
        ("Index", {"self": X, "indices": (i64([[1], [0]]), i64(0, 2))}, [[4, 6], [1, 3]]),
        ("Index", {"self": X, "indices": (tensor("bool", [[True, False, False], [False, True, True]]),),
                   "out": f32([0.0] * 3)}, [1, 5, 6]),
        ("IndexPutImpl", {"selfRef": X, "indices": (i64(0, 0), i64(1, 1)), "values": f32([7.0, 8]), "accumulate": True,
                          "unsafe": False}, [[1, 17, 3], [4, 5, 6]]),
        ("IndexPutImpl", {"selfRef": X, "indices": (i64(1),), "values": f32([9.0]), "accumulate": False,
                          "unsafe": False}, [[1, 2, 3], [9, 9, 9]]),
        ("InplacePut", {"selfRef": X, "index": i64(5, 0), "source": f32([8.0, 9]), "accumulate": False},
         [[9, 2, 3], [4, 5, 8]]),
        ("InplacePut", {"selfRef": X, "index": i64(5, 5), "source": f32([8.0, 9]), "accumulate": True},
         [[1, 2, 3], [4, 5, 23]]),
        ("IndexCopy", {"selfRef": X, "dim": 1, "index": i64(2, 0), "source": f32([[7.0, 8], [9, 10]]), "outRef": X},
         [[8, 2, 7], [10, 5, 9]]),
        ("IndexAddV2", {"self": V, "dim": 0, "index": i64(1, 1), "source": f32([1.0, 2]), "alpha": 2, "mode": 1},
         [1, 8, 3]),
        ("GatherV3", {"self": X, "dim": 1, "index": i64(1, 0), "batchDims": 0, "mode": 1}, [[2, 1], [5, 4]]),
        ("GatherV3", {"self": X, "dim": 1, "index": i64([[1, 1], [0, 2]]), "batchDims": 1, "mode": 0},
         [[2, 2], [4, 6]]),
        ("ScatterMax", {"varRef": X, "indices": i64(0, 0), "updates": f32([[0.0, 9, 0], [2, 0, 0]]),
                        "useLocking": False}, [[2, 9, 3], [4, 5, 6]]),
        ("ScatterMin", {"varRef": X, "indices": i64(1), "updates": f32([[9.0, 0, 9]]), "useLocking": False},
         [[1, 2, 3], [4, 0, 6]]),
        ("ScatterMul", {"varRef": V, "indices": i64(2, 2), "updates": f32([2.0, 5]), "useLocking": False}, [1, 2, 30]),
        ("ScatterDiv", {"varRef": V, "indices": i64(0), "updates": f32([4.0]), "useLocking": False}, [0.25, 2, 3]),
        ("ScatterDiv", {"varRef": tensor("int32", [7, 8]), "indices": i64(0, 0), "updates": tensor("int32", [2, 2]),
                        "useLocking": False}, [1, 8]),
        ("TfScatterAdd", {"varRef": V, "indices": i64([[0], [0]]), "updates": f32([[1.0], [1]])}, [3, 2, 3]),
        ("ScatterNd", {"data": X, "indices": i64([[1, 2], [0, 0]]), "updates": f32([9.0, 8])}, [[8, 2, 3], [4, 5, 9]]),
        ("InplaceScatterUpdate", {"data": X, "indices": i64(2, 0), "updates": f32([[9.0], [8]]), "axis": -1},
         [[1, 2, 9], [8, 5, 6]]),
        ("ScatterList", {"varRef": (X, X), "indice": i64(1, 0), "updates": f32([[[9.0, 9, 9]], [[8, 8, 8]]]),
                         "maskOptional": None, "reduceOptional": None, "axis": -2},
         ([[1, 2, 3], [9, 9, 9]], [[8, 8, 8], [4, 5, 6]])),
        ("ScatterList", {"varRef": (X, X), "indice": i64([[1, 2], [2, 1]]), "axis": -1, "reduceOptional": "update",
                         "maskOptional": tensor("uint8", [1, 0]), "updates": f32(np.full((2, 2, 2), 7.0))},
         ([[1, 7, 7], [4, 7, 7]], [[1, 2, 3], [4, 5, 6]])),
        ("EmbeddingDenseBackward", {"grad": X, "indices": i64(2, 2), "numWeights": 3, "paddingIdx": 0,
                                    "scaleGradByFreq": True}, [[0, 0, 0], [0, 0, 0], [2.5, 3.5, 4.5]]),
        ("EmbeddingDenseBackward", {"grad": X, "indices": i64(2, 0), "numWeights": 3, "paddingIdx": 2,
                                    "scaleGradByFreq": False}, [[4, 5, 6], [0, 0, 0], [0, 0, 0]]),
        ("RepeatInterleaveGrad", {"yGrad": V, "repeats": i64(1, 0, 2), "axis": 0, "out": V}, [1, 0, 5]),
        ("RepeatInterleaveGrad", {"yGrad": X, "repeats": i64(3), "axis": 1, "out": f32([[0.0], [0]])}, [[6], [15]]),
        ("Inverse", {"self": f32([[2.0, 0], [0, 4]])}, [[0.5, 0], [0, 0.25]]),
    ],
)  # fmt: skip
def test_by_hand(name: str, given: dict[str, Any], wanted: Any) -> None:
    assert golden_of(name, **given) == wanted


@pytest.mark.parametrize(
    ("reduce", "include", "wanted"),
    [
        (1, True, [31, 2, 8]), (1, False, [30, 2, 5]), (2, True, [200, 2, 15]), (2, False, [200, 2, 5]),
        (3, True, [20, 2, 5]), (3, False, [20, 2, 5]), (4, True, [1, 2, 3]), (4, False, [10, 2, 5]),
        (5, True, [31 / 3, 2, 4]), (5, False, [15, 2, 5]),
    ],
)  # fmt: skip
def test_scattered_reductions_by_hand(reduce: int, include: bool, wanted: Any) -> None:
    given = {
        "dim": 0,
        "index": i64(0, 2, 0),
        "src": f32([10.0, 5, 20]),
        "reduce": reduce,
        "includeSelf": include,
    }
    assert golden_of("ScatterReduce", self=V, **given) == wanted
    assert golden_of("InplaceScatterReduce", selfRef=V, **given) == wanted


BAG: dict[str, Any] = {
    "weight": f32([[1.0, -1], [10, -10], [100, -100]]), "indices": i64(0, 1, 2, 1), "offsets": i64(0, 1, 1),
    "scaleGradByFreq": False, "sparse": False, "perSampleWeights": None, "includeLastOffset": False, "paddingIdx": -1,
}  # fmt: skip


@pytest.mark.parametrize(
    ("change", "wanted"),
    [
        ({"mode": 0}, [[1, -1], [0, 0], [120, -120]]),
        ({"mode": 1}, [[1, -1], [0, 0], [40, -40]]),
        ({"mode": 2}, [[1, -1], [0, 0], [100, -10]]),
        ({"mode": 1, "paddingIdx": 1}, [[1, -1], [0, 0], [100, -100]]),
        ({"mode": 0, "perSampleWeights": f32([2.0, 0, 1, 3])}, [[2, -2], [0, 0], [130, -130]]),
        ({"mode": 0, "offsets": i64(0, 3, 4), "includeLastOffset": True}, [[111, -111], [10, -10]]),
    ],
)
def test_bags_by_hand(change: dict[str, Any], wanted: Any) -> None:
    assert golden_of("EmbeddingBag", **{**BAG, **change}) == wanted  # of the four outputs one is judged


@pytest.mark.parametrize(
    ("name", "given", "why"),
    [
        ("Index", {"self": X, "indices": (i64(2),)}, "outside an axis"),
        ("Index", {"self": X, "indices": (i64(-1),)}, "outside an axis"),
        ("Index", {"self": V, "indices": (i64(0), i64(0)), "out": V}, "more indices"),
        ("Index", {"self": X, "indices": (i64([]), i64(0)), "out": V}, "empty index"),
        ("Index", {"self": X, "indices": (tensor("bool", [True]),), "out": V}, "a mask"),
        ("IndexPutImpl", {"selfRef": X, "indices": (i64(0, 0), i64(1, 1)), "values": f32([7.0, 8]),
                          "accumulate": False, "unsafe": False}, "repeated"),
        ("IndexPutImpl", {"selfRef": X, "indices": (i64(0),), "values": f32([7.0, 8]), "accumulate": True,
                          "unsafe": False}, "values of shape"),
        ("InplacePut", {"selfRef": X, "index": i64(0), "source": V, "accumulate": True}, "3 values"),
        ("IndexAddV2", {"self": V, "dim": 0, "index": i64(1), "source": f32([1.0]), "alpha": 2, "mode": 0}, "alpha"),
        ("GatherV3", {"self": X, "dim": 0, "index": i64(1), "batchDims": 0, "mode": 2}, "mode 2"),
        ("GatherV3", {"self": X, "dim": 1, "index": i64([[0]]), "batchDims": 1, "mode": 1}, "shared axes"),
        ("ScatterReduce", {"self": V, "dim": 0, "index": i64(0, 0), "src": V, "reduce": 0, "includeSelf": True},
         "repeated"),
        ("ScatterReduce", {"self": i64(1), "dim": 0, "index": i64(0), "src": i64(1), "reduce": 5,
                           "includeSelf": True}, "whole numbers"),
        ("ScatterReduce", {"self": V, "dim": 0, "index": i64(0), "src": V, "reduce": 6, "includeSelf": True},
         "reduce 6"),
        ("ScatterDiv", {"varRef": tensor("int32", [-7]), "indices": i64(0), "updates": tensor("int32", [2]),
                        "useLocking": False}, "below 0"),
        ("ScatterMax", {"varRef": X, "indices": i64(0, 1), "updates": V, "useLocking": False}, "2 rows"),
        ("InplaceScatterUpdate", {"data": X, "indices": i64(3, 0), "updates": f32([[9.0], [8]]), "axis": 1}, "window"),
        ("InplaceScatterUpdate", {"data": X, "indices": i64([[0, 1], [1, 0]]), "updates": f32([[9.0], [8]]),
                                  "axis": 1}, "indices of shape"),
        ("ScatterList", {"varRef": (X,), "indice": i64(0, 1), "updates": f32([[[1.0, 1, 1]]]), "maskOptional": None,
                         "reduceOptional": "update", "axis": -2}, "1 members"),
        ("ScatterList", {"varRef": (X,), "indice": i64(2), "updates": f32([[[1.0, 1, 1]]]), "maskOptional": None,
                         "reduceOptional": "update", "axis": -2}, "window"),
        ("ScatterList", {"varRef": (X,), "indice": i64(0), "updates": f32([[[1.0, 1]]]), "maskOptional": None,
                         "reduceOptional": "update", "axis": -2}, "for a member"),
        ("ScatterList", {"varRef": (X,), "indice": i64(0), "updates": f32([[[1.0, 1, 1]]]), "maskOptional": None,
                         "reduceOptional": "add", "axis": -2}, "'add'"),
        ("EmbeddingBag", {**BAG, "mode": 1, "perSampleWeights": f32([1.0] * 4)}, "weights"),
        ("EmbeddingBag", {**BAG, "mode": 1, "offsets": i64(1, 2)}, "do not divide"),
        ("RepeatInterleaveGrad", {"yGrad": V, "repeats": i64(1, 1), "axis": 0}, "add up to 2"),
        ("Inverse", {"self": f32([[1.0, 1], [1, 1]])}, "no inverse"),
    ],
)  # fmt: skip
def test_what_is_not_defined(name: str, given: dict[str, Any], why: str) -> None:
    with pytest.raises(UndefinedResult, match=why):
        called(name, **given)


# --- against PyTorch ------------------------------------------------------------------------------------------


def drawn(*shape: int, seed: int = 3) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


def places(high: int, *shape: int, seed: int = 5) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, high, shape)


def double(array: Any) -> Any:
    return torch.from_numpy(np.asarray(array)).double()


def t(array: Any) -> Any:
    return torch.from_numpy(np.asarray(array))


def close(made: Any, wanted: Any) -> None:
    np.testing.assert_allclose(made, wanted.numpy(), rtol=1e-12, atol=1e-12)


@needs_torch
@pytest.mark.parametrize("reduce", range(1, 6))
@pytest.mark.parametrize("include", [False, True])
@pytest.mark.parametrize(("dtype", "dim"), [("float32", 0), ("float32", -1), ("int32", 1), ("uint8", 0)])
def test_scattered_reductions_against_torch(reduce: int, include: bool, dtype: str, dim: int) -> None:
    if dtype != "float32" and reduce == 5:
        return  # refused
    x, src = drawn(4, 5, 6), drawn(3, 5, 4, seed=4)
    if dtype != "float32":
        x, src = (np.abs(v * 20).astype(dtype) for v in (x, src))
    index = places(4, 3, 5, 3)
    word = ("sum", "prod", "amax", "amin", "mean")[reduce - 1]
    made = golden_of("ScatterReduce", self=tensor(dtype, x), dim=dim, index=i64(index), src=tensor(dtype, src),
                     reduce=reduce, includeSelf=include)  # fmt: skip
    wide = double if dtype == "float32" else t
    close(made, torch.scatter_reduce(wide(x), dim, t(index), wide(src), word, include_self=include))


@needs_torch
@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", "int32"])
def test_several_indices_against_torch(dtype: str) -> None:
    x = np.round(drawn(4, 5, 6) * 8)
    one, two = places(4, 3, 1), places(5, 3, 2, seed=6)
    values = np.round(drawn(3, 2, 6, seed=7) * 8)
    made = golden_of("Index", self=tensor(dtype, x), indices=(i64(one), i64(two)))
    close(made, double(x)[t(one), t(two)])
    put = golden_of("IndexPutImpl", selfRef=tensor(dtype, x), indices=(i64(one), i64(two)),
                    values=tensor(dtype, values), accumulate=True, unsafe=False)  # fmt: skip
    close(put, double(x).index_put((t(one), t(two)), double(values), accumulate=True))
    flat = golden_of("InplacePut", selfRef=tensor(dtype, x), index=i64(one), source=tensor(dtype, values[:, :1, 0]),
                     accumulate=True)  # fmt: skip
    close(flat, double(x).put(t(one), double(values[:, :1, 0]), accumulate=True))


@needs_torch
@pytest.mark.parametrize("scale", [False, True])
@pytest.mark.parametrize("padding", [-1, 2])
def test_embeddings_slopes_against_torch(scale: bool, padding: int) -> None:
    grad, indices = drawn(3, 4, 5), places(6, 3, 4)
    # The prototype holds paddingIdx in 64 bits without a sign.
    made = golden_of("EmbeddingDenseBackward", grad=f32(grad), indices=i64(indices), numWeights=6,
                     paddingIdx=padding % 2**64, scaleGradByFreq=scale)  # fmt: skip
    wanted = torch.ops.aten.embedding_dense_backward(double(grad), t(indices), 6, padding, scale)
    np.testing.assert_allclose(made, wanted.numpy(), rtol=1e-12)


@needs_torch
@pytest.mark.parametrize("mode", range(3))
@pytest.mark.parametrize("padding", [-1, 1])
@pytest.mark.parametrize("last", [False, True])
def test_bags_against_torch(mode: int, padding: int, last: bool) -> None:
    weight, indices, offsets = drawn(5, 4), places(5, 9), np.array([0, 2, 2, 7, 9])
    made = golden_of("EmbeddingBag", **{**BAG, "weight": f32(weight), "indices": i64(indices), "mode": mode,
                     "offsets": i64(offsets), "paddingIdx": padding, "includeLastOffset": last})  # fmt: skip
    wanted = torch.nn.functional.embedding_bag(
        t(indices), double(weight), t(offsets), mode=("sum", "mean", "max")[mode], include_last_offset=last,
        padding_idx=None if padding < 0 else padding,
    )  # fmt: skip
    close(made, wanted)


@needs_torch
def test_inverses_against_torch() -> None:
    x = drawn(3, 4, 4) + 3 * np.eye(4, dtype=np.float32)
    np.testing.assert_allclose(
        golden_of("Inverse", self=f32(x)), torch.linalg.inv(double(x)).numpy(), rtol=1e-9
    )
