"""Statistics as they accumulate over blocks, and how the tallies of several threads become one."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from ascend_opcli.model import Census
from ascend_opcli.verification.compare.elements import Figures

_COUNTED = ("exact", "outside", "beyond", "sign", "zero", "nan", "inf", "nan_got", "inf_got", "paired")


KEPT = 1 << 12
"""Failing elements whose places are kept: few enough to cost nothing, enough to look for a pattern."""


class Bad(NamedTuple):
    """A candidate for the worst elements, ordered by badness; among equals the lower index is worse."""

    mismatch: bool
    used: float
    error: float
    negative_place: int

    @property
    def place(self) -> int:
        """Flat row-major index."""
        return -self.negative_place


@dataclass(slots=True)
class Tally:
    """Counts, maxima and the worst elements of a range of blocks. Adding them up in any order gives the same."""

    keep: int = 3
    exact: int = 0
    over: int = 0
    """Elements over the tolerance or the limit."""
    outside: int = 0
    """Elements over the tolerance."""
    beyond: int = 0
    """Elements over the limit."""
    sign: int = 0
    zero: int = 0
    nan: int = 0
    inf: int = 0
    nan_got: int = 0
    inf_got: int = 0
    paired: int = 0
    not_written: int = 0
    excess: float = 0.0
    atol_needed: float = 0.0
    rtol_needed: float = 0.0
    worst: list[Bad] = field(default_factory=list)
    sums: dict[int, float] = field(default_factory=dict)
    """The relative errors of each block by its start, so that their total does not depend on who added what."""
    failing: list[np.ndarray] = field(default_factory=list)
    """Flat indices of what is ``over``, as many as there is room for."""

    @property
    def used_by_last(self) -> float:
        """The share that an element must reach to count among the worst; 0 while there is room."""
        return self.worst[-1].used if len(self.worst) == self.keep else 0.0

    def add(self, figures: Figures, places: np.ndarray) -> None:
        """Counts elements, whose flat indices are ``places``, with all that there is to know of them."""
        over = figures.outside | figures.beyond
        if self.over <= KEPT and over.any():
            self.failing.append(places[over])
        self.over += int(np.count_nonzero(over))
        for name in _COUNTED:
            setattr(self, name, getattr(self, name) + int(np.count_nonzero(getattr(figures, name))))
        self.excess = max(self.excess, float(figures.excess.max(initial=0.0)))
        self.rank(figures, places)

    def able(self, used: np.ndarray, error: np.ndarray, places: np.ndarray, keep: int) -> np.ndarray:
        """Indices of at most ``keep`` elements, none of them mismatches, that may enter the worst."""
        able = np.flatnonzero((used >= self.used_by_last) & (used > 0.0))
        if len(self.worst) == self.keep and able.size > keep:
            last = self.worst[-1]
            if last.mismatch:
                return able[:0]
            u, e = used[able], error[able]
            lower = (e > last.error) | ((e == last.error) & (places[able] < last.place))
            able = able[(u > last.used) | lower]
        if able.size > keep:
            able = able[np.lexsort((places[able], -error[able], -used[able]))[:keep]]
        return able

    def rank(self, figures: Figures, places: np.ndarray) -> None:
        """Lets elements take their place among the worst and the numbers needed, without counting them."""
        self.atol_needed = max(self.atol_needed, float(figures.atol_needed.max(initial=0.0)))
        self.rtol_needed = max(self.rtol_needed, float(figures.rtol_needed.max(initial=0.0)))
        used, error, mismatch = figures.used, figures.error, figures.mismatch
        able = np.flatnonzero((used >= self.used_by_last) & (used > 0.0))
        if able.size > self.keep:
            order = np.lexsort((places[able], -error[able], -used[able], ~mismatch[able]))
            able = able[order[: self.keep]]
        self._enter(
            Bad(bool(mismatch[i]), float(used[i]), float(error[i]), -int(places[i])) for i in able.tolist()
        )

    def _enter(self, bad: Iterable[Bad]) -> None:
        # An element may be ranked twice, on different grounds; it stands once.
        self.worst = sorted({*self.worst, *bad}, reverse=True)[: self.keep]

    def merge(self, other: Tally) -> None:
        """Takes over what another range of blocks gave."""
        for name in (*_COUNTED, "over", "not_written"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        for name in ("excess", "atol_needed", "rtol_needed"):
            setattr(self, name, max(getattr(self, name), getattr(other, name)))
        self._enter(other.worst)
        self.failing += other.failing
        self.sums.update(other.sums)

    def failing_places(self) -> np.ndarray | None:
        """The flat indices of all failing elements, ascending; None where they are too many to be kept."""
        if self.over > KEPT:
            return None
        return np.sort(np.concatenate(self.failing)) if self.failing else np.zeros(0, np.int64)

    def relative_sum(self) -> float:
        """The sum of all relative errors, Inf where a block's is."""
        if any(not math.isfinite(part) for part in self.sums.values()):
            return math.inf
        return math.fsum(self.sums.values())

    def census(self, total: int) -> Census:
        """The census of an output of ``total`` elements."""
        return Census(
            total=total,
            exact=self.exact,
            within=total - self.exact - self.over,
            over=self.over,
            sign_flipped=self.sign,
            zero_against_nonzero=self.zero,
            nan_against_number=self.nan,
            inf_against_other=self.inf,
            not_written=self.not_written,
        )
