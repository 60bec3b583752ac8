"""A timing for machines and pages: Google Benchmark's JSON, CSV, Markdown."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ascend_opcli.benchmarking.measurement import Measurement, Statistics
from ascend_opcli.errors import visible
from ascend_opcli.reporting import bench_text
from ascend_opcli.reporting.bench_html import page
from ascend_opcli.reporting.escape import in_json, markdown
from ascend_opcli.reporting.wording import shape_text

US = 1e6


@dataclass(frozen=True, slots=True)
class FinishedBench:
    """A timing that has ended: ``facts`` of the run, ``summary`` in words, ``fingerprint`` of the environment."""

    measured: Sequence[Measurement]
    facts: Mapping[str, Any]
    fingerprint: Mapping[str, str]
    summary: Sequence[str]
    complete: bool = True


# --- JSON -------------------------------------------------------------------------------------------------------


def google(run: FinishedBench) -> Iterator[str]:
    """The schema of Google Benchmark (json_schema_version 1): one entry a case that has a time.

    Times are in microseconds; ``cpu_time`` is what the calling thread spends on a call. What Google Benchmark does
    not know stands in further numbers of the entry, as its user counters do, and under ``opcli`` with the cases
    that have no time: its readers take every entry of ``benchmarks`` for one.
    """
    document = {
        "context": {
            "date": run.facts.get("started", ""),
            "host_name": run.facts.get("host", ""),
            "executable": "opcli",
            "num_cpus": run.facts.get("cpus") or 0,
            "mhz_per_cpu": _mhz(run.fingerprint),
            "cpu_scaling_enabled": run.fingerprint.get("governor", "performance") != "performance",
            "caches": [],
            "load_avg": [],
            "library_version": f"opcli {run.facts.get('opcli', '')}",
            "library_build_type": "release",
            "json_schema_version": 1,
        },
        "benchmarks": [
            _entry(m, m.statistics, i) for i, m in enumerate(run.measured) if m.statistics is not None
        ],
        "opcli": {
            "facts": dict(run.facts),
            "fingerprint": dict(run.fingerprint),
            "complete": run.complete,
            "summary": list(run.summary),
            "cases": [_own(m) for m in run.measured],
        },
    }
    yield in_json(json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False)) + "\n"


def _mhz(fingerprint: Mapping[str, str]) -> int:
    text = fingerprint.get("cpu_clock", "")
    return int(text) // 1000 if text.isdigit() else 0


def _entry(m: Measurement, s: Statistics, index: int) -> dict[str, Any]:
    host = [t for t in (m.host.phase1, m.host.launch) if t is not None]
    made: dict[str, Any] = {
        "name": m.name,
        "family_index": index,
        "per_family_instance_index": 0,
        "run_name": m.name,
        "run_type": "iteration",
        "repetitions": 1,
        "repetition_index": 0,
        "threads": 1,
        "iterations": len(s.samples) * max(m.launches, 1),
        "real_time": s.median * US,
        "cpu_time": (sum(host) if host else s.median) * US,
        "time_unit": "us",
        "label": f"{m.dtype} {shape_text(m.shape)}"
        + (f" ({bench_text.HOST_LABEL})" if m.backend == "host" else "")
        + ("" if m.checked else f" ({bench_text.NOT_CHECKED})"),
        "p10": s.p10 * US,
        "p90": s.p90 * US,
        "min": s.least * US,
        "median_low": s.low * US,
        "median_high": s.high * US,
        "spread": s.spread,
    }
    if m.rate is not None:
        made["bytes_per_second"] = m.rate
    if m.elements and s.median > 0:
        made["items_per_second"] = m.elements / s.median
    if m.operation_rate is not None:
        made["operations_per_second"] = m.operation_rate
    if m.rate is not None and m.copy:
        made["copy_share"] = m.rate / m.copy
    if m.rate is not None and m.peak:
        made["peak_share"] = m.rate / m.peak
    times = {
        "first_call": m.host.first,
        "phase1": m.host.phase1,
        "launch": m.host.launch,
        "call": m.host.total,
    }
    made |= {name: value * US for name, value in times.items() if value is not None}
    if m.comparison is not None and m.comparison.ratio is not None:
        made["ratio"] = m.comparison.ratio
    return made


def _own(m: Measurement) -> dict[str, Any]:
    c = m.comparison
    return {
        "name": m.name,
        "operator": m.case.operator,
        "backend": m.backend,
        "verdict": m.word.value,
        "checked": m.checked and m.statistics is not None,
        "reason": m.reason,
        "notes": list(m.notes),
        "launches": m.launches,
        "sets": m.sets,
        "flush_bytes": m.flush,
        "bytes": m.bytes,
        "elements": m.elements,
        "operations": m.operations,
        "copy_bytes_per_second": m.copy,
        "samples_us": [t * US for t in m.statistics.samples] if m.statistics is not None else [],
        "stream_median_us": m.stream.median * US if m.stream is not None else None,
        "served_by": m.served_by,
        "inputs_sha256": m.inputs_sha256,
        "comparison": None
        if c is None
        else {
            "speed": c.speed.value,
            "against": c.against,
            "ratio": c.ratio,
            "low": c.low,
            "high": c.high,
            "reason": c.reason,
        },
    }


# --- CSV --------------------------------------------------------------------------------------------------------

COLUMNS = (
    *("name", "operator", "backend", "dtype", "shape", "verdict", "reason", "median_us", "low_us", "high_us"),
    *(
        "p10_us",
        "p90_us",
        "min_us",
        "spread",
        "samples",
        "launches",
        "sets",
        "flush_bytes",
        "bytes",
        "elements",
    ),
    *("operations", "gb_per_s", "copy_gb_per_s", "copy_share", "peak_share", "first_us", "phase1_us"),
    *("launch_us", "call_us", "stream_us", "speed", "ratio", "ratio_low", "ratio_high", "against"),
    *("comparison_reason", "served_by", "inputs_sha256", "gop_per_s", "checked"),
)


def table(run: FinishedBench) -> Iterator[str]:
    """One row a case, under columns that keep their names and order; an empty cell is what there is not."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for m in run.measured:
        writer.writerow([_cell(value) for value in _row(m)])
    yield text.getvalue()


def _row(m: Measurement) -> tuple[object, ...]:
    s, c, rate = m.statistics, m.comparison, m.rate
    statistics: tuple[object, ...] = (None,) * 8
    if s is not None:
        times = (s.median, s.low, s.high, s.p10, s.p90, s.least)
        statistics = (*(t * US for t in times), s.spread, len(s.samples))
    host = (m.host.first, m.host.phase1, m.host.launch, m.host.total)
    return (
        *(m.name, m.case.operator, m.backend, m.dtype, shape_text(m.shape), m.word.value, m.reason),
        *statistics,
        *(m.launches, m.sets, m.flush, m.bytes, m.elements, m.operations),
        rate / 1e9 if rate is not None else None,
        m.copy / 1e9 if m.copy is not None else None,
        rate / m.copy if rate is not None and m.copy else None,
        rate / m.peak if rate is not None and m.peak else None,
        *(t * US if t is not None else None for t in host),
        m.stream.median * US if m.stream is not None else None,
        *((c.speed.value, c.ratio, c.low, c.high, c.against, c.reason) if c is not None else (None,) * 6),
        *(m.served_by, m.inputs_sha256),
        m.operation_rate / 1e9 if m.operation_rate is not None else None,
        ("yes" if m.checked else "no") if m.statistics is not None else None,
    )


def _cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.9g}"
    text = visible(str(value))
    # A spreadsheet takes what begins so for a formula.
    return f"'{text}" if isinstance(value, str) and text[:1] in ("=", "+", "-", "@") else text


# --- Markdown ---------------------------------------------------------------------------------------------------


def summary(run: FinishedBench) -> Iterator[str]:
    """The table for a pull request or a CI page."""
    yield "## opcli bench\n\n"
    yield from (f"{markdown(line)}\n" for line in run.summary)
    if not run.complete:
        yield "\nThe run was interrupted.\n"
    rows = bench_text.used(bench_text.HEADINGS, bench_text.rows(run.measured, plain=False))
    if run.measured and rows[0]:
        yield "\n"
        for i, cells in enumerate(rows):
            yield "| " + " | ".join(markdown(c) or " " for c in cells) + " |\n"
            if i == 0:
                yield "|" + "---|" * len(cells) + "\n"
    said = [m for m in run.measured if m.reason]
    if said:
        yield "\n"
        yield from (f"* {m.word.value} {markdown(m.name)}: {markdown(m.reason)}\n" for m in said)
    if run.fingerprint:
        facts = ", ".join(f"{k} {v}" for k, v in run.fingerprint.items())
        yield f"\n{markdown(facts)}\n"


def html(run: FinishedBench) -> Iterable[str]:
    """One page with the plots."""
    return page(run.measured, run.summary, run.fingerprint)
