"""What phase 1 accepts: rules in the order in which the operator checks, each with its status.

A rule tells whether a call breaks it, and how an accepted call can be made to break it: the refusals that
``--negatives`` adds follow from the same declaration that predicts the status.
"""

# More than 400 lines: one class a kind of rule.
from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol, overload

import numpy as np

from ascend_opcli.model import Argument, Attribute, TensorSpec
from ascend_opcli.operators.arguments import Arguments, broadcast_shape, scalar_dtype, tensor
from ascend_opcli.operators.contract.changes import Variation, change, to_dtype, to_shape
from ascend_opcli.operators.products import PRODUCTS
from ascend_opcli.tensors.dtypes import DTYPES

DOCUMENT = "document"
"""The origin of a rule that a document alone gives; the places of others are a source file and line, or a table."""

REGISTRATION = "registration"
MATHEMATICS = "elementwise mathematics"

NULLPTR = 161001
INVALID = 161002
TILING = 561002
NO_KERNEL = 561003

PRIVATE_FORMATS = frozenset(
    {
        "NC1HWC0",
        "FRACTAL_Z",
        "NC1HWC0_C04",
        "FRACTAL_NZ",
        "NDC1HWC0",
        "FRACTAL_Z_3D",
        "FRACTAL_NZ_C0_16",
        "FRACTAL_NZ_C0_32",
        "FRACTAL_NZ_C0_2",
        "FRACTAL_NZ_C0_4",
        "FRACTAL_NZ_C0_8",
    }
)

# Every dtype that a negative can be made of, in the order of their use.
ALL_DTYPES = (
    "float32",
    "float16",
    "bfloat16",
    "float64",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "bool",
    "complex64",
    "complex128",
)

BFLOAT16_PRODUCTS = ("ascend950", "atlas_a3", "atlas_a2")
"""Products whose architecture has bfloat16 (DAV_2201 and regbase)."""


class Rule(Protocol):
    """One check of phase 1."""

    @property
    def status(self) -> int:
        """The status of a call that breaks it."""

    def broken(self, arguments: Arguments, product: str) -> str | None:
        """One sentence that says how the call breaks the rule, or None."""

    def breaks(self, arguments: Arguments, product: str) -> Iterator[Variation]:
        """Changes to an accepted call that break this rule and none before it."""

    def text(self) -> str:
        """The rule in words, for ``opcli ops show``."""

    @property
    def origin(self) -> str:
        """Where the rule comes from: a source's file and line, a document, a registration; empty: written by hand."""


class Contract(Sequence[Rule]):
    """The rules of one operator, in the order of their checks, made when first asked for."""

    def __init__(self, make: Callable[[], Sequence[Rule]]) -> None:
        self._make = make

    @cached_property
    def _rules(self) -> tuple[Rule, ...]:
        return tuple(self._make())

    def __len__(self) -> int:
        return len(self._rules)

    @overload
    def __getitem__(self, at: int) -> Rule: ...

    @overload
    def __getitem__(self, at: slice) -> Sequence[Rule]: ...

    def __getitem__(self, at: int | slice) -> Rule | Sequence[Rule]:
        return self._rules[at]

    def __iter__(self) -> Iterator[Rule]:
        return iter(self._rules)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and tuple(self) == tuple(other)

    def __hash__(self) -> int:
        return hash(len(self))


def words_of(items: Sequence[str]) -> str:
    return items[0] if len(items) == 1 else f"{', '.join(items[:-1])} and {items[-1]}"


# --- rules ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class NotNull:
    """Pointers that must not be null, checked in this order; one that the arguments leave out is not known."""

    names: tuple[str, ...]
    status: int = NULLPTR
    origin: str = ""

    def broken(self, arguments: Arguments, product: str) -> str | None:  # noqa: ARG002
        nulls = (name for name in self.names if name in arguments and arguments[name] is None)
        return next((f"{name} is null" for name in nulls), None)

    def breaks(self, arguments: Arguments, product: str) -> Iterator[Variation]:  # noqa: ARG002
        for name in self.names:
            yield Variation(f"{name}=null", {name: None})

    def text(self) -> str:
        return f"{words_of(self.names)} must not be null"


@dataclass(frozen=True, slots=True)
class DtypeIn:
    """Tensors, members of lists and written scalars whose dtype must be in the product's list, where it has one.

    ``together`` names tensors that an earlier or later rule ties to these: a refusal changes them too.
    """

    names: tuple[str, ...]
    dtypes: Mapping[str, tuple[str, ...]]
    together: tuple[str, ...] = ()
    status: int = INVALID
    origin: str = ""

    def broken(self, arguments: Arguments, product: str) -> str | None:
        accepted = self.dtypes.get(product)
        if accepted is None:
            return None
        for name in self.names:
            for dtype in _dtypes(arguments.get(name)):
                if dtype not in accepted:
                    return f"{name} is {dtype}, accepted are {words_of(accepted)} on {product}"
        return None

    def breaks(self, arguments: Arguments, product: str) -> Iterator[Variation]:
        groups = [self.names + self.together] if self.together else [(name,) for name in self.names]
        for group in groups:
            for dtype in ALL_DTYPES if product in self.dtypes else ():
                if dtype not in self.dtypes[product]:
                    changes = change(arguments, group, to_dtype(dtype))
                    if changes:
                        yield Variation(f"{group[0]}={dtype}", changes)

    def text(self) -> str:
        lists = {
            accepted: [p for p in self.dtypes if self.dtypes[p] == accepted]
            for accepted in self.dtypes.values()
        }
        said = [
            f"{words_of(dtypes)}" + ("" if len(lists) == 1 else f" on {words_of(on)}")
            for dtypes, on in lists.items()
        ]
        return f"dtype of {words_of(self.names)}: {'; '.join(said)}"


def _dtypes(argument: Argument) -> Iterator[str]:
    if isinstance(argument, Attribute):
        yield from () if argument.dtype is None else (argument.dtype,)
    for spec in argument if isinstance(argument, tuple) else (argument,):
        if isinstance(spec, TensorSpec):
            yield spec.dtype


@dataclass(frozen=True, slots=True)
class SameDtype:
    """Two tensors of equal dtype; a refusal gives ``second`` one of ``others``."""

    first: str
    second: str
    others: tuple[str, ...]
    status: int = INVALID
    origin: str = ""

    def broken(self, arguments: Arguments, product: str) -> str | None:  # noqa: ARG002
        a, b = tensor(arguments, self.first), tensor(arguments, self.second)
        if a is None or b is None or a.dtype == b.dtype:
            return None
        return f"{self.first} and {self.second} have different dtypes ({a.dtype} and {b.dtype})"

    def breaks(self, arguments: Arguments, product: str) -> Iterator[Variation]:  # noqa: ARG002
        a = tensor(arguments, self.first)
        for dtype in self.others:
            if a is not None and dtype != a.dtype:
                yield Variation(
                    f"{self.second}={dtype}",
                    change(arguments, (self.second,), to_dtype(dtype)),
                )

    def text(self) -> str:
        return f"{self.first} and {self.second} have the same dtype"


@dataclass(frozen=True, slots=True)
class Columns:
    """A generated entry's table: column i of every tensor belongs together, and the storage format is ND.

    NCHW and its like describe the same memory as ND (torch_npu marks every 4-D tensor so); a private format
    does not.
    """

    names: tuple[str, ...]
    columns: tuple[tuple[str, ...], ...]
    status: int = INVALID
    origin: str = ""

    def broken(self, arguments: Arguments, product: str) -> str | None:  # noqa: ARG002
        specs = [(name, tensor(arguments, name)) for name in self.names]
        for name, spec in specs:
            if spec is not None and spec.format in PRIVATE_FORMATS:
                return f"{name} has the private format {spec.format}, the kernel table has ND"
        got = tuple(spec.dtype if spec is not None else "" for _, spec in specs)
        if got in self.columns:
            return None
        pairs = ", ".join(f"{name} {dtype}" for name, dtype in zip(self.names, got, strict=True))
        return f"no column of the kernel table fits the dtypes {pairs}"

    def breaks(self, arguments: Arguments, product: str) -> Iterator[Variation]:  # noqa: ARG002
        now = tuple(spec.dtype if spec else "" for spec in (tensor(arguments, n) for n in self.names))
        for name, dtype in zip(self.names, now, strict=True):
            position = self.names.index(name)
            for other in ALL_DTYPES:
                if other != dtype and (*now[:position], other, *now[position + 1 :]) not in self.columns:
                    yield Variation(f"{name}={other}", change(arguments, (name,), to_dtype(other)))
        for other in ALL_DTYPES:
            if (other,) * len(now) not in self.columns:
                yield Variation(f"all={other}", change(arguments, self.names, to_dtype(other)))
        yield from _in_private_formats(arguments, self.names)

    def text(self) -> str:
        listed = "; ".join(f"({', '.join(column)})" for column in self.columns)
        return f"dtypes of ({', '.join(self.names)}) are one of {listed}; no private format"


@dataclass(frozen=True, slots=True)
class OnProduct:
    """A generated entry is registered for these products only."""

    products: tuple[str, ...]
    others: tuple[str, ...]
    status: int = NO_KERNEL
    origin: str = ""

    def broken(self, arguments: Arguments, product: str) -> str | None:  # noqa: ARG002
        return None if product in self.products else f"no kernel is registered for {product}"

    def breaks(self, arguments: Arguments, product: str) -> Iterator[Variation]:  # noqa: ARG002
        for other in self.others:
            yield Variation(f"product={other}", {}, other)

    def text(self) -> str:
        return f"the kernel is registered for {words_of(self.products)}"


@dataclass(frozen=True, slots=True)
class SameShape:
    """Two tensors of equal shape; a refusal lengthens ``second``."""

    first: str
    second: str
    status: int = INVALID
    origin: str = ""

    def broken(self, arguments: Arguments, product: str) -> str | None:  # noqa: ARG002
        a, b = tensor(arguments, self.first), tensor(arguments, self.second)
        if a is None or b is None or a.shape == b.shape:
            return None
        return f"{self.first} and {self.second} have different shapes ({list(a.shape)} and {list(b.shape)})"

    def breaks(self, arguments: Arguments, product: str) -> Iterator[Variation]:  # noqa: ARG002
        b = tensor(arguments, self.second)
        if b is not None and b.shape:
            longer = (*b.shape[:-1], b.shape[-1] + 1)
            yield Variation(
                f"{self.second}={'x'.join(map(str, longer))}",
                change(arguments, (self.second,), to_shape(longer)),
            )

    def text(self) -> str:
        return f"{self.first} and {self.second} have the same shape"


@dataclass(frozen=True, slots=True)
class Rank:
    """Tensors of rank ``low`` to ``high``. ``together`` are tied by shape: a refusal changes them too."""

    names: tuple[str, ...]
    low: int = 0
    high: int = 8
    together: tuple[str, ...] = ()
    status: int = INVALID
    origin: str = ""

    def broken(self, arguments: Arguments, product: str) -> str | None:  # noqa: ARG002
        for name in self.names:
            spec = tensor(arguments, name)
            if spec is None:
                continue
            if len(spec.shape) > self.high:
                return f"{name} has rank {len(spec.shape)}, at most {self.high} is accepted"
            if len(spec.shape) < self.low:
                return f"{name} has rank {len(spec.shape)}, at least {self.low} is needed"
        return None

    def breaks(self, arguments: Arguments, product: str) -> Iterator[Variation]:  # noqa: ARG002
        for name in self.names:
            group = (name, *self.together)
            ranks = [self.high + 1] + ([self.low - 1] if self.low > 0 else [])
            for rank in ranks:
                yield Variation(f"{name}=rank{rank}", change(arguments, group, to_shape((1,) * rank)))

    def text(self) -> str:
        low = f"{self.low} to " if self.low else "at most "
        return f"rank of {words_of(self.names)} is {'' if self.low == self.high else low}{self.high}"


@dataclass(frozen=True, slots=True)
class Check:
    """A rule that only one operator has: its sentence when broken, and how to break it."""

    rule: str
    test: Callable[[Arguments, str], str | None]
    how: Callable[[Arguments, str], Sequence[Variation]] = lambda _arguments, _product: ()
    status: int = INVALID
    origin: str = ""

    def broken(self, arguments: Arguments, product: str) -> str | None:
        return self.test(arguments, product)

    def breaks(self, arguments: Arguments, product: str) -> Iterator[Variation]:
        yield from self.how(arguments, product)

    def text(self) -> str:
        return self.rule


def no_private_format(*names: str) -> Check:
    """Storage formats that only kernels know (FRACTAL_NZ, NC1HWC0, ...) are refused."""

    def test(arguments: Arguments, _product: str) -> str | None:
        for name in names:
            spec = tensor(arguments, name)
            if spec is not None and spec.format in PRIVATE_FORMATS:
                return f"{name} has the private format {spec.format}"
        return None

    def how(arguments: Arguments, _product: str) -> list[Variation]:
        return list(_in_private_formats(arguments, names))

    return Check(f"{words_of(names)} have no private format", test, how)


def _in_private_formats(arguments: Arguments, names: Sequence[str]) -> Iterator[Variation]:
    for name in names:
        nz = change(arguments, (name,), lambda s: dataclasses.replace(s, format="FRACTAL_NZ"))
        yield Variation(f"{name}=FRACTAL_NZ", nz)


def castable(name: str, target: str) -> Check:
    """A tensor's dtype can be cast to another tensor's (see :func:`can_cast`)."""

    def test(arguments: Arguments, _product: str) -> str | None:
        a, b = tensor(arguments, name), tensor(arguments, target)
        if a is None or b is None or can_cast(a.dtype, b.dtype):
            return None
        return f"{name} is {a.dtype}, which cannot be cast to {target}'s {b.dtype}"

    def how(arguments: Arguments, _product: str) -> list[Variation]:
        a = tensor(arguments, name)
        return [
            Variation(f"{target}={d}", change(arguments, (target,), to_dtype(d)))
            for d in ALL_DTYPES
            if a is not None and not can_cast(a.dtype, d)
        ]

    return Check(f"{name} can be cast to {target}'s dtype", test, how)


def scalar_castable(names: Sequence[str], to: str) -> Check:
    """An aclScalar's dtype can be cast: complex to real cannot."""

    def test(arguments: Arguments, _product: str) -> str | None:
        for name in names:
            dtype = scalar_dtype(arguments.get(name))
            if dtype is not None and not can_cast(dtype, to):
                return f"{name} is {dtype}, which cannot be cast to {to}"
        return None

    def how(_arguments: Arguments, _product: str) -> list[Variation]:
        return [Variation(f"{name}=complex64", {name: Attribute(1.0, "complex64")}) for name in names]

    return Check(f"{words_of(list(names))} can be cast to {to}", test, how)


def broadcastable(first: str, second: str) -> Check:
    """Two tensors whose shapes broadcast."""

    def test(arguments: Arguments, _product: str) -> str | None:
        a, b = tensor(arguments, first), tensor(arguments, second)
        if a is None or b is None or broadcast_shape(a.shape, b.shape) is not None:
            return None
        return f"the shapes of {first} and {second} do not broadcast ({list(a.shape)} and {list(b.shape)})"

    def how(arguments: Arguments, _product: str) -> list[Variation]:
        b = tensor(arguments, second)
        if b is None or not b.shape or b.shape[-1] < 2:
            return []
        longer = (*b.shape[:-1], b.shape[-1] + 1)
        return [
            Variation(
                f"{second}={'x'.join(map(str, longer))}",
                change(arguments, (second,), to_shape(longer)),
            )
        ]

    return Check(f"{first} and {second} broadcast", test, how)


def float32(value: Any) -> float:
    """A scalar as C++ code holds it in a float: of a complex number the real part, Inf where it is too large."""
    with np.errstate(over="ignore"):
        return float(np.float32(value.real if isinstance(value, complex) else value))


def can_cast(source: str, target: str) -> bool:
    """CANN's CanCast: complex to real, float to integer and anything but bool to bool are not castable."""
    order = ("bool", "uint", "int", "float", "complex")
    low, high = (order.index(DTYPES[name].kind) for name in (source, target))
    return low <= high or (source.startswith("int") and target.startswith("uint"))


def by_product(common: Sequence[str], **extra: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """A dtype list per product: ``common`` everywhere, and more on the products named."""
    return {p: (*common, *extra.get(p, ())) for p in PRODUCTS}


def with_bfloat16(*dtypes: str) -> dict[str, tuple[str, ...]]:
    """A dtype list with bfloat16 where the architecture has it."""
    return by_product(dtypes, **dict.fromkeys(BFLOAT16_PRODUCTS, ("bfloat16",)))
