"""Failures in pasted traces: the operator, the status and the error text that lines of a log name.

Tracebacks of torch_npu ("call aclnnX failed, detail:EZ1001 ...", "error code is 561002"), ERROR lines of CANN's log,
and the text of aclGetRecentErrMsg.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from ascend_opcli.status.codes import SUCCESS, UnknownCode, all_codes, lookup

MAX_FAILURES = 200
MAX_TEXTS = 6
WIDTH = 300
_GAP = 40
"""Lines that may lie between two lines of one failure."""

_OPERATOR = re.compile(r"\b(aclnn(?!Status\b)[A-Z]\w{0,100}?)(?:GetWorkspaceSize)?\b", re.ASCII)
_NAME = re.compile(r"\b(ACLNN_ERR_[A-Z_0-9]{1,80}|ACL_ERROR_[A-Z_0-9]{1,80})\b")
_CODE = re.compile(r"\b(E[A-Z]\d{4}|E\d{5})\b", re.ASCII)
_ERROR = re.compile(r"\[ERROR\]|\bERROR\b|\bRuntimeError\b|\bfailed\b|失败|报错|错误")
_QUIET = re.compile(r"\[(?:INFO|DEBUG|EVENT|WARNING)\]|\bEXEC_[A-Z]")
_MORE = re.compile(r"\s*(?:Solution|Possible Cause|TraceBack)\b")

# A number may be a code where a word before it says so. It is none behind a point, in a date, a time or a path.
_NUMBER = re.compile(
    r"(?<![\w./\\-])(?<!\d[:,])(?:0[xX](?P<hex>[0-9a-fA-F]{4,8})|(?P<whole>[1-9]\d{5}))(?!\w|[.,:/\\-]\d)",
    re.ASCII,
)
_HEAD = r"(?<![A-Za-z0-9])(?:[A-Za-z][a-z0-9]{0,30}_|[A-Z]{1,30}_|[A-Za-z][a-z0-9]{0,30}(?=[A-Z])){0,5}"
_GLUE = r"[\s\"'=:：,，>(\[{]{0,6}(?:(?:is|was|of|code|value|as|with|by)\b|[为是])?[\s\"'=:：,，>(\[{]{0,6}\Z"
_SURE = re.compile(
    r"(?:(?<![A-Za-z])(?:error|err)[ _-]?code|(?<![A-Za-z])errno|错误码|错误代码)" + _GLUE,
    re.ASCII | re.IGNORECASE,
)
_WORD = re.compile(
    _HEAD
    + r"(?:[Ee]rr(?:or|no|No|code|Code)?|ERR(?:OR|NO|CODE)?|[Rr]et|RET|rc)"
    + r"(?:[ _]?(?:[Cc]ode|CODE|[Vv]al(?:ue)?|[Nn]o))?"
    + _GLUE
    + r"|(?<![A-Za-z])(?:[Ff]ailed|FAILED|[Ff]ailure)"
    + _GLUE
    + r"|(?:失败|报错|错误|返回码|返回值|状态码)"
    + _GLUE,
    re.ASCII,
)
_VAGUE = re.compile(
    _HEAD
    + r"(?:[Rr]eturn(?:ed|s)?|RETURN|[Ss]tatus|STATUS|[Rr]esult|RESULT|[Cc]ode|CODE)(?:[ _]?(?:[Cc]ode|CODE|[Vv]alue))?"
    + _GLUE,
    re.ASCII,
)
# The level of a log, behind which other programs put the number of the process.
_LEVEL = re.compile(r"\b(?:ERROR|ERR)[\s\[(]*\Z")
_OURS = re.compile(r"acl|\brt[A-Z]|hccl|npu|ascend|\berr|\bfail|失败|报错|错误", re.ASCII | re.IGNORECASE)
_UNIT = re.compile(
    r"[\s)\]]*(?:of\b|out of\b|(?:[kKMGT]i?)?(?:B|[Bb]ytes?)\b|%|(?:elements?|items?|rows?|lines?|times?|tokens?|"
    r"steps?|samples?|tensors?|files?|tests?|cases?|ms|us|ns|s|secs?|seconds?|minutes?|次|个|行|字节|秒|毫秒)(?!\w))"
)
_BEFORE, _NUMBERS = 80, 64

FAMILIES: Mapping[str, str] = {
    "EZ1001": "a parameter that the operator does not accept",
    "EZ9999": "an inner error of the operator library",
    "EE9999": "an inner error of the runtime",
    "EZ": "an error of the operator library",
    "EE": "an error of the runtime",
}
"""What error codes of the text stand for: the whole code, else its first two letters."""


@dataclass
class LoggedFailure:
    """One failure. ``status`` is None where the lines name none; ``codes`` are those of the error text, in order.

    ``stream`` is the process whose lines they are, where the log says so.
    """

    line: int
    operator: str = ""
    status: int | None = None
    codes: list[str] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    count: int = 1
    last: int = 0
    stream: str = ""


def family(code: str) -> str:
    """What a code of the error text stands for, empty where that is not known."""
    return FAMILIES.get(code) or FAMILIES.get(code[:2], "")


class TraceReader:
    """Follows the lines of a log and gathers what belongs together; equal failures are counted."""

    def __init__(self) -> None:
        self.dropped = 0
        self._made: dict[tuple[str, int | None, tuple[str, ...]], LoggedFailure] = {}
        self._open: dict[str, LoggedFailure] = {}
        self._last = ""

    def feed(self, number: int, text: str, prefix: str = "", stream: str = "") -> None:
        """One line. ``stream`` is the process that it names, ``prefix`` the words by which it does."""
        # What names none goes on with the line before it.
        stream = self._last = stream or self._last
        found = self._open.get(stream)
        if _QUIET.search(text):
            return
        status, code = _status(text), _CODE.search(text)
        named = _OPERATOR.search(text)
        operator = named[1] if named is not None else ""
        if status is None and code is None and not (operator and _ERROR.search(text)):
            if found is not None and _MORE.match(text) and number - found.last <= _GAP:
                _quote(found, prefix + text)
            return
        if (
            found is None
            or number - found.last > _GAP
            or (operator and found.operator and operator != found.operator)
            or (status is not None and found.status is not None and status != found.status)
        ):
            self._close(stream)
            if len(self._open) >= MAX_FAILURES:
                self._close(next(iter(self._open)))
            found = self._open[stream] = LoggedFailure(number, stream=stream)
        found.last = number
        found.operator = found.operator or operator
        found.status = found.status if found.status is not None else status
        if code is not None and code[1] not in found.codes and len(found.codes) < MAX_TEXTS:
            found.codes.append(code[1])
        _quote(found, prefix + text)

    def failures(self) -> list[LoggedFailure]:
        """What has been found, in the order of the lines."""
        for stream in list(self._open):
            self._close(stream)
        return sorted(self._made.values(), key=lambda failure: failure.line)

    def _close(self, stream: str) -> None:
        found = self._open.pop(stream, None)
        if found is None:
            return
        key = (found.operator, found.status, tuple(found.codes))
        if key in self._made:
            self._made[key].count += 1
        elif len(self._made) < MAX_FAILURES:
            self._made[key] = found
        else:
            self.dropped += 1


def _quote(found: LoggedFailure, text: str) -> None:
    flat = "".join(mark if mark.isprintable() else "?" for mark in " ".join(text.split()))
    said = flat if len(flat) <= WIDTH else flat[: WIDTH - 3] + "..."
    if said and said not in found.texts and len(found.texts) < MAX_TEXTS:
        found.texts.append(said)


def _status(text: str) -> int | None:
    for found in itertools.islice(_NUMBER.finditer(text), _NUMBERS):
        code = _code(text, found)
        if code is not None:
            return code
    named = _NAME.search(text)
    try:
        return lookup(named[1]).code if named is not None else None
    except UnknownCode:
        return None


def _code(text: str, number: re.Match[str]) -> int | None:
    """The return code that a number is by the words around it. Of one that nobody has named these must be sure."""
    before = text[max(number.start() - _BEFORE, 0) : number.start()]
    code = int(number["hex"], 16) if number["hex"] else int(number["whole"])
    if _UNIT.match(text, number.end()):
        return None
    if _SURE.search(before) and (number["whole"] or code in _known()):
        return code
    if code not in _known() or _LEVEL.search(before):
        return None
    sure = _WORD.search(before) or (_VAGUE.search(before) and _OURS.search(text))
    return code if sure else None


@lru_cache(maxsize=1)
def _known() -> frozenset[int]:
    return frozenset(code.code for code in all_codes()) - {SUCCESS}
