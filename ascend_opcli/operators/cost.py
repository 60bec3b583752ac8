"""What a call costs: the operations that its formula counts, and the bytes that it touches.

An operation is one addition, subtraction, multiplication, division, square root, comparison or bit operation of
the formula as the operator's summary writes it, for every element; a product of matrices counts a multiplication
and an addition for each term, as is usual (2 m n k). Exponentials, logarithms and powers have no agreed count:
an operator with one of them has no figure, and so has every operator that is not listed here. Bytes are known of
every operator: each tensor's elements once a read and once a write, unless it reads or writes only some of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

import numpy as np

from ascend_opcli.model import Argument, TensorSpec
from ascend_opcli.operators.arguments import Arguments, first_spec
from ascend_opcli.operators.operator import Operator
from ascend_opcli.tensors.dtypes import DTYPES
from ascend_opcli.tensors.layout import distinct

Figure = Callable[[Operator, Arguments], "int | None"]


def operations(operator: Operator, arguments: Arguments) -> int | None:
    """How many operations a call does, None where that is not known."""
    if operator.operations is not None:
        return operator.operations(arguments)
    figure = _OPERATIONS.get(_plain(operator.name))
    return figure(operator, arguments) if figure is not None and not operator.declared else None


def moved(operator: Operator, arguments: Arguments) -> int:
    """Bytes that a call must read and write.

    Every input is read once and every output written once; a tensor that is both counts twice. Elements of a
    storage that a view meets several times count once, and gaps between the elements of a view do not count.
    """
    if operator.moved is not None:
        return operator.moved(arguments)
    figure = _MOVED.get(operator.name)
    own = figure(operator, arguments) if figure is not None and not operator.declared else None
    if own is not None:
        return own
    return sum(
        size_of(spec) * (param.is_input + param.is_output)
        for param in operator.signature.params
        for spec in specs([arguments.get(param.name)])
    )


def specs(arguments: Iterable[Argument]) -> Iterator[TensorSpec]:
    """Every tensor, the members of lists too."""
    for argument in arguments:
        for spec in argument if isinstance(argument, tuple) else (argument,):
            if isinstance(spec, TensorSpec):
                yield spec


def size_of(spec: TensorSpec) -> int:
    """Bytes of the distinct elements of a view."""
    return distinct(spec.shape, spec.strides) * DTYPES[spec.dtype].itemsize


# --- operations -------------------------------------------------------------------------------------------------


def _plain(name: str) -> str:
    return name.removeprefix("aclnn").removeprefix("Inplace")


def _out(operator: Operator, arguments: Arguments) -> TensorSpec | None:
    return next((s for p in operator.signature.outputs for s in specs([arguments.get(p.name)])), None)


def _each_output(number: int) -> Figure:
    """So many operations for every element of the first output; of a list, of all its members."""

    def figure(operator: Operator, arguments: Arguments) -> int | None:
        first = next((p.name for p in operator.signature.outputs), None)
        counts = [spec.count for spec in specs([arguments.get(first)])] if first is not None else []
        return number * sum(counts) if counts else None

    return figure


def _each_input(number: int) -> Figure:
    """So many operations for every element of the first input: reductions and running sums."""

    def figure(operator: Operator, arguments: Arguments) -> int | None:
        inputs = operator.signature.inputs
        counts = [spec.count for spec in specs([arguments.get(inputs[0].name)])] if inputs else []
        return number * sum(counts) if counts else None

    return figure


def _mean(operator: Operator, arguments: Arguments) -> int | None:
    """The additions, and a division for every mean."""
    out, sums = _out(operator, arguments), _each_input(1)(operator, arguments)
    return sums + out.count if out is not None and sums is not None else None


def _product(left: str, also: int = 0, *, summed: bool = False) -> Figure:
    """2 m n k: ``left`` is the factor whose last axis is k. ``also`` are operations for every element of the output.

    ``summed`` products of a batch, its first axis, are added up.
    """

    def figure(operator: Operator, arguments: Arguments) -> int | None:
        out, factor = _out(operator, arguments), first_spec(arguments.get(left))
        if out is None or factor is None or not factor.shape:
            return None
        terms = factor.shape[-1] * (factor.shape[0] if summed else 1)
        return 2 * out.count * terms + also * out.count

    return figure


_COMPARISONS = ("Eq", "Ne", "Gt", "Ge", "Lt", "Le")
_ONE = (
    *("Mul", "Muls", "Div", "Divs", "RealDiv", "Neg", "Abs", "Maximum", "Minimum", "Relu", "Sqrt", "Reciprocal"),
    *("Square", "ClampMax", "ClampMaxTensor", "ClampMin", "ClampMinTensor", "LogicalAnd", "LogicalOr"),
    *("LogicalNot", "LogicalXor", "BitwiseNot", *(f"{c}{kind}" for c in _COMPARISONS for kind in ("Tensor", "Scalar"))),
    *(f"Bitwise{word}{kind}" for word in ("And", "Or", "Xor") for kind in ("Tensor", "Scalar")), "BitwiseAndTensorOut",
    *("ForeachAbs", "ForeachNeg", "ForeachMulList", "ForeachMulScalar", "ForeachMulScalarList", "ForeachMulScalarV2"),
    *("ForeachDivList", "ForeachDivScalar", "ForeachDivScalarList", "ForeachDivScalarV2"),
    *("ForeachAddScalar", "ForeachAddScalarList", "ForeachAddScalarV2", "ForeachSubScalar", "ForeachSubScalarList"),
    *("ForeachSubScalarV2", "ForeachMaximumList", "ForeachMinimumList"),
)  # fmt: skip
_TWO = (
    *("Add", "Adds", "Sub", "Subs", "Rsub", "Rsubs", "AxpyV2", "Clamp", "ClampTensor"),
    *("ForeachAddList", "ForeachAddListV2", "ForeachSubList", "ForeachSubListV2"),
)
_THREE = ("Addcmul", "Addcdiv", "Lerp", "Lerps", "AddMatMatElements", "AddMatMatElementsPlus")
_REDUCTIONS = (
    *(
        "ReduceSum",
        "ReduceNansum",
        "Prod",
        "ProdDim",
        "Amax",
        "Amin",
        "Max",
        "Min",
        "MaxDim",
        "MinDim",
        "MaxV2",
    ),
    *("ArgMax", "ArgMin", "All", "Any", "Cumsum", "CumsumV2", "Cumprod", "Sum", "MaxN", "MinN"),
)

_OPERATIONS: Mapping[str, Figure] = {
    **dict.fromkeys(_ONE, _each_output(1)),
    **dict.fromkeys(_TWO, _each_output(2)),
    **dict.fromkeys(_THREE, _each_output(3)),
    **dict.fromkeys(_REDUCTIONS, _each_input(1)),
    **dict.fromkeys(("AminmaxAll", "AminmaxDim"), _each_input(2)),
    **dict.fromkeys(("Mean", "MeanV2"), _mean),
    **dict.fromkeys(("Matmul", "Mm", "BatchMatMul", "Mv"), _product("self")),
    "Dot": _each_input(2),
    # beta self + alpha (the product): two multiplications and an addition more.
    "Addmm": _product("mat1", 3),
    "Addmv": _product("mat", 3),
    "Baddbmm": _product("batch1", 3),
    "Addbmm": _product("batch1", 3, summed=True),
    "Addr": _each_output(4),
    # The last axis of x1 is k before its axes are permuted too.
    "TransposeBatchMatMul": _product("x1"),
}  # fmt: skip


# --- bytes ------------------------------------------------------------------------------------------------------


def _gathered(source: str) -> Figure:
    """The indices, and each element that they name read and written: not all of ``source``."""

    def figure(operator: Operator, arguments: Arguments) -> int | None:
        out, of = _out(operator, arguments), first_spec(arguments.get(source))
        if out is None or of is None:
            return None
        others = [arguments.get(p.name) for p in operator.signature.inputs if p.name != source]
        return sum(map(size_of, specs(others))) + min(size_of(out), size_of(of)) + size_of(out)

    return figure


def _scattered(places: str, source: str | None) -> Figure:
    """What the indices name is written, and read too where it is added to; of ``source`` as many elements are read.

    Out of place the rest is copied over: all of ``self`` is read, all of the output written.
    """

    def figure(operator: Operator, arguments: Arguments) -> int | None:
        out, index = _out(operator, arguments), first_spec(arguments.get(places))
        if out is None or index is None:
            return None
        each = DTYPES[out.dtype].itemsize
        of = first_spec(arguments.get(source)) if source is not None else None
        read = min(size_of(of), index.count * DTYPES[of.dtype].itemsize) if of is not None else 0
        written = min(size_of(out), index.count * each)
        if not operator.name.startswith("aclnnInplace"):
            own = first_spec(arguments.get("self"))
            return size_of(index) + read + size_of(out) + (size_of(own) if own is not None else 0)
        reduce = arguments.get("reduce")
        adds = getattr(reduce, "value", 0) not in (0, None)
        return size_of(index) + read + written * (2 if adds else 1)

    return figure


def _updated(source: str, *, reads: bool = False) -> Figure:
    """The indices and ``source`` are read, and as much as ``source`` holds is written in place, read too if it
    ``reads`` what it changes or is asked to accumulate."""

    def figure(operator: Operator, arguments: Arguments) -> int | None:
        out, of = _out(operator, arguments), first_spec(arguments.get(source))
        if out is None or of is None:
            return None
        inputs = [arguments.get(p.name) for p in operator.signature.inputs if not p.is_output]
        changed = min(size_of(out), of.count * DTYPES[out.dtype].itemsize)
        twice = reads or bool(getattr(arguments.get("accumulate"), "value", False))
        return sum(map(size_of, specs(inputs))) + changed * (1 + twice)

    return figure


def _filled(operator: Operator, arguments: Arguments) -> int | None:
    """The indices are read, and their parts along ``dim`` written."""
    out, dim, index = _out(operator, arguments), arguments.get("dim"), arguments.get("index")
    place = getattr(dim, "value", None)
    if out is None or not isinstance(place, int) or not -len(out.shape) <= place < len(out.shape):
        return None
    spec = first_spec(index)
    values = getattr(index, "value", ())
    number = spec.count if spec is not None else len(set(np.atleast_1d(values).tolist()))
    part = size_of(out) // max(out.shape[place], 1)
    return (size_of(spec) if spec is not None else 0) + part * min(number, out.shape[place])


_MOVED: Mapping[str, Figure] = {
    **{
        f"aclnn{name}": _gathered("self")
        for name in ("Gather", "GatherV2", "GatherV3", "GatherNd", "IndexSelect", "Take", "Index")
    },
    "aclnnEmbedding": _gathered("weight"),
    **{f"aclnn{way}Scatter": _scattered("index", "src") for way in ("", "Inplace")},
    **{f"aclnn{way}ScatterValue": _scattered("index", None) for way in ("", "Inplace")},
    "aclnnScatterAdd": _scattered("index", "src"),
    "aclnnScatterNdUpdate": _updated("updates"),
    "aclnnInplaceScatterUpdate": _updated("updates"),
    **{
        f"aclnn{name}": _updated("updates", reads=True)
        for name in ("ScatterDiv", "ScatterMul", "ScatterMax", "ScatterMin", "TfScatterAdd")
    },
    "aclnnInplaceIndexCopy": _updated("source"),
    "aclnnIndexPutImpl": _updated("values"),
    "aclnnInplaceIndexFill": _filled,
    "aclnnInplaceIndexFillTensor": _filled,
}
