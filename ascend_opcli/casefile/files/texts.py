"""The text of a foreign file: read within bounds, JSON with places, comments taken out."""

from __future__ import annotations

import json
import os
import re
from bisect import bisect_right
from collections.abc import Iterator
from json.decoder import JSONDecoder
from typing import Any

from ascend_opcli.casefile import yaml_text
from ascend_opcli.casefile.tree import clip
from ascend_opcli.errors import CaseFileError
from ascend_opcli.model import Where

MAX_CASES = 100_000
HEAD = 2**18
"""Bytes by which a format is recognised."""

_SPACE = re.compile(r"[ \t\r\n]*")
# A string is matched whole, so that what looks like a comment inside it stays; one that is never closed too, up to
# the end of its line, so that the text is read once.
_COMMENT = re.compile(r'"(?:[^"\\\n]|\\[^\n])*"?|//[^\n]*|/\*.*?(?:\*/|\Z)', re.DOTALL)


def read(path: str) -> str:
    """The whole text. Raises CaseFileError for what is too large, not UTF-8 or cannot be read."""
    try:
        with open(path, "rb") as file:
            data = file.read(yaml_text.MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        raise CaseFileError(f"{clip(path)} cannot be read: {getattr(error, 'strerror', error)}") from None
    return yaml_text.decode(data, path)


def head(path: str) -> str:
    """The beginning of a file, as much as recognising it takes; empty where it cannot be read."""
    try:
        if not os.path.isfile(path):
            return ""
        with open(path, "rb") as file:
            data = file.read(HEAD)
    except (OSError, ValueError):
        return ""
    # Recognised, so that read() can say what to do about it.
    utf16 = data[:2] in (b"\xff\xfe", b"\xfe\xff")
    return data.decode("utf-16" if utf16 else "utf-8-sig", "replace")


def without_comments(text: str) -> str:
    """The text with ``//`` and ``/* */`` comments as blanks: every other character keeps its place."""

    def blank(match: re.Match[str]) -> str:
        found = match[0]
        return found if found[0] == '"' else re.sub(r"[^\n]", " ", found)

    return _COMMENT.sub(blank, text)


class Lines:
    """Line and column of a place in a text."""

    def __init__(self, text: str, file: str) -> None:
        self._starts = [0, *(m.end() for m in re.finditer("\n", text))]
        self._file = file

    def where(self, place: int) -> Where:
        """Both count from 1."""
        line = bisect_right(self._starts, place)
        return Where(self._file, line, place - self._starts[line - 1] + 1)


def items(text: str, file: str) -> Iterator[tuple[Where, Any]]:
    """The members of the list that a JSON text is, each with its place.

    Raises CaseFileError where the text is no list, no JSON, nested too deep or too long.
    """
    lines = Lines(text, file)
    decoder = JSONDecoder(object_pairs_hook=_once)
    place = _skip(text, 0)
    if text[place : place + 1] != "[":
        raise CaseFileError("a case file of this format is a JSON list of cases", lines.where(place))
    place = _skip(text, place + 1)
    count = 0
    closed = text[place : place + 1] == "]"
    while not closed:
        begin = place
        try:
            item, place = decoder.raw_decode(text, place)
        except json.JSONDecodeError as error:
            raise CaseFileError(f"this is not JSON: {error.msg}", lines.where(error.pos)) from None
        except RecursionError:
            raise CaseFileError("nested too deep", lines.where(begin)) from None
        except ValueError as error:
            raise CaseFileError(f"this is not JSON: {clip(str(error))}", lines.where(begin)) from None
        yield lines.where(begin), item
        count += 1
        if count >= MAX_CASES:
            raise CaseFileError(f"the file has more than {MAX_CASES:,} cases", lines.where(begin))
        place = _skip(text, place)
        mark = text[place : place + 1]
        if mark not in (",", "]"):
            said = "',' or ']' is missing" if mark else "the list is never closed"
            raise CaseFileError(f"this is not JSON: {said}", lines.where(place))
        closed = mark == "]"
        place = _skip(text, place + 1)
    if place < len(text):
        raise CaseFileError("this is not JSON: something follows the list", lines.where(place))


class Objects:
    """The members of JSON objects one after another, each with its place; values are decoded when they are asked for.

    :meth:`members` begins an object at the reader's place. Between two members either :meth:`value` or the members of
    the value itself must be read. Raises CaseFileError where the text is no such JSON.
    """

    def __init__(self, text: str, file: str) -> None:
        self._text = text
        self._lines = Lines(text, file)
        self._decoder = JSONDecoder(object_pairs_hook=_once)
        self._place = _skip(text, 0)

    def members(self) -> Iterator[tuple[str, Where]]:
        """Key and place of each member; the reader then stands at its value."""
        self._mark("{")
        if self._mark("}", needed=False):
            return
        while True:
            where = self._lines.where(self._place)
            key = self.value()
            if not isinstance(key, str):
                raise CaseFileError("this is not JSON: a key is text", where)
            self._mark(":")
            yield key, where
            if not self._mark(",", needed=False):
                self._mark("}")
                return

    def value(self) -> Any:
        """The value at the reader's place."""
        begin = self._place
        try:
            found, end = self._decoder.raw_decode(self._text, begin)
        except json.JSONDecodeError as error:
            raise CaseFileError(f"this is not JSON: {error.msg}", self._lines.where(error.pos)) from None
        except RecursionError:
            raise CaseFileError("nested too deep", self._lines.where(begin)) from None
        except ValueError as error:
            raise CaseFileError(f"this is not JSON: {clip(str(error))}", self._lines.where(begin)) from None
        self._place = _skip(self._text, end)
        return found

    def end(self) -> None:
        """Refuse what follows."""
        if self._place < len(self._text):
            where = self._lines.where(self._place)
            raise CaseFileError("this is not JSON: something follows the object", where)

    def _mark(self, mark: str, *, needed: bool = True) -> bool:
        if self._text[self._place : self._place + 1] == mark:
            self._place = _skip(self._text, self._place + 1)
            return True
        if needed:
            raise CaseFileError(f"this is not JSON: '{mark}' is missing", self._lines.where(self._place))
        return False


def _skip(text: str, place: int) -> int:
    found = _SPACE.match(text, place)
    return found.end() if found else place


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the key '{clip(twice)}' is repeated")
    return made
