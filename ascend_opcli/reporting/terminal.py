"""The table of a run: by rich on a terminal, aligned plain text in a pipe, nothing cut in either."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import IO

from ascend_opcli.model import Result, Word
from ascend_opcli.reporting.details import detail_lines, voice_lines
from ascend_opcli.reporting.wording import (
    count_text,
    error_text,
    lead_spec,
    note_text,
    shape_text,
    share_text,
    verdict_text,
    worst_output,
)

MANY = 200
"""Above this many cases the table holds what failed and a line a file."""

HEADINGS = ("case", "operator", "dtype", "shape", "verdict", "used", "worst", "ulp", "note")
_RIGHT = frozenset({"used", "worst", "ulp"})
_STYLES = {
    Word.PASS: "green",
    Word.FAIL: "bold red",
    Word.ERROR: "bold magenta",
    Word.SKIP: "yellow",
    Word.KNOWN: "cyan",
}
_SHOWN = (Word.FAIL, Word.ERROR)


def print_results(
    results: Sequence[Result],
    stream: IO[str],
    *,
    summary: Iterable[str],
    verbose: bool = False,
    color: bool | None = None,
) -> None:
    """Print the table, what stands under it for every failure, and the summary.

    ``color`` None leaves the choice to the terminal and NO_COLOR.
    """
    shown = (
        list(results) if verbose or len(results) <= MANY else [r for r in results if r.verdict.word in _SHOWN]
    )
    rows = [(r.verdict.word, row(r)) for r in shown]
    if rows:
        if stream.isatty():
            _print_rich(rows, stream, color)
        else:
            stream.writelines(line + "\n" for line in plain_table([HEADINGS, *(cells for _, cells in rows)]))
    if len(shown) < len(results):
        stream.writelines(line + "\n" for line in _by_file(results))
    for result in results:
        if result.verdict.word in _SHOWN:
            stream.write("\n")
            stream.writelines(line + "\n" for line in detail_lines(result))
        elif verbose:
            stream.writelines(line + "\n" for line in voice_lines(result))
    for text, ids in _notes(results).items():
        stream.write(
            f"\nnote: {text}\n  {count_text(len(ids), 'case')}: {', '.join(ids[:3])}{' ...' if len(ids) > 3 else ''}\n"
        )
    stream.write("\n")
    stream.writelines(line + "\n" for line in summary)


def row(result: Result) -> tuple[str, ...]:
    """The cells of one result, in the order of :data:`HEADINGS`."""
    spec, output = lead_spec(result), worst_output(result)
    worst = output.worst[0] if output is not None and output.worst else None
    return (
        result.case.id,
        result.case.operator,
        spec.dtype if spec is not None else "-",
        shape_text(spec.shape) if spec is not None else "-",
        verdict_text(result),
        share_text(output.used) if output is not None else "-",
        error_text(worst.absolute) if worst is not None else "0" if output is not None else "-",
        error_text(worst.ulp) if worst is not None else "0" if output is not None else "-",
        note_text(result),
    )


def plain_table(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Columns padded to their widest cell, two spaces apart; the first row is the heading."""
    widths = [max(len(r[i]) for r in rows) for i in range(len(rows[0]))]
    for cells in rows:
        padded = [
            cell.rjust(width) if name in _RIGHT else cell.ljust(width)
            for cell, width, name in zip(cells, widths, rows[0], strict=True)
        ]
        yield "  ".join(padded).rstrip()


def _print_rich(rows: Sequence[tuple[Word, tuple[str, ...]]], stream: IO[str], color: bool | None) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console(file=stream, no_color=None if color is None else not color, highlight=False)
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for name in HEADINGS:
        table.add_column(
            name, justify="right" if name in _RIGHT else "left", overflow="fold", no_wrap=name == "verdict"
        )
    for word, cells in rows:
        styled = [
            Text(cell, style=_STYLES[word] if name == "verdict" else "")
            for cell, name in zip(cells, HEADINGS, strict=True)
        ]
        table.add_row(*styled)
    console.print(table)


def _by_file(results: Sequence[Result]) -> Iterator[str]:
    counts: dict[str, Counter[Word]] = {}
    for result in results:
        counts.setdefault(result.case.path, Counter())[result.verdict.word] += 1
    for path, words in counts.items():
        said = ", ".join(f"{words[w]:,} {w.value}" for w in Word if words[w])
        yield f"{path}: {count_text(sum(words.values()), 'case')}: {said}"


def _notes(results: Sequence[Result]) -> dict[str, list[str]]:
    """Notes of cases that did not fail, gathered: a divergence is said once, with the cases it touches."""
    found: dict[str, list[str]] = {}
    for result in results:
        if result.verdict.word not in _SHOWN:
            for note in result.verdict.notes:
                found.setdefault(note, []).append(result.case.id)
    return found
