"""By what a run is judged, and what of it is shown."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ascend_opcli.cli.options.target import folder_of
from ascend_opcli.cli.options.words import Language
from ascend_opcli.errors import UsageError

if TYPE_CHECKING:
    from ascend_opcli.model import Case, StandardChoice


@dataclass(frozen=True)
class Judging:
    """By what the outputs are judged, and what counts as a failure."""

    standard: Annotated[
        str | None,
        typer.Option(
            "--standard",
            metavar="NAME[:K=V]|all",
            help="Judge by this standard: ulp:max=2; all: show beside the verdict how each would judge.",
        ),
    ] = None
    third_party: Annotated[
        Path | None,
        typer.Option(
            "--third-party",
            metavar="DIR",
            help="Third-party results for --standard dual: a folder of --save-outputs.",
        ),
    ] = None
    inputs_sha256: Annotated[
        str | None,
        typer.Option("--inputs-sha256", metavar="HEX", help="Refuse to run on other inputs than these."),
    ] = None
    strict: Annotated[bool, typer.Option("--strict", help="Count SKIP, WEAK and IN PART as failures.")] = (
        False
    )
    max_skips: Annotated[
        int | None,
        typer.Option("--max-skips", metavar="N", min=0, help="Fail where more cases than N are skipped."),
    ] = None

    def check(self) -> None:
        """Raises UsageError for what is no hash of inputs."""
        text = self.inputs_sha256
        if text is not None and not (len(text) == 64 and all(c in "0123456789abcdefABCDEF" for c in text)):
            raise UsageError(f"--inputs-sha256 takes the 64 hexadecimal digits of a repro line, not '{text}'")

    def third_party_of(
        self, override: StandardChoice | None, cases: Iterable[Case], *, every: bool
    ) -> str | None:
        """The folder of third-party results. Raises UsageError where there is none, or nothing asks for it."""
        if self.third_party is None:
            return None
        folder_of("--third-party", self.third_party)
        of_cases = (c for case in cases for c in (case.standard, *case.output_standards.values()))
        asked = [override] if override is not None else [c for c in of_cases if c is not None]
        if not every and all(choice.name != "dual" for choice in asked):
            raise UsageError(
                "--third-party is for the standard dual, which nothing here asks for: --standard dual"
            )
        return str(self.third_party)


@dataclass(frozen=True)
class Shown:
    """What the terminal shows, and in which language."""

    verbose: Annotated[bool, typer.Option("-v", "--verbose", help="Show every case, however many.")] = False
    lang: Annotated[Language, typer.Option("--lang", help="The language of --acceptance and --issue.")] = (
        Language.EN
    )
