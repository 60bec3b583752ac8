"""``--json``: the report holds to its published schema, and to JSON itself."""

from __future__ import annotations

import dataclasses
import json
import math
from importlib.resources import files
from pathlib import Path
from types import MappingProxyType
from typing import Any

import jsonschema
import numpy as np
import pytest

from ascend_opcli.errors import SurroundingsError
from ascend_opcli.model import Attribute, Element
from ascend_opcli.reporting.files import write_text
from ascend_opcli.reporting.json_report import render, result_object
from tests.conftest import CaseFile, Opcli
from tests.reporting.made_up import case, finished, result

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


def test_what_the_encoder_does_not_know_is_written_as_plain_values() -> None:
    odd: list[Any] = [
        *(math.nan, math.inf, -math.inf, -0.0, 1e300, 1 + 2j, complex(math.nan, math.inf)),
        *(np.float64(0.1), np.float64(math.nan), 2**70, True, None, "a\u2028\ud800"),
        *((1, (2.5, math.nan)), ()),
    ]
    made = []
    for value in odd:
        one = result(made=case(arguments={"eps": Attribute(value)}))
        shown = Element((0,), MappingProxyType({"x": value}), 1.0, 1.0, 0.0, 0.0, 0.0, 0.0)
        outputs = (dataclasses.replace(one.verdict.outputs[0], worst=(shown,)),)
        made.append(dataclasses.replace(one, verdict=dataclasses.replace(one.verdict, outputs=outputs)))
    written = json.loads("".join(render(finished(made))))["results"]
    assert written == [result_object(r) for r in made]
    assert [r["arguments"]["eps"]["value"] for r in written[:3]] == ["nan", "inf", "-inf"]
    assert [r["outputs"][0]["worst"][0]["inputs"]["x"] for r in written[5:7]] == [[1.0, 2.0], ["nan", "inf"]]
