"""ATK's JSON is read as what it means: every form of dtype, type, shape, range and standard."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from foreign_files import add_case, atk_case, atk_input, atk_text, loaded

from ascend_opcli.errors import CaseFileError
from ascend_opcli.model import Attribute, Case, Fill, Generator, TensorSpec
from ascend_opcli.operators.catalog import find
from ascend_opcli.reference.call import make_call
from ascend_opcli.tensors.dtypes import DTYPES, widen
from ascend_opcli.tensors.layout import view

INF, NAN = math.inf, math.nan


@pytest.fixture
def one(tmp_path: Path) -> Any:
    """The only case of an ATK file that holds this one."""

    def load(case: dict[str, Any]) -> Case:
        path = tmp_path / "atk.json"
        path.write_text(atk_text(case), "utf-8")
        (made,) = loaded(path)
        return made

    return load


def relu(dtype: str | int, values: Any, shape: Any = (4, 5), **more: Any) -> dict[str, Any]:
    shape = list(shape) if isinstance(shape, tuple) else shape
    return atk_case(0, "Relu", [atk_input("tensor", dtype, values, shape, **more)])


def spec(case: Case, name: str = "self") -> TensorSpec:
    found = case.arguments[name]
    assert isinstance(found, TensorSpec)
    return found


def data_of(case: Case, name: str = "self") -> np.ndarray:
    call = make_call(case, find(case.operator).signature, "atlas_a2")
    bound = call.arguments[name]
    array = view(bound)  # type: ignore[arg-type]
    return array if array.dtype.kind in "biu" else widen(array, np.float64)


def test_inputs_stand_in_the_order_of_the_prototype(one: Any) -> None:
    case = one(add_case(7))
    assert case.skip == ""
    assert case.operator == "aclnnAdd"
    assert list(case.arguments) == ["self", "other", "alpha", "out"]
    assert spec(case).dtype == "float32"
    assert spec(case).shape == (2, 3)
    assert case.arguments["alpha"] == Attribute(2.0, "float32")
    assert spec(case, "out").shape == (2, 3)
    assert case.name == "7"
    assert case.seed == 7  # ATK seeds its data with the id


@pytest.mark.parametrize("spelling", ["Add", "aclnnAdd"])
def test_the_operator_has_its_prefix_or_not(one: Any, spelling: str) -> None:
    assert one(add_case(aclnn_name=spelling)).operator == "aclnnAdd"


@pytest.mark.parametrize(
    ("word", "dtype"),
    [
        ("fp32", "float32"),
        ("float", "float32"),
        ("float32", "float32"),
        ("fp16", "float16"),
        ("bf16", "bfloat16"),
        ("double", "float64"),
        ("fp64", "float64"),
        ("int", "int32"),
        ("int32", "int32"),
        ("int64", "int64"),
        ("int64_t", "int64"),
        ("int8_t", "int8"),
        ("int16", "int16"),
        ("uint8", "uint8"),
        ("bool", "bool"),
        ("complex64", "complex64"),
        ("complex128", "complex128"),
    ],
)
def test_every_dtype_word_of_a_tensor(one: Any, word: str, dtype: str) -> None:
    assert spec(one(relu(word, [0, 1]))).dtype == dtype


@pytest.mark.parametrize("name", sorted(DTYPES))
@pytest.mark.parametrize("written", [int, str])
def test_a_dtype_may_be_the_number_that_it_has_in_acldatatype(one: Any, name: str, written: type) -> None:
    number: Any = written(DTYPES[name].acl)
    assert spec(one(relu(number, [0, 1]))).dtype == name
    scalar = one(
        atk_case(
            0,
            "Adds",
            [
                atk_input("tensor", "fp32", [0, 1], [2]),
                atk_input("scalar", number, 1),
                atk_input("scalar", "fp32", 1),
            ],
        )
    )
    assert scalar.arguments["other"].dtype == name
    # As what is passed for an aclDataType parameter, whatever the file calls the number itself.
    for dtype, value in (
        ("int", DTYPES[name].acl),
        ("torch_dtype", number),
        ("torch_dtype", [number]),
        (3, DTYPES[name].acl),
    ):
        inputs = [atk_input("tensor", "fp32", [0, 1], [2]), atk_input("attr", dtype, value)]
        assert one(atk_case(0, "Cast", inputs)).arguments["dtype"].value == name


def test_a_number_that_is_no_dtype_defines_no_call(one: Any) -> None:
    assert "99 is no value of aclDataType" in one(relu(99, [0, 1])).skip
    assert "CANN knows the dtype 'int4'" in one(relu(29, [0, 1])).skip


@pytest.mark.parametrize(
    ("values", "dtype", "data"),
    [
        (3, "fp32", Fill(3)),
        ([3], "fp32", Fill(3)),
        ([2, 2], "fp32", Fill(2)),
        ([-5, 5], "fp32", Generator("uniform", (-5, 5))),
        ([5, -5], "fp32", Generator("uniform", (-5, 5))),
        ([-5, 5], "int32", Generator("integers", (-5, 5))),
        ([-5, 5], "uint8", Generator("integers", (0, 5))),
        ([-100, 300], "int8", Generator("integers", (-100, 127))),
        ([0.5, 2.5], "int32", Generator("integers", (1, 2))),
        ([-1, 1], "bool", Generator("integers", (0, 1))),
        ([True, False], "bool", Generator("integers", (0, 1))),
        (True, "bool", Fill(True)),
        ("inf", "fp32", Fill(INF)),
        (["-inf"], "fp32", Fill(-INF)),
        (["inf"], "int8", Fill(127)),
        (["nan"], "int32", Fill(0)),
        ("( 0, 5 ]", "int32", Generator("integers", (1, 5))),
        ("[ -5, 0 )", "int32", Generator("integers", (-5, -1))),
        ("(0, 1)", "int32", Fill(0)),
        ([1, 2, 3], "int64", Generator("choice", (1, 2, 3))),
    ],
)
def test_every_range_of_a_tensor(one: Any, values: Any, dtype: str, data: Any) -> None:
    assert spec(one(relu(dtype, values))).data == data


def test_nan_fills_a_tensor(one: Any) -> None:
    assert np.isnan(data_of(one(relu("fp16", ["nan"])))).all()


def test_an_infinite_interval_is_the_range_of_the_dtype(one: Any) -> None:
    assert spec(one(relu("fp16", ["-inf", "inf"]))).data == Generator("uniform", (-65504.0, 65504.0))
    assert spec(one(relu("fp16", [0, "inf"]))).data == Generator("uniform", (0, 65504.0))
    assert spec(one(relu("int8", ["-inf", "inf"]))).data == Generator("integers", (-128, 127))


def test_an_open_end_is_never_reached(one: Any) -> None:
    drawn = data_of(one(relu("fp16", "(0, 1)", (100, 1000))))
    assert 0 < drawn.min() < drawn.max() < 1


def test_a_normal_range_draws_its_mean_and_deviation_once(one: Any) -> None:
    made = spec(one(relu("fp32", {"name": "nd", "mean": [-100, 100], "std": [1, 25]}))).data
    assert isinstance(made, Generator)
    assert made.kind == "normal"
    mean, deviation = made.args
    assert -100 <= mean <= 100  # type: ignore[operator]
    assert 1 <= deviation <= 25  # type: ignore[operator]
    again = spec(one(relu("fp32", {"name": "nd", "mean": [-100, 100], "std": [1, 25]}))).data
    assert again == made
    other = atk_case(1, "Relu", [atk_input("tensor", "fp32", {"name": "nd"}, [4])])
    assert spec(one(other)).data != made  # another id is another draw


@pytest.mark.parametrize("values", ["null", ["null"]])
def test_null_is_an_empty_tensor_of_that_rank(one: Any, values: Any) -> None:
    assert spec(one(relu("fp32", values, (4, 5)))).shape == (0, 5)
    assert spec(one(relu("fp32", values, ()))).shape == (0,)


def test_default_leaves_the_data_to_the_operator(one: Any) -> None:
    assert spec(one(relu("fp32", "default"))).data == find("relu").default_data("self", "float32")


def test_no_shape_is_one_element_and_an_empty_list_rank_0(one: Any) -> None:
    assert spec(one(relu("fp32", [0, 1], None))).shape == (1,)
    assert spec(one(relu("fp32", [0, 1], ()))).shape == ()


def test_the_format_goes_along_misspelt_keys_do_not(one: Any) -> None:
    assert spec(one(relu("fp32", 1, (1, 2, 3, 4), format=["NCHW"]))).format == "NCHW"
    assert spec(one(relu("fp32", 1, (1, 2, 3, 4), formate="NCHW"))).format == "ND"


# --- scalars, attributes, lists -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("dtype", "values", "attribute"),
    [
        ("fp32", 3, Attribute(3.0, "float32")),
        ("fp16", [-2], Attribute(-2.0, "float16")),
        ("int", 3, Attribute(3, "int64")),
        ("int8", 3, Attribute(3, "int8")),
        ("bool", 1, Attribute(True, "bool")),
        ("fp32", ["-inf"], Attribute(-INF, "float32")),
        ("fp32", "1e-6", Attribute(1e-6, "float32")),
    ],
)
def test_scalars(one: Any, dtype: str, values: Any, attribute: Attribute) -> None:
    tensor = atk_input("tensor", "fp32", 1, [2])
    # A shape beside a scalar says nothing.
    case = one(atk_case(0, "Add", [tensor, tensor, atk_input("scalar", dtype, values, [1])]))
    assert case.arguments["alpha"] == attribute


def test_a_range_of_an_attribute_is_one_number_of_it(one: Any) -> None:
    def epsilon(number: int) -> float:
        tensors = [atk_input("tensor", "fp32", "(0, 1)", [4]), atk_input("tensor", "fp32", 1, [4])]
        attribute = atk_input("attr", "double", [0.0, 0.5], name="eps")
        found = one(atk_case(number, "LogitGrad", [*tensors, attribute])).arguments["eps"]
        return float(found.value)

    drawn = [epsilon(i) for i in range(20)]
    assert all(0 <= value <= 0.5 for value in drawn)
    assert len(set(drawn)) > 15
    assert drawn == [epsilon(i) for i in range(20)]


def test_arrays_lists_and_words(one: Any) -> None:
    permute = one(
        atk_case(
            0,
            "Permute",
            [
                atk_input("tensor", "fp32", 1, [2, 3]),
                [atk_input("attrs", "int", 1), atk_input("attrs", "int", 0)],
            ],
        )
    )
    assert permute.arguments["dims"] == Attribute((1, 0))
    as_text = one(
        atk_case(0, "Permute", [atk_input("tensor", "fp32", 1, [2, 3]), atk_input("attr", "int", "[1, 0]")])
    )
    assert as_text.arguments["dims"] == Attribute((1, 0))
    member = atk_input("tensors", "fp16", [-5, 5], [2, 2])
    listed = one(
        atk_case(
            0,
            "ForeachMulScalarList",
            [[member, member], [atk_input("scalars", "fp32", -4), atk_input("scalars", "fp32", 3)]],
        )
    )
    assert isinstance(listed.arguments["x"], tuple)
    assert len(listed.arguments["x"]) == 2
    assert listed.arguments["scalars"] == Attribute((-4.0, 3.0), "float32")
    cast = one(
        atk_case(0, "Cast", [atk_input("tensor", "fp32", 1, [2]), atk_input("attr", "torch_dtype", ["int8"])])
    )
    assert cast.arguments["dtype"] == Attribute("int8")
    assert spec(cast, "out").dtype == "int8"


def test_what_only_the_cpu_side_takes_is_left_out(one: Any) -> None:
    case = add_case()
    case["inputs"].append(atk_input("attr", "non_param", "NCL", name="format"))
    assert one(case).skip == ""


def test_the_matmul_family_lists_its_output_too(one: Any) -> None:
    inputs = [
        atk_input("tensor", "fp32", [0, 1], [2, 3], "self"),
        atk_input("tensor", "fp32", [0, 1], [3], "vec"),
        atk_input("tensor", "fp32", [0, 1], [2], "out"),
        atk_input("attr", "int", 1, name="cubeMathType"),
    ]
    case = one(atk_case(0, "Mv", inputs))
    assert spec(case, "out").shape == (2,)
    assert spec(case, "out").data is None
    assert case.arguments["cubeMathType"] == Attribute(1)


# --- what the JSON does not define ----------------------------------------------------------------------------


def test_another_count_or_kind_is_what_an_executor_rewrites(one: Any) -> None:
    case = add_case()
    del case["inputs"][2]
    short = one(case)
    assert not short.arguments
    assert short.skip == (
        "the JSON does not define the call, its executor rewrites it: 2 arguments for the 3 that aclnnAdd takes"
    )
    case = add_case()
    case["inputs"][2] = atk_input("attr", "double", 1.0, name="alpha")
    assert "the value alpha for alpha, which is an aclScalar" in one(case).skip


def test_names_in_another_order_are_not_mapped_by_position(one: Any) -> None:
    tensors = [atk_input("tensor", "fp32", 1, [4], name) for name in ("dy", "x")]
    case = one(atk_case(0, "LogitGrad", [*tensors, atk_input("attr", "double", 0.1)]))
    assert "the name dy stands where x is passed" in case.skip


@pytest.mark.parametrize(
    ("case", "said"),
    [
        (add_case(aclnn_name="Addd"), "unknown operator 'aclnnAddd'; did you mean"),
        (relu("fp61", 1), "unknown dtype 'fp61'; did you mean 'fp64'"),
        (relu("complex32", 1), "opcli cannot make data for it"),
        (relu("fp32", "so and so"), "the range so and so of input 0 is not known"),
        (relu("fp32", 1, [-1]), "the shape [-1] of input 0 is none"),
        (atk_case(0, "Relu", [atk_input("thing", "fp32", 1, [1])]), "unknown type 'thing'"),
        (atk_case(0, "Relu", None), "its inputs are not a list"),  # type: ignore[arg-type]
        (add_case(aclnn_name=None), "names no aclnn operator"),
    ],
)
def test_a_case_that_cannot_be_a_call_says_why(one: Any, case: Any, said: str) -> None:
    made = one(case)
    assert said in made.skip
    assert not made.arguments


# --- standards ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("acc", "name", "numbers", "origin"),
    [
        ("default", "ecosystem", {}, "ATK standard default"),
        ("single_bm", "single", {}, "ATK standard single_bm"),
        ("md5", "md5", {}, "ATK standard md5"),
        ("equal", "exact", {}, "ATK standard equal"),
        ("double_benchmark", "dual", {}, "ATK standard double_benchmark"),
        ("random_bm", "random", {}, "ATK standard random_bm"),
        (
            "stand_quantize",
            "quant",
            {},
            "ATK standard stand_quantize, which executors register as |got - golden| <= 1 in int64",
        ),
        (
            {"single_bm": {"type": "vector_fused"}},
            "single",
            {"type": "vector_fused"},
            "ATK standard single_bm",
        ),
        ({"single_bm": {"mare_ratio": "2**3"}}, "single", {"mare_ratio": 8.0}, "ATK standard single_bm"),
        (
            {"single_bm": {"type": "high_precision", "fp32_error": 0.1}},
            "single",
            {"type": "high_precision"},
            "ATK standard single_bm without fp32_error, as newer ATK judges",
        ),
        (
            {"cv_fused_double_benchmark": {"max_re_ration": 10, "avg_re_ratio": 2}},
            "dual",
            {"level": "L0"},
            "ATK standard cv_fused_double_benchmark",
        ),
    ],
)
def test_standards_by_our_names(one: Any, acc: Any, name: str, numbers: Any, origin: str) -> None:
    choice = one(add_case(acc=acc)).standard
    assert (choice.name, dict(choice.numbers), choice.origin) == (name, numbers, origin)


@pytest.mark.parametrize(
    "acc", ["stand_quantise", "binary_standard_v2", {"mine": {}}, 7, {"single_bm": {"type": "x"}}]
)
def test_an_unknown_standard_is_never_a_pass(one: Any, acc: Any, opcli: Any, tmp_path: Path) -> None:
    case = one(add_case(acc=acc))
    assert case.skip.startswith("cannot judge: ")
    assert case.arguments  # the call itself is whole
    done = opcli("run", tmp_path / "atk.json")
    assert done.code == 4
    assert "SKIP" in done.out
    # A rule of the command line can judge it.
    assert opcli("run", tmp_path / "atk.json", "--standard", "ecosystem").code == 0


# --- files ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "place", "said"),
    [
        ('[{"inputs": [], "standard": 1},]', "1:32", "this is not JSON"),
        ('[{"inputs": [], "standard": 1}', "1:31", "the list is never closed"),
        ('[{"inputs": [], "standard": 1}] x', "1:33", "something follows the list"),
        ('[{"inputs": [], "standard": 1},\n 7]', "2:2", "a case of an ATK file is an object"),
        ('[{"inputs": [], "standard": 1},\n {"id": 1, "id": 2}]', "2:2", "the key 'id' is repeated"),
        ('[{"inputs": ' + "[" * 100_000 + ', "standard": 1', "1:2", "nested too deep"),
    ],
)
def test_a_broken_file_is_refused_with_its_place(text: str, place: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "atk.json"
    path.write_text(text, "utf-8")
    with pytest.raises(CaseFileError, match=said) as error:
        loaded(path)
    assert str(error.value).startswith(f"{path}:{place}: ")


def test_the_content_decides_not_the_name(opcli: Any, tmp_path: Path) -> None:
    named = tmp_path / "whatever.json"
    named.write_text(atk_text(add_case()), "utf-8")
    other = tmp_path / "package.json"
    other.write_text(json.dumps({"name": "x", "inputs": [], "standard": 1}), "utf-8")
    assert opcli("run", named).code == 0
    refused = opcli("run", other)
    assert refused.code == 2
    assert "is in no format that opcli reads" in refused.err
    listed = opcli("cases", "list", tmp_path)
    assert listed.out.split() == [f"{named}::0"]


def test_a_call_that_the_operators_source_refuses_fails(one: Any, opcli: Any, tmp_path: Path) -> None:
    one(relu("complex128", 1, (4,)))  # ATK's case says that it is accepted, aclnn_relu.cpp that it is not
    done = opcli("run", tmp_path / "atk.json")
    assert done.code == 1, done.out
    assert "refused in phase 1: self is complex128" in done.out
    assert "aclnn_relu.cpp" in done.out
