"""CONTRIBUTING.md: its blocks, applied to a copy of the package, add an operator, a standard and a report."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from tests.conftest import ROOT

PAGE = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
BLOCK = re.compile(
    r"<!-- (new|before|after): (\S+?)(?:: (.+?))? -->\n```(?:python|text)\n(.*?)```", re.DOTALL
)
CASES = """
op: acosh_grad
product: ascend950
cases:
  - {name: right, dtype: float32, shape: [8], expect: {standard: relative}}
  - name: wrong
    dtype: float32
    shape: [1]
    inputs: {y: {data: [1.0]}, dy: {data: [1.0]}}
    expect: {outputs: {dx: [0.5]}, standard: {relative: {most: 1.0e-2}}}
"""


def apply(root: Path) -> int:
    count = 0
    for how, place, line, code in BLOCK.findall(PAGE):
        path, count = root / place, count + 1
        if how == "new":
            path.write_text(code, "utf-8")
            continue
        lines = path.read_text("utf-8").splitlines(keepends=True)
        at = next(i for i, text in enumerate(lines) if text.startswith(line)) + (how == "after")
        path.write_text("".join([*lines[:at], code, *lines[at:]]), "utf-8")
    return count


def test_its_blocks_add_an_operator_a_standard_and_a_report(tmp_path: Path) -> None:
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "ascend_opcli", tmp_path / "ascend_opcli", ignore=ignored)
    assert apply(tmp_path) == 5
    (tmp_path / "a.yaml").write_text(CASES, "utf-8")
    command = ["-m", "ascend_opcli", "run", "a.yaml", "--backend", "host", "--names", "failed.txt"]
    env = {**os.environ, "PYTHONPATH": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, *command], cwd=tmp_path, env=env, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1, done.stdout + done.stderr
    assert re.search(r"a\.yaml::right .* PASS", done.stdout), done.stdout
    assert "every relative error <= 0.01" in done.stdout
    assert (tmp_path / "failed.txt").read_text("utf-8") == "a.yaml::wrong\n"


def test_every_room_is_in_its_table() -> None:
    rooms = {p.parent.name for p in (ROOT / "ascend_opcli").glob("*/__init__.py")}
    assert rooms == set(re.findall(r"^\| `(\w+)/` \|", PAGE, flags=re.MULTILINE))


def test_every_file_that_it_names_is_there() -> None:
    package = ROOT / "ascend_opcli"
    new = {Path(place).name for how, place, _, _ in BLOCK.findall(PAGE) if how == "new"}
    rooms = [package, *(p for p in package.rglob("*") if p.is_dir())]
    for name in re.findall(r"`([\w/]+\.(?:py|jsonl))`", PAGE):
        assert Path(name).name in new or (ROOT / name).exists() or any((r / name).exists() for r in rooms), (
            name
        )
