"""What is timed: the cases of files, or an operator over a ladder of shapes and dtypes."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from ascend_opcli.casefile.build import Declared
from ascend_opcli.casefile.expectations import CheckStandard
from ascend_opcli.casefile.inline import Options, parse
from ascend_opcli.errors import UsageError
from ascend_opcli.model import Argument, Case, Shape, TensorSpec
from ascend_opcli.operators.call import make_call
from ascend_opcli.operators.contract import Refusal, predict
from ascend_opcli.operators.custom import resolve
from ascend_opcli.operators.evaluate import ReferenceFailure, host_result
from ascend_opcli.operators.operator import Operator
from ascend_opcli.tensors.dtypes import DTYPES

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
class Wanted:
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
    return [Rung(case.id, case) for case in running or kept]


def of_operator(
    wanted: Wanted,
    *,
    sizes: Sequence[int],
    product: str,
    check_standard: CheckStandard,
    declared: Declared | None = None,
) -> list[Rung]:
    """An operator over shapes and dtypes; those of the default ladder that it refuses are left out.

    Raises UsageError where no rung can be made.
    """
    operator = resolve(wanted.op, signature=declared(wanted.op) if declared is not None else None)
    shapes = list(wanted.shapes) or [_shape_text(s) for s in default_shapes(operator, sizes)]
    attrs = [*wanted.attrs, *_sample_attributes(operator, wanted.attrs)]
    made: list[Rung] = []
    failure: UsageError | None = None
    for dtypes in (wanted.dtypes,) if wanted.dtypes else (FLOATS, OTHERS):
        for dtype in dtypes:
            computes: bool | None = None
            for shape in shapes:
                options = Options(
                    wanted.op, dtype, shape, attrs, wanted.inputs, (), None, wanted.product, None, wanted.seed
                )
                try:
                    case = parse(options, check_standard=check_standard, declared=declared)
                except UsageError as error:
                    if wanted.dtypes and wanted.shapes:
                        raise
                    failure = failure or error
                    continue
                refused = isinstance(predict(operator, case.arguments, product), Refusal)
                if not wanted.dtypes:
                    if computes is None and not refused:
                        computes = _computes(operator, case, product)
                    if refused or not computes:
                        continue
                # Tensors of a fixed shape or dtype make the same case of several rungs.
                if all(rung.case.arguments != case.arguments for rung in made):
                    made.append(_named(operator, dtype, case, wanted))
        if made:
            break
    if not made:
        if failure is not None:
            raise failure
        raise UsageError(
            f"no dtype of the default ladder suits {operator.name} on {product}: name one with --dtype"
        )
    return made


def _computes(operator: Operator, case: Case, product: str) -> bool:
    """Whether the reference can work a rung through: what an operator's documents leave open, its mathematics may not.

    Only tried where it costs next to nothing; a larger rung is taken as it is.
    """
    if operator.reference is None or traffic(operator, case.arguments)[1] > PROBE:
        return True
    try:
        host_result(operator, make_call(case, operator.signature, product))
    except (ReferenceFailure, ValueError):
        return False
    return True


def _named(operator: Operator, dtype: str, case: Case, wanted: Wanted) -> Rung:
    parts = [operator.short_name, dtype, _shape_text(lead_shape(case.arguments.values())), *wanted.attrs]
    parts += [f"in:{text}" for text in wanted.inputs]
    name = "/".join(parts)
    return Rung(name, dataclasses.replace(case, name=name.partition("/")[2]))


def lead_shape(arguments: Iterable[Argument]) -> Shape:
    """The shape of the tensor with the most elements."""
    return max(specs(arguments), key=lambda spec: spec.count, default=_NONE).shape


def specs(arguments: Iterable[Argument]) -> Iterator[TensorSpec]:
    """Every tensor, the members of lists too."""
    for argument in arguments:
        for spec in argument if isinstance(argument, tuple) else (argument,):
            if isinstance(spec, TensorSpec):
                yield spec


_NONE = TensorSpec("float32", (), None, (), 0, ())


def _shape_text(shape: Shape) -> str:
    return "x".join(map(str, shape)) if shape else "scalar"


def default_shapes(operator: Operator, sizes: Sequence[int]) -> list[Shape]:
    """Shapes of the given numbers of elements: rows of 1024, or [N, 64, L] where an axis is a channel."""
    if len(operator.sample_shape) < 2 and operator.sample_shape:
        return [operator.sample_shape]
    if operator.elementwise or operator.reference is None:
        return [(size // 1024, 1024) for size in sizes]
    return [(max(1, size >> 16), 64, min(size >> 6, 1024)) for size in sizes]


def _sample_attributes(operator: Operator, given: Sequence[str]) -> list[str]:
    """``name=value`` for attributes without a default, where the operator has an ordinary value for them."""
    named = {text.partition("=")[0].strip() for text in given}
    return [
        f"{name}={_attribute_text(value)}"
        for name, value in operator.sample_attributes.items()
        if name not in named and name not in operator.defaults
    ]


def _attribute_text(value: object) -> str:
    if isinstance(value, (tuple, list)):
        return f"[{', '.join(map(_attribute_text, value))}]"
    return str(value).lower() if isinstance(value, bool) else str(value)


# --- what a call moves ------------------------------------------------------------------------------------------


def traffic(operator: Operator, arguments: Mapping[str, Argument]) -> tuple[int, int]:
    """Bytes that a call must read and write, and the elements of its largest tensor.

    Every input is read once and every output written once; a tensor that is both counts twice. Only the elements
    of the views count, not the gaps between them.
    """
    moved = largest = 0
    for param in operator.signature.params:
        for spec in specs([arguments.get(param.name)]):
            size = spec.count * DTYPES[spec.dtype].itemsize
            moved += size * (param.is_input + param.is_output)
            largest = max(largest, spec.count)
    return moved, largest


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
