"""What belongs to one failure of a log, and what begins another."""

from __future__ import annotations

import pytest

from ascend_opcli.status import codes
from ascend_opcli.status.trace import MAX_FAILURES, MAX_TEXTS, WIDTH, LoggedFailure, TraceReader, family

GAP = 40


def read(*lines: str | tuple[int, str]) -> list[LoggedFailure]:
    reader = TraceReader()
    for number, line in enumerate(lines, 1):
        place, text = line if isinstance(line, tuple) else (number, line)
        reader.feed(place, text)
    return reader.failures()


@pytest.mark.parametrize("names", [("aclnnAdd", "aclnnMul"), ("aclnnMul", "aclnnAdd")])
def test_the_line_of_another_operator_begins_another_failure(names: tuple[str, str]) -> None:
    one, two = read(f"call {names[0]} failed, detail:EZ1001", f"call {names[1]} failed, error code is 161002")
    assert (one.operator, one.codes, one.status) == (names[0], ["EZ1001"], None)
    assert (two.operator, two.codes, two.status) == (names[1], [], 161002)
    assert (one.line, two.line) == (1, 2)


def test_lines_of_one_operator_and_lines_without_one_are_one_failure() -> None:
    (one,) = read(
        "EZ1001: self is null",
        "call aclnnAdd failed",
        "aclnnAddGetWorkspaceSize failed, EE9999: inner",
        "error code is 161001",
    )
    assert (one.operator, one.status, one.codes) == ("aclnnAdd", 161001, ["EZ1001", "EE9999"])
    assert (one.line, one.last, one.count, len(one.texts)) == (1, 4, 1, 4)


@pytest.mark.parametrize(("first", "then"), [(161001, 161002), (161002, 161001)])
def test_another_status_begins_another_failure(first: int, then: int) -> None:
    one, two = read(f"aclnnAdd failed, error code is {first}", f"error code is {then}")
    assert (one.operator, one.status, two.operator, two.status) == ("aclnnAdd", first, "", then)


@pytest.mark.parametrize(("apart", "failures"), [(GAP, 1), (GAP + 1, 2)])
def test_lines_that_are_far_apart_are_two_failures(apart: int, failures: int) -> None:
    assert len(read((1, "call aclnnAdd failed"), (1 + apart, "error code is 161002"))) == failures


@pytest.mark.parametrize(("apart", "kept"), [(1, True), (GAP, True), (GAP + 1, False)])
def test_what_explains_a_failure_follows_it(apart: int, kept: bool) -> None:
    (one,) = read((1, "call aclnnAdd failed"), (1 + apart, "  Solution: pass a tensor"))
    assert one.texts[1:] == (["Solution: pass a tensor"] if kept else [])
    assert one.last == 1  # it does not keep the failure open
    assert read("Solution: pass a tensor") == []


def test_lines_that_are_no_errors_are_left_out() -> None:
    assert read("[INFO] call aclnnAdd failed", "[DEBUG] EZ1001", "aclnnAdd EXEC_NPU_CMD failed") == []
    assert read("aclnnAdd was called", "") == []


def test_equal_failures_are_counted_and_others_are_kept_in_their_order() -> None:
    lines = [
        "call aclnnAdd failed",
        "call aclnnMul failed",
        "call aclnnAdd failed",
        "call aclnnAdd failed EZ1001",
    ]
    found = read(*lines)
    assert [(f.operator, f.codes, f.count, f.line) for f in found] == [
        ("aclnnAdd", [], 1, 1),
        ("aclnnMul", [], 1, 2),
        ("aclnnAdd", ["EZ1001"], 1, 3),
    ]
    twice = read("call aclnnAdd failed", "call aclnnMul failed", "call aclnnAdd failed")
    assert [(f.operator, f.count) for f in twice] == [("aclnnAdd", 2), ("aclnnMul", 1)]


def test_processes_are_followed_apart() -> None:
    reader = TraceReader()
    reader.feed(1, "call aclnnAdd failed", "[7] ", "7")
    reader.feed(2, "call aclnnMul failed", "[8] ", "8")
    reader.feed(3, "error code is 161002", "[7] ", "7")
    reader.feed(4, "EZ1001: x", "", "")  # goes on with the line before it
    one, two = reader.failures()
    assert (one.operator, one.status, one.codes, one.stream) == ("aclnnAdd", 161002, ["EZ1001"], "7")
    assert (two.operator, two.status, two.stream) == ("aclnnMul", None, "8")
    assert one.texts[0] == "[7] call aclnnAdd failed"


def test_texts_and_codes_are_bounded() -> None:
    lines = [f"call aclnnAdd failed EZ{1000 + i}: {'x' * 400}" for i in range(MAX_TEXTS + 3)]
    (one,) = read(*lines)
    assert one.codes == [f"EZ{1000 + i}" for i in range(MAX_TEXTS)]
    assert len(one.texts) == MAX_TEXTS
    assert {len(text) for text in one.texts} == {WIDTH} == {300}
    assert all(text.endswith("...") for text in one.texts)
    (same,) = read("call aclnnAdd failed EZ1001", "call aclnnAdd failed EZ1001")
    assert (same.codes, same.texts) == (["EZ1001"], ["call aclnnAdd failed EZ1001"])
    exact = "call aclnnAdd failed ".ljust(WIDTH, "x")
    assert read(exact)[0].texts == [exact]


def test_the_number_of_failures_is_bounded() -> None:
    reader = TraceReader()
    for number in range(MAX_FAILURES + 5):
        reader.feed(number + 1, f"call aclnnOp{number}x failed")
    assert len(reader.failures()) == MAX_FAILURES
    assert reader.dropped == 5
    many = TraceReader()
    for number in range(MAX_FAILURES + 5):
        many.feed(number + 1, f"call aclnnOp{number}x failed", stream=str(number))
    assert len(many.failures()) == MAX_FAILURES


STATUSES = {
    "error code is 161002": 161002,
    "errno: 161002": 161002,
    "error_code=0x7bc8a": 507018,
    "error code is 0x12345": None,
    "aclrtMalloc returned 507899": 507899,
    "ret = 561002": 561002,
    "retCode: 561002": 561002,
    "错误码：161001": 161001,
    "error code is 999999": 999999,
    "Error Code is 999999": 999999,
    "ret = 999999": None,
    "took 161002 ms, failed 161002 times": None,
    "ERROR 161002 something": None,
    "error code is 161002.5": None,
    "2026-161002 error": None,
    "ACLNN_ERR_PARAM_INVALID failed": 161002,
    "ACLNN_ERR_UNHEARD_OF failed": None,
    "acl status 161002": 161002,
    "error code is 161002 bytes": None,
    "error code is 1610021": None,
}


@pytest.mark.parametrize("text", STATUSES)
def test_the_status_of_a_line(text: str) -> None:
    found = read(f"call aclnnAdd failed; {text}" if STATUSES[text] is None else text)
    assert [f.status for f in found] == [STATUSES[text]]


def test_families_of_codes() -> None:
    assert family("EZ1001") == "a parameter that the operator does not accept"
    assert family("EZ1234") == "an error of the operator library"
    assert family("EE1234") == "an error of the runtime"
    assert family("EX0000") == ""


def test_a_code_has_its_name_and_one_that_nobody_named_its_number() -> None:
    assert codes.name_of(161001) == "ACLNN_ERR_PARAM_NULLPTR"
    assert codes.name_of(0) == codes.lookup("0").name
    assert codes.name_of(123456) == "123456"
    assert codes.describe(161001) == "161001 ACLNN_ERR_PARAM_NULLPTR"
    assert codes.describe(123456) == "123456"
    lost = {507010, 507033, 507053, 507054, 507055, 507056, 507057, 107022, 507899}
    assert {codes.lookup(str(number)).fault for number in lost} == {"surroundings"}
    assert {codes.lookup(str(number)).fault for number in (507018, 507034, 507035)} == {"operator"}


def test_the_first_digit_says_whose_fault_it_is() -> None:
    causes = [codes.lookup(number).cause for number in (161001, 361001, 561002)]
    assert len(set(causes)) == 3
    assert "unknown" not in causes
    assert codes.lookup(507018).cause == causes[2]
