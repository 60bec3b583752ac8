"""``--junit``: the document holds to the schemas of Jenkins (junit-10.xsd, Surefire's structure) and of Ant's task."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
import xmlschema

from ascend_opcli.model import Timings, VerdictKind
from ascend_opcli.reporting.finished import FinishedRun
from ascend_opcli.reporting.junit import render
from tests.conftest import CaseFile, Opcli
from tests.reporting.made_up import case, every_word, finished, hostile, result
from tests.reporting.test_json import EVERYTHING

# What both schemas allow: the attributes of each element, those that are required first.
SUITE = (
    {"name", "package", "id", "hostname", "timestamp", "tests", "failures", "errors", "time"},
    {"skipped"},
)
OUTCOMES = {"failure": {"type", "message"}, "error": {"type", "message"}, "skipped": {"message"}}
SCHEMAS = {
    name: xmlschema.XMLSchema(Path(__file__).parent / "schemas" / f"junit-{name}.xsd")
    for name in ("ant", "jenkins")
}
FORBIDDEN = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def parsed(text: str) -> ET.Element:
    """The document, checked: XML 1.0 characters, structure, attributes, counts."""
    assert not FORBIDDEN.search(text)
    for schema in SCHEMAS.values():
        schema.validate(text)
    root = ET.fromstring(text.encode())
    assert root.tag == "testsuites"
    assert not root.attrib
    assert len(root) >= 1
    for number, suite in enumerate(root):
        assert suite.tag == "testsuite"
        required, optional = SUITE
        assert required <= set(suite.attrib) <= required | optional
        assert suite.get("id") == str(number)
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d", suite.attrib["timestamp"])
        assert all(suite.get(name, "").strip() for name in ("name", "hostname"))
        tags = [child.tag for child in suite]
        cases = suite.findall("testcase")
        assert tags == ["properties", *["testcase"] * len(cases), "system-out", "system-err"]
        for p in suite[0]:
            assert (p.tag, set(p.attrib)) == ("property", {"name", "value"})
        for testcase in cases:
            check_case(testcase)
        kinds = [child.tag for testcase in cases for child in testcase]
        assert suite.get("tests") == str(len(cases))
        for kind, attribute in (("failure", "failures"), ("error", "errors"), ("skipped", "skipped")):
            assert suite.get(attribute) == str(kinds.count(kind))
        total = sum(float(c.attrib["time"]) for c in cases)
        assert float(suite.attrib["time"]) == pytest.approx(total, abs=5e-4 * (len(cases) + 1))
    return root


def check_case(testcase: ET.Element) -> None:
    assert set(testcase.attrib) == {"name", "classname", "time"}
    assert re.fullmatch(r"\d+\.\d+", testcase.attrib["time"])
    assert testcase.attrib["name"].strip()
    assert testcase.attrib["classname"].strip()
    # Ant's schema allows one outcome a case and nothing beside it.
    assert len(testcase) <= 1
    for child in testcase:
        assert set(child.attrib) == OUTCOMES[child.tag]
        assert child.attrib["message"]
        assert not len(child)


def document(run: FinishedRun) -> ET.Element:
    return parsed("".join(render(run)))


@pytest.mark.parametrize("name", sorted(SCHEMAS))
@pytest.mark.parametrize(
    ("good", "bad"),
    [("<failure ", "<wrong "), ('errors="1"', ""), ("<testsuites>", "<suites>"), ('time="', 'seconds="')],
)
def test_the_schemas_refuse_what_is_wrong(name: str, good: str, bad: str) -> None:
    text = "".join(render(finished(every_word())))
    assert SCHEMAS[name].is_valid(text)
    broken = text.replace(good, bad).replace("</failure>", "</wrong>" if "wrong" in bad else "</failure>")
    broken = broken.replace("</testsuites>", "</suites>") if "suites" in bad else broken
    assert broken != text
    assert not SCHEMAS[name].is_valid(broken)


@pytest.mark.parametrize("seconds", [0.0, 4e-7, 0.0005, 0.001, 0.9999, 1.0, 59.9996, 1234.5678, 86400.0, 1e7])
def test_times_of_any_length_hold_to_the_pattern_of_the_schema(seconds: float) -> None:
    made = result(made=case(), timings=Timings(0.0, seconds, 0.0, 0.0))
    (testcase,) = document(finished([made])).iter("testcase")
    assert re.fullmatch(r"\d+\.\d{3}", testcase.attrib["time"])
    assert float(testcase.attrib["time"]) == pytest.approx(seconds, abs=5.01e-4)


@pytest.mark.parametrize("time", ["0.123456", "0.1234", "1e-05", "nan", "-1.000", " 1.000"])
def test_the_schema_of_jenkins_refuses_other_times(time: str) -> None:
    text = "".join(render(finished(every_word())))
    broken = re.sub(r' time="[^"]*"', f' time="{time}"', text)
    assert not SCHEMAS["jenkins"].is_valid(broken)


def test_each_word_becomes_what_ci_systems_know() -> None:
    root = document(finished(every_word()))
    found = {c.attrib["name"]: [child.tag for child in c] for c in root.iter("testcase")}
    assert found == {
        "pass": [],
        "fail": ["failure"],
        "error": ["error"],
        "skip": ["skipped"],
        "known": ["skipped"],
    }
    reasons = [e.attrib["message"] for e in root.iter("skipped")]
    assert any("known issue" in reason for reason in reasons)


def test_a_run_is_a_document_with_its_backend(opcli: Opcli, case_file: CaseFile) -> None:
    path = case_file(EVERYTHING)
    target = path.with_name("r.xml")
    assert opcli("run", path, "--negatives", "--junit", target).code == 1
    root = parsed(target.read_text("utf-8"))
    assert len(root) == 2
    for suite in root:
        properties = {p.attrib["name"]: p.attrib["value"] for p in suite.iter("property")}
        assert properties["backend"] == "host"
        assert "no operator was run" in suite.findtext("system-out", "")
    (failure,) = root.iter("failure")
    assert failure.text is not None
    assert "repro: opcli run" in failure.text


def test_cases_of_two_files_are_two_suites_with_their_own_class_names() -> None:
    made = [case("same", path=f"cases/sub.dir/{name}.yaml") for name in ("a", "b")]
    root = document(finished([result(made=m) for m in made]))
    assert [s.attrib["name"] for s in root] == ["cases/sub.dir/a.yaml", "cases/sub.dir/b.yaml"]
    assert [c.attrib["classname"] for c in root.iter("testcase")] == ["cases.sub.dir.a", "cases.sub.dir.b"]


def test_hostile_text_is_text() -> None:
    root = document(finished(hostile()))
    named = {c.attrib["name"].partition(" ")[2] for c in root.iter("testcase")}
    assert {"<script>alert(1)</script>", "]]>", "误差过大 ÅÄÖ 😀", "--><!--"} <= named
    texts = "".join(f.text or "" for f in root.iter("failure"))
    assert "]]>" in texts
    assert "\\x1b[31m" in texts


def test_an_interrupted_run_says_so() -> None:
    root = document(finished([result()], planned=7, complete=False))
    assert "1 of 7 cases were run" in root[0].findtext("system-err", "")
    assert {"name": "complete", "value": "false"} in [p.attrib for p in root.iter("property")]


def test_a_run_without_a_case_is_still_a_document() -> None:
    assert document(finished([])).find("testsuite/testcase") is None


def test_a_failure_of_any_length_has_a_short_message() -> None:
    root = document(finished([result(VerdictKind.FAIL, reason="long " * 10_000)]))
    (failure,) = root.iter("failure")
    assert len(failure.attrib["message"]) <= 500


def test_lone_surrogates_reach_the_file_as_escapes(tmp_path: Path) -> None:
    from ascend_opcli.reporting.files import write_text

    target = tmp_path / "r.xml"
    write_text(str(target), render(finished(hostile())))
    parsed(target.read_text("utf-8"))
