"""Files that somebody wrote to do harm, or a machine by chance: a sentence within a second, nothing else."""

# One row, one line: the tables are read by column.
# ruff: noqa: E501

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ascend_opcli.casefile import expand, tree, yaml_text
from ascend_opcli.casefile.open import load_file, load_text
from ascend_opcli.errors import CaseFileError
from ascend_opcli.model import StandardChoice

MOST = 3.0
"""Of CPU time, which other work on the machine does not lengthen."""


def accept(choice: StandardChoice, dtype: str | None) -> None:
    """Any standard will do."""


def refused(text: str) -> str:
    start = time.process_time()
    with pytest.raises(CaseFileError) as caught:
        load_text(text, "f.yaml", check_standard=accept)
    assert time.process_time() - start < MOST
    message = str(caught.value)
    assert "\n" not in message
    assert len(message) < 500
    return message


def bomb(levels: int, width: int = 10) -> str:
    lines = ["x-0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"x-{i}: &a{i} [{', '.join([f'*a{i - 1}'] * width)}]" for i in range(1, levels)]
    return "\n".join(lines)


def test_an_alias_bomb() -> None:
    assert "more than 1,000,000 values with aliases expanded" in refused(bomb(30))


def test_an_alias_bomb_of_merge_keys() -> None:
    lines = ["x-0: &a0 {k: 1}"]
    lines += [f"x-{i}: &a{i} {{<<: [{', '.join([f'*a{i - 1}'] * 50)}], k{i}: 1}}" for i in range(1, 40)]
    refused("\n".join(lines) + "\n")


def test_a_bomb_of_matrices() -> None:
    axes = ", ".join(f"n{i}: [{', '.join(str(k) for k in range(50))}]" for i in range(200))
    assert "over the limit of 100,000 cases" in refused(
        f"op: logit_grad\ncases:\n- matrix: {{{axes}}}\n  dtype: float32\n  shape: [$n0]\n"
    )


def test_many_cases_that_share_much(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ascend_opcli.casefile.loader.MAX_EXPANDED", 50_000)
    values = ", ".join(["1.0"] * 1_000)
    cases = "\n".join(f"- {{name: c{i}}}" for i in range(1_000))
    message = refused(
        f"op: logit_grad\ndefaults: {{dtype: float32, shape: [1000], inputs: {{x: [{values}]}}}}\ncases:\n{cases}\n"
    )
    assert "expands to more than" in message


@pytest.mark.parametrize(
    "text",
    [
        "[" * 20_000,
        "[" * 20_000 + "]" * 20_000,
        "{a: " * 20_000 + "1" + "}" * 20_000,
        "- " * 20_000,
        "\n".join(" " * i + "-" for i in range(5_000)),
        "\n".join(" " * i + "a:" for i in range(5_000)),
        "? " * 20_000,
        "a: " + "&a " * 10_000,
        "!" * 100_000,
        "a: !" + "x" * 1_000_000 + " 1",
        "*" * 1_000_000,
        "&" + "a" * 1_000_000,
    ],
)
def test_deep_nesting_and_long_tokens(text: str) -> None:
    refused(text)


def test_depth_is_counted_through_aliases() -> None:
    lines = ["x-0: &a0 [x]"] + [f"x-{i}: &a{i} [[[[[*a{i - 1}]]]]]" for i in range(1, 40)]
    assert "nested more than 100 deep" in refused("\n".join(lines))


def test_sixty_five_megabytes() -> None:
    assert "larger than 64 MiB" in refused("a: " + "x" * 68_157_440)


def test_a_file_of_sixty_five_megabytes(tmp_path: Path) -> None:
    path = tmp_path / "f.yaml"
    with path.open("wb") as file:
        file.truncate(2**40)  # sparse
    start = time.process_time()
    with pytest.raises(CaseFileError, match="larger than 64 MiB"):
        load_file(path, check_standard=accept)
    assert time.process_time() - start < MOST


@pytest.mark.parametrize(
    "key", ["op", "name", "dtype", "product", "reference", "signature", "tags", "matrix"]
)
def test_long_words_where_words_are_compared(key: str) -> None:
    base = {"op": "logit_grad", "dtype": "float32", "shape": "[1]"}
    body = ", ".join(f"{k}: {v}" for k, v in {**base, key: "x" * 2_000_000}.items())
    refused(f"cases:\n- {{{body}}}\n")


@pytest.mark.parametrize(
    "text",
    [
        "cases: [{" + "k" * 2_000_000 + ": 1}]",
        "op: logit_grad\ncases: [{dtype: float32, shape: [1], inputs: {" + "k" * 2_000_000 + ": 1}}]",
        "op: logit_grad\ncases: [{dtype: float32, shape: [1], expect: {status: " + "k" * 2_000_000 + "}}]",
        "op: logit_grad\ncases: [{dtype: float32, shape: [1], expect: {standard: {" + "k" * 2_000_000 + ": {}}}}]",
        "op: logit_grad\ncases: [{dtype: float32, shape: [1], inputs: {x: {data: " + "k" * 2_000_000 + "}}}]",
        "op: logit_grad\ncases: [{dtype: $" + "k" * 2_000_000 + ", shape: [1]}]",
        "op: logit_grad\ncases: [{dtype: float32, shape: [1], inputs: {x: {data: {file: " + "k" * 2_000_000 + "}}}}]",
        "op: logit_grad\ncases: [{dtype: float32, shape: [" + "9" * 299 + "]}]",
        "op: logit_grad\ncases: [{dtype: float32, shape: [1], seed: " + "9" * 299 + "}]",
        "op: logit_grad\ncases: [{dtype: float32, shape: [1], inputs: {x: " + "9" * 5_000 + "}}]",
        "op: logit_grad\ncases: [{dtype: float32, shape: [1], inputs: {x: 0x" + "f" * 299 + "}}]",
        "op: logit_grad\ncases: [{dtype: float32, shape: [1], expect: {status: {code: 1, message: '" + "(" * 900 + "'}}}]",
        "op: logit_grad\ncases: [{dtype: float32, shape: [1], signature: '" + "(/*" * 20_000 + "'}]",
        "op: logit_grad\ncases: [{dtype: float32, shape: [1], signature: /dev/zero}]",
        "op: logit_grad\ncases: [{dtype: float32, shape: [1], reference: '" + "(" * 50_000 + "'}]",
        "op: logit_grad\ncases: [{dtype: float32, shape: [1], reference: '" + "-" * 50_000 + "x'}]",
        "op: logit_grad\ncases: [{dtype: float32, shape: [1], inputs: {x: {file: \"a\\0b\"}}}]",
        "op: logit_grad\ncases: [{dtype: float32, shape: [1], inputs: {x: {data: {file: \"a\\0b\"}}}}]",
        "op: \"logit\\ud800\"\ncases: [{dtype: float32, shape: [1]}]",
    ],
)  # fmt: skip
def test_long_or_odd_words(text: str) -> None:
    refused(text)


def test_a_large_seed_value_is_no_traceback() -> None:
    text = "op: logit_grad\ncases: [{dtype: float32, shape: [1], inputs: {x: " + "9" * 299 + "}}]"
    load_text(text, "f.yaml", check_standard=accept)


def test_a_pipe_is_no_case_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "f.yaml")
    with pytest.raises(CaseFileError, match="is not a file"):
        load_file(tmp_path / "f.yaml", check_standard=accept)


def test_a_pipe_is_no_data_and_no_header(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for key in ("inputs: {x: {data: {file: pipe}}}", "signature: pipe"):
        with pytest.raises(CaseFileError):
            load_text(
                f"op: logit_grad\ncases: [{{dtype: float32, shape: [1], {key}}}]",
                str(tmp_path / "f.yaml"),
                check_standard=accept,
            )


# --- chance -------------------------------------------------------------------------------------------------

VALID = """\
opcli: 1
op: elu_backward
x-t: &t {dtype: float16, shape: [2, 3], layout: padded}
product: Ascend910B1
standard: {ulp: {max: 2}}
defaults: {attrs: {alpha: {value: 1.0, dtype: float32}}, tags: [a]}
cases:
- name: m
  matrix: {dtype: [float16, float32], shape: [[], [2, 3]], n: [1, 2]}
  zip: {a: [1.0, 2.0], b: [true, false]}
  exclude: [{dtype: float16, n: 2}]
  dtype: $dtype
  shape: $shape
  attrs: {alpha: $a, isResult: $b}
  repeat: $n
- inputs: {gradOutput: {<<: *t, data: {uniform: [0, 1], specials: [nan, -inf]}}, selfOrResult: *t}
  outputs: {gradInput: {dtype: float32, strides: [3, 1], offset: 2}}
  expect: {status: {code: 161002, phase: 1, message: 'a.*b'}, standard: {gradInput: exact}, outputs: {gradInput: 1}}
  known_issue: {reason: r, expires: 2026-01-01}
  only: {product: [atlas_a3], backend: host, cann: '>=8.5'}
  deterministic: 1
- op: aclnnOdd
  inputs: {tensors: [[[1, 2], [3, .5]], 1.0], varRef: {shape: [2], dtype: complex64, data: [[1, 2], 3]}}
  attrs: {alpha: [1, 2], dims: [1], mode: sum, dtype: half, keep: true}
  signature: 'aclnnStatus aclnnOddGetWorkspaceSize(const aclTensorList *tensors, aclTensor *varRef, const aclScalar
    *alpha, const aclIntArray *dims, char *mode, aclDataType dtype, bool keep, aclTensor *out)'
  reference: alpha * varRef
"""


def test_the_valid_file_is_valid() -> None:
    names = [case.name for case in load_text(VALID, "f.yaml", check_standard=accept).cases]
    assert len(names) == 2 * 2 * 2 * 2 - 2 * 2 + 2


CALM = settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def survives(load: Callable[[], object]) -> None:
    """Loads, or refuses with one sentence and its place."""
    refusal: CaseFileError | None = None
    try:
        load()
    except CaseFileError as error:
        refusal = error
    if refusal is not None:
        assert "\n" not in str(refusal)
        assert refusal.where is not None


def loads(text: str) -> None:
    survives(lambda: load_text(text, "f.yaml", check_standard=accept))


@CALM
@given(st.text())
def test_any_text(text: str) -> None:
    loads(text)


@CALM
@given(st.binary())
def test_any_bytes(data: bytes) -> None:
    survives(lambda: load_text(yaml_text.decode(data, "f.yaml"), "f.yaml", check_standard=accept))


@CALM
@given(st.text(alphabet=" \n-:[]{},&*ab1$<#'\"!|>?%~.\t", max_size=80))
def test_any_yaml_like_text(text: str) -> None:
    loads(text)


PIECES = [
    "null",
    "[]",
    "{}",
    "-1",
    "1e9",
    "nan",
    "$dtype",
    "*t",
    "'",
    "[[1]]",
    "{a: b}",
    "&z ",
    "true",
    "\n",
    "  ",
    ": ",
    "x",
]


@settings(CALM, max_examples=600)
@given(st.data())
def test_a_valid_file_with_anything_in_any_place(data: st.DataObject) -> None:
    text = VALID
    for _ in range(data.draw(st.integers(1, 3))):
        start = data.draw(st.integers(0, len(text)))
        stop = min(len(text), start + data.draw(st.integers(0, 12)))
        piece = data.draw(st.sampled_from(PIECES) | st.text(max_size=4))
        text = text[:start] + piece + text[stop:]
    loads(text)


def nodes(node: tree.Node) -> list[tuple[object, object]]:
    found: list[tuple[object, object]] = []
    if isinstance(node, tree.Mapping):
        for key, value in node.entries.items():
            found += [(node, key), *nodes(value)]
    elif isinstance(node, tree.Sequence):
        for index, value in enumerate(node.items):
            found += [(node, index), *nodes(value)]
    return found


WILD = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats() | st.text(max_size=5)
    | st.sampled_from(["float16", "int8", "complex64", "bool", "nan", "ignore", "permutation", "atlas_a2", "$dtype"]),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(
        st.sampled_from(
            ["dtype", "shape", "data", "uniform", "choice", "file", "specials", "value", "code", "x", "strides", "layout"]
        ),
        inner,
        max_size=3,
    ),
    max_leaves=6,
)  # fmt: skip


@settings(CALM, max_examples=600)
@given(st.data())
def test_a_valid_file_with_any_value_in_the_place_of_another(data: st.DataObject) -> None:
    from ascend_opcli.casefile.show import flow

    root = yaml_text.parse(VALID, "f.yaml")
    assert root is not None
    parent, key = data.draw(st.sampled_from(nodes(root)))
    plain = tree.from_plain(data.draw(WILD), root)
    if isinstance(parent, tree.Mapping):
        assert isinstance(key, str)
        parent.entries[key] = plain
    else:
        assert isinstance(parent, tree.Sequence)
        assert isinstance(key, int)
        parent.items[key] = plain
    loads(flow(tree.plain(root)))


def test_limits_are_what_the_messages_say() -> None:
    assert (yaml_text.MAX_DEPTH, yaml_text.MAX_NODES, yaml_text.MAX_BYTES, expand.MAX_CASES) == (
        100,
        1_000_000,
        64 * 2**20,
        100_000,
    )
