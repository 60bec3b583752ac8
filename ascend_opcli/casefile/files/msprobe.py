"""msprobe's ``dump.json``: every call of a PyTorch API that another machine has made, its inputs and results.

After Ascend/mstt, debug/accuracy_tools/msprobe (docs/27.dump_json_instruction.md, core/data_dump). Tensors lie in
``dump_tensor_data`` beside the file, wherever ``dump_data_dir`` says they once were. A call that is one aclnn call
with the same arguments becomes a case whose results are the dumped ones; with ``task: statistics`` there are none,
and the values of the inputs are invented within their extremes.
"""

# More than 400 lines: one dump format, of which every part is read in the light of the others.
from __future__ import annotations

import contextlib
import dataclasses
import math
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ascend_opcli.casefile.files import kernels, ranges, texts
from ascend_opcli.casefile.files.positions import SCALAR, TENSOR, TENSORS, GivenArgument, NotDefined
from ascend_opcli.casefile.files.torch_apis import (
    BACKWARD,
    GRAD,
    NULL,
    OUT,
    ApiLine,
    Mismatch,
    TorchTensor,
    Word,
    table,
)
from ascend_opcli.casefile.files.written import Resolve, WrittenCase, arguments
from ascend_opcli.casefile.loader import INVENTED
from ascend_opcli.casefile.tree import clip
from ascend_opcli.errors import CaseFileError, OpcliError
from ascend_opcli.model import Where
from ascend_opcli.operators.documents import catalogued
from ascend_opcli.operators.signature import Param
from ascend_opcli.tensors import files
from ascend_opcli.tensors.dtypes import DTYPES, canonical

FOLDER = "dump_tensor_data"
REMARKS = (
    "A dump of statistics holds no tensor values: those of the cases tagged 'invented' lie between the dumped",
    "extremes, and no result of the other machine is judged.",
)

MAX_DEPTH = 8
"""Levels of lists in an argument; msprobe itself stops at 10."""

_BEGINS = re.compile(r"\s*\{")
_KEYS = ('"task"', '"level"', '"dump_data_dir"')
_NAME = re.compile(r"(?P<api>\w+\.\w+(?:\.\w+)*?)\.(?P<number>\d+)\.(?P<way>forward|backward)")
_KINDS = ("Functional", "Tensor", "Torch", "NPU", "Aten", "VF", "Distributed", "MindSpeed", "Jit")
_MODULES = ("Module", "Cell")
_FILES = (".pt", ".npy")
_HOW = 'TORCH_NPU_LOGS="+op_plugin"'


def recognises(head: str) -> bool:
    """Whether a file begins as an object with msprobe's keys."""
    return _BEGINS.match(head) is not None and '"data"' in head and all(key in head for key in _KEYS)


def cases(text: str, file: str, resolve: Resolve) -> Iterator[WrittenCase]:
    """Every entry of ``data`` in its order. Raises CaseFileError where the text is no dump."""
    head: dict[str, Any] = {}
    entries: dict[str, tuple[Where, Any]] = {}
    reader = texts.Objects(text, file)
    for key, where in reader.members():
        if key != "data":
            head[key] = reader.value()
            continue
        for name, place in reader.members():
            if name in entries:
                raise CaseFileError(f"the call '{clip(name)}' is repeated", place)
            entries[name] = (place, reader.value())
            if len(entries) > texts.MAX_CASES:
                raise CaseFileError(f"the file has more than {texts.MAX_CASES:,} calls", where)
    reader.end()
    dump = _Dump(head, {name: entry for name, (_, entry) in entries.items()}, Path(file).parent, resolve)
    for name, (place, entry) in entries.items():
        yield dump.case(name, entry, place)


class _Dump:
    """One dump: what holds for all of its calls, and the forward calls that backward ones refer to."""

    def __init__(
        self, head: Mapping[str, Any], entries: Mapping[str, Any], folder: Path, resolve: Resolve
    ) -> None:
        self._entries = entries
        self._folder = folder
        self._resolve = resolve
        self._foreign = str(head.get("framework", "pytorch")).casefold() != "pytorch"
        self._statistics = str(head.get("task", "")).casefold() == "statistics"

    def case(self, name: str, entry: Any, where: Where) -> WrittenCase:
        """The call of one entry as a case, or why it is none."""
        found = _NAME.fullmatch(name) if len(name) <= 500 else None
        api = found["api"] if found is not None else name
        kind = name.partition(".")[0]
        if kind in _MODULES:
            return WrittenCase(
                name, where, "-", None, "a module and no API: msprobe dumps API calls with level L1 or mix"
            )
        if self._foreign:
            return WrittenCase(
                name, where, "-", None, "a call of MindSpore: only PyTorch's APIs are known here"
            )
        if found is None or kind not in _KINDS or not isinstance(entry, dict):
            return WrittenCase(name, where, "-", None, "no call of an API: Functional.relu.0.forward is one")
        key = api + (BACKWARD if found["way"] == "backward" else "")
        operator = "-"
        try:
            line, bound, outputs = self._matched(key, found["number"], entry)
            operator = line.operator
            body = self._body(line, bound, outputs)
        except NotDefined as error:
            return WrittenCase(name, where, operator, None, str(error))
        except (OpcliError, ValueError, OverflowError, ArithmeticError) as error:
            return WrittenCase(name, where, operator, None, f"no call: {error}")
        return WrittenCase(name, where, operator, body)

    def _matched(
        self, key: str, number: str, entry: Mapping[str, Any]
    ) -> tuple[ApiLine, dict[str, Any], list[TorchTensor]]:
        """The line of the table, the API's arguments, and its results. Raises NotDefined."""
        api, backward, _ = key.partition(BACKWARD)
        call = self._entries.get(f"{api}.{number}.forward") if backward else entry
        if not isinstance(call, dict):
            raise NotDefined(f"the dump has no {clip(api)}.{number}.forward with the inputs of this gradient")
        if "input_args" not in call or not isinstance(call.get("input_kwargs", {}), dict):
            raise NotDefined("the dump has no inputs of this call: data_mode all has them")
        args = _listed(_plain(call["input_args"]))
        kwargs = {str(k): _plain(v, str(k)) for k, v in call.get("input_kwargs", {}).items()}
        elsewhere = _elsewhere(api, args, kwargs)
        if elsewhere and not backward:
            return self._in_place(api, elsewhere, args, kwargs, entry)
        if elsewhere:
            raise NotDefined(f"the gradient of {clip(api)} in place; {_to_log(key, elsewhere)}")
        if table().others.get(key) == ():
            raise NotDefined(f"{clip(api)} makes a view: no operator runs")
        if api.startswith("Distributed."):
            raise NotDefined(f"{clip(api)} is a collective of HCCL and no aclnn call")
        lines = table().lines.get(key, ())
        for line in lines:
            try:
                bound = line.bind(args, kwargs)
                results = _listed(_plain(entry.get("output", [])))
                if backward:
                    bound[GRAD] = _first(entry.get("input"), "the gradient of its result")
                    bound[OUT] = _first(call.get("output"), "the result of its forward call")
                    results = results[:1]  # one for each input of the API; the operator has that of the first
                    if results == [None]:
                        raise NotDefined("the dump has no gradient of the first input")
                line.call(bound, "float32")
                _same_mathematics(line, bound, results)
            except Mismatch:
                continue
            results = [t for t in results if t is not None]
            if not results or not all(isinstance(r, TorchTensor) for r in results):
                raise NotDefined("the dump has no result of this call: data_mode all has it")
            return line, bound, results
        what = "with these arguments" if lines else "with the same arguments"
        whose = f"the gradient of {clip(api)}" if backward else clip(api)
        raise NotDefined(f"{whose} is no single aclnn call {what}; {_to_log(key, api)}")

    def _in_place(
        self, api: str, elsewhere: str, args: list[Any], kwargs: dict[str, Any], entry: Mapping[str, Any]
    ) -> tuple[ApiLine, dict[str, Any], list[TorchTensor]]:
        """As ``_matched``, of a call that writes into its first input: by the aclnn operator that does so too."""
        results = _listed(_plain(entry.get("output", [])))[:1]
        calls = _to_log(api, elsewhere)
        if kwargs.get("out") is not None:
            raise NotDefined(
                f"{clip(api)} writes into what out= names, which the dump shows overwritten; {calls}"
            )
        if not args or not results or not _apart(args[0], results[0]):
            raise NotDefined(f"{clip(api)} in place: the dump holds its input as it was overwritten; {calls}")
        plain = [False if value is True else value for value in args]
        kwargs = {key: value for key, value in kwargs.items() if key != "inplace"}
        for line in table().lines.get(elsewhere, ()):
            known = line.operator.startswith("aclnnInplace")
            operator = line.operator if known else line.operator.replace("aclnn", "aclnnInplace")
            if operator not in catalogued.names().values():
                continue
            try:
                bound = line.bind(plain if line.in_place else args, kwargs)
            except Mismatch:
                continue
            if isinstance(results[0], TorchTensor):
                return dataclasses.replace(line, operator=operator, outputs=()), bound, [results[0]]
        raise NotDefined(f"{clip(api)} is no single aclnn call with these arguments; {calls}")

    def _body(self, line: ApiLine, bound: Mapping[str, Any], results: list[TorchTensor]) -> dict[str, Any]:
        operator = self._resolve(line.operator)
        given = line.call(bound, results[0].dtype)
        inward = [p for p in operator.signature.params if p.io != "out"]
        outward = operator.signature.outputs
        if len(given) != len(inward):
            raise NotDefined(
                f"{operator.name} takes {len(inward)} arguments here, the table has {len(given)}"
            )
        wanted = [p for i, p in enumerate(outward) if (line.outputs[i : i + 1] or ("",))[0] != NULL]
        if len(results) != len(wanted):
            raise NotDefined(f"{len(results)} results in the dump, {operator.name} has {len(wanted)}")
        placed = {p.name: self._given(p, value) for p, value in zip(inward, given, strict=True)}
        of_output = dict(zip([p.name for p in wanted], results, strict=True))
        for param in outward:
            if param.io == "out":
                placed[param.name] = GivenArgument("", TENSOR, _like(of_output.get(param.name)))
        body = arguments(operator, placed)
        if not self._statistics:
            body["got"] = {n: {"file": self._file(result)} for n, result in of_output.items()}
            return body
        body["tags"] = [INVENTED]
        body["description"] = "Values are invented, within the dumped extremes where there are some."
        return body

    def _given(self, param: Param, value: Any) -> GivenArgument:
        if isinstance(value, list) and param.is_list:
            return GivenArgument("", TENSORS, [self._tensor(v) for v in value])
        if isinstance(value, TorchTensor) and param.type == "aclTensor":
            return GivenArgument("", TENSOR, self._tensor(value))
        if value is None and param.is_pointer:
            return GivenArgument("", TENSOR, None)
        if param.type == "aclScalar" and isinstance(value, (int, float)):
            return GivenArgument("", SCALAR, value)
        if isinstance(value, Word):
            value = canonical(value.text)
        return kernels.attribute(param, value)

    def _tensor(self, tensor: TorchTensor) -> dict[str, Any]:
        made: dict[str, Any] = {"dtype": tensor.dtype, "shape": list(tensor.shape)}
        if tensor.transposed:
            made["layout"] = "transposed"
        if self._statistics:
            data = _invented(tensor)
            return made if data is None else {**made, "data": data}
        path = self._file(tensor)
        with contextlib.suppress(ValueError):  # what cannot be read is told where it is
            other = files.other_dtype(str(self._folder / path), None, tensor.dtype)
            if other is not None:
                raise NotDefined(f"{clip(path)} holds {clip(other)}, the dump says {tensor.dtype}")
        made["data"] = {"file": path, **({"transpose": True} if tensor.transposed else {})}
        return made

    def _file(self, tensor: TorchTensor) -> str:
        """The file of a tensor, relative to the dump. Raises NotDefined where there is none."""
        name = tensor.entry.get("data_name")
        if not isinstance(name, str) or not name:
            raise NotDefined("the dump names no file for one of its tensors")
        if name != re.sub(r"[/\\\0]", "", name) or not name.lower().endswith(_FILES) or len(name) > 250:
            raise NotDefined(f"the data_name '{clip(name)}' is no name of a .pt or .npy file")
        path = f"{FOLDER}/{name}"
        if not (self._folder / path).is_file():
            raise NotDefined(f"there is no {clip(path)}")
        return path


def _same_mathematics(line: ApiLine, bound: Mapping[str, Any], results: list[Any]) -> None:
    """What kinds of arguments alone do not tell. Raises Mismatch."""
    given = next(iter(bound.values()), None)
    if not isinstance(given, TorchTensor):
        return
    whole = DTYPES[given.dtype].kind in ("int", "uint", "bool")
    if line.operator.startswith("aclnnClamp") and whole and any(isinstance(v, float) for v in bound.values()):
        raise Mismatch("PyTorch takes the bounds of whole numbers as floats, the operator as whole numbers")
    first = results[0] if results else None
    if (
        line.operator.startswith("aclnnInplace")
        and isinstance(first, TorchTensor)
        and first.shape != given.shape
    ):
        raise Mismatch("a tensor that is written in place cannot grow")


# --- entries --------------------------------------------------------------------------------------------------


def _plain(entry: Any, key: str = "", depth: int = 0) -> Any:
    """An argument of the dump: a tensor, a number, a text, a dtype, None, or a list of these. Raises NotDefined."""
    if depth > MAX_DEPTH:
        raise NotDefined("an argument is nested too deep")
    if isinstance(entry, list):
        return [_plain(e, key, depth + 1) for e in entry]
    if entry is None or entry == {}:
        return None
    if not isinstance(entry, dict) or not isinstance(entry.get("type"), str):
        raise NotDefined("an argument is of a kind that the dump does not show")
    kind, value = entry["type"], entry.get("value")
    if "dtype" in entry and "shape" in entry:
        return _tensor(entry)
    if kind == "torch.dtype":
        return Word(str(value))
    if kind == "torch.Size" and isinstance(value, list) and all(type(v) is int for v in value):
        return value
    if kind in ("float", "complex") and isinstance(value, str):
        value = ranges.number(value)  # JSON has neither inf nor nan
    if kind in ("int", "bool") and type(value).__name__ == kind:
        return value
    if kind == "float" and isinstance(value, (int, float)) and ranges.is_real(value):
        return float(value)
    if kind == "str" and isinstance(value, str):
        return value
    if re.fullmatch(r"u?int\d+|float\d+|bool_", kind) and isinstance(value, (bool, int, float)):
        return value
    raise NotDefined(f"an argument is a {clip(kind, 60)}, which no aclnn call takes")


def _tensor(entry: Mapping[str, Any]) -> TorchTensor:
    shape, dtype = entry["shape"], entry["dtype"]
    if not isinstance(shape, list) or not all(type(n) is int and n >= 0 for n in shape):
        raise NotDefined("the shape of a tensor is no list of whole numbers")
    return TorchTensor(canonical(str(dtype)), tuple(shape), entry)


def _like(result: TorchTensor | None) -> dict[str, Any] | None:
    """An output of that dtype; its shape is for the operator to say, which has [1] where PyTorch has a scalar."""
    if result is None:
        return None
    return {"dtype": result.dtype} if result.shape else {"dtype": result.dtype, "shape": []}


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _first(entries: Any, what: str) -> TorchTensor:
    found = next((t for t in _listed(_plain(entries if entries is not None else [])) if t is not None), None)
    if not isinstance(found, TorchTensor):
        raise NotDefined(f"the dump has no {what}")
    return found


_STATISTICS = ("Max", "Min", "Mean", "Norm", "md5")


def _apart(before: Any, after: Any) -> bool:
    """Whether the dump's own figures show that one tensor was dumped before it became the other."""
    if not isinstance(before, TorchTensor) or not isinstance(after, TorchTensor):
        return False
    known = [
        key for key in _STATISTICS if before.entry.get(key) is not None and after.entry.get(key) is not None
    ]
    return any(repr(before.entry[key]) != repr(after.entry[key]) for key in known)


def _elsewhere(api: str, args: list[Any], kwargs: Mapping[str, Any]) -> str:
    """The API that does the same elsewhere, of a call that writes into what it is given; nothing of another."""
    group, _, name = api.rpartition(".")
    if name.startswith("__i") and name.endswith("__") and name not in ("__index__", "__invert__", "__int__"):
        return f"{group}.__{name[3:]}"
    if name.endswith("_") and not name.endswith("__"):
        return f"{group}.{name[:-1]}"
    if kwargs.get("inplace") is True or kwargs.get("out") is not None:
        return api
    lines = table().lines.get(api, ())
    return api if any(v is True for v in args) and any(line.in_place for line in lines) else ""


def _to_log(key: str, other: str) -> str:
    """How the calls of an API are logged; those of its aclnn operators where they are known."""
    calls = table().others.get(key, ())
    if not calls:
        inplace = other != key.removesuffix(BACKWARD)
        lines = () if inplace else table().lines.get(key, ())
        word = "".join(
            p[:1].upper() + p[1:] for p in other.rpartition(".")[2].removeprefix("npu_").split("_")
        )
        guesses = [f"aclnn{'Inplace' if inplace else ''}{word}{'Backward' if BACKWARD in key else ''}"]
        known = catalogued.names()
        calls = tuple(dict.fromkeys(line.operator for line in lines)) or tuple(
            g for g in guesses if g in known.values() or g in known
        )
    if not calls:
        return f"log its aclnn calls with {_HOW} and import the log"
    listed = ",".join(f"+{call}" for call in calls[:4])
    return f'log {" and ".join(calls[:4])} with {_HOW} TORCH_NPU_LOGS_FILTER="{listed}" and import the log'


# --- statistics -----------------------------------------------------------------------------------------------


def _invented(tensor: TorchTensor) -> Any:
    """Data between the dumped extremes, NaN and infinities among them where one was; None where nothing is known."""
    if DTYPES[tensor.dtype].kind == "complex":
        return None
    ends = [_extreme(tensor.entry, key) for key in ("Min", "Max")]
    if any(end is None for end in ends):
        return None
    low, high = ends
    found = {
        repr(v): v for v in ends if v is not None and not math.isfinite(v)
    }  # NaN is no key: it equals nothing
    specials = list(found.values())
    finite = [
        end if end is not None and math.isfinite(end) else _extreme(tensor.entry, f"{key}_except_inf_nan")
        for key, end in (("Min", low), ("Max", high))
    ]
    low, high = (
        end if end is not None and math.isfinite(end) else default
        for end, default in zip(finite, (-1.0, 1.0), strict=True)
    )
    assert low is not None
    assert high is not None
    data = ranges.interval(min(low, high), max(low, high), tensor.dtype)
    return ranges.with_specials(data, specials, math.prod(tensor.shape), tensor.dtype) if specials else data


def _extreme(entry: Mapping[str, Any], key: str) -> int | float | None:
    value = entry.get(key)
    return ranges.number(value) if isinstance(value, (bool, int, float, str)) else None
