"""A case file and a right candidate for it, for the tests of candidates."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

CASES = """
    op: logit_grad
    cases:
      - {name: one, dtype: float32, shape: [4, 8], seed: 1}
      - {name: two, dtype: float32, shape: [4, 8], seed: 2}
      - {name: half, dtype: float16, shape: [33]}
      - name: strided
        inputs:
          x:  {dtype: float32, shape: [6, 4], layout: transposed, data: {uniform: [0.1, 0.9]}}
          dy: {dtype: float32, shape: [6, 4], strides: [10, 2], offset: 3, data: {normal: [0, 1]}}
"""
NAMES = ("one", "two", "half", "strided")

FORMULA = """
import numpy as np

def good(x, dy, eps=-1.0):
    lo, outside = (eps, 0.0) if eps >= 0 else (0.0, np.nan)
    x64, dy64 = x.astype(np.float64), dy.astype(np.float64)
    inside = (lo <= x64) & (x64 <= 1 - lo)
    with np.errstate(all="ignore"):
        return np.where(inside, dy64 / (x64 * (1 - x64)), outside).astype(x.dtype)
"""

Judge = Callable[..., dict[str, Any]]


def words(results: dict[str, Any]) -> dict[str, str]:
    return {name: r["verdict"] for name, r in results.items() if name}
