"""The standards: their numbers by dtype, how they are chosen and what a wrong choice is told."""

from __future__ import annotations

import numpy as np
import pytest

from ascend_opcli.model import StandardChoice
from ascend_opcli.tensors.dtypes import round_to
from ascend_opcli.verification.comparison import Comparison
from ascend_opcli.verification.judge import judge
from ascend_opcli.verification.standards.named import STANDARDS, check, default_for, make, numbers_of, parse


def choice(name: str, **numbers: float) -> StandardChoice:
    return StandardChoice(name, numbers)


@pytest.mark.parametrize(
    ("dtype", "rtol", "atol", "limit"),
    [
        ("float16", 2**-9, 2**-9, 0.1),
        ("bfloat16", 2**-6, 2**-6, 1),
        ("float32", 2**-10, 2**-16, 0.01),
        ("float64", 2**-10, 2**-16, 0.01),
        ("complex64", 2**-10, 2**-16, 0.01),
        ("complex128", 2**-10, 2**-16, 0.01),
        ("float8_e4m3fn", 2**-2, 2**-4, 1),
        ("float8_e5m2", 2**-1, 2**-3, 0.1),
    ],
)
def test_ecosystem_has_the_published_numbers(dtype: str, rtol: float, atol: float, limit: float) -> None:
    standard = make(choice("ecosystem"), dtype)
    assert (standard.rtol, standard.atol, standard.limit) == (rtol, atol, limit)
    assert (standard.matched, standard.limit_ulps, standard.strict) == (0.99, 32, False)


@pytest.mark.parametrize(
    ("dtype", "threshold"),
    [
        ("float16", 2**-10),
        ("bfloat16", 2**-7),
        ("float32", 2**-13),
        ("float64", 2**-13),
        ("float8_e4m3fn", 2**-3),
        ("float8_e5m2", 2**-2),
    ],
)
def test_the_older_ecosystem_standard_has_the_published_numbers(dtype: str, threshold: float) -> None:
    standard = make(choice("ecosystem-2026-04"), dtype)
    assert standard.mean_limit == threshold
    assert standard.rtol == 10 * threshold
    assert standard.mean_epsilon == 1e-7
    assert standard.strict


def test_the_rule_says_its_version_and_its_numbers() -> None:
    assert make(choice("ecosystem"), "float32").rule == (
        "ecosystem 2026-07: |got - golden| <= 2^-10 * |golden| + 2^-16 for 99 % of the elements; "
        "every element within 0.01 or 32 ulp"
    )
    assert "float64 has no row: the float32 row" in make(choice("ecosystem"), "float64").rule
    assert "real and imaginary part" in make(choice("ecosystem"), "complex64").rule
    assert "mean < 2^-13" in make(choice("ecosystem-2026-04"), "float32").rule
    assert make(choice("ulp", max=2.5), "float16").rule == (
        "|got - golden| <= 2.5 ulp of float16 for every element"
    )
    assert make(choice("allclose"), "float32").rule == (
        "|got - golden| <= 1e-05 * |golden| + 1e-08 for every element"
    )


def test_ecosystem_on_integers_is_equality_and_says_why() -> None:
    standard = make(choice("ecosystem"), "int32")
    assert standard.equality
    assert "does not cover int32" in standard.rule


def test_given_numbers_replace_the_published_ones() -> None:
    standard = make(choice("ecosystem", rtol=0.5, share=1), "float32")
    assert (standard.rtol, standard.atol, standard.matched) == (0.5, 2**-16, 1.0)


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        (choice("ecosytem"), "did you mean 'ecosystem'"),
        (choice("qqqq"), "known are ecosystem"),
        (choice("ulp", mx=2), "did you mean 'max'"),
        (choice("allclose", rtl=2), "did you mean 'rtol'"),
        (choice("exact", max=2), "it takes none"),
        (choice("ulp", max=-1), "not negative"),
        (choice("ulp", max=float("nan")), "finite"),
        (choice("allclose", rtol=float("inf")), "finite"),
        (choice("ecosystem", share=1.5), "(0, 1]"),
        (choice("ulp", max=True), "must be a number"),
    ],
)
def test_a_wrong_choice_is_one_sentence(wrong: StandardChoice, told: str) -> None:
    with pytest.raises(ValueError, match=r".") as caught:
        make(wrong, "float32")
    assert told in str(caught.value)
    assert "\n" not in str(caught.value)


def test_parse_reads_what_a_command_line_has() -> None:
    assert parse("ecosystem") == StandardChoice("ecosystem", {}, "command line")
    assert parse("ulp:max=2").numbers == {"max": 2.0}
    assert parse(" allclose: rtol=1e-3 , atol=2^-16").numbers == {"rtol": 1e-3, "atol": 2**-16}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("ulp:2", "name=number"),
        ("ulp:max=two", "must be a number"),
        ("ulp:max=2^x", "must be a number"),
        ("ulp:max=1,max=2", "twice"),
        ("upl", "did you mean 'ulp'"),
        ("", "unknown standard"),
        ("ulp:maximum=2", "did you mean 'max'"),
    ],
)
def test_parse_says_what_is_wrong(text: str, told: str) -> None:
    with pytest.raises(ValueError, match=r".") as caught:
        parse(text)
    assert told in str(caught.value)


def test_default_by_dtype() -> None:
    for dtype in ("float16", "bfloat16", "float32", "float64", "complex64"):
        assert default_for(dtype) == StandardChoice("ecosystem", {}, "dtype table")
    for dtype in ("int8", "int64", "uint8", "bool"):
        assert default_for(dtype) == StandardChoice("exact", {}, "dtype table")


def test_every_standard_can_be_made_for_every_dtype() -> None:
    from ascend_opcli.tensors.dtypes import DTYPES

    for name in STANDARDS:
        assert isinstance(numbers_of(name), tuple)
        for dtype in DTYPES:
            assert make(choice(name), dtype).rule


def test_the_command_lines_form_in_a_file_is_told_the_files_form() -> None:
    with pytest.raises(ValueError, match=r"a mapping here: allclose: \{rtol: 1e-3, atol: 0\}"):
        check(StandardChoice("allclose:rtol=1e-3,atol=0"))


# --- what no rule may let pass ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", sorted(set(STANDARDS) - {"random", "dual"}))
@pytest.mark.parametrize("byte", [2, 255])
def test_a_byte_that_is_no_bool_equals_no_bool(name: str, byte: int) -> None:
    golden = np.array([True, False, True, True])
    got = np.array([1, 0, byte, 1], np.uint8).view(np.bool_)
    report = judge(Comparison("out", got, golden, "bool"), StandardChoice(name))
    assert not report.passed
    assert "1 of 4 elements differs" in report.reason
    assert judge(Comparison("out", golden, golden, "bool"), StandardChoice(name)).passed


@pytest.mark.parametrize(
    "text", ["ulp:max=1", "allclose:atol=1", "ratio:ptol=1", "msopst:t1=1,t2=1", "assert_close:rtol=1,atol=1"]
)
def test_a_tolerance_lets_no_wrong_bool_pass(text: str) -> None:
    golden = np.arange(16) % 3 == 0
    assert not judge(Comparison("out", ~golden, golden, "bool"), parse(text)).passed


@pytest.mark.parametrize(
    "text",
    [
        *(
            "cosine:max=1",
            "cosine:max=2",
            "torch_npu:prec=1",
            "torch_npu:prec16=1",
            "msopst:limit=1e9",
            "msopst:t1=1.1",
        ),
        *(
            "random:alpha=1e-300",
            "random:alpha=1",
            "ulp:max=1e300",
            "ecosystem:share=0",
            "dual:inf_nan_mode=0.5",
        ),
        *(
            "ecosystem-2026-04:threshold=1",
            "ecosystem-2026-04:ratio=1e9",
            "single:mare_ratio=1e9",
            "ratio:ptol=1.5",
        ),
    ],
)
def test_a_number_with_which_a_rule_means_nothing_is_refused(text: str) -> None:
    name, number = text.partition("=")[0].split(":")
    with pytest.raises(ValueError, match=f"'{number}' of standard '{name}'"):
        parse(text)


@pytest.mark.parametrize(
    ("text", "dtype", "told"),
    [
        ("allclose:atol=1e39", "float32", "any number"),
        ("ecosystem:atol=1e39,limit=1e39", "float32", "any number"),
        ("ecosystem:limit=1e9", "float32", "any number in 0.01 of the elements"),
        ("ratio:ptol=1", "float16", "any number"),
        ("allclose:atol=300", "int8", "any number"),
        ("ulp:max=256", "int8", "any number"),
        ("allclose:rtol=1", "float32", "zeros"),
        ("ulp:max=300", "bfloat16", "zeros"),
        ("allclose:atol=1e39", "complex64", "any number"),
    ],
)
@pytest.mark.parametrize("size", [1, 3, 20])
def test_a_rule_that_nothing_could_have_failed_is_called_so(
    text: str, dtype: str, told: str, size: int
) -> None:
    golden = round_to(np.arange(1.0, size + 1), dtype)
    report = judge(Comparison("out", golden, golden, dtype), parse(text))
    assert report.passed
    assert told in report.weak
    usual = judge(Comparison("out", golden, golden, dtype), default_for(dtype))
    assert told not in usual.weak
