"""A stdout or stderr that cannot be written changes no verdict and no report, and shows no traceback."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest

from ascend_opcli.cli import main
from tests.conftest import CaseFile

FULL = Path("/dev/full")
CASES = """
op: logit_grad
cases:
  - {name: good, dtype: float32, shape: [4, 4]}
  - {name: wrong, dtype: float32, shape: [2], expect: {outputs: {out: [7.0, 8.0]}}}
"""
REPORTS = ("json", "csv", "junit", "markdown", "html", "acceptance", "issue")


def _command(*words: str) -> Callable[[Path], list[str]]:
    return lambda folder: [word.replace("@", f"{folder}/") for word in words]


COMMANDS = {
    "run": _command("run", "@a.yaml", *(w for r in REPORTS for w in (f"--{r}", f"@report.{r}"))),
    "run, all pass": _command("run", "@a.yaml::good", "--json", "@report.json"),
    "run, none": _command("run", "@a.yaml", "-k", "nothing"),
    "run, list": _command("run", "@a.yaml", "--list"),
    "run, verbose": _command("run", "@a.yaml", "-v", "--standard", "all"),
    "bench": _command("bench", "@a.yaml::good", "--time", "1ms", "--json", "@report.json"),
    "compare": _command("compare", "@x.npy", "@y.npy", "--json", "@report.json"),
    "diff": _command("diff", "@old.json", "@old.json", "--json", "@report.json"),
    "doctor": _command("doctor", "--json", "@report.json"),
    "ops list": _command("ops", "list", "--category", "norm"),
    "ops show": _command("ops", "show", "logit_grad"),
    "cases new": _command("cases", "new", "logit_grad"),
    "cases list": _command("cases", "list", "@a.yaml"),
    "cases show": _command("cases", "show", "@a.yaml::good"),
    "cases validate": _command("cases", "validate", "@a.yaml"),
    "cases data": _command("cases", "data", "@a.yaml::good", "--out", "@data"),
    "cases schema": _command("cases", "schema", "--op", "logit_grad"),
    "codes": _command("codes", "161002"),
    "an unknown word": _command("cods"),
    "an unreadable file": _command("run", "@nowhere.yaml"),
    "help": _command("--help"),
    "version": _command("--version"),
}


@pytest.fixture
def folder(tmp_path: Path, case_file: CaseFile) -> Path:
    case_file(CASES)
    np.save(tmp_path / "x.npy", np.ones(3, np.float32))
    np.save(tmp_path / "y.npy", np.full(3, 2, np.float32))
    _call(
        ["run", str(tmp_path / "a.yaml"), "--json", str(tmp_path / "old.json")], io.StringIO(), io.StringIO()
    )
    return tmp_path


def _call(words: list[str], out: io.TextIOBase | None, err: io.TextIOBase | None) -> int:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["opcli", *words])
        patch.setattr(sys, "stdout", out)
        patch.setattr(sys, "stderr", err)
        with pytest.raises(SystemExit) as stop:
            main()
        code = stop.value.code
    return code if isinstance(code, int) else int(code is not None)


class _Gone(io.RawIOBase):
    """What the kernel says of a file descriptor that nobody can write to."""

    made: ClassVar[list[_Gone]] = []

    def __init__(self, error: int) -> None:
        self.error = error
        self.made.append(self)

    def writable(self) -> bool:
        return True

    def write(self, data: object) -> int:
        if self.error:
            raise OSError(self.error, os.strerror(self.error))
        return len(data)  # type: ignore[arg-type]


@pytest.fixture(autouse=True)
def nothing_is_left() -> Iterator[None]:
    yield
    while _Gone.made:  # what its buffers hold is flushed once more when they go
        _Gone.made.pop().error = 0


def _dead(kind: str) -> io.TextIOWrapper | None:
    if kind == "closed":
        return None
    if kind == "closed later":
        stream = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
        stream.close()
        return stream
    codes = {"no space": 28, "no reader": 32, "no descriptor": 9, "an error of the disk": 5}
    size = 1 if kind == "no descriptor" else 8192
    return io.TextIOWrapper(io.BufferedWriter(_Gone(codes[kind]), size), encoding="utf-8")


KINDS = ("no space", "no reader", "no descriptor", "an error of the disk", "closed", "closed later")


@pytest.mark.parametrize("name", COMMANDS)
def test_the_exit_code_is_that_of_the_verdict_and_reports_are_written(name: str, folder: Path) -> None:
    words = COMMANDS[name](folder)
    out, err = io.StringIO(), io.StringIO()
    wanted = _call(words, out, err)
    reports = {path.name for path in folder.glob("report.*")}
    for number, kind in enumerate(KINDS if name in ("run", "codes") else KINDS[:1]):
        for path in folder.glob("report.*"):
            path.unlink()
        said = io.StringIO()
        dead = _dead(kind)
        assert _call(words, dead, said) == wanted, kind
        assert {path.name for path in folder.glob("report.*")} == reports
        assert "Traceback" not in said.getvalue()
        assert "internal error" not in said.getvalue()
        told = "stdout cannot be written" in said.getvalue()
        assert told is (bool(out.getvalue()) and kind != "no reader"), kind
        if number == 0 and name not in ("bench", "doctor"):
            assert _call(words, io.StringIO(), _dead(kind)) == wanted
            assert _call(words, _dead("closed"), _dead("closed")) == wanted


@pytest.mark.parametrize("report", ["json", "html"])
@pytest.mark.parametrize(("case", "code"), [("good", 3), ("wrong", 1)])
def test_a_report_that_stdout_does_not_take_is_one_that_could_not_be_written(
    report: str, case: str, code: int, folder: Path
) -> None:
    words = ["run", f"{folder}/a.yaml::{case}", f"--{report}", "-"]
    said = io.StringIO()
    assert _call(words, _dead("no space"), said) == code
    assert "cannot write the report to stdout: No space left on device" in said.getvalue()
    assert _call(words, _dead("no reader"), io.StringIO()) == (0 if code == 3 else 1)


@pytest.mark.skipif(not FULL.exists(), reason="Linux has /dev/full")
@pytest.mark.parametrize(
    "redirected", ["> /dev/full", ">&-", ">&- 2>&-", "> /dev/full 2> /dev/full", "<&- >&-"]
)
def test_of_the_process_itself(redirected: str, folder: Path) -> None:
    report = folder / "report.json"
    line = f'"{sys.executable}" -m ascend_opcli run "{folder}/a.yaml" --json "{report}" {redirected}'
    done = subprocess.run(["sh", "-c", line], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert '"schema": "opcli.run' in report.read_text("utf-8")
    assert "Traceback" not in done.stderr
    assert "Exception" not in done.stderr
    assert done.stdout == ""
