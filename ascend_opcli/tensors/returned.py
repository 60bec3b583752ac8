"""What another program has written for a call: found by its inputs' hash, read, refused where it does not fit."""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ascend_opcli.model import Call, Data, FromFile, TensorSpec
from ascend_opcli.tensors import exchange, files, torch_file
from ascend_opcli.tensors.data import generate
from ascend_opcli.tensors.dtypes import DTYPES, name_of
from ascend_opcli.tensors.saved import opened

MOST = 100_000
"""Folders that are looked through for a result."""

MAX_HEAD = 4096
"""Bytes that a file of opcli's may have beside the values of its tensor."""


class NoResult(Exception):
    """There is no result for a call, or not of this call; in one sentence."""


class Results:
    """A folder with a folder for each case, as ``opcli cases data`` and ``opcli run --save-outputs`` write it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._by_call: dict[str, Path] | None = None

    def find(self, name: str, call: Call, *, layouts: bool = True) -> Place:
        """The folder with a call's outputs: the one of that name, else any whose manifest is of the same call.

        Without ``layouts`` a call of the same values is the same. Raises NoResult.
        """
        why = ""
        for folder in (self.folder / name, self.folder):
            if os.path.lexists(folder / exchange.MANIFEST):
                place = _place(folder)
                differs = exchange.difference(place.manifest, call, layouts=layouts)
                if not differs:
                    return place
                why = why or f"{differs} ({folder})"
        if self._by_call is None:
            self._by_call = dict(self._all())
        own = exchange.identity(call)
        found = self._by_call.get(_key(own if layouts else exchange.without_layout(own)))
        # A folder of the same call that is still empty says less than why the case's own one does not serve.
        if found is not None and (not why or _has_outputs(found)):
            return _place(found)
        alike = self._by_call.get(_key(exchange.without_layout(own)))
        if not why and alike is not None:
            why = f"{exchange.difference(_place(alike).manifest, call)} ({alike})"
        if why:
            raise NoResult(why)
        raise NoResult(f"MISSING: {self.folder} has no folder {name}, nor another one for these inputs")

    def _all(self) -> Iterator[tuple[str, Path]]:
        try:
            entries = sorted(e.name for e in os.scandir(self.folder) if e.is_dir())
        except OSError:
            return
        # The first of several counts: it is the last that is put into the mapping.
        for name in reversed(entries[:MOST]):
            try:
                made_for = exchange.identified(exchange.load_manifest(self.folder / name))
            except ValueError:
                continue
            yield _key(exchange.without_layout(made_for)), self.folder / name
            yield _key(made_for), self.folder / name


@dataclass(frozen=True, slots=True)
class Place:
    """A folder with outputs, and its manifest."""

    folder: Path
    manifest: Mapping[str, Any]

    @property
    def findings(self) -> tuple[str, ...]:
        """What was wrong with the call that made the outputs, by those who ran it."""
        made_by = self.manifest.get("made_by")
        found = made_by.get("findings") if isinstance(made_by, dict) else None
        return tuple(str(text)[:1000] for text in found[:100]) if isinstance(found, list) else ()


def _place(folder: Path) -> Place:
    try:
        return Place(folder, exchange.load_manifest(folder))
    except ValueError as error:
        raise NoResult(str(error)) from None


def _has_outputs(folder: Path) -> bool:
    try:
        return any((folder / exchange.OUTPUTS).iterdir())
    except OSError:
        return False


def _key(identity: Mapping[str, Any]) -> str:
    return json.dumps(identity, sort_keys=True)


def read_outputs(place: Place, call: Call) -> tuple[exchange.Arrays, list[str]]:
    """The outputs that lie in a call's folder, and what is wrong with the files, a sentence each.

    With a sentence there are no outputs. Nothing is followed out of the folder, and no more is read than a tensor
    of the call has.
    """
    found: dict[str, np.ndarray] = {}
    wrong: list[str] = []
    for name, spec in exchange.members(call.outputs):
        try:
            found[name] = read_output(place, name, spec)
        except NoResult as error:
            wrong.append(str(error))
    wrong += changed_inputs(place, call)
    if wrong:
        return {}, wrong
    return _grouped(found, call), []


def _grouped(found: Mapping[str, np.ndarray], call: Call) -> exchange.Arrays:
    """Arrays by member as arrays and lists by output."""
    grouped: dict[str, Any] = {}
    for name, spec in call.outputs.items():
        if isinstance(spec, tuple):
            grouped[name] = tuple(found[f"{name}[{i}]"] for i in range(len(spec)))
        elif spec is not None:
            grouped[name] = found[name]
    return grouped


def read_output(place: Place, name: str, spec: TensorSpec) -> np.ndarray:
    """One output, .npy or .bin. Raises NoResult, the first word of whose sentence says what kind of wrong it is."""
    folder, stem = place.folder, exchange.file_stem(name)
    there = [p for f in exchange.FORMATS if os.path.lexists(p := folder / exchange.OUTPUTS / f"{stem}.{f}")]
    if not there:
        raise NoResult(f"MISSING: {name}: there is no {exchange.OUTPUTS}/{stem}.npy or .bin in {folder}")
    if len(there) > 1:
        raise NoResult(
            f"TWO FILES: {name}: {stem}.npy and {stem}.bin both lie there, and may differ: remove one"
        )
    (path,) = there
    shown = path.relative_to(folder)
    if not path.resolve().is_relative_to(folder.resolve()):
        raise NoResult(f"OUTSIDE: {name}: {shown} leads out of its folder")
    values = _whole(path, str(path), name, str(shown), spec)
    saved = _saved_sha256(place.manifest, name)
    if saved is not None and _sha256(path, values.nbytes + MAX_HEAD) != saved:
        raise NoResult(f"OUTPUT CHANGED: {name}: {shown} is no longer what opcli saved there")
    return values


def _saved_sha256(manifest: Mapping[str, Any], name: str) -> object:
    """The hash of an output's file where opcli has written it; a program that writes one leaves none."""
    outputs = manifest.get(exchange.OUTPUTS)
    entry = outputs.get(name) if isinstance(outputs, dict) else None
    return entry.get("sha256") if isinstance(entry, dict) else None


def _whole(path: Path, place: str, name: str, shown: str, spec: TensorSpec) -> np.ndarray:
    """The tensor at a place, ``PATH`` or ``PATH:KEY``; NoResult where it is not one of that dtype and shape."""
    try:
        if path.suffix == ".bin":
            size, needed = path.stat().st_size, spec.count * DTYPES[spec.dtype].itemsize
            if size != needed:
                want = f"{spec.dtype} {list(spec.shape)}"
                raise NoResult(f"WRONG SIZE: {name}: {shown} has {size:,} bytes, {want} has {needed:,}")
        return opened(place, spec.dtype, spec.shape)
    except (ValueError, OSError) as error:
        said = str(error).replace(str(path), shown)
        kind = "WRONG SHAPE" if "shape" in said else "WRONG DTYPE" if "holds" in said else "UNREADABLE"
        raise NoResult(f"{kind}: {name}: {said}") from None


def given_outputs(given: Mapping[str, Data], call: Call) -> tuple[exchange.Arrays, list[str]]:
    """The outputs of a call as a case names them, and what is wrong with them, a sentence each; then there are none."""
    found: dict[str, np.ndarray] = {}
    wrong: list[str] = []
    for name, spec in exchange.members(call.outputs):
        try:
            found[name] = _given(given[name], name, spec)
        except NoResult as error:
            wrong.append(str(error))
    return ({}, wrong) if wrong else (_grouped(found, call), [])


def _given(data: Data, name: str, spec: TensorSpec) -> np.ndarray:
    if not isinstance(data, FromFile):
        flat = generate(data, dtype=spec.dtype, shape=spec.shape, seed=0, name=name)
        return flat.reshape(spec.shape)
    path, shown = Path(data.path), os.path.basename(data.path)
    if not path.is_file():
        raise NoResult(f"MISSING: {name}: there is no {shown}")
    place = f"{data.path}:{data.key}" if data.key else data.path
    if path.suffix.lower() not in torch_file.SUFFIXES:
        return _whole(path, place, name, shown, spec)
    # Not by PyTorch: what it takes beside plain tensors is not for files of strangers.
    try:
        values = torch_file.mapped(data.path)
    except ValueError as error:
        raise NoResult(f"UNREADABLE: {name}: {str(error).replace(data.path, shown)}") from None
    held = name_of(values.dtype)
    if held != spec.dtype:
        raise NoResult(f"WRONG DTYPE: {name}: {shown} holds {held}, not {spec.dtype}")
    if values.shape != spec.shape:
        raise NoResult(
            f"WRONG SHAPE: {name}: {shown} has the shape {list(values.shape)}, not {list(spec.shape)}"
        )
    return values


def changed_inputs(place: Place, call: Call) -> list[str]:
    """Input files that were written beside the outputs, and are gone, links, or no longer what they were."""
    format, listed = place.manifest.get("format"), place.manifest.get(exchange.INPUTS)
    if format not in exchange.FORMATS or not isinstance(listed, dict):
        return []
    wrong = []
    for name, tensor in exchange.tensors(call):
        entry = listed.get(name)
        if name.partition("[")[0] in call.outputs or not isinstance(entry, dict) or "file" not in entry:
            continue
        for file, array in exchange.input_files(name, tensor, str(format)):
            how = _how_changed(place.folder, file, array, str(format))
            if how:
                wrong.append(f"INPUT CHANGED: {file} {how}")
    return wrong


def _how_changed(folder: Path, file: str, array: np.ndarray, format: str) -> str:
    path = folder / file
    if path.parent.is_symlink() or path.is_symlink():
        return "is a link now"
    if not os.path.lexists(path):
        return "is gone"
    if _sha256(path, array.nbytes + MAX_HEAD) != exchange.array_sha256(array, format):
        return "is no longer what the program was given"
    return ""


def _sha256(path: Path, most: int) -> str:
    """The hash of a file's first bytes, one more than it should have at the most; empty where it cannot be read."""
    digest = hashlib.sha256()
    left = most + 1
    try:
        with files.regular(str(path)) as stream:
            while left > 0 and (piece := stream.read(min(left, 1 << 20))):
                digest.update(piece)
                left -= len(piece)
    except (OSError, ValueError):
        return ""
    return digest.hexdigest()


def bytes_of(call: Call) -> int:
    """Bytes of the values of every input and output of a call."""
    specs = [t.spec for _, t in exchange.tensors(call)]
    specs += [s for _, s in exchange.members(call.outputs)]
    return sum(math.prod(s.storage_shape) * DTYPES[s.dtype].itemsize for s in specs)
