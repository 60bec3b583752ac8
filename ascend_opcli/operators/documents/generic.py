"""The contract of an entry whose source nobody has read, and the one of a generated entry.

A hand-written entry without a source: required pointers, dtype lists, ranks of its document, in no known order. A
generated entry checks in the order of the generator and its runtime: pointers, SoC, dtype columns, then tiling.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from ascend_opcli.operators.arguments import Arguments, broadcast_shape, tensor
from ascend_opcli.operators.contract.changes import Variation, change, to_dtype, to_shape
from ascend_opcli.operators.contract.rules import (
    ALL_DTYPES,
    DOCUMENT,
    INVALID,
    MATHEMATICS,
    REGISTRATION,
    TILING,
    DtypeIn,
    NotNull,
    OnProduct,
    Rank,
    Rule,
    words_of,
)
from ascend_opcli.operators.documents.registrations import Registration
from ascend_opcli.operators.products import PRODUCTS
from ascend_opcli.operators.signature import Param, Signature

Column = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class KernelColumns:
    """A generated entry's table by product: column i of every tensor belongs together; null fits any cell.

    A product without an entry has a kernel whose table is not public. A tensor list counts by its first member.
    """

    names: tuple[str, ...]
    columns: Mapping[str, tuple[Column, ...]]
    status: int = INVALID
    origin: str = REGISTRATION

    def broken(self, arguments: Arguments, product: str) -> str | None:
        got = self._dtypes(arguments)
        if product not in self.columns or self._fits(got, product):
            return None
        pairs = ", ".join(f"{name} {dtype}" for name, dtype in zip(self.names, got, strict=True) if dtype)
        return f"no column of the kernel table fits the dtypes {pairs} on {product}"

    def breaks(self, arguments: Arguments, product: str) -> Iterator[Variation]:
        now = self._dtypes(arguments)
        if product not in self.columns:
            return
        for at, name in enumerate(self.names):
            for other in ALL_DTYPES if now[at] else ():
                if not self._fits((*now[:at], other, *now[at + 1 :]), product):
                    yield Variation(f"{name}={other}", change(arguments, (name,), to_dtype(other)))

    def text(self) -> str:
        alike: dict[tuple[Column, ...], list[str]] = {}
        for product, columns in self.columns.items():
            alike.setdefault(columns, []).append(product)
        said = [
            "; ".join(f"({', '.join(column)})" for column in columns)
            + ("" if len(alike) == 1 else f" on {', '.join(products)}")
            for columns, products in alike.items()
        ]
        return f"dtypes of ({', '.join(self.names)}) are one column of the kernel table: {'; '.join(said)}"

    def _dtypes(self, arguments: Arguments) -> Column:
        specs = [tensor(arguments, name) for name in self.names]
        return tuple(spec.dtype if spec is not None else "" for spec in specs)

    def _fits(self, got: Column, product: str) -> bool:
        return any(
            all(have in ("", cell) for have, cell in zip(got, column, strict=True))
            for column in self.columns[product]
        )


@dataclass(frozen=True, slots=True)
class Elementwise:
    """What follows from elementwise mathematics: the inputs broadcast, and an output has the shape they give."""

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    status: int = INVALID
    origin: str = MATHEMATICS

    def broken(self, arguments: Arguments, product: str) -> str | None:  # noqa: ARG002
        specs = {name: tensor(arguments, name) for name in self.inputs}
        shapes = {name: spec.shape for name, spec in specs.items() if spec is not None}
        shape = broadcast_shape(*shapes.values())
        if shape is None:
            said = ", ".join(f"{name} {list(own)}" for name, own in shapes.items())
            return f"the shapes do not broadcast: {said}"
        for name in self.outputs if shapes else ():
            spec = tensor(arguments, name)
            if spec is not None and spec.shape != shape:
                return f"{name} has the shape {list(spec.shape)}, the inputs give {list(shape)}"
        return None

    def breaks(self, arguments: Arguments, product: str) -> Iterator[Variation]:
        for name in self.outputs:
            spec = tensor(arguments, name)
            if spec is None or not spec.shape:
                continue
            longer = (*spec.shape[:-1], spec.shape[-1] + 1)
            changes = change(arguments, (name,), to_shape(longer))
            # An in-place tensor that is the only one breaks nothing.
            if self.broken({**arguments, **changes}, product) is not None:
                yield Variation(f"{name}={'x'.join(map(str, longer))}", changes)

    def text(self) -> str:
        have = "has" if len(self.outputs) == 1 else "have"
        if len(self.inputs) == 1:
            return f"{words_of(self.outputs)} {have} the shape of {self.inputs[0]}"
        return (
            f"{words_of(self.inputs)} broadcast, and {words_of(self.outputs)} {have} the shape that they give"
        )


@dataclass(frozen=True, slots=True)
class Lists:
    """What a document lists for one parameter; empty and None where it is silent."""

    param: Param
    dtypes: tuple[str, ...] = ()
    ranks: tuple[int, int] | None = None


def listed(params: Sequence[Lists]) -> tuple[Rule, ...]:
    """Required pointers first, then the documented dtype lists and ranks, parameter by parameter."""
    tensors = [d for d in params if d.param.is_tensor]
    rules = _pointers(params)
    rules += [
        DtypeIn((d.param.name,), dict.fromkeys(PRODUCTS, d.dtypes), origin=DOCUMENT)
        for d in tensors
        if d.dtypes
    ]
    rules += [Rank((d.param.name,), *d.ranks, origin=DOCUMENT) for d in tensors if d.ranks is not None]
    return tuple(rules)


def generated(
    params: Sequence[Lists], products: Mapping[str, bool] | None, found: Sequence[Registration]
) -> tuple[Rule, ...]:
    """Null tensors, SoC, dtype columns, and ranks by tiling.

    A product that the documents list and no registration has a kernel that is not public: its documented dtype lists
    count there.
    """
    tensors = [d for d in params if d.param.is_tensor]
    rules = _pointers(tensors)
    there = {p for r in found for p in r.products} | {p for p, yes in (products or {}).items() if yes}
    rules += [*on_products(there), *columns(params, found)]
    table = columns_by_product(found)
    closed = [p for p in there if p not in table]
    for at, lists in enumerate(tensors):
        if lists.dtypes and closed:
            cells = {p: tuple(dict.fromkeys(c[at] for c in columns)) for p, columns in table.items()}
            accepted = {p: cells.get(p, lists.dtypes) for p in PRODUCTS}
            rules.append(DtypeIn((lists.param.name,), accepted, origin=REGISTRATION))
    rules += [
        Rank((d.param.name,), *d.ranks, status=TILING, origin=DOCUMENT)
        for d in tensors
        if d.ranks is not None
    ]
    return tuple(rules)


def on_products(there: Collection[str]) -> tuple[Rule, ...]:
    """The kernel is registered for the products that are ``there``; nothing where they are unknown."""
    on, off = (tuple(p for p in PRODUCTS if (p in there) is yes) for yes in (True, False))
    return (OnProduct(on, off, origin=REGISTRATION),) if on else ()


def columns(params: Sequence[Lists], found: Sequence[Registration]) -> tuple[Rule, ...]:
    """The dtype columns that the registrations give; nothing where they are unknown."""
    table = columns_by_product(found)
    return (KernelColumns(tuple(d.param.name for d in params if d.param.is_tensor), table),) if table else ()


def of_elementwise(signature: Signature) -> tuple[Rule, ...]:
    """The shapes of an elementwise operator; nothing for tensor lists, whose members go one by one."""
    if any(p.is_list for p in signature.params):
        return ()
    inputs, outputs = (tuple(p.name for p in ps) for ps in (signature.inputs, signature.outputs))
    # An in-place tensor that is the only one has its own shape.
    return (Elementwise(inputs, outputs),) if inputs != outputs or len(inputs) > 1 else ()


def _pointers(params: Sequence[Lists]) -> list[Rule]:
    needed = tuple(d.param.name for d in params if d.param.is_pointer and not d.param.optional)
    return [NotNull(needed, origin=DOCUMENT)] if needed else []


def columns_by_product(found: Sequence[Registration]) -> dict[str, tuple[Column, ...]]:
    """The dtype columns of each product whose registrations all have some."""
    made: dict[str, tuple[Column, ...]] = {}
    for product in PRODUCTS:
        here = [r for r in found if product in r.products]
        if here and all(r.columns() for r in here):
            made[product] = tuple(dict.fromkeys(column for r in here for column in r.columns()))
    return made
