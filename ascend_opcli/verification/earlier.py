"""The outputs of the last calls, kept as they are: a failed output may hold what one of them left."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ascend_opcli.model import Outcome, Verdict
from ascend_opcli.tensors.dtypes import name_of, numpy_dtype
from ascend_opcli.verification.elements import figures
from ascend_opcli.verification.flat import take
from ascend_opcli.verification.standards import default_for, make

CALLS = 2
"""Outputs that are kept of each operator, output and dtype."""

LARGEST = 1 << 20
"""Bytes above which an output is not kept."""

NAMES = 32
"""Operators, outputs and dtypes of which outputs are kept; those used longest ago go first."""


@dataclass(frozen=True, slots=True)
class Left:
    """What an earlier call left in an output. ``right`` is False where that was wrong itself; None: nowhere."""

    output: np.ndarray
    right: np.ndarray | None = None

    def at(self, places: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Which of the flat places it has a right element at, and the elements there."""
        there = places < self.output.size
        if self.right is not None:
            there[there] = take(self.right, places[there])
        return there, take(self.output, places[there])


class Earlier:
    """Nothing is copied: an output lives on until newer ones take its place. At most 64 MB in all, and for
    outputs that failed a mask beside each."""

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[str, str, np.dtype[Any]], tuple[Left, ...]] = OrderedDict()

    def outputs(self, operator: str, name: str, dtype: str) -> tuple[Left, ...]:
        """What earlier calls left, newest first."""
        return self._kept.get((operator, name, numpy_dtype(dtype)), ())

    def add(
        self, operator: str, outcome: Outcome, verdict: Verdict, goldens: Mapping[str, Any] | None = None
    ) -> None:
        """Keep what a call gave back, as far as it was judged: a wrong result is nobody's stale one."""
        for report in verdict.outputs:
            output = outcome.outputs.get(report.name)
            if not isinstance(output, np.ndarray) or not 0 < output.nbytes <= LARGEST:
                continue
            right = None
            if not report.passed:
                golden = (goldens or {}).get(report.name)
                if not isinstance(golden, np.ndarray) or golden.shape != output.shape:
                    continue
                right = _right(output, golden)
            key = (operator, report.name, output.dtype)
            self._kept[key] = (Left(output, right), *self._kept.get(key, ())[: CALLS - 1])
            self._kept.move_to_end(key)
        while len(self._kept) > NAMES:
            self._kept.popitem(last=False)


def _right(output: np.ndarray, golden: np.ndarray) -> np.ndarray:
    dtype = name_of(output.dtype)
    with np.errstate(all="ignore"):
        found = figures(output.reshape(-1), golden.reshape(-1), dtype, make(default_for(dtype), dtype))
    return np.asarray(~(found.outside | found.beyond))
