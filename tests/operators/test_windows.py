"""Pools by windows: by hand, then against PyTorch over all attributes."""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
import pytest
from family_calls import both, call_of, ordinary
from hypothesis import given, settings
from hypothesis import strategies as st
from operator_calls import Both, arguments, run, tensor
from operator_calls import call_of as made_call

from ascend_opcli.model import Attribute
from ascend_opcli.operators.catalog import find, operators
from ascend_opcli.operators.documents import catalogued
from ascend_opcli.operators.families.windows import OPERATORS
from ascend_opcli.reference.evaluate import golden
from ascend_opcli.reference.fitting import ReferenceFailure, UndefinedResult

try:
    import torch

    F = torch.nn.functional
except ImportError:
    torch = F = None

needs_torch = pytest.mark.skipif(torch is None, reason="PyTorch is the oracle")
ALL = {op.name.removeprefix("aclnn"): op for op in OPERATORS}
NAN, INF = float("nan"), float("inf")


def called(name: str, **given: Any) -> Both:
    return run(ALL[name], **{n: Attribute(v) if isinstance(v, tuple) else v for n, v in given.items()})


def golden_of(name: str, **given: Any) -> list[Any]:
    return [np.asarray(v) for v in called(name, **given).golden.outputs.values()]


def f32(data: Any) -> Any:
    return tensor("float32", data)


def i64(data: Any) -> Any:
    return tensor("int64", data)


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
@pytest.mark.parametrize("name", ALL)
def test_every_operator_is_the_catalogs_and_has_its_inferred_shape(name: str, dtype: str) -> None:
    operator = ALL[name]
    assert operator.signature == catalogued.entry(operator.name).signature
    assert operator.summary
    call = call_of(operator, ordinary(operator, dtype))
    outputs, host = both(operator, call)
    near = {"float32": 1e-5, "float16": 2e-3, "bfloat16": 1e-2}[dtype]
    for param in operator.signature.outputs:
        made = outputs[param.name]
        assert made.shape == call.outputs[param.name].shape == host[param.name].shape
        np.testing.assert_allclose(host[param.name].astype(np.float64), made, rtol=near, atol=near)


def test_samples_keep_to_what_the_documents_take() -> None:
    """Most products take a dilation of 1 alone, and paddings of at most half the kernel."""
    dilated = 0
    for operator in operators().values():
        sample = operator.sample_attributes
        for name, value in sample.items():
            if name.startswith("dilation"):
                dilated += 1
                assert set(value) == {1}, operator.name
        kernel = sample.get("kernelSize", sample.get("kernelShape"))
        pads = sample.get("padding", sample.get("paddings", sample.get("pads")))
        if isinstance(kernel, tuple) and isinstance(pads, tuple) and len(kernel) == len(pads):
            assert all(2 * p <= k for p, k in zip(pads, kernel, strict=True)), operator.name
    assert dilated >= 6


# --- by hand --------------------------------------------------------------------------------------------------

PLANE = [[[1.0, 2, 3], [4, 5, 6], [7, 8, 9]]]


def averaged(**change: Any) -> Any:
    attributes = {"kernelSize": (2,), "strides": (), "paddings": (1,), "ceilMode": False, "countIncludePad": True,
                  "divisorOverride": 0, "cubeMathType": 0}  # fmt: skip
    return golden_of("AvgPool2d", self=f32(PLANE), **{**attributes, **change})[0].tolist()


def test_averages_by_hand() -> None:
    assert averaged() == [[[0.25, 1.25], [2.75, 7]]]
    assert averaged(countIncludePad=False) == [[[1, 2.5], [5.5, 7]]]
    assert averaged(divisorOverride=-2) == [[[-0.5, -2.5], [-5.5, -14]]]
    assert averaged(paddings=(0,), ceilMode=True) == [[[3, 4.5], [7.5, 9]]]
    assert averaged(kernelSize=(1, 3), strides=(2, 1), paddings=(0, 0)) == [[[2], [8]]]


def test_an_average_goes_back_to_its_elements() -> None:
    own = {"origInputShape": (1, 1, 2, 3), "kernelH": 2, "kernelW": 2, "strideH": 1, "strideW": 2, "padTop": 0,
           "padBottom": 1, "padLeft": 0, "padRight": 1, "ceilMode": False, "divisorOverride": 0}  # fmt: skip
    grad = f32([[[[4.0, 8], [12, 16]]]])
    (made,) = golden_of("AveragePoolingGrad", gradOutput=grad, countIncludePad=True, **own)
    assert made.tolist() == [[[[1, 1, 2], [4, 4, 6]]]]
    (inner,) = golden_of("AveragePoolingGrad", gradOutput=grad, countIncludePad=False, **own)
    assert inner.tolist() == [[[[1, 1, 4], [7, 7, 20]]]]


POOL = {"kernelSize": (2,), "stride": (1,), "padding": (0,), "dilation": (1,), "ceilMode": False}


def test_largest_elements_and_their_places_by_hand() -> None:
    made = called("MaxPool2dWithIndices", self=f32(PLANE), **POOL)
    assert [v.tolist() for v in made.golden.outputs.values()] == [[[[5, 6], [8, 9]]], [[[4, 5], [7, 8]]]]
    assert made.golden.divergences == ()
    assert made.host["indices"].dtype == np.int32


def test_of_equal_elements_the_first_is_named() -> None:
    made = called("MaxPool2dWithIndices", self=f32([[[1.0, 3, 3], [3, 2, 3]]]), **POOL)
    assert made.golden.outputs["indices"].tolist() == [[[1, 1]]]
    even = called("AdaptiveMaxPool2d", self=f32([[[NAN, 3, 3], [3, 2, NAN]]]), outputSize=(1, 1))
    assert even.golden.outputs["indicesOut"].tolist() == [[[5]]]
    low = called(
        "MaxPool2dWithIndices", self=f32([[[-INF, -INF], [-INF, -INF]]]), **{**POOL, "padding": (1,)}
    )
    assert low.golden.outputs["indices"].tolist() == [[[0, 0, 1], [0, 0, 1], [2, 2, 3]]]


def test_slopes_that_meet_are_added() -> None:
    (made,) = golden_of("MaxPool2dWithIndicesBackward", gradOutput=f32([[[1.0, 2], [3, 4]]]), self=f32(PLANE),
                        indices=i64([[[4, 4], [0, 8]]]), **POOL)  # fmt: skip
    assert made.tolist() == [[[3, 0, 0], [0, 3, 0], [0, 0, 4]]]


def test_maxima_of_channels_last_with_sides() -> None:
    x = np.arange(1 * 2 * 2 * 3 * 2, dtype=np.float32).reshape(1, 2, 2, 3, 2)
    attributes = {"ksize": (1, 2, 1, 2, 1), "strides": (1, 1, 1, 2, 1), "padding": "CALCULATED",
                  "padsOptional": (1, 0, 0, 0, 0, 1), "dilationOptional": None}  # fmt: skip
    (made,) = golden_of("MaxPool3D", x=f32(x), **attributes)
    one, two = [[[2, 3], [4, 5]], [[8, 9], [10, 11]]], [[[14, 15], [16, 17]], [[20, 21], [22, 23]]]
    assert made.tolist() == [[one, two]]
    swapped = {**attributes, "ksize": (2, 1, 2), "strides": (1, 1, 2), "dataFormatOptional": "NCDHW"}
    (first,) = golden_of("MaxPool3D", x=f32(np.moveaxis(x, -1, 1)), **swapped)
    assert np.moveaxis(first, 1, -1).tolist() == made.tolist()
    (none,) = golden_of("MaxPool3D", x=f32(x), **{**attributes, "padding": "VALID"})
    assert none.shape == (1, 1, 2, 1, 2)


def test_maxima_with_a_side_each_by_hand() -> None:
    (made,) = golden_of("MaxPoolV3", x=f32([PLANE]), ksize=(1, 1, 2, 2), strides=(1, 1, 2, 2), pads=(1, 0, 0, 1),
                        ceilMode=0)  # fmt: skip
    assert made.tolist() == [[[[2, 3], [8, 9]]]]


@pytest.mark.parametrize(
    ("name", "given", "why"),
    [
        ("AvgPool2d", {"paddings": (2,)}, "half the kernel"),
        ("AvgPool2d", {"paddings": (0, 0, 1, 1)}, "4 numbers"),
        ("AvgPool2d", {"strides": (0,)}, "stride of 0"),
        ("MaxPool2dWithIndices", {"dilation": (1, 1, 1)}, "3 numbers"),
        ("MaxPool2dWithIndices", {"dilation": (4,), "padding": (1,), "stride": (1,)}, "in the padding"),
        ("MaxPool2dWithIndicesBackward", {"indices": i64([[[9, 0], [0, 0]]])}, "outside its plane"),
        ("MaxPool2dWithIndicesBackward", {"indices": i64([[[0, 0]]])}, "indices of shape"),
        ("AvgPool2dBackward", {"stride": (2,)}, "windows"),
    ],
)
def test_what_is_not_defined(name: str, given: dict[str, Any], why: str) -> None:
    plane = {"self": f32(PLANE), "kernelSize": (2,), "ceilMode": False}
    average = {"countIncludePad": True, "divisorOverride": 0, "cubeMathType": 0}
    own: dict[str, Any] = {
        "AvgPool2d": {"strides": (1,), "paddings": (0,), **average},
        "AvgPool2dBackward": {
            "stride": (1,),
            "padding": (0,),
            "gradOutput": f32([[[1.0, 1], [1, 1]]]),
            **average,
        },
    }
    most = {"stride": (1,), "padding": (0,), "dilation": (1,)}
    more = own.get(
        name, most if name == "MaxPool2dWithIndices" else {**most, "gradOutput": f32([[[1.0, 1], [1, 1]]])}
    )
    with pytest.raises(UndefinedResult, match=why):
        called(name, **{**plane, **more, **given})


def test_what_the_3d_document_leaves_open() -> None:
    for change in ({"padding": "SAME"}, {"ksize": (2, 1, 1, 1, 1)}, {"padsOptional": (1, 0)}):
        given = {"ksize": (1,), "strides": (1,), "padding": "CALCULATED", "padsOptional": None,
                 "dilationOptional": None, **change}  # fmt: skip
        with pytest.raises(UndefinedResult):
            called("MaxPool3D", x=f32(np.zeros((1, 2, 2, 2, 1))), **given)


# --- how much memory a window takes ---------------------------------------------------------------------------


def peak(name: str, **given: Any) -> tuple[list[Any], int]:
    """What the golden is, and how many bytes were held at most while it was made."""
    operator = ALL.get(name) or find(f"aclnn{name}")
    call = made_call(operator, arguments(operator, **{
        n: Attribute(v) if isinstance(v, tuple) else v for n, v in given.items()
    }))  # fmt: skip
    tracemalloc.start()
    try:
        made = golden(operator, call).outputs
        return [np.asarray(v) for v in made.values()], tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


FAR = 200_000_000
_WIDE = {"kernelSize": (FAR,), "ceilMode": False}
_MOST = {"stride": (1,), "padding": (FAR // 2,), "dilation": (1,), **_WIDE}
_MEAN = {"countIncludePad": False, "divisorOverride": 0, **_WIDE}
WINDOWED: dict[str, dict[str, Any]] = {
    "AvgPool2d": {"strides": (1,), "paddings": (FAR // 2,), "cubeMathType": 0, **_MEAN},
    "AvgPool3d": {"stride": (1,), "padding": (FAR // 2,), **_MEAN},
    "MaxPool2dWithIndices": _MOST,
    "MaxPool3dWithArgmax": _MOST,
    "MaxPool": {
        "kernelShape": (FAR,),
        "strides": (),
        "autoPad": 0,
        "pads": (FAR // 2,),
        "dilations": (),
        "ceilMode": 0,
    },
}


@pytest.mark.parametrize("name", WINDOWED)
def test_a_kernel_far_beyond_its_tensor_takes_no_memory_of_its_length(name: str) -> None:
    plane = np.arange(1.0, 9, dtype=np.float32).reshape((1, 1, 2, 2, 2) if "3d" in name else (1, 2, 2, 2))
    (made, *_), most = peak(name, self=f32(plane), **WINDOWED[name])
    assert most < 1 << 20
    lead = 2 if "3d" in name else 1 + plane.ndim - 3
    assert made.shape == (*plane.shape[:lead], *[3] * (plane.ndim - lead))
    axes = tuple(range(lead, plane.ndim))
    whole = plane.max(axis=axes) if "Max" in name else plane.mean(axis=axes)
    # The middle window has the whole plane.
    np.testing.assert_allclose(made[(..., *[1] * len(axes))], whole)


@pytest.mark.parametrize("far", [10**12, 10**18, 2**62])
@pytest.mark.parametrize("name", WINDOWED)
def test_windows_beyond_all_measure_are_told_by_their_figures(name: str, far: int) -> None:
    """The output is said to be small, so that nothing but the reference can stop it."""
    plane = np.zeros((1, 1, 2, 2, 2) if "3d" in name else (1, 2, 2, 2), np.float32)
    given = {
        n: tuple(v // (FAR // 2) * (far // 2) if v >= FAR // 2 else v for v in value)
        if isinstance(value, tuple)
        else value
        for n, value in WINDOWED[name].items()
    }
    given = {n: v for n, v in given.items() if n not in ("paddings", "padding", "pads")} | {
        n: (0,) for n in ("paddings", "padding", "pads") if n in given
    }
    outputs = {p.name: tensor("float32", shape=(1,)) for p in find(f"aclnn{name}").signature.outputs}
    with pytest.raises(ReferenceFailure, match=r"shape|beyond all tensors"):
        peak(name, self=f32(plane), **given, **outputs)


def test_many_windows_in_a_wide_padding_are_refused_before_they_are_made() -> None:
    with pytest.raises(UndefinedResult, match="windows along an axis of 3"):
        called("MaxPoolV3", x=f32([PLANE]), ksize=(1,), strides=(1,), pads=(10**12, 0, 0, 0), ceilMode=0,
               out=tensor("float32", shape=(1,)))  # fmt: skip


@pytest.mark.parametrize(
    "name", ["AdaptiveMaxPool2d", "AdaptiveAvgPool2d", "AdaptiveMaxPool3d", "AdaptiveAvgPool3d"]
)
def test_evenly_shared_windows_need_a_number_for_each_axis_and_elements(name: str) -> None:
    operator = find(f"aclnn{name}")
    axes = int(name[-2])
    for shape, size in (
        ((1, 1, *[4] * axes), (2,) * (axes + 1)),
        ((1, 1, *[4] * axes), (2,) * (axes - 1)),
        ((1, 1, *[4] * axes), (-1, *[2] * (axes - 1))),
        ((1, 1, 0, *[4] * (axes - 1)), (2,) * axes),
    ):
        outputs = {p.name: tensor("float32", shape=(1,)) for p in operator.signature.outputs}
        with pytest.raises(UndefinedResult):
            run(operator, self=tensor("float32", np.zeros(shape)), outputSize=Attribute(size), **outputs)


# --- against PyTorch ------------------------------------------------------------------------------------------


def drawn(*shape: int, seed: int = 3) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


def double(array: Any) -> Any:
    return torch.from_numpy(np.asarray(array)).double()


def close(made: Any, wanted: Any) -> None:
    np.testing.assert_allclose(made, wanted.detach().numpy(), rtol=1e-12, atol=1e-12)


@st.composite
def pools(draw: Any) -> tuple[np.ndarray, dict[str, Any]]:
    axes = draw(st.integers(2, 3))
    kernel, stride, step = (tuple(draw(st.integers(1, 4)) for _ in range(axes)) for _ in range(3))
    pads = tuple(draw(st.integers(0, k // 2)) for k in kernel)
    # Large enough that no window lies in the padding altogether.
    shape = tuple(draw(st.integers((k - 1) * d + 1, 9)) if (k - 1) * d < 9 else k * d for k, d in
                  zip(kernel, step, strict=True))  # fmt: skip
    lead = draw(st.sampled_from([(2,), (2, 1), (1, 2)]))
    return drawn(*lead, *shape, seed=draw(st.integers(0, 9))), {
        "kernel": kernel, "stride": draw(st.sampled_from([stride, stride, ()])), "step": step, "pads": pads,
        "ceil": draw(st.booleans()), "include": draw(st.booleans()), "divisor": draw(st.sampled_from([0, 0, 3, -7])),
    }  # fmt: skip


@needs_torch
@given(pools())
def test_averages_and_their_slopes_against_torch(pool: Any) -> None:
    x, a = pool
    axes = len(a["kernel"])
    math = {"cubeMathType": 0} if axes == 2 else {}
    names = ("strides", "paddings") if axes == 2 else ("stride", "padding")
    rest = {"ceilMode": a["ceil"], "countIncludePad": a["include"], "divisorOverride": a["divisor"], **math}
    (made,) = golden_of(
        f"AvgPool{axes}d",
        self=f32(x),
        kernelSize=a["kernel"],
        **{names[0]: a["stride"], names[1]: a["pads"]},
        **rest,
    )
    own = double(x).requires_grad_()
    pooled = (F.avg_pool2d if axes == 2 else F.avg_pool3d)(
        own, a["kernel"], a["stride"] or None, a["pads"], a["ceil"], a["include"], a["divisor"] or None
    )
    close(made, pooled)
    grad = drawn(*pooled.shape, seed=5)
    (slope,) = torch.autograd.grad(pooled, own, double(grad))
    (back,) = golden_of(
        f"AvgPool{axes}dBackward", gradOutput=f32(grad), self=f32(x), kernelSize=a["kernel"], stride=a["stride"],
        padding=a["pads"], **rest,
    )  # fmt: skip
    close(back, slope)


@needs_torch
@given(pools(), st.sampled_from([0.0, INF, -INF, NAN]), st.integers(1, 50))
def test_largest_elements_and_their_slopes_against_torch(pool: Any, special: float, every: int) -> None:
    x, a = pool
    axes = len(a["kernel"])
    x.reshape(-1)[::every] = special
    names = {2: "MaxPool2dWithIndices", 3: "MaxPool3dWithArgmax"}
    own = {"kernelSize": a["kernel"], "stride": a["stride"], "padding": a["pads"], "dilation": a["step"],
           "ceilMode": a["ceil"]}  # fmt: skip
    made, places = golden_of(names[axes], self=f32(x), **own)
    leaf = double(x).requires_grad_()
    pooled, wanted = (F.max_pool2d if axes == 2 else F.max_pool3d)(
        leaf, a["kernel"], a["stride"] or None, a["pads"], a["step"], a["ceil"], return_indices=True
    )
    assert np.array_equal(made, pooled.detach().numpy(), equal_nan=True)
    assert np.array_equal(places, wanted.numpy())
    grad = drawn(*pooled.shape, seed=5)
    (slope,) = torch.autograd.grad(pooled, leaf, double(grad))
    (back,) = golden_of(
        names[axes] + "Backward", gradOutput=f32(grad), self=f32(x), indices=i64(places), **own
    )
    close(back, slope)


@needs_torch
@settings(max_examples=25)
@given(
    st.lists(st.integers(1, 9), min_size=3, max_size=3),
    st.lists(st.integers(1, 12), min_size=3, max_size=3),
    st.sampled_from([0, 1, 2, 5]),
)
def test_adaptive_pools_against_torch(shape: list[int], sizes: list[int], every: int) -> None:
    x = drawn(2, *shape)
    if every:
        x.reshape(-1)[::every] = NAN
    for axes in (2, 3):
        size, own = tuple(sizes[:axes]), double(x).requires_grad_()
        pooled, wanted = (F.adaptive_max_pool2d if axes == 2 else F.adaptive_max_pool3d)(own, size, True)
        made, places = golden_of(f"AdaptiveMaxPool{axes}d", self=f32(x), outputSize=size)
        close(made, pooled)
        assert np.array_equal(places, wanted.numpy())
        grad = drawn(*pooled.shape, seed=5)
        given = {"gradOutput": f32(grad), "self": f32(x)}
        (slope,) = torch.autograd.grad(pooled, own, double(grad))
        (back,) = golden_of(f"AdaptiveMaxPool{axes}dBackward", indices=i64(places), **given)
        close(back, slope)
        means = (F.adaptive_avg_pool2d if axes == 2 else F.adaptive_avg_pool3d)(own, size)
        (slope,) = torch.autograd.grad(means, own, double(grad))
        (back,) = golden_of(f"AdaptiveAvgPool{axes}dBackward", **given)
        close(back, slope)
