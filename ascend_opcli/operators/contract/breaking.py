"""How an accepted call can be made to break a fact: one parameter changed at a time, as little as will do."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ascend_opcli.model import Argument, Attribute, Fill, Shape, TensorSpec
from ascend_opcli.operators.arguments import Arguments
from ascend_opcli.operators.contract.changes import Variation, reshaped, retyped
from ascend_opcli.operators.contract.rules import ALL_DTYPES

_SHAPES = ("rank", "shape", "numel", "dim", "same_shape", "same_rank", "shape_of", "empty", "not_empty")
_FORMATS = ("FRACTAL_NZ", "NHWC", "NCHW", "ND")


def variations(
    condition: Sequence[Any], names: Sequence[str], arguments: Arguments, breaks: Callable[[Arguments], bool]
) -> Iterator[Variation]:
    """The first change of each of ``names``, parameters that the condition reads, of which ``breaks`` is true."""
    if condition[0] == "not_all_null":
        yield Variation(f"{'+'.join(condition[1:])}=null", dict.fromkeys(condition[1:]))
        return
    if condition[0] == "null":
        yield from _given(condition[1], arguments)
        return
    for name in names:
        for label, changed in _changes(name, arguments.get(name), condition):
            changes = {name: changed}
            if breaks({**arguments, **changes}):
                yield Variation(f"{name}={label}", changes)
                break


def _given(name: str, arguments: Arguments) -> Iterator[Variation]:
    """A pointer that must be null, given: a tensor like the first one."""
    first = next((a for a in arguments.values() if isinstance(a, TensorSpec)), None)
    if first is not None and arguments.get(name) is None:
        yield Variation(f"{name}=given", {name: dataclasses.replace(reshaped(first, (1,)), data=Fill(1))})


def _changes(name: str, argument: Argument, condition: Sequence[Any]) -> Iterator[tuple[str, Argument]]:
    asked = _asked(name, condition)
    if asked & {"notnull"}:
        yield "null", None
    if isinstance(argument, TensorSpec):
        yield from _of_tensor(argument, asked)
    elif isinstance(argument, tuple) and argument:
        for label, spec in _of_tensor(argument[-1], asked):
            yield label, (*argument[:-1], spec)
        yield f"{len(argument) + 1}members", (*argument, argument[-1])
    elif isinstance(argument, Attribute):
        yield from _of_attribute(argument, asked)


def _of_tensor(spec: TensorSpec, asked: set[str]) -> Iterator[tuple[str, TensorSpec]]:
    if asked & {"dtype", "same_dtype"}:
        yield from ((d, retyped(spec, d)) for d in ALL_DTYPES if d != spec.dtype)
    if asked & set(_SHAPES):
        yield from (("x".join(map(str, s)) or "0d", reshaped(spec, s)) for s in _shapes(spec.shape))
        yield "rank9", reshaped(spec, (1,) * 9)
    if any("format" in word for word in asked):
        yield from ((f, dataclasses.replace(spec, format=f)) for f in _FORMATS if f != spec.format)


def _shapes(shape: Shape) -> Iterator[Shape]:
    """Longer by one in the last axis or the first, with an axis more, with an axis less, empty."""
    if shape:
        yield (*shape[:-1], shape[-1] + 1)
        yield (shape[0] + 1, *shape[1:])
    yield (1, *shape)
    yield (*shape, 1)
    if shape:
        yield shape[1:]
        yield (0, *shape[1:])


def _of_attribute(attribute: Attribute, asked: set[str]) -> Iterator[tuple[str, Attribute]]:
    value = attribute.value
    if isinstance(value, tuple):
        last = value[-1] if value else 1
        yield f"{len(value) + 1}values", dataclasses.replace(attribute, value=(*value, last))
        if value:
            yield f"{len(value) - 1}values", dataclasses.replace(attribute, value=value[:-1])
            yield from (
                (f"{n}", dataclasses.replace(attribute, value=(*value[:-1], n))) for n in (-1, 0, 100)
            )
    elif "dtype" in asked and not isinstance(value, str):
        yield from ((d, Attribute(1, d)) for d in ALL_DTYPES)
    elif isinstance(value, bool):
        yield str(not value).lower(), dataclasses.replace(attribute, value=not value)
    elif isinstance(value, int):
        yield from ((f"{n}", dataclasses.replace(attribute, value=n)) for n in (-1, 0, 1, 2, 3, 9, 100, -100))
    elif isinstance(value, float):
        yield from ((f"{n}", dataclasses.replace(attribute, value=n)) for n in (-1.0, 0.0, 1.0, 2.0))
    elif value in ALL_DTYPES:
        yield from ((d, dataclasses.replace(attribute, value=d)) for d in ALL_DTYPES if d != value)
    elif isinstance(value, str):
        yield "other", dataclasses.replace(attribute, value="other")


def _asked(name: str, found: Any) -> set[str]:
    """The words that a condition asks of a parameter."""
    if not isinstance(found, list) or not found:
        return set()
    made = {found[0]} if any(isinstance(p, str) and p.partition("[")[0] == name for p in found[1:]) else set()
    for part in found[1:]:
        made |= _asked(name, part)
    return made
