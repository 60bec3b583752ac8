"""Quantisation by scales from the data, and norms and activations that quantise: by hand, then against PyTorch."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from operator_calls import arguments, call_of, run, tensor

from ascend_opcli.operators.catalog import find
from ascend_opcli.operators.families.quantisation import by_data as quantisation_by_data
from ascend_opcli.operators.families.quantisation import norms as quantised_norms
from ascend_opcli.reference.evaluate import golden, host_result, result_shapes
from ascend_opcli.reference.fitting import ReferenceFailure, UndefinedResult

try:
    import torch

    F = torch.nn.functional
except ImportError:
    torch = F = None

ALL = {
    op.name.removeprefix("aclnn"): op
    for family in (quantisation_by_data, quantised_norms)
    for op in family.OPERATORS
}
INF, NAN = float("inf"), float("nan")
needs_torch = pytest.mark.skipif(torch is None, reason="PyTorch is the oracle")
ALONE: dict[str, Any] = {"smoothScalesOptional": None, "groupIndexOptional": None}


def outputs_of(name: str, product: str = "atlas_a2", **given: Any) -> dict[str, Any]:
    operator = ALL[name]
    return dict(golden(operator, call_of(operator, arguments(operator, **given), product)).outputs)


def f16(data: Any) -> Any:
    return tensor("float16", data)


def f32(data: Any) -> Any:
    return tensor("float32", data)


def i32(data: Any) -> Any:
    return tensor("int32", data)


def out(dtype: str, *shape: int) -> Any:
    return tensor(dtype, None, shape)


# --- by hand --------------------------------------------------------------------------------------------------


def test_each_row_has_its_scale() -> None:
    made = outputs_of("DynamicQuant", x=f16([[127.0, -63.5, 0], [-2, 1, 0.25]]), smoothScalesOptional=None)
    assert made["scaleOut"].tolist() == [1, 2 / 127]
    assert made["yOut"].tolist() == [[127, -64, 0], [-127, 64, 16]]


def test_smoothing_comes_before_the_scale() -> None:
    made = outputs_of("DynamicQuant", x=f16([[127.0, 1, 1]]), smoothScalesOptional=f16([1.0, 254, -127]))
    assert made["scaleOut"].tolist() == [2]
    assert made["yOut"].tolist() == [[64, 127, -64]]


@pytest.mark.parametrize("product", ["atlas_inference", "atlas_training"])
def test_smoothing_is_without_effect_where_it_is_reserved(product: str) -> None:
    given = {"x": f16([[127.0, 1, 1]]), "smoothScalesOptional": f16([1.0, 254, -127])}
    assert outputs_of("DynamicQuant", product, **given)["scaleOut"].tolist() == [1]
    with pytest.raises(UndefinedResult, match="symmetrically"):
        outputs_of("DynamicQuantV2", product, **given, groupIndexOptional=None, dstType=2)


@pytest.mark.parametrize(
    ("dtype", "code", "largest"), [("float8_e4m3fn", 36, 448), ("float8_e5m2", 35, 57344)]
)
def test_a_float8_spans_its_range(dtype: str, code: int, largest: float) -> None:
    # A third of a row's largest value is no float32 number: the quotient must not leave the range.
    x = f16(np.asarray([[1 / 3, -0.1, 0.7], [3, 1, 2]]))
    made = outputs_of("DynamicQuant", x=x, smoothScalesOptional=None, yOut=out(dtype, 2, 3))
    assert np.abs(made["yOut"]).max() == pytest.approx(largest)
    operator = ALL["DynamicQuantV3"]
    given = {
        "dstType": code,
        "isSymmetrical": False,
        "quantMode": "pertoken",
        "yOut": out(dtype, 2, 3),
        **ALONE,
    }
    call = call_of(operator, arguments(operator, x=x, **given), "ascend950")
    both = golden(operator, call).outputs["yOut"], host_result(operator, call)["yOut"].astype(np.float64)
    for values in both:
        assert values.max() == pytest.approx(largest)
        assert values.min() == pytest.approx(-largest)


def test_an_offset_spans_the_whole_range_of_a_row() -> None:
    made = outputs_of("DynamicQuantV2", x=f16([[0.0, 255, 100], [-10, -9, -9.5]]), dstType=2, **ALONE)
    assert made["scaleOut"].tolist() == [1, 1 / 255]
    assert made["offsetOut"][0] == -128
    assert made["offsetOut"][1] == pytest.approx(127 + 9 * 255)
    assert made["yOut"][0].tolist() == [-128, 127, -28]
    assert made["yOut"][1].tolist()[:2] == [-128, 127]


def test_groups_have_their_own_smoothing() -> None:
    given = {"x": f16([[1.0, 2], [1, 2], [1, 2]]), "groupIndexOptional": i32([2, 3]), "dstType": 2}
    made = outputs_of("DynamicQuantV2", smoothScalesOptional=f16([[1.0, 1], [4, 1]]), **given)
    assert made["scaleOut"] == pytest.approx([1 / 255, 1 / 255, 2 / 255])
    assert made["yOut"].tolist() == [[-128, 127], [-128, 127], [127, -128]]
    with pytest.raises(UndefinedResult, match="not one row for each of 2 groups"):
        outputs_of("DynamicQuantV2", smoothScalesOptional=f16([1.0, 1]), **given)
    with pytest.raises(UndefinedResult, match="without smoothing"):
        outputs_of("DynamicQuantV2", smoothScalesOptional=None, **given)
    with pytest.raises(UndefinedResult, match="must not decrease"):
        outputs_of(
            "DynamicQuantV2",
            smoothScalesOptional=f16([[1.0, 1], [4, 1]]),
            **{**given, "groupIndexOptional": i32([1, 2])},
        )


@pytest.mark.parametrize(
    ("mode", "scale", "y"),
    [
        ("pertoken", [2 / 127, 4 / 127], [[64, 127], [-127, 32]]),
        ("perchannel", [4 / 127, 2 / 127], [[32, 127], [-127, 64]]),
        ("pertensor", [4 / 127], [[32, 64], [-127, 32]]),
    ],
)
@pytest.mark.parametrize("name", ["DynamicQuantV3", "DynamicQuantV4"])
def test_the_scale_of_a_token_a_channel_or_the_tensor(name: str, mode: str, scale: Any, y: Any) -> None:
    more = {"dstTypeMax": 7.0} if name.endswith("4") else {}  # for hifloat8 alone
    given = {
        "x": f16([[1.0, 2], [-4, 1]]),
        "dstType": 2,
        "isSymmetrical": True,
        "quantMode": mode,
        **more,
        **ALONE,
    }
    made = outputs_of(name, **given)
    assert made["scaleOut"].tolist() == scale
    assert made["yOut"].tolist() == y
    # Nobody says what an offset would hold, and none is wanted.
    assert "offsetOut" not in made
    assert set(outputs_of(name, **given, offsetOut=None)) == {"yOut", "scaleOut"}


def test_a_channels_smoothing_goes_by_its_tokens() -> None:
    given = {"x": f16([[1.0, 2], [-4, 1]]), "dstType": 2, "isSymmetrical": False, "groupIndexOptional": None}
    made = outputs_of("DynamicQuantV3", smoothScalesOptional=f16([4.0, 1]), quantMode="perchannel", **given)
    assert made["scaleOut"] == pytest.approx([8 / 255, 7 / 255])
    assert made["yOut"].tolist() == [[127, 127], [-128, -128]]


@pytest.mark.parametrize(
    ("rows", "y", "scale", "offset"),
    [
        ([[0.0, 0], [1, 2]], [[0, 0], [64, 127]], [0, 2 / 127], None),
        ([[INF, 1], [-INF, -1]], [[0, 0], [0, 0]], [INF, INF], None),
        ([[2.0, 2], [0, 0]], [[0, 0], [0, 0]], [0, 0], [-INF, NAN]),
        ([[-INF, 2], [2, INF]], [[0, 127], [0, 0]], [INF, INF], [127, NAN]),
    ],
)
def test_a_row_without_a_finite_scale_goes_through_the_quotients(
    rows: list[list[float]], y: list[list[int]], scale: list[float], offset: list[float] | None
) -> None:
    """The kernel divides without a guard, and its cast makes the integer 0 of NaN; other rows are as ever."""
    more: dict[str, Any] = {"offsetOut": None} if offset is None else {}
    made = outputs_of("DynamicQuantV2", **ALONE, x=f16(rows), dstType=2, **more)
    assert made["yOut"].tolist() == y
    np.testing.assert_allclose(made["scaleOut"], scale, rtol=1e-6)
    if offset is not None:
        np.testing.assert_allclose(made["offsetOut"], offset)


X = {"x": f16([[1.0, 2]])}
V3 = {**X, **ALONE, "dstType": 2, "isSymmetrical": True, "quantMode": "pertoken"}
SWIGLU = {"smoothScalesOptional": f32([1.0]), "offsetsOptional": None, "activateLeft": True}
OPEN: list[tuple[str, dict[str, Any], str]] = [
    ("DynamicQuantV2", {**ALONE, "x": f16([[0.0, 0]]), "dstType": 36, "offsetOut": None}, "scale would be 0"),
    ("DynamicQuant", {"x": f16([[NAN, 1]]), "smoothScalesOptional": None}, "not finite"),
    ("DynamicQuantV2", {**ALONE, "x": f16([[INF, 1]]), "dstType": 36, "offsetOut": None}, "not finite"),
    ("DynamicQuant", {**X, "smoothScalesOptional": f16([1.0, 2, 3])}, "smoothing scales are 3"),
    ("DynamicQuantV2", {**ALONE, **X, "dstType": 29}, "int4"),
    ("DynamicQuantV2", {**ALONE, **X, "dstType": 3}, "eight int4"),
    ("DynamicQuantV3", {**V3, "quantMode": "pergroup"}, "quantMode 'pergroup'"),
    ("DynamicQuantV3", {**V3, "quantMode": "pertensor", "groupIndexOptional": i32([1])}, "mode pertoken"),
    ("DynamicQuantV3", {**V3, "quantMode": "perchannel", "smoothScalesOptional": f16([1.0, 1])}, "axis before"),
    ("SwiGluQuant", {**SWIGLU, "x": f16([[1.0, 2]]), "groupIndexOptional": None, "quantModeOptional": None}, "groups"),
    ("SwiGluQuant", {**SWIGLU, "x": f16([[1.0, 2]]), "groupIndexOptional": i32([1]), "quantModeOptional": "x"}, "'x'"),
    ("SwiGluQuant", {**SWIGLU, "x": f16([[1.0, 2, 3]]), "groupIndexOptional": i32([1]), "quantModeOptional": None,
                     "yOut": out("int8", 1, 1)}, "odd"),
    ("SwiGluQuant", {**SWIGLU, "x": f16([[1.0, 2]]), "groupIndexOptional": i32([1]), "quantModeOptional": "static"},
     "offsetsOptional is null"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "more", "said"), OPEN)
def test_what_the_documents_leave_open_is_refused(name: str, more: dict[str, Any], said: str) -> None:
    with pytest.raises(UndefinedResult, match=said):
        outputs_of(name, **more)


@pytest.mark.parametrize("shape", [(0, 3), (2, 0, 3)])
def test_no_rows_are_no_trouble(shape: tuple[int, ...]) -> None:
    made = outputs_of("DynamicQuant", x=tensor("float16", np.zeros(shape)), smoothScalesOptional=None)
    assert made["yOut"].shape == shape
    assert made["scaleOut"].shape == shape[:-1]


def test_static_norms_by_hand() -> None:
    given = {
        "x1": f32([[1.0, -2]]),
        "x2": f32([[2.0, -2]]),
        "gamma": f32([2.0, 1]),
        "epsilon": 0.0,
        "axis": -1,
    }
    # x = 3, -4 with a root mean square of 5 / sqrt 2; y = 6, -4 times sqrt 2 / 5
    zeros = {"zeroPoints1Optional": i32([0, 3]), "zeroPoints2Optional": None}
    made = outputs_of(
        "AddRmsNormQuant",
        divMode=True,
        scales1=f32([0.1, 0.01]),
        scales2Optional=f32([1.0, 1]),
        **zeros,
        **given,
    )
    assert made["y1Out"].tolist() == [[17, -110]]  # 16.97, -113.14 + 3
    assert made["y2Out"].tolist() == [[2, -1]]
    assert made["xOut"].tolist() == [[3, -4]]
    made = outputs_of(
        "AddRmsNormQuant", divMode=False, scales1=f32([10.0, 100]), scales2Optional=None, **zeros, **given
    )
    assert made["y1Out"].tolist() == [[17, -110]]
    assert set(made) == {"y1Out", "xOut"}  # the second has no scales
    row = {
        "gamma": f32([[2.0, 1]]),
        "beta": f32([[0.0, 1]]),
        "scale": f32([0.1]),
        "offset": tensor("int8", [5]),
    }
    # (6, -4) sqrt 2 / 5 + (0, 1), divided by 0.1
    assert outputs_of("RmsNormQuant", x=f32([[3.0, -4]]), epsilon=0.0, **row)["y"].tolist() == [[22, 4]]


def test_a_norm_with_beta_gives_the_norm_without_it_too() -> None:
    given = {
        "x1": f32([[1.0, -2]]),
        "x2": f32([[2.0, -2]]),
        "gamma": f32([2.0, 1]),
        "epsilon": 0.0,
        "axis": -1,
    }
    given |= {"betaOptional": f32([1.0, -1]), "zeroPoints1Optional": None, "divMode": True}
    zeros = {"zeroPoints2Optional": i32([1, 1])}
    scales = {"scales1": f32([0.1, 0.1]), "scales2Optional": f32([1.0, 1])}
    made = outputs_of("AddRmsNormQuantV2", **given, **zeros, **scales)
    # The norm is 6 and -4 times sqrt 2 / 5.
    np.testing.assert_allclose(made["rmsNormOut"], [[1.6970562748477143, -1.1313708498984762]], rtol=1e-12)
    assert made["y1Out"].tolist() == [[27, -21]]
    assert made["y2Out"].tolist() == [[4, -1]]
    assert made["xOut"].tolist() == [[3, -4]]
    made = outputs_of("AddRmsNormQuantV2", **given, **zeros, **{**scales, "scales1": f32([0.1])})
    assert "y2Out" not in made  # one scale for all puts the second out of effect
    with pytest.raises(UndefinedResult, match="one product alone"):
        outputs_of("AddRmsNormQuantV2", **given, **zeros, **{**scales, "scales2Optional": None})


@pytest.mark.parametrize(("divide", "wanted"), [(True, [[32, -16]]), (False, [[5, 5]])])
def test_a_norm_that_divides_or_multiplies_and_hands_out_its_rstd(divide: bool, wanted: Any) -> None:
    given = {"x": f32([[3.0, -4]]), "gamma": f32([[2.0, 1]]), "betaOptional": f32([1.0, -1]), "epsilon": 0.0}
    given |= {"scale": f32([0.1]), "offsetOptional": tensor("int8", [5]), "divMode": divide}
    made = outputs_of("RmsNormQuantV3", "ascend950", outputRstd=True, **given)
    assert made["y"].tolist() == wanted  # 2.697 and -2.131 by 0.1, plus 5
    np.testing.assert_allclose(made["rstd"], [[2**0.5 / 5]], rtol=1e-12)
    assert "rstd" not in outputs_of("RmsNormQuantV3", "ascend950", outputRstd=False, **given)


def test_a_layer_norm_quantises_statically_only() -> None:
    given = {
        "x": f32([[1.0, 3]]),
        "gamma": f32([1.0, 2]),
        "beta": f32([0.0, 1]),
        "scale": f32([0.1]),
        "epsilon": 0.0,
    }
    zero = tensor("int8", [-5])
    made = outputs_of("LayerNormQuant", zeroPointsOptional=zero, quantMode=0, **given)
    assert made["res"].tolist() == [[-15, 25]]
    assert "scaleOut" not in made
    with pytest.raises(UndefinedResult, match="quantMode 1"):
        outputs_of("LayerNormQuant", zeroPointsOptional=zero, quantMode=1, **given)


def test_the_second_quantisation_is_open_without_its_smoothing() -> None:
    given = {"x1": f16([[1.0, -2]]), "x2": f16([[2.0, -2]]), "gamma": f16([2.0, 1]), "epsilon": 1e-6}
    made = outputs_of("AddRmsNormDynamicQuant", smoothScale1Optional=None, smoothScale2Optional=None, **given)
    assert set(made) == {"y1Out", "xOut", "scale1Out"}
    assert made["y1Out"].tolist() == [[127, -85]]
    both = {"smoothScale1Optional": f16([1.0, 1]), "smoothScale2Optional": f16([1.0, 3])}
    made = outputs_of("AddRmsNormDynamicQuant", **both, **given)
    assert made["y2Out"].tolist() == [[64, -127]]
    with pytest.raises(UndefinedResult, match="without smoothScale1Optional"):
        outputs_of("AddRmsNormDynamicQuant", **{**both, "smoothScale1Optional": None}, **given)


# --- against PyTorch ------------------------------------------------------------------------------------------


def drawn(*shape: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


def double(array: Any) -> Any:
    return torch.from_numpy(np.asarray(array)).double()


def same_steps(made: Any, wanted: Any) -> None:
    assert np.asarray(made).tolist() == torch.clamp(torch.round(wanted), -128, 127).int().tolist()


def by_rows(values: Any) -> tuple[Any, Any]:
    scale = values.abs().amax(-1, keepdim=True) / 127
    return values / scale, scale[..., 0].numpy()


SEEDS = st.integers(0, 2**32 - 1)


@needs_torch
@given(st.sampled_from(["none", "tanh"]), SEEDS)
def test_gelu_that_quantises_is_pytorchs(approximate: str, seed: int) -> None:
    x = drawn(3, 8, seed=seed)
    gelu = F.gelu(double(x), approximate=approximate)
    given = {
        "self": f32(x),
        "inputOffsetOptional": f32([3.0]),
        "approximate": approximate,
        "roundMode": "rint",
    }
    made = outputs_of(
        "GeluQuant", "ascend950", inputScaleOptional=f32([20.0]), quantMode="static", dstType=2, **given
    )
    same_steps(made["y"], gelu * 20 + 3)
    assert "outScaleOptional" not in made
    scale = np.random.default_rng(seed).uniform(0.5, 2, 8).astype(np.float32)
    made = outputs_of(
        "GeluQuant", "ascend950", inputScaleOptional=f32(scale), quantMode="dynamic", dstType=2, **given
    )
    wanted, found = by_rows(gelu * double(scale))
    same_steps(made["y"], wanted)
    np.testing.assert_allclose(made["outScaleOptional"], found, rtol=1e-12)


@needs_torch
@given(st.booleans(), SEEDS)
def test_swiglu_that_quantises_is_pytorchs(left: bool, seed: int) -> None:
    x, smooth = drawn(5, 8, seed=seed), np.abs(drawn(2, 4, seed=seed + 1)) + 0.1
    a, b = double(x).chunk(2, -1)
    act = F.silu(a) * b if left else F.silu(b) * a
    rows = double(smooth)[[0, 0, 1, 1, 1]]
    given = {"x": f32(x), "smoothScalesOptional": f32(smooth), "activateLeft": left}
    wanted, _ = by_rows(act * rows)
    made = outputs_of(
        "SwiGluQuant",
        groupIndexOptional=i32([2, 5]),
        offsetsOptional=None,
        quantModeOptional="dynamic",
        **given,
    )
    same_steps(made["yOut"], wanted)
    assert "scaleOut" not in made
    offsets = drawn(2, 4, seed=seed + 2)
    for kind, groups in ((0, [2, 5]), (1, [2, 3])):  # ends, and lengths
        made = outputs_of(
            "SwiGluQuantV2", groupIndexOptional=i32(groups), offsetsOptional=f32(offsets), groupListType=kind,
            quantModeOptional="static", dstType=2, **given,
        )  # fmt: skip
        same_steps(made["yOut"], act * rows + double(offsets)[[0, 0, 1, 1, 1]])


@needs_torch
@given(st.sampled_from([None, "int32", "float32"]), SEEDS)
def test_swiglu_of_what_is_dequantised_is_pytorchs(bias: str | None, seed: int) -> None:
    random = np.random.default_rng(seed)
    x = random.integers(-99, 99, (2, 3, 8)).astype(np.int32)
    weight, activation = (random.uniform(0.01, 0.1, n).astype(np.float32) for n in (8, (2, 3)))
    smooth = random.uniform(0.5, 2, 4).astype(np.float32)
    added = random.integers(-9, 9, 8).astype(bias or "int32")
    wide = double(x) + (double(added) if bias == "int32" else 0)
    wide = wide * double(weight) * double(activation)[..., None] + (double(added) if bias == "float32" else 0)
    a, b = wide.chunk(2, -1)
    wanted, scale = by_rows(F.silu(a) * b * double(smooth))
    given = {
        "x": i32(x), "weightScaleOptional": f32(weight), "activationScaleOptional": f32(activation),
        "biasOptional": None if bias is None else tensor(bias, added), "quantScaleOptional": f32(smooth),
        "quantOffsetOptional": None, "groupIndexOptional": None, "activateLeft": True, "quantModeOptional": "dynamic",
    }  # fmt: skip
    plain = {"dstType": 2, "roundModeOptional": "rint", "activateDim": -1, "swigluMode": 0, "clampLimit": 7.0,
             "gluAlpha": 1.7, "gluBias": 1.0}  # fmt: skip
    for made in (
        outputs_of("DequantSwigluQuant", **given),
        outputs_of("DequantSwigluQuantV2", **given, **plain),
    ):
        same_steps(made["yOut"], wanted)
        np.testing.assert_allclose(made["scaleOut"], scale, rtol=1e-12)
    with pytest.raises(UndefinedResult, match="swigluMode 4"):
        outputs_of("DequantSwigluQuantV2", **given, **{**plain, "swigluMode": 4})


_HALVES = {"x": [[1.0, -2, 9, 0.5]], "clampLimit": 7.0, "gluAlpha": 1.5, "gluBias": 1.0, "activateDim": -1}


def _gate(x: float, alpha: float = 1.0) -> float:
    return x / (1 + math.exp(-alpha * x))


@pytest.mark.parametrize(
    ("mode", "changes", "act"),
    [
        (0, {}, [_gate(1) * 9, _gate(-2) * 0.5]),
        (0, {"activateLeft": False}, [_gate(9) * 1, _gate(0.5) * -2]),
        (0, {"activateDim": 0, "x": [[1.0, -2], [9, 0.5]]}, [_gate(1) * 9, _gate(-2) * 0.5]),
        (1, {}, [_gate(1, 1.5) * (-2 + 1), _gate(7, 1.5) * (0.5 + 1)]),
        (2, {}, [_gate(1, 1.5) * (7 + 1), _gate(-2, 1.5) * (0.5 + 1)]),
        (3, {}, [_gate(1) * 7, _gate(-2) * 0.5]),
        (3, {"x": [[9.0, -2, 1, -8]]}, [7.0, _gate(-2) * -7]),
    ],
)
def test_a_dequantised_swiglu_by_a_given_scale_in_every_mode(
    mode: int, changes: dict[str, Any], act: list[float]
) -> None:
    """Static: round(a / scale + offset); the modes as the document of aclnnDequantSwigluQuantV2 has them."""
    given = {**_HALVES, "activateLeft": True, **changes}
    given["x"] = tensor("float16", given["x"])
    nulls = ("weightScaleOptional", "activationScaleOptional", "biasOptional", "groupIndexOptional")
    given |= dict.fromkeys(nulls)
    made = outputs_of(
        "DequantSwigluQuantV2", **given, quantScaleOptional=f32([0.125]), quantOffsetOptional=f32([3.0]),
        quantModeOptional="static", dstType=2, roundModeOptional="rint", swigluMode=mode,
    )  # fmt: skip
    assert made["yOut"].reshape(-1).tolist() == [max(-128, min(127, round(a / 0.125 + 3))) for a in act]
    assert "scaleOut" not in made  # it is not calculated


def test_the_scale_of_each_row_may_stand_in_an_axis_of_its_own() -> None:
    given = {
        "x": i32([[8, 16], [16, 8]]), "weightScaleOptional": f32([1.0, 1.0]), "biasOptional": None,
        "quantScaleOptional": f32([1.0]), "quantOffsetOptional": f32([0.0]), "groupIndexOptional": None,
        "activateLeft": True, "quantModeOptional": "static",
    }  # fmt: skip
    for scale in ([0.125, 0.5], [[0.125], [0.5]]):
        made = outputs_of("DequantSwigluQuant", **given, activationScaleOptional=f32(scale))
        assert made["yOut"].tolist() == [[round(_gate(1) * 2)], [round(_gate(8) * 4)]]
    operator = find("DequantSwigluQuant")
    assert operator.short_form("int32", (6, 8))["activationScaleOptional"] == ("float32", (6, 1))


@needs_torch
@given(SEEDS)
def test_norms_that_quantise_are_pytorchs(seed: int) -> None:
    x, gamma, beta = drawn(3, 8, seed=seed), drawn(8, seed=seed + 1), drawn(8, seed=seed + 2)
    eps = float(np.float32(1e-5))
    wanted, scale = by_rows(F.rms_norm(double(x), (8,), double(gamma), eps) + double(beta))
    given = {"gamma": f32(gamma), "betaOptional": f32(beta), "smoothScalesOptional": None, "epsilon": 1e-5}
    made = outputs_of("RmsNormDynamicQuant", x=f32(x), dstType=2, **given)
    same_steps(made["yOut"], wanted)
    np.testing.assert_allclose(made["scaleOut"], scale, rtol=1e-12)

    x, scales, shifts = drawn(2, 3, 8, seed=seed), drawn(2, 8, seed=seed + 3), drawn(2, 8, seed=seed + 4)
    normal = F.layer_norm(double(x), (8,), double(gamma), double(beta), eps)
    wanted, scale = by_rows(normal * (1 + double(scales)[:, None]) + double(shifts)[:, None])
    made = outputs_of(
        "AdaLayerNormQuant", x=f32(x), scale=f32(scales), shift=f32(shifts), weightOptional=f32(gamma),
        biasOptional=f32(beta), smoothScalesOptional=None, epsilon=1e-5, quantMode="dynamic",
    )  # fmt: skip
    same_steps(made["out"], wanted)
    np.testing.assert_allclose(made["quantScale"], scale, rtol=1e-12)

    x2, more = drawn(2, 3, 8, seed=seed + 5), drawn(8, seed=seed + 6)
    normal = F.layer_norm(double(x) + double(x2) + double(more), (8,), double(gamma), double(beta), eps)
    added = {"x1": f32(x), "x2": f32(x2), "gamma": f32(gamma), "beta": f32(beta), "biasOptional": f32(more),
             "epsilon": 1e-5, "zeroPoints2Optional": None}  # fmt: skip
    static = {"scales1Optional": f32([0.05] * 8), "scales2Optional": f32([0.5] * 8), "quantMode": "static",
              "zeroPoints1Optional": f32([3.0] * 8), "divMode": True, "additionalOutput": True}  # fmt: skip
    made = outputs_of("AddLayerNormQuant", "ascend950", **added, **static)
    same_steps(made["y1Out"], normal / float(np.float32(0.05)) + 3)
    same_steps(made["y2Out"], normal / 0.5)
    np.testing.assert_allclose(made["xOut"], double(x) + double(x2) + double(more), rtol=1e-12)
    assert set(made) == {"y1Out", "y2Out", "xOut"}
    open_ = dict.fromkeys(("scales1Optional", "scales2Optional", "zeroPoints1Optional"))
    dynamic = {**open_, "quantMode": "dynamic", "divMode": True, "additionalOutput": False}
    made = outputs_of("AddLayerNormQuant", "ascend950", **added, **dynamic)
    wanted, scale = by_rows(normal)
    same_steps(made["y1Out"], wanted)
    np.testing.assert_allclose(made["outScales1Out"], scale, rtol=1e-12)
    assert set(made) == {"y1Out", "outScales1Out"}

    x, weight, bias = drawn(2, 6, 5, seed=seed), drawn(6, seed=seed + 1), drawn(6, seed=seed + 2)
    wanted = F.silu(F.group_norm(double(x), 3, double(weight), double(bias), eps))
    steps = np.random.default_rng(seed).uniform(0.01, 0.1, 6).astype(np.float32)
    for scale in (steps, steps[:1]):
        made = outputs_of(
            "GroupNormSiluQuant", self=f32(x), gammaOptional=f32(weight), betaOptional=f32(bias),
            quantScale=f32(scale), group=3, eps=1e-5, activateSilu=True,
        )  # fmt: skip
        same_steps(made["out"], wanted / double(scale)[:, None])


# --- properties -----------------------------------------------------------------------------------------------


@given(SEEDS, st.floats(0.1, 100))
def test_dequantising_gives_the_data_back_within_half_a_step(seed: int, size: float) -> None:
    x = (drawn(4, 16, seed=seed) * size).astype(np.float16)
    made = outputs_of("DynamicQuant", x=f16(x), smoothScalesOptional=None)
    scale = made["scaleOut"][:, None]
    assert (np.abs(made["yOut"] * scale - x) <= scale * 0.5 * (1 + 1e-9)).all()
    made = outputs_of("DynamicQuantV2", x=f16(x), dstType=2, **ALONE)
    scale, offset = made["scaleOut"][:, None], made["offsetOut"][:, None]
    assert (np.abs((made["yOut"] - offset) * scale - x) <= scale * 0.5 * (1 + 1e-9)).all()


def test_a_run_by_name_finds_them() -> None:
    made = run("dynamic_quant", x=f16([[127.0, 1]]), smoothScalesOptional=None)
    assert made.host["yOut"].tolist() == [[127, 1]]


# --- outputs that are left open -------------------------------------------------------------------------------


def test_an_output_that_is_left_open_has_no_golden_and_zeros_as_host_result() -> None:
    operator = ALL["LayerNormQuant"]
    given = {
        "x": f32([[1.0, 3]]),
        "gamma": f32([1.0, 2]),
        "beta": f32([0.0, 1]),
        "scale": f32([0.1]),
        "epsilon": 0.0,
    }
    call = call_of(operator, arguments(operator, zeroPointsOptional=None, quantMode=0, **given))
    assert set(golden(operator, call).outputs) == {"res"}
    host = host_result(operator, call)
    assert host["scaleOut"].tolist() == [0]
    assert host["scaleOut"].dtype == np.float32
    assert set(result_shapes(operator, call)) == {"res"}


def test_a_reference_that_gives_nothing_at_all_has_failed() -> None:
    operator = dataclasses.replace(ALL["DynamicQuant"], reference=lambda **_: None)
    one = dataclasses.replace(find("neg"), reference=lambda **_: None)
    rows = ((operator, {"x": f16([[1.0]]), "smoothScalesOptional": None}), (one, {"self": f32([1.0])}))
    for failing, tensors in rows:
        call = call_of(failing, arguments(failing, **tensors))
        for run_it in (golden, host_result):
            with pytest.raises(ReferenceFailure, match="gives"):
                run_it(failing, call)
