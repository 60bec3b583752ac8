"""A run as JSON: one object a case and the run's facts, under a versioned schema (run.schema.json)."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ascend_opcli.model import Argument, Attribute, OutputReport, Result, TensorSpec, Word
from ascend_opcli.reporting.finished import FinishedRun
from ascend_opcli.reporting.summary import Summary

SCHEMA = "opcli.run/1"


def render(run: FinishedRun) -> Iterable[str]:
    """The report as text: a line for each result, so that a large one is written fast and read by eye too."""
    head = document((), run.facts, run.seconds, complete=run.complete)
    del head["results"]
    encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode
    yield "{\n"
    for key, value in {**head, "summary": summary_object(run.summary)}.items():
        yield f"{encode(key)}: {encode(value)},\n"
    yield '"results": ['
    for number, result in enumerate(run.results):
        yield f"{',' if number else ''}\n{encode(result_object(result))}"
    yield "\n]\n}\n"


def document(
    results: Sequence[Result], facts: Mapping[str, Any], seconds: float, *, complete: bool
) -> dict[str, Any]:
    """The whole report. ``complete`` is False for a run that was interrupted or stopped early."""
    return {
        "schema": SCHEMA,
        "run": {**facts, "seconds": round(seconds, 6), "complete": complete},
        "summary": summary_object(Summary.of(results)),
        "results": [result_object(r) for r in results],
    }


def summary_object(summary: Summary) -> dict[str, Any]:
    """The counts."""
    return {
        "cases": summary.total,
        **{word.value.lower(): summary.words[word] for word in Word},
        "weak": summary.weak,
        "seconds": plain(summary.timings),
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
        "voice": result.voice,
        "served_by": result.served_by,
        "outputs": [_output(o) for o in result.verdict.outputs],
        "notes": list(result.verdict.notes),
        "inputs_sha256": result.inputs_sha256,
        "repro": result.repro,
        "seconds": plain(result.timings),
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
        return {"value": plain(argument.value), **({"dtype": argument.dtype} if argument.dtype else {})}
    return None


def _output(output: OutputReport) -> dict[str, Any]:
    """One output; the pairs are a picture's, and would be most of the report."""
    skip = {"pairs"}
    return {n: plain(getattr(output, n)) for n in output.__dataclass_fields__ if n not in skip}


def plain(value: Any) -> Any:
    """JSON has no NaN, Inf or complex: those are written as words and as pairs."""
    # Most values are one of these, and a long run has a million of them.
    if value is None or type(value) in (str, int, bool):
        return value
    if type(value) is float:
        return (
            value if math.isfinite(value) else "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"
        )
    if dataclasses.is_dataclass(value):
        return {name: plain(getattr(value, name)) for name in value.__dataclass_fields__}
    if isinstance(value, Mapping):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    if isinstance(value, complex):
        return [plain(value.real), plain(value.imag)]
    return plain(float(value)) if isinstance(value, float) else value


def dump(report: Mapping[str, Any]) -> Iterable[str]:
    """The report as text, in chunks."""
    yield from json.JSONEncoder(indent=1, ensure_ascii=False, allow_nan=False).iterencode(report)
    yield "\n"
