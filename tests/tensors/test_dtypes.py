"""Rounding, widening, spacing and names of dtypes, against exact arithmetic and values worked by hand."""

import math
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ascend_opcli.tensors.dtypes import (
    DTYPES,
    UnknownDType,
    canonical,
    dtype,
    float_format,
    name_of,
    numpy_dtype,
    round_to,
    spacing,
    widen,
)

NARROW = ["float16", "bfloat16", "float8_e5m2", "float8_e4m3fn"]


def rounded(value, name):
    """One number through round_to, as a Python float."""
    return float(round_to(np.array([value], np.float64), name).astype(np.float64)[0])


def nearest_even(value, name):
    """The number of the format that lies nearest, by rational arithmetic; inf beyond the range."""
    format = float_format(name)
    exact = abs(Fraction(value))
    if exact == 0:
        return 0.0
    exponent = max(math.frexp(value)[1] - 1, format.emin)
    step = Fraction(2) ** (exponent - format.mantissa)
    units = exact / step
    whole = math.floor(units)
    rest = units - whole
    if rest > Fraction(1, 2) or (rest == Fraction(1, 2) and whole % 2):
        whole += 1
    result = whole * step
    if result > Fraction(format.largest):
        return math.copysign(math.inf, value)
    return math.copysign(float(result), value)


def same(got, want, name):
    if name == "float8_e4m3fn" and math.isinf(want):
        return math.isnan(got)  # the format has no infinity
    return got == want


@pytest.mark.parametrize("name", NARROW)
@settings(max_examples=400, deadline=None)
@given(data=st.data())
def test_float64_is_rounded_once(name, data):
    value = data.draw(st.floats(allow_nan=False, allow_infinity=False))
    assert same(rounded(value, name), nearest_even(value, name), name)


@pytest.mark.parametrize("name", NARROW)
def test_close_to_every_tie(name):
    """Ties of the format, and values that float32 would turn into one."""
    width = 8 * dtype(name).itemsize
    bits = np.arange(2 ** (width - 1), dtype=f"u{width // 8}")
    with np.errstate(invalid="ignore"):
        finite = bits.view(numpy_dtype(name)).astype(np.float64)[:: 1 if width == 8 else 37]
    finite = finite[np.isfinite(finite)]
    ties = finite + spacing(finite, name) / 2
    ties = ties[ties > 0]
    values = np.concatenate([ties, ties * (1 + 2.0**-40), ties * (1 - 2.0**-40), -ties * (1 + 2.0**-50)])
    got = round_to(values, name).astype(np.float64)
    for value, mine in zip(values.tolist(), got.tolist(), strict=True):
        assert same(mine, nearest_even(value, name), name), value


@pytest.mark.parametrize(
    ("name", "value", "want"),
    [
        ("bfloat16", 1 + 2.0**-8, 1.0),  # tie, down to even
        ("bfloat16", 1 + 3 * 2.0**-8, 1 + 2.0**-6),  # tie, up to even
        ("bfloat16", 1 + 2.0**-8 + 2.0**-40, 1 + 2.0**-7),  # above the tie by less than float32 can see
        ("bfloat16", 1 + 3 * 2.0**-8 - 2.0**-40, 1 + 2.0**-7),
        ("bfloat16", 3.3961775292304957e38, math.inf),  # half way from the largest to 2**128
        ("bfloat16", 3.39e38, 3.3895313892515355e38),
        ("bfloat16", 2.0**-134, 0.0),  # half of the smallest subnormal
        ("bfloat16", 2.0**-134 + 2.0**-180, 2.0**-133),
        ("float16", 65519.99999999, 65504.0),
        ("float16", 65520.0, math.inf),
        ("float16", -65520.0, -math.inf),
        ("float16", 2.0**-25, 0.0),
        ("float16", 2.0**-25 * (1 + 2.0**-50), 2.0**-24),
        ("float16", 2049.0, 2048.0),
        ("float16", 2051.0, 2052.0),
        ("float32", 16777217.0, 16777216.0),
        ("float8_e5m2", 61440.0, math.inf),
        ("float8_e4m3fn", 464.0, 448.0),
    ],
)
def test_worked_by_hand(name, value, want):
    assert rounded(value, name) == want


@pytest.mark.parametrize("name", ["float32", "float16", "bfloat16"])
def test_integers_are_rounded_once(name):
    # 2**60 + 2**(60-m-1) + 1 lies above the tie by one, which float64 does not see.
    bits = float_format(name).mantissa
    value = 2**60 + 2 ** (59 - bits) + 1
    if name != "float16":
        for sign in (1, -1):
            got = round_to(np.array([sign * value], np.int64), name).astype(np.float64)[0]
            assert got == sign * (2**60 + 2 ** (60 - bits))
        got = round_to(np.array([value], np.uint64), name).astype(np.float64)[0]
        assert got == 2**60 + 2 ** (60 - bits)
    assert round_to(np.array([2049, -2051], np.int32), "float16").tolist() == [2048.0, -2052.0]


def test_into_integers():
    values = np.array([0.5, 1.5, 2.5, -0.5, 127.5, -128.6, 1e30, math.inf, -math.inf, math.nan])
    assert round_to(values, "int8").tolist() == [0, 2, 2, 0, 127, -128, 127, 127, -128, 0]
    top = round_to(np.array([2.0**63, 2.0**62, -(2.0**63), 1e300, math.nan]), "int64")
    assert top.tolist() == [2**63 - 1, 2**62, -(2**63), 2**63 - 1, 0]
    assert round_to(np.array([2.0**64, 2.0**63, -1.0]), "uint64").tolist() == [2**64 - 1, 2**63, 0]
    assert round_to(np.array([2.0**31, 2.0**32], np.float32), "int32").tolist() == [2**31 - 1, 2**31 - 1]
    assert round_to(np.array([2**64 - 1, 3], np.uint64), "int64").tolist() == [2**63 - 1, 3]
    assert round_to(np.array([-5, 300]), "uint8").tolist() == [0, 255]
    assert round_to(np.array([-5, 300]), "uint64").tolist() == [0, 300]


def test_into_bool_and_complex():
    values = np.array([0.0, -0.0, 0.2, math.nan, -math.inf])
    assert round_to(values, "bool").tolist() == [False, False, True, True, True]
    assert round_to(np.array([1.5, 2]), "complex64").tolist() == [1.5 + 0j, 2 + 0j]
    assert round_to(np.array([1j, 0j]), "bool").tolist() == [True, False]
    with pytest.raises(ValueError, match="complex"):
        round_to(np.array([1j]), "float32")


@pytest.mark.parametrize("name", ["float16", "bfloat16", "float32", "float64"])
def test_special_values_stay(name):
    got = round_to(np.array([math.nan, math.inf, -math.inf, -0.0]), name).astype(np.float64)
    assert np.isnan(got[0])
    assert got[1:3].tolist() == [math.inf, -math.inf]
    assert math.copysign(1, got[3]) == -1


@pytest.mark.parametrize("name", sorted(DTYPES))
@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 3)])
def test_shape_and_dtype_are_kept(name, shape):
    for source in (np.float32, np.float64, np.int64, np.uint8, np.bool_, np.float16, ml_dtypes.bfloat16):
        got = round_to(np.ones(shape, source), name)
        assert isinstance(got, np.ndarray)
        assert got.shape == shape
        assert got.dtype == numpy_dtype(name)
        assert (got.astype(np.complex128) == 1).all()
    assert round_to(np.ones((4, 6))[::2, ::3], name).shape == (2, 2)


@pytest.mark.parametrize("name", NARROW)
@pytest.mark.parametrize("target", [np.float32, np.float64])
def test_widening_is_exact(name, target):
    width = dtype(name).itemsize
    every = np.arange(256**width, dtype=f"u{width}").view(numpy_dtype(name))
    wide = widen(every, target)
    assert wide.dtype == target
    number = wide == wide
    assert round_to(wide, name)[number].tobytes() == every[number].tobytes()
    assert np.isnan(every.astype(np.float32)[~number]).all()


def test_widening_refuses_loss():
    assert widen(np.array([2**31 - 1], np.int32), np.float64)[0] == 2**31 - 1
    for kind, target in [("f8", np.float32), ("i4", np.float32), ("i8", np.float64), ("c8", np.float64)]:
        with pytest.raises(ValueError, match="widen"):
            widen(np.ones(1, kind), target)


@pytest.mark.parametrize("name", ["float16", "float32", "float64"])
def test_spacing_is_numpys(name):
    kind = numpy_dtype(name)
    values = np.random.default_rng(1).standard_normal(500) * np.geomspace(1e-8, 6e4, 500)
    tiny = float(np.finfo(kind).tiny)
    with np.errstate(all="ignore"):
        values = np.concatenate([values, [0.0, 1.0, 2.0, -1.0, tiny, tiny / 2]]).astype(kind)
        theirs = np.spacing(np.abs(values)).astype(np.float64)
    finite = np.isfinite(theirs)
    assert finite.sum() > 480
    assert (spacing(values.astype(np.float64), name) == theirs)[finite].all()


def test_spacing_at_the_edges():
    assert spacing(np.array([1.0, 1.99, 2.0]), "bfloat16").tolist() == [2.0**-7, 2.0**-7, 2.0**-6]
    assert spacing(np.array([0.0, 2.0**-126, 2.0**-125]), "bfloat16").tolist() == [2.0**-133] * 2 + [
        2.0**-132
    ]
    assert spacing(np.array([65504.0, 1e9, math.inf]), "float16").tolist() == [32.0] * 3
    assert spacing(np.array([5e-324]), "float64")[0] == 5e-324
    assert np.isnan(spacing(np.array([math.nan]), "float32")[0])
    assert spacing(np.array(3.0), "float32").shape == ()
    assert spacing(np.array([3.0]), "complex64")[0] == 2.0**-22
    assert spacing(np.array([3.0]), "int32")[0] == 1


@pytest.mark.parametrize(
    ("words", "name"),
    [
        ("fp16 half FLOAT16 Float16 ACL_FLOAT16 DT_FLOAT16 torch.half torch.float16 np.float16", "float16"),
        ("bf16 BF16 BFLOAT16 ACL_BF16 torch.bfloat16", "bfloat16"),
        ("fp32 float single FLOAT ACL_FLOAT float32 torch.float", "float32"),
        ("fp64 double DOUBLE ACL_DOUBLE FLOAT64", "float64"),
        ("INT32 ACL_INT32 int32", "int32"),
        ("BOOL bool np.bool_", "bool"),
        ("COMPLEX64 ACL_COMPLEX64", "complex64"),
        ("FLOAT8_E4M3FN", "float8_e4m3fn"),
    ],
)
def test_spellings(words, name):
    assert {canonical(word) for word in words.split()} == {name}


def test_unknown_words():
    with pytest.raises(UnknownDType, match="did you mean 'float16'"):
        canonical("flaot16")
    with pytest.raises(UnknownDType, match="known are float16"):
        canonical("qqqq")
    with pytest.raises(UnknownDType):
        canonical(16)
    for word in ("int4", "ACL_HIFLOAT8", "complex32", "STRING"):
        with pytest.raises(UnknownDType, match="CANN knows"):
            canonical(word)


def test_names_go_both_ways():
    for name in DTYPES:
        assert name_of(numpy_dtype(name)) == name
        assert numpy_dtype(name).itemsize == dtype(name).itemsize
    with pytest.raises(UnknownDType):
        name_of(np.dtype("U3"))
