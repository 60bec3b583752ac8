"""The lines of a log, from a file or standard input: bounded in length and number, whatever the bytes are."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

from ascend_opcli.casefile.tree import clip
from ascend_opcli.errors import CaseFileError

MAX_LOG = 2**28
MAX_LINE = 2**16
STDIN = "-"

_HEAD = 2**16
_CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f]")


@dataclass(frozen=True, slots=True)
class Line:
    """One line without its end; ``cut`` where it was longer than MAX_LINE bytes and the rest is left out."""

    number: int
    text: str
    cut: bool = False


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


def _lines(file: BinaryIO, name: str) -> Iterator[Line]:
    number = size = odd = 0
    while raw := file.readline(MAX_LINE + 1):
        number += 1
        if size < _HEAD:
            # An int8_t is logged as its raw byte, so that a few of these belong to a log.
            odd += len(_CONTROL.findall(raw))
            if odd > 64 and odd * 10 > size + len(raw):
                raise CaseFileError(f"{name} is binary, not a log")
        size += len(raw)
        cut = len(raw) > MAX_LINE and not raw.endswith(b"\n")
        text = raw[:MAX_LINE].decode("utf-8", "replace").rstrip("\r\n")
        while cut and (raw := file.readline(MAX_LINE)):
            size += len(raw)
            if raw.endswith(b"\n") or size > MAX_LOG:
                break
        if size > MAX_LOG:
            raise CaseFileError(
                f"{name} is larger than {MAX_LOG // 2**20} MiB; cut out the part around the call"
            )
        yield Line(number, text.lstrip("\ufeff") if number == 1 else text, cut)
