"""The cheap tier of the streaming pass: one block of an output against its golden, in cache.

A block whose elements all pass simple vectorised tests costs about a dozen passes over scratch that stays in
cache. The tests are one-sided: with float32 scratch every bound is widened by more than its rounding error,
so an element that passes a test is harmless for certain, and the rest gets its figures in float64.
"""

from __future__ import annotations

import numpy as np

from ascend_opcli.tensors.dtypes import float_format, numpy_dtype, part, round_to, widen
from ascend_opcli.tensors.flat import Flat
from ascend_opcli.verification.compare.elements import distances, figures, needed, split, wide_golden
from ascend_opcli.verification.compare.half_precision import Narrow
from ascend_opcli.verification.compare.tally import Tally
from ascend_opcli.verification.standards.named import Standard

BLOCK_BYTES = 3 << 18
"""Size of one scratch buffer: a few of them fit the second level of cache, and a pass over one takes long
enough to hide the interpreter behind it."""

CHUNK = 1 << 12
"""How many elements get their float64 figures at once; bounds the memory of a block full of trouble."""

STRETCH = 1 << 15
"""How much of a block is searched at once for the worst elements; bounds the memory of that search."""


FAINT = 2.0**-100
"""Errors and shares below this may have lost digits in float32, or vanished."""


def scratch_dtype(dtype: str, standard: Standard) -> type[np.float32] | type[np.float64]:
    """float32 where its range and the standard allow a bound on every rounding error, else float64."""
    narrow = part(dtype) != "float64" and standard.kind == "linear" and standard.mean_limit is None
    calm = 2.0**-100 <= standard.atol <= 2.0**100 and (standard.rtol == 0 or 2.0**-100 <= standard.rtol <= 1)
    return np.float32 if narrow and calm else np.float64


class FloatScan:
    """Blocks of a float or complex output under a distance. Complex numbers count as pairs of floats, or by
    their moduli."""

    def __init__(self, got: Flat, golden: Flat, dtype: str, standard: Standard, block: int) -> None:
        self._got, self._golden, self._dtype, self._standard = got, golden, dtype, standard
        self._component = numpy_dtype(part(dtype))
        self._format = float_format(dtype)
        self._parts = 1 if part(dtype) == dtype else 2
        self._moduli = standard.modulus and self._parts == 2
        self._rows = 1 if self._moduli else self._parts
        self._real = scratch_dtype(dtype, standard)
        self._slack = 2.0**-19 if self._real is np.float32 else 2.0**-46
        self._tiny = float(np.finfo(self._real).smallest_subnormal)
        size = block * self._parts
        self._scratch = tuple(np.empty(size, self._real) for _ in range(4))
        self._flags = tuple(np.empty(size, dtype=bool) for _ in range(2))
        self._single = np.empty(0, np.float32)
        self._underflow = False
        self._narrow: Narrow | None = None
        if self._component.itemsize == 2 and self._real is np.float32:
            self._narrow = Narrow(dtype, size)

    def noticed(self, kind: str, flag: int) -> None:  # noqa: ARG002  (as NumPy calls it)
        """To be NumPy's handler of underflow: the processor tells for nothing that an error has vanished."""
        self._underflow = True

    def block(self, start: int, stop: int, tally: Tally) -> None:
        """Adds elements ``start`` to ``stop`` to the tally."""
        self._underflow = False
        got, golden = self._got.block(start, stop), self._golden.block(start, stop)
        n = (stop - start) * self._parts
        error, size, used, spare = (buffer[:n] for buffer in self._scratch)
        same, flag = (buffer[:n] for buffer in self._flags)

        exact_golden = self._compare(got, golden, error, size, same)
        apart = None
        if self._moduli:
            apart = self._to_moduli(error, size, spare, flag)
            error, size, used, spare, flag = (
                each[: stop - start] for each in (error, size, used, spare, flag)
            )
        largest = np.maximum.reduce(size)
        loose = self._tolerances(exact_golden, size, error, used, spare, flag)
        loose = loose or (apart is not None and bool(apart.any()))
        self._limit(exact_golden, float(largest), used, spare)
        np.divide(error, used, out=used)
        faint = self._underflow and self._real is np.float32
        if self._parts == 2:
            same = np.logical_and(same[0::2], same[1::2], out=self._flags[1][: n // 2])
        tally.exact += int(np.count_nonzero(same))

        if loose or not np.maximum.reduce(used) < 1.0 - self._slack or not largest <= self._format.largest:
            places = self._trouble(error, size, used, loose, apart)
            tally.exact -= int(np.count_nonzero(same[places]))
            total = self._detail(got, golden, places, start, tally)
            for buffer, harmless in ((error, 0), (size, 1), (used, 0)):
                buffer.reshape(-1, self._rows)[places] = harmless
        else:
            total = 0.0
        if self._standard.mean_limit is not None:
            np.add(size, self._standard.mean_epsilon, out=spare)
            np.divide(error, spare, out=spare)
            tally.sums[start] = total + float(spare.sum())

        self._records(got, golden, start, tally, loose, float(largest))
        if faint:
            self._faint(got, golden, start, tally)

    def _compare(
        self, got: np.ndarray, golden: np.ndarray, error: np.ndarray, size: np.ndarray, same: np.ndarray
    ) -> np.ndarray:
        """Fills |got - golden|, |golden| and equality after rounding; gives the golden unrounded."""
        if self._narrow is not None:
            return self._narrow.compare(got, golden, error, size, same)
        x = widen(split(got, self._dtype).reshape(-1), self._real)
        y = wide_golden(golden, self._dtype).reshape(-1)
        near = y
        if self._real is np.float64:
            near = y = widen(y, np.float64)
        elif y.dtype == np.float64:
            if self._single.size < y.size:
                self._single = np.empty(self._scratch[0].size, np.float32)
            near = self._single[: y.size]
            np.copyto(near, y, casting="same_kind")
        # In float64 where the golden is: cast piece by piece inside NumPy, rounded once at the end.
        np.subtract(x, y, out=error, dtype=y.dtype, casting="same_kind")
        np.abs(error, out=error)
        np.abs(near, out=size)
        if golden.dtype == self._component or y.dtype == self._component == np.float32:
            # Subtraction gives zero for equal numbers only, and this reads one array instead of two.
            np.equal(error, 0, out=same)
            return y
        if self._component != near.dtype:
            near = widen(round_to(y, self._component.name), self._real)
        np.equal(x, near, out=same)
        return y

    def _to_moduli(
        self, error: np.ndarray, size: np.ndarray, spare: np.ndarray, flag: np.ndarray
    ) -> np.ndarray:
        """Puts the moduli of pairs into the first halves; marks elements with a part whose sign may differ."""
        np.greater(error, np.multiply(size, self._real(0.5), out=spare), out=flag)
        half = spare[: error.size // 2]
        for parts in (error, size):
            parts[: half.size] = np.hypot(parts[0::2], parts[1::2], out=half)
        return np.asarray(flag[0::2] | flag[1::2])

    def _tolerances(
        self,
        golden: np.ndarray,
        size: np.ndarray,
        error: np.ndarray,
        used: np.ndarray,
        spare: np.ndarray,
        flag: np.ndarray,
    ) -> bool:
        """Fills the tolerances into ``used``; True where an error exceeds rtol * |golden| or |golden| / 2.

        Only such elements can have another sign or be zero against nonzero, or need an atol.
        """
        standard, real = self._standard, self._real
        if standard.kind == "ulp":
            self._feet(golden, used)
            np.maximum(used, self._format.smallest_normal, out=used)
            np.multiply(used, 2.0**-self._format.mantissa, out=used)
            np.multiply(used, standard.ulps, out=used)
            np.maximum(used, self._tiny, out=used)
            part_of_golden = np.multiply(size, 0.5, out=spare)
        else:
            part_of_golden = np.multiply(size, real(standard.rtol), out=used)
            if standard.rtol > 0.5:
                part_of_golden = np.multiply(size, 0.5, out=spare)
        np.greater(error, part_of_golden, out=flag)
        loose = bool(flag.any())
        if standard.kind != "ulp":
            np.add(used, real(max(standard.atol, self._tiny)), out=used)
        return loose

    def _feet(self, golden: np.ndarray, out: np.ndarray) -> None:
        """The power of two at the foot of each golden's binade, taken from the bits before any rounding."""
        if golden.dtype == np.float32:
            np.bitwise_and(golden.view(np.int32), np.int32(0x7F800000), out=out.view(np.int32))
        else:
            feet = golden.view(np.int64) & np.int64(0x7FF << 52)
            np.copyto(out, feet.view(np.float64), casting="same_kind")

    def _limit(self, golden: np.ndarray, largest: float, allowed: np.ndarray, spare: np.ndarray) -> None:
        """Lowers the allowed errors to the limit, where the tolerance can be above it at all."""
        limit = self._standard.limit
        if limit is None or self._standard.atol + self._standard.rtol * largest <= limit * (1 - self._slack):
            return
        self._feet(golden, spare)
        # Subnormal goldens need no care: the limit is far above their spacings unless it is 0.
        np.maximum(spare, self._format.smallest_normal, out=spare)
        np.multiply(spare, self._real(self._standard.limit_ulps * 2.0**-self._format.mantissa), out=spare)
        np.maximum(spare, self._real(max(limit, self._tiny)), out=spare)
        np.minimum(allowed, spare, out=allowed)

    def _trouble(
        self,
        error: np.ndarray,
        size: np.ndarray,
        used: np.ndarray,
        loose: bool,
        apart: np.ndarray | None,
    ) -> np.ndarray:
        """Indices, within the block, of the elements that are not harmless for certain."""
        harmless = np.less(used, 1.0 - self._slack)
        harmless &= size <= self._format.largest
        if loose:
            half = np.multiply(size, self._real(0.5), out=self._scratch[3][: size.size])
            harmless &= error <= half
        if apart is not None:
            harmless &= ~apart
        elif self._parts == 2:
            harmless = harmless[0::2] & harmless[1::2]
        return np.flatnonzero(~harmless)

    def _detail(
        self, got: np.ndarray, golden: np.ndarray, places: np.ndarray, start: int, tally: Tally
    ) -> float:
        """Adds the figures of elements to the tally; gives the sum of their relative errors."""
        total = 0.0
        for at in range(0, places.size, CHUNK):
            some = places[at : at + CHUNK]
            found = figures(got[some], golden[some], self._dtype, self._standard)
            tally.add(found, some + start)
            total += float(found.relative.sum())
        return total

    def _records(
        self, got: np.ndarray, golden: np.ndarray, start: int, tally: Tally, loose: bool, largest: float
    ) -> None:
        """Lets harmless elements compete for the worst places and the numbers needed."""
        n = got.size * self._rows
        error, size, used, spare = (buffer[:n] for buffer in self._scratch)
        standard = self._standard
        top = float(np.maximum.reduce(used))
        if top > 0.0 and top * (1 + self._slack) >= tally.used_by_last:
            for at in range(0, n, STRETCH):
                some = self._contenders(got, golden, slice(at, min(at + STRETCH, n)), start, tally)
                tally.rank(figures(got[some], golden[some], self._dtype, standard), some + start)
        if standard.kind != "linear" or standard.strict:
            return
        if loose:
            np.multiply(error, self._real(1 + self._slack), out=spare)
            np.subtract(spare, np.multiply(size, self._real(standard.rtol), out=used), out=spare)
            self._raise_needed(got, golden, spare, "atol_needed", tally)
        # Two bounds while every element passes: used * rtol for the rtol needed, and for the largest error the
        # same share of the largest tolerance. (An infinite largest golden only makes the bound useless.)
        share = top * (1 + self._slack)
        largest_error = share * (standard.atol + standard.rtol * largest)
        # (used (rtol size + atol) - atol) / size is largest where the size is, as long as used is below 1.
        spared = (
            standard.atol * (1 - share) / largest * (1 - self._slack) if share < 1 and largest > 0 else 0.0
        )
        bound = share * standard.rtol - spared
        if bound * (1 + self._slack) <= tally.rtol_needed or largest_error <= standard.atol:
            return
        if not float(np.maximum.reduce(error)) <= standard.atol * (1 - self._slack):
            np.subtract(error, self._real(standard.atol * (1 - self._slack)), out=spare)
            np.divide(spare, np.maximum(size, self._tiny, out=used), out=spare)
            self._raise_needed(got, golden, spare, "rtol_needed", tally)

    def _faint(self, got: np.ndarray, golden: np.ndarray, start: int, tally: Tally) -> None:
        """Lets elements compete whose errors are too small for the scratch."""
        keep = tally.keep * self._rows
        for at in range(0, got.size * self._rows, STRETCH):
            places = np.arange(at, min(at + STRETCH, got.size * self._rows))
            error, _, used = distances(*self._gather(got, golden, places), self._standard)
            few = np.flatnonzero((error > 0) & ((error < FAINT) | (used < FAINT)))
            if not few.size:
                continue
            rows = (places[few] // self._rows) + start
            some = np.unique(places[few[tally.able(used[few], error[few], rows, keep)]] // self._rows)
            tally.rank(figures(got[some], golden[some], self._dtype, self._standard), some + start)
            if not self._standard.strict:
                needed = self._needed(got, golden, places[few], "atol_needed", tally.atol_needed)
                tally.atol_needed = max(tally.atol_needed, needed)

    def _contenders(
        self, got: np.ndarray, golden: np.ndarray, stretch: slice, start: int, tally: Tally
    ) -> np.ndarray:
        """Indices within the block of the few elements of a stretch of it that may be among the worst."""
        error, _, used, _ = (buffer[stretch] for buffer in self._scratch)
        keep = tally.keep * self._rows
        least = max(tally.used_by_last * (1 - self._slack) - 2.0**-45, self._tiny)
        above = np.flatnonzero(used >= self._real(least))
        if above.size > 8 * keep:
            values = used[above]
            last = float(np.partition(values, above.size - keep)[above.size - keep])
            above = above[values >= self._real(last * (1 - 2 * self._slack) - 2.0**-45)]
        picked: list[np.ndarray] = []
        for at in range(0, above.size, CHUNK):
            some = above[at : at + CHUNK]
            if self._real is np.float64 and not self._moduli:
                e, u = error[some], used[some]
            else:
                e, _, u = distances(*self._gather(got, golden, some + stretch.start), self._standard)
            some = some + stretch.start
            picked.append(some[tally.able(u, e, some // self._rows + start, keep)])
        return np.unique(np.concatenate(picked) // self._rows) if picked else above

    def _raise_needed(
        self, got: np.ndarray, golden: np.ndarray, bounds: np.ndarray, name: str, tally: Tally
    ) -> None:
        """Raises a number needed to the exact value of those parts whose upper bounds come near enough."""
        record = float(getattr(tally, name))
        first = int(bounds.argmax())
        if not bounds[first] > record:
            return
        record = max(record, self._needed(got, golden, np.array([first]), name))
        for start in range(0, bounds.size, CHUNK):
            near = bounds[start : start + CHUNK] >= self._real(record * (1 - self._slack))
            if near.any():
                record = max(record, self._needed(got, golden, np.flatnonzero(near) + start, name, record))
        setattr(tally, name, record)

    def _needed(
        self, got: np.ndarray, golden: np.ndarray, places: np.ndarray, name: str, record: float = 0.0
    ) -> float:
        """The largest atol or rtol that any of these parts needs; 0 where ``record`` is enough for all."""
        x, y = self._gather(got, golden, places)
        error, size = np.abs(x - y), np.abs(y)
        atol, rtol = self._standard.atol, self._standard.rtol
        enough = record + rtol * size if name == "atol_needed" else atol + record * size
        # Mismatches were counted before, with everything that they need; here they are NaN or Inf.
        short = np.flatnonzero((error > enough) & np.isfinite(error))
        if not short.size:
            return 0.0
        both = needed(error[short], size[short], self._standard)
        return float(both[0 if name == "atol_needed" else 1].max())

    def _gather(
        self, got: np.ndarray, golden: np.ndarray, places: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Output and golden in float64 at indices of parts within the block; where moduli count, of elements."""
        if self._moduli:
            pair = split(got, self._dtype)[places], wide_golden(golden, self._dtype)[places]
            x, y = (each.astype(np.float64).view(np.complex128).reshape(-1) for each in pair)
            return x, y
        x = widen(split(got, self._dtype).reshape(-1)[places], np.float64)
        y = wide_golden(golden, self._dtype).reshape(-1)[places]
        return x, y.astype(np.float64)
