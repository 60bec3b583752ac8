"""The five references against PyTorch on the CPU, and every known difference by name."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from operator_calls import FLOATS, INF, NAN, identical, run, tensor, ulps, wide

from ascend_opcli.tensors.dtypes import numpy_dtype, round_to

torch = pytest.importorskip("torch")
aten = torch.ops.aten

TORCH = {
    "float64": torch.float64,
    "float32": torch.float32,
    "float16": torch.float16,
    "bfloat16": torch.bfloat16,
    "int32": torch.int32,
    "int64": torch.int64,
    "int8": torch.int8,
    "uint8": torch.uint8,
}
# A torch operation of its own may round each step to bfloat16 or float16; float32 differs by its exp.
FEW = {"float32": 4, "float16": 4, "bfloat16": 4}
TIGHT = 1e-12


def stored(values, dtype):
    """The values as a tensor of that dtype holds them, in NumPy."""
    return round_to(np.asarray(values, np.float64), dtype)


def to_torch(array, dtype):
    """A torch tensor of values that the dtype holds exactly."""
    return (
        torch.tensor(wide(array).tolist(), dtype=TORCH["float64"]).to(TORCH[dtype]).reshape(np.shape(array))
    )


def back(result):
    return result.to(torch.float64).numpy()


def close(golden, want):
    golden, want = wide(golden).reshape(-1), wide(want).reshape(-1)
    np.testing.assert_allclose(golden, want, rtol=TIGHT, atol=0)


def within(host, want, dtype, most=None):
    away = ulps(host, want, dtype)
    assert away.max(initial=0) <= (FEW[dtype] if most is None else most), (
        f"{away.max()} ulp at {away.argmax()}"
    )


def reals(low, high):
    """Floats of an interval, biased to simple ones, that float32 holds."""
    return st.floats(low, high, width=32, allow_subnormal=False).map(float)


def pair(*bounds):
    """Lists of one length, one for each interval."""
    return st.integers(1, 40).flatmap(
        lambda n: st.tuples(*(st.lists(reals(*b), min_size=n, max_size=n) for b in bounds))
    )


def drawn(seed, low, high, shape=(7, 301)):
    return np.random.Generator(np.random.PCG64(seed)).uniform(low, high, shape)


# --- logit_grad -----------------------------------------------------------------------------------------------


def compare_logit(x, dy, eps, dtype):
    x, dy = stored(x, dtype), stored(dy, dtype)
    ours = run("logit_grad", x=tensor(dtype, x), dy=tensor(dtype, dy), eps=-1.0 if eps is None else eps)
    exact = aten.logit_backward(to_torch(dy, "float64"), to_torch(x, "float64"), eps)
    close(ours.golden.outputs["out"], back(exact))
    within(ours.host["out"], round_to(back(exact), dtype), dtype, 2)
    own = aten.logit_backward(to_torch(dy, dtype), to_torch(x, dtype), eps)
    within(ours.host["out"], back(own), dtype)


@pytest.mark.parametrize("dtype", FLOATS)
# Bounds that every dtype holds: where one does not, torch and the kernel keep different bounds (see below).
@pytest.mark.parametrize("eps", [None, -0.5, 0.0, 0.125, 0.25, 0.5, 0.75])
def test_logit_random(dtype, eps):
    compare_logit(drawn(1, 0.01, 0.99), drawn(2, -8, 8), eps, dtype)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("eps", [None, 0.0, 0.125])
def test_logit_random_outside(dtype, eps):
    compare_logit(drawn(3, -1, 2), drawn(4, -8, 8), eps, dtype)


@given(pair((2.0**-12, 1 - 2.0**-12), (-64, 64)), st.none() | st.integers(0, 32).map(lambda n: n / 64))
def test_logit_hypothesis(values, eps):
    x, dy = values
    for dtype in FLOATS:
        # Away from 1, where bfloat16's and float16's own 1 - x would lose all its digits.
        kept = np.clip(x, 2.0**-6, 1 - 2.0**-6)
        compare_logit(kept, np.where(np.abs(dy) < 2.0**-6, 1.0, dy), eps, dtype)
    compare_logit(x, np.where(np.abs(dy) < 2.0**-20, 1.0, dy), eps, "float32")


# --- elu_backward ---------------------------------------------------------------------------------------------


def compare_elu(x, g, alpha, scale, input_scale, is_result, dtype, floor=0.0):
    x, g = stored(x, dtype), stored(g, dtype)
    ours = run(
        "elu_backward", gradOutput=tensor(dtype, g), selfOrResult=tensor(dtype, x),
        alpha=alpha, scale=scale, inputScale=input_scale, isResult=is_result,
    )  # fmt: skip
    rest = (alpha, scale, input_scale, is_result)
    exact = back(aten.elu_backward(to_torch(g, "float64"), *rest, to_torch(x, "float64")))
    close(ours.golden.outputs["gradInput"], exact)
    # Where x + alpha cancels, float32 keeps an absolute error of its own; the rest is within a few ulp.
    kept = np.abs(exact) >= floor
    host = wide(ours.host["gradInput"])[kept]
    within(host, round_to(exact, dtype)[kept], dtype, 4)
    own = back(aten.elu_backward(to_torch(g, dtype), *rest, to_torch(x, dtype)))
    within(host, own[kept], dtype)


# alpha * scale has to be exact in float32: torch multiplies doubles, the operator floats.
COEFFICIENTS = [(1.0, 1.0, 1.0), (0.5, 2.0, 0.75), (1.625, 1.0625, 1.0), (0.0, 1.5, 2.0), (3.0, -1.0, 0.5)]


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("is_result", [False, True])
@pytest.mark.parametrize("coefficients", COEFFICIENTS)
def test_elu_random(dtype, is_result, coefficients):
    compare_elu(drawn(5, -4, 4), drawn(6, 0.5, 2), *coefficients, is_result, dtype, floor=2.0**-6)


@given(
    pair((-16, 16), (0.25, 64)),
    st.integers(0, 64).map(lambda n: n / 16),
    st.integers(-32, 32).map(lambda n: n / 16),
    st.integers(0, 16).map(lambda n: n / 16),
    st.booleans(),
)
def test_elu_hypothesis(values, alpha, scale, input_scale, is_result):
    # A float16 input is kept from the subnormals, where one ulp is all that is left.
    x = np.where(np.abs(values[0]) < 2.0**-8, 0.0, values[0])
    for dtype in FLOATS:
        compare_elu(x, values[1], alpha, scale, input_scale, is_result, dtype, floor=2.0**-3)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("is_result", [False, True])
@pytest.mark.parametrize("x", [0.0, -0.0, INF, -INF, NAN, -1000.0, 1000.0])
@pytest.mark.parametrize("g", [1.0, -2.0, 0.0, -0.0, INF, -INF, NAN])
@pytest.mark.parametrize("input_scale", [1.0, 0.0, -1.0])
def test_elu_specials(dtype, is_result, x, g, input_scale):
    """Every special one by one: a single element takes torch's scalar path, which is the definition."""
    ours = run(
        "elu_backward", gradOutput=tensor(dtype, [g]), selfOrResult=tensor(dtype, [x]),
        alpha=2.0, scale=0.5, inputScale=input_scale, isResult=is_result,
    )  # fmt: skip
    x, g = stored([x], dtype), stored([g], dtype)
    rest = (2.0, 0.5, input_scale, is_result)
    assert identical(
        ours.golden.outputs["gradInput"],
        back(aten.elu_backward(to_torch(g, "float64"), *rest, to_torch(x, "float64"))),
    )
    assert identical(
        ours.host["gradInput"], back(aten.elu_backward(to_torch(g, dtype), *rest, to_torch(x, dtype)))
    )


# --- batch_norm_elemt_backward --------------------------------------------------------------------------------


def quarters(seed, shape, low=-16, high=16):
    return np.random.Generator(np.random.PCG64(seed)).integers(low, high + 1, shape) / 4


def compare_batch_norm(g, x, mean, invstd, weight, dtype):
    """Sums of the same batch make torch's training-mode backward the same function."""
    axes = (0, *range(2, x.ndim))
    around = np.reshape(mean, (1, -1, *[1] * (x.ndim - 2)))
    count = x.size // x.shape[1]
    ours = run(
        "batch_norm_elemt_backward",
        gradOut=tensor(dtype, g),
        input=tensor(dtype, x),
        mean=tensor(dtype, mean),
        invstd=tensor(dtype, invstd),
        weight=None if weight is None else tensor(dtype, weight),
        sumDy=tensor("float32", g.sum(axes)),
        sumDyXmu=tensor("float32", (g * (x - around)).sum(axes)),
        counter=tensor("int32", [count]),
    )
    pick = [
        torch.tensor(v, dtype=torch.float64) if v is not None else None for v in (g, x, weight, mean, invstd)
    ]
    g_, x_, weight_, mean_, invstd_ = pick
    exact, *_ = aten.native_batch_norm_backward(
        g_, x_, weight_, None, None, mean_, invstd_, True, 0.0, [True, False, False]
    )
    exact = back(exact)
    # The sums are float32 throughout, so nothing here is the all-float16 case: the kernel writes float32 and
    # casts, and the golden of a narrow output carries that first rounding.
    if dtype == "float32":
        np.testing.assert_allclose(ours.golden.outputs["gradInput"], exact, rtol=TIGHT, atol=1e-12)
    else:
        np.testing.assert_allclose(ours.golden.outputs["gradInput"], exact, rtol=2.0**-23, atol=1e-12)
    size = max(np.abs(exact).max(), 1e-30)
    # The difference cancels: float32's error is one of the largest term.
    unit = {"float32": 2.0**-20, "float16": 2.0**-10, "bfloat16": 2.0**-7}[dtype]
    np.testing.assert_allclose(wide(ours.host["gradInput"]), exact, rtol=unit, atol=size * 2.0**-18)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("weight", [True, False])
@pytest.mark.parametrize("shape", [(16, 3), (4, 3, 5), (2, 3, 4, 5), (2, 1, 2, 3, 2), (3, 4, 1, 2, 1, 2)])
def test_batch_norm_training_backward(shape, weight, dtype):
    c = shape[1]
    w = quarters(5, c, 1, 8) if weight else None
    compare_batch_norm(
        quarters(1, shape), quarters(2, shape), quarters(3, c, -4, 4), quarters(4, c, 1, 8), w, dtype
    )


@given(st.integers(0, 2**32 - 1), st.integers(2, 9), st.integers(1, 5), st.integers(1, 7), st.booleans())
def test_batch_norm_hypothesis(seed, n, c, length, weight):
    shape = (n, c, length)
    w = quarters(seed + 4, c) if weight else None
    compare_batch_norm(
        quarters(seed, shape), quarters(seed + 1, shape), quarters(seed + 2, c), quarters(seed + 3, c, 1, 8), w,
        "float32",
    )  # fmt: skip


def test_batch_norm_autograd():
    """The derivative of batch norm itself, statistics and all, by float64 autograd."""
    x = torch.tensor(drawn(7, -2, 2, (6, 4, 5, 3)), dtype=torch.float64, requires_grad=True)
    g = torch.tensor(drawn(8, -2, 2, (6, 4, 5, 3)), dtype=torch.float64)
    weight = torch.tensor(drawn(9, 0.5, 2, 4), dtype=torch.float64)
    torch.nn.functional.batch_norm(x, None, None, weight, None, True, 0.1, 1e-5).backward(g)
    with torch.no_grad():
        mean = x.mean((0, 2, 3))
        invstd = 1 / torch.sqrt(x.var((0, 2, 3), unbiased=False) + 1e-5)
        sums = g.sum((0, 2, 3)), (g * (x - mean.reshape(1, 4, 1, 1))).sum((0, 2, 3))
    ours = run(
        "batch_norm_elemt_backward",
        **{
            n: tensor("float32", v.detach().numpy())
            for n, v in {
                "gradOut": g, "input": x, "mean": mean, "invstd": invstd, "weight": weight, "sumDy": sums[0],
                "sumDyXmu": sums[1],
            }.items()
        },
        counter=tensor("int32", [30, 60]),
    )  # fmt: skip
    for got in (ours.golden.outputs["gradInput"], ours.host["gradInput"]):
        np.testing.assert_allclose(wide(got), x.grad.numpy(), rtol=0, atol=2e-6)


# --- threshold_backward ---------------------------------------------------------------------------------------


def compare_threshold(self, g, t, dtype):
    ours = run("threshold_backward", gradOutput=tensor(dtype, g), self=tensor(dtype, self), threshold=t)
    if dtype in FLOATS:
        self, g = stored(self, dtype), stored(g, dtype)
    want = back(aten.threshold_backward(to_torch(g, dtype), to_torch(self, dtype), t))
    assert np.array_equal(wide(ours.golden.outputs["out"]), want, equal_nan=True)
    assert np.array_equal(wide(ours.host["out"]), want, equal_nan=True)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("t", [0.0, 1.0, -0.5, 0.1, 3e-7, -2.0, 100.0, INF, -INF])
def test_threshold_random(dtype, t):
    t = float(np.float32(t))
    compare_threshold(drawn(10, -4, 4), drawn(11, -4, 4), t, dtype)


@given(pair((-8, 8), (-8, 8)), st.integers(-64, 64).map(lambda n: n / 8), st.booleans())
def test_threshold_hypothesis(values, t, ties):
    self, g = values
    for dtype in FLOATS:
        compare_threshold([t] * len(g) if ties else self, g, t, dtype)


@given(
    st.sampled_from(["int32", "int8", "uint8"]),
    st.lists(st.tuples(st.integers(-128, 127), st.integers(-128, 127)), min_size=1, max_size=40),
    st.integers(-100, 100),
    st.sampled_from([1, 2**10]),
)
def test_threshold_integers(dtype, pairs, t, factor):
    # Within float32's whole numbers, and a threshold that the dtype has: the differences beyond are below.
    low = 128 if dtype == "uint8" else 0
    factor = factor if dtype == "int32" else 1
    self, g = ([(p[i] + low) * factor for p in pairs] for i in (0, 1))
    compare_threshold(self, g, float(max(t, 0) if dtype == "uint8" else t), dtype)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("t", [1.0, -1.0, INF, -INF, NAN])
@pytest.mark.parametrize("self", [NAN, INF, -INF, 0.0, 1.0, -1.0])
@pytest.mark.parametrize("g", [NAN, INF, -INF, 3.0, -0.0])
def test_threshold_specials(dtype, t, self, g):
    compare_threshold([self], [g], t, dtype)


@pytest.mark.parametrize(("grad", "self"), [((2, 1, 3), (4, 1)), ((3,), (2, 3)), ((), (2, 2)), ((2, 2), ())])
def test_threshold_broadcast(grad, self):
    for t in (0.0, 0.5):
        g, s = np.abs(drawn(12, 0, 4, grad)), np.asarray(drawn(13, -4, 4, self))
        compare_threshold(np.float32(s), np.float32(g), t, "float32")


# --- amp_update_scale -----------------------------------------------------------------------------------------


def compare_amp(scale, tracker, found, growth, backoff, interval):
    ours = run(
        "amp_update_scale", currentScale=tensor("float32", [scale]), growthTracker=tensor("int32", [tracker]),
        foundInf=tensor("float32", [found]), growthFactor=growth, backoffFactor=backoff, growthInterval=interval,
    )  # fmt: skip
    s, t = torch.tensor([scale]), torch.tensor([tracker], dtype=torch.int32)
    torch._amp_update_scale_(s, t, torch.tensor([found]), growth, backoff, interval)
    assert identical(ours.host["updatedScale"], s.numpy())
    assert identical(np.float32(ours.golden.outputs["updatedScale"]), s.numpy())
    assert ours.host["updatedGrowthTracker"].tolist() == t.tolist()
    assert ours.golden.outputs["updatedGrowthTracker"].tolist() == t.tolist()


FACTORS = st.integers(-64, 256).map(lambda n: n / 64)  # torch keeps the factors as doubles


@given(
    reals(0, 2.0**120),
    st.integers(-5, 5),
    st.sampled_from([0.0, 1.0, -0.0, NAN, INF, -INF, 3.0]),
    FACTORS,
    FACTORS,
    st.integers(1, 2**31 - 10),
)
def test_amp_hypothesis(scale, off, found, growth, backoff, interval):
    compare_amp(scale, interval + off, found, growth, backoff, interval)


@pytest.mark.parametrize(
    "scale", [2.0**127, float(np.finfo(np.float32).max), -(2.0**127), INF, NAN, 0.0, -0.0]
)
@pytest.mark.parametrize("growth", [1.0, 2.0, NAN, INF, -2.0])
def test_amp_overflow(scale, growth):
    compare_amp(scale, 9, 0.0, growth, 0.5, 10)


# --- known differences ----------------------------------------------------------------------------------------

# Name, our outcome, torch's outcome; both asserted. One element takes torch's scalar path.
BIG = 2**24


def ours_logit(x, dy, eps, dtype="float32"):
    return run("logit_grad", x=tensor(dtype, [x]), dy=tensor(dtype, [dy]), eps=eps), "out"


def torch_logit(x, dy, eps, dtype="float32"):
    return aten.logit_backward(
        torch.tensor([dy], dtype=TORCH[dtype]),
        torch.tensor([x], dtype=TORCH[dtype]),
        None if eps == -1 else eps,
    )


def ours_threshold(self, g, t, dtype="float32"):
    return run(
        "threshold_backward", gradOutput=tensor(dtype, [g]), self=tensor(dtype, [self]), threshold=t
    ), "out"


def torch_threshold(self, g, t, dtype="float32"):
    return aten.threshold_backward(
        torch.tensor([g], dtype=TORCH[dtype]), torch.tensor([self], dtype=TORCH[dtype]), t
    )


KNOWN = [
    # name, ours, torch's, call, expected of ours, expected of torch
    ("nan-x-eps", ours_logit, torch_logit, (NAN, 1.0, 0.25), 0.0, NAN),
    ("nan-x-eps-zero", ours_logit, torch_logit, (NAN, 1.0, 0.0), 0.0, NAN),
    ("nan-x-no-eps-agrees", ours_logit, torch_logit, (NAN, 1.0, -1.0), NAN, NAN),
    ("inf-x-eps-agrees", ours_logit, torch_logit, (INF, 1.0, 0.25), 0.0, 0.0),
    ("minus-inf-x-eps-agrees", ours_logit, torch_logit, (-INF, 1.0, 0.25), 0.0, 0.0),
    ("inf-x-no-eps-agrees", ours_logit, torch_logit, (INF, 1.0, -1.0), NAN, NAN),
    ("x-zero-agrees", ours_logit, torch_logit, (0.0, -2.0, -1.0), -INF, -INF),
    ("x-minus-zero", ours_logit, torch_logit, (-0.0, 2.0, -1.0), -INF, INF),
    ("x-minus-zero-eps-zero", ours_logit, torch_logit, (-0.0, -2.0, 0.0), INF, -INF),
    ("x-one-agrees", ours_logit, torch_logit, (1.0, -2.0, -1.0), -INF, -INF),
    ("x-one-dy-zero-agrees", ours_logit, torch_logit, (1.0, 0.0, -1.0), NAN, NAN),
    ("nan-eps-below", ours_logit, torch_logit, (-1.0, 1.0, NAN), NAN, -0.5),
    ("nan-eps-above", ours_logit, torch_logit, (2.0, 1.0, NAN), NAN, -0.5),
    ("nan-eps-inside-agrees", ours_logit, torch_logit, (0.5, 1.0, NAN), 4.0, 4.0),
    ("relu-product-nan", ours_threshold, torch_threshold, (-1.0, NAN, 0.0), NAN, 0.0),
    ("relu-product-inf", ours_threshold, torch_threshold, (-1.0, INF, 0.0), NAN, 0.0),
    ("relu-product-negative", ours_threshold, torch_threshold, (-1.0, -3.0, 0.0), -0.0, 0.0),
    ("tiny-threshold-is-zero", ours_threshold, torch_threshold, (1e-7, 3.0, 1.19e-7), 3.0, 0.0),
    ("negative-tiny-threshold-is-zero", ours_threshold, torch_threshold, (0.0, 3.0, -1.19e-7), 0.0, 3.0),
    ("int32-compare", ours_threshold, torch_threshold, (BIG + 1, 5, float(BIG), "int32"), 0, 5),
    ("int32-value", ours_threshold, torch_threshold, (5, BIG + 1, 1.0, "int32"), BIG, BIG + 1),
    (
        "int32-value-relu-agrees",
        ours_threshold,
        torch_threshold,
        (5, BIG + 1, 0.0, "int32"),
        BIG + 1,
        BIG + 1,
    ),
    ("fraction-truncated-for-integers", ours_threshold, torch_threshold, (-1, 7, -1.5, "int32"), 7, 0),
    ("fraction-of-integers-agrees", ours_threshold, torch_threshold, (1, 7, 1.5, "int8"), 0, 0),
]


@pytest.mark.parametrize(
    ("ours", "theirs", "call", "want", "want_torch"), [k[1:] for k in KNOWN], ids=[k[0] for k in KNOWN]
)
def test_known_difference(ours, theirs, call, want, want_torch):
    result, name = ours(*call)
    assert identical(result.golden.outputs[name], [want])
    assert identical(result.host[name], [want])
    assert identical(back(theirs(*call)), [want_torch])


def test_known_difference_eps_of_bfloat16():
    """torch keeps both bounds in bfloat16: 0.1003 becomes 0.10009765625, which is then inside."""
    ours, name = ours_logit(0.10009765625, 1.0, 0.1003, "bfloat16")
    assert ours.host[name].item() == 0.0
    assert torch_logit(0.10009765625, 1.0, 0.1003, "bfloat16").item() > 0


def test_known_difference_vector_path_of_torch():
    """For NaN results torch's vector path may differ from its scalar path; ours does not depend on the length."""
    n = 4096
    x, one = torch.full((n,), NAN), torch.ones(n)
    for count in (1, n):
        ours = run(
            "logit_grad", x=tensor("float32", [NAN] * count), dy=tensor("float32", [1.0] * count), eps=0.25
        )
        assert identical(ours.host["out"], [0.0] * count)
    got = back(aten.logit_backward(one, x, 0.25))
    assert (np.isnan(got) | (got == 0)).all()

    ours = run(
        "elu_backward",
        gradOutput=tensor("float32", [1.0] * n),
        selfOrResult=tensor("float32", [NAN] * n),
        scale=4.0,
    )
    assert identical(ours.host["gradInput"], [4.0] * n)
    got = back(aten.elu_backward(one, 1.0, 4.0, 1.0, False, x))
    assert (np.isnan(got) | (got == 4)).all()


def test_known_difference_elu_negcoef():
    """alpha * scale is a product of floats in the operator, of doubles in torch."""
    ours = run("elu_backward", gradOutput=tensor("float32", [1.0]), selfOrResult=tensor("float32", [0.0]),
               alpha=0.1, scale=0.1)  # fmt: skip
    tenth = float(np.float32(0.1))
    theirs = back(
        aten.elu_backward(
            torch.ones(1, dtype=torch.float64), tenth, tenth, 1.0, False, torch.zeros(1).double()
        )
    )
    assert ours.golden.outputs["gradInput"].item() == 0.010000000707805157
    assert theirs.item() == tenth * tenth != 0.010000000707805157


def test_known_difference_amp_float16():
    """torch has only float32 scales; the operator stores float16's overflow as Inf."""
    ours = run("amp_update_scale", currentScale=tensor("float16", [40000]), growthTracker=tensor("int32", [9]),
               foundInf=tensor("float16", [0]), growthInterval=10)  # fmt: skip
    assert ours.host["updatedScale"].item() == INF
    assert ours.golden.outputs["updatedScale"].item() == 80000
    with pytest.raises(RuntimeError, match="float tensor"):
        torch._amp_update_scale_(
            torch.tensor([40000.0]).half(),
            torch.tensor([9], dtype=torch.int32),
            torch.zeros(1).half(),
            2.0,
            0.5,
            10,
        )


def test_known_difference_amp_factors():
    """The factors are floats in the operator, doubles in torch."""
    ours = run("amp_update_scale", currentScale=tensor("float32", [10.0]), growthTracker=tensor("int32", [9]),
               foundInf=tensor("float32", [0]), growthFactor=1.1, growthInterval=10)  # fmt: skip
    assert ours.golden.outputs["updatedScale"].item() == 10.0 * float(np.float32(1.1)) != 10.0 * 1.1


def test_known_difference_uint8_thresholds():
    """A threshold that uint8 does not have: refused by torch, an ordinary float for the operator."""
    for t, want in ((300.0, 0), (-1.0, 7)):
        ours, name = ours_threshold(5, 7, t, "uint8")
        assert ours.host[name].tolist() == [want]
        with pytest.raises(RuntimeError, match="overflow"):
            torch_threshold(5, 7, t, "uint8")


def test_every_dtype_has_a_torch_counterpart():
    for name, kind in TORCH.items():
        assert torch.empty(0, dtype=kind).element_size() == numpy_dtype(name).itemsize
