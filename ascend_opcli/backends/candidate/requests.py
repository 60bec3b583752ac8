"""What a candidate's process is asked, and what it answers beside outcomes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ascend_opcli.backends.candidate.probe import Way
from ascend_opcli.model import Case, Outcome, TensorSpec
from ascend_opcli.operators.signature import Signature


@dataclass(frozen=True, slots=True)
class Load:
    """Import the candidate."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """``served_by`` names the files; else one of: ``fault``, importing it failed; ``usage``, it is not what was
    named; ``unusable``, what it needs is not here."""

    served_by: str = ""
    fault: str = ""
    usage: str = ""
    unusable: str = ""


@dataclass(frozen=True, slots=True)
class RunRequest:
    """Run one case. ``limit`` bounds each file that is written, in bytes."""

    signature: Signature
    case: Case
    product: str
    limit: int


@dataclass(frozen=True, slots=True)
class Ran:
    """How it went. ``kept`` are the outputs in memory that an earlier call returned, into which nothing was written."""

    outcome: Outcome
    kept: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RunOther:
    """Run a case on other inputs. ``outputs`` are the specs of its outputs there, ``way`` is that of
    :func:`probe.other_inputs`."""

    signature: Signature
    case: Case
    product: str
    limit: int
    outputs: Mapping[str, TensorSpec | tuple[TensorSpec, ...] | None]
    way: Way


@dataclass(frozen=True, slots=True)
class Prepare:
    """Lay a case out for timing, on ``sets`` input sets."""

    signature: Signature
    case: Case
    product: str
    limit: int
    cold: bool
    sets: int


@dataclass(frozen=True, slots=True)
class Prepared:
    """A stage that is ready; seconds of the first call, calls a sample, input sets, bytes of a flush."""

    first: float
    launches: int
    sets: int
    flush: int
    served_by: str


@dataclass(frozen=True, slots=True)
class Draw:
    """Take a sample."""


@dataclass(frozen=True, slots=True)
class Sample:
    """Seconds a call."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Finish:
    """Release the stage; with ``read`` run the case's own inputs and answer with the outputs."""

    read: bool


@dataclass(frozen=True, slots=True)
class Finished:
    """The outcome on the case's own inputs, and what the last timed call gave on the input set ``index`` at the sample
    ``rounds``; None where that was not read."""

    outcome: Outcome
    timed: Outcome | None
    index: int
    rounds: int
