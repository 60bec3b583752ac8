"""The pass where a rule is equality or not simple, and for integers and bool under any rule."""

from __future__ import annotations

import numpy as np

from ascend_opcli.tensors.dtypes import dtype as dtype_of
from ascend_opcli.tensors.dtypes import round_to, widen
from ascend_opcli.tensors.flat import Flat
from ascend_opcli.verification.compare.elements import figures, same_bytes, split
from ascend_opcli.verification.compare.float_scan import CHUNK
from ascend_opcli.verification.compare.tally import Tally
from ascend_opcli.verification.standards.named import Standard


class EqualScan:
    """Blocks under equality, and of integers and bool: what is not equal at once gets its figures.

    Under a rule that is neither equality nor a plain distance every float does.
    """

    def __init__(self, got: Flat, golden: Flat, dtype: str, standard: Standard) -> None:
        self._got, self._golden, self._dtype, self._standard = got, golden, dtype, standard
        self._kind = dtype_of(dtype).kind
        self._floats = self._kind in ("float", "complex")

    def block(self, start: int, stop: int, tally: Tally) -> None:
        """Adds elements ``start`` to ``stop`` to the tally."""
        got, golden = self._got.block(start, stop), self._golden.block(start, stop)
        if self._floats and not self._standard.equality:
            odd = np.arange(stop - start)
        else:
            odd = np.flatnonzero(~self._equal(got, golden))
        tally.exact += stop - start - odd.size
        for at in range(0, odd.size, CHUNK):
            some = odd[at : at + CHUNK]
            tally.add(figures(got[some], golden[some], self._dtype, self._standard), some + start)

    def _equal(self, got: np.ndarray, golden: np.ndarray) -> np.ndarray:
        rounded = round_to(golden, self._dtype)
        if self._standard.kind in ("bits", "bytes") and self._floats:
            same = same_bytes(split(got, self._dtype), split(rounded, self._dtype))
            return np.asarray(same.all(axis=1))
        if got.dtype.itemsize < 4 and self._kind == "float":
            return np.asarray(widen(got, np.float32) == widen(rounded, np.float32))
        if self._kind == "bool":
            got, rounded = got.view(np.uint8), rounded.view(np.uint8)
        equal = np.asarray(got == rounded)
        if golden.dtype.kind == "f" and self._kind not in ("float", "complex"):
            equal &= ~np.isnan(golden)
        return equal
