"""The operator's own result with one thing misread: an attribute, a layout, an axis, an input's values."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import itertools
import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from ascend_opcli.model import Attribute, Tensor
from ascend_opcli.tensors.dtypes import DTYPES, float_format, round_to, widen
from ascend_opcli.tensors.layout import is_contiguous, needed_storage, view
from ascend_opcli.verification.diagnosis.evidence import NEARLY_ALL, Evidence
from ascend_opcli.verification.diagnosis.explanation import Explanation, number

WHOLE = 1 << 22
"""Most elements of an input that is laid out anew."""

MAX_PAIRS = 10

Change = tuple[str, Mapping[str, Any]]
"""What it would mean, and the changes to the run that would give it."""


def _rule(changes: Callable[[Evidence], Iterator[Change]]) -> Callable[[Evidence], Explanation | None]:
    """The rule that names the change which gives the wrong elements and leaves the right ones as they are."""

    @functools.wraps(changes)
    def rule(e: Evidence) -> Explanation | None:
        best: Explanation | None = None
        for text, change in changes(e) if e.rerun is not None else ():
            with contextlib.suppress(Exception):  # a change that the reference does not take explains nothing
                values = e.rerun.values(**change)  # type: ignore[union-attr]
                if values is None:
                    break
                share = e.share(e.alike(values))
                if share >= NEARLY_ALL and share > (best.share if best else 0.0) and e.agrees(values):
                    best = Explanation(text, share, complete=True, guess=True)
                    if share == 1.0:
                        break
        return best

    return rule


# --- attributes ---------------------------------------------------------------------------------------------------


@_rule
def attribute_ignored(e: Evidence) -> Iterator[Change]:
    """An attribute at its default although the case says otherwise."""
    for name, bound in e.attributes.items():
        if name in e.defaults and not _same(e.defaults[name], bound.value):
            default: Any = e.defaults[name]
            text = (
                f"got is what {name} = {_value(default)}, its default, gives:"
                f" {name} = {_value(bound.value)} looks ignored"
            )
            yield text, {"attributes": {name: Attribute(default, bound.dtype)}}


@_rule
def attribute_misread(e: Evidence) -> Iterator[Change]:
    """An attribute at a neutral value, with another sign, or rounded."""
    for name, bound in e.attributes.items():
        written = _value(bound.value)
        if isinstance(bound.value, bool):
            if _same(e.defaults.get(name), not bound.value):
                continue  # that is the default
            text = f"got is what {name} = {_value(not bound.value)} gives, not {written}"
            yield text, {"attributes": {name: Attribute(not bound.value, bound.dtype)}}
            continue
        if not isinstance(bound.value, (int, float)):
            continue
        seen: list[object] = [bound.value, e.defaults.get(name)]
        for value, how in _variants(bound.value, [t.spec.dtype for t in e.tensors.values()]):
            if any(_same(value, s) for s in seen):
                continue
            seen.append(value)
            text = f"got is what {name} = {_value(value)}{how} gives, not {written}"
            yield text, {"attributes": {name: Attribute(value, bound.dtype)}}


def _variants(value: int | float, dtypes: list[str]) -> Iterator[tuple[int | float, str]]:
    kind = type(value)
    yield kind(1), ""
    yield kind(0), ""
    yield abs(value), ", its magnitude,"
    yield -value, ", with its sign flipped,"
    if isinstance(value, float) and math.isfinite(value):
        for dtype in dict.fromkeys((*dtypes, "float16", "bfloat16")):
            if DTYPES[dtype].kind == "float" and dtype != "float64":
                near = round_to(np.array([value], np.float64), dtype)
                yield float(widen(near, np.float64)[0]), f", rounded to {dtype},"
        yield float(math.trunc(value)), ", cut to a whole number,"
        yield float(np.rint(value)), ", rounded to a whole number,"
        yield float(math.ceil(value)), ", raised to a whole number,"


def _same(a: object, b: object) -> bool:
    return a == b or (a != a and b != b)


def _value(value: object) -> str:
    return number(value) if isinstance(value, (int, float, complex)) else str(value)


# --- inputs -------------------------------------------------------------------------------------------------------


@_rule
def input_ignored(e: Evidence) -> Iterator[Change]:
    """An input read as zeros or ones."""
    for make, word in ((np.zeros_like, "0"), (np.ones_like, "1")):
        for name in e.tensors:
            yield (
                f"got is what {name} = {word} everywhere gives: {name} looks ignored",
                {"revalue": {name: make}},
            )


@_rule
def inputs_swapped(e: Evidence) -> Iterator[Change]:
    """Two inputs of the same kind in each other's place."""
    pairs = [
        (a, b)
        for a, b in itertools.combinations(e.tensors, 2)
        if (e.tensors[a].spec.dtype, e.tensors[a].spec.shape)
        == (e.tensors[b].spec.dtype, e.tensors[b].spec.shape)
    ]
    for a, b in pairs[:MAX_PAIRS]:
        change = {"arrays": {a: e.array(b), b: e.array(a)}}
        yield f"got is what {a} and {b} give when they are exchanged", change


@_rule
def special_of_input(e: Evidence) -> Iterator[Change]:
    """NaN, Inf or subnormal numbers of an input replaced on the way in."""
    for name, tensor in e.tensors.items():
        dtype = tensor.spec.dtype
        if DTYPES[dtype].kind != "float":
            continue
        form, of = float_format(dtype), f"in the input {name}"
        yield (
            f"got is what 0 for NaN {of} gives",
            {"revalue": {name: lambda v: np.where(v != v, _of(0, v), v)}},
        )
        yield (
            f"got is what the largest finite number for Inf {of} gives",
            {"revalue": {name: lambda v, m=form.largest: np.clip(v, _of(-m, v), _of(m, v))}},
        )
        yield (
            f"got is what 0 for subnormal numbers {of} gives: flushed to zero",
            {
                "revalue": {
                    name: lambda v, m=form.smallest_normal: np.where(
                        (v != 0) & (np.abs(v) < _of(m, v)), _of(0, v), v
                    )
                }
            },
        )


def _of(value: float, like: np.ndarray) -> np.ndarray:
    return np.array(value, like.dtype)


# --- layouts and axes ---------------------------------------------------------------------------------------------


@_rule
def strides_ignored(e: Evidence) -> Iterator[Change]:
    """An input's storage read one element after another."""
    for name, tensor in e.tensors.items():
        spec = tensor.spec
        if spec.count > WHOLE:
            continue
        if not is_contiguous(spec.shape, spec.strides):
            text = f"got is what {name} gives when it is read as contiguous: its strides look ignored"
            yield text, {"arrays": {name: _flat_read(tensor, spec.offset)}}
        if spec.offset:
            text = f"got is what {name} gives when it is read from the start of its storage: its offset"
            if needed_storage(spec.shape, spec.strides) <= tensor.storage.size:
                there = view(Tensor(_without_offset(tensor), tensor.storage))
                yield f"{text} looks ignored", {"arrays": {name: there}}
            both = {"arrays": {name: _flat_read(tensor, 0)}}
            yield f"{text} and strides look ignored", both


def _flat_read(tensor: Tensor, start: int) -> np.ndarray:
    spec = tensor.spec
    return np.resize(tensor.storage.reshape(-1)[start:], spec.count).reshape(spec.shape)


def _without_offset(tensor: Tensor) -> Any:
    return dataclasses.replace(tensor.spec, offset=0)


@_rule
def transposed_input(e: Evidence) -> Iterator[Change]:
    """An input's last two axes exchanged in memory."""
    for name, tensor in e.tensors.items():
        shape = tensor.spec.shape
        if len(shape) < 2 or min(shape[-2:]) < 2 or tensor.spec.count > WHOLE:
            continue
        array = e.array(name)
        turned = np.ascontiguousarray(np.swapaxes(array, -1, -2)).reshape(shape)
        yield f"got is what {name} gives when it is read transposed", {"arrays": {name: turned}}
        back = array.reshape(*shape[:-2], shape[-1], shape[-2]).swapaxes(-1, -2)
        yield f"got is what {name} gives when it is read as column-major", {"arrays": {name: back}}


def other_axis(e: Evidence) -> Explanation | None:
    """A smaller input laid along another axis of the same length, or as flat memory."""
    if e.rerun is None:
        return None
    return _broadcasts(e) if e.rerun.elementwise else _exchanged_axes(e)


@_rule
def _broadcasts(e: Evidence) -> Iterator[Change]:
    if e.places.total > WHOLE:
        return
    for name, tensor in e.tensors.items():
        shape = tensor.spec.shape
        if shape == e.shape or tensor.spec.count < 2:
            continue
        array = e.array(name)
        for a, b in itertools.combinations(range(len(e.shape)), 2):
            if e.shape[a] == e.shape[b] > 1:
                with contextlib.suppress(ValueError):
                    laid = np.broadcast_to(array, e.shape).swapaxes(a, b)
                    text = f"got is what {name} gives along axis {a} instead of axis {b}"
                    if laid.shape == e.shape and not np.array_equal(laid, np.broadcast_to(array, e.shape)):
                        yield f"{text}: broadcast along another axis", {"arrays": {name: laid}}
        flat = np.resize(np.ascontiguousarray(array).reshape(-1), e.shape)
        text = f"got is what {name} gives as flat memory, again from its start where it ends"
        yield f"{text}: its broadcast looks ignored", {"arrays": {name: flat}}


def _exchanged_axes(e: Evidence) -> Explanation | None:
    """For an operator that is not elementwise: the full tensors with two axes exchanged, and the result back."""
    rerun = e.rerun
    full = [name for name, tensor in e.tensors.items() if tensor.spec.shape == e.shape]
    if rerun is None or not full or len(full) == len(e.tensors):
        return None
    for a, b in itertools.combinations(range(len(e.shape)), 2):
        if e.shape[a] != e.shape[b] or e.shape[a] < 2:
            continue
        at = np.unravel_index(e.at, e.shape)
        turned = list(at)
        turned[a], turned[b] = at[b], at[a]
        arrays = {n: np.ascontiguousarray(np.swapaxes(e.array(n), a, b)) for n in full}
        values = rerun.values(arrays=arrays, at=np.ravel_multi_index(tuple(turned), e.shape))
        if values is None:
            return None
        share = e.share(e.alike(values))
        if share >= NEARLY_ALL and e.agrees(values):
            small = ", ".join(n for n in e.tensors if n not in full and e.tensors[n].spec.count == e.shape[a])
            text = f"got is what axis {a} gives in the place of axis {b}: {small} lie along the wrong axis"
            return Explanation(text, share, complete=True, guess=True)
    return None
