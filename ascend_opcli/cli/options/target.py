"""What serves the calls: the host, a device, or a candidate in the operator's place."""

from __future__ import annotations

import math
import signal
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ascend_opcli.cli.options.words import Backend, FileFormat, Tensors, Via
from ascend_opcli.errors import UsageError

if TYPE_CHECKING:
    from ascend_opcli.backends.candidate.candidate import CandidateOptions

DEFAULT_TIMEOUT = 60.0


@dataclass(frozen=True)
class Serving:
    """A candidate or a folder of outputs that stands in the operator's place, and what a repro line says of it.

    ``saved`` says the same for a case that lies in another folder: with whole paths.
    """

    candidate: CandidateOptions | None = None
    outputs: Path | None = None
    repro: tuple[str, ...] = ()
    saved: tuple[str, ...] = ()


@dataclass(frozen=True)
class TargetOptions:
    """The backend, and the candidate that takes its place."""

    backend: Annotated[Backend, typer.Option("--backend", help="What executes the calls.")] = Backend.AUTO
    device: Annotated[int, typer.Option("--device", metavar="N", help="The device's number.")] = 0
    opp: Annotated[
        Path | None, typer.Option("--opp", metavar="DIR", help="An operator package whose symbols go first.")
    ] = None
    timeout: Annotated[
        float | None,
        typer.Option(
            "--timeout",
            metavar="SECONDS",
            min=0.001,
            help="How long a case, or a step of its timing, may take on a device; 60 where it is not given.",
        ),
    ] = None
    live: Annotated[bool, typer.Option("-s", help="Show what kernels print as the run goes on.")] = False
    candidate: Annotated[
        str | None,
        typer.Option(
            "--candidate",
            metavar="WHAT",
            help="Judge this in the operator's place: file.py:function, or 'command {dir}'.",
        ),
    ] = None
    tensors: Annotated[
        Tensors | None, typer.Option("--tensors", help="What a Python candidate is handed (default numpy).")
    ] = None
    format: Annotated[
        FileFormat | None,
        typer.Option("--format", help="The files that a candidate command reads (default bin)."),
    ] = None
    allow_code: Annotated[
        bool,
        typer.Option(
            "--allow-code", help="Let cases run a reference that is code: file.py:function, golden.py."
        ),
    ] = False

    @property
    def patience(self) -> float:
        """Seconds that a case or a step may take. Raises UsageError for what is no number of them."""
        if self.timeout is not None and not math.isfinite(self.timeout):
            raise UsageError(f"--timeout takes a number of seconds, not {self.timeout:g}")
        return DEFAULT_TIMEOUT if self.timeout is None else self.timeout

    def others(self, **more: bool) -> dict[str, bool]:
        """The options that name another backend, by whether they are given; ``more`` by the names of parameters."""
        given = {"--backend": self.backend is not Backend.AUTO, "--opp": self.opp is not None}
        return given | {f"--{name.replace('_', '-')}": there for name, there in more.items()}

    def serving(
        self, others: dict[str, bool], *, outputs: Path | None = None, memory_limit: int | None = None
    ) -> Serving:
        """What serves the calls beside the backends. Raises UsageError where two things would."""
        if self.candidate is None:
            for option, given in (("--tensors", self.tensors), ("--format", self.format)):
                if given is not None:
                    raise UsageError(
                        f"{option} is for a candidate: --candidate file.py:function or 'command {{dir}}'"
                    )
            if outputs is None:
                return Serving()
        elif outputs is not None:
            raise UsageError("--candidate and --outputs both take the operator's place; ask for one of them")
        option = "--outputs" if self.candidate is None else "--candidate"
        for name, there in others.items():
            if there:
                raise UsageError(f"{option} takes the operator's place; it does not go with {name}")
        if self.candidate is None:
            folder_of("--outputs", outputs)
            return Serving(outputs=outputs, repro=("--outputs", str(outputs)))
        asked = self._candidate(self.candidate, memory_limit)
        words = ["--tensors", self.tensors.value] if self.tensors is not None else []
        words += ["--format", self.format.value] if self.format is not None else []
        words += ["--allow-code"] if self.allow_code else []
        return Serving(
            asked,
            repro=("--candidate", self.candidate, *words),
            saved=("--candidate", asked.source.anywhere(), *words),
        )

    def _candidate(self, text: str, memory_limit: int | None) -> CandidateOptions:
        from ascend_opcli.backends.candidate.candidate import CandidateOptions
        from ascend_opcli.backends.candidate.limits import MEMORY_LEAST
        from ascend_opcli.backends.candidate.source import parse
        from ascend_opcli.execution.memory import available_bytes

        try:
            source = parse(text)
        except ValueError as error:
            raise UsageError(f"--candidate: {error}") from None
        if source.is_command and self.tensors is not None:
            raise UsageError("--tensors is for a Python candidate; a command reads files: --format")
        if not source.is_command and self.format is not None:
            raise UsageError("--format is for a candidate command; a Python function is handed --tensors")
        if not source.is_command and not self.allow_code:
            raise UsageError(f"--candidate {text} runs code, which needs --allow-code")
        return CandidateOptions(
            source,
            self.tensors.value if self.tensors is not None else "numpy",
            self.format.value if self.format is not None else "bin",
            self.patience,
            self.live,
            max(memory_limit, MEMORY_LEAST) if memory_limit is not None else (available_bytes() or 0) // 2,
        )


@dataclass(frozen=True)
class DeviceWay:
    """How a device is driven, and what is judged instead of a run."""

    via: Annotated[
        Via | None,
        typer.Option("--via", help="Through the aclnn function, or the kernel by its type (ir)."),
    ] = None
    models: Annotated[
        Path | None,
        typer.Option(
            "--models", metavar="DIR", help="Single-operator models for --via ir; else it compiles."
        ),
    ] = None
    in_process: Annotated[
        bool,
        typer.Option(
            "--in-process", help="Drive the device without a child process, for tools that wrap it."
        ),
    ] = False
    written: Annotated[
        Path | None,
        typer.Option("--outputs", metavar="DIR", help="Judge what a program wrote there: opcli cases data."),
    ] = None
    memory_limit: Annotated[
        str | None,
        typer.Option(
            "--memory-limit",
            metavar="SIZE",
            help="Run larger cases in blocks where their operator is elementwise, skip them elsewhere: 2GiB "
            "(default half of what is free). A candidate may take no more either.",
        ),
    ] = None

    def prepare(self, timeout: float | None) -> None:
        """Let SIGTERM end a process in which a kernel may hang. Raises UsageError for a timeout: it needs a child."""
        if not self.in_process:
            return
        if timeout is not None:
            raise UsageError("--timeout needs the child process that --in-process leaves out")
        # A handler in Python does not run while a kernel hangs: SIGTERM must end the process by itself.
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


def folder_of(option: str, path: Path | None) -> None:
    """Raises UsageError where a path that is given is no folder."""
    if path is not None and not path.is_dir():
        raise UsageError(
            f"{option} {path}: {'this is no folder' if path.exists() else 'there is no such folder'}"
        )


def not_a_file(option: str, path: Path) -> Path:
    """A folder that may yet be made. Raises UsageError where something else lies there."""
    if path.exists() and not path.is_dir():
        raise UsageError(f"{option} {path}: this is no folder")
    return path
