"""The README's commands run, and its words are those of the product."""

from __future__ import annotations

import os
import re
import shlex
from pathlib import Path

import pytest

from tests.conftest import ROOT, Opcli

README = (ROOT / "README.md").read_text("utf-8")


def block(mark: str) -> list[str]:
    """The lines of the shell block that follows ``<!-- mark -->``."""
    match = re.search(rf"<!-- {mark} -->\n```sh\n(.*?)```", README, re.DOTALL)
    assert match, mark
    return match[1].strip().splitlines()


@pytest.mark.parametrize("line", block("run"))
def test_a_command_of_the_readme_exits_0(line: str, opcli: Opcli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    words = shlex.split(line)
    assert words[0] == "opcli"
    done = opcli(*words[1:])
    assert done.code == 0, done.out[-2000:] + done.err


@pytest.mark.parametrize("text", re.findall(r"```yaml\n(.*?)```", README, re.DOTALL))
def test_a_case_file_of_the_readme_passes(text: str, opcli: Opcli, tmp_path: Path) -> None:
    path = tmp_path / "readme.yaml"
    path.write_text(text, "utf-8")
    done = opcli("run", path)
    assert done.code == 0, done.out[-2000:] + done.err


def test_every_command_is_in_the_readme() -> None:
    from ascend_opcli.cli.app import app

    names = {c.name or c.callback.__name__ for c in app.registered_commands if c.callback}
    for group in app.registered_groups:
        assert group.typer_instance is not None
        inner = {
            c.name or c.callback.__name__ for c in group.typer_instance.registered_commands if c.callback
        }
        names |= {f"{group.name} {name}" for name in inner}
    for name in names:
        assert f"opcli {name}" in README, name


def test_the_two_commands_are_what_ci_runs() -> None:
    script = (ROOT / ".ci" / "run").read_text("utf-8")
    (install,) = block("install")
    (test,) = block("test")
    assert "opcli run cases/logit_grad.yaml" in install
    assert install.split(" && ")[1] in script
    assert test.split(" && ")[1].removeprefix("python3 -m ") in script


def test_the_standards_and_exit_codes_are_the_products() -> None:
    from ascend_opcli.errors import ExitCode
    from ascend_opcli.verification.standards.named import STANDARDS

    for name in STANDARDS:
        assert f"`{name}`" in README, name
    for code in ExitCode:
        assert f"| {int(code)} |" in README


def test_no_example_needs_a_file_that_is_not_there() -> None:
    for path in re.findall(r"cases/\w+\.yaml", README):
        assert os.path.exists(ROOT / path), path
