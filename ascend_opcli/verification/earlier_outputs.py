"""The outputs of the last calls, kept as they are: a failed output may hold what one of them left."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ascend_opcli.model import Outcome
from ascend_opcli.tensors.dtypes import numpy_dtype

CALLS = 2
"""Outputs that are kept of each operator, output and dtype."""

LARGEST = 1 << 20
"""Bytes above which an output or a golden is not kept."""

NAMES = 32
"""Operators, outputs and dtypes that are kept at once; those used longest ago go first."""


@dataclass(frozen=True, slots=True)
class EarlierOutput:
    """What an earlier call left in an output, and the golden that it should have had."""

    output: np.ndarray
    golden: np.ndarray


class EarlierOutputs:
    """Nothing is copied: an output lives on until newer ones take its place. At most 128 MB in all."""

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[str, str, np.dtype[Any]], tuple[EarlierOutput, ...]] = OrderedDict()

    def outputs(self, operator: str, name: str, dtype: str) -> tuple[EarlierOutput, ...]:
        """What earlier calls left, newest first."""
        return self._kept.get((operator, name, numpy_dtype(dtype)), ())

    def add(self, operator: str, outcome: Outcome, goldens: Mapping[str, Any]) -> None:
        """Keeps what a call gave back where its golden is known; a diagnosis asks for outputs that were right."""
        for name, output in outcome.outputs.items():
            golden = goldens.get(name)
            if not isinstance(output, np.ndarray) or not isinstance(golden, np.ndarray):
                continue
            if output.shape == golden.shape and 0 < max(output.nbytes, golden.nbytes) <= LARGEST:
                key = (operator, name, output.dtype)
                self._kept[key] = (EarlierOutput(output, golden), *self._kept.get(key, ())[: CALLS - 1])
                self._kept.move_to_end(key)
        while len(self._kept) > NAMES:
            self._kept.popitem(last=False)
