"""The boundary suite: it walks the edges of the contract, what is just accepted and what is just refused."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ascend_opcli.casefile.new.calls import Calls
from ascend_opcli.casefile.new.decisions import Failure, decisions
from ascend_opcli.casefile.new.groups import Group, Point, case_of, plain, tensor_of
from ascend_opcli.casefile.new.smoke import Commented, first_dtype
from ascend_opcli.casefile.new.tails import tails
from ascend_opcli.model import Argument, Attribute, Derived, TensorSpec
from ascend_opcli.operators.contract.changes import Variation
from ascend_opcli.operators.contract.phase_one import predict, refusals
from ascend_opcli.operators.contract.rules import NO_KERNEL
from ascend_opcli.operators.operator import Operator
from ascend_opcli.operators.products import PRODUCTS
from ascend_opcli.operators.signature import Param

DIMS = (2, 3, 2, 2, 2, 2, 2, 2)


def boundary(calls: Calls, failure: Failure | None = None) -> Iterator[Commented]:
    """Accepted edges first: dtypes, ranks, one element, none; then every refusal that follows from the contract."""
    dtype = first_dtype(calls)
    points = tuple(Point(d, calls.base_shape) for d in calls.dtypes)
    yield "Every dtype that is accepted.", case_of(calls, Group("dtype", "", points))
    low, high = calls.ranks()
    edges = [DIMS[:rank] for rank in range(low, high + 1)]
    ranks = [s for s in edges if calls.accepted(calls.make(dtype, s))]
    if ranks:
        lists = tuple(Point(dtype, s) for s in dict.fromkeys([ranks[0], ranks[-1]]))
        yield "The lowest and the highest rank that are accepted.", case_of(calls, Group("rank", "", lists))
    for name, shape in (("one", (1,)), ("empty", (0, *calls.base_shape[1:]) if calls.base_shape else (0,))):
        if calls.accepted(calls.make(dtype, shape)):
            point = (Point(dtype, shape),)
            said = "One element." if name == "one" else "No element."
            yield said, case_of(calls, Group(name, "", point))
    yield from tails(calls, dtype)
    yield from _varied(calls, dtype)
    yield from decisions(calls, failure)


def _varied(calls: Calls, dtype: str) -> Iterator[Commented]:
    base = calls.make(dtype, calls.base_shape)
    assert base is not None
    operator = calls.operator
    odd = operator.accepted_variations(base) if operator.accepted_variations is not None else []
    for variation in odd:
        if predict(operator, {**base, **variation.changes}, variation.product or calls.product) is None:
            yield "Unusual, and accepted.", _case(calls, dtype, base, variation, "accepted", 0)
    seen: set[str] = set()
    for variation, status in refusals(operator, base, calls.product):
        if variation.label not in seen and _expressible(variation):
            seen.add(variation.label)
            yield _why(status), _case(calls, dtype, base, variation, "refused", status)


def _expressible(variation: Variation) -> bool:
    # Where the documents of a product are not settled either way there is nothing to demand.
    return variation.product is None or variation.product in PRODUCTS


def _why(status: int) -> str:
    return "Refused: no kernel on this product." if status == NO_KERNEL else "Refused."


def _case(
    calls: Calls, dtype: str, base: dict[str, Argument], variation: Variation, kind: str, status: int
) -> dict[str, Any]:
    """The ordinary call with the variation's parameters in place of its own; outputs stand as they are."""
    case = case_of(calls, Group(f"{kind}-{variation.label}", "", (Point(dtype, calls.base_shape),)))
    sections: dict[str, dict[str, Any]] = {
        key: dict(case.get(key, {})) for key in ("inputs", "attrs", "outputs")
    }
    arguments = {**base, **variation.changes}
    for param in calls.operator.signature.params:
        changed = param.name in variation.changes
        argument = arguments[param.name]
        if param.is_tensor:
            if changed or not param.is_input:
                section = sections["inputs" if param.is_input else "outputs"]
                section[param.name] = _tensor(calls.operator, param, arguments)
            elif isinstance(argument, TensorSpec) and isinstance(argument.data, Derived):
                # What is worked out of the others need not fit those that are changed.
                sections["inputs"][param.name] = {**(sections["inputs"].get(param.name) or {}), "data": 0}
        elif changed:
            sections["attrs"][param.name] = plain(argument) if isinstance(argument, Attribute) else None
    for key, section in sections.items():
        case.pop(key, None)
        if section:
            case[key] = section
    if variation.product is not None:
        case["product"] = variation.product
    if status:
        case["expect"] = {"status": status}
    return case


def _tensor(operator: Operator, param: Param, arguments: dict[str, Argument]) -> Any:
    def text(spec: TensorSpec) -> dict[str, Any]:
        return tensor_of(spec, operator.format_to_say(param.name, spec, arguments))

    argument = arguments[param.name]
    if isinstance(argument, TensorSpec):
        return [text(argument)] if param.is_list else text(argument)
    return [text(spec) for spec in argument] if isinstance(argument, tuple) else None
