"""What fills a tensor, as written: a number, a list, a generator or a file."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import cast

from ascend_opcli.casefile import keys, read
from ascend_opcli.casefile.tree import Mapping, Node, Scalar, Sequence, clip
from ascend_opcli.model import Data, Derived, Fill, FromFile, Generator, Number, Shape, Values
from ascend_opcli.tensors import data as tensor_data
from ascend_opcli.tensors.generators import GENERATORS

KINDS: tuple[str, ...] = tuple(GENERATORS)
FILE = "file"
EXPR = "expr"
GENERATOR_KEYS = (*(k for k in KINDS if k != FILE), FILE, EXPR)
"""Every key that says how data come about."""

_SPECIALS = "specials"
TRANSPOSE = "transpose"
"""Beside ``file``: its last two axes are swapped."""
_WORDS = {
    f"{sign}{dot}{word}": value
    for sign, factor in (("", 1.0), ("+", 1.0), ("-", -1.0))
    for dot in ("", ".")
    for word, value in (("inf", factor * math.inf), ("nan", math.nan))
}
_EXACT = (int, float)
_FORM = "a number, a list, or a generator such as {uniform: [0, 1]}"


def number(node: Node, what: str) -> bool | int | float:
    """A number; ``nan``, ``inf`` and ``-inf`` are numbers here, quoted or not."""
    value = node.value if isinstance(node, Scalar) else None
    if value is None:
        raise node.error(f"{what} must be a number, not {node.kind}")
    if isinstance(value, str):
        found = _WORDS.get(value.casefold())
        if found is None:
            near = read.hint(value, ("nan", "inf", "-inf"))
            raise node.error(f"{what} must be a number, not {node.kind}{near}")
        return found
    return value


def element(node: Node, what: str, is_complex: bool) -> Number:
    """A number, or ``[re, im]`` where the dtype is complex."""
    if is_complex and isinstance(node, Sequence):
        if len(node.items) != 2:
            raise node.error(f"a complex number is [re, im], not a list of {len(node.items)}")
        return complex(*(float(number(item, what)) for item in node.items))
    if isinstance(node, Sequence):
        raise node.error(f"{what} must be a number, not a list")
    return number(node, what)


def is_number(node: Scalar) -> bool:
    """Whether :func:`number` takes it."""
    return node.value is not None and (not isinstance(node.value, str) or node.value.casefold() in _WORDS)


# --- lists --------------------------------------------------------------------------------------------------


def is_leaf(node: Node, is_complex: bool) -> bool:
    """Whether the node is one element: a scalar, or a pair of scalars where the dtype is complex."""
    if isinstance(node, Scalar):
        return True
    return (
        is_complex
        and isinstance(node, Sequence)
        and len(node.items) == 2
        and all(isinstance(item, Scalar) for item in node.items)
    )


def leaves(node: Node, dtype: str) -> Iterator[Node]:
    """The elements of what is written, in row-major order."""
    stack = [node]
    while stack:
        top = stack.pop()
        if isinstance(top, Sequence) and not is_leaf(top, dtype.startswith("complex")):
            stack.extend(reversed(top.items))
        else:
            yield top


def shape_of(node: Node, is_complex: bool = False) -> Shape:
    """The shape of a nested list by its first elements; () for a number."""
    shape: list[int] = []
    while isinstance(node, Sequence):
        if is_leaf(node, is_complex) and shape:
            break
        shape.append(len(node.items))
        if not node.items:
            break
        node = node.items[0]
    return tuple(shape)


def dtype_of(node: Node) -> str:
    """float32 for reals, int64 for whole numbers, bool where every value is true or false."""
    found = set()
    stack = [node]
    while stack:
        top = stack.pop()
        if isinstance(top, Sequence):
            stack.extend(top.items)
        elif isinstance(top, Scalar):
            found.add(type(top.value))
    if found and found <= {bool}:
        return "bool"
    return "int64" if found and found <= {int, bool} else "float32"


def literal(node: Node, shape: Shape, is_complex: bool, what: str) -> Data:
    """A number that fills the shape, a nested list of it, or a flat row-major list of as many values."""
    if isinstance(node, Scalar):
        return Fill(number(node, what))
    assert isinstance(node, Sequence)
    count = math.prod(shape)
    if all(is_leaf(item, is_complex) for item in node.items):
        if len(node.items) != count and is_leaf(node, is_complex):
            return Fill(element(node, what, is_complex))
        if len(node.items) == count or not any(isinstance(item, Sequence) for item in node.items):
            return _flat(node, shape, count, is_complex, what)
    made: list[Number] = []
    _nested(node, shape, 0, is_complex, made, what)
    return Values(tuple(made))


def _flat(node: Sequence, shape: Shape, count: int, is_complex: bool, what: str) -> Values:
    if len(node.items) != count:
        raise node.error(f"{what} has {_values(len(node.items))}, but its shape {list(shape)} takes {count}")
    made: list[Number] = []
    for item in node.items:
        if isinstance(item, Scalar) and item.value.__class__ in _EXACT:
            made.append(cast(float, item.value))
        else:
            made.append(element(item, f"a value of {what}", is_complex))
    return Values(tuple(made))


def _nested(node: Node, shape: Shape, axis: int, is_complex: bool, made: list[Number], what: str) -> None:
    if axis == len(shape):
        if isinstance(node, Sequence) and not is_leaf(node, is_complex):
            raise node.error(f"{what} is nested deeper than its shape {list(shape)}")
        made.append(element(node, f"a value of {what}", is_complex))
        return
    if not isinstance(node, Sequence):
        raise node.error(
            f"{what} is ragged: here must stand a list of {_values(shape[axis])}, not {node.kind}"
        )
    if len(node.items) != shape[axis]:
        raise node.error(
            f"{what} is ragged or of another shape: this list has {_values(len(node.items))}, "
            f"but axis {axis} of the shape {list(shape)} takes {shape[axis]}"
        )
    for item in node.items:
        _nested(item, shape, axis + 1, is_complex, made, what)


def _values(count: int) -> str:
    return f"{count} value{'' if count == 1 else 's'}"


# --- data ---------------------------------------------------------------------------------------------------


def data(node: Node, dtype: str, shape: Shape, folder: Path, what: str) -> Data:
    """What stands under ``data`` (or instead of a whole tensor), checked against dtype and shape.

    Raises CaseFileError at the offending node.
    """
    made = _data(node, dtype, shape, folder, what)
    try:
        if isinstance(made, Generator):
            # True equals 1 as a key of the cache, and is no real number: the kinds of the numbers count too.
            _check_generator(made, dtype, math.prod(shape), tuple(map(type, (*made.args, *made.specials))))
        else:
            tensor_data.check(made, dtype, shape)
    except ValueError as error:
        at = (
            node.entries.get(_SPECIALS, node)
            if isinstance(node, Mapping) and "special" in str(error)
            else node
        )
        raise at.error(f"{what}: {error}") from (error if isinstance(made, FromFile) else None)
    return made


@lru_cache(maxsize=1024)
def _check_generator(made: Generator, dtype: str, count: int, _kinds: tuple[type, ...]) -> None:
    """Thousands of cases of a sweep share a few generators; a refusal is not kept."""
    tensor_data.check(made, dtype, (count,))


def _data(node: Node, dtype: str, shape: Shape, folder: Path, what: str) -> Data:
    is_complex = dtype.startswith("complex")
    if isinstance(node, Mapping):
        return generator(node, folder, is_complex, what)
    if isinstance(node, Scalar):
        if node.value is None:
            raise node.error(f"{what} must be {_FORM}, not null")
        if node.value == "permutation":
            return Generator("permutation")
        if isinstance(node.value, str) and not is_number(node):
            if node.value in GENERATOR_KEYS:
                raise node.error(f"the generator {node.value} needs its numbers: {_example(node.value)}")
            near = read.hint(node.value, (*GENERATOR_KEYS, "nan", "inf", "-inf"))
            raise node.error(f"{what} must be {_FORM}, not {node.kind}{near}")
    return literal(node, shape, is_complex, what)


def generator(node: Mapping, folder: Path, is_complex: bool, what: str) -> Generator | FromFile | Derived:
    """``{uniform: [0, 1], specials: [nan]}``, ``{file: x.npy}`` or ``{expr: exp(self)}``."""
    keys.only(node, (*GENERATOR_KEYS, _SPECIALS, TRANSPOSE), "generator")
    kinds = [k for k in node.entries if k not in (_SPECIALS, TRANSPOSE)]
    if len(kinds) != 1:
        said = " and ".join(kinds) or "none"
        raise node.error(
            f"{what} takes one generator, here is {said}; write for instance {{uniform: [0, 1]}}"
        )
    kind, args = kinds[0], node.entries[kinds[0]]
    listed = node.get(_SPECIALS)
    specials = (
        tuple(element(i, "a special", is_complex) for i in read.items(listed, _SPECIALS)) if listed else ()
    )
    swapped = node.get(TRANSPOSE)
    if swapped is not None and kind != FILE:
        raise swapped.error(f"{TRANSPOSE} swaps the last two axes of what a file holds, not of {kind}")
    if kind == FILE:
        path, key = file(args, folder)
        if swapped is not None and (not isinstance(swapped, Scalar) or not isinstance(swapped.value, bool)):
            raise swapped.error(f"{TRANSPOSE} is true or false, not {swapped.kind}")
        return FromFile(path, key, specials, isinstance(swapped, Scalar) and swapped.value is True)
    if kind == EXPR:
        return Derived(read.text(args, EXPR), specials)
    if kind == "permutation":
        bare = isinstance(args, Scalar) and args.value in (None, True)
        if not bare and (isinstance(args, Scalar) or args.size > 1):
            raise args.error(f"permutation takes no numbers: {_example(kind)}")
        return Generator(kind, (), specials)
    if not isinstance(args, Sequence):
        raise args.error(f"the generator {kind} takes a list: {_example(kind)}")
    return Generator(kind, _arguments(kind, args, is_complex), specials)


def _arguments(kind: str, node: Sequence, is_complex: bool) -> tuple[Number, ...]:
    made = tuple(element(item, f"a number of {kind}", is_complex and kind == "choice") for item in node.items)
    if kind == "choice":
        if not made:
            raise node.error("choice needs at least one value")
        return made
    if len(made) != 2:
        raise node.error(f"{kind} takes two numbers: {_example(kind)}")
    if kind == "integers":
        for item, value in zip(node.items, made, strict=True):
            if type(value) is not int:
                raise item.error(f"integers takes whole numbers, not {item.kind}")
    return made


def _example(kind: str) -> str:
    args = {
        "integers": "[0, 9]",
        "choice": "[0, 1]",
        "permutation": "{}",
        FILE: "x.npy",
        EXPR: "exp(self)",
    }.get(kind, "[0, 1]")
    return f"{{{kind}: {args}}}"


def file(node: Node, folder: Path) -> tuple[str, str | None]:
    """The path of a data file that lies inside ``folder`` and the member of an .npz: ``path.npz:key``."""
    written = read.word(node, FILE)
    head, colon, key = written.rpartition(".npz:")
    name = f"{head}.npz" if colon else written
    try:
        root = folder.resolve()
        path = (root / name).resolve()
        if not path.is_relative_to(root):
            raise node.error(f"the file {clip(name)} lies outside the case file's folder")
        if not path.is_file():
            said = "is not a file" if path.exists() else "does not exist"
            raise node.error(f"the file {clip(name)} {said} (paths start at the case file's folder)")
    except (OSError, RuntimeError) as error:  # a name too long, a loop of links, no permission
        reason = error.strerror if isinstance(error, OSError) else "a loop of links"
        raise node.error(f"the file {clip(name)} cannot be reached: {reason}") from None
    return str(path), key if colon else None
