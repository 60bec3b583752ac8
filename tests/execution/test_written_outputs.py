"""``opcli cases data``, ``opcli run --outputs`` and results that travel: files for a program that is not ours."""

from __future__ import annotations

import hashlib
import json
import os
import shlex
import shutil
import sys
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from ascend_opcli.execution import data
from tests.conftest import ROOT, CaseFile, Opcli

CASES = """
    op: logit_grad
    cases:
      - {name: plain, dtype: float32, shape: [4, 4]}
      - {name: brain, dtype: bfloat16, shape: [3, 5]}
      - {name: "odd / name: x", dtype: float16, shape: [2], attrs: {eps: 0.25}}
      - name: strided
        inputs:
          x:  {dtype: float32, shape: [6, 4], layout: transposed, data: {uniform: [0.1, 0.9]}}
          dy: {dtype: float32, shape: [6, 4], strides: [10, 2], offset: 3, data: {normal: [0, 1]}}
      - {name: refused, inputs: {x: null, dy: {dtype: float32, shape: [4], data: 1.0}}, expect: {status: 161001}}
"""
NAMED = {"bfloat16": ml_dtypes.bfloat16, "float8_e5m2": ml_dtypes.float8_e5m2}


def read(folder: Path, entry: dict[str, Any]) -> np.ndarray:
    """A file by what the manifest says of it, as ``how_to_read`` tells."""
    dtype = NAMED.get(entry["dtype"], entry["dtype"])
    if entry["file"].endswith(".npy"):
        array = np.load(folder / entry["file"])
        return array.view(dtype) if entry["dtype"] in NAMED else array
    return np.fromfile(folder / entry["file"], dtype).reshape(entry["shape"])


def manifests(out: Path) -> dict[str, tuple[Path, dict[str, Any]]]:
    found = {}
    for path in sorted(out.glob("*/manifest.json")):
        document = json.loads(path.read_text("utf-8"))
        found[document["case"].partition("::")[2]] = (path.parent, document)
    return found


def solve(folder: Path, document: dict[str, Any]) -> np.ndarray:
    """dx = dy / (x (1 - x)) inside [lo, 1 - lo], worked out from the files alone."""
    x, dy = (read(folder, document["inputs"][n]).astype(np.float64) for n in ("x", "dy"))
    eps = document["attrs"]["eps"]["value"]
    lo, outside = (eps, 0.0) if eps >= 0 else (0.0, np.nan)
    with np.errstate(all="ignore"):
        return np.where((lo <= x) & (x <= 1 - lo), dy / (x * (1 - x)), outside)


def serve(folder: Path, document: dict[str, Any]) -> None:
    out = document["outputs"]["out"]
    result = solve(folder, document).astype(NAMED.get(out["dtype"], out["dtype"]))
    if out["file"].endswith(".npy"):
        np.save(folder / out["file"], result.view(np.uint16) if out["dtype"] == "bfloat16" else result)
    else:
        result.tofile(folder / out["file"])


def results(opcli: Opcli, *arguments: object) -> dict[str, Any]:
    done = opcli("run", *arguments, "--json", "-")
    assert done.out, done.err
    return {"": done, **{r["name"]: r for r in json.loads(done.out)["results"]}}


@pytest.mark.parametrize("format", ["bin", "npy"])
def test_a_program_finds_all_it_needs_in_the_files_and_is_judged_by_what_it_writes(
    format: str, opcli: Opcli, case_file: CaseFile, tmp_path: Path
) -> None:
    path, out = case_file(CASES), tmp_path / "data"
    done = opcli("cases", "data", path, "--out", out, "--format", format)
    assert done.code == 0
    assert "a.yaml::refused: not written: it expects a refusal" in done.err
    assert "4 cases written, 1 not" in done.err
    there = manifests(out)
    assert set(there) == {"plain", "brain", "odd / name: x", "strided"}
    assert sorted(map(str, (f for f, _ in there.values()))) == sorted(done.out.split())
    for folder, document in there.values():
        for entry in (*document["inputs"].values(), document["outputs"]["out"]["golden"]):
            raw = (folder / entry["file"]).read_bytes()
            assert hashlib.sha256(raw).hexdigest() == entry["sha256"]
            assert len(raw) == entry["bytes"]
        golden = {**document["outputs"]["out"], **document["outputs"]["out"]["golden"]}
        assert golden["dtype"] == "float64"
        np.testing.assert_allclose(read(folder, golden), solve(folder, document), rtol=1e-12)
        assert "row-major" in document["how_to_read"] or "np.load" in document["how_to_read"]
        serve(folder, document)
    judged = results(opcli, path, "--outputs", out)
    words = {name: r["verdict"] for name, r in judged.items() if name}
    assert words == {**dict.fromkeys(there, "PASS"), "refused": "SKIP"}
    assert judged["plain"]["backend"] == "outputs"
    assert judged["plain"]["served_by"] == str(there["plain"][0])
    assert judged[""].code == 0


def test_the_manifest_says_how_a_tensor_that_is_not_contiguous_lies(
    opcli: Opcli, case_file: CaseFile, tmp_path: Path
) -> None:
    opcli("cases", "data", f"{case_file(CASES)}::strided", "--out", tmp_path / "data")
    ((folder, document),) = manifests(tmp_path / "data").values()
    for name, layout in (("x", "transposed"), ("dy", "strided")):
        entry = document["inputs"][name]
        assert entry["layout"] == layout
        storage = np.fromfile(folder / entry["storage"]["file"], np.float32)
        steps = [4 * s for s in entry["strides"]]
        seen = np.lib.stride_tricks.as_strided(storage[entry["offset"] :], entry["shape"], steps)
        np.testing.assert_array_equal(seen, read(folder, entry))
    assert "storage" not in document["outputs"]["out"]


def test_values_that_a_case_expects_are_its_golden(opcli: Opcli, case_file: CaseFile, tmp_path: Path) -> None:
    path = case_file("""
        op: aclnnMine
        signature: aclnnStatus aclnnMineGetWorkspaceSize(const aclTensor *self, aclTensor *out)
        cases:
          - {name: told, inputs: {self: [1.0, 2.0]}, expect: {outputs: {out: [0.1, 0.2]}}}
          - {name: untold, inputs: {self: [1.0, 2.0]}}
    """)
    assert opcli("cases", "data", path, "--out", tmp_path / "data").code == 0
    there = manifests(tmp_path / "data")
    folder, _ = there["told"]
    np.testing.assert_array_equal(np.fromfile(folder / "golden/out.bin"), [0.1, 0.2])
    assert "golden" not in there["untold"][1]["outputs"]["out"]
    assert there["untold"][1]["no_golden"] == "aclnnMine has no reference"


@pytest.fixture
def served(opcli: Opcli, case_file: CaseFile, tmp_path: Path) -> tuple[Path, Path]:
    """A case file with one case, and its folder with right outputs."""
    path = case_file("op: logit_grad\ncases: [{name: a, dtype: float32, shape: [4, 4]}]\n")
    opcli("cases", "data", path, "--out", tmp_path / "data")
    ((folder, document),) = manifests(tmp_path / "data").values()
    serve(folder, document)
    return path, folder


@pytest.mark.parametrize(
    ("change", "word", "said"),
    [
        (("--seed", "5"), "ERROR", "OTHER INPUTS: made from inputs with sha256 "),
        (
            "attrs: {eps: 0.01}",
            "ERROR",
            'OTHER ATTRIBUTES: made with eps = {"value": -1.0}, the case has',
        ),
        ("delete", "FAIL", "MISSING: out: there is no outputs/out.npy or .bin"),
        ("short", "FAIL", "WRONG SIZE: out: outputs/out.bin has 60 bytes, float32 [4, 4] has 64"),
        ("npy dtype", "FAIL", "WRONG DTYPE: out: outputs/out.npy holds float64, not float32"),
        ("npy shape", "FAIL", "WRONG SHAPE: out: outputs/out.npy has the shape [2, 8], not [4, 4]"),
        (
            "pickle",
            "FAIL",
            "out: outputs/out.npy holds '|O', not plain numbers (objects are never unpickled)",
        ),
        ("both", "FAIL", "TWO FILES: out: out.npy and out.bin both lie there"),
        ("input", "FAIL", "INPUT CHANGED: inputs/x.bin is no longer what the program was given"),
        ("folder", "ERROR", "MISSING: "),
        ("manifest", "ERROR", "manifest.json is no manifest of opcli"),
        ("newer", "ERROR", "has the schema 'opcli.data/9'; this opcli reads opcli.data/1"),
        ("copy", "FAIL", "INPUT RETURNED: out is the input dy, byte for byte"),
    ],
)
def test_what_does_not_fit_is_refused_with_a_clear_word(
    change: Any, word: str, said: str, served: tuple[Path, Path], opcli: Opcli, tmp_path: Path
) -> None:
    path, folder = served
    options: tuple[str, ...] = ()
    out, npy = folder / "outputs/out.bin", folder / "outputs/out.npy"
    good = np.fromfile(out, np.float32).reshape(4, 4)
    if isinstance(change, tuple):
        options = change
    elif change.startswith("attrs"):
        path.write_text(path.read_text().replace("shape: [4, 4]", f"shape: [4, 4], {change}"))
    elif change == "short":
        good[:, :].reshape(-1)[:15].tofile(out)
    elif change == "input":
        np.zeros(16, np.float32).tofile(folder / "inputs/x.bin")
    elif change == "folder":
        shutil.rmtree(folder)
    elif change == "manifest":
        (folder / "manifest.json").write_text("[" * 100_000)
    elif change == "newer":
        (folder / "manifest.json").write_text('{"schema": "opcli.data/9"}')
    elif change == "copy":
        shutil.copy(folder / "inputs/dy.bin", out)
    else:
        if change != "both":
            out.unlink()
        odd = {"npy dtype": good.astype(np.float64), "npy shape": good.reshape(2, 8), "both": good}
        if change in odd:
            np.save(npy, odd[change])
        elif change == "pickle":
            np.save(npy, np.array([{}], object), allow_pickle=True)
    judged = results(opcli, path, "--outputs", tmp_path / "data", *options)
    assert (judged["a"]["verdict"], judged[""].code) == (word, {"FAIL": 1, "ERROR": 3}[word])
    assert said in judged["a"]["reason"]


def test_a_link_out_of_the_folder_is_not_followed(
    served: tuple[Path, Path], opcli: Opcli, tmp_path: Path
) -> None:
    path, folder = served
    shutil.move(folder / "outputs/out.bin", tmp_path / "elsewhere.bin")
    (folder / "outputs/out.bin").symlink_to(tmp_path / "elsewhere.bin")
    judged = results(opcli, path, "--outputs", tmp_path / "data")
    assert "OUTSIDE: out: outputs/out.bin leads out" in judged["a"]["reason"]


def test_outputs_of_other_inputs_are_set_aside_and_nothing_is_lost(
    served: tuple[Path, Path], opcli: Opcli, tmp_path: Path
) -> None:
    path, folder = served
    before = (folder / "outputs/out.bin").read_bytes()
    same = opcli("cases", "data", path, "--out", tmp_path / "data")
    assert same.code == 0
    assert (folder / "outputs/out.bin").read_bytes() == before
    other = opcli("cases", "data", path, "--out", tmp_path / "data", "--seed", "9")
    (aside,) = folder.glob("outputs-*")
    assert str(aside) in other.err
    assert (aside / "out.bin").read_bytes() == before
    judged = results(opcli, path, "--outputs", tmp_path / "data", "--seed", "9")
    assert "MISSING: out" in judged["a"]["reason"]


def test_a_renamed_case_finds_its_outputs_by_the_hash(
    served: tuple[Path, Path], opcli: Opcli, tmp_path: Path
) -> None:
    path, _ = served
    renamed = path.with_name("b.yaml")
    renamed.write_text(path.read_text().replace("name: a", "name: other"))
    assert results(opcli, renamed, "--outputs", tmp_path / "data")["other"]["verdict"] == "PASS"


def test_two_files_with_one_name_do_not_share_a_folder(
    opcli: Opcli, case_file: CaseFile, tmp_path: Path
) -> None:
    text = "op: logit_grad\ncases: [{name: a, dtype: float32, shape: [4]}]\n"
    one, two = case_file(text, "p/a.yaml"), case_file(text, "q/a.yaml")
    done = opcli("cases", "data", one, two, "--out", tmp_path / "data")
    assert done.code == 2
    assert "give each file its own --out" in done.err


def test_usage_of_the_folders(opcli: Opcli, case_file: CaseFile, tmp_path: Path) -> None:
    path = case_file(CASES)
    for arguments, said in (
        (["--outputs", tmp_path / "none"], "there is no such folder"),
        (["--outputs", path], "this is no folder"),
        (["--outputs", tmp_path, "--backend", "host"], "does not go with --backend"),
        (["--outputs", tmp_path, "--candidate", "cat {dir}"], "both take the operator's place"),
        (["--third-party", tmp_path], "which nothing here asks for: --standard dual"),
        (["--third-party", tmp_path / "none", "--standard", "dual"], "there is no such folder"),
        (["--save-outputs", path], "this is no folder"),
    ):
        done = opcli("run", path, *arguments)
        assert (done.code, said in done.err) == (2, True), (arguments, done.err)


# --- the double benchmark in two places -----------------------------------------------------------------------

DUAL = """
    op: logit_grad
    cases:
      - {name: a, dtype: float16, shape: [200]}
      - {name: b, dtype: bfloat16, shape: [8, 8], attrs: {eps: 0.01}}
"""
THIRD = """
import numpy as np
def third(x, dy, eps):
    x, dy, dtype = x.astype(np.float32), dy.astype(np.float32), x.dtype
    lo, outside = (eps, 0.0) if eps >= 0 else (0.0, np.nan)
    with np.errstate(all="ignore"):
        exact = np.where((lo <= x) & (x <= 1 - lo), dy / (x * (1 - x)), outside)
    return (exact * np.float32(1.001)).astype(dtype)
def ours(x, dy, eps):
    return third(x, dy, eps)
def worse(x, dy, eps):
    return (third(x, dy, eps).astype(np.float32) * 1.5).astype(x.dtype)
"""


@pytest.fixture
def third_party(opcli: Opcli, case_file: CaseFile, tmp_path: Path) -> tuple[Path, Path, Path]:
    """A case file, a module of candidates, and the folder with what the third party gave: 0.1 % off."""
    path, mine, kept = case_file(DUAL), tmp_path / "m.py", tmp_path / "third"
    mine.write_text(THIRD)
    done = opcli("run", path, "--candidate", f"{mine}:third", "--allow-code", "--save-outputs", kept)
    assert "outputs of 2 cases saved in" in done.err
    return path, mine, kept


def test_errors_are_held_against_the_third_partys_that_came_from_elsewhere(
    third_party: tuple[Path, Path, Path], opcli: Opcli, tmp_path: Path
) -> None:
    path, mine, kept = third_party
    moved = tmp_path / "another machine" / "results"
    shutil.copytree(kept, moved)
    for options in (["--standard", "dual", "--third-party", moved], ["--standard", f"dual:third={moved}"]):
        ours = results(opcli, path, "--candidate", f"{mine}:ours", "--allow-code", *options)
        assert {ours[n]["verdict"] for n in "ab"} == {"PASS"}, ours["a"]["reason"]
        assert f"against {moved}" in ours["a"]["outputs"][0]["rule"]
        worse = results(opcli, path, "--candidate", f"{mine}:worse", "--allow-code", *options)
        assert {worse[n]["verdict"] for n in "ab"} == {"FAIL"}
    # Against the host result, which is far better than the third party's, the same output fails.
    host = results(opcli, path, "--candidate", f"{mine}:ours", "--allow-code", "--standard", "dual")
    assert host["a"]["verdict"] == "FAIL"


def test_a_case_that_asks_for_dual_itself_takes_it_too(
    third_party: tuple[Path, Path, Path], opcli: Opcli
) -> None:
    path, mine, kept = third_party
    path.write_text("standard: dual\n" + path.read_text())
    judged = results(opcli, path, "--candidate", f"{mine}:ours", "--allow-code", "--third-party", kept)
    assert judged["a"]["verdict"] == "PASS"
    assert "third party from the command line" in judged["a"]["outputs"][0]["origin"]
    assert f"--third-party {kept}" in judged["a"]["repro"]


def test_a_third_party_result_of_other_inputs_is_refused_and_costs_its_case(
    third_party: tuple[Path, Path, Path], opcli: Opcli
) -> None:
    path, mine, kept = third_party
    path.write_text(path.read_text().replace("shape: [200]", "shape: [200], seed: 4"))
    options = ["--standard", "dual", "--third-party", kept]
    judged = results(opcli, path, "--candidate", f"{mine}:ours", "--allow-code", *options)
    assert judged["a"]["verdict"] == "ERROR"
    assert "no third-party result of out: OTHER INPUTS" in judged["a"]["reason"]
    assert judged["b"]["verdict"] == "PASS"


def test_saved_outputs_can_be_judged_elsewhere_as_they_are(
    third_party: tuple[Path, Path, Path], opcli: Opcli
) -> None:
    path, _, kept = third_party
    judged = results(opcli, path, "--outputs", kept, "--standard", "allclose:rtol=0.02")
    assert {judged[n]["verdict"] for n in "ab"} == {"PASS"}
    document = json.loads((kept / "a.a" / "manifest.json").read_text())
    assert document["made_by"]["backend"] == "candidate"
    assert "sha256" in document["made_by"]["served_by"]


def test_a_third_party_that_ran_wrong_is_none(
    third_party: tuple[Path, Path, Path], opcli: Opcli, tmp_path: Path
) -> None:
    path, mine, _ = third_party
    mine.write_text(mine.read_text() + "def const(x, dy, eps): return np.full_like(x, 2)\n")
    opcli("run", path, "--candidate", f"{mine}:const", "--allow-code", "--save-outputs", tmp_path / "bad")
    options = ["--standard", "dual", "--third-party", tmp_path / "bad"]
    judged = results(opcli, path, "--candidate", f"{mine}:worse", "--allow-code", *options)
    assert {judged[n]["verdict"] for n in "ab"} == {"ERROR"}
    assert "FAILED: what made it was found wrong: CONSTANT RETURNED" in judged["a"]["reason"]
    again = results(opcli, path, "--outputs", tmp_path / "bad", "--standard", "allclose:rtol=1e30,atol=1e30")
    assert again["a"]["verdict"] == "FAIL"
    assert "when it was run: CONSTANT RETURNED" in again["a"]["reason"]


@pytest.mark.parametrize("ours", ["third", "worse", "exact"])
def test_a_wrong_third_party_makes_no_pass(
    ours: str, third_party: tuple[Path, Path, Path], opcli: Opcli, tmp_path: Path
) -> None:
    path, mine, _ = third_party
    exact = "def exact(x, dy, eps): return (third(x, dy, eps) / np.float32(1.001)).astype(x.dtype)\n"
    mine.write_text(mine.read_text() + exact)
    bad = tmp_path / "bad"
    opcli("run", path, "--candidate", f"{mine}:worse", "--allow-code", "--save-outputs", bad)
    options = ["--standard", "dual", "--third-party", bad]
    judged = results(opcli, path, "--candidate", f"{mine}:{ours}", "--allow-code", *options)
    for name in "ab":
        assert judged[name]["verdict"] == "ERROR"
        assert "the third-party result of out itself fails ecosystem: " in judged[name]["reason"]
    assert judged[""].code == 3
    # What is worse still fails, and the note says what it was held against.
    mine.write_text(
        mine.read_text() + "def zero(x, dy, eps): return (-16 * third(x, dy, eps)).astype(x.dtype)\n"
    )
    judged = results(opcli, path, "--candidate", f"{mine}:zero", "--allow-code", *options)
    assert {judged[n]["verdict"] for n in "ab"} == {"FAIL"}
    assert any("itself fails ecosystem" in note for note in judged["a"]["notes"])


def test_a_third_party_may_miss_a_standard_that_the_host_result_misses_too(
    opcli: Opcli, case_file: CaseFile, tmp_path: Path
) -> None:
    # Beside 2^23 float32 has no halves: every float32 result is off by up to 0.5, the golden is exact.
    path = case_file("""
        op: aclnnMine
        signature: aclnnStatus aclnnMineGetWorkspaceSize(const aclTensor *self, aclTensor *out)
        reference: (self + 8388608.0) - 8388608.0
        cases: [{name: a, inputs: {self: {dtype: float32, shape: [64], data: {uniform: [0.5, 9]}}}}]
    """)
    mine = tmp_path / "m.py"
    mine.write_text(
        "import numpy as np\n"
        "def third(self): return (self + np.float32(2**23)) - np.float32(2**23)\n"
        "def wrong(self): return self * np.float32(30)\n"
    )
    for name, word in (("third", "PASS"), ("wrong", "ERROR")):
        kept = tmp_path / name
        opcli("run", path, "--candidate", f"{mine}:{name}", "--allow-code", "--save-outputs", kept)
        options = ["--standard", "dual", "--third-party", kept]
        judged = results(opcli, path, "--candidate", f"{mine}:third", "--allow-code", *options)
        assert judged["a"]["verdict"] == word, judged["a"]["reason"]


@pytest.mark.parametrize("how", ["values", "other file"])
def test_saved_outputs_that_were_changed_are_no_results(
    how: str, third_party: tuple[Path, Path, Path], opcli: Opcli
) -> None:
    path, mine, kept = third_party
    saved = kept / "a.a/outputs/out.npy"
    values = np.load(saved)
    if how == "values":
        values[0] += 1
        np.save(saved, values)
    else:
        saved.unlink()
        values.tofile(saved.with_suffix(".bin"))
    options = ["--standard", "dual", "--third-party", kept]
    dual = results(opcli, path, "--candidate", f"{mine}:ours", "--allow-code", *options)
    assert (dual["a"]["verdict"], dual["b"]["verdict"]) == ("ERROR", "PASS")
    plain = results(opcli, path, "--outputs", kept, "--standard", "allclose:rtol=9,atol=9")
    assert (plain["a"]["verdict"], plain["b"]["verdict"]) == ("FAIL", "PASS")
    for judged in (dual, plain):
        assert "OUTPUT CHANGED: out: outputs/out." in judged["a"]["reason"]


# --- a folder serves its own call alone -----------------------------------------------------------------------

LAID_OUT = """
    op: aclnnMul
    defaults:
      inputs:
        self:  {dtype: float32, shape: [6, 4], data: {uniform: [-3, 3]}}
        other: {dtype: float32, shape: [6, 4], data: {uniform: [-3, 3]}}
    cases:
      - {name: plain}
      - {name: transposed, inputs: {self: {layout: transposed}}}
      - {name: offset, inputs: {other: {strides: [4, 1], offset: 3}}}
      - {name: storage, inputs: {other: {storage_shape: [40]}}}
      - {name: format, inputs: {self: {format: NCHW}}}
      - {name: written, outputs: {out: {layout: reversed}}}
"""
LAYOUTS = ("plain", "transposed", "offset", "storage", "format", "written")


def multiply(folder: Path, document: dict[str, Any]) -> None:
    one, two = (read(folder, document["inputs"][n]) for n in ("self", "other"))
    (one * two).tofile(folder / document["outputs"]["out"]["file"])


@pytest.mark.parametrize("made", LAYOUTS)
def test_outputs_of_the_same_values_in_another_layout_are_not_those_of_the_case(
    made: str, opcli: Opcli, case_file: CaseFile, tmp_path: Path
) -> None:
    path, out = case_file(LAID_OUT), tmp_path / "data"
    assert opcli("cases", "data", f"{path}::{made}", "--out", out).code == 0
    multiply(*manifests(out)[made])
    judged = results(opcli, path, "--outputs", out)
    for name in LAYOUTS:
        assert judged[name]["verdict"] == ("PASS" if name == made else "ERROR")
        assert name == made or judged[name]["reason"].startswith("OTHER LAYOUT: made for ")
    # Nor under the case's own name.
    other = next(n for n in LAYOUTS if n != made)
    (out / f"a.{made}").rename(out / f"a.{other}")
    judged = results(opcli, f"{path}::{other}", "--outputs", out)
    assert judged[other]["reason"].startswith("OTHER LAYOUT: made for ")


def test_a_third_party_of_the_same_values_serves_in_another_layout_with_a_note(
    opcli: Opcli, case_file: CaseFile, tmp_path: Path
) -> None:
    path, out = case_file(LAID_OUT), tmp_path / "data"
    opcli("cases", "data", f"{path}::plain", "--out", out)
    multiply(*manifests(out)["plain"])
    judged = results(opcli, path, "--backend", "host", "--standard", "dual", "--third-party", out)
    for name in LAYOUTS:
        said = [n for n in judged[name]["notes"] if "OTHER LAYOUT" in n]
        assert (judged[name]["verdict"], len(said)) == ("PASS", int(name != "plain"))


@pytest.mark.parametrize(("change", "word"), [("operator", "OTHER OPERATOR"), ("seed", "OTHER INPUTS")])
def test_the_words_are_those_of_the_cases_own_folder(
    change: str, word: str, opcli: Opcli, case_file: CaseFile, tmp_path: Path
) -> None:
    path, out = case_file(LAID_OUT), tmp_path / "data"
    opcli("cases", "data", f"{path}::plain", "--out", out)  # of the same call, and still without outputs
    twin = case_file(LAID_OUT.replace("name: transposed, inputs: {self: {layout: transposed}}", "name: twin"))
    changed = case_file(
        "op: aclnnSub\ncases: [{name: twin, dtype: float32, shape: [6, 4]}]\n"
        if change == "operator"
        else LAID_OUT.replace("name: transposed", "name: twin, seed: 9"),
        "b/a.yaml",
    )
    opcli("cases", "data", f"{changed}::twin", "--out", out)
    judged = results(opcli, f"{twin}::twin", "--outputs", out)
    assert judged["twin"]["reason"].startswith(word)
    assert str(out / "a.twin") in judged["twin"]["reason"]


# --- the files of a folder ------------------------------------------------------------------------------------


def test_files_of_another_format_or_of_former_inputs_are_not_left_beside_the_new_ones(
    opcli: Opcli, case_file: CaseFile, tmp_path: Path
) -> None:
    path, out = case_file(CASES), tmp_path / "data"
    strided = f"{path}::strided"
    opcli("cases", "data", strided, "--out", out, "--format", "npy")
    ((folder, document),) = manifests(out).values()
    (folder / "inputs/mine.npy").write_bytes(b"a person's own")
    np.save(folder / "outputs/out.npy", np.zeros(3))
    document["inputs"]["gone"] = {"file": "../../keep.npy"}
    document["inputs"]["far"] = {"file": "inputs/../../../keep.npy"}
    document["inputs"]["absolute"] = {"file": str(tmp_path / "keep.npy")}
    (folder / "manifest.json").write_text(json.dumps(document))
    (tmp_path / "keep.npy").write_bytes(b"not opcli's")
    opcli("cases", "data", strided, "--out", out)
    there = sorted(str(f.relative_to(folder)) for f in folder.rglob("*") if f.is_file())
    inputs = [f"inputs/{n}.bin" for n in ("dy", "dy.storage", "x", "x.storage")]
    assert there == [
        "golden/out.bin",
        *inputs[:2],
        "inputs/mine.npy",
        *inputs[2:],
        "manifest.json",
        "outputs/out.npy",
    ]
    assert (tmp_path / "keep.npy").read_bytes() == b"not opcli's"
    # What was strided and is contiguous now has no storage any more.
    case_file(CASES.replace("layout: transposed, ", "").replace("strides: [10, 2], offset: 3, ", ""))
    opcli("cases", "data", strided, "--out", out)
    assert not list(folder.rglob("*.storage.*"))


CHANGES = ("rewrite", "remove", "link", "storage", "folder", "directory", "pipe")


def change_input(how: str, folder: Path) -> None:
    file = folder / "inputs/x.bin"
    if how == "storage":
        (folder / "inputs/x.storage.bin").write_bytes(b"zz")
    elif how == "rewrite":
        file.write_bytes(bytes(file.stat().st_size))
    elif how == "link":
        file.rename(folder / "x")
        file.symlink_to("../x")
    elif how == "folder":
        shutil.rmtree(folder / "inputs")
    else:
        file.unlink()
        if how == "directory":
            file.mkdir()
        elif how == "pipe":
            os.mkfifo(file)


@pytest.mark.parametrize("how", CHANGES)
def test_whatever_becomes_of_an_input_file_is_seen(
    how: str, opcli: Opcli, case_file: CaseFile, tmp_path: Path
) -> None:
    path, out = f"{case_file(CASES)}::strided", tmp_path / "data"
    opcli("cases", "data", path, "--out", out)
    ((folder, document),) = manifests(out).values()
    serve(folder, document)
    assert results(opcli, path, "--outputs", out)["strided"]["verdict"] == "PASS"
    change_input(how, folder)
    judged = results(opcli, path, "--outputs", out)
    assert judged["strided"]["verdict"] == "FAIL"
    assert "INPUT CHANGED: inputs/x." in judged["strided"]["reason"]


@pytest.mark.parametrize("how", CHANGES)
def test_whatever_a_program_makes_of_an_input_file_is_seen(
    how: str, opcli: Opcli, case_file: CaseFile, tmp_path: Path
) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        "import json, sys\nfrom pathlib import Path\n"
        "from tests.execution.test_written_outputs import change_input, serve\n"
        "folder = Path(sys.argv[1])\nserve(folder, json.loads((folder / 'manifest.json').read_text()))\n"
        f"change_input({how!r}, folder)\n"
    )
    command = f"env PYTHONPATH={shlex.quote(str(ROOT))} {shlex.quote(sys.executable)} {program} {{dir}}"
    judged = results(opcli, f"{case_file(CASES)}::strided", "--candidate", command)
    assert judged["strided"]["verdict"] == "FAIL"
    assert "INPUT CHANGED: inputs/x." in judged["strided"]["reason"]


@pytest.mark.parametrize(
    "place", ["a.a/manifest.json", "b/manifest.json", "manifest.json", "a.a/outputs/out.npy"]
)
def test_a_pipe_in_the_place_of_a_file_holds_nothing_up(
    place: str, served: tuple[Path, Path], opcli: Opcli, tmp_path: Path
) -> None:
    path, folder = served
    pipe = tmp_path / "data" / place
    pipe.parent.mkdir(exist_ok=True)
    pipe.unlink(missing_ok=True)
    if place.endswith(".npy"):
        (folder / "outputs/out.bin").unlink()
    os.mkfifo(pipe)
    for file in ("a.yaml", "other.yaml"):
        case = path.with_name(file)
        case.write_text(path.read_text())
        judged = results(opcli, case, "--outputs", tmp_path / "data")
        if place.endswith(".npy"):
            want = ("FAIL", "out.npy is not a regular file")
        elif place == "b/manifest.json" or (place, file) == ("manifest.json", "a.yaml"):
            want = ("PASS", "")
        else:
            # The folder of a.yaml's case cannot be told for that of a renamed one.
            want = (
                "ERROR",
                "MISSING" if place.startswith("a.a") and file == "other.yaml" else "regular file",
            )
        assert judged["a"]["verdict"] == want[0]
        assert want[1] in judged["a"]["reason"]


def test_a_manifest_that_leads_out_of_its_folder_is_not_followed(
    served: tuple[Path, Path], opcli: Opcli, tmp_path: Path
) -> None:
    path, folder = served
    shutil.move(folder / "manifest.json", tmp_path / "elsewhere.json")
    (folder / "manifest.json").symlink_to(tmp_path / "elsewhere.json")
    judged = results(opcli, path, "--outputs", tmp_path / "data")
    assert "manifest.json leads out of its folder" in judged["a"]["reason"]


# --- names ----------------------------------------------------------------------------------------------------

CASED = (
    "op: logit_grad\ncases: [{name: a, dtype: float32, shape: [4]}, {name: A, dtype: float32, shape: [5]}]\n"
)


def test_names_that_differ_in_case_only_have_folders_of_their_own(
    opcli: Opcli, case_file: CaseFile, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = case_file(CASED)
    for number, folds in enumerate((False, True)):
        # A file system that folds case is played: the names of the folders must differ beyond case there.
        monkeypatch.setattr(data, "_folds_case", lambda _, answer=folds: answer)
        out = tmp_path / f"data{number}"
        assert opcli("cases", "data", path, "--out", out).code == 0
        there = manifests(out)
        assert set(there) == {"a", "A"}
        assert len({str(folder).casefold() for folder, _ in there.values()}) == 1 + folds
        for folder, document in there.values():
            serve(folder, document)
        judged = results(opcli, path, "--outputs", out)
        assert {judged[n]["verdict"] for n in "aA"} == {"PASS"}
        kept = tmp_path / f"kept{number}"
        assert results(opcli, path, "--outputs", out, "--save-outputs", kept)["a"]["verdict"] == "PASS"
        assert {results(opcli, path, "--outputs", kept)[n]["verdict"] for n in "aA"} == {"PASS"}


def test_whether_a_file_system_folds_case_is_tried(tmp_path: Path) -> None:
    (tmp_path / "probe").write_text("")
    assert data._folds_case(tmp_path) == (tmp_path / "PROBE").exists()
    assert os.listdir(tmp_path) == ["probe"]


@pytest.mark.parametrize("command", ["cases data", "run --save-outputs"])
def test_two_cases_of_one_name_are_refused_before_anything_is_written(
    command: str, opcli: Opcli, case_file: CaseFile, tmp_path: Path
) -> None:
    text = "op: logit_grad\ncases: [{name: a, dtype: float32, shape: [4]}, {name: NAME, dtype: float32, shape: [4]}]\n"
    one, two = (case_file(text.replace("NAME", n), f"{n}/a.yaml") for n in "pq")
    out = tmp_path / "out"
    if command == "cases data":
        done = opcli("cases", "data", one, two, "--out", out)
    else:
        done = opcli("run", one, two, "--backend", "host", "--save-outputs", out)
    assert done.code == 2
    assert f"{one} and {two} both have {out / 'a.a'}" in done.err
    assert not out.exists()
