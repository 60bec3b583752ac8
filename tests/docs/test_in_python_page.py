"""docs/in-python.md: its examples run, and its words are those of the product."""

from __future__ import annotations

import inspect
import re
import shlex
import subprocess
import sys

import numpy as np
import pytest

import ascend_opcli
from ascend_opcli import pytest_plugin
from tests.conftest import ROOT

PAGE = (ROOT / "docs" / "in-python.md").read_text("utf-8")


def block(mark: str) -> str:
    """The code that follows ``<!-- mark -->``."""
    match = re.search(rf"<!-- {mark} -->\n```\w+\n(.*?)```", PAGE, re.DOTALL)
    assert match, mark
    return match[1]


def test_the_examples_with_tensors_pass() -> None:
    names: dict[str, object] = {}
    exec(block("assert_close"), names)  # our own page
    tests = [value for name, value in names.items() if name.startswith("test_")]
    assert len(tests) == 2
    for test in tests:
        assert callable(test)
        test()


def test_the_text_of_a_failure() -> None:
    x = np.linspace(-4, 4, 1024, dtype=np.float32)
    with pytest.raises(AssertionError) as caught:
        ascend_opcli.assert_close(np.abs(x), x.astype(np.float64))
    assert str(caught.value).startswith(block("text"))


def test_the_example_with_a_case_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    exec(block("run_case"), {})


@pytest.mark.parametrize("line", block("pytest").splitlines())
def test_a_pytest_line_picks_cases_that_pass(line: str, load_plugin: tuple[str, ...]) -> None:
    words = shlex.split(line)
    assert words[0] == "pytest"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *load_plugin, *words[1:]]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "no operator was run" in done.stdout


def test_every_option_and_argument_is_on_the_page() -> None:
    options = set(re.findall(r'"(--opcli[\w-]*)"', inspect.getsource(pytest_plugin)))
    assert len(options) == 8
    for option in options:
        assert f"| `{option}" in PAGE
    for function in (ascend_opcli.judge, ascend_opcli.assert_close, ascend_opcli.run_case):
        for name in set(inspect.signature(function).parameters) - {"case"}:
            assert f"`{name}" in PAGE, name
