"""Two runs side by side, for a person and as JSON."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from ascend_opcli.errors import one_line
from ascend_opcli.execution.diff import Diff, Drift, Ran, SavedRun
from ascend_opcli.reporting.wording import count_text, error_text, share_text

SCHEMA = "opcli.diff/1"

SHOWN = 50
"""Lines of a section, unless all are asked for."""


def lines(diff: Diff, *, everything: bool = False) -> Iterator[str]:
    """The difference for a person: a section each, nothing for what is as before, and one line of counts."""
    sections: list[tuple[str, list[str]]] = [
        ("new failures", [_failure(a, b) for a, b in diff.failures]),
        ("fixed", [f"{_name(b)}: was {a.verdict.value}" for a, b in diff.fixed]),
        ("other verdict", [_verdict(a, b) for a, b in diff.verdicts]),
        ("other status", [f"{_name(b)}: {_status(a)}, now {_status(b)}" for a, b in diff.statuses]),
        ("error grew", [_drift(d) for d in diff.drifts if d.factor > 1]),
        ("error fell", [_drift(d) for d in reversed(diff.drifts) if d.factor < 1]),
        ("slower", [_slower(a, b) for a, b in diff.slower]),
        ("appeared", [f"{_name(c)}: {c.verdict.value}" for c in diff.appeared]),
        ("vanished", [f"{_name(c)}: was {c.verdict.value}" for c in diff.vanished]),
    ]
    for title, rows in sections:
        if not rows:
            continue
        yield f"{title} ({len(rows):,})"
        # A new failure is the answer to the question: none is left out.
        shown = rows if everything or title == "new failures" else rows[:SHOWN]
        yield from (f"  {row}" for row in shown)
        if len(shown) < len(rows):
            yield f"  ... and {len(rows) - len(shown):,} more (-v shows all)"
        yield ""
    for remark in diff.remarks:
        yield f"note: {remark}"
    if diff.other_inputs:
        yield f"note: {count_text(diff.other_inputs, 'case')} had other inputs in the two runs"
    counts = ", ".join(f"{len(rows):,} {title}" for title, rows in sections if rows)
    yield f"{count_text(diff.compared, 'case')} compared: {counts or 'nothing changed'}"


def _name(case: Ran) -> str:
    return one_line(case.id)


def _failure(a: Ran | None, b: Ran) -> str:
    was = f"was {a.verdict.value}" if a is not None else "was not there"
    return f"{_name(b)}: {was}: {one_line(b.reason)}"


def _verdict(a: Ran, b: Ran) -> str:
    reason = f": {one_line(b.reason)}" if b.reason else ""
    return f"{_name(b)}: {a.verdict.value}, now {b.verdict.value}{reason}"


def _status(case: Ran) -> str:
    if case.status is None:
        return "no status"
    return (
        f"{case.status} in phase {one_line(case.phase, 20)}" if case.phase is not None else str(case.status)
    )


def _drift(drift: Drift) -> str:
    text = share_text if drift.measure == "used" else error_text
    what = "of the tolerance" if drift.measure == "used" else "ulp"
    other = " (other inputs)" if drift.other_inputs else ""
    before, after = text(drift.before), text(drift.after)
    return f"{_name(drift.case)} {one_line(drift.output)}: {before}, now {after} {what}{other}"


def _slower(a: Ran, b: Ran) -> str:
    return f"{_name(b)}: {a.seconds:.3g} s, now {b.seconds:.3g} s ({b.seconds / a.seconds:.2g}x)"


def document(diff: Diff) -> dict[str, Any]:
    """The difference as JSON, ``opcli.diff/1``. A case is its id, file and name; numbers as in a run's report."""
    return {
        "schema": SCHEMA,
        "before": _run_object(diff.before),
        "after": _run_object(diff.after),
        "compared": diff.compared,
        "other_inputs": diff.other_inputs,
        "new_failures": [
            {**_case(b), "before": a.verdict.value if a is not None else None, "reason": b.reason}
            for a, b in diff.failures
        ],
        "fixed": [{**_case(b), "before": a.verdict.value} for a, b in diff.fixed],
        "verdicts": [
            {**_case(b), "before": a.verdict.value, "after": b.verdict.value, "reason": b.reason}
            for a, b in diff.verdicts
        ],
        "statuses": [
            {**_case(b), "before": [a.status, a.phase], "after": [b.status, b.phase]}
            for a, b in diff.statuses
        ],
        "drifts": [
            {
                **_case(d.case),
                "output": d.output,
                "measure": d.measure,
                "before": _plain(d.before),
                "after": _plain(d.after),
                "factor": d.factor,
                "other_inputs": d.other_inputs,
            }
            for d in diff.drifts
        ],
        "slower": [
            {**_case(b), "before": _plain(a.seconds), "after": _plain(b.seconds)} for a, b in diff.slower
        ],
        "appeared": [{**_case(c), "verdict": c.verdict.value} for c in diff.appeared],
        "vanished": [{**_case(c), "verdict": c.verdict.value} for c in diff.vanished],
        "remarks": list(diff.remarks),
    }


def _run_object(run: SavedRun) -> dict[str, Any]:
    return {"file": run.path, "complete": run.complete, "cases": len(run.cases), **run.facts}


def _case(case: Ran) -> dict[str, Any]:
    return {"id": case.id, "file": case.file, "name": case.name}


def _plain(value: float) -> float | str:
    return value if math.isfinite(value) else "inf" if value > 0 else "-inf"
