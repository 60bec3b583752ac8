"""Random outputs: numbers drawn from a distribution, samples of weights, permutations.

No seed ties a kernel's draws to ours. A distribution is judged by Kolmogorov-Smirnov, bits by their shares, and what
follows from drawn bits exactly. The draws here are as even as can be: chance is on one side of a comparison only.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import lru_cache, partial
from typing import Any

import numpy as np

from ascend_opcli.model import Generator
from ascend_opcli.operators.declare import (
    Held,
    Operator,
    Undefined,
    broadcast_shape,
    declare,
    fill,
    fixed,
    made,
    settle,
    unsaid,
    wide,
)
from ascend_opcli.operators.families.fills import cast
from ascend_opcli.tensors.dtypes import DTYPES, float_format, integer_range, round_to, spacing


def even(count: int) -> Any:
    """Numbers between 0 and 1 that share the range evenly, in random order."""
    return (np.random.default_rng(count).permutation(count) + 0.5) / max(count, 1)


DEVIATIONS, FEW = 6, 12
"""How far from its mean a count may lie: beyond that it is less likely than 1e-8."""


# --- distributions --------------------------------------------------------------------------------------------


def _uniform(selfRef: Any, low: Any, high: Any, *_seeds: Any, dtypes: Any) -> Any:
    if not low <= high:
        raise Undefined("from is greater than to")
    if DTYPES[dtypes["selfRef"]].kind != "float" and low < 0:
        raise Undefined("how numbers below 0 become whole the documents do not say")
    return cast(float(low) + (float(high) - float(low)) * even(selfRef.size), dtypes["selfRef"]).reshape(
        selfRef.shape
    )


def _integers(selfRef: Any, low: int, last: int, word: str) -> Any:
    if low > last:
        raise Undefined("from is not below to")
    if DTYPES[word].kind == "complex":
        raise Undefined("how complex numbers are drawn the documents do not say")
    steps = np.floor(even(selfRef.size) * float(last - low + 1))
    return cast(np.clip(float(low) + steps, low, last), word).reshape(selfRef.shape)


def _random(selfRef: Any, low: Any, high: Any, *_seeds: Any, dtypes: Any) -> Any:
    return _integers(selfRef, int(low), int(high) - 1, dtypes["selfRef"])


def _most(word: str) -> int:
    """Up to where the dtype has every whole number."""
    if DTYPES[word].kind in ("float", "complex"):
        return int(2 / float(spacing(np.ones(1), word)[0]))
    return 1 if word == "bool" else integer_range(word)[1]


def _random_of_all(selfRef: Any, *_seeds: Any, dtypes: Any) -> Any:
    return _integers(selfRef, 0, _most(dtypes["selfRef"]), dtypes["selfRef"])


def _exponential(selfRef: Any, count: Any, rate: Any, *_seeds: Any) -> Any:
    if not rate > 0 or int(count) != selfRef.size:
        raise Undefined("lambda is not above 0, or count not the number of elements")
    return (-np.log1p(-even(selfRef.size)) / float(rate)).reshape(selfRef.shape)


def _uniform_holds(*, got: Any, golden: Any, dtypes: Any, **told: Any) -> Iterator[Held]:
    bounds = round_to(np.array([float(told["from"]), float(told["to"])]), dtypes["selfRef"])
    yield from _of("selfRef", got, golden, wide(bounds), "from uniform numbers of [from, to)")


def _random_holds(*, got: Any, golden: Any, dtypes: Any, **told: Any) -> Iterator[Held]:
    word = dtypes["selfRef"]
    low, last = (int(told["from"]), int(told["to"]) - 1) if "from" in told else (0, _most(word))
    bounds = wide(cast(np.array([low, last], np.float64), word)).astype(np.float64)
    yield from _of("selfRef", got, golden, (bounds.min(), bounds.max()), "from whole numbers, each as likely")
    ours = wide(got["selfRef"]).astype(np.float64)
    parts = np.where(np.isfinite(ours), ours - np.rint(ours), 0)
    yield made("selfRef", "fractions of selfRef", parts, 0, "every number is whole", "float64")


def _exponential_holds(*, got: Any, golden: Any, **told: Any) -> Iterator[Held]:
    bounds = 0.0, _LONGEST / float(told["lambda"])
    yield from _of("selfRef", got, golden, bounds, "from exponential numbers of lambda")


_FARTHEST, _LONGEST = 10, 60
"""Standard deviations beyond which no normal draw lies, and means beyond which no exponential one does."""


def _normal_holds(output: str, *, got: Any, golden: Any, mean: Any, std: Any, **_told: Any) -> Iterator[Held]:
    away = _FARTHEST * float(std) + 0.01 * abs(float(mean))
    bounds = float(mean) - away, float(mean) + away
    yield from _of(output, got, golden, bounds, "from normal numbers of mean and std")


def _of(output: str, got: Any, golden: Any, bounds: Any, says: str, dtype: str = "") -> Iterator[Held]:
    """A distribution, and that not even one number lies outside its bounds or is NaN."""
    yield Held(output, got[output], golden[output], says, dtype=dtype)
    ours = wide(got[output])
    if ours.size:
        ends = np.array([ours.min(), ours.max()], np.float64)
        inside = np.where(np.isnan(ends), bounds, np.clip(ends, *bounds))
        yield made(
            output, f"ends of {output}", ends, inside, "the least and the largest lie in range", "float64"
        )
        yield from _unordered(output, ours.reshape(-1))


def _unordered(output: str, drawn: Any) -> Iterator[Held]:
    """Neighbours have nothing to do with one another: a ramp has the right distribution too."""
    pairs = np.stack([drawn[:-1], drawn[1:]]) if drawn.size > 1 else np.zeros((2, 1))
    if np.isfinite(pairs).all() and (pairs.std(axis=1) > 0).all():
        found, room = np.corrcoef(pairs)[:1, 1], DEVIATIONS / math.sqrt(pairs.shape[1])
        says = "the correlation of neighbours is 0, within what chance gives"
        yield made(output, f"order of {output}", found, np.clip(found, -room, room), says, "float64")


@lru_cache(maxsize=1)
def _normal_table() -> tuple[Any, Any]:
    x = np.linspace(-8, 8, 16001)
    return np.array([0.5 * math.erfc(-v / math.sqrt(2)) for v in x.tolist()]), x


def _gauss(shape: Any, mean: Any, std: Any, word: str) -> Any:
    if DTYPES[word].kind != "float":
        raise Undefined("how drawn numbers become whole the documents do not say")
    shares, x = _normal_table()
    drawn = np.interp(even(math.prod(shape)), shares, x).reshape(shape or (1,))
    mean, std = np.asarray(mean, np.float64), np.asarray(std, np.float64)
    return unsaid(mean + std * drawn, _beyond(mean, std, word), f"std is below 0, or draws are beyond {word}")


def _beyond(mean: Any, std: Any, word: str) -> Any:
    """Where nothing is known of draws: some of them are no numbers of the dtype, though the mean is one."""
    known = (std >= 0) & (std * _FARTHEST + np.abs(mean) <= float_format(word).largest)
    return ~known & ~((std >= 0) & np.isfinite(std) & ~np.isfinite(mean))


def _inplace_normal(selfRef: Any, mean: Any, std: Any, *_seeds: Any, dtypes: Any) -> Any:
    return _gauss(selfRef.shape, mean, std, dtypes["selfRef"])


def _normal(mean: Any, std: Any, *_seeds: Any, call: Any, dtypes: Any) -> Any:
    return _gauss(call.outputs["out"].shape, mean, std, dtypes["out"])


def _each_normal_holds(
    *, got: Any, golden: Any, mean: Any, std: Any, dtypes: Any, **_told: Any
) -> Iterator[Held]:
    """Every element has a mean and a std of its own; what is drawn is how many of them it lies away."""
    if "out" not in golden:
        return
    shape = golden["out"].shape
    told = (np.asarray(v, np.float64) for v in (mean, std))
    mean, std = (np.broadcast_to(v if shape else v.reshape(()), shape) for v in told)
    given, rounded, mean, std = (
        wide(v).astype(np.float64).reshape(-1)
        for v in (got["out"], round_to(golden["out"], dtypes["out"]), mean, std)
    )
    sure = (std == 0) | ~np.isfinite(mean)
    drawn = ~sure & ~_beyond(mean, std, dtypes["out"])
    ours, theirs = ((side[drawn] - mean[drawn]) / std[drawn] for side in (given, rounded))
    yield from _of(
        "out", {"out": ours}, {"out": theirs}, (-_FARTHEST - 1, _FARTHEST + 1),
        "(out - mean) / std from normal numbers", "float64",
    )  # fmt: skip
    yield made("out", "out of no std", given[sure], mean[sure], "mean where std is 0", dtypes["out"])


# --- samples ------------------------------------------------------------------------------------------------


def _weights(self: Any, count: int) -> tuple[Any, Any]:
    """Rows of weights, and in which of them enough are above 0; 1 stands for all weights of the others."""
    rows = np.asarray(np.atleast_2d(self), np.float64)
    good = ((rows >= 0) & np.isfinite(rows)).all(axis=1) & (np.count_nonzero(rows, axis=1) >= count)
    return np.where(good[:, None], rows, 1), good


def _multinomial(self: Any, count: Any, again: Any, *_seeds: Any) -> Any:
    """Places of weights: by the shares of a row, or those of the smallest e / weight, with e exponential numbers."""
    count = int(count)
    rows, good = _weights(self, 1 if again else count)
    if again:
        shares = np.cumsum(rows, axis=1)
        places = even(count)
        made = [np.searchsorted(s, places * s[-1], side="right") for s in shares]
        return _of_rows(np.minimum(made, rows.shape[1] - 1), good, self)
    waits = np.random.default_rng(count).exponential(size=rows.shape)
    order = np.argsort(np.where(rows > 0, waits / np.where(rows > 0, rows, 1), np.inf), axis=1, kind="stable")
    return _of_rows(order[:, :count], good, self)


def _of_rows(made: Any, good: Any, self: Any) -> Any:
    why = "weights are finite, none below 0, and as many above 0 as must be drawn"
    return unsaid(made, ~good[:, None], why).reshape(*self.shape[:-1], made.shape[1])


def _multinomial_holds(*, got: Any, golden: Any, replacement: Any, **told: Any) -> Iterator[Held]:
    """Rows are judged one by one: a kernel may use one draw for all of them."""
    if "out" not in golden:
        return
    ours, right = np.atleast_2d(got["out"]), np.atleast_2d(golden["out"])
    rows, good = _weights(told["self"], 1 if replacement else right.shape[1])
    wanted = np.where(good[:, None], settle(rows > 0, 1, right, ours, once=not replacement), ours)
    says = f"places of weights above 0{'' if replacement else ', each once in a row'}"
    yield Held("out", got["out"], wanted.reshape(got["out"].shape), says)
    if replacement and right.shape[1]:
        n, categories = right.shape[1], rows.shape[1]
        flat = np.clip(ours, 0, categories - 1) + categories * np.arange(len(rows))[:, None]
        found = np.bincount(flat.reshape(-1), minlength=rows.size).reshape(rows.shape) / n
        shares = rows / rows.sum(axis=1, keepdims=True)
        room = DEVIATIONS * np.sqrt(shares * (1 - shares) / n) + FEW / n
        says = "how often a place stands in its row, within what chance gives by its weight"
        wanted = np.where(good[:, None], np.clip(found, shares - room, shares + room), found)
        yield made("out", "shares in out", found, wanted, says, "float64")


# --- permutations ---------------------------------------------------------------------------------------------


def _permutation(n: Any, _seed: Any, _offset: Any, dtypes: Any) -> Any:
    count = int(n)
    if count < 0 or (count and wide(round_to(np.array([count - 1.0]), dtypes["out"]))[0] != count - 1):
        raise Undefined(f"{count} numbers, which {dtypes['out']} does not hold")
    return np.random.default_rng(count).permutation(count)


_CHANCE = 20
"""Elements of a permutation that stand where they stood, or follow the one before: 1 is to be expected."""


def _permutation_holds(*, got: Any, golden: Any, n: Any, **_told: Any) -> Iterator[Held]:
    ours, count = wide(got["out"]).astype(np.float64), int(n)
    whole = np.where(ours == np.floor(ours), np.clip(ours, -1, count), -1)
    places = np.where(np.isnan(whole), -1, whole).astype(np.int64)
    wanted = settle(np.zeros(count), 0, golden["out"].astype(np.int64), places)
    yield Held("out", got["out"], wanted, "every number from 0 to n - 1 once")
    steps, back = np.diff(places), places[::-1]
    found = [np.sum(side == np.arange(count)) for side in (places, back)] + [
        np.sum(steps == s) for s in (1, -1)
    ]
    says = "few numbers stand where they stood, forwards or backwards, or follow the one before"
    yield made(
        "out", "order kept in out", np.array(found, float), np.minimum(found, _CHANCE), says, "float64"
    )


# --- declarations ---------------------------------------------------------------------------------------------

SEEDS: dict[str, Any] = {"seed": 1, "offset": 0}
LARGE = (64, 64)
_WIDTH: dict[str, Any] = {"from": 0.0, "to": 1.0}
_WHOLE: dict[str, Any] = {"from": 0, "to": 100}
_BELL: dict[str, Any] = {"mean": 0.0, "std": 1.0}
_STD: dict[str, Any] = {"std": Generator("uniform", (0.5, 2.0))}


def both_forms(
    name: str, *function_text_and_infer: Any, seeds: Any = SEEDS, seed_dtype: str = "int64", **changes: Any
) -> Iterator[Operator]:
    """The operator with plain seeds, and the one whose seed and offset are tensors with an offset beside them."""
    tensors: dict[str, Any] = {
        "short": {name: fixed(seed_dtype, 1) for name in ("seedTensor", "offsetTensor")},
        "data": {"seedTensor": fill(1), "offsetTensor": fill(0)},
    }
    sample = changes.pop("sample_attributes", {})
    yield declare(name, *function_text_and_infer, sample_attributes={**sample, **seeds}, **changes)
    more = {key: {**changes.get(key, {}), **own} for key, own in tensors.items()}
    yield declare(
        f"{name}Tensor",
        *function_text_and_infer,
        sample_attributes={**sample, "offset": 0},
        **{**changes, **more},
    )


def _sampled(self: Any, count: Any, *_rest: Any) -> Any:
    return "int64", (*self.shape[:-1], int(count))


_DRAWN: dict[str, Any] = {"standard": "random", "sample_shape": LARGE}
OPERATORS = (
    *both_forms("InplaceUniform", _uniform, "selfRef = uniform numbers of [from, to)", None,
                seed_dtype="uint64", sample_attributes=_WIDTH, holds=_uniform_holds, **_DRAWN),
    *both_forms("InplaceNormal", _inplace_normal, "selfRef = normal numbers of mean and std", None,
                sample_attributes=_BELL, holds=partial(_normal_holds, "selfRef"), **_DRAWN),
    *both_forms("InplaceRandom", _random, "selfRef = whole numbers of [from, to), each as likely", None,
                sample_attributes=_WHOLE, holds=_random_holds, **_DRAWN),
    *both_forms("InplaceRandomWithoutFromTo", _random_of_all,
                "selfRef = whole numbers from 0 up to where its dtype has every one, each as likely", None,
                holds=_random_holds, **_DRAWN),
    declare("NormalFloatFloat", _normal, "out = normal numbers of mean and std",
            lambda *_a: ("float32", LARGE), standard="random", sample_attributes={**_BELL, **SEEDS},
            holds=partial(_normal_holds, "out")),
    declare("NormalTensorTensor", _normal, "out = normal numbers, each of its own mean and std",
            lambda mean, std, *_a: (mean.dtype, broadcast_shape(mean.shape, std.shape)), data=_STD,
            sample_attributes=SEEDS, holds=_each_normal_holds, **_DRAWN),
    declare("NormalTensorFloat", _normal, "out = normal numbers, each of its own mean",
            lambda mean, *_a: (mean.dtype, mean.shape), sample_attributes={"std": 1.0, **SEEDS},
            holds=_each_normal_holds, **_DRAWN),
    declare("NormalFloatTensor", _normal, "out = normal numbers, each of its own std",
            lambda _mean, std, *_a: (std.dtype, std.shape), data=_STD, sample_attributes={"mean": 0.0, **SEEDS},
            holds=_each_normal_holds, **_DRAWN),
    declare("SimThreadExponential", _exponential, "selfRef = exponential numbers of lambda", None,
            sample_attributes={"count": 4096, "lambda": 1.0, **SEEDS}, holds=_exponential_holds, **_DRAWN),
    *both_forms("Multinomial", _multinomial, "out = places of self, drawn by their weights", _sampled,
                data={"self": Generator("uniform", (0.1, 1.0))}, sample_shape=(4, 8), holds=_multinomial_holds,
                sample_attributes={"numsamples": 4, "replacement": False}),
    declare("Randperm", _permutation, "out = the numbers from 0 to n - 1 in random order",
            lambda n, *_a: ("int64", (int(n),)), sample_attributes={"n": 100, **SEEDS}, holds=_permutation_holds),
)  # fmt: skip
