"""Derived data: ``data: {expr: ...}``, the values of an input worked out of other inputs and attributes.

The language is that of `expression`, with generators that draw values of the tensor's own shape, as they do by
themselves, and words for what index inputs need: ``sorted``, ``unique``, ``offsets``, ``index_of``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy as np

from ascend_opcli.expression import shapes
from ascend_opcli.expression.functions import FUNCTIONS, Function
from ascend_opcli.expression.functions import distinct as distinct_values
from ascend_opcli.expression.language import Expression, compile_expression
from ascend_opcli.expression.shapes import Described, UnknownShape, shape_of
from ascend_opcli.model import (
    Argument,
    Attribute,
    BoundArgument,
    Derived,
    Generator,
    Shape,
    Tensor,
    TensorSpec,
)
from ascend_opcli.operators.signature import Signature
from ascend_opcli.tensors import data, layout
from ascend_opcli.tensors.dtypes import dtype as dtype_of
from ascend_opcli.tensors.dtypes import widen

_DRAWS = {"uniform": 2, "normal": 2, "integers": 2, "permutation": 0, "choice": 1}
_WHOLE = frozenset({"integers", "permutation"})


class DataFailure(ValueError):
    """An expression that gives no data for its tensor; one sentence."""


class DataError(ValueError):
    """Data that cannot be right whatever the values are; ``name`` is the parameter."""

    def __init__(self, name: str, message: str) -> None:
        super().__init__(message)
        self.name = name


# --- before anything is drawn ---------------------------------------------------------------------------------


def order(arguments: Mapping[str, Argument], signature: Signature) -> tuple[str, ...]:
    """The parameters with derived data, each after those that it reads.

    Raises DataError for a text beyond the language, a null pointer that is read, a shape that does not fit, a cycle.
    """
    reads: dict[str, set[str]] = {}
    for param in signature.inputs:
        for spec in _specs(arguments.get(param.name)):
            if isinstance(spec.data, Derived):
                reads.setdefault(param.name, set()).update(_check(param.name, spec, arguments, signature))
    ready: list[str] = []
    while len(ready) < len(reads):
        free = [n for n, read in reads.items() if n not in ready and not (read & reads.keys()) - set(ready)]
        if not free:
            left = [n for n in reads if n not in ready]
            circle = f"the data of {' and '.join(left)} hang on each other" if len(left) > 1 else ""
            raise DataError(left[0], circle or f"the data of {left[0]} hang on themselves")
        ready += free
    return tuple(ready)


def _check(
    name: str, spec: TensorSpec, arguments: Mapping[str, Argument], signature: Signature
) -> frozenset[str]:
    assert isinstance(spec.data, Derived)
    try:
        expression = _compiled(spec.data.text, _names(signature))
        for read in sorted(expression.names):
            if arguments.get(read) is None and f"isnull({read})" not in expression.text.replace(" ", ""):
                raise ValueError(f"the expression reads {read}, which is null")
        described = {n: _described(arguments.get(n)) for n in expression.names}
        made = expression.with_functions(_functions(spec, 0, name)).shapes(**described)
    except (ValueError, TypeError, OverflowError, ZeroDivisionError) as error:
        raise DataError(name, f"{name}: {error}") from None
    if expression.several:
        raise DataError(name, f"{name}: the expression gives several results, a tensor takes one")
    if made is not None and not _fits(made[0], spec.shape):
        raise DataError(
            name, f"{name}: the expression gives the shape {list(made[0])}, the tensor has {list(spec.shape)}"
        )
    return expression.names


def _names(signature: Signature) -> tuple[str, ...]:
    return tuple(p.name for p in signature.params if not p.is_tensor or p.is_input)


@lru_cache(maxsize=1024)
def _compiled(text: str, names: tuple[str, ...]) -> Expression:
    return compile_expression(text, names, what="the expression", functions=_KNOWN)


def _specs(argument: Argument) -> tuple[TensorSpec, ...]:
    if isinstance(argument, tuple):
        return argument
    return (argument,) if isinstance(argument, TensorSpec) else ()


def _described(argument: Argument) -> Any:
    if isinstance(argument, tuple):
        return tuple(Described(spec.shape) for spec in argument)
    if isinstance(argument, TensorSpec):
        return Described(argument.shape)
    return argument.value if argument is not None else None


def _fits(made: Shape, shape: Shape) -> bool:
    try:
        return np.broadcast_shapes(made, shape) == tuple(shape)
    except ValueError:
        return False


# --- values ---------------------------------------------------------------------------------------------------


def bind(
    name: str, spec: TensorSpec, seed: int, bound: Mapping[str, BoundArgument], signature: Signature
) -> Tensor:
    """The tensor of derived data, of parameters that are bound already.

    The expression sees floats as float64, its result is rounded to the tensor's dtype once. Raises DataFailure.
    """
    assert isinstance(spec.data, Derived)
    expression = _compiled(spec.data.text, _names(signature))
    values = {n: _value(bound.get(n)) for n in expression.names}
    try:
        with np.errstate(all="ignore"):
            made = np.asarray(expression.with_functions(_functions(spec, seed, name))(**values))
            if not _fits(made.shape, spec.shape):
                raise ValueError(f"the expression gives the shape {list(made.shape)}, not {list(spec.shape)}")
            if made.dtype.kind not in "biufc" or (made.dtype.kind == "c") > spec.dtype.startswith("complex"):
                raise ValueError(f"the expression gives {made.dtype.name}, the tensor is {spec.dtype}")
            whole = np.broadcast_to(made, spec.shape).reshape(-1)
            flat = data.stored(whole, spec.data, dtype=spec.dtype, shape=spec.shape, seed=seed, name=name)
    except Exception as error:
        said = error if isinstance(error, ValueError) else f"{type(error).__name__}: {error}"
        raise DataFailure(f"no data for {name}: {' '.join(str(said).split())}") from None
    return layout.place(flat, spec)


def _value(bound: BoundArgument) -> Any:
    if isinstance(bound, tuple):
        return tuple(_value(item) for item in bound)
    if isinstance(bound, Attribute):
        return bound.value
    if bound is None:
        return None
    array = layout.view(bound)
    if array.dtype.kind == "c":
        return array.astype(np.complex128)
    return array if array.dtype.kind in "biu" else widen(array, np.float64)


# --- words ----------------------------------------------------------------------------------------------------


class _Draws:
    """What is drawn for one tensor. The first draw of an expression is that of the generator alone."""

    def __init__(self, spec: TensorSpec, seed: int, name: str) -> None:
        self._shape, self._seed, self._name, self._drawn = spec.shape, seed, name, 0
        self._float = spec.dtype if dtype_of(spec.dtype).kind in ("float", "complex") else "float64"

    def draw(self, kind: str, *args: Any, shape: Shape | None = None) -> np.ndarray:
        """Values of the tensor's shape, or of another."""
        numbers = tuple(_plain(a) for a in (args[0] if kind == "choice" else args))
        whole = kind in _WHOLE or (all(isinstance(a, int) for a in numbers) and kind == "choice")
        dtype = "int64" if whole else self._float
        name = f"{self._name}#{self._drawn}" if self._drawn else self._name
        self._drawn += 1
        own = self._shape if shape is None else shape
        made = data.generate(Generator(kind, numbers), dtype=dtype, shape=own, seed=self._seed, name=name)
        if made.dtype.kind == "c":
            return made.astype(np.complex128).reshape(own)
        return np.asarray(made if whole else widen(made, np.float64)).reshape(own)

    def unique(self, low: Any, high: Any = None) -> np.ndarray:
        """Different whole numbers of [low, high] in random order; of one array, NumPy's sorted distinct values."""
        if high is None:
            return distinct_values(low)
        count, low = math.prod(self._shape), _plain(low)
        span = _plain(high) - low + 1
        if span < count:
            raise ValueError(f"unique({low}, {high}) has {max(span, 0)} numbers for {count} elements")
        if span <= 4 * count:
            first_of = self.draw("permutation", shape=(span,))[:count]
            return np.asarray(first_of + low).reshape(self._shape)
        tries = count + count // 2 + 16
        while True:
            drawn = self.draw("integers", low, low + span - 1, shape=(tries,))
            _, first = np.unique(drawn, return_index=True)
            if first.size >= count:
                return drawn[np.sort(first)[:count]].reshape(self._shape)
            tries *= 2

    def offsets(self, lengths: Any, last: Any = False) -> np.ndarray:
        """Where parts begin: of an array of lengths their running sum from 0; of a total, sorted numbers from 0.

        ``last`` makes the total the last one.
        """
        count = math.prod(self._shape)
        if np.ndim(lengths):
            ends = np.cumsum(np.ravel(lengths)).astype(np.int64)
            begins = np.concatenate((np.zeros(1, np.int64), ends))
            if count not in (begins.size, ends.size):
                raise ValueError(
                    f"offsets of {ends.size} lengths are {ends.size} or {begins.size}, not {count}"
                )
            return (begins[:count] if not last or count == begins.size else ends).reshape(self._shape)
        total = _plain(lengths)
        made = np.sort(self.draw("integers", 0, total, shape=(count,)))
        made[:1] = 0
        if last:
            made[-1:] = total
        return made.reshape(self._shape)

    def index_of(self, x: Any, axis: Any = 0) -> np.ndarray:
        """Valid indices along an axis of another tensor."""
        shape = shape_of(x)
        if not -len(shape) <= axis < len(shape):
            raise ValueError(f"index_of axis {axis} of a tensor of {len(shape)} axes")
        if shape[axis] == 0 and math.prod(self._shape):
            raise ValueError(f"index_of axis {axis} of {list(shape)}: there is nothing to point at")
        return self.draw("integers", 0, max(shape[axis] - 1, 0))


def _plain(value: Any) -> Any:
    """A number of an expression as Python's own, a whole one as int."""
    number = value.item() if isinstance(value, (np.generic, np.ndarray)) and value.size == 1 else value
    return int(number) if isinstance(number, float) and number.is_integer() else number


def _functions(spec: TensorSpec, seed: int, name: str) -> dict[str, Function]:
    """The words of derived data for one tensor."""
    draws, shape = _Draws(spec, seed, name), tuple(spec.shape)

    def own(*_: Any, **__: Any) -> Shape:
        return shape

    def distinct(low: Any, high: Any = None) -> Shape:
        if high is None:
            raise UnknownShape(math.prod(shape_of(low)))
        return shape

    def drawing(kind: str) -> Any:
        return lambda *args: draws.draw(kind, *args)

    made = {kind: Function(drawing(kind), own, n, weight=8, drawn=True) for kind, n in _DRAWS.items()}
    made["unique"] = Function(draws.unique, distinct, 2, weight=64, drawn=True)
    made["offsets"] = Function(draws.offsets, own, 1, frozenset({"last"}), weight=64, drawn=True)
    made["index_of"] = Function(draws.index_of, own, 2, frozenset({"axis"}), weight=8, drawn=True)
    made["sorted"] = Function(np.sort, shapes.same, 2, frozenset({"axis"}), weight=24)
    return made


_NOTHING = TensorSpec("float32", (), None, (), 0, (1,))
_KNOWN: Mapping[str, Function] = {**FUNCTIONS, **_functions(_NOTHING, 0, "")}
"""Every name that an expression over data may call."""
