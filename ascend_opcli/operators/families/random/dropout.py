"""Random bits: draws of 0 and 1, and dropout with the mask that it draws or is given. See :mod:`.draws`."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from ascend_opcli.model import Generator
from ascend_opcli.operators.declare import Held, Undefined, declare, ints, made, unsaid, wide
from ascend_opcli.operators.families.random.draws import DEVIATIONS, FEW, LARGE, SEEDS, both_forms, even

# --- bits -----------------------------------------------------------------------------------------------------


def _bits(count: int, ones: Any) -> Any:
    """As many ones as their share says, in random order; a share for each is told in an array."""
    return even(count) < ones


def _probability(p: Any) -> float:
    if not 0 <= p <= 1:
        raise Undefined(f"a probability of {float(p):g}")
    return float(p)


def _probabilities(prob: Any, shape: Any) -> Any:
    """One for each element, flat."""
    given = np.asarray(prob, np.float64)
    return np.broadcast_to(given if shape else given.reshape(()), shape).reshape(-1)


def _bernoulli(tensor: Any, prob: Any, *_seeds: Any) -> Any:
    ones = _probabilities(prob, tensor.shape)
    bits = unsaid(_bits(tensor.size, ones).astype(np.int8), ~_known(ones), "a probability outside of 0 to 1")
    return bits.reshape(tensor.shape)


def _known(ones: Any) -> Any:
    return (ones >= 0) & (ones <= 1)


def _bernoulli_holds(output: str, *, got: Any, golden: Any, prob: Any, **_told: Any) -> Iterator[Held]:
    ours = wide(got[output])
    ones = _probabilities(prob, ours.shape)
    free = ((ours == 0) | (ours == 1)) & ((ones > 0) & (ones < 1)).reshape(ours.shape)
    wanted = np.where(free, ours, golden[output])
    yield Held(output, got[output], wanted, "every element is 0 or 1", name=f"values of {output}")
    yield from _shares(output, (ours == 1).reshape(-1)[_known(ones)], ones[_known(ones)])


PARTS = 8


def _shares(output: str, bits: Any, ones: Any) -> Iterator[Held]:
    """The share of ones of all bits, at each place of a byte, in each eighth, and in eighths by their probabilities."""
    if not bits.size:
        return
    ones = np.broadcast_to(np.asarray(ones, np.float64), bits.shape)
    ranked = np.argsort(ones, kind="stable")
    places = np.arange(bits.size)
    groups = [places, *(places[i::PARTS] for i in range(PARTS)), *np.array_split(places, PARTS)]
    one = ones[ranked[0]] == ones[ranked[-1]]
    groups = [g for g in groups + ([] if one else np.array_split(ranked, PARTS)) if g.size]
    found, wanted, spread = (
        np.array([what[g].mean() for g in groups]) for what in (bits, ones, ones * (1 - ones))
    )
    sizes = np.array([g.size for g in groups])
    room = np.where(spread > 0, DEVIATIONS * np.sqrt(spread / sizes) + FEW / sizes, 0)
    share = f"{ones[0]:.6g} of the bits are 1" if one else "as many bits are 1 as their probabilities say"
    says = f"{share}, within what chance gives: of all, at each place of a byte, in each eighth"
    yield made(
        output, f"ones in {output}", found, np.clip(found, wanted - room, wanted + room), says, "float64"
    )


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


# --- declarations ---------------------------------------------------------------------------------------------


def _mask_shape(shape: Any) -> tuple[int, ...]:
    """Bits in whole units of 128."""
    return (-(-math.prod(shape) // 128) * 16,)


def _with_mask(x: Any, *_rest: Any) -> list[Any]:
    return [(x.dtype, x.shape), ("uint8", _mask_shape(x.shape))]


def _as_first(x: Any, *_rest: Any) -> Any:
    return x.dtype, x.shape


_FLOATS = ("float32", "float16", "float64")
_ALL_BYTES = Generator("integers", (0, 255))
_MASKED: dict[str, Any] = {
    "short": {"mask": lambda _dtype, shape: ("uint8", _mask_shape(shape))},
    "data": {"mask": _ALL_BYTES},
}
_PROB: dict[str, Any] = {
    "sample_shape": LARGE,
    "data": {"prob": Generator("uniform", (0.0, 1.0))},
    "short": {"prob": lambda dtype, shape: (dtype if dtype in _FLOATS else "float32", shape)},
}
OPERATORS = (
    declare("InplaceBernoulli", _bernoulli, "selfRef = 1 with the probability prob, else 0", None,
            sample_shape=LARGE, sample_attributes={"prob": 0.25, **SEEDS},
            holds=partial(_bernoulli_holds, "selfRef")),
    declare("Bernoulli", _bernoulli, "out = 1 with the probability prob, else 0", _as_first,
            sample_shape=LARGE, sample_attributes={"prob": 0.25, **SEEDS}, holds=partial(_bernoulli_holds, "out")),
    declare("InplaceBernoulliTensor", _bernoulli, "selfRef = 1 with the probability that prob has there, else 0", None,
            sample_attributes=SEEDS, holds=partial(_bernoulli_holds, "selfRef"), **_PROB),
    declare("BernoulliTensor", _bernoulli, "out = 1 with the probability that prob has there, else 0", _as_first,
            sample_attributes=SEEDS, holds=partial(_bernoulli_holds, "out"), **_PROB),
    declare("Dropout", _dropout, "out = input / (1 - p) where maskOut has a 1, else 0", _with_mask,
            sample_shape=LARGE, sample_attributes={"p": 0.25, "train": True, **SEEDS}, holds=_dropout_holds),
    declare("DropoutV3", _dropout_v3, "out = input / (1 - p) where maskOut has a 1, else 0",
            _with_mask, sample_shape=LARGE, sample_attributes={"p": 0.25, **SEEDS}, holds=_dropout_holds,
            short={"optionalNoiseShape": lambda *_a: None}),
    declare("DropoutGenMask", _gen_mask, "out = bits that are 1 with the probability 1 - prob",
            lambda shape, *_a: ("uint8", _mask_shape(ints(shape))), holds=_gen_mask_holds,
            sample_attributes={"shape": LARGE, "prob": 0.25, **SEEDS}),
    *both_forms("DropoutGenMaskV2", _gen_mask, "out = bits that are 1 with the probability 1 - prob",
                lambda shape, *_a: ("uint8", _mask_shape(ints(shape))), holds=_gen_mask_holds,
                sample_attributes={"shape": LARGE, "prob": 0.25, "probDataType": "float32"}),
    declare("DropoutDoMask", _do_mask, "out = self / (1 - prob) where mask has a 1, else 0", _as_first,
            sample_attributes={"prob": 0.25}, **_MASKED),
    declare("DropoutBackward", _backward, "out = gradOutput * scale where mask has a 1, else 0", _as_first,
            sample_attributes={"scale": 1.25}, **_MASKED),
    declare("DropoutV3Grad", _v3_backward, "gradX = gradY * mask * scale", _as_first,
            sample_attributes={"scale": 1.25}, **_MASKED),
)  # fmt: skip
