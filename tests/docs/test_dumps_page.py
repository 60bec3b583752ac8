"""docs/dumps.md: its commands run as they stand, its manifest is one, and what it lists is what the product has."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest

from ascend_opcli.casefile.files import manifest
from ascend_opcli.casefile.files.torch_apis import table
from tests.conftest import ROOT, CaseFile, Opcli

PAGE = (ROOT / "docs" / "dumps.md").read_text("utf-8")


def block(mark: str) -> str:
    match = re.search(rf"<!-- {re.escape(mark)} -->\n```\w+\n(.*?)```", PAGE, re.DOTALL)
    assert match, mark
    return match[1]


def commands(mark: str, opcli: Opcli) -> list[str]:
    said = []
    for line in block(mark).splitlines():
        done = opcli(*shlex.split(line)[1:])
        assert done.code == 0, (line, done.out, done.err)
        said.append(done.out)
    return said


def test_the_commands_of_the_dump(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, opcli: Opcli) -> None:
    torch = pytest.importorskip("torch")
    from tests.casefile.msprobe_dumps import Dump

    dump = Dump(tmp_path / "step0" / "rank0")
    x = torch.linspace(-2.0, 2.0, 24).reshape(4, 6).requires_grad_()
    dump.call("Functional.linear", torch.nn.functional.linear, x, torch.ones(3, 6))
    y = dump.call("Functional.softmax", torch.nn.functional.softmax, x, dim=-1)
    grad = torch.linspace(0.0, 1.0, 24).reshape(4, 6)
    y.backward(grad)
    dump.backward("Functional.softmax", grad, x.grad)
    dump.write()
    monkeypatch.chdir(tmp_path)
    whole, one, several, _, again = commands("dump", opcli)
    assert "3 cases: 3 PASS" in whole
    assert "1 case: 1 PASS" in one
    assert "2 cases: 2 PASS" in several
    assert "no operator was run: 3 cases: 3 PASS" in again


def test_the_commands_of_the_manifest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, opcli: Opcli) -> None:
    monkeypatch.chdir(tmp_path)
    exec(compile(block("make.py"), "make.py", "exec"), {})
    (tmp_path / "manifest.json").write_text(block("manifest.json"), "utf-8")
    json.loads(block("manifest.json"))
    first, _, last = commands("manifest", opcli)
    assert "1 case: 1 PASS" in first
    assert "no operator was run" not in first + last


def test_the_case_file_runs(case_file: CaseFile, opcli: Opcli) -> None:
    (text,) = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    assert opcli("run", case_file(text)).code == 0


def test_every_key_of_a_manifest_is_on_the_page() -> None:
    for key in (*manifest._CALL, "schema", "calls", "file", "dtype", "shape", "strides", "offset"):
        assert re.search(rf"`[^`]*\b{key}\b", PAGE), key


def test_the_number_of_names_is_right() -> None:
    names = {name.removesuffix(":backward") for name in table().lines}
    said = re.search(r"some (\d+) names", PAGE)
    assert said
    assert abs(len(names) - int(said[1])) <= 10
