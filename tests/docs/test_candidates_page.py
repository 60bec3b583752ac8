"""docs/candidates.md: the sample before and after does what the page says, and its words are those of the product."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT, Opcli

PAGE = (ROOT / "docs" / "candidates.md").read_text("utf-8")


def block(mark: str) -> str:
    """The code that follows ``<!-- mark -->``."""
    match = re.search(rf"<!-- {re.escape(mark)} -->\n```\w+\n(.*?)```", PAGE, re.DOTALL)
    assert match, mark
    return match[1]


@pytest.fixture
def sample(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the files of the page, the program compiled; it is the current one."""
    compiler = shutil.which("g++") or shutil.which("c++")
    if compiler is None:
        pytest.skip("no C++ compiler")
    for name in ("main.cpp", "gen_data.py", "verify_result.py", "add.yaml"):
        (tmp_path / name).write_text(block(name), "utf-8")
    subprocess.run([compiler, "-O1", "-o", "add", "main.cpp"], cwd=tmp_path, check=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_sample_before(sample: Path) -> None:
    for line in block("before").splitlines():
        words = [sys.executable if w == "python3" else w for w in shlex.split(line)]
        done = subprocess.run(words, capture_output=True, text=True, check=True)
    assert done.stdout == "test pass\n"


def test_the_sample_after(sample: Path, opcli: Opcli) -> None:
    (line,) = block("after").splitlines()
    done = opcli(*shlex.split(line)[1:])
    assert done.code == 0, done.out
    assert "2 cases: 2 PASS" in done.out


def test_its_folder_is_judged_without_the_case_file(sample: Path, opcli: Opcli) -> None:
    """The operator is nobody's but the sample's: signature and reference go with the folder."""
    assert opcli("cases", "data", "add.yaml", "--out", "data").code == 0
    for place in (sample / "data").iterdir():
        names = ("inputs/x.bin", "inputs/y.bin", "outputs/out.bin")
        subprocess.run([sample / "add", *(place / name for name in names)], check=True)
    done = opcli("run", "data")
    assert done.code == 0, done.out + done.err
    assert "2 cases: 2 PASS" in done.out


def test_the_sample_by_hand(sample: Path, opcli: Opcli) -> None:
    for line in block("by hand").splitlines():
        words = shlex.split(line)
        if words[0] == "opcli":
            done = opcli(*words[1:])
            assert done.code == 0, done.out + done.err
        else:
            subprocess.run(words, check=True)
    assert "1 case: 1 PASS" in done.out


def test_a_program_that_is_wrong_for_odd_sizes_passes_before_and_fails_after(
    sample: Path, opcli: Opcli
) -> None:
    text = block("main.cpp").replace("x.size() / sizeof(float)", "x.size() / 32 * 8")
    (sample / "main.cpp").write_text(text)
    subprocess.run(["c++" if not shutil.which("g++") else "g++", "-o", "add", "main.cpp"], check=True)
    test_the_sample_before(sample)
    (line,) = block("after").splitlines()
    done = opcli(*shlex.split(line)[1:])
    assert done.code == 1
    assert re.search(r"add\.yaml::sample .* PASS ", done.out)
    assert "7 of 8,191" in done.out


def test_every_option_of_candidates_is_on_the_page() -> None:
    for option in (
        *("--candidate", "--tensors", "--format", "--outputs", "--save-outputs", "--third-party"),
        *("--allow-code", "--timeout", "--out"),
    ):
        assert re.search(rf"`[^`]*{option}\b", PAGE), option
    for kind in ("numpy", "torch", "npu"):
        assert f"`{kind}`" in PAGE


def test_every_word_of_a_finding_is_on_the_page() -> None:
    package = ROOT / "ascend_opcli"
    sources = [*(package / "backends" / "candidate").glob("*.py"), package / "backends" / "child.py"]
    sources += [package / "execution" / "shortcuts.py", package / "tensors" / "returned.py"]
    sources += [package / "tensors" / "exchange.py"]
    found = {
        w
        for path in sources
        for w in re.findall(r"f?\"([A-Z]{3,}(?: [A-Z]{3,})*): ", path.read_text("utf-8"))
    }
    assert {"RAISED", "INPUT RETURNED", "WRONG SIZE", "OTHER INPUTS"} <= found
    for word in found:
        assert word in PAGE, word
