"""What a rule says, and how counts and values are written in it."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, slots=True)
class Explanation:
    """What is wrong with an output, or where."""

    text: str
    """May hold ``{these}``, which becomes the wrong elements in words."""
    share: float = 1.0
    """The part of the wrong elements that it explains."""
    precise: float = 1.0
    """Of a place: the part of the elements there that are wrong."""
    complete: bool = False
    """It gives the right elements as well: the place of the wrong ones then says nothing more."""
    placed: bool = False
    """It is told by the golden's kind, after which only the inputs say more."""
    guess: bool = False
    """A few elements could fit it by chance."""


def number(value: object) -> str:
    """A value in up to six digits; whole numbers with separators."""
    if isinstance(value, (bool, np.bool_)):
        return str(bool(value)).lower()
    if isinstance(value, (complex, np.complexfloating)):
        return f"{value.real:.6g}{value.imag:+.6g}j"
    plain = float(value)  # type: ignore[arg-type]
    if plain == 0:
        return "-0" if math.copysign(1.0, plain) < 0 else "0"
    whole = isinstance(value, int) or (abs(plain) < 1e6 and plain == int(plain))
    if whole and abs(plain) < 1e15:
        return f"{int(plain):,}"
    return {math.inf: "Inf", -math.inf: "-Inf"}.get(plain, "NaN" if math.isnan(plain) else f"{plain:.6g}")


def elements(count: int) -> str:
    """``1 element``, ``1,024 elements``."""
    return f"{count:,} element{'' if count == 1 else 's'}"


def percent(share: float) -> str:
    """A share below 1, never rounded up to 100."""
    return f"{min(share, 0.999) * 100:.3g} %"
