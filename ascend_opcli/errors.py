"""The one tree of errors, each with the exit code it stands for, and the wording of suggestions."""

from __future__ import annotations

import re
from collections.abc import Iterable
from enum import IntEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ascend_opcli.model import Where


# Control characters but tab and newline; what has no width or turns the direction of writing, by which a name can read
# as another one (Unicode's Default_Ignorable_Code_Point and its format controls); separators of lines; surrogates and
# non-characters. None of those that XML 1.0 forbids is left.
UNSEEN = (
    "\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e"
    "\u2060-\u206f\u3164\ud800-\udfff\ufdd0-\ufdef\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\ufffe\uffff"
    "\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
"""What no reader would see, as the inside of a character class."""

_UNSEEN = re.compile(f"[{UNSEEN}]")


def escaped(mark: str) -> str:
    """One character as an escape that Python and YAML read: ``\\x1b``, ``\\u202e``."""
    if mark == "\r":
        return "\\r"
    code = ord(mark)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def visible(text: str) -> str:
    """The text with what would not be seen, or would act on a terminal, as escapes."""
    return _UNSEEN.sub(lambda m: escaped(m[0]), text)


def one_line(text: str, limit: int | None = None) -> str:
    """The text as one line, cut with an ellipsis beyond ``limit`` characters."""
    line = " ".join(visible(text).split())
    return line if limit is None or len(line) <= limit else line[: limit - 3] + "..."


class ExitCode(IntEnum):
    """What a run's exit code says. Where several apply, :meth:`worst` decides."""

    PASSED = 0
    FAILED = 1
    USAGE = 2
    SURROUNDINGS = 3
    NOTHING_JUDGED = 4
    REGRESSION = 5
    INTERRUPTED = 130

    @classmethod
    def worst(cls, codes: Iterable[ExitCode]) -> ExitCode:
        """The code that counts among several: 130, 2, 1, 3, 5, 4, 0."""
        order = (cls.INTERRUPTED, cls.USAGE, cls.FAILED, cls.SURROUNDINGS, cls.REGRESSION, cls.NOTHING_JUDGED)
        seen = set(codes)
        return next((code for code in order if code in seen), cls.PASSED)


class OpcliError(Exception):
    """Anything that opcli says in one sentence instead of a traceback."""

    exit_code = ExitCode.USAGE


class UsageError(OpcliError):
    """The command line asks for something that does not exist or does not fit together."""


class CaseFileError(OpcliError):
    """A case file that cannot be read as one. ``where`` is the place of the offending text."""

    def __init__(self, message: str, where: Where | None = None) -> None:
        super().__init__(f"{where}: {message}" if where is not None else message)
        self.message = message
        self.where = where


class SurroundingsError(OpcliError):
    """What opcli runs on has failed: a device, a library, a full disk."""

    exit_code = ExitCode.SURROUNDINGS


class Missing(SurroundingsError):
    """What is not there or cannot be used, and the line that mends it."""

    def __init__(self, found: str, fix: str) -> None:
        super().__init__(f"{found}; {fix}")
        self.found, self.fix = found, fix


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known word that ``word`` most likely stands for, or None where nothing is close."""
    import difflib  # only a mistake needs it, and it is slow to load

    folded = {k.casefold(): k for k in known}
    close = difflib.get_close_matches(word.casefold(), folded, n=1, cutoff=0.6)
    return folded[close[0]] if close else None


def did_you_mean(word: str, known: Iterable[str], *, otherwise: str = "") -> str:
    """``"; did you mean 'shape'?"``, or ``otherwise`` (say a list of what there is) where nothing is close."""
    close = nearest(word, known)
    return f"; did you mean '{close}'?" if close is not None else otherwise
