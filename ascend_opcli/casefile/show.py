"""A case as one stand-alone YAML document, and plain data as YAML in flow style."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from typing import Any

from ascend_opcli.casefile import keys
from ascend_opcli.casefile.expectations import OF_FILE
from ascend_opcli.casefile.tree import DOLLAR
from ascend_opcli.casefile.yaml_text import resolve
from ascend_opcli.errors import UNSEEN, UsageError
from ascend_opcli.model import Case

WIDTH = 110

# Stricter than YAML: what no parser, of YAML 1.1 or 1.2, in block or flow style, takes for anything else.
_BARE = re.compile(r"[A-Za-z_][\w./+-]*(?: [\w./+-]+)*", re.ASCII)
_SPOKEN = frozenset({"y", "n", "yes", "no", "on", "off", "true", "false", "null"})
# What YAML cannot hold as it is, and what nobody would see.
_RAW = re.compile(f"[{UNSEEN}]|[^\x20-\x7e\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_BLOCKS = ("inputs", "outputs", "expect")


def to_yaml(case: Case) -> str:
    """A document that loads to an equal case: its name kept, defaults merged, the matrix gone."""
    source = dict(case.source)
    if case.signature is not None and "signature" in source:
        source["signature"] = case.signature  # a header's path means nothing elsewhere
    if case.skip and not case.arguments:
        raise UsageError(f"{case.id} has no call to show: {case.skip}")
    head = [f"# not run: {flow(case.skip)}"] if case.skip else []
    lines = [*head, f"opcli: {keys.VERSION}", f"op: {scalar(source.pop('op'))}"]
    # A standard of the file stays one, so that a report says the same of where it came from.
    if case.standard is not None and case.standard.origin == OF_FILE and "standard" in source:
        lines += entry("standard", source.pop("standard"), 0)
    lines.append("cases:")
    body = entries(source, 4)
    body[0] = "  - " + body[0].lstrip()
    return "\n".join(lines + body) + "\n"


def entries(case: Mapping[str, Any], indent: int) -> list[str]:
    """The lines of a mapping of keys of a case."""
    return [line for key, value in case.items() for line in entry(key, value, indent)]


def entry(key: str, value: Any, indent: int) -> list[str]:
    """The lines of a key and its value, in blocks for the tables of a case."""
    pad = " " * indent
    if key in _BLOCKS and isinstance(value, dict) and value:
        lines = [f"{pad}{key}:"]
        for name, item in value.items():
            lines += _wrapped(f"{pad}  {scalar(name)}: ", value=item, indent=indent + 4)
        return lines
    return _wrapped(f"{pad}{scalar(key)}: ", value, indent + 2)


def _wrapped(head: str, value: Any, indent: int) -> list[str]:
    """``head`` and the value in flow style, broken between values where the line grows too long."""
    lines, line = [], head
    for token in _tokens(value):
        if len(line.rstrip()) + len(token) > WIDTH and line.strip() and line is not head:
            lines.append(line.rstrip())
            line = " " * indent
        line += token
    return [*lines, line.rstrip()]


def flow(value: Any) -> str:
    """Plain data in flow style, on one line."""
    return "".join(_tokens(value)).rstrip()


def _tokens(value: Any) -> list[str]:
    """Pieces that may stand on lines of their own; a piece that is followed by a blank carries it."""
    if isinstance(value, Mapping):
        if not value:
            return ["{}"]
        made = []
        for key, item in value.items():
            first, *rest = _tokens(item)
            made += [f"{scalar(key)}: {first}", *rest]
            made[-1] += ", "
        return _closed("{", made, "}")
    if isinstance(value, (list, tuple)):
        if not value:
            return ["[]"]
        made = []
        for item in value:
            made += _tokens(item)
            made[-1] += ", "
        return _closed("[", made, "]")
    return [scalar(value)]


def _closed(before: str, tokens: list[str], after: str) -> list[str]:
    tokens[0] = before + tokens[0]
    tokens[-1] = tokens[-1][:-2] + after
    return tokens


def scalar(value: Any) -> str:
    """A leaf: a number as YAML 1.1 and 1.2 both read it, text in quotes where it could be misread."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return number(value)
    text = str(value)
    bare = _BARE.fullmatch(text) and text.casefold() not in _SPOKEN and resolve(text) == text
    if bare or DOLLAR.fullmatch(text):
        return text
    quoted = json.dumps(text, ensure_ascii=False)
    return _RAW.sub(lambda m: f"\\U{ord(m[0]):08x}" if ord(m[0]) > 0xFFFF else f"\\u{ord(m[0]):04x}", quoted)


def number(value: float) -> str:
    """The shortest decimal that reads back the same; exponents with a point, which YAML 1.1 asks for."""
    if math.isnan(value):
        return ".nan"
    if math.isinf(value):
        return ".inf" if value > 0 else "-.inf"
    text = repr(value)
    return text.replace("e", ".0e", 1) if "e" in text and "." not in text else text
