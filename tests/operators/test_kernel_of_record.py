"""Values by hand that tell the newest kernel from a formula: borders, NaN, infinities, and what float32 decides."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from operator_calls import INF, NAN, identical, run, tensor

from ascend_opcli.operators.catalog import find
from ascend_opcli.reference.fitting import UndefinedResult

HUGE, LAST = 2.0**66, 2**31 - 1


def outputs(name: str, dtype: str, *tensors: Any, **attributes: Any) -> tuple[list[Any], list[Any]]:
    """Golden and host result of the first output, with the tensors in order."""
    names = [p.name for p in find(name).signature.inputs]
    made = run(name, **{n: tensor(dtype, t) for n, t in zip(names, tensors, strict=False)}, **attributes)
    golden, host = next(iter(made.golden.outputs.values())), next(iter(made.host.values()))
    return golden, host


@pytest.mark.parametrize(
    ("name", "dtype", "tensors", "attributes", "want"),
    [
        ("FusedMulAddN", "float32", ([2.0, 3], [10.0, 20], [5.0]), {}, [20, 35]),
        ("FusedMulAddN", "int32", ([2, 3], [10, 20], [5, 7]), {}, [20, 35]),
        ("Hardsigmoid", "int32", ([LAST, 3, 2, 0, -2, -3, -LAST - 1],), {}, [1, 1, 0, 0, 0, 0, 0]),
        ("InplaceHardsigmoid", "int32", ([LAST, 2, -LAST],), {}, [1, 0, 0]),
        ("Lerp", "float32", ([-INF, -INF, HUGE, HUGE], [1.0] * 4, [1.0, 2, 1, 0]), {}, [NAN, INF, 1, HUGE]),
        ("Lerps", "float32", ([-INF, HUGE], [1.0, 1]), {"weight": 1.0}, [NAN, 1]),
        ("Lerps", "float32", ([-INF, HUGE], [1.0, 1]), {"weight": 2.0}, [INF, -HUGE]),
        ("InplaceLerps", "float32", ([HUGE], [3.0]), {"weight": 1.0}, [3]),
        ("HardtanhBackward", "float16", ([1.0] * 5, [0.0, 6, 3, -1, NAN]), {"min": 0.0, "max": 6.0}, [0, 0, 1, 0, 1]),
        ("SoftshrinkBackward", "float32", ([2.0] * 3, [NAN, 0.5, 0.75]), {}, [2, 0, 2]),
        ("HardshrinkBackward", "float32", ([2.0] * 3, [NAN, -0.5, -0.75]), {}, [2, 0, 2]),
        ("HardsigmoidBackward", "float32", ([INF, 6.0, 6, NAN], [4.0, 0, NAN, 0]), {}, [0, 1, 0, NAN]),
        ("Softshrink", "float32", ([NAN, -0.25, 1],), {}, [0, 0, 0.5]),
        ("Shrink", "float32", ([NAN, -0.25, 1, -1],), {"bias": 0.25}, [0, 0, 0.75, -0.75]),
        ("FatreluMul", "float32", ([[NAN, 1, 2, 5, 7, 9]], [1.0]), {}, [0, 0, 18]),
        ("RoundDecimals", "float32", ([2.675, -2.675, 1.005, 0.125],), {"decimals": 2},
         np.array([268, -268, 100, 12]) / 100),
        ("RoundDecimals", "int32", ([15, 25, -25, LAST, -5],), {"decimals": -1}, [20, 20, -20, -LAST - 1, 0]),
        ("Selu", "int8", ([100, 122, 127, 0, -1, -2, -128],), {}, [105, -128, -123, 0, -1, -1, -1]),
        ("InplaceSelu", "int32", ([100, LAST, 20, -1, -50],), {}, [105, LAST, 21, -1, -1]),
        ("RightShift", "int8", ([-100, 100, -100, 7], [-1, -2, 9, 1]), {}, [-100, 100, -1, 3]),
        ("RightShift", "uint8", ([200, 200, 100, 7], [8, 7, 9, 1]), {}, [1, 1, 0, 3]),
        ("Hardswish", "float32", ([-INF, -4.0, INF, NAN, 3],), {}, [0, 0, INF, NAN, 3]),
        ("SeluBackward", "float32", ([0.0, 0], [NAN, 0.0]), {}, [0, 0]),
        ("FmodTensor", "int32", ([7, -7, 7], [0, 0, 4]), {}, [-1, -1, 3]),
        ("RemainderTensorTensor", "int32", ([7, -7, -7], [0, 0, 4]), {}, [-1, -1, 1]),
        ("TruncateDiv", "int8", ([7, -7, -7], [0, 0, 4]), {}, [-1, -1, -1]),
        ("L1LossBackward", "float32", ([2.0] * 4, [NAN, INF, 1, 0], [0.0, INF, 0, 1]), {"reduction": 0}, [0, 0, 2, -2]),
        ("RoundDecimals", "int64", ([15, -19, 9],), {"decimals": -1}, [10, -10, 0]),
        ("KlDivTargetBackward", "float32", ([2.0] * 4, [0.5] * 4, [1.0, 0, INF, -1]),
         {"reduction": 0, "logTarget": False}, [1, NAN, NAN, NAN]),
        ("KlDiv", "float32", ([2.0, INF, 1.0, -INF], [INF, 0.0, 0, 1]), {"reduction": 0, "logTarget": False},
         [INF, NAN, 0, INF]),
        ("BinaryCrossEntropyWithLogits", "float32", ([-INF, -INF, -INF, INF, INF, 1], [0.0, 1, 0.5, 0, 1, INF]),
         {"reduction": 0, "weightOptional": None, "posWeightOptional": None}, [NAN, NAN, NAN, INF, NAN, -INF]),
        ("SoftmaxCrossEntropyWithLogits", "float32", ([[-INF, 0.0], [-INF, 0]], [[0.0, 1], [1, 0]]), {}, [NAN, INF]),
        ("SoftMarginLossBackward", "float32", ([2.0] * 3, [-INF, INF, 1000], [1.0, 1, -1]), {"reduction": 0},
         [NAN, 0, NAN]),
        ("Softplus", "float32", ([1000.0, INF, -INF],), {"beta": 1.0, "threshold": 2000.0}, [INF, INF, 0]),
        ("GeluBackward", "float32", ([2.0] * 4, [INF, -INF, 1e20, NAN]), {}, [2, 0, 2, NAN]),
        ("GeluBackwardV2", "float32", ([2.0] * 3, [INF, -INF, NAN]), {"approximate": "tanh"}, [2, 0, NAN]),
    ],
)  # fmt: skip
def test_values_by_hand(
    name: str, dtype: str, tensors: tuple[Any, ...], attributes: dict[str, Any], want: Any
) -> None:
    golden, host = outputs(name, dtype, *tensors, **attributes)
    assert identical(np.asarray(golden, np.float64) + 0, np.asarray(want, np.float64) + 0)
    assert identical(np.asarray(host, np.float64) + 0, np.asarray(want, dtype).astype(np.float64) + 0)


@pytest.mark.parametrize("name", ["BinaryCrossEntropyWithLogits", "BinaryCrossEntropyWithLogitsBackward"])
@pytest.mark.parametrize("weight", [None, 3.0])
def test_finite_logits_have_their_formulas_value_and_infinite_ones_the_kernels(
    name: str, weight: float | None
) -> None:
    x, t = np.array([-12.0, 12, 1, -INF, INF, INF, 2]), np.array([0.0, 1, 0.25, 1, 0, 1, INF])
    gain = 1.0 if weight is None else weight
    with np.errstate(all="ignore"):
        s = 1 / (1 + np.exp(-x))
        if name.endswith("Backward"):
            want = (gain * t + 1 - t) * s - gain * t if weight is not None else s - t
        else:
            want = (1 - t) * x - (1 if weight is None else (weight - 1) * t + 1) * np.log(s)
    given = {
        "self": tensor("float32", x),
        "target": tensor("float32", t),
        "weightOptional": None,
        "posWeightOptional": None if weight is None else tensor("float32", np.full(7, weight)),
    }
    if name.endswith("Backward"):
        given["gradOutput"] = tensor("float32", np.ones(7))
    both = run(name, **given, reduction=0)
    np.testing.assert_allclose(both.golden.outputs["out"], want, rtol=1e-6)
    np.testing.assert_allclose(both.host["out"], want, rtol=1e-5)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_a_complex_number_has_a_sign_and_no_place_in_an_order(dtype: str) -> None:
    values = np.array([3 + 4j, -2j, 0, -5, complex(NAN, 1), 1 + 1j], dtype)
    golden, host = outputs("Sign", dtype, values)
    want = [0.6 + 0.8j, -1j, 0, -1, complex(NAN, NAN), (1 + 1j) / np.sqrt(2)]
    np.testing.assert_allclose(golden, want, rtol=1e-15)
    np.testing.assert_allclose(host, want, rtol=1e-6)
    for name in ("InplaceGtTensor", "InplaceGeTensor", "LtTensor", "InplaceLeTensor"):
        with pytest.raises(UndefinedResult, match="no order"):
            outputs(name, dtype, values, values)


@pytest.mark.parametrize("name", ["Sigmoid", "InplaceSigmoid"])
def test_a_complex_sigmoid_keeps_its_imaginary_part(name: str) -> None:
    values = np.array([1 + 2j, -0.5 - 1j, -40 + 1j, 40j], np.complex64)
    golden, host = outputs(name, "complex64", values)
    np.testing.assert_allclose(golden, 1 / (1 + np.exp(-values.astype(np.complex128))), rtol=1e-14)
    np.testing.assert_allclose(host, golden, rtol=1e-5)


def test_a_complex_slope_is_conjugated() -> None:
    y, grad = np.array([0.5 + 1j, 2 - 0.5j]), np.array([1 + 1j, 2j])
    golden, _ = outputs("SigmoidBackward", "complex64", grad, y)
    np.testing.assert_allclose(golden, grad * np.conj(y * (1 - y)), rtol=1e-12)


def test_what_is_near_is_decided_in_float32() -> None:
    """The float32 of 1.1 - 1 is 0.10000002, that of 0.3 - 0.2 below that of 0.1: float64 takes both for other ones."""
    one, other = [1.1, 0.3, 0.2, 1.0], [1.0, 0.2, 0.1, 1.0]
    golden, host = outputs("ApproximateEqual", "float32", one, other, tolerance=0.1)
    wide = np.abs(np.float32(one) - np.float32(other)) < np.float32(0.1)
    assert golden.tolist() == host.tolist() == wide.tolist()
    golden, host = outputs("IsClose", "int32", [2**24 + 1, 5], [2**24, 4], rtol=0.0, atol=0.0, equalNan=False)
    assert golden.tolist() == host.tolist() == [True, False]


def test_a_mask_of_fake_quantising_is_that_of_a_float32_quotient() -> None:
    """12.75 / 0.1 is 127.5 in float32 and just below it in float64: 128 is beyond the bound, 127 is not."""
    given = {"fakeQuantEnabled": 1.0, "quantMin": -128, "quantMax": 127}
    made = run(
        "FakeQuantPerTensorAffineCachemask", self=tensor("float32", [12.75, 12.5]),
        scale=tensor("float32", [0.1]), zeroPoint=tensor("int32", [0]), **given,
    )  # fmt: skip
    assert np.float32(12.75) / np.float32(0.1) == 127.5 > 12.75 / float(np.float32(0.1))
    for result in (made.golden.outputs, made.host):
        assert result["mask"].tolist() == [False, True]
