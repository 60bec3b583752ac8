"""Whether a kernel that leaves out the end of a reduced axis would pass: what a passing verdict is worth there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property

import numpy as np

from ascend_opcli.model import Call, Shape, StandardChoice
from ascend_opcli.operators.operator import Operator
from ascend_opcli.reference.evaluate import Arrays
from ascend_opcli.reference.omissions import Axis, axes, corner, lengths
from ascend_opcli.tensors.dtypes import round_to
from ascend_opcli.verification.compare.whole_output import judged
from ascend_opcli.verification.comparison import Comparison
from ascend_opcli.verification.standards.named import make
from ascend_opcli.verification.standards.rule import Standard


class OmittedEnds:
    """The omissions of one call, worked out when first asked for and shared by its outputs."""

    def __init__(self, operator: Operator, call: Call, goldens: Arrays) -> None:
        self._operator, self._call, self._goldens = operator, call, goldens

    def passing(self, comparison: Comparison, choice: StandardChoice) -> Iterator[str]:
        """Of every axis that an output reduces, the longest end without which the output would still pass.

        A distribution is not asked.
        """
        standard = make(choice, comparison.dtype)
        if standard.whole == "random":
            return
        for axis in self._axes:
            if comparison.name not in axis.reduced:
                continue

            def passes(length: int, axis: Axis = axis) -> bool:
                return any(_passes(comparison, without, axis, standard) for without in axis.without(length))

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
    comparison: Comparison, without: Mapping[str, np.ndarray], axis: Axis, standard: Standard
) -> bool:
    name, dtype, third = comparison.name, comparison.dtype, comparison.third
    if name not in without or not without[name].size:
        return False
    shape = without[name].shape
    golden = _corner(axis.whole[name], shape)
    if golden.shape != shape:
        return False
    if third is not None:
        third = _corner(third.reshape(axis.shapes[name]), shape)
    with np.errstate(all="ignore"):
        answer = Comparison(name, round_to(without[name], dtype), golden, dtype, third=third)
        return not judged(answer.under(standard), standard, threads=1).failed


def _corner(whole: np.ndarray, shape: Shape) -> np.ndarray:
    return np.asarray(
        corner(whole, shape), order="C"
    )  # not ascontiguousarray, which makes an axis of a scalar
