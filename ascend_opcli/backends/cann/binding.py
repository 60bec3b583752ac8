"""A call's arguments as C sees them: aclTensor, aclScalar, arrays, lists and plain values, each released once."""

from __future__ import annotations

import contextlib
import ctypes
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ascend_opcli.backends.cann.libraries import Libraries
from ascend_opcli.errors import SurroundingsError
from ascend_opcli.model import Argument, Attribute, Number, TensorSpec
from ascend_opcli.operators.arguments import scalar_dtype
from ascend_opcli.operators.signature import Param, Signature
from ascend_opcli.tensors.dtypes import DTYPES, round_to

VALUES: dict[str, Any] = {
    "double": ctypes.c_double,
    "float": ctypes.c_float,
    "int64_t": ctypes.c_int64,
    "int32_t": ctypes.c_int32,
    "int": ctypes.c_int32,
    "int8_t": ctypes.c_int8,
    "uint64_t": ctypes.c_uint64,
    "uint32_t": ctypes.c_uint32,
    "bool": ctypes.c_bool,
    "aclDataType": ctypes.c_int32,
}
ARRAYS = {
    "aclIntArray": ("aclCreateIntArray", "aclDestroyIntArray", np.int64),
    "aclFloatArray": ("aclCreateFloatArray", "aclDestroyFloatArray", np.float32),
    "aclBoolArray": ("aclCreateBoolArray", "aclDestroyBoolArray", np.bool_),
}
FORMATS = {
    "UNDEFINED": -1,
    "NCHW": 0,
    "NHWC": 1,
    "ND": 2,
    "NC1HWC0": 3,
    "FRACTAL_Z": 4,
    "NC1HWC0_C04": 12,
    "HWCN": 16,
    "NDHWC": 27,
    "FRACTAL_NZ": 29,
    "NCDHW": 30,
    "NDC1HWC0": 32,
    "FRACTAL_Z_3D": 33,
    "NC": 35,
    "NCL": 47,
    "FRACTAL_NZ_C0_16": 50,
    "FRACTAL_NZ_C0_32": 51,
    "FRACTAL_NZ_C0_2": 52,
    "FRACTAL_NZ_C0_4": 53,
    "FRACTAL_NZ_C0_8": 54,
}

Addresses = Mapping[str, Sequence[int]]
"""Device addresses by parameter: one for a tensor, one a member for a list."""


def argument_types(signature: Signature) -> tuple[Any, ...]:
    """The ctypes of phase 1, the workspace size and the executor included."""
    kinds = [VALUES.get(p.type, ctypes.c_void_p) for p in signature.params]
    pointers = (ctypes.POINTER(ctypes.c_uint64), ctypes.POINTER(ctypes.c_void_p))
    return (
        *(ctypes.c_char_p if p.type == "char" else k for p, k in zip(signature.params, kinds, strict=True)),
        *pointers,
    )


class Binder:
    """Makes C arguments and releases what it made, in reverse order, when its context ends."""

    def __init__(self, libraries: Libraries) -> None:
        self._libraries = libraries
        self._stack = contextlib.ExitStack()

    def __enter__(self) -> Binder:
        return self

    def __exit__(self, *exc: object) -> None:
        self._stack.close()

    def bind(
        self, signature: Signature, arguments: Mapping[str, Argument], addresses: Addresses
    ) -> list[Any]:
        """One value a parameter, in the signature's order."""
        return [self._one(p, arguments[p.name], addresses.get(p.name, ())) for p in signature.params]

    def _one(self, param: Param, argument: Argument, addresses: Sequence[int]) -> Any:
        if argument is None:
            return None
        if isinstance(argument, TensorSpec):
            return self._keep("aclDestroyTensor", self._tensor(argument, addresses[0]))
        if isinstance(argument, tuple):
            return self._tensor_list(argument, addresses)
        if param.type == "aclScalar":
            return self._keep("aclDestroyScalar", self._scalar(argument))
        if param.type == "aclScalarList":
            return self._scalar_list(argument)
        if param.type in ARRAYS:
            return self._array(param, argument)
        return _value(param, argument)

    # --- objects -----------------------------------------------------------------------------------------

    def _tensor(self, spec: TensorSpec, address: int) -> int:
        dims, strides, storage = (_int64(v) for v in (spec.shape, spec.strides, spec.storage_shape))
        return self._create(
            "aclCreateTensor",
            dims,
            len(spec.shape),
            DTYPES[spec.dtype].acl,
            strides,
            spec.offset,
            FORMATS[spec.format],
            storage,
            len(spec.storage_shape),
            address,
        )

    def _tensor_list(self, specs: tuple[TensorSpec, ...], addresses: Sequence[int]) -> int | None:
        if not specs:
            return None  # an empty list travels as null, as op-plugin has it
        members: list[int] = []
        try:
            members += [self._tensor(spec, address) for spec, address in zip(specs, addresses, strict=True)]
            made = self._create("aclCreateTensorList", _pointers(members), len(members))
        except BaseException:
            for member in members:
                self._libraries.meta("aclDestroyTensor")(member)
            raise
        return self._keep("aclDestroyTensorList", made)  # destroys its members too

    def _scalar(self, attribute: Attribute) -> int:
        dtype = scalar_dtype(attribute)
        assert dtype is not None
        raw = round_to(np.asarray([attribute.value]), dtype)
        return self._create("aclCreateScalar", raw.ctypes.data, DTYPES[dtype].acl)

    def _scalar_list(self, attribute: Attribute) -> int | None:
        values = attribute.value if isinstance(attribute.value, tuple) else (attribute.value,)
        if not values:
            return None
        members: list[int] = []
        try:
            members += [self._scalar(Attribute(value, attribute.dtype)) for value in values]
            made = self._create("aclCreateScalarList", _pointers(members), len(members))
        except BaseException:
            for member in members:
                self._libraries.meta("aclDestroyScalar")(member)
            raise
        return self._keep("aclDestroyScalarList", made)

    def _array(self, param: Param, attribute: Attribute) -> int:
        create, destroy, dtype = ARRAYS[param.type]
        values: np.ndarray = np.atleast_1d(np.asarray(attribute.value)).astype(dtype)
        return self._keep(destroy, self._create(create, values.ctypes.data, values.size))

    def _create(self, name: str, *arguments: Any) -> int:
        made = self._libraries.meta(name)(*arguments)
        if not made:
            raise SurroundingsError(f"{name} gave no object")
        return int(made)

    def _keep(self, destroy: str, handle: int) -> int:
        release: Callable[[int], int] = self._libraries.meta(destroy)
        self._stack.callback(release, handle)
        return handle


def _value(param: Param, attribute: Attribute) -> Any:
    value: Number | str | tuple[Number, ...] = attribute.value
    if param.type == "char":
        return str(value).encode()
    if param.type == "aclDataType":
        return DTYPES[str(value)].acl if isinstance(value, str) else value
    return value


def _int64(values: Sequence[int]) -> Any:
    return (ctypes.c_int64 * max(len(values), 1))(*values)


def _pointers(handles: Sequence[int]) -> Any:
    return (ctypes.c_void_p * len(handles))(*handles)
