"""What a report says about a failed output, in one sentence with numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ascend_opcli.verification.compare.metrics import Metrics
from ascend_opcli.verification.standards.named import Standard, number


def failures(metrics: Metrics, standard: Standard) -> list[str]:
    """The criteria that an output fails, each as a phrase; none where it passes."""
    census = metrics.census
    phrases = []
    if census.not_written:
        phrases.append(f"{_of(census.not_written, census.total)} {_was(census.not_written)} not written")
    phrases += _non_finite(metrics, standard)
    phrases += _distances(metrics, standard)
    # A mismatch of NaN or Inf makes the mean infinite and has been said.
    if standard.mean_limit is not None and standard.mean_limit <= (metrics.mean or 0.0) < math.inf:
        phrases.append(
            f"the mean relative error {metrics.mean:.3g} is not below {number(standard.mean_limit)}"
        )
    return phrases


def reason(phrases: Sequence[str]) -> str:
    """The phrases as one sentence, without a full stop."""
    if len(phrases) < 3:
        return " and ".join(phrases)
    return ", ".join(phrases[:-1]) + " and " + phrases[-1]


def enough(outside: int, total: int, standard: Standard) -> bool:
    """Whether the share of elements inside the tolerance is what the standard asks for."""
    if standard.forgiven is not None:
        return total == 0 or outside / total <= standard.forgiven
    # The quotient of two integers is rounded once, so a share that is met exactly compares equal.
    return total == 0 or (total - outside) / total >= standard.matched


def _non_finite(metrics: Metrics, standard: Standard) -> list[str]:
    census, rule = metrics.census, standard.non_finite
    if rule in ("third", "anything", "all in the share"):
        return []
    missing_nan = census.nan_against_number - metrics.nan_got
    missing_inf = census.inf_against_other - metrics.inf_got
    phrases = []
    if metrics.paired:
        verb = "meets" if metrics.paired == 1 else "meet"
        phrases.append(f"{metrics.paired:,} NaN {verb} NaN, which {standard.name} counts as different")
    if metrics.nan_got and rule != "nan is good":
        phrases.append(f"{metrics.nan_got:,} NaN where the golden is a number")
    if missing_nan and rule != "nan is good":
        phrases.append(f"{_count(missing_nan, 'number')} where the golden is NaN")
    if metrics.inf_got and rule != "in the share":
        phrases.append(f"{metrics.inf_got:,} Inf where the golden is another value")
    if missing_inf and rule != "in the share":
        phrases.append(f"{_count(missing_inf, 'finite value')} where the golden is Inf")
    return phrases


def _distances(metrics: Metrics, standard: Standard) -> list[str]:
    total, outside, beyond = metrics.census.total, metrics.outside, metrics.beyond
    plain = outside
    if standard.non_finite != "all in the share":
        plain -= metrics.census.inf_against_other + metrics.paired
        if standard.non_finite != "nan is good":
            plain -= metrics.census.nan_against_number
    short = not enough(outside, total, standard)
    phrases = []
    if standard.equality:
        if plain > 0:
            how = "in its bytes " if standard.kind in ("bits", "bytes") else ""
            verb = "differs" if plain == 1 else "differ"
            phrases.append(f"{_of(plain, total)} {verb} {how}from the golden")
    elif plain > 0 and (short or beyond):
        share = 1 - standard.matched if standard.forgiven is None else standard.forgiven
        allowed = f", allowed {_percent(share)}" if share > 0 else ""
        verb = "is" if outside == 1 else "are"
        phrases.append(
            f"{_of(outside, total)} {verb} over the tolerance ({_percent(outside / total)}{allowed})"
        )
    elif short and not metrics.census.nan_against_number + metrics.census.inf_against_other + metrics.paired:
        phrases.append(f"{_of(outside, total)} are over the tolerance")
    if beyond:
        verb = "exceeds" if beyond == 1 else "exceed"
        by = f"by {metrics.excess:.3g}" if beyond == 1 else f"by up to {metrics.excess:.3g}"
        phrases.append(f"{beyond:,} {verb} the limit {number(standard.limit or 0.0)} {by}")
    return phrases


def _percent(share: float) -> str:
    return f"{share * 100:.2g} %" if share < 0.1 else f"{share * 100:.3g} %"


def _of(count: int, total: int) -> str:
    return f"{count:,} of {_count(total, 'element')}"


def _was(count: int) -> str:
    return "was" if count == 1 else "were"


def _count(count: int, noun: str) -> str:
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"
