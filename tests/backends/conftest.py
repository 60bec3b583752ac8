"""opcli on the simulated CANN: built once, run in processes of their own, the account of what is left read."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests import forked
from tests.simulated_cann.build import CannRoot, build, compiler, env


@pytest.fixture(scope="session")
def cann(tmp_path_factory: pytest.TempPathFactory) -> CannRoot:
    if compiler() is None:
        pytest.skip("no C compiler, or not Linux: the simulated CANN cannot be built")
    return build(tmp_path_factory.getbasetemp() / "simulated_cann")


@dataclass(frozen=True)
class Ran:
    """A finished run: exit code, its JSON results by case name, what it printed, the accounts of its workers."""

    code: int
    results: dict[str, Any]
    out: str
    err: str
    accounts: list[dict[str, Any]]

    def words(self) -> dict[str, str]:
        return {name: result["verdict"] for name, result in self.results.items()}


OnDevice = Callable[..., Ran]


@pytest.fixture
def on_device(cann: CannRoot, tmp_path: Path) -> OnDevice:
    """on_device(*arguments, NAME=value): ``opcli run ARGUMENTS`` where the simulated CANN is what set_env.sh names.

    Unless told otherwise, every worker that ended by itself must have left nothing behind.
    """

    def run(*arguments: object, leaks: bool = False, timeout: float = 120, **variables: str) -> Ran:
        report, account = tmp_path / "report.json", tmp_path / "account.jsonl"
        for path in (report, account):
            path.unlink(missing_ok=True)
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
        environment = {**env(cann, environment), "SIM_CANN_REPORT": str(account), **variables}
        done = forked.run(["run", *map(str, arguments), "--json", str(report)], environment, timeout=timeout)
        lines = account.read_text().splitlines() if account.exists() else []
        accounts = [json.loads(line) for line in lines]
        for each in accounts:
            assert leaks or not any(each["live"].values()), each
            assert leaks or not each["faults"], each
        results = json.loads(report.read_text())["results"] if report.exists() else []
        return Ran(done.returncode, {r["name"]: r for r in results}, done.stdout, done.stderr, accounts)

    return run
