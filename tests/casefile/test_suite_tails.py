"""In the suites the end of every reduced axis decides: a kernel that leaves it out fails there."""

from __future__ import annotations

import pytest

from ascend_opcli.casefile.new.calls import Calls, product_for
from ascend_opcli.casefile.new.tails import tails
from ascend_opcli.casefile.new.text import Suite, new_file
from ascend_opcli.casefile.open import load_text
from ascend_opcli.execution.runner import Settings, run_cases
from ascend_opcli.model import VerdictKind
from ascend_opcli.operators.catalog import find, operators
from ascend_opcli.verification.standards.choice import check_for

REDUCING = [o.short_name for o in operators().values() if o.reference is not None and not o.elementwise]
KNOWN = (
    "rms_norm",
    "layer_norm",
    "softmax",
    "amax",
    "amin",
    "var",
    "std",
    "mean",
    "reduce_sum",
    "log_sum_exp",
)
MORE = (
    "prod",
    "norm",
    "matmul",
    "dot",
    "mse_loss",
    "l1_loss",
    "arg_max",
    "all",
    "any",
    "prod_dim",
    "aminmax_dim",
)


@pytest.mark.parametrize("name", [*KNOWN, *MORE, *REDUCING[::25]])
def test_no_end_can_be_left_out_in_a_case_of_the_suites(name: str) -> None:
    operator = find(name)
    calls = Calls(operator, product_for(operator))
    dtype = calls.first_dtype
    made = list(tails(calls, dtype)) if dtype is not None else []
    assert made or name not in KNOWN
    if not made:
        return
    text = new_file(operator, Suite.ECOSYSTEM, pairs=True, max_elements=64)
    own = {case["name"] for _, case in made}
    cases = [c for c in load_text(text, "t.yaml", check_standard=check_for).cases if c.name in own]
    assert len(cases) == len(own)
    for result in run_cases(cases, Settings(product=calls.product)):
        assert result.verdict.word is VerdictKind.PASS, result.verdict.reason
        axis = result.case.name.removeprefix("end-of-").rpartition("-")
        named = f"axis {axis[2]} of {axis[0]} without"
        weak = [w for output in result.verdict.outputs for w in output.weak]
        assert [w for w in weak if w.startswith(named)] == []


@pytest.mark.parametrize("name", ["prod", "prod_dim", "reduce_log_sum"])
def test_the_end_that_decides_is_one_that_the_compute_dtype_has(name: str) -> None:
    """A product of 402 numbers below 1 vanishes in float32 before an end of 64s could count."""
    operator = find(name)
    text = new_file(operator, Suite.BOUNDARY)
    cases = [c for c in load_text(text, "t.yaml", check_standard=check_for).cases if "end-of" in c.name]
    for result in run_cases(cases, Settings(product=product_for(operator))):
        assert result.verdict.word is VerdictKind.PASS, result.verdict.reason
