"""Renorms: parts of a tensor whose norm is above a bound are scaled down to it."""

from __future__ import annotations

from typing import Any

import numpy as np

from ascend_opcli.model import Generator
from ascend_opcli.operators.declare import Undefined, axis_of, declare
from ascend_opcli.operators.families.reductions import vector_norm


def _scale(norms: Any, most: Any) -> Any:
    """1, or what brings a larger norm down; 1e-7 keeps it below the bound, as the documents have it."""
    bound = norms.dtype.type(most)
    return np.where(norms > bound, bound / (norms + norms.dtype.type(1e-7)), norms.dtype.type(1))


def _renorm(self: Any, p: Any, dim: Any, most: Any) -> Any:
    axis = axis_of(dim, self.ndim)
    if not p > 0 or most < 0:
        raise Undefined(f"p {p} and maxNorm {most}")
    norms = vector_norm(self, p, tuple(i for i in range(self.ndim) if i != axis))
    return self * _scale(norms, most).reshape(-1, *[1] * (self.ndim - axis - 1))


def _embedding_renorm(self: Any, indices: Any, most: Any, kind: Any) -> Any:
    """The rows that indices name, each scaled once however often it is named."""
    places = np.unique(indices)
    if places.size and not 0 <= places[0] <= places[-1] < len(self):
        raise Undefined(f"an index lies outside {len(self)} rows")
    made = np.array(self)
    if places.size:
        made[places] = _renorm(self[places], kind, 0, most)
    return made


_SAMPLE = {"sample_attributes": {"p": 2.0, "dim": 1, "maxNorm": 1.5}}

OPERATORS = (
    declare("Renorm", _renorm, "out = self, its parts along dim brought down to a p-norm of maxNorm",
            lambda self, *_rest: (self.dtype, self.shape), **_SAMPLE),
    declare("InplaceRenorm", _renorm, "selfRef = selfRef, its parts along dim brought down to a p-norm of maxNorm",
            None, **_SAMPLE),
    declare("EmbeddingRenorm", _embedding_renorm,
            "selfRef = selfRef, the rows that indices name brought down to a norm of maxNorm", None,
            sample_shape=(4, 5), short={"indices": lambda _dtype, _shape: ("int64", (3,))},
            data={"indices": Generator("integers", (0, 1))}, sample_attributes={"maxNorm": 1.5, "normType": 2.0}),
)  # fmt: skip
