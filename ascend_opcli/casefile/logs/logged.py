"""A call as a log has it: its arguments as texts, read once the operator's signature is known."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ascend_opcli.casefile.files.positions import GivenArgument
from ascend_opcli.operators.signature import Param
from ascend_opcli.tensors.dtypes import canonical
from ascend_opcli.tensors.layout import resolve

OP_PLUGIN, PLOG = "op_plugin", "plog"
MAX_TEXT = 2**20
"""Characters of the parameters of one call."""

KINDS = {
    "aclTensor": "tensor",
    "aclTensorList": "tensors",
    "aclScalar": "scalar",
    "aclScalarList": "scalars",
    "aclIntArray": "array",
    "aclFloatArray": "array",
    "aclBoolArray": "array",
}
_LIST = re.compile(r"\[([^\[\]]*)\]")
_COMPLEX = re.compile(r"\(\s*([^(),\s]+)\s*,\s*([^(),\s]+)\s*\)")
_WHOLE = re.compile(r"[-+]?[0-9]{1,30}", re.ASCII)
_C10 = re.compile(r"c10::|at::|std::|\s*<(?:double|float)>\s*")
_WORDS = {
    "signed char": "int8",
    "unsigned char": "uint8",
    "char": "int8",
    "byte": "uint8",
    "long int": "int64",
    "long long": "int64",
    "unsigned short": "uint16",
    "unsigned int": "uint32",
    "unsigned long": "uint64",
    "complexfloat": "complex64",
    "complexdouble": "complex128",
}


class Lost(Exception):
    """The log does not show an argument; the message says why."""


@dataclass(frozen=True, slots=True)
class Part:
    """One argument: the name and the text that the log gives it. ``detail`` is op-plugin's second record."""

    name: str
    text: str
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Logged:
    """One call. ``source`` says who wrote it; ``outputs`` counts the last parts that plog lists as outputs.

    ``lost`` says why the call as a whole is not complete. ``stream`` is the process that wrote it, where lines say so.
    """

    operator: str
    line: int
    source: str
    parts: tuple[Part, ...]
    outputs: int = 0
    lost: str = ""
    stream: str = ""


def dtype_of(word: str) -> str:
    """The dtype of torch's C++ words, of its ScalarTypes and of CANN's. Raises ValueError."""
    bare = " ".join(word.split())
    if "complex<" in bare:
        return "complex64" if "float" in bare else "complex128"
    bare = _C10.sub("", bare).strip()
    return canonical(_WORDS.get(bare.casefold(), bare))


def sizes(text: str) -> list[int]:
    """``[2, 3]`` -> the numbers; Lost where it is anything else."""
    found = _LIST.fullmatch(text.strip())
    words = [w.strip() for w in found[1].split(",")] if found is not None and found[1].strip() else []
    if found is None or not all(_WHOLE.fullmatch(w) for w in words):
        raise Lost(f"'{text[:40]}' is no list of sizes")
    return [int(w) for w in words]


def number(text: str) -> Any:
    """A number as C++ streams print one; ``[re, im]`` for a complex one. Lost where it is none."""
    bare = text.strip()
    if bare in ("true", "false"):
        return bare == "true"
    if _WHOLE.fullmatch(bare):
        return int(bare)
    pair = _COMPLEX.fullmatch(bare)
    try:
        if pair is not None:
            return [float(pair[1]), float(pair[2])]
        if len(bare) <= 64 and "_" not in bare:
            return float(bare)
    except ValueError:
        pass
    raise Lost(f"'{bare[:40]}' is no number")


def as_dtype(value: Any, dtype: str) -> Any:
    """A logged number of that dtype: bool is printed as 0 or 1, a whole double without a point."""
    if isinstance(value, list):
        return value
    if dtype == "bool":
        return bool(value)
    if dtype.startswith(("int", "uint")):
        return int(value) if float(value).is_integer() else value
    return float(value)


def tensor(
    shape: Sequence[int],
    strides: Sequence[int],
    offset: int,
    dtype: str,
    *,
    format: str | None,
    storage: Sequence[int] | None = None,
) -> dict[str, Any]:
    """A tensor in the grammar of case files; what is contiguous stays short.

    ``format`` is None where the log has none.
    """
    made: dict[str, Any] = {"dtype": dtype, "shape": list(shape)}
    if list(strides) != list(resolve(shape)[0]):
        made["strides"] = list(strides)
    if offset:
        made["offset"] = offset
    if storage is not None:
        made["storage_shape"] = list(storage)
    if format is not None:
        made["format"] = format
    return made


def null(param: Param) -> GivenArgument:
    """A null pointer of the parameter's kind."""
    return GivenArgument("", KINDS.get(param.type, "value"), None)
