"""The contracts against the codes that CANN's public unit tests expect. Needs the corpus beside the checkout."""

from __future__ import annotations

import importlib.util
import json
import sys

import pytest

from ascend_opcli.operators.documents import catalogued
from tests.conftest import ROOT

CORPUS = ROOT.parent / "shared" / "corpus" / "ut_return_codes.json"


@pytest.fixture(scope="module")
def script():
    path = ROOT / "benchmarks" / "unit_test_statuses.py"
    spec = importlib.util.spec_from_file_location("unit_test_statuses", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    try:
        spec.loader.exec_module(module)
        yield module
    finally:
        del sys.modules[spec.name]


@pytest.fixture(scope="module")
def figures(script):
    if not CORPUS.is_file():
        pytest.skip("the corpus is not here")
    return script.figures(json.loads(CORPUS.read_text("utf-8")))


def test_nearly_all_calls_can_be_mapped(figures):
    assert figures.accepted >= 1800
    assert figures.accepted_unmapped <= 0.06 * figures.accepted
    assert figures.refusals_unmapped <= 0.08 * figures.refusals
    assert figures.nulls_mapped >= 0.93 * figures.nulls


def test_99_percent_of_the_accepted_calls_are_accepted(figures):
    assert figures.as_accepted >= 0.99 * figures.accepted


def test_three_quarters_of_all_calls_that_give_161002_are_predicted(figures):
    """An attribute that the file does not have is the cause of most others."""
    assert figures.as_refused >= 0.75 * figures.refusals
    assert figures.other_status == 0


def test_a_refusal_whose_cause_a_tensor_shows_by_the_documents_is_refused(figures):
    assert figures.visible >= 570
    assert figures.visible_refused >= 0.96 * figures.visible


def test_a_null_pointer_that_must_not_be_gives_161001(figures):
    assert figures.as_null >= 0.96 * figures.nulls_mapped


# --- the script itself ------------------------------------------------------------------------------------------


def call(operator, *tensors, expected=0, nulls=0, soc=(), test="t"):
    made = [f"{{{dims}}}, ACL_{dtype}, ACL_FORMAT_ND" for dims, dtype in tensors]
    return {
        "operator": operator,
        "test": test,
        "expected": [expected],
        "soc": list(soc),
        "tensors": made,
        "null_args": nulls,
        "experimental": False,
    }


def test_calls_are_counted_as_the_sources_have_them(script):
    rows = [
        call("aclnnAbs", ("2, 3", "FLOAT"), ("2, 3", "FLOAT")),
        call("aclnnAbs", ("2, 3", "UINT64"), ("2, 3", "FLOAT")),
        call("aclnnAbs", ("2, 3", "UINT64"), ("2, 3", "FLOAT"), expected=161002),
        call("aclnnAbs", ("2, 3", "FLOAT"), ("3, 2", "FLOAT"), expected=161002),
        call("aclnnAbs", ("2, 3", "FLOAT"), expected=161001, nulls=1),
        call("aclnnAbs", ("2, 3", "FLOAT"), ("2, 3", "FLOAT"), expected=161001, nulls=1),
        call("aclnnAbs", ("2, -3", "FLOAT"), ("2, 3", "FLOAT")),
        call("aclnnNobodyKnows", ("2, 3", "FLOAT")),
    ]
    made = script.figures(rows)
    assert (made.accepted, made.as_accepted, made.accepted_unmapped) == (2, 1, 1)
    assert (made.refusals, made.as_refused, made.visible, made.visible_refused) == (2, 2, 2, 2)
    assert (made.nulls, made.nulls_mapped, made.as_null) == (2, 2, 2)
    assert [name for name, _, _ in made.refused] == ["aclnnAbs"]


def test_one_order_of_an_operators_tensors_counts_for_all_its_calls(script):
    """These tests declare the indices before the values."""
    swapped = [("3, 4", "FLOAT"), ("4", "INT64"), ("4", "FLOAT")]
    wrong = [("3, 4", "FLOAT"), ("4", "INT64"), ("4", "FLOAT16")]
    rows = [call("aclnnMinDim", *swapped), call("aclnnMinDim", *wrong, expected=161002)]
    made = script.figures(rows)
    assert (made.as_accepted, made.as_refused) == (1, 1)


def test_the_product_is_that_of_the_soc(script):
    operator = script.find("aclnnAbs")
    assert script.product_of(call("aclnnAbs", soc=["op::SocVersion::ASCEND950"]), operator) == "ascend950"
    assert script.product_of(call("aclnnAbs", test="ascend310P_x"), operator) == "atlas_inference"
    assert script.product_of(call("aclnnAbs"), operator) == "atlas_a2"


# --- corrections ------------------------------------------------------------------------------------------------


def test_every_correction_changes_something_and_names_its_source():
    for name, found in catalogued._corrections().items():
        bare, corrected = catalogued.entry(name, corrected=False), catalogued.entry(name)
        for correction in found:
            assert len(correction.source) > 20, name
            if correction.field == "entry":
                assert bare.generated_by
                assert not corrected.generated_by
            else:
                assert bare[correction.parameter] != corrected[correction.parameter], (name, correction)
