"""Whether a kernel that leaves out the end of a reduced axis would pass: what a passing verdict is worth there."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import numpy as np

from ascend_opcli.model import Call, Shape, StandardChoice
from ascend_opcli.operators.operator import Operator
from ascend_opcli.reference.evaluate import Arrays
from ascend_opcli.reference.omissions import Axis, axes, corner, lengths
from ascend_opcli.tensors.dtypes import dtype as dtype_of
from ascend_opcli.tensors.dtypes import round_to
from ascend_opcli.verification.compare.whole_output import judged
from ascend_opcli.verification.judge import as_compared
from ascend_opcli.verification.standards.named import make


class Ends:
    """The omissions of one call, worked out when first asked for and shared by its outputs."""

    def __init__(self, operator: Operator, call: Call, goldens: Arrays) -> None:
        self._operator, self._call, self._goldens = operator, call, goldens

    def passing(
        self, name: str, dtype: str, choice: StandardChoice, third: np.ndarray | None = None
    ) -> tuple[str, ...]:
        """Of every axis that an output reduces, the longest end without which the output would still pass.

        ``third`` is the third-party result of the whole output. A distribution is not asked.
        """
        if make(choice, dtype).whole == "random":
            return ()
        return tuple(self._of_axes(name, dtype_of(dtype).name, choice, third))

    def _of_axes(
        self, name: str, dtype: str, choice: StandardChoice, third: np.ndarray | None
    ) -> Iterator[str]:
        for axis in self._axes:
            if name not in axis.reduced:
                continue

            def passes(length: int, axis: Axis = axis) -> bool:
                whole, shape = axis.whole[name], axis.shapes[name]
                return any(
                    name in made and _passes(made[name], whole, shape, dtype, choice, third)
                    for made in axis.without(length)
                )

            ends = lengths(axis.size)
            # A longer end has the shorter ones in it: where two fail the others do, or nearly always.
            if not any(passes(length) for length in ends[:2]):
                continue
            longest = next(length for length in reversed(ends) if passes(length))
            yield f"{axis.name} without its last {'element' if longest == 1 else f'{longest:,} elements'}"

    @cached_property
    def _axes(self) -> list[Axis]:
        return list(axes(self._operator, self._call, self._goldens))


def _passes(
    result: np.ndarray,
    whole: np.ndarray,
    shape: Shape,
    dtype: str,
    choice: StandardChoice,
    third: np.ndarray | None,
) -> bool:
    # Not ascontiguousarray, which makes an axis of a scalar.
    golden = as_compared(np.asarray(corner(whole, result.shape), order="C"), dtype, choice)
    if not result.size or golden.shape != result.shape:
        return False
    beside = None
    if third is not None:
        beside = np.asarray(corner(third.reshape(shape), result.shape), order="C")
    with np.errstate(all="ignore"):
        answer = round_to(result, dtype)
        return not judged(answer, golden, dtype, make(choice, dtype), third=beside, threads=1).failed
