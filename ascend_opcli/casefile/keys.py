"""The grammar of keys: which key stands where."""

from __future__ import annotations

from collections.abc import Iterable

from ascend_opcli.casefile.read import hint
from ascend_opcli.casefile.tree import Mapping, clip
from ascend_opcli.errors import CaseFileError

VERSION = 1

INHERITED = (
    "op",
    "description",
    "product",
    "standard",
    "seed",
    "tags",
    "only",
    "reference",
    "signature",
    "via",
)
"""Keys of the file that a case takes over whole where it has none of its own."""

BODY = (
    *INHERITED,
    "dtype",
    "shape",
    "inputs",
    "attrs",
    "outputs",
    "got",
    "matrix",
    "zip",
    "exclude",
    "known_issue",
    "repeat",
    "deterministic",
    "expect",
)

EXPANSION = ("matrix", "zip", "exclude")
LABELS = ("name", "description")
"""Keys in which ``$name`` is text."""

LEVELS: dict[str, tuple[str, ...]] = {
    "the file": ("opcli", *INHERITED, "defaults", "cases"),
    "defaults": BODY,
    "a case": ("name", *BODY),
    "expect": ("status", "outputs", "standard"),
    "expect.status": ("code", "phase", "message"),
    "only": ("product", "backend", "cann"),
    "known_issue": ("reason", "expires"),
}

WAYS = ("aclnn", "ir")
"""How a device calls an operator: through its aclnn function, or its kernel by type."""

VIEW = ("dtype", "shape", "layout", "strides", "offset", "storage_shape", "format")
"""Keys of an output."""
ALIAS = "alias"
"""The one key of an output that shares an input's memory."""
TENSOR = (*VIEW, "data")
SCALAR = ("value", "dtype")

FORMATS = (
    "ND",
    "NCHW",
    "NHWC",
    "HWCN",
    "NC1HWC0",
    "FRACTAL_Z",
    "NC1HWC0_C04",
    "NDHWC",
    "FRACTAL_NZ",
    "NCDHW",
    "NDC1HWC0",
    "FRACTAL_Z_3D",
    "NC",
    "NCL",
)
"""aclFormat without its prefix."""


def check(mapping: Mapping, level: str) -> None:
    """Refuse a key that does not belong to this level, with the nearest that does or its right place."""
    known = LEVELS[level]
    for key in mapping.entries:
        if key in known or (level == "the file" and key.startswith("x-")):
            continue
        others = [name for name, keys in LEVELS.items() if key in keys and name != "defaults"]
        if others:
            raise mapping.key_error(key, f"'{key}' is no key of {level}; it belongs in {' or '.join(others)}")
        raise unknown(mapping, key, known, f"key of {level}")


def only(mapping: Mapping, known: Iterable[str], what: str) -> None:
    """Refuse a key that is not among ``known``; ``what`` says what a key is here."""
    for key in mapping.entries:
        if key not in known:
            raise unknown(mapping, key, known, what)


def unknown(mapping: Mapping, key: str, known: Iterable[str], what: str) -> CaseFileError:
    """The error of a name that is not among ``known``."""
    known = list(known)
    otherwise = f"; known are {', '.join(known)}" if known else ""
    return mapping.key_error(key, f"unknown {what}: '{clip(key)}'{hint(key, known, otherwise=otherwise)}")
