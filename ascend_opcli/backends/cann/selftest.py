"""What opcli takes for granted of a device and of CANN, looked at in the worker: ``opcli doctor --self-test``.

Each check is a question with the answer holds, differs or not checked; what it means for verdicts is said by the
report. Checks that need a kernel use one that every CANN has.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ascend_opcli.backends.cann.buffers import BLOCK, Buffer
from ascend_opcli.backends.cann.execute import (
    Announce,
    Workspace,
    collect,
    drop,
    lay_out,
    poisoned,
)
from ascend_opcli.backends.cann.libraries import served_by
from ascend_opcli.backends.cann.plog import Plog
from ascend_opcli.backends.cann.runtime import AclFailure, Runtime
from ascend_opcli.backends.cann.selftest_requests import (
    DIFFERS,
    HOLDS,
    NOT_CHECKED,
    Checked,
    NotChecked,
    Planted,
    SelfTestCheck,
)
from ascend_opcli.backends.cann.stage import CallFailed, DeviceStage
from ascend_opcli.backends.cann.steps import bound, called, done, sized
from ascend_opcli.backends.cann.timing_requests import Prepare
from ascend_opcli.backends.child import CLOSING
from ascend_opcli.backends.observed import GUARD, POISONS
from ascend_opcli.errors import Missing, OpcliError
from ascend_opcli.model import Outcome
from ascend_opcli.reference.call import make_call

if TYPE_CHECKING:
    from ascend_opcli.backends.cann.session import Session

COPIES, COPY_BYTES = 64, 16 << 20
"""Copies within the device that are timed: some milliseconds on an NPU."""

ATTEMPTS = 3
SAMPLES = 4
LOG_PATIENCE = 5.0
"""Seconds after which a line of the log is given up."""

COLDER = 1.2
"""How many times longer a launch takes at the least where a flush has worked."""

LAUNCH_BYTES = 6 << 20
"""Bytes of such a launch, where so many fit well in the L2."""

OUTSIDE = GUARD // 2
"""Bytes that a kernel is led out of a buffer."""


Found = tuple[bool, str, dict[str, Any]]
"""Whether it holds, the sentence, its blanks."""


def answer(session: Session, request: SelfTestCheck | Planted, announce: Announce) -> object:
    """The answer, or the outcome of the planted call."""
    try:
        if isinstance(request, Planted):
            return _planted(session.runtime, request)
        announce(f"the check {request.name}")
        try:
            holds, said, values = CHECKS[request.name](session, request)
        except NotChecked as why:
            return Checked(request.name, NOT_CHECKED, why.said, why.values)
        except OpcliError as error:
            return Checked(request.name, NOT_CHECKED, "as_is", {"what": str(error)})
        return Checked(request.name, HOLDS if holds else DIFFERS, said, values)
    except CallFailed as failed:
        return failed.outcome
    except AclFailure as failure:
        return Outcome("device", error=str(failure))


# --- libraries --------------------------------------------------------------------------------------------------


def _libraries(session: Session, _check: SelfTestCheck) -> Found:
    unbound = session.libraries.unbound()
    if unbound:
        return False, "as_is", {"what": "; ".join(map(str, unbound))}
    return True, "libraries", {"count": len(session.libraries.files())}


def _served(session: Session, check: SelfTestCheck) -> Found:
    files: Counter[str] = Counter()
    lacking: list[str] = []
    for name in check.operators:
        try:
            entry = session.libraries.entry(name)
        except Missing:
            lacking.append(name)
            continue
        other = served_by(entry.phase2)
        if other != entry.file:
            return False, "split", {"name": name, "first": entry.file, "second": other}
        files[entry.file] += 1
    what = ", ".join(f"{file} ({count})" for file, count in files.items())
    if lacking:
        raise NotChecked("lacking", what=what or "-", names=", ".join(lacking))
    return True, "as_is", {"what": what}


# --- memory -----------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def _memory(runtime: Runtime, size: int, count: int = 1) -> Iterator[list[int]]:
    """The addresses of ``count`` allocations, in their order in memory."""
    with contextlib.ExitStack() as stack:
        addresses: list[int] = []
        for _ in range(count):
            addresses.append(runtime.malloc(size))
            stack.callback(runtime.free, addresses[-1])
        yield sorted(addresses)


def _odd(session: Session, _check: SelfTestCheck) -> Found:
    runtime, size, copies = session.runtime, 4096, 0
    pattern = (np.arange(size) * 7 % 251).astype(np.uint8)
    with _memory(runtime, size) as (base,):
        for offset in (1, 3, 31, 33, 511, 1023):
            for length in (1, 2, 31, 65, 1001):
                wanted = np.full(size, 0x11, np.uint8)
                runtime.copy_in(base, wanted)
                piece = pattern[:length].copy()
                runtime.copy_in(base + offset, piece)
                wanted[offset : offset + length] = piece
                whole, back = np.empty(size, np.uint8), np.empty(length, np.uint8)
                runtime.copy_out(whole, base)
                runtime.copy_out(back, base + offset)
                if not np.array_equal(whole, wanted) or not np.array_equal(back, piece):
                    return False, "odd_differs", {"size": length, "offset": offset}
                copies += 1
    return True, "odd", {"count": copies}


def _padding(session: Session, check: SelfTestCheck) -> Found:
    runtime, count = session.runtime, 0
    padding = runtime.segment_padding()
    for size in (1, 31, 32, 33, 64, 4096):
        with _memory(runtime, size, 4) as addresses:
            apart, least = min(b - a for a, b in pairwise(addresses)), -(-size // BLOCK) * BLOCK + padding
            if apart < least:
                return False, "tight", {"size": size, "apart": apart, "least": least}
            count += len(addresses)
    for length in (1, 7, 8, 9, 33, 1001):
        outcome = called(session, check, length)
        if outcome.findings:
            return (
                False,
                "wrote",
                {"name": check.case.operator, "length": length, "what": outcome.findings[0]},
            )
    return True, "padding", {"count": count, "padding": padding}


def _poison(session: Session, check: SelfTestCheck) -> Found:
    size = 0
    for poison in POISONS:
        with bound(session, sized(check.case, 4099), check, poison) as call:
            executor, _ = call.plan()
            drop(session.libraries, executor)
            session.runtime.synchronize()
            size = call.out.buffer.nbytes
            for when in ("in_phase_1", "at_a_launch"):
                if when == "at_a_launch":
                    called(session, check, 4099)  # with buffers of its own
                changed = int(np.count_nonzero(call.out.buffer.read() != poison))
                if changed:
                    return False, when, {"changed": changed, "count": size}
    return True, "poison", {"count": size}


def _guards(session: Session, check: SelfTestCheck) -> Found:
    for shift, side, words in ((-OUTSIDE, "before", "before the start"), (0, "behind", "past the end")):
        with bound(session, sized(check.case, 4096), check) as call, contextlib.ExitStack() as stack:
            own = Buffer(session.runtime, call.out.buffer.nbytes - OUTSIDE)
            stack.callback(own.free)
            own.fill(POISONS[0])
            call.bind({call.out.name: own.address + shift})
            call.launch()
            if (own.read()[OUTSIDE:-OUTSIDE] == POISONS[0]).all():
                raise NotChecked("silent", name=check.case.operator)
            if not own.damage()[0].startswith(words):
                return False, side, {"count": OUTSIDE}
    return True, "guards", {"count": OUTSIDE}


def _planted(runtime: Runtime, planted: Planted) -> Outcome:
    def once(stack: contextlib.ExitStack, poison: int) -> Outcome:
        signature = planted.signature
        call = make_call(planted.case, signature, planted.product)
        slots = lay_out(stack, runtime, signature, call, poison)
        (source,), (target,) = (slots[p.name] for p in signature.params)
        each = target.buffer.nbytes // target.spec.count
        runtime.copy_async(
            target.buffer.address, source.buffer.address, target.buffer.nbytes - planted.short * each
        )
        done(runtime)
        return collect(slots, Workspace(runtime, 0), signature, "")

    return poisoned(once)


# --- launches and times -----------------------------------------------------------------------------------------


def _repeatable(session: Session, check: SelfTestCheck) -> Found:
    # Of a size that was not launched before: CANN's cache gives executors that refuse.
    with bound(session, sized(check.case, 2053), check) as call:
        executor, size = call.plan()
        try:
            if session.libraries.meta("aclSetAclOpExecutorRepeatable")(executor) != 0:
                session.runtime.error_text()
                return False, "refused", {"name": check.case.operator}
            results = []
            for _ in range(3):
                call.out.buffer.fill(POISONS[0])
                call.run(executor, size)
                results.append(call.out.buffer.read())
        finally:
            drop(session.libraries, executor)
    for number, result in enumerate(results[1:], 2):
        if not np.array_equal(result, results[0]):
            return False, "other_bytes", {"number": number}
    return True, "repeatable", {"count": len(results)}


def _l2(session: Session, check: SelfTestCheck) -> Found:
    cache = session.runtime.l2_bytes()
    if cache is None:
        raise NotChecked("no_l2")
    best: list[float] = []
    for cold in (True, False):
        case = sized(check.case, min(LAUNCH_BYTES, cache // 2) // 3 // 4)
        request = Prepare(check.signature, case, check.product, cold=cold, sets=1)
        with contextlib.closing(
            DeviceStage(session.runtime, session.libraries, request, lambda _step: None)
        ) as stage:
            best.append(min(stage.draw(lambda _step: None).seconds for _ in range(SAMPLES)))
    values = {"cold": best[0] * 1e6, "warm": best[1] * 1e6}
    return best[0] >= COLDER * best[1], "l2", values


def _events(session: Session, _check: SelfTestCheck) -> Found:
    runtime, values = session.runtime, {}
    with _memory(runtime, COPY_BYTES, 2) as (here, there), contextlib.ExitStack() as stack:
        events = [runtime.create_event() for _ in range(2)]
        for event in events:
            stack.callback(runtime.destroy_event, event)
        for _ in range(ATTEMPTS):
            begun = time.perf_counter()
            runtime.record(events[0])
            for _ in range(COPIES):
                runtime.copy_async(there, here, COPY_BYTES)
            runtime.record(events[1])
            done(runtime)
            clock = time.perf_counter() - begun
            between = runtime.seconds_between(*events)
            rate = 2 * COPIES * COPY_BYTES / max(between, 1e-12) / 1e9
            values = {"count": COPIES, "event": between * 1e3, "clock": clock * 1e3, "rate": rate}
            if 0.5 * clock <= between <= 1.05 * clock:
                return True, "events", values
    return False, "events", values


def _log(session: Session, check: SelfTestCheck) -> Found:
    plog = Plog(Path(os.environ["ASCEND_PROCESS_LOG_PATH"]))
    plog.mark()
    first = next(p.name for p in check.signature.params if p.is_tensor)
    refused = dataclasses.replace(check.case, arguments={**check.case.arguments, first: None})
    outcome = session.run(check.signature, refused, check.product)
    if outcome.status == 0:
        raise NotChecked("accepts_null", name=check.case.operator)
    begun = time.monotonic()
    session.settle_log(outcome)
    settled = time.monotonic() - begun
    while not plog.errors() and time.monotonic() - begun < LOG_PATIENCE:
        time.sleep(0.02)
        if plog.errors():
            return False, "late", {"seconds": time.monotonic() - begun, "waited": settled}
    if not plog.errors():
        return False, "never", {"seconds": LOG_PATIENCE, "status": outcome.status}
    return True, "log", {"seconds": settled}


def _close(session: Session, _check: SelfTestCheck) -> Found:
    begun = time.monotonic()
    session.close()
    seconds = time.monotonic() - begun
    return seconds <= CLOSING, "close", {"seconds": seconds, "patience": CLOSING}


CHECKS: Mapping[str, Callable[[Session, SelfTestCheck], Found]] = {
    "libraries": _libraries,
    "served": _served,
    "odd": _odd,
    "padding": _padding,
    "poison": _poison,
    "guards": _guards,
    "repeatable": _repeatable,
    "l2": _l2,
    "events": _events,
    "log": _log,
    "close": _close,
}
"""In this order: libraries are bound before anything else opens them, and nothing comes after the end."""
