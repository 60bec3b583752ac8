"""The reference once more, with an attribute, an input or the arithmetic changed, at chosen elements."""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ascend_opcli.model import Attribute, Call, Tensor, TensorSpec
from ascend_opcli.operators.operator import Operator
from ascend_opcli.reference.evaluate import host_result
from ascend_opcli.reference.notes import pick
from ascend_opcli.tensors.dtypes import round_to
from ascend_opcli.tensors.flat import spread, take
from ascend_opcli.tensors.layout import view
from ascend_opcli.verification.compare.elements import wide

BUDGET = 1 << 23
"""Elements that may be worked out again in whole runs, over all rules of one output."""

Revalue = Callable[[np.ndarray], np.ndarray]


class Rerun:
    """An elementwise operator is run at the chosen elements alone, any other one whole while a budget lasts."""

    def __init__(
        self, operator: Operator, call: Call, output: str, shape: tuple[int, ...], at: np.ndarray
    ) -> None:
        self._operator, self._call, self._at, self._shape = operator, call, at, shape
        self._output, _, member = output.partition("[")
        self._member = int(member.rstrip("]")) if member else None
        self.tensors = {n: b for n, b in call.arguments.items() if isinstance(b, Tensor)}
        self.elementwise = self._is_elementwise()
        self._cost = max((t.spec.count for t in self.tensors.values()), default=1) + math.prod(shape)
        self._left = BUDGET
        self._gathered: dict[str, np.ndarray] = {}

    def _is_elementwise(self) -> bool:
        if not self._operator.elementwise or any(isinstance(b, tuple) for b in self._call.arguments.values()):
            return False
        outputs = [s for s in self._call.outputs.values() if s is not None]
        return all(isinstance(s, TensorSpec) and s.shape == self._shape for s in outputs)

    def values(
        self,
        *,
        attributes: Mapping[str, Attribute] | None = None,
        arrays: Mapping[str, np.ndarray] | None = None,
        revalue: Mapping[str, Revalue] | None = None,
        computed_in: str | None = None,
        unrounded: bool = False,
        at: np.ndarray | None = None,
    ) -> np.ndarray | None:
        """The host result at the chosen elements, float64 or complex128; None where the budget is used up.

        ``arrays`` stand in for inputs: of an input's own shape or, for an elementwise operator, of the
        output's. ``revalue`` changes an input's values. ``computed_in`` rounds all arithmetic to a dtype;
        ``unrounded`` leaves the result in float32; ``at`` are other flat
        places of a whole run. Raises what the reference raises.
        """
        arrays, revalue = arrays or {}, revalue or {}
        arguments: dict[str, Any] = {**self._call.arguments, **(attributes or {})}
        for name, tensor in self.tensors.items():
            changed = name in arrays or name in revalue
            if not self.elementwise and not changed:
                continue
            values = self._input(name, arrays.get(name))
            if name in revalue:
                values = np.asarray(revalue[name](values), values.dtype)
            arguments[name] = _contiguous(values, tensor.spec)
        if not self.elementwise:
            self._left -= self._cost
            if self._left < 0:
                return None
        operator = self._operator if computed_in is None else _narrowed(self._operator, computed_in)
        if unrounded:
            operator = dataclasses.replace(operator, rounds_to=None)
        outputs = {n: self._spec(s, unrounded) for n, s in self._call.outputs.items()}
        outputs_again = host_result(
            operator, dataclasses.replace(self._call, arguments=arguments, outputs=outputs)
        )
        output = outputs_again[self._output]
        array = output[self._member or 0] if isinstance(output, tuple) else output
        chosen = array.reshape(-1) if self.elementwise else take(array, self._at if at is None else at)
        return wide(chosen)

    def branches(self) -> dict[str, np.ndarray]:
        """The operator's branches as masks over the chosen elements; none where it cannot be asked there."""
        if self._operator.branches is None or not self.elementwise:
            return {}
        operator = self._operator
        found: dict[str, list[np.ndarray]] = {}

        def look(**values: Any) -> Any:
            for name, mask in masks(**values).items():
                found.setdefault(name, []).append(np.broadcast_to(mask, _length(values)).reshape(-1))
            assert operator.reference is not None
            return reference(**values)

        assert operator.reference is not None
        assert operator.branches is not None
        masks, reference = _picking(operator.branches), _picking(operator.reference)
        self_at = dataclasses.replace(operator, reference=look)
        Rerun(self_at, self._call, self._output, self._shape, self._at).values()
        return {name: np.concatenate(parts) for name, parts in found.items()}

    def _input(self, name: str, array: np.ndarray | None) -> np.ndarray:
        if not self.elementwise:
            return view(self.tensors[name]) if array is None else array
        if array is None and name in self._gathered:
            return self._gathered[name]
        whole = view(self.tensors[name]) if array is None else array
        try:
            values = take(spread(whole, self._shape), self._at)
        except ValueError:  # read as flat memory
            values = np.ascontiguousarray(whole).reshape(-1)[self._at]
        if array is None:
            self._gathered[name] = values
        return values

    def _spec(self, spec: Any, unrounded: bool) -> Any:
        if isinstance(spec, tuple):
            return tuple(self._spec(s, unrounded) for s in spec)
        if spec is None:
            return None
        if unrounded and "float" in spec.dtype and spec.dtype != "float64":
            spec = dataclasses.replace(spec, dtype="float32")
        return _laid(spec, (len(self._at),)) if self.elementwise else spec


def _laid(spec: TensorSpec, shape: tuple[int, ...]) -> TensorSpec:
    strides = tuple(math.prod(shape[i + 1 :]) for i in range(len(shape)))
    return dataclasses.replace(
        spec, shape=shape, strides=strides, offset=0, storage_shape=(math.prod(shape),), layout="contiguous"
    )


def _contiguous(values: np.ndarray, spec: TensorSpec) -> Tensor:
    return Tensor(_laid(spec, values.shape), np.ascontiguousarray(values).reshape(-1))


def _length(values: Mapping[str, Any]) -> tuple[int, ...]:
    return np.broadcast_shapes(*(v.shape for v in values.values() if isinstance(v, np.ndarray)))


def _picking(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda **values: pick(function, values)


# --- arithmetic in a narrow dtype -----------------------------------------------------------------------------


class _Narrow(np.ndarray):
    """A float32 array whose arithmetic results are rounded to the dtype ``narrow``."""

    narrow = ""

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        plain = [np.asarray(i) if isinstance(i, np.ndarray) else i for i in inputs]
        result = getattr(ufunc, method)(*plain, **options)
        if not isinstance(result, (np.ndarray, np.generic)) or result.dtype.kind != "f":
            return result
        return _narrow(np.asarray(result), self.narrow)


class _Float16(_Narrow):
    narrow = "float16"


class _BFloat16(_Narrow):
    narrow = "bfloat16"


_KINDS: dict[str, type[_Narrow]] = {"float16": _Float16, "bfloat16": _BFloat16}


def _narrow(array: np.ndarray, dtype: str) -> np.ndarray:
    return round_to(array, dtype).astype(np.float32).view(_KINDS[dtype])


def _narrowed(operator: Operator, dtype: str) -> Operator:
    reference = operator.reference
    assert reference is not None

    @functools.wraps(reference)
    def narrow(**values: Any) -> Any:
        for name, value in values.items():
            if isinstance(value, np.ndarray) and value.dtype == np.float32:
                values[name] = _narrow(value, dtype)
            elif isinstance(value, np.float32):
                values[name] = np.float32(round_to(np.asarray([value]), dtype).astype(np.float32)[0])
        result = reference(**values)
        if isinstance(result, tuple):
            return tuple(np.asarray(member) for member in result)
        return np.asarray(result)

    return dataclasses.replace(operator, reference=narrow)
