"""Decompositions, sets, random numbers and dropout: any right answer passes, no wrong one does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from operator_calls import arguments, tensor

from ascend_opcli.model import Attribute, Case, Outcome, Verdict, VerdictKind, Where
from ascend_opcli.operators.catalog import find
from ascend_opcli.reference.call import make_call
from ascend_opcli.reference.evaluate import golden, host_result
from ascend_opcli.verification.verdict import judge_outputs

try:
    import torch
except ImportError:
    torch = None

needs_torch = pytest.mark.skipif(torch is None, reason="PyTorch is the other implementation")


class Called:
    """One call and its host result; ``judged`` replaces outputs."""

    def __init__(self, name: str, /, **given: Any) -> None:
        self.operator = find(name)
        plain = {n: Attribute(v) if isinstance(v, tuple) else v for n, v in given.items()}
        bound = arguments(self.operator, **plain)
        case = Case("c.yaml", "a", self.operator.name, bound, Where("c.yaml", 1, 1))
        self.call = make_call(case, self.operator.signature, "atlas_a2")
        self.right: dict[str, Any] = host_result(self.operator, self.call)

    def judged(self, **changed: Any) -> Verdict:
        made = {
            n: np.asarray(v, self.right[n].dtype).reshape(self.right[n].shape) for n, v in changed.items()
        }
        case = Case("c.yaml", "a", self.operator.name, {}, Where("c.yaml", 1, 1))
        outcome = Outcome("device", outputs={**self.right, **made})
        return judge_outputs(case, self.operator, self.call, outcome, golden(self.operator, self.call))

    def word(self, **changed: Any) -> VerdictKind:
        return self.judged(**changed).word

    def failed(self, **changed: Any) -> set[str]:
        return {r.name for r in self.judged(**changed).outputs if not r.passed}


def normal(*shape: int, seed: int = 0, scale: float = 1.0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape) * scale


# --- decompositions -------------------------------------------------------------------------------------------

QRS: list[tuple[str, dict[str, Any]]] = [
    ("qr", {"some": True}),
    ("qr", {"some": False}),
    ("linalg_qr", {"mode": 0}),
    ("linalg_qr", {"mode": 1}),
]


@pytest.mark.parametrize(("name", "mode"), QRS)
@pytest.mark.parametrize("shape", [(5, 3), (2, 3, 5), (4, 4)])
def test_a_qr_may_have_other_signs_and_no_wrong_factor(
    name: str, mode: dict[str, Any], shape: tuple[int, ...]
) -> None:
    called = Called(name, self=tensor("float32", normal(*shape, scale=1000)), **mode)
    q, r = called.right["Q"], called.right["R"]
    assert called.word() is VerdictKind.PASS
    signs = np.where(np.arange(q.shape[-1]) % 2, -1, 1)
    assert called.word(Q=q * signs, R=r * signs[:, None]) is VerdictKind.PASS
    assert called.failed(Q=q * signs) == {"Q R"}
    assert called.failed(Q=q * 1.01, R=r / 1.01) == {"Q^H Q"}
    assert called.failed(Q=np.zeros_like(q)) == {"Q^H Q", "Q R"}
    lower = r.copy()
    lower[..., 1, 0] = 1
    assert "R below its diagonal" in called.failed(R=lower)
    turn = np.linalg.qr(normal(q.shape[-1], q.shape[-1], seed=3))[0]
    assert called.failed(Q=q @ turn, R=turn.T @ r) == {"R below its diagonal"}
    assert called.word(Q=np.full_like(q, np.nan)) is VerdictKind.FAIL


def test_r_alone_belongs_to_its_matrix() -> None:
    called = Called("linalg_qr", self=tensor("float32", normal(6, 4)), mode=2)
    r = called.right["R"]
    assert called.word(R=-r) is VerdictKind.PASS
    assert called.failed(R=r * 1.01) == {"R^H R"}


@pytest.mark.parametrize("shape", [(5, 3), (2, 3, 5)])
@pytest.mark.parametrize("full", [True, False])
def test_a_svd_may_have_other_signs_and_no_wrong_factor(shape: tuple[int, ...], full: bool) -> None:
    called = Called(
        "svd", input=tensor("float32", normal(*shape, scale=1000)), fullMatrices=full, computeUV=True
    )
    sigma, u, v = (called.right[n] for n in ("sigma", "u", "v"))
    assert called.word() is VerdictKind.PASS
    assert called.word(u=-u, v=-v) is VerdictKind.PASS
    assert called.failed(u=-u) == {"u diag(sigma) v^H"}
    ascending = called.failed(sigma=sigma[..., ::-1], u=u, v=v)
    assert "sigma / max" in ascending
    k = sigma.shape[-1]
    mixed = [*range(k)[::-1], *range(k, u.shape[-1])], [*range(k)[::-1], *range(k, v.shape[-1])]
    assert called.failed(sigma=sigma[..., ::-1], u=u[..., mixed[0]], v=v[..., mixed[1]]) == {"sigma / max"}
    assert called.failed(sigma=sigma * 1.01, v=v / 1.01) == {"sigma / max", "v^H v"}


def test_singular_values_alone() -> None:
    called = Called("svd", input=tensor("float32", normal(4, 3)), fullMatrices=False, computeUV=False)
    assert called.failed(sigma=called.right["sigma"] * 1.01) == {"sigma / max"}
    assert any("u and v" in note for note in called.judged().notes)


@needs_torch
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64"])
def test_the_factors_of_pytorch_are_right(dtype: str) -> None:
    x = normal(3, 6, 4) + (1j * normal(3, 6, 4, seed=1) if dtype == "complex64" else 0)
    given = torch.from_numpy(x.astype(dtype))
    u, sigma, turned = torch.linalg.svd(given, full_matrices=False)
    called = Called("svd", input=tensor(dtype, x), fullMatrices=False, computeUV=True)
    assert (
        called.word(u=u.numpy(), sigma=sigma.numpy(), v=turned.mH.resolve_conj().numpy()) is VerdictKind.PASS
    )
    q, r = torch.linalg.qr(given)
    called = Called("qr", self=tensor(dtype, x), some=True)
    assert called.word(Q=q.numpy(), R=r.numpy()) is VerdictKind.PASS


def test_what_is_made_of_outputs_is_shown_as_outputs_are() -> None:
    called = Called("qr", self=tensor("float32", normal(5, 3)), some=True)
    wrong = called.right["R"].copy()
    wrong[0, 2] += 1
    (report,) = (r for r in called.judged(R=wrong).outputs if not r.passed)
    assert (report.name, report.shape) == ("Q R", (5, 3))
    assert "Q R = self" in report.rule
    assert report.worst[0].index[1] == 2
    assert report.diagnosis
    assert not report.weak


# --- sets -----------------------------------------------------------------------------------------------------


def uniques(in_order: bool, seed: int = 0) -> Called:
    x = np.random.default_rng(seed).integers(-4, 5, (5, 8)).astype(np.float64)
    return Called(
        "unique2", self=tensor("float32", x), sorted=in_order, returnInverse=True, returnCounts=True
    )


def shuffled(called: Called) -> dict[str, np.ndarray]:
    """The same set in another order, with what lies behind it left as memory is."""
    values, inverse, counts = (called.right[n].copy() for n in ("valueOut", "inverseOut", "countsOut"))
    n = int((counts > 0).sum())
    order = np.random.default_rng(1).permutation(n)
    values[:n], counts[:n] = values[order], counts[order]
    values[n:], counts[n:] = np.nan, -7
    return {"valueOut": values, "inverseOut": np.argsort(order)[inverse], "countsOut": counts}


def test_unique_elements_are_a_set_where_they_are_not_sorted() -> None:
    called = uniques(False)
    other = shuffled(called)
    assert called.word(**other) is VerdictKind.PASS
    assert called.word() is VerdictKind.PASS
    for name in other:
        kept = {n: a for n, a in other.items() if n != name}
        assert called.word(**kept) is VerdictKind.FAIL, name
    twice = other["valueOut"].copy()
    twice[0] = twice[1]
    assert "valueOut" in called.failed(**{**other, "valueOut": twice})
    for name in ("inverseOut", "countsOut"):
        off = other[name].copy()
        off.flat[3] += 1
        assert called.failed(**{**other, name: off}) == {name}


def test_sorted_unique_elements_ascend() -> None:
    called = uniques(True)
    assert called.word() is VerdictKind.PASS
    assert called.failed(**shuffled(called)) == {"valueOut", "inverseOut", "countsOut"}


@needs_torch
def test_the_sets_of_pytorch_are_right() -> None:
    x = np.random.default_rng(4).integers(0, 9, (6, 7))
    values, inverse, counts = torch.unique(torch.from_numpy(x), return_inverse=True, return_counts=True)
    called = Called("unique2", self=tensor("int64", x), sorted=True, returnInverse=True, returnCounts=True)
    room = np.full(x.size, 99)
    made = {"valueOut": room.copy(), "countsOut": room.copy(), "inverseOut": inverse.numpy()}
    made["valueOut"][: len(values)], made["countsOut"][: len(values)] = values.numpy(), counts.numpy()
    assert called.word(**made) is VerdictKind.PASS


# --- random numbers -------------------------------------------------------------------------------------------

SEEDS = {"seed": 3, "offset": 0}
SHAPE = (64, 65)


def drawn(name: str, **given: Any) -> Called:
    return Called(name, selfRef=tensor("float32", np.zeros(SHAPE)), **given, **SEEDS)


DRAWS: dict[str, tuple[Callable[[], Called], Callable[[np.random.Generator], np.ndarray]]] = {
    "uniform": (
        lambda: drawn("inplace_uniform", **{"from": -2.0, "to": 3.0}),
        lambda g: g.uniform(-2, 3, SHAPE),
    ),
    "normal": (lambda: drawn("inplace_normal", mean=1.0, std=2.0), lambda g: g.normal(1, 2, SHAPE)),
    "bernoulli": (lambda: drawn("inplace_bernoulli", prob=0.3), lambda g: g.random(SHAPE) < 0.3),
}


@pytest.mark.parametrize("name", DRAWS)
def test_draws_of_the_distribution_pass_and_others_fail(name: str) -> None:
    called, draw = DRAWS[name][0](), DRAWS[name][1]
    right = draw(np.random.default_rng(11)).astype(np.float32)
    assert called.word() is VerdictKind.PASS
    for seed in range(20):
        assert called.word(selfRef=draw(np.random.default_rng(seed))) is VerdictKind.PASS
    wrong = {
        "zeros": np.zeros(SHAPE),
        "ones": np.ones(SHAPE),
        "shifted": right + 0.2,
        "scaled": right * 1.2,
        "half": np.where(np.arange(SHAPE[0])[:, None] < 32, right, 0),
        "one nan": np.where(np.arange(right.size).reshape(SHAPE) == 9, np.nan, right),
        "one inf": np.where(np.arange(right.size).reshape(SHAPE) == 9, np.inf, right),
    }
    if name != "bernoulli":  # a ramp has the distribution, and no chance in it
        wrong["ramp"] = np.sort(right.reshape(-1)).reshape(SHAPE)
        wrong["pairs"] = np.repeat(right.reshape(-1)[::2], 2).reshape(SHAPE)
    if name == "uniform":
        wrong["outside"] = np.where(right == right[0, 0], 3.5, right)
    for what, made in wrong.items():
        assert called.word(selfRef=made) is VerdictKind.FAIL, what


def test_bits_of_the_right_share_in_a_pattern_are_no_draw() -> None:
    called = drawn("inplace_bernoulli", prob=0.5)
    at = np.arange(np.prod(SHAPE))
    for made in (at % 2, at < at.size // 2, (at // 4) % 2):
        assert called.failed(selfRef=made) == {"ones in selfRef"}


@pytest.mark.parametrize("prob", [0.0, 1.0])
def test_what_is_certain_is_certain(prob: float) -> None:
    called = drawn("inplace_bernoulli", prob=prob)
    made = np.full(SHAPE, prob)
    assert called.word(selfRef=made) is VerdictKind.PASS
    made[3, 4] = 1 - prob
    assert called.word(selfRef=made) is VerdictKind.FAIL


@pytest.mark.parametrize("dtype", ["int64", "int32", "float32"])
def test_a_permutation_has_every_number_once_and_no_order(dtype: str) -> None:
    called = Called("randperm", n=500, out=tensor(dtype, shape=(500,)), **SEEDS)
    for seed in range(10):
        assert called.word(out=np.random.default_rng(seed).permutation(500)) is VerdictKind.PASS
    right = np.random.default_rng(0).permutation(500)
    twice, outside, below = right.copy(), right.copy(), right.copy()
    twice[7], outside[7], below[7] = twice[8], 500, -1
    for made in (twice, outside, below):
        assert "out" in called.failed(out=made)
        worst = next(r for r in called.judged(out=made).outputs if r.name == "out").worst
        assert worst[0].index[0] in (7, 8)
    for made in (np.arange(500), np.arange(500)[::-1], np.roll(np.arange(500), 9)):
        assert called.failed(out=made) == {"order kept in out"}


# --- dropout --------------------------------------------------------------------------------------------------

X = normal(40, 33)


def dropped(x: np.ndarray, bits: np.ndarray, p: float) -> np.ndarray:
    return np.where(bits.reshape(x.shape), x / (1 - p), 0)


def packed(bits: np.ndarray) -> np.ndarray:
    made = np.packbits(bits, bitorder="little")
    return np.pad(made, (0, -len(made) % 16), constant_values=0xA5)


@pytest.mark.parametrize("p", [0.1, 0.5, 0.9])
@pytest.mark.parametrize("name", ["dropout", "dropout_v3"])
def test_dropout_follows_its_own_mask(name: str, p: float) -> None:
    more: dict[str, Any] = {"train": True} if name == "dropout" else {"optionalNoiseShape": None}
    called = Called(name, input=tensor("float32", X), p=p, **more, **SEEDS)
    assert called.word() is VerdictKind.PASS
    for seed in range(10):
        bits = np.random.default_rng(seed).random(X.size) >= p
        assert called.word(out=dropped(X, bits, p), maskOut=packed(bits)) is VerdictKind.PASS
    bits = np.random.default_rng(5).random(X.size) >= p
    right = dropped(X, bits, p)
    assert called.failed(out=right * (1 - p), maskOut=packed(bits)) == {"out"}  # not scaled
    assert called.failed(out=right) == {"out"}  # another mask
    off = right.copy()
    off[3, 3] = 0 if off[3, 3] else 1
    assert called.judged(out=off, maskOut=packed(bits)).outputs[0].worst[0].index == (3, 3)
    for share in (np.ones(X.size, bool), np.zeros(X.size, bool), np.arange(X.size) >= p * X.size):
        assert called.failed(out=dropped(X, share, p), maskOut=packed(share)) == {"ones in maskOut"}


@pytest.mark.parametrize(("train", "p"), [(False, 0.5), (True, 0.0), (True, 1.0)])
def test_dropout_that_drops_nothing_or_all(train: bool, p: float) -> None:
    called = Called("dropout", input=tensor("float32", X), p=p, train=train, **SEEDS)
    right = np.zeros_like(X) if train and p == 1 else X
    assert called.word(out=right) is VerdictKind.PASS
    assert called.failed(out=right + 1) == {"out"}


def test_a_given_mask_decides_every_element() -> None:
    bits = np.random.default_rng(0).random(X.size) >= 0.5
    mask, x = tensor("uint8", packed(bits)), tensor("float32", X)
    forward = Called("dropout_do_mask", self=x, mask=mask, prob=0.5)
    np.testing.assert_allclose(forward.right["out"], dropped(X, bits, 0.5), rtol=1e-6)
    back = Called("dropout_backward", gradOutput=x, mask=mask, scale=2.0)
    np.testing.assert_allclose(back.right["out"], dropped(X, bits, 0.5), rtol=1e-6)
    v3 = Called("dropout_v3_grad", gradY=x, mask=mask, scale=2.0)
    np.testing.assert_allclose(v3.right["gradX"], dropped(X, bits, 0.5), rtol=1e-6)
    wrong = forward.right["out"].copy()
    wrong[np.unravel_index(np.flatnonzero(bits)[0], X.shape)] = 0
    assert forward.word(out=wrong) is VerdictKind.FAIL
    for prob, made in ((0.0, X), (1.0, np.zeros_like(X))):
        same = Called("dropout_do_mask", self=x, mask=mask, prob=prob)
        np.testing.assert_array_equal(same.right["out"], made.astype(np.float32))


@pytest.mark.parametrize("name", ["dropout_gen_mask", "dropout_gen_mask_v2"])
def test_a_drawn_mask_has_its_share_of_ones(name: str) -> None:
    more = {"probDataType": "float32"} if name.endswith("v2") else {}
    called = Called(name, shape=(50, 41), prob=0.2, **more, **SEEDS)
    for seed in range(10):
        bits = np.random.default_rng(seed).random(50 * 41) >= 0.2
        assert called.word(out=packed(bits)) is VerdictKind.PASS
        assert called.word(out=packed(~bits)) is VerdictKind.FAIL
    whole = Called(name, shape=(50, 41), prob=0.0, **more, **SEEDS)
    assert whole.right["out"].tolist() == [255] * 272
