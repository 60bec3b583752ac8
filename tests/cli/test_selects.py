"""Places of equal elements, wherever results come from; and the standard ``selects`` for operators of one's own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ascend_opcli import judge
from tests.conftest import CaseFile, Opcli

TOPK = """
    op: topk
    cases:
      - name: a
        inputs: {self: {dtype: bfloat16, shape: [16, 64], data: {integers: [0, 9]}}}
        attrs: {k: 8, dim: -1, largest: true, sorted: true}
"""
MINE = """
import numpy as np
def top(x, k, dim):
    places = np.take(np.argsort(-x.astype(np.float64), axis=dim, kind="stable"), range(k), axis=dim)
    return np.take_along_axis(x, places, dim), places
def last(x, k, dim):
    turned, places = top(np.flip(x, dim), k, dim)
    return turned, x.shape[dim] - 1 - places
def any_order(x, k, dim):
    return tuple(np.flip(made, dim) for made in last(x, k, dim))
def zeros(x, k, dim):
    return top(x, k, dim)[0], np.zeros_like(top(x, k, dim)[1])
def apart(x, k, dim):
    values, places = top(x, k, dim)
    return np.flip(values, dim), places
def catalogs(self, k, dim, largest, sorted):
    return last(self, k, dim)
def catalogs_zeros(self, k, dim, largest, sorted):
    return zeros(self, k, dim)
"""
OWN = """
    op: my_top
    signature: "aclnnStatus aclnnMyTopGetWorkspaceSize(const aclTensor *x, int64_t k, int64_t dim,
      const aclTensor *y, const aclTensor *at, uint64_t *workspaceSize, aclOpExecutor **executor)"
    reference: mine.py:top
    cases:
      - name: a
        inputs: {x: {dtype: float16, shape: [6, 40], data: {integers: [0, 7]}}}
        attrs: {k: 9, dim: 1}
        outputs: {"y": {dtype: float16, shape: [6, 9]}, at: {dtype: int64, shape: [6, 9]}}
        expect: {standard: {at: {selects: %s}}}
"""


def verdict(opcli: Opcli, *args: object) -> tuple[str, list[str]]:
    done = opcli("run", *args, "--allow-code", "--json", "-")
    (result,) = json.loads(done.out)["results"]
    assert done.code == (0 if result["verdict"] == "PASS" else 1), done.err
    failed = [o["name"] for o in result["outputs"] if not o["passed"]]
    return result["verdict"], [name for name in failed if not name.endswith("of the next seed")]


@pytest.mark.parametrize(("function", "wrong"), [("catalogs", []), ("catalogs_zeros", ["indicesOut"])])
def test_a_candidate_of_topk(opcli: Opcli, case_file: CaseFile, function: str, wrong: list[str]) -> None:
    path = case_file(TOPK)
    (path.parent / "mine.py").write_text(MINE)
    made = verdict(opcli, path, "--candidate", f"{path.parent / 'mine.py'}:{function}")
    assert made == ("FAIL" if wrong else "PASS", wrong)


@pytest.mark.parametrize("way", ["got", "outputs"])
def test_results_that_were_made_elsewhere(
    opcli: Opcli, case_file: CaseFile, tmp_path: Path, way: str
) -> None:
    path = case_file(TOPK)
    folder = tmp_path / "data"
    assert opcli("cases", "data", path, "--out", folder, "--format", "npy").code == 0
    x = np.load(next(folder.rglob("self.npy")))
    values = (x.astype(np.uint32) << 16).view(np.float32)  # the bits of bfloat16
    local: dict[str, Any] = {}
    exec(MINE, local)
    right, places = local["last"](values, 8, -1)
    bits = (right.view(np.uint32) >> 16).astype(np.uint16)
    for made, word in ((places, "PASS"), (np.zeros_like(places), "FAIL")):
        if way == "outputs":
            into = next(folder.rglob("inputs")).parent / "outputs"
            into.mkdir(exist_ok=True)
            np.save(into / "valuesOut.npy", bits)
            np.save(into / "indicesOut.npy", made)
            assert verdict(opcli, path, "--outputs", folder)[0] == word
        else:
            np.save(path.parent / "v.npy", bits)
            np.save(path.parent / "i.npy", made)
            text = TOPK + "        got: {valuesOut: {file: v.npy}, indicesOut: {file: i.npy}}\n"
            assert verdict(opcli, case_file(text))[0] == word


@pytest.mark.parametrize(
    ("words", "function", "wrong"),
    [
        ("{input: x, axis: dim}", "top", []),
        ("{input: x, axis: dim}", "last", []),
        ("{input: x, axis: -1}", "zeros", ["at"]),
        ("{input: x, axis: 1}", "any_order", ["y", "at"]),
        ('{input: x, axis: dim, values: "y", order: any}', "any_order", []),
        ('{input: x, axis: dim, values: "y", order: any}', "zeros", ["at"]),
        ('{input: x, axis: dim, values: "y", order: any}', "apart", ["at"]),
        ("{input: x, axis: dim, order: any}", "apart", ["y"]),
    ],
)
def test_an_operator_of_ones_own(
    opcli: Opcli, case_file: CaseFile, words: str, function: str, wrong: list[str]
) -> None:
    x = np.random.default_rng(0).integers(0, 7, (6, 40)).astype(np.float16)
    local: dict[str, Any] = {}
    exec(MINE, local)
    values, places = (made.tolist() for made in local[function](x, 9, 1))
    text = (OWN % words).replace("{integers: [0, 7]}", str(x.tolist()))
    path = case_file(text + f'        got: {{"y": {values}, at: {places}}}\n')
    (path.parent / "mine.py").write_text(MINE)
    assert verdict(opcli, path) == ("FAIL" if wrong else "PASS", wrong)


@pytest.mark.parametrize(("function", "wrong"), [("any_order", []), ("apart", ["at"])])
def test_a_candidate_for_an_operator_of_ones_own(
    opcli: Opcli, case_file: CaseFile, function: str, wrong: list[str]
) -> None:
    path = case_file(OWN % '{input: x, axis: dim, values: "y", order: any}')
    (path.parent / "mine.py").write_text(MINE)
    made = verdict(opcli, path, "--candidate", f"{path.parent / 'mine.py'}:{function}")
    assert made == ("FAIL" if wrong else "PASS", wrong)


def test_repeated_places_where_they_are_allowed() -> None:
    x = np.array([1.0, 3, 2, 3])
    running = np.array([0, 1, 1, 3])
    for words, passed in (("repeats=allowed", True), ("repeats=never", False)):
        report = judge(
            np.array([0, 1, 1, 1]), running, inputs={"x": x}, standard=f"selects:input=x,axis=0,{words}"
        )
        assert report.passed is passed


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("{input: xx}", "'xx' of standard 'selects' is no tensor that goes in; did you mean 'x'?"),
        ("{input: x, axis: dmi}", "'dmi' of standard 'selects' is no whole attribute; did you mean 'dim'?"),
        ("{input: x, axis: 2}", "axis 2 of standard 'selects' does not exist in x, which has 2 axes"),
        ("{input: x, axis: 0.5}", "'axis' of standard 'selects' must be a whole number or a word, not 0.5"),
        ("{input: x, axis: 0}", "at [6, 9] and x [6, 40] differ in more than axis 0"),
        ("{axis: 1}", "needs the input that is selected from"),
        ("{input: x, values: at}", "'at' of standard 'selects' is no other output"),
        ("{input: x, order: sorted}", "'order' of standard 'selects' cannot be 'sorted'"),
    ],
)
def test_words_that_do_not_fit(opcli: Opcli, case_file: CaseFile, words: str, said: str) -> None:
    done = opcli("cases", "validate", case_file(OWN % words))
    assert done.code == 2
    assert said in done.out + done.err


def test_values_are_no_places(opcli: Opcli, case_file: CaseFile) -> None:
    text = (OWN % "{input: x, axis: 1}").replace("{at: {selects", '{"y": {selects')
    done = opcli("cases", "validate", case_file(text))
    assert "is for places, which are whole numbers, not for float16" in done.out + done.err


def test_the_standard_comes_back_in_what_is_shown(opcli: Opcli, case_file: CaseFile) -> None:
    path = case_file(OWN % '{input: x, axis: dim, values: "y", order: any}')
    (path.parent / "mine.py").write_text(MINE)
    shown = opcli("cases", "show", f"{path}::a").out
    assert 'selects: {input: x, axis: dim, values: "y", order: any}' in shown
    (path.parent / "shown.yaml").write_text(shown)
    assert verdict(opcli, path.parent / "shown.yaml") == ("PASS", [])


LINE = (
    "--op",
    "arg_max",
    "--dtype",
    "float16",
    "--shape",
    "4x9",
    "--attr",
    "dim=1",
    "--attr",
    "keepdim=false",
)


def test_one_call_without_a_file(opcli: Opcli) -> None:
    done = opcli("run", *LINE, "--standard", "selects:input=self,axis=dim", "--json", "-")
    (result,) = json.loads(done.out)["results"]
    assert result["outputs"][0]["rule"].startswith("places along dim of self")
    assert "--standard selects:input=self,axis=dim" in result["repro"]
    wrong = opcli("run", *LINE, "--standard", "selects:input=slf,axis=dim")
    assert wrong.code == 2
    assert "did you mean 'self'" in wrong.err


def test_two_saved_tensors(opcli: Opcli, tmp_path: Path) -> None:
    x = np.random.default_rng(0).integers(0, 4, (5, 30)).astype(np.float32)
    np.save(tmp_path / "x.npy", x)
    np.save(tmp_path / "first.npy", x.argmax(1))
    np.save(tmp_path / "last.npy", 29 - x[:, ::-1].argmax(1))
    np.save(tmp_path / "zeros.npy", np.zeros(5, np.int64))
    standard = f"selects:input={tmp_path / 'x.npy'},axis=1"
    for name, code in (("last", 0), ("zeros", 1)):
        done = opcli("compare", tmp_path / f"{name}.npy", tmp_path / "first.npy", "--standard", standard)
        assert done.code == code, done.out
    assert opcli("compare", tmp_path / "last.npy", tmp_path / "first.npy").code == 1
    missing = opcli(
        "compare", tmp_path / "last.npy", tmp_path / "first.npy", "--standard", "selects:input=no.npy"
    )
    assert missing.code == 2


def test_places_of_other_axes_are_told_with_their_shapes() -> None:
    x, places = np.arange(6.0).reshape(2, 3), np.array([1, 2])
    with pytest.raises(Exception, match=r"the places \[2\] and x \[2, 3\] differ in more than axis 0"):
        judge(places, places, standard="selects:input=x,axis=0", inputs={"x": x})
