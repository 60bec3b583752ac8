"""The memory of what failed: small, of one file each, and never in the way."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ascend_opcli.casefile.inline import PATH as COMMAND_LINE
from ascend_opcli.casefile.loader import STDIN
from ascend_opcli.execution.journal import Journal, default_folder
from ascend_opcli.model import Case, Result, Verdict, VerdictKind, Where


def result(path: str, name: str, word: VerdictKind) -> Result:
    case = Case(path, name, "aclnnLogitGrad", {}, Where(path, 1, 1))
    return Result(case, "atlas_a2", "host", Verdict(word))


def test_the_folder_follows_the_xdg_rules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    at_home = tmp_path / ".cache" / "opcli" / "last-failed"
    assert default_folder({"XDG_CACHE_HOME": "/c"}) == Path("/c/opcli/last-failed")
    for unset in ({}, {"XDG_CACHE_HOME": ""}, {"XDG_CACHE_HOME": "relative"}):
        assert default_folder(unset) == at_home

    def homeless() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", homeless)
    assert default_folder({}) is None
    Journal(None).record([result("a.yaml", "x", VerdictKind.FAIL)])
    assert Journal(None).failed("a.yaml") == frozenset()


@pytest.mark.parametrize("word", list(VerdictKind))
def test_what_counts_as_failed(tmp_path: Path, word: VerdictKind) -> None:
    journal = Journal(tmp_path / "j")
    journal.record([result("a.yaml", "x", word)])
    assert journal.failed("a.yaml") == ({"x"} if word in (VerdictKind.FAIL, VerdictKind.ERROR) else set())


def test_one_name_in_many_spellings_of_a_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.yaml").write_text("")
    (tmp_path / "link.yaml").symlink_to("a.yaml")
    journal = Journal(tmp_path / "j")
    journal.record([result("./a.yaml", "x", VerdictKind.FAIL)])
    for path in ("a.yaml", str(tmp_path / "a.yaml"), "link.yaml"):
        assert journal.failed(path) == {"x"}


def test_odd_names_survive(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "j")
    names = ["\u6587", 'a"b', "a\\b", "a[b=c]", "\U0001f600", "x" * 5000]
    path = os.fsdecode(b"/nowhere/\xff \n.yaml")
    journal.record([result(path, name, VerdictKind.FAIL) for name in names])
    assert journal.failed(path) == set(names)


@pytest.mark.parametrize("path", [STDIN, COMMAND_LINE])
def test_what_may_be_another_text_next_time_is_not_remembered(tmp_path: Path, path: str) -> None:
    journal = Journal(tmp_path / "j")
    journal.record([result(path, "x", VerdictKind.FAIL)])
    assert not (tmp_path / "j").exists()


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"[]", b"null", b"\xff", b"[" * 100_000, b'{"format": "opcli.last-failed/1"}',
     b'{"format": "opcli.last-failed/1", "file": "/elsewhere", "cases": ["x"]}',
     b'{"format": "opcli.last-failed/2", "cases": ["x"]}'],
)  # fmt: skip
def test_a_spoilt_entry_is_as_good_as_none_and_is_replaced(tmp_path: Path, content: bytes) -> None:
    journal = Journal(tmp_path / "j")
    journal.record([result("a.yaml", "x", VerdictKind.FAIL)])
    (entry,) = (tmp_path / "j").iterdir()
    entry.write_bytes(content)
    assert journal.failed("a.yaml") == frozenset()
    journal.record([result("a.yaml", "y", VerdictKind.FAIL)])
    assert journal.failed("a.yaml") == {"y"}


def test_entries_of_the_wrong_kind_are_left_out(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "j")
    journal.record([result("a.yaml", "x", VerdictKind.FAIL)])
    (entry,) = (tmp_path / "j").iterdir()
    entry.write_text(entry.read_text().replace('"x"', '"x", 1, null, ["y"]'))
    assert journal.failed("a.yaml") == {"x"}


def test_nothing_is_left_behind_beside_the_entries(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "j")
    for name in "abc":
        journal.record([result("a.yaml", name, VerdictKind.FAIL)])
    assert journal.failed("a.yaml") == {"a", "b", "c"}
    assert len(list((tmp_path / "j").iterdir())) == 1
