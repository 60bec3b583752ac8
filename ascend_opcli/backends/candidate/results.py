"""What a function has returned, brought into the order of the outputs and checked for count, kind, dtype and shape."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ascend_opcli.backends.candidate.buffers import Kind, NotReadable, shape_of
from ascend_opcli.errors import did_you_mean
from ascend_opcli.model import Call, TensorSpec

Returned = dict[str, Any]
"""By output, members of a list as ``out[0]``; None where the function has written into the tensor it was handed."""


MAX_SENTENCE = 400


class WrongResult(Exception):
    """What was returned is no result of the call; one sentence, its first words say the kind."""


def sort_out(result: Any, call: Call, handed: Sequence[str], kind: Kind) -> Returned:
    """``result`` by output. ``handed`` are the outputs that the function was handed to write into.

    Raises WrongResult.
    """
    specs = {name: spec for name, spec in call.outputs.items() if spec is not None}
    returned: Returned = {}
    for name, value in _by_name(result, specs, handed).items():
        spec = specs[name]
        if value is None and name in handed:
            returned.update(dict.fromkeys(_names(name, spec)))
        elif isinstance(spec, tuple):
            if not isinstance(value, (list, tuple)) or len(value) != len(spec):
                got = f"{len(value)} tensors" if isinstance(value, (list, tuple)) else _what(value)
                raise WrongResult(f"WRONG COUNT: {name} is a list of {len(spec)} tensors, got {got}")
            for member, inner, one in zip(_names(name, spec), spec, value, strict=True):
                returned[member] = _fits(member, one, inner, kind)
        else:
            returned[name] = _fits(name, value, spec, kind)
    return returned


def _names(name: str, spec: TensorSpec | tuple[TensorSpec, ...]) -> list[str]:
    return [f"{name}[{i}]" for i in range(len(spec))] if isinstance(spec, tuple) else [name]


def _by_name(result: Any, specs: Mapping[str, Any], handed: Sequence[str]) -> dict[str, Any]:
    if result is None:
        lack = [name for name in specs if name not in handed]
        if lack:
            raise WrongResult(
                f"WRONG COUNT: it returned None, and was handed no tensor for {', '.join(lack)}"
            )
        return dict.fromkeys(specs)
    if isinstance(result, Mapping):
        for key in result:
            if key not in specs:
                known = f"; the outputs are {', '.join(specs)}"
                raise WrongResult(
                    f"WRONG COUNT: it returned '{key}', which is no output"
                    + did_you_mean(str(key), specs, otherwise=known)
                )
        lack = [name for name in specs if name not in result and name not in handed]
        if lack:
            raise WrongResult(f"WRONG COUNT: it returned nothing for {', '.join(lack)}")
        return {name: result.get(name) for name in specs}
    if len(specs) == 1:
        ((name, spec),) = specs.items()
        whole = isinstance(result, (list, tuple)) and not (isinstance(spec, tuple) and not _nested(result))
        if not whole:
            return {name: result}
    values = list(result) if isinstance(result, (list, tuple)) else [result]
    if len(values) == len(specs):
        return dict(zip(specs, values, strict=True))
    fresh = [name for name in specs if name not in handed]
    if len(values) == len(fresh):
        return {name: dict(zip(fresh, values, strict=True)).get(name) for name in specs}
    results = f"{len(values)} result{'' if len(values) == 1 else 's'}"
    raise WrongResult(f"WRONG COUNT: it returned {results} for {len(specs)} outputs ({', '.join(specs)})")


def _nested(result: Sequence[Any]) -> bool:
    """Whether a list holds a single list: the one output of a call that has a tensor list for it."""
    return len(result) == 1 and isinstance(result[0], (list, tuple))


def _fits(name: str, value: Any, spec: TensorSpec, kind: Kind) -> Any:
    if not kind.is_tensor(value):
        raise WrongResult(f"WRONG TYPE: {name} is {_what(value)}, not a tensor of {_library(kind)}")
    try:
        value = kind.plain(value)
        dtype, shape = kind.dtype(value), shape_of(value)
    except NotReadable as error:
        raise WrongResult(f"WRONG TYPE: {name} is {error}") from None
    except BaseException as error:  # the methods of a subclass are the candidate's own
        raise WrongResult(unreadable(name, value, error)) from None
    if dtype != spec.dtype:
        raise WrongResult(f"WRONG DTYPE: {name} is {dtype}, expected is {spec.dtype}")
    if shape != spec.shape:
        raise WrongResult(f"WRONG SHAPE: {name} has the shape {list(shape)}, expected is {list(spec.shape)}")
    return value


def unreadable(name: str, value: object, error: BaseException) -> str:
    """The finding of a tensor that raises where it is read."""
    return f"WRONG TYPE: {name} is {_what(value)} that cannot be read: {said(error)}"


def said(error: BaseException) -> str:
    """An exception in a few words."""
    try:
        text = " ".join(str(error).split())
    except BaseException:
        text = "an error that cannot be printed"
    text = text[:MAX_SENTENCE] + ("..." if len(text) > MAX_SENTENCE else "")
    return f"{type(error).__name__}{': ' if text else ''}{text}"


def _what(value: object) -> str:
    return "None" if value is None else f"a {type(value).__module__}.{type(value).__qualname__}"


def _library(kind: Kind) -> str:
    return "NumPy" if kind.name == "numpy" else "PyTorch"
