"""How quantised outputs are judged: one step by every standard that says so, ties either way, what is left open."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ascend_opcli.model import Attribute, Call, Case, Outcome, TensorSpec, Values, VerdictKind, Where
from ascend_opcli.operators.catalog import find
from ascend_opcli.operators.operator import Operator
from ascend_opcli.reference.call import make_call
from ascend_opcli.reference.evaluate import golden
from ascend_opcli.tensors.layout import resolve
from ascend_opcli.verification.comparison import Comparison
from ascend_opcli.verification.judge import side_by_side
from ascend_opcli.verification.verdict import judge_outputs

QUANT = """
    op: ascend_quant
    cases:
      - name: here
        inputs:
          x: {dtype: float32, shape: [4], data: [1.0, 2.0, 3.0, 4.0]}
          scale: {dtype: float32, shape: [1], data: 10.0}
          offset: null
        attrs: {sqrtMode: false, roundMode: round, dstType: 2}
        expect: {outputs: {y: %s}%s}
"""


@pytest.mark.parametrize(
    ("standard", "steps", "code"),
    [
        ("", 1, 0),  # the operator's own
        ("", 2, 1),
        (", standard: ecosystem", 1, 0),  # has nothing to say of integers
        (", standard: ecosystem", 2, 1),
        (", standard: dual", 1, 0),
        (", standard: dual", 2, 1),
        (", standard: single", 1, 0),
        (", standard: single", 2, 1),
        (", standard: exact", 0, 0),
        (", standard: exact", 1, 1),
    ],
)
def test_a_quantised_integer_may_be_one_step_off(
    opcli: Any, case_file: Any, standard: str, steps: int, code: int
) -> None:
    wanted = [10, 20, 30, 40 + steps]
    done = opcli("run", case_file(QUANT % (wanted, standard)))
    assert done.code == code, done.out


def test_the_report_names_the_class_by_which_the_double_benchmark_judges(opcli: Any, case_file: Any) -> None:
    done = opcli("run", case_file(QUANT % ([10, 20, 30, 42], ", standard: dual")))
    assert "one LSB" in done.out
    assert "dual: the class of quantising operators" in done.out


def test_other_integers_stay_equal_under_the_double_benchmark(opcli: Any, case_file: Any) -> None:
    text = """
        op: neg
        cases:
          - name: here
            inputs: {self: {dtype: int32, shape: [2], data: [1, 2]}}
            expect: {outputs: {out: [-1, -3]}, standard: dual}
    """
    assert opcli("run", case_file(text)).code == 1


def test_side_by_side_the_class_counts_too() -> None:
    got, wanted = np.array([1, 2], np.int8), np.array([1, 3])
    by_class = {
        o.standard: o.passed
        for o in side_by_side(Comparison("y", got, wanted, "int8"), operator_standard="quant")
    }
    plain = {o.standard: o.passed for o in side_by_side(Comparison("y", got, wanted, "int8"))}
    assert by_class["dual"]
    assert not plain["dual"]
    assert not by_class["exact"]


# --- outputs one by one ---------------------------------------------------------------------------------------


def spec(dtype: str, shape: tuple[int, ...], values: Any = None) -> TensorSpec:
    data = Values(tuple(values)) if values is not None else None
    strides, offset, storage, word = resolve(shape)
    return TensorSpec(dtype, shape, data, strides, offset, storage, word)


def made(operator: Operator, **given: Any) -> tuple[Case, Call]:
    rows = {n: g if isinstance(g, TensorSpec) else Attribute(g) for n, g in given.items() if g is not None}
    whole = {p.name: rows.get(p.name) for p in operator.signature.params}
    case = Case("here", "here", operator.name, whole, Where("here", 1, 1))
    return case, make_call(case, operator.signature, "atlas_a2")


def fake(x: list[float]) -> tuple[Operator, Case, Call]:
    operator = find("fake_quant_per_tensor_affine_cachemask")
    case, call = made(
        operator,
        self=spec("float32", (len(x),), x),
        scale=spec("float32", (1,), [0.1]),
        zeroPoint=spec("int32", (1,), [0]),
        fakeQuantEnabled=1.0,
        quantMin=-8,
        quantMax=7,
        out=spec("float32", (len(x),)),
        mask=spec("bool", (len(x),)),
    )
    return operator, case, call


@pytest.mark.parametrize(
    ("out", "mask", "word"),
    [
        # 0.25 / 0.1 lies at a half: 0.2 and 0.3 are right, 0.4 is not.
        ([0.2, 0.4], [True, True], VerdictKind.PASS),
        ([0.3, 0.4], [True, True], VerdictKind.PASS),
        ([0.4, 0.4], [True, True], VerdictKind.FAIL),
        # 0.4 / 0.1 lies at no half.
        ([0.2, 0.5], [True, True], VerdictKind.FAIL),
        # The other side's value is not one of the mask's.
        ([0.2, 0.4], [False, True], VerdictKind.FAIL),
    ],
)
def test_a_tie_may_go_either_way_in_its_output_alone(out: Any, mask: Any, word: VerdictKind) -> None:
    operator, case, call = fake([0.25, 0.4])
    outputs = {"out": np.asarray(out, np.float32), "mask": np.asarray(mask)}
    verdict = judge_outputs(case, operator, call, Outcome("here", outputs=outputs), golden(operator, call))
    assert verdict.word is word, verdict
    assert any("half" in note for note in verdict.notes)


def test_a_mask_is_not_weighed_against_the_other_side_of_a_tie() -> None:
    # The other side of 0.05 / 0.1 is 0.1 or 0, which as a bool is a mask's value.
    operator, case, call = fake([0.05])
    outputs = {"out": np.zeros(1, np.float32), "mask": np.zeros(1, bool)}
    verdict = judge_outputs(case, operator, call, Outcome("here", outputs=outputs), golden(operator, call))
    assert verdict.word is VerdictKind.FAIL
    assert verdict.reason.startswith("mask: ")


def swiglu(scale_out: float) -> tuple[Operator, Case, Call, Outcome]:
    operator = find("swi_glu_quant_v2")
    case, call = made(
        operator,
        x=spec("float32", (1, 4), [1.0, 1, 1, -0.5]),
        smoothScalesOptional=spec("float32", (1,), [1.0]),
        activateLeft=True,
        quantModeOptional="dynamic",
        groupListType=0,
        dstType=2,
        yOut=spec("int8", (1, 2)),
        scaleOut=spec("float32", (1,)),
    )
    outputs = {"yOut": np.array([[127, -64]], np.int8), "scaleOut": np.array([scale_out], np.float32)}
    return operator, case, call, Outcome("here", outputs=outputs)


@pytest.mark.parametrize("scale_out", [0.0057, 173.0])
def test_an_output_of_which_nobody_says_what_it_holds_is_not_judged_and_named(scale_out: float) -> None:
    operator, case, call, outcome = swiglu(scale_out)
    verdict = judge_outputs(case, operator, call, outcome, golden(operator, call))
    assert verdict.word is VerdictKind.PASS
    assert [o.name for o in verdict.outputs] == ["yOut"]
    assert verdict.notes == ("not judged: what scaleOut holds in such a call is not documented",)


def test_where_no_output_is_documented_nothing_is_passed() -> None:
    operator, case, call, outcome = swiglu(1.0)
    only = Outcome("here", outputs={"scaleOut": outcome.outputs["scaleOut"]})
    verdict = judge_outputs(case, operator, call, only, golden(operator, call))
    assert verdict.word is VerdictKind.SKIP
    assert verdict.reason == "cannot judge: what scaleOut holds in such a call is not documented"


def test_written_values_judge_what_is_not_documented(opcli: Any, case_file: Any) -> None:
    text = """
        op: swi_glu_quant_v2
        cases:
          - name: here
            dtype: float32
            shape: [3, 8]
            attrs: {activateLeft: true, quantModeOptional: dynamic, groupListType: 0, dstType: 2}
            expect: {outputs: {scaleOut: [1.0, 1.0, 1.0]}}
    """
    done = opcli("run", case_file(text))
    assert done.code == 1
    assert "scaleOut" in done.out
