"""The simulated CANN, built once per session, and a way to run Python on it in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from .build import CannRoot, build, compiler, env


@pytest.fixture(scope="session")
def cann(tmp_path_factory: pytest.TempPathFactory) -> CannRoot:
    if compiler() is None:
        pytest.skip("no C compiler, or not Linux: the simulated CANN cannot be built")
    return build(tmp_path_factory.getbasetemp() / "simulated_cann")


@dataclass
class Ran:
    """What a process did: its JSON answer (the last line that begins with '>'), its outputs, its accounts."""

    code: int
    answer: Any
    stdout: str
    stderr: str
    accounts: list[dict[str, Any]] = field(default_factory=list)

    @property
    def faults(self) -> list[str]:
        return self.accounts[-1]["faults"] if self.accounts else []

    @property
    def alive(self) -> dict[str, int]:
        return {name: count for name, count in self.accounts[-1]["live"].items() if count}


Run = Callable[..., Ran]


@pytest.fixture
def run(cann: CannRoot, tmp_path: Path) -> Run:
    """run(script, NAME=value, ...): runs Python with everything of client.py, `answer(...)`, and the environment."""

    def execute(script: str, *, check: bool = True, timeout: float = 30, **variables: str) -> Ran:
        report = tmp_path / "report.jsonl"
        report.unlink(missing_ok=True)
        prelude = (
            "import json, sys\n"
            f"sys.path.insert(0, {str(Path(__file__).parent)!r})\n"
            "from client import *\n"
            "def answer(value): print('>' + json.dumps(value), flush=True)\n"
        )
        done = subprocess.run(
            [sys.executable, "-c", prelude + textwrap.dedent(script)],
            env={**os.environ, **env(cann), "SIM_CANN_REPORT": str(report), **variables},
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )
        if check:
            assert done.returncode == 0, done.stderr
        answers = [line[1:] for line in done.stdout.splitlines() if line.startswith(">")]
        accounts = [json.loads(line) for line in report.read_text().splitlines()] if report.exists() else []
        answer = json.loads(answers[-1]) if answers else None
        return Ran(done.returncode, answer, done.stdout, done.stderr, accounts)

    return execute
