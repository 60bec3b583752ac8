"""Device memory with guard zones, and host copies to compare it with."""

from __future__ import annotations

import numpy as np

from ascend_opcli.backends.cann.runtime import Runtime

GUARD = 512
"""Bytes before and after a buffer; a multiple of the alignment that operators expect."""

GUARD_BYTE = 0x6B
POISONS = (0xA5, 0x5A)
"""Outputs are filled with the first; what still looks like it is tried again with the second."""


class Buffer:
    """``nbytes`` of device memory between two guard zones.

    The zone behind begins at the very next byte, inside our own allocation: what the runtime pads behind that
    is not looked at.
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

    def damage(self) -> str:
        """How the guard zones were overwritten, in a few words; empty where they were not."""
        for name, address, offset in (
            ("before the start", self._base, -GUARD),
            ("past the end", self.address + self.nbytes, self.nbytes),
        ):
            zone = np.empty(GUARD, np.uint8)
            self._runtime.copy_out(zone, address)
            wrong = np.flatnonzero(zone != GUARD_BYTE)
            if wrong.size:
                first = offset + int(wrong[0])
                return f"{name}, {wrong.size} bytes from byte {first} of {self.nbytes} on"
        return ""

    def free(self) -> None:
        """Give the memory back; safe to call twice."""
        if self._base:
            base, self._base = self._base, 0
            self._runtime.free(base)
