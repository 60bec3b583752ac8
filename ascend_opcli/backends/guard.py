"""The process above a worker that runs foreign code: when the worker goes, or opcli does, all that it has started ends.

Run as ``python -m ascend_opcli.backends.guard FOLDER MODULE FD ARG...``: the worker is ``MODULE FD ARG...``, and the
guard ends as the worker did. Where opcli is gone, FOLDER is removed. A SIGTERM of opcli ends everything. This file
imports next to nothing: its process lives as long as the worker.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys

from ascend_opcli.backends.descendants import become_subreaper, die_with_the_parent, end_all, is_exiting

WATCHED = {signal.SIGCHLD, signal.SIGTERM}


def main() -> None:
    """Start the worker and wait."""
    folder, module, fd, *arguments = sys.argv[1:]
    opcli = os.getppid()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, WATCHED)
    become_subreaper()
    die_with_the_parent(signal.SIGTERM)
    worker = os.fork()
    if worker == 0:
        die_with_the_parent()
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        _become(module, [fd, *arguments])
        return
    os.close(int(fd))
    status = _wait(worker, opcli)
    end_all()
    if os.getppid() != opcli or is_exiting(opcli):
        import shutil

        shutil.rmtree(folder, ignore_errors=True)
    _end_like(status)


def _become(module: str, arguments: list[str]) -> None:
    import runpy

    sys.argv = [module, *arguments]
    runpy.run_module(module, run_name="__main__", alter_sys=True)


def _wait(worker: int, opcli: int) -> int:
    """The worker's status; that of a SIGTERM where everything is to end. One that foreign code sends is not heard."""
    while True:
        with contextlib.suppress(ChildProcessError):
            while (gone := os.waitpid(-1, os.WNOHANG))[0]:
                if gone[0] == worker:
                    return gone[1]
        got = signal.sigwaitinfo(WATCHED)
        if got.si_signo == signal.SIGTERM and (got.si_pid in (0, opcli) or os.getppid() != opcli):
            return int(signal.SIGTERM)


def _end_like(status: int) -> None:
    if os.WIFSIGNALED(status):
        signum = os.WTERMSIG(status)
        with contextlib.suppress(ImportError, OSError, ValueError):
            import resource

            resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
        if signum != signal.SIGKILL:
            signal.signal(signum, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signum})
        os.kill(os.getpid(), signum)
    os._exit(os.waitstatus_to_exitcode(status) & 0xFF)


if __name__ == "__main__":
    main()
