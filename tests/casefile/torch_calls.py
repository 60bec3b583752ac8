"""A call of PyTorch for every line of the table of APIs, made on the CPU."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import torch
import torch.nn.functional as F

from ascend_opcli.casefile.files.torch_apis import table


def t(*shape: int, low: float = -2.0, high: float = 2.0, seed: int = 0, dtype: Any = torch.float32) -> Any:
    """A tensor of uniform numbers."""
    made = torch.Generator().manual_seed(seed + sum(shape))
    return (torch.rand(shape, generator=made) * (high - low) + low).to(dtype)


def i(*shape: int, low: int = -9, high: int = 9, seed: int = 0, dtype: Any = torch.int32) -> Any:
    """A tensor of whole numbers."""
    return torch.randint(low, high, shape, generator=torch.Generator().manual_seed(seed), dtype=dtype)


X, Y, Z = t(4, 5), t(4, 5, seed=1), t(4, 5, seed=2)
POSITIVE, UNIT, APART = t(4, 5, low=0.1, high=3), t(4, 5, low=0.05, high=0.95), t(4, 5, low=1, high=4, seed=3)
B, C = X > 0, Y > 0
WHOLE, J = i(4, 5), i(4, 5, low=1, seed=1)
INDEX = i(4, 5, low=0, high=4, dtype=torch.int64)
ROWS = torch.tensor([2, 0, 3])


@dataclass(frozen=True)
class Call:
    """An API by the name that a dump has for it, what it is, and its arguments."""

    api: str
    function: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any] = field(default_factory=dict)
    backward: bool = False


def _function(api: str) -> Callable[..., Any]:
    group, _, name = api.partition(".")
    home = {"Functional": F, "Torch": torch, "Tensor": torch.Tensor}[group]
    found: Callable[..., Any] = getattr(home, name)
    return found


def _swiglu(x: Any, dim: int = -1) -> Any:
    first, second = x.chunk(2, dim)
    return F.silu(first) * second


def _rms_norm(x: Any, gamma: Any, epsilon: float = 1e-6) -> Any:
    rstd = torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + epsilon)
    return x * rstd * gamma, rstd


def _fast_gelu(x: Any) -> Any:
    return x / (1 + torch.exp(-1.702 * x.abs())) * torch.exp(0.851 * (x - x.abs()))


OWN: dict[str, Callable[..., Any]] = {
    "NPU.npu_swiglu": _swiglu,
    "NPU.npu_rms_norm": _rms_norm,
    "NPU.npu_fast_gelu": _fast_gelu,
    "Torch.fast_gelu": _fast_gelu,
}
"""What torch_npu adds, by its documented formula."""

ONE = {
    "acos": UNIT, "arccos": UNIT, "asin": UNIT, "arcsin": UNIT, "atanh": UNIT, "arctanh": UNIT, "erfinv": UNIT,
    "acosh": APART, "arccosh": APART, "log": POSITIVE, "log10": POSITIVE, "log2": POSITIVE, "log1p": POSITIVE,
    "lgamma": POSITIVE, "sqrt": POSITIVE, "rsqrt": POSITIVE, "reciprocal": POSITIVE, "bitwise_not": WHOLE,
    "__invert__": WHOLE, "logical_not": B, "trace": t(5, 5), "median": t(3, 5), "half": X, "logit": UNIT,
}  # fmt: skip
"""Where the API of one tensor does not take every number."""

MORE: dict[str, list[tuple[Any, ...]]] = {
    "logit": [(UNIT,), (UNIT, 0.1)],
    "round": [(X,), (X, {"decimals": 2})],
    **{name: [(X, Y), (X, 2.5), (X, Y, {"alpha": 2}), (X, 3, {"alpha": 2})] for name in ("add", "sub", "subtract")},
    "rsub": [(X, Y), (X, 2.5), (X, 2.5, 3)],
    **{
        name: [(X, Y), (X, 2.5)]
        for name in ("__add__", "__radd__", "__sub__", "__mul__", "__rmul__", "mul", "multiply")
    },
    "__rsub__": [(X, 2.5), (X, Y)],
    **{
        name: [
            (X, APART), (X, 2.5), (X, APART, {"rounding_mode": "trunc"}), (X, 2.5, {"rounding_mode": "trunc"}),
            (X, APART, {"rounding_mode": "floor"}), (X, 2.5, {"rounding_mode": "floor"}),
        ]
        for name in ("div", "divide")
    },
    **{
        name: [(X, APART), (X, 2.5)]
        for name in ("true_divide", "__truediv__", "__div__", "floor_divide", "__floordiv__", "__mod__", "fmod")
    },
    "remainder": [(X, APART), (X, 2.5), (2.5, APART)],
    "pow": [(POSITIVE, Y), (X, 2), (X, 3.0), (2.5, Y)],
    "__pow__": [(POSITIVE, Y), (X, 2)],
    "__rpow__": [(Y, 2.5)],
    **{name: [(X, Y)] for name in ("maximum", "minimum", "atan2", "arctan2", "logaddexp", "logaddexp2", "matmul2")},
    "gcd": [(J, i(4, 5, low=1, seed=4))],
    "heaviside": [(torch.tensor([-1.0, 0.0, 2.0]), torch.tensor([0.5, 0.25, 0.5]))],
    "xlogy": [(X, POSITIVE), (X, 2.5), (2.5, POSITIVE)],
    "lerp": [(X, Y, Z), (X, Y, 0.3)],
    "addcmul": [(X, Y, Z), (X, Y, Z, {"value": 0.5})],
    "addcdiv": [(X, Y, APART), (X, Y, APART, {"value": 0.5})],
    "isclose": [(X, X + 1e-7), (X, Y, {"atol": 1.0})],
    **{
        name: [(WHOLE, J), (WHOLE, 3)]
        for name in (
            "eq", "__eq__", "ne", "not_equal", "__ne__", "lt", "less", "__lt__", "le", "less_equal", "__le__", "gt",
            "greater", "__gt__", "ge", "greater_equal", "__ge__",
        )
    },
    **{name: [(B, C)] for name in ("logical_and", "logical_or", "logical_xor")},
    **{
        name: [(WHOLE, J), (WHOLE, 3)]
        for name in ("bitwise_and", "__and__", "bitwise_or", "__or__", "bitwise_xor", "__xor__")
    },
    **{
        name: [(X, -1.0, 1.0), (X, -1.0), (X, {"max": 1.0}), (X, -POSITIVE, UNIT), (X, UNIT), (X, {"max": UNIT})]
        for name in ("clamp", "clip")
    },
    "clamp_min": [(X, 0.5), (X, Y)],
    "clamp_max": [(X, 0.5), (X, Y)],
    "Torch.where": [(B, X, Y)],
    "Tensor.where": [(X, B, Y)],
    "masked_fill": [(X, B, 2.5), (X, B, torch.tensor(2.5))],
    "gelu": [(X,), (X, {"approximate": "tanh"})],
    "elu": [(X,), (X, {"alpha": 0.5})],
    "celu": [(X,), (X, 0.5)],
    "leaky_relu": [(X,), (X, 0.2)],
    "prelu": [(t(2, 3, 4), torch.tensor([0.1, 0.2, 0.3]))],
    "threshold": [(X, 0.5, -3.0)],
    "hardtanh": [(X,), (X, -0.5, 0.5)],
    "softplus": [(X,), (20 * X, {"beta": 2, "threshold": 10})],
    "softshrink": [(X,), (X, 0.25)],
    "hardshrink": [(X,), (X, 0.25)],
    "glu": [(t(3, 6),), (t(4, 3), {"dim": 0})],
    **{name: [(X, -1), (X, {"dim": 0})] for name in ("softmax", "log_softmax")},
    "npu_swiglu": [(t(3, 8),)],
    "npu_rms_norm": [(X, t(5, low=0.5, high=1.5))],
    "sum": [
        (X,), (X, 0), (X, [0, 1], True), (X, {"axis": 1, "keepdims": True}), (WHOLE,), (X, {"dtype": torch.float64}),
    ],
    "mean": [(X,), (X, 0), (X, [0, 1], True)],
    "prod": [(UNIT,), (UNIT, 1, True)],
    **{name: [(X,), (X, 0), (X, 1, True), (X, Y)] for name in ("max", "min")},
    **{name: [(X,), (X, 0), (X, [0, 1], True)] for name in ("amax", "amin")},
    **{name: [(X, 0), (X, 1, True)] for name in ("argmax", "argmin")},
    **{name: [(B,), (B, 1), (B, 0, True)] for name in ("all", "any")},
    "cumsum": [(X, 0), (X, {"dim": 1})],
    "cumprod": [(X, 0)],
    "logsumexp": [(X, 0), (X, [0, 1], True)],
    "var": [(X, 0), (X, [0, 1], False, True), (X, 1, {"correction": 0})],
    "std": [(X, [0]), (X, 1, {"correction": 0, "keepdim": True})],
    "matmul": [(X, t(5, 3)), (t(2, 4, 5), t(2, 5, 3))],
    "__matmul__": [(X, t(5, 3))],
    "mm": [(X, t(5, 3))],
    "bmm": [(t(2, 4, 5), t(2, 5, 3))],
    "mv": [(X, t(5))],
    "dot": [(t(6), t(6, seed=1))],
    "addmm": [(t(4, 3), X, t(5, 3)), (t(3), X, t(5, 3), {"beta": 0.5, "alpha": 2})],
    "baddbmm": [(t(2, 4, 3), t(2, 4, 5), t(2, 5, 3), {"beta": 0.5})],
    "addbmm": [(t(4, 3), t(2, 4, 5), t(2, 5, 3), {"beta": 0.5})],
    "addmv": [(t(4), X, t(5), {"beta": 0.5, "alpha": 2})],
    "addr": [(X, t(4), t(5), {"beta": 0.5, "alpha": 2})],
    "linear": [(t(2, 4, 5), t(3, 5)), (X, t(3, 5), t(3)), (X, t(3, 5))],
    **{name: [([X, Y],), ([X, Y, Z], 1)] for name in ("cat", "concat", "concatenate", "stack")},
    "gather": [(X, 0, INDEX)],
    "index_select": [(X, 0, ROWS)],
    "take": [(X, torch.tensor([[0, 7], [19, 3]]))],
    "embedding": [(INDEX, X), (INDEX, X, {"padding_idx": 1})],
    "index_add": [(X, 0, ROWS, t(3, 5)), (X, 0, ROWS, t(3, 5), {"alpha": 2})],
    "scatter": [(X, 0, torch.arange(4).repeat(5, 1).T.contiguous(), Y), (X, 0, INDEX, 2.5)],
    "scatter_add": [(X, 0, INDEX, Y)],
    "flip": [(X, [0, 1])],
    "Tensor.flip": [(X, 0), (X, 0, 1)],
    "roll": [(X, 2, 1), (X, [1, 2], [0, 1])],
    "repeat": [(X, 2, 3), (X, [2, 1, 3])],
    "tril": [(X,), (X, 1)],
    "triu": [(X,), (X, {"diagonal": -1})],
    "pad": [(X, [1, 2]), (X, [1, 2, 0, 3], "constant", 1.5)],
    "channel_shuffle": [(t(2, 6, 3, 3), 3)],
    "layer_norm": [(X, [5]), (X, [5], t(5), t(5, seed=1), 1e-3)],
    **{
        name: [(X, Y), (X, Y, {"reduction": "none"}), (X, Y, {"reduction": "sum"})]
        for name in ("mse_loss", "l1_loss", "smooth_l1_loss")
    },
    "kl_div": [(torch.log(UNIT), UNIT, {"reduction": "sum"}), (X, Y, {"reduction": "none", "log_target": True})],
    "soft_margin_loss": [(X, torch.sign(Y))],
    "binary_cross_entropy_with_logits": [(X, UNIT), (X, UNIT, UNIT, {"pos_weight": APART, "reduction": "none"})],
    "adaptive_avg_pool2d": [(t(1, 2, 6, 8), [3, 4])],
}  # fmt: skip


def calls() -> Iterator[Call]:
    """Every API of the table with every form of its arguments here; dunders that Tensor has not are left out."""
    for api in table().lines:
        backward = api.endswith(":backward")
        name = api.removesuffix(":backward")
        tail = name.partition(".")[2]
        try:
            function = OWN.get(name) or _function(name)
        except AttributeError:
            continue
        for args in MORE.get(name, MORE.get(tail, [(ONE.get(tail, X),)])):
            kwargs = args[-1] if isinstance(args[-1], dict) else {}
            plain = args[: len(args) - bool(kwargs)]
            fits = name.startswith(("Torch.", "Functional.", "NPU.")) or isinstance(plain[0], torch.Tensor)
            if fits:
                yield Call(name, function, plain, kwargs, backward)
