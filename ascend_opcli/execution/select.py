"""Picking cases: ``-k`` expressions over ids and tags, ``--tag``."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from ascend_opcli.errors import UsageError
from ascend_opcli.model import Case

_TOKEN = re.compile(r"\s*(?:(?P<paren>[()])|(?P<word>[^\s()]+))")
Test = Callable[[str], bool]

MAX_WORDS = 200
"""Each may open one more level, and every level is a call."""


def matcher(expression: str) -> Callable[[Case], bool]:
    """A test of cases: words found in the id or the tags, case ignored, with ``and``, ``or``, ``not`` and brackets.

    Raises UsageError where the expression does not parse.
    """
    tokens = [m["paren"] or m["word"] for m in _TOKEN.finditer(expression)]
    if len(tokens) > MAX_WORDS:
        raise UsageError(f"-k: the expression has more than {MAX_WORDS} words and brackets")
    test, rest = _either(tokens, expression)
    if rest:
        raise UsageError(f"-k '{expression}': '{rest[0]}' is not expected there")
    return lambda case: test(f"{case.id} {' '.join(case.tags)}".casefold())


def with_tags(tags: Sequence[str]) -> Callable[[Case], bool]:
    """A test for cases that carry at least one of ``tags``; every case where none is named."""
    wanted = frozenset(tags)
    return lambda case: not wanted or not wanted.isdisjoint(case.tags)


def _either(tokens: list[str], text: str) -> tuple[Test, list[str]]:
    left, rest = _both(tokens, text)
    while rest[:1] == ["or"]:
        right, rest = _both(rest[1:], text)
        left = _or(left, right)
    return left, rest


def _both(tokens: list[str], text: str) -> tuple[Test, list[str]]:
    left, rest = _one(tokens, text)
    while rest[:1] == ["and"]:
        right, rest = _one(rest[1:], text)
        left = _and(left, right)
    return left, rest


def _one(tokens: list[str], text: str) -> tuple[Test, list[str]]:
    if not tokens or tokens[0] in (")", "and", "or"):
        raise UsageError(
            f"-k '{text}': a word is missing{' before ' + tokens[0] if tokens else ' at the end'}"
        )
    if len(tokens) > 1000:
        raise UsageError("-k: the expression is too long")
    if tokens[0] == "not":
        test, rest = _one(tokens[1:], text)
        return (lambda name: not test(name)), rest
    if tokens[0] == "(":
        test, rest = _either(tokens[1:], text)
        if rest[:1] != [")"]:
            raise UsageError(f"-k '{text}': a bracket is not closed")
        return test, rest[1:]
    word = tokens[0].casefold()
    return (lambda name: word in name), tokens[1:]


def _and(a: Test, b: Test) -> Test:
    return lambda name: a(name) and b(name)


def _or(a: Test, b: Test) -> Test:
    return lambda name: a(name) or b(name)
