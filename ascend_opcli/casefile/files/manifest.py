"""A folder of tensors by its manifest: which file is which parameter of which operator, and which results are judged.

The form is that of the manifests that ``opcli cases data`` writes; written by hand it needs the operator and the
files alone, for .npy and .pt say their own dtype and shape.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import os
import re
from pathlib import Path
from typing import Any

from ascend_opcli.casefile import keys, loader, read, values, yaml_text
from ascend_opcli.casefile.build import Setting
from ascend_opcli.casefile.files import texts
from ascend_opcli.casefile.tree import (
    Mapping,
    Node,
    Scalar,
    Sequence,
    clip,
    from_plain,
    mapping,
    plain,
    sequence,
)
from ascend_opcli.errors import CaseFileError
from ascend_opcli.model import Case, Where
from ascend_opcli.tensors import exchange, files
from ascend_opcli.tensors.dtypes import canonical

NAME = "manifest of tensors"

_BEGINS = re.compile(r'\s*\{[^{}\[\]]{0,10000}"schema"\s*:\s*"opcli\.data/')
_YAML = re.compile(r"""^["']?schema["']?[ \t]*:[ \t]*["']?opcli\.data/""", re.MULTILINE)
_SHARED = ("operator", "product", "seed", "standard", "signature", "reference", "attrs")
_CALL = ("case", "description", *_SHARED, "inputs", "outputs")
_ASIDE = ("inputs_sha256", "format", "how_to_read", "made_by", "no_golden")
"""What opcli writes and nobody needs to write."""
_TENSOR = ("file", "dtype", "shape", "layout", "strides", "offset", "storage_shape", "format")
_STORED = ("bytes", "sha256", "storage", "golden")
_PIECE = 2**20


def recognises(head: str) -> bool:
    """Whether a JSON text begins as a manifest of opcli."""
    return _BEGINS.match(head) is not None


def recognises_yaml(head: str) -> bool:
    """Whether a YAML text begins as one."""
    return _YAML.search(head) is not None


def load(path: str, setting: Setting) -> tuple[Case, ...]:
    """The calls of a manifest in JSON, each with its results; one whose results are not there yet is skipped.

    Raises CaseFileError for whatever else does not fit, with the place.
    """
    # JSON is YAML but for tabs, which stand between its tokens only.
    root = yaml_text.parse(texts.read(path).replace("\t", " "), path)
    return of_node(root, path, setting)


def of_node(root: Node | None, path: str, setting: Setting) -> tuple[Case, ...]:
    """The calls of a manifest that has been parsed."""
    if not isinstance(root, Mapping):
        raise CaseFileError("a manifest is an object", Where(path, 1, 1))
    schema = root.get("schema")
    if not isinstance(schema, Scalar) or schema.value != exchange.SCHEMA:
        said = clip(schema.text, 40) if isinstance(schema, Scalar) else "missing"
        raise root.error(f"its schema is {said}; this opcli reads {exchange.SCHEMA}")
    listed = root.get("calls")
    calls: list[tuple[Mapping, Mapping]] = []
    if listed is None:
        calls.append((root, root))
    elif isinstance(listed, Sequence) and listed.items:
        _only(root, ("schema", *_SHARED, "calls"), _ASIDE, "key of a manifest with calls")
        for item in listed.items:
            call = read.mapping(item, "a call")
            _only(call, _CALL, _ASIDE, "key of a call")
            calls.append((root, call))
    else:
        raise listed.error("calls is a list of calls, and not an empty one")
    if listed is None:
        _only(root, ("schema", *_CALL, "calls"), _ASIDE, "key of the manifest")
    reader = _Reader(Path(path).parent)
    bodies = [reader.body(shared, call, number) for number, (shared, call) in enumerate(calls, 1)]
    document = mapping(root, {"cases": sequence(root, [body for body, _ in bodies])}, {"cases": (1, 1)})
    made = loader.of_root(document, setting).cases
    return tuple(dataclasses.replace(case, skip=lack) for case, (_, lack) in zip(made, bodies, strict=True))


class _Reader:
    """Reads the calls of one manifest; ``folder`` holds the files."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def body(self, shared: Mapping, call: Mapping, number: int) -> tuple[Node, str]:
        """A call in the grammar of case files, and why it cannot be judged yet. What all calls share comes first."""
        operator = call.get("operator") or shared.get("operator")
        if operator is None:
            raise call.error("operator is missing: the name of an aclnn operator, such as aclnnAdd")
        name = call.get("case")
        word = name.text.rpartition("::")[2] if isinstance(name, Scalar) else str(number)
        made: dict[str, Node] = {"name": from_plain(word or str(number), name or call), "op": operator}
        for key in ("description", "product", "seed", "standard", "signature", "reference"):
            written = call.get(key) or (shared.get(key) if key != "description" else None)
            if written is not None:
                made[key] = written
        inputs = read.section(call, "inputs")
        entries = inputs.entries if inputs is not None else {}
        made["inputs"] = _section(inputs or call, {n: self.input(n, v) for n, v in entries.items()})
        unsaved = next((n for n, v in entries.items() if _is_unsaved(v)), None)
        attrs = {n: v for part in (shared, call) for n, v in _entries(part, "attrs").items()}
        made["attrs"] = _section(call.get("attrs") or call, {n: _value(v) for n, v in attrs.items()})
        outputs = read.section(call, "outputs")
        if outputs is None or not outputs.entries:
            raise call.error("outputs is missing: the files with the results that are to be judged")
        specs, got, lack = self.outputs(outputs)
        made["outputs"] = _section(outputs, specs)
        if unsaved is not None:
            lack = f"cannot judge: the manifest names no file with {clip(unsaved)}"
        if not lack:
            made["got"] = _section(outputs, got)
        kept = {k: n for k, n in made.items() if not isinstance(n, Mapping) or n.entries}
        return mapping(call, kept, dict.fromkeys(kept, (call.line, call.column))), lack

    def input(self, name: str, node: Node) -> Node:
        """One input, or a list of them, as a case file writes it."""
        if isinstance(node, Scalar) and node.value is None:
            return node
        if isinstance(node, Sequence):
            return sequence(node, [self.input(f"{name}[{i}]", item) for i, item in enumerate(node.items)])
        if _is_unsaved(node):
            given = plain(node)
            return from_plain({"dtype": given["dtype"], "shape": given["shape"]}, node)
        entry = _tensor(name, node)
        file, path, dtype, shape = self.described(name, entry)
        with contextlib.suppress(
            ValueError
        ):  # what cannot be read, and what is no dtype, is told where it is
            other = files.other_dtype(path, None, canonical(str(dtype)))
            if other is not None:
                raise entry.error(f"{name}: {clip(file)} holds {clip(other)}, not {clip(str(dtype))}")
        given = plain(entry)
        made: dict[str, Any] = {"dtype": dtype, "shape": shape, "data": {"file": file}}
        if given.get("layout", "contiguous") != "contiguous" or given.get("offset") or "layout" not in given:
            made |= {key: given[key] for key in ("strides", "offset", "storage_shape") if key in given}
            if "strides" not in given and "layout" in given:
                made["layout"] = given["layout"]
        if "format" in given:
            made["format"] = given["format"]
        digest = entry.get("sha256")
        if isinstance(digest, Scalar) and _sha256(digest, path) != digest.text.lower():
            raise entry.error(
                f"INPUT CHANGED: {clip(file)} is no longer the {name} that the manifest was written for"
            )
        return from_plain(made, entry)

    def outputs(self, section: Mapping) -> tuple[dict[str, Node], dict[str, Node], str]:
        """The results: their dtypes and shapes, their files, and the first of them that is not there."""
        specs: dict[str, Node] = {}
        got: dict[str, Node] = {}
        lack = ""
        for name, node in section.entries.items():
            if isinstance(node, Scalar) and node.value is None:
                specs[name] = node
                continue
            if isinstance(node, Sequence):
                raise node.error(f"the members of the list {name} are written {name}[0], {name}[1], ...")
            entry = _tensor(name, node)
            written = read.word(entry.entries["file"], "file")
            head, colon, _ = written.rpartition(".npz:")
            if not os.path.lexists(self._folder / (f"{head}.npz" if colon else written)):
                lack = lack or f"cannot judge: there is no {clip(written)} with {name}"
                continue
            file, path, dtype, shape = self.described(name, entry)
            digest = entry.get("sha256")
            if isinstance(digest, Scalar) and _sha256(digest, path) != digest.text.lower():
                raise entry.error(
                    f"OUTPUT CHANGED: {clip(file)} is no longer the {name} that was saved there"
                )
            specs[name] = from_plain(
                {"dtype": dtype, **({"shape": shape} if "shape" in entry.entries else {})}, entry
            )
            got[name] = from_plain({"file": file}, entry.entries["file"])
        return specs, got, lack

    def described(self, name: str, entry: Mapping) -> tuple[str, str, Any, Any]:
        """File, its path, dtype and shape of a tensor; what the manifest leaves out is in the file itself."""
        given = plain(entry)
        dtype, shape = given.get("dtype"), given.get("shape")
        path, key = values.file(entry.entries["file"], self._folder)
        file = given["file"]
        if dtype is None or shape is None:
            try:
                info = files.describe(path, key)
            except ValueError as error:
                raise entry.error(f"{name}: {str(error).replace(path, file)}") from None
            if info.dtype is None or info.shape is None:
                lack = " and ".join(k for k in ("dtype", "shape") if given.get(k) is None)
                raise entry.error(f"{name} needs {lack}: {clip(file)} does not say it")
            dtype = info.dtype if dtype is None else dtype
            shape = list(info.shape) if shape is None else shape
        return file, path, dtype, shape


def _only(node: Mapping, known: tuple[str, ...], aside: tuple[str, ...], what: str) -> None:
    """Refuse a key that is neither known nor one that opcli itself writes ``aside``."""
    for key in node.entries:
        if key not in known and key not in aside:
            raise keys.unknown(node, key, known, what)


def _is_unsaved(node: Node) -> bool:
    """Whether an input is described without its values, as ``opcli run --save-outputs`` does."""
    return (
        isinstance(node, Mapping)
        and "file" not in node.entries
        and {"dtype", "shape", "layout"} <= set(node.entries)
    )


def _tensor(name: str, node: Node) -> Mapping:
    """What describes a tensor. Raises CaseFileError."""
    if not isinstance(node, Mapping):
        raise node.error(
            f'{name} is an object such as {{"file": "{clip(name)}.npy"}}, or null, not {node.kind}'
        )
    _only(node, _TENSOR, _STORED, f"key of {clip(name)}")
    if node.get("file") is None:
        raise node.error(f"{name} has no file")
    return node


def _sha256(node: Node, path: str) -> str:
    digest = hashlib.sha256()
    try:
        with files.regular(path) as stream:
            while piece := stream.read(_PIECE):
                digest.update(piece)
    except (OSError, ValueError) as error:
        raise node.error(str(error).replace(path, os.path.basename(path))) from None
    return digest.hexdigest()


def _entries(part: Mapping, key: str) -> dict[str, Node]:
    found = read.section(part, key)
    return found.entries if found is not None else {}


def _value(node: Node) -> Node:
    """An attribute: a value, or ``{value, dtype}``, which an aclScalar takes as it is."""
    return node.entries["value"] if isinstance(node, Mapping) and set(node.entries) == {"value"} else node


def _section(at: Node, found: dict[str, Node]) -> Mapping:
    """A section of a case; ``x[0]``, ``x[1]`` become the list x."""
    lists: dict[str, list[Node]] = {}
    made: dict[str, Node] = {}
    for name, node in found.items():
        head, bracket, index = name.partition("[")
        if bracket and index == f"{len(lists.get(head, ()))}]":
            lists.setdefault(head, []).append(node)
            made[head] = sequence(node, lists[head])
        else:
            made[name] = node
    return mapping(at, made, {name: (node.line, node.column) for name, node in made.items()})
