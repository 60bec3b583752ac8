"""Every statistic of an output against its golden, in one streaming pass."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass, field

import numpy as np

from ascend_opcli.model import Census
from ascend_opcli.tensors.dtypes import dtype as dtype_of
from ascend_opcli.tensors.dtypes import part
from ascend_opcli.tensors.flat import Flat
from ascend_opcli.verification.compare.equality_scan import EqualScan
from ascend_opcli.verification.compare.float_scan import BLOCK_BYTES, FloatScan, scratch_dtype
from ascend_opcli.verification.compare.half_precision import NARROW_BLOCK
from ascend_opcli.verification.compare.patched import Patched
from ascend_opcli.verification.compare.tally import Bad, Tally
from ascend_opcli.verification.comparison import Comparison
from ascend_opcli.verification.standards.named import Standard


@dataclass(frozen=True, slots=True)
class Metrics:
    """What the pass finds; all exact, none sampled."""

    census: Census
    nan_got: int = 0
    """NaN of the output where the golden is a number."""
    inf_got: int = 0
    """Inf of the output where the golden is another value."""
    paired: int = 0
    """NaN that meets NaN where the standard lets that fail."""
    outside: int = 0
    """Elements over the tolerance."""
    beyond: int = 0
    """Elements over the limit."""
    excess: float = 0.0
    """By how much an element exceeds the limit at most."""
    used: float = 0.0
    """The largest share of the tolerance, or of the limit where that is nearer; Inf where NaN or Inf differ."""
    mean: float | None = None
    """The mean relative error, where the standard has one."""
    atol_needed: float | None = None
    """The smallest atol with which every element would be within the tolerance."""
    rtol_needed: float | None = None
    """The smallest rtol with which every element would be within the tolerance."""
    worst: tuple[Bad, ...] = ()
    failing: np.ndarray | None = field(default=None, compare=False)
    """Flat indices of what is outside or beyond, ascending; None where they are more than :data:`.tally.KEPT`."""


def measure(
    comparison: Comparison,
    standard: Standard,
    *,
    threads: int | None = None,
    block: int | None = None,
    keep: int = 3,
) -> Metrics:
    """Every statistic of an output under the rule for elements of a standard.

    ``block`` is in elements; neither it nor ``threads`` changes any result but the last digits of ``mean``, which
    depend on ``block``. ``keep`` is the number of worst elements.
    """
    got, dtype, written = comparison.got, comparison.dtype, comparison.written
    total = got.size
    block = block or _block(dtype, standard)
    blocks = -(-total // block)
    workers = max(1, min(threads or _processors(), blocks))
    cuts = [blocks * worker // workers * block for worker in range(workers)] + [total]

    def work(worker: int) -> Tally:
        tally = Tally(keep)
        size = max(1, min(block, total))
        x, y = Flat(got, size), Patched(comparison.golden, size, comparison.instead)
        marks = None if written is None else Flat(written, size)
        scan: EqualScan | FloatScan
        if standard.kind not in ("linear", "ulp") or not comparison.is_float:
            scan = EqualScan(x, y, dtype, standard)
        else:
            scan = FloatScan(x, y, dtype, standard, size)
        # The state of floating-point errors belongs to the thread.
        watch = np.errstate(under="call", call=scan.noticed) if isinstance(scan, FloatScan) else nullcontext()
        with np.errstate(all="ignore"), watch:
            for start in range(cuts[worker], cuts[worker + 1], block):
                stop = min(start + block, total)
                scan.block(start, stop, tally)
                if marks is not None:
                    tally.not_written += stop - start - int(np.count_nonzero(marks.block(start, stop)))
        return tally

    if workers == 1:
        tallies = [work(0)]
    else:
        with ThreadPoolExecutor(workers) as pool:
            tallies = list(pool.map(work, range(workers)))
    tally = tallies[0]
    for other in tallies[1:]:
        tally.merge(other)
    return _metrics(tally, total, dtype, standard)


def _metrics(tally: Tally, total: int, dtype: str, standard: Standard) -> Metrics:
    parts = 1 if part(dtype) == dtype else 2
    mean = None
    if standard.mean_limit is not None:
        mean = tally.relative_sum() / (total * parts) if total else 0.0
    tunable = standard.kind == "linear" and not standard.strict
    counts = ("nan_got", "inf_got", "paired", "outside", "beyond", "excess")
    return Metrics(
        census=tally.census(total),
        **{name: getattr(tally, name) for name in counts},
        used=tally.worst[0].used if tally.worst else 0.0,
        mean=mean,
        atol_needed=tally.atol_needed if tunable else None,
        rtol_needed=tally.rtol_needed if tunable else None,
        worst=tuple(tally.worst),
        failing=tally.failing_places(),
    )


def _block(dtype: str, standard: Standard) -> int:
    if standard.equality or dtype_of(dtype).kind not in ("float", "complex"):
        return BLOCK_BYTES // dtype_of(dtype).itemsize
    if dtype_of(dtype).itemsize == 2:
        return NARROW_BLOCK
    parts = 1 if part(dtype) == dtype else 2
    return BLOCK_BYTES // (np.dtype(scratch_dtype(dtype, standard)).itemsize * parts)


def _processors() -> int:
    """Processors that this process may use, at most two: they saturate the memory, and each needs scratch."""
    try:
        return min(2, len(os.sched_getaffinity(0)))
    except AttributeError:  # not on Linux
        return min(2, os.cpu_count() or 1)
