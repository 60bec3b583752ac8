"""Quantised outputs that are one step off: forgiven next to a tie, and shown; wrong where the float is far from one."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from ascend_opcli.errors import OpcliError
from ascend_opcli.model import OutputReport
from ascend_opcli.operators.families.quantisation.codes import nudged
from ascend_opcli.reference.evaluate import golden
from ascend_opcli.reference.fitting import ReferenceFailure
from ascend_opcli.verification.comparison import Comparison

FEW = 0.03
"""The share of elements that may be one step off before the verdict is worth less."""


def with_steps(report: OutputReport, comparison: Comparison) -> OutputReport:
    """The report of an output that ``quant`` lets pass, judged exactly where the float before rounding tells.

    Another rounding than the reference's can only be right where a right kernel's float may lie across a tie.
    """
    got, wanted = np.atleast_1d(comparison.got, comparison.golden)
    off = got != wanted
    if comparison.ambiguous is not None:
        off.reshape(-1)[comparison.ambiguous[0]] = False
    count = int(np.count_nonzero(off))
    if not count:
        return report
    share = count / got.size
    ends = [end for sign in (-1, 1) if (end := _moved(comparison, sign)) is not None]
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
    warning = f"{100 * share:.2g} % of the elements are one step off"
    weak = (f"another rounding of {100 * share:.2g} % of the elements",) if share > FEW else ()
    return dataclasses.replace(report, warnings=(*report.warnings, warning), weak=(*report.weak, *weak))


def _moved(comparison: Comparison, sign: int) -> Any:
    """The golden with floats moved before they are rounded; None where none are, or where that is no call."""
    if comparison.operator is None or comparison.call is None:
        return None
    try:
        with nudged(sign) as nudge:
            end = golden(comparison.operator, comparison.call).outputs.get(comparison.name)
    except (ReferenceFailure, OpcliError, ValueError):
        return None
    return end if nudge.used and isinstance(end, np.ndarray) else None
