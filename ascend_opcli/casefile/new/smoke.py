"""The smoke suite: one small call, every dtype, a view, an empty tensor, a null pointer."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ascend_opcli.casefile.new.calls import Calls, filled
from ascend_opcli.casefile.new.groups import Group, Point, case_of
from ascend_opcli.errors import UsageError
from ascend_opcli.operators.arguments import first_spec
from ascend_opcli.operators.contract.phase_one import Refusal, predict
from ascend_opcli.status.codes import name_of

Commented = tuple[str, dict[str, Any]]
"""What a case is for, and its mapping."""


def first_dtype(calls: Calls) -> str:
    """The dtype of an ordinary call. Raises UsageError where none can be made."""
    dtype = calls.first_dtype
    if dtype is None:
        why = f": {calls.obstacle}" if calls.obstacle else ""
        raise UsageError(
            f"no call of {calls.operator.name} on {calls.product} can be made{why}; "
            f"'opcli ops show {calls.operator.short_name}' lists what its parameters take"
        )
    return dtype


def smallest(calls: Calls) -> Commented:
    """One ordinary call."""
    group = Group("smallest", "", (Point(first_dtype(calls), calls.base_shape),))
    return "One ordinary call; data are the operator's own where none are written.", case_of(calls, group)


def smoke(calls: Calls) -> Iterator[Commented]:
    """The cases with which one begins."""
    dtypes = calls.dtypes
    yield smallest(calls)
    base = calls.base_shape
    if len(dtypes) > 1:
        points = tuple(Point(dtype, base) for dtype in dtypes)
        yield (
            "Every dtype that the contract takes and opcli can hold.",
            case_of(calls, Group("dtypes", "", points)),
        )
    yield from _views(calls, dtypes[0])
    yield from _empty(calls, dtypes[0])
    yield from _null(calls, dtypes[0])


def _views(calls: Calls, dtype: str) -> Iterator[Commented]:
    """The inputs as transposed views, where the documents allow views."""
    arguments = calls.make(dtype, calls.base_shape)
    assert arguments is not None
    names = []
    for param in calls.operator.signature.inputs:
        spec, lists = first_spec(arguments[param.name]), calls.documented(param.name)
        if spec is not None and len(spec.shape) > 1 and lists is not None and lists.strided:
            names.append(param.name)
    layouts = dict.fromkeys(names, "transposed")
    if names and calls.accepted(filled(arguments, {}, layouts)):
        inputs = {name: {"layout": "transposed"} for name in names}
        group = Group("transposed-view", "", (Point(dtype, calls.base_shape),), inputs)
        yield "Views whose last two axes are swapped in memory.", case_of(calls, group)


def _empty(calls: Calls, dtype: str) -> Iterator[Commented]:
    allowed = [
        d.empty for p in calls.operator.signature.inputs if (d := calls.documented(p.name)) is not None
    ]
    shape = (0, *calls.base_shape[1:])
    documented = False not in allowed and (calls.known or True in allowed)
    if calls.base_shape and documented and calls.accepted(calls.make(dtype, shape)):
        yield (
            "No elements at all.",
            case_of(calls, Group("empty", "", (Point(dtype, shape),))),
        )


def _null(calls: Calls, dtype: str) -> Iterator[Commented]:
    """The first input whose null pointer the contract refuses, with its status."""
    arguments = calls.make(dtype, calls.base_shape) or {}
    for param in calls.operator.signature.inputs:
        refused = predict(calls.operator, {**arguments, param.name: None}, calls.product)
        if not param.optional and isinstance(refused, Refusal):
            case = case_of(calls, Group(f"null-{param.name}", "", (Point(dtype, calls.base_shape),)))
            case.setdefault("inputs", {})[param.name] = None
            case["expect"] = {"status": name_of(refused.status)}
            yield "A pointer that must not be null.", case
            return
