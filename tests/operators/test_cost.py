"""What a call costs: operations by the formula, bytes by what it touches, both worked out by hand."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ascend_opcli.model import Argument, Attribute, Shape, TensorSpec
from ascend_opcli.operators.catalog import find, operators
from ascend_opcli.operators.cost import moved, operations, size_of
from ascend_opcli.tensors.layout import distinct

F32 = 4
I64 = 8


def tensor(*shape: int, dtype: str = "float32", strides: Shape | None = None) -> TensorSpec:
    steps = strides if strides is not None else tuple(math.prod(shape[i + 1 :]) for i in range(len(shape)))
    storage = 1 + sum((d - 1) * s for d, s in zip(shape, steps, strict=True))
    return TensorSpec(dtype, shape, None, steps, 0, (storage,))


def index(*shape: int) -> TensorSpec:
    return tensor(*shape, dtype="int64")


OPERATIONS: list[tuple[str, dict[str, Argument], int]] = [
    # 2 m n k
    ("mm", {"self": tensor(3, 5), "mat2": tensor(5, 7), "out": tensor(3, 7)}, 2 * 3 * 7 * 5),
    ("matmul", {"self": tensor(2, 3, 5), "mat2": tensor(5, 7), "out": tensor(2, 3, 7)}, 2 * 2 * 3 * 7 * 5),
    ("matmul", {"self": tensor(3, 5), "mat2": tensor(2, 5, 7), "out": tensor(2, 3, 7)}, 2 * 2 * 3 * 7 * 5),
    ("matmul", {"self": tensor(2, 3, 5), "mat2": tensor(5), "out": tensor(2, 3)}, 2 * 2 * 3 * 5),
    ("matmul", {"self": tensor(5), "mat2": tensor(5), "out": tensor()}, 2 * 5),
    ("batch_mat_mul", {"self": tensor(4, 3, 5), "mat2": tensor(4, 5, 7), "out": tensor(4, 3, 7)}, 2 * 4 * 3 * 7 * 5),
    ("mv", {"self": tensor(3, 5), "vec": tensor(5), "out": tensor(3)}, 2 * 3 * 5),
    ("dot", {"self": tensor(9), "tensor": tensor(9), "out": tensor()}, 2 * 9),
    # and three more an element for beta self + alpha (...)
    ("addmm", {"self": tensor(3, 7), "mat1": tensor(3, 5), "mat2": tensor(5, 7), "out": tensor(3, 7)},
     2 * 3 * 7 * 5 + 3 * 21),
    ("inplace_addmm", {"selfRef": tensor(3, 7), "mat1": tensor(3, 5), "mat2": tensor(5, 7)}, 2 * 3 * 7 * 5 + 3 * 21),
    ("baddbmm", {"self": tensor(4, 3, 7), "batch1": tensor(4, 3, 5), "batch2": tensor(4, 5, 7),
                 "out": tensor(4, 3, 7)}, 2 * 4 * 3 * 7 * 5 + 3 * 84),
    ("addbmm", {"self": tensor(3, 7), "batch1": tensor(4, 3, 5), "batch2": tensor(4, 5, 7), "out": tensor(3, 7)},
     2 * 4 * 3 * 7 * 5 + 3 * 21),
    ("addmv", {"self": tensor(3), "mat": tensor(3, 5), "vec": tensor(5), "out": tensor(3)}, 2 * 3 * 5 + 9),
    ("addr", {"self": tensor(3, 4), "vec1": tensor(3), "vec2": tensor(4), "out": tensor(3, 4)}, 4 * 12),
    # one for every element that is reduced
    ("reduce_sum", {"self": tensor(3, 4), "out": tensor(3)}, 12),
    ("amax", {"self": tensor(3, 4), "out": tensor(4)}, 12),
    ("mean", {"self": tensor(3, 4), "out": tensor(3)}, 12 + 3),
    ("cumsum", {"self": tensor(3, 4), "out": tensor(3, 4)}, 12),
    ("aminmax_all", {"self": tensor(3, 4), "minOut": tensor(), "maxOut": tensor()}, 24),
    # as the formula has them, for every element of the output
    ("mul", {"self": tensor(3, 1), "other": tensor(4), "out": tensor(3, 4)}, 12),
    ("add", {"self": tensor(3, 4), "other": tensor(3, 4), "out": tensor(3, 4)}, 24),
    ("addcmul", {"self": tensor(6), "tensor1": tensor(6), "tensor2": tensor(6), "out": tensor(6)}, 18),
    ("inplace_muls", {"selfRef": tensor(6)}, 6),
    ("foreach_neg", {"x": (tensor(6), tensor(4)), "out": (tensor(6), tensor(4))}, 10),
]  # fmt: skip


@pytest.mark.parametrize(("name", "arguments", "expected"), OPERATIONS)
def test_operations_by_hand(name: str, arguments: dict[str, Argument], expected: int) -> None:
    assert operations(find(name), arguments) == expected


@pytest.mark.parametrize(
    "name", ["exp", "gelu", "elu_backward", "softmax", "layer_norm", "pow_tensor_scalar"]
)
def test_what_has_no_agreed_count_stays_unknown(name: str) -> None:
    arguments: dict[str, Argument] = {
        p.name: tensor(4, 4) for p in find(name).signature.params if p.is_tensor
    }
    assert operations(find(name), arguments) is None


def test_an_operators_own_figure_comes_first() -> None:
    import dataclasses

    own = dataclasses.replace(find("mul"), operations=lambda _a: 7, moved=lambda _a: 9)
    assert (operations(own, {}), moved(own, {})) == (7, 9)


BYTES: list[tuple[str, dict[str, Argument], int]] = [
    ("elu_backward", {"gradOutput": tensor(8), "selfOrResult": tensor(8), "gradInput": tensor(8)}, 3 * 8 * F32),
    ("inplace_add", {"selfRef": tensor(8), "other": tensor(8)}, 3 * 8 * F32),
    # indices read, what they name read and written
    ("gather", {"self": tensor(1000, 8), "index": index(2, 8), "out": tensor(2, 8)}, 16 * (I64 + 2 * F32)),
    ("embedding", {"weight": tensor(1000, 8), "indices": index(3), "out": tensor(3, 8)}, 3 * I64 + 2 * 24 * F32),
    ("index_select", {"self": tensor(1000, 8), "index": index(3), "out": tensor(3, 8)}, 3 * I64 + 2 * 24 * F32),
    ("take", {"self": tensor(1000), "index": index(5), "out": tensor(5)}, 5 * (I64 + 2 * F32)),
    ("aclnnIndex", {"self": tensor(1000, 8), "indices": (index(3),), "out": tensor(3, 8)}, 3 * I64 + 2 * 24 * F32),
    # a row that is fetched a thousand times is read once
    ("embedding", {"weight": tensor(2, 8), "indices": index(1000), "out": tensor(1000, 8)},
     1000 * I64 + (16 + 8000) * F32),
    # out of place all of it is copied, in place only what is named
    ("scatter", {"self": tensor(100, 8), "index": index(2, 8), "src": tensor(50, 8), "out": tensor(100, 8)},
     16 * (I64 + F32) + 2 * 800 * F32),
    ("inplace_scatter", {"selfRef": tensor(100, 8), "index": index(2, 8), "src": tensor(50, 8),
                         "reduce": Attribute(0)}, 16 * (I64 + 2 * F32)),
    ("inplace_scatter", {"selfRef": tensor(100, 8), "index": index(2, 8), "src": tensor(50, 8),
                         "reduce": Attribute(1)}, 16 * (I64 + 3 * F32)),
    ("inplace_scatter_value", {"selfRef": tensor(100, 8), "index": index(2, 8), "reduce": Attribute(0)},
     16 * (I64 + F32)),
    ("scatter_nd_update", {"varRef": tensor(100, 8), "indices": index(3, 1), "updates": tensor(3, 8)},
     3 * I64 + 2 * 24 * F32),
    ("inplace_index_copy", {"selfRef": tensor(100, 8), "index": index(3), "source": tensor(3, 8)},
     3 * I64 + 2 * 24 * F32),
    ("inplace_index_fill", {"selfRef": tensor(100, 8), "dim": Attribute(0), "index": index(3)},
     3 * I64 + 24 * F32),
    ("inplace_index_fill_tensor", {"selfRef": tensor(100, 8), "dim": Attribute(-2), "index": Attribute((1, 5, 5))},
     16 * F32),
    # stride 0 and overlaps: distinct elements of the storage
    ("mul", {"self": tensor(64, 8, strides=(0, 1)), "other": tensor(64, 8), "out": tensor(64, 8)},
     (8 + 512 + 512) * F32),
    ("neg", {"self": tensor(10, 4, strides=(1, 1)), "out": tensor(10, 4)}, (13 + 40) * F32),
    ("neg", {"self": tensor(4, 4, strides=(8, 2)), "out": tensor(4, 4)}, 32 * F32),
]  # fmt: skip


@pytest.mark.parametrize(("name", "arguments", "expected"), BYTES)
def test_bytes_by_hand(name: str, arguments: dict[str, Argument], expected: int) -> None:
    assert moved(find(name), arguments) == expected


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 6)), max_size=4))
def test_distinct_elements_are_those_of_numpys_own_view(axes: list[tuple[int, int]]) -> None:
    shape, strides = tuple(d for d, _ in axes), tuple(s for _, s in axes)
    storage = np.arange(1 + sum(max(d - 1, 0) * s for d, s in axes))
    view = np.lib.stride_tricks.as_strided(storage, shape, [8 * s for s in strides])
    assert distinct(shape, strides) == np.unique(view).size


def test_a_large_interleaved_view_has_no_more_than_its_storage() -> None:
    assert size_of(tensor(1 << 12, 1 << 12, strides=(1, 1))) == (2**13 - 1) * F32


def test_every_figure_belongs_to_an_operator_that_is_there() -> None:
    from ascend_opcli.operators import cost
    from ascend_opcli.operators.documents import catalogued

    there = set(catalogued.names().values())
    plain = {name.removeprefix("aclnn").removeprefix("Inplace") for name in there}
    assert not set(cost._MOVED) - there
    assert not set(cost._OPERATIONS) - plain


@pytest.mark.parametrize("name", sorted(operators()))
def test_no_call_of_any_operator_breaks_the_figures(name: str) -> None:
    """Whatever a case leaves out or gets wrong, a figure is a number or unknown."""
    op = find(name)
    for made in (None, tensor(), tensor(0, 3), tensor(4, 4)):
        arguments: dict[str, Any] = {
            p.name: made if p.is_tensor else Attribute(0) for p in op.signature.params
        }
        count = operations(op, arguments)
        assert count is None or count >= 0
        assert moved(op, arguments) >= 0
