"""Wrong kernels: what a broken operator would give back for a call, worked out from the right host result.

A fault takes the operator and the call and returns outputs by name. Those here are faults that any operator
can have (memory, layouts, rounding, special values); the tables of test_mutants.py add each operator's own.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Iterator, Mapping
from unittest import mock

import numpy as np

from ascend_opcli.model import Attribute, Call, Tensor, TensorSpec
from ascend_opcli.operators.operator import Operator
from ascend_opcli.reference import evaluate
from ascend_opcli.tensors.dtypes import round_to
from ascend_opcli.tensors.layout import resolve, view

Outputs = Mapping[str, np.ndarray]
Fault = Callable[[Operator, Call], Outputs]

POISON = 0xA5
HALVES = ("float16", "bfloat16")


def right(operator: Operator, call: Call) -> Outputs:
    """No fault: the control."""
    return evaluate.host_result(operator, call)


# --- other formulas, attributes, dtypes ---------------------------------------------------------------------------


def formula(reference: Callable[..., object]) -> Fault:
    """The operator with another reference."""
    return lambda operator, call: right(dataclasses.replace(operator, reference=reference), call)


def attribute(name: str, value: object) -> Fault:
    """One attribute ignored: it always has this value."""
    return attribute_by(name, lambda _old, _call: value)


def attribute_by(name: str, how: Callable[[object, Call], object]) -> Fault:
    """One attribute misread."""

    def fault(operator: Operator, call: Call) -> Outputs:
        old = call.arguments[name]
        assert isinstance(old, Attribute)
        return right(operator, with_arguments(call, {name: Attribute(how(old.value, call))}))

    return fault


class Narrow(np.ndarray):
    """A float32 array every arithmetic result of which is rounded to ``held``."""

    held = ""

    def __array_ufunc__(self, ufunc, method, *inputs, **options):
        plain = [np.asarray(i) if isinstance(i, np.ndarray) else i for i in inputs]
        with np.errstate(all="ignore"):
            made = getattr(ufunc, method)(*plain, **options)
        if not isinstance(made, (np.ndarray, np.generic)) or made.dtype.kind != "f":
            return made
        return _narrow(np.asarray(made), self.held)


def _narrow(array: np.ndarray, dtype: str) -> Narrow:
    kind = type(f"Narrow{dtype}", (Narrow,), {"held": dtype})
    return round_to(array, dtype).astype(np.float32).view(kind)


def computed_in(dtype: str) -> Fault:
    """All the arithmetic in a narrow dtype, attributes included, where every float input has it."""

    def fault(operator: Operator, call: Call) -> Outputs:
        bound = [b for b in call.arguments.values() if isinstance(b, Tensor)]
        if {b.spec.dtype for b in bound if "float" in b.spec.dtype} != {dtype}:
            return right(operator, call)
        reference = operator.reference
        assert reference is not None

        @functools.wraps(reference)
        def narrow(**values: object) -> object:
            for name, value in values.items():
                if isinstance(value, (np.ndarray, np.floating)) and value.dtype == np.float32:
                    small = _narrow(np.asarray(value), dtype)
                    values[name] = small if isinstance(value, np.ndarray) else np.float32(small[()])
            return reference(**values)

        return right(dataclasses.replace(operator, reference=narrow), call)

    return fault


def with_arguments(call: Call, changes: Mapping[str, object]) -> Call:
    """The call with some arguments replaced."""
    return dataclasses.replace(call, arguments={**call.arguments, **changes})


# --- inputs -------------------------------------------------------------------------------------------------------


def contiguous(array: np.ndarray, spec: TensorSpec) -> Tensor:
    """A contiguous tensor of these values."""
    strides, offset, storage, layout = resolve(array.shape)
    made = dataclasses.replace(
        spec, shape=array.shape, strides=strides, offset=offset, storage_shape=storage, layout=layout
    )
    return Tensor(made, np.ascontiguousarray(array).reshape(-1))


def reading(name: str, how: Callable[[np.ndarray], np.ndarray]) -> Fault:
    """One input's values read wrongly."""

    def fault(operator: Operator, call: Call) -> Outputs:
        bound = call.arguments[name]
        if not isinstance(bound, Tensor):
            return right(operator, call)
        with np.errstate(all="ignore"):
            array = np.asarray(how(view(bound)), bound.storage.dtype)
        return right(operator, with_arguments(call, {name: contiguous(array, bound.spec)}))

    return fault


def strides_ignored(name: str) -> Fault:
    """The view's elements read one after another from its offset on."""
    return _from_storage(name, lambda spec: spec.offset)


def offset_ignored(name: str) -> Fault:
    """The view's strides walked from the first element of the storage."""

    def fault(operator: Operator, call: Call) -> Outputs:
        bound = call.arguments[name]
        if not isinstance(bound, Tensor):
            return right(operator, call)
        moved = Tensor(dataclasses.replace(bound.spec, offset=0), bound.storage)
        return right(operator, with_arguments(call, {name: moved}))

    return fault


def _from_storage(name: str, start: Callable[[TensorSpec], int]) -> Fault:
    def fault(operator: Operator, call: Call) -> Outputs:
        bound = call.arguments[name]
        if not isinstance(bound, Tensor) or bound.spec.layout == "contiguous":
            return right(operator, call)
        flat = np.resize(bound.storage[start(bound.spec) :], bound.spec.count)
        array = flat.reshape(bound.spec.shape)
        return right(operator, with_arguments(call, {name: contiguous(array, bound.spec)}))

    return fault


def nan_swallowed(array: np.ndarray) -> np.ndarray:
    """NaN becomes 0."""
    return (
        np.where(np.isnan(array), np.zeros((), array.dtype), array) if array.dtype.kind not in "iu" else array
    )


def inf_saturated(array: np.ndarray) -> np.ndarray:
    """Inf becomes the largest number of the dtype."""
    if array.dtype.kind in "iu":
        return array
    largest = np.array(0x7BFF if array.dtype == np.float16 else 0x7F7F, np.uint16)
    most = np.finfo(np.float32).max if array.dtype == np.float32 else largest.view(array.dtype)
    if array.dtype == np.float64:
        most = np.finfo(np.float64).max
    wide = array.astype(np.float64)
    return np.where(np.isinf(wide), np.copysign(np.float64(most), wide), wide).astype(array.dtype)


# --- outputs ------------------------------------------------------------------------------------------------------


def writing(how: Callable[[np.ndarray], np.ndarray]) -> Fault:
    """Every output changed after a right computation; ``how`` gets a copy of an output, flat."""

    def fault(operator: Operator, call: Call) -> Outputs:
        made = {}
        for name, array in right(operator, call).items():
            flat = np.ascontiguousarray(array).reshape(-1).copy()
            with np.errstate(all="ignore"):
                made[name] = np.asarray(how(flat), array.dtype).reshape(array.shape)
        return made

    return fault


def unwritten(where: Callable[[int, int], slice]) -> Fault:
    """Elements that still hold their poison; ``where`` is told the number of elements and the size of one."""

    def how(flat: np.ndarray) -> np.ndarray:
        if flat.size:
            flat.view(np.uint8).reshape(flat.size, -1)[where(flat.size, flat.itemsize)] = POISON
        return flat

    return writing(how)


def sign_of_zero_lost(flat: np.ndarray) -> np.ndarray:
    """Every zero is +0."""
    return np.where(flat == 0, np.zeros((), flat.dtype), flat)


# --- rounding of 16-bit results -----------------------------------------------------------------------------------


def stored(rule: Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]) -> Fault:
    """Results of 16 bits rounded by another rule.

    ``rule`` is told the exact magnitude and the two numbers around it, and picks, as a mask, the upper one.
    """

    def rounded(values: np.ndarray, name: str, **more: np.ndarray) -> np.ndarray:
        nearest = round_to(values, name, **more)
        if name not in HALVES or values.dtype.kind != "f" or values.size == 0:
            return nearest
        exact = values.astype(np.float64).reshape(-1)
        bits = nearest.reshape(-1).view(np.uint16)
        size = np.abs(exact)
        low = bits & 0x7FFF
        low = low - (low.view(nearest.dtype).astype(np.float64) > size).astype(np.uint16)
        below = low.view(nearest.dtype).astype(np.float64)
        above = (low + np.uint16(1)).view(nearest.dtype).astype(np.float64)
        up = rule(exact, below, above)
        made = np.where(up, low + np.uint16(1), low).astype(np.uint16) | (bits & 0x8000)
        keep = ~np.isfinite(exact) | (below == size)
        return np.where(keep, bits, made).astype(np.uint16).view(nearest.dtype).reshape(nearest.shape)

    def fault(operator: Operator, call: Call) -> Outputs:
        with mock.patch.object(evaluate, "round_to", rounded), np.errstate(all="ignore"):
            return right(operator, call)

    return fault


def to_zero(exact: np.ndarray, below: np.ndarray, above: np.ndarray) -> np.ndarray:
    """Truncation."""
    return np.zeros(exact.shape, bool)


def away(exact: np.ndarray, below: np.ndarray, above: np.ndarray) -> np.ndarray:
    """Away from zero, always."""
    return np.ones(exact.shape, bool)


def ties_away(exact: np.ndarray, below: np.ndarray, above: np.ndarray) -> np.ndarray:
    """To nearest, ties away from zero."""
    return np.abs(exact) - below >= above - np.abs(exact)


def ties_to_zero(exact: np.ndarray, below: np.ndarray, above: np.ndarray) -> np.ndarray:
    """To nearest, ties to zero."""
    return np.abs(exact) - below > above - np.abs(exact)


def ties_up(exact: np.ndarray, below: np.ndarray, above: np.ndarray) -> np.ndarray:
    """To nearest, ties towards +Inf: floor(x + 0.5)."""
    return np.where(exact > 0, ties_away(exact, below, above), ties_to_zero(exact, below, above))


# --- the common table ---------------------------------------------------------------------------------------------


def common(*inputs: str, floats: bool = True) -> Iterator[tuple[str, Fault]]:
    """Faults of any operator whose tensor inputs have these names."""
    yield "last element not written", unwritten(lambda n, _size: slice(max(n - 1, 0), n))
    yield "first element not written", unwritten(lambda _n, _size: slice(0, 1))
    yield "last 32 bytes not written", unwritten(lambda n, size: slice(max(n - 32 // size, 0), n))
    yield "nothing but whole blocks of 32 bytes", unwritten(lambda n, size: slice(n - n % (32 // size), n))
    for name in inputs:
        yield f"strides of {name} ignored", strides_ignored(name)
    if floats:
        for name in inputs:
            yield f"NaN of {name} swallowed", reading(name, nan_swallowed)
            yield f"Inf of {name} saturated", reading(name, inf_saturated)
        yield "Inf of the output saturated", writing(inf_saturated)
        yield "NaN of the output swallowed", writing(nan_swallowed)
        yield "sign of zero lost", writing(sign_of_zero_lost)
    yield "twice the result", writing(lambda flat: flat * flat.dtype.type(2))


def sizes() -> Iterator[tuple[str, Fault]]:
    """Faults at the edges of tiles, cores and blocks, for operators on tensors of any size."""
    for tile in (1024, 3072, 6144, 8192):
        yield f"nothing after the first {tile} elements", unwritten(lambda _n, _size, t=tile: slice(t, None))
        yield f"the tail after whole tiles of {tile} lost", unwritten(_tail(tile))
        yield f"tiles of {tile} overlap by one", unwritten(lambda _n, _size, t=tile: slice(t, t + 1))
    yield (
        "fewer elements than cores: nothing written",
        unwritten(lambda n, _size: slice(0, n if n < 40 else 0)),
    )
    yield "a remainder over 40 cores lost", unwritten(lambda n, _size: slice(n - n % 40, n))
    for block in (256, 512):
        yield f"a last block of {block} bytes cut short", unwritten(_tail_bytes(block))
    yield "0-d tensor not written", _scalars_lost


def _tail(tile: int) -> Callable[[int, int], slice]:
    return lambda n, _size: slice(n - n % tile if n > tile else n, n)


def _tail_bytes(block: int) -> Callable[[int, int], slice]:
    return lambda n, size: slice(n - n % (block // size) if n > block // size else n, n)


def _scalars_lost(operator: Operator, call: Call) -> Outputs:
    made = dict(right(operator, call))
    for name, array in made.items():
        if array.ndim == 0:
            made[name] = np.full(array.itemsize, POISON, np.uint8).view(array.dtype).reshape(())
    return made


def rounding(*ties: str) -> Iterator[tuple[str, Fault]]:
    """Faults of the arithmetic and of the rounding to 16 bits; ``ties`` names the rules for ties that can show."""
    yield "float16 compute", computed_in("float16")
    yield "bfloat16 compute", computed_in("bfloat16")
    yield "truncation instead of rounding", stored(to_zero)
    yield "rounding away from zero", stored(away)
    for name, rule in (("away", ties_away), ("to zero", ties_to_zero), ("up", ties_up)):
        if name in ties:
            yield f"ties {name}", stored(rule)
