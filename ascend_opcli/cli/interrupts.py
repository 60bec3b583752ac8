"""Signals that end a run: the first one ends it in good order, with what was finished reported."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Iterator
from types import FrameType

SIGNALS = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]
"""Ctrl-C, a CI system that stops its job, a terminal that is closed."""

INSISTED = 3
"""How often it takes to be asked to leave out the reports, too."""


@contextlib.contextmanager
def in_good_order() -> Iterator[None]:
    """Inside, the first signal raises KeyboardInterrupt; a second one does not disturb the tidying up.

    What the caller ignores (SIGHUP under nohup) stays ignored. In the main thread only.
    """
    count = 0

    def asked(_number: int, _frame: FrameType | None) -> None:
        nonlocal count
        count += 1
        if count == 1 or count >= INSISTED:
            raise KeyboardInterrupt

    before = {number: signal.getsignal(number) for number in SIGNALS}
    ours = [number for number, handler in before.items() if handler is not signal.SIG_IGN]
    try:
        for number in ours:
            signal.signal(number, asked)
        yield
    finally:
        for number in ours:
            # Once ended on request, the process has only its exit code to deliver: nothing may change that.
            signal.signal(number, signal.SIG_IGN if count else before[number])
