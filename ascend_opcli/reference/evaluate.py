"""Running a reference: once in float64 for the golden, once in the operator's compute dtype for the host result."""

# More than 400 lines: golden and host result are one evaluation in two dtypes.
from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ascend_opcli.expression.language import Expression
from ascend_opcli.model import Attribute, Call, Shape, Tensor, TensorSpec
from ascend_opcli.operators.operator import Operator, Undefined
from ascend_opcli.reference.fitting import ReferenceFailure, UndefinedResult, fitting, in_words, no_result
from ascend_opcli.reference.heard import heard
from ascend_opcli.reference.notes import Notes, pick, unread_by
from ascend_opcli.tensors.dtypes import DTYPES, numpy_dtype, round_to, widen
from ascend_opcli.tensors.layout import view

Arrays = dict[str, "np.ndarray | tuple[np.ndarray, ...]"]
"""Outputs by name: an array for a tensor, a tuple of arrays for a tensor list."""

BLOCK = 1 << 15
"""Elements of an elementwise block: its float64 temporaries stay in the second-level cache."""


@dataclass(frozen=True, slots=True)
class Golden:
    """What a call should give.

    ``outputs`` hold float64 (complex128) values not yet rounded to the output's dtype, or integers; one of which
    nobody has said what it holds in such a call is not among them.
    ``branches`` count elements by branch. ``ambiguous`` gives flat indices of elements for which the other
    side's value is as right, with those values. ``divergences`` are those that the data touch, ``remarks`` what
    else a report should say of where the golden comes from. ``open`` marks, in the shape of an output, its elements of
    which nobody has said what they hold.
    """

    outputs: Mapping[str, np.ndarray | tuple[np.ndarray, ...]]
    branches: Mapping[str, int] = field(default_factory=dict)
    ambiguous: tuple[np.ndarray, np.ndarray] | None = None
    divergences: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()
    open: Mapping[str, np.ndarray] = field(default_factory=dict)


@heard
def golden(operator: Operator, call: Call) -> Golden:
    """The reference in float64 on the stored inputs, with the notes that the operator makes of the data."""
    notes = Notes(operator)
    outputs = _evaluate(operator, call, np.float64, notes)
    remarks = (*operator.remarks, *notes.narrow, *unread_by(operator, call))
    return Golden(outputs, notes.branches, notes.ambiguous(), notes.touched(), remarks, notes.open)


def host_result(operator: Operator, call: Call) -> Arrays:
    """The reference in the compute dtype, rounded to each output's dtype as the kernel rounds."""
    return _evaluate(operator, call, _compute(operator, call), None)


def host_run(operator: Operator, call: Call) -> tuple[Arrays, bool]:
    """The host result, and whether a step of the run overflows its dtype."""
    seen: list[str] = []
    outputs = _evaluate(operator, call, _compute(operator, call), None, seen)
    return outputs, bool(seen)


def _compute(operator: Operator, call: Call) -> Any:
    """The dtype of a host run: the operator's, float64 where an input is as wide."""
    wide = any(
        DTYPES[spec.dtype].kind in ("float", "complex")
        and DTYPES[spec.dtype].itemsize >= (16 if "complex" in spec.dtype else 8)
        for spec in _input_specs(call)
    )
    return np.float64 if wide else numpy_dtype(operator.compute).type


def _input_specs(call: Call) -> Iterator[TensorSpec]:
    for bound in call.arguments.values():
        for item in bound if isinstance(bound, tuple) else (bound,):
            if isinstance(item, Tensor):
                yield item.spec


# --- the run --------------------------------------------------------------------------------------------------


def _evaluate(
    operator: Operator, call: Call, run: Any, notes: Notes | None, overflown: list[str] | None = None
) -> Arrays:
    if operator.reference is None:
        raise ReferenceFailure(f"{operator.name} has no reference")
    kernel = operator.rounds_to(_dtypes(call)) if operator.rounds_to is not None else None
    values = _told(operator, call, run, kernel, exact=notes is not None)
    arrays = {
        name: _array(bound) for name, bound in call.arguments.items() if not isinstance(bound, Attribute)
    }
    with fitting(operator):
        for name, other in operator.flat_like.items():
            arrays[name] = _flat_like(arrays[name], arrays[other])
    names = [p.name for p in operator.signature.outputs if call.outputs.get(p.name) is not None]
    exact = run is np.float64 and notes is not None
    sink = _Sink(operator, call, names, kernel, exact=exact, flat=bool(operator.flat_like))
    with np.errstate(all="ignore"):
        for position, block in _blocks(operator, arrays, [call.outputs[name] for name in names]):
            inputs = {name: _in_run_dtype(array, run) for name, array in block.items()}
            with _told_of_overflows(overflown):
                result = _results(operator, {**inputs, **values})
            sink.put(position, result)
            if notes is not None:
                try:
                    with fitting(operator):
                        notes.look(position, {**inputs, **values})
                except Undefined as error:
                    raise UndefinedResult(str(error)) from error
                notes.look_at(result, names, call)
                notes.open |= sink.open
    return sink.outputs()


def _told(operator: Operator, call: Call, run: Any, kernel: str | None, *, exact: bool) -> dict[str, Any]:
    """What a reference is told beside its inputs."""
    with np.errstate(all="ignore"):  # a double that float32 cannot hold
        values = _attributes(operator, call, run)
    values["kernel_dtype"] = numpy_dtype(kernel) if kernel else None
    values["dtypes"] = _dtypes(call)
    values["serves"], values["run_dtype"] = "golden" if exact else "host", np.dtype(run)
    values["call"] = call
    return values


def _told_of_overflows(seen: list[str] | None) -> AbstractContextManager[object]:
    if seen is None:
        return nullcontext()
    return np.errstate(over="call", call=lambda kind, _flag: seen.append(kind))


def _results(operator: Operator, values: Mapping[str, Any]) -> tuple[Any, ...]:
    assert operator.reference is not None
    try:
        with fitting(operator):
            result = pick(operator.reference, values)
    except Undefined as error:
        raise UndefinedResult(str(error)) from error
    except (MemoryError, ReferenceFailure):
        raise
    except (Exception, SystemExit) as error:  # a case's own reference may raise anything
        if isinstance(inspect.unwrap(operator.reference), Expression):
            raise ReferenceFailure(f"the expression cannot be worked out: {in_words(error)}") from error
        raise ReferenceFailure(f"the reference raised {type(error).__name__}: {error}") from error
    if result is None:
        raise ReferenceFailure("the reference gives nothing")
    return tuple(result) if isinstance(result, (tuple, list)) else (result,)


def arguments_of(operator: Operator, call: Call) -> dict[str, Any]:
    """What a reference is called with for the golden, inputs whole and of one axis at the least."""
    arrays = {n: _array(b) for n, b in call.arguments.items() if not isinstance(b, Attribute)}
    whole = {n: np.atleast_1d(a) if isinstance(a, np.ndarray) else a for n, a in arrays.items()}
    inputs = {n: _in_run_dtype(a, np.float64) for n, a in whole.items()}
    return {**inputs, **_told(operator, call, np.float64, None, exact=True)}


@heard
def result_shapes(operator: Operator, call: Call) -> dict[str, Shape | tuple[Shape, ...]]:
    """The shapes of what the reference gives for each output of a call, whatever the call says of them."""
    return {
        name: tuple(np.shape(m) for m in made) if isinstance(made, tuple) else np.shape(made)
        for name, made in _unshaped(operator, call)[0].items()
    }


def unshaped(operator: Operator, call: Call) -> Arrays:
    """What :func:`golden` holds of each output, in the shape that the reference gives."""
    made, kernel = _unshaped(operator, call)
    sink = _Sink(operator, call, list(made), kernel, exact=True, flat=False)

    def one(result: Any, spec: Any) -> np.ndarray:
        return sink.rounded_to(np.asarray(result), spec.dtype)

    outputs: Arrays = {}
    with np.errstate(all="ignore"):
        for name, result in made.items():
            spec = call.outputs[name]
            if isinstance(spec, tuple):
                outputs[name] = tuple(one(r, s) for r, s in zip(result, spec, strict=True))
            else:
                outputs[name] = one(result, spec)
    return outputs


def _unshaped(operator: Operator, call: Call) -> tuple[dict[str, Any], str | None]:
    """What the reference gives for each output, in float64 on whole inputs, and in what the kernel rounds it."""
    kernel = operator.rounds_to(_dtypes(call)) if operator.rounds_to is not None else None
    told = {"kernel_dtype": numpy_dtype(kernel) if kernel else None}
    with np.errstate(all="ignore"):
        result = _results(operator, {**arguments_of(operator, call), **told})
    names = [p.name for p in operator.signature.outputs if call.outputs.get(p.name) is not None]
    if len(names) == 1 and isinstance(call.outputs[names[0]], tuple):
        result = (result,)
    if len(result) != len(names):
        raise ReferenceFailure(_miscounted(len(result), len(names)))
    return {n: made for n, made in zip(names, result, strict=True) if made is not None}, kernel


def _miscounted(results: int, outputs: int) -> str:
    return f"the reference gives {results} results for {outputs} outputs"


def _blocks(
    operator: Operator, arrays: Mapping[str, Any], outputs: Sequence[Any]
) -> Iterator[tuple[int | None, dict[str, Any]]]:
    """The inputs whole, or in runs of the broadcast shape's row-major order for an elementwise operator."""
    tensors = [name for name, value in arrays.items() if isinstance(value, np.ndarray)]
    by_element = operator.elementwise and not any(isinstance(v, tuple) for v in arrays.values())
    if by_element and operator.own:
        # Nobody has checked that the tensors of a case's own operator fit each other.
        by_element = _fit([arrays[n].shape for n in tensors], outputs)
    if not by_element:
        yield None, {n: np.atleast_1d(v) if isinstance(v, np.ndarray) else v for n, v in arrays.items()}
        return
    with fitting(operator):
        broadcast = np.broadcast_shapes(*(arrays[n].shape for n in tensors))
    if int(np.prod(broadcast)) <= BLOCK:
        shape = broadcast or (1,)
        yield None, {**arrays, **{n: np.broadcast_to(arrays[n], shape) for n in tensors}}
        return
    if all(arrays[n].shape == broadcast and arrays[n].flags.c_contiguous for n in tensors):
        flat = {n: arrays[n].reshape(-1) for n in tensors}
        for start in range(0, flat[tensors[0]].size, BLOCK):
            yield start, {**arrays, **{n: flat[n][start : start + BLOCK] for n in tensors}}
        return
    # nditer walks strides and broadcasting; types it does not know travel as bits of their size.
    bits = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}
    carried = [
        arrays[n] if arrays[n].dtype.kind in "biufc" else arrays[n].view(bits[arrays[n].itemsize])
        for n in tensors
    ]
    walk = np.nditer(
        carried,
        flags=["external_loop", "buffered"],
        op_flags=[["readonly"]] * len(tensors),
        order="C",
        buffersize=BLOCK,
    )
    position = 0
    for chunk in walk:
        parts = chunk if isinstance(chunk, tuple) else (chunk,)
        yield (
            position,
            {**arrays, **{n: p.view(arrays[n].dtype) for n, p in zip(tensors, parts, strict=True)}},
        )
        position += parts[0].size


def _fit(inputs: Sequence[Shape], outputs: Sequence[Any]) -> bool:
    try:
        whole = np.broadcast_shapes(*inputs)
    except ValueError:
        return False
    bare = [d for d in whole if d != 1]
    return all(isinstance(s, TensorSpec) and [d for d in s.shape if d != 1] == bare for s in outputs)


def _array(bound: Any) -> Any:
    if isinstance(bound, tuple):
        return tuple(view(t) for t in bound)
    return view(bound) if isinstance(bound, Tensor) else None


def _flat_like(array: Any, other: Any) -> Any:
    """The first elements of ``array`` in memory order, in the shape of ``other``."""
    if array is None or other is None or array.shape == other.shape:
        return array
    return np.ascontiguousarray(array).reshape(-1)[: other.size].reshape(other.shape)


def _in_run_dtype(array: Any, run: Any) -> Any:
    """Floats in the run's dtype, complex likewise; integers and booleans as they are."""
    if isinstance(array, tuple):
        return tuple(_in_run_dtype(np.atleast_1d(a), run) for a in array)
    if not isinstance(array, np.ndarray):
        return array
    if array.dtype.kind == "c":
        made = array.astype(np.complex128 if run is np.float64 else np.complex64)
    else:
        made = array if array.dtype.kind in "biu" else widen(array, run)
    # A reference that writes into its inputs would change what the next run reads.
    made = made.view()
    made.flags.writeable = False
    return made


def _dtypes(call: Call) -> dict[str, str | None]:
    specs = {
        **{n: b.spec if isinstance(b, Tensor) else None for n, b in call.arguments.items()},
        **call.outputs,
    }
    return {name: spec.dtype if isinstance(spec, TensorSpec) else None for name, spec in specs.items()}


def _attributes(operator: Operator, call: Call, run: Any) -> dict[str, Any]:
    """Attributes as NumPy scalars of the dtype in which the operator holds them, and as written (``exact_``).

    Where neither C nor the operator says how a float is held, it has the run's dtype; the whole numbers and booleans
    of an aclScalar stay Python's, which do not widen a tensor's dtype.
    """
    values: dict[str, Any] = {}
    for param in operator.signature.attributes:
        bound = call.arguments.get(param.name)
        if not isinstance(bound, Attribute):
            values[param.name] = None
            continue
        value: Any = bound.value
        values[f"exact_{param.name}"] = value
        if param.type == "aclScalar" and bound.dtype is not None and not isinstance(value, (str, tuple)):
            value = round_to(np.asarray([value]), bound.dtype)[0].item()
        values[param.name] = _held(
            value, operator.attribute_dtypes.get(param.name) or _OF_C.get(param.type), run
        )
    return values


_OF_C = {
    "float": "float32",
    "int64_t": "int64",
    "int32_t": "int32",
    "int": "int32",
    "int8_t": "int8",
    "uint64_t": "uint64",
    "uint32_t": "uint32",
    "bool": "bool",
}


def _held(value: Any, dtype: str | None, run: Any) -> Any:
    if isinstance(value, (str, tuple)):
        return value
    if dtype is not None:
        if isinstance(value, complex) and DTYPES[dtype].kind != "complex":
            value = value.real
        return round_to(np.asarray([value]), dtype)[0]
    return run(value) if isinstance(value, float) else value


class _Sink:
    """Collects a reference's results, block by block, in each output's dtype or as a golden."""

    def __init__(
        self, operator: Operator, call: Call, names: list[str], kernel: str | None, *, exact: bool, flat: bool
    ) -> None:
        self._operator, self._flat = operator, flat
        self._specs: list[Any] = [call.outputs[name] for name in names]
        self._names, self._kernel, self._exact = names, kernel, exact
        self._whole: list[Any] = [None] * len(names)
        self.open: dict[str, np.ndarray] = {}

    def put(self, position: int | None, results: Any) -> None:
        if len(self._names) == 1 and isinstance(self._specs[0], tuple):
            results = (tuple(results),)
        if len(results) != len(self._names):
            raise no_result(self._operator, _miscounted(len(results), len(self._names)))
        if results and all(result is None for result in results):
            raise no_result(self._operator, "the reference gives None: nothing that could be judged")
        for i, result in enumerate(results):
            spec = self._specs[i]
            if result is None:
                self._undefined(i, spec)
            elif isinstance(spec, tuple):
                self._whole[i] = tuple(self._finish(r, s) for r, s in zip(result, spec, strict=True))
            elif position is None:
                self._whole[i] = self._finish(result, spec)
                if np.ma.is_masked(result):
                    self.open[self._names[i]] = np.ma.getmaskarray(result).reshape(spec.shape)
            else:
                part = self.rounded_to(np.asarray(result), spec.dtype)
                if self._whole[i] is None:
                    self._whole[i] = np.empty(spec.count, part.dtype)
                self._whole[i][position : position + part.size] = part

    def _undefined(self, place: int, spec: Any) -> None:
        """An output of which nobody has said what it holds: it has no golden, and zeros as host result."""
        if not isinstance(spec, TensorSpec):
            raise no_result(self._operator, f"the reference gives nothing for the list {self._names[place]}")
        self._whole[place] = None if self._exact else np.zeros(spec.shape, numpy_dtype(spec.dtype))

    def rounded(self, results: Sequence[Any]) -> list[np.ndarray]:
        """One block of every output, flat."""
        if len(results) != len(self._names):
            raise no_result(self._operator, _miscounted(len(results), len(self._names)))
        return [
            self.rounded_to(np.asarray(r).reshape(-1), s.dtype)
            for r, s in zip(results, self._specs, strict=True)
        ]

    def _finish(self, result: Any, spec: TensorSpec) -> np.ndarray:
        whole = np.asarray(result)
        # Axes of one element may come and go; nothing else may, unless the kernel knows flat memory only.
        shapes = [tuple(d for d in shape if d != 1) for shape in (whole.shape, spec.shape)]
        if shapes[0] != shapes[1] and not (self._flat and whole.size == spec.count):
            gives, wanted = list(whole.shape), list(spec.shape)
            raise no_result(
                self._operator, f"the reference gives the shape {gives} for an output of shape {wanted}"
            )
        return self.rounded_to(whole.reshape(-1), spec.dtype).reshape(spec.shape)

    def rounded_to(self, part: np.ndarray, dtype: str) -> np.ndarray:
        """Results in the dtype of an output, or as its golden."""
        with fitting(self._operator):
            return self._rounded(part, dtype)

    def _rounded(self, part: np.ndarray, dtype: str) -> np.ndarray:
        kind = DTYPES[dtype].kind
        if self._kernel is not None and self._kernel != dtype and part.dtype.kind == "f":
            part = widen(round_to(part, self._kernel), np.float64)
        if not self._exact or kind not in ("float", "complex"):
            return round_to(part, dtype)
        return part.astype(np.complex128 if kind == "complex" else np.float64, copy=False)

    def outputs(self) -> Arrays:
        made: dict[str, Any] = {}
        for name, spec, whole in zip(self._names, self._specs, self._whole, strict=True):
            if whole is not None:
                made[name] = whole if isinstance(spec, tuple) else whole.reshape(spec.shape)
        return made


class ElementRun:
    """The reference of an elementwise operator for one run, golden or host, called with one block after another."""

    def __init__(self, operator: Operator, call: Call, *, exact: bool) -> None:
        self._operator, self._exact = operator, exact
        self._run = np.float64 if exact else _compute(operator, call)
        kernel = operator.rounds_to(_dtypes(call)) if operator.rounds_to is not None else None
        self._values = _told(operator, call, self._run, kernel, exact=exact)
        names = [p.name for p in operator.signature.outputs if call.outputs.get(p.name) is not None]
        self._sink = _Sink(operator, call, names, kernel, exact=exact, flat=False)

    def ready(self, block: Mapping[str, Any]) -> dict[str, Any]:
        """What the reference is called with, of a block of the inputs as they are stored."""
        return {**{n: _in_run_dtype(a, self._run) for n, a in block.items()}, **self._values}

    def raw(self, values: Mapping[str, Any]) -> tuple[Any, ...]:
        """What the reference gives for a block that is ready."""
        return _results(self._operator, values)

    def results(self, values: Mapping[str, Any]) -> list[np.ndarray]:
        """The same as it goes into the outputs."""
        return self._sink.rounded(self.raw(values))

    def dtype_of(self, spec: TensorSpec) -> np.dtype[Any]:
        """The dtype in which an output is given."""
        kind = DTYPES[spec.dtype].kind
        if not self._exact or kind not in ("float", "complex"):
            return numpy_dtype(spec.dtype)
        return np.dtype(np.complex128 if kind == "complex" else np.float64)

    def notes(self) -> Notes:
        """Notes to be taken along the way."""
        return Notes(self._operator)
