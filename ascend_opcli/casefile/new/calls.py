"""Ordinary calls of any operator: with a reference, documented only, or known by its prototype."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from ascend_opcli.model import (
    Argument,
    Attribute,
    Case,
    Data,
    Derived,
    Fill,
    Generator,
    Shape,
    TensorSpec,
    Where,
)
from ascend_opcli.operators.arguments import Arguments, first_spec
from ascend_opcli.operators.contract.phase_one import Refusal, predict, unchecked
from ascend_opcli.operators.contract.rules import OnProduct
from ascend_opcli.operators.documents.catalogued import Documented, Entry, documented
from ascend_opcli.operators.documents.generic import KernelColumns
from ascend_opcli.operators.operator import Default, Operator
from ascend_opcli.operators.products import DEFAULT_PRODUCT, PRODUCTS
from ascend_opcli.operators.signature import Param
from ascend_opcli.reference.call import make_call
from ascend_opcli.reference.evaluate import golden
from ascend_opcli.reference.fitting import ReferenceFailure
from ascend_opcli.tensors.dtypes import DTYPES
from ascend_opcli.tensors.layout import resolve

PROBE = 1 << 14
"""A call with more elements is not worked through to see whether the reference takes it."""

_FIRST = ("float32", "float16", "bfloat16")
_WORDS = (*_FIRST, *(word for word in DTYPES if word not in _FIRST))

_WHOLE: Mapping[str, Default] = dict.fromkeys(
    ("int64_t", "int32_t", "int", "int8_t", "uint64_t", "uint32_t"), 1
)
_PLAIN: Mapping[str, Default] = {
    **_WHOLE,
    "bool": False,
    "double": 1.0,
    "float": 1.0,
    "aclScalar": 1.0,
    "aclScalarList": (1.0,),
    "aclIntArray": (1,),
    "aclFloatArray": (1.0,),
    "aclBoolArray": (False,),
    "aclDataType": "float32",
    "char": "",
}
"""A value of every C type, for an attribute of which nothing is known."""


def product_for(operator: Operator, wanted: str | None = None) -> str:
    """The product asked for, else the default one where the operator has it, else the first that has."""
    if wanted is not None:
        return wanted
    registered = [p for rule in operator.contract if isinstance(rule, OnProduct) for p in rule.products]
    there = registered or [p for p in PRODUCTS if operator.supports(p)]
    return DEFAULT_PRODUCT if DEFAULT_PRODUCT in there or not there else there[0]


def size(arguments: Arguments) -> int:
    """Elements of the largest tensor."""
    return max((spec.count for spec in specs(arguments)), default=0)


def specs(arguments: Arguments) -> Iterator[TensorSpec]:
    """Every tensor, members of lists too."""
    for argument in arguments.values():
        for one in argument if isinstance(argument, tuple) else (argument,):
            if isinstance(one, TensorSpec):
                yield one


def tensor(dtype: str, shape: Shape, data: Data | None, format: str = "ND") -> TensorSpec:
    """A contiguous tensor."""
    strides, offset, storage, layout = resolve(shape)
    return TensorSpec(dtype, shape, data, strides, offset, storage, layout, format)


@dataclass(frozen=True)
class Calls:
    """Calls of one operator on one product."""

    operator: Operator
    product: str
    entry: Entry | None = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "entry", documented(self.operator.name))

    @property
    def known(self) -> bool:
        """Whether the operator says how its tensors follow from one dtype and shape."""
        return self.operator.reference is not None or not self.operator.generic

    def documented(self, name: str) -> Documented | None:
        """What the documents say of a parameter."""
        params = self.entry.params if self.entry is not None else ()
        return next((d for d in params if d.param.name == name), None)

    # --- one call ---------------------------------------------------------------------------------------------

    def make(
        self,
        dtype: str,
        shape: Shape,
        attributes: Mapping[str, Default] | None = None,
        format: str | None = None,
    ) -> dict[str, Argument] | None:
        """Every parameter of a call, None where the operator cannot follow this dtype and shape."""
        try:
            form = self.operator.short_form(dtype, shape)
        except ValueError:
            return None
        column = self._column(dtype)
        made: dict[str, Argument] = {}
        for param in self.operator.signature.inputs:
            own = form[param.name]
            if own is None or (param.optional and not self.known):
                made[param.name] = None
                continue
            word = column.get(param.name) or self._dtype(param, own[0])
            dims = own[1] if self.known else self._ranked(param, own[1])
            lists = self.documented(param.name)
            own_format = self.operator.input_format(param.name, dims)
            style = format if format and (lists is None or format in lists.formats) else own_format
            spec = tensor(word, dims, self.data(param.name, word, dtype), style)
            made[param.name] = (spec,) if param.is_list else spec
        for param in self.operator.signature.attributes:
            made[param.name] = self._attribute(param, attributes or {})
        for param in self.operator.signature.outputs:
            if param.is_list and not param.is_input:
                made[param.name] = self.operator.default_members(param.name, made)
            elif not param.is_input:
                output = self.operator.default_output(param.name, made)
                if output is not None and param.name in column:
                    output = dataclasses.replace(output, dtype=column[param.name])
                made[param.name] = output
        return {p.name: made[p.name] for p in self.operator.signature.params}

    def taken(self, arguments: Arguments | None) -> bool:
        """Whether the contract takes the call."""
        return arguments is not None and self._refused(arguments) is None

    def accepted(self, arguments: Arguments | None) -> bool:
        """Whether the contract takes the call and, where it is small, the reference can work it through."""
        return arguments is not None and (self._refused(arguments) or self._failing(arguments)) is None

    def _refused(self, arguments: Arguments) -> str | None:
        predicted = predict(self.operator, arguments, self.product)
        return predicted.rule if isinstance(predicted, Refusal) else unchecked(self.operator, arguments)

    def _failing(self, arguments: Arguments) -> str | None:
        """Why the reference cannot work a small call through."""
        if self.operator.reference is None or size(arguments) > PROBE:
            return None
        case = Case("<new>", "new", self.operator.name, arguments, Where("<new>", 1, 1))
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                # A reference that drops an imaginary part has no result for this dtype.
                warnings.simplefilter("error", np.exceptions.ComplexWarning)
                golden(self.operator, make_call(case, self.operator.signature, self.product))
        except (ReferenceFailure, ValueError, np.exceptions.ComplexWarning) as error:
            return str(error)
        return None

    @cached_property
    def dtypes(self) -> tuple[str, ...]:
        """Every dtype of the short form with which an ordinary call is accepted, float32 and its like first."""
        taken = [d for d in _WORDS if self._ordinary(d)]
        # Where no tensor follows the case's dtype they are all the same call.
        return tuple(taken if any(self.follows(d) for d in taken) else taken[:1])

    @cached_property
    def first_dtype(self) -> str | None:
        """The first of :attr:`dtypes`, found without trying the rest."""
        return next((d for d in _WORDS if self._ordinary(d)), None)

    def _ordinary(self, dtype: str) -> bool:
        return self._leads(dtype) and self.accepted(self.make(dtype, self.base_shape))

    def _leads(self, dtype: str) -> bool:
        """Whether the first tensor that follows the case's dtype keeps it, rather than one that is documented."""
        made = self.make(dtype, self.base_shape)
        if made is None:
            return False
        form = self.operator.short_form(dtype, self.base_shape)
        for param in self.operator.signature.inputs:
            own, spec = form[param.name], first_spec(made[param.name])
            if own is not None and own[0] == dtype and spec is not None:
                return spec.dtype == dtype
        return True

    @property
    def obstacle(self) -> str:
        """Why there is no ordinary call, in words; empty where nobody knows."""
        if self.beyond:
            return self.beyond
        made = (self.make(d, self.base_shape) for d in _WORDS if self._leads(d))
        found = [why for m in made if m is not None and (why := self._refused(m) or self._failing(m))]
        return found[0] if found else ""

    @property
    def beyond(self) -> str:
        """A needed tensor that takes only dtypes which opcli cannot hold, in words; empty where there is none."""
        for param in self.operator.signature.params:
            lists = self.documented(param.name)
            if param.is_tensor and not param.optional and lists is not None and lists.dtypes:
                cells = self._cells(param.name) or lists.dtypes
                if not set(cells) & set(DTYPES):
                    return f"{param.name} takes {', '.join(cells)}, which opcli cannot hold"
        return ""

    def _cells(self, name: str) -> tuple[str, ...]:
        for rule in self.operator.contract:
            if isinstance(rule, KernelColumns):
                at = rule.names.index(name)
                return tuple(dict.fromkeys(c[at] for c in rule.columns.get(self.product, ())))
        return ()

    @property
    def base_shape(self) -> Shape:
        """The shape of an ordinary call."""
        if self.known:
            return self.operator.sample_shape
        low, high = self.ranks()
        return (2, 3, 4, 5, 2, 3, 2, 2)[: min(max(low, 2), high)]

    def ranks(self) -> tuple[int, int]:
        """The ranks that the documents give to every input, 0 to 8 where they are silent."""
        found = [
            d.ranks for p in self.operator.signature.inputs if (d := self.documented(p.name)) and d.ranks
        ]
        if not found:
            return 0, 8
        low, high = max(r[0] for r in found), min(min(r[1] for r in found), 8)
        # Tensors of different ranks have no rank in common: those of the first count.
        return (low, high) if low <= high else (found[0][0], min(found[0][1], 8))

    # --- parts ------------------------------------------------------------------------------------------------

    def follows(self, dtype: str) -> tuple[str, ...]:
        """The inputs that take the case's own dtype and any values: an index, a mask or ascending bounds do not.

        Nor do the scales and offsets by which an operator quantises: with other ones nearly all is saturated, or NaN.
        """
        made = self.make(dtype, self.base_shape)
        if made is None:
            return ()
        names = (p.name for p in self.operator.signature.inputs)
        return tuple(
            n
            for n in names
            if (spec := first_spec(made[n])) is not None
            and spec.dtype == dtype
            and not self.ordered(n)
            and not (self.operator.standard == "quant" and n in self.operator.data)
        )

    def ordered(self, name: str) -> bool:
        """Whether the operator needs the order of an input's data, or their dependence on other tensors."""
        data = self.operator.data.get(name)
        return isinstance(data, Derived) or (
            isinstance(data, Generator) and data.kind in ("linspace", "permutation")
        )

    def data(self, name: str, word: str, dtype: str) -> Data:
        """What fills an input that is left alone."""
        if not self.known and word != dtype and word.startswith(("int", "uint")):
            return Fill(0)  # most likely an index, and 0 is inside of everything
        return self.operator.default_data(name, word)

    def value(self, param: Param) -> Default | None:
        """An ordinary value of an attribute, None for the null pointer."""
        for known in (self.operator.sample_attributes, self.operator.defaults):
            if param.name in known:
                return known[param.name]
        return None if param.optional and param.is_pointer else _PLAIN[param.type]

    def _attribute(self, param: Param, given: Mapping[str, Default]) -> Attribute | None:
        value = given.get(param.name, self.value(param))
        if value is None:
            return None
        if param.type in ("double", "float") and not isinstance(value, tuple):
            value = float(value)
        return Attribute(value)

    def _column(self, dtype: str) -> dict[str, str]:
        """The dtypes of the kernel table's first column that begins with this dtype."""
        for rule in self.operator.contract:
            if isinstance(rule, KernelColumns):
                for column in rule.columns.get(self.product, ()):
                    if column[0] == dtype and set(column) <= set(DTYPES):
                        return dict(zip(rule.names, column, strict=True))
        return {}

    def _dtype(self, param: Param, word: str) -> str:
        """The dtype itself, or the first that the documents list for this tensor where it is not among them."""
        lists = self.documented(param.name)
        held = [d for d in lists.dtypes if d in DTYPES] if lists is not None else []
        return word if not held or word in held else held[0]

    def _ranked(self, param: Param, shape: Shape) -> Shape:
        """The shape brought to the documented rank: last axes kept, ones put before them."""
        lists = self.documented(param.name)
        if lists is None or lists.ranks is None:
            return shape
        low, high = lists.ranks
        cut = shape[len(shape) - high :] if len(shape) > high else shape
        return (1,) * (low - len(cut)) + cut


def filled(
    arguments: Mapping[str, Argument], data: Mapping[str, Data], layouts: Mapping[str, str] | None = None
) -> dict[str, Argument]:
    """The same call with other data, and other layouts, in the named inputs."""
    made = dict(arguments)
    for name in {*data, *(layouts or {})}:
        argument = made[name]
        members = argument if isinstance(argument, tuple) else (argument,)
        new = []
        for spec in members:
            assert isinstance(spec, TensorSpec)
            word = (layouts or {}).get(name, spec.layout)
            strides, offset, storage, layout = resolve(spec.shape, layout=word)
            new.append(
                dataclasses.replace(
                    spec,
                    data=data.get(name, spec.data),
                    strides=strides,
                    offset=offset,
                    storage_shape=storage,
                    layout=layout,
                )
            )
        made[name] = tuple(new) if isinstance(argument, tuple) else new[0]
    return made
