"""``opcli cases``: reading case files without running them."""

from __future__ import annotations

from tests.conftest import CaseFile, Opcli

TWO = """
    op: logit_grad
    defaults: {attrs: {eps: 0.25}}
    cases:
      - {name: one, dtype: float32, shape: [4], tags: [smoke]}
      - name: sweep
        matrix: {dtype: [float16, float32]}
        dtype: $dtype
        shape: [2, 3]
"""


def test_validate_counts_the_cases_of_each_file(opcli: Opcli, case_file: CaseFile) -> None:
    path = case_file(TWO)
    done = opcli("cases", "validate", path)
    assert (done.code, done.out) == (0, f"{path}: 3 cases\n")


def test_validate_names_the_fault_of_every_file_and_exits_2(opcli: Opcli, case_file: CaseFile) -> None:
    good = case_file(TWO, "good.yaml")
    case_file("op: logit_grad\ncases: []\n", "empty.yaml")
    case_file("- 1\n", "list.yaml")
    done = opcli("cases", "validate", good.parent)
    assert done.code == 2
    assert "empty.yaml:2:8:" in done.err
    assert "list.yaml:1:1:" in done.err
    assert f"{good}: 3 cases" in done.out


def test_list_prints_what_run_takes(opcli: Opcli, case_file: CaseFile) -> None:
    path = case_file(TWO)
    done = opcli("cases", "list", path)
    assert done.out.splitlines() == [f"{path}::one", f"{path}::sweep[float16]", f"{path}::sweep[float32]"]
    for line in done.out.splitlines():
        assert opcli("run", line).code == 0


def test_list_selects_by_word_and_tag(opcli: Opcli, case_file: CaseFile) -> None:
    path = case_file(TWO)
    assert opcli("cases", "list", path, "-k", "sweep and not float16").out == f"{path}::sweep[float32]\n"
    assert opcli("cases", "list", path, "--tag", "smoke").out == f"{path}::one\n"
    assert opcli("cases", "list", path, "--tag", "other").code == 4


def test_show_prints_one_stand_alone_document(opcli: Opcli, case_file: CaseFile) -> None:
    path = case_file(TWO)
    shown = opcli("cases", "show", f"{path}::sweep[float16]").out
    assert "float16" in shown
    assert "0.25" in shown
    assert "matrix" not in shown
    again = case_file(shown, "again.yaml")
    import json

    a = json.loads(opcli("run", f"{path}::sweep[float16]", "--json", "-").out)["results"][0]
    b = json.loads(opcli("run", again, "--json", "-").out)["results"][0]
    assert a["inputs_sha256"] == b["inputs_sha256"]
    assert a["arguments"] == b["arguments"]


def test_show_of_a_whole_matrix_is_wrong_usage(opcli: Opcli, case_file: CaseFile) -> None:
    done = opcli("cases", "show", f"{case_file(TWO)}::sweep")
    assert done.code == 2
    assert "takes one case, and 2 are picked" in done.err
