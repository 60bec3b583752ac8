"""``--issue``: a bug report on the failures of a run, ready to file, as Markdown in English or Chinese."""

from __future__ import annotations

from collections.abc import Iterator

from ascend_opcli import status as codes
from ascend_opcli.model import Result
from ascend_opcli.reporting.acceptance import environment
from ascend_opcli.reporting.details import census_text, element_text
from ascend_opcli.reporting.escape import fenced, markdown, markdown_code
from ascend_opcli.reporting.finished import FinishedRun
from ascend_opcli.reporting.texts import Text, texts
from ascend_opcli.reporting.wording import argument_text, verdict_text

MOST_FAILURES = 5
_QUOTED = 6000
_REASON = 600


def render(run: FinishedRun) -> Iterator[str]:
    """The report, section by section."""
    text = texts(run.language)
    failures = run.failures()
    operators = list(dict.fromkeys(r.case.operator for r in failures))
    if not failures:
        yield f"# opcli\n\n{text('no_failure')}\n\n{markdown(run.headline())}\n"
        yield from environment(run, text)
        return
    names = markdown(", ".join(operators[:3]) + (", ..." if len(operators) > 3 else ""))
    title = text("issue", operators=names, failed=f"{len(failures):,}", total=f"{len(run.results):,}")
    yield f"# {title}\n"
    if run.on_host:
        yield f"\n> {text('issue_host')}\n"
    if not run.complete:
        yield f"\n{text('incomplete', done=len(run.results), planned=run.planned)}\n"
    yield from environment(run, text)
    for number, result in enumerate(failures[:MOST_FAILURES], 1):
        yield from _failure(number, result, text)
    if len(failures) > MOST_FAILURES:
        yield f"\n{text('more_failures', count=f'{len(failures) - MOST_FAILURES:,}')}\n"


def _failure(number: int, result: Result, text: Text) -> Iterator[str]:
    yield f"\n## {number}. {markdown_code(result.case.id)}\n"
    arguments = "\n".join(f"{name}: {argument_text(a)}" for name, a in result.case.arguments.items())
    call = fenced(f"{result.case.operator} ({result.product})\n{arguments}")
    yield f"\n### {text('call')}\n\n{call}"
    if result.repro:
        yield f"\n### {text('steps')}\n\n{fenced(result.repro, 'sh')}"
        if "--inputs-sha256" in result.repro:
            yield f"\n{text('same_inputs')}\n"
    yield f"\n### {text('expected')}\n\n"
    yield from (f"- {line}\n" for line in _expected(result, text))
    yield f"\n### {text('seen')}\n\n"
    yield from (f"- {line}\n" for line in _seen(result, text))
    numbers = _numbers(result)
    if numbers:
        yield f"\n{fenced(numbers)}"
    log = "\n".join(part for part in (result.captured_output.strip("\n"), *result.log) if part.strip())
    yield f"\n### {text('log')}\n\n"
    yield fenced(log[:_QUOTED] + ("\n..." if len(log) > _QUOTED else "")) if log else f"{text('no_log')}\n"


def _expected(result: Result, text: Text) -> Iterator[str]:
    status = result.case.status
    if status is not None and status.code:
        yield text("expected_status", status=markdown(codes.describe(status.code)), phase=status.phase.value)
        if status.message:
            yield text("expected_message", message=markdown(status.message))
        return
    yield text("expected_success")
    for output in result.verdict.outputs:
        yield text(
            "expected_output",
            name=markdown(output.name),
            rule=markdown(output.rule),
            standard=markdown(output.standard),
        )


def _seen(result: Result, text: Text) -> Iterator[str]:
    yield f"**{verdict_text(result)}**: {markdown(result.verdict.reason, _REASON)}"
    if result.status is not None:
        phase = result.phase.value if result.phase is not None else "-"
        yield text("got_status", status=markdown(codes.describe(result.status)), phase=phase)
    if result.message and result.message not in result.verdict.reason:
        yield f"{text('operators_text')}: {markdown(result.message, _REASON)}"
    for output in result.verdict.outputs:
        if output.diagnosis:
            yield f"{markdown(output.name)}: {markdown(output.diagnosis, _REASON)}"
    for note in result.verdict.notes:
        yield markdown(note, _REASON)


def _numbers(result: Result) -> str:
    lines = []
    for output in result.verdict.outputs:
        if not output.passed and output.census.total:
            lines.append(f"{output.name}: {census_text(output.census)}")
            lines += [f"  {element_text(e)}" for e in output.worst]
    return "\n".join(lines)
