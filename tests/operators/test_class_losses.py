"""Losses whose target names classes: by hand, then against PyTorch over all attributes."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from family_calls import both, call_of, ordinary
from operator_calls import Both, run, tensor

from ascend_opcli.operators.documents import catalogued
from ascend_opcli.operators.families.losses.classes import OPERATORS
from ascend_opcli.reference.fitting import UndefinedResult

try:
    import torch

    F = torch.nn.functional
except ImportError:
    torch = F = None

needs_torch = pytest.mark.skipif(torch is None, reason="PyTorch is the oracle")
ALL = {op.name.removeprefix("aclnn"): op for op in OPERATORS}
NAN, INF = float("nan"), float("inf")


def called(name: str, **given: Any) -> Both:
    return run(ALL[name], **given)


def golden_of(name: str, **given: Any) -> dict[str, Any]:
    return {n: np.asarray(v) for n, v in called(name, **given).golden.outputs.items()}


def f32(data: Any) -> Any:
    return tensor("float32", data)


def i64(data: Any, shape: Any = None) -> Any:
    return tensor("int64", data, shape)


@pytest.mark.parametrize("name", ALL)
def test_every_operator_is_the_catalogs_and_has_its_inferred_shape(name: str) -> None:
    operator = ALL[name]
    assert operator.signature == catalogued.entry(operator.name).signature
    assert operator.summary
    call = call_of(operator, ordinary(operator))
    outputs, host = both(operator, call)
    for out, made in outputs.items():
        assert made.shape == call.outputs[out].shape == host[out].shape
        np.testing.assert_allclose(host[out].astype(np.float64), made, rtol=1e-5, atol=1e-6)


# --- by hand --------------------------------------------------------------------------------------------------

ROWS = [[-1.0, -2, -3], [-4, -5, -6]]
NLL: dict[str, Any] = {"self": f32(ROWS), "weight": f32([1.0, 10, 100]), "ignoreIndex": -100}


def test_a_likelihood_by_hand() -> None:
    given = {**NLL, "target": i64([0, 2])}
    assert golden_of("NLLLoss", **given, reduction=2)["out"].tolist() == [601]
    made = golden_of("NLLLoss", **given, reduction=1)
    assert (made["out"].tolist(), made["totalWeightOut"].tolist()) == ([601 / 101], [101])
    one = golden_of("NLLLoss", **{**NLL, "self": f32([-1.0, -2, -3])}, target=i64([1], ()), reduction=0)
    assert one["out"].tolist() == [20]


def test_the_weight_of_an_unreduced_likelihood_is_not_judged() -> None:
    made = called("NLLLoss", **NLL, target=i64([0, 2]), reduction=0)
    assert {n: v.tolist() for n, v in made.golden.outputs.items()} == {"out": [1, 600]}
    assert made.host["totalWeightOut"].shape == (1,)


def test_what_is_ignored_may_hold_anything() -> None:
    given = {**NLL, "self": f32([[NAN, INF, NAN], [-4, -5, -6]]), "target": i64([-100, 2])}
    assert golden_of("NLLLoss", **given, reduction=0)["out"].tolist() == [0, 600]
    assert golden_of("NLLLoss", **given, reduction=1)["out"].tolist() == [6]


def test_a_likelihoods_slope_by_hand() -> None:
    given = {**NLL, "target": i64([0, 2]), "totalWeight": f32([2.0])}
    slope = golden_of("NLLLossBackward", **given, gradOutput=f32([3.0]), reduction=1)["out"]
    assert slope.tolist() == [[-1.5, 0, 0], [0, 0, -150]]
    each = golden_of("NLLLossBackward", **given, gradOutput=f32([3.0, 4]), reduction=0)["out"]
    assert each.tolist() == [[-3, 0, 0], [0, 0, -400]]


@pytest.mark.parametrize(
    ("name", "given", "why"),
    [
        ("NLLLoss", {"target": i64([0, 3]), "reduction": 1}, "names no class"),
        ("NLLLoss", {"target": i64([0, -1]), "reduction": 1}, "names no class"),
        ("NLLLoss", {"target": i64([0, 1, 2]), "reduction": 1}, "3 targets"),
        ("NLLLoss", {"target": i64([0, 1]), "weight": f32([1.0]), "reduction": 1}, "1 weights"),
        ("NLLLoss", {"target": i64([-100, -100]), "reduction": 1}, "no weight"),
        ("NLLLoss", {"target": i64([0, 1]), "reduction": 5}, "reduction 5"),
        (
            "NLLLossBackward",
            {"target": i64([0, 1]), "reduction": 1, "totalWeight": f32([1.0]), "gradOutput": f32([1.0, 2])},
            "2 slopes",
        ),
        (
            "NLLLossBackward",
            {"target": i64([0, 1]), "reduction": 1, "totalWeight": f32([0.0]), "gradOutput": f32([1.0])},
            "no weight",
        ),
    ],
)
def test_a_likelihood_that_is_not_defined(name: str, given: dict[str, Any], why: str) -> None:
    with pytest.raises(UndefinedResult, match=why):
        called(name, **{**NLL, **given})


CROSS: dict[str, Any] = {"input": f32([[0.0, 0], [1, 0]]), "weightOptional": None, "returnZloss": False,
                         "labelSmoothing": 0.0, "lseSquareScaleForZloss": 0.0}  # fmt: skip


@pytest.mark.parametrize(
    ("target", "ignored", "word", "wanted"),
    [
        ([0, 0], -100, "none", [0.6931471805599453, 0.3132616875182228]),
        ([0, 0], -100, None, [0.5032044340390841]),
        ([0, 0], 0, "sum", [0]),
        ([1, 0], 0, "mean", [0.6931471805599453]),
    ],
)
def test_a_cross_entropy_by_hand(target: Any, ignored: int, word: Any, wanted: Any) -> None:
    from ascend_opcli.model import Attribute

    word = word if word is None else Attribute(word)
    made = golden_of(
        "CrossEntropyLoss", **CROSS, target=i64(target), reductionOptional=word, ignoreIndex=ignored
    )
    np.testing.assert_allclose(made["lossOut"], wanted, rtol=1e-15)
    assert set(made) == {"lossOut", "logProbOut"}  # the others are of a loss that is not supported yet


def test_a_cross_entropy_ignores_nothing_below_0() -> None:
    with pytest.raises(UndefinedResult, match="names no class"):
        called("CrossEntropyLoss", **CROSS, target=i64([0, -100]), reductionOptional=None, ignoreIndex=-100)
    with pytest.raises(UndefinedResult, match="reduction 'all'"):
        called("CrossEntropyLoss", **CROSS, target=i64([0, 0]), reductionOptional="all", ignoreIndex=-100)


MARGIN: dict[str, Any] = {"self": f32([[0.1, 0.2, 0.4, 0.8]]), "reduction": 1}


def test_a_multilabel_margin_is_pytorchs_documented_example() -> None:
    made = golden_of("MultilabelMarginLoss", **MARGIN, target=i64([[3, 0, -1, 1]]))
    np.testing.assert_allclose(made["out"], 0.85, rtol=1e-7)
    assert made["isTarget"].tolist() == [[1, 0, 0, 1]]


def test_a_multilabel_margin_that_is_not_defined() -> None:
    for target, why in (
        ([[3, 3, -1, 0]], "repeated"),
        ([[4, -1, 0, 0]], "names no class"),
        ([[-2, 0, 0, 0]], "no"),
    ):
        with pytest.raises(UndefinedResult, match=why):
            called("MultilabelMarginLoss", **MARGIN, target=i64(target))


# --- against PyTorch ------------------------------------------------------------------------------------------


def drawn(*shape: int, seed: int = 3) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


def double(array: Any) -> Any:
    return torch.from_numpy(np.asarray(array)).double()


def close(made: Any, wanted: Any) -> None:
    np.testing.assert_allclose(
        made, np.broadcast_to(wanted.detach().numpy(), made.shape), rtol=1e-12, atol=1e-14
    )


WORDS = ("none", "mean", "sum")


@needs_torch
@pytest.mark.parametrize(
    ("suffix", "shape"), [("", (7, 4)), ("", (4,)), ("2d", (2, 4, 3, 5)), ("2d", (1, 4, 1, 1))]
)
@pytest.mark.parametrize("reduction", range(3))
@pytest.mark.parametrize("word", ["int64", "int32", "uint8"])
def test_likelihoods_against_torch(suffix: str, shape: Any, reduction: int, word: str) -> None:
    x, weight = drawn(*shape), np.abs(drawn(4, seed=5)) + np.float32(0.1)
    samples = shape[:1] + shape[2:] if len(shape) > 1 else ()
    labels = np.random.default_rng(4).integers(0, 4, samples)
    ignored = 2 if len(shape) > 1 and shape[0] > 1 else -100
    given = {"self": f32(x), "target": tensor(word, labels), "weight": f32(weight), "reduction": reduction}
    made = golden_of(f"NLLLoss{suffix}", **given, ignoreIndex=ignored)
    own = double(x).requires_grad_()
    exact = {"weight": double(weight), "reduction": WORDS[reduction], "ignore_index": ignored}
    loss = F.nll_loss(own, torch.from_numpy(labels.astype(np.int64)), **exact)
    close(made["out"], loss)
    total = made.get("totalWeightOut", np.ones(1))
    grad = drawn(*(samples if reduction == 0 else (1,)), seed=8)
    (slope,) = torch.autograd.grad(loss, own, double(grad).reshape(loss.shape))
    back = golden_of(
        f"NLLLoss{suffix}Backward", **given, ignoreIndex=ignored, gradOutput=f32(grad),
        totalWeight=tensor("float64", total),
    )  # fmt: skip
    close(back["out"], slope)


@needs_torch
@pytest.mark.parametrize(
    ("word", "smoothing", "weighted", "ignored"),
    [*itertools.product(WORDS, (0.0, 0.3), (False, True), (-100, 1))],
)
def test_cross_entropies_against_torch(word: str, smoothing: float, weighted: bool, ignored: int) -> None:
    x, labels = drawn(9, 5), np.random.default_rng(4).integers(0, 5, 9)
    weight = np.abs(drawn(5, seed=5)) + np.float32(0.1) if weighted else None
    kept = f32(weight) if weighted else None
    made = golden_of(
        "CrossEntropyLoss", input=f32(x), target=i64(labels), weightOptional=kept, reductionOptional=word,
        ignoreIndex=ignored, labelSmoothing=smoothing, lseSquareScaleForZloss=0.0, returnZloss=False,
    )  # fmt: skip
    own = double(x).requires_grad_()
    loss = F.cross_entropy(
        own, torch.from_numpy(labels), double(weight) if weighted else None, ignore_index=ignored,
        reduction=word, label_smoothing=float(np.float32(smoothing)),
    )  # fmt: skip
    close(made["lossOut"], loss)
    close(made["logProbOut"], torch.log_softmax(own, 1))
    if smoothing:
        return
    grad = drawn(*(9,) if word == "none" else (1,), seed=8)
    (slope,) = torch.autograd.grad(loss, own, double(grad).reshape(loss.shape))
    back = golden_of(
        "CrossEntropyLossGrad", gradLoss=f32(grad), logProb=tensor("float64", made["logProbOut"]),
        target=i64(labels), weightOptional=kept, gradZlossOptional=None, lseForZlossOptional=None,
        reductionOptional=word, ignoreIndex=ignored, labelSmoothing=0.0, lseSquareScaleForZloss=0.0,
    )  # fmt: skip
    close(back["out"], slope)


@needs_torch
@pytest.mark.parametrize("reduction", range(3))
@pytest.mark.parametrize("shape", [(6,), (5, 6), (1, 6)])
def test_multilabel_margins_against_torch(shape: Any, reduction: int) -> None:
    draw, rows = np.random.default_rng(6), []
    for _ in range(int(np.prod(shape[:-1]))):
        row = draw.permutation(6)
        row[draw.integers(0, 6)] = -1
        rows.append(row)
    x, target = drawn(*shape), np.array(rows).reshape(shape)
    made = golden_of("MultilabelMarginLoss", self=f32(x), target=i64(target), reduction=reduction)
    wanted, marked = torch.ops.aten.multilabel_margin_loss_forward(
        double(x), torch.from_numpy(target), reduction
    )
    close(made["out"], wanted)
    close(made["isTarget"], marked)
