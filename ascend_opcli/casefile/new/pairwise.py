"""Rows in which every pair of values of any two axes occurs."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import TypeVar

T = TypeVar("T")


def pairwise(
    axes: Sequence[Sequence[T]], allowed: Callable[[tuple[T, ...]], bool] = lambda _row: True
) -> list[tuple[T, ...]]:
    """Rows of one value an axis that cover every pair which an allowed row of the product has.

    Greedy: of the rows that have the first pair not yet covered, the one that covers most such pairs.
    """
    rows = [row for row in itertools.product(*axes) if allowed(row)]
    if len(axes) < 2:
        return rows
    pairs = [tuple(itertools.combinations(_places(axes, row), 2)) for row in rows]
    holders: dict[object, list[int]] = {}
    for i, own in enumerate(pairs):
        for pair in own:
            holders.setdefault(pair, []).append(i)
    left = dict.fromkeys(holders)
    chosen: list[tuple[T, ...]] = []
    while left:
        best = max(holders[next(iter(left))], key=lambda i: sum(pair in left for pair in pairs[i]))
        chosen.append(rows[best])
        for pair in pairs[best]:
            left.pop(pair, None)
    return chosen


def _places(axes: Sequence[Sequence[T]], row: tuple[T, ...]) -> tuple[tuple[int, int], ...]:
    return tuple(
        (axis, next(i for i, own in enumerate(values) if own is value))
        for axis, (values, value) in enumerate(zip(axes, row, strict=True))
    )
