"""The one tensor that ``torch.save`` has written into a file, read without PyTorch and without unpickling.

The file is a zip archive: ``data.pkl`` describes the tensor, ``data/KEY`` holds the elements of its storage. The
pickle is read as a list of opcodes (``pickletools.genops``), and only those that torch.save needs for one tensor are
followed: they build tuples, numbers and names. A name is a pair of words here, nothing is imported and nothing is
called. After the public torch/_utils.py and torch/serialization.py, and torch_npu/utils/storage.py for tensors that
were saved on an NPU, whose elements lie row by row whatever their format was.
"""

from __future__ import annotations

import math
import os
import pickletools
import stat
import zipfile
from dataclasses import dataclass
from typing import Any

import numpy as np

from ascend_opcli.model import Shape
from ascend_opcli.tensors.damage import BROKEN, why
from ascend_opcli.tensors.dtypes import DTYPES, truth

SUFFIXES = (".pt", ".pth")
MAX_PICKLE = 2**16
"""Bytes of the pickle of one tensor; it has some 500."""
MAX_RANK = 64
_PIECE = 2**20

_V2, _V3 = "torch._utils._rebuild_tensor_v2", "torch._utils._rebuild_tensor_v3"
_NPU = "torch_npu.utils.storage._rebuild_npu_tensor"
_PARAMETER = "torch._utils._rebuild_parameter"
_DICT = "collections.OrderedDict"
_UNTYPED = "torch.storage.UntypedStorage"
_STORAGES = {
    "torch.DoubleStorage": "float64",
    "torch.FloatStorage": "float32",
    "torch.HalfStorage": "float16",
    "torch.BFloat16Storage": "bfloat16",
    "torch.LongStorage": "int64",
    "torch.IntStorage": "int32",
    "torch.ShortStorage": "int16",
    "torch.CharStorage": "int8",
    "torch.ByteStorage": "uint8",
    "torch.BoolStorage": "bool",
    "torch.ComplexFloatStorage": "complex64",
    "torch.ComplexDoubleStorage": "complex128",
}
_PUSHES = {"BININT", "BININT1", "BININT2", "LONG1", "BINUNICODE", "SHORT_BINUNICODE", "BINUNICODE8"}
_CONSTANTS: dict[str, Any] = {"NONE": None, "NEWTRUE": True, "NEWFALSE": False, "EMPTY_TUPLE": ()}
_TUPLES = {"TUPLE1": 1, "TUPLE2": 2, "TUPLE3": 3}
_MARK = object()


_COMPRESSIONS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA)


class NotPlain(ValueError):
    """The file holds something else than one plain tensor, in one sentence."""


class OtherContent(NotPlain):
    """The archive is sound, and what was saved is not one plain tensor."""


@dataclass(frozen=True, slots=True)
class _Name:
    """A name of the pickle, which stands for itself and is never looked up."""

    text: str


@dataclass(frozen=True, slots=True)
class _Result:
    """What the pickle says a function of that name would make of these arguments."""

    name: str
    arguments: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class _Stored:
    """The storage that a tensor looks into: its dtype (None: bytes), its member, its elements."""

    dtype: str | None
    key: str
    count: int


@dataclass(frozen=True, slots=True)
class Header:
    """One tensor of a file: dtype by name, shape, strides and offset in elements, and where its storage lies."""

    dtype: str
    shape: Shape
    strides: Shape
    offset: int
    start: int
    count: int

    @property
    def nbytes(self) -> int:
        """Bytes of the tensor's own elements."""
        return math.prod(self.shape) * DTYPES[self.dtype].itemsize


def header(path: str) -> Header:
    """What the file says of its tensor; no element is read. Raises ValueError in one sentence."""
    with _opened(path) as archive:
        return _header(path, archive)[0]


def mapped(path: str) -> np.ndarray:
    """The tensor as a read-only view of the file, its checksum compared. Raises ValueError in one sentence."""
    with _opened(path) as archive:
        found, info = _header(path, archive)
        try:
            with archive.open(info) as stream:
                while stream.read(_PIECE):
                    pass  # at its end zipfile compares the checksum
        except BROKEN as error:
            raise ValueError(f"{path} cannot be read: {why(error)}") from None
    dtype = DTYPES[found.dtype].numpy
    if not math.prod(found.shape):
        return np.empty(found.shape, dtype)
    stored = np.dtype(np.uint8) if found.dtype == "bool" else dtype
    if stored.isbuiltin != 1:
        stored = np.dtype(f"<u{dtype.itemsize}")
    try:
        flat = np.asarray(np.memmap(path, stored, "r", found.start, (found.count,)))
    except (OSError, ValueError) as error:
        raise ValueError(f"{path} cannot be read: {why(error)}") from None
    if found.dtype == "bool":
        truth(path, flat)
    strides = tuple(s * dtype.itemsize for s in found.strides)
    seen = np.lib.stride_tricks.as_strided(flat[found.offset :], found.shape, strides, writeable=False)
    return seen.view(dtype)


def _opened(path: str) -> zipfile.ZipFile:
    try:
        found = os.stat(path)
        if not stat.S_ISREG(found.st_mode):
            raise ValueError(f"{path} is not a regular file")
        if not zipfile.is_zipfile(path):
            raise NotPlain(
                f"{path} is no zip archive: torch.save has written zip archives since PyTorch 1.6, what is older is"
                " a pickle and is not read"
            )
        return zipfile.ZipFile(path)
    except BROKEN as error:
        raise ValueError(f"{path} cannot be read: {why(error)}") from None


def _header(path: str, archive: zipfile.ZipFile) -> tuple[Header, zipfile.ZipInfo]:
    names = archive.namelist()
    pickles = [n for n in names if n.count("/") == 1 and n.endswith("/data.pkl")]
    if len(pickles) != 1:
        raise NotPlain(f"{path} is no archive of torch.save: it has {len(pickles)} members named data.pkl")
    prefix = pickles[0].removesuffix("data.pkl")
    if _small(path, archive, prefix + "byteorder", names, b"little") != b"little":
        raise NotPlain(f"{path} was saved on a big-endian machine, which is not read")
    try:
        top = _follow(_small(path, archive, pickles[0], names))
        dtype, stored, offset, shape, strides = _tensor(top)
    except NotPlain as error:
        raise OtherContent(
            f"{path} is not read, it holds something else than one plain tensor: {error}"
        ) from None
    width = DTYPES[dtype].itemsize
    member = f"{prefix}data/{stored.key}"
    if names.count(member) != 1:
        raise ValueError(f"{path} has no member {member[:100]!r} with the elements of its tensor")
    info = archive.getinfo(member)
    if info.compress_type != zipfile.ZIP_STORED:
        raise NotPlain(f"{path} is compressed, which torch.save never does")
    total = stored.count * (width if stored.dtype is not None else 1)
    if info.file_size != total or info.compress_size != total:
        raise ValueError(f"{path} promises {total:,} bytes of elements, the archive has {info.file_size:,}")
    count = total // width
    last = offset + sum((n - 1) * s for n, s in zip(shape, strides, strict=True))
    if math.prod(shape) and last >= count:
        raise ValueError(f"{path}: element {last} of the tensor lies behind the {count} of its storage")
    return Header(dtype, shape, strides, offset, _start(path, info, total), count), info


def _small(
    path: str, archive: zipfile.ZipFile, name: str, names: list[str], absent: bytes | None = None
) -> bytes:
    """A small member of the archive, or what stands for one that is not there."""
    if absent is not None and name not in names:
        return absent
    try:
        info = archive.getinfo(name)
        stored = info.compress_type == zipfile.ZIP_STORED
        if (stored and info.file_size != info.compress_size) or info.compress_type not in _COMPRESSIONS:
            raise ValueError(f"{path} cannot be read: what it says of its {name[-40:]!r} contradicts itself")
        if info.file_size > MAX_PICKLE or not stored:
            raise NotPlain(
                f"{path}: its {name[-40:]!r} has {info.file_size:,} bytes or is compressed; one tensor's"
                f" is stored and has at most {MAX_PICKLE:,}"
            )
        with archive.open(info) as stream:
            return stream.read(MAX_PICKLE + 1)
    except BROKEN as error:
        raise ValueError(f"{path} cannot be read: {why(error)}") from None


def _start(path: str, info: zipfile.ZipInfo, total: int) -> int:
    """Where the member's bytes begin; its local header has lengths of its own for the name and what is extra."""
    try:
        with open(path, "rb") as file:
            file.seek(info.header_offset + 26)
            lengths = file.read(4)
            start = (
                info.header_offset + 30 + sum(int.from_bytes(lengths[i : i + 2], "little") for i in (0, 2))
            )
            if start + total > os.fstat(file.fileno()).st_size:
                raise ValueError(f"{path} ends before the elements of its tensor do")
            return start
    except OSError as error:
        raise ValueError(f"{path} cannot be read: {error.strerror or error}") from None


# --- the pickle -----------------------------------------------------------------------------------------------


def _follow(pickle: bytes) -> Any:
    """The object that the pickle describes, in tuples, numbers, texts and names. Raises NotPlain."""
    stack: list[Any] = []
    memo: dict[int, Any] = {}
    try:
        for opcode, read, _ in pickletools.genops(pickle):
            name = opcode.name
            argument: Any = read
            if name in ("PROTO", "FRAME"):
                continue
            if name == "STOP":
                (top,) = stack
                return top
            if name in ("BINPUT", "LONG_BINPUT", "MEMOIZE"):
                memo[len(memo) if argument is None else argument] = stack[-1]
            elif name in ("BINGET", "LONG_BINGET"):
                stack.append(memo[argument])
            else:
                _step(name, argument, stack)
    except NotPlain:
        raise
    except Exception:  # whatever a stranger's bytes make of genops and of the stack
        raise NotPlain("its pickle is broken") from None
    raise NotPlain("its pickle is broken")


def _step(name: str, argument: Any, stack: list[Any]) -> None:
    if name in _PUSHES:
        stack.append(argument)
    elif name in _CONSTANTS:
        stack.append(_CONSTANTS[name])
    elif name == "MARK":
        stack.append(_MARK)
    elif name == "GLOBAL":
        stack.append(_Name(argument.replace(" ", ".")))
    elif name == "STACK_GLOBAL":
        word, module = stack.pop(), stack.pop()
        stack.append(_Name(f"{module}.{word}"))
    elif name == "TUPLE":
        at = max(i for i, item in enumerate(stack) if item is _MARK)
        stack[at:] = [tuple(stack[at + 1 :])]
    elif name in _TUPLES:
        at = len(stack) - _TUPLES[name]
        if at < 0:
            raise IndexError
        stack[at:] = [tuple(stack[at:])]
    elif name == "BINPERSID":
        stack.append(_storage(stack.pop()))
    elif name == "REDUCE":
        arguments, function = stack.pop(), stack.pop()
        if not isinstance(function, _Name) or function.text not in (_V2, _V3, _NPU, _PARAMETER, _DICT):
            called = function.text if isinstance(function, _Name) else "something"
            raise NotPlain(f"its pickle would call {_word(called)}, which is not done")
        stack.append(_Result(function.text, arguments))
    else:
        raise NotPlain(f"its pickle has the opcode {name}, of which one tensor has no need")


def _word(text: str) -> str:
    return "".join(c if c.isprintable() else "?" for c in text[:80])


def _storage(identity: Any) -> _Stored:
    match identity:
        case ("storage", _Name(text), str(key), str(), int(count)) if key.isalnum() and count >= 0:
            if text == _UNTYPED:
                return _Stored(None, key, count)
            if text in _STORAGES:
                return _Stored(_STORAGES[text], key, count)
            raise NotPlain(f"its storage is of the type {_word(text)}, which opcli does not read")
    raise NotPlain("its storage cannot be read")


def _tensor(top: Any) -> tuple[str, _Stored, int, Shape, Shape]:
    """Dtype, storage, offset, shape and strides of what the pickle describes."""
    match top:
        case _Result(name, (inner, bool(), _Result(hooks, ()))) if name == _PARAMETER and hooks == _DICT:
            return (
                _tensor(inner) if isinstance(inner, _Result) and inner.name != _PARAMETER else _tensor(None)
            )
        case _Result(
            name, (_Stored() as stored, offset, shape, strides, bool(), _Result(hooks, ()), *more)
        ) if hooks == _DICT:
            dtype = _dtype(name, stored, more)
            if not (_sizes(shape) and _sizes(strides) and len(shape) == len(strides) and _sizes((offset,))):
                raise NotPlain("its shape, strides or offset are no whole numbers from 0 on")
            return dtype, stored, offset, shape, strides
    raise NotPlain("it is no tensor, or one with more about it, such as a conjugated view")


def _dtype(name: str, stored: _Stored, more: list[Any]) -> str:
    match (name, more):
        case (called, []) if called == _V2 and stored.dtype is not None:
            return stored.dtype
        case (called, [bool() | int()]) if called == _NPU and stored.dtype is not None:
            return stored.dtype
        case (called, [_Name(text)]) if called == _V3 and stored.dtype is None:
            dtype = text.removeprefix("torch.")
            if dtype in DTYPES:
                return dtype
            raise NotPlain(f"its dtype {_word(text)} is none that opcli reads")
    raise NotPlain("it is no tensor, or one with more about it, such as a conjugated view")


def _sizes(value: Any) -> bool:
    return (
        isinstance(value, tuple)
        and len(value) <= MAX_RANK
        and all(type(n) is int and 0 <= n < 2**62 for n in value)
    )
