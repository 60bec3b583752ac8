"""Names and texts of files reach no terminal as they are where they would not be seen, or would act on it."""

from __future__ import annotations

import copy
import json
import re
import sys
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from ascend_opcli.errors import UNSEEN, visible
from tests.casefile.foreign_files import add_case, atk_text, csv_text
from tests.conftest import Opcli

MARK = "\u202e\u200b\u2066\x9b31m\x1b[2J\u2028\ufeff\x00"
"""A turn of direction, no width, an isolate, two escapes of a terminal, a line separator, a byte order mark, NUL."""

SOFT = MARK.replace("\x00", "").replace("\x1b", "").replace("\x9b", "")
"""Those that YAML and JSON parsers let through as they are."""

UNSEEN_BY_UNICODE = frozenset("Cc Cf Cs Zl Zp".split())


def unseen(text: str) -> set[str]:
    """What a terminal would not show, by the categories of Unicode."""
    return {c for c in text if c not in "\n\t" and unicodedata.category(c) in UNSEEN_BY_UNICODE}


def test_what_is_escaped_is_what_unicode_calls_unseen() -> None:
    pattern = re.compile(f"[{UNSEEN}]")
    arabic = re.compile(
        "[\u0600-\u0605\u06dd\u070f\u0890\u0891\u08e2\U000110bd\U000110cd]"
    )  # these have a shape
    for code in range(sys.maxunicode + 1):
        mark = chr(code)
        if mark not in "\n\t" and unicodedata.category(mark) in UNSEEN_BY_UNICODE and not arabic.match(mark):
            assert pattern.match(mark), hex(code)
    for text in ("中文（误差）", "ÅÄÖ 😀 é ñ", "a\u00a0b\u3000c", "日本語かな", "한국어", "עברית", "العربية"):
        assert visible(text) == text
    assert visible("a\u202eb\x1b\x9b\U000e0041") == "a\\u202eb\\x1b\\x9b\\U000e0041"


CASE: dict[str, Any] = {
    "opcli": 1,
    "op": "aclnnMine",
    "signature": "aclnnStatus aclnnMineGetWorkspaceSize(const aclTensor *x, double y, aclTensor *out)",
    "description": "what it is",
    "product": "atlas_a2",
    "standard": "ecosystem",
    "tags": ["smoke"],
    "cases": [
        {
            "name": "one",
            "reference": "x * y + 1",
            "inputs": {
                "x": {"dtype": "float32", "shape": [4], "data": {"uniform": [0, 1]}, "layout": "reversed"}
            },
            "attrs": {"y": 1.5},
            "expect": {"standard": {"out": "exact"}, "outputs": {"out": {"file": "x.npy"}}},
        },
        {
            "name": "two",
            "op": "logit_grad",
            "signature": None,
            "matrix": {"dtype": ["float32"]},
            "dtype": "$dtype",
            "shape": [2],
            "only": {"cann": ">=8.5", "backend": "host"},
            "known_issue": {"reason": "a dull reason", "until": "2000-01-01"},
            "expect": {"status": {"code": "ACLNN_ERR_PARAM_NULLPTR", "phase": "1", "message": "null"}},
        },
    ],
}
del CASE["cases"][1]["signature"]


def planted(value: Any, mark: str) -> Iterator[Any]:
    """The document with a mark in one text of it, for every text, keys included."""

    def walk(node: Any, path: tuple[Any, ...]) -> Iterator[tuple[Any, ...]]:
        if isinstance(node, dict):
            for key in node:
                yield (*path, key, "key")
                yield from walk(node[key], (*path, key))
        elif isinstance(node, list):
            for number, item in enumerate(node):
                yield from walk(item, (*path, number))
        elif isinstance(node, str):
            yield path

    for path in list(walk(value, ())):
        made = copy.deepcopy(value)
        at = made
        *steps, last = path
        if last == "key":
            *steps, name = steps
            for step in steps:
                at = at[step]
            at[name[:1] + mark + name[1:]] = at.pop(name)
        else:
            for step in steps:
                at = at[step]
            at[last] = at[last][:1] + mark + at[last][1:]
        yield made


REPORTS = ("json", "csv", "junit", "markdown", "html", "acceptance", "issue")


def looked_at(opcli: Opcli, folder: Path, *words: object) -> None:
    """Nothing unseen in what a command prints or writes."""
    done = opcli(*words)
    assert not unseen(done.out), (words, done.out)
    assert not unseen(done.err), (words, done.err)
    assert "internal error" not in done.err
    assert "Traceback" not in done.err
    for path in folder.glob("report.*"):
        assert not unseen(path.read_text("utf-8")), (words, path.name)
        path.unlink()


def reports(folder: Path) -> list[str]:
    return [word for name in REPORTS for word in (f"--{name}", f"{folder}/report.{name}")]


def test_every_text_of_a_case_file(opcli: Opcli, tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.zeros(4, np.float32))
    path = tmp_path / "a.yaml"
    for number, document in enumerate(planted(CASE, MARK)):
        path.write_text(yaml.safe_dump(document, allow_unicode=False), "utf-8")
        wanted = reports(tmp_path) if number % 3 == 0 else ["-v"]
        looked_at(opcli, tmp_path, "run", path, "--backend", "host", *wanted)
        if number % 6 == 0:
            looked_at(opcli, tmp_path, "cases", "list", path)
            looked_at(opcli, tmp_path, "cases", "validate", path)
            looked_at(opcli, tmp_path, "cases", "show", f"{path}::one")
            looked_at(opcli, tmp_path, "run", path, "--backend", "host", "--json", "-")


def test_every_text_of_a_foreign_file(opcli: Opcli, tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    for number, document in enumerate(planted(json.loads(atk_text(add_case())), SOFT)):
        path.write_text(json.dumps(document), "utf-8")
        looked_at(opcli, tmp_path, "cases", "import", path)
        if number % 6 == 0:
            looked_at(opcli, tmp_path, "run", path, "--backend", "host", *reports(tmp_path))
    rows = {"testcase_name": "t", "api_name": "aclnnAdd", "tensor_view_shapes": "((2,),(2,))"}
    table = tmp_path / "b.csv"
    for document in planted(rows, SOFT):
        table.write_text(csv_text(document), "utf-8")
        looked_at(opcli, tmp_path, "cases", "import", table)
    assert unseen(table.read_text("utf-8"))


LOG = """\
[I] 2026-01-01 op_plugin aclnnMine{0} EXEC_NPU_CMD stream_id=3, aic_num=24 aiv_num=48 with task_queue = 1
arg{0}: 1
[ERROR] call aclnnAdd{0} failed, detail:EZ1001{0}: self{0} is null, error code is 161001
"""


def test_every_line_of_a_log(opcli: Opcli, tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    for mark in (MARK, SOFT, "\u202e", "\x9b2J", "\x1b]0;title\x07"):
        path.write_text(LOG.format(mark), "utf-8")
        looked_at(opcli, tmp_path, "cases", "import", path)
        looked_at(opcli, tmp_path, "codes", "--log", path)
        looked_at(opcli, tmp_path, "run", path)


def test_names_of_files_and_words_of_the_command_line(opcli: Opcli, tmp_path: Path) -> None:
    folder = tmp_path / f"f{MARK[:-1]}\n"
    folder.mkdir()
    path = folder / f"a{SOFT}.yaml"
    path.write_text(
        "op: logit_grad\ncases:\n- {dtype: float32, shape: [2], expect: {outputs: {out: 3.0}}}\n", "utf-8"
    )
    array = folder / f"x{SOFT}.npy"
    np.save(array, np.zeros(4, np.float32))
    looked_at(opcli, tmp_path, "run", path, "--backend", "host", *reports(tmp_path))
    looked_at(opcli, tmp_path, "run", folder, "--backend", "host")
    for command in (("run", "--list"), ("cases", "list"), ("cases", "validate"), ("cases", "import")):
        looked_at(opcli, tmp_path, *command, path)
        listed = opcli(*command, path)
        assert not listed.out.count("\n") > 1
    looked_at(opcli, tmp_path, "compare", array, array)
    looked_at(opcli, tmp_path, "compare", array, f"{array}x")
    looked_at(opcli, tmp_path, "diff", path, path)
    for words in (
        ("run", "--op", f"add{SOFT}"),
        ("run", "--op", "add", "--in", f"x{MARK[:-1]}=1"),
        ("run", path, "-k", f"({SOFT}"),
        ("run", path, "--standard", SOFT),
        ("run", path, "--candidate", f"a{SOFT}.py:f"),
        ("ops", "show", f"a{SOFT}"),
        ("codes", SOFT),
        (f"ru{SOFT}n",),
        ("run", f"--{SOFT}"),
        ("cases", "new", f"a{SOFT}"),
    ):
        looked_at(opcli, tmp_path, *words)


pytest_plugins = ["pytester"]


def test_pytest_shows_none_of_it_either(pytester: pytest.Pytester) -> None:
    case = {"dtype": "float32", "shape": [2], "description": f"d{MARK}"}
    wrong = {"expect": {"outputs": {"out": [7.0, 8.0]}}}
    cases = [
        {"name": "known", **case, **wrong, "known_issue": f"r{MARK}"},
        {"name": "elsewhere", **case, "only": {"backend": "device"}},
        {"name": "wrong", **case, **wrong},
    ]
    good = {"op": "logit_grad", "cases": cases}
    pytester.makefile(".yaml", a=yaml.safe_dump(good, allow_unicode=False))
    bad = {"op": "logit_grad", "cases": [*cases, {"name": "x", f"known{SOFT}": 1}]}
    pytester.makefile(".yaml", b=yaml.safe_dump(bad, allow_unicode=False))
    for name in ("a.yaml", "b.yaml"):
        result = pytester.runpytest("--opcli", "--opcli-backend", "host", "-rA", "-v", "--color=no", name)
        assert "known" in result.stdout.str()
        assert not unseen(result.stdout.str())
