"""What an operator is: a signature, a contract and a reference, with what a short case leaves out."""

from __future__ import annotations

import contextlib
import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ascend_opcli.model import Data, Fill, Generator, Shape, TensorSpec
from ascend_opcli.operators.arguments import Arguments, broadcast_shape, first_spec
from ascend_opcli.operators.contract.formats import following, usual
from ascend_opcli.operators.products import PRODUCTS
from ascend_opcli.operators.signature import Signature, parse
from ascend_opcli.tensors.layout import is_shape, resolve

if TYPE_CHECKING:
    import numpy as np

    from ascend_opcli.operators.contract.changes import Variation
    from ascend_opcli.operators.contract.rules import Rule

Default = bool | int | float | str | tuple[bool | int | float, ...]
Reference = Callable[..., Any]
TensorRule = Callable[[str, Shape], "tuple[str, Shape] | None"]
"""How a tensor follows the case's dtype and shape; None is the null pointer. Raises ValueError where it cannot."""
TYPE = "ir:"
"""Begins the name of an operator that is called by its type."""
TOLD = frozenset({"kernel_dtype", "dtypes", "serves", "run_dtype", "call"})
"""Keywords by which a reference is told of its run beside inputs and attributes."""

OutputRule = Callable[[Arguments], "tuple[str, Shape] | None"]
"""Dtype and shape of an output; None where the inputs do not settle it."""


class Undefined(ValueError):
    """A reference raises this for a call whose result the operator does not define; the message says why."""


@dataclass(frozen=True, slots=True)
class Divergence:
    """A declared place where the kernel of record and a document or another kernel disagree.

    ``touched`` tells whether a call's arrays and attributes come near it, None where no data can (a matter
    of the document only).
    """

    text: str
    touched: Callable[..., Any] | None = None


@dataclass(frozen=True, slots=True)
class Unchecked:
    """Something that the operator accepts although its kernel would read or write out of bounds.

    ``broken`` gives the sentence, or None.
    """

    broken: Callable[[Arguments], str | None]


@dataclass(frozen=True, slots=True)
class Operator:
    """One aclnn API.

    ``reference`` is called with the inputs by aclnn name and the attributes as keywords, floats in the dtype
    of the run (float64 for the golden, ``compute`` for the host result), integers as they are, attributes as
    NumPy scalars of the dtype in ``attribute_dtypes``; it returns an array or a tuple in output order, with None in
    place of an output of which nobody has said what it holds in such a call, a masked array where that is so of some
    elements. Where it has a keyword ``kernel_dtype`` it is told the dtype that ``rounds_to`` gives, by ``dtypes``
    the dtype words of the tensors as they were before the run widened them, by ``serves`` whether this run gives the
    ``golden`` (float64) or the ``host`` result (compute dtype), by ``run_dtype`` that dtype, and by ``call`` the
    whole call.

    ``rounds_to`` is the dtype in which the kernel writes before a cast to the output's own dtype, where that
    can differ. ``branches`` maps the same arguments to named masks. ``ambiguous`` returns a mask of elements
    for which both sides of a threshold are right, and the values of the other side; they are those of the output
    ``ambiguous_output``, of every output where that is None. ``holds`` says what must hold of outputs that are
    defined up to a choice: it is told what the reference is, by ``got`` the outputs of a call and by ``golden``
    those of the reference, and gives a :class:`.declare.choices.Held` for each thing. ``flat_like`` names inputs
    that the kernel reads as flat memory of another's size. ``sample_shape`` and ``sample_attributes``
    make an ordinary call of it. ``formats`` are those that the documents list for a tensor. ``operations`` and
    ``moved`` count what a call does and the bytes that it touches, where :mod:`cost` cannot know. ``generic`` marks a
    contract made of the documents' lists alone. ``custom`` marks an operator that nobody has documented,
    ``declared`` one whose signature came from a prototype and is not the catalog's. ``own`` says where a reference
    that is not built in comes from, ``remarks`` what a report should say of it. ``open_outputs``: nobody has said
    which shape outputs have, so that they take that of the reference's result. ``absent`` are outputs that are the
    null pointer where a case leaves them out.
    """

    name: str
    signature: Signature
    reference: Reference | None
    summary: str = ""
    formula: str = ""
    products: Mapping[str, bool] = field(default_factory=dict)
    generated: bool = False
    contract: Sequence[Rule] = ()
    unchecked: tuple[Unchecked, ...] = ()
    defaults: Mapping[str, Default] = field(default_factory=dict)
    attribute_dtypes: Mapping[str, str] = field(default_factory=dict)
    outputs: Mapping[str, OutputRule] = field(default_factory=dict)
    formats: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    short: Mapping[str, TensorRule] = field(default_factory=dict)
    data: Mapping[str, Data] = field(default_factory=dict)
    compute: str = "float32"
    elementwise: bool = False
    rounds_to: Callable[[Mapping[str, str | None]], str | None] | None = None
    branches: Callable[..., dict[str, np.ndarray]] | None = None
    ambiguous: Callable[..., tuple[np.ndarray, np.ndarray] | None] | None = None
    ambiguous_output: str | None = None
    holds: Callable[..., Any] | None = None
    flat_like: Mapping[str, str] = field(default_factory=dict)
    divergences: tuple[Divergence, ...] = ()
    accepted_variations: Callable[[Arguments], list[Variation]] | None = None
    standard: str | None = None
    sample_shape: Shape = (2, 3, 4)
    sample_attributes: Mapping[str, bool | int | float | str] = field(default_factory=dict)
    operations: Callable[[Arguments], int | None] | None = None
    moved: Callable[[Arguments], int] | None = None
    generic: bool = False
    custom: bool = False
    declared: bool = False
    own: str = ""
    remarks: tuple[str, ...] = ()
    open_outputs: bool = False
    absent: tuple[str, ...] = ()

    @property
    def short_name(self) -> str:
        """``logit_grad`` for ``aclnnLogitGrad``."""
        return snake(self.name)

    @property
    def by_type(self) -> bool:
        """Whether it is a kernel called by its type, which has no aclnn entry here."""
        return self.name.startswith(TYPE)

    def short_form(self, dtype: str, shape: Shape) -> dict[str, tuple[str, Shape] | None]:
        """Dtype and shape of every input of a case that gives only one of each.

        Raises ValueError naming the tensors that need a shape of their own.
        """
        made: dict[str, tuple[str, Shape] | None] = {}
        need: dict[str, str] = {}
        for param in self.signature.inputs:
            try:
                made[param.name] = self.short.get(param.name, same)(dtype, shape)
            except ValueError as error:
                need[param.name] = str(error)
        if need:
            why = next(iter(need.values()))
            raise ValueError(f"{', '.join(need)} of {self.name} need a shape of their own: {why}")
        return made

    def default_data(self, name: str, dtype: str) -> Data:
        """What fills an input whose case does not say: the operator's own, else normal or small integers."""
        own = self.data.get(name)
        if own is not None:
            return own
        if dtype == "bool":
            return Generator("integers", (0, 1))
        if dtype.startswith("uint"):
            return Generator("integers", (0, 100))
        if dtype.startswith("int"):
            return Generator("integers", (-100, 100))
        return Generator("normal", (0.0, 1.0))

    def default_input(self, name: str, dtype: str, shape: Shape) -> TensorSpec:
        """An input of which a case gives dtype and shape alone."""
        return _plain(dtype, shape, self.default_data(name, dtype), self.input_format(name, shape))

    def default_output(self, name: str, arguments: Arguments) -> TensorSpec | None:
        """An output that the case leaves out, None for the null pointer. Never fails."""
        if name in self.absent:
            return None
        dtype, shape = self.infer_output(name, arguments)
        return _plain(dtype, shape, None, self.output_format(name, shape, arguments))

    def default_members(self, name: str, arguments: Arguments) -> tuple[TensorSpec, ...]:
        """The members of a list of outputs that the case leaves out. Never fails."""
        members = self.infer_members(name, arguments)
        return tuple(_plain(d, s, None, self.output_format(name, s, arguments)) for d, s in members)

    def input_format(self, name: str, shape: Shape) -> str:
        """The format of an input for which the case names none."""
        return usual(self.formats.get(name, ()), len(shape))

    def output_format(self, name: str, shape: Shape, arguments: Arguments) -> str:
        """The format of an output for which the case names none."""
        specs = (first_spec(arguments.get(p.name)) for p in self.signature.inputs)
        return following(self.formats.get(name, ()), shape, (s for s in specs if s is not None))

    def format_to_say(self, name: str, spec: TensorSpec, arguments: Arguments) -> str | None:
        """The format of a tensor of a call as it must be written; None where it has it by itself."""
        made = self.input_format(name, spec.shape)
        if not self.signature[name].is_input:
            made = self.output_format(name, spec.shape, arguments)
        return spec.format if spec.format != made else None

    def infer_output(self, name: str, arguments: Arguments) -> tuple[str, Shape]:
        """Dtype and shape of an output that the case leaves out. Never fails: see the fall-backs."""
        made = self._inferred(name, arguments)
        if made is not None and is_shape(made[1]):
            return made
        for param in self.signature.inputs:
            spec = first_spec(arguments.get(param.name))
            if spec is not None:
                return spec.dtype, spec.shape
        return "float32", (1,)

    def _inferred(self, name: str, arguments: Arguments) -> tuple[str, Shape] | None:
        rule = self.outputs.get(name)
        if rule is not None:
            # A call that fits no rule: the contract or the kernel says so.
            with contextlib.suppress(Exception):
                return rule(arguments)
        return None

    def not_inferred(self, name: str, arguments: Arguments) -> str | None:
        """Why an output of which there is a rule has no shape by it; None where it has one, or no rule is there.

        Such an output has the dtype and shape of another tensor, which say nothing of what the operator takes. So has
        every one of a documented operator without a reference: its rules are guesses.
        """
        if self.generic and self.reference is None:
            return ""
        rule = self.outputs.get(name)
        if rule is None:
            return None
        made = self._inferred(name, arguments)
        unsure: Callable[[Arguments], bool] | None = getattr(rule, "open", None)
        if made is not None and not (unsure is not None and unsure(arguments)):
            return None if is_shape(made[1]) else f"it would be {list(made[1])}"
        why: Callable[[Arguments], str] | None = getattr(rule, "why", None)
        return why(arguments) if why is not None else ""

    def infer_members(self, name: str, arguments: Arguments) -> tuple[tuple[str, Shape], ...]:
        """Dtype and shape of every member of a tensor list that the case leaves out.

        Member by member from the members of the input lists, as many as the first of them has; one where there
        is none. Never fails.
        """
        lists = {n: a for n, a in arguments.items() if isinstance(a, tuple)}
        first = next((a for p in self.signature.inputs if (a := lists.get(p.name)) is not None), None)
        if first is None:
            return (self.infer_output(name, arguments),)
        return tuple(
            self.infer_output(
                name, {**arguments, **{n: a[i] if i < len(a) else None for n, a in lists.items()}}
            )
            for i in range(len(first))
        )

    def supports(self, product: str) -> bool:
        """Whether the documents list the product."""
        return self.products.get(product, False)


def _plain(dtype: str, shape: Shape, data: Data | None, format: str) -> TensorSpec:
    strides, offset, storage, layout = resolve(shape)
    return TensorSpec(dtype, shape, data, strides, offset, storage, layout, format)


def snake(name: str) -> str:
    """``BatchNormElemtBackward`` and ``aclnnBatchNormElemtBackward`` -> ``batch_norm_elemt_backward``.

    A type, ``ir:SquareSumAll``, has that one name.
    """
    if name.startswith(TYPE):
        return name
    bare = name.removeprefix("aclnn")
    words = re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", bare)
    return re.sub(r"([A-Z]+)([A-Z][a-z])", r"\1_\2", words).lower()


# --- words for declaring operators ---------------------------------------------------------------------------


def same(dtype: str, shape: Shape) -> tuple[str, Shape]:
    """A tensor that follows the case's dtype and shape as they are."""
    return dtype, shape


def per_channel(dtype: str, shape: Shape) -> tuple[str, Shape]:
    """A tensor of one value a channel: ``[C]`` where C is axis 1."""
    if len(shape) < 2:
        raise ValueError(f"the channel axis 1 does not exist in shape {list(shape)}")
    return dtype, (shape[1],)


def fixed(dtype: str, *shape: int) -> TensorRule:
    """A tensor that does not follow the case."""
    return lambda _dtype, _shape: (dtype, shape)


def with_dtype(dtype: str) -> TensorRule:
    """The case's shape in a dtype of its own."""
    return lambda _dtype, shape: (dtype, shape)


def like(name: str) -> OutputRule:
    """An output of an input's dtype and shape."""

    def rule(arguments: Arguments) -> tuple[str, Shape] | None:
        spec = first_spec(arguments.get(name))
        return (spec.dtype, spec.shape) if spec is not None else None

    return rule


def broadcast(*names: str, dtype: str) -> OutputRule:
    """An output of the broadcast shape of ``names`` and the dtype of the input ``dtype``."""

    def rule(arguments: Arguments) -> tuple[str, Shape] | None:
        specs = [first_spec(arguments.get(n)) for n in names]
        kind = first_spec(arguments.get(dtype))
        if kind is None or any(s is None for s in specs):
            return None
        shape = broadcast_shape(*(s.shape for s in specs if s is not None))
        return (kind.dtype, shape) if shape is not None else None

    return rule


def uniform(lo: float, hi: float) -> Generator:
    """Default data, half-open."""
    return Generator("uniform", (lo, hi))


def fill(value: float) -> Fill:
    """Default data, one value."""
    return Fill(value)


def operator(
    prototype: str,
    *,
    io: Mapping[str, str] | None = None,
    optional: tuple[str, ...] = (),
    products: tuple[str, ...] = tuple(PRODUCTS),
    **rest: Any,
) -> Callable[[Reference], Operator]:
    """Make an :class:`Operator` of a reference function.

    ``prototype`` is the C prototype of phase 1. Attribute defaults are the reference's keyword defaults; its
    docstring's first line is the summary and the rest, where there is one, the formula.
    """
    signature = parse(prototype, io=io, optional=optional)

    def make(reference: Reference) -> Operator:
        parameters = inspect.signature(reference).parameters
        names = {p.name for p in signature.params}
        stray = set(parameters) - names - TOLD
        if stray:
            raise TypeError(f"{signature.name} has no parameter {', '.join(sorted(stray))}")
        summary, _, formula = (inspect.getdoc(reference) or "").partition("\n\n")
        return Operator(
            name=signature.name,
            signature=signature,
            reference=reference,
            summary=" ".join(summary.split()),
            formula=formula,
            products={p: p in products for p in PRODUCTS},
            defaults={
                n: p.default for n, p in parameters.items() if p.default is not inspect.Parameter.empty
            },
            **rest,
        )

    return make
