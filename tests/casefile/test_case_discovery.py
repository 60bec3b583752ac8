"""Which files and cases a path on the command line means."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ascend_opcli.casefile.discover import FoundFiles, PickedFile, find, pick
from ascend_opcli.casefile.loader import CaseFile
from ascend_opcli.casefile.open import load_text
from ascend_opcli.errors import ExitCode, UsageError


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in (
        "b.yaml",
        "a.yml",
        "sub/c.yaml",
        "sub/x.npy",
        "atk.json",
        "t.csv",
        "notes.md",
        ".git/d.yaml",
    ):
        path = tmp_path / "cases" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def paths(found: FoundFiles) -> list[str]:
    return [target.path.replace(os.sep, "/") for target in found.targets]


@pytest.mark.usefixtures("tree")
def test_a_folder_gives_its_case_files_and_counts_the_rest() -> None:
    found = find(["cases"])
    assert paths(found) == ["cases/a.yml", "cases/b.yaml", "cases/sub/c.yaml"]
    assert found.aside == 4


@pytest.mark.usefixtures("tree")
def test_files_cases_and_stdin() -> None:
    assert find(["cases/b.yaml"]) == FoundFiles((PickedFile("cases/b.yaml"),))
    assert find(["cases/b.yaml::one"]) == FoundFiles((PickedFile("cases/b.yaml", ("one",)),))
    assert find(["cases/b.yaml::s[float16-eps=1]"]).targets[0].picks == ("s[float16-eps=1]",)
    assert find(["-"]) == FoundFiles((PickedFile("-"),))
    assert find(["-::one"]) == FoundFiles((PickedFile("-", ("one",)),))


@pytest.mark.usefixtures("tree")
def test_a_file_that_is_named_twice_is_loaded_once() -> None:
    assert find(["cases/b.yaml::x", "cases/b.yaml::y", "cases/./b.yaml::x"]).targets == (
        PickedFile("cases/b.yaml", ("x", "y")),
    )
    assert find(["cases/b.yaml::x", "cases/b.yaml"]).targets == (PickedFile("cases/b.yaml"),)
    assert find(["cases/b.yaml", "cases/b.yaml::x"]).targets == (PickedFile("cases/b.yaml"),)
    assert paths(find(["cases/b.yaml", "cases"])) == ["cases/b.yaml", "cases/a.yml", "cases/sub/c.yaml"]


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("cases/bb.yaml", "there is no cases/bb.yaml; did you mean 'cases/b.yaml'?"),
        ("nothere", "there is no nothere"),
        ("", "a path is empty"),
        ("cases::a", "cases is a folder; a case is picked from a file: FILE::a"),
        ("cases/b.yaml::", "'cases/b.yaml::' is not FILE::CASE"),
        ("cases/atk.json", "cases/atk.json is in no format that opcli reads"),
        ("a\0b", "a\0b cannot be read: "),
    ],
)
@pytest.mark.usefixtures("tree")
def test_paths_that_mean_nothing(path: str, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        find([path])
    assert str(caught.value).startswith(message) or (os.sep != "/" or path == "a\0b")
    assert caught.value.exit_code == ExitCode.USAGE


def test_a_folder_without_case_files_is_not_an_error(tmp_path: Path) -> None:
    (tmp_path / "notes.md").write_text("")
    assert find([str(tmp_path)]) == FoundFiles((), 1)


def test_folders_that_link_to_themselves(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("")
    (tmp_path / "again").symlink_to(tmp_path)
    assert len(find([str(tmp_path)]).targets) == 1


# --- picking ------------------------------------------------------------------------------------------------


@pytest.fixture
def file() -> CaseFile:
    return load_text(
        "op: logit_grad\ndefaults: {dtype: float32, shape: [1]}\ncases:\n- {name: small}\n- {name: smaller}\n"
        "- {name: sweep, matrix: {dtype: [float16, float32]}, dtype: $dtype}\n",
        "f.yaml",
        check_standard=lambda _choice, _dtype: None,
    )


def test_a_case_by_its_name_and_a_matrix_by_its_head(file: CaseFile) -> None:
    def picked(*names: str) -> list[str]:
        return [case.name for case in pick(file, names)]

    assert picked() == ["small", "smaller", "sweep[float16]", "sweep[float32]"]
    assert picked("small") == ["small"]
    assert picked("sweep") == ["sweep[float16]", "sweep[float32]"]
    assert picked("sweep[float32]", "small") == ["small", "sweep[float32]"]


def test_a_pick_that_matches_nothing(file: CaseFile) -> None:
    with pytest.raises(UsageError, match=r"^f\.yaml has no case 'smal'; did you mean 'small'\?$"):
        pick(file, ["smal"])
    with pytest.raises(UsageError, match=r"did you mean 'sweep\[float16\]'"):
        pick(file, ["sweep[float61]"])
    with pytest.raises(UsageError, match=r"it has small, smaller, sweep"):
        pick(file, ["zzz"])
