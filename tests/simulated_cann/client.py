"""A small CANN program in Python for the tests of this folder: the acl module plus ctypes for aclnn.

It runs in a process of its own whose environment is that of the simulated tree.
"""

from __future__ import annotations

import ctypes
import os
from pathlib import Path
from typing import Any

import acl
import ml_dtypes
import numpy as np

ACL_DTYPES = {
    "float32": 0, "float16": 1, "int8": 2, "int32": 3, "uint8": 4, "int16": 6, "uint16": 7, "uint32": 8,
    "int64": 9, "uint64": 10, "float64": 11, "bool": 12, "complex64": 16, "complex128": 17, "bfloat16": 27,
}  # fmt: skip
ND, NCHW, NCL = 2, 0, 47
BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
LIB64 = Path(os.environ["ASCEND_HOME_PATH"]) / "lib64"
base = ctypes.CDLL(str(LIB64 / "libnnopbase.so"), mode=ctypes.RTLD_GLOBAL)
operators = [ctypes.CDLL(str(path)) for path in sorted(LIB64.glob("libopapi*.so"))]
for name in ("Tensor", "Scalar", "IntArray", "FloatArray", "BoolArray", "TensorList", "ScalarList"):
    getattr(base, f"aclCreate{name}").restype = ctypes.c_void_p

f32, f64, i8, i32, i64, u64, boolean, text = (
    ctypes.c_float, ctypes.c_double, ctypes.c_int8, ctypes.c_int32, ctypes.c_int64, ctypes.c_uint64,
    ctypes.c_bool, ctypes.c_char_p,
)  # fmt: skip


def ok(code: int) -> None:
    if code:
        raise RuntimeError(f"{code}: {acl.get_recent_err_msg()}")


def got(result: tuple[Any, int]) -> Any:
    ok(result[-1])
    return result[0]


def start() -> int:
    """Initialises, sets device 0 and makes a stream."""
    ok(acl.init())
    ok(acl.rt.set_device(0))
    return got(acl.rt.create_stream())


def stop(stream: int) -> None:
    ok(acl.rt.destroy_stream(stream))
    ok(acl.rt.reset_device(0))
    ok(acl.finalize())


class Handle:
    """An object of the aclnn interface that knows how to go."""

    def __init__(self, kind: str, handle: int) -> None:
        self.kind, self.handle = kind, handle

    def destroy(self) -> int:
        return int(getattr(base, f"aclDestroy{self.kind}")(ctypes.c_void_p(self.handle)))


class Tensor(Handle):
    """A device buffer that holds `storage`, and a view of it; without strides the view is the whole of it."""

    def __init__(
        self,
        storage: np.ndarray,
        shape: tuple[int, ...] | None = None,
        strides: tuple[int, ...] | None = None,
        offset: int = 0,
        fmt: int = ND,
        size: int = 0,
    ) -> None:
        self.storage = np.array(storage, order="C")
        self.shape = self.storage.shape if shape is None else shape
        self.pointer = got(acl.rt.malloc(size or max(self.storage.nbytes, 1), 0))
        self.strides, self.offset = strides, offset
        self.write(self.storage)
        dims = (i64 * max(len(self.shape), 1))(*self.shape)
        steps = None if strides is None else (i64 * max(len(strides), 1))(*strides)
        held = (i64 * max(self.storage.ndim, 1))(*self.storage.shape)
        dtype = ACL_DTYPES[self.storage.dtype.name]
        handle = base.aclCreateTensor(
            dims, u64(len(self.shape)), dtype, steps, i64(offset), fmt, held, u64(self.storage.ndim),
            ctypes.c_void_p(self.pointer),
        )  # fmt: skip
        super().__init__("Tensor", handle)

    def write(self, values: np.ndarray) -> None:
        if values.nbytes:
            ok(acl.rt.memcpy(self.pointer, values.nbytes, values.ctypes.data, values.nbytes, 1))

    def fetch(self) -> np.ndarray:
        """The storage as it is on the device now."""
        back = np.empty_like(self.storage)
        if back.nbytes:
            ok(acl.rt.memcpy(back.ctypes.data, back.nbytes, self.pointer, back.nbytes, 2))
        return back

    def view(self) -> np.ndarray:
        """The view as it is on the device now."""
        flat = self.fetch().reshape(-1)[self.offset :]
        if self.strides is None:
            return flat.reshape(self.shape)
        steps = [step * flat.itemsize for step in self.strides]
        return np.lib.stride_tricks.as_strided(flat, self.shape, steps).copy()

    def release(self) -> None:
        ok(self.destroy())
        ok(acl.rt.free(self.pointer))


def tensor(values: Any, dtype: str = "float32", **view: Any) -> Tensor:
    return Tensor(np.asarray(values, dtype=BFLOAT16 if dtype == "bfloat16" else dtype), **view)


def scalar(value: Any, dtype: str = "float32") -> Handle:
    cell = np.array([value], dtype=BFLOAT16 if dtype == "bfloat16" else dtype)
    return Handle("Scalar", base.aclCreateScalar(ctypes.c_void_p(cell.ctypes.data), ACL_DTYPES[dtype]))


def array(kind: str, ctype: Any, values: Any) -> Handle:
    return Handle(
        kind, getattr(base, f"aclCreate{kind}")((ctype * max(len(values), 1))(*values), u64(len(values)))
    )


def handles(kind: str, members: list[Any]) -> Handle:
    return array(kind, ctypes.c_void_p, [member.handle for member in members])


def function(name: str) -> Any:
    for library in operators:
        if hasattr(library, name):
            return getattr(library, name)
    raise AttributeError(name)


def plain(argument: Any) -> Any:
    return ctypes.c_void_p(argument.handle) if isinstance(argument, Handle) else argument


def phase1(op: str, *arguments: Any) -> tuple[int, int, ctypes.c_void_p]:
    """The status, the size of the workspace and the executor."""
    size, executor = u64(), ctypes.c_void_p()
    converted = [ctypes.c_void_p() if value is None else plain(value) for value in arguments]
    status = function(f"{op}GetWorkspaceSize")(*converted, ctypes.byref(size), ctypes.byref(executor))
    return status, size.value, executor


def phase2(op: str, workspace: int, size: int, executor: ctypes.c_void_p, stream: int) -> int:
    return int(function(op)(ctypes.c_void_p(workspace), u64(size), executor, ctypes.c_void_p(stream)))


def call(stream: int, op: str, *arguments: Any) -> list[int]:
    """Both phases and a synchronisation: the codes up to the first that is not 0."""
    status, size, executor = phase1(op, *arguments)
    if status:
        return [status]
    workspace = got(acl.rt.malloc(size, 0)) if size else 0
    codes = [status, phase2(op, workspace, size, executor, stream)]
    if not codes[-1]:
        codes.append(acl.rt.synchronize_stream(stream))
    if workspace:
        ok(acl.rt.free(workspace))
    return codes


def rounded(values: Any, dtype: str) -> np.ndarray:
    """float32 values as a kernel stores them in `dtype`."""
    return np.asarray(values, np.float32).astype(BFLOAT16 if dtype == "bfloat16" else dtype)


def same(left: np.ndarray, right: Any, ulp: int = 0) -> None:
    """Equal values in place, NaN meeting NaN, up to `ulp` steps of the dtype."""
    right = np.asarray(right)
    assert left.dtype == right.dtype, (left.dtype, right.dtype)
    assert left.shape == right.shape, (left.shape, right.shape)
    wide = left.astype(np.float64), right.astype(np.float64)
    close = wide[0] == wide[1]
    if ulp:
        steps = [array.view(f"i{array.itemsize}").astype(np.int64) for array in (left, right)]
        close |= np.abs(steps[0] - steps[1]) <= ulp
    close |= np.isnan(wide[0]) & np.isnan(wide[1])
    assert close.all(), (left[~close], right[~close])
