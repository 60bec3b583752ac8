"""An output, its golden and a third party block by block in float64, for criteria over the whole."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ascend_opcli.tensors.dtypes import dtype as dtype_of
from ascend_opcli.tensors.dtypes import part, round_to, widen
from ascend_opcli.tensors.flat import Flat
from ascend_opcli.verification.compare.elements import split, wide_golden
from ascend_opcli.verification.compare.patched import Patched
from ascend_opcli.verification.comparison import Comparison

BLOCK = 1 << 15
"""Elements at once; what is made of them in float64 stays in the cache."""


def wide_blocks(comparison: Comparison, *, third: bool = False) -> Iterator[tuple[np.ndarray, ...]]:
    """Output, golden and, with ``third``, the third party in float64, the parts of complex numbers one by one.

    A golden that rounds to Inf is that Inf; a third party of another dtype counts as it is rounded to the output's.
    """
    got, dtype = comparison.got, comparison.dtype
    size = max(1, min(BLOCK, got.size))
    x, y = Flat(got, size), Patched(comparison.golden, size, comparison.instead)
    z = Flat(comparison.third, size) if third and comparison.third is not None else None
    for start in range(0, got.size, BLOCK):
        stop = min(start + BLOCK, got.size)
        block = [_wide(x.block(start, stop), dtype), expected(y.block(start, stop), dtype)]
        if z is not None:
            block.append(_wide(round_to(z.block(start, stop), dtype), dtype))
        yield tuple(block)


def _wide(values: np.ndarray, dtype: str) -> np.ndarray:
    if dtype_of(dtype).kind not in ("float", "complex"):
        return values.astype(np.float64)
    return widen(split(values, dtype).reshape(-1), np.float64)


def expected(golden: np.ndarray, dtype: str) -> np.ndarray:
    """Goldens [k] as an output of ``dtype`` is compared with them, in float64 [k * parts]."""
    if dtype_of(dtype).kind not in ("float", "complex"):
        return round_to(golden, dtype).astype(np.float64)
    stored = wide_golden(golden, dtype).reshape(-1)
    rounded = widen(round_to(stored, part(dtype)), np.float64)
    return np.asarray(np.where(np.isfinite(rounded), stored.astype(np.float64), rounded))
