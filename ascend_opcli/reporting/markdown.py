"""A run as Markdown, fit for a comment on a pull request or the summary page of a CI job.

GitHub takes 65,536 characters in a comment; the report stays below :data:`LIMIT` whatever the run holds, and
says what it left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ascend_opcli.model import Result, VerdictKind
from ascend_opcli.reporting.details import detail_lines
from ascend_opcli.reporting.escape import fenced, markdown, markdown_code
from ascend_opcli.reporting.finished import ORDER, FinishedRun
from ascend_opcli.reporting.terminal import HEADINGS, row
from ascend_opcli.reporting.wording import count_text, verdict_text

LIMIT = 60_000
_FOR_FAILURES = 36_000
_ONE_FAILURE = 5_000
_RESERVE = 600
_REASON = 300
_NAME = 200


def render(run: FinishedRun) -> Iterator[str]:
    """The report, piece by piece."""
    head = "".join(_head(run))
    yield head
    left = LIMIT - _RESERVE - len(head)
    cut: list[str] = []

    failures = run.failures()
    if failures:
        yield "\n### Failures\n"
        shown, text = _fill(map(_failure, failures), min(_FOR_FAILURES, left))
        yield text
        left -= len(text)
        if shown < len(failures):
            cut.append(f"the details of {count_text(len(failures) - shown, 'failure')}")

    if run.results:
        results = run.failures_first()
        opening = _opening(len(results))
        closing = "\n</details>\n"
        shown, text = _fill(map(_row, results), left - len(opening) - len(closing))
        yield opening
        yield text
        yield closing
        if shown < len(results):
            cut.append(f"{count_text(len(results) - shown, 'row')} of the table")
    if cut:
        yield f"\nLeft out for the limit of {LIMIT:,} characters: {' and '.join(cut)}.\n"


def _head(run: FinishedRun) -> Iterator[str]:
    words = run.summary.words
    worst = next((word for word in ORDER if words[word]), None)
    title = {
        None: "nothing was judged",
        VerdictKind.FAIL: f"{count_text(words[VerdictKind.FAIL], 'case')} failed",
        VerdictKind.ERROR: f"{count_text(words[VerdictKind.ERROR], 'case')} could not be run",
        VerdictKind.KNOWN: "passed, with known issues",
        VerdictKind.SKIP: "passed, with skipped cases" if words[VerdictKind.PASS] else "nothing was judged",
        VerdictKind.PASS: "passed",
    }[worst]
    yield f"## opcli: {title}{' (host)' if run.results and run.on_host else ''}\n\n"
    yield f"{markdown(run.headline())}\n\n"
    if run.results:
        shown = [word for word in ORDER if words[word]]
        yield "| " + " | ".join(word.value for word in shown) + " |\n"
        yield "|" + "--:|" * len(shown) + "\n"
        yield "| " + " | ".join(f"{words[word]:,}" for word in shown) + " |\n\n"
    facts = run.facts
    said = [f"{key} {facts[key]}" for key in ("opcli", "numpy", "backend", "product") if facts.get(key)]
    yield markdown(", ".join([*said, f"{run.seconds:.1f} s"])) + "\n"
    if facts.get("served_by"):
        yield markdown(f"\nserved by {facts['served_by']}") + "\n"


def _failure(result: Result) -> str:
    """One failure: its reason in sight, the rest folded away."""
    lines = list(detail_lines(result))
    text = "\n".join(lines)
    if len(text) > _ONE_FAILURE:
        # The repro line is the last one and the one that must not go.
        text = f"{text[:_ONE_FAILURE]}\n  ...\n{lines[-1][:1000]}"
    diagnoses = [o.diagnosis for o in result.verdict.outputs if o.diagnosis]
    return (
        f"\n**{result.verdict.word.value}** {markdown_code(result.case.id, _NAME)}:"
        f" {markdown(result.verdict.reason, _REASON)}\n"
        + "".join(f"\n{markdown(d, _REASON)}\n" for d in diagnoses)
        + f"\n<details><summary>Census, worst elements, how to run it again</summary>\n\n{fenced(text)}\n</details>\n"
    )


def _opening(count: int) -> str:
    heading = "| " + " | ".join(("verdict", *(h for h in HEADINGS if h != "verdict"))) + " |\n"
    return (
        f"\n<details><summary>{count_text(count, 'case')}</summary>\n\n{heading}"
        + "|---|---|---|---|---|--:|--:|--:|---|\n"
    )


def _row(result: Result) -> str:
    name, operator, dtype, shape, _, used, worst, ulp, note = row(result)
    cells = (
        verdict_text(result),
        markdown_code(name, _NAME),
        markdown(operator, _NAME),
        dtype,
        shape[:_NAME],
        used,
        worst,
        ulp,
        markdown(note, _REASON),
    )
    return "| " + " | ".join(cells) + " |\n"


def _fill(pieces: Iterable[str], room: int) -> tuple[int, str]:
    """As many whole pieces as there is room for, from the first; the rest is not even made."""
    taken: list[str] = []
    for piece in pieces:
        room -= len(piece)
        if room < 0:
            break
        taken.append(piece)
    return len(taken), "".join(taken)
