"""A run as one HTML page that needs nothing beside itself: style and pictures are inline, there is no script.

The table is filtered by verdict with checkboxes that CSS alone reads. Every name is escaped, and a content
security policy keeps the page from loading anything.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ascend_opcli.errors import visible
from ascend_opcli.model import Census, Element, OutputReport, Result, VerdictKind
from ascend_opcli.reporting import pictures
from ascend_opcli.reporting.details import census_text, floor_text, needed_text
from ascend_opcli.reporting.escape import one_line, xml
from ascend_opcli.reporting.escape import xml_content as text
from ascend_opcli.reporting.finished import ORDER, FinishedRun
from ascend_opcli.reporting.terminal import HEADINGS, row
from ascend_opcli.reporting.wording import (
    argument_text,
    count_text,
    error_text,
    percent_text,
    shape_text,
    share_text,
    verdict_text,
)
from ascend_opcli.tensors.written_values import number_text

MOST_DETAILS = 300
"""Failures that are shown in full; a page with thousands of them would not open."""

_FACTS = (
    "opcli",
    "backend",
    "served_by",
    "product",
    "seed",
    "python",
    "numpy",
    "ml_dtypes",
    "platform",
    "cpus",
    "started",
)
_RIGHT = frozenset(("used", "worst", "ulp"))
_QUOTED = 4000

_STYLE = """
:root{color-scheme:light dark;--bg:#fff;--fg:#1c1e21;--soft:#5f6670;--line:#d9dde2;--panel:#f5f6f8;--link:#0b57a4;
--PASS:#1a7f37;--FAIL:#c62828;--ERROR:#8e24aa;--SKIP:#8a6100;--KNOWN:#00707f;
--exact:#8fbf9a;--within:#c9dfae;--over:#d9534f;--mark:#c62828;--ground:#e8ebee}
@media (prefers-color-scheme:dark){:root{--bg:#16181b;--fg:#e4e6e9;--soft:#9aa2ac;--line:#33383e;--panel:#1f2226;
--link:#7db4f0;--PASS:#57c278;--FAIL:#ff7b72;--ERROR:#d58ae6;--SKIP:#d9a93f;--KNOWN:#4fc1cf;
--exact:#2f6b41;--within:#5d7a37;--over:#d9534f;--mark:#ff7b72;--ground:#2b2f34}}
*{box-sizing:border-box}
body{margin:0 auto;padding:1.5rem 2rem 4rem;max-width:1500px;background:var(--bg);color:var(--fg);
font:15px/1.5 system-ui,-apple-system,"Segoe UI","Noto Sans","Noto Sans CJK SC",sans-serif}
h1{font-size:1.5rem;margin:0 0 .3rem}h2{font-size:1.2rem;margin:2.2rem 0 .6rem}h3{font-size:1.05rem;margin:0 0 .4rem}
h4{font-size:.95rem;margin:1rem 0 .3rem}p{margin:.3rem 0}a{color:var(--link);text-decoration:none}
a:hover{text-decoration:underline}code,pre,.mono,td.id{font-family:ui-monospace,
"DejaVu Sans Mono",Menlo,Consolas,monospace;font-size:.86em}
pre{background:var(--panel);border:1px solid var(--line);border-radius:4px;padding:.6rem .8rem;margin:.4rem 0;
white-space:pre-wrap;overflow-wrap:anywhere}
.soft{color:var(--soft)}.host{border-left:4px solid var(--SKIP);padding:.3rem .8rem;background:var(--panel)}
dl{display:flex;flex-wrap:wrap;gap:.2rem 1.6rem;margin:.6rem 0}
dl div{display:flex;gap:.4rem}dt{color:var(--soft)}dd{margin:0}
.show{position:absolute;opacity:0}
nav{display:flex;flex-wrap:wrap;gap:.5rem;margin:1rem 0}
nav label{border:1px solid var(--line);border-radius:1rem;padding:.1rem .8rem;cursor:pointer;background:var(--panel)}
nav b{font-weight:600}
.wide{overflow-x:auto}
table{border-collapse:collapse;font-size:.92em}th{color:var(--soft);font-weight:600;text-align:left}
.cases{width:100%}
th,td{padding:.25rem .7rem .25rem 0;border-bottom:1px solid var(--line);vertical-align:top}
td.r,th.r{text-align:right;white-space:nowrap;font-variant-numeric:tabular-nums}
td.id{overflow-wrap:anywhere;min-width:9rem}td.v{white-space:nowrap;font-weight:600}
td.n{min-width:12rem;overflow-wrap:anywhere}
.failure{border:1px solid var(--line);border-radius:6px;padding:1rem 1.2rem;margin:1rem 0}
.failure h3{overflow-wrap:anywhere}
.diagnosis{font-weight:600}
.pictures{display:flex;flex-wrap:wrap;gap:1.2rem 2rem;align-items:flex-start;margin:.6rem 0}
figure{margin:0;max-width:420px}figcaption{color:var(--soft);font-size:.85em;margin-bottom:.2rem}
svg{display:block;max-width:100%;height:auto}svg text{fill:var(--soft);font:11px system-ui,sans-serif}
.c-exact{fill:var(--exact)}.c-within{fill:var(--within)}.c-over,.c-mark{fill:var(--mark)}.c-ground{fill:var(--ground)}
.c-bar{fill:var(--soft)}.c-axis{stroke:var(--line);fill:none}.c-equal{stroke:var(--soft);stroke-dasharray:3 3}
details{margin:.4rem 0}summary{cursor:pointer;color:var(--link)}
@media print{nav{display:none}}
"""


def render(run: FinishedRun) -> Iterator[str]:
    """The page, piece by piece."""
    words = [word for word in ORDER if run.summary.words[word]]
    title = f"opcli: {_title(run)}"
    yield (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
        f"<title>{text(title)}</title>\n<style>{_STYLE}{''.join(map(_filter_style, words))}</style>\n"
        "</head>\n<body>\n"
    )
    yield from _head(run, title)
    if run.results:
        yield from _table(run, words)
        yield from _failures(run)
    yield "</body>\n</html>\n"


def _title(run: FinishedRun) -> str:
    failed = run.summary.words[VerdictKind.FAIL] + run.summary.words[VerdictKind.ERROR]
    if not run.results:
        return "nothing was judged"
    return f"{failed:,} of {count_text(run.summary.total, 'case')} failed" if failed else "nothing failed"


def _filter_style(word: VerdictKind) -> str:
    name = word.value
    return (
        f"#show-{name}:not(:checked)~main tr.{name}{{display:none}}"
        f"#show-{name}:not(:checked)~nav label[for=show-{name}]{{opacity:.4;text-decoration:line-through}}"
        f"#show-{name}:focus-visible~nav label[for=show-{name}]{{outline:2px solid var(--link)}}"
        f".w-{name}{{color:var(--{name})}}\n"
    )


def _head(run: FinishedRun, title: str) -> Iterator[str]:
    yield f"<h1>{text(title)}</h1>\n"
    host = ' class="host"' if run.results and run.on_host else ""
    yield f"<p{host}>{text(run.headline())}</p>\n<dl>\n"
    facts = {name: run.facts.get(name) for name in _FACTS}
    for name, value in {**facts, "time": f"{run.seconds:.2f} s"}.items():
        if value is not None:
            yield f"<div><dt>{name}</dt><dd>{text(str(value))}</dd></div>\n"
    yield "</dl>\n"


def _table(run: FinishedRun, words: list[VerdictKind]) -> Iterator[str]:
    for word in words:
        yield (
            f'<input class="show" type="checkbox" id="show-{word.value}"'
            f' aria-label="show {word.value}" checked>\n'
        )
    yield "<nav>"
    for word in words:
        count = run.summary.words[word]
        yield f'<label for="show-{word.value}"><b class="w-{word.value}">{word.value}</b> {count:,}</label>'
    yield '</nav>\n<main>\n<div class="wide"><table class="cases">\n<thead><tr>'
    order = ("verdict", *(h for h in HEADINGS if h != "verdict"))
    for heading in order:
        yield f'<th class="r">{heading}</th>' if heading in _RIGHT else f"<th>{heading}</th>"
    yield "</tr></thead>\n<tbody>\n"
    details = {id(r): n for n, r in enumerate(run.failures()[:MOST_DETAILS])}
    for result in run.failures_first():
        yield _row(result, details.get(id(result)))
    yield "</tbody>\n</table></div>\n</main>\n"


def _row(result: Result, number: int | None) -> str:
    name, operator, dtype, shape, _, used, worst, ulp, note = row(result)
    word = result.verdict.word.value
    shown = text(one_line(name))
    if number is not None:
        shown = f'<a href="#c{number}">{shown}</a>'
    return (
        f'<tr class="{word}"><td class="v w-{word}">{verdict_text(result)}</td><td class="id">{shown}</td>'
        f"<td>{text(operator)}</td><td>{dtype}</td><td>{shape}</td>"
        f'<td class="r">{used}</td><td class="r">{worst}</td><td class="r">{ulp}</td>'
        f'<td class="n">{text(one_line(note, 400))}</td></tr>\n'
    )


def _failures(run: FinishedRun) -> Iterator[str]:
    failures = run.failures()
    if not failures:
        return
    yield "<h2>Failures</h2>\n"
    for number, result in enumerate(failures[:MOST_DETAILS]):
        yield from _failure(number, result)
    if len(failures) > MOST_DETAILS:
        more = count_text(len(failures) - MOST_DETAILS, "more failure")
        yield f'<p class="soft">{more} in the table; the first {MOST_DETAILS} are shown in full.</p>\n'


def _failure(number: int, result: Result) -> Iterator[str]:
    word = result.verdict.word.value
    arguments = ", ".join(f"{n} {argument_text(a)}" for n, a in result.case.arguments.items())
    yield (
        f'<section class="failure" id="c{number}">\n'
        f'<h3><span class="w-{word}">{word}</span> {text(one_line(result.case.id))}</h3>\n'
        f"<p>{text(result.verdict.reason)}</p>\n"
        f'<p class="soft mono">{text(result.case.operator)}({text(arguments)}) on {text(result.product)}</p>\n'
    )
    for output in result.verdict.outputs:
        if not output.passed:
            yield from _output(output)
    if result.message and result.message not in result.verdict.reason:
        yield _quoted("The operator's text", result.message)
    for note in result.verdict.notes:
        yield f'<p class="soft">note: {text(note)}</p>\n'
    if result.served_by:
        yield f'<p class="soft">served by {text(result.served_by)}</p>\n'
    if result.captured_output.strip():
        yield _quoted("Printed during the call", result.captured_output)
    if result.log:
        yield _quoted("ERROR lines of the log", "\n".join(result.log))
    if result.repro:
        yield f"<h4>To run it again</h4>\n<pre>{text(result.repro)}</pre>\n"
    yield "</section>\n"


def _quoted(title: str, words: str) -> str:
    safe = visible(words)
    more = f"\n... {len(safe) - _QUOTED:,} more characters" if len(safe) > _QUOTED else ""
    return f"<details><summary>{title}</summary><pre>{text(safe[:_QUOTED] + more)}</pre></details>\n"


def _output(output: OutputReport) -> Iterator[str]:
    yield f"<h4>{text(output.name)}: {text(output.dtype)}[{shape_text(output.shape)}]</h4>\n"
    if output.diagnosis:
        yield f'<p class="diagnosis">{text(output.diagnosis)}</p>\n'
    origin = f"standard {text(output.standard)}, from the {text(output.origin.removeprefix('the '))}"
    yield f'<p>{text(output.rule)} <span class="soft">({origin})</span></p>\n'
    if output.census.total:
        yield f"<p>{text(census_text(output.census))}</p>\n"
    drawn = [*_census_picture(output.census), *pictures.of(output)]
    if drawn:
        yield '<div class="pictures">\n'
        for caption, svg in drawn:
            yield f"<figure><figcaption>{text(caption)}</figcaption>{svg}</figure>\n"
        yield "</div>\n"
    for said in (needed_text(output), floor_text(output), *output.warnings):
        if said:
            yield f"<p>{text(said)}</p>\n"
    if output.worst:
        yield from _worst(output.worst)


def _census_picture(census: Census) -> Iterator[tuple[str, str]]:
    if census.total:
        parts = [("exact", census.exact), ("within", census.within), ("over", census.over)]
        shares = ", ".join(f"{name} {percent_text(n, census.total)}" for name, n in parts if n)
        yield shares, pictures.stacked_bar(parts)


def _worst(elements: Iterable[Element]) -> Iterator[str]:
    yield '<div class="wide"><table>\n<thead><tr><th>worst elements</th><th>inputs</th>'
    for name in ("got", "golden", "absolute", "relative", "ulp", "used"):
        yield f'<th class="r">{name}</th>'
    yield "</tr></thead>\n<tbody>\n"
    for e in elements:
        inputs = " ".join(f"{name}={number_text(value)}" for name, value in e.inputs.items())
        numbers = (
            number_text(e.got),
            number_text(e.golden),
            error_text(e.absolute),
            error_text(e.relative),
            error_text(e.ulp),
            share_text(e.used),
        )
        cells = "".join(f'<td class="r">{cell}</td>' for cell in numbers)
        place = ", ".join(map(str, e.index))
        yield f'<tr><td class="mono">[{place}]</td><td class="mono">{xml(inputs)}</td>{cells}</tr>\n'
    yield "</tbody>\n</table></div>\n"
