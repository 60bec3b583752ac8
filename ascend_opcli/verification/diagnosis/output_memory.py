"""What stands in the output's memory instead of results: poison, an earlier call, another place's values."""

from __future__ import annotations

from collections import Counter

import numpy as np

from ascend_opcli.tensors.dtypes import round_to
from ascend_opcli.tensors.flat import take
from ascend_opcli.verification.compare.elements import wide
from ascend_opcli.verification.diagnosis.evidence import NEARER, NEARLY_ALL, Evidence
from ascend_opcli.verification.diagnosis.explanation import Explanation, elements
from ascend_opcli.verification.diagnosis.places import multiple

POISONS = (0x7F, 0xA5)
"""What output buffers are filled with before a call."""

WINDOW = 1 << 18
"""Elements on either side of a wrong one in which its value is looked for."""

PROBES = 6


def not_written(e: Evidence) -> Explanation | None:
    """Elements that the device path saw to be untouched."""
    written = e.comparison.written
    if written is None:
        return None
    share = e.share(~take(written, e.at))
    if share < NEARLY_ALL:
        return None
    if written.any():
        return Explanation("the kernel did not write {these}", share)
    return Explanation(
        "the kernel wrote nothing: the whole output is as it was before the call", complete=True
    )


def poison_bytes(e: Evidence) -> Explanation | None:
    """The bytes of the poison, where nothing else tells what was written."""
    if e.raw.itemsize == 1:  # 0x7F is the largest int8, and nothing special in the others
        return None
    octets = np.ascontiguousarray(e.raw).view(np.uint8).reshape(len(e.raw), -1)
    for poison in POISONS:
        there = (octets == poison).all(axis=1)
        text = (
            f"got is the poison 0x{poison:X} of before the call, in {{these}}: not written, or added onto it"
        )
        if found := e.explained(there, text, complete=bool(there.all())):
            return found
    return None


def onto_poison(e: Evidence) -> Explanation | None:
    """Whole numbers that were added onto the poison; in floats it swallows what is added."""
    if e.raw.dtype.kind not in "iu" or e.raw.itemsize == 1:
        return None
    poison = np.full(e.raw.itemsize, POISONS[0], np.uint8).view(e.raw.dtype)
    added = e.raw - poison == take(e.golden, e.at).astype(e.raw.dtype, copy=False)
    return e.explained(added, "got is the golden added onto what the output held before the call, in {these}")


def earlier_call(e: Evidence) -> Explanation | None:
    """The right output of an earlier call that this one did not replace.

    Right: much nearer to its own golden than to this one's. A call that was wrong in the same way, or had the same
    golden, has left nothing.
    """
    for back, left in enumerate(e.comparison.earlier, 1):
        there = e.at < left.output.size
        old, own = (np.full(len(e.at), np.nan, e.x.dtype) for _ in range(2))
        old[there] = wide(take(left.output, e.at[there]))
        own[there] = wide(round_to(take(left.golden, e.at[there]), e.dtype))
        off = np.where(old == own, 0.0, np.abs(old - own))
        told = (e.x == old) & (e.x != e.rounded) & (e.x != 0) & (off * NEARER <= e.error)
        share = e.share(told)
        if share >= NEARLY_ALL and (e.places.count < 4 or len(np.unique(e.x[told & e.wrong])) > 3):
            call = "the previous call" if back == 1 else f"an earlier call ({back} calls before)"
            return Explanation(f"got is what {call} left in {e.comparison.name}, in {{these}}: stale", share)
    return None


def moved(e: Evidence) -> Explanation | None:
    """The golden of another element, always as far away: shifted, or a block written twice."""
    wrong = np.flatnonzero(e.wrong & np.isfinite(e.x) & (e.x != 0))
    if len(wrong) < 3 or len(np.unique(e.x[wrong])) < 3 or e.x.dtype.kind == "c":
        return None
    probes = wrong[np.linspace(0, len(wrong) - 1, min(PROBES, len(wrong))).astype(int)]
    votes: Counter[int] = Counter()
    for probe in np.unique(probes):
        place = int(e.at[probe])
        low, high = max(0, place - WINDOW), min(e.places.total, place + WINDOW)
        near = wide(_stretch(e.golden, low, high))
        hits = np.flatnonzero(np.abs(near - e.x[probe]) <= max(e.ulp[probe], abs(e.x[probe]) * 1e-6))
        votes.update({place - low - int(hit) for hit in hits[:4096]})
    votes.pop(0, None)
    if not votes:
        return None
    most = max(votes.values())
    if most < 0.8 * len(np.unique(probes)):
        return None
    for shift in sorted((s for s, n in votes.items() if n == most), key=abs)[:4]:
        other = _shifted(e, shift)
        share = e.share(e.alike(other) & ~np.isnan(other))
        if share >= NEARLY_ALL:
            way = "before" if shift > 0 else "after"
            size = f"{elements(abs(shift))}{multiple(e, abs(shift))}"
            text = f"got is the golden of the place {size} {way} it, in {{these}}: moved, or a block repeated"
            return Explanation(text, share, complete=share == 1 and e.agrees(other))
    return None


def _stretch(golden: np.ndarray, low: int, high: int) -> np.ndarray:
    if golden.flags.c_contiguous:
        return golden.reshape(-1)[low:high]
    return take(golden, np.arange(low, high))


def _shifted(e: Evidence, shift: int) -> np.ndarray:
    source = e.at - shift
    inside = (source >= 0) & (source < e.places.total)
    other = np.array(e.rounded)
    other[inside] = wide(round_to(take(e.golden, source[inside]), e.dtype))
    return other


def transposed_output(e: Evidence) -> Explanation | None:
    """The right values with two neighbouring axes exchanged."""
    for axis in range(len(e.shape) - 1, 0, -1):
        if min(e.shape[axis], e.shape[axis - 1]) < 2:
            continue
        other = wide(round_to(take(np.swapaxes(e.golden, axis - 1, axis), e.at), e.dtype))
        share = e.share(e.alike(other))
        if share >= NEARLY_ALL and e.agrees(other) and len(np.unique(e.x[e.wrong])) > 1:
            text = f"got is the golden with the axes {axis - 1} and {axis} exchanged: written transposed"
            return Explanation(text, share, complete=True)
    return None
