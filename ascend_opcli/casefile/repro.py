"""A case turned into options of the command line, and the command that runs it again."""

from __future__ import annotations

import dataclasses
import math
import shlex
from collections.abc import Sequence

from ascend_opcli.casefile import keys, read, show
from ascend_opcli.casefile.arguments import default
from ascend_opcli.casefile.loader import STDIN
from ascend_opcli.errors import OpcliError
from ascend_opcli.model import (
    Argument,
    Attribute,
    Case,
    Data,
    Derived,
    ExpectedStatus,
    Fill,
    Generator,
    Number,
    Phase,
    StandardChoice,
    TensorSpec,
    Values,
)
from ascend_opcli.operators.operator import Operator
from ascend_opcli.operators.signature import Param
from ascend_opcli.reference import resolve
from ascend_opcli.status import name_of
from ascend_opcli.status.codes import lookup
from ascend_opcli.tensors import layout

MAX_LITERALS = 16
"""A case with more written values than this is told by its file."""


def format(case: Case) -> list[str] | None:
    """The options of the case, defaults left out; None where options cannot say all that it demands."""
    unsaid = (
        bool(case.skip)
        or case.signature is not None
        or case.reference is not None
        or case.only is not None
        or case.known_issue is not None
        or case.repeat != 1
        or case.deterministic is not None
        or bool(case.expected_outputs)
        or bool(case.got)
        or bool(case.output_standards)
    )
    if unsaid:
        return None
    try:
        operator = resolve.resolve(case.operator)
        return [
            "--op",
            operator.short_name,
            *_inputs(case, operator),
            *_attributes(case, operator),
            *_outputs(case, operator),
            *(_expect(case.status) if case.status is not None else ()),
            *(("--product", case.product) if case.product is not None else ()),
            *(("--via", case.via) if case.via is not None else ()),
            *(_standard_text(case.standard) if case.standard is not None else ()),
            *(("--seed", str(case.seed)) if case.seed else ()),
        ]
    except (_Unsaid, ValueError, OpcliError):
        return None


class _Unsaid(Exception):
    """Options have no words for this."""


def repro(
    case: Case,
    inputs_sha256: str = "",
    *,
    standard: StandardChoice | None = None,
    allow_code: bool = False,
    more: Sequence[str] = (),
) -> str:
    """The command that runs this one case again: by options where they can say it, else from its file.

    ``standard`` is the command line's, which took the place of the case's own; a product that the file does not
    have came from the command line too, and a seed may have. ``more`` are options that say who serves the call.
    """
    if standard is not None:
        case = dataclasses.replace(case, standard=standard, output_standards={})
    words = format(case)
    check = [*(["--inputs-sha256", inputs_sha256] if inputs_sha256 else []), *more]
    if words is not None:
        return shlex.join(["opcli", "run", *words, *check])
    if standard is not None:
        check += _standard_text(standard)
    if case.product is not None and "product" not in case.source:
        check += ["--product", case.product]
    if case.via is not None and case.via != case.source.get("via"):
        check += ["--via", case.via]
    code = case.reference is not None and resolve.is_code(case.reference)
    if allow_code and code and "--allow-code" not in more:
        check.append("--allow-code")
    if case.seed:  # the file's own wins where it has one
        check += ["--seed", str(case.seed)]
    if case.path == STDIN:
        return shlex.join(["opcli", "run", *check, "--", f"-::{case.name}"])
    return shlex.join(["opcli", "run", f"{case.path}::{case.name}", *check])


def _inputs(case: Case, operator: Operator) -> list[str]:
    params = operator.signature.inputs
    best: tuple[int, list[str]] = (0, [])
    found: dict[str, Argument] = {}
    for candidate in dict.fromkeys(s for p in params for s in _forms(case.arguments[p.name])):
        try:
            made = _short_inputs(operator, candidate)
        except ValueError:
            continue
        hits = sum(_same(made[p.name], case.arguments[p.name]) for p in params)
        if hits > best[0]:
            dtype, shape = candidate
            best = hits, ["--dtype", dtype, "--shape", "x".join(map(str, shape)) or "scalar"]
            found = made
    words = list(best[1])
    for param in params:
        argument = case.arguments[param.name]
        if param.name in found:
            if _same(found[param.name], argument):
                continue
        elif argument is None and param.optional and not found:
            continue
        words += ["--in", f"{param.name}={_input_text(argument, operator, param)}"]
    return words


def _forms(argument: Argument) -> list[tuple[str, tuple[int, ...]]]:
    return [(argument.dtype, argument.shape)] if isinstance(argument, TensorSpec) else []


def _short_inputs(operator: Operator, case_form: tuple[str, tuple[int, ...]]) -> dict[str, Argument]:
    made: dict[str, Argument] = {}
    for name, form in operator.short_form(*case_form).items():
        if form is None:
            made[name] = None
            continue
        spec = operator.default_input(name, *form)
        made[name] = (spec,) if operator.signature[name].is_list else spec
    return made


def _same(one: object, other: object) -> bool:
    """Equal to the last sign and NaN, which == does not tell."""
    return repr(one) == repr(other)


def _input_text(argument: Argument, operator: Operator, param: Param) -> str:
    if argument is None:
        return "null"
    if not isinstance(argument, TensorSpec) or argument.data is None:
        raise _Unsaid
    text = _view_text(argument, operator.format_to_say(param.name, argument, {}))
    if _same(argument.data, operator.default_data(param.name, argument.dtype)):
        return text
    return f"{text}:{_data_text(argument.data)}"


def _view_text(spec: TensorSpec, format: str | None) -> str:
    """A tensor without its data, with its format where it must be said."""
    if spec.layout not in layout.LAYOUTS:
        raise _Unsaid
    plain = layout.resolve(spec.shape, layout=spec.layout)
    if plain != (spec.strides, spec.offset, spec.storage_shape, spec.layout):
        raise _Unsaid
    at = "" if spec.layout == "contiguous" else f"@{spec.layout}"
    at += "" if format is None else f"@{format}"
    return f"{spec.dtype}[{','.join(map(str, spec.shape))}]{at}"


def _data_text(data: Data) -> str:
    if isinstance(data, Fill):
        if isinstance(data.value, complex):
            raise _Unsaid
        return _number(data.value)
    if isinstance(data, Values):
        if len(data.values) > MAX_LITERALS:
            raise _Unsaid
        return f"[{','.join(map(_number, data.values))}]"
    if isinstance(data, Derived) and len(data.specials) <= MAX_LITERALS:
        text = f"expr({data.text})"
        return f"{text}+specials({','.join(map(_number, data.specials))})" if data.specials else text
    if not isinstance(data, Generator) or len(data.args) + len(data.specials) > MAX_LITERALS:
        raise _Unsaid
    text = f"{data.kind}({','.join(map(_number, data.args))})"
    return f"{text}+specials({','.join(map(_number, data.specials))})" if data.specials else text


def _number(value: Number) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, complex):
        return f"[{_number(value.real)},{_number(value.imag)}]"
    if isinstance(value, float) and math.isnan(value):
        return "nan"
    return repr(value)


def _attributes(case: Case, operator: Operator) -> list[str]:
    words: list[str] = []
    for param in operator.signature.attributes:
        argument = case.arguments[param.name]
        if argument is None:
            if param.name in operator.defaults or not param.optional:
                words += ["--attr", f"{param.name}=null"]
            continue
        if not isinstance(argument, Attribute):
            raise _Unsaid
        own = operator.defaults.get(param.name)
        if own is not None and _same(argument, default(param, own)):
            continue
        words += ["--attr", f"{param.name}={_attribute_text(argument)}"]
    return words


def _attribute_text(argument: Attribute) -> str:
    value = argument.value
    if isinstance(value, str):
        if len(value) > read.MAX_WORD:
            raise _Unsaid
        return show.scalar(value)
    if isinstance(value, tuple):
        if len(value) > MAX_LITERALS:
            raise _Unsaid
        text = f"[{','.join(map(_number, value))}]"
    else:
        text = _number(value)
    return text if argument.dtype is None else f"{{value: {text}, dtype: {argument.dtype}}}"


def _outputs(case: Case, operator: Operator) -> list[str]:
    words: list[str] = []
    for param in operator.signature.outputs:
        if param.io == "inout":
            continue
        argument = case.arguments[param.name]
        default_of = operator.default_members if param.is_list else operator.default_output
        if _same(argument, default_of(param.name, case.arguments)):
            continue
        if argument is None:
            words += ["--out", f"{param.name}=null"]
            continue
        if not isinstance(argument, TensorSpec):
            raise _Unsaid
        if argument.alias:
            words += ["--out", f"{param.name}={keys.ALIAS}:{argument.alias}"]
            continue
        format = operator.format_to_say(param.name, argument, case.arguments)
        words += ["--out", f"{param.name}={_view_text(argument, format)}"]
    return words


def _expect(status: ExpectedStatus) -> list[str]:
    if status.phase is not Phase.ONE or status.message is not None:
        raise _Unsaid
    name = name_of(status.code)
    return ["--expect", name if lookup(name).code == status.code else str(status.code)]


def _standard_text(choice: StandardChoice) -> list[str]:
    numbers = ",".join(
        f"{key}={value if isinstance(value, str) else _number(value)}"
        for key, value in choice.numbers.items()
    )
    return ["--standard", f"{choice.name}:{numbers}" if numbers else choice.name]
