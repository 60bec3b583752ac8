"""Running references: purity, blocks, memory, and what is noted of the data on the way; case-made operators."""

from __future__ import annotations

import dataclasses
import tracemalloc
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from operator_calls import FIVE, FLOATS, INF, NAN, arguments, call_of, identical, run, tensor, wide

from ascend_opcli.expression.language import compile_expression
from ascend_opcli.model import Attribute, Generator, Tensor, TensorSpec
from ascend_opcli.operators.catalog import UnknownOperator, find, operators
from ascend_opcli.operators.contract.phase_one import predict
from ascend_opcli.operators.products import product
from ascend_opcli.operators.signature import find as find_signature
from ascend_opcli.operators.signature import parse
from ascend_opcli.reference.evaluate import BLOCK, golden, host_result
from ascend_opcli.reference.fitting import ReferenceFailure
from ascend_opcli.reference.resolve import is_code, resolve, with_code

ELEMENTWISE = ("logit_grad", "elu_backward", "threshold_backward")
LARGE = (3, 97, 2 * BLOCK // (3 * 97) + 7)
"""More than two blocks, the last one short; no axis divides a block."""
ROWS = BLOCK // 256 + 3
LAYOUTS = ("contiguous", "transposed", "reversed", "padded")
DATA = Generator("uniform", (-0.5, 1.5), (NAN, INF, -INF, 0.0, -0.0, 1.0))


def ordinary(name: str, dtype: str, shape: tuple[int, ...], **layout: Any) -> dict[str, Any]:
    """Inputs of one shape with specials among them where there is room."""
    count = int(np.prod(shape))
    data = DATA if count > 8 else Generator("uniform", (-0.5, 1.5))
    made = {
        p.name: tensor(dtype, data, shape, **layout)
        for p in find(name).signature.inputs
        if name in ELEMENTWISE
    }
    if name == "threshold_backward":
        made["threshold"] = Attribute(0.25)
    if name == "logit_grad":
        made["eps"] = Attribute(0.1)
    if name == "amp_update_scale":
        made = {
            "currentScale": tensor(dtype, [8.0]),
            "growthTracker": tensor("int32", [9]),
            "foundInf": tensor(dtype, [0.0]),
        }
    if name == "batch_norm_elemt_backward":
        ones = Generator("uniform", (0.5, 2.0))
        made = {n: tensor(dtype, ones, shape, **layout) for n in ("gradOut", "input")}
        made |= {
            n: tensor(dtype, ones, (shape[1],)) for n in ("mean", "invstd", "weight", "sumDy", "sumDyXmu")
        }
        made["counter"] = tensor("int32", [3, 4])
    return made


def same_outputs(a: dict[str, np.ndarray], b: dict[str, np.ndarray]) -> None:
    assert list(a) == list(b)
    for name in a:
        assert a[name].dtype == b[name].dtype
        assert a[name].shape == b[name].shape
        assert a[name].tobytes() == b[name].tobytes()


# --- purity ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", FIVE)
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_inputs_are_not_written(name, dtype, layout):
    operator = find(name)
    call = call_of(operator, arguments(operator, **ordinary(name, dtype, (6, 4), layout=layout)))
    bound = [b for b in call.arguments.values() if isinstance(b, Tensor)]
    before = [b.storage.tobytes() for b in bound]
    for b in bound:
        b.storage.flags.writeable = False  # a write would raise
    first, host = golden(operator, call), host_result(operator, call)
    assert [b.storage.tobytes() for b in bound] == before
    same_outputs(golden(operator, call).outputs, first.outputs)
    same_outputs(host_result(operator, call), host)


@pytest.mark.parametrize("name", FIVE)
def test_outputs_have_the_declared_dtype_and_shape(name):
    operator = find(name)
    for dtype in FLOATS:
        call = call_of(operator, arguments(operator, **ordinary(name, dtype, (3, 5))))
        exact, host = golden(operator, call).outputs, host_result(operator, call)
        for output, spec in call.outputs.items():
            assert isinstance(spec, TensorSpec)
            assert host[output].dtype.name == spec.dtype
            assert exact[output].dtype == (np.int32 if spec.dtype == "int32" else np.float64)
            assert host[output].shape == exact[output].shape == spec.shape


# --- blocks ---------------------------------------------------------------------------------------------------


def whole_and_blocks(name: str, given_arguments: dict[str, Any]) -> None:
    operator = find(name)
    whole = dataclasses.replace(operator, elementwise=False)
    call = call_of(operator, arguments(operator, **given_arguments))
    a, b = golden(operator, call), golden(whole, call)
    same_outputs(a.outputs, b.outputs)
    same_outputs(host_result(operator, call), host_result(whole, call))
    if len({item.spec.shape for item in call.arguments.values() if isinstance(item, Tensor)}) == 1:
        assert a.branches == b.branches  # counted per element of the output, which a whole run does not know
    assert a.divergences == b.divergences
    assert (a.ambiguous is None) == (b.ambiguous is None)
    if a.ambiguous is not None and b.ambiguous is not None:
        for left, right in zip(a.ambiguous, b.ambiguous, strict=True):
            assert np.array_equal(left, right, equal_nan=True)


@pytest.mark.parametrize("name", ELEMENTWISE)
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_blocks_give_what_the_whole_gives(name, dtype, layout):
    whole_and_blocks(name, ordinary(name, dtype, LARGE, layout=layout))


@given(
    st.sampled_from(ELEMENTWISE),
    st.sampled_from(FLOATS),
    st.sampled_from([BLOCK, 2 * BLOCK]),
    st.integers(-2, 2),
    st.sampled_from(["flat", "column", "offset", "strided"]),
)
def test_sizes_around_the_block(name, dtype, blocks, off, form):
    n = blocks + off
    shape = {"flat": (n,), "column": (n, 1)}.get(form, (n,))
    layout = {"offset": {"offset": 5}, "strided": {"strides": [2], "offset": 1}}.get(form, {})
    whole_and_blocks(name, ordinary(name, dtype, shape, **layout))


@given(
    st.sampled_from(["float32", "float16", "bfloat16", "int32", "int8", "uint8"]),
    st.sampled_from([((2, 1, 255), (1, ROWS, 255)), ((ROWS, 1), (1, 257)), ((257,), (ROWS, 257)), ((), (ROWS, 259)),
                     ((ROWS, 259), ()), ((1, 1), (BLOCK + 1,))]),
    st.sampled_from(LAYOUTS),
    st.sampled_from([0.0, 0.25, 1.0]),
    st.booleans(),
)  # fmt: skip
def test_broadcast_in_blocks(dtype, shapes, layout, threshold, swap):
    """Two tensors that broadcast, whatever their layouts."""
    data = Generator("integers", (0, 9)) if "int" in dtype else Generator("uniform", (-1.0, 1.0))
    a, b = reversed(shapes) if swap else shapes
    given_arguments = {
        "gradOutput": tensor(dtype, data, a, layout=layout), "self": tensor(dtype, data, b), "threshold": threshold,
    }  # fmt: skip
    whole_and_blocks("threshold_backward", given_arguments)


@pytest.mark.parametrize(
    "mixed", [("transposed", "contiguous"), ("contiguous", "padded"), ("reversed", "transposed")]
)
@pytest.mark.parametrize("dtype", FLOATS)
def test_layouts_of_one_call_may_differ(mixed, dtype):
    """Block by block the elements still meet their own partner."""
    count, shape = int(np.prod(LARGE)), LARGE
    self = np.arange(count) % 5 - 2.0
    grad = np.arange(count) % 128 + 1.0
    result = run(
        "threshold_backward",
        gradOutput=tensor(dtype, grad, shape, layout=mixed[0]),
        self=tensor(dtype, self, shape, layout=mixed[1]),
        threshold=1.0,
    )
    want = np.where(self <= 1, 0.0, grad).reshape(shape)
    assert identical(result.host["out"], want)
    assert identical(result.golden.outputs["out"], want)


@pytest.mark.parametrize("name", ELEMENTWISE)
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("shape", [(), (0,), (3, 0, 2), (1,), (1, 1, 1)])
def test_scalars_and_empty(name, dtype, shape):
    result = run(name, **ordinary(name, dtype, shape))
    output = find(name).signature.outputs[0].name
    assert result.host[output].shape == result.golden.outputs[output].shape == shape
    assert sum(result.golden.branches.values()) == int(np.prod(shape))


@pytest.mark.parametrize("name", ELEMENTWISE)
@pytest.mark.parametrize("layout", ["contiguous", "transposed", "padded"])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_memory_is_bounded(name, layout, dtype):
    """4 M elements: beside the result itself only blocks."""
    operator = find(name)
    shape, data = (2048, 2048), Generator("uniform", (0.0, 1.0))
    given_arguments = {p.name: tensor(dtype, data, shape, layout=layout) for p in operator.signature.inputs}
    if name == "threshold_backward":
        given_arguments["threshold"] = 0.25
    call = call_of(operator, arguments(operator, **given_arguments))
    count = 2048 * 2048
    for evaluate, size in ((lambda: golden(operator, call), 8), (lambda: host_result(operator, call), 4)):
        tracemalloc.start()
        try:
            kept = evaluate()
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert peak < count * size + 8 * 2**20, f"{peak / 2**20:.0f} MiB"
        del kept


# --- branches -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["logit_grad", "elu_backward", "threshold_backward", "amp_update_scale"])
@pytest.mark.parametrize("shape", [(7, 5), (BLOCK + 3,), LARGE])
def test_branches_add_up(name, shape):
    result = run(name, **ordinary(name, "float32", shape))
    total = 1 if name == "amp_update_scale" else int(np.prod(shape))
    assert sum(result.golden.branches.values()) == total
    assert len(result.golden.branches) >= 2


def test_branches_of_hand_made_data():
    x, g = [-1.0, 0.0, -0.0, NAN, 2.0], [1.0] * 5
    logit = run("logit_grad", x=tensor("float32", x), dy=tensor("float32", g)).golden.branches
    assert list(logit.values()) == [2, 3]
    elu = run(
        "elu_backward", selfOrResult=tensor("float32", x), gradOutput=tensor("float32", g)
    ).golden.branches
    assert list(elu.values()) == [3, 2]
    relu = run(
        "threshold_backward", self=tensor("float32", x), gradOutput=tensor("float32", g), threshold=0.0
    )
    assert list(relu.golden.branches.values()) == [3, 2]


@pytest.mark.parametrize(
    ("scale", "tracker", "found", "branch"),
    [(8, 5, 0, "counts"), (8, 9, 0, "grows"), (8, 9, 1, "found Inf"), (2.0**127, 9, 0, "growth overflows")],
)
def test_branches_of_amp(scale, tracker, found, branch):
    result = run("amp_update_scale", currentScale=tensor("float32", [scale]), growthTracker=tensor("int32", [tracker]),
                 foundInf=tensor("float32", [found]), growthInterval=10)  # fmt: skip
    assert {n for n, count in result.golden.branches.items() if count} == {branch}


def test_branches_count_the_broadcast_elements():
    result = run("threshold_backward", gradOutput=tensor("float32", [[1.0], [2.0]]),
                 self=tensor("float32", [0.0, 1.0, 2.0]), threshold=1.0)  # fmt: skip
    assert sum(result.golden.branches.values()) == 6


# --- thresholds that go either way ----------------------------------------------------------------------------


def around(value: float, steps: int = 3) -> list[float]:
    """float32 neighbours of a number, ``steps`` on each side."""
    low, made = np.float32(value), []
    for _ in range(steps):
        low = np.nextafter(low, np.float32(-np.inf))
    for _ in range(2 * steps + 1):
        made.append(float(low))
        low = np.nextafter(low, np.float32(np.inf))
    return made


def either(x: list[float], eps: float, dtype: str = "float32") -> list[int]:
    found = run("logit_grad", x=tensor(dtype, x), dy=tensor(dtype, [3.0] * len(x)), eps=eps).golden.ambiguous
    return [] if found is None else found[0].tolist()


def test_either_marks_one_ulp_around_a_bound_that_float32_cannot_hold():
    lo, hi = float(np.float32(0.1)), float(np.float32(1) - np.float32(0.1))
    assert either(around(lo), 0.1) == [2, 3, 4]
    assert either(around(hi), 0.1) == [2, 3, 4]
    assert either([0.05, 0.09, 0.11, 0.5, 0.89, 0.91, 0.0, 1.0, NAN, INF], 0.1) == []


@pytest.mark.parametrize("eps", [0.25, 0.0, -0.0, 0.5, 0.125, -1.0, -0.1, NAN, INF, 2.0])
def test_either_marks_nothing_where_the_bounds_are_exact(eps):
    points = [p for v in (0.25, 0.75, 0.5, 0.125, 0.875, 1.0, 0.1, 0.9) for p in around(v)] + around(0.0)
    assert either(points, eps) == []


def test_either_marks_the_bound_that_is_inexact_alone():
    # 2**-30 is exact, 1 - 2**-30 is 1 in float32.
    assert either(around(2.0**-30), 2.0**-30) == []
    assert 3 in either(around(1.0), 2.0**-30)
    # float32's own 0.1 is exact as a lower bound; 1 minus it needs more bits than float32 has.
    tenth = float(np.float32(0.1))
    assert either(around(tenth), tenth) == []
    assert either(around(float(np.float32(1) - np.float32(0.1))), tenth) == [2, 3, 4]


def test_either_gives_the_other_side():
    lo = around(0.1)[2:5]
    found = run("logit_grad", x=tensor("float32", lo), dy=tensor("float32", [3.0] * 3), eps=0.1).golden
    assert found.ambiguous is not None
    quotient = [3.0 / (x * (1 - x)) for x in lo]
    np.testing.assert_allclose(found.outputs["out"], [0.0, *quotient[1:]], rtol=1e-15)
    np.testing.assert_allclose(found.ambiguous[1], [quotient[0], 0.0, 0.0], rtol=1e-15)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_either_is_float32_whatever_the_dtype(dtype):
    # The narrow neighbours of 0.1 are many float32 ulp away: no doubt about them.
    points = [0.099609375, 0.10009765625] if dtype == "bfloat16" else [0.0999755859375, 0.10003662109375]
    assert either(points, 0.1, dtype) == []


def test_either_indices_count_the_whole_tensor():
    n = 2 * BLOCK + 5
    x = np.full(n, 0.5)
    places = [0, BLOCK - 1, BLOCK, 2 * BLOCK + 4]
    x[places] = float(np.float32(0.1))
    for layout in ({}, {"strides": [2]}):
        found = run(
            "logit_grad", x=tensor("float32", x, **layout), dy=tensor("float32", np.ones(n)), eps=0.1
        ).golden
        assert found.ambiguous is not None
        assert found.ambiguous[0].tolist() == places


# --- divergences ----------------------------------------------------------------------------------------------


def noted(name: str, **given_arguments: Any) -> tuple[str, ...]:
    return run(name, **given_arguments).golden.divergences


def logit_notes(x, dy=1.0, eps=0.25):
    return noted("logit_grad", x=tensor("float32", [0.5, x]), dy=tensor("float32", [1.0, dy]), eps=eps)


def elu_notes(x=1.0, **coefficients):
    return noted(
        "elu_backward",
        gradOutput=tensor("float32", [1.0]),
        selfOrResult=tensor("float32", [x]),
        **coefficients,
    )


def threshold_notes(self, g, t, dtype="float32"):
    return noted(
        "threshold_backward", gradOutput=tensor(dtype, [g, 1]), self=tensor(dtype, [self, 9]), threshold=t
    )


def batch_norm_notes(counter, dtype="float32", invstd=1.0):
    made = {n: tensor(dtype, [[1.0]]) for n in ("gradOut", "input")}
    made |= {n: tensor(dtype, [1.0]) for n in ("mean", "weight", "sumDy", "sumDyXmu")}
    return noted("batch_norm_elemt_backward", **made, invstd=tensor(dtype, [invstd]), counter=counter)


def amp_notes(scale=8.0, tracker=1, found=0.0, dtype="float32", **more):
    return noted("amp_update_scale", currentScale=tensor(dtype, [scale]), growthTracker=tensor("int32", [tracker]),
                 foundInf=tensor(dtype, [found]), growthInterval=10, **more)  # fmt: skip


TOUCHED = [
    pytest.param(logit_notes, (NAN,), "NaN x", id="logit-nan-x"),
    pytest.param(logit_notes, (INF,), "infinite x", id="logit-inf-x"),
    pytest.param(logit_notes, (0.0, 1.0, 0.0), "exactly 0 or 1", id="logit-x-0"),
    pytest.param(logit_notes, (1.0, 1.0, -1.0), "exactly 0 or 1", id="logit-x-1"),
    pytest.param(logit_notes, (0.5, 1.0, 0.75), "eps above 0.5", id="logit-eps-large"),
    pytest.param(logit_notes, (0.5, 1.0, NAN), "NaN eps", id="logit-eps-nan"),
    pytest.param(logit_notes, (0.125, NAN), "where x is outside", id="logit-dy-outside"),
    pytest.param(elu_notes, (NAN,), "NaN selfOrResult", id="elu-nan"),
    pytest.param(threshold_notes, (-1.0, NAN, 0.0), "taken as 0", id="relu-nan"),
    pytest.param(threshold_notes, (-1.0, INF, 0.0), "taken as 0", id="relu-inf"),
    pytest.param(threshold_notes, (0.0, -3.0, 0.0), "taken as 0", id="relu-negative"),
    pytest.param(threshold_notes, (1.0, 3.0, 1e-7), "acts as 0", id="tiny"),
    pytest.param(threshold_notes, (NAN, 3.0, 1.0), "NaN self", id="nan-self"),
    pytest.param(threshold_notes, (1.0, 3.0, NAN), "NaN threshold", id="nan-threshold"),
    pytest.param(threshold_notes, (2**24 + 1, 3, 1.0, "int32"), "int32 beyond", id="int32-self"),
    pytest.param(threshold_notes, (5, -(2**24) - 1, 1.0, "int32"), "int32 beyond", id="int32-grad"),
    pytest.param(batch_norm_notes, (tensor("float16", [40000, 40000]),), "float16 overflows", id="counter"),
    pytest.param(batch_norm_notes, (tensor("int32", [1]), "float16", 300.0), "invstd above 255", id="invstd"),
    pytest.param(batch_norm_notes, (tensor("int32", [1, -1]),), "sum(counter) of 0", id="counter-0"),
    pytest.param(amp_notes, (40000.0, 9, 0.0, "float16"), "finite in float32", id="amp-float16"),
    pytest.param(amp_notes, (8.0, 1, NAN), "NaN foundInf", id="amp-nan"),
    pytest.param(amp_notes, (8.0, 10), "past growthInterval", id="amp-past"),
]


@pytest.mark.parametrize(("notes", "call", "words"), TOUCHED)
def test_divergence_that_the_data_touch(notes, call, words):
    assert [text for text in notes(*call) if words in text], notes(*call)


UNTOUCHED = [
    pytest.param(logit_notes, (0.5,), id="logit"),
    pytest.param(logit_notes, (0.125,), id="logit-outside"),
    pytest.param(logit_notes, (NAN, 1.0, -1.0), id="logit-nan-x-no-eps"),
    pytest.param(logit_notes, (INF, 1.0, -1.0), id="logit-inf-x-no-eps"),
    pytest.param(logit_notes, (0.0,), id="logit-x-0-outside"),
    pytest.param(logit_notes, (0.5, NAN), id="logit-dy-nan-inside"),
    pytest.param(elu_notes, (), id="elu"),
    pytest.param(elu_notes, (-INF,), id="elu-minus-inf"),
    pytest.param(threshold_notes, (-1.0, 3.0, 0.0), id="relu-positive"),
    pytest.param(threshold_notes, (1.0, NAN, 0.0), id="relu-nan-kept"),
    pytest.param(threshold_notes, (-1.0, NAN, 1.0), id="select-nan"),
    pytest.param(threshold_notes, (2**24 + 1, 3, 0.0, "int32"), id="int32-relu"),
    pytest.param(threshold_notes, (2**24, 2**24, 1.0, "int32"), id="int32-exact"),
    # An integer has no -0.0, NaN or Inf: nothing differs.
    pytest.param(threshold_notes, (-1, -3, 0.0, "int8"), id="relu-negative-integer"),
    pytest.param(batch_norm_notes, (tensor("int32", [5, 5]),), id="batch-norm"),
    pytest.param(batch_norm_notes, (tensor("int32", [1]), "float32", 300.0), id="invstd-float32"),
    pytest.param(batch_norm_notes, (tensor("float32", [40000, 40000]),), id="counter-float32"),
    pytest.param(amp_notes, (), id="amp"),
    pytest.param(amp_notes, (8.0, 9), id="amp-grows"),
    pytest.param(amp_notes, (40000.0, 5, 0.0, "float16"), id="amp-float16-counts"),
    pytest.param(amp_notes, (8.0, 1, INF), id="amp-inf"),
]


@pytest.mark.parametrize(("notes", "call"), UNTOUCHED)
def test_divergence_that_the_data_do_not_touch(notes, call):
    assert notes(*call) == ()


def test_divergence_of_elu_coefficients():
    assert any("0.001 of 1" in text for text in elu_notes(scale=1.0005))
    assert any("0.001 of 1" in text for text in elu_notes(alpha=0.5, scale=2.001, inputScale=1.0))
    assert elu_notes(scale=1.01) == ()
    assert any("divides by inputScale" in text for text in elu_notes(inputScale=0.0, isResult=True))
    assert elu_notes(inputScale=0.0) == ()


def test_every_divergence_is_told_once_in_a_large_tensor():
    x = np.full(3 * BLOCK, NAN)
    notes = noted("logit_grad", x=tensor("float32", x), dy=tensor("float32", np.ones(x.size)), eps=0.25)
    assert len(notes) == len(set(notes)) == 1
    per_operator = [[d.text for d in op.divergences] for op in operators().values()]
    assert all(len(own) == len(set(own)) for own in per_operator)


# --- finding ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", FIVE)
def test_both_spellings(name):
    operator = find(name)
    assert operator.short_name == name
    assert find(operator.name) is operator


def test_unknown_names_have_a_nearest():
    with pytest.raises(UnknownOperator, match="logit_grad"):
        find("logit_gard")
    with pytest.raises(UnknownOperator, match="aclnnEluBackward"):
        find("aclnnEluBackwards")
    with pytest.raises(UnknownOperator, match="ops list"):
        find("zzzzzz")


@pytest.mark.parametrize(
    ("word", "name"),
    [("Ascend910B1", "atlas_a2"), ("ascend910_9391", "atlas_a3"), ("Ascend910A", "atlas_training"),
     ("Ascend310P3", "atlas_inference"), ("Ascend310B4", "atlas_200i_500_a2"), ("ascend950", "ascend950"),
     ("Ascend910_9599", "ascend950"),     ("ATLAS_A2", "atlas_a2")],
)  # fmt: skip
def test_product_words(word, name):
    assert product(word) == name


# --- expressions ----------------------------------------------------------------------------------------------

X = np.array([1.0, 4.0, 9.0])


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("self + alpha * other", [3, 9, 19]),
        ("-self", [-1, -4, -9]),
        ("+self - 1", [0, 3, 8]),
        ("self ** 2", [1, 16, 81]),
        ("2 ** self", [2, 16, 512]),
        ("2 ** -1", 0.5),
        ("self // 2 + self % 2", [1, 2, 5]),
        ("self / 2", [0.5, 2, 4.5]),
        ("sqrt(self)", [1, 2, 3]),
        ("where(self > 2, self, 0)", [0, 4, 9]),
        ("where((1 < self) & ~(self >= 9), 1, 0)", [0, 1, 0]),
        ("(self == 4) | (self != 4) ^ (self == 1)", [False, True, True]),
        ("maximum(self, 5) - minimum(self, 5)", [4, 1, 4]),
        ("sum(self, axis=0)", 14),
        ("max(self) - min(self)", 8),
        ("mean(self, axis=0, keepdims=True)", [14 / 3]),
        ("reshape(self, (3, 1)) @ reshape(self, (1, 3))", np.outer(X, X)),
        ("concatenate((self, self))", [1, 4, 9, 1, 4, 9]),
        ("flip(self)", [9, 4, 1]),
        ("self if alpha > 1 else other", [1, 4, 9]),
        ("pi * self / pi", [1, 4, 9]),
        ("self * inf", [INF, INF, INF]),
        ("where(isnan(self * nan), 1, 0)", [1, 1, 1]),
        ("  self  ", [1, 4, 9]),
        ("1e3 + self", [1001, 1004, 1009]),
    ],
)
def test_expressions(text, want):
    other = np.array([1.0, 2.5, 5.0])
    got = compile_expression(text, ["self", "other", "alpha"])(self=X, other=other, alpha=2)
    np.testing.assert_allclose(wide(got), np.asarray(want, float), rtol=1e-15)


REFUSED = [
    ("__import__('os')", "__import__"),
    ("open('x')", "open"),
    ("eval('1')", "eval"),
    ("exec('1')", "exec"),
    ("print(self)", "did you mean 'rint'"),
    ("self.shape", "Attribute"),
    ("self.__class__", "Attribute"),
    ("np.exp(self)", "Call"),
    ("().__class__.__bases__", "Attribute"),
    ("self[0]", "Subscript"),
    ("lambda: self", "Lambda"),
    ("(lambda: self)()", "Call"),
    ("[x for x in self]", "ListComp"),
    ("{x for x in self}", "SetComp"),
    ("sum(x for x in self)", "GeneratorExp"),
    ("{1: self}", "Dict"),
    ("{self}", "Set"),
    ("f'{self}'", "JoinedStr"),
    ("'text'", "Constant"),
    ("b'text'", "Constant"),
    ("None", "Constant"),
    ("...", "Constant"),
    ("(y := self)", "NamedExpr"),
    ("await self", "Await"),
    ("1 < self < 3", r"\(a < b\) & \(b < c\)"),
    ("self and self", "BoolOp"),
    ("not self", "UnaryOp"),
    ("self << 3", "BinOp"),
    ("self is self", "."),
    ("1 in self", "."),
    ("sum(*self)", "Starred"),
    ("sum(self, **self)", "keyword"),
    ("sum(self, out=self)", "out"),
    ("sum(self, dtype=1)", "dtype"),
    ("sum(self)(self)", "Call"),
    ("self; self", "no expression"),
    ("import os", "no expression"),
    ("self = 1", "no expression"),
    ("(self", "no expression"),
    ("", "no expression"),
    ("slef", "slef.*did you mean 'self'"),
    ("sqr(self)", "did you mean 'sqrt'"),
    ("fromfile(self)", "fromfile"),
    ("save(self)", "save"),
    ("self\0", "."),
    ("self + " * 1000 + "self", "longer than"),
    ("-" * 200 + "self", "nested"),
    ("abs(" * 70 + "self" + ")" * 70, "nested"),
]


@pytest.mark.parametrize(("text", "words"), REFUSED, ids=[str(i) for i in range(len(REFUSED))])
def test_refused_expressions(text, words):
    with pytest.raises(ValueError, match=words):
        compile_expression(text, ["self"])


@pytest.mark.parametrize("text", ["self is self", "1 in self", "self not in self"])
def test_a_compare_that_is_no_chain_is_not_called_one(text):
    with pytest.raises(ValueError, match="reference") as caught:
        compile_expression(text, ["self"])
    assert "chain" not in str(caught.value)


def test_a_bare_function_name_does_not_suggest_itself():
    with pytest.raises(ValueError, match="'exp'") as caught:
        compile_expression("exp", ["self"])
    assert "did you mean 'exp'" not in str(caught.value)


@pytest.mark.parametrize(
    "text", ["10 ** 10 ** 10", "9999 ** 9999", "2 ** (2 ** 100)", "((9 ** 99) ** 99) ** 99"]
)
def test_huge_powers_do_not_run_away(text):
    with np.errstate(all="ignore"):
        assert compile_expression(text, [])() == INF


@pytest.mark.parametrize("text", ["(0,) * 1000000", "1000000 * [0]", "((0,) * 1000) * 1000"])
def test_repeated_tuples_do_not_run_away(text):
    """A tuple times a number would be a tuple as long as the number: memory at the text's mercy."""
    try:
        made = compile_expression(text, [])()
    except (ValueError, TypeError):
        return
    assert np.size(made) <= 1000


# --- operators that a case brings -----------------------------------------------------------------------------

ADD = (
    "aclnnStatus aclnnMyAddGetWorkspaceSize(const aclTensor *self, const aclTensor *other, const aclScalar *alpha,"
    " aclTensor *out, uint64_t *workspaceSize, aclOpExecutor **executor)"
)

HEADER = """
#ifndef X
/* aclnnOtherGetWorkspaceSize(broken */
extern "C" {
// aclnnStatus aclnnCommentedGetWorkspaceSize(const aclTensor *x, aclTensor *y);
__attribute__((visibility("default")))
aclnnStatus aclnnMyMulGetWorkspaceSize(
    const aclTensor *x,   // the first
    const aclTensor *yOptional,
    double scale,
    const aclTensor *zRef,
    const aclTensor *out,
    const aclTensor *maskOut,
    uint64_t *workspaceSize,
    aclOpExecutor **executor);
aclnnStatus aclnnMyMul(void *workspace, uint64_t workspaceSize, aclOpExecutor *executor, aclrtStream stream);
ACLNN_API aclnnStatus aclnnMyNegGetWorkspaceSize(const aclTensor* self, aclTensor* out,
                                                 uint64_t* workspaceSize, aclOpExecutor** executor);
}
"""


@pytest.mark.parametrize("name", ["aclnnMyAdd", "my_add"])
def test_custom_operator_from_a_prototype(name):
    operator = resolve(name, signature=ADD, reference="self + alpha * other")
    assert operator.name == "aclnnMyAdd"
    assert operator.custom
    made = arguments(
        operator,
        self=tensor("float16", [1.0, 2.0]),
        other=tensor("float16", [3.0, 60000.0]),
        alpha=2,
        out=tensor("float16", shape=(2,)),
    )
    for where in ("atlas_a2", "atlas_inference"):
        assert predict(operator, made, where) is None
    call = call_of(operator, made)
    assert golden(operator, call).outputs["out"].tolist() == [7.0, 120002.0]
    assert host_result(operator, call)["out"].tolist() == [7.0, INF]


def test_custom_operator_from_a_header():
    operator = resolve("my_neg", signature=HEADER, reference="-self")
    assert operator.name == "aclnnMyNeg"
    assert [(p.name, p.io) for p in operator.signature.params] == [("self", "in"), ("out", "out")]
    result = run(operator, self=tensor("bfloat16", [[1.0], [-2.0]]), out=tensor("bfloat16", shape=(2, 1)))
    assert identical(result.host["out"], [-1.0, 2.0])


def test_custom_reference_sees_no_output():
    with pytest.raises(ValueError, match="out"):
        resolve("my_neg", signature=HEADER, reference="-out")
    with pytest.raises(ValueError, match="did you mean 'self'"):
        resolve("my_neg", signature=HEADER, reference="-slf")


def test_custom_without_a_reference_cannot_be_judged():
    operator = resolve("my_neg", signature=HEADER)
    assert operator.reference is None
    call = call_of(
        operator, arguments(operator, self=tensor("float32", [1.0]), out=tensor("float32", shape=(1,)))
    )
    with pytest.raises(ReferenceFailure, match="no reference"):
        golden(operator, call)


@pytest.mark.parametrize(
    ("reference", "words"),
    [
        ("reshape(self, (5, 1))", "."),
        ("concatenate((self, self))", "shape .6. for an output of shape .3."),
        ("(self, self)", "2 results for 1"),
    ],
)
def test_custom_reference_that_does_not_fit(reference, words):
    operator = resolve("my_neg", signature=HEADER, reference=reference)
    made = arguments(operator, self=tensor("float32", [1.0, 2.0, 3.0]), out=tensor("float32", shape=(3,)))
    with pytest.raises((ReferenceFailure, ValueError), match=words):
        golden(operator, call_of(operator, made))


def test_a_reference_replaces_the_built_in_one():
    operator = resolve("threshold_backward", reference="where(self <= threshold, 0, gradOutput)")
    assert operator.contract == find("threshold_backward").contract
    result = run(
        operator, gradOutput=tensor("float32", [-1.0]), self=tensor("float32", [-1.0]), threshold=0.0
    )
    assert identical(result.golden.outputs["out"], [0.0])
    assert result.golden.branches == {}


@pytest.mark.parametrize(
    ("name", "reference"),
    [
        ("logit_grad", "dy / (x * (1 - x))"),
        ("elu_backward", "gradOutput * scale"),
        ("batch_norm_elemt_backward", "gradOut - input"),
        ("threshold_backward", "gradOutput * (self > threshold)"),
        ("amp_update_scale", "(currentScale * growthFactor, growthTracker + 1)"),
    ],
)
def test_every_built_in_operator_takes_a_reference(name, reference):
    """The notes of the built-in one must not trip over attributes that are no longer narrowed."""
    for dtype in FLOATS:
        result = run(resolve(name, reference=reference), **ordinary(name, dtype, (3, 4)))
        assert result.golden.branches == {}
        assert result.golden.ambiguous is None


def test_a_signature_of_a_built_in_operator_keeps_its_contract():
    operator = find("elu_backward")
    assert resolve("elu_backward", signature=operator.signature.prototype()) is operator
    assert resolve("aclnnEluBackward", signature=operator.signature.prototype()) is operator


def test_unknown_operator_without_a_signature():
    with pytest.raises(UnknownOperator):
        resolve("my_neg", reference="-self")
    with pytest.raises(ValueError, match="aclnnMyMul, aclnnMyNeg"):
        resolve("aclnnMyDiv", signature=HEADER)


def test_code_is_not_imported_by_itself(tmp_path):
    (tmp_path / "mine.py").write_text("raise SystemExit('imported')\n")
    assert is_code("mine.py:neg")
    assert not is_code("-self")
    assert resolve("my_neg", signature=HEADER, reference="mine.py:neg").reference is None


def test_code_of_the_case_folder(tmp_path):
    inside = tmp_path / "cases"
    inside.mkdir()
    (inside / "mine.py").write_text("def neg(self):\n    return -self\nvalue = 3\n")
    (tmp_path / "outside.py").write_text("def neg(self):\n    return -self\n")
    plain = resolve("my_neg", signature=HEADER, reference="mine.py:neg")
    result = run(
        with_code(plain, "mine.py:neg", inside),
        self=tensor("float32", [1.0]),
        out=tensor("float32", shape=(1,)),
    )
    assert result.host["out"].tolist() == [-1.0]
    for reference, words in (
        ("../outside.py:neg", "outside"),
        ("missing.py:neg", "does not exist"),
        ("mine.py:other", "no function other"),
        ("mine.py:value", "no function value"),
    ):
        with pytest.raises(ValueError, match=words):
            with_code(plain, reference, inside)


# --- signatures -----------------------------------------------------------------------------------------------


def test_generated_signature():
    """const everywhere: the suffixes Out and Ref, and the name out, tell the direction."""
    signature = find_signature(HEADER, "aclnnMyMul")
    assert [(p.name, p.type, p.io, p.optional) for p in signature.params] == [
        ("x", "aclTensor", "in", False),
        ("yOptional", "aclTensor", "in", True),
        ("scale", "double", "in", False),
        ("zRef", "aclTensor", "inout", False),
        ("out", "aclTensor", "out", False),
        ("maskOut", "aclTensor", "out", False),
    ]
    assert [p.name for p in signature.inputs] == ["x", "yOptional", "zRef"]
    assert [p.name for p in signature.outputs] == ["zRef", "out", "maskOut"]
    assert [p.name for p in signature.attributes] == ["scale"]


def test_hand_written_signature():
    """Outputs are declared without const, whatever they are called."""
    signature = parse(
        "aclnnStatus aclnnMixGetWorkspaceSize(const aclTensorList* tensors, const aclIntArray *dims, char* mode,"
        " int64_t axis, bool keep, aclTensor *selfRef, aclTensor* y, uint64_t* workspaceSize, aclOpExecutor** executor)"
    )
    assert [(p.name, p.io, p.is_pointer, p.is_list) for p in signature.params] == [
        ("tensors", "in", True, True),
        ("dims", "in", True, False),
        ("mode", "in", True, False),
        ("axis", "in", False, False),
        ("keep", "in", False, False),
        ("selfRef", "inout", True, False),
        ("y", "out", True, False),
    ]
    assert signature["axis"].type == "int64_t"
    with pytest.raises(KeyError):
        signature["nothing"]


def test_a_name_in_out_of_a_hand_written_entry_is_an_input_when_const():
    signature = parse(
        "aclnnStatus aclnnGradGetWorkspaceSize(const aclTensor *gradOut, aclTensor *gradInput, uint64_t *workspaceSize,"
        " aclOpExecutor **executor)"
    )
    assert [(p.name, p.io) for p in signature.params] == [("gradOut", "in"), ("gradInput", "out")]


@pytest.mark.parametrize("name", FIVE)
def test_a_signature_survives_its_own_prototype(name):
    own = find(name).signature
    again = parse(
        own.prototype(),
        io={p.name: p.io for p in own.params},
        optional=[p.name for p in own.params if p.optional],
    )
    assert again == own


FIVE_TENSORS = {
    "logit_grad": ("x dy", "out", "eps"),
    "elu_backward": ("gradOutput selfOrResult", "gradInput", "alpha scale inputScale isResult"),
    "batch_norm_elemt_backward": ("gradOut input mean invstd weight sumDy sumDyXmu counter", "gradInput", ""),
    "threshold_backward": ("gradOutput self", "out", "threshold"),
    "amp_update_scale": (
        "currentScale growthTracker foundInf",
        "updatedScale updatedGrowthTracker",
        "growthFactor backoffFactor growthInterval",
    ),
}


@pytest.mark.parametrize("name", FIVE)
def test_signatures_of_the_five(name):
    signature, want = find(name).signature, FIVE_TENSORS[name]
    groups = signature.inputs, signature.outputs, signature.attributes
    assert tuple(" ".join(p.name for p in group) for group in groups) == want
    optional = [p.name for p in signature.params if p.optional]
    assert optional == (["weight"] if name == "batch_norm_elemt_backward" else [])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "a signature reads"),
        ("int main()", "a signature reads"),
        ("aclnnStatus aclnnXGetWorkspaceSize()", "."),
        (
            "aclnnStatus aclnnXGetWorkspaceSize(uint64_t *workspaceSize, aclOpExecutor **executor)",
            "no parameter",
        ),
        ("aclnnStatus aclnnXGetWorkspaceSize(const aclTensor *x, uint64_t *workspaceSize)", "no output"),
        ("aclnnStatus aclnnXGetWorkspaceSize(const aclTensor x, aclTensor *out)", "x"),
        ("aclnnStatus aclnnXGetWorkspaceSize(const aclTensor **x, aclTensor *out)", "cannot pass"),
        ("aclnnStatus aclnnXGetWorkspaceSize(void *x, aclTensor *out)", "void.*cannot pass"),
        ("aclnnStatus aclnnXGetWorkspaceSize(double *x, aclTensor *out)", "cannot pass"),
        ("aclnnStatus aclnnXGetWorkspaceSize(const aclTensor *, aclTensor *out)", "cannot read|cannot pass"),
    ],
)
def test_signatures_that_cannot_be_called(text, words):
    with pytest.raises(ValueError, match=words):
        parse(text)
