"""The golden.py of TTK: ``__golden__`` and ``__spec__`` name functions by kernel or aclnn name.

A kernel golden takes the inputs in order as arrays of their stored dtypes, then the attributes by name, and
``**kwargs`` that describe inputs and outputs. An aclnn golden takes every parameter of the header in order, tensors
as those of PyTorch. Both give an array, or a list of them in the order of the outputs.
"""

from __future__ import annotations

import importlib.util
import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import ModuleType
from typing import Any

import numpy as np

from ascend_opcli.errors import did_you_mean
from ascend_opcli.model import Attribute, Call, Shape, Tensor, TensorSpec
from ascend_opcli.operators.operator import Operator
from ascend_opcli.reference.reading import near, plain, unread
from ascend_opcli.tensors.dtypes import numpy_dtype
from ascend_opcli.tensors.layout import view

_KERNEL, _ACLNN = "kernel", "aclnn"

# A SoC of each product, as its full and its short name.
_SOCS: Mapping[str, tuple[str, str]] = {
    "ascend950": ("Ascend950PR_9599", "Ascend950"),
    "atlas_a3": ("Ascend910_9391", "Ascend910_93"),
    "atlas_a2": ("Ascend910B1", "Ascend910B"),
    "atlas_200i_500_a2": ("Ascend310B4", "Ascend310B"),
    "atlas_inference": ("Ascend310P3", "Ascend310P"),
    "atlas_training": ("Ascend910A", "Ascend910"),
}


_TOLD = {
    *(plain(f"{way}_{what}") for way in ("input", "output") for what in ("dtypes", "shapes", "formats")),
    *(plain(f"{way}_ori_{what}") for way in ("input", "output") for what in ("shapes", "formats")),
    *map(plain, ("full_soc_version", "short_soc_version", "testcase_name")),
}
"""What TTK tells a golden beside inputs and attributes."""


def registered(module: ModuleType, file: str, name: str, operator: Operator) -> TtkGolden | None:
    """The golden for ``name``: a key, a registered function, or empty for the operator's own.

    None for a plain function of the file. Raises ValueError where there is none, or no clear choice.
    """
    entries = _entries(module, file)
    if not name:
        return _of_operator(module, entries, file, operator)
    for key, (group, function) in entries.items():
        if name in (key, getattr(function, "__name__", None)):
            return TtkGolden(file, key, group, function, operator, hooked=hasattr(module, "__input__"))
    if not entries or hasattr(module, name):
        return None
    raise ValueError(f"{file} has no golden {name}{did_you_mean(name, entries, otherwise=_there(entries))}")


def _of_operator(
    module: ModuleType, entries: Mapping[str, tuple[str, Callable[..., Any]]], file: str, operator: Operator
) -> TtkGolden:
    kernels = [key for key, (group, _) in entries.items() if group == _KERNEL]
    own = [key for key in (operator.short_name, operator.name) if key in entries]
    if not own and len(kernels) == 1:
        own = kernels
    if not own:
        if not entries:
            raise ValueError(
                f"{file} registers nothing in __golden__ or __spec__; name a function: {file}:function"
            )
        raise ValueError(f"{file} has no golden for {operator.name}{_there(entries)}; name one: {file}:KEY")
    group, function = entries[own[0]]
    return TtkGolden(file, own[0], group, function, operator, hooked=hasattr(module, "__input__"))


def _there(entries: Mapping[str, Any]) -> str:
    return f"; it has {', '.join(list(entries)[:8])}"


def _entries(module: ModuleType, file: str) -> dict[str, tuple[str, Callable[..., Any]]]:
    """Key -> group and function. ``__spec__`` names classes with a ``golden``, ``__golden__`` functions by group."""
    found: dict[str, tuple[str, Callable[..., Any]]] = {}
    groups = getattr(module, "__golden__", None)
    for group, table in groups.items() if isinstance(groups, dict) else ():
        if group not in (_KERNEL, _ACLNN) or not isinstance(table, dict):
            continue
        for key, word in table.items():
            found[str(key)] = (group, _callable(module, word, f"{file}: __golden__ of {key}"))
    table = getattr(module, "__spec__", None)  # of an imported module this is Python's own, no table
    for key, word in table.items() if isinstance(table, dict) else ():
        key = str(key)
        golden = getattr(_named(module, word), "golden", None)
        if callable(golden) and "." not in key:
            found[key] = (_ACLNN if key.startswith("aclnn") else _KERNEL, golden)
    return found


def _named(module: ModuleType, word: Any) -> Any:
    return getattr(module, word, None) if isinstance(word, str) else word


def _callable(module: ModuleType, word: Any, where: str) -> Callable[..., Any]:
    function = _named(module, word)
    if not callable(function):
        raise ValueError(f"{where} names {word}, which is no function of the file")
    made: Callable[..., Any] = function
    return made


class TtkGolden:
    """One registered golden as a reference: told the call, it hands over what TTK would."""

    def __init__(
        self,
        file: str,
        key: str,
        group: str,
        function: Callable[..., Any],
        operator: Operator,
        *,
        hooked: bool,
    ) -> None:
        self.__name__ = key
        self._file, self._key, self._group, self._function = file, key, group, function
        self._operator, self._hooked = operator, hooked
        parameters = inspect.signature(function).parameters.values()
        self._positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
        self._by_name = [p for p in parameters if p.kind is p.KEYWORD_ONLY]
        self._more = any(p.kind is p.VAR_KEYWORD for p in parameters)
        self._any = any(p.kind is p.VAR_POSITIONAL for p in parameters)
        self._refuse_strays()

    def _refuse_strays(self) -> None:
        """ValueError where the default of a parameter would count in place of an attribute that it is meant to be."""
        taken = {plain(p.name) for p in (*self._positional, *self._by_name)}
        left = [p.name for p in self._operator.signature.attributes if plain(p.name) not in taken]
        known = {plain(p.name) for p in self._operator.signature.params} | _TOLD
        for param in (*self._positional, *self._by_name):
            if param.default is param.empty or plain(param.name) in known:
                continue
            meant = near(param.name, left)
            if meant:
                raise ValueError(
                    f"{self._file}: {self._key} takes '{param.name}', which {self._operator.name} does not have{meant}"
                )

    def unread(self, names: Iterable[str]) -> list[str]:
        """Those of the parameters that the function gets by name or place and does not look at."""
        taken = {plain(p.name): p.name for p in (*self._positional, *self._by_name)}
        own = {taken[plain(n)]: n for n in names if plain(n) in taken}
        return [own[n] for n in unread(self._function, own)]

    def remarks(self) -> tuple[str, ...]:
        """What a reader of a verdict should know."""
        told = [f"golden by {self._file}, {self._group} {self._key}"]
        if self._hooked:
            told.append(f"the __input__ hook of {self._file} is not applied: the case's own data count")
        if self._group == _KERNEL and not self._more:
            taken = {plain(p.name) for p in (*self._positional, *self._by_name)}
            free = len(self._positional) - len(self._operator.signature.inputs)
            left = [p.name for p in self._operator.signature.attributes if plain(p.name) not in taken]
            if left and len(left) > free:
                told.append(f"{self._key} of {self._file} does not take {', '.join(left)}")
        return tuple(told)

    def __call__(self, *, call: Call) -> Any:
        args, named = self._of_header(call) if self._group == _ACLNN else self._of_kernel(call)
        if self._more:
            named = {**_described(call), **named}
        result = self._function(*args, **named)
        results = tuple(result) if isinstance(result, (tuple, list)) else (result,)
        return _grouped(results, [spec for spec in call.outputs.values() if spec is not None])

    # --- kernel -------------------------------------------------------------------------------------------------

    def _of_kernel(self, call: Call) -> tuple[list[Any], dict[str, Any]]:
        signature = self._operator.signature
        inputs = {p.name: _stored(call.arguments[p.name]) for p in signature.inputs}
        attributes = {p.name: _value(call.arguments[p.name]) for p in signature.attributes}
        names = [p.name for p in self._positional]
        by_name = {plain(n): n for n in inputs}
        first = names[: len(inputs)]
        if all(plain(n) in by_name for n in first) and len(first) == len(inputs):
            args = [inputs[by_name[plain(n)]] for n in first]
        else:
            args = list(inputs.values())
        if len(first) < len(inputs) and not self._any:
            # A kernel without the optional inputs of the entry takes those that are there.
            args = [a for a in args if a is not None]
            if len(args) > len(names):
                raise ValueError(
                    f"{self._file}: {self._key} takes {len(names)} inputs, the call has {len(args)}"
                )
        rest = self._positional[len(args) :] + self._by_name
        left = {plain(n): v for n, v in attributes.items()}
        named: dict[str, Any] = {}
        unmet = []
        for param in rest:
            if plain(param.name) in left:
                named[param.name] = left.pop(plain(param.name))
            elif param.default is param.empty:
                unmet.append(param)
        if len(unmet) > len(left):
            missing = ", ".join(p.name for p in unmet)
            raise ValueError(
                f"{self._file}: {self._key} needs {missing}, which {self._operator.name} does not give"
            )
        if unmet:
            # A kernel may call an attribute otherwise than the entry: then their order tells.
            if len(unmet) != len(left):
                raise ValueError(
                    f"{self._file}: {self._key} needs {', '.join(p.name for p in unmet)}; which of "
                    f"{', '.join(attributes)} that is cannot be told"
                )
            named |= dict(zip((p.name for p in unmet), left.values(), strict=True))
            left = {}
        if left and self._more:
            named |= {n: v for n, v in attributes.items() if plain(n) in left}
        return args, named

    # --- aclnn --------------------------------------------------------------------------------------------------

    def _of_header(self, call: Call) -> tuple[list[Any], dict[str, Any]]:
        values: list[Any] = []
        for param in self._operator.signature.params:
            if not param.is_tensor:
                value = _value(call.arguments[param.name])
                values.append(list(value) if isinstance(value, tuple) else value)
            elif param.is_input:
                values.append(_torch(_stored(call.arguments[param.name]), self._file))
            else:
                values.append(_torch(_empty(call.outputs[param.name]), self._file))
        names = [p.name for p in self._operator.signature.params]
        most = len(values) if self._any else len(self._positional)
        rest = dict(zip(names[most:], values[most:], strict=True))
        known = {plain(n): n for n in rest}
        named = {p.name: rest[known[plain(p.name)]] for p in self._by_name if plain(p.name) in known}
        return values[:most], named


def _grouped(results: tuple[Any, ...], outputs: Sequence[Any]) -> tuple[Any, ...]:
    """TTK counts the members of a list as outputs; beside other outputs they are put together again."""
    sizes = [len(spec) if isinstance(spec, tuple) else None for spec in outputs]
    if (
        len(sizes) < 2
        or all(n is None for n in sizes)
        or len(results) != sum(1 if n is None else n for n in sizes)
    ):
        return results
    left = list(results)
    return tuple(left.pop(0) if n is None else tuple(left.pop(0) for _ in range(n)) for n in sizes)


def _stored(bound: Any) -> Any:
    """An input as an array of its stored dtype; what a golden writes into stays its own."""
    if isinstance(bound, tuple):
        return [_stored(item) for item in bound]
    return np.array(view(bound)) if isinstance(bound, Tensor) else None


def _empty(spec: Any) -> Any:
    if isinstance(spec, tuple):
        return [_empty(item) for item in spec]
    return np.zeros(spec.shape, numpy_dtype(spec.dtype)) if isinstance(spec, TensorSpec) else None


def _value(bound: Any) -> Any:
    return bound.value if isinstance(bound, Attribute) else None


def _torch(value: Any, file: str) -> Any:
    if isinstance(value, list):
        return [_torch(item, file) for item in value]
    if value is None:
        return None
    if importlib.util.find_spec("torch") is None:
        raise ValueError(f"{file} needs torch, which is not installed: pip install 'ascend-opcli[torch]'")
    import torch

    if value.dtype.name == "bfloat16":
        return torch.from_numpy(value.astype(np.float32)).to(torch.bfloat16)
    return torch.from_numpy(value)


def _described(call: Call) -> dict[str, Any]:
    """The keywords that TTK gives beside inputs and attributes."""
    inputs = [_specs(b) for b in call.arguments.values() if not isinstance(b, Attribute)]
    outputs = [_specs(s) for s in call.outputs.values()]
    made: dict[str, Any] = {}
    for way, specs in (("input", inputs), ("output", outputs)):
        made[f"{way}_dtypes"] = [_each(s, lambda spec: spec.dtype) for s in specs]
        for kind in ("shapes", "ori_shapes"):
            made[f"{way}_{kind}"] = [_each(s, _shape) for s in specs]
        for kind in ("formats", "ori_formats"):
            made[f"{way}_{kind}"] = [_each(s, lambda spec: spec.format) for s in specs]
    full, short = _SOCS.get(call.product, (call.product, call.product))
    return {**made, "full_soc_version": full, "short_soc_version": short, "testcase_name": call.operator}


def _specs(bound: Any) -> Any:
    if isinstance(bound, tuple):
        return tuple(_specs(item) for item in bound)
    return bound.spec if isinstance(bound, Tensor) else bound


def _each(specs: Any, of: Callable[[TensorSpec], Any]) -> Any:
    if isinstance(specs, tuple):
        return tuple(_each(s, of) for s in specs)
    return of(specs) if isinstance(specs, TensorSpec) else None


def _shape(spec: TensorSpec) -> Shape:
    return spec.shape
