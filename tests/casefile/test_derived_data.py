"""``data: {expr: ...}``: inputs worked out of other inputs and attributes, the same on every run."""

from __future__ import annotations

import json
import shlex
from typing import Any

import numpy as np
import pytest

from ascend_opcli.casefile.open import load_text
from ascend_opcli.errors import CaseFileError
from ascend_opcli.model import Case, Tensor
from ascend_opcli.reference.call import make_call
from ascend_opcli.reference.resolve import operator_of
from ascend_opcli.tensors.layout import view
from ascend_opcli.verification.standards.choice import check_for
from tests.conftest import CaseFile, Opcli

MIX = (
    "aclnnStatus aclnnMixGetWorkspaceSize(const aclTensor *x, const aclTensor *y, const aclTensor *index,"
    " const aclTensor *weightOptional, const aclTensorList *parts, int64_t dim, double eps, const aclIntArray *sizes,"
    " const aclTensor *out)"
)


def case(inputs: str, attrs: str = "dim: 1, eps: 0.5, sizes: [2, 3]", more: str = "") -> Case:
    """A case of aclnnMix with lines of ``inputs`` in place of those that stand here."""
    standing = {
        "x": "x: {dtype: float32, shape: [4, 6], data: {uniform: [0, 1]}}",
        "y": "y: {dtype: float32, shape: [4, 6]}",
        "index": "index: {dtype: int64, shape: [8], data: 0}",
        "parts": "parts: [{dtype: float32, shape: [2], data: 1}, {dtype: float32, shape: [3], data: 2}]",
    }
    given = {line.split(":")[0].strip(): line.strip() for line in inputs.splitlines()}
    lines = "\n      ".join({**standing, **given}.values())
    text = f"""
op: aclnnMix
signature: {MIX}
cases:
  - name: a
    inputs:
      {lines}
    attrs: {{{attrs}}}
    {more}
"""
    (made,) = load_text(text, "f.yaml", check_standard=check_for).cases
    return made


def values(made: Case) -> dict[str, Any]:
    call = make_call(made, operator_of(made).signature, "atlas_a2")
    arrays: dict[str, Any] = {"sha256": call.inputs_sha256}
    for name, bound in call.arguments.items():
        if isinstance(bound, Tensor):
            arrays[name] = view(bound)
        elif isinstance(bound, tuple):
            arrays[name] = [view(t) for t in bound]
    return arrays


def data(name: str, text: str, dtype: str = "int64", shape: str = "[8]", more: str = "") -> str:
    return f"{name}: {{dtype: {dtype}, shape: {shape}, data: {{expr: '{text}'{more}}}}}"


def test_a_backward_input_comes_of_the_forward() -> None:
    made = values(case(data("y", "1 / (1 + exp(-x)) + eps", "float16", "[4, 6]")))
    x = made["x"].astype(np.float64)
    assert np.array_equal(made["y"], (1 / (1 + np.exp(-x)) + 0.5).astype(np.float16))


def test_attributes_arrays_of_attributes_lists_and_chains_can_be_read() -> None:
    made = values(
        case(
            data("y", "sum(x, axis=dim, keepdims=True) * array(sizes)", "float32", "[4, 2]")
            + "\n      "
            + data("index", "argsort(reshape(y, (8,)))")
            + "\n      "
            + data("weightOptional", "sum(concatenate(parts))", "float32", "[]")
        )
    )
    sums = made["x"].astype(np.float64).sum(1, keepdims=True) * [2, 3]
    np.testing.assert_array_equal(made["y"], sums.astype(np.float32))
    assert made["index"].tolist() == np.argsort(made["y"].reshape(8), kind="stable").tolist()
    assert made["weightOptional"] == 8.0


def test_a_member_of_a_list_may_be_derived() -> None:
    made = values(
        case(
            "parts: [{dtype: float32, shape: [6], data: {expr: 'max(x, axis=0)'}}, {dtype: float32, shape: [1]}]"
        )
    )
    assert made["parts"][0].tolist() == made["x"].max(0).tolist()


def test_a_generator_alone_draws_what_it_draws_by_itself() -> None:
    alone = values(case("y: {dtype: float16, shape: [4, 6], data: {uniform: [-1, 2]}}"))
    derived = values(case(data("y", "uniform(-1, 2)", "float16", "[4, 6]")))
    assert alone["sha256"] == derived["sha256"]
    twice = values(case(data("y", "uniform(0, 1) - uniform(0, 1)", "float32", "[4, 6]")))["y"]
    assert np.count_nonzero(twice) == twice.size


def test_sorted() -> None:
    made = values(case(data("y", "sorted(normal(0, 1))", "float32", "[4, 6]")))["y"]
    assert (np.diff(made, axis=-1) >= 0).all()
    down = values(case(data("index", "-sorted(-integers(0, 99))")))["index"]
    assert (np.diff(down) <= 0).all()
    assert len(set(down.tolist())) > 1


@pytest.mark.parametrize(("low", "high"), [(0, 7), (0, 20), (-5, 10**6), (3, 2**40)])
def test_unique(low: int, high: int) -> None:
    made = values(case(data("index", f"unique({low}, {high})")))["index"].tolist()
    assert len(set(made)) == 8
    assert all(low <= v <= high for v in made)
    assert made != sorted(made)


def test_unique_over_a_large_tensor_stays_unique() -> None:
    made = values(case(data("index", "unique(0, 500000)", shape="[100000]")))["index"]
    assert np.unique(made).size == 100_000


def test_offsets() -> None:
    made = values(case(data("index", "offsets(50)")))["index"]
    assert made[0] == 0
    assert (np.diff(made) >= 0).all()
    assert made.max() <= 50
    ends = values(case(data("index", "offsets(50, last=True)")))["index"]
    assert (ends[0], ends[-1]) == (0, 50)
    lengths = data("y", "array((3, 1, 4, 1, 5, 9, 2))", "int32", "[7]")
    both = values(case(f"{lengths}\n      {data('index', 'offsets(y)')}"))
    assert both["index"].tolist() == [0, 3, 4, 8, 9, 14, 23, 25]
    ends = values(case(f"{lengths}\n      {data('index', 'offsets(y, last=True)', shape='[7]')}"))
    assert ends["index"].tolist() == [3, 4, 8, 9, 14, 23, 25]


def test_index_of() -> None:
    made = values(case(data("index", "index_of(x, axis=dim)", shape="[200]")))["index"]
    assert set(made.tolist()) == set(range(6))


def test_specials_go_with_it() -> None:
    made = values(case(data("y", "x", "float32", "[4, 6]", ", specials: [nan, -inf]")))["y"]
    assert np.isnan(made).sum() == 1
    assert np.isneginf(made).sum() == 1


def test_the_same_bytes_again_others_with_another_seed() -> None:
    text = data("index", "unique(0, 1000)") + "\n      " + data("y", "x * normal(0, 1)", "bfloat16", "[4, 6]")
    first = values(case(text))
    assert values(case(text))["sha256"] == first["sha256"]
    assert values(case(text, more="seed: 1"))["sha256"] != first["sha256"]
    # Known bytes: they change with the definition of a stream only.
    assert first["index"].tolist() == values(case(data("index", "unique(0, 1000)")))["index"].tolist()


MISTAKES = [
    (data("y", "y + 1", "float32", "[4, 6]"), "the data of y hang on themselves"),
    (
        data("y", "x + index[0]", "float32", "[4, 6]"),
        "Subscript",
    ),
    (
        data("y", "x + sum(index)", "float32", "[4, 6]")
        + "\n      "
        + data("index", "argsort(take(ravel(y), arange(8)))"),
        "the data of y and index hang on each other",
    ),
    (data("y", "z", "float32", "[4, 6]"), "names 'z', which is no parameter"),
    (data("y", "out", "float32", "[4, 6]"), "names 'out'"),
    (data("y", "weightOptional", "float32", "[4, 6]"), "reads weightOptional, which is null"),
    (data("y", "sum(x, axis=0)", "float32", "[4, 5]"), "gives the shape [6], the tensor has [4, 5]"),
    (data("y", "transpose(x)", "float32", "[4, 6]"), "gives the shape [6, 4], the tensor has [4, 6]"),
    (data("y", "(x, x)", "float32", "[4, 6]"), "several results"),
    (data("y", "x +", "float32", "[4, 6]"), "is no expression"),
    (data("y", "sorte(x)", "float32", "[4, 6]"), "did you mean 'sorted'"),
    (data("y", "open(x)", "float32", "[4, 6]"), "calls 'open'"),
    (data("y", "ones(10000000000000)", "float32", "[4, 6]"), "on the way"),
    ("y: {dtype: float32, shape: [4, 6], data: {expr: 5}}", "expr must be text"),
    ("y: {dtype: float32, shape: [4, 6], data: {expr: x, uniform: [0, 1]}}", "takes one generator"),
]


@pytest.mark.parametrize(("inputs", "words"), MISTAKES, ids=[m[1] for m in MISTAKES])
def test_a_mistake_is_told_when_the_file_is_read_with_its_place(inputs: str, words: str) -> None:
    with pytest.raises(CaseFileError) as caught:
        case(inputs)
    assert words in str(caught.value)
    assert caught.value.where is not None
    assert caught.value.where.line > 6


def test_isnull_may_ask_for_what_is_null() -> None:
    made = values(case(data("y", "x if isnull(weightOptional) else x * weightOptional", "float32", "[4, 6]")))
    assert made["y"].tolist() == made["x"].tolist()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("unique(0, 3)", "unique(0, 3) has 4 numbers for 8 elements"),
        ("compress(ravel(x) > 2, ravel(x))", "gives the shape [0], not [8]"),
        ("index_of(x, axis=1)", "index_of axis 1 of a tensor of 1 axes"),
        ("offsets(array((1, 2)))", "offsets of 2 lengths"),
        ("1j * ravel(x)", ""),
    ],
)
def test_data_that_cannot_be_made_cost_their_case(
    opcli: Opcli, case_file: CaseFile, text: str, words: str
) -> None:
    path = case_file(f"""
        op: aclnnMix
        signature: {MIX}
        reference: x
        defaults:
          attrs: {{dim: 1, eps: 0.5, sizes: [2, 3]}}
          inputs:
            x: {{dtype: float32, shape: [8]}}
            y: {{dtype: float32, shape: [8]}}
            parts: [{{dtype: float32, shape: [2]}}]
        cases:
          - {{name: bad, inputs: {{index: {{dtype: int64, shape: [8], data: {{expr: "{text}"}}}}}}}}
          - {{name: good, inputs: {{index: {{dtype: int64, shape: [8], data: 0}}}}}}
    """)
    done = opcli("run", path, "--json", "-")
    if not done.out:  # already the shapes tell
        assert done.code == 2
        assert words in done.err
        return
    results = {r["name"]: r for r in json.loads(done.out)["results"]}
    assert results["good"]["verdict"] == "PASS"
    assert results["bad"]["verdict"] == "SKIP"  # of the case, not of the surroundings
    assert results["bad"]["reason"].startswith("cannot judge: no data for index: ")
    assert words in results["bad"]["reason"]


# --- again ----------------------------------------------------------------------------------------------------

FAILING = """
    op: elu_backward
    cases:
      - name: a
        dtype: float32
        shape: [4, 6]
        inputs: {selfOrResult: {data: {expr: "sorted(gradOutput) * alpha", specials: [0.0]}}}
        standard: {ulp: {max: 0.001}}
"""


def test_the_repro_line_and_the_saved_failure_have_the_same_bytes(
    opcli: Opcli, case_file: CaseFile, tmp_path: Any
) -> None:
    done = opcli("run", case_file(FAILING), "--save-failures", tmp_path / "saved", "--json", "-")
    (result,) = json.loads(done.out)["results"]
    assert result["verdict"] == "FAIL"
    words = shlex.split(result["repro"])
    assert words[:2] == ["opcli", "run"]
    assert "selfOrResult=float32[4,6]:expr(sorted(gradOutput) * alpha)+specials(0.0)" in words
    assert "--inputs-sha256" in words
    again = opcli(*words[1:], "--json", "-")
    assert json.loads(again.out)["results"][0]["inputs_sha256"] == result["inputs_sha256"]
    (saved,) = (tmp_path / "saved").glob("*.yaml")
    replayed = opcli("run", saved, "--inputs-sha256", result["inputs_sha256"], "--json", "-")
    assert json.loads(replayed.out)["results"][0]["outputs"][0]["census"] == result["outputs"][0]["census"]


def test_a_case_is_shown_as_it_was_written(opcli: Opcli, case_file: CaseFile) -> None:
    path = case_file(FAILING)
    shown = opcli("cases", "show", f"{path}::a")
    again = case_file(shown.out, "b.yaml")
    both = [
        json.loads(opcli("run", p, "--json", "-").out)["results"][0]["inputs_sha256"] for p in (path, again)
    ]
    assert both[0] == both[1]


def test_a_matrix_and_defaults_reach_into_it(opcli: Opcli, case_file: CaseFile) -> None:
    path = case_file("""
        op: elu_backward
        defaults: {inputs: {selfOrResult: {data: {uniform: [0, 1]}}}}
        cases:
          - name: a
            dtype: float32
            shape: [8]
            matrix: {how: ["-gradOutput", "gradOutput * gradOutput"]}
            inputs: {selfOrResult: {data: {expr: $how}}}
    """)
    results = json.loads(opcli("run", path, "--json", "-").out)["results"]
    assert len({r["inputs_sha256"] for r in results}) == 2
    assert {r["verdict"] for r in results} == {"PASS"}
