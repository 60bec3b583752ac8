"""What the parent asks of the worker when it times an operator, and what it is told."""

from __future__ import annotations

from dataclasses import dataclass

from ascend_opcli.model import Case, HostTimes
from ascend_opcli.operators.signature import Signature

# --- what the parent asks ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Prepare:
    """Lay out a case and warm it up. ``sets`` 0 leaves their number to the device's cache and the case's size.

    ``reuse`` asks for repeatable executors; where the operator does not allow them phase 1 is called before
    every launch, ahead of the first event. A sample of a slow kernel has as many launches as fit in ``sample``
    seconds, and one at the least.
    """

    signature: Signature
    case: Case
    product: str
    cold: bool = True
    sets: int = 0
    reuse: bool = True
    sample: float = 0.025


@dataclass(frozen=True, slots=True)
class Draw:
    """One sample of the stage that was prepared."""


@dataclass(frozen=True, slots=True)
class Finish:
    """Release the stage; ``read`` gives the outputs of a timed call back."""

    read: bool = True


@dataclass(frozen=True, slots=True)
class Copy:
    """Time a copy within the device."""


@dataclass(frozen=True, slots=True)
class About:
    """What the device says of itself."""


Request = Prepare | Draw | Finish | Copy | About


# --- what it is told --------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Prepared:
    """A stage that is ready: ``launches`` a sample over ``sets`` input sets, ``flush`` bytes before each."""

    host: HostTimes
    launches: int
    sets: int
    flush: int
    repeatable: bool
    served_by: str
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Sample:
    """Seconds a launch on the stream; ``host_bound`` where the host queued more slowly than the device worked."""

    seconds: float
    host_bound: bool = False


@dataclass(frozen=True, slots=True)
class CopyRate:
    """Bytes a second, read and written, of a copy of ``size`` bytes."""

    rate: float
    size: int
