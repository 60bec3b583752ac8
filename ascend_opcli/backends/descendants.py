"""The processes that a process has started, however they have left it: found, and ended. Linux only; elsewhere nothing.

A subreaper becomes the parent of every descendant whose own parent goes: none gets away by setsid or a double fork.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import sys
import time

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36

_PF_EXITING = 4

PATIENCE = 5.0
"""Seconds after which no more is tried: a process in the kernel's hands does not go."""


def die_with_the_parent(signum: int = signal.SIGKILL) -> None:
    """For the child: however the parent ends, SIGKILL included, nothing of ours hangs on."""
    with contextlib.suppress(AttributeError, OSError):
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signum)


def become_subreaper() -> bool:
    """Adopt what is orphaned below this process; False where the system does not do that."""
    if not sys.platform.startswith("linux"):
        return False
    with contextlib.suppress(AttributeError, OSError):
        return bool(ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0)
    return False


def is_exiting(pid: int) -> bool:
    """Whether a process is on its way out: its pipes are closed before its children have another parent."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as stream:
            return bool(int(stream.read().rpartition(b")")[2].split()[6]) & _PF_EXITING)
    except FileNotFoundError:
        return os.path.isdir("/proc/self")
    except (OSError, ValueError, IndexError):
        return False


def any_children() -> bool:
    """Whether this process has a child, a dead one that nobody has waited for included."""
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return False
    return True


def descendants() -> dict[int, int]:
    """The session of every living process below this one, by process, parents first."""
    below: dict[int, list[tuple[int, int]]] = {}
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        with contextlib.suppress(OSError, ValueError, IndexError):
            with open(f"/proc/{name}/stat", "rb") as stream:
                state, above, _, own = stream.read().rpartition(b")")[2].split()[:4]
            if state != b"Z":
                below.setdefault(int(above), []).append((int(name), int(own)))
    found: dict[int, int] = {}
    todo = [os.getpid()]
    while todo:
        for pid, session in below.get(todo.pop(), ()):
            found[pid] = session
            todo.append(pid)
    return found


def end_all() -> None:
    """End every process below this one, and wait for them."""
    deadline = time.monotonic() + PATIENCE
    while any_children() and time.monotonic() < deadline:
        for pid in descendants():
            kill(pid)
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
            time.sleep(0.002)


def end_strays() -> None:
    """End what below this process has left its session: nobody who meant to be asked again does."""
    if not any_children():
        return
    own = os.getsid(0)
    for _ in range(100):
        strays = [pid for pid, session in descendants().items() if session != own]
        if not strays:
            return
        for pid in strays:
            kill(pid)
        time.sleep(0.002)


def kill(pid: int) -> None:
    """SIGKILL, where the process is still there."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, signal.SIGKILL)
