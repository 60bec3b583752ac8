"""One expanded case -> :class:`~ascend_opcli.model.Case`: every parameter gets its argument."""

from __future__ import annotations

import dataclasses
import datetime
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ascend_opcli.casefile import arguments, expectations, keys, read
from ascend_opcli.casefile.arguments import Short
from ascend_opcli.casefile.expectations import CheckStandard
from ascend_opcli.casefile.tree import Mapping, Node, Scalar, clip, plain
from ascend_opcli.errors import nearest
from ascend_opcli.model import Argument, Case, KnownIssue, Only, TensorSpec
from ascend_opcli.operators.operator import Operator
from ascend_opcli.operators.products import product
from ascend_opcli.operators.signature import Param
from ascend_opcli.reference import derived
from ascend_opcli.tensors.dtypes import canonical

MAX_SEED = 2**63 - 1
MAX_REPEAT = 1_000_000

_VERSIONS = re.compile(
    r"(>=|<=|==|!=|>|<)?\s*\d+(\.\w+)*(\s*,\s*(>=|<=|==|!=|>|<)?\s*\d+(\.\w+)*)*", re.ASCII
)
_DATE = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
_SECTIONS = {"input": "inputs", "output": "outputs", "attribute": "attrs"}


Declared = Callable[[str], "str | None"]
"""The prototype or header text that an installed header has for an operator's name."""


@dataclass(frozen=True, slots=True)
class Setting:
    """What a case takes from around it."""

    path: str
    folder: Path
    check_standard: CheckStandard
    product: str | None = None
    seed: int = 0
    declared: Declared | None = None


def build(
    node: Mapping,
    name: str,
    operator: Operator,
    setting: Setting,
    *,
    standard_origin: str = expectations.OF_CASE,
) -> Case:
    """The case that ``node`` describes: merged, its matrix substituted, its keys checked.

    Raises CaseFileError at the place of the first thing that does not fit.
    """
    made = _arguments(node, operator, setting.folder)
    source: dict[str, Any] = {
        "name": name,
        "op": operator.short_name if not operator.custom else operator.name,
    }
    source |= {k: v for k, v in plain(node).items() if k not in ("name", "op")}
    chosen = _product(node.entries["product"]) if "product" in node.entries else setting.product
    seed = setting.seed
    if "seed" in node.entries:
        seed = read.whole(node.entries["seed"], "seed", 0, MAX_SEED)
    # What the command line has set belongs to the case from here on: it must come out the same again.
    if chosen is not None:
        source["product"] = chosen
    if seed:
        source["seed"] = seed
    repeat = node.get("repeat")
    expect = read.section(node, "expect")
    if expect is not None:
        keys.check(expect, "expect")
    standard = node.get("standard")
    choice = None
    if standard is not None:
        check = setting.check_standard
        choice = expectations.standard(standard, standard_origin, check, None, (None, operator, made))
    wanted: dict[str, Any] = _expected(expect, operator, made, setting) if expect is not None else {}
    got = read.section(node, "got")
    description = node.get("description")
    reference = node.get("reference")
    return Case(
        path=setting.path,
        name=name,
        operator=operator.name,
        arguments=made,
        where=node.where,
        description=_description(description) if description is not None else "",
        product=chosen,
        seed=seed,
        tags=_tags(node.entries["tags"]) if "tags" in node.entries else (),
        only=_only(node.entries["only"]) if "only" in node.entries else None,
        reference=read.text(reference, "reference") if reference is not None else None,
        # An operator that is not the built-in or catalogued one of its name must be found by its prototype again.
        signature=operator.signature.prototype()
        if "signature" in node.entries or operator.declared
        else None,
        via=_via(node.entries["via"]) if "via" in node.entries else None,
        standard=wanted.pop("standard", None) or choice,
        got=expectations.got(got, made, operator, setting.folder) if got is not None else {},
        known_issue=_known_issue(node.entries["known_issue"]) if "known_issue" in node.entries else None,
        repeat=read.whole(repeat, "repeat", 1, MAX_REPEAT) if repeat is not None else 1,
        deterministic=_deterministic(node.get("deterministic"), repeat is not None),
        open_outputs=_open(node, operator, made),
        source={key: source[key] for key in keys.LEVELS["a case"] if key in source},
        **wanted,
    )


# --- arguments ----------------------------------------------------------------------------------------------


def _arguments(node: Mapping, operator: Operator, folder: Path) -> dict[str, Argument]:
    signature = operator.signature
    sections = {key: read.section(node, key) for key in _SECTIONS.values()}
    for key, section in sections.items():
        if section is not None:
            for name in section.entries:
                _check_place(section, name, key, operator)
    made: dict[str, Argument] = {}
    _inputs(node, sections["inputs"], operator, folder, made)
    _attributes(node, sections["attrs"], operator, made)
    try:
        derived.order(made, signature)
    except derived.DataError as error:
        raise _data_node(node, sections["inputs"], error.name).error(str(error)) from None
    outputs = sections["outputs"]
    for param in signature.outputs:
        if param.io == "out":
            written = outputs.get(param.name) if outputs is not None else None
            if param.is_list:
                made[param.name] = arguments.output_list(written, param, operator, made)
            else:
                made[param.name] = arguments.output(written, param, operator, made)
    return {p.name: made[p.name] for p in signature.params}


def _data_node(node: Mapping, inputs: Mapping | None, name: str) -> Node:
    """Where the data of an input are written."""
    at = inputs.get(name) if inputs is not None else None
    found = at.get("data") if isinstance(at, Mapping) else None
    return found or at or node


def _open(node: Mapping, operator: Operator, made: dict[str, Argument]) -> tuple[str, ...]:
    """The outputs of which neither the case nor shapes alone say how large they are."""
    if not operator.open_outputs:
        return ()
    written = read.section(node, "outputs")
    return tuple(
        p.name
        for p in operator.signature.outputs
        if p.io == "out"
        and (written is None or p.name not in written.entries)
        and (p.name not in operator.outputs or operator.outputs[p.name](made) is None)
    )


def _kind(param: Param) -> str:
    if not param.is_tensor:
        return "attribute"
    return "input" if param.is_input else "output"


def _check_place(section: Mapping, name: str, key: str, operator: Operator) -> None:
    """Refuse a name that is no parameter, or one that belongs under another key."""
    params = operator.signature.params
    for param in params:
        if param.name == name:
            right = _SECTIONS[_kind(param)]
            if right != key:
                kind = "inout parameter" if param.io == "inout" else _kind(param)
                article = "an" if kind[0] in "aio" else "a"
                raise section.key_error(
                    name, f"{name} is {article} {kind} of {operator.name}: write it under {right}"
                )
            return
    fitting = [p.name for p in params if _SECTIONS[_kind(p)] == key]
    singular = next(k for k, v in _SECTIONS.items() if v == key)
    near = nearest(name, [p.name for p in params]) if len(name) <= read.MAX_WORD else None
    if near is not None and near not in fitting and nearest(name, fitting) is None:
        right = _SECTIONS[_kind(operator.signature[near])]
        raise section.key_error(
            name, f"{operator.name} has no {singular} '{clip(name)}'; did you mean '{near}', under {right}?"
        )
    otherwise = f"; it has {', '.join(fitting)}" if fitting else "; it has none"
    raise section.key_error(
        name,
        f"{operator.name} has no {singular} '{clip(name)}'{read.hint(name, fitting, otherwise=otherwise)}",
    )


def _inputs(
    node: Mapping, section: Mapping | None, operator: Operator, folder: Path, made: dict[str, Argument]
) -> None:
    dtype, dims = node.get("dtype"), node.get("shape")
    short = Short(
        operator,
        read.by(dtype, canonical, "dtype") if dtype is not None else None,
        read.sizes(dims, "shape") if dims is not None else None,
    )
    missing: list[str] = []
    shapeless: dict[str, str] = {}
    for param in operator.signature.inputs:
        name = param.name
        written = section.get(name) if section is not None else None
        if written is not None:
            made[name] = arguments.inputs(written, param, short, folder)
            _check_written(written, param, made[name])
        elif short.complete:
            try:
                shape = short.of(name)
            except ValueError as error:
                shapeless[name] = str(error)
                continue
            made[name] = _default_input(node, param, shape, operator)
        elif param.optional:
            made[name] = None
        else:
            missing.append(name)
    if shapeless:
        why = next(iter(shapeless.values()))
        verb = "needs a shape of its own" if len(shapeless) == 1 else "need a shape of their own"
        assert dims is not None
        raise dims.error(f"{', '.join(shapeless)} of {operator.name} {verb}: {why}")
    if missing:
        if section is None and dtype is None and dims is None:
            raise node.error(
                f"a case of {operator.name} gives dtype and shape, or its inputs: {', '.join(missing)}"
            )
        half = (
            ""
            if dtype is None and dims is None
            else f", or a {'shape' if dims is None else 'dtype'} for the case"
        )
        raise node.error(f"{operator.name} has no {', '.join(missing)} here: write it under inputs{half}")


def _default_input(
    node: Mapping, param: Param, shape: tuple[str, tuple[int, ...]] | None, operator: Operator
) -> Argument:
    if shape is None:
        return None
    dtype, dims = shape
    blank = Mapping(node.file, node.line, node.column, {}, {})
    spec = arguments.view(blank, dtype, dims, param.name, operator.input_format(param.name, dims))
    spec = dataclasses.replace(spec, data=operator.default_data(param.name, dtype))
    return (spec,) if param.is_list else spec


def _check_written(node: Node, param: Param, made: Argument) -> None:
    if param.io == "inout":
        if isinstance(made, TensorSpec):
            arguments.refuse_overlap(node, made, param.name)
        elif isinstance(made, tuple):
            for item, spec in zip(read.items(node, param.name), made, strict=True):
                arguments.refuse_overlap(item, spec, param.name)


def _attributes(
    node: Mapping, section: Mapping | None, operator: Operator, made: dict[str, Argument]
) -> None:
    missing: list[str] = []
    for param in operator.signature.attributes:
        written = section.get(param.name) if section is not None else None
        if written is not None:
            made[param.name] = arguments.attribute(written, param)
        elif param.name in operator.defaults:
            made[param.name] = arguments.default(param, operator.defaults[param.name])
        elif param.optional and param.is_pointer:
            made[param.name] = None
        else:
            missing.append(param.name)
    if missing:
        at: Node = section if section is not None else node
        verb = "has no default" if len(missing) == 1 else "have no default"
        raise at.error(f"{', '.join(missing)} of {operator.name} {verb}: write a value under attrs")


# --- the rest of a case -------------------------------------------------------------------------------------


def _expected(
    expect: Mapping, operator: Operator, made: dict[str, Argument], setting: Setting
) -> dict[str, Any]:
    wanted: dict[str, Any] = {}
    if "status" in expect.entries:
        wanted["status"] = expectations.status(expect.entries["status"])
    values = read.section(expect, "outputs", "expect.outputs")
    if values is not None:
        names = [p.name for p in operator.signature.outputs]
        for name in values.entries:
            if name not in names:
                raise keys.unknown(values, name, names, f"output of {operator.name}")
        wanted["expected_outputs"] = expectations.outputs(values, made, setting.folder)
    if "standard" in expect.entries:
        one, each = expectations.standards(expect.entries["standard"], operator, made, setting.check_standard)
        wanted["output_standards"] = each
        wanted["standard"] = one
    return wanted


def _product(node: Node) -> str:
    return read.by(node, product, "product")


def _description(node: Node) -> str:
    return "" if isinstance(node, Scalar) and node.value is None else read.text(node, "description")


def _via(node: Node) -> str:
    word = read.word(node, "via")
    if word not in keys.WAYS:
        raise node.error(f"via is {' or '.join(keys.WAYS)}, not '{clip(word)}'{read.hint(word, keys.WAYS)}")
    return word


def _tags(node: Node) -> tuple[str, ...]:
    if isinstance(node, Scalar):
        return (read.word(node, "a tag"),)
    return tuple(read.word(item, "a tag") for item in read.items(node, "tags"))


def _only(node: Node) -> Only:
    table = read.mapping(node, "only")
    keys.check(table, "only")
    products: tuple[str, ...] = ()
    written = table.get("product")
    if written is not None:
        several = [written] if isinstance(written, Scalar) else read.items(written, "only.product")
        products = tuple(_product(item) for item in several)
    backend = table.get("backend")
    if backend is not None and (not isinstance(backend, Scalar) or backend.value not in ("host", "device")):
        near = read.hint(backend.text, ("host", "device")) if isinstance(backend, Scalar) else ""
        raise backend.error(f"only.backend is host or device, not {backend.kind}{near}")
    cann = table.get("cann")
    if cann is not None and not (
        isinstance(cann, Scalar) and _VERSIONS.fullmatch(cann.text[: read.MAX_WORD])
    ):
        raise cann.error(f"only.cann is a version, such as '>=8.5', not {cann.kind}")
    return Only(
        products,
        backend.text if isinstance(backend, Scalar) else None,
        cann.text if isinstance(cann, Scalar) else None,
    )


def _known_issue(node: Node) -> KnownIssue:
    if not isinstance(node, Mapping):
        return KnownIssue(_reason(node, "known_issue"))
    keys.check(node, "known_issue")
    reason, expires = node.get("reason"), node.get("expires")
    if reason is None:
        raise node.error("known_issue needs a reason")
    return KnownIssue(_reason(reason, "known_issue.reason"), _date(expires) if expires is not None else None)


def _reason(node: Node, what: str) -> str:
    if not read.text(node, what):
        raise node.error("known_issue needs a reason")
    return read.text(node, what)


def _date(node: Node) -> str:
    written = node.text if isinstance(node, Scalar) else ""
    try:
        if not _DATE.fullmatch(written):
            raise ValueError
        return datetime.date.fromisoformat(written).isoformat()
    except ValueError:
        raise node.error(f"known_issue.expires is a date, such as 2026-12-31, not {node.kind}") from None


def _deterministic(node: Node | None, repeated: bool) -> int | None:
    if node is None:
        return 1 if repeated else None
    if isinstance(node, Scalar) and isinstance(node.value, bool):
        return int(node.value)
    return read.whole(node, "deterministic", 0, 2)
