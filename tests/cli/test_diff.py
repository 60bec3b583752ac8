"""``opcli diff``: what changed between two runs, and whether that is a failure."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from ascend_opcli.execution import diff
from tests.conftest import CaseFile, Opcli

FILE = """
    op: logit_grad
    defaults: {dtype: float32, shape: [64]}
    cases:
      - {name: steady}
      - {name: moved}
      - {name: bad, expect: {outputs: {out: 9.0}}}
"""


@pytest.fixture
def report(opcli: Opcli, case_file: CaseFile, tmp_path: Path) -> dict[str, Any]:
    """A true report, to be changed by a test."""
    opcli("run", case_file(FILE), "--json", tmp_path / "true.json")
    made: dict[str, Any] = json.loads((tmp_path / "true.json").read_text())
    return made


@pytest.fixture
def compare(opcli: Opcli, tmp_path: Path) -> Any:
    """compare(a, b, *options): the difference of two reports, given as data or as text."""

    def run(a: Any, b: Any, *options: object) -> Any:
        for name, content in (("a.json", a), ("b.json", b)):
            text = content if isinstance(content, bytes) else json.dumps(content).encode()
            (tmp_path / name).write_bytes(text)
        return opcli("diff", tmp_path / "a.json", tmp_path / "b.json", *options)

    return run


def changed(report: dict[str, Any], name: str, /, **values: Any) -> dict[str, Any]:
    made = copy.deepcopy(report)
    (result,) = [r for r in made["results"] if r["name"] == name]
    result.update(values)
    return made


def section(text: str, title: str) -> list[str]:
    lines = text.splitlines()
    at = next((i for i, line in enumerate(lines) if line.startswith(title + " (")), None)
    if at is None:
        return []
    end = lines.index("", at)
    return [line.strip() for line in lines[at + 1 : end]]


def test_the_same_run_twice_has_no_difference(compare: Any, report: dict[str, Any]) -> None:
    done = compare(report, report)
    assert (done.code, done.out, done.err) == (0, "3 cases compared: nothing changed\n", "")


def test_a_new_failure_is_exit_1_and_tells_its_reason(compare: Any, report: dict[str, Any]) -> None:
    after = changed(report, "moved", verdict="FAIL", reason="wrong")
    done = compare(report, after)
    assert done.code == 1
    assert section(done.out, "new failures") == ["a.yaml::moved: was PASS: wrong"]
    assert done.out.endswith("3 cases compared: 1 new failures\n")


def test_a_failure_that_stays_or_goes_is_exit_0(compare: Any, report: dict[str, Any]) -> None:
    after = changed(report, "bad", verdict="PASS", reason="")
    done = compare(report, after)
    assert done.code == 0
    assert section(done.out, "fixed") == ["a.yaml::bad: was FAIL"]
    assert compare(report, report).code == 0


@pytest.mark.parametrize(
    ("before", "after", "title", "code"),
    [
        ("KNOWN", "FAIL", "new failures", 1),
        ("SKIP", "FAIL", "new failures", 1),
        ("ERROR", "FAIL", "new failures", 1),
        ("KNOWN", "PASS", "fixed", 0),
        ("FAIL", "KNOWN", "other verdict", 0),
        ("FAIL", "SKIP", "other verdict", 0),
        ("FAIL", "ERROR", "other verdict", 0),
        ("PASS", "ERROR", "other verdict", 0),
        ("PASS", "SKIP", "other verdict", 0),
        ("ERROR", "PASS", "other verdict", 0),
    ],
)
def test_every_way_between_two_verdicts(
    compare: Any, report: dict[str, Any], before: str, after: str, title: str, code: int
) -> None:
    a, b = changed(report, "moved", verdict=before), changed(report, "moved", verdict=after)
    done = compare(a, b)
    assert done.code == code
    (line,) = section(done.out, title)
    assert line.startswith("a.yaml::moved: ")
    assert before in line


def test_other_statuses_of_one_verdict(compare: Any, report: dict[str, Any]) -> None:
    a = changed(report, "bad", status=561002, phase="1")
    b = changed(report, "bad", status=507015, phase="sync")
    done = compare(a, b)
    assert done.code == 0
    assert section(done.out, "other status") == ["a.yaml::bad: 561002 in phase 1, now 507015 in phase sync"]


def with_error(report: dict[str, Any], used: Any, ulp: Any = None, **more: Any) -> dict[str, Any]:
    made = copy.deepcopy(report)
    output = made["results"][1]["outputs"][0]
    output.update(used=used, **more)
    for element in output["worst"]:
        element["ulp"] = ulp if ulp is not None else element["ulp"]
    return made


@pytest.mark.parametrize(
    ("before", "after", "title", "said"),
    [
        (0.2, 0.4, "error grew", "20 %, now 40 % of the tolerance"),
        (0.4, 0.2, "error fell", "40 %, now 20 % of the tolerance"),
        (0.5, 0.7, None, None),
        (0.001, 0.04, None, None),
        (0.001, 0.2, "error grew", "0.1 %, now 20 % of the tolerance"),
        (0.5, "inf", "error grew", "50 %, now inf of the tolerance"),
        ("inf", "inf", None, None),
        ("nan", "inf", None, None),
    ],
)
def test_errors_that_drift(
    compare: Any, report: dict[str, Any], before: Any, after: Any, title: str | None, said: str | None
) -> None:
    done = compare(with_error(report, before), with_error(report, after))
    assert done.code == 0
    if title is None:
        assert "nothing changed" in done.out
    else:
        assert section(done.out, title) == [f"a.yaml::moved out: {said}"]


def test_under_another_rule_only_ulp_is_compared(compare: Any, report: dict[str, Any]) -> None:
    worst = [
        {
            "index": [0],
            "inputs": {},
            "got": 1,
            "golden": 1,
            "absolute": 0,
            "relative": 0,
            "ulp": 1.0,
            "used": 0,
        }
    ]
    a = with_error(report, 0.1, 1.0, worst=worst)
    b = with_error(report, 0.9, 1.0, worst=worst, rule="another")
    assert "nothing changed" in compare(a, b).out
    b = with_error(report, 0.1, 4.0, worst=copy.deepcopy(worst), rule="another")
    assert section(compare(a, b).out, "error grew") == ["a.yaml::moved out: 1, now 4 ulp"]


def test_other_inputs_are_said(compare: Any, report: dict[str, Any]) -> None:
    after = with_error(report, 0.9)
    after["results"][1]["inputs_sha256"] = "0" * 64
    done = compare(with_error(report, 0.1), after)
    assert section(done.out, "error grew")[0].endswith("(other inputs)")
    assert "note: 1 case had other inputs in the two runs\n" in done.out


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [(0.1, 0.2, True), (0.1, 0.12, False), (0.001, 0.9, False), (0.2, 0.1, False)],
)
def test_slower_only_where_both_times_mean_something(
    compare: Any, report: dict[str, Any], before: float, after: float, told: bool
) -> None:
    def at(seconds: float) -> dict[str, Any]:
        return changed(
            report, "moved", seconds={"generate": 0, "run": seconds, "golden": 0, "judge": 9 * seconds}
        )

    done = compare(at(before), at(after))
    assert done.code == 0
    lines = section(done.out, "slower")
    assert lines == ([f"a.yaml::moved: {before} s, now {after} s (2x)"] if told else [])


def test_cases_that_come_and_go(compare: Any, report: dict[str, Any]) -> None:
    a, b = copy.deepcopy(report), copy.deepcopy(report)
    a["results"][0].update(name="old", id="a.yaml::old")
    done = compare(a, b)
    assert done.code == 0
    assert section(done.out, "appeared") == ["a.yaml::steady: PASS"]
    assert section(done.out, "vanished") == ["a.yaml::old: was PASS"]
    # What fails from its first day is a new failure.
    b["results"][0]["verdict"] = "FAIL"
    done = compare(a, b)
    assert done.code == 1
    assert section(done.out, "new failures")[0].startswith("a.yaml::steady: was not there")


def test_runs_of_other_folders_are_paired_by_id_where_it_is_unique(
    compare: Any, report: dict[str, Any]
) -> None:
    after = copy.deepcopy(report)
    for result in after["results"]:
        result["file"] = "/other/checkout/" + result["file"]
    assert "3 cases compared: nothing changed" in compare(report, after).out
    twice = copy.deepcopy(after)
    twice["results"] += [{**r, "file": "/third/" + r["file"]} for r in after["results"]]
    assert "0 cases compared" in compare(report, twice).out
    # Of two files of one name each keeps its own.
    both = copy.deepcopy(report)
    both["results"] += [{**r, "file": "/third/" + r["file"]} for r in report["results"]]
    assert "6 cases compared: nothing changed" in compare(both, both).out


def test_what_makes_runs_hard_to_compare_is_noted(
    compare: Any, report: dict[str, Any], tmp_path: Path
) -> None:
    after = copy.deepcopy(report)
    after["run"].update(backend="device", product="ascend950", complete=False)
    del after["results"][1:]
    done = compare(report, after)
    assert done.code == 0
    assert "note: backend: host, then device\n" in done.out
    assert "note: product: atlas_a2, then ascend950\n" in done.out
    assert f"note: {tmp_path / 'b.json'} is of a run that was cut short" in done.out


def test_json_is_alone_on_stdout_and_whole(compare: Any, report: dict[str, Any], tmp_path: Path) -> None:
    after = changed(with_error(report, "inf"), "steady", verdict="FAIL", reason="r")
    done = compare(report, after, "--json", "-")
    assert done.code == 1
    made = json.loads(done.out)
    assert made["schema"] == "opcli.diff/1"
    assert made["new_failures"] == [
        {
            "id": "a.yaml::steady",
            "file": report["results"][0]["file"],
            "name": "steady",
            "before": "PASS",
            "reason": "r",
        }
    ]
    (drift,) = made["drifts"]
    assert drift["after"] == "inf"
    assert drift["factor"] > 1e100
    assert "1 new failures" in done.err
    assert compare(report, after, "--json", tmp_path / "d.json").code == 1
    assert json.loads((tmp_path / "d.json").read_text()) == made


def test_a_report_that_cannot_be_written_is_exit_3(
    compare: Any, report: dict[str, Any], tmp_path: Path
) -> None:
    done = compare(report, report, "--json", tmp_path / "absent" / "d.json")
    assert done.code == 3
    assert done.err.startswith("opcli: cannot write ")


def test_long_sections_are_cut_but_never_the_new_failures(compare: Any, report: dict[str, Any]) -> None:
    one = report["results"][0]
    many = [{**one, "name": str(i), "id": f"a.yaml::{i}"} for i in range(200)]
    a = {**report, "results": many}
    failing = {**report, "results": [{**r, "verdict": "FAIL"} for r in many]}
    assert len(section(compare(a, failing).out, "new failures")) == 200
    fixed = section(compare(failing, a).out, "fixed")
    assert len(fixed) == 51
    assert fixed[-1] == "... and 150 more (-v shows all)"
    assert len(section(compare(failing, a, "-v").out, "fixed")) == 200


# --- what is no report ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "is no JSON document that opcli can read"),
        (b"{", "is no JSON document that opcli can read"),
        (b"\xff\xfe\xfd", "is no JSON document that opcli can read"),
        (b"[" * 200_000, "is no JSON document that opcli can read"),
        (b'{"a":' * 200_000, "is no JSON document that opcli can read"),
        (b'{"schema": ' + b"9" * 10_000 + b"}", "is no JSON document that opcli can read"),
        (b"null", "is no report of opcli run (opcli.run/1)"),
        (b"[]", "is no report of opcli run (opcli.run/1)"),
        (
            b'{"schema": "opcli.run/2"}',
            "is no report of opcli run (opcli.run/1); its schema is 'opcli.run/2'",
        ),
        (b'{"schema": "\\u001b[31m\\ud800"}', "its schema is '\\x1b[31m\\ud800'"),
        (b'{"schema": "opcli.run/1"}', "the report has no 'run'"),
        (b'{"schema": "opcli.run/1", "run": [], "results": []}', "the report.run is of the wrong kind"),
    ],
)
def test_a_file_that_is_no_report_is_exit_2_and_one_sentence(
    compare: Any, report: dict[str, Any], content: bytes, sentence: str
) -> None:
    for pair in ((content, report), (report, content)):
        done = compare(*pair)
        assert (done.code, done.out) == (2, "")
        assert sentence in done.err
        assert done.err.count("\n") == 1


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"verdict": "MAYBE\x1b"}, "results[1].verdict is 'MAYBE\\x1b', no verdict"),
        ({"verdict": None}, "results[1].verdict is of the wrong kind"),
        ({"name": 3}, "results[1].name is of the wrong kind"),
        ({"status": True}, "results[1].status is of the wrong kind"),
        ({"status": 1.5}, "results[1].status is of the wrong kind"),
        ({"seconds": {"run": "1"}}, "results[1].seconds.run is no number"),
        ({"seconds": {}}, "results[1].seconds has no 'run'"),
        ({"outputs": [3]}, "results[1].outputs[0] is no object"),
        ({"outputs": {}}, "results[1].outputs is of the wrong kind"),
    ],
)
def test_a_report_with_a_wrong_place_names_it(
    compare: Any, report: dict[str, Any], values: dict[str, Any], sentence: str
) -> None:
    done = compare(report, changed(report, "moved", **values))
    assert done.code == 2
    assert sentence in done.err
    assert done.err.count("\n") == 1


def test_a_result_that_is_no_object(compare: Any, report: dict[str, Any]) -> None:
    done = compare(report, {**report, "results": [None]})
    assert (done.code, "results[0] is no object" in done.err) == (2, True)


def test_numbers_beyond_every_float_are_taken(compare: Any, report: dict[str, Any]) -> None:
    text = json.dumps(with_error(report, 123456)).replace("123456", "1" + "0" * 400).encode()
    done = compare(report, text, "--json", "-")
    assert done.code == 0
    assert json.loads(done.out)["drifts"][0]["after"] == "inf"
    text = (
        json.dumps(changed(report, "moved", seconds={"run": 123456})).replace("123456", "Infinity").encode()
    )
    assert compare(text, text, "--json", "-").code == 0


def test_names_cannot_speak_to_the_terminal(compare: Any, report: dict[str, Any]) -> None:
    odd = "a\x1b[2J\u202e\n\ud800\u6587"
    before = changed(report, "moved", id=odd, name=odd)
    after = changed(report, "moved", id=odd, name=odd, verdict="FAIL", reason="x\ny\x07")
    done = compare(before, after)
    assert done.code == 1
    (line,) = section(done.out, "new failures")
    assert "\u6587" in line
    assert not set(line) & set("\x1b\u202e\ud800\x07")
    made = compare(before, after, "--json", "-")
    assert json.loads(made.out)["new_failures"][0]["name"] == odd


def test_the_size_is_bounded(
    compare: Any, report: dict[str, Any], monkeypatch: pytest.MonkeyPatch, opcli: Opcli
) -> None:
    monkeypatch.setattr(diff, "MAX_BYTES", 2**20)
    done = compare(report, b" " * (2**20 + 1))
    assert done.code == 2
    assert done.err.endswith("is larger than 1 MiB\n")
    assert opcli("diff", "/dev/zero", "/dev/zero").code == 2


@pytest.mark.parametrize("path", ["absent.json", "."])
def test_a_file_that_cannot_be_opened(opcli: Opcli, tmp_path: Path, path: str) -> None:
    done = opcli("diff", tmp_path / path, tmp_path / path)
    assert done.code == 2
    assert "cannot be read" in done.err
    assert done.err.count("\n") == 1


def test_thousands_of_cases_are_quick(compare: Any, report: dict[str, Any]) -> None:
    import time

    one = report["results"][0]
    many = {**report, "results": [{**one, "name": str(i), "id": str(i)} for i in range(4_000)]}
    begun = time.process_time()
    assert compare(many, {**many, "results": many["results"][::-1]}).code == 0
    assert time.process_time() - begun < 20
