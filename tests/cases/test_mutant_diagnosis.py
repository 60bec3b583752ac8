"""Wrong kernels are called by their name: the fault that was put in, on a case large enough to show it."""

from __future__ import annotations

import numpy as np
import pytest
from kernel_faults import (
    POISON,
    Fault,
    attribute,
    attribute_by,
    away,
    computed_in,
    formula,
    inf_saturated,
    nan_swallowed,
    offset_ignored,
    reading,
    sign_of_zero_lost,
    stored,
    strides_ignored,
    to_zero,
    unwritten,
    writing,
)
from test_mutants import _bn, _broadcast_along_the_other_axis, _elu, _logit, _on_axis

from ascend_opcli.casefile.open import load_text
from ascend_opcli.model import StandardChoice, Tensor
from ascend_opcli.reference.call import make_call
from ascend_opcli.reference.evaluate import golden
from ascend_opcli.reference.resolve import resolve
from ascend_opcli.tensors.layout import view
from ascend_opcli.verification.comparison import Comparison
from ascend_opcli.verification.diagnosis import diagnose
from ascend_opcli.verification.standards.choice import check_for

LOGIT = "{op: logit_grad, cases: [{dtype: DTYPE, shape: [65, 64], attrs: {eps: 0.25}}]}"
VIEW = (
    "{op: logit_grad, cases: [{dtype: DTYPE, shape: [65, 64],"
    " inputs: {x: {layout: transposed, offset: 5, data: {uniform: [0, 1]}}}}]}"
)
SPECIALS = (
    "{op: logit_grad, cases: [{dtype: DTYPE, shape: [65, 64], inputs:"
    " {x: {dtype: DTYPE, shape: [65, 64], data: {uniform: [0.1, 0.9]}},"
    " dy: {dtype: DTYPE, shape: [65, 64], data: {uniform: [-1, 1], specials: [nan, inf, -inf, -0.0, 1.0e-7]}}}}]}"
)
ELU = (
    "{op: elu_backward, cases: [{dtype: DTYPE, shape: [65, 64],"
    " attrs: {alpha: 1.7, scale: 1.3, inputScale: 0.6, isResult: IS_RESULT}}]}"
)
THRESHOLD = (
    "{op: threshold_backward, cases: [{attrs: {threshold: 0.5}, inputs:"
    " {gradOutput: {dtype: DTYPE, shape: [64, 64]}, self: {dtype: DTYPE, shape: [64, 1]}}}]}"
)
NORM = "{op: batch_norm_elemt_backward, cases: [{dtype: DTYPE, shape: [4, 8, 6, 8]}]}"
EXACT = StandardChoice("ulp", {"max": 0.55})
NEAR = StandardChoice("ulp", {"max": 8})
BITS = StandardChoice("bits")


def sentence(text: str, fault: Fault, dtype: str, choice: StandardChoice, **words: str) -> str:
    for old, new in {"DTYPE": dtype, **words}.items():
        text = text.replace(old, new)
    (case,) = load_text(text, "a.yaml", check_standard=check_for).cases
    operator = resolve(case.operator)
    call = make_call(case, operator.signature, "atlas_a2")
    ((name, got),) = fault(operator, call).items()
    truth = golden(operator, call)
    inputs = {n: view(b) for n, b in call.arguments.items() if isinstance(b, Tensor)}
    return diagnose(
        Comparison(
            name,
            got,
            truth.outputs[name],
            dtype,
            inputs=inputs,
            ambiguous=truth.ambiguous,
            operator=operator,
            call=call,
        ),
        choice,
    ).sentence


@pytest.mark.parametrize(
    ("text", "fault", "dtype", "choice", "words"),
    [
        (
            LOGIT,
            attribute("eps", -1.0),
            "float32",
            NEAR,
            "eps = -1, its default, gives: eps = 0.25 looks ignored",
        ),
        (LOGIT, attribute("eps", 0.0), "float32", NEAR, "eps"),
        (LOGIT, writing(lambda flat: flat * 2), "float16", NEAR, "got is 2 x the golden"),
        (LOGIT, stored(to_zero), "float16", EXACT, "results are truncated"),
        (LOGIT, stored(to_zero), "bfloat16", EXACT, "results are truncated"),
        (LOGIT, stored(away), "float16", EXACT, "results are rounded away from zero"),
        (LOGIT, computed_in("float16"), "float16", EXACT, "computing in float16 throughout"),
        (LOGIT, computed_in("bfloat16"), "bfloat16", EXACT, "computing in bfloat16 throughout"),
        (
            LOGIT,
            unwritten(lambda n, size: slice(n - 32 // size, n)),
            "float16",
            NEAR,
            "the last block of 32 bytes",
        ),
        (
            LOGIT,
            unwritten(lambda n, size: slice(n - n % 4096, n)),
            "float32",
            NEAR,
            "only the last 64 of 4,160",
        ),
        (
            LOGIT,
            unwritten(lambda n, size: slice(1024, n)),
            "float32",
            NEAR,
            "from element 1,024 on everything is",
        ),
        (LOGIT, unwritten(lambda n, size: slice(0, n)), "float32", NEAR, f"the poison 0x{POISON:X}"),
        (LOGIT, _logit(lambda x, lo, hi: x <= hi), "float32", NEAR, "have x <= 0.25"),
        (
            LOGIT,
            _logit(fill=lambda x, dy, eps: np.nan),
            "float32",
            NEAR,
            "take the branch 'outside' are wrong",
        ),
        (
            VIEW,
            strides_ignored("x"),
            "float32",
            NEAR,
            "x gives when it is read as contiguous: its strides look",
        ),
        (VIEW, offset_ignored("x"), "float32", NEAR, "read from the start of its storage: its offset looks"),
        (
            SPECIALS,
            reading("dy", nan_swallowed),
            "float16",
            NEAR,
            "has dy = NaN is wrong: got is 0 where the golden",
        ),
        (SPECIALS, writing(nan_swallowed), "float16", NEAR, "got is 0 where the golden is NaN"),
        (
            SPECIALS,
            writing(inf_saturated),
            "float16",
            NEAR,
            "largest finite number (65,504) where the golden is Inf",
        ),
        (SPECIALS, writing(sign_of_zero_lost), "float16", BITS, "the sign of zero is lost"),
        (
            SPECIALS,
            writing(lambda flat: np.where(np.abs(flat) < 2.0**-14, 0, flat)),
            "float16",
            EXACT,
            "flushed to zero",
        ),
        (
            ELU,
            attribute("alpha", 1.0),
            "float32",
            NEAR,
            "alpha = 1, its default, gives: alpha = 1.7 looks ignored",
        ),
        (
            ELU,
            attribute("scale", 1.0),
            "float32",
            NEAR,
            "scale = 1, its default, gives: scale = 1.3 looks ignored",
        ),
        (ELU, attribute("inputScale", 1.0), "float32", NEAR, "inputScale = 0.6 looks ignored"),
        (ELU, attribute("isResult", True), "float32", NEAR, "isResult = true gives, not false"),
        (
            ELU,
            attribute_by("alpha", lambda a, _call: -a),
            "float32",
            NEAR,
            "alpha = -1.7, with its sign flipped",
        ),
        (
            ELU,
            attribute_by("alpha", lambda a, _call: float(np.float16(a))),
            "float32",
            NEAR,
            "rounded to float16",
        ),
        (ELU, attribute_by("alpha", lambda a, _call: float(np.trunc(a))), "float32", NEAR, "looks ignored"),
        (
            ELU,
            _elu(from_input=lambda g, x, neg, s: g * s * neg * np.exp(x)),
            "float32",
            NEAR,
            "elements that have selfOrResult <= 0 are wrong",
        ),
        (
            ELU,
            _elu(linear=lambda g, k, s: g),
            "float32",
            NEAR,
            "have selfOrResult > 0 or NaN are wrong (2,037): got is the input gradOutput, unchanged, in all of them",
        ),
        (ELU, _elu(linear=lambda g, k, s: g * k * s), "float32", NEAR, "selfOrResult > 0 or NaN are wrong"),
        (THRESHOLD, _broadcast_along_the_other_axis("self"), "float32", NEAR, "broadcast along another axis"),
        (
            THRESHOLD,
            formula(lambda gradOutput, self, *, threshold: gradOutput + 0 * self),
            "float32",
            NEAR,
            "got is the input gradOutput, unchanged",
        ),
        (
            THRESHOLD,
            formula(lambda gradOutput, self, *, threshold: np.where(self <= threshold, 0, self)),
            "float32",
            NEAR,
            "got is the input self, unchanged",
        ),
        (
            THRESHOLD,
            writing(lambda flat: flat.astype(np.float16)),
            "float32",
            NEAR,
            "got is the golden rounded to float16 on the way",
        ),
        (
            NORM,
            reading("weight", np.ones_like),
            "float32",
            NEAR,
            "weight = 1 everywhere gives: weight looks ignored",
        ),
        (
            NORM,
            reading("sumDy", np.zeros_like),
            "float32",
            NEAR,
            "sumDy = 0 everywhere gives: sumDy looks ignored",
        ),
        (NORM, _bn(channel=_on_axis(-1)), "float32", NEAR, "lie along the wrong axis"),
        (NORM, computed_in("float16"), "float16", EXACT, "computing in float16 throughout"),
    ],
    ids=lambda part: part if isinstance(part, str) and not part.startswith("{") else "",
)
def test_the_fault_is_named(text: str, fault: Fault, dtype: str, choice: StandardChoice, words: str) -> None:
    assert words in sentence(text, fault, dtype, choice, IS_RESULT="false")
