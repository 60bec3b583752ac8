"""A folder of tensors by a manifest: written by hand, or by opcli itself; what does not fit is one sentence."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ascend_opcli.casefile.open import load_file
from ascend_opcli.errors import CaseFileError
from ascend_opcli.verification.standards.choice import check_for
from tests.conftest import ROOT, CaseFile, Opcli

X = np.arange(6, dtype=np.float32).reshape(2, 3)
Y = np.full((2, 3), 0.5, np.float16)

ADD: dict[str, Any] = {
    "schema": "opcli.data/1",
    "operator": "aclnnAdd",
    "attrs": {"alpha": 2},
    "inputs": {"self": {"file": "x.npy"}, "other": {"file": "y.bin", "dtype": "float16", "shape": [2, 3]}},
    "outputs": {"out": {"file": "sum.npy"}},
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    np.save(tmp_path / "x.npy", X)
    Y.tofile(tmp_path / "y.bin")
    np.save(tmp_path / "sum.npy", X + 2 * Y.astype(np.float32))
    return tmp_path


def written(folder: Path, document: Any, name: str = "manifest.json") -> Path:
    (folder / name).write_text(json.dumps(document, indent="\t"), "utf-8")
    return folder / name


def refused(path: Path, words: str) -> None:
    with pytest.raises(CaseFileError) as error:
        load_file(path, check_standard=check_for)
    assert words in str(error.value)
    assert "\n" not in str(error.value)


def test_files_of_three_kinds(folder: Path, opcli: Opcli) -> None:
    done = opcli("run", written(folder, ADD))
    assert done.code == 0, done.out
    assert "1 case: 1 judged" in done.out
    assert "no operator was run" not in done.out
    np.save(folder / "sum.npy", X)
    assert opcli("run", folder).code == 1


def test_a_tensor_of_torch(folder: Path, opcli: Opcli) -> None:
    torch = pytest.importorskip("torch")
    torch.save(torch.from_numpy(X).to(torch.bfloat16), folder / "x.pt")
    torch.save(torch.from_numpy(X).to(torch.bfloat16) * 2, folder / "y.pt")
    document = {
        "schema": "opcli.data/1",
        "operator": "muls",
        "attrs": {"other": {"value": 2, "dtype": "float32"}},
        "inputs": {"self": {"file": "x.pt"}},
        "outputs": {"out": {"file": "y.pt"}},
    }
    assert opcli("run", written(folder, document)).code == 0


def test_several_calls_share_what_stands_above_them(folder: Path, opcli: Opcli) -> None:
    shared = {key: ADD[key] for key in ("schema", "operator", "attrs")}
    call = {key: ADD[key] for key in ("inputs", "outputs")}
    path = written(
        folder, {**shared, "calls": [{"case": "two", **call}, {"case": "one", **call, "attrs": {"alpha": 1}}]}
    )
    done = opcli("run", path)
    assert done.code == 1
    assert "manifest.json::two" in done.out
    assert "FAIL manifest.json::one" in done.out


def test_the_manifest_in_yaml(folder: Path, opcli: Opcli) -> None:
    (folder / "m.yaml").write_text(
        "schema: opcli.data/1\noperator: add\nattrs: {alpha: 2}\n"
        "inputs:\n  self: {file: x.npy}\n  other: {file: y.bin, dtype: half, shape: [2, 3]}\n"
        "outputs: {out: {file: sum.npy}}\n"
    )
    assert opcli("run", folder / "m.yaml").code == 0
    done = opcli("cases", "import", folder / "m.yaml")
    assert done.code == 0
    assert "got: {out: {file: sum.npy}}" in done.out


def test_imported_it_is_the_same_case(folder: Path, opcli: Opcli) -> None:
    path = written(folder, ADD)
    assert opcli("cases", "import", folder, "--out", folder).code == 0
    (one,) = load_file(path, check_standard=check_for).cases
    (other,) = load_file(folder / "manifest.yaml", check_standard=check_for).cases
    assert (one.name, one.arguments, one.got) == (other.name, other.arguments, other.got)
    assert opcli("run", folder / "manifest.yaml").code == 0


def test_an_operator_of_ones_own(folder: Path, opcli: Opcli) -> None:
    document = {
        **ADD,
        "operator": "aclnnMine",
        "signature": "aclnnStatus aclnnMineGetWorkspaceSize(const aclTensor *self, const aclTensor *other, "
        "double alpha, aclTensor *out)",
        "reference": "self + alpha * other",
        "standard": {"allclose": {"rtol": 0, "atol": 0}},
        "outputs": {"out": {"file": "sum.npy", "dtype": "float32", "shape": [2, 3]}},
    }
    done = opcli("run", written(folder, document))
    assert done.code == 0, done.out


@pytest.mark.parametrize("format", ["bin", "npy"])
def test_what_opcli_writes_it_runs(tmp_path: Path, opcli: Opcli, case_file: CaseFile, format: str) -> None:
    """The folders of cases data: lists, views, attributes and null pointers, judged without the case file."""
    path = case_file(
        """
        cases:
          - {op: add, name: plain, dtype: float32, shape: [4, 5]}
          - {op: elu_backward, name: scalars, dtype: float16, shape: [8], attrs: {isResult: true}}
          - op: muls
            name: view
            inputs: {self: {dtype: bfloat16, shape: [3, 4], strides: [1, 5], offset: 2}}
            attrs: {other: {value: .inf, dtype: float32}}
          - op: foreach_add_list
            name: list
            inputs:
              x1: [{dtype: float32, shape: [2]}, {dtype: float32, shape: [2, 3], layout: transposed}]
              x2: [{dtype: float32, shape: [2]}, {dtype: float32, shape: [2, 3]}]
              alpha: {dtype: float32, shape: [1], data: 2}
          - op: layer_norm
            name: nulls
            inputs: {input: {dtype: float32, shape: [2, 3]}, weightOptional: null, biasOptional: null}
            attrs: {normalizedShape: [3], eps: 1e-5}
            outputs: {meanOutOptional: null, rstdOutOptional: null}
        """
    )
    data = tmp_path / "data"
    assert opcli("cases", "data", path, "--out", data, "--format", format).code == 0
    done = opcli("run", data)
    assert done.code == 4
    assert "5 SKIP" in done.out
    assert f"cannot judge: there is no outputs/out.{format} with out" in done.out
    assert opcli("run", path, "--backend", "host", "--save-outputs", tmp_path / "made").code == 0
    for folder in data.iterdir():
        for file in (tmp_path / "made" / folder.name / "outputs").iterdir():
            raw = np.load(file)
            name = file.name.removesuffix(".npy") + f".{format}"
            raw.tofile(folder / "outputs" / name) if format == "bin" else np.save(
                folder / "outputs" / name, raw
            )
    before = opcli("run", path, "--outputs", data, "--json", tmp_path / "a.json")
    after = opcli("run", data, "--json", tmp_path / "b.json")
    assert (before.code, after.code) == (0, 0), after.out + after.err
    hashes = [
        sorted(r["inputs_sha256"] for r in json.loads((tmp_path / name).read_text())["results"])
        for name in ("a.json", "b.json")
    ]
    assert hashes[0] == hashes[1]
    first = next((data / "a.plain" / "inputs").iterdir())
    first.write_bytes(first.read_bytes()[:-1] + b"\x01")
    done = opcli("run", data / "a.plain")
    assert done.code == 2
    assert "INPUT CHANGED" in done.err


def test_folders_of_save_outputs_name_no_inputs(tmp_path: Path, opcli: Opcli) -> None:
    cases = ROOT / "cases" / "logit_grad.yaml"
    assert opcli("run", f"{cases}::documented-example", "--save-outputs", tmp_path / "o").code == 0
    done = opcli("run", tmp_path / "o")
    assert done.code == 4
    assert "cannot judge: the manifest names no file with x" in done.out


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"operator": "aclnnAd"}, "did you mean 'aclnnAdd'?"),
        ({"operator": 5}, "op must be text, not 5"),
        ({"schema": "opcli.data/2"}, "its schema is opcli.data/2; this opcli reads opcli.data/1"),
        ({"input": {}}, "unknown key of the manifest: 'input'; did you mean 'inputs'?"),
        ({"inputs": {"selv": {"file": "x.npy"}}}, "has no input 'selv'; did you mean 'self'?"),
        ({"inputs": {"self": {"file": "x.npy"}}}, "aclnnAdd has no other here"),
        ({"inputs": {"self": {"file": "y.bin"}}}, "self needs dtype and shape: y.bin does not say it"),
        ({"inputs": {"self": {"file": "y.bin", "shape": [6]}}}, "self needs dtype: y.bin does not say it"),
        ({"inputs": {"self": "x.npy"}}, 'self is an object such as {"file": "self.npy"}, or null, not'),
        ({"inputs": {"self": {"fil": "x.npy"}}}, "unknown key of self: 'fil'; did you mean 'file'?"),
        ({"inputs": {"self": {"shape": [2]}}}, "self has no file"),
        ({"inputs": {"self": {"file": "../x.npy"}}}, "lies outside the case file's folder"),
        ({"inputs": {"self": {"file": "/etc/passwd"}}}, "lies outside the case file's folder"),
        ({"inputs": {"self": {"file": "absent.npy"}}}, "does not exist"),
        (
            {"inputs": {"self": {"file": "x.npy", "shape": [3, 3]}}},
            "has the shape [2, 3], but the tensor has [3, 3]",
        ),
        (
            {"inputs": {"self": {"file": "x.npy", "dtype": "float16"}}},
            "self: x.npy holds float32, not float16",
        ),
        ({"inputs": {"self": {"file": "x.npy", "dtype": "int32"}}}, "self: x.npy holds float32, not int32"),
        ({"outputs": {}}, "outputs is missing"),
        ({"outputs": {"ot": {"file": "sum.npy"}}}, "did you mean 'out'?"),
        ({"attrs": {"alfa": 1}}, "did you mean 'alpha'?"),
        ({"calls": []}, "calls is a list of calls, and not an empty one"),
        ({"calls": [1]}, "unknown key of a manifest with calls: 'inputs'"),
    ],
)
def test_mistakes(folder: Path, change: dict[str, Any], words: str) -> None:
    path = written(folder, {**ADD, **change})
    with pytest.raises(CaseFileError) as error:
        load_file(path, check_standard=check_for)
    said = str(error.value)
    assert words in said
    assert "\n" not in said
    assert error.value.where is not None


def test_a_mistake_has_its_line(folder: Path) -> None:
    path = written(folder, {**ADD, "inputs": {"self": {"file": "x.npy"}, "other": {"fil": "x.npy"}}})
    line = next(n for n, text in enumerate(path.read_text().splitlines(), 1) if '"fil"' in text)
    refused(path, f"manifest.json:{line}:")


def test_results_that_do_not_fit(folder: Path, opcli: Opcli) -> None:
    path = written(folder, ADD)
    np.save(folder / "sum.npy", (X + 1).reshape(3, 2))
    done = opcli("run", path)
    assert done.code == 1
    assert "WRONG SHAPE: out: sum.npy has the shape [3, 2], not [2, 3]" in done.out
    (folder / "sum.npy").write_bytes(b"\x93NUMPY")
    assert opcli("run", path).code == 2
    (folder / "sum.npy").unlink()
    assert opcli("run", path).code == 4
    (folder / "sum.npy").symlink_to("/etc/passwd")
    done = opcli("run", path)
    assert done.code == 2
    assert "lies outside" in done.err


@pytest.mark.parametrize(
    "text", ['{"schema": "opcli.data/1"', '{"schema": "opcli.data/1", "a": ' + "[" * 5000]
)
def test_broken_texts(tmp_path: Path, text: str) -> None:
    (tmp_path / "manifest.json").write_text(text)
    refused(tmp_path / "manifest.json", "manifest.json:")


def test_saved_outputs_that_were_changed_are_refused(folder: Path, opcli: Opcli) -> None:
    digest = hashlib.sha256((folder / "sum.npy").read_bytes()).hexdigest()
    path = written(folder, {**ADD, "outputs": {"out": {"file": "sum.npy", "sha256": digest}}})
    assert opcli("run", path).code == 0
    np.save(folder / "sum.npy", X)
    refused(path, "OUTPUT CHANGED: sum.npy is no longer the out that was saved there")


@pytest.mark.parametrize("name", ["x.npy", "y.bin", "sum.npy", "manifest.json"])
def test_a_pipe_in_the_place_of_a_file_holds_nothing_up(folder: Path, opcli: Opcli, name: str) -> None:
    path = written(folder, ADD)
    (folder / name).unlink()
    os.mkfifo(folder / name)
    done = opcli("run", path)
    assert done.code in (1, 2)
    assert "file" in done.err + done.out
