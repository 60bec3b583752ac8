"""The files of one call for a program that is not ours: its inputs, what they should give, and what they are.

A folder a case: ``manifest.json``, ``inputs/NAME.npy`` or ``.bin``, ``golden/`` and ``outputs/``, into which the
program writes. An input that is not contiguous lies there twice: its values row by row, and under ``storage`` the
memory that its strides look into.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ascend_opcli.model import Attribute, Call, Case, Tensor, TensorSpec
from ascend_opcli.tensors import files
from ascend_opcli.tensors.dtypes import name_of
from ascend_opcli.tensors.layout import is_contiguous, view

SCHEMA = "opcli.data/1"
MANIFEST = "manifest.json"
MAX_MANIFEST = 1 << 24
INPUTS, OUTPUTS, GOLDEN = "inputs", "outputs", "golden"
FORMATS = ("npy", "bin")

HOW_TO_READ = {
    "bin": (
        "raw elements, row-major, little-endian, no header; bool is one byte, 0 or 1; a complex element is its real"
        " part and then its imaginary part; bfloat16 is the upper 16 bits of a float32; float8 is one byte."
        " In NumPy: np.fromfile(file, dtype).reshape(shape), bfloat16 and float8 from ml_dtypes"
    ),
    "npy": (
        "NumPy's format; bfloat16 lies there as uint16 and float8 as one raw byte, by their bits."
        " In NumPy: np.load(file), then .view(ml_dtypes.bfloat16) where the dtype says so"
    ),
}

Arrays = Mapping[str, "np.ndarray | tuple[np.ndarray, ...]"]

_UNSAFE = re.compile(r"[^A-Za-z0-9._=-]+")
_OWN = re.compile(rf"(?:{INPUTS}|{GOLDEN})/[^/\\\x00]+\.(?:{'|'.join(FORMATS)})")
_MAX_STEM = 100


def folder_name(case: Case) -> str:
    """The name of a case's folder, which depends on the names of its file and of itself alone.

    It has a hash at its end where those names hold what a file system may not take.
    """
    stem = "" if case.path.startswith("<") else os.path.splitext(os.path.basename(case.path))[0]
    plain = f"{stem}.{case.name}" if stem else case.name
    fit = _UNSAFE.sub("_", plain)[:_MAX_STEM].strip("._-")
    if fit == plain:
        return fit
    return f"{fit or 'case'}-{hashlib.sha256(plain.encode('utf-8', 'surrogatepass')).hexdigest()[:8]}"


# --- the manifest -------------------------------------------------------------------------------------------


_VALUE = ("dtype", "shape")
_LAYOUT = ("strides", "offset", "storage_shape", "format")


def identity(call: Call) -> dict[str, Any]:
    """What two calls must have in common for the one's outputs to be the other's, as plain JSON."""
    return {
        **_head(call),
        "inputs": {name: _parts(_spec(tensor.spec)) for name, tensor in tensors(call)},
        "outputs": {name: _parts(_spec(spec)) for name, spec in members(call.outputs)},
    }


def identified(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """The identity of the call that a manifest was made for; what it lacks is None there."""
    return {
        **{key: manifest.get(key) for key in ("operator", "inputs_sha256", "attrs")},
        **{key: _all_parts(manifest.get(key)) for key in (INPUTS, OUTPUTS)},
    }


def without_layout(identity: Mapping[str, Any]) -> dict[str, Any]:
    """An identity of values alone. The dtypes and shapes of the inputs are in their hash."""
    outputs = {name: {key: part[key] for key in _VALUE} for name, part in identity[OUTPUTS].items()}
    return {**{key: identity[key] for key in ("operator", "inputs_sha256", "attrs")}, OUTPUTS: outputs}


def _head(call: Call) -> dict[str, Any]:
    return {
        "operator": call.operator,
        "inputs_sha256": call.inputs_sha256,
        "attrs": {name: _attribute(b) for name, b in call.arguments.items() if isinstance(b, Attribute)},
    }


def _parts(entry: Mapping[str, Any]) -> dict[str, Any]:
    return {key: entry.get(key) for key in (*_VALUE, *_LAYOUT)}


def _all_parts(entries: object) -> dict[str, Any]:
    found = entries if isinstance(entries, dict) else {}
    return {str(name): _parts(entry) for name, entry in found.items() if isinstance(entry, dict)}


def members(values: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Every tensor of a mapping by name, the members of a list as ``out[0]``; null pointers left out."""
    for name, value in values.items():
        if isinstance(value, tuple):
            yield from ((f"{name}[{i}]", member) for i, member in enumerate(value))
        elif value is not None:
            yield name, value


def tensors(call: Call) -> Iterator[tuple[str, Tensor]]:
    """Every tensor that is put in, by name."""
    return members({n: b for n, b in call.arguments.items() if isinstance(b, (Tensor, tuple))})


def file_stem(name: str) -> str:
    """``out[0]`` as the name of a file."""
    return name.replace("[", ".").rstrip("]")


def _attribute(bound: Attribute) -> dict[str, Any]:
    made = {"value": _plain(bound.value)}
    return made if bound.dtype is None else {**made, "dtype": bound.dtype}


def _plain(value: Any) -> Any:
    """JSON has neither NaN nor Inf nor complex numbers: words and pairs stand for them."""
    if isinstance(value, tuple):
        return [_plain(v) for v in value]
    if isinstance(value, complex):
        return [_plain(value.real), _plain(value.imag)]
    if isinstance(value, float) and not math.isfinite(value):
        return "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"
    return value


def load_manifest(folder: Path) -> dict[str, Any]:
    """The manifest of a case's folder. ValueError in one sentence where there is none that can be read."""
    path = folder / MANIFEST
    if path.is_symlink() and not path.resolve().is_relative_to(folder.resolve()):
        raise ValueError(f"{path} leads out of its folder")
    with files.regular(str(path)) as stream:
        text = stream.read(MAX_MANIFEST + 1)
    try:
        found = json.loads(text) if len(text) <= MAX_MANIFEST else None
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict) or not isinstance(found.get("schema"), str):
        raise ValueError(f"{path} is no manifest of opcli")
    if found["schema"] != SCHEMA:
        raise ValueError(f"{path} has the schema {found['schema'][:40]!r}; this opcli reads {SCHEMA}")
    return found


def difference(manifest: Mapping[str, Any], call: Call, *, layouts: bool = True) -> str:
    """Why outputs beside a manifest are not those of a call, in a few words; empty where they are.

    Without ``layouts`` outputs of the same values serve, wherever these lay in memory.
    """
    want, have = identity(call), identified(manifest)
    if have["operator"] != want["operator"]:
        return f"OTHER OPERATOR: made for {str(have['operator'])[:80]}, not for {want['operator']}"
    if have["inputs_sha256"] != want["inputs_sha256"]:
        other, own = str(have["inputs_sha256"])[:12], want["inputs_sha256"][:12]
        return f"OTHER INPUTS: made from inputs with sha256 {other}..., the case has {own}..."
    if have["attrs"] != want["attrs"]:
        return "OTHER ATTRIBUTES: " + _apart(have["attrs"], want["attrs"])
    if without_layout(have) != without_layout(want):
        return "OTHER OUTPUTS: made for outputs of another dtype or shape"
    return _laid_out(have, want) if layouts else ""


def _apart(have: object, want: Mapping[str, Any]) -> str:
    have = have if isinstance(have, dict) else {}
    for name in sorted(want.keys() | have.keys()):
        if have.get(name) != want.get(name):
            there, here = (json.dumps(d.get(name))[:80] for d in (have, want))
            return f"made with {name} = {there}, the case has {here}"
    return "they cannot be told"


def _laid_out(have: Mapping[str, Any], want: Mapping[str, Any]) -> str:
    for group in (INPUTS, OUTPUTS):
        for name in sorted(want[group].keys() | have[group].keys()):
            there, here = (side[group].get(name) or {} for side in (have, want))
            key = next((k for k in (*_VALUE, *_LAYOUT) if there.get(k) != here.get(k)), None)
            if key is not None:
                known, own = (json.dumps(side.get(key))[:80] for side in (there, here))
                return f"OTHER LAYOUT: made for {name} with {key} {known}, the case has {own}"
    return ""


# --- writing ------------------------------------------------------------------------------------------------


def write(
    folder: Path,
    case: Case,
    call: Call,
    *,
    format: str = "bin",
    inputs: bool = True,
    golden: Arrays | None = None,
    outputs: Arrays | None = None,
    more: Mapping[str, Any] | None = None,
) -> Mapping[str, Any]:
    """Write a call's folder, the manifest last: a folder that has one is complete. What stands in it is returned.

    ``golden`` and ``outputs`` are arrays by output. ``more`` goes into the manifest. Raises OSError.
    """
    folder.mkdir(parents=True, exist_ok=True)
    given: dict[str, Any] = {}
    for name, bound in call.arguments.items():
        if bound is None:
            given[name] = None
    for name, tensor in tensors(call):
        given[name] = _input(folder, name, tensor, format, inputs=inputs)
    (folder / OUTPUTS).mkdir(exist_ok=True)
    returned: dict[str, Any] = {n: None for n, spec in call.outputs.items() if spec is None}
    for name, spec in members(call.outputs):
        returned[name] = {**_spec(spec), "file": _place(OUTPUTS, name, format)}
    for name, array in members(golden or {}):
        returned[name]["golden"] = _file(folder, GOLDEN, name, array, format)
    for name, array in members(outputs or {}):
        returned[name].update(_file(folder, OUTPUTS, name, array, format))
    document = {
        "schema": SCHEMA,
        "case": case.id,
        **_head(call),
        **_own(case),
        "product": call.product,
        "seed": case.seed,
        "format": format,
        "how_to_read": HOW_TO_READ[format],
        **(more or {}),
        "inputs": given,
        "outputs": returned,
    }
    text = json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
    if inputs:
        _remove_stale(folder, document)
    files.put(folder / MANIFEST, lambda stream: stream.write(text.encode("utf-8", "backslashreplace")))
    return document


def _own(case: Case) -> dict[str, Any]:
    """What a case brings itself: without it nobody could judge the folder. Code stays where it is."""
    made = {"signature": case.signature} if case.signature is not None else {}
    if case.reference is not None and ".py" not in case.reference:
        made["reference"] = case.reference
    return made


def _input(folder: Path, name: str, tensor: Tensor, format: str, *, inputs: bool) -> dict[str, Any]:
    spec = tensor.spec
    made = _spec(spec)
    if not inputs:
        return made
    values, *storage = _held(tensor)
    made.update(_file(folder, INPUTS, name, values, format))
    if storage:
        made["storage"] = {
            **_file(folder, INPUTS, f"{name}.storage", storage[0], format),
            "shape": list(spec.storage_shape),
        }
    return made


def _held(tensor: Tensor) -> list[np.ndarray]:
    """What lies in files of an input: its values and, where these do not fill it in their order, its storage."""
    spec = tensor.spec
    whole = is_contiguous(spec.shape, spec.strides) and not spec.offset
    if whole and math.prod(spec.storage_shape) == spec.count:
        return [view(tensor)]
    return [view(tensor), tensor.storage.reshape(spec.storage_shape)]


def input_files(name: str, tensor: Tensor, format: str) -> Iterator[tuple[str, np.ndarray]]:
    """The files of an input: where they lie in the folder, and the array that each holds."""
    for stem, array in zip((name, f"{name}.storage"), _held(tensor), strict=False):
        yield _place(INPUTS, stem, format), array


def _remove_stale(folder: Path, new: Mapping[str, Any]) -> None:
    """Remove inputs and goldens that the manifest here names and the new one does not."""
    try:
        old = load_manifest(folder)
    except ValueError:
        return
    for place in sorted(_written(old) - _written(new)):
        path = folder / place
        if _OWN.fullmatch(place) and not path.parent.is_symlink():
            path.unlink(missing_ok=True)


def _written(manifest: Mapping[str, Any]) -> set[str]:
    """The files of inputs and goldens that a manifest names."""
    inputs, outputs = (manifest.get(key) for key in (INPUTS, OUTPUTS))
    tensors = [e for e in inputs.values() if isinstance(e, dict)] if isinstance(inputs, dict) else []
    entries = [*tensors, *(e.get("storage") for e in tensors)]
    if isinstance(outputs, dict):
        entries += [e.get("golden") for e in outputs.values() if isinstance(e, dict)]
    return {str(e.get("file")) for e in entries if isinstance(e, dict)}


def _spec(spec: TensorSpec) -> dict[str, Any]:
    return {
        "dtype": spec.dtype,
        "shape": list(spec.shape),
        "layout": spec.layout,
        "strides": list(spec.strides),
        "offset": spec.offset,
        "storage_shape": list(spec.storage_shape),
        "format": spec.format,
    }


def _place(group: str, name: str, format: str) -> str:
    return f"{group}/{file_stem(name)}.{format}"


def _file(folder: Path, group: str, name: str, array: np.ndarray, format: str) -> dict[str, Any]:
    place = _place(group, name, format)
    path = folder / place
    path.parent.mkdir(exist_ok=True)
    digest, size = write_array(path, array, format)
    return {"file": place, "dtype": name_of(array.dtype), "bytes": size, "sha256": digest}


def write_array(path: Path, array: np.ndarray, format: str) -> tuple[str, int]:
    """Write one array as .npy or raw; the sha256 and the size of the file."""
    sink = _Sink()
    files.put(path, lambda stream: sink.through(stream, array, format))
    return sink.digest.hexdigest(), sink.size


def array_sha256(array: np.ndarray, format: str) -> str:
    """The sha256 that :func:`write_array` would give."""
    sink = _Sink()
    sink.through(None, array, format)
    return sink.digest.hexdigest()


class _Sink:
    """Hashes what goes by."""

    def __init__(self) -> None:
        self.digest = hashlib.sha256()
        self.size = 0
        self._stream: Any = None

    def through(self, stream: Any, array: np.ndarray, format: str) -> None:
        self._stream = stream
        bits = np.asarray(files.as_bits(array), order="C")
        if format == "npy":
            np.lib.format.write_array(self, bits, version=(1, 0), allow_pickle=False)
        else:
            little = bits if bits.dtype.kind == "V" else bits.astype(bits.dtype.newbyteorder("<"), copy=False)
            self.write(little.reshape(-1).view(np.uint8).data)

    def write(self, data: Any) -> int:
        self.digest.update(data)
        length = memoryview(data).nbytes
        self.size += length
        if self._stream is not None:
            self._stream.write(data)
        return length


def set_aside(folder: Path, call: Call) -> Path | None:
    """Move the outputs of another call out of the way of this one's; where they are then, None where nothing moved."""
    outputs = folder / OUTPUTS
    try:
        manifest: Mapping[str, Any] = load_manifest(folder)
        if not difference(manifest, call):
            return None
    except ValueError:
        manifest = {}
    if not outputs.is_dir() or not any(outputs.iterdir()):
        return None
    label = _UNSAFE.sub("", str(manifest.get("inputs_sha256", "")))[:8] or "old"
    for number in range(1, 1000):
        aside = folder / (f"{OUTPUTS}-{label}" if number == 1 else f"{OUTPUTS}-{label}-{number}")
        if not aside.exists():
            with contextlib.suppress(FileNotFoundError):
                outputs.rename(aside)
            return aside
    raise OSError(0, "too many outputs of earlier inputs lie here", str(folder))
