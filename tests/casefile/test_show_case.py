"""A case printed as one document is the same case again."""

# One row, one line: the tables are read by column.
# ruff: noqa: E501

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from ascend_opcli.casefile import tree, yaml_text
from ascend_opcli.casefile.open import load_text
from ascend_opcli.casefile.show import WIDTH, flow, scalar, to_yaml
from ascend_opcli.model import Case, StandardChoice


def accept(choice: StandardChoice, dtype: str | None) -> None:
    """Any standard will do."""


def cases(text: str) -> tuple[Case, ...]:
    return load_text(text, "f.yaml", check_standard=accept).cases


def again(case: Case) -> Case:
    (made,) = cases(to_yaml(case))
    return dataclasses.replace(made, where=case.where)


FILE = """\
op: elu_backward
x-t: &t {dtype: float16, shape: [2, 3], layout: padded}
product: Ascend910B1
standard: {ulp: {max: 2}}
seed: 12
defaults: {attrs: {alpha: {value: 1.0, dtype: float32}}, tags: [a, 'no']}
cases:
- name: m
  matrix: {dtype: [float16, float32], shape: [[], [2, 3]]}
  zip: {a: [1.0, 2.0], b: [true, false]}
  dtype: $dtype
  shape: $shape
  attrs: {alpha: $a, isResult: $b}
- inputs: {gradOutput: {<<: *t, data: {uniform: [0, 1e-6], specials: [1.0, -inf]}}, selfOrResult: *t}
  standard: bits
  outputs: {gradInput: {dtype: float32, strides: [3, 1], offset: 2}}
  expect: {status: {code: 161002, phase: 1, message: 'a: .*#b'}, standard: {gradInput: exact}, outputs: {gradInput: 1}}
  known_issue: {reason: "r: #1 \\t ü", expires: 2026-01-01}
  only: {product: [atlas_a3], backend: host, cann: '>=8.5'}
  repeat: 3
- inputs: {gradOutput: null, selfOrResult: [[.5, inf], [-0.0, 1e300]]}
  description: "two\\nlines"
"""


def test_every_case_of_a_file_is_equal_when_read_again() -> None:
    for case in cases(FILE):
        assert again(case) == case
        assert again(case).source == case.source


def test_nan_is_kept() -> None:
    (case,) = cases(
        "op: logit_grad\ncases: [{dtype: float32, shape: [1], inputs: {x: nan}, attrs: {eps: .nan}}]"
    )
    assert repr(again(case)) == repr(case)


def test_the_document_is_short_and_readable() -> None:
    assert to_yaml(cases(FILE)[3]) == (
        "opcli: 1\n"
        "op: elu_backward\n"
        "standard: {ulp: {max: 2}}\n"
        "cases:\n"
        '  - name: "m[float16-2x3-a=2.0-b=false]"\n'
        "    product: atlas_a2\n"
        "    seed: 12\n"
        '    tags: [a, "no"]\n'
        "    dtype: float16\n"
        "    shape: [2, 3]\n"
        "    attrs: {alpha: 2.0, isResult: false}\n"
    )


def test_long_lists_are_broken_into_lines() -> None:
    values = ", ".join(str(k / 7) for k in range(64))
    (case,) = cases(f"op: logit_grad\ncases: [{{dtype: float64, shape: [8, 8], inputs: {{x: [{values}]}}}}]")
    assert again(case) == case
    assert max(map(len, to_yaml(case).splitlines())) <= WIDTH


@pytest.mark.parametrize(
    "text",
    ["no", "1e-6", "null", "~", "", " a", "a ", "a: b", "a #b", "- a", "[a]", "'", '"', "\\", "a\nb", "\0", "\x7f", "\u2028",
     "😀", "ü", "1.0", "0x10", "=", "<<", "&a", "*a", "!a", "%a", "@a", "`a", "|", ">", "a,b", "2026-01-01", "12:30", "\ufeff"],
)  # fmt: skip
def test_text_is_read_as_text_by_us_and_by_others(text: str) -> None:
    for document in (f"a: {scalar(text)}", f"[{scalar(text)}]"):
        node = yaml_text.parse(document, "f")
        assert node is not None
        made = tree.plain(node)
        assert (made["a"] if isinstance(made, dict) else made[0]) == text
        other = yaml.safe_load(document)
        assert (other["a"] if isinstance(other, dict) else other[0]) == text


PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**30), 10**30) | st.floats() | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), inner),
    max_leaves=12,
)  # fmt: skip
LOADERS: tuple[Callable[[str], object], ...] = (
    lambda text: tree.plain(yaml_text.parse(text, "f")),  # type: ignore[arg-type]
    yaml.safe_load,
)


@given(PLAIN)
def test_plain_data_survive_flow_style_in_both_versions_of_yaml(value: object) -> None:
    for load in LOADERS:
        assert repr(load(flow(value))) == repr(value)


def test_small_numbers_are_numbers_for_every_yaml() -> None:
    assert scalar(1e-6) == "1.0e-06"
    assert yaml.safe_load("1.0e-06") == 1e-6
    assert scalar(math.inf) == ".inf"
    assert scalar(-0.0) == "-0.0"
