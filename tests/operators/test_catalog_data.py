"""The data of the catalog: its form, and that it says what the facts say where those lie beside the checkout."""

from __future__ import annotations

import json
from importlib.resources import files

import pytest

from ascend_opcli.model import Attribute
from ascend_opcli.operators.catalog import find, operators
from ascend_opcli.operators.contract.phase_one import Refusal, predict
from ascend_opcli.operators.contract.rules import OnProduct
from ascend_opcli.operators.documents import catalogued, registrations
from ascend_opcli.operators.documents.generic import KernelColumns
from ascend_opcli.operators.products import PRODUCTS, SOC_PRODUCTS, product
from ascend_opcli.operators.signature import POINTER_TYPES, VALUE_TYPES
from ascend_opcli.tensors.dtypes import DTYPES
from tests.conftest import ROOT
from tests.operators.operator_calls import tensor as made_tensor


def tensor(dtype, *shape):
    return made_tensor(dtype, None, shape)


FACTS = ROOT.parent / "shared" / "facts"
NAMES = tuple(catalogued.names().values())
WORDS = {*DTYPES, "complex32", "hifloat8", "float8_e8m0", "float4_e2m1", "float4_e1m2", "int4"}


def fact(name):
    path = FACTS / name
    if not path.is_file():
        pytest.skip("the facts are not here")
    return json.loads(path.read_text("utf-8"))


# --- form -------------------------------------------------------------------------------------------------------


def test_every_documented_operator_has_a_signature_that_can_be_called():
    assert len(NAMES) == len(catalogued.names()) == 1072
    for name in NAMES:
        entry = catalogued.entry(name)
        assert entry.repository, name
        assert entry.category, name
        names = [d.param.name for d in entry.params]
        assert len(set(names)) == len(names) > 0, name
        assert set(entry.products or {}) <= set(PRODUCTS), name
        assert all(code % 1000 and 100000 < code < 600000 for code in entry.status_codes), name
        for documented in entry.params:
            assert documented.param.type in POINTER_TYPES | VALUE_TYPES, (name, documented)
            assert documented.param.io in ("in", "out", "inout")
            assert documented.ranks is None or 0 <= documented.ranks[0] <= documented.ranks[1]
            if documented.param.is_tensor:
                assert set(documented.dtypes) <= WORDS, (name, documented)


def test_every_registration_can_be_read():
    assert len(registrations.names()) == 1126
    for kernel in registrations.names():
        for registered in registrations.registrations(kernel):
            assert registered.inputs or registered.outputs
            assert set(registered.products) <= set(PRODUCTS)
            for attribute in registered.attributes:
                assert attribute.type in registrations.ATTRIBUTE_TYPES
            for column in registered.columns():
                assert len(column) == len(registered.inputs) + len(registered.own_outputs)


def test_the_words_of_socs_mean_the_products():
    assert set(SOC_PRODUCTS.values()) == set(PRODUCTS)
    for soc, name in SOC_PRODUCTS.items():
        assert product(soc) == name


def test_data_are_small():
    size = sum(
        files("ascend_opcli.operators.documents").joinpath(n).stat().st_size
        for n in ("catalog.json", "kernels.json")
    )
    assert size < 1_000_000


# --- against the facts ------------------------------------------------------------------------------------------


def test_the_catalog_says_what_the_facts_say():
    facts = fact("aclnn_catalog.json")
    assert sorted(facts) == sorted(NAMES)
    for name, own in facts.items():
        entry = catalogued.entry(name, corrected=False)
        assert (entry.repository, entry.category, entry.experimental) == (
            own["library"],
            own["category"],
            own["experimental"],
        )
        assert entry.products == own.get("products"), name
        assert list(entry.status_codes) == own.get("status_codes", []), name
        for documented, theirs in zip(entry.params, own["params"], strict=True):
            param = documented.param
            assert (param.name, param.type, param.io) == (
                theirs["name"],
                theirs["type"].rstrip("*"),
                theirs["io"],
            )
            assert list(documented.dtypes) == theirs.get("dtypes", []), name
            assert list(documented.formats) == theirs.get("formats", []), name
            assert documented.ranks == (tuple(theirs["rank"]) if "rank" in theirs else None)
            assert documented.strided == theirs.get("strided")
            assert documented.empty == theirs.get("empty")
            if "optional" in theirs:
                assert param.optional == theirs["optional"]


def test_the_registrations_are_those_of_the_facts():
    facts = fact("op_defs.json")
    assert sorted(facts) == sorted(registrations.names())
    by_soc = set()
    for kernel, theirs in facts.items():
        ours = registrations.registrations(kernel)
        seen = {
            (s, r["experimental"], len(r["inputs"]), len(r["attrs"]))
            for r in theirs
            for s in r["soc"] or [""]
        }
        made = {(s, r.experimental, len(r.inputs), len(r.attributes)) for r in ours for s in r.socs or ("",)}
        assert made == seen
        cells = {tuple(t.get("dtypes", ())) for r in theirs for t in (*r["inputs"], *r["outputs"])}
        if {t.dtypes for r in ours for t in (*r.inputs, *r.outputs)} != cells:
            by_soc.add(kernel)
    # The facts have one table a kernel, ours one for each SoC that has its own.
    assert len(by_soc) < 100
    assert {"RmsNorm", "SwiGlu"} <= by_soc


# What registrations say by SoC: the columns of AddConfig("ascend310p", ...) and its like.
BY_SOC = [
    ("aclnnRmsNorm", "atlas_inference"),
    ("aclnnRmsNorm", "atlas_training"),
    ("aclnnAddLayerNorm", "atlas_inference"),
    ("aclnnDeepNorm", "atlas_inference"),
    ("aclnnSwiGlu", "atlas_inference"),
    ("aclnnForeachNonFiniteCheckAndUnscale", "atlas_inference"),
    ("aclnnScatterList", "atlas_inference"),
    ("aclnnAddRmsNorm", "atlas_inference"),
]


@pytest.mark.parametrize(("name", "product"), BY_SOC)
def test_a_kernel_has_the_dtype_columns_of_its_soc(name, product):
    (table,) = (r for r in find(name).contract if isinstance(r, KernelColumns))
    assert any("bfloat16" in column for column in table.columns["atlas_a2"])
    assert not any("bfloat16" in column for column in table.columns[product])
    assert set(table.columns[product]) < set(table.columns["atlas_a2"])


def test_an_entry_with_a_source_of_its_own_checks_what_that_says():
    """A handed-on call: the pointers, ranks and shapes of the source, then the columns of the kernel's entry."""
    assert not find("aclnnUpsampleBicubic2dAA").generated
    x = {"x": tensor("float32", 3, 4, 5), "out": tensor("float32", 3, 4, 5)}
    attributes = {"outputSize": Attribute((4, 5)), "alignCorners": Attribute(False)}
    given = {**x, **attributes, "scalesH": Attribute(0.0), "scalesW": Attribute(0.0)}
    assert status("aclnnUpsampleBicubic2dAA", given, "atlas_a2") == 161002
    assert status("aclnnUpsampleBicubic2dAA", {**given, "outputSize": None}, "atlas_a2") == 161001


# --- generated entries ------------------------------------------------------------------------------------------


def swi_glu(dtype="float16", out=None):
    return {
        "x": tensor(dtype, 2, 8),
        "dim": Attribute(-1),
        "out": tensor(out or dtype, 2, 4),
    }


def status(name, arguments, where):
    found = predict(find(name), arguments, where)
    return found.status if isinstance(found, Refusal) else 0


def test_a_generated_entry_is_known_by_its_registration():
    # Generated by the facts: logit_grad and amp_update_scale. Hand-written: elu, add, abs, is_inf.
    for name in ("aclnnLogitGrad", "aclnnAmpUpdateScale", "aclnnSwiGlu", "aclnnForeachAddList"):
        assert catalogued.entry(name).generated_by, name
    for name in ("aclnnEluBackward", "aclnnAdd", "aclnnAbs", "aclnnThresholdBackward", "aclnnIsInf"):
        assert not catalogued.entry(name).generated_by, name


def test_a_generated_entry_gives_the_codes_of_its_runtime_in_order():
    name = "aclnnSwiGlu"
    assert status(name, swi_glu(), "atlas_a2") == 0
    assert status(name, {**swi_glu(), "x": None}, "atlas_training") == 161001  # null comes before the SoC
    assert status(name, swi_glu(), "atlas_training") == 561003
    assert status(name, swi_glu("int8"), "atlas_training") == 561003  # the SoC before the columns
    assert status(name, swi_glu("int8"), "atlas_a2") == 161002
    assert status(name, swi_glu("float16", "float32"), "atlas_a2") == 161002  # no column has that pair
    assert status(name, swi_glu("bfloat16"), "ascend950") == 0


def test_null_fits_any_cell_of_an_optional_column():
    entry = catalogued.entry("aclnnAdaLayerNorm")
    assert entry.generated_by
    operator = find("aclnnAdaLayerNorm")
    arguments = {
        p.name: None if p.optional else tensor("float16", 2, 4) if p.is_tensor else Attribute(1e-5)
        for p in operator.signature.params
    }
    assert predict(operator, arguments, "atlas_a2") is None


def test_a_documented_product_without_a_public_kernel_is_not_refused():
    # DiagPart: documents silent; its registrations are all there is. MaskedSoftmax...: all products registered.
    for operator in operators().values():
        if operator.generated and operator.generic:
            for name, there in operator.products.items():
                refused = predict(operator, {p.name: None for p in operator.signature.params}, name)
                if there and isinstance(refused, Refusal):
                    assert refused.status != 561003, operator.name


def test_a_rank_outside_the_documents_is_a_matter_of_tiling_for_a_generated_entry():
    name = "aclnnRmsNorm"
    operator = find(name)
    assert operator.generated
    ranks = catalogued.entry(name)["x"].ranks
    assert ranks is not None
    shape = (2,) * (ranks[1] + 1)
    arguments = {
        p.name: tensor("float16", *shape) if p.is_tensor else Attribute(1e-6)
        for p in operator.signature.params
    }
    arguments["rstdOut"] = tensor("float32", *shape)
    assert status(name, arguments, "atlas_a2") == 561002


def test_attributes_of_a_generated_entry_have_the_defaults_of_the_registration():
    assert catalogued.operator("aclnnSwiGlu").defaults == {"dim": -1}
    assert catalogued.operator("aclnnLogitGrad").defaults == {"eps": -1.0}
    assert catalogued.operator("aclnnAdd").defaults == {}


def test_unknown_products_are_not_taken_for_no():
    entry = catalogued.entry("aclnnAcoshGrad")
    assert entry.products == {"atlas_a2": True, "atlas_a3": True}


def test_a_kernel_that_calls_its_output_otherwise_on_another_product_is_one_entry() -> None:
    (rule,) = [r for r in find("acosh_grad").contract if isinstance(r, OnProduct)]
    assert rule.products == ("ascend950", "atlas_a3", "atlas_a2")
    (rule,) = [r for r in find("mul_no_nan").contract if isinstance(r, OnProduct)]
    assert rule.products == ("ascend950",)
