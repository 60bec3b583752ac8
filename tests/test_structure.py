"""The house keeps its order: imports run one way, and nothing heavy is loaded for --help."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections import Counter
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import ascend_opcli

PACKAGE = Path(ascend_opcli.__file__).parent

# A room may import the rooms of the lines below its own, never its neighbours on the same line.
FLOORS = (
    {"__init__"},
    {"cli", "api", "pytest_plugin"},
    {"reporting"},
    {"benchmarking"},
    {"execution"},
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


def name_of(path: Path) -> str:
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


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


def test_a_room_imports_only_lower_rooms() -> None:
    wrong = []
    for path in modules():
        here = room(path)
        rooms = {name.split(".")[1] for name in imported(path) if name.startswith("ascend_opcli.")}
        for other in rooms - EVERYBODY - {here, "__version__"} if here != "__main__" else ():
            if here in EVERYBODY or floor(here) >= floor(other):
                wrong.append(f"{path.relative_to(PACKAGE)} imports {other}")
    assert not wrong


def test_no_module_imports_itself_by_way_of_others() -> None:
    names = {name_of(path): path for path in modules()}
    graph = {name: {n for n in imported(path) if n in names and n != name} for name, path in names.items()}
    for name, others in graph.items():
        # Of "from package import module" the module counts, not the package that holds it.
        graph[name] = {n for n in others if not any(o.startswith(f"{n}.") for o in others)}
    assert list(TopologicalSorter(graph).static_order())


def test_a_folder_can_be_looked_over() -> None:
    counts = Counter(path.parent.relative_to(PACKAGE) for path in modules() if path.name != "__init__.py")
    assert max(counts.values()) <= 30, counts.most_common(3)


def test_a_module_fits_on_a_few_screens_or_says_why_not() -> None:
    for path in modules():
        text = path.read_text("utf-8")
        assert text.count("\n") <= 400 or "\n# More than 400 lines: " in text, path


RIM = {
    "casefile.logs": {"casefile.files.targets", "cli.codes"},
    "casefile.files": {"casefile.open", "casefile.discover", "cli.cases"},
    "backends.candidate": {
        "execution.candidate",
        "execution.candidate_stage",
        "execution.target",
        "cli.options.target",
    },
    "reporting.acceptance": {"reporting.issue_report"},
}
"""Importers of logs and of other tools' files, the candidate's sandbox, the reports to hand in: who leads there."""


def test_nothing_but_its_doors_imports_the_rim() -> None:
    for path in modules():
        here = name_of(path).removeprefix("ascend_opcli.")
        for part, doors in RIM.items():
            inside = any(
                here == p or here.startswith(f"{p}.") for p in RIM if p.split(".")[0] == part.split(".")[0]
            )
            led = any(f"{name}.".startswith(f"ascend_opcli.{part}.") for name in imported(path))
            assert not led or inside or here in doors, f"{here} imports {part}"


def test_only_the_edges_know_typer_and_rich() -> None:
    for path in modules():
        tops = {name.split(".")[0] for name in imported(path)}
        allowed = {"cli": {"typer"}, "reporting": {"rich"}}.get(room(path), set())
        assert not ({"typer", "rich", "click"} & tops) - allowed, path


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
