"""What phase 1 refuses: every rule of the five operators in source order, and what must not be refused."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Mapping
from itertools import combinations
from typing import Any

import pytest
from operator_calls import FIVE, FLOATS, INF, NAN, arguments, tensor

from ascend_opcli.casefile.negatives import negatives, ordinary_case
from ascend_opcli.model import Argument, Attribute, Fill, TensorSpec
from ascend_opcli.operators.catalog import find
from ascend_opcli.operators.contract.phase_one import Refusal, Unsettled, predict, unchecked
from ascend_opcli.operators.products import PRODUCTS
from ascend_opcli.tensors.layout import resolve

Arguments = dict[str, Argument]

NULLPTR, INVALID, TILING, NO_KERNEL = 161001, 161002, 561002, 561003
WITH_BFLOAT16 = ("ascend950", "atlas_a3", "atlas_a2")


def spec(dtype: str, shape: tuple[int, ...], data: bool = True) -> TensorSpec:
    return tensor(dtype, Fill(1) if data else None, shape)


def base(name: str, dtype: str = "float32") -> Arguments:
    """An accepted call."""
    operator = find(name)
    wide, c = (2, 3, 4), (3,)
    given: dict[str, Any] = {
        "logit_grad": lambda: {"x": spec(dtype, wide), "dy": spec(dtype, wide)},
        "elu_backward": lambda: {"gradOutput": spec(dtype, wide), "selfOrResult": spec(dtype, wide)},
        "threshold_backward": lambda: {
            "gradOutput": spec(dtype, wide), "self": spec(dtype, wide), "threshold": Attribute(1.0),
        },
        "batch_norm_elemt_backward": lambda: {
            "gradOut": spec(dtype, wide),
            "input": spec(dtype, wide),
            **{n: spec(dtype, c) for n in ("mean", "invstd", "weight", "sumDy", "sumDyXmu")},
            "counter": spec("int32", c),
        },
        "amp_update_scale": lambda: {
            "currentScale": spec(dtype, (1,)), "growthTracker": spec("int32", (1,)), "foundInf": spec(dtype, (1,)),
        },
    }[name]()  # fmt: skip
    return arguments(operator, **given)


def verdict(name: str, made: Mapping[str, Argument], product: str = "atlas_a2") -> int | str:
    """The status, 0 where accepted, 'unsettled' where the documents are silent."""
    found = predict(find(name), made, product)
    if found is None:
        return 0
    return found.status if isinstance(found, Refusal) else "unsettled"


def reshape(made: Arguments, name: str, shape: tuple[int, ...]) -> None:
    item = made[name]
    if isinstance(item, TensorSpec):
        strides, offset, storage, layout = resolve(shape)
        made[name] = dataclasses.replace(
            item, shape=shape, strides=strides, offset=offset, storage_shape=storage, layout=layout
        )


# --- ways of breaking one rule --------------------------------------------------------------------------------

Change = Callable[[Arguments], None]


def null(name: str) -> tuple[str, Change, int, str]:
    def how(made: Arguments) -> None:
        made[name] = None

    return f"{name}-null", how, NULLPTR, rf"^{name} is null"


def dtype(names: str, to: str, sentence: str, status: int = INVALID) -> tuple[str, Change, int, str]:
    def how(made: Arguments) -> None:
        for name in names.split():
            item = made[name]
            if isinstance(item, TensorSpec):
                made[name] = dataclasses.replace(item, dtype=to)

    return f"{names.replace(' ', '+')}-{to}", how, status, sentence


def axes(
    names: str,
    change: Callable[[tuple[int, ...]], tuple[int, ...]],
    label: str,
    sentence: str,
    status: int = INVALID,
):
    def how(made: Arguments) -> None:
        for name in names.split():
            item = made[name]
            if isinstance(item, TensorSpec):
                reshape(made, name, change(item.shape))

    return f"{names.replace(' ', '+')}-{label}", how, status, sentence


def form(name: str, to: str) -> tuple[str, Change, int, str]:
    def how(made: Arguments) -> None:
        item = made[name]
        if isinstance(item, TensorSpec):
            made[name] = dataclasses.replace(item, format=to)

    return f"{name}-{to}", how, INVALID, rf"{name}.*{to}"


def attribute(label: str, status: int, sentence: str, **values: Any) -> tuple[str, Change, int, str]:
    def how(made: Arguments) -> None:
        made.update({n: v if isinstance(v, Attribute) else Attribute(v) for n, v in values.items()})

    return label, how, status, sentence


def longer(shape: tuple[int, ...]) -> tuple[int, ...]:
    return (*shape, 2)


def rank9(_shape: tuple[int, ...]) -> tuple[int, ...]:
    return (1,) * 9


def at_least_rank9(shape: tuple[int, ...]) -> tuple[int, ...]:
    return (*shape, *(1,) * max(9 - len(shape), 0))


VECTORS = ("mean", "invstd", "weight", "sumDy", "sumDyXmu")

WALKS: dict[str, list[tuple[str, Change, int, str]]] = {
    "logit_grad": [
        null("x"),
        null("dy"),
        null("out"),
        dtype("dy", "float16", "no column.*dy float16"),
    ],
    "elu_backward": [
        *map(null, ("gradOutput", "alpha", "scale", "inputScale", "selfOrResult", "gradInput")),
        dtype("selfOrResult", "float16", "gradOutput and selfOrResult have different dtypes"),
        dtype("gradOutput selfOrResult", "int32", "gradOutput is int32"),
        attribute("alpha-complex", INVALID, "alpha is complex", alpha=1 + 2j),
        attribute("scale-complex", INVALID, "scale is complex", scale=Attribute(1, "complex64")),
        attribute("inputScale-complex", INVALID, "inputScale is complex", inputScale=1j),
        dtype("gradInput", "int32", "cast to gradInput's int32"),
        axes("selfOrResult", longer, "longer", "gradOutput and selfOrResult have different shapes"),
        axes("gradInput", lambda s: (*s, 3), "longer", "gradOutput and gradInput have different shapes"),
        axes("gradOutput selfOrResult gradInput", at_least_rank9, "rank9", "rank 9"),
        attribute("alpha-negative", INVALID, "alpha is -1", alpha=-1.0, isResult=True),
    ],
    "batch_norm_elemt_backward": [
        *map(null, ("gradOut", "input", "mean", "invstd", "sumDy", "sumDyXmu", "counter", "gradInput")),
        *(
            dtype(n, "int64" if n == "counter" else "float64", f"^{n} is (float|int)64")
            for n in ("gradOut", "input", *VECTORS, "counter", "gradInput")
        ),
        *(form(n, "FRACTAL_NZ") for n in ("gradOut", "input", "gradInput")),
        axes("input", lambda _: (4,), "rank1", "input has rank 1"),
        axes("input", rank9, "rank9", "input has rank 9"),
        axes("gradOut", rank9, "rank9", "gradOut has rank 9"),
        axes("gradInput", rank9, "rank9", "gradInput has rank 9"),
        axes("counter", rank9, "rank9", "counter has rank 9"),
        axes("input", lambda s: (s[0], 0, *s[2:]) if len(s) > 1 else s, "no-channel", "0 channels"),
        axes("gradOut", lambda s: (s[0] + 1, *s[1:]), "longer", "input and gradOut have different shapes"),
        axes("gradInput", lambda s: (s[0] + 1, *s[1:]), "longer", "input and gradInput have different shapes"),
        *(axes(n, lambda _: (7,), "seven", f"^{n} has shape") for n in VECTORS),
    ],
    "threshold_backward": [
        *map(null, ("threshold", "out", "gradOutput", "self")),
        dtype("gradOutput", "float64", "^gradOutput is float64"),
        dtype("self", "float64", "^self is float64"),
        dtype("gradOutput", "float16", "gradOutput and self have different dtypes"),
        dtype("out", "int8", "self and out have different dtypes"),
        axes("gradOutput", at_least_rank9, "rank9", "gradOutput has rank 9"),
        axes("self", at_least_rank9, "rank9", "self has rank 9"),
        axes("self", lambda s: (*s[:-1], 5), "other", "do not broadcast"),
        axes("out", longer, "longer", "out has shape"),
    ],
    "amp_update_scale": [
        *map(null, ("currentScale", "growthTracker", "foundInf", "updatedScale", "updatedGrowthTracker")),
        dtype("foundInf", "float16", "no column.*foundInf float16"),
        attribute("interval-0", TILING, "growthInterval is 0", growthInterval=0),
        axes("currentScale", lambda _: (1, 1), "rank2", "currentScale has shape", TILING),
        axes("growthTracker", lambda _: (1, 1), "rank2", "growthTracker has shape", TILING),
        axes("foundInf", lambda _: (1, 1), "rank2", "foundInf has shape", TILING),
    ],
}  # fmt: skip


def refusal(name: str, *changes: Change) -> Refusal:
    made = base(name)
    for change in changes:
        change(made)
    found = predict(find(name), made, "atlas_a2")
    assert isinstance(found, Refusal), found
    return found


SINGLES = [pytest.param(n, *rule, id=f"{n}-{rule[0]}") for n, rules in WALKS.items() for rule in rules]
PAIRS = [
    pytest.param(n, first, second, id=f"{n}-{first[0]}-before-{second[0]}")
    for n, rules in WALKS.items()
    for first, second in combinations(rules, 2)
]


@pytest.mark.parametrize("name", FIVE)
def test_the_base_is_accepted(name):
    assert predict(find(name), base(name), "atlas_a2") is None
    assert unchecked(find(name), base(name)) is None


@pytest.mark.parametrize(("name", "label", "change", "status", "sentence"), SINGLES)
def test_every_refusal(name, label, change, status, sentence):
    found = refusal(name, change)
    assert found.status == status
    assert re.search(sentence, found.rule), (label, found.rule)
    assert "\n" not in found.rule


@pytest.mark.parametrize(("name", "first", "second"), PAIRS)
def test_the_earlier_rule_wins(name, first, second):
    found = refusal(name, second[1], first[1])
    assert found.status == first[2]
    assert re.search(first[3], found.rule), found.rule


def test_within_one_rule_the_order_of_the_source_counts():
    """dtypes: every gradOut before every input, and rank before shape, whatever else is broken."""
    made = base("batch_norm_elemt_backward")
    for name in ("gradInput", "counter", "mean"):
        made[name] = dataclasses.replace(made[name], dtype="complex64")
    found = predict(find("batch_norm_elemt_backward"), made, "atlas_a2")
    assert found.rule.startswith("mean is complex64")


# --- products and dtypes --------------------------------------------------------------------------------------

ALL = (*FLOATS, "float64", "int8", "int16", "int32", "int64", "uint8", "uint16", "bool", "complex64")

ACCEPTED = {
    "logit_grad": dict.fromkeys(WITH_BFLOAT16, FLOATS),
    "elu_backward": {
        **dict.fromkeys(WITH_BFLOAT16, FLOATS),
        **dict.fromkeys(("atlas_inference", "atlas_training"), ("float32", "float16")),
    },
    "batch_norm_elemt_backward": {
        **dict.fromkeys(WITH_BFLOAT16, FLOATS),
        "atlas_training": ("float32", "float16"),
    },
    "threshold_backward": {
        **dict.fromkeys(WITH_BFLOAT16, (*FLOATS, "int32", "int8", "uint8")),
        **dict.fromkeys(
            ("atlas_inference", "atlas_training"), ("float32", "float16", "int32", "int8", "uint8")
        ),
    },
    "amp_update_scale": dict.fromkeys(WITH_BFLOAT16, FLOATS),
}


@pytest.mark.parametrize("name", FIVE)
@pytest.mark.parametrize("product", PRODUCTS)
@pytest.mark.parametrize("kind", ALL)
def test_dtypes_of_products(name, product, kind):
    generated = name in ("logit_grad", "amp_update_scale")
    got = verdict(name, base(name, kind), product)
    if product not in ACCEPTED[name]:
        if not generated:
            assert got == "unsettled"
        elif kind in FLOATS:
            assert got == NO_KERNEL
        else:
            # The sources give both orders for a dtype that no column has on a SoC that is not registered.
            assert got in (INVALID, NO_KERNEL)
    else:
        assert got == (0 if kind in ACCEPTED[name][product] else INVALID)


@pytest.mark.parametrize("name", FIVE)
def test_products_listed(name):
    assert {p for p in PRODUCTS if find(name).supports(p)} == set(ACCEPTED[name])
    assert set(find(name).products) == set(PRODUCTS)


def test_an_unlisted_product_of_a_hand_written_entry_is_not_guessed():
    for name, product in (
        ("elu_backward", "atlas_200i_500_a2"),
        ("batch_norm_elemt_backward", "atlas_inference"),
    ):
        found = predict(find(name), base(name), product)
        assert isinstance(found, Unsettled)
        assert "not documented" in found.reason
        assert product in found.reason


def test_null_comes_before_the_missing_kernel():
    for name, pointer in (("logit_grad", "dy"), ("amp_update_scale", "foundInf")):
        assert verdict(name, {**base(name), pointer: None}, "atlas_training") == NULLPTR


def test_a_missing_kernel_comes_before_tiling():
    made = {**base("amp_update_scale"), "growthInterval": Attribute(0)}
    assert verdict("amp_update_scale", made, "atlas_inference") == NO_KERNEL


@pytest.mark.parametrize(
    ("threshold", "accepted"),
    [(0.0, True), (-0.0, True), (1.19e-7, True), (-1.19e-7, True), (2.0**-23, True), (1.3e-7, False), (1.0, False),
     (-1.0, False), (NAN, False), (INF, False), (1e39, False), (0.0 + 1j, True), (2 + 0j, False)],
)  # fmt: skip
def test_int64_goes_with_a_threshold_of_zero(threshold, accepted):
    made = {**base("threshold_backward", "int64"), "threshold": Attribute(threshold)}
    assert verdict("threshold_backward", made, "ascend950") == (0 if accepted else INVALID)
    for product in ("atlas_a3", "atlas_a2", "atlas_inference", "atlas_training"):
        assert verdict("threshold_backward", made, product) == INVALID


def test_int64_list_is_chosen_before_the_dtypes_are_compared():
    """With a threshold of 1 the list has no int64: gradOutput is named, not the mismatch with self."""
    made = base("threshold_backward")
    made["gradOutput"] = spec("int64", (2, 3, 4))
    found = predict(find("threshold_backward"), made, "ascend950")
    assert found.status == INVALID
    assert found.rule.startswith("gradOutput is int64") or "int64 is accepted only" in found.rule


# --- logit_grad -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "kinds",
    [
        ("float16", "float32", "float32"),
        ("float32", "float32", "bfloat16"),
        ("float16", "float16", "float32"),
    ],
)
def test_logit_columns(kinds):
    made = {n: spec(k, (4,), n != "out") for n, k in zip(("x", "dy", "out"), kinds, strict=True)}
    assert verdict("logit_grad", {**base("logit_grad"), **made}) == INVALID


@pytest.mark.parametrize("name", ["x", "dy", "out"])
def test_logit_format(name):
    made = base("logit_grad")
    made[name] = dataclasses.replace(made[name], format="FRACTAL_NZ")
    assert verdict("logit_grad", made) == INVALID


def test_logit_never_compares_shapes():
    """A short dy is accepted by the operator and read out of bounds: not refused, reported."""
    operator = find("logit_grad")
    for dy, out, word in (((4,), (2, 3, 4), "dy"), ((2, 3, 4), (23,), "out"), ((0,), (2, 3, 4), "dy")):
        made = {**base("logit_grad"), "dy": spec("float32", dy), "out": spec("float32", out, False)}
        assert predict(operator, made, "atlas_a2") is None
        sentence = unchecked(operator, made)
        assert sentence is not None
        assert word in sentence
        assert "out of bounds" in sentence
    flat = {**base("logit_grad"), "dy": spec("float32", (24,)), "out": spec("float32", (24,), False)}
    assert predict(operator, flat, "atlas_a2") is None
    assert unchecked(operator, flat) is None


@pytest.mark.parametrize("eps", [NAN, INF, -INF, 2.0, -0.0])
def test_logit_any_eps(eps):
    assert verdict("logit_grad", {**base("logit_grad"), "eps": Attribute(eps)}) == 0


@pytest.mark.parametrize("shape", [(), (0,), (3, 0, 2), (1,) * 8])
def test_logit_shapes(shape):
    made = {n: spec("float32", shape, n != "out") for n in ("x", "dy", "out")}
    assert verdict("logit_grad", {**base("logit_grad"), **made}) == 0


# --- elu_backward ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("alpha", [NAN, -0.0, 0.0, 1.0, INF])
def test_elu_alpha_that_passes_with_result(alpha):
    made = {**base("elu_backward"), "alpha": Attribute(alpha), "isResult": Attribute(True)}
    assert verdict("elu_backward", made) == 0


@pytest.mark.parametrize("alpha", [-1.0, -INF, -1, -(2.0**-100)])
def test_elu_negative_alpha(alpha):
    made = {**base("elu_backward"), "alpha": Attribute(alpha)}
    assert verdict("elu_backward", made) == 0
    assert verdict("elu_backward", {**made, "isResult": Attribute(True)}) == INVALID


@pytest.mark.parametrize("name", ["alpha", "scale", "inputScale"])
@pytest.mark.parametrize("kind", ["uint8", "bool", "int64", "float64", "float16", "bfloat16"])
def test_elu_real_scalars(name, kind):
    assert verdict("elu_backward", {**base("elu_backward"), name: Attribute(1, kind)}) == 0


@pytest.mark.parametrize(
    ("kind", "status"),
    [
        *((k, 0) for k in (*FLOATS, "float64", "complex64", "complex128")),
        *((k, INVALID) for k in ("int32", "int64", "int8", "uint8", "bool")),
    ],
)
def test_elu_output_dtype(kind, status):
    for source in FLOATS:
        made = {**base("elu_backward", source), "gradInput": spec(kind, (2, 3, 4), False)}
        assert verdict("elu_backward", made) == status


@pytest.mark.parametrize("shape", [(), (0,), (4, 0), (1,) * 8])
def test_elu_shapes(shape):
    made = {n: spec("float32", shape, n != "gradInput") for n in ("gradOutput", "selfOrResult", "gradInput")}
    assert verdict("elu_backward", {**base("elu_backward"), **made}) == 0


def test_elu_private_format_is_only_warned_of():
    made = base("elu_backward")
    made["gradOutput"] = dataclasses.replace(made["gradOutput"], format="FRACTAL_NZ")
    assert verdict("elu_backward", made) == 0


def test_elu_refusals_hold_for_empty_tensors():
    made = {n: spec("float32", (0,), n != "gradInput") for n in ("gradOutput", "selfOrResult", "gradInput")}
    whole = {**base("elu_backward"), **made, "alpha": Attribute(-1.0), "isResult": Attribute(True)}
    assert verdict("elu_backward", whole) == INVALID


# --- batch_norm_elemt_backward --------------------------------------------------------------------------------


def batch_norm(shape: tuple[int, ...], **more: Argument) -> Arguments:
    made = base("batch_norm_elemt_backward")
    for name in ("gradOut", "input", "gradInput"):
        reshape(made, name, shape)
    for name in VECTORS:
        reshape(made, name, (shape[1],))
    return {**made, **more}


@pytest.mark.parametrize(
    ("shape", "status"),
    [((2, 0), INVALID), ((2, 0, 3), INVALID), ((0, 0), INVALID), ((0, 3), 0), ((2, 3, 0), 0), ((2, 3), 0),
     ((1, 3, *(1,) * 6), 0), ((1, 3, *(1,) * 7), INVALID)],
)  # fmt: skip
def test_batch_norm_shapes(shape, status):
    assert verdict("batch_norm_elemt_backward", batch_norm(shape)) == status


def test_batch_norm_null_weight():
    assert verdict("batch_norm_elemt_backward", batch_norm((2, 3), weight=None)) == 0


@pytest.mark.parametrize("odd", ["gradOut", "input", *VECTORS, "gradInput"])
@pytest.mark.parametrize("kind", ["float16", "bfloat16"])
def test_batch_norm_mixed_dtypes(odd, kind):
    made = batch_norm((2, 3))
    made[odd] = dataclasses.replace(made[odd], dtype=kind)
    assert verdict("batch_norm_elemt_backward", made) == 0
    assert verdict("batch_norm_elemt_backward", made, "atlas_training") == (
        0 if kind == "float16" else INVALID
    )


@pytest.mark.parametrize(
    ("kind", "status"),
    [
        ("int32", 0),
        ("float16", 0),
        ("float32", 0),
        ("bfloat16", INVALID),
        ("int64", INVALID),
        ("uint8", INVALID),
    ],
)
def test_batch_norm_counter(kind, status):
    for product in ACCEPTED["batch_norm_elemt_backward"]:
        made = batch_norm((2, 3), counter=spec(kind, (3,)))
        assert verdict("batch_norm_elemt_backward", made, product) == status


@pytest.mark.parametrize("shape", [(1,), (2, 3), (1,) * 8, (17,)])
def test_batch_norm_counter_shape_is_free(shape):
    assert verdict("batch_norm_elemt_backward", batch_norm((2, 3), counter=spec("int32", shape))) == 0


@pytest.mark.parametrize("format", ["NCHW", "NHWC", "NCL", "NCDHW", "ND"])
def test_batch_norm_public_formats(format):
    made = batch_norm((2, 3))
    for name in ("gradOut", "input", "gradInput"):
        made[name] = dataclasses.replace(made[name], format=format)
    assert verdict("batch_norm_elemt_backward", made) == 0


@pytest.mark.parametrize("format", ["FRACTAL_NZ", "NC1HWC0", "FRACTAL_Z", "NDC1HWC0"])
def test_batch_norm_private_formats(format):
    for name, status in (
        ("gradOut", INVALID),
        ("input", INVALID),
        ("gradInput", INVALID),
        ("mean", 0),
        ("counter", 0),
    ):
        made = batch_norm((2, 3))
        made[name] = dataclasses.replace(made[name], format=format)
        assert verdict("batch_norm_elemt_backward", made) == status


def test_batch_norm_vector_shapes():
    for name in VECTORS:
        for shape in ((2,), (3, 1), (1,), ()):
            assert (
                verdict("batch_norm_elemt_backward", batch_norm((2, 3), **{name: spec("float32", shape)}))
                == INVALID
            )


# --- threshold_backward ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("grad", "self", "out", "status"),
    [
        ((2, 3), (3,), (2, 3), 0),
        ((3,), (2, 3), (2, 3), 0),
        ((2, 1), (1, 3), (2, 3), 0),
        ((), (2, 3), (2, 3), 0),
        ((2, 3), (), (2, 3), 0),
        ((), (), (), 0),
        ((0, 3), (1, 3), (0, 3), 0),
        ((0,), (0,), (0,), 0),
        ((1,) * 8, (2,), (*(1,) * 7, 2), 0),
        ((2, 3), (2,), (2, 3), INVALID),
        ((2, 3), (3,), (3,), INVALID),
        ((2, 3), (2, 3), (6,), INVALID),
        ((2, 3), (0, 3), (2, 3), INVALID),
        ((0,), (1,), (1,), INVALID),
    ],
)
def test_threshold_shapes(grad, self, out, status):
    made = {
        "gradOutput": spec("float32", grad),
        "self": spec("float32", self),
        "out": spec("float32", out, False),
    }
    assert verdict("threshold_backward", {**base("threshold_backward"), **made}) == status


@pytest.mark.parametrize(
    "threshold", [NAN, INF, -INF, True, 7, Attribute(1, "uint8"), Attribute(0.5, "float16")]
)
def test_threshold_scalars(threshold):
    value = threshold if isinstance(threshold, Attribute) else Attribute(threshold)
    assert verdict("threshold_backward", {**base("threshold_backward"), "threshold": value}) == 0


# --- amp_update_scale -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("interval", "status"),
    [
        (1, 0),
        (2**31 - 1, 0),
        (0, TILING),
        (-1, TILING),
        (2**31, TILING),
        (2**32 + 1, TILING),
        (-(2**63), TILING),
    ],
)
def test_amp_interval(interval, status):
    assert (
        verdict("amp_update_scale", {**base("amp_update_scale"), "growthInterval": Attribute(interval)})
        == status
    )


@pytest.mark.parametrize("name", ["currentScale", "growthTracker", "foundInf"])
@pytest.mark.parametrize(
    ("shape", "status"), [((), 0), ((1,), 0), ((2,), TILING), ((1, 1), TILING), ((0,), TILING)]
)
def test_amp_shapes(name, shape, status):
    made = base("amp_update_scale")
    reshape(made, name, shape)
    assert verdict("amp_update_scale", made) == status


AMP = ("currentScale", "growthTracker", "foundInf", "updatedScale", "updatedGrowthTracker")


def test_amp_tiling_is_skipped_when_every_output_is_empty():
    made = base("amp_update_scale")
    for name in AMP[3:]:
        reshape(made, name, (0,))
    assert verdict("amp_update_scale", made) == 0
    worse = {**made, "growthInterval": Attribute(0)}
    for name in AMP[:3]:
        reshape(worse, name, (2, 2))
    assert verdict("amp_update_scale", worse) == 0
    # What comes before the tiling still counts.
    worse["foundInf"] = dataclasses.replace(worse["foundInf"], dtype="float16")
    assert verdict("amp_update_scale", worse) == INVALID
    assert verdict("amp_update_scale", {**made, "foundInf": None}) == NULLPTR


@pytest.mark.parametrize("name", AMP[3:])
def test_amp_one_empty_output_does_not_skip_tiling(name):
    made = {**base("amp_update_scale"), "growthInterval": Attribute(0)}
    reshape(made, name, (0,))
    assert verdict("amp_update_scale", made) == TILING


def test_amp_output_shapes_are_not_checked():
    made = base("amp_update_scale")
    for name in AMP[3:]:
        reshape(made, name, (7, 2))
    assert verdict("amp_update_scale", made) == 0


@pytest.mark.parametrize("value", [NAN, INF, -1.0, 0.0])
def test_amp_factors_are_not_checked(value):
    made = {**base("amp_update_scale"), "growthFactor": Attribute(value), "backoffFactor": Attribute(value)}
    assert verdict("amp_update_scale", made) == 0


@pytest.mark.parametrize(
    ("name", "kind"),
    [("growthTracker", "int64"), ("updatedGrowthTracker", "float32"), ("updatedScale", "float16")],
)
def test_amp_dtypes(name, kind):
    made = base("amp_update_scale")
    made[name] = dataclasses.replace(made[name], dtype=kind)
    assert verdict("amp_update_scale", made) == INVALID


# --- what the contract generates, and what others expect ------------------------------------------------------


@pytest.mark.parametrize("name", FIVE)
@pytest.mark.parametrize("product", PRODUCTS)
def test_negatives_are_what_the_contract_predicts(name, product):
    operator, seen = find(name), set()
    for case in negatives(operator, product):
        assert case.name not in seen
        seen.add(case.name)
        assert verdict(name, case.arguments, case.product) == case.status.code, case.name
        assert list(case.arguments) == [p.name for p in operator.signature.params]
    listed = product in ACCEPTED[name]
    assert bool(seen) == (listed or operator.generated)
    if listed:
        codes = {case.status.code for case in negatives(operator, product)}
        assert {0, NULLPTR, INVALID} <= codes
        base_case = ordinary_case(operator, product)
        assert predict(operator, base_case.arguments, product) is None


@pytest.mark.parametrize("name", FIVE)
def test_every_rule_says_itself_in_words(name):
    for rule in find(name).contract:
        text = rule.text()
        assert text
        assert "\n" not in text
