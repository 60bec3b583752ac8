"""What ``--candidate``, ``--outputs`` and what belongs to them ask for, in the words of the commands that take them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ascend_opcli.errors import UsageError

if TYPE_CHECKING:
    from ascend_opcli.backends.candidate.candidate import Options
    from ascend_opcli.model import Case, StandardChoice


class Tensors(str, Enum):
    """What a Python candidate is handed."""

    NUMPY = "numpy"
    TORCH = "torch"
    NPU = "npu"


class FileFormat(str, Enum):
    """How tensors are written for another program."""

    NPY = "npy"
    BIN = "bin"


CandidateOption = Annotated[
    str | None,
    typer.Option(
        "--candidate",
        metavar="WHAT",
        help="Judge this in the operator's place: file.py:function, or 'command {dir}'.",
    ),
]
TensorsOption = Annotated[
    Tensors | None,
    typer.Option("--tensors", help="What a Python candidate is handed (default numpy)."),
]
FormatOption = Annotated[
    FileFormat | None,
    typer.Option("--format", help="The files that a candidate command reads (default bin)."),
]


def candidate_options(
    text: str,
    *,
    tensors: Tensors | None,
    format: FileFormat | None,
    allow_code: bool,
    timeout: float,
    live: bool,
    memory_limit: int | None = None,
) -> Options:
    """The candidate that the command line names. Raises UsageError.

    Without a ``memory_limit`` half of what is free is one.
    """
    from ascend_opcli.backends.candidate.candidate import Options
    from ascend_opcli.backends.candidate.limits import MEMORY_LEAST
    from ascend_opcli.backends.candidate.source import parse
    from ascend_opcli.execution.memory import available_bytes

    try:
        source = parse(text)
    except ValueError as error:
        raise UsageError(f"--candidate: {error}") from None
    if source.is_command and tensors is not None:
        raise UsageError("--tensors is for a Python candidate; a command reads files: --format")
    if not source.is_command and format is not None:
        raise UsageError("--format is for a candidate command; a Python function is handed --tensors")
    if not source.is_command and not allow_code:
        raise UsageError(f"--candidate {text} runs code, which needs --allow-code")
    return Options(
        source,
        tensors.value if tensors is not None else "numpy",
        format.value if format is not None else "bin",
        timeout,
        live,
        max(memory_limit, MEMORY_LEAST) if memory_limit is not None else (available_bytes() or 0) // 2,
    )


@dataclass(frozen=True)
class Foreign:
    """What serves the calls beside the backends, and what a repro line says of it.

    ``saved`` says the same for a case that lies in another folder: with whole paths.
    """

    candidate: Options | None = None
    outputs: Path | None = None
    repro: tuple[str, ...] = ()
    saved: tuple[str, ...] = ()


def foreign(
    candidate: str | None,
    tensors: Tensors | None,
    format: FileFormat | None,
    outputs: Path | None,
    others: Mapping[str, bool],
    *,
    allow_code: bool,
    timeout: float,
    live: bool,
    memory_limit: int | None = None,
) -> Foreign:
    """What the command line asks for. ``others`` are the options that name another backend, by whether they are given.

    Raises UsageError where two things would serve the calls.
    """
    if candidate is None:
        for option, given in (("--tensors", tensors), ("--format", format)):
            if given is not None:
                raise UsageError(
                    f"{option} is for a candidate: --candidate file.py:function or 'command {{dir}}'"
                )
    elif outputs is not None:
        raise UsageError("--candidate and --outputs both take the operator's place; ask for one of them")
    if candidate is None and outputs is None:
        return Foreign()
    option = "--outputs" if candidate is None else "--candidate"
    for name, there in others.items():
        if there:
            raise UsageError(f"{option} takes the operator's place; it does not go with {name}")
    if candidate is None:
        _folder("--outputs", outputs)
        return Foreign(outputs=outputs, repro=("--outputs", str(outputs)))
    asked = candidate_options(
        candidate,
        tensors=tensors,
        format=format,
        allow_code=allow_code,
        timeout=timeout,
        live=live,
        memory_limit=memory_limit,
    )
    words = ["--tensors", tensors.value] if tensors is not None else []
    words += ["--format", format.value] if format is not None else []
    words += ["--allow-code"] if allow_code else []
    return Foreign(
        asked,
        repro=("--candidate", candidate, *words),
        saved=("--candidate", asked.source.anywhere(), *words),
    )


def third_party_folder(
    path: Path | None, override: StandardChoice | None, cases: Iterable[Case], *, all_standards: bool
) -> str | None:
    """The folder of third-party results. Raises UsageError where there is none, or no standard that asks for it."""
    if path is None:
        return None
    _folder("--third-party", path)
    asked = [override] if override is not None else []
    if override is None:
        asked = [
            c for case in cases for c in (case.standard, *case.output_standards.values()) if c is not None
        ]
    if not all_standards and all(choice.name != "dual" for choice in asked):
        raise UsageError(
            "--third-party is for the standard dual, which nothing here asks for: --standard dual"
        )
    return str(path)


def _folder(option: str, path: Path | None) -> None:
    if path is not None and not path.is_dir():
        raise UsageError(
            f"{option} {path}: {'this is no folder' if path.exists() else 'there is no such folder'}"
        )
