"""A run as JUnit XML, in the form that both schemas in use accept: Jenkins' junit-10.xsd (Surefire's structure)
and the stricter one of Ant's JUnit task, which allows no attributes on the root and one outcome a test case.

FAIL is a failure, ERROR an error; SKIP and KNOWN are skipped, with their reason. A case file is a suite. Times are
seconds with three decimals, the most that junit-10.xsd allows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from ascend_opcli.model import Result, VerdictKind
from ascend_opcli.reporting.details import detail_lines
from ascend_opcli.reporting.escape import one_line, xml, xml_content
from ascend_opcli.reporting.finished import FinishedRun, case_seconds

_FACTS = ("opcli", "python", "numpy", "ml_dtypes", "platform", "backend", "product", "seed")
_LONGEST = 500


def render(run: FinishedRun) -> Iterator[str]:
    """The document, element by element."""
    yield '<?xml version="1.0" encoding="UTF-8"?>\n<testsuites>\n'
    suites: dict[str, list[Result]] = {}
    for result in run.results:
        suites.setdefault(result.case.path, []).append(result)
    for number, (path, results) in enumerate(suites.items()):
        yield from _suite(number, path, results, run)
    if not suites:
        # Some readers take a document without a suite for a broken one.
        yield from _suite(0, "opcli", (), run)
    yield "</testsuites>\n"


def _suite(number: int, path: str, results: Sequence[Result], run: FinishedRun) -> Iterator[str]:
    words = Counter(r.verdict.word for r in results)
    seconds = sum(map(case_seconds, results))
    # The schema wants a time without a zone; the run's is UTC.
    started = str(run.facts.get("started", "1970-01-01T00:00:00"))[:19]
    name = xml(one_line(path) or "opcli")
    yield (
        f'<testsuite name="{name}" package="{xml(_dotted(path))}" id="{number}" hostname="localhost"'
        f' timestamp="{xml(started)}" tests="{len(results)}" failures="{words[VerdictKind.FAIL]}"'
        f' errors="{words[VerdictKind.ERROR]}" skipped="{words[VerdictKind.SKIP] + words[VerdictKind.KNOWN]}"'
        f' time="{seconds:.3f}">\n<properties>\n'
    )
    facts = {name: run.facts[name] for name in _FACTS if run.facts.get(name) is not None}
    for key, value in {**facts, "complete": str(run.complete).lower()}.items():
        yield f'<property name="{xml(key)}" value="{xml(str(value))}"/>\n'
    yield "</properties>\n"
    classname = xml(_dotted(path))
    for result in results:
        yield from _case(result, classname)
    said = run.headline()
    yield f"<system-out>{xml_content(said)}</system-out>\n"
    yield f"<system-err>{'' if run.complete else xml_content(said)}</system-err>\n</testsuite>\n"


def _case(result: Result, classname: str) -> Iterator[str]:
    head = (
        f'<testcase classname="{classname}" name="{xml(one_line(result.case.name))}"'
        f' time="{case_seconds(result):.3f}"'
    )
    word, reason = result.verdict.word, result.verdict.reason
    if word is VerdictKind.PASS:
        yield f"{head}/>\n"
        return
    message = xml(one_line(reason, _LONGEST))
    if word in (VerdictKind.SKIP, VerdictKind.KNOWN):
        yield f'{head}><skipped message="{message}"/></testcase>\n'
        return
    element = "failure" if word is VerdictKind.FAIL else "error"
    text = xml_content("\n".join(detail_lines(result)))
    yield f'{head}>\n<{element} type="{word.value}" message="{message}">{text}</{element}>\n</testcase>\n'


def _dotted(path: str) -> str:
    """``cases.logit_grad``: CI systems take what stands before the last dot for a package."""
    parts = [p for p in one_line(path).replace("\\", "/").split("/") if p not in ("", ".", "..")]
    if not parts:
        return "opcli"
    stem, _, suffix = parts[-1].rpartition(".")
    last = stem if stem and suffix.lower() in ("yaml", "yml", "json", "csv") else parts[-1]
    return ".".join([*parts[:-1], last.replace(".", "_")])
