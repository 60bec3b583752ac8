"""An ordinary call of every operator with a reference is one that its own contract takes."""

from __future__ import annotations

import random

import pytest

from ascend_opcli.casefile.new.calls import Calls, product_for
from ascend_opcli.operators.catalog import find, operators
from ascend_opcli.operators.contract.phase_one import Refusal, predict
from ascend_opcli.operators.documents.catalogued import names
from ascend_opcli.tensors.dtypes import DTYPES

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


def test_the_default_outputs_of_documented_operators_are_accepted() -> None:
    """Of calls whose inputs are accepted; left alone are dtypes that opcli cannot hold."""
    without = [n for n in names().values() if find(n).reference is None]
    tried, refused = 0, []
    for name in [
        *random.Random(5).sample(without, 90),
        "aclnnGer",
        "aclnnNonzero",
        "aclnnSearchSorted",
        "aclnnPdist",
    ]:
        operator = find(name)
        calls = Calls(operator, product_for(operator))
        made = next(
            (m for d in ("float32", "float16", "int8") if (m := calls.make(d, calls.base_shape))), None
        )
        outputs = {p.name for p in operator.signature.outputs if not p.is_input}
        if made is None or not outputs or any(n.startswith("mm") for n in outputs):
            continue
        words = [w for o in outputs for w in (calls.documented(o) or calls).dtypes]
        inputs = {n: a for n, a in made.items() if n not in outputs}
        if set(words) - set(DTYPES) or isinstance(predict(operator, inputs, calls.product), Refusal):
            continue
        tried += 1
        own = {o: operator.default_output(o, inputs) for o in outputs}
        found = predict(operator, {**inputs, **own}, calls.product)
        if isinstance(found, Refusal) and any(o in found.rule for o in outputs):
            refused.append((name, found.rule))
    assert tried > 30
    assert refused == []
