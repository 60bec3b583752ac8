"""Kernel registrations (OpDef): dtype columns, attributes with defaults, SoCs; and which entries they generate.

Data: ``kernels.json``, read once and only where it is needed. A registration row is [library, experimental, SoCs,
inputs, attributes, outputs], a tensor [name, r/o/d/v for required, optional, dynamic, virtual, place in the table's
lists of dtypes], an attribute [name, type, required, default]; trailing unknowns are left out.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import Any

from ascend_opcli.operators.operator import Default
from ascend_opcli.operators.products import PRODUCTS, SOC_PRODUCTS
from ascend_opcli.operators.signature import Param

ATTRIBUTE_TYPES: Mapping[str, str] = {
    "Int": "int64_t",
    "Bool": "bool",
    "Float": "double",
    "String": "char",
    "ListInt": "aclIntArray",
    "ListFloat": "aclFloatArray",
    "ListBool": "aclBoolArray",
}
"""The C type that a generated entry has for an attribute."""

_WAYS = {"r": "required", "o": "optional", "d": "dynamic", "v": "virtual", "": ""}
_SUFFIXES = ("Optional", "Ref", "Out")


@dataclass(frozen=True, slots=True)
class KernelTensor:
    """An input or output of a registration; ``dtypes`` are its cells of the dtype columns, empty where unknown."""

    name: str
    way: str
    dtypes: tuple[str, ...] = ()

    @property
    def type(self) -> str:
        """The C type: a dynamic input is a list."""
        return "aclTensorList" if self.way == "dynamic" else "aclTensor"


@dataclass(frozen=True, slots=True)
class KernelAttribute:
    """An attribute of a registration; ``default`` is None where there is none or it is a name of the source."""

    name: str
    type: str
    required: bool
    default: Default | None = None


@dataclass(frozen=True, slots=True)
class Registration:
    """One OpDef: column i of every tensor's ``dtypes`` belongs together."""

    repository: str
    experimental: bool
    socs: tuple[str, ...]
    inputs: tuple[KernelTensor, ...]
    attributes: tuple[KernelAttribute, ...]
    outputs: tuple[KernelTensor, ...]

    @property
    def products(self) -> tuple[str, ...]:
        """The products whose SoCs it is registered for."""
        return tuple(p for p in PRODUCTS if any(SOC_PRODUCTS.get(soc) == p for soc in self.socs))

    @property
    def own_outputs(self) -> tuple[KernelTensor, ...]:
        """Outputs that are not an input written in place."""
        inputs = {_bare(t.name) for t in self.inputs}
        return tuple(t for t in self.outputs if _bare(t.name) not in inputs)

    def columns(self) -> tuple[tuple[str, ...], ...]:
        """The columns over inputs and own outputs; empty where the lists are unknown or of several lengths."""
        lists = [t.dtypes for t in (*self.inputs, *self.own_outputs)]
        if not lists or not lists[0] or len({len(cells) for cells in lists}) != 1:
            return ()
        return tuple(dict.fromkeys(zip(*lists, strict=True)))


@lru_cache(maxsize=1)
def _table() -> Any:
    return json.loads(files("ascend_opcli.operators.documents").joinpath("kernels.json").read_text("utf-8"))


def names() -> tuple[str, ...]:
    """The operator types that are registered, such as ``LogitGrad``."""
    return tuple(_table()["kernels"])


@lru_cache(maxsize=2048)
def registrations(kernel: str) -> tuple[Registration, ...]:
    """Every registration of an operator type; empty where there is none."""
    lists = _table()["lists"]
    return tuple(
        Registration(
            library,
            bool(experimental),
            tuple(socs),
            tuple(_tensor(t, lists) for t in inputs),
            tuple(_attribute(a) for a in attributes),
            tuple(_tensor(t, lists) for t in outputs),
        )
        for library, experimental, socs, inputs, attributes, outputs in _table()["kernels"].get(kernel, ())
    )


def _tensor(row: Sequence[Any], lists: Sequence[Sequence[str]]) -> KernelTensor:
    return KernelTensor(row[0], _WAYS[row[1]], tuple(lists[row[2]]) if len(row) > 2 else ())


def _attribute(row: Sequence[Any]) -> KernelAttribute:
    default = row[3] if len(row) > 3 else None
    return KernelAttribute(
        row[0], row[1], bool(row[2]), tuple(default) if isinstance(default, list) else default
    )


# --- generated entries ----------------------------------------------------------------------------------------


def generating(
    name: str,
    params: Sequence[Param],
    dtypes: Mapping[str, Sequence[str]],
    products: Mapping[str, bool] | None,
) -> tuple[Registration, ...]:
    """The registrations from which the aclnn entry ``name`` follows; empty where it is not a generated one.

    No document says which entries are generated, so everything must agree: the parameters are the inputs, the
    attributes and the outputs in this order and of the C types that the generator gives them, the documented
    ``products`` are those of the registrations, and no documented dtype is missing from their columns.
    """
    every = tuple(r for r in registrations(name.removeprefix("aclnn")) if r.socs)
    named = any(_same(params, r) for r in every)
    # Where one has the entry's names, another product's may call the output otherwise.
    found = tuple(r for r in every if _same(params, r) or (named and _same(params, r, outputs=False)))
    on = {p for r in found for p in r.products}
    if products is not None and {p for p, there in products.items() if there} - on:
        return ()
    for at, param in enumerate(_tensors_in_order(params)):
        cells = {cell for r in found for cell in (*r.inputs, *r.own_outputs)[at].dtypes}
        if cells and not set(dtypes.get(param.name, ())) <= cells:
            return ()
    return found


def _tensors_in_order(params: Sequence[Param]) -> list[Param]:
    return [p for p in params if p.is_tensor]


def _same(params: Sequence[Param], registered: Registration, *, outputs: bool = True) -> bool:
    """Whether an entry has what the generator makes of a registration; ``outputs``: their names too."""
    made = registered.own_outputs
    wanted = [(_bare(t.name), t.type) for t in registered.inputs]
    wanted += [(_bare(a.name), ATTRIBUTE_TYPES[a.type]) for a in registered.attributes]
    head, tail = params[: len(wanted)], params[len(wanted) :]
    if [(_bare(p.name), p.type) for p in head] != wanted or len(tail) != len(made):
        return False
    if any(p.io == "in" or p.type != t.type for p, t in zip(tail, made, strict=True)):
        return False
    if not outputs:
        return True
    spelled = [_bare(p.name) for p in tail]
    # The generator calls a lone output out, whatever the registration calls it.
    return spelled == [_bare(t.name) for t in made] or (len(tail) == 1 and tail[0].name == "out")


def _bare(name: str) -> str:
    """``self_ref`` and ``selfRef`` alike, without the suffixes that the generator adds."""
    for suffix in _SUFFIXES:
        if name != suffix and name.endswith(suffix):
            name = name[: -len(suffix)]
    return name.replace("_", "").casefold()


def defaults(params: Sequence[Param], found: Sequence[Registration]) -> dict[str, Default]:
    """Attribute defaults by aclnn parameter name, where all registrations agree on one."""
    made: dict[str, Default] = {}
    plain = [p for p in params if not p.is_tensor]
    for at, param in enumerate(plain):
        given = {r.attributes[at].default for r in found}
        default = given.pop() if len(given) == 1 else None
        if default is not None:
            made[param.name] = default
    return made
