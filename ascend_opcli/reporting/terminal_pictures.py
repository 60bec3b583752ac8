"""Pictures of a failed output in characters: where its wrong elements lie, and how far off they are."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import IO

from ascend_opcli.model import ULP_BINS, OutputReport

SMALLEST = 16
"""Elements from which on an output is drawn: of fewer, the worst elements say as much."""

BAR = 30
"""Characters of the longest bar of a histogram."""

# Nothing wrong, then more and more of a cell, then all of it.
_BLOCKS = "\u00b7\u2581\u2582\u2583\u2584\u2585\u2586\u2587\u2588"
_ASCII = ".:-=+*%@#"


def picture_lines(output: OutputReport, *, ascii_only: bool) -> Iterator[str]:
    """The strip and the histogram of an output; nothing where there is nothing to be drawn."""
    total = math.prod(output.shape)
    if total < SMALLEST or not any(output.mismatch_strip):
        return
    cells = len(output.mismatch_strip)
    drawn = strip(output.mismatch_strip, total, ascii_only=ascii_only)
    each = f"{total // cells:,}" if total % cells == 0 else f"about {total / cells:,.1f}"
    yield f"where: |{drawn}| {each} element{'' if total == cells else 's'} a character"
    if any(output.ulp_histogram) and "float" in output.dtype:
        yield from histogram(output.ulp_histogram, ascii_only=ascii_only)


def strip(wrong: tuple[int, ...], total: int, *, ascii_only: bool) -> str:
    """A character a cell, the denser the more of its elements are wrong; one wrong element shows."""
    marks, cells = _ASCII if ascii_only else _BLOCKS, len(wrong)
    drawn = []
    for cell, count in enumerate(wrong):
        # The elements i with i * cells // total == cell: so they were counted.
        size = -(-(cell + 1) * total // cells) - -(-cell * total // cells)
        drawn.append(marks[-(-min(count, size) * (len(marks) - 1) // max(1, size))])
    return "".join(drawn)


def histogram(counts: tuple[int, ...], *, ascii_only: bool) -> Iterator[str]:
    """A line a bin from the first that holds anything to the last; NaN and Inf where there are any."""
    names = [*(f"<= {edge:,.6g}" for edge in ULP_BINS), f"> {ULP_BINS[-1]:,.0f}", "NaN or Inf"]
    used = [n for n, count in enumerate(counts[:-1]) if count]
    shown = [*range(used[0], used[-1] + 1)] if used else []
    shown += [len(counts) - 1] if counts[-1] else []
    most, width = max(counts), max(len(f"{counts[n]:,}") for n in shown)
    yield "ulp errors of the wrong elements looked at:"
    for n in shown:
        bar = ("#" if ascii_only else "\u2588") * -(-counts[n] * BAR // most)
        yield f"  {names[n]:>10} {counts[n]:>{width},} {bar}".rstrip()


def draws_blocks(stream: IO[str]) -> bool:
    """Whether a stream takes more than ASCII: its encoding is one of Unicode."""
    return (getattr(stream, "encoding", None) or "").lower().startswith("utf")
