"""ACL_OPT_DETERMINISTIC belongs to the process: a case that asks for it must not change those after it."""

from __future__ import annotations

import pytest

from tests.backends.conftest import OnDevice
from tests.conftest import CaseFile

RANDOM = {"SIM_CANN_FAULT": "aclnnLogitGrad:random=unless-deterministic"}
"""Other bits at every call, unless the option is set."""


@pytest.mark.parametrize("asks", ["deterministic: 1", "repeat: 3", "repeat: 2, deterministic: 2"])
def test_the_case_after_one_that_asks_is_not_affected(
    on_device: OnDevice, case_file: CaseFile, asks: str
) -> None:
    path = case_file(f"""
        op: logit_grad
        defaults: {{dtype: float32, shape: [64], standard: exact}}
        cases: [{{name: asks, {asks}, standard: {{ulp: {{max: 8}}}}}}, {{name: plain}}]
    """)
    ran = on_device(path, **RANDOM)
    assert ran.words() == {"asks": "PASS", "plain": "FAIL"}
    assert [account["deterministic"] for account in ran.accounts] == [0]


def test_the_level_is_set_back_where_the_call_is_refused(on_device: OnDevice, case_file: CaseFile) -> None:
    path = case_file("""
        op: logit_grad
        cases: [{name: a, deterministic: 1, dtype: float32, shape: [4], inputs: {x: null},
                 expect: {status: 161001}}]
    """)
    ran = on_device(path)
    assert ran.words() == {"a": "PASS"}
    assert [account["deterministic"] for account in ran.accounts] == [0]
