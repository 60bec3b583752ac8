"""Steps of optimisers: against torch.optim after several steps, and by hand where it has none."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from family_calls import both, call_of, flat, ordinary
from operator_calls import Both, run, tensor

from ascend_opcli.operators.documents import catalogued
from ascend_opcli.operators.families.optimisers import OPERATORS
from ascend_opcli.reference.fitting import UndefinedResult

try:
    import torch
except ImportError:
    torch = None

needs_torch = pytest.mark.skipif(torch is None, reason="PyTorch is the oracle")
ALL = {op.name.removeprefix("aclnn"): op for op in OPERATORS}


def called(name: str, **given: Any) -> Both:
    return run(ALL[name], **given)


def golden_of(name: str, **given: Any) -> dict[str, Any]:
    return dict(called(name, **given).golden.outputs)


def f32(data: Any) -> Any:
    return tensor("float32", data)


def f64(data: Any) -> Any:
    """Tensors of a chain of steps stay as exact as torch keeps them."""
    return tensor("float64", data)


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
@pytest.mark.parametrize("name", ALL)
def test_every_operator_is_the_catalogs_and_has_its_inferred_shape(name: str, dtype: str) -> None:
    operator = ALL[name]
    assert operator.signature == catalogued.entry(operator.name).signature
    assert operator.summary
    call = call_of(operator, ordinary(operator, dtype, members=1))
    outputs, host = both(operator, call)
    near = {"float32": 1e-4, "float16": 4e-3, "bfloat16": 3e-2}[dtype]
    for out, made in outputs.items():
        np.testing.assert_allclose(flat(host[out]), flat(made), rtol=near, atol=near)


# --- against PyTorch ------------------------------------------------------------------------------------------


def drawn(seed: int) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(3, 5)).astype(np.float32)


def stepped(make: Any, steps: int, **more: Any) -> tuple[np.ndarray, Any]:
    """What torch.optim makes of the parameters, and its state."""
    own = torch.nn.Parameter(torch.from_numpy(drawn(0)).double())
    optimiser = make([own], **more)
    for i in range(steps):
        own.grad = torch.from_numpy(drawn(i + 1)).double()
        optimiser.step()
    return own.detach().numpy(), optimiser.state[own]


def held(value: float) -> float:
    """An attribute as the operator holds it."""
    return float(np.float32(value))


RATES = {"lr": held(0.01), "weight_decay": held(0.1), "eps": held(1e-6)}
BETAS = (held(0.9), held(0.99))
FLAGS = [*itertools.product((False, True), (False, True))]


@needs_torch
@pytest.mark.parametrize(("amsgrad", "maximize"), FLAGS)
@pytest.mark.parametrize("name", ["ApplyAdamW", "ApplyAdamWV2", "FusedAdamw"])
def test_adam_w_against_torch(name: str, amsgrad: bool, maximize: bool) -> None:
    wanted, state = stepped(torch.optim.AdamW, 3, betas=BETAS, amsgrad=amsgrad, maximize=maximize, **RATES)
    var, m, v, most = drawn(0), *(np.zeros((3, 5)) for _ in range(3))
    beta1, beta2 = BETAS
    rates = {"lr": 0.01, "weightDecay": 0.1, "eps": 1e-6, "beta1": 0.9, "beta2": 0.99}
    more = {"amsgrad": amsgrad, "maximize": maximize}
    for t in range(3):
        if name == "ApplyAdamW":
            numbers = {**{n: f64([held(r)]) for n, r in rates.items()}, "beta1Power": f64([beta1**t])}
            made = golden_of(name, varRef=f64(var), mRef=f64(m), vRef=f64(v), grad=f64(drawn(t + 1)), **numbers,
                             beta2Power=f64([beta2**t]), maxGradNormOptional=f64(most), **more)  # fmt: skip
            assert ("vRef" in made) is not amsgrad
            # What the documents leave open is worked out here for the next step.
            v = beta2 * v + (1 - beta2) * drawn(t + 1).astype(np.float64) ** 2
            most = np.maximum(most, v)
            var, m = made["varRef"], made["mRef"]
        elif name == "ApplyAdamWV2":
            made = golden_of(name, varRef=f64(var), mRef=f64(m), vRef=f64(v), maxGradNormOptionalRef=f64(most),
                             grad=f64(drawn(t + 1)), step=tensor("int64", [t]), **rates, **more)  # fmt: skip
            var, m, v, most = made.values()
        else:
            made = golden_of(name, paramsRef=(f64(var),), grads=(f64(drawn(t + 1) * 4),), expAvgsRef=(f64(m),),
                             expAvgSqsRef=(f64(v),), maxExpAvgSqsRef=(f64(most),), stateSteps=(f32([t]),),
                             gradScaleOptional=f32([4.0]), foundInfOptional=f32([0.0]), **rates, **more)  # fmt: skip
            var, m, v, most = (x[0] for x in made.values())
    np.testing.assert_allclose(var, wanted, rtol=1e-9)
    np.testing.assert_allclose(m, state["exp_avg"].numpy(), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(v, state["exp_avg_sq"].numpy(), rtol=1e-9)
    if amsgrad:
        np.testing.assert_allclose(most, state["max_exp_avg_sq"].numpy(), rtol=1e-9)


@needs_torch
@pytest.mark.parametrize("mode", [0, 1])
def test_adam_with_a_running_mean_against_torch(mode: int) -> None:
    make = torch.optim.AdamW if mode else torch.optim.Adam
    wanted, _ = stepped(make, 3, betas=BETAS, **RATES)
    var, m, v, s = drawn(0), *(np.zeros((3, 5)) for _ in range(3))
    for t in range(3):
        made = golden_of("ApplyFusedEmaAdam", grad=f64(drawn(t + 1)), varRef=f64(var), mRef=f64(m), vRef=f64(v),
                         sRef=f64(s), step=tensor("int64", [t + 1]), lr=0.01, emaDecay=0.75, beta1=0.9, beta2=0.99,
                         eps=1e-6, mode=mode, biasCorrection=True, weightDecay=0.1)  # fmt: skip
        before, (var, m, v, s) = s, made.values()
        np.testing.assert_allclose(s, 0.75 * before + 0.25 * var, rtol=1e-12)
    np.testing.assert_allclose(var, wanted, rtol=1e-9)


@needs_torch
@pytest.mark.parametrize("nesterov", [False, True])
def test_adam_against_torch(nesterov: bool) -> None:
    """TensorFlow's epsilon stands outside the correction: with none at all the two are the same."""
    wanted, _ = stepped(torch.optim.Adam, 3, lr=0.01, betas=(0.9, 0.99), eps=0.0)
    var, m, v = drawn(0), *(np.zeros((3, 5)) for _ in range(2))
    for t in range(1, 4):
        given = {n: f64([x]) for n, x in (("lr", 0.01), ("beta1", 0.9), ("beta2", 0.99), ("epsilon", 0.0))}
        given |= {"beta1Power": f64([0.9**t]), "beta2Power": f64([0.99**t]), "grad": f64(drawn(t))}
        more = {"useLocking": False, "useNesterov": nesterov}
        made = golden_of("ApplyAdamD", var=f64(var), m=f64(m), v=f64(v), **given, **more)
        alone = golden_of("ApplyAdam", varRef=f64(var), m=f64(m), v=f64(v), **given, **more)
        np.testing.assert_array_equal(alone["varRef"], made["varOut"])
        if nesterov:
            rate = 0.01 * np.sqrt(1 - 0.99**t) / (1 - 0.9**t)
            ahead = 0.9 * made["mOut"] + (1 - 0.9) * drawn(t).astype(np.float64)
            np.testing.assert_allclose(made["varOut"], var - rate * ahead / np.sqrt(made["vOut"]), rtol=1e-12)
            return
        var, m, v = made.values()
    np.testing.assert_allclose(var, wanted, rtol=1e-9)


@needs_torch
def test_adamax_against_torch() -> None:
    wanted, _ = stepped(torch.optim.Adamax, 3, lr=0.01, betas=BETAS, eps=0.0)
    var, m, v = drawn(0), *(np.zeros((3, 5)) for _ in range(2))
    for t in range(1, 4):
        made = golden_of("ApplyAdamax", var=f64(var), m=f64(m), v=f64(v), beta1Power=BETAS[0] ** t, lr=0.01,
                         beta1=BETAS[0], beta2=BETAS[1], epsilon=0.0, grad=f64(drawn(t)))  # fmt: skip
        var, m, v = made.values()
    np.testing.assert_allclose(var, wanted, rtol=1e-6)


@needs_torch
def test_adadelta_against_torch() -> None:
    wanted, state = stepped(torch.optim.Adadelta, 3, lr=0.5, rho=0.75, eps=2.0**-10)
    var, a, u = drawn(0), *(np.zeros((3, 5)) for _ in range(2))
    for t in range(1, 4):
        made = golden_of("ApplyAdadelta", var=f64(var), accum=f64(a), accumUpdate=f64(u), lr=0.5, rho=0.75,
                         epsilon=2.0**-10, grad=f64(drawn(t)))  # fmt: skip
        var, a, u = made.values()
    np.testing.assert_allclose(var, wanted, rtol=1e-12)
    np.testing.assert_allclose(u, state["acc_delta"].numpy(), rtol=1e-12)


@needs_torch
@pytest.mark.parametrize(("nesterov", "maximize"), FLAGS)
@pytest.mark.parametrize("momentum", [0.0, 0.75])
def test_descents_against_torch(momentum: float, nesterov: bool, maximize: bool) -> None:
    if nesterov and not momentum:
        return  # torch has none
    dampening = 0.0 if nesterov else 0.25
    wanted, _ = stepped(torch.optim.SGD, 3, lr=0.5, momentum=momentum, dampening=dampening, weight_decay=0.125,
                        nesterov=nesterov, maximize=maximize)  # fmt: skip
    var, buffer = drawn(0), np.full((3, 5), 99.0)
    for t in range(1, 4):
        made = golden_of("FusedSgd", paramsRef=(f64(var),), gradsRef=(f64(drawn(t) * 2),),
                         momentumBufferListOptionalRef=(f64(buffer),) if momentum else None,
                         gradScaleOptional=f32([2.0]), weightDecay=0.125, momentum=momentum, lr=0.5,
                         dampening=dampening, nesterov=nesterov, maximize=maximize, isFirstStep=t == 1)  # fmt: skip
        var = made["paramsRef"][0]
        np.testing.assert_array_equal(made["gradsRef"][0], drawn(t))
        buffer = made["momentumBufferListOptionalRef"][0] if momentum else buffer
    np.testing.assert_allclose(var, wanted, rtol=1e-12)


# --- by hand --------------------------------------------------------------------------------------------------


def test_ftrl_by_hand() -> None:
    """accum^0.5: 1 -> 2; linear 1 + 3^0.5 - (2 - 1) / 0.5 var; quadratic 2 / 0.5 + 2 l2."""
    given = {n: f64([x]) for n, x in (("lr", 0.5), ("l1", 1.0), ("l2", 0.5), ("lrPower", -0.5))}
    root = 3**0.5
    made = golden_of("ApplyFtrl", varRef=f64([0.5, 1.0]), accumRef=f64([1.0, 1]), linearRef=f64([1.0, 1 - root]),
                     grad=f64([root, root]), **given, useLocking=False)  # fmt: skip
    np.testing.assert_allclose(made["accumRef"], [4, 4], rtol=1e-15)
    np.testing.assert_allclose(made["linearRef"], [root, -1], rtol=1e-12)
    np.testing.assert_allclose(made["varRef"], [(1 - root) / 5, 0], atol=1e-12)


def test_what_was_found_infinite_changes_nothing() -> None:
    one = (f32([1.0, 2]),)
    made = golden_of("FusedAdamw", paramsRef=one, grads=one, expAvgsRef=one, expAvgSqsRef=one, maxExpAvgSqsRef=None,
                     stateSteps=(f32([3.0]),), gradScaleOptional=None, foundInfOptional=f32([1.0]))  # fmt: skip
    assert [m[0].tolist() for m in made.values()] == [[1, 2]] * 3


ADAM: dict[str, Any] = {n: f32([1.0]) for n in ("varRef", "mRef", "vRef", "grad")}


@pytest.mark.parametrize(
    ("name", "given", "why"),
    [
        ("ApplyAdamWV2", {**ADAM, "maxGradNormOptionalRef": None, "step": f32([1.0]), "amsgrad": True}, "amsgrad"),
        ("ApplyAdamWV2", {**ADAM, "maxGradNormOptionalRef": None, "step": f32([1.0, 2])}, "2 elements"),
        ("ApplyFusedEmaAdam", {**ADAM, "sRef": f32([1.0]), "step": tensor("int64", [1]), "mode": 2}, "mode 2"),
        (
            "FusedSgd",
            {
                "paramsRef": (f32([1.0]),), "gradsRef": (f32([1.0]),), "momentumBufferListOptionalRef": None,
                "gradScaleOptional": None, "momentum": 0.5,
            },
            "buffers",
        ),
        (
            "ApplyAdamax",
            {
                **{n: tensor("int32", [1]) for n in ("var", "m", "v", "grad")},
                **dict.fromkeys(("beta1Power", "lr", "beta1", "beta2", "epsilon"), 0.5),
            },
            "whole numbers",
        ),
    ],
)  # fmt: skip
def test_what_is_not_defined(name: str, given: dict[str, Any], why: str) -> None:
    with pytest.raises(UndefinedResult, match=why):
        called(name, **given)
