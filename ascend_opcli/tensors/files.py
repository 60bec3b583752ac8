"""Reading the values of a tensor from .npy, .npz, .pt and raw .bin files that nobody vouches for.

Nothing is unpickled, headers are bounded, and no more is read or allocated than the tensor that was asked
for has.
"""

# More than 400 lines: the readers of .npy, .npz and raw files share their bounds.
from __future__ import annotations

import ast
import math
import os
import re
import stat
import tempfile
import warnings
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np

from ascend_opcli.errors import did_you_mean
from ascend_opcli.model import Shape
from ascend_opcli.tensors import torch_file
from ascend_opcli.tensors.damage import BROKEN, why
from ascend_opcli.tensors.dtypes import DTYPES, DType, integer_range, round_to, truth
from ascend_opcli.tensors.dtypes import dtype as dtype_of

MAX_HEADER = 10_000
"""Bytes of a .npy header; NumPy's own limit for literal_eval."""

_MAGIC = b"\x93NUMPY"
_PIECE = 2**20
# Plain numbers only: no objects, records, strings or dates. V is how NumPy writes bfloat16 and float8.
_PLAIN = re.compile(r"[<>|=]?([biufcV]\d{1,2}|\?)")


@dataclass(frozen=True, slots=True)
class FileInfo:
    """What a file says about itself.

    ``format`` is npy, npz, pt or bin; ``dtype`` NumPy's name of the dtype and ``shape``, both None for .bin and
    for an .npz of which no member was chosen; ``nbytes`` the bytes of the data; ``keys`` the members of an
    .npz.
    """

    format: str
    dtype: str | None
    shape: Shape | None
    nbytes: int
    keys: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Header:
    dtype: np.dtype[Any]
    shape: Shape
    fortran: bool
    size: int

    @property
    def nbytes(self) -> int:
        return math.prod(self.shape) * self.dtype.itemsize


def describe(path: str, key: str | None = None) -> FileInfo:
    """Reads headers only. An .npz with one member needs no ``key``. ValueError for a file that is unfit."""
    format = _format(path, key)
    size = _size(path)
    if format == "bin":
        return FileInfo(format, None, None, size)
    if format == "pt":
        tensor = torch_file.header(path)
        return FileInfo(format, tensor.dtype, tensor.shape, tensor.nbytes)
    if format == "npy":
        header = _npy_header(path, size)
        return FileInfo(format, header.dtype.name, header.shape, header.nbytes)
    with _Archive(path) as archive:
        keys = archive.keys
        if key is None and len(keys) != 1:
            return FileInfo(format, None, None, size, keys)
        stream, header = archive.open(key)
        stream.close()
    return FileInfo(format, header.dtype.name, header.shape, header.nbytes, keys)


def other_dtype(path: str, key: str | None, dtype: str) -> str | None:
    """The dtype that a file says it holds where that is neither this one nor its bits; None too where it says none.

    Raises ValueError for a file that is unfit.
    """
    found = describe(path, key).dtype
    bits = {"bfloat16": ("uint16", "void16")}.get(dtype, ("void8",) if dtype.startswith("float8") else ())
    return None if found is None or found == dtype or found in bits else found


def fits(path: str, key: str | None, dtype: str, shape: Shape) -> None:
    """ValueError where the file's header already shows that :func:`read` would refuse it."""
    want = dtype_of(dtype)
    format = _format(path, key)
    size = _size(path)
    if format == "bin":
        _check_bin(path, size, want, shape)
    elif format == "pt":
        _check_torch(path, torch_file.header(path), want, shape)
    elif format == "npy":
        _check_header(path, _npy_header(path, size), want, shape)
    else:
        with _Archive(path) as archive:
            stream, header = archive.open(key)
            stream.close()
        _check_header(path, header, want, shape)


def read(path: str, key: str | None, dtype: str, shape: Shape) -> np.ndarray:
    """The file's values as a flat row-major array of the dtype; may be a read-only map of the file.

    .npy and .npz: the shape must be ``shape`` or flat of the same count. Floats and integers are rounded to
    a float dtype; integers must lie within an integer dtype; floats do not become integers, complex not
    real, only 0 and 1 become bool. uint16, and NumPy's V2, count as the bits of a declared bfloat16, V1 as
    those of a float8. .pt: one tensor as torch.save writes it. .bin: raw little-endian values of the dtype,
    exactly as many as the shape has. ValueError otherwise.
    """
    want = dtype_of(dtype)
    format = _format(path, key)
    size = _size(path)
    if format == "bin":
        _check_bin(path, size, want, shape)
        with _sentence(path):
            return _native(np.fromfile(path, _little(want)), want)
    if format == "pt":
        _check_torch(path, torch_file.header(path), want, shape)
        tensor = torch_file.mapped(path).reshape(-1)
        return tensor if tensor.dtype == want.numpy else _converted(path, tensor, want)
    if format == "npy":
        header = _npy_header(path, size)
        _check_header(path, header, want, shape)
        count = math.prod(shape)
        if not count:
            return np.empty(0, want.numpy)
        with _sentence(path):
            values: np.ndarray = np.asarray(np.memmap(path, header.dtype, "r", header.size, (count,)))
    else:
        with _Archive(path) as archive:
            stream, header = archive.open(key)
            with stream:
                _check_header(path, header, want, shape)
                values = archive.values(stream, header)
    if header.fortran and len(header.shape) > 1:
        values = values.reshape(header.shape, order="F").reshape(-1)
    return _converted(path, values, want)


def mapped(path: str, key: str | None = None) -> np.ndarray:
    """The array of an .npy or of an .npz member as the file has it, read-only and mapped where that is possible.

    An .npz with one member needs no ``key``. A compressed member is read; one that is stored is read through
    once, for its CRC-32. The dtype is the file's own, V2 and V1 for what NumPy cannot name. ValueError in one
    sentence for a file that is unfit.
    """
    format = _format(path, key)
    size = _size(path)
    if format == "bin":
        raise ValueError(f"{path} holds raw bytes")
    if format == "pt":
        return torch_file.mapped(path)
    if format == "npy":
        header, start = _npy_header(path, size), 0
    else:
        with _Archive(path) as archive:
            stream, header = archive.open(key)
            with stream:
                found = archive.start(key)
                if found is None:
                    return _shaped(path, archive.values(stream, header), header)
                archive.proven(stream)
                start = found
    if not math.prod(header.shape):
        return np.empty(header.shape, header.dtype)
    with _sentence(path):
        flat = np.memmap(path, header.dtype, "r", start + header.size, (math.prod(header.shape),))
    return _shaped(path, np.asarray(flat), header)


def _shaped(path: str, flat: np.ndarray, header: _Header) -> np.ndarray:
    flat = truth(path, flat) if flat.dtype == np.bool_ else flat
    return flat.reshape(header.shape, order="F" if header.fortran else "C")


def as_bits(array: np.ndarray) -> np.ndarray:
    """The array as a file of NumPy's can hold it: bfloat16 as uint16 and float8 as raw bytes, by their bits."""
    # Not isbuiltin: a dtype that has come through a pickle is no longer NumPy's own object.
    known = DTYPES.get(array.dtype.name)
    if known is None or known.numpy.isbuiltin == 1:
        return array
    return array.view(np.uint16 if array.dtype.itemsize == 2 else "V1")


def regular(path: str) -> IO[bytes]:
    """A file opened for reading; a pipe or a device, which could hold up for ever, is refused. Raises ValueError."""
    with _sentence(path):
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
        if stat.S_ISREG(os.fstat(handle).st_mode):
            return os.fdopen(handle, "rb")
        os.close(handle)
    raise ValueError(f"{path} is not a regular file")


def put(path: Path, write: Callable[[IO[bytes]], object]) -> None:
    """A file written by ``write``, whole or not at all."""
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".opcli-")
    try:
        with os.fdopen(handle, "wb") as stream:
            write(stream)
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary)
        raise


# --- formats ------------------------------------------------------------------------------------------------


def _format(path: str, key: str | None) -> str:
    suffix = os.path.splitext(path)[1].lower()
    if suffix not in (".npy", ".npz", ".bin", *torch_file.SUFFIXES):
        raise ValueError(f"{path}: data files end in .npy, .npz, .bin or .pt")
    if key is not None and suffix != ".npz":
        raise ValueError(f"{path}: only an .npz has members, '{key}' cannot be chosen")
    return "pt" if suffix in torch_file.SUFFIXES else suffix[1:]


@contextmanager
def _sentence(path: str) -> Iterator[None]:
    """What the operating system refuses, as a ValueError."""
    try:
        yield
    except OSError as error:
        raise ValueError(f"{path} cannot be read: {error.strerror or error}") from error


def _size(path: str) -> int:
    with _sentence(path):
        found = os.stat(path)
    if not stat.S_ISREG(found.st_mode):
        raise ValueError(f"{path} is not a regular file")
    return found.st_size


def _npy_header(path: str, size: int) -> _Header:
    with _sentence(path), regular(path) as stream:
        header = _header(path, stream)
    if size - header.size != header.nbytes:
        raise ValueError(
            f"{path}: the header promises {header.nbytes} bytes of data, the file has {size - header.size}"
        )
    return header


def _header(where: str, stream: IO[bytes]) -> _Header:
    """The header of the .npy format, versions 1 to 3 (NumPy Enhancement Proposal 1)."""
    start = stream.read(8)
    if len(start) < 8 or start[:6] != _MAGIC or start[6] not in (1, 2, 3):
        raise ValueError(f"{where} is not in the .npy format")
    width = 2 if start[6] == 1 else 4
    length = int.from_bytes(stream.read(width), "little")
    if length > MAX_HEADER:
        raise ValueError(f"{where}: a header of {length} bytes, more than the limit of {MAX_HEADER}")
    text = stream.read(length)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Python's remarks on the text of a hostile header
            fields = ast.literal_eval(text.decode("latin1" if start[6] < 3 else "utf-8").strip())
        descr, fortran, shape = fields["descr"], fields["fortran_order"], fields["shape"]
        sound = (
            type(fortran) is bool and type(shape) is tuple and all(type(n) is int and n >= 0 for n in shape)
        )
    except (ValueError, SyntaxError, TypeError, KeyError, RecursionError, MemoryError) as error:
        raise ValueError(f"{where}: the .npy header cannot be read") from error
    if len(text) != length or not sound:
        raise ValueError(f"{where}: the .npy header cannot be read")
    if not isinstance(descr, str) or not _PLAIN.fullmatch(descr):
        raise ValueError(f"{where} holds {descr!r}, not plain numbers (objects are never unpickled)")
    try:
        numpy = np.dtype(descr)
    except TypeError as error:
        raise ValueError(f"{where} holds {descr!r}, which NumPy does not know") from error
    if numpy.kind != "V" and numpy.name not in DTYPES:
        raise ValueError(f"{where} holds {numpy.name}, which opcli does not read")
    return _Header(numpy, shape, fortran, 8 + width + length)


class _Archive:
    """An .npz: a zip archive of .npy members."""

    def __init__(self, path: str) -> None:
        self.path = path
        try:
            self._zip = zipfile.ZipFile(path)
        except (*BROKEN, ValueError) as error:
            raise ValueError(f"{path} is not a readable .npz: {why(error)}") from error

    def __enter__(self) -> _Archive:
        return self

    def __exit__(self, *_: object) -> None:
        self._zip.close()

    @property
    def keys(self) -> tuple[str, ...]:
        return tuple(name.removesuffix(".npy") for name in self._zip.namelist())

    def open(self, key: str | None) -> tuple[IO[bytes], _Header]:
        """The stream of a member, its header read. The sizes that archive and header promise agree."""
        keys = self.keys
        if key is None:
            if len(keys) != 1:
                raise ValueError(f"{self.path} has {len(keys)} members: choose one by {self.path}:KEY")
            key = keys[0]
        if key not in keys:
            known = f"; it has {', '.join(keys[:20]) or 'none'}"
            raise ValueError(f"{self.path} has no member '{key}'" + did_you_mean(key, keys, otherwise=known))
        info = self._zip.getinfo(self._zip.namelist()[keys.index(key)])
        where = f"{self.path}:{key}"
        # What NumPy writes; the memory that the others need is for the file to say.
        if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise ValueError(f"{where} is compressed by a method that NumPy does not use")
        try:
            stream = self._zip.open(info)
        except BROKEN as error:
            raise ValueError(f"{where} cannot be read: {why(error)}") from error
        try:
            header = _header(where, stream)
            if info.file_size - header.size != header.nbytes:
                held = info.file_size - header.size
                raise ValueError(
                    f"{where}: the header promises {header.nbytes} bytes of data, the member has {held}"
                )
        except BROKEN as error:
            stream.close()
            raise ValueError(f"{where} cannot be read: {why(error)}") from error
        except ValueError:
            stream.close()
            raise
        return stream, header

    def start(self, key: str | None) -> int | None:
        """Where a member's bytes begin in the archive's file; None where they are compressed."""
        keys = self.keys
        info = self._zip.getinfo(self._zip.namelist()[keys.index(keys[0] if key is None else key)])
        if info.compress_type != zipfile.ZIP_STORED:
            return None
        # The local header before the data has lengths of its own for the name and for what is extra.
        with _sentence(self.path), open(self.path, "rb") as file:
            file.seek(info.header_offset + 26)
            lengths = file.read(4)
        name, extra = (int.from_bytes(lengths[i : i + 2], "little") for i in (0, 2))
        return info.header_offset + 30 + name + extra

    def proven(self, stream: IO[bytes]) -> None:
        """Reads a member to its end, piece by piece: there zipfile compares the checksum."""
        try:
            while stream.read(_PIECE):
                pass
        except BROKEN as error:
            raise ValueError(f"{self.path} cannot be read: {why(error)}") from error

    def values(self, stream: IO[bytes], header: _Header) -> np.ndarray:
        """The data after the header, never more than it promises, flat and in the order of the file."""
        result = np.empty(math.prod(header.shape), header.dtype)
        target = result.view(np.uint8)
        filled = 0
        try:
            while filled < header.nbytes:
                piece = stream.read(min(_PIECE, header.nbytes - filled))
                if not piece:
                    raise EOFError("it ends early")
                target[filled : filled + len(piece)] = np.frombuffer(piece, np.uint8)
                filled += len(piece)
            stream.read(1)  # reaching the end lets zipfile compare the checksum
        except BROKEN as error:
            raise ValueError(f"{self.path} cannot be read: {why(error)}") from error
        return result


# --- fitting ------------------------------------------------------------------------------------------------


def _check_bin(path: str, size: int, want: DType, shape: Shape) -> None:
    needed = math.prod(shape) * want.itemsize
    if size != needed:
        raise ValueError(f"{path} has {size} bytes, but {want.name} {list(shape)} needs {needed}")


def _check_header(path: str, header: _Header, want: DType, shape: Shape) -> None:
    count = math.prod(shape)
    if header.shape != tuple(shape) and header.shape != (count,):
        raise ValueError(f"{path} has the shape {list(header.shape)}, but the tensor has {list(shape)}")
    have = header.dtype.kind
    if have == "V" and not _is_bits(header.dtype, want):
        raise ValueError(f"{path} holds raw bytes of width {header.dtype.itemsize}, which are no {want.name}")
    refused = (have == "c" and want.kind != "complex") or (
        have == "f" and want.kind in ("int", "uint", "bool")
    )
    if refused:
        raise ValueError(f"{path} holds {header.dtype.name}, which does not become {want.name} without loss")


def _check_torch(path: str, header: torch_file.Header, want: DType, shape: Shape) -> None:
    numpy = DTYPES[header.dtype].numpy
    if numpy.isbuiltin != 1 and header.dtype != want.name:
        raise ValueError(f"{path} holds {header.dtype}, not {want.name}")
    if header.dtype != want.name or header.shape != tuple(shape):
        _check_header(path, _Header(numpy, header.shape, False, 0), want, shape)


def _is_bits(numpy: np.dtype[Any], want: DType) -> bool:
    """Whether values of that NumPy dtype are the bits of a declared dtype that NumPy does not have."""
    if want.name == "bfloat16":
        return numpy.kind in "uV" and numpy.itemsize == 2
    return want.name.startswith("float8") and numpy.kind == "V" and numpy.itemsize == 1


def _converted(path: str, values: np.ndarray, want: DType) -> np.ndarray:
    values = values.astype(values.dtype.newbyteorder("="), copy=False)
    if _is_bits(values.dtype, want):
        return values.view(want.numpy)
    if values.dtype.kind == "b":
        values = values.view(np.uint8) != 0
    if values.dtype.kind in "iu" and want.kind in ("int", "uint", "bool") and values.size:
        low, high = (0, 1) if want.kind == "bool" else integer_range(want.name)
        for value in (int(values.min()), int(values.max())):
            if not low <= value <= high:
                raise ValueError(f"{path} holds {value}, which is not a value of {want.name}")
    return round_to(values, want.name)


def _little(want: DType) -> np.dtype[Any]:
    """The dtype under which raw bytes are read; those of ml_dtypes as unsigned integers, bool as bytes."""
    if want.kind == "bool" or want.numpy.isbuiltin != 1:
        return np.dtype(f"<u{want.itemsize}")
    little: np.dtype[Any] = want.numpy.newbyteorder("<")
    return little


def _native(values: np.ndarray, want: DType) -> np.ndarray:
    values = values.astype(values.dtype.newbyteorder("="), copy=False)
    if want.kind == "bool":
        found: np.ndarray = values != 0
        return found
    return values.view(want.numpy) if values.dtype != want.numpy else values
