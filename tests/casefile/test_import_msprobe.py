"""msprobe's dump.json: whose calls are judged, what is skipped and why, and what strangers' dumps cannot do."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

torch = pytest.importorskip("torch")
F = torch.nn.functional

from ascend_opcli.execution.runner import Settings, run_cases  # noqa: E402
from ascend_opcli.model import Case, FromFile, Result, TensorSpec, VerdictKind  # noqa: E402
from tests.casefile.foreign_files import loaded  # noqa: E402
from tests.casefile.msprobe_dumps import Dump  # noqa: E402
from tests.conftest import Opcli  # noqa: E402

X = torch.linspace(-2.0, 2.0, 24).reshape(4, 6)


def results(dump: Dump) -> dict[str, Result]:
    return {r.case.name: r for r in run_cases(loaded(dump.write()), Settings())}


def only(dump: Dump) -> Result:
    (result,) = results(dump).values()
    return result


def skipped(dump: Dump) -> str:
    (case,) = loaded(dump.write())
    return case.skip


# --- the example of the public description ----------------------------------------------------------------------


def test_the_documented_call_of_relu(tmp_path: Path) -> None:
    """Functional.relu.0.forward and .backward, with the keys that the description of the file shows."""
    dump = Dump(tmp_path)
    x = X.clone().requires_grad_()
    y = dump.call("Functional.relu", F.relu, x)
    grad = torch.ones_like(X)
    y.backward(grad)
    dump.backward("Functional.relu", grad, x.grad)
    text = dump.write().read_text("utf-8")
    assert {"Max", "Min", "Mean", "Norm", "requires_grad", "data_name"} <= set(
        json.loads(text)["data"]["Functional.relu.0.forward"]["input_args"][0]
    )
    found = results(dump)
    assert [(r.case.operator, r.verdict.word) for r in found.values()] == [
        ("aclnnRelu", VerdictKind.PASS),
        ("aclnnThresholdBackward", VerdictKind.PASS),
    ]


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
def test_linear_in_every_dtype(tmp_path: Path, dtype: Any) -> None:
    dump = Dump(tmp_path)
    weight, bias = X.to(dtype), torch.ones(4, dtype=dtype)
    dump.call("Functional.linear", F.linear, X.to(dtype), weight)
    dump.call("Functional.linear", F.linear, X.to(dtype), weight, bias)
    dump.call("Functional.linear", F.linear, X.to(dtype)[None], weight, bias=bias)
    first, second, third = results(dump).values()
    assert (first.case.operator, first.verdict.word) == ("aclnnMatmul", VerdictKind.PASS)
    assert (second.case.operator, second.verdict.word) == ("aclnnAddmm", VerdictKind.PASS)
    assert third.verdict.word is VerdictKind.SKIP
    assert "log aclnnMatmul and aclnnInplaceAdd" in third.verdict.reason
    # torch_npu passes the transposed view of the weight.
    view = first.case.arguments["mat2"]
    assert isinstance(view, TensorSpec)
    assert (view.shape, view.strides, view.layout) == ((6, 4), (1, 6), "transposed")


def test_other_machines_that_are_wrong_fail(tmp_path: Path) -> None:
    dump = Dump(tmp_path)
    dump.add("Functional.softmax", torch.softmax(X, 0), X, dim=-1)
    dump.add("Torch.add", X + 1, X, X)
    dump.add("Tensor.__mul__", X, X, 2.0)
    axis, sum_, input_ = results(dump).values()
    assert {axis.verdict.word, sum_.verdict.word, input_.verdict.word} == {VerdictKind.FAIL}
    assert "INPUT RETURNED: out is the input self" in input_.verdict.reason


def test_a_result_of_another_shape_or_dtype_fails(tmp_path: Path) -> None:
    dump = Dump(tmp_path)
    dump.add("Torch.abs", X.abs().T, X)
    dump.add("Torch.sum", X.sum(), X, 0)
    dump.call("Torch.neg", torch.neg, X)
    torch.save(X.half(), tmp_path / "dump_tensor_data" / "Torch.neg.0.forward.output.0.pt")
    shape, scalar, dtype = results(dump).values()
    assert shape.verdict.reason.startswith(
        "WRONG SHAPE: out: Torch.abs.0.forward.output.0.pt has the shape [6, 4]"
    )
    assert scalar.verdict.word is not VerdictKind.PASS
    assert dtype.verdict.reason.startswith("WRONG DTYPE: out: Torch.neg.0.forward.output.0.pt holds float16")


def test_tensors_as_npy(tmp_path: Path) -> None:
    import numpy as np

    dump = Dump(tmp_path)
    dump.call("Torch.exp", torch.exp, X)
    for entry in (e for part in ("input_args", "output") for e in dump.data["Torch.exp.0.forward"][part]):
        old = tmp_path / "dump_tensor_data" / entry["data_name"]
        entry["data_name"] = entry["data_name"].replace(".pt", ".npy")
        np.save(tmp_path / "dump_tensor_data" / entry["data_name"], torch.load(old).numpy())
        old.unlink()
    assert only(dump).verdict.word is VerdictKind.PASS


# --- what is skipped --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("api", "function", "args", "words"),
    [
        ("Functional.conv2d", F.conv2d, (X[None, None], torch.ones(1, 1, 2, 2)), "log aclnnConvolution with"),
        ("Tensor.__getitem__", torch.Tensor.__getitem__, (X, 0), "log aclnnIndex with"),
        (
            "Torch.cdist",
            torch.cdist,
            (X, X),
            "is no single aclnn call with the same arguments; log aclnnCdist with",
        ),
        ("Torch.topk", torch.topk, (X, 2), "log aclnnTopk with"),
        (
            "Torch.argmax",
            torch.argmax,
            (X,),
            "Torch.argmax is no single aclnn call with these arguments; log aclnnArgMax",
        ),
        (
            "Functional.softmax",
            lambda x, d, **_: x.softmax(d),
            (X, 0, 3, torch.float64),
            "with these arguments",
        ),
        ("Tensor.view", torch.Tensor.view, (X, 24), "Tensor.view makes a view: no operator runs"),
        ("Distributed.all_reduce", lambda x: x, (X,), "Distributed.all_reduce is a collective of HCCL"),
        ("Torch.kron", torch.kron, (X, X), "log its aclnn calls with"),
    ],
)
def test_what_is_no_one_call(tmp_path: Path, api: str, function: Any, args: Any, words: str) -> None:
    dump = Dump(tmp_path)
    dump.add(api, function(*args[:2]), *args)
    reason = skipped(dump)
    assert words in reason
    calls_operators = "view" not in words and "collective" not in words
    assert ('TORCH_NPU_LOGS="+op_plugin"' in reason) == calls_operators


@pytest.mark.parametrize("held", [torch.float16, torch.float64, torch.int32])
def test_an_input_of_another_dtype_than_the_dump_says_is_not_cast(tmp_path: Path, held: Any) -> None:
    """The result was made from other values than these."""
    dump = Dump(tmp_path)
    dump.call("Torch.exp", torch.exp, X)
    torch.save(X.to(held), tmp_path / "dump_tensor_data" / "Torch.exp.0.forward.input.0.pt")
    name = str(held).removeprefix("torch.")
    assert skipped(dump) == (
        f"dump_tensor_data/Torch.exp.0.forward.input.0.pt holds {name}, the dump says float32"
    )


WHOLE = torch.arange(-6, 6, dtype=torch.int32).reshape(3, 4)


@pytest.mark.parametrize(
    ("api", "function", "args", "kwargs"),
    [
        ("Torch.clamp", torch.clamp, (WHOLE, -2.5, 3.5), {}),
        ("Torch.clip", torch.clip, (WHOLE,), {"min": 0.5}),
        ("Tensor.clamp", torch.Tensor.clamp, (WHOLE,), {"max": 1.5}),
        ("Torch.clamp_min", torch.clamp_min, (WHOLE, 0.5), {}),
        ("Torch.clamp_max", torch.clamp_max, (WHOLE, 0.5), {}),
        ("Torch.masked_fill", torch.masked_fill, (X[0], X > 0, 0.0), {}),
        ("Tensor.masked_fill", torch.Tensor.masked_fill, (X[:1], X > 0, torch.tensor(2.0)), {}),
    ],
)
def test_what_an_operator_computes_otherwise_is_no_call_of_it(
    tmp_path: Path, api: str, function: Any, args: Any, kwargs: Any
) -> None:
    """Bounds of whole numbers are whole numbers to the operator; what is written in place cannot grow."""
    dump = Dump(tmp_path)
    dump.add(api, function(*args, **kwargs), *args, **kwargs)
    assert "is no single aclnn call with these arguments" in skipped(dump)


@pytest.mark.parametrize("first", [(4,), (1,), (3, 1), (3, 4)])
def test_addr_takes_a_first_tensor_that_broadcasts(tmp_path: Path, first: Any) -> None:
    dump = Dump(tmp_path)
    dump.call("Torch.addr", torch.addr, torch.ones(first), torch.arange(3.0), torch.arange(4.0))
    assert only(dump).verdict.word is VerdictKind.PASS


@pytest.mark.parametrize(
    ("api", "args", "kwargs"),
    [
        ("Functional.relu", (X,), {"inplace": True}),
        ("Functional.relu", (X, True), {}),
        ("Functional.relu_", (X,), {}),
        ("Tensor.add_", (X, X), {}),
        ("Tensor.__iadd__", (X, 1.0), {}),
        ("Torch.add", (X, X), {"out": X}),
    ],
)
def test_calls_in_place(tmp_path: Path, api: str, args: Any, kwargs: Any) -> None:
    dump = Dump(tmp_path)
    dump.add(api, X, *args, **kwargs)
    assert re.search(
        "in place: the dump holds its input as it was overwritten; log|which the dump shows", skipped(dump)
    )


@pytest.mark.parametrize(
    ("api", "function", "args", "kwargs", "operator"),
    [
        ("Functional.relu", F.relu, (), {"inplace": True}, "aclnnInplaceRelu"),
        ("Functional.relu", F.relu, (True,), {}, "aclnnInplaceRelu"),
        ("Functional.elu", F.elu, (0.5,), {"inplace": True}, "aclnnInplaceElu"),
        ("Torch.relu_", torch.relu_, (), {}, "aclnnInplaceRelu"),
        ("Tensor.add_", torch.Tensor.add_, (X.flip(0),), {"alpha": 2}, "aclnnInplaceAdd"),
        ("Tensor.mul_", torch.Tensor.mul_, (2.5,), {}, "aclnnInplaceMuls"),
        ("Tensor.__iadd__", torch.Tensor.__iadd__, (1.5,), {}, "aclnnInplaceAdds"),
        ("Tensor.__imul__", torch.Tensor.__imul__, (X,), {}, "aclnnInplaceMul"),
        ("Tensor.exp_", torch.Tensor.exp_, (), {}, "aclnnInplaceExp"),
        ("Tensor.addcmul_", torch.Tensor.addcmul_, (X, X), {"value": 0.5}, "aclnnInplaceAddcmul"),
        ("Tensor.tril_", torch.Tensor.tril_, (), {}, "aclnnInplaceTril"),
        ("Tensor.masked_fill_", torch.Tensor.masked_fill_, (X > 0, 9.0), {}, "aclnnInplaceMaskedFillScalar"),
    ],
)
@pytest.mark.parametrize("whole", [False, True], ids=["result", "all-arguments"])
def test_calls_in_place_whose_input_was_dumped_before(
    tmp_path: Path, api: str, function: Any, args: Any, kwargs: Any, operator: str, whole: bool
) -> None:
    """Older versions dump all arguments after such a call, newer ones its result: the first is what was written."""
    dump = Dump(tmp_path)
    right = function(X.clone(), *args, **kwargs)
    tensors = (right, *(a for a in args if isinstance(a, torch.Tensor)))
    dump.add(api, tensors if whole else right, X, *args, **kwargs)
    result = only(dump)
    assert (result.case.operator, result.verdict.word) == (operator, VerdictKind.PASS)
    dump = Dump(tmp_path / "wrong")
    dump.add(api, right + 1, X, *args, **kwargs)
    assert only(dump).verdict.word is VerdictKind.FAIL


def test_the_gradient_of_a_call_in_place(tmp_path: Path) -> None:
    dump = Dump(tmp_path)
    dump.add("Functional.relu", X, X, inplace=True)
    dump.backward("Functional.relu", X, X)
    _, backward = loaded(dump.write())
    assert "the gradient of Functional.relu in place" in backward.skip


def test_gradients_without_what_they_need(tmp_path: Path) -> None:
    dump = Dump(tmp_path)
    dump.call("Functional.relu", F.relu, X)
    dump.backward("Functional.relu", X, X)
    del dump.data["Functional.relu.0.forward"]
    assert "has no Functional.relu.0.forward with the inputs of this gradient" in skipped(dump)
    dump.call("Torch.exp", torch.exp, X)
    dump.backward("Torch.exp", X, X)
    assert "the gradient of Torch.exp is no single aclnn call" in loaded(dump.write())[-1].skip


def test_the_gradient_of_another_input_is_not_taken_for_that_of_the_first(tmp_path: Path) -> None:
    dump = Dump(tmp_path)
    target = X.flip(0).requires_grad_()
    loss = dump.call("Functional.mse_loss", F.mse_loss, X, target)
    loss.backward()
    dump.backward("Functional.mse_loss", torch.ones(()), (None, target.grad))
    backward = loaded(dump.write())[-1]
    assert "no gradient of the first input" in backward.skip
    x = X.clone().requires_grad_()
    dump.call("Functional.mse_loss", F.mse_loss, x, target).backward()
    dump.backward("Functional.mse_loss", torch.ones(()), (x.grad, target.grad))
    assert results(dump)["Functional.mse_loss.1.backward"].verdict.word is VerdictKind.PASS


def test_modules_and_mindspore(tmp_path: Path) -> None:
    dump = Dump(tmp_path, level="mix")
    dump.call("Torch.abs", torch.abs, X)
    call = dump.data.pop("Torch.abs.0.forward")
    for name in (
        "Module.conv2.Conv2d.forward.0",
        "Module.conv2.Conv2d.parameters_grad",
        "Cell.a.Dense.forward.0",
    ):
        dump.data[name] = call
    assert all("a module and no API" in case.skip for case in loaded(dump.write()))
    dump.data = {"Functional.relu.0.forward": call}
    dump.head["framework"] = "mindspore"
    assert "a call of MindSpore" in skipped(dump)


def test_calls_that_are_not_whole(tmp_path: Path) -> None:
    dump = Dump(tmp_path)
    names = ("Torch.abs", "Torch.neg", "Torch.exp", "Torch.ceil", "Torch.floor", "Torch.sin", "Torch.cos")
    for name in names:
        dump.call(name, getattr(torch, name[6:]), X)
    data = {name: dump.data[f"{name}.0.forward"] for name in names}
    del data["Torch.abs"]["input_args"]
    del data["Torch.neg"]["output"]
    data["Torch.exp"]["input_args"][0].pop("data_name")
    (tmp_path / "dump_tensor_data" / data["Torch.ceil"]["output"][0]["data_name"]).unlink()
    data["Torch.floor"]["input_args"][0]["dtype"] = "torch.qint8"
    data["Torch.sin"]["input_args"][0]["shape"] = [4, -6]
    data["Torch.cos"]["input_args"] = [{"type": "slice", "value": [0, 1, None]}]
    said = [case.skip for case in loaded(dump.write())]
    words = (
        "the dump has no inputs of this call", "the dump has no result of this call", "names no file for one",
        "there is no dump_tensor_data/Torch.ceil.0.forward.output.0.pt", "qint8", "no list of whole numbers",
        "an argument is a slice",
    )  # fmt: skip
    for reason, word in zip(said, words, strict=True):
        assert word in reason


# --- strangers' dumps -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    [
        "../secret.pt",
        "/etc/passwd",
        "a/../../secret.pt",
        "..\\secret.pt",
        "x.txt",
        "x.pt\0",
        "",
        7,
        None,
        "x" * 300 + ".pt",
    ],
)
def test_a_data_name_does_not_leave_the_folder(tmp_path: Path, name: Any) -> None:
    folder = tmp_path / "dump"
    dump = Dump(folder)
    dump.call("Torch.abs", torch.abs, X)
    torch.save(X, tmp_path / "secret.pt")
    dump.data["Torch.abs.0.forward"]["input_args"][0]["data_name"] = name
    reason = skipped(dump)
    assert "is no name of a .pt or .npy file" in reason or "names no file" in reason


def test_a_link_out_of_the_folder(tmp_path: Path) -> None:
    folder = tmp_path / "dump"
    dump = Dump(folder)
    dump.call("Torch.abs", torch.abs, X)
    torch.save(X, tmp_path / "secret.pt")
    for part in ("input_args", "output"):
        link = folder / "dump_tensor_data" / dump.data["Torch.abs.0.forward"][part][0]["data_name"]
        before = link.read_bytes()
        link.unlink()
        link.symlink_to(tmp_path / "secret.pt")
        assert "lies outside the case file's folder" in skipped(dump)
        link.unlink()
        link.write_bytes(before)


def test_a_pickle_in_an_input_or_a_result_runs_nothing(tmp_path: Path) -> None:
    import os
    import pickle

    class Evil:
        def __reduce__(self) -> Any:
            return os.system, (f"touch {tmp_path / 'ran'}",)

    dump = Dump(tmp_path)
    dump.call("Torch.abs", torch.abs, X)
    dump.call("Torch.neg", torch.neg, X)
    folder = tmp_path / "dump_tensor_data"
    torch.save({"a": Evil()}, folder / "Torch.abs.0.forward.input.0.pt")
    (folder / "Torch.neg.0.forward.output.0.pt").write_bytes(pickle.dumps(Evil()))
    found = results(dump)
    assert found["Torch.abs.0.forward"].verdict.word is VerdictKind.SKIP
    assert "something else than one plain tensor" in found["Torch.abs.0.forward"].verdict.reason
    assert found["Torch.neg.0.forward"].verdict.word is VerdictKind.FAIL
    assert "UNREADABLE: out: Torch.neg.0.forward.output.0.pt" in found["Torch.neg.0.forward"].verdict.reason
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("part", ["input", "output"])
def test_a_truncated_tensor(tmp_path: Path, part: str) -> None:
    dump = Dump(tmp_path)
    dump.call("Torch.abs", torch.abs, X)
    path = tmp_path / "dump_tensor_data" / f"Torch.abs.0.forward.{part}.0.pt"
    path.write_bytes(path.read_bytes()[:-300])
    result = only(dump)
    assert result.verdict.word is (VerdictKind.ERROR if part == "input" else VerdictKind.FAIL)


def test_shapes_that_the_files_do_not_have(tmp_path: Path) -> None:
    dump = Dump(tmp_path)
    dump.call("Torch.abs", torch.abs, X)
    dump.data["Torch.abs.0.forward"]["input_args"][0]["shape"] = [1 << 30, 6]
    assert "has the shape [4, 6], but the tensor has" in skipped(dump)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"task": 1, "level": 1, "dump_data_dir": "", "data": {', "this is not JSON"),
        (
            '{"task": 1, "level": 1, "dump_data_dir": "", "data": {"a": 1, "a": 2}}',
            "the call 'a' is repeated",
        ),
        ('{"task": 1, "level": 1, "dump_data_dir": "", "data": []}', "'{' is missing"),
        ('{"task": 1, "level": 1, "dump_data_dir": "", "data": {}} x', "something follows"),
        ('{"task": 1, "level": 1, "dump_data_dir": "", "data": {}}', "the file has no cases"),
        (
            '{"task": 1, "level": 1, "dump_data_dir": "", "data": {"a": ' + "[" * 100_000 + "}}",
            "nested too deep",
        ),
    ],
)
def test_broken_files(tmp_path: Path, opcli: Opcli, text: str, words: str) -> None:
    (tmp_path / "dump.json").write_text(text)
    done = opcli("run", tmp_path / "dump.json")
    assert done.code == 2
    assert words in done.err
    assert done.err.count("\n") == 1


@pytest.mark.parametrize(
    "entry",
    [
        None, 1, "x", [], {"input_args": 1}, {"input_args": [[[[[[[[[[[]]]]]]]]]]], "output": []},
        {"input_args": [{"type": 5}]}, {"input_args": [], "input_kwargs": []},
        {"input_args": [{"type": "torch.Tensor", "dtype": 5, "shape": "x"}], "output": [{}]},
        {"input_args": [{"type": "int", "value": "x"}]}, {"input_args": [{"type": "float", "value": "zz"}]},
        {"input_args": [], "input_kwargs": {"axis": None, "dim": None}},
    ],
)  # fmt: skip
@pytest.mark.parametrize(
    "name", ["Torch.abs.0.forward", "Torch.sum.0.backward", "Torch", "", "Torch.a b.0.forward"]
)
def test_any_entry_is_a_case_with_a_reason(tmp_path: Path, name: str, entry: Any) -> None:
    dump = Dump(tmp_path)
    dump.data[name] = entry
    assert skipped(dump)


# --- statistics -------------------------------------------------------------------------------------------------


def values_of(case: Case, name: str) -> Any:
    from ascend_opcli.reference.call import make_call
    from ascend_opcli.reference.resolve import operator_of
    from ascend_opcli.tensors.layout import view

    operator = operator_of(case, allow_code=False)
    return view(make_call(case, operator.signature, "atlas_a2").arguments[name])


def test_statistics_give_invented_values_within_the_extremes(tmp_path: Path) -> None:
    dump = Dump(tmp_path, "statistics")
    dump.call("Torch.add", torch.add, X, X.abs())
    dump.call("Torch.index_select", torch.index_select, X, 0, torch.tensor([3, 1]))
    dump.call("Torch.logical_not", torch.logical_not, X > 0)
    add, select, negate = loaded(dump.write())
    for case in (add, select, negate):
        assert not case.skip
        assert not case.got
        assert case.tags == ("invented",)
        assert case.description.startswith("Values are invented, within the dumped extremes")
    for name, low, high in (("self", -2, 2), ("other", 0, 2)):
        drawn = values_of(add, name)
        assert low <= drawn.min()
        assert drawn.max() <= high
    assert set(values_of(select, "index")) <= {1, 2, 3}
    for result in run_cases([add, select, negate], Settings()):
        assert (result.verdict.word, result.backend) == (VerdictKind.PASS, "host")


def test_extremes_that_are_not_finite(tmp_path: Path) -> None:
    dump = Dump(tmp_path, "statistics")
    dump.call("Torch.abs", torch.abs, X)
    entry = dump.data["Torch.abs.0.forward"]["input_args"][0]
    entry |= {"Max": float("inf"), "Max_except_inf_nan": 1.5, "Min": -1.0}
    drawn = values_of(loaded(dump.write())[0], "self")
    assert drawn.max() == float("inf")
    assert drawn.min() >= -1
    assert sorted(drawn.reshape(-1))[-2] <= 1.5
    entry |= {"Max": "nan", "Min": "nan", "Max_except_inf_nan": "nan", "Min_except_inf_nan": "nan"}
    assert (
        values_of(loaded(dump.write())[0], "self") != values_of(loaded(dump.write())[0], "self")
    ).sum() == 1
    entry |= {"Max": None, "Min": None}
    assert loaded(dump.write())[0].skip == ""


# --- the commands -----------------------------------------------------------------------------------------------


def test_a_run_says_what_was_judged_and_what_not(tmp_path: Path, opcli: Opcli) -> None:
    dump = Dump(tmp_path)
    dump.call("Functional.relu", F.relu, X)
    dump.add("Torch.add", X, X, X)
    dump.call("Functional.conv2d", F.conv2d, X[None, None], torch.ones(1, 1, 2, 2))
    path = dump.write()
    done = opcli("run", path, "--json", tmp_path / "out.json")
    assert done.code == 1
    assert "3 cases: 2 judged, 1 SKIP" in done.out
    assert (
        'to log them: TORCH_NPU_LOGS="+op_plugin" TORCH_NPU_LOGS_FILTER="+aclnnConvolution"; opcli'
        in done.out
    )
    assert "2 cases judged by the results that came with the file; nothing was run for them" in done.out
    assert "1 SKIP: Functional.conv2d is no single aclnn call with the same arguments" in done.out
    assert "no operator was run" not in done.out
    found = json.loads((tmp_path / "out.json").read_text())["results"]
    assert {r["backend"] for r in found if r["verdict"] != "SKIP"} == {"outputs"}


def test_the_yaml_loads_to_the_same_cases(tmp_path: Path, opcli: Opcli) -> None:
    dump = Dump(tmp_path)
    dump.call("Functional.linear", F.linear, X, X)
    dump.call("Torch.cat", torch.cat, [X, X], dim=1)
    dump.call("Functional.layer_norm", F.layer_norm, X, [6])
    dump.call("Torch.kron", torch.kron, X, X)
    path = dump.write()
    done = opcli("cases", "import", path, "--out", tmp_path)
    assert done.code == 0, done.err
    assert "3 of 4 cases imported" in done.err
    whole = [c for c in loaded(path) if not c.skip]
    again = loaded(tmp_path / "dump.yaml")
    for one, other in zip(whole, again, strict=True):
        assert (one.name, one.operator, one.arguments, one.got) == (
            other.name,
            other.operator,
            other.arguments,
            other.got,
        )
        assert all(isinstance(data, FromFile) for data in one.got.values())
    assert opcli("run", tmp_path / "dump.yaml").code == 0
    elsewhere = opcli("cases", "import", path, "--out", tmp_path / "other")
    assert elsewhere.code == 2
    assert "import it into that folder" in elsewhere.err


def test_the_operator_is_run_where_a_backend_is_named(tmp_path: Path, opcli: Opcli) -> None:
    dump = Dump(tmp_path)
    dump.add("Torch.add", X, X, X)
    path = dump.write()
    assert opcli("run", path).code == 1
    done = opcli("run", path, "--backend", "host")
    assert done.code == 0
    assert "no operator was run" in done.out


def test_what_statistics_cannot_judge_is_said(tmp_path: Path, opcli: Opcli) -> None:
    dump = Dump(tmp_path, "statistics")
    dump.call("Torch.add", torch.add, X, X)
    path = dump.write()
    done = opcli("run", path)
    assert "no operator was run" in done.out
    assert "1 case with invented values: the dump holds statistics alone" in done.out
    assert (
        "hold no tensor values" in opcli("cases", "import", path).out
        or "holds no tensor values" in opcli("cases", "import", path).out
    )


def test_a_folder_of_ranks(tmp_path: Path, opcli: Opcli) -> None:
    for rank in ("rank0", "rank1"):
        dump = Dump(tmp_path / "step0" / rank)
        dump.call("Torch.abs", torch.abs, X)
        dump.write()
        (tmp_path / "step0" / rank / "stack.json").write_text('{"Torch.abs.0.forward": ["File x"]}')
    done = opcli("run", tmp_path)
    assert done.code == 0
    assert "2 cases: 2 PASS" in done.out


def test_no_damaged_byte_of_the_archives_records_makes_it_another_kind_of_file(tmp_path: Path) -> None:
    """Every byte of the records of the pickle: its size and its compression are said twice."""
    dump = Dump(tmp_path)
    dump.call("Functional.relu", F.relu, X)
    path = tmp_path / "dump_tensor_data" / "Functional.relu.0.forward.input.0.pt"
    raw = path.read_bytes()
    begin = raw.index(b"PK\x01\x02")  # the first record of the directory, which is the pickle's
    for place in range(begin, raw.index(b"PK\x01\x02", begin + 4)):
        for flip in (1, 0x20, 0x80, 0xFF):
            path.write_bytes(raw[:place] + bytes([raw[place] ^ flip]) + raw[place + 1 :])
            verdict = only(dump).verdict
            assert verdict.word in (VerdictKind.ERROR, VerdictKind.PASS), (
                place - begin,
                flip,
                verdict.reason,
            )


@given(st.data())
@settings(max_examples=40)
def test_a_damaged_byte_of_an_input_is_an_error_that_says_the_file(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    """Whichever byte it is: of the archive's own records, of a name, of the pickle or of the values."""
    folder = tmp_path_factory.mktemp("damage")
    dump = Dump(folder)
    dump.call("Functional.relu", F.relu, X)
    assert only(dump).verdict.word is VerdictKind.PASS
    path = folder / "dump_tensor_data" / "Functional.relu.0.forward.input.0.pt"
    raw = path.read_bytes()
    place = data.draw(st.integers(0, len(raw) - 1))
    path.write_bytes(
        raw[:place]
        + bytes([raw[place] ^ data.draw(st.sampled_from([1, 0x20, 0x80, 0xFF]))])
        + raw[place + 1 :]
    )
    verdict = only(dump).verdict
    # A byte between the members belongs to nothing.
    assert verdict.word in (VerdictKind.ERROR, VerdictKind.PASS)
    if verdict.word is VerdictKind.ERROR:
        assert "input.0.pt" in verdict.reason
        assert not re.search(r"Error\b|Errno|Bad |codec|b'", verdict.reason)
