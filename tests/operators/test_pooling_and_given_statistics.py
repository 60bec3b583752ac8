"""Pools, norms with given statistics, convolution over time, anti-quantisation: by hand, then against PyTorch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from family_calls import both, call_of, ordinary
from hypothesis import given
from hypothesis import strategies as st
from operator_calls import run, tensor

from ascend_opcli.model import Attribute
from ascend_opcli.operators.documents import catalogued
from ascend_opcli.operators.families import pooling
from ascend_opcli.operators.families.norms import given_statistics as normalised
from ascend_opcli.operators.families.norms import renorms
from ascend_opcli.reference.fitting import UndefinedResult

try:
    import torch

    F = torch.nn.functional
except ImportError:
    torch = F = None

ALL = {
    op.name.removeprefix("aclnn"): op for family in (pooling, normalised, renorms) for op in family.OPERATORS
}
NAN, INF = float("nan"), float("inf")
needs_torch = pytest.mark.skipif(torch is None, reason="PyTorch is the oracle")


def called(name: str, **given: Any) -> Any:
    arrays = {n for n, v in given.items() if isinstance(v, tuple)}
    return run(ALL[name], **{n: Attribute(v) if n in arrays else v for n, v in given.items()})


def golden_of(name: str, **given: Any) -> list[Any]:
    return [np.asarray(v) for v in called(name, **given).golden.outputs.values()]


def f32(data: Any) -> Any:
    return tensor("float32", data)


def i64(data: Any) -> Any:
    return tensor("int64", data)


@pytest.mark.parametrize("name", ALL)
def test_every_operator_is_the_catalogs_and_has_its_inferred_shape(name: str) -> None:
    operator = ALL[name]
    assert operator.signature == catalogued.entry(operator.name).signature
    assert operator.summary
    call = call_of(operator, ordinary(operator))
    outputs, host = both(operator, call)
    for param in operator.signature.outputs:
        assert outputs[param.name].shape == call.outputs[param.name].shape == host[param.name].shape


# --- by hand --------------------------------------------------------------------------------------------------


def test_adaptive_means_by_hand() -> None:
    (made,) = golden_of(
        "AdaptiveAvgPool2d", self=f32([[[1.0, 2, 3], [4, 5, 6], [7, 8, 9]]]), outputSize=(1, 2)
    )
    assert made.tolist() == [[[4.5, 5.5]]]
    # A value that is not in a window leaves it alone.
    (kept,) = golden_of("AdaptiveAvgPool2d", self=f32([[[INF, 2, 4, NAN]]]), outputSize=(1, 4))
    assert np.array_equal(kept, [[[INF, 2, 4, NAN]]], equal_nan=True)


def pooled(data: Any, dtype: str = "float32", **change: Any) -> Any:
    attributes = {
        "kernelShape": (2,),
        "strides": (1,),
        "autoPad": 0,
        "pads": (0,),
        "dilations": (1,),
        "ceilMode": 0,
    }
    return golden_of("MaxPool", self=tensor(dtype, data), **{**attributes, **change})[0].tolist()


def test_largest_elements_by_hand() -> None:
    plane = [[[1.0, 5, 2], [4, 3, 0]]]
    assert pooled(plane) == [[[5, 5]]]
    assert pooled(plane, pads=(1,), strides=(2,)) == [[[1, 5], [4, 3]]]
    assert pooled([[[-5, -6], [-7, -8]]], "int8", pads=(1,), strides=(2,)) == [[[-5, -6], [-7, -8]]]
    assert pooled([[[1.0, 2, 3]]], kernelShape=(1, 2), strides=(1, 2), ceilMode=1) == [[[2, 3]]]
    assert pooled([[[1.0, 2, 3]]], kernelShape=(1, 2), strides=(1, 2)) == [[[2]]]


def test_a_stride_left_out_is_1_and_four_paddings_are_top_left_bottom_right() -> None:
    """aclnnMaxPool's document, which differs from PyTorch's in the stride."""
    plane = np.arange(16.0).reshape(1, 4, 4)
    assert pooled(plane, strides=()) == [[[5, 6, 7], [9, 10, 11], [13, 14, 15]]]
    given = {
        "kernelShape": (2,),
        "autoPad": 0,
        "pads": (),
        "dilations": (),
        "ceilMode": 0,
        "self": f32(plane),
    }
    assert "strides is empty" in called("MaxPool", strides=(), **given).golden.divergences[0]
    assert not called("MaxPool", strides=(1,), **given).golden.divergences
    assert pooled(plane, strides=(), pads=(1, 0, 0, 1)) == [
        [[1, 2, 3, 3], [5, 6, 7, 7], [9, 10, 11, 11], [13, 14, 15, 15]]
    ]
    assert pooled(plane, strides=(2,), pads=(0, 1, 1, 0)) == [[[4, 6], [12, 14]]]


@pytest.mark.parametrize(
    "change",
    [{"autoPad": 1}, {"pads": (0, 0, 1)}, {"pads": (2, 1)}, {"pads": (2, 0, 1, 0)}, {"dilations": (1, 2)}],
)
def test_what_the_documents_leave_to_the_kernel_is_not_defined(change: dict[str, Any]) -> None:
    with pytest.raises(UndefinedResult):
        pooled([[[1.0, 5, 2], [4, 3, 0]]], **change)


def test_slopes_go_back_to_their_places() -> None:
    given = {"gradOutput": f32([[[1.0, 2], [3, 4]]]), "self": f32([[[9.0, 9]]]), "outputSize": (2, 2)}
    assert golden_of("MaxUnpool2dBackward", indices=i64([[[3, 0]]]), **given)[0].tolist() == [[[4, 1]]]
    with pytest.raises(UndefinedResult, match="outside its plane"):
        golden_of("MaxUnpool2dBackward", indices=i64([[[4, 0]]]), **given)


def test_elements_go_to_their_places() -> None:
    given = {"self": f32([[[1.0, 2]]]), "indices": i64([[[3, 0]]])}
    assert golden_of("MaxUnpool2d", outputSize=(2, 2), **given)[0].tolist() == [[[2, 0], [0, 1]]]
    # What outRef held does not count.
    more = {"stride": (1, 1, 1), "padding": (0, 0, 0), "outputSize": (1, 2, 2)}
    deep = {"self": f32([[[[1.0, 2]]]]), "indices": i64([[[[3, 0]]]]), "outRef": f32([[[[9.0, 9], [9, 9]]]])}
    assert golden_of("MaxUnpool3d", **deep, **more)[0].tolist() == [[[[2, 0], [0, 1]]]]
    for indices, size, why in (
        ([[[4, 0]]], (2, 2), "outside"),
        ([[[0, 0]]], (2, 2), "repeated"),
        ([[[0]]], (2, 2), "indices of shape"),
        ([[[0, 1]]], (4,), "indices of shape"),
    ):
        with pytest.raises(UndefinedResult, match=why):
            golden_of("MaxUnpool2d", self=given["self"], indices=i64(indices), outputSize=size)


def test_rows_are_brought_down_to_a_norm_once() -> None:
    given = {"selfRef": f32([[3.0, 4], [3, 4], [0.3, 0.4]]), "normType": 2.0, "maxNorm": 1.0}
    (made,) = golden_of("EmbeddingRenorm", indices=i64([0, 0, 2]), **given)
    np.testing.assert_allclose(made, [[0.6, 0.8], [3, 4], [0.3, 0.4]], rtol=1e-6)
    with pytest.raises(UndefinedResult, match="outside"):
        golden_of("EmbeddingRenorm", indices=i64([3]), **given)
    with pytest.raises(UndefinedResult, match="p 0"):
        golden_of("Renorm", self=f32([[1.0]]), p=0.0, dim=0, maxNorm=1.0)


def test_a_batch_norm_with_given_statistics_by_hand() -> None:
    channel = {"weight": f32([2.0, 1]), "bias": f32([1.0, 0]), "mean": f32([1.0, 2]), "invstd": f32([0.5, 3])}
    (made,) = golden_of("BatchNormElemt", input=f32([[3.0, 4], [1, 2]]), eps=0.3, **channel)
    assert made.tolist() == [[3, 6], [1, 0]]  # eps is in invstd already


def test_a_layer_norms_slope_by_hand() -> None:
    made = golden_of(
        "AddLayerNormGrad",
        dy=f32([[1.0, 3]]),
        x1=f32([[1.0, 1]]),
        x2=f32([[0.0, 2]]),
        rstd=f32([[1.0]]),
        mean=f32([[2.0]]),
        gamma=f32([1.0, 1]),
        dsumOptional=f32([[10.0, 20]]),
    )
    assert [m.tolist() for m in made] == [[[10, 20]], [-1, 3], [1, 3]]
    with pytest.raises(UndefinedResult, match="statistics"):
        golden_of("AddLayerNormGrad", dy=f32([[1.0]]), x1=f32([[1.0]]), x2=f32([[1.0]]), rstd=f32([1.0, 2]),
                  mean=f32([[1.0]]), gamma=f32([1.0]), dsumOptional=None)  # fmt: skip


def test_a_convolution_over_time_by_hand() -> None:
    given = {"self": f32([[[1.0]], [[2]], [[3]]]), "weight": f32([[[1.0]], [[10]]]), "bias": f32([0.5])}
    (made,) = golden_of("ConvTbc", pad=1, cubeMathType=0, **given)
    assert made.reshape(-1).tolist() == [10.5, 21.5, 32.5, 3.5]


@pytest.mark.parametrize(("root", "wanted"), [(False, [[-4.0, 0]]), (True, [[-8.0, 0]])])
def test_anti_quantisation_by_hand(root: bool, wanted: Any) -> None:
    given = {"x": tensor("int8", [[-3, 4]]), "scale": f32([2.0, 3]), "offset": f32([1.0, -4])}
    made = called("AscendAntiQuant", dstType=1, sqrtMode=root, **given)
    assert made.golden.outputs["y"].tolist() == wanted
    assert made.host["y"].dtype == np.float16
    with pytest.raises(UndefinedResult, match="eight int4"):
        called("AscendAntiQuant", dstType=1, sqrtMode=root, **{**given, "x": tensor("int32", [[1, 2]])})


# --- against PyTorch ------------------------------------------------------------------------------------------


def drawn(*shape: int, seed: int = 3) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


def close(made: Any, wanted: Any) -> None:
    np.testing.assert_allclose(made, wanted.detach().numpy(), rtol=1e-12, atol=1e-12)


def double(array: Any) -> Any:
    return torch.from_numpy(np.asarray(array)).double()


@needs_torch
@given(
    st.lists(st.integers(1, 9), min_size=3, max_size=3), st.lists(st.integers(1, 12), min_size=3, max_size=3)
)
def test_adaptive_means_against_torch(shape: list[int], sizes: list[int]) -> None:
    x = drawn(2, *shape)
    (made,) = golden_of("AdaptiveAvgPool3d", self=f32(x), outputSize=tuple(sizes))
    close(made, F.adaptive_avg_pool3d(double(x), sizes))
    (flat,) = golden_of("AdaptiveAvgPool2d", self=f32(x), outputSize=tuple(sizes[:2]))
    close(flat, F.adaptive_avg_pool2d(double(x), sizes[:2]))


@needs_torch
@given(st.data())
def test_largest_elements_against_torch(data: Any) -> None:
    kernel, stride = (tuple(data.draw(st.integers(1, 4)) for _ in range(2)) for _ in range(2))
    pads = tuple(data.draw(st.integers(0, k // 2)) for k in kernel)
    shape = tuple(data.draw(st.integers(k, 12)) for k in kernel)
    ceil = data.draw(st.booleans())
    x = drawn(2, *shape)
    x.reshape(-1)[:: data.draw(st.integers(3, 50))] = data.draw(st.sampled_from([0.0, NAN, INF, -INF]))
    (made,) = golden_of(
        "MaxPool", self=f32(x), kernelShape=kernel, strides=stride, autoPad=0, pads=pads, dilations=(1,),
        ceilMode=int(ceil),
    )  # fmt: skip
    wanted = F.max_pool2d(double(x), kernel, stride, pads, ceil_mode=ceil)
    assert np.array_equal(made, wanted.numpy(), equal_nan=True)


@needs_torch
@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_a_renorm_at_the_border_is_float32s(dtype: str) -> None:
    """A norm beyond float32 is Inf there and all becomes 0, in PyTorch too; float64 has the numbers."""
    border = float(np.finfo(dtype).max)
    x = np.full((2, 3, 4), border, dtype)
    made = run(ALL["Renorm"], self=tensor(dtype, x), p=2.0, dim=1, maxNorm=1.5)
    double_made = torch.renorm(torch.from_numpy(x).double(), 2.0, 1, 1.5).numpy()
    np.testing.assert_allclose(made.golden.outputs["out"], double_made, rtol=1e-6)
    single = torch.renorm(torch.from_numpy(x).float(), 2.0, 1, 1.5).numpy()
    assert (single == 0).all() == (dtype == "float32")
    np.testing.assert_allclose(made.host["out"].astype(np.float32), single, rtol=2e-3)


@needs_torch
def test_unpooling_against_torch() -> None:
    x = drawn(2, 3, 4, 6)
    small, places = F.max_pool2d(double(x), 2, return_indices=True)
    small.requires_grad_(True)
    grad = drawn(2, 3, 4, 6, seed=4)
    (slope,) = torch.autograd.grad(F.max_unpool2d(small, places, 2, output_size=(4, 6)), small, double(grad))
    (made,) = golden_of(
        "MaxUnpool2dBackward",
        gradOutput=f32(grad),
        self=f32(small.detach().numpy()),
        indices=i64(places.numpy()),
        outputSize=(4, 6),
    )
    close(made, slope)


@needs_torch
@pytest.mark.parametrize("axes", [2, 3])
def test_elements_and_slopes_of_unpooling_against_torch(axes: int) -> None:
    shape = (2, 3, 4, 6, 2)[: axes + 2]
    pool, back = (F.max_pool2d, F.max_unpool2d) if axes == 2 else (F.max_pool3d, F.max_unpool3d)
    small, places = pool(double(drawn(*shape)), 2, return_indices=True)
    small.requires_grad_(True)
    wide = back(small, places, 2, output_size=shape[2:])
    grad = drawn(*shape, seed=4)
    (slope,) = torch.autograd.grad(wide, small, double(grad))
    own = small.detach().numpy().astype(np.float32)
    more = {"stride": (2,) * 3, "padding": (0,) * 3} if axes == 3 else {}
    given = {"self": f32(own), "indices": i64(places.numpy()), "outputSize": shape[2:], **more}
    out = {"outRef": f32(np.zeros(shape))} if axes == 3 else {}
    close(golden_of(f"MaxUnpool{axes}d", **given, **out)[0], wide)
    close(golden_of(f"MaxUnpool{axes}dBackward", gradOutput=f32(grad), **given)[0], slope)


@needs_torch
@pytest.mark.parametrize("p", [1.0, 2.0, 3.5, INF])
@pytest.mark.parametrize("dim", [0, -1])
def test_renorms_against_torch(p: float, dim: int) -> None:
    x = drawn(4, 3, 5)
    for name, own in (("Renorm", "self"), ("InplaceRenorm", "selfRef")):
        (made,) = golden_of(name, p=p, dim=dim, maxNorm=2.0, **{own: f32(x)})
        np.testing.assert_allclose(made, torch.renorm(double(x), p, dim, 2.0).numpy(), rtol=1e-9)
    (made,) = golden_of("EmbeddingRenorm", selfRef=f32(x[0]), indices=i64([1, 2, 1]), normType=p, maxNorm=0.5)
    wanted = torch.embedding_renorm_(double(x[0]), torch.tensor([1, 2, 1]), 0.5, p)
    np.testing.assert_allclose(made, wanted.numpy(), rtol=1e-9)


@needs_torch
@pytest.mark.parametrize("shape", [(4, 3), (2, 3, 5), (2, 3, 4, 5), (2, 3, 2, 2, 2)])
def test_a_batch_norm_against_torch(shape: tuple[int, ...]) -> None:
    x, weight, bias, mean = drawn(*shape), drawn(3), drawn(3, seed=5), drawn(3, seed=6)
    invstd = np.abs(drawn(3, seed=7)) + np.float32(0.5)
    wanted = F.batch_norm(
        double(x),
        double(mean),
        1 / double(invstd) ** 2,
        double(weight),
        double(bias),
        training=False,
        eps=0.0,
    )
    channel = {"weight": f32(weight), "bias": f32(bias), "mean": f32(mean), "invstd": f32(invstd)}
    (made,) = golden_of("BatchNormElemt", input=f32(x), eps=0.0, **channel)
    np.testing.assert_allclose(made, wanted.numpy(), rtol=1e-9, atol=1e-12)


@needs_torch
@pytest.mark.parametrize(("shape", "last"), [((4, 8), 1), ((2, 3, 5), 1), ((2, 3, 4, 5), 2)])
def test_a_layer_norms_slope_against_torch(shape: tuple[int, ...], last: int) -> None:
    x1, x2, dy, dsum = (drawn(*shape, seed=s) for s in (1, 2, 3, 4))
    gamma = drawn(*shape[-last:], seed=5)
    axes = tuple(range(len(shape) - last, len(shape)))
    total = x1.astype(np.float64) + x2
    mean = total.mean(axes, keepdims=True).astype(np.float32)
    rstd = (1 / np.sqrt(total.var(axes, keepdims=True) + 1e-5)).astype(np.float32)
    wanted = torch.ops.aten.native_layer_norm_backward(
        double(dy),
        double(total),
        shape[-last:],
        double(mean),
        double(rstd),
        double(gamma),
        double(gamma),
        [True] * 3,
    )
    made = golden_of(
        "AddLayerNormGrad", dy=f32(dy), x1=f32(x1), x2=f32(x2), rstd=f32(rstd), mean=f32(mean), gamma=f32(gamma),
        dsumOptional=f32(dsum),
    )  # fmt: skip
    close(made[0], wanted[0] + double(dsum))
    close(made[1], wanted[1])
    close(made[2], wanted[2])


@needs_torch
@given(st.integers(1, 6), st.integers(1, 4), st.integers(0, 5))
def test_a_convolution_over_time_against_torch(length: int, steps: int, pad: int) -> None:
    if length + 2 * pad < steps:
        return
    x, weight, bias = drawn(length, 2, 3), drawn(steps, 3, 4), drawn(4)
    (made,) = golden_of("ConvTbc", self=f32(x), weight=f32(weight), bias=f32(bias), pad=pad, cubeMathType=0)
    close(made, torch.conv_tbc(double(x), double(weight), double(bias), pad))
