"""What a case demands: a status, values, a rule to judge by."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from collections.abc import Mapping as Table
from pathlib import Path
from typing import Literal as OneOf
from typing import Protocol, runtime_checkable

from ascend_opcli import status as codes
from ascend_opcli.casefile import keys, read, values
from ascend_opcli.casefile.tree import Mapping, Node, Scalar, clip
from ascend_opcli.errors import OpcliError
from ascend_opcli.model import Argument, Data, ExpectedStatus, Fill, Phase, StandardChoice, TensorSpec, Values
from ascend_opcli.operators.arguments import first_spec
from ascend_opcli.operators.operator import Operator
from ascend_opcli.status import message_pattern
from ascend_opcli.tensors.written_values import not_held

CheckStandard = Callable[[StandardChoice, "str | None"], None]
"""Refuses an unknown standard, or its numbers, with a ValueError; it is told the output's dtype, if any."""


@runtime_checkable
class ChecksCalls(Protocol):
    """A check that also knows whether the words of a standard fit a call."""

    def of_call(
        self, choice: StandardChoice, output: str | None, operator: Operator, arguments: Table[str, Argument]
    ) -> None:
        """ValueError where they do not fit; of every output where none is named."""


Called = tuple["str | None", Operator, Table[str, Argument]]
"""The output whose standard it is, None for all of them, and the call."""

OF_FILE = "standard of the file"
OF_CASE = "standard of the case"
OF_EXPECT = "expect.standard of the case"

_MAX_PATTERN = 1_000


def status(node: Node) -> ExpectedStatus:
    """A name, a number, or ``{code, phase, message}``."""
    if not isinstance(node, Mapping):
        return ExpectedStatus(_code(node))
    keys.check(node, "expect.status")
    code = node.get("code")
    if code is None:
        raise node.error("expect.status needs a code: a name or a number")
    phase, message = node.get("phase"), node.get("message")
    return ExpectedStatus(
        _code(code),
        _phase(phase) if phase is not None else Phase.ONE,
        _pattern(message) if message is not None else None,
    )


def _code(node: Node) -> int:
    value = node.value if isinstance(node, Scalar) else None
    if isinstance(value, bool) or not isinstance(value, (int, str)) or len(str(value)) > read.MAX_WORD:
        raise node.error(f"a status is a name or a number, such as 161002, not {node.kind}")
    try:
        return codes.lookup(value).code
    except OpcliError as error:
        raise node.error(str(error)) from None


def _phase(node: Node) -> Phase:
    written = node.text if isinstance(node, Scalar) else ""
    try:
        return Phase(written)
    except ValueError:
        raise node.error(f"a phase is 1, 2 or sync, not {node.kind}") from None


def _pattern(node: Node) -> str:
    pattern = read.text(node, "message", _MAX_PATTERN)
    try:
        message_pattern.pattern(pattern)
    except ValueError as error:
        raise node.error(f"message {error}") from None
    return pattern


def outputs(
    node: Mapping, arguments: Table[str, Argument], folder: Path
) -> dict[str, Data | OneOf["ignore"]]:
    """Explicit values of outputs, of their shapes, a tensor list's as ``out[0]``; ``ignore`` leaves one unjudged."""
    made: dict[str, Data | OneOf["ignore"]] = {}
    for name, value in node.entries.items():
        spec = first_spec(arguments[name])
        if isinstance(value, Scalar) and value.value == "ignore":
            made[name] = "ignore"
            continue
        if spec is None:
            raise value.error(f"the output {name} is null: nothing can be expected of it but ignore")
        members = arguments[name]
        if not isinstance(members, tuple):
            made[name] = _expected(value, spec, folder, name)
            continue
        written = read.items(value, f"expect.outputs.{name}")
        if len(written) != len(members):
            raise value.error(f"{name} has {len(members)} tensors, not {len(written)}")
        for i, (node_of, member) in enumerate(zip(written, members, strict=True)):
            assert isinstance(member, TensorSpec)
            made[f"{name}[{i}]"] = _expected(node_of, member, folder, f"{name}[{i}]")
    return made


def got(node: Mapping, arguments: Table[str, Argument], operator: Operator, folder: Path) -> dict[str, Data]:
    """What another machine has made of every output: values, or a file, which is only looked for here."""
    made: dict[str, Data] = {}
    names = [p.name for p in operator.signature.outputs]
    for name in node.entries:
        if name not in names:
            raise keys.unknown(node, name, names, f"output of {operator.name}")
    for name in names:
        specs, value = arguments[name], node.get(name)
        if specs is None:
            if value is not None:
                raise value.error(f"the output {name} is null: nothing can be made of it")
            continue
        if value is None:
            raise node.error(f"got has no {name}: every output is judged that is not null under outputs")
        if not isinstance(specs, tuple):
            made[name] = _got(value, specs, folder, f"got.{name}")
            continue
        written = read.items(value, f"got.{name}")
        if len(written) != len(specs):
            raise value.error(f"{name} has {len(specs)} tensors, not {len(written)}")
        for i, (one, spec) in enumerate(zip(written, specs, strict=True)):
            made[f"{name}[{i}]"] = _got(one, spec, folder, f"got.{name}[{i}]")
    return made


def _got(node: Node, spec: object, folder: Path, what: str) -> Data:
    assert isinstance(spec, TensorSpec)
    if isinstance(node, Mapping):
        keys.only(node, (values.FILE,), f"key of {what}")
        return values.generator(node, folder, False, what)
    if isinstance(node, Scalar) and (node.value is None or not values.is_number(node)):
        raise node.error(f"{what} takes values or {{file: x.npy}}, not {node.kind}")
    made = values.data(node, spec.dtype, spec.shape, folder, what)
    written = made.values if isinstance(made, Values) else (made.value,) if isinstance(made, Fill) else ()
    place = not_held(written, spec.dtype)
    if place is not None:
        # What is judged must be what was got: inputs are rounded to their dtype, outputs are not.
        at = next(itertools.islice(values.leaves(node, spec.dtype), place, None), node)
        raise at.error(
            f"{what}: {at.text if isinstance(at, Scalar) else at.kind} is not a value of {spec.dtype}"
        )
    return made


def _expected(node: Node, spec: TensorSpec, folder: Path, name: str) -> Data:
    what = f"expect.outputs.{name}"
    if isinstance(node, Mapping):
        keys.only(node, (values.FILE,), f"key of {what}")
    elif isinstance(node, Scalar) and (node.value is None or not values.is_number(node)):
        near = read.hint(node.text, ("ignore", "nan", "inf"))
        raise node.error(f"{what} takes values, {{file: x.npy}} or ignore, not {node.kind}{near}")
    return values.data(node, spec.dtype, spec.shape, folder, what)


# --- standards ----------------------------------------------------------------------------------------------


def standard(
    node: Node, origin: str, check: CheckStandard, dtype: str | None = None, called: Called | None = None
) -> StandardChoice:
    """A rule: a name, or a name with numbers, ``{ulp: {max: 2}}``."""
    at = node
    if isinstance(node, Mapping):
        if len(node.entries) != 1:
            raise node.error(
                f"a standard is one name with its numbers, such as {{ulp: {{max: 2}}}}, not {_listed(node)}"
            )
        name, given = next(iter(node.entries.items()))
        numbers = _numbers(given, name)
        at = Scalar(node.file, *node.places[name], name, name)
    else:
        name, numbers = read.word(node, "standard"), {}
    choice = StandardChoice(name, numbers, origin)
    try:
        if len(name) > read.MAX_WORD:
            raise ValueError(f"unknown standard '{clip(name)}'")
        check(choice, dtype)
        if called is not None and isinstance(check, ChecksCalls):
            check.of_call(choice, *called)
    except ValueError as error:
        raise at.error(str(error)) from None
    return choice


def _listed(node: Mapping) -> str:
    return " and ".join(clip(k) for k in list(node.entries)[:4]) or "an empty mapping"


def _numbers(node: Node, name: str) -> dict[str, float | str]:
    if isinstance(node, Scalar) and node.value is None:
        return {}
    if not isinstance(node, Mapping):
        raise node.error(
            f"the numbers of {clip(name)} have names, such as {{ulp: {{max: 2}}}}, not {node.kind}"
        )
    made: dict[str, float | str] = {}
    for key, item in node.entries.items():
        if isinstance(item, Scalar) and isinstance(item.value, str) and not values.is_number(item):
            # A word, such as a level; the check says where a number should stand.
            made[key] = read.word(item, f"{clip(name)}.{clip(key)}")
            continue
        value = values.number(item, f"{clip(name)}.{clip(key)}")
        if isinstance(value, bool) or not math.isfinite(value):
            raise item.error(f"{clip(name)}.{clip(key)} must be a finite number, not {item.kind}")
        made[key] = value
    return made


def standards(
    node: Node, operator: Operator, arguments: Table[str, Argument], check: CheckStandard
) -> tuple[StandardChoice | None, dict[str, StandardChoice]]:
    """``expect.standard``: one rule, or output -> rule."""
    names = [p.name for p in operator.signature.outputs]
    if not isinstance(node, Mapping) or not _by_output(node, names):
        return standard(node, OF_EXPECT, check, None, (None, operator, arguments)), {}
    made: dict[str, StandardChoice] = {}
    for name, rule in node.entries.items():
        if name not in names:
            raise keys.unknown(node, name, names, f"output of {operator.name}")
        spec = first_spec(arguments[name])
        dtype = spec.dtype if spec is not None else None
        made[name] = standard(rule, OF_EXPECT, check, dtype, (name, operator, arguments))
    return None, made


def _by_output(node: Mapping, names: list[str]) -> bool:
    """A table of rules rather than a rule: an output is named, or what follows a name is itself a rule."""
    if any(key in names for key in node.entries):
        return True
    rules = [v for v in node.entries.values() if isinstance(v, Mapping)]
    words = [v for v in node.entries.values() if isinstance(v, Scalar) and isinstance(v.value, str)]
    return bool(words) or any(isinstance(n, Mapping) for rule in rules for n in rule.entries.values())
