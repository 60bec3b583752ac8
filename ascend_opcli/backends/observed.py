"""What a call has done to its memory, told from the bytes: the values, what was not written, what should not have been.

Everything here looks at the storage of one tensor as it was read back, as bytes.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping

import numpy as np

from ascend_opcli.model import Outcome, Tensor, TensorSpec
from ascend_opcli.tensors.dtypes import DTYPES, numpy_dtype
from ascend_opcli.tensors.layout import view

POISONS = (0x7F, 0xA5)
"""Outputs and the workspace are filled with the first, NaN or next to the largest number in every dtype, so that what
is added onto it shows. Outputs that still look like it are tried again with the second, next to 0 in most."""

GUARD = 512
"""Bytes before and after a buffer; a multiple of the alignment that operators expect."""

GUARD_BYTE = 0x6B


def storage_bytes(spec: TensorSpec) -> int:
    """The size of the memory that a tensor's view looks into."""
    count = 1
    for dim in spec.storage_shape:
        count *= dim
    return count * DTYPES[spec.dtype].itemsize


def values(spec: TensorSpec, read: np.ndarray) -> np.ndarray:
    """The view's values, row-major, in an array of their own; the bytes of a bool are judged as they are."""
    found: np.ndarray = view(Tensor(spec, read.view(numpy_dtype(spec.dtype)))).copy(order="C")
    return found


def written(spec: TensorSpec, read: np.ndarray, poison: int) -> np.ndarray:
    """False where every byte of an element is the poison."""
    size = DTYPES[spec.dtype].itemsize
    touched = (read != poison).reshape(-1, size).any(axis=1)
    mask: np.ndarray = np.not_equal(view(Tensor(_as_bytes(spec), touched.view(np.uint8))), 0)
    return mask


def _as_bytes(spec: TensorSpec) -> TensorSpec:
    return TensorSpec("uint8", spec.shape, None, spec.strides, spec.offset, spec.storage_shape, spec.layout)


def gaps(name: str, spec: TensorSpec, read: np.ndarray, before: np.ndarray | int) -> Iterator[str]:
    """Writes into the storage that the view of an output leaves out; ``before`` are its bytes, or the poison."""
    size = DTYPES[spec.dtype].itemsize
    outside = np.ones(read.size // size, np.uint8)
    view(Tensor(_as_bytes(spec), outside))[...] = 0
    stray = (read != before).reshape(-1, size).any(axis=1) & outside.view(np.bool_)
    if stray.any():
        yield (
            f"OUT OF BOUNDS WRITE: {name} was written between its view's elements,"
            f" {int(stray.sum())} elements from {int(np.flatnonzero(stray)[0])} of its storage on"
        )


def changed(name: str, spec: TensorSpec, read: np.ndarray, content: np.ndarray) -> Iterator[str]:
    """An input that is no longer what was put in."""
    if np.array_equal(read, content):
        return
    size = DTYPES[spec.dtype].itemsize
    wrong = (read != content).reshape(-1, size).any(axis=1)
    first = int(np.flatnonzero(wrong)[0])
    yield f"INPUT CHANGED: {int(wrong.sum())} of {wrong.size} elements of {name}, from {first} on"


def damaged(before: np.ndarray, after: np.ndarray, nbytes: int, padding: int = 0) -> str:
    """How the guard zones of a buffer of ``nbytes`` were overwritten, in a few words; empty where they were not.

    The first ``padding`` bytes behind the end may be written.
    """
    behind = nbytes + padding
    for name, zone, offset in (
        ("before the start", before, -GUARD),
        ("past the end", after[padding:], behind),
    ):
        wrong = np.flatnonzero(zone != GUARD_BYTE)
        if wrong.size:
            return f"{name}, {wrong.size} bytes from byte {offset + int(wrong[0])} of {nbytes} on"
    return ""


def unwritten(name: str, mask: np.ndarray) -> str:
    """The finding that a mask of written elements makes."""
    flat = mask.reshape(-1)
    missing = int(flat.size - np.count_nonzero(flat))
    if missing == flat.size:
        return f"NOT WRITTEN: {name}, all {flat.size:,} elements"
    first = int(np.argmin(flat))
    share = missing / flat.size * 100
    return f"PARTLY WRITTEN: {name}, {missing:,} of {flat.size:,} elements ({share:.2g} %) are not, from {first:,} on"


def both(first: Outcome, again: Outcome) -> Outcome:
    """The outcome of a call that was run under both poisons.

    ``written`` of the second one marks what is not the first poison: see :func:`written_after_all`. What the
    second call does wrong counts too.
    """
    if again.status != 0 or again.error:
        return again
    masks = written_after_all(first.written, again.written)
    findings = [*first.findings, *again.findings]
    for name, mask in masks.items():
        onto = " (written under other contents: they are added onto, or not always written)"
        findings.append(unwritten(name, mask) + onto * _moved_on(again, name, ~mask))
    return dataclasses.replace(first, findings=tuple(dict.fromkeys(findings)), written=masks)


def _moved_on(again: Outcome, name: str, untouched: np.ndarray) -> bool:
    """Whether an element that was not written holds something else than the second poison after the call under it."""
    whole, _, member = name.partition("[")
    output = again.outputs[whole]
    array = output[int(member[:-1])] if isinstance(output, tuple) else output
    if array.dtype == np.bool_:  # which cannot tell
        return False
    octets = np.ascontiguousarray(array[untouched]).view(np.uint8)
    return bool((octets.reshape(-1, array.dtype.itemsize) != POISONS[1]).any(axis=1).any())


def written_after_all(
    first: Mapping[str, np.ndarray], again: Mapping[str, np.ndarray]
) -> dict[str, np.ndarray]:
    """The masks of what was written, where something was not.

    ``first`` are the masks under the first poison; ``again`` marks what is not that poison after a call under
    the other one. What is, the operator wrote: both times.
    """
    masks = {n: mask | ~again[n] if n in again else mask for n, mask in first.items()}
    return {n: mask for n, mask in masks.items() if not mask.all()}
