"""One call on the device: buffers laid out, both phases, synchronise, everything checked and released."""

from __future__ import annotations

import contextlib
import ctypes
import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

from ascend_opcli.backends.cann.binding import Binder, argument_types
from ascend_opcli.backends.cann.buffers import Buffer
from ascend_opcli.backends.cann.libraries import Libraries
from ascend_opcli.backends.cann.runtime import AclFailure, Runtime
from ascend_opcli.backends.observed import POISONS, both, changed, gaps, storage_bytes, values
from ascend_opcli.backends.observed import written as written_mask
from ascend_opcli.model import Argument, Call, Case, Outcome, Phase, Tensor, TensorSpec
from ascend_opcli.operators.signature import Signature
from ascend_opcli.reference.call import aliases_last

Announce = Callable[[str], None]
"""Told the step that begins, so that a crash or a hang can be pinned to it."""

PHASE_1, PHASE_2, SYNC = "phase 1", "phase 2", "the synchronise"
CALL_STEPS = (PHASE_1, PHASE_2, SYNC)
"""Steps inside the case's own call; anything else is the surroundings'."""


@dataclass(slots=True)
class Slot:
    """A tensor's device buffer, what was put in, and what it is for; an input may be ``shared`` with an output."""

    name: str
    spec: TensorSpec
    buffer: Buffer
    content: np.ndarray | None
    writes: bool
    poison: int = 0
    shared: bool = False
    read: np.ndarray = field(default_factory=lambda: np.empty(0, np.uint8))

    @property
    def kept(self) -> bool:
        """Whether the call must leave it as it is."""
        return self.content is not None and not self.writes and not self.shared


def execute(
    runtime: Runtime, libraries: Libraries, signature: Signature, case: Case, call: Call, announce: Announce
) -> Outcome:
    """Run a call, its outputs poisoned and guarded.

    Elements that still hold the poison are looked at again with another one: a value that happens to be the
    poison shows itself a second time, an element that was not written does not. What the second call does
    wrong counts too.
    """
    return poisoned(
        lambda stack, poison: _called(stack, runtime, libraries, signature, case, call, announce, poison)
    )


def poisoned(once: Callable[[contextlib.ExitStack, int], Outcome]) -> Outcome:
    """The outcome of a call that ``once`` makes with a poison, twice where elements still hold the first one."""
    first = _attempt(once, POISONS[0])
    if first.status != 0 or not first.written:
        return first
    return both(first, _attempt(once, POISONS[1]))


def _attempt(once: Callable[[contextlib.ExitStack, int], Outcome], poison: int) -> Outcome:
    """One call from its buffers to their release."""
    outcome: Outcome | None = None
    try:
        with contextlib.ExitStack() as stack:
            outcome = once(stack, poison)
    except AclFailure as failure:
        if outcome is None or (outcome.status == 0 and not outcome.findings):
            raise
        # The call had failed before: that is the case's word, not what giving its memory back then said.
        outcome = dataclasses.replace(outcome, notes=(*outcome.notes, f"afterwards {failure}"))
    assert outcome is not None
    return outcome


def _called(
    stack: contextlib.ExitStack,
    runtime: Runtime,
    libraries: Libraries,
    signature: Signature,
    case: Case,
    call: Call,
    announce: Announce,
    poison: int,
) -> Outcome:
    announce("the preparation")
    entry = libraries.entry(signature.name)
    entry.phase1.argtypes = argument_types(signature)
    slots = lay_out(stack, runtime, signature, call, poison)
    addresses = {name: [s.buffer.address for s in members] for name, members in slots.items()}
    binder = stack.enter_context(Binder(libraries))
    bound = binder.bind(signature, specs_of(signature, case.arguments), addresses)
    size, executor = ctypes.c_uint64(0), ctypes.c_void_p()
    announce(PHASE_1)
    status = int(entry.phase1(*bound, ctypes.byref(size), ctypes.byref(executor)))
    if status != 0:
        return Outcome("device", status, Phase.ONE, message=runtime.error_text(), served_by=entry.file)
    if case.status is not None and case.status.code != 0 and case.status.phase is Phase.ONE:
        # A refusal was asked for: what was accepted against it is not worth running.
        drop(libraries, executor)
        return Outcome("device", 0, Phase.ONE, served_by=entry.file)
    announce("the workspace")
    try:
        workspace = stack.enter_context(contextlib.closing(Workspace(runtime, size.value)))
    except BaseException:
        drop(libraries, executor)
        raise
    announce(PHASE_2)
    status = int(entry.phase2(workspace.address, size.value, executor, runtime.stream))
    if status != 0:
        text = runtime.error_text()
        runtime.synchronize()
        return Outcome("device", status, Phase.TWO, message=text, served_by=entry.file)
    announce(SYNC)
    status = runtime.synchronize()
    if status != 0:
        return Outcome("device", status, Phase.SYNC, message=runtime.error_text(), served_by=entry.file)
    announce("the copy back")
    return collect(slots, workspace, signature, entry.file)


def drop(libraries: Libraries, executor: ctypes.c_void_p) -> None:
    """Release an executor. Phase 2 would have deleted the executor; without it we must."""
    if executor.value:
        libraries.meta("aclDestroyAclOpExecutor")(executor)


class Workspace:
    """Exactly the bytes that phase 1 asked for, poisoned, between guards; null for none."""

    def __init__(self, runtime: Runtime, size: int) -> None:
        self.size = size
        self._buffer = Buffer(runtime, size) if size else None
        if self._buffer is not None:
            try:
                self._buffer.fill(POISONS[0])
            except BaseException:
                self._buffer.free()
                raise

    @property
    def address(self) -> int | None:
        """Where it begins, None for the null pointer."""
        return self._buffer.address if self._buffer is not None else None

    def damage(self) -> tuple[str, str]:
        """How its guards were overwritten, and how its padding was; empty where they were not."""
        return self._buffer.damage() if self._buffer is not None else ("", "")

    def close(self) -> None:
        """Give the memory back; safe to call twice."""
        if self._buffer is not None:
            self._buffer.free()


def specs_of(signature: Signature, arguments: Mapping[str, Argument]) -> dict[str, Argument]:
    """The arguments in the order of the signature."""
    return {p.name: arguments[p.name] for p in signature.params}


def lay_out(
    stack: contextlib.ExitStack, runtime: Runtime, signature: Signature, call: Call, poison: int
) -> dict[str, list[Slot]]:
    """A buffer for every tensor, inputs filled and outputs poisoned, freed when ``stack`` closes."""
    slots: dict[str, list[Slot]] = {}
    for param in aliases_last(signature, call):
        members: list[Slot] = []
        bound = call.arguments[param.name] if param.is_input else call.outputs[param.name]
        if isinstance(bound, TensorSpec) and bound.alias:
            (source,) = slots[bound.alias]
            source.shared = True
            slots[param.name] = [Slot(param.name, bound, source.buffer, source.content, True)]
            continue
        items = bound if isinstance(bound, tuple) else (bound,)
        for i, item in enumerate(item for item in items if item is not None):
            name = f"{param.name}[{i}]" if isinstance(bound, tuple) else param.name
            tensor = item if isinstance(item, Tensor) else None
            spec = tensor.spec if tensor is not None else item
            assert isinstance(spec, TensorSpec)
            buffer = Buffer(runtime, storage_bytes(spec))
            stack.callback(buffer.free)
            content = None
            if tensor is not None:
                content = np.ascontiguousarray(tensor.storage).reshape(-1).view(np.uint8)
                buffer.write(content)
            else:
                buffer.fill(poison)
            members.append(Slot(name, spec, buffer, content, param.is_output, poison))
        slots[param.name] = members
    return slots


def collect(
    slots: Mapping[str, list[Slot]], workspace: Workspace, signature: Signature, file: str
) -> Outcome:
    """Outputs read back, and what was found beside their numbers.

    ``written`` marks what is not the first poison, whichever was put in: see :func:`.observed.both`.
    """
    findings: list[str] = []
    notes: list[str] = []
    outputs: dict[str, np.ndarray] = {}
    written: dict[str, np.ndarray] = {}
    for slot in (s for members in slots.values() for s in members):
        slot.read = slot.buffer.read()
        _strayed(slot.name, slot.buffer.damage(), findings, notes)
        if slot.kept:
            assert slot.content is not None
            findings += changed(slot.name, slot.spec, slot.read, slot.content)
        if slot.writes:
            findings += gaps(
                slot.name, slot.spec, slot.read, slot.poison if slot.content is None else slot.content
            )
            outputs[slot.name] = values(slot.spec, slot.read)
            if slot.content is None:
                mask = written_mask(slot.spec, slot.read, POISONS[0])
                if not mask.all():
                    written[slot.name] = mask
    _strayed("the workspace", workspace.damage(), findings, notes)
    lists = {p.name for p in signature.params if p.is_list}
    grouped = {
        n: tuple(outputs[s.name] for s in slots[n])
        for n in slots
        if n in lists and slots[n] and slots[n][0].writes
    }
    flat = {n: a for n, a in outputs.items() if n.split("[")[0] not in grouped}
    return Outcome(
        "device",
        outputs={**flat, **grouped},
        findings=tuple(findings),
        written=written,
        served_by=file,
        notes=tuple(notes),
    )


def _strayed(name: str, damage: tuple[str, str], findings: list[str], notes: list[str]) -> None:
    """A write behind a buffer: within the padding it is worth a note, beyond it a finding."""
    beyond, within = damage
    if beyond:
        findings.append(f"OUT OF BOUNDS WRITE: {name} was written {beyond}")
    if within:
        notes.append(f"{name} was written into {within}")


def failure_outcome(error: AclFailure) -> Outcome:
    """A runtime call that failed outside the case's own call."""
    return Outcome("device", error=f"the surroundings failed: {error}")
