"""The same call on other inputs, to which a result that was computed must answer otherwise."""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Callable

import numpy as np

from ascend_opcli.model import BoundArgument, Call, Case, Tensor
from ascend_opcli.operators.signature import Signature
from ascend_opcli.reference.call import make_call, with_derived
from ascend_opcli.tensors.dtypes import DTYPES, round_to
from ascend_opcli.tensors.hashing import inputs_sha256
from ascend_opcli.tensors.layout import place, view


class Way(str, enum.Enum):
    """How other inputs are made: of the next seed; or real numbers that the case writes out, which are then invented:
    the same in reverse order, or any."""

    DRAWN = "drawn"
    REVERSED = "reversed"
    ANY = "any"


def other_inputs(case: Case, call: Call, signature: Signature, way: Way) -> Call | None:
    """The call with other data, None where nothing changes by it. Raises DataFailure.

    Integers that are not drawn stay as they are: indices, offsets and lengths depend on each other.
    """
    if way is Way.DRAWN:
        other = make_call(dataclasses.replace(case, seed=case.seed + 1), signature, call.product)
        return None if other.inputs_sha256 == call.inputs_sha256 else other
    change = _reversed if way is Way.REVERSED else _any
    arguments = {name: _changed(bound, change) for name, bound in call.arguments.items()}
    arguments = with_derived(case, arguments, signature)
    digest = inputs_sha256(arguments)
    if digest == call.inputs_sha256:
        return None
    return dataclasses.replace(call, arguments=arguments, inputs_sha256=digest)


def _changed(bound: BoundArgument, change: Callable[[np.ndarray, str], np.ndarray]) -> BoundArgument:
    if isinstance(bound, tuple):
        return tuple(_tensor(member, change) for member in bound)
    return _tensor(bound, change) if isinstance(bound, Tensor) else bound


def _tensor(own: Tensor, change: Callable[[np.ndarray, str], np.ndarray]) -> Tensor:
    if DTYPES[own.spec.dtype].kind not in ("float", "complex"):
        return own
    values: np.ndarray = np.ascontiguousarray(view(own)).reshape(-1)
    return place(change(values, own.spec.dtype), own.spec)


def _reversed(values: np.ndarray, dtype: str) -> np.ndarray:  # noqa: ARG001
    turned: np.ndarray = values[::-1].copy()
    return turned


def _any(values: np.ndarray, dtype: str) -> np.ndarray:
    made: np.ndarray = np.random.default_rng(values.size).normal(size=values.size)
    return round_to(made, dtype)
