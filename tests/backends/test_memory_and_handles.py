"""Fresh memory is zero or dirty, handles are new or used again: what a run finds does not depend on it."""

from __future__ import annotations

import re
from typing import Any

from tests.backends.conftest import OnDevice, Ran
from tests.conftest import CaseFile

CASES = """
cases:
  - {name: good, op: batch_norm_elemt_backward, dtype: float32, shape: [2, 3, 4]}
  - {name: view, op: add, dtype: float32, shape: [6, 4], inputs: {self: {layout: transposed}}, attrs: {alpha: 1.0}}
  - {name: nothing, op: logit_grad, dtype: float32, shape: [33]}
  - {name: onto, op: elu_backward, dtype: float16, shape: [33]}
  - {name: input, op: threshold_backward, dtype: float32, shape: [64], attrs: {threshold: 1.0}}
  - {name: cleared, op: div_mod, dtype: float32, shape: [64], attrs: {mode: 1}, reference: self / other}
  - {name: unzeroed, op: reduce_sum, dtype: float32, shape: [8, 9], attrs: {dims: [1], keepDims: false, dtype: float32}}
  - {name: overrun, op: cast, dtype: float32, shape: [33], attrs: {dtype: float32}}
  - {name: underrun, op: nan_to_num, dtype: float32, shape: [33], attrs: {nan: 0.0, posinf: 1.0, neginf: -1.0}}
  - {name: refused, op: gelu_backward_v2, dtype: float32, shape: [64], attrs: {approximate: "none"}}
  - name: "null"
    op: batch_norm_elemt_backward
    dtype: float32
    shape: [2, 3, 4]
    inputs: {mean: null}
    expect: {status: 161001}
  - {name: broken, op: relu, dtype: float32, shape: [8]}
  - {name: again, op: adds, dtype: float32, shape: [64], attrs: {other: 2.0, alpha: 1.0}, repeat: 3}
"""
FAULTS = (
    "aclnnLogitGrad:nothing;aclnnEluBackward:onto;aclnnThresholdBackward:input;aclnnDivMod:nothing;aclnnDivMod:cleared;"
    "aclnnReduceSum:unzeroed;aclnnCast:overrun=80;aclnnNanToNum:underrun;aclnnGeluBackwardV2:phase1=161002;aclnnRelu:sync"
)
GOOD = {"good", "view", "null", "again"}


def said(ran: Ran) -> dict[str, tuple[Any, ...]]:
    """What a run says of each case; a text of CANN's bears a process and a time."""
    return {
        name: (r["verdict"], r["status"], re.sub(r"\[PID: \d+\] \S+ ", "", r["reason"]), r["notes"])
        for name, r in ran.results.items()
    }


def test_verdicts_are_the_same_whatever_fresh_memory_holds_and_handles_are(
    on_device: OnDevice, case_file: CaseFile
) -> None:
    path = case_file(CASES)
    dirty = on_device(path, leaks=True, SIM_CANN_FAULT=FAULTS)
    assert {n for n, word in dirty.words().items() if word == "PASS"} == GOOD, dirty.out
    assert {n for n, word in dirty.words().items() if word == "FAIL"} == set(dirty.results) - GOOD
    zero = on_device(
        path, leaks=True, SIM_CANN_FAULT=FAULTS, SIM_CANN_FRESH="zero", SIM_CANN_HANDLES="reused"
    )
    assert said(zero) == said(dirty)
    for ran in (dirty, zero):
        faults = [fault for account in ran.accounts for fault in account["faults"]]
        assert not [fault for fault in faults if "destroyed" in fault or "live" in fault]
