"""libnnopbase and the operator libraries, opened in op-plugin's order, and which file a symbol came from."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ascend_opcli.errors import SurroundingsError

P, U64, I64, I32 = ctypes.c_void_p, ctypes.c_uint64, ctypes.c_int64, ctypes.c_int32

META: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "aclCreateTensor": (P, (P, U64, I32, P, I64, I32, P, U64, P)),
    "aclCreateScalar": (P, (P, I32)),
    "aclCreateIntArray": (P, (P, U64)),
    "aclCreateFloatArray": (P, (P, U64)),
    "aclCreateBoolArray": (P, (P, U64)),
    "aclCreateTensorList": (P, (P, U64)),
    "aclCreateScalarList": (P, (P, U64)),
    "aclDestroyTensor": (I32, (P,)),
    "aclDestroyScalar": (I32, (P,)),
    "aclDestroyIntArray": (I32, (P,)),
    "aclDestroyFloatArray": (I32, (P,)),
    "aclDestroyBoolArray": (I32, (P,)),
    "aclDestroyTensorList": (I32, (P,)),
    "aclDestroyScalarList": (I32, (P,)),
    "aclDestroyAclOpExecutor": (I32, (P,)),
    "aclSetAclOpExecutorRepeatable": (I32, (P,)),
}


@dataclass(frozen=True, slots=True)
class Entry:
    """An operator's two functions and the file that holds them."""

    phase1: Any
    phase2: Any
    file: str


class _DlInfo(ctypes.Structure):
    _fields_ = (
        ("dli_fname", ctypes.c_char_p),
        ("dli_fbase", P),
        ("dli_sname", ctypes.c_char_p),
        ("dli_saddr", P),
    )


class Libraries:
    """The libraries of this process. Nothing is ever closed: CANN does not survive it.

    ``within`` is the package that was asked for: an operator that another library serves is an error then.
    """

    def __init__(self, operator_libraries: Sequence[str], within: Path | None = None) -> None:
        self._within = within.resolve() if within is not None else None
        self._meta = _open("libnnopbase.so")
        for name, (result, arguments) in META.items():
            function = getattr(self._meta, name, None)
            if function is not None:
                function.restype, function.argtypes = result, arguments
        self._names = tuple(operator_libraries)
        self._open: list[ctypes.CDLL] | None = None
        self.missing: list[str] = []

    def meta(self, name: str) -> Any:
        """A function of acl_meta.h."""
        function = getattr(self._meta, name, None)
        if function is None:
            raise SurroundingsError(f"libnnopbase.so has no {name}: this CANN is too old")
        return function

    def entry(self, name: str) -> Entry:
        """Both phases of an operator, from the first library that has them.

        Raises SurroundingsError naming the libraries that were searched.
        """
        for library in self._libraries():
            phase1 = getattr(library, f"{name}GetWorkspaceSize", None)
            phase2 = getattr(library, name, None)
            if phase1 is not None and phase2 is not None:
                phase1.restype = phase2.restype = I32
                phase2.argtypes = (P, U64, P, P)
                return Entry(phase1, phase2, self._asked(name, served_by(phase1) or library._name))
        searched = (
            ", ".join(os.path.basename(lib._name) for lib in self._libraries()) or "none could be opened"
        )
        raise SurroundingsError(f"{name} is in none of the operator libraries ({searched})")

    def _asked(self, name: str, file: str) -> str:
        if self._within is not None and not Path(file).is_relative_to(self._within):
            raise SurroundingsError(f"{name} was asked from {self._within} but is served by {file}")
        return file

    def _libraries(self) -> list[ctypes.CDLL]:
        if self._open is None:
            self._open = []
            for name in self._names:
                try:
                    self._open.append(ctypes.CDLL(name, mode=os.RTLD_LAZY))
                except OSError as error:
                    self.missing.append(f"{name}: {error}")
        return self._open


def _open(name: str) -> ctypes.CDLL:
    try:
        # Operator libraries resolve against it.
        return ctypes.CDLL(name, mode=os.RTLD_GLOBAL | os.RTLD_NOW)
    except OSError as error:
        raise SurroundingsError(
            f"{name} cannot be opened: {error}; source set_env.sh of the CANN root"
        ) from None


def served_by(function: Any) -> str:
    """The file that a function was loaded from, empty where the system does not say."""
    info = _DlInfo()
    dladdr = ctypes.CDLL(None).dladdr
    dladdr.argtypes, dladdr.restype = (P, ctypes.POINTER(_DlInfo)), ctypes.c_int
    if not dladdr(ctypes.cast(function, P), ctypes.byref(info)) or not info.dli_fname:
        return ""
    name: bytes = info.dli_fname
    return os.path.realpath(name.decode("utf-8", "surrogateescape"))
