"""The pictures of an output as inline SVG: where its mismatches lie, how far off it is, got against golden.

Colours are classes that the page's style gives, so that they follow the light and the dark scheme.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence

from ascend_opcli.model import ULP_BINS, Number, OutputReport
from ascend_opcli.reporting.wording import count_text, error_text

_WIDTH, _STRIP, _BARS = 420, 26, 110
_SCATTER = 220
_MARGIN = 8


def _edge(value: float) -> str:
    return f"≤{value / 1024:g}k" if value >= 1024 else f"≤{value:g}"


BIN_NAMES = (*map(_edge, ULP_BINS), "more", "NaN")


def of(output: OutputReport) -> Iterator[tuple[str, str]]:
    """Caption and picture of all that the output's report holds."""
    if output.mismatch_strip:
        wrong = sum(output.mismatch_strip)
        caption = f"where the {count_text(wrong, 'wrong element')} lie, from the first element to the last"
        sizes = _cell_sizes(output.census.total, len(output.mismatch_strip))
        yield caption, strip([n / (size or 1) for n, size in zip(output.mismatch_strip, sizes, strict=True)])
    if sum(output.ulp_histogram):
        bars = list(zip(BIN_NAMES, output.ulp_histogram, strict=True))
        yield (
            "wrong elements by their error in ulp (heights are logarithmic; NaN: not a number, or Inf)",
            histogram(bars),
        )
    points = [*output.pairs, *((e.golden, e.got) for e in output.worst)]
    svg = scatter(points)
    if svg:
        many = f"{len(output.pairs)} elements spread over the output and the worst ones"
        yield f"got (up) against golden (right), {many}; on the dashed line they agree", svg


def _cell_sizes(total: int, cells: int) -> list[int]:
    """How many elements fall into each cell; element p into the cell p * cells // total."""
    edges = [-(-n * total // cells) for n in range(cells + 1)]
    return [b - a for a, b in itertools.pairwise(edges)]


def stacked_bar(parts: Sequence[tuple[str, int]]) -> str:
    """Shares of a whole side by side; a part that is there is at least two units wide."""
    total = sum(count for _, count in parts) or 1
    widths = [max(2.0, count / total * _WIDTH) if count else 0.0 for _, count in parts]
    scale = _WIDTH / (sum(widths) or 1)
    drawn, at = [], 0.0
    for (name, _), width in zip(parts, widths, strict=True):
        if width:
            drawn.append(
                f'<rect class="c-{name}" x="{at:.1f}" y="0" width="{width * scale:.1f}" height="14"/>'
            )
            at += width * scale
    label = ", ".join(f"{name} {count}" for name, count in parts)
    return _svg(_WIDTH, 14, label, "".join(drawn))


def strip(shares: Sequence[float]) -> str:
    """The flattened output from its first element to its last; the fuller a column, the more of it is wrong."""
    width = _WIDTH / max(1, len(shares))
    drawn = [f'<rect class="c-ground" x="0" y="0" width="{_WIDTH}" height="{_STRIP}"/>']
    for n, share in enumerate(shares):
        if share > 0:
            # One wrong element among millions must be seen.
            height = max(4.0, min(1.0, share) * _STRIP)
            drawn.append(
                f'<rect class="c-mark" x="{n * width:.2f}" y="{_STRIP - height:.1f}"'
                f' width="{max(width, 1.0):.2f}" height="{height:.1f}"/>'
            )
    wrong = sum(share > 0 for share in shares)
    return _svg(_WIDTH, _STRIP, f"mismatches in {wrong} of {len(shares)} pieces", "".join(drawn))


def histogram(bars: Sequence[tuple[str, int]]) -> str:
    """Counts as bars on a logarithmic scale, which lets one element be seen beside millions."""
    most = math.log1p(max((count for _, count in bars), default=0)) or 1.0
    width = _WIDTH / max(1, len(bars))
    drawn = []
    for n, (name, count) in enumerate(bars):
        height = math.log1p(count) / most * (_BARS - 34)
        left = n * width
        if count:
            top = _BARS - 16 - height
            drawn.append(
                f'<rect class="c-bar" x="{left + 1:.1f}" y="{top:.1f}" width="{width - 2:.1f}" height="{height:.1f}"/>'
                f'<text x="{left + width / 2:.1f}" y="{top - 3:.1f}" text-anchor="middle">{_short(count)}</text>'
            )
        drawn.append(f'<text x="{left + width / 2:.1f}" y="{_BARS - 3}" text-anchor="middle">{name}</text>')
    label = ", ".join(f"{name}: {count}" for name, count in bars if count)
    return _svg(_WIDTH, _BARS, label, "".join(drawn))


def _short(count: int) -> str:
    for size, name in ((10**9, "G"), (10**6, "M"), (10**3, "k")):
        if count >= 10 * size:
            return f"{count / size:.3g}{name}"
    return str(count)


def scatter(points: Sequence[tuple[Number, Number]]) -> str:
    """Pairs of golden and got in one square; nothing where fewer than two are finite and real."""
    real = [
        (float(a), float(b))
        for a, b in points
        if not isinstance(a, complex) and not isinstance(b, complex) and math.isfinite(a) and math.isfinite(b)
    ]
    if len(real) < 2:
        return ""
    values = [v for pair in real for v in pair]
    low, high = min(values), max(values)
    # Halves first: the difference of two large numbers overflows.
    span = high / 2 - low / 2
    if not span:
        return ""
    inner = _SCATTER - 2 * _MARGIN

    def at(value: float) -> float:
        return _MARGIN + (value / 2 - low / 2) / span * inner

    ends = f'x1="{_MARGIN}" y1="{_SCATTER - _MARGIN}" x2="{_SCATTER - _MARGIN}" y2="{_MARGIN}"'
    drawn = [
        f'<rect class="c-axis" x="0.5" y="0.5" width="{_SCATTER - 1}" height="{_SCATTER - 1}"/>',
        f'<line class="c-equal" {ends}/>',
        *(
            f'<circle class="c-mark" cx="{at(golden):.1f}" cy="{_SCATTER - at(got):.1f}" r="3"/>'
            for golden, got in real
        ),
        f'<text x="4" y="{_SCATTER + 13}">{error_text(low)}</text>',
        f'<text x="{_SCATTER - 4}" y="{_SCATTER + 13}" text-anchor="end">{error_text(high)}</text>',
    ]
    label = f"{len(real)} elements between {error_text(low)} and {error_text(high)}"
    return _svg(_SCATTER, _SCATTER + 18, label, "".join(drawn), "auto")


def _svg(width: int, height: int, label: str, content: str, rendering: str = "crispEdges") -> str:
    return (
        f'<svg role="img" aria-label="{label}" width="{width}" height="{height}"'
        f' viewBox="0 0 {width} {height}" shape-rendering="{rendering}">{content}</svg>'
    )
