"""Operators that a case brings itself: a signature, and a reference as an expression or a function."""

from __future__ import annotations

import dataclasses
import math
import re
from pathlib import Path
from typing import Any

from ascend_opcli.expression.language import Expression, compile_expression
from ascend_opcli.expression.shapes import Described
from ascend_opcli.model import Argument, Case, Shape, TensorSpec
from ascend_opcli.operators.arguments import Arguments, first_spec
from ascend_opcli.operators.catalog import UnknownOperator, find
from ascend_opcli.operators.documents.by_type import is_type
from ascend_opcli.operators.operator import Operator, OutputRule, snake
from ascend_opcli.operators.signature import find as find_signature
from ascend_opcli.reference import code
from ascend_opcli.tensors.layout import MAX_ELEMENTS


class BadReference(ValueError):
    """A reference of a case that is no expression of the language."""


def is_code(reference: str) -> bool:
    """Whether a reference is ``file.py:function`` or a golden.py rather than an expression."""
    return code.parts(reference) is not None


def resolve(name: str, *, signature: str | None = None, reference: str | None = None) -> Operator:
    """The operator of a case: built in, or made of the signature (prototype or header text) that the case brings.

    A reference of the case replaces the built-in one. One that is code is left out here: see
    :func:`with_code`. Raises ValueError with a sentence, UnknownOperator where nothing has the name.
    """
    try:
        operator = _from_signature(name, signature) if signature is not None else find(name)
    except UnknownOperator as error:
        if reference is None or is_type(name):
            raise
        own = "; an operator of your own needs its C prototype under signature"
        raise UnknownOperator(f"{error}{own}") from None
    if reference is None:
        return operator
    plain = dataclasses.replace(
        operator,
        reference=None,
        rounds_to=None,
        branches=None,
        ambiguous=None,
        flat_like={},
        elementwise=False,
        attribute_dtypes={},
        divergences=(),
        own=reference,
        # Who has a reference of ours has rules for its outputs too.
        open_outputs=operator.reference is None,
        outputs=operator.outputs if operator.reference is not None else {},
    )
    if is_code(reference):
        return plain
    try:
        made = compile_expression(reference, [p.name for p in operator.signature.params if p.io != "out"])
    except ValueError as error:
        raise BadReference(str(error)) from error
    inputs = operator.signature.inputs
    return dataclasses.replace(
        plain,
        reference=made,
        formula=reference,
        outputs=_output_rules(made, plain) if plain.open_outputs else plain.outputs,
        elementwise=made.elementwise([p.name for p in inputs]) and not any(p.is_list for p in inputs),
    )


def _from_signature(name: str, text: str) -> Operator:
    if is_type(name):
        raise ValueError(
            f"{name} is called by its type, whose parameters its registration names: leave out signature"
        )
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
    """The operator with the function that ``file.py:function`` or ``golden.py`` names, a file inside ``folder``.

    Raises ValueError where the file lies outside, is missing or has no such function.
    """
    function, remarks = code.load(reference, folder, operator)
    return dataclasses.replace(operator, reference=function, formula=reference, remarks=remarks)


def _output_rules(expression: Expression, operator: Operator) -> dict[str, OutputRule]:
    """The shapes of an expression's results, and the first tensor's dtype."""
    inputs, outputs = operator.signature.inputs, operator.signature.outputs

    def rule(place: int) -> OutputRule:
        def one(arguments: Arguments) -> tuple[str, Shape] | None:
            first = next((s for p in inputs if (s := first_spec(arguments.get(p.name))) is not None), None)
            try:
                made = expression.shapes(
                    **{name: _described(arguments.get(name)) for name in expression.names}
                )
            except (ValueError, TypeError):  # shapes that do not fit each other: the run says so
                return None
            if first is None or made is None or len(made) != len(outputs):
                return None
            if math.prod(made[place]) > MAX_ELEMENTS:  # the run says that it would be too large
                return None
            return first.dtype, made[place]

        return one

    return {p.name: rule(i) for i, p in enumerate(outputs) if p.io == "out" and not p.is_list}


def _described(argument: Argument) -> Any:
    """A tensor by its shape, an attribute by its value."""
    if isinstance(argument, tuple):
        return tuple(Described(spec.shape) for spec in argument)
    if isinstance(argument, TensorSpec):
        return Described(argument.shape)
    return argument.value if argument is not None else None
