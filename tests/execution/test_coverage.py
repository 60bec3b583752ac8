"""Which of the ecosystem standard's case-generation rules a set of cases covers, rule by rule."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import pytest

from ascend_opcli.casefile.open import load_file, load_text
from ascend_opcli.execution.coverage import CoverageFinding, State, coverage, specials_of
from ascend_opcli.model import Attribute, Case, Data, Fill, FromFile, Generator, Values
from ascend_opcli.verification.standards.choice import check_for
from tests.reporting.made_up import case, spec

EVERY_RULE = [
    *("combinations", "powers", "below_powers", "sizes", "distributions", "empty", "one"),
    *("lower", "upper", "nan", "inf", "-inf", "[-inf, inf]"),
]


def found(cases: Sequence[Case], rule: str) -> CoverageFinding:
    (finding,) = [f for f in coverage(cases) if f.rule == rule]
    return finding


def with_data(*data: Data, dtype: str = "float32") -> list[Case]:
    return [case(str(n), dtype=dtype, data=d) for n, d in enumerate(data)]


def test_every_rule_is_spoken_of_even_without_a_case() -> None:
    assert [f.rule for f in coverage([])] == EVERY_RULE
    assert State.YES not in {f.state for f in coverage([])}


def of(dtype: str = "float32", rank: int = 1, eps: float = -1.0, operator: str = "aclnnLogitGrad") -> Case:
    """A call of logit_grad as its contract wants it."""
    shape = (2,) * rank
    data = Generator("uniform", (0.0, 1.0))
    arguments = {
        "x": spec(dtype, shape, data),
        "dy": spec(dtype, shape, data),
        "eps": Attribute(eps),
        "out": spec(dtype, shape),
    }
    return case(f"{dtype}-{rank}-{eps}", operator=operator, arguments=arguments)


DTYPES = ("float16", "bfloat16", "float32")
EVERY = [of(d, r, e) for d in DTYPES for r in range(9) for e in (-1.0, 0.01)]
"""logit_grad: three dtypes, ranks 0 to 8, eps at its default and not."""


def test_combinations_are_those_that_the_operator_supports() -> None:
    assert found(EVERY, "combinations").state is State.YES
    for left_out in (0, 17, 53):
        finding = found([c for n, c in enumerate(EVERY) if n != left_out], "combinations")
        assert finding.state is State.PARTLY
        assert (finding.values["found"], finding.values["wanted"]) == (53, 54)
    assert finding.values["missing"] == "dtype=float32 rank=8 eps=another value"


def test_one_case_is_never_all_combinations() -> None:
    finding = found([of()], "combinations")
    assert (finding.state, finding.values["found"], finding.values["wanted"]) == (State.PARTLY, 1, 54)
    # More of the same, and what the operator refuses, add nothing.
    more = [of(), of(rank=9), of("float64"), of(rank=1)]
    assert found(more, "combinations").values == finding.values


def test_what_is_supported_depends_on_the_product() -> None:

    text = "{op: elu_backward, cases: [{dtype: float32, shape: [2, 3]}]}"
    (made,) = load_text(text, "a.yaml", check_standard=check_for).cases
    counts = {
        product: coverage([made], [product])[0].values["wanted"] for product in ("atlas_a2", "atlas_training")
    }
    # float16 and float32, bfloat16 where it exists; nine ranks; four attributes, each with two sides.
    assert counts == {"atlas_a2": 3 * 9 * 2**4, "atlas_training": 2 * 9 * 2**4}
    assert coverage([made], ["atlas_training", "atlas_a2"])[0].values["wanted"] == 3 * 9 * 2**4


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        # gradOut and input need a channel axis; counters stay int32.
        ("{op: batch_norm_elemt_backward, cases: [{dtype: float16, shape: [2, 3, 4]}]}", 3 * 7),
        # Shapes [1] and [].
        (
            "{op: amp_update_scale, cases: [{dtype: float32, shape: [1],"
            " attrs: {growthFactor: 2.0, backoffFactor: 0.5, growthInterval: 3}}]}",
            3 * 2 * 2**3,
        ),
    ],
)
def test_a_contract_is_asked_what_it_accepts(text: str, wanted: int) -> None:

    (made,) = load_text(text, "a.yaml", check_standard=check_for).cases
    assert found([made], "combinations").values["wanted"] == wanted


def test_every_operator_that_can_be_judged_has_a_denominator() -> None:
    """No shipped case alone covers what its operator supports; what is accepted is counted."""

    files = sorted((Path(__file__).parents[2] / "cases").glob("*.yaml"))
    assert files
    for path in files:
        accepted = [c for c in load_file(path, check_standard=check_for).cases if c.status is None]
        finding = found(accepted[:1], "combinations")
        assert finding.state in (State.PARTLY, State.NOTHING), path.name


def test_a_branch_that_no_element_reaches_is_no_full_coverage() -> None:
    (finding, *_) = coverage(EVERY, ["atlas_a2"], ["outside"])
    assert (finding.state, finding.said) == (State.PARTLY, "combinations_branches")
    assert finding.values["branches"] == "outside"


def test_of_an_operator_that_nobody_documents_nothing_is_all() -> None:
    cases = [of(d, operator="aclnnOfMyOwn") for d in DTYPES]
    finding = found(cases, "combinations")
    assert (finding.state, finding.said) == (State.PARTLY, "combinations_unknown")
    assert (finding.values["found"], finding.values["wanted"]) == (3, 6)


def test_the_product_of_many_values_is_counted_without_being_made() -> None:
    arguments = {"x": spec(data=Fill(1.0))}
    cases = [
        case(operator="aclnnMine", arguments={**arguments, **{f"a{k}": Attribute(n) for k in range(40)}})
        for n in range(100)
    ]
    finding = found(cases, "combinations")
    assert (finding.values["found"], finding.values["wanted"]) == (2, 2**40)


def test_dimensions_are_named_by_their_exponents() -> None:
    cases = [case(shape=(1 << k, (1 << k) - 1 or 1)) for k in range(11)]
    assert found(cases, "powers").values == {"found": "0-10", "missing": "11-20"}
    assert found(cases, "below_powers").values == {"found": "1-10", "missing": "11-20"}
    assert found([case(shape=(6,))], "powers").state is State.NO
    everything = [case(shape=(1 << k,)) for k in range(21)] + [
        case(shape=((1 << k) - 1,)) for k in range(1, 21)
    ]
    assert found(everything, "powers").state is found(everything, "below_powers").state is State.YES


@pytest.mark.parametrize(
    ("shape", "state"),
    [
        ((8,), State.NO),
        ((1 << 19,), State.NO),
        (((1 << 20) - 2,), State.NO),
        (((1 << 20) - 1,), State.YES),
        ((1 << 20,), State.YES),
        (((1 << 20) + 1,), State.NO),
        ((1 << 20, 2048), State.YES),
        ((1 << 20, 2049), State.NO),
        ((), State.NO),
    ],
)
def test_sizes_reach_the_bound_and_stay_within_it(shape: tuple[int, ...], state: State) -> None:
    assert found([case(shape=shape)], "sizes").state is state


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


def test_a_special_value_is_wanted_in_every_floating_point_dtype_that_is_supported() -> None:
    cases = [of("float32"), of("float16")]
    cases[0] = case("nan", arguments={**cases[0].arguments, "x": spec("float32", (2,), Fill(math.nan))})
    finding = found(cases, "nan")
    assert finding.state is State.PARTLY
    assert finding.values["have"] == "float32"
    assert set(str(finding.values["lack"]).split(", ")) == {"bfloat16", "float16"}
    mine = {"operator": "aclnnMine"}
    assert found([case(dtype="int32", data=Fill(1), **mine)], "nan").state is State.NOTHING
    assert found([case(shape=(0,), data=Fill(math.nan), **mine)], "nan").state is State.NO
