"""The table of a run: by rich on a terminal, aligned plain text in a pipe, nothing cut in either."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import IO

from ascend_opcli.model import Result, VerdictKind
from ascend_opcli.reporting.details import detail_lines, voice_lines
from ascend_opcli.reporting.escape import bare, in_line, one_line
from ascend_opcli.reporting.terminal_pictures import draws_blocks
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

MANY = 300
"""Above this many cases the table holds what failed and a line a file."""

FOLDED = 1000
"""Up to this many rows are folded into the width of a terminal, which takes a millisecond each."""

HEADINGS = ("case", "operator", "dtype", "shape", "verdict", "used", "worst", "ulp", "note")
_RIGHT = frozenset({"used", "worst", "ulp"})
_STYLES = {
    VerdictKind.PASS: "green",
    VerdictKind.FAIL: "bold red",
    VerdictKind.ERROR: "bold magenta",
    VerdictKind.SKIP: "yellow",
    VerdictKind.KNOWN: "cyan",
}
_SHOWN = (VerdictKind.FAIL, VerdictKind.ERROR)


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
    brief = len(results) > MANY and not verbose
    shown = [r for r in results if r.verdict.word in _SHOWN or _is_weak(r)] if brief else list(results)
    rows = [(r.verdict.word, row(r)) for r in shown]
    if rows:
        _print_table(rows, stream, color)
    if brief:
        stream.writelines(line + "\n" for line in _by_file(results))
    ascii_only = not draws_blocks(stream)
    for result in results:
        if result.verdict.word in _SHOWN:
            stream.write("\n")
            stream.writelines(line + "\n" for line in detail_lines(result, ascii_only=ascii_only))
        elif verbose:
            stream.writelines(line + "\n" for line in voice_lines(result))
    notes = _notes(results)
    if brief and notes:
        stream.write(f"\n{count_text(len(notes), 'note')} on what the data touch; -v shows them\n")
    for text, ids in {} if brief else notes.items():
        stream.write(
            f"\nnote: {text}\n  {count_text(len(ids), 'case')}: {', '.join(ids[:3])}{' ...' if len(ids) > 3 else ''}\n"
        )
    stream.write("\n")
    stream.writelines(line + "\n" for line in summary)


def _is_weak(result: Result) -> bool:
    return bool(result.verdict.unjudged) or any(output.weak for output in result.verdict.outputs)


def _print_table(
    rows: Sequence[tuple[VerdictKind, tuple[str, ...]]], stream: IO[str], color: bool | None
) -> None:
    """By rich where it fits; in plain columns in a pipe; else with every note on a line of its own."""
    plain = [HEADINGS, *(cells for _, cells in rows)]
    width = _width(stream)
    if width is None or len(rows) > FOLDED:
        lines = list(plain_table(plain))
    elif sum(max(map(_columns, column)) + 2 for column in zip(*plain, strict=True)) <= width:
        _print_rich(rows, stream, color)
        return
    else:
        # Without the note, and without the operator where it is the same in every row: ids stay whole.
        drop = {len(HEADINGS) - 1} | ({1} if len({cells[1] for _, cells in rows}) == 1 else set())
        kept = [tuple(c for i, c in enumerate(cells) if i not in drop) for cells in plain]
        lines = list(plain_table(kept))
        lines[1:] = [
            f"{line}\n    {cells[-1]}" if cells[-1] else line
            for line, (_, cells) in zip(lines[1:], rows, strict=True)
        ]
    paint = width is not None and (color if color is not None else _wants_color())
    for word, line in zip([None, *(word for word, _ in rows)], lines, strict=True):
        if paint and word:
            bare(stream).write(f"{_painted(line, word)}\n")
        else:
            stream.write(f"{line}\n")


def _width(stream: IO[str]) -> int | None:
    """The columns of a terminal, None for anything else."""
    if not stream.isatty():
        return None
    try:
        return os.get_terminal_size(stream.fileno()).columns or 80
    except (OSError, ValueError, AttributeError):
        return 80


def row(result: Result) -> tuple[str, ...]:
    """The cells of one result, in the order of :data:`HEADINGS`."""
    spec, output = lead_spec(result), worst_output(result)
    worst = output.worst[0] if output is not None and output.worst else None
    return (
        one_line(result.case.id),
        one_line(result.case.operator),
        spec.dtype if spec is not None else "-",
        shape_text(spec.shape) if spec is not None else "-",
        verdict_text(result),
        share_text(output.used) if output is not None else "-",
        error_text(worst.absolute) if worst is not None else "0" if output is not None else "-",
        error_text(worst.ulp) if worst is not None else "0" if output is not None else "-",
        one_line(note_text(result)),
    )


def plain_table(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Columns padded to their widest cell, two spaces apart; the first row is the heading."""
    widths = [max(map(_columns, column)) for column in zip(*rows, strict=True)]
    right = [name in _RIGHT for name in rows[0]]
    for cells in rows:
        padded = [
            " " * (width - _columns(cell)) + cell if flush else cell + " " * (width - _columns(cell))
            for cell, width, flush in zip(cells, widths, right, strict=True)
        ]
        yield "  ".join(padded).rstrip()


def _columns(text: str) -> int:
    """How many columns a text takes: two for each Chinese character."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


_ANSI = {
    VerdictKind.PASS: "32",
    VerdictKind.FAIL: "1;31",
    VerdictKind.ERROR: "1;35",
    VerdictKind.SKIP: "33",
    VerdictKind.KNOWN: "36",
}


def _wants_color() -> bool:
    return not os.environ.get("NO_COLOR") and os.environ.get("TERM") not in ("dumb", "unknown")


def _painted(line: str, word: VerdictKind) -> str:
    """The line with its verdict in colour: the first time that the word stands between two columns."""
    before, found, after = line.partition(f"  {word.value} ")
    return f"{before}  \x1b[{_ANSI[word]}m{word.value}\x1b[0m {after}" if found else line


def _print_rich(
    rows: Sequence[tuple[VerdictKind, tuple[str, ...]]], stream: IO[str], color: bool | None
) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console(file=bare(stream), no_color=None if color is None else not color, highlight=False)
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
    counts: dict[str, Counter[VerdictKind]] = {}
    for result in results:
        counts.setdefault(result.case.path, Counter())[result.verdict.word] += 1
    for path, words in counts.items():
        said = ", ".join(f"{words[w]:,} {w.value}" for w in VerdictKind if words[w])
        yield f"{in_line(path)}: {count_text(sum(words.values()), 'case')}: {said}"


def _notes(results: Sequence[Result]) -> dict[str, list[str]]:
    """Notes of cases that did not fail, gathered: a divergence is said once, with the cases it touches."""
    found: dict[str, list[str]] = {}
    for result in results:
        if result.verdict.word not in _SHOWN:
            for note in result.verdict.notes:
                found.setdefault(note, []).append(result.case.id)
    return found
