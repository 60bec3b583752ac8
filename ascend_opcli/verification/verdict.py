"""From an outcome to a verdict: the status first, then every output under its standard."""

from __future__ import annotations

import datetime
import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ascend_opcli import status as codes
from ascend_opcli.model import (
    Alternative,
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
from ascend_opcli.verification.comparison import Comparison
from ascend_opcli.verification.earlier_outputs import EarlierOutput, EarlierOutputs
from ascend_opcli.verification.judge import judge, judge_and_locate, noise_floor, side_by_side
from ascend_opcli.verification.omitted_ends import OmittedEnds
from ascend_opcli.verification.overflow import together
from ascend_opcli.verification.pairings import ARRAYS, Pairing, Unjudged, pairings
from ascend_opcli.verification.rounding_steps import with_steps
from ascend_opcli.verification.standards.named import SELECTS, make
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
    earlier: EarlierOutputs | None = None,
    third_party: str | None = None,
) -> Verdict:
    """The verdict over the outputs of a successful call.

    ``golden`` is None where the operator has no reference; outputs without an expectation are then not
    judged, and a case in which nothing can be judged is SKIP. ``override`` is the command line's standard.
    ``all_standards`` adds how every standard would judge. ``earlier`` holds outputs of the calls before this
    one, which a failed output may repeat. ``third_party`` is the folder where the dual standard finds its
    third-party results.
    """
    asked, left = pairings(case, operator, call, outcome, golden, override)
    outputs = _Outputs(case, operator, call, outcome, golden, third_party, earlier)
    reports = [outputs.report(row, all_standards=all_standards) for row in asked]
    told = (*golden.divergences, *golden.remarks) if golden is not None else ()
    notes = [*outcome.notes, *told, *left.remarks, *outputs.warnings, *outputs.third.notes]
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
        why = "the outputs have no element, and nothing was run that gives a status"
        return Verdict(VerdictKind.SKIP, f"cannot judge: {why}")
    notes += [f"not judged: {text}" for text in left_out]
    failed = [r for r in reports if not r.passed]
    if failed or faults:
        reasons = [
            *outcome.findings,
            *(r.reason if len(reports) == 1 else f"{r.name}: {r.reason}" for r in failed),
            *(other.said for other in outcome.again),
        ]
        reports += [report for other in outcome.again for report in other.outputs]
        return Verdict(VerdictKind.FAIL, "; ".join(reasons), tuple(reports), (*notes, *outputs.doubts))
    if outputs.doubts:
        # As where there is none: a ratio to wrong errors shows nothing.
        return Verdict(VerdictKind.ERROR, "; ".join(outputs.doubts), notes=tuple(notes))
    unjudged = (*left.unknown, *left.undefined, *left.ignored, *left.parts)
    return Verdict(VerdictKind.PASS, "", tuple(reports), tuple(notes), unjudged)


class _Outputs:
    """The outputs of one call, judged one by one; ``warnings`` and ``doubts`` collect what is said beside."""

    def __init__(
        self,
        case: Case,
        operator: Operator,
        call: Call,
        outcome: Outcome,
        golden: Golden | None,
        folder: str | None,
        earlier: EarlierOutputs | None,
    ) -> None:
        self._case, self._operator, self._call, self._outcome = case, operator, call, outcome
        self._golden, self._folder, self._earlier = golden, folder, earlier
        self._ends = OmittedEnds(operator, call, dict(golden.outputs) if golden is not None else {})
        self._inputs = {name: view(t) for name, t in call.arguments.items() if isinstance(t, Tensor)}
        self.third = ThirdParty(case, operator, call, outcome)
        self.warnings: list[str] = []
        self.doubts: list[str] = []

    def report(self, row: Pairing, *, all_standards: bool) -> OutputReport:
        """One output judged, compared with every standard where that is asked for, and explained where it failed."""
        choice = third_party_of(row.choice, self._folder)
        comparison = self._comparison(row, choice)
        doubt = self.third.doubt(comparison, choice)
        self.doubts += [doubt] if doubt else []
        report, failing = judge_and_locate(comparison, choice)
        # An output with the golden of the reference: neither the case's own nor one that the output has a say in.
        plain = not row.explicit and not row.says
        beyond = self.third.overflow(comparison) if not report.passed and self._golden and plain else None
        if beyond is not None:
            thresholds = report.either
            comparison = replace(comparison, ambiguous=together(comparison.ambiguous, beyond))
            report, failing = judge_and_locate(comparison, choice)
            report = replace(report, either=thresholds)
            self.warnings.append(_OVERFLOW.format(row.output, f"{len(beyond[0]):,}", self._operator.compute))
        if row.made:  # a cheap wrong answer is one to an output, not to what is made of several
            one = float(spacing(np.ones(1), row.spec.dtype)[0])  # its size at every element
            report = replace(
                report, weak=(), worst=tuple(replace(e, ulp=e.absolute / one) for e in report.worst)
            )
        if row.says and choice.name != SELECTS:  # which says it itself
            report = replace(report, rule=f"{report.rule}; {row.says}")
        whole = plain and not isinstance(row.got, Streamed)
        if report.passed and whole and report.standard == "quant" and self._golden is not None:
            report = with_steps(report, comparison)
        self.warnings += [f"{row.name}: {text}" for text in report.warnings]
        if report.passed and whole:
            report = replace(report, weak=(*report.weak, *self._ends.passing(comparison, choice)))
        if all_standards:
            report = replace(report, standards=self._side_by_side(row, comparison))
        if not report.passed:
            report = self._explained(report, row, comparison, choice, failing)
        elif self._outcome.backend == "host" and not row.explicit:
            report = replace(report, floor=report.used)
        branches = self._golden.branches if self._golden is not None else {}
        return replace(report, branches=tuple(Branch(n, c) for n, c in branches.items()))

    def _comparison(self, row: Pairing, choice: StandardChoice) -> Comparison:
        of_all = self._golden is not None and self._operator.ambiguous_output in (None, row.output)
        earlier: tuple[EarlierOutput, ...] = ()
        if self._earlier is not None and not row.made:
            earlier = self._earlier.outputs(self._case.operator, row.output, row.spec.dtype)
        return Comparison(
            row.name,
            row.got,
            row.wanted,
            row.spec.dtype,
            ambiguous=self._golden.ambiguous
            if self._golden and of_all and not (row.explicit or row.says)
            else None,
            written=row.written,
            third=self.third.result(choice, row.output, row.spec),
            # The inputs, the reference and earlier calls have nothing like what is made of outputs.
            inputs=self._inputs if not row.made else {},
            operator=self._operator if not row.made else None,
            call=self._call if not row.made else None,
            earlier=earlier,
        )

    def _side_by_side(self, row: Pairing, comparison: Comparison) -> tuple[Alternative, ...]:
        third = None
        if self._folder is None and not row.says:
            third = self.third.host(row.output)
        elif self._folder is not None and not row.says:
            dual = third_party_of(StandardChoice("dual", {}, "command line"), self._folder)
            third = self.third.result(dual, row.output, row.spec)
            doubt = self.third.doubt(replace(comparison, third=third), dual)
            if doubt:
                third = None
                self.warnings.append(f"dual is left out: {doubt}")
        comparison = replace(comparison, third=third)
        return side_by_side(comparison, operator_standard=self._operator.standard)

    def _explained(
        self,
        report: OutputReport,
        row: Pairing,
        comparison: Comparison,
        choice: StandardChoice,
        failing: np.ndarray | None,
    ) -> OutputReport:
        """The report of a failed output with what is wrong with it, and what the host result makes of the standard."""
        from ascend_opcli.verification.diagnosis import diagnose  # a passing run does without it

        found = diagnose(comparison, choice, failing)
        sentence = found.sentence
        own = self._golden.outputs.get(row.output) if self._golden is not None and row.explicit else None
        if isinstance(own, ARRAYS):
            right = replace(comparison, golden=own, written=None, inputs={})
            if judge(right, choice).passed:
                agrees = (
                    "got agrees with the built-in reference: it is the case's expected values that differ"
                )
                # Where they differ is worth saying; why the operator would have given it is not.
                sentence = f"{agrees}; {sentence}" if sentence.startswith("only ") else agrees
        # The host result has made a choice of its own where there is one.
        share, strange = (
            (None, False) if row.explicit or row.says else self._floor(row.output, comparison, choice)
        )
        return replace(
            report,
            diagnosis=sentence,
            floor=share,
            floor_non_finite=strange,
            mismatch_strip=found.strip,
            ulp_histogram=found.histogram,
            pairs=_pairs(comparison.under(make(choice, comparison.dtype))),
        )

    def _floor(
        self, output: str, comparison: Comparison, choice: StandardChoice
    ) -> tuple[float | None, bool]:
        """The noise floor of a failed output; None where there is no host result to tell it."""
        try:
            own = self.third.host(output)
        except ReferenceFailure:
            return None, False
        if own is None or own.shape != comparison.golden.shape or own.dtype != comparison.got.dtype:
            return None, False
        return noise_floor(replace(comparison, got=own, ambiguous=None, written=None), choice)


def _left_out(left: Unjudged) -> list[str]:
    """Why outputs were not judged, a phrase each."""
    why = []
    if left.unknown:
        why.append(f"no reference and no expected values for {', '.join(left.unknown)}")
    if left.undefined:
        why.append(_undefined(left.undefined))
    if left.parts:
        why.append(_undefined(left.parts))
    if left.ignored:
        why.append(f"the case ignores {', '.join(left.ignored)}")
    return why


_OVERFLOW = "{}: a step overflows in {} of its elements, and what {} makes of it is as right as the golden"


def third_party_of(choice: StandardChoice, folder: str | None) -> StandardChoice:
    """The choice with its third-party results taken from a folder that the command line names."""
    if choice.name != "dual" or folder is None:
        return choice
    origin = choice.origin
    if "command line" not in origin:
        origin = f"{origin}, third party from the command line"
    return StandardChoice(choice.name, {**choice.numbers, "third": folder}, origin)


def apply_known_issue(case: Case, verdict: Verdict, today: datetime.date) -> Verdict:
    """KNOWN for a failure that is marked and not expired; a mark on a passing case is pointed out."""
    mark = case.known_issue
    if mark is None or verdict.word not in (VerdictKind.FAIL, VerdictKind.PASS):
        return verdict
    if verdict.word is VerdictKind.PASS:
        return replace(verdict, notes=(*verdict.notes, f"fixed: remove the mark known_issue ({mark.reason})"))
    if mark.expires is not None and today > datetime.date.fromisoformat(mark.expires):
        reason = f"{verdict.reason}; the known issue expired on {mark.expires} ({mark.reason})"
        return replace(verdict, reason=reason)
    return replace(verdict, word=VerdictKind.KNOWN, reason=f"known issue: {mark.reason} ({verdict.reason})")


PAIRS = 256
"""Elements that a picture of a failed output shows at the most."""


def _pairs(comparison: Comparison) -> tuple[tuple[float, float], ...]:
    """Golden and got of evenly spread elements; none where they cannot be told as two floats."""
    got, golden = comparison.got, comparison.golden
    if "c" in (got.dtype.kind, golden.dtype.kind) or got.shape != golden.shape or not got.size:
        return ()
    places = np.unique(np.linspace(0, got.size - 1, min(PAIRS, got.size)).astype(np.int64))
    with np.errstate(all="ignore"):
        pairs = (take(a, places).astype(np.float64).tolist() for a in (golden, got))
        return tuple(zip(*pairs, strict=True))


def _undefined(names: Sequence[str]) -> str:
    return (
        f"what {' and '.join(names)} {'hold' if len(names) > 1 else 'holds'} in such a call is not documented"
    )
