"""What a request runs on: the host, a device, a candidate, or what a program has written."""

from __future__ import annotations

import contextlib
import dataclasses
import glob
import importlib.util
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from ascend_opcli.model import Case, StandardChoice
from ascend_opcli.operators.products import DEFAULT_PRODUCT

if TYPE_CHECKING:
    from ascend_opcli.backends.candidate.candidate import CandidateOptions
    from ascend_opcli.backends.cann.discovery import Headers
from ascend_opcli.execution.backend import Target
from ascend_opcli.execution.on_device import OnDevice
from ascend_opcli.execution.on_host import Host
from ascend_opcli.execution.timed import TimedTarget


@dataclasses.dataclass(frozen=True, slots=True)
class TargetRequest:
    """What the command line asks for: auto, host or device, and how a device is to be driven.

    ``candidate`` or ``outputs``, the folder of what a program has written, take the operator's place; a candidate's
    second call is judged by ``standard``, where the command line has one. ``models`` is a folder of single-operator
    models, for kernels that are called by their type; ``builtin`` leaves out every custom package.
    """

    backend: str = "auto"
    device: int = 0
    opp: Path | None = None
    timeout: float = 60.0
    live: bool = False
    in_process: bool = False
    candidate: CandidateOptions | None = None
    outputs: Path | None = None
    standard: StandardChoice | None = None
    models: Path | None = None
    builtin: bool = False


@contextlib.contextmanager
def opened(wanted: TargetRequest, environ: Mapping[str, str] = os.environ) -> Iterator[Target]:
    """The backend that is wanted. ``auto`` takes the host only where nothing of CANN is visible.

    Raises SurroundingsError where a device is there or asked for and cannot be opened: a host run in its place
    could be taken for a device run.
    """
    if wanted.outputs is not None:
        from ascend_opcli.execution.written import Written

        yield Written(wanted.outputs)
        return
    with timed(wanted, environ) as target:
        yield target


@contextlib.contextmanager
def timed(wanted: TargetRequest, environ: Mapping[str, str] = os.environ) -> Iterator[TimedTarget]:
    """What :func:`opened` gives where something is run, which can be timed too."""
    if wanted.candidate is not None:
        from ascend_opcli.backends.candidate.candidate import Candidate
        from ascend_opcli.execution.candidate import ByCandidate

        with Candidate(wanted.candidate) as candidate:
            yield ByCandidate(candidate, wanted.standard)
        return
    if wanted.backend == "host" or (
        wanted.backend == "auto" and wanted.opp is None and not cann_traces(environ)
    ):
        yield Host()
        return
    if wanted.in_process:
        from ascend_opcli.backends.cann.inprocess import InProcess

        with InProcess(wanted.device, wanted.opp, live=wanted.live) as here:
            yield OnDevice(here, here.soc, wanted.models)
        return
    from ascend_opcli.backends.cann.device import Device, DeviceOptions

    with Device(
        DeviceOptions(wanted.device, wanted.opp, wanted.timeout, wanted.live, wanted.builtin)
    ) as device:
        yield OnDevice(device, device.soc, wanted.models)


def cann_traces(environ: Mapping[str, str] = os.environ) -> list[str]:
    """What of CANN can be seen: environment variables, device files, pyACL."""
    traces = [
        name for name in ("ASCEND_HOME_PATH", "ASCEND_TOOLKIT_HOME", "ASCEND_OPP_PATH") if environ.get(name)
    ]
    traces += glob.glob("/dev/davinci[0-9]*")[:1]
    spec = importlib.util.find_spec("acl")
    # PyPI's unrelated acl is a package of Python files; pyACL is one extension module.
    if spec is not None and spec.origin is not None and spec.origin.endswith(".so"):
        traces.append("pyACL")
    return traces


def installed_headers(
    backend: str, opp: Path | None, environ: Mapping[str, str] = os.environ
) -> Headers | None:
    """The headers of the CANN that a device run would use; None for a host run where there is none."""
    if backend == "host" and opp is None:
        return None
    from ascend_opcli.backends.cann.discovery import Headers, header_folders

    return Headers(environ, opp) if header_folders(environ, opp) else None


def installed_cann(environ: Mapping[str, str] = os.environ) -> str | None:
    """The version of the CANN that the environment names, None where there is none or it does not say."""
    if not cann_traces(environ):
        return None
    from ascend_opcli.backends.cann.discovery import cann_version, root

    home = root(environ)
    return cann_version(home) if home is not None else None


def running_cann(executor: Target) -> str | None:
    """The version of the CANN that the executor runs on, for an installation whose files do not say it."""
    return executor.cann() if isinstance(executor, OnDevice) else None


def product_of(case: Case, executor: Target, default: str | None) -> str:
    """Whose contract holds: the device's own, else the case's, the command line's, the default."""
    return executor.product or case.product or default or DEFAULT_PRODUCT
