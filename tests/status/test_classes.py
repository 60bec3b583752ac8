"""Every return code says whose fault it is: of the call, of the operator, or of the surroundings."""

from __future__ import annotations

import pytest

from ascend_opcli.model import Case, Outcome, Phase, Where
from ascend_opcli.status.codes import all_codes, is_surroundings
from ascend_opcli.verification.verdict import judge_status


def test_every_code_has_a_class() -> None:
    assert {c.fault for c in all_codes() if c.code != 0} == {"call", "operator", "surroundings"}


# By what the runtime's own table of codes advises: look at device, driver, memory or installation.
LOST = {
    "ACL_ERROR_RT_INVALID_DEVICEID", "ACL_ERROR_RT_NO_DEVICE", "ACL_ERROR_RT_DEV_SETUP_ERROR",
    "ACL_ERROR_RT_DEVICE_TASK_ABORT", "ACL_ERROR_RT_LOST_HEARTBEAT", "ACL_ERROR_RT_SOCKET_CLOSE",
    "ACL_ERROR_RT_DEVICE_MEM_ERROR", "ACL_ERROR_RT_HBM_MULTI_BIT_ECC_ERROR", "ACL_ERROR_RT_LINK_ERROR",
    "ACL_ERROR_RT_SUSPECT_DEVICE_MEM_ERROR", "ACL_ERROR_RT_SUSPECT_REMOTE_ERROR", "ACL_ERROR_BAD_ALLOC",
    "ACL_ERROR_RT_MEMORY_ALLOCATION", "ACL_ERROR_RT_DEVICE_OOM", "ACL_ERROR_RT_DRV_INTERNAL_ERROR",
    "ACL_ERROR_RT_NO_STREAM_RESOURCE", "ACL_ERROR_COMPILING_STUB_MODE", "ACL_ERROR_INVALID_OPP_PATH",
    "ACLNN_ERR_INNER_OPP_PATH_NOT_FOUND", "ACLNN_ERR_INNER_OPP_KERNEL_PKG_NOT_FOUND",
}  # fmt: skip
OWN = {
    "ACLNN_ERR_PARAM_NULLPTR", "ACLNN_ERR_PARAM_INVALID", "ACLNN_ERR_RUNTIME_ERROR", "ACLNN_ERR_INNER_TILING_ERROR",
    "ACLNN_ERR_INNER_FIND_KERNEL_ERROR", "ACL_ERROR_INTERNAL_ERROR", "ACL_ERROR_RT_AICORE_TIMEOUT",
    "ACL_ERROR_RT_AICORE_EXCEPTION", "ACL_ERROR_RT_AICPU_EXCEPTION", "ACL_ERROR_RT_VECTOR_CORE_EXCEPTION",
    "ACL_ERROR_RT_STREAM_SYNC_TIMEOUT", "ACL_ERROR_RT_FFTS_PLUS_EXCEPTION",
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(LOST | OWN))
def test_what_is_lost_is_an_error_and_what_the_operator_did_a_failure(name: str) -> None:
    (code,) = (c.code for c in all_codes() if c.name == name)
    assert is_surroundings(code) == (name in LOST)
    for phase in Phase:
        verdict = judge_status(
            Case("f", "a", "aclnnAbs", {}, Where("f", 1, 1)), Outcome("device", code, phase)
        )
        assert verdict is not None
        assert verdict.word.name == ("ERROR" if name in LOST else "FAIL")
