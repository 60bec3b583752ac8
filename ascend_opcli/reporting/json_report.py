"""A run as JSON: one object a case and the run's facts, under a versioned schema (run.schema.json)."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ascend_opcli.execution.diff import RUN_SCHEMA
from ascend_opcli.model import Argument, Attribute, OutputReport, Result, TensorSpec, VerdictKind
from ascend_opcli.reporting.escape import in_json
from ascend_opcli.reporting.finished import FinishedRun
from ascend_opcli.reporting.summary import Summary

_OUTPUT = tuple(field.name for field in dataclasses.fields(OutputReport) if field.name != "pairs")


def render(run: FinishedRun) -> Iterable[str]:
    """The report as text: a line for each result, so that a large one is written fast and read by eye too."""
    head = document((), run.facts, run.seconds, complete=run.complete)
    del head["results"]
    yield "{\n"
    for key, value in {**head, "summary": summary_object(run.summary)}.items():
        yield f"{_encoded(key)}: {_encoded(value)},\n"
    yield '"results": ['
    for number, result in enumerate(run.results):
        yield f"{',' if number else ''}\n{_encoded(_result(result))}"
    yield "\n]\n}\n"


def _encoded(value: Any) -> str:
    """The same text as of ``plain(value)``, left to the encoder as far as it goes: most values hold no NaN or Inf."""
    try:
        return in_json(_ENCODER.encode(value))
    except ValueError:
        return in_json(_ENCODER.encode(plain(value)))


def document(
    results: Sequence[Result], facts: Mapping[str, Any], seconds: float, *, complete: bool
) -> dict[str, Any]:
    """The whole report. ``complete`` is False for a run that was interrupted or stopped early."""
    return {
        "schema": RUN_SCHEMA,
        "run": {**facts, "seconds": round(seconds, 6), "complete": complete},
        "summary": summary_object(Summary.of(results)),
        "results": [result_object(r) for r in results],
    }


def summary_object(summary: Summary) -> dict[str, Any]:
    """The counts."""
    return {
        "cases": summary.total,
        **{word.value.lower(): summary.words[word] for word in VerdictKind},
        "weak": summary.weak,
        "partial": summary.partial,
        "seconds": plain(summary.timings),
    }


def result_object(result: Result) -> dict[str, Any]:
    """One case."""
    made: dict[str, Any] = plain(_result(result))
    return made


def _result(result: Result) -> dict[str, Any]:
    """One case with its values as they are."""
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
        "tags": case.tags,
        "arguments": {name: _argument(a) for name, a in case.arguments.items()},
        "verdict": result.verdict.word.value,
        "reason": result.verdict.reason,
        "status": result.status,
        "phase": result.phase.value if result.phase is not None else None,
        "message": result.message,
        "log": result.log,
        "served_by": result.served_by,
        "outputs": [_output(o) for o in result.verdict.outputs],
        "notes": result.verdict.notes,
        "unjudged": result.verdict.unjudged,
        "inputs_sha256": result.inputs_sha256,
        "repro": result.repro,
        "seconds": result.timings,
    }


def _argument(argument: Argument) -> Any:
    if isinstance(argument, TensorSpec):
        return {
            "dtype": argument.dtype,
            "shape": argument.shape,
            "layout": argument.layout,
            "strides": argument.strides,
            "offset": argument.offset,
            "storage_shape": argument.storage_shape,
            "format": argument.format,
        }
    if isinstance(argument, tuple):
        return [_argument(a) for a in argument]
    if isinstance(argument, Attribute):
        return {"value": argument.value, **({"dtype": argument.dtype} if argument.dtype else {})}
    return None


def _output(output: OutputReport) -> dict[str, Any]:
    """One output; the pairs are a picture's, and would be most of the report."""
    return {name: getattr(output, name) for name in _OUTPUT}


_AS_IT_IS = frozenset({type(None), str, int, bool})


def plain(value: Any) -> Any:
    """JSON has no NaN, Inf or complex: those are written as words and as pairs."""
    # Most values are one of these, and a long run has a million of them.
    kind = type(value)
    if kind in _AS_IT_IS:
        return value
    if kind is float:
        return (
            value if math.isfinite(value) else "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"
        )
    if kind is tuple or kind is list:
        return [v if type(v) in _AS_IT_IS else plain(v) for v in value]
    fields = getattr(kind, "__dataclass_fields__", None)
    if fields is not None:
        return {name: plain(getattr(value, name)) for name in fields}
    if isinstance(value, Mapping):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    if isinstance(value, complex):
        return [plain(value.real), plain(value.imag)]
    return plain(float(value)) if isinstance(value, float) else value


def _members(value: Any) -> Any:
    """For the encoder, what it does not know."""
    fields = getattr(type(value), "__dataclass_fields__", None)
    return plain(value) if fields is None else {name: getattr(value, name) for name in fields}


# Nothing of ours contains itself: looking for that would take a tenth of the time.
_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False, check_circular=False, default=_members)


def dump(report: Mapping[str, Any]) -> Iterable[str]:
    """The report as text, in chunks."""
    yield from map(
        in_json, json.JSONEncoder(indent=1, ensure_ascii=False, allow_nan=False).iterencode(report)
    )
    yield "\n"
