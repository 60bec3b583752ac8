"""``--acceptance``: what an operator contribution hands in, as Markdown in English or Chinese.

Environment, standard with its numbers, pass rates, the worst case per dtype, and which of the ecosystem
standard's case-generation rules the run covers.
"""

from __future__ import annotations

import math
import shlex
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence

from ascend_opcli.execution.coverage import CoverageFinding, State, attribute_texts, coverage, dtypes_text
from ascend_opcli.model import OutputReport, Result, VerdictKind
from ascend_opcli.reporting.escape import markdown, markdown_code
from ascend_opcli.reporting.finished import FinishedRun
from ascend_opcli.reporting.texts import Text, texts
from ascend_opcli.reporting.wording import error_text, percent_text, share_text, verdict_text

MOST_ROWS = 60
_REASON = 300
_STATES = {State.YES: "yes", State.PARTLY: "partly", State.NO: "no", State.NOTHING: "nothing_to_say"}


def render(run: FinishedRun) -> Iterator[str]:
    """The report, section by section."""
    text = texts(run.language)
    operators = list(dict.fromkeys(r.case.operator for r in run.results))
    yield f"# {text('acceptance', operators=markdown(_names(operators, text)))}\n"
    if not run.results:
        yield f"\n{text('nothing')}\n"
    if run.results and run.on_host:
        yield f"\n> {text('host_warning')}\n"
    if not run.complete:
        yield f"\n{text('incomplete', done=len(run.results), planned=run.planned)}\n"
    compared = [r for r in run.results if not _refusal(r)]
    if run.results:
        yield from _conclusion(run, compared, text)
    yield from environment(run, text)
    if run.results:
        yield from _standard(compared, text)
        yield from _rates(compared, text)
        yield from _worst(compared, text)
        yield from _coverage(compared, operators, text)
        yield from _open(run, text)


def _names(operators: Sequence[str], text: Text) -> str:
    """Some names, and how many more."""
    if len(operators) <= 5:
        return ", ".join(operators) or "-"
    return text("and_others", names=", ".join(operators[:5]), count=len(operators) - 5)


def _refusal(result: Result) -> bool:
    return result.case.status is not None and result.case.status.code != 0


# --- tables -------------------------------------------------------------------------------------------------


def table(headings: Sequence[str], rows: Iterable[Sequence[str]], *, right: int = 0) -> Iterator[str]:
    """A Markdown table of cells that are safe already; the last ``right`` columns are flush right."""
    marks = ["---"] * (len(headings) - right) + ["--:"] * right
    yield "\n| " + " | ".join(headings) + " |\n|" + "|".join(marks) + "|\n"
    for row in rows:
        yield "| " + " | ".join(row) + " |\n"


_WORDS = (VerdictKind.PASS, VerdictKind.FAIL, VerdictKind.KNOWN, VerdictKind.ERROR, VerdictKind.SKIP)


def _rate(words: Counter[VerdictKind]) -> str:
    judged = words[VerdictKind.PASS] + words[VerdictKind.FAIL] + words[VerdictKind.KNOWN]
    return percent_text(words[VerdictKind.PASS], judged) if judged else "-"


def _counts(words: Counter[VerdictKind]) -> list[str]:
    return [f"{words.total():,}", *(f"{words[w]:,}" for w in _WORDS), _rate(words)]


def _words(results: Iterable[Result]) -> Counter[VerdictKind]:
    return Counter(r.verdict.word for r in results)


def _count_headings(text: Text) -> list[str]:
    return [text("count"), *(w.value for w in _WORDS), text("rate")]


# --- sections -----------------------------------------------------------------------------------------------


def _conclusion(run: FinishedRun, compared: Sequence[Result], text: Text) -> Iterator[str]:
    words = run.summary.words
    failed = words[VerdictKind.FAIL] + words[VerdictKind.KNOWN]
    judged = failed + words[VerdictKind.PASS]
    yield f"\n## {text('conclusion')}\n\n"
    if not judged:
        yield f"- {text('none_judged')}\n"
    elif failed:
        yield f"- {text('some_failed', failed=f'{failed:,}', judged=f'{judged:,}')}\n"
    else:
        yield f"- {text('all_passed')}\n"
    unjudged = words[VerdictKind.SKIP] + words[VerdictKind.ERROR]
    if unjudged:
        yield f"- {text('not_judged', count=f'{unjudged:,}')}\n"
    if run.summary.weak:
        yield f"- {text('weak', count=f'{run.summary.weak:,}')}\n"
    kinds = (("numbers", _words(compared)), ("refusals", words - _words(compared)))
    rows = [[text(kind), *_counts(counts)] for kind, counts in kinds if counts.total()]
    yield from table([text("kind"), *_count_headings(text)], rows, right=7)
    yield f"\n{text('rate_note')}\n"


def environment(run: FinishedRun, text: Text) -> Iterator[str]:
    """The section on versions, machine and command, which bug reports have too."""
    facts = run.facts
    yield f"\n## {text('environment')}\n"
    rows = []
    if run.results:
        rows.append([text("backend"), _ran(run, text)])
    products = list(dict.fromkeys(r.product for r in run.results)) or [str(facts.get("product", "-"))]
    rows.append([text("products" if len(products) > 1 else "product"), ", ".join(map(markdown, products))])
    libraries = list(dict.fromkeys(r.served_by for r in run.results if r.served_by))
    if libraries:
        rows.append([text("served_by"), ", ".join(markdown_code(path) for path in libraries[:5])])
    for key in ("opcli", "python", "numpy", "ml_dtypes", "platform", "started"):
        if facts.get(key) is not None:
            rows.append([text(key), markdown(str(facts[key]))])
    rows.append([text("seconds"), f"{run.seconds:.1f} s"])
    if facts.get("arguments"):
        rows.append([text("command"), markdown_code("opcli " + shlex.join(facts["arguments"]), 1000)])
    yield from table([text("item"), text("value")], rows)


_RAN = {"host": "on_host", "device": "on_device", "candidate": "on_candidate", "outputs": "on_outputs"}


def _ran(run: FinishedRun, text: Text) -> str:
    """What the calls were served by."""
    return ", ".join(text(_RAN[name]) for name in sorted(run.summary.backends))


def _standard(results: Sequence[Result], text: Text) -> Iterator[str]:
    yield f"\n## {text('standard')}\n\n"
    rules: Counter[tuple[str, str, str, str]] = Counter()
    for result in results:
        for output in result.verdict.outputs:
            rules[output.standard, output.dtype, output.rule, output.origin] += 1
    if not rules:
        yield f"{text('no_outputs')}\n"
        return
    yield f"{text('standard_intro')}\n"
    rows = [
        [*(markdown(cell, _REASON) for cell in key), f"{count:,}"]
        for key, count in sorted(rules.items(), key=lambda item: (-item[1], item[0]))
    ]
    headings = [text(key) for key in ("name", "dtype", "rule", "origin", "outputs")]
    yield from table(headings, rows[:MOST_ROWS], right=1)
    if len(rows) > MOST_ROWS:
        yield f"\n{text('left_out', count=len(rows) - MOST_ROWS)}\n"


def _rates(results: Sequence[Result], text: Text) -> Iterator[str]:
    yield f"\n## {text('rates')}\n\n{text('rates_of')}\n"
    yield f"\n### {text('by_dtype')}\n"
    yield from _rate_table(["dtype"], _grouped(results, lambda r: [(dtypes_text(r.case),)]), text)
    yield f"\n### {text('by_tag')}\n"
    yield from _rate_table(
        ["tag"], _grouped(results, lambda r: [(t,) for t in r.case.tags or (text("no_tag"),)]), text
    )
    yield f"\n### {text('by_attribute')}\n"
    attributes = _grouped(
        results,
        lambda r: [(r.case.operator, name, value) for name, value in attribute_texts(r.case).items()],
    )
    if attributes:
        attributes = dict(sorted(attributes.items(), key=lambda item: item[0][:2]))
        yield from _rate_table(["operator", "attribute", "value"], attributes, text)
    else:
        yield f"\n{text('no_attributes')}\n"
    yield f"\n### {text('by_branch')}\n"
    yield from _branches(results, text)


_Groups = dict[tuple[str, ...], Counter[VerdictKind]]


def _grouped(results: Iterable[Result], keys: Callable[[Result], Iterable[tuple[str, ...]]]) -> _Groups:
    groups: _Groups = {}
    for result in results:
        for key in keys(result):
            groups.setdefault(key, Counter())[result.verdict.word] += 1
    return groups


def _rate_table(headings: Sequence[str], groups: _Groups, text: Text) -> Iterator[str]:
    """A row a group; where there are too many, those that do not pass are kept before the others."""
    kept, left = _bounded(groups)
    rows = [[*(markdown(part, 120) for part in key), *_counts(words)] for key, words in kept.items()]
    yield from table([*map(text, headings), *_count_headings(text)], rows, right=7)
    yield from _left_out(left, text)


def _failing(words: Counter[VerdictKind]) -> bool:
    return bool(words[VerdictKind.FAIL] or words[VerdictKind.KNOWN])


def _bounded(groups: _Groups) -> tuple[_Groups, _Groups]:
    if len(groups) <= MOST_ROWS:
        return groups, {}
    order = sorted(groups, key=lambda key: not _failing(groups[key]))
    keep = set(order[:MOST_ROWS])
    return (
        {key: words for key, words in groups.items() if key in keep},
        {key: words for key, words in groups.items() if key not in keep},
    )


def _left_out(left: _Groups, text: Text) -> Iterator[str]:
    failing = sum(map(_failing, left.values()))
    if failing:
        yield f"\n{text('left_out_failing', count=f'{len(left):,}', failing=f'{failing:,}')}\n"
    elif left:
        yield f"\n{text('left_out', count=f'{len(left):,}')}\n"


def _branches(results: Sequence[Result], text: Text) -> Iterator[str]:
    """A case counts for every branch that one of its elements takes."""
    groups: _Groups = {}
    elements: Counter[tuple[str, ...]] = Counter()
    for result in results:
        for branch in result.verdict.outputs[0].branches if result.verdict.outputs else ():
            key = (result.case.operator, branch.name)
            words = groups.setdefault(key, Counter())
            elements[key] += branch.count
            if branch.count:
                words[result.verdict.word] += 1
    if not groups:
        yield f"\n{text('no_branches')}\n"
        return
    kept, left = _bounded(groups)
    rows = [
        [
            *(markdown(part, 120) for part in key),
            f"{elements[key]:,}" if elements[key] else text("not_reached"),
            *_counts(words),
        ]
        for key, words in kept.items()
    ]
    yield from table([*map(text, ("operator", "branch", "elements")), *_count_headings(text)], rows, right=8)
    yield from _left_out(left, text)


def _worst(results: Sequence[Result], text: Text) -> Iterator[str]:
    worst: dict[tuple[str, str], tuple[Result, OutputReport]] = {}
    for result in results:
        for output in result.verdict.outputs:
            key = (result.case.operator, output.dtype)
            if key not in worst or _badness(output) > _badness(worst[key][1]):
                worst[key] = (result, output)
    yield f"\n## {text('worst')}\n\n"
    if not worst:
        yield f"{text('no_outputs')}\n"
        return
    yield f"{text('worst_intro')}\n"
    rows = []
    for (operator, dtype), (result, output) in list(worst.items())[:MOST_ROWS]:
        element = output.worst[0] if output.worst else None
        errors = (
            ("0", "0", "0")
            if element is None
            else tuple(map(error_text, (element.absolute, element.relative, element.ulp)))
        )
        rows.append(
            [
                markdown(operator),
                dtype,
                markdown_code(result.case.id, 200),
                verdict_text(result),
                share_text(output.used),
                *errors,
            ]
        )
    headings = ("operator", "dtype", "case", "verdict", "used", "absolute", "relative", "ulp")
    yield from table([text(key) for key in headings], rows, right=4)


def _badness(output: OutputReport) -> tuple[bool, float, float]:
    """The order of outputs: a failed one is worse, then the share of the tolerance, then the error in ulp."""
    ulp = output.worst[0].ulp if output.worst else 0.0
    return (not output.passed, _or_inf(output.used), _or_inf(ulp))


def _or_inf(value: float) -> float:
    return math.inf if math.isnan(value) else value


def _coverage(results: Sequence[Result], operators: Sequence[str], text: Text) -> Iterator[str]:
    yield f"\n## {text('coverage')}\n"
    for operator in operators[:MOST_ROWS]:
        judged = [
            r
            for r in results
            if r.case.operator == operator and r.verdict.word not in (VerdictKind.SKIP, VerdictKind.ERROR)
        ]
        cases = [r.case for r in judged]
        if len(operators) > 1:
            yield f"\n### {markdown(operator)}\n"
        yield f"\n{text('coverage_intro', operator=markdown(operator), count=f'{len(cases):,}')}\n"
        products = list(dict.fromkeys(r.product for r in judged))
        findings = coverage(cases, products, _unreached(judged))
        rows = [[text(f"rule_{f.rule}"), text(_STATES[f.state]), _found(f, text)] for f in findings]
        yield from table([text("rule"), text("covered"), text("found")], rows)
        states = Counter(f.state for f in findings)
        tally = {state.value: states[state] for state in (State.YES, State.PARTLY, State.NO)}
        yield f"\n{text('tally', **tally)}\n"
        files = max((int(str(f.values.get("files", 0))) for f in findings), default=0)
        if files:
            yield f"\n{text('unread_files', files=files)}\n"


def _unreached(results: Sequence[Result]) -> list[str]:
    """The operator's branches that no element of any case takes."""
    reached: Counter[str] = Counter()
    for result in results:
        for branch in result.verdict.outputs[0].branches if result.verdict.outputs else ():
            reached[branch.name] += branch.count
    return [name for name, count in reached.items() if not count]


def _found(finding: CoverageFinding, text: Text) -> str:
    values = {key: f"{v:,}" if isinstance(v, int) else markdown(str(v)) for key, v in finding.values.items()}
    return text(finding.said, **values)


def _open(run: FinishedRun, text: Text) -> Iterator[str]:
    rest = [r for r in run.failures_first() if r.verdict.word is not VerdictKind.PASS]
    if not rest:
        return
    yield f"\n## {text('open')}\n"
    rows = [
        [r.verdict.word.value, markdown_code(r.case.id, 200), markdown(r.verdict.reason, _REASON)]
        for r in rest[:MOST_ROWS]
    ]
    yield from table([text("verdict"), text("case"), text("reason")], rows)
    if len(rest) > MOST_ROWS:
        yield f"\n{text('more_cases', count=f'{len(rest) - MOST_ROWS:,}')}\n"
