"""Whatever stands in a foreign file: its cases, or one sentence; never a traceback, never a hang."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest
from foreign_files import csv_text, loaded
from hypothesis import given, settings
from hypothesis import strategies as st

from ascend_opcli.casefile.files.literals import parse
from ascend_opcli.casefile.files.texts import without_comments
from ascend_opcli.errors import CaseFileError
from ascend_opcli.model import Case

WORDS = st.sampled_from(
    [
        "",
        "nan",
        "-inf",
        "null",
        "default",
        "(0, 1)",
        "[1, 2]",
        "( a, b )",
        "2**9999",
        "fp16",
        "tensor",
        "ND",
        "x::y",
        "é\n",
    ]
)
NUMBERS = st.sampled_from([0, -1, 3, 2.5, 1e308, 10**400, -(2**63), 2**64, True])
LEAF = st.none() | NUMBERS | WORDS
ANY = st.recursive(
    LEAF, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=3), max_leaves=8
)
TYPES = ("tensor", "tensors", "attr", "attrs", "scalar", "scalars", "attr_tuple", "thing")
DTYPES = ("fp32", "int", "bool", "string", "torch_dtype", "non_param", "complex64", "nothing")
INPUT = st.fixed_dictionaries(
    {},
    optional={
        "name": ANY,
        "type": st.sampled_from(TYPES) | ANY,
        "dtype": st.sampled_from(DTYPES) | ANY,
        "shape": st.lists(st.integers(-1, 4), max_size=3) | ANY,
        "range_values": ANY,
        "format": ANY,
    },
)
ATK = st.fixed_dictionaries(
    {"inputs": st.lists(INPUT | st.lists(INPUT, max_size=2), max_size=4) | ANY, "standard": ANY},
    optional={
        "id": ANY,
        "aclnn_name": st.sampled_from(["Add", "Permute", "ForeachAddScalarV2", "Mv", "no such"]) | ANY,
        "is_boundary": ANY,
    },
)
DESC = st.fixed_dictionaries(
    {"format": st.just("ND") | ANY, "type": st.just("float16") | ANY, "shape": st.just([2]) | ANY},
    optional={"data_distribute": ANY, "value_range": ANY, "value": ANY, "ori_format": ANY, "ori_shape": ANY},
)
MSOPST = st.fixed_dictionaries(
    {
        "case_name": st.just("a") | ANY,
        "op": st.sampled_from(["Ceil", "Tril"]) | ANY,
        "input_desc": st.lists(DESC, max_size=2) | ANY,
        "output_desc": st.lists(DESC, max_size=2) | ANY,
    },
    optional={"attr": ANY, "error_threshold": ANY, "expect": ANY},
)
VALUE = st.fixed_dictionaries(
    {
        "type": st.sampled_from(["torch.Tensor", "int", "float", "bool", "str", "torch.dtype", "torch.Size"])
        | ANY
    },
    optional={
        "dtype": st.sampled_from(["torch.float32", "torch.int64", "torch.bool"]) | ANY,
        "shape": st.lists(st.integers(-1, 4), max_size=3) | ANY,
        "value": ANY,
        "Max": ANY,
        "Min": ANY,
        "data_name": ANY,
    },
)
VALUES = st.lists(VALUE | st.lists(VALUE, max_size=2), max_size=4) | ANY
CALL = st.fixed_dictionaries(
    {"input_args": VALUES, "output": VALUES},
    optional={
        "input_kwargs": st.dictionaries(WORDS | st.sampled_from(["dim", "out"]), VALUE) | ANY,
        "input": VALUES,
    },
)
NAMES = st.sampled_from(
    [
        "Torch.add.0.forward",
        "Torch.cat.1.forward",
        "Functional.relu.0.backward",
        "Functional.relu.0.forward",
        "Torch.sum.9.forward",
    ]
)
TENSOR = st.fixed_dictionaries(
    {"file": st.sampled_from(["x.npy", "../x.npy", "x.bin", "."]) | ANY},
    optional={"dtype": st.just("float32") | ANY, "shape": st.just([2]) | ANY, "strides": ANY, "sha256": ANY},
)
MANIFEST = st.fixed_dictionaries(
    {
        "schema": st.just("opcli.data/1"),
        "operator": st.sampled_from(["add", "aclnnRelu", "foreach_add_list"]) | ANY,
        "inputs": st.dictionaries(st.sampled_from(["self", "other", "x1[0]", "x1"]), TENSOR | ANY) | ANY,
        "outputs": st.dictionaries(st.sampled_from(["out", "out[0]"]), TENSOR | ANY) | ANY,
    },
    optional={
        "attrs": st.dictionaries(WORDS | st.just("alpha"), ANY) | ANY,
        "case": ANY,
        "calls": ANY,
        "seed": ANY,
    },
)
CELLS = st.sampled_from(
    [
        "",
        "()",
        "(2,)",
        "((2,),)",
        "((2,),None)",
        "('float16',)",
        "float16",
        "{'a': 1}",
        "{}",
        "3",
        "((0,1),)",
        "((nan,inf,1),)",
        "x y",
        "((",
        "-1",
    ]
)
COLUMNS = (
    *("testcase_name", "input_shapes", "input_dtypes", "output_shapes", "output_dtypes", "attributes"),
    *(
        "input_data_ranges",
        "precision_tolerances",
        "absolute_precision",
        "output_inplace_indexes",
        "is_enabled",
    ),
    *("tensor_view_shapes", "tensor_dtypes", "output_tensor_indexes", "scalar_dtypes", "scalar_data_ranges"),
    *("tensor_view_strides", "tensor_view_offsets", "soc_series", "input_formats", "remark"),
)


NPY = (
    b"\x93NUMPY\x01\x00v\x00{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }".ljust(127)
    + b"\n"
    + bytes(8)
)


def read(path: Path, text: str) -> tuple[Case, ...]:
    path.write_text(text, "utf-8")
    said = ""
    cases: tuple[Case, ...] = ()
    try:
        cases = loaded(path)
    except CaseFileError as error:
        said = str(error)
    assert "\n" not in said
    assert all(case.arguments or case.skip for case in cases)
    assert len({case.name for case in cases}) == len(cases)
    return cases


@given(st.lists(ATK, min_size=1, max_size=3))
@settings(max_examples=120)
def test_any_atk_file(tmp_path_factory: Any, written: list[Any]) -> None:
    read(tmp_path_factory.mktemp("a") / "a.json", json.dumps(written))


@given(st.lists(MSOPST, min_size=1, max_size=2))
@settings(max_examples=120)
def test_any_msopst_file(tmp_path_factory: Any, written: list[Any]) -> None:
    read(tmp_path_factory.mktemp("m") / "m.json", json.dumps(written))


@given(
    st.sampled_from(["op_name", "api_name"]),
    st.sampled_from(["ceil", "aclnnAdd", "torch.relu", ""]),
    st.dictionaries(st.sampled_from(COLUMNS), CELLS),
)
@settings(max_examples=120)
def test_any_ttk_file(tmp_path_factory: Any, column: str, name: str, row: dict[str, str]) -> None:
    full = {column: name, "input_shapes": "", **row}
    read(tmp_path_factory.mktemp("t") / "t.csv", csv_text(full))


@given(
    st.dictionaries(NAMES | WORDS, CALL | ANY, min_size=1, max_size=3),
    st.sampled_from(["tensor", "statistics"]),
)
@settings(max_examples=200)
def test_any_dump(tmp_path_factory: Any, data: dict[str, Any], task: str) -> None:
    head = {"task": task, "level": "L1", "dump_data_dir": "/"}
    read(tmp_path_factory.mktemp("d") / "dump.json", json.dumps({**head, "data": data}))


@given(MANIFEST)
@settings(max_examples=200)
def test_any_manifest(tmp_path_factory: Any, written: dict[str, Any]) -> None:
    folder = tmp_path_factory.mktemp("x")
    (folder / "x.npy").write_bytes(NPY)
    read(folder / "manifest.json", json.dumps(written))


@pytest.mark.parametrize(
    "text",
    [
        '[{"case_name" "op" "input_desc" "' + '\\"' * 300_000,
        "[" + "/*" * 300_000,
        "// " * 300_000,
        '"' * 600_001,
    ],
)
def test_comments_are_found_in_time_that_grows_with_the_text(text: str) -> None:
    begun = time.process_time()
    assert len(without_comments(text)) == len(text)
    assert time.process_time() - begun < 10


@pytest.mark.parametrize(
    "cell", ["1" * 900_000 + "x", "1_" * 400_000 + ".x", "(" * 900_000, "'" + "a" * 900_000, "-" * 900_000]
)
def test_a_hostile_cell_is_refused_in_time(cell: str) -> None:
    begun = time.process_time()
    with pytest.raises(ValueError, match=r"^[^\n]+$"):
        parse(cell)
    assert time.process_time() - begun < 10


def test_a_file_that_is_no_text_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(b'[{"inputs": [], "standard": "\xff"}]')
    with pytest.raises(CaseFileError, match="not UTF-8"):
        loaded(path)
