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
from ascend_opcli.verification.compare.flat import Patched
from ascend_opcli.verification.compare.half_precision import NARROW_BLOCK
from ascend_opcli.verification.compare.scan import BLOCK_BYTES, FloatScan, scratch_dtype
from ascend_opcli.verification.compare.scan_equal import EqualScan
from ascend_opcli.verification.compare.tally import Bad, Tally
from ascend_opcli.verification.standards.named import Standard

Patches = tuple[np.ndarray, np.ndarray]
"""Flat indices, ascending, and the golden values that count there instead."""


@dataclass(frozen=True, slots=True)
class Metrics:
    """What the pass finds; all exact, none sampled.

    ``used`` is the largest share of the tolerance (or of the limit, where that is nearer), Inf where a NaN or
    Inf does not meet its like; ``nan_got`` and ``inf_got`` count those that stand in the output, ``paired`` NaN
    that meets NaN where the standard lets that fail. ``outside`` counts elements over the tolerance, ``beyond``
    elements over the limit, ``excess`` by how much at most. ``mean`` is the mean relative error where the
    standard has one. ``atol_needed`` and ``rtol_needed`` regard the tolerance, not the limit. ``failing`` are the
    flat indices of the elements outside or beyond, ascending; None where there are more than :data:`.tally.KEPT`.
    """

    census: Census
    nan_got: int = 0
    inf_got: int = 0
    paired: int = 0
    outside: int = 0
    beyond: int = 0
    excess: float = 0.0
    used: float = 0.0
    mean: float | None = None
    atol_needed: float | None = None
    rtol_needed: float | None = None
    worst: tuple[Bad, ...] = ()
    failing: np.ndarray | None = field(default=None, compare=False)


def measure(
    got: np.ndarray,
    golden: np.ndarray,
    dtype: str,
    standard: Standard,
    *,
    patches: Patches | None = None,
    written: np.ndarray | None = None,
    threads: int | None = None,
    block: int | None = None,
    keep: int = 3,
) -> Metrics:
    """Compares ``got``, of the dtype named ``dtype``, with ``golden``, a real or complex array of its shape.

    Both may have any strides. ``written`` is False where an output still holds its poison. ``block`` is in
    elements; neither it nor ``threads`` changes any result but the last digits of ``mean``, which depend on
    ``block``. ``keep`` is the number of worst elements.
    """
    total = got.size
    block = block or _block(dtype, standard)
    blocks = -(-total // block)
    workers = max(1, min(threads or _processors(), blocks))
    cuts = [blocks * worker // workers * block for worker in range(workers)] + [total]

    def work(worker: int) -> Tally:
        tally = Tally(keep)
        size = max(1, min(block, total))
        x, y = Flat(got, size), Patched(golden, size, patches)
        marks = None if written is None else Flat(written, size)
        scan: EqualScan | FloatScan
        if standard.kind not in ("linear", "ulp") or dtype_of(dtype).kind not in ("float", "complex"):
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
    return Metrics(
        census=tally.census(total),
        nan_got=tally.nan_got,
        inf_got=tally.inf_got,
        paired=tally.paired,
        outside=tally.outside,
        beyond=tally.beyond,
        excess=tally.excess,
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
