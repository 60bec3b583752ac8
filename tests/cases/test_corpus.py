"""Public ATK and TTK case files, where they are at hand: read whole, a sample of the smaller cases run."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ascend_opcli.casefile.discover import find
from ascend_opcli.casefile.files.write import to_yaml
from ascend_opcli.casefile.open import load_file, load_text
from ascend_opcli.execution.runner import Settings, run_cases
from ascend_opcli.model import Case, TensorSpec, VerdictKind
from ascend_opcli.verification.standards.choice import check_for
from tests.conftest import ROOT

CORPUS = Path(os.environ.get("OPCLI_CORPUS") or ROOT.parent / "shared" / "corpus")
EVERY = 40
"""One case of so many is run."""
MOST = 1_000_000

pytestmark = pytest.mark.skipif(
    not CORPUS.is_dir(), reason="no corpus: set OPCLI_CORPUS to a folder of case files"
)


@pytest.fixture(scope="module")
def files() -> dict[str, tuple[Case, ...]]:
    paths = [t.path for t in find([str(CORPUS)]).targets if t.path.endswith((".json", ".csv"))]
    return {path: load_file(path, check_standard=check_for).cases for path in paths}


def elements(case: Case) -> int:
    members = [m for a in case.arguments.values() for m in (a if isinstance(a, tuple) else (a,))]
    return sum(m.count for m in members if isinstance(m, TensorSpec))


def test_every_file_is_read_and_nearly_every_atk_case_is_a_call(files: dict[str, tuple[Case, ...]]) -> None:
    atk = [case for path, cases in files.items() if path.endswith(".json") for case in cases]
    assert atk
    assert sum(bool(case.arguments) for case in atk) / len(atk) >= 0.96
    assert all(case.skip for cases in files.values() for case in cases if not case.arguments)


def test_a_sample_is_judged_without_a_crash(files: dict[str, tuple[Case, ...]]) -> None:
    atk = [case for path, cases in files.items() if path.endswith(".json") for case in cases]
    ttk = [case for path, cases in files.items() if path.endswith(".csv") for case in cases if case.arguments]
    judged: list[bool] = []
    for case in (*atk[::EVERY], *ttk[::EVERY]):
        if elements(case) < MOST:
            (result,) = run_cases([case], Settings())
            assert result.verdict.word is not VerdictKind.ERROR, (case.id, result.verdict.reason)
            judged.append(result.verdict.word in (VerdictKind.PASS, VerdictKind.FAIL))
    assert sum(judged) / len(judged) >= 0.65


def test_every_imported_case_loads_again(files: dict[str, tuple[Case, ...]]) -> None:
    for path, cases in list(files.items())[::8]:
        made = to_yaml(cases, path)
        if made.kept:
            again = load_text(made.text, "x.yaml", check_standard=check_for).cases
            assert [(c.name, c.arguments) for c in again] == [
                (c.name, c.arguments) for c in made.kept
            ] or any("nan" in repr(c.arguments) for c in made.kept)
