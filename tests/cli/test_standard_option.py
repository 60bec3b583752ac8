"""``--standard`` says the same to ``run --op``, to ``run PATH`` and to ``compare``."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tests.conftest import Opcli

WRONG = [
    ("upl", "unknown standard 'upl'"),
    ("", "standard"),
    ("ulp:2", "not of the form name=number"),
    ("ulp:max=", "a number or word is missing"),
    ("dual:third=", "a number or word is missing"),
    ("dual:level=,third=x", "a number or word is missing"),
    ("ulp:max=1,max=2", "'max' stands twice"),
    ("allclose:atol=1,rtol=1,atol=1", "'atol' stands twice"),
    ("ulp:max=two", "must be a number"),
    ("ulp:max=-1", "not"),
    ("ulp:max=nan", "finite"),
    ("ulp:max=2^4000", "must be a number"),
    ("ulp:mxa=1", "did you mean 'max'"),
    ("exact:max=1", "it takes none"),
    ("ratio:ptol=2", "[0, 1]"),
    ("dual:level=L9", "it is one of L0, L1, L2"),
    ("single:type=3", "must be a word"),
    ("assert_close:rtol=1e-3", "rtol and atol together"),
    ("ecosystem-2026-04:threshold=0", "'threshold' of standard 'ecosystem-2026-04' cannot be 0"),
    ("ecosystem-2026-04:ratio=0", "'ratio' of standard 'ecosystem-2026-04' cannot be 0"),
    ("single:mare_ratio=0", "cannot be 0"),
    ("msopst:t1=0", "cannot be 0"),
    ("msopst:limit=0", "cannot be 0"),
    ("random:alpha=0", "cannot be 0"),
    ("dual:third=" + "x" * 300, "longer than 200 characters"),
]
RIGHT = [
    ("ulp:max=2", "<= 2 ulp"),
    ("allclose:rtol=1e-3,atol=2^-16", "<= 0.001 * |golden| + 2^-16"),
    ("allclose:rtol=2^-9,atol=0", "<= 2^-9 * |golden| + 0"),
    ("ecosystem: atol = 2^-3 , limit = 2 ", "within 2 or 32 ulp"),
    ("single:type=vector_fused,mare_ratio=5", "vector_fused"),
    ("assert_close:rtol=1e-3,atol=1e-3", "<= 0.001 * |golden| + 0.001"),
    ("exact", "equal to the golden"),
    ("bits:", "the same bytes"),
]


def lines(folder: Path, standard: str) -> list[tuple[object, ...]]:
    """The same output and golden in the three ways in which one may be judged."""
    (folder / "a.yaml").write_text("op: logit_grad\ncases: [{dtype: float32, shape: [4]}]\n", "utf-8")
    np.save(folder / "y.npy", np.ones(4, np.float32))
    return [
        ("run", "--op", "logit_grad", "--dtype", "float32", "--shape", "4", "--standard", standard),
        ("run", folder / "a.yaml", "--standard", standard),
        ("compare", folder / "y.npy", folder / "y.npy", "--standard", standard),
    ]


@pytest.mark.parametrize(("text", "told"), WRONG)
def test_what_is_wrong_is_told_before_anything_is_judged(
    opcli: Opcli, tmp_path: Path, text: str, told: str
) -> None:
    for line in lines(tmp_path, text):
        done = opcli(*line)
        assert done.code == 2, line
        assert told in done.err, line
        assert done.out == ""
        assert done.err.count("\n") == 1


@pytest.mark.parametrize(("text", "rule"), RIGHT)
def test_what_is_right_is_the_same_rule(opcli: Opcli, tmp_path: Path, text: str, rule: str) -> None:
    rules = set()
    for line in lines(tmp_path, text):
        done = opcli(*line, "--json", "-")
        assert done.code in (0, 1), done.err
        report = json.loads(done.out)
        output = report["output"] if "output" in report else report["results"][0]["outputs"][0]
        rules.add(output["rule"])
    assert len(rules) == 1
    assert rule in rules.pop()


@pytest.mark.parametrize("size", [0, 1, 9])
def test_a_case_file_refuses_a_number_that_means_nothing_too(opcli: Opcli, tmp_path: Path, size: int) -> None:
    (tmp_path / "a.yaml").write_text(
        f"op: logit_grad\ncases: [{{dtype: float32, shape: [{size}], "
        "standard: {ecosystem-2026-04: {threshold: 0}}}]\n",
        "utf-8",
    )
    done = opcli("run", tmp_path / "a.yaml")
    assert done.code == 2
    assert "cannot be 0: the errors must be less, and none is less than 0" in done.err
