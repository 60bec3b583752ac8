"""Signals that end a run: the first one ends it in good order, with what was finished reported."""

from __future__ import annotations

import contextlib
import os
import signal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

SIGNALS = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]
"""Ctrl-C, a CI system that stops its job, a terminal that is closed."""

INSISTED = 3
"""How often it takes to be asked to leave out the reports, too."""

WORD = "opcli: interrupted\n"


class _Order:
    """What the signals of one command find: whether there is anything yet that would have to be put in order."""

    begun = False
    count = 0


_order = _Order()


def begin() -> None:
    """From here on there is something to put in order: results, files, children. Until then a signal ends at once."""
    _order.begun = True


def asked() -> bool:
    """Whether a signal has come."""
    return _order.count > 0


@contextlib.contextmanager
def in_good_order() -> Iterator[None]:
    """Inside, the first signal raises KeyboardInterrupt; a second one does not disturb the tidying up.

    Before :func:`begin` it ends the process: an exception would hit an import half way, where others catch it. What
    the caller ignores (SIGHUP under nohup) stays ignored. In the main thread only.
    """
    _order.begun, _order.count = False, 0

    def heard(_number: int, _frame: FrameType | None) -> None:
        _order.count += 1
        if not _order.begun:
            with contextlib.suppress(OSError):
                os.write(2, WORD.encode())
            os._exit(130)
        if _order.count == 1 or _order.count >= INSISTED:
            raise KeyboardInterrupt

    before = {number: signal.getsignal(number) for number in SIGNALS}
    ours = [number for number, handler in before.items() if handler is not signal.SIG_IGN]
    try:
        for number in ours:
            signal.signal(number, heard)
        yield
    finally:
        for number in ours:
            # Once ended on request, the process has only its exit code to deliver: nothing may change that.
            signal.signal(number, signal.SIG_IGN if _order.count else before[number])
