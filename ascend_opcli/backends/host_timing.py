"""Timing by the clock of the host: many calls a sample, on inputs the cache has not seen."""

from __future__ import annotations

import glob
import re
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ascend_opcli.model import Call

UNKNOWN_CACHE = 32 << 20
COPIES = 9
COPY_BYTES = 64 << 20
ENOUGH = 2e-4
"""Seconds a sample from which on the clock's resolution does not count."""

Clock = Callable[[], float]


def last_level_cache() -> int:
    """The size of the largest cache of this CPU in bytes; a common one where the system does not say."""
    found = 0
    for name in glob.glob("/sys/devices/system/cpu/cpu0/cache/index*/size"):
        try:
            match = re.fullmatch(r"(\d+)([KM]?)", Path(name).read_text("ascii").strip())
        except OSError:
            continue
        if match is not None:
            found = max(found, int(match[1]) << {"": 0, "K": 10, "M": 20}[match[2]])
    return found or UNKNOWN_CACHE


def copy_rate(clock: Clock = time.perf_counter, size: int = COPY_BYTES) -> float:
    """Bytes a second, read and written, of a copy in memory of more than the cache holds."""
    size = max(size, 2 * last_level_cache()) if size == COPY_BYTES else size
    here, there = np.ones(size, np.uint8), np.zeros(size, np.uint8)
    times = []
    for _ in range(COPIES):
        begun = clock()
        np.copyto(there, here)
        times.append(clock() - begun)
    return 2 * size / max(statistics.median(times[1:]), 1e-12)


def _nothing() -> None:
    return None


@dataclass(slots=True)
class HostStage:
    """The calls of one case on several input sets, warmed up; ``flush`` bytes are written before a sample.

    ``run`` makes one call, ``wait`` comes after the last of a sample, ``refresh`` before it and outside its time.
    ``nbytes`` are those of one call's inputs. Where ``once`` is set no call of a set is repeated within a sample.
    """

    calls: Sequence[Any]
    run: Callable[[Any], object]
    nbytes: int
    cold: bool = True
    clock: Clock = time.perf_counter
    sample: float = 0.025
    cache: int = field(default_factory=last_level_cache)
    wait: Callable[[], None] = _nothing
    refresh: Callable[[], None] = _nothing
    once: bool = False
    first: float = 0.0
    launches: int = 0
    flush: int = 0
    _waste: np.ndarray | None = None
    _next: int = 0

    def __post_init__(self) -> None:
        if self.cold and self.nbytes * len(self.calls) < 2 * self.cache:
            self.flush = self.cache
            self._waste = np.zeros(self.flush, np.uint8)
        begun = self.clock()
        self.run(self.calls[0])
        self.wait()
        self.first = self.clock() - begun
        self.launches = 1
        alone = self.draw()  # the first call of all also loads what it needs
        self.launches = max(1, min(len(self.calls), int(self.sample / max(alone, 1e-9))))
        if self.launches == len(self.calls):
            self.draw()
        if not self.flush and not self.once and self.launches == len(self.calls):
            rounds = int(ENOUGH / max(self.draw() * self.launches, 1e-9)) + 1
            self.launches *= min(rounds, 1000)

    def draw(self) -> float:
        """Seconds a call: the flush, then every set once (in turns where nothing is flushed, fewer where they are
        slow)."""
        self.refresh()
        if self._waste is not None:
            self._waste += 1  # reads and writes every line
        todo = [self.calls[(self._next + i) % len(self.calls)] for i in range(self.launches)]
        self._next = (self._next + self.launches) % len(self.calls)
        run = self.run
        begun = self.clock()
        for call in todo:
            run(call)
        self.wait()
        return (self.clock() - begun) / self.launches


def input_arrays(call: Call) -> list[np.ndarray]:
    """The storages of every input tensor."""
    bound = [item for b in call.arguments.values() for item in (b if isinstance(b, tuple) else (b,))]
    return [item.storage for item in bound if item is not None and hasattr(item, "storage")]
