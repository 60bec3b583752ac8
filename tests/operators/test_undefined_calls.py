"""Calls that PyTorch refuses, or whose result nobody defines, have no golden; NaN goes the way it goes there."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from operator_calls import run, tensor

from ascend_opcli.model import Attribute
from ascend_opcli.reference.fitting import UndefinedResult

TABLE = tensor("float32", [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0]])
FLAT = tensor("float32", [1.0, 2.0, 3.0, 4.0])
MINUS = tensor("int64", [-1, 0])


def out_of(name: str, **given: Any) -> np.ndarray:
    """The golden of the first output."""
    return next(iter(run(f"aclnn{name}", **given).golden.outputs.values()))


def refused(name: str, match: str, **arguments: Any) -> None:
    with pytest.raises(UndefinedResult, match=match):
        out_of(name, **arguments)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("Embedding", {"weight": TABLE, "indices": MINUS}),
        ("IndexSelect", {"self": TABLE, "dim": 0, "index": MINUS}),
        ("GatherV2", {"self": FLAT, "dim": 0, "index": MINUS}),
        ("Take", {"self": FLAT, "index": MINUS}),  # PyTorch counts from the end, the document forbids it
        ("ScatterAdd", {"self": FLAT, "dim": 0, "index": MINUS, "src": tensor("float32", [1.0, 2.0])}),
        (
            "Scatter",
            {"self": FLAT, "dim": 0, "index": MINUS, "src": tensor("float32", [1.0, 2.0]), "reduce": 0},
        ),
        (
            "IndexAdd",
            {"self": FLAT, "dim": 0, "index": MINUS, "source": tensor("float32", [1.0, 2.0]), "alpha": 1.0},
        ),
        ("GatherNd", {"self": TABLE, "indices": tensor("int64", [[-1]]), "negativeIndexSupport": False}),
        (
            "ScatterNdUpdate",
            {
                "varRef": TABLE,
                "indices": tensor("int64", [[-1]]),
                "updates": tensor("float32", [[1.0, 2.0, 3.0]]),
            },
        ),
    ],
    ids=lambda v: v if isinstance(v, str) else "",
)
def test_an_index_below_0_counts_from_the_end_nowhere_but_where_that_is_said(
    name: str, arguments: dict[str, Any]
) -> None:
    refused(name, "index -1 is below 0", **arguments)


def test_where_it_is_said_it_does() -> None:
    golden = out_of("GatherNd", self=TABLE, indices=tensor("int64", [[-1]]), negativeIndexSupport=True)
    assert golden.tolist() == [[7.0, 8.0, 9.0]]
    assert out_of("Gather", self=FLAT, dim=0, index=MINUS).tolist() == [4.0, 1.0]
    assert out_of("IndexFill", self=FLAT, dim=0, index=MINUS, value=9.0).tolist() == [9.0, 2.0, 3.0, 9.0]
    held = out_of("IndexFillTensor", self=FLAT, dim=0, index=Attribute((-1,)), value=9.0)
    assert held.tolist() == [1.0, 2.0, 3.0, 9.0]


def test_an_index_beyond_the_axis_is_left_out_by_the_fill_whose_document_says_so() -> None:
    far = tensor("int64", [4, -5, 1])
    assert out_of("IndexFill", self=FLAT, dim=0, index=far, value=9.0).tolist() == [1.0, 9.0, 3.0, 4.0]
    refused("IndexFillTensor", "out of bounds", self=FLAT, dim=0, index=Attribute((4,)), value=9.0)
    refused("Gather", "out of bounds", self=FLAT, dim=0, index=tensor("int64", [-5]))


TWO = tensor("int64", [0, 1])
ONE = tensor("float32", [7.0])


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("Scatter", {"src": ONE, "reduce": 0}),
        ("ScatterAdd", {"src": ONE}),
        ("ScatterReduce", {"src": ONE, "reduce": 1, "includeSelf": True}),
        ("IndexAdd", {"source": ONE, "alpha": 1.0}),
    ],
)
def test_one_source_does_not_serve_two_indices(name: str, given: dict[str, Any]) -> None:
    """NumPy would repeat it; PyTorch and the documents refuse it."""
    refused(name, "source of", self=FLAT, dim=0, index=TWO, **given)


@pytest.mark.parametrize("name", ["ScatterNdUpdate", "ScatterNd"])
def test_one_update_does_not_serve_two_indices(name: str) -> None:
    own = "varRef" if name == "ScatterNdUpdate" else "data"
    row = tensor("float32", [[7.0, 8.0, 9.0]])
    refused(name, "updates of shape", **{own: TABLE}, indices=tensor("int64", [[0], [1]]), updates=row)


@pytest.mark.parametrize("pad", [(-9, 0), (-2, -2), (5, -4)])
def test_no_more_is_taken_away_than_is_there(pad: tuple[int, int]) -> None:
    refused("ConstantPadNd", "taken away", self=TABLE, pad=Attribute(pad), value=1.0)


LOSSES = ["L1Loss", "MseLoss", "KlDiv", "SmoothL1Loss", "SoftMarginLoss", "BinaryCrossEntropy"]


NO_REDUCTIONS = [(name, number) for name in LOSSES for number in (-1, 3, 7) if (name, number) != ("KlDiv", 3)]
"""3 is the mean over the batch, which the document of KlDiv alone has."""


@pytest.mark.parametrize(("name", "reduction"), NO_REDUCTIONS)
def test_a_reduction_that_no_document_has(name: str, reduction: int) -> None:
    more: dict[str, Any] = {"SmoothL1Loss": {"beta": 1.0}, "KlDiv": {"logTarget": False}}.get(name, {})
    if name == "BinaryCrossEntropy":
        more = {"weight": None}
    half = tensor("float32", [0.5, 0.25])
    refused(name, f"reduction {reduction}", self=half, target=half, reduction=reduction, **more)


@pytest.mark.parametrize(
    ("name", "shape", "padding"),
    [
        ("ReflectionPad1d", (2, 3), (3, 0)),
        ("ReflectionPad1d", (2, 3), (0, -1)),
        ("ReflectionPad2d", (1, 3, 3), (0, 0, 3, 0)),
        ("ReplicationPad1d", (2, 0), (1, 1)),
        ("CircularPad2d", (1, 1, 3, 3), (4, 0, 0, 0)),
    ],
)
def test_nothing_is_mirrored_or_continued_beyond_what_is_there(
    name: str, shape: tuple[int, ...], padding: tuple[int, ...]
) -> None:
    refused(
        name,
        "paddings of",
        self=tensor("float32", np.zeros(shape).tolist(), shape=shape),
        padding=Attribute(padding),
    )


def test_numbers_that_a_formula_cannot_have() -> None:
    half = tensor("float32", [0.5, 0.25])
    refused("SmoothL1Loss", "beta -1", self=half, target=half, reduction=0, beta=-1.0)
    refused("NanMedian", "no whole number", self=tensor("int32", [], shape=(0,)))
    refused("Linspace", "-4 steps", start=0.0, end=1.0, steps=-4)


# --- NaN, against PyTorch ---------------------------------------------------------------------------------------


def test_nan_in_losses_is_pytorchs() -> None:
    torch = pytest.importorskip("torch")
    nan, inf = float("nan"), float("inf")
    values, target = [nan, 0.5, inf, -inf, 0.25], [0.5, nan, 0.0, 0.0, 0.0]
    golden = out_of(
        "KlDiv",
        self=tensor("float32", values),
        target=tensor("float32", target),
        reduction=0,
        logTarget=False,
    )
    wanted = torch.nn.functional.kl_div(
        torch.tensor(values, dtype=torch.float64), torch.tensor(target, dtype=torch.float64), reduction="none"
    )
    assert np.array_equal(golden, wanted.numpy(), equal_nan=True)
    row, marks = [[0.1, nan, 0.4, 0.8]], [[3, 0, -1, 1]]
    golden = out_of(
        "MultilabelMarginLoss", self=tensor("float32", row), target=tensor("int64", marks), reduction=1
    )
    held = torch.tensor(row, dtype=torch.float32).double()
    wanted = torch.nn.functional.multilabel_margin_loss(held, torch.tensor(marks))
    assert float(golden) == pytest.approx(float(wanted), rel=1e-12)
