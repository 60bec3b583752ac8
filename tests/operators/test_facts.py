"""What phase 1 checks by the operators' sources: calls refused and accepted, and where rules come from."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

from ascend_opcli.casefile.new.calls import Calls, product_for, tensor
from ascend_opcli.casefile.new.text import Suite, new_file
from ascend_opcli.casefile.open import load_text
from ascend_opcli.model import Attribute, TensorSpec
from ascend_opcli.operators.catalog import find, operators
from ascend_opcli.operators.contract import wording
from ascend_opcli.operators.contract.phase_one import Refusal, predict, refusals
from ascend_opcli.operators.contract.rules import DOCUMENT, Rank
from ascend_opcli.operators.contract.terms import UNDEFINED, promoted
from ascend_opcli.operators.documents import catalogued, facts
from ascend_opcli.reference.call import make_call
from ascend_opcli.reference.evaluate import golden
from ascend_opcli.reporting.operators import show_lines
from ascend_opcli.verification.standards.choice import check_for
from tests.conftest import ROOT

SHARED = ROOT.parent / "shared" / "facts" / "contract_facts.json"
F16, F32, BF16 = "float16", "float32", "bfloat16"


def of(dtype: str, *shape: int, format: str = "ND") -> TensorSpec:
    return tensor(dtype, shape, None, format)


def status(name: str, product: str = "atlas_a2", **given: Any) -> int:
    """The status of a call with these arguments, tensors as specs and attributes as values; 0 where it is accepted."""
    made = {
        n: v if v is None or (isinstance(v, (TensorSpec, tuple)) and not _numbers(v)) else Attribute(v)
        for n, v in given.items()
    }
    verdict = predict(find(name), made, product)
    return verdict.status if isinstance(verdict, Refusal) else 0


def _numbers(value: Any) -> bool:
    return isinstance(value, tuple) and not any(isinstance(v, TensorSpec) for v in value)


NORM = {"input": of(F32, 2), "weightOptional": None, "biasOptional": None, "eps": 1e-5, "out": of(F32, 2)}
NORM |= {"meanOutOptional": None, "rstdOutOptional": None}
GROUPS = {"N": 2, "C": 4, "HxW": 3, "group": 2, "eps": 1e-5, "gamma": None, "beta": None}
GROUPS |= {
    "self": of(F32, 2, 4, 3),
    "out": of(F32, 2, 4, 3),
    "meanOut": of(F32, 2, 2),
    "rstdOut": of(F32, 2, 2),
}


@pytest.mark.parametrize(
    ("name", "given", "wanted"),
    [
        ("layer_norm", {**NORM, "normalizedShape": (4,)}, 161002),
        ("layer_norm", {**NORM, "normalizedShape": (2,)}, 0),
        ("layer_norm", {**NORM, "normalizedShape": (1, 2)}, 161002),
        ("roll", {"x": of(F32, 2, 3), "shifts": (1, 2), "dims": (0,), "out": of(F32, 2, 3)}, 161002),
        ("roll", {"x": of(F32, 2, 3), "shifts": (1,), "dims": (0,), "out": of(F32, 2, 3)}, 0),
        ("gelu", {"self": of(F32, 4), "out": of(F16, 4)}, 161002),
        ("cosh", {"self": of(F32, *[1] * 9), "out": of(F32, *[1] * 9)}, 161002),
        ("cosh", {"self": of(F32), "out": of(F32)}, 0),
        ("div", {"self": of(F32, 16, 16, format="FRACTAL_NZ"), "other": of(F32, 1), "out": of(F32, 16, 16)}, 161002),
        ("div", {"self": of(F32, 2, 3), "other": of(F32, 3), "out": of(F32, 3, 2)}, 161002),
        ("add", {"self": of(F32, 2), "other": of(F32, 3), "alpha": 1, "out": of(F32, 3)}, 161002),
        ("group_norm", GROUPS, 0),
        ("group_norm", {**GROUPS, "C": 3}, 161002),
        ("group_norm", {**GROUPS, "gamma": of(F32, 3)}, 161002),
        ("group_norm", {**GROUPS, "group": 3, "meanOut": of(F32, 2, 3), "rstdOut": of(F32, 2, 3)}, 161002),
        ("stack", {"tensors": (of(F32, 2), of(F32, 3)), "dim": 0, "out": of(F32, 2, 2)}, 161002),
        ("circular_pad2d", {"self": of(F32, 1, 4, 4), "padding": (1, 1, 1, 1), "out": of(F32, 1, 6, 6)}, 0),
        ("circular_pad2d", {"self": of(F32, 1, 4, 4), "padding": (1, 1, 1, 1), "out": of(F32, 1, 6, 5)}, 161002),
    ],
)  # fmt: skip
def test_shapes_formats_ranks_and_relations(name: str, given: dict[str, Any], wanted: int) -> None:
    assert status(name, **given) == wanted


CLAMP = {"self": of(F32, 4), "out": of(F32, 4)}
BCE = {"self": of(F32, 4), "target": of(F32, 4), "reduction": 0, "out": of(F32, 4)}


@pytest.mark.parametrize(
    ("name", "given", "wanted"),
    [
        ("clamp_tensor", {**CLAMP, "clipValueMin": of(F32, 4), "clipValueMax": None}, 0),
        ("clamp_tensor", {**CLAMP, "clipValueMin": None, "clipValueMax": of(F32, 4)}, 0),
        ("clamp_tensor", {**CLAMP, "clipValueMin": None, "clipValueMax": None}, 161001),
        ("clamp", {**CLAMP, "clipValueMin": 0.0, "clipValueMax": None}, 0),
        ("binary_cross_entropy", {**BCE, "weight": None}, 0),
        ("binary_cross_entropy", {**BCE, "weight": None, "target": None}, 561103),
        ("ada_layer_norm_quant", {"quantOffsetOptional": of(F32, 2), "x": of(F16, 2, 2)}, 161002),
    ],
)
def test_null_pointers(name: str, given: dict[str, Any], wanted: int) -> None:
    assert status(name, **given) == wanted


@pytest.mark.parametrize("product", ["atlas_inference", "atlas_training"])
@pytest.mark.parametrize("name", ["cast", "gelu", "roll", "clamp", "softmax", "sigmoid", "tanh", "exp2"])
def test_bfloat16_is_refused_where_the_architecture_has_none(name: str, product: str) -> None:
    operator = find(name)
    if not operator.supports(product):
        return
    calls = Calls(operator, product)
    assert status_of(calls, BF16) == 161002
    assert status_of(calls, F16) == 0


def status_of(calls: Calls, dtype: str) -> int:
    verdict = predict(calls.operator, calls.make(dtype, calls.base_shape) or {}, calls.product)
    return verdict.status if isinstance(verdict, Refusal) else 0


AXES = """softmax log_softmax cumsum amax amin arg_max arg_min all any flip std var mean reduce_sum prod_dim
    max_dim min_dim log_sum_exp roll renorm slice gather index_select sort argsort topk median_dim permute glu
    split_tensor""".split()


@pytest.mark.parametrize("name", AXES)
def test_an_axis_lies_within_the_rank(name: str) -> None:
    """As public unit tests expect of every operator that has one: 161002 from the rank on, and below -rank."""
    operator = find(name)
    calls = Calls(operator, product_for(operator))
    assert calls.first_dtype is not None
    rank = len(calls.base_shape)
    axis = next(p.name for p in operator.signature.attributes if p.name in ("dim", "dims", "axis"))
    made = calls.make(calls.first_dtype, calls.base_shape)
    assert made is not None
    many = isinstance(getattr(made[axis], "value", None), tuple)
    for value in (rank, -rank - 1):
        verdict = predict(operator, {**made, axis: Attribute((value,) if many else value)}, calls.product)
        assert isinstance(verdict, Refusal)
        assert verdict.status == 161002
        assert not verdict.unsure
    for value in (rank - 1, -rank):
        verdict = predict(operator, {**made, axis: Attribute((value,) if many else value)}, calls.product)
        assert not (isinstance(verdict, Refusal) and " is " + str(value) in verdict.rule), verdict


def test_topk_takes_a_scalar_and_counts_k_along_its_axis() -> None:
    given = {"self": of(F32), "k": 1, "dim": 0, "largest": True, "sorted": True}
    given |= {"valuesOut": of(F32, 1), "indicesOut": of("int64", 1)}
    assert status("topk", **given) == 0
    assert status("topk", **{**given, "k": 2}) == 161002
    assert status("topk", **{**given, "self": of(F32, 3, 2), "k": 3}) == 0
    assert status("topk", **{**given, "self": of(F32, 3, 2), "k": 3, "dim": -1}) == 161002


@pytest.mark.parametrize(
    ("name", "dtype", "product", "attributes"),
    [
        ("masked_scale", BF16, "ascend950", "scale: 2.0"),
        ("foreach_addcdiv_list", BF16, "atlas_a2", ""),
        ("foreach_addcmul_scalar_list", BF16, "atlas_a3", ""),
        ("log_add_exp", "float64", "atlas_a2", ""),
        ("log_add_exp2", "float64", "ascend950", ""),
        ("apply_adam", F16, "ascend950", "useLocking: false, useNesterov: false"),
        ("dequant_swiglu_quant", "int32", "atlas_a2", "activateLeft: true, quantModeOptional: dynamic"),
    ],
)
def test_a_short_form_fills_the_other_tensors_with_what_the_operator_takes(
    name: str, dtype: str, product: str, attributes: str
) -> None:
    text = f"op: {name}\ncases: [{{dtype: {dtype}, shape: [6, 8], attrs: {{{attributes}}}}}]"
    (case,) = load_text(text, "cases.yaml", check_standard=check_for).cases
    assert predict(find(name), case.arguments, product) is None


@pytest.mark.parametrize(
    ("name", "grad", "sizes", "made"),
    [
        ("upsample_bilinear2d_backward", (1, 1, 2, 2), (2, 2), (1, 1, 3, 3)),
        ("upsample_bicubic2d_backward", (1, 1, 2, 2), (2, 2), (1, 1, 3, 3)),
        ("upsample_linear1d_backward", (1, 1, 3), (3,), (1, 1, 6)),
        ("upsample_nearest1d_backward", (1, 1, 4), (4,), (1, 1, 2)),
    ],
)
def test_a_gradient_has_the_shape_that_its_sizes_give(
    name: str, grad: tuple[int, ...], sizes: tuple[int, ...], made: tuple[int, ...]
) -> None:
    form = "NCL" if len(grad) == 3 else "NCHW"
    out = next(p.name for p in find(name).signature.outputs)
    given = {"gradOut": of(F32, *grad, format=form), out: of(F32, *made, format=form)}
    assert status(name, **given, outputSize=sizes, inputSize=made) == 0
    assert status(name, **given, outputSize=(*sizes[:-1], sizes[-1] + 1), inputSize=made) == 161002
    assert status(name, **given, outputSize=sizes, inputSize=(2, *made[1:])) == 161002


def test_every_case_of_a_suite_with_an_output_that_must_be_null_can_be_loaded() -> None:
    text = new_file(find("ada_layer_norm_quant"), Suite.BOUNDARY, product="atlas_a2")
    assert "quantOffsetOptional=given" in text
    load_text(text, "new.yaml", check_standard=check_for)


ADD: dict[str, Any] = {"self": of(F32, 5, 3), "dim": 0, "index": of("int32", 3), "source": of(F32, 3, 3)}
ADD |= {"alpha": 1.0, "mode": 1, "out": of(F32, 5, 3)}
KTH: dict[str, Any] = {"self": of(F32, 2, 4), "k": 4, "dim": 1, "keepdim": False}
KTH |= {"valuesOut": of(F32, 2), "indicesOut": of("int64", 2)}
NORMED: dict[str, Any] = {"self": of(F32, 2, 4), "p": 1.0, "dim": 0, "maxNorm": 0.0, "out": of(F32, 2, 4)}


@pytest.mark.parametrize(
    ("name", "given", "wrong", "wanted"),
    [
        ("index_add_v2", ADD, {"index": None}, 161001),
        ("index_add_v2", ADD, {"source": None}, 161001),
        ("index_add_v2", ADD, {"source": of("int32", 3, 3)}, 161002),
        ("index_add_v2", ADD, {"index": of("int32", 5)}, 161002),
        ("index_add_v2", ADD, {"index": of("int32", 3, 1)}, 161002),
        ("kthvalue", KTH, {"k": 5}, 161002),
        ("kthvalue", KTH, {"k": 3, "dim": 0}, 161002),
        ("kthvalue", KTH, {"dim": -3}, 161002),
        ("renorm", NORMED, {"maxNorm": -1.0}, 161002),
        ("renorm", NORMED, {"p": -1.0}, 161002),
        ("celu", {"self": of(F32, 2), "alpha": 1.0, "out": of(F32, 2)}, {"alpha": 0.0}, 161002),
        (
            "inverse",
            {"self": of(F32, 3, 3), "out": of(F32, 3, 3)},
            {"self": of(F32, 3, 4), "out": of(F32, 3, 4)},
            161002,
        ),
    ],
)
def test_values_and_shapes_that_a_source_checks(
    name: str, given: dict[str, Any], wrong: dict[str, Any], wanted: int
) -> None:
    assert status(name, **given) == 0
    assert status(name, **{**given, **wrong}) == wanted


def test_stack_counts_axes_from_the_end_of_its_result() -> None:
    two = (of(F32, 2, 3), of(F32, 2, 3))
    for dim, wanted in ((-3, 0), (2, 0), (-4, 161002), (3, 161002)):
        assert status("stack", tensors=two, dim=dim, out=of(F32, 2, 2, 3)) == wanted


def test_complex32_is_refused_on_atlas_a2() -> None:
    given = {"self": of("complex32", 4), "dtype": F32, "out": of(F32, 4)}
    assert status("cast", **given) == 161002


def test_without_an_offset_dynamic_quantisation_is_symmetrical() -> None:
    text = """
op: dynamic_quant_v2
cases:
  - name: symmetrical
    inputs:
      x: {dtype: float16, shape: [1, 4], data: [-1.0, 0.5, 2.0, 4.0]}
      smoothScalesOptional: null
      groupIndexOptional: null
    attrs: {dstType: 2}
    outputs: {offsetOut: null}
"""
    (case,) = load_text(text, "a.yaml", check_standard=check_for).cases
    operator = find("dynamic_quant_v2")
    made = golden(operator, make_call(case, operator.signature, "atlas_a2")).outputs
    assert made["yOut"].tolist() == [[-32, 16, 64, 127]]
    assert made["scaleOut"].tolist() == pytest.approx([4.0 / 127])


# --- over all operators -----------------------------------------------------------------------------------------


def test_no_elementwise_operator_refuses_0_d_by_a_document() -> None:
    for name, operator in operators().items():
        if operator.elementwise and operator.generic and not operator.generated:
            low = [r for r in operator.contract if isinstance(r, Rank) and r.low and r.origin == DOCUMENT]
            assert not low or facts.facts_of(name) is None or not facts.facts_of(name).sourced, name  # type: ignore[union-attr]


def test_no_unconditional_rule_refuses_a_pointer_that_may_be_null() -> None:
    for name in catalogued.names().values():
        known = facts.facts_of(name)
        if known is None or not known.sourced:
            continue
        demanded = {
            f.condition[1]
            for f in known.nulls
            if f.condition[0] == "notnull" and not f.when and not f.products
        }
        assert not demanded & facts.may_be_null(name), name


def test_every_rule_has_words_and_says_where_it_comes_from() -> None:
    for name in catalogued.names().values():
        known = facts.facts_of(name)
        for rule in (*known.nulls, *known.rules) if known is not None else ():
            assert rule.text()
            if isinstance(rule, facts.Fact):  # and of a call that breaks it, here of one in which all is null
                assert wording.broken(rule.condition, rule.when, Nothing())
            assert rule.origin == DOCUMENT or rule.origin.rpartition(":")[2].isdigit(), (name, rule)


class Nothing(dict[str, Any]):
    """A call without an argument, whatever is looked up in it."""

    def __missing__(self, name: str) -> None:
        return None


@pytest.mark.parametrize("name", random.Random(12).sample(sorted(operators()), 60))
def test_every_refusal_that_follows_is_predicted_with_its_status(name: str) -> None:
    operator = operators()[name]
    calls = Calls(operator, product_for(operator))
    dtype = calls.first_dtype
    base = calls.make(dtype, calls.base_shape) if dtype is not None else None
    if base is None or predict(operator, base, calls.product) is not None:
        return
    seen = set()
    for variation, wanted in refusals(operator, base, calls.product):
        verdict = predict(operator, {**base, **variation.changes}, variation.product or calls.product)
        assert isinstance(verdict, Refusal), (name, variation.label)
        assert verdict.status == wanted
        assert variation.label not in seen
        seen.add(variation.label)


def test_types_promote_as_in_pytorch() -> None:
    torch = pytest.importorskip("torch")
    words = ["float32", "float16", "bfloat16", "float64", "int8", "int16", "int32", "int64", "uint8", "bool"]
    words += ["complex64", "complex128"]
    for a in words:
        for b in words:
            made = torch.promote_types(getattr(torch, a), getattr(torch, b))
            assert promoted(a, b) == str(made).removeprefix("torch."), (a, b)
    assert promoted("float32", "uint32") == UNDEFINED


def test_a_page_says_where_each_rule_comes_from_and_what_is_not_known() -> None:
    text = "\n".join(show_lines(find("gelu"), catalogued.documented("aclnnGelu")))
    assert "aclnn_gelu.cpp:48]" in text
    assert "elementwise mathematics]" in text
    text = "\n".join(show_lines(find("cast"), catalogued.documented("aclnnCast")))
    unread = facts.facts_of("aclnnCast").unread  # type: ignore[union-attr]
    assert (f"{unread} failing return" in text) == bool(unread)
    generated = "\n".join(show_lines(find("foreach_add_list"), catalogued.documented("aclnnForeachAddList")))
    assert "[registration of ForeachAddList]" in generated


def test_the_packaged_facts_are_those_of_the_reading() -> None:
    if not SHARED.is_file():
        pytest.skip("the facts are not here")
    theirs = json.loads(SHARED.read_text("utf-8"))["operators"]
    lost = total = 0
    for name, own in theirs.items():
        known = facts.facts_of(name)
        if known is None:
            assert name not in catalogued.names().values()
            continue
        demanded = {p: r["status"] for p, r in own.get("not_null", {}).items() if "mark" not in r}
        rules = (*known.nulls, *known.rules)
        assert set(demanded.items()) <= {
            (f.condition[1], f.status) for f in rules if f.condition[0] == "notnull"
        }
        places = {f.origin for f in rules}
        wanted = [r["source"] for r in own.get("relations", []) if "mark" not in r]
        total += len(wanted)
        lost += sum(place not in places for place in wanted)
        for rule in known.dtypes:
            if rule.label == facts.SOURCE and "source" in own["origin"]:
                read = own["dtypes_source"][rule.name]
                for product, words in rule.lists.items():
                    assert any(product in k.split(",") and set(words) == set(v) for k, v in read.items()), (
                        name,
                        rule,
                    )
    assert lost <= 0.005 * total  # contradictory and constant conditions
