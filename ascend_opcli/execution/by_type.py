"""The second way to a kernel: by its operator type instead of its aclnn function."""

from __future__ import annotations

from ascend_opcli.model import Case
from ascend_opcli.operators.contract.phase_one import Refusal, predict
from ascend_opcli.operators.documents.twins import KernelCall, NoKernel, kernel_call
from ascend_opcli.operators.operator import Operator
from ascend_opcli.status.codes import lookup

ACLNN, IR = "aclnn", "ir"


def way_of(operator: Operator, case: Case) -> str:
    """How a device calls the case: as it says, else through aclnn where there is such a function."""
    return case.via or (IR if operator.by_type else ACLNN)


def kernel_of(operator: Operator, case: Case) -> KernelCall | None:
    """The kernel that the case is a call of, None where it goes through aclnn."""
    return _call(operator, case) if way_of(operator, case) == IR else None


def _call(operator: Operator, case: Case) -> KernelCall:
    return kernel_call(operator, case.arguments, refused=case.status is not None and case.status.code != 0)


def obstacle(operator: Operator, case: Case, backend: str, product: str) -> str | None:
    """Why the case cannot go the way that is wanted on the host or a device, None where it can."""
    if backend not in ("host", "device"):
        return None
    if way_of(operator, case) == ACLNN:
        return (
            f"{operator.name} has no aclnn function: it is called by its type" if operator.by_type else None
        )
    try:
        _call(operator, case)
    except NoKernel as error:
        return f"not by its type: {error}"
    if operator.by_type:
        return None
    if case.status is not None and lookup(case.status.code).group == "aclnn":
        return f"the status {case.status.code} is one of aclnn; a kernel by its type has its own"
    refused = predict(operator, case.arguments, product) if backend == "host" else None
    if isinstance(refused, Refusal):
        return f"aclnn refuses the call ({refused.rule}); what the kernel itself says only a device can tell"
    return None
