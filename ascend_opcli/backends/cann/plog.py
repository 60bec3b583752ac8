"""What a kernel says while a case runs: the ERROR lines of CANN's log, and what it prints."""

from __future__ import annotations

from pathlib import Path

MAX_LINES = 50
MAX_READ = 1 << 20
MAX_VOICE = 64 * 1024
"""Bytes of its output that are kept of a case."""


class Plog:
    """Follows the log files below a folder of its own."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._seen: dict[Path, int] = {}

    def mark(self) -> None:
        """What is there now is not of the next case."""
        self._seen = {path: path.stat().st_size for path in self._files()}

    def errors(self) -> tuple[str, ...]:
        """ERROR lines since the mark, the last ones where there are many."""
        lines: list[str] = []
        for path in self._files():
            with path.open("rb") as stream:
                stream.seek(self._seen.get(path, 0))
                text = stream.read(MAX_READ).decode("utf-8", "replace")
            lines += [line.strip() for line in text.splitlines() if line.startswith("[ERROR]")]
        return tuple(lines[-MAX_LINES:])

    def _files(self) -> list[Path]:
        return sorted(p for p in self._folder.rglob("*.log") if p.is_file())


def printed(path: Path, start: int) -> str:
    """What was printed into a file from a place on, cut where it is long."""
    with path.open("rb") as stream:
        stream.seek(start)
        raw = stream.read(MAX_VOICE + 1)
    text = raw[:MAX_VOICE].decode("utf-8", "replace")
    return text if len(raw) <= MAX_VOICE else text + "\n(cut)"
