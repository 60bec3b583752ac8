"""Baselines: the samples of a run in a file, and a run held against them."""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ascend_opcli.benchmarking import timing
from ascend_opcli.benchmarking.fingerprint import Fingerprint, differences
from ascend_opcli.benchmarking.measurement import Measurement, Speed, SpeedComparison, Timed
from ascend_opcli.errors import UsageError
from ascend_opcli.model import Argument, Attribute, Case, TensorSpec

SCHEMA = "opcli.bench/1"
MOST_BYTES = 64 << 20
MOST_SAMPLES = 10 * timing.MOST
MOST_TRAFFIC = 1 << 60
SHORTEST, LONGEST = 1e-12, 1e6
"""Seconds; what lies beyond is no time of a call."""


@dataclass(frozen=True, slots=True)
class Saved:
    """One time of a baseline: seconds a call, the inputs' hash, the bytes a call moves, and the call in words."""

    samples: tuple[float, ...]
    inputs_sha256: str = ""
    bytes: int = 0
    call: Mapping[str, str] = dataclasses.field(default_factory=dict)
    checked: bool = True


@dataclass(frozen=True, slots=True)
class Baseline:
    """A file's times by name, and the environment in which they were taken."""

    path: str
    fingerprint: Fingerprint
    saved: Mapping[str, Saved]

    def held_against(
        self,
        measured: Measurement,
        fingerprint: Fingerprint,
        tolerance: float,
        precision: float | None = None,
    ) -> SpeedComparison | None:
        """How a measurement compares with what was saved under its name; None where it has no time."""
        if measured.statistics is None:
            return None
        old = self.saved.get(measured.name)
        if old is None:
            return SpeedComparison(Speed.UNSURE, self.path, reason=f"{self.path} has no time of that name")
        other = differences(fingerprint, self.fingerprint)
        here = described(measured.case)
        if not old.inputs_sha256 or not old.call:
            other.append("the baseline does not say of which call and inputs its time is")
        elif old.inputs_sha256 != measured.inputs_sha256:
            other.append("the inputs are not those of the baseline")
        if old.call:
            other += [
                f"{name} {here.get(name, 'absent')} here, {old.call.get(name, 'absent')} in the baseline"
                for name in dict.fromkeys((*here, *old.call))
                if here.get(name) != old.call.get(name)
            ]
        if old.bytes != measured.bytes:
            other.append(f"{measured.bytes:,} bytes a call here, {old.bytes:,} in the baseline")
        made = timing.compare(
            measured.statistics.samples,
            old.samples,
            tolerance=tolerance,
            against=self.path,
            precision=precision,
        )
        if other:
            return dataclasses.replace(made, speed=Speed.UNSURE, reason="; ".join(other))
        return made


def described(case: Case) -> dict[str, str]:
    """What of a call changes its time beside the data: operator, attributes, and how each tensor lies."""
    made = {"operator": case.operator}
    made |= {name: _argument(argument) for name, argument in case.arguments.items()}
    if case.deterministic is not None:
        made["deterministic"] = str(case.deterministic)
    return made


def _argument(argument: Argument) -> str:
    if argument is None:
        return "null"
    if isinstance(argument, Attribute):
        return f"{argument.value}{f' ({argument.dtype})' if argument.dtype else ''}"
    if isinstance(argument, TensorSpec):
        shape, strides = ("x".join(map(str, dims)) or "scalar" for dims in (argument.shape, argument.strides))
        return f"{argument.dtype} {shape} strides {strides} offset {argument.offset} {argument.format}"
    return ", ".join(map(_argument, argument)) or "no tensors"


def text(measurements: Sequence[Measurement], fingerprint: Fingerprint) -> Iterable[str]:
    """The baseline of a run: what has a time, an OK or an UNSURE one."""
    rows = [
        {
            "name": m.name,
            "inputs_sha256": m.inputs_sha256,
            "bytes": m.bytes,
            "call": described(m.case),
            "checked": m.checked,
            "samples": list(m.statistics.samples),
        }
        for m in measurements
        if m.statistics is not None
    ]
    document = {"schema": SCHEMA, "unit": "s", "fingerprint": dict(fingerprint), "rows": rows}
    yield json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


# --- reading ----------------------------------------------------------------------------------------------------


class _Damaged(ValueError):
    """What is wrong with a file, in words."""


def load(path: str) -> Baseline:
    """A baseline that ``--save`` has written. Raises UsageError where the file is missing or is something else."""
    file = Path(path)
    try:
        if file.stat().st_size > MOST_BYTES:
            raise UsageError(f"{path} is too large to be a baseline")
        raw: Any = json.loads(file.read_text("utf-8"), parse_constant=_constant)
    except OSError as error:
        raise UsageError(f"cannot read the baseline {path}: {error.strerror}") from None
    except _Damaged as error:
        raise UsageError(f"{path} is a damaged baseline: {error}") from None
    except (ValueError, RecursionError):
        raise UsageError(f"{path} is no baseline: not JSON") from None
    if not isinstance(raw, dict) or raw.get("schema") != SCHEMA:
        hint = " (this is a report of --json)" if isinstance(raw, dict) and "benchmarks" in raw else ""
        raise UsageError(f"{path} is no baseline: write one with --save{hint}")
    try:
        return Baseline(path, _texts(raw.get("fingerprint"), "fingerprint"), _rows(raw.get("rows")))
    except _Damaged as error:
        raise UsageError(f"{path} is a damaged baseline: {error}") from None


def _constant(word: str) -> float:
    raise _Damaged(f"{word} is no number of JSON")


def _rows(raw: Any) -> dict[str, Saved]:
    if not isinstance(raw, list):
        raise _Damaged("rows is not a list")
    found: dict[str, Saved] = {}
    for number, row in enumerate(raw, 1):
        if not isinstance(row, dict) or not isinstance(row.get("name"), str):
            raise _Damaged(f"row {number} has no name")
        name = row["name"]
        if name in found:
            raise _Damaged(f"two rows are called '{name[:200]}'")
        try:
            found[name] = _saved(row)
        except _Damaged as error:
            raise _Damaged(f"'{name[:200]}': {error}") from None
    return found


def _saved(row: Mapping[str, Any]) -> Saved:
    moved, inputs = row.get("bytes", 0), row.get("inputs_sha256", "")
    if isinstance(moved, bool) or not isinstance(moved, int) or not 0 <= moved <= MOST_TRAFFIC:
        raise _Damaged("bytes is not a count")
    if not isinstance(inputs, str):
        raise _Damaged("inputs_sha256 is not text")
    checked = row.get("checked", False)
    if not isinstance(checked, bool):
        raise _Damaged("checked is neither true nor false")
    return Saved(_samples(row.get("samples")), inputs, moved, _texts(row.get("call", {}), "call"), checked)


def _samples(raw: Any) -> tuple[float, ...]:
    if not isinstance(raw, list) or not raw:
        raise _Damaged("samples is not a list of times")
    if len(raw) > MOST_SAMPLES:
        raise _Damaged(f"{len(raw):,} samples; --save writes {timing.MOST:,} at most")
    for sample in raw:
        if isinstance(sample, bool) or not isinstance(sample, (int, float)):
            raise _Damaged("a sample is not a number")
        if sample != 0 and not SHORTEST <= sample <= LONGEST:
            raise _Damaged(f"a sample lies outside {SHORTEST:g} to {LONGEST:g} seconds")
    return tuple(float(sample) for sample in raw)


def _texts(raw: Any, name: str) -> dict[str, str]:
    if not isinstance(raw, dict) or not all(isinstance(value, str) for value in raw.values()):
        raise _Damaged(f"{name} is not a table of texts")
    return dict(raw)


def not_saved(measured: Sequence[Measurement], save: str, baseline: str | None, *, interrupted: bool) -> str:
    """Why the times are not saved, empty where they are: a good baseline is not lost to a bad run."""
    if interrupted:
        return f"{save} is not written: the run was interrupted"
    if not any(m.statistics is not None for m in measured):
        return f"{save} is not written: nothing was timed"
    if save == "-" or not Path(save).is_file():
        return ""
    failed = sum(m.word in (Timed.FAIL, Timed.ERROR) for m in measured)
    if failed:
        return f"{save} is not replaced: {failed} of {len(measured)} cases failed and have no time"
    slower = any(m.comparison is not None and m.comparison.speed is Speed.SLOWER for m in measured)
    if slower and baseline is not None and os.path.realpath(baseline) == os.path.realpath(save):
        return f"{save} is not replaced: it is the baseline, and this run is slower"
    return ""
