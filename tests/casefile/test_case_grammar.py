"""Section 3 of the design, sentence by sentence."""

# One row, one line: the tables are read by column.
# ruff: noqa: E501

from __future__ import annotations

import dataclasses
import math
from pathlib import Path

import numpy as np
import pytest

from ascend_opcli.casefile.loader import CaseFile
from ascend_opcli.casefile.open import load_file, load_text
from ascend_opcli.errors import CaseFileError
from ascend_opcli.model import (
    Attribute,
    Case,
    ExpectedStatus,
    Fill,
    FromFile,
    Generator,
    KnownIssue,
    Only,
    Phase,
    StandardChoice,
    TensorSpec,
    Values,
)
from ascend_opcli.operators.operator import Operator
from ascend_opcli.operators.operator import operator as make_operator

EXAMPLE = """\
opcli: 1                             # optional format version; a newer number is one clear error
op: logit_grad                       # or aclnnLogitGrad
description: Gradient of logit.
product: atlas_a2                    # optional; whose contract the host applies (default atlas_a2; SoC names too)
standard: ecosystem                  # optional; see section 4
seed: 7                              # optional; default 0
defaults: {attrs: {eps: -1.0}}       # merged into every case

cases:
  - name: smallest                   # the short form
    dtype: float32
    shape: [4, 4]

  - name: documented-example
    inputs:
      x:  {dtype: float32, shape: [1, 4], data: [0.1, 0.2, 0.3, 0.4]}
      dy: {dtype: float32, shape: [1, 4], data: [1.0, 2.0, 3.0, 4.0]}
    expect:
      outputs: {out: [[11.111111, 12.5, 14.285714, 16.666667]]}

  - name: sweep                      # 3 x 4 x 2 = 24 cases
    matrix:
      dtype: [float16, bfloat16, float32]
      shape: [[], [1], [8193], [16, 3, 171]]
      eps: [-1.0, 0.01]
    inputs:
      x:  {dtype: $dtype, shape: $shape, data: {uniform: [0.0, 1.0]}}
      dy: {dtype: $dtype, shape: $shape, data: {normal: [0.0, 1.0]}}
    attrs: {eps: $eps}

  - name: transposed-view
    inputs:
      x:  {dtype: float16, shape: [64, 32], layout: transposed, data: {uniform: [0.1, 0.9]}}
      dy: {dtype: float16, shape: [64, 32], strides: [1, 64], offset: 0, data: {normal: [0, 1]}}

  - name: null-x
    inputs: {x: null, dy: {dtype: float32, shape: [4], data: 1.0}}
    expect: {status: ACLNN_ERR_PARAM_NULLPTR}        # a name or 161001
"""


def accept(choice: StandardChoice, dtype: str | None) -> None:
    if choice.name not in ("ecosystem", "ulp", "allclose", "exact", "bits"):
        raise ValueError(f"unknown standard '{choice.name}'; did you mean 'exact'?")


def load(text: str, path: str = "f.yaml", **options: object) -> CaseFile:
    return load_text(text, path, check_standard=accept, **options)  # type: ignore[arg-type]


def cases(text: str) -> tuple[Case, ...]:
    return load(text).cases


def one(body: str, op: str = "logit_grad") -> Case:
    (case,) = cases(f"op: {op}\ncases:\n- {body}\n")
    return case


def tensor(case: Case, name: str) -> TensorSpec:
    spec = case.arguments[name]
    assert isinstance(spec, TensorSpec)
    return spec


def value(case: Case, name: str) -> object:
    attribute = case.arguments[name]
    assert isinstance(attribute, Attribute)
    return attribute.value


ELU = "inputs: {gradOutput: [1.0], selfOrResult: [1.0]}"


# --- the example --------------------------------------------------------------------------------------------


def test_the_example_of_the_design_loads() -> None:
    file = load(EXAMPLE)
    assert file.operators == ("aclnnLogitGrad",)
    assert len(file.cases) == 1 + 1 + 24 + 1 + 1
    assert {c.product for c in file.cases} == {"atlas_a2"}
    assert {c.seed for c in file.cases} == {7}
    assert {c.description for c in file.cases} == {"Gradient of logit."}
    assert {c.standard for c in file.cases if c.standard is None} == set()
    smallest, documented, *sweep, view, null = file.cases

    assert smallest.id == "f.yaml::smallest"
    assert tensor(smallest, "x").shape == (4, 4)
    assert tensor(smallest, "x").data == Generator("uniform", (0, 1))
    assert tensor(smallest, "dy").data == Generator("normal", (0.0, 1.0))
    assert tensor(smallest, "out").data is None
    assert list(smallest.arguments) == ["x", "dy", "eps", "out"]

    assert tensor(documented, "x").data == Values((0.1, 0.2, 0.3, 0.4))
    assert documented.expected_outputs == {"out": Values((11.111111, 12.5, 14.285714, 16.666667))}

    assert sweep[0].name == "sweep[float16-scalar-eps=-1.0]"
    assert sweep[1].name == "sweep[float16-scalar-eps=0.01]"
    assert sweep[7].id == "f.yaml::sweep[float16-16x3x171-eps=0.01]"
    assert sweep[-1].name == "sweep[float32-16x3x171-eps=0.01]"
    assert value(sweep[7], "eps") == 0.01
    assert tensor(sweep[7], "out").shape == (16, 3, 171)
    assert tensor(sweep[7], "out").dtype == "float16"

    assert tensor(view, "x").layout == "transposed"
    assert tensor(view, "x").strides == (1, 64)
    assert tensor(view, "dy").layout == "strided"
    assert tensor(view, "dy").strides == (1, 64)
    assert tensor(view, "dy").storage_shape == (64 * 32,)

    assert null.arguments["x"] is None
    assert tensor(null, "dy").data == Fill(1.0)
    assert null.status == ExpectedStatus(161001)
    assert tensor(null, "out").shape == (4,)


def test_a_case_stands_where_it_was_written() -> None:
    file = load(EXAMPLE)
    assert str(file.cases[0].where) == "f.yaml:10:5"
    assert str(file.cases[-1].where) == "f.yaml:36:5"


# --- keys of the file ---------------------------------------------------------------------------------------


def test_both_spellings_of_an_operator() -> None:
    text = "op: {}\ncases: [{{dtype: float32, shape: [2]}}]"
    assert cases(text.format("logit_grad"))[0].operator == "aclnnLogitGrad"
    assert cases(text.format("aclnnLogitGrad"))[0].operator == "aclnnLogitGrad"


def test_a_case_may_name_its_own_operator() -> None:
    file = load(
        "op: logit_grad\ncases: [{dtype: float32, shape: [2]},"
        " {op: threshold_backward, dtype: int8, shape: [2], attrs: {threshold: 1}}]"
    )
    assert file.operators == ("aclnnLogitGrad", "aclnnThresholdBackward")


def test_keys_of_the_file_serve_every_case_and_the_cases_own_win() -> None:
    own, inherited = cases(
        "op: logit_grad\ndescription: of the file\nproduct: Ascend950\nseed: 3\ntags: [a, b]\n"
        "only: {backend: device}\nstandard: exact\n"
        "cases:\n- {dtype: float32, shape: [1], description: own, product: atlas_a3, seed: 4, tags: [c],"
        " only: {product: ascend910b1}, standard: {ulp: {max: 2}}}\n- {dtype: float32, shape: [1]}\n"
    )
    assert (own.description, own.product, own.seed, own.tags) == ("own", "atlas_a3", 4, ("c",))
    assert own.only == Only(("atlas_a2",))
    assert own.standard == StandardChoice("ulp", {"max": 2}, "standard of the case")
    assert (inherited.description, inherited.product, inherited.seed) == ("of the file", "ascend950", 3)
    assert inherited.tags == ("a", "b")
    assert inherited.only == Only(backend="device")
    assert inherited.standard == StandardChoice("exact", {}, "standard of the file")


def test_seed_and_product_have_defaults_that_the_caller_may_set() -> None:
    text = "op: logit_grad\ncases: [{dtype: float32, shape: [1]}, {dtype: float32, shape: [1], seed: 5, product: atlas_a3}]"
    first, second = cases(text)
    assert (first.seed, first.product) == (0, None)
    first, second = load(text, seed_default=9, product_default="Ascend950").cases
    assert (first.seed, first.product) == (9, "ascend950")
    assert (second.seed, second.product) == (5, "atlas_a3")
    assert first.source["seed"] == 9
    assert first.source["product"] == "ascend950"


def test_unnamed_cases_are_called_by_their_number() -> None:
    made = cases(
        "op: logit_grad\ncases:\n- {dtype: float32, shape: [1]}\n- {name: b, dtype: float32, shape: [1]}\n"
        "- {matrix: {dtype: [float16]}, dtype: $dtype, shape: [1]}\n"
    )
    assert [c.name for c in made] == ["1", "b", "3[float16]"]


def test_anchors_have_a_home_in_x_keys() -> None:
    (case,) = cases(
        "op: logit_grad\nx-half: &half {dtype: float16, shape: [2]}\ncases:\n- {inputs: {x: *half, dy: {<<: *half, data: 1}}}\n"
    )
    assert tensor(case, "x").dtype == "float16"
    assert tensor(case, "dy").data == Fill(1)
    assert not [k for k in case.source if k.startswith("x-")]


# --- merging ------------------------------------------------------------------------------------------------


def test_defaults_merge_key_by_key_at_every_level_and_the_case_wins() -> None:
    (case,) = cases(
        "op: elu_backward\ndefaults:\n  attrs: {alpha: {value: 2.0, dtype: float32}, isResult: true}\n"
        "  inputs: {gradOutput: {dtype: float16, shape: [2], layout: padded}}\n"
        "cases:\n- attrs: {alpha: {value: 3.0}}\n"
        "  inputs: {gradOutput: {dtype: float32}, selfOrResult: {dtype: float32, shape: [2]}}\n"
    )
    assert case.arguments["alpha"] == Attribute(3.0, "float32")
    assert value(case, "isResult") is True
    spec = tensor(case, "gradOutput")
    assert (spec.dtype, spec.shape, spec.layout) == ("float32", (2,), "padded")


def test_a_case_exchanges_a_generator_a_layout_or_a_rule_of_the_defaults() -> None:
    text = (
        "op: logit_grad\ndefaults:\n  inputs: {x: {data: {uniform: [0, 1], specials: [nan]}, layout: transposed}}\n"
        "  expect: {standard: {ulp: {max: 2}}}\n"
        "cases:\n- dtype: float32\n  shape: [2, 3]\n  inputs: {x: {data: {normal: [0, 1]}, strides: [1, 2]}}\n"
        "  expect: {standard: {allclose: {rtol: 1e-3}}}\n"
    )
    (case,) = cases(text)
    data = tensor(case, "x").data
    assert isinstance(data, Generator)
    assert (data.kind, len(data.specials)) == ("normal", 1)
    assert tensor(case, "x").layout == "strided"
    assert case.standard == StandardChoice("allclose", {"rtol": 1e-3}, "expect.standard of the case")


def test_a_list_or_a_null_of_the_case_replaces_what_the_defaults_say() -> None:
    (case,) = cases(
        "op: logit_grad\ndefaults: {dtype: float32, shape: [4], inputs: {x: {data: 1}}}\n"
        "cases: [{shape: [2, 2], inputs: {x: null}}]"
    )
    assert case.arguments["x"] is None
    assert tensor(case, "dy").shape == (2, 2)


def test_a_matrix_may_stand_in_the_defaults() -> None:
    made = cases(
        "op: logit_grad\ndefaults: {matrix: {dtype: [float16, float32]}, dtype: $dtype}\ncases: [{shape: [1]}, {shape: [2]}]"
    )
    assert [c.name for c in made] == ["1[float16]", "1[float32]", "2[float16]", "2[float32]"]


# --- matrix, zip, exclude -----------------------------------------------------------------------------------


def names(body: str) -> list[str]:
    return [c.name for c in cases(f"op: logit_grad\ncases:\n- name: m\n  {body}\n")]


def test_names_stand_anywhere_in_a_case_also_inside_a_list() -> None:
    made = cases(
        "op: logit_grad\ncases:\n- name: m\n  matrix: {m: [1, 2], k: [3]}\n  dtype: float32\n  shape: [$m, $k]\n"
    )
    assert [tensor(c, "x").shape for c in made] == [(1, 3), (2, 3)]
    assert [c.name for c in made] == ["m[m=1-k=3]", "m[m=2-k=3]"]


def test_dollar_is_text_in_name_and_description() -> None:
    (case,) = cases(
        "op: logit_grad\ncases: [{name: $m, description: $k, matrix: {dtype: [float32]}, dtype: $dtype, shape: [1]}]"
    )
    assert (case.name, case.description) == ("$m[float32]", "$k")


def test_zip_travels_together() -> None:
    body = "zip: {dtype: [float16, float32], eps: [0.1, 1e-6]}\n  dtype: $dtype\n  shape: [1]\n  attrs: {eps: $eps}"
    assert names(body) == ["m[float16-eps=0.1]", "m[float32-eps=1e-6]"]


def test_zip_and_matrix_multiply_in_the_order_they_are_written() -> None:
    body = "matrix: {n: [1, 2]}\n  zip: {dtype: [float16, float32]}\n  dtype: $dtype\n  shape: [$n]"
    assert names(body) == ["m[n=1-float16]", "m[n=1-float32]", "m[n=2-float16]", "m[n=2-float32]"]
    body = "zip: {dtype: [float16, float32]}\n  matrix: {n: [1, 2]}\n  dtype: $dtype\n  shape: [$n]"
    assert names(body) == ["m[float16-n=1]", "m[float16-n=2]", "m[float32-n=1]", "m[float32-n=2]"]


def test_exclude_leaves_out_partial_points() -> None:
    body = (
        "matrix: {dtype: [float16, float32], shape: [[], [2]]}\n"
        "  exclude: [{dtype: float16, shape: []}, {dtype: float32}]\n  dtype: $dtype\n  shape: $shape"
    )
    assert names(body) == ["m[float16-2]"]


def test_values_that_do_not_fit_a_label_are_told_by_their_index() -> None:
    body = "matrix: {d: [{uniform: [0, 1]}, 1.0, [[1, 2]]]}\n  dtype: float32\n  shape: [1, 2]\n  inputs: {x: {data: $d}}"
    assert names(body) == ["m[d=#1]", "m[d=1.0]", "m[d=#3]"]


def test_a_null_in_a_matrix() -> None:
    body = "matrix: {x: [null, {data: 1.0}]}\n  dtype: float32\n  shape: [2]\n  inputs: {x: $x}"
    assert names(body) == ["m[x=null]", "m[x=#2]"]


# --- short form, inputs -------------------------------------------------------------------------------------


def test_the_short_form_follows_the_operators_declaration() -> None:
    case = one("{dtype: float16, shape: [2, 5, 3]}", "batch_norm_elemt_backward")
    assert tensor(case, "mean").shape == (5,)
    assert tensor(case, "mean").dtype == "float16"
    assert tensor(case, "counter").dtype == "int32"
    assert tensor(case, "gradInput").shape == (2, 5, 3)


def test_the_short_form_fills_what_an_input_leaves_out() -> None:
    case = one("{dtype: float16, shape: [4], inputs: {x: {data: 0.5}, dy: {dtype: float32}}}")
    assert (tensor(case, "x").dtype, tensor(case, "x").shape) == ("float16", (4,))
    assert (tensor(case, "dy").dtype, tensor(case, "dy").shape) == ("float32", (4,))
    case = one(
        "{dtype: float16, shape: [2, 5], inputs: {counter: {shape: [7]}}}", "batch_norm_elemt_backward"
    )
    assert (tensor(case, "counter").dtype, tensor(case, "counter").shape) == ("int32", (7,))
    case = one("{dtype: float16, shape: [2, 5], inputs: {mean: {shape: [7]}}}", "batch_norm_elemt_backward")
    assert (tensor(case, "mean").dtype, tensor(case, "mean").shape) == ("float16", (7,))


def test_an_input_is_a_number_or_a_nested_list() -> None:
    case = one("{dtype: float16, shape: [2, 2], inputs: {x: 0.5, dy: [[1, 2], [3, 4]]}}")
    assert tensor(case, "x").data == Fill(0.5)
    assert tensor(case, "dy").data == Values((1, 2, 3, 4))
    case = one("{inputs: {x: [[0.1], [0.2]], dy: [1, 2, 3]}}")
    assert (tensor(case, "x").dtype, tensor(case, "x").shape) == ("float32", (2, 1))
    assert (tensor(case, "dy").dtype, tensor(case, "dy").shape) == ("int64", (3,))
    case = one("{inputs: {x: 0.5, dy: [true, false]}}")
    assert (tensor(case, "x").dtype, tensor(case, "x").shape) == ("float32", ())
    assert tensor(case, "dy").dtype == "bool"


def test_dtypes_may_be_spelt_in_any_way_of_the_field() -> None:
    case = one("{dtype: ACL_BF16, shape: [4], inputs: {x: {dtype: half}}}")
    assert (tensor(case, "dy").dtype, tensor(case, "x").dtype) == ("bfloat16", "float16")


def test_a_dtype_that_the_operator_refuses_loads() -> None:
    assert tensor(one("{dtype: complex64, shape: [4]}"), "x").dtype == "complex64"
    assert tensor(one("{dtype: int8, shape: [4]}"), "x").dtype == "int8"


def test_null_is_the_null_pointer_for_every_pointer() -> None:
    case = one(f"{{{ELU}, attrs: {{alpha: null}}, outputs: {{gradInput: null}}}}", "elu_backward")
    assert case.arguments["alpha"] is None
    assert case.arguments["gradInput"] is None


def test_layouts_strides_offset_storage_and_format() -> None:
    case = one(
        "{inputs: {x: {dtype: float32, shape: [2, 3], strides: [4, 1], offset: 5, storage_shape: [4, 4], format: nchw},"
        " dy: {dtype: float32, shape: [2, 3], layout: reversed}}}"
    )
    x = tensor(case, "x")
    assert (x.strides, x.offset, x.storage_shape, x.layout, x.format) == (
        (4, 1),
        5,
        (4, 4),
        "strided",
        "NCHW",
    )
    assert tensor(case, "dy").strides == (1, 2)


# --- attrs --------------------------------------------------------------------------------------------------


def test_attributes_take_the_operators_default() -> None:
    case = one("{dtype: float32, shape: [1]}")
    assert value(case, "eps") == -1.0


def test_a_scalar_may_say_its_dtype() -> None:
    case = one(
        "{dtype: int32, shape: [1], attrs: {threshold: {value: 3, dtype: int64}}}", "threshold_backward"
    )
    assert case.arguments["threshold"] == Attribute(3, "int64")
    case = one("{dtype: int32, shape: [1], attrs: {threshold: [1, -2]}}", "threshold_backward")
    assert case.arguments["threshold"] == Attribute(complex(1, -2))


@pytest.mark.parametrize(
    ("text", "wanted"), [("inf", math.inf), ("-inf", -math.inf), ("'.inf'", math.inf), ("1", 1.0)]
)
def test_doubles(text: str, wanted: float) -> None:
    made = value(one(f"{{dtype: float32, shape: [1], attrs: {{eps: {text}}}}}"), "eps")
    assert made == wanted
    assert isinstance(made, float)


def test_eps_may_be_nan() -> None:
    made = value(one("{dtype: float32, shape: [1], attrs: {eps: nan}}"), "eps")
    assert isinstance(made, float)
    assert math.isnan(made)


# --- every C type, on an operator that brings its own signature ---------------------------------------------

PROTOTYPE = (
    "aclnnStatus aclnnOddGetWorkspaceSize(const aclTensorList *tensors, aclTensor *varRef, const aclTensor *maskOptional,"
    " const aclIntArray *dims, const aclFloatArray *scales, const aclBoolArray *flags, const aclScalarList *factors,"
    " char *mode, aclDataType dtype, int8_t cubeMathType, uint64_t many, bool keep, float p,"
    " aclTensorList *out, uint64_t *workspaceSize, aclOpExecutor **executor)"
)
ODD = f"""
op: aclnnOdd
signature: '{PROTOTYPE}'
cases:
- inputs:
    tensors: [{{dtype: float32, shape: [2]}}, [1.0, 2.0], 3.0]
    varRef: {{dtype: float16, shape: [2], data: 1}}
  attrs: {{dims: [0, -1], scales: [0.5, inf], flags: [true], factors: [1, 2.5], mode: sum, dtype: DT_BF16,
    cubeMathType: -1, many: 3, keep: false, p: 1}}
  outputs: {{out: [{{dtype: float16, shape: [2]}}, {{shape: [3]}}]}}
  expect: {{outputs: {{varRef: [1, 2], out: ignore}}}}
"""


def test_every_c_type_has_its_value() -> None:
    (case,) = cases(ODD)
    tensors = case.arguments["tensors"]
    assert isinstance(tensors, tuple)
    assert [s.shape for s in tensors] == [(2,), (2,), ()]
    assert case.arguments["maskOptional"] is None
    got = {k: v.value for k, v in case.arguments.items() if isinstance(v, Attribute)}
    assert got == {
        "dims": (0, -1),
        "scales": (0.5, math.inf),
        "flags": (True,),
        "factors": (1, 2.5),
        "mode": "sum",
        "dtype": "bfloat16",
        "cubeMathType": -1,
        "many": 3,
        "keep": False,
        "p": 1.0,
    }
    out = case.arguments["out"]
    assert isinstance(out, tuple)
    assert [(s.dtype, s.shape) for s in out] == [("float16", (2,)), ("float32", (3,))]
    assert case.expected_outputs == {"varRef": Values((1, 2)), "out": "ignore"}
    assert case.signature is not None
    assert "aclnnOddGetWorkspaceSize" in case.signature


def test_a_signature_may_be_the_path_of_a_header(tmp_path: Path) -> None:
    (tmp_path / "aclnn_odd.h").write_text(f"#pragma once\n/* odd */\n{PROTOTYPE};\n")
    text = ODD.replace(f"'{PROTOTYPE}'", "aclnn_odd.h")
    (case,) = load(text, str(tmp_path / "f.yaml")).cases
    assert case.arguments == cases(ODD)[0].arguments
    assert case.source["signature"] == "aclnn_odd.h"


def test_a_reference_is_kept_as_written() -> None:
    (case,) = cases("op: logit_grad\nreference: dy / (x * (1 - x))\ncases: [{dtype: float32, shape: [1]}]")
    assert case.reference == "dy / (x * (1 - x))"
    (case,) = cases("op: logit_grad\ncases: [{dtype: float32, shape: [1], reference: 'mine.py:golden'}]")
    assert case.reference == "mine.py:golden"


# --- outputs ------------------------------------------------------------------------------------------------


def test_outputs_are_inferred_and_overridden_in_part() -> None:
    case = one("{dtype: float16, shape: [2, 3], outputs: {out: {dtype: float32}}}")
    assert (tensor(case, "out").dtype, tensor(case, "out").shape) == ("float32", (2, 3))
    case = one("{dtype: float16, shape: [2, 3], outputs: {out: {shape: [6], layout: padded}}}")
    assert (tensor(case, "out").dtype, tensor(case, "out").shape) == ("float16", (6,))


def test_inference_never_fails_a_case() -> None:
    case = one("{inputs: {x: null, dy: {dtype: float16, shape: [3]}}}")
    assert (tensor(case, "out").dtype, tensor(case, "out").shape) == ("float16", (3,))
    case = one("{inputs: {x: null, dy: null}}")
    assert (tensor(case, "out").dtype, tensor(case, "out").shape) == ("float32", (1,))
    case = one(
        "{inputs: {gradOutput: {dtype: int8, shape: [3]}, self: {dtype: int8, shape: [4]}}, attrs: {threshold: 0}}",
        "threshold_backward",
    )
    assert tensor(case, "out").shape == (3,)


# --- values -------------------------------------------------------------------------------------------------


def data(text: str, dtype: str = "float32", shape: str = "[2, 2]") -> object:
    return tensor(
        one(f"{{inputs: {{x: {{dtype: {dtype}, shape: {shape}, data: {text}}}, dy: 1.0}}}}"), "x"
    ).data


@pytest.mark.parametrize(
    ("text", "dtype", "shape", "wanted"),
    [
        ("[[1, 2], [3, 4]]", "float32", "[2, 2]", Values((1, 2, 3, 4))),
        ("[1, 2, 3, 4]", "float32", "[2, 2]", Values((1, 2, 3, 4))),
        ("7", "float32", "[2, 2]", Fill(7)),
        ("-inf", "float32", "[2]", Fill(-math.inf)),
        ("'inf'", "float32", "[2]", Fill(math.inf)),
        ("[inf, '-inf']", "float32", "[2]", Values((math.inf, -math.inf))),
        ("[5]", "float32", "[]", Values((5,))),
        ("5", "float32", "[]", Fill(5)),
        ("[]", "float32", "[0]", Values(())),
        ("[[], []]", "float32", "[2, 0]", Values(())),
        ("[]", "float32", "[2, 0]", Values(())),
        ("true", "bool", "[2]", Fill(True)),
        ("[1, 2]", "complex64", "[]", Fill(1 + 2j)),
        ("[1, 2]", "complex64", "[2]", Values((1, 2))),
        ("[[1, 2], [3, 4]]", "complex64", "[2]", Values((1 + 2j, 3 + 4j))),
        ("[[1, 2], [3, 4]]", "complex64", "[2, 2]", Values((1, 2, 3, 4))),
        ("[[[1, 2], 3], [4, [5, 6]]]", "complex64", "[2, 2]", Values((1 + 2j, 3, 4, 5 + 6j))),
        ("[0, 1]", "complex64", "[3, 3]", Fill(1j)),
        ("{uniform: [0, 1]}", "float32", "[2]", Generator("uniform", (0, 1))),
        ("{normal: [0.0, 2.0]}", "float32", "[2]", Generator("normal", (0.0, 2.0))),
        ("{integers: [-3, 3]}", "int8", "[2]", Generator("integers", (-3, 3))),
        ("{choice: [1, 2.5, -0.0]}", "float32", "[2]", Generator("choice", (1, 2.5, -0.0))),
        ("{choice: [[1, 2], 3]}", "complex64", "[2]", Generator("choice", (1 + 2j, 3))),
        ("{linspace: [0, 1]}", "float32", "[2]", Generator("linspace", (0, 1))),
        ("{permutation: }", "int32", "[2]", Generator("permutation")),
        ("{permutation: true}", "int32", "[2]", Generator("permutation")),
        ("{permutation: {}}", "int32", "[2]", Generator("permutation")),
        ("{permutation: []}", "int32", "[2]", Generator("permutation")),
        ("permutation", "int32", "[2]", Generator("permutation")),
        (
            "{uniform: [0, 1], specials: [inf, -0.0]}",
            "float32",
            "[2]",
            Generator("uniform", (0, 1), (math.inf, -0.0)),
        ),
    ],
)
def test_data_as_written(text: str, dtype: str, shape: str, wanted: object) -> None:
    assert repr(data(text, dtype, shape)) == repr(wanted)


def test_nan_is_a_number() -> None:
    made = data("[nan, .nan, 'nan', 1]")
    assert isinstance(made, Values)
    assert [isinstance(v, float) and math.isnan(v) for v in made.values] == [True, True, True, False]


def test_files_lie_beside_the_case_file(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.zeros((2, 3), np.float16))
    np.savez(tmp_path / "y.npz", a=np.ones(2, np.float32), b=np.ones(4, np.float32))
    (tmp_path / "z.bin").write_bytes(bytes(8))
    text = (
        "op: logit_grad\ncases:\n- inputs:\n    x: {data: {file: x.npy}}\n"
        "    dy: {dtype: float32, shape: [2], data: {file: 'y.npz:a', specials: [nan]}}\n"
        "- {dtype: float32, shape: [2], inputs: {x: {data: {file: ./z.bin}}},"
        " expect: {outputs: {out: {file: 'y.npz:a'}}}}\n"
    )
    case, other = load(text, str(tmp_path / "f.yaml")).cases
    assert (tensor(case, "x").dtype, tensor(case, "x").shape) == ("float16", (2, 3))
    assert tensor(case, "x").data == FromFile(str(tmp_path / "x.npy"))
    made = tensor(case, "dy").data
    assert isinstance(made, FromFile)
    assert (made.path, made.key, len(made.specials)) == (str(tmp_path / "y.npz"), "a", 1)
    assert tensor(other, "x").data == FromFile(str(tmp_path / "z.bin"))
    assert other.expected_outputs == {"out": FromFile(str(tmp_path / "y.npz"), "a")}


# --- expect, known_issue, only, repeat ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("ACLNN_ERR_PARAM_INVALID", ExpectedStatus(161002)),
        ("161002", ExpectedStatus(161002)),
        ("0", ExpectedStatus(0)),
        ("{code: 161002}", ExpectedStatus(161002)),
        ("{code: 507011, phase: sync}", ExpectedStatus(507011, Phase.SYNC)),
        (
            "{code: 361001, phase: 2, message: 'dy .* small'}",
            ExpectedStatus(361001, Phase.TWO, "dy .* small"),
        ),
    ],
)
def test_expected_status(text: str, wanted: ExpectedStatus) -> None:
    assert one(f"{{dtype: float32, shape: [1], expect: {{status: {text}}}}}").status == wanted


def test_without_expectation_there_is_no_status() -> None:
    assert one("{dtype: float32, shape: [1]}").status is None


def test_expected_values_fit_the_output() -> None:
    case = one("{dtype: float32, shape: [2], expect: {outputs: {out: [nan, 1]}}}")
    assert isinstance(case.expected_outputs["out"], Values)
    assert one("{dtype: float32, shape: [2], expect: {outputs: {out: inf}}}").expected_outputs == {
        "out": Fill(math.inf)
    }
    assert one("{dtype: float32, shape: [2], expect: {outputs: {out: ignore}}}").expected_outputs == {
        "out": "ignore"
    }


def test_standards_of_a_case() -> None:
    origin = "expect.standard of the case"
    case = one("{dtype: float32, shape: [2], standard: bits, expect: {standard: {ulp: {max: 2}}}}")
    assert case.standard == StandardChoice("ulp", {"max": 2}, origin)
    case = one("{dtype: float32, shape: [2], standard: bits, expect: {standard: {out: {ulp: {max: 2}}}}}")
    assert case.standard == StandardChoice("bits", {}, "standard of the case")
    assert case.output_standards == {"out": StandardChoice("ulp", {"max": 2}, origin)}
    case = one("{dtype: float32, shape: [2], expect: {standard: {out: exact}}}")
    assert case.output_standards == {"out": StandardChoice("exact", {}, origin)}


def test_the_check_of_standards_is_told_the_dtype_of_the_output() -> None:
    told: list[tuple[str, str | None]] = []
    load_text(
        "op: logit_grad\nstandard: a\ncases: [{dtype: float16, shape: [1], expect: {standard: {out: b}}}]",
        "f.yaml",
        check_standard=lambda choice, dtype: told.append((choice.name, dtype)),
    )
    assert told == [("a", None), ("b", "float16")]


def test_known_issue_repeat_and_deterministic() -> None:
    case = one("{dtype: float32, shape: [1], known_issue: rounding, repeat: 3}")
    assert (case.known_issue, case.repeat, case.deterministic) == (KnownIssue("rounding"), 3, 1)
    case = one(
        "{dtype: float32, shape: [1], known_issue: {reason: r, expires: 2027-01-31}, repeat: 3, deterministic: 2}"
    )
    assert (case.known_issue, case.repeat, case.deterministic) == (KnownIssue("r", "2027-01-31"), 3, 2)
    assert one("{dtype: float32, shape: [1]}").deterministic is None


def test_only() -> None:
    case = one(
        "{dtype: float32, shape: [1], only: {product: [Ascend950, atlas_a3], backend: device, cann: '>=8.5'}}"
    )
    assert case.only == Only(("ascend950", "atlas_a3"), "device", ">=8.5")
    assert one("{dtype: float32, shape: [1], only: {cann: 8.10}}").only == Only(cann="8.10")


# --- what travels -------------------------------------------------------------------------------------------


def test_the_source_is_the_whole_case_as_plain_data() -> None:
    case = load(EXAMPLE).cases[9]
    assert case.source == {
        "name": "sweep[float16-16x3x171-eps=0.01]",
        "op": "logit_grad",
        "description": "Gradient of logit.",
        "product": "atlas_a2",
        "standard": "ecosystem",
        "seed": 7,
        "attrs": {"eps": 0.01},
        "inputs": {
            "x": {"dtype": "float16", "shape": [16, 3, 171], "data": {"uniform": [0.0, 1.0]}},
            "dy": {"dtype": "float16", "shape": [16, 3, 171], "data": {"normal": [0.0, 1.0]}},
        },
    }


def test_cases_travel_to_other_processes() -> None:
    import pickle

    for case in (*load(EXAMPLE).cases, *cases(ODD)):
        assert pickle.loads(pickle.dumps(case)) == case


def test_an_operator_in_which_nothing_is_declared(monkeypatch: pytest.MonkeyPatch) -> None:
    @make_operator(
        "aclnnStatus aclnnMineGetWorkspaceSize(const aclTensor *self, double p, aclTensor *out,"
        " uint64_t *workspaceSize, aclOpExecutor **executor)"
    )
    def mine(self, *, p):  # type: ignore[no-untyped-def]
        """Powers."""
        return self**p

    def resolve(name: str, *, signature: str | None = None, reference: str | None = None) -> Operator:
        return mine

    monkeypatch.setattr("ascend_opcli.reference.resolve.resolve", resolve)
    case = one("{dtype: float32, shape: [2], attrs: {p: 2}}", "mine")
    assert value(case, "p") == 2.0
    with pytest.raises(CaseFileError, match="p of aclnnMine has no default: write a value under attrs"):
        one("{dtype: float32, shape: [2]}", "mine")


def test_stdin_takes_its_data_from_the_current_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import io
    import sys
    from types import SimpleNamespace

    np.save(tmp_path / "x.npy", np.zeros(2, np.float32))
    monkeypatch.chdir(tmp_path)
    text = b"op: logit_grad\ncases: [{dtype: float32, shape: [2], inputs: {x: {data: {file: x.npy}}}}]"
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(text)))
    (case,) = load_file("-", check_standard=accept).cases
    assert case.id == "<stdin>::1"
    assert tensor(case, "x").data == FromFile(str(tmp_path / "x.npy"))


def test_the_same_case_under_another_name_has_the_same_arguments() -> None:
    first, second = cases(
        "op: logit_grad\ncases: [{name: a, dtype: float32, shape: [2]}, {name: b, dtype: float32, shape: [2]}]"
    )
    assert dataclasses.replace(first, name="b", where=second.where, source=second.source) == second
