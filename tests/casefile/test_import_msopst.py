"""msopst's JSON: comments, its rule of expansion, its data and threshold."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from foreign_files import loaded

from ascend_opcli.errors import CaseFileError
from ascend_opcli.model import Attribute, Case, Fill, Generator, TensorSpec


def tensor(**more: Any) -> dict[str, Any]:
    return {"format": ["ND"], "type": ["float16"], "shape": [2, 3], **more}


def ceil(**more: Any) -> dict[str, Any]:
    return {
        "case_name": "Test_Ceil_001",
        "op": "Ceil",
        "input_desc": [tensor()],
        "output_desc": [tensor()],
        **more,
    }


@pytest.fixture
def cases(tmp_path: Path) -> Any:
    """The cases of a file of these objects, or of this text."""

    def load(*written: Any) -> tuple[Case, ...]:
        path = tmp_path / "msopst.json"
        text = written[0] if isinstance(written[0], str) else json.dumps(list(written))
        path.write_text(text, "utf-8")
        return loaded(path)

    return load


def spec(case: Case, name: str = "self") -> TensorSpec:
    found = case.arguments[name]
    assert isinstance(found, TensorSpec)
    return found


def test_comments_are_blanks_and_strings_stay(cases: Any) -> None:
    made = cases("""
    [
      {
        "case_name": "a//b",            // the case /* not a comment
        /* "op": "Relu",
        */
        "op": "Ceil",
        "input_desc": [{"format": "ND", "type": "float16", "shape": [2, 3]}],  // one
        "output_desc": [{"format": "ND", "type": "float16", "shape": [2, 3]}]
      }
    ]
    """)
    assert [c.name for c in made] == ["a//b_case_001_ND_float16"]
    assert made[0].operator == "aclnnCeil"
    assert made[0].skip == ""


def test_an_error_names_the_line_of_the_text_with_its_comments(tmp_path: Path, cases: Any) -> None:
    with pytest.raises(CaseFileError, match="the case has no output_desc") as error:
        cases(
            '[ // "case_name" "op" "input_desc"\n /* two\n lines */\n'
            ' {"case_name": "a", "op": "Ceil", "input_desc": []}]'
        )
    assert str(error.value).startswith(f"{tmp_path / 'msopst.json'}:4:2: ")


def test_one_profile_is_one_case(cases: Any) -> None:
    (case,) = cases(ceil())
    assert case.name == "Test_Ceil_001_case_001_ND_float16"
    assert spec(case).data == Generator("uniform", (0.1, 1.0))  # msopst's own default range
    assert spec(case).shape == (2, 3)


def test_the_product_has_the_format_slowest_and_tensors_are_zipped(cases: Any) -> None:
    wide = tensor(format=["ND", "NCHW"], type=["float16", "float32"], shape=[[1, 2, 3, 4], [1, 2, 3, 5]])
    made = cases(ceil(input_desc=[wide], output_desc=[wide]))
    assert len(made) == 8  # 2 formats x 2 shapes x 2 types, not 8 x 8
    seen = [(spec(c).format, spec(c).shape[-1], spec(c).dtype) for c in made]
    assert seen[:4] == [
        ("ND", 4, "float16"),
        ("ND", 4, "float32"),
        ("ND", 5, "float16"),
        ("ND", 5, "float32"),
    ]
    assert seen[4] == ("NCHW", 4, "float16")
    assert all(spec(c).shape == spec(c, "out").shape for c in made)
    assert made[0].name == "Test_Ceil_001_sub_case_001_ND_float16"
    assert made[7].name == "Test_Ceil_001_sub_case_008_NCHW_float32"


def test_with_two_inputs_ranges_multiply_with_one_they_are_dropped(cases: Any) -> None:
    ranges = [[0.1, 1.0], [2.0, 3.0]]
    (alone,) = cases(ceil(input_desc=[tensor(value_range=ranges)]))
    assert spec(alone).data == Generator("uniform", (0.1, 1.0))
    two = ceil(
        case_name="m",
        op="Maximum",
        input_desc=[tensor(value_range=ranges), tensor(value_range=[[5, 6], [7, 8]])],
    )
    made = cases(two)
    pairs = [(spec(c).data.args, spec(c, "other").data.args) for c in made]  # type: ignore[union-attr]
    assert pairs == [((0.1, 1.0), (5, 6)), ((2.0, 3.0), (7, 8))]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            {"output_desc": [tensor(type=["float16", "float32"])]},
            "the lists of type have different lengths: 1 and 2",
        ),
        (
            {"input_desc": [tensor(value_range=[[0, 1], [1, 2]]), tensor()]},
            "the inputs expand to different numbers of cases: 1 and 2",
        ),
        ({"input_desc": [tensor(format=[])]}, "format is an empty list"),
        ({"input_desc": [tensor(ori_format=["ND"])]}, "ori_format and ori_shape go together"),
        ({"input_desc": 3}, "input_desc is a list of objects"),
        ({"case_name": 3}, "case_name and op are text"),
        (
            {"input_desc": [tensor(value_range=[[0, 1]] * 1001)] * 2},
            "the case expands to 1,001 cases, more than 1000",
        ),
    ],
)
def test_what_msopst_refuses_is_unreadable(cases: Any, change: dict[str, Any], said: str) -> None:
    with pytest.raises(CaseFileError, match=said):
        cases(ceil(**change))


def test_a_repeated_case_name_is_an_error(cases: Any) -> None:
    with pytest.raises(CaseFileError, match="the case_name 'Test_Ceil_001' is repeated; it stands on line 1"):
        cases(ceil(), ceil())


@pytest.mark.parametrize(
    ("change", "data"),
    [
        ({"value_range": [[-2, 5]]}, Generator("uniform", (-2, 5))),
        ({"value_range": [-2, 5]}, Generator("uniform", (-2, 5))),
        ({"type": ["int32"], "value_range": [[-2, 5]]}, Generator("integers", (-2, 5))),
        ({"type": ["int32"]}, Fill(1)),
        ({"type": ["bool"]}, Generator("integers", (0, 1))),
        ({"data_distribute": ["normal"], "value_range": [[-2, -5]]}, Generator("normal", (-2.0, 5.0001))),
    ],
)
def test_data(cases: Any, change: dict[str, Any], data: Any) -> None:
    one = tensor(**change)
    (case,) = cases(ceil(input_desc=[one], output_desc=[tensor(type=one["type"])]))
    assert spec(case).data == data


def test_written_values_beat_the_distribution(cases: Any, opcli: Any, tmp_path: Path) -> None:
    (case,) = cases(ceil(input_desc=[tensor(value=[[1.5, 2, 3], [4, 5, -6.5]])]))
    assert spec(case).data.values == (1.5, 2, 3, 4, 5, -6.5)  # type: ignore[union-attr]
    np.arange(6, dtype=np.float16).tofile(tmp_path / "x.bin")
    (stored,) = cases(ceil(input_desc=[tensor(value="x.bin")]))
    assert stored.skip == ""
    assert opcli("run", tmp_path / "msopst.json").code == 0
    (outside,) = cases(ceil(input_desc=[tensor(value="../x.bin")]))
    assert "lies outside the case file's folder" in outside.skip


def test_attributes_have_names_and_kinds(cases: Any) -> None:
    attr = [{"name": "diagonal", "type": "int", "value": 1}]
    (case,) = cases(ceil(op="Tril", attr=attr))
    assert case.arguments["diagonal"] == Attribute(1)
    (odd,) = cases(ceil(op="Tril", attr=[{"name": "diag", "type": "int", "value": 1}]))
    assert odd.skip == "kernel case: aclnnTril has no attribute diag"


def test_undefined_is_an_absent_input(cases: Any) -> None:
    absent = tensor(type=["UNDEFINED"], format=["UNDEFINED"])
    out = tensor(shape=[2, 3])
    (case,) = cases(ceil(op="Maximum", input_desc=[tensor(), absent], output_desc=[out]))
    assert case.arguments["other"] is None


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"op": "NoSuchKernel"}, "kernel case: there is no aclnnNoSuchKernel"),
        ({"expect": "failed"}, "it expects 'failed', which names no status"),
        ({"input_desc": [tensor(shape=[-1, 3])]}, "the shape [-1, 3] is dynamic"),
        ({"input_desc": [tensor(type=["fuzz"])]}, "fuzz values come from the code of fuzz_impl"),
        (
            {"input_desc": [tensor(data_distribute=["beta"])]},
            "there is no generator for data_distribute beta",
        ),
        ({"input_desc": [tensor(data_distribute=["unifrom"])]}, "did you mean 'uniform'"),
        (
            {"input_desc": [tensor(format="NC1HWC0", ori_format="NCHW", ori_shape=[2, 3])]},
            "the private format NC1HWC0",
        ),
    ],
)
def test_what_cannot_be_a_call_is_skipped_with_its_reason(
    cases: Any, change: dict[str, Any], said: str
) -> None:
    (case,) = cases(ceil(**change))
    assert said in case.skip


def test_the_threshold_is_msopsts(cases: Any) -> None:
    (case,) = cases(ceil())
    assert case.standard.name == "msopst"
    assert not case.standard.numbers
    (own,) = cases(ceil(error_threshold=[0.02, "0.1"]))
    assert dict(own.standard.numbers) == {"t1": 0.02, "t2": 0.1}
    (wrong,) = cases(ceil(error_threshold=[2, 0.1]))
    assert wrong.skip.startswith("cannot judge: error_threshold")


def test_its_relatives_are_not_taken_for_it(opcli: Any, tmp_path: Path) -> None:
    path = tmp_path / "proto.json"
    path.write_text(
        json.dumps(
            [{"op": "Polar", "language": "cpp", "input_desc": [{"name": "x", "param_type": "required"}]}]
        )
    )
    assert "is in no format that opcli reads" in opcli("run", path).err
