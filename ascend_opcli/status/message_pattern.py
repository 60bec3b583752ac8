"""Regular expressions over an operator's text, matched in time that grows with pattern and text alone.

Python's own matcher tries one way after the other, and a pattern of a few characters can keep it busy for years. Here
all ways are followed side by side (Thompson's construction), so what needs memory of the way, references back and
looking around, is not part of the language. Everything else means what it means in Python: single characters and
places are asked of :mod:`re` itself.
"""

from __future__ import annotations

import re
import warnings
from functools import lru_cache

MAX_STEPS = 1_000
"""Steps of a pattern, its repeats written out."""

MAX_TEXT, MAX_WORK = 1 << 14, 1 << 22
"""Characters of a text that are looked through, and the product of these with the steps: a few seconds at worst."""

_FLAGS = {"a": re.A, "i": re.I, "m": re.M, "s": re.S, "u": re.U}
_GLOBAL = re.compile(r"\(\?([a-zA-Z]+)\)")
_OPENING = re.compile(r"\(\?(?:P<\w+>|([a-zA-Z]*):)")
_REPEAT = re.compile(r"([*+?])|\{(\d*)(,?)(\d*)\}")
_ESCAPE = re.compile(
    r"\\(?:x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|N\{[^}]*\}|[0-7]{3}|0[0-7]?|.)", re.DOTALL
)
_PLACES = frozenset(r"^ $ \A \Z \z \b \B".split())

# A step of the program: what it asks for, whether that is a place rather than a character, and the steps to go on
# with. What asks for nothing goes on at once; the place behind the last step is the end.
_Node = tuple["re.Pattern[str] | None", bool, list[int]]


class Pattern:
    """A checked regular expression.

    Raises ValueError, in one sentence, for what is no regular expression or beyond the language.
    """

    def __init__(self, text: str) -> None:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                re.compile(text)
        except (re.error, OverflowError, RecursionError) as error:
            why = getattr(error, "msg", error)
            place = getattr(error, "pos", None)
            at = f" at character {place + 1}" if place is not None else ""
            raise ValueError(f"is not a regular expression: {why}{at}") from None
        self._steps = _Reader(text).program()
        self._letters = frozenset(
            i for i, (atom, zero_width, _) in enumerate(self._steps) if atom is not None and not zero_width
        )

    def found_in(self, text: str) -> bool:
        """Whether the expression matches anywhere in the first characters of a text (MAX_TEXT, MAX_WORK)."""
        text = text[: min(MAX_TEXT, MAX_WORK // max(len(self._steps), 1))]
        accepting: dict[str, frozenset[int]] = {}
        states: set[int] = set()
        for place, letter in enumerate(text):
            states.add(0)
            if self._follow(states, text, place):
                return True
            if letter not in accepting:
                accepting[letter] = frozenset(s for s in self._letters if self._accepts(s, letter))
            # A step that takes a character goes on with the next one.
            states = {state + 1 for state in states & accepting[letter]}
        states.add(0)
        return self._follow(states, text, len(text))

    def _accepts(self, state: int, letter: str) -> bool:
        atom = self._steps[state][0]
        return atom is not None and atom.fullmatch(letter) is not None

    def _follow(self, states: set[int], text: str, place: int) -> bool:
        """Add what is reached without a character; True where that is the end."""
        open_ends = list(states - self._letters)
        while open_ends:
            state = open_ends.pop()
            if state == len(self._steps):
                return True
            atom, _, following = self._steps[state]
            if atom is None or atom.match(text, place) is not None:
                fresh = [n for n in following if n not in states]
                states.update(fresh)
                open_ends += [n for n in fresh if n not in self._letters]
        return False


@lru_cache(maxsize=256)
def pattern(text: str) -> Pattern:
    """The checked pattern of a text; see :class:`Pattern`."""
    return Pattern(text)


_Part = list[_Node]
"""Part of a program: where to go on is counted from its own beginning."""


def _moved(part: _Part, by: int) -> _Part:
    return [(atom, zero_width, [n + by for n in following]) for atom, zero_width, following in part]


def _joined(first: _Part, then: _Part) -> _Part:
    if len(first) + len(then) > MAX_STEPS:
        raise ValueError(f"repeats so much that it has more than {MAX_STEPS:,} steps")
    return first + _moved(then, len(first))


def _either(first: _Part, other: _Part) -> _Part:
    # A fork, the first with a step over the other at its end, the other.
    over = len(first) + 2
    fork: _Part = [(None, False, [1, over])]
    leap: _Part = [(None, False, [1 + len(other)])]
    return _joined(_joined(_joined(fork, first), leap), other)


def _optional(part: _Part) -> _Part:
    return _joined([(None, False, [1, 1 + len(part)])], part)


def _any_times(part: _Part) -> _Part:
    back: _Part = [(None, False, [-len(part) - 1])]
    return _joined(_joined([(None, False, [1, len(part) + 2])], part), back)


def _repeated(part: _Part, least: int, most: int | None) -> _Part:
    if max(least, most or 0) * max(len(part), 1) > MAX_STEPS:
        raise ValueError(f"repeats so much that it has more than {MAX_STEPS:,} steps")
    made: _Part = []
    for _ in range(least):
        made = _joined(made, part)
    if most is None:
        return _joined(made, _any_times(part))
    rest: _Part = []
    for _ in range(most - least):
        rest = _optional(_joined(part, rest))
    return _joined(made, rest)


class _Reader:
    """A pattern that Python understands, read from left to right."""

    def __init__(self, text: str) -> None:
        self.text, self.at = text, 0
        self.flags = re.NOFLAG if hasattr(re, "NOFLAG") else re.RegexFlag(0)

    def program(self) -> _Part:
        whole = _GLOBAL.match(self.text)
        if whole is not None:
            self.at, self.flags = whole.end(), self.with_flags(whole[1])
        return self.alternatives()

    def with_flags(self, letters: str) -> re.RegexFlag:
        flags = self.flags
        for letter in letters:
            if letter not in _FLAGS:
                raise ValueError(f"has the flag {letter}, which is not understood here")
            flags |= _FLAGS[letter]
        return flags

    def alternatives(self) -> _Part:
        made = self.sequence()
        while self.text[self.at : self.at + 1] == "|":
            self.at += 1
            made = _either(made, self.sequence())
        return made

    def sequence(self) -> _Part:
        made: _Part = []
        while self.at < len(self.text) and self.text[self.at] not in "|)":
            part = self.one()
            repeat = _REPEAT.match(self.text, self.at)
            if repeat is not None and repeat[0] != "{}" and (repeat[1] or repeat[2] or repeat[3]):
                part = self.repeat(part, repeat)
            made = _joined(made, part)
        return made

    def repeat(self, part: _Part, repeat: re.Match[str]) -> _Part:
        self.at = repeat.end()
        behind = self.text[self.at : self.at + 1]
        if behind == "+":
            raise ValueError(
                f"has {repeat[0]}+, a repeat that gives nothing back, which is not understood here"
            )
        self.at += behind == "?"  # which of the ways is tried first does not matter here
        if repeat[1]:
            return {"*": _any_times, "?": _optional}.get(repeat[1], lambda p: _repeated(p, 1, None))(part)
        least = int(repeat[2] or 0)
        most = (int(repeat[4]) if repeat[4] else None) if repeat[3] else least
        return _repeated(part, least, most)

    def one(self) -> _Part:
        text, at = self.text, self.at
        if text[at] == "(":
            return self.group()
        if text[at] == "[":
            end = at + (2 if text.startswith("[^", at) else 1)
            end += text[end] == "]"
            while text[end] != "]":
                end += 2 if text[end] == "\\" else 1
            return self.atom(end + 1)
        if text[at] == "\\":
            found = _ESCAPE.match(text, at)
            assert found is not None  # Python has read it
            if found[0][1] in "123456789" and len(found[0]) == 2:
                raise ValueError(f"refers back by {found[0]}, which is not understood here")
            return self.atom(found.end())
        return self.atom(at + 1)

    def atom(self, end: int) -> _Part:
        written, self.at = self.text[self.at : end], end
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            # Alone, { and } stand for themselves.
            made = re.compile(written if written not in "{}" else f"\\{written}", self.flags)
        return [(made, written in _PLACES, [1])]

    def group(self) -> _Part:
        flags = self.flags
        if self.text.startswith("(?#", self.at):
            self.at = self.text.index(")", self.at) + 1
            return []
        if self.text.startswith("(?", self.at):
            opening = _OPENING.match(self.text, self.at)
            if opening is None:
                raise ValueError(f"has '{self.text[self.at : self.at + 4]}', which is not understood here")
            self.flags = self.with_flags(opening[1] or "")
            self.at = opening.end()
        else:
            self.at += 1
        made = self.alternatives()
        self.at += 1
        self.flags = flags
        return made
