"""Long computations during which signals are heard.

Python tells of a signal between two steps of the main thread, and one step of NumPy may take minutes. So the work is
done in a thread, and the main thread waits: what a signal raises there leaves the work behind.
"""

from __future__ import annotations

import contextvars
import functools
import os
import queue
import sys
import threading
from collections.abc import Callable
from typing import ParamSpec, TypeVar

_P = ParamSpec("_P")
_T = TypeVar("_T")

LOOK = 0.5
"""Seconds between two looks, for systems on which waiting itself cannot be interrupted."""


class _Worker:
    """A thread that does one piece of work after another: starting one for each would cost a small case its time."""

    def __init__(self) -> None:
        self._todo: queue.SimpleQueue[Callable[[], object]] = queue.SimpleQueue()
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            self._todo.get()()

    def do(self, work: Callable[[], object]) -> None:
        """Hand over the next piece."""
        self._todo.put(work)


_idle: list[_Worker] = []
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_idle.clear)  # a fork has the list and not the threads


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
        worker = _idle.pop() if _idle else _Worker()
        # The context carries what NumPy has been told of its warnings.
        worker.do(functools.partial(contextvars.copy_context().run, work))
        try:
            while not done.wait(LOOK):
                pass
        except BaseException:
            sys.stdout, sys.stderr = streams  # a reference that was left behind may have turned them aside
            raise
        _idle.append(worker)
        if failed:
            try:
                raise failed[0]
            finally:
                failed.clear()  # no circle of error, frame and list
        return made[0]

    return run
