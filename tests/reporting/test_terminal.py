"""The table of a run on a terminal and in a pipe: aligned, safe, and quick where it is long."""

from __future__ import annotations

import io

import pytest
from rich.cells import cell_len

from ascend_opcli.model import VerdictKind
from ascend_opcli.reporting.terminal import FOLDED, print_results
from tests.reporting.made_up import case, every_word, hostile, result


class Screen(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_columns_are_aligned_beside_chinese_names() -> None:
    stream = io.StringIO()
    print_results([result(made=case("误差过大")), result(made=case("a"))], stream, summary=())
    heading, *rows = stream.getvalue().splitlines()[:3]
    at = heading.index("verdict")
    for line in rows:
        assert cell_len(line[: line.index("PASS")]) == at


def test_no_name_can_steer_the_terminal() -> None:
    stream = io.StringIO()
    print_results(hostile(), stream, summary=())
    table = stream.getvalue().partition("\n\n")[0]
    assert not {"\x1b", "\x07", "\x00", "\r", "\u202e"} & set(table)
    assert "\\x1b[31m" in table


@pytest.mark.parametrize("environment", [{}, {"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_a_long_table_has_one_line_a_case_and_colours_where_they_are_wanted(
    environment: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    results = [result(made=case(f"n{n}")) for n in range(FOLDED)] + every_word()
    screen = Screen()
    print_results(results, screen, summary=(), verbose=True)
    lines = screen.getvalue().splitlines()[1 : len(results) + 1]
    assert all("a.yaml::" in line for line in lines)
    assert ("\x1b[1;31mFAIL\x1b[0m" in screen.getvalue()) is (not environment)


def test_a_pipe_has_no_colours() -> None:
    stream = io.StringIO()
    print_results([result(VerdictKind.FAIL, case(f"n{n}")) for n in range(FOLDED + 1)], stream, summary=())
    assert "\x1b" not in stream.getvalue()
