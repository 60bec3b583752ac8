"""One pass over a failed output: which elements are wrong, counted, drawn and sampled in bounded memory."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ascend_opcli.tensors.flat import Flat
from ascend_opcli.verification.compare.elements import failing, figures
from ascend_opcli.verification.comparison import Comparison, Places
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
class WrongElements:
    """The wrong elements of an output of ``total``: ``count`` of them, from ``first`` to ``last``, flat places."""

    total: int
    count: int
    first: int
    last: int
    listed: np.ndarray
    """Their places in ascending order, all of them or the first :data:`LISTED`."""
    sample: np.ndarray
    """Some places from everywhere, all where they are few."""
    strip: np.ndarray
    """How many lie in each cell along the flattened output."""

    @property
    def all_listed(self) -> bool:
        return len(self.listed) == self.count


def find_wrong(comparison: Comparison, standard: Standard) -> WrongElements:
    """The elements that break the standard. Where none does (a mean is too large), those that are not exact."""
    wrong = _walk(comparison, standard, failing)
    if wrong.count == 0 and comparison.got.size:
        wrong = _walk(dataclasses.replace(comparison, ambiguous=None), standard, _inexact)
    return wrong


def from_places(places: np.ndarray, total: int) -> WrongElements:
    """What a pass that kept the places of all wrong elements, ascending, has found; few of them."""
    cells = max(1, min(CELLS, total))
    strip = np.bincount(places * cells // total, minlength=cells)
    first, last = int(places[0]), int(places[-1])
    return WrongElements(total, len(places), first, last, places, _thinned(places, SAMPLED), strip)


Test = Callable[[np.ndarray, np.ndarray, str, Standard], np.ndarray]
"""Which elements of a block of outputs and goldens are wrong, as :func:`.failing` tells it."""


def _inexact(got: np.ndarray, golden: np.ndarray, dtype: str, standard: Standard) -> np.ndarray:
    return ~figures(got, golden, dtype, standard).exact


def _walk(comparison: Comparison, standard: Standard, test: Test) -> WrongElements:
    total, written = comparison.got.size, comparison.written
    cells = max(1, min(CELLS, total))
    x, y = Flat(comparison.got, BLOCK), Flat(comparison.golden, BLOCK)
    marks = None if written is None else Flat(written, BLOCK)
    others = None if comparison.ambiguous is None else _sorted(comparison.ambiguous)
    strip = np.zeros(cells, np.int64)
    listed: list[np.ndarray] = []
    spread: list[np.ndarray] = []
    count, first, last, kept = 0, -1, -1, 0
    each = max(64, SAMPLED * BLOCK // max(total, 1))
    for start in range(0, total, BLOCK):
        stop = min(start + BLOCK, total)
        values, wanted = x.block(start, stop), y.block(start, stop)
        places = np.flatnonzero(test(values, wanted, comparison.dtype, standard))
        if others is not None and len(places):
            places = _without_ambiguous(places, start, values, others, comparison.dtype, standard)
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
    return WrongElements(total, count, first, last, every, _thinned(source, SAMPLED), strip)


def _thinned(places: np.ndarray, most: int) -> np.ndarray:
    """At most so many, evenly spread, in runs so that neighbours stay together."""
    if len(places) <= most:
        return places
    run = 16
    starts = np.linspace(0, len(places) - run, most // run).astype(np.int64)
    return places[np.unique((starts[:, None] + np.arange(run)).reshape(-1))]


def _sorted(ambiguous: Places) -> Places:
    order = np.argsort(ambiguous[0], kind="stable")
    return np.asarray(ambiguous[0])[order], np.asarray(ambiguous[1])[order]


def _without_ambiguous(
    places: np.ndarray,
    start: int,
    values: np.ndarray,
    others: Places,
    dtype: str,
    standard: Standard,
) -> np.ndarray:
    """``places`` less those where the value of the other side of a threshold is met."""
    at = np.minimum(np.searchsorted(others[0], places + start), len(others[0]) - 1)
    shared = np.flatnonzero(others[0][at] == places + start) if len(others[0]) else places[:0]
    if not len(shared):
        return places
    bad = failing(values[places[shared]], others[1][at[shared]], dtype, standard)
    return np.delete(places, shared[~bad])
