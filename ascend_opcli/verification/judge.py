"""One output and its golden become a report."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ascend_opcli.model import Alternative, Census, Element, Number, OutputReport, StandardChoice
from ascend_opcli.tensors.dtypes import numpy_dtype, spacing
from ascend_opcli.tensors.flat import spread, take
from ascend_opcli.verification.compare.elements import figures
from ascend_opcli.verification.compare.metrics import Metrics
from ascend_opcli.verification.compare.whole_output import judged
from ascend_opcli.verification.comparison import Comparison
from ascend_opcli.verification.failed_criteria import reason
from ascend_opcli.verification.standards.choice import of_class
from ascend_opcli.verification.standards.named import SELECTS, STANDARDS, Standard, covers, make
from ascend_opcli.verification.weak_answers import weak_answers


def judge(comparison: Comparison, choice: StandardChoice, *, threads: int | None = None) -> OutputReport:
    """The report on an output under the standard of a choice.

    A shape or dtype that differs is a failed report. Raises ValueError, in one sentence, for a choice that cannot be
    made concrete.
    """
    return judge_and_locate(comparison, choice, threads=threads)[0]


def judge_and_locate(
    comparison: Comparison, choice: StandardChoice, *, threads: int | None = None
) -> tuple[OutputReport, np.ndarray | None]:
    """What :func:`judge` gives, and the flat places of the elements that failed the rule for elements.

    They are ascending; None where they are many, where the report says nothing of elements, or where some were not
    written: what was not written may be right by chance, and is wrong all the same.
    """
    standard = make(choice, comparison.dtype)
    wrong = _not_comparable(comparison)
    got = comparison.got
    report = OutputReport(
        name=comparison.name,
        dtype=comparison.dtype,
        shape=got.shape,
        passed=not wrong,
        reason=wrong,
        standard=standard.name,
        rule=standard.rule,
        origin=choice.origin,
        used=float("inf"),
        census=Census(),
    )
    if wrong:
        return report, None
    comparison = _settled(comparison.under(standard), standard)
    found = judged(comparison, standard, threads=threads)
    metrics = found.metrics
    report = replace(
        report,
        passed=not found.failed,
        reason=reason(found.failed),
        used=found.used,
        census=metrics.census,
        worst=_worst(comparison, metrics, found.standard),
        atol_needed=metrics.atol_needed,
        rtol_needed=metrics.rtol_needed,
        either=0 if comparison.ambiguous is None else len(comparison.ambiguous[0]),
        weak=() if found.failed else weak_answers(comparison, standard, metrics),
        warnings=found.warnings,
    )
    return report, None if metrics.census.not_written else metrics.failing


def side_by_side(
    comparison: Comparison, *, operator_standard: str | None = None, threads: int | None = None
) -> tuple[Alternative, ...]:
    """How every standard that covers the output's dtype would judge, each with its own numbers.

    ``operator_standard`` tells the class of the operator: some standards have rules of their own for it. Without a
    third-party result the dual standard is left out. Nothing can be said of arrays that do not fit.
    """
    if _not_comparable(comparison):
        return ()
    alternatives = []
    for name in STANDARDS:
        if not covers(name, comparison.dtype) or name == SELECTS:
            continue
        choice = of_class(StandardChoice(name), comparison.dtype, operator_standard)
        standard = make(choice, comparison.dtype)
        if standard.whole == "dual" and comparison.third is None:
            continue
        found = judged(_settled(comparison.under(standard), standard), standard, threads=threads)
        alternatives.append(
            Alternative(name, not found.failed, found.used, reason(found.failed), found.warnings)
        )
    return tuple(alternatives)


def noise_floor(comparison: Comparison, choice: StandardChoice) -> tuple[float, bool]:
    """The share of the tolerance that the host result uses, and whether it has NaN or Inf where the golden differs.

    The host result stands in the place of the output. No kernel can do better; above 1, none passes.
    """
    standard = make(choice, comparison.dtype)
    found = judged(replace(comparison, third=comparison.got).under(standard), standard)
    census = found.metrics.census
    return found.used, census.nan_against_number + census.inf_against_other > 0


def _not_comparable(comparison: Comparison) -> str:
    got, golden, dtype = comparison.got, comparison.golden, comparison.dtype
    if got.shape != golden.shape:
        return f"the output has the shape {list(got.shape)}, the golden {list(golden.shape)}"
    # Saved tensors may be in the other byte order; they are turned round block by block.
    if got.dtype.newbyteorder("=") != numpy_dtype(dtype):
        return f"the output has the dtype {got.dtype.name}, expected is {dtype}"
    if golden.dtype.kind == "c" and got.dtype.kind != "c":
        return f"the golden is complex, the output {dtype}"
    return ""


def _settled(comparison: Comparison, standard: Standard) -> Comparison:
    """The comparison with the values that count ``instead`` of the golden at ambiguous elements."""
    if comparison.ambiguous is None:
        return comparison
    order = np.argsort(comparison.ambiguous[0], kind="stable")
    places, others = (np.asarray(each)[order] for each in comparison.ambiguous)
    values = take(comparison.got, places)
    with np.errstate(all="ignore"):
        plain = figures(values, take(comparison.golden, places), comparison.dtype, standard)
        other = figures(values, others, comparison.dtype, standard)
    better = other.error < plain.error
    return replace(comparison, instead=(places[better], others[better]))


def _worst(comparison: Comparison, metrics: Metrics, standard: Standard) -> tuple[Element, ...]:
    if not metrics.worst:
        return ()
    got, dtype = comparison.got, comparison.dtype
    places = np.array([bad.place for bad in metrics.worst])
    values, goldens = take(got, places), take(comparison.golden, places)
    if comparison.instead is not None:
        where, others = comparison.instead
        _, rows, at = np.intersect1d(places, where, assume_unique=True, return_indices=True)
        goldens = goldens.astype(np.result_type(goldens.dtype, others.dtype))
        goldens[rows] = others[at]
    shown = {n: v for n, v in comparison.inputs.items() if _broadcasts(v, got.shape)}
    with np.errstate(all="ignore"):
        found = figures(values, goldens, dtype, standard)
        relative = np.where(found.error == 0, 0.0, found.error / found.size)
        ulps = np.where(found.error == 0, 0.0, found.error / spacing(found.size, dtype))
    elements = []
    for row, bad in enumerate(metrics.worst):
        index = tuple(int(i) for i in np.unravel_index(bad.place, got.shape))
        elements.append(
            Element(
                index=index,
                inputs={
                    name: _plain(take(spread(v, got.shape), np.array([bad.place]))[0])
                    for name, v in shown.items()
                },
                got=_plain(values[row]),
                golden=_plain(goldens[row]),
                absolute=bad.error,
                relative=float(relative[row]),
                ulp=float(ulps[row]),
                used=bad.used,
            )
        )
    return tuple(elements)


def _broadcasts(values: np.ndarray, shape: tuple[int, ...]) -> bool:
    try:
        spread(values, shape)
    except ValueError:
        return False
    return True


def _plain(value: object) -> Number:
    """A NumPy scalar as Python's own number; the scalars of ml_dtypes become floats."""
    if isinstance(value, np.generic):
        plain = value.item()
        if isinstance(plain, (bool, int, float, complex)):
            return plain
    return float(value)  # type: ignore[arg-type]
