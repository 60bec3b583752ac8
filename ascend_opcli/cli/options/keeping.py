"""What a run saves beside its reports."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ascend_opcli.cli.options.target import not_a_file
from ascend_opcli.errors import ExitCode

if TYPE_CHECKING:
    from ascend_opcli.execution.replay import Saver
    from ascend_opcli.execution.written import Keeper
    from ascend_opcli.model import StandardChoice


@dataclass(frozen=True)
class Keeping:
    """Folders for outputs and failures."""

    save_outputs: Annotated[
        Path | None,
        typer.Option("--save-outputs", metavar="DIR", help="Save every output, for --third-party elsewhere."),
    ] = None
    save_failures: Annotated[
        Path | None,
        typer.Option(
            "--save-failures",
            metavar="DIR",
            help="Save every failure: tensors, a case file that runs from them, a NumPy script.",
        ),
    ] = None
    save_limit: Annotated[
        int,
        typer.Option("--save-limit", metavar="MIB", min=1, help="Save no failure with larger tensors."),
    ] = 256

    def saver(self, standard: StandardChoice | None, options: tuple[str, ...]) -> Saver | None:
        """What saves failures. Raises UsageError where its folder is a file."""
        if self.save_failures is None:
            return None
        from ascend_opcli.execution.replay import MIB, Saver

        folder = not_a_file("--save-failures", self.save_failures)
        return Saver(folder, limit=self.save_limit * MIB, standard=standard, options=options)

    def keeper(self) -> Keeper | None:
        """What saves outputs. Raises UsageError where its folder is a file."""
        if self.save_outputs is None:
            return None
        from ascend_opcli.execution.written import Keeper

        return Keeper(not_a_file("--save-outputs", self.save_outputs))


def told(saver: Saver | None, keeper: Keeper | None) -> Iterator[ExitCode]:
    """Say on stderr what became of what was to be saved, and yield the exit codes of what could not be."""
    from ascend_opcli.reporting.wording import count_text

    if saver is not None:
        if saver.saved:
            print(f"{count_text(saver.saved, 'failure')} saved in {saver.folder}", file=sys.stderr)
        if saver.left_out:
            print(f"{count_text(saver.left_out, 'failure')} not saved: see the note of each", file=sys.stderr)
    if keeper is not None:
        print(f"outputs of {count_text(keeper.kept, 'case')} saved in {keeper.folder}", file=sys.stderr)
    for what, each in (("failures", saver), ("outputs", keeper)):
        if each is not None and each.broken is not None:
            print(f"opcli: cannot save {what}: {each.broken}", file=sys.stderr)
            yield ExitCode.SURROUNDINGS
