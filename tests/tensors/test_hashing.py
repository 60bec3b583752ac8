"""The hash of the inputs: equal for equal inputs whatever their layout, different for any other."""

import hashlib

import numpy as np
import pytest

from ascend_opcli.model import Attribute, Fill, Generator, TensorSpec
from ascend_opcli.tensors.data import make_tensor
from ascend_opcli.tensors.hashing import inputs_sha256
from ascend_opcli.tensors.layout import place, resolve


def tensor(shape=(3, 4), dtype="float32", data=None, name="x", **how):
    strides, offset, storage, word = resolve(shape, **how)
    data = data or Generator("uniform", (0.0, 1.0))
    return make_tensor(name, TensorSpec(dtype, shape, data, strides, offset, storage, word), 0)


LAYOUTS = [
    {},
    {"layout": "transposed"},
    {"layout": "padded", "offset": 7},
    {"strides": [1, 3]},
    {"storage_shape": [99]},
]


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float8_e5m2", "complex64", "bool"])
def test_layouts_of_the_same_values_hash_alike(dtype):
    assert len({inputs_sha256({"x": tensor(dtype=dtype, **how)}) for how in LAYOUTS}) == 1


def test_what_is_hashed():
    values = np.arange(6, dtype="<f4")
    spec = TensorSpec("float32", (2, 3), None, (3, 1), 0, (6,))
    want = hashlib.sha256(
        b'["x", "float32", [2, 3]]\n' + values.tobytes() + b'["y", "null", []]\n'
    ).hexdigest()
    assert inputs_sha256({"x": place(values, spec), "eps": Attribute(1.0), "y": None}) == want


def test_every_difference_shows():
    x, y = tensor(), tensor(name="y")
    calls = [
        {"x": x},
        {"y": x},
        {"x": y},
        {"x": x, "y": y},
        {"y": y, "x": x},
        {"x": None},
        {},
        {"x": ()},
        {"x": (x,)},
        {"x": (x, y)},
        {"x": (y, x)},
        {"x": tensor((4, 3))},
        {"x": tensor((12,))},
        {"x": tensor(dtype="int32", data=Fill(0))},
        {"x": tensor(dtype="float32", data=Fill(0.0))},
        {"x": tensor(dtype="float32", data=Fill(-0.0))},
    ]
    assert len({inputs_sha256(call) for call in calls}) == len(calls)
    assert inputs_sha256({"x": x, "eps": Attribute(1.0)}) == inputs_sha256({"x": x, "eps": Attribute(2.0)})


@pytest.mark.parametrize("shape", [(700, 1001), (3, 300_001), (2, 2, 200_001), (0, 3), ()])
def test_pieces_of_large_views_join(shape):
    for how in ({"layout": "transposed"}, {"layout": "reversed"}, {"layout": "padded"}):
        assert inputs_sha256({"x": tensor(shape, **how)}) == inputs_sha256({"x": tensor(shape)})
