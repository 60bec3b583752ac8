"""How a report reaches its file: whole or not at all."""

from __future__ import annotations

import contextlib
import os
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

from ascend_opcli.errors import SurroundingsError

STDOUT = "-"


def write_text(target: str, chunks: Iterable[str]) -> None:
    """Write a report to a file in UTF-8, whole or not at all; ``-`` is stdout.

    What no encoding can hold (the undecodable bytes of a file name) is written as ``\\udcff``, which is also
    what JSON makes of it.
    """
    if target == STDOUT:
        encoding = sys.stdout.encoding or "utf-8"
        sys.stdout.writelines(c.encode(encoding, "backslashreplace").decode(encoding) for c in chunks)
        sys.stdout.flush()
        lost = getattr(sys.stdout, "lost", "")
        if lost:
            raise SurroundingsError(f"cannot write the report to stdout: {lost}")
        return
    path = Path(target)
    if path.is_symlink() or path.exists():
        path = path.resolve()  # what a link names is written, the link stays
    try:
        if path.exists() and not path.is_file():
            # A device or a pipe is written through: replacing it would take it away from everybody.
            with path.open("w", encoding="utf-8", errors="backslashreplace", newline="\n") as stream:
                stream.writelines(chunks)
            return
        handle, temporary = tempfile.mkstemp(dir=path.parent or Path(), prefix=f".{path.name}.")
        try:
            with os.fdopen(
                handle, "w", encoding="utf-8", errors="backslashreplace", newline="\n", buffering=1 << 20
            ) as stream:
                stream.writelines(chunks)
            os.chmod(temporary, 0o644)
            os.replace(temporary, path)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
            raise
    except OSError as error:
        raise SurroundingsError(f"cannot write {target}: {error.strerror}") from None


def write_new(path: Path, text: str) -> None:
    """Write a file as :func:`write_text` does, its folder made where there is none."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SurroundingsError(f"cannot make {path.parent}: {error.strerror}") from None
    write_text(os.fspath(path), [text])
