"""Reading a file computes no large value, whatever its expressions say; computing is left behind on a signal."""

from __future__ import annotations

import contextlib
import json
import signal
import threading
import tracemalloc
from collections.abc import Callable, Iterator

import numpy as np
import pytest

from ascend_opcli.casefile.open import load_text
from ascend_opcli.errors import CaseFileError
from ascend_opcli.execution.runner import Settings, run_cases
from ascend_opcli.expression.functions import FUNCTIONS, distinct
from ascend_opcli.expression.language import SMALL, compile_expression, memory_bound, sized_together
from ascend_opcli.expression.shapes import Described
from ascend_opcli.model import Case, VerdictKind

LARGE = {
    "numbers": "ones((2**12, 2**12))",
    "whole numbers": "arange(2**24)",
    "a list": "(arange(2**24), arange(2**24))",
    "a shape": "(2**12, 2**12)",
    "a length": "2**24",
}
"""Constants of which no value is needed to tell a shape; the arrays take 128 MiB."""

SIGNATURE = "aclnnStatus aclnnMineGetWorkspaceSize(const aclTensor *x, aclTensor *out)"


def load(cases: str) -> tuple[Case, ...]:
    head = f"op: aclnnMine\nsignature: {SIGNATURE}\ndefaults: {{inputs: {{x: {{dtype: float32, shape: [4]}}}}}}\n"
    return load_text(head + cases, "f.yaml", check_standard=lambda *_: None).cases


@pytest.fixture
def memory() -> Iterator[Callable[[], int]]:
    tracemalloc.start()
    try:
        yield lambda: tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("name", [n for n in FUNCTIONS if n not in ("isnull", "einsum")])
def test_no_function_computes_with_what_is_large_to_tell_a_shape(
    name: str, memory: Callable[[], int]
) -> None:
    for large in LARGE.values():
        for count in range(1, FUNCTIONS[name].positional + 1):
            for arguments in ([large] * count, [large] + ["1"] * (count - 1), ["x"] * (count - 1) + [large]):
                expression = compile_expression(f"{name}({', '.join(arguments)})", ["x"])
                try:
                    expression.shapes(x=Described((4,)))
                except ValueError:
                    continue
    assert memory() < 2**22


@pytest.mark.parametrize(
    "text",
    [
        "unique(arange(2**26))",
        "i0(ones((2**27,)))",
        "sort(arange(2**24) * 1.5)",
        "arange(2**24) % 7 @ arange(2**24)",
        "einsum('i,j->', arange(2**20), arange(2**20))",
        "diff(ones(4), n=10**9)",
        "pad(x, 10**7, mode='reflect')",
        "x if sum(arange(2**24)) > 0 else 2 * x",
        "reshape(x, (2, 2)) if max(sort(arange(2**24))) > 0 else x",
    ],
)
@pytest.mark.parametrize("where", ["reference", "data"])
def test_a_file_is_read_without_computing(text: str, where: str) -> None:
    data = {"inputs": {"x": {"dtype": "float32", "shape": [4], "data": {"expr": text}}}}
    case = {"reference": text} if where == "reference" else data
    load("cases: [{reference: x}]\n")  # loads the catalog
    tracemalloc.start()
    try:
        with contextlib.suppress(CaseFileError):
            load(f"cases: [{json.dumps(case)}]\n")
        assert tracemalloc.get_traced_memory()[1] < 2**23
    finally:
        tracemalloc.stop()


def test_what_shapes_hang_on_is_still_worked_out() -> None:
    told = compile_expression("reshape(x, tuple_of)".replace("tuple_of", "(size(x) // 2, 2)"), ["x"])
    assert told.shapes(x=Described((8,))) == ((4, 2),)
    told = compile_expression("repeat(x, cumsum(array((1, 2))), axis=0)", ["x"])
    assert told.shapes(x=Described((2, 3))) == ((4, 3),)
    told = compile_expression(f"repeat(x, arange({SMALL + 1}), axis=0)", ["x"])
    assert told.shapes(x=Described((SMALL + 1,))) is None  # the run tells
    told = compile_expression("outer(arange(2**13), arange(2**13)) * x", ["x"])
    assert told.shapes(x=Described((2**13,))) == ((2**13, 2**13),)


def test_a_mistake_in_small_values_is_no_crash() -> None:
    for text in ("take(arange(3), 5)", "reshape(arange(3), (2, 2))", "left_shift(1.5, 1)", "1 // 0"):
        with pytest.raises(ValueError, match=r"the reference|reshape"):
            compile_expression(text, ["x"]).shapes(x=Described((4,)))
    assert [c.open_outputs for c in load("cases: [{reference: 'take(arange(3), 5)'}]\n")] == [("out",)]


COSTLY = "+".join(["sort(arange(4000))"] * 40)


def test_the_cases_of_a_file_share_what_sizes_may_cost() -> None:
    expression = compile_expression(f"reshape(x, (2, 2)) + max({COSTLY})", ["x"])
    with sized_together():
        told = [expression.shapes(x=Described((4,))) for _ in range(100)]
    assert told[0] == ((2, 2),)
    assert told[-1] is None
    assert expression.shapes(x=Described((4,))) == ((2, 2),)


def test_a_case_that_the_budget_does_not_reach_is_sized_by_its_run() -> None:
    sweep = {
        "name": "n",
        "reference": f"reshape(x, (2, 2)) + max({COSTLY})",
        "matrix": {"k": list(range(60))},
        "inputs": {"x": {"dtype": "float32", "shape": [4], "data": "$k"}},
    }
    cases = load(f"cases: [{json.dumps(sweep)}]\n")
    assert (cases[0].open_outputs, cases[-1].open_outputs) == ((), ("out",))
    for result in run_cases([cases[0], cases[-1]], Settings()):
        assert result.verdict.word is VerdictKind.PASS, result.verdict.reason


@pytest.mark.parametrize("kind", ["f8", "i8", "c16", "?", "f4"])
def test_distinct_values_are_those_of_numpy(kind: str) -> None:
    drawn = np.random.default_rng(0).integers(-3, 4, (5, 7)).astype(kind)
    if np.dtype(kind).kind in "fc":
        drawn[1, ::2] = np.nan
    np.testing.assert_array_equal(distinct(drawn), np.unique(drawn))
    assert distinct(drawn[:0]).size == 0


@pytest.mark.parametrize(
    "name", ["i0", "sinc", "erf", "erfc", "erfinv", "sigmoid", "softplus", "float16", "int8"]
)
def test_a_function_with_many_temporaries_takes_its_argument_in_parts(
    name: str, memory: Callable[[], int]
) -> None:
    x = np.linspace(-0.9, 0.9, 3 * 2**17 + 5).reshape(1, -1)
    made = compile_expression(f"{name}(x)", ["x"])(x=x)
    assert memory() < x.nbytes * 2.5 + 2**24
    pieces = [compile_expression(f"{name}(x)", ["x"])(x=x[:, i : i + 9000]) for i in range(0, x.size, 9000)]
    np.testing.assert_array_equal(made, np.concatenate(pieces, axis=1))


def test_a_bound_on_memory_holds_for_intermediate_values() -> None:
    expression = compile_expression("sum(ones((2**20,)))", ["x"])
    assert expression(x=np.ones(1)) == 2**20
    with memory_bound(2**20), pytest.raises(ValueError, match="more than 1,048,576 bytes"):
        expression(x=np.ones(1))
    case = load("cases: [{reference: 'x + sum(ones((2**20,)))'}]\n")
    (result,) = run_cases(case, Settings(memory_limit=2**21))
    assert (result.verdict.word, "more than 2,097,152 bytes" in result.verdict.reason) == (
        VerdictKind.ERROR,
        True,
    )


class Asked(BaseException):
    """What the signal raises."""


# One call of NumPy that takes a second or two, within which Python looks at no signal.
ONE_CALL = "x + einsum('ij,jk,kl->', ones((200, 200)), ones((200, 200)), ones((200, 200)))"
LONG = {
    "reference": {"reference": ONE_CALL},
    "data": {
        "inputs": {"x": {"dtype": "float32", "shape": [4], "data": {"expr": ONE_CALL.replace("x", "1", 1)}}},
        "reference": "x + 1",
    },
}


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="POSIX signals")
@pytest.mark.parametrize("where", LONG)
def test_a_signal_is_heard_within_a_long_call_of_numpy(where: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ascend_opcli.reference.heard._idle", [])
    cases = load(f"cases: [{json.dumps(LONG[where])}]\n")
    before = set(threading.enumerate())

    def asked(*_: object) -> None:
        if any(t.is_alive() for t in threading.enumerate() if t not in before):  # the computation has begun
            raise Asked

    kept = signal.signal(signal.SIGALRM, asked)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.05, 0.05)
        with pytest.raises(Asked):
            list(run_cases(cases, Settings()))
        # What was computing still is: it was left, not waited for.
        left = [t for t in threading.enumerate() if t not in before]
        assert len(left) == 1
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, kept)


def test_the_kind_of_a_failure_passes_through() -> None:
    (result,) = run_cases(load("cases: [{reference: 'x + 1 // 0'}]\n"), Settings())
    assert "division or modulo by zero" in result.verdict.reason
