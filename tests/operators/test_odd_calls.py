"""No call stops a host run as an error, and nothing that NumPy says reaches a report: drawn over every reference."""

from __future__ import annotations

import random
import re
import warnings
from typing import Any

import pytest
from operator_calls import tensor

from ascend_opcli.casefile.new.calls import Calls, product_for
from ascend_opcli.execution.on_host import Host
from ascend_opcli.execution.runner import Settings, run_case
from ascend_opcli.model import (
    Argument,
    Attribute,
    Case,
    ExpectedStatus,
    Fill,
    Generator,
    Result,
    TensorSpec,
    VerdictKind,
    Where,
)
from ascend_opcli.operators import catalog
from ascend_opcli.operators.operator import Operator
from ascend_opcli.operators.signature import Param
from ascend_opcli.tensors.dtypes import DTYPES, float_format, integer_range

NAMES = sorted(o.name for o in catalog.operators().values() if o.reference is not None)
WORDS = ("float32", "float16", "bfloat16", "float64", "int8", "uint8", "int32", "int64", "bool", "complex64")
NUMBERS = (0, 1, -1, 2.5, 2**40, True, complex(1, 2), 1e300, float("nan"), float("inf"))
FOREIGN = re.compile(
    r"Error\b|Warning\b|ufunc|numpy|broadcast together|operands|not iterable|object has no", re.ASCII
)


def odd_data(rng: random.Random, dtype: str) -> Fill | Generator:
    kind = DTYPES[dtype].kind
    if kind == "bool":
        return Generator("integers", (0, 1))
    if kind in ("int", "uint"):
        return Fill(rng.choice([*integer_range(dtype), 0]))
    largest = float_format(dtype).largest
    return Fill(rng.choice([largest, -largest, 0.0, float("nan"), float("inf")]))


def odd_shape(rng: random.Random, shape: tuple[int, ...]) -> tuple[int, ...]:
    at = rng.randrange(len(shape) or 1)
    empty = tuple(0 if i == at else d for i, d in enumerate(shape))
    return rng.choice([(), empty, (1,) * len(shape), shape[1:], (2, *shape)])


def odd_attribute(rng: random.Random, param: Param, value: Argument) -> Argument:
    ints = (0, -1, 1, 3, -9, 100)
    choices: dict[str, list[Any]] = {
        "aclScalar": list(NUMBERS),
        "double": [0.0, -1.0, float("nan"), 1e300],
        "float": [0.0, -1.0, float("nan"), 1e300],
        "bool": [True, False],
        "aclIntArray": [(), (-1,), (0, 0), (1, 2, 3, 4, 5, 6, 7)],
        "aclFloatArray": [(), (float("nan"), 1e30)],
        "aclDataType": list(WORDS),
        "char": ["", "mean", "?"],
        **{word: list(ints) for word in ("int64_t", "int32_t", "int", "int8_t")},
    }
    return Attribute(rng.choice(choices[param.type])) if param.type in choices else value


def drawn(rng: random.Random, operator: Operator) -> dict[str, Argument] | None:
    """An ordinary call with one to three things odd about it; its outputs follow."""
    calls = Calls(operator, product_for(operator))
    base = calls.make(rng.choice(WORDS), calls.base_shape) or calls.make("float32", calls.base_shape)
    if base is None:
        return None
    made = dict(base)
    for _ in range(rng.randint(1, 3)):
        param = rng.choice(operator.signature.params)
        value = made[param.name]
        if not param.is_tensor:
            made[param.name] = odd_attribute(rng, param, value)
        elif param.is_input and isinstance(value, TensorSpec):
            dtype = rng.choice(WORDS) if rng.random() < 0.5 else value.dtype
            shape = odd_shape(rng, value.shape) if rng.random() < 0.4 else value.shape
            made[param.name] = tensor(dtype, odd_data(rng, dtype), shape)
    for param in operator.signature.outputs:
        if not param.is_input:
            default_of = operator.default_members if param.is_list else operator.default_output
            made[param.name] = default_of(param.name, made)
    return {p.name: made[p.name] for p in operator.signature.params}


def judged(operator: Operator, made: dict[str, Argument]) -> Result:
    """The result of a call that its case calls accepted, so that documented lists alone do not refuse it."""
    where = Where("odd", 1, 1)
    case = Case("odd", "odd", operator.name, made, where, status=ExpectedStatus(0))
    return run_case(case, Settings(), Host())


@pytest.mark.parametrize("part", range(6))
def test_whatever_a_call_holds_the_host_has_a_word_for_it(part: int) -> None:
    rng = random.Random(20 + part)
    for name in rng.sample(NAMES, 30):
        operator = catalog.find(name)
        made = drawn(rng, operator)
        if made is None:
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            result = judged(operator, made)
        said = f"{name}: {result.verdict.word.value} {result.verdict.reason}: {made}"
        assert result.verdict.word is not VerdictKind.ERROR, said
        assert not FOREIGN.search(result.verdict.reason or ""), said


def scalars(**values: Any) -> dict[str, Argument]:
    return {name: Attribute(value) for name, value in values.items()}


ODD: dict[str, dict[str, Argument]] = {
    "arange": scalars(start=0.0, end=0.3, step=0.1),
    "bitwise_xor_scalar": {"self": tensor("int32", Fill(3), (4,)), **scalars(other=2.5)},
    "polar": {"input": tensor("float16", Fill(1.0), (4,)), "angle": tensor("float32", Fill(1.0), (3, 4))},
    "sinc": {"self": tensor("float32", Fill(3e38), (4,))},
    "index": {
        "self": tensor("float32", Generator("normal", (0, 1)), (4, 4)),
        "indices": (tensor("bool", [True, False, True, True]),),
    },
    "index_add": {
        "self": tensor("float32", Fill(0.0), (4,)),
        "index": tensor("int64", [0, 1]),
        "source": tensor("complex64", Fill(1 + 2j), (2,)),
        **scalars(dim=0, alpha=1.0),
    },
    "repeat_interleave_grad": {
        "yGrad": tensor("float32", Fill(1.0), (4,)),
        "repeats": tensor("int64", [1, 2]),
        **scalars(axis=0),
    },
}


@pytest.mark.parametrize("op", ODD)
def test_calls_that_once_stopped_a_host_run(op: str) -> None:
    operator = catalog.find(op)
    made = dict(ODD[op])
    for param in operator.signature.outputs:
        made[param.name] = operator.default_output(param.name, made)
    result = judged(operator, {p.name: made[p.name] for p in operator.signature.params})
    assert result.verdict.word is not VerdictKind.ERROR
    assert not FOREIGN.search(result.verdict.reason or "")


@pytest.mark.parametrize(
    ("start", "end", "step", "below", "up_to"),
    [
        (0.0, 0.3, 0.1, 3, 3),
        (0.0, 1.0, 0.1, 10, 11),
        (1.0, 0.0, -0.25, 4, 5),
        (0, 7, 3, 3, 3),
        (0.0, -1.0, 0.5, 0, 0),
    ],
)
def test_lengths_of_sequences_are_counted_in_double(
    start: float, end: float, step: float, below: int, up_to: int
) -> None:
    for op, length in (("arange", below), ("range", up_to)):
        operator = catalog.find(op)
        made = scalars(start=start, end=end, step=step)
        made["out"] = operator.default_output("out", made)
        assert made["out"].shape == (length,)  # type: ignore[union-attr]
        assert judged(operator, made).verdict.word is VerdictKind.PASS or not length
