"""What is timed: the cases of files, or an operator over a ladder of shapes and dtypes."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ascend_opcli.benchmarking.shapes import attributes_for, candidates
from ascend_opcli.casefile.build import Declared
from ascend_opcli.casefile.expectations import CheckStandard
from ascend_opcli.casefile.inline import CallOptions, parse
from ascend_opcli.errors import UsageError
from ascend_opcli.model import Argument, Case, Shape, TensorSpec
from ascend_opcli.operators.contract.phase_one import Refusal, predict
from ascend_opcli.operators.cost import specs
from ascend_opcli.operators.operator import Operator
from ascend_opcli.reference.call import make_call
from ascend_opcli.reference.evaluate import host_result
from ascend_opcli.reference.fitting import ReferenceFailure
from ascend_opcli.reference.resolve import resolve

TAG = "bench"

HOST_SIZES = (1 << 12, 1 << 14, 1 << 16, 1 << 18, 1 << 20)
DEVICE_SIZES = (1 << 12, 1 << 14, 1 << 16, 1 << 18, 1 << 20, 1 << 22, 1 << 24)
"""Elements a rung: from what launching hides to what only memory bounds."""

PROBE = 1 << 16

FLOATS = ("float16", "bfloat16", "float32")
OTHERS = ("int32", "int64", "int8", "uint8", "bool", "float64")


@dataclass(frozen=True, slots=True)
class Rung:
    """A case to be timed, under the name by which baselines know it."""

    name: str
    case: Case


@dataclass(frozen=True, slots=True)
class LadderRequest:
    """The options of ``--op``; empty shapes and dtypes ask for the default ladder."""

    op: str
    shapes: Sequence[str] = ()
    dtypes: Sequence[str] = ()
    attrs: Sequence[str] = ()
    inputs: Sequence[str] = ()
    product: str | None = None
    seed: int | None = None


def of_cases(cases: Sequence[Case], *, picked: bool = False) -> list[Rung]:
    """Of each file the cases tagged bench, or all of them where none is; every case where they were ``picked``.

    Cases that expect a refusal have no time: they are left out, unless nothing else is there.
    """
    tagged = {case.path for case in cases if TAG in case.tags}
    kept = [case for case in cases if picked or TAG in case.tags or case.path not in tagged]
    running = [case for case in kept if case.status is None or case.status.code == 0]
    return _unique([Rung(case.id, case) for case in running or kept])


def _unique(rungs: Sequence[Rung]) -> list[Rung]:
    """Rungs under names of their own: where files share their name the folders are in it too, then a number."""
    counts = Counter(rung.name for rung in rungs)
    made: list[Rung] = []
    used: set[str] = set()
    for rung in rungs:
        case = rung.case
        folders = counts[rung.name] > 1 and case.path and rung.name == case.id
        name = f"{case.path.replace(chr(92), '/')}::{case.name}" if folders else rung.name
        bare, number = name, 2
        while name in used:
            name, number = f"{bare}#{number}", number + 1
        used.add(name)
        made.append(dataclasses.replace(rung, name=name))
    return made


def of_operator(
    wanted: LadderRequest,
    *,
    sizes: Sequence[int],
    product: str,
    check_standard: CheckStandard,
    declared: Declared | None = None,
) -> list[Rung]:
    """An operator over shapes and dtypes; those of the default ladder that it refuses are left out.

    Raises UsageError where no rung can be made, with what to give instead.
    """
    operator = resolve(wanted.op, signature=declared(wanted.op) if declared is not None else None)
    why = ""
    failure: UsageError | None = None
    for shapes in [list(wanted.shapes)] if wanted.shapes else candidates(operator, sizes):
        climb = _Climb(wanted, operator, product, check_standard, declared)
        for dtypes in (wanted.dtypes,) if wanted.dtypes else (FLOATS, OTHERS):
            for dtype in dtypes:
                climb.add(dtype, shapes)
            if climb.made:
                return _unique(climb.made)
        why, failure = climb.why or why, climb.failure or failure
    if failure is not None and not why:
        raise failure
    raise UsageError(_nothing_suits(operator, wanted, product, why))


def _nothing_suits(operator: Operator, wanted: LadderRequest, product: str, why: str) -> str:
    """What to give where no rung could be made."""
    reason = f" ({why})" if why else ""
    if wanted.shapes:
        return (
            f"no dtype of the default ladder suits {operator.name} with these shapes on {product}{reason}:"
            " name one with --dtype, or another --shape"
        )
    inputs = " ".join(f"--in {p.name}=SPEC" for p in operator.signature.inputs)
    example = _shape_text(operator.sample_shape)
    named = f" as {', '.join(wanted.dtypes)}" if wanted.dtypes else ""
    return (
        f"no shape of the default ladder suits {operator.name}{named} on {product}{reason}:"
        f" name one with --shape, such as --shape {example}, or its tensors with {inputs}"
    )


class _Climb:
    """The rungs of an operator as they are found, and why others are none."""

    def __init__(
        self,
        wanted: LadderRequest,
        operator: Operator,
        product: str,
        check_standard: CheckStandard,
        declared: Declared | None,
    ) -> None:
        self._wanted, self._operator, self._product = wanted, operator, product
        self._check_standard, self._declared = check_standard, declared
        self.made: list[Rung] = []
        self.failure: UsageError | None = None
        self.why = ""

    def add(self, dtype: str, shapes: Sequence[str]) -> None:
        """The rungs of a dtype; none where its smallest is refused or cannot be computed."""
        wanted, operator = self._wanted, self._operator
        computes: bool | None = None
        for shape in shapes:
            try:
                case = self._case(dtype, shape)
            except UsageError as error:
                if wanted.dtypes and wanted.shapes:
                    raise
                self.failure = self.failure or error
                continue
            if not (wanted.dtypes and wanted.shapes):
                refusal = predict(operator, case.arguments, self._product)
                if isinstance(refusal, Refusal):
                    self.why = self.why or str(refusal.rule)
                    continue
                if computes is None:
                    computes = self._computes(case)
                if not computes:
                    continue
            # Tensors of a fixed shape or dtype make the same case of several rungs.
            if all(rung.case.arguments != case.arguments for rung in self.made):
                self.made.append(_named(operator, dtype, shape, case, wanted))

    def _case(self, dtype: str, shape: str) -> Case:
        wanted = self._wanted
        attrs = [*wanted.attrs, *_sample_attributes(self._operator, wanted.attrs, shape)]
        options = CallOptions(
            wanted.op, dtype, shape, attrs, wanted.inputs, (), None, wanted.product, None, wanted.seed
        )
        return parse(options, check_standard=self._check_standard, declared=self._declared)

    def _computes(self, case: Case) -> bool:
        """Whether the reference can work a rung through: what an operator's documents leave open, its mathematics
        may not. Only tried where it costs next to nothing; a larger rung is taken as it is.
        """
        operator = self._operator
        if operator.reference is None or elements_of(case.arguments.values()) > PROBE:
            return True
        try:
            host_result(operator, make_call(case, operator.signature, self._product))
        except (ReferenceFailure, ValueError) as error:
            self.why = self.why or " ".join(str(error).split())
            return False
        return True


def _named(operator: Operator, dtype: str, shape: str, case: Case, wanted: LadderRequest) -> Rung:
    """The rung under operator, dtype and shape: the one that was asked for, where a tensor has it."""
    if shape not in [_shape_text(spec.shape) for spec in specs(list(case.arguments.values()))]:
        shape = _shape_text(lead_shape(case.arguments.values()))
    parts = [operator.short_name, dtype, shape, *wanted.attrs]
    parts += [f"in:{text}" for text in wanted.inputs]
    name = "/".join(parts)
    return Rung(name, dataclasses.replace(case, name=name.partition("/")[2]))


def lead_shape(arguments: Iterable[Argument]) -> Shape:
    """The shape of the tensor with the most elements."""
    return max(specs(arguments), key=lambda spec: spec.count, default=_NONE).shape


_NONE = TensorSpec("float32", (), None, (), 0, ())


def _shape_text(shape: Shape) -> str:
    return "x".join(map(str, shape)) if shape else "scalar"


def _sample_attributes(operator: Operator, given: Sequence[str], shape: str) -> list[str]:
    """``name=value`` for attributes without a default, where the operator has an ordinary value for them."""
    named = {text.partition("=")[0].strip() for text in given}
    values = {**operator.sample_attributes, **attributes_for(operator, shape)}
    return [
        f"{name}={_attribute_text(value)}"
        for name, value in values.items()
        if name not in named and name not in operator.defaults
    ]


def _attribute_text(value: object) -> str:
    if isinstance(value, (tuple, list)):
        return f"[{', '.join(map(_attribute_text, value))}]"
    return str(value).lower() if isinstance(value, bool) else str(value)


# --- what a call moves ------------------------------------------------------------------------------------------


def elements_of(arguments: Iterable[Argument]) -> int:
    """The elements of the largest tensor."""
    return max((spec.count for spec in specs(arguments)), default=0)


def amount(text: str, elements: int) -> int:
    """``12M``, ``6n`` (six for every element of the largest tensor), ``1.5e6``, as a whole number.

    Raises ValueError with a sentence.
    """
    word = text.strip()
    per_element = word.endswith("n")
    word = word.removesuffix("n")
    scale = {"k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}.get(word[-1:], 1.0)
    try:
        value = float(word[:-1] if scale != 1.0 else word) * scale if word else 1.0
    except ValueError:
        value = -1.0
    if not 0 <= value < 1e18:
        raise ValueError(f"'{text[:40]}' is not an amount, such as 12M, or 6n for six an element")
    return round(value * elements) if per_element else round(value)
