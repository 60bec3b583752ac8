"""How times and rates are written, and the table of a timing on a terminal or in a pipe."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import IO

from ascend_opcli.benchmarking.measurement import Measurement, Speed, SpeedComparison, Statistics, Timed
from ascend_opcli.reporting.escape import one_line
from ascend_opcli.reporting.wording import count_text, shape_text

BAR = 20
"""Characters of a bar that reaches what a copy reaches."""

HEADINGS = (
    *("name", "dtype", "shape", "verdict", "time", "±", "p10", "p90", "min", "spread", "GB/s", "of copy"),
    *("of peak", "Gop/s", "GB/s over the ladder", "against"),
)
HOST_HEADINGS = ("name", "first call", "phase 1", "launch", "call", "launches", "sets", "flush", "samples")
RIGHT = frozenset(
    ("time", "±", "p10", "p90", "min", "spread", "GB/s", "of copy", "of peak", "Gop/s", *HOST_HEADINGS[1:])
)

NOT_CHECKED = "not checked"
HOST_LABEL = "NumPy reference on CPU, no operator was run"


def time_text(seconds: float | None) -> str:
    """``12.3 us``: four digits at most, in the unit that suits."""
    if seconds is None:
        return "-"
    for unit, scale in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= scale:
            return (
                f"{seconds / scale:.4g} {unit}" if seconds < 1e3 * scale else f"{seconds / scale:,.0f} {unit}"
            )
    return f"{seconds * 1e9:.3g} ns"


def rate_text(rate: float | None) -> str:
    """Bytes or operations a second, in thousands of millions."""
    if rate is None:
        return "-"
    value = rate / 1e9
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def share_text(part: float | None, whole: float | None) -> str:
    """One rate as a share of another."""
    if part is None or not whole:
        return "-"
    share = part / whole * 100
    return f"{share:.3g} %" if share < 100 else f"{share:,.0f} %"


def percent_text(share: float) -> str:
    """A small share."""
    return f"{share * 100:.2g} %" if share < 0.995 else f"{share * 100:.0f} %"


def size_text(size: int) -> str:
    """Bytes in binary units."""
    for unit, scale in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if size >= scale:
            return f"{size / scale:.4g} {unit}"
    return f"{size} B" if size else "-"


def comparison_text(comparison: SpeedComparison | None) -> str:
    """``SLOWER 1.10 (1.09 to 1.11)``."""
    if comparison is None:
        return ""
    word = comparison.speed.value
    if comparison.ratio is None:
        return f"{word}: {comparison.reason}"
    figures = f"{word} {comparison.ratio:.3f} ({comparison.low:.3f} to {comparison.high:.3f})"
    return f"{figures}: {comparison.reason}" if comparison.reason else figures


def bar_text(rate: float | None, full: float | None, *, plain: bool) -> str:
    """A bar of :data:`BAR` characters where ``rate`` reaches ``full``; it ends there, and a + says that it went on."""
    if rate is None or not full:
        return ""
    share = rate / full
    if plain:
        return "#" * min(BAR, round(share * BAR)) + ("+" if share > 1 else "")
    eighths = min(BAR * 8, round(share * BAR * 8))
    bar = "█" * (eighths // 8) + ("", "▏", "▎", "▍", "▌", "▋", "▊", "▉")[eighths % 8]
    return bar + ("+" if share > 1 else "")


def word_text(m: Measurement) -> str:
    """The verdict; a time whose result nobody has judged says so."""
    return m.word.value if m.checked or m.statistics is None else f"{m.word.value} ({NOT_CHECKED})"


def rows(measured: Sequence[Measurement], *, plain: bool = True) -> Iterator[tuple[str, ...]]:
    """The cells of the table, under :data:`HEADINGS`."""
    fastest = max((m.rate or 0.0 for m in measured), default=0.0)
    full = max([fastest, *(m.copy or 0.0 for m in measured)])
    for m in measured:
        s = m.statistics
        yield (
            m.name,
            m.dtype or "-",
            shape_text(m.shape) if m.dtype else "-",
            word_text(m),
            *_figures(s),
            rate_text(m.rate),
            share_text(m.rate, m.copy),
            share_text(m.rate, m.peak),
            rate_text(m.operation_rate),
            bar_text(m.rate, m.copy if (m.copy or 0.0) >= fastest else full, plain=plain),
            comparison_text(m.comparison),
        )


def _figures(s: Statistics | None) -> tuple[str, ...]:
    if s is None:
        return ("-",) * 6
    return (
        time_text(s.median),
        percent_text(s.uncertainty),
        time_text(s.p10),
        time_text(s.p90),
        time_text(s.least),
        percent_text(s.spread),
    )


def host_rows(measured: Sequence[Measurement]) -> Iterator[tuple[str, ...]]:
    """What the caller saw and how the samples were taken, under :data:`HOST_HEADINGS`."""
    for m in measured:
        if m.statistics is not None:
            yield (
                m.name,
                time_text(m.host.first),
                time_text(m.host.phase1),
                time_text(m.host.launch),
                time_text(m.host.total),
                f"{m.launches:,}",
                str(m.sets),
                size_text(m.flush),
                f"{len(m.statistics.samples):,}",
            )


def used(headings: Sequence[str], cells: Iterable[Sequence[str]]) -> list[tuple[str, ...]]:
    """A table with its heading, without the columns in which nothing stands."""
    made = [tuple(c) for c in cells]
    kept = [i for i in range(len(headings)) if any(c[i] not in ("", "-") for c in made)]
    return [tuple(c[i] for i in kept) for c in (tuple(headings), *made)]


def print_measured(measured: Sequence[Measurement], stream: IO[str], *, summary: Iterable[str]) -> None:
    """The table, the callers' times, what stands under single rows, and the summary.

    Names and reasons come from files, libraries and the environment: control characters are written as escapes.
    """
    if measured:
        plain = not str(getattr(stream, "encoding", None) or "").lower().startswith("utf")
        _print_table(used(HEADINGS, rows(measured, plain=plain)), stream)
        _print_table(used(HOST_HEADINGS, host_rows(measured)), stream, before="\n")
    for m in measured:
        if m.reason:
            _say(stream, f"{m.word.value} {m.name}: {m.reason}")
    for text, names in _notes(measured).items():
        more = f"{', '.join(names[:3])}{' ...' if len(names) > 3 else ''}"
        _say(stream, f"note: {text}")
        stream.write(f"  {count_text(len(names), 'case')}: {one_line(more)}\n")
    stream.write("\n")
    stream.writelines(one_line(line) + "\n" for line in summary)


def _say(stream: IO[str], line: str) -> None:
    stream.write(f"\n{one_line(line)}\n")


def _notes(measured: Sequence[Measurement]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for m in measured:
        for note in m.notes:
            found.setdefault(note, []).append(m.name)
    return found


def _print_table(table: Sequence[Sequence[str]], stream: IO[str], before: str = "") -> None:
    if len(table) < 2 or not table[0]:
        return
    stream.write(before)
    table = [[one_line(cell) for cell in cells] for cells in table]
    widths = [max(len(r[i]) for r in table) for i in range(len(table[0]))]
    for cells in table:
        padded = [
            cell.rjust(width) if name in RIGHT else cell.ljust(width)
            for cell, width, name in zip(cells, widths, table[0], strict=True)
        ]
        stream.write("  ".join(padded).rstrip() + "\n")


def summary_lines(measured: Sequence[Measurement], *, backend: str, seconds: float) -> list[str]:
    """What was timed, where, and what it was held against."""
    timed = [m for m in measured if m.statistics is not None]
    words = ", ".join(f"{n} {w.value}" for w in Timed if (n := sum(m.word is w for m in measured)))
    label = f"{HOST_LABEL}: " if backend == "host" else ""
    lines = [f"{label}{count_text(len(measured), 'case')}: {words or 'nothing was timed'}"]
    unchecked = sum(not m.checked for m in timed)
    if unchecked:
        lines.append(f"{NOT_CHECKED}: the results of {unchecked} of {count_text(len(timed), 'time')}")
    copy = next((m.copy for m in measured if m.copy), None)
    if timed and copy is not None:
        kind = "a copy within the device" if backend == "device" else "a copy in memory"
        lines.append(f"{kind} of more than the cache holds: {rate_text(copy)} GB/s, measured in this run")
    compared = [m.comparison for m in measured if m.comparison is not None]
    if compared:
        counts = ", ".join(f"{n} {s.value}" for s in Speed if (n := sum(c.speed is s for c in compared)))
        lines.append(f"against {compared[0].against}: {counts}")
    lines.append(f"time {seconds:.2f} s")
    if backend == "candidate":
        lines += [f"served by {by}" for by in dict.fromkeys(m.served_by for m in measured if m.served_by)]
    return lines
