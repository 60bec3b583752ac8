"""Tensors as a candidate takes them: NumPy arrays, PyTorch tensors on the CPU, or on an NPU.

Every tensor of a call looks into a storage of its own. In the memory of the host there are guard zones around it.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np

from ascend_opcli.backends.observed import GUARD, GUARD_BYTE, damaged, storage_bytes
from ascend_opcli.model import Tensor, TensorSpec
from ascend_opcli.tensors.dtypes import name_of, numpy_dtype
from ascend_opcli.tensors.layout import view
from ascend_opcli.tensors.saved import of_tensor

Span = tuple[str, int, int]
"""A device, and the addresses between which a tensor's elements lie."""


class NoTensor(Exception):
    """A dtype that this kind of tensor does not have."""


class NotReadable(Exception):
    """A tensor whose values are no output's: in a few words what it is."""


class NotUsable(Exception):
    """PyTorch or torch_npu cannot be used here."""


class GuardedBuffer:
    """The storage of one tensor in host memory between two guard zones, as bytes."""

    def __init__(self, spec: TensorSpec) -> None:
        self.spec = spec
        self.nbytes = storage_bytes(spec)
        # Memory from NumPy is aligned to 16 bytes only; kernels expect more.
        whole = np.full(self.nbytes + 2 * GUARD + 64, GUARD_BYTE, np.uint8)
        start = GUARD + -(whole.ctypes.data + GUARD) % 64
        self._before = whole[start - GUARD : start]
        self._after = whole[start + self.nbytes : start + self.nbytes + GUARD]
        self.bytes = whole[start : start + self.nbytes]

    def write(self, content: np.ndarray) -> None:
        """Set every byte."""
        self.bytes[...] = content

    def read(self) -> np.ndarray:
        """The bytes as they are now, in an array of their own."""
        return np.array(self.bytes)

    def damage(self) -> str:
        """How the guard zones were overwritten; empty where they were not."""
        return damaged(self._before, self._after, self.nbytes)

    def tensor(self) -> Any:
        """What the candidate is handed."""
        return view(Tensor(self.spec, self.bytes.view(numpy_dtype(self.spec.dtype))))


class Numpy:
    """Arrays of NumPy; bfloat16 and float8 are those of ml_dtypes."""

    name = "numpy"

    def buffer(self, spec: TensorSpec) -> GuardedBuffer:
        """A storage for one tensor."""
        return GuardedBuffer(spec)

    def wait(self) -> None:
        """Nothing is left undone when a function returns."""

    def is_tensor(self, value: object) -> bool:
        """Whether a function may return this."""
        return isinstance(value, (np.ndarray, np.generic))

    def plain(self, value: Any) -> Any:
        """The tensor without its subclass. Raises NotReadable, and whatever methods of the subclass raise."""
        if isinstance(value, np.ma.MaskedArray):
            raise NotReadable("a masked array, and an output has no mask")
        if isinstance(value, np.generic):
            return np.asarray(value)
        if type(value) is np.ndarray:
            return value
        # Whoever uses it asks these first.
        _ = value.shape, value.dtype, value.strides
        return np.ndarray.view(value, np.ndarray)

    def dtype(self, value: Any) -> str:
        """The name of its dtype."""
        try:
            return name_of(value.dtype)
        except ValueError:
            return str(value.dtype)

    def array(self, value: Any) -> np.ndarray:
        """Its values, copied."""
        return np.array(value, order="C", subok=False)

    def span(self, value: Any) -> Span | None:
        """Where its elements lie."""
        if not isinstance(value, np.ndarray) or not value.size:
            return None
        low = high = int(value.__array_interface__["data"][0])
        for dim, step in zip(value.shape, value.strides, strict=True):
            low, high = low + min(0, (dim - 1) * step), high + max(0, (dim - 1) * step)
        return "cpu", low, high + value.itemsize

    def fill(self, value: Any, byte: int) -> Callable[[], object] | None:
        """Overwrite its bytes; what puts them back, or None where that is not allowed."""
        if not isinstance(value, np.ndarray) or not value.flags.writeable or value.dtype.hasobject:
            return None
        raw = value.view(f"V{value.itemsize}")
        before = raw.copy()
        raw[...] = np.frombuffer(bytes([byte]) * value.itemsize, raw.dtype)[0]
        return lambda: np.copyto(raw, before)


class TorchBuffer(GuardedBuffer):
    """The same memory as a tensor of PyTorch, or its copy on an NPU."""

    def __init__(self, spec: TensorSpec, npu: bool) -> None:
        super().__init__(spec)
        self._npu = npu
        self._flat: Any = None

    def tensor(self) -> Any:
        """A view with the spec's strides."""
        import torch

        spec = self.spec
        want = getattr(torch, spec.dtype, None)
        if want is None:
            raise NoTensor(f"this PyTorch has no dtype {spec.dtype}")
        flat: Any = torch.from_numpy(self.bytes).view(want)  # torch_npu adds .npu()
        if self._npu:
            flat = flat.npu()
        self._flat = flat
        return flat.as_strided(spec.shape, spec.strides, spec.offset)

    def read(self) -> np.ndarray:
        """The bytes as they are now."""
        import torch

        if self._npu and self._flat is not None:
            self.bytes[...] = self._flat.cpu().view(torch.uint8).numpy()
        return super().read()


class Torch:
    """Tensors of PyTorch, on the CPU or on an NPU through torch_npu. Raises NotUsable."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._npu = name == "npu"
        try:
            import torch
        except Exception as error:
            raise NotUsable(f"--tensors {name} needs PyTorch: {type(error).__name__}: {error}") from None
        self._torch: Any = torch
        if self._npu:
            try:
                importlib.import_module("torch_npu")
            except Exception as error:
                raise NotUsable(f"--tensors npu needs torch_npu: {type(error).__name__}: {error}") from None
            if not self._torch.npu.is_available():
                raise NotUsable("--tensors npu: torch_npu finds no NPU")

    def buffer(self, spec: TensorSpec) -> GuardedBuffer:
        """A storage for one tensor."""
        return TorchBuffer(spec, self._npu)

    def wait(self) -> None:
        """Until what was launched on the NPU is done."""
        if self._npu:
            self._torch.npu.synchronize()

    def is_tensor(self, value: object) -> bool:
        """Whether a function may return this."""
        return isinstance(value, self._torch.Tensor)

    def plain(self, value: Any) -> Any:
        """The tensor without its subclass. Raises NotReadable, and whatever a subclass raises."""
        torch = self._torch
        if value.is_nested:
            raise NotReadable("a nested tensor")
        if value.layout is not torch.strided:
            raise NotReadable(f"a tensor of the layout {str(value.layout).removeprefix('torch.')}")
        if value.device.type not in ("cpu", "npu"):
            raise NotReadable(f"a tensor on the device {value.device.type}")
        if type(value) in (torch.Tensor, torch.nn.Parameter):
            return value
        value.data_ptr()  # a tensor without memory says so here
        return value.as_subclass(torch.Tensor)

    def dtype(self, value: Any) -> str:
        """The name of its dtype."""
        return str(value.dtype).removeprefix("torch.")

    def array(self, value: Any) -> np.ndarray:
        """Its values, copied to the host."""
        plain = value.detach().cpu().resolve_conj().resolve_neg().contiguous()
        return np.array(of_tensor("the result", plain), order="C")

    def span(self, value: Any) -> Span | None:
        """Where its elements lie."""
        if not self.is_tensor(value) or not value.numel():
            return None
        try:
            low = value.data_ptr()
        except RuntimeError:  # a sparse or otherwise odd tensor
            return None
        reach = sum((dim - 1) * step for dim, step in zip(value.shape, value.stride(), strict=True))
        return str(value.device), low, low + (reach + 1) * value.element_size()

    def fill(self, value: Any, byte: int) -> Callable[[], object] | None:
        """Overwrite its bytes; what puts them back, or None where that is not allowed."""
        torch = self._torch
        plain = value.detach()
        if plain.is_complex():
            plain = torch.view_as_real(plain)
        size = plain.element_size()
        words = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}
        word = int.from_bytes(bytes([byte]) * size, "little", signed=size > 1)
        try:
            with torch.no_grad():
                raw = plain.view(words[size])
                before = raw.clone()
                raw.fill_(word)
        except (RuntimeError, KeyError):  # expanded, or of a kind that is not written in place
            return None
        return lambda: raw.copy_(before)


Kind = Numpy | Torch


def kind_of(name: str) -> Kind:
    """The kind of tensors that ``--tensors`` names. Raises NotUsable."""
    return Numpy() if name == "numpy" else Torch(name)


def size_of(value: Any) -> int:
    """Bytes of a tensor of either kind."""
    if isinstance(value, (np.ndarray, np.generic)):
        return int(value.nbytes)
    return int(value.numel() * value.element_size())


def shape_of(value: Any) -> tuple[int, ...]:
    """The shape of a tensor of either kind."""
    return tuple(int(dim) for dim in value.shape)
