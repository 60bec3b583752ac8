"""The lines of a log, from a file or standard input: bounded in length and number, whatever the bytes are.

UTF-16 with a byte order mark is read too (PowerShell's ``>``); escape sequences, which colour a line on a terminal,
are taken out, and the words that launchers put before the lines of each of their processes.
"""

from __future__ import annotations

import io
import os
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO

from ascend_opcli.casefile.tree import clip
from ascend_opcli.errors import CaseFileError

MAX_LOG = 2**28
MAX_LINE = 2**16
STDIN = "-"

_HEAD = 2**16
_CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f]")


_ESCAPE = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[ -/]+[0-~]|\x1b[=>NOM78c]"
)
_PREFIX = re.compile(
    r"\[(?:rank|default|local_rank|Rank) ?\d{1,6}\]:? ?"  # torch.distributed and torchrun
    r"|\[\d{1,6},\d{1,6}\]<std(?:out|err|diag)>: ?"  # mpirun --tag-output
    r"|\([A-Za-z][\w.-]{0,60} (?:rank=\d{1,6} )?pid=\d{1,10}[^()\n]{0,100}\) ?"  # Ray, vLLM
    r"|\d{1,6}: (?=\S)"  # srun --label
    r"|(?:\d{4}-\d\d-\d\d[T ][\d:.,+]{8,20}Z? )?[\w.-]{1,100}[-_]\d{1,4} +\| ",  # docker compose
    re.ASCII,
)
_STAMP = re.compile(r"\d{4}-\d\d-\d\d[T ][\d:.,+]{8,20}Z? ", re.ASCII)
_UTF16 = {b"\xff\xfe": "utf-16-le", b"\xfe\xff": "utf-16-be"}


@dataclass(frozen=True, slots=True)
class Line:
    """One line without its end; ``cut`` where it was longer than MAX_LINE bytes and the rest is left out.

    ``prefix`` is what a launcher wrote before the line, taken off ``text``: lines of one prefix are of one process.
    """

    number: int
    text: str
    cut: bool = False
    prefix: str = ""

    @property
    def stream(self) -> str:
        """The process whose line it is, empty where the line does not say."""
        return _STAMP.sub("", self.prefix).strip()


def line(number: int, text: str, *, cut: bool = False) -> Line:
    """A line as it was read: without its escape sequences, what a launcher wrote before it apart."""
    text = _ESCAPE.sub("", text) if "\x1b" in text or "\x9b" in text else text
    place = 0
    for _ in range(3):
        found = _PREFIX.match(text, place)
        if found is None:
            break
        place = found.end()
    return Line(number, text[place:], cut, text[:place])


def lines(path: str) -> Iterator[Line]:
    """Every line of the log; ``-`` is standard input.

    Raises CaseFileError for what cannot be read, is larger than MAX_LOG bytes, or is no text.
    """
    if path == STDIN:
        yield from _lines(sys.stdin.buffer, "the log on stdin")
        return
    try:
        if not os.path.isfile(path):
            said = "is not a file" if os.path.exists(path) else "does not exist"
            raise CaseFileError(f"{clip(path, 200)} {said}")
        with open(path, "rb") as file:
            yield from _lines(file, clip(path, 200))
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise CaseFileError(f"{clip(path, 200)} cannot be read: {why}") from None


def _lines(source: BinaryIO, name: str) -> Iterator[Line]:
    number = size = odd = 0
    file = _as_utf8(source)
    while raw := file.readline(MAX_LINE + 1):
        number += 1
        if size < _HEAD:
            # An int8_t is logged as its raw byte, so that a few of these belong to a log.
            odd += len(_CONTROL.findall(raw))
            if odd > 64 and odd * 10 > size + len(raw):
                raise CaseFileError(f"{name} is binary, not a log")
        size += len(raw)
        cut = len(raw.rstrip(b"\r\n")) > MAX_LINE
        text = raw[:MAX_LINE].decode("utf-8", "replace").rstrip("\r\n")
        while cut and not raw.endswith(b"\n") and (raw := file.readline(MAX_LINE)):
            size += len(raw)
            if size > MAX_LOG:
                break
        if size > MAX_LOG:
            raise CaseFileError(
                f"{name} is larger than {MAX_LOG // 2**20} MiB; cut out the part around the call"
            )
        yield line(number, text.lstrip("\ufeff") if number == 1 else text, cut=cut)


class _Recoded:
    """The lines of a text in another encoding, in UTF-8."""

    def __init__(self, file: Any, encoding: str) -> None:
        self._text = io.TextIOWrapper(file, encoding, errors="replace", newline="\n")

    def readline(self, size: int) -> bytes:
        return self._text.readline(size).encode("utf-8", "replace")


class _Rest(io.RawIOBase):
    """A file of which the beginning has been read."""

    def __init__(self, start: bytes, file: BinaryIO) -> None:
        self._start, self._file = start, file

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data, self._start = self._start[: len(buffer)], self._start[len(buffer) :]
        data = data or self._file.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)


def _as_utf8(file: BinaryIO) -> Any:
    """Something that reads lines in UTF-8, or whatever bytes the file has."""
    start = file.read(2)
    encoding = _UTF16.get(start)
    return (
        io.BufferedReader(_Rest(start, file))
        if encoding is None
        else _Recoded(io.BufferedReader(_Rest(b"", file)), encoding)
    )
