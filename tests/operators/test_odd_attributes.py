"""Whole numbers that no call takes as attributes: one case says so, and no reference falls over them."""

from __future__ import annotations

from typing import Any

import pytest

from ascend_opcli.casefile import show, tree, yaml_text
from ascend_opcli.casefile.new.text import skeleton
from ascend_opcli.casefile.open import load_text
from ascend_opcli.errors import CaseFileError
from ascend_opcli.execution.runner import Settings, run_cases
from ascend_opcli.model import VerdictKind
from ascend_opcli.operators import catalog
from ascend_opcli.verification.standards.choice import check_for

NUMBERS = (-1, 0, -7, 3, 99_999_999_999)
LISTS = ([], [-1], [-5, 3], [0, 0], [99_999_999_999], [1, 2, 3, 4, 5, 6, 7])
ODD: dict[str, tuple[Any, ...]] = {"int64_t": NUMBERS, "int32_t": NUMBERS, "aclIntArray": LISTS}
NAMES = [o.name for o in catalog.operators().values() if any(p.type in ODD for p in o.signature.attributes)]


@pytest.mark.parametrize("name", NAMES)
def test_no_whole_number_makes_a_reference_fall_over(name: str) -> None:
    operator = catalog.find(name)
    document = tree.plain(yaml_text.parse(skeleton(operator), "x.yaml"))
    (case,) = document["cases"]
    for param in operator.signature.attributes:
        for value in ODD.get(param.type, ()):
            odd = {**case, "attrs": {**(case.get("attrs") or {}), param.name: value}}
            text = show.flow({**document, "cases": [odd]})
            try:
                cases = load_text(text, "x.yaml", check_standard=check_for).cases
            except CaseFileError as error:
                refused = str(error)
            else:
                (result,) = run_cases(cases, Settings(memory_limit=1 << 28))
                refused = ""
            if refused:
                assert param.name in refused
                continue
            said = f"{param.name}: {value}: {result.verdict.reason}"
            assert "raised" not in result.verdict.reason, said
            assert (
                result.verdict.word is not VerdictKind.ERROR or "gives the shape" in result.verdict.reason
            ), said
