"""A case of a foreign file in opcli's own grammar, as the formats hand it on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ascend_opcli.casefile.files.positions import SCALAR, SCALARS, GivenArgument
from ascend_opcli.model import Where
from ascend_opcli.operators.operator import Operator
from ascend_opcli.operators.products import DEFAULT_PRODUCT, PRODUCTS
from ascend_opcli.tensors.dtypes import of_acl

ACCEPTED = "ACL_SUCCESS"

Resolve = Callable[[str], Operator]
"""The operator of a name; UnknownOperator with the nearest where there is none."""


@dataclass(frozen=True, slots=True)
class WrittenCase:
    """One case. ``body`` is its plain data, None where the file defines no call; ``skip`` says why it is not run.

    A body with a ``skip`` is a whole call that nothing here can judge. ``origin`` says where the standard
    comes from, in the words of the file.
    """

    name: str
    where: Where
    operator: str
    body: Mapping[str, Any] | None
    skip: str = ""
    origin: str = ""


def arguments(operator: Operator, placed: Mapping[str, GivenArgument]) -> dict[str, Any]:
    """``op``, ``product``, ``inputs``, ``attrs`` and ``outputs`` of a case from its placed arguments."""
    sections: dict[str, dict[str, Any]] = {"inputs": {}, "attrs": {}, "outputs": {}}
    for param in operator.signature.params:
        given = placed.get(param.name)
        if given is None:
            if param.optional and param.is_pointer and param.is_input:
                sections["inputs" if param.is_tensor else "attrs"][param.name] = None
            continue
        if not param.is_tensor:
            by_number = param.type == "aclDataType" and isinstance(given.value, int)
            sections["attrs"][param.name] = of_acl(given.value) if by_number else given.value
        elif param.is_input:
            sections["inputs"][param.name] = given.value
        else:
            sections["outputs"][param.name] = _as_output(given.value)
    body: dict[str, Any] = {"op": operator.name if operator.custom else operator.short_name}
    home = product_for(operator)
    if home is not None:
        body["product"] = home
    # These tools write down calls that are accepted; a list in a document does not know better.
    return (
        body
        | {key: section for key, section in sections.items() if section}
        | {"expect": {"status": ACCEPTED}}
    )


def product_for(operator: Operator, listed: tuple[str, ...] = ()) -> str | None:
    """The product to judge for: None, the default, where it serves; else the first that is listed or documented."""
    if listed:
        return None if DEFAULT_PRODUCT in listed else listed[0]
    if not operator.products or operator.supports(DEFAULT_PRODUCT):
        return None
    return next((p for p in PRODUCTS if operator.supports(p)), None)


def _as_output(value: Any) -> Any:
    """An output has a dtype and a shape; a file that lists it gives it data too, which the operator makes."""
    if isinstance(value, list):
        return [_as_output(v) for v in value]
    if not isinstance(value, dict):
        return value
    return {key: part for key, part in value.items() if key != "data"}


def scalar(value: Any, dtype: str, name: str = "") -> GivenArgument:
    """An aclScalar."""
    return GivenArgument(name, SCALAR, {"value": value, "dtype": dtype})


def scalars(values: list[Any], dtype: str, name: str = "") -> GivenArgument:
    """An aclScalarList, whose members share a dtype."""
    return GivenArgument(name, SCALARS, {"value": values, "dtype": dtype})
