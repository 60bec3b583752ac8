"""A call of the self-test in steps, its buffers laid out as a run lays them out."""

from __future__ import annotations

import contextlib
import ctypes
import dataclasses
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from ascend_opcli.backends.cann.binding import Binder, argument_types
from ascend_opcli.backends.cann.execute import Slot, Workspace, lay_out, specs_of
from ascend_opcli.backends.cann.runtime import AclFailure, Runtime
from ascend_opcli.backends.cann.selftest_requests import NotChecked, SelfTestCheck
from ascend_opcli.backends.observed import POISONS
from ascend_opcli.model import Case, Outcome, TensorSpec
from ascend_opcli.reference.call import make_call

if TYPE_CHECKING:
    from ascend_opcli.backends.cann.session import Session


def sized(case: Case, length: int) -> Case:
    """The case with every tensor of ``length`` elements."""
    size = (length,)
    return dataclasses.replace(
        case,
        arguments={
            name: dataclasses.replace(a, shape=size, strides=(1,), storage_shape=size)
            if isinstance(a, TensorSpec)
            else a
            for name, a in case.arguments.items()
        },
    )


def called(session: Session, check: SelfTestCheck, length: int) -> Outcome:
    """A whole call, as a run makes it. Raises NotChecked where it does not succeed."""
    outcome = session.run(check.signature, sized(check.case, length), check.product)
    if outcome.status or outcome.error:
        raise NotChecked("failed", name=check.case.operator, what=outcome.error or outcome.status)
    return outcome


def done(runtime: Runtime) -> None:
    status = runtime.synchronize()
    if status != 0:
        raise AclFailure("acl.rt.synchronize_stream", status, runtime.error_text())


class Steps:
    """The steps of one call, its buffers laid out."""

    def __init__(
        self,
        session: Session,
        check: SelfTestCheck,
        slots: Mapping[str, list[Slot]],
        case: Case,
        binder: Binder,
    ) -> None:
        self._session, self._check, self._case, self._binder = session, check, case, binder
        self._entry = session.libraries.entry(check.signature.name)
        self._entry.phase1.argtypes = argument_types(check.signature)
        self._addresses = {name: [s.buffer.address for s in members] for name, members in slots.items()}
        self.out = next(s for members in slots.values() for s in members if s.writes)
        self._bound: list[Any] = []
        self.bind({})

    def bind(self, addresses: Mapping[str, int]) -> None:
        """The arguments, some tensors at other addresses than their buffers'."""
        moved = {name: [address] for name, address in addresses.items()}
        specs = specs_of(self._check.signature, self._case.arguments)
        self._bound = self._binder.bind(self._check.signature, specs, {**self._addresses, **moved})

    def plan(self) -> tuple[ctypes.c_void_p, int]:
        """Phase 1: the executor and the size of the workspace."""
        size, executor = ctypes.c_uint64(0), ctypes.c_void_p()
        status = int(self._entry.phase1(*self._bound, ctypes.byref(size), ctypes.byref(executor)))
        if status != 0:
            raise NotChecked("failed", name=self._case.operator, what=status)
        return executor, size.value

    def run(self, executor: ctypes.c_void_p, size: int) -> None:
        """Phase 2 and the end of the stream."""
        runtime = self._session.runtime
        with contextlib.closing(Workspace(runtime, size)) as workspace:
            status = int(self._entry.phase2(workspace.address, size, executor, runtime.stream))
            if status != 0:
                raise NotChecked("failed", name=self._case.operator, what=status)
            done(runtime)

    def launch(self) -> None:
        """All of it."""
        self.run(*self.plan())


@contextlib.contextmanager
def bound(session: Session, case: Case, check: SelfTestCheck, poison: int = POISONS[0]) -> Iterator[Steps]:
    with contextlib.ExitStack() as stack:
        call = make_call(case, check.signature, check.product)
        slots = lay_out(stack, session.runtime, check.signature, call, poison)
        yield Steps(session, check, slots, case, stack.enter_context(Binder(session.libraries)))
