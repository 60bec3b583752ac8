"""``got``: a case that brings its outputs along is judged by them, and nothing is run."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from ascend_opcli import run_case
from ascend_opcli.casefile.open import load_file, load_text
from ascend_opcli.errors import CaseFileError
from ascend_opcli.verification.standards.choice import check_for
from tests.conftest import CaseFile, Opcli

ADD = """
op: add
cases:
  - name: c
    inputs: {self: {dtype: float32, shape: [2], data: [1, 2]}, other: {dtype: float32, shape: [2], data: [3, 4]}}
    got: {out: %s}
"""


@pytest.mark.parametrize(("got", "code"), [("[4, 6]", 0), ("[4, 7]", 1), ("4", 1), ("[nan, 6]", 1)])
def test_written_values(case_file: CaseFile, opcli: Opcli, got: str, code: int) -> None:
    done = opcli("run", case_file(ADD % got))
    assert done.code == code
    assert "no operator was run" not in done.out


def test_a_file(case_file: CaseFile, opcli: Opcli, tmp_path: Path) -> None:
    path = case_file(ADD % "{file: y.npz:b}")
    np.savez(tmp_path / "y.npz", a=np.zeros(2, np.float32), b=np.array([4, 6], np.float32))
    assert opcli("run", path).code == 0
    np.savez(tmp_path / "y.npz", b=np.array([4, 6], np.float64))
    assert "WRONG DTYPE: out: y.npz holds float64, not float32" in opcli("run", path).out


def test_shown_and_loaded_again(case_file: CaseFile, opcli: Opcli, tmp_path: Path) -> None:
    np.save(tmp_path / "y.npy", np.array([4, 6], np.float32))
    path = case_file(ADD % "{file: y.npy}")
    shown = opcli("cases", "show", f"{path}::c").out
    (one,) = load_file(path, check_standard=check_for).cases
    (other,) = load_text(shown, str(path), check_standard=check_for).cases
    assert one.got == other.got != {}


def test_a_failure_is_saved_with_what_was_got(case_file: CaseFile, opcli: Opcli, tmp_path: Path) -> None:
    path = case_file(ADD % "[4, 7]")
    assert opcli("run", path, "--save-failures", tmp_path / "f").code == 1
    again = opcli("run", tmp_path / "f")
    assert again.code == 1
    assert "got 7 golden 6" in again.out


def test_a_named_backend_runs_the_operator(case_file: CaseFile, opcli: Opcli, tmp_path: Path) -> None:
    path = case_file(ADD % "[4, 7]")
    assert opcli("run", path, "--backend", "host").code == 0
    (tmp_path / "c.py").write_text("def f(self, other, alpha): return self + alpha * other\n")
    assert opcli("run", path, "--candidate", f"{tmp_path / 'c.py'}:f", "--allow-code").code == 0
    assert run_case(f"{path}::c", check=False).verdict.word == "FAIL"
    assert run_case(f"{path}::c", backend="host").verdict.word == "PASS"


def test_no_device_is_opened_for_it(
    case_file: CaseFile, opcli: Opcli, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Where CANN can be seen and no device opened a run is an error, but not one that needs none."""
    monkeypatch.setenv("ASCEND_HOME_PATH", str(tmp_path))
    path = case_file(ADD % "[4, 6]")
    assert opcli("run", path).code == 0
    assert opcli("run", case_file((ADD % "[4, 6]").replace("    got", "    #"), "b.yaml")).code == 3


def test_cases_with_and_without_it_in_one_run(case_file: CaseFile, opcli: Opcli, tmp_path: Path) -> None:
    text = ADD % "[4, 7]" + "  - {name: host, dtype: float32, shape: [2]}\n"
    done = opcli("run", case_file(text), "--json", tmp_path / "r.json")
    assert done.code == 1
    results = json.loads((tmp_path / "r.json").read_text())["results"]
    assert [(r["name"], r["backend"], r["verdict"]) for r in results] == [
        ("c", "outputs", "FAIL"),
        ("host", "host", "PASS"),
    ]


@pytest.mark.parametrize(
    ("got", "words"),
    [
        ("{file: ../y.npy}", "lies outside the case file's folder"),
        ("{file: y.npy}", "does not exist"),
        ("{uniform: [0, 1]}", "unknown key of got.out"),
        ("null", "got.out takes values or {file: x.npy}"),
        ("ignore", "got.out takes values or {file: x.npy}"),
        ("[1, 2, 3]", "3 values"),
        ("1.0}, zzz: {out: 1", "unknown key of a case: 'zzz'"),
    ],
)
def test_mistakes(case_file: CaseFile, opcli: Opcli, got: str, words: str) -> None:
    done = opcli(
        "run",
        case_file(
            ADD.replace("got: {out: %s}", f"got: {{out: {got}}}")
            if "zzz" not in got
            else ADD % "1" + "    zzz: 1\n"
        ),
    )
    assert done.code == 2
    assert words in done.err


def test_every_output_is_asked_for(case_file: CaseFile) -> None:
    text = "op: max_dim\ncases: [{dtype: float32, shape: [2, 3], attrs: {dim: 0, keepdim: false}, got: {out: 1}}]\n"
    with pytest.raises(CaseFileError, match="got has no indices: every output is judged"):
        load_file(case_file(text), check_standard=check_for)
    with pytest.raises(CaseFileError, match="did you mean 'out'"):
        load_file(case_file(ADD.replace("{out: %s}", "{ot: 1}")), check_standard=check_for)


def test_a_file_transposed(case_file: CaseFile, opcli: Opcli, tmp_path: Path) -> None:
    a, w = np.arange(6, dtype=np.float32).reshape(2, 3), np.arange(12, dtype=np.float32).reshape(4, 3)
    np.save(tmp_path / "a.npy", a)
    np.save(tmp_path / "w.npy", w)
    np.save(tmp_path / "y.npy", a @ w.T)
    text = """
    op: matmul
    cases:
      - inputs:
          self: {dtype: float32, shape: [2, 3], data: {file: a.npy}}
          mat2: {dtype: float32, shape: [3, 4], layout: transposed, data: {file: w.npy, transpose: true}}
        attrs: {cubeMathType: 0}
        got: {out: {file: y.npy}}
    """
    assert opcli("run", case_file(text)).code == 0
    for wrong, words in (
        ("transpose: 1", "transpose is true or false"),
        ("transpose: false", "has the shape [4, 3], but the tensor has [3, 4]"),
        ("transposed: true", "did you mean 'transpose'?"),
    ):
        done = opcli("run", case_file(text.replace("transpose: true", wrong)))
        assert done.code == 2
        assert words in done.err
    flat = text.replace("shape: [3, 4], layout: transposed", "shape: [12]")
    assert "has no two axes to swap" in opcli("run", case_file(flat)).err
    odd = text.replace("{file: w.npy, transpose: true}", "{uniform: [0, 1], transpose: true}")
    assert "not of uniform" in opcli("run", case_file(odd)).err


@pytest.mark.parametrize(
    ("dtype", "got", "wrong"),
    [
        ("int8", "[1, 300]", "300"),
        ("int32", "[1, 1.4]", "1.4"),
        ("uint8", "[[1, -1]]", "-1"),
        ("int64", "[1, inf]", "inf"),
        ("bool", "[1, 2]", "2"),
        ("bool", "[0, 0.5]", "0.5"),
        ("float16", "[1, 70000]", "70000"),
        ("bfloat16", "[1, 1.0e+39]", "1.0e+39"),
        ("float8_e4m3fn", "[1, inf]", "inf"),
        ("complex64", "[[1, 0], [1.0e+39, 0]]", "a list"),
        ("int8", "300", "300"),
    ],
)
def test_a_value_that_the_dtype_cannot_hold_was_never_got(
    case_file: CaseFile, opcli: Opcli, dtype: str, got: str, wrong: str
) -> None:
    shape = "[1, 2]" if got.startswith("[[") and dtype == "uint8" else "[2]"
    text = f"""
op: cast
cases:
  - inputs: {{self: {{dtype: float32, shape: {shape}, data: 1}}}}
    attrs: {{dtype: {dtype}}}
    got: {{out: {got}}}
"""
    done = opcli("run", case_file(text))
    assert done.code == 2
    assert f"got.out: {wrong} is not a value of {dtype}" in done.err
    line = text.splitlines().index(f"    got: {{out: {got}}}") + 1
    column = text.splitlines()[line - 1].index(wrong if wrong != "a list" else "[1.0e") + 1
    assert f":{line}:{column}: " in done.err


@pytest.mark.parametrize(
    ("dtype", "got"),
    [
        ("int8", "[127, -128.0]"),
        ("bool", "[true, 0]"),
        ("float16", "[0.1, inf]"),
        ("float32", "[nan, 1.0e-50]"),
    ],
)
def test_a_decimal_is_the_nearest_float(case_file: CaseFile, opcli: Opcli, dtype: str, got: str) -> None:
    text = f"""
op: cast
cases:
  - inputs: {{self: {{dtype: float32, shape: [2], data: 1}}}}
    attrs: {{dtype: {dtype}}}
    got: {{out: {got}}}
"""
    assert opcli("run", case_file(text)).code == 1  # judged, and not 1


@pytest.mark.parametrize("form", ["npy", "npz", "bin"])
@pytest.mark.parametrize("standard", ["exact", "bits", "md5"])
@pytest.mark.parametrize("byte", [2, 255])
def test_a_byte_of_a_file_that_is_no_bool_is_no_true(
    case_file: CaseFile, opcli: Opcli, tmp_path: Path, form: str, standard: str, byte: int
) -> None:
    raw = np.array([1, byte], np.uint8).view(np.bool_)
    np.save(tmp_path / "y.npy", raw)
    np.savez(tmp_path / "y.npz", a=raw)
    raw.tofile(tmp_path / "y.bin")
    path = case_file(f"""
op: cast
cases:
  - inputs: {{self: {{dtype: float32, shape: [2], data: 1}}}}
    attrs: {{dtype: bool}}
    standard: {standard}
    got: {{out: {{file: y.{form}}}}}
""")
    done = opcli("run", path)
    assert done.code == 1
    assert "bytes other than 0 and 1" in done.out
    np.save(tmp_path / "golden.npy", np.array([True, True]))
    done = opcli(
        "compare",
        tmp_path / f"y.{form}",
        tmp_path / "golden.npy",
        "--standard",
        standard,
        "--dtype",
        "bool",
        "--shape",
        "2",
    )
    assert done.code == 2
    assert "bytes other than 0 and 1" in done.err


def test_a_repeated_case_says_that_nothing_was_repeated(
    case_file: CaseFile, opcli: Opcli, tmp_path: Path
) -> None:
    path = case_file((ADD % "[4, 6]") + "    repeat: 3\n")
    done = opcli("run", path, "-v")
    assert done.code == 0
    assert "repeat 3: nothing was repeated" in done.out
    assert (
        opcli(
            "run",
            case_file((ADD % "[4, 6]").replace("    got", "    #") + "    repeat: 3\n", "r.yaml"),
            "--backend",
            "host",
            "--save-outputs",
            tmp_path / "o",
        ).code
        == 0
    )
    done = opcli("run", tmp_path / "r.yaml", "--outputs", tmp_path / "o", "-v")
    assert done.code == 0
    assert "repeat 3: nothing was repeated" in done.out


@pytest.mark.parametrize("dtype", ["float32", "float16", "complex64", "int8", "int64", "bool"])
def test_an_empty_output_is_read(case_file: CaseFile, opcli: Opcli, dtype: str) -> None:
    path = case_file(f"""
        op: mul
        cases:
          - name: c
            inputs: {{self: {{dtype: {dtype}, shape: [0]}}, other: {{dtype: {dtype}, shape: [0]}}}}
            got: {{out: []}}
    """)
    done = opcli("run", path)
    assert done.code in (0, 4), done.err


def test_what_is_not_looked_at_is_noted(case_file: CaseFile, opcli: Opcli) -> None:
    path = case_file(ADD % "[4, 7]")
    assert "got of the case is not judged" not in opcli("run", path).out
    done = opcli("run", path, "--backend", "host")
    assert (done.code, "got of the case is not judged" in done.out) == (0, True)
