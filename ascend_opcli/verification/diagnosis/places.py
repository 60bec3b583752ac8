"""Where the wrong elements lie along the output: its end, a stretch, a period, one index of an axis."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator

import numpy as np

from ascend_opcli.verification.diagnosis.evidence import NEARLY_ALL, Evidence
from ascend_opcli.verification.diagnosis.finding import Finding, elements

BLOCK_BYTES = 32
"""The unit in which Ascend kernels copy."""

PRECISE = 0.9
"""The part of the elements of a place that must be wrong for it to be named."""

LOOKED_AT = 1 << 16
"""Wrong elements that a period is looked for in."""


def single(e: Evidence) -> Finding | None:
    """One wrong element."""
    if e.places.count != 1 or e.places.total == 1:
        return None
    place = e.places.first
    word = {0: "the first", e.places.total - 1: "the last"}.get(place, "one")
    where = f", {e.index(place)}," if len(e.shape) > 1 or word == "one" else ""
    return Finding(f"only {word} of {elements(e.places.total)}{where} is wrong")


def one_stretch(e: Evidence) -> Finding | None:
    """The tail, the head, or one stretch between right elements."""
    places = e.places
    length = places.last - places.first + 1
    precise = places.count / length
    if places.count < 2 or precise < PRECISE or length > 0.98 * places.total:
        return None
    # The very last elements may be right by chance.
    if places.total - 1 - places.last <= 0.05 * length:
        return Finding(_tail(e, places.total - places.first), precise=precise)
    size = f"{length * e.raw.itemsize:,} bytes"
    if places.first == 0:
        return Finding(
            f"only the first {length:,} of {elements(places.total)} are wrong"
            f" ({size}{multiple(e, length)}): {_up_to(length)}",
            precise=precise,
        )
    text = (
        f"only elements {places.first:,} to {places.last:,} are wrong"
        f" ({length:,} of {places.total:,}, {size}{_from(e, places.first)})"
    )
    return Finding(text, precise=precise)


def _up_to(length: int) -> str:
    return f"element {length:,} is the first right one"


def _tail(e: Evidence, length: int) -> str:
    total, size = e.places.total, e.raw.itemsize
    first = total - length
    start_of_block = (total * size - 1) // BLOCK_BYTES * BLOCK_BYTES
    what = f"the last {length:,} of {elements(total)}"
    if start_of_block and first * size >= start_of_block:
        what = f"the last block of {BLOCK_BYTES} bytes, {elements(length)} of {total:,},"
    elif length > total // 2:
        return (
            f"from element {first:,} on everything is wrong"
            f" ({length:,} of {elements(total)}{_from(e, first)})"
        )
    verb = "is" if what.startswith("the last block") else "are"
    return f"only {what} {verb} wrong, from element {first:,} on ({length * size:,} bytes{_from(e, first)})"


def _from(e: Evidence, first: int) -> str:
    """What the place where it begins is a multiple of, the larger the more telling."""
    tile = first & -first
    rows = _name_of(e, first)
    if rows:
        return f"; {first:,} is {rows}"
    return f"; {first:,} = {first // tile:,} x {tile:,}" if 64 <= tile < first else ""


def multiple(e: Evidence, count: int) -> str:
    """`` (3 rows)`` where a count is that many rows or planes."""
    name = _name_of(e, count)
    return f", {name}" if name else ""


def _name_of(e: Evidence, count: int) -> str:
    for axis, stride in enumerate(_strides(e.shape)[:-1]):
        if stride > 1 and count % stride == 0 and count // stride < e.shape[axis]:
            name = _slice_name(len(e.shape), axis)
            many = count // stride
            return f"{many:,} {name}{'' if many == 1 else 's'} of {stride:,}"
    return ""


def _slice_name(rank: int, axis: int) -> str:
    """What one index of an axis selects."""
    if axis == rank - 1:
        return "column"
    if axis == rank - 2:
        return "row"
    return "channel" if axis == 1 else f"slice of axis {axis}"


def _strides(shape: tuple[int, ...]) -> list[int]:
    return [math.prod(shape[axis + 1 :]) for axis in range(len(shape))]


def one_index(e: Evidence) -> Finding | None:
    """A few neighbouring indices of one axis: a column, a row, a channel."""
    listed, best = e.places.listed, (math.inf, "", 0.0)
    span = e.places.total if e.places.all_listed else int(listed[-1]) + 1
    for axis, stride in enumerate(_strides(e.shape)):
        dim = e.shape[axis]
        if dim < 2 or e.places.count < 2:
            continue
        there = listed // stride % dim
        low, high = int(there.min()), int(there.max())
        wide = high - low + 1
        precise = len(listed) / (span / dim * wide)
        if wide <= dim // 2 and precise >= PRECISE and wide / dim < best[0]:
            best = wide / dim, _axis_text(e, axis, stride, low, high), min(precise, 1.0)
    return Finding(best[1], precise=best[2]) if best[1] else None


def _axis_text(e: Evidence, axis: int, stride: int, low: int, high: int) -> str:
    dim, rank = e.shape[axis], len(e.shape)
    which = f"index {low}" if low == high else f"the indices {low} to {high}"
    name = _slice_name(rank, axis)
    ends = {
        0: f", the first {name}" if low == high else "",
        dim - 1: f", the last {name}" if low == high else "",
    }
    said = (
        ends.get(high if low != 0 else low, "") or f", {name} {low}"
        if low == high
        else f", {name}s {low} to {high}"
    )
    if axis == 0:
        return f"only {which} of axis 0 ({dim:,} long{said}) {'is' if low == high else 'are'} wrong"
    return (
        f"the errors repeat with a period of {elements(dim * stride)}, at offset {low * stride:,}"
        f"{_width((high - low + 1) * stride)}: {which} of axis {axis} ({dim:,} long{said})"
    )


def _width(width: int) -> str:
    return "" if width == 1 else f", {width:,} each time"


def period(e: Evidence) -> Finding | None:
    """The same offsets after every so many elements: tiles, cores, rows."""
    listed = e.places.listed[:LOOKED_AT]
    if len(listed) < 3:
        return None
    span = e.places.total if len(listed) == e.places.count else int(listed[-1]) + 1
    for size in sorted(set(_periods(e, listed))):
        offsets = listed % size
        low, high = int(offsets.min()), int(offsets.max())
        width = high - low + 1
        times = -(-(span - low) // size)
        if times < 3 or width > size // 2 or len(np.unique(listed // size)) < 3:
            continue
        # The last time may be cut short by the end of the output.
        there = (times - 1) * width + min(width, span - low - (times - 1) * size)
        precise = len(listed) / there
        if precise >= PRECISE:
            bytes_ = size * e.raw.itemsize
            named = multiple(e, size) or (f", {bytes_:,} bytes" if bytes_ % BLOCK_BYTES == 0 else "")
            text = (
                f"the errors repeat with a period of {elements(size)}{named},"
                f" at offset {low:,}{_width(width)}"
            )
            return Finding(text, precise=min(precise, 1.0))
    return None


def _periods(e: Evidence, listed: np.ndarray) -> Iterator[int]:
    starts = listed[np.concatenate(([True], np.diff(listed) > 1))]
    if len(starts) >= 3:
        (step, times), *_ = Counter(np.diff(starts).tolist()).most_common(1)
        if times >= 0.8 * (len(starts) - 1):
            yield int(step)
    for stride, dim in zip(_strides(e.shape), e.shape, strict=True):
        if stride * dim > 1:
            yield stride * dim
    yield from (1 << n for n in range(3, max(3, e.places.total.bit_length())))


def from_on(e: Evidence) -> Finding | None:
    """Scattered errors, but none before an index far into the output."""
    places = e.places
    right = places.first
    after = places.total - places.first
    # By chance, so long a run of right elements would hardly come first.
    if places.count < 32 or right < 0.2 * places.total or right < 16 * after / places.count:
        return None
    return Finding(
        f"no element before {places.first:,} is wrong, {places.count:,} of the {after:,} from there on are",
        precise=places.count / after,
    )


__all__ = ["NEARLY_ALL", "from_on", "multiple", "one_index", "one_stretch", "period", "single"]
