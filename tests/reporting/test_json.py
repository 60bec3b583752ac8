"""``--json``: the report holds to its published schema, and to JSON itself."""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path

import jsonschema
import pytest

from ascend_opcli.errors import SurroundingsError
from ascend_opcli.reporting.files import write_text
from tests.conftest import CaseFile, Opcli

EVERYTHING = """
    op: logit_grad
    cases:
      - {name: good, dtype: bfloat16, shape: [4, 4], tags: [smoke], seed: 3}
      - {name: specials, inputs: {x: [0.5, .nan, -1.0, 0.0], dy: [.inf, 1.0, .nan, -0.0]}}
      - {name: bad, dtype: float32, shape: [9], expect: {outputs: {out: .nan}}}
      - {name: refused, inputs: {x: null, dy: {dtype: float32, shape: [4], data: 1.0}}, expect: {status: 161001}}
      - {name: elsewhere, dtype: float32, shape: [4], only: {backend: device}}
      - {name: view, dtype: float32, shape: [4, 5], inputs: {x: {layout: padded}}}
      - {name: known, dtype: float32, shape: [4], known_issue: {reason: slow}, expect: {status: 161001}}
"""


def schema() -> dict[str, object]:
    text = files("ascend_opcli.reporting").joinpath("run.schema.json").read_text("utf-8")
    loaded: dict[str, object] = json.loads(text)
    return loaded


def refuse(word: str) -> None:
    raise AssertionError(f"{word} is not JSON")


def test_the_schema_is_one() -> None:
    jsonschema.Draft202012Validator.check_schema(schema())


def test_every_kind_of_result_holds_to_the_schema_in_strict_json(opcli: Opcli, case_file: CaseFile) -> None:
    done = opcli("run", case_file(EVERYTHING), "--negatives", "--json", "-")
    report = json.loads(done.out, parse_constant=refuse)
    jsonschema.Draft202012Validator(schema()).validate(report)
    words = {r["name"]: r["verdict"] for r in report["results"]}
    assert words["good"] == words["refused"] == "PASS"
    assert words["bad"] == "FAIL"
    assert words["elsewhere"] == "SKIP"
    assert words["known"] == "KNOWN"
    assert {r["backend"] for r in report["results"]} == {"host"}
    assert report["summary"]["cases"] == len(report["results"])


def test_the_file_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    target = tmp_path / "report.json"
    target.write_text("before")

    def broken() -> object:
        yield "half"
        raise RuntimeError("boom")

    with pytest.raises(RuntimeError):
        write_text(str(target), broken())  # type: ignore[arg-type]
    assert target.read_text() == "before"
    assert list(tmp_path.iterdir()) == [target]


def test_a_target_that_cannot_be_written_is_the_surroundings_fault(tmp_path: Path) -> None:
    with pytest.raises(SurroundingsError, match="No such file or directory"):
        write_text(str(tmp_path / "missing" / "report.json"), ["{}"])


def test_a_report_that_cannot_be_written_exits_3_after_the_verdicts(
    opcli: Opcli, case_file: CaseFile, tmp_path: Path
) -> None:
    path = case_file("op: logit_grad\ncases: [{dtype: float32, shape: [4]}]\n")
    done = opcli("run", path, "--json", tmp_path / "no" / "r.json")
    assert done.code == 3
    assert "PASS (host)" in done.out
    assert "cannot write" in done.err
