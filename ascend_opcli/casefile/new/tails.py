"""Cases of which the end of a reduced axis decides the result: a kernel that leaves it out fails."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Iterator

import numpy as np

from ascend_opcli.casefile.new.calls import Calls
from ascend_opcli.casefile.new.groups import Group, Point, case_of
from ascend_opcli.casefile.new.smoke import Commented
from ascend_opcli.model import Argument, Case, Derived, Shape, TensorSpec, Where
from ascend_opcli.operators.declare.choices import wide
from ascend_opcli.reference.call import make_call
from ascend_opcli.reference.derived import DataError, DataFailure
from ascend_opcli.reference.evaluate import golden, host_result
from ascend_opcli.reference.fitting import ReferenceFailure
from ascend_opcli.reference.omissions import Axis, axes, corner, flat
from ascend_opcli.tensors.dtypes import DTYPES

LONG = 67
"""A length of which every block of 8, 16 and 64 leaves a part."""

CLEAR, LEAST = 0.1, 0.01
"""The relative and the absolute error by which an omission must show, in more than half of an output."""

_REALS = (
    "where({}, 64, uniform(-1, 1))",
    "where({}, -64, uniform(-1, 1))",
    "where({}, 8, uniform(0, 1))",
    "where({}, 3, uniform(0.97, 1.03))",
    "where({}, 0.9, uniform(0.01, 0.02))",
    "where({}, 0.01, uniform(0.8, 0.9))",
)
_WHOLE = ("where({}, 100, integers(0, 9))", "where({}, 0, integers(90, 100))")
_TRUTH = ("{}", "logical_not({})")


def tails(calls: Calls, dtype: str) -> Iterator[Commented]:
    """One case for every reduced axis of an ordinary call, where data can be had of which its end decides."""
    base = calls.base_shape
    shapes = [(*base[:-1], LONG), base] if base else []
    for shape in shapes:
        arguments = calls.make(dtype, shape)
        if arguments is None or not calls.accepted(arguments):
            continue
        found = [axis for axis in axes_of(calls, arguments) if axis.reduced]
        if not found:
            continue
        for axis in found:
            text = _deciding(calls, arguments, axis)
            if text is not None:
                group = Group(
                    f"end-of-{axis.tensor}-{axis.number}",
                    "",
                    (Point(dtype, shape),),
                    {axis.tensor: {"data": {"expr": text}}},
                )
                yield "The last element of a reduced axis decides.", case_of(calls, group)
        return


def axes_of(calls: Calls, arguments: dict[str, Argument]) -> list[Axis]:
    """The axes of the inputs of a call, none where the reference cannot work it through."""
    case = Case("<new>", "new", calls.operator.name, arguments, Where("<new>", 1, 1))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            call = make_call(case, calls.operator.signature, calls.product)
            return list(axes(calls.operator, call, golden(calls.operator, call).outputs))
    except (ReferenceFailure, DataError, DataFailure, ValueError):
        return []


def _deciding(calls: Calls, arguments: dict[str, Argument], axis: Axis) -> str | None:
    """An expression for the axis's tensor; the first under which every omission shows in every output."""
    argument = arguments[axis.tensor]
    spec = argument[0] if isinstance(argument, tuple) else argument
    if not isinstance(spec, TensorSpec):
        return None
    kind = DTYPES[spec.dtype].kind
    last = _last(spec.shape, axis.number)
    for form in _TRUTH if kind == "bool" else _REALS if kind in ("float", "complex") else _WHOLE:
        text = form.format(last)
        made = dataclasses.replace(spec, data=Derived(text))
        changed = {**arguments, axis.tensor: (made,) if isinstance(argument, tuple) else made}
        if not calls.taken(changed):
            continue
        own = next((a for a in axes_of(calls, changed) if a.name == axis.name), None)
        if own is None or not axis.reduced <= own.reduced or not _shows(own, axis.reduced):
            continue
        if _host_agrees(calls, changed, own):
            return text
    return None


def _host_agrees(calls: Calls, arguments: dict[str, Argument], axis: Axis) -> bool:
    """Whether the compute dtype has the result: neither it nor a step towards it overflows or vanishes."""
    case = Case("<new>", "new", calls.operator.name, arguments, Where("<new>", 1, 1))
    made = flat(host_result(calls.operator, make_call(case, calls.operator.signature, calls.product)))
    return all(_near(wide(made[name]), axis.whole[name]).all() for name in axis.reduced)


def _last(shape: Shape, axis: int) -> str:
    """Where an element is the last one of an axis."""
    size = shape[axis]
    after = ", ".join(["1"] * (len(shape) - axis - 1))
    places = f"reshape(arange({size}), [{size}, {after}])" if after else f"arange({size})"
    return f"{places} == {size - 1}"


def _shows(axis: Axis, names: frozenset[str]) -> bool:
    for made in axis.without(1):
        for name in names & made.keys():
            got, wanted = made[name], corner(axis.whole[name], made[name].shape)
            far = ~_near(got, wanted)
            if not np.isfinite(wanted.astype(complex)).all() or 2 * np.count_nonzero(far) <= far.size:
                return False
    return True


def _near(got: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    with np.errstate(all="ignore"):
        allowed = np.maximum(CLEAR * abs(wanted.astype(complex)), LEAST)
        return np.asarray(abs(got.astype(complex) - wanted) <= allowed)
