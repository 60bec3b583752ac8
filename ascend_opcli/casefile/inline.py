"""Options of the command line -> a case. The way back is :mod:`ascend_opcli.casefile.repro`.

``--op NAME --dtype D --shape 4x4 --attr eps=0.01 --in x=float16[4,4]@transposed:uniform(0,1)+specials(nan)
--out out=float32[4] --expect 161002 --product atlas_a2 --standard ulp:max=2 --seed 7``
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ascend_opcli.casefile import expand, keys, read, tree, values, yaml_text
from ascend_opcli.casefile.build import Declared, Setting, build
from ascend_opcli.casefile.expectations import CheckStandard
from ascend_opcli.casefile.repro import format, repro
from ascend_opcli.casefile.standard_text import standard_text
from ascend_opcli.casefile.tree import Node, clip
from ascend_opcli.errors import CaseFileError, OpcliError, UsageError
from ascend_opcli.model import (
    Case,
    Where,
)
from ascend_opcli.operators.products import product
from ascend_opcli.reference import resolve

__all__ = ["ORIGIN", "PATH", "CallOptions", "format", "parse", "repro"]

PATH = "<command line>"
ORIGIN = "the command line"

_SPEC = re.compile(
    r"(?P<dtype>[A-Za-z][\w.]*)(?:\[(?P<dims>[^\]]*)\])?(?P<marks>(?:@\w+){0,2})(?::(?P<data>.*))?", re.DOTALL
)
_SPECIALS = re.compile(r"(?P<core>.*?)\+specials\((?P<specials>[^()]*)\)", re.DOTALL)
_CALL = re.compile(r"(?P<kind>[A-Za-z_]\w*)\((?P<args>[^()]*)\)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class CallOptions:
    """The options as typed; each of ``attrs``, ``inputs`` and ``outputs`` reads NAME=VALUE."""

    op: str
    dtype: str | None = None
    shape: str | None = None
    attrs: Sequence[str] = ()
    inputs: Sequence[str] = ()
    outputs: Sequence[str] = ()
    expect: str | None = None
    product: str | None = None
    standard: str | None = None
    seed: int | None = None


def parse(
    options: CallOptions,
    *,
    check_standard: CheckStandard,
    product_default: str | None = None,
    declared: Declared | None = None,
) -> Case:
    """The case that the options describe, named after its operator.

    Raises UsageError that begins with the option at fault.
    """
    said: list[str] = []
    try:
        return _build(_mapping(options, said), options.op, check_standard, product_default, declared)
    except CaseFileError as error:
        line = error.where.line if error.where is not None else 0
        option = f"{clip(said[line - 1])}: " if 0 < line <= len(said) else ""
        raise UsageError(option + error.message) from None


def _build(
    node: tree.Mapping,
    op: str,
    check_standard: CheckStandard,
    product_default: str | None,
    declared: Declared | None,
) -> Case:
    at = node.entries["op"]
    name = read.word(at, "the operator")
    try:
        operator = resolve.resolve(name, signature=declared(name) if declared else None)
        chosen = product(product_default) if product_default is not None else None
    except (ValueError, OpcliError) as error:
        raise at.error(str(error)) from None
    ((_, body),) = expand.expand(node, op, 1)
    setting = Setting(PATH, Path.cwd(), check_standard, chosen, declared=declared)
    case = build(body, operator.short_name, operator, setting, standard_origin=ORIGIN)
    return dataclasses.replace(case, where=Where(PATH, 1, 1))


def _mapping(options: CallOptions, said: list[str]) -> tree.Mapping:
    """The options as the mapping of a case; the line of a node is the number of its option."""

    def place(option: str) -> Node:
        said.append(option)
        return Node(PATH, len(said), 1)

    root = Node(PATH, 0, 1)
    entries: dict[str, Node] = {"op": tree.from_plain(options.op, place(f"--op {options.op}"))}
    plain = (
        ("dtype", options.dtype, str),
        ("shape", options.shape, _dims),
        ("product", options.product, str),
    )
    for key, text, rule in plain:
        if text is not None:
            at = place(f"--{key} {text}")
            entries[key] = tree.from_plain(_said(rule, text, at), at)
    if options.seed is not None:
        entries["seed"] = tree.from_plain(options.seed, place(f"--seed {options.seed}"))
    if options.standard is not None:
        at = place(f"--standard {options.standard}")
        entries["standard"] = tree.from_plain(_said(_standard, options.standard, at), at)
    if options.expect is not None:
        at = place(f"--expect {options.expect}")
        entries["expect"] = tree.from_plain({"status": _said(_yaml, options.expect, at)}, at)
    sections = (
        ("attr", "attrs", options.attrs, _yaml),
        ("in", "inputs", options.inputs, _input),
        ("out", "outputs", options.outputs, _output),
    )
    for flag, key, texts, read_value in sections:
        nodes: dict[str, Node] = {}
        for text in texts:
            at = place(f"--{flag} {text}")
            name, equals, value = text.partition("=")
            if not equals or not name.strip() or not value.strip():
                raise at.error("this must read NAME=VALUE")
            if name.strip() in nodes:
                raise at.error(f"{name.strip()} is given twice")
            nodes[name.strip()] = tree.from_plain(_said(read_value, value.strip(), at), at)
        if nodes:
            places = {name: (node.line, 1) for name, node in nodes.items()}
            entries[key] = tree.mapping(root, nodes, places)
    return tree.mapping(root, entries, {key: (node.line, 1) for key, node in entries.items()})


def _said(rule: Any, text: str, at: Node) -> Any:
    try:
        return rule(text)
    except ValueError as error:
        raise at.error(str(error)) from None
    except CaseFileError as error:
        raise at.error(error.message) from None


def _yaml(text: str) -> Any:
    node = yaml_text.parse(text, PATH)
    return tree.plain(node) if node is not None else None


def _dims(text: str) -> list[int]:
    """``4x4``, ``4,4``, ``[4, 4]``; ``[]`` and ``scalar`` have no axes."""
    bare = text.strip().removeprefix("[").removesuffix("]").strip()
    if bare in ("", "scalar"):
        return []
    parts = [part.strip() for part in re.split(r"[x,]", bare)]
    if not all(part.isascii() and part.isdigit() and len(part) < 20 for part in parts):
        raise ValueError(f"'{clip(text)}' is not a shape, such as 4x4, 4,4, [] or scalar")
    return [int(part) for part in parts]


def _input(text: str) -> Any:
    """``null``, ``DTYPE[DIMS][@LAYOUT][:DATA]``, or data alone with the rest from the short form."""
    if text == "null":
        return None
    match = _SPEC.fullmatch(text)
    word = text.casefold()
    bare = word in ("nan", "inf", "permutation", "true", "false") or text in values.GENERATOR_KEYS
    if match is None or bare:
        return {"data": _data(text)}
    made = _view(match)
    if match["data"] is not None:
        made["data"] = _data(match["data"])
    return made


def _output(text: str) -> Any:
    """``null``, ``alias:INPUT`` or ``DTYPE[DIMS][@LAYOUT]``."""
    if text == "null":
        return None
    if text.startswith(f"{keys.ALIAS}:"):
        return {keys.ALIAS: text.removeprefix(f"{keys.ALIAS}:").strip()}
    match = _SPEC.fullmatch(text)
    if match is None or match["data"] is not None:
        raise ValueError(f"'{clip(text)}' is not an output: write null, alias:INPUT or DTYPE[DIMS][@LAYOUT]")
    return _view(match)


def _view(match: re.Match[str]) -> dict[str, Any]:
    made: dict[str, Any] = {"dtype": match["dtype"]}
    if match["dims"] is not None:
        made["shape"] = _dims(match["dims"])
    for mark in filter(None, match["marks"].split("@")):
        made["format" if mark in keys.FORMATS else "layout"] = mark
    return made


def _data(text: str) -> Any:
    """A number, a list, or ``uniform(0,1)``, with ``+specials(nan,inf)`` after a generator."""
    marked = _SPECIALS.fullmatch(text)
    core = marked["core"] if marked is not None else text
    if core.startswith(f"{values.EXPR}(") and core.endswith(")"):
        derived: dict[str, Any] = {values.EXPR: core[len(values.EXPR) + 1 : -1]}
        return {**derived, "specials": _yaml(f"[{marked['specials']}]")} if marked is not None else derived
    call = _CALL.fullmatch(core)
    if call is None:
        if marked is not None:
            raise ValueError("specials go with a generator, such as uniform(0,1)+specials(nan)")
        if not core.strip():
            raise ValueError("there are no data after the colon")
        return _yaml(core)
    made: dict[str, Any] = {call["kind"]: _yaml(f"[{call['args']}]")}
    if marked is not None:
        made["specials"] = _yaml(f"[{marked['specials']}]")
    return made


def _standard(text: str) -> Any:
    """``ulp:max=2`` or a name alone."""
    name, numbers = standard_text(text)
    return {name: numbers} if numbers else name
