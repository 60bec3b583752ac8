"""What the self-test asks of the worker, and what it is told."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ascend_opcli.model import Case
from ascend_opcli.operators.signature import Signature

HOLDS, DIFFERS, NOT_CHECKED = "holds", "differs", "not checked"


@dataclass(frozen=True, slots=True)
class SelfTestCheck:
    """One question; ``case`` is a call of an elementwise operator on two float32 tensors, of any one-dimensional size.

    ``operators`` are those whose library is asked for.
    """

    name: str
    signature: Signature
    case: Case
    product: str
    operators: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Planted:
    """A case whose output is its input, copied on the stream ``short`` elements short, as if a kernel had done it."""

    signature: Signature
    case: Case
    product: str
    short: int


@dataclass(frozen=True, slots=True)
class Checked:
    """An answer: ``said`` is the key of the sentence, whose blanks ``values`` fill."""

    name: str
    state: str
    said: str
    values: Mapping[str, Any] = field(default_factory=dict)


class NotChecked(Exception):
    """Why a question could not be answered: the sentence and its blanks."""

    def __init__(self, said: str, **values: object) -> None:
        super().__init__(said)
        self.said, self.values = said, values
