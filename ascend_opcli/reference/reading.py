"""What a function that somebody brings takes of a call and reads: a reference or a candidate, told before it is run."""

from __future__ import annotations

import dis
import inspect
from collections.abc import Callable, Collection, Iterable, Iterator
from types import CodeType
from typing import Any

from ascend_opcli.errors import did_you_mean

_LOOKS_AT_ALL = {"locals", "vars", "eval", "exec"}


def parameters(function: Callable[..., Any]) -> tuple[inspect.Parameter, ...] | None:
    """The parameters of a function; None for one of C that does not say."""
    try:
        return tuple(inspect.signature(function).parameters.values())
    except (ValueError, TypeError):
        return None


def strays(function: Callable[..., Any], known: Collection[str]) -> list[str]:
    """The parameters that are not among the ``known``, so that their defaults count.

    One that begins with an underscore is the function's own business.
    """
    single = [p for p in parameters(function) or () if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    return [p.name for p in single if p.name not in known and not p.name.startswith("_")]


def near(name: str, known: Iterable[str]) -> str:
    """What was meant by a name: spelled with other capitals and underscores, or else alike."""
    known = [*known]
    same = [k for k in known if plain(k) == plain(name)]
    return f"; did you mean '{same[0]}'?" if same else did_you_mean(name, known)


def plain(name: str) -> str:
    """Names that differ in case and underscores alone are one."""
    return name.replace("_", "").casefold()


def unread(function: Callable[..., Any], names: Iterable[str]) -> list[str]:
    """Those of the names that a function neither takes nor, as far as its code shows, looks at."""
    taken = parameters(function)
    if taken is None:
        return []
    anything = any(p.kind is p.VAR_KEYWORD for p in taken)
    own = {p.name for p in taken}
    used = _used(function)
    return [
        n
        for n in names
        if (n not in own and not anything) or (n in own and used is not None and n not in used)
    ]


def _used(function: Callable[..., Any]) -> set[str] | None:
    """The names that the code of a function loads, those of functions within it too; None where nobody can tell."""
    code = getattr(inspect.unwrap(function), "__code__", None)
    if not isinstance(code, CodeType):
        return None
    used = {name for part in _within(code) for name in _loaded(part)}
    return None if used & _LOOKS_AT_ALL else used


def _within(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _within(constant)


def _loaded(code: CodeType) -> Iterator[str]:
    for step in dis.get_instructions(code):
        if "LOAD" in step.opname:
            # Two loads may be one instruction.
            yield from step.argval if isinstance(step.argval, tuple) else (str(step.argval),)
