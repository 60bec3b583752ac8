"""Reductions, softmax, norms, layout and products: by hand without PyTorch, then operator by operator against it."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from family_calls import accepted, both, call_of, flat, inputs, ordinary, ordinary_dtype
from operator_calls import run, tensor

from ascend_opcli.model import Attribute
from ascend_opcli.operators.declare import structured
from ascend_opcli.operators.documents import catalogued
from ascend_opcli.operators.families import matmul, movement, reductions, scatters, softmax
from ascend_opcli.operators.families.norms import layers as norms
from ascend_opcli.tensors.dtypes import round_to

FAMILIES = {
    "reductions": reductions,
    "softmax": softmax,
    "norms": norms,
    "movement": movement,
    "scatters": scatters,
    "matmul": matmul,
}
ALL = {op.name.removeprefix("aclnn"): op for family in FAMILIES.values() for op in family.OPERATORS}
NAN, INF = float("nan"), float("inf")


def named(name):
    return ALL[name]


def called(name, **given):
    """A call by hand: a tuple of numbers is an array attribute."""
    arrays = {n for n, v in given.items() if isinstance(v, tuple) and not any(hasattr(m, "shape") for m in v)}
    return run(named(name), **{n: Attribute(v) if n in arrays else v for n, v in given.items()})


def golden_of(name, **given):
    made = called(name, **given)
    return [np.asarray(v).tolist() for v in made.golden.outputs.values()]


# --- declarations ---------------------------------------------------------------------------------------------


def test_the_families_are_there():
    least = {"reductions": 35, "softmax": 7, "norms": 18, "movement": 40, "scatters": 19, "matmul": 15}
    assert {name: len(family.OPERATORS) for name, family in FAMILIES.items()} == least
    assert len(ALL) == sum(least.values())


@pytest.mark.parametrize("name", ALL)
def test_every_operator_is_the_catalogs(name):
    operator = named(name)
    assert operator.signature == catalogued.entry(operator.name).signature
    assert operator.summary
    assert set(operator.outputs) == {p.name for p in operator.signature.outputs if not p.is_input}


@pytest.mark.parametrize("name", ALL)
def test_the_result_has_the_inferred_shape(name):
    operator = named(name)
    made = ordinary(operator)
    call = call_of(operator, made)
    outputs, host = both(operator, call)
    for param in operator.signature.outputs:
        assert outputs[param.name].shape == call.outputs[param.name].shape
        assert host[param.name].shape == outputs[param.name].shape
        if not param.is_input:
            assert operator.outputs[param.name](made) is not None


@pytest.mark.parametrize("name", ALL)
def test_a_reference_is_pure(name):
    operator = named(name)
    made = call_of(operator, ordinary(operator))
    first, again = both(operator, made)[0], both(operator, made)[0]
    for out in first:
        assert np.array_equal(flat(first[out]), flat(again[out]), equal_nan=True)


def test_what_fits_no_rule_is_not_inferred():
    rule = named("ReduceSum").outputs["out"]
    arguments = {"self": f32([1.0]), "dims": Attribute((3,)), "keepDims": Attribute(False)}
    assert rule({**arguments, "dtype": Attribute("float32")}) is None
    assert rule({}) is None


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("shape", [(), (4,), (2, 3), (1, 2, 3, 4, 5)])
def test_a_short_case_has_shapes_or_a_sentence(name, shape):
    said = ""
    try:
        named(name).short_form("float32", shape)
    except ValueError as error:
        said = str(error)
    assert not said or "need a shape of their own" in said


# --- by hand --------------------------------------------------------------------------------------------------

M = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]


def f32(values, shape=None):
    return tensor("float32", values, shape)


X = f32(M)
V = f32([3.0, 1.0, 2.0])


def index(*values):
    return tensor("int64", list(values))


@pytest.mark.parametrize(
    ("name", "given", "want"),
    [
        ("ReduceSum", {"self": X, "dims": (0,), "keepDims": False, "dtype": "float32"}, [[5.0, 7.0, 9.0]]),
        ("ReduceSum", {"self": X, "dims": (), "keepDims": True, "dtype": "float32"}, [[[21.0]]]),
        ("ReduceNansum", {"self": f32([1.0, NAN]), "dim": (0,), "keepDim": False, "dtype": "float32"}, [1.0]),
        ("ReduceSum", {"self": tensor("int32", [2**31 - 1, 1]), "dims": (0,), "keepDims": False, "dtype": "int32"},
         [-(2**31)]),
        ("ReduceSum", {"self": tensor("bool", [True, True]), "dims": (0,), "keepDims": False, "dtype": "int64"}, [2]),
        ("Mean", {"self": X, "dim": (1,), "keepDim": True, "dtype": "float32"}, [[[2.0], [5.0]]]),
        ("MeanV2", {"self": X, "dim": (), "keepDim": False, "noopWithEmptyAxes": True}, [M]),
        ("MeanV2", {"self": X, "dim": (), "keepDim": False, "noopWithEmptyAxes": False}, [3.5]),
        ("Amax", {"self": f32([[1.0, NAN], [2.0, 1.0]]), "dim": (1,), "keepDim": False}, [[NAN, 2.0]]),
        ("MinDim", {"self": f32([3.0, NAN, 1.0]), "dim": 0, "keepdim": False}, [[NAN], [1]]),
        ("Median", {"self": f32([1.0, NAN, 3.0])}, [NAN]),
        ("LogSumExp", {"self": f32([-INF, -INF]), "dim": (0,), "keepDim": False}, [-INF]),
        ("LogSumExp", {"self": f32([1000.0, -INF]), "dim": (0,), "keepDim": False}, [1000.0]),
        ("Prod", {"self": X, "dtype": "float32"}, [720.0]),
        ("ProdDim", {"self": X, "dim": 0, "keepDim": False, "dtype": "float32"}, [[4.0, 10.0, 18.0]]),
        ("MaxDim", {"self": f32([[1.0, 5.0, 5.0]]), "dim": 1, "keepdim": False}, [[5.0], [1]]),
        ("MinDim", {"self": f32([[1.0, 1.0, 5.0]]), "dim": -1, "keepdim": True}, [[[1.0]], [[0]]]),
        ("MaxV2", {"self": X, "dims": (), "keepDims": False, "noopWithEmptyDims": True}, [M]),
        ("All", {"self": tensor("int32", [[1, 0], [2, 3]]), "dim": (1,), "keepdim": False}, [[False, True]]),
        ("Any", {"self": f32([[0.0, -0.0], [NAN, 0.0]]), "dim": (1,), "keepdim": False}, [[False, True]]),
        ("ArgMax", {"self": X, "dim": 0, "keepdim": False}, [[1, 1, 1]]),
        ("Norm", {"self": f32([3.0, -4.0]), "pScalar": 2.0, "dim": (0,), "keepdim": False}, [5.0]),
        ("Norm", {"self": f32([3.0, -4.0]), "pScalar": INF, "dim": (0,), "keepdim": False}, [4.0]),
        ("Norm", {"self": f32([3.0, -4.0]), "pScalar": -INF, "dim": (0,), "keepdim": False}, [3.0]),
        ("Norm", {"self": f32([3.0, 0.0]), "pScalar": 0.0, "dim": (0,), "keepdim": False}, [1.0]),
        ("Norm", {"self": f32([3.0, -4.0]), "pScalar": 1.0, "dim": (0,), "keepdim": False}, [7.0]),
        ("Norm", {"self": f32([0.0, 0.0]), "pScalar": 2.0, "dim": (0,), "keepdim": False}, [0.0]),
        ("Var", {"self": f32([1.0, 3.0]), "dim": (0,), "unbiased": True, "keepdim": False}, [2.0]),
        ("Var", {"self": f32([1.0, 3.0]), "dim": (0,), "unbiased": False, "keepdim": False}, [1.0]),
        ("StdMeanCorrection", {"self": f32([1.0, 3.0]), "dim": (0,), "correction": 0, "keepdim": False}, [1.0, 2.0]),
        ("VarMean", {"self": f32([1.0, 3.0]), "dim": (), "correction": 0, "keepdim": False}, [1.0, 2.0]),
        ("Median", {"self": f32([4.0, 1.0, 3.0, 2.0])}, [2.0]),
        ("Cumsum", {"self": X, "dim": 1, "dtype": "float32"}, [[[1.0, 3.0, 6.0], [4.0, 9.0, 15.0]]]),
        ("CumsumV2", {"self": V, "dim": 0, "exclusive": True, "reverse": False}, [[0.0, 3.0, 4.0]]),
        ("CumsumV2", {"self": V, "dim": 0, "exclusive": False, "reverse": True}, [[6.0, 3.0, 2.0]]),
        ("CumsumV2", {"self": V, "dim": 0, "exclusive": True, "reverse": True}, [[3.0, 2.0, 0.0]]),
        ("InplaceCumprod", {"input": V, "dim": 0}, [[3.0, 3.0, 6.0]]),
        ("GlobalMaxPool", {"self": f32([[M]])}, [[[[6.0]]]]),
        ("Softmax", {"self": f32([0.0, 0.0]), "dim": 0}, [[0.5, 0.5]]),
        ("Softmax", {"self": f32([1000.0, -1000.0]), "dim": 0}, [[1.0, 0.0]]),
        ("SoftmaxBackward", {"gradOutput": f32([1.0, 0.0]), "output": f32([0.5, 0.5]), "dim": 0},
         [[0.25, -0.25]]),
        ("Cat", {"tensors": (V, V), "dim": 0}, [[3.0, 1.0, 2.0, 3.0, 1.0, 2.0]]),
        ("Cat", {"tensors": (f32([], (0,)), X), "dim": 0}, [M]),
        ("Stack", {"tensors": (V, V), "dim": -1}, [[[3.0, 3.0], [1.0, 1.0], [2.0, 2.0]]]),
        ("Permute", {"self": X, "dims": (1, 0)}, [[[1.0, 4.0], [2.0, 5.0], [3.0, 6.0]]]),
        ("Flip", {"self": V, "dims": (0,)}, [[2.0, 1.0, 3.0]]),
        ("Roll", {"x": V, "shifts": (1,), "dims": (0,)}, [[2.0, 3.0, 1.0]]),
        ("Roll", {"x": X, "shifts": (1,), "dims": ()}, [[[6.0, 1.0, 2.0], [3.0, 4.0, 5.0]]]),
        ("Repeat", {"self": V, "repeats": (1, 2)}, [[[3.0, 1.0, 2.0, 3.0, 1.0, 2.0]]]),
        ("Expand", {"self": V, "size": (2, -1)}, [[[3.0, 1.0, 2.0]] * 2]),
        ("Flatten", {"self": X, "axis": 0}, [[[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]]]),
        ("Tril", {"self": X, "diagonal": -1}, [[[0.0, 0.0, 0.0], [4.0, 0.0, 0.0]]]),
        ("InplaceTriu", {"selfRef": X, "diagonal": 1}, [[[0.0, 2.0, 3.0], [0.0, 0.0, 6.0]]]),
        ("Diag", {"self": X, "diagonal": 1}, [[2.0, 6.0]]),
        ("Diag", {"self": f32([7.0]), "diagonal": -1}, [[[0.0, 0.0], [7.0, 0.0]]]),
        ("RepeatInterleave", {"self": V, "repeats": index(2, 0, 1), "outputSize": 3}, [[3.0, 3.0, 2.0]]),
        ("RepeatInterleaveInt", {"self": V, "repeats": 2, "outputSize": 6}, [[3.0, 3.0, 1.0, 1.0, 2.0, 2.0]]),
        ("RepeatInterleaveWithDim", {"self": X, "repeats": index(0, 1), "dim": 0, "outputSize": 1},
         [[[4.0, 5.0, 6.0]]]),
        ("RepeatInterleaveTensor", {"repeats": index(2, 0, 1), "outputSize": 3}, [[0, 0, 2]]),
        ("ConstantPadNd", {"self": V, "pad": (1, -1), "value": 9.0}, [[9.0, 3.0, 1.0]]),
        ("ReflectionPad1d", {"self": f32([[3.0, 1.0, 2.0]]), "padding": (1, 2)}, [[[1.0, 3.0, 1.0, 2.0, 1.0, 3.0]]]),
        ("ReplicationPad1d", {"self": f32([[3.0, 1.0, 2.0]]), "padding": (1, 2)}, [[[3.0, 3.0, 1.0, 2.0, 2.0, 2.0]]]),
        ("Slice", {"self": V, "dim": 0, "start": -2, "end": 9, "step": 1}, [[1.0, 2.0]]),
        ("Gather", {"self": X, "dim": 1, "index": tensor("int64", [[2, 0]])}, [[[3.0, 1.0]]]),
        ("IndexSelect", {"self": X, "dim": 0, "index": index(1, 1)}, [[M[1], M[1]]]),
        ("GatherNd", {"self": X, "indices": tensor("int64", [[1, 2]]), "negativeIndexSupport": False}, [[6.0]]),
        ("Take", {"self": X, "index": index(5, 0)}, [[6.0, 1.0]]),
        ("Scatter", {"self": V, "dim": 0, "index": index(0, 2), "src": V, "reduce": 0}, [[3.0, 1.0, 1.0]]),
        ("Scatter", {"self": V, "dim": 0, "index": index(0, 0), "src": V, "reduce": 2}, [[9.0, 1.0, 2.0]]),
        ("ScatterAdd", {"self": V, "dim": 0, "index": index(0, 0), "src": V}, [[7.0, 1.0, 2.0]]),
        ("InplaceScatterValue", {"selfRef": V, "dim": 0, "index": index(0, 0), "value": 8.0, "reduce": 0},
         [[8.0, 1.0, 2.0]]),
        ("IndexAdd", {"self": V, "dim": 0, "index": index(1, 1), "source": f32([1.0, 2.0]), "alpha": 2},
         [[3.0, 7.0, 2.0]]),
        ("InplaceIndexFillTensor", {"selfRef": V, "dim": 0, "index": (0, 2), "value": 5}, [[5.0, 1.0, 5.0]]),
        ("ScatterNdUpdate", {"varRef": X, "indices": tensor("int64", [[0, 1]]), "updates": f32([9.0])},
         [[[1.0, 9.0, 3.0], M[1]]]),
        ("InplaceMaskedScatter", {"selfRef": V, "mask": tensor("bool", [True, False, True]), "source": f32([7.0, 8.0])},
         [[7.0, 1.0, 8.0]]),
        ("UnfoldGrad", {"gradOut": f32([[1.0, 2.0], [4.0, 8.0]]), "inputSizes": (3,), "dim": 0, "size": 2, "step": 1},
         [[1.0, 6.0, 8.0]]),
        ("Matmul", {"self": X, "mat2": V, "cubeMathType": 0}, [[11.0, 29.0]]),
        ("Dot", {"self": V, "tensor": V}, [14.0]),
        ("Trace", {"self": X}, [6.0]),
        ("Addmv", {"self": f32([1.0, 1.0]), "mat": X, "vec": V, "alpha": 2.0, "beta": 3.0, "cubeMathType": 0},
         [[25.0, 61.0]]),
        ("Addr", {"self": f32([[1.0]]), "vec1": f32([2.0]), "vec2": f32([3.0]),
                  "betaOptional": None, "alphaOptional": 2.0}, [[[13.0]]]),
    ],
)  # fmt: skip
def test_by_hand(name, given, want):
    for got, exact in zip(golden_of(name, **given), want, strict=True):
        np.testing.assert_allclose(np.asarray(got).reshape(-1), np.asarray(exact).reshape(-1), rtol=1e-12)


def test_norms_by_hand():
    x, one = f32([[1.0, -1.0]]), f32([1.0, 2.0])
    y, rstd = golden_of("RmsNorm", x=x, gamma=one, epsilon=0.0)
    assert y == [[1.0, -2.0]]
    assert rstd == [[1.0]]
    given = {"input": f32([[1.0, 3.0]]), "normalizedShape": (2,), "weightOptional": one}
    out, mean, scale = golden_of("LayerNorm", **given, biasOptional=None, eps=0.0)
    assert (out, mean, scale) == ([[-1.0, 2.0]], [[2.0]], [[1.0]])


def test_an_output_that_is_null_is_not_asked_for():
    given = {"input": X, "normalizedShape": (3,), "weightOptional": None, "biasOptional": None, "eps": 1e-5}
    assert len(golden_of("LayerNorm", **given, meanOutOptional=None, rstdOutOptional=None)) == 1


def test_a_long_norm_does_not_overflow():
    made = called("Norm", self=f32([3e30, 4e30]), pScalar=2.0, dim=(0,), keepdim=False)
    np.testing.assert_allclose(made.host["out"].reshape(-1), [5e30], rtol=1e-6)


def test_a_mask_is_shared_by_the_batches_of_a_flat_x():
    given = {"relativePosBias": f32([[[0.0, 0.0]]]), "scaleValue": 1.0, "innerPrecisionMode": 0}
    x, mask = np.zeros((4, 1, 1, 2)), f32([[[0.0, -INF]], [[-INF, 0.0]]])
    flat_x = golden_of("MaskedSoftmaxWithRelPosBias", x=f32(x), attenMaskOptional=mask, **given)[0]
    assert np.reshape(flat_x, (4, 2)).tolist() == [[1.0, 0.0], [0.0, 1.0]] * 2
    none = golden_of("MaskedSoftmaxWithRelPosBias", x=f32(x), attenMaskOptional=None, **given)[0]
    assert np.reshape(none, (4, 2)).tolist() == [[0.5, 0.5]] * 4


def test_a_tensor_times_0_does_not_count():
    base = {"self": f32([[INF]]), "mat1": f32([[2.0]]), "mat2": f32([[3.0]]), "alpha": 1.0, "cubeMathType": 0}
    made = called("Addmm", **base, beta=0.0)
    assert made.golden.outputs["out"].tolist() == [[6.0]]
    assert made.golden.divergences
    assert called("Addmm", **base, beta=1.0).golden.divergences == ()


def test_a_mean_of_another_input_is_told():
    base = {
        "gradOut": f32([[1.0, 2.0]]), "input": f32([[1.0, 3.0]]),
        "normalizedShape": (2,), "rstd": f32([[1.0]]), "weightOptional": None, "biasOptional": None,
        "outputMask": (True, True, True),
    }  # fmt: skip
    for mean, told in ((2.0, 0), (7.0, 1)):
        made = called("LayerNormBackward", **base, mean=f32([[mean]]))
        assert len(made.golden.divergences) == told


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("Scatter", {"self": V, "dim": 0, "index": index(0, 0), "src": V, "reduce": 0}),
        ("Scatter", {"self": V, "dim": 0, "index": index(0, 1), "src": V, "reduce": 7}),
        ("InplaceIndexCopy", {"selfRef": V, "dim": 0, "index": index(0, 0), "source": f32([1.0, 2.0])}),
        ("ScatterNdUpdate", {"varRef": V, "indices": tensor("int64", [[1], [1]]), "updates": f32([1.0, 2.0])}),
        ("Gather", {"self": X, "dim": 0, "index": index(0)}),
        ("Gather", {"self": V, "dim": 0, "index": index(9)}),
        ("Amax", {"self": V, "dim": (0, 0), "keepDim": False}),
        ("Softmax", {"self": V, "dim": 4}),
        ("LayerNormBackward", {
            "gradOut": X, "input": X, "normalizedShape": (3,), "mean": f32([[1.0], [1.0]]),
            "rstd": f32([[1.0], [1.0]]), "weightOptional": None, "biasOptional": None,
            "outputMask": (True, False, True),
        }),
        ("Addmv", {"self": index(1), "mat": tensor("int64", [[1]]), "vec": index(1), "alpha": 0.5, "beta": 1.0,
                   "cubeMathType": 0}),
        ("GroupNorm", {"self": X, "gamma": None, "beta": None, "N": 2, "C": 3, "HxW": 7, "group": 3, "eps": 0.1}),
    ],
)  # fmt: skip
def test_what_has_no_defined_result_is_not_judged(name, given):
    from ascend_opcli.reference.fitting import ReferenceFailure

    with pytest.raises(ReferenceFailure):
        called(name, **given)


def test_axes():
    assert structured.axes_of((-1, 0), 3) == (2, 0)
    assert structured.axes_of(None, 2) == (0, 1)
    assert structured.axis_of(-1, 0) == 0
    assert structured.reduced_shape((2, 3, 4), (1,), True) == (2, 1, 4)
    assert structured.lanes(np.arange(6).reshape(2, 3), (0,)).tolist() == [[0, 3], [1, 4], [2, 5]]


# --- against PyTorch --------------------------------------------------------------------------------------------

try:
    import torch

    F = torch.nn.functional
except ImportError:  # the rest of the file needs none of it
    torch = F = None


def _scatter(x, dim, index, src, reduce):
    if not torch.is_tensor(src):
        src = torch.full(index.shape, src, dtype=x.dtype)
    if reduce == 0:
        return torch.scatter(x, dim, index, src)
    return torch.scatter_reduce(x, dim, index, src, ("sum", "prod")[reduce - 1])


def _norm(x, shape, weight, bias, eps):
    shape = list(shape)
    axes = list(range(x.ndim - len(shape), x.ndim))
    rstd = torch.rsqrt(x.var(axes, unbiased=False, keepdim=True) + eps)
    return F.layer_norm(x, shape, weight, bias, eps), x.mean(axes, keepdim=True), rstd


def _rms(x, gamma, eps):
    rstd = torch.rsqrt((x * x).mean(-1, keepdim=True) + eps)
    return F.rms_norm(x, list(gamma.shape), gamma, eps), rstd


def _rms_grad(dy, x, rstd, gamma):
    """By autograd of a norm whose rstd is that of x, which the sample's is not: so by a scaled x."""
    scale = rstd.unsqueeze(-1)
    straight = x * scale
    g = dy * gamma
    return scale * (g - straight * (g * straight).mean(-1, keepdim=True)), (dy * straight).sum((0, 1))


def _ada(x, scale, shift, weight, bias, eps):
    rows = (x.shape[0], 1, x.shape[-1])
    out, mean, rstd = _norm(x, x.shape[-1:], weight, bias, eps)
    return out * (1 + scale.reshape(rows)) + shift.reshape(rows), mean, rstd


def _group(x, gamma, beta, group, eps):
    parts = x.reshape(x.shape[0], group, -1)
    rstd = torch.rsqrt(parts.var(-1, unbiased=False) + eps)
    return F.group_norm(x, group, gamma, beta, eps), parts.mean(-1), rstd


def _silu_first(made, on=True):
    return (F.silu(made[0]) if on else made[0], *made[1:])


def _pads(mode):
    def forward(x, padding):
        extra = x if mode == "constant" else x.reshape(1, *x.shape)
        return F.pad(extra, list(padding), mode=mode).reshape(F.pad(x, list(padding)).shape)

    def backward(grad, x, padding):
        x = x.detach().clone().requires_grad_()
        return torch.autograd.grad(forward(x, padding), x, grad)[0]

    return forward, backward


def _softmax_cross(x, labels):
    x = x.detach().clone().requires_grad_()
    loss = -(labels * torch.log_softmax(x, -1)).sum(-1)
    # The gradient that the operator gives takes labels whose rows sum to 1.
    return loss, torch.softmax(x, -1) - labels


def _unfold_grad(grad, sizes, dim, size, step):
    x = torch.zeros(list(sizes), dtype=grad.dtype, requires_grad=True)
    return torch.autograd.grad(x.unfold(dim, size, step), x, grad)[0]


def _layer_backward(grad, x, shape, mean, rstd, weight, bias, mask):
    return torch.ops.aten.native_layer_norm_backward(
        grad, x, list(shape), mean, rstd, weight, bias, list(mask)
    )


def _sum_of(product):
    return lambda x, a, b, beta, alpha, _m: beta * x + alpha * product(a, b)


def _dims(function):
    return lambda x, dims, keep, *rest: function(x, list(dims), keep)


def _first(function):
    return lambda x, dim, keep: tuple(function(x, dim, keep))


def _slices(x, starts, ends, axes, steps):
    for a, b, axis, step in zip(starts, ends, axes, steps, strict=True):
        x = x[(*[slice(None)] * axis, slice(a, b, step))]
    return x


def table():
    t = torch
    return {
        "ReduceSum": _dims(t.sum),
        "ReduceNansum": _dims(t.nansum),
        "Mean": _dims(t.mean),
        "MeanV2": _dims(t.mean),
        "Prod": lambda x, d: x.prod(),
        "ProdDim": lambda x, dim, keep, d: x.prod(dim, keep),
        "Amax": _dims(t.amax),
        "Amin": _dims(t.amin),
        "MaxV2": _dims(t.amax),
        "Max": t.max,
        "Min": t.min,
        "MaxDim": _first(t.max),
        "MinDim": _first(t.min),
        "AminmaxAll": lambda x: (x.min(), x.max()),
        "AminmaxDim": lambda x, dim, keep: (x.amin(dim, keep), x.amax(dim, keep)),
        "All": _dims(lambda x, d, k: t.all(x, d[0], k)),
        "Any": _dims(lambda x, d, k: t.any(x, d[0], k)),
        "ArgMax": t.argmax,
        "ArgMin": t.argmin,
        "Norm": lambda x, p, dim, keep: t.linalg.vector_norm(x, p, list(dim), keep),
        "LinalgVectorNorm": lambda x, p, dim, keep, d: t.linalg.vector_norm(x, p, list(dim), keep),
        "LogSumExp": _dims(t.logsumexp),
        "ReduceLogSum": _dims(lambda x, d, k: t.log(x.sum(d, k))),
        "Var": lambda x, dim, u, keep: x.var(list(dim), unbiased=u, keepdim=keep),
        "VarCorrection": lambda x, dim, c, keep: x.var(list(dim), correction=c, keepdim=keep),
        "VarMean": lambda x, dim, c, keep: t.var_mean(x, list(dim), correction=c, keepdim=keep),
        "Std": lambda x, dim, c, keep: x.std(list(dim), correction=c, keepdim=keep),
        "StdMeanCorrection": lambda x, dim, c, keep: t.std_mean(x, list(dim), correction=c, keepdim=keep),
        "Median": t.median,
        "Cumsum": lambda x, dim, d: x.cumsum(dim),
        "CumsumV2": lambda x, dim, e, r: x.cumsum(dim),
        "Cumprod": lambda x, dim, d: x.cumprod(dim),
        "InplaceCumprod": lambda x, dim: x.cumprod(dim),
        "GlobalAveragePool": lambda x: F.adaptive_avg_pool2d(x, 1),
        "GlobalMaxPool": lambda x: F.adaptive_max_pool2d(x, 1),
        # softmax
        "Softmax": t.softmax,
        "LogSoftmax": t.log_softmax,
        "SoftmaxBackward": lambda g, y, d: t.ops.aten._softmax_backward_data(g, y, d, y.dtype),
        "SoftmaxGrad": lambda y, g: t.ops.aten._softmax_backward_data(g, y, -1, y.dtype),
        "LogSoftmaxBackward": lambda g, y, d: t.ops.aten._log_softmax_backward_data(g, y, d, y.dtype),
        "SoftmaxCrossEntropyWithLogits": _softmax_cross,
        "MaskedSoftmaxWithRelPosBias": lambda x, m, b, s, _p: t.softmax(s * x + m[None, :, None] + b, -1),
        # norms
        "RmsNorm": _rms,
        "GemmaRmsNorm": lambda x, g, eps: _rms(x, 1 + g, eps),
        "RmsNormGrad": _rms_grad,
        "AddRmsNorm": lambda a, b, g, eps: (*_rms(a + b, g, eps), a + b),
        "InplaceAddRmsNorm": lambda a, b, g, eps: (_rms(a + b, g, eps)[0], a + b, _rms(a + b, g, eps)[1]),
        "AddRmsNormCast": lambda a, b, g, eps: (_rms(a + b, g, eps)[0], *_rms(a + b, g, eps), a + b),
        "LayerNorm": _norm,
        "FastLayerNorm": _norm,
        "LayerNormWithImplMode": lambda *a: _norm(*a[:5]),
        "LayerNormBackward": _layer_backward,
        "DeepNorm": lambda x, gx, beta, gamma, alpha, eps: (
            _norm(alpha * x + gx, gamma.shape, gamma, beta, eps)[k] for k in (1, 2, 0)
        ),
        "AdaLayerNorm": lambda *a: _ada(*a)[0],
        "AdaLayerNormV2": _ada,
        "GroupNorm": lambda x, g, b, n, c, hw, group, eps: _group(x, g, b, group, eps),
        "GroupNormSilu": lambda *a: _silu_first(_group(*a)),
        "GroupNormSiluV2": lambda *a: _silu_first(_group(*a[:5]), a[5]),
        "BatchNormStats": lambda x, eps: (
            x.mean((0, 2)),
            t.rsqrt(x.var((0, 2), unbiased=False) + eps),
        ),
        "BatchNormReduce": lambda x: (x.sum((0, 2, 3)), (x * x).sum((0, 2, 3))),
        # layout
        "Cat": lambda ts, dim: t.cat(ts, dim),
        "Stack": lambda ts, dim: t.stack(ts, dim),
        "Permute": lambda x, dims: x.permute(dims),
        "Flip": lambda x, dims: x.flip(dims),
        "Roll": lambda x, s, d: t.roll(x, s, d),
        "Repeat": lambda x, r: x.repeat(r),
        "Expand": lambda x, size: x.expand(size),
        "Flatten": lambda x, axis: x.flatten(axis),
        "Tril": t.tril,
        "InplaceTril": t.tril,
        "Triu": t.triu,
        "InplaceTriu": t.triu,
        "Diag": t.diag,
        "DiagFlat": t.diagflat,
        "ChannelShuffle": t.channel_shuffle,
        "RepeatInterleave": lambda x, r, n: x.repeat_interleave(r),
        "RepeatInterleaveInt": lambda x, r, n: x.repeat_interleave(r),
        "RepeatInterleaveWithDim": lambda x, r, dim, n: x.repeat_interleave(r, dim),
        "RepeatInterleaveIntWithDim": lambda x, r, dim, n: x.repeat_interleave(r, dim),
        "RepeatInterleaveTensor": lambda r, n: t.repeat_interleave(r),
        "ConstantPadNd": lambda x, pad, v: F.pad(x, list(pad), value=v),
        **{
            f"{word}Pad{n}d{'Backward' * i}": _pads(mode)[i]
            for word, mode in (
                ("Reflection", "reflect"),
                ("Replication", "replicate"),
                ("Circular", "circular"),
            )
            for n in (1, 2, 3)
            for i in (0, 1)
            if f"{word}Pad{n}d" in ALL
        },
        "Slice": lambda x, dim, a, b, step: x[(*[slice(None)] * dim, slice(a, b, step))],
        "SliceV2": _slices,
        "Gather": t.gather,
        "IndexSelect": t.index_select,
        "GatherV2": t.index_select,
        "GatherNd": lambda x, i, _n: x[tuple(i.movedim(-1, 0))],
        "Embedding": lambda w, i: F.embedding(i, w),
        "Take": t.take,
        "Scatter": _scatter,
        "InplaceScatter": _scatter,
        "ScatterValue": _scatter,
        "InplaceScatterValue": _scatter,
        "ScatterAdd": t.scatter_add,
        "IndexAdd": lambda x, dim, i, s, alpha: t.index_add(x, dim, i, s, alpha=alpha),
        "InplaceIndexCopy": t.index_copy,
        "IndexFill": t.index_fill,
        "InplaceIndexFill": t.index_fill,
        "IndexFillTensor": lambda x, dim, i, v: t.index_fill(x, dim, t.tensor(i), v),
        "InplaceIndexFillTensor": lambda x, dim, i, v: t.index_fill(x, dim, t.tensor(i), v),
        "ScatterNdUpdate": lambda x, i, u: x.index_put(tuple(i.movedim(-1, 0)), u),
        "InplaceMaskedScatter": lambda x, m, s: x.masked_scatter(m != 0, s),
        "UnfoldGrad": _unfold_grad,
        # products
        "Matmul": lambda a, b, _m: a @ b,
        "Mm": lambda a, b, _m: t.mm(a, b),
        "BatchMatMul": lambda a, b, _m: t.bmm(a, b),
        "Mv": lambda a, b, _m: t.mv(a, b),
        "Dot": t.dot,
        "Trace": t.trace,
        "Addmm": _sum_of(t.mm),
        "InplaceAddmm": _sum_of(t.mm),
        "Baddbmm": _sum_of(t.bmm),
        "InplaceBaddbmm": _sum_of(t.bmm),
        "Addbmm": _sum_of(lambda a, b: t.bmm(a, b).sum(0)),
        "InplaceAddbmm": _sum_of(lambda a, b: t.bmm(a, b).sum(0)),
        "Addmv": lambda x, m, v, alpha, beta, _m: t.addmv(x, m, v, beta=beta, alpha=alpha),
        "Addr": lambda x, a, b, beta, alpha: t.addr(x, a, b, beta=beta, alpha=alpha),
        "InplaceAddr": lambda x, a, b, beta, alpha: t.addr(x, a, b, beta=beta, alpha=alpha),
    }


ATTRIBUTES = {
    "Norm": [
        {"pScalar": p, "keepdim": k}
        for p in (2.0, 1.0, 0.0, 3.0, 0.5, -2.0, INF, -INF)
        for k in (False, True)
    ],
    "LinalgVectorNorm": [{"ord": p, "dims": (0, 2)} for p in (2.0, 1.0, 2.5)],
    "StdMeanCorrection": [{"correction": c, "dim": d} for c in (0, 1) for d in ((0,), (1, 2))],
    "Var": [{"unbiased": u} for u in (False, True)],
    "GroupNormSiluV2": [{"activateSilu": on} for on in (False, True)],
    "Scatter": [{"reduce": r} for r in (1, 2)],
    "InplaceScatter": [{"reduce": r} for r in (1, 2)],
    "Triu": [{"diagonal": d} for d in (-1, 0, 2)],
    "Tril": [{"diagonal": d} for d in (-1, 0, 2)],
    "Diag": [{"diagonal": d} for d in (-2, 0, 3)],
    "DiagFlat": [{"diagonal": d} for d in (-2, 0, 3)],
    "ConstantPadNd": [{}, {"pad": (-1, 2)}, {"pad": (0, 0, 1, -1, 2, 1)}],
    **{
        n: [{"dim": d} for d in (0, -1)]
        for n in ("Softmax", "LogSoftmax", "SoftmaxBackward", "LogSoftmaxBackward")
    },
    **{
        n: [{"dims": d, "keepDims": k} for d in ((0,), (1, -1)) for k in (False, True)]
        for n in ("ReduceSum", "MaxV2")
    },
    **{
        n: [{"dim": d, "keepDim": True} for d in ((0,), (1, -1), (0, 1, 2))]
        for n in ("Mean", "Amax", "LogSumExp")
    },
}
CASES = [
    pytest.param(name, given, id="-".join([name, *(f"{k}={v}" for k, v in given.items())]))
    for name in ALL
    for given in ATTRIBUTES.get(name, [{}])
]


def to_torch(value):
    if isinstance(value, tuple):
        return [to_torch(v) for v in value] if isinstance(value[0], np.ndarray) else value
    if not isinstance(value, np.ndarray):
        return value
    whole = value.dtype.kind in "biu"
    made = np.array(value if whole else value.astype(np.float64))
    return torch.from_numpy(made)


def back(result):
    parts = [result] if torch.is_tensor(result) else list(result)
    return [p.to(torch.float64).detach().numpy().reshape(-1) for p in parts]


def both_sides(name, given, dtype=None):
    operator = named(name)
    call = call_of(operator, ordinary(operator, dtype, **given))
    golden, host = both(operator, call)
    return call, golden, host, back(table()[name](*map(to_torch, inputs(operator, call))))


def test_every_operator_has_a_row():
    pytest.importorskip("torch")
    assert set(table()) == set(ALL)


@pytest.mark.parametrize(("name", "given"), CASES)
def test_golden_is_torch_in_float64(name, given):
    pytest.importorskip("torch")
    _, golden, _, want = both_sides(name, given)
    for got, exact in zip(golden.values(), want, strict=True):
        # A sum that cancels is right to the size of what went into it.
        away = np.abs(flat(got) - exact) / np.maximum(
            np.abs(exact), 1.0 if name not in layout_names() else 1e-300
        )
        assert np.array_equal(np.isnan(flat(got)), np.isnan(exact))
        assert np.nanmax(away, initial=0) <= 1e-12


def layout_names():
    return {
        op.name.removeprefix("aclnn")
        for op in movement.OPERATORS
        if "Pad" not in op.name and "Add" not in op.name
    }


# Torch has no integer mean, and says nothing of these dtypes where it refuses them.
WHOLE = [
    pytest.param(op.name.removeprefix("aclnn"), dtype)
    for op in ALL.values()
    for dtype in ("int32", "int64", "uint8", "bool")
    if dtype in accepted(op, op.signature.inputs[0].name)
    and not op.name.startswith(("aclnnMean", "aclnnLogSumExp", "aclnnAdd", "aclnnInplaceAddr"))
    and not (dtype == "bool" and ("Pad" in op.name or op.name == "aclnnTrace"))
]


@pytest.mark.parametrize(("name", "dtype"), WHOLE)
def test_integers_are_torchs(name, dtype):
    pytest.importorskip("torch")
    operator = named(name)
    if any(p.type == "aclDataType" for p in operator.signature.params):
        samples = {**operator.sample_attributes, "dtype": dtype}
        operator = dataclasses.replace(operator, sample_attributes=samples)
    call = call_of(operator, ordinary(operator, dtype))
    golden, host = both(operator, call)
    want = table()[name](*map(to_torch, inputs(operator, call)))
    for (out, got), exact in zip(golden.items(), [want] if torch.is_tensor(want) else want, strict=True):
        word = call.outputs[out].dtype
        exact = exact.numpy().reshape(-1)
        exact = exact != 0 if word == "bool" else exact.astype(word)  # the low bits of a sum in int64
        assert np.asarray(got).reshape(-1).tolist() == exact.tolist()
        assert np.asarray(host[out]).reshape(-1).tolist() == exact.tolist()


SPACING = {"float32": 2.0**-23, "float16": 2.0**-10, "bfloat16": 2.0**-7}


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
@pytest.mark.parametrize("name", ALL)
def test_host_is_within_a_few_ulp_of_torch(name, dtype):
    pytest.importorskip("torch")
    operator = named(name)
    listed = accepted(operator, operator.signature.inputs[0].name)
    if (listed and dtype not in listed) or ordinary_dtype(operator) == "int32":
        dtype = ordinary_dtype(operator)
    call, _, host, want = both_sides(name, ATTRIBUTES.get(name, [{}])[0], dtype)
    for (out, got), exact in zip(host.items(), want, strict=True):
        word = call.outputs[out].dtype
        if word not in SPACING:
            assert (flat(got) == exact).all()
            continue
        rounded = np.asarray(round_to(np.ascontiguousarray(exact), word), np.float64)
        away = np.abs(flat(got) - rounded) / (np.maximum(np.abs(rounded), 1.0) * SPACING[word])
        assert np.nanmax(away, initial=0) <= (16 if word == "float32" else 1)
