"""Steps of optimisers: Adam and its kin, Adadelta, FTRL, stochastic gradient descent.

Formulas are those of the documents, which are PyTorch's and TensorFlow's; where a kernel of record does otherwise, it
counts and the document is named.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ascend_opcli.model import Generator, Shape
from ascend_opcli.operators.declare import Divergence, Undefined, declare, uniform


def _one(values: Any) -> Any:
    """The number that a tensor of one element holds."""
    if values.size != 1:
        raise Undefined(f"{values.size} elements where one is read")
    return values.reshape(-1)[0]


def _floating(*tensors: Any) -> None:
    if any(t.dtype.kind != "f" for t in tensors):
        raise Undefined("a step over whole numbers, whose rounding the documents do not give")


def _moments(m: Any, v: Any, grad: Any, beta1: Any, beta2: Any) -> tuple[Any, Any]:
    _floating(m, v, grad)
    return beta1 * m + (1 - beta1) * grad, beta2 * v + (1 - beta2) * grad * grad


def _adam_w(
    var: Any, m: Any, v: Any, left1: Any, left2: Any, lr: Any, decay: Any, eps: Any, largest: Any
) -> tuple[Any, Any]:
    """The step of AdamW, and the largest second moment; ``left`` are 1 - beta^t."""
    most = v if largest is None else np.maximum(largest, v)
    pull = m / left1 / (np.sqrt(most / left2) + eps)
    return var - lr * pull - lr * decay * var, most


def _apply_adam_w(
    var: Any, m: Any, v: Any, power1: Any, power2: Any, lr: Any, decay: Any, beta1: Any, beta2: Any, eps: Any,
    grad: Any, largest: Any, amsgrad: Any = False, maximize: Any = False,
) -> tuple[Any, Any, Any]:  # fmt: skip
    """The powers are those of the step before. With amsgrad the documents name two things v, so that vRef is open."""
    lr, decay, beta1, beta2, eps = (_one(x) for x in (lr, decay, beta1, beta2, eps))
    if amsgrad and largest is None:
        raise Undefined("amsgrad without maxGradNormOptional")
    m, v = _moments(m, v, -grad if maximize else grad, beta1, beta2)
    left = 1 - _one(power1) * beta1, 1 - _one(power2) * beta2
    made, _ = _adam_w(var, m, v, *left, lr, decay, eps, largest if amsgrad else None)
    return made, m, None if amsgrad else v


def _left(step: Any, beta1: Any, beta2: Any) -> tuple[Any, Any]:
    return 1 - beta1**step, 1 - beta2**step


def _apply_adam_w_v2(
    var: Any, m: Any, v: Any, largest: Any, grad: Any, step: Any, lr: Any = 0.1, beta1: Any = 0.1, beta2: Any = 0.1,
    decay: Any = 0.1, eps: Any = 1e-8, amsgrad: Any = False, maximize: Any = False,
) -> tuple[Any, Any, Any, Any]:  # fmt: skip
    if amsgrad and largest is None:
        raise Undefined("amsgrad without maxGradNormOptionalRef")
    m, v = _moments(m, v, -grad if maximize else grad, beta1, beta2)
    left = _left(var.dtype.type(_one(step)) + 1, beta1, beta2)
    made, most = _adam_w(var, m, v, *left, lr, decay, eps, largest if amsgrad else None)
    return made, m, v, most if amsgrad else largest


def _fused_adam_w(
    params: Any, grads: Any, firsts: Any, seconds: Any, most: Any, steps: Any, scale: Any, found: Any, lr: Any = 1e-3,
    beta1: Any = 0.9, beta2: Any = 0.999, decay: Any = 0.0, eps: Any = 1e-8, amsgrad: Any = False,
    maximize: Any = False,
) -> tuple[Any, Any, Any, Any]:  # fmt: skip
    """A step of each member of the lists; foundInf 1 leaves everything as it is."""
    if found is not None and _one(found) == 1:
        return params, firsts, seconds, most
    if amsgrad and most is None:
        raise Undefined("amsgrad without maxExpAvgSqsRef")
    made: list[tuple[Any, ...]] = []
    for i, (var, grad) in enumerate(zip(params, grads, strict=True)):
        own = grad if scale is None else grad / _one(scale)
        largest = None if most is None else most[i]
        made.append(
            _apply_adam_w_v2(
                var,
                firsts[i],
                seconds[i],
                largest,
                own,
                steps[i],
                lr,
                beta1,
                beta2,
                decay,
                eps,
                amsgrad,
                maximize,
            )
        )
    var, m, v, kept = (tuple(member[k] for member in made) for k in range(4))
    return var, m, v, None if most is None else kept


def _ema_adam(
    grad: Any, var: Any, m: Any, v: Any, s: Any, step: Any, lr: Any = 1e-3, keep: Any = 0.9999, beta1: Any = 0.9,
    beta2: Any = 0.999, eps: Any = 1e-8, mode: Any = 1, correct: Any = True, decay: Any = 0.0,
) -> tuple[Any, Any, Any, Any]:  # fmt: skip
    """Mode 0 adds the decay to the slope, mode 1 to the step; s is the running mean of the parameters."""
    if mode not in (0, 1):
        raise Undefined(f"mode {mode}")
    m, v = _moments(m, v, grad + decay * var if mode == 0 else grad, beta1, beta2)
    left1, left2 = _left(var.dtype.type(_one(step)), beta1, beta2) if correct else (1, 1)
    pull = m / left1 / (np.sqrt(v / left2) + eps)
    made = var - lr * (pull + decay * var if mode == 1 else pull)
    return made, m, v, keep * s + (1 - keep) * made


def _adam_d(
    var: Any, m: Any, v: Any, power1: Any, power2: Any, lr: Any, beta1: Any, beta2: Any, eps: Any, grad: Any,
    _locking: Any = False, nesterov: Any = False,
) -> tuple[Any, Any, Any]:  # fmt: skip
    """The powers are those of this step."""
    beta1, beta2 = _one(beta1), _one(beta2)
    m, v = _moments(m, v, grad, beta1, beta2)
    rate = _one(lr) * np.sqrt(1 - _one(power2)) / (1 - _one(power1))
    ahead = m * beta1 + (1 - beta1) * grad if nesterov else m
    return var - rate * ahead / (_one(eps) + np.sqrt(v)), m, v


def _adam(*values: Any) -> Any:
    return _adam_d(*values)[0]


def _adamax(
    var: Any, m: Any, v: Any, power: Any, lr: Any, beta1: Any, beta2: Any, eps: Any, grad: Any
) -> tuple[Any, Any, Any]:
    _floating(var, m, v, grad)
    m, v = beta1 * m + (1 - beta1) * grad, np.maximum(beta2 * v, np.abs(grad))
    return var - lr / (1 - power) * m / (v + eps), m, v


def _adadelta(
    var: Any, accum: Any, updates: Any, lr: Any, rho: Any, eps: Any, grad: Any
) -> tuple[Any, Any, Any]:
    _floating(var, accum, updates, grad)
    accum = rho * accum + (1 - rho) * grad * grad
    pull = np.sqrt(updates + eps) / np.sqrt(accum + eps) * grad
    return var - lr * pull, accum, rho * updates + (1 - rho) * pull * pull


def _ftrl(
    var: Any, accum: Any, linear: Any, grad: Any, lr: Any, l1: Any, l2: Any, power: Any, _locking: Any = False
) -> tuple[Any, Any, Any]:
    _floating(var, accum, linear, grad, lr, l1, l2, power)
    lr, l1, l2, power = (_one(x) for x in (lr, l1, l2, power))
    new = accum + grad * grad
    linear = linear + grad - (new**-power - accum**-power) / lr * var
    made = (np.sign(linear) * l1 - linear) / (new**-power / lr + 2 * l2)
    return np.where(np.abs(linear) > l1, made, 0).astype(var.dtype), new, linear


def _sgd(
    params: Any, grads: Any, buffers: Any, scale: Any, decay: Any = 0.0, momentum: Any = 0.0, lr: Any = 1e-3,
    dampening: Any = 0.0, nesterov: Any = False, maximize: Any = False, first: Any = True,
) -> tuple[Any, Any, Any]:  # fmt: skip
    """A step of each member of the lists; grads come back scaled."""
    if not buffers and (nesterov or momentum):
        raise Undefined("momentum without its buffers")
    made, kept, scaled = [], [], []
    for i, (var, grad) in enumerate(zip(params, grads, strict=True)):
        own = grad if scale is None else grad / _one(scale)
        scaled.append(own)
        own = (-own if maximize else own) + decay * var
        if buffers:
            new = own if first else momentum * buffers[i] + (1 - dampening) * own
            kept.append(new)
            own = own + momentum * new if nesterov else new
        made.append(var - lr * own)
    return tuple(made), tuple(scaled), tuple(kept) if buffers else None


# --- declarations ---------------------------------------------------------------------------------------------


def _scalar(dtype: str, _shape: Shape) -> tuple[str, Shape]:
    return dtype, (1,)


def _scalars(*names: str) -> dict[str, Any]:
    return dict.fromkeys(names, _scalar)


def _three(var: Any, *_rest: Any) -> list[Any]:
    return [(var.dtype, var.shape)] * 3


def _floats(*names: str) -> dict[str, str]:
    """What the prototype takes as a C float."""
    return dict.fromkeys(names, "float32")


_STEP = Generator("integers", (1, 9))
_POSITIVE, _SHARE = uniform(0.1, 1.0), uniform(0.1, 0.9)
_RATES = _floats("lr", "beta1", "beta2", "weightDecay", "eps")
_COUNTED = (
    Divergence("the kernel takes t for one more than step; the document takes it for step itself"),
    Divergence(
        "with amsgrad the kernel keeps the largest v before its correction; the document that after it"
    ),
)
_POWERS = ("beta1Power", "beta2Power")
_W_RATES = (*_POWERS, "lr", "weightDecay", "beta1", "beta2", "eps")

OPERATORS = (
    declare("ApplyAdamW", _apply_adam_w,
            "varRef, mRef, vRef = a step of AdamW: var - lr m' / (sqrt(v') + eps) - lr weightDecay var", None,
            short={**_scalars(*_W_RATES), "maxGradNormOptional": lambda *_: None},
            data={"vRef": _POSITIVE, **dict.fromkeys(_W_RATES, _SHARE)}),
    declare("ApplyAdamWV2", _apply_adam_w_v2,
            "varRef, mRef, vRef = a step of AdamW: var - lr m' / (sqrt(v') + eps) - lr weightDecay var", None,
            short={"step": lambda _dtype, _shape: ("int64", (1,)), "maxGradNormOptionalRef": lambda *_: None},
            data={"vRef": _POSITIVE, "step": _STEP}, attribute_dtypes=_RATES, divergences=_COUNTED),
    declare("FusedAdamw", _fused_adam_w, "paramsRef, expAvgsRef, expAvgSqsRef = a step of AdamW of every member", None,
            short={"stateSteps": lambda _dtype, _shape: ("float32", (1,)), "maxExpAvgSqsRef": lambda *_: None,
                   "gradScaleOptional": lambda *_: None, "foundInfOptional": lambda *_: None},
            data={"expAvgSqsRef": _POSITIVE, "stateSteps": _STEP}, divergences=_COUNTED),
    declare("ApplyFusedEmaAdam", _ema_adam, "varRef, mRef, vRef, sRef = a step of Adam, and the mean of var", None,
            short={"step": lambda _dtype, _shape: ("int64", (1,))}, data={"vRef": _POSITIVE, "step": _STEP}),
    declare("ApplyAdam", _adam,
            "varRef = varRef - lr sqrt(1 - beta2Power) / (1 - beta1Power) m' / (epsilon + sqrt(v'))", None,
            short=_scalars(*_POWERS, "lr", "beta1", "beta2", "epsilon"),
            data={"v": _POSITIVE, **dict.fromkeys((*_POWERS, "lr", "beta1", "beta2", "epsilon"), _SHARE)},
            sample_attributes={"useLocking": False, "useNesterov": False}),
    declare("ApplyAdamD", _adam_d,
            "varOut, mOut, vOut = var - lr sqrt(1 - beta2Power) / (1 - beta1Power) m' / (epsilon + sqrt(v')), m', v'",
            _three, short=_scalars(*_POWERS, "lr", "beta1", "beta2", "epsilon"),
            data={"v": _POSITIVE, **dict.fromkeys((*_POWERS, "lr", "beta1", "beta2", "epsilon"), _SHARE)}),
    declare("ApplyAdamax", _adamax, "varOut, mOut, vOut = var - lr / (1 - beta1Power) m' / (v' + epsilon), m',"
            " v' = max(beta2 v, |grad|)", _three, data={"v": _POSITIVE},
            sample_attributes={"beta1Power": 0.5, "lr": 0.1, "beta1": 0.9, "beta2": 0.99, "epsilon": 1e-4}),
    declare("ApplyAdadelta", _adadelta, "varOut, accumOut, accumUpdateOut = a step of Adadelta", _three,
            data=dict.fromkeys(("accum", "accumUpdate"), _POSITIVE),
            sample_attributes={"lr": 0.1, "rho": 0.9, "epsilon": 1e-4}),
    declare("ApplyFtrl", _ftrl, "varRef, accumRef, linearRef = a step of FTRL-proximal", None,
            short=_scalars("lr", "l1", "l2", "lrPower"),
            data={"accumRef": _POSITIVE, **dict.fromkeys(("lr", "l1", "l2"), _SHARE), "lrPower": uniform(-0.9, -0.1)}),
    declare("FusedSgd", _sgd, "paramsRef, gradsRef, momentumBufferListOptionalRef = a step of every member", None,
            short={"gradScaleOptional": lambda *_: None},
            attribute_dtypes=_floats("weightDecay", "momentum", "lr", "dampening")),
)  # fmt: skip
