"""Layouts against NumPy's own, storages, and refusals."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ascend_opcli.model import TensorSpec
from ascend_opcli.tensors.dtypes import numpy_dtype
from ascend_opcli.tensors.layout import MAX_ELEMENTS, empty, overlaps, place, resolve, view

SHAPES = [(), (1,), (5,), (3, 4), (2, 3, 4), (2, 1, 3, 2)]


def spec_of(shape, dtype="float32", **how):
    strides, offset, storage, word = resolve(shape, **how)
    return TensorSpec(dtype, tuple(shape), None, strides, offset, storage, word)


def counting(shape, dtype="float32"):
    return np.arange(np.prod(shape, dtype=int)).astype(numpy_dtype(dtype)).reshape(shape)


@pytest.mark.parametrize("shape", SHAPES)
def test_strides_are_numpys(shape):
    array = np.empty(shape, np.int8)
    assert resolve(shape)[0] == array.strides
    assert resolve(shape, layout="reversed")[0] == np.empty(shape, np.int8, order="F").strides
    if len(shape) > 1:
        swapped = np.ascontiguousarray(array.swapaxes(-1, -2)).swapaxes(-1, -2)
        assert resolve(shape, layout="transposed")[0] == swapped.strides
    else:
        assert resolve(shape, layout="transposed")[0] == array.strides


def test_padded_has_a_gap_after_each_row():
    assert resolve([3, 4], layout="padded") == ((12, 1), 0, (36,), "padded")
    assert resolve([2, 3, 4], layout="padded") == ((36, 12, 1), 0, (72,), "padded")
    assert resolve([5], layout="padded") == ((1,), 0, (13,), "padded")


def test_storage_is_the_smallest():
    assert resolve([4, 3]) == ((3, 1), 0, (12,), "contiguous")
    assert resolve([2, 3], strides=[1, 10], offset=5) == ((1, 10), 5, (27,), "strided")
    assert resolve([4], offset=2)[2] == (6,)
    assert resolve([0, 3], offset=2)[2] == (2,)
    assert resolve([])[2] == (1,)
    assert resolve([2, 3], storage_shape=[3, 3])[2] == (3, 3)
    assert resolve([2, 2], strides=[2, 1], layout="strided")[3] == "strided"


@pytest.mark.parametrize(
    ("shape", "how", "text"),
    [
        ([2, 2], {"layout": "transpose"}, "unknown layout 'transpose'; did you mean 'transposed'"),
        ([2, 2], {"layout": "reversed", "strides": [1, 2]}, "exclude each other"),
        ([2, 2], {"strides": [1]}, "1 entries, but the shape has 2 axes"),
        ([2, 2], {"strides": [1, -2]}, "stride -2"),
        ([2, 2], {"offset": -1}, "offset -1"),
        ([2, 2], {"storage_shape": [3]}, "has 3 elements, but the view needs 4"),
        ([2, -1], {}, "-1 is not an integer of 0 or more"),
        ([2, 1.5], {}, "1.5 is not an integer"),
        ([2**30, 2**30], {}, "more than the limit"),
        ([0, 2**62], {}, "more than the limit"),
        ([2, 2], {"strides": [2**39, 2**40]}, "more than the limit"),
        ([1], {"strides": [2**80]}, "more than the limit"),
        ([2, 2], {"offset": MAX_ELEMENTS}, "more than the limit"),
        ([2, 2], {"layout": "strided"}, "needs strides"),
    ],
)
def test_refusals(shape, how, text):
    with pytest.raises(ValueError, match=text):
        resolve(shape, **how)


@settings(max_examples=300, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 9)), max_size=3))
def test_overlap_is_what_enumeration_says(axes):
    shape, strides = [dim for dim, _ in axes], [step for _, step in axes]
    places = [
        sum(i * s for i, s in zip(at, strides, strict=True)) for at in itertools.product(*map(range, shape))
    ]
    assert overlaps(shape, strides) == (len(set(places)) < len(places))


def test_overlap_of_large_views():
    assert not overlaps([2**20, 2**20], [2**20, 1])
    assert overlaps([2**20, 2**20], [0, 1])
    assert overlaps([2**12, 2**12], [2**12 - 1, 1])


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "bool", "complex128", "float8_e5m2", "int64"])
@pytest.mark.parametrize(
    "how",
    [
        {},
        {"layout": "transposed"},
        {"layout": "reversed"},
        {"layout": "padded", "offset": 3},
        {"strides": [1, 7, 40], "offset": 2},
        {"storage_shape": [5, 5]},
    ],
)
def test_the_view_holds_the_values_and_the_rest_a_pattern(dtype, how):
    values = counting((2, 3, 4), dtype)
    spec = spec_of((2, 3, 4), dtype, **how)
    for given_values in (values, values.reshape(-1)):
        tensor = place(given_values, spec)
        assert tensor.storage.shape == (int(np.prod(spec.storage_shape)),)
        assert view(tensor).tobytes() == values.tobytes()
        used = np.zeros(tensor.storage.size, bool)
        view_of_used = np.lib.stride_tricks.as_strided(used[spec.offset :], spec.shape, spec.strides)
        view_of_used[...] = True
        rest = tensor.storage[~used].view(np.uint8)
        assert (rest == (1 if dtype == "bool" else 0xA5)).all()


def test_the_view_is_no_copy():
    tensor = empty(spec_of((2, 3), layout="transposed"), 0)
    view(tensor)[1, 0] = 7
    assert tensor.storage.tolist() == [0, 7, 0, 0, 0, 0]
    tensor.storage.flags.writeable = False
    assert not view(tensor).flags.writeable


def test_empty_fills_every_byte():
    assert (empty(spec_of((3,), "int32"), 0xFF).storage == -1).all()
    assert empty(spec_of((3,), "bool"), 0xA5).storage.view(np.uint8).tolist() == [1, 1, 1]
    assert empty(spec_of((0,), "bfloat16"), 1).storage.size == 0


def test_shared_elements_keep_the_last_value():
    tensor = place(np.arange(6, dtype=np.float32), spec_of((2, 3), strides=[0, 1]))
    assert tensor.storage.tolist() == [3, 4, 5]


@pytest.mark.parametrize("how", [{}, {"layout": "padded"}, {"strides": [1, 1]}])
def test_empty_views(how):
    spec = spec_of((0, 3), **how)
    assert view(place(np.empty(0, np.float32), spec)).shape == (0, 3)


def test_no_view_outside_the_storage():
    tensor = empty(spec_of((2, 3)), 0)
    wild = TensorSpec("float32", (2, 3), None, (100, 1), 0, (6,), "strided")
    with pytest.raises(ValueError, match="needs 103 elements, its storage has 6"):
        view(type(tensor)(wild, tensor.storage))


def test_place_refuses_what_does_not_fit():
    with pytest.raises(ValueError, match="float64"):
        place(np.zeros(6), spec_of((2, 3)))
    with pytest.raises(ValueError, match="5 values"):
        place(np.zeros(5, np.float32), spec_of((2, 3)))
