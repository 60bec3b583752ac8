"""Operators that a case brings itself: a signature, and a reference as an expression or a function."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import importlib.util
import re
import sys
from pathlib import Path
from typing import Any

from ascend_opcli.model import Case
from ascend_opcli.operators.catalog import UnknownOperator, find
from ascend_opcli.operators.expression import compile_expression
from ascend_opcli.operators.operator import Operator, Reference, snake
from ascend_opcli.operators.signature import find as find_signature

_CODE = re.compile(r"^(?P<file>[^:]+\.py):(?P<function>[A-Za-z_]\w*)$")


def is_code(reference: str) -> bool:
    """Whether a reference is ``file.py:function`` rather than an expression."""
    return _CODE.match(reference) is not None


def resolve(name: str, *, signature: str | None = None, reference: str | None = None) -> Operator:
    """The operator of a case: built in, or made of the signature (prototype or header text) that the case brings.

    A reference of the case replaces the built-in one. One that is code is left out here: see
    :func:`with_code`. Raises ValueError with a sentence, UnknownOperator where nothing has the name.
    """
    operator = _from_signature(name, signature) if signature is not None else find(name)
    if reference is None:
        return operator
    plain = dataclasses.replace(
        operator,
        reference=None,
        rounds_to=None,
        branches=None,
        either=None,
        flat_like={},
        elementwise=False,
        held={},
        divergences=(),
    )
    if is_code(reference):
        return plain
    names = [p.name for p in operator.signature.params if p.io != "out"]
    return dataclasses.replace(plain, reference=compile_expression(reference, names), formula=reference)


def _from_signature(name: str, text: str) -> Operator:
    try:
        known = find(name)
    except UnknownOperator:
        known = None
    if name.startswith("aclnn"):
        full = name
    else:
        spelled = [n for n in re.findall(r"\b(aclnn\w+?)GetWorkspaceSize", text) if snake(n) == name]
        full = known.name if known is not None else (spelled[0] if spelled else "aclnn" + name)
    parsed = find_signature(text, full, io={p.name: p.io for p in known.signature.params} if known else None)
    if known is not None and [(p.name, p.type) for p in parsed.params] == [
        (p.name, p.type) for p in known.signature.params
    ]:
        return known
    return Operator(name=full, signature=parsed, reference=None, custom=True, declared=True)


def operator_of(case: Case, *, allow_code: bool = False) -> Operator:
    """The operator of a loaded case; a reference that is code is imported only when that is allowed."""
    operator = resolve(case.operator, signature=case.signature, reference=case.reference)
    if allow_code and case.reference is not None and is_code(case.reference):
        return with_code(operator, case.reference, Path(case.path).resolve().parent)
    return operator


def with_code(operator: Operator, reference: str, folder: Path) -> Operator:
    """The operator with the function that ``file.py:function`` names, a file inside ``folder``.

    Raises ValueError where the file lies outside, is missing or has no such function.
    """
    match = _CODE.match(reference)
    if match is None:
        raise ValueError(f"'{reference}' is not file.py:function")
    path = (folder / match["file"]).resolve()
    if not path.is_relative_to(folder.resolve()):
        raise ValueError(f"the reference {match['file']} lies outside the case file's folder")
    if not path.is_file():
        raise ValueError(f"the reference file {match['file']} does not exist")
    return dataclasses.replace(operator, reference=_import(path, match["function"]), formula=reference)


def _import(path: Path, function: str) -> Reference:
    spec = importlib.util.spec_from_file_location(f"opcli_reference_{path.stem}", path)
    if spec is None or spec.loader is None:
        raise ValueError(f"{path.name} cannot be imported")
    module = importlib.util.module_from_spec(spec)
    try:
        with contextlib.redirect_stdout(sys.stderr):
            spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        raise ValueError(f"{path.name} cannot be imported: {type(error).__name__}: {error}") from None
    found = getattr(module, function, None)
    if not callable(found):
        raise ValueError(f"{path.name} has no function {function}")
    return _aside(found)


def _aside(function: Reference) -> Reference:
    """The function with what it prints on stderr: stdout belongs to the report."""

    @functools.wraps(function)
    def run(*args: Any, **kwargs: Any) -> Any:
        with contextlib.redirect_stdout(sys.stderr):
            return function(*args, **kwargs)

    return run
