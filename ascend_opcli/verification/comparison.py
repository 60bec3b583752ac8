"""An output beside its golden: what is judged and, where it fails, diagnosed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from ascend_opcli.model import Call
from ascend_opcli.operators.operator import Operator
from ascend_opcli.tensors.dtypes import dtype as dtype_of
from ascend_opcli.verification.compare.patched import rounded
from ascend_opcli.verification.earlier_outputs import EarlierOutput
from ascend_opcli.verification.standards.rule import Standard

Places = tuple[np.ndarray, np.ndarray]
"""Flat row-major indices of elements, and other golden values of them."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """An output and its golden with all that judging and diagnosing may look at.

    ``got`` is an array of ``dtype``; ``golden`` has its shape and any real or complex dtype. Both may have any strides,
    or be streamed. Raises ValueError for a dtype that there is not.
    """

    name: str
    got: np.ndarray
    golden: np.ndarray
    dtype: str
    ambiguous: Places | None = None
    """Elements at a threshold that rounding moves, in any order, with values that are as right as the golden."""
    written: np.ndarray | None = None
    """False, per element, where the output still holds its poison."""
    third: np.ndarray | None = None
    """The third-party result of the dual standard, of the output's shape and any float dtype."""
    inputs: Mapping[str, np.ndarray] = field(default_factory=dict)
    """Inputs by name: shown at the worst elements where they broadcast to the output's shape."""
    instead: Places | None = None
    """The ambiguous elements whose other value is the nearer one, ascending: it counts instead of the golden."""
    operator: Operator | None = None
    """The operator, for a diagnosis that may run its reference again."""
    call: Call | None = None
    """The call of that operator."""
    earlier: tuple[EarlierOutput, ...] = ()
    """What calls before this one left in the output of the same name and dtype, newest first."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "dtype", dtype_of(self.dtype).name)

    @property
    def copies(self) -> dict[str, np.ndarray]:
        """The inputs of the output's shape, which a faulty kernel might hand through."""
        return {n: a for n, a in self.inputs.items() if a.shape == self.golden.shape and a.dtype.kind != "b"}

    @property
    def is_float(self) -> bool:
        """Whether the output holds floats or complex numbers."""
        return dtype_of(self.dtype).kind in ("float", "complex")

    def under(self, standard: Standard) -> Comparison:
        """The comparison as a standard makes it: with goldens rounded to the output's dtype where its tool does so."""
        wide = self.golden.dtype.kind == "c" and dtype_of(self.dtype).kind != "complex"
        if not standard.rounded or wide:
            return self
        other = self.ambiguous
        if other is not None:
            other = other[0], rounded(other[1], self.dtype)
        return replace(self, golden=rounded(self.golden, self.dtype), ambiguous=other)
