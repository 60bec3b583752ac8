"""Long computations during which signals are heard.

Python tells of a signal between two steps of the main thread, and one step of NumPy may take minutes. So the work is
done in a thread, and the main thread waits: what a signal raises there leaves the work behind.
"""

from __future__ import annotations

import contextvars
import functools
import sys
import threading
from collections.abc import Callable
from typing import ParamSpec, TypeVar

_P = ParamSpec("_P")
_T = TypeVar("_T")

LOOK = 0.5
"""Seconds between two looks, for systems on which waiting itself cannot be interrupted."""


def heard(function: Callable[_P, _T]) -> Callable[_P, _T]:
    """The function, run in a thread of its own while the main thread waits; elsewhere than there it is just called.

    Only for what computes: a child process may be bound to the thread that starts it.
    """

    @functools.wraps(function)
    def run(*args: _P.args, **kwargs: _P.kwargs) -> _T:
        if threading.current_thread() is not threading.main_thread():
            return function(*args, **kwargs)
        made: list[_T] = []
        failed: list[BaseException] = []
        done = threading.Event()

        def work() -> None:
            try:
                made.append(function(*args, **kwargs))
            except BaseException as error:
                failed.append(error)
            finally:
                done.set()

        streams = sys.stdout, sys.stderr
        # The context carries what NumPy has been told of its warnings.
        threading.Thread(target=contextvars.copy_context().run, args=(work,), daemon=True).start()
        try:
            while not done.wait(LOOK):
                pass
        except BaseException:
            sys.stdout, sys.stderr = streams  # a reference that was left behind may have turned them aside
            raise
        if failed:
            try:
                raise failed[0]
            finally:
                failed.clear()  # no circle of error, frame and list
        return made[0]

    return run
