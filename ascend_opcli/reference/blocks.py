"""A call that would not fit in memory, of an elementwise operator: inputs, results and golden made block by block.

Blocks are those of :mod:`.evaluate`, so that every value is the same to the last bit.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any, cast

import numpy as np

from ascend_opcli.model import (
    BoundArgument,
    Call,
    Case,
    Derived,
    Fill,
    FromFile,
    Generator,
    Shape,
    Tensor,
    TensorSpec,
)
from ascend_opcli.operators.operator import Operator
from ascend_opcli.reference.evaluate import BLOCK, ElementRun, Golden
from ascend_opcli.reference.notes import unread_by
from ascend_opcli.tensors import layout
from ascend_opcli.tensors.data import generate, make_tensor
from ascend_opcli.tensors.dtypes import DTYPES, numpy_dtype
from ascend_opcli.tensors.flat import CHUNK, Flat, Streamed
from ascend_opcli.tensors.hashing import inputs_sha256

MOST = 1 << 32
"""Elements of a case in blocks: tens of minutes. A larger one is a misprint rather than a test."""


def obstacle(operator: Operator, case: Case, limit: int) -> str | None:
    """Why a case cannot be run in blocks, None where it can."""
    if operator.reference is None or not operator.elementwise:
        return f"{operator.name} is not elementwise"
    specs = {p.name: case.arguments[p.name] for p in operator.signature.params if p.is_tensor}
    if any(isinstance(s, tuple) for s in specs.values()):
        return "it has tensor lists"
    if case.repeat > 1 or case.open_outputs:
        return "it is repeated" if case.repeat > 1 else "its outputs have the shape of the result"
    tensors = {n: s for n, s in specs.items() if isinstance(s, TensorSpec)}
    if any(
        tensors[a].shape != tensors[b].shape
        for a, b in operator.flat_like.items()
        if {a, b} <= tensors.keys()
    ):
        return "an input is read as flat memory"
    shape = _broadcast(operator, tensors)
    if shape is None or any(s.shape != shape for s in tensors.values() if s.data is None):
        return "its shapes do not fit each other"
    if math.prod(shape) > MOST:
        return f"it has more than {MOST:,} elements"
    held = 0
    for name, spec in tensors.items():
        if spec.data is None or _in_parts(spec, shape):
            continue
        if isinstance(spec.data, Derived):
            return f"the data of {name} are derived"
        held += spec.count * DTYPES[spec.dtype].itemsize
        if held > limit // 4:
            return f"{name} is needed whole"
    if any(isinstance(e, FromFile) for e in case.expected_outputs.values()):
        return "its expected values are a file"
    return None


def _broadcast(operator: Operator, tensors: Mapping[str, TensorSpec]) -> Shape | None:
    try:
        return tuple(
            np.broadcast_shapes(
                *(tensors[p.name].shape for p in operator.signature.inputs if p.name in tensors)
            )
        )
    except ValueError:
        return None


def _in_parts(spec: TensorSpec, shape: Shape) -> bool:
    """Whether a part of the tensor can be had without the rest."""
    if spec.shape != shape or (spec.layout == "strided" and layout.overlaps(spec.shape, spec.strides)):
        return False
    data = spec.data
    if isinstance(data, Generator):
        return data.kind != "permutation"
    return isinstance(data, Fill) or (isinstance(data, FromFile) and data.path.endswith((".npy", ".bin")))


def streamed_call(case: Case, operator: Operator, product: str) -> Call:
    """The call of a case without an :func:`obstacle`: as :func:`.make_call` makes it, inputs streamed."""
    signature = operator.signature
    tensors = {p.name: s for p in signature.params if isinstance(s := case.arguments[p.name], TensorSpec)}
    shape = _broadcast(operator, tensors)
    assert shape is not None
    arguments: dict[str, BoundArgument] = {}
    outputs: dict[str, TensorSpec | tuple[TensorSpec, ...] | None] = {}
    for param in signature.params:
        argument = case.arguments[param.name]
        if param.is_tensor and param.is_output:
            outputs[param.name] = cast("TensorSpec | None", argument)
        if param.is_tensor and not param.is_input:
            continue
        if isinstance(argument, TensorSpec):
            whole = not _in_parts(argument, shape)
            made = make_tensor if whole else _streamed
            arguments[param.name] = made(param.name, argument, case.seed)
        else:
            arguments[param.name] = cast(BoundArgument, argument)
    return Call(case.operator, product, arguments, outputs, inputs_sha256(arguments))


def _streamed(name: str, spec: TensorSpec, seed: int) -> Tensor:
    data = spec.data
    assert data is not None

    def make(first: int, last: int) -> np.ndarray:
        return generate(
            data, dtype=spec.dtype, shape=spec.shape, seed=seed, name=name, start=first, stop=last
        )

    return Tensor(spec, cast(Any, Streamed(spec.shape, numpy_dtype(spec.dtype), make)))


# --- results --------------------------------------------------------------------------------------------------


def host_outputs(operator: Operator, call: Call) -> dict[str, Any]:
    """The host result of every output, streamed."""
    return _Results(operator, call, exact=False).outputs()


def streamed_golden(operator: Operator, call: Call) -> Golden:
    """The golden of every output, streamed, with the notes of one pass over the data."""
    results = _Results(operator, call, exact=True)
    notes = results.run.notes()
    with np.errstate(all="ignore"):
        for start in range(0, results.size, CHUNK):
            for position, block in results.blocks(start, min(start + CHUNK, results.size)):
                notes.look(position, block)
                if start == position == 0:
                    notes.look_at(results.run.raw(block), results.names, call)
    remarks = (*operator.remarks, *notes.narrow, *unread_by(operator, call))
    return Golden(results.outputs(), notes.branches, notes.ambiguous(), notes.touched(), remarks)


class _Results:
    """The reference of a streamed call, one block at a time. Holds no block: readers do."""

    def __init__(self, operator: Operator, call: Call, *, exact: bool) -> None:
        self.run = ElementRun(operator, call, exact=exact)
        self.names = [p.name for p in operator.signature.outputs if call.outputs.get(p.name) is not None]
        self.specs = [cast(TensorSpec, call.outputs[name]) for name in self.names]
        self.tensors = {n: b for n, b in call.arguments.items() if isinstance(b, Tensor)}
        shapes = [b.spec.shape for b in self.tensors.values()]
        self.shape = tuple(np.broadcast_shapes(*shapes))
        self.size = math.prod(self.shape)
        self.rest = {n: b for n, b in call.arguments.items() if b is None}

    def blocks(self, first: int, last: int) -> Iterator[tuple[int, dict[str, Any]]]:
        """What the reference is called with, for runs of elements from ``first``, a multiple of CHUNK, on."""
        parts: dict[str, np.ndarray] = {}
        for name, tensor in self.tensors.items():
            array: Any = layout.view(tensor)
            if isinstance(array, Streamed):
                parts[name] = array.make(first, last)
                continue
            # Types that NumPy's iterator does not know travel as bits of their size.
            bits = array if array.dtype.isbuiltin == 1 else array.view(f"u{array.itemsize}")
            flat = Flat(np.broadcast_to(bits, self.shape), CHUNK).block(first, last)
            parts[name] = flat.view(array.dtype)
        for start in range(first, last, BLOCK):
            stop = min(start + BLOCK, last)
            yield (
                start,
                self.run.ready(
                    {**self.rest, **{n: p[start - first : stop - first] for n, p in parts.items()}}
                ),
            )

    def outputs(self) -> dict[str, Any]:
        return {name: self._output(place) for place, name in enumerate(self.names)}

    def _output(self, place: int) -> Streamed:
        spec = self.specs[place]

        def make(first: int, last: int) -> np.ndarray:
            with np.errstate(all="ignore"):
                made = [self.run.results(block)[place] for _, block in self.blocks(first, last)]
            whole = made[0] if len(made) == 1 else np.concatenate(made)
            return np.broadcast_to(whole, (last - first,)) if whole.size == 1 else whole

        return Streamed(spec.shape, self.run.dtype_of(spec), make)
