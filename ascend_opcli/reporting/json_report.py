"""A run as JSON: one object a case and the run's facts, under a versioned schema (run.schema.json)."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import math
import os
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ascend_opcli.errors import SurroundingsError
from ascend_opcli.model import Argument, Attribute, OutputReport, Result, TensorSpec, Word
from ascend_opcli.reporting.summary import Summary

SCHEMA = "opcli.run/1"


def document(
    results: Sequence[Result], facts: Mapping[str, Any], seconds: float, *, complete: bool
) -> dict[str, Any]:
    """The whole report. ``complete`` is False for a run that was interrupted."""
    summary = Summary.of(results)
    return {
        "schema": SCHEMA,
        "run": {**facts, "seconds": round(seconds, 6), "complete": complete},
        "summary": {
            "cases": summary.total,
            **{word.value.lower(): summary.words[word] for word in Word},
            "weak": summary.weak,
            "seconds": dataclasses.asdict(summary.timings),
        },
        "results": [result_object(r) for r in results],
    }


def result_object(result: Result) -> dict[str, Any]:
    """One case."""
    case = result.case
    return {
        "id": case.id,
        "file": case.path,
        "name": case.name,
        "line": case.where.line,
        "operator": case.operator,
        "backend": result.backend,
        "product": result.product,
        "seed": case.seed,
        "tags": list(case.tags),
        "arguments": {name: _argument(a) for name, a in case.arguments.items()},
        "verdict": result.verdict.word.value,
        "reason": result.verdict.reason,
        "status": result.status,
        "phase": result.phase.value if result.phase is not None else None,
        "message": result.message,
        "log": list(result.log),
        "served_by": result.served_by,
        "outputs": [_output(o) for o in result.verdict.outputs],
        "notes": list(result.verdict.notes),
        "inputs_sha256": result.inputs_sha256,
        "repro": result.repro,
        "seconds": dataclasses.asdict(result.timings),
    }


def _argument(argument: Argument) -> Any:
    if isinstance(argument, TensorSpec):
        return {
            "dtype": argument.dtype,
            "shape": list(argument.shape),
            "layout": argument.layout,
            "strides": list(argument.strides),
            "offset": argument.offset,
            "storage_shape": list(argument.storage_shape),
            "format": argument.format,
        }
    if isinstance(argument, tuple):
        return [_argument(a) for a in argument]
    if isinstance(argument, Attribute):
        return {"value": _plain(argument.value), **({"dtype": argument.dtype} if argument.dtype else {})}
    return None


def _output(output: OutputReport) -> dict[str, Any]:
    plain: dict[str, Any] = _plain(dataclasses.asdict(output))
    return plain


def _plain(value: Any) -> Any:
    """JSON has no NaN, Inf or complex: those are written as words and as pairs."""
    if isinstance(value, Mapping):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(v) for v in value]
    if isinstance(value, complex):
        return [_plain(value.real), _plain(value.imag)]
    if isinstance(value, float) and not math.isfinite(value):
        return "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"
    return value


def write_text(target: str, chunks: Iterable[str]) -> None:
    """Write a report to a file, whole or not at all; ``-`` is stdout."""
    if target == "-":
        sys.stdout.writelines(chunks)
        return
    path = Path(target)
    try:
        handle, temporary = tempfile.mkstemp(dir=path.parent or Path(), prefix=f".{path.name}.")
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as stream:
                stream.writelines(chunks)
            os.chmod(temporary, 0o644)
            os.replace(temporary, path)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
            raise
    except OSError as error:
        raise SurroundingsError(f"cannot write {target}: {error.strerror}") from None


def dump(report: Mapping[str, Any]) -> Iterable[str]:
    """The report as text, in chunks."""
    yield from json.JSONEncoder(indent=1, ensure_ascii=False, allow_nan=False).iterencode(report)
    yield "\n"
