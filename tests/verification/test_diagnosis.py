"""Every kind of wrong is named: outputs made wrong by hand, and the sentence that says how."""

from __future__ import annotations

import dataclasses
import re
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from ascend_opcli.model import (
    ULP_BINS,
    Attribute,
    Call,
    Outcome,
    StandardChoice,
    Tensor,
    TensorSpec,
)
from ascend_opcli.reference.evaluate import golden, host_result
from ascend_opcli.reference.resolve import resolve
from ascend_opcli.tensors.dtypes import numpy_dtype, round_to, widen
from ascend_opcli.tensors.layout import resolve as laid_out
from ascend_opcli.tensors.layout import view
from ascend_opcli.verification.comparison import Comparison
from ascend_opcli.verification.diagnosis import diagnose
from ascend_opcli.verification.diagnosis import table as rules
from ascend_opcli.verification.diagnosis.diagnose import NO_PATTERN, Diagnosis
from ascend_opcli.verification.earlier_outputs import EarlierOutput, EarlierOutputs
from ascend_opcli.verification.judge import judge_and_locate
from ascend_opcli.verification.standards.named import parse

RNG = np.random.default_rng(20)
EXACT = StandardChoice("exact")
SHAPE = (48, 50)


def values(shape: tuple[int, ...] = SHAPE) -> np.ndarray:
    """Goldens that nothing relates to each other."""
    return np.random.default_rng(5).normal(size=shape)


def said(
    got: np.ndarray,
    wanted: np.ndarray,
    *,
    dtype: str = "float32",
    standard: str = "ecosystem",
    **more: object,
) -> str:
    choice = parse(standard)
    return diagnose(Comparison("out", got, wanted, dtype, **more), choice).sentence  # type: ignore[arg-type]


def changed(
    how: Callable[[np.ndarray], None], wanted: np.ndarray | None = None, dtype: str = "float32"
) -> tuple[np.ndarray, np.ndarray]:
    """The right output with a change to its flattened elements, and its golden."""
    wanted = values() if wanted is None else wanted
    got = round_to(wanted, dtype).copy()
    how(got.reshape(-1))
    return got, wanted


def put(where: slice | np.ndarray, value: float) -> Callable[[np.ndarray], None]:
    def change(flat: np.ndarray) -> None:
        flat[where] = value

    return change


# --- where --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("where", "sentence"),
    [
        (
            slice(-8, None),
            "only the last block of 32 bytes, 8 elements of 2,400, is wrong, from element 2,392 on",
        ),
        (slice(-64, None), "only the last 64 of 2,400 elements are wrong, from element 2,336 on (256 bytes"),
        (slice(1024, None), "from element 1,024 on everything is wrong (1,376 of 2,400 elements)"),
        (slice(0, 100), "only the first 100 of 2,400 elements are wrong (400 bytes, 2 rows of 50)"),
        (
            slice(600, 700),
            "only elements 600 to 699 are wrong (100 of 2,400, 400 bytes; 600 is 12 rows of 50)",
        ),
        (slice(2399, None), "only the last of 2,400 elements, [47, 49], is wrong"),
        (slice(77, 78), "only one of 2,400 elements, [1, 27], is wrong"),
        (slice(0, None, 64), "the errors repeat with a period of 64 elements, 256 bytes, at offset 0"),
        (slice(7, None, 33), "the errors repeat with a period of 33 elements, at offset 7"),
        (
            slice(49, None, 50),
            "the errors repeat with a period of 50 elements, at offset 49: index 49 of axis 1"
            " (50 long, the last column)",
        ),
    ],
)
def test_the_place_of_the_errors(where: slice, sentence: str) -> None:
    assert said(*changed(put(where, 9.0))).startswith(sentence)


def test_a_channel_is_named_with_its_period() -> None:
    wanted = values((4, 6, 8, 5))
    got = round_to(wanted, "float32").copy()
    got[:, 2] = RNG.normal(size=(4, 8, 5))
    sentence = said(got, wanted)
    assert (
        "period of 240 elements, at offset 80, 40 each time: index 2 of axis 1 (6 long, channel 2)"
        in sentence
    )


def test_errors_of_one_core_that_come_again_with_its_tile() -> None:
    wanted = values((40 * 96,))

    def change(flat: np.ndarray) -> None:
        flat.reshape(40, 96)[:, 90:] += RNG.normal(size=(40, 6))

    assert "period of 96 elements, 384 bytes, at offset 90, 6 each time" in said(*changed(change, wanted))


def test_scattered_errors_that_begin_late() -> None:
    wrong = np.flatnonzero(RNG.random(40_000) < 0.3)
    wrong = wrong[wrong > 20_000]
    wanted = values((40_000,))

    def change(flat: np.ndarray) -> None:
        flat[wrong] += RNG.normal(size=len(wrong))

    assert f"no element before {wrong[0]:,} is wrong" in said(*changed(change, wanted))


@pytest.mark.parametrize(
    ("special", "words"),
    [(np.nan, "x = NaN"), (0.0, "x = 0"), (-np.inf, "x = -Inf"), (1.0, "x = 1")],
)
def test_a_value_of_an_input(special: float, words: str) -> None:
    x = values().astype(np.float32)
    x.reshape(-1)[[3, 700, 1801]] = special
    got, wanted = changed(lambda flat: flat.__iadd__(0))
    got[x == special if special == special else np.isnan(x)] += RNG.normal(size=3).astype(np.float32)
    assert f"exactly the elements that have {words} are wrong (3)" in said(got, wanted, inputs={"x": x})


def test_a_range_of_an_input() -> None:
    x = values().astype(np.float32)
    got, wanted = changed(lambda flat: None, values() * 2)
    high = x > 1
    got[high] += RNG.normal(size=int(high.sum())).astype(np.float32)
    sentence = said(got, wanted, inputs={"x": x})
    assert sentence == f"exactly the elements that have x >= 1 are wrong ({int(high.sum())})"


# --- what ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("factor", "words"),
    [(2, "got is 2 x the golden"), (-1, "got is the golden with its sign flipped"), (0.37, "got is 0.37 x")],
)
def test_a_scale(factor: float, words: str) -> None:
    wanted = values()
    sentence = said((wanted * factor).astype(np.float32), wanted)
    assert sentence.startswith(words)
    assert re.search(r", in all 2,(400|3\d\d) wrong elements$", sentence)


def test_an_offset() -> None:
    wanted = np.arange(100)
    got = (wanted + 3).astype(np.int32)
    assert said(got, wanted, dtype="int32", standard="exact").startswith("got is the golden + 3")
    wanted = values()
    assert said((wanted + 0.5).astype(np.float32), wanted).startswith("got is the golden + 0.5")


def test_one_value() -> None:
    wanted = values()
    assert said(np.zeros(SHAPE, np.float32), wanted) == "the whole output is 0"
    assert "got is 9 in all of them" in said(*changed(put(slice(-64, None), 9.0)))


def test_one_value_where_the_goldens_do_not_vary() -> None:
    wanted = np.full(SHAPE, 1.5)
    assert (
        said(np.full(SHAPE, 3.0, np.float32), wanted) == "got is 2 x the golden, in all 2,400 wrong elements"
    )
    assert said(np.full(SHAPE, 1.4871, np.float32), wanted) == "the whole output is 1.4871"


def test_an_input_handed_through() -> None:
    wanted, x = values(), np.random.default_rng(9).normal(size=SHAPE).astype(np.float32)
    assert said(x.copy(), wanted, inputs={"x": x}).startswith("got is the input x, unchanged")


@pytest.mark.parametrize("shift", [1, 50, 600])
def test_values_of_another_place(shift: int) -> None:
    def change(flat: np.ndarray) -> None:
        flat[shift : 2 * shift + 64] = flat.copy()[: shift + 64]

    sentence = said(*changed(change))
    assert f"got is the golden of the place {shift:,} element" in sentence
    assert "before it" in sentence


def test_a_transposed_output() -> None:
    wanted = values((40, 40))
    sentence = said(wanted.T.astype(np.float32).copy(), wanted)
    assert sentence == "got is the golden with the axes 0 and 1 exchanged: written transposed"


def test_not_written() -> None:
    got, wanted = changed(put(slice(None), 0.0))
    written = np.zeros(SHAPE, bool)
    sentence = said(got, wanted, written=written)
    assert sentence == "the kernel wrote nothing: the whole output is as it was before the call"
    got, wanted = changed(put(slice(-100, None), 0.0))
    written[:-2] = True
    sentence = said(got, wanted, written=written)
    assert sentence.startswith("only the last 100 of 2,400 elements are wrong")
    assert sentence.endswith("the kernel did not write all of them")


def test_the_poison_where_nobody_kept_a_mask() -> None:
    def change(flat: np.ndarray) -> None:
        flat[-64:].view(np.uint8)[:] = 0xA5

    assert "got is the poison 0xA5 of before the call, in all of them: not written, or added onto it" in said(
        *changed(change)
    )


OLD = np.random.default_rng(8).normal(size=SHAPE).astype(np.float32)
STALE = "got is what the previous call left in out, in all of them: stale"


def stale_of(left: EarlierOutput) -> str:
    """Of a call that did not write its rows from 20 on."""
    got, wanted = changed(lambda flat: None)
    got[20:] = left.output[20:]
    return said(got, wanted, earlier=(left,))


def test_an_earlier_call() -> None:
    assert stale_of(EarlierOutput(OLD, OLD)).endswith(STALE)
    # As right as a kernel is.
    noise = 1 + np.random.default_rng(1).uniform(-1e-6, 1e-6, size=SHAPE)
    assert stale_of(EarlierOutput(OLD, OLD * noise)).endswith(STALE)
    got, wanted = changed(lambda flat: None)
    got[20:] = OLD[20:]
    newer = np.zeros(SHAPE, np.float32)
    sentence = said(got, wanted, earlier=(EarlierOutput(newer, newer), EarlierOutput(OLD, OLD)))
    assert "got is what an earlier call (2 calls before) left in out" in sentence


def test_what_was_wrong_in_the_earlier_call_is_not_stale() -> None:
    own = OLD.copy()
    own[:20] += 1
    assert stale_of(EarlierOutput(OLD, own)).endswith(STALE)
    own[20:34] += 1
    assert "stale" not in stale_of(EarlierOutput(OLD, own))
    assert "stale" not in stale_of(EarlierOutput(OLD, OLD + 1))
    assert "stale" not in stale_of(EarlierOutput(OLD, values()))
    assert "stale" not in stale_of(EarlierOutput(OLD, np.full(SHAPE, np.nan)))


FAULTS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "scaled": lambda y: y * 1.01,
    "barely scaled": lambda y: y * (1 + 1e-6),
    "twice": lambda y: y * 2,
    "sign": lambda y: -y,
    "noise": lambda y: y + np.random.default_rng(1).normal(size=y.shape),
    "tail": lambda y: np.where(np.arange(y.size).reshape(y.shape) >= y.size - 64, y + 3.7, y),
    "zeros": lambda y: 0 * y,
}


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("again", [0, 7, SHAPE[1]], ids=["the same call", "another", "rows moved"])
@pytest.mark.parametrize("standard", ["ecosystem", "exact"])
def test_a_kernel_that_is_wrong_twice_in_the_same_way_leaves_nothing_stale(
    fault: str, again: int, standard: str
) -> None:
    wanted = values()
    other = np.roll(wanted, again)
    left = EarlierOutput(FAULTS[fault](wanted).astype(np.float32), wanted)
    sentence = said(FAULTS[fault](other).astype(np.float32), other, standard=standard, earlier=(left,))
    assert sentence or fault == "barely scaled"
    assert "stale" not in sentence


def test_another_explanation_goes_before_a_stale_one() -> None:
    """The earlier call had twice the scale, and was right."""
    wanted = values()
    for factor, words in ((2.0, "got is 2 x the golden"), (-1.0, "sign flipped")):
        old = (factor * wanted).astype(np.float32)
        assert words in said(old, wanted, earlier=(EarlierOutput(old, factor * wanted),))


def kept(earlier: EarlierOutputs, operator: str, array: np.ndarray) -> None:
    earlier.add(operator, Outcome("host", outputs={"out": array}), {"out": array})


def test_only_so_many_small_outputs_of_earlier_calls_are_kept() -> None:
    earlier, made = EarlierOutputs(), [np.full(4, n, np.float32) for n in range(5)]
    for array in made:
        kept(earlier, "aclnnA", array)
    found = earlier.outputs("aclnnA", "out", "float32")
    assert [left.output[0] for left in found] == [4, 3]
    assert found[0].output is made[4]
    kept(earlier, "aclnnB", np.zeros(1 << 20, np.float32))
    assert earlier.outputs("aclnnB", "out", "float32") == ()
    for n in range(100):
        kept(earlier, f"aclnn{n}", np.zeros(1, np.float32))
    assert earlier.outputs("aclnnA", "out", "float32") == ()


def test_an_output_whose_golden_is_not_known_is_not_kept() -> None:
    earlier, outcome = EarlierOutputs(), Outcome("host", outputs={"out": np.ones(4, np.float32)})
    for goldens in ({}, {"out": None}, {"out": np.ones(5)}, {"out": np.ones(1 << 18)}):
        earlier.add("aclnnA", outcome, goldens)
    assert earlier.outputs("aclnnA", "out", "float32") == ()


# --- NaN, Inf, subnormal numbers ----------------------------------------------------------------------------------


def special_case(
    golden_value: float, got_value: float, dtype: str = "float32", standard: str = "exact"
) -> str:
    wanted = values()
    wanted[5:9, 7] = golden_value
    got = round_to(wanted, dtype).copy()
    got[5:9, 7] = got_value
    return said(got, wanted, dtype=dtype, standard=standard)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((np.nan, 0.0), "got is 0 where the golden is NaN"),
        ((np.inf, 65504.0, "float16"), "got is the largest finite number (65,504) where the golden is Inf"),
        ((1e9, 65504.0, "float16"), "got is the largest finite number (65,504) where the golden is Inf"),
        ((-np.inf, 4.0), "got is 4 where the golden is Inf"),
        ((3.0, np.nan), "got is NaN where the golden is a number"),
        ((np.inf, np.nan), "got is NaN where the golden is Inf"),
        ((3e4, np.inf), "got is Inf where the golden is finite (30,000 in size or more)"),
        ((1e-40, 0.0), "got is 0 where the golden is subnormal (below 1.17549e-38)"),
        ((1e-6, 0.0, "float16"), "got is 0 where the golden is subnormal (below 6.10352e-05)"),
        ((-0.0, 0.0, "float32", "bits"), "got is 0 where the golden is -0"),
    ],
)
def test_specials(arguments: tuple[float, float], words: str) -> None:
    assert words in special_case(*arguments)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize("size", [0.0, 1e-3, 1.0, 1e3])
def test_inf_from_small_goldens_has_no_cause(dtype: str, size: float) -> None:
    wanted = values() * size
    got = round_to(wanted, dtype).copy()
    got[5:9, 7] = np.inf
    sentence = said(got, wanted, dtype=dtype)
    assert "got is Inf where the golden is finite" in sentence
    assert "overflow" not in sentence
    assert "division" not in sentence


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_inf_next_to_the_largest_number_is_an_overflow(dtype: str) -> None:
    from ascend_opcli.tensors.dtypes import float_format

    wanted = values()
    wanted[5:9, 7] = float_format(dtype).largest * np.array([0.5, 0.9, -0.25, 0.99])
    got = round_to(wanted, dtype).copy()
    got[5:9, 7] = np.inf * np.sign(wanted[5:9, 7])
    assert said(got, wanted, dtype=dtype).endswith(": an overflow")


@pytest.mark.parametrize("dtype", ["bfloat16", "float32"])
def test_an_overflow_of_float16_is_one_where_everything_beyond_it_is_inf(dtype: str) -> None:
    wanted = values() * 6e4
    got = round_to(wanted, dtype).copy()
    beyond = np.abs(wanted) >= 65520
    got[beyond] = np.inf * np.sign(wanted[beyond])
    assert said(got, wanted, dtype=dtype).endswith(
        ": beyond the largest float16 (65,504), an overflow on the way"
    )
    # One that is right although it is larger: not because of float16.
    got[np.unravel_index(np.abs(wanted).argmax(), SHAPE)] = wanted.reshape(-1)[np.abs(wanted).argmax()]
    assert "overflow" not in said(got, wanted, dtype=dtype)


def test_an_overflow_on_the_way_is_one_where_the_reference_in_float16_has_it() -> None:
    call = elu((64, 64), "float16", alpha=0.01, scale=1.0, inputScale=1.5)
    g, x = (view(call.arguments[n]) for n in ("gradOutput", "selfOrResult"))  # type: ignore[arg-type]
    # gradOutput * inputScale is beyond float16; times alpha and the exponential the result is below 1,000.
    g[:, :4], x[:, :4] = 5e4, -0.1
    there = np.zeros(g.shape, bool)
    there[:, :4] = True
    words = "got is Inf where the golden is finite (645"
    sentence = of_elu(call, call, lambda got: np.where(there, np.float16(np.inf), got))
    assert words in sentence
    assert sentence.endswith(": an overflow, as computing in float16 throughout gives there")
    # Inf elsewhere is not explained by that.
    there[:, :4], there[:, 10:14] = False, True
    assert "overflow" not in of_elu(call, call, lambda got: np.where(there, np.float16(np.inf), got))


def test_a_division_by_zero_is_one_where_an_input_is_0_only_there() -> None:
    x = values().astype(np.float32)
    got, wanted = changed(lambda flat: None)
    got[3, 5:25] = np.inf
    assert "division" not in said(got, wanted, inputs={"x": x})
    x[3, 5:25] = 0
    assert "and x is 0 there: a division by zero" in said(got, wanted, inputs={"x": x})
    x[10:] = 0
    assert "division" not in said(got, wanted, inputs={"x": x})


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_an_inf_of_the_other_sign_is_a_flipped_sign(dtype: str) -> None:
    wanted = values()
    wanted[5:9, 7] = [np.inf, -np.inf, np.inf, np.inf]
    got = round_to(wanted, dtype).copy()
    got[5:9, 7] *= -1
    assert "got is an Inf of the other sign" in said(got, wanted, dtype=dtype)
    assert "sign flipped" in said(-round_to(wanted, dtype), wanted, dtype=dtype)


# --- complex numbers and integers -----------------------------------------------------------------------------------


def complex_values() -> np.ndarray:
    rng = np.random.default_rng(6)
    return rng.normal(size=SHAPE) + 1j * rng.normal(size=SHAPE)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda y: -y, "got is the golden with its sign flipped"),
        (lambda y: 2 * y, "got is 2 x the golden"),
        (lambda y: 0.37 * y, "got is 0.37 x the golden"),
        (lambda y: y / 4, "got is 0.25 x (1/4 of) the golden"),
        (lambda y: 1j * y, "got is (0+1j) x the golden"),
        (lambda y: (1 - 2j) * y, "got is (1-2j) x the golden"),
        (np.conj, "got is the complex conjugate of the golden"),
    ],
)
def test_relations_of_complex_numbers(
    dtype: str, change: Callable[[np.ndarray], np.ndarray], words: str
) -> None:
    wanted = complex_values()
    assert said(change(wanted).astype(dtype), wanted, dtype=dtype).startswith(words)


@given(st.integers(0, 2**32 - 1), st.integers(1, 6))
def test_complex_noise_has_no_relation(seed: int, count: int) -> None:
    rng = np.random.default_rng(seed)
    wanted = rng.normal(size=count) + 1j * rng.normal(size=count)
    noise = rng.normal(size=count) + 1j * rng.normal(size=count)
    sentence = said((wanted + noise * 3).astype(np.complex64), wanted, dtype="complex64")
    assert sentence.startswith("no simple pattern"), sentence


@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "uint8"])
def test_saturation_of_integers(dtype: str) -> None:
    info = np.iinfo(dtype)
    exact = np.random.default_rng(4).integers(int(info.min * 1.5), int(info.max * 1.5), size=4000)
    wrapped, saturated = exact.astype(dtype), np.clip(exact, info.min, info.max).astype(dtype)
    sentence = said(saturated, wrapped, dtype=dtype, standard="exact")
    assert f", a limit of {dtype}, where the golden is another number" in sentence
    assert sentence.endswith(": saturated")
    # The golden lies beyond, and is expected as the limit: the output wrapped around.
    sentence = said(wrapped, exact.astype(np.float64), dtype=dtype, standard="exact")
    assert f"got is the golden wrapped around where that is beyond {dtype}" in sentence


def test_a_constant_limit_is_a_constant() -> None:
    wanted = np.random.default_rng(4).integers(-100, 100, size=400)
    assert (
        said(np.full(400, 127, np.int8), wanted, dtype="int8", standard="exact") == "the whole output is 127"
    )
    assert said(np.zeros(400, np.uint8), wanted % 7 + 1, dtype="uint8", standard="exact") == (
        "the whole output is 0"
    )


@given(st.integers(0, 2**32 - 1))
def test_random_integers_are_not_saturated(seed: int) -> None:
    rng = np.random.default_rng(seed)
    wanted, got = rng.integers(-128, 128, size=(2, 300))
    assert "limit" not in said(got.astype(np.int8), wanted, dtype="int8", standard="exact")


# --- noise --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
@pytest.mark.parametrize("most", [2, 5, 20])
def test_noise_of_a_few_ulp_is_said_with_its_size(dtype: str, most: int) -> None:
    wanted = widen(round_to(values(), dtype), np.float64)
    steps = np.random.default_rng(most).integers(-most, most + 1, size=SHAPE)
    near = round_to(wanted, dtype)
    bits = near.view(f"i{near.itemsize}")
    got = (bits + steps).astype(bits.dtype).view(near.dtype)
    sentence = said(got, wanted, dtype=dtype, standard="exact")
    found = re.match(
        r"got differs from the golden by up to ([\d.]+) ulp, both ways, in all [\d,]+ wrong", sentence
    )
    assert found, sentence
    # A step across a power of two is half or twice as long.
    assert most <= float(found[1]) <= 2 * most


def test_noise_towards_zero_says_its_way_and_larger_noise_is_no_rounding() -> None:
    wanted = round_to(values(), "float32")
    steps = np.random.default_rng(1).integers(1, 9, size=SHAPE).astype(np.int32)
    got = (wanted.view(np.int32) - steps).view(np.float32)
    assert "ulp, always towards zero, in" in said(got, wanted.astype(np.float64), standard="exact")
    got = (wanted.view(np.int32) - 100 * steps * (-1) ** steps).view(np.float32)
    assert said(got, wanted.astype(np.float64), standard="exact").startswith(NO_PATTERN)


# --- rounding -----------------------------------------------------------------------------------------------------


def cut(exact: np.ndarray, dtype: str) -> np.ndarray:
    near = round_to(exact, dtype)
    bits = near.view(f"u{near.itemsize}")
    return (bits - (np.abs(widen(near, np.float64)) > np.abs(exact)).astype(bits.dtype)).view(near.dtype)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_a_standard_finer_than_the_dtype_is_named_not_the_kernel(dtype: str) -> None:
    """Half a step of bfloat16 is 2^-9 of a value, of float16 2^-12: nothing in these dtypes is within 1e-5."""
    wanted = values()
    fine = "allclose:rtol=1e-5,atol=0"
    sentence = said(round_to(wanted, dtype), wanted, dtype=dtype, standard=fine)
    assert sentence.startswith(f"got is the golden rounded to {dtype} in ")
    assert sentence.endswith("wrong elements: the standard allows less than that rounding")
    # A kernel that is wrong beyond its rounding is not excused.
    off = said(round_to(wanted * 1.5, dtype), wanted, dtype=dtype, standard=fine)
    assert "allows less than" not in off


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_truncation(dtype: str) -> None:
    wanted = values()
    sentence = said(cut(wanted, dtype), wanted, dtype=dtype, standard="exact")
    assert sentence == "results are truncated instead of rounded to nearest, ties to even"


def test_half_up() -> None:
    wanted = 1 + np.arange(1, 4001) / 2**12  # every fourth one lies half way
    got = (np.floor(wanted * 2**10 + 0.5) / 2**10).astype(np.float16)
    sentence = said(got, wanted, dtype="float16", standard="exact")
    assert (
        sentence
        == "results are rounded half away from zero (half up) instead of rounded to nearest, ties to even"
    )


@pytest.mark.parametrize("steps", [1, -3, 40])
def test_ulps_off(steps: int) -> None:
    wanted = values()
    got = (round_to(wanted, "float32").view(np.int32) + steps).view(np.float32)
    way = "further from" if steps > 0 else "nearer to"
    assert said(got, wanted, standard="exact") == (
        f"got is {abs(steps)} ulp {way} zero than the golden, in all 2,400 wrong elements"
    )


@pytest.mark.parametrize(
    ("through", "dtype"), [("float16", "float32"), ("bfloat16", "float32"), ("bfloat16", "float16")]
)
def test_a_narrower_dtype_on_the_way(through: str, dtype: str) -> None:
    wanted = values()
    got = round_to(widen(round_to(wanted, through), np.float64), dtype)
    assert (
        said(got, wanted, dtype=dtype, standard="exact")
        == f"got is the golden rounded to {through} on the way"
    )


def test_integers_through_float32() -> None:
    wanted = np.arange(2**24, 2**24 + 200)
    got = wanted.astype(np.float32).astype(np.int32)
    assert "rounded to float32 on the way" in said(got, wanted, dtype="int32", standard="exact")


def test_bits_that_are_lost() -> None:
    wanted = values()
    got = (round_to(wanted, "float32").view(np.int32) & ~3).view(np.float32)
    assert said(got, wanted, standard="exact") == (
        "the last 2 of 24 bits of every significand are cut off: 22 bits are left"
    )


# --- the operator again ---------------------------------------------------------------------------------------------


def tensor(array: np.ndarray, dtype: str, layout: str = "contiguous", offset: int = 0) -> Tensor:
    strides, offset, storage, word = laid_out(array.shape, layout=layout, offset=offset)
    spec = TensorSpec(dtype, array.shape, None, strides, offset, storage, word)
    made = Tensor(spec, np.random.default_rng(3).normal(size=storage).astype(numpy_dtype(dtype)))
    view(made)[...] = round_to(array, dtype)
    return made


def elu(
    shape: tuple[int, ...] = SHAPE, dtype: str = "float32", layout: str = "contiguous", **attributes: object
) -> Call:
    given = {"alpha": 1.5, "scale": 1.25, "inputScale": 0.75, "isResult": False, **attributes}
    rng = np.random.default_rng(1)
    arguments = {
        "gradOutput": tensor(rng.normal(size=shape), dtype, layout),
        **{n: Attribute(v) for n, v in given.items()},  # type: ignore[arg-type]
        "selfOrResult": tensor(rng.normal(size=shape), dtype),
    }
    return Call(
        "aclnnEluBackward", "atlas_a2", arguments, {"gradInput": tensor(np.zeros(shape), dtype).spec}, ""
    )


def of_elu(call: Call, wrong: Call, change: Callable[[np.ndarray], np.ndarray] = lambda a: a) -> str:
    operator = resolve("elu_backward")
    got = change(np.asarray(host_result(operator, wrong)["gradInput"]))
    inputs = {n: view(b) for n, b in call.arguments.items() if isinstance(b, Tensor)}
    return diagnose(
        Comparison(
            "gradInput",
            got,
            np.asarray(golden(operator, call).outputs["gradInput"]),
            call.outputs["gradInput"].dtype,
            inputs=inputs,
            operator=operator,
            call=call,
        ),
        StandardChoice("ulp", {"max": 4}),
    ).sentence


@pytest.mark.parametrize("shape", [SHAPE, (300, 301)])
@pytest.mark.parametrize("name", ["alpha", "scale", "inputScale"])
def test_an_attribute_that_is_ignored(name: str, shape: tuple[int, ...]) -> None:
    call = elu(shape)
    assert of_elu(call, elu(shape, **{name: 1.0})) == (
        f"got is what {name} = 1, its default, gives: {name} = {call.arguments[name].value} looks ignored"  # type: ignore[union-attr]
    )


@pytest.mark.parametrize(
    ("right", "wrong", "words"),
    [
        (
            {"isResult": True},
            {"isResult": False},
            "isResult = false, its default, gives: isResult = true looks",
        ),
        ({"isResult": False}, {"isResult": True}, "isResult = true gives, not false"),
        ({"inputScale": -0.5}, {"inputScale": 0.5}, "inputScale = 0.5, its magnitude, gives, not -0.5"),
        (
            {"alpha": 0.3},
            {"alpha": float(np.float16(0.3))},
            "alpha = 0.300049, rounded to float16, gives, not 0.3",
        ),
        ({"alpha": 1.5}, {"alpha": -1.5}, "alpha = -1.5, with its sign flipped, gives, not 1.5"),
    ],
)
def test_an_attribute_that_is_misread(right: dict[str, object], wrong: dict[str, object], words: str) -> None:
    assert words in of_elu(elu(**right), elu(**wrong))


@pytest.mark.parametrize("layout", ["transposed", "padded"])
def test_strides_that_are_ignored(layout: str) -> None:
    call = elu(layout=layout)
    bound = call.arguments["gradOutput"]
    assert isinstance(bound, Tensor)
    flat = tensor(bound.storage[: bound.spec.count].reshape(SHAPE), "float32")
    wrong = dataclasses.replace(call, arguments={**call.arguments, "gradOutput": flat})
    assert of_elu(call, wrong) == (
        "got is what gradOutput gives when it is read as contiguous: its strides look ignored"
    )


def test_a_transposed_input() -> None:
    call = elu((40, 40))
    bound = call.arguments["selfOrResult"]
    assert isinstance(bound, Tensor)
    turned = tensor(np.ascontiguousarray(view(bound).T), "float32")
    wrong = dataclasses.replace(call, arguments={**call.arguments, "selfOrResult": turned})
    assert of_elu(call, wrong).startswith("got is what selfOrResult gives when it is read")


def test_inputs_that_are_exchanged_or_ignored() -> None:
    call = elu()
    a, b = call.arguments["gradOutput"], call.arguments["selfOrResult"]
    wrong = dataclasses.replace(call, arguments={**call.arguments, "gradOutput": b, "selfOrResult": a})
    assert of_elu(call, wrong) == "got is what gradOutput and selfOrResult give when they are exchanged"
    ones = tensor(np.ones(SHAPE), "float32")
    wrong = dataclasses.replace(call, arguments={**call.arguments, "gradOutput": ones})
    assert "gradOutput = 1 everywhere gives: gradOutput looks ignored" in of_elu(call, wrong)


def test_a_branch_of_the_operator() -> None:
    call = elu()
    x = view(call.arguments["selfOrResult"])  # type: ignore[arg-type]
    noise = RNG.normal(size=SHAPE).astype(np.float32)
    sentence = of_elu(call, call, lambda got: np.where(x <= 0, got + noise, got))
    assert sentence == f"exactly the elements that have selfOrResult <= 0 are wrong ({int((x <= 0).sum()):,})"


def test_arithmetic_in_a_narrower_dtype() -> None:
    call = elu((200, 50), "float16")
    operator = resolve("elu_backward")

    def narrow(**given: np.ndarray) -> np.ndarray:
        g, x = given["gradOutput"].astype(np.float16), given["selfOrResult"].astype(np.float16)
        k, s = np.float16(given["alpha"]) * np.float16(given["scale"]), np.float16(given["inputScale"])
        below = g * s * k * np.exp(x * s)
        return np.where(x <= 0, below, g * np.float16(given["scale"])).astype(np.float32)

    got = host_result(dataclasses.replace(operator, reference=narrow), call)["gradInput"]
    found = diagnose(
        Comparison(
            "gradInput",
            np.asarray(got),
            np.asarray(golden(operator, call).outputs["gradInput"]),
            "float16",
            operator=operator,
            call=call,
        ),
        StandardChoice("ulp", {"max": 0.51}),
    )
    assert "computing in float16 throughout" in found.sentence


# --- no pattern, and no harm ----------------------------------------------------------------------------------------


def test_noise_has_no_pattern() -> None:
    noise = RNG.normal(size=SHAPE)
    got = (values() + np.where(RNG.random(SHAPE) < 0.4, noise, 0)).astype(np.float32)
    assert said(got, values()).startswith(NO_PATTERN)


def test_a_rule_that_fails_is_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    module = sys.modules[diagnose.__module__]

    def broken(_evidence: object) -> None:
        raise MemoryError

    monkeypatch.setattr(module, "WHAT", (broken, *rules.WHAT))
    monkeypatch.setattr(module, "WHERE", (broken, *rules.WHERE))
    assert said(*changed(put(slice(-64, None), 0.0))).startswith("only the last 64")


@given(
    st.sampled_from(
        ["float16", "bfloat16", "float32", "float64", "int32", "uint8", "bool", "complex64", "float8_e5m2"]
    ),
    arrays(np.uint8, st.sampled_from([(0,), (8,), (16,), (48,), (400,)])),
    arrays(np.float64, st.sampled_from([(), (1,), (3,), (2, 3), (5, 10), (0, 4)])),
    st.sampled_from(["ecosystem", "exact", "bits", "allclose", "cosine", "md5", "msopst"]),
)
def test_it_never_raises(dtype: str, octets: np.ndarray, wanted: np.ndarray, standard: str) -> None:
    size = numpy_dtype(dtype).itemsize
    raw = np.resize(octets if octets.size else np.zeros(1, np.uint8), wanted.size * size)
    got = (raw & 1 if dtype == "bool" else raw).view(numpy_dtype(dtype)).reshape(wanted.shape)
    found = diagnose(Comparison("out", got, wanted, dtype, inputs={"x": got}), StandardChoice(standard))
    assert isinstance(found, Diagnosis)
    assert not found.strip or sum(found.strip) <= wanted.size
    assert not found.histogram or len(found.histogram) == len(ULP_BINS) + 2


def test_what_cannot_be_compared_has_no_diagnosis() -> None:
    assert diagnose(Comparison("out", np.zeros(3), np.zeros(4), "float64"), EXACT) == Diagnosis()
    assert (
        diagnose(Comparison("out", np.zeros(3), np.zeros(3), "float64"), StandardChoice("no")) == Diagnosis()
    )


def test_the_strip_and_the_histogram_count_the_wrong_elements() -> None:
    got, wanted = changed(put(slice(-80, None), np.nan))
    found = diagnose(Comparison("out", got, wanted, "float32"), EXACT)
    assert len(found.strip) == 60
    assert found.strip == (0,) * 58 + (40, 40)
    assert found.histogram == (0,) * 10 + (80,)


def test_ten_million_elements_take_about_a_second_and_bounded_memory() -> None:
    wanted = np.random.default_rng(2).normal(size=10_000_000)
    got = (wanted * 2).astype(np.float32)
    begun = time.process_time()
    assert said(got, wanted).startswith("got is 2 x the golden")
    assert time.process_time() - begun < 5  # 0.2 s where nothing else runs
    tracemalloc.start()
    said(got, wanted)
    assert tracemalloc.get_traced_memory()[1] < 64e6
    tracemalloc.stop()


def test_a_passing_run_neither_loads_nor_computes_it() -> None:
    script = (
        "import sys\n"
        "sys.argv = 'opcli run --op logit_grad --dtype float32 --shape 64 --backend host'.split()\n"
        "from ascend_opcli.cli import main\n"
        "try:\n    main()\nexcept SystemExit as stop:\n    assert not stop.code, stop.code\n"
        "loaded = [m for m in sys.modules if 'verification.diagnosis' in m]\n"
        "sys.exit(f'loaded: {loaded}' if loaded else 0)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr + done.stdout


# --- what the judge hands over ----------------------------------------------------------------------------------------


@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from(["float16", "bfloat16", "float32", "float64", "int32", "complex64"]),
    st.sampled_from(["ecosystem", "exact", "bits", "allclose", "msopst", "cosine"]),
    st.sampled_from([1, 3, 100, 4096, 4097, 6000]),
    st.booleans(),
)
@hypothesis_settings(max_examples=60)
def test_the_places_that_the_judge_kept_are_those_that_a_diagnosis_finds(
    seed: int, dtype: str, standard: str, count: int, turned: bool
) -> None:
    rng = np.random.default_rng(seed)
    wanted = rng.normal(size=(100, 90)) * 50
    if turned:
        wanted = wanted.T
    got = round_to(wanted + 0j if dtype == "complex64" else wanted, dtype).copy()
    places = rng.choice(got.size, count, replace=False)
    got.reshape(-1)[places] = rng.integers(1, 99, size=count)
    if dtype == "int32":
        wanted = np.rint(wanted)
    choice = StandardChoice(standard)
    with np.errstate(all="ignore"):
        report, failing = judge_and_locate(Comparison("out", got, wanted, dtype), choice, threads=2)
    if report.passed:
        return
    over = report.census.over
    assert (failing is None) == (over > 4096)
    if failing is not None:
        assert len(failing) == over
        assert (np.diff(failing) > 0).all()
        assert set(failing.tolist()) <= set(places.tolist())
    plain = diagnose(Comparison("out", got, wanted, dtype), choice)
    assert diagnose(Comparison("out", got, wanted, dtype), choice, failing=failing) == plain


def test_few_wrong_elements_are_not_looked_for_again(monkeypatch: pytest.MonkeyPatch) -> None:
    module = sys.modules[diagnose.__module__]
    walked: list[int] = []

    def walk(comparison: Comparison, *rest: object) -> object:
        walked.append(comparison.got.size)
        return real(comparison, *rest)

    real = module.find_wrong
    monkeypatch.setattr(module, "find_wrong", walk)
    got, wanted = changed(put(slice(-8, None), 9.0))
    choice = StandardChoice("ecosystem")
    report, failing = judge_and_locate(Comparison("out", got, wanted, "float32"), choice)
    assert report.census.over == 8
    found = diagnose(Comparison("out", got, wanted, "float32"), choice, failing=failing)
    assert found.sentence.startswith("only the last block of 32 bytes")
    assert not walked
    # Of a standard that does not say which elements are wrong, they are.
    diagnose(Comparison("out", got, wanted, "float32"), StandardChoice("cosine"), failing=failing)
    assert walked == [got.size]
