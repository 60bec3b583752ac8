"""Which cases of the files are meant."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from ascend_opcli.model import Case


@dataclass(frozen=True)
class Selection:
    """``-k`` and ``--tag``."""

    keyword: Annotated[
        str | None, typer.Option("-k", metavar="EXPR", help="Only cases whose id or tags match.")
    ] = None
    tags: Annotated[list[str] | None, typer.Option("--tag", help="Only cases with this tag.")] = None

    def __bool__(self) -> bool:
        """Whether anything is selected by name."""
        return bool(self.keyword or self.tags)

    def tests(self) -> list[Callable[[Case], bool]]:
        """What a case must pass. Raises UsageError for an expression that does not parse."""
        from ascend_opcli.execution.select import matcher, with_tags

        return [with_tags(self.tags or ()), *([matcher(self.keyword)] if self.keyword else [])]
