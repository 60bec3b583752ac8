"""Kernels that decide wrongly by their data fail the suites: at NaN, infinities, zeros, thresholds and ties."""

from __future__ import annotations

import dataclasses
import inspect
import itertools
import random
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from ascend_opcli.backends import host
from ascend_opcli.casefile.new.calls import Calls, product_for
from ascend_opcli.casefile.new.decisions import SPECIAL
from ascend_opcli.casefile.new.text import Suite, new_file
from ascend_opcli.casefile.open import load_text
from ascend_opcli.execution.host_check import host_failure
from ascend_opcli.execution.on_host import Host
from ascend_opcli.execution.runner import Settings, run_cases
from ascend_opcli.model import Attribute, Call, Case, Generator, Outcome, TensorSpec, VerdictKind
from ascend_opcli.operators.catalog import find, operators
from ascend_opcli.operators.operator import Operator
from ascend_opcli.reference.call import make_call
from ascend_opcli.reference.evaluate import host_result
from ascend_opcli.reference.omissions import flat
from ascend_opcli.tensors.dtypes import DTYPES
from ascend_opcli.verification.standards.choice import check_for

NAMED = (
    *("relu", "maximum", "clamp", "leaky_relu", "threshold", "hardshrink", "softshrink_backward"),
    *("hardtanh_backward", "round", "is_neg_inf", "ascend_quant"),
)
ELEMENTWISE = sorted(o.short_name for o in operators().values() if o.reference is not None and o.elementwise)


def _of_floats(name: str) -> bool:
    operator = find(name)
    first = Calls(operator, product_for(operator)).first_dtype
    return first is not None and DTYPES[first].kind == "float"


DRAWN = list(itertools.islice(filter(_of_floats, random.Random(12).sample(ELEMENTWISE, 20)), 9))

Fault = Callable[[np.ndarray], np.ndarray]
"""What a wrong kernel takes its input for."""


def _taken_for(where: Callable[[Any], Any], value: float) -> Fault:
    return lambda x: np.where(where(x), x.dtype.type(value), x)


def _stepped(where: Callable[[Any], Any], to: float) -> Fault:
    return lambda x: np.where(where(x), np.nextafter(x, x.dtype.type(to)), x)


def _at(value: float) -> Callable[[Any], Any]:
    return lambda x: x == x.dtype.type(value)


def _tie(x: Any) -> Any:
    return np.isfinite(x) & (abs(x) < 2**10) & (x - np.floor(x) == 0.5)


def faults(attributes: list[float]) -> Iterator[tuple[str, Fault]]:
    """NaN, infinities and zeros that are taken for another number; ``>=`` for ``>`` and the reverse; ties."""
    for value in (0.0, 1.0, -1.0):
        yield f"NaN is {value}", _taken_for(np.isnan, value)
    yield "Inf is -Inf", _taken_for(np.isposinf, -np.inf)
    yield "-Inf is Inf", _taken_for(np.isneginf, np.inf)
    yield "Inf is finite", _taken_for(np.isposinf, 6e4)
    yield "-0 is negative", _taken_for(lambda x: (x == 0) & np.signbit(x), -1e-30)
    yield "0 is positive", _taken_for(lambda x: x == 0, 1e-30)
    for to in (np.inf, -np.inf):
        yield f"ties go to {to}", _stepped(_tie, to)
        for value in dict.fromkeys(
            [*attributes, *(-a for a in attributes), 0.5, -0.5, 1.0, -1.0, 3.0, -3.0, 6.0]
        ):
            yield f"{value} lies beside itself, towards {to}", _stepped(_at(value), to)


def planted(operator: Operator, name: str, fault: Fault) -> Operator:
    """The operator whose reference takes one input for another."""
    reference = operator.reference
    assert reference is not None

    def taken(given: Any) -> Any:
        array = np.asarray(given)
        return fault(array) if array.dtype.kind == "f" else given

    def wrong(**told: Any) -> Any:
        given = told[name]
        told[name] = tuple(map(taken, given)) if isinstance(given, tuple) else taken(given)
        return reference(**told)

    wrong.__signature__ = inspect.signature(reference)  # type: ignore[attr-defined]
    return dataclasses.replace(operator, reference=wrong)


class Kernel(Host):
    """A host whose operator is another."""

    def __init__(self, operator: Operator) -> None:
        self.operator = operator

    def run(self, operator: Operator, case: Case, call: Call) -> Outcome:
        return host.run(self.operator, call)


@dataclasses.dataclass(frozen=True)
class Bench:
    """Cases with their calls and right results."""

    operator: Operator
    cases: list[tuple[Case, Call, dict[str, np.ndarray]]]

    @classmethod
    def of(cls, operator: Operator, cases: list[Case], product: str) -> Bench:
        made = [(c, make_call(c, operator.signature, product)) for c in cases]
        return cls(operator, [(c, call, flat(host_result(operator, call))) for c, call in made])

    def differing(self, wrong: Operator) -> Iterator[Case]:
        """The cases in which a wrong operator's result is none that any standard could take."""
        for case, call, right in self.cases:
            got = flat(host_result(wrong, call))
            if any(_apart(got[n], right[n], self.operator.standard == "quant") for n in right):
                yield case


def _apart(got: np.ndarray, right: np.ndarray, quant: bool) -> bool:
    exact = right.dtype.kind in "iub"
    kind = np.int64 if exact else np.complex128
    allowed = float(quant) if exact else 1e-2
    return not np.allclose(
        got.astype(kind), right.astype(kind), rtol=0 if exact else 1e-2, atol=allowed, equal_nan=True
    )


def dense(case: Case, attributes: list[float]) -> Iterator[Case]:
    """The case with a grid of numbers in each float input alone, and in all of them."""
    near = [v for a in (*attributes, 0.5, 1.0, 3.0, 6.0) for v in (a, a - 2**-20, a + 2**-20)]
    grid = (*SPECIAL, *near, *(-v for v in near), 1.5, -1.5, 2.5, -2.5, 0.1, -0.1, 30.0, -30.0)
    data = Generator("choice", grid)
    names = [
        n for n, a in case.arguments.items() if isinstance(a, TensorSpec) and a.data and a.dtype == "float32"
    ]
    for chosen in (*((n,) for n in names), tuple(names)):
        changed = {n: dataclasses.replace(case.arguments[n], data=data) for n in chosen}  # type: ignore[type-var]
        yield dataclasses.replace(case, arguments={**case.arguments, **changed})


def accepted(operator: Operator, suite: Suite) -> list[Case]:
    text = new_file(operator, suite, pairs=True, max_elements=2048, failure=host_failure)
    cases = load_text(text, "t.yaml", check_standard=check_for).cases
    return [c for c in cases if c.status is None]


def survivors(operator: Operator, suite: Suite) -> tuple[int, list[str]]:
    """How many faults show on a dense grid of numbers, and which of them no case of the suite would fail."""
    product = product_for(operator)
    own = [c for c in accepted(operator, suite) if c.name.startswith(("special-", "edges", "equal-inputs"))]
    if not own:
        return 0, []
    first = next((c for c in own if c.name == "edges"), own[0])
    attributes = [
        float(a.value)
        for a in first.arguments.values()
        if isinstance(a, Attribute) and type(a.value) in (int, float) and a.value
    ]
    alone = [c for c in own if c.name.startswith("special-")]
    grid = Bench.of(operator, list(dense(alone[0] if alone else first, attributes)), product)
    bench = Bench.of(operator, own, product)
    shown, left, run = 0, [], set()
    for name, spec in first.arguments.items():
        if not isinstance(spec, TensorSpec) or spec.data is None or spec.dtype != "float32":
            continue
        for said, fault in faults(attributes):
            wrong = planted(operator, name, fault)
            if next(grid.differing(wrong), None) is None:
                continue
            shown += 1
            case = next(bench.differing(wrong), None)
            if case is None:
                left.append(f"{operator.short_name}, {name}: {said}")
            elif case.name not in run:  # one run of each case says that differing there is failing there
                run.add(case.name)
                (result,) = run_cases([case], Settings(product=product), Kernel(wrong))
                assert result.verdict.word is VerdictKind.FAIL, (case.name, name, said)
    return shown, left


@pytest.mark.parametrize("name", [*NAMED, *DRAWN])
def test_a_kernel_that_decides_wrongly_fails_its_suite(name: str) -> None:
    shown, left = survivors(find(name), Suite.BOUNDARY)
    assert left == []
    assert shown, name
