"""What a timing has found of a case."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from ascend_opcli.model import Case, HostTimes, Shape


@dataclass(frozen=True, slots=True)
class Statistics:
    """Samples of the time of one call, in seconds, in the order in which they were taken.

    ``low`` and ``high`` bound the median with 95 % confidence, although sampling stops when they are near each other.
    """

    samples: tuple[float, ...]
    median: float
    p10: float
    p90: float
    least: float
    low: float
    high: float

    @property
    def uncertainty(self) -> float:
        """Half the width of the median's interval, as a share of the median."""
        return (self.high - self.low) / 2 / self.median if self.median > 0 else 0.0

    @property
    def spread(self) -> float:
        """The distance from the 10th to the 90th percentile, as a share of the median."""
        return (self.p90 - self.p10) / self.median if self.median > 0 else 0.0


class Speed(str, Enum):
    """A time against a baseline."""

    FASTER = "FASTER"
    SAME = "SAME"
    SLOWER = "SLOWER"
    UNSURE = "UNSURE"


@dataclass(frozen=True, slots=True)
class SpeedComparison:
    """``ratio`` is our time over the other's, ``low`` and ``high`` bound it with 99 % confidence.

    All three are None where nothing could be compared; ``reason`` says why the word is UNSURE.
    """

    speed: Speed
    against: str
    ratio: float | None = None
    low: float | None = None
    high: float | None = None
    reason: str = ""


class Timed(str, Enum):
    """What became of a timing. OK and UNSURE carry a time; UNSURE means noisier than was asked for."""

    OK = "OK"
    UNSURE = "UNSURE"
    FAIL = "FAIL"
    SKIP = "SKIP"
    ERROR = "ERROR"


@dataclass(frozen=True, slots=True)
class Measurement:
    """One case timed. ``bytes`` are read and written by a call, ``copy`` and ``peak`` are bytes a second.

    ``statistics`` is None where there is no time to report: the result was wrong, or nothing was run.
    ``stream`` keeps the time between events where ``statistics`` hold kernel times of a profiler. ``operations``
    is None where nobody knows how many a call does. ``checked`` is False where the result was not judged.
    """

    name: str
    case: Case
    backend: str
    word: Timed
    reason: str = ""
    dtype: str = ""
    shape: Shape = ()
    statistics: Statistics | None = None
    stream: Statistics | None = None
    host: HostTimes = field(default_factory=HostTimes)
    launches: int = 0
    sets: int = 0
    flush: int = 0
    bytes: int = 0
    elements: int = 0
    operations: int | None = None
    copy: float | None = None
    peak: float | None = None
    comparison: SpeedComparison | None = None
    notes: tuple[str, ...] = ()
    served_by: str = ""
    inputs_sha256: str = ""
    checked: bool = True

    @property
    def rate(self) -> float | None:
        """Bytes a second at the median time."""
        if self.statistics is None or not self.statistics.median > 0:
            return None
        return self.bytes / self.statistics.median

    @property
    def operation_rate(self) -> float | None:
        """Operations a second at the median time, None where their number is not known."""
        if self.statistics is None or not self.statistics.median > 0 or self.operations is None:
            return None
        return self.operations / self.statistics.median
