"""One pass over a failed output: which elements are wrong, counted, drawn and sampled in bounded memory."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ascend_opcli.tensors.dtypes import dtype as dtype_of
from ascend_opcli.tensors.dtypes import float_format, round_to, widen
from ascend_opcli.tensors.flat import Flat
from ascend_opcli.verification.compare.elements import figures, wide_golden
from ascend_opcli.verification.standards.named import Standard

BLOCK = 1 << 15
"""Elements of a block: its float64 temporaries stay in the second-level cache."""

LISTED = 1 << 18
"""Most wrong elements whose places are listed; of more, the first ones are."""

SAMPLED = 1 << 13
"""Most wrong elements whose values are looked at."""

CELLS = 60
"""Cells of the strip that shows where along the flattened output the wrong elements lie."""


@dataclass(frozen=True, slots=True)
class Wrong:
    """The wrong elements: ``count`` of them between the flat places ``first`` and ``last``.

    ``listed`` are their places in ascending order, all of them or the first :data:`LISTED`. ``sample`` are
    some of them from everywhere, all where they are few. ``strip`` counts them by cell.
    """

    total: int
    count: int
    first: int
    last: int
    listed: np.ndarray
    sample: np.ndarray
    strip: np.ndarray

    @property
    def all_listed(self) -> bool:
        return len(self.listed) == self.count


def find_wrong(
    got: np.ndarray,
    golden: np.ndarray,
    dtype: str,
    standard: Standard,
    *,
    ambiguous: tuple[np.ndarray, np.ndarray] | None = None,
    written: np.ndarray | None = None,
) -> Wrong:
    """The elements that break the standard. Where none does (a mean is too large), those that are not exact."""
    test = _test(dtype, standard)
    wrong = _walk(got, golden, ambiguous, written, test, dtype, standard)
    if wrong.count == 0 and got.size:
        wrong = _walk(got, golden, None, written, _inexact(dtype, standard), dtype, standard)
    return wrong


def from_places(places: np.ndarray, total: int) -> Wrong:
    """What a pass that kept the places of all wrong elements, ascending, has found; few of them."""
    cells = max(1, min(CELLS, total))
    strip = np.bincount(places * cells // total, minlength=cells)
    first, last = int(places[0]), int(places[-1])
    return Wrong(total, len(places), first, last, places, _thinned(places, SAMPLED), strip)


Test = Callable[[np.ndarray, np.ndarray], np.ndarray]
"""The places in a block of outputs and goldens that are wrong."""


def _walk(
    got: np.ndarray,
    golden: np.ndarray,
    ambiguous: tuple[np.ndarray, np.ndarray] | None,
    written: np.ndarray | None,
    test: Test,
    dtype: str,
    standard: Standard,
) -> Wrong:
    total = got.size
    cells = max(1, min(CELLS, total))
    x, y = Flat(got, BLOCK), Flat(golden, BLOCK)
    marks = None if written is None else Flat(written, BLOCK)
    others = None if ambiguous is None else _sorted(ambiguous)
    strip = np.zeros(cells, np.int64)
    listed: list[np.ndarray] = []
    spread: list[np.ndarray] = []
    count, first, last, kept = 0, -1, -1, 0
    each = max(64, SAMPLED * BLOCK // max(total, 1))
    for start in range(0, total, BLOCK):
        stop = min(start + BLOCK, total)
        values, wanted = x.block(start, stop), y.block(start, stop)
        places = test(values, wanted)
        if others is not None and len(places):
            places = _without_either(places, start, values, others, dtype, standard)
        if marks is not None:
            unwritten = np.flatnonzero(~marks.block(start, stop))
            places = np.union1d(places, unwritten) if len(unwritten) else places
        if not len(places):
            continue
        places = places + start
        count += len(places)
        first, last = (int(places[0]) if first < 0 else first), int(places[-1])
        strip += np.bincount(places * cells // total, minlength=cells)
        if kept < LISTED:
            listed.append(places[: LISTED - kept])
            kept += len(listed[-1])
        # A copy: a slice would keep the whole block's places alive.
        spread.append(places[:: -(-len(places) // each)].copy())
    none = np.zeros(0, np.int64)
    every = np.concatenate(listed) if listed else none
    source = every if len(every) == count else np.concatenate(spread)
    return Wrong(total, count, first, last, every, _thinned(source, SAMPLED), strip)


def _thinned(places: np.ndarray, most: int) -> np.ndarray:
    """At most so many, evenly spread, in runs so that neighbours stay together."""
    if len(places) <= most:
        return places
    run = 16
    starts = np.linspace(0, len(places) - run, most // run).astype(np.int64)
    return places[np.unique((starts[:, None] + np.arange(run)).reshape(-1))]


def _sorted(ambiguous: tuple[np.ndarray, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    order = np.argsort(ambiguous[0], kind="stable")
    return np.asarray(ambiguous[0])[order], np.asarray(ambiguous[1])[order]


def _without_either(
    places: np.ndarray,
    start: int,
    values: np.ndarray,
    others: tuple[np.ndarray, np.ndarray],
    dtype: str,
    standard: Standard,
) -> np.ndarray:
    """``places`` less those where the value of the other side of a threshold is met."""
    at = np.minimum(np.searchsorted(others[0], places + start), len(others[0]) - 1)
    shared = np.flatnonzero(others[0][at] == places + start) if len(others[0]) else places[:0]
    if not len(shared):
        return places
    found = figures(values[places[shared]], others[1][at[shared]], dtype, standard)
    fine = ~(found.outside | found.beyond)
    return np.delete(places, shared[fine])


def _test(dtype: str, standard: Standard) -> Test:
    kind = dtype_of(dtype).kind
    if kind == "float" and not standard.equality:
        return _float_distance(dtype, standard)
    if kind in ("float", "complex"):
        return lambda values, wanted: _by_figures(values, wanted, dtype, standard)
    return lambda values, wanted: _integers(values, wanted, dtype, standard)


def _inexact(dtype: str, standard: Standard) -> Test:
    return lambda values, wanted: np.flatnonzero(~figures(values, wanted, dtype, standard).exact)


def _by_figures(values: np.ndarray, wanted: np.ndarray, dtype: str, standard: Standard) -> np.ndarray:
    found = figures(values, wanted, dtype, standard)
    return np.flatnonzero(found.outside | found.beyond)


def _integers(values: np.ndarray, wanted: np.ndarray, dtype: str, standard: Standard) -> np.ndarray:
    places = np.flatnonzero((values != round_to(wanted, dtype)) | (wanted != wanted))
    bad: np.ndarray = places[_by_figures(values[places], wanted[places], dtype, standard)]
    return bad


def _float_distance(dtype: str, standard: Standard) -> Test:
    """Ordinary numbers by their distance; NaN, Inf and what is near it by the plain definition."""
    ordinary = float_format(dtype).largest / 2

    def test(values: np.ndarray, wanted: np.ndarray) -> np.ndarray:
        x = widen(values, np.float64)
        y = wide_golden(wanted, dtype)[:, 0].astype(np.float64, copy=False)
        error, size = np.abs(x - y), np.abs(y)
        allowed = standard.tolerance(size)
        hard = standard.hard_limit(size)
        if hard is not None:
            allowed = np.minimum(allowed, hard)
        fine = (error < allowed) if standard.strict else (error <= allowed)
        suspect = np.flatnonzero(~fine | ~(size < ordinary))
        if not len(suspect):
            return suspect
        sure = size[suspect] < ordinary
        doubtful = suspect[~sure]
        if len(doubtful):
            bad = doubtful[_by_figures(values[doubtful], wanted[doubtful], dtype, standard)]
            suspect = np.sort(np.concatenate((suspect[sure], bad)))
        return suspect

    return test
