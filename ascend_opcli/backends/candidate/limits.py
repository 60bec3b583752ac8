"""How much a candidate may take: bytes of a file, bytes of memory; and how one knows that it has met the limit."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import resource
from pathlib import Path

MEMORY_LEAST = 1 << 30
"""Memory that is granted whatever the limit: an interpreter and its libraries before there are any data."""

TAIL = 1 << 16

_NO_MEMORY = re.compile(
    r"MemoryError|bad_alloc|Cannot allocate memory|can't allocate memory|not enough memory|Unable to allocate"
)
_NO_SPACE = re.compile("File too large")


def limit_files(limit: int) -> None:
    """No file that this process or its programs write may grow beyond ``limit`` bytes."""
    _limit(resource.RLIMIT_FSIZE, limit)


def limit_memory(limit: int) -> None:
    """The data of this process, and of each of its programs, may not grow beyond ``limit`` bytes.

    The address space is not what counts: libraries map more than they use.
    """
    with contextlib.suppress(OSError, ValueError):
        _limit(resource.RLIMIT_DATA, limit)


def _limit(what: int, limit: int) -> None:
    hard = resource.getrlimit(what)[1]
    resource.setrlimit(what, (limit if hard == resource.RLIM_INFINITY else min(limit, hard), hard))


def data_bytes() -> int:
    """The data of this process as its limit counts them; 0 where the system does not say."""
    with contextlib.suppress(OSError, ValueError, IndexError):
        for line in Path("/proc/self/status").read_text("ascii").splitlines():
            if line.startswith("VmData:"):
                return int(line.split()[1]) * 1024
    return 0


def memory_text(limit: int) -> str:
    """What a sentence about memory that ran out ends with."""
    size = f"{limit / 2**30:.1f} GiB" if limit >= 2**29 else f"{limit / 2**20:.1f} MiB"
    return f"out of memory: the limit is {size}"


def out_of_memory(text: str) -> bool:
    """Whether an error says that memory ran out."""
    return _NO_MEMORY.search(text) is not None


def too_large(error: BaseException) -> bool:
    """Whether an exception is that of a file at its limit."""
    return isinstance(error, OSError) and error.errno == errno.EFBIG


def says_too_large(text: str) -> bool:
    """Whether what a program has printed says that of a file."""
    return _NO_SPACE.search(text) is not None


def tail(fd: int) -> str:
    """The end of what lies in the file that is open as ``fd``; empty where it cannot be read."""
    with contextlib.suppress(OSError), open(f"/proc/self/fd/{fd}", "rb") as stream:
        stream.seek(max(0, os.fstat(stream.fileno()).st_size - TAIL))
        return stream.read(TAIL).decode("utf-8", "replace")
    return ""
