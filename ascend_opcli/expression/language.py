"""Expressions in one line: NumPy's elementwise, reduction and layout functions over parameter names.

The text is parsed and walked by our own rules. Nothing outside :mod:`.functions` can be named or
called, there are no attributes and no indexing, and whole numbers in an array are raised to powers in float64. What a
step would give is worked out from shapes before it is done, so that no text can run away in time or memory.
"""

# More than 400 lines: one grammar: what is parsed is what is evaluated.
from __future__ import annotations

import ast
import contextlib
import math
import operator as op
from collections.abc import Callable, Collection, Iterator, Mapping
from contextvars import ContextVar
from typing import Any

import numpy as np

from ascend_opcli.errors import did_you_mean
from ascend_opcli.expression import shapes
from ascend_opcli.expression.functions import FUNCTIONS, WORDS, Function
from ascend_opcli.expression.shapes import Described, UnknownShape, shape_of
from ascend_opcli.model import Shape

MAX_LENGTH = 4096
MAX_DEPTH = 64
MAX_ITEMS = 1024
"""Parts of a list."""

LIVE_BYTES = 1 << 30
"""What the intermediate values of one evaluation may take at a time; LIVE_TIMES the inputs where those are large."""

LIVE_TIMES = 8
STEPS = 1 << 37
"""Steps of one evaluation, about a nanosecond each: two minutes."""

SMALL = 1 << 12
"""Elements of an array whose values are worked out to tell shapes; of larger ones the shape alone is told."""

SIZING_STEPS = 1 << 27
"""Steps for telling shapes; the cases of a file share them. Where they are used up, the run tells."""

SIZING_NODE = 1 << 10
"""Steps of looking at one part of an expression, whatever it is."""

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
_SLOW: Mapping[type[ast.AST], int] = {ast.Mod: 16, ast.FloorDiv: 16, ast.Pow: 4}
_INT64 = range(-(2**63), 2**63)


class _Sizing:
    """What is left of the steps for telling shapes."""

    def __init__(self) -> None:
        self.left = float(SIZING_STEPS)

    def spend(self, steps: float) -> None:
        self.left -= steps
        if self.left < 0:
            raise UnknownShape


_SIZING: ContextVar[_Sizing | None] = ContextVar("_SIZING", default=None)
_MEMORY: ContextVar[int | None] = ContextVar("_MEMORY", default=None)


@contextlib.contextmanager
def sized_together() -> Iterator[None]:
    """Inside, all questions for shapes share one number of steps: a file's cases take no longer than one may."""
    if _SIZING.get() is not None:
        yield
        return
    token = _SIZING.set(_Sizing())
    try:
        yield
    finally:
        _SIZING.reset(token)


@contextlib.contextmanager
def memory_bound(limit: int | None) -> Iterator[None]:
    """Inside, the intermediate values of an evaluation take no more than ``limit`` bytes, where one is given."""
    token = _MEMORY.set(limit)
    try:
        yield
    finally:
        _MEMORY.reset(token)


class Expression:
    """A checked text. Called with values by name it gives an array, a number, or a tuple of these.

    ``names`` are the parameters that it uses. Raises ValueError, in one sentence, for what it cannot work out.
    """

    def __init__(
        self, text: str, tree: ast.expr, names: frozenset[str], functions: Mapping[str, Function], what: str
    ) -> None:
        self.text = text
        self.what = what
        self.names = names
        self._tree, self._functions = tree, functions

    def __call__(self, /, **values: Any) -> Any:
        used = [values[name] for name in self.names if name in values]
        size = sum(
            a.nbytes for v in used for a in (v if isinstance(v, tuple) else (v,)) if hasattr(a, "nbytes")
        )
        most = max(LIVE_BYTES, LIVE_TIMES * size)
        limit = _MEMORY.get()
        most = most if limit is None else min(most, limit)
        return _Walk(self, values, self._functions, most).value(self._tree)

    def with_functions(self, functions: Mapping[str, Function]) -> Expression:
        """The same text with more functions behind its names."""
        return Expression(self.text, self._tree, self.names, {**self._functions, **functions}, self.what)

    def shapes(self, /, **values: Any) -> tuple[Shape, ...] | None:
        """The shapes of the results where ``values`` describes arrays by :class:`Described`.

        None where values decide that are not worked out for it: those of large arrays are not, and there is an end to
        the steps (see :func:`sized_together`). Raises ValueError where the shapes do not fit each other.
        """
        try:
            with np.errstate(all="ignore"):
                sizing = _SIZING.get() or _Sizing()
                made = _Walk(self, values, self._functions, LIVE_BYTES, sizing).value(self._tree)
        except UnknownShape:
            return None
        except (
            ArithmeticError,
            LookupError,
            TypeError,
            MemoryError,
        ) as error:  # small values are worked out here
            raise ValueError(f"{self.what}: {error}") from None
        return tuple(shape_of(v) for v in made) if self.several else (shape_of(made),)

    @property
    def several(self) -> bool:
        """Whether it gives a tuple, one result for each output."""
        return isinstance(self._tree, ast.Tuple)

    def elementwise(self, tensors: Collection[str]) -> bool:
        """Whether each element of each result hangs on one element of each of ``tensors`` and nothing else."""
        parts = self._tree.elts if isinstance(self._tree, ast.Tuple) else [self._tree]
        return bool(tensors) and all(
            {n.id for n in ast.walk(part) if isinstance(n, ast.Name)} >= set(tensors)
            and self._by_element(part, frozenset(tensors))
            for part in parts
        )

    def _by_element(self, node: ast.expr, tensors: frozenset[str]) -> bool:
        match node:
            case ast.Constant() | ast.Name():
                return True
            case ast.IfExp(test=test, body=body, orelse=orelse):
                asked = {n.id for n in ast.walk(test) if isinstance(n, ast.Name)}
                sides = (self._by_element(body, tensors), self._by_element(orelse, tensors))
                # A side that leaves a tensor out has another shape.
                whole = all(
                    {n.id for n in ast.walk(side) if isinstance(n, ast.Name)} >= tensors
                    for side in (body, orelse)
                )
                return not asked & tensors and all(sides) and whole
            case ast.Call(func=ast.Name(id=name), args=args, keywords=keywords):
                inner = [*args, *(k.value for k in keywords)]
                return self._functions[name].elementwise and all(self._by_element(a, tensors) for a in inner)
            case ast.BinOp(op=ast.MatMult()) | ast.Tuple() | ast.List():
                return False
        return all(
            self._by_element(c, tensors) for c in ast.iter_child_nodes(node) if isinstance(c, ast.expr)
        )


def compile_expression(
    text: str,
    names: Collection[str],
    *,
    what: str = "the reference",
    functions: Mapping[str, Function] = FUNCTIONS,
) -> Expression:
    """A function of keyword arguments that evaluates ``text`` over the parameters ``names``.

    Raises ValueError with one sentence where the text uses anything beyond the language; ``what`` is its subject.
    """
    if len(text) > MAX_LENGTH:
        raise ValueError(f"{what} is longer than {MAX_LENGTH} characters")
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise ValueError(
            f"{what} '{text}' is no expression: {error.args[0] if error.args else error}"
        ) from None
    _Check(frozenset(names), functions, what).node(tree, MAX_DEPTH)
    used = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name)} & set(names)
    return Expression(text.strip(), tree, frozenset(used), functions, what)


class _Check:
    """Whether a tree keeps to the language."""

    def __init__(self, names: frozenset[str], functions: Mapping[str, Function], what: str) -> None:
        self.names, self.functions, self.what = names, functions, what

    def node(self, node: ast.AST, depth: int) -> None:
        what = self.what
        if depth == 0:
            raise ValueError(f"{what} is nested deeper than {MAX_DEPTH}")
        match node:
            case ast.Constant(value=bool() | int() | float() | complex()):
                return
            case ast.Name(id=name):
                self.name(name)
                return
            case ast.BinOp(op=operation) if type(operation) in _BINARY or isinstance(operation, ast.Pow):
                pass
            case ast.UnaryOp(op=operation) if type(operation) in _UNARY:
                pass
            case ast.Compare(ops=[operation]) if type(operation) in _COMPARE:
                pass
            case ast.Compare(ops=[_]):
                raise ValueError(
                    f"{what} compares by 'in' or 'is', which are not part of the expression language"
                )
            case ast.Compare():
                raise ValueError(f"{what} chains compares; write (a < b) & (b < c)")
            case ast.IfExp():
                pass
            case ast.Tuple(elts=items) | ast.List(elts=items):
                if len(items) > MAX_ITEMS:
                    raise ValueError(f"{what} has a list of more than {MAX_ITEMS} parts")
            case ast.Call(func=ast.Name()):
                for child in self.call(node):
                    self.node(child, depth - 1)
                return
            case _:
                raise ValueError(
                    f"{what} uses {type(node).__name__}, which is not part of the expression language"
                )
        for part in ast.iter_child_nodes(node):
            if isinstance(part, ast.expr):
                self.node(part, depth - 1)

    def name(self, name: str) -> None:
        if name in self.names or name in CONSTANTS:
            return
        if name in self.functions:
            raise ValueError(f"{self.what} names the function '{name}' without calling it")
        known = [*self.names, *CONSTANTS, *self.functions]
        raise ValueError(f"{self.what} names '{name}', which is no parameter{did_you_mean(name, known)}")

    def call(self, node: ast.Call) -> Iterator[ast.expr]:
        """The arguments that are expressions themselves; what is text is looked at here."""
        assert isinstance(node.func, ast.Name)
        name, what = node.func.id, self.what
        if name not in self.functions:
            raise ValueError(f"{what} calls '{name}', which it cannot{did_you_mean(name, self.functions)}")
        function = self.functions[name]
        if len(node.args) > function.positional:
            raise ValueError(
                f"{what} gives {name} {len(node.args)} arguments, it takes {function.positional}"
            )
        for position, argument in enumerate(node.args):
            if name == "isnull" and not isinstance(argument, ast.Name):
                raise ValueError(f"{what} asks isnull of something that is no parameter")
            if name == "einsum" and position == 0:
                if not (isinstance(argument, ast.Constant) and isinstance(argument.value, str)):
                    raise ValueError(f"{what} gives einsum no text first, such as 'ij,jk->ik'")
                continue
            yield argument
        for keyword in node.keywords:
            if keyword.arg not in function.keywords:
                raise ValueError(f"{what} gives {name} the keyword '{keyword.arg}', which it cannot")
            if isinstance(keyword.value, ast.Constant) and isinstance(keyword.value.value, str):
                words = WORDS.get(keyword.arg, ())
                if keyword.value.value not in words:
                    known = f": known are {', '.join(sorted(words))}" if words else ""
                    raise ValueError(f"{what} gives {name} {keyword.arg}='{keyword.value.value}'{known}")
                continue
            yield keyword.value


class _Walk:
    """One evaluation, over arrays or, with ``sizing``, over shapes and what small values they hang on."""

    def __init__(
        self,
        expression: Expression,
        values: Mapping[str, Any],
        functions: Mapping[str, Function],
        most: int,
        sizing: _Sizing | None = None,
    ) -> None:
        self.what, self.values, self.functions, self.most = expression.what, values, functions, most
        self.sizing = sizing
        self.live = 0
        self.steps = 0.0

    def value(self, node: ast.AST) -> Any:
        match node:
            case ast.Constant(value=value):
                return _bounded(value)
            case ast.Name(id=name):
                return self.named(name)
            case ast.BinOp(left=left, op=operation, right=right):
                function = _power if isinstance(operation, ast.Pow) else _BINARY[type(operation)]
                rule = shapes.product if isinstance(operation, ast.MatMult) else shapes.elementwise
                weight = _SLOW.get(type(operation), 1)
                return self.applied(Function(function, rule, 2, weight=weight), [left, right], plain=True)
            case ast.UnaryOp(op=operation, operand=operand):
                return self.applied(
                    Function(_UNARY[type(operation)], shapes.elementwise, 1), [operand], plain=True
                )
            case ast.Compare(left=left, ops=[operation], comparators=[right]):
                rule = shapes.elementwise
                return self.applied(Function(_COMPARE[type(operation)], rule, 2), [left, right], plain=True)
            case ast.IfExp(test=test, body=body, orelse=orelse):
                decided = self.value(test)
                if isinstance(decided, Described):
                    raise UnknownShape
                return self.value(body if decided else orelse)
            case ast.Tuple(elts=items) | ast.List(elts=items):
                return tuple(self.value(item) for item in items)
            case ast.Call(func=ast.Name(id="isnull"), args=[ast.Name(id=name)]):
                return self.values.get(name) is None
            case ast.Call(func=ast.Name(id=name), args=arguments, keywords=keywords):
                return self.applied(self.functions[name], arguments, keywords)
        raise AssertionError(f"unchecked node {type(node).__name__}")  # _Check admits nothing else

    def named(self, name: str) -> Any:
        if name not in self.values:
            return CONSTANTS[name]
        value = self.values[name]
        if value is None:
            raise ValueError(f"{self.what} uses {name}, which is null here; isnull({name}) tells")
        return value

    def applied(
        self,
        function: Function,
        arguments: list[ast.expr],
        keywords: list[ast.keyword] | None = None,
        *,
        plain: bool = False,
    ) -> Any:
        """The result of a function, once it is known to be of a fair size."""
        before = self.live
        values = [self.text(a) for a in arguments]
        named = {str(k.arg): self.text(k.value) for k in keywords or ()}
        if plain and any(isinstance(v, tuple) for v in values):
            # A tuple times a number would be as long as the number.
            raise ValueError(f"{self.what} calculates with a tuple; only functions take one")
        if function.concrete:
            made = function.call(*values, **named)
        elif self.sizing is not None and self.only_shape(self.sizing, function, values, named):
            found = function.shape(*values, **named)
            made = tuple(Described(s) for s in found) if isinstance(found, list) else Described(found)
        else:
            self.afford(function, values, named)
            made = _bounded(function.call(*values, **named))
        self.live = before + _bytes(made)
        return made

    def text(self, node: ast.expr) -> Any:
        """An argument; text stands for itself where the check let it pass."""
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            return node.value
        return self.value(node)

    def only_shape(
        self, sizing: _Sizing, function: Function, values: list[Any], named: Mapping[str, Any]
    ) -> bool:
        """Whether the shape of a result will do: its values are not there, or too many to be worked out for that."""
        sizing.spend(SIZING_NODE)
        if function.drawn or any(_described(v) for v in (*values, *named.values())):
            return True
        count, steps = _measure(function, values, named)
        if count * 8 > self.most:
            return False  # no run could make it: it is refused
        if max([count, *map(_count, values)]) > SMALL or steps > SMALL * SMALL:
            return True
        sizing.spend(steps)
        return False

    def afford(self, function: Function, values: list[Any], named: Mapping[str, Any]) -> None:
        """Refuse a step whose result or work is beyond all measure, before it is done."""
        count, steps = _measure(function, values, named)
        wide = any(isinstance(v, complex) or getattr(v, "dtype", None) in _COMPLEX for v in values)
        if self.live + count * (16 if wide else 8) > self.most:
            raise ValueError(f"{self.what} needs more than {self.most:,} bytes for what it makes on the way")
        self.steps += steps
        if self.steps > STEPS:
            raise ValueError(f"{self.what} takes more than {STEPS:,} steps on inputs of this size")


def _measure(function: Function, values: list[Any], named: Mapping[str, Any]) -> tuple[int, float]:
    """The elements of a result, the most there can be where values decide, and the steps to it."""
    try:
        found = function.shape(*values, **named)
        count = sum(map(math.prod, found)) if isinstance(found, list) else math.prod(found)
    except UnknownShape as unknown:
        count = unknown.most or 0
    counts = {k: v for k, v in named.items() if k in ("n", "axis")}
    work = function.work(*values, **counts) if function.work is not None else 0.0
    return count, max(work, max([count, *map(_count, values)]) * function.weight)


_COMPLEX = (np.dtype(np.complex64), np.dtype(np.complex128))


def _described(value: Any) -> bool:
    return isinstance(value, Described) or (isinstance(value, tuple) and any(map(_described, value)))


def _count(value: Any) -> int:
    if isinstance(value, tuple):
        return sum(map(_count, value))
    return math.prod(shape_of(value))


def _bytes(value: Any) -> int:
    if isinstance(value, tuple):
        return sum(map(_bytes, value))
    return value.nbytes if isinstance(value, np.ndarray) else 0


def _bounded(value: Any) -> Any:
    """Python's whole numbers know no bound and NumPy would carry them as objects: beyond int64 they are floats."""
    if isinstance(value, int) and not isinstance(value, bool) and value not in _INT64:
        try:
            return float(value)
        except OverflowError:
            return math.inf if value > 0 else -math.inf
    return value


def _power(a: Any, b: Any) -> Any:
    """A power of whole numbers, not arrays, that int64 holds is one too: a shape may be told by it."""
    whole = all(isinstance(v, int) and not isinstance(v, bool) for v in (a, b))
    if whole and b >= 0 and (abs(a) <= 1 or b * abs(a).bit_length() <= 63):
        return a**b
    return np.power(float(a) if isinstance(a, int) else a, b)
