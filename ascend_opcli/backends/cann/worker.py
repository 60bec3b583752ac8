"""The process in which the device lives: it takes calls from a pipe and answers with outcomes.

Started as ``python -m ascend_opcli.backends.cann.worker FD DEVICE OPP BUILTIN``; BUILTIN "1" leaves out every
custom package. A tuple is a case to run; a request of :mod:`timing` goes to the stage that it keeps, one of
:mod:`selftest` looks at what is taken for granted. What it sends
is ("step", name) as a call goes on and ("done", answer) at its end, or ("last", answer) where the context is spoilt and
another worker should take over; anything else that happens to it is the parent's to notice.
"""

from __future__ import annotations

import ctypes
import sys
import traceback
from pathlib import Path
from typing import Any

from ascend_opcli.backends.cann.runtime import AclFailure
from ascend_opcli.backends.cann.selftest_requests import Planted, SelfTestCheck
from ascend_opcli.backends.cann.session import Session
from ascend_opcli.backends.child import Speaker
from ascend_opcli.backends.descendants import die_with_the_parent
from ascend_opcli.errors import OpcliError
from ascend_opcli.model import Outcome


def main() -> None:
    """Serve calls until the pipe closes."""
    die_with_the_parent()
    speaker = Speaker(int(sys.argv[1]))
    opp = Path(sys.argv[3]) if len(sys.argv) > 3 and sys.argv[3] else None
    try:
        session = Session(int(sys.argv[2]), opp, builtin=sys.argv[4:5] == ["1"])
    except (AclFailure, OpcliError) as error:
        speaker.send("failed", str(error))
        return
    speaker.send("ready", session.runtime.soc_name())
    try:
        while True:
            try:
                request = speaker.receive()
            except EOFError:
                return
            outcome = _answer(session, request, speaker)
            session.settle_log(outcome)
            # What the kernel printed sits in C's buffers; the parent reads the file once we are done.
            ctypes.CDLL(None).fflush(None)
            sys.stdout.flush()
            speaker.send("done" if session.runtime.healthy else "last", outcome)
    finally:
        session.close()


def _answer(session: Session, request: Any, speaker: Speaker) -> object:
    def announce(step: str) -> None:
        speaker.send("step", step)

    try:
        if isinstance(request, tuple):
            signature, case, product, way = request
            return session.run(signature, case, product, way, announce)
        if isinstance(request, (SelfTestCheck, Planted)):
            from ascend_opcli.backends.cann import selftest  # an ordinary run does without it

            return selftest.answer(session, request, announce)
        return session.bench.answer(request, announce)
    except Exception as error:
        traceback.print_exc()
        return Outcome("device", error=f"the worker failed: {type(error).__name__}: {error}")


if __name__ == "__main__":
    main()
