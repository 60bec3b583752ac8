"""A command whose options stand in groups: it takes dataclasses, the command line their fields."""

from __future__ import annotations

import dataclasses
import functools
import inspect
from collections.abc import Callable
from typing import Annotated, Any, TypeVar, get_type_hints

import typer

from ascend_opcli.errors import UsageError

T = TypeVar("T")

_DEBUG = inspect.Parameter(
    "debug",
    inspect.Parameter.KEYWORD_ONLY,
    default=False,
    annotation=Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")],
)


def command(function: Callable[..., None]) -> Callable[..., None]:
    """The function as Typer reads it: with the fields of the dataclasses among its parameters, and ``--debug``.

    ``Annotated[Base, Group]`` stands for the fields of the dataclass ``Group``. ``--debug`` is read where errors end.
    """
    types = get_type_hints(function, include_extras=True)
    flat: list[inspect.Parameter] = []
    groups: dict[str, tuple[Any, list[str]]] = {}
    for name, parameter in inspect.signature(function).parameters.items():
        group = next(filter(_is_group, (*getattr(types[name], "__metadata__", ()), types[name])), None)
        if group is None:
            opened = [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY, annotation=types[name])]
        else:
            opened = _opened(group)
            groups[name] = (group, [field.name for field in opened])
        flat += opened

    @functools.wraps(function)
    def flattened(*, debug: bool, **given: Any) -> None:  # noqa: ARG001
        for name, (group, fields) in groups.items():
            given[name] = group(**{field: given.pop(field) for field in fields})
        function(**given)

    flat.append(_DEBUG)
    flattened.__signature__ = inspect.Signature(flat)  # type: ignore[attr-defined]
    flattened.__annotations__ = {parameter.name: parameter.annotation for parameter in flat}
    return flattened


def _is_group(kind: object) -> bool:
    return isinstance(kind, type) and dataclasses.is_dataclass(kind)


def _opened(group: Any) -> list[inspect.Parameter]:
    types = get_type_hints(group, include_extras=True)
    return [
        inspect.Parameter(
            field.name, inspect.Parameter.KEYWORD_ONLY, default=field.default, annotation=types[field.name]
        )
        for field in dataclasses.fields(group)
    ]


def value_of(option: str, rule: Callable[[str], T], text: str) -> T:
    """What ``rule`` makes of an option's text; its ValueError becomes a UsageError that begins with the option."""
    try:
        return rule(text)
    except ValueError as error:
        raise UsageError(f"{option}: {error}") from None
