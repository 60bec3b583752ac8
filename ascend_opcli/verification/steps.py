"""Quantised outputs that are one step off: forgiven next to a tie, and shown; wrong where the float is far from one."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from ascend_opcli.errors import OpcliError
from ascend_opcli.model import Call, OutputReport
from ascend_opcli.operators.families.quantisation.codes import nudged
from ascend_opcli.operators.operator import Operator
from ascend_opcli.reference.evaluate import golden
from ascend_opcli.reference.fitting import ReferenceFailure
from ascend_opcli.verification.overflow import Places

FEW = 0.03
"""The share of elements that may be one step off before the verdict is worth less."""


def with_steps(
    report: OutputReport,
    operator: Operator,
    call: Call,
    output: str,
    got: np.ndarray,
    wanted: np.ndarray,
    ambiguous: Places | None = None,
) -> OutputReport:
    """The report of an output that ``quant`` lets pass, judged exactly where the float before rounding tells.

    Another rounding than the reference's can only be right where a right kernel's float may lie across a tie.
    ``ambiguous`` are elements with another right value.
    """
    got, wanted = np.atleast_1d(got, wanted)
    off = got != wanted
    if ambiguous is not None:
        off.reshape(-1)[ambiguous[0]] = False
    count = int(np.count_nonzero(off))
    if not count:
        return report
    share = count / got.size
    ends = [end for sign in (-1, 1) if (end := _moved(operator, call, output, sign)) is not None]
    if len(ends) == 2:
        wrong = off & (got != ends[0]) & (got != ends[1])
        far = int(np.count_nonzero(wrong))
        if far:
            place = tuple(int(i) for i in np.argwhere(wrong)[0])
            reason = (
                f"{far:,} of {got.size:,} elements are one step off although the float before rounding is far from a"
                f" tie (first at {list(place)}: got {got[place]}, golden {wanted[place]}): another rounding mode"
            )
            return dataclasses.replace(report, passed=False, reason=reason, weak=())
    said = f"{100 * share:.2g} % of the elements are one step off"
    weak = (f"another rounding of {100 * share:.2g} % of the elements",) if share > FEW else ()
    return dataclasses.replace(report, warnings=(*report.warnings, said), weak=(*report.weak, *weak))


def _moved(operator: Operator, call: Call, output: str, sign: int) -> Any:
    """The golden with floats moved before they are rounded; None where none are, or where that is no call."""
    try:
        with nudged(sign) as nudge:
            made = golden(operator, call).outputs.get(output)
    except (ReferenceFailure, OpcliError, ValueError):
        return None
    return made if nudge.used and isinstance(made, np.ndarray) else None
