"""Where the wrong elements lie along the output: its end, a stretch, a period, one index of an axis."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator

import numpy as np

from ascend_opcli.verification.diagnosis.evidence import Evidence
from ascend_opcli.verification.diagnosis.explanation import Explanation, elements

BLOCK_BYTES = 32
"""The unit in which Ascend kernels copy."""

PRECISE = 0.9
"""The part of the elements of a place that must be wrong for it to be named."""

LOOKED_AT = 1 << 16
"""Wrong elements that a period is looked for in."""


def single(e: Evidence) -> Explanation | None:
    """One wrong element."""
    if e.places.count != 1 or e.places.total == 1:
        return None
    place = e.places.first
    word = {0: "the first", e.places.total - 1: "the last"}.get(place, "one")
    where = f", {e.index(place)}," if len(e.shape) > 1 or word == "one" else ""
    return Explanation(f"only {word} of {elements(e.places.total)}{where} is wrong")


def one_stretch(e: Evidence) -> Explanation | None:
    """The tail, the head, or one stretch between right elements; where some in it are right, how many."""
    places = e.places
    length = places.last - places.first + 1
    precise = places.count / length
    if places.count < 2 or precise < PRECISE or length > 0.98 * places.total:
        return None
    # The very last elements may be right by chance.
    after = places.total - 1 - places.last
    if after <= 0.05 * length:
        length += after
        return Explanation(_tail(e, length), precise=places.count / length)
    size = f"{length * e.raw.itemsize:,} bytes"
    if places.first == 0:
        if precise == 1:
            text = (
                f"only the first {length:,} of {elements(places.total)} are wrong"
                f" ({size}{multiple(e, length)}): element {length:,} is the first right one"
            )
        else:
            text = (
                f"nearly all of the first {length:,} of {elements(places.total)} are wrong"
                f" ({_some(e, length)}; {size}{multiple(e, length)}), none after them"
            )
        return Explanation(text, precise=precise)
    if precise == 1:
        text = (
            f"only elements {places.first:,} to {places.last:,} are wrong"
            f" ({length:,} of {places.total:,}, {size}{_from(e, places.first)})"
        )
    else:
        text = (
            f"nearly all of the elements {places.first:,} to {places.last:,} are wrong"
            f" ({_some(e, length)}; {size}{_from(e, places.first)}), none of the others"
        )
    return Explanation(text, precise=precise)


def _some(e: Evidence, length: int) -> str:
    return f"{e.places.count:,} of {length:,}"


def _tail(e: Evidence, length: int) -> str:
    total, size = e.places.total, e.raw.itemsize
    first = total - length
    bytes_ = f"{length * size:,} bytes{_from(e, first)}"
    if e.places.count < length:
        if length > total // 2:
            return (
                f"from element {first:,} on nearly everything is wrong"
                f" ({_some(e, length)} elements{_from(e, first)}), nothing before it"
            )
        return (
            f"nearly all of the last {length:,} of {elements(total)} are wrong"
            f" ({_some(e, length)}; {bytes_}), from element {first:,} on, none before it"
        )
    block = (total * size - 1) // BLOCK_BYTES * BLOCK_BYTES
    if block and first * size == block:
        partly = "" if total * size - block == BLOCK_BYTES else ", partly filled"
        return (
            f"only the last{partly} block of {BLOCK_BYTES} bytes, {elements(length)} of {total:,}, is wrong,"
            f" from element {first:,} on ({bytes_})"
        )
    if length > total // 2:
        return (
            f"from element {first:,} on everything is wrong"
            f" ({length:,} of {elements(total)}{_from(e, first)})"
        )
    inside = f", inside the last block of {BLOCK_BYTES} bytes" if block and first * size > block else ""
    return f"only the last {length:,} of {elements(total)} are wrong, from element {first:,} on ({bytes_}){inside}"


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
        if stride > 1 and count % stride == 0 and 0 < count // stride < e.shape[axis]:
            many = count // stride
            return f"{many:,} {_slices(len(e.shape), axis, many)} of {stride:,}"
    return ""


def _slice_name(rank: int, axis: int) -> str:
    """What one index of an axis selects."""
    if axis == rank - 1:
        return "column"
    if axis == rank - 2:
        return "row"
    return "channel" if axis == 1 else "slice"


def _slices(rank: int, axis: int, many: int) -> str:
    name = _slice_name(rank, axis) + ("" if many == 1 else "s")
    return f"{name} of axis {axis}" if name.startswith("slice") else name


def _strides(shape: tuple[int, ...]) -> list[int]:
    return [math.prod(shape[axis + 1 :]) for axis in range(len(shape))]


def one_index(e: Evidence) -> Explanation | None:
    """A few neighbouring indices of one axis: a column, a row, a channel."""
    listed, best = e.places.listed, (math.inf, "", 0.0)
    if len(e.shape) < 2:
        return None  # a stretch, which has been looked for
    span = e.places.total if e.places.all_listed else int(listed[-1]) + 1
    for axis, stride in enumerate(_strides(e.shape)):
        dim = e.shape[axis]
        if dim < 2 or e.places.count < 2:
            continue
        there = listed // stride % dim
        low, high = int(there.min()), int(there.max())
        wide = high - low + 1
        count = _between(span, dim * stride, low * stride, wide * stride)
        precise = len(listed) / max(1, count)
        if wide <= dim // 2 and precise >= PRECISE and wide / dim < best[0]:
            text = _axis_text(e, axis, low, high, full=len(listed) == count) + _all_of(e, len(listed), count)
            best = wide / dim, text, min(precise, 1.0)
    return Explanation(best[1], precise=best[2]) if best[1] else None


def _between(span: int, period: int, low: int, width: int) -> int:
    """How many of the places below ``span`` lie in ``low`` to ``low + width`` of a period."""
    return span // period * width + min(max(span % period - low, 0), width)


def _all_of(e: Evidence, wrong: int, there: int) -> str:
    """How many of the elements of the place are wrong, unless all are; and what that was seen of."""
    some = "" if wrong == there else f"; {wrong:,} of the {there:,} elements there are wrong"
    if wrong == e.places.count:
        return some
    return f"{some}; by the first {wrong:,} of {e.places.count:,} wrong elements"


def _axis_text(e: Evidence, axis: int, low: int, high: int, *, full: bool) -> str:
    dim, rank, stride = e.shape[axis], len(e.shape), _strides(e.shape)[axis]
    which = f"index {low}" if low == high else f"the indices {low} to {high}"
    name = _slice_name(rank, axis)
    words = {0: f", the first {name}", dim - 1: f", the last {name}"}.get(low, f", {name} {low}")
    words = words if low == high else f", {name}s {low} to {high}"
    if axis == 0 and full:
        return f"only {which} of axis 0 ({dim:,} long{words}) {'is' if low == high else 'are'} wrong"
    if axis == 0:
        return f"all errors lie at {which} of axis 0 ({dim:,} long{words})"
    return (
        f"the errors repeat with a period of {elements(dim * stride)}, at offset {low * stride:,}"
        f"{_width((high - low + 1) * stride)}: {which} of axis {axis} ({dim:,} long{words})"
    )


def _width(width: int) -> str:
    return "" if width == 1 else f", {width:,} each time"


def period(e: Evidence) -> Explanation | None:
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
        there = _between(span, size, low, width)
        precise = len(listed) / there
        if precise >= PRECISE:
            bytes_ = size * e.raw.itemsize
            named = multiple(e, size) or (f", {bytes_:,} bytes" if bytes_ % BLOCK_BYTES == 0 else "")
            text = (
                f"the errors repeat with a period of {elements(size)}{named},"
                f" at offset {low:,}{_width(width)}{_all_of(e, len(listed), there)}"
            )
            return Explanation(text, precise=min(precise, 1.0))
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


def from_on(e: Evidence) -> Explanation | None:
    """Scattered errors, but none before an index far into the output."""
    places = e.places
    right = places.first
    after = places.total - places.first
    # By chance, so long a run of right elements would hardly come first.
    if places.count < 32 or right < 0.2 * places.total or right < 16 * after / places.count:
        return None
    return Explanation(
        f"no element before {places.first:,} is wrong, {places.count:,} of the {after:,} from there on are",
        precise=places.count / after,
    )
