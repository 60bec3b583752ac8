"""From an outcome to a verdict: the status first, then every output under its standard."""

from __future__ import annotations

import dataclasses
import datetime
import math
from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from ascend_opcli import status as codes
from ascend_opcli.model import (
    Branch,
    Call,
    Case,
    ExpectedStatus,
    Outcome,
    OutputReport,
    Phase,
    StandardChoice,
    Tensor,
    Verdict,
    VerdictKind,
)
from ascend_opcli.operators.operator import Operator
from ascend_opcli.reference.evaluate import Golden
from ascend_opcli.reference.fitting import ReferenceFailure
from ascend_opcli.status.message_pattern import pattern
from ascend_opcli.tensors.dtypes import spacing
from ascend_opcli.tensors.flat import Streamed, take
from ascend_opcli.tensors.layout import view
from ascend_opcli.verification.earlier_outputs import Earlier
from ascend_opcli.verification.ends import Ends
from ascend_opcli.verification.judge import (
    as_compared,
    judge_and_locate,
    judge_output,
    noise_floor,
    side_by_side,
)
from ascend_opcli.verification.overflow import together
from ascend_opcli.verification.rows import ARRAYS, Left, rows
from ascend_opcli.verification.standards.named import SELECTS
from ascend_opcli.verification.steps import with_steps
from ascend_opcli.verification.third_party import ThirdParty

SUCCESS = ExpectedStatus(codes.SUCCESS, Phase.ONE)

_FAILED = {
    Phase.ONE: "refused in phase 1",
    Phase.TWO: "failed in phase 2",
    Phase.SYNC: "failed at the synchronise",
}


def judge_status(case: Case, outcome: Outcome) -> Verdict | None:
    """The verdict where the status settles it; None where the outputs are to be judged.

    A case passes on its status alone when it demands a refusal and gets it, code, phase and text.
    """
    if outcome.skip:
        return Verdict(VerdictKind.SKIP, outcome.skip)
    if outcome.error:
        return Verdict(VerdictKind.ERROR, outcome.error)
    expected = case.status or SUCCESS
    if codes.is_surroundings(outcome.status) and expected.code != outcome.status:
        return Verdict(VerdictKind.ERROR, f"the surroundings failed: {codes.describe(outcome.status)}")
    got = codes.describe(outcome.status)
    message = " ".join(outcome.message.split())
    told = f" ({message})" if message else ""
    if expected.code == codes.SUCCESS:
        if outcome.status != codes.SUCCESS:
            return Verdict(
                VerdictKind.FAIL, f"{_FAILED[outcome.phase]}: {message or 'no reason given'}: {got}"
            )
        if outcome.findings and not outcome.outputs:
            return Verdict(VerdictKind.FAIL, "; ".join(outcome.findings))
        return None
    wanted = f"expected {codes.describe(expected.code)} in phase {expected.phase.value}"
    if outcome.status == codes.SUCCESS:
        return Verdict(VerdictKind.FAIL, f"{wanted}, but the call was accepted")
    if outcome.status != expected.code:
        return Verdict(VerdictKind.FAIL, f"{wanted}, got {got}{told}")
    if outcome.phase is not expected.phase:
        return Verdict(VerdictKind.FAIL, f"{wanted}, got it in phase {outcome.phase.value}{told}")
    if expected.message is not None and not pattern(expected.message).found_in(outcome.message):
        return Verdict(
            VerdictKind.FAIL, f"{got} as expected, but its text does not match '{expected.message}'{told}"
        )
    if outcome.findings:
        return Verdict(VerdictKind.FAIL, "; ".join(outcome.findings))
    return Verdict(VerdictKind.PASS, f"refused as expected: {got}{told}")


def judge_outputs(
    case: Case,
    operator: Operator,
    call: Call,
    outcome: Outcome,
    golden: Golden | None,
    *,
    override: StandardChoice | None = None,
    all_standards: bool = False,
    earlier: Earlier | None = None,
    third_party: str | None = None,
) -> Verdict:
    """The verdict over the outputs of a successful call.

    ``golden`` is None where the operator has no reference; outputs without an expectation are then not
    judged, and a case in which nothing can be judged is SKIP. ``override`` is the command line's standard.
    ``all_standards`` adds how every standard would judge. ``earlier`` holds outputs of the calls before this
    one, which a failed output may repeat. ``third_party`` is the folder where the dual standard finds its
    third-party results.
    """
    reports: list[OutputReport] = []
    third = ThirdParty(case, operator, call, outcome)
    ends = Ends(operator, call, dict(golden.outputs) if golden is not None else {})
    warnings: list[str] = []
    doubts: list[str] = []
    inputs = {name: view(bound) for name, bound in call.arguments.items() if isinstance(bound, Tensor)}
    asked, left = rows(case, operator, call, outcome, golden, override)
    warnings += left.remarks
    for row in asked:
        name, spec, got, wanted = row.output, row.spec, row.got, row.wanted
        choice = third_party_of(row.choice, third_party)
        ambiguous = golden.ambiguous if golden is not None and not row.explicit else None
        ambiguous = ambiguous if operator.ambiguous_output in (None, name) and not row.says else None
        theirs = third.result(choice, name, spec)
        doubt = third.doubt(choice, name, theirs, wanted, spec, ambiguous)
        doubts += [doubt] if doubt else []
        compared = as_compared(wanted, spec.dtype, choice)
        judged = partial(
            judge_and_locate,
            row.name,
            got,
            compared,
            dtype=spec.dtype,
            choice=choice,
            inputs=inputs if not row.made else {},
            written=row.written,
            third=theirs,
            copies={n: a for n, a in inputs.items() if a.shape == spec.shape and a.dtype.kind != "b"},
        )
        report, failing = judged(ambiguous=ambiguous)
        if not report.passed and golden is not None and not row.explicit and not row.says:
            beyond = third.overflow(name, wanted, spec.dtype)
            if beyond is not None:
                thresholds, ambiguous = report.either, together(ambiguous, beyond)
                report, failing = judged(ambiguous=ambiguous)
                report = dataclasses.replace(report, either=thresholds)
                warnings.append(_OVERFLOW.format(name, f"{len(beyond[0]):,}", operator.compute))
        if row.made:  # a cheap wrong answer is one to an output, not to what is made of several
            one = float(spacing(np.ones(1), spec.dtype)[0])  # its size, whatever stands at an element
            worst = tuple(dataclasses.replace(e, ulp=e.absolute / one) for e in report.worst)
            report = dataclasses.replace(report, weak=(), worst=worst)
        if row.says and choice.name != SELECTS:  # which says it itself
            report = dataclasses.replace(report, rule=f"{report.rule}; {row.says}")
        stepped = report.passed and report.standard == "quant" and not row.explicit and not row.says
        if stepped and golden is not None and not isinstance(got, Streamed):
            report = with_steps(report, operator, call, name, got, compared, ambiguous)
        warnings += [f"{row.name}: {text}" for text in report.warnings]
        if report.passed and not row.explicit and not row.says and not isinstance(got, Streamed):
            short = ends.passing(name, spec.dtype, choice, theirs)
            report = dataclasses.replace(report, weak=report.weak + short)
        if all_standards:
            beside = third.host(name) if third_party is None and not row.says else None
            if third_party is not None and not row.says:
                beside = third.result(_dual(third_party), name, spec)
                doubt = third.doubt(_dual(third_party), name, beside, wanted, spec, ambiguous)
                if doubt:
                    beside = None
                    warnings.append(f"dual is left out: {doubt}")
            others = side_by_side(
                got,
                wanted,
                dtype=spec.dtype,
                ambiguous=ambiguous,
                written=row.written,
                third=beside,
                operator_standard=operator.standard,
            )
            report = dataclasses.replace(report, standards=others)
        if not report.passed:
            from ascend_opcli.verification.diagnosis import diagnose  # a passing run does without it

            found = diagnose(
                name,
                got,
                compared,
                dtype=spec.dtype,
                choice=choice,
                inputs=inputs if not row.made else {},
                ambiguous=ambiguous,
                written=row.written,
                # The reference and earlier calls have nothing like what is made of outputs.
                operator=operator if not row.made else None,
                call=call if not row.made else None,
                earlier=earlier.outputs(case.operator, name, spec.dtype)
                if earlier is not None and not row.made
                else (),
                # What was not written may be right by chance, and is wrong all the same.
                failing=failing if not report.census.not_written else None,
            )
            floor = None
            if not row.explicit and not row.says:  # the host result has made a choice of its own
                floor = _floor(third, name, got, wanted, spec.dtype, choice)
            sentence = found.sentence
            own = golden.outputs.get(name) if golden is not None and row.explicit else None
            if (
                isinstance(own, ARRAYS)
                and judge_output(name, got, own, dtype=spec.dtype, choice=choice).passed
            ):
                agrees = (
                    "got agrees with the built-in reference: it is the case's expected values that differ"
                )
                # Where they differ is worth saying; why the operator would have given it is not.
                sentence = f"{agrees}; {sentence}" if sentence.startswith("only ") else agrees
            report = dataclasses.replace(
                report,
                diagnosis=sentence,
                floor=floor.share if floor is not None else None,
                floor_non_finite=floor is not None and floor.strange,
                mismatch_strip=found.strip,
                ulp_histogram=found.histogram,
                pairs=_pairs(got, compared),
            )
        branches = tuple(Branch(n, c) for n, c in golden.branches.items()) if golden is not None else ()
        if report.passed and outcome.backend == "host" and not row.explicit:
            report = dataclasses.replace(report, floor=report.used)
        reports.append(dataclasses.replace(report, branches=branches))
    told = (*golden.divergences, *golden.remarks) if golden is not None else ()
    notes = [*outcome.notes, *told, *warnings, *third.notes]
    left_out = _left_out(left)
    # One rule, whoever made the outputs: without a judged one and a status that was demanded and observed nothing is
    # known of the operator.
    faults = (*outcome.findings, *outcome.again)
    if not reports and not faults and (case.status is None or not outcome.has_status):
        why = "; ".join(left_out) or "the call has no output tensor"
        if case.status is not None:
            why += ", and nothing was run that gives a status"
        return Verdict(VerdictKind.SKIP, f"cannot judge: {why}")
    if reports and not faults and not outcome.has_status and not any(math.prod(r.shape) for r in reports):
        return Verdict(
            VerdictKind.SKIP,
            "cannot judge: the outputs have no element, and nothing was run that gives a status",
        )
    notes += [f"not judged: {text}" for text in left_out]
    failed = [r for r in reports if not r.passed]
    if failed or faults:
        said = [
            *outcome.findings,
            *(r.reason if len(reports) == 1 else f"{r.name}: {r.reason}" for r in failed),
            *(other.said for other in outcome.again),
        ]
        reports += [report for other in outcome.again for report in other.outputs]
        return Verdict(VerdictKind.FAIL, "; ".join(said), tuple(reports), (*notes, *doubts))
    if doubts:
        # As where there is none: a ratio to wrong errors shows nothing.
        return Verdict(VerdictKind.ERROR, "; ".join(doubts), notes=tuple(notes))
    return Verdict(
        VerdictKind.PASS,
        "",
        tuple(reports),
        tuple(notes),
        (*left.unknown, *left.undefined, *left.ignored, *left.parts),
    )


def _left_out(left: Left) -> list[str]:
    """Why outputs were not judged, a phrase each."""
    said = []
    if left.unknown:
        said.append(f"no reference and no expected values for {', '.join(left.unknown)}")
    if left.undefined:
        said.append(_undefined(left.undefined))
    if left.parts:
        said.append(_undefined(left.parts))
    if left.ignored:
        said.append(f"the case ignores {', '.join(left.ignored)}")
    return said


_OVERFLOW = "{}: a step overflows in {} of its elements, and what {} makes of it is as right as the golden"


class _Floor(NamedTuple):
    """The share of the tolerance that the host result uses, and whether a NaN or Inf of its own makes it miss."""

    share: float
    strange: bool


def _floor(
    third: ThirdParty, name: str, got: np.ndarray, golden: np.ndarray, dtype: str, choice: StandardChoice
) -> _Floor | None:
    """The noise floor of a failed output; None where there is no host result to tell it."""
    try:
        own = third.host(name)
    except ReferenceFailure:
        return None
    if own is None or own.shape != golden.shape or own.dtype != got.dtype:
        return None
    return _Floor(*noise_floor(own, golden, dtype, choice))


def third_party_of(choice: StandardChoice, folder: str | None) -> StandardChoice:
    """The choice with its third-party results taken from a folder that the command line names."""
    if choice.name != "dual" or folder is None:
        return choice
    origin = choice.origin
    if "command line" not in origin:
        origin = f"{origin}, third party from the command line"
    return StandardChoice(choice.name, {**choice.numbers, "third": folder}, origin)


def _dual(folder: str) -> StandardChoice:
    return third_party_of(StandardChoice("dual", {}, "command line"), folder)


def apply_known_issue(case: Case, verdict: Verdict, today: datetime.date) -> Verdict:
    """KNOWN for a failure that is marked and not expired; a mark on a passing case is pointed out."""
    mark = case.known_issue
    if mark is None or verdict.word not in (VerdictKind.FAIL, VerdictKind.PASS):
        return verdict
    if verdict.word is VerdictKind.PASS:
        return dataclasses.replace(
            verdict, notes=(*verdict.notes, f"fixed: remove the mark known_issue ({mark.reason})")
        )
    if mark.expires is not None and today > datetime.date.fromisoformat(mark.expires):
        reason = f"{verdict.reason}; the known issue expired on {mark.expires} ({mark.reason})"
        return dataclasses.replace(verdict, reason=reason)
    return dataclasses.replace(
        verdict, word=VerdictKind.KNOWN, reason=f"known issue: {mark.reason} ({verdict.reason})"
    )


PAIRS = 256
"""Elements that a picture of a failed output shows at the most."""


def _pairs(got: np.ndarray, golden: np.ndarray) -> tuple[tuple[float, float], ...]:
    """Golden and got of evenly spread elements; none where they cannot be told as two floats."""
    if got.dtype.kind == "c" or golden.dtype.kind == "c" or got.shape != golden.shape or not got.size:
        return ()
    places = np.unique(np.linspace(0, got.size - 1, min(PAIRS, got.size)).astype(np.int64))
    with np.errstate(all="ignore"):
        ours, theirs = (take(a, places).astype(np.float64).tolist() for a in (got, golden))
    return tuple(zip(theirs, ours, strict=True))


def _undefined(names: Sequence[str]) -> str:
    return (
        f"what {' and '.join(names)} {'hold' if len(names) > 1 else 'holds'} in such a call is not documented"
    )
