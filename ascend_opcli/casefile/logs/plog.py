"""Calls that CANN's operator library writes to its log at INFO, in phase 1: names and values, inputs first.

After the public source of hicann/opbase (opdev/op_dfx.h, common_types.cpp). The text is written in pieces of
several hundred characters, each in a line of its own, which threads may mix.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from ascend_opcli.casefile.files.positions import ARRAY, TENSOR, TENSORS, VALUE, GivenArgument
from ascend_opcli.casefile.files.written import scalar, scalars
from ascend_opcli.casefile.logs import logged
from ascend_opcli.casefile.logs.log_lines import Line
from ascend_opcli.casefile.logs.logged import Logged, Lost, Part
from ascend_opcli.casefile.tree import clip
from ascend_opcli.operators.signature import Param

MAX_THREADS = 1000

_BEGIN = "Entering function "
_HEAD = re.compile(r"(aclnn\w{1,100}?)GetWorkspaceSize\b")
_PROCESS = re.compile(r"\((\d{1,10}),")
_THREAD = re.compile(r"(?:^|[\s\[\]])(\d{1,10})[\]\s]*$")
_NAME = re.compile(r"(?:^|, ?|(?<=[)\]]))([A-Za-z_]\w{0,100}): ?(?!:)", re.ASCII)
_TENSOR = re.compile(r"aclTensor\(([^()]*)\)")
_SCALAR = re.compile(r"aclScalar\(\s*data_type\s*=\s*(\w+)\s*,\s*value\s*=\s*(\([^()]*\)|[^()]*)\)", re.ASCII)
_FIELD = re.compile(r"(\w{1,40})\s?=\s?(\[[^\[\]]*\]|[^,\[\]]*)")
_ARRAY = re.compile(r"(?:acl\w{1,20}Array)?\s*\(?\s*\[?([^\[\]()=]*)\]?\s*\)?")


@dataclass
class _Open:
    """A call whose parameters are being read."""

    operator: str
    line: int
    pieces: list[str] = field(default_factory=list)
    size: int = 0
    inputs: str | None = None
    lost: str = ""


class PlogReader:
    """Follows the lines of a log, thread by thread."""

    def __init__(self) -> None:
        self._open: dict[tuple[str, str], _Open] = {}

    def feed(self, line: Line) -> Iterator[Logged]:
        """The call that this line ends, if it does."""
        place = line.text.find(_BEGIN)
        if place < 0:
            return
        prefix, said = line.text[:place][-400:], line.text[place + len(_BEGIN) :]
        process, thread = _PROCESS.search(prefix), _THREAD.search(prefix.rstrip('" '))
        key = (process[1] if process else "", thread[1] if thread else "")
        head = _HEAD.match(said)
        if head is not None:
            yield from self._ended(self._open.pop(key, None))
            if len(self._open) >= MAX_THREADS:
                yield from self._ended(self._open.pop(next(iter(self._open))))
            self._open[key] = _Open(head[1], line.number)
            return
        call = self._open.get(key)
        if call is None:
            return
        if said.startswith("params:"):
            _take(call, said.removeprefix("params:").removeprefix(" "), line)
        elif said.startswith("in params end"):
            call.inputs, call.pieces = "".join(call.pieces), []
        elif said.startswith("out params end"):
            del self._open[key]
            yield _whole(call)

    def close(self) -> Iterator[Logged]:
        """What the end of the log leaves open."""
        for call in self._open.values():
            yield from self._ended(call)
        self._open = {}

    @staticmethod
    def _ended(call: _Open | None) -> Iterator[Logged]:
        if call is not None:
            lost = call.lost or "the log ends before its parameters do"
            yield Logged(call.operator, call.line, logged.PLOG, (), lost=lost)


def _take(call: _Open, piece: str, line: Line) -> None:
    piece = piece.removesuffix('"').rstrip("\r")
    call.size += len(piece)
    if line.cut or call.size > logged.MAX_TEXT:
        call.lost, call.pieces = "its parameters are too long", []
    elif not piece.endswith("."):
        call.lost = f"line {line.number} is cut off"
    elif not call.lost:
        call.pieces.append(piece[:-1])


def _whole(call: _Open) -> Logged:
    lost = call.lost
    parts: tuple[Part, ...] = ()
    count = 0
    if not lost and call.inputs is None:
        lost = "the log lacks the line that ends its inputs"
    if not lost:
        try:
            inputs, outputs = _parts(call.inputs or ""), _parts("".join(call.pieces))
            parts, count = (*inputs, *outputs), len(outputs)
        except Lost as error:
            lost = str(error)
    return Logged(call.operator, call.line, logged.PLOG, parts, count, lost)


def _parts(text: str) -> tuple[Part, ...]:
    """``name: value, name: value``; a comma inside brackets divides nothing."""
    text = text.replace("(nil)", "nil")
    bare: list[str] = []
    depth = 0
    for mark in text:
        depth -= mark in ")]"
        bare.append(mark if depth == 0 else " ")
        depth += mark in "(["
        if depth < 0:
            break
    if depth:
        raise Lost("a bracket of its parameters is not closed: a piece is missing")
    names = list(_NAME.finditer("".join(bare)))
    if text.strip() and (not names or names[0].start() > 0):
        raise Lost(f"its parameters cannot be read: {clip(text)}")
    # Without a name there is nothing: a call of no inputs, or one whose lines are damaged.
    ends = [*(n.start() for n in names[1:]), len(text)][: len(names)]
    return tuple(
        Part(n[1], text[n.end() : end].strip().removesuffix(",")) for n, end in zip(names, ends, strict=True)
    )


def given(part: Part, param: Param) -> GivenArgument:
    """The argument, read as the parameter's C type. Raises Lost, or ValueError for a word that nobody knows."""
    text = part.text
    if text == "nullptr" and param.is_pointer:
        return logged.null(param)
    if param.is_tensor:
        members = _members(part, _TENSOR)
        tensors = [_tensor(part.name, m[1]) for m in members]
        if param.is_list:
            return GivenArgument(part.name, TENSORS, tensors)
        if len(tensors) != 1:
            raise Lost(f"{part.name} is {len(tensors)} tensors where {param.name} is one")
        return GivenArgument(part.name, TENSOR, tensors[0])
    if param.type in ("aclScalar", "aclScalarList"):
        return _scalar(part, param)
    if param.type == "char":
        return GivenArgument(part.name, VALUE, text)
    if param.type == "aclDataType":
        return GivenArgument(part.name, VALUE, logged.dtype_of(text))
    if param.is_pointer:
        return _array(part, param)
    value = logged.number(text)
    if param.type == "bool" and value in (0, 1):
        value = bool(value)
    return GivenArgument(part.name, VALUE, float(value) if param.type in ("double", "float") else value)


def _members(part: Part, pattern: re.Pattern[str]) -> list[re.Match[str]]:
    """The members of a list, which stand in a row; Lost where something else stands between them."""
    found = list(pattern.finditer(part.text))
    rest = pattern.sub("", part.text).strip("[] ,")
    if rest and rest not in ("aclTensorList()", "aclScalarList()"):
        raise Lost(f"{part.name} cannot be read: {clip(rest)}")
    return found


def _tensor(name: str, text: str) -> dict[str, object]:
    fields = dict(_FIELD.findall(text))
    missing = [k for k in ("view_shape", "view_strides", "view_offset", "data_type") if k not in fields]
    if missing:
        raise Lost(f"the tensor {name} has no {' and no '.join(missing)}")
    offset = fields["view_offset"].strip()
    if not re.fullmatch(r"[0-9]{1,18}", offset):
        raise Lost(f"the view_offset of {name} is no number")
    view, held = (fields.get(k, "ND").strip() for k in ("view_format", "storage_format"))
    storage = fields.get("storage_shape")
    return logged.tensor(
        logged.sizes(fields["view_shape"]),
        logged.sizes(fields["view_strides"]),
        int(offset),
        logged.dtype_of(fields["data_type"]),
        # A private format is that of the storage; the view keeps the plain one.
        format=view if held in ("ND", "") else held,
        storage=logged.sizes(storage) if storage is not None else None,
    )


def _scalar(part: Part, param: Param) -> GivenArgument:
    members = _members(part, _SCALAR)
    dtypes = [logged.dtype_of(m[1]) for m in members]
    values = [logged.as_dtype(logged.number(m[2]), d) for m, d in zip(members, dtypes, strict=True)]
    if param.type == "aclScalar":
        if len(values) != 1:
            raise Lost(f"{part.name} is {len(values)} scalars where {param.name} is one")
        return scalar(values[0], dtypes[0], part.name)
    if len(set(dtypes)) > 1:
        raise Lost(f"the scalars of {part.name} have several dtypes")
    return scalars(values, dtypes[0] if dtypes else "float32", part.name)


def _array(part: Part, param: Param) -> GivenArgument:
    found = _ARRAY.fullmatch(part.text)
    if found is None:
        raise Lost(f"the array {part.name} cannot be read: {clip(part.text)}")
    values = [logged.number(w) for w in found[1].split(",") if w.strip()]
    if param.type == "aclBoolArray":
        values = [bool(v) for v in values]
    return GivenArgument(part.name, ARRAY, values)
