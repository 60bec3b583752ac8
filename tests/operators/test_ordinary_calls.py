"""An ordinary call of every operator with a reference is one that its own contract takes."""

from __future__ import annotations

import pytest

from ascend_opcli.casefile.new.calls import Calls, product_for
from ascend_opcli.operators.catalog import find, operators

REFERENCES = sorted(o.name for o in operators().values() if o.reference is not None)


@pytest.mark.parametrize(
    "name", ["aclnnQuantMatmulWeightNz", "aclnnBatchMatMulWeightNz", "aclnnAddmmWeightNz"]
)
def test_what_a_source_takes_counts_where_the_document_is_wrong(name: str) -> None:
    """yScale must be null, and of a weight in a private format the view has fewer axes than the storage."""
    operator = find(name)
    calls = Calls(operator, product_for(operator))
    assert calls.first_dtype is not None or "FRACTAL_NZ" in calls.obstacle


@pytest.mark.parametrize("name", REFERENCES)
def test_every_reference_has_an_ordinary_call(name: str) -> None:
    operator = find(name)
    calls = Calls(operator, product_for(operator))
    assert calls.first_dtype is not None
