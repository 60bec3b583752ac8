"""What a person types. One module a command; the heavy rooms are imported only when a command runs."""

from __future__ import annotations

import io
import os
import sys
from typing import Any, TextIO


def main() -> None:
    """The command ``opcli``: every error is one sentence on stderr, with the exit code that it stands for."""
    from ascend_opcli.cli.app import app
    from ascend_opcli.cli.interrupts import in_good_order
    from ascend_opcli.errors import ExitCode, OpcliError

    for stream in (sys.stdout, sys.stderr):
        # A name that the terminal's encoding cannot say is told by its code; it must not end the run.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    sys.stdout = _Patient(sys.stdout)
    caught: BaseException
    try:
        with in_good_order():
            app()
        return
    except OpcliError as error:
        caught, code, sentence = error, error.exit_code, str(error)
    except KeyboardInterrupt as error:
        caught, code, sentence = error, ExitCode.INTERRUPTED, "interrupted"
    except Exception as error:
        caught, code = error, ExitCode.SURROUNDINGS
        sentence = f"internal error: {type(error).__name__}: {error} (--debug shows where)"
    if "--debug" in sys.argv:
        import traceback

        traceback.print_exception(caught)
    from ascend_opcli.reporting.escape import visible

    print(f"opcli: {visible(sentence)}", file=sys.stderr)  # it may quote a file or a library
    sys.exit(code)


class _Patient:
    """stdout whose reader may go away (head, less): what it wanted, it has, and the verdict stays the verdict."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Write, or drop what nobody reads any more."""
        try:
            return self._stream.write(text)
        except BrokenPipeError:
            return self._gone(len(text))

    def writelines(self, lines: Any) -> None:
        """Write every line."""
        for line in lines:
            self.write(line)

    def flush(self) -> None:
        """Flush, as long as somebody reads."""
        try:
            self._stream.flush()
        except BrokenPipeError:
            self._gone(0)

    def _gone(self, length: int) -> int:
        # Python flushes stdout once more at exit: let that go nowhere.
        os.dup2(os.open(os.devnull, os.O_WRONLY), self._stream.fileno())
        return length

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)
