"""stdout and stderr: what others wrote is made visible, and one that cannot be written does not change the verdict."""

from __future__ import annotations

import contextlib
import io
import os
import sys

from ascend_opcli.errors import visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any, TextIO


@contextlib.contextmanager
def edges() -> Iterator[None]:
    """Inside, this process has a stdin, stdout and stderr, whatever it was started with, and these are edges.

    At the end it says on stderr where something could not be written to stdout.
    """
    if os.name == "posix":
        for number in range(3):
            # A closed one would be the place of the next file that is opened.
            try:
                os.fstat(number)
            except OSError:
                os.open(os.devnull, os.O_RDWR)
    before = sys.stdin, sys.stdout, sys.stderr
    if sys.stdin is None:
        sys.stdin = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    out, err = _edge(sys.stdout), _edge(sys.stderr)
    sys.stdout, sys.stderr = out, err
    try:
        yield
    finally:
        out.flush()
        if out.lost:
            err.write(f"opcli: stdout cannot be written: {out.lost}\n")
        err.flush()
        sys.stdin, sys.stdout, sys.stderr = before


def _edge(stream: TextIO | None) -> Any:
    if stream is None:
        stream = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
        stream.close()
        return Edge(stream)
    if isinstance(stream, io.TextIOWrapper) and not stream.closed:
        # A name that the terminal's encoding cannot say is told by its code; it must not end the run.
        stream.reconfigure(errors="backslashreplace")
    return Edge(stream)


class Bare:
    """A stream that takes no offence: what cannot be written goes nowhere, and :attr:`lost` says why.

    A reader that has gone away (head, less) has what it wanted: nothing is lost then.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream, self.lost = stream, ""

    def write(self, text: str) -> int:
        """Write, or drop what cannot be written."""
        try:
            return self._stream.write(text)
        except (OSError, ValueError) as error:  # a closed stream is a ValueError
            return self._gone(error, len(text))

    def writelines(self, lines: Iterable[str]) -> None:
        """Write every line."""
        for line in lines:
            self.write(line)

    def flush(self) -> None:
        """Flush, as long as that can be done."""
        try:
            if not self._stream.closed:
                self._stream.flush()
        except (OSError, ValueError) as error:
            self._gone(error, 0)

    def isatty(self) -> bool:
        """Whether this is a terminal."""
        return not self._stream.closed and self._stream.isatty()

    def _gone(self, error: Exception, length: int) -> int:
        if not isinstance(error, BrokenPipeError):
            said = "it is closed" if self._stream.closed else getattr(error, "strerror", None) or str(error)
            self.lost = self.lost or said
        # Python flushes its streams once more at exit: let that go nowhere.
        with contextlib.suppress(OSError, ValueError):
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self._stream.fileno())
            os.close(nowhere)
        return length

    def __getattr__(self, name: str) -> Any:
        if name == "_stream":
            raise AttributeError(name)
        return getattr(self._stream, name)


class Edge:
    """Such a stream that escapes what would not be seen, or would act on a terminal.

    ``bare`` is for what colours a line or moves the cursor: others' words go there only when they are escaped already.
    """

    def __init__(self, stream: TextIO) -> None:
        self.bare = Bare(stream)

    @property
    def lost(self) -> str:
        """Why something could not be written, empty where all was."""
        return self.bare.lost

    def write(self, text: str) -> int:
        """Write with what is unseen as escapes."""
        self.bare.write(visible(text))
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        """Write every line."""
        for line in lines:
            self.write(line)

    def flush(self) -> None:
        """Flush, as long as that can be done."""
        self.bare.flush()

    def __getattr__(self, name: str) -> Any:
        if name in ("buffer", "bare"):  # nothing goes past the edge
            raise AttributeError(name)
        return getattr(self.bare, name)
