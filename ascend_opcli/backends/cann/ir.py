"""One call of a kernel by its operator type, without its aclnn function: pyACL's acl.op, or a compile at run time.

With a folder of single-operator models (``atc --singleop``) it is acl.op.set_model_dir and execute_v2; without one
aclopCompileAndExecute of libacl_op_compiler.so, which pyACL has no wrapper for. Names, arguments and results are those
of pyACL's public source (python/pyACL) and acl_op_compiler.h. Both take whole tensors, and queue the work on the
stream; the workspace is their own.
"""

from __future__ import annotations

import contextlib
import ctypes
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from ascend_opcli.backends.cann.binding import FORMATS
from ascend_opcli.backends.cann.execute import (
    PHASE_1,
    SYNC,
    Announce,
    Slot,
    Workspace,
    collect,
    lay_out,
    poisoned,
)
from ascend_opcli.backends.cann.runtime import AclFailure, Runtime
from ascend_opcli.errors import SurroundingsError
from ascend_opcli.model import Call, Case, Outcome, Phase
from ascend_opcli.operators.documents.twins import KernelCall, KernelTensors
from ascend_opcli.operators.signature import Signature
from ascend_opcli.tensors.dtypes import DTYPES

COMPILER = "libacl_op_compiler.so"
UNDEFINED = -1
"""ACL_DT_UNDEFINED and ACL_FORMAT_UNDEFINED: how an optional tensor is left out."""

ENGINE_SYS, COMPILE_SYS = 0, 0
REPEATED = 100002
"""ACL_ERROR_REPEAT_INITIALIZE: the folder of models was set before."""

NOT_FOUND = 100024
"""ACL_ERROR_OP_NOT_FOUND: no model of the folder fits the call."""

SETTERS: Mapping[str, str] = {
    "Int": "set_attr_int",
    "Float": "set_attr_float",
    "Bool": "set_attr_bool",
    "String": "set_attr_string",
    "ListInt": "set_attr_list_int",
    "ListFloat": "set_attr_list_float",
    "ListBool": "set_attr_list_bool",
}


@dataclass(frozen=True, slots=True)
class ByType:
    """The kernel that a case is a call of, and the folder of single-operator models, empty to compile."""

    kernel: KernelCall
    models: str = ""


def execute(
    runtime: Runtime, way: ByType, signature: Signature, case: Case, call: Call, announce: Announce
) -> Outcome:
    """Run a call, its outputs poisoned and guarded like one through aclnn; a status comes from the one launch.

    Raises SurroundingsError where this CANN cannot call a kernel by its type.
    """

    def once(stack: contextlib.ExitStack, poison: int) -> Outcome:
        announce("the preparation")
        launch, served = _launcher(runtime, way)
        slots = lay_out(stack, runtime, signature, call, poison)
        given = _Given(stack, runtime, slots)
        inputs, outputs = given.tensors(way.kernel.inputs), given.tensors(way.kernel.outputs)
        attributes = given.attributes(way.kernel.attributes)
        announce(PHASE_1)
        status = launch(way.kernel.type, inputs, outputs, attributes)
        if status != 0:
            text = runtime.error_text()
            runtime.synchronize()
            if status == NOT_FOUND and way.models and (case.status is None or case.status.code != status):
                why = (
                    f"{way.models} has no model of {way.kernel.type} for these shapes, dtypes and attributes"
                )
                return Outcome("device", error=why, served_by=served)
            return Outcome("device", status, Phase.ONE, message=text, served_by=served)
        announce(SYNC)
        status = runtime.synchronize()
        if status != 0:
            return Outcome("device", status, Phase.SYNC, message=runtime.error_text(), served_by=served)
        announce("the copy back")
        return collect(slots, Workspace(runtime, 0), signature, served)

    return poisoned(once)


# --- what is launched -----------------------------------------------------------------------------------------

_Tensors = tuple[list[int], list[int]]
"""Descriptions and data buffers, in the order of the registration."""


def _launcher(runtime: Runtime, way: ByType) -> tuple[Any, str]:
    """The launch as a function of type, inputs, outputs and attributes, and what serves it."""
    op = _part(runtime.acl, "op")
    if way.models:
        code = int(_part(op, "set_model_dir")(way.models))
        if code not in (0, REPEATED):
            raise AclFailure("acl.op.set_model_dir", code, runtime.error_text())

        def execute_v2(kind: str, inputs: _Tensors, outputs: _Tensors, attributes: int) -> int:
            return int(op.execute_v2(kind, *inputs, *outputs, attributes, runtime.stream))

        return execute_v2, f"{way.models} ({way.kernel.type})"
    compiler = _compiler()

    def compiled(kind: str, inputs: _Tensors, outputs: _Tensors, attributes: int) -> int:
        tensors = [part for d, b in (inputs, outputs) for part in (len(d), _pointers(d), _pointers(b))]
        last = (attributes, ENGINE_SYS, COMPILE_SYS, None, runtime.stream)
        return int(compiler.aclopCompileAndExecute(kind.encode(), *tensors, *last))

    return compiled, f"{COMPILER} ({way.kernel.type})"


def _part(module: Any, name: str) -> Any:
    found = getattr(module, name, None)
    if found is None:
        raise SurroundingsError(f"this pyACL has no {name}: it cannot call a kernel by its type")
    return found


@lru_cache(maxsize=1)
def _compiler() -> Any:
    p, i = ctypes.c_void_p, ctypes.c_int32
    fix = "name a folder of single-operator models (atc --singleop) with --models DIR"
    try:
        library = ctypes.CDLL(COMPILER, mode=ctypes.RTLD_GLOBAL)
        function = library.aclopCompileAndExecute
    except (OSError, AttributeError) as error:
        raise SurroundingsError(
            f"no kernel can be compiled here: {' '.join(str(error).split())}; {fix}"
        ) from None
    function.restype = i
    function.argtypes = (ctypes.c_char_p, i, p, p, i, p, p, p, i, i, ctypes.c_char_p, p)
    return library


def _pointers(handles: Sequence[int]) -> Any:
    return (ctypes.c_void_p * max(len(handles), 1))(*handles)


# --- what it is given -----------------------------------------------------------------------------------------


class _Given:
    """Makes descriptions, data buffers and attributes, each released when the stack closes."""

    def __init__(
        self, stack: contextlib.ExitStack, runtime: Runtime, slots: Mapping[str, list[Slot]]
    ) -> None:
        self._stack, self._acl, self._slots = stack, runtime.acl, slots
        for name in ("create_tensor_desc", "set_tensor_desc_name", "create_data_buffer"):
            _part(self._acl, name)

    def tensors(self, wanted: Sequence[KernelTensors]) -> _Tensors:
        """A description and a buffer for every tensor, members of a list as name0, name1, ..."""
        descriptions: list[int] = []
        buffers: list[int] = []
        for one in wanted:
            if one.parameter is None:
                descriptions.append(self._description(one.name, UNDEFINED, [], UNDEFINED))
                buffers.append(self._buffer(0, 0))
                continue
            for at, slot in enumerate(self._slots[one.parameter]):
                spec, name = slot.spec, f"{one.name}{at}" if one.is_list else one.name
                made = self._description(name, DTYPES[spec.dtype].acl, list(spec.shape), FORMATS[spec.format])
                descriptions.append(made)
                buffers.append(self._buffer(slot.buffer.address, slot.buffer.nbytes))
        return descriptions, buffers

    def attributes(self, wanted: Sequence[tuple[str, str, Any]]) -> int:
        """The handle of an aclopAttr with these values."""
        op = self._acl.op
        handle = self._kept("acl.op.create_attr", op.create_attr(), op.destroy_attr)
        for name, kind, value in wanted:
            setter = SETTERS[kind]
            given: Any = (
                [int(v) if kind == "ListBool" else v for v in value] if kind.startswith("List") else value
            )
            code = int(getattr(op, setter)(handle, name, int(given) if kind == "Bool" else given))
            if code != 0:
                raise AclFailure(f"acl.op.{setter}", code, "")
        return handle

    def _description(self, name: str, dtype: int, dims: list[int], format: int) -> int:
        acl = self._acl
        made = acl.create_tensor_desc(dtype, dims, format)
        handle = self._kept("acl.create_tensor_desc", made, acl.destroy_tensor_desc)
        acl.set_tensor_desc_name(handle, name)
        return handle

    def _buffer(self, address: int, size: int) -> int:
        made = self._acl.create_data_buffer(address, size)
        return self._kept("acl.create_data_buffer", made, self._acl.destroy_data_buffer)

    def _kept(self, call: str, handle: int, release: Any) -> int:
        """Handles come bare, without a code; 0 is none."""
        if not handle:
            raise SurroundingsError(f"{call} gave no object")
        self._stack.callback(release, handle)
        return int(handle)
