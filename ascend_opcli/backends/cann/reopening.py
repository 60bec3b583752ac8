"""When a device that was lost is tried again, and when no more."""

from __future__ import annotations

ATTEMPTS = 2
"""Attempts in a row that may fail: a lost device keeps each of them waiting for minutes."""


class Reopening:
    """Counts the attempts to open a device again; ``closed`` says, once there is no other, why."""

    def __init__(self) -> None:
        self._failed = 0
        self.closed = ""

    def came_back(self) -> None:
        """An attempt has succeeded: what failed before it does not count."""
        self._failed = 0

    def failed(self, why: str) -> None:
        """An attempt has failed."""
        self._failed += 1
        if self._failed >= ATTEMPTS:
            self.closed = f"the device no longer opens, and is not tried again: {why}"
