"""A NaN leaves open what it reaches, and nothing else: healthy slices, rows and matrices are judged."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from operator_calls import arguments, call_of, tensor

from ascend_opcli.model import Attribute, Case, Outcome, Verdict, VerdictKind, Where
from ascend_opcli.operators.catalog import find
from ascend_opcli.reference.evaluate import golden, host_result
from ascend_opcli.verification.verdict import judge_outputs

ROWS = np.array([[3.0, 1.0, 2.0, 5.0, 4.0], [4.0, np.nan, 7.0, 1.0, 2.0], [2.0, 9.0, 8.0, 6.0, 7.0]])
BATCH = np.random.default_rng(0).standard_normal((3, 4, 3))
BATCH[1, 2, 1] = np.nan
CALLS: dict[str, dict[str, Any]] = {
    "sort": {"stable": True, "dim": -1, "descending": False},
    "argsort": {"dim": -1, "descending": True},
    "topk": {"k": 2, "dim": -1, "largest": True, "sorted": True},
    "kthvalue": {"k": 2, "dim": -1, "keepdim": True},
    "median_dim": {"dim": -1, "keepDim": False},
    "cummax": {"dim": -1},
    "cummin": {"dim": -1},
    "bucketize": {"boundaries": tensor("float32", [0.0, 2.0, 5.0]), "outInt32": False, "right": False},
    "qr": {"some": True},
    "linalg_qr": {"mode": 1},
    "svd": {"fullMatrices": False, "computeUV": True},
}
DEFINED = {
    "max_dim": {"dim": -1, "keepdim": False},
    "min_dim": {"dim": -1, "keepdim": False},
    "arg_max": {"dim": -1, "keepdim": False},
    "nan_median_dim": {"dim": -1, "keepDim": False},
}


def judged(name: str, given: dict[str, Any], spoil: tuple[str, int] | None = None) -> Verdict:
    """The host result, one element of an output made wrong, judged."""
    operator = find(name)
    values = BATCH if name in ("qr", "linalg_qr", "svd") else ROWS
    plain = {n: Attribute(v) if isinstance(v, tuple) else v for n, v in given.items()}
    call = call_of(
        operator,
        arguments(operator, **{operator.signature.inputs[0].name: tensor("float32", values)}, **plain),
    )
    outputs: dict[str, Any] = host_result(operator, call)
    if spoil is not None:
        wrong = outputs[spoil[0]].copy()
        wrong.reshape(-1)[spoil[1]] += 1
        outputs[spoil[0]] = wrong
    case = Case("c.yaml", "a", operator.name, {}, Where("c.yaml", 1, 1))
    return judge_outputs(case, operator, call, Outcome("device", outputs=outputs), golden(operator, call))


@pytest.mark.parametrize("name", CALLS)
def test_a_nan_leaves_its_own_slice_out_and_no_other(name: str) -> None:
    verdict = judged(name, CALLS[name])
    assert verdict.word is VerdictKind.PASS
    assert verdict.unjudged
    for said in verdict.unjudged:
        left, _, of = said.partition(" of ")
        assert 0 < int(left) < int(of.split()[0])
    for output in (said.split()[-1] for said in verdict.unjudged):
        for place in (0, -1):  # of the first slice and of the last, which are healthy
            assert judged(name, CALLS[name], (output, place)).word is VerdictKind.FAIL, (output, place)


@pytest.mark.parametrize("name", DEFINED)
def test_what_kernels_define_for_nan_is_judged_whole(name: str) -> None:
    verdict = judged(name, DEFINED[name])
    assert verdict.word is VerdictKind.PASS
    assert not verdict.unjudged
    output = verdict.outputs[0].name
    assert judged(name, DEFINED[name], (output, 2)).word is VerdictKind.FAIL


@pytest.mark.parametrize("largest", [True, False])
def test_what_is_selected_from_a_slice_with_nan_stands_where_it_is_said_to_stand(largest: bool) -> None:
    operator = find("sort")
    call = call_of(
        operator, arguments(operator, self=tensor("float32", ROWS), stable=False, dim=-1, descending=largest)
    )
    truth = golden(operator, call)
    case = Case("c.yaml", "a", operator.name, {}, Where("c.yaml", 1, 1))
    right = host_result(operator, call)
    for front in (0, 4):  # NaN first, NaN last, with the rest in any order
        rest = np.delete(np.arange(5), 1)
        order = np.insert(rest, front, 1)
        outputs = {n: a.copy() for n, a in right.items()}
        outputs["valuesOut"][1], outputs["indicesOut"][1] = ROWS[1][order], order
        assert (
            judge_outputs(case, operator, call, Outcome("device", outputs=outputs), truth).word
            is VerdictKind.PASS
        )
        outputs["indicesOut"][1] = np.roll(order, 1)
        assert (
            judge_outputs(case, operator, call, Outcome("device", outputs=outputs), truth).word
            is VerdictKind.FAIL
        )


def test_where_every_slice_has_a_nan_nothing_is_judged() -> None:
    operator = find("topk")
    given = arguments(
        operator, self=tensor("float32", np.full((2, 3), np.nan)), k=1, dim=-1, largest=True, sorted=True
    )
    with pytest.raises(Exception, match="where NaN stands"):
        golden(operator, call_of(operator, given))
