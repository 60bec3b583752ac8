"""A tensor for which nobody names a format has one that its operator takes, in every form of a case."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
import yaml

from ascend_opcli.casefile import inline
from ascend_opcli.casefile.new.calls import Calls, product_for, specs
from ascend_opcli.casefile.new.text import Suite, new_file
from ascend_opcli.casefile.open import load_text
from ascend_opcli.casefile.show import to_yaml
from ascend_opcli.errors import UsageError
from ascend_opcli.model import Case, TensorSpec
from ascend_opcli.operators.catalog import find
from ascend_opcli.operators.documents import catalogued
from ascend_opcli.verification.standards.choice import check_for
from tests.conftest import Opcli

RANK = {"NCL": 3, "NCHW": 4, "NCDHW": 5, "NHWC": 4, "NDHWC": 5}
FACTS = Path(__file__).parents[3] / "shared" / "facts" / "contract_facts.json"


def listed(name: str) -> dict[str, tuple[str, ...]]:
    """The documented formats of each tensor that takes no ND, private ones aside."""
    params = catalogued.entry(name).params
    return {d.param.name: d.formats for d in params if set(d.formats) & set(RANK) and "ND" not in d.formats}


CHOOSY = sorted(name for name in catalogued.names().values() if listed(name))


def load(text: str) -> tuple[Case, ...]:
    return load_text(text, "formats.yaml", check_standard=check_for).cases


def new_cases(name: str) -> tuple[Case, ...]:
    try:
        return load(new_file(find(name)))
    except UsageError:
        return ()  # an operator of which no ordinary call is known


def test_there_are_operators_that_take_no_nd() -> None:
    assert {"aclnnConvolution", "aclnnAvgPool2d", "aclnnAdaptiveAvgPool2d", "aclnnUpsampleNearest1d"} <= set(
        CHOOSY
    )


@pytest.mark.parametrize("name", CHOOSY)
def test_a_new_case_has_only_documented_formats_and_they_fit_the_rank(name: str) -> None:
    for case in new_cases(name):
        for param, formats in listed(name).items():
            for spec in specs({param: case.arguments[param]}):
                usual = {3: "NCL", 4: "NCHW", 5: "NCDHW"}.get(len(spec.shape))
                if usual in formats:
                    assert spec.format == usual, (case.name, param)
                elif len(spec.shape) in {RANK[f] for f in formats if f in RANK}:
                    assert spec.format in formats, (case.name, param)


@pytest.mark.parametrize("name", random.Random(7).sample(CHOOSY, 12))
@pytest.mark.parametrize("suite", list(Suite))
def test_no_form_of_a_case_loses_the_format(name: str, suite: Suite) -> None:
    try:
        cases = load(new_file(find(name), suite, max_elements=64, pairs=True))
    except UsageError:
        return
    for case in random.Random(3).sample(cases, min(len(cases), 20)):
        (shown,) = load(to_yaml(case))
        assert shown.arguments == case.arguments
        words = inline.format(case)
        if words is not None:
            assert typed(words).arguments == case.arguments


def typed(words: list[str]) -> Case:
    """The case of a command line."""
    many: dict[str, list[str]] = {}
    for flag, value in zip(words[::2], words[1::2], strict=True):
        many.setdefault(flag.removeprefix("--"), []).append(value)
    one = {key: values[-1] for key, values in many.items()}
    options = inline.CallOptions(
        op=one["op"],
        dtype=one.get("dtype"),
        shape=one.get("shape"),
        attrs=many.get("attr", ()),
        inputs=many.get("in", ()),
        outputs=many.get("out", ()),
        expect=one.get("expect"),
        product=one.get("product"),
    )
    return inline.parse(options, check_standard=check_for)


POOL = "{op: avg_pool2d, cases: [{name: a, dtype: float32, shape: [1, 2, 8, 8], %s}]}"
ATTRS = (
    "attrs: {kernelSize: [2, 2], strides: [2, 2], paddings: [0, 0], ceilMode: false, countIncludePad: true, "
    "divisorOverride: 0, cubeMathType: 0}"
)


@pytest.mark.parametrize("written", ["ND", "NHWC", "NCHW"])
def test_a_format_that_is_written_stands_and_is_said_again_where_it_is_not_the_usual_one(
    written: str,
) -> None:
    (case,) = load(
        POOL % f"{ATTRS}, inputs: {{self: {{format: {written}}}}}, outputs: {{out: {{format: {written}}}}}"
    )
    assert [spec.format for spec in specs(case.arguments)] == [written, written]
    words = inline.format(case)
    assert words is not None
    assert (f"@{written}" in " ".join(words)) is (written != "NCHW")
    assert typed(words).arguments == case.arguments


def test_an_output_has_the_format_of_its_input() -> None:
    (case,) = load(
        "{op: relu, cases: [{dtype: float32, shape: [1, 2, 3, 4], inputs: {self: {format: NHWC}}}]}"
    )
    assert case.arguments["out"].format == "NHWC"  # type: ignore[union-attr]
    (reduced,) = load(
        "{op: batch_norm_reduce, cases: [{dtype: float32, shape: [1, 2, 3, 4], inputs: {x: {format: NCHW}}}]}"
    )
    assert reduced.arguments["sum"].format == "ND"  # type: ignore[union-attr]


def test_what_failed_and_what_was_written_for_others_keeps_its_format(opcli: Opcli, tmp_path: Path) -> None:
    (tmp_path / "pool.yaml").write_text(
        POOL % f"{ATTRS}, inputs: {{self: {{format: ND}}}}, expect: {{outputs: {{out: 9}}}}"
    )
    opcli("run", tmp_path / "pool.yaml", "--save-failures", tmp_path / "saved")
    (saved,) = (tmp_path / "saved").glob("*.yaml")
    (again,) = yaml.safe_load(saved.read_text())["cases"]
    assert again["inputs"]["self"]["format"] == "ND"
    opcli("cases", "data", tmp_path / "pool.yaml", "--out", tmp_path / "data")
    (manifest,) = (tmp_path / "data").rglob("manifest.json")
    assert json.loads(manifest.read_text())["inputs"]["self"]["format"] == "ND"


@pytest.mark.skipif(not FACTS.exists(), reason="the facts are not beside this checkout")
def test_no_ordinary_call_has_a_format_that_phase_1_refuses() -> None:
    relations = json.loads(FACTS.read_text())["operators"]
    tried = 0
    for name in catalogued.names().values():
        rules = [
            r
            for r in relations.get(name, {}).get("relations", ())
            if r["kind"] == "format_in" and not r.get("mark") and not _private(r) and "when" not in r
        ]
        if not rules:
            continue
        operator = find(name)
        calls = Calls(operator, product_for(operator))
        made = calls.make(calls.first_dtype or "float32", calls.base_shape)
        for rule in rules if made else ():
            argument = (made or {})[rule["param"].removesuffix("[]")]
            for spec in argument if isinstance(argument, tuple) else (argument,):
                # A list of ranks that no format of the rule has is refused for its rank.
                if isinstance(spec, TensorSpec) and any(
                    RANK.get(f, len(spec.shape)) == len(spec.shape) for f in rule["formats"]
                ):
                    tried += 1
                    assert spec.format in rule["formats"], (name, rule["param"], spec.shape)
    assert tried > 50


def _private(rule: dict[str, list[str]]) -> bool:
    return not set(rule["formats"]) & {"ND", *RANK}
