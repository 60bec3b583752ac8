"""What every test may use: the command line in this process, and case files in a folder of their own."""

from __future__ import annotations

import io
import signal
import sys
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.metadata import entry_points
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from ascend_opcli.cli import main

# The workers of pytest-xdist ignore SIGINT, and nohup SIGHUP; what they start would inherit that, and opcli leaves
# ignored what was.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
if hasattr(signal, "SIGHUP"):
    signal.signal(signal.SIGHUP, signal.SIG_DFL)

settings.register_profile(
    "repeatable", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
settings.load_profile("repeatable")

ROOT = Path(__file__).parents[1]


@dataclass(frozen=True)
class Done:
    """A finished command."""

    code: int
    out: str
    err: str


Opcli = Callable[..., Done]
CaseFile = Callable[..., Path]


@pytest.fixture(scope="session", autouse=True)
def cache_of_its_own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """What opcli remembers between runs stays out of the user's cache, and that out of the tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture
def opcli(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Opcli:
    """Runs ``opcli ARGS`` in this process, as the installed command would."""

    def call(*args: object, stdin: str = "") -> Done:
        monkeypatch.setattr(sys, "argv", ["opcli", *map(str, args)])
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin.encode())))
        capsys.readouterr()
        with pytest.raises(SystemExit) as stop:
            main()
        said = capsys.readouterr()
        code = stop.value.code
        return Done(code if isinstance(code, int) else int(code is not None), said.out, said.err)

    return call


@pytest.fixture
def case_file(tmp_path: Path) -> CaseFile:
    """Writes a case file and gives its path."""

    def write(text: str, name: str = "a.yaml") -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text), "utf-8")
        return path

    return write


@pytest.fixture(scope="session")
def load_plugin() -> tuple[str, ...]:
    """Options that load opcli's pytest plugin where it is on the path but not installed; twice is an error."""
    installed = any(point.name == "opcli" for point in entry_points(group="pytest11"))
    return () if installed else ("-p", "ascend_opcli.pytest_plugin")
