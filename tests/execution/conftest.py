"""What the tests of candidates share."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import CaseFile, Opcli
from tests.execution.candidates import CASES, FORMULA, Judge


@pytest.fixture
def judge(opcli: Opcli, case_file: CaseFile, tmp_path: Path) -> Judge:
    """judge(BODY, *options): the results, by name, of a candidate ``f`` whose file has the good formula and BODY."""

    def run(body: str, *options: object, cases: str = CASES, function: str = "f", tensors: str = "") -> Any:
        source = tmp_path / "mine.py"
        source.write_text(FORMULA + body, "utf-8")
        words = ["--tensors", tensors] if tensors else []
        path, report = case_file(cases), tmp_path / "report.json"
        report.unlink(missing_ok=True)
        done = opcli(
            *("run", path, "--candidate", f"{source}:{function}", "--allow-code", "--json", report),
            *words,
            *options,
        )
        found = json.loads(report.read_text())["results"] if report.exists() else []
        return {"": done, **{r["name"]: r for r in found}}

    return run
