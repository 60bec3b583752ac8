"""The table of PyTorch APIs: each line judges a real call of PyTorch as right, and a wrong result as wrong."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from ascend_opcli.casefile.files import torch_apis  # noqa: E402
from ascend_opcli.casefile.files.torch_apis import Mismatch, table  # noqa: E402
from ascend_opcli.execution.runner import Settings, run_cases  # noqa: E402
from ascend_opcli.model import VerdictKind  # noqa: E402
from ascend_opcli.operators.documents import catalogued  # noqa: E402
from tests.casefile.foreign_files import loaded  # noqa: E402
from tests.casefile.msprobe_dumps import Dump  # noqa: E402
from tests.casefile.torch_calls import Call, calls  # noqa: E402

CALLS = list(calls())
APIS = sorted({(call.api, call.backward) for call in CALLS})


def dumped(dump: Dump, call: Call, spoil: Any = lambda tensors: tensors) -> None:
    args = call.args
    if call.backward:
        args = tuple(
            a.clone().requires_grad_() if i == 0 and isinstance(a, torch.Tensor) else a
            for i, a in enumerate(args)
        )
    results = call.function(*args, **call.kwargs)
    first = results if isinstance(results, torch.Tensor) else results[0]
    if not call.backward:
        dump.add(call.api, spoil(results), *args, **call.kwargs)
        return
    dump.add(call.api, results, *args, **call.kwargs)
    grad = torch.linspace(-1.0, 1.0, first.numel()).reshape(first.shape)
    first.backward(grad)
    dump.backward(call.api, grad, spoil(args[0].grad))


def judged(dump: Dump, call: Call) -> list[Any]:
    cases = [c for c in loaded(dump.write()) if c.name.endswith("backward" if call.backward else "forward")]
    return list(run_cases(cases, Settings()))


@pytest.mark.parametrize(("api", "backward"), APIS, ids=[f"{a}{':backward' * b}" for a, b in APIS])
def test_a_real_result_passes(tmp_path: Path, api: str, backward: bool) -> None:
    dump = Dump(tmp_path)
    own = [call for call in CALLS if (call.api, call.backward) == (api, backward)]
    for call in own:
        dumped(dump, call)
    results = judged(dump, own[0])
    assert len(results) == len(own)
    for result in results:
        assert result.verdict.word is VerdictKind.PASS, (result.case.name, result.verdict.reason)
        assert result.backend == "outputs"


def wrong(results: Any) -> Any:
    """One element of the last result is another."""
    if isinstance(results, tuple):
        return (*results[:-1], wrong(results[-1]))
    made = results.detach().clone()
    flat = made.reshape(-1)
    flat[-1] = ~flat[-1] if made.dtype is torch.bool else flat[-1] + 3
    return made


@pytest.mark.parametrize(("api", "backward"), APIS, ids=[f"{a}{':backward' * b}" for a, b in APIS])
def test_a_wrong_result_fails(tmp_path: Path, api: str, backward: bool) -> None:
    dump = Dump(tmp_path)
    own = [call for call in CALLS if (call.api, call.backward) == (api, backward)]
    for call in own:
        dumped(dump, call, wrong)
    for result in judged(dump, own[0]):
        assert result.verdict.word is VerdictKind.FAIL, (result.case.name, result.verdict.reason)


def test_every_line_of_the_table_has_a_call() -> None:
    used: set[int] = set()
    for call in CALLS:
        args = [_plain(a) for a in call.args]
        kwargs = {k: _plain(v) for k, v in call.kwargs.items()}
        for line in table().lines[call.api + ":backward" * call.backward]:
            try:
                line.call({**line.bind(args, kwargs), "grad": None, "out": None}, "float32")
            except Mismatch:
                continue
            used.add(line.number)
            break
    assert {line.number for lines in table().lines.values() for line in lines} - used == set()


def _plain(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return torch_apis.TorchTensor(str(value.dtype), tuple(value.shape), {})
    if isinstance(value, torch.dtype):
        return torch_apis.Word(str(value))
    if isinstance(value, (list, tuple)):
        return [_plain(v) for v in value]
    return value


def test_every_operator_of_the_table_is_in_the_catalog() -> None:
    known = set(catalogued.names()) | set(catalogued.names().values())
    named = {line.operator for lines in table().lines.values() for line in lines}
    named |= {call for calls in table().others.values() for call in calls}
    assert named - known == set()
    assert all(re.fullmatch(r"aclnn[A-Z]\w+", name) for name in named)
