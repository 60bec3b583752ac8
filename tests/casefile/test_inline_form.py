"""A call on the command line: as written, and a case turned into options and back."""

# One row, one line: the tables are read by column.
# ruff: noqa: E501

from __future__ import annotations

import argparse
import dataclasses
import math
import shlex

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ascend_opcli.casefile import inline
from ascend_opcli.casefile.inline import CallOptions
from ascend_opcli.casefile.open import load_text
from ascend_opcli.errors import UsageError
from ascend_opcli.model import (
    Attribute,
    Case,
    ExpectedStatus,
    Fill,
    Generator,
    StandardChoice,
    TensorSpec,
    Values,
)


def accept(choice: StandardChoice, dtype: str | None) -> None:
    if choice.name not in ("ulp", "allclose", "exact", "bits"):
        raise ValueError(f"unknown standard '{choice.name}'")


def options(words: list[str]) -> CallOptions:
    parser = argparse.ArgumentParser()
    for name in ("op", "dtype", "shape", "expect", "product", "standard"):
        parser.add_argument(f"--{name}")
    parser.add_argument("--seed", type=int)
    for name, to in (("attr", "attrs"), ("in", "inputs"), ("out", "outputs")):
        parser.add_argument(f"--{name}", dest=to, action="append", default=[])
    return CallOptions(**vars(parser.parse_args(words)))


def parse(line: str) -> Case:
    return inline.parse(options(shlex.split(line)), check_standard=accept)


def cases(text: str) -> tuple[Case, ...]:
    return load_text(text, "f.yaml", check_standard=accept).cases


def tensor(case: Case, name: str) -> TensorSpec:
    spec = case.arguments[name]
    assert isinstance(spec, TensorSpec)
    return spec


def essence(case: Case) -> str:
    """What the inline form must keep; as text, so that NaN and -0.0 count."""
    standard = (case.standard.name, dict(case.standard.numbers)) if case.standard else None
    return repr((case.operator, dict(case.arguments), case.status, standard, case.seed, case.product))


# --- as written ---------------------------------------------------------------------------------------------


def test_the_short_form() -> None:
    case = parse("--op logit_grad --dtype float16 --shape 4x4 --attr eps=1e-6 --seed 3 --product Ascend910B1")
    assert case.id == "<command line>::logit_grad"
    assert (case.operator, case.seed, case.product) == ("aclnnLogitGrad", 3, "atlas_a2")
    assert (tensor(case, "x").dtype, tensor(case, "x").shape) == ("float16", (4, 4))
    assert case.arguments["eps"] == Attribute(1e-6)


@pytest.mark.parametrize(
    ("text", "shape"),
    [("4x4", (4, 4)), ("4,4", (4, 4)), ("[4, 4]", (4, 4)), ("7", (7,)), ("[]", ()), ("scalar", ())],
)
def test_shapes(text: str, shape: tuple[int, ...]) -> None:
    assert tensor(parse(f"--op logit_grad --dtype float32 --shape '{text}'"), "x").shape == shape


@pytest.mark.parametrize(
    ("text", "data"),
    [
        ("float16[4,4]:uniform(0,1)", Generator("uniform", (0, 1))),
        ("float16[4x4]:normal(0.0, 2.0)", Generator("normal", (0.0, 2.0))),
        ("float16[4,4]:integers(0,9)", Generator("integers", (0, 9))),
        ("float16[4,4]:choice(1,2.5,nan)", Generator("choice", (1, 2.5, math.nan))),
        ("float16[4,4]:linspace(-1,1)", Generator("linspace", (-1, 1))),
        ("float16[4,4]:permutation()", Generator("permutation")),
        ("float16[4,4]:uniform(0,1)+specials(nan,-inf)", Generator("uniform", (0, 1), (math.nan, -math.inf))),
        ("float16[4,4]:-0.5", Fill(-0.5)),
        ("float16[4,4]:nan", Fill(math.nan)),
        ("float16[2]:[1,2]", Values((1, 2))),
        ("float16[2,1]:[[1],[2]]", Values((1, 2))),
        ("float16[4,4]", Generator("uniform", (0, 1))),
        ("float16", Generator("uniform", (0, 1))),
        ("float16:1", Fill(1)),
        ("1.5", Fill(1.5)),
        ("inf", Fill(math.inf)),
        ("uniform(0,1)", Generator("uniform", (0, 1))),
        ("permutation()", Generator("permutation")),
    ],
)
def test_inputs(text: str, data: object) -> None:
    case = parse(f"--op logit_grad --dtype float32 --shape 4,4 --in 'x={text}'")
    made = tensor(case, "x").data
    assert repr(made).replace("0.0, 1.0", "0, 1") == repr(data).replace("0.0, 1.0", "0, 1")


def test_null_layouts_and_outputs() -> None:
    case = parse(
        "--op logit_grad --in x=null --in 'dy=float16[4,2]@transposed:1' --out 'out=float32[3]@padded' --expect 161001"
    )
    assert case.arguments["x"] is None
    assert tensor(case, "dy").strides == (1, 4)
    assert (tensor(case, "out").dtype, tensor(case, "out").layout) == ("float32", "padded")
    assert case.status == ExpectedStatus(161001)
    assert parse("--op logit_grad --dtype float32 --shape 1 --out out=null").arguments["out"] is None


def test_scalars_with_a_dtype_and_standards_with_numbers() -> None:
    case = parse(
        "--op elu_backward --dtype float32 --shape 1 --attr 'alpha={value: 2, dtype: int32}' --attr isResult=true"
        " --standard allclose:rtol=1e-3,atol=1e-5"
    )
    assert case.arguments["alpha"] == Attribute(2, "int32")
    assert case.arguments["isResult"] == Attribute(True)
    assert case.standard == StandardChoice("allclose", {"rtol": 1e-3, "atol": 1e-5}, "the command line")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("--op logit_gard --dtype float32 --shape 1", "--op logit_gard: unknown operator 'logit_gard'; did you mean 'logit_grad'?"),
        ("--op logit_grad --dtype flaot16 --shape 1", "--dtype flaot16: unknown dtype 'flaot16'; did you mean 'float16'?"),
        ("--op logit_grad --dtype float16 --shape 4xa", "--shape 4xa: '4xa' is not a shape, such as 4x4, 4,4, [] or scalar"),
        ("--op logit_grad --dtype float16", "aclnnLogitGrad has no x, dy here: write it under inputs, or a shape for the case"),
        ("--op logit_grad --dtype float16 --shape 1 --attr eps", "--attr eps: this must read NAME=VALUE"),
        ("--op logit_grad --dtype float16 --shape 1 --attr eps=null", "--attr eps=null: null is the null pointer; eps is a plain double"),
        ("--op logit_grad --dtype float16 --shape 1 --attr epz=1", "--attr epz=1: aclnnLogitGrad has no attribute 'epz'; did you mean 'eps'?"),
        ("--op logit_grad --dtype float16 --shape 1 --attr eps=1 --attr eps=2", "--attr eps=2: eps is given twice"),
        ("--op logit_grad --dtype float16 --shape 1 --attr eps=[", "--attr eps=[: this is not YAML: "),
        ("--op logit_grad --dtype float16 --shape 1 --attr 'eps=$a'", "--attr eps=$a: $a has no entry in matrix or zip"),
        ("--op logit_grad --dtype float16 --shape 1 --in out=1", "--in out=1: out is an output of aclnnLogitGrad: write it under outputs"),
        ("--op logit_grad --dtype float16 --shape 1 --in 'x=unifrom(0,1)'", "--in x=unifrom(0,1): unknown generator: 'unifrom'; did you mean 'uniform'?"),
        ("--op logit_grad --dtype float16 --shape 1 --in 'x=float16[1]:'", "--in x=float16[1]:: there are no data after the colon"),
        ("--op logit_grad --dtype float16 --shape 1 --in 'x=1+specials(nan)'", "--in x=1+specials(nan): specials go with a generator"),
        ("--op logit_grad --dtype float16 --shape 1 --in 'x=float16[1]@paded'", "--in x=float16[1]@paded: x: unknown layout 'paded'; did you mean 'padded'?"),
        ("--op logit_grad --dtype float16 --shape 1 --out out=1", "--out out=1: '1' is not an output: write null, alias:INPUT or DTYPE[DIMS][@LAYOUT]"),
        ("--op logit_grad --dtype float16 --shape 1 --expect ACLNN_ERR_PARAM_NULPTR", "--expect ACLNN_ERR_PARAM_NULPTR: unknown return code 'ACLNN_ERR_PARAM_NULPTR'; did you mean"),
        ("--op logit_grad --dtype float16 --shape 1 --product a2", "--product a2: unknown product 'a2'"),
        ("--op logit_grad --dtype float16 --shape 1 --standard upl", "--standard upl: unknown standard 'upl'"),
        ("--op logit_grad --dtype float16 --shape 1 --standard ulp:2", "--standard ulp:2: '2' is not of the form name=number: the numbers of ulp read ulp:key=value,key=value"),
        ("--op logit_grad --dtype float16 --shape 1 --seed=-1", "--seed -1: seed must lie between 0 and"),
        ("--op logit_grad --dtype float16 --shape 1 --in 'x=[[1],2]'", "--in x=[[1],2]: x is ragged"),
    ],
)  # fmt: skip
def test_mistakes_name_the_option(line: str, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse(line)
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)


@settings(max_examples=300, deadline=None)
@given(
    st.text(max_size=30),
    st.sampled_from(["attrs", "inputs", "outputs", "shape", "dtype", "expect", "standard", "op"]),
)
def test_any_text_in_any_option(text: str, where: str) -> None:
    base: dict[str, object] = {"op": "logit_grad", "dtype": "float32", "shape": "1"}
    name = {"attrs": "eps=", "inputs": "x=", "outputs": "out="}.get(where)
    base[where] = [name + text] if name else text
    message = ""
    try:
        inline.parse(CallOptions(**base), check_standard=accept)  # type: ignore[arg-type]
    except UsageError as error:
        message = str(error)
    assert "\n" not in message


# --- there and back -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "line",
    [
        "--op logit_grad --dtype float32 --shape 4x4",
        "--op logit_grad --dtype float32 --shape scalar --attr eps=0.01 --seed 5",
        "--op logit_grad --dtype float16 --shape 4x4 --in 'x=float16[4,4]@transposed:uniform(0.1,0.9)'",
        "--op logit_grad --dtype float16 --shape 2 --in 'x=float16[2]:[0.25,nan]' --expect ACLNN_ERR_PARAM_INVALID",
        "--op logit_grad --in x=null --in 'dy=float32[4]:1.0' --out out=null",
        "--op batch_norm_elemt_backward --dtype float16 --shape 2x5x3 --in weight=null",
        "--op batch_norm_elemt_backward --dtype float16 --shape 2x5x3 --out 'gradInput=float32[2,5,3]@padded'",
        "--op elu_backward --dtype bfloat16 --shape 0 --attr 'alpha={value: 2, dtype: int32}' --attr scale=null",
        "--op amp_update_scale --dtype float32 --shape 1 --attr growthInterval=7 --standard ulp:max=0.5",
        "--op threshold_backward --dtype int32 --shape 3 --attr threshold=-1 --product atlas_a3",
    ],
)
def test_what_is_said_shortest_is_printed_so(line: str) -> None:
    case = parse(line)
    assert inline.format(case) == shlex.split(line)


def test_defaults_are_dropped_and_the_short_form_is_found() -> None:
    (case,) = cases(
        "op: aclnnLogitGrad\nseed: 0\ncases: [{attrs: {eps: -1}, inputs: {x: {dtype: half, shape: [3], data: {uniform: [0, 1]}},"
        " dy: {dtype: half, shape: [3], data: {normal: [0.0, 1.0]}}}}]"
    )
    words = inline.format(case)
    assert words is not None
    assert words[:6] == ["--op", "logit_grad", "--dtype", "float16", "--shape", "3"]
    assert essence(inline.parse(options(words), check_standard=accept)) == essence(case)


@pytest.mark.parametrize(
    "body",
    [
        "inputs: {x: {dtype: float32, shape: [2], strides: [3]}}",
        "inputs: {x: {dtype: float32, shape: [2], storage_shape: [9]}}",
        "inputs: {x: {dtype: float32, shape: [17], data: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17]}}",
        "reference: dy",
        "repeat: 2",
        "deterministic: 1",
        "known_issue: r",
        "only: {backend: device}",
        "expect: {outputs: {out: 1}}",
        "expect: {standard: {out: exact}}",
        "expect: {status: {code: 161002, message: a}}",
        "expect: {status: {code: 507011, phase: sync}}",
    ],
)
def test_what_options_cannot_say_is_told_by_the_file(body: str) -> None:
    (case,) = cases(f"op: logit_grad\ncases: [{{name: a b, dtype: float32, shape: [2], {body}}}]")
    assert inline.format(case) is None
    assert inline.repro(case, "ab12") == "opcli run 'f.yaml::a b' --inputs-sha256 ab12"


def test_a_repro_line_can_be_pasted_into_a_shell() -> None:
    case = parse("--op logit_grad --dtype float16 --shape 2 --in 'x=float16[2]:[0.25,inf]'")
    line = inline.repro(case, "ab12")
    assert line == (
        "opcli run --op logit_grad --dtype float16 --shape 2 --in 'x=float16[2]:[0.25,inf]' --inputs-sha256 ab12"
    )
    assert inline.repro(case) == line.removesuffix(" --inputs-sha256 ab12")


def test_a_repro_line_of_stdin() -> None:
    (case,) = load_text(
        "op: logit_grad\ncases: [{dtype: float32, shape: [2], repeat: 2}]", "<stdin>", check_standard=accept
    ).cases
    assert inline.repro(case) == "opcli run -- -::1"


NUMBERS = st.integers(-(10**6), 10**6) | st.floats(allow_nan=True, allow_infinity=True)
FINITE = st.floats(-1e6, 1e6)


@st.composite
def tensors(draw: st.DrawFn) -> str:
    dtype = draw(st.sampled_from(["float16", "bfloat16", "float32", "int32", "uint8", "bool", "complex64"]))
    shape = draw(st.lists(st.integers(0, 5), max_size=4))
    count = math.prod(shape)
    layout = draw(st.sampled_from(["contiguous", "transposed", "reversed", "padded"]))

    def listed(values: list[float]) -> str:
        return f"[{', '.join('.nan' if v != v else str(v).replace('inf', '.inf') for v in values)}]"

    pair = sorted(draw(st.lists(FINITE, min_size=2, max_size=2)))
    whole = sorted(draw(st.lists(st.integers(-100, 100), min_size=2, max_size=2)))
    specials = draw(st.lists(NUMBERS, max_size=min(count, 3)))
    end = f", specials: {listed(specials)}" if specials else ""
    data = draw(
        st.sampled_from(
            [
                "",
                f"data: {{uniform: {listed(pair)}{end}}}",
                f"data: {{normal: [{pair[0]}, {abs(pair[1])}]{end}}}",
                f"data: {{integers: {listed(list(whole))}{end}}}",
                f"data: {{choice: {listed(draw(st.lists(NUMBERS, min_size=1, max_size=4)))}{end}}}",
                f"data: {{permutation: []{end}}}",
                f"data: {listed(draw(st.lists(NUMBERS, min_size=count, max_size=count)) if count <= 24 else [])[1:-1] or 0}"
                if count == 1
                else f"data: {listed(draw(st.lists(NUMBERS, min_size=count, max_size=count)))}"
                if count <= 24
                else "data: 3",
            ]
        )
    )
    return draw(st.sampled_from([f"{{dtype: {dtype}, shape: {shape}, layout: {layout}, {data}}}", "null"]))


@settings(max_examples=400, deadline=None)
@given(
    tensors(),
    tensors(),
    st.none() | NUMBERS,
    st.booleans(),
    st.sampled_from(
        [
            "",
            "expect: {status: 161002}",
            "standard: {allclose: {rtol: 1e-3, atol: 0}}",
            "seed: 4",
            "product: a3",
        ]
    ),
)
def test_a_case_that_options_can_say_is_the_same_again(
    x: str, dy: str, eps: float | None, short: bool, more: str
) -> None:
    attrs = (
        "" if eps is None else f"attrs: {{eps: {'.nan' if eps != eps else str(eps).replace('inf', '.inf')}}}"
    )
    body = ", ".join(
        filter(
            None, [attrs, "dtype: float16, shape: [2, 3]" if short else "", more.replace("a3", "atlas_a3")]
        )
    )
    (case,) = cases(f"op: logit_grad\ncases: [{{inputs: {{x: {x}, dy: {dy}}}, {body}}}]")
    words = inline.format(case)
    literal = [
        v
        for s in case.arguments.values()
        if isinstance(s, TensorSpec) and isinstance(s.data, Values)
        for v in s.data.values
    ]
    if words is None:
        assert len(literal) > 16
        return
    again = inline.parse(options(words), check_standard=accept)
    assert essence(again) == essence(case)
    assert inline.format(again) == words


def test_the_origin_of_a_standard_is_the_command_line() -> None:
    case = parse("--op logit_grad --dtype float32 --shape 1 --standard bits")
    assert case.standard is not None
    assert case.standard.origin == "the command line"
    assert dataclasses.replace(case, standard=None).standard is None
