"""Nothing judged is no PASS, whoever made the outputs; what is there and cannot be read is no case less."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest

from ascend_opcli import run_case
from tests.conftest import CaseFile, Opcli

IGNORED = """
op: add
cases:
  - name: c
    inputs: {self: {dtype: float32, shape: [2], data: [1, 2]}, other: {dtype: float32, shape: [2], data: 3}}
    expect: {outputs: {out: ignore}%s}
"""
CANDIDATE = "def f(self, other, alpha):\n    return self + alpha * other\n"


@pytest.fixture(params=["host", "got", "outputs", "candidate", "program"])
def ran_by(request: pytest.FixtureRequest, opcli: Opcli, tmp_path: Path) -> tuple[str, str, tuple[str, ...]]:
    """Who makes the outputs: a name, what the case says of it, and the options of the run."""
    how = str(request.param)
    if how == "host":
        return how, "", ("--backend", "host")
    if how == "got":
        return how, "    got: {out: [4, 5]}\n", ()
    if how == "outputs":
        (tmp_path / "a.yaml").write_text(IGNORED % "", "utf-8")
        kept = tmp_path / "kept"
        assert opcli("run", tmp_path / "a.yaml", "--backend", "host", "--save-outputs", kept).code == 4
        return how, "", ("--outputs", str(kept))
    (tmp_path / "c.py").write_text(CANDIDATE)
    if how == "candidate":
        return how, "", ("--candidate", f"{tmp_path / 'c.py'}:f", "--allow-code")
    (tmp_path / "p.py").write_text(
        "import sys\nimport numpy as np\nx, y = (np.fromfile(f'{sys.argv[1]}/inputs/{n}.bin', 'f4') for n in"
        " ('self', 'other'))\n(x + y).tofile(f'{sys.argv[1]}/outputs/out.bin')\n"
    )
    return how, "", ("--candidate", f"{sys.executable} {tmp_path / 'p.py'} {{dir}}")


@pytest.mark.parametrize("status", ["", ", status: ACL_SUCCESS"])
def test_an_ignored_output_is_judged_by_a_status_that_was_observed_alone(
    case_file: CaseFile, opcli: Opcli, ran_by: tuple[str, str, tuple[str, ...]], status: str
) -> None:
    how, more, options = ran_by
    done = opcli("run", case_file(IGNORED % status + more), *options)
    if how == "host" and status:
        assert done.code == 0
        assert opcli("run", case_file(IGNORED % status + more), *options, "--strict").code == 1
        return
    assert done.code == 4
    assert "cannot judge: the case ignores out" in done.out


@pytest.mark.parametrize(("op", "inputs"), [("foreach_abs", "x: []"), ("foreach_neg", "x: []")])
def test_a_list_without_members_is_nothing_to_judge(
    case_file: CaseFile, opcli: Opcli, op: str, inputs: str
) -> None:
    path = case_file(f"op: {op}\ncases: [{{name: c, inputs: {{{inputs}}}}}]\n")
    assert opcli("run", path, "--backend", "host").code == 4
    assert run_case(f"{path}::c", backend="host").verdict.word == "SKIP"


def test_what_is_judged_in_part_says_so_and_strict_fails_it(
    case_file: CaseFile, opcli: Opcli, tmp_path: Path
) -> None:
    path = case_file("""
op: layer_norm
cases:
  - name: c
    inputs:
      input: {dtype: float32, shape: [4, 16], data: {normal: [0, 1]}}
      weightOptional: {dtype: float32, shape: [16], data: {normal: [0, 1]}}
      biasOptional: {dtype: float32, shape: [16], data: {normal: [0, 1]}}
    attrs: {normalizedShape: [16], eps: 1.0e-5}
    expect: {outputs: {meanOutOptional: ignore}}
""")
    done = opcli("run", path, "--backend", "host", "--json", tmp_path / "r.json")
    assert done.code == 0
    assert "IN PART: meanOutOptional not judged" in done.out
    assert "1 of them IN PART" in done.out
    report = json.loads((tmp_path / "r.json").read_text())
    assert report["summary"]["partial"] == 1
    assert report["results"][0]["unjudged"] == ["meanOutOptional"]
    assert opcli("run", path, "--backend", "host", "--strict").code == 1
    whole = case_file(
        path.read_text().replace("    expect: {outputs: {meanOutOptional: ignore}}\n", ""), "b.yaml"
    )
    assert opcli("run", whole, "--backend", "host", "--strict").code == 0


@pytest.mark.parametrize("form", ["data", "outputs"])
@pytest.mark.parametrize("damage", ["empty", "missing", "cut", "no json"])
def test_a_case_whose_manifest_is_lost_does_not_vanish(
    case_file: CaseFile, opcli: Opcli, tmp_path: Path, form: str, damage: str
) -> None:
    path = case_file(
        "op: add\ncases: [{name: a, dtype: float32, shape: [4]}, {name: b, dtype: float32, shape: [5]}]\n"
    )
    out = tmp_path / "folder"
    if form == "data":
        opcli("cases", "data", path, "--out", out)
    else:
        opcli("run", path, "--backend", "host", "--save-outputs", out)
    assert "2 cases:" in opcli("run", out).out
    manifest = next(out.iterdir()) / "manifest.json"
    text = manifest.read_text()
    if damage == "missing":
        manifest.unlink()
    else:
        manifest.write_text({"empty": "", "cut": text[: len(text) // 2], "no json": "{" + text}[damage])
    done = opcli("run", out)
    assert done.code == 2
    assert str(manifest.parent) in done.err
    assert opcli("run", path, "--outputs", out).code in (1, 3)


def test_another_manifest_beside_case_files_is_nobody_s_case(
    case_file: CaseFile, opcli: Opcli, tmp_path: Path
) -> None:
    case_file("op: add\ncases: [{name: a, dtype: float32, shape: [4]}]\n")
    (tmp_path / "web").mkdir()
    (tmp_path / "web" / "manifest.json").write_text('{"name": "a page", "icons": []}')
    (tmp_path / "results" / "outputs").mkdir(parents=True)
    assert opcli("run", tmp_path, "--backend", "host").code == 0


def test_outputs_without_an_element_are_nothing_to_judge_where_no_status_is_seen(
    case_file: CaseFile, opcli: Opcli, tmp_path: Path
) -> None:
    empty = """
        op: add
        cases:
          - name: c
            dtype: float32
            shape: [0, 3]
    """
    (tmp_path / "c.py").write_text(CANDIDATE)
    candidate = ("--candidate", f"{tmp_path / 'c.py'}:f", "--allow-code")
    for text, options in ((empty, candidate), (empty.rstrip() + "\n            got: {out: []}\n", ())):
        done = opcli("run", case_file(text), *options)
        assert done.code == 4, done.out + done.err
        assert "the outputs have no element" in done.out
    assert opcli("run", case_file(empty), "--backend", "host").code == 0
    np.save(tmp_path / "a.npy", np.zeros((0, 3), np.float32))
    done = opcli("compare", tmp_path / "a.npy", tmp_path / "a.npy")
    assert done.code == 4
    assert "the tensors have no element" in done.err
