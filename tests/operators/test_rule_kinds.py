"""Every kind of rule of phase 1, one by one: what breaks it, the refusals that follow from it, and its words."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from operator_calls import tensor

from ascend_opcli.model import Argument, Attribute, TensorSpec
from ascend_opcli.operators.contract.rules import (
    ALL_DTYPES,
    Columns,
    DtypeIn,
    NotNull,
    OnProduct,
    Rank,
    Rule,
    SameDtype,
    SameShape,
    broadcastable,
    can_cast,
    castable,
    no_private_format,
    scalar_castable,
)
from ascend_opcli.operators.documents.generic import Elementwise, KernelColumns

A2, A3 = "atlas_a2", "atlas_a3"
FEW = ("float32", "float16")
CALL: dict[str, Argument] = {
    "x": tensor("float32", None, (2, 3)),
    "y": tensor("float32", None, (2, 3)),
    "row": tensor("float16", None, (3,)),
    "one": tensor("float32", None, (2, 1)),
    "point": tensor("float32", None, ()),
    "list": (tensor("float32", None, (3,)), tensor("float16", None, (3,))),
    "nil": None,
    "s": Attribute(1.5),
    "t": Attribute(1, "float16"),
}
OTHERS = tuple(d for d in ALL_DTYPES if d not in FEW)


def like(name: str, **changes: Any) -> dict[str, Argument]:
    spec = CALL[name]
    assert isinstance(spec, TensorSpec)
    return {name: dataclasses.replace(spec, **changes)}


def other_shape(name: str, *shape: int) -> dict[str, Argument]:
    spec = CALL[name]
    assert isinstance(spec, TensorSpec)
    return {name: tensor(spec.dtype, None, shape)}


TWO = DtypeIn(("x", "list"), {A2: FEW, A3: (*FEW, "bool")})
TABLE = Columns(("x", "row"), (("float32", "float16"), ("bool", "bool")))
KERNEL = KernelColumns(("x", "row", "nil"), {A2: (("float32", "float16", "int8"), ("bool", "bool", "bool"))})

# A rule that the call keeps, changes that break it, and changes that do not.
RULES: list[tuple[Rule, list[dict[str, Argument]], list[dict[str, Argument]]]] = [
    (NotNull(("x", "y")), [{"x": None}, {"y": None}], [{"row": None}]),
    (
        TWO,
        [like("x", dtype="bool"), {"list": (CALL["x"], tensor("int8", None, (1,)))}],  # type: ignore[dict-item]
        [like("x", dtype="float16"), {"x": None}, {"list": ()}, like("row", dtype="bool")],
    ),
    (DtypeIn(("t", "s"), {A2: FEW}), [{"t": Attribute(1, "int8")}], [{"t": Attribute(True)}, {"s": None}]),
    (
        SameDtype("x", "y", FEW),
        [like("x", dtype="bool"), like("y", dtype="float16")],
        [{"x": None}, {"y": None}],
    ),
    (
        TABLE,
        [
            like("x", dtype="bool"),
            like("row", dtype="float32"),
            {"x": None},
            like("row", format="FRACTAL_NZ"),
        ],
        [{**like("x", dtype="bool"), **like("row", dtype="bool")}, like("x", format="NCHW")],
    ),
    (
        KERNEL,
        [like("x", dtype="bool"), {"nil": tensor("bool", None, (1,))}],
        [
            {**like("x", dtype="bool"), **like("row", dtype="bool")},
            {"nil": tensor("int8", None, (1,))},
            {"x": None},
        ],
    ),
    (SameShape("x", "y"), [other_shape("x", 3, 2), other_shape("y", 2, 3, 1)], [{"x": None}, {"y": None}]),
    (
        Rank(("x", "y"), 1, 3),
        [other_shape("x"), other_shape("y", 1, 1, 1, 1)],
        [other_shape("x", 1), other_shape("y", 1, 1, 1), {"x": None}],
    ),
    (Rank(("x",), 0, 2), [other_shape("x", 1, 1, 1)], [other_shape("x"), {"x": None}]),
    (
        no_private_format("x", "y"),
        [like("x", format="FRACTAL_NZ"), like("y", format="NC1HWC0")],
        [like("x", format="NCHW")],
    ),
    (
        castable("x", "y"),
        [like("y", dtype="int8"), like("x", dtype="complex64")],
        [like("x", dtype="bool"), {"y": None}],
    ),
    (
        scalar_castable(("s", "t"), "float32"),
        [{"s": Attribute(1j)}, {"t": Attribute(1.0, "complex64")}],
        [{"s": None}],
    ),
    (
        broadcastable("x", "row"),
        [other_shape("row", 2), other_shape("x", 2, 2)],
        [other_shape("row", 1), {"row": None}],
    ),
    (
        Elementwise(("x", "row"), ("y",)),
        [other_shape("row", 2), other_shape("y", 1, 3), other_shape("y", 3), other_shape("x", 1, 3)],
        [other_shape("row", 1), {"y": None}, {"row": None}],
    ),
]


@pytest.mark.parametrize(("rule", "breaking", "keeping"), RULES)
def test_what_breaks_a_rule_and_what_does_not(
    rule: Rule, breaking: list[dict[str, Argument]], keeping: list[dict[str, Argument]]
) -> None:
    assert rule.broken(CALL, A2) is None
    for changes in breaking:
        assert rule.broken({**CALL, **changes}, A2), changes
    for changes in keeping:
        assert rule.broken({**CALL, **changes}, A2) is None, changes


@pytest.mark.parametrize(("rule", "breaking", "keeping"), RULES)
def test_every_refusal_that_a_rule_offers_breaks_it(rule: Rule, breaking: object, keeping: object) -> None:
    offered = list(rule.breaks(CALL, A2))
    assert offered or rule == DtypeIn(("t", "s"), {A2: FEW})  # a scalar's dtype is not changed
    for variation in offered:
        # A list is changed as its first member is; the operator itself decides whether that is a call.
        assert rule.broken({**CALL, **variation.changes}, A2), variation.label
    assert len({v.label for v in offered}) == len(offered)


@pytest.mark.parametrize(
    ("rule", "labels"),
    [
        (NotNull(("x", "y")), ["x=null", "y=null"]),
        (DtypeIn(("x", "y"), {A2: FEW}), [f"{n}={d}" for n in ("x", "y") for d in OTHERS]),
        (DtypeIn(("x",), {A2: FEW}, together=("y",)), [f"x={d}" for d in OTHERS]),
        (DtypeIn(("x",), {A3: FEW}), []),
        (DtypeIn(("nil",), {A2: FEW}), []),
        (SameDtype("x", "y", ("float32", "float16", "bool")), ["y=float16", "y=bool"]),
        (SameShape("x", "y"), ["y=2x4"]),
        (SameShape("x", "point"), []),
        (Rank(("x",), 0, 8), ["x=rank9"]),
        (Rank(("x",), 1, 8), ["x=rank9", "x=rank0"]),
        (Rank(("x", "y"), 2, 2), ["x=rank3", "x=rank1", "y=rank3", "y=rank1"]),
        (OnProduct((A2,), (A3, "ascend950")), [f"product={A3}", "product=ascend950"]),
        (
            castable("x", "y"),
            [
                f"y={d}"
                for d in ALL_DTYPES
                if d not in (*FEW, "bfloat16", "float64", "complex64", "complex128")
            ],
        ),
        (castable("nil", "y"), []),
        (scalar_castable(("s", "t"), "float32"), ["s=complex64", "t=complex64"]),
        (broadcastable("x", "y"), ["y=2x4"]),
        (broadcastable("x", "row"), ["row=4"]),
        (broadcastable("x", "one"), []),  # a longer axis of 1 may broadcast
        (broadcastable("x", "point"), []),
        (broadcastable("x", "nil"), []),
        (no_private_format("x", "y"), ["x=FRACTAL_NZ", "y=FRACTAL_NZ"]),
        (Elementwise(("x", "row"), ("y",)), ["y=2x4"]),
        (Elementwise(("x",), ("x",)), []),
        (Elementwise(("point",), ("point",)), []),
    ],
)
def test_the_refusals_that_a_rule_offers(rule: Rule, labels: list[str]) -> None:
    assert [v.label for v in rule.breaks(CALL, A2)] == labels


def test_tensors_that_are_tied_change_together() -> None:
    for rule in (DtypeIn(("x",), {A2: FEW}, together=("y",)), Rank(("x",), 1, 3, together=("y",))):
        for variation in rule.breaks(CALL, A2):
            assert list(variation.changes) == ["x", "y"]
    (wrong,) = (v for v in Rank(("x",), 0, 3, together=("y",)).breaks(CALL, A2))
    assert [spec.shape for spec in wrong.changes.values() if isinstance(spec, TensorSpec)] == [(1,) * 4] * 2


@pytest.mark.parametrize("rule", [TABLE, KERNEL])
def test_a_table_of_columns_offers_every_dtype_that_fits_no_column(rule: Rule) -> None:
    labels = [v.label for v in rule.breaks(CALL, A2)]
    expected = [f"x={d}" for d in ALL_DTYPES if d != "float32"] + [
        f"row={d}" for d in ALL_DTYPES if d != "float16"
    ]
    if rule is TABLE:
        expected += [f"all={d}" for d in ALL_DTYPES if d != "bool"] + ["x=FRACTAL_NZ", "row=FRACTAL_NZ"]
    assert labels == expected
    same: dict[str, Argument] = {**CALL, **like("x", dtype="bool"), **like("row", dtype="bool")}
    assert "x=float32" in [v.label for v in rule.breaks(same, A2)]
    both = Columns(("x", "row"), (("float32", "float16"), ("int8", "float16"), ("float32", "int8")))
    labels = [v.label for v in both.breaks(CALL, A2)]
    assert not {"x=int8", "row=int8"} & set(labels)
    assert "x=bool" in labels


def test_a_product_without_a_list_is_not_judged() -> None:
    wrong = {**CALL, **like("x", dtype="complex64")}
    assert TWO.broken(wrong, "ascend950") is None
    assert TWO.broken(wrong, A3)
    assert KERNEL.broken(wrong, A3) is None
    assert list(KERNEL.breaks(CALL, A3)) == []
    assert OnProduct((A2,), (A3,)).broken(CALL, A2) is None
    assert OnProduct((A2,), (A3,)).broken(CALL, A3)


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        (NotNull(("x", "y", "z")), "x, y and z must not be null"),
        (DtypeIn(("x",), {A2: FEW, A3: FEW}), "dtype of x: float32 and float16"),
        (
            DtypeIn(("x",), {A2: FEW, A3: FEW, "ascend950": ("bool",)}),
            f"dtype of x: float32 and float16 on {A2} and {A3}; bool on ascend950",
        ),
        (Rank(("x",), 0, 8), "rank of x is at most 8"),
        (Rank(("x",), 1, 8), "rank of x is 1 to 8"),
        (Rank(("x",), 2, 2), "rank of x is 2"),
        (
            KERNEL,
            "dtypes of (x, row, nil) are one column of the kernel table: "
            "(float32, float16, int8); (bool, bool, bool)",
        ),
        (Elementwise(("x",), ("y",)), "y has the shape of x"),
        (Elementwise(("x", "y"), ("z", "w")), "x and y broadcast, and z and w have the shape that they give"),
    ],
)
def test_a_rule_in_words(rule: Rule, words: str) -> None:
    assert rule.text() == words


def test_what_casts_is_in_the_order_of_the_kinds() -> None:
    """CANN's CanCast: complex to real, float to integer and anything but bool to bool do not cast."""
    for source in ALL_DTYPES:
        for target in ALL_DTYPES:
            lost = (
                (source.startswith("complex") and not target.startswith("complex"))
                or ("float" in source and "int" in target)
                or (target == "bool" and source != "bool")
            )
            assert can_cast(source, target) is not lost, (source, target)
