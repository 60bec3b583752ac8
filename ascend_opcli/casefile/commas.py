"""Splitting what stands on a command line at its commas."""

from __future__ import annotations

from collections.abc import Iterator


def split_outside(text: str) -> Iterator[str]:
    """The pieces between commas; those inside brackets, as an expression has them, do not count."""
    depth = start = 0
    for i, sign in enumerate(text):
        depth += (sign in "([{") - (sign in ")]}")
        if sign == "," and depth <= 0:
            yield text[start:i]
            start = i + 1
    yield text[start:]
