"""A bench whose clock and samples a test hands in, and the command on the simulated CANN."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from ascend_opcli.backends import host
from ascend_opcli.execution.timed import How, StageFacts
from ascend_opcli.model import Case, HostTimes, Outcome
from ascend_opcli.operators.operator import Operator
from ascend_opcli.reference.call import make_call
from tests import forked
from tests.backends.conftest import cann as cann  # the fixture
from tests.simulated_cann.build import CannRoot, env


@dataclass
class Scripted:
    """A bench that gives the samples it was handed, and the reference's result, changed by ``spoil``."""

    samples: Callable[[], Iterator[float]]
    name: str = "host"
    product: str | None = None
    fingerprint: Mapping[str, str] = field(default_factory=lambda: {"backend": "host", "cpu": "one"})
    spoil: Callable[[Outcome], Outcome] = lambda outcome: outcome
    finished: int = 0

    def copy_rate(self) -> float:
        return 100e9

    def prepare(self, operator: Operator, case: Case, product: str, how: How) -> Any:
        return _ScriptedStage(self, operator, case, product)


class _ScriptedStage:
    def __init__(self, bench: Scripted, operator: Operator, case: Case, product: str) -> None:
        self._bench, self._operator = bench, operator
        self._call = make_call(case, operator.signature, product)
        self._samples = bench.samples()
        self.about = StageFacts(HostTimes(1.0), 4, 4, 0, served_by="library.so")

    def draw(self) -> float:
        return next(self._samples)

    def notes(self) -> list[str]:
        return []

    def finish(self, *, read: bool) -> Outcome:
        self._bench.finished += 1
        return self._bench.spoil(host.run(self._operator, self._call)) if read else Outcome("host")


class Ticks:
    """A clock that moves on by ``step`` seconds each time it is read."""

    def __init__(self, step: float = 0.0) -> None:
        self._step, self._now = step, 0.0

    def __call__(self) -> float:
        self._now += self._step
        return self._now


@dataclass(frozen=True)
class Ran:
    """A finished ``opcli bench``: its JSON rows by name, what it printed, the accounts of its workers."""

    code: int
    rows: dict[str, Any]
    document: dict[str, Any]
    out: str
    err: str
    accounts: list[dict[str, Any]]

    @property
    def row(self) -> Any:
        (only,) = self.document["opcli"]["cases"]
        return only

    @property
    def entry(self) -> Any:
        (only,) = self.rows.values()
        return only


BenchOnDevice = Callable[..., Ran]


@pytest.fixture
def bench_on_device(cann: CannRoot, tmp_path: Path) -> BenchOnDevice:
    """bench_on_device(*arguments, NAME=value): ``opcli bench`` on the simulated CANN, a SoC with a small cache.

    Every worker that ended by itself must have left nothing behind.
    """

    def run(*arguments: object, path: str = "", **variables: str) -> Ran:
        report, account = tmp_path / "bench.json", tmp_path / "account.jsonl"
        for each in (report, account):
            each.unlink(missing_ok=True)
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
        environment = {**environment, **env(cann, environment), "SIM_CANN_REPORT": str(account)}
        environment |= {"SIM_CANN_SOC": "Ascend310P3", "SIM_CANN_SEED": "7", **variables}
        if path:
            environment["PATH"] = os.pathsep.join([path, environment["PATH"]])
        done = forked.run(["bench", *map(str, arguments), "--json", str(report)], environment, timeout=120)
        accounts = [json.loads(line) for line in account.read_text().splitlines()] if account.exists() else []
        for each_account in accounts:
            assert not any(each_account["live"].values()), each_account
            assert not each_account["faults"], each_account
        document = json.loads(report.read_text("utf-8")) if report.exists() else {"benchmarks": []}
        rows = {entry["name"]: entry for entry in document["benchmarks"]}
        return Ran(done.returncode, rows, document, done.stdout, done.stderr, accounts)

    return run
