"""Generated data: what the numbers are, what they depend on and what not, and what is refused."""

import hashlib
import itertools
import math
import statistics
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ascend_opcli.model import Fill, FromFile, Generator, TensorSpec, Values
from ascend_opcli.tensors import repeatable
from ascend_opcli.tensors.data import check, generate, make_tensor
from ascend_opcli.tensors.dtypes import DTYPES, numpy_dtype, round_to
from ascend_opcli.tensors.generators import GENERATORS
from ascend_opcli.tensors.layout import resolve, view
from ascend_opcli.tensors.repeatable import normal_quantile
from ascend_opcli.tensors.streams import BLOCK
from ascend_opcli.tensors.written_values import literals

REAL = [name for name, dtype in DTYPES.items() if dtype.kind != "complex"]
EACH = [
    Generator("uniform", (-1.5, 2.0)),
    Generator("normal", (0.5, 2.0)),
    Generator("integers", (-3, 100)),
    Generator("choice", (1.5, -2.0, 7)),
    Generator("linspace", (-1.0, 1.0)),
    Generator("permutation"),
]


def make(data, dtype="float32", shape=(1000,), seed=0, name="x", **part):
    return generate(data, dtype=dtype, shape=shape, seed=seed, name=name, **part)


def ids(data):
    return data.kind


def test_each_generator_is_tried():
    assert {data.kind for data in EACH} == set(GENERATORS)


# --- what the data depend on --------------------------------------------------------------------------------


@pytest.mark.parametrize("data", EACH, ids=ids)
@pytest.mark.parametrize("dtype", ["float32", "float16", "complex64", "int8", "bool"])
def test_a_part_is_the_slice_of_the_whole(data, dtype):
    count = 2 * BLOCK + 1001
    data = Generator(data.kind, data.args, (3.0, -0.0, 5.0))
    whole = make(data, dtype, (count,))
    cuts = [0, 1, 7, 500, BLOCK - 1, BLOCK, BLOCK + 3, 2 * BLOCK + 1, count - 1, count]
    for start, stop in itertools.combinations(cuts, 2):
        assert make(data, dtype, (count,), start=start, stop=stop).tobytes() == whole[start:stop].tobytes()
    assert make(data, dtype, (count,), start=9, stop=9).size == 0


@pytest.mark.parametrize("data", EACH, ids=ids)
@pytest.mark.parametrize("dtype", REAL)
def test_the_same_reals_are_rounded_to_each_dtype(data, dtype):
    if data.kind == "uniform":
        data = Generator("uniform", (-64.0, 64.0))
        inside = make(data, "float64")
        want = round_to(inside, dtype)
        got = make(data, dtype)
        # At the ends, and where a dtype holds nothing below 0, half-openness comes first.
        differs = got.astype(np.float64) != want.astype(np.float64)
        assert not differs[np.abs(inside) < 60].any() or dtype.startswith("uint")
        return
    source = "int64" if data.kind in ("integers", "permutation") else "float64"
    assert make(data, dtype).tobytes() == round_to(make(data, source), dtype).tobytes()


@pytest.mark.parametrize("data", EACH, ids=ids)
def test_the_order_of_asking_does_not_matter(data):
    names = ["x", "dy", "self", "other"]
    forward = {name: make(data, name=name).tobytes() for name in names}
    backward = {name: make(data, name=name).tobytes() for name in reversed(names)}
    assert forward == backward


@pytest.mark.parametrize("data", [d for d in EACH if d.kind != "linspace"], ids=ids)
def test_seed_name_shape_and_arguments_count(data):
    shifted = tuple(arg + 1 for arg in data.args)
    variants = [
        make(data),
        make(data, seed=1),
        make(data, seed=-1),
        make(data, seed=2**70),
        make(data, name="y"),
        make(data, shape=(10, 100)),
        *([make(Generator(data.kind, shifted))] if shifted else []),
    ]
    assert len({variant.tobytes() for variant in variants}) == len(variants)


def test_equal_arguments_are_the_same_generator():
    for one, other in [((0, 1), (0.0, 1.0)), ((-0.0, 1), (0, True + 0.0))]:
        assert make(Generator("uniform", one)).tobytes() == make(Generator("uniform", other)).tobytes()


def test_blocks_differ():
    whole = make(Generator("uniform", (0, 1)), shape=(4 * BLOCK,)).reshape(4, BLOCK)
    assert len({block.tobytes() for block in whole}) == 4


def test_another_process_makes_the_same_bytes():
    code = (
        "import hashlib\n"
        "from ascend_opcli.model import Generator\n"
        "from ascend_opcli.tensors.data import generate\n"
        "made = generate(Generator('normal', (0, 1)), dtype='float32', shape=(999,), seed=3, name='x')\n"
        "print(hashlib.sha256(made.tobytes()).hexdigest())"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    here = make(Generator("normal", (0, 1)), shape=(999,), seed=3)
    assert run.stdout.strip() == hashlib.sha256(here.tobytes()).hexdigest()


PINS = {
    "uniform float32": "bbe4e4d52f7b146c",
    "uniform bfloat16": "8138220f7f514599",
    "uniform float16": "219d4e950a220ce6",
    "uniform int32": "277cba719e5216ab",
    "uniform complex64": "1cc707a58b02b9d8",
    "normal float32": "031872c22664e6c4",
    "normal bfloat16": "e0758009f7f71fb8",
    "normal float16": "69751c481de6fe88",
    "normal int32": "892e064e59bc56af",
    "normal complex64": "ab647ffbcaeefb1c",
    "integers float32": "ad0bf464c0db7c85",
    "integers bfloat16": "ac9f1235c93c8578",
    "integers float16": "01559a35013a884d",
    "integers int32": "ff24e19acd357419",
    "integers complex64": "17f0f4289f620d90",
    "choice float32": "027e6d5c2a68d7c7",
    "choice bfloat16": "6d448252e31afbeb",
    "choice float16": "99f8d12ba5e62875",
    "choice int32": "c701b68510fe3abf",
    "choice complex64": "23d9f43598393b2a",
    "linspace float32": "11e9191e99ae3220",
    "linspace bfloat16": "e7e6c49898fea163",
    "linspace float16": "d3ef59af601d691a",
    "linspace int32": "fdad6571c0cf6142",
    "linspace complex64": "e6045ae1829afbf3",
    "permutation float32": "2a86aa1ccf4eb1b4",
    "permutation bfloat16": "1b79755d72cae288",
    "permutation float16": "cb0b12fcfc1f0bd5",
    "permutation int32": "93950a0a561bf4ff",
    "permutation complex64": "5a94300dadeff580",
    "uniform unit float32": "7b90734fbad1baa6",
    "normal float64": "a8b9b7fdab7ea040",
    "integers uint64": "962e2131cd268f93",
    "specials float32": "7f9d6d942d79be24",
}


def pinned():
    """The tensors whose bytes are promised."""
    for data in EACH:
        for dtype in ("float32", "bfloat16", "float16", "int32", "complex64"):
            yield f"{data.kind} {dtype}", data, dtype
    yield "uniform unit float32", Generator("uniform", (0.0, 1.0)), "float32"
    yield "normal float64", Generator("normal", (0.0, 1.0)), "float64"
    yield "integers uint64", Generator("integers", (0, 2**64 - 1)), "uint64"
    yield "specials float32", Generator("uniform", (0.0, 1.0), (math.nan, -0.0, math.inf)), "float32"


def digest(data, dtype):
    made = make(data, dtype, shape=(3, 30_011), seed=7, name="self")
    return hashlib.sha256(made.tobytes()).hexdigest()[:16]


@pytest.mark.parametrize(
    ("what", "data", "dtype"), list(pinned()), ids=lambda value: value if isinstance(value, str) else ""
)
def test_bytes_are_those_of_every_version(what, data, dtype):
    """A difference is another NumPy, another machine, or a change that needs a new STREAM_VERSION."""
    assert digest(data, dtype) == PINS[what]


# --- uniform ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [name for name in REAL if name != "bool"])
@pytest.mark.parametrize(
    ("lo", "hi"), [(0.0, 1.0), (0.1, 0.9), (-3.0, 5.0), (1.0, 2.0), (-1e6, 1e6), (0.2, 5.7), (1e-9, 1.0)]
)
def test_uniform_is_half_open_as_stored(dtype, lo, hi):
    made = make(Generator("uniform", (lo, hi)), dtype, shape=(70_000,)).astype(np.float64)
    integer = DTYPES[dtype].kind in ("int", "uint")
    if integer and math.ceil(lo) > math.ceil(hi) - 1:
        return
    assert made.min() >= lo
    assert made.max() < hi


def test_a_value_that_rounds_to_the_end_becomes_the_one_before():
    made = make(Generator("uniform", (0.0, 1.0)), "bfloat16", shape=(100_000,))
    assert float(made.max()) == 1 - 2.0**-8
    reals = make(Generator("uniform", (0.0, 1.0)), "float64", shape=(100_000,))
    assert (made[reals > 1 - 2.0**-9].astype(np.float32) == 1 - 2.0**-8).all()


def test_uniform_without_room():
    """An interval without a number of the dtype is rounded plainly, one without length is constant."""
    assert set(make(Generator("uniform", (1.0001, 1.0002)), "bfloat16").astype(float)) == {1.0}
    assert set(make(Generator("uniform", (0.5, 0.5))).tolist()) == {0.5}
    assert set(make(Generator("uniform", (0.2, 0.4)), "int32").tolist()) == {0}
    assert make(Generator("uniform", (0.0, 1.0)), "bool").mean() > 0.99


def test_uniform_over_the_whole_range():
    top = sys.float_info.max
    made = make(Generator("uniform", (-top, top)), "float64", shape=(100_000,))
    assert np.isfinite(made).all()
    assert abs((made / top).mean()) < 0.01
    assert abs((made / top).std() - 1 / math.sqrt(3)) < 0.01
    whole = make(Generator("uniform", (-(2.0**63), 2.0**63)), "int64", shape=(100_000,))
    assert whole.min() < -(2**62)
    assert whole.max() > 2**62


@pytest.mark.parametrize(("lo", "hi"), [(0.0, 1.0), (0.0, 8.0), (0.0, 3.0), (-2.0, 2.0)])
def test_uniform_float32_is_the_float64_rounded_once(lo, hi):
    made = make(Generator("uniform", (lo, hi)), shape=(200_000,))
    reals = make(Generator("uniform", (lo, hi)), "float64", shape=(200_000,))
    below = np.nextafter(np.float32(hi), np.float32(-np.inf))
    assert (made == np.minimum(reals.astype(np.float32), below)).all()


def test_uniform_is_flat():
    made = make(Generator("uniform", (2.0, 4.0)), "float64", shape=(1_000_000,))
    counts = np.histogram(made, 100, (2.0, 4.0))[0]
    assert ((counts - 1e4) ** 2 / 1e4).sum() < 170  # chi square, 99 degrees: 1e-5 beyond 162
    assert abs(np.corrcoef(made[1:], made[:-1])[0, 1]) < 0.005


# --- normal -------------------------------------------------------------------------------------------------


def test_quantiles_are_the_known_ones():
    # Wichura's own check values, and the textbook's.
    shares = np.array([0.25, 0.001, 0.975, 0.5, 1e-9])
    want = [-0.6744897501960817, -3.090232306167814, 1.959963984540054, 0.0, -5.997807015007687]
    assert normal_quantile(shares) == pytest.approx(want, rel=1e-15)


def test_quantiles_agree_with_pythons():
    grid = (np.arange(0, 2**32, 1_048_573, dtype=np.float64) + 0.5) / 2**32
    grid = np.concatenate(
        [grid, (np.arange(50) + 0.5) / 2**32, 1 - (np.arange(50) + 0.5) / 2**32, [0.075, 0.925]]
    )
    want = [statistics.NormalDist().inv_cdf(share) for share in grid.tolist()]
    got = normal_quantile(grid)
    assert np.allclose(got, want, rtol=2e-15, atol=0)
    assert (got[:-2] == -normal_quantile(1 - grid[:-2])).all()


@settings(max_examples=300, deadline=None)
@given(st.floats(1e-300, 1e300))
def test_the_logarithm_is_right(value):
    assert repeatable.log(np.array([value]))[0] == pytest.approx(math.log(value), rel=5e-16, abs=1e-300)


def test_moments_of_normal():
    made = make(Generator("normal", (3.0, 2.0)), "float64", shape=(1_000_000,))
    z = (made - 3) / 2
    assert abs(z.mean()) < 0.005
    assert abs(z.std() - 1) < 0.005
    assert abs((z**3).mean()) < 0.015
    assert abs((z**4).mean() - 3) < 0.05
    assert 0.0024 < (np.abs(z) > 3).mean() < 0.0030
    assert set(make(Generator("normal", (1.5, 0.0))).tolist()) == {1.5}


# --- the others ---------------------------------------------------------------------------------------------


def test_integers_reach_both_ends_evenly():
    made = make(Generator("integers", (-2, 3)), "int32", shape=(60_000,))
    values, counts = np.unique(made, return_counts=True)
    assert values.tolist() == [-2, -1, 0, 1, 2, 3]
    assert ((counts - 1e4) ** 2 / 1e4).sum() < 30


@pytest.mark.parametrize(
    ("lo", "hi", "dtype"),
    [
        (-(2**63), 2**63 - 1, "int64"),
        (0, 2**64 - 1, "uint64"),
        (2**63, 2**64 - 1, "uint64"),
        (2**40, 2**41, "int64"),
    ],
)
def test_wide_integers(lo, hi, dtype):
    made = make(Generator("integers", (lo, hi)), dtype, shape=(10_000,)).tolist()
    assert lo <= min(made) < lo + (hi - lo) // 100
    assert hi >= max(made) > hi - (hi - lo) // 100


@settings(max_examples=300, deadline=None)
@given(st.lists(st.integers(0, 2**64 - 1), min_size=1, max_size=5), st.integers(1, 2**64))
def test_scaling_is_exact(words, span):
    assert repeatable.scaled(np.array(words, np.uint64), span).tolist() == [
        (word * span) >> 64 for word in words
    ]


def test_choice():
    made = make(Generator("choice", (0, 1.5, math.inf, math.nan)), shape=(40_000,))
    assert np.isnan(made).mean() == pytest.approx(0.25, abs=0.02)
    assert set(made[~np.isnan(made)].tolist()) == {0.0, 1.5, math.inf}
    assert make(Generator("choice", (2**63 + 1,)), "uint64", shape=(2,)).tolist() == [2**63 + 1] * 2
    assert set(make(Generator("choice", (1j, 2)), "complex64").tolist()) == {1j, 2 + 0j}


def test_linspace():
    made = make(Generator("linspace", (-1.0, 1.0)), "float64", shape=(5,))
    assert made.tolist() == [-1.0, -0.5, 0.0, 0.5, 1.0]
    assert make(Generator("linspace", (0.1, 0.7)), "float64", shape=(1,)).tolist() == [0.1]
    ends = make(Generator("linspace", (0.1, 0.7)), "float64", shape=(70_001,))[[0, -1]]
    assert ends.tolist() == [0.1, 0.7]
    np.testing.assert_allclose(
        make(Generator("linspace", (3.0, 8.0)), "float64"), np.linspace(3, 8, 1000), rtol=1e-15
    )
    top = sys.float_info.max
    assert make(Generator("linspace", (-top, top)), "float64", shape=(3,)).tolist() == [-top, 0.0, top]


def test_permutation():
    made = make(Generator("permutation"), "int32", shape=(300, 301))
    assert np.sort(made).tolist() == list(range(300 * 301))
    assert (made[1:] > made[:-1]).mean() == pytest.approx(0.5, abs=0.01)
    assert make(Generator("permutation"), "int32", shape=(1,)).tolist() == [0]


def test_complex_parts_are_two_streams():
    for data in (Generator("uniform", (0.0, 1.0)), Generator("normal", (0.0, 1.0))):
        made = make(data, "complex64", shape=(10_000,))
        assert made.real.tobytes() == make(data, "float32", shape=(10_000,)).tobytes()
        assert abs(np.corrcoef(made.real, made.imag)[0, 1]) < 0.05
    assert (make(Generator("integers", (0, 9)), "complex128").imag == 0).all()


def test_fill_and_values():
    assert make(Fill(1.5), "float16", (2, 2)).tolist() == [1.5] * 4
    with pytest.raises(ValueError, match="nan is not a value of int32"):
        make(Fill(math.nan), "int32", (2,))
    assert make(Fill(True), "bool", (2,)).tolist() == [True, True]
    assert make(Fill(1 + 2j), "complex64", (1,)).tolist() == [1 + 2j]
    assert make(Values((1, 2.5, -3.5, 300)), "int8", (2, 2)).tolist() == [1, 2, -4, 127]
    assert make(Values((2**63 - 1, 0.5, -(2**70))), "int64", (3,)).tolist() == [2**63 - 1, 0, -(2**63)]
    assert make(Values((10**400, -(10**400))), "float32", (2,)).tolist() == [math.inf, -math.inf]
    assert make(Values((1, 2, 3, 4)), "float32", (2, 2), start=1, stop=3).tolist() == [2, 3]
    assert literals((1, 2j, 2**60 + 1), "complex128").tolist() == [1, 2j, 2.0**60]


def test_files(tmp_path):
    np.save(tmp_path / "x.npy", np.arange(6.0).reshape(2, 3))
    data = FromFile(str(tmp_path / "x.npy"), specials=(math.nan,))
    made = make(data, shape=(2, 3))
    assert np.isnan(made).sum() == 1
    assert made.flags.writeable
    plain = make(FromFile(str(tmp_path / "x.npy")), shape=(2, 3), start=2, stop=5)
    assert plain.tolist() == [2, 3, 4]
    (tmp_path / "x.npy").rename(tmp_path / "y.npy")
    moved = make(FromFile(str(tmp_path / "y.npy"), specials=(math.nan,)), shape=(2, 3))
    assert moved.tobytes() == made.tobytes()


# --- specials -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("data", EACH, ids=ids)
def test_specials_appear_once_and_the_rest_stays(data):
    specials = (math.nan, math.inf, -math.inf, -0.0, 12345.0)
    plain = make(data)
    made = make(Generator(data.kind, data.args, specials))
    changed = plain.view(np.uint32) != made.view(np.uint32)
    assert 4 <= changed.sum() <= 5  # one place may hold its special already
    assert np.isnan(made).sum() == 1
    assert (made == math.inf).sum() == (made == -math.inf).sum() == (made == 12345.0).sum() == 1
    assert (np.signbit(made) & (made == 0)).sum() == 1
    other = make(Generator(data.kind, data.args, specials), seed=1)
    assert np.flatnonzero(np.isnan(made)) != np.flatnonzero(np.isnan(other))


def test_specials_may_fill_the_tensor():
    for count in (1, 2, 5, 40):
        specials = tuple(float(value) for value in range(100, 100 + count))
        made = make(Generator("uniform", (0, 1), specials), shape=(count,))
        assert sorted(made.tolist()) == list(specials)


def test_special_places_are_even():
    where = [
        int(
            np.flatnonzero(np.isnan(make(Generator("uniform", (0, 1), (math.nan,)), shape=(10,), seed=seed)))[
                0
            ]
        )
        for seed in range(1000)
    ]
    counts = np.bincount(where, minlength=10)
    assert ((counts - 100) ** 2 / 100).sum() < 35


# --- refusals -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "dtype", "text"),
    [
        (Generator("uniform", (1.0,)), "float32", "uniform takes 2 arguments, lo and hi; 1 given"),
        (Generator("uniform", (1.0, 0.0)), "float32", r"needs lo <= hi, not \[1, 0\]"),
        (Generator("uniform", (0.0, math.inf)), "float32", "finite numbers, not hi = inf"),
        (Generator("uniform", (math.nan, 1.0)), "float32", "finite numbers, not lo = nan"),
        (Generator("uniform", (0, 10**400)), "float32", "finite"),
        (Generator("uniform", (0.0, 1j)), "complex64", "real numbers, not hi = 1j"),
        (Generator("uniform", (False, True)), "float32", "real numbers"),
        (Generator("normal", (0.0, -1.0)), "float32", "0 or more, not -1"),
        (Generator("integers", (3, 2)), "int32", "lo <= hi"),
        (Generator("integers", (0.5, 2)), "int32", "whole numbers, not 0.5"),
        (Generator("integers", (-1, 2**63)), "int64", "neither within int64 nor within uint64"),
        (Generator("integers", (0, 2**64)), "uint64", "neither within int64 nor within uint64"),
        (Generator("choice", ()), "float32", "at least one value"),
        (Generator("choice", (1j,)), "float32", "cannot be held in float32"),
        (Generator("linspace", (0, math.inf)), "float32", "finite"),
        (Generator("permutation", (5,)), "int32", "permutation takes no arguments; 1 given"),
        (Generator("unifrom", (0, 1)), "float32", "did you mean 'uniform'"),
        (Generator("uniform", (0, 1), (1.0,) * 7), "float32", "7 specials do not fit into 6 elements"),
        (Generator("uniform", (0, 1), (1j,)), "float32", "cannot be held"),
        (Values((1.0,) * 5), "float32", r"5 values do not fill the shape \[2, 3\] of 6 elements"),
        (Values(("1",) * 6), "float32", "'1' is not a number"),
        (Fill(1j), "int32", "complex value cannot be held in int32"),
        (Fill(1.0), "int4", "cannot make data"),
        (FromFile("nowhere.npy"), "float32", "No such file"),
    ],
)
def test_refusals(data, dtype, text):
    with pytest.raises(ValueError, match=text):
        check(data, dtype, (2, 3))
    with pytest.raises(ValueError, match=text):
        make(data, dtype, (2, 3))


def test_parts_outside_are_refused():
    for start, stop in [(-1, 2), (0, 7), (4, 3)]:
        with pytest.raises(ValueError, match="do not lie within"):
            make(Fill(0.0), shape=(6,), start=start, stop=stop)


@pytest.mark.parametrize("dtype", sorted(DTYPES))
@pytest.mark.parametrize("shape", [(), (0,), (3, 0), (1,)])
@pytest.mark.parametrize("data", [*EACH, Fill(1)], ids=lambda data: getattr(data, "kind", "fill"))
def test_every_dtype_and_small_shape(dtype, shape, data):
    made = make(data, dtype, shape)
    assert made.dtype == numpy_dtype(dtype)
    assert made.shape == (math.prod(shape),)


# --- tensors ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "how", [{}, {"layout": "transposed"}, {"layout": "padded"}, {"strides": [1, 3], "offset": 4}]
)
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float8_e5m2"])
def test_tensors_hold_the_same_values_in_every_layout(how, dtype):
    strides, offset, storage, word = resolve((3, 5), **how)
    data = Generator("normal", (0.0, 1.0))
    tensor = make_tensor("x", TensorSpec(dtype, (3, 5), data, strides, offset, storage, word), 0)
    assert view(tensor).tobytes() == make(data, dtype, (3, 5)).tobytes()


def test_an_output_has_no_data():
    with pytest.raises(ValueError, match="'out' has no data"):
        make_tensor("out", TensorSpec("float32", (1,), None, (1,), 0, (1,)), 0)
