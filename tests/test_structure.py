"""The house keeps its order: imports run one way, and nothing heavy is loaded for --help."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import ascend_opcli

PACKAGE = Path(ascend_opcli.__file__).parent

# A room may import the rooms of the lines below its own, never its neighbours on the same line.
FLOORS = (
    {"__init__"},
    {"cli", "api", "pytest_plugin"},
    {"reporting", "execution", "benchmarking"},
    {"backends", "verification"},
    {"casefile"},
    {"reference"},
    {"expression", "operators"},
    {"tensors", "status"},
)
EVERYBODY = {"model", "errors"}


def modules() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


def room(path: Path) -> str:
    relative = path.relative_to(PACKAGE)
    return relative.parts[0] if len(relative.parts) > 1 else relative.stem


def floor(name: str) -> int:
    return next(i for i, rooms in enumerate(FLOORS) if name in rooms)


def imported(path: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found.add(node.module)
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            pytest.fail(f"{path}: relative import")
    return found


@pytest.mark.parametrize("path", modules(), ids=lambda p: str(p.relative_to(PACKAGE)))
def test_a_room_imports_only_lower_rooms(path: Path) -> None:
    here = room(path)
    rooms = {name.split(".")[1] for name in imported(path) if name.startswith("ascend_opcli.")}
    for other in rooms - EVERYBODY - {here, "__version__"}:
        if here in EVERYBODY:
            pytest.fail(f"{here} imports {other}")
        if here == "__main__":
            continue
        assert floor(here) < floor(other), f"{path.relative_to(PACKAGE)} imports {other}"


@pytest.mark.parametrize("path", modules(), ids=lambda p: str(p.relative_to(PACKAGE)))
def test_only_the_edges_know_typer_and_rich(path: Path) -> None:
    tops = {name.split(".")[0] for name in imported(path)}
    allowed = {"cli": {"typer"}, "reporting": {"rich"}}.get(room(path), set())
    assert not ({"typer", "rich", "click"} & tops) - allowed


def test_every_room_is_on_a_floor() -> None:
    rooms = {p.parent.name for p in PACKAGE.glob("*/__init__.py")}
    assert rooms <= set().union(*FLOORS)


def test_help_loads_neither_numpy_nor_yaml_nor_rich() -> None:
    script = (
        "import sys; sys.argv = ['opcli', '--help']\n"
        "from ascend_opcli.cli import main\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        "heavy = {'numpy', 'yaml', 'rich.table', 'ml_dtypes'} & set(sys.modules)\n"
        "sys.exit(f'loaded: {sorted(heavy)}' if heavy else 0)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "Usage: opcli" in done.stdout or "usage: opcli" in done.stdout.lower()


def test_no_two_test_files_have_one_name() -> None:
    names = [p.name for p in Path(__file__).parent.rglob("test_*.py")]
    assert sorted(names) == sorted(set(names))
