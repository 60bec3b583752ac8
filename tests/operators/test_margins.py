"""Hinge, Huber, Lp and Gaussian losses: what the documents say beyond PyTorch, by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from operator_calls import Both, run, tensor

from ascend_opcli.model import Attribute
from ascend_opcli.operators.families.losses.margins import OPERATORS
from ascend_opcli.reference.fitting import UndefinedResult

ALL = {op.name.removeprefix("aclnn"): op for op in OPERATORS}


def called(name: str, **given: Any) -> Both:
    return run(ALL[name], **given)


def f32(data: Any) -> Any:
    return tensor("float32", data)


GAUSSIAN: dict[str, Any] = {
    "input": f32([[1.0, 2], [3, 4]]),
    "target": f32([[0.0, 0]]),
    "full": False,
    "eps": 1e-6,
}


@pytest.mark.parametrize("var", [[2.0, 4.0], [[2.0], [4.0]]])
def test_a_variance_for_every_row(var: Any) -> None:
    made = called("GaussianNllLoss", **GAUSSIAN, var=f32(var), reductionOptional="none").golden.outputs["out"]
    exact = np.log([[2.0], [4]]) / 2 + [[0.25, 1], [1.125, 2]]
    np.testing.assert_allclose(made, exact, rtol=1e-15)


def test_a_variance_of_all_is_summed_over_all_in_its_slope() -> None:
    made = called("GaussianNllLossGrad", **GAUSSIAN, var=f32(2.0), gradOutput=f32([4.0]), reduction="mean")
    assert made.golden.outputs["gradInput"].tolist() == [[0.5, 1], [1.5, 2]]
    # (1/2 - 1/4 + 1/2 - 1 + 1/2 - 9/4 + 1/2 - 4) / 2
    assert made.golden.outputs["gradVar"].tolist() == -2.75


def test_the_least_variance_stands_for_a_smaller_one() -> None:
    given = {**GAUSSIAN, "eps": 2.0, "reductionOptional": "sum"}
    low, at = (called("GaussianNllLoss", **given, var=f32(v)).golden.outputs["out"] for v in (-3.0, 2.0))
    assert low == at


def test_a_margin_near_0_goes_either_way_in_a_slope() -> None:
    """1 + 2^-24 and 1 - 2^-25 times 1 are 1 in the float32 of their product."""
    target = f32([1.0, 1.0, 1.0 + 2**-12])
    predict = f32([1.0, 0.5, 1.0 - 2**-12])
    made = called("HingeLossGrad", predict=predict, target=target, gradOutput=f32([2.0, 2, 2]))
    assert made.golden.outputs["gradInput"].tolist() == [0, -2, -2 * (1 + 2**-12)]
    assert made.golden.ambiguous is not None
    places, others = made.golden.ambiguous
    assert dict(zip(places.tolist(), others.tolist(), strict=True)) == {0: -2.0, 2: 0.0}


@pytest.mark.parametrize(
    ("name", "given", "why"),
    [
        ("LpLoss", {"predict": f32([1.0]), "label": f32([2.0]), "p": 2, "reduction": "sum"}, "p 2"),
        ("LpLoss", {"predict": f32([1.0]), "label": f32([2.0]), "p": 1, "reduction": "max"}, "'max'"),
        (
            "LpLoss",
            {
                "predict": f32([1.0, 2]),
                "label": f32([2.0, 2]),
                "p": 1,
                "reduction": "sum",
                "out": f32([0.0, 0]),
            },
            "one number",
        ),
        ("HuberLoss", {"predictions": f32([1.0]), "targets": f32([2.0]), "delta": 0.0}, "above 0"),
        (
            "HingeEmbeddingLoss",
            {"input": f32([1.0]), "target": f32([0.0]), "margin": 1.0, "reduction": "sum"},
            "neither",
        ),
        ("GaussianNllLoss", {**GAUSSIAN, "var": f32([[1.0, 2]]), "reductionOptional": "sum"}, "variances"),
    ],
)
def test_what_is_not_defined(name: str, given: dict[str, Any], why: str) -> None:
    with pytest.raises(UndefinedResult, match=why):
        called(name, **given)


def test_the_mean_is_taken_where_no_word_is_given() -> None:
    given = {**GAUSSIAN, "var": f32(1.0)}
    bare, mean = (
        called("GaussianNllLoss", **given, reductionOptional=w).golden.outputs["out"]
        for w in (None, Attribute("mean"))
    )
    assert bare == mean == (1 + 4 + 9 + 16) / 8
