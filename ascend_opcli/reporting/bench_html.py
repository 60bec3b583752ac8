"""A timing as one HTML page: time and bandwidth over size, both axes logarithmic, and the table.

Style and pictures are inline and there is no script; every name is escaped, and a content security policy keeps the
page from loading anything.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from ascend_opcli.benchmarking.measurement import Measurement
from ascend_opcli.reporting import bench_text
from ascend_opcli.reporting.escape import xml
from ascend_opcli.reporting.wording import shape_text

WIDTH, HEIGHT = 680, 420
LEFT, RIGHT, TOP, BOTTOM = 76, 20, 16, 56
MOST_SERIES = 12
COLORS = ("#2f6fb5", "#c0532b", "#3b8a4c", "#8d5bb0", "#a8791b", "#27848c")

_STYLE = """
:root{color-scheme:light dark;--bg:#fff;--fg:#1c1e21;--soft:#5f6670;--line:#d9dde2}
@media (prefers-color-scheme:dark){:root{--bg:#16181b;--fg:#e4e6e9;--soft:#9aa2ac;--line:#33383e}}
body{margin:0 auto;padding:1.5rem 2rem 4rem;max-width:1500px;background:var(--bg);color:var(--fg);
font:15px/1.5 system-ui,-apple-system,"Segoe UI","Noto Sans",sans-serif}
h1{font-size:1.5rem;margin:0 0 .3rem}h2{font-size:1.1rem;margin:1.6rem 0 .4rem}p{margin:.2rem 0}
figure{margin:0}.wide{overflow-x:auto}table{border-collapse:collapse;font-size:.9em;white-space:nowrap}
th,td{padding:.2rem .7rem;border-bottom:1px solid var(--line);text-align:left}
td.n,th.n{text-align:right;font-variant-numeric:tabular-nums}
.plots{display:flex;flex-wrap:wrap;gap:1rem}svg{max-width:100%;height:auto}
svg text{fill:var(--fg);font-size:12px}svg .soft{fill:var(--soft)}svg .grid{stroke:var(--line)}
svg .bound{stroke:var(--fg);stroke-dasharray:6 4;fill:none}svg .frame{stroke:var(--soft);fill:none}
"""


def page(
    measured: Sequence[Measurement], summary: Sequence[str], fingerprint: Mapping[str, str]
) -> Iterator[str]:
    """The whole page."""
    yield '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">\n'
    yield (
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
        '<meta name="viewport" content="width=device-width">\n'
    )
    yield f"<title>opcli bench</title><style>{_STYLE}</style></head><body>\n<h1>opcli bench</h1>\n"
    yield from (f"<p>{xml(line)}</p>\n" for line in summary)
    plotted = [p for m in measured if (p := _point(m)) is not None]
    if plotted:
        copy = next((m.copy for m in measured if m.copy), None)
        peak = next((m.peak for m in measured if m.peak), None)
        bounds = [
            (name, rate)
            for name, rate in (("a copy in the same run", copy), ("peak", peak))
            if rate is not None
        ]
        yield '<div class="plots">\n<figure><h2>Time over bytes moved</h2>\n'
        yield plot(plotted, lambda p: p.seconds * 1e6, [(n, _time_at(r)) for n, r in bounds], "us")
        yield "</figure>\n<figure><h2>Bandwidth over bytes moved</h2>\n"
        rates = [(n, _rate_at(r)) for n, r in bounds]
        yield plot(plotted, lambda p: p.bytes / p.seconds / 1e9, rates, "GB/s")
        yield "</figure>\n</div>\n"
    for title, headings, cells in (
        ("Times", bench_text.HEADINGS, bench_text.rows(measured, plain=False)),
        ("The calling thread", bench_text.HOST_HEADINGS, bench_text.host_rows(measured)),
    ):
        rows = bench_text.used(headings, cells)
        if len(rows) > 1:
            yield f'<h2>{title}</h2>\n<div class="wide"><table>\n'
            yield from (_row(r, "th" if i == 0 else "td", rows[0]) for i, r in enumerate(rows))
            yield "</table></div>\n"
    for m in measured:
        if m.reason:
            yield f"<p>{m.word.value} {xml(m.name)}: {xml(m.reason)}</p>\n"
    for note in dict.fromkeys(n for m in measured for n in m.notes):
        yield f"<p>note: {xml(note)}</p>\n"
    if fingerprint:
        yield "<h2>Environment</h2>\n<table>\n"
        yield from (f"<tr><td>{xml(k)}</td><td>{xml(v)}</td></tr>\n" for k, v in fingerprint.items())
        yield "</table>\n"
    yield "</body></html>\n"


def _row(cells: Sequence[str], tag: str, headings: Sequence[str]) -> str:
    made = "".join(
        f"<{tag}{' class=n' if name in bench_text.RIGHT else ''}>{xml(cell)}</{tag}>"
        for name, cell in zip(headings, cells, strict=True)
    )
    return f"<tr>{made}</tr>\n"


# --- the plot ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class PlotPoint:
    """A time at a size, of a series."""

    series: str
    title: str
    bytes: int
    seconds: float


def _point(m: Measurement) -> PlotPoint | None:
    if m.statistics is None or m.statistics.median <= 0 or m.bytes <= 0:
        return None
    series = f"{m.case.operator} {m.dtype}"
    return PlotPoint(series, f"{m.name} {shape_text(m.shape)}", m.bytes, m.statistics.median)


def _time_at(rate: float) -> Callable[[float], float]:
    return lambda size: size / rate * 1e6


def _rate_at(rate: float) -> Callable[[float], float]:
    return lambda _size: rate / 1e9


Bound = tuple[str, Callable[[float], float]]


def plot(
    points: Sequence[PlotPoint], value: Callable[[PlotPoint], float], bounds: Sequence[Bound], unit: str
) -> str:
    """A log-log plot of ``value`` over bytes as SVG, with a dashed line for each bound."""
    sizes = [p.bytes for p in points]
    low_x, high_x = _decades(min(sizes), max(sizes))
    heights = [value(p) for p in points]
    heights += [f(x) for _, f in bounds for x in (min(sizes), max(sizes))]
    low_y, high_y = _decades(min(heights), max(heights))

    def at(x: float, y: float) -> tuple[float, float]:
        across = (math.log10(x) - low_x) / (high_x - low_x)
        up = (math.log10(y) - low_y) / (high_y - low_y)
        return LEFT + across * (WIDTH - LEFT - RIGHT), HEIGHT - BOTTOM - up * (HEIGHT - TOP - BOTTOM)

    parts = [f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" role="img">']
    for decade in range(low_x, high_x + 1):
        x, bottom = at(10.0**decade, 10.0**low_y)
        parts.append(f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="{TOP}" y2="{bottom:.1f}"/>')
        parts.append(
            f'<text class="soft" x="{x:.1f}" y="{bottom + 18:.1f}" text-anchor="middle">{_bytes(decade)}</text>'
        )
    for decade in range(low_y, high_y + 1):
        _, y = at(10.0**low_x, 10.0**decade)
        parts.append(f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>')
        parts.append(
            f'<text class="soft" x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{10.0**decade:g} {unit}</text>'
        )
    parts.append(
        f'<text class="soft" x="{(LEFT + WIDTH - RIGHT) / 2:.1f}" y="{HEIGHT - 8}" text-anchor="middle">'
        "bytes read and written a call</text>"
    )
    for name, f in bounds:
        ends = [at(10.0**x, f(10.0**x)) for x in (low_x, high_x)]
        clipped = _clipped(ends)
        if clipped is None:
            continue
        (x1, y1), (x2, y2) = clipped
        parts.append(
            f'<path class="bound" d="M{x1:.1f} {y1:.1f}L{x2:.1f} {y2:.1f}"><title>{xml(name)}</title></path>'
        )
        parts.append(
            f'<text class="soft" x="{x2 - 4:.1f}" y="{max(y2 - 6, TOP + 10):.1f}" text-anchor="end">{xml(name)}</text>'
        )
    names = list(dict.fromkeys(p.series for p in points))
    for number, name in enumerate(names):
        color = COLORS[number % len(COLORS)]
        own = sorted((p for p in points if p.series == name), key=lambda p: p.bytes)
        places = [at(p.bytes, value(p)) for p in own]
        line = "L".join(f"{x:.1f} {y:.1f}" for x, y in places)
        parts.append(f'<path d="M{line}" fill="none" stroke="{color}" stroke-width="2"/>')
        for p, (x, y) in zip(own, places, strict=True):
            parts.append(
                f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" fill="{color}"><title>{xml(p.title)}:'
                f" {value(p):.4g} {unit}</title></circle>"
            )
        if number < MOST_SERIES:
            y = TOP + 14 + 16 * number
            parts.append(f'<rect x="{LEFT + 10}" y="{y - 9}" width="10" height="10" fill="{color}"/>')
            parts.append(f'<text x="{LEFT + 26}" y="{y}">{xml(name)}</text>')
    if len(names) > MOST_SERIES:
        parts.append(
            f'<text x="{LEFT + 26}" y="{TOP + 14 + 16 * MOST_SERIES}">and {len(names) - MOST_SERIES} more</text>'
        )
    parts.append(
        f'<rect class="frame" x="{LEFT}" y="{TOP}" width="{WIDTH - LEFT - RIGHT}" height="{HEIGHT - TOP - BOTTOM}"/>'
    )
    parts.append("</svg>\n")
    return "\n".join(parts)


def _decades(low: float, high: float) -> tuple[int, int]:
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    return first, max(last, first + 1)


def _clipped(ends: Sequence[tuple[float, float]]) -> tuple[tuple[float, float], tuple[float, float]] | None:
    """The part of a line from left to right that lies inside the frame."""
    (x1, y1), (x2, y2) = ends
    if y1 == y2:
        return ends[0], ends[1]
    inside = []
    for y in (TOP, HEIGHT - BOTTOM):
        x = x1 + (y - y1) * (x2 - x1) / (y2 - y1)
        inside.append((x, float(y)))
    kept = [e for e in ends if TOP <= e[1] <= HEIGHT - BOTTOM] + [p for p in inside if x1 <= p[0] <= x2]
    kept = sorted(kept)
    return (kept[0], kept[-1]) if len(kept) >= 2 else None


def _bytes(decade: int) -> str:
    for unit, power in (("TB", 12), ("GB", 9), ("MB", 6), ("kB", 3)):
        if decade >= power:
            return f"{10 ** (decade - power)} {unit}"
    return f"{10**decade} B" if decade >= 0 else f"{10.0**decade:g} B"
