"""The words of a timing's options: shares, times and rates."""

from __future__ import annotations

import math
import re


def share(text: str) -> float:
    """``5%`` or ``0.05``; a bare number of 1 or more is taken for a slip. Raises ValueError."""
    word = text.strip()
    value = _number(word.removesuffix("%").strip(), f"'{text}' is not a share, such as 5%")
    if not word.endswith("%") and 1 <= value < math.inf:
        # 5 is 500 %, and hardly ever meant.
        raise ValueError(f"'{text}' is {value * 100:g} %: write {value:g}% or {value / 100:g}")
    value = value / 100 if word.endswith("%") else value
    if not 0 < value < 10:
        raise ValueError(f"'{text}' is not a share, such as 5%")
    return value


def seconds(text: str) -> float:
    """``3s``, ``500ms``, ``2m`` or a number of seconds. Raises ValueError."""
    match = re.fullmatch(r"\s*([\d.]+)\s*(ms|s|m|min)?\s*", text)
    sentence = f"'{text}' is not a time, such as 3s or 500ms"
    value = _number(match[1], sentence) if match is not None else -1.0
    value *= {"ms": 1e-3, "m": 60.0, "min": 60.0}.get((match and match[2]) or "s", 1.0)
    if not 0 < value <= 86400:
        raise ValueError(sentence)
    return value


def rate(text: str) -> float:
    """``1600GB/s``, ``1.6TB/s`` or a number of GB/s, as bytes a second. Raises ValueError."""
    match = re.fullmatch(r"\s*([\d.]+)\s*([kMGT]?B/s)?\s*", text)
    sentence = f"'{text}' is not a rate, such as 1600GB/s"
    value = _number(match[1], sentence) if match is not None else -1.0
    value *= {"B/s": 1.0, "kB/s": 1e3, "MB/s": 1e6, "TB/s": 1e12}.get((match and match[2]) or "", 1e9)
    if not 0 < value < 1e18:
        raise ValueError(sentence)
    return value


def _number(word: str, sentence: str) -> float:
    try:
        return float(word)
    except ValueError:
        raise ValueError(sentence) from None
