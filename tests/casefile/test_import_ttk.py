"""TTK's CSV: cells as literals that are never evaluated, aclnn, e2e and kernel rows, ranges, tolerances."""

from __future__ import annotations

import contextlib
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from foreign_files import csv_text, loaded
from hypothesis import given
from hypothesis import strategies as st

from ascend_opcli.casefile.files.literals import parse
from ascend_opcli.model import Attribute, Case, Fill, Generator, TensorSpec
from ascend_opcli.operators.catalog import find
from ascend_opcli.reference.call import make_call
from ascend_opcli.tensors.layout import view

INF, NAN = math.inf, math.nan

SWIGLU = {
    "testcase_name": "one",
    "api_name": "aclnnSwigluGroup",
    "tensor_view_shapes": "((2,256),None,None,(2,128))",
    "tensor_dtypes": "('float16','float32','int64','float16')",
    "tensor_formats": "('ND',)",
    "attributes": "{'clampLimit':-1.0}",
    "output_tensor_indexes": "(3,)",
    "input_data_ranges": "((-2,2),None,None,(0,0))",
}
CEIL = {
    "testcase_name": "ceil",
    "op_name": "ceil",
    "input_shapes": "((3, 4),)",
    "input_dtypes": "('float16',)",
    "output_shapes": "((3, 4),)",
    "output_dtypes": "('float16',)",
    "attributes": "{}",
    "input_data_ranges": "((-1, 1),)",
}


@pytest.fixture
def rows(tmp_path: Path) -> Any:
    """The cases of a table of these rows."""

    def load(*written: dict[str, str]) -> tuple[Case, ...]:
        path = tmp_path / "ttk.csv"
        path.write_text(csv_text(*written), "utf-8", newline="")
        return loaded(path)

    return load


def spec(case: Case, name: str = "self") -> TensorSpec:
    found = case.arguments[name]
    assert isinstance(found, TensorSpec)
    return found


# --- cells ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cell", "value"),
    [
        ("((2,256),None,(2,128))", ((2, 256), None, (2, 128))),
        ("[1, 2]", (1, 2)),
        ("(7,)", (7,)),
        ("(7)", 7),
        ("()", ()),
        ("{'a': [1, -2.5e-3], \"b\": True}", {"a": (1, -2.5e-3), "b": True}),
        ("{}", {}),
        ("inf", INF),
        ("(-inf, 1)", (-INF, 1)),
        ('(float("inf"), float("-inf"))', (INF, -INF)),
        ("1.00E-08", 1e-8),
        ("TRUE", "TRUE"),
        ("ELEWISE", "ELEWISE"),
        ("1, 2", (1, 2)),
        (" ", None),
        ("1_000", 1000),
    ],
)
def test_cells_are_literals(cell: str, value: Any) -> None:
    assert parse(cell) == value


def test_nan_in_both_spellings() -> None:
    assert all(math.isnan(v) for v in parse('(nan, float("nan"))'))


@pytest.mark.parametrize(
    "cell",
    [
        "__import__('os').system('x')",
        "open('x')",
        "1 + 1",
        "[x for x in (1,)]",
        "float('x')",
        "(1, 2",
        "(1 2)",
        "{1, 2}",
        "'open",
        "(" * 1000,
        "9" * 5000,
        "lambda: 0",
    ],
)
def test_nothing_is_evaluated(cell: str) -> None:
    with pytest.raises(ValueError, match=r"^[^\n]+$"):
        parse(cell)


literals = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.from_regex(r"[a-z_]{1,8}", fullmatch=True),
    lambda inner: (
        st.lists(inner, max_size=4).map(tuple)
        | st.dictionaries(st.from_regex(r"[a-z]{1,4}", fullmatch=True), inner, max_size=3)
    ),
    max_leaves=12,
)


@given(literals)
def test_what_python_writes_is_read_back(value: Any) -> None:
    text = repr(value)
    if value == "":
        return
    assert parse(text) == value


@given(st.text(max_size=60))
def test_any_text_is_read_or_refused(text: str) -> None:
    with contextlib.suppress(ValueError):
        parse(text)


# --- aclnn rows -----------------------------------------------------------------------------------------------


def test_a_row_has_the_tensors_of_the_prototype(rows: Any) -> None:
    (case,) = rows(SWIGLU)
    assert case.skip == ""
    assert (case.name, case.operator) == ("one", "aclnnSwigluGroup")
    assert spec(case, "x").shape == (2, 256)
    assert spec(case, "x").data == Generator("uniform", (-2, 2))
    assert case.arguments["weightOptional"] is None
    assert spec(case, "out").shape == (2, 128)
    assert spec(case, "out").data is None
    assert case.arguments["clampLimit"] == Attribute(-1.0)


def test_layouts_scalars_and_lists(rows: Any) -> None:
    (case,) = rows(
        {
            "testcase_name": "v",
            "api_name": "aclnnAdd",
            "tensor_view_shapes": "((4,2),(4,2),(4,2))",
            "tensor_dtypes": "('float32',)",
            "tensor_view_strides": "((1,4),None,None)",
            "tensor_view_offsets": "(3,None,None)",
            "tensor_storage_shapes": "((16,),None,None)",
            "scalar_dtypes": "('float32',)",
            "scalar_data_ranges": "((1,1),)",
        }
    )
    assert case.skip == ""
    assert (spec(case).strides, spec(case).offset, spec(case).storage_shape) == ((1, 4), 3, (16,))
    assert spec(case, "other").strides == (2, 1)
    assert case.arguments["alpha"] == Attribute(1.0, "float32")
    (listed,) = rows(
        {
            "testcase_name": "l",
            "api_name": "aclnnForeachTanh",
            "tensor_view_shapes": "(((2,3),(4,)),((2,3),(4,)))",
            "tensor_dtypes": "(('float16','float16'),('float16','float16'))",
            "input_data_ranges": "(((0,1),(2,3)),None)",
        }
    )
    members = listed.arguments["x"]
    assert isinstance(members, tuple)
    assert [m.shape for m in members] == [(2, 3), (4,)]
    assert [m.data for m in members] == [Generator("uniform", (0, 1)), Generator("uniform", (2, 3))]


def test_an_attribute_without_a_value_takes_the_operators_default(rows: Any) -> None:
    row = {
        "testcase_name": "a",
        "api_name": "aclnnLogitGrad",
        "tensor_view_shapes": "((4,),(4,),(4,))",
        "tensor_dtypes": "('float32',)",
    }
    (case,) = rows(row)
    assert case.arguments["eps"] == Attribute(-1.0)
    (given,) = rows({**row, "attributes": "{'eps': 0.25}"})
    assert given.arguments["eps"] == Attribute(0.25)
    (odd,) = rows({**row, "attributes": "{'epsilon': 0.25}"})
    assert odd.skip == "the row does not define the call: aclnnLogitGrad has no attribute epsilon"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"api_name": "aclnnSwigluGrop"}, "did you mean 'aclnnSwigluGroup'"),
        ({"tensor_view_shapes": "((2,256),)"}, "1 tensors for the 4 of aclnnSwigluGroup"),
        (
            {"output_tensor_indexes": "(0,)"},
            "tensor 0 is marked as an output, aclnnSwigluGroup writes no such one",
        ),
        (
            {"output_tensor_indexes": "(3,-5)"},
            "tensor -5 is marked as an output, aclnnSwigluGroup writes no such one",
        ),
        (
            {"output_tensor_indexes": "('x',)"},
            "tensor x is marked as an output, aclnnSwigluGroup writes no such one",
        ),
        (
            {"output_tensor_indexes": "[99]"},
            "tensor 99 is marked as an output, aclnnSwigluGroup writes no such one",
        ),
        ({"attributes": "[1,2]"}, "the cell attributes holds no dict but"),
        ({"is_enabled": "maybe"}, "is_enabled is true or false, not maybe"),
        ({"precision_tolerances": "'x'"}, "precision_tolerances is pairs of numbers, not x"),
        ({"tensor_dtypes": "('float16','float16')"}, "2 dtypes for 4 tensors"),
        ({"tensor_view_shapes": "((2,256),None,None"}, "the cell tensor_view_shapes: ')' is missing"),
        ({"is_enabled": "False"}, "is_enabled is false"),
        ({"is_enabled": "0"}, "is_enabled is false"),
        ({"input_data_ranges": "(('a','b'),)"}, "the range ('a', 'b') is not known"),
    ],
)
def test_a_row_that_is_no_call_says_why(rows: Any, change: dict[str, str], said: str) -> None:
    (case,) = rows({**SWIGLU, **change})
    assert said in case.skip
    assert not case.arguments


# --- e2e and kernel rows --------------------------------------------------------------------------------------


def test_an_e2e_row_runs_where_an_operator_has_its_name_and_parameters(rows: Any) -> None:
    row = {
        "testcase_name": "e",
        "api_name": "torch.nn.functional.relu",
        "tensor_view_shapes": "((3,4),)",
        "tensor_dtypes": "('float32',)",
    }
    (case,) = rows(row)
    assert (case.skip, case.operator) == ("", "aclnnRelu")
    (npu,) = rows({**row, "api_name": "torch_npu.npu_relu"})
    assert npu.operator == "aclnnRelu"
    (other,) = rows({**row, "api_name": "torch.no_such_thing"})
    assert other.skip == "e2e row (torch.no_such_thing): there is no aclnnNoSuchThing"
    (odd,) = rows({**row, "attributes": "{'inplace': True}"})
    assert odd.skip == "e2e row (torch.nn.functional.relu): aclnnRelu has no attribute inplace"


def test_a_kernel_row_runs_where_the_entry_has_the_same_parameters(
    rows: Any, opcli: Any, tmp_path: Path
) -> None:
    (case,) = rows(CEIL)
    assert (case.skip, case.operator) == ("", "aclnnCeil")
    assert opcli("run", tmp_path / "ttk.csv").code == 0


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"op_name": "no_such_kernel"}, "kernel row: there is no aclnnNoSuchKernel"),
        ({"input_shapes": "((3,4),(3,4))"}, "kernel row: aclnnCeil has 1 input, the kernel 2"),
        ({"attributes": "{'mode': 1}"}, "kernel row: aclnnCeil has no attribute mode"),
        ({"output_shapes": "((3,4),(3,4))"}, "kernel row: aclnnCeil has 1 output, the kernel 2"),
        ({"input_dtypes": "('int4',)"}, "opcli cannot make data for it"),
    ],
)
def test_another_kernel_row_is_skipped(rows: Any, change: dict[str, str], said: str) -> None:
    (case,) = rows({**CEIL, **change})
    assert said in case.skip


def test_older_column_names_and_flat_shapes(rows: Any) -> None:
    (case,) = rows(
        {
            "testcase_name": "old",
            "op_name": "ceil",
            "stc_inputs": "(7,)",
            "stc_input_dtypes": "float16",
            "stc_outputs": "(7,)",
            "stc_output_dtypes": "float16",
        }
    )
    assert case.skip == ""
    assert spec(case).shape == (7,)


# --- ranges ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("written", "dtype", "data"),
    [
        ("((-1, 1),)", "float16", Generator("uniform", (-1, 1))),
        ("((None, None),)", "float16", Generator("uniform", (-2, 2))),
        ("((1, None),)", "float16", Generator("uniform", (1, 2))),
        ("", "float16", Generator("uniform", (-2, 2))),
        ("((3, 3),)", "float16", Fill(3)),
        ("(3,)", "float16", Fill(3)),
        ("((0, inf),)", "float16", Generator("uniform", (0, 65504.0))),
        ("((-1, 1, inf, -0.0),)", "float16", Generator("uniform", (-1, 1), (-1, 1, INF, -0.0))),
        ("((5, -5),)", "float16", Generator("uniform", (-5, 5))),
        ("(-1, 1)", "float16", Generator("uniform", (-1, 1))),
    ],
)
def test_ranges(rows: Any, written: str, dtype: str, data: Any) -> None:
    (case,) = rows({**CEIL, "input_dtypes": f"('{dtype}',)", "input_data_ranges": written})
    assert spec(case).data == data


def test_every_value_of_a_longer_range_appears(rows: Any) -> None:
    (case,) = rows({**CEIL, "input_data_ranges": "((-1, 1, nan, inf, -inf, 0.25),)"})
    call = make_call(case, find("ceil").signature, "atlas_a2")
    drawn = view(call.arguments["self"]).astype(np.float64)  # type: ignore[arg-type]
    for value in (-1, 1, INF, -INF, 0.25):
        assert (drawn == value).any()
    assert np.isnan(drawn).any()
    (small,) = rows(
        {**CEIL, "input_shapes": "((1,),)", "output_shapes": "((1,),)", "input_data_ranges": "((-1,1,nan),)"}
    )
    assert small.skip == ""  # more values than elements: as many as there is room for


def test_a_nan_pair_fills_with_nan(rows: Any) -> None:
    (case,) = rows({**CEIL, "input_data_ranges": "((nan, nan),)"})
    assert isinstance(spec(case).data, Fill)
    assert math.isnan(spec(case).data.value)  # type: ignore[union-attr, arg-type]


# --- tolerances, products, files ------------------------------------------------------------------------------


def test_the_rows_tolerances_are_close(rows: Any) -> None:
    (case,) = rows({**CEIL, "precision_tolerances": "((0.001, 0.005),)", "absolute_precision": "1e-4"})
    choice = case.output_standards["out"]
    assert (choice.name, dict(choice.numbers)) == ("ratio", {"rtol": 0.001, "ptol": 0.005, "atol": 1e-4})
    assert choice.origin == "TTK close"
    (plain,) = rows(CEIL)
    assert not plain.output_standards


def test_integers_are_equal_whatever_the_tolerance(rows: Any) -> None:
    row = {
        **CEIL,
        "op_name": "is_finite",
        "output_dtypes": "('bool',)",
        "precision_tolerances": "((0.1, 0.1),)",
    }
    (case,) = rows(row)
    assert case.skip == ""
    assert case.output_standards["out"].name == "exact"


def test_the_products_of_a_row(rows: Any) -> None:
    (other,) = rows({**SWIGLU, "soc_series": "('Ascend950',)"})
    assert other.product == "ascend950"
    (ours,) = rows({**CEIL, "soc_series": "('Ascend950','Ascend910B')"})
    assert ours.product is None
    (without,) = rows({**CEIL, "soc_series": "('-Ascend950',)"})
    assert without.product is None


def test_blank_rows_names_and_line_numbers(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    text = csv_text(CEIL, {**CEIL, "testcase_name": ""}, CEIL)
    lines = text.splitlines()
    path.write_text(
        "\r\n".join([*lines[:2], ",,,", *lines[2:], "extra,ceil,x,y,z,1,2,3,4,5,6"]) + "\r\n", "utf-8"
    )
    cases = loaded(path)
    assert [c.name for c in cases] == ["ceil", "2", "ceil#2", "extra"]
    assert [c.where.line for c in cases] == [2, 4, 5, 6]


def test_a_header_alone_is_unreadable(opcli: Any, tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text(csv_text(CEIL).splitlines()[0] + "\n", "utf-8")
    done = opcli("run", path)
    assert done.code == 2
    assert "the file has no cases (TTK CSV)" in done.err
    other = tmp_path / "other.csv"
    other.write_text("a,b\n1,2\n", "utf-8")
    assert "is in no format that opcli reads" in opcli("run", other).err
