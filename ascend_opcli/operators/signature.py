"""An operator's ordered C parameters, read from its GetWorkspaceSize prototype."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass

TENSOR_TYPES = frozenset({"aclTensor", "aclTensorList"})
POINTER_TYPES = TENSOR_TYPES | {
    "aclScalar",
    "aclScalarList",
    "aclIntArray",
    "aclFloatArray",
    "aclBoolArray",
    "char",
}
VALUE_TYPES = frozenset(
    {"double", "float", "int64_t", "int32_t", "int", "int8_t", "uint64_t", "uint32_t", "bool", "aclDataType"}
)


@dataclass(frozen=True, slots=True)
class Param:
    """One parameter of phase 1. ``type`` is the C type without const and pointer, ``io`` in, out or inout."""

    name: str
    type: str
    io: str
    optional: bool = False
    const: bool = True

    @property
    def is_tensor(self) -> bool:
        """Whether tensors are passed here, one or a list."""
        return self.type in TENSOR_TYPES

    @property
    def is_list(self) -> bool:
        """Whether this is an aclTensorList."""
        return self.type == "aclTensorList"

    @property
    def is_pointer(self) -> bool:
        """Whether null can be passed; a plain C value cannot be null."""
        return self.type in POINTER_TYPES

    @property
    def is_input(self) -> bool:
        """Whether the caller's content is read (inout included)."""
        return self.io != "out"

    @property
    def is_output(self) -> bool:
        """Whether the operator writes it (inout included)."""
        return self.io != "in"

    @property
    def c_type(self) -> str:
        """The type as it stands in a prototype."""
        if not self.is_pointer:
            return self.type
        return f"{'const ' if self.const else ''}{self.type} *"


@dataclass(frozen=True, slots=True)
class Signature:
    """The aclnn name and the parameters of an operator, without the workspace size and the executor."""

    name: str
    params: tuple[Param, ...]

    def __getitem__(self, name: str) -> Param:
        for param in self.params:
            if param.name == name:
                return param
        raise KeyError(name)

    @property
    def inputs(self) -> tuple[Param, ...]:
        """Tensor parameters that the operator reads, inout included, in order."""
        return tuple(p for p in self.params if p.is_tensor and p.is_input)

    @property
    def outputs(self) -> tuple[Param, ...]:
        """Tensor parameters that the operator writes, inout included, in order."""
        return tuple(p for p in self.params if p.is_tensor and p.is_output)

    @property
    def attributes(self) -> tuple[Param, ...]:
        """Every parameter that is no tensor, in order."""
        return tuple(p for p in self.params if not p.is_tensor)

    def prototype(self) -> str:
        """The C prototype of phase 1."""
        args = [f"{p.c_type}{'' if p.c_type.endswith('*') else ' '}{p.name}" for p in self.params]
        args += ["uint64_t *workspaceSize", "aclOpExecutor **executor"]
        return f"aclnnStatus {self.name}GetWorkspaceSize({', '.join(args)})"


_PROTOTYPE = re.compile(r"\b(aclnn\w+?)GetWorkspaceSize\s*\(([^()]*)\)", re.ASCII)
# A comment that is never closed reaches to the end, a literal to the end of its line: the text is then read once,
# not from every opening again.
_ASIDE = re.compile(
    r"""/\*.*?(?:\*/|\Z)|//(?:\\\r?\n|[^\n])*|"(?:\\.|[^"\\\n])*"?|'(?:\\.|[^'\\\n])'""", re.DOTALL
)
_DIRECTIVE = re.compile(r"\s*#\s*(?P<word>\w*)\s*(?P<rest>.*)")
_ARGUMENT = re.compile(r"^(?P<type>.+?)(?P<stars>[\s*&]+)(?P<name>[A-Za-z_]\w*)$", re.DOTALL | re.ASCII)


def declarations(text: str) -> str:
    """C text without what declares nothing: comments, literals, preprocessor lines and what stands under ``#if 0``.

    A name in one of those is no prototype, and must not be taken for one.
    """
    bare = _ASIDE.sub(lambda found: '""' if found[0][0] == '"' else " ", text)
    if "#" not in bare:
        return bare
    kept: list[str] = []
    left_out = 0  # how many conditions deep, counted from an #if 0
    for line in re.sub(r"\\\r?\n", " ", bare).split("\n"):
        directive = _DIRECTIVE.match(line)
        word = directive["word"] if directive is not None else ""
        if left_out:
            if word.startswith("if"):
                left_out += 1
            elif word == "endif" or (left_out == 1 and word in ("else", "elif")):
                left_out -= 1
        elif directive is None:
            kept.append(line)
        elif word == "if" and directive["rest"].strip() == "0":
            left_out = 1
    return "\n".join(kept)


def find(text: str, name: str, *, io: Mapping[str, str] | None = None) -> Signature:
    """The signature of ``name`` in a prototype or a header's text, the first that can be read: a call of the
    operator may stand in front of its prototype.

    Raises ValueError where the text has no such prototype, or none that can be called.
    """
    seen: list[str] = []
    refused: ValueError | None = None
    for match in _PROTOTYPE.finditer(declarations(text)):
        if match[1] != name:
            seen.append(match[1])
            continue
        try:
            return Signature(name, _params(match[2], io or {}))
        except ValueError as error:
            refused = refused or error
    if refused is not None:
        raise refused
    there = f"; it declares {', '.join(sorted(set(seen))[:5])}" if seen else ""
    raise ValueError(f"no prototype of {name}GetWorkspaceSize in the signature{there}")


def parse(
    prototype: str, *, io: Mapping[str, str] | None = None, optional: Collection[str] = ()
) -> Signature:
    """The signature that a prototype declares.

    ``io`` corrects what the prototype cannot say: an output that is declared const, an input that is not.
    """
    match = _PROTOTYPE.search(declarations(prototype))
    if match is None:
        raise ValueError("a signature reads 'aclnnStatus aclnnNameGetWorkspaceSize(const aclTensor *x, ...)'")
    return Signature(match[1], _params(match[2], io or {}, optional))


def _params(text: str, io: Mapping[str, str], optional: Collection[str] = ()) -> tuple[Param, ...]:
    params: list[Param] = []
    # A hand-written entry declares its outputs without const; a generated one has const throughout.
    by_name = re.search(r"(?<!const )\baclTensor(List)?\s*\*", text) is None
    for argument in (" ".join(part.split()) for part in text.split(",")):
        match = _ARGUMENT.match(argument)
        if match is None:
            raise ValueError(f"cannot read the parameter '{argument}' of the signature")
        name, words, stars = match["name"], match["type"].split(), match["stars"].count("*")
        const = "const" in words
        kind = " ".join(w for w in words if w not in ("const", "struct", "enum")).removeprefix("op::")
        if name in ("workspaceSize", "executor"):
            continue
        kind = {"int64": "int64_t", "size_t": "uint64_t", "uint64": "uint64_t"}.get(kind, kind)
        if kind not in POINTER_TYPES | VALUE_TYPES or (kind in POINTER_TYPES) != (stars == 1):
            raise ValueError(f"the parameter '{argument}' of the signature has a type that opcli cannot pass")
        way = io.get(name) or (_way(name, const, by_name) if kind in TENSOR_TYPES else "in")
        params.append(Param(name, kind, way, name in optional or name.endswith("Optional"), const))
    if not params:
        raise ValueError("the signature declares no parameter")
    if by_name and not any(p.is_output and p.is_tensor for p in params):
        # A generated entry has its inputs first, then its attributes, its outputs last.
        attributes = [i for i, p in enumerate(params) if not p.is_tensor]
        first = attributes[-1] + 1 if attributes and attributes[-1] + 1 < len(params) else len(params) - 1
        if any(p.is_tensor for p in params[:first]):
            params[first:] = [dataclasses.replace(p, io="out") if p.is_tensor else p for p in params[first:]]
    if not any(p.is_output and p.is_tensor for p in params):
        raise ValueError(
            "the signature shows no output: an output is declared without const, or its name is out or ends in Out"
        )
    return tuple(params)


def _way(name: str, const: bool, by_name: bool) -> str:
    """In, out or inout: by the suffixes Ref and Out of generated entries, else by const."""
    bare = name.removesuffix("Optional")
    if bare.endswith("Ref"):
        return "inout"
    if by_name:
        return "out" if bare == "out" or bare.endswith("Out") else "in"
    return "in" if const else "out"
