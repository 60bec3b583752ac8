"""The shapes of a default ladder: which an operator takes follows from the rank of an ordinary call of it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence

from ascend_opcli.model import Shape
from ascend_opcli.operators.operator import Operator

ROW = 1024
WINDOWS = 256


def candidates(operator: Operator, sizes: Sequence[int]) -> Iterator[list[str]]:
    """Ladders to try, the first that suits is taken: shapes of the given numbers of elements (4096 or more).

    Rows of 1024, or [N, 64, L] where an axis is a channel; else shapes of the rank of the operator's ordinary call,
    its first axis growing; at last that call itself.
    """
    rank = len(operator.sample_shape)
    own = [_of_rank(rank, size) for size in sizes]
    if rank == 1:
        yield _texts(own)
        yield _texts([operator.sample_shape])
        return
    if operator.name in _SHAPES:
        yield _texts([_SHAPES[operator.name](size) for size in sizes])
    elif operator.elementwise or operator.reference is None:
        yield _texts([(size // ROW, ROW) for size in sizes])
    else:
        yield _texts([(max(1, size >> 16), 64, min(size >> 6, ROW)) for size in sizes])
    yield _texts(own)
    yield _texts([operator.sample_shape])


def _of_rank(rank: int, size: int) -> Shape:
    """A shape of so many axes and elements; the last ones stay as they are, so that any number of rows is alike."""
    tails: Mapping[int, Shape] = {1: (), 2: (ROW,), 3: (16, 64), 4: (16, 16, 16), 5: (4, 4, 16, 16)}
    if rank not in tails:
        return (size,) if rank == 0 else (*(1,) * (rank - 5), *_of_rank(5, size))
    rows = size
    for dim in tails[rank]:
        rows //= dim
    return (max(1, rows), *tails[rank])


def _texts(shapes: Sequence[Shape]) -> list[str]:
    return ["x".join(map(str, shape)) if shape else "scalar" for shape in shapes]


# Shapes that an operator's attributes ask for: the gradient of unfold is given by windows of 4.
_SHAPES: Mapping[str, Callable[[int], Shape]] = {
    "aclnnUnfoldGrad": lambda size: (max(1, size // (4 * WINDOWS)), min(WINDOWS, size // 4), 4),
}


def attributes_for(operator: Operator, shape: str) -> Mapping[str, int | tuple[int, ...]]:
    """The attributes of an ordinary call that must follow the shape, such as the axes that a norm covers."""
    made = _FOLLOWING.get(operator.name)
    if made is None or not re.fullmatch(r"\d+(x\d+)+", shape):
        return {}
    dims = tuple(map(int, shape.split("x")))
    # The ordinary call's own shape has the ordinary call's attributes.
    return made(dims) if dims != operator.sample_shape and len(dims) >= 2 else {}


def _groups(channels: int) -> int:
    """A number of groups that divides the channels."""
    return next(n for n in (8, 3, 2, 1) if channels % n == 0)


def _count(shape: Shape) -> int:
    count = 1
    for dim in shape:
        count *= dim
    return count


_FOLLOWING: Mapping[str, Callable[[Shape], Mapping[str, int | tuple[int, ...]]]] = {
    "aclnnGroupNorm": lambda s: {"N": s[0], "C": s[1], "HxW": _count(s[2:]), "group": _groups(s[1])},
    "aclnnGroupNormSilu": lambda s: {"group": _groups(s[1])},
    "aclnnGroupNormSiluV2": lambda s: {"group": _groups(s[1])},
    **dict.fromkeys(
        ("aclnnLayerNorm", "aclnnLayerNormWithImplMode", "aclnnLayerNormBackward"),
        lambda s: {"normalizedShape": s[-1:]},
    ),
    "aclnnExpand": lambda s: {"size": (2, *s)},
    "aclnnRepeatInterleave": lambda s: {"outputSize": 2 * _count(s)},
    "aclnnRepeatInterleaveWithDim": lambda s: {"outputSize": 2 * s[1]},
    "aclnnUnfoldGrad": lambda s: {"inputSizes": (s[0], 2 * s[1] + 2)},
}
