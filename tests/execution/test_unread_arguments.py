"""A default that counts in place of an attribute is an error, what is never looked at a note, whoever runs it."""

from __future__ import annotations

from pathlib import Path

import pytest

from ascend_opcli import run_case
from ascend_opcli.errors import CaseFileError
from tests.conftest import CaseFile, Opcli

CASE = """
op: leaky_relu
%scases:
  - {name: c, dtype: float32, shape: [16], attrs: {negativeSlope: 0.5}}
"""
BODY = "np.where(self > 0, self, self * self.dtype.type(%s))"
FUNCTIONS = {
    "def f(self, negative_slope=0.5):": "error",
    "def f(self, *, negative_slope=0.5, **more):": "error",
    "def f(self, negativeslope=0.5):": "error",
    "def f(self, negativSlope=0.5):": "error",
    "def f(self, negativeSlope):": "",
    "def f(self, negativeSlope=0.2):": "",
    "def f(self, **more):": "",
    "def f(self, negativeSlope, _cache={}):": "",
    "def f(self):": "note",
}


def written(folder: Path, head: str, body: str) -> None:
    (folder / "r.py").write_text(f"import numpy as np\n{head}\n    return {body}\n")


@pytest.mark.parametrize(("head", "told"), FUNCTIONS.items())
@pytest.mark.parametrize("way", ["reference", "candidate"])
def test_what_a_function_makes_of_an_attribute(
    case_file: CaseFile, opcli: Opcli, tmp_path: Path, way: str, head: str, told: str
) -> None:
    name = next((n for n in ("negative_slope", "negativeslope", "negativSlope") if n in head), "0.5")
    if "negativeSlope" in head:
        name = "negativeSlope"
    elif "self, **more" in head:
        name = "more['negativeSlope']"
    written(tmp_path, head, BODY % name)
    path = case_file(CASE % ("reference: r.py:f\n" if way == "reference" else ""))
    options = ["--backend", "host"] if way == "reference" else ["--candidate", f"{tmp_path / 'r.py'}:f"]
    done = opcli("run", path, *options, "--allow-code", "-v")
    if told == "error":
        assert done.code == (2 if way == "reference" else 1)
        assert f"'{name}', which aclnnLeakyRelu does not have" in done.out + done.err
        assert "did you mean 'negativeSlope'?" in done.out + done.err
        return
    assert done.code == 0
    assert ("never uses negativeSlope" in done.out) == (told == "note")


@pytest.mark.parametrize("way", ["reference", "candidate"])
def test_what_is_taken_and_not_looked_at_is_not_used(
    case_file: CaseFile, opcli: Opcli, tmp_path: Path, way: str
) -> None:
    written(tmp_path, "def f(self, negativeSlope):", BODY % "0.5")
    path = case_file(CASE % ("reference: r.py:f\n" if way == "reference" else ""))
    options = ["--backend", "host"] if way == "reference" else ["--candidate", f"{tmp_path / 'r.py'}:f"]
    done = opcli("run", path, *options, "--allow-code", "-v")
    assert done.code == 0
    assert "never uses negativeSlope" in done.out


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("where(self > 0, self, self * negativeSlope)", ""),
        ("where(self > 0, self, self * 0.5)", "negativeSlope"),
        ("negativeSlope * ones((16,))", "self"),
    ],
)
def test_an_expression_says_what_it_does_not_use(
    case_file: CaseFile, opcli: Opcli, text: str, left: str
) -> None:
    done = opcli("run", case_file(CASE % f'reference: "{text}"\n'), "--backend", "host", "-v")
    assert done.code == 0
    assert (f"the reference never uses {left}" in done.out) if left else ("never uses" not in done.out)


def test_a_knob_of_a_candidate_keeps_its_default(case_file: CaseFile, opcli: Opcli, tmp_path: Path) -> None:
    written(tmp_path, "def f(self, negativeSlope, block=64):", BODY % "negativeSlope")
    options = ("--candidate", f"{tmp_path / 'r.py'}:f", "--allow-code")
    assert opcli("run", case_file(CASE % ""), *options).code == 0


def test_the_api_refuses_it_too(case_file: CaseFile, tmp_path: Path) -> None:
    written(tmp_path, "def f(self, negative_slope=0.5):", BODY % "negative_slope")
    with pytest.raises(CaseFileError, match="did you mean 'negativeSlope'"):
        run_case(case_file(CASE % "reference: r.py:f\n"), backend="host", allow_code=True)


@pytest.mark.parametrize(
    ("head", "told"),
    [
        ("def f(x, negative_slop=0.5, **kwargs):", "did you mean 'negativeSlope'?"),
        ("def f(x, *, negative_slope=0.2, **kwargs):", ""),
        ("def f(x, *, negative_slope=0.2, mode='relu', **kwargs):", ""),
    ],
)
def test_golden_py_of_ttk(case_file: CaseFile, opcli: Opcli, tmp_path: Path, head: str, told: str) -> None:
    name = "negative_slope" if "negative_slope=" in head else "negative_slop"
    (tmp_path / "golden.py").write_text(
        f"import numpy as np\n{head}\n    return np.where(x > 0, x, x * x.dtype.type({name}))\n"
        "__golden__ = {'kernel': {'leaky_relu': 'f'}}\n"
    )
    done = opcli("run", case_file(CASE % "reference: golden.py\n"), "--backend", "host", "--allow-code", "-v")
    assert done.code == (2 if told else 0)
    assert told in done.err
