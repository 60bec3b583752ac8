"""An output whose values the operator does not define for a call is told, and the others are judged."""

from __future__ import annotations

import json

from tests.conftest import CaseFile, Opcli

LOSS = """
    op: nll_loss
    cases:
      - name: a
        dtype: float32
        shape: [5, 3]
        attrs: {reduction: 0}
"""
TOLD = "not judged: what totalWeightOut holds in such a call is not documented"


def test_the_others_are_judged(opcli: Opcli, case_file: CaseFile) -> None:
    done = opcli("run", case_file(LOSS), "--json", "-")
    (result,) = json.loads(done.out)["results"]
    assert (done.code, result["verdict"]) == (0, "PASS")
    assert [out["name"] for out in result["outputs"]] == ["out"]
    assert TOLD in result["notes"]


def test_expected_values_count_all_the_same(opcli: Opcli, case_file: CaseFile) -> None:
    wrong = LOSS + "        expect: {outputs: {totalWeightOut: 7}}\n"
    done = opcli("run", case_file(wrong), "--json", "-")
    (result,) = json.loads(done.out)["results"]
    assert (done.code, result["verdict"]) == (1, "FAIL")
    assert "totalWeightOut" in result["reason"]


def test_a_candidate_may_leave_anything_in_it(opcli: Opcli, case_file: CaseFile) -> None:
    path = case_file(LOSS)
    (path.parent / "mine.py").write_text(
        "import numpy as np\n"
        "def loss(self, target, weight, reduction, ignoreIndex):\n"
        "    made = -weight[target] * self[np.arange(len(target)), target]\n"
        "    return made, np.full(1, 99, np.float32)\n"
    )
    done = opcli("run", path, "--candidate", f"{path.parent / 'mine.py'}:loss", "--allow-code", "--json", "-")
    (result,) = json.loads(done.out)["results"]
    assert (done.code, result["verdict"]) == (0, "PASS"), result
    assert TOLD in result["notes"]


def test_a_reference_that_gives_nothing_at_all_is_an_error(opcli: Opcli, case_file: CaseFile) -> None:
    path = case_file("""
        op: sigmoid
        reference: mine.py:nothing
        cases: [{name: a, dtype: float32, shape: [3]}]
    """)
    (path.parent / "mine.py").write_text("def nothing(self):\n    self + 1\n")
    done = opcli("run", path, "--allow-code", "--json", "-")
    (result,) = json.loads(done.out)["results"]
    assert result["verdict"] == "ERROR"
    assert "gives nothing" in result["reason"]
