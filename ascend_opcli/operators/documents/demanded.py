"""Dtype and shape of an output of which nobody has said more than what phase 1 demands of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ascend_opcli.model import Argument, Shape, TensorSpec
from ascend_opcli.operators.arguments import Arguments, broadcast_shape, first_spec
from ascend_opcli.operators.contract.rules import Rank, Rule
from ascend_opcli.operators.contract.terms import Term, Unknown, evaluate
from ascend_opcli.operators.documents.facts import Fact
from ascend_opcli.operators.signature import Param, Signature
from ascend_opcli.tensors.dtypes import DTYPES
from ascend_opcli.tensors.layout import is_shape, resolve


@dataclass(frozen=True, slots=True)
class Demanded:
    """The rule of the output ``name``: the dtype and shape that break the fewest rules on the fewest products.

    Of those that break as few, the dtype of the first input comes first, then the documented ones, and the shape to
    which the inputs broadcast. Outputs before it count as they are inferred, whatever a case says of them.
    """

    signature: Signature
    contract: Sequence[Rule]
    products: tuple[str, ...]
    documented: Mapping[str, tuple[str, ...]]
    name: str

    def __call__(self, arguments: Arguments) -> tuple[str, Shape] | None:
        made = self._made(arguments)
        return None if made is None else (made[0].dtype, made[0].shape)

    def open(self, arguments: Arguments) -> bool:
        """Whether a rule is broken on every product, so that the shape says nothing of what the operator takes."""
        made = self._made(arguments)
        return made is None or made[1] > 0

    def _made(self, arguments: Arguments) -> tuple[TensorSpec, int] | None:
        outputs = [p for p in self.signature.outputs if not p.is_input]
        own = {p.name for p in outputs}
        given: dict[str, Argument] = {n: a for n, a in arguments.items() if n not in own}
        for param in outputs:
            made = self._best(param, given)
            if made is None or param.name == self.name:
                return made
            given[param.name] = made[0]
        return None

    def _best(self, param: Param, given: Mapping[str, Argument]) -> tuple[TensorSpec, int] | None:
        """The output, and how many rules it breaks on the product on which it breaks the fewest."""
        inputs = [s for p in self.signature.inputs if (s := first_spec(given.get(p.name))) is not None]
        rules = [r for r in self.contract if param.name in getattr(r, "names", ())]
        if not inputs:
            shape: Shape = (1,)
            words = dict.fromkeys(DTYPES)
        else:
            shape = broadcast_shape(*(s.shape for s in inputs)) or inputs[0].shape
            words = dict.fromkeys((inputs[0].dtype, *self.documented.get(param.name, ()), *DTYPES))

        of_dtype = [r for r in rules if _about_dtypes(r)]
        of_shape = [r for r in rules if not _about_dtypes(r)]

        def broken(asked: Sequence[Rule], spec: TensorSpec) -> Iterator[int]:
            call = {**given, param.name: spec}
            return (sum(r.broken(call, p) is not None for r in asked) for p in self.products)

        best = _least((_spec(w, shape) for w in words if w in DTYPES), lambda s: sum(broken(of_dtype, s)))
        shapes = (_spec(best.dtype, s) for s in _shapes(param.name, shape, of_shape, given))
        best = _least(shapes, lambda s: sum(broken(of_shape, s)))
        return best, min(broken(rules, best), default=0)


def _about_dtypes(rule: Rule) -> bool:
    return "dtype" in str(rule.condition) if isinstance(rule, Fact) else not isinstance(rule, Rank)


def _least(specs: Iterator[TensorSpec], broken: Callable[[TensorSpec], int]) -> TensorSpec:
    """The first of those with the fewest broken rules."""
    best = next(specs)
    fewest = broken(best)
    while fewest and (spec := next(specs, None)) is not None:
        found = broken(spec)
        if found < fewest:
            best, fewest = spec, found
    return best


def _spec(dtype: str, shape: Shape) -> TensorSpec:
    strides, offset, storage, layout = resolve(shape)
    return TensorSpec(dtype, shape, None, strides, offset, storage, layout)


def _shapes(name: str, base: Shape, rules: Sequence[Rule], given: Mapping[str, Argument]) -> Iterator[Shape]:
    """The shape itself, those that rules name, and those of the ranks and axes that rules name."""
    yield base
    ranks: dict[int, None] = {len(base): None}
    axes: dict[int, int] = {}
    for rule in rules:
        if isinstance(rule, Rank):
            ranks[min(max(len(base), rule.low), rule.high)] = None
        for what, value in _equations(name, rule, given) if isinstance(rule, Fact) else ():
            if what[0] == "shape" and is_shape(value):
                yield value
            elif what[0] == "rank":
                ranks |= dict.fromkeys(value if isinstance(value, list) else [value])
            elif what[0] == "dim":
                axes[what[2]] = value
    for rank in ranks:
        made = [*(1,) * (rank - len(base)), *base[max(len(base) - rank, 0) :]] if rank else []
        for axis, count in axes.items():
            if -rank <= axis < rank:
                made[axis] = count
        yield tuple(made)


def _equations(name: str, rule: Fact, given: Mapping[str, Argument]) -> Iterator[tuple[Term, Any]]:
    """Terms of ``name`` with what they must be."""
    word, *parts = rule.condition
    if word == "shape_of":
        word, parts = "==", [["shape", parts[0]], parts[1]]
    elif word in ("same_shape", "same_rank"):
        word, parts = "==", [[word.removeprefix("same_"), part] for part in parts]
    if word == "in" and parts[0] == ["rank", name]:
        yield parts[0], parts[1]
    for one, other in (parts, parts[::-1]) if word == "==" else ():
        if isinstance(one, list) and name in one[1:2] and name not in str(other):
            try:
                yield one, evaluate(other, given)
            except Unknown:
                continue
