"""The families against PyTorch on the CPU, one row for each operator, and every known difference by name."""

from __future__ import annotations

import numpy as np
import pytest
from family_calls import ALL, accepted, both, call_of, flat, inputs, ordinary, ordinary_dtype
from operator_calls import tensor

from ascend_opcli.tensors.dtypes import round_to

torch = pytest.importorskip("torch")
F = torch.nn.functional
aten = torch.ops.aten
NAN, INF = float("nan"), float("inf")

TORCH = {
    "float64": torch.float64,
    "float32": torch.float32,
    "float16": torch.float16,
    "bfloat16": torch.bfloat16,
    "int32": torch.int32,
    "int64": torch.int64,
    "int16": torch.int16,
    "int8": torch.int8,
    "uint8": torch.uint8,
    "bool": torch.bool,
    "complex64": torch.complex64,
}


def _swish(x, beta=1.0):
    return x * torch.sigmoid(x * (1.0 if beta is None else beta))


def _gate(x, dim):
    return x.chunk(2, int(dim))


def _geglu(x, dim, approximate, left=False):
    a, b = _gate(x, dim)
    active, other = (a, b) if left else (b, a)
    active = F.gelu(active, approximate="tanh" if approximate else "none")
    return other * active, active


def _shrink(x, lambd, bias):
    return torch.where(x > lambd, x - bias, torch.where(x < -lambd, x + bias, torch.zeros_like(x)))


def _logit(x, eps):
    return torch.logit(x, None if eps < 0 else eps)


def _reduction(function, **more):
    """A loss of (self, target, reduction, ...) by the number of its reduction."""
    return lambda s, t, r, *rest: function(s, t, ("none", "mean", "sum")[r], *rest, **more)


def _bce(s, t, w, r):
    return F.binary_cross_entropy(s, t, w, reduction=("none", "mean", "sum")[r])


def _bce_logits(s, t, w, p, r):
    return F.binary_cross_entropy_with_logits(s, t, w, pos_weight=p, reduction=("none", "mean", "sum")[r])


def slope_of(function, wrt=0):
    """The gradient of a function of (tensor, ...) by autograd, as a function of (grad, tensor, ...)."""

    def backward(grad, *values):
        values = [
            v.detach().clone().requires_grad_(i == wrt) if torch.is_tensor(v) else v
            for i, v in enumerate(values)
        ]
        made = function(*values)
        made = made[0] if isinstance(made, tuple) else made
        return torch.autograd.grad(made, values[wrt], grad.expand(made.shape) if made.ndim else grad.sum())[0]

    return backward


def _spread(function):
    """The gradient of a reduced loss whose own gradient is given by element: one element of it at a time."""

    def backward(grad, s, t, r, *rest):
        made = slope_of(lambda x: function(x, t, 0, *rest))(torch.ones_like(grad), s)
        return grad * made / (s.numel() if r == 1 else 1)

    return backward


def _spread_weighted(function, wrt=0):
    def backward(grad, s, t, w, *rest):
        pos, r = (rest[0], rest[1]) if len(rest) > 1 else (None, rest[0])
        middle = [pos] if len(rest) > 1 else []
        made = slope_of(lambda *v: function(*v, w, *middle, 0), wrt)(torch.ones_like(grad), s, t)
        return grad * made / (s.numel() if r == 1 else 1)

    return backward


def _kl(s, t, r, log):
    if r == 3:
        return F.kl_div(s, t, reduction="batchmean", log_target=log)
    made = F.kl_div(s, t, reduction="none", log_target=log)  # torch warns of its own mean
    return made if r == 0 else made.mean() if r == 1 else made.sum()


def _kl_target(grad, s, t, r, log):
    made = slope_of(lambda y: F.kl_div(s, y, reduction="none", log_target=log))(torch.ones_like(grad), t)
    return grad * made / {1: t.numel(), 3: t.shape[0]}.get(r, 1)


def _smooth(s, t, r, beta):
    return F.smooth_l1_loss(s, t, reduction=("none", "mean", "sum")[r], beta=beta)


def _hinge(s, t):
    return (1 - t * s).clamp(min=0)


def _gaussian(s, t, v, full, eps, r):
    return F.gaussian_nll_loss(s, t, v, full=full, eps=eps, reduction=r)


_T = torch
UNARY = {
    name: getattr(torch, name.lower())
    for name in (
        "Abs Neg Sign Square Floor Ceil Trunc Round Frac Exp Exp2 Expm1 Log Log2 Log10 Log1p Sqrt Rsqrt"
        " Reciprocal Sin Cos Tan Asin Acos Atan Sinh Cosh Tanh Asinh Acosh Atanh Erf Erfc Erfinv Lgamma Sinc"
        " IsFinite IsInf IsPosInf IsNegInf Signbit Sigmoid Relu Selu Celu"
    ).split()
}
EXACT = {
    **UNARY,
    "RoundDecimals": lambda x, d: torch.round(x, decimals=d),
    "NanToNum": torch.nan_to_num,
    "BitwiseNot": torch.bitwise_not,
    "LogicalNot": torch.logical_not,
    # arithmetic
    "Add": lambda a, b, alpha: a + alpha * b,
    "Adds": lambda a, b, alpha: a + alpha * b,
    "AddV3": lambda a, b, alpha: a + alpha * b,
    "Sub": lambda a, b, alpha: a - alpha * b,
    "Subs": lambda a, b, alpha: a - alpha * b,
    "Rsub": lambda a, b, alpha: torch.rsub(a, b, alpha=alpha),
    "Rsubs": lambda a, b, alpha: b - alpha * a,
    "Mul": torch.mul,
    "Muls": torch.mul,
    "Div": torch.div,
    "Divs": torch.div,
    "RealDiv": torch.div,
    "FloorDivide": torch.floor_divide,
    "FloorDivides": torch.floor_divide,
    "FloorDiv": torch.floor_divide,
    "TruncateDiv": lambda a, b: torch.div(a, b, rounding_mode="trunc"),
    "TruncateMod": torch.fmod,
    "DivMod": lambda a, b, m: torch.div(a, b, rounding_mode=(None, "trunc", "floor")[m]),
    "DivMods": lambda a, b, m: torch.div(a, b, rounding_mode=(None, "trunc", "floor")[m]),
    "FmodTensor": torch.fmod,
    "FmodScalar": torch.fmod,
    "RemainderTensorTensor": torch.remainder,
    "RemainderTensorScalar": torch.remainder,
    "RemainderScalarTensor": torch.remainder,
    "PowTensorTensor": torch.pow,
    "PowTensorScalar": torch.pow,
    "PowScalarTensor": torch.pow,
    "Maximum": torch.maximum,
    "Minimum": torch.minimum,
    "Clamp": torch.clamp,
    "ClampTensor": torch.clamp,
    "ClampMin": lambda x, v: torch.clamp(x, min=v),
    "ClampMax": lambda x, v: torch.clamp(x, max=v),
    "ClampMinTensor": torch.maximum,
    "ClampMaxTensor": torch.minimum,
    "Addcmul": lambda s, a, b, v: torch.addcmul(s, a, b, value=v),
    "Addcdiv": lambda s, a, b, v: torch.addcdiv(s, a, b, value=v),
    "Lerp": torch.lerp,
    "Lerps": torch.lerp,
    "Atan2": torch.atan2,
    "XLogYTensor": torch.xlogy,
    "XLogYScalarOther": torch.xlogy,
    "XLogYScalarSelf": torch.xlogy,
    "Xlog1py": torch.special.xlog1py,
    "LogAddExp": torch.logaddexp,
    "LogAddExp2": torch.logaddexp2,
    "Gcd": torch.gcd,
    "BitwiseAndTensor": torch.bitwise_and,
    "BitwiseAndTensorOut": torch.bitwise_and,
    "BitwiseOrTensor": torch.bitwise_or,
    "BitwiseXorTensor": torch.bitwise_xor,
    "BitwiseAndScalar": lambda a, b: torch.bitwise_and(a, int(b)),
    "BitwiseOrScalar": lambda a, b: torch.bitwise_or(a, int(b)),
    "BitwiseXorScalar": lambda a, b: torch.bitwise_xor(a, int(b)),
    "RightShift": torch.bitwise_right_shift,
    "FusedMulAddN": lambda a, b, c: a * c[0] + b,
    "AxpyV2": lambda a, b, alpha: a + alpha * b,
    "ApplyGradientDescent": lambda v, a, d: v - a * d,
    "AddMatMatElementsPlus": lambda c, a, b, beta, alpha: beta * c + alpha * a * b,
    "AddMatMatElements": lambda a, b, c, alpha, beta: beta * c + alpha * a * b,
    "MaskedScale": lambda x, m, s: x * m * s,
    "MulNoNan": lambda x, y: torch.where(y == 0, torch.zeros_like(x), x * y),
    "AssignSub": torch.sub,
    "Polar": torch.polar,
    "Complex": torch.complex,
    "AngleV2": torch.angle,
    "Real": torch.clone,
    # comparison
    **{
        f"{w}{k}": getattr(torch, w.lower())
        for w in "Eq Ne Lt Le Gt Ge".split()
        for k in ("Tensor", "Scalar")
    },
    "LogicalAnd": torch.logical_and,
    "LogicalOr": torch.logical_or,
    "LogicalXor": torch.logical_xor,
    "IsClose": lambda a, b, r, t, n: torch.isclose(a, b, r, t, n),
    "ApproximateEqual": lambda a, b, t: (a - b).abs() < t,
    "Equal": lambda a, b: torch.tensor([torch.equal(a, b)]),
    "SWhere": lambda c, a, b: torch.where(c != 0, a, b),
    "InplaceMaskedFillScalar": lambda x, m, v: x.masked_fill(m != 0, v),
    "InplaceMaskedFillTensor": lambda x, m, v: x.masked_fill(m != 0, v.reshape(())),
    # activations
    "Gelu": lambda x: F.gelu(x, approximate="tanh"),
    "GeluV2": lambda x, a: F.gelu(x, approximate="tanh" if a else "none"),
    "FastGelu": lambda x: x * torch.sigmoid(1.702 * x),
    "Silu": F.silu,
    "Swish": _swish,
    "LogSigmoid": F.logsigmoid,
    "Elu": aten.elu,
    "Celu": lambda x, a: F.celu(x, a),
    "Hardswish": F.hardswish,
    "Hardsigmoid": F.hardsigmoid,
    "HardsigmoidV2": F.hardsigmoid,
    "Hardtanh": F.hardtanh,
    "Mish": F.mish,
    "Softplus": F.softplus,
    "Softshrink": F.softshrink,
    "Hardshrink": F.hardshrink,
    "HardShrink": F.hardshrink,
    "Shrink": _shrink,
    "LeakyRelu": F.leaky_relu,
    "Prelu": lambda x, w: F.prelu(x, w),
    "Threshold": F.threshold,
    "ThresholdV2": F.threshold,
    "Heaviside": torch.heaviside,
    "SquaredRelu": lambda x: torch.relu(x) ** 2,
    "Softsign": F.softsign,
    "Logit": _logit,
    "AddRelu": lambda a, b, alpha: torch.relu(a + alpha * b),
    "SiluMul": lambda x, y: F.silu(x) * y,
    "GeluBackward": slope_of(lambda x: F.gelu(x, approximate="tanh")),
    "GeluBackwardV2": lambda g, x, a: slope_of(lambda v: F.gelu(v, approximate=a))(g, x),
    "FastGeluBackward": slope_of(lambda x: x * torch.sigmoid(1.702 * x)),
    "SiluBackward": slope_of(F.silu),
    "SwishBackward": lambda g, x, b: slope_of(lambda v: _swish(v, b))(g, x),
    "SeluBackward": lambda g, r: aten.elu_backward(g, 1.6732632423543772, 1.0507009873554805, 1.0, True, r),
    "SigmoidBackward": aten.sigmoid_backward,
    "TanhBackward": aten.tanh_backward,
    "TanhGrad": lambda y, dy: aten.tanh_backward(dy, y),
    "SqrtBackward": lambda y, dy: dy * 0.5 / y,
    "HardswishBackward": aten.hardswish_backward,
    "HardswishBackwardV2": aten.hardswish_backward,
    "HardsigmoidBackward": lambda g, x: torch.where((x > -3) & (x < 3), g / 6, 0 * g),
    "HardtanhBackward": aten.hardtanh_backward,
    "MishBackward": slope_of(F.mish),
    "SoftplusBackward": aten.softplus_backward,
    "SoftshrinkBackward": aten.softshrink_backward,
    "HardshrinkBackward": aten.hardshrink_backward,
    "LeakyReluBackward": aten.leaky_relu_backward,
    "LogSigmoidBackward": lambda g, x, _b: slope_of(F.logsigmoid)(g, x),
    "PreluBackward": lambda g, x, w: (slope_of(F.prelu)(g, x, w), slope_of(F.prelu, 1)(g, x, w)),
    "SoftsignBackward": slope_of(F.softsign),
    "AtanGrad": lambda x, dy: dy / (1 + x * x),
    "Glu": lambda x, dim: F.glu(x, dim),
    "SwiGlu": lambda x, dim: F.silu(_gate(x, dim)[0]) * _gate(x, dim)[1],
    "GeGlu": _geglu,
    "GeGluV3": _geglu,
    "GeluMul": lambda x, a: F.gelu(_gate(x, -1)[0], approximate=a) * _gate(x, -1)[1],
    "FatreluMul": lambda x, t: torch.where(_gate(x, -1)[0] > t, _gate(x, -1)[0], 0) * _gate(x, -1)[1],
    "GluBackward": lambda g, x, dim: slope_of(lambda v: F.glu(v, dim))(g, x),
    "SwiGluGrad": lambda g, x, dim: slope_of(lambda v: F.silu(_gate(v, dim)[0]) * _gate(v, dim)[1])(g, x),
    # losses
    "L1Loss": _reduction(lambda s, t, r: F.l1_loss(s, t, reduction=r)),
    "MseLoss": _reduction(lambda s, t, r: F.mse_loss(s, t, reduction=r)),
    "MseLossOut": _reduction(lambda s, t, r: F.mse_loss(s, t, reduction=r)),
    "SmoothL1Loss": _smooth,
    "BinaryCrossEntropy": _bce,
    "BinaryCrossEntropyWithLogits": _bce_logits,
    "KlDiv": _kl,
    "SoftMarginLoss": _reduction(lambda s, t, r: F.soft_margin_loss(s, t, reduction=r)),
    "L1LossBackward": _spread(lambda s, t, r: F.l1_loss(s, t, reduction="none")),
    "MseLossBackward": _spread(lambda s, t, r: F.mse_loss(s, t, reduction="none")),
    "SmoothL1LossBackward": _spread(_smooth),
    "BinaryCrossEntropyBackward": _spread_weighted(_bce),
    "BinaryCrossEntropyWithLogitsBackward": _spread_weighted(_bce_logits),
    "BinaryCrossEntropyWithLogitsTargetBackward": _spread_weighted(_bce_logits, 1),
    "KlDivBackward": _spread(lambda s, t, r, log: _kl(s, t, r, log)),
    "KlDivTargetBackward": _kl_target,
    # margins
    "HuberLoss": lambda s, t, delta: F.huber_loss(s, t, reduction="none", delta=delta),
    "HingeLoss": _hinge,
    "HingeLossGrad": lambda s, t, g: slope_of(_hinge)(g, s, t),
    "HingeEmbeddingLoss": lambda s, t, m, r: F.hinge_embedding_loss(s, t, m, reduction=r),
    "LpLoss": lambda s, t, p, r: F.l1_loss(s, t, reduction=r),
    "GaussianNllLoss": _gaussian,
    "GaussianNllLossGrad": lambda g, *v: tuple(slope_of(_gaussian, w)(g, *v) for w in (0, 2)),
    "SoftMarginLossBackward": _spread(lambda s, t, r: F.soft_margin_loss(s, t, reduction="none")),
    # fills
    "Cast": lambda x, _dtype: x,
    "InplaceZero": torch.zeros_like,
    "InplaceOne": torch.ones_like,
    "InplaceFillScalar": lambda x, v: torch.full_like(x, v),
    "InplaceFillTensor": lambda x, v: torch.full_like(x, float(v)),
    "InplaceCopy": lambda x, s: s,
    "TensorMove": torch.clone,
    "Arange": lambda a, b, c: torch.arange(a, b, c, dtype=torch.float64),
    "Linspace": lambda a, b, n: torch.linspace(a, b, n, dtype=torch.float64),
    "Eye": torch.eye,
}
# Gradients by the two halves of GeGlu take the forward's own gelu: tested apart.
NO_ROW = {"GeGluBackward", "GeGluV3Backward", "Range"}

WORDS = ("none", "mean", "sum")
ATTRIBUTES = {
    "RoundDecimals": [{"decimals": 0}, {"decimals": 2}, {"decimals": -1}],
    "DivMod": [{"mode": m} for m in range(3)],
    "DivMods": [{"mode": m} for m in range(3)],
    "GeluV2": [{"approximate": 0}, {"approximate": 1}],
    "GeluBackwardV2": [{"approximate": "none"}, {"approximate": "tanh"}],
    "GeGlu": [{"approximate": 0}, {"approximate": 1, "dim": -2}],
    "GeGluV3": [{"activateLeft": True}, {"activateLeft": False, "approximate": 0}],
    "GeluMul": [{"approximate": "none"}, {"approximate": "tanh"}],
    "Glu": [{"dim": -1}, {"dim": 0}],
    "SwiGlu": [{"dim": -1}, {"dim": 0}],
    "Elu": [{}, {"alpha": 0.5, "scale": 2.0, "inputScale": 0.75}],
    "Celu": [{}, {"alpha": 0.5}],
    "Softplus": [{}, {"beta": 2.0, "threshold": 1.0}],
    "SoftplusBackward": [{}, {"beta": 2.0, "threshold": 1.0}],
    "LeakyRelu": [{}, {"negativeSlope": 0.25}],
    "Logit": [{}, {"eps": 0.125}],
    "Swish": [{}, {"betaOptional": 0.5}],
    "SwishBackward": [{}, {"betaOptional": 0.5}],
    "Shrink": [{}, {"lambd": 0.25, "bias": 0.125}],
    "IsClose": [{}, {"rtol": 0.5, "atol": 0.5}],
    **{name: [{"reduction": r} for r in range(3)] for name, op in ALL.items() if "reduction" in op.defaults},
    "KlDiv": [{"reduction": r, "logTarget": log} for r in range(4) for log in (False, True)],
    "KlDivBackward": [{"reduction": r, "logTarget": log} for r in range(3) for log in (False, True)],
    "SmoothL1Loss": [{"reduction": r, "beta": b} for r in range(3) for b in (0.0, 1.0)],
    "SmoothL1LossBackward": [{"reduction": r, "beta": b} for r in range(3) for b in (0.5, 1.0)],
    "KlDivTargetBackward": [{"reduction": r, "logTarget": log} for r in range(4) for log in (False, True)],
    "HuberLoss": [{}, {"delta": 0.25}],
    "HingeEmbeddingLoss": [{"reduction": r, "margin": m} for r in WORDS for m in (1.0, 0.25)],
    "LpLoss": [{"reduction": r} for r in WORDS],
    "GaussianNllLoss": [{"reductionOptional": r, "full": f} for r in WORDS for f in (False, True)],
    "GaussianNllLossGrad": [{"reduction": r, "eps": e} for r in WORDS for e in (1e-6, 1.0)],
    "Add": [{}, {"alpha": 2}, {"alpha": 0.75}],
    "Adds": [{}, {"alpha": 2, "other": 0.5}],
    "Rsub": [{}, {"alpha": -3}],
}
EVEN = {"Glu": (4, 3, 8), "SwiGlu": (4, 3, 8), "GeGlu": (4, 6, 8), "GeGluV3": (4, 6, 8)}


def to_torch(value, dtype=None):
    """An array as a tensor of its own dtype, or floats in ``dtype``; attributes as they are."""
    if isinstance(value, tuple):
        return [to_torch(v, dtype) for v in value]
    if not isinstance(value, np.ndarray):
        return value
    if value.dtype.kind in "biu":
        return torch.from_numpy(np.ascontiguousarray(value))
    if value.dtype.kind == "c":
        return torch.from_numpy(np.ascontiguousarray(value).astype(np.complex128))
    made = torch.from_numpy(np.ascontiguousarray(value).astype(np.float64))
    return made if dtype is None else made.to(TORCH[dtype])


def back(result):
    """Torch's result as one flat float64 or complex array for each output."""
    parts = result if isinstance(result, (tuple, list)) else (result,)
    return [
        (p.to(torch.complex128) if p.is_complex() else p.to(torch.float64)).detach().numpy().reshape(-1)
        for p in parts
    ]


def cases():
    return [
        pytest.param(name, given, id="-".join([name, *(f"{k}={v}" for k, v in given.items())]))
        for name in EXACT
        for given in ATTRIBUTES.get(name, [{}])
    ]


def call(name, given, dtype=None, **more):
    operator = ALL[name]
    return operator, call_of(
        operator, ordinary(operator, dtype, EVEN.get(name, more.pop("shape", None)), **given, **more)
    )


def test_every_operator_on_one_tensor_has_a_row():
    single = {
        name
        for name, op in ALL.items()
        if not name.startswith("Foreach") and not any(p.is_list for p in op.signature.params)
    }
    plain = {n for n in single if not n.startswith("Inplace") or n.removeprefix("Inplace") not in ALL}
    assert plain - set(EXACT) - NO_ROW == set()
    assert set(EXACT) - set(ALL) == set()


@pytest.mark.parametrize(("name", "given"), cases())
def test_golden_is_torch_in_float64(name, given):
    operator, made = call(name, given)
    outputs, _ = both(operator, made)
    want = back(EXACT[name](*map(to_torch, inputs(operator, made))))
    for got, exact in zip(outputs.values(), want, strict=True):
        exact = np.broadcast_to(exact, flat(got).shape)
        away = np.abs(flat(got) - exact)
        assert (away <= 1e-12 * np.abs(exact)).all(), (flat(got)[away.argmax()], exact[away.argmax()])


# Where a sum or a difference cancels, a float32 error is relative to what went into it.
CANCELS = (
    "Addcmul BinaryCrossEntropyWithLogitsTargetBackward FastGeluBackward FusedMulAddN GaussianNllLossGrad KlDiv"
    " Lerp Logit Sinc"
).split()
FLOATS = ("float32", "float16", "bfloat16")
SPACING = {"float32": 2.0**-23, "float16": 2.0**-10, "bfloat16": 2.0**-7}


def takes(operator, dtype):
    listed = (
        accepted(operator, operator.signature.inputs[0].name) if operator.signature.inputs else ("float32",)
    )
    return dtype in listed if listed else True


def in_floats(names):
    return [
        pytest.param(name, given, dtype, id="-".join([name, dtype, *(f"{k}={v}" for k, v in given.items())]))
        for name in names
        for given in ATTRIBUTES.get(name, [{}])
        for dtype in FLOATS
        if ordinary_dtype(ALL[name]) == "float32" and takes(ALL[name], dtype)
    ]


@pytest.mark.parametrize(("name", "given", "dtype"), in_floats(EXACT))
def test_host_is_within_a_few_ulp_of_torch(name, given, dtype):
    operator, made = call(name, given, dtype)
    _, host = both(operator, made)
    want = back(EXACT[name](*map(to_torch, inputs(operator, made))))
    for (out, got), exact in zip(host.items(), want, strict=True):
        if exact.dtype.kind == "c":
            got, exact = np.asarray(got).view(np.float32), exact.view(np.float64)
            word = "float32"
        else:
            word = made.outputs[out].dtype
        exact = np.broadcast_to(exact, flat(got).shape)
        if word not in FLOATS:
            assert (flat(got) == exact).all()
            continue
        rounded = np.asarray(round_to(np.ascontiguousarray(exact), word), np.float64)
        # Errors below that of numbers of the size of the inputs are the arithmetic's own.
        step = np.maximum(np.abs(rounded), 1.0 if name in CANCELS else 2.0**-10)
        away = np.abs(flat(got) - rounded) / (step * SPACING[word])
        assert away.max() <= (8 if word == "float32" else 1), (away.max(), flat(got)[away.argmax()])


# Torch rounds each step of a formula to its own dtype; only single functions are compared in the narrow ones.
OWN = [
    p
    for p in in_floats(
        [n for n in EXACT if n not in ("Cast", "InplaceCopy", "Arange", "Linspace", "Eye", "Lgamma")]
    )
    if p.values[2] == "float32" or p.values[0] in UNARY
]


@pytest.mark.parametrize(("name", "given", "dtype"), OWN)
def test_host_is_near_torch_in_its_own_dtype(name, given, dtype):
    operator, made = call(name, given, dtype)
    _, host = both(operator, made)
    want = back(EXACT[name](*(to_torch(v, dtype) for v in inputs(operator, made))))
    for (out, got), own in zip(host.items(), want, strict=True):
        own = np.broadcast_to(own, flat(got).shape)
        word = made.outputs[out].dtype
        if word in FLOATS:
            # Torch's gelu adds 1 to an erf near -1.
            scale = np.maximum(np.abs(own), 1.0 if name in CANCELS or name.startswith("Ge") else 2.0**-10)
            away = np.abs(flat(got) - own) / (scale * SPACING[word])
            assert away.max() <= 16, (away.max(), flat(got)[away.argmax()], own[away.argmax()])


# --- two dtypes ---------------------------------------------------------------------------------------------

PAIRS = [
    ("int32", "float16"), ("int8", "uint8"), ("uint8", "int32"), ("int64", "bfloat16"), ("bool", "int8"),
    ("bool", "float32"), ("float16", "bfloat16"), ("float16", "float32"), ("int16", "int16"), ("uint8", "uint8"),
    ("float32", "float64"), ("int64", "int32"), ("bfloat16", "bfloat16"), ("int32", "float64"),
]  # fmt: skip
MIXED = (
    "Add Mul Maximum Minimum Div FmodTensor RemainderTensorTensor EqTensor NeTensor LtTensor GeTensor LogicalAnd"
    " LogicalOr LogicalXor Atan2 IsClose"
).split()
# Modulo of bool has no kernel in torch, and none is documented.
NO_BOOL = {"FmodTensor", "RemainderTensorTensor"}


def small(dtype, seed, low):
    values = np.random.Generator(np.random.PCG64(seed)).integers(low, 9, (3, 7)).astype(np.float64)
    return (
        np.abs(values)
        if dtype.startswith("uint")
        else np.minimum(np.abs(values), 1)
        if dtype == "bool"
        else values
    )


@pytest.mark.parametrize("name", MIXED)
@pytest.mark.parametrize(("one", "other"), PAIRS)
def test_two_dtypes_meet_as_in_torch(name, one, other):
    """The dtype that is inferred and every value; small whole numbers, so that each dtype holds them."""
    if "bool" in (one, other) and name in NO_BOOL:
        return
    operator = ALL[name]
    a, b = small(one, 1, -8), np.maximum(small(other, 2, 1), 1)
    given = {} if name not in ("Add",) else {"alpha": 1}
    arguments = ordinary(operator, "float32", (3, 7), self=tensor(one, a), other=tensor(other, b), **given)
    made = call_of(operator, arguments)
    x, y = torch.tensor(a).to(TORCH[one]), torch.tensor(b).to(TORCH[other])
    rest = [v for v in inputs(operator, made) if not isinstance(v, np.ndarray)]
    want = (
        EXACT[name](x, y, *rest)
        if one == other or name != "IsClose"
        else torch.isclose(x.double(), y.double())
    )
    assert TORCH[made.outputs["out"].dtype] == want.dtype
    golden, host = both(operator, made)
    near = {"float16": 2e-3, "bfloat16": 2e-2}.get(made.outputs["out"].dtype, 1e-6)
    for got in (golden["out"], host["out"]):
        np.testing.assert_allclose(flat(got), back(want)[0], rtol=near, atol=0)


@pytest.mark.parametrize(
    "name", ["FloorDivide", "BitwiseAndTensor", "BitwiseOrTensor", "BitwiseXorTensor", "Gcd"]
)
@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "int64", "uint8"])
def test_integers_are_torchs(name, dtype):
    operator = ALL[name]
    info = np.iinfo(dtype)
    rng = np.random.Generator(np.random.PCG64(3))
    # The size of the smallest number of all does not fit into its dtype: each library's gcd of it is its own.
    lowest = info.min + (name == "Gcd" and info.min < 0)
    a = rng.integers(lowest, info.max, (5, 40), dtype=dtype, endpoint=True)
    b = rng.integers(1, 100, (5, 40)).astype(dtype) * (
        1 if dtype == "uint8" else rng.choice([-1, 1], (5, 40))
    )
    made = call_of(
        operator, ordinary(operator, dtype, (5, 40), self=tensor(dtype, a), other=tensor(dtype, b))
    )
    golden, _ = both(operator, made)
    want = EXACT[name](torch.from_numpy(a), torch.from_numpy(b.astype(dtype)))
    assert (golden["out"] == want.numpy()).all()


@pytest.mark.parametrize("dtype", ["int8", "int32", "int64", "uint8"])
@pytest.mark.parametrize("exponent", [0, 1, 2, 5])
def test_integer_powers_wrap_as_torchs(dtype, exponent):
    operator = ALL["PowTensorScalar"]
    values = np.arange(0 if dtype == "uint8" else -20, 21).astype(dtype)
    made = call_of(operator, ordinary(operator, dtype, (41,), self=tensor(dtype, values), exponent=exponent))
    golden, _ = both(operator, made)
    assert (golden["out"] == torch.pow(torch.from_numpy(values), exponent).numpy()).all()


FOREACH = [n for n in ALL if n.startswith("Foreach") and hasattr(torch, f"_foreach_{n[7:].lower()}")]


@pytest.mark.parametrize("name", FOREACH)
def test_lists_are_torchs(name):
    operator = ALL[name]
    made = call_of(operator, ordinary(operator))
    golden, _ = both(operator, made)
    want = getattr(torch, f"_foreach_{name[7:].lower()}")(to_torch(inputs(operator, made)[0]))
    for got, exact in zip(golden["out"], want, strict=True):
        np.testing.assert_allclose(flat(got), back(exact)[0], rtol=1e-12)


def test_there_are_lists_to_compare():
    assert len(FOREACH) >= 20


# --- special values -------------------------------------------------------------------------------------------

SPECIALS = (NAN, INF, -INF, 0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.5, 1e30, -1e30, 1e-30, 3.0, -3.0)
# Differences that stay, each with its reason. The references follow the kernel or the document there.
DIFFERENT = {
    "Lerp": "torch starts from the end for weights up to -0.5 too: infinite ends give NaN in one of the two",
    "Softshrink": "NaN gives 0 in the kernel",
    "FloorDivide": "the quotient is rounded to float32 and floored: torch gives NaN for an infinite one",
    "FloorDivides": "as FloorDivide",
    "FloorDiv": "as FloorDivide",
    "TruncateDiv": "the quotient is rounded to float32",
    "HardswishBackward": "at -3 and 3 the kernel takes the linear part, torch the flat ones; NaN passes the gradient",
    "HardswishBackwardV2": "NaN passes the gradient in the kernel",
    "Hardswish": "-Inf gives 0 in the kernel",
    "SeluBackward": "NaN passes the gradient in the kernel",
    "GeluBackward": "an infinite self gives the limit in the kernel, which selects",
    "HardtanhBackward": "NaN passes the gradient in the kernel",
    "SoftshrinkBackward": "NaN passes the gradient in the kernel",
    "HardshrinkBackward": "NaN passes the gradient in the kernel",
    "FastGeluBackward": "autograd through x sigmoid(1.702 x) meets Inf - Inf",
    "HingeLossGrad": "a margin of NaN is not above 0 in the document's formula, torch passes the gradient",
    "SwishBackward": "autograd meets Inf - Inf",
    "SoftsignBackward": "autograd meets Inf / Inf",
}
NOT_COMPARED = {
    *("Polar", "Complex"),
    # Products of infinities with a weight or a gradient of 0 follow the order of the factors.
    *(
        "BinaryCrossEntropy",
        "BinaryCrossEntropyBackward",
        "BinaryCrossEntropyWithLogits",
        "SoftMarginLossBackward",
    ),
    *(
        "BinaryCrossEntropyWithLogitsBackward",
        "BinaryCrossEntropyWithLogitsTargetBackward",
        "KlDiv",
        "Shrink",
    ),
    # These, or torch, refuse targets and variances below 0 and labels that are neither 1 nor -1.
    *("KlDivTargetBackward", "HingeEmbeddingLoss", "GaussianNllLoss", "GaussianNllLossGrad"),
    *("SoftMarginLoss", "MseLossBackward", "SmoothL1LossBackward", "KlDivBackward"),
}


def special_names():
    return [
        name
        for name, operator in ((n, ALL[n]) for n in EXACT)
        if ordinary_dtype(operator) == "float32" and operator.signature.inputs and name not in NOT_COMPARED
    ]


def compare_special(name):
    operator = ALL[name]
    given = ATTRIBUTES.get(name, [{}])[0]
    if "reduction" in operator.defaults:
        given = {**given, "reduction": "none" if isinstance(operator.defaults["reduction"], str) else 0}
    shape = EVEN.get(name, (3, 4, 8))
    made = call_of(operator, ordinary(operator, "float32", shape, specials=SPECIALS, **given))
    outputs, _ = both(operator, made)
    want = back(EXACT[name](*map(to_torch, inputs(operator, made))))
    for got, exact in zip(outputs.values(), want, strict=True):
        got, exact = flat(got), np.broadcast_to(exact, flat(got).shape)
        same = (got == exact) | (np.isnan(got) & np.isnan(exact))
        with np.errstate(invalid="ignore"):
            same |= np.abs(got - exact) <= 1e-9 * np.maximum(np.abs(exact), 1.0)
        yield got, exact, same


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", special_names())
def test_special_values_are_torchs(name):
    different = False
    for got, exact, same in compare_special(name):
        different |= not same.all()
        if name not in DIFFERENT:
            assert same.all(), (got[~same][:4], exact[~same][:4])
    assert different or name not in DIFFERENT, "no difference left: take the name out of the list"
