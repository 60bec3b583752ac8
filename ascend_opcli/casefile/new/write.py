"""Where a new case file comes from and goes to: a prototype or header, and a path that nothing stands at yet."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path

from ascend_opcli.casefile.loader import MAX_HEADER
from ascend_opcli.errors import SurroundingsError, UsageError
from ascend_opcli.operators.operator import Operator
from ascend_opcli.operators.signature import declarations
from ascend_opcli.reference.resolve import resolve

_DECLARED = re.compile(r"\b(aclnn\w+?)GetWorkspaceSize\s*\(", re.ASCII)


def declared(name: str, signature: str | None) -> Operator:
    """The operator of the catalog, or of a prototype or header. Raises UsageError with a sentence."""
    text = _text(signature) if signature is not None else None
    try:
        return resolve(name, signature=text)
    except ValueError as error:
        raise UsageError(f"--signature: {error}") from None


def prototypes(signatures: Sequence[str]) -> Callable[[str], str | None]:
    """What gives the prototype of an operator by its aclnn name, out of these texts and headers.

    Raises UsageError for one that cannot be read, or that declares no operator.
    """
    texts = [_text(signature) for signature in signatures]
    names = [set(_DECLARED.findall(declarations(text))) for text in texts]
    if not all(names):
        raise UsageError("--signature reads 'aclnnStatus aclnnNameGetWorkspaceSize(const aclTensor *x, ...)'")
    return lambda name: next((t for t, there in zip(texts, names, strict=True) if name in there), None)


def _text(signature: str) -> str:
    """A prototype, or the text of a header."""
    text = signature if "(" in signature else _header(Path(signature))
    if text.rfind("/*") > text.rfind("*/"):
        raise UsageError("--signature: a comment is never closed")
    return text


def _header(path: Path) -> str:
    try:
        with path.open("rb") as file:
            data = file.read(MAX_HEADER + 1)
    except (OSError, ValueError) as error:
        said = getattr(error, "strerror", None) or error
        raise UsageError(f"--signature is a C prototype or a header; {path} cannot be read: {said}") from None
    if len(data) > MAX_HEADER:
        raise UsageError(f"--signature: {path} is larger than {MAX_HEADER // 2**10} KiB")
    return data.decode("utf-8", "replace")


def write(path: Path, text: str) -> None:
    """Write a file that is not there yet. Raises UsageError where one is, SurroundingsError where none can be."""
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise UsageError(f"{path} is there already; opcli does not write over a file") from None
    except OSError as error:
        raise SurroundingsError(f"{path} cannot be written: {error.strerror}") from None
