"""Device memory with guard zones, and host copies to compare it with."""

from __future__ import annotations

import numpy as np

from ascend_opcli.backends.cann.runtime import Runtime
from ascend_opcli.backends.observed import GUARD, GUARD_BYTE, damaged

BLOCK = 32


class Buffer:
    """``nbytes`` of device memory between two guard zones.

    The zone behind begins at the very next byte, inside our own allocation. Its first bytes are the padding that the
    runtime demands behind every segment of an allocation, because kernels move whole blocks of 32 bytes: to its next
    multiple of 32, and 32 more on all but the newest SoCs (the runtime's document of aclrtMalloc).
    """

    def __init__(self, runtime: Runtime, nbytes: int) -> None:
        self._runtime, self.nbytes = runtime, nbytes
        self._base = runtime.malloc(GUARD + nbytes + GUARD)
        try:
            zone = np.full(GUARD, GUARD_BYTE, np.uint8)
            runtime.copy_in(self._base, zone)
            runtime.copy_in(self.address + nbytes, zone)
        except BaseException:
            self.free()
            raise

    @property
    def address(self) -> int:
        """Where the buffer proper begins."""
        return self._base + GUARD

    def fill(self, byte: int) -> None:
        """Set every byte."""
        self._runtime.copy_in(self.address, np.full(self.nbytes, byte, np.uint8))

    def write(self, storage: np.ndarray) -> None:
        """Copy a host storage of ``nbytes`` in."""
        self._runtime.copy_in(self.address, storage)

    def read(self) -> np.ndarray:
        """The bytes as they are now."""
        host = np.empty(self.nbytes, np.uint8)
        self._runtime.copy_out(host, self.address)
        return host

    def damage(self) -> tuple[str, str]:
        """How the guard zones were overwritten, in a few words, and how the padding was; empty where they were not."""
        zones = [np.empty(GUARD, np.uint8) for _ in range(2)]
        for zone, address in zip(zones, (self._base, self.address + self.nbytes), strict=True):
            self._runtime.copy_out(zone, address)
        before, after = zones
        padding = -self.nbytes % BLOCK + self._runtime.segment_padding()
        used = int(np.count_nonzero(after[:padding] != GUARD_BYTE))
        note = (
            f"{used} of the {padding} bytes of padding behind its end, which the runtime demands"
            if used
            else ""
        )
        return damaged(before, after, self.nbytes, padding), note

    def free(self) -> None:
        """Give the memory back; safe to call twice."""
        if self._base:
            base, self._base = self._base, 0
            self._runtime.free(base)
