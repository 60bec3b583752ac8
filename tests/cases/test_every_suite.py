"""Suites of any operator on any product hold on the host: a sample; benchmarks/suites.py runs them all."""

from __future__ import annotations

import importlib.util
import random
import sys
from collections.abc import Iterator
from types import ModuleType

import pytest

from ascend_opcli.casefile.new.text import Suite
from ascend_opcli.model import VerdictKind
from tests.conftest import ROOT


@pytest.fixture(scope="module")
def script() -> Iterator[ModuleType]:
    spec = importlib.util.spec_from_file_location("suites", ROOT / "benchmarks" / "suites.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    try:
        spec.loader.exec_module(module)
        yield module
    finally:
        del sys.modules[spec.name]


@pytest.mark.parametrize("part", range(8))
def test_the_host_passes_every_case_of_a_suite_or_refuses_it_by_rule(script: ModuleType, part: int) -> None:
    rng = random.Random(part)
    judged = 0
    for operator in script.draw(1, part):
        product = rng.choice([p for p in operator.products if operator.supports(p)])
        for result in script.judged(operator, product, rng.choice(list(Suite)), 16):
            judged += 1
            assert result.verdict.word not in (VerdictKind.FAIL, VerdictKind.ERROR), (
                result.repro,
                result.verdict.reason,
            )
    assert judged
