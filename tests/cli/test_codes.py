"""``opcli codes``: numbers and names, and what usually fixes them."""

from __future__ import annotations

import pytest

from tests.conftest import Opcli


def test_a_number_gives_name_meaning_and_fix(opcli: Opcli) -> None:
    done = opcli("codes", "161002")
    assert done.code == 0
    assert done.out.startswith("161002 ACLNN_ERR_PARAM_INVALID\n")
    assert "fix:" in done.out


@pytest.mark.parametrize(
    "word", ["ACLNN_ERR_INNER_TILING_ERROR", "aclnn_err_inner_tiling_error", "INNER_TILING_ERROR"]
)
def test_a_name_gives_its_number_in_any_case_and_without_its_prefix(opcli: Opcli, word: str) -> None:
    assert opcli("codes", word).out.startswith("561002 ACLNN_ERR_INNER_TILING_ERROR\n")


def test_an_alias_is_found(opcli: Opcli) -> None:
    assert opcli("codes", "ACLNN_SUCCESS").out.startswith("0 ACL_SUCCESS\n")


def test_all_278_are_listed_by_group(opcli: Opcli) -> None:
    done = opcli("codes")
    assert sum(line.startswith("  ") for line in done.out.splitlines()) == 278
    assert [line for line in done.out.splitlines() if not line.startswith(" ")] == [
        "operator API (aclnn)",
        "ACL",
        "runtime",
        "graph engine",
    ]


@pytest.mark.parametrize(
    ("word", "nearest"),
    [("161003", "161002"), ("ACLNN_ERR_PARAM_NULPTR", "ACLNN_ERR_PARAM_NULLPTR"), ("-7", "0 ACL_SUCCESS")],
)
def test_an_unknown_code_is_exit_2_with_the_nearest(opcli: Opcli, word: str, nearest: str) -> None:
    done = opcli("codes", "--", word)
    assert done.code == 2
    assert nearest in done.err
