"""The tree of a text: nodes that know their line and column, and that are made of other nodes."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from ascend_opcli.errors import CaseFileError
from ascend_opcli.model import Where

Plain = None | bool | int | float | str

DOLLAR = re.compile(r"\$[A-Za-z_]\w*", re.ASCII)


@dataclass(slots=True, eq=False)
class Node:
    """A place in the text. ``size`` counts nodes, aliases expanded; ``dollar``: a ``$name`` is inside."""

    file: str
    line: int
    column: int
    size: int = field(default=1, kw_only=True)
    depth: int = field(default=0, kw_only=True)
    dollar: bool = field(default=False, kw_only=True)

    @property
    def where(self) -> Where:
        """The place, for an error or a report."""
        return Where(self.file, self.line, self.column)

    @property
    def kind(self) -> str:
        """What this is, in the words of a sentence."""
        raise NotImplementedError

    def error(self, message: str) -> CaseFileError:
        """The error that stands at this node."""
        return CaseFileError(message, self.where)


@dataclass(slots=True, eq=False)
class Scalar(Node):
    """A leaf; ``text`` is as written, without quotes."""

    value: Plain
    text: str

    @property
    def kind(self) -> str:
        """Null, true or false, a number, or the text itself."""
        if self.value is None:
            return "null"
        if isinstance(self.value, str):
            return f"'{clip(self.value)}'"
        return clip(self.text)


@dataclass(slots=True, eq=False)
class Sequence(Node):
    """A list."""

    items: list[Node]

    @property
    def kind(self) -> str:
        """A list."""
        return "a list"


@dataclass(slots=True, eq=False)
class Mapping(Node):
    """Names and what they stand for; ``places`` are the line and column of each name."""

    entries: dict[str, Node]
    places: dict[str, tuple[int, int]]

    @property
    def kind(self) -> str:
        """A mapping."""
        return "a mapping"

    def get(self, key: str) -> Node | None:
        """What stands under ``key``, None where the key is absent."""
        return self.entries.get(key)

    def key_error(self, key: str, message: str) -> CaseFileError:
        """The error that stands at the name ``key`` itself."""
        return CaseFileError(message, Where(self.file, *self.places[key]))


def clip(text: str, width: int = 60) -> str:
    """Text fit for one line of an error."""
    flat = " ".join(text.split())
    return flat if len(flat) <= width else flat[: width - 3] + "..."


def mapping(at: Node, entries: dict[str, Node], places: dict[str, tuple[int, int]]) -> Mapping:
    """A mapping made of existing nodes, standing where ``at`` stands."""
    nodes = entries.values()
    return Mapping(
        at.file,
        at.line,
        at.column,
        entries,
        places,
        size=1 + sum(n.size for n in nodes),
        depth=1 + max((n.depth for n in nodes), default=0),
        dollar=any(n.dollar for n in nodes),
    )


def sequence(at: Node, items: list[Node]) -> Sequence:
    """A list made of existing nodes, standing where ``at`` stands."""
    return Sequence(
        at.file,
        at.line,
        at.column,
        items,
        size=1 + sum(n.size for n in items),
        depth=1 + max((n.depth for n in items), default=0),
        dollar=any(n.dollar for n in items),
    )


def plain(node: Node) -> Any:
    """The node as dict, list and scalars."""
    if isinstance(node, Scalar):
        return node.value
    if isinstance(node, Sequence):
        return [plain(item) for item in node.items]
    assert isinstance(node, Mapping)
    return {key: plain(value) for key, value in node.entries.items()}


def from_plain(value: Any, at: Node) -> Node:
    """Dict, list and scalars as nodes that all stand where ``at`` stands."""
    if isinstance(value, dict):
        entries = {key: from_plain(item, at) for key, item in value.items()}
        return mapping(at, entries, dict.fromkeys(entries, (at.line, at.column)))
    if isinstance(value, (list, tuple)):
        return sequence(at, [from_plain(item, at) for item in value])
    dollar = isinstance(value, str) and DOLLAR.fullmatch(value) is not None
    return Scalar(at.file, at.line, at.column, value, str(value), dollar=dollar)
