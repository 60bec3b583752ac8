"""Random outputs: drawn numbers, permutations, and dropout with the mask that it draws or is given.

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
from ascend_opcli.operators.declare.choices import Held, made, settle, wide
from ascend_opcli.operators.declare.structured import declare, ints
from ascend_opcli.operators.families.fills import cast
from ascend_opcli.operators.operator import Undefined
from ascend_opcli.tensors.dtypes import DTYPES, round_to


def _even(count: int) -> Any:
    """Numbers between 0 and 1 that share the range evenly, in random order."""
    return (np.random.default_rng(count).permutation(count) + 0.5) / max(count, 1)


# --- distributions --------------------------------------------------------------------------------------------


def _uniform(selfRef: Any, low: Any, high: Any, _seed: Any, _offset: Any, dtypes: Any) -> Any:
    if not low <= high:
        raise Undefined("from is greater than to")
    if DTYPES[dtypes["selfRef"]].kind != "float" and low < 0:
        raise Undefined("how numbers below 0 become whole the documents do not say")
    return cast(float(low) + (float(high) - float(low)) * _even(selfRef.size), dtypes["selfRef"]).reshape(
        selfRef.shape
    )


def _uniform_holds(*, got: Any, golden: Any, dtypes: Any, **told: Any) -> Iterator[Held]:
    bounds = round_to(np.array([float(told["from"]), float(told["to"])]), dtypes["selfRef"])
    yield from _of("selfRef", got, golden, wide(bounds), "from uniform numbers of [from, to)")


_FARTHEST = 10
"""Standard deviations beyond which no draw lies."""


def _normal_holds(output: str, *, got: Any, golden: Any, mean: Any, std: Any, **_told: Any) -> Iterator[Held]:
    away = _FARTHEST * float(std) + 0.01 * abs(float(mean))
    bounds = float(mean) - away, float(mean) + away
    yield from _of(output, got, golden, bounds, "from normal numbers of mean and std")


def _of(output: str, got: Any, golden: Any, bounds: Any, says: str) -> Iterator[Held]:
    """A distribution, and that not even one number lies outside its bounds or is NaN."""
    yield Held(output, got[output], golden[output], says)
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
        found, room = np.corrcoef(pairs)[:1, 1], _DEVIATIONS / math.sqrt(pairs.shape[1])
        says = "the correlation of neighbours is 0, within what chance gives"
        yield made(output, f"order of {output}", found, np.clip(found, -room, room), says, "float64")


@lru_cache(maxsize=1)
def _normal_table() -> tuple[Any, Any]:
    x = np.linspace(-8, 8, 16001)
    return np.array([0.5 * math.erfc(-v / math.sqrt(2)) for v in x.tolist()]), x


def _gauss(shape: Any, mean: Any, std: Any, word: str) -> Any:
    if std < 0:
        raise Undefined("std is below 0")
    if DTYPES[word].kind != "float":
        raise Undefined("how drawn numbers become whole the documents do not say")
    shares, x = _normal_table()
    return (float(mean) + float(std) * np.interp(_even(math.prod(shape)), shares, x)).reshape(shape)


def _inplace_normal(selfRef: Any, mean: Any, std: Any, _seed: Any, _offset: Any, dtypes: Any) -> Any:
    return _gauss(selfRef.shape, mean, std, dtypes["selfRef"])


def _normal(mean: Any, std: Any, _seed: Any, _offset: Any, call: Any, dtypes: Any) -> Any:
    return _gauss(call.outputs["out"].shape, mean, std, dtypes["out"])


# --- bits -----------------------------------------------------------------------------------------------------


def _bits(count: int, ones: float) -> Any:
    """As many ones as their share says, in random order."""
    return _even(count) < float(ones)


def _probability(p: Any) -> float:
    if not 0 <= p <= 1:
        raise Undefined(f"a probability of {float(p):g}")
    return float(p)


def _bernoulli(tensor: Any, prob: Any, *_seeds: Any) -> Any:
    return _bits(tensor.size, _probability(prob)).reshape(tensor.shape).astype(np.int8)


def _bernoulli_holds(output: str, *, got: Any, golden: Any, prob: Any, **_told: Any) -> Iterator[Held]:
    ours = wide(got[output])
    wanted = np.where((ours == 0) | (ours == 1), ours, golden[output])
    yield Held(output, got[output], wanted, "every element is 0 or 1", name=f"values of {output}")
    yield from _shares(output, (ours == 1).reshape(-1), float(prob))


PARTS = 8
_DEVIATIONS, _FEW = 6, 12
"""How far from its mean a count of ones may lie: beyond that it is less likely than 1e-8."""


def _shares(output: str, bits: Any, ones: float) -> Iterator[Held]:
    """The share of ones among all bits, at each place of a byte, and in each eighth."""
    if not bits.size:
        return
    groups = [bits, *(bits[i::PARTS] for i in range(PARTS)), *np.array_split(bits, PARTS)]
    sizes = np.array([max(g.size, 1) for g in groups])
    found = np.array([np.count_nonzero(g) for g in groups]) / sizes
    room = (
        _DEVIATIONS * np.sqrt(ones * (1 - ones) / sizes) + _FEW / sizes
        if 0 < ones < 1
        else np.zeros(len(groups))
    )
    empty = np.array([not g.size for g in groups])
    wanted = np.where(empty, found, np.clip(found, ones - room, ones + room))
    says = f"{ones:.6g} of the bits are 1, within what chance gives: of all, at each place of a byte, in each eighth"
    yield made(output, f"ones in {output}", found, wanted, says, "float64")


# --- dropout --------------------------------------------------------------------------------------------------


def _of_mask(mask: Any, count: int) -> Any:
    """The bits of a mask, the lowest of a byte first."""
    bits = np.unpackbits(np.ascontiguousarray(mask).reshape(-1).view(np.uint8), bitorder="little")
    if bits.size < count:
        raise Undefined(f"a mask of {bits.size} bits for {count} elements")
    return bits[:count].astype(bool)


def _mask_of(bits: Any, call: Any, name: str) -> Any:
    spec = call.outputs.get(name)
    made_bytes = np.packbits(bits, bitorder="little")
    if spec is None:
        return made_bytes
    if spec.count < made_bytes.size:
        raise Undefined(f"{name} has room for {8 * spec.count} bits of {bits.size}")
    return np.pad(made_bytes, (0, spec.count - made_bytes.size)).reshape(spec.shape)


def _filled(call: Any, name: str, value: int) -> Any:
    spec = call.outputs.get(name)
    return None if spec is None else np.full(spec.shape, value, np.uint8)


def _dropped(x: Any, bits: Any, scale: Any) -> Any:
    return np.where(bits.reshape(x.shape), x * x.dtype.type(scale), x.dtype.type(0))


def _do_mask(self: Any, mask: Any, prob: Any) -> Any:
    p = _probability(prob)
    if p in (0, 1):
        return self if p == 0 else np.zeros_like(self)
    return _dropped(self, _of_mask(mask, self.size), 1 / (1 - p))


def _backward(grad: Any, mask: Any, scale: Any) -> Any:
    if scale != 0 and scale < 1:
        raise Undefined(f"a scale of {float(scale):g}, which is 0 or at least 1")
    return _dropped(grad, _of_mask(mask, grad.size), float(scale)) if scale else np.zeros_like(grad)


def _v3_backward(grad: Any, mask: Any, scale: Any) -> Any:
    """A chain of products: an Inf that is dropped gives NaN."""
    bits = _of_mask(mask, grad.size).reshape(grad.shape)
    return grad * bits.astype(grad.dtype) * grad.dtype.type(scale)


def _drop(x: Any, p: float, call: Any) -> Any:
    bits = _bits(x.size, 1 - p)
    return _dropped(x, bits, 1 / (1 - p)), _mask_of(bits, call, "maskOut")


def _dropout(x: Any, p: Any, train: Any, _seed: Any, _offset: Any, call: Any) -> Any:
    p = _probability(p)
    if p in (0, 1) or not train:  # the mask is left as it is
        return (x if p == 0 or not train else np.zeros_like(x)), None
    return _drop(x, p, call)


def _dropout_v3(x: Any, noise: Any, p: Any, _seed: Any, _offset: Any, call: Any) -> Any:
    p = _probability(p)
    if noise is not None:
        raise Undefined("optionalNoiseShape, which is reserved")
    if p in (0, 1):
        return (x if p == 0 else np.zeros_like(x)), _filled(call, "maskOut", 0 if p else 255)
    return _drop(x, p, call)


def _dropout_holds(*, got: Any, golden: Any, p: Any, **told: Any) -> Iterator[Held]:
    x, p = told["input"], float(p)
    if "maskOut" not in golden or "out" not in golden or not 0 < p < 1:
        return
    bits = _of_mask(got["maskOut"], x.size)
    wanted = _dropped(x, bits, 1 / (1 - p)).reshape(golden["out"].shape)
    yield Held("out", got["out"], wanted, "input / (1 - p) where maskOut has a 1, else 0")
    yield from _shares("maskOut", bits, 1 - p)


def _gen_mask(shape: Any, prob: Any, *_rest: Any, call: Any) -> Any:
    p = _probability(prob)
    if p in (0, 1):
        return _filled(call, "out", 0 if p else 255)
    return _mask_of(_bits(math.prod(ints(shape)), 1 - p), call, "out")


def _gen_mask_holds(*, got: Any, shape: Any, prob: Any, **_told: Any) -> Iterator[Held]:
    if 0 < prob < 1:
        yield from _shares("out", _of_mask(got["out"], math.prod(ints(shape))), 1 - float(prob))


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


def _mask_shape(shape: Any) -> tuple[int, ...]:
    """Bits in whole units of 128."""
    return (-(-math.prod(shape) // 128) * 16,)


def _with_mask(x: Any, *_rest: Any) -> list[Any]:
    return [(x.dtype, x.shape), ("uint8", _mask_shape(x.shape))]


def _as_first(x: Any, *_rest: Any) -> Any:
    return x.dtype, x.shape


_SEEDS: dict[str, Any] = {"seed": 1, "offset": 0}
_LARGE = (64, 64)
_ALL_BYTES = Generator("integers", (0, 255))
_MASKED: dict[str, Any] = {
    "short": {"mask": lambda _dtype, shape: ("uint8", _mask_shape(shape))},
    "data": {"mask": _ALL_BYTES},
}
OPERATORS = (
    declare("InplaceUniform", _uniform, "selfRef = uniform numbers of [from, to)", None, standard="random",
            sample_shape=_LARGE, sample_attributes={"from": 0.0, "to": 1.0, **_SEEDS}, holds=_uniform_holds),
    declare("InplaceNormal", _inplace_normal, "selfRef = normal numbers of mean and std", None, standard="random",
            sample_shape=_LARGE, sample_attributes={"mean": 0.0, "std": 1.0, **_SEEDS},
            holds=partial(_normal_holds, "selfRef")),
    declare("NormalFloatFloat", _normal, "out = normal numbers of mean and std",
            lambda *_a: ("float32", _LARGE), standard="random", sample_attributes={"mean": 0.0, "std": 1.0, **_SEEDS},
            holds=partial(_normal_holds, "out")),
    declare("InplaceBernoulli", _bernoulli, "selfRef = 1 with the probability prob, else 0", None,
            sample_shape=_LARGE, sample_attributes={"prob": 0.25, **_SEEDS},
            holds=partial(_bernoulli_holds, "selfRef")),
    declare("Bernoulli", _bernoulli, "out = 1 with the probability prob, else 0", _as_first,
            sample_shape=_LARGE, sample_attributes={"prob": 0.25, **_SEEDS}, holds=partial(_bernoulli_holds, "out")),
    declare("Randperm", _permutation, "out = the numbers from 0 to n - 1 in random order",
            lambda n, *_a: ("int64", (int(n),)), sample_attributes={"n": 100, **_SEEDS}, holds=_permutation_holds),
    declare("Dropout", _dropout, "out = input / (1 - p) where maskOut has a 1, else 0", _with_mask,
            sample_shape=_LARGE, sample_attributes={"p": 0.25, "train": True, **_SEEDS}, holds=_dropout_holds),
    declare("DropoutV3", _dropout_v3, "out = input / (1 - p) where maskOut has a 1, else 0",
            _with_mask, sample_shape=_LARGE, sample_attributes={"p": 0.25, **_SEEDS}, holds=_dropout_holds,
            short={"optionalNoiseShape": lambda *_a: None}),
    declare("DropoutGenMask", _gen_mask, "out = bits that are 1 with the probability 1 - prob",
            lambda shape, *_a: ("uint8", _mask_shape(ints(shape))), holds=_gen_mask_holds,
            sample_attributes={"shape": _LARGE, "prob": 0.25, **_SEEDS}),
    declare("DropoutGenMaskV2", _gen_mask, "out = bits that are 1 with the probability 1 - prob",
            lambda shape, *_a: ("uint8", _mask_shape(ints(shape))), holds=_gen_mask_holds,
            sample_attributes={"shape": _LARGE, "prob": 0.25, "probDataType": "float32", **_SEEDS}),
    declare("DropoutDoMask", _do_mask, "out = self / (1 - prob) where mask has a 1, else 0", _as_first,
            sample_attributes={"prob": 0.25}, **_MASKED),
    declare("DropoutBackward", _backward, "out = gradOutput * scale where mask has a 1, else 0", _as_first,
            sample_attributes={"scale": 1.25}, **_MASKED),
    declare("DropoutV3Grad", _v3_backward, "gradX = gradY * mask * scale", _as_first,
            sample_attributes={"scale": 1.25}, **_MASKED),
)  # fmt: skip
