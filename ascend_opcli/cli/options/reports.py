"""The reports that a command writes: an option for every row of a table of formats."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Sequence
from typing import Annotated, Any

import typer

from ascend_opcli.errors import SurroundingsError, UsageError
from ascend_opcli.reporting.formats import OF_BENCH, OF_RUN, ReportFormat


@dataclasses.dataclass(frozen=True)
class Reports:
    """Files by the name of their format."""

    def targets(self, **more: str | None) -> dict[str, str]:
        """What is asked for, and ``more`` files by option. Raises UsageError where two would go to one place."""
        asked = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)} | more
        targets = {name: target for name, target in asked.items() if target is not None}
        by_place: dict[str, str] = {}
        for name, target in targets.items():
            other = by_place.setdefault(target if target == "-" else os.path.realpath(target), name)
            if other != name:
                raise UsageError(
                    f"--{other} and --{name} both write to {'stdout' if target == '-' else target}"
                )
        return targets


def _group(name: str, formats: Sequence[ReportFormat]) -> Any:
    fields: list[Any] = [
        (f.name, Annotated[str | None, typer.Option(f"--{f.name}", metavar="FILE", help=f.help)], None)
        for f in formats
    ]
    return dataclasses.make_dataclass(name, fields, bases=(Reports,), frozen=True)


RUN = _group("RunReports", OF_RUN)
BENCH = _group("BenchReports", OF_BENCH)


def write(formats: Sequence[ReportFormat], run: object, targets: dict[str, str]) -> list[str]:
    """Write every report that is asked for; the sentences on those that could not be written."""
    from ascend_opcli.reporting.files import write_text

    failures: list[str] = []
    for each in formats:
        if each.name in targets:
            try:
                write_text(targets[each.name], each.render(run))
            except SurroundingsError as error:
                failures.append(str(error))
    return failures
