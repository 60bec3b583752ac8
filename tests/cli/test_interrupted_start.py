"""Ctrl-C while opcli is still loading: the word, exit code 130, and nothing else."""

from __future__ import annotations

import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from tests.conftest import ROOT

SCRIPT = """
import os, signal, sys
at, number = sys.argv[1], int(sys.argv[2])

class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == at:
            os.kill(os.getpid(), number)
            for _ in range(1000):
                pass
        return None

sys.meta_path.insert(0, Finder())
sys.argv = ["opcli", *sys.argv[3:]]
from ascend_opcli.cli import main
main()
"""

MODULES = [
    "ascend_opcli.cli.interrupts",
    "ascend_opcli.cli.app",
    "typer",
    "ascend_opcli.cli.run",
    "ascend_opcli.errors",
    "ascend_opcli.casefile.inline",
    "numpy",
    "numpy.linalg",
    "ml_dtypes",
]


def started(tmp_path: Path, module: str, number: int, *words: str) -> subprocess.CompletedProcess[str]:
    script = tmp_path / "started.py"
    script.write_text(textwrap.dedent(SCRIPT), "utf-8")
    command = [sys.executable, str(script), module, str(number), *words]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)


@pytest.mark.parametrize("module", MODULES)
def test_the_word_and_nothing_else(module: str, tmp_path: Path) -> None:
    done = started(tmp_path, module, signal.SIGINT, "run", "cases/logit_grad.yaml", "--backend", "host")
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "opcli: interrupted\n")


@pytest.mark.skipif(not hasattr(signal, "SIGHUP"), reason="POSIX signals")
@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP"])
def test_other_signals_that_end_a_run_say_the_same(name: str, tmp_path: Path) -> None:
    done = started(tmp_path, "numpy", getattr(signal, name), "cases", "list", "cases")
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "opcli: interrupted\n")
