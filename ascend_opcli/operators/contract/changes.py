"""Changes to an accepted call: how a rule is broken on purpose."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from ascend_opcli.model import Argument, Fill, Shape, TensorSpec
from ascend_opcli.operators.arguments import Arguments, first_spec


@dataclass(frozen=True, slots=True)
class Variation:
    """A change to an accepted call: parameters replaced, and the product where that is what changes."""

    label: str
    changes: Mapping[str, Argument] = field(default_factory=dict)
    product: str | None = None


def retyped(spec: TensorSpec, dtype: str) -> TensorSpec:
    """The same tensor in another dtype, filled with a value that every dtype has."""
    return dataclasses.replace(spec, dtype=dtype, data=None if spec.data is None else Fill(1))


def reshaped(spec: TensorSpec, shape: Shape) -> TensorSpec:
    """A contiguous tensor of another shape."""
    strides: list[int] = []
    count = 1
    for dim in reversed(shape):
        strides.insert(0, count)
        count *= max(dim, 1)
    total = 0 if 0 in shape else count
    return dataclasses.replace(
        spec,
        shape=shape,
        strides=tuple(strides),
        offset=0,
        storage_shape=(total,),
        layout="contiguous",
        data=None if spec.data is None else Fill(1),
    )


def to_dtype(dtype: str) -> Callable[[TensorSpec], TensorSpec]:
    """The change that :func:`retyped` makes."""
    return lambda spec: retyped(spec, dtype)


def to_shape(shape: Shape) -> Callable[[TensorSpec], TensorSpec]:
    """The change that :func:`reshaped` makes."""
    return lambda spec: reshaped(spec, shape)


def change(
    arguments: Arguments, names: Sequence[str], how: Callable[[TensorSpec], TensorSpec]
) -> dict[str, Argument]:
    """The named tensors changed alike; those that are null stay null."""
    specs = {name: first_spec(arguments.get(name)) for name in names}
    return {name: how(spec) for name, spec in specs.items() if spec is not None}
