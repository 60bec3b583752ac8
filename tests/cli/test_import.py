"""opcli cases import, and what a run of foreign files says of them."""

from __future__ import annotations

import dataclasses
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ascend_opcli.casefile.files.write import to_yaml
from ascend_opcli.casefile.open import load_file, load_text
from ascend_opcli.model import Case, Where
from ascend_opcli.verification.standards.choice import check_for

TENSOR: dict[str, Any] = {
    "name": "",
    "type": "tensor",
    "dtype": "fp32",
    "range_values": [-5, 5],
    "shape": [2, 3],
}


def atk(number: int, operator: str, inputs: list[Any], acc: Any = "single_bm") -> dict[str, Any]:
    return {
        "id": number,
        "name": "x",
        "aclnn_name": operator,
        "api_type": "function",
        "standard": {"acc": acc},
        "inputs": inputs,
    }


def add(number: int = 0, acc: Any = "single_bm", **change: Any) -> dict[str, Any]:
    tensor = {**TENSOR, **change}
    alpha = {"name": "alpha", "type": "scalar", "dtype": "fp32", "range_values": 2, "shape": None}
    return atk(number, "Add", [tensor, tensor, alpha], acc)


@pytest.fixture
def atk_file(tmp_path: Path) -> Any:
    def write(*cases: Any, name: str = "atk.json") -> Path:
        path = tmp_path / name
        path.write_text(json.dumps(list(cases)), "utf-8")
        return path

    return write


def call_of(case: Case) -> str:
    """All that a case is, but for where it stands."""
    unplaced = {n: dataclasses.replace(c, origin="") for n, c in case.output_standards.items()}
    standard = case.standard and dataclasses.replace(case.standard, origin="")
    return repr(
        dataclasses.replace(
            case, path="", where=Where("", 1, 1), source={}, standard=standard, output_standards=unplaced
        )
    )


def same_again(path: Path) -> int:
    """Import a file and compare every case; the number of cases."""
    cases = load_file(path, check_standard=check_for).cases
    made = to_yaml(cases, path.name)
    again = load_text(made.text, "again.yaml", check_standard=check_for).cases if made.kept else ()
    assert [call_of(c) for c in again] == [call_of(c) for c in made.kept]
    assert len(made.kept) + len(made.left) == len(cases)
    return len(again)


def test_the_yaml_loads_to_the_same_cases_and_runs_the_same(
    atk_file: Any, opcli: Any, tmp_path: Path
) -> None:
    normal = {"name": "nd", "mean": [-100, 100], "std": [1, 25]}
    path = atk_file(
        add(0),
        add(1, "default", range_values=normal, dtype="bf16"),
        add(2, {"single_bm": {"type": "high_precision"}}, range_values=["-inf", "inf"], dtype="fp16"),
        add(3, "md5", range_values="null"),
        atk(
            4,
            "Permute",
            [
                {**TENSOR, "dtype": "complex64"},
                [{**TENSOR, "type": "attrs", "dtype": "int", "range_values": v} for v in (1, 0)],
            ],
        ),
    )
    assert same_again(path) == 5
    done = opcli("cases", "import", path, "--out", tmp_path / "made")
    assert done.code == 0
    assert done.err == f"{path}: 5 of 5 cases imported in {tmp_path / 'made' / 'atk.yaml'}\n"

    def hashes(target: Path) -> list[str]:
        assert opcli("run", target, "--json", tmp_path / "run.json").code in (0, 1)
        document = json.loads((tmp_path / "run.json").read_text("utf-8"))
        return [case["inputs_sha256"] for case in document["results"]]

    assert hashes(path) == hashes(tmp_path / "made" / "atk.yaml")


def test_what_is_not_imported_stands_in_the_comments(atk_file: Any, opcli: Any) -> None:
    path = atk_file(add(0), add(1, "mine"), atk(2, "Add", [TENSOR]))
    done = opcli("cases", "import", path)
    assert done.code == 0
    assert done.out.splitlines()[:4] == [
        "# Imported from atk.json.",
        "# Not imported: 2 of 3 cases.",
        "#   1: cannot judge: the standard mine is not known; an executor may define it",
        "#   2: the JSON does not define the call, its executor rewrites it: 1 argument for the 3 that aclnnAdd takes",
    ]
    assert "1 of 3 cases imported" in done.err
    again = load_text(done.out, "x.yaml", check_standard=check_for)
    assert [c.name for c in again.cases] == ["0"]


def test_several_operators_in_one_file(tmp_path: Path, opcli: Any) -> None:
    path = tmp_path / "t.csv"
    path.write_text(
        "testcase_name,op_name,input_shapes,input_dtypes,output_shapes,output_dtypes\n"
        'a,ceil,"((2,),)","(\'float32\',)","((2,),)","(\'float32\',)"\n'
        'b,floor,"((2,),)","(\'float32\',)","((2,),)","(\'float32\',)"\n',
        "utf-8",
    )
    assert same_again(path) == 2
    done = opcli("cases", "import", path)
    assert done.out.count("op: ceil") == 1
    assert done.out.count("op: floor") == 1


def test_where_the_yaml_goes(atk_file: Any, opcli: Any, tmp_path: Path) -> None:
    one, two = atk_file(add(0), name="one.json"), atk_file(add(0), name="two.json")
    out = tmp_path / "out"
    assert opcli("cases", "import", one, two, "--out", out).code == 0
    assert sorted(p.name for p in out.iterdir()) == ["one.yaml", "two.yaml"]
    refused = opcli("cases", "import", one, "--out", out)
    assert refused.code == 2
    assert "exists; --force writes over it" in refused.err
    assert opcli("cases", "import", one, "--out", out, "--force").code == 0
    assert opcli("cases", "import", one, "--out", tmp_path / "named.yaml").code == 0
    assert (tmp_path / "named.yaml").is_file()
    assert "several files go into a folder" in opcli("cases", "import", one, two).err
    assert opcli("cases", "import", tmp_path, "--out", tmp_path / "all").code == 0
    assert len(list((tmp_path / "all").iterdir())) == 2


LOG = (
    "[I] op_plugin aclnnExp EXEC_NPU_CMD stream_id=3 with task_queue = 1\n"
    "self: Tensor size: [2], stride: [1], offset: 0, dtype: float\n"
    "out: Tensor size: [2], stride: [1], offset: 0, dtype: float\n"
)


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("bad.log", bytes(range(256)) * 1000),
        ("bad.log", b"nothing of interest\n"),
        ("bad.json", b'[{"inputs": [], "standard": 1'),
    ],
)
def test_a_file_that_cannot_be_read_does_not_keep_the_others(
    name: str, data: bytes, atk_file: Any, opcli: Any, tmp_path: Path
) -> None:
    log, bad, out = tmp_path / "good.log", tmp_path / name, tmp_path / "out"
    log.write_text(LOG, "utf-8")
    bad.write_bytes(data)
    if name == "bad.json":  # else nobody would take it for one
        bad.write_bytes(atk_file(add(0), name="whole.json").read_bytes()[:-2])
    done = opcli("cases", "import", bad, log, atk_file(add(0), name="one.json"), "--out", out)
    assert sorted(p.name for p in out.iterdir()) == ["good.yaml", "one.yaml"]
    assert done.code == 2
    assert f"{bad}" in done.err
    assert ": not imported\n" in done.err
    assert f"{log}: 1 of 1 cases imported in {out / 'good.yaml'}" in done.err


@pytest.mark.parametrize("command", [["run"], ["cases", "list"], ["cases", "show"]])
def test_a_log_in_the_place_of_a_case_file_is_called_one(
    command: list[str], opcli: Any, tmp_path: Path
) -> None:
    log = tmp_path / "train.log"
    plog = "[INFO] OP(9,python):2026-01-02-10:11:12.123.456 [add.cpp:7] Entering function aclnnAddGetWorkspaceSize.\n"
    for text in (LOG, plog, "\x1b[32mstep: 1\x1b[0m\n" + LOG, LOG.replace("\n", "\r\n")):
        log.write_bytes(text.encode())
        done = opcli(*command, log)
        assert done.code == 2
        assert f"{log} is a log of calls, no case file: opcli cases import {log} makes one" in done.err
    # A case file whose words are those of a log is one.
    log.write_text("op: exp\ndescription: aclnnExp EXEC_NPU_CMD\ncases: [{dtpye: float32}]\n", "utf-8")
    assert "did you mean 'dtype'" in opcli(*command, log).err


def test_what_cannot_be_imported(atk_file: Any, opcli: Any, tmp_path: Path) -> None:
    yaml = tmp_path / "a.yaml"
    yaml.write_text("op: relu\ncases: [{dtype: float32, shape: [2]}]\n", "utf-8")
    done = opcli("cases", "import", yaml)
    assert done.code == 2
    assert "is no case file of another tool" in done.err
    nothing = opcli("cases", "import", atk_file(add(0, "mine")), "--out", tmp_path / "none")
    assert nothing.code == 4
    assert not (tmp_path / "none").exists()
    broken = tmp_path / "broken.json"
    broken.write_text('[{"inputs": [], "standard": 1', "utf-8")
    assert opcli("cases", "import", broken).code == 2


def test_a_data_file_must_stay_in_reach(tmp_path: Path, opcli: Any) -> None:
    one = {"format": ["ND"], "type": ["float32"], "shape": [3]}
    case = {"case_name": "c", "op": "Ceil", "input_desc": [{**one, "value": "x.bin"}], "output_desc": [one]}
    path = tmp_path / "ms.json"
    path.write_text(json.dumps([case]), "utf-8")
    np.arange(3, dtype=np.float32).tofile(tmp_path / "x.bin")
    done = opcli("cases", "import", path, "--out", tmp_path / "elsewhere")
    assert done.code == 2
    assert "reads x.bin, which lies beside ms.json" in done.err
    assert opcli("cases", "import", path, "--out", tmp_path).code == 0
    assert opcli("run", tmp_path / "ms.yaml").code == 0


# --- the other commands ---------------------------------------------------------------------------------------


def test_list_show_validate_and_a_picked_case(atk_file: Any, opcli: Any) -> None:
    path = atk_file(add(0), add(1, "mine"), atk(2, "Add", [TENSOR]))
    assert opcli("cases", "validate", path).out == f"{path}: 3 cases\n"
    assert opcli("cases", "list", path).out.split() == [f"{path}::{i}" for i in range(3)]
    shown = opcli("cases", "show", f"{path}::0").out
    assert [call_of(c) for c in load_text(shown, "x.yaml", check_standard=check_for).cases] == [
        call_of(load_file(path, check_standard=check_for).cases[0])
    ]
    assert opcli("cases", "show", f"{path}::1").out.startswith("# not run: ")
    none = opcli("cases", "show", f"{path}::2")
    assert none.code == 2
    assert "has no call to show: the JSON does not define the call" in none.err
    assert opcli("run", f"{path}::0").code == 0
    assert opcli("run", f"{path}::2").code == 4
    assert opcli("run", path, "--strict").code == 1


def test_the_run_says_what_was_judged_by_what_and_what_was_not(atk_file: Any, opcli: Any) -> None:
    path = atk_file(
        add(0), add(1, "default"), add(2, "mine"), atk(3, "Add", [TENSOR]), atk(4, "Add", [TENSOR])
    )
    done = opcli("run", path)
    assert done.code == 0
    told = done.out[done.out.index(f"{path}: 5 cases: ") :].splitlines()
    assert told == [
        f"{path}: 5 cases: 2 judged, 3 SKIP",
        "  1 output judged by single (ATK standard single_bm)",
        "  1 output judged by ecosystem (ATK standard default)",
        "  2 SKIP: the JSON does not define the call, its executor rewrites it: "
        "N argument for the N that aclnnAdd takes",
        "  1 SKIP: cannot judge: the standard mine is not known",
    ]


def test_the_weak_spots_of_the_cases_are_named(atk_file: Any, opcli: Any) -> None:
    eps = {"name": "eps", "type": "attr", "dtype": "double", "range_values": 0.01, "shape": None}
    x, dy = ({**TENSOR, "shape": [4, 4], "range_values": v} for v in ([0.5], [3, 3]))
    done = opcli("run", atk_file(atk(0, "LogitGrad", [x, dy, eps])))
    assert "  weak: no case reaches the branch 'outside' of aclnnLogitGrad\n" in done.out
    assert "  weak: in 1 of 1 judged case every tensor holds one value" in done.out
    fine = {**TENSOR, "shape": [64, 64], "range_values": [0, 1]}
    better = opcli("run", atk_file(atk(0, "LogitGrad", [fine, {**fine, "range_values": [1, 2]}, eps])))
    assert "weak:" not in better.out


def test_a_result_that_nothing_defines_is_skipped(atk_file: Any, opcli: Any) -> None:
    target = {**TENSOR, "shape": [4, 2]}
    updates = {**TENSOR, "shape": [3, 2]}
    indices = {**TENSOR, "dtype": "int64", "shape": [3, 1], "range_values": 0}
    done = opcli("run", atk_file(atk(0, "ScatterNdUpdate", [target, indices, updates])))
    assert done.code == 4
    assert "cannot judge: the result is not defined: an index is repeated" in done.out
    # The same value again is the same result.
    equal = opcli(
        "run", atk_file(atk(0, "ScatterNdUpdate", [target, indices, {**updates, "range_values": 7}]))
    )
    assert equal.code == 0
    beyond = {**indices, "range_values": 9}
    outside = opcli("run", atk_file(atk(0, "ScatterNdUpdate", [target, beyond, updates])))
    assert outside.code == 4
    assert "cannot judge: the result is not defined: index 9 is out of bounds" in outside.out


def test_negatives_and_other_options_bear_cases_without_a_call(atk_file: Any, opcli: Any) -> None:
    path = atk_file(add(0), atk(1, "NoSuchOperator", [TENSOR]), atk(2, "Add", [TENSOR]))
    assert opcli("run", path, "--negatives").code == 0
    for option in ("--junit", "--csv", "--html", "--markdown", "--acceptance", "--issue", "--json"):
        done = opcli("run", path, option, "-")
        assert done.code == 0, (option, done.err)
        assert done.out
    timed = opcli("bench", path, "--json", "-")
    assert [m["name"] for m in json.loads(timed.out)["benchmarks"]] == ["atk.json::0"]
    assert timed.err.count("SKIP atk.json::") == 2


def test_yaml_pays_nothing_for_it(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("op: relu\ncases: [{dtype: float32, shape: [2]}]\n", "utf-8")
    script = (
        "import sys; sys.argv = ['opcli', 'run', 'a.yaml']\n"
        "from ascend_opcli.cli import main\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        "print([m for m in sys.modules if 'importing' in m], file=sys.stderr)"
    )
    root = Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=tmp_path,
        env={"PYTHONPATH": str(root)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr.splitlines()[-1] == "[]"


def test_the_figures_of_a_folder(atk_file: Any, tmp_path: Path) -> None:
    atk_file(add(0), add(1, "mine"), atk(2, "Add", [TENSOR]), atk(3, "NoSuchOperator", [TENSOR]))
    (tmp_path / "bad.json").write_text('[{"inputs": [], "standard": 1', "utf-8")
    script = Path(__file__).parents[2] / "benchmarks" / "corpus_figures.py"
    figures = tmp_path / "figures.txt"
    done = subprocess.run(
        [sys.executable, script, tmp_path, "--json", figures], capture_output=True, text=True, check=True
    )
    assert "JSON: 1 files read, 1 not; 4 cases\n" in done.stdout
    assert "  mapped to a call  2  50.0%\n  judged            1  25.0%\n" in done.stdout
    told = json.loads(figures.read_text("utf-8"))["JSON"]
    assert (told["cases"], told["mapped"], told["judged"]) == (4, 2, 1)
    assert told["words"] == {"PASS": 1, "SKIP": 3}


@pytest.mark.parametrize("name", ["atk.json", "ttk.csv"])
def test_a_file_in_utf16_is_said_to_be_that(opcli: Any, tmp_path: Path, name: str) -> None:
    """What PowerShell's > makes of a file."""
    path = tmp_path / name
    row = 'a,aclnnAbs,"((2,),(2,))"'
    table = f"testcase_name,api_name,tensor_view_shapes\n{row}\n"
    path.write_text(json.dumps([add()]) if name.endswith("json") else table, "utf-16")
    done = opcli("run", path)
    assert done.code == 2
    assert "this is UTF-16; save the file as UTF-8" in done.err
