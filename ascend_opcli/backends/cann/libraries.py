"""libnnopbase and the operator libraries, opened in op-plugin's order, and which file a symbol came from."""

from __future__ import annotations

import ctypes
import os
import platform
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ascend_opcli.backends.cann import symbols
from ascend_opcli.backends.cann.discovery import Package, declared_in
from ascend_opcli.errors import Missing, SurroundingsError

NO_FILE = "cannot open shared object file: No such file or directory"
MACHINES = {0x3E: "x86_64", 0xB7: "aarch64"}
NOWHERE = "install the operator package that has it, or name it with --opp DIR"

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
class LibraryEntry:
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


@dataclass(frozen=True, slots=True)
class Refused:
    """A library that is there and cannot be opened: what dlopen says, and the line that mends it."""

    file: str
    why: str
    fix: str

    @classmethod
    def of(cls, file: str, error: OSError) -> Refused:
        """The refusal that ``error`` is."""
        why = " ".join(str(error).split())
        fix = _mend(file, why)
        # dlopen begins with the file that it means, which may be a library that this one needs.
        why = why.removeprefix(f"{file}: ")
        if why == NO_FILE and (machine := _machine(file)):
            why += f" (it is built for {machine}, this is {platform.machine()})"
        return cls(file, why, fix)

    def __str__(self) -> str:
        return f"{self.file} cannot be opened: {self.why}"


class Libraries:
    """The libraries of this process, those of ``packages`` before the ``builtin`` ones. Nothing is ever closed: CANN
    does not survive it.

    ``within`` is the package that was asked for: an operator that another library serves is an error then.
    ``refused`` has the libraries that are there and could not be opened.
    """

    def __init__(
        self, packages: Sequence[Package], builtin: Sequence[str], within: Path | None = None
    ) -> None:
        self._within = within
        self._packages = {str(file): package for package in packages for file in package.libraries}
        self._builtin = tuple(builtin)
        self._meta = _open("libnnopbase.so")
        for name, (result, arguments) in META.items():
            function = getattr(self._meta, name, None)
            if function is not None:
                function.restype, function.argtypes = result, arguments
        self._tried: dict[str, ctypes.CDLL | Refused] | None = None
        self._notes: dict[str, tuple[str, ...]] = {}

    def meta(self, name: str) -> Any:
        """A function of acl_meta.h."""
        function = getattr(self._meta, name, None)
        if function is None:
            raise SurroundingsError(f"libnnopbase.so has no {name}: this CANN is too old")
        return function

    def flush_log(self) -> bool:
        """Have CANN write out the log that a thread of its own writes; False where this CANN has no such function."""
        flush = getattr(self._meta, "DlogFlush", None)
        if flush is None:
            return False
        flush.restype, flush.argtypes = None, ()
        flush()
        return True

    def entry(self, name: str) -> LibraryEntry:
        """Both phases of an operator, from the first library that has them.

        Raises Missing, which names the libraries that were searched and those that could not be opened.
        """
        for library in self._opened():
            phase1 = getattr(library, f"{name}GetWorkspaceSize", None)
            phase2 = getattr(library, name, None)
            if phase1 is not None and phase2 is not None:
                phase1.restype = phase2.restype = I32
                phase2.argtypes = (P, U64, P, P)
                return LibraryEntry(phase1, phase2, self._asked(name, served_by(phase1) or library._name))
        searched = ", ".join(os.path.basename(file) for file in self.files()) or "none could be opened"
        raise _missing(f"{name} is in none of the operator libraries ({searched})", NOWHERE, self.refused)

    def files(self) -> list[str]:
        """The operator libraries that are open, in their order."""
        return [library._name for library in self._opened()]

    @property
    def refused(self) -> list[Refused]:
        """The operator libraries that are there and could not be opened."""
        return [tried for tried in self._libraries().values() if isinstance(tried, Refused)]

    def unbound(self) -> list[Refused]:
        """The libraries that cannot be opened with every symbol bound at once: one that is missing ends the process
        when it is called. To be asked first, since what is open already is not bound again."""
        return [tried for tried in self._opened_with(os.RTLD_NOW).values() if isinstance(tried, Refused)]

    def notes(self, name: str) -> tuple[str, ...]:
        """What must be known of the library that serves an operator: one that should have come before it and could not
        be opened, and other packages that have the operator too."""
        if name not in self._notes:
            self._notes[name] = tuple(self._about(name))
        return self._notes[name]

    def _about(self, name: str) -> Iterator[str]:
        serving = ""
        for file, tried in self._libraries().items():
            if isinstance(tried, Refused):
                if not serving and (how := self._held(file, name)):
                    yield f"{file}, which {how} {name}, was passed over: it cannot be opened: {tried.why}"
                continue
            phase1, phase2 = (getattr(tried, n, None) for n in (f"{name}GetWorkspaceSize", name))
            if phase1 is None or phase2 is None:
                if not serving and phase1 is not phase2:
                    yield f"{file}, which has one of the two functions of {name} alone, was passed over"
                continue
            here = served_by(phase1) or file
            if not serving and (other := served_by(phase2)) != here:
                yield f"phase 1 of {name} is of {here}, phase 2 of {other}"
            if serving and here != serving and file in self._packages:
                yield f"two packages have {name}: {serving} serves it, {here} has it too"
            serving = serving or here

    def _held(self, file: str, name: str) -> str:
        """How a library that cannot be opened holds an operator: has, may have where nothing tells, or empty."""
        defined = symbols.defined(Path(file))
        if defined or file not in self._packages:
            return "has" if name in defined else ""
        headers = self._packages[file].headers
        declared = {n for path in sorted(headers.rglob("*.h")) for n in declared_in(path)}
        return ("has" if name in declared else "") if declared else "may have"

    def _asked(self, name: str, file: str) -> str:
        if self._within is not None and not self._serves(self._within, file):
            fix = f"build {name} into the package, or leave the package out to run the other one"
            refused = [r for r in self.refused if _inside(self._within, r.file)]
            raise _missing(f"{name} was asked from {self._within} but is served by {file}", fix, refused)
        return file

    def _serves(self, package: Path, file: str) -> bool:
        """Whether a file belongs to the package: it lies there, or the package's library is a link to it (usual in
        development). A link to a library that serves without the package too does not count."""
        if Path(file).is_relative_to(package.resolve()):
            return True
        mine = {os.path.realpath(name) for name in self._packages if _inside(package, name)}
        built_in = {os.path.realpath(name) for name in self._builtin}
        return file in mine - built_in

    def _opened(self) -> list[ctypes.CDLL]:
        return [tried for tried in self._libraries().values() if isinstance(tried, ctypes.CDLL)]

    def _libraries(self) -> dict[str, ctypes.CDLL | Refused]:
        """Every library that is there, in order, as it was opened or refused."""
        if self._tried is None:
            self._tried = self._opened_with(os.RTLD_LAZY)
        return self._tried

    def _opened_with(self, mode: int) -> dict[str, ctypes.CDLL | Refused]:
        tried: dict[str, ctypes.CDLL | Refused] = {}
        for name in (*self._packages, *self._builtin):
            try:
                tried[name] = ctypes.CDLL(name, mode=mode)
            except OSError as error:
                # One of another release that is simply not there is no fault.
                if os.path.lexists(name) or not str(error).startswith(f"{name}: {NO_FILE}"):
                    tried[name] = Refused.of(name, error)
        return tried


def _missing(found: str, fix: str, refused: Sequence[Refused]) -> Missing:
    """What was found, with the libraries that may be the cause; the first of them is what must be mended."""
    return Missing("; ".join([found, *map(str, refused)]), refused[0].fix if refused else fix)


def _inside(package: Path, file: str) -> bool:
    """Whether a library was found in the package, wherever a link of that name leads."""
    path = Path(file)
    return path.is_relative_to(package) or path.parent.resolve().is_relative_to(package.resolve())


def _mend(file: str, why: str) -> str:
    """What usually mends the refusal of dlopen."""
    needed = re.match(rf"(\S+): {NO_FILE}", why)
    if needed is not None and needed[1] != file:
        return f"put the folder of {needed[1]} on LD_LIBRARY_PATH: source set_env.sh, or install what has it"
    if "undefined symbol" in why:
        return f"build {file} again, against the CANN that is installed"
    if "version `" in why:
        return f"build {file} again on this system: it was built with a newer C or C++ library"
    if "Permission denied" in why:
        return f"chmod a+r {file}"
    return f"build or install {file} again, for {platform.machine()}"


def _machine(file: str) -> str:
    """What an ELF file is built for, empty where that is this machine or cannot be told."""
    try:
        with open(file, "rb") as stream:
            header = stream.read(20)
    except OSError:
        return ""
    if header[:4] != b"\x7fELF" or len(header) < 20:
        return ""
    number = int.from_bytes(header[18:20], "little" if header[5] == 1 else "big")
    name = MACHINES.get(number, f"ELF machine {number}")
    return "" if name == platform.machine() else name


def _open(name: str) -> ctypes.CDLL:
    try:
        # Operator libraries resolve against it.
        return ctypes.CDLL(name, mode=os.RTLD_GLOBAL | os.RTLD_NOW)
    except OSError as error:
        refused = Refused.of(name, error)
        fix = "source set_env.sh of the CANN root" if refused.why.startswith(NO_FILE) else refused.fix
        raise Missing(str(refused), fix) from None


def served_by(function: Any) -> str:
    """The file that a function was loaded from, empty where the system does not say."""
    info = _DlInfo()
    dladdr = ctypes.CDLL(None).dladdr
    dladdr.argtypes, dladdr.restype = (P, ctypes.POINTER(_DlInfo)), ctypes.c_int
    if not dladdr(ctypes.cast(function, P), ctypes.byref(info)) or not info.dli_fname:
        return ""
    name: bytes = info.dli_fname
    return os.path.realpath(name.decode("utf-8", "surrogateescape"))
