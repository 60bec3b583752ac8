"""Paths as a person types them -> the case files they mean, and the cases that are picked."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ascend_opcli.casefile.loader import FOREIGN, CaseFile
from ascend_opcli.errors import UsageError, nearest
from ascend_opcli.model import Case
from ascend_opcli.tensors import exchange

SUFFIXES = (".yaml", ".yml")
STDIN = "-"

_OF_FOLDER = {
    exchange.MANIFEST: (exchange.INPUTS, exchange.OUTPUTS, exchange.GOLDEN),
    "dump.json": ("dump_tensor_data",),
}
"""Files that say what the tensors in these folders beside them are."""


@dataclass(frozen=True, slots=True)
class PickedFile:
    """A file to load, ``-`` for standard input, and the cases wanted of it; none means all."""

    path: str
    picks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class FoundFiles:
    """What the paths mean. ``aside`` counts files in folders that are no case files."""

    targets: tuple[PickedFile, ...]
    aside: int = 0


def find(paths: Sequence[str]) -> FoundFiles:
    """The files that the paths name, in the order given; a folder's in alphabetical order.

    Each of PATH, PATH::CASE, a folder or ``-``. A file that is named more than once is loaded once. Raises
    UsageError for a path that does not exist or that opcli cannot read.
    """
    picks: dict[str, list[str] | None] = {}
    shown: dict[str, str] = {}
    aside = 0
    for written in paths:
        path, pick = _split(written)
        if path == STDIN:
            files = [path]
        elif os.path.isdir(path):
            if pick is not None:
                raise UsageError(f"{path} is a folder; a case is picked from a file: FILE::{pick}")
            files, skipped = _folder(path)
            aside += skipped
        else:
            files = [_file(path)]
        for file in files:
            key = file if file == STDIN else os.path.realpath(file)
            shown.setdefault(key, file)
            before = picks.setdefault(key, [])
            if pick is None:
                picks[key] = None
            elif before is not None and pick not in before:
                before.append(pick)
    return FoundFiles(
        tuple(PickedFile(shown[key], tuple(wanted or ())) for key, wanted in picks.items()), aside
    )


def _split(written: str) -> tuple[str, str | None]:
    if not written:
        raise UsageError("a path is empty")
    if "::" not in written or os.path.lexists(written):
        return written, None
    path, _, pick = written.partition("::")
    if not path or not pick:
        raise UsageError(f"'{written}' is not FILE::CASE")
    return path, pick


def _file(path: str) -> str:
    try:
        if Path(path).is_file():
            if recognised(path):
                return path
            raise UsageError(f"{path} is in no format that opcli reads")
        if os.path.lexists(path):
            raise UsageError(f"{path} is neither a file nor a folder")
    except (OSError, ValueError) as error:
        raise UsageError(f"{path} cannot be read: {getattr(error, 'strerror', error)}") from None
    raise UsageError(f"there is no {path}{_near(path)}")


def _near(path: str) -> str:
    folder, name = os.path.split(path)
    try:
        there = sorted(os.listdir(folder or "."))
    except OSError:
        return ""
    close = nearest(name, there) if len(name) <= 200 else None
    return f"; did you mean '{os.path.join(folder, close)}'?" if close else ""


def _folder(path: str) -> tuple[list[str], int]:
    files: list[str] = []
    aside = 0
    bare: list[str] = []
    for root, folders, names in os.walk(path):
        # Hidden folders belong to tools (.git, .pytest_cache), as does __pycache__.
        folders[:] = sorted(f for f in folders if not f.startswith(".") and f != "__pycache__")
        for name in sorted(names):
            file = os.path.join(root, name)
            if name.lower().endswith(SUFFIXES) or (name.lower().endswith(FOREIGN) and recognised(file)):
                files.append(file)
            elif _OF_FOLDER.get(name, ()) and (set(_OF_FOLDER[name]) & set(folders) or _says_outputs(file)):
                # A case that is there and cannot be read is no case less.
                raise UsageError(
                    f"{file} cannot be read as what describes the tensors beside it: it is damaged"
                )
            else:
                aside += 1
        if exchange.OUTPUTS in folders and exchange.MANIFEST not in names:
            bare.append(root)
    described = {
        os.path.dirname(os.path.dirname(f)) for f in files if os.path.basename(f) == exchange.MANIFEST
    }
    for folder in bare:
        beside = any(os.path.isdir(os.path.join(folder, name)) for name in (exchange.INPUTS, exchange.GOLDEN))
        if beside or os.path.dirname(folder) in described:
            raise UsageError(f"{folder} holds the tensors of a case, and its {exchange.MANIFEST} is missing")
    return sorted(files), aside


def _says_outputs(path: str) -> bool:
    """Whether a file that is in no known format is, or was, about operators: no JSON, or with their keys."""
    try:
        with open(path, "rb") as stream:
            text = stream.read(exchange.MAX_MANIFEST + 1)
        found = json.loads(text)
    except (OSError, ValueError, RecursionError):
        return True
    return isinstance(found, dict) and "outputs" in found and ("operator" in found or "inputs" in found)


def recognised(path: str) -> bool:
    """Whether a named file is a case file: a .json or .csv where its content is of a known format, else every one."""
    if not path.lower().endswith(FOREIGN):
        return True
    from ascend_opcli.casefile.files import case_formats  # YAML does without it

    return case_formats.recognise(path) is not None


def pick(file: CaseFile, picks: Sequence[str]) -> tuple[Case, ...]:
    """The cases of those names, in the order of the file; all where ``picks`` is empty.

    A name without ``[...]`` stands for every case of its matrix. Raises UsageError, with the nearest name,
    for one that matches nothing.
    """
    if not picks:
        return file.cases
    chosen: set[str] = set()
    for wanted in picks:
        exact = [c.name for c in file.cases if c.name == wanted]
        matrix = [c.name for c in file.cases if c.name.startswith(wanted + "[")]
        if not exact and not matrix:
            raise UsageError(f"{file.path} has no case '{wanted}'{_nearest_case(wanted, file)}")
        chosen.update(exact or matrix)
    return tuple(case for case in file.cases if case.name in chosen)


def _nearest_case(wanted: str, file: CaseFile) -> str:
    names = list(dict.fromkeys(n for c in file.cases for n in (c.name.partition("[")[0], c.name)))[:5_000]
    close = nearest(wanted, names) if len(wanted) <= 200 else None
    if close is not None:
        return f"; did you mean '{close}'?"
    return f"; it has {', '.join(names[:5])}{' ...' if len(names) > 5 else ''}"
