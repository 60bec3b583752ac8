"""Quantisation: by hand and by the documents' examples, against PyTorch, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from family_calls import both, call_of, ordinary
from hypothesis import given
from hypothesis import strategies as st
from operator_calls import arguments, run, tensor

from ascend_opcli.model import Case, Where
from ascend_opcli.operators.documents import catalogued
from ascend_opcli.operators.families.quantisation import by_data as quantisation_by_data
from ascend_opcli.operators.families.quantisation import by_scales as quantisation
from ascend_opcli.operators.families.quantisation import codes as quantised
from ascend_opcli.operators.families.quantisation import matmuls as quantised_matmul
from ascend_opcli.operators.families.quantisation import norms as quantised_norms
from ascend_opcli.reference.evaluate import golden
from ascend_opcli.reference.fitting import UndefinedResult
from ascend_opcli.tensors.dtypes import DTYPES
from ascend_opcli.verification.comparison import Comparison
from ascend_opcli.verification.judge import judge
from ascend_opcli.verification.standards.choice import choose

try:
    import torch

    F = torch.nn.functional
except ImportError:
    torch = F = None

FAMILIES = (quantisation, quantisation_by_data, quantised_matmul, quantised_norms)
ALL = {op.name.removeprefix("aclnn"): op for family in FAMILIES for op in family.OPERATORS}
NAN, INF = float("nan"), float("inf")
needs_torch = pytest.mark.skipif(torch is None, reason="PyTorch is the oracle")
ASCEND: dict[str, Any] = {"offset": None, "sqrtMode": False, "roundMode": "round", "dstType": 2}


def called(name: str, **given: Any) -> Any:
    return run(ALL[name], **given)


def golden_of(name: str, **given: Any) -> list[Any]:
    return [np.asarray(v) for v in called(name, **given).golden.outputs.values()]


def one_of(name: str, **given: Any) -> Any:
    made = golden_of(name, **given)
    assert len(made) == 1
    return made[0]


def f32(data: Any) -> Any:
    return tensor("float32", data)


def i32(data: Any) -> Any:
    return tensor("int32", data)


def out(dtype: str, *shape: int) -> Any:
    return tensor(dtype, None, shape)


# --- all of them ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ALL)
def test_every_operator_is_the_catalogs_and_has_its_inferred_shape(name: str) -> None:
    operator = ALL[name]
    assert operator.signature == catalogued.entry(operator.name).signature
    assert operator.summary
    call = call_of(operator, ordinary(operator))
    outputs, host = both(operator, call)
    assert outputs
    for param in operator.signature.outputs:
        assert host[param.name].shape == call.outputs[param.name].shape
        if param.name in outputs:
            assert outputs[param.name].shape == host[param.name].shape


def case_of(operator: Any, made: Any) -> Case:
    return Case("here", "here", operator.name, made, Where("here", 1, 1))


@pytest.mark.parametrize("shape", [(3, 64), (2, 4, 48)])
@pytest.mark.parametrize("name", ALL)
def test_golden_and_host_agree_by_the_operators_standard(name: str, shape: tuple[int, ...]) -> None:
    operator = ALL[name]
    if name.startswith("TransQuantParam") or name in ("GroupQuant", "DequantBias"):
        shape = shape[-1:] if name.startswith("Trans") else (6, 64)
    if name == "GroupNormSiluQuant":
        shape = (2, 6, shape[-1])
    made = ordinary(operator, shape=shape)
    call = call_of(operator, made)
    outputs, host = both(operator, call)
    for output, wanted in outputs.items():
        dtype = call.outputs[output].dtype
        choice = choose(output, dtype, case_of(operator, made), operator.standard, None)
        report = judge(Comparison(output, host[output], wanted, dtype), choice)
        assert report.passed, report.reason


@pytest.mark.parametrize("name", [n for n, op in ALL.items() if any(
    "int8" in d.dtypes for d in catalogued.entry(op.name).params if d.param.io == "out")])  # fmt: skip
def test_quantised_integers_are_judged_by_one_step(name: str) -> None:
    operator = ALL[name]
    made = ordinary(operator)
    for output in (p.name for p in operator.signature.outputs):
        dtype = made[output].dtype  # type: ignore[union-attr]
        choice = choose(output, dtype, case_of(operator, made), operator.standard, None)
        assert choice.name == ("quant" if DTYPES[dtype].kind == "int" else "ecosystem")


# --- by given scales ------------------------------------------------------------------------------------------


def test_the_documents_example_of_ascend_quant() -> None:
    x = f32(np.arange(8.0).reshape(4, 2))
    given = {**ASCEND, "offset": f32([1.0, 2])}
    made = called("AscendQuant", x=x, scale=f32([1.0, 2]), **given)
    assert made.golden.outputs["y"].tolist() == [[1, 4], [3, 8], [5, 12], [7, 16]]
    assert made.host["y"].dtype == np.int8
    made = called("AscendQuantV3", x=x, scale=f32([1.0, 2]), axis=-1, **given)
    assert made.golden.outputs["y"].tolist() == [[1, 4], [3, 8], [5, 12], [7, 16]]


@pytest.mark.parametrize(
    ("mode", "wanted"),
    [
        ("round", [-4, -2, -2, 0, 0, 2, 2, 4]),  # a half goes to the even neighbour
        ("floor", [-4, -3, -2, -1, 0, 1, 2, 3]),
        ("ceil", [-3, -2, -1, 0, 1, 2, 3, 4]),
        ("trunc", [-3, -2, -1, 0, 0, 1, 2, 3]),
    ],
)
def test_each_rounding_of_halves(mode: str, wanted: list[int]) -> None:
    x = f32(np.arange(-3.5, 4.5))
    assert (
        one_of("AscendQuant", **{**ASCEND, "x": x, "scale": f32([1.0]), "roundMode": mode}).tolist() == wanted
    )


@pytest.mark.parametrize(("root", "wanted"), [(False, [7, -12]), (True, [19, -34])])
def test_sqrt_mode_takes_the_scale_twice(root: bool, wanted: list[int]) -> None:
    given = {**ASCEND, "sqrtMode": root, "offset": f32([1.0, -2])}
    assert one_of("AscendQuant", x=f32([[2.0, -3.5]]), scale=f32([3.0, 3]), **given).tolist() == [wanted]


def test_what_is_beyond_an_integer_saturates() -> None:
    x = f32([-INF, -1e30, -128.6, 127.4, 128.6, 1e30, INF])
    made = called("AscendQuant", x=x, scale=f32([1.0]), **ASCEND)
    for values in (made.golden.outputs["y"], made.host["y"]):
        assert values.tolist() == [-128, -128, -128, 127, 127, 127, 127]
    for dtype, low, high in (("uint8", 0, 255), ("int32", -(2**31), 2**31 - 1)):
        made = called("Quantize", x=x, scales=f32([1.0]), zeroPoints=None, dtype=dtype, axis=0)
        for values in (made.golden.outputs["out"], made.host["out"]):
            assert [values[1], values[5], values[6]] == [low, high, high]


def test_scales_go_along_the_axis() -> None:
    x = f32(np.ones((2, 3)))
    given = {**ASCEND, "x": x}
    for scale in (f32([1.0, 2]), f32([[1.0], [2]])):
        assert one_of("AscendQuantV3", scale=scale, axis=-2, **given).tolist() == [[1, 1, 1], [2, 2, 2]]
    assert one_of("AscendQuantV3", scale=f32([1.0, 2, 3]), axis=1, **given).tolist() == [[1, 2, 3]] * 2
    assert one_of("AscendQuantV3", scale=f32([5.0]), axis=0, **given).tolist() == [[5, 5, 5]] * 2
    with pytest.raises(UndefinedResult, match="not one value for each of axis 1"):
        golden_of("AscendQuantV3", scale=f32([1.0, 2]), axis=1, **given)
    with pytest.raises(UndefinedResult, match="last two"):
        golden_of(
            "AscendQuantV3", **{**given, "x": f32(np.ones((2, 2, 2))), "scale": f32([1.0, 2]), "axis": 0}
        )


def test_the_documents_example_of_quantize() -> None:
    x = f32([[0.3382, -0.0919], [0.7564, 0.0234], [3.1024, 1.0761], [0.4228, 1.4621]])
    made = one_of("Quantize", x=x, scales=f32([1.0, -3]), zeroPoints=i32([2, 10]), dtype="int32", axis=1)
    assert made.tolist() == [[2, 10], [3, 10], [5, 10], [2, 10]]


def test_the_documents_example_of_group_quant() -> None:
    given = {
        "x": f32(np.arange(8.0).reshape(4, 2)),
        "scale": f32([[1.0, 2]] * 3),
        "groupIndex": i32([1, 2, 4]),
    }
    made = one_of("GroupQuant", offsetOptional=f32([2.0]), dstType=2, **given)
    assert made.tolist() == [[2, 4], [4, 8], [6, 12], [8, 16]]


def test_each_row_takes_the_scales_of_its_group() -> None:
    given = {"x": f32(np.ones((4, 1))), "scale": f32([[1.0], [2], [3]]), "offsetOptional": None, "dstType": 2}
    # The second group has no rows.
    assert one_of("GroupQuant", groupIndex=i32([1, 1, 4]), **given).tolist() == [[1], [3], [3], [3]]
    for wrong in ([1, 2, 3], [2, 1, 4], [-1, 2, 4]):
        with pytest.raises(UndefinedResult, match="groupIndex must not decrease"):
            golden_of("GroupQuant", groupIndex=i32(wrong), **given)


REFUSED: list[tuple[str, dict[str, Any], str]] = [
    ("AscendQuant", {"dstType": 3, "y": out("int32", 1)}, "eight int4"),
    ("AscendQuant", {"dstType": 29}, "int4 has no values"),
    ("AscendQuant", {"dstType": 34}, "hifloat8 has no values"),
    ("AscendQuant", {"dstType": 7}, "dstType 7 is no output type"),
    (
        "AscendQuant",
        {"dstType": 36, "y": out("int8", 8)},
        "dstType 36 is float8_e4m3fn, and the output is int8",
    ),
    ("AscendQuant", {"roundMode": "hybrid"}, "roundMode 'hybrid'"),
    ("AscendQuant", {"roundMode": ""}, "roundMode ''"),
    ("AscendQuantV3", {"dstType": 36, "x": f32([NAN, NAN]), "axis": -1}, "NaN"),
    ("AscendQuantV3", {"dstType": 36, "roundMode": "floor", "axis": -1}, "roundMode floor"),
    ("AscendQuantV3", {"dstType": 36, "x": f32([500.0]), "axis": -1}, "beyond 448"),
]


@pytest.mark.parametrize(("name", "more", "said"), REFUSED)
def test_what_the_documents_leave_open_is_refused(name: str, more: dict[str, Any], said: str) -> None:
    given = {**ASCEND, "x": f32(np.arange(8.0)), "scale": f32([1.0]), **more}
    with pytest.raises(UndefinedResult, match=said):
        golden_of(name, **given)


def test_a_float8_that_is_none_leaves_its_own_element_open() -> None:
    x = f32([1.0, NAN, 500.0, -448.0])
    given = {**ASCEND, "dstType": 36, "axis": -1, "x": x, "scale": f32([1.0])}
    found = run("ascend_quant_v3", **given).golden
    assert found.open["y"].tolist() == [False, True, True, False]
    assert np.asarray(found.outputs["y"])[[0, 3]].tolist() == [1, -448]


@pytest.mark.parametrize(
    ("x", "scale", "want"),
    [
        ([NAN, INF, -INF, 0, 3], 1.0, [0, 127, -128, 0, 3]),
        ([-2.0, 0, 2], INF, [-128, 0, 127]),
        ([2.0, 0], NAN, [0, 0]),
    ],
)
def test_nan_is_the_integer_0_and_infinities_saturate(x: list[float], scale: float, want: list[int]) -> None:
    given = {**ASCEND, "x": f32(x), "scale": f32([scale])}
    assert golden_of("AscendQuant", **given)[0].tolist() == want


def test_a_float8_is_the_value_as_it_is() -> None:
    given = {**ASCEND, "dstType": 36, "x": f32([1.06, -447.0]), "scale": f32([1.0])}
    made = called("AscendQuantV3", axis=-1, **given)
    np.testing.assert_allclose(made.golden.outputs["y"], [1.06, -447], rtol=1e-6)
    assert made.host["y"].astype(float).tolist() == [1.0, -448]


def test_a_largest_value_beside_a_float8() -> None:
    given = {"roundMode": "rint", "dstType": 35, "scale": f32([2.0])}
    made = called("QuantMax", x=f32([1.0, -3.2, 2]), **given).golden.outputs
    np.testing.assert_allclose(made["y"], [2, -6.4, 4], rtol=1e-6)
    assert made["amax"] == pytest.approx([3.2])
    for more, said in (
        ({"dstType": 34}, "hifloat8"),
        ({"roundMode": "round"}, "rint"),
        ({"scale": f32([1e6])}, "beyond"),
    ):
        with pytest.raises(UndefinedResult, match=said):
            called("QuantMax", x=f32([1.0, -3.2, 2]), **{**given, **more})


def test_a_scale_of_zero_divides_nothing() -> None:
    with pytest.raises(UndefinedResult, match="scale is 0"):
        golden_of("Quantize", x=f32([1.0]), scales=f32([0.0]), zeroPoints=None, dtype="int8", axis=0)


going = pytest.mark.filterwarnings("ignore:torch.quantize_per_tensor:UserWarning")


@needs_torch
@going
@given(
    st.sampled_from([("int8", "qint8"), ("uint8", "quint8"), ("int32", "qint32")]),
    st.integers(-6, 3),
    st.integers(-20, 20),
    st.integers(0, 2**32 - 1),
)
def test_quantize_is_pytorchs(words: tuple[str, str], power: int, zero: int, seed: int) -> None:
    # With a power of two the quotient is exact, whether it is divided or multiplied by the inverse.
    zero = abs(zero) if words[0] == "uint8" else zero
    x = np.random.default_rng(seed).normal(0, 5, 40).astype(np.float32)
    wanted = torch.quantize_per_tensor(torch.from_numpy(x), 2.0**power, zero, getattr(torch, words[1]))
    made = called(
        "Quantize", x=f32(x), scales=f32([2.0**power]), zeroPoints=i32([zero]), dtype=words[0], axis=0
    )
    assert made.golden.outputs["out"].tolist() == wanted.int_repr().tolist()
    assert made.host["out"].tolist() == wanted.int_repr().tolist()


@needs_torch
@going
@given(st.sampled_from([0, 1, 2, -1]), st.integers(0, 2**32 - 1))
def test_quantize_by_channels_is_within_a_step_of_pytorchs(axis: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    x = random.normal(0, 3, (2, 3, 4)).astype(np.float32)
    count = x.shape[axis]
    scales = random.uniform(0.01, 0.1, count).astype(np.float32)
    zeros = random.integers(-9, 9, count).astype(np.int32)
    wanted = torch.quantize_per_channel(
        torch.from_numpy(x),
        torch.from_numpy(scales).double(),
        torch.from_numpy(zeros).long(),
        axis % 3,
        torch.qint8,
    )
    made = one_of("Quantize", x=f32(x), scales=f32(scales), zeroPoints=i32(zeros), dtype="int8", axis=axis)
    away = np.abs(made.astype(int) - wanted.int_repr().numpy())
    assert away.max() <= 1
    assert np.count_nonzero(away) <= 1  # only where a quotient lies at a half


# --- fake -----------------------------------------------------------------------------------------------------

BOUNDS = {"quantMin": -8, "quantMax": 7}


def test_fake_quantisation_by_hand() -> None:
    given = {"self": f32([-9.0, -2.2, 0.6, 1.0, 9]), "scale": f32([2.0]), "zeroPoint": i32([-4])}
    made = golden_of("FakeQuantPerTensorAffineCachemask", fakeQuantEnabled=1.0, **given, **BOUNDS)
    # q = round(self / 2) - 4 = -8, -5, -4, -4, 0; -9 / 2 = -4.5 rounds to -4
    assert made[0].tolist() == [-8, -2, 0, 0, 8]
    assert made[1].tolist() == [True] * 5
    made = golden_of(
        "FakeQuantPerTensorAffineCachemask", fakeQuantEnabled=1.0, **given, quantMin=-6, quantMax=-4
    )
    assert made[0].tolist() == [-4, -2, 0, 0, 0]
    assert made[1].tolist() == [False, True, True, True, False]


def test_fake_quantisation_that_is_switched_off_hands_self_through() -> None:
    given = {"self": f32([0.3, NAN]), "scale": f32([2.0]), "zeroPoint": i32([0])}
    made = golden_of("FakeQuantPerTensorAffineCachemask", fakeQuantEnabled=0.5, **given, **BOUNDS)
    assert np.array_equal(made[0], np.float32([0.3, NAN]), equal_nan=True)
    assert made[1].tolist() == [True, True]


@needs_torch
@given(st.integers(-5, 2), st.integers(-8, 7), st.integers(0, 2**32 - 1))
def test_fake_quantisation_is_pytorchs(power: int, zero: int, seed: int) -> None:
    x = np.random.default_rng(seed).normal(0, 2, 30).astype(np.float32)
    wanted = torch.ops.aten.fake_quantize_per_tensor_affine_cachemask(
        torch.from_numpy(x), 2.0**power, zero, -8, 7
    )
    given = {"self": f32(x), "scale": f32([2.0**power]), "zeroPoint": i32([zero]), **BOUNDS}
    made = called("FakeQuantPerTensorAffineCachemask", fakeQuantEnabled=1.0, **given)
    for outputs in (made.golden.outputs, made.host):
        assert outputs["out"].tolist() == wanted[0].tolist()
        assert outputs["mask"].tolist() == wanted[1].tolist()


@needs_torch
@given(st.sampled_from([0, 1, -1]), st.integers(0, 2**32 - 1))
def test_fake_quantisation_by_channels_is_pytorchs(axis: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    x = random.normal(0, 2, (3, 4)).astype(np.float32)
    count = x.shape[axis]
    scale = (2.0 ** random.integers(-4, 2, count)).astype(np.float32)
    zero = random.integers(-8, 8, count).astype(np.int32)
    wanted = torch.ops.aten.fake_quantize_per_channel_affine_cachemask(
        *(torch.from_numpy(a) for a in (x, scale, zero)), axis % 2, -8, 7
    )
    given = {"self": f32(x), "scale": f32(scale), "zeroPoint": i32(zero), "axis": axis, **BOUNDS}
    made = golden_of("FakeQuantPerChannelAffineCachemask", **given)
    assert made[0].tolist() == wanted[0].tolist()
    assert made[1].tolist() == wanted[1].tolist()


@pytest.mark.parametrize("name", ["FakeQuantPerTensorAffineCachemask", "FakeQuantPerChannelAffineCachemask"])
def test_at_a_half_either_neighbour_is_right_for_out_alone(name: str) -> None:
    operator = ALL[name]
    own = {"fakeQuantEnabled": 1.0} if "PerTensor" in name else {"axis": 0}
    scale = f32([0.1]) if "PerTensor" in name else f32([0.1, 0.1, 0.1])
    zero = i32([0]) if "PerTensor" in name else i32([0, 0, 0])
    # 0.25 / 0.1 lies at 2.5 but for the rounding of 0.1, 0.3 / 0.1 nowhere near a half.
    made = arguments(operator, self=f32([0.25, 0.3, -0.35]), scale=scale, zeroPoint=zero, **own, **BOUNDS)
    call = call_of(operator, made)
    found = golden(operator, call)
    assert found.ambiguous is not None
    assert found.ambiguous[0].tolist() == [0, 2]
    near = sorted([float(found.outputs["out"][0]), float(found.ambiguous[1][0])])
    np.testing.assert_allclose(near, [0.2, 0.3], rtol=1e-6)
    assert operator.ambiguous_output == "out"
    assert any("half" in text for text in found.divergences)


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"self": f32([NAN])}, "finite"),
        ({"self": f32([INF])}, "finite"),
        ({"scale": f32([0.0])}, "no scale 0"),
        ({"quantMin": 8}, "greater than quantMax"),
        ({"scale": f32([1.0, 2])}, "one value each"),
    ],
)
def test_fake_quantisation_that_has_no_result(more: dict[str, Any], said: str) -> None:
    given = {"self": f32([1.0]), "scale": f32([1.0]), "zeroPoint": i32([0]), **BOUNDS, **more}
    with pytest.raises(UndefinedResult, match=said):
        golden_of("FakeQuantPerTensorAffineCachemask", fakeQuantEnabled=1.0, **given)


# --- the way back, and parameters -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("bias", "wanted"),
    [
        (None, [[2.0, 6], [12, 24]]),
        (i32([10, 20]), [[22, 66], [52, 144]]),  # (x + bias) times both scales
        (f32([10.0, 20]), [[12, 26], [22, 44]]),  # after the scales
        (tensor("float16", [10.0, 20]), [[12, 26], [22, 44]]),
    ],
)
def test_dequantisation_by_hand(bias: Any, wanted: Any) -> None:
    given = {
        "x": i32([[1, 2], [3, 4]]),
        "weightScale": f32([1.0, 1.5]),
        "activateScaleOptional": f32([2.0, 4]),
    }
    made = called("DequantBias", biasOptional=bias, outputDtype=1, **given)
    assert made.golden.outputs["out"].tolist() == wanted
    assert made.host["out"].dtype == np.float16
    with pytest.raises(UndefinedResult, match="outputDtype 27"):
        called("DequantBias", biasOptional=bias, outputDtype=27, out=out("float16", 2, 2), **given)


@pytest.mark.parametrize(
    ("scale", "offset", "wanted"),
    [
        ([1.0], None, [0x3F800000 | 1 << 46]),
        # 1 + 2^-13 needs more than the upper 19 bits of float32: cut off.
        ([1 + 2.0**-13], None, [0x3F800000 | 1 << 46]),
        ([-2.5], [3.0], [0xC0200000 | 1 << 46 | 3 << 37]),
        ([1.0], [-1.0], [0x3F800000 | 1 << 46 | 0x1FF << 37]),
        ([1.0, 1], [1000.0, -1000], [0x3F800000 | 1 << 46 | 255 << 37, 0x3F800000 | 1 << 46 | 0x100 << 37]),
        ([1.0], [1.0, 2], [0x3F800000 | 1 << 46 | n << 37 for n in (1, 2)]),
        ([1.0, 2], [1.0], [0x3F800000 | 1 << 46 | 1 << 37, 0x40000000 | 1 << 46 | 1 << 37]),
    ],
)
def test_parameters_are_encoded_bit_by_bit(scale: Any, offset: Any, wanted: list[int]) -> None:
    given = {"scale": f32(scale), "offset": None if offset is None else f32(offset)}
    for name, more in (("TransQuantParamV2", {}), ("TransQuantParamV3", {"roundMode": 0})):
        made = called(name, **given, **more)
        assert made.golden.outputs["out"].tolist() == wanted
        assert made.host["out"].tolist() == wanted


def test_round_mode_1_rounds_the_scale() -> None:
    given = {"offset": None, "roundMode": 1}
    # The upper 19 bits of a float32 end with 2^-10 at 1.
    made = one_of("TransQuantParamV3", scale=f32([1 + 3 * 2.0**-12, 1 + 2.0**-12, -1 - 2.0**-10]), **given)
    assert (made & np.uint64(0xFFFFFFFF)).tolist() == [0x3F802000, 0x3F800000, 0xBF802000]
    assert (made >> np.uint64(32)).tolist() == [1 << 14] * 3
    with pytest.raises(UndefinedResult, match="midway"):
        golden_of("TransQuantParamV3", scale=f32([1 + 2.0**-11]), **given)


@pytest.mark.parametrize("more", [{"scale": f32([NAN])}, {"offset": f32([INF])}, {"offset": f32([2.5])}])
def test_parameters_that_have_no_code(more: dict[str, Any]) -> None:
    with pytest.raises(UndefinedResult, match=r"finite|half"):
        golden_of("TransQuantParamV2", **{"scale": f32([1.0]), "offset": f32([1.0]), **more})


# --- what is common -------------------------------------------------------------------------------------------


@given(st.lists(st.integers(0, 5), min_size=1, max_size=6))
def test_rows_fall_into_their_groups(lengths: list[int]) -> None:
    ends = np.cumsum(lengths)
    made = quantised.groups_of(ends, int(ends[-1]), "index")
    assert made.tolist() == [i for i, n in enumerate(lengths) for _ in range(n)]


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=30), st.sampled_from(["int8", "uint8", "int32"]))
def test_a_quantised_value_is_a_neighbour_or_a_bound(values: list[float], word: str) -> None:
    low, high = (int(f(np.iinfo(word))) for f in (lambda i: i.min, lambda i: i.max))
    for mode in quantised.ROUNDINGS:
        made = quantised.quantised(np.asarray(values), word, mode)
        assert ((made >= low) & (made <= high)).all()
        away = np.abs(made - np.clip(values, low, high))
        assert (away <= (0.5 if mode == "round" else 1)).all()
