"""The outputs of the last calls, kept as they are: a failed output may hold what one of them left."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

import numpy as np

from ascend_opcli.model import Outcome
from ascend_opcli.tensors.dtypes import numpy_dtype

CALLS = 2
"""Outputs that are kept of each operator, output and dtype."""

LARGEST = 1 << 20
"""Bytes above which an output is not kept."""

NAMES = 32
"""Operators, outputs and dtypes of which outputs are kept; those used longest ago go first."""


class Earlier:
    """Nothing is copied: an output lives on until newer ones take its place. At most 64 MB in all."""

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[str, str, np.dtype[Any]], tuple[np.ndarray, ...]] = OrderedDict()

    def outputs(self, operator: str, name: str, dtype: str) -> tuple[np.ndarray, ...]:
        """Outputs of earlier calls, newest first."""
        return self._kept.get((operator, name, numpy_dtype(dtype)), ())

    def add(self, operator: str, outcome: Outcome) -> None:
        """Keep what a call gave back."""
        for name, output in outcome.outputs.items():
            if isinstance(output, np.ndarray) and 0 < output.nbytes <= LARGEST:
                key = (operator, name, output.dtype)
                self._kept[key] = (output, *self._kept.get(key, ())[: CALLS - 1])
                self._kept.move_to_end(key)
        while len(self._kept) > NAMES:
            self._kept.popitem(last=False)
