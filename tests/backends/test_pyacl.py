"""What stands in the place of pyACL is recognised, named with its file, and never taken for pyACL."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.backends.conftest import OnDevice
from tests.conftest import ROOT, CaseFile

UNRELATED = "is not pyACL but an unrelated package of that name"
RUNTIME = "class rt:\n    set_device = create_stream = print\n"


def loaded(folder: Path, **variables: str) -> str:
    """What load_pyacl says where ``folder`` is searched first; ok where it takes the module."""
    script = (
        "from ascend_opcli.backends.cann.runtime import load_pyacl\n"
        "from ascend_opcli.errors import Missing\n"
        "try:\n    load_pyacl()\n    print('ok')\n"
        "except Missing as error:\n    print(error)\n"
    )
    path = os.pathsep.join([str(folder), str(ROOT), *(p for p in sys.path if p)])
    environment = {**os.environ, "PYTHONPATH": path, **variables}
    done = subprocess.run(
        [sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True
    )
    return done.stdout.strip().splitlines()[-1]


FOREIGN = {
    "names of no meaning": ("x = 1", ""),
    "empty": ("", ""),
    "rt alone": (RUNTIME, ""),
    "init alone": ("def init(): ...\ndef finalize(): ...", ""),
    "rt of another kind": ("rt = 1\ndef init(): ...\ndef finalize(): ...", ""),
    "Python 2": ('print "hello"', "importing it raises SyntaxError: "),
    "raises": ('raise RuntimeError("boom")', "importing it raises RuntimeError: boom"),
    "exits": ("import sys; sys.exit(3)", "importing it raises SystemExit: 3"),
    "a missing module": (
        "import no_such_module_xyz",
        "ModuleNotFoundError: No module named 'no_such_module_xyz'",
    ),
    "a missing name": ("from os import no_such_name", "importing it raises ImportError: cannot import name"),
    "null bytes": ("x\0", "importing it raises "),
    "not text": ("\udcff", "importing it raises SyntaxError: "),
}


@pytest.mark.parametrize("package", [False, True], ids=["file", "package"])
@pytest.mark.parametrize("name", FOREIGN)
def test_a_foreign_module_is_named_with_its_file(tmp_path: Path, name: str, package: bool) -> None:
    text, sentence = FOREIGN[name]
    path = tmp_path / "acl/__init__.py" if package else tmp_path / "acl.py"
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, "utf-8", errors="surrogateescape")
    said = loaded(tmp_path)
    assert f"the module acl at {path} {UNRELATED}" in said
    assert sentence in said
    assert "there is no module acl" not in said
    assert f"remove or rename {path.parent if package else path}, or take {tmp_path} off PYTHONPATH" in said


def test_a_module_that_pip_installed_is_to_be_uninstalled(tmp_path: Path) -> None:
    (tmp_path / "acl").mkdir()
    (tmp_path / "acl/__init__.py").write_text("x = 1\n")
    info = tmp_path / "acl-0.1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: acl\nVersion: 0.1.0\n")
    (info / "RECORD").write_text("acl/__init__.py,,\nacl-0.1.0.dist-info/METADATA,,\n")
    assert "; uninstall it (python3 -m pip uninstall acl), then source set_env.sh" in loaded(tmp_path)


def test_a_bare_folder_is_named_with_its_path(tmp_path: Path) -> None:
    (tmp_path / "acl").mkdir()
    assert f"the module acl at {tmp_path / 'acl'} (a folder without __init__.py) {UNRELATED}" in loaded(
        tmp_path
    )
    (tmp_path / "acl/acl.so").touch()
    assert f"put {tmp_path / 'acl'} itself on PYTHONPATH" in loaded(tmp_path)


def test_no_module_at_all(tmp_path: Path) -> None:
    assert loaded(tmp_path) == (
        "pyACL cannot be imported: there is no module acl; source set_env.sh of the CANN root; do not pip install acl"
    )


def test_an_extension_module_that_cannot_be_loaded_is_pyacl_all_the_same(tmp_path: Path) -> None:
    (tmp_path / "acl.so").write_text("text\n")
    said = loaded(tmp_path)
    assert said.startswith(f"pyACL at {tmp_path / 'acl.so'} cannot be imported: ImportError: ")
    assert said.endswith("file too short; source set_env.sh of the CANN root")


def test_pyacl_without_its_libraries_is_no_foreign_module(cann: Any) -> None:
    said = loaded(cann.path / "python/site-packages", LD_LIBRARY_PATH="")
    assert "cannot be imported: ImportError: libascendcl.so: cannot open shared object file" in said
    assert UNRELATED not in said
    assert loaded(cann.path / "python/site-packages", LD_LIBRARY_PATH=str(cann.lib64)) == "ok"


@pytest.mark.parametrize("name", ["names of no meaning", "Python 2", "raises", "a missing module"])
@pytest.mark.parametrize("in_process", [False, True])
def test_a_run_says_so_in_one_sentence(
    on_device: OnDevice, case_file: CaseFile, tmp_path: Path, name: str, in_process: bool
) -> None:
    path = tmp_path / "fake/acl.py"
    path.parent.mkdir()
    path.write_text(FOREIGN[name][0])
    case = case_file("op: logit_grad\ncases: [{dtype: float32, shape: [4]}]")
    ran = on_device(case, *(["--in-process"] if in_process else []), PYTHONPATH=f"{path.parent}:{ROOT}")
    assert ran.code == 3
    assert ran.err.startswith(f"opcli: the module acl at {path} {UNRELATED}{FOREIGN[name][1] and ': '}"), (
        ran.err
    )
    assert len(ran.err.splitlines()) == 1
