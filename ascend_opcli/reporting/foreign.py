"""What became of the cases of other tools' files: how many were judged, what was skipped and why, what is weak."""

from __future__ import annotations

import re

_NUMBER = re.compile(r"(?<![\w.])-?\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?(?![\w])")
_LIST = re.compile(r"\[[^\[\]]*\]")


def reason_kind(reason: str) -> str:
    """A reason without the numbers that make each of its kind another: the first sentence, N for a number."""
    first = " ".join(reason.split()).partition("; ")[0]
    return _NUMBER.sub("N", _LIST.sub("[...]", first))[:160]
