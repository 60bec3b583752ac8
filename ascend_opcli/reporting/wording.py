"""How numbers, shapes and verdicts are written, in one place."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ascend_opcli.model import Argument, Attribute, OutputReport, Result, TensorSpec, VerdictKind


def shape_text(shape: Sequence[int]) -> str:
    """``16x3x171``, ``scalar`` for rank 0."""
    return "x".join(str(dim) for dim in shape) if shape else "scalar"


def share_text(used: float) -> str:
    """A share of the tolerance: ``48 %``, ``3.1x`` above it."""
    if math.isnan(used):
        return "-"
    if math.isinf(used):
        return "inf"
    if used > 1:
        return f"{used:,.0f}x" if used >= 100 else f"{used:.3g}x"
    return "0 %" if used == 0 else f"{used * 100:.2g} %"


def error_text(value: float) -> str:
    """An error: three digits."""
    return "0" if value == 0 else f"{value:.3g}"


def count_text(count: int, noun: str) -> str:
    """``1 case``, ``1,024 cases``."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def percent_text(part: int, whole: int) -> str:
    """A share of a count, never rounded to 0 or 100 where it is neither."""
    if whole == 0 or part in (0, whole):
        return "0 %" if part == 0 else "100 %"
    share = part / whole * 100
    if share < 0.01:
        return "< 0.01 %"
    return "> 99.99 %" if share > 99.99 else f"{share:.3g} %"


def verdict_text(result: Result) -> str:
    """``PASS (host)``: a host run executes no operator and says so."""
    word = result.verdict.word.value
    return f"{word} (host)" if result.verdict.word is VerdictKind.PASS and result.backend == "host" else word


def served_text(results: Sequence[Result]) -> str:
    """Which files served a run that a candidate did, with their sha256; empty for any other run."""
    return "; ".join(dict.fromkeys(r.served_by for r in results if r.backend == "candidate" and r.served_by))


def worst_output(result: Result) -> OutputReport | None:
    """The output that fares worst: a failed one first, then by the share of the tolerance."""
    return max(result.verdict.outputs, key=lambda o: (not o.passed, o.used), default=None)


def lead_spec(result: Result) -> TensorSpec | None:
    """The tensor whose dtype and shape stand for the case: the worst output's, else the first there is."""
    output = worst_output(result)
    found = _first(result.case.arguments.get(output.name)) if output is not None else None
    return found or next(filter(None, (_first(a) for a in result.case.arguments.values())), None)


def _first(argument: Argument) -> TensorSpec | None:
    if isinstance(argument, tuple):
        return argument[0] if argument else None
    return argument if isinstance(argument, TensorSpec) else None


def argument_text(argument: Argument) -> str:
    """An argument in one short phrase."""
    if argument is None:
        return "null"
    if isinstance(argument, Attribute):
        return str(argument.value) if argument.dtype is None else f"{argument.value} ({argument.dtype})"
    if isinstance(argument, tuple):
        return f"list of {len(argument)}"
    return f"{argument.dtype}[{shape_text(argument.shape)}]"


def note_text(result: Result) -> str:
    """What a row says beside its numbers: the reason, what would be weak, branches that nothing reached."""
    said: list[str] = []
    if result.verdict.reason:
        said.append(result.verdict.reason)
    for output in result.verdict.outputs:
        if output.weak:
            said.append(f"WEAK: {', '.join(output.weak)} would pass too")
    if result.verdict.unjudged:
        said.append(f"IN PART: {', '.join(result.verdict.unjudged)} not judged")
    branches = result.verdict.outputs[0].branches if result.verdict.outputs else ()
    total = sum(b.count for b in branches)
    if total:
        missed = [b.name for b in branches if b.count == 0]
        if missed:
            said.append(f"no element reaches: {', '.join(missed)}")
        else:
            said.append(", ".join(f"{b.name} {percent_text(b.count, total)}" for b in branches))
    either = sum(o.either for o in result.verdict.outputs)
    if either:
        said.append(f"{either:,} at a threshold that rounding moves: either branch is right")
    return "; ".join(said)
