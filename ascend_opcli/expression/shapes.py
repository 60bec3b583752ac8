"""Shapes of what the functions of the expression language give, told before anything is computed.

Each rule takes what its function takes, arrays being anything with a ``shape``, and gives the shape of the result
(a list of shapes where there are several results). :class:`Unknown` where values decide; its ``most`` is then the
largest number of elements. A wrong axis or shape raises what NumPy raises.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ascend_opcli.model import Shape

Rule = Callable[..., "Shape | list[Shape]"]


class UnknownShape(Exception):
    """The shape hangs on values; ``most`` bounds the elements, None where only the values tell that too."""

    def __init__(self, most: int | None = None) -> None:
        super().__init__("the shape hangs on the values")
        self.most = most


class Described:
    """An array of which only the shape is known."""

    def __init__(self, shape: Sequence[int]) -> None:
        self.shape: Shape = tuple(int(dim) for dim in shape)


def shape_of(value: Any) -> Shape:
    """The shape of an array, a described one, a number, or a tuple of these."""
    if isinstance(value, (Described, np.ndarray)):
        return value.shape
    if isinstance(value, tuple):
        inner = {shape_of(item) for item in value}
        if len(inner) > 1:
            raise ValueError("a list whose parts differ in shape is no array")
        return (len(value), *(inner.pop() if inner else ()))
    return ()


def _known(value: Any) -> Any:
    """A number that must be there to tell a shape."""
    if isinstance(value, Described):
        raise UnknownShape
    if isinstance(value, tuple):
        return tuple(_known(item) for item in value)
    return value


def _axes(axis: Any, rank: int) -> tuple[int, ...]:
    axis = _known(axis)
    if axis is None:
        return tuple(range(rank))
    axes = tuple(int(a) for a in (axis if isinstance(axis, tuple) else (axis,)))
    for one in axes:
        if not -rank <= one < rank:
            raise ValueError(f"axis {one} does not exist in an array of {rank} axes")
    return tuple(a % rank for a in axes)


def elementwise(*args: Any, **_: Any) -> Shape:
    """The broadcast of all arguments."""
    return tuple(np.broadcast_shapes(*(shape_of(a) for a in args)))


def pair(*args: Any, **_: Any) -> list[Shape]:
    """Two results of the broadcast shape."""
    return [elementwise(*args)] * 2


def reduced(a: Any, axis: Any = None, *_: Any, keepdims: Any = False, **__: Any) -> Shape:
    """The axes that are reduced go, or stay with one element."""
    shape = shape_of(a)
    gone = set(_axes(axis, len(shape)))
    if keepdims:
        return tuple(1 if i in gone else d for i, d in enumerate(shape))
    return tuple(d for i, d in enumerate(shape) if i not in gone)


def quantiles(a: Any, q: Any, axis: Any = None, **more: Any) -> Shape:
    """One reduction for each share."""
    return (*shape_of(q), *reduced(a, axis, **more))


def running(a: Any, axis: Any = None) -> Shape:
    """The same shape along an axis, flat without one."""
    shape = shape_of(a)
    if _known(axis) is None:
        return (math.prod(shape),)
    _axes(axis, len(shape))
    return shape


def same(a: Any, *_: Any, **__: Any) -> Shape:
    """The first argument's."""
    return shape_of(a)


def second(_: Any, b: Any, **__: Any) -> Shape:
    """The second argument's."""
    return shape_of(b)


def square(m: Any, *_: Any, **__: Any) -> Shape:
    """The same; what has one axis becomes a square (tril, triu)."""
    shape = shape_of(m)
    return shape * 2 if len(shape) == 1 else shape


def viewed(function: Callable[..., Any]) -> Rule:
    """By asking a function that only makes views, on an array without memory."""

    def rule(a: Any, *args: Any, **keywords: Any) -> Shape:
        empty = np.broadcast_to(np.int8(0), shape_of(a))
        made: Shape = function(
            empty, *(_known(x) for x in args), **{k: _known(v) for k, v in keywords.items()}
        ).shape
        return made

    return rule


def given(shape: Any, *_: Any, **__: Any) -> Shape:
    """The shape that is written (zeros, ones, full)."""
    shape = _known(shape)
    dims = shape if isinstance(shape, tuple) else (shape,)
    if any(int(d) < 0 for d in dims):
        raise ValueError("negative dimensions are not allowed")
    return tuple(int(d) for d in dims)


def reshaped(a: Any, shape: Any) -> Shape:
    """The shape that is written, with one -1 worked out."""
    count = math.prod(shape_of(a))
    shape = _known(shape)
    dims = [int(d) for d in (shape if isinstance(shape, tuple) else (shape,))]
    rest = math.prod(d for d in dims if d != -1)
    if dims.count(-1) == 1 and rest > 0 and count % rest == 0:
        dims[dims.index(-1)] = count // rest
    if any(d < 0 for d in dims) or math.prod(dims) != count:
        raise ValueError(f"cannot reshape an array of shape {list(shape_of(a))} into {dims}")
    return tuple(dims)


def flat(a: Any) -> Shape:
    """All elements in one axis."""
    return (math.prod(shape_of(a)),)


def repeated(a: Any, repeats: Any, axis: Any = None) -> Shape:
    """Each element so many times."""
    shape = shape_of(a) if _known(axis) is not None else flat(a)
    at = _axes(axis, len(shape))[0] if axis is not None else 0
    repeats = _known(repeats)
    counts = np.asarray(repeats)
    if counts.size and counts.min() < 0:
        raise ValueError("repeats may not contain negative values")
    length = int(counts.sum(dtype=object)) if counts.size > 1 else int(counts.reshape(-1)[0]) * shape[at]
    return (*shape[:at], length, *shape[at + 1 :])


def tiled(a: Any, reps: Any) -> Shape:
    """The array so many times along each axis."""
    reps = _known(reps)
    times = tuple(int(r) for r in (reps if isinstance(reps, tuple) else (reps,)))
    shape = shape_of(a)
    rank = max(len(times), len(shape))
    shape, times = (1,) * (rank - len(shape)) + shape, (1,) * (rank - len(times)) + times
    return given(tuple(d * r for d, r in zip(shape, times, strict=True)))


def joined(arrays: Any, axis: Any = 0) -> Shape:
    """The sum of the sizes along the axis."""
    shapes = [shape_of(a) for a in _several(arrays)]
    at = _axes(axis, len(shapes[0]))[0]
    rest = {(*s[:at], *s[at + 1 :]) for s in shapes}
    if len(rest) != 1:
        raise ValueError("arrays that are joined must agree in all other axes")
    return (*shapes[0][:at], sum(s[at] for s in shapes), *shapes[0][at + 1 :])


def stacked(arrays: Any, axis: Any = 0) -> Shape:
    """A new axis of as many arrays as there are."""
    shapes = {shape_of(a) for a in _several(arrays)}
    if len(shapes) != 1:
        raise ValueError("arrays that are stacked must have one shape")
    shape = shapes.pop()
    at = _axes(axis, len(shape) + 1)[0]
    return (*shape[:at], len(arrays), *shape[at:])


def in_columns(arrays: Any) -> Shape:
    """hstack: along axis 1, of arrays with one axis along that."""
    ready = tuple(Described(shape_of(a) or (1,)) for a in _several(arrays))
    return joined(ready, 0 if len(ready[0].shape) == 1 else 1)


def in_rows(arrays: Any) -> Shape:
    """vstack: along axis 0, a row for each array with one axis."""
    shapes = [shape_of(a) for a in _several(arrays)]
    return joined(tuple(Described(s if len(s) > 1 else (1, *(s or (1,)))) for s in shapes))


def _several(arrays: Any) -> tuple[Any, ...]:
    if not isinstance(arrays, tuple) or not arrays:
        raise ValueError("arrays that are joined stand in a tuple: (a, b)")
    return arrays


def padded(a: Any, pad_width: Any, *_: Any, **__: Any) -> Shape:
    """The widths before and after are added to each axis."""
    shape = shape_of(a)
    widths = np.broadcast_to(np.asarray(_known(pad_width)), (len(shape), 2)).tolist()
    if any(w < 0 for one in widths for w in one):
        raise ValueError("a pad cannot be negative")
    return tuple(d + before + after for d, (before, after) in zip(shape, widths, strict=True))


def taken(a: Any, indices: Any, axis: Any = None, **_: Any) -> Shape:
    """The shape of the indices in place of the axis."""
    if _known(axis) is None:
        return shape_of(indices)
    shape = shape_of(a)
    at = _axes(axis, len(shape))[0]
    return (*shape[:at], *shape_of(indices), *shape[at + 1 :])


def taken_along(a: Any, indices: Any, axis: Any) -> Shape:
    """The other axes broadcast, the axis is that of the indices."""
    shape, wanted = shape_of(a), shape_of(indices)
    at = _axes(axis, len(shape))[0]
    return elementwise(Described((*shape[:at], 1, *shape[at + 1 :])), Described(wanted))


def differences(a: Any, n: Any = 1, axis: Any = -1) -> Shape:
    """Shorter by n along the axis."""
    shape = shape_of(a)
    at = _axes(axis, len(shape))[0]
    if int(_known(n)) < 0:
        raise ValueError("diff takes n of 0 or more")
    return (*shape[:at], max(shape[at] - int(n), 0), *shape[at + 1 :])


def product(a: Any, b: Any) -> Shape:
    """matmul: the last two axes multiply, the others broadcast."""
    x, y = shape_of(a), shape_of(b)
    if not x or not y:
        raise ValueError("matmul takes arrays with an axis at least")
    left, right = x if len(x) > 1 else (1, *x), y if len(y) > 1 else (*y, 1)
    if left[-1] != right[-2]:
        raise ValueError(f"matmul of {list(x)} and {list(y)}: {left[-1]} is not {right[-2]}")
    made = tuple(np.broadcast_shapes(left[:-2], right[:-2]))
    made += (left[-2],) if len(x) > 1 else ()
    return made + ((right[-1],) if len(y) > 1 else ())


def dotted(a: Any, b: Any) -> Shape:
    """dot: the last axis of a with the last but one of b."""
    x, y = shape_of(a), shape_of(b)
    if not x or not y:
        return x + y
    if x[-1] != (y[-2] if len(y) > 1 else y[0]):
        raise ValueError(f"dot of {list(x)} and {list(y)}: the axes do not fit")
    return x[:-1] + (y[:-2] + y[-1:] if len(y) > 1 else ())


def inner(a: Any, b: Any) -> Shape:
    """The last axes of both multiply."""
    x, y = shape_of(a), shape_of(b)
    return x[:-1] + y[:-1] if x and y else x + y


def outer(a: Any, b: Any) -> Shape:
    """Every element of a with every one of b."""
    return (math.prod(shape_of(a)), math.prod(shape_of(b)))


def kron(a: Any, b: Any) -> Shape:
    """Kronecker's product."""
    return tiled(a, shape_of(b)) if shape_of(b) else shape_of(a)


def summed(subscripts: str, *arrays: Any) -> Shape:
    """einsum with letters, commas and an arrow."""
    sizes = labels(subscripts, *arrays)
    terms, _, out = subscripts.replace(" ", "").partition("->")
    if "->" not in subscripts:
        joint = terms.replace(",", "")
        out = "".join(sorted(c for c in set(joint) if joint.count(c) == 1))
    if len(set(out)) != len(out) or not set(out) <= set(sizes):
        raise ValueError(f"einsum '{subscripts}': the result has a letter twice, or one that no array has")
    return tuple(sizes[c] for c in out)


def labels(subscripts: str, *arrays: Any) -> dict[str, int]:
    """The size of each letter of an einsum."""
    terms = subscripts.replace(" ", "").partition("->")[0].split(",")
    if len(terms) != len(arrays) or not all((t.isascii() and t.isalpha()) or not t for t in terms):
        raise ValueError(
            f"einsum '{subscripts}' reads letters for each of the {len(arrays)} arrays: 'ij,jk->ik'"
        )
    sizes: dict[str, int] = {}
    for term, array in zip(terms, arrays, strict=True):
        shape = shape_of(array)
        if len(term) != len(shape):
            raise ValueError(f"einsum '{subscripts}': {term} does not fit an array of shape {list(shape)}")
        for letter, size in zip(term, shape, strict=True):
            if sizes.setdefault(letter, size) != size:
                raise ValueError(f"einsum '{subscripts}': {letter} is {sizes[letter]} and {size}")
    return sizes


def counted(start: Any, stop: Any = None, step: Any = 1) -> Shape:
    """arange: as many as there are steps."""
    start, stop, step = _known(start), _known(stop), _known(step)
    if stop is None:
        start, stop = 0, start
    return (max(0, math.ceil((stop - start) / step)),)


def spaced(start: Any, stop: Any, num: Any = 50) -> Shape:  # noqa: ARG001
    """linspace: as many as are asked for."""
    return given(num)


def table(n: Any, m: Any = None, k: Any = 0) -> Shape:  # noqa: ARG001
    """eye and tri: n rows, m columns."""
    return given((n, n if _known(m) is None else m))


def diagonal(v: Any, k: Any = 0) -> Shape:
    """diag: a square of one axis, the diagonal of two."""
    shape = shape_of(v)
    if len(shape) == 1:
        return (shape[0] + abs(int(_known(k))),) * 2
    return np.diagonal(np.broadcast_to(np.int8(0), shape), int(_known(k))).shape


def traced(a: Any) -> Shape:
    """trace: the first two axes go."""
    return shape_of(a)[2:]


def picked(a: Any, *_: Any, **__: Any) -> Shape:
    """unique, flatnonzero: not more than there were."""
    raise UnknownShape(math.prod(shape_of(a)))


def compressed(condition: Any, a: Any, *_: Any, **__: Any) -> Shape:  # noqa: ARG001
    """compress: not more than there were."""
    raise UnknownShape(math.prod(shape_of(a)))


def binned(x: Any, weights: Any = None, minlength: Any = 0) -> Shape:  # noqa: ARG001
    """bincount: one more than the largest number."""
    values, least = _known(x), int(_known(minlength))
    values = np.asarray(values)
    return (max(int(values.max()) + 1 if values.size else 0, least),)


def crossed(a: Any, b: Any) -> Shape:
    """cross of vectors of three."""
    if not all(shape_of(v)[-1:] == (3,) for v in (a, b)):
        raise ValueError("cross takes vectors of three")
    return elementwise(a, b)
