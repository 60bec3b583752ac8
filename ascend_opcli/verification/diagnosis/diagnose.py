"""One sentence over a failed output, and what is drawn of it."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ascend_opcli.model import ULP_BINS, StandardChoice
from ascend_opcli.verification.comparison import Comparison
from ascend_opcli.verification.diagnosis.evidence import Evidence
from ascend_opcli.verification.diagnosis.explanation import Explanation
from ascend_opcli.verification.diagnosis.table import AT_LEAST, BY_INPUT, WHAT, WHERE, Rule
from ascend_opcli.verification.diagnosis.wrong_elements import find_wrong, from_places
from ascend_opcli.verification.standards.named import default_for, make
from ascend_opcli.verification.standards.rule import Standard

_IN = " in {these}"

NO_PATTERN = "no simple pattern explains the errors"

EVERYWHERE = 0.98
"""From this share of wrong elements on, where they lie says nothing."""


FEW = 4
"""So many wrong elements do not fit another formula by chance."""


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """What is wrong with an output; empty for one that cannot be looked into."""

    sentence: str = ""
    """Without a full stop."""
    strip: tuple[int, ...] = ()
    """Wrong elements by cell along the flattened output."""
    histogram: tuple[int, ...] = ()
    """Wrong elements that were looked at, by their ulp error in the bins of :data:`ascend_opcli.model.ULP_BINS`."""


def diagnose(comparison: Comparison, choice: StandardChoice, failing: np.ndarray | None = None) -> Diagnosis:
    """What is wrong with an output that failed under ``choice``. Never raises.

    With an operator and a call the reference is tried again with one thing misread. ``failing`` are the flat places,
    ascending, of all the elements that fail the rule of ``choice``, where the judge has kept them: they need not be
    looked for again.
    """
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            if comparison.got.shape != comparison.golden.shape or comparison.got.size == 0:
                return Diagnosis()
            asked, standard = make(choice, comparison.dtype), _by_element(choice, comparison.dtype)
            comparison = comparison.under(asked)
            if failing is not None and len(failing) and standard == asked:
                places = from_places(failing, comparison.got.size)
            else:
                places = find_wrong(comparison, standard)
            if places.count == 0:
                return Diagnosis()
            evidence = Evidence(comparison, standard, places)
            strip = tuple(int(n) for n in places.strip)
            return Diagnosis(_sentence(evidence), strip, _histogram(evidence))
    except Exception:  # a report without a diagnosis is better than none
        return Diagnosis()


def _by_element(choice: StandardChoice, dtype: str) -> Standard:
    """The standard, where it says of each element whether it is wrong, else the one of the dtype table."""
    standard = make(choice, dtype)
    if standard.kind == "bytes":
        return make(StandardChoice("bits"), dtype)
    plain = standard.kind in ("linear", "ulp", "equal", "bits") and not standard.whole
    if plain and standard.non_finite == "match":
        return standard
    return make(default_for(dtype), dtype)


def _sentence(evidence: Evidence) -> str:
    what = _what(evidence)
    where = None if what is not None and what.complete else _where(evidence, what)
    if what is None and where is None:
        return NO_PATTERN + _size(evidence)
    if what is None:
        assert where is not None
        return where.text
    if where is None:
        return what.text.replace("{these}", evidence.all_wrong(what.share))
    if evidence.places.count == 1:
        return f"{where.text}: {what.text.replace(',' + _IN, '').replace(_IN, '').replace('{these}', 'it')}"
    seen = what.share == 1 and not evidence.sampled
    them = "all of them" if seen else evidence.all_wrong(what.share)
    return f"{where.text}: {what.text.replace('{these}', them)}"


def _what(evidence: Evidence) -> Explanation | None:
    """The first rule that explains every wrong element, else the one that explains most.

    Where a few wrong elements fit a guess by chance, the next guess that fits is said beside it.
    """
    best: Explanation | None = None
    for found in _findings(WHAT, evidence):
        if found.share == 1.0:
            if best is not None and best.share == 1.0:
                if found.guess:
                    return replace(best, text=f"{best.text}; or {found.text.removeprefix('got is ')}")
                continue
            if not found.guess or evidence.places.count >= FEW:
                return found
            best = found
            continue
        if best is None or found.share > best.share:
            best = found
    return best or next(_findings(AT_LEAST, evidence), None)


def _where(evidence: Evidence, what: Explanation | None) -> Explanation | None:
    """The first rule whose place holds little else, else the one whose place holds least else."""
    if evidence.places.count >= EVERYWHERE * evidence.places.total:
        return None
    best: Explanation | None = None
    for found in _findings(BY_INPUT if what is not None and what.placed else WHERE, evidence):
        if found.precise >= 0.9:
            return found
        if best is None or found.precise > best.precise:
            best = found
    return best


def _findings(rules: Sequence[Rule], evidence: Evidence) -> Iterator[Explanation]:
    for rule in rules:
        try:
            found = rule(evidence)
        except Exception:  # a rule that fails explains nothing
            continue
        if found is not None:
            yield found


def _size(evidence: Evidence) -> str:
    """The middle of the errors, for want of anything better."""
    told = evidence.wrong & evidence.finite & (evidence.y != 0)
    if not told.any():
        return ""
    middle = float(np.median(evidence.error[told] / np.abs(evidence.y[told])))
    return f" (median relative error {middle:.2g})"


def _histogram(evidence: Evidence) -> tuple[int, ...]:
    error, ulp = evidence.error[evidence.wrong], evidence.ulp[evidence.wrong]
    finite = np.isfinite(error)
    bins = np.searchsorted(ULP_BINS, error[finite] / ulp[finite], side="left")
    counts = [*np.bincount(bins, minlength=len(ULP_BINS) + 1), np.count_nonzero(~finite)]
    return tuple(int(n) for n in counts)
