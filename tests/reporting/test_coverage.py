"""Which of the ecosystem standard's case-generation rules a set of cases covers, rule by rule."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pytest

from ascend_opcli.model import Attribute, Case, Data, Fill, FromFile, Generator, Values
from ascend_opcli.reporting.coverage import Finding, State, coverage, specials_of
from tests.reporting.made_up import case, spec

EVERY_RULE = [
    *("combinations", "powers", "below_powers", "sizes", "distributions", "empty", "one"),
    *("lower", "upper", "nan", "inf", "-inf", "[-inf, inf]"),
]


def found(cases: Sequence[Case], rule: str) -> Finding:
    (finding,) = [f for f in coverage(cases) if f.rule == rule]
    return finding


def with_data(*data: Data, dtype: str = "float32") -> list[Case]:
    return [case(str(n), dtype=dtype, data=d) for n, d in enumerate(data)]


def test_every_rule_is_spoken_of_even_without_a_case() -> None:
    assert [f.rule for f in coverage([])] == EVERY_RULE
    assert State.YES not in {f.state for f in coverage([]) if f.rule != "sizes"}


def test_combinations_are_the_product_of_what_occurs() -> None:
    cases = [
        case(f"{dtype}-{rank}", dtype=dtype, shape=(2,) * rank)
        for dtype in ("float16", "float32")
        for rank in (1, 2, 3)
    ]
    assert found(cases, "combinations").state is State.YES
    finding = found(cases[:-1], "combinations")
    assert finding.state is State.PARTLY
    assert (finding.values["found"], finding.values["wanted"]) == (5, 6)
    assert finding.values["missing"] == "dtype=float32 rank=3"


def test_attributes_and_their_nan_are_values_of_a_combination() -> None:
    def of(eps: float, dtype: str) -> Case:
        made = case(dtype=dtype)
        return case(arguments={**made.arguments, "eps": Attribute(eps)})

    cases = [of(math.nan, "float32"), of(math.nan, "float32"), of(0.5, "float32"), of(0.5, "float16")]
    finding = found(cases, "combinations")
    assert (finding.values["found"], finding.values["wanted"]) == (3, 4)
    assert finding.values["missing"] == "dtype=float16 eps=nan"


def test_the_product_of_many_values_is_counted_without_being_made() -> None:
    arguments = {"x": spec(data=Fill(1.0))}
    cases = [case(arguments={**arguments, **{f"a{k}": Attribute(n) for k in range(12)}}) for n in range(100)]
    finding = found(cases, "combinations")
    assert (finding.values["found"], finding.values["wanted"]) == (100, 100**12)


def test_dimensions_are_named_by_their_exponents() -> None:
    cases = [case(shape=(1 << k, (1 << k) - 1 or 1)) for k in range(11)]
    assert found(cases, "powers").values == {"found": "0-10", "missing": "11-20"}
    assert found(cases, "below_powers").values == {"found": "1-10", "missing": "11-20"}
    assert found([case(shape=(6,))], "powers").state is State.NO
    everything = [case(shape=(1 << k,)) for k in range(21)] + [
        case(shape=((1 << k) - 1,)) for k in range(1, 21)
    ]
    assert found(everything, "powers").state is found(everything, "below_powers").state is State.YES


def test_sizes_beyond_the_bounds_are_seen() -> None:
    assert found([case(shape=(1 << 20, 2048))], "sizes").state is State.YES
    assert found([case(shape=((1 << 20) + 1,))], "sizes").state is State.NO
    assert found([case(shape=(1 << 20, 2049))], "sizes").state is State.NO


def test_half_and_half_is_measured() -> None:
    uniform, normal = Generator("uniform", (-5.0, 5.0)), Generator("normal", (-5, 0.1))
    assert found(with_data(uniform, normal), "distributions").state is State.YES
    assert found(with_data(uniform, uniform, normal), "distributions").state is State.PARTLY
    other = [
        Generator("uniform", (0.0, 1.0)),
        Generator("normal", (6.0, 1.0)),
        Generator("normal", (0.0, 2.5)),
    ]
    finding = found(with_data(*other), "distributions")
    assert (finding.state, finding.values["other"]) == (State.NO, 3)
    assert found(with_data(Fill(1.0)), "distributions").state is State.NOTHING
    assert found(with_data(uniform, dtype="int32"), "distributions").state is State.NOTHING


def test_empty_tensors_and_the_shape_of_one() -> None:
    assert found([case(shape=(0, 4))], "empty").state is State.YES
    assert found([case(shape=(1,))], "one").state is State.YES
    assert found([case(shape=()), case(shape=(1, 1))], "one").state is State.NO


@pytest.mark.parametrize(
    ("data", "dtype", "specials"),
    [
        (Fill(65504.0), "float16", {"upper"}),
        (Values((-65504.0, 65503.0)), "float16", {"lower"}),
        (Fill(3.4028235e38), "float32", {"upper"}),
        (Fill(3.4e38), "float32", set()),
        (Values((math.nan, math.inf)), "bfloat16", {"nan", "inf"}),
        (Generator("uniform", (0.0, 1.0), (-math.inf, math.inf)), "float32", {"inf", "-inf", "[-inf, inf]"}),
        (Generator("uniform", (-math.inf, math.inf)), "float32", set()),
        (Generator("choice", (math.inf, 1.0)), "float32", set()),
        (Generator("linspace", (-65504.0, 65504.0)), "float16", {"lower", "upper"}),
        (FromFile("x.npy"), "float32", set()),
        (FromFile("x.npy", None, (math.nan,)), "float32", {"nan"}),
    ],
)
def test_only_values_that_are_sure_to_be_there_count(data: Data, dtype: str, specials: set[str]) -> None:
    assert specials_of(data, dtype) == specials


def test_a_special_value_is_wanted_in_every_floating_point_dtype() -> None:
    cases = [case("a", data=Fill(math.nan)), case("b", dtype="float16"), case("c", dtype="int32")]
    finding = found(cases, "nan")
    assert finding.state is State.PARTLY
    assert (finding.values["have"], finding.values["lack"]) == ("float32", "float16")
    assert found([case(dtype="int32", data=Fill(1))], "nan").state is State.NOTHING
    assert found([case(shape=(0,), data=Fill(math.nan))], "nan").state is State.NO
