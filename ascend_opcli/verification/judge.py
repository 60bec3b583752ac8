"""One output and its golden become a report."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ascend_opcli.model import Alternative, Census, Element, Number, OutputReport, StandardChoice
from ascend_opcli.tensors.dtypes import dtype as dtype_of
from ascend_opcli.tensors.dtypes import numpy_dtype, spacing
from ascend_opcli.tensors.flat import spread, take
from ascend_opcli.verification.compare.elements import figures
from ascend_opcli.verification.compare.flat import rounded
from ascend_opcli.verification.compare.metrics import Metrics, Patches
from ascend_opcli.verification.compare.whole_output import judged
from ascend_opcli.verification.standards.choice import of_class
from ascend_opcli.verification.standards.named import SELECTS, STANDARDS, Standard, covers, make
from ascend_opcli.verification.weak_answers import passes_anyway, weak_answers
from ascend_opcli.verification.wording import reason

TRUSTED_FROM = 8
"""An output with fewer elements is not asked which wrong answers would pass: too many would, by chance."""


def judge_output(
    name: str,
    got: np.ndarray,
    golden: np.ndarray,
    *,
    dtype: str,
    choice: StandardChoice,
    inputs: Mapping[str, np.ndarray] | None = None,
    ambiguous: tuple[np.ndarray, np.ndarray] | None = None,
    written: np.ndarray | None = None,
    copies: Mapping[str, np.ndarray] | None = None,
    third: np.ndarray | None = None,
    threads: int | None = None,
) -> OutputReport:
    """Judges ``got``, an array of ``dtype``, against ``golden``, of its shape and any real or complex dtype.

    ``inputs`` by name are shown at the worst elements where they broadcast to the output's shape. ``ambiguous``
    holds flat indices and the golden values that are as right there. ``written`` is False, per element, where
    the output still holds its poison. ``copies`` are inputs that a faulty kernel might hand through. ``third``
    is the third-party result of the dual standard. A shape or dtype that differs is a failed report. Raises
    ValueError, in one sentence, for a choice that cannot be made concrete.
    """
    return judge_and_locate(
        name,
        got,
        golden,
        dtype=dtype,
        choice=choice,
        inputs=inputs,
        ambiguous=ambiguous,
        written=written,
        copies=copies,
        third=third,
        threads=threads,
    )[0]


def judge_and_locate(
    name: str,
    got: np.ndarray,
    golden: np.ndarray,
    *,
    dtype: str,
    choice: StandardChoice,
    inputs: Mapping[str, np.ndarray] | None = None,
    ambiguous: tuple[np.ndarray, np.ndarray] | None = None,
    written: np.ndarray | None = None,
    copies: Mapping[str, np.ndarray] | None = None,
    third: np.ndarray | None = None,
    threads: int | None = None,
) -> tuple[OutputReport, np.ndarray | None]:
    """What :func:`judge_output` gives, and the flat places of the elements that failed the rule for elements.

    They are ascending; None where they are many, or where the report says nothing of elements. What was not
    written is not among them.
    """
    standard = make(choice, dtype)
    dtype = dtype_of(dtype).name
    wrong = _not_comparable(got, golden, dtype)
    if wrong:
        report = OutputReport(
            name=name,
            dtype=dtype,
            shape=got.shape,
            passed=False,
            reason=wrong,
            standard=standard.name,
            rule=standard.rule,
            origin=choice.origin,
            used=float("inf"),
            census=Census(),
        )
        return report, None
    golden, ambiguous = _as_compared(golden, ambiguous, dtype, standard)
    patches = None if ambiguous is None else _nearer(got, golden, dtype, standard, ambiguous)
    found = judged(
        got, golden, dtype, standard, third=third, patches=patches, written=written, threads=threads
    )
    metrics, failed = found.metrics, list(found.failed)
    weak: tuple[str, ...] = ()
    if not failed and got.size >= TRUSTED_FROM and dtype_of(dtype).kind in ("float", "complex"):
        weak = weak_answers(golden, dtype, standard, copies or {}, metrics, third)
    if not failed:
        weak = tuple(dict.fromkeys((*passes_anyway(golden, dtype, standard, third), *weak)))
    report = OutputReport(
        name=name,
        dtype=dtype,
        shape=got.shape,
        passed=not failed,
        reason=reason(failed),
        standard=standard.name,
        rule=standard.rule,
        origin=choice.origin,
        used=found.used,
        census=metrics.census,
        worst=_worst(metrics, got, golden, dtype, found.standard, patches, inputs or {}),
        atol_needed=metrics.atol_needed,
        rtol_needed=metrics.rtol_needed,
        either=0 if ambiguous is None else len(ambiguous[0]),
        weak=weak,
        warnings=found.warnings,
    )
    return report, metrics.failing


def side_by_side(
    got: np.ndarray,
    golden: np.ndarray,
    *,
    dtype: str,
    ambiguous: tuple[np.ndarray, np.ndarray] | None = None,
    written: np.ndarray | None = None,
    third: np.ndarray | None = None,
    threads: int | None = None,
    operator_standard: str | None = None,
) -> tuple[Alternative, ...]:
    """How every standard that covers ``dtype`` would judge, each with its own numbers; see :func:`judge_output`.

    ``operator_standard`` tells the class of the operator, of which some standards have rules of their own.
    Without a third-party result the dual standard is left out. Nothing can be said of arrays that do not fit.
    """
    dtype = dtype_of(dtype).name
    if _not_comparable(got, golden, dtype):
        return ()
    made = []
    for name in STANDARDS:
        if not covers(name, dtype) or name == SELECTS:
            continue
        standard = make(of_class(StandardChoice(name), dtype, operator_standard), dtype)
        if standard.whole == "dual" and third is None:
            continue
        wanted, others = _as_compared(golden, ambiguous, dtype, standard)
        patches = None if others is None else _nearer(got, wanted, dtype, standard, others)
        found = judged(
            got, wanted, dtype, standard, third=third, patches=patches, written=written, threads=threads
        )
        said = reason(list(found.failed))
        made.append(Alternative(name, not found.failed, found.used, said, found.warnings))
    return tuple(made)


def noise_floor(
    host_result: np.ndarray, golden: np.ndarray, dtype: str, choice: StandardChoice
) -> tuple[float, bool]:
    """The share of the tolerance that the host result uses, and whether it has NaN or Inf where the golden differs.

    No kernel can do better; above 1, none passes.
    """
    name = dtype_of(dtype).name
    found = judged(
        host_result, as_compared(golden, name, choice), name, make(choice, dtype), third=host_result
    )
    census = found.metrics.census
    return found.used, census.nan_against_number + census.inf_against_other > 0


def as_compared(golden: np.ndarray, dtype: str, choice: StandardChoice) -> np.ndarray:
    """The golden that the standard of a choice compares with: rounded to the output's dtype where its tool does so."""
    return _as_compared(golden, None, dtype, make(choice, dtype))[0]


def _as_compared(
    golden: np.ndarray, ambiguous: tuple[np.ndarray, np.ndarray] | None, dtype: str, standard: Standard
) -> tuple[np.ndarray, tuple[np.ndarray, np.ndarray] | None]:
    if not standard.rounded or (golden.dtype.kind == "c" and dtype_of(dtype).kind != "complex"):
        return golden, ambiguous
    return rounded(golden, dtype), None if ambiguous is None else (ambiguous[0], rounded(ambiguous[1], dtype))


def _not_comparable(got: np.ndarray, golden: np.ndarray, dtype: str) -> str:
    if got.shape != golden.shape:
        return f"the output has the shape {_shape(got)}, the golden {_shape(golden)}"
    # Saved tensors may be in the other byte order; they are turned round block by block.
    if got.dtype.newbyteorder("=") != numpy_dtype(dtype):
        return f"the output has the dtype {got.dtype.name}, expected is {dtype}"
    if golden.dtype.kind == "c" and got.dtype.kind != "c":
        return f"the golden is complex, the output {dtype}"
    return ""


def _shape(array: np.ndarray) -> str:
    return str(list(array.shape))


def _nearer(
    got: np.ndarray,
    golden: np.ndarray,
    dtype: str,
    standard: Standard,
    ambiguous: tuple[np.ndarray, np.ndarray],
) -> Patches:
    """The places where the alternative is nearer to the output than the golden, and its values there."""
    order = np.argsort(ambiguous[0], kind="stable")
    places, others = np.asarray(ambiguous[0])[order], np.asarray(ambiguous[1])[order]
    values = take(got, places)
    with np.errstate(all="ignore"):
        plain = figures(values, take(golden, places), dtype, standard)
        other = figures(values, others, dtype, standard)
    better = other.error < plain.error
    return places[better], others[better]


def _worst(
    metrics: Metrics,
    got: np.ndarray,
    golden: np.ndarray,
    dtype: str,
    standard: Standard,
    patches: Patches | None,
    inputs: Mapping[str, np.ndarray],
) -> tuple[Element, ...]:
    if not metrics.worst:
        return ()
    places = np.array([bad.place for bad in metrics.worst])
    values, goldens = take(got, places), take(golden, places)
    if patches is not None:
        goldens = goldens.astype(np.result_type(goldens.dtype, patches[1].dtype))
        where = np.minimum(np.searchsorted(patches[0], places), max(len(patches[0]) - 1, 0))
        for row, at in enumerate(where.tolist()):
            if len(patches[0]) and patches[0][at] == places[row]:
                goldens[row] = patches[1][at]
    shown = {name: values for name, values in inputs.items() if _broadcasts(values, got.shape)}
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
