"""Baselines: the samples of a run in a file, and a run held against them."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ascend_opcli.benchmarking import timing
from ascend_opcli.benchmarking.fingerprint import Fingerprint, differences
from ascend_opcli.errors import UsageError
from ascend_opcli.model import Comparison, Measurement, Speed

SCHEMA = "opcli.bench/1"
MOST_BYTES = 256 << 20


@dataclass(frozen=True, slots=True)
class Saved:
    """One time of a baseline: seconds a call, the inputs' hash and the bytes a call moves."""

    samples: tuple[float, ...]
    inputs_sha256: str = ""
    bytes: int = 0


@dataclass(frozen=True, slots=True)
class Baseline:
    """A file's times by name, and the environment in which they were taken."""

    path: str
    fingerprint: Fingerprint
    saved: Mapping[str, Saved]

    def held_against(
        self, measured: Measurement, fingerprint: Fingerprint, tolerance: float
    ) -> Comparison | None:
        """How a measurement compares with what was saved under its name; None where it has no time."""
        if measured.statistics is None:
            return None
        old = self.saved.get(measured.name)
        if old is None:
            return Comparison(Speed.UNSURE, self.path, reason=f"{self.path} has no time of that name")
        other = differences(fingerprint, self.fingerprint)
        if old.inputs_sha256 and old.inputs_sha256 != measured.inputs_sha256:
            other.append("the inputs are not those of the baseline")
        if old.bytes != measured.bytes:
            other.append(f"{measured.bytes:,} bytes a call here, {old.bytes:,} in the baseline")
        made = timing.compare(
            measured.statistics.samples, old.samples, tolerance=tolerance, against=self.path
        )
        if other:
            return dataclasses.replace(made, speed=Speed.UNSURE, reason="; ".join(other))
        return made


def text(measurements: Sequence[Measurement], fingerprint: Fingerprint) -> Iterable[str]:
    """The baseline of a run: what has a time, an OK or an UNSURE one."""
    rows = [
        {
            "name": m.name,
            "inputs_sha256": m.inputs_sha256,
            "bytes": m.bytes,
            "samples": list(m.statistics.samples),
        }
        for m in measurements
        if m.statistics is not None
    ]
    document = {"schema": SCHEMA, "unit": "s", "fingerprint": dict(fingerprint), "rows": rows}
    yield json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def load(path: str) -> Baseline:
    """A baseline that ``--save`` has written. Raises UsageError where the file is missing or is something else."""
    file = Path(path)
    try:
        if file.stat().st_size > MOST_BYTES:
            raise UsageError(f"{path} is too large to be a baseline")
        raw: Any = json.loads(file.read_text("utf-8"))
    except OSError as error:
        raise UsageError(f"cannot read the baseline {path}: {error.strerror}") from None
    except (ValueError, RecursionError):
        raise UsageError(f"{path} is no baseline: not JSON") from None
    if not isinstance(raw, dict) or raw.get("schema") != SCHEMA:
        hint = (
            " (a report of --json holds no samples)" if isinstance(raw, dict) and "benchmarks" in raw else ""
        )
        raise UsageError(f"{path} is no baseline: write one with --save{hint}")
    try:
        saved = {str(row["name"]): _saved(row) for row in raw["rows"]}
        fingerprint = {str(k): str(v) for k, v in raw["fingerprint"].items()}
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise UsageError(f"{path} is a damaged baseline: {type(error).__name__}: {error}") from None
    return Baseline(path, fingerprint, saved)


def _saved(row: Any) -> Saved:
    samples = tuple(float(s) for s in row["samples"])
    if not samples or not all(0 <= s < float("inf") for s in samples):
        raise ValueError("samples must be times")
    return Saved(samples, str(row.get("inputs_sha256", "")), int(row.get("bytes", 0)))
