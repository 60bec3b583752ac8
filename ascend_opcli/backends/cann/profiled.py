"""What msprof runs: exactly so many calls of an operator, and nothing else that is a kernel.

``python -m ascend_opcli.backends.cann.profiled FILE``; FILE is a job that :func:`msprof.profile` has just written.
"""

from __future__ import annotations

import contextlib
import pickle
import sys
from pathlib import Path

from ascend_opcli.backends.cann.msprof import Job
from ascend_opcli.backends.cann.runtime import AclFailure
from ascend_opcli.backends.cann.session import Session
from ascend_opcli.backends.cann.timing import Prepare, plain_calls
from ascend_opcli.errors import OpcliError


def main() -> None:
    """Run the job; a failure is one line on stderr."""
    job = pickle.loads(Path(sys.argv[1]).read_bytes())
    assert isinstance(job, Job)
    assert isinstance(job.prepare, Prepare)
    try:
        with contextlib.closing(Session(job.device, job.opp, builtin=job.builtin)) as session:
            flushed = plain_calls(session.runtime, session.libraries, job.prepare, job.warm_ups, job.calls)
    except (AclFailure, OpcliError) as error:
        sys.exit(str(error))
    Path(job.answer).write_text("flushed" if flushed else "", "ascii")


if __name__ == "__main__":
    main()
