"""A quantised output may be one step off next to a tie, and only there: another rounding mode fails."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ascend_opcli.casefile.new.calls import Calls, product_for
from ascend_opcli.casefile.open import load_text
from ascend_opcli.model import Call, Case, Outcome, Verdict, VerdictKind, Where
from ascend_opcli.operators.catalog import find, operators
from ascend_opcli.reference.call import make_call
from ascend_opcli.reference.evaluate import golden, host_result
from ascend_opcli.tensors.layout import view
from ascend_opcli.verification.standards.choice import check_for
from ascend_opcli.verification.verdict import judge_outputs

ROUNDINGS = {"round": np.rint, "floor": np.floor, "ceil": np.ceil, "trunc": np.trunc}
QUANT = [o.short_name for o in operators().values() if o.reference is not None and o.standard == "quant"]


def ascend_quant(mode: str, data: str = "{uniform: [-40, 40]}", dtype: str = "float32") -> tuple[Case, Call]:
    text = (
        f"op: ascend_quant\ncases:\n- {{name: a, inputs: {{x: {{dtype: {dtype}, shape: [32, 64], data: {data}}},"
        f" scale: {{dtype: {dtype}, shape: [1], data: 1.0}}, offset: {{dtype: {dtype}, shape: [1], data: 0.0}}}},"
        f" attrs: {{sqrtMode: false, roundMode: {mode}, dstType: 2}}}}\n"
    )
    (case,) = load_text(text, "t.yaml", check_standard=check_for).cases
    return case, make_call(case, find("ascend_quant").signature, "atlas_a2")


def judged(case: Case, call: Call, outputs: dict[str, Any]) -> Verdict:
    operator = find(case.operator)
    return judge_outputs(case, operator, call, Outcome("device", outputs=outputs), golden(operator, call))


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
@pytest.mark.parametrize("asked", ROUNDINGS)
@pytest.mark.parametrize("done", ROUNDINGS)
def test_another_rounding_mode_fails(asked: str, done: str, dtype: str) -> None:
    case, call = ascend_quant(asked, dtype=dtype)
    x = view(call.arguments["x"]).astype(np.float64)  # type: ignore[arg-type]
    found = judged(case, call, {"y": ROUNDINGS[done](x).astype(np.int8)})
    assert found.word is (VerdictKind.PASS if asked == done else VerdictKind.FAIL)
    if asked != done:
        assert (
            "elements are one step off although the float before rounding is far from a tie" in found.reason
        )


@pytest.mark.parametrize(("share", "weak"), [(0, False), (2, False), (64, True)])
def test_a_step_next_to_a_tie_is_forgiven_and_shown(share: int, weak: bool) -> None:
    case, call = ascend_quant("round", "{choice: [0.5, 1.5, 2.49, -3.51]}")
    right = golden(find("ascend_quant"), call).outputs["y"]
    assert isinstance(right, np.ndarray)
    x = view(call.arguments["x"]).astype(np.float64)  # type: ignore[arg-type]
    other = np.where(right > x, right - 1, right + 1)
    got = right.copy()
    got.reshape(-1)[: share * 8] = other.reshape(-1)[: share * 8]
    found = judged(case, call, {"y": got.astype(np.int8)})
    assert found.word is VerdictKind.PASS
    assert any("one step off" in note for note in found.notes) is (share > 0)
    assert any("another rounding of" in text for text in found.outputs[0].weak) is weak


@pytest.mark.parametrize("name", QUANT)
def test_the_host_result_of_every_quantising_operator_holds(name: str) -> None:
    operator = find(name)
    calls = Calls(operator, product_for(operator))
    dtype = calls.first_dtype
    arguments = calls.make(dtype, calls.base_shape) if dtype is not None else None
    if arguments is None:
        return
    case = Case("<t>", "t", operator.name, arguments, Where("<t>", 1, 1))
    call = make_call(case, operator.signature, calls.product)
    right = host_result(operator, call)
    assert judged(case, call, right).word is VerdictKind.PASS
    # Everything one step off is wrong somewhere far from a tie.
    for output, value in right.items():
        if isinstance(value, np.ndarray) and value.dtype == np.int8 and value.size > 8:
            moved = np.where(value < 100, value + 1, value - 1).astype(np.int8)
            assert judged(case, call, {**right, output: moved}).word is VerdictKind.FAIL, output
