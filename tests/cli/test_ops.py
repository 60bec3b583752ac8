"""``opcli ops``: what opcli knows of each operator."""

from __future__ import annotations

import re
import textwrap

import pytest

from ascend_opcli.casefile.new.calls import Calls
from ascend_opcli.operators.catalog import find
from ascend_opcli.operators.contract.changes import change, to_dtype
from ascend_opcli.operators.contract.phase_one import Refusal, predict
from ascend_opcli.operators.contract.rules import DtypeIn
from ascend_opcli.operators.documents.catalogued import documented
from ascend_opcli.operators.documents.taken import accepted
from ascend_opcli.reporting.operators import show_lines
from tests.conftest import CaseFile, Opcli

FIVE = ("amp_update_scale", "batch_norm_elemt_backward", "elu_backward", "logit_grad", "threshold_backward")


def test_the_list_names_each_operator_both_ways(opcli: Opcli) -> None:
    out = opcli("ops", "list").out
    for name in FIVE:
        assert name in out
    assert "aclnnBatchNormElemtBackward" in out


@pytest.mark.parametrize("name", ["logit_grad", "aclnnLogitGrad", "aclnnLogitGradGetWorkspaceSize"])
def test_show_takes_both_names(opcli: Opcli, name: str) -> None:
    out = opcli("ops", "show", name).out
    assert (
        "aclnnStatus aclnnLogitGradGetWorkspaceSize(const aclTensor *x, const aclTensor *dy, double eps,"
        " const aclTensor *out, uint64_t *workspaceSize, aclOpExecutor **executor)"
    ) in out


@pytest.mark.parametrize(
    ("name", "words"),
    [
        (
            "logit_grad",
            ["561003", "atlas_training     no ", "NaN x with eps >= 0", "held as float32", "default -1.0"],
        ),
        (
            "elu_backward",
            ["161002", "within 0.001 of 1", "negcoef", "alpha is not negative when isResult is true"],
        ),
        ("threshold_backward", ["1.19e-7", "int64", "NaN self", "broadcast"]),
        (
            "batch_norm_elemt_backward",
            ["may be null", "N is the sum of counter", "invstd above 255", "private format"],
        ),
        ("amp_update_scale", ["561002", "40000 * 2", "NaN foundInf", "past growthInterval"]),
    ],
)
def test_show_has_contract_products_formula_and_divergences(
    opcli: Opcli, name: str, words: list[str]
) -> None:
    out = opcli("ops", "show", name).out
    for word in words:
        assert word in out


def test_a_misspelt_operator_is_exit_2_with_the_nearest(opcli: Opcli) -> None:
    done = opcli("ops", "show", "elu_bakward")
    assert done.code == 2
    assert "did you mean 'elu_backward'?" in done.err


# --- the catalog ------------------------------------------------------------------------------------------------


def rows(out: str) -> list[list[str]]:
    return [line.split(None, 3) for line in out.splitlines()]


def test_every_documented_operator_is_listed(opcli: Opcli) -> None:
    done = opcli("ops", "list")
    found = rows(done.out)
    assert len(found) == 1072
    assert ["add", "aclnnAdd", "math", "out = self + alpha other"] in found
    assert "1,072 operators, " in done.err


def test_what_nobody_can_judge_has_a_dash(opcli: Opcli) -> None:
    assert ["flash_attention_score", "aclnnFlashAttentionScore", "attention", "-"] in rows(
        opcli("ops", "list").out
    )


@pytest.mark.parametrize(
    ("arguments", "there", "not_there"),
    [
        (["--category", "norm"], "aclnnRmsNorm", "aclnnAdd"),
        (["--product", "Ascend910B1"], "aclnnAdd", "aclnnApplyAdamW"),  # documented for 950 only
        (["--product", "atlas_200i_500_a2"], "aclnnRsqrt", "aclnnAdd"),
        (["--dtype", "bf16"], "aclnnAdd", "aclnnSvd"),
        (["--dtype", "int4"], "aclnnAscendQuantV3", "aclnnAdd"),
        (["--has-reference"], "aclnnAdd", "aclnnFlashAttentionScore"),
        (["--no-reference"], "aclnnFlashAttentionScore", "aclnnAdd"),
        (["--category", "norm", "--dtype", "float16", "--has-reference"], "aclnnRmsNorm", "aclnnLogit"),
    ],
)
def test_filters_narrow_the_list(opcli: Opcli, arguments: list[str], there: str, not_there: str) -> None:
    names = [row[1] for row in rows(opcli("ops", "list", *arguments).out)]
    assert there in names
    assert not_there not in names
    assert len(names) < 1072


def test_operators_of_which_the_documents_are_silent_are_counted(opcli: Opcli) -> None:
    done = opcli("ops", "list", "--product", "ascend950")
    assert "left out whose documents name no product" in done.err
    assert "aclnnFresnelCos" not in done.out
    assert "left out whose documents name no dtype" in opcli("ops", "list", "--dtype", "float16").err


def test_counts_add_up(opcli: Opcli) -> None:
    head, *lines = opcli("ops", "list", "--counts").out.splitlines()
    assert head.split() == ["category", "operators", "with", "a", "reference"]
    numbers = [[int(n.replace(",", "")) for n in line.split()[1:]] for line in lines]
    assert sum(all_ for all_, _ in numbers) == 1072
    assert all(judged <= all_ for all_, judged in numbers)
    listed = rows(opcli("ops", "list", "--has-reference").out)
    assert sum(judged for _, judged in numbers) == len(listed)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--category", "nrom"], "did you mean 'norm'?"),
        (["--category", "zzzzzz"], "there are activation, attention,"),
        (["--product", "atlas_b2"], "did you mean 'atlas_a2'?"),
        (["--dtype", "flaot16"], "did you mean 'float16'?"),
    ],
)
def test_a_wrong_filter_is_exit_2(opcli: Opcli, arguments: list[str], words: str) -> None:
    done = opcli("ops", "list", *arguments)
    assert (done.code, done.out) == (2, "")
    assert words in done.err


def test_nothing_found_is_exit_4(opcli: Opcli) -> None:
    assert opcli("ops", "list", "--category", "rnn", "--has-reference").code == 4


def test_show_says_what_the_documents_say_and_unknown_where_they_are_silent(opcli: Opcli) -> None:
    out = opcli("ops", "show", "aclnnAdd").out
    assert "math, ops-math" in out
    assert "rank unknown; formats ND; strided yes; empty unknown" in " ".join(out.split())
    silent = " ".join(opcli("ops", "show", "aclnnFresnelCos").out.split())
    # What a source takes is no unknown.
    assert (
        "dtypes float16, bfloat16, float32; rank 0 to 8; formats unknown; strided unknown; empty unknown"
        in silent
    )
    assert "dtypes unknown; rank 0 to 8; formats unknown; strided unknown; empty unknown" in silent
    assert "ascend950 unknown" in silent
    assert "status codes that the documents name unknown" in silent
    assert "nobody here" in silent


def test_the_case_that_show_prints_runs(opcli: Opcli, case_file: CaseFile) -> None:
    for name in ("add", "batch_norm_elemt_backward", "foreach_add_list", "layer_norm"):
        out = opcli("ops", "show", name).out
        text = out.partition("\na case\n")[2].partition("\n\n")[0]
        done = opcli("run", case_file(textwrap.dedent(text), f"{name}.yaml"))
        assert done.code == 0, done.out + done.err


def test_a_text_is_declared_as_the_headers_declare_it(opcli: Opcli) -> None:
    assert "char *approximate" in opcli("ops", "show", "aclnnGeluBackwardV2").out
    assert "const char" not in opcli("ops", "show", "aclnnGeluBackwardV2").out


def test_rules_read_as_sentences(opcli: Opcli) -> None:
    """One rank is no range, and a tensor alone does not broadcast with itself."""
    for name in ("mv", "inplace_acos", "acos", "inplace_add", "add", "foreach_acos"):
        out = " ".join(opcli("ops", "show", name).out.split())
        for low, high in re.findall(r"rank of .*? is (\d+) to (\d+)", out):
            assert low != high, name
        for inputs in re.findall(r": ([^:;]+) broadcast, and", out):
            assert " and " in inputs, name


def test_show_marks_a_generated_entry_and_its_table(opcli: Opcli) -> None:
    out = " ".join(opcli("ops", "show", "swi_glu").out.split())
    assert "contract of phase 1 of a generated entry" in out
    assert "561003 ACLNN_ERR_INNER_FIND_KERNEL_ERROR: the kernel is registered for ascend950, atlas_a3" in out
    assert "one column of the kernel table" in out
    table = out.partition("kernel SwiGlu as registered")[2]
    assert all(soc in table for soc in ("ascend310p", "ascend910_93", "ascend910b", "ascend950"))
    assert "default -1" in out


def test_show_names_corrections_with_their_source(opcli: Opcli) -> None:
    out = " ".join(opcli("ops", "show", "is_finite").out.split())
    assert "corrections of the documents - self: dtypes float32, " in out
    assert "aclnn_is_finite.cpp" in out


SHOWN = (
    "aclnnInplaceGtTensor",
    "aclnnMultinomial",
    "aclnnSwiGlu",
    "aclnnLogitGrad",
    "aclnnAbs",
    "aclnnTopk",
    "aclnnIm2col",
)


@pytest.mark.parametrize("name", SHOWN)
def test_every_rule_says_by_name_where_it_comes_from_on_lines_that_break_no_path(name: str) -> None:
    operator = find(name)
    lines = list(show_lines(operator, documented(operator.name)))
    assert not [line for line in lines if line.rstrip().endswith(("ops-", "-", "/"))]
    text = " ".join(" ".join(lines).split())
    for rule in operator.contract:
        said = text.partition(" ".join(rule.text().split()))[2].lstrip()
        assert said.startswith("[")
        origin = said[1 : said.index("]")]
        assert origin not in ("document", "registration")
        if rule.origin == "document":
            assert origin.startswith(f"document of {operator.name} in ops-")


@pytest.mark.parametrize("name", SHOWN)
def test_a_parameter_lists_what_the_contract_takes_of_it(name: str) -> None:
    operator = find(name)
    entry = documented(operator.name)
    assert entry is not None
    for param in operator.signature.params:
        taken = accepted(operator, param.name, entry[param.name])
        for rule in operator.contract:
            if isinstance(rule, DtypeIn) and param.name in rule.names and param.is_tensor:
                there = {w for p, words in rule.dtypes.items() if operator.supports(p) for w in words}
                assert set(taken.dtypes) <= there


@pytest.mark.parametrize("form", ["Tensor", "Scalar"])
@pytest.mark.parametrize("word", ["Ge", "Gt", "Le", "Lt"])
def test_complex_numbers_have_no_order_on_any_product(word: str, form: str) -> None:
    """The sources refuse what self and other promote to where it is complex."""
    for name in (f"aclnn{word}{form}", f"aclnnInplace{word}{form}"):
        operator = find(name)
        for product in (p for p in operator.products if operator.supports(p)):
            made = Calls(operator, product).make("float32", (2,), {"other": 1.0})
            assert made is not None
            inputs = [p.name for p in operator.signature.inputs]
            found = predict(operator, {**made, **change(made, inputs, to_dtype("complex64"))}, product)
            assert isinstance(found, Refusal), (name, product)
            assert found.status == 161002
