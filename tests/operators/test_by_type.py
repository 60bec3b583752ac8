"""Operators named by their type: the registration's names, defaults and dtype columns, judged on the host."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest

from ascend_opcli.casefile.inline import CallOptions, parse
from ascend_opcli.casefile.open import load_file
from ascend_opcli.casefile.repro import format
from ascend_opcli.casefile.show import to_yaml
from ascend_opcli.operators.catalog import UnknownOperator, find
from ascend_opcli.operators.documents import by_type, registrations
from tests.conftest import Opcli

SQUARE = """
op: ir:SquareSumAll
reference: (sum(x1 * x1), sum(x2 * x2))
cases:
  - name: by-hand
    inputs:
      x1: {dtype: float32, shape: [3], data: [1, 2, 3]}
      x2: {dtype: float32, shape: [2], data: [-4, 0.5]}
    expect: {outputs: {y1: 14, y2: 16.25}}
  - {name: random, dtype: float32, shape: [33]}
  - {name: refused, dtype: float16, shape: [4], product: ascend950, expect: {status: ACL_ERROR_GE_FAILURE}}
"""


def checked(_node: object) -> None:
    """Standards are not what is tested here."""


@pytest.fixture
def square(tmp_path: Path) -> Path:
    path = tmp_path / "square.yaml"
    path.write_text(SQUARE)
    return path


def test_a_kernel_without_an_aclnn_entry_is_judged_by_the_reference_of_the_case(
    opcli: Opcli, square: Path
) -> None:
    done = opcli("run", square)
    assert done.code == 0, done.err
    assert "3 cases: 3 PASS" in done.out + done.err
    assert "no column of the kernel table fits the dtypes x1 float16" in done.out + done.err


def test_a_wrong_golden_fails(opcli: Opcli, square: Path) -> None:
    square.write_text(SQUARE.replace("y1: 14,", "y1: 15,"))
    assert opcli("run", square).code == 1


def test_without_a_reference_nobody_judges(opcli: Opcli) -> None:
    done = opcli("run", "--op", "ir:SquareSumAll", "--dtype", "float32", "--shape", "4")
    assert done.code == 4
    assert "cannot judge" in done.out + done.err


def test_show_gives_the_registered_names(opcli: Opcli) -> None:
    done = opcli("ops", "show", "ir:EluGradV2")
    assert done.code == 0
    assert "EluGradV2(grads, activations, alpha, scale, input_scale, is_result) -> (y)" in done.out + done.err
    assert "contract of the kernel" in done.out + done.err
    assert "aclnn" not in re.sub(r"op: .*", "", done.out)


@pytest.mark.parametrize("word", ["ir:SquareSumAl", "ir:SqareSumAll", "ir:squaresumal"])
def test_a_wrong_type_gets_the_nearest(opcli: Opcli, word: str) -> None:
    done = opcli("ops", "show", word)
    assert done.code == 2
    assert "did you mean 'ir:SquareSumAll'" in done.out + done.err


@pytest.mark.parametrize("word", ["ir:", "ir:  ", "ir:\N{SNOWMAN}", "ir:" + "x" * 5000, "ir:ir:Abs"])
def test_no_type_at_all_is_one_sentence(word: str) -> None:
    with pytest.raises(UnknownOperator, match="unknown operator type"):
        find(word)


def test_the_letters_case_of_a_type_does_not_matter() -> None:
    assert find("ir:logitgrad").signature == find(" ir:LogitGrad ").signature


def test_a_signature_beside_a_type_is_refused_where_it_stands(opcli: Opcli, tmp_path: Path) -> None:
    path = tmp_path / "signed.yaml"
    path.write_text(
        "op: ir:Abs\nsignature: aclnnStatus aclnnAbsGetWorkspaceSize(aclTensor *x, aclTensor *out)\n"
        "cases: [{dtype: float32, shape: [2]}]\n"
    )
    done = opcli("run", path)
    assert done.code == 2
    assert "signed.yaml:2" in done.out + done.err
    assert "leave out signature" in done.out + done.err


def test_wrong_parameter_names_get_the_registered_one(opcli: Opcli) -> None:
    done = opcli("run", "--op", "ir:SquareSumAll", "--in", "x3=float32[4]")
    assert done.code == 2
    assert "it has x1, x2" in done.out + done.err


def test_every_registered_type_is_an_operator() -> None:
    drawn = random.Random(7).sample(registrations.names(), 150)
    for kernel in (*drawn, "ApplyAdamWV2", "SquareSumAll"):
        operator = find(f"ir:{kernel}")
        registered = by_type.leading(registrations.registrations(kernel))
        params = {p.name: p for p in operator.signature.params}
        assert len(params) == len(operator.signature.params)
        assert {t.name for t in registered.inputs} == {
            n for n, p in params.items() if p.is_tensor and p.is_input
        }
        assert {t.name for t in registered.outputs} == {p.name for p in operator.signature.outputs}
        for attribute in registered.attributes:
            assert operator.defaults.get(attribute.name) == attribute.default
            assert not params[attribute.name].is_tensor


def test_an_output_takes_the_dtype_of_its_column() -> None:
    case = parse(CallOptions("ir:Abs", "complex64", "2x3"), check_standard=checked)  # type: ignore[arg-type]
    assert case.arguments["y"].dtype == "float32"  # type: ignore[union-attr]


def test_an_input_written_in_place_is_one_parameter() -> None:
    operator = find("ir:ApplyAdam")
    assert operator.signature["var"].io == "inout"


def test_a_case_by_type_survives_show_and_options(square: Path) -> None:
    (_, case, _) = load_file(square, check_standard=checked).cases  # type: ignore[arg-type]
    square.write_text(to_yaml(case))
    (again,) = load_file(square, check_standard=checked).cases  # type: ignore[arg-type]
    assert again.arguments == case.arguments
    plain = parse(CallOptions("ir:Abs", "float16", "2x3"), check_standard=checked)  # type: ignore[arg-type]
    assert format(plain) == ["--op", "ir:Abs", "--dtype", "float16", "--shape", "2x3"]


def test_a_wrong_way_is_an_error_at_its_place(opcli: Opcli, square: Path) -> None:
    square.write_text("op: logit_grad\nvia: irr\ncases: [{dtype: float32, shape: [2]}]\n")
    done = opcli("run", square)
    assert done.code == 2
    assert "square.yaml:2:6: via is aclnn or ir, not 'irr'" in done.err


def test_the_way_of_a_file_stands_in_every_case_that_is_shown(opcli: Opcli, square: Path) -> None:
    square.write_text("op: logit_grad\nvia: ir\ncases: [{name: a, dtype: float32, shape: [2]}]\n")
    assert "via: ir" in opcli("cases", "show", f"{square}::a").out
