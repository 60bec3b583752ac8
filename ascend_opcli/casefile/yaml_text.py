"""YAML text -> a tree of nodes that know their line and column.

Built from the parser's events, never by PyYAML's constructors: nothing is executed, nothing recurses, and the
size of the tree is known before it is made. Scalars follow the core schema of YAML 1.2 (``no`` and ``off``
are words, ``1e-6`` and ``.5`` are numbers); a quoted scalar is text.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import Any

import yaml

from ascend_opcli.casefile.tree import DOLLAR, Mapping, Node, Plain, Scalar, Sequence, clip, mapping, sequence
from ascend_opcli.errors import CaseFileError
from ascend_opcli.model import Where

MAX_BYTES = 64 * 2**20
MAX_DEPTH = 100
MAX_NODES = 1_000_000
MAX_DIGITS = 300  # so that every whole number fits a double

_TOO_DEEP = f"nested more than {MAX_DEPTH} deep"

_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_CORE = "tag:yaml.org,2002:"
_INT = re.compile(r"[-+]?[0-9]+")
_BASED = re.compile(r"0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_SPECIAL = {"inf": math.inf, "Inf": math.inf, "INF": math.inf}
_WORDS: dict[str, Plain] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), math.nan),
    **{f"{sign}.{word}": value for word, value in _SPECIAL.items() for sign in ("", "+")},
    **{f"-.{word}": -value for word, value in _SPECIAL.items()},
}
# What YAML calls printable; the byte order mark is handled by decode().
_UNPRINTABLE = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]")


def decode(data: bytes, file: str) -> str:
    """The text of a file, which is UTF-8 with or without a byte order mark."""
    if len(data) > MAX_BYTES:
        raise too_big(file)
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise CaseFileError("this is UTF-16; save the file as UTF-8", Where(file, 1, 1))
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        head = data[data.rfind(b"\n", 0, error.start) + 1 : error.start]
        where = Where(file, line, len(head.decode("utf-8", "replace")) + 1)
        raise CaseFileError(f"this is not UTF-8 text (byte 0x{data[error.start]:02x})", where) from None


def too_big(file: str) -> CaseFileError:
    """The error of a file that is not even read."""
    return CaseFileError(
        f"the file is larger than {MAX_BYTES // 2**20} MiB; "
        "keep large data in .npy files: data: {file: x.npy}",
        Where(file, 1, 1),
    )


def parse(text: str, file: str) -> Node | None:
    """The tree of the one document in ``text``, None where there is none.

    Raises CaseFileError, and nothing else, for any text that is not plain YAML of a sane size.
    """
    if len(text) > MAX_BYTES:
        raise too_big(file)
    odd = _UNPRINTABLE.search(text)
    if odd is not None:
        line = text.count("\n", 0, odd.start()) + 1
        where = Where(file, line, odd.start() - text.rfind("\n", 0, odd.start()))
        raise CaseFileError(f"the character U+{ord(odd[0]):04X} cannot stand in YAML", where)
    try:
        return _Composer(file).compose(yaml.parse(text, Loader=_LOADER))
    except yaml.MarkedYAMLError as error:
        raise _syntax(error, text, file) from None
    except yaml.YAMLError as error:
        raise CaseFileError(f"this is not YAML: {clip(str(error))}", Where(file, 1, 1)) from None


def _syntax(error: yaml.MarkedYAMLError, text: str, file: str) -> CaseFileError:
    mark = error.problem_mark or error.context_mark
    if mark is None:
        return CaseFileError(f"this is not YAML: {clip(str(error.problem))}", Where(file, 1, 1))
    where = Where(file, mark.line + 1, mark.column + 1)
    lines = text.splitlines()
    row = lines[mark.line] if mark.line < len(lines) else ""
    if row[mark.column : mark.column + 1] == "\t" or row[: mark.column].strip(" ").startswith("\t"):
        return CaseFileError("a tab cannot indent YAML; use spaces", where)
    if error.problem == "exceeded maximum nesting depth":  # libyaml's own limit, far above ours
        return CaseFileError(_TOO_DEEP, where)
    began = ""
    if error.context_mark is not None and error.context_mark.line != mark.line:
        began = f", begun on line {error.context_mark.line + 1}"
    context = f" ({error.context}{began})" if error.context else ""
    return CaseFileError(f"this is not YAML: {error.problem}{context}", where)


class _Frame:
    """A list or mapping whose end has not been seen."""

    __slots__ = ("anchor", "entries", "items", "key", "mark", "merge", "merges", "places")

    def __init__(self, event: Any, is_mapping: bool) -> None:
        self.mark = event.start_mark
        self.anchor: str | None = event.anchor
        self.items: list[Node] = []
        self.entries: dict[str, Node] | None = {} if is_mapping else None
        self.places: dict[str, tuple[int, int]] = {}
        self.key: str | None = None
        self.merge = False
        self.merges: Node | None = None


class _Composer:
    """Events -> nodes. One document, no recursion, every limit checked before the memory is spent."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.anchors: dict[str, Node | None] = {}  # None while the anchored node is still open
        self.stack: list[_Frame] = []
        self.total = 0
        self.scalars: dict[str, Plain] = {}

    def compose(self, events: Iterator[Any]) -> Node | None:
        root: Node | None = None
        documents = 0
        for event in events:
            kind = event.__class__
            if kind is yaml.ScalarEvent:
                node: Node = self.scalar(event)
                if event.anchor:
                    self.anchors[event.anchor] = node
            elif kind is yaml.SequenceStartEvent or kind is yaml.MappingStartEvent:
                self.open(event, kind is yaml.MappingStartEvent)
                continue
            elif kind is yaml.SequenceEndEvent or kind is yaml.MappingEndEvent:
                node = self.close()
            elif kind is yaml.AliasEvent:
                node = self.alias(event)
            else:
                if kind is yaml.DocumentStartEvent:
                    documents += 1
                    if documents > 1:
                        raise self.fail(event, "a second document begins here; a case file is one document")
                continue
            if self.stack:
                self.attach(self.stack[-1], node, event)
            else:
                root = node
        return root

    def fail(self, event: Any, message: str) -> CaseFileError:
        mark = event.start_mark
        return CaseFileError(message, Where(self.file, mark.line + 1, mark.column + 1))

    def count(self, event: Any, size: int) -> None:
        self.total += size
        if self.total > MAX_NODES:
            raise self.fail(
                event,
                f"more than {MAX_NODES:,} values with aliases expanded; "
                "keep large data in .npy files: data: {file: x.npy}",
            )

    def scalar(self, event: Any) -> Scalar:
        self.count(event, 1)
        text: str = event.value
        value: Plain = text
        if event.implicit[0] and event.tag is None:
            try:
                value = self.scalars[text]
            except KeyError:
                try:
                    value = self.scalars[text] = resolve(text)
                except ValueError as error:
                    raise self.fail(event, str(error)) from None
        elif event.tag is not None:
            value = self.tagged(event, text)
        mark = event.start_mark
        dollar = value.__class__ is str and text[:1] == "$" and DOLLAR.fullmatch(text) is not None
        return Scalar(self.file, mark.line + 1, mark.column + 1, value, text, dollar=dollar)

    def tagged(self, event: Any, text: str) -> Plain:
        tag = event.tag
        if tag in ("!", _CORE + "str"):
            return text
        wanted = {"int": int, "float": float, "bool": bool, "null": type(None)}.get(tag.removeprefix(_CORE))
        if wanted is None or not tag.startswith(_CORE):
            raise self.refused(event)
        try:
            value = resolve(text)
        except ValueError as error:
            raise self.fail(event, str(error)) from None
        if wanted is float and type(value) is int:
            return float(value)
        if type(value) is not wanted:
            raise self.fail(event, f"'{clip(text)}' is not what its tag !!{tag.removeprefix(_CORE)} says")
        return value

    def refused(self, event: Any) -> CaseFileError:
        tag = event.tag.replace(_CORE, "!!")
        return self.fail(event, f"the tag {clip(tag)} is not allowed; a case file holds plain data")

    def open(self, event: Any, is_mapping: bool) -> None:
        self.count(event, 1)
        if event.tag not in (None, "!", _CORE + ("map" if is_mapping else "seq")):
            raise self.refused(event)
        self.check_depth(event, 1)
        if event.anchor:
            self.anchors[event.anchor] = None
        self.stack.append(_Frame(event, is_mapping))

    def check_depth(self, event: Any, more: int) -> None:
        if len(self.stack) + more > MAX_DEPTH:
            raise self.fail(event, _TOO_DEEP)

    def alias(self, event: Any) -> Node:
        name = event.anchor
        if name not in self.anchors:
            raise self.fail(event, f"there is no anchor &{clip(name)} before this alias")
        node = self.anchors[name]
        if node is None:
            raise self.fail(event, f"the anchor &{clip(name)} contains itself")
        self.count(event, node.size)
        self.check_depth(event, node.depth)
        return node

    def attach(self, frame: _Frame, node: Node, event: Any) -> None:
        entries = frame.entries
        if entries is None:
            frame.items.append(node)
        elif frame.merge:
            frame.merges, frame.merge = node, False
        elif frame.key is not None:
            entries[frame.key] = node
            frame.key = None
        else:
            self.key(frame, node, event)

    def key(self, frame: _Frame, node: Node, event: Any) -> None:
        assert frame.entries is not None
        mark = event.start_mark
        if not isinstance(node, Scalar) or not isinstance(node.value, str):
            if not isinstance(node, Scalar):
                raise node.error(f"a key is a word, not {node.kind}")
            hint = f"; quote it: '{clip(node.text)}'" if node.text else ""
            raise self.fail(event, f"a key is a word, not {node.kind}{hint}")
        key = node.value
        if key in frame.places:
            raise self.fail(
                event, f"the key '{clip(key)}' is repeated; it stands on line {frame.places[key][0]} already"
            )
        frame.places[key] = (mark.line + 1, mark.column + 1)
        if key == "<<" and event.__class__ is yaml.ScalarEvent and event.implicit[0]:
            frame.merge = True
        else:
            frame.key = key

    def close(self) -> Node:
        frame = self.stack.pop()
        at = Node(self.file, frame.mark.line + 1, frame.mark.column + 1)
        node: Node
        if frame.entries is None:
            node = sequence(at, frame.items)
        else:
            if frame.merges is not None:
                self.merge(frame, frame.merges)
            node = mapping(at, frame.entries, frame.places)
        if frame.anchor:
            self.anchors[frame.anchor] = node
        return node

    def merge(self, frame: _Frame, node: Node) -> None:
        """Put what ``<<`` names below the keys beside it."""
        assert frame.entries is not None
        sources = node.items if isinstance(node, Sequence) else [node]
        below: dict[str, Node] = {}
        places: dict[str, tuple[int, int]] = {}
        for source in sources:
            if not isinstance(source, Mapping):
                raise source.error(f"<< takes a mapping or a list of mappings, not {source.kind}")
            for key, value in source.entries.items():
                if key not in below:
                    below[key], places[key] = value, source.places[key]
        del frame.places["<<"]
        frame.entries = {**below, **frame.entries}
        frame.places = {**places, **frame.places}


def resolve(text: str) -> Plain:
    """What a plain scalar stands for by the core schema.

    Raises ValueError for a number that no double can hold.
    """
    if text in _WORDS:
        return _WORDS[text]
    if not text or text[0] not in "+-.0123456789":
        return text
    if _INT.fullmatch(text) or _BASED.fullmatch(text):
        if len(text) > MAX_DIGITS:
            raise ValueError(f"a number of {len(text)} digits is too large")
        number = int(text, 0) if text[:2] in ("0x", "0o") else int(text)
        if abs(number) >= 10**MAX_DIGITS:
            raise ValueError(f"{clip(text)} is too large")
        return number
    if _FLOAT.fullmatch(text):
        value = float(text)
        if math.isinf(value):
            raise ValueError(f"{clip(text)} is too large for a double; infinity is written .inf")
        return value
    return text
