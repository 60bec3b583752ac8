"""Failures in pasted traces: the operator, the status and the error text that lines of a log name.

Tracebacks of torch_npu ("call aclnnX failed, detail:EZ1001 ...", "error code is 561002"), ERROR lines of CANN's log,
and the text of aclGetRecentErrMsg.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from ascend_opcli.status.codes import UnknownCode, lookup

MAX_FAILURES = 200
MAX_TEXTS = 6
WIDTH = 300
_GAP = 40
"""Lines that may lie between two lines of one failure."""

_OPERATOR = re.compile(r"\b(aclnn[A-Z]\w{0,100}?)(?:GetWorkspaceSize)?\b", re.ASCII)
_STATUS = re.compile(
    r"\b(?:error[ _]?code|err(?:or|no|code)?|ret(?:urn(?:ed|s)?|code)?|status|code|result|failed with)\b"
    r"[^\w\n]{0,5}(?:is|of|code|value|as|with)?[^\w\n]{0,5}([1-9]\d{5})\b",
    re.ASCII | re.IGNORECASE,
)
_NAME = re.compile(r"\b(ACLNN_ERR_[A-Z_0-9]{1,80}|ACL_ERROR_[A-Z_0-9]{1,80})\b")
_CODE = re.compile(r"\b(E[A-Z]\d{4}|E\d{5})\b", re.ASCII)
_ERROR = re.compile(r"\[ERROR\]|\bERROR\b|\bRuntimeError\b|\bfailed\b")
_QUIET = re.compile(r"\[(?:INFO|DEBUG|EVENT|WARNING)\]|\bEXEC_[A-Z]")
_MORE = re.compile(r"\s*(?:Solution|Possible Cause|TraceBack)\b")

FAMILIES: Mapping[str, str] = {
    "EZ1001": "a parameter that the operator does not accept",
    "EZ9999": "an inner error of the operator library",
    "EE9999": "an inner error of the runtime",
    "EZ": "an error of the operator library",
    "EE": "an error of the runtime",
}
"""What error codes of the text stand for: the whole code, else its first two letters."""


@dataclass
class Failure:
    """One failure. ``status`` is None where the lines name none; ``codes`` are those of the error text, in order."""

    line: int
    operator: str = ""
    status: int | None = None
    codes: list[str] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    count: int = 1
    last: int = 0


def family(code: str) -> str:
    """What a code of the error text stands for, empty where that is not known."""
    return FAMILIES.get(code) or FAMILIES.get(code[:2], "")


class Reader:
    """Follows the lines of a log and gathers what belongs together; equal failures are counted."""

    def __init__(self) -> None:
        self.dropped = 0
        self._made: dict[tuple[str, int | None, tuple[str, ...]], Failure] = {}
        self._open: Failure | None = None

    def feed(self, number: int, text: str) -> None:
        """One line."""
        found = self._open
        if _QUIET.search(text):
            return
        status, code = _status(text), _CODE.search(text)
        named = _OPERATOR.search(text)
        operator = named[1] if named is not None else ""
        if status is None and code is None and not (operator and _ERROR.search(text)):
            if found is not None and _MORE.match(text) and number - found.last <= _GAP:
                _quote(found, text)
            return
        if (
            found is None
            or number - found.last > _GAP
            or (operator and found.operator and operator != found.operator)
            or (status is not None and found.status is not None and status != found.status)
        ):
            self._close()
            found = self._open = Failure(number)
        found.last = number
        found.operator = found.operator or operator
        found.status = found.status if found.status is not None else status
        if code is not None and code[1] not in found.codes and len(found.codes) < MAX_TEXTS:
            found.codes.append(code[1])
        _quote(found, text)

    def failures(self) -> list[Failure]:
        """What has been found, in the order of the lines."""
        self._close()
        return list(self._made.values())

    def _close(self) -> None:
        found, self._open = self._open, None
        if found is None:
            return
        key = (found.operator, found.status, tuple(found.codes))
        if key in self._made:
            self._made[key].count += 1
        elif len(self._made) < MAX_FAILURES:
            self._made[key] = found
        else:
            self.dropped += 1


def _quote(found: Failure, text: str) -> None:
    flat = "".join(mark if mark.isprintable() else "?" for mark in " ".join(text.split()))
    said = flat if len(flat) <= WIDTH else flat[: WIDTH - 3] + "..."
    if said and said not in found.texts and len(found.texts) < MAX_TEXTS:
        found.texts.append(said)


def _status(text: str) -> int | None:
    found = _STATUS.search(text)
    if found is not None:
        return int(found[1])
    named = _NAME.search(text)
    try:
        return lookup(named[1]).code if named is not None else None
    except UnknownCode:
        return None
