"""Case files that are run on a product for which some of their cases are not meant."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ascend_opcli.operators.products import PRODUCTS
from tests.conftest import ROOT, CaseFile, Opcli


@pytest.mark.parametrize("product", [p for p in PRODUCTS if p != "atlas_a2"])
@pytest.mark.parametrize("path", sorted((ROOT / "cases").glob("*.yaml")), ids=lambda p: p.stem)
def test_no_shipped_case_fails_on_any_product(opcli: Opcli, path: Path, product: str) -> None:
    # Not the large sweeps: what differs between products is the contract.
    done = opcli("run", path, "--tag", "smoke", "--negatives", "--product", product, "--json", "-")
    results = json.loads(done.out)["results"]
    assert {r["verdict"] for r in results} <= {"PASS", "SKIP"}
    assert done.code in (0, 4)


def test_a_dtype_that_only_other_products_take_is_skipped_with_the_rule(
    opcli: Opcli, case_file: CaseFile
) -> None:
    path = case_file("""
        op: elu_backward
        defaults: {shape: [8]}
        cases:
          - {name: half, dtype: float16}
          - {name: brain, dtype: bfloat16}
          - {name: nowhere, dtype: int8}
          - {name: asked-for, dtype: bfloat16, product: atlas_training}
          - {name: must-be-accepted, dtype: bfloat16, expect: {status: 0}}
          - {name: must-be-refused, dtype: bfloat16, expect: {status: 161002}}
    """)
    done = opcli("run", path, "--product", "atlas_training", "--json", "-")
    found = {r["name"]: (r["verdict"], r["reason"]) for r in json.loads(done.out)["results"]}
    assert {name: word for name, (word, _) in found.items()} == {
        "half": "PASS",
        "brain": "SKIP",
        "nowhere": "FAIL",
        "asked-for": "FAIL",
        "must-be-accepted": "FAIL",
        "must-be-refused": "PASS",
    }
    assert found["brain"][1].startswith("not on atlas_training: ")
    assert "bfloat16" in found["brain"][1]
    assert found["brain"][1].endswith("the contract of atlas_a2 accepts it")
