"""opcli in a process of its own, without its imports each time: forked off a process that has them.

A run is what ``python -m ascend_opcli ARGUMENTS`` is (environment, folder, streams, exit code), at half the time.
A run with ``--in-process`` loads libraries as its start finds them and must be started instead.
"""

from __future__ import annotations

import atexit
import os
import pickle
import pkgutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

_LENGTH = 8


def run(
    arguments: list[str], env: Mapping[str, str], *, cwd: Path | None = None, timeout: float = 120
) -> subprocess.CompletedProcess[str]:
    """``opcli ARGUMENTS`` in that environment. Raises TimeoutExpired, and ends it, after ``timeout`` seconds."""
    if "--in-process" in arguments:
        command = [sys.executable, "-m", "ascend_opcli", *arguments]
        return subprocess.run(
            command, env=env, cwd=cwd, capture_output=True, text=True, timeout=timeout, check=False
        )
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        server = _server(os.getpid())
        asked = pickle.dumps((arguments, dict(env), str(cwd or Path.cwd())))
        socket.send_fds(server, [len(asked).to_bytes(_LENGTH, "big")], [out.fileno(), err.fileno()])
        server.sendall(asked)
        pid = int.from_bytes(_exactly(server, _LENGTH), "big")
        server.settimeout(timeout)
        try:
            code = int.from_bytes(_exactly(server, _LENGTH), "big", signed=True)
        except TimeoutError:
            os.kill(pid, signal.SIGKILL)
            server.settimeout(None)
            _exactly(server, _LENGTH)
            raise subprocess.TimeoutExpired(arguments, timeout) from None
        finally:
            server.settimeout(None)
        out.seek(0)
        err.seek(0)
        return subprocess.CompletedProcess(arguments, code, out.read().decode(), err.read().decode())


@lru_cache(maxsize=1)
def _server(pid: int) -> socket.socket:
    ours, theirs = socket.socketpair()
    code = f"from tests.forked import _serve; _serve({theirs.fileno()})"
    root = str(Path(__file__).parents[1])
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([root, *(p for p in sys.path if p)])}
    server = subprocess.Popen([sys.executable, "-c", code], pass_fds=[theirs.fileno()], env=env)
    theirs.close()

    def end() -> None:
        ours.close()
        server.wait()

    atexit.register(end)
    return ours


def _exactly(stream: socket.socket, count: int) -> bytes:
    got = b""
    while len(got) < count:
        part = stream.recv(count - len(got))
        if not part:
            raise EOFError
        got += part
    return got


def _serve(descriptor: int) -> None:
    """Answers requests until the other end is gone; in the processes that it forks it returns into opcli."""
    import ascend_opcli

    for module in pkgutil.walk_packages(ascend_opcli.__path__, "ascend_opcli."):
        if (
            not module.name.endswith(("__main__", "pytest_plugin", "profiled"))
            and ".families." not in module.name
        ):
            __import__(module.name)
    stream = socket.socket(fileno=descriptor)
    while True:
        head, streams, _, _ = socket.recv_fds(stream, _LENGTH, 2)
        if not head:
            return
        head += _exactly(stream, _LENGTH - len(head)) if len(head) < _LENGTH else b""
        arguments, env, folder = pickle.loads(_exactly(stream, int.from_bytes(head, "big")))
        child = os.fork()
        if child == 0:
            stream.close()
            _become(arguments, env, folder, streams)
        for each in streams:
            os.close(each)
        stream.sendall(child.to_bytes(_LENGTH, "big"))
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        stream.sendall(code.to_bytes(_LENGTH, "big", signed=True))


def _become(arguments: list[str], env: dict[str, str], folder: str, streams: list[int]) -> None:
    """opcli in this process, as if it had just been started."""
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    for wanted, given in zip((1, 2), streams, strict=True):
        os.dup2(given, wanted)
        os.close(given)
    os.environ.clear()
    os.environ.update(env)
    os.chdir(folder)
    ahead = [p for p in env.get("PYTHONPATH", "").split(os.pathsep) if p]
    sys.path[:] = ["", *ahead, *(p for p in sys.path if p and p not in ahead)]
    sys.argv = [str(Path(__file__).parents[1] / "ascend_opcli" / "__main__.py"), *arguments]
    from ascend_opcli.cli import main

    main()
