"""Cases of a foreign file as one YAML file of our own, what could not be a case in its comments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ascend_opcli.casefile import keys, show
from ascend_opcli.casefile.tree import clip
from ascend_opcli.model import Case


@dataclass(frozen=True, slots=True)
class Imported:
    """The text of a case file, and which cases of the foreign file are in it and which are not."""

    text: str
    kept: tuple[Case, ...]
    left: tuple[Case, ...]


def to_yaml(
    cases: Sequence[Case],
    origin: str,
    *,
    remarks: Sequence[str] = (),
    notes: Mapping[str, Sequence[str]] | None = None,
) -> Imported:
    """A case file with every case that is a whole call and that a known standard judges.

    It loads to the same cases: names, data and seeds are kept. The others stand in comments with the reason.
    ``remarks`` stand at the top, ``notes`` (by the names of cases) at their cases, both as comments.
    ``text`` is empty where no case is kept.
    """
    kept = tuple(case for case in cases if not case.skip)
    left = tuple(case for case in cases if case.skip)
    said = notes or {}
    lines = [
        f"# Imported from {clip(origin, 200)}.",
        *(f"# {printable(clip(remark, 300))}" for remark in remarks),
    ]
    if left:
        lines.append(f"# Not imported: {len(left)} of {len(cases)} cases.")
        for case in left:
            lines.append(f"#   {clip(case.name, 200)}: {printable(clip(case.skip, 300))}")
            lines += [f"#     {printable(clip(note, 300))}" for note in said.get(case.name, ())]
    lines.append(f"opcli: {keys.VERSION}")
    operators = dict.fromkeys(str(case.source["op"]) for case in kept)
    shared = set()
    if len(operators) == 1:
        lines += show.entry("op", next(iter(operators)), 0)
        shared.add("op")
    expects = [case.source.get("expect") for case in kept]
    if kept and all(expect == expects[0] for expect in expects) and expects[0]:
        lines += show.entry("defaults", {"expect": expects[0]}, 0)
        shared.add("expect")
    lines.append("cases:")
    for case in kept:
        body = [
            part
            for key, value in case.source.items()
            if key not in shared
            for part in show.entry(key, value, 4)
        ]
        body[0] = "  - " + body[0].lstrip()
        lines += [f"  # {printable(clip(note, 300))}" for note in said.get(case.name, ())]
        lines += body
    return Imported("\n".join(lines) + "\n" if kept else "", kept, left)


def printable(text: str) -> str:
    """Foreign text fit for a comment or a terminal: control characters cannot stand in YAML, not even in comments."""
    return "".join(mark if mark.isprintable() else "?" for mark in text)
