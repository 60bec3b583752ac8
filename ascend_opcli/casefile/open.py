"""A path or a text -> its cases: YAML of our own, a manifest, or a file of another tool, told by its content."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

from ascend_opcli.casefile import read, yaml_text
from ascend_opcli.casefile.build import Declared, Setting
from ascend_opcli.casefile.expectations import CheckStandard
from ascend_opcli.casefile.loader import FOREIGN, STDIN, CaseFile, of_root
from ascend_opcli.casefile.tree import Mapping, Scalar, clip
from ascend_opcli.errors import CaseFileError, UsageError
from ascend_opcli.model import Where
from ascend_opcli.operators.products import product


def load_file(
    path: str | os.PathLike[str],
    *,
    check_standard: CheckStandard,
    product_default: str | None = None,
    seed_default: int | None = None,
    declared: Declared | None = None,
) -> CaseFile:
    """The cases of a file; ``-`` is standard input, whose data files lie in the current directory.

    ``product_default`` and ``seed_default`` serve cases that name none; ``declared`` gives the prototype that
    an installed header has for an operator, which counts before the catalog. Nothing of the file is executed.
    Raises CaseFileError, and nothing else, with the place of the first thing that does not fit.
    """
    name = os.fspath(path)
    if name.lower().endswith(FOREIGN):
        return _foreign(name, check_standard, product_default, seed_default, declared)
    if name == "-":
        name, data = STDIN, sys.stdin.buffer.read(yaml_text.MAX_BYTES + 1)
    else:
        data = _read(name, yaml_text.MAX_BYTES)
    text = yaml_text.decode(data, name)
    try:
        return load_text(
            text,
            name,
            check_standard=check_standard,
            product_default=product_default,
            seed_default=seed_default,
            declared=declared,
        )
    except CaseFileError:
        if not name.lower().endswith((".yaml", ".yml")) and _is_log(text):
            source = "-" if name == STDIN else name
            raise CaseFileError(
                f"{clip(name, 200)} is a log of calls, no case file: opcli cases import {clip(source, 200)} makes one"
            ) from None
        raise


def _is_log(text: str) -> bool:
    """Whether a text that is no case file has the heads of logged calls."""
    if re.search(r"^(?:op|cases|opcli):", text, re.MULTILINE):
        return False
    return re.search(r"\baclnn\w{1,100}\s+EXEC_\w|Entering function aclnn\w", text, re.ASCII) is not None


def _foreign(
    path: str,
    check_standard: CheckStandard,
    product_default: str | None,
    seed_default: int | None,
    declared: Declared | None,
) -> CaseFile:
    from ascend_opcli.casefile.files import case_formats  # YAML does without it

    chosen = _product(product_default)
    setting = Setting(path, Path(path).parent, check_standard, chosen, seed_default or 0, declared)
    cases = case_formats.load(path, setting)
    return CaseFile(path, tuple(dict.fromkeys(case.operator for case in cases)), cases)


def _product(word: str | None) -> str | None:
    try:
        return product(word) if word is not None else None
    except ValueError as error:
        raise UsageError(str(error)) from None


def _read(path: str, limit: int) -> bytes:
    try:
        if not os.path.isfile(path):
            said = "is not a file" if os.path.exists(path) else "does not exist"
            raise CaseFileError(f"{path} {said}")
        with open(path, "rb") as file:
            return file.read(limit + 1)
    except (OSError, ValueError) as error:
        raise CaseFileError(f"{clip(path)} cannot be read: {getattr(error, 'strerror', error)}") from None


def load_text(
    text: str,
    path: str,
    *,
    check_standard: CheckStandard,
    product_default: str | None = None,
    seed_default: int | None = None,
    declared: Declared | None = None,
) -> CaseFile:
    """The cases of a text; ``path`` stands in places and ids, and its folder holds the data files."""
    chosen = _product(product_default)
    root = yaml_text.parse(text, path)
    if root is None or (isinstance(root, Scalar) and root.value is None):
        raise CaseFileError("the file is empty; it needs op and cases", Where(path, 1, 1))
    folder = Path.cwd() if path == STDIN else Path(path).parent
    setting = Setting(path, folder, check_standard, chosen, seed_default or 0, declared)
    if isinstance(root, Mapping) and "schema" in root.entries:
        from ascend_opcli.casefile.files import manifest

        cases = manifest.of_node(root, path, setting)
        return CaseFile(path, tuple(dict.fromkeys(case.operator for case in cases)), cases)
    return of_root(read.mapping(root, "a case file"), setting)
