"""Saved tensors as they lie on disk: mapped into memory where the format allows it, never unpickled.

.npy and .bin are mapped, and so are members that an .npz holds uncompressed; a compressed member is read.
"""

from __future__ import annotations

import math
import re

import numpy as np

from ascend_opcli.errors import SurroundingsError, did_you_mean
from ascend_opcli.model import Shape
from ascend_opcli.tensors import files, torch_file
from ascend_opcli.tensors.dtypes import dtype as dtype_of
from ascend_opcli.tensors.dtypes import name_of, truth

_STYLE = re.compile(r"\x1b\[[0-9;]*m")
SUFFIXES = (".npy", ".npz", ".bin", ".pt", ".pth")


def opened(path: str, dtype: str | None, shape: Shape | None, *, named: str = "a dtype") -> np.ndarray:
    """The tensor in a file; ``PATH:KEY`` names a member of an .npz or the tensor of a .pt that holds several.

    A .bin needs ``dtype`` and ``shape``. Elsewhere the file says its own; ``dtype`` then names what NumPy has
    no name for (the bits of bfloat16 or float8), or must be the same. ``shape`` gives a flat file its shape.
    ``named`` is how a sentence calls the missing dtype. An array is in the byte order of its file. Raises
    ValueError in one sentence.
    """
    file, key = _split(path)
    if file.lower().endswith(".bin"):
        return _raw(file, dtype, shape, named)
    if file.lower().endswith((".pt", ".pth")):
        values = _torch(file, key)
    else:
        values = _typed(file, files.mapped(file, key), dtype)
    if dtype is not None and name_of(values.dtype) != dtype_of(dtype).name:
        raise ValueError(f"{file} holds {name_of(values.dtype)}, not {dtype_of(dtype).name}")
    if shape is not None and values.shape != shape:
        if values.size != math.prod(shape) or values.ndim != 1:
            raise ValueError(f"{file} has the shape {list(values.shape)}, not {list(shape)}")
        values = values.reshape(shape)
    return values


def _split(path: str) -> tuple[str, str | None]:
    """``a.npz:key`` as file and key; a colon elsewhere belongs to the path."""
    for suffix in (".npz", ".pt", ".pth"):
        file, found, key = path.rpartition(suffix + ":")
        if found and key:
            return file + suffix, key
    if not path.lower().endswith(SUFFIXES):
        raise ValueError(f"{path}: saved tensors end in .npy, .npz, .bin or .pt")
    return path, None


def _raw(path: str, dtype: str | None, shape: Shape | None, named: str) -> np.ndarray:
    if dtype is None or shape is None:
        raise ValueError(f"{path} holds raw bytes: say {named} and --shape")
    want = dtype_of(dtype)
    files.fits(path, None, want.name, shape)
    if not math.prod(shape):
        return np.empty(shape, want.numpy)
    stored = np.dtype(f"<u{want.itemsize}") if want.numpy.isbuiltin != 1 else want.numpy.newbyteorder("<")
    if want.kind == "bool":
        stored = np.dtype(np.uint8)
    values: np.ndarray = np.asarray(np.memmap(path, stored, "r", 0, shape))
    if want.kind == "bool":
        return truth(path, values)
    if not values.dtype.isnative:
        values = values.astype(values.dtype.newbyteorder("="))
    return values if values.dtype == want.numpy else values.view(want.numpy)


def _typed(path: str, values: np.ndarray, dtype: str | None) -> np.ndarray:
    """Values under the dtype that they have, or whose bits they are."""
    width, kind = values.dtype.itemsize, values.dtype.kind
    bits = None if dtype is None or kind not in "Vu" else dtype_of(dtype)
    if (
        bits is not None
        and bits.numpy.isbuiltin != 1
        and bits.itemsize == width
        and kind + str(width) != "u1"
    ):
        if not values.dtype.isnative:
            # ml_dtypes knows no byte order: what is 2 bytes wide is turned round at once.
            values = values.astype(values.dtype.newbyteorder("="))
        return values.view(bits.numpy)
    if kind == "V":
        # NumPy writes bfloat16 so; there is nothing else of that width.
        if width != 2:
            raise ValueError(f"{path} holds raw bytes of width {width}: say --dtype")
        return values.view(dtype_of("bfloat16").numpy)
    return values


def _torch(path: str, key: str | None) -> np.ndarray:
    if key is None:
        # One plain tensor needs no PyTorch, which takes a second to import; whatever else is PyTorch's own.
        try:
            return torch_file.mapped(path)
        except torch_file.NotPlain:
            pass
    try:
        import torch
    except ImportError:
        raise SurroundingsError(
            f"{path} needs PyTorch, which is not installed: pip install 'ascend-opcli[torch]'"
        ) from None
    try:
        try:
            found = torch.load(path, map_location="cpu", weights_only=True, mmap=True)
        except RuntimeError:  # the older format cannot be mapped
            found = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # whatever a file that nobody vouches for makes of torch
        lines = str(error).splitlines() or [type(error).__name__]
        first = _STYLE.sub("", lines[0]).partition(". ")[0]
        if "PytorchStreamReader" in first:
            raise ValueError(f"{path}: it is damaged") from None
        raise ValueError(f"{path} cannot be read as tensors alone (weights_only): {first}") from None
    if isinstance(found, dict):
        known = [str(name) for name in found]
        if key is None and len(known) == 1:
            key = known[0]
        if key is None or key not in found:
            listed = f"; it has {', '.join(known[:20]) or 'none'}"
            if key is None:
                raise ValueError(f"{path} has {len(known)} tensors: choose one by {path}:KEY" + listed)
            raise ValueError(f"{path} has no tensor '{key}'" + did_you_mean(key, known, otherwise=listed))
        found = found[key]
    elif key is not None:
        raise ValueError(f"{path} holds one tensor, '{key}' cannot be chosen")
    if not isinstance(found, torch.Tensor):
        raise ValueError(f"{path} holds {type(found).__name__}, not a tensor")
    values = of_tensor(path, found.detach())
    return truth(path, values) if values.dtype == np.bool_ else values


def of_tensor(path: str, tensor: object) -> np.ndarray:
    """A tensor of PyTorch on the CPU as an array that shares its memory; ValueError for a dtype that is not ours."""
    import torch

    assert isinstance(tensor, torch.Tensor)
    name = str(tensor.dtype).removeprefix("torch.")
    try:
        want = dtype_of(name)
    except ValueError as error:
        raise ValueError(f"{path} holds {name}: {error}") from None
    if want.numpy.isbuiltin == 1:
        return np.asarray(tensor.numpy())
    bits = tensor.view(torch.int16 if want.itemsize == 2 else torch.uint8)
    return np.asarray(bits.numpy()).view(want.numpy)
