"""The ERROR lines that CANN writes to its log while a case runs."""

from __future__ import annotations

from pathlib import Path

MAX_LINES = 50
MAX_READ = 1 << 20


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
