"""The five operators against values from outside: documented examples, CUDA, and edges worked by hand.

Every edge is a row: inputs, and what comes out, for the golden and for the host result alike unless the
rounding to the output's dtype is the point. The sign of zero counts.
"""

from __future__ import annotations

import numpy as np
import pytest
from operator_calls import FLOATS, INF, NAN, check, identical, run, tensor, wide

from ascend_opcli.model import Attribute

EPS32 = 2.0**-23  # FLT_EPSILON, the 1.19e-7 of the documents


def f32(x: float) -> float:
    return float(np.float32(x))


def above(x: float, steps: int = 1) -> float:
    """The float32 number that many places above, below for negative steps."""
    value = np.float32(x)
    for _ in range(abs(steps)):
        value = np.nextafter(value, np.float32(np.copysign(np.inf, steps)))
    return float(value)


# --- logit_grad -----------------------------------------------------------------------------------------------


def logit(x, dy, eps=-1.0, dtype="float32", **more):
    return run("logit_grad", x=tensor(dtype, x), dy=tensor(dtype, dy), eps=eps, **more)


def test_logit_documented_example():
    result = logit([[0.1, 0.2, 0.3, 0.4]], [[1.0, 2.0, 3.0, 4.0]])
    check(result, "out", [[11.111111, 12.5, 14.285714, 16.666667]], rel=1e-6)
    assert result.host["out"].shape == (1, 4)
    assert result.host["out"].dtype == np.float32


LOGIT_EDGES = [
    # eps, x, dy, out
    pytest.param(-1.0, [-0.5, 1.5, 0.5], [1, 1, 3], [NAN, NAN, 12], id="negative-eps-outside-nan"),
    pytest.param(
        0.25, [0.125, 0.875, -3, 9], [1, -1, -1, 5], [0.0, 0.0, 0.0, 0.0], id="eps-outside-plus-zero"
    ),
    pytest.param(0.25, [0.25, 0.75, 0.5], [3, 3, -1], [16, 16, -4], id="bounds-are-inside"),
    pytest.param(-1.0, [0.0, 0.0, 0.0], [2, -2, 0], [INF, -INF, NAN], id="x-zero"),
    pytest.param(-1.0, [-0.0, -0.0, -0.0], [2, -2, 0], [-INF, INF, NAN], id="x-minus-zero-flips"),
    pytest.param(0.0, [0.0, 0.0, -0.0, 0.0], [2, -2, 2, 0], [INF, -INF, -INF, NAN], id="eps-zero-x-zero"),
    pytest.param(
        -0.0, [0.0, -0.0, -0.5, 1.5], [2, 2, 2, 2], [INF, -INF, 0.0, 0.0], id="eps-minus-zero-fills-zero"
    ),
    pytest.param(-1.0, [1.0, 1.0, 1.0], [2, -2, 0], [INF, -INF, NAN], id="x-one"),
    pytest.param(0.0, [1.0, 1.0, 1.0], [2, -2, 0], [INF, -INF, NAN], id="eps-zero-x-one"),
    pytest.param(-1.0, [NAN], [1], [NAN], id="nan-x-negative-eps"),
    pytest.param(0.25, [NAN, NAN], [1, -1], [0.0, 0.0], id="nan-x-eps-gives-zero"),
    pytest.param(0.0, [NAN], [1], [0.0], id="nan-x-eps-zero-gives-zero"),
    pytest.param(0.25, [INF, -INF], [1, -1], [0.0, 0.0], id="inf-x-eps"),
    pytest.param(-1.0, [INF, -INF], [1, 1], [NAN, NAN], id="inf-x-negative-eps"),
    pytest.param(0.75, [0.0, 0.25, 0.5, 0.75, 1.0], [1] * 5, [0.0] * 5, id="eps-0.75"),
    pytest.param(1.0, [0.0, 0.5, 1.0], [1] * 3, [0.0] * 3, id="eps-1"),
    pytest.param(2.0, [-1.0, 0.0, 0.5, 1.0, 2.0], [1] * 5, [0.0] * 5, id="eps-2"),
    pytest.param(INF, [0.0, 0.5, 1.0, INF, -INF, NAN], [1] * 6, [0.0] * 6, id="eps-inf"),
    pytest.param(-INF, [0.5, 2.0], [1, 1], [4, NAN], id="eps-minus-inf"),
    pytest.param(0.5, [0.5, 0.498046875, 0.50390625], [1] * 3, [4, 0.0, 0.0], id="eps-half-keeps-one-point"),
    pytest.param(NAN, [0.5, -0.5, 1.5, 0.0, NAN], [1, 1, 1, 1, 1], [4, NAN, NAN, INF, NAN], id="eps-nan"),
    pytest.param(0.25, [0.0, 0.0, 1.0], [NAN, INF, -INF], [0.0, 0.0, 0.0], id="dy-ignored-outside"),
    pytest.param(-1.0, [2.0, -2.0], [INF, 0], [NAN, NAN], id="dy-ignored-outside-nan"),
    pytest.param(0.25, [0.5, 0.5, 0.5], [NAN, INF, -INF], [NAN, INF, -INF], id="dy-special-inside"),
    pytest.param(0.25, [0.5, 0.5], [0.0, -0.0], [0.0, -0.0], id="dy-zero-keeps-its-sign"),
]


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(("eps", "x", "dy", "out"), LOGIT_EDGES)
def test_logit_edges(dtype, eps, x, dy, out):
    check(logit(x, dy, eps, dtype), "out", out)


def test_logit_eps_is_the_float32_number():
    # 0.1 in float32 is 0.100000001490116; 1 - eps is a float32 difference, 0.89999998.
    eps, hi = f32(0.1), float(np.float32(1) - np.float32(0.1))
    result = logit([above(eps, -1), eps, hi, above(hi)], [1, 1, 1, 1], 0.1)
    for out in (wide(result.golden.outputs["out"]), wide(result.host["out"])):
        assert (out != 0).tolist() == [False, True, True, False]


def test_logit_bounds_are_float32_for_bfloat16_too():
    # 0.10009765625 is the bfloat16 number nearest to 0.1003: a bound kept in bfloat16 would let it in.
    check(logit([0.10009765625, 0.1005859375], [0.0, 0.0], 0.1003, "bfloat16"), "out", [0.0, 0.0])
    result = logit([0.10009765625, 0.1005859375], [1.0, 1.0], 0.1003, "bfloat16")
    assert (wide(result.host["out"]) != 0).tolist() == [False, True]
    assert (wide(result.golden.outputs["out"]) != 0).tolist() == [False, True]


@pytest.mark.parametrize(
    ("dtype", "host"), [("float16", [INF, -INF, 65504]), ("bfloat16", [239616, -239616, 65536])]
)
def test_logit_overflow_of_the_output(dtype, host):
    # 4 * 60000 is beyond float16; bfloat16 has it (59904 is the bfloat16 number at 60000).
    x, dy = [0.5, 0.5, 0.5], [60000, -60000, 16376]
    stored = 59904 if dtype == "bfloat16" else 60000
    last = 16384 if dtype == "bfloat16" else 16376
    check(logit(x, dy, dtype=dtype), "out", [4 * stored, -4 * stored, 4 * last], host=host)


def test_logit_reads_dy_as_flat_memory_of_x_size():
    x = [[0.5, 0.5, 0.5], [0.5, 0.5, 0.5]]
    check(logit(x, [1, 2, 3, 4, 5, 6]), "out", [4, 8, 12, 16, 20, 24])
    check(logit(x, [1, 2, 3, 4, 5, 6, 7, 8]), "out", [4, 8, 12, 16, 20, 24])
    # A strided dy is copied first: its logical order counts.
    dy = tensor("float32", [[1, 2], [3, 4], [5, 6]], layout="transposed")
    check(run("logit_grad", x=tensor("float32", x), dy=dy), "out", [4, 8, 12, 16, 20, 24])


@pytest.mark.parametrize("dtype", FLOATS)
def test_logit_scalar_and_empty(dtype):
    result = run("logit_grad", x=tensor(dtype, 0.5), dy=tensor(dtype, 3.0))
    check(result, "out", [12])
    assert result.host["out"].shape == result.golden.outputs["out"].shape == ()
    empty = run("logit_grad", x=tensor(dtype, np.zeros((0, 4))), dy=tensor(dtype, np.zeros((0, 4))))
    assert empty.host["out"].shape == empty.golden.outputs["out"].shape == (0, 4)


# --- elu_backward ---------------------------------------------------------------------------------------------


def elu(x, g, alpha=1.0, scale=1.0, input_scale=1.0, is_result=False, dtype="float32", out=None):
    more = {} if out is None else {"gradInput": tensor(out, shape=np.shape(x))}
    return run(
        "elu_backward",
        gradOutput=tensor(dtype, g),
        selfOrResult=tensor(dtype, x),
        alpha=alpha,
        scale=scale,
        inputScale=input_scale,
        isResult=is_result,
        **more,
    )


def test_elu_documented_example():
    values = [[-2, -1], [0, 1]]
    result = elu(values, values, is_result=True)
    assert np.array_equal(result.host["gradInput"], [[2, 0], [0, 1]])
    assert np.array_equal(result.golden.outputs["gradInput"], [[2, 0], [0, 1]])


ELU_EDGES = [
    # x, g, alpha, scale, inputScale, isResult, out
    pytest.param([0.0, -0.0], [1, 1], 2, 4, 8, False, [64, 64], id="zero-is-exponential"),
    pytest.param([0.0, -0.0], [1, 1], 2, 4, 8, True, [64, 64], id="zero-is-exponential-result"),
    pytest.param([NAN, NAN], [1, -3], 2, 4, 8, False, [4, -12], id="nan-is-linear"),
    pytest.param([NAN], [1], 2, 4, 8, True, [4], id="nan-is-linear-result"),
    pytest.param([1.0, INF, 2.0**-14], [3, 3, 3], 2, 4, 8, False, [12, 12, 12], id="positive-is-linear"),
    pytest.param([-INF, -INF], [1, -1], 2, 4, 8, False, [0.0, -0.0], id="minus-inf"),
    pytest.param([-INF, -INF], [1, -1], 2, 4, 0, False, [NAN, NAN], id="minus-inf-input-scale-0"),
    pytest.param([-INF, -INF], [1, -1], 2, 4, -1, False, [-INF, INF], id="minus-inf-input-scale-negative"),
    pytest.param([-INF, -INF, -INF], [1, -1, 0], 2, 4, 8, True, [-INF, INF, NAN], id="minus-inf-result"),
    pytest.param([-2.0, 0.0], [3, 3], 0, 4, 2, True, [-12, 0.0], id="alpha-0-result"),
    pytest.param([-2.0], [3], -0.0, 4, 2, True, [-12], id="alpha-minus-0-result"),
    pytest.param([-2.0, 2.0], [3, 3], NAN, 4, 2, True, [NAN, 12], id="alpha-nan-result"),
    pytest.param([-2.0, 2.0], [3, 3], NAN, 4, 2, False, [NAN, 12], id="alpha-nan"),
    pytest.param([-1000.0], [0], 1, 1, -1, False, [NAN], id="g-0-exp-overflow"),
    pytest.param([1000.0], [3], 1, 2, 1, False, [6], id="unused-overflow-does-not-leak"),
    pytest.param([2.0, -2.0], [NAN, NAN], 1, 1, 1, False, [NAN, NAN], id="nan-g"),
    pytest.param([2.0, 0.0], [INF, -INF], 1, 2, 1, False, [INF, -INF], id="inf-g"),
    pytest.param([2.0, 0.0], [-0.0, -0.0], 1, 2, 1, False, [-0.0, -0.0], id="g-minus-0"),
    pytest.param([-0.5], [2], 1, 1, 1, True, [1], id="result-is-x-plus-alpha"),
    pytest.param(
        [-0.5, 0.0], [2, 1], -1, 1, 1, False, [-2 * np.exp(-0.5), -1], id="negative-alpha-with-input"
    ),
]


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(("x", "g", "alpha", "scale", "input_scale", "is_result", "out"), ELU_EDGES)
def test_elu_edges(dtype, x, g, alpha, scale, input_scale, is_result, out, request):
    result = elu(x, g, alpha, scale, input_scale, is_result, dtype)
    if "negative-alpha" in request.node.callspec.id:
        check(result, "gradInput", out, rel={"float32": 2e-7, "float16": 1e-3, "bfloat16": 8e-3}[dtype])
    else:
        check(result, "gradInput", out)


def test_elu_exp_overflows_in_float32():
    # exp(100) is Inf in the kernel's float32, and 0 * Inf is NaN; float64 has exp(100).
    result = elu([-100.0], [0], 1, 1, -1)
    assert np.isnan(result.host["gradInput"]).all()
    assert np.isnan(result.golden.outputs["gradInput"]).all()


def test_elu_exponential_by_hand():
    # 3 * 0.5 * (2 * 1.5) * exp(-0.25 * 0.5)
    check(elu([-0.25], [3.0], 2.0, 1.5, 0.5), "gradInput", [4.5 * np.exp(-0.125)], rel=2e-7)


def test_elu_negcoef_is_a_float32_product():
    # float32(0.1)**2 rounded to float32; in exact arithmetic it would be 0.01000000029802322...
    result = elu([0.0], [1.0], 0.1, 0.1)
    assert result.golden.outputs["gradInput"].item() == 0.010000000707805157
    assert float(result.host["gradInput"].item()) == 0.010000000707805157


def test_elu_scalars_of_other_dtypes():
    check(
        elu([0.0], [1.0], Attribute(2, "uint8"), Attribute(True, "bool"), Attribute(3, "int32")),
        "gradInput",
        [6],
    )
    # A float16 scalar holds 0.0999755859375 for 0.1.
    check(elu([1.0], [1.0], scale=Attribute(0.1, "float16")), "gradInput", [0.0999755859375])


def test_elu_rounds_to_nearest_even():
    one_and_half, three_halves = 1 + 2.0**-11, 1 + 3 * 2.0**-11
    check(elu([1.0], [1.0], scale=one_and_half, dtype="float16"), "gradInput", [one_and_half], host=[1.0])
    check(
        elu([1.0], [1.0], scale=three_halves, dtype="float16"),
        "gradInput",
        [three_halves],
        host=[1 + 2.0**-9],
    )
    tie, next_tie = 1 + 2.0**-8, 1 + 3 * 2.0**-8
    check(elu([1.0], [1.0], scale=tie, dtype="bfloat16"), "gradInput", [tie], host=[1.0])
    check(elu([1.0], [1.0], scale=next_tie, dtype="bfloat16"), "gradInput", [next_tie], host=[1 + 2.0**-6])


def test_elu_overflow_of_the_output():
    check(elu([1.0], [60000.0], scale=2, dtype="float16"), "gradInput", [120000], host=[INF])


@pytest.mark.parametrize("out", ["float32", "float64"])
def test_elu_wider_output_is_rounded_through_the_dtype_of_grad_output(out):
    # The kernel writes gradOutput's dtype, then a cast widens it: a float16 overflow stays Inf.
    check(elu([1.0], [60000.0], scale=2, dtype="float16", out=out), "gradInput", [INF])
    check(elu([1.0], [1.0], scale=1 + 3 * 2.0**-12, dtype="float16", out=out), "gradInput", [1 + 2.0**-10])
    check(elu([1.0], [1.0], scale=1 + 3 * 2.0**-9, dtype="bfloat16", out=out), "gradInput", [1 + 2.0**-7])


def test_elu_float64_output_of_float32():
    # float32(1/3) * 3 is 1.0000000298 exactly, 1 in float32.
    check(elu([1.0], [f32(1 / 3)], scale=3, out="float64"), "gradInput", [1.0])


def test_elu_narrower_output_is_rounded_twice():
    # (1 + 2**-12)**2 = 1 + 2**-11 + 2**-24: float32 drops the last term, and what is left is a float16 tie.
    g = 1 + 2.0**-12
    check(elu([1.0], [g], scale=g, out="float16"), "gradInput", [1 + 2.0**-11], host=[1.0])


def test_elu_complex_output():
    result = elu(
        [1.0, -1.0], [60000.0, 2.0], scale=2, alpha=3, is_result=True, dtype="float16", out="complex64"
    )
    for got in (result.golden.outputs["gradInput"], result.host["gradInput"]):
        assert got.real.tolist() == [INF, 10.0]
        assert got.imag.tolist() == [0.0, 0.0]
    assert result.host["gradInput"].dtype == np.complex64


def test_elu_scalar_and_empty():
    result = elu(-1.0, 2.0, 3.0, is_result=True)
    check(result, "gradInput", [4.0])
    assert result.host["gradInput"].shape == ()
    assert elu(np.zeros((4, 0)), np.zeros((4, 0))).host["gradInput"].shape == (4, 0)


# --- batch_norm_elemt_backward --------------------------------------------------------------------------------


def batch_norm(*, dtype="float32", counter=None, weight="ones", out=None, dtypes=None, **arrays):
    """Vectors default to mean 0, invstd 1, weight 1, sums 0; ``dtypes`` overrides ``dtype`` by name."""
    kinds = {
        **dict.fromkeys(("gradOut", "input", "mean", "invstd", "weight", "sumDy", "sumDyXmu"), dtype),
        **(dtypes or {}),
    }
    channels = np.shape(arrays["input"])[1]
    for name, value in {"mean": 0, "invstd": 1, "sumDy": 0, "sumDyXmu": 0}.items():
        arrays.setdefault(name, [value] * channels)
    arrays["weight"] = [1] * channels if isinstance(weight, str) else weight
    given = {n: None if v is None else tensor(kinds[n], v) for n, v in arrays.items()}
    given["counter"] = counter if counter is not None else tensor("int32", [1])
    if out is not None:
        given["gradInput"] = tensor(out, shape=np.shape(arrays["input"]))
    return run("batch_norm_elemt_backward", **given)


CUDA = [
    pytest.param(
        {"mean": [8, 5, 9], "invstd": [2, 1, 2], "weight": [1, 1, 4]},
        [9.2, 1.6667, 192.5333],
        id="whole-numbers",
    ),
    pytest.param(
        {
            "mean": [8.123456, 5.147125, 9.365778],
            "invstd": [2.65485, 1.36541, 2.25879],
            "weight": [1.36987, 1.36944, 4.25774],
        },
        [27.4980, 4.5119, 306.8037],
        id="fractions",
    ),
]


@pytest.mark.parametrize("shape", [(2, 3), (2, 3, 1), (2, 3, 1, 4), (1, 3, 2, 1, 2)])
@pytest.mark.parametrize(("vectors", "out"), CUDA)
def test_batch_norm_cuda_values(vectors, out, shape):
    """Values that CUDA gave, kept in op-plugin's tests. N is the sum of counter: 15."""
    ones = np.ones(shape)
    sums = {"sumDy": [2, 2, 6], "sumDyXmu": [2, 3, 11]}
    result = batch_norm(gradOut=ones, input=ones, counter=tensor("int32", [5, 5, 5]), **vectors, **sums)
    want = np.broadcast_to(np.reshape(out, (1, 3, *[1] * (len(shape) - 2))), shape)
    for got in (result.golden.outputs["gradInput"], result.host["gradInput"]):
        assert got.shape == shape
        np.testing.assert_allclose(got, want, rtol=0, atol=1e-4)


def test_batch_norm_documented_example():
    # sumDyXmu / N = 1 / 10, so every element keeps nine tenths of itself.
    values = np.arange(8.0).reshape(1, 2, 4)
    result = batch_norm(gradOut=values, input=values, sumDyXmu=[1, 1], counter=tensor("float32", [5, 5]))
    check(result, "gradInput", 0.9 * values, rel=2e-7)


def test_batch_norm_by_hand():
    # Channel 0: ((7 - 8/4) - (3 - 1) * (4/4) * 4) * 2 * 3 = -18; channel 1: ((7 - 2) - (3 - 2) * 2 * 1) * 0.5
    result = batch_norm(
        gradOut=[[7.0, 7.0]],
        input=[[3.0, 3.0]],
        mean=[1, 2],
        invstd=[2, 1],
        weight=[3, 0.5],
        sumDy=[8, 8],
        sumDyXmu=[4, 8],
        counter=tensor("int32", [1, 3]),
    )
    check(result, "gradInput", [[-18.0, 1.5]])


@pytest.mark.parametrize("dtype", FLOATS)
def test_batch_norm_null_weight_is_one(dtype):
    same = {
        "gradOut": [[3.0]],
        "input": [[2.0]],
        "invstd": [2],
        "sumDy": [4],
        "counter": tensor("int32", [4]),
    }
    check(batch_norm(weight=None, dtype=dtype, **same), "gradInput", [[4.0]])
    check(batch_norm(dtype=dtype, **same), "gradInput", [[4.0]])


THIRD16 = 1365 * 2.0**-12  # 1/3 in float16


def test_batch_norm_all_float16_rounds_the_means():
    thirds = {
        "gradOut": [[1.0]],
        "input": [[0.0]],
        "sumDy": [1],
        "counter": tensor("int32", [3]),
        "dtype": "float16",
    }
    # 1 - 1/3 with the rounded third is 2731 * 2**-12, a tie of float16 that goes to the even 1366 * 2**-11.
    check(batch_norm(**thirds), "gradInput", [[1 - THIRD16]], host=[[1366 * 2.0**-11]])
    # The other mean, in the slope.
    slope = {**thirds, "gradOut": [[0.0]], "input": [[1.0]], "sumDy": [0], "sumDyXmu": [1]}
    check(batch_norm(**slope), "gradInput", [[-THIRD16]])


@pytest.mark.parametrize(
    "odd", ["gradOut", "input", "mean", "invstd", "weight", "sumDy", "sumDyXmu", "null weight"]
)
def test_batch_norm_one_other_dtype_means_float32(odd):
    change = {"weight": None} if odd == "null weight" else {"dtypes": {odd: "float32"}}
    result = batch_norm(
        gradOut=[[1.0]],
        input=[[0.0]],
        sumDy=[1],
        counter=tensor("int32", [3]),
        dtype="float16",
        out="float16",
        **change,
    )
    # 2/3 is written in float32 and then cast: 1365 * 2**-11.
    check(result, "gradInput", [[f32(1 - 1 / 3)]], host=[[1365 * 2.0**-11]])


def test_batch_norm_bfloat16_runs_in_float32():
    result = batch_norm(
        gradOut=[[1.0]], input=[[0.0]], sumDy=[1], counter=tensor("int32", [3]), dtype="bfloat16"
    )
    check(result, "gradInput", [[f32(2 / 3)]], host=[[171 / 256]])


def test_batch_norm_output_dtype_of_its_own():
    thirds = {"gradOut": [[1.0]], "input": [[0.0]], "sumDy": [1], "counter": tensor("int32", [3])}
    # All float16: the kernel writes float16, the cast widens it.
    check(batch_norm(**thirds, dtype="float16", out="float32"), "gradInput", [[1366 * 2.0**-11]])
    big = {"gradOut": [[60000.0]], "input": [[0.0]], "invstd": [2]}
    check(batch_norm(**big, dtype="float16", out="float32"), "gradInput", [[INF]])
    check(batch_norm(**big, weight=None, dtype="float16", out="float32"), "gradInput", [[120000.0]])
    check(batch_norm(**big, out="float16"), "gradInput", [[120000.0]], host=[[INF]])
    # float32 first, float16 after: twice rounded. 1 + 2**-11 + 2**-24 is a tie once float32 has dropped the end.
    g = 1 + 2.0**-12
    twice = batch_norm(gradOut=[[g]], input=[[0.0]], invstd=[g], out="float16")
    check(twice, "gradInput", [[1 + 2.0**-11]], host=[[1.0]])


def test_batch_norm_square_of_invstd_does_not_overflow_in_float16():
    # invstd * invstd = 2**18 lives in float32 also where everything is float16.
    result = batch_norm(
        gradOut=[[0.0]], input=[[2.0**-10]], invstd=[512], sumDyXmu=[2.0**-14], dtype="float16"
    )
    check(result, "gradInput", [[-(2.0**-10) * 2.0**-14 * 2.0**18 * 512]])


COUNTERS = [
    pytest.param(tensor("float16", [40000, 40000]), 80000.0, id="float16-beyond-65504"),
    pytest.param(tensor("int32", [2**31 - 1, 2**31 - 1]), 2.0**32, id="int32-beyond-int32"),
    pytest.param(tensor("float32", [0.5, 1.5]), 2.0, id="fractions"),
    pytest.param(tensor("int32", [[1, 2], [3, 2]]), 8.0, id="rank-2"),
    pytest.param(tensor("int32", [4], offset=3, storage_shape=[8]), 4.0, id="offset"),
    pytest.param(tensor("int32", [-6, 2]), -4.0, id="negative"),
]


@pytest.mark.parametrize(("counter", "n"), COUNTERS)
def test_batch_norm_n_is_the_float32_sum_of_counter(counter, n):
    result = batch_norm(gradOut=[[3.0]], input=[[0.0]], sumDy=[n / 4], counter=counter)
    check(result, "gradInput", [[2.75]])


def test_batch_norm_counter_of_zero():
    nothing = tensor("int32", [-1, 1])
    x = {"gradOut": [[1.0, 1.0]], "input": [[1.0, -1.0]], "counter": nothing}
    # meanDy = +-Inf; with sumDyXmu = 0 the slope is 0/0, so everything is NaN.
    check(batch_norm(**x, sumDy=[1, -1]), "gradInput", [[NAN, NAN]])
    # -Inf - Inf, then -Inf + Inf.
    check(batch_norm(**x, sumDy=[1, 1], sumDyXmu=[1, 1]), "gradInput", [[-INF, NAN]])
    check(batch_norm(**x, sumDy=[-1, -1], sumDyXmu=[-1, 1]), "gradInput", [[INF, INF]])
    check(
        batch_norm(gradOut=[[1.0]], input=[[0.0]], sumDy=[1], sumDyXmu=[1], counter=nothing),
        "gradInput",
        [[NAN]],
    )


def test_batch_norm_specials_propagate():
    result = batch_norm(gradOut=[[NAN], [INF], [-INF], [-0.0]], input=[[0.0]] * 4, invstd=[2])
    check(result, "gradInput", [[NAN], [INF], [-INF], [-0.0]])
    check(batch_norm(gradOut=[[1.0]], input=[[INF]], sumDyXmu=[1]), "gradInput", [[-INF]])
    check(batch_norm(gradOut=[[1.0]], input=[[INF]], sumDyXmu=[0]), "gradInput", [[NAN]])


def test_batch_norm_mixed_dtypes():
    kinds = {
        "gradOut": "float16",
        "mean": "bfloat16",
        "invstd": "float16",
        "weight": "bfloat16",
        "sumDyXmu": "float16",
    }
    result = batch_norm(
        gradOut=[[7.0]], input=[[3.0]], mean=[1], invstd=[2], weight=[3], sumDy=[8], sumDyXmu=[4],
        counter=tensor("float16", [4]), dtypes=kinds,
    )  # fmt: skip
    check(result, "gradInput", [[-18.0]])
    assert result.host["gradInput"].dtype == np.float32  # it follows input


def test_batch_norm_empty():
    assert batch_norm(gradOut=np.ones((0, 3)), input=np.ones((0, 3))).host["gradInput"].shape == (0, 3)
    assert batch_norm(gradOut=np.ones((2, 3, 0)), input=np.ones((2, 3, 0))).host["gradInput"].shape == (
        2,
        3,
        0,
    )


# --- threshold_backward ---------------------------------------------------------------------------------------


def threshold(self, g, t, dtype="float32"):
    return run("threshold_backward", gradOutput=tensor(dtype, g), self=tensor(dtype, self), threshold=t)


def test_threshold_documented_example():
    result = threshold([[0.2, 1.2], [2.2, 3.2]], [[4.5, 4.4], [4.3, 4.2]], 1.0)
    check(result, "out", [[0.0, f32(4.4)], [f32(4.3), f32(4.2)]])


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("t", [0.0, -0.0, EPS32, -EPS32, 1.19e-7, EPS32 * (1 + 1e-12)])
def test_threshold_that_counts_as_zero_multiplies(dtype, t):
    # self <= 0: grad * 0. NaN and Inf give NaN, a negative grad -0.0.
    grads = [1.0, -1.0, -0.0, NAN, INF, -INF]
    for self in (-1.0, 0.0, -0.0, -INF):
        check(threshold([self] * 6, grads, t, dtype), "out", [0.0, -0.0, -0.0, NAN, NAN, NAN])
    for self in (2.0**-24, 1.0, INF, NAN):
        check(threshold([self] * 6, grads, t, dtype), "out", grads)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("t", [above(EPS32), 0.25, 1.0, 2.0, INF])
def test_threshold_above_it_selects(dtype, t):
    grads = [1.0, -1.0, -0.0, NAN, INF, -INF]
    check(threshold([2.0**-24] * 6, grads, t, dtype), "out", [0.0] * 6)
    check(threshold([t] * 6, grads, t, "float32"), "out", [0.0] * 6)
    check(threshold([NAN] * 6, grads, t, dtype), "out", grads)
    if np.isfinite(t):
        check(threshold([INF, above(t)], [-3.0, -3.0], t), "out", [-3.0, -3.0])


def test_threshold_negative_and_special():
    check(threshold([-2.0, -1.5, -1.0, 0.0], [5.0] * 4, -1.5), "out", [0.0, 0.0, 5.0, 5.0])
    check(threshold([-INF, -3e38, NAN], [5.0] * 3, -INF), "out", [0.0, 5.0, 5.0])
    check(threshold([-INF, 0.0, NAN, INF], [5.0, NAN, INF, -0.0], NAN), "out", [5.0, NAN, INF, -0.0])
    # Just beyond 1.19e-7 on the negative side, zero is above the threshold.
    check(threshold([0.0], [5.0], -EPS32), "out", [0.0])
    check(threshold([0.0], [5.0], above(-EPS32, -1)), "out", [5.0])


def test_threshold_compares_in_float32():
    # 0.1 lies between two float16 numbers; as a double it is below its float32.
    check(threshold([0.0999755859375, 0.10003662109375], [3.0, 3.0], 0.1, "float16"), "out", [0.0, 3.0])
    check(threshold([0.099609375, 0.10009765625], [3.0, 3.0], 0.1, "bfloat16"), "out", [0.0, 3.0])
    check(threshold([f32(0.1), above(f32(0.1))], [3.0, 3.0], 0.1), "out", [0.0, 3.0])


def test_threshold_scalars_of_other_dtypes():
    check(threshold([1.0, 1.5], [3.0, 3.0], Attribute(True, "bool")), "out", [0.0, 3.0])
    check(threshold([1.0, 1.5], [3.0, 3.0], Attribute(1, "int64")), "out", [0.0, 3.0])
    check(
        threshold([0.0999755859375, 0.10003662109375], [3.0] * 2, Attribute(0.1, "float16")),
        "out",
        [0.0, 3.0],
    )


def test_threshold_int32_goes_through_float32():
    big = 2**24
    # Values: nearest even of float32.
    check(threshold([5] * 5, [big + 1, big + 2, big + 3, -(big + 1), 7], 1.0, "int32"), "out",
          [big, big + 2, big + 4, -big, 7])  # fmt: skip
    # The compare: 2**24 + 1 is 2**24 there, and not above it.
    check(threshold([big + 1, big + 2, big], [5] * 3, float(big), "int32"), "out", [0, 5, 0])
    # With a threshold that counts as 0 the kernel stays in int32.
    check(threshold([1, 1], [big + 1, -(big + 1)], 0.0, "int32"), "out", [big + 1, -(big + 1)])


@pytest.mark.parametrize(("dtype", "low", "high"), [("int8", -128, 127), ("uint8", 0, 255)])
def test_threshold_small_integers(dtype, low, high):
    grads = [low, high, 1]
    for t in (0.0, 1.0):
        check(threshold([high] * 3, grads, t, dtype), "out", grads)
        check(threshold([int(t)] * 3, grads, t, dtype), "out", [0, 0, 0])
    check(threshold([1, 2], [7, 7], 1.5, dtype), "out", [0, 7])
    check(threshold([low, high], [7, 7], -1000.0, dtype), "out", [7, 7])
    check(threshold([low, high], [7, 7], 1000.0, dtype), "out", [0, 0])
    assert threshold([1], [1], 0.0, dtype).host["out"].dtype == np.dtype(dtype)


def test_threshold_int64_is_exact():
    values = [2**53 + 1, -(2**53 + 1), 2**62 + 1]
    result = threshold([1, 2**53 + 1, 0], values, 0.0, "int64")
    for got in (result.golden.outputs["out"], result.host["out"]):
        assert got.tolist() == [values[0], values[1], 0]


BROADCASTS = [
    pytest.param((2, 3), (3,), id="self-smaller"),
    pytest.param((3,), (2, 3), id="grad-smaller"),
    pytest.param((2, 1), (1, 3), id="both"),
    pytest.param((), (2, 3), id="grad-scalar"),
    pytest.param((2, 3), (), id="self-scalar"),
    pytest.param((), (), id="scalars"),
    pytest.param((1, 1, 1), (3,), id="ones"),
    pytest.param((0, 3), (1, 3), id="empty"),
]


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int8"])
@pytest.mark.parametrize("t", [0.0, 1.0])
@pytest.mark.parametrize(("grad", "self"), BROADCASTS)
def test_threshold_broadcasts(grad, self, t, dtype):
    g = np.arange(1, np.prod(grad) + 1).reshape(grad)
    s = np.arange(np.prod(self)).reshape(self)
    result = threshold(s, g, t, dtype)
    shape = np.broadcast_shapes(grad, self)
    want = np.zeros(shape)
    for at in np.ndindex(*shape):
        want[at] = np.broadcast_to(g, shape)[at] if np.broadcast_to(s, shape)[at] > t else 0
    check(result, "out", want)
    assert result.host["out"].shape == result.golden.outputs["out"].shape == shape


# --- amp_update_scale -----------------------------------------------------------------------------------------


def amp(scale, tracker, found, growth=2.0, backoff=0.5, interval=1000, dtype="float32", shape=(1,)):
    return run(
        "amp_update_scale",
        currentScale=tensor(dtype, [scale], shape),
        growthTracker=tensor("int32", [tracker], shape),
        foundInf=tensor(dtype, [found], shape),
        growthFactor=growth,
        backoffFactor=backoff,
        growthInterval=interval,
    )


def check_amp(result, scale, tracker, host=None):
    check(result, "updatedScale", [scale], host=None if host is None else [host])
    check(result, "updatedGrowthTracker", [tracker])


@pytest.mark.parametrize("shape", [(1,), ()])
@pytest.mark.parametrize(
    ("tracker", "found", "scale", "after"),
    [
        pytest.param(900, 0.0, 65536, 901, id="counts"),
        pytest.param(999, 0.0, 131072, 0, id="grows"),
        pytest.param(900, 1.0, 32768, 0, id="backs-off"),
    ],
)
def test_amp_documented_examples(tracker, found, scale, after, shape):
    result = amp(65536, tracker, found, shape=shape)
    check_amp(result, scale, after)
    assert result.host["updatedScale"].shape == shape
    assert result.host["updatedScale"].dtype == np.float32
    assert result.host["updatedGrowthTracker"].dtype == np.int32


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("found", [1.0, -1.0, NAN, INF, -INF, 2.0**-24])
def test_amp_found(found, dtype):
    check_amp(amp(1024, 5, found, dtype=dtype), 512, 0)
    check_amp(amp(1024, 999, found, dtype=dtype), 512, 0)  # also when growth is due


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("found", [0.0, -0.0])
def test_amp_not_found(found, dtype):
    check_amp(amp(1024, 5, found, dtype=dtype), 1024, 6)


TOP = 2**31 - 1


@pytest.mark.parametrize(
    ("tracker", "interval", "scale", "after"),
    [
        pytest.param(TOP, 1000, 8, -(2**31), id="wraps"),
        pytest.param(TOP, TOP, 8, -(2**31), id="wraps-past-the-largest-interval"),
        pytest.param(TOP - 1, TOP, 16, 0, id="largest-interval"),
        pytest.param(0, 1, 16, 0, id="smallest-interval"),
        pytest.param(1000, 1000, 8, 1001, id="past-the-interval-never-grows"),
        pytest.param(5000, 1000, 8, 5001, id="far-past"),
        pytest.param(-1, 1, 8, 0, id="negative-counts-up"),
        pytest.param(-(2**31), 1000, 8, -(2**31) + 1, id="smallest-tracker"),
    ],
)
def test_amp_tracker(tracker, interval, scale, after):
    check_amp(amp(8, tracker, 0.0, interval=interval), scale, after)


def test_amp_float16_growth_is_stored_as_inf():
    # 80000 is finite in float32, where the kernel looks.
    check_amp(amp(40000, 999, 0.0, dtype="float16"), 80000, 0, host=INF)
    check_amp(amp(32752, 999, 0.0, dtype="float16"), 65504, 0)
    # 65520 is the tie that rounds to Inf.
    check_amp(amp(32768, 999, 0.0, growth=65520 / 32768, dtype="float16"), 65520, 0, host=INF)


def test_amp_bfloat16_growth_is_stored_as_inf():
    top, growth = 255 * 2.0**120, 1.00390625 - 2.0**-10
    check_amp(amp(top, 999, 0.0, growth=growth, dtype="bfloat16"), top * growth, 0, host=INF)


def test_amp_growth_beyond_float32_keeps_the_scale():
    scale = 2.0**127
    check_amp(amp(scale, 999, 0.0), scale, 0)
    check_amp(amp(-scale, 999, 0.0), -scale, 0)
    check_amp(amp(scale, 999, 0.0, dtype="bfloat16"), scale, 0)
    check_amp(amp(8, 999, 0.0, growth=NAN), 8, 0)
    check_amp(amp(8, 999, 0.0, growth=INF), 8, 0)
    check_amp(amp(INF, 999, 0.0), INF, 0)
    check_amp(amp(NAN, 999, 0.0), NAN, 0)


def test_amp_factors_are_float32_and_unchecked():
    check_amp(amp(1, 999, 0.0, growth=1.1), f32(1.1), 0)
    check_amp(amp(1, 5, 1.0, backoff=0.1), f32(0.1), 0)
    check_amp(amp(8, 999, 0.0, growth=0.5), 4, 0)
    check_amp(amp(8, 5, 1.0, backoff=2.0), 16, 0)
    check_amp(amp(8, 5, 1.0, backoff=-1.0), -8, 0)
    check_amp(amp(8, 5, 1.0, backoff=NAN), NAN, 0)
    check_amp(amp(2.0**127, 5, 1.0, backoff=4.0), 2.0**129, 0, host=INF)  # backing off is not guarded
    check_amp(amp(8, 5, NAN, backoff=0.0), 0.0, 0)


def test_comparison_sees_the_sign_of_zero():
    assert not identical([0.0], [-0.0])
    assert identical([NAN, -0.0], [NAN, -0.0])
