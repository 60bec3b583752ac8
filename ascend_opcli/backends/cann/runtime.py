"""The ACL runtime through pyACL: device, stream, memory, copies, error text."""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import numpy as np

from ascend_opcli.errors import SurroundingsError

REPEAT_INITIALIZE = 100002
HOST_TO_DEVICE = 1
DEVICE_TO_HOST = 2
DEVICE_TO_DEVICE = 3
EVENT_TIME_LINE = 8
L2_BYTES = 2
HBM = 1
HUGE_FIRST = 0
OPT_DETERMINISTIC = 0


class AclFailure(Exception):
    """A runtime call that did not return 0."""

    def __init__(self, call: str, code: int, text: str) -> None:
        super().__init__(f"{call} returned {code}{': ' + text if text else ''}")
        self.call, self.code, self.text = call, code, text


def load_pyacl() -> ModuleType:
    """pyACL, or an error that says what is in its place and what mends it."""
    try:
        module = importlib.import_module("acl")
    except ModuleNotFoundError:
        raise SurroundingsError(
            "pyACL cannot be imported: there is no module acl; source set_env.sh of the CANN root"
        ) from None
    except ImportError as error:
        raise SurroundingsError(
            f"pyACL cannot be imported: {error}; source set_env.sh of the CANN root"
        ) from None
    if not hasattr(module, "rt"):
        place = getattr(module, "__file__", None) or "somewhere"
        raise SurroundingsError(
            f"the module acl at {place} is not pyACL but an unrelated package of that name;"
            " uninstall it (pip uninstall acl) and source set_env.sh"
        )
    return module


class Runtime:
    """One device and one stream in this process. Close it, or use it as a context manager.

    ACL that somebody else has initialised here (torch_npu) is used but neither reset nor finalised.
    """

    def __init__(self, acl: ModuleType, device: int = 0) -> None:
        self._acl, self.device = acl, device
        code = acl.init()
        if code not in (0, REPEAT_INITIALIZE):
            raise AclFailure("acl.init", code, self.error_text())
        self._owner = code == 0
        self._stream = 0
        try:
            self._check("acl.rt.set_device", acl.rt.set_device(device))
            self._stream = self._made("acl.rt.create_stream", acl.rt.create_stream())
        except AclFailure:
            self.close()
            raise

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
        return int(self._acl.rt.synchronize_stream(self._stream))

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
        setter: Callable[[int, int], int] | None = getattr(self._acl.rt, "set_sys_param_opt", None)
        if setter is None or setter(OPT_DETERMINISTIC, level) != 0:
            raise SurroundingsError("this CANN cannot be asked for ACL_OPT_DETERMINISTIC")
        try:
            yield
        finally:
            setter(OPT_DETERMINISTIC, 0)

    def error_text(self) -> str:
        """The messages of this thread since the last call; asking clears them, so ask once."""
        with contextlib.suppress(AttributeError, UnicodeDecodeError):
            text = self._acl.get_recent_err_msg()
            if isinstance(text, bytes):
                return text.decode("utf-8", "replace")
            return str(text) if text else ""
        return ""

    def soc_name(self) -> str:
        """The SoC, such as Ascend910B2; empty where ACL does not say."""
        with contextlib.suppress(AttributeError):
            return str(self._acl.get_soc_name() or "")
        return ""

    # --- conventions of pyACL ----------------------------------------------------------------------------

    def _check(self, call: str, code: int) -> None:
        if code != 0:
            raise AclFailure(call, code, self.error_text())

    def _made(self, call: str, result: Any) -> int:
        """Calls that create something return a tuple with the code last."""
        value, code = result
        self._check(call, code)
        return int(value)
