"""Elements whose value in the compute dtype overflows on the way: what comes of it is as right as the golden."""

from __future__ import annotations

import numpy as np

from ascend_opcli.tensors.dtypes import round_to, spacing
from ascend_opcli.tensors.flat import Flat
from ascend_opcli.verification.compare.elements import same, wide
from ascend_opcli.verification.comparison import Comparison, Places

_BLOCK = 1 << 16
_ROUNDING = 4
"""Spacings of the output's dtype that the compute dtype may lose without an overflow."""


def overflowed(comparison: Comparison, *, flagged: bool) -> Places | None:
    """Where the host result, which stands as ``got``, misses its golden because something overflowed, else None.

    ``flagged`` tells that a step of the host run overflowed; without it a NaN or Inf in place of a finite golden does.
    A difference without either is a matter of rounding, and none of these.
    """
    own, golden, dtype = comparison.got, comparison.golden, comparison.dtype
    if own.shape != golden.shape:
        return None
    first, second = (Flat(array, min(_BLOCK, max(golden.size, 1))) for array in (own, golden))
    found: list[np.ndarray] = []
    values: list[np.ndarray] = []
    with np.errstate(all="ignore"):
        for start in range(0, golden.size, _BLOCK):
            stop = min(start + _BLOCK, golden.size)
            got, exact = first.block(start, stop), round_to(second.block(start, stop), dtype)
            if comparison.is_float:
                got, exact = wide(got), wide(exact)
                flagged |= bool((~np.isfinite(got) & np.isfinite(exact)).any())
                near = same(got, exact) | (np.abs(got - exact) <= _ROUNDING * spacing(np.abs(exact), dtype))
            else:
                near = got == exact
            at = np.flatnonzero(~near)
            found.append(at + start)
            values.append(got[at])
    places = np.concatenate(found) if found else np.empty(0, np.int64)
    return (places, np.concatenate(values)) if flagged and places.size else None


def together(ambiguous: Places | None, beyond: Places) -> Places:
    """Alternatives of both kinds; where an element has two, that of the overflow."""
    if ambiguous is None:
        return beyond
    rest = ~np.isin(ambiguous[0], beyond[0])
    return np.concatenate([ambiguous[0][rest], beyond[0]]), np.concatenate([ambiguous[1][rest], beyond[1]])
