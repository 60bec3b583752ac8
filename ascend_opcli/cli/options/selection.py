"""Which cases of the files are meant."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from ascend_opcli.errors import UsageError

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


@dataclass(frozen=True)
class Picked:
    """Which of the named cases are run, and what is done with them."""

    seed: Annotated[int | None, typer.Option("--seed", help="Seed of cases that name none (default 0).")] = (
        None
    )
    product: Annotated[
        str | None, typer.Option("--product", help="Whose contract the host applies (default atlas_a2).")
    ] = None
    negatives: Annotated[
        bool,
        typer.Option(
            "--negatives", help="Add the refusals and odd accepted calls of each operator's contract."
        ),
    ] = False
    listing: Annotated[
        bool, typer.Option("--list", help="Run nothing: print PATH::CASE of every case that would run.")
    ] = False
    last_failed: Annotated[
        bool,
        typer.Option(
            "--last-failed", help="Only cases that failed when they were last run; all if none did."
        ),
    ] = False
    changed: Annotated[
        str | None,
        typer.Option(
            "--changed",
            metavar="LIST",
            help="Only cases of operators that the paths in this file touch; - reads them from stdin.",
        ),
    ] = None
    exit_first: Annotated[bool, typer.Option("-x", "--exitfirst", help="Stop after the first failure.")] = (
        False
    )

    def touched(self, paths: Sequence[str]) -> Callable[[Case], bool] | None:
        """The test of ``--changed``. Raises UsageError."""
        from ascend_opcli.execution.changed import read_list, touched

        if self.changed == "-" and any(path.partition("::")[0] == "-" for path in paths):
            raise UsageError("--changed and the cases cannot both come from stdin")
        return touched(read_list(self.changed)) if self.changed is not None else None
