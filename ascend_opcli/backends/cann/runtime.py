"""The ACL runtime through pyACL: device, stream, memory, copies, error text."""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import os
import re
import sys
from collections.abc import Callable, Iterator
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

import numpy as np

from ascend_opcli.errors import Missing, SurroundingsError

REPEAT_INITIALIZE = 100002
HOST_TO_DEVICE = 1
DEVICE_TO_HOST = 2
DEVICE_TO_DEVICE = 3
EVENT_TIME_LINE = 8
L2_BYTES = 2
HBM = 1
HUGE_FIRST = 0
OPT_DETERMINISTIC = 0
UNPADDED = ("ascend950", "ascend910_95")
"""SoCs on which the runtime adds no block of 32 bytes to an allocation."""
SPOILT = 500000
"""Codes from here on are of the runtime or the device; below are wrong arguments and too little of something."""

INIT = "__init__.py"


class AclFailure(Exception):
    """A runtime call that did not return 0."""

    def __init__(self, call: str, code: int, text: str) -> None:
        super().__init__(f"{call} returned {code}{': ' + text if text else ''}")
        self.call, self.code, self.text = call, code, text


NOT_PYACL = "is not pyACL but an unrelated package of that name"
SOURCE = "source set_env.sh of the CANN root"


def load_pyacl() -> ModuleType:
    """pyACL. Raises Missing, which says what is in its place and what mends it."""
    module = sys.modules.get("acl")
    if module is None:
        spec = importlib.util.find_spec("acl")
        if spec is None:
            raise Missing(
                "pyACL cannot be imported: there is no module acl", f"{SOURCE}; do not pip install acl"
            )
        place = _place(spec)
        try:
            module = importlib.import_module("acl")
        except (Exception, SystemExit) as error:
            said = " ".join(f"{type(error).__name__}: {error}".split())
            if place.endswith(".so") or (isinstance(error, ImportError) and _LIBRARY.search(said)):
                raise Missing(f"pyACL at {place} cannot be imported: {said}", SOURCE) from None
            raise _foreign(place, f": importing it raises {said}") from None
    if not all(hasattr(module, name) for name in ("init", "finalize")) or not hasattr(
        getattr(module, "rt", None), "set_device"
    ):
        place = _place(module.__spec__) if module.__spec__ is not None else "an unknown place"
        raise _foreign(place)
    return module


_LIBRARY = re.compile(r"\.so\b.*(shared object|undefined symbol)")


def _place(spec: ModuleSpec) -> str:
    """The file of a module, or the folder of one that has none."""
    if spec.origin is not None and spec.has_location:
        return spec.origin
    return next(iter(spec.submodule_search_locations or ()), spec.origin or "an unknown place")


def _foreign(place: str, how: str = "") -> Missing:
    folder = os.path.isdir(place)
    if folder and os.path.isfile(os.path.join(place, "acl.so")):
        found = f"the module acl at {place} is the folder that pyACL lies in, not pyACL"
        return Missing(found, f"put {place} itself on PYTHONPATH, or {SOURCE}")
    what = f" (a folder without {INIT})" if folder else ""
    return Missing(f"the module acl at {place}{what} {NOT_PYACL}{how}", f"{_rid_of(place)}, then {SOURCE}")


def _rid_of(place: str) -> str:
    """What takes the module out of the way: pip where it was pip that brought it."""
    from importlib.metadata import PackageNotFoundError, distribution

    try:
        files = distribution("acl").files or ()
    except PackageNotFoundError:
        files = ()
    if any(os.path.realpath(file.locate()) == os.path.realpath(place) for file in files):
        return "uninstall it (python3 -m pip uninstall acl)"
    top = os.path.dirname(place) if os.path.basename(place) == INIT else place
    return f"remove or rename {top}, or take {os.path.dirname(top)} off PYTHONPATH"


class Runtime:
    """One device and one stream in this process. Close it, or use it as a context manager.

    ``healthy`` turns False when a call fails after which the context may answer nothing sensible any more.
    ACL that somebody else has initialised here (torch_npu) is used but neither reset nor finalised.
    """

    def __init__(self, acl: ModuleType, device: int = 0) -> None:
        self._acl, self.device = acl, device
        code = acl.init()
        if code not in (0, REPEAT_INITIALIZE):
            raise AclFailure("acl.init", code, self.error_text())
        self._owner = code == 0
        self._stream = 0
        self.healthy = True
        try:
            self._open()
        except AclFailure:
            self.close()
            raise

    def _open(self) -> None:
        self._check("acl.rt.set_device", self._acl.rt.set_device(self.device))
        self._stream = self._made("acl.rt.create_stream", self._acl.rt.create_stream())
        self.healthy = True

    def renew(self) -> None:
        """A new context and stream in place of those that a device exception has spoilt. ACL stays initialised.

        Buffers of the old context are gone with it. Raises AclFailure where the device does not come back.
        """
        if self._stream:
            self._acl.rt.destroy_stream(self._stream)
            self._stream = 0
        if self._owner:
            self._acl.rt.reset_device(self.device)
        self._open()

    def __enter__(self) -> Runtime:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def close(self) -> None:
        """Tear down in the order that ACL wants; safe to call twice."""
        rt = self._acl.rt
        if self._stream:
            rt.destroy_stream(self._stream)
            self._stream = 0
        if self._owner:
            rt.reset_device(self.device)
            self._acl.finalize()
            self._owner = False

    # --- what an operator call needs ---------------------------------------------------------------------

    @property
    def acl(self) -> ModuleType:
        """pyACL itself."""
        return self._acl

    @property
    def stream(self) -> int:
        """The stream's handle."""
        return self._stream

    def malloc(self, size: int) -> int:
        """The address of ``size`` bytes (more than 0) of device memory."""
        return self._made("acl.rt.malloc", self._acl.rt.malloc(size, HUGE_FIRST))

    def free(self, address: int) -> None:
        """Give memory back; the stream must have been synchronised."""
        self._check("acl.rt.free", self._acl.rt.free(address))

    def copy_in(self, address: int, array: np.ndarray) -> None:
        """Copy a contiguous host array to the device."""
        if array.nbytes:
            size = array.nbytes
            self._check(
                "acl.rt.memcpy", self._acl.rt.memcpy(address, size, array.ctypes.data, size, HOST_TO_DEVICE)
            )

    def copy_out(self, array: np.ndarray, address: int) -> None:
        """Fill a contiguous host array from the device."""
        if array.nbytes:
            size = array.nbytes
            self._check(
                "acl.rt.memcpy", self._acl.rt.memcpy(array.ctypes.data, size, address, size, DEVICE_TO_HOST)
            )

    def synchronize(self) -> int:
        """Wait for the stream; device errors of its tasks surface here as the code returned."""
        code = int(self._acl.rt.synchronize_stream(self._stream))
        self.healthy &= code == 0
        return code

    def fill_async(self, address: int, size: int, byte: int) -> None:
        """Queue the filling of device memory on the stream."""
        code = self._acl.rt.memset_async(address, size, byte, size, self._stream)
        self._check("acl.rt.memset_async", code)

    def copy_async(self, to: int, address: int, size: int) -> None:
        """Queue a copy within the device on the stream."""
        code = self._acl.rt.memcpy_async(to, size, address, size, DEVICE_TO_DEVICE, self._stream)
        self._check("acl.rt.memcpy_async", code)

    def create_event(self) -> int:
        """An event that keeps the time at which the stream reached it."""
        create = getattr(self._acl.rt, "create_event_with_flag", None)
        if create is not None:
            event, code = create(EVENT_TIME_LINE)
            if code == 0:
                return int(event)
        return self._made("acl.rt.create_event", self._acl.rt.create_event())

    def destroy_event(self, event: int) -> None:
        """Give an event back."""
        self._check("acl.rt.destroy_event", self._acl.rt.destroy_event(event))

    def record(self, event: int) -> None:
        """Queue an event on the stream."""
        self._check("acl.rt.record_event", self._acl.rt.record_event(event, self._stream))

    def seconds_between(self, start: int, end: int) -> float:
        """The time from one event to another; the stream must have been synchronised."""
        milliseconds, code = self._acl.rt.event_elapsed_time(start, end)
        self._check("acl.rt.event_elapsed_time", code)
        return float(milliseconds) / 1e3

    def l2_bytes(self) -> int | None:
        """The size of the device's second-level cache, None where ACL does not say."""
        with contextlib.suppress(AttributeError):
            value, code = self._acl.get_device_capability(self.device, L2_BYTES)
            return int(value) if code == 0 and value > 0 else None
        return None

    def free_bytes(self) -> int | None:
        """Free device memory, None where ACL does not say."""
        with contextlib.suppress(AttributeError):
            free, _total, code = self._acl.rt.get_mem_info(HBM)
            return int(free) if code == 0 else None
        return None

    def cann_version(self) -> str:
        """The version of the runtime in use; empty on a CANN that cannot be asked."""
        with contextlib.suppress(AttributeError, UnicodeDecodeError):
            text, code = self._acl.get_version_str("runtime")
            return str(text) if code == 0 else ""
        return ""

    @contextlib.contextmanager
    def deterministic(self, level: int | None) -> Iterator[None]:
        """ACL_OPT_DETERMINISTIC at ``level`` for a while, then 0 again, as CANN has it; None leaves it alone.

        The option is the process's: left as it is, it would change the cases that follow. Raises
        SurroundingsError where this CANN cannot be asked.
        """
        if level is None:
            yield
            return
        if not self._set_deterministic(level):
            raise SurroundingsError("this CANN cannot be asked for ACL_OPT_DETERMINISTIC")
        try:
            yield
        finally:
            self._set_deterministic(0)

    def _set_deterministic(self, level: int) -> bool:
        for name in ("set_sys_param_opt", "ctx_set_sys_param_opt"):
            setter: Callable[[int, int], int] | None = getattr(self._acl.rt, name, None)
            if setter is not None and setter(OPT_DETERMINISTIC, level) == 0:
                return True
        return False

    def error_text(self) -> str:
        """The messages of this thread since the last call; asking clears them, so ask once."""
        with contextlib.suppress(AttributeError, UnicodeDecodeError):
            text = self._acl.get_recent_err_msg()
            if isinstance(text, bytes):
                return text.decode("utf-8", "replace")
            return str(text) if text else ""
        return ""

    def segment_padding(self) -> int:
        """Bytes beyond the next multiple of 32 that an allocation has room for, by the SoC."""
        return 0 if self.soc_name().casefold().startswith(UNPADDED) else 32

    def soc_name(self) -> str:
        """The SoC, such as Ascend910B2; empty where ACL does not say."""
        with contextlib.suppress(AttributeError):
            return str(self._acl.get_soc_name() or "")
        return ""

    # --- conventions of pyACL ----------------------------------------------------------------------------

    def _check(self, call: str, code: int) -> None:
        if code != 0:
            self.healthy &= code < SPOILT
            raise AclFailure(call, code, self.error_text())

    def _made(self, call: str, result: Any) -> int:
        """Calls that create something return a tuple with the code last."""
        value, code = result
        self._check(call, code)
        return int(value)
