"""The kernel behind an aclnn function: its names are registered, its dtypes too, its conditions hold."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from ascend_opcli.casefile.inline import CallOptions, parse
from ascend_opcli.errors import OpcliError
from ascend_opcli.model import Case, TensorSpec
from ascend_opcli.operators.catalog import find
from ascend_opcli.operators.documents import registrations
from ascend_opcli.operators.documents.twins import KernelCall, NoKernel, _table, kernel_call
from tests.conftest import ROOT

FACTS = ROOT.parents[1] / "shared" / "facts" / "kernel_twins.json"


def made(op: str, dtype: str = "float32", shape: str = "2x3x4", **more: list[str]) -> Case:
    return parse(CallOptions(op, dtype, shape, **more), check_standard=lambda _node: None)  # type: ignore[arg-type]


def called(op: str, dtype: str = "float32", shape: str = "2x3x4", **more: list[str]) -> KernelCall:
    return kernel_call(find(op), made(op, dtype, shape, **more).arguments)


def test_every_name_of_the_table_is_registered() -> None:
    for aclnn, rows in _table().items():
        params = {p.name for p in find(aclnn).signature.params}
        for kernel, *rest in rows:
            assert registrations.registrations(kernel), kernel
            if len(rest) < 2:
                continue
            arguments, outputs = rest[:2]
            assert {*arguments, *outputs} <= params, aclnn
            tensors = {how["input"] for how in arguments.values() if "input" in how} | set(outputs.values())
            attributes = {how["attr"] for how in arguments.values() if "attr" in how}
            assert any(
                tensors <= {t.name for t in (*one.inputs, *one.outputs)}
                and attributes <= {a.name for a in one.attributes}
                for one in registrations.registrations(kernel)
            ), aclnn


def test_a_call_gives_every_tensor_once_and_in_the_registered_order() -> None:
    drawn = random.Random(3).sample(sorted(_table()), 120)
    seen = 0
    for aclnn in drawn:
        try:
            case = made(aclnn, "float16")
            call = kernel_call(find(aclnn), case.arguments)
        except (NoKernel, OpcliError):
            continue
        seen += 1
        orders = [
            ([t.name for t in one.inputs], [t.name for t in one.outputs])
            for one in registrations.registrations(call.type)
        ]
        assert ([t.name for t in call.inputs], [t.name for t in call.outputs]) in orders
        given = {t.parameter for t in (*call.inputs, *call.outputs)} - {None}
        unused = {"buffer"} if aclnn == "aclnnLogSigmoidBackward" else set()  # PyTorch's, for the CPU alone
        assert given | unused == {
            n for n, a in case.arguments.items() if isinstance(a, TensorSpec) or (isinstance(a, tuple) and a)
        }
    assert seen > 30


@pytest.mark.parametrize(
    ("op", "attrs", "kernel", "attributes"),
    [
        ("elu_backward", ["alpha=2"], "EluGradV2", {"alpha": 2.0, "scale": 1.0, "is_result": False}),
        ("add", [], "Add", {}),
        ("add", ["alpha=2.5"], "Axpy", {"alpha": 2.5}),
        ("gelu_v2", ["approximate=1"], "GeluV2", {"approximate": "tanh"}),
        ("softmax", ["dim=-1"], "SoftmaxV2", {"axes": (-1,)}),
        ("threshold_backward", ["threshold=0"], "ReluGrad", {}),
        ("logit_grad", [], "LogitGrad", {"eps": -1.0}),
    ],
)
def test_attributes_arrive_under_the_kernels_names(
    op: str, attrs: list[str], kernel: str, attributes: dict[str, object]
) -> None:
    call = called(op, attrs=attrs)
    assert call.type == kernel
    assert attributes.items() <= {name: value for name, _, value in call.attributes}.items()


@pytest.mark.parametrize(
    ("op", "dtype", "more", "reason"),
    [
        ("threshold_backward", "float32", {"attrs": ["threshold=1"]}, "threshold is 0"),
        ("acos", "int32", {}, "no registered dtype column of Acos has x int32"),
        ("logit_grad", "float32", {"inputs": ["x=float32[2,3,4]@padded"]}, "x is not contiguous"),
        ("logit_grad", "float32", {"outputs": ["out=float32[2,3,4]@reversed"]}, "out is not contiguous"),
        ("logit_grad", "float32", {"inputs": ["x=null"]}, "x of the kernel is needed"),
        ("elu_backward", "float32", {"inputs": ["gradOutput=float16[2,3,4]"]}, "same_dtype"),
        ("batch_norm_elemt_backward", "float32", {}, "no public source"),
        ("foreach_mul_scalar_list", "float32", {"attrs": ["scalars=[2]"]}, "scalars has no counterpart"),
    ],
)
def test_a_call_that_is_none_of_one_kernel_says_why(
    op: str, dtype: str, more: dict[str, list[str]], reason: str
) -> None:
    with pytest.raises(NoKernel, match=reason):
        called(op, dtype, **more)


@pytest.mark.skipif(not FACTS.exists(), reason="the facts are not beside this checkout")
def test_the_table_says_what_the_facts_say() -> None:
    facts = json.loads(Path(FACTS).read_text("utf-8"))
    told = {(f["op_type"], f["aclnn"]) for f in facts.values() if f.get("aclnn")}
    assert told == {(row[0], aclnn) for aclnn, rows in _table().items() for row in rows}
    for fact in facts.values():
        rows = [row for row in _table().get(fact.get("aclnn"), ()) if row[0] == fact["op_type"]]
        if rows and len(rows[0]) > 2:
            assert len(rows[0][3] if len(rows[0]) > 3 else ()) == len(fact["conditions"])
