"""References written in one line: NumPy's elementwise, reduction and layout functions over parameter names.

The text is parsed and walked by our own rules. Nothing outside the tables below can be named or called, there
are no attributes, and whole-number powers are taken in float64, so that no text can run away.
"""

from __future__ import annotations

import ast
import operator as op
from collections.abc import Callable, Collection, Mapping
from typing import Any

import numpy as np

from ascend_opcli.errors import did_you_mean

MAX_LENGTH = 4096
MAX_DEPTH = 64

_ELEMENTWISE = (
    "abs add arccos arccosh arcsin arcsinh arctan arctan2 arctanh cbrt ceil clip conj copysign cos cosh deg2rad"
    " divide equal exp exp2 expm1 fabs floor floor_divide fmax fmin fmod greater greater_equal hypot imag isfinite"
    " isinf isnan less less_equal log log10 log1p log2 logaddexp logical_and logical_not logical_or logical_xor"
    " maximum minimum mod multiply negative not_equal power rad2deg real reciprocal remainder rint sign signbit sin"
    " sinh sqrt square subtract tan tanh true_divide trunc where"
).split()
_REDUCTIONS = "all any amax amin argmax argmin cumprod cumsum max mean min prod std sum var".split()
_LAYOUT = "concatenate expand_dims flip matmul moveaxis reshape roll squeeze stack swapaxes transpose tril triu".split()

FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    name: getattr(np, name) for name in (*_ELEMENTWISE, *_REDUCTIONS, *_LAYOUT)
}
CONSTANTS: Mapping[str, float] = {"pi": np.pi, "e": np.e, "inf": np.inf, "nan": np.nan}

_BINARY: Mapping[type[ast.AST], Callable[[Any, Any], Any]] = {
    ast.Add: op.add,
    ast.Sub: op.sub,
    ast.Mult: op.mul,
    ast.Div: op.truediv,
    ast.FloorDiv: op.floordiv,
    ast.Mod: op.mod,
    ast.MatMult: op.matmul,
    ast.BitAnd: op.and_,
    ast.BitOr: op.or_,
    ast.BitXor: op.xor,
}
_UNARY: Mapping[type[ast.AST], Callable[[Any], Any]] = {
    ast.USub: op.neg,
    ast.UAdd: op.pos,
    ast.Invert: op.invert,
}
_COMPARE: Mapping[type[ast.AST], Callable[[Any, Any], Any]] = {
    ast.Lt: op.lt,
    ast.LtE: op.le,
    ast.Gt: op.gt,
    ast.GtE: op.ge,
    ast.Eq: op.eq,
    ast.NotEq: op.ne,
}


def _most(name: str) -> int:
    """How many arguments a function takes without names: NumPy's next one would be where to write."""
    if name in ("clip", "where", "moveaxis", "swapaxes", "roll"):
        return 3
    function = FUNCTIONS[name]
    return function.nin if isinstance(function, np.ufunc) else 2


_KEYWORDS = frozenset({"axis", "keepdims", "ddof", "axes", "shift", "k"})


def compile_expression(text: str, names: Collection[str]) -> Callable[..., Any]:
    """A function of keyword arguments that evaluates ``text`` over the parameters ``names``.

    Raises ValueError with one sentence where the text uses anything beyond the language.
    """
    if len(text) > MAX_LENGTH:
        raise ValueError(f"the reference is longer than {MAX_LENGTH} characters")
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise ValueError(
            f"the reference '{text}' is no expression: {error.args[0] if error.args else error}"
        ) from None
    _check(tree, frozenset(names), MAX_DEPTH)
    return lambda **values: _walk(tree, values)


def _check(node: ast.AST, names: frozenset[str], depth: int) -> None:
    if depth == 0:
        raise ValueError(f"the reference is nested deeper than {MAX_DEPTH}")
    match node:
        case ast.Constant(value=bool() | int() | float() | complex()):
            return
        case ast.Name(id=name):
            if name in FUNCTIONS and name not in names:
                raise ValueError(f"the reference names the function '{name}' without calling it")
            if name not in names and name not in CONSTANTS:
                known = [*names, *CONSTANTS, *FUNCTIONS]
                raise ValueError(
                    f"the reference names '{name}', which is no parameter{did_you_mean(name, known)}"
                )
            return
        case ast.BinOp(op=operation) if type(operation) in _BINARY or isinstance(operation, ast.Pow):
            pass
        case ast.UnaryOp(op=operation) if type(operation) in _UNARY:
            pass
        case ast.Compare(ops=[operation]) if type(operation) in _COMPARE:
            pass
        case ast.Compare(ops=[_]):
            raise ValueError(
                "the reference compares by 'in' or 'is', which are not part of the expression language"
            )
        case ast.Compare():
            raise ValueError("the reference chains compares; write (a < b) & (b < c)")
        case ast.IfExp() | ast.Tuple() | ast.List():
            pass
        case ast.Call(func=ast.Name(id=name), args=arguments, keywords=keywords):
            if name not in FUNCTIONS:
                raise ValueError(
                    f"the reference calls '{name}', which it cannot{did_you_mean(name, FUNCTIONS)}"
                )
            if len(arguments) > _most(name):
                raise ValueError(
                    f"the reference gives {name} {len(arguments)} arguments, it takes {_most(name)}"
                )
            for keyword in keywords:
                if keyword.arg not in _KEYWORDS:
                    raise ValueError(
                        f"the reference gives {name} the keyword '{keyword.arg}', which it cannot"
                    )
            for child in (*arguments, *(k.value for k in keywords)):
                _check(child, names, depth - 1)
            return
        case _:
            raise ValueError(
                f"the reference uses {type(node).__name__}, which is not part of the expression language"
            )
    for part in ast.iter_child_nodes(node):
        if isinstance(part, ast.expr):
            _check(part, names, depth - 1)


def _walk(node: ast.AST, values: Mapping[str, Any]) -> Any:
    match node:
        case ast.Constant(value=value):
            return value
        case ast.Name(id=name):
            return values[name] if name in values else CONSTANTS[name]
        case ast.BinOp(left=left, op=operation, right=right):
            a, b = _walk(left, values), _walk(right, values)
            if isinstance(a, tuple) or isinstance(b, tuple):
                # A tuple times a number would be as long as the number.
                raise ValueError("the reference calculates with a tuple; only functions take one")
            if isinstance(operation, ast.Pow):
                return np.power(float(a) if isinstance(a, int) else a, b)
            return _BINARY[type(operation)](a, b)
        case ast.UnaryOp(op=operation, operand=operand):
            return _UNARY[type(operation)](_walk(operand, values))
        case ast.Compare(left=left, ops=[operation], comparators=[right]):
            return _COMPARE[type(operation)](_walk(left, values), _walk(right, values))
        case ast.IfExp(test=test, body=body, orelse=orelse):
            return _walk(body if _walk(test, values) else orelse, values)
        case ast.Tuple(elts=items) | ast.List(elts=items):
            return tuple(_walk(item, values) for item in items)
        case ast.Call(func=ast.Name(id=name), args=arguments, keywords=keywords):
            positional = [_walk(a, values) for a in arguments]
            return FUNCTIONS[name](*positional, **{str(k.arg): _walk(k.value, values) for k in keywords})
    raise AssertionError(f"unchecked node {type(node).__name__}")  # _check admits nothing else
