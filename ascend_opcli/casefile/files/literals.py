"""Cells of a TTK table: Python literals, read by a grammar of our own and never evaluated."""

from __future__ import annotations

import math
import re
from functools import lru_cache
from typing import Any

MAX_DEPTH = 20
MAX_CELL = 2**20
_SHORT = 2_000

_TOKEN = re.compile(
    r"""\s*(?:
      (?P<call>float\s*\(\s*(?P<quote>["'])(?P<inside>[-+]?\w+)(?P=quote)\s*\))
    | (?P<number>[-+]?(?:\d[\d_]*(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?(?![\w.]))
    | (?P<string>[rb]?"[^"\\]*"|[rb]?'[^'\\]*')
    | (?P<word>[-+]?[A-Za-z_][\w.]*)
    | (?P<mark>[()\[\]{},:])
    )""",
    re.VERBOSE | re.ASCII,
)
_WORDS: dict[str, Any] = {
    "None": None,
    "True": True,
    "False": False,
    **{
        f"{sign}{word}": value
        for word in ("inf", "Inf", "INF")
        for sign, value in (("", math.inf), ("+", math.inf))
    },
    **{f"-{word}": -math.inf for word in ("inf", "Inf", "INF")},
    **{f"{sign}{word}": math.nan for word in ("nan", "NaN", "NAN") for sign in ("", "+", "-")},
}
_CLOSING = {"(": ")", "[": "]", "{": "}"}


def parse(cell: str) -> Any:
    """The value of a cell: numbers, text, None, True, tuples (lists too) and dicts; ``inf`` and ``nan`` are numbers.

    A bare word is the text itself, ``1, 2`` a tuple. An empty cell is None. Raises ValueError in one sentence.
    """
    if len(cell) > MAX_CELL:
        raise ValueError(f"the cell is longer than {MAX_CELL:,} characters")
    return _kept(cell) if len(cell) <= _SHORT else _parse(cell)


@lru_cache(maxsize=4096)
def _kept(cell: str) -> Any:
    """The rows of a table repeat most of their cells. Nothing of a value can be changed but a dict."""
    return _parse(cell)


def _parse(cell: str) -> Any:
    text = cell.strip()
    if not text:
        return None
    reader = _Reader(text)
    value = reader.value(0)
    if reader.mark == ",":
        made = [value]
        while reader.mark == ",":
            reader.next()
            if reader.kind != "end":
                made.append(reader.value(0))
        value = tuple(made)
    if reader.kind != "end":
        raise ValueError(f"'{reader.text[:20]}' does not belong here")
    return value


class _Reader:
    """Tokens one at a time; ``mark`` is a bracket, comma or colon, else empty."""

    def __init__(self, text: str) -> None:
        self._source = text
        self._place = 0
        self.kind = self.text = self.mark = ""
        self._inside = ""
        self.next()

    def next(self) -> None:
        """Step to the next token."""
        match = _TOKEN.match(self._source, self._place)
        if match is None:
            rest = self._source[self._place :].strip()
            if rest:
                raise ValueError(f"'{rest[:20]}' is no literal")
            self.kind, self.text, self.mark = "end", "", ""
            return
        self._place = match.end()
        self.kind = match.lastgroup or ""
        if match["call"] is not None:
            self.kind, self._inside = "call", match["inside"]
        self.text = match[0].strip()
        self.mark = self.text if self.kind == "mark" else ""

    def value(self, depth: int) -> Any:
        """One value, the token after it next."""
        if depth > MAX_DEPTH:
            raise ValueError(f"nested more than {MAX_DEPTH} deep")
        kind, text = self.kind, self.text
        if kind == "mark" and text in _CLOSING:
            self.next()
            return self.table(depth) if text == "{" else self.sequence(text, depth)
        if kind in ("end", "mark"):
            raise ValueError(
                f"a value is missing before '{text}'" if text else "a value is missing at the end"
            )
        self.next()
        if kind == "number":
            return _number(text)
        if kind == "string":
            return text.lstrip("rb")[1:-1]
        if kind == "call":
            if self._inside in _WORDS:
                return _WORDS[self._inside]
            raise ValueError(f"'{text}' is no literal")
        if text in _WORDS:
            return _WORDS[text]
        if self.mark == "(":
            raise ValueError(f"the call '{text}(' is no literal")
        return text

    def sequence(self, opening: str, depth: int) -> Any:
        """What stands after an opening bracket; ``(1)`` is 1 and ``(1,)`` a tuple."""
        made: list[Any] = []
        comma = opening == "["
        while self.mark != _CLOSING[opening]:
            made.append(self.value(depth + 1))
            if self.mark == ",":
                comma = True
                self.next()
            elif self.mark != _CLOSING[opening]:
                raise ValueError(f"'{_CLOSING[opening]}' is missing")
        self.next()
        return tuple(made) if comma or not made else made[0]

    def table(self, depth: int) -> dict[Any, Any]:
        """What stands after an opening brace."""
        made: dict[Any, Any] = {}
        while self.mark != "}":
            key = self.value(depth + 1)
            if not isinstance(key, (str, int)) or self.mark != ":":
                raise ValueError("a dict has names and ':' between them and their values")
            self.next()
            made[key] = self.value(depth + 1)
            if self.mark == ",":
                self.next()
            elif self.mark != "}":
                raise ValueError("'}' is missing")
        self.next()
        return made


def _number(text: str) -> int | float:
    bare = text.replace("_", "")
    if len(bare) > 400:
        raise ValueError(f"a number of {len(bare)} digits is too large")
    return int(bare) if re.fullmatch(r"[-+]?\d+", bare) else float(bare)
