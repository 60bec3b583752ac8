"""The acceptance rules by name.

A standard is one function, here or, for the rules of other tools, in :mod:`.other_tools`: its keyword parameters
are the numbers and words that may be given in a case or on the command line, its result a :class:`Standard`
for one output dtype. :data:`STANDARDS` lists them.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping
from typing import NamedTuple

from ascend_opcli.casefile.standard_text import standard_text
from ascend_opcli.errors import did_you_mean
from ascend_opcli.model import StandardChoice
from ascend_opcli.tensors.dtypes import dtype as dtype_of
from ascend_opcli.tensors.dtypes import part
from ascend_opcli.verification.standards import other_tools
from ascend_opcli.verification.standards.rule import Standard as Standard
from ascend_opcli.verification.standards.rule import number as number

# --- the standards ------------------------------------------------------------------------------------------

# rtol, atol, limit: opbase docs/zh/ops_precision_standard/experimental_standard.md, the page of 2026-07.
_ECOSYSTEM = {
    "float16": (2.0**-9, 2.0**-9, 0.1),
    "bfloat16": (2.0**-6, 2.0**-6, 1.0),
    "float32": (2.0**-10, 2.0**-16, 0.01),
    "float8_e4m3fn": (2.0**-2, 2.0**-4, 1.0),
    "float8_e5m2": (2.0**-1, 2.0**-3, 0.1),
}


def ecosystem(
    dtype: str,
    *,
    rtol: float | None = None,
    atol: float | None = None,
    limit: float | None = None,
    share: float = 0.99,
) -> Standard:
    """The ecosystem operator standard of 2026-07; "or 32 ulp" is read per element, as ATK does."""
    if dtype_of(dtype).kind not in ("float", "complex"):
        return _outside("ecosystem", "ecosystem 2026-07", dtype)
    row, note = other_tools.row_of(dtype)
    rtol = _ECOSYSTEM[row][0] if rtol is None else rtol
    atol = _ECOSYSTEM[row][1] if atol is None else atol
    limit = _ECOSYSTEM[row][2] if limit is None else limit
    rule = (
        f"ecosystem 2026-07: |got - golden| <= {_linear(rtol, atol)} for {share * 100:.6g} % of the "
        f"elements; every element within {number(limit)} or 32 ulp{note}"
    )
    return Standard(
        "ecosystem", rule, part(dtype), rtol=rtol, atol=atol, matched=share, limit=limit, limit_ulps=32.0
    )


def ecosystem_2026_04(dtype: str, *, threshold: float | None = None, ratio: float = 10.0) -> Standard:
    """The ecosystem operator standard from 2026-04 to 2026-07: mean and largest relative error."""
    name = "ecosystem-2026-04"
    if dtype_of(dtype).kind not in ("float", "complex"):
        return _outside(name, "ecosystem 2026-04", dtype)
    row, note = other_tools.row_of(dtype)
    mean = other_tools.MEAN_LIMITS[row] if threshold is None else threshold
    rule = (
        f"ecosystem 2026-04: |got - golden| / (|golden| + 1e-7) has a mean < {number(mean)} "
        f"and is < {number(mean * ratio)} for every element{note}"
    )
    return Standard(
        name,
        rule,
        part(dtype),
        rtol=mean * ratio,
        atol=mean * ratio * 1e-7,
        mean_limit=mean,
        mean_epsilon=1e-7,
        strict=True,
    )


def allclose(dtype: str, *, rtol: float = 1e-5, atol: float = 1e-8) -> Standard:
    """numpy.allclose with equal_nan; its defaults."""
    rule = f"|got - golden| <= {_linear(rtol, atol)} for every element{other_tools.modulus_note(dtype)}"
    return Standard(
        "allclose", rule, part(dtype), rtol=rtol, atol=atol, modulus=other_tools.by_modulus(dtype)
    )


def ulp(dtype: str, *, max: float = 1.0) -> Standard:  # the number's name is what the user writes
    """Distance in spacings of the output dtype at the golden; ``max`` may be fractional."""
    rule = f"|got - golden| <= {number(max)} ulp of {part(dtype)} for every element"
    return Standard("ulp", rule + other_tools.parts_note(dtype), part(dtype), kind="ulp", ulps=max)


def exact(dtype: str) -> Standard:
    """Equality after rounding the golden; -0.0 equals 0.0 and NaN meets NaN."""
    return Standard("exact", f"equal to the golden rounded to {dtype}", part(dtype), kind="equal")


def bits(dtype: str) -> Standard:
    """Equality of the bytes: -0.0 is not 0.0. A NaN meets any NaN, whose payload the golden cannot know."""
    rule = f"the same bytes as the golden rounded to {dtype} (-0.0 is not 0.0; any NaN meets NaN)"
    return Standard("bits", rule, part(dtype), kind="bits")


STANDARDS: dict[str, Callable[..., Standard]] = {
    "ecosystem": ecosystem,
    "ecosystem-2026-04": ecosystem_2026_04,
    "allclose": allclose,
    "ulp": ulp,
    "exact": exact,
    "bits": bits,
    "single": other_tools.single,
    "dual": other_tools.dual,
    "msopst": other_tools.msopst,
    "ratio": other_tools.ratio,
    "cosine": other_tools.cosine,
    "torch_npu": other_tools.torch_npu,
    "assert_close": other_tools.assert_close,
    "quant": other_tools.quant,
    "random": other_tools.random,
    "selects": other_tools.selects,
    "md5": other_tools.md5,
}

_FLOATS_ONLY = ("ecosystem", "ecosystem-2026-04", "ulp", "cosine")
_INTEGERS_ONLY = ("quant", "selects")

SELECTS = "selects"
"""The one standard that says of a call what its outputs are: it needs words."""

WORDS: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "single": {"type": other_tools.SINGLE_TYPES},
    "dual": {"level": tuple(other_tools.LEVELS), "third": ()},
    "ratio": {"tool": other_tools.RATIO_TOOLS},
    "selects": {
        "input": (),
        "axis": (),
        "values": (),
        "order": other_tools.ORDERS,
        "repeats": other_tools.REPEATS,
    },
}
"""Parameters that are words, with those that there are; any word where none are listed."""


def _outside(name: str, title: str, dtype: str) -> Standard:
    rule = f"{title} does not cover {dtype}: equal to the golden rounded to {dtype}"
    return other_tools.equality(name, rule, dtype)


def _linear(rtol: float, atol: float) -> str:
    return f"{number(rtol)} * |golden| + {number(atol)}"


# --- choosing one -------------------------------------------------------------------------------------------


def make(choice: StandardChoice, dtype: str) -> Standard:
    """The standard of that choice for an output dtype; ValueError in one sentence where it cannot be."""
    check(choice)
    return _concrete(choice, dtype_of(dtype).name)


def _concrete(choice: StandardChoice, dtype: str) -> Standard:
    words = WORDS.get(choice.name, {})
    given = {key: value if key in words else float(value) for key, value in choice.numbers.items()}
    standard = STANDARDS[choice.name](dtype, **given)
    if dtype != "bool" or standard.equality or standard.whole == "random":
        return standard
    # There is no distance between true and false: a tolerance of 1 would let every answer pass.
    return other_tools.equality(
        standard.name, f"{standard.name} has no distance for bool: equal to the golden", dtype
    )


def covers(name: str, dtype: str) -> bool:
    """Whether a standard has anything of its own to say about outputs of a dtype."""
    kind = dtype_of(dtype).kind
    if name == SELECTS and kind == "bool":
        return False
    return name not in (_INTEGERS_ONLY if kind in ("float", "complex") else _FLOATS_ONLY)


def numbers_of(name: str) -> tuple[str, ...]:
    """The names of the numbers that a standard takes."""
    parameters = inspect.signature(STANDARDS[name]).parameters.values()
    return tuple(p.name for p in parameters if p.kind is p.KEYWORD_ONLY)


def check(choice: StandardChoice) -> None:
    """ValueError in one sentence for an unknown standard or number, or a number out of its range."""
    if choice.name not in STANDARDS:
        known = ": known are " + ", ".join(STANDARDS)
        own, colon, numbers = choice.name.partition(":")
        if colon and own in STANDARDS:  # the command line's form
            written = ", ".join(pair.strip().replace("=", ": ", 1) for pair in numbers.split(","))
            raise ValueError(f"the numbers of a standard are a mapping here: {own}: {{{written}}}")
        raise ValueError(
            f"unknown standard '{choice.name}'" + did_you_mean(choice.name, STANDARDS, otherwise=known)
        )
    takes = numbers_of(choice.name)
    for key, value in choice.numbers.items():
        if key not in takes:
            known = f": it takes {', '.join(takes)}" if takes else ": it takes none"
            raise ValueError(
                f"standard '{choice.name}' has no number '{key}'" + did_you_mean(key, takes, otherwise=known)
            )
        words = WORDS.get(choice.name, {})
        if key in words:
            _check_word(choice.name, key, value, words[key])
        else:
            _check_range(choice.name, key, value)
    # What two numbers must have in common; it does not depend on the dtype.
    _concrete(choice, "float32")


def needs_input(choice: StandardChoice) -> None:
    """ValueError where the standard ``selects`` does not say what is selected from."""
    if "input" not in choice.numbers:
        raise ValueError(
            f"standard '{SELECTS}' needs the input that is selected from: {SELECTS}:input=NAME,axis=-1"
        )


def _check_word(standard: str, key: str, value: object, known: tuple[str, ...]) -> None:
    if (standard, key) == (SELECTS, "axis") and not isinstance(value, (bool, str)) and value == int(value):  # type: ignore[call-overload]
        return
    if not isinstance(value, str) or not value:
        what = "a whole number or a word" if (standard, key) == (SELECTS, "axis") else "a word"
        raise ValueError(f"'{key}' of standard '{standard}' must be {what}, not {value!r}")
    if known and value not in known:
        raise ValueError(
            f"'{key}' of standard '{standard}' cannot be '{value}'"
            + did_you_mean(value, known, otherwise=f": it is one of {', '.join(known)}")
        )


def _check_range(standard: str, key: str, value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ValueError(f"'{key}' of standard '{standard}' must be a number, not {value!r}")
    sensible = RANGES.get((standard, key))
    if value == 0 and sensible is not None and sensible.zero:
        raise ValueError(f"'{key}' of standard '{standard}' cannot be 0: {sensible.zero}")
    if (sensible is None or sensible.high > 1) and not 0.0 <= value < math.inf:
        raise ValueError(f"'{key}' of standard '{standard}' must be finite and not negative, not {value:g}")
    if sensible is not None and value not in sensible:
        raise ValueError(
            f"'{key}' of standard '{standard}' must lie in {sensible}, not {value:g}: {sensible.beyond}"
        )


class Range(NamedTuple):
    """Numbers with which a rule means something.

    ``beyond`` says what it would mean outside, ``zero`` why it cannot be 0, where it cannot.
    """

    low: float
    high: float
    beyond: str
    zero: str = ""
    open_high: bool = False

    def __contains__(self, value: object) -> bool:
        assert isinstance(value, (int, float))
        below = value < self.high if self.open_high else value <= self.high
        return below and (value >= self.low if value else not self.zero and self.low == 0)

    def __str__(self) -> str:
        ends = "(" if self.zero and not self.low else "[", ")" if self.open_high else "]"
        return f"{ends[0]}{number(self.low)}, {number(self.high)}{ends[1]}"


_ZEROS = "with an error as large as the value zeros would pass"
_NONE_PASSES = "the errors must be less, and none is less than 0"

RANGES: Mapping[tuple[str, str], Range] = {
    ("ecosystem", "share"): Range(
        0.0, 1.0, "it is the share of the elements that the tolerance holds for", "nothing would be asked for"
    ),
    ("ecosystem-2026-04", "threshold"): Range(0.0, 1.0, _ZEROS, _NONE_PASSES, open_high=True),
    ("ecosystem-2026-04", "ratio"): Range(0.0, 1e4, "it multiplies the threshold", _NONE_PASSES),
    ("ulp", "max"): Range(0.0, 2.0**52, "no float has so many steps below its own size"),
    ("single", "mare_ratio"): Range(0.0, 1e4, "it multiplies the threshold", _NONE_PASSES),
    ("msopst", "t1"): Range(0.0, 1.0, "it is a relative difference", "the rule divides by it"),
    ("msopst", "t2"): Range(0.0, 1.0, "it is the share of the elements that may differ"),
    ("msopst", "limit"): Range(0.0, 1.0, "the relative difference of zeros is 1", _NONE_PASSES),
    ("ratio", "ptol"): Range(0.0, 1.0, "it is the share of the elements that may be over"),
    ("cosine", "max"): Range(0.0, 1.0, "1 - cos is 1 for zeros", open_high=True),
    ("torch_npu", "prec"): Range(0.0, 1.0, _ZEROS, open_high=True),
    ("torch_npu", "prec16"): Range(0.0, 1.0, _ZEROS, open_high=True),
    ("random", "alpha"): Range(
        1e-6,
        0.5,
        "it is how often a right output fails",
        "nothing is less likely than that, so everything would pass",
    ),
}
"""By standard and number. Those without an entry are distances: how large a sensible one is depends on the data, and an
output that nothing could have failed is called so."""


ALL = "all"
"""The word of the command line for every standard side by side; the case's own decides."""


def parse(text: str, origin: str = "command line") -> StandardChoice:
    """``ulp:max=2`` or ``allclose:rtol=1e-3,atol=2^-16`` as a choice; ValueError in one sentence."""
    name, numbers = standard_text(text)
    choice = StandardChoice(name, numbers, origin)
    check(choice)
    if name == SELECTS:
        needs_input(choice)
    return choice


def default_for(dtype: str) -> StandardChoice:
    """``ecosystem`` for floats and complex numbers, ``exact`` for the rest."""
    kind = dtype_of(dtype).kind
    return StandardChoice("ecosystem" if kind in ("float", "complex") else "exact", {}, "dtype table")
