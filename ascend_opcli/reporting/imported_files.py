"""What became of the cases of other tools' files: how many were judged, what was skipped and why, what is weak."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from ascend_opcli.casefile.loader import FOREIGN, INVENTED
from ascend_opcli.model import Fill, Generator, Result, TensorSpec, VerdictKind
from ascend_opcli.reporting.escape import one_line
from ascend_opcli.reporting.wording import count_text

REASONS = 8
"""Reasons that are told of a file."""

_NUMBER = re.compile(r"(?<![\w.])-?\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?(?!\w)")
_LIST = re.compile(r"\[[^\[\]]*\]")
_FILTER = re.compile(r'TORCH_NPU_LOGS_FILTER="(\+aclnn[\w,+]+)"')
_JUDGED = (VerdictKind.PASS, VerdictKind.FAIL)


def lines(results: Sequence[Result]) -> Iterator[str]:
    """A paragraph for every foreign file, in the order of the run; nothing for YAML."""
    by_file: dict[str, list[Result]] = {}
    for result in results:
        if result.case.path.lower().endswith(FOREIGN):
            by_file.setdefault(result.case.path, []).append(result)
    for path, of_file in by_file.items():
        yield ""
        yield from _file(path, of_file)


def _file(path: str, results: Sequence[Result]) -> Iterator[str]:
    judged = [r for r in results if r.verdict.word in _JUDGED]
    left = [r for r in results if r.verdict.word not in _JUDGED]
    said = [f"{len(judged):,} judged"]
    words = Counter(r.verdict.word.value for r in left)
    said += [f"{count:,} {word}" for word, count in words.items()]
    yield f"{one_line(path)}: {count_text(len(results), 'case')}: {', '.join(said)}"
    for origin, count in _standards(judged).most_common():
        yield f"  {count_text(count, 'output')} judged by {origin}"
    kinds = Counter(f"{r.verdict.word.value}: {reason_kind(r.verdict.reason)}" for r in left)
    for reason, count in kinds.most_common(REASONS):
        yield f"  {count:,} {one_line(reason)}"
    if len(kinds) > REASONS:
        yield f"  and {len(kinds) - REASONS} more reasons; -v or --json show every case"
    yield from _to_log(left)
    brought = sum(bool(r.case.got) and r.backend == "outputs" for r in judged)
    if brought:
        yield f"  {count_text(brought, 'case')} judged by the results that came with the file; nothing was run for them"
    invented = sum(INVENTED in r.case.tags for r in judged)
    if invented:
        with_them = f"{count_text(invented, 'case')} with invented values"
        yield f"  {with_them}: the dump holds statistics alone, no result of the other machine was judged"
    yield from _weak(judged)


def reason_kind(reason: str) -> str:
    """A reason without the numbers that make each of its kind another: the first sentence, N for a number."""
    first = " ".join(reason.split()).partition("; ")[0]
    return _NUMBER.sub("N", _LIST.sub("[...]", first))[:160]


def _standards(judged: Sequence[Result]) -> Counter[str]:
    """Which standard judged how many outputs, and by which word of the file."""
    return Counter(f"{o.standard} ({o.origin})" for r in judged for o in r.verdict.outputs)


def _to_log(left: Sequence[Result]) -> Iterator[str]:
    """What has to be logged for the calls of a dump that are none here: the filters of their reasons in one."""
    found = Counter(
        call for r in left for text in _FILTER.findall(r.verdict.reason) for call in text.split(",")
    )
    if found:
        calls = ",".join(call for call, _ in found.most_common(REASONS))
        yield f'  to log them: TORCH_NPU_LOGS="+op_plugin" TORCH_NPU_LOGS_FILTER="{calls}"; opcli cases import LOG'


# --- what the cases could not show ----------------------------------------------------------------------------


def _weak(judged: Sequence[Result]) -> Iterator[str]:
    """Where even a file that passes whole leaves a fault unseen."""
    branches: dict[tuple[str, str], int] = {}
    for result in judged:
        for output in result.verdict.outputs:
            for branch in output.branches:
                key = (result.case.operator, branch.name)
                branches[key] = branches.get(key, 0) + branch.count
    for (operator, name), count in branches.items():
        if not count:
            yield f"  weak: no case reaches the branch '{name}' of {operator}"
    constant = sum(_all_constant(r) for r in judged)
    if constant:
        some = f"{constant:,} of {count_text(len(judged), 'judged case')}"
        yield f"  weak: in {some} every tensor holds one value: an element taken from a wrong place goes unseen"
    weak = Counter(name for r in judged for name in {n for o in r.verdict.outputs for n in o.weak})
    if weak:
        some = ", ".join(f"{name} ({count:,})" for name, count in weak.most_common())
        yield f"  weak: these wrong answers would have passed in some cases: {some}"


def _all_constant(result: Result) -> bool:
    """Whether no tensor of more than one element holds two values."""
    specs: list[TensorSpec] = []
    for argument in result.case.arguments.values():
        members = argument if isinstance(argument, tuple) else (argument,)
        specs += [s for s in members if isinstance(s, TensorSpec) and s.data is not None and s.count > 1]
    return bool(specs) and all(_constant(s) for s in specs)


def _constant(spec: TensorSpec) -> bool:
    data = spec.data
    if isinstance(data, Generator) and data.kind in ("uniform", "integers", "normal") and not data.specials:
        low, high = data.args
        return low == high if data.kind != "normal" else high == 0
    return isinstance(data, Fill)
