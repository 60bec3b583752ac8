"""The language of the facts of phase 1: every term and every condition at its border, and how a fact is broken."""

from __future__ import annotations

from typing import Any

import pytest
from operator_calls import tensor

from ascend_opcli.model import Argument, Attribute
from ascend_opcli.operators.contract.rules import can_cast
from ascend_opcli.operators.contract.terms import (
    CONDITIONS,
    UNDEFINED,
    Unknown,
    castable,
    evaluate,
    holds,
    indexed,
    names,
    promoted,
)
from ascend_opcli.operators.documents.facts import Fact
from ascend_opcli.tensors.dtypes import DTYPES

X, Y = tensor("float16", None, (2, 3)), tensor("float32", None, (3,), format="NHWC")
CALL: dict[str, Argument] = {
    "x": X,
    "y": Y,
    "x2": tensor("float16", None, (2, 3), format="FRACTAL_NZ"),
    "flipped": tensor("float16", None, (3, 2)),
    "empty": tensor("int8", None, (0, 3)),
    "single": tensor("int8", None, (1,)),
    "point": tensor("bool", None, ()),
    "list": (X, Y),
    "nil": None,
    "nil2": None,
    "n": Attribute(3),
    "zero": Attribute(0),
    "flag": Attribute(True),
    "real": Attribute(1.5),
    "typed": Attribute(1.5, "float16"),
    "word": Attribute("int8"),
    "seq": Attribute((4, 5)),
}
UNKNOWN = "unknown"


def told(ask: Any, what: Any, arguments: Any = CALL) -> Any:
    try:
        return ask(what, arguments)
    except Unknown:
        return UNKNOWN


def enum(code: Any) -> Any:
    return told(evaluate, ["dtype_value", "a"], {"a": Attribute(code)})


@pytest.mark.parametrize(
    ("term", "value"),
    [
        (7, 7),
        ("text", "text"),
        (["dtype", "x"], "float16"),
        (["dtype", "n"], "int64"),
        (["dtype", "flag"], "bool"),
        (["dtype", "real"], "float64"),
        (["dtype", "typed"], "float16"),
        (["dtype", "word"], UNKNOWN),
        (["dtype", "seq"], UNKNOWN),
        (["dtype", "nil"], UNKNOWN),
        (["dtype", "absent"], UNKNOWN),
        (["rank", "x"], 2),
        (["rank", "point"], 0),
        (["rank", "n"], UNKNOWN),
        (["rank", "list"], UNKNOWN),
        (["shape", "x"], (2, 3)),
        (["numel", "x"], 6),
        (["numel", "empty"], 0),
        (["numel", "point"], 1),
        (["size", "list"], 2),
        (["size", "seq"], 2),
        (["size", "n"], UNKNOWN),
        (["size", "x"], UNKNOWN),
        (["dim", "x", -3], UNKNOWN),
        (["dim", "x", -2], 2),
        (["dim", "x", -1], 3),
        (["dim", "x", 0], 2),
        (["dim", "x", 1], 3),
        (["dim", "x", 2], UNKNOWN),
        (["dim", "point", 0], UNKNOWN),
        (["dim", "x", ["-", ["value", "n"], 2]], 3),
        (["value", "n"], 3),
        (["value", "seq"], (4, 5)),
        (["value", "x"], UNKNOWN),
        (["value", "list"], UNKNOWN),
        (["values", "n"], (3,)),
        (["values", "seq"], (4, 5)),
        (["head", "x", -1], UNKNOWN),
        (["head", "x", 0], ()),
        (["head", "x", 1], (2,)),
        (["head", "x", 2], (2, 3)),
        (["head", "x", 3], UNKNOWN),
        (["tail", "x", -1], UNKNOWN),
        (["tail", "x", 0], ()),
        (["tail", "x", 1], (3,)),
        (["tail", "x", 2], (2, 3)),
        (["tail", "x", 3], UNKNOWN),
        (["dtype_value", "word"], "int8"),
        (["dtype_value", "flag"], UNKNOWN),
        (["dtype_value", "real"], UNKNOWN),
        (["dtype_value", "seq"], UNKNOWN),
        (["view_format", "y"], "NHWC"),
        (["storage_format", "y"], "NHWC"),
        (["original_format", "y"], "NHWC"),
        (["dtype", "list[0]"], "float16"),
        (["dtype", "list[1]"], "float32"),
        (["dtype", "list[2]"], UNKNOWN),
        (["dtype", "x[0]"], UNKNOWN),
        (["dtype", "nil[0]"], UNKNOWN),
        (["value", "seq[0]"], 4),
        (["value", "seq[1]"], 5),
        (["value", "seq[2]"], UNKNOWN),
        (["+", 1, 2, ["value", "n"]], 6),
        (["-", ["value", "n"], 5], -2),
        (["*", 2, 5, ["value", "n"]], 30),
        (["%", 7, 3], 1),
        (["%", 7, 1], 0),
        (["%", 7, -1], 0),
        (["%", 7, ["value", "zero"]], UNKNOWN),
        (["min", 4, ["value", "n"]], 3),
        (["max", 4, ["value", "n"]], 4),
        (["join", ["head", "x", 1], ["shape", "y"], ["tail", "x", 0]], (2, 3)),
        (["shape_list", 5, ["rank", "x"]], (5, 2)),
        (["broadcast", ["shape", "x"], ["shape", "y"]], (2, 3)),
        (["broadcast", ["shape", "x"], ["shape", "flipped"]], None),
        (["broadcast", ["broadcast", ["shape", "x"], ["shape", "flipped"]], ["shape", "y"]], None),
        (["promote", ["dtype", "x"], ["dtype", "y"]], "float32"),
    ],
)
def test_a_term_tells_what_it_says_or_that_the_call_does_not(term: Any, value: Any) -> None:
    assert told(evaluate, term) == value


def test_a_dtype_may_be_given_by_its_number_of_acl() -> None:
    """acl_base_rt.h of the CANN runtime."""
    given = {29: "int4", 30: "uint1", 33: "complex32", 34: "hifloat8", 35: "float8_e5m2", 36: "float8_e4m3fn"}
    given |= {37: "float8_e8m0", 38: "float6_e3m2", 39: "float6_e2m3", 40: "float4_e2m1", 41: "float4_e1m2"}
    given |= {0: "float32", 1: "float16", 3: "int32", 12: "bool", 27: "bfloat16"}
    assert {code: enum(code) for code in given} == given
    assert [enum(code) for code in (-1, 42, False, True)] == [UNKNOWN] * 4


MATCHES: list[tuple[list[Any], Any]] = [
    (["==", ["rank", "x"], 2], True),
    (["==", ["rank", "x"], 3], False),
    (["!=", ["rank", "x"], 2], False),
    (["!=", ["rank", "x"], 1], True),
    *(([word, ["value", "n"], 2], word in (">", ">=")) for word in ("<", "<=", ">", ">=")),
    *(([word, ["value", "n"], 3], word in ("<=", ">=")) for word in ("<", "<=", ">", ">=")),
    *(([word, ["value", "n"], 4], word in ("<", "<=")) for word in ("<", "<=", ">", ">=")),
    (["<", ["value", "word"], 2], UNKNOWN),
    (["==", ["broadcast", ["shape", "x"], ["shape", "flipped"]], ["shape", "x"]], UNKNOWN),
    (["==", ["shape", "x"], ["broadcast", ["shape", "x"], ["shape", "flipped"]]], UNKNOWN),
    (["null", "nil"], True),
    (["null", "x"], False),
    (["null", "absent"], UNKNOWN),
    (["null", "list[1]"], False),
    (["null", "list[2]"], UNKNOWN),
    (["notnull", "nil"], False),
    (["notnull", "x"], True),
    (["notnull", "absent"], UNKNOWN),
    (["not_all_null", "nil", "nil2"], False),
    (["not_all_null", "nil", "x"], True),
    (["not_all_null", "x", "nil"], True),
    (["not_all_null", "nil", "absent"], True),
    (["never"], False),
    (["empty", "empty"], True),
    (["empty", "single"], False),
    (["empty", "point"], False),
    (["not_empty", "empty"], False),
    (["not_empty", "single"], True),
    (["in_terms", ["rank", "x"], [1, ["rank", "x2"]]], True),
    (["in_terms", ["rank", "x"], [1, ["rank", "y"]]], False),
    (["true", ["value", "flag"]], True),
    (["true", ["value", "zero"]], False),
    (["false", ["value", "flag"]], False),
    (["false", ["value", "zero"]], True),
    (["in", ["dtype", "x"], ["float32", "float16"]], True),
    (["in", ["dtype", "x"], ["float32"]], False),
    (["notin", ["dtype", "x"], ["float32", "float16"]], False),
    (["notin", ["dtype", "x"], ["float32"]], True),
    (["private", ["storage_format", "x2"]], True),
    (["private", ["storage_format", "y"]], False),
    (["not_private", ["storage_format", "x2"]], False),
    (["not_private", ["storage_format", "y"]], True),
    (["castable", ["dtype", "y"], ["dtype", "x"]], True),
    (["castable", ["dtype", "y"], "int8"], False),
    (["not_castable", ["dtype", "y"], ["dtype", "x"]], False),
    (["not_castable", ["dtype", "y"], "int8"], True),
    (["broadcastable", ["shape", "x"], ["shape", "y"]], True),
    (["broadcastable", ["shape", "x"], ["shape", "flipped"]], False),
    (["not_broadcastable", ["shape", "x"], ["shape", "y"]], False),
    (["not_broadcastable", ["shape", "x"], ["shape", "flipped"]], True),
    (["promotable", ["dtype", "x"], ["dtype", "y"]], True),
    (["promotable", ["dtype", "x"], "uint32"], False),
    (["shape_of", "x", ["shape_list", 2, 3]], True),
    (["shape_of", "x", ["shape_list", 3, 2]], False),
    (["shape_of", "x", ["broadcast", ["shape", "x"], ["shape", "flipped"]]], UNKNOWN),
    (["same_dtype", "x", "flipped"], True),
    (["same_dtype", "x", "y"], False),
    (["same_dtype", "x", "nil"], UNKNOWN),
    (["same_shape", "x", "x2"], True),
    (["same_shape", "x", "flipped"], False),
    (["same_rank", "x", "flipped"], True),
    (["same_rank", "x", "y"], False),
    (["same_size", "list", "seq"], True),
    (["same_size", "list", "x"], UNKNOWN),
    (["same_format", "x", "flipped"], True),
    (["same_format", "x", "y"], False),
    (["same_storage_format", "x", "flipped"], True),
    (["same_storage_format", "x", "x2"], False),
]


@pytest.mark.parametrize(("condition", "held"), MATCHES)
def test_a_condition_holds_does_not_or_cannot_be_told(condition: list[Any], held: Any) -> None:
    assert told(holds, condition) is held


def test_every_condition_was_asked() -> None:
    assert {c[0] for c, _ in MATCHES} >= set(CONDITIONS)


@pytest.mark.parametrize(
    ("other", "made"),
    [
        *((w, "complex32") for w in ("bool", "int8", "uint8", "int64", "float16", "complex32")),
        *((w, "complex64") for w in ("bfloat16", "float32", "complex64")),
        *((w, "complex128") for w in ("float64", "complex128")),
        *((w, UNDEFINED) for w in ("uint32", "hifloat8")),
    ],
)
def test_complex32_promotes_from_either_side(other: str, made: str) -> None:
    assert promoted("complex32", other) == promoted(other, "complex32") == made


@pytest.mark.parametrize(
    "word", ["uint16", "uint32", "uint64", "float8_e5m2", "float8_e4m3fn", "int4", "hifloat8"]
)
def test_dtypes_without_a_row_promote_with_themselves_alone(word: str) -> None:
    assert promoted(word, word) == word
    assert promoted(word, "float32") == promoted("float32", word) == UNDEFINED


HELD_BY_NONE = (
    "complex32",
    "hifloat8",
    "float8_e8m0",
    "float6_e3m2",
    "float6_e2m3",
    "float4_e2m1",
    "float4_e1m2",
)


@pytest.mark.parametrize("word", HELD_BY_NONE)
def test_dtypes_that_no_array_holds_cast_as_those_of_their_kind(word: str) -> None:
    like = "complex64" if word == "complex32" else "float32"
    for other in DTYPES:
        assert castable(word, other) == can_cast(like, other), other
        assert castable(other, word) == can_cast(other, like), other
    assert castable(word, word)


def test_only_bool_casts_to_bool() -> None:
    assert castable("bool", "bool")
    assert castable("bool", "int4")
    assert castable("int4", "int8")
    assert not castable("int4", "bool")


@pytest.mark.parametrize(
    ("condition", "read"),
    [
        (["==", ["dim", "x", ["value", "n"]], ["rank", "x"]], ("x", "n")),
        (["in", ["dtype", "x"], ["y", "z"]], ("x",)),
        (["notin", ["value", "n"], ["y"]], ("n",)),
        (["in_terms", ["rank", "x"], [1, ["rank", "y"], ["value", "n"]]], ("x", "y", "n")),
        (["same_dtype", "x", "y"], ("x", "y")),
        (["not_all_null", "x", "y", "z"], ("x", "y", "z")),
        (["shape_of", "x", ["join", ["head", "y", 1], ["tail", "z", 1]]], ("x", "y", "z")),
        (["null", "x"], ("x",)),
        (["empty", "x[]"], ("x[]",)),
        (["castable", ["promote", ["dtype", "x"], ["dtype", "y"]], "float32"], ("x", "y")),
        (["shape_of", "x", ["shape_list", 2, ["value", "n"]]], ("x", "n")),
        (["never"], ()),
    ],
)
def test_the_names_of_a_condition_are_the_parameters_that_it_reads(
    condition: list[Any], read: tuple[str, ...]
) -> None:
    assert names(condition) == read


def test_a_condition_of_every_member_is_one_of_each() -> None:
    assert indexed(["==", ["dim", "x[]", 0], ["rank", "y"]], 2) == ["==", ["dim", "x[2]", 0], ["rank", "y"]]


# --- facts --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [1, 2, 3])
@pytest.mark.parametrize("bad", [0, 1, 2, None])
def test_a_fact_of_members_is_broken_by_any_of_them(size: int, bad: int | None) -> None:
    one, other = tensor("float32", None, (2,)), tensor("float32", None, (2, 2))
    members = tuple(other if at == bad else one for at in range(size))
    fact = Fact(["==", ["rank", "x[]"], 1])
    assert (fact.broken({"x": members}, "atlas_a2") is not None) == (bad is not None and bad < size)


def test_members_are_compared_as_far_as_both_lists_go() -> None:
    one, other = tensor("float32", None, (2,)), tensor("float16", None, (2,))
    fact = Fact(["same_dtype", "x[]", "y[]"])
    assert fact.broken({"x": (one, one), "y": (one,)}, "atlas_a2") is None
    assert fact.broken({"x": (one,), "y": (one, one)}, "atlas_a2") is None
    assert fact.broken({"x": (one, one), "y": (one, other)}, "atlas_a2") is not None


def test_a_fact_counts_where_all_its_premises_hold_on_its_products() -> None:
    fact = Fact(["==", ["rank", "x"], 1], (["notnull", "y"], ["true", ["value", "flag"]]), ("atlas_a2",))
    broken = {"x": X, "y": Y, "flag": Attribute(True)}
    assert fact.broken(broken, "atlas_a2") is not None
    assert fact.broken(broken, "atlas_a3") is None
    for innocent in ({"x": Y}, {"y": None}, {"flag": Attribute(False)}, {"flag": None}, {"x": None}):
        assert fact.broken({**broken, **innocent}, "atlas_a2") is None, innocent


@pytest.mark.parametrize(
    ("condition", "labels"),
    [
        (["notnull", "x"], ["x=null"]),
        (["null", "nil"], ["nil=given"]),
        (["not_all_null", "x", "y"], ["x+y=null"]),
        (["in", ["dtype", "x"], ["float32", "float16"]], ["x=bfloat16"]),
        (["same_dtype", "x", "flipped"], ["x=float32", "flipped=float32"]),
        (["<=", ["rank", "x"], 2], ["x=1x2x3"]),
        (["<=", ["rank", "x"], 8], ["x=rank9"]),
        ([">=", ["rank", "x"], 2], ["x=3"]),
        (["==", ["dim", "x", -1], 3], ["x=2x4"]),
        (["==", ["dim", "x", 0], 2], ["x=3x3"]),
        (["not_empty", "x"], ["x=0x3"]),
        (["empty", "empty"], ["empty=1x3"]),
        (["same_shape", "x", "x2"], ["x=2x4", "x2=2x4"]),
        (["same_rank", "x", "flipped"], ["x=1x2x3", "flipped=1x3x2"]),
        (["shape_of", "point", ["shape_list"]], ["point=1"]),
        (["not_private", ["storage_format", "y"]], ["y=FRACTAL_NZ"]),
        (["==", ["view_format", "y"], "NHWC"], ["y=FRACTAL_NZ"]),
        (["==", ["size", "list"], 2], ["list=3members"]),
        (["==", ["size", "seq"], 2], ["seq=3values"]),
        ([">=", ["size", "seq"], 2], ["seq=1values"]),
        ([">", ["value", "seq[1]"], 0], ["seq=-1"]),
        ([">=", ["value", "n"], 0], ["n=-1"]),
        ([">", ["value", "n"], 0], ["n=-1"]),
        (["!=", ["value", "n"], 0], ["n=0"]),
        (["<", ["value", "n"], 9], ["n=9"]),
        ([">=", ["value", "n"], -50], ["n=-100"]),
        (["true", ["value", "flag"]], ["flag=false"]),
        (["!=", ["value", "real"], 0.0], ["real=0.0"]),
        (["<", ["value", "real"], 2.0], ["real=2.0"]),
        (["in", ["dtype", "typed"], ["float16"]], ["typed=float32"]),
        (["in", ["dtype_value", "word"], ["int8", "float32"]], ["word=float16"]),
        (["==", ["dtype", "list[1]"], "float32"], ["list=float16"]),
    ],
)
def test_a_fact_is_broken_by_the_least_change_of_each_parameter_that_it_reads(
    condition: list[Any], labels: list[str]
) -> None:
    fact = Fact(condition)
    assert fact.broken(CALL, "atlas_a2") is None
    made = list(fact.breaks(CALL, "atlas_a2"))
    assert [v.label for v in made] == labels
    for variation in made:
        assert set(variation.changes) <= {n.partition("[")[0] for n in fact.names}
        assert fact.broken({**CALL, **variation.changes}, "atlas_a2") is not None
