"""What a candidate may return, and in whose memory it may lie."""

from __future__ import annotations

from typing import Any

import pytest

from tests.execution.candidates import Judge, words

TWO = """
    op: aclnnAminmaxDim
    cases:
      - {name: a, inputs: {self: {dtype: float32, shape: [8, 1]}}, attrs: {dim: 1, keepDim: true}}
      - {name: b, inputs: {self: {dtype: float32, shape: [8, 5], data: 3.0}}, attrs: {dim: 1, keepDim: true}}
"""


@pytest.mark.parametrize("tensors", ["numpy", "torch"])
@pytest.mark.parametrize("second", ["r", "r[:]", "r.reshape(8, 1)", "r[::-1][::-1]"])
def test_one_tensor_may_stand_for_two_outputs(judge: Judge, tensors: str, second: str) -> None:
    if tensors == "torch":
        pytest.importorskip("torch")
        if "::-1" in second:
            pytest.skip("PyTorch has no negative steps")
    low = "self.amin(dim, keepdim=keepDim)" if tensors == "torch" else "self.min(dim, keepdims=keepDim)"
    body = f"\ndef f(self, dim, keepDim):\n    r = {low}\n    return r, {second}\n"
    results = judge(body, cases=TWO, tensors=tensors)
    assert words(results) == {"a": "PASS", "b": "PASS"}, [r.get("reason") for n, r in results.items() if n]


TABLE = """
    op: aclnnTable
    signature: aclnnStatus aclnnTableGetWorkspaceSize(const aclTensor *x, aclTensor *out, aclTensor *twice)
    reference: x * 0 + 1, x * 2
    cases:
      - {name: a, dtype: float32, shape: [40]}
      - {name: b, dtype: float32, shape: [40], repeat: 3}
      - {name: c, dtype: float32, shape: [9], seed: 4}
"""


@pytest.mark.parametrize("tensors", ["numpy", "torch"])
def test_a_table_of_its_own_may_be_handed_out_and_stays_as_it_is(judge: Judge, tensors: str) -> None:
    one = "np.ones(1000, np.float32)"
    if tensors == "torch":
        pytest.importorskip("torch")
        one = "__import__('torch').ones(1000)"
    # The second output is computed from the very table.
    body = f"\nONE = {one}\ndef f(x):\n    return ONE[: x.shape[0]], (ONE[: x.shape[0]] + ONE[: x.shape[0]]) * x\n"
    results = judge(body, cases=TABLE, tensors=tensors)
    assert words(results) == dict.fromkeys("abc", "PASS"), [r.get("reason") for n, r in results.items() if n]


def test_a_table_that_is_wrong_is_named_where_it_is_handed_out_again(judge: Judge) -> None:
    body = "\nONE = np.full(1000, 7, np.float32)\ndef f(x):\n    return ONE[: x.shape[0]], 2 * x\n"
    results = judge(body, cases=TABLE)
    assert "CACHED RESULT: out is memory that an earlier call returned" in results["b"]["reason"]
    # It should be 1 for any inputs: what stays as it is tells nothing, and the numbers tell enough.
    assert results["a"]["reason"].startswith("out: 40 of 40 elements are over the tolerance")
    assert "CONSTANT RETURNED" not in results["a"]["reason"]


RAISING = """
class Odd(np.ndarray):
    {what}

def f(x, dy):
    return good(x, dy).view(Odd)
"""
ATTRIBUTES = {
    "shape": "shape = property(lambda self: 1 / 0)",
    "dtype": "dtype = property(lambda self: 1 / 0)",
    "strides, by sys.exit": "strides = property(lambda self: __import__('sys').exit(0))",
}


@pytest.mark.parametrize("kind", ATTRIBUTES)
def test_an_array_whose_methods_raise_is_the_candidates_fault(judge: Judge, kind: str) -> None:
    results = judge(RAISING.format(what=ATTRIBUTES[kind]))
    assert results[""].code == 1
    assert "WRONG TYPE: out is a opcli_candidate_mine.Odd that cannot be read: " in results["one"]["reason"]


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("return np.ma.masked_array(good(x, dy), mask=False)", "WRONG TYPE: out is a masked array"),
        (
            "class L(list):\n        def __len__(self): 1 / 0\n    return L([x])",
            "RAISED: reading the result gave ",
        ),
        ("return np.array([object()] * 32).reshape(4, 8)", "WRONG DTYPE: out is object"),
    ],
)
def test_other_results_that_are_no_arrays_of_values(judge: Judge, body: str, said: str) -> None:
    results = judge(f"\ndef f(x, dy):\n    {body}\n")
    assert results[""].code == 1
    assert said in results["one"]["reason"]


def test_plain_subclasses_are_taken_for_what_they_hold(judge: Judge) -> None:
    results = judge("\nclass Mine(np.ndarray): pass\ndef f(x, dy):\n    return good(x, dy).view(Mine)\n")
    assert set(words(results).values()) == {"PASS"}


TORCH = """
import torch
class Sub(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None): raise RuntimeError("no")

class Kind(torch.Tensor):
    pass

def right(x, dy):
    return dy / (x * (1 - x))
"""
KINDS = {
    "to_sparse()": "WRONG TYPE: out is a tensor of the layout sparse_coo",
    "to_sparse_csr()": "WRONG TYPE: out is a tensor of the layout sparse_csr",
    "to('meta')": "WRONG TYPE: out is a tensor on the device meta",
    "as_subclass(Sub)": "WRONG TYPE: out is a opcli_candidate_mine.Sub that cannot be read: RuntimeError: no",
    "as_subclass(Kind)": "",
    "requires_grad_(True)": "",
}


@pytest.mark.filterwarnings("ignore:Sparse CSR")
def test_tensors_of_pytorch_that_cannot_be_read_are_the_candidates_fault(judge: Judge) -> None:
    pytest.importorskip("torch")
    cases = "op: logit_grad\ncases:\n" + "".join(
        f"  - {{name: c{i}, dtype: float32, shape: [4, {i + 2}]}}\n" for i in range(len(KINDS) + 1)
    )
    body = TORCH + "def f(x, dy):\n    r = right(x, dy)\n"
    for i, kind in enumerate(KINDS):
        body += f"    if x.shape[1] == {i + 2}: return r.{kind}\n"
    body += "    return torch.nested.nested_tensor([r])\n"
    results: dict[str, Any] = judge(body, cases=cases, tensors="torch")
    assert results[""].code == 1
    for i, said in enumerate(KINDS.values()):
        assert said in results[f"c{i}"]["reason"]
        assert results[f"c{i}"]["verdict"] == ("FAIL" if said else "PASS")
    assert "WRONG TYPE: out is a nested tensor" in results[f"c{len(KINDS)}"]["reason"]


def test_a_parameter_that_is_taken_by_its_place_is_said_to_be_one(judge: Judge) -> None:
    results = judge("\ndef f(x, dy, /):\n    return good(x, dy)\n")
    assert "WRONG PARAMETER: the function takes 'x' by its place only" in results["one"]["reason"]
    assert "did you mean" not in results["one"]["reason"]
