"""Whether a case's tensors fit into memory, told before anything is allocated."""

from __future__ import annotations

from pathlib import Path

from ascend_opcli.model import Argument, Case, TensorSpec
from ascend_opcli.tensors.dtypes import DTYPES

GOLDEN_BYTES = 8
"""An output's golden is float64, or as wide."""


def needed_bytes(case: Case) -> int:
    """Bytes of every tensor's storage, and of the goldens of what the operator writes."""
    total = 0
    for argument in case.arguments.values():
        for spec in _specs(argument):
            count = 1
            for dim in spec.storage_shape:
                count *= dim
            total += count * DTYPES[spec.dtype].itemsize
            total += spec.count * GOLDEN_BYTES if spec.data is None else 0
    return total


def _specs(argument: Argument) -> tuple[TensorSpec, ...]:
    if isinstance(argument, tuple):
        return argument
    return (argument,) if isinstance(argument, TensorSpec) else ()


def available_bytes() -> int | None:
    """What the system says is free for use, None where it does not say."""
    try:
        for line in Path("/proc/meminfo").read_text("ascii").splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    except (OSError, ValueError, IndexError):
        return None
    return None


def too_large(case: Case, limit: int | None) -> str | None:
    """Why a case is not run for its size, or None. Without a limit, half of what is free is one."""
    need = needed_bytes(case)
    if limit is None:
        if need < 1 << 26:
            return None
        free = available_bytes()
        if free is None:
            return None
        limit = free // 2
    if need <= limit:
        return None
    return f"needs about {_size(need)}, the memory limit is {_size(limit)}"


def _size(count: int) -> str:
    return f"{count / 2**30:.1f} GiB" if count >= 2**29 else f"{count / 2**20:.1f} MiB"


def size_of(text: str) -> int:
    """``2GiB``, ``500MB`` or a bare number of bytes. Raises ValueError."""
    units = {"": 1, "b": 1, "kib": 2**10, "mib": 2**20, "gib": 2**30, "kb": 10**3, "mb": 10**6, "gb": 10**9}
    number = text.strip().rstrip("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ ")
    unit = text.strip()[len(number) :].strip().lower()
    try:
        size = int(float(number) * units[unit])
    except (KeyError, ValueError, OverflowError):
        size = 0
    if not 0 < size < 2**63:
        raise ValueError(f"'{text}' is no size such as 2GiB")
    return size
