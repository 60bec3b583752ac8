"""``-k`` expressions and tags."""

from __future__ import annotations

import pytest

from ascend_opcli.errors import UsageError
from ascend_opcli.execution.select import matcher, with_tags
from ascend_opcli.model import Case, Where


def case(name: str, *tags: str, path: str = "cases/logit_grad.yaml") -> Case:
    return Case(path, name, "aclnnLogitGrad", {}, Where(path, 1, 1), tags=tags)


@pytest.mark.parametrize(
    ("expression", "found"),
    [
        ("sweep", True),
        ("SWEEP", True),
        ("logit_grad", True),
        ("smoke", True),
        ("not smoke", False),
        ("not not smoke", True),
        ("absent or smoke", True),
        ("absent and smoke or sweep", True),
        ("absent and (smoke or sweep)", False),
        ("not (absent or missing)", True),
        ("float16-4x4", True),
        ("eps=0.01", True),
        ("cases/", False),  # the id has the file's name alone
        ("notsmoke", False),
        ("", None),
        ("   ", None),
        ("and", None),
        ("smoke and", None),
        ("smoke sweep", None),
        ("(smoke", None),
        ("smoke)", None),
        ("()", None),
        ("not", None),
        ("(" * 2_000 + "a", None),
    ],
)
def test_expressions(expression: str, found: bool | None) -> None:
    one = case("sweep[float16-4x4-eps=0.01]", "smoke")
    if found is None:
        with pytest.raises(UsageError, match="-k"):
            matcher(expression)
    else:
        assert matcher(expression)(one) is found


def test_any_of_several_tags_will_do() -> None:
    one = case("a", "smoke", "slow")
    assert with_tags(())(one)
    assert with_tags(("slow", "absent"))(one)
    assert not with_tags(("absent", "smo"))(one)
    assert not with_tags(("smoke",))(case("smoke"))
