"""Draws whose parameters are tensors, draws of whole numbers and samples: any right draw passes, no wrong one does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from operator_calls import tensor
from test_joint_outputs import Called, needs_torch

from ascend_opcli.model import VerdictKind
from ascend_opcli.operators.catalog import find

try:
    import torch
except ImportError:
    torch = None

SHAPE = (64, 65)
SEEDS = {"seed": 3, "offset": 0}
TENSORS = {"seedTensor": tensor("int64", [3]), "offsetTensor": tensor("int64", [0]), "offset": 0}
MEANS = np.linspace(-50, 50, SHAPE[1])
STDS = np.linspace(0, 3, SHAPE[0])[:, None]
PROBS = np.random.default_rng(99).random(SHAPE)
PROBS[0] = 0
PROBS[1] = 1
Draw = Callable[[np.random.Generator], np.ndarray]


def inplace(name: str, dtype: str = "float32", **given: Any) -> Called:
    return Called(name, selfRef=tensor(dtype, np.zeros(SHAPE)), **given)


def normal(name: str, **given: Any) -> Called:
    return Called(name, **given, **SEEDS)


DRAWS: dict[str, tuple[Callable[[], Called], str, Draw]] = {
    "inplace_uniform_tensor": (
        lambda: inplace("inplace_uniform_tensor", **{"from": -2.0, "to": 3.0}, **TENSORS),
        "selfRef",
        lambda g: g.uniform(-2, 3, SHAPE),
    ),
    "inplace_normal_tensor": (
        lambda: inplace("inplace_normal_tensor", mean=1.0, std=2.0, **TENSORS),
        "selfRef",
        lambda g: g.normal(1, 2, SHAPE),
    ),
    "inplace_random": (
        lambda: inplace("inplace_random", **{"from": -7, "to": 20}, **SEEDS),
        "selfRef",
        lambda g: g.integers(-7, 20, SHAPE),
    ),
    "inplace_random of int8": (
        lambda: inplace("inplace_random_tensor", "int8", **{"from": -128, "to": 128}, **TENSORS),
        "selfRef",
        lambda g: g.integers(-128, 128, SHAPE),
    ),
    "inplace_random_without_from_to": (
        lambda: inplace("inplace_random_without_from_to", "float16", **SEEDS),
        "selfRef",
        lambda g: g.integers(0, 2049, SHAPE),
    ),
    "sim_thread_exponential": (
        lambda: inplace("sim_thread_exponential", **{"count": 64 * 65, "lambda": 2.0}, **SEEDS),
        "selfRef",
        lambda g: g.exponential(0.5, SHAPE),
    ),
    "normal_tensor_tensor": (
        lambda: normal("normal_tensor_tensor", mean=tensor("float32", MEANS), std=tensor("float32", STDS)),
        "out",
        lambda g: g.normal(MEANS, STDS, SHAPE),
    ),
    "normal_tensor_float": (
        lambda: normal("normal_tensor_float", mean=tensor("float32", np.broadcast_to(MEANS, SHAPE)), std=2.0),
        "out",
        lambda g: g.normal(MEANS, 2, SHAPE),
    ),
    "normal_float_tensor": (
        lambda: normal("normal_float_tensor", mean=3.0, std=tensor("float32", np.broadcast_to(STDS, SHAPE))),
        "out",
        lambda g: g.normal(3, STDS, SHAPE),
    ),
    "bernoulli_tensor": (
        lambda: Called(
            "bernoulli_tensor", self=tensor("float32", PROBS), prob=tensor("float32", PROBS), **SEEDS
        ),
        "out",
        lambda g: g.random(SHAPE) < PROBS,
    ),
    "inplace_bernoulli_tensor": (
        lambda: inplace("inplace_bernoulli_tensor", "int32", prob=tensor("float32", PROBS), **SEEDS),
        "selfRef",
        lambda g: g.random(SHAPE) < PROBS,
    ),
}


@pytest.mark.parametrize("name", DRAWS)
def test_draws_of_the_distribution_pass_and_others_fail(name: str) -> None:
    make, output, draw = DRAWS[name]
    called = make()
    assert called.word() is VerdictKind.PASS
    for seed in range(10):
        assert called.word(**{output: draw(np.random.default_rng(seed))}) is VerdictKind.PASS, seed
    right = draw(np.random.default_rng(11)).astype(np.float64)
    wrong = {
        "zeros": np.zeros(SHAPE),
        "the mean": np.broadcast_to(right.mean(), SHAPE),
        "half": np.where(np.arange(SHAPE[0])[:, None] < 32, right, 0),
        "shuffled among elements": np.random.default_rng(1).permutation(right.reshape(-1)).reshape(SHAPE),
        "another share": np.where(np.random.default_rng(2).random(SHAPE) < 0.3, right.max(), right),
    }
    if output == "selfRef" and "bernoulli" not in name:  # every element has the same distribution
        del wrong["shuffled among elements"]
    for what, made in wrong.items():
        assert called.word(**{output: made}) is VerdictKind.FAIL, what


@pytest.mark.parametrize("value", [0.5, 20.0, -8.0, np.nan])
def test_a_single_number_that_cannot_be_drawn_is_found(value: float) -> None:
    called, output, draw = DRAWS["inplace_random"][0](), "selfRef", DRAWS["inplace_random"][2]
    made = draw(np.random.default_rng(4)).astype(np.float32)
    made[5, 6] = value
    assert called.word(**{output: made}) is VerdictKind.FAIL


def test_where_there_is_no_deviation_the_draw_is_the_mean() -> None:
    make, output, draw = DRAWS["normal_tensor_tensor"]
    made = draw(np.random.default_rng(0))
    made[0, 40] += 1
    assert make().failed(**{output: made}) == {"out of no std"}


def test_bad_parameters_leave_their_own_elements_open() -> None:
    stds, probs = np.broadcast_to(STDS, SHAPE).copy(), PROBS.copy()
    stds[3, 3], probs[3, 3] = -1, np.nan
    normals = Called("normal_float_tensor", mean=0.0, std=tensor("float32", stds), **SEEDS)
    bits = Called("bernoulli_tensor", self=tensor("float32", PROBS), prob=tensor("float32", probs), **SEEDS)
    for called in (normals, bits):
        made = called.right["out"].copy()
        made[3, 3] = 77
        assert called.judged(out=made).unjudged == ("1 of 4,160 elements of out",)
        made[3, 4] = np.nan
        assert called.word(out=made) is VerdictKind.FAIL


# --- samples ----------------------------------------------------------------------------------------------------

WEIGHTS = np.array([[1.0, 2.0, 0.0, 5.0], [0.0, 3.0, 3.0, 1.0], [1.0, 1.0, 1.0, 1.0]])


def sampled(count: int, again: bool, weights: np.ndarray = WEIGHTS) -> Called:
    return Called(
        "multinomial", self=tensor("float32", weights), numsamples=count, replacement=again, **SEEDS
    )


def test_samples_with_replacement_follow_their_weights() -> None:
    called, p = sampled(2000, True), WEIGHTS / WEIGHTS.sum(1, keepdims=True)
    assert called.word() is VerdictKind.PASS
    for seed in range(10):
        g = np.random.default_rng(seed)
        assert called.word(out=np.stack([g.choice(4, 2000, p=row) for row in p])) is VerdictKind.PASS
    g = np.random.default_rng(0)
    for made in (
        g.integers(0, 4, (3, 2000)),
        np.stack([g.choice(4, 2000, p=row) for row in p[::-1]]),
        np.full((3, 2000), 3),
    ):
        assert called.word(out=made) is VerdictKind.FAIL
    for place, value in ((0, 2), (1, 4), (1, -1)):  # a weight of 0, and places that are none
        made = called.right["out"].copy()
        made[place, 7] = value
        assert "out" in called.failed(out=made)


def test_samples_without_replacement_are_each_there_once() -> None:
    called = sampled(3, False)
    assert called.word() is VerdictKind.PASS
    for made in ([[0, 1, 3], [1, 2, 3], [3, 1, 0]], [[3, 1, 0], [3, 2, 1], [0, 1, 2]]):
        assert called.word(out=np.array(made)) is VerdictKind.PASS
    for made in (
        [[0, 1, 1], [1, 2, 3], [3, 1, 0]],
        [[0, 1, 2], [1, 2, 3], [3, 1, 0]],
        [[0, 1, 3], [1, 2, 3], [3, 1, 4]],
    ):
        assert called.word(out=np.array(made)) is VerdictKind.FAIL
    weights = WEIGHTS.copy()
    weights[1, 1] = np.nan
    called = sampled(3, False, weights)
    assert called.judged(out=np.array([[0, 1, 3], [9, 9, 9], [3, 1, 0]])).unjudged == (
        "3 of 9 elements of out",
    )
    assert called.word(out=np.array([[0, 1, 1], [9, 9, 9], [3, 1, 0]])) is VerdictKind.FAIL


# --- sets of slices ---------------------------------------------------------------------------------------------

ROWS = np.random.default_rng(3).integers(0, 2, (9, 2, 2))


@needs_torch
@pytest.mark.parametrize("dim", [0, 1, -1])
@pytest.mark.parametrize("name", ["unique_dim", "unique_consecutive"])
def test_the_slices_of_pytorch_are_right(name: str, dim: int) -> None:
    x = np.moveaxis(ROWS, 0, dim)
    given = torch.from_numpy(x.copy())
    if name == "unique_dim":
        made = torch.unique(given, dim=dim, return_inverse=True, return_counts=True)
        called = Called(name, self=tensor("int64", x), sorted=True, returnInverse=True, dim=dim)
    else:
        made = torch.unique_consecutive(given, dim=dim, return_inverse=True, return_counts=True)
        called = Called(name, self=tensor("int64", x), returnInverse=True, returnCounts=True, dim=dim)
    outputs = {}
    for output, values in zip(("valueOut", "inverseOut", "countsOut"), made, strict=True):
        front = values.numpy().reshape(-1)
        room = np.full(called.right[output].size, 99)
        room[: front.size] = front
        outputs[output] = room.reshape(called.right[output].shape)
    assert called.word(**outputs) is VerdictKind.PASS
    assert called.word() is VerdictKind.PASS
    for output, values in outputs.items():
        off = values.copy()
        off.reshape(-1)[0] += 1
        assert called.failed(**{**outputs, output: off}) == {output}


def test_distinct_slices_are_a_set_where_they_are_not_sorted() -> None:
    called = Called("unique_dim", self=tensor("int64", ROWS), sorted=False, returnInverse=True, dim=0)
    n = int((called.right["countsOut"] > 0).sum())
    order = np.random.default_rng(1).permutation(n)
    other = {name: called.right[name].copy() for name in ("valueOut", "countsOut")}
    for made in other.values():
        made[:n] = made[order]
    inverse = np.argsort(order)[called.right["inverseOut"]]
    assert called.word(**other, inverseOut=inverse) is VerdictKind.PASS
    assert called.failed(**other) == {"inverseOut"}
    twice = other["valueOut"].copy()
    twice[0] = twice[1]
    assert "valueOut" in called.failed(valueOut=twice, countsOut=other["countsOut"], inverseOut=inverse)


def test_neighbours_that_repeat_count_once_in_the_flattened_tensor() -> None:
    x = np.array([[1.0, 1.0, 2.0], [2.0, 2.0, 1.0]])
    called = Called(
        "unique_consecutive", self=tensor("float32", x), returnInverse=True, returnCounts=True, dim=1000
    )
    assert called.right["valueOut"][:3].tolist() == [1, 2, 1]
    assert called.right["countsOut"][:3].tolist() == [2, 3, 1]
    assert called.right["inverseOut"].tolist() == [[0, 0, 1], [1, 1, 2]]


def test_every_random_operator_of_the_catalog_can_be_judged() -> None:
    from ascend_opcli.operators.documents import catalogued

    words = ("Random", "Uniform", "Normal", "Bernoulli", "Multinomial", "Randperm", "GenMask", "Exponential")
    names = [n for n in catalogued.names().values() if any(w in n.removeprefix("aclnn") for w in words)]
    drawn = [n for n in names if not n.endswith(("Normalization", "NormalizationGrad"))]
    assert len(drawn) > 20
    assert [n for n in drawn if find(n).holds is None] == []
