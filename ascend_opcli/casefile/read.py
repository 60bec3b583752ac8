"""What a node must be: readers that return plain values or say in one sentence what stands there instead."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

from ascend_opcli.casefile.tree import Mapping, Node, Scalar, Sequence, clip
from ascend_opcli.errors import OpcliError, did_you_mean

T = TypeVar("T")

# Longer words are shown clipped and not compared: a suggestion costs time in proportion to the length.
MAX_WORD = 200


def mapping(node: Node, what: str) -> Mapping:
    """A mapping."""
    if not isinstance(node, Mapping):
        raise node.error(f"{what} must be a mapping, not {node.kind}")
    return node


def section(parent: Mapping, key: str, what: str | None = None) -> Mapping | None:
    """The mapping under ``key``; None where the key is absent or nothing stands under it."""
    node = parent.get(key)
    if node is None or (isinstance(node, Scalar) and node.value is None):
        return None
    return mapping(node, what or key)


def items(node: Node, what: str) -> list[Node]:
    """A list."""
    if not isinstance(node, Sequence):
        raise node.error(f"{what} must be a list, not {node.kind}")
    return node.items


def text(node: Node, what: str, limit: int = 100_000) -> str:
    """Text; a number is not text."""
    value = node.value if isinstance(node, Scalar) else None
    if not isinstance(value, str):
        quote = f"; quote it: '{clip(node.text)}'" if isinstance(node, Scalar) and node.text else ""
        raise node.error(f"{what} must be text, not {node.kind}{quote}")
    if len(value) > limit:
        raise node.error(f"{what} is longer than {limit:,} characters")
    return value


def word(node: Node, what: str) -> str:
    """A short text without line breaks."""
    value = text(node, what, MAX_WORD)
    if not value or not value.isprintable():
        raise node.error(f"{what} must be one line of text")
    return value


def whole(node: Node, what: str, low: int, high: int) -> int:
    """A whole number within bounds, both included."""
    value = node.value if isinstance(node, Scalar) else None
    if type(value) is not int:
        raise node.error(f"{what} must be a whole number, not {node.kind}")
    if not low <= value <= high:
        raise node.error(f"{what} must lie between {low} and {high}, not {clip(str(value))}")
    return value


def sizes(node: Node, what: str) -> tuple[int, ...]:
    """A list of whole numbers from 0 on, such as a shape or strides."""
    if isinstance(node, Scalar) and type(node.value) is int:
        raise node.error(f"{what} must be a list: [{clip(node.text)}]")
    return tuple(whole(item, f"an entry of {what}", 0, 2**63 - 1) for item in items(node, what))


def by(node: Node, rule: Callable[[str], T], what: str) -> T:
    """What ``rule`` makes of a word; the sentence of its ValueError stands at the node."""
    value = word(node, what)
    try:
        return rule(value)
    except (ValueError, OpcliError) as error:
        raise node.error(str(error)) from None


def hint(unknown: str, known: Iterable[str], *, otherwise: str = "") -> str:
    """``; did you mean 'shape'?`` for words of a sane length."""
    return did_you_mean(unknown, known, otherwise=otherwise) if len(unknown) <= MAX_WORD else otherwise
