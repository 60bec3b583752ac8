"""``opcli ops``: what opcli knows of each operator."""

from __future__ import annotations

import pytest

from tests.conftest import Opcli

FIVE = ("amp_update_scale", "batch_norm_elemt_backward", "elu_backward", "logit_grad", "threshold_backward")


def test_the_list_names_each_operator_both_ways(opcli: Opcli) -> None:
    out = opcli("ops", "list").out
    for name in FIVE:
        assert name in out
    assert "aclnnBatchNormElemtBackward" in out


@pytest.mark.parametrize("name", ["logit_grad", "aclnnLogitGrad"])
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
