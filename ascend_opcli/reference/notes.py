"""What an operator says of the data as a reference passes over them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from ascend_opcli.expression.language import Expression
from ascend_opcli.model import Call, TensorSpec
from ascend_opcli.operators.operator import Operator
from ascend_opcli.reference import ttk_golden
from ascend_opcli.reference.reading import parameters, unread
from ascend_opcli.tensors.dtypes import DTYPES


def pick(function: Callable[..., Any], values: Mapping[str, Any]) -> Any:
    """Call a function with those of ``values`` that it has parameters for."""
    names = _parameters(function)
    return function(**(values if names is None else {name: values[name] for name in names if name in values}))


@lru_cache(maxsize=4096)
def _parameters(function: Callable[..., Any]) -> tuple[str, ...] | None:
    """The names of a function's parameters, None where it takes any."""
    parameters = inspect.signature(function).parameters.values()
    return None if any(p.kind is p.VAR_KEYWORD for p in parameters) else tuple(p.name for p in parameters)


def unread_by(operator: Operator, call: Call) -> list[str]:
    """A note on what a reference that a case brings never looks at, of what the call gives."""
    if not operator.own or operator.reference is None:
        return []
    names = [p.name for p in operator.signature.params if call.arguments.get(p.name) is not None]
    reference: Any = inspect.unwrap(operator.reference)
    if isinstance(reference, Expression):
        left = [n for n in names if n not in reference.names]
    elif isinstance(reference, ttk_golden.TtkGolden):
        left = reference.unread(names)
    else:
        own = {p.name for p in parameters(reference) or ()}
        # Who is told the whole call may look at anything.
        left = [] if "call" in own else [n for n in unread(reference, names) if f"exact_{n}" not in own]
    return [f"the reference never uses {', '.join(left)}"] if left else []


class Notes:
    """What an operator says of the data as they pass: branches, thresholds that go either way, divergences."""

    def __init__(self, operator: Operator) -> None:
        self._operator = operator
        self.branches: dict[str, int] = {}
        self._indices: list[np.ndarray] = []
        self._others: list[np.ndarray] = []
        self._open = [d for d in operator.divergences if d.touched is not None]
        self._touched: list[str] = []
        self.narrow: tuple[str, ...] = ()
        self.open: dict[str, np.ndarray] = {}

    def look_at(self, results: Sequence[Any], names: Sequence[str], call: Call) -> None:
        """Notes where a reference that a case brought gives a float output in less than float64."""
        if self.narrow or not self._operator.own or len(results) != len(names):
            return  # the members of a list are not looked at
        for name, result in zip(names, results, strict=True):
            spec = call.outputs[name]
            kind = getattr(result, "dtype", None)
            if (
                not isinstance(spec, TensorSpec)
                or kind is None
                or DTYPES[spec.dtype].kind not in ("float", "complex")
            ):
                continue
            if kind.kind not in "biu" and kind.itemsize < (16 if kind.kind == "c" else 8):
                self.narrow = (
                    f"the golden of {name} is {kind.name}, narrower than float64: the reference gives no more",
                )
                return

    def look(self, position: int | None, values: Mapping[str, Any]) -> None:
        if self._operator.branches is not None:
            for name, mask in pick(self._operator.branches, values).items():
                self.branches[name] = self.branches.get(name, 0) + int(np.count_nonzero(mask))
        if self._operator.ambiguous is not None:
            found = pick(self._operator.ambiguous, values)
            if found is not None:
                mask, others = (np.broadcast_to(np.asarray(f), found[0].shape).reshape(-1) for f in found)
                indices = np.flatnonzero(mask)
                self._indices.append(indices + (position or 0))
                self._others.append(others[indices])
        for divergence in tuple(self._open):
            assert divergence.touched is not None
            if pick(divergence.touched, values):
                self._open.remove(divergence)
                self._touched.append(divergence.text)

    def ambiguous(self) -> tuple[np.ndarray, np.ndarray] | None:
        if not self._indices:
            return None
        return np.concatenate(self._indices), np.concatenate(self._others)

    def touched(self) -> tuple[str, ...]:
        order = [d.text for d in self._operator.divergences]
        return tuple(sorted(self._touched, key=order.index))
