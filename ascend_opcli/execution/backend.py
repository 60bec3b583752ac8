"""Which backend executes a run, and how a case is handed to it."""

from __future__ import annotations

import contextlib
import dataclasses
import glob
import importlib.util
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np

from ascend_opcli.backends import host
from ascend_opcli.execution.by_type import kernel_of
from ascend_opcli.model import Call, Case, Outcome, StandardChoice
from ascend_opcli.operators.contract.rules import Refusal, predict, unchecked
from ascend_opcli.operators.documents.twins import KernelCall
from ascend_opcli.operators.operator import Operator
from ascend_opcli.operators.products import DEFAULT_PRODUCT
from ascend_opcli.operators.products import product as product_named

if TYPE_CHECKING:
    from ascend_opcli.backends.candidate.candidate import Options as CandidateOptions
    from ascend_opcli.backends.cann.device import Device
    from ascend_opcli.backends.cann.discovery import Headers
    from ascend_opcli.backends.cann.inprocess import InProcess


class Executor(Protocol):
    """What runs calls. ``product`` is the device's own, None where any can be assumed."""

    name: str
    product: str | None

    def refuse(self, operator: Operator, case: Case, product: str) -> Outcome | None:
        """The outcome of a call that needs no data to be settled; None where it must be run to be known."""

    def run(self, operator: Operator, case: Case, call: Call) -> Outcome:
        """The outcome of one call on ``call.product``."""


class Host:
    """The contract decides the status, the reference gives the outputs."""

    name = host.NAME
    product: str | None = None

    def refuse(self, operator: Operator, case: Case, product: str) -> Outcome | None:
        return host.refuse(operator, case, product)

    def run(self, operator: Operator, case: Case, call: Call) -> Outcome:
        refused = host.refuse(operator, case, call.product)
        if refused is not None:
            return refused
        if operator.reference is None:
            return Outcome(host.NAME, skip=_no_reference(case))
        notes = host.overruled(operator, case, call.product)
        return repeated(case, lambda: host.run(operator, call, notes))


def _no_reference(case: Case) -> str:
    if case.reference is not None:
        return f"cannot judge: the reference {case.reference} is code, which runs only with --allow-code"
    return "cannot judge: no reference, and the host executes no operator"


class OnDevice:
    """An NPU, in a worker of its own or in this process."""

    name = "device"

    def __init__(self, device: Device | InProcess, soc: str, models: Path | None = None) -> None:
        self._device = device
        self._models = str(models.resolve()) if models is not None else ""
        self.soc = soc
        try:
            self.product: str | None = product_named(soc)
        except ValueError:
            self.product = (
                None  # a SoC that nobody has mapped: the contract of the default product is only noted
            )

    def cann(self) -> str | None:
        """The version that the runtime of the device says of itself, None on one that cannot be asked."""
        from ascend_opcli.backends.cann.device import Device
        from ascend_opcli.backends.cann.timing import About

        if not isinstance(self._device, Device):
            return self._device.cann() or None
        said = self._device.ask(About())
        return (said["cann"] or None) if isinstance(said, dict) else None

    def refuse(self, operator: Operator, case: Case, product: str) -> Outcome | None:  # noqa: ARG002
        return None  # on a device the operator decides

    def run(self, operator: Operator, case: Case, call: Call) -> Outcome:
        hazard = unchecked(operator, case.arguments)
        if hazard is not None:
            return Outcome(self.name, findings=(f"not checked by the operator: {hazard}",))
        kernel = kernel_of(operator, case)
        if kernel is not None:
            return self._by_type(kernel, operator, case, call)
        outcome = repeated(case, lambda: self._device.run(operator.signature, case, call.product))
        note = differs(operator, predict(operator, case.arguments, call.product), outcome)
        return dataclasses.replace(outcome, notes=(*outcome.notes, *note))

    def _by_type(self, kernel: KernelCall, operator: Operator, case: Case, call: Call) -> Outcome:
        """The outcome of the case's kernel; its statuses are its own, of which no contract says anything."""
        from ascend_opcli.backends.cann.ir import ByType

        way = ByType(kernel, self._models)
        outcome = repeated(case, lambda: self._device.run(operator.signature, case, call.product, way))
        return dataclasses.replace(outcome, notes=(*outcome.notes, f"via ir: the kernel {kernel.type}"))


def differs(operator: Operator, predicted: object, outcome: Outcome) -> tuple[str, ...]:
    """On a device the operator decides; where our contract said otherwise, that is worth a note."""
    if outcome.error or (outcome.findings and not outcome.outputs):
        return ()
    contract = "the generic contract" if operator.generic else "the contract"
    if isinstance(predicted, Refusal) and outcome.status == 0:
        return (f"{contract} predicts {predicted.status} ({predicted.rule}); the operator accepted the call",)
    if isinstance(predicted, Refusal) and outcome.status != predicted.status:
        return (
            f"{contract} predicts {predicted.status} ({predicted.rule}); the operator gave {outcome.status}",
        )
    if predicted is None and outcome.status != 0:
        return (f"{contract} predicts that the call is accepted",)
    return ()


def repeated(case: Case, run: object) -> Outcome:
    """The first outcome of ``case.repeat`` runs; a later one with other bytes is a finding."""
    first: Outcome = run()  # type: ignore[operator]
    for n in range(2, case.repeat + 1):
        if first.status != 0 or first.error or first.skip or first.findings:
            return first
        again: Outcome = run()  # type: ignore[operator]
        if again.status != 0 or again.error or again.findings:
            return again
        for name, array in first.outputs.items():
            if not _same_bytes(array, again.outputs[name]):
                text = f"{name} of run {n} of {case.repeat} has other bytes than the first"
                return dataclasses.replace(first, findings=(text,))
    return first


def _same_bytes(a: object, b: object) -> bool:
    if isinstance(a, tuple) and isinstance(b, tuple):
        return len(a) == len(b) and all(_same_bytes(x, y) for x, y in zip(a, b, strict=True))
    assert isinstance(a, np.ndarray)
    assert isinstance(b, np.ndarray)
    return np.ascontiguousarray(a).tobytes() == np.ascontiguousarray(b).tobytes()


# --- choosing ---------------------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True, slots=True)
class Wanted:
    """What the command line asks for: auto, host or device, and how a device is to be driven.

    ``candidate`` or ``outputs``, the folder of what a program has written, take the operator's place; a candidate's
    second call is judged by ``standard``, where the command line has one. ``models`` is a folder of single-operator
    models, for kernels that are called by their type.
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


@contextlib.contextmanager
def opened(wanted: Wanted, environ: Mapping[str, str] = os.environ) -> Iterator[Executor]:
    """The backend that is wanted. ``auto`` takes the host only where nothing of CANN is visible.

    Raises SurroundingsError where a device is there or asked for and cannot be opened: a host run in its place
    could be taken for a device run.
    """
    if wanted.outputs is not None:
        from ascend_opcli.execution.written import Written

        yield Written(wanted.outputs)
        return
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
    from ascend_opcli.backends.cann.device import Device, Options

    with Device(Options(wanted.device, wanted.opp, wanted.timeout, wanted.live)) as device:
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


def running_cann(executor: Executor) -> str | None:
    """The version of the CANN that the executor runs on, for an installation whose files do not say it."""
    return executor.cann() if isinstance(executor, OnDevice) else None


def product_of(case: Case, executor: Executor, default: str | None) -> str:
    """Whose contract holds: the device's own, else the case's, the command line's, the default."""
    return executor.product or case.product or default or DEFAULT_PRODUCT
