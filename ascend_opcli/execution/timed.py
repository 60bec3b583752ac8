"""What a target that can be timed gives: a case made ready, and its samples."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from ascend_opcli.execution.backend import Target
from ascend_opcli.model import Case, HostTimes, Outcome
from ascend_opcli.operators.operator import Operator


@dataclass(frozen=True, slots=True)
class How:
    """How a case is timed: with a cold cache, on how many input sets (0: as many as suit), reusing executors.

    ``sample`` is how many seconds a sample of a slow kernel may take; one launch is always made.
    """

    cold: bool = True
    sets: int = 0
    reuse: bool = True
    sample: float = 0.025


@dataclass(frozen=True, slots=True)
class StageFacts:
    """A stage that is ready."""

    host: HostTimes
    launches: int
    sets: int
    flush: int
    notes: tuple[str, ...] = ()
    served_by: str = ""


class NoTime(Exception):
    """A call that gave no time, as the outcome that says why."""

    def __init__(self, outcome: Outcome) -> None:
        super().__init__(outcome.error or outcome.message)
        self.outcome = outcome


class Stage(Protocol):
    """A case ready to be sampled."""

    about: StageFacts

    def draw(self) -> float:
        """Seconds a call. Raises NoTime."""

    def notes(self) -> list[str]:
        """What the samples drawn so far have shown."""

    def finish(self, *, read: bool) -> Outcome:
        """Release it; with ``read`` the outputs of a timed call."""


class TimedTarget(Target, Protocol):
    """What times cases."""

    @property
    def fingerprint(self) -> Mapping[str, str]:
        """What it says of itself."""

    def copy_rate(self) -> float:
        """Bytes a second of a plain copy, measured now."""

    def prepare(self, operator: Operator, case: Case, product: str, how: How) -> Stage:
        """A stage for a case. Raises NoTime where the call is not accepted or fails."""
