"""A standard as it is typed: ``ulp:max=2``, ``allclose:rtol=1e-3,atol=2^-16``, ``dual:level=L2,third=gpu.npy``."""

from __future__ import annotations

from ascend_opcli.casefile import read
from ascend_opcli.casefile.commas import split_outside
from ascend_opcli.casefile.tree import clip


def standard_text(text: str) -> tuple[str, dict[str, float | str]]:
    """The name and its numbers; what reads as no number is a word. ValueError in one sentence.

    Whether there is such a standard, and whether it takes such numbers, is for others to say.
    """
    name, _, rest = text.strip().partition(":")
    name = name.strip()
    numbers: dict[str, float | str] = {}
    for item in split_outside(rest) if rest.strip() else ():
        key, equals, value = (piece.strip() for piece in item.partition("="))
        if not equals or not key:
            raise ValueError(
                f"'{clip(item.strip())}' is not of the form name=number: "
                f"the numbers of {clip(name)} read {clip(name)}:key=value,key=value"
            )
        if key in numbers:
            raise ValueError(f"'{clip(key)}' stands twice in standard '{clip(text)}'")
        if not value:
            raise ValueError(f"after '{clip(key)}=' in standard '{clip(text)}' a number or word is missing")
        if len(value) > read.MAX_WORD:
            raise ValueError(
                f"'{clip(key)}' in standard '{clip(text)}' is longer than {read.MAX_WORD} characters"
            )
        numbers[key] = _value(value)
    return name, numbers


def _value(text: str) -> float | str:
    """A number, in decimals or as a power such as 2^-16; else the word itself."""
    base, power, exponent = text.partition("^")
    try:
        if text.isascii() and text.isdigit():
            return int(text)
        return float(base) ** int(exponent) if power else float(text)
    except (ValueError, ArithmeticError):
        return text
