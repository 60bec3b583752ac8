"""The JSON Schema of a case file, with which editors complete and check one.

It is necessary, not sufficient: whatever the loader takes is valid; what only merging with ``defaults``, a matrix or
the operator's rules can show stays with the loader. Made from the same tables as the loader.
"""

# More than 400 lines: one JSON document.
from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from ascend_opcli import status as codes
from ascend_opcli.casefile import keys, values
from ascend_opcli.casefile.arguments import RANGES
from ascend_opcli.casefile.build import MAX_REPEAT, MAX_SEED
from ascend_opcli.operators.documents import catalogued
from ascend_opcli.operators.operator import Operator
from ascend_opcli.operators.products import PRODUCTS, SOC_PRODUCTS
from ascend_opcli.operators.signature import Param
from ascend_opcli.tensors.dtypes import PREFIXES, spellings
from ascend_opcli.tensors.layout import LAYOUTS

Schema = dict[str, Any]

DRAFT = "https://json-schema.org/draft/2020-12/schema"

_WORDS = ("nan", "inf", "+nan", "+inf", "-nan", "-inf", ".nan", ".inf", "-.inf", "+.inf", "-.nan", "+.nan")


def ref(name: str) -> Schema:
    """A definition by name."""
    return {"$ref": f"#/$defs/{name}"}


def or_name(*schemas: Schema) -> Schema:
    """One of these, or a ``$name`` that a matrix or zip replaces."""
    return {"anyOf": [*schemas, ref("dollar")]}


def spelled(words: Iterable[str], *, before: str = "", after: str = "") -> Schema:
    """One of the words in any case; the words themselves are what an editor offers."""
    known = list(words)
    pattern = "|".join(_any_case(w) for w in sorted(known, key=len, reverse=True))
    return {
        "anyOf": [{"enum": known}, {"type": "string", "pattern": rf"^\s*{before}(?:{pattern}){after}\s*$"}]
    }


def _any_case(word: str) -> str:
    return "".join(f"[{c.upper()}{c.lower()}]" if c.isalpha() else re.escape(c) for c in word)


def document(
    standards: Iterable[str], operator: Operator | None = None, spelling: str | None = None
) -> Schema:
    """The schema of a case file: of any operator, or of one with its parameters by name.

    ``standards`` are the names of the rules that there are. ``spelling`` is the name by which the file calls the
    operator where that is neither of its own.
    """
    made: Schema = {
        "$schema": DRAFT,
        "title": "A case file of opcli" + (f" for {operator.name}" if operator is not None else ""),
        "type": "object",
        "required": ["cases"],
        "additionalProperties": False,
        "patternProperties": {"^x-": {"description": "A home for YAML anchors."}},
        "properties": {
            "opcli": {"description": "The format's version.", "const": keys.VERSION},
            **{key: _BODY[key] for key in keys.INHERITED},
            "defaults": {**_maybe(ref("body")), "description": "What every case starts from, key by key."},
            "cases": {"type": "array", "minItems": 1, "items": ref("case")},
        },
        "$defs": _definitions(list(standards), operator, spelling),
    }
    if operator is not None:
        made["description"] = operator.summary or operator.signature.prototype()
    return made


def _definitions(standards: list[str], operator: Operator | None, spelling: str | None) -> dict[str, Schema]:
    body = {key: _BODY[key] for key in keys.BODY}
    return {
        "dollar": {
            "type": "string",
            "pattern": r"^\$[A-Za-z_][A-Za-z0-9_]*$",
            "description": "A name of matrix or zip.",
        },
        "case": {
            "type": "object",
            "additionalProperties": False,
            "properties": {
                "name": {"type": ["string", "integer"], "description": "Unique in the file."},
                **body,
            },
        },
        "body": {"type": "object", "additionalProperties": False, "properties": body},
        "operator": _operator(operator, spelling),
        "dtype": spelled(spellings(), before="".join(f"(?:{_any_case(p)})?" for p in PREFIXES)),
        "product": {
            "anyOf": [
                {"enum": list(PRODUCTS)},
                spelled(PRODUCTS)["anyOf"][1],
                spelled(SOC_PRODUCTS, after=".*")["anyOf"][1],
            ]
        },
        "sizes": {"type": "array", "items": or_name({"type": "integer", "minimum": 0, "maximum": 2**63 - 1})},
        "real": {"anyOf": [{"type": "number"}, spelled(_WORDS)]},
        "number": {"anyOf": [{"type": ["number", "boolean"]}, spelled(_WORDS)]},
        "values": {
            "description": "A number, a nested list, or a flat list; complex is [re, im].",
            "anyOf": [ref("number"), ref("dollar"), {"type": "array", "items": ref("values")}],
        },
        "element": {
            "anyOf": [
                ref("number"),
                ref("dollar"),
                {"type": "array", "minItems": 2, "maxItems": 2, "items": or_name(ref("number"))},
            ]
        },
        "generator": _generator(),
        "data": {"anyOf": [ref("values"), {"const": "permutation"}, ref("generator")]},
        "tensor": _tensor(keys.TENSOR),
        "view": {"anyOf": [_tensor(keys.VIEW), _ALIAS]},
        "one": {"anyOf": [ref("values"), {"const": "permutation"}, ref("tensor")]},
        "input": {
            "anyOf": [{"type": "null"}, ref("one"), {"type": "array", "items": ref("one")}],
            "description": "null, a number, a list, a tensor; a list of tensors for a tensor list.",
        },
        "output": {
            "anyOf": [
                {"type": "null"},
                ref("view"),
                ref("dollar"),
                {"type": "array", "items": _tensor(keys.VIEW)},
            ],
            "description": "Overrides what is inferred; null is the null pointer.",
        },
        "scalar": _scalar({"anyOf": [ref("element"), {"type": "array", "items": ref("element")}]}),
        "inputs": _inputs(operator),
        "outputs": _outputs(operator),
        "attrs": _attributes(operator),
        "got": _got(operator),
        "expect": _expect(operator),
        "status": _status(),
        "rule": _rule(standards),
        "rules": _rules(operator),
        "axes": {
            "type": "object",
            "minProperties": 1,
            "propertyNames": {"pattern": "^[A-Za-z_][A-Za-z0-9_]*$"},
            "additionalProperties": {"type": "array", "minItems": 1},
        },
    }


def _maybe(schema: Schema) -> Schema:
    """A section: nothing at all may stand under its key."""
    return {"anyOf": [{"type": "null"}, schema]}


_TEXT: Schema = {"type": "string", "minLength": 1}
_ALIAS: Schema = {
    "type": "object",
    "additionalProperties": False,
    "properties": {keys.ALIAS: {**_TEXT, "description": "The input whose memory the output shares."}},
    "required": [keys.ALIAS],
}
_POINT: Schema = {"type": "object", "minProperties": 1}

_BODY: dict[str, Schema] = {
    "op": {**or_name(ref("operator")), "description": "aclnnLogitGrad, logit_grad, or a type: ir:LogitGrad."},
    "description": {"type": ["string", "null"]},
    "product": {**or_name(ref("product")), "description": "Whose contract the host applies."},
    "standard": {**or_name(ref("rule")), "description": "The rule by which outputs are judged."},
    "seed": {
        **or_name({"type": "integer", "minimum": 0, "maximum": MAX_SEED}),
        "description": "Of random data.",
    },
    "tags": {"anyOf": [_TEXT, {"type": "array", "items": _TEXT}], "description": "Words for --tag and -k."},
    "only": {
        **or_name(
            {
                "type": "object",
                "additionalProperties": False,
                "properties": {
                    "product": or_name(ref("product"), {"type": "array", "items": or_name(ref("product"))}),
                    "backend": or_name({"enum": ["host", "device"]}),
                    "cann": or_name(
                        {"type": "number", "minimum": 0},
                        {"type": "string", "pattern": r"^\s*(>=|<=|==|!=|>|<)?\s*\d"},
                    ),
                },
            }
        ),
        "description": "Where the case applies; elsewhere it is skipped.",
    },
    "reference": {
        **_TEXT,
        "description": "An expression over the parameters, file.py:function, or golden.py.",
    },
    "signature": {**_TEXT, "description": "The C prototype of phase 1, or the path of a header."},
    "via": {
        **or_name({"enum": list(keys.WAYS)}),
        "description": "How a device calls it: through its aclnn function, or its kernel by type.",
    },
    "dtype": {**or_name(ref("dtype")), "description": "The short form: the dtype that the tensors follow."},
    "shape": {**or_name(ref("sizes")), "description": "The short form: the shape that the tensors follow."},
    "inputs": or_name(_maybe(ref("inputs"))),
    "attrs": or_name(_maybe(ref("attrs"))),
    "outputs": or_name(_maybe(ref("outputs"))),
    "got": or_name(_maybe(ref("got"))),
    "matrix": {**_maybe(ref("axes")), "description": "Name -> values: their product."},
    "zip": {**_maybe(ref("axes")), "description": "Name -> values of equal length that travel together."},
    "exclude": {
        "anyOf": [{"type": "null"}, _POINT, {"type": "array", "items": _POINT}],
        "description": "Points of the matrix that are left out.",
    },
    "known_issue": or_name(
        _TEXT,
        {
            "type": "object",
            "additionalProperties": False,
            "properties": {
                "reason": _TEXT,
                "expires": or_name({"type": "string", "pattern": r"^\d{4}-\d\d-\d\d$"}),
            },
        },
    ),
    "repeat": {
        **or_name({"type": "integer", "minimum": 1, "maximum": MAX_REPEAT}),
        "description": "Run so many times and demand identical bytes.",
    },
    "deterministic": or_name({"type": "boolean"}, {"type": "integer", "minimum": 0, "maximum": 2}),
    "expect": or_name(_maybe(ref("expect"))),
}


def _operator(operator: Operator | None, spelling: str | None) -> Schema:
    if operator is not None:
        return {
            "enum": list(
                dict.fromkeys([operator.short_name, operator.name, *([spelling] if spelling else [])])
            )
        }
    names = catalogued.names()
    # A header on a device may declare more than the catalog has.
    return {
        "anyOf": [
            {"enum": [*names, *names.values()]},
            {"type": "string", "pattern": r"^\s*(ir:)?[A-Za-z_]\w*\s*$"},
        ]
    }


def _generator() -> Schema:
    pair = {"type": "array", "minItems": 2, "maxItems": 2, "items": or_name(ref("real"))}
    many = {"type": "array", "minItems": 1, "items": ref("element")}
    forms: dict[str, Schema] = dict.fromkeys(values.GENERATOR_KEYS, pair)
    forms |= {"choice": many, "permutation": {}, values.FILE: _TEXT, values.EXPR: _TEXT}
    forms["integers"] = {**pair, "items": or_name({"type": "integer"})}
    kinds = {kind: or_name(form) if form else {} for kind, form in forms.items()}
    return {
        "type": "object",
        "description": "One way to make values, such as {uniform: [0, 1], specials: [nan]}.",
        "additionalProperties": False,
        "properties": {
            **kinds,
            "specials": or_name({"type": "array", "items": ref("element")}),
            values.TRANSPOSE: or_name({"type": "boolean"}),
        },
        "anyOf": [
            {"maxProperties": 1},
            {"maxProperties": 2, "required": ["specials"]},
            {"maxProperties": 3, "required": [values.FILE]},
        ],
    }


def _tensor(allowed: Iterable[str]) -> Schema:
    every: dict[str, Schema] = {
        "dtype": or_name(ref("dtype")),
        "shape": or_name(ref("sizes")),
        "layout": or_name({"enum": list(LAYOUTS)}),
        "strides": {**or_name(ref("sizes")), "description": "In elements."},
        "offset": or_name({"type": "integer", "minimum": 0, "maximum": 2**63 - 1}),
        "storage_shape": or_name(ref("sizes")),
        "format": or_name(spelled(keys.FORMATS, before=f"(?:{_any_case('ACL_FORMAT_')})?")),
        "data": ref("data"),
    }
    return {
        "type": "object",
        "additionalProperties": False,
        "properties": {key: every[key] for key in allowed},
        "not": {"required": ["layout", "strides"]},
    }


# --- sections, of any operator or of one ----------------------------------------------------------------------


def _named(schemas: Mapping[str, Schema] | None, otherwise: Schema) -> Schema:
    if schemas is None:
        return {"type": "object", "additionalProperties": otherwise}
    return {"type": "object", "additionalProperties": False, "properties": dict(schemas)}


def _about(operator: Operator, param: Param) -> str:
    """What an editor shows beside a parameter."""
    entry = catalogued.documented(operator.name)
    found = next((d for d in entry.params if d.param.name == param.name), None) if entry is not None else None
    said = [param.type]
    if found is not None and found.dtypes:
        said.append(", ".join(found.dtypes))
    if found is not None and found.ranks is not None:
        said.append(f"rank {found.ranks[0]} to {found.ranks[1]}")
    if param.name in operator.defaults:
        said.append(f"default {operator.defaults[param.name]}")
    return "; ".join(said)


def _inputs(operator: Operator | None) -> Schema:
    if operator is None:
        return _named(None, ref("input"))
    made = {p.name: {**_input(p), "description": _about(operator, p)} for p in operator.signature.inputs}
    return _named(made, ref("input"))


def _input(param: Param) -> Schema:
    if param.is_list:
        return or_name({"type": "null"}, {"type": "array", "items": ref("one")})
    return {"anyOf": [{"type": "null"}, ref("one")]}


def _outputs(operator: Operator | None) -> Schema:
    if operator is None:
        return _named(None, ref("output"))
    pure = [p for p in operator.signature.outputs if not p.is_input]
    one = or_name({"type": "null"}, ref("view"))
    forms = {p.name: ref("output") if p.is_list else one for p in pure}
    return _named({p.name: {**forms[p.name], "description": _about(operator, p)} for p in pure}, {})


def _attributes(operator: Operator | None) -> Schema:
    if operator is None:
        return _named(None, {"anyOf": [{"type": ["null", "string"]}, ref("values"), ref("scalar")]})
    params = operator.signature.attributes
    return _named({p.name: {**_attribute(p), "description": _about(operator, p)} for p in params}, {})


def _scalar(value: Schema) -> Schema:
    return {
        "type": "object",
        "additionalProperties": False,
        "properties": {"value": or_name(value), "dtype": or_name(ref("dtype"))},
    }


def _attribute(param: Param) -> Schema:
    elements: Schema = {"type": "array", "items": ref("element")}
    forms = {
        "aclScalar": (ref("element"), _scalar(ref("element"))),
        "aclScalarList": (elements, _scalar(elements)),
        "aclIntArray": ({"type": "array", "items": or_name(_integer("int64_t"))},),
        "aclFloatArray": ({"type": "array", "items": or_name(ref("real"))},),
        "aclBoolArray": ({"type": "array", "items": or_name({"type": "boolean"})},),
        "char": ({"type": "string"},),
        "aclDataType": (ref("dtype"),),
        "bool": ({"type": "boolean"},),
        "double": (ref("real"),),
        "float": (ref("real"),),
    }.get(param.type) or (_integer(param.type),)
    return or_name(*forms, *([{"type": "null"}] if param.is_pointer else []))


def _integer(kind: str) -> Schema:
    low, high = RANGES[kind]
    return {"type": "integer", "minimum": low, "maximum": high}


# --- what is expected -----------------------------------------------------------------------------------------


def _expect(operator: Operator | None) -> Schema:
    one: Schema = {
        "anyOf": [
            {"const": "ignore"},
            ref("values"),
            {"type": "object", "additionalProperties": False, "properties": {values.FILE: or_name(_TEXT)}},
        ]
    }
    value = {"anyOf": [*one["anyOf"], {"type": "array", "items": one}]}
    names = [p.name for p in operator.signature.outputs] if operator is not None else None
    return {
        "type": "object",
        "additionalProperties": False,
        "properties": {
            "status": or_name(ref("status")),
            "outputs": or_name(
                _maybe(_named(dict.fromkeys(names, value) if names is not None else None, value))
            ),
            "standard": or_name(ref("rule"), ref("rules")),
        },
    }


def _got(operator: Operator | None) -> Schema:
    file = {"type": "object", "additionalProperties": False, "properties": {values.FILE: or_name(_TEXT)}}
    one: Schema = {"anyOf": [ref("values"), file]}
    value = {"anyOf": [*one["anyOf"], {"type": "array", "items": one}]}
    names = [p.name for p in operator.signature.outputs] if operator is not None else None
    return {
        **_named(dict.fromkeys(names, value) if names is not None else None, value),
        "description": "Outputs that another machine has made: they are judged, nothing is run.",
    }


def _status() -> Schema:
    known = [code.code for code in codes.all_codes()]
    names = [name for code in codes.all_codes() for name in (code.name, *code.aliases)]
    code: Schema = {
        "anyOf": [
            {"enum": [*known, *names]},
            {"type": "string", "pattern": r"^\s*[+-]?[A-Za-z0-9_]+\s*$"},
        ]
    }
    return {
        "description": "A name or a number of a return code, or {code, phase, message}.",
        "anyOf": [
            code,
            {
                "type": "object",
                "additionalProperties": False,
                "properties": {
                    "code": or_name(code),
                    "phase": or_name({"enum": [1, 2, "1", "2", "sync"]}),
                    "message": {"type": "string", "description": "A regular expression."},
                },
            },
        ],
    }


def _rule(standards: list[str]) -> Schema:
    numbers = {
        "anyOf": [
            {"type": "null"},
            {"type": "object", "additionalProperties": or_name({"type": ["number", "string"]})},
        ]
    }
    return {
        "description": "A name, or a name with its numbers: {ulp: {max: 2}}.",
        "anyOf": [
            {"enum": standards},
            {
                "type": "object",
                "maxProperties": 1,
                "additionalProperties": False,
                "properties": dict.fromkeys(standards, or_name(numbers)),
            },
        ],
    }


def _rules(operator: Operator | None) -> Schema:
    rule = or_name(ref("rule"))
    if operator is None:
        return _named(None, rule)
    return _named({p.name: rule for p in operator.signature.outputs}, rule)
