"""Which PyTorch APIs are one aclnn call, and with which arguments: the table ``torch_apis.txt`` read and applied.

After the public documentation of PyTorch and Ascend/op-plugin, op_plugin/ops.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from typing import Any

BACKWARD = ":backward"
GRAD, OUT, DTYPE = "grad", "out", "dtype"
NULL = "-"
REDUCTIONS = {"none": 0, "mean": 1, "sum": 2}

_ALIASES = {"axis": "dim", "keepdims": "keepdim", "self": "input"}
_PREFIXES = {"F": "Functional"}
_LINE = re.compile(
    r"(?P<names>[^(=~]+?)\s*\((?P<params>[^()]*)\)\s*=\s*(?P<op>aclnn\w+)\((?P<args>.*)\)(?:\s*:\s*(?P<outs>.*))?"
)
_PARAM = re.compile(
    r"(?P<kind>[A-Z])(?P<rank>\d?)(?P<none>\??) (?P<name>\w+)(?:(?P<sign>:=|==|=)(?P<value>.+))?"
)
_CALL = re.compile(r"(list|axes|T|reduction)\((\w+)\)")
_NEVER = object()


class Mismatch(Exception):
    """The arguments are not those that a line takes."""


@dataclass(frozen=True, slots=True)
class TorchTensor:
    """A tensor of a dump: dtype, shape, and where its values are. ``entry`` is the dump's own object."""

    dtype: str
    shape: tuple[int, ...]
    entry: Mapping[str, Any]
    transposed: bool = False


@dataclass(frozen=True, slots=True)
class Word:
    """A value of a dump whose type says more than its JSON: a dtype."""

    text: str


@dataclass(frozen=True, slots=True)
class _Param:
    name: str
    kind: str
    rank: int | None
    none: bool
    sign: str
    value: Any

    @property
    def optional(self) -> bool:
        return self.sign in ("=", ":=")

    def take(self, value: Any) -> Any:
        """The value where the parameter takes it. Raises Mismatch."""
        if value is None and (self.none or self.value is None):
            made = None
        elif value is None and self.optional:
            made = self.value
        else:
            made = self._kind(value)
        if self.sign in (":=", "==") and made != self.value:
            raise Mismatch
        return made

    def _kind(self, value: Any) -> Any:
        kind = self.kind
        if kind == "T" and isinstance(value, TorchTensor) and self.rank in (None, len(value.shape)):
            return value
        if (
            kind == "L"
            and isinstance(value, list)
            and value
            and all(isinstance(v, TorchTensor) for v in value)
        ):
            return value
        if kind == "N" and isinstance(value, (int, float)):
            return value
        if kind == "I" and type(value) is int:
            return value
        if kind in "AV" and (type(value) is int or _whole(value)):
            return value
        if kind == "B" and isinstance(value, bool):
            return value
        if kind == "W" and isinstance(value, str):
            return value
        if kind == "D" and isinstance(value, Word):
            return value
        raise Mismatch


def _whole(value: Any) -> bool:
    return isinstance(value, list) and all(type(v) is int for v in value)


@dataclass(frozen=True, slots=True)
class ApiLine:
    """One line of the table: an API's parameters, and the call that they make."""

    number: int
    params: tuple[_Param, ...]
    operator: str
    arguments: tuple[str, ...]
    outputs: tuple[str, ...]

    @property
    def in_place(self) -> bool:
        """Whether the API can be told to write into what it is given."""
        return any(param.name == "inplace" for param in self.params)

    def bind(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        """The API's arguments by parameter. Raises Mismatch where they are others."""
        rest = list(args)
        bound: dict[str, Any] = {}
        named = {_ALIASES.get(k, k): v for k, v in kwargs.items()}
        if len(named) != len(kwargs):
            raise Mismatch
        if named.get(OUT, _NEVER) is None:
            del named[OUT]
        for param in self.params:
            if param.kind == "V" and rest and type(rest[0]) is int:
                given: Any = rest
                rest = []
            elif rest and param.name not in named:
                given = rest.pop(0)
            elif param.name in named:
                given = named.pop(param.name)
            elif param.optional:
                bound[param.name] = param.value
                continue
            else:
                raise Mismatch
            bound[param.name] = param.take(given)
        if rest or named:
            raise Mismatch
        return bound

    def call(self, bound: Mapping[str, Any], dtype: str) -> list[Any]:
        """The arguments of the aclnn call in the prototype's order. Raises Mismatch."""
        return [_argument(text, bound, dtype) for text in self.arguments]


def _argument(text: str, bound: Mapping[str, Any], dtype: str) -> Any:
    found = _CALL.fullmatch(text)
    if found is None:
        if text == DTYPE:
            return Word(dtype)
        return bound[text] if text in bound else json.loads(text)
    value = bound[found[2]]
    match found[1]:
        case "list":
            return value if isinstance(value, list) else [value]
        case "axes":
            return list(range(len(value.shape)))
        case "T":
            shape = (*value.shape[:-2], value.shape[-1], value.shape[-2])
            return TorchTensor(value.dtype, shape, value.entry, transposed=True)
        case _:
            if value not in REDUCTIONS:
                raise Mismatch
            return REDUCTIONS[value]


@dataclass(frozen=True, slots=True)
class Table:
    """``lines`` by API, as a dump spells it (``Functional.relu``), and the calls that others make, () for a view."""

    lines: Mapping[str, tuple[ApiLine, ...]]
    others: Mapping[str, tuple[str, ...]]


@lru_cache(maxsize=1)
def table() -> Table:
    """The table of this package."""
    lines: dict[str, list[ApiLine]] = {}
    others: dict[str, tuple[str, ...]] = {}
    text = resources.files(__package__).joinpath("torch_apis.txt").read_text("utf-8")
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        names, tilde, calls = line.partition(" ~ ")
        if tilde:
            found_calls = tuple(call for call in calls.split() if call != NULL)
            others |= dict.fromkeys(_spelled(names), found_calls)
            continue
        found = _LINE.fullmatch(line)
        if found is None:
            raise ValueError(f"torch_apis.txt:{number} is no line of the table")
        made = ApiLine(
            number,
            tuple(_param(p) for p in _parts(found["params"])),
            found["op"],
            tuple(_parts(found["args"])),
            tuple(_parts(found["outs"] or "")),
        )
        for name in _spelled(found["names"]):
            lines.setdefault(name, []).append(made)
    return Table({name: tuple(of) for name, of in lines.items()}, others)


def _spelled(names: str) -> list[str]:
    made = []
    for name in names.split():
        prefix, dot, rest = name.partition(".")
        if dot:
            made.append(f"{_PREFIXES.get(prefix, prefix)}.{rest}")
        else:
            made += [f"Tensor.{name}"] if name.startswith("__") else [f"Torch.{name}", f"Tensor.{name}"]
    return made


def _parts(text: str) -> list[str]:
    return [part.strip() for part in re.split(r",(?![^(\[]*[)\]])", text) if part.strip()]


def _param(text: str) -> _Param:
    found = _PARAM.fullmatch(text)
    if found is None:
        raise ValueError(f"'{text}' is no parameter of torch_apis.txt")
    value = json.loads(found["value"]) if found["value"] is not None else _NEVER
    rank = int(found["rank"]) if found["rank"] else None
    return _Param(found["name"], found["kind"], rank, bool(found["none"]), found["sign"] or "", value)
