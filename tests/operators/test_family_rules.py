"""What the families share: promotion, in-place and list variants, inference, ordinary calls, special functions."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from family_calls import (
    ALL,
    FAMILIES,
    accepted,
    both,
    call_of,
    flat,
    ordinary,
    ordinary_dtype,
    product_of,
    spec_of,
)
from operator_calls import identical, run, tensor

from ascend_opcli.model import Attribute, Fill, Generator, TensorSpec
from ascend_opcli.operators import catalog
from ascend_opcli.operators.contract.phase_one import predict
from ascend_opcli.operators.declare import Row, build, declare_rows, row, taken
from ascend_opcli.operators.documents import catalogued
from ascend_opcli.operators.promotion import operand, promote, scalar_word, to_float, with_scalar
from ascend_opcli.reference.evaluate import BLOCK
from ascend_opcli.reference.fitting import UndefinedResult
from ascend_opcli.tensors.special import erf, erfc, erfinv, normal_cdf, sigmoid, softplus

NAN, INF = float("nan"), float("inf")


def find(name):
    return ALL[name]


# --- the catalog ----------------------------------------------------------------------------------------------


def test_how_many():
    """A family may grow; what it has had it keeps."""
    least = {
        "elementwise": 82, "arithmetic": 103, "comparisons": 35, "activations": 44, "losses": 17, "fills": 11,
        "margins": 7, "foreach": 81, "gradients of activations": 21, "gated activations": 10,
    }  # fmt: skip
    for name, count in least.items():
        assert len(FAMILIES[name].OPERATORS) >= count, name
    assert sum(op.reference is not None for op in catalog.operators().values()) >= 403


def test_no_operator_is_declared_twice():
    names = [op.name for family in FAMILIES.values() for op in family.OPERATORS]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("name", ALL)
def test_every_operator_is_the_catalogs(name):
    """Name and parameters are those of the documents; only an in-place tensor's way may be put right."""
    operator = find(name)
    documented = catalogued.entry(operator.name).signature
    assert [(p.name, p.type) for p in operator.signature.params] == [
        (p.name, p.type) for p in documented.params
    ]
    changed = [
        p.name for p, q in zip(operator.signature.params, documented.params, strict=True) if p.io != q.io
    ]
    assert not changed or (name.startswith("Inplace") and changed == [operator.signature.params[0].name])
    known = {p.name for p in operator.signature.params}
    for field in ("data", "short", "outputs", "defaults", "sample_attributes", "attribute_dtypes"):
        assert set(getattr(operator, field)) <= known, field


@pytest.mark.parametrize("name", ALL)
def test_every_operator_says_what_it_does(name):
    summary = find(name).summary
    assert 4 < len(summary) < 140
    assert "\n" not in summary
    assert summary.split(" ")[0] in [p.name for p in find(name).signature.outputs]


def test_both_ways_of_finding_one():
    assert catalog.find("sigmoid") is catalog.find("aclnnSigmoid")
    assert catalog.find("foreach_add_scalar_v2").reference is not None


def test_a_row_that_the_catalog_does_not_have_is_refused():
    with pytest.raises(KeyError, match="aclnnNoSuchThing"):
        declare_rows({"NoSuchThing": row(np.abs, "out = |self|")})


# --- ordinary calls -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ALL)
def test_an_ordinary_call_is_accepted_and_its_host_result_near_the_golden(name):
    operator = find(name)
    arguments = ordinary(operator)
    assert predict(operator, arguments, product_of(operator)) is None
    made = call_of(operator, arguments)
    golden, host = both(operator, made)
    assert set(golden) == {p.name for p in operator.signature.outputs}
    for out, exact in golden.items():
        got, want = flat(host[out]), flat(exact)
        assert got.size == want.size > 0
        assert np.isfinite(want).all(), "default data leave the domain"
        assert (
            np.abs(got - want) <= (1e-3 if name == "Cast" else 2e-5) * np.maximum(np.abs(want), 1e-2)
        ).all()


@pytest.mark.parametrize(
    "name", [n for n, op in ALL.items() if not any(p.is_list for p in op.signature.params)]
)
def test_ordinary_calls_pass_on_the_command_line(name, opcli):
    operator = find(name)
    words = ["run", "--op", operator.name, "--backend", "host", "--product", product_of(operator)]
    if operator.signature.inputs:
        words += ["--dtype", ordinary_dtype(operator), "--shape", "x".join(map(str, operator.sample_shape))]
    for attribute, value in operator.sample_attributes.items():
        words += ["--attr", f"{attribute}={value}"]
    done = opcli(*words)
    assert done.code == 0, done.out + done.err
    assert "PASS" in done.out


@pytest.mark.parametrize(
    "name", ["ForeachAbs", "ForeachAddScalar", "ForeachAddcdivScalarList", "ForeachMulList"]
)
def test_a_list_in_a_case_file(name, opcli, case_file):
    operator = find(name)
    lists = [p.name for p in operator.signature.inputs if p.is_list]
    scalars = {"scalar": "{dtype: float32, data: [1.5]}", "scalars": "{dtype: float32, data: [1.5, 2.5]}"}
    lines = [f"      {n}: [{{dtype: float32, shape: [2, 3]}}, {{dtype: float32, shape: [5]}}]" for n in lists]
    lines += [f"      {p.name}: {scalars[p.name]}" for p in operator.signature.inputs if not p.is_list]
    path = case_file(
        "\n".join([f"op: {operator.short_name}", "cases:", "  - name: two", "    inputs:", *lines]) + "\n"
    )
    done = opcli("run", path, "--backend", "host")
    assert done.code == 0, done.out + done.err


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("shape", [(0, 4), (2, 0, 6)])
def test_empty_tensors(name, shape):
    operator = find(name)
    if not operator.signature.inputs or any(n.startswith("reduction") for n in operator.defaults):
        return
    made = call_of(operator, ordinary(operator, shape=shape))
    for outputs in both(operator, made):
        for value in outputs.values():
            assert flat(value).size in (0, 1, 3)


@pytest.mark.parametrize("name", [n for n, op in ALL.items() if op.elementwise])
def test_blocks_give_what_the_whole_gives(name):
    operator = find(name)
    arguments = ordinary(operator, shape=(2, BLOCK + 3))
    made = call_of(operator, arguments)
    golden, _ = both(operator, made)
    import dataclasses

    whole, _ = both(dataclasses.replace(operator, elementwise=False), made)
    for out, value in golden.items():
        assert np.array_equal(flat(value), flat(whole[out]), equal_nan=True)


# --- promotion, worked by hand ----------------------------------------------------------------------------------

PROMOTED = [
    ("float32", "float32", "float32"), ("float16", "bfloat16", "float32"), ("float16", "float32", "float32"),
    ("bfloat16", "float32", "float32"), ("float32", "float64", "float64"), ("int8", "uint8", "int16"),
    ("uint8", "int16", "int16"), ("uint8", "int32", "int32"), ("int32", "int64", "int64"), ("bool", "int8", "int8"),
    ("bool", "bool", "bool"), ("bool", "float16", "float16"), ("int64", "float16", "float16"),
    ("int32", "bfloat16", "bfloat16"), ("int64", "float64", "float64"), ("uint16", "int16", "int32"),
    ("uint32", "int32", "int64"), ("uint8", "uint16", "uint16"), ("float32", "complex64", "complex64"),
    ("float64", "complex64", "complex128"), ("int64", "complex64", "complex64"),
    ("complex64", "complex128", "complex128"),
]  # fmt: skip


@pytest.mark.parametrize(("one", "other", "want"), PROMOTED)
def test_two_tensors(one, other, want):
    assert promote(one, other) == promote(other, one) == want
    assert promote(one, one) == one


SCALARS = [
    ("float16", "float64", "float16"), ("float16", "int64", "float16"), ("bfloat16", "float32", "bfloat16"),
    ("float32", "float64", "float32"), ("float32", "bool", "float32"), ("float64", "float32", "float64"),
    ("int32", "int64", "int32"), ("int8", "int64", "int8"), ("uint8", "int64", "uint8"), ("int32", "bool", "int32"),
    ("int32", "float64", "float32"), ("int64", "float32", "float32"), ("bool", "float64", "float32"),
    ("bool", "int64", "int64"), ("bool", "int32", "int32"), ("bool", "bool", "bool"),
    ("float32", "complex128", "complex64"), ("float16", "complex64", "complex64"),
    ("float64", "complex64", "complex128"), ("int32", "complex128", "complex64"),
    ("complex64", "float64", "complex64"),
]  # fmt: skip


@pytest.mark.parametrize(("dtype", "scalar", "want"), SCALARS)
def test_a_scalar_does_not_widen(dtype, scalar, want):
    assert with_scalar(dtype, scalar) == want


@pytest.mark.parametrize(
    ("value", "word"),
    [
        (True, "bool"),
        (2, "int64"),
        (2.5, "float64"),
        (1j, "complex128"),
        (np.float32(1), "float32"),
        (np.int8(1), "int8"),
    ],
)
def test_the_word_of_a_scalar(value, word):
    assert scalar_word(value) == word


def test_integers_in_a_float_function():
    assert [to_float(w) for w in ("bool", "uint8", "int64", "float16", "complex64")] == [
        "float32", "float32", "float32", "float16", "complex64",
    ]  # fmt: skip


def test_an_operand_is_held_as_the_kernel_holds_it():
    big = np.array([2**24 + 1, 70000], np.int32)
    assert operand(big, "float32", True).tolist() == [2**24, 70000]
    assert operand(big, "float16", True).tolist() == [INF, INF]
    assert operand(0.1, "float16", True) == np.float64(np.float32(0.1))
    assert operand(0.1, "float16", True, exact=True) == np.float64(np.float16(0.1))
    assert operand(0.1, "float64", True) == 0.1
    assert operand(300, "uint8", True) == 44
    assert operand(2.75, "int32", True) == 2
    assert operand(np.array([1.5], np.float32), "float32", False).dtype == np.float32


def out_of(name, **given):
    result = run(find(name), **given)
    (golden,) = result.golden.outputs.values()
    (host,) = result.host.values()
    return golden, host


@pytest.mark.parametrize(
    ("name", "self", "other", "dtype"),
    [
        ("Add", "int32", "float16", "float16"),
        ("Add", "int8", "uint8", "int16"),
        ("Mul", "float16", "bfloat16", "float32"),
        ("Div", "int32", "int32", "float32"),
        ("Div", "int32", "float16", "float16"),
        ("Atan2", "int8", "int8", "float32"),
        ("EqTensor", "int32", "float32", "bool"),
        ("LogicalAnd", "int8", "float16", "bool"),
        ("Maximum", "int32", "int64", "int64"),
    ],
)
def test_the_inferred_dtype_of_two(name, self, other, dtype):
    operator = find(name)
    arguments = {
        "self": spec_of(self, (3, 1), Fill(1)),
        "other": spec_of(other, (2,), Fill(1)),
        "alpha": Attribute(1),
    }
    assert operator.infer_output("out", arguments) == (dtype, (3, 2))


@pytest.mark.parametrize(
    ("name", "self", "other", "dtype"),
    [
        ("Adds", "int32", Attribute(0.5), "float32"),
        ("Adds", "int32", Attribute(2), "int32"),
        ("Adds", "float16", Attribute(0.5, "float64"), "float16"),
        ("Divs", "int32", Attribute(2), "float32"),
        ("GtScalar", "float32", Attribute(2), "bool"),
        ("Muls", "bool", Attribute(2, "int32"), "int32"),
    ],
)
def test_the_inferred_dtype_with_a_scalar(name, self, other, dtype):
    arguments = {"self": spec_of(self, (3,), Fill(1)), "other": other, "alpha": Attribute(1)}
    assert find(name).infer_output("out", arguments) == (dtype, (3,))


@pytest.mark.parametrize(("mode", "dtype"), [(0, "float32"), (1, "int32"), (2, "int32")])
def test_the_inferred_dtype_of_a_rounding_division(mode, dtype):
    arguments = {
        "self": spec_of("int32", (3,), Fill(1)),
        "other": spec_of("int32", (3,), Fill(1)),
        "mode": Attribute(mode),
    }
    assert find("DivMod").infer_output("out", arguments) == (dtype, (3,))


def test_integers_wrap():
    assert out_of("Add", self=tensor("int8", [127, -128]), other=tensor("int8", [1, -1]))[0].tolist() == [
        -128,
        127,
    ]
    assert out_of("Mul", self=tensor("int32", [2**30]), other=tensor("int32", [4]))[0].tolist() == [0]
    assert out_of("Sub", self=tensor("uint8", [0]), other=tensor("uint8", [1]))[0].tolist() == [255]
    assert out_of("Neg", self=tensor("int8", [-128]))[0].tolist() == [-128]
    assert out_of("Adds", self=tensor("int8", [100]), other=100)[0].tolist() == [-56]


def test_bool_arithmetic():
    a, b = tensor("bool", [0, 0, 1, 1]), tensor("bool", [0, 1, 0, 1])
    assert out_of("Add", self=a, other=b)[0].tolist() == [False, True, True, True]
    assert out_of("Mul", self=a, other=b)[0].tolist() == [False, False, False, True]
    assert out_of("Sub", self=a, other=b)[0].tolist() == [False, True, True, False]


def test_integer_division_cuts_or_floors():
    a, b = tensor("int32", [7, -7, 7, -7, 6, 5]), tensor("int32", [2, 2, -2, -2, 3, 0])
    assert out_of("DivMod", self=a, other=b, mode=1)[0].tolist() == [3, -3, -3, 3, 2, -1]
    assert out_of("DivMod", self=a, other=b, mode=2)[0].tolist() == [3, -4, -4, 3, 2, 0]
    assert out_of("FloorDivide", self=a, other=b)[0].tolist() == [3, -4, -4, 3, 2, 0]
    assert out_of("FmodTensor", self=a, other=b)[0].tolist()[:5] == [1, -1, 1, -1, 0]
    assert out_of("RemainderTensorTensor", self=a, other=b)[0].tolist()[:5] == [1, 1, -1, -1, 0]
    assert out_of("Div", self=a, other=b)[0].tolist() == [3.5, -3.5, -3.5, 3.5, 2.0, INF]


@pytest.mark.parametrize("name", ["FloorDivide", "FloorDivides", "DivMod", "DivMods"])
def test_a_quotient_of_doubles_is_not_rounded_to_float32(name):
    """2^24 + 1 is no float32; 16777217.5 is floored to it."""
    extra = {"mode": 2} if name.startswith("DivMod") else {}
    other = 2.0 if name.endswith("s") else tensor("float64", [2.0])
    for values in out_of(name, self=tensor("float64", [33554435.0, -33554435.0]), other=other, **extra):
        assert values.tolist() == [16777217.0, -16777218.0]
    if "mode" in extra:
        for values in out_of(name, self=tensor("float64", [33554435.0, -33554435.0]), other=other, mode=1):
            assert values.tolist() == [16777217.0, -16777217.0]


def test_a_complex_quotient_has_no_integer_part():
    with pytest.raises(UndefinedResult, match="no integer part"):
        out_of("DivMod", self=tensor("complex64", [1j]), other=tensor("complex64", [1.0]), mode=1)


def test_integer_powers():
    base, exponent = tensor("int32", [2, -2, 1, -1, 0, 3, -1]), tensor("int32", [5, 3, -2, -3, 0, -1, -2])
    assert out_of("PowTensorTensor", self=base, exponent=exponent)[0].tolist() == [32, -8, 1, -1, 1, 0, 1]


def test_a_float_scalar_of_a_narrow_tensor_stays_float32():
    golden, host = out_of("Muls", self=tensor("float16", [3.0]), other=0.1)
    assert golden.tolist() == [3.0 * float(np.float32(0.1))]
    assert host.tolist() == [np.float16(np.float32(3.0) * np.float32(0.1))]


def test_a_compare_with_a_scalar_is_made_in_the_tensors_dtype():
    assert out_of("EqScalar", self=tensor("float16", [0.1]), other=0.1)[0].tolist() == [True]
    assert out_of("EqScalar", self=tensor("float32", [0.1]), other=0.1)[0].tolist() == [True]
    assert out_of("EqScalar", self=tensor("int32", [2]), other=2.5)[0].tolist() == [False]


def test_a_wider_output_gets_what_the_kernel_wrote():
    """float16 + float16 is rounded to float16 before the cast to float32."""
    golden, _ = out_of(
        "Add",
        self=tensor("float16", [2048.0]),
        other=tensor("float16", [1.0]),
        out=tensor("float32", shape=(1,)),
    )
    assert golden.tolist() == [2048.0]


@pytest.mark.parametrize("name", ["Sin", "Sqrt", "Exp", "Log", "Reciprocal", "Erf", "Sigmoid"])
def test_a_float_function_of_integers_is_float32(name):
    golden, host = out_of(name, self=tensor("int32", [1, 2, 3])) if name not in ("Cos",) else (None, None)
    assert host.dtype == np.float32
    assert golden.dtype == np.float64


@pytest.mark.parametrize("name", ["Floor", "Ceil", "Round", "Trunc"])
def test_rounding_leaves_integers_alone(name):
    golden, host = out_of(name, self=tensor("int64", [2**53 + 1, -3]))
    assert golden.tolist() == host.tolist() == [2**53 + 1, -3]


# --- in place ---------------------------------------------------------------------------------------------------

PAIRS = [n for n in ALL if f"Inplace{n}" in ALL]


def test_most_of_the_in_place_operators_have_a_pair():
    assert len(PAIRS) >= 98


@pytest.mark.parametrize("name", PAIRS)
def test_in_place_is_out_of_place(name):
    """The same numbers come out, in selfRef's own dtype."""
    plain, inplace = find(name), find(f"Inplace{name}")
    arguments = ordinary(inplace)
    first, *rest = taken(inplace.signature)
    names = [p.name for p in taken(plain.signature)]
    values = [arguments[p.name] for p in (first, *rest)]
    outputs = {p.name: None for p in plain.signature.outputs}
    given = dict(zip(names, values, strict=True))
    target = next(p.name for p in inplace.signature.outputs)
    for out in outputs:
        spec = arguments[target]
        given[out] = spec_of(spec.dtype, spec.shape, None)
    # Data depend on a parameter's name: the same values under both.
    fixed = {n: literal(inplace, arguments, p.name) for n, p in zip(names, (first, *rest), strict=True)}
    given |= fixed
    arguments |= {p.name: fixed[n] for n, p in zip(names, (first, *rest), strict=True)}
    one, _ = both(plain, call_of(plain, {p.name: given[p.name] for p in plain.signature.params}))
    two, _ = both(inplace, call_of(inplace, arguments))
    assert identical(flat(next(iter(one.values()))), flat(two[target]))


def literal(operator, arguments, name):
    """An argument with its data written out."""
    argument = arguments[name]
    if not isinstance(argument, TensorSpec):
        return argument
    from ascend_opcli.tensors.layout import view

    values = view(call_of(operator, arguments).arguments[name])
    return tensor(argument.dtype, values)


def test_an_in_place_comparison_writes_numbers():
    golden = run(find("InplaceGtScalar"), selfRef=tensor("float32", [1.0, 3.0]), other=2.0).golden.outputs[
        "selfRef"
    ]
    assert golden.tolist() == [0.0, 1.0]


def test_an_in_place_tensor_that_its_page_calls_an_output_is_read():
    for name in ("InplaceHardswish", "InplaceHardsigmoid", "InplacePowTensorScalar"):
        assert find(name).signature.params[0].io == "inout"


# --- lists ------------------------------------------------------------------------------------------------------


def single_of(name):
    """The operator on one tensor behind a foreach name, and the form of its second operand."""
    bare = name.removeprefix("Foreach").removesuffix("Inplace")
    return {"ACos": "Acos", "Zero": "InplaceZero", "Copy": "TensorMove"}.get(bare, bare)


@pytest.mark.parametrize("name", [n for n in ALL if n.startswith("Foreach") and single_of(n) in ALL])
def test_a_list_operator_is_the_operator_on_each_member(name):
    foreach, single = find(name), find(single_of(name))
    made = call_of(foreach, ordinary(foreach))
    golden, host = both(foreach, made)
    (members,) = golden.values()
    (held,) = host.values()
    lists = made.arguments[foreach.signature.params[0].name]
    assert len(members) == len(lists) == 3
    from ascend_opcli.tensors.layout import view

    for i, member in enumerate(lists):
        first = single.signature.inputs[0].name
        result = run(single, **{first: tensor("float32", view(member))})
        assert identical(members[i], next(iter(result.golden.outputs.values())))
        assert identical(held[i], next(iter(result.host.values())))


def lists_of(name, *members, **given):
    """A list operator on hand-made members: one tuple of lists for each tensor list."""
    operator = find(name)
    names = [p.name for p in operator.signature.inputs if p.is_list]
    arguments = {n: tuple(tensor("float32", m) for m in own) for n, own in zip(names, members, strict=True)}
    made = ordinary(operator, **{**arguments, **given})
    golden, _ = both(operator, call_of(operator, made))
    return [m.reshape(-1).tolist() for m in next(iter(golden.values()))]


X, Y, Z = ([1.0, 2.0], [3.0]), ([4.0, 5.0], [6.0]), ([2.0, 4.0], [8.0])


@pytest.mark.parametrize(
    ("name", "lists", "given", "want"),
    [
        ("ForeachAddList", (X, Y), {"alpha": tensor("float32", [2.0])}, [[9.0, 12.0], [15.0]]),
        ("ForeachAddListV2", (X, Y), {"alpha": Attribute(2.0)}, [[9.0, 12.0], [15.0]]),
        ("ForeachAddListInplace", (X, Y), {"alpha": tensor("float32", [2.0])}, [[9.0, 12.0], [15.0]]),
        ("ForeachSubList", (X, Y), {"alpha": tensor("float32", [1.0])}, [[-3.0, -3.0], [-3.0]]),
        ("ForeachMulList", (X, Y), {}, [[4.0, 10.0], [18.0]]),
        ("ForeachDivList", (Z, Y), {}, [[0.5, 0.8], [8 / 6]]),
        ("ForeachMaximumList", (X, Z), {}, [[2.0, 4.0], [8.0]]),
        ("ForeachMinimumList", (X, Z), {}, [[1.0, 2.0], [3.0]]),
        ("ForeachPowList", (X, Z), {}, [[1.0, 16.0], [6561.0]]),
        ("ForeachLerpList", (X, Y, ([0.5, 0.5], [1.0])), {}, [[2.5, 3.5], [6.0]]),
        ("ForeachLerpScalar", (X, Y), {"weight": Attribute(0.5)}, [[2.5, 3.5], [4.5]]),
        ("ForeachAddScalar", (X,), {"scalar": tensor("float32", [0.5])}, [[1.5, 2.5], [3.5]]),
        ("ForeachAddScalarV2", (X,), {"scalar": Attribute(0.5)}, [[1.5, 2.5], [3.5]]),
        ("ForeachAddScalarList", (X,), {"scalars": Attribute((0.5, 1.5))}, [[1.5, 2.5], [4.5]]),
        ("ForeachSubScalarV2", (X,), {"scalar": Attribute(0.5)}, [[0.5, 1.5], [2.5]]),
        ("ForeachMulScalarList", (X,), {"scalars": Attribute((2.0, 3.0))}, [[2.0, 4.0], [9.0]]),
        ("ForeachMulScalarInplace", (X,), {"scalar": tensor("float32", [2.0])}, [[2.0, 4.0], [6.0]]),
        ("ForeachDivScalarV2", (X,), {"scalar": Attribute(2.0)}, [[0.5, 1.0], [1.5]]),
        ("ForeachPowScalarV2", (X,), {"scalar": Attribute(2.0)}, [[1.0, 4.0], [9.0]]),
        ("ForeachPowScalarAndTensor", (X,), {"scalar": Attribute(2.0)}, [[2.0, 4.0], [8.0]]),
        ("ForeachMaximumScalarV2", (X,), {"scalar": Attribute(2.5)}, [[2.5, 2.5], [3.0]]),
        ("ForeachMinimumScalarList", (X,), {"scalars": Attribute((1.5, 2.5))}, [[1.0, 1.5], [2.5]]),
        ("ForeachAddcmulScalarV2", (X, Y, Z), {"scalar": Attribute(2.0)}, [[17.0, 42.0], [99.0]]),
        ("ForeachAddcdivScalar", (X, Y, Z), {"scalar": tensor("float32", [2.0])}, [[5.0, 4.5], [4.5]]),
        ("ForeachAddcmulScalarList", (X, Y, Z), {"scalars": tensor("float32", [1.0, 2.0])}, [[9.0, 22.0], [99.0]]),
        ("ForeachAddcdivList", (X, Y, Z), {"scalars": tensor("float32", [1.0, 2.0])}, [[3.0, 3.25], [4.5]]),
        ("ForeachZeroInplace", (X,), {}, [[0.0, 0.0], [0.0]]),
    ],
)  # fmt: skip
def test_lists_by_hand(name, lists, given, want):
    got = lists_of(name, *lists, **given)
    assert [len(g) for g in got] == [2, 1]
    np.testing.assert_allclose(list(itertools.chain(*got)), list(itertools.chain(*want)), rtol=1e-6)


@pytest.mark.parametrize(
    ("mode", "want"),
    [
        (1, [2.0, -2.0, 2.0, 1.0]), (2, [2.0, -3.0, 1.0, 1.0]), (3, [3.0, -2.0, 2.0, 2.0]), (4, [3.0, -3.0, 2.0, 1.0]),
        (5, [2.0, -2.0, 1.0, 1.0]), (6, [3.0, -3.0, 1.0, 1.0]), (0, [2.5, -2.5, 1.5, 1.25]),
    ],
)  # fmt: skip
def test_round_off_modes(mode, want):
    got = lists_of("ForeachRoundOffNumberV2", ([2.5, -2.5, 1.5, 1.25],), roundMode=Attribute(mode))
    assert got == [want]


@pytest.mark.parametrize(("bad", "flag"), [(1.0, 0.0), (INF, 1.0), (NAN, 1.0)])
def test_the_check_before_unscaling(bad, flag):
    operator = find("ForeachNonFiniteCheckAndUnscale")
    grads = (tensor("float32", [2.0, 4.0]), tensor("float32", [bad]))
    made = ordinary(
        operator, scaledGrads=grads, foundInf=tensor("float32", [0.0]), invScale=tensor("float32", [0.5])
    )
    golden, _ = both(operator, call_of(operator, made))
    assert golden["scaledGrads"][0].tolist() == [1.0, 2.0]
    assert golden["foundInf"].tolist() == [flag]


@pytest.mark.parametrize(
    ("name", "want"), [("AddN", [9.0, 8.0]), ("Sum", [9.0, 8.0]), ("MaxN", [5.0, 4.0]), ("MinN", [1.0, 0.0])]
)
def test_lists_to_one(name, want):
    operator = find(name)
    members = tuple(tensor("float32", m) for m in ([1.0, 4.0], [3.0, 4.0], [5.0, 0.0]))
    golden, _ = both(operator, call_of(operator, ordinary(operator, tensors=members)))
    assert next(iter(golden.values())).tolist() == want


def test_the_members_of_an_output_follow_their_own():
    operator = find("ForeachMulList")
    shapes = [(2, 3), (5,), ()]
    lists = {n: tuple(spec_of("float16", s, Fill(1)) for s in shapes) for n in ("x1", "x2")}
    assert operator.infer_members("out", lists) == tuple(("float16", s) for s in shapes)
    assert operator.infer_members("out", {"x1": None, "x2": None}) == (("float32", (1,)),)


# --- shapes, casts, sequences -----------------------------------------------------------------------------------


@pytest.mark.parametrize(("reduction", "shape"), [(0, (2, 3)), (1, ()), (2, ())])
def test_a_reduced_loss_is_one_number(reduction, shape):
    arguments = {n: spec_of("float16", (2, 3), Fill(1)) for n in ("self", "target")} | {
        "reduction": Attribute(reduction)
    }
    assert find("L1Loss").infer_output("out", arguments) == ("float16", shape)
    assert find("MseLoss").infer_output("out", arguments) == ("float16", shape)


@pytest.mark.parametrize(("dim", "shape"), [(-1, (2, 4, 3)), (1, (2, 2, 6)), (0, (1, 4, 6))])
def test_a_gate_halves_its_axis(dim, shape):
    arguments = {"x": spec_of("float32", (2, 4, 6), Fill(1)), "dim": Attribute(dim)}
    assert find("SwiGlu").infer_output("out", arguments) == ("float32", shape)


def test_an_axis_that_is_not_there_fails_no_inference():
    arguments = {"x": spec_of("float32", (2,), Fill(1)), "dim": Attribute(3)}
    assert find("SwiGlu").infer_output("out", arguments) == ("float32", (2,))


@pytest.mark.parametrize(
    ("source", "target", "values", "want"),
    [
        ("float32", "int32", [2.7, -2.7, NAN, INF, -INF], [2, -2, 0, 2**31 - 1, -(2**31)]),
        ("float32", "uint8", [-1.0, 255.9, 300.0], [0, 255, 255]),
        ("float32", "bool", [0.0, -0.0, 0.5, NAN], [False, False, True, True]),
        ("int32", "int8", [127, 128, -129], [127, -128, 127]),
        ("int64", "float32", [2**24 + 1], [float(2**24)]),
        ("float32", "float16", [70000.0, 1.0009765625], [INF, 1.0009765625]),
        ("bool", "float32", [True, False], [1.0, 0.0]),
    ],
)
def test_casts(source, target, values, want):
    operator = find("Cast")
    made = run(operator, self=tensor(source, values), dtype=target)
    assert (
        operator.infer_output("out", {"self": tensor(source, values), "dtype": Attribute(target)})[0]
        == target
    )
    assert identical(made.host["out"], want)


@pytest.mark.parametrize(
    ("name", "given", "dtype", "want"),
    [
        ("Arange", (0, 5, 2), "int64", [0, 2, 4]),
        ("Arange", (0.0, 1.0, 0.25), "float32", [0.0, 0.25, 0.5, 0.75]),
        ("Arange", (3, 0, -1), "int64", [3, 2, 1]),
        ("Range", (0, 4, 2), "int64", [0, 2, 4]),
        ("Range", (0.0, 1.0, 0.25), "float32", [0.0, 0.25, 0.5, 0.75, 1.0]),
    ],
)
def test_sequences(name, given, dtype, want):
    operator = find(name)
    attributes = dict(zip(("start", "end", "step"), given, strict=True))
    made = run(operator, **attributes)
    assert operator.infer_output("out", {n: Attribute(v) for n, v in attributes.items()}) == (
        dtype,
        (len(want),),
    )
    assert made.golden.outputs["out"].tolist() == want


@pytest.mark.parametrize(
    ("steps", "want"), [(1, [2.0]), (2, [2.0, 3.0]), (5, [2.0, 2.25, 2.5, 2.75, 3.0]), (0, [])]
)
def test_linspace(steps, want):
    assert run(find("Linspace"), start=2.0, end=3.0, steps=steps).golden.outputs["out"].tolist() == want


def test_polar_and_its_kind():
    made = run(find("Polar"), input=tensor("float32", [2.0]), angle=tensor("float32", [0.0]))
    assert made.golden.outputs["out"].tolist() == [2 + 0j]
    assert made.host["out"].dtype == np.complex64


# --- branches and bounds by hand ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "x", "given", "want"),
    [
        ("HardswishBackward", [-3.0, 3.0, -4.0, 4.0, 0.0], {}, [-0.5, 1.5, 0.0, 1.0, 0.5]),
        ("HardswishBackwardV2", [-3.0, 3.0, -4.0, 4.0, 0.0], {}, [0.0, 1.0, 0.0, 1.0, 0.5]),
        ("HardtanhBackward", [-1.0, 1.0, -1.5, 1.5, NAN, 0.5], {}, [0.0, 0.0, 0.0, 0.0, 1.0, 1.0]),
        ("HardtanhBackward", [0.0, 6.0, 3.0], {"min": 0.0, "max": 6.0}, [0.0, 0.0, 1.0]),
        ("HardshrinkBackward", [-0.5, 0.5, 0.75, -0.75, 0.0, NAN], {}, [0.0, 0.0, 1.0, 1.0, 0.0, 1.0]),
        ("SoftshrinkBackward", [-0.5, 0.5, 0.75, -0.75, 0.0, NAN], {}, [0.0, 0.0, 1.0, 1.0, 0.0, 1.0]),
        ("HardsigmoidBackward", [-3.0, 3.0, 0.0], {}, [0.0, 0.0, 1 / 6]),
        ("LeakyReluBackward", [-1.0, 0.0, 1.0, NAN], {"negativeSlope": 0.5}, [0.5, 0.5, 1.0, 0.5]),
        ("SoftplusBackward", [0.0, 20.0, 21.0], {}, [0.5, 1 / (1 + math.exp(-20)), 1.0]),
    ],
)  # fmt: skip
def test_gradients_at_their_bounds(name, x, given, want):
    operator = find(name)
    grad, other = (p.name for p in operator.signature.inputs)
    made = run(operator, **{grad: tensor("float32", np.ones(len(x))), other: tensor("float32", x)}, **given)
    np.testing.assert_allclose(next(iter(made.golden.outputs.values())), want, rtol=1e-12)


@pytest.mark.parametrize("name", ["HardswishBackward", "HardswishBackwardV2", "HardtanhBackward"])
def test_a_bound_that_is_met_is_told(name):
    operator = find(name)
    grad, other = (p.name for p in operator.signature.inputs)
    edge = 1.0 if name == "HardtanhBackward" else 3.0
    met = run(
        operator,
        **{grad: tensor("float32", [1.0]), other: tensor("float32", [edge if name[-1] != "2" else NAN])},
    )
    free = run(operator, **{grad: tensor("float32", [1.0]), other: tensor("float32", [0.25])})
    assert met.golden.divergences
    assert not free.golden.divergences


@pytest.mark.parametrize("left", [False, True])
@pytest.mark.parametrize("approximate", [0, 1])
def test_geglu_gradient_is_the_slope_of_its_forward(left, approximate):
    x = np.array([[0.3, -1.2, 0.7, 2.0]])
    step = 1e-6
    names = {"activateLeft": left, "approximate": approximate}

    def forward(values):
        made = run(find("GeGluV3"), self=tensor("float64", values), **names).golden.outputs
        return made["out"], made["outGelu"]

    _, gelu = forward(x)
    grad = np.array([[0.5, -2.0]])
    got = run(
        find("GeGluV3Backward"),
        gradOutput=tensor("float64", grad), self=tensor("float64", x), gelu=tensor("float64", gelu), **names,
    ).golden.outputs["gradInput"]  # fmt: skip
    for i in range(4):
        away = np.zeros_like(x)
        away[0, i] = step
        slope = ((forward(x + away)[0] - forward(x - away)[0]) / (2 * step) * grad).sum()
        assert got[0, i] == pytest.approx(slope, rel=1e-6)


# --- special functions ------------------------------------------------------------------------------------------

POINTS = np.concatenate(
    [
        np.random.Generator(np.random.PCG64(1)).uniform(-6, 6, 4000),
        np.linspace(-27, 27, 999),
        [0.46875, -0.46875, 4.0, -4.0, 1e-300, 5e-324, 0.5, 26.5],
    ]
)


@pytest.mark.parametrize(("ours", "exact"), [(erf, math.erf), (erfc, math.erfc)])
def test_the_error_function(ours, exact):
    want = np.array([exact(v) for v in POINTS])
    normal = np.abs(want) > 2.3e-308
    away = np.abs(ours(POINTS) - want)[normal] / np.spacing(np.abs(want[normal]))
    assert away.max() <= 8


def test_the_error_function_of_special_values():
    special = np.array([0.0, -0.0, INF, -INF, NAN])
    assert identical(erf(special), [0.0, -0.0, 1.0, -1.0, NAN])
    assert identical(erfc(special), [1.0, 1.0, 0.0, 2.0, NAN])
    assert erf(np.float32([0.5])).dtype == np.float32


def test_the_inverse_error_function():
    y = np.concatenate([np.linspace(-0.999, 0.999, 2001), 1 - 10.0 ** -np.arange(1, 16), [1e-300, 1e-9]])
    back = np.array([math.erf(v) for v in erfinv(y)])
    assert (np.abs(back - y) <= 4e-16).all()
    assert identical(erfinv(np.array([0.0, -0.0, 1.0, -1.0, 1.5, NAN])), [0.0, -0.0, INF, -INF, NAN, NAN])


def test_the_rest():
    x = np.array([-800.0, -30.0, 0.0, 30.0, 800.0])
    np.testing.assert_allclose(
        sigmoid(x), [0.0, 1 / (1 + math.exp(30)), 0.5, 1 / (1 + math.exp(-30)), 1.0], rtol=1e-15
    )
    np.testing.assert_allclose(
        softplus(x), [0.0, math.log1p(math.exp(-30)), math.log(2), 30 + math.log1p(math.exp(-30)), 800.0]
    )
    np.testing.assert_allclose(
        normal_cdf(x), [0.0, 0.5 * math.erfc(30 / math.sqrt(2)), 0.5, 1.0, 1.0], rtol=1e-12
    )


# --- the words of a table ----------------------------------------------------------------------------------------


def test_a_row_is_one_line():
    operator = build("aclnnAbs", row(np.abs, "out = |self|", data=(1.0, 2.0)))
    assert operator.summary == "out = |self|"
    assert operator.data["self"] == Generator("uniform", (1.0, 2.0))
    assert operator.reference is not None
    assert operator.elementwise


def test_a_row_sets_any_field():
    made = build("aclnnAdd", Row(np.add, "out = self + other", changes={"standard": "exact"}))
    assert made.standard == "exact"


def test_references_are_pure():
    for name, operator in ALL.items():
        if not operator.signature.inputs or accepted(operator, operator.signature.inputs[0].name) == ():
            continue
        made = call_of(operator, ordinary(operator))
        first, again = both(operator, made)[0], both(operator, made)[0]
        for out in first:
            assert np.array_equal(flat(first[out]), flat(again[out]), equal_nan=True), name


def test_help_imports_no_family():
    import subprocess
    import sys

    code = (
        "import sys; from ascend_opcli.cli import main\n"
        "sys.argv = ['opcli', '--help']\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "print([m for m in sys.modules if m.endswith('operators.elementwise')], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr.strip().endswith("[]")
