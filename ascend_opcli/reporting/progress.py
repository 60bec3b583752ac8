"""Progress on stderr, only for what takes longer than a second, gone when it is done."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable
from types import TracebackType
from typing import IO, TypeVar

from ascend_opcli.reporting.escape import bare, one_line

AFTER = 1.0
EVERY = 0.1


class Progress:
    """A line that counts cases on a terminal; in a pipe nothing is written."""

    def __init__(self, total: int, stream: IO[str]) -> None:
        self._total, self._stream = total, stream
        self._live = stream.isatty()
        self._done = 0
        self._shown = False
        self._begun = self._last = time.monotonic()

    def __enter__(self) -> Progress:
        return self

    def advance(self, name: str) -> None:
        """One more case is done."""
        self._done += 1
        now = time.monotonic()
        if self._live and now - self._begun > AFTER and now - self._last > EVERY:
            self._last = now
            self._shown = True
            bare(self._stream).write(f"\r\x1b[K{self._done} of {self._total}  {one_line(name)[:60]}")
            self._stream.flush()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._shown:
            bare(self._stream).write("\r\x1b[K")
            self._stream.flush()


T = TypeVar("T")


def collect(
    stream: Iterable[T],
    into: list[T],
    total: int,
    name: Callable[[T], str],
    stop: Callable[[T], bool] | None = None,
) -> bool:
    """Gather what comes, with progress on stderr, up to one that ``stop`` picks; True where it was interrupted."""
    with Progress(total, sys.stderr) as progress:
        try:
            for each in stream:
                into.append(each)
                progress.advance(name(each))
                if stop is not None and stop(each):
                    break
        except KeyboardInterrupt:
            return True
    return False
