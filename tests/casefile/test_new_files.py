"""``opcli cases new``: every file is valid, runs, and has what its suite promises."""

from __future__ import annotations

import itertools
import json
import math
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ascend_opcli.casefile.new.calls import Calls, product_for
from ascend_opcli.casefile.new.ecosystem import shapes
from ascend_opcli.casefile.new.pairwise import pairwise
from ascend_opcli.casefile.new.text import Suite, new_file
from ascend_opcli.casefile.open import load_text
from ascend_opcli.errors import UsageError
from ascend_opcli.model import Case, Fill, Generator, TensorSpec
from ascend_opcli.operators.catalog import find
from ascend_opcli.operators.contract.phase_one import Refusal, Unsettled, predict
from ascend_opcli.operators.documents import catalogued
from ascend_opcli.verification.standards.choice import check_for
from tests.conftest import CaseFile, Opcli

SOME = (
    *(
        "add",
        "logit_grad",
        "elu_backward",
        "batch_norm_elemt_backward",
        "threshold_backward",
        "amp_update_scale",
    ),
    *("layer_norm", "swi_glu", "gather", "foreach_add_list", "mm", "cast", "bitwise_and_tensor", "softmax"),
    *("multilabel_margin_loss", "scatter_list", "max_pool2d_with_indices"),
)


def cases(op: str, suite: Suite, **options: Any) -> tuple[Case, ...]:
    return load_text(new_file(find(op), suite, **options), "new.yaml", check_standard=check_for).cases


def tensors(case: Case) -> list[TensorSpec]:
    return [a for a in case.arguments.values() if isinstance(a, TensorSpec) and a.data is not None]


def family(case: Case) -> str:
    return case.name.partition("[")[0]


# --- every operator ---------------------------------------------------------------------------------------------


def test_nearly_every_documented_operator_gets_a_valid_file() -> None:
    """What opcli cannot hold (float8_e8m0, int4, ...) is a reason for none, and so is a rule that is then named."""
    without, refused = [], []
    for at, name in enumerate(catalogued.names().values()):
        if at % 7:
            continue  # one in seven here; all of them take half a minute
        operator = find(name)
        calls = Calls(operator, product_for(operator))
        if calls.beyond:
            without.append(name)
            with pytest.raises(UsageError, match="which opcli cannot hold"):
                new_file(operator)
            continue
        if operator.reference is None and calls.first_dtype is None:
            refused.append(name)
            with pytest.raises(UsageError, match=re.escape(f"can be made: {calls.obstacle};")):
                new_file(operator)
            continue
        text = new_file(operator)
        found = load_text(text, "new.yaml", check_standard=check_for)
        assert found.operators == (name,)
        for case in found.cases:
            predicted = predict(operator, case.arguments, case.product or calls.product)
            if isinstance(predicted, Unsettled):
                continue  # its documents list no product at all
            wanted = case.status.code if case.status is not None else 0
            assert (predicted.status if isinstance(predicted, Refusal) else 0) == wanted, (name, case.name)
    assert len(without) < 8
    assert len(refused) < 20


@pytest.mark.parametrize("suite", list(Suite))
@pytest.mark.parametrize("op", SOME)
def test_a_new_file_passes_on_the_host(opcli: Opcli, tmp_path: Path, op: str, suite: Suite) -> None:
    path = tmp_path / f"{op}.yaml"
    done = opcli("cases", "new", op, "--suite", suite.value, "--max-elements", 256, "--pairwise", "-o", path)
    assert done.code == 0, done.err
    ran = opcli("run", path)
    assert ran.code == 0, ran.out[-2000:] + ran.err
    assert " FAIL" not in ran.out


OVERFLOWING = ["layer_norm", "var", "std", "adaptive_avg_pool2d", "binary_cross_entropy_with_logits"]


@pytest.mark.parametrize(
    "op", [*OVERFLOWING, "cumprod", "lgamma", "repeat_interleave_tensor", "pow_tensor_tensor", "prod"]
)
def test_what_overflows_in_the_reference_too_is_as_right_as_the_golden(
    opcli: Opcli, case_file: CaseFile, op: str
) -> None:
    """At a border float32 overflows where the golden in float64 does not: a kernel cannot be blamed for it.

    What is too sensitive for the reference itself, such as a complex power, is a known issue of the suite.
    """
    text = opcli("cases", "new", op, "--suite", "ecosystem", "--max-elements", 256, "--pairwise").out
    done = opcli("run", case_file(text), "--json", "-")
    results = json.loads(done.out)["results"]
    assert done.code == 0
    borders = [r for r in results if r["name"].startswith(("upper-border", "lower-border"))]
    assert {r["verdict"] for r in borders} <= {"PASS", "SKIP"}
    assert {r["verdict"] for r in results} <= {"PASS", "KNOWN", "SKIP"}
    noted = [r for r in borders if any("overflow" in note for note in r["notes"])]
    assert noted or op not in OVERFLOWING


def test_a_suite_without_cases_is_a_sentence_not_a_file(opcli: Opcli, tmp_path: Path) -> None:
    path = tmp_path / "new.yaml"
    suite = ("--suite", "ecosystem", "--max-elements", 256)
    done = opcli("cases", "new", "dropout_gen_mask_v2", *suite, "--product", "ascend950", "-o", path)
    assert (done.code, path.exists()) == (2, False)
    assert "no call of aclnnDropoutGenMaskV2 on ascend950 fits the ecosystem suite" in done.err


def test_no_call_says_why(opcli: Opcli) -> None:
    done = opcli("cases", "new", "dynamic_quant_v2", "--product", "atlas_inference")
    assert done.code == 2
    assert "can be made: the product quantises symmetrically" in done.err


def test_the_file_says_what_the_parameters_are() -> None:
    text = new_file(find("add"))
    comments = " ".join(line.removeprefix("#").strip() for line in text.splitlines() if line.startswith("#"))
    assert "aclnnAdd: out = self + alpha other" in comments
    assert "alpha: aclScalar in; default 1; dtypes float32" in comments
    assert "add 'reference: <expression" in new_file(find("aclnnFlashAttentionScore"))
    assert "product: ascend950" in new_file(find("mul_no_nan"))


def test_smoke_has_a_view_an_empty_tensor_and_a_null_pointer() -> None:
    found = {family(case): case for case in cases("add", Suite.SMOKE)}
    assert set(found) == {"smallest", "dtypes", "transposed-view", "empty", "null-self"}
    view = found["transposed-view"].arguments["self"]
    assert isinstance(view, TensorSpec)
    assert view.layout == "transposed"
    assert found["null-self"].arguments["self"] is None
    assert found["null-self"].status is not None
    assert "transposed-view" not in {
        family(c) for c in cases("swi_glu", Suite.SMOKE)
    }  # documented: not strided


# --- the ecosystem suite ----------------------------------------------------------------------------------------


def test_every_combination_is_there_and_half_of_it_is_uniform() -> None:
    found = cases("add", Suite.ECOSYSTEM, max_elements=64)
    plain = [c for c in found if family(c).partition("-")[0] in ("uniform", "normal", "bool")]
    points = Counter((c.arguments["self"].dtype, c.arguments["self"].shape) for c in plain)
    dtypes = {dtype for dtype, _ in points}
    every = {shape for _, shape in points}
    assert set(points) == set(itertools.product(dtypes, every))
    assert set(points.values()) == {1}
    assert {"float32", "float16", "bfloat16", "int32", "bool", "complex64"} <= dtypes
    assert {len(shape) for shape in every} == set(range(9))
    kinds = Counter(family(c).partition("-")[0] for c in plain)
    assert abs(kinds["uniform"] - kinds["normal"]) <= 0.1 * kinds["uniform"]
    for dtype in ("float32", "float16"):
        own = Counter(family(c).partition("-")[0] for c in plain if c.arguments["self"].dtype == dtype)
        assert abs(own["uniform"] - own["normal"]) <= 1


def test_data_are_those_of_the_standard() -> None:
    for case in cases("mul", Suite.ECOSYSTEM, max_elements=64):
        kind = family(case).partition("-")[0]
        for spec in tensors(case):
            if kind == "uniform":
                assert spec.data == Generator("uniform", (-5.0, 5.0))
            elif kind == "normal":
                assert isinstance(spec.data, Generator)
                mean, deviation = spec.data.args
                assert -5 <= mean <= 5
                assert 0.1 <= deviation <= 2


def test_edges_of_the_standard_are_there() -> None:
    found = {}
    for case in cases("mul", Suite.ECOSYSTEM, max_elements=64):
        found.setdefault(family(case), []).append(case)
    assert {"empty", "one", "lower-border", "upper-border", "nan", "inf", "minus-inf", "both-inf"} <= set(
        found
    )
    assert all(s.count == 0 for c in found["empty"] for s in tensors(c))
    assert all(s.shape == (1,) for c in found["one"] for s in tensors(c))
    borders = {s.dtype: s.data for c in found["upper-border"] for s in tensors(c)}
    assert borders["float16"] == Fill(65504.0)
    assert borders["int8"] == Fill(127)
    assert {s.dtype: s.data for c in found["lower-border"] for s in tensors(c)}["int16"] == Fill(-32768)
    assert all(math.isnan(s.data.value) for c in found["nan"] for s in tensors(c))
    assert {s.data.value for c in found["minus-inf"] for s in tensors(c)} == {-math.inf}
    assert {s.data for c in found["both-inf"] for s in tensors(c)} == {
        Generator("choice", (-math.inf, math.inf))
    }


def test_an_index_keeps_valid_values() -> None:
    for case in cases("gather", Suite.ECOSYSTEM, max_elements=64):
        index = case.arguments["index"]
        assert index.dtype in ("int32", "int64")
        assert index.data == find("gather").default_data("index", index.dtype)


def test_attributes_take_part_in_the_combinations() -> None:
    found = cases("threshold_backward", Suite.ECOSYSTEM, max_elements=16)
    assert len(found) > 20
    both = {
        case.arguments["isResult"].value for case in cases("elu_backward", Suite.ECOSYSTEM, max_elements=16)
    }
    assert both == {False, True}
    dims = {c.arguments["dim"].value for c in cases("softmax", Suite.ECOSYSTEM, max_elements=64)}
    assert {0, -1} <= dims


def test_formats_go_with_their_rank() -> None:
    name = next(
        n
        for n in catalogued.names().values()
        if "NCHW" in catalogued.entry(n).params[0].formats and len(catalogued.entry(n).params[0].formats) > 2
    )
    ranks = {"NCHW": 4, "NHWC": 4, "HWCN": 4, "NCL": 3, "NCDHW": 5, "NDHWC": 5, "NC": 2}
    seen = set()
    for case in cases(name, Suite.ECOSYSTEM, max_elements=64, pairs=True):
        spec = tensors(case)[0]
        seen.add(spec.format)
        assert len(spec.shape) == ranks.get(spec.format, len(spec.shape))
    assert len(seen) > 1


@given(rank=st.integers(0, 8), bound=st.integers(1, 2**31))
def test_dims_are_powers_of_two_or_one_less_within_bounds(rank: int, bound: int) -> None:
    made = shapes(rank, bound, "aclnnAdd")
    assert made == shapes(rank, bound, "aclnnAdd")
    for shape in made:
        assert len(shape) == rank
        assert math.prod(shape) <= bound
        for dim in shape:
            assert 1 <= dim <= 2**20
            assert dim & (dim - 1) == 0 or dim & (dim + 1) == 0


def test_rank_one_has_every_power_up_to_the_bound() -> None:
    assert shapes(1, 2**31, "x")[-1] == (2**20,)
    assert {(2**k,) for k in range(21)} <= set(shapes(1, 2**31, "x"))
    assert {(2**k - 1,) for k in range(1, 21)} <= set(shapes(1, 2**31, "x"))


def test_max_elements_bounds_every_tensor() -> None:
    for op in ("add", "mm", "layer_norm"):
        for case in cases(op, Suite.ECOSYSTEM, max_elements=100):
            if family(case).partition("-")[0] in ("uniform", "normal"):
                for argument in case.arguments.values():
                    assert not isinstance(argument, TensorSpec) or argument.count <= 100


# --- pairwise ---------------------------------------------------------------------------------------------------


@given(st.lists(st.integers(1, 5), min_size=2, max_size=5))
def test_pairwise_covers_every_pair(sizes: list[int]) -> None:
    axes = [[(axis, i) for i in range(size)] for axis, size in enumerate(sizes)]
    rows = pairwise(axes)
    seen = {pair for row in rows for pair in itertools.combinations(row, 2)}
    wanted = {
        pair
        for a, b in itertools.combinations(range(len(axes)), 2)
        for pair in itertools.product(axes[a], axes[b])
    }
    assert seen == wanted
    assert len(rows) <= math.prod(sizes)


def test_pairwise_leaves_out_rows_that_are_not_allowed() -> None:
    rows = pairwise([[1, 2], [3, 4], [5, 6]], lambda row: row[:2] != (1, 3))
    assert rows
    assert all(row[:2] != (1, 3) for row in rows)


def test_pairwise_is_smaller_and_still_has_every_pair() -> None:
    all_, pairs = (cases("softmax", Suite.ECOSYSTEM, max_elements=16, pairs=p) for p in (False, True))
    assert len(pairs) < len(all_)

    def seen(found: tuple[Case, ...]) -> set[tuple[str, object]]:
        return {(c.arguments["self"].dtype, c.arguments["dim"].value) for c in found if tensors(c)[0].shape}

    assert seen(pairs) == seen(all_)


# --- the boundary suite -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("op", ["logit_grad", "elu_backward", "amp_update_scale", "swi_glu", "add"])
def test_boundary_has_every_refusal_of_the_contract(op: str) -> None:
    operator = find(op)
    calls = Calls(operator, product_for(operator))
    base = calls.make(calls.dtypes[0], calls.base_shape)
    assert base is not None
    wanted = Counter(rule.status for rule in operator.contract for _ in rule.breaks(base, calls.product))
    found = Counter(c.status.code for c in cases(op, Suite.BOUNDARY) if c.status is not None)
    assert set(wanted) == set(found) - {0}
    for case in cases(op, Suite.BOUNDARY):
        predicted = predict(operator, case.arguments, case.product or calls.product)
        assert (predicted.status if isinstance(predicted, Refusal) else 0) == (
            case.status.code if case.status else 0
        )


def test_boundary_walks_dtypes_and_ranks() -> None:
    found = {}
    for case in cases("logit_grad", Suite.BOUNDARY):
        found.setdefault(family(case), []).append(case)
    assert {c.arguments["x"].dtype for c in found["dtype"]} == {"float32", "float16", "bfloat16"}
    assert {len(c.arguments["x"].shape) for c in found["rank"]} == {0, 8}
    assert "empty" in found
    assert "refused-product=atlas_training" in found


# --- the command ------------------------------------------------------------------------------------------------

MINE = "aclnnStatus aclnnMineGetWorkspaceSize(const aclTensor *a, const aclTensor *b, double c, aclTensor *out, ...)"


def test_an_operator_of_ones_own_from_a_prototype_or_a_header(opcli: Opcli, tmp_path: Path) -> None:
    prototype = MINE.replace(", ...", ", uint64_t *workspaceSize, aclOpExecutor **executor")
    header = tmp_path / "aclnn_mine.h"
    header.write_text(f"#pragma once\n/* mine */\n{prototype};\n", "utf-8")
    texts = [opcli("cases", "new", "aclnnMine", "--signature", s).out for s in (prototype, header)]
    assert texts[0] == texts[1]
    (case,) = [
        c for c in load_text(texts[0], "new.yaml", check_standard=check_for).cases if family(c) == "smallest"
    ]
    assert list(case.arguments) == ["a", "b", "c", "out"]
    path = tmp_path / "mine.yaml"
    path.write_text(texts[0] + "reference: a + b * c\n", "utf-8")
    done = opcli("run", path)
    assert done.code == 0, done.out + done.err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["aclnnAd"], "did you mean 'aclnnAdd'?"),
        (["aclnnMine", "--signature", "nowhere.h"], "cannot be read"),
        (["aclnnMine", "--signature", "void f(int a)"], "no prototype of aclnnMine"),
        (["aclnnMine", "--signature", "/* open ("], "never closed"),
        (["add", "--max-elements", "0"], "from 1 on"),
        (["aclnnDynamicMxQuant"], "mxscaleOut takes float8_e8m0, which opcli cannot hold"),
    ],
)
def test_what_cannot_be_written_is_one_sentence_and_exit_2(
    opcli: Opcli, arguments: list[str], words: str
) -> None:
    done = opcli("cases", "new", *arguments)
    assert (done.code, done.out) == (2, "")
    assert words in done.err
    assert "Traceback" not in done.err


def test_a_file_is_never_written_over(opcli: Opcli, case_file: CaseFile) -> None:
    path = case_file("mine\n")
    done = opcli("cases", "new", "add", "-o", path)
    assert done.code == 2
    assert "is there already" in done.err
    assert path.read_text("utf-8") == "mine\n"


def test_the_same_file_comes_out_every_time() -> None:
    for suite in Suite:
        assert new_file(find("mul"), suite) == new_file(find("mul"), suite)


QUANTISED = ("ascend_quant", "ascend_quant_v3", "group_quant", "quantize")


@pytest.mark.parametrize("op", QUANTISED)
def test_the_reference_works_through_all_of_a_suite_but_what_is_not_finite(
    op: str, opcli: Opcli, case_file: CaseFile
) -> None:
    """Scales and offsets that are saturated or NaN themselves would leave nothing to judge."""
    text = opcli("cases", "new", op, "--suite", "ecosystem", "--max-elements", 256, "--pairwise").out
    results = json.loads(opcli("run", case_file(text), "--json", "-").out)["results"]
    skipped = {r["name"].partition("[")[0] for r in results if r["verdict"] == "SKIP"}
    assert skipped <= {"nan"}


@pytest.mark.parametrize("op", QUANTISED)
def test_no_scale_and_no_offset_takes_the_data_of_a_suite(op: str) -> None:
    operator = find(op)
    assert Calls(operator, product_for(operator)).follows("float32") == ("x",)
