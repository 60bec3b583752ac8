"""Which of the ecosystem standard's rules for generating cases a run covers, worked out from the cases' specs.

The rules are those of opbase's ``experimental_standard.md``: every combination of dtype, format, rank and
attributes; dimensions 2^k and 2^k - 1 in [1, 2^20], at most 2^31 elements; half of the inputs uniform in
[-5, 5], half normal with mu in [-5, 5] and sigma in [0.1, 2]; empty tensors, [1], the lower and the upper
border of the dtype, nan, inf, -inf and [-inf, inf]. What there is to combine is what the operator supports,
see :mod:`ascend_opcli.operators.documents.supported`.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from ascend_opcli.model import Attribute, Case, Data, Fill, FromFile, Generator, Number, TensorSpec, Values
from ascend_opcli.operators.catalog import UnknownOperator, find
from ascend_opcli.operators.contract.phase_one import predict
from ascend_opcli.operators.documents.supported import Support, supported
from ascend_opcli.operators.operator import Operator
from ascend_opcli.operators.products import DEFAULT_PRODUCT
from ascend_opcli.tensors.dtypes import DTYPES, float_format
from ascend_opcli.tensors.written_values import number_text

EXPONENTS = 20
MOST_ELEMENTS = 2**31
_EXAMPLES = 3
_NEAR_HALF = (0.4, 0.6)


class State(str, Enum):
    """How far a rule is kept."""

    YES = "yes"
    PARTLY = "partly"
    NO = "no"
    NOTHING = "nothing"
    """The rule has nothing to speak of: no random data, no floating-point input."""


@dataclass(frozen=True, slots=True)
class CoverageFinding:
    """A rule by its key, how far it is kept, and the values of the sentence that says what was found."""

    rule: str
    state: State
    said: str
    values: dict[str, object] = field(default_factory=dict)


def coverage(
    cases: Sequence[Case], products: Sequence[str] = (DEFAULT_PRODUCT,), unreached: Sequence[str] = ()
) -> list[CoverageFinding]:
    """The findings over the cases of one operator that call for numbers, in the order of the standard.

    ``products`` are those that the cases were judged for, ``unreached`` the operator's branches that none of
    their elements takes.
    """
    support = _support(cases, products)
    return [
        _combinations(cases, support, products, unreached),
        _dimensions(cases, "powers", 0, lambda k: 1 << k),
        _dimensions(cases, "below_powers", 1, lambda k: (1 << k) - 1),
        _sizes(cases),
        _distributions(cases),
        _presence(cases, "empty", lambda specs: any(s.count == 0 for s in specs)),
        _presence(cases, "one", lambda specs: any(s.shape == (1,) for s in specs)),
        *_special_values(cases, support),
    ]


def _support(cases: Sequence[Case], products: Sequence[str]) -> Support | None:
    """What the operator supports; None where nobody says, as for an operator that a case declares itself."""
    operator = _operator(cases)
    if operator is None:
        return None
    accepted = (c for c in cases if any(predict(operator, c.arguments, p) is None for p in products))
    template = next(accepted, cases[0])
    return supported(operator, template.arguments, products)


def _operator(cases: Sequence[Case]) -> Operator | None:
    try:
        return find(cases[0].operator) if cases else None
    except UnknownOperator:
        return None


def input_specs(case: Case) -> list[TensorSpec]:
    """The tensors whose data the case gives, those of lists too."""
    return [spec for specs in _inputs(case).values() for spec in specs]


def _inputs(case: Case) -> dict[str, tuple[TensorSpec, ...]]:
    found = {}
    for name, argument in case.arguments.items():
        specs = argument if isinstance(argument, tuple) else (argument,)
        kept = tuple(s for s in specs if isinstance(s, TensorSpec) and s.data is not None)
        if kept:
            found[name] = kept
    return found


def dtypes_text(case: Case) -> str:
    """The dtypes of the inputs, each once, in the order of the parameters: ``float16, float32``."""
    specs = input_specs(case)
    return ", ".join(dict.fromkeys(s.dtype for s in specs)) or "-"


def attribute_texts(case: Case) -> dict[str, str]:
    """Every attribute's value as text; an aclScalar's dtype goes with it."""
    texts = {}
    for name, argument in case.arguments.items():
        if isinstance(argument, Attribute):
            texts[name] = attribute_text(argument)
    return texts


def attribute_text(attribute: Attribute) -> str:
    """``0.5``, ``[0, 1]``, ``1 float16``."""
    value = attribute.value
    many = isinstance(value, tuple)
    text = ", ".join(_plain(v) for v in (value if isinstance(value, tuple) else (value,)))
    return (f"[{text}]" if many else text) + (f" {attribute.dtype}" if attribute.dtype else "")


def _plain(value: Number | str) -> str:
    return value if isinstance(value, str) else number_text(value)


# --- combinations -------------------------------------------------------------------------------------------

_OTHER = "another value"


def _combinations(
    cases: Sequence[Case], support: Support | None, products: Sequence[str], unreached: Sequence[str]
) -> CoverageFinding:
    """The dtypes, formats and ranks that the operator supports, each with both sides of every attribute."""
    points = _points(cases, support)
    if not points:
        return CoverageFinding("combinations", State.NOTHING, "no_inputs")
    known = support is not None and bool(support.dtypes and support.places)
    dtypes = dict.fromkeys(dtype for dtype, _, _ in points)
    places = dict.fromkeys(place for _, place, _ in points)
    if support is not None and support.dtypes and support.places:
        dtypes = dict.fromkeys("/".join(_short(d)) for d in support.dtypes)
        places = dict.fromkeys(support.places)
    values = _attribute_values(cases)
    seen = {
        (dtype, place, *(_side(values[n], attributes.get(n)) for n in values))
        for dtype, place, attributes in points
        if dtype in dtypes and place in places
    }
    axes: list[Sequence[Any]] = [tuple(dtypes), tuple(places), *(_sides(v) for v in values.values())]
    wanted = math.prod(map(len, axes))
    # No more than as many combinations as were seen come before the first missing ones.
    missing = itertools.islice((c for c in itertools.product(*axes) if c not in seen), _EXAMPLES)
    sizes = {
        "dtype": len(dtypes),
        "format": len({form for form, _ in places}),
        "rank": len({rank for _, rank in places}),
        **{n: len(_sides(v)) for n, v in values.items()},
    }
    found = {
        "found": len(seen),
        "wanted": wanted,
        "axes": ", ".join(f"{name} {size}" for name, size in sizes.items()),
        "missing": "; ".join(_combination(c, tuple(values), sizes) for c in missing),
        "products": ", ".join(products),
        "branches": ", ".join(unreached),
    }
    if not known:
        return CoverageFinding("combinations", State.PARTLY, "combinations_unknown", found)
    if len(seen) < wanted:
        return CoverageFinding("combinations", State.PARTLY, "combinations_some", found)
    if unreached:
        return CoverageFinding("combinations", State.PARTLY, "combinations_branches", found)
    return CoverageFinding("combinations", State.YES, "combinations_all", found)


_Point = tuple[str, tuple[str, int], dict[str, str]]


def _points(cases: Sequence[Case], support: Support | None) -> list[_Point]:
    """Of every case its inputs' dtypes, the first one's format and rank, and its attributes."""
    points: list[_Point] = []
    names = support.names if support is not None else ()
    for case in cases:
        inputs = _inputs(case)
        chosen = [inputs[n][0] for n in names if n in inputs] or [specs[0] for specs in inputs.values()]
        if not chosen:
            continue
        dtype = "/".join(_short([s.dtype for s in chosen]))
        points.append((dtype, (chosen[0].format, len(chosen[0].shape)), attribute_texts(case)))
    return points


def _short(dtypes: Sequence[str]) -> Sequence[str]:
    """One dtype where all inputs have it."""
    return dtypes if len(set(dtypes)) > 1 else dtypes[:1]


def _attribute_values(cases: Sequence[Case]) -> dict[str, dict[str | None, None]]:
    """Per attribute the values that it must take besides others: both of a bool, the default or the run's first."""
    operator = _operator(cases)
    defaults = operator.defaults if operator is not None else {}
    values: dict[str, dict[str | None, None]] = {}
    for case in cases:
        for name, argument in case.arguments.items():
            if isinstance(argument, Attribute) and name not in values:
                default = defaults.get(name, argument.value)
                if isinstance(argument.value, bool):
                    values[name] = {"true": None, "false": None}
                else:
                    values[name] = {attribute_text(Attribute(default, argument.dtype)): None}
    return values


def _sides(values: dict[str | None, None]) -> tuple[str | None, ...]:
    return tuple(values) if len(values) > 1 else (*values, _OTHER)


def _side(values: dict[str | None, None], value: str | None) -> str | None:
    return value if value in values else _OTHER


def _combination(parts: Sequence[Any], attributes: Sequence[str], sizes: Mapping[str, int]) -> str:
    dtype, (form, rank), *rest = parts
    said = {"dtype": dtype, "format": form, "rank": rank, **dict(zip(attributes, rest, strict=True))}
    return " ".join(f"{name}={value}" for name, value in said.items() if sizes[name] > 1)


# --- dimensions ---------------------------------------------------------------------------------------------


def _dims(cases: Sequence[Case]) -> set[int]:
    return {dim for case in cases for spec in input_specs(case) for dim in spec.shape}


def _dimensions(cases: Sequence[Case], rule: str, first: int, dim: Callable[[int], int]) -> CoverageFinding:
    dims = _dims(cases)
    exponents = range(first, EXPONENTS + 1)
    found = [k for k in exponents if dim(k) in dims]
    missing = [k for k in exponents if k not in found]
    state = State.YES if not missing else State.PARTLY if found else State.NO
    said = {State.YES: "exponents_all", State.PARTLY: "exponents_some", State.NO: "exponents_none"}[state]
    return CoverageFinding(rule, state, said, {"found": _ranges(found), "missing": _ranges(missing)})


def _ranges(numbers: Sequence[int]) -> str:
    """``0-4, 7``."""
    parts = []
    for _, group in itertools.groupby(enumerate(numbers), lambda pair: pair[1] - pair[0]):
        run = [n for _, n in group]
        parts.append(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}")
    return ", ".join(parts)


def _sizes(cases: Sequence[Case]) -> CoverageFinding:
    specs = [s for case in cases for s in input_specs(case)]
    most = max((s.count for s in specs), default=0)
    longest = max((d for s in specs for d in s.shape), default=0)
    # Up to 2^20: a run that never goes near it does not keep to the rule, however small its tensors are.
    kept = most <= MOST_ELEMENTS and longest in ((1 << EXPONENTS) - 1, 1 << EXPONENTS)
    return CoverageFinding(
        "sizes",
        State.YES if kept else State.NO,
        "sizes_found",
        {"most": f"{most:,}", "longest": f"{longest:,}"},
    )


# --- data ---------------------------------------------------------------------------------------------------


def _float_inputs(cases: Sequence[Case]) -> Iterator[TensorSpec]:
    for case in cases:
        for spec in input_specs(case):
            if spec.dtype in DTYPES and DTYPES[spec.dtype].kind == "float":
                yield spec


def _distributions(cases: Sequence[Case]) -> CoverageFinding:
    counts: Counter[str] = Counter()
    for spec in _float_inputs(cases):
        if isinstance(spec.data, Generator):
            counts[_distribution(spec.data)] += 1
    total = counts.total()
    values: dict[str, object] = {name: counts[name] for name in ("uniform", "normal", "other")}
    values["total"] = total
    if not total:
        return CoverageFinding("distributions", State.NOTHING, "no_random", values)
    low, high = _NEAR_HALF
    halves = all(low <= counts[name] / total <= high for name in ("uniform", "normal"))
    some = counts["uniform"] or counts["normal"]
    state = State.YES if halves else State.PARTLY if some else State.NO
    return CoverageFinding("distributions", state, "distributions_found", values)


def _distribution(data: Generator) -> str:
    args = [float(a) for a in data.args if not isinstance(a, complex)]
    if data.kind == "uniform" and args == [-5.0, 5.0]:
        return "uniform"
    if data.kind == "normal" and len(args) == 2 and -5 <= args[0] <= 5 and 0.1 <= args[1] <= 2:
        return "normal"
    return "other"


def _presence(
    cases: Sequence[Case], rule: str, test: Callable[[Sequence[TensorSpec]], bool]
) -> CoverageFinding:
    count = sum(test(input_specs(case)) for case in cases)
    if count:
        return CoverageFinding(rule, State.YES, "cases_found", {"count": count})
    return CoverageFinding(rule, State.NO, "cases_none")


SPECIALS = ("lower", "upper", "nan", "inf", "-inf", "[-inf, inf]")


def _special_values(cases: Sequence[Case], support: Support | None) -> Iterator[CoverageFinding]:
    """Per special value the floating-point dtypes, of those supported, that meet it; files are not looked into."""
    accepted = itertools.chain(*(support.dtypes or ())) if support is not None else ()
    dtypes: dict[str, set[str]] = {d: set() for d in accepted if d in DTYPES and DTYPES[d].kind == "float"}
    files = 0
    for spec in _float_inputs(cases):
        found = dtypes.setdefault(spec.dtype, set())
        files += isinstance(spec.data, FromFile)
        if len(found) < len(SPECIALS) and spec.data is not None and spec.count:
            found |= specials_of(spec.data, spec.dtype)
    for special in SPECIALS:
        have = [d for d, found in dtypes.items() if special in found]
        lack = [d for d, found in dtypes.items() if special not in found]
        if not dtypes:
            yield CoverageFinding(special, State.NOTHING, "no_floats")
            continue
        state = State.NO if not have else State.PARTLY if lack else State.YES
        said = {State.YES: "dtypes_all", State.PARTLY: "dtypes_some", State.NO: "dtypes_none"}[state]
        values: dict[str, object] = {"have": ", ".join(have), "lack": ", ".join(lack), "files": files}
        yield CoverageFinding(special, state, said, values)


def specials_of(data: Data, dtype: str) -> set[str]:
    """The special values that are sure to stand in such data."""
    largest = float_format(dtype).largest
    found = set()
    for value in _sure_values(data):
        if isinstance(value, complex):
            continue
        # Written in decimal, the largest number may miss it by its last digits.
        if value != value:
            found.add("nan")
        elif value in (math.inf, -math.inf):
            found.add("inf" if value > 0 else "-inf")
        elif abs(value) >= largest * (1 - 1e-6):
            found.add("upper" if value > 0 else "lower")
    if {"inf", "-inf"} <= found:
        found.add("[-inf, inf]")
    return found


def _sure_values(data: Data) -> Iterable[Number]:
    if isinstance(data, Fill):
        return (data.value,)
    if isinstance(data, Values):
        return data.values
    if isinstance(data, Generator) and data.kind == "linspace":
        return (*data.args, *data.specials)
    return data.specials
